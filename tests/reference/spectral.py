"""The matrix Perceptron with tasks as views (CCG08 §7), written out: V by columns, W = ∇ ½‖V‖²_S2p by an SVD each round."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from reference.omtl import Batch, Matrix
from reference.views import factor, gradient


def spectral(
    X: Matrix,
    y: Matrix,
    task: NDArray[np.int64],
    p: float,
    *,
    n_tasks: int,
    epoch: float = 0.0,
    every: int | None = None,
    tau: Callable[[float, float], float] = lambda signed_margin, length: float(signed_margin <= 0),
) -> Batch:
    """Rounds t from 1; before round ``epoch`` W = V, and with ``every`` W = V F for the F at the latest multiple of it.

    ``tau`` gives the step for y·margin and (2p - 1)‖x‖². The A of the run is F, by which V is read.
    """
    V, F, total = np.zeros((X.shape[1], n_tasks)), np.eye(n_tasks), np.zeros((X.shape[1], n_tasks))
    margins, revised = np.zeros(len(y)), False
    for t, (x, label, i) in enumerate(zip(X, y, task, strict=True), start=1):
        W = gradient(V, p) if revised and every is None else V @ F
        W[:, ~V.any(axis=0)] = 0  # where a column of V is zero so is that of W, which an SVD knows but for its rounding
        total += W
        margins[t - 1] = W[:, i] @ x
        step = tau(label * margins[t - 1], (2 * p - 1) * (x @ x))
        V[:, i] += step * label * x
        if (t % every == 0 if every else step > 0) and t >= epoch:
            revised, F = True, factor(V.T @ V, p)
    return Batch(margins, y * margins <= 0, gradient(V, p) if revised and every is None else V @ F, F, total / len(y))
