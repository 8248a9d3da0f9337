"""The round: a learner joins a hypothesis, a relation and a rule, none of which knows the others.

m   = score(state, z)              the margin
tau = rule(m, y, ...)              how far to move; 0.0 means that nothing changes
state <- add(state, z, tau, M)     spread the move over the tasks through M
M <- adapt(M, gram)                only where the relation is learned
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .hypotheses import linear
from .numeric.entries import Entries
from .numeric.models import Columns
from .numeric.records import Csr, take
from .numeric.stream import Moves, learn, predict
from .numeric.trees import Arrays, flatten, rebuild
from .relations.cache import column_cache
from .relations.groups import GroupIndex
from .relations.learned import check_size, matrix_of
from .views import Index

Margins = NDArray[np.float64]


@dataclass
class State:
    """All that is learned: a tree of named arrays, and the labels that number its rows."""

    model: Any
    tasks: Index
    sharing: Any
    features: int
    dense: bool
    rounds: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays; a piece of memory that two of them show counts once."""
        return sum({id(_owner(array)): _owner(array).nbytes for array in _arrays(self.model)}.values())


def _arrays(model: Any) -> Iterator[NDArray[Any]]:
    for held in model:
        if isinstance(held, tuple):
            yield from _arrays(held)
        elif isinstance(held, np.ndarray):
            yield held


def _owner(array: NDArray[Any]) -> NDArray[Any]:
    return _owner(array.base) if isinstance(array.base, np.ndarray) else array


