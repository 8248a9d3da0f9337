"""Regression for many tasks from its definition: labels by their moments so far, explicit matrices, explicit loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """What happened in each round, and what was learned."""

    predictions: Vector  # (n,), before the label
    W: Matrix  # (K, d), of the inside


def moments(y: Vector, weights: Vector | None = None) -> tuple[float, float]:
    """Mean and standard deviation of the labels so far; 0 and 1 where there are none or no difference."""
    if not len(y) or (weights is not None and not weights.any()):
        return 0.0, 1.0
    mean = float(np.average(y, weights=weights))
    deviation = float(np.sqrt(np.average((y - mean) ** 2, weights=weights)))
    return mean, deviation if deviation > 1e-12 * abs(mean) else 1.0


def tube_step(residual: float, norm: float, epsilon: float, C: float, variant: str) -> float:
    """How far to move for a residual y - f, with its sign; ``norm`` is M_ii ‖x‖²."""
    loss = max(0.0, abs(residual) - epsilon)
    if loss == 0.0 or norm == 0.0:
        return 0.0
    tau = {"0": loss / norm, "I": min(C, loss / norm), "II": loss / (norm + 1.0 / (2.0 * C))}[variant]
    return float(np.sign(residual) * tau)


def passive_aggressive(
    X: Matrix,
    y: Vector,
    task: NDArray[np.int64],
    M: Matrix,
    epsilon: float = 0.1,
    C: float = 0.1,
    variant: str = "II",
    standardised: bool = True,
    average: bool = False,
    weights: Vector | None = None,
) -> Run:
    """w <- w + tau sign(y - f) (M ⊗ I) phi into the tube of width epsilon, phi being x in block i of R^(Kd)."""
    (n, d), K = X.shape, len(M)
    kronecker = np.kron(M, np.eye(d))
    w, gathered, predictions = np.zeros(K * d), np.zeros(K * d), np.zeros(n)
    v = np.ones(n) if weights is None else weights
    for t in range(n):
        phi = np.kron(np.eye(K)[task[t]], X[t])
        told = gathered / max(t, 1) if average else w
        mean, deviation = moments(y[:t], v[:t]) if standardised else (0.0, 1.0)
        predictions[t] = mean + deviation * (told @ phi)
        mean, deviation = moments(y[: t + 1], v[: t + 1]) if standardised else (0.0, 1.0)
        c = tube_step((y[t] - mean) / deviation - w @ phi, float(phi @ kronecker @ phi), epsilon, C, variant)
        gathered = gathered + w
        w = w + v[t] * c * (kronecker @ phi)
    return Run(predictions, (gathered / max(n, 1) if average else w).reshape(K, d))


def adaptive(
    X: Matrix,
    y: Vector,
    task: NDArray[np.int64],
    share: float,
    loss: str,
    step: float,
    start: float = 1e-6,
    weights: Vector | None = None,
) -> Run:
    """Adaptive gradients of the squared or the absolute loss on what all share and on what is a task's own."""
    (n, d), K = X.shape, int(task.max()) + 1
    shared, own = np.zeros((2, d)), np.zeros((K, 2, d))
    predictions = np.zeros(n)
    v = np.ones(n) if weights is None else weights
    for t in range(n):
        x, mine = X[t], own[task[t]]
        margin = float((shared[0] + mine[0]) @ x)
        mean, deviation = moments(y[:t], v[:t])
        predictions[t] = mean + deviation * margin
        mean, deviation = moments(y[: t + 1], v[: t + 1])
        residual = (y[t] - mean) / deviation - margin
        c = v[t] * (residual if loss == "squared" else float(np.sign(residual)))
        for (weights, squares), weight in ((shared, share), (mine, 1.0 - share)):
            if weight == 0.0 or c == 0.0:
                continue
            squares += (c * x) ** 2
            weights += step * weight * c * x / np.sqrt(start + squares)
    return Run(predictions, shared[0] + own[:, 0])
