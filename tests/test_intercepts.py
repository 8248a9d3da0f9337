"""One model for all tasks with a constant of each: the baseline of every comparison that knows tasks by their rates."""

import numpy as np
import pytest

import coterie as ct
import raw
from reference import adalog, regression
from reference.sharing import run
from slow import slow
from streams import FORMS, linear_stream
from test_adaptive import as_records

STREAM = linear_stream(7, n=300, zeros=0.3)
X, Y, TASK = STREAM.X, STREAM.y, STREAM.task
SEEN_ONCE = 11  # a task whose only record is the last but one
TASK = np.where(np.arange(len(TASK)) == len(TASK) - 2, SEEN_ONCE, TASK)
RNG = np.random.default_rng(3)
NUMBERS = 3.0 + X[:, 0] + 2.0 * RNG.standard_normal(12)[TASK] + 0.3 * RNG.standard_normal(len(TASK))


def widened(X, task):
    """Records with a column a task, which is 1/2 in the records of that task: what the baseline is by definition."""
    return np.column_stack([X, 0.5 * (task[:, None] == np.arange(12))])


def pool(step=0.7):
    return adalog.AdaLog(lambda task, t: [("all", 1.0)], step=step)


def predictions(model, X=X, y=Y, task=TASK, **more):
    return ct.progressive_validation(model, X, y, task=task, **more).margin


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# -- equality with the definition --------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize(("form", "storage"), [("dense", "auto"), ("csr", "sparse"), ("dense", "sparse")])
def test_it_is_the_literal_pool_of_widened_records(form, storage, delay):
    model = raw.MultitaskLogistic(ct.relations.Intercepts(), step=0.4, storage=storage)
    literal = run(pool(0.4), as_records(widened(X, TASK)), TASK.tolist(), Y, delay)
    close(predictions(model, FORMS[form](X), delay=delay, tasks=[*range(5), SEEN_ONCE]), literal)


@pytest.mark.slow
def test_records_that_count_twice():
    weights = 1.0 + RNG.random(len(Y))
    literal = run(pool(), as_records(widened(X, TASK)), TASK.tolist(), Y, weights=weights)
    close(predictions(raw.MultitaskLogistic(ct.relations.Intercepts()), sample_weight=weights), literal)


@pytest.mark.parametrize("loss", ["squared", slow("absolute")])
def test_numbers_have_constants_of_tasks(loss):
    part = {"squared": ct.rules.Squared(), "absolute": ct.rules.Absolute()}[loss]
    rounds = raw.MultitaskRegressor(ct.relations.Intercepts(), part).__stream_model__().learn(X, NUMBERS, TASK)
    close(rounds.margin, regression.adaptive(widened(X, TASK), NUMBERS, TASK, 1.0, loss, 0.3).predictions)


@pytest.mark.slow
def test_constants_fade_as_what_is_a_tasks_own():
    fading = raw.MultitaskLogistic(ct.relations.Intercepts(), half_life=40.0)
    close(predictions(fading), predictions(raw.MultitaskLogistic(ct.Pooled(), half_life=40.0), widened(X, TASK)))
    literal, expected, rows = pool(), [], as_records(widened(X, TASK))
    for t, i in enumerate(TASK.tolist()):
        expected.append(literal.margin(rows[t], i, t))
        literal.learn(rows[t], i, Y[t], t)
        for row, j in literal.w:
            left = 2.0 ** (-1.0 / (7.0 if j >= X.shape[1] else 60.0))
            literal.w[row, j] *= left
            literal.Q[row, j] = literal.start + left * (literal.Q[row, j] - literal.start)
    close(predictions(raw.MultitaskLogistic(ct.relations.Intercepts(), half_life=(60.0, 7.0))), expected)


def test_prepared_records_have_a_constant_of_all_and_one_of_their_task():
    model = ct.MultitaskLogistic(ct.relations.Intercepts(), scale="auto")
    pooled = ct.MultitaskLogistic(ct.Pooled(), scale="auto")
    lowest, highest = np.array([np.flatnonzero(i == TASK)[:60] for i in (0, 1)])
    chosen = np.sort(np.concatenate([lowest, highest]))[:80]
    y = TASK[chosen] == 1  # the task alone tells the label
    apart = predictions(model, X[chosen], y, TASK[chosen]), predictions(pooled, X[chosen], y, TASK[chosen])
    assert (np.sign(apart[0][20:]) == np.where(y, 1, -1)[20:]).mean() > 0.95
    assert (np.sign(apart[1][20:]) == np.where(y, 1, -1)[20:]).mean() < 0.75


