"""Relations bound to models that read them by pairs of tasks, such as support vectors: M_ij for two records' tasks.

:class:`PairBinding` and :class:`FixedPairBinding` are the contract, beside :class:`coterie.bindings.Binding`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie.bindings import (
    NO_GROUPS,
    Binding,
    Columnwise,
    Learning,
    Nested,
    refuse_others,
    refuse_unknown,
    warn_if_outgrown,
)
from coterie.index import Index
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.dual.expansion import SIZE, Expansion
from coterie.numeric.dual.learned_dual import Gathering, Taught
from coterie.numeric.primal.asking import renew
from coterie.numeric.primal.grouped import Levels
from coterie.numeric.primal.learned_relations import pass_rounds
from coterie.numeric.primal.spread import no_columns
from coterie.numeric.views.tasks import SpectralRelation
from coterie.relations.cache import column_cache
from coterie.relations.groups import GroupIndex
from coterie.relations.learned import matrix_of
from coterie.state import State

Codes = NDArray[np.int64]
Matrix = NDArray[np.float64]


class PairBinding(Binding, Protocol):
    """A relation bound to a model with a field ``sharing``, from which M is read by pairs of tasks."""

    def start(
        self, relation: Any, tasks: Sequence[Hashable], features: int, length: int | None
    ) -> tuple[Index, Any, Any]:
        """Make the index of tasks, what the state keeps of the relation, and ``sharing``."""

    def extend(self, relation: Any, state: State, new: Sequence[Hashable]) -> Any:
        """Give the ``sharing`` with room for new tasks."""

    def unseen_task_model(self, state: State, tasks: Sequence[Hashable]) -> Any:
        """Return the ``sharing`` of tasks that nobody has seen; ValueError if the relation allows no new tasks."""

    def drop_tasks(self, state: State, dropped: Dropped) -> Codes:
        """Drop tasks of the state and of its ``sharing``; returns the groups that have no task any more."""

    def to_saved(self, state: State) -> Any:
        """Return the ``sharing`` without unused room and without arrays that can be computed again."""

    def from_saved(self, relation: Any, sharing: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        """Undo :meth:`to_saved`: what the state keeps of the relation, and ``sharing``."""

    def blank(self, relation: Any) -> Any:
        """Return the ``sharing`` of no task as it would be saved, of the named tuples that these parameters lead to."""

    def check_slots(self, model: Expansion, evicts: bool) -> None:
        """Refuse a ``sharing`` for other support vectors than the model has: ValueError."""

    def with_room(self, model: Expansion, evicts: bool) -> Expansion:
        """Make room in the ``sharing`` for as many support vectors as the model has room for."""

    def paths(self, sharing: Any) -> Codes | None:
        """Give the groups of each task, one column a level; None where there are none."""

    def skip(self, state: State, rounds: int) -> None:
        """End rounds that have no labels."""

    def inform(self, state: State, chance: Any) -> None:
        """Update what the chance of asking has stored of a learned relation."""


class FixedPairBinding(PairBinding, Protocol):
    """A fixed relation bound to such a model: M can be written out at any time."""

    def group_weights(self, sharing: Any) -> NDArray[np.float64]:
        """Give the weight of every group that has tasks, which may change as tasks arrive."""

    def between(self, state: State, tasks: Codes, others: Codes) -> Matrix:
        """Write out M for pairs of known tasks."""

    def diagonal(self, state: State, tasks: Codes) -> NDArray[np.float64]:
        """Write out M_ii of known tasks."""

    def unseen(self, state: State, tasks: Sequence[Hashable], others: Codes) -> tuple[Matrix, NDArray[np.float64]]:
        """Write out M between tasks nobody has seen and known ones, and what M_ii would be for the former."""

    def top(self, state: State) -> float:
        """Give max_i M_ii."""


class _Fixed:
    """The base of bindings of fixed relations: nothing about them changes with rounds or support vectors."""

    @staticmethod
    def check_slots(model: Expansion, evicts: bool) -> None:
        """Accept any: nothing is kept of support vectors."""

    @staticmethod
    def with_room(model: Expansion, evicts: bool) -> Expansion:
        return model

    @staticmethod
    def skip(state: State, rounds: int) -> None:
        """Do nothing: nothing depends on the number of rounds."""

    @staticmethod
    def inform(state: State, chance: Any) -> None:
        """Do nothing: no chance of asking depends on a fixed relation."""


class ByLevels(_Fixed, Nested):
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
    def unseen_task_model(state: State, tasks: Sequence[Hashable]) -> Levels:
        levels: Levels = state.sharing.unseen_task_model(state.model.sharing, tasks)
        return levels

    @staticmethod
    def drop_tasks(state: State, dropped: Dropped) -> Codes:
        tasks = [state.tasks.sequence[i] for i in dropped.rows.tolist()]
        empty: Codes = state.sharing.drop(state.model.sharing, dropped, tasks, state.rounds)
        state.tasks.drop(dropped)
        return empty

    @staticmethod
    def to_saved(state: State) -> Levels:
        levels: Levels = state.model.sharing
        return levels.to_saved(len(state.sharing), len(state.tasks))

    @staticmethod
    def from_saved(relation: Any, sharing: Levels, tasks: Sequence[Hashable]) -> tuple[GroupIndex, Levels]:
        return GroupIndex.restored(relation, tasks, sharing), sharing

    @staticmethod
    def blank(relation: Any) -> Levels:
        return GroupIndex(relation).empty()

    @staticmethod
    def paths(sharing: Levels) -> Codes | None:
        """Give the groups of each task, one column a level."""
        return np.asarray(sharing.paths)

    @staticmethod
    def group_weights(sharing: Levels) -> NDArray[np.float64]:
        return np.asarray(sharing.weight[sharing.members > 0])

    @staticmethod
    def between(state: State, tasks: Codes, others: Codes) -> Matrix:
        """Write out M for pairs of known tasks: O(levels) each."""
        levels = state.model.sharing
        own = np.where(tasks[:, None] == others, levels.own[tasks][:, None], 0.0)
        return own + _common(levels, levels.paths[tasks], levels.paths[others])

    @staticmethod
    def diagonal(state: State, tasks: Codes) -> NDArray[np.float64]:
        levels = state.model.sharing
        return np.asarray(levels.own[tasks] + _held(levels, levels.paths[tasks]))

    @staticmethod
    def unseen(state: State, tasks: Sequence[Hashable], others: Codes) -> tuple[Matrix, NDArray[np.float64]]:
        relation, unseen = state.sharing.relation, ByLevels.unseen_task_model(state, tasks)
        own = np.array([relation.own(len(relation.path(task))) for task in tasks])
        rows = _common(unseen, unseen.paths, state.model.sharing.paths[others])
        return rows, own + _held(unseen, unseen.paths)

    @staticmethod
    def top(state: State) -> float:
        return float(ByLevels.diagonal(state, np.arange(len(state.tasks))).max(initial=0.0))


class ByColumns(_Fixed, Columnwise):
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
    def drop_tasks(state: State, dropped: Dropped) -> Codes:
        """Drop nothing: the relation names its tasks."""
        return NO_GROUPS

    @staticmethod
    def to_saved(state: State) -> Any:
        return no_columns()

    @staticmethod
    def from_saved(relation: Any, sharing: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        refuse_others(relation, tasks)
        cache = column_cache(relation.source())
        return cache, cache.columns

    @staticmethod
    def blank(relation: Any) -> Any:
        return no_columns()

    @staticmethod
    def paths(sharing: Any) -> Codes | None:
        """Give None: tasks are in no groups."""
        return None

    @staticmethod
    def group_weights(sharing: Any) -> NDArray[np.float64]:
        """Give no weights: tasks are in no groups."""
        return np.zeros(0)

    @staticmethod
    def between(state: State, tasks: Codes, others: Codes) -> Matrix:
        """Write out M for pairs of known tasks: one column for each of ``tasks``."""
        M = np.zeros((len(tasks), len(others)))
        for i in np.unique(tasks):
            M[tasks == i] = _entries(state.sharing.source.column(int(i)), others)
        return M

    @staticmethod
    def diagonal(state: State, tasks: Codes) -> NDArray[np.float64]:
        """Write out M_ii of known tasks: one column for each."""
        M = np.zeros(len(tasks))
        for i in np.unique(tasks):
            M[tasks == i] = _entries(state.sharing.source.column(int(i)), np.array([i]))[0]
        return M

    @staticmethod
    def unseen(state: State, tasks: Sequence[Hashable], others: Codes) -> tuple[Matrix, NDArray[np.float64]]:
        """Refuse tasks that nobody has seen, which a relation by columns does not have: ValueError."""
        made: tuple[Matrix, NDArray[np.float64]] = ByColumns.unseen_task_model(state, tasks)
        return made

    @staticmethod
    def top(state: State) -> float:
        return float(state.sharing.source.max_diagonal())


class ByLearning(Learning):
    """A relation that is learned from the support vectors of the tasks."""

    @staticmethod
    def start(
        relation: Any, tasks: Sequence[Hashable], features: int, length: int | None
    ) -> tuple[Index, None, Taught]:
        index = Index(tasks)
        state = relation.begin(index.labels, features, length)
        return index, None, _taught(state, len(index))

    @staticmethod
    def extend(relation: Any, state: State, new: Sequence[Hashable]) -> Taught:
        held: Taught = state.model.sharing
        tasks = [*state.tasks.labels, *new]
        made = held.with_tasks(relation.grow(held.relation, tasks, state.features), len(tasks))
        Learning.rescale(made, relation, held.relation, made.relation)
        return made

    @staticmethod
    def with_room(model: Expansion, evicts: bool) -> Expansion:
        return model._replace(sharing=model.sharing.with_room(len(model.support.tasks), evicts))

    @staticmethod
    def paths(sharing: Taught) -> Codes | None:
        """Give None: tasks are in no groups."""
        return None

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        relation.check_size(len(state.tasks) + len(new))

    @staticmethod
    def unseen_task_model(state: State, tasks: Sequence[Hashable]) -> Taught:
        held: Taught = state.model.sharing
        return held.unseen(len(tasks))

    @staticmethod
    def skip(state: State, rounds: int) -> None:
        pass_rounds(state.model.sharing.relation, rounds)

    @staticmethod
    def inform(state: State, chance: Any) -> None:
        renew(chance, state.model.sharing)

    @staticmethod
    def warn_if_frozen(relation: Any, state: State) -> None:
        warn_if_outgrown(relation, state.model.sharing.relation.status)

    @staticmethod
    def drop_tasks(state: State, dropped: Dropped) -> Codes:
        """Refuse: what a relation has learned of support vectors cannot be taken out again.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            "a kernel model with a learned relation cannot forget a task: its support vectors have taught the relation"
        )

    @staticmethod
    def to_saved(state: State) -> Taught:
        held: Taught = state.model.sharing
        return held.to_saved(state.model.size)

    @staticmethod
    def from_saved(relation: Any, sharing: Taught, tasks: Sequence[Hashable]) -> tuple[None, Taught]:
        relation.check_size(len(tasks))
        return None, sharing

    @staticmethod
    def blank(relation: Any) -> Taught:
        return _taught(relation.blank(), 0)

    @staticmethod
    def check_slots(model: Expansion, evicts: bool) -> None:
        slots, n = len(model.support.tasks), int(model.support.counts[SIZE])
        model.sharing.check_slots(slots, n, evicts)

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> NDArray[np.float64]:
        M = matrix_of(state.model.sharing.relation)
        return M if among is None else M[np.ix_(among, among)]


