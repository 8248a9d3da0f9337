"""Theorems 1 and 2 of CC12 on random streams, with comparators that are as long as they may be."""

from itertools import pairwise

import numpy as np
import pytest

import coterie as ct
from coterie.evaluation.bounds.budget_bounds import (
    Comparators,
    forgetron_bound,
    random_removal_bound,
    shifting_forgetron_bound,
)
from streams import spiteful

K, D = 4, 8
RELATIONS = {"half": (ct.HalfUpdate(), (np.eye(K) + 1) / (K + 1)), "independent": (ct.Independent(), np.eye(K))}
RELATIONS["mean"] = ct.MeanRegularized(b=3), (np.eye(K) + 0.75) / 4


def stream(seed, n, noise, shifts=1):
    """Records of length one, tasks near each other, labels by truths that may jump."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    task = rng.integers(K, size=n)
    truths = [rng.normal(size=D) + 0.3 * rng.normal(size=(K, D)) for _ in range(shifts)]
    part = np.arange(n) * shifts // n
    clean = np.array([truths[part[t]][task[t]] @ X[t] for t in range(n)])
    return X, np.where(clean + noise * rng.normal(size=n) > 0, 1.0, -1.0), task, truths


def scaled(U, M, length):
    """Comparators in the direction of U with that norm under A."""
    return U * length / np.sqrt(np.trace(np.linalg.solve(M, U @ U.T)))


def run(relation, budget, X, y, task, kernel="linear"):
    model = ct.MultitaskKernelPerceptron(kernel, relation, budget)
    return ct.progressive_validation(model, X, y, task=task, tasks=range(K))


def in_order(trace, U):
    return U[[int(task) for task in trace.tasks]]


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize(("noise", "size"), [(0.0, 84), (0.5, 300)])
def test_theorem_2(name, noise, size):
    relation, M = RELATIONS[name]
    for seed in range(2):
        X, y, task, truths = stream(seed, 1000, noise)
        trace = run(relation, ct.updates.Forgetron(size), X, y, task)
        longest = np.sqrt((size + 1) / np.log(size + 1)) / (4 * np.sqrt(M[0, 0]))
        for length in (longest, longest / 2):
            U = in_order(trace, scaled(truths[0], M, length))
            bound = forgetron_bound(trace, X, Comparators("linear", np.eye(D), M, [0], [U]), size)
            assert trace.mistakes <= bound.mistakes


@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize("shifts", [1, 3])
def test_theorem_1(name, shifts):
    """Averaged over seeds; comparators that shift as the truth does."""
    relation, M = RELATIONS[name]
    size, n = 60, 900
    X, y, task, truths = stream(7, n, 0.2, shifts)
    traces = [run(relation, ct.updates.RandomRemoval(size, seed), X, y, task) for seed in range(12)]
    mean = np.mean([trace.mistakes for trace in traces])
    for epsilon in (0.1, 0.4, 0.8):
        length = epsilon * np.sqrt(size) / (2 * np.sqrt(M[0, 0]))
        bounds = [in_order(traces[0], scaled(truth, M, length)) for truth in truths]
        comparators = Comparators("linear", np.eye(D), M, [part * n // shifts for part in range(shifts)], bounds)
        bound = random_removal_bound(traces[0], X, comparators, size)
        assert bound.epsilon == pytest.approx(epsilon)
        assert (bound.shift > 0) == (shifts > 1)
        assert mean <= bound.mistakes


@pytest.mark.slow
@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize(("size", "shifts"), [(8, 1), (60, 1), (60, 4)])
def test_the_shifting_forgetron_has_a_bound_for_comparators_that_shift(name, size, shifts):
    relation, M = RELATIONS[name]
    n = 600
    for seed, noise in ((0, 0.0), (1, 0.5)):
        X, y, task, truths = stream(seed, n, noise, shifts)
        budget = ct.updates.ShiftingForgetron(size)
        easy = run(relation, budget, X, y, task)
        hard = spiteful(ct.MultitaskKernelPerceptron("linear", relation, budget), X, task, range(K))
        for trace in (easy, run(relation, budget, X, hard, task)):
            for length in (0.0, 0.5, 1.5):
                bounds = [in_order(trace, scaled(truth, M, length / np.sqrt(M[0, 0]))) for truth in truths]
                comparators = Comparators(
                    "linear", np.eye(D), M, [part * n // shifts for part in range(shifts)], bounds
                )
                assert trace.mistakes <= shifting_forgetron_bound(trace, X, comparators, size).mistakes
        assert trace.mistakes == n


def test_shift_is_equation_2():
    """With a complete graph: Σ‖Δ_i‖² + Σ_{i<j} ‖Δ_i - Δ_j‖² under the root, each step of the way."""
    rng = np.random.default_rng(0)
    steps, (_, M) = [rng.normal(size=(K, D)) for _ in range(3)], RELATIONS["half"]
    comparators = Comparators("linear", np.eye(D), M, [0, 5, 9], steps)
    total = 0.0
    for before, after in pairwise(steps):
        delta = after - before
        total += np.sqrt(np.sum(delta**2) + sum(np.sum((delta[i] - delta[j]) ** 2) for i in range(K) for j in range(i)))
    assert comparators.shift == pytest.approx(total)
