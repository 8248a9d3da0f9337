"""Numbers as labels: the fast form against the literal one, what is promised of it, and every face of it."""

import json
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

import coterie as ct
import raw
from coterie.evaluation.confidence_intervals import student_interval
from coterie.evaluation.metrics import error_curve
from coterie.evaluation.metrics import evaluate as measure
from coterie.evaluation.trace import AmountTrace
from coterie.evaluation.verdict import verdict
from reference import regression
from slow import slow, slow_where
from streams import BY_COLUMNS, CASES, FORMS, STORAGES, K, linear_stream
from terminal import run, run_json

Tube = ct.updates.EpsilonInsensitive
LOSSES = {"PA": Tube(0.1, variant="0"), "PA-I": Tube(0.2, C=0.3, variant="I"), "PA-II": Tube(0.0, C=0.3)}
UNITLESS = [
    raw.MultitaskRegressor(),
    slow(raw.MultitaskRegressor(ct.Independent(), ct.updates.Absolute(), step=0.7)),
    raw.MultitaskRegressor(ct.MeanRegularized(b=1), ct.updates.EpsilonInsensitive(), average=True),
]


def numbers(seed=3, n=160, zeros=0.3, scale=7.0, mean=40.0):
    """A stream of half-shared linear truths whose labels are numbers."""
    stream = linear_stream(seed, n=n, zeros=zeros)
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(stream.X.shape[1]) + rng.standard_normal((K, stream.X.shape[1]))
    y = mean + scale * (np.einsum("td,td->t", truth[stream.task], stream.X) + 0.3 * rng.standard_normal(n))
    return stream.X, y, stream.task


X, Y, TASK = numbers()
NAMES = [f"user {i}" for i in TASK]


# -- equality ----------------------------------------------------------------------------------------------------------


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("name", "average"),
    slow_where(
        product(CASES, (False, True)), lambda name, average: name in BY_COLUMNS or (average and name != "tree b")
    ),
)
def test_passive_aggressive_equals_the_literal_one(name, loss, average):
    case, part = CASES[name], LOSSES[loss]
    tasks = [case.tasks[i] for i in TASK]
    model = raw.MultitaskRegressor(case.relation, part, average=average, storage="dense")
    rounds = model.__stream_model__().learn(X, Y, tasks, tasks=case.tasks)
    literal = regression.passive_aggressive(X, Y, TASK, case.M, part.epsilon, part.C, part.variant, average=average)
    assert_close(rounds.margin, literal.predictions)
    assert_close(model.coef_[[model.tasks_.index(task) for task in case.tasks]], np.std(Y) * literal.W)
    assert model.intercept_ == pytest.approx(Y.mean())


@pytest.mark.parametrize(
    ("loss", "storage", "form"),
    slow_where(
        product(["squared", "absolute"], STORAGES, FORMS),
        lambda loss, storage, form: loss == "absolute" or storage == "sparse",
    ),
)
def test_adaptive_gradients_equal_the_literal_ones(storage, form, loss):
    part = {"squared": ct.updates.Squared(), "absolute": ct.updates.Absolute()}[loss]
    model = raw.MultitaskRegressor(ct.MeanRegularized(share=0.25), part, step=0.4, storage=storage)
    rounds = model.__stream_model__().learn(FORMS[form](X), Y, TASK)
    assert_close(rounds.margin, regression.adaptive(X, Y, TASK, 0.25, loss, 0.4).predictions)


def test_labels_as_they_are():
    model = raw.MultitaskRegressor(ct.HalfUpdate(), ct.updates.EpsilonInsensitive(0.5, C=0.2), targets="as they are")
    rounds = model.__stream_model__().learn(X, Y, TASK)
    literal = regression.passive_aggressive(X, Y, TASK, CASES["half"].M, 0.5, 0.2, "II", standardised=False)
    assert_close(rounds.margin, literal.predictions)
    assert (model.intercept_ == 0.0).all()


# -- what is promised --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", UNITLESS, ids=repr)
def test_the_unit_of_the_labels_does_not_matter(model):
    plain = clone(model).__stream_model__().learn(X, Y).margin
    scaled = clone(model).__stream_model__().learn(X, 1000.0 * Y - 5e4).margin
    np.testing.assert_allclose(scaled[2:], 1000.0 * plain[2:] - 5e4, rtol=1e-6)


def test_squared_regret_against_the_best_constant_in_hindsight():
    """Σ (y - f)² of adaptive gradients grows by O(√n) over that of the best linear predictor."""
    over = []
    for n in (1000, 4000, 16000):
        x, y, _ = numbers(5, n=n, zeros=0.0)
        x /= np.linalg.norm(x, axis=1)[:, None]
        best = np.linalg.lstsq(np.c_[x, np.ones(n)], y, rcond=None)[1][0]
        trace = ct.progressive_validation(raw.MultitaskRegressor(ct.Pooled()), np.c_[x, np.ones(n)], y)
        over.append(float((trace.residual**2).sum() - best))
    assert over[2] < 4.0 * 1.5 * over[0]


# -- traces, metrics, verdict ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def comparison():
    return ct.compare({"together": raw.MultitaskRegressor()}, X, Y, task=NAMES)


def test_a_trace_of_numbers(comparison):
    trace = comparison.traces["together"]
    assert isinstance(trace, AmountTrace)
    np.testing.assert_array_equal(trace.margin, trace.prediction)
    np.testing.assert_array_equal(trace.residual, Y - trace.prediction)
    np.testing.assert_array_equal(np.flatnonzero(trace.blind), [0])
    assert trace.error == pytest.approx(np.abs(trace.residual)[1:].mean())
    assert trace.mistake.all()
    assert trace.updated[1:].all()
    assert trace.classes.size == 0
    tube = ct.progressive_validation(raw.MultitaskRegressor(loss=ct.updates.EpsilonInsensitive(0.5)), X, Y)
    assert 0 < tube.mistakes < tube.n
    np.testing.assert_array_equal(tube.mistake, np.abs(tube.residual) > 0.5 * np.std(Y))