def _taught(relation: Any, tasks: int) -> Taught:
    """Make no support vectors, beside the state of a relation that moves are spread by, or are read by."""
    kind = Gathering if type(relation) is SpectralRelation else Taught
    return kind.empty(relation, tasks)


_LEVELS, _COLUMNS = ByLevels(), ByColumns()

#: The binding of each form of relation that is given,
FIXED_FORMS: Mapping[str, FixedPairBinding] = {"levels": _LEVELS, "repelling levels": _LEVELS, "columns": _COLUMNS}
#: and of every form.
FORMS: Mapping[str, PairBinding] = {**FIXED_FORMS, "learned": ByLearning()}


def _common(levels: Levels, paths: Codes, others: Codes) -> Matrix:
    """Sum the weights of the groups that two tasks have in common."""
    weight = np.append(levels.weight, 0.0)
    M = np.zeros((len(paths), len(others)))
    for groups, theirs in zip(paths.T, others.T, strict=True):
        M += np.where((groups[:, None] == theirs) & (theirs >= 0), weight[theirs], 0.0)
    return M


def _held(levels: Levels, paths: Codes) -> NDArray[np.float64]:
    """Sum the weights of all groups of each task."""
    weight = np.append(levels.weight, 0.0)
    return np.asarray(weight[np.where(paths < 0, len(levels.weight), paths)].sum(axis=1))


def _entries(column: tuple[Codes, NDArray[np.float64]], tasks: Codes) -> NDArray[np.float64]:
    rows, values = column
    place = np.minimum(np.searchsorted(rows, tasks), len(rows) - 1)
    return np.where(rows[place] == tasks, values[place], 0.0)
