"""The bounds of the other geometries hold on random and adversarial streams, for many comparators."""

import numpy as np
import pytest

import coterie as ct
from coterie.evaluation.bounds.geometry_bounds import (
    heterogeneous_bound,
    heterogeneous_spectral_bound,
    log_determinant,
    p_norm_bound,
    second_order_bound,
)
from reference import p_norm as literal_p_norm
from streams import spiteful

K, D, N = 3, 5, 100
SecondOrder = ct.SecondOrderMultitaskPerceptron
Heterogeneous = ct.HeterogeneousMultitaskPerceptron
RELATIONS = {
    "independent": (ct.Independent(), np.eye(K)),
    "mean": (ct.MeanRegularized(b=4.0), np.linalg.inv(np.eye(K) + 4.0 * (np.eye(K) - 1.0 / K))),
    "half": (ct.HalfUpdate(), (np.eye(K) + 1) / 2),
}


def stream(seed, noise):
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(N, D)), rng.integers(K, size=N)
    truth = rng.normal(size=D) + 0.4 * rng.normal(size=(K, D))
    return X, np.where(np.einsum("td,td->t", truth[task], X) + noise * rng.normal(size=N) > 0, 1, -1), task, truth


def comparators(seed, truth):
    rng = np.random.default_rng(seed)
    yield from (scale * truth for scale in (0.1, 1.0, 10.0))
    yield from (scale * rng.normal(size=truth.shape) for scale in (0.3, 3.0))
    yield np.zeros(truth.shape)


def assert_bounded(make, bound, seed=1):
    """On streams of each kind, an adversary's among them, for many comparators; M and they are in the order of a trace."""
    X, y, task, truth = stream(seed, 0.5 * seed)
    rng = np.random.default_rng(seed)
    hard, whose = rng.normal(size=(N, D)), rng.integers(K, size=N)
    hard[N // 2 :] = hard[: N - N // 2]
    for records, labels, tasks in ((X, y, task), (hard, spiteful(make(), hard, whose, range(K)), whose)):
        trace = ct.progressive_validation(make(), records, labels, task=tasks, tasks=range(K))
        assert labels is y or trace.mistakes == N
        order = np.array(trace.tasks)
        for U in comparators(seed, truth):
            assert trace.mistakes <= bound(trace, records, U[order], np.ix_(order, order)).mistakes


@pytest.mark.parametrize(("name", "ridge"), [("independent", 0.1), ("mean", 1.0), ("half", 30.0)])
def test_second_order(name, ridge):
    relation, M = RELATIONS[name]
    assert_bounded(
        lambda: SecondOrder(relation, ridge),
        lambda trace, X, U, order: second_order_bound(trace, X, U, M[order], ridge),
    )


@pytest.mark.parametrize(
    ("name", "transform", "p"),
    [("mean", "Ainv", 2.0), ("half", "Ainvsqrt", 5.4), ("mean", "none", 50.0), ("independent", "Ainv", 5.4)],
)
def test_p_norm(name, transform, p):
    relation, M = RELATIONS[name]
    T = literal_p_norm.transform_of(M, transform)
    assert_bounded(
        lambda: ct.PNormMultitaskPerceptron(relation, p, transform),
        lambda trace, X, U, order: p_norm_bound(trace, X, U, T[order], p),
    )


def test_log_determinant_is_that_of_the_definition():
    X, y, task, _ = stream(4, 1.0)
    relation, M = RELATIONS["mean"]
    trace = ct.progressive_validation(SecondOrder(relation, 2.0), X, y, task=[str(i) for i in task], tasks=list("012"))
    phi = np.array([np.kron(np.eye(K)[i], x) for i, x in zip(task, X, strict=True)])[trace.mistake]
    values = np.linalg.eigvalsh(phi @ np.kron(M, np.eye(D)) @ phi.T)
    order = np.array([int(name) for name in trace.tasks])
    value = log_determinant(trace, X, M[np.ix_(order, order)], 2.0)
    assert value == pytest.approx(np.log1p(np.maximum(values, 0) / 2.0).sum(), rel=1e-9)


def test_the_radius_of_the_p_norm_bound_is_that_of_the_instances():
    X, y, task, truth = stream(2, 1.0)
    _, M = RELATIONS["mean"]
    trace = ct.progressive_validation(ct.PNormMultitaskPerceptron(p=3), X, y, task=task, tasks=range(K))
    Z = np.array([np.kron(M[i], x) for x, i in zip(X, task, strict=True)])
    order = np.array(trace.tasks)
    bound = p_norm_bound(trace, X, truth[order], M[np.ix_(order, order)], 3)
    assert bound.radius == pytest.approx(np.linalg.norm(Z[trace.mistake], 3, axis=1).max())
    assert bound.length == pytest.approx(np.linalg.norm((np.linalg.inv(M) @ truth).ravel(), 1.5))


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize(
    ("b", "relation"),
    [
        *((0.0, None), (1.0, None), (8.0, None)),
        *((2.0, ct.TaskGraph([(0, 1), (1, 2, 3.0)])), (2.0, ct.tasks.Interaction(np.diag([1.0, 2.0, 4.0])))),
    ],
)
def test_heterogeneous(b, relation, unit):
    rng = np.random.default_rng(int(b))
    hidden, active = rng.normal(size=(N, 2)), rng.integers(3, size=N)
    X = [hidden @ rng.normal(size=(2, d)) + 0.2 * rng.normal(size=(N, d)) for d in (3, 5, 2)]
    if unit:
        X = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in X]
    for noise in (0.0, 1.0):
        y = hidden[:, 0] + noise * rng.normal(size=N) > 0
        trace = ct.progressive_validation(Heterogeneous(b, relation=relation), X, y, task=active)
        views, M = [X[i] for i in trace.tasks], () if relation is None else (relation.relation_matrix(trace.tasks),)
        best = [np.linalg.lstsq(view, np.where(y, 1.0, -1.0), rcond=None)[0] for view in views]
        for scale in (0.0, 0.5, 2.0, 20.0):
            U = [scale * u for u in best]
            bound, closer = (f(trace, views, U, b, *M) for f in (heterogeneous_bound, heterogeneous_spectral_bound))
            assert trace.mistakes <= min(bound.mistakes, closer.mistakes)
            assert closer.energy * closer.complexity <= bound.complexity * trace.mistakes * (1 + 1e-12)
    if unit and relation is None:
        assert heterogeneous_bound(trace, views, best, 0.0).complexity == pytest.approx(sum(u @ u for u in best))
        assert heterogeneous_bound(trace, views, [np.zeros_like(u) for u in best], b).mistakes == trace.mistakes