# -- what was learned --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "y"), [(raw.MultitaskLogistic, Y), (raw.MultitaskRegressor, NUMBERS)])
def test_margins_are_shared_weights_and_a_constant(make, y):
    model = make(ct.relations.Intercepts()).fit(X, y, task=TASK)
    place = [model.tasks_.index(i) for i in TASK[:50]]
    said = getattr(model, "decision_function", model.predict)(X[:50], TASK[:50])
    close(said, X[:50] @ model.coef_[0] + model.intercept_[place])
    assert np.ptp(model.coef_, axis=0).max() == 0.0
    assert np.ptp(model.intercept_) > 0.1


def test_margins_of_classes_are_shared_weights_and_constants():
    many = raw.OneVsRest(raw.MultitaskLogistic(ct.relations.Intercepts())).fit(
        X, np.where(X[:, 1] > 0.5, 2.0, Y), task=TASK
    )
    place = [many.tasks_.index(i) for i in TASK[:50]]
    expected = X[:50] @ many.coef_[:, 0].T + many.intercept_[:, place].T
    close(np.sort(many.decision_function(X[:50], TASK[:50])), np.sort(expected))  # classes in order of appearance


def test_a_new_task_has_no_constant():
    model = raw.MultitaskLogistic(ct.relations.Intercepts()).fit(X, Y, task=TASK)
    close(model.decision_function(X[:5], ["new"] * 5), X[:5] @ model.coef_[0])
    first = predictions(raw.MultitaskLogistic(ct.relations.Intercepts()))[-2]  # the only record of its task
    before = raw.MultitaskLogistic(ct.relations.Intercepts()).fit(X[:-2], Y[:-2], task=TASK[:-2])
    assert first == before.decision_function(X[-2:-1], [SEEN_ONCE])[0]


@pytest.mark.slow
def test_an_explanation_has_the_constant_as_its_base():
    model = raw.MultitaskLogistic(ct.relations.Intercepts()).fit(X, Y, task=TASK)
    found = model.explain(X[0], TASK[0])
    assert found.base == model.intercept_[model.tasks_.index(TASK[0])] != 0.0
    close(found.base + sum(part.part for part in found.parts), found.margin)
    assert found.rest == pytest.approx(0.0, abs=1e-12)


def test_a_relation_of_all_tasks_alike():
    model = raw.MultitaskLogistic(ct.relations.Intercepts()).fit(X, Y, task=TASK)
    np.testing.assert_array_equal(model.relation_matrix_, np.full((6, 6), 1 / 6))
    learner = model.__stream_model__().learner
    np.testing.assert_array_equal(learner.share(model.state_), np.ones(6))


# -- tasks that go, files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "storage"), [("dense", "auto"), ("csr", "sparse")])
def test_a_task_that_is_forgotten_begins_without_its_constant(form, storage, tmp_path):
    literal, rows = pool(), as_records(widened(X, TASK))
    model, expected, found = raw.MultitaskLogistic(ct.relations.Intercepts(), storage=storage), [], []
    held = FORMS[form](X)
    for t, i in enumerate(TASK.tolist()):
        if t in (100, 101, 180, 240):
            gone = {100: 2, 101: 0, 180: 2, 240: int(TASK[239])}[t]
            model.forget_task(gone)
            for numbers in (literal.w, literal.Q):
                numbers.pop(("all", X.shape[1] + gone), None)
            if t == 180:
                model.save(tmp_path / "model.coterie")
                model = ct.load(tmp_path / "model.coterie")
        expected.append(literal.margin(rows[t], i, t))
        literal.learn(rows[t], i, Y[t], t)
        rounds = model.__stream_model__().learn(held[t : t + 1], Y[t : t + 1], [i], classes=[-1.0, 1.0])
        found.append(rounds.margin[0])
    close(found, expected)


def test_a_file_holds_all_of_it(tmp_path):
    model = ct.MultitaskLogistic(ct.relations.Intercepts()).fit(X[:200], Y[:200], task=TASK[:200])
    model.save(tmp_path / "model.coterie")
    again = ct.load(tmp_path / "model.coterie")
    assert again.relation == ct.relations.Intercepts()
    for each in (model, again):
        each.partial_fit(X[200:], Y[200:], TASK[200:])
    np.testing.assert_array_equal(model.decision_function(X, TASK), again.decision_function(X, TASK))
    np.testing.assert_array_equal(model.intercept_, again.intercept_)
    data, arrays = model.__dump__()
    (name,) = (each for each in arrays if each.endswith("tasks.values"))
    assert arrays[name].shape == (2 * len(model.tasks_),)
    with pytest.raises(ValueError, match="too small"):
        ct.MultitaskLogistic(ct.relations.Intercepts()).__restore__(data, {**arrays, name: arrays[name][:-2]})


