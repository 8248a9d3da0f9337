"""Records of several views: a round against the naive forms, over d, K, p, and over the number of mistakes in the dual.

    python -m bench.views            under a minute
    python -m bench.views --quick    fewer records

The naive primal form is the thesis's: Tr((V'V)^(p - 1) V'X) by p - 1 matrix products at every prediction, in numpy, without
the mean of the weights, which ours is timed with, too. The naive dual form sums V'X support by support.
"""

from __future__ import annotations

import numpy as np

import coterie as ct
from bench.harness import Row, at_least, main, side_by_side
from coterie.kernels import Gaussian

SIZES = ((61, 2, 2), (61, 2, 20), (1000, 2, 5), (1000, 8, 5), (100, 30, 5))


def stream(n, d, K, seed=0):
    """K noisy looks at one thing, and labels that are hard to guess: about every fifth round is a mistake."""
    rng = np.random.default_rng(seed)
    thing = rng.normal(size=(n, d))
    X = [thing + rng.normal(size=(n, d)) for _ in range(K)]
    return X, np.where(thing[:, 0] + thing[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1)


def naive(X, y, p):
    """FOR09 (3.1.10), V'V over its trace so that powers do not overflow."""
    V = np.zeros((X[0].shape[1], len(X)))
    for record, label in zip(np.stack(X, axis=2), y, strict=True):
        product, gram = V.T @ record, V.T @ V
        for _ in range(p - 1):
            product = gram @ product / max(np.trace(gram), 1e-300)
        if label * np.trace(product) <= 0:
            V = V + label * record


def naive_orthogonal(X, y, p):
    """FOR09 (4.1.6) as it stands."""
    vs = [np.zeros(block.shape[1]) for block in X]
    for t, label in enumerate(y):
        lengths = [v @ v for v in vs]
        scale = max(*lengths, 1e-300)
        views = zip(vs, lengths, X, strict=True)
        margin = sum((length / scale) ** (p - 1) * (v @ block[t]) for v, length, block in views)
        if label * margin <= 0:
            vs = [v + label * block[t] for v, block in zip(vs, X, strict=True)]


def naive_dual(X, y, p, sigma):
    """V'X and V'V by kernel values one record at a time, (3.1.16) and (3.1.17)."""
    K, held, signs = len(X), [], []
    G = np.zeros((K, K))
    for t, label in enumerate(y):
        record = np.stack([block[t] for block in X])
        VX = np.zeros((K, K))
        for sign, other in zip(signs, held, strict=True):
            VX += sign * _gaussian(other, record, sigma)
        F = np.linalg.matrix_power(G / max(np.trace(G), 1e-300), p - 1)
        if label * np.trace(F.T @ VX) <= 0:
            G = G + label * (VX + VX.T) + _gaussian(record, record, sigma)
            held.append(record)
            signs.append(label)


def _gaussian(X, Z, sigma):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / (2 * sigma**2))


def learned(model, X, y):
    return lambda: model().partial_fit(X, y)


def rows(quick: bool) -> list[Row]:
    n, repeats, made = 300 if quick else 2000, 2 if quick else 3, []
    for d, K, p in SIZES:
        X, y = stream(n, d, K)
        wide = " more views than features," if d < K else ""
        works = {
            "matrix": learned(lambda p=p: ct.views.MultiviewPerceptron(p), X, y),
            "mean": learned(lambda p=p: ct.views.MultiviewPerceptron(p, average=True), X, y),
            "orthogonal": learned(lambda p=p: ct.views.OrthogonalMultiviewPerceptron(p), X, y),
            "naive": lambda X=X, y=y, p=p: naive(X, y, p),
            "naive orthogonal": lambda X=X, y=y, p=p: naive_orthogonal(X, y, p),
        }
        found = side_by_side(works, repeats)
        what = f"d={d}, K={K}, p={p},{wide} a record from arrays:"
        made.append(at_least(f"{what} matrix Perceptron", None, found["matrix"], found["naive"], n))
        made.append(at_least(f"{what} with the mean of all weights", None, found["mean"], found["naive"], n))
        made.append(at_least(f"{what} orthogonal", None, found["orthogonal"], found["naive orthogonal"], n))
    return made + dual_rows(quick)


def dual_rows(quick: bool) -> list[Row]:
    """Cost over the number of support vectors: labels at random make every second record one."""
    made, rng = [], np.random.default_rng(0)
    for n in (200,) if quick else (200, 800, 2400):
        X, y = stream(n, 20, 2)[0], rng.choice([-1, 1], n)
        fast = ct.views.MultiviewPerceptron(3, Gaussian(5.0), average=True)
        works = {"ours": learned(fast.__sklearn_clone__, X, y), "naive": lambda X=X, y=y: naive_dual(X, y, 3, 5.0)}
        found = side_by_side(works, 1)
        support = fast.fit(X, y).n_support_
        what = f"Gaussian kernel, d=20, K=2, {support} support vectors at the end, a record"
        made.append(at_least(what, None, found["ours"], found["naive"], n, unit="µs"))
    return made


if __name__ == "__main__":
    main(rows, __doc__)
