"""Degenerate cases, invariances, and theorem 1 of CCG08 on random and adversarial streams."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from papers.data import load
from sklearn.base import clone

import coterie as ct
from coterie.evaluation.bounds.perceptron_bounds import mean_risk_bound, mistake_bound, penalty, worst_stream
from reference import perceptron
from slow import slow
from streams import CASES, D, K, Stream, linear_stream, validated

seeds = st.integers(0, 2**32 - 1)
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
POSITIVE_DEFINITE = {name: case for name, case in CASES.items() if name != "pooled"}

PAIRS = [(i, j) for i in range(K) for j in range(i)]
NUMBERS = tuple(range(K))


def run(relation, stream, tasks=NUMBERS):
    model = ct.MultitaskPerceptron(relation)
    return model.__stream_model__().learn(stream.X, stream.y, stream.named(tasks), tasks=tasks)


# -- degenerate cases --------------------------------------------------------------------------------------------------


EQUAL_UP_TO_SCALE = {
    "b = 0 is independent": (ct.MeanRegularized(b=0), ct.Independent()),
    "share 0 is independent": (ct.MeanRegularized(share=0), ct.Independent()),
    "share 1 is pooled": (ct.MeanRegularized(share=1), ct.Pooled()),
    "share 1/2 is the half-update": (ct.MeanRegularized(share=0.5), ct.HalfUpdate()),
    "b = K is the half-update": (ct.MeanRegularized(b=K), ct.HalfUpdate()),
    "b = sK / (1 - s) is share s": (ct.MeanRegularized(b=0.2 * K / 0.8), ct.MeanRegularized(share=0.2)),
    "the complete graph is the half-update": (ct.TaskGraph(PAIRS, tasks=NUMBERS), ct.HalfUpdate()),
    "the graph without edges is independent": (ct.TaskGraph([], tasks=NUMBERS), ct.Independent()),
    "A = I is independent": (ct.tasks.Interaction(np.eye(K)), ct.Independent()),
    "clusters of one are independent": (ct.Clusters({i: i for i in NUMBERS}, b=5), ct.Independent()),
    "one cluster is the mean": (ct.Clusters(dict.fromkeys(NUMBERS, 0), b=3), ct.MeanRegularized(b=3)),
    "a tree of one level is the mean": (ct.Hierarchy(dict.fromkeys(NUMBERS, "all"), b=3), ct.MeanRegularized(b=3)),
    "a tree that shares nothing is independent": (ct.Hierarchy("/", b=0), ct.Independent()),
    "cliques of two are clusters of b = 2": (
        ct.TaskGraph([(0, 1), (2, 3)], tasks=NUMBERS),
        ct.Clusters({0: "f", 1: "f", 2: "g", 3: "g", 4: "h"}, b=2),
    ),
}


@pytest.mark.parametrize(("one", "other"), EQUAL_UP_TO_SCALE.values(), ids=EQUAL_UP_TO_SCALE)
def test_relations_that_are_the_same_up_to_scale(one, other):
    stream = linear_stream(21)
    ours, theirs = run(one, stream), run(other, stream)
    np.testing.assert_array_equal(stream.y * ours.margin <= 0, stream.y * theirs.margin <= 0)
    np.testing.assert_array_equal(ours.updated, theirs.updated)
    factor = np.dot(ours.margin, theirs.margin) / np.dot(theirs.margin, theirs.margin)
    assert factor > 0
    np.testing.assert_allclose(ours.margin, factor * theirs.margin, rtol=1e-9, atol=1e-9 * np.abs(ours.margin).max())


# -- invariances -------------------------------------------------------------------------------------------------------


@cases
def test_primal_equals_dual(case):
    stream = linear_stream(26, n=80)
    margins, step_sizes = perceptron.dual(stream.X, stream.y, stream.task, M=case.M)
    rounds = run(case.relation, stream, case.tasks)
    np.testing.assert_array_equal(rounds.updated, step_sizes > 0)
    np.testing.assert_allclose(rounds.margin, margins, rtol=1e-9, atol=1e-10)


# -- theorem 1 ---------------------------------------------------------------------------------------------------------


def bounds(case, stream, trace, comparators):
    order = [case.tasks.index(task) for task in trace.tasks]
    # the inverse is A up to a factor, which cancels in the bound
    q, c = ([np.vdot(U, np.linalg.inv(case.M) @ U) for U in comparators], case.M.diagonal().max())
    return [mistake_bound(trace, stream.X, U[order], size, c) for U, size in zip(comparators, q, strict=True)]


@given(seeds, st.sampled_from(sorted(POSITIVE_DEFINITE)), st.sampled_from([0.0, 0.5, 5.0]))
def test_mistake_bound_on_random_streams(seed, name, noise):
    case, stream = CASES[name], linear_stream(seed, n=100, noise=noise)
    trace = validated(ct.MultitaskPerceptron(case.relation), stream, case.tasks)
    directions = np.random.default_rng(seed).standard_normal((4, K, D))
    for bound in bounds(case, stream, trace, [scale * U for scale in (0.0, 0.1, 1.0, 10.0) for U in directions]):
        assert trace.mistakes <= bound.mistakes + 1e-9


def candidates(rng, U, n=100):
    """Records of length 1 to which the comparator gives a margin of at least 1 on one side."""
    X, task = rng.standard_normal((n, D)), rng.integers(K, size=n)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    sides = np.einsum("td,td->t", U[task], X)
    clear = np.abs(sides) >= 1.0
    return X[clear], task[clear], sides[clear]


def adversarial_stream(case, U, spite, n=150, seed=7):
    """Of some candidates the one whose comparator's label is not the predicted one, with the least margin of those.

    A share ``spite`` of the records gets the label that was not predicted, whatever the comparator says of it.
    """
    rng, model, records = np.random.default_rng(seed), ct.MultitaskPerceptron(case.relation), []
    for _ in range(n):
        X, task, sides = candidates(rng, U)
        labels = [case.tasks[i] for i in task]
        margins = model.decision_function(X, task=labels) if model.__sklearn_is_fitted__() else np.zeros(len(X))
        wrong = np.where(np.sign(sides) * margins <= 0, np.abs(sides), np.inf)
        t = int(rng.integers(len(X))) if rng.random() < spite else int(np.argmin(wrong))
        y = np.sign(sides[t]) if np.isfinite(wrong[t]) or spite == 0.0 else -np.sign(sides[t])
        records.append((X[t], y, task[t]))
        model.partial_fit(X[[t]], [y], [labels[t]], classes=[-1.0, 1.0], tasks=case.tasks)
    return Stream(*(np.array(column) for column in zip(*records, strict=True)))


@pytest.mark.parametrize(
    ("name", "spite"),
    [
        *(("independent", 0.0), ("half", 0.1), ("mean b", 0.0), ("clusters b", 0.1), ("tree b", 0.0)),
        *(("graph factor", 0.1), slow("interaction", 0.0)),
    ],
)
def test_mistake_bound_against_an_adversary(name, spite):
    """Separable, L = 0 and the bound is c q, of which the adversary gets a good part."""
    case = CASES[name]
    U = 3.0 * np.random.default_rng(5).standard_normal(D) + np.random.default_rng(6).standard_normal((K, D))
    stream = adversarial_stream(case, U, spite)
    trace = validated(ct.MultitaskPerceptron(case.relation), stream, case.tasks)
    (bound,) = bounds(case, stream, trace, [U])
    assert (bound.loss == 0.0) == (spite == 0.0)
    assert min(0.1 * bound.mistakes, 0.9 * len(stream)) < trace.mistakes <= bound.mistakes
    for scaled in bounds(case, stream, trace, [s * U for s in (0.0, 0.01, 0.1, 0.5, 2.0)]):
        assert trace.mistakes <= scaled.mistakes


def test_the_bound_is_tight_for_one_task():
    """Orthogonal records: every one is a mistake, and u = Σ y x has L = 0 and q = n."""
    n = 12
    trace = ct.progressive_validation(ct.MultitaskPerceptron(), np.eye(n), [1, -1] * (n // 2))
    U = np.array([[1.0, -1.0] * (n // 2)])
    bound = mistake_bound(trace, np.eye(n), U, penalty(U, np.eye(1)), 1.0)
    assert (trace.mistakes, bound.mistakes, bound.loss) == (n, n, 0.0)


@pytest.mark.parametrize(
    "model",
    [
        ct.MultitaskPerceptron(),
        ct.MultitaskPerceptron(ct.Independent(), ct.updates.PassiveAggressive()),
        ct.SecondOrderMultitaskPerceptron(),
        ct.PNormMultitaskPerceptron(p=3.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize(("shared", "own"), [(20, 0), (8, 3), (0, 5)])
def test_an_adversary_makes_everybody_wrong_however_related_the_tasks(model, shared, own):
    """So the bound of the half-update is good up to a factor of two at most, whatever tasks have in common."""
    names = list("abcd")
    worst = worst_stream(model, names, shared, own, seed=3)
    trace = ct.progressive_validation(clone(model), worst.X, worst.y, task=worst.task, tasks=names)
    assert trace.mistakes == len(worst.y) == shared + 4 * own
    rows = [names.index(task) for task in worst.task]
    np.testing.assert_array_equal(np.einsum("td,td->t", worst.U[rows], worst.X), worst.y)
    np.testing.assert_array_equal(((worst.U[:, None] - worst.U[None]) ** 2).sum(axis=2), 2.0 * own * (1 - np.eye(4)))
    M = (np.eye(4) + 1) / 5
    U = worst.U[[names.index(task) for task in trace.tasks]]
    bound = mistake_bound(trace, worst.X, U, penalty(U, M), M.diagonal().max())
    assert bound.loss == 0.0
    assert trace.mistakes <= bound.mistakes <= 2 * 4 / 5 * trace.mistakes * (1 + 1e-12)


def test_the_risk_of_the_mean_hypothesis_is_below_its_bound():
    """FOR09 Theorem 3.1.6, with a loss from 0 to 1, in 95 of 100 runs at least: here in all of fifty."""
    rng, d, T = np.random.default_rng(0), 5, 120
    truth = np.array([0.6, 0.0, 0.8, 0.0, 0.0])
    failed = 0
    for _ in range(50):
        X = rng.normal(size=(T + 2000, d))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = np.where(rng.random(len(X)) < 0.5 * (1 + X @ truth), 1.0, -1.0)
        w, mean, losses = np.zeros(d), np.zeros(d), np.zeros(T)
        for t in range(T):  # descent of |y - w·x| / 2 in the unit ball
            losses[t] = abs(y[t] - w @ X[t]) / 2
            mean += w / T
            w += 0.1 * np.sign(y[t] - w @ X[t]) * X[t]
            w /= max(1.0, np.linalg.norm(w))
        failed += np.abs(y[T:] - X[T:] @ mean).mean() / 2 > mean_risk_bound(losses, 0.05)
    assert failed == 0
    assert mean_risk_bound([0.25, 0.75], delta=1.0) == 0.5
    for losses, delta, message in (
        ([], 0.05, r"losses must have one value per round, shape \(T,\), got shape \(0,\)"),
        ([0.5, 1.5], 0.05, "losses must be between 0 and 1; the hinge loss is not"),
        ([np.nan], 0.05, "losses must be between 0 and 1"),
        ([0.5], 0.0, r"delta must lie in \(0, 1\], got 0.0"),
    ):
        with pytest.raises(ValueError, match=message):
            mean_risk_bound(losses, delta)


@pytest.mark.data
def test_bound_and_order_of_the_relations_on_landmine():
    """29 fields with mines, half of them overgrown: sharing in part makes fewer mistakes than none and than all."""
    data = load("landmine")
    mistakes = dict.fromkeys(("independent", "half", "pooled"), 0)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(data.y))
        X, y, task = data.X[order], data.y[order], data.task[order]
        comparison = ct.compare({"half": ct.MultitaskPerceptron()}, X, y, task=task)
        for name in mistakes:
            mistakes[name] += comparison.traces[name].mistakes
        trace, model = comparison.traces["half"], comparison.models["half"]
        # the weights of the end as comparator, and shorter ones
        order = [model.tasks_.index(task) for task in trace.tasks]
        U, M = model.coef_[order], model.relation_matrix_[np.ix_(order, order)]
        for scale in (0.0, 1e-3, 1e-2, 0.1, 1.0):
            bound = mistake_bound(trace, X, scale * U, penalty(scale * U, M), M.diagonal().max())
            assert trace.mistakes <= bound.mistakes
    assert mistakes["half"] < 0.97 * min(mistakes["independent"], mistakes["pooled"])
