"""The Perceptron of any potential from its definition: Kronecker products written out, gradients by differences."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def entropy_gradient(v: Matrix, total: float) -> Matrix:
    """total (e^v - e^-v) / Σ (e^v + e^-v): the difference of the two positive weights that EG± keeps of each."""
    up, down = np.exp(v), np.exp(-v)
    return np.asarray(total * (up - down) / (up.sum() + down.sum()))


def by_differences(dual: Callable[[Matrix], float], v: Matrix, step: float = 1e-6) -> Matrix:
    """∇Φ* by central differences, from Φ* alone."""
    gradient = np.zeros_like(v)
    for at in np.ndindex(v.shape):
        e = np.zeros_like(v)
        e[at] = step
        gradient[at] = (dual(v + e) - dual(v - e)) / (2 * step)
    return gradient


def literal(
    X: Matrix, y: Matrix, task: NDArray[np.int64], T: Matrix, gradient: Callable[[Matrix], Matrix], rate: float = 1.0
) -> Matrix:
    """Margins ∇Φ*(v)·z with z = (T ⊗ I)φ; a mistake adds rate y z to v (FOR09 Figure 2.5)."""
    K, d = len(T), X.shape[1]
    wide: NDArray[Any] = np.kron(T, np.eye(d))
    v, margins = np.zeros(K * d), np.zeros(len(X))
    for t in range(len(X)):
        z = wide @ np.kron(np.eye(K)[task[t]], X[t])
        margins[t] = gradient(v) @ z
        if y[t] * margins[t] <= 0:
            v = v + rate * y[t] * z
    return margins
