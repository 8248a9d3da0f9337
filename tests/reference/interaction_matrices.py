"""Interaction matrices A, written out entry by entry or projector by projector."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Edge = tuple[int, int] | tuple[int, int, float]


def identity(n_tasks: int) -> Matrix:
    """A = I: independent tasks."""
    return np.eye(n_tasks)


def half_update(n_tasks: int) -> Matrix:
    """A = (K + 1) I - 11'."""
    return (n_tasks + 1) * np.eye(n_tasks) - np.ones((n_tasks, n_tasks))


def mean_regularized(n_tasks: int, b: float) -> Matrix:
    """A = I + b (I - 11'/K)."""
    return np.eye(n_tasks) + b * (np.eye(n_tasks) - np.ones((n_tasks, n_tasks)) / n_tasks)


def laplacian(n_tasks: int, edges: Sequence[Edge]) -> Matrix:
    """L_ii = weighted degree, L_ij = -w_ij, an edge without weight having weight 1."""
    L = np.zeros((n_tasks, n_tasks))
    for edge in edges:
        i, j, weight = edge if len(edge) == 3 else (*edge, 1.0)
        L[i, i] += weight
        L[j, j] += weight
        L[i, j] -= weight
        L[j, i] -= weight
    return L


def graph(n_tasks: int, edges: Sequence[Edge]) -> Matrix:
    """A = I + L."""
    return np.eye(n_tasks) + laplacian(n_tasks, edges)


def clusters(groups: Sequence[Hashable], b: float) -> Matrix:
    """A = I + b (I - 11'/m) inside a group of m tasks, 0 across; ``groups[i]`` is the group of task i."""
    A = np.zeros((len(groups), len(groups)))
    for group in set(groups):
        members = [i for i, name in enumerate(groups) if name == group]
        A[np.ix_(members, members)] = mean_regularized(len(members), b)
    return A


def hierarchy(paths: Sequence[Sequence[Hashable]], b: Sequence[float]) -> Matrix:
    """A = I + sum_l b_l (I - P_l), ``paths[i]`` being the groups of task i from the widest to the narrowest.

    P_l averages over the tasks whose paths agree down to level l. A task whose path ends before is a group of its own.
    """
    n_tasks = len(paths)
    A = np.eye(n_tasks)
    for level, strength in enumerate(b):
        groups = [tuple(path[: level + 1]) if level < len(path) else ("alone", i) for i, path in enumerate(paths)]
        same = np.array([[float(a == b) for b in groups] for a in groups])
        A += strength * (np.eye(n_tasks) - same / same.sum(axis=1, keepdims=True))
    return A
