"""Manifold regularization: functions that change little between records that are neighbours, labelled or not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.kernels import Kernel
from coterie.numeric.core.points import Points
from coterie.types import Array

from . import memory
from .designs import Separate
from .expansion import KernelExpansion
from .problem import Problem


@spec.part
class RecordGraph:
    """The penalty gamma · ½ Σ_ij W_ij (f_(t_i)(x_i) - f_(t_j)(x_j))², W a graph of neighbours among records of a task.

    ROS11 §7 names manifold regularization; it is Laplacian regularized least squares (Belkin, Niyogi and Sindhwani
    2006), here beside the penalty of the relation among tasks. Two records are neighbours if one is among the nearest
    of the other, as the kernel sees them: ‖x - z‖² = k(x, x) - 2 k(x, z) + k(z, z).

    Parameters
    ----------
    gamma : float > 0
        How much differences between neighbours cost, beside alpha.
    neighbors : int >= 1
        How many records each is joined with, at least; all where a task has fewer.

    Raises
    ------
    ValueError
        If gamma is not positive and finite, or neighbors no whole number from 1 on.

    Examples
    --------
    >>> RecordGraph(gamma=0.1, neighbors=5)
    RecordGraph(gamma=0.1, neighbors=5)
    """

    gamma: float = spec.field(default=1.0, above=0)
    neighbors: int = spec.field(default=10, kind="whole", at_least=1, unit="neighbours")

    def laplacian(self, kernel: Kernel, points: Points, codes: NDArray[np.int64] | None) -> Array:
        """D - W of the records, shape (n, n), joined where their ``codes`` are the same, or all without."""
        n = len(points.squares)
        K = np.empty((n, n))
        kernel.values(points, points, K)
        own = K.diagonal()
        apart = own[:, None] - 2.0 * K + own
        np.fill_diagonal(apart, np.inf)
        if codes is not None:
            apart[codes[:, None] != codes] = np.inf
        most = min(int(self.neighbors), n - 1)
        nearest = np.argsort(apart, axis=1, kind="stable")[:, :most]
        W = np.zeros((n, n))
        np.put_along_axis(W, nearest, np.isfinite(np.take_along_axis(apart, nearest, axis=1)).astype(float), axis=1)
        W = np.maximum(W, W.T)
        return np.asarray(np.diag(W.sum(axis=1)) - W)


def smoothed(problem: Problem, M: Array, graph: RecordGraph, alpha: float) -> KernelExpansion:
    """The functions f = Q c with ((J + gamma L) Q + alpha I) c = J y, J picking the labelled rows: O(n³).

    They minimise Σ_labelled (y_i - f(x_i))² + alpha ‖f‖²_Q + gamma f'L f. Where every row has the outputs of all tasks,
    one system for each eigenvalue of M.

    Raises
    ------
    OutOfMemoryError
        If the n x n matrices would not fit.
    """
    n = len(problem.points.squares)
    memory.require(
        5.0 * 8 * n**2, f"a graph of {n} records", "take fewer records, or fit without manifold, by conjugate gradients"
    )
    P = graph.gamma * graph.laplacian(problem.kernel, problem.points, problem.codes)
    P[np.diag_indices(n)] += problem.labelled
    J = problem.labelled[:, None] * np.asarray(problem.Y, np.float64)
    if problem.codes is not None:
        every = np.arange(n)
        Q = Separate(problem.kernel, problem.points, problem.codes, M, "float64").values(every, every)
        return problem.expansion(_solved(P, Q, alpha, J), M)
    K = np.empty((n, n))
    problem.kernel.values(problem.points, problem.points, K)
    values, U = np.linalg.eigh(M)
    turned = J @ U
    for k, value in enumerate(values):
        turned[:, [k]] = _solved(P, max(float(value), 0.0) * K, alpha, turned[:, [k]])
    return problem.expansion(turned @ U.T, M)


def _solved(P: Array, Q: Array, alpha: float, y: Array) -> Array:
    made = P @ Q
    made[np.diag_indices(len(made))] += alpha
    return np.asarray(np.linalg.solve(made, y))