def test_the_radius_and_length_of_a_graph_are_those_of_the_definition():
    """c = φ_i'(I + zz')⁻¹φ_i and q = Σ‖u‖² + Σ (z·u)², z being a row of the clique's (A - I)^½ = sqrt(2)(I - 11'/2)."""
    rng = np.random.default_rng(3)
    X, y, active = [rng.normal(size=(40, 2)) for _ in "ab"], rng.choice([-1, 1], 40), rng.integers(2, size=40)
    graph = ct.TaskGraph([(0, 1)])
    trace = ct.progressive_validation(Heterogeneous(relation=graph), X, y, task=active)
    views, U = [X[i] for i in trace.tasks], [np.array([1.0, 2.0]), np.array([-1.0, 0.5])]
    radii, q = [], sum(u @ u for u in U)
    for t in np.flatnonzero(trace.mistake):
        i = trace.task[t]
        phi = np.concatenate([view[t] * (k == i) for k, view in enumerate(views)])
        z = np.sqrt(2.0) * np.sqrt(2.0) * (phi - np.concatenate([view[t] for view in views]) / 2)
        radii.append(phi @ np.linalg.solve(np.eye(4) + np.outer(z, z), phi))
        q += (z @ np.concatenate(U)) ** 2
    bound = heterogeneous_bound(trace, views, U, 1.0, graph.relation_matrix(trace.tasks))
    assert bound.complexity == pytest.approx(max(radii) * q)
    with pytest.raises(ValueError, match=r"M must have shape \(2, 2\)"):
        heterogeneous_bound(trace, views, U, 1.0, np.eye(3))


def test_the_energy_of_the_spectral_bound_is_that_of_the_definition():
    rng = np.random.default_rng(5)
    X, y, active = [rng.normal(size=(40, d)) for d in (2, 3)], rng.choice([-1, 1], 40), rng.integers(2, size=40)
    trace = ct.progressive_validation(Heterogeneous(2.0), X, y, task=active)
    views = [X[i] for i in trace.tasks]
    widths = [x.shape[1] for x in views]
    A, energy = np.eye(5), 0.0
    for t in np.flatnonzero(trace.mistake):
        whole, phi = np.concatenate([x[t] for x in views]), np.zeros(5)
        start = sum(widths[: trace.task[t]])
        phi[start : start + widths[trace.task[t]]] = views[trace.task[t]][t]
        A += 2.0 * 2 * np.outer(phi - whole / 2, phi - whole / 2)
        energy += phi @ np.linalg.solve(A, phi)
    assert heterogeneous_spectral_bound(trace, views, [np.ones(d) for d in widths], 2.0).energy == pytest.approx(energy)
