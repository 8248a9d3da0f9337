"""Smoothed relations from their definition: one record, one task and one feature after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


class Outcome(NamedTuple):
    """Margins; by record and task the losses and how much the record counted; weights and relations at the end."""

    margins: Matrix
    losses: Matrix
    counts: Matrix
    weights: Matrix
    relations: Matrix


def alike(K: int) -> Matrix:
    """Relations before any loss: the others in equal parts."""
    eta = np.zeros((K + 1, K))
    for k in range(K + 1):
        others = [m for m in range(K) if m != k]
        eta[k, others] = 1 / max(len(others), 1)
    return eta


def literal(
    X: Matrix,
    y: Matrix,
    task: NDArray[np.int64],
    K: int,
    share: float = 0.5,
    rate: float = 0.1,
    step: float = 1.0,
    weights: Sequence[float] | None = None,
) -> Outcome:
    """All K tasks known from the start, and one more, the last, that never has a record; losses count by weights."""
    c = np.ones(len(X)) if weights is None else np.asarray(weights)
    n, d = X.shape
    W: Any = np.zeros((K + 1, d))
    eta: Any = alike(K)
    margins, losses, counts = np.zeros(n), np.zeros((n, K + 1)), np.zeros((n, K + 1))
    for t in range(n):
        i = task[t]
        for k in range(K + 1):
            margin = sum(W[k, j] * X[t, j] for j in range(d))
            losses[t, k] = c[t] * max(0.0, 1 - y[t] * margin)
            counts[t, k] = 1 - share if k == i else share * eta[k, i]
            if k == i:
                margins[t] = margin
        for k in range(K + 1):
            if losses[t, k] > 0:
                for j in range(d):
                    W[k, j] += c[t] * step * counts[t, k] * y[t] * X[t, j]
            if k != i:
                eta[k, i] *= math.exp(-rate * losses[t, k])
            total = sum(eta[k])
            for m in range(K):
                eta[k, m] = eta[k, m] / total if total else 0.0
    return Outcome(margins, losses, counts, W, eta)
