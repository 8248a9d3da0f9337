"""The bounds of Perceptrons of several views, on random and on adversarial streams."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import coterie as ct
from coterie.evaluation.bounds.view_bounds import orthogonal_view_bound, view_bound
from streams import spiteful


def comparators(rng, widths, truth=None):
    """Random ones of all sizes, and multiples of a good one where it is known."""
    for scale in (0.0, 0.05, 0.3, 1.0, 3.0):
        yield [scale * rng.normal(size=d) for d in widths]
        if truth is not None:
            yield [scale * u for u in truth]


@pytest.mark.parametrize(("p", "hard"), [(1, False), (1, True), (1.5, True), (3, False), (10, True)])
def test_bounds_hold(p, hard):
    rng = np.random.default_rng(int(10 * p))
    for trial in range(2):
        K, d, n = 1 + trial, 4, 60
        X = [rng.normal(size=(n, d)) * rng.exponential() for _ in range(K)]
        truth = [rng.normal(size=d) for _ in range(K)]
        y = np.where(sum(x @ u for x, u in zip(X, truth, strict=True)) > 0, 1, -1)
        for make, bound in (
            (lambda: ct.views.MultiviewPerceptron(p), view_bound),
            (lambda: ct.views.OrthogonalMultiviewPerceptron(p), orthogonal_view_bound),
        ):
            trace = ct.progressive_validation(make(), X, spiteful(make(), X, None) if hard else y)
            assert trace.mistakes == n or not hard
            for U in comparators(rng, [d] * K, truth):
                assert trace.mistakes <= bound(trace, X, np.array(U), p).mistakes + 1e-9


@pytest.mark.parametrize("p", [1, 2, 5])
def test_bounds_hold_where_views_are_absent(p):
    rng = np.random.default_rng(0)
    widths, n = (5, 2, 3), 150
    X = [rng.normal(size=(n, d)) for d in widths]
    here = rng.random((n, 3)) < 0.7
    y = np.where(X[0][:, 0] + X[1][:, 0] > 0, 1, -1)
    blocks = [ct.views.PartialBlock(block, here[:, k]) for k, block in enumerate(X)]
    trace = ct.progressive_validation(ct.views.OrthogonalMultiviewPerceptron(p), blocks, y)
    for U in comparators(rng, widths):
        assert trace.mistakes <= orthogonal_view_bound(trace, blocks, U, p).mistakes + 1e-9


def test_the_parts_of_the_bound_are_what_they_say():
    rng = np.random.default_rng(1)
    X, U, p = [rng.normal(size=(50, 4)) for _ in range(3)], rng.normal(size=(3, 4)), 3.0
    y = np.where(X[0][:, 0] > 0, "b", "a")
    trace = ct.progressive_validation(ct.views.MultiviewPerceptron(p), X, y)
    wrong = np.flatnonzero(trace.mistake)
    sign = np.where(y == "b", 1, -1)
    loss = sum(max(0.0, 1 - sign[t] * X[k][t] @ U[k]) for t in wrong for k in range(3))
    norms = [np.linalg.norm(np.linalg.svd(np.stack([x[t] for x in X]), compute_uv=False), 6) for t in wrong]
    bound = view_bound(trace, X, U, p)
    assert bound.loss == pytest.approx(loss)
    assert bound.radius == pytest.approx(max(norms))
    assert bound.size == pytest.approx(np.linalg.norm(np.linalg.svd(U, compute_uv=False), 6 / 5))
    assert view_bound(trace, [csr_array(x) for x in X], U, p).mistakes == pytest.approx(bound.mistakes)
    reach, loss = bound.radius * bound.size / 3, bound.loss / 3
    assert bound.mistakes == pytest.approx(loss + 5 * reach**2 + reach * np.sqrt(5 * loss))


def test_the_orthogonal_bound_is_that_of_block_matrices():
    rng = np.random.default_rng(2)
    widths, p = (4, 2), 2.5
    X = [rng.normal(size=(60, d)) for d in widths]
    y = np.where(X[0][:, 0] > 0, 1, -1)
    U = [rng.normal(size=d) for d in widths]
    trace = ct.progressive_validation(ct.views.OrthogonalMultiviewPerceptron(p), X, y)
    blocks = [np.hstack([X[0], 0 * X[1]]), np.hstack([0 * X[0], X[1]])]
    whole = np.array([[*U[0], 0, 0], [0, 0, 0, 0, *U[1]]])
    assert orthogonal_view_bound(trace, X, U, p).mistakes == pytest.approx(view_bound(trace, blocks, whole, p).mistakes)
    named = orthogonal_view_bound(trace, {"a": X[0], "b": X[1]}, {"b": U[1], "a": U[0]}, p)
    assert named.mistakes == orthogonal_view_bound(trace, X, U, p).mistakes
