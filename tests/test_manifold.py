"""Ridge regression over a graph of records against its definition, with explicit features."""

import numpy as np
import pytest
import scipy.sparse as sp

import coterie as ct
from coterie.batch import RecordGraph
from coterie.kernels import gram

K, D, N = 3, 4, 40


def data(seed=0):
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(N, D)), rng.integers(K, size=N)
    truth = rng.normal(size=D) + 0.5 * rng.normal(size=(K, D))
    return X, np.einsum("td,td->t", truth[task], X) + 0.1 * rng.normal(size=N), task


def literal_graph(X, task, neighbors):
    """D - W by one record after the other, Euclidean."""
    W = np.zeros((len(X), len(X)))
    for i in range(len(X)):
        others = [j for j in range(len(X)) if j != i and task[j] == task[i]]
        for j in sorted(others, key=lambda j: np.sum((X[i] - X[j]) ** 2))[:neighbors]:
            W[i, j] = W[j, i] = 1.0
    return np.diag(W.sum(axis=1)) - W


def literal(X, y, task, M, L, alpha, gamma, labelled):
    """The weights of the explicit features x ⊗ M^½_t that minimise all three sums, by their normal equations."""
    values, vectors = np.linalg.eigh(M)
    root = vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T
    Phi = np.array([np.kron(root[t], x) for t, x in zip(task, X, strict=True)])
    J = np.diag(labelled.astype(float))
    w = np.linalg.solve(Phi.T @ (J + gamma * L) @ Phi + alpha * np.eye(K * D), Phi.T @ J @ np.where(labelled, y, 0))
    return root @ w.reshape(K, D)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("missing", [0, 15])
def test_equal_to_the_definition(form, center, missing, tmp_path):
    X, y, task = data()
    y = y + 3.0 * center
    labelled = np.arange(N) >= missing
    given = np.where(labelled, y, np.nan)
    relation, M = ct.relations.MixedEffect(omega=0.4), 0.6 * np.eye(K) + 0.4
    mean = y[labelled].mean() if center else 0.0
    W = literal(X, y - mean, task, M, literal_graph(X, task, 4), 0.5, 0.2, labelled)
    model = ct.batch.MultitaskKernelRidge("linear", relation, 0.5, center=center, manifold=RecordGraph(0.2, 4))
    model.fit(form(X), given, task=task)
    fresh = np.random.default_rng(1).normal(size=(20, D))
    whose = np.arange(20) % K
    expected = np.einsum("td,td->t", W[whose], fresh) + mean
    np.testing.assert_allclose(model.predict(form(fresh), task=whose), expected, rtol=1e-9, atol=1e-9)
    model.save(tmp_path / "model.coterie")
    again = ct.load(tmp_path / "model.coterie")
    np.testing.assert_array_equal(again.predict(form(fresh), task=whose), model.predict(form(fresh), task=whose))
    assert again.manifold == model.manifold


def test_every_row_with_the_outputs_of_all_tasks():
    """One graph of the inputs: task by task it is the fit of rows of that task alone, where tasks are independent."""
    X, _, _ = data()
    Y = X @ np.random.default_rng(3).normal(size=(D, K))
    Y[5] = np.nan
    graph = RecordGraph(0.3, 5)
    model = ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(2.0), ct.Independent(), 0.1, manifold=graph).fit(X, Y)
    for k in range(K):
        one = ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(2.0), ct.Independent(), 0.1, manifold=graph).fit(
            X, Y[:, k]
        )
        np.testing.assert_allclose(model.predict(X)[:, k], one.predict(X), rtol=1e-8, atol=1e-9)
    mixed = ct.batch.MultitaskKernelRidge(
        ct.kernels.Gaussian(2.0), ct.relations.MixedEffect(omega=0.5), 0.1, manifold=graph
    ).fit(X, Y)
    M, Q = 0.5 * np.eye(K) + 0.5, gram(ct.kernels.Gaussian(2.0), X)
    L = literal_graph(X, np.zeros(N), 5)
    known = np.arange(N) != 5
    P = np.diag(known.astype(float)) + 0.3 * L
    whole = np.kron(M, P @ Q) + 0.1 * np.eye(K * N)
    c = np.linalg.solve(whole, np.where(known[:, None], Y, 0.0).T.ravel()).reshape(K, N).T
    np.testing.assert_allclose(mixed.predict(X), Q @ c @ M, rtol=1e-7, atol=1e-8)


