"""MMPERC (CCG08 §6) from its definition: A = I + Σ M_s, inverted in every round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag, cho_factor, cho_solve

Matrix = NDArray[np.float64]
Tasks = NDArray[np.int64]


def literal(views: Sequence[Matrix], y: Matrix, task: Tasks, b: float) -> Matrix:
    """Margins v'(A + M_t)⁻¹φ_i; a mistake adds y φ_i to v and M_t to A, a round without one changes nothing."""
    K, D = len(views), sum(view.shape[1] for view in views)
    A, v, margins = np.eye(D), np.zeros(D), np.zeros(len(y))
    for t in range(len(y)):
        phis = block_diag(*(view[t][:, None] for view in views))
        active, mean = phis[:, task[t]], phis.sum(axis=1) / K
        now = A + b * K * np.outer(active - mean, active - mean)
        margins[t] = v @ np.linalg.inv(now) @ active
        if y[t] * margins[t] <= 0:
            A, v = now, v + y[t] * active
    return margins


def dual(views: Sequence[Matrix], y: Matrix, task: Tasks, b: float, kernels: Sequence[Callable[..., Any]]) -> Matrix:
    """y'S'φ - y'S'Z(I + Z'Z)⁻¹Z'φ over the mistakes, Z holding the round's own z too, by kernels alone."""
    K, margins = len(views), np.zeros(len(y))
    moved: list[int] = []
    scale = np.sqrt(b * K)

    def inner(r: int, left: Matrix, s: int, right: Matrix) -> float:
        return float(sum(left[k] * right[k] * kernels[k](views[k][r], views[k][s]) for k in range(K)))

    def phi(t: int) -> Matrix:
        return np.asarray(np.eye(K)[task[t]])

    def z(t: int) -> Matrix:
        return np.asarray(scale * (phi(t) - 1.0 / K))

    for t in range(len(y)):
        some = [*moved, t]
        ZZ = np.array([[inner(r, z(r), s, z(s)) for s in some] for r in some])
        Zphi = np.array([inner(r, z(r), t, phi(t)) for r in some])
        ZS = np.array([[inner(r, z(r), s, phi(s)) for s in moved] for r in some]).reshape(len(some), len(moved))
        labels = np.array([y[s] for s in moved])
        plain = sum(y[s] * inner(s, phi(s), t, phi(t)) for s in moved)
        margins[t] = plain - labels @ ZS.T @ cho_solve(cho_factor(np.eye(len(some)) + ZZ), Zphi)
        if y[t] * margins[t] <= 0:
            moved.append(t)
    return margins
