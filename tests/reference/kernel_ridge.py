"""Kernel ridge regression for many outputs (ROS11), with every matrix written out: explicit Q, explicit Kronecker."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import eval_jacobi

Matrix = NDArray[np.float64]
Gains = Callable[[Matrix], Matrix]


def linear(X: Matrix, Z: Matrix) -> Matrix:
    """K(x, z) = x · z, pair by pair."""
    return np.array([[float(x @ z) for z in Z] for x in X])


def gaussian(sigma: float) -> Callable[[Matrix, Matrix], Matrix]:
    """K(x, z) = exp(-‖x - z‖² / (2 sigma²)), pair by pair."""

    def kernel(X: Matrix, Z: Matrix) -> Matrix:
        return np.array([[np.exp(-((x - z) @ (x - z)) / (2 * sigma**2)) for z in Z] for x in X])

    return kernel


def joint(K: Matrix, M: Matrix, rows: Sequence[int], columns: Sequence[int]) -> Matrix:
    """Q_ij = K_ij M_(s_i t_j), entry by entry."""
    return np.array([[K[i, j] * M[s, t] for j, t in enumerate(columns)] for i, s in enumerate(rows)])


def tikhonov(Q: Matrix, y: Matrix, alpha: float, weights: Matrix | None = None) -> Matrix:
    """The minimiser of Σ_i w_i (y_i - f_i)² + alpha ‖f‖²: (Q + alpha W⁻¹) c = y."""
    w = np.ones(len(y)) if weights is None else weights
    return np.asarray(np.linalg.solve(Q + alpha * np.diag(1.0 / w), y), np.float64)


def objective(Q: Matrix, y: Matrix, c: Matrix, alpha: float, weights: Matrix) -> float:
    """Σ_i w_i (y_i - (Qc)_i)² + alpha c'Qc."""
    residual = y - Q @ c
    return float(residual @ (weights * residual) + alpha * c @ Q @ c)


def kronecker(K: Matrix, M: Matrix, Y: Matrix, alpha: float) -> Matrix:
    """(M ⊗ K + alpha I) vec(C) = vec(Y), vec stacking the columns, that is the tasks."""
    n, n_tasks = Y.shape
    c = np.linalg.solve(np.kron(M, K) + alpha * np.eye(n * n_tasks), Y.reshape(-1, order="F"))
    return np.asarray(c.reshape(n, n_tasks, order="F"))


def filtered(Q: Matrix, y: Matrix, gains: Gains) -> Matrix:
    """g(Q) y by the spectral definition: Σ_i g(sigma_i) u_i u_i' y."""
    sigma, U = np.linalg.eigh(Q)
    c = np.zeros_like(y)
    for value, u in zip(np.maximum(sigma, 0.0), U.T, strict=True):
        c += gains(np.array([value]))[0] * u * float(u @ y)
    return c


def landweber_gain(steps: int, rate: float) -> Gains:
    """eta Σ_{j < t} (1 - eta sigma)^j, term by term."""
    return lambda sigma: np.sum([rate * (1 - rate * sigma) ** j for j in range(steps)], axis=0)


def nu_gain(steps: int, nu: float, largest: float) -> Gains:
    """(1 - r_t) / sigma, r_t the Jacobi polynomial of the weight x^(2nu-1/2) (1-x)^(-1/2) on [0, 1] with r_t(0) = 1."""

    def gains(sigma: Matrix) -> Matrix:
        at = [eval_jacobi(steps, 2 * nu - 0.5, -0.5, 1 - 2 * point / largest) for point in (sigma, 0.0)]
        return np.asarray((1 - at[0] / at[1]) / sigma)

    return gains


def cut_off_gain(threshold: float) -> Gains:
    """1 / sigma from the threshold on, 0 below."""
    return lambda sigma: np.where(sigma >= threshold, 1.0 / np.maximum(sigma, 1e-300), 0.0)


def iterated_gain(alpha: float, steps: int) -> Gains:
    """Σ_{j < t} alpha^j / (sigma + alpha)^(j + 1)."""
    return lambda sigma: np.sum([alpha**j / (sigma + alpha) ** (j + 1) for j in range(steps)], axis=0)


def landweber(Q: Matrix, y: Matrix, steps: int, rate: float) -> Matrix:
    """c_i = c_{i-1} + eta (y - Q c_{i-1}) from c_0 = 0."""
    c = np.zeros_like(y)
    for _ in range(steps):
        c = c + rate * (y - Q @ c)
    return c


def mixed_effect_penalty(F: Matrix, lam: float, gamma: float) -> float:
    """lambda Σ‖f‖² + gamma Σ‖f - mean‖² (ROS11 §4.2)."""
    return float(lam * np.sum(F**2) + gamma * np.sum((F - F.mean(axis=0)) ** 2))


def graph_penalty(F: Matrix, W: Matrix) -> float:
    """½ Σ_lq W_lq ‖f_l - f_q‖² + Σ_l W_ll ‖f_l‖² for a symmetric W."""
    n = len(F)
    pairs = sum(W[i, j] * np.sum((F[i] - F[j]) ** 2) for i in range(n) for j in range(n))
    return float(0.5 * pairs + sum(W[i, i] * np.sum(F[i] ** 2) for i in range(n)))


def cluster_penalty(F: Matrix, groups: Sequence[int], within: float, between: float) -> float:
    """within Σ_c Σ_(l in c) ‖f_l - mean_c‖² + between Σ_c m_c ‖mean_c‖²."""
    total = 0.0
    for group in set(groups):
        members = F[[i for i, name in enumerate(groups) if name == group]]
        mean = members.mean(axis=0)
        total += within * float(np.sum((members - mean) ** 2)) + between * len(members) * float(mean @ mean)
    return total
