"""The forms of relations bound to the models that can learn under them: by levels, by columns of M, by learning M."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .hypotheses import linear
from .index import Index
from .numeric.models import Columns
from .relations.cache import column_cache
from .relations.groups import GroupIndex
from .relations.learned import check_size, matrix_of
from .state import State


class Nested:
    """What a relation of nested groups says whatever it is bound to."""

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        for task in new:
            relation.path(task)

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> NDArray[np.float64]:
        return np.asarray(relation.relation_matrix(state.tasks.labels, among))


class Columnwise:
    """What a relation that gives columns of M says whatever it is bound to."""

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        refuse_unknown(relation, state.tasks, new)

    @staticmethod
    def ghosts(state: State, tasks: Sequence[Hashable]) -> Any:
        raise ValueError(f"task {tasks[0]!r} is not among the tasks of the relation")

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> NDArray[np.float64]:
        return np.asarray(relation.relation_matrix(None if among is None else [state.tasks.labels[i] for i in among]))


class ByLevels(Nested):
    """A relation of nested groups bound to a model of raw sums."""

    @staticmethod
    def start(learner: Any, tasks: Sequence[Hashable], features: int, dense: bool, length: int | None) -> State:
        sharing = GroupIndex(learner.relation)
        index = Index(tasks)
        levels = sharing.extend(sharing.empty(), 0, index.sequence, 0)
        own = len(index) if learner.relation.specific else 1
        model = learner.hypothesis.grouped(levels, len(sharing), own, features, dense)
        return State(model, index, sharing, features, dense)

    @staticmethod
    def extend(learner: Any, state: State, new: Sequence[Hashable], features: int) -> None:
        model = state.model
        if new:
            known = linear.levels_of(model)
            levels = state.sharing.extend(known, len(state.tasks), new, state.rounds)
            model = model if levels is known else linear.with_levels(model, levels)
        tasks = len(state.tasks) + len(new) if learner.relation.specific else 1
        state.take(learner.hypothesis.fit(model, len(state.sharing), tasks, features, state.dense))
        state.tasks.add(new)
        state.features = features

    @staticmethod
    def share(relation: Any, state: State) -> NDArray[np.float64]:
        levels = linear.levels_of(state.model)
        own, paths = levels.own[: len(state.tasks)], levels.paths[: len(state.tasks)]
        held = np.append(levels.weight, 0.0)[np.where(paths < 0, len(levels.weight), paths)].sum(axis=1)
        return np.asarray(held / (own + held))

    @staticmethod
    def ghosts(state: State, tasks: Sequence[Hashable]) -> Any:
        return linear.as_unseen(state.model, state.sharing.ghosts(linear.levels_of(state.model), tasks))

    @staticmethod
    def provide(state: State, i: int, entries: int) -> None:
        state.model = linear.make_room(state.model, i, entries)

    @staticmethod
    def notice(relation: Any, state: State) -> None:
        """Nothing to tell: M does not change."""

    @staticmethod
    def lean(model: Any) -> Any:
        return linear.without_copies(model)

    @staticmethod
    def rebound(learner: Any, model: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        return linear.with_levels(model, linear.levels_of(model)), GroupIndex(learner.relation, tasks)


class ByColumns(Columnwise):
    """A relation that gives columns of M, bound to a model of the weights themselves."""

    @staticmethod
    def start(learner: Any, tasks: Sequence[Hashable], features: int, dense: bool, length: int | None) -> State:
        known = Index(learner.relation.known_tasks)
        refuse_unknown(learner.relation, known, tasks)
        cache = column_cache(learner.relation.source())
        model = learner.hypothesis.spread(cache.columns, len(known), features, dense)
        return State(model, known, cache, features, dense)

    @staticmethod
    def extend(learner: Any, state: State, new: Sequence[Hashable], features: int) -> None:
        refuse_unknown(learner.relation, state.tasks, new)
        state.model = learner.hypothesis.fit(state.model, 0, len(state.tasks), features, state.dense)
        state.features = features

    @staticmethod
    def share(relation: Any, state: State) -> NDArray[np.float64]:
        return mean_share(np.asarray(relation.relation_matrix()))

    @staticmethod
    def provide(state: State, i: int, entries: int) -> None:
        if state.sharing.columns.slot[i] < 0:
            state.sharing.fetch(i)
            state.model = linear.with_columns(state.model, state.sharing.columns)
        state.model = linear.make_room(state.model, i, entries)

    @staticmethod
    def notice(relation: Any, state: State) -> None:
        """Nothing to tell: M does not change."""

    @staticmethod
    def lean(model: Any) -> Any:
        return linear.with_columns(model, Columns(np.zeros((0, 0)), np.zeros(0, np.int64)))

    @staticmethod
    def rebound(learner: Any, model: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        cache = column_cache(learner.relation.source())
        return linear.with_columns(model, cache.columns), cache


class ByLearning:
    """A relation that is learned from the weights, which are all kept."""

    @staticmethod
    def start(learner: Any, tasks: Sequence[Hashable], features: int, dense: bool, length: int | None) -> State:
        index = Index(tasks)
        relation = learner.relation.begin(index.labels, features, length)
        model = learner.hypothesis.learned(relation, len(index), features, dense)
        return State(model, index, None, features, dense)

    @staticmethod
    def extend(learner: Any, state: State, new: Sequence[Hashable], features: int) -> None:
        tasks = [*state.tasks.labels, *new]
        relation = learner.relation.grow(linear.relation_of(state.model), tasks, features)
        model = learner.hypothesis.fit(state.model, 0, len(tasks), features, state.dense)
        state.model = linear.with_relation(model, relation)
        state.tasks.add(new)
        state.features = features

    @staticmethod
    def ghosts(state: State, tasks: Sequence[Hashable]) -> Any:
        return linear.nothing(state.model, len(tasks))

    @staticmethod
    def provide(state: State, i: int, entries: int) -> None:
        """Nothing is ever missing: every weight has its place and every column of M is state."""

    @staticmethod
    def notice(relation: Any, state: State) -> None:
        tell_outgrown(relation, linear.relation_of(state.model).status)

    @staticmethod
    def lean(model: Any) -> Any:
        return linear.without_copies(model)

    @staticmethod
    def rebound(learner: Any, model: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        return linear.with_relation(model, linear.relation_of(model)), None

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        check_size(relation, len(state.tasks) + len(new))

    @staticmethod
    def share(relation: Any, state: State) -> NDArray[np.float64]:
        return mean_share(matrix_of(linear.relation_of(state.model)))

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> NDArray[np.float64]:
        M = matrix_of(linear.relation_of(state.model))
        return M if among is None else M[np.ix_(among, among)]


def mean_share(M: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much each task has in common with the others in the mean, M taken to a unit diagonal."""
    scale = np.sqrt(np.diag(M))
    return np.asarray((np.abs(M / scale / scale[:, None]).sum(axis=1) - 1.0) / max(len(M) - 1, 1))


def tell_outgrown(relation: Any, status: NDArray[np.int64]) -> None:
    """Say once that a learned relation is held because it outgrew its limit."""
    if status[0] == 1:
        status[0] = 2
        warnings.warn(
            f"{relation!r} outgrew its limit in round {status[1]} and is kept as it was before: {relation.remedy}",
            RuntimeWarning,
            stacklevel=5,
        )


def refuse_unknown(relation: Any, known: Index, tasks: Sequence[Hashable]) -> None:
    """Refuse tasks that a relation does not have: ValueError naming the first."""
    for task in tasks:
        if task not in known.numbers:
            shown = ", ".join(map(repr, known.labels[:5]))
            raise ValueError(f"task {task!r} is unknown to {type(relation).__name__}, which has {shown} ...")


FORMS: dict[str | None, Any] = {
    "levels": ByLevels,
    "repelling levels": ByLevels,
    "columns": ByColumns,
    "learned": ByLearning,
}
