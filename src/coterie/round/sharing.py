"""Relations bound to learners by the form in which M comes: by levels, by columns, or learned.

A :class:`Binding` supplies the field ``sharing`` of a model, from which M is read. A model of weights is made and
changed by the binding; other models, such as those of support vectors, read M for pairs of tasks.

A state has the index of all tasks, ``known`` of which it has room for.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.index import Index
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.checks import Bounds
from coterie.numeric.primal.grouped import NO_ARRIVALS, Arrivals, Levels, count_arrivals
from coterie.numeric.primal.round import Extent, Model
from coterie.numeric.primal.rules import goes_by_sign
from coterie.numeric.primal.spread import no_columns
from coterie.relations.groups import GroupIndex
from coterie.relations.interaction import column_cache
from coterie.relations.learned import matrix_of
from coterie.relations.levels import Pooled
from coterie.state import State
from coterie.types import Codes, Matrix
from coterie.wording import stack_level

from .contract import InputShape

NO_GROUPS = np.zeros(0, np.int64)


class JoinedLearner(Protocol):
    """Anything with a hypothesis and a relation under which it can be learned, such as a learner."""

    hypothesis: Any
    relation: Any
    rule: Any


def form_for(hypothesis: Any, relation: Any) -> str:
    """The form by which a hypothesis learns under a relation; TypeError naming both if there is none."""
    spec.require_part("relation", relation, "HalfUpdate()")
    form = getattr(relation, "form", None)
    require_fit(hypothesis, form in hypothesis.forms, f"learn under {relation!r}", "a relation", hypothesis.forms)
    return str(form)


def require_fit(hypothesis: Any, fits: bool, what: str, part: str, kinds: Sequence[str]) -> None:
    """Refuse a part that does not go with a hypothesis: TypeError naming what was needed."""
    if not fits:
        raise TypeError(f"{type(hypothesis).__name__} cannot {what}: it needs {part} by {' or '.join(kinds)}")


class Binding(Protocol):
    """A form of relation, whatever the relation; a state is changed in place."""

    def refuse(self, relation: Any, state: State, new: Sequence[Hashable]) -> None:
        """Refuse new tasks that the relation cannot have: ValueError naming the first."""

    def relation_matrix(self, relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        """Write out A⁻¹ on the paper's scale, for all tasks known or ``among`` those with these numbers."""

    def warn_if_frozen(self, relation: Any, state: State) -> None:
        """Warn, once, that a learned relation has outgrown its limit and is kept as it was."""
        return

    def bounds(self, state: State) -> Bounds:
        """Return the numbers of tasks, groups, features and rounds that a model's arrays must fit."""
        return Bounds(state.known, 0, state.features, state.rounds)

    # -- the field ``sharing``

    def begin(self, relation: Any, tasks: Index, features: int, length: int | None) -> tuple[Any, Any]:
        """Make what the state keeps of the relation, and ``sharing``."""

    def blank(self, relation: Any) -> Any:
        """Return the ``sharing`` of no task as it would be saved, of the named tuples that these parameters lead to."""

    def restored(self, relation: Any, sharing: Any, tasks: Index) -> tuple[Any, Any]:
        """Undo :meth:`to_saved`: what the state keeps of the relation, and ``sharing``."""

    def extend(self, relation: Any, state: State, tasks: int) -> Any:
        """Give the ``sharing`` with room for the first so many tasks."""
        return state.model.sharing

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> Codes:
        """Drop tasks of the ``sharing``; returns the groups that have no task any more."""
        return NO_GROUPS

    def unseen_sharing(self, state: State, tasks: Sequence[Hashable]) -> Any:
        """Return the ``sharing`` of tasks that nobody has seen; ValueError if the relation allows no new tasks."""
        return state.model.sharing

    # -- models of weights

    def rows(self, relation: Any, kept: Any, tasks: int) -> tuple[int, int]:
        """Return the numbers of rows of groups and of tasks' own weights."""
        return 0, tasks

    def model(self, hypothesis: Any, sharing: Any, groups: int, tasks: int, features: int, dense: bool) -> Model:
        """Make a model with so many rows of groups, and of tasks."""

    def start(self, learner: JoinedLearner, tasks: Index, size: InputShape, length: int | None) -> State:
        """Make the state before the first round."""
        kept, sharing = self.begin(learner.relation, tasks, size.features, length)
        groups, own = self.rows(learner.relation, kept, len(tasks))
        model = self.model(learner.hypothesis, sharing, groups, own, size.features, size.dense)
        return State(model, tasks, kept, size.features, size.dense, len(tasks))

    def resize(self, learner: JoinedLearner, state: State, tasks: int, features: int, counted: bool) -> None:
        """Make room for the first so many tasks of the index and for so many features; all or nothing."""
        state.model = state.model.fit(learner.hypothesis.tables.fit, 0, tasks, features, state.dense)
        state.features = features

    def drop_weights(self, learner: JoinedLearner, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop the own weights of tasks, given by their labels; the last ones have their numbers."""
        empty = self.drop(state, dropped, tasks)
        state.replace_model(state.model.drop_tasks(dropped, empty))

    def make_room(self, state: State, i: int, entries: int) -> None:
        """Supply what ``ready`` found missing for a record of task i: its column of M, or room for so many entries."""
        state.model = state.model.make_room(i, entries)

    def unseen_task_model(self, state: State, tasks: Sequence[Hashable]) -> Model:
        """Make a model that predicts for tasks that nobody has seen; ValueError if the relation allows no new tasks."""
        model: Model = state.model.unseen_task_model(len(tasks), self.unseen_sharing(state, tasks))
        return model

    def share(self, relation: Any, state: State) -> Matrix:
        """Tell how much of each task's moves is shared with others, from 0 to 1."""

    def extent(self, relation: Any, state: State) -> Extent:
        """Return the used part of the model's arrays."""
        return Extent(*self.rows(relation, state.sharing, state.known), state.known, state.features)

    # -- M read by pairs of tasks

    def paths(self, sharing: Any) -> Codes | None:
        """Give the groups of each task, one column a level; None where there are none."""
        return None

    def group_weights(self, sharing: Any) -> NDArray[np.float64]:
        """Give the weight of every group that has tasks, which may change as tasks arrive; none without groups."""
        return np.zeros(0)


class Given(Binding, Protocol):
    """A form in which relations are given, of which M is read for pairs of tasks."""

    def to_saved(self, state: State) -> Any:
        """Return the ``sharing`` without unused room and without arrays that can be computed again."""

    def between(self, state: State, tasks: Codes, others: Codes) -> Matrix:
        """Write out M for pairs of known tasks."""

    def diagonal(self, state: State, tasks: Codes) -> NDArray[np.float64]:
        """Write out M_ii of known tasks."""

    def unseen(self, state: State, tasks: Sequence[Hashable], others: Codes) -> tuple[Matrix, NDArray[np.float64]]:
        """Write out M between tasks nobody has seen and known ones, and what M_ii would be for the former."""

    def top(self, state: State) -> float:
        """Give max_i M_ii."""


class Nested(Given):
    """A relation of nested groups."""

    def refuse(self, relation: Any, state: State, new: Sequence[Hashable]) -> None:
        for task in new[:1] if relation.alike else new:
            relation.path(task)

    def relation_matrix(self, relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(relation.relation_matrix(state.labels, among))

    def bounds(self, state: State) -> Bounds:
        K = state.known
        return Bounds(K, len(state.sharing), state.features, state.rounds, state.model.sharing.paths[:K])

    def begin(self, relation: Any, tasks: Index, features: int, length: int | None) -> tuple[GroupIndex, Levels]:
        sharing = GroupIndex(relation)
        return sharing, sharing.extend(sharing.empty(), 0, tasks.sequence, 0)

    def blank(self, relation: Any) -> Levels:
        return GroupIndex(relation).empty()

    def restored(self, relation: Any, sharing: Levels, tasks: Index) -> tuple[GroupIndex, Levels]:
        return GroupIndex.restored(relation, tasks.labels, sharing), sharing

    def to_saved(self, state: State) -> Levels:
        levels: Levels = state.model.sharing
        return levels.to_saved(len(state.sharing), state.known)

    def extend(self, relation: Any, state: State, tasks: int) -> Levels:
        new = state.tasks.labels[state.known : tasks]
        levels: Levels = state.sharing.extend(state.model.sharing, state.known, new, state.rounds)
        return levels

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> Codes:
        count_all(state)
        empty: Codes = state.sharing.drop(state.model.sharing, dropped, tasks, state.rounds)
        return empty

    def unseen_sharing(self, state: State, tasks: Sequence[Hashable]) -> Levels:
        levels: Levels = state.sharing.unseen_task_model(state.model.sharing, tasks)
        return levels

    def rows(self, relation: Any, kept: GroupIndex, tasks: int) -> tuple[int, int]:
        return len(kept), tasks if relation.specific else 1

    def model(self, hypothesis: Any, sharing: Levels, groups: int, tasks: int, features: int, dense: bool) -> Model:
        made: Model = hypothesis.by_levels(sharing, groups, tasks, features, dense)
        return made

    def resize(self, learner: JoinedLearner, state: State, tasks: int, features: int, counted: bool) -> None:
        """Let new tasks join their groups; without ``counted`` compiled code counts them as their records come."""
        model: Model = state.model
        levels, new, coming = model.sharing, state.tasks.sequence[state.known : tasks], state.coming
        if len(new):
            count_all(state)
            enter = state.sharing.extend if counted else state.sharing.expect
            entered = enter(levels, state.known, new, state.rounds)
            levels, coming = (entered, NO_ARRIVALS) if counted else entered
        model = model if levels is model.sharing else model.with_sharing(levels)
        own = tasks if learner.relation.specific else 1
        state.replace_model(model.fit(learner.hypothesis.tables.fit, len(state.sharing), own, features, state.dense))
        state.known, state.features, state.coming = tasks, features, coming

    def share(self, relation: Any, state: State) -> Matrix:
        levels = state.model.sharing
        own, shared = levels.own[: state.known], _of_groups(levels, levels.paths[: state.known])
        return np.asarray(shared / (own + shared))

    def paths(self, sharing: Levels) -> Codes | None:
        return np.asarray(sharing.paths)

    def group_weights(self, sharing: Levels) -> NDArray[np.float64]:
        return np.asarray(sharing.weight[sharing.members > 0])

    def between(self, state: State, tasks: Codes, others: Codes) -> Matrix:
        """Write out M for pairs of known tasks: O(levels) each."""
        levels = state.model.sharing
        own = np.where(tasks[:, None] == others, levels.own[tasks][:, None], 0.0)
        return own + _common(levels, levels.paths[tasks], levels.paths[others])

    def diagonal(self, state: State, tasks: Codes) -> NDArray[np.float64]:
        levels = state.model.sharing
        return np.asarray(levels.own[tasks] + _of_groups(levels, levels.paths[tasks]))

    def unseen(self, state: State, tasks: Sequence[Hashable], others: Codes) -> tuple[Matrix, NDArray[np.float64]]:
        relation, unseen = state.sharing.relation, self.unseen_sharing(state, tasks)
        own = np.array([relation.own(len(relation.path(task))) for task in tasks])
        rows = _common(unseen, unseen.paths, state.model.sharing.paths[others])
        return rows, own + _of_groups(unseen, unseen.paths)

    def top(self, state: State) -> float:
        return float(self.diagonal(state, np.arange(state.known)).max(initial=0.0))


class Intercepts(Nested):
    """One model of all tasks with a constant of each: a group of all, and tasks with one weight of their own."""

    def model(self, hypothesis: Any, sharing: Levels, groups: int, tasks: int, features: int, dense: bool) -> Model:
        made: Model = hypothesis.by_intercepts(sharing, groups, tasks, features, dense)
        return made

    def relation_matrix(self, relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(Pooled().relation_matrix(state.labels, among))

    def share(self, relation: Any, state: State) -> Matrix:
        return np.ones(state.known)


class Columnwise(Given):
    """A relation that gives columns of M, one for each of the tasks that it names."""

    def refuse(self, relation: Any, state: State, new: Sequence[Hashable]) -> None:
        known = state.tasks
        for task in new:
            if task not in known.numbers:
                shown = ", ".join(map(repr, known.labels[:5]))
                raise ValueError(f"task {task!r} is unknown to {type(relation).__name__}, which has {shown} ...")

    def relation_matrix(self, relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(relation.relation_matrix(None if among is None else [state.labels[i] for i in among]))

    def begin(self, relation: Any, tasks: Index, features: int, length: int | None) -> tuple[Any, Any]:
        if tasks.labels != list(relation.known_tasks):
            raise ValueError(f"the tasks are not those of its {type(relation).__name__}")
        cache = column_cache(relation.source())
        return cache, cache.columns

    def blank(self, relation: Any) -> Any:
        return no_columns()

    def restored(self, relation: Any, sharing: Any, tasks: Index) -> tuple[Any, Any]:
        return self.begin(relation, tasks, 0, None)

    def to_saved(self, state: State) -> Any:
        return no_columns()

    def unseen_sharing(self, state: State, tasks: Sequence[Hashable]) -> Any:
        raise ValueError(f"task {tasks[0]!r} is not among the tasks of the relation")

    def model(self, hypothesis: Any, sharing: Any, groups: int, tasks: int, features: int, dense: bool) -> Model:
        made: Model = hypothesis.by_columns(sharing, tasks, features, dense)
        return made

    def share(self, relation: Any, state: State) -> Matrix:
        return mean_share(np.asarray(relation.relation_matrix()))

    def make_room(self, state: State, i: int, entries: int) -> None:
        if state.sharing.columns.slot[i] < 0:
            state.sharing.fetch(i)
            state.model = state.model.with_sharing(state.sharing.columns)
        super().make_room(state, i, entries)

    def between(self, state: State, tasks: Codes, others: Codes) -> Matrix:
        """Write out M for pairs of known tasks: one column for each of ``tasks``."""
        M = np.zeros((len(tasks), len(others)))
        for i in np.unique(tasks):
            M[tasks == i] = _entries(state.sharing.source.column(int(i)), others)
        return M

    def diagonal(self, state: State, tasks: Codes) -> NDArray[np.float64]:
        """Write out M_ii of known tasks: one column for each."""
        M = np.zeros(len(tasks))
        for i in np.unique(tasks):
            M[tasks == i] = _entries(state.sharing.source.column(int(i)), np.array([i]))[0]
        return M

    def unseen(self, state: State, tasks: Sequence[Hashable], others: Codes) -> tuple[Matrix, NDArray[np.float64]]:
        """Refuse tasks that nobody has seen, which a relation by columns does not have: ValueError."""
        made: tuple[Matrix, NDArray[np.float64]] = self.unseen_sharing(state, tasks)
        return made

    def top(self, state: State) -> float:
        return float(state.sharing.source.max_diagonal())


class LearnedAdapter(Binding):
    """A relation that is learned from the weights, which are all kept."""

    def refuse(self, relation: Any, state: State, new: Sequence[Hashable]) -> None:
        relation.check_size(state.known + len(new))

    def relation_matrix(self, relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        M = matrix_of(state.model.sharing)
        return M if among is None else M[np.ix_(among, among)]

    def warn_if_frozen(self, relation: Any, state: State) -> None:
        status = state.model.sharing.status
        if status[0] == 1:
            status[0] = 2
            warnings.warn(
                f"{relation!r} outgrew its limit in round {status[1]} and is kept as it was before: {relation.remedy}",
                RuntimeWarning,
                stacklevel=stack_level(),
            )

    def _rescale(self, learned: Any, relation: Any, before: Any, after: Any) -> None:
        """Put what was learned while A_0 = I/K on the scale of the K there are now, in place.

        Moves were as long as K was at the time, and later ones are added to them. It is done one task after the other,
        so that it makes no difference which of them come together.
        """
        by = before.first
        for n_tasks in range(len(before.inverse) + 1, len(after.inverse) + 1) if after.first != by else ():
            to = relation.first(n_tasks)
            learned.rescale(to, by)
            after.rescale(to, by)
            by = to

    def begin(self, relation: Any, tasks: Index, features: int, length: int | None) -> tuple[None, Any]:
        return None, relation.begin(tasks.labels, features, length)

    def blank(self, relation: Any) -> Any:
        return relation.blank()

    def restored(self, relation: Any, sharing: Any, tasks: Index) -> tuple[None, Any]:
        relation.check_size(len(tasks))
        return None, sharing

    def model(self, hypothesis: Any, sharing: Any, groups: int, tasks: int, features: int, dense: bool) -> Model:
        made: Model = hypothesis.by_learning(sharing, tasks, features, dense)
        return made

    def resize(self, learner: JoinedLearner, state: State, tasks: int, features: int, counted: bool) -> None:
        before = state.model.sharing
        relation = learner.relation.resize(before, state.tasks.labels[:tasks], features)
        model = state.model.fit(learner.hypothesis.tables.fit, 0, tasks, features, state.dense)
        state.model = model.with_sharing(relation)
        if goes_by_sign(learner.rule.compiled()):
            self._rescale(state.model, learner.relation, before, relation)
        state.known, state.features = tasks, features

    def drop_weights(self, learner: JoinedLearner, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        model = state.model.drop_tasks(dropped, NO_GROUPS)
        left = model.sharing.select(dropped.order)
        state.model = model.with_sharing(learner.relation.resize(left, state.tasks.labels, state.features))

    def make_room(self, state: State, i: int, entries: int) -> None:
        """Do nothing: every weight has its place and every column of M is state."""

    def share(self, relation: Any, state: State) -> Matrix:
        return mean_share(matrix_of(state.model.sharing))


_NESTED = Nested()
#: The binding of each form of relation.
BINDINGS: Mapping[str, Binding] = {
    "levels": _NESTED,
    "repelling levels": _NESTED,
    "intercepts": Intercepts(),
    "columns": Columnwise(),
    "learned": LearnedAdapter(),
}


def count_all(state: State) -> None:
    """Count all tasks that the state knows, those whose records are still to come as well."""
    if state.coming is not NO_ARRIVALS:
        count_arrivals(state.coming._replace(rounds=state.rounds), state.known - 1, 0)
        state.coming = NO_ARRIVALS


def coming_in(state: State, early: Codes) -> Arrivals:
    """The tasks that compiled code is to count as they come, those of the ``early`` records having come before."""
    if state.coming is not NO_ARRIVALS:
        if state.coming.counted[0] >= state.known:
            state.coming = NO_ARRIVALS
        else:
            state.coming = state.coming._replace(rounds=state.rounds)
            count_arrivals(state.coming, early.max(initial=-1), 0)
    made: Arrivals = state.coming
    return made


def _common(levels: Levels, paths: Codes, others: Codes) -> Matrix:
    """Sum the weights of the groups that two tasks have in common."""
    weight = np.append(levels.weight, 0.0)
    M = np.zeros((len(paths), len(others)))
    for groups, theirs in zip(paths.T, others.T, strict=True):
        M += np.where((groups[:, None] == theirs) & (theirs >= 0), weight[theirs], 0.0)
    return M


def _of_groups(levels: Levels, paths: Codes) -> NDArray[np.float64]:
    """Sum the weights of all groups of each task."""
    weight = np.append(levels.weight, 0.0)
    return np.asarray(weight[np.where(paths < 0, len(levels.weight), paths)].sum(axis=1))


def _entries(column: tuple[Codes, NDArray[np.float64]], tasks: Codes) -> NDArray[np.float64]:
    rows, values = column
    place = np.minimum(np.searchsorted(rows, tasks), len(rows) - 1)
    return np.where(rows[place] == tasks, values[place], 0.0)


def mean_share(M: Matrix) -> Matrix:
    """Return the mean of what each task shares with the others, M taken to a unit diagonal."""
    own = np.diag(M)
    scale = np.sqrt(np.where(own > 0.0, own, 1.0))  # a task without a move may share nothing, not even with itself
    return np.asarray((np.abs(M / scale / scale[:, None]).sum(axis=1) - (own > 0.0)) / max(len(M) - 1, 1))
