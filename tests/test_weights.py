"""Weights of records, of labels, and what they mean to each kind of learner: against the literal forms."""

import numpy as np
import pytest

import coterie as ct
import raw
from reference import adalog, adaptive_regression, budgets, perceptron, regression
from reference.sharing import run
from slow import slow
from states import content, reloaded
from test_adaptive import K, as_records, stream
from test_sharing import literal

M = np.full((K, K), 0.5) + 0.5 * np.eye(K)
WEIGHTS = np.array([0.0, 1.0, 0.25, 3.0])


def drawn(n, seed=0):
    """Weights of which some are 0 and some are 1."""
    return np.random.default_rng(seed).choice(WEIGHTS, n)


def predictions(model, X, y, task, weights, delay=0):
    return ct.progressive_validation(model, X, y, task=task, sample_weight=weights, delay=delay).margin


def agree(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-11)


# -- equality with the definition --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "literally"), [(None, "perceptron"), slow(ct.updates.PassiveAggressive(C=0.3), "PA-I")]
)
def test_a_weight_is_a_factor_of_the_step(rule, literally):
    X, y, task = stream(0)
    w = drawn(len(y))
    model = ct.MultitaskPerceptron(rule=rule)
    trace = ct.progressive_validation(model, X, y, task=task, sample_weight=w, tasks=list(range(K)))
    expected = perceptron.primal(X, y, task, M=M, rule=literally, C=0.3, weights=w)
    agree(trace.margin, expected.margins)
    np.testing.assert_array_equal(trace.mistake, expected.mistakes)
    np.testing.assert_array_equal(trace.updated, expected.updated)


@pytest.mark.parametrize("delay", [0, slow(7)])
@pytest.mark.parametrize(
    ("model", "definition"),
    [
        (lambda: raw.MultitaskLogistic(step=0.4), lambda: adalog.AdaLog(adalog.share(0.5), step=0.4)),
        slow(lambda: raw.MultitaskAROW(r=3.0), lambda: adalog.AROW(adalog.share(0.5), rho=3.0)),
        (raw.AdaptiveSharingClassifier, lambda: literal("default")),
    ],
    ids=["logistic", "AROW", "sharing"],
)
def test_classifiers_weigh_records_as_the_literal_algorithm(model, definition, delay):
    X, y, task = stream(1)
    w = drawn(len(y))
    expected = run(definition(), as_records(X), task.tolist(), y, delay, w.tolist())
    agree(predictions(model(), X, y, task, w, delay), expected)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0, 7])
def test_numbers_are_weighed_as_by_the_literal_algorithm(delay):
    X, y, task = stream(2, n=160, d=4)
    y = 50.0 + 10.0 * y + X[:, 1]
    w = drawn(len(y))
    expected = adaptive_regression.run(adaptive_regression.AdaptiveRegression(4), X, task.tolist(), y, delay, w)
    trace = ct.progressive_validation(
        raw.AdaptiveSharingRegressor(), X, y, task=task, sample_weight=w, delay=delay, tasks=list(range(K))
    )
    np.testing.assert_allclose(trace.prediction, expected, rtol=1e-7)
    if not delay:
        plain = ct.progressive_validation(raw.MultitaskRegressor(), X, y, task=task, sample_weight=w)
        agree(plain.prediction, regression.adaptive(X, y, task, 0.5, "squared", 0.3, weights=w).predictions)
        tube = raw.MultitaskRegressor(loss=ct.updates.EpsilonInsensitive(0.1, C=0.1, variant="II"))
        trace = ct.progressive_validation(tube, X, y, task=task, sample_weight=w, tasks=list(range(K)))
        agree(trace.prediction, regression.passive_aggressive(X, y, task, M, weights=w).predictions)


@pytest.mark.parametrize(
    ("budget", "definition"),
    [
        (ct.updates.Unbounded(), budgets.unbounded),
        slow(ct.updates.Forgetron(10), lambda *arguments, weights: budgets.forgetron(*arguments, 10, weights=weights)),
        slow(
            ct.updates.Projection(10, 0.1),
            lambda *arguments, weights: budgets.projection(*arguments, 10, 0.1, weights=weights),
        ),
    ],
    ids=["unbounded", "Forgetron", "projection"],
)
def test_support_vectors_have_weights(budget, definition):
    X, y, task = stream(3, n=120, d=4)
    w = drawn(len(y))
    model = ct.MultitaskKernelPerceptron(ct.kernels.Gaussian(2.0), ct.HalfUpdate(), budget)
    trace = ct.progressive_validation(model, X, y, task=task, sample_weight=w, tasks=list(range(K)))
    expected = definition(X, y, task, M, budgets.gaussian(2.0), weights=w)
    np.testing.assert_allclose(trace.margin, expected.margins, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(trace.updated, expected.updated)


# -- what is the same to the last bit ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        lambda: raw.AdaptiveSharingClassifier(class_weight="balanced"),
        lambda: raw.MultitaskLogistic(class_weight={True: 2.0}),
        lambda: ct.OneVsRest(raw.MultitaskLogistic(class_weight="balanced")),
        lambda: raw.AdaptiveSharingClassifier(max_tasks=3),
        slow(raw.AdaptiveSharingRegressor),
    ],
    ids=["balanced", "by label", "classes", "bounded", "numbers"],
)
def test_records_one_by_one_are_the_block(model, tmp_path):
    X, y, task = stream(7, n=120)
    labels = y.tolist() if isinstance(model(), ct.AdaptiveSharingRegressor) else (y > 0).tolist()
    records, w = as_records(X), drawn(len(y)).tolist()
    records = [{f"x{j}": value for j, value in record.items()} for record in records]
    whole, separate, pieces = model(), model(), model()
    whole.partial_fit(records, labels, task=task, sample_weight=w)
    for x, label, i, weight in zip(records, labels, task.tolist(), w, strict=True):
        separate.learn_one(x, label, task=i, sample_weight=weight)
    for first in range(0, len(y), 50):
        rows = slice(first, first + 50)
        pieces.partial_fit(records[rows], labels[rows], task=task[rows], sample_weight=w[rows])
    path = tmp_path / "model"
    assert content(separate, path) == content(pieces, path) == content(whole, path)


