"""The p-norm multitask Perceptron from its definition, Kronecker products written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Tasks = NDArray[np.int64]


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


def literal(
    X: Matrix, y: Matrix, task: Tasks, M: Matrix, p: float, transform: str = "Ainv", weights: Matrix | None = None
) -> tuple[Matrix, Matrix]:
    """Margins ∇½‖v‖_p² · z with z = (T ⊗ I)φ; a mistake adds y z, times its weight, to v. Also the z of each round."""
    K, d = len(M), X.shape[1]
    T: NDArray[Any] = np.kron(transform_of(M, transform), np.eye(d))
    v, margins, Z = np.zeros(K * d), np.zeros(len(X)), np.zeros((len(X), K * d))
    for t in range(len(X)):
        Z[t] = T @ np.kron(np.eye(K)[task[t]], X[t])
        margins[t] = gradient(v, p) @ Z[t]
        if y[t] * margins[t] <= 0:
            v = v + (1.0 if weights is None else weights[t]) * y[t] * Z[t]
    return margins, Z
