"""Numbers by members of several shares and mixed effects: the literal form, cuts, intervals, files, forgetting, refusals."""

import json
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import coterie as ct
import known
import raw
from coterie._compiled.primal.kalman_filter import LIMIT, WIDEST
from reference.adaptive_regression import AdaptiveRegression, run
from reference.moments import inside, scales
from states import reloaded
from streams import FORMS
from terminal import refused
from terminal import run as command
from test_forget_task import FORGOTTEN
from test_regression import NAMES, PRICES, TASK, X, Y, assert_close, houses, numbers  # noqa: F401 - houses is a fixture

MODEL = raw.AdaptiveSharingRegressor

# -- equality with the definition --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("delay", "forms"), [(9, FORMS), *((t, ["dense"]) for t in (0, 1, 40, 500))])
def test_it_is_the_literal_one(delay, forms):
    expected = run(AdaptiveRegression(X.shape[1]), X, TASK.tolist(), Y, delay)
    for form in forms:
        assert_close(ct.progressive_validation(MODEL(), FORMS[form](X), Y, task=TASK, delay=delay).prediction, expected)


@pytest.mark.parametrize("d", [LIMIT - 1, LIMIT + 3, WIDEST])
@pytest.mark.parametrize("at", [0, 20, 50])
def test_what_costs_too_much_leaves(d, at):
    """From the start, before the last step begins, and after; between both limits the first features are learned."""
    wide = np.pad(X[:80], ((0, 0), (0, d - X.shape[1]))) + 0.1 * np.random.default_rng(d).standard_normal((80, d))
    wide[:at, X.shape[1] :] = 0.0
    model = MODEL()
    trace = ct.progressive_validation(model, wide, Y[:80], task=TASK[:80])
    assert_close(trace.prediction, run(AdaptiveRegression(d), wide, TASK[:80].tolist(), Y[:80]))
    has_left = d >= WIDEST
    assert (model.member_weights_[4:] == 0.0).all() == has_left
    assert all((member.model.pulls.size == 0) == has_left for member in model.state_.members[4:])


@pytest.mark.parametrize("make", [ct.AdaptiveSharingRegressor, ct.AdaptiveSharingClassifier])
def test_models_with_members_that_left_can_be_saved_and_loaded(make, tmp_path):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        shop, columns = rng.integers(150, size=400), 10 if seed == 0 else 1  # more than LIMIT names, or than WIDEST
        names = [{f"shop {j}": f"s{k}" for j in range(columns)} for k in shop]
        records = [{"x": float(x), **shops} for x, shops in zip(rng.normal(size=400), names, strict=True)]
        y, task = rng.normal(size=400) + shop % 7, rng.integers(20, size=400)
        model = make().partial_fit(records, y if make is ct.AdaptiveSharingRegressor else y > 3, task=task)
        again = reloaded(model, tmp_path / "model")
        np.testing.assert_array_equal(again.predict(records, task=task), model.predict(records, task=task))


@pytest.mark.slow
def test_no_array_has_the_square_of_many_features():
    rng = np.random.default_rng(0)
    sparse = sp.random_array((300, 50_000), density=1e-4, rng=rng, format="csr")
    for records in (sparse, [{f"w{j}": 1.0 for j in rng.integers(50_000, size=5)} for _ in range(300)]):
        model = MODEL(storage="sparse").fit(records, rng.standard_normal(300), rng.integers(9, size=300))
        sizes = [array.nbytes for name, array in model.__dump__()[1].items() if name.startswith("model.")]
        assert sum(sizes) < 20_000  # most of them bins of residuals


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_are_the_literal_ones(delay, level):
    literal, model = AdaptiveRegression(X.shape[1]), MODEL()
    run(literal, X, TASK.tolist(), Y, delay)
    ct.progressive_validation(model, X, Y, task=TASK, delay=delay)
    mean, deviation = scales(Y)[-1]
    for task in (*range(5), "new"):
        interval = model.predict_interval(X[:4], task=[task] * 4, level=level)
        wanted = [mean + deviation * np.array(literal.interval(x, task, level)) for x in X[:4]]
        np.testing.assert_allclose(interval, wanted, rtol=1e-9)


