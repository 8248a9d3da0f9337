"""Forgetting against its definition, what it is good for, and the bound for comparators that move."""

import math
from functools import partial
from itertools import product, starmap

import numpy as np
import pytest
from sklearn.base import clone

import coterie as ct
import raw
from coterie.evaluation.bounds.perceptron_bounds import shifting_bound
from coterie.updates.weights.time_decay import Forgetting
from reference import adalog, forgetting
from reference.sharing import run
from slow import slow, slow_where
from streams import BY_COLUMNS, CASES, FORMS, RULES, K, assert_margins, linear_stream, spiteful
from test_adaptive import as_records

STREAM = linear_stream(81, zeros=0.3)
X, Y, TASK = STREAM.X, STREAM.y, STREAM.task
SHARE, HALF_LIVES = 0.25, (30.0, 7.0)
RELATION = ct.MeanRegularized(share=SHARE)
MODELS = {
    "Perceptron": ct.MultitaskPerceptron(RELATION, half_life=HALF_LIVES),
    "logistic": raw.MultitaskLogistic(RELATION, half_life=HALF_LIVES),
    "AROW": raw.MultitaskAROW(RELATION, r=3, half_life=HALF_LIVES),
}


LITERAL = {"Perceptron": adalog.Perceptron, "logistic": adalog.AdaLog, "AROW": partial(adalog.AROW, rho=3.0)}


@pytest.mark.parametrize(
    ("name", "storage"),
    [("Perceptron", "dense"), *starmap(slow, [("logistic", "dense"), ("logistic", "sparse"), ("AROW", "dense")])],
)
def test_the_lazy_form_equals_the_literal_one(name, storage):
    model, form = clone(MODELS[name]).set_params(storage=storage), "dense" if storage == "dense" else "csr"
    learner = forgetting.Fading(LITERAL[name](adalog.share(SHARE)), HALF_LIVES)
    expected = np.array(run(learner, as_records(X), TASK.tolist(), Y))
    assert_margins(model.__stream_model__().learn(FORMS[form](X), Y, TASK).margin, expected, Y)


@pytest.mark.parametrize(
    ("name", "rule"),
    slow_where(product(CASES, ("perceptron", "PA-I")), lambda name, rule: name in BY_COLUMNS or rule != "perceptron"),
)
def test_one_half_life_under_every_relation(name, rule):
    case, rule = CASES[name], RULES[rule]
    model = ct.MultitaskPerceptron(case.relation, rule, half_life=9.0, storage="dense")
    rounds = model.__stream_model__().learn(X, Y, STREAM.named(case.tasks), tasks=case.tasks)
    margins, W = forgetting.perceptron(X, Y, TASK, case.M, 9.0, None if rule == ct.updates.Perceptron() else 0.3)
    assert_margins(rounds.margin, margins, Y)
    np.testing.assert_allclose(model.coef_[[model.tasks_.index(task) for task in case.tasks]], W, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8])
@pytest.mark.parametrize(
    "make",
    [
        ct.MultitaskLogistic,
        ct.MultitaskMixedEffectsClassifier,
        lambda half_life: ct.MultitaskMixedEffectsClassifier(*[np.max(half_life)] * 2),  # the numbers as variances
    ],
    ids=["logistic", "mixed", "variances"],
)
def test_numbers_of_narrow_types_are_the_same_numbers(make, kind):
    """2^(-1/h) would be computed in the type's precision, and otherwise in a loaded model."""
    margins = [
        make(half_life=half_life).fit(X, Y, task=TASK).decision_function(X, task=TASK)
        for half_life in (9.0, kind(9), (kind(9), kind(9)))
    ]
    for margin in margins[1:]:
        np.testing.assert_array_equal(margin, margins[0])
    assert type(Forgetting(ct.updates.LinearWeights(), kind(9)).shared) in (int, float)


# -- what it is good for -----------------------------------------------------------------------------------------------


def drifting(seed, n=6000, every=1000, d=6):
    """A stream whose half-shared truths are drawn anew every so often."""
    rng = np.random.default_rng(seed)
    x, task = rng.standard_normal((n, d)), rng.integers(K, size=n)
    truths = rng.standard_normal((n // every, 1, d)) + 0.5 * rng.standard_normal((n // every, K, d))
    when = np.arange(n) // every
    return x, np.where(np.einsum("td,td->t", truths[when, task], x) > 0, 1.0, -1.0), task, truths, when


@pytest.mark.parametrize("make", [raw.MultitaskLogistic, slow(raw.MultitaskAROW)], ids=["logistic", "AROW"])
def test_forgetting_follows_a_drift(make):
    x, y, task, _, _ = drifting(0)
    errors = {h: ct.progressive_validation(make(half_life=h), x, y, task=task).error for h in (None, 300.0)}
    assert errors[300.0] < 0.95 * errors[None]


# -- the bound ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("half_life", [math.inf, 1000.0, 30.0, 3.0])
@pytest.mark.parametrize("name", ["independent", "half", "mean b", "tree b", slow("graph factor")])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_holds_on_drifting_streams(half_life, name, seed):
    x, y, task, truths, when = drifting(seed, n=600, every=100)
    case, rng = CASES[name], np.random.default_rng(seed)
    model = ct.MultitaskPerceptron(case.relation, half_life=None if half_life == math.inf else half_life)
    trace = ct.progressive_validation(model, x, y, task=[case.tasks[i] for i in task], tasks=case.tasks)
    order = [case.tasks.index(task) for task in trace.tasks]
    M = case.M[np.ix_(order, order)]
    for scale in (0.3, 1.0, 3.0):
        for U in (scale * truths, scale * rng.standard_normal(truths.shape)):
            bound = shifting_bound(trace, x, U[:, order], when, M, half_life)
            assert trace.mistakes <= bound.mistakes + 1e-9
            doubled = shifting_bound(trace, x, U[:, order], when, 2.0 * M, half_life)
            assert doubled.mistakes == pytest.approx(bound.mistakes)


@pytest.mark.parametrize("half_life", [math.inf, 5.0])
def test_the_bound_holds_on_adversarial_streams(half_life):
    """Labels that always contradict the prediction: every round is a mistake."""
    rng, n = np.random.default_rng(0), 200
    x, task = rng.standard_normal((n, 3)), rng.integers(2, size=n)
    y = spiteful(ct.MultitaskPerceptron(ct.HalfUpdate(), half_life=half_life), x, task, [0, 1])
    model = ct.MultitaskPerceptron(ct.HalfUpdate(), half_life=half_life)
    trace = ct.progressive_validation(model, x, y, task=task, tasks=[0, 1])
    assert trace.mistakes > 0.95 * n
    U = rng.standard_normal((4, 2, 3))[:, [int(i) for i in trace.tasks]]
    bound = shifting_bound(trace, x, U, np.arange(n) // 50, [[1.0, 0.5], [0.5, 1.0]], half_life)
    assert trace.mistakes <= bound.mistakes


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"U": np.ones((1, 1))}, "U must have shape"),
        ({"when": [0]}, "X and when must have one entry per round"),
        ({"half_life": 0}, "half_life must be positive"),
    ],
)
def test_what_has_no_bound_is_refused(changed, message):
    x = np.array([[1.0], [-1.0]])
    trace = ct.progressive_validation(ct.MultitaskPerceptron(), x, [0, 1])
    with pytest.raises(ValueError, match=message):
        shifting_bound(**{"trace": trace, "X": x, "U": np.ones((1, 1, 1)), "when": [0, 0], "M": [[1.0]]} | changed)
