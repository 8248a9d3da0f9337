"""MMPERC (CCG08 §6) from its definition: A = I + Σ M_s, inverted in every round."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, cho_factor, cho_solve

Matrix = NDArray[np.float64]
Tasks = NDArray[np.int64]


def similarity(A: Matrix) -> Matrix:
    """(A/λ - I)^½ for the interaction matrix A of tasks, λ being its least eigenvalue."""
    values, U = np.linalg.eigh(A)
    beyond = np.where(values > values[0] * (1.0 + 1e-12), values / values[0] - 1.0, 0.0)
    return np.asarray((U * np.sqrt(beyond)) @ U.T)


def literal(views: Sequence[Matrix], y: Matrix, task: Tasks, b: float, interaction: Matrix | None = None) -> Matrix:
    """Margins v'(A + M_t)⁻¹φ_i; a mistake adds y φ_i to v and M_t to A, a round without one changes nothing.

    M_t = b K ψψ' for ψ = φ_i - Σ_k φ_k / K, or for ψ = Σ_k S_ik φ_k under an interaction matrix of similarity S.
    """
    K, D = len(views), sum(view.shape[1] for view in views)
    S = np.eye(K) - 1.0 / K if interaction is None else similarity(interaction)
    A, v, margins = np.eye(D), np.zeros(D), np.zeros(len(y))
    for t in range(len(y)):
        phis = block_diag(*(view[t][:, None] for view in views))
        active, own_inverse = phis[:, task[t]], phis @ S[task[t]]
        now = A + b * K * np.outer(own_inverse, own_inverse)
        margins[t] = v @ np.linalg.inv(now) @ active
        if y[t] * margins[t] <= 0:
            A, v = now, v + y[t] * active
    return margins


def dual(
    views: Sequence[Matrix],
    y: Matrix,
    task: Tasks,
    b: float,
    kernels: Sequence[Callable[..., Any]],
    interaction: Matrix | None = None,
) -> Matrix:
    """y'S'φ - y'S'Z(I + Z'Z)⁻¹Z'φ over the mistakes, Z holding the round's own z too, by kernels alone."""
    K, margins = len(views), np.zeros(len(y))
    moved: list[int] = []
    scale = np.sqrt(b * K) * (np.eye(K) - 1.0 / K if interaction is None else similarity(interaction))

    def inner(r: int, left: Matrix, s: int, right: Matrix) -> float:
        return float(sum(left[k] * right[k] * kernels[k](views[k][r], views[k][s]) for k in range(K)))

    def phi(t: int) -> Matrix:
        return np.asarray(np.eye(K)[task[t]])

    def z(t: int) -> Matrix:
        return np.asarray(scale[task[t]])

    for t in range(len(y)):
        union = [*moved, t]
        ZZ = np.array([[inner(r, z(r), s, z(s)) for s in union] for r in union])
        Zphi = np.array([inner(r, z(r), t, phi(t)) for r in union])
        ZS = np.array([[inner(r, z(r), s, phi(s)) for s in moved] for r in union]).reshape(len(union), len(moved))
        labels = np.array([y[s] for s in moved])
        plain = sum(y[s] * inner(s, phi(s), t, phi(t)) for s in moved)
        margins[t] = plain - labels @ ZS.T @ cho_solve(cho_factor(np.eye(len(union)) + ZZ), Zphi)
        if y[t] * margins[t] <= 0:
            moved.append(t)
    return margins