# -- whatever form records have ----------------------------------------------------------------------------------------

rng = np.random.default_rng(4)
VISITS = pd.DataFrame(
    {
        "age": rng.normal(40.0, 9.0, 120),
        "stay": rng.exponential(3.0, 120),
        "ward": rng.choice(["north", "south", "east"], 120),
        "urgent": rng.random(120) < 0.3,
    }
)
WARDS = rng.choice(["a", "b", "c"], 120)
COSTS = 0.1 * VISITS.age + 2.0 * VISITS.urgent + (WARDS == "a") + 0.1 * rng.standard_normal(120)
ZEROS = pd.DataFrame(np.zeros((120, 130)), columns=[f"zero {j}" for j in range(130)])


@pytest.mark.filterwarnings("ignore:column 'zero")
def test_members_learn_from_text_and_flags_beside_many_zeros():
    few, many = (
        ct.AdaptiveSharingRegressor().fit(visits, COSTS, WARDS)
        for visits in (VISITS, pd.concat([VISITS, ZEROS], axis=1))
    )
    np.testing.assert_allclose(many.member_weights_, few.member_weights_, rtol=1e-7, atol=1e-9)
    assert (few.member_weights_[4:] != 0.0).all()
    np.testing.assert_allclose(many.state_.model.spread.ages, few.state_.model.spread.ages, rtol=1e-7)


# -- what was learned --------------------------------------------------------------------------------------------------


def test_predictions_are_linear_where_no_member_is_kept_back():
    model = MODEL().fit(X, Y, TASK)
    inside = np.abs(X).sum(axis=1) < 2.5
    linear = np.einsum("td,td->t", X, model.coef_[[model.tasks_.index(i) for i in TASK]])
    linear += model.intercept_[[model.tasks_.index(i) for i in TASK]]
    assert inside.sum() > 10
    assert_close(linear[inside], model.predict(X[inside], TASK[inside]))
    assert model.coef_.shape == (5, X.shape[1])


def test_a_member_says_no_more_than_the_labels_so_far():
    model = MODEL().fit(X, Y, TASK)
    far = model.predict(1e6 * X, TASK)
    assert np.abs(far - Y.mean()).max() < np.abs(model.member_weights_).sum() * (Y.max() - Y.min() + 4 * Y.std())


@pytest.mark.parametrize("large", [1e100, -1e100])
@pytest.mark.parametrize("make", [MODEL, raw.MultitaskRegressor])
def test_the_largest_number_that_is_taken_leaves_predictions_finite(make, large):
    plain = np.random.default_rng(0).standard_normal((200, 3))
    model = make().fit(plain, plain[:, 0], np.zeros(200))
    model.partial_fit([[large, 0.0, 0.0]], [1.0]).partial_fit([[1.0, large, large]], [0.5])
    model.partial_fit([[large, 1.0, -large]], [2.0]).partial_fit([[1.0, 0.0, 0.0]], [large])
    model.partial_fit(plain, plain[:, 0])
    assert np.isfinite(model.predict(plain)).all()
    assert all(np.isfinite(array).all() for name, array in model.__dump__()[1].items() if name.startswith("model."))


# -- intervals ---------------------------------------------------------------------------------------------------------


NOISES = {
    "normal": lambda rng, task: rng.standard_normal(len(task)),
    "Student of 4 degrees": lambda rng, task: rng.standard_t(4, len(task)),
    "skewed": lambda rng, task: rng.exponential(1.0, len(task)) - 1.0,
    "of the task": lambda rng, task: np.where(task % 2, 0.4, 1.6) * rng.standard_normal(len(task)),
}


