"""Support vector machines from their duals, by projected coordinate ascent on an explicit kernel matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def hinge_without_intercept(Q: Matrix, y: Matrix, C: float, sweeps: int = 20_000) -> Matrix:
    """The maximiser of Σ alpha - ½ Σ_ij alpha_i y_i Q_ij y_j alpha_j over 0 <= alpha <= C, coordinate by coordinate."""
    alpha = np.zeros(len(y))
    f = np.zeros(len(y))
    for _ in range(sweeps):
        moved = 0.0
        for i in range(len(y)):
            new = min(max(alpha[i] + (1 - y[i] * f[i]) / Q[i, i], 0.0), C)
            f += (new - alpha[i]) * y[i] * Q[:, i]
            moved = max(moved, abs(new - alpha[i]))
            alpha[i] = new
        if moved < 1e-14 * C:
            break
    return alpha


def hinge_primal(Q: Matrix, y: Matrix, alpha: Matrix, C: float) -> float:
    """½‖f‖² + C Σ max(0, 1 - y f) of the function that alpha makes."""
    c = alpha * y
    return float(c @ Q @ c / 2 + C * np.maximum(0.0, 1 - y * (Q @ c)).sum())


def hinge_dual(Q: Matrix, y: Matrix, alpha: Matrix) -> float:
    """Σ alpha - ½ c'Qc."""
    c = alpha * y
    return float(alpha.sum() - c @ Q @ c / 2)
