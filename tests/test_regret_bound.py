"""The regret of a bandit by second-order regression stays below its bound, and what the bound is made of is what it says."""

import numpy as np
import pytest

import coterie as ct
from coterie.evaluation.bounds.bandit_bounds import confidence_width, regret_bound
from coterie.evaluation.bounds.perceptron_bounds import penalty

K, D, ACTIONS, T, SIGMA = 6, 4, 8, 120, 0.3
PATH = [(i, i + 1) for i in range(K - 1)]
RELATIONS = {"graph": ct.TaskGraph(PATH, error=0.0), "independent": ct.Independent(), "mean": ct.MeanRegularized(b=5.0)}


def simulated(relation, ridge, seed, rounds=T):
    """The bandit on a stream of users alike: its regret, records, tasks, true weights, M, and Σ ln(1 + q / ridge)."""
    rng = np.random.default_rng(seed)
    M = relation.relation_matrix(list(range(K)))
    U = rng.normal(size=D) + 0.2 * rng.normal(size=(K, D))
    model = ct.SecondOrderMultitaskRegressor(relation, ridge).partial_fit(np.zeros((K, D)), [0.0] * K, list(range(K)))
    X, tasks, regret, seen = np.zeros((rounds, D)), rng.integers(K, size=rounds), 0.0, 0.0
    for t, i in enumerate(tasks):
        actions = rng.normal(size=(ACTIONS, D))
        f, q = model.predict(actions, [i] * ACTIONS), model.margin_variance(actions, [i] * ACTIONS)
        width, truth = confidence_width(seen, penalty(U, M), SIGMA, ridge=ridge), actions @ U[i]
        assert (np.abs(f - truth) <= width * np.sqrt(q / ridge)).all()
        a = int(np.argmax(f + width * np.sqrt(q / ridge)))
        X[t], regret, seen = actions[a], regret + truth.max() - truth[a], seen + np.log1p(q[a] / ridge)
        model.partial_fit(X[t : t + 1], [truth[a] + SIGMA * rng.normal()], [i])
    return regret, X, tasks, U, M, seen


@pytest.mark.parametrize(("name", "ridge"), [("graph", 1.0), ("independent", 10.0), ("mean", 0.5)])
def test_regret_stays_below(name, ridge):
    regret, X, tasks, U, M, seen = simulated(RELATIONS[name], ridge, seed=7)
    bound = regret_bound(X, tasks, U, M, SIGMA, ridge=ridge)
    assert 0 < regret <= bound.regret
    assert bound.log_determinant == pytest.approx(seen, rel=1e-9)
    assert bound.width == confidence_width(bound.log_determinant, penalty(U, M), SIGMA, ridge=ridge)
    noise = SIGMA**2 * (seen + 2 * np.log(1 / 0.05))
    assert bound.regret <= 2 * np.sqrt(T * 2 * (noise + ridge * penalty(U, M)) * (1 + bound.radius) * seen)


def test_alike_neighbours_are_cheaper():
    runs = [simulated(RELATIONS[name], 1.0, seed=2, rounds=100) for name in ("graph", "independent")]
    graph, independent = [(run[0], regret_bound(*run[1:5], SIGMA).regret) for run in runs]
    assert graph[0] < independent[0]
    assert graph[1] < independent[1]