class Learner:
    """A hypothesis, a relation and a rule joined into one round.

    Parameters
    ----------
    hypothesis : part
        What is stored, such as :class:`coterie.hypotheses.Linear` or a wrapper around it.
    relation : part
        How tasks share.
    rule : part
        When and how far to move.

    Raises
    ------
    TypeError
        If the hypothesis cannot be moved under the relation or by the rule; both are named.
    """

    def __init__(self, hypothesis: Any, relation: Any, rule: Any) -> None:
        form = getattr(relation, "form", None)
        _require(hypothesis, form in hypothesis.forms, f"learn under {relation!r}", "a relation", hypothesis.forms)
        move = getattr(rule, "move", None)
        _require(hypothesis, move in hypothesis.moves, f"move by {rule!r}", "a rule", hypothesis.moves)
        self.hypothesis, self.relation, self.rule = hypothesis, relation, rule
        self._rule = rule.compiled()
        self._bound = _FORMS[form]
        self._one = Entries()

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> State:
        """The state before the first round.

        Parameters
        ----------
        tasks : sequence of labels
            Tasks known from the start; those that the relation itself names are added.
        features : int
            Width of the records expected.
        dense : bool
            Whether records come as dense arrays, so that storing every weight wastes nothing.
        length : int, optional
            How many rounds there will be, where somebody knows.
        """
        state: State = self._bound.start(self, tasks, features, dense, length)
        return state

    @property
    def log_odds(self) -> float | None:
        """What margins are to be multiplied with to be log-odds; None where they are no such thing."""
        return self.rule.log_odds  # type: ignore[no-any-return]

    def check_tasks(self, state: State, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that the relation does not know: ValueError naming the first."""
        self._bound.check(self.relation, state, [task for task in tasks if task not in state.tasks.numbers])

    def share(self, state: State) -> NDArray[np.float64]:
        """How much of each task's moves is shared with others: 0 for independent tasks, 1 for one model of all."""
        return np.asarray(self._bound.share(self.relation, state))

    def fit_tasks(self, state: State, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for the labels that are new, and for so many features; all or nothing."""
        new = [task for task in dict.fromkeys(tasks) if task not in state.tasks.numbers]
        if new or features > state.features:
            self._bound.extend(self, state, new, max(features, state.features))

    def dump(self, state: State) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        shape, arrays = flatten(self._bound.lean(state.model))
        return {"shape": shape, "features": state.features, "dense": state.dense, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> State:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        model, sharing = self._bound.rebound(self, rebuild(data["shape"], arrays), tasks)
        return State(model, Index(tasks), sharing, data["features"], data["dense"], data["rounds"])

    def score(self, state: State, rows: Any, codes: NDArray[np.int64]) -> Margins:
        """Margins of records of known tasks: O(nnz · levels) each; nothing is written."""
        margins = np.zeros(len(codes))
        predict(state.model, rows, codes, 0, len(codes), margins)
        return margins

    def score_any(self, state: State, rows: Any, codes: NDArray[np.int64], unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of known tasks, and of those with code -1, whose labels are ``unseen`` in their order."""
        if not unseen:
            return self.score(state, rows, codes)
        margins = np.zeros(len(codes))
        known, new = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
        margins[known] = self.score(state, take(rows, known), codes[known])
        margins[new] = self.score_unseen(state, take(rows, new), unseen)
        return margins

    def weights(self, state: State) -> NDArray[np.floating[Any]]:
        """The weights that predictions use, one row a task, dense."""
        return linear.weights(state.model, len(state.tasks), state.features)

    def relation_matrix(self, state: State, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """A⁻¹ on the paper's scale for the tasks known, or for those ``among`` them with these numbers."""
        return np.asarray(self._bound.relation_matrix(self.relation, state, among))

    def score_unseen(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> Margins:
        """Margins of records of tasks that nobody has seen: what the relation says of them."""
        margins = np.zeros(len(tasks))
        model = self._bound.ghosts(state, tasks)
        predict(model, rows, np.arange(len(tasks)), 0, len(tasks), margins)
        return margins

    def update_many(
        self, state: State, rows: Any, codes: NDArray[np.int64], y: NDArray[np.float64], last: int | None = None
    ) -> Moves:
        """Predict and learn records one after the other, the last ones only predicted if their labels come late.

        Parameters
        ----------
        state : State
            Changed in place.
        rows : Dense or Csr
            The records.
        codes : ndarray of int64
            Their tasks' numbers, all known.
        y : ndarray of float64
            Their labels, -1.0 or +1.0.
        last : int, optional
            How many of the records have their labels by the end; the others come ``len(codes) - last`` rounds late.
        """
        self._one.forget()
        moves = Moves(np.zeros(len(codes)), np.zeros(len(codes)), np.zeros(len(codes)))
        last = len(codes) if last is None else last
        delay = len(codes) - last
        done = 0
        while True:
            done = learn(state.model, self._rule, rows, codes, y, done, last, delay, moves)
            if done == last:
                break
            self._bound.provide(state, int(codes[done]), _entries(rows, done))
        state.rounds += last
        self._bound.notice(self.relation, state)
        return moves

    def score_one(self, state: State, rows: Csr, i: int) -> float:
        """Margin of one record of the known task i, its values of the hypothesis's type, in some microseconds."""
        return self._one.predict(state.model, rows, i)  # type: ignore[no-any-return]

    def update_one(self, state: State, rows: Csr, i: int, y: float) -> None:
        """Learn one record, as :meth:`update_many` would, without telling what it did."""
        while self._one.learn(state.model, self._rule, rows, i, y) < 0.0:
            self._bound.provide(state, i, len(rows.values))
        state.rounds += 1
        self._bound.notice(self.relation, state)


def _require(hypothesis: Any, fits: bool, what: str, part: str, kinds: Sequence[str]) -> None:
    if not fits:
        raise TypeError(f"{type(hypothesis).__name__} cannot {what}: it needs {part} by {' or '.join(kinds)}")


def _entries(rows: Any, t: int) -> int:
    return int(rows.starts[t + 1] - rows.starts[t]) if hasattr(rows, "starts") else int(rows.values.shape[1])


class _ByLevels:
    """A relation of nested groups bound to a model of raw sums."""

    @staticmethod
    def start(learner: Learner, tasks: Sequence[Hashable], features: int, dense: bool, length: int | None) -> State:
        sharing = GroupIndex(learner.relation)
        index = Index(tasks)
        levels = sharing.extend(sharing.empty(), 0, index.labels, 0)
        own = len(index) if learner.relation.specific else 1
        model = learner.hypothesis.grouped(levels, len(sharing), own, features, dense)
        return State(model, index, sharing, features, dense)

    @staticmethod
    def extend(learner: Learner, state: State, new: Sequence[Hashable], features: int) -> None:
        model = state.model
        levels = state.sharing.extend(linear.levels_of(model), len(state.tasks), new, state.rounds)
        tasks = len(state.tasks) + len(new) if learner.relation.specific else 1
        model = linear.with_levels(model, levels)
        state.model = learner.hypothesis.fit(model, len(state.sharing), tasks, features, state.dense)
        state.tasks.add(new)
        state.features = features

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        for task in new:
            relation.path(task)

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
    def rebound(learner: Learner, model: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        return linear.with_levels(model, linear.levels_of(model)), GroupIndex(learner.relation, tasks)

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> NDArray[np.float64]:
        return np.asarray(relation.relation_matrix(state.tasks.labels, among))


class _ByColumns:
    """A relation that gives columns of M, bound to a model of the weights themselves."""

    @staticmethod
    def start(learner: Learner, tasks: Sequence[Hashable], features: int, dense: bool, length: int | None) -> State:
        known = Index(learner.relation.known_tasks)
        _refuse_unknown(learner.relation, known, tasks)
        cache = column_cache(learner.relation.source())
        model = learner.hypothesis.spread(cache.columns, len(known), features, dense)
        return State(model, known, cache, features, dense)

    @staticmethod
    def extend(learner: Learner, state: State, new: Sequence[Hashable], features: int) -> None:
        _refuse_unknown(learner.relation, state.tasks, new)
        state.model = learner.hypothesis.fit(state.model, 0, len(state.tasks), features, state.dense)
        state.features = features

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        _refuse_unknown(relation, state.tasks, new)

    @staticmethod
    def share(relation: Any, state: State) -> NDArray[np.float64]:
        return _mean_share(np.asarray(relation.relation_matrix()))

    @staticmethod
    def ghosts(state: State, tasks: Sequence[Hashable]) -> Any:
        raise ValueError(f"task {tasks[0]!r} is not among the tasks of the relation")

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
    def rebound(learner: Learner, model: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        cache = column_cache(learner.relation.source())
        return linear.with_columns(model, cache.columns), cache

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> NDArray[np.float64]:
        return np.asarray(relation.relation_matrix(None if among is None else [state.tasks.labels[i] for i in among]))


class _ByLearning:
    """A relation that is learned from the weights, which are all kept."""

    @staticmethod
    def start(learner: Learner, tasks: Sequence[Hashable], features: int, dense: bool, length: int | None) -> State:
        index = Index(tasks)
        relation = learner.relation.begin(index.labels, features, length)
        model = learner.hypothesis.learned(relation, len(index), features, dense)
        return State(model, index, None, features, dense)

    @staticmethod
    def extend(learner: Learner, state: State, new: Sequence[Hashable], features: int) -> None:
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
        status = linear.relation_of(state.model).status
        if status[0] == 1:
            status[0] = 2
            warnings.warn(
                f"{relation!r} outgrew its limit in round {status[1]} and is kept as it was before: {relation.remedy}",
                RuntimeWarning,
                stacklevel=4,
            )

    @staticmethod
    def lean(model: Any) -> Any:
        return linear.without_copies(model)

    @staticmethod
    def rebound(learner: Learner, model: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        return linear.with_relation(model, linear.relation_of(model)), None

    @staticmethod
    def check(relation: Any, state: State, new: Sequence[Hashable]) -> None:
        check_size(relation, len(state.tasks) + len(new))

    @staticmethod
    def share(relation: Any, state: State) -> NDArray[np.float64]:
        return _mean_share(matrix_of(linear.relation_of(state.model)))

    @staticmethod
    def relation_matrix(relation: Any, state: State, among: Sequence[int] | None) -> NDArray[np.float64]:
        M = matrix_of(linear.relation_of(state.model))
        return M if among is None else M[np.ix_(among, among)]


def _mean_share(M: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much each task has in common with the others in the mean, M taken to a unit diagonal."""
    scale = np.sqrt(np.diag(M))
    return np.asarray((np.abs(M / scale / scale[:, None]).sum(axis=1) - 1.0) / max(len(M) - 1, 1))


def _refuse_unknown(relation: Any, known: Index, tasks: Sequence[Hashable]) -> None:
    for task in tasks:
        if task not in known.numbers:
            shown = ", ".join(map(repr, known.labels[:5]))
            raise ValueError(f"task {task!r} is unknown to {type(relation).__name__}, which has {shown} ...")


_FORMS: dict[str | None, Any] = {
    "levels": _ByLevels,
    "repelling levels": _ByLevels,
    "columns": _ByColumns,
    "learned": _ByLearning,
}
