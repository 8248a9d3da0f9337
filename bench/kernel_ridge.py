"""Kernel ridge regression: the whole path of alpha over one factorisation, and scikit-learn's peers.

python -m bench.kernel_ridge
python -m bench.kernel_ridge --quick
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

import coterie as ct
from bench.harness import Row, at_most, main, side_by_side
from coterie.kernels import gram

TASKS, FEATURES = 139, 28
ALPHAS = np.logspace(-4, 4, 50).tolist()
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9)


def shared(inputs: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, and outputs of tasks that share half of their signal."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(inputs, FEATURES))
    W = rng.normal(size=(FEATURES, TASKS)) + rng.normal(size=(FEATURES, 1))
    return X, np.tanh(X @ W / np.sqrt(FEATURES)) + 0.3 * rng.normal(size=(inputs, TASKS))


def matrix() -> np.ndarray:
    factor = np.random.default_rng(1).normal(size=(TASKS, TASKS))
    return factor @ factor.T / TASKS + np.eye(TASKS)


def path(inputs: int, repeats: int) -> Iterator[Row]:
    """The errors on rows left out for 50 values of alpha, over one eigendecomposition of the kernel matrix."""
    X, Y = shared(inputs)
    sigma = ct.kernels.median_distance(X)
    kernels = {"Gaussian": ct.kernels.Gaussian(sigma), "linear": "linear"}
    for kernel, relation in (
        ("Gaussian", ct.relations.MixedEffect(omega=0.5)),
        ("Gaussian", ct.relations.Interaction(matrix())),
        ("linear", ct.relations.Interaction(matrix())),
    ):
        model = ct.batch.MultitaskKernelRidge(kernels[kernel], relation)
        K = gram(kernels[kernel], X)
        found = side_by_side(
            {
                "path": lambda model=model: ct.batch.ridge_path(model, X, Y, values=ALPHAS),
                "factor": lambda K=K: eigh(K, driver="evd"),
                "products": lambda K=K: [K @ Y for _ in ALPHAS],
            },
            repeats,
        )
        least = (found["factor"].median + found["products"].median) / found["factor"].median
        name = type(relation).__name__
        what = f"path of 50 alphas with errors on rows left out, n = {inputs}, K = {TASKS}, {kernel} kernel, {name}"
        floor = (
            "the coefficients of one alpha are a product of (n, n) and (n, K); the factorisation and 50 of them alone "
            f"take {least:.2f} times as long as it"
        )
        yield at_most(
            what, None if kernel == "Gaussian" else 1.5, found["path"], found["factor"], 1, unit="s", floor=floor
        )


def peers(inputs: int, repeats: int) -> Iterator[Row]:
    """One fit, against scikit-learn's KernelRidge of all columns, which shares nothing."""
    X, Y = shared(inputs)
    sigma = ct.kernels.median_distance(X)
    found = side_by_side(
        {
            "ours": lambda: ct.batch.MultitaskKernelRidge(
                ct.kernels.Gaussian(sigma), ct.relations.MixedEffect(omega=0.5)
            ).fit(X, Y),
            "theirs": lambda: KernelRidge(kernel="rbf", gamma=0.5 / sigma**2).fit(X, Y),
        },
        repeats,
    )
    what = f"one fit with tasks that share, n = {inputs}, over KernelRidge, whose columns share nothing"
    yield at_most(what, 3, found["ours"], found["theirs"], 1, unit="s")


def accuracy(inputs: int) -> Row:
    """Few rows to learn from: errors on the others, alpha chosen by rows left out for ours and theirs."""
    X, Y = shared(inputs)
    kernel = ct.kernels.Gaussian(ct.kernels.median_distance(X))
    few, rest = slice(0, 60), slice(60, None)

    def error(predicted: np.ndarray) -> float:
        return float(np.mean((predicted - Y[rest]) ** 2))

    model, relations = (
        ct.batch.MultitaskKernelRidge(kernel),
        [ct.relations.MixedEffect(omega=omega) for omega in SHARES],
    )
    ours = error(
        ct.batch.ridge_path(model, X[few], Y[few], relations=relations).chosen.fit(X[few], Y[few]).predict(X[rest])
    )
    alone = ct.batch.ridge_path(model, X[few], Y[few], relations=relations[:1]).best[1]
    theirs = KernelRidge(alpha=alone, kernel="rbf", gamma=0.5 / kernel.sigma**2).fit(X[few], Y[few])
    linear = min(error(Ridge(a, fit_intercept=False).fit(X[few], Y[few]).predict(X[rest])) for a in ALPHAS)
    peer = min(error(theirs.predict(X[rest])), linear)
    what = "squared error from 60 rows, over the better of KernelRidge and Ridge (its alpha in hindsight)"
    return Row(what, "≤ 1", f"{ours:.4f}", f"{peer:.4f}", f"{ours / peer:.3f}", reached=ours <= peer)


def rows(quick: bool) -> Iterator[Row]:
    inputs, repeats = (200, 2) if quick else (1500, 5)
    yield from path(inputs, repeats)
    yield from peers(inputs, repeats)
    yield accuracy(inputs)


if __name__ == "__main__":
    main(rows, __doc__)
