"""All tasks learn a record at once: W <- W + M (tau * y) x', every tau from the margins W x told before."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def at_once(
    X: Matrix, y: Matrix, M: Matrix, weights: NDArray[np.float64] | None = None
) -> tuple[Matrix, Matrix, Matrix]:
    """The margins and the steps, shape (n, K), and W in the end; a label that is NaN moves nothing.

    tau is 1 on a mistake.
    """
    (n, d), K = X.shape, len(M)
    W, margins, taus = np.zeros((K, d)), np.zeros((n, K)), np.zeros((n, K))
    for t in range(n):
        margins[t] = W @ X[t]
        taus[t] = y[t] * margins[t] <= 0
        taus[t] *= 1.0 if weights is None else weights[t]
        W = W + M @ np.outer(taus[t] * np.nan_to_num(y[t]), X[t])
    return margins, taus, W


def shortest_at_once(
    X: Matrix,
    y: Matrix,
    M: Matrix,
    C: float = math.inf,
    ridge: float = 0.0,
    epsilon: float | None = None,
    weights: NDArray[np.float64] | None = None,
) -> tuple[Matrix, Matrix, Matrix]:
    """As :func:`at_once`, by passive-aggressive steps, which tasks that move share out among themselves.

    With S the tasks that have a loss at record x, 1 - y m or, given ``epsilon``, |y - m| - epsilon,

        tau_k = min(C, loss_k / (‖x‖² Σ_{l in S} |M_kl| + ridge)),    k in S.
    """
    (n, d), K = X.shape, len(M)
    W, margins, taus = np.zeros((K, d)), np.zeros((n, K)), np.zeros((n, K))
    for t in range(n):
        margins[t] = W @ X[t]
        miss = np.nan_to_num(y[t] - margins[t])
        sign = np.nan_to_num(y[t]) if epsilon is None else np.sign(miss)
        loss = 1.0 - sign * margins[t] if epsilon is None else np.abs(miss) - epsilon
        weight = 1.0 if weights is None else weights[t]
        move = [k for k in range(K) if not np.isnan(y[t, k]) and loss[k] > 0 and weight * (X[t] @ X[t]) > 0]
        for k in move:
            length = (X[t] @ X[t]) * np.abs(M[k, move]).sum()
            taus[t, k] = weight * min(C, loss[k] / (length + ridge))
        W = W + M @ np.outer(taus[t] * sign, X[t])
    return margins, taus, W
