"""Fixed relations read by pairs of tasks, M_ij for the tasks of two records, as models of support vectors need them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .numeric.models import Columns, Levels
from .relations.cache import column_cache
from .relations.groups import GroupIndex
from .state import State
from .views import Index

Codes = NDArray[np.int64]
Matrix = NDArray[np.float64]


class ByLevels:
    """How a relation of nested groups is bound to support vectors."""

    @staticmethod
    def start(relation: Any, tasks: Sequence[Hashable]) -> tuple[Index, GroupIndex, Levels]:
        sharing, index = GroupIndex(relation), Index(tasks)
        return index, sharing, sharing.extend(sharing.empty(), 0, index.labels, 0)

    @staticmethod
    def extend(state: State, new: Sequence[Hashable]) -> Levels:
        levels: Levels = state.sharing.extend(state.model.sharing, len(state.tasks), new, state.rounds)
        return levels

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        for task in new:
            relation.path(task)

    @staticmethod
    def ghosts(state: State, tasks: Sequence[Hashable]) -> Levels:
        levels: Levels = state.sharing.ghosts(state.model.sharing, tasks)
        return levels

    @staticmethod
    def lean(sharing: Levels) -> Levels:
        return sharing

    @staticmethod
    def rebound(relation: Any, sharing: Levels, tasks: Sequence[Hashable]) -> tuple[GroupIndex, Levels]:
        return GroupIndex(relation, tasks), sharing

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(relation.relation_matrix(state.tasks.labels, among))

    @staticmethod
    def top(state: State) -> float:
        return float(ByLevels.diagonal(state, np.arange(len(state.tasks))).max(initial=0.0))

    @staticmethod
    def among(state: State, tasks: Codes) -> Matrix:
        return ByLevels.between(state, tasks, tasks)

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


class ByColumns:
    """How a relation that gives columns of M is bound to support vectors."""

    @staticmethod
    def start(relation: Any, tasks: Sequence[Hashable]) -> tuple[Index, Any, Any]:
        known = Index(relation.known_tasks)
        _refuse_unknown(relation, known, tasks)
        cache = column_cache(relation.source())
        return known, cache, cache.columns

    @staticmethod
    def extend(state: State, new: Sequence[Hashable]) -> Any:
        return state.model.sharing

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        _refuse_unknown(relation, state.tasks, new)

    @staticmethod
    def ghosts(state: State, tasks: Sequence[Hashable]) -> Any:
        raise ValueError(f"task {tasks[0]!r} is not among the tasks of the relation")

    @staticmethod
    def lean(sharing: Any) -> Any:
        return Columns(np.zeros((0, 0)), np.zeros(0, np.int64))

    @staticmethod
    def rebound(relation: Any, sharing: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        cache = column_cache(relation.source())
        return cache, cache.columns

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(relation.relation_matrix(None if among is None else [state.tasks.labels[i] for i in among]))

    @staticmethod
    def top(state: State) -> float:
        return float(state.sharing.source.max_diagonal())

    @staticmethod
    def among(state: State, tasks: Codes) -> Matrix:
        return ByColumns.between(state, tasks, tasks)

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


def _refuse_unknown(relation: Any, known: Index, tasks: Sequence[Hashable]) -> None:
    for task in tasks:
        if task not in known.numbers:
            shown = ", ".join(map(repr, known.labels[:5]))
            raise ValueError(f"task {task!r} is unknown to {type(relation).__name__}, which has {shown} ...")