def test_metrics_are_those_of_scikit_learn(comparison):
    trace = comparison.traces["together"]
    result = measure(trace)
    for name, theirs in {"error": mean_absolute_error, "rmse": root_mean_squared_error, "r2": r2_score}.items():
        assert result[name] == pytest.approx(theirs(Y[1:], trace.prediction[1:]))
    assert error_curve(trace, points=1).cumulative[0] == pytest.approx(result["error"])
    assert np.isnan(measure(ct.progressive_validation(raw.MultitaskRegressor(), [[1.0], [1.0]], [5.0, 5.0]))["r2"])


def test_the_verdict_is_students_for_paired_costs(comparison):
    ours, theirs = (comparison.traces[name] for name in ("together", "independent"))
    result = verdict(ours, theirs)
    assert result.overall.gain == pytest.approx(theirs.error - ours.error)
    for i, task in enumerate(ours.tasks):
        mine = (np.array(NAMES) == task) & ~ours.blind
        assert result.gain[i] == pytest.approx((theirs.residual[mine] ** 2 - ours.residual[mine] ** 2).mean())
    test = stats.ttest_rel(theirs.costs[1:], ours.costs[1:]).confidence_interval(0.95)
    assert (result.overall.low, result.overall.high) == pytest.approx((test.low, test.high))
    assert np.isnan(student_interval(1, 1.0, 1.0)).all()
    assert "mean absolute error" in result.sentence()
    json.dumps(result.to_json(), allow_nan=False)


# -- bad input ---------------------------------------------------------------------------------------------------------

REFUSED = {
    "words": (["a"] * 3, r"label of record 0 \(from 0\) must be a number, got 'a'"),
    "nan": ([1.0, float("nan"), 2.0], r"label of record 1 \(from 0\): nan is not a finite number"),
    "infinity": ([1.0, 2.0, float("inf")], r"label of record 2 \(from 0\): inf is not a finite number"),
    "squares that overflow": ([1.0, -1e155, 2.0], r"label of record 1 \(from 0\): -1e\+155 is beyond the limit of 1e"),
    "None": ([1.0, None, 2.0], r"label of record 1 \(from 0\) must be a number, got None|nan is not a finite number"),
    "two columns": ([[1.0, 2.0]] * 3, "one number per record"),
}


@pytest.mark.parametrize(("y", "message"), REFUSED.values(), ids=REFUSED)
def test_labels_that_are_no_numbers(y, message):
    records = [{"a": 1.0}] * 3
    model = raw.MultitaskRegressor().fit(records, [1.0, 2.0, 3.0])
    before = model.predict(records), model.intercept_
    with pytest.raises(ValueError, match=message):
        model.partial_fit(records, y)
    np.testing.assert_array_equal(model.predict(records), before[0])
    assert model.intercept_ == before[1]


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.fixture
def houses(working_folder):
    rng = np.random.default_rng(0)
    lines = ["town,metres,rooms,price"]
    for _ in range(400):
        town, metres, rooms = rng.integers(4), 20 + 100 * rng.random(), rng.integers(1, 6)
        lines.append(f"t{town},{metres:.1f},{rooms},{1000 + 20 * metres + 100 * town + 50 * rng.standard_normal():.2f}")
    (working_folder / "houses.csv").write_text("\n".join(lines) + "\n")


PRICES = ("learn", "houses.csv", "--task", "town", "--label", "price", "--regression")


def test_learn_numbers_from_a_file_and_predict(houses):
    result = run_json(*PRICES, "--output", "m")
    assert result["learners"]["together"]["measures"].keys() == {"mean_absolute_error", "rmse", "r2"}
    assert result["learners"]["together"]["measures"]["r2"] > 0.7
    text = run(*PRICES, "--report", "r.html").stdout
    assert re.search(r" +RMSE\n  together ", text)
    assert "%" not in re.sub("roughly 5 %|9[05] %|[0-9.]+ % less squared error", "", " ".join(text.split()))
    predicted = run("predict", "m", "houses.csv").stdout.splitlines()
    assert predicted[0] == "place,task,prediction,low,high"
    assert abs(float(predicted[1].split(",")[2]) - 2000) < 2500
    run("learn", "houses.csv", "--from", "m", "--quiet", "--output", "m2")


def test_labels_of_a_csv_file_are_numbers_to_regressors(tmp_path):
    table = pd.DataFrame({"x": X[:60, 0], "z": X[:60, 1], "user": TASK[:60], "y": Y[:60]})
    table.to_parquet(tmp_path / "x.parquet")
    table.to_csv(tmp_path / "x.csv", index=False)

    def read(ending):
        return ct.read(tmp_path / f"x.{ending}", label="y", task="user")

    expected = ct.progressive_validation(ct.MultitaskRegressor(), read("parquet"))
    trace = ct.progressive_validation(ct.MultitaskRegressor(), read("csv"))
    np.testing.assert_allclose(trace.prediction, expected.prediction, rtol=1e-9)
    comparison = ct.compare({"together": ct.MultitaskRegressor()}, read("csv"))
    np.testing.assert_allclose(comparison.traces["together"].prediction, expected.prediction, rtol=1e-9)
    model = ct.MultitaskRegressor()
    for block in read("csv"):
        model.partial_fit(block)
    table.assign(y="high").to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(ValueError, match=r"label of record 0 \(from 0\) must be a number, got 'high'"):
        ct.progressive_validation(ct.MultitaskRegressor(), read("csv"))