@pytest.mark.parametrize("noise", NOISES)
def test_intervals_hold_on_mixed_models_also_before_ten_labels_of_a_task(noise):
    """90 % within 2, 99 % at least .98, but for chance: 2,800 intervals a stream, 2 streams; of all 50 % within 3."""
    inside, labels = {0.5: [], 0.9: [], 0.99: []}, []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        task, Z = rng.integers(300, size=3000), rng.standard_normal((3000, 5))
        weights = 0.5 * rng.standard_normal(5) + 0.3 * rng.standard_normal((300, 5))
        y = 50 + 7 * ((Z * weights[task]).sum(1) + rng.standard_normal(300)[task] + NOISES[noise](rng, task))
        X = 3 + Z * rng.lognormal(size=5)
        known.tell_intervals(ct.AdaptiveSharingRegressor(), X, y, task, inside)
        labels += [np.count_nonzero(task[: t - t % 100] == task[t]) for t in range(200, 3000)]
    few = np.array(labels) < 10
    assert np.mean(inside[0.5]) == pytest.approx(0.5, abs=0.03)
    for part in (few, ~few):
        assert np.array(inside[0.9])[part].mean() == pytest.approx(0.9, abs=0.02)
        assert np.array(inside[0.99])[part].mean() > 0.978


def test_intervals_of_tasks_never_seen_are_wider_and_hold():
    rng = np.random.default_rng(5)
    task = np.arange(3000) // 10  # ten records each, one task after the other
    features = np.c_[rng.standard_normal((3000, 3)), np.ones(3000)] / 2
    y = features[:, 0] + 3 * rng.standard_normal(300)[task] + 0.3 * rng.standard_normal(3000)
    model, first, later = MODEL(), [], []
    for t in range(0, 3000, 10):
        rows = slice(t, t + 10)
        if t > 500:
            low, high = model.predict_interval(features[rows], task[rows])[0]
            first.append((low <= y[t] <= high, high - low))
        model.partial_fit(features[t : t + 9], y[t : t + 9], task[t : t + 9])
        if t > 500:
            low, high = model.predict_interval(features[t + 9 : t + 10], task[t + 9 : t + 10])[0]
            later.append((low <= y[t + 9] <= high, high - low))
        model.partial_fit(features[t + 9 : t + 10], y[t + 9 : t + 10], task[t + 9 : t + 10])
    for interval in (first, later):
        assert np.mean([covered for covered, _ in interval]) == pytest.approx(0.9, abs=0.05)
    assert np.mean([wide for _, wide in first]) > 2 * np.mean([wide for _, wide in later])


def test_before_there_are_residuals_intervals_are_those_of_the_labels():
    model = MODEL().fit(np.ones((20, 1)), np.arange(20.0), np.zeros(20))
    low, high = model.predict_interval(np.ones((1, 1)))[0]
    assert high - low == pytest.approx(2 * 1.645 * np.arange(20.0).std(), rel=0.01)
    wider = model.predict_interval(np.ones((1, 1)), level=0.99)[0]
    assert wider[0] < low < high < wider[1]


# -- forgetting --------------------------------------------------------------------------------------------------------


def test_a_stream_with_forgotten_tasks_is_the_literal_one(tmp_path):
    literal, model, predictions, wanted = AdaptiveRegression(X.shape[1]), MODEL(), [], []
    scale = scales(Y)
    for t in range(90):
        if t in FORGOTTEN and FORGOTTEN[t] in (model.tasks_ if t else ()):
            task = FORGOTTEN[t]
            model.forget_task(task)
            model = (model, reloaded(model, tmp_path / "model.coterie"))[t == 40]
            literal.counts.pop(task, None)
            for effects in literal.mixed:
                effects.tasks.pop(task, None)
            literal.residuals = [
                (None if residual[0] == task else residual[0], *residual[1:]) for residual in literal.residuals
            ]
            for member in literal.gradients:
                member.rows.pop(("own", task), None)
        task = int(TASK[t])
        mean, deviation = scale[t]
        wanted.append(mean + deviation * literal.margin(X[t], task, t))
        literal.learn(X[t], task, inside(Y[t], scale[t + 1]), t)
        predictions.append(model.__stream_model__().learn(X[t : t + 1], Y[t : t + 1], [task]).margin[0])
    assert_close(np.array(predictions), np.array(wanted))
    mean, deviation = scale[90]
    interval = model.predict_interval(X[:5], task=list(range(5)))
    np.testing.assert_allclose(
        interval, [mean + deviation * np.array(literal.interval(X[i], i, 0.9)) for i in range(5)], rtol=1e-8
    )


