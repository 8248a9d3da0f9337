"""How each form of relation is bound to support vectors: what a learner keeps of it, makes room for, and saves."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.bindings import refuse_unknown, tell_outgrown
from coterie.numeric.expansion import Expansion
from coterie.numeric.models import Columns, Levels
from coterie.numeric.taught import Taught
from coterie.relations.cache import column_cache
from coterie.relations.groups import GroupIndex
from coterie.relations.learned import check_size, matrix_of
from coterie.state import State
from coterie.views import Index


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


class ByLevels(_Still):
    """How a relation of nested groups is bound to support vectors."""

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
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> NDArray[np.float64]:
        return np.asarray(relation.relation_matrix(state.tasks.labels, among))

    @staticmethod
    def top(state: State) -> float:
        levels = state.model.sharing
        n = len(state.tasks)
        weight = np.append(levels.weight, 0.0)
        paths = levels.paths[:n]
        held = weight[np.where(paths < 0, len(levels.weight), paths)].sum(axis=1)
        return float((levels.own[:n] + held).max(initial=0.0))

    @staticmethod
    def among(state: State, tasks: NDArray[np.int64]) -> NDArray[np.float64]:
        levels = state.model.sharing
        M = np.where(tasks[:, None] == tasks, levels.own[tasks], 0.0)
        for groups in levels.paths[tasks].T:
            same = (groups[:, None] == groups) & (groups >= 0)
            M += np.where(same, np.append(levels.weight, 0.0)[groups], 0.0)
        return np.asarray(M)


class ByColumns(_Still):
    """How a relation that gives columns of M is bound to support vectors."""

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
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        refuse_unknown(relation, state.tasks, new)

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
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> NDArray[np.float64]:
        return np.asarray(relation.relation_matrix(None if among is None else [state.tasks.labels[i] for i in among]))

    @staticmethod
    def top(state: State) -> float:
        return float(state.sharing.source.max_diagonal())

    @staticmethod
    def among(state: State, tasks: NDArray[np.int64]) -> NDArray[np.float64]:
        M = np.zeros((len(tasks), len(tasks)))
        for i in np.unique(tasks):
            rows, values = state.sharing.source.column(int(i))
            place = np.minimum(np.searchsorted(rows, tasks), len(rows) - 1)
            M[tasks == i] = np.where(rows[place] == tasks, values[place], 0.0)
        return M


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
