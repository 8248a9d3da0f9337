"""Relations bound to learners by the form in which M comes: by levels, by columns, or learned.

A binding of weights (:data:`WEIGHTS`) gives a model of weights what it needs of a relation; a binding of pairs
(:data:`PAIRS`) is for models with a field ``sharing`` from which M is read for two records' tasks, such as support
vectors. What is the same for both stands above them: :class:`Nested` and :class:`Columnwise`.

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
from coterie.relations.cache import DenseCache, SparseCache, column_cache
from coterie.relations.groups import GroupIndex
from coterie.relations.learned import matrix_of
from coterie.relations.levels import Pooled
from coterie.state import State
from coterie.types import Codes, Matrix
from coterie.wording import stack_level

from .contract import Size

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
    """The part of a relation's binding that is the same for all models; a state is changed in place.

    What a method does here, and in the protocols below, holds for a relation that is given.
    """

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


class WeightBinding(Binding, Protocol):
    """A relation bound to a model of weights, as :class:`coterie.round.linear.LinearLearner` asks for it."""

    def start(self, learner: JoinedLearner, tasks: Index, size: Size, length: int | None) -> State:
        """Make the state before the first round."""

    def grow(self, learner: JoinedLearner, state: State, tasks: int, features: int, counted: bool) -> None:
        """Make room for the first so many tasks of the index and for so many features; all or nothing."""

    def drop(self, learner: JoinedLearner, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop the own weights of tasks, given by their labels; the last ones have their numbers."""

    def blank(self, learner: JoinedLearner, dense: bool) -> Model:
        """Make a model without tasks, of the same named tuples as every model under these parameters."""

    def make_room(self, state: State, i: int, entries: int) -> None:
        """Supply what ``ready`` found missing for a record of task i: its column of M, or room for so many entries."""
        state.model = state.model.make_room(i, entries)

    def unseen_task_model(self, state: State, tasks: Sequence[Hashable]) -> Model:
        """Make a model that predicts for tasks that nobody has seen; ValueError if the relation allows no new tasks."""

    def share(self, relation: Any, state: State) -> Matrix:
        """Tell how much of each task's moves is shared with others, from 0 to 1."""

    def extent(self, relation: Any, state: State) -> Extent:
        """Return the used part of the model's arrays."""
        return Extent(0, 0, state.known, state.features)

    def restored(self, learner: JoinedLearner, model: Model, tasks: Index) -> tuple[Model, Any]:
        """Undo ``Model.to_saved``; also returns what the state keeps of the relation for these tasks."""


class PairBinding(Binding, Protocol):
    """A relation bound to a model with a field ``sharing``, from which M is read by pairs of tasks."""

    def start(self, relation: Any, tasks: Index, features: int, length: int | None) -> tuple[Any, Any]:
        """Make what the state keeps of the relation, and ``sharing``."""

    def extend(self, relation: Any, state: State, tasks: int) -> Any:
        """Give the ``sharing`` with room for the first so many tasks."""
        return state.model.sharing

    def unseen_task_model(self, state: State, tasks: Sequence[Hashable]) -> Any:
        """Return the ``sharing`` of tasks that nobody has seen; ValueError if the relation allows no new tasks."""

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> Codes:
        """Drop tasks of the ``sharing``; returns the groups that have no task any more."""
        return NO_GROUPS

    def to_saved(self, state: State) -> Any:
        """Return the ``sharing`` without unused room and without arrays that can be computed again."""

    def restored(self, relation: Any, sharing: Any, tasks: Index) -> tuple[Any, Any]:
        """Undo :meth:`to_saved`: what the state keeps of the relation, and ``sharing``."""

    def blank(self, relation: Any) -> Any:
        """Return the ``sharing`` of no task as it would be saved, of the named tuples that these parameters lead to."""

    def paths(self, sharing: Any) -> Codes | None:
        """Give the groups of each task, one column a level; None where there are none."""
        return None

    def group_weights(self, sharing: Any) -> NDArray[np.float64]:
        """Give the weight of every group that has tasks, which may change as tasks arrive; none without groups."""
        return np.zeros(0)

    def between(self, state: State, tasks: Codes, others: Codes) -> Matrix:
        """Write out M for pairs of known tasks."""

    def diagonal(self, state: State, tasks: Codes) -> NDArray[np.float64]:
        """Write out M_ii of known tasks."""

    def unseen(self, state: State, tasks: Sequence[Hashable], others: Codes) -> tuple[Matrix, NDArray[np.float64]]:
        """Write out M between tasks nobody has seen and known ones, and what M_ii would be for the former."""

    def top(self, state: State) -> float:
        """Give max_i M_ii."""