# -- what is refused ---------------------------------------------------------------------------------------------------


def interval(**arguments):
    return MODEL().fit(X, Y, TASK).predict_interval(X, TASK, **arguments)


@pytest.mark.parametrize(
    ("estimator", "kind", "message"),
    [
        (lambda: MODEL(step=0.0).fit(X, Y), ValueError, "step must be"),
        (lambda: MODEL().fit(X, NAMES, TASK), ValueError, "label of record 0 .* must be a number, got .*user 3"),
        (lambda: MODEL().predict_interval(X), ValueError, "not fitted"),
        (lambda: MODEL().predict_interval_one({"a": 1.0}), ValueError, "not fitted"),
        (lambda: interval(level=1.0), ValueError, "level must lie between 0 and 1, got 1.0"),
        (lambda: interval(level="0.9"), ValueError, "level must lie .* got '0.9'"),
        (lambda: interval(level=True), ValueError, "level must lie .* got True"),
        (lambda: MODEL(new_task="raise").fit(X, Y, TASK).predict_interval(X[:1], [9]), ValueError, "never seen"),
        (lambda: MODEL().fit(X, Y, TASK).predict_proba(X), AttributeError, "has no probabilities"),
        (lambda: ct.SelectiveSampling(MODEL()).fit(X, Y), TypeError, "must be an online classifier"),
    ],
)
def test_what_is_refused(estimator, kind, message):
    with pytest.raises(kind, match=message):
        estimator()


# -- the command line --------------------------------------------------------------------------------------------------


def test_predictions_have_the_ends_of_their_intervals_and_levels_are_checked(houses):  # noqa: F811 - the fixture
    command(*PRICES, "--alone", "--quiet", "--output", "m")
    lines = command("predict", "m", "houses.csv").stdout.splitlines()
    assert lines[0] == "place,task,prediction,low,high"
    prediction, low, high = np.array([line.split(",")[2:] for line in lines[1:]], float).T
    assert (low < prediction).all()
    assert (prediction < high).all()
    inner = json.loads(command("predict", "m", "houses.csv", "--level", "0.5", "--json").stdout.splitlines()[0])
    assert low[0] < inner["low"] < inner["prediction"] < inner["high"] < high[0]
    model = ct.load("m")
    row = {"metres": 50.0, "rooms": 2.0}
    assert model.predict_interval_one(row, task="t1")[0] < model.predict_one(row, task="t1")
    command(*PRICES, "--alone", "--quiet", "--output", "half", "--learner", "MultitaskRegressor()")
    assert "--level must lie between 0 and 1, got 1.5" in refused("predict", "m", "houses.csv", "--level", "1.5")
    no_intervals = "--level is not supported: MultitaskRegressor has no intervals"
    assert no_intervals in refused("predict", "half", "houses.csv", "--level", "0.5")
    assert command("predict", "half", "houses.csv").stdout.splitlines()[0] == "place,task,prediction"


# -- tables sorted by task ---------------------------------------------------------------------------------------------

SORTED = np.repeat(np.arange(12), np.random.default_rng(8).permutation(12) + 1)
ORDER = np.argsort(np.concatenate([np.arange(n) for n in np.bincount(SORTED)]), kind="stable")
TABLE = pd.DataFrame(np.random.default_rng(9).standard_normal((len(SORTED), 3)), columns=["a", "b", "c"])
SCORE = TABLE.a + SORTED + 0.1 * np.arange(len(SORTED))
HANDED = {
    "frame": lambda table, task: (table.assign(task=task), None),
    "task": lambda table, task: (table, task),
    "array": lambda table, task: (table.to_numpy(), task),
    "sparse": lambda table, task: (sp.coo_array(table.to_numpy()), task),
    "polars": lambda table, task: (pl.from_pandas(table), pl.Series(task)),
    "arrow": lambda table, task: (pa.Table.from_pandas(table, preserve_index=False), pa.array(task)),
    "dictionaries": lambda table, task: (table.to_dict("records"), task.tolist()),
    "dictionaries with tasks": lambda table, task: (table.assign(task=task).to_dict("records"), None),
}


