"""Relations bound to models of weights, by the form in which M comes: by levels, by columns, or learned.

:class:`Binding` and :class:`ModelBinding` are the contract. :mod:`coterie.learners.bindings` has the same for models
that read M by pairs of tasks.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .hypotheses.hypothesis import ColumnHypothesis, Hypothesis, InterceptHypothesis, LearningHypothesis
from .index import Index
from .numeric.core.arrays import Dropped
from .numeric.core.checks import Bounds
from .numeric.core.records import Rows, widths_of
from .numeric.primal.grouped import NO_ARRIVALS, Arrivals, Levels
from .numeric.primal.round import Extent, Model
from .numeric.primal.rules import goes_by_sign
from .numeric.primal.spread import no_columns
from .relations.cache import column_cache
from .relations.groups import GroupIndex
from .relations.learned import matrix_of
from .relations.levels import Pooled
from .state import State

Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]


class Stop(NamedTuple):
    """A stop in a run: before round ``round`` the state must have ``tasks`` tasks and ``width`` features."""

    round: int
    tasks: int
    width: int


def arrivals(codes: Codes, known: int, delay: int, widths: Codes | None = None, width: int = 0) -> Sequence[Stop]:
    """The stops of a run: the rounds before which new tasks, or new features, need room.

    New tasks have the numbers from ``known`` on, in the order in which they come; record t is ``widths[t]`` wide, where
    that counts, and ``width`` features are known. Where labels are ``delay`` rounds late, a record comes so many rounds
    before it is learned, and the first of a run are there from the start.
    """
    tasks = np.maximum(np.maximum.accumulate(codes) + 1, known)
    wide = np.full(len(codes), width) if widths is None else np.maximum(np.maximum.accumulate(widths), width)
    places = np.flatnonzero((np.diff(tasks, prepend=known) > 0) | (np.diff(wide, prepend=width) > 0))
    rounds = np.maximum(places - delay, 0)
    places = places[np.diff(rounds, append=-1) != 0]
    rounds = np.maximum(places - delay, 0)
    return [Stop(*each) for each in zip(rounds.tolist(), tasks[places].tolist(), wide[places].tolist(), strict=True)]


NO_GROUPS = np.zeros(0, np.int64)


class Binding(Protocol):
    """The part of a relation's binding that is the same for all models; a state is changed in place."""

    def check(self, relation: Any, state: State, new: Sequence[Hashable]) -> None:
        """Refuse new tasks that the relation cannot have: ValueError naming the first."""

    def relation_matrix(self, relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        """Write out A⁻¹ on the paper's scale, for all tasks known or ``among`` those with these numbers."""

    def warn_if_frozen(self, relation: Any, state: State) -> None:
        """Warn, once, that a learned relation has outgrown its limit and is kept as it was."""

    def bounds(self, state: State) -> Bounds:
        """Return the numbers of tasks, groups, features and rounds that a model's arrays must fit."""


class Joined(Protocol):
    """Anything with a hypothesis and a relation under which it can be learned, such as a learner."""

    hypothesis: Any
    relation: Any
    rule: Any


class ModelBinding(Binding, Protocol):
    """A relation bound to a model of weights, as :class:`coterie.learner.Learner` asks for it."""

    def start(
        self, learner: Joined, tasks: Sequence[Hashable], features: int, dense: bool, length: int | None
    ) -> State:
        """Make the state before the first round; see :meth:`coterie.learner.Learner.init`."""

    def extend(self, learner: Joined, state: State, new: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks and for so many features; all or nothing."""

    def stops(self, relation: Any, state: State, rows: Rows, codes: Codes, delay: int) -> Sequence[Stop]:
        """Return the stops of a run: the rounds before which new tasks, or new features, need room."""

    def meet(self, learner: Joined, state: State, new: Sequence[Hashable], features: int) -> Arrivals:
        """Make room for the new tasks of a block; returns those that compiled code counts when their records come."""

    def blank(self, learner: Joined, dense: bool) -> Model:
        """Make a model without tasks, of the same named tuples as every model under these parameters."""

    def ensure_capacity(self, state: State, i: int, entries: int) -> None:
        """Supply what ``ready`` found missing for a record of task i: its column of M, or room for so many entries."""

    def unseen_task_model(self, state: State, tasks: Sequence[Hashable]) -> Model:
        """Make a model that predicts for tasks that nobody has seen; ValueError if the relation allows no new tasks."""

    def drop_tasks(self, learner: Joined, state: State, dropped: Dropped) -> None:
        """Drop the own weights of tasks, and the tasks, unless the relation names them."""

    def share(self, relation: Any, state: State) -> Matrix:
        """Tell how much of each task's moves is shared with others, from 0 to 1."""

    def extent(self, relation: Any, state: State) -> Extent:
        """Return the used part of the model's arrays."""

    def from_saved(self, learner: Joined, model: Model, tasks: Sequence[Hashable]) -> tuple[Model, Any]:
        """Undo ``Model.to_saved``; also returns what the state keeps of the relation for these tasks."""


class _Fixed:
    """A relation that is given."""

    @staticmethod
    def bounds(state: State) -> Bounds:
        return Bounds(len(state.tasks), 0, state.features, state.rounds)

    @staticmethod
    def warn_if_frozen(relation: Any, state: State) -> None:
        """Do nothing: M does not change."""


class Nested(_Fixed):
    """A relation of nested groups, whatever it is bound to."""

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        for task in new[:1] if relation.alike else new:
            relation.path(task)

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(relation.relation_matrix(state.tasks.labels, among))

    @staticmethod
    def bounds(state: State) -> Bounds:
        K = len(state.tasks)
        return Bounds(K, len(state.sharing), state.features, state.rounds, state.model.sharing.paths[:K])


class Columnwise(_Fixed):
    """A relation that gives columns of M, whatever it is bound to."""

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        refuse_unknown(relation, state.tasks, new)

    @staticmethod
    def unseen_task_model(state: State, tasks: Sequence[Hashable]) -> Any:
        raise ValueError(f"task {tasks[0]!r} is not among the tasks of the relation")

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(relation.relation_matrix(None if among is None else [state.tasks.labels[i] for i in among]))


class ByLevels(Nested):
    """A relation of nested groups bound to a model of raw sums."""

    @classmethod
    def start(cls, learner: Joined, tasks: Sequence[Hashable], features: int, dense: bool, length: int | None) -> State:
        sharing = GroupIndex(learner.relation)
        index = Index(tasks)
        levels = sharing.extend(sharing.empty(), 0, index.sequence, 0)
        own = len(index) if learner.relation.specific else 1
        model = cls.model(learner.hypothesis, levels, len(sharing), own, features, dense)
        return State(model, index, sharing, features, dense)

    @staticmethod
    def model(hypothesis: Any, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Model:
        """Make a model with so many rows of groups, and of tasks."""
        made: Hypothesis = hypothesis
        return made.by_levels(levels, groups, tasks, features, dense)

    @staticmethod
    def extend(learner: Joined, state: State, new: Sequence[Hashable], features: int) -> None:
        levels: Levels = state.model.sharing
        if new:
            levels = state.sharing.extend(levels, len(state.tasks), new, state.rounds)
        _fit_levels(learner, state, levels, new, features)

    @staticmethod
    def stops(relation: Any, state: State, rows: Rows, codes: Codes, delay: int) -> Sequence[Stop]:
        """Give the first round: compiled code counts tasks as they come."""
        return [Stop(0, int(codes.max(initial=-1)) + 1, state.features)]

    @staticmethod
    def meet(learner: Joined, state: State, new: Sequence[Hashable], features: int) -> Arrivals:
        levels, found = state.sharing.expect(state.model.sharing, len(state.tasks), new, state.rounds)
        _fit_levels(learner, state, levels, new, features)
        made: Arrivals = found
        return made

    @staticmethod
    def drop_tasks(learner: Joined, state: State, dropped: Dropped) -> None:
        model: Model = state.model
        tasks = [state.tasks.sequence[i] for i in dropped.rows.tolist()]
        empty = state.sharing.drop(model.sharing, dropped, tasks, state.rounds)
        state.replace_model(model.drop_tasks(dropped, empty))
        state.tasks.drop(dropped)

    @staticmethod
    def share(relation: Any, state: State) -> Matrix:
        levels = state.model.sharing
        own, paths = levels.own[: len(state.tasks)], levels.paths[: len(state.tasks)]
        held = np.append(levels.weight, 0.0)[np.where(paths < 0, len(levels.weight), paths)].sum(axis=1)
        return np.asarray(held / (own + held))

    @staticmethod
    def unseen_task_model(state: State, tasks: Sequence[Hashable]) -> Model:
        model: Model = state.model
        return model.unseen_task_model(len(tasks), state.sharing.unseen_task_model(model.sharing, tasks))

    @staticmethod
    def ensure_capacity(state: State, i: int, entries: int) -> None:
        state.model = state.model.make_room(i, entries)

    @staticmethod
    def extent(relation: Any, state: State) -> Extent:
        tasks = len(state.tasks)
        return Extent(len(state.sharing), tasks if relation.specific else 1, tasks, state.features)

    @staticmethod
    def from_saved(learner: Joined, model: Model, tasks: Sequence[Hashable]) -> tuple[Model, GroupIndex]:
        return model.with_sharing(model.sharing), GroupIndex.restored(learner.relation, tasks, model.sharing)

    @classmethod
    def blank(cls, learner: Joined, dense: bool) -> Model:
        return cls.model(learner.hypothesis, GroupIndex(learner.relation).empty(), 0, 0, 1, dense)


class ByIntercepts(ByLevels):
    """One model of all tasks with a constant of each: a group of all, and tasks with one weight of their own."""

    @staticmethod
    def model(hypothesis: Any, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Model:
        made: InterceptHypothesis = hypothesis
        return made.by_intercepts(levels, groups, tasks, features, dense)

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        return np.asarray(Pooled().relation_matrix(state.tasks.labels, among))

    @staticmethod
    def share(relation: Any, state: State) -> Matrix:
        return np.ones(len(state.tasks))


def _fit_levels(learner: Joined, state: State, levels: Levels, new: Sequence[Hashable], features: int) -> None:
    """Put the model under levels that hold new tasks, with room for these and for so many features."""
    model: Model = state.model
    model = model if levels is model.sharing else model.with_sharing(levels)
    tasks = len(state.tasks) + len(new) if learner.relation.specific else 1
    state.replace_model(model.fit(learner.hypothesis.tables.fit, len(state.sharing), tasks, features, state.dense))
    state.tasks.add(new)
    state.features = features


class ByColumns(Columnwise):
    """A relation that gives columns of M, bound to a model of the weights themselves."""

    @staticmethod
    def start(learner: Joined, tasks: Sequence[Hashable], features: int, dense: bool, length: int | None) -> State:
        known = Index(learner.relation.known_tasks)
        refuse_unknown(learner.relation, known, tasks)
        cache = column_cache(learner.relation.source())
        hypothesis: ColumnHypothesis = learner.hypothesis
        model = hypothesis.by_columns(cache.columns, len(known), features, dense)
        return State(model, known, cache, features, dense)

    @staticmethod
    def extend(learner: Joined, state: State, new: Sequence[Hashable], features: int) -> None:
        refuse_unknown(learner.relation, state.tasks, new)
        state.model = state.model.fit(learner.hypothesis.tables.fit, 0, len(state.tasks), features, state.dense)
        state.features = features

    @staticmethod
    def drop_tasks(learner: Joined, state: State, dropped: Dropped) -> None:
        state.replace_model(state.model.drop_tasks(dropped, NO_GROUPS))

    @staticmethod
    def stops(relation: Any, state: State, rows: Rows, codes: Codes, delay: int) -> Sequence[Stop]:
        """Give the first round, before which a task that the relation does not know is refused."""
        return [Stop(0, int(codes.max(initial=-1)) + 1, state.features)]

    @staticmethod
    def meet(learner: Joined, state: State, new: Sequence[Hashable], features: int) -> Arrivals:
        refuse_unknown(learner.relation, state.tasks, new)
        return NO_ARRIVALS

    @staticmethod
    def share(relation: Any, state: State) -> Matrix:
        return mean_share(np.asarray(relation.relation_matrix()))

    @staticmethod
    def ensure_capacity(state: State, i: int, entries: int) -> None:
        if state.sharing.columns.slot[i] < 0:
            state.sharing.fetch(i)
            state.model = state.model.with_sharing(state.sharing.columns)
        state.model = state.model.make_room(i, entries)

    @staticmethod
    def extent(relation: Any, state: State) -> Extent:
        return Extent(0, 0, len(state.tasks), state.features)

    @staticmethod
    def from_saved(learner: Joined, model: Model, tasks: Sequence[Hashable]) -> tuple[Model, Any]:
        refuse_others(learner.relation, tasks)
        cache = column_cache(learner.relation.source())
        return model.with_sharing(cache.columns), cache

    @staticmethod
    def blank(learner: Joined, dense: bool) -> Model:
        hypothesis: ColumnHypothesis = learner.hypothesis
        return hypothesis.by_columns(no_columns(), 0, 1, dense)


class Learning:
    """A relation that is learned, whatever it is bound to."""

    @staticmethod
    def bounds(state: State) -> Bounds:
        return Bounds(len(state.tasks), 0, state.features, state.rounds)

    @staticmethod
    def rescale(learned: Any, relation: Any, before: Any, after: Any) -> None:
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


class ByLearning(Learning):
    """A relation that is learned from the weights, which are all kept."""

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        relation.check_size(len(state.tasks) + len(new))

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> Matrix:
        M = matrix_of(state.model.sharing)
        return M if among is None else M[np.ix_(among, among)]

    @staticmethod
    def warn_if_frozen(relation: Any, state: State) -> None:
        warn_if_outgrown(relation, state.model.sharing.status)

    @staticmethod
    def start(learner: Joined, tasks: Sequence[Hashable], features: int, dense: bool, length: int | None) -> State:
        index = Index(tasks)
        relation = learner.relation.begin(index.labels, features, length)
        hypothesis: LearningHypothesis = learner.hypothesis
        model = hypothesis.by_learning(relation, len(index), features, dense)
        return State(model, index, None, features, dense)

    @staticmethod
    def extend(learner: Joined, state: State, new: Sequence[Hashable], features: int) -> None:
        tasks, before = [*state.tasks.labels, *new], state.model.sharing
        relation = learner.relation.grow(before, tasks, features)
        model = state.model.fit(learner.hypothesis.tables.fit, 0, len(tasks), features, state.dense)
        state.model = model.with_sharing(relation)
        if goes_by_sign(learner.rule.compiled()):
            Learning.rescale(state.model, learner.relation, before, relation)
        state.tasks.add(new)
        state.features = features

    @staticmethod
    def drop_tasks(learner: Joined, state: State, dropped: Dropped) -> None:
        model = state.model.drop_tasks(dropped, NO_GROUPS)
        state.tasks.drop(dropped)
        left = model.sharing.of(dropped.order)
        state.model = model.with_sharing(learner.relation.grow(left, state.tasks.labels, state.features))

    @staticmethod
    def stops(relation: Any, state: State, rows: Rows, codes: Codes, delay: int) -> Sequence[Stop]:
        """Return the stops at all rounds in which a task comes, or a feature if M depends on these: M changes there."""
        widths = widths_of(rows) if relation.needs_features else None
        return arrivals(codes, len(state.tasks), delay, widths, state.features)

    @staticmethod
    def meet(learner: Joined, state: State, new: Sequence[Hashable], features: int) -> Arrivals:
        ByLearning.extend(learner, state, new, features)
        return NO_ARRIVALS

    @staticmethod
    def ensure_capacity(state: State, i: int, entries: int) -> None:
        """Do nothing: every weight has its place and every column of M is state."""

    @staticmethod
    def unseen_task_model(state: State, tasks: Sequence[Hashable]) -> Model:
        model: Model = state.model
        return model.unseen_task_model(len(tasks), model.sharing)

    @staticmethod
    def share(relation: Any, state: State) -> Matrix:
        return mean_share(matrix_of(state.model.sharing))

    @staticmethod
    def extent(relation: Any, state: State) -> Extent:
        return Extent(0, 0, len(state.tasks), state.features)

    @staticmethod
    def from_saved(learner: Joined, model: Model, tasks: Sequence[Hashable]) -> tuple[Model, None]:
        learner.relation.check_size(len(tasks))
        return model.with_sharing(model.sharing), None

    @staticmethod
    def blank(learner: Joined, dense: bool) -> Model:
        hypothesis: LearningHypothesis = learner.hypothesis
        return hypothesis.by_learning(learner.relation.blank(), 0, 1, dense)


def mean_share(M: Matrix) -> Matrix:
    """Return the mean of what each task shares with the others, M taken to a unit diagonal."""
    own = np.diag(M)
    scale = np.sqrt(np.where(own > 0.0, own, 1.0))  # a task without a move may share nothing, not even with itself
    return np.asarray((np.abs(M / scale / scale[:, None]).sum(axis=1) - (own > 0.0)) / max(len(M) - 1, 1))


def warn_if_outgrown(relation: Any, status: NDArray[np.int64]) -> None:
    """Warn, once, that a learned relation is held because it outgrew its limit."""
    if status[0] == 1:
        status[0] = 2
        warnings.warn(
            f"{relation!r} outgrew its limit in round {status[1]} and is kept as it was before: {relation.remedy}",
            RuntimeWarning,
            stacklevel=5,
        )


def refuse_others(relation: Any, tasks: Sequence[Hashable]) -> None:
    """Refuse tasks that are not those of a relation, each with its number: ValueError."""
    if list(tasks) != list(relation.known_tasks):
        raise ValueError(f"the tasks are not those of its {type(relation).__name__}")


def refuse_unknown(relation: Any, known: Index, tasks: Sequence[Hashable]) -> None:
    """Refuse tasks that a relation does not have: ValueError naming the first."""
    for task in tasks:
        if task not in known.numbers:
            shown = ", ".join(map(repr, known.labels[:5]))
            raise ValueError(f"task {task!r} is unknown to {type(relation).__name__}, which has {shown} ...")


_LEVELS = ByLevels()

#: The binding of each form of relation.
FORMS: Mapping[str, ModelBinding] = {
    "levels": _LEVELS,
    "repelling levels": _LEVELS,
    "intercepts": ByIntercepts(),
    "columns": ByColumns(),
    "learned": ByLearning(),
}
