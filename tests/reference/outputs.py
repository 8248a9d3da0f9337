"""All tasks learn a record at once: W <- W + M (tau * y) x', every tau from the margins W x told before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def at_once(
    X: Matrix, y: Matrix, M: Matrix, C: float | None = None, weights: NDArray[np.float64] | None = None
) -> tuple[Matrix, Matrix, Matrix]:
    """The margins and the steps, shape (n, K), and W in the end; a label that is NaN moves nothing.

    tau is 1 on a mistake, or with C passive-aggressive (PA-I): min(C, max(0, 1 - y m) / (M_kk ‖x‖²)).
    """
    (n, d), K = X.shape, len(M)
    W, margins, taus = np.zeros((K, d)), np.zeros((n, K)), np.zeros((n, K))
    for t in range(n):
        margins[t] = W @ X[t]
        for k in range(K):
            agreement, norm = y[t, k] * margins[t, k], M[k, k] * (X[t] @ X[t])
            if C is None:
                taus[t, k] = 1.0 if agreement <= 0 else 0.0
            elif agreement < 1 and norm > 0:
                taus[t, k] = min(C, (1.0 - agreement) / norm)
        taus[t] *= 1.0 if weights is None else weights[t]
        W = W + M @ np.outer(taus[t] * np.nan_to_num(y[t]), X[t])
    return margins, taus, W
