"""Learners that go through a stream a block of records at a time, in arrays: what they have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.learner import Margins
from coterie.learners.pairs import PAIRS
from coterie.numeric.asking import EVERY, settle
from coterie.numeric.records import cut, take
from coterie.numeric.stream import Moves
from coterie.numeric.trees import Arrays, flatten, rebuild
from coterie.state import State
from coterie.views import Index

Codes = NDArray[np.int64]

#: Records in a block.
BLOCK = 128


class BlockLearner(ABC):
    """The round for models that take a block at once; it has the methods of :class:`coterie.learner.Learner`."""

    log_odds: float | None = None

    @abstractmethod
    def score(self, state: State, rows: Any, codes: Codes) -> Margins:
        """Margins of records of known tasks; nothing is written."""

    @abstractmethod
    def score_unseen(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> Margins:
        """Margins of records of tasks that nobody has seen: what the relation says of them."""

    @abstractmethod
    def _learn(self, state: State, rows: Any, codes: Codes, y: Margins, span: Span, moves: Moves) -> None:
        """Learn the records of a span, telling those that come late after each of them."""

    def score_any(self, state: State, rows: Any, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of known tasks, and of those with code -1, whose labels are ``unseen`` in their order."""
        if not unseen:
            return self.score(state, rows, codes)
        margins, known, new = np.zeros(len(codes)), np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
        margins[known] = self.score(state, take(rows, known), codes[known])
        margins[new] = self.score_unseen(state, take(rows, new), unseen)
        return margins

    def update_many(
        self, state: State, rows: Any, codes: Codes, y: Margins, last: int | None = None, asker: Any = EVERY
    ) -> Moves:
        """Predict and learn records one after the other; see :meth:`coterie.learner.Learner.update_many`.

        With an asker they go one by one, without the gain of a block.
        """
        n = len(codes)
        moves = Moves(np.zeros(n), np.zeros(n), np.zeros(n))
        last = n if last is None else last
        if asker is not EVERY:
            self._select(state, rows, codes, y, moves, last, asker)
            return moves
        before = self._kept(state)
        try:
            for first in range(0, last, BLOCK):
                self._learn(state, rows, codes, y, Span(first, min(first + BLOCK, last), n - last), moves)
        except BaseException:
            self._undo(state, before)
            raise
        state.rounds += last
        return moves

    def _kept(self, state: State) -> Any:
        """What is needed to take back what records did that are refused after all."""
        return None

    def _undo(self, state: State, before: Any) -> None:
        if before is not None:
            state.model = before

    def _select(self, state: State, rows: Any, codes: Codes, y: Margins, moves: Moves, last: int, asker: Any) -> None:
        for s in range(last):
            told = s + len(codes) - last
            moves.margins[told] = self.score(state, cut(rows, told, told + 1), codes[told : told + 1])[0]
            settle(asker, codes, moves.margins, told, told + 1)
            if asker.answer[s] > 0:
                made = self.update_many(state, cut(rows, s, s + 1), codes[s : s + 1], y[s : s + 1])
                moves.own[s], moves.taus[s] = made.own[0], made.taus[0]
            else:
                self.pass_by(state)

    def update_one(self, state: State, rows: Any, i: int, y: float) -> None:
        """Learn one record of the known task i."""
        self.update_many(state, rows, np.array([i]), np.array([y]))

    def score_one(self, state: State, rows: Any, i: int) -> float:
        """Margin of one record of the known task i."""
        return float(self.score(state, rows, np.array([i]))[0])

    def pass_by(self, state: State, rounds: int = 1) -> None:
        """End rounds whose labels nobody saw: nothing changes but their number."""
        state.rounds += rounds

    def inform(self, state: State, chance: Any) -> None:  # noqa: B027 - nothing to tell: no relation is learned
        """Bring what an asker's chance holds of a learned relation up to date; there is none."""


