"""What makes the Perceptron of :mod:`reference.potential` the p-norm multitask Perceptron."""

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


def transform_of(M: Matrix, transform: str) -> Matrix:
    """T for M = A⁻¹."""
    U, singular, V = np.linalg.svd(M)
    factors: dict[str, Matrix] = {"Ainv": M, "Ainvsqrt": U @ np.diag(np.sqrt(singular)) @ V, "none": np.eye(len(M))}
    return factors[transform]


def gradient(v: Matrix, p: float) -> Matrix:
    """∇½‖v‖_p², 0 at 0; ‖v‖_∞ is divided out first."""
    top = np.abs(v).max()
    if top == 0:
        return np.zeros_like(v)
    u = v / top
    return np.asarray(top * np.sign(u) * np.abs(u) ** (p - 1) / np.linalg.norm(u, p) ** (p - 2))
