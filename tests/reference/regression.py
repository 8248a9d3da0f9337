"""Regression for many tasks from its definition: labels by their moments so far, explicit matrices, explicit loops."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reference.moments import inside, scales

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Batch:
    """What happened in each round, and what was learned."""

    predictions: Vector  # (n,), before the label
    W: Matrix  # (K, d), of the inside


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
) -> Batch:
    """w <- w + tau sign(y - f) (M ⊗ I) phi into the tube of width epsilon, phi being x in block i of R^(Kd)."""
    (n, d), K = X.shape, len(M)
    kronecker = np.kron(M, np.eye(d))
    w, gathered, predictions = np.zeros(K * d), np.zeros(K * d), np.zeros(n)
    v = np.ones(n) if weights is None else weights
    known = scales(y, v) if standardised else [(0.0, 1.0)] * (n + 1)
    for t in range(n):
        phi = np.kron(np.eye(K)[task[t]], X[t])
        weights = gathered / max(t, 1) if average else w
        mean, deviation = known[t]
        predictions[t] = mean + deviation * (weights @ phi)
        z = inside(float(y[t]), known[t + 1]) if standardised else float(y[t])
        c = tube_step(z - float(w @ phi), float(phi @ kronecker @ phi), epsilon, C, variant)
        gathered = gathered + w
        w = w + v[t] * c * (kronecker @ phi)
    return Batch(predictions, (gathered / max(n, 1) if average else w).reshape(K, d))


def adaptive(
    X: Matrix, y: Vector, task: NDArray[np.int64], share: float, loss: str, step: float, weights: Vector | None = None
) -> Batch:
    """Adaptive gradients of the squared or the absolute loss on what all share and on what is a task's own."""
    (n, d), K = X.shape, int(task.max()) + 1
    shared, own = np.zeros((2, d)), np.zeros((K, 2, d))
    predictions = np.zeros(n)
    v = np.ones(n) if weights is None else weights
    known = scales(y, v)
    for t in range(n):
        x, mine = X[t], own[task[t]]
        margin = float((shared[0] + mine[0]) @ x)
        mean, deviation = known[t]
        predictions[t] = mean + deviation * margin
        residual = inside(y[t], known[t + 1]) - margin
        c = v[t] * (residual if loss == "squared" else float(np.sign(residual)))
        for (weights, squares), weight in ((shared, share), (mine, 1.0 - share)):
            if weight == 0.0 or c == 0.0:
                continue
            squares += (c * x) ** 2
            weights += step * weight * c * x / np.sqrt(1e-6 + squares)
    return Batch(predictions, shared[0] + own[:, 0])
