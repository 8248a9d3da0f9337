"""Relations bound to models that read them by pairs of tasks, such as support vectors: M_ij for two records' tasks.

What a learner keeps of each form of relation, makes room for as tasks come, and saves.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.bindings import Columnwise, Nested, refuse_unknown, tell_outgrown
from coterie.index import Index
from coterie.numeric.asking import renew
from coterie.numeric.expansion import Expansion
from coterie.numeric.models import Columns, Levels
from coterie.numeric.taught import Taught
from coterie.relations.cache import column_cache
from coterie.relations.groups import GroupIndex
from coterie.relations.learned import check_size, matrix_of
from coterie.state import State

Codes = NDArray[np.int64]
Matrix = NDArray[np.float64]


class _Still:
    """What a relation that is given needs no care for."""

    @staticmethod
    def roomy(model: Expansion, evicts: bool) -> Expansion:
        return model

    @staticmethod
    def skip(state: State, rounds: int) -> None:
        """Nothing goes by rounds."""

    @staticmethod
    def notice(relation: Any, state: State) -> None:
        """Nothing to tell: M does not change."""

    @staticmethod
    def inform(state: State, chance: Any) -> None:
        """Nothing that an asker could want to know."""


class ByLevels(_Still, Nested):
    """A relation of nested groups."""

    @staticmethod
    def start(
        relation: Any, tasks: Sequence[Hashable], features: int, length: int | None
    ) -> tuple[Index, GroupIndex, Levels]:
        sharing, index = GroupIndex(relation), Index(tasks)
        return index, sharing, sharing.extend(sharing.empty(), 0, index.labels, 0)

    @staticmethod
    def extend(relation: Any, state: State, new: Sequence[Hashable]) -> Levels:
        levels: Levels = state.sharing.extend(state.model.sharing, len(state.tasks), new, state.rounds)
        return levels

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

    @staticmethod
    def top(state: State) -> float:
        """max_i M_ii."""
        return float(ByLevels.diagonal(state, np.arange(len(state.tasks))).max(initial=0.0))


class ByColumns(_Still, Columnwise):
    """A relation that gives columns of M."""

    @staticmethod
    def start(relation: Any, tasks: Sequence[Hashable], features: int, length: int | None) -> tuple[Index, Any, Any]:
        known = Index(relation.known_tasks)
        refuse_unknown(relation, known, tasks)
        cache = column_cache(relation.source())
        return known, cache, cache.columns

    @staticmethod
    def extend(relation: Any, state: State, new: Sequence[Hashable]) -> Any:
        return state.model.sharing

    @staticmethod
    def lean(sharing: Any) -> Any:
        return Columns(np.zeros((0, 0)), np.zeros(0, np.int64))

    @staticmethod
    def rebound(relation: Any, sharing: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        cache = column_cache(relation.source())
        return cache, cache.columns

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

    @staticmethod
    def top(state: State) -> float:
        """max_i M_ii."""
        return float(state.sharing.source.max_diagonal())


class ByLearning:
    """A relation that is learned from what the support vectors say of the tasks."""

    @staticmethod
    def start(
        relation: Any, tasks: Sequence[Hashable], features: int, length: int | None
    ) -> tuple[Index, None, Taught]:
        index = Index(tasks)
        state = relation.begin(index.labels, features, length)
        return index, None, Taught(np.zeros((0, len(index))), np.zeros(0, bool), np.zeros((0, 0)), state)

    @staticmethod
    def extend(relation: Any, state: State, new: Sequence[Hashable]) -> Taught:
        held: Taught = state.model.sharing
        tasks = [*state.tasks.labels, *new]
        grown = relation.grow(held.relation, tasks, state.features)
        return held._replace(columns=np.pad(held.columns, ((0, 0), (0, len(new)))), relation=grown)

    @staticmethod
    def roomy(model: Expansion, evicts: bool) -> Expansion:
        held: Taught = model.sharing
        more = len(model.support.tasks) - len(held.taken)
        if more <= 0:
            return model
        among = np.pad(held.among, (0, more)) if evicts else held.among
        columns = np.pad(held.columns, ((0, more), (0, 0)))
        return model._replace(sharing=held._replace(columns=columns, taken=np.pad(held.taken, (0, more)), among=among))

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        check_size(relation, len(state.tasks) + len(new))

    @staticmethod
    def ghosts(state: State, tasks: Sequence[Hashable]) -> Taught:
        held: Taught = state.model.sharing
        return held._replace(columns=np.zeros((len(held.columns), len(tasks))))

    @staticmethod
    def skip(state: State, rounds: int) -> None:
        state.model.sharing.relation.start.clock[0] += rounds

    @staticmethod
    def inform(state: State, chance: Any) -> None:
        renew(chance, state.model.sharing)

    @staticmethod
    def notice(relation: Any, state: State) -> None:
        tell_outgrown(relation, state.model.sharing.relation.status)

    @staticmethod
    def lean(sharing: Taught) -> Taught:
        return sharing

    @staticmethod
    def rebound(relation: Any, sharing: Taught, tasks: Sequence[Hashable]) -> tuple[None, Taught]:
        return None, sharing

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> NDArray[np.float64]:
        M = matrix_of(state.model.sharing.relation)
        return M if among is None else M[np.ix_(among, among)]


FORMS: dict[str | None, Any] = {
    "levels": ByLevels,
    "repelling levels": ByLevels,
    "columns": ByColumns,
    "learned": ByLearning,
}


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
