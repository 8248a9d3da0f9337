"""Mirror descent under several variances, mixed by AdaHedge, from its definition: every matrix written out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

Matrix = NDArray[np.float64]


class Outcome(NamedTuple):
    """Margins and hinge losses of the mixture, weights of the experts at the end, and AdaHedge's gap."""

    margins: Matrix
    losses: Matrix
    weights: Matrix
    gap: float


def best_b(variance: float, N: int) -> float:
    """The b of least (1 + b ρ)(1 + (N - 1)/(1 + b)), where its derivative is 0; without a variance there is none."""
    rho = variance * (N - 1) / N

    def slope(b: float) -> float:
        return rho * (1 + (N - 1) / (1 + b)) - (1 + b * rho) * (N - 1) / (1 + b) ** 2

    if rho == 0.0:
        return math.inf
    return 0.0 if slope(0.0) >= 0.0 else float(brentq(slope, 0.0, 1e9, xtol=1e-14, rtol=1e-14))


def root(b: float, N: int) -> Matrix:
    """A^(-1/2) for A = (1 + b) I - b 11'/N; the mean of all tasks in the limit."""
    if b == math.inf:
        return np.ones((N, N)) / N
    values, vectors = np.linalg.eigh((1 + b) * np.eye(N) - b / N * np.ones((N, N)))
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T)


def literal(
    X: Matrix,
    y: Matrix,
    task: NDArray[np.int64],
    N: int,
    variances: Sequence[float],
    radius: float = 1.0,
    gradient: Callable[[Matrix], Matrix] = lambda v: v,
    norm: Callable[[Matrix], float] = lambda x: float(np.linalg.norm(x)),
    smoothness: float = 1.0,
    weights: Sequence[float] | None = None,
) -> Outcome:
    """W_k = T ∇Φ*(η T G), T = A^(-1/2), A = (1 + b) I - b 11'/N; the mixture's hinge loss moves G and all experts.

    The loss of a record has its weight as a factor, and so has its gradient.
    """
    c = np.ones(len(X)) if weights is None else np.asarray(weights)
    d, S = X.shape[1], len(variances)
    b = [best_b(each, N) for each in variances]
    roots = [root(each, N) for each in b]
    part = [0.0 if v == 0 else each * v * (N - 1) / N for v, each in zip(variances, b, strict=True)]
    levels = [0.5 * radius**2 * N * (1 + each) for each in part]
    G: Matrix = np.zeros((N, d))
    L, gap, moves, longest = np.zeros(S), 0.0, 0, 0.0
    margins, losses = np.zeros(len(X)), np.zeros(len(X))
    p: Any = np.full(S, 1 / S)
    for t in range(len(X)):
        f = np.zeros(S)
        for k in range(S):
            T = roots[k]
            size = longest * math.sqrt((T @ T)[task[t], task[t]] * (moves + N))
            eta = math.sqrt(levels[k] / smoothness) / size if size else 0.0
            W = T @ np.array([gradient(row) for row in eta * (T @ G)])
            f[k] = W[task[t]] @ X[t]
        p = np.exp(-math.log(S) / gap * (L - L.min())) if gap else np.isclose(L, L.min(), rtol=0, atol=0).astype(float)
        p = p / p.sum()
        margins[t] = p @ f
        losses[t] = c[t] * max(0.0, 1 - y[t] * margins[t])
        if losses[t] > 0.0:
            told = -c[t] * y[t] * f
            if gap:
                rate = math.log(S) / gap
                mix = -math.log(float(p @ np.exp(-rate * told))) / rate
            else:
                mix = (L + told).min() - L.min()
            gap += max(0.0, float(p @ told) - mix) if S > 1 else 0.0
            L, moves = L + told, moves + 1
            G[task[t]] += c[t] * y[t] * X[t]
        longest = max(longest, norm(c[t] * X[t]))
    return Outcome(margins, losses, p, gap)
