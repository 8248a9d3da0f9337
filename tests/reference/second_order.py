"""The second-order multitask Perceptron of CCG08 Fig. 2, square roots and inverses written out."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import sqrtm

Matrix = NDArray[np.float64]
Tasks = NDArray[np.int64]


def literal(X: Matrix, y: Matrix, task: Tasks, A: Matrix, ridge: float = 1.0) -> Matrix:
    """φ̃ = (A ⊗ I)^(-1/2) φ, margin φ̃'(ridge I + S S' + φ̃φ̃')⁻¹ v; a mistake adds y φ̃ to v and φ̃ to S."""
    K, d = len(A), X.shape[1]
    root = np.linalg.inv(np.real(sqrtm(np.kron(A, np.eye(d)))))
    v, S = np.zeros(K * d), np.zeros((K * d, 0))
    margins = np.zeros(len(X))
    for t in range(len(X)):
        phi = root @ np.kron(np.eye(K)[task[t]], X[t])
        margins[t] = phi @ np.linalg.inv(ridge * np.eye(K * d) + S @ S.T + np.outer(phi, phi)) @ v
        if y[t] * margins[t] <= 0:
            v = v + y[t] * phi
            S = np.column_stack([S, phi])
    return margins


def dual(
    X: Matrix, y: Matrix, task: Tasks, M: Matrix, ridge: float = 1.0, kernel: Callable[..., Any] = np.dot
) -> Matrix:
    """(y_M, 0)'(ridge I + G)⁻¹ G_last over the mistakes and the record at hand, M being A⁻¹."""
    moved: list[int] = []
    margins = np.zeros(len(X))
    for t in range(len(X)):
        union = [*moved, t]
        G = np.array([[M[task[r], task[s]] * kernel(X[r], X[s]) for s in union] for r in union])
        labels = np.array([*(y[s] for s in moved), 0.0])
        margins[t] = labels @ np.linalg.inv(ridge * np.eye(len(union)) + G) @ G[:, -1]
        if y[t] * margins[t] <= 0:
            moved.append(t)
    return margins


def arow(X: Matrix, y: Matrix, task: Tasks, M: Matrix, noise: float) -> tuple[Matrix, Matrix]:
    """AROW with the whole covariance Σ, at first M ⊗ I: means, and variances φ'Σφ, before each label; r a record."""
    K, d = len(M), X.shape[1]
    w, Sigma = np.zeros(K * d), np.kron(M, np.eye(d))
    means, variances = np.zeros(len(X)), np.zeros(len(X))
    for t in range(len(X)):
        phi = np.kron(np.eye(K)[task[t]], X[t])
        means[t], variances[t] = w @ phi, phi @ Sigma @ phi
        r = noise * (X[t] @ X[t]) / max(np.count_nonzero(X[t]), 1)
        if y[t] * means[t] < 1 and variances[t] + r > 0:
            beta = 1.0 / (variances[t] + r)
            along = Sigma @ phi
            w = w + (1 - y[t] * means[t]) * beta * y[t] * along
            Sigma = Sigma - beta * np.outer(along, along)
    return means, variances


def ridge(
    X: Matrix, y: Matrix, task: Tasks, M: Matrix, noise: float, kernel: Callable[..., Any] = np.dot
) -> tuple[Matrix, Matrix]:
    """Ridge regression on all records before each: means g'(noise I + G)⁻¹y, and variances κ - g'(noise I + G)⁻¹g."""
    G = np.array([[M[i, j] * kernel(x, z) for z, j in zip(X, task, strict=True)] for x, i in zip(X, task, strict=True)])
    means, variances = np.zeros(len(X)), G.diagonal().copy()
    for t in range(1, len(X)):
        inverse = np.linalg.inv(noise * np.eye(t) + G[:t, :t])
        means[t] = G[t, :t] @ inverse @ y[:t]
        variances[t] -= G[t, :t] @ inverse @ G[:t, t]
    return means, variances
