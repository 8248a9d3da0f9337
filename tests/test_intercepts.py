"""One model for all tasks with a constant of each: the baseline of every comparison that knows tasks by their rates."""

import numpy as np
import pytest

import coterie as ct
import raw
from reference import adalog
from reference.forgetting import Fading
from reference.sharing import run
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


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12)


# -- equality with the definition --------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize(("form", "storage"), [("dense", "auto"), ("csr", "sparse"), ("dense", "sparse")])
def test_it_is_the_literal_pool_of_widened_records(form, storage, delay):
    model = raw.MultitaskLogistic(ct.tasks.Intercepts(), step=0.4, storage=storage)
    literal = run(pool(0.4), as_records(widened(X, TASK)), TASK.tolist(), Y, delay)
    close(predictions(model, FORMS[form](X), delay=delay, tasks=[*range(5), SEEN_ONCE]), literal)


@pytest.mark.slow
def test_constants_fade_as_what_is_a_tasks_own():
    fading = raw.MultitaskLogistic(ct.tasks.Intercepts(), half_life=40.0)
    close(predictions(fading), predictions(raw.MultitaskLogistic(ct.Pooled(), half_life=40.0), widened(X, TASK)))
    literal = Fading(pool(), (60.0, 7.0), lambda row, j: j >= X.shape[1])
    expected = run(literal, as_records(widened(X, TASK)), TASK.tolist(), Y)
    close(predictions(raw.MultitaskLogistic(ct.tasks.Intercepts(), half_life=(60.0, 7.0))), expected)


# -- what was learned --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "y"), [(raw.MultitaskLogistic, Y), (raw.MultitaskRegressor, NUMBERS)])
def test_margins_are_shared_weights_and_a_constant(make, y):
    model = make(ct.tasks.Intercepts()).fit(X, y, task=TASK)
    place = [model.tasks_.index(i) for i in TASK[:50]]
    predictions = getattr(model, "decision_function", model.predict)(X[:50], TASK[:50])
    close(predictions, X[:50] @ model.coef_[0] + model.intercept_[place])
    assert np.ptp(model.coef_, axis=0).max() == 0.0
    assert np.ptp(model.intercept_) > 0.1


def test_a_new_task_has_no_constant():
    model = raw.MultitaskLogistic(ct.tasks.Intercepts()).fit(X, Y, task=TASK)
    close(model.decision_function(X[:5], ["new"] * 5), X[:5] @ model.coef_[0])
    first = predictions(raw.MultitaskLogistic(ct.tasks.Intercepts()))[-2]  # the only record of its task
    before = raw.MultitaskLogistic(ct.tasks.Intercepts()).fit(X[:-2], Y[:-2], task=TASK[:-2])
    assert first == before.decision_function(X[-2:-1], [SEEN_ONCE])[0]


# -- tasks that go, files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("form", "storage"), [("dense", "auto"), ("csr", "sparse")])
def test_a_task_that_is_forgotten_begins_without_its_constant(form, storage, tmp_path):
    literal, rows = pool(), as_records(widened(X, TASK))
    model, expected, margins = raw.MultitaskLogistic(ct.tasks.Intercepts(), storage=storage), [], []
    records = FORMS[form](X)
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
        rounds = model.__stream_model__().learn(records[t : t + 1], Y[t : t + 1], [i], classes=[-1.0, 1.0])
        margins.append(rounds.margin[0])
    close(margins, expected)


# -- where it is a baseline --------------------------------------------------------------------------------------------

LOGISTIC = [
    ct.MultitaskPerceptron(average=True),
    ct.MultitaskAROW(),
    ct.MultitaskAROW(covariance="full"),
    ct.PNormMultitaskPerceptron(),
    ct.SecondOrderMultitaskPerceptron(),
    ct.PotentialMultitaskPerceptron(),
    ct.MultitaskLogistic(ct.Clusters({0: 1, 1: 1}, share=0.5)),
    ct.AdaptiveSharingClassifier(),
    ct.AdaptiveSharingClassifier([ct.MultitaskPerceptron(), ct.MultitaskAROW()]),
]


@pytest.mark.parametrize("model", LOGISTIC, ids=lambda model: repr(model)[:70])
def test_every_linear_classifier_has_it(model):
    baselines = model.__baselines__()
    assert list(baselines) == ["independent", "pooled", "intercepts", "mixed model"]
    assert isinstance(baselines["intercepts"], ct.MultitaskLogistic)
    assert baselines["intercepts"].relation == ct.tasks.Intercepts()


def test_numbers_are_compared_with_it():
    for model in (
        ct.MultitaskRegressor(loss=ct.updates.EpsilonInsensitive(), average=True, max_tasks=4),
        ct.MultitaskRegressor(),
    ):
        baseline = model.__baselines__()["intercepts"]
        assert baseline.get_params() == ct.MultitaskRegressor(ct.tasks.Intercepts()).get_params()
    assert ct.MultitaskRegressor(loss=ct.updates.Absolute()).__baselines__()["intercepts"].loss == ct.updates.Absolute()
    comparison = ct.compare({"together": ct.AdaptiveSharingRegressor(max_tasks=99)}, X, NUMBERS, task=TASK)
    assert comparison.models["intercepts"].max_tasks is None
    assert comparison.traces["intercepts"].error < 0.7 * comparison.traces["pooled"].error
