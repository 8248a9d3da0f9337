"""Forgetting from its definition: every number of every row shrinks after every round."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def perceptron(
    X: Matrix, y: Vector, task: NDArray[np.int64], M: Matrix, half_life: float, C: float | None = None
) -> tuple[Vector, Matrix]:
    """W <- 2^(-1/H) (W + tau y M[:, i] x): margins and the last W; tau by PA-I where C is given."""
    W = np.zeros((len(M), X.shape[1]))
    margins = np.zeros(len(y))
    for t, (x, i) in enumerate(zip(X, task, strict=True)):
        margins[t] = W[i] @ x
        signed_margin, length = y[t] * margins[t], M[i, i] * (x @ x)
        tau = float(signed_margin <= 0)
        if C is not None:
            tau = min(C, max(0.0, 1.0 - signed_margin) / length) if length > 0 else 0.0
        W = 2.0 ** (-1.0 / half_life) * (W + tau * y[t] * np.outer(M[:, i], x))
    return margins, W


class Rows:
    """What all share, row 0, and a row a task; ``decay`` holds what is left of each after a round."""

    def __init__(self, n_tasks: int, d: int, share: float, shared: float, own: float) -> None:
        self.first, self.second = np.zeros((n_tasks + 1, d)), np.zeros((n_tasks + 1, d))
        self.weight = np.r_[share, np.full(n_tasks, 1.0 - share)]
        self.decay = np.r_[2.0 ** (-1.0 / shared), np.full(n_tasks, 2.0 ** (-1.0 / own))][:, None]

    def fade(self) -> None:
        """The end of a round."""
        self.first, self.second = self.decay * self.first, self.decay * self.second


def linear(X: Matrix, y: Vector, task: NDArray[np.int64], rows: Rows) -> Vector:
    """The Perceptron by raw sums, with half-lives of their own for what is shared and what is a task's own."""
    margins = np.zeros(len(y))
    for t, x in enumerate(X):
        mine = [0, task[t] + 1]
        margins[t] = (rows.weight[mine] @ rows.first[mine]) @ x
        if y[t] * margins[t] <= 0:
            rows.first[mine] += y[t] * x
        rows.fade()
    return margins


def logistic(X: Matrix, y: Vector, task: NDArray[np.int64], rows: Rows, step: float, start: float = 1e-6) -> Vector:
    """Adaptive gradients of the logistic loss; ``second`` holds the sums of squared gradients."""
    margins = np.zeros(len(y))
    for t, x in enumerate(X):
        mine = [0, task[t] + 1]
        margins[t] = rows.first[mine].sum(axis=0) @ x
        c = y[t] / (1.0 + math.exp(y[t] * margins[t]))
        rows.second[mine] += (c * x) ** 2
        rows.first[mine] += step * rows.weight[mine, None] * c * x / np.sqrt(start + rows.second[mine])
        rows.fade()
    return margins


def arow(X: Matrix, y: Vector, task: NDArray[np.int64], rows: Rows, noise: float) -> Vector:
    """Diagonal AROW; ``second`` holds the precision gained, the variance being 1 / (1/weight + precision)."""
    margins = np.zeros(len(y))
    for t, x in enumerate(X):
        mine = [0, task[t] + 1]
        margins[t] = rows.first[mine].sum(axis=0) @ x
        entries = np.count_nonzero(x)
        if y[t] * margins[t] < 1.0 and entries:
            r = noise * (x @ x) / entries
            variance = 1.0 / (1.0 / rows.weight[mine, None] + rows.second[mine])
            alpha = (1.0 - y[t] * margins[t]) / ((variance * x**2).sum() + r)
            rows.first[mine] += alpha * y[t] * variance * x
            rows.second[mine] += x**2 / r
        rows.fade()
    return margins