class Span:
    """The records ``first`` to ``last`` of a run (not included), and how many rounds late their labels are."""

    __slots__ = ("delay", "first", "last")

    def __init__(self, first: int, last: int, delay: int) -> None:
        self.first, self.last, self.delay = first, last, delay

    def places(self, n: int) -> Codes:
        """The records to learn, then those to tell meanwhile if labels come late, of n in all."""
        learned = np.arange(self.first, self.last)
        if not self.delay:
            return learned
        return np.concatenate([learned, np.arange(self.first + self.delay, min(self.last + self.delay, n))])

    def __len__(self) -> int:
        return self.last - self.first


class FixedLearner(BlockLearner):
    """A block learner under a fixed relation; a subclass says what its model is and how it grows.

    Parameters
    ----------
    hypothesis : part
        What is stored.
    relation : part
        How tasks share; a fixed one.

    Raises
    ------
    TypeError
        If the relation is learned, or none; hypothesis and relation are both named.
    """

    def __init__(self, hypothesis: Any, relation: Any) -> None:
        spec.require_part("relation", relation, "HalfUpdate()")
        form = getattr(relation, "form", None)
        if form not in hypothesis.forms:
            raise TypeError(
                f"{type(hypothesis).__name__} cannot learn under {relation!r}: "
                f"it needs a relation by {' or '.join(hypothesis.forms)}"
            )
        self.hypothesis, self.relation = hypothesis, relation
        self._bound: Any = PAIRS[form]

    @abstractmethod
    def _grown(self, state: State, changed: bool) -> Any:
        """The model with room for the tasks and features of the state; whether M changed between known tasks."""

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> State:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        index, sharing, given = self._bound.start(self.relation, tasks, features, length)
        state = State(self.hypothesis.start(given, features, dense), index, sharing, features, dense)
        state.model = self._grown(state, True)
        return state

    def check_tasks(self, state: State, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that the relation does not know: ValueError naming the first."""
        self._bound.check(self.relation, state, [task for task in tasks if task not in state.tasks.numbers])

    def fit_tasks(self, state: State, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for the labels that are new, and for so many features."""
        new = [task for task in dict.fromkeys(tasks) if task not in state.tasks.numbers]
        self._bound.check(self.relation, state, new)
        if not new and features <= state.features:
            return
        changed = False
        if new:
            before = self._weights_of_groups(state)
            state.model = state.model._replace(sharing=self._bound.extend(self.relation, state, new))
            state.tasks.add(new)
            changed = not np.array_equal(before, self._weights_of_groups(state)[: len(before)])
        state.features = max(features, state.features)
        state.model = self._grown(state, changed)

    @staticmethod
    def _weights_of_groups(state: State) -> NDArray[np.float64]:
        """What M is made of for relations that change as tasks arrive."""
        levels = state.model.sharing
        return levels.weight[levels.members > 0].copy() if hasattr(levels, "members") else np.zeros(0)

    def matrix(self, state: State) -> NDArray[np.float64]:
        """M for all tasks known, as it is learned with, shape (K, K)."""
        every = np.arange(len(state.tasks))
        return np.asarray(self._bound.between(state, every, every))

    def share(self, state: State) -> NDArray[np.float64]:
        """How much of each task's moves is shared with others: 0 for independent tasks, 1 for one model of all."""
        M = np.asarray(self.relation_matrix(state))
        length = np.sqrt(np.diag(M))
        return np.asarray((np.abs(M / length / length[:, None]).sum(axis=1) - 1.0) / max(len(M) - 1, 1))

    def relation_matrix(self, state: State, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """A⁻¹ on the paper's scale for the tasks known, or for those ``among`` them with these numbers."""
        return np.asarray(self._bound.relation_matrix(self.relation, state, among))

    def dump(self, state: State) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        shape, arrays = flatten(state.model._replace(sharing=self._bound.lean(state.model.sharing)))
        return {"shape": shape, "features": state.features, "dense": state.dense, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> State:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        model = rebuild(data["shape"], arrays)
        sharing, given = self._bound.rebound(self.relation, model.sharing, tasks)
        model = model._replace(sharing=given)
        return State(model, Index(tasks), sharing, data["features"], data["dense"], data["rounds"])


def copied(model: Any) -> Any:
    """The model with arrays of its own."""
    if isinstance(model, tuple):
        return type(model)(*map(copied, model))
    return model.copy() if isinstance(model, np.ndarray) else model
