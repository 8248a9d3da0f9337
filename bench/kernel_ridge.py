"""Kernel ridge regression: the whole path of alpha over one factorisation, scikit-learn's peers, memory at many rows.

python -m bench.kernel_ridge [--rows 100000]
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from scipy.linalg import eigh
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

import coterie as ct
from bench.harness import header, row, side_by_side

INPUTS, TASKS, FEATURES = 1500, 139, 28
ALPHAS = np.logspace(-4, 4, 50).tolist()


def shared(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, and outputs of tasks that share half of their signal."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(INPUTS, FEATURES))
    W = rng.normal(size=(FEATURES, TASKS)) + rng.normal(size=(FEATURES, 1))
    return X, np.tanh(X @ W / np.sqrt(FEATURES)) + 0.3 * rng.normal(size=(INPUTS, TASKS))


def path() -> None:
    """The errors on rows left out for 50 values of alpha, over one eigendecomposition of the kernel matrix."""
    X, Y = shared()
    sigma = ct.median_distance(X)
    K = ct.kernels.gram(ct.Gaussian(sigma), X)
    for name, relation in (("mixed effect", ct.MixedEffect(omega=0.5)), ("matrix", ct.Interaction(matrix()))):
        model = ct.MultitaskKernelRidge(ct.Gaussian(sigma), relation)
        found = side_by_side(
            {
                "path": lambda model=model: ct.ridge_path(model, X, Y, values=ALPHAS),
                "factor": lambda: eigh(K, driver="evd"),
            },
            5,
        )
        ours, peer = found["path"], found["factor"]
        ratio = ours.median / peer.median
        what = f"path of 50 alphas with errors on rows left out, n = {INPUTS}, K = {TASKS}, {name}"
        row(what, "≤ 1.5", f"{ours.per(1, 1)} s", f"{peer.per(1, 1)} s", ratio, ratio <= 1.5)


def matrix() -> np.ndarray:
    factor = np.random.default_rng(1).normal(size=(TASKS, TASKS))
    return factor @ factor.T / TASKS + np.eye(TASKS)


def peers() -> None:
    """One fit, against scikit-learn's KernelRidge of all columns (which shares nothing) and Ridge per task."""
    X, Y = shared()
    sigma = ct.median_distance(X)
    gamma = 0.5 / sigma**2
    found = side_by_side(
        {
            "ours": lambda: ct.MultitaskKernelRidge(ct.Gaussian(sigma), ct.MixedEffect(omega=0.5)).fit(X, Y),
            "theirs": lambda: KernelRidge(kernel="rbf", gamma=gamma).fit(X, Y),
        },
        5,
    )
    ratio = found["ours"].median / found["theirs"].median
    what = "one fit with tasks that share, over KernelRidge, whose columns share nothing"
    row(what, "≤ 3", f"{found['ours'].per(1, 1)} s", f"{found['theirs'].per(1, 1)} s", ratio, ratio <= 3)
    accuracy(X, Y, sigma)


def accuracy(X: np.ndarray, Y: np.ndarray, sigma: float) -> None:
    """Few rows to learn from: errors on the others, alpha chosen by rows left out for ours and theirs."""
    few, rest = slice(0, 60), slice(60, None)
    relations = [ct.MixedEffect(omega=omega) for omega in (0.0, 0.25, 0.5, 0.75, 0.9)]
    ours = ct.ridge_path(ct.MultitaskKernelRidge(ct.Gaussian(sigma)), X[few], Y[few], relations=relations)
    error = np.mean((ours.chosen.fit(X[few], Y[few]).predict(X[rest]) - Y[rest]) ** 2)
    alone = ct.ridge_path(ct.MultitaskKernelRidge(ct.Gaussian(sigma)), X[few], Y[few], relations=relations[:1]).best[1]
    theirs = KernelRidge(alpha=alone, kernel="rbf", gamma=0.5 / sigma**2).fit(X[few], Y[few]).predict(X[rest])
    linear = min(
        np.mean((Ridge(a, fit_intercept=False).fit(X[few], Y[few]).predict(X[rest]) - Y[rest]) ** 2) for a in ALPHAS
    )
    peer = min(np.mean((theirs - Y[rest]) ** 2), linear)
    what = "squared error from 60 rows, over the better of KernelRidge and (its alpha in hindsight) Ridge"
    row(what, "≤ 1", f"{error:.4f}", f"{peer:.4f}", error / peer, error <= peer)


def many(n: int) -> None:
    """Conjugate gradients on rows of tasks, no array of all pairs: seconds, memory, steps to a residual of 1e-3."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(n, 5)), rng.integers(100, size=n)
    y = np.sin(X[:, 0]) + 0.1 * task * X[:, 1] + 0.3 * rng.normal(size=n)
    start = time.perf_counter()
    model = ct.MultitaskKernelRidge(
        ct.Gaussian(3.0), ct.MixedEffect(omega=0.5), 10.0, solver="conjugate gradients", tol=1e-3
    )
    model.fit(X, y, task=task)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    what = f"memory of a fit of {n:,} rows of 100 tasks, {seconds:.0f} s"
    row(what, "≤ 24 GiB", f"{peak:.2f} GiB", f"{8 * n * n / 2**30:.3g} GiB for the matrix", peak / 24, peak <= 24)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=0, help="also fit so many rows by conjugate gradients")
    rows = parser.parse_args().rows
    header()
    path()
    peers()
    if rows:
        many(rows)


if __name__ == "__main__":
    main()
