"""The multitask Perceptron of CCG08 Fig. 1 and its passive-aggressive kin, Kronecker products written out.

M is the inverse of the paper's interaction matrix A.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Batch:
    """What happened in each round, and what was learned."""

    margins: Vector  # (n,), before the label
    mistakes: NDArray[np.bool_]  # (n,), y·margin <= 0
    updated: NDArray[np.bool_]  # (n,), tau > 0
    W: Matrix  # (K, d), after the last round
    averaged_margins: Vector  # (n,), of the mean of the weights before each earlier round; 0 in the first round
    averaged_weights: Matrix  # (K, d), mean of the weights before each round


def batch_of(y: Sequence[float], margins: Vector, taus: Vector, W: Matrix, averaged: Vector, mean: Matrix) -> Batch:
    """What happened, from the margins and the steps of all rounds, and the weights that were learned."""
    return Batch(margins, np.asarray(y) * margins <= 0, taus > 0, W, averaged, mean)


def step(rule: str, C: float, signed_margin: float, norm: float) -> float:
    """tau for agreement y·margin and norm M_ii ‖x‖²; 0 for a record without length."""
    if rule == "perceptron":
        return 1.0 if signed_margin <= 0 else 0.0
    loss = max(0.0, 1.0 - signed_margin)
    if norm == 0.0:
        return 0.0
    return {"PA": loss / norm, "PA-I": min(C, loss / norm), "PA-II": loss / (norm + 1.0 / (2.0 * C))}[rule]


def primal(
    X: Matrix,
    y: Sequence[float],
    task: Sequence[int],
    M: Matrix,
    rule: str = "perceptron",
    C: float = 1.0,
    weights: Sequence[float] | None = None,
) -> Batch:
    """w <- w + tau y (M ⊗ I_d) phi, phi being x in block i of R^(Kd), margin w · phi.

    ``rule`` is one of "perceptron", "PA", "PA-I" and "PA-II"; the norm of the latter three is that of the multitask
    instance, phi'(M ⊗ I_d) phi = M_ii ‖x‖². A zero margin is a mistake. tau has the weight of the record as a factor.
    """
    (n, d), n_tasks = X.shape, len(M)
    kronecker = np.kron(M, np.eye(d))
    w, gathered = np.zeros(n_tasks * d), np.zeros(n_tasks * d)
    margins, averaged, step_sizes = np.zeros(n), np.zeros(n), np.zeros(n)
    for t in range(n):
        phi = np.kron(np.eye(n_tasks)[task[t]], X[t])
        margins[t] = w @ phi
        averaged[t] = (gathered / t) @ phi if t else 0.0
        step_sizes[t] = step(rule, C, y[t] * margins[t], float(phi @ kronecker @ phi))
        step_sizes[t] *= 1.0 if weights is None else weights[t]
        gathered = gathered + w
        w = w + step_sizes[t] * y[t] * (kronecker @ phi)
    return batch_of(y, margins, step_sizes, w.reshape(n_tasks, d), averaged, gathered.reshape(n_tasks, d) / max(n, 1))


def dual(X: Matrix, y: Sequence[float], task: Sequence[int], M: Matrix) -> tuple[Vector, Vector]:
    """The margins and taus of the Perceptron by sums over the rounds moved on: sum_s tau_s y_s M_(i_s i_t) x_s · x_t."""
    margins, step_sizes = np.zeros(len(X)), np.zeros(len(X))
    for t, (x, i) in enumerate(zip(X, task, strict=True)):
        for s in range(t):
            margins[t] += step_sizes[s] * y[s] * M[task[s], i] * (X[s] @ x)
        step_sizes[t] = float(y[t] * margins[t] <= 0)
    return margins, step_sizes


def queued(X: Matrix, y: Sequence[float], task: Sequence[int], inverses: Sequence[Matrix], delay: int = 0) -> Batch:
    """The rounds of the Perceptron where M changes, W = M Theta being formed anew from the raw sums, and where labels come late.

    ``inverses[t]`` is the M of round t; its rows of tasks that have not come yet say what a task nobody has seen gets.
    A record waits in a queue until ``delay`` further ones have been predicted; then it is learned.
    """
    n, d = X.shape
    sums, gathered = np.zeros((len(inverses[0]), d)), np.zeros((len(inverses[0]), d))
    margins, averaged, step_sizes, own = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    learned, queue = 0, []
    for t in range(n + delay):
        M = inverses[min(t, n - 1)]
        if t < n:
            queue.append(t)
            margins[t] = (M @ sums)[task[t]] @ X[t]
            averaged[t] = gathered[task[t]] @ X[t] / learned if learned else 0.0
        if len(queue) > delay or (queue and t >= n):
            s = queue.pop(0)
            own[s] = (M @ sums)[task[s]] @ X[s]
            step_sizes[s] = float(y[s] * own[s] <= 0)
            gathered, learned = gathered + M @ sums, learned + 1
            sums[task[s]] += step_sizes[s] * y[s] * X[s]
    return batch_of(y, margins, step_sizes, np.asarray(inverses[-1] @ sums), averaged, gathered / max(n, 1))
