"""The other geometries against their naive forms, and how their cost grows with features, tasks and mistakes.

python -m bench geometries
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse import csr_array

import coterie as ct
from bench.harness import Row, cpu, show


def stream(n: int, d: int, K: int, noise: float = 1.0):
    rng = np.random.default_rng(d + K)
    X, task = rng.normal(size=(n, d)) / np.sqrt(d), rng.integers(K, size=n)
    y = np.where(X @ rng.normal(size=d) + noise * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, task


def naive_second_order(X, y, task, M, ridge=1.0):
    """One inverse a round: (ridge A ⊗ I + Σ φφ')⁻¹ by numpy."""
    K, d = len(M), X.shape[1]
    S, v, mistakes = ridge * np.kron(np.linalg.inv(M), np.eye(d)), np.zeros(K * d), 0
    for x, label, i in zip(X, y, task, strict=True):
        phi = np.zeros(K * d)
        phi[i * d : (i + 1) * d] = x
        now = S + np.outer(phi, phi)
        if label * (phi @ np.linalg.solve(now, v)) <= 0:
            S, v, mistakes = now, v + label * phi, mistakes + 1
    return mistakes


def naive_p_norm(X, y, task, M, p):
    """The whole gradient of ½‖v‖_p², spread over the tasks, at every mistake, by numpy."""
    V, W, mistakes = np.zeros((len(M), X.shape[1])), np.zeros((len(M), X.shape[1])), 0
    for x, label, i in zip(X, y, task, strict=True):
        if label * (W[i] @ x) <= 0:
            V += np.outer(M[i], label * x)
            mistakes += 1
            top = np.abs(V).max()
            U = np.abs(V / top)
            W = M @ (top * np.sign(V) * U ** (p - 1) / (U**p).sum() ** (1 - 2 / p))
    return mistakes


def naive_heterogeneous(views, y, task, b):
    """One inverse a round of I + Σ M_s + M_t by numpy."""
    K, sizes = len(views), [view.shape[1] for view in views]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    X = np.concatenate(views, axis=1)
    A, v, mistakes = np.eye(X.shape[1]), np.zeros(X.shape[1]), 0
    for x, label, i in zip(X, y, task, strict=True):
        phi = np.zeros(len(x))
        phi[starts[i] : starts[i + 1]] = x[starts[i] : starts[i + 1]]
        now = A + b * K * np.outer(phi - x / K, phi - x / K)
        if label * (v @ np.linalg.solve(now, phi)) <= 0:
            A, v, mistakes = now, v + label * phi, mistakes + 1
    return mistakes


def second_order(X, y, task, **options):
    model = ct.geometries.SecondOrderMultitaskPerceptron(ct.MeanRegularized(share=0.5), **options)
    return ct.progressive_validation(model, X, y, task=task).mistakes


def p_norm(X, y, task, p=6.0):
    return ct.progressive_validation(
        ct.geometries.PNormMultitaskPerceptron(ct.HalfUpdate(), p), X, y, task=task
    ).mistakes


def heterogeneous(views, y, task, **options):
    return ct.progressive_validation(
        ct.geometries.HeterogeneousMultitaskPerceptron(1.0, **options), views, y, task=task
    ).mistakes


def compared(what: str, ours: Callable[[], int], naive: Callable[[], int], n: int) -> Row:
    """Both on the same stream, mistakes being the same."""
    ours()
    fast, slow = min(cpu(ours) for _ in "123"), cpu(naive)
    mistakes, theirs = ours(), naive()
    same = f", {mistakes} mistakes" + ("" if mistakes == theirs else f", NAIVE {theirs}")
    figures = f"{1e6 * fast / n:.3g} µs a round", f"{1e6 * slow / n:.3g} µs naive"
    return Row(what + same, "> 1×", *figures, ratio=f"{slow / fast:.1f}", reached=mistakes == theirs and fast < slow)


def growth(what: str, name: str, sizes: tuple[int, ...], make: Callable[[int], tuple[Callable[[], int], int]]) -> Row:
    """Microseconds a round at several sizes."""
    told = []
    for size in sizes:
        work, n = make(size)
        mistakes = work()
        told.append(f"{name}={size}: {1e6 * min(cpu(work) for _ in '12') / n:.3g} µs ({mistakes} mistakes)")
    return Row(what, "–", "; ".join(told))


def views(n: int, d: int, K: int):
    X, y, task = stream(n, d, K)
    rng = np.random.default_rng(1)
    return [X @ rng.normal(size=(d, d)) / np.sqrt(d) for _ in range(K)], y, task


def rows(quick: bool) -> Iterator[Row]:
    n = 60 if quick else 300
    M = {K: (np.eye(K) + 1) / 2 for K in (4, 10)}
    X, y, task = stream(n, 20, 10)
    for solver in ("primal", "dual"):
        yield compared(
            f"second order, {solver}, K d = 200",
            lambda s=solver: second_order(X, y, task, solver=s),
            lambda: naive_second_order(X, y, task, M[10]),
            n,
        )
    wide, labels, tasks = stream(5 * n, 2000, 10)
    yield compared(
        "p-norm, p = 6, d = 2000, K = 10",
        lambda: p_norm(wide, labels, tasks),
        lambda: naive_p_norm(wide, labels, tasks, M[10], 6.0),
        5 * n,
    )
    few, places = np.zeros((n, 20_000)), np.random.default_rng(2)
    for row in few:
        row[places.integers(len(row), size=20)] = places.normal(size=20)
    marks, whose = np.where(places.random(n) < 0.5, 1.0, -1.0), places.integers(10, size=n)
    thin = csr_array(few)
    yield compared(
        "p-norm, p = 6, d = 20 000 of which a record has 20, K = 10",
        lambda: p_norm(thin, marks, whose),
        lambda: naive_p_norm(few, marks, whose, M[10], 6.0),
        n,
    )
    V, signs, active = views(n, 50, 4)
    for solver in ("primal", "dual"):
        yield compared(
            f"MMPERC, {solver}, D = 200",
            lambda s=solver: heterogeneous(V, signs, active, solver=s),
            lambda: naive_heterogeneous(V, signs, active, 1.0),
            n,
        )
    yield from _growths(quick)


def _growths(quick: bool) -> Iterator[Row]:
    n, factor = (200, 1) if quick else (1500, 2)

    def learned(solver: str, n: int, d: int, K: int):
        X, y, task = stream(n, d, K)
        return (lambda: second_order(X, y, task, solver=solver)), n

    features, some = tuple(factor * d for d in (10, 20, 40, 80)), tuple(factor * K for K in (2, 4, 8, 16))
    yield growth("second order, primal, K = 8", "d", features, lambda d: learned("primal", n, d, 8))
    yield growth("second order, primal, d = 20", "K", some, lambda K: learned("primal", n, 20, K))
    rounds = tuple(factor * each for each in (200, 400, 800, 1600))
    yield growth("second order, dual, d = 500", "n", rounds, lambda n: learned("dual", n, 500, 8))

    def normed(d: int, K: int):
        X, y, task = stream(n, d, K)
        return (lambda: p_norm(X, y, task)), n

    yield growth("p-norm, K = 8", "d", tuple(10 * d for d in features), lambda d: normed(d, 8))
    yield growth("p-norm, d = 200", "K", some, lambda K: normed(200, K))

    def joined(d: int, solver: str, n: int):
        V, y, task = views(n, d, 4)
        return (lambda: heterogeneous(V, y, task, solver=solver)), n

    yield growth("MMPERC, primal, K = 4 of d each", "d", features, lambda d: joined(d, "primal", n))
    yield growth("MMPERC, dual, K = 4 of 100 each", "n", rounds[:3], lambda n: joined(100, "dual", n))


if __name__ == "__main__":
    show(rows(quick=False))
