"""Online multitask learning of task relationships (SRDV11, Algorithm 1), written out with dense matrices."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm, fractional_matrix_power, logm, sqrtm

Matrix = NDArray[np.float64]
Update = Callable[[Matrix, Matrix], Matrix]


@dataclass(frozen=True)
class Batch:
    margins: Matrix
    mistakes: NDArray[np.bool_]
    W: Matrix
    A: Matrix
    mean: Matrix


def unit_trace(A: Matrix) -> Matrix:
    """A / tr A."""
    return np.asarray(A / np.trace(A))


def inverse(A: Matrix) -> Matrix:
    return np.asarray(np.linalg.inv(A), np.float64)


def revised(step: Update, trace_norm: bool, role: str) -> Update:
    """The step taken by A ("A") or by A^-1 ("Ainv"), which is then divided by its trace if asked for."""

    def update(A: Matrix, W: Matrix) -> Matrix:
        new = step(A if role == "A" else inverse(A), W)
        new = unit_trace(new) if trace_norm else new
        return new if role == "A" else inverse(new)

    return update


def logdet(eta: float, trace_norm: bool = False, role: str = "A") -> Update:
    """(3.7): A_s = (A_{s-1}^-1 + eta W'W)^-1."""
    return revised(lambda A, W: inverse(inverse(A) + eta * W.T @ W), trace_norm, role)


def von_neumann(eta: float, trace_norm: bool = False, role: str = "A") -> Update:
    """(3.8): A_s = exp(log A_{s-1} - eta W'W)."""
    return revised(lambda A, W: np.real(expm(np.real(logm(A)) - eta * W.T @ W)), trace_norm, role)


def beta_divergence(beta: float, eta: float, trace_norm: bool = False, role: str = "A") -> Update:
    """(3.6) for f(A) = (A^(beta - 1) - I) / (beta - 1)."""
    less = beta - 1.0

    def step(A: Matrix, W: Matrix) -> Matrix:
        eye = np.eye(len(A))
        dual = (fractional_matrix_power(A, less) - eye) / less - eta * W.T @ W
        return np.asarray(np.real(fractional_matrix_power(eye + less * dual, 1.0 / less)))

    return revised(step, trace_norm, role)


def with_role(matrix: Matrix, ridge: float, role: str) -> Matrix:
    """A, if matrix + ridge I is A ("A") or its inverse ("Ainv")."""
    ridged = matrix + ridge * np.eye(len(matrix))
    return ridged if role == "A" else np.asarray(np.linalg.inv(ridged), np.float64)


def covariance(ridge: float, role: str = "A") -> Update:
    """(3.9): A_s = cov(W) + ridge I, the d features being the observations."""
    return lambda A, W: with_role(np.atleast_2d(np.cov(W, rowvar=False)), ridge, role)


def batch_optimal(ridge: float, role: str = "A") -> Update:
    """(3.10): A_s = (W'W)^1/2 / tr (W'W)^1/2 + ridge I; A as it was while W is zero."""

    def update(A: Matrix, W: Matrix) -> Matrix:
        # (W'W)^1/2 = V diag(s) V' for W = U diag(s) V' needs no rank
        _, singular, Vt = np.linalg.svd(W, full_matrices=False)
        root = np.real(sqrtm(W.T @ W)) if np.linalg.matrix_rank(W) == len(A) else np.asarray(Vt.T * singular @ Vt)
        return with_role(unit_trace(root), ridge, role) if np.any(W) else A

    return update


def fixed(target: Matrix) -> Update:
    """A_s = a given A."""
    return lambda A, W: target


def omtl(
    X: Matrix,
    y: Matrix,
    task: NDArray[np.int64],
    update: Update,
    *,
    n_tasks: int,
    epoch: float = 0.0,
    step_norm: bool = False,
    weights: str = "previous",
    A: Matrix | None = None,
    every: int | None = None,
    tau: Callable[[float, float], float] = lambda signed_margin, length: float(signed_margin <= 0),
) -> Batch:
    """Algorithm 1: rounds t from 1, A_0 = I/K, the update of A at moves in rounds t >= epoch.

    With ``every`` A is updated at the end of each such number of rounds instead (§5.4). The mean step is kept at that of A_0.
    ``tau`` gives the step for y·margin and the squared norm of the multitask instance.
    """
    K = n_tasks
    A = np.eye(K) / K if A is None else A
    trace_before = float(np.trace(np.linalg.inv(A)))
    W, total = np.zeros((X.shape[1], K)), np.zeros((X.shape[1], K))
    margins = np.zeros(len(y))
    for t, (x, label, i) in enumerate(zip(X, y, task, strict=True), start=1):
        total += W
        margins[t - 1] = W[:, i] @ x
        M = np.linalg.inv(A)
        M = trace_before * M / np.trace(M) if step_norm else M
        step = tau(label * margins[t - 1], M[i, i] * (x @ x))
        if step > 0:
            before = W
            W = W + step * label * np.outer(x, M[:, i])
            if t >= epoch and every is None:
                A = update(A, before if weights == "previous" else W)
        if every is not None and t % every == 0 and t >= epoch:
            A = update(A, W)
    return Batch(margins, y * margins <= 0, W, A, total / len(y))