def test_a_precomputed_kernel_has_the_same_neighbours():
    X, y, task = data(4)
    values = gram(ct.kernels.Gaussian(1.5), X)
    graph = RecordGraph(0.5, 3)
    made = ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(1.5), alpha=0.3, manifold=graph).fit(X, y, task=task)
    given = ct.batch.MultitaskKernelRidge("precomputed", alpha=0.3, manifold=graph).fit(values, y, task=task)
    np.testing.assert_allclose(given.predict(values, task=task), made.predict(X, task=task), rtol=1e-9)


def test_a_little_of_it_is_none_and_much_of_it_makes_neighbours_alike():
    X, y, task = data(5)
    plain = ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(2.0), alpha=0.2).fit(X, y, task=task)
    roughness = []
    L = literal_graph(X, task, 5)
    for gamma in (1e-9, 0.1, 10.0, 1000.0):
        model = ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(2.0), alpha=0.2, manifold=RecordGraph(gamma, 5))
        f = model.fit(X, y, task=task).predict(X, task=task)
        roughness.append(f @ L @ f)
        if gamma < 1e-8:
            np.testing.assert_allclose(f, plain.predict(X, task=task), rtol=1e-6, atol=1e-7)
    assert roughness == sorted(roughness, reverse=True)
    assert roughness[-1] < 0.01 * roughness[0]


def test_records_without_outputs_pay_where_classes_lie_on_curves():
    """Two half moons with a label each: ridge regression has two points, the graph the shape of both."""
    rng = np.random.default_rng(0)
    angle, upper = rng.uniform(0, np.pi, 200), np.arange(200) % 2 == 0
    X = np.column_stack(
        [np.where(upper, np.cos(angle), 1 - np.cos(angle)), np.where(upper, np.sin(angle), 0.5 - np.sin(angle))]
    )
    X += 0.05 * rng.normal(size=X.shape)
    y, truth = np.full(200, np.nan), np.where(upper, 1.0, -1.0)
    y[:2] = truth[:2]
    graph = ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(0.3), alpha=1e-3, manifold=RecordGraph(1.0, 8)).fit(X, y)
    plain = ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(0.3), alpha=1e-3).fit(X[:2], y[:2])
    right = [float(np.mean(np.sign(model.predict(X)) == truth)) for model in (graph, plain)]
    assert right[0] > 0.95
    assert right[1] < 0.9


GRAPH, MISSING, ONES = {"manifold": RecordGraph()}, np.r_[np.nan, np.ones(N - 1)], np.ones(N)
REFUSED = [
    ({"manifold": 3.0}, TypeError, "manifold must be a RecordGraph, got 3.0"),
    (GRAPH | {"filter": ct.batch.Landweber(5)}, ValueError, r"manifold goes with filter=None, got Landweber"),
    (GRAPH | {"risk": "tasks"}, ValueError, "manifold goes with risk='rows', got 'tasks'"),
    (GRAPH | {"solver": "spectrum"}, ValueError, "manifold goes with solver='auto'"),
    (
        *(GRAPH | {"relation": ct.batch.OptimalOutputKernel()}, ValueError),
        "manifold goes with a relation that is given, got one that is learned",
    ),
    (GRAPH | {"y": np.full(N, np.nan)}, ValueError, "all of it is missing"),
    (GRAPH | {"y": np.full(N, np.inf)}, ValueError, "y contains infinity"),
    (GRAPH | {"y": np.column_stack([ONES, MISSING]), "task": None}, ValueError, "row 0 of y is missing in part"),
    ({"y": MISSING}, ValueError, "is missing: nan"),
]


def fitted(y=None, **options):
    X, numbers, task = data()
    task = options.pop("task", task)
    return ct.batch.MultitaskKernelRidge(**options).fit(X, numbers if y is None else y, task=task)


@pytest.mark.parametrize(("given", "kind", "message"), REFUSED)
def test_refusals(given, kind, message):
    with pytest.raises(kind, match=message):
        fitted(**given)


def test_rows_are_left_out_without_a_graph_only():
    X, y, task = data()
    with pytest.raises(ValueError, match="rows are left out without a graph of records only, got manifold=RecordGraph"):
        ct.batch.ridge_path(ct.batch.MultitaskKernelRidge(**GRAPH), X, y, task=task)
