"""Fixed relations read by pairs of tasks: M_ij for the tasks of two records."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.learners import kernel_bindings
from coterie.numeric.models import Levels
from coterie.state import State

Codes = NDArray[np.int64]
Matrix = NDArray[np.float64]


class ByLevels(kernel_bindings.ByLevels):
    """A relation of nested groups, read by pairs."""

    @staticmethod
    def between(state: State, tasks: Codes, others: Codes) -> Matrix:
        """M for pairs of known tasks: O(levels) each."""
        levels = state.model.sharing
        own = np.where(tasks[:, None] == others, levels.own[tasks][:, None], 0.0)
        return own + _common(levels, levels.paths[tasks], levels.paths[others])

    @staticmethod
    def diagonal(state: State, tasks: Codes) -> NDArray[np.float64]:
        """M_ii of known tasks."""
        levels = state.model.sharing
        return np.asarray(levels.own[tasks] + _held(levels, levels.paths[tasks]))

    @staticmethod
    def unseen(state: State, tasks: Sequence[Hashable], others: Codes) -> tuple[Matrix, NDArray[np.float64]]:
        """M between tasks nobody has seen and known ones, and what its diagonal would be for the former."""
        relation, ghosts = state.sharing.relation, ByLevels.ghosts(state, tasks)
        own = np.array([relation.own(len(relation.path(task))) for task in tasks])
        rows = _common(ghosts, ghosts.paths, state.model.sharing.paths[others])
        return rows, own + _held(ghosts, ghosts.paths)


class ByColumns(kernel_bindings.ByColumns):
    """A relation that gives columns of M, read by pairs."""

    @staticmethod
    def between(state: State, tasks: Codes, others: Codes) -> Matrix:
        """M for pairs of known tasks: one column for each of ``tasks``."""
        M = np.zeros((len(tasks), len(others)))
        for i in np.unique(tasks):
            M[tasks == i] = _entries(state.sharing.source.column(int(i)), others)
        return M

    @staticmethod
    def diagonal(state: State, tasks: Codes) -> NDArray[np.float64]:
        """M_ii of known tasks: one column for each."""
        M = np.zeros(len(tasks))
        for i in np.unique(tasks):
            M[tasks == i] = _entries(state.sharing.source.column(int(i)), np.array([i]))[0]
        return M

    @staticmethod
    def unseen(state: State, tasks: Sequence[Hashable], others: Codes) -> tuple[Matrix, NDArray[np.float64]]:
        """There are none: ValueError."""
        made: tuple[Matrix, NDArray[np.float64]] = ByColumns.ghosts(state, tasks)
        return made


PAIRS: dict[str | None, Any] = {"levels": ByLevels, "repelling levels": ByLevels, "columns": ByColumns}


def _common(levels: Levels, paths: Codes, others: Codes) -> Matrix:
    """Weights of the groups that tasks have in common."""
    weight = np.append(levels.weight, 0.0)
    M = np.zeros((len(paths), len(others)))
    for groups, theirs in zip(paths.T, others.T, strict=True):
        M += np.where((groups[:, None] == theirs) & (theirs >= 0), weight[theirs], 0.0)
    return M


def _held(levels: Levels, paths: Codes) -> NDArray[np.float64]:
    """Weights of all groups of each task."""
    weight = np.append(levels.weight, 0.0)
    return np.asarray(weight[np.where(paths < 0, len(levels.weight), paths)].sum(axis=1))


def _entries(column: tuple[Codes, NDArray[np.float64]], tasks: Codes) -> NDArray[np.float64]:
    rows, values = column
    place = np.minimum(np.searchsorted(rows, tasks), len(rows) - 1)
    return np.where(rows[place] == tasks, values[place], 0.0)