@pytest.mark.parametrize("handed", HANDED)
@pytest.mark.parametrize("passes", [1, 3])
def test_a_table_sorted_by_task_is_fitted_in_turn(handed, passes):
    """One record of each task after the other, as if they had come so; only estimators that learn how much tasks share."""
    column = "task" if HANDED[handed](TABLE, SORTED)[1] is None else None
    weights = np.linspace(1.0, 2.0, len(SORTED))
    X, task = HANDED[handed](TABLE, SORTED)
    turned, turns = HANDED[handed](TABLE.iloc[ORDER], SORTED[ORDER])
    bounded = partial(ct.AdaptiveSharingRegressor, max_tasks=len(set(SORTED)))
    for make in (ct.AdaptiveSharingRegressor, ct.MultitaskMixedEffectsRegressor, ct.MultitaskRegressor, bounded):
        n_passes = 1 if make is bounded else passes
        one, other = (
            make(task_column=column).fit(X, y, task, sample_weight=weight, n_passes=n_passes)
            for X, y, task, weight in ((X, SCORE, task, weights), (turned, SCORE[ORDER], turns, weights[ORDER]))
        )
        alike = np.array_equal(one.predict(X, task=task), other.predict(X, task=task))
        assert alike == (make is not ct.MultitaskRegressor and make is not bounded)


def test_classes_of_a_table_sorted_by_task_are_fitted_in_turn():
    third = (SCORE.round() % 3).to_numpy()
    models = (ct.AdaptiveSharingClassifier, third > 0), (lambda: ct.OneVsRest(ct.AdaptiveSharingClassifier()), third)
    for make, y in models:
        one, other = make().fit(TABLE, y, SORTED), make().fit(TABLE.iloc[ORDER], y[ORDER], SORTED[ORDER])
        np.testing.assert_array_equal(one.predict_proba(TABLE, task=SORTED), other.predict_proba(TABLE, task=SORTED))


def test_a_fault_in_a_table_sorted_by_task_is_named_by_its_place():
    with pytest.raises(ValueError, match="label of record 7 "):
        ct.AdaptiveSharingRegressor().fit(TABLE, [*SCORE[:7], "x", *SCORE[8:]], SORTED)
    with pytest.raises(ValueError, match=f"got shape .3,. for {len(SORTED)} records"):
        ct.AdaptiveSharingRegressor().fit(TABLE, SCORE, [1, 1, 2])


def test_a_table_sorted_by_task_is_learned_nearly_as_well_as_in_random_order():
    """Known truth: 40 levels far apart, so that the scale of labels changes with the first tasks."""
    rng = np.random.default_rng(0)
    task, X = np.repeat(np.arange(40), 30), rng.standard_normal((1200, 2))
    truth = X[:, 0] + 5.0 * rng.standard_normal(40)[task]
    y, anew = truth + 0.3 * rng.standard_normal(1200), rng.permutation(1200)
    models = [ct.AdaptiveSharingRegressor() for _ in range(3)]
    models[0].fit(X, y, task), models[1].fit(X[anew], y[anew], task[anew]), models[2].partial_fit(X, y, task=task)
    errors = [np.sqrt(np.mean((model.predict(X, task=task) - truth) ** 2)) for model in models]
    assert errors[2] > 4.0 * errors[0]  # as they come
    assert errors[0] < 1.5 * errors[1]


def test_a_stream_sorted_by_task_is_told_so(tmp_path):
    TABLE.assign(task=SORTED, y=SCORE).to_csv(tmp_path / "sorted.csv", index=False)
    options = ["--task", "task", "--label", "y", "--regression"]
    advice = "records are sorted by task, so that models learn one task after the other: sort them by time, or shuffle"
    assert advice in " ".join(command("learn", tmp_path / "sorted.csv", *options).stdout.split())
    with pytest.warns(UserWarning, match=advice):
        ct.compare(ct.AdaptiveSharingRegressor(), TABLE, SCORE, task=SORTED)
    ct.compare(ct.AdaptiveSharingRegressor(), TABLE.iloc[ORDER], SCORE[ORDER], task=SORTED[ORDER])  # no warning
