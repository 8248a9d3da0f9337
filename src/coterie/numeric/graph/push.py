"""Columns of (I + L)^-1 by local relaxation: the work stays near the task that is asked for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.generic import compiled


class Graph(NamedTuple):
    """A weighted graph as rows of neighbours, with the diagonal of I + L."""

    indptr: NDArray[np.int64]  # (K + 1,)
    indices: NDArray[np.int32]  # (2 edges,)
    weight: NDArray[np.float64]  # (2 edges,)
    diagonal: NDArray[np.float64]  # (K,), 1 + weighted degree


class Scratch(NamedTuple):
    """Working arrays for one push at a time; between pushes all zero, since a push resets what it touched."""

    value: NDArray[np.float64]  # (K,)
    residual: NDArray[np.float64]  # (K,)
    state: NDArray[np.uint8]  # (K,), whether touched, and whether in the queue
    queue: NDArray[np.int32]  # (K,), a ring
    touched: NDArray[np.int32]  # (K,)


UNSEEN, TOUCHED, WAITING = 0, 1, 2


def scratch(n_tasks: int) -> Scratch:
    """Make working arrays for pushes over a graph of so many tasks: 25 bytes a task."""
    return Scratch(
        np.zeros(n_tasks),
        np.zeros(n_tasks),
        np.zeros(n_tasks, dtype=np.uint8),
        np.zeros(n_tasks, dtype=np.int32),
        np.zeros(n_tasks, dtype=np.int32),
    )


@compiled
def push(
    graph: Graph, room: Scratch, task: int, error: float, omega: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Solve (I + L) x = e_task until no residual exceeds ``error``.

    Each step takes the task that has waited longest and relaxes its equation, x_u += omega r_u / A_uu. Since I + L is
    symmetric positive definite this converges for every order and 0 < omega < 2. Since the rows of (I + L)^-1 are
    nonnegative and sum to 1, |x - x*|_inf = |(I + L)^-1 r|_inf <= |r|_inf <= error.

    Parameters
    ----------
    graph : Graph
        Neighbours and weights of every task.
    room : Scratch
        Working arrays, all zero; all zero again afterwards.
    task : int
        The column.
    error : float
        Largest residual to leave.
    omega : float
        Over-relaxation; 1 is Gauss-Southwell.

    Returns
    -------
    indices : ndarray of int64
        The tasks reached, ascending.
    values : ndarray of float64
        Their entries, all positive.
    """
    return _take(room, _relax(graph, room, task, error, omega))


@compiled
def _relax(graph: Graph, room: Scratch, task: int, error: float, omega: float) -> int:
    """Relax until the queue is empty; return the number of tasks that were touched."""
    # One loop over bare arrays: a call for each edge would count references and take ten times as long.
    indptr, indices, weight, diagonal = graph
    value, residual, state, queue, touched = room
    residual[task] = 1.0
    state[task], queue[0], touched[0] = WAITING, task, task
    head, waiting, reached = 0, 1, 1
    while waiting > 0:
        u = queue[head]
        head = _wrapped(head + 1, queue.size)
        waiting -= 1
        step = omega * residual[u] / diagonal[u]
        value[u] += step
        residual[u] -= omega * residual[u]
        state[u] = TOUCHED
        if abs(residual[u]) > error:
            state[u] = WAITING
            queue[_wrapped(head + waiting, queue.size)] = u
            waiting += 1
        for place in range(indptr[u], indptr[u + 1]):
            v = indices[place]
            residual[v] += weight[place] * step
            if state[v] == UNSEEN:
                state[v] = TOUCHED
                touched[reached] = v
                reached += 1
            if state[v] == TOUCHED and abs(residual[v]) > error:
                state[v] = WAITING
                queue[_wrapped(head + waiting, queue.size)] = v
                waiting += 1
    return reached


@compiled
def _wrapped(place: int, size: int) -> int:
    return place if place < size else place - size


@compiled
def _take(room: Scratch, reached: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the entries found, and reset the working arrays."""
    tasks = np.sort(room.touched[:reached]).astype(np.int64)
    values = room.value[tasks]
    room.value[tasks] = 0.0
    room.residual[tasks] = 0.0
    room.state[tasks] = UNSEEN
    # The entries are known to be nonnegative, so what relaxation leaves below zero is error.
    kept = values > 0.0
    return tasks[kept], values[kept]