# -- what a form of relation is, whatever it is bound to ---------------------------------------------------------------


class Nested(Binding, Protocol):
    """A relation of nested groups."""

    def refuse(self, relation: Any, state: State, new: Sequence[Hashable]) -> None:
        for task in new[:1] if relation.alike else new:
            relation.path(task)

    def relation_matrix(self, relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(relation.relation_matrix(state.labels, among))

    def bounds(self, state: State) -> Bounds:
        K = state.known
        return Bounds(K, len(state.sharing), state.features, state.rounds, state.model.sharing.paths[:K])


class Columnwise(Binding, Protocol):
    """A relation that gives columns of M, one for each of the tasks that it names."""

    def cache(self, relation: Any, tasks: Index) -> DenseCache | SparseCache:
        """Make the cache of columns; ValueError if the tasks are not those that the relation names, in its order."""
        if tasks.labels != list(relation.known_tasks):
            raise ValueError(f"the tasks are not those of its {type(relation).__name__}")
        return column_cache(relation.source())

    def refuse(self, relation: Any, state: State, new: Sequence[Hashable]) -> None:
        known = state.tasks
        for task in new:
            if task not in known.numbers:
                shown = ", ".join(map(repr, known.labels[:5]))
                raise ValueError(f"task {task!r} is unknown to {type(relation).__name__}, which has {shown} ...")

    def unseen_task_model(self, state: State, tasks: Sequence[Hashable]) -> Any:
        raise ValueError(f"task {tasks[0]!r} is not among the tasks of the relation")

    def relation_matrix(self, relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(relation.relation_matrix(None if among is None else [state.labels[i] for i in among]))


# -- bound to weights --------------------------------------------------------------------------------------------------


class LevelWeights(Nested, WeightBinding):
    """A relation of nested groups bound to a model of raw sums."""

    def start(self, learner: JoinedLearner, tasks: Index, size: Size, length: int | None) -> State:
        sharing, known = GroupIndex(learner.relation), len(tasks)
        levels = sharing.extend(sharing.empty(), 0, tasks.sequence, 0)
        own = known if learner.relation.specific else 1
        model = self.model(learner.hypothesis, levels, len(sharing), own, size.features, size.dense)
        return State(model, tasks, sharing, size.features, size.dense, known)

    def model(self, hypothesis: Any, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Model:
        """Make a model with so many rows of groups, and of tasks."""
        made: Model = hypothesis.by_levels(levels, groups, tasks, features, dense)
        return made

    def grow(self, learner: JoinedLearner, state: State, tasks: int, features: int, counted: bool) -> None:
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

    def drop(self, learner: JoinedLearner, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        count_all(state)
        model: Model = state.model
        empty = state.sharing.drop(model.sharing, dropped, tasks, state.rounds)
        state.replace_model(model.drop_tasks(dropped, empty))

    def share(self, relation: Any, state: State) -> Matrix:
        levels = state.model.sharing
        own, paths = levels.own[: state.known], levels.paths[: state.known]
        shared = np.append(levels.weight, 0.0)[np.where(paths < 0, len(levels.weight), paths)].sum(axis=1)
        return np.asarray(shared / (own + shared))

    def unseen_task_model(self, state: State, tasks: Sequence[Hashable]) -> Model:
        model: Model = state.model
        return model.unseen_task_model(len(tasks), state.sharing.unseen_task_model(model.sharing, tasks))

    def extent(self, relation: Any, state: State) -> Extent:
        return Extent(len(state.sharing), state.known if relation.specific else 1, state.known, state.features)

    def restored(self, learner: JoinedLearner, model: Model, tasks: Index) -> tuple[Model, GroupIndex]:
        return model.with_sharing(model.sharing), GroupIndex.restored(learner.relation, tasks.labels, model.sharing)

    def blank(self, learner: JoinedLearner, dense: bool) -> Model:
        return self.model(learner.hypothesis, GroupIndex(learner.relation).empty(), 0, 0, 1, dense)


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


class InterceptWeights(LevelWeights):
    """One model of all tasks with a constant of each: a group of all, and tasks with one weight of their own."""

    def model(self, hypothesis: Any, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Model:
        made: Model = hypothesis.by_intercepts(levels, groups, tasks, features, dense)
        return made

    def relation_matrix(self, relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(Pooled().relation_matrix(state.labels, among))

    def share(self, relation: Any, state: State) -> Matrix:
        return np.ones(state.known)


class ColumnWeights(Columnwise, WeightBinding):
    """A relation that gives columns of M, bound to a model of the weights themselves."""

    def start(self, learner: JoinedLearner, tasks: Index, size: Size, length: int | None) -> State:
        cache = self.cache(learner.relation, tasks)
        model = learner.hypothesis.by_columns(cache.columns, len(tasks), size.features, size.dense)
        return State(model, tasks, cache, size.features, size.dense, len(tasks))

    def grow(self, learner: JoinedLearner, state: State, tasks: int, features: int, counted: bool) -> None:
        state.model = state.model.fit(learner.hypothesis.tables.fit, 0, tasks, features, state.dense)
        state.features = features

    def drop(self, learner: JoinedLearner, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        state.replace_model(state.model.drop_tasks(dropped, NO_GROUPS))

    def share(self, relation: Any, state: State) -> Matrix:
        return mean_share(np.asarray(relation.relation_matrix()))

    def make_room(self, state: State, i: int, entries: int) -> None:
        if state.sharing.columns.slot[i] < 0:
            state.sharing.fetch(i)
            state.model = state.model.with_sharing(state.sharing.columns)
        super().make_room(state, i, entries)

    def restored(self, learner: JoinedLearner, model: Model, tasks: Index) -> tuple[Model, Any]:
        cache = self.cache(learner.relation, tasks)
        return model.with_sharing(cache.columns), cache

    def blank(self, learner: JoinedLearner, dense: bool) -> Model:
        model: Model = learner.hypothesis.by_columns(no_columns(), 0, 1, dense)
        return model


class LearnedWeights(WeightBinding):
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

    def start(self, learner: JoinedLearner, tasks: Index, size: Size, length: int | None) -> State:
        relation = learner.relation.begin(tasks.labels, size.features, length)
        model = learner.hypothesis.by_learning(relation, len(tasks), size.features, size.dense)
        return State(model, tasks, None, size.features, size.dense, len(tasks))

    def grow(self, learner: JoinedLearner, state: State, tasks: int, features: int, counted: bool) -> None:
        before = state.model.sharing
        relation = learner.relation.grow(before, state.tasks.labels[:tasks], features)
        model = state.model.fit(learner.hypothesis.tables.fit, 0, tasks, features, state.dense)
        state.model = model.with_sharing(relation)
        if goes_by_sign(learner.rule.compiled()):
            self._rescale(state.model, learner.relation, before, relation)
        state.known, state.features = tasks, features

    def drop(self, learner: JoinedLearner, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        model = state.model.drop_tasks(dropped, NO_GROUPS)
        left = model.sharing.of(dropped.order)
        state.model = model.with_sharing(learner.relation.grow(left, state.tasks.labels, state.features))

    def make_room(self, state: State, i: int, entries: int) -> None:
        """Do nothing: every weight has its place and every column of M is state."""

    def unseen_task_model(self, state: State, tasks: Sequence[Hashable]) -> Model:
        model: Model = state.model
        return model.unseen_task_model(len(tasks), model.sharing)

    def share(self, relation: Any, state: State) -> Matrix:
        return mean_share(matrix_of(state.model.sharing))

    def restored(self, learner: JoinedLearner, model: Model, tasks: Index) -> tuple[Model, None]:
        learner.relation.check_size(len(tasks))
        return model.with_sharing(model.sharing), None

    def blank(self, learner: JoinedLearner, dense: bool) -> Model:
        model: Model = learner.hypothesis.by_learning(learner.relation.blank(), 0, 1, dense)
        return model


# -- read by pairs of tasks ------------------------------------------------------------------------------------------


class LevelPairs(Nested, PairBinding):
    """A relation of nested groups."""

    def start(self, relation: Any, tasks: Index, features: int, length: int | None) -> tuple[GroupIndex, Levels]:
        sharing = GroupIndex(relation)
        return sharing, sharing.extend(sharing.empty(), 0, tasks.labels, 0)

    def extend(self, relation: Any, state: State, tasks: int) -> Levels:
        new = state.tasks.labels[state.known : tasks]
        levels: Levels = state.sharing.extend(state.model.sharing, state.known, new, state.rounds)
        return levels

    def unseen_task_model(self, state: State, tasks: Sequence[Hashable]) -> Levels:
        levels: Levels = state.sharing.unseen_task_model(state.model.sharing, tasks)
        return levels

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> Codes:
        empty: Codes = state.sharing.drop(state.model.sharing, dropped, tasks, state.rounds)
        return empty

    def to_saved(self, state: State) -> Levels:
        levels: Levels = state.model.sharing
        return levels.to_saved(len(state.sharing), state.known)

    def restored(self, relation: Any, sharing: Levels, tasks: Index) -> tuple[GroupIndex, Levels]:
        return GroupIndex.restored(relation, tasks.labels, sharing), sharing

    def blank(self, relation: Any) -> Levels:
        return GroupIndex(relation).empty()

    def paths(self, sharing: Levels) -> Codes | None:
        """Give the groups of each task, one column a level."""
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
        relation, unseen = state.sharing.relation, self.unseen_task_model(state, tasks)
        own = np.array([relation.own(len(relation.path(task))) for task in tasks])
        rows = _common(unseen, unseen.paths, state.model.sharing.paths[others])
        return rows, own + _of_groups(unseen, unseen.paths)

    def top(self, state: State) -> float:
        return float(self.diagonal(state, np.arange(state.known)).max(initial=0.0))


class ColumnPairs(Columnwise, PairBinding):
    """A relation that gives columns of M."""

    def start(self, relation: Any, tasks: Index, features: int, length: int | None) -> tuple[Any, Any]:
        cache = self.cache(relation, tasks)
        return cache, cache.columns

    def to_saved(self, state: State) -> Any:
        return no_columns()

    def restored(self, relation: Any, sharing: Any, tasks: Index) -> tuple[Any, Any]:
        cache = self.cache(relation, tasks)
        return cache, cache.columns

    def blank(self, relation: Any) -> Any:
        return no_columns()

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
        made: tuple[Matrix, NDArray[np.float64]] = self.unseen_task_model(state, tasks)
        return made

    def top(self, state: State) -> float:
        return float(state.sharing.source.max_diagonal())


_WEIGHTS, _PAIRS = LevelWeights(), LevelPairs()

#: The binding of each form of relation to a model of weights.
WEIGHTS: Mapping[str, WeightBinding] = {
    "levels": _WEIGHTS,
    "repelling levels": _WEIGHTS,
    "intercepts": InterceptWeights(),
    "columns": ColumnWeights(),
    "learned": LearnedWeights(),
}
#: The binding of each form of relation to a model that reads pairs of tasks.
PAIRS: Mapping[str, PairBinding] = {
    "levels": _PAIRS,
    "repelling levels": _PAIRS,
    "columns": ColumnPairs(),
}


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


# -- what several bindings say -----------------------------------------------------------------------------------------


def mean_share(M: Matrix) -> Matrix:
    """Return the mean of what each task shares with the others, M taken to a unit diagonal."""
    own = np.diag(M)
    scale = np.sqrt(np.where(own > 0.0, own, 1.0))  # a task without a move may share nothing, not even with itself
    return np.asarray((np.abs(M / scale / scale[:, None]).sum(axis=1) - (own > 0.0)) / max(len(M) - 1, 1))
