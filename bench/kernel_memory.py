"""Memory and time of kernel ridge regression on many rows of tasks by conjugate gradients, no array of all pairs.

python -m bench.kernel_memory [--quick]
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import coterie as ct
from bench.harness import Row, main

TASKS, LIMIT = 100, 24.0


def row(n: int) -> Row:
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(n, 5)), rng.integers(TASKS, size=n)
    truth = np.sin(X[:, 0]) + task / TASKS * X[:, 1]
    relation = ct.relations.MixedEffect(omega=0.5)
    model = ct.batch.MultitaskKernelRidge(
        ct.kernels.Gaussian(3.0), relation, 10.0, solver="conjugate gradients", tol=1e-3
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(X, truth + 0.3 * rng.normal(size=n), task=task)
    seconds = time.perf_counter() - start
    some = slice(0, 1000)
    error = np.sqrt(np.mean((model.predict(X[some], task[some]) - truth[some]) ** 2))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    what = f"a fit of {n:,} rows of {TASKS} tasks in {seconds:.0f} s (wall), {error:.3f} from the truth (noise 0.3)"
    peer = f"{8 * n * n / 2**30:.3g} GiB for the matrix"
    return Row(what, f"≤ {LIMIT:g} GiB", f"{peak:.2f} GiB", peer, reached=peak <= LIMIT)


def rows(quick: bool) -> Iterator[Row]:
    yield row(5000 if quick else 100_000)


if __name__ == "__main__":
    main(rows, __doc__)