# -- weights of labels -------------------------------------------------------------------------------------------------


def test_balanced_weights_are_by_the_labels_so_far(tmp_path):
    X, y, task = stream(9)
    y = np.where(np.arange(len(y)) % 5 == 0, 1.0, -1.0)
    n = np.arange(1, len(y) + 1)
    so_far = np.where(y > 0, np.cumsum(y > 0), np.cumsum(y < 0))
    weighed = raw.MultitaskLogistic().fit(X, y, task=task, sample_weight=n / (np.where(n > 1, 2.0, 1.0) * so_far))
    balanced = raw.MultitaskLogistic(class_weight="balanced").fit(X[:300], y[:300], task=task[:300])
    balanced = reloaded(balanced, tmp_path / "model").partial_fit(X[300:], y[300:], task=task[300:])
    np.testing.assert_array_equal(balanced.coef_, weighed.coef_)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0, 1.0], r"sample_weight of record 1 \(from 0\) must be a number from 0 to 1,000,000, got -1.0"),
        ([1.0, 1.0, np.nan], r"sample_weight of record 2 \(from 0\) must be a number .*, got nan"),
        ([np.inf, 1.0, 1.0], r"sample_weight of record 0 \(from 0\) must be a number .*, got inf"),
        ([1.0, 1.0], r"sample_weight must have one number per record: got shape \(2,\) for 3 records"),
        (["heavy", 1.0, 1.0], "sample_weight must have one number per record, got"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message):
    X, y = np.eye(3), [0, 1, 0]
    model = raw.MultitaskLogistic().fit(X, y)
    before = model.coef_
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            learn(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.coef_, before)
    with pytest.raises(ValueError, match=r"sample_weight of record 0 .* got -2.0"):
        model.learn_one({"x": 1.0}, 0, sample_weight=-2.0)


MISSPELLED = {"Yes": 20.0}
RECORDS, ANSWERS = [{"x": float(t)} for t in range(4)], ["yes", "no", "no", "yes"]


def set_later(model):
    model.set_params(class_weight=None).fit(RECORDS, ANSWERS).set_params(class_weight=MISSPELLED).predict(RECORDS)


def declared_first(model):
    model.partial_fit(RECORDS[:1], ["yes"], classes=["no", "yes"])


REFUSING = {
    "fit": lambda model: model.fit(RECORDS, ANSWERS),
    "partial_fit": lambda model: model.partial_fit(RECORDS, ANSWERS),
    "declared labels": declared_first,
    "one by one": lambda model: [model.learn_one(x, y, task="a") for x, y in zip(RECORDS, ANSWERS, strict=True)],
    "progressive validation": lambda model: ct.progressive_validation(model, RECORDS, ANSWERS),
    "selective sampling": lambda model: ct.SelectiveSampling(model).fit(RECORDS, ANSWERS),
    "many classes": lambda model: ct.OneVsRest(model).fit(RECORDS, ANSWERS),
    "many declared classes": lambda model: declared_first(ct.OneVsRest(model)),
    "parameters changed": set_later,
}


@pytest.mark.parametrize("path", REFUSING)
def test_class_weights_of_what_is_no_label_are_refused(path):
    with pytest.raises(ValueError, match=r"class_weight names 'Yes', which is not among .*; did you mean 'yes'\?"):
        REFUSING[path](raw.MultitaskLogistic(class_weight=MISSPELLED))


def test_learners_that_weigh_nothing_say_so():
    X, y, task = np.eye(3), [0, 1, 0], [0, 0, 0]
    with pytest.raises(ValueError, match="does not support sample_weight; leave it out"):
        ct.HeterogeneousMultitaskPerceptron().fit([X, X], y, [0, 1, 0], sample_weight=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="class_weight of a member has no effect; set it on the ensemble"):
        raw.AdaptiveSharingClassifier([raw.MultitaskLogistic(class_weight="balanced")]).fit(X, y, task)
    with pytest.raises(ValueError, match="class_weight='balanced' needs all labels"):
        ct.SelectiveSampling(raw.MultitaskLogistic(class_weight="balanced")).fit(X, y, task)


def test_counts_of_labels_from_a_stranger_are_checked(tmp_path):
    data, arrays = raw.MultitaskLogistic(class_weight="balanced").fit(np.eye(3), [0, 1, 0]).__dump__()
    for wrong in (None, [[0, 1]], [[0], [2.0, 1.0]], [[0, 1], [2.0, -1.0]], [[0, 0], [1.0, 2.0]]):
        with pytest.raises(ValueError, match=r"weights of labels|not a list of labels"):
            raw.MultitaskLogistic(class_weight="balanced").__restore__(data | {"label_counts": wrong}, arrays)
