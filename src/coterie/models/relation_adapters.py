"""Adapters between relations and models, one for each form of M = A⁻¹: nested groups, columns, or learned.

A :class:`RelationAdapter` supplies the field ``sharing`` of a model, from which M is read. The adapter makes and
changes models of weights; other models, such as those of support vectors, read M for pairs of tasks.

A state has the index of all tasks and room for the first ``known`` of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from coterie import spec
from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.checks import Bounds
from coterie._compiled.primal.grouped import NO_ARRIVALS, Arrivals, Levels, count_arrivals
from coterie._compiled.primal.round import Extent, Model
from coterie._compiled.primal.spread import no_columns
from coterie.tasks.index import Index
from coterie.tasks.relations.groups import GroupIndex
from coterie.tasks.relations.interaction import column_cache
from coterie.tasks.relations.learned import matrix_of
from coterie.tasks.relations.levels import Pooled
from coterie.types import Codes, Floats, Matrix, Part, Tree
from coterie.wording import warn

from .contract import InputShape
from .state import State

NO_GROUPS = np.zeros(0, np.int64)


def require_fit(hypothesis: Part, fits: bool, what: str, part: str, kinds: Sequence[str]) -> None:
    """Raise TypeError, listing the supported kinds, if weights (``hypothesis``) do not support another part."""
    if not fits:
        raise TypeError(f"{type(hypothesis).__name__} cannot {what}; it needs {part} by {' or '.join(kinds)}")


class RelationAdapter(ABC):
    """Base class of adapters, which connect a relation with the state of a model and change that in place."""

    def __init__(self, hypothesis: Part, relation: Part) -> None:
        self.hypothesis, self.relation = hypothesis, relation

    @abstractmethod
    def refuse(self, state: State, new: Sequence[Hashable]) -> None:
        """Raise ValueError, naming the first task of ``new``, if the relation does not allow new tasks."""

    @abstractmethod
    def relation_matrix(self, state: State, among: Sequence[int] | None) -> Matrix:
        """Return the relation matrix A⁻¹ in the paper's scaling, of all tasks or of the task numbers ``among``."""

    @abstractmethod
    def share(self, state: State) -> Floats:
        """Return for each task the fraction of its updates that is shared, from 0 to 1."""

    def warn_if_frozen(self, state: State) -> None:
        """Warn once if a learned relation has exceeded its limit and is no longer updated."""
        return

    def bounds(self, state: State) -> Bounds:
        """Return the numbers of tasks, groups, features and rounds, to check the indices of a restored model."""
        return Bounds(state.known, 0, state.features, state.rounds)

    # -- the field ``sharing``

    @abstractmethod
    def begin(self, tasks: Index, features: int, length: int | None) -> tuple[Tree, Tree]:
        """Return the initial state of the relation, and ``sharing``, the arrays from which compiled code reads M."""

    @abstractmethod
    def blank(self) -> Tree:
        """Return the arrays ``sharing`` without tasks, to check the types of a file."""

    @abstractmethod
    def restore(self, sharing: Tree, tasks: Index) -> tuple[Tree, Tree]:
        """Return the state of the relation, and ``sharing``, for the arrays ``sharing`` of a file."""

    def extend(self, state: State, tasks: int) -> Tree:
        """Return the arrays ``sharing`` resized for the first ``tasks`` tasks."""
        return state.model.sharing

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> Codes:
        """Remove ``tasks`` from the arrays ``sharing``; return the numbers of groups left without tasks."""
        return NO_GROUPS

    def unseen_sharing(self, state: State, tasks: Sequence[Hashable]) -> Tree:
        """Return the arrays ``sharing`` for unseen tasks; raise ValueError if the relation allows no new tasks."""
        return state.model.sharing

    def paths(self, sharing: Tree) -> Codes | None:
        """Return the numbers of the groups of each task, one column per level; None for relations without groups."""
        return None

    def group_weights(self, sharing: Tree) -> Floats:
        """Return the weight in M of every group that has tasks. It may change when tasks are added."""
        return np.zeros(0)

    # -- models of weights

    def count_rows(self, sharing: Tree, tasks: int) -> tuple[int, int]:
        """Return the numbers of rows that the tables of weights need for groups and for tasks."""
        return 0, tasks

    def model(self, sharing: Tree, groups: int, tasks: int, features: int, dense: bool) -> Model:
        """Create a model with tables of this many rows for groups and for tasks."""
        model: Model = self.hypothesis.make_model(self.relation.form, sharing, groups, tasks, features, dense)
        return model

    def start(self, tasks: Index, size: InputShape, length: int | None) -> State:
        """Return the initial state of a linear learner."""
        own, sharing = self.begin(tasks, size.features, length)
        model = self.model(sharing, *self.count_rows(own, len(tasks)), size.features, size.dense)
        return State(model, tasks, own, size.features, size.dense, len(tasks))

    def resize(self, state: State, tasks: int, features: int, counted: bool) -> None:
        """Resize the state for ``tasks`` tasks and more features; on an error it is unchanged."""
        state.model = state.model.fit(self.hypothesis.tables.fit, 0, tasks, features, state.dense)
        state.features = features

    def drop_weights(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Remove the own weights of tasks; the tasks with the largest numbers get the free numbers."""
        empty = self.drop(state, dropped, tasks)
        state.replace_model(state.model.drop_tasks(dropped, empty))

    def make_room(self, state: State, i: int, entries: int) -> None:
        """Prepare a record of task i with this many entries: compute its column of M, or allocate its weights."""
        state.model = state.model.make_room(i, entries)

    def unseen_task_model(self, state: State, tasks: Sequence[Hashable]) -> Model:
        """Return a model that predicts for unseen tasks; raise ValueError if the relation allows no new tasks."""
        model: Model = state.model.unseen_task_model(len(tasks), self.unseen_sharing(state, tasks))
        return model

    def extent(self, state: State) -> Extent:
        """Return the sizes of the used part of the model's arrays, without unused capacity."""
        return Extent(*self.count_rows(state.sharing, state.known), state.known, state.features)


class LevelAdapter(RelationAdapter):
    """Adapter of relations between tasks in nested groups."""

    def refuse(self, state: State, new: Sequence[Hashable]) -> None:
        for task in new[:1] if self.relation.alike else new:
            self.relation.path(task)

    def relation_matrix(self, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(self.relation.relation_matrix(state.labels, among))

    def bounds(self, state: State) -> Bounds:
        K = state.known
        return Bounds(K, len(state.sharing), state.features, state.rounds, state.model.sharing.paths[:K])

    def begin(self, tasks: Index, features: int, length: int | None) -> tuple[GroupIndex, Levels]:
        groups = GroupIndex(self.relation)
        return groups, groups.extend(groups.empty(), 0, tasks.sequence, 0)

    def blank(self) -> Levels:
        return GroupIndex(self.relation).empty()

    def restore(self, sharing: Levels, tasks: Index) -> tuple[GroupIndex, Levels]:
        return GroupIndex.restored(self.relation, tasks.labels, sharing), sharing

    def to_saved(self, state: State) -> Levels:
        """Return the arrays ``sharing`` without unused capacity."""
        levels: Levels = state.model.sharing
        return levels.to_saved(len(state.sharing), state.known)

    def extend(self, state: State, tasks: int) -> Levels:
        new = state.tasks.labels[state.known : tasks]
        levels: Levels = state.sharing.extend(state.model.sharing, state.known, new, state.rounds)
        return levels

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> Codes:
        count_all(state)
        return np.asarray(state.sharing.drop(state.model.sharing, dropped, tasks, state.rounds))

    def unseen_sharing(self, state: State, tasks: Sequence[Hashable]) -> Levels:
        levels: Levels = state.sharing.unseen_task_model(state.model.sharing, tasks)
        return levels

    def count_rows(self, sharing: GroupIndex, tasks: int) -> tuple[int, int]:
        return len(sharing), tasks if self.relation.specific else 1

    def resize(self, state: State, tasks: int, features: int, counted: bool) -> None:
        """Add new tasks to their groups.

        Unless ``counted``, compiled code counts each task as a group member at its first record.
        """
        model: Model = state.model
        levels, new, arrivals = model.sharing, state.tasks.sequence[state.known : tasks], state.coming
        if len(new):
            count_all(state)
            if counted:
                levels, arrivals = state.sharing.extend(levels, state.known, new, state.rounds), NO_ARRIVALS
            else:
                levels, arrivals = state.sharing.expect(levels, state.known, new, state.rounds)
        model = model if levels is model.sharing else model.with_sharing(levels)
        rows = self.count_rows(state.sharing, tasks)
        try:
            state.replace_model(model.fit(self.hypothesis.tables.fit, *rows, features, state.dense))
        except MemoryError:
            if counted:  # as members of their groups
                state.sharing.drop(levels, Dropped.plan(range(state.known, tasks), tasks), new, state.rounds)
            raise
        state.known, state.features, state.coming = tasks, features, arrivals

    def share(self, state: State) -> Floats:
        levels = state.model.sharing
        own, shared = levels.own[: state.known], _group_weight(levels, levels.paths[: state.known])
        # M_ij / M_ii for a task of the same groups
        return np.asarray(shared / (own + shared))

    def paths(self, sharing: Levels) -> Codes | None:
        return np.asarray(sharing.paths)

    def group_weights(self, sharing: Levels) -> Floats:
        return np.asarray(sharing.weight[sharing.members > 0])

    def between(self, state: State, tasks: Codes, others: Codes) -> Matrix:
        """Return M for pairs of known tasks, shape (len(tasks), len(others)), at O(levels) for each pair."""
        levels = state.model.sharing
        # only the diagonal of M has a task's own weight
        own = np.where(tasks[:, None] == others, levels.own[tasks][:, None], 0.0)
        return own + _common_weight(levels, levels.paths[tasks], levels.paths[others])

    def diagonal(self, state: State, tasks: Codes) -> Floats:
        """Return the diagonal entries of M for known tasks."""
        levels = state.model.sharing
        return np.asarray(levels.own[tasks] + _group_weight(levels, levels.paths[tasks]))

    def unseen(self, state: State, tasks: Sequence[Hashable], others: Codes) -> tuple[Matrix, Floats]:
        """Return M between unseen ``tasks`` and known ``others``, and the diagonal entries of the unseen ones."""
        unseen = self.unseen_sharing(state, tasks)
        rows = _common_weight(unseen, unseen.paths, state.model.sharing.paths[others])
        return rows, state.sharing.unlearned_weights(tasks) + _group_weight(unseen, unseen.paths)

    def top(self, state: State) -> float:
        """Return the largest diagonal entry of M."""
        return float(self.diagonal(state, np.arange(state.known)).max(initial=0.0))


class InterceptAdapter(LevelAdapter):
    """Adapter of a common model with an intercept per task: a single group, and one own weight per task."""

    def relation_matrix(self, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(Pooled().relation_matrix(state.labels, among))

    def share(self, state: State) -> Floats:
        return np.ones(state.known)


class ColumnAdapter(RelationAdapter):
    """Adapter of relations that list all tasks and compute M column by column."""

    def refuse(self, state: State, new: Sequence[Hashable]) -> None:
        known = state.tasks
        for task in new:
            if task not in known.numbers:
                shown = ", ".join(map(repr, known.labels[:5]))
                raise ValueError(
                    f"task {task!r} is unknown to {type(self.relation).__name__}, whose tasks are {shown} ..."
                )

    def relation_matrix(self, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(self.relation.relation_matrix(None if among is None else [state.labels[i] for i in among]))

    def begin(self, tasks: Index, features: int, length: int | None) -> tuple[Tree, Tree]:
        if tasks.labels != list(self.relation.known_tasks):
            raise ValueError(f"the tasks are not those of its {type(self.relation).__name__}")
        cache = column_cache(self.relation.source())
        return cache, cache.columns

    def blank(self) -> Tree:
        return no_columns()

    def restore(self, sharing: Tree, tasks: Index) -> tuple[Tree, Tree]:
        return self.begin(tasks, 0, None)

    def to_saved(self, state: State) -> Tree:
        """Return the arrays ``sharing`` without the columns of M, which can be recomputed."""
        return no_columns()

    def unseen_sharing(self, state: State, tasks: Sequence[Hashable]) -> Tree:
        raise ValueError(f"task {tasks[0]!r} is not among the tasks of the relation")

    def share(self, state: State) -> Floats:
        return mean_share(np.asarray(self.relation.relation_matrix()))

    def make_room(self, state: State, i: int, entries: int) -> None:
        if state.sharing.columns.slot[i] < 0:
            state.sharing.fetch(i)
            state.model = state.model.with_sharing(state.sharing.columns)
        super().make_room(state, i, entries)

    def between(self, state: State, tasks: Codes, others: Codes) -> Matrix:
        """Return M for pairs of known tasks, shape (len(tasks), len(others)), from one column of M per task."""
        M = np.zeros((len(tasks), len(others)))
        for i in np.unique(tasks):
            M[tasks == i] = _select_entries(state.sharing.source.column(int(i)), others)
        return M

    def diagonal(self, state: State, tasks: Codes) -> Floats:
        """Return the diagonal entries of M for known tasks, from one column of M per task."""
        M = np.zeros(len(tasks))
        for i in np.unique(tasks):
            M[tasks == i] = _select_entries(state.sharing.source.column(int(i)), np.array([i]))[0]
        return M

    def unseen(self, state: State, tasks: Sequence[Hashable], others: Codes) -> tuple[Matrix, Floats]:
        """Raise ValueError: these relations list all tasks, so none is unseen."""
        unseen: tuple[Matrix, Floats] = self.unseen_sharing(state, tasks)
        return unseen

    def top(self, state: State) -> float:
        """Return the largest diagonal entry of M."""
        return float(state.sharing.source.max_diagonal())


class LearnedAdapter(RelationAdapter):
    """Adapter of relations that are learned from the weights of all tasks."""

    #: True if the rule goes by signs, so that a change of A_0 = I/K rescales the updates so far.
    by_sign: bool = False

    def refuse(self, state: State, new: Sequence[Hashable]) -> None:
        self.relation.check_size(state.known + len(new))

    def relation_matrix(self, state: State, among: Sequence[int] | None) -> Matrix:
        M = matrix_of(state.model.sharing)
        return M if among is None else M[np.ix_(among, among)]

    def warn_if_frozen(self, state: State) -> None:
        status, relation = state.model.sharing.status, self.relation
        if status[0] == 1:
            status[0] = 2
            warn(
                f"{relation!r} outgrew its limit in round {status[1]} and is kept as it was before: {relation.remedy}",
                RuntimeWarning,
            )

    def begin(self, tasks: Index, features: int, length: int | None) -> tuple[None, Tree]:
        return None, self.relation.begin(tasks.labels, features, length)

    def blank(self) -> Tree:
        return self.relation.blank()

    def restore(self, sharing: Tree, tasks: Index) -> tuple[None, Tree]:
        self.relation.check_size(len(tasks))
        return None, sharing

    def resize(self, state: State, tasks: int, features: int, counted: bool) -> None:
        """Add tasks or features. If A_0 = I/K, earlier updates are rescaled to the new number K of tasks.

        New tasks are counted one after the other, so that the result does not depend on the batches.
        """
        before = state.model.sharing
        after = self.relation.resize(before, state.tasks.labels[:tasks], features)
        state.model = state.model.fit(self.hypothesis.tables.fit, 0, tasks, features, state.dense).with_sharing(after)
        old = before.first
        # signs do not see a factor of all updates, but later updates under another A_0 must be on one scale with them
        if self.by_sign and after.first != old:
            for n_tasks in range(len(before.inverse) + 1, len(after.inverse) + 1):
                new = self.relation.first(n_tasks)
                state.model.rescale(new, old)
                after.rescale(new, old)
                old = new
        state.known, state.features = tasks, features

    def drop_weights(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        model = state.model.drop_tasks(dropped, NO_GROUPS)
        left = model.sharing.select(dropped.order)
        state.model = model.with_sharing(self.relation.resize(left, state.tasks.labels, state.features))

    def make_room(self, state: State, i: int, entries: int) -> None:
        """Do nothing: all weights and all columns of M are in memory."""

    def share(self, state: State) -> Floats:
        return mean_share(matrix_of(state.model.sharing))


#: The adapter of each form of relation.
_ADAPTERS: Mapping[str, type[RelationAdapter]] = {
    "levels": LevelAdapter,
    "repelling levels": LevelAdapter,
    "intercepts": InterceptAdapter,
    "columns": ColumnAdapter,
    "learned": LearnedAdapter,
}


def adapt_relation(hypothesis: Part, relation: Part) -> Any:
    """Return the adapter of a relation for these weights; raise TypeError, naming both, if they cannot be combined."""
    spec.require_part("relation", relation, "HalfUpdate()")
    form = getattr(relation, "form", None)
    require_fit(hypothesis, form in hypothesis.forms, f"learn under {relation!r}", "a relation", hypothesis.forms)
    return _ADAPTERS[str(form)](hypothesis, relation)


def count_all(state: State) -> None:
    """Count all tasks of a state as members of their groups, including those without records."""
    if state.coming is not NO_ARRIVALS:
        count_arrivals(state.coming._replace(rounds=state.rounds), state.known - 1, 0)
        state.coming = NO_ARRIVALS


def arrivals_of(state: State, early: Codes) -> Arrivals:
    """Return the new tasks that compiled code must still count; the first ``early`` records are already counted."""
    if state.coming.counted[0] >= state.known:
        state.coming = NO_ARRIVALS
    else:
        state.coming = state.coming._replace(rounds=state.rounds)
        count_arrivals(state.coming, early.max(initial=-1), 0)
    arrivals: Arrivals = state.coming
    return arrivals


def _common_weight(levels: Levels, paths: Codes, others: Codes) -> Matrix:
    """Return for pairs of tasks, given by their ``paths`` of groups, the sum of the weights of their common groups."""
    weight = np.append(levels.weight, 0.0)
    M = np.zeros((len(paths), len(others)))
    for groups, theirs in zip(paths.T, others.T, strict=True):
        M += np.where((groups[:, None] == theirs) & (theirs >= 0), weight[theirs], 0.0)
    return M


def _group_weight(levels: Levels, paths: Codes) -> Floats:
    """Return for each task, given by its path of groups, the sum of the weights of its groups."""
    weight = np.append(levels.weight, 0.0)
    return np.asarray(weight[np.where(paths < 0, len(levels.weight), paths)].sum(axis=1))


def _select_entries(column: tuple[Codes, Floats], tasks: Codes) -> Floats:
    rows, values = column
    # entries not stored in a sparse column are 0
    place = np.minimum(np.searchsorted(rows, tasks), len(rows) - 1)
    return np.where(rows[place] == tasks, values[place], 0.0)


def mean_share(M: Matrix) -> Floats:
    """Return for each task the mean entry of its row of M, without the diagonal, with M scaled to a unit diagonal."""
    own = np.diag(M)
    scale = np.sqrt(np.where(own > 0.0, own, 1.0))  # a task without updates may share nothing, not even with itself
    return np.asarray((np.abs(M / scale / scale[:, None]).sum(axis=1) - (own > 0.0)) / max(len(M) - 1, 1))