# -- where it is a baseline --------------------------------------------------------------------------------------------

KERNEL = ct.kernels.Gaussian(1.0)
LOGISTIC = [
    ct.MultitaskPerceptron(average=True),
    ct.MultitaskAROW(),
    ct.MultitaskAROW(covariance="full"),
    ct.geometries.PNormMultitaskPerceptron(),
    ct.geometries.SecondOrderMultitaskPerceptron(),
    ct.geometries.PotentialMultitaskPerceptron(),
    ct.MultitaskLogistic(ct.Clusters({0: 1, 1: 1}, share=0.5)),
    ct.AdaptiveSharingClassifier(),
    ct.AdaptiveSharingClassifier([ct.MultitaskPerceptron(), ct.MultitaskAROW()]),
]
WITHOUT = [
    ct.geometries.MultitaskKernelPerceptron(),
    ct.geometries.SecondOrderMultitaskPerceptron(kernel=KERNEL),
    ct.OneVsRest(ct.geometries.MultitaskKernelPerceptron()),
    ct.AdaptiveSharingClassifier([ct.geometries.MultitaskKernelPerceptron()]),
    ct.geometries.HeterogeneousMultitaskPerceptron(),
]


def named(model):
    return repr(model)[:70]


@pytest.mark.parametrize("model", LOGISTIC, ids=named)
def test_every_linear_classifier_has_it(model):
    made = model.__baselines__()
    assert list(made) == ["independent", "pooled", "intercepts", "mixed model"]
    assert isinstance(made["intercepts"], ct.MultitaskLogistic)
    assert made["intercepts"].relation == ct.relations.Intercepts()


@pytest.mark.parametrize("model", WITHOUT, ids=named)
def test_kernels_and_features_of_tasks_have_none(model):
    assert "intercepts" not in model.__baselines__()


def test_it_reads_records_as_the_model_does():
    read = {"fit_intercept": False, "scale": "standard", "storage": "sparse", "half_life": 9.0}
    for model in (ct.MultitaskPerceptron(**read), ct.MultitaskAROW(**read), ct.MultitaskRegressor(**read)):
        made = model.__baselines__()["intercepts"].get_params()
        assert {name: made[name] for name in read} == read
    mixture = ct.AdaptiveSharingClassifier([ct.MultitaskAROW()], fit_intercept=False, max_tasks=3)
    assert mixture.__baselines__()["intercepts"].get_params() == (
        ct.MultitaskLogistic(ct.relations.Intercepts(), fit_intercept=False, scale="auto").get_params()
    )


def test_numbers_are_compared_with_it():
    for model in (
        ct.MultitaskRegressor(loss=ct.rules.EpsilonInsensitive(), average=True, max_tasks=4),
        ct.MultitaskRegressor(),
    ):
        made = model.__baselines__()["intercepts"]
        assert made.get_params() == ct.MultitaskRegressor(ct.relations.Intercepts()).get_params()
    absolute = ct.MultitaskRegressor(loss=ct.rules.Absolute()).__baselines__()["intercepts"]
    assert absolute.loss == ct.rules.Absolute()
    found = ct.compare({"together": ct.AdaptiveSharingRegressor(max_tasks=99)}, X, NUMBERS, task=TASK)
    assert found.models["intercepts"].max_tasks is None
    assert found.traces["intercepts"].error < 0.7 * found.traces["pooled"].error


def test_classes_are_compared_with_it():
    rate = RNG.random(12)
    y = RNG.random(len(TASK)) < np.where(rate > 0.5, 0.9, 0.1)[TASK]
    found = ct.compare({"together": ct.AdaptiveSharingClassifier()}, X, y, task=TASK)
    assert found.traces["intercepts"].error < 0.7 * found.traces["pooled"].error
    classes = np.where(y, "yes", np.where(X[:, 0] > 0, "no", "never"))
    many = ct.compare({"together": ct.OneVsRest()}, X, classes, task=TASK)
    assert many.models["intercepts"].model.get_params() == ct.MultitaskLogistic(ct.relations.Intercepts()).get_params()
    assert many.traces["intercepts"].error < many.traces["pooled"].error
