"""Bases of the learners that go through a stream a block of records at a time."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.bindings import Stop, arrivals, mean_share
from coterie.index import Index
from coterie.learner import Margins, Round, form_for, no_moves
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.records import cut, widths_of
from coterie.numeric.primal.asking import EVERY, decide_all
from coterie.state import State

from .bindings import FORMS

Codes = NDArray[np.int64]

#: Records in a block.
BLOCK = 128


class BlockLearner(Round):
    """A learner whose model takes a block of records at once."""

    def update_many(
        self,
        state: State,
        rows: Any,
        codes: Codes,
        y: Margins,
        last: int | None = None,
        asker: Any = EVERY,
        new: Sequence[Hashable] = (),
    ) -> Any:
        """Predict and learn records one after the other; see :meth:`coterie.learner.Learner.update_many`.

        With an asker they go one by one, without the gain of a block.

        Raises
        ------
        ValueError
            If a record is refused after all, its kernel's values not being such as a kernel has; nothing is learned.
        """
        moves, last = self._moves(len(codes)), len(codes) if last is None else last
        if asker is not EVERY:
            self._select(state, rows, codes, y, moves, last, asker, new)
            return moves
        before = self._backup(state)
        kept = state.tasks, state.sharing, state.rounds
        kept = copy.deepcopy(kept) if new and before is not None else kept
        try:
            done = 0
            for stop, tasks, width in self._stops(state, rows, codes, new, len(codes) - last):
                self._stretch(state, rows, codes, y, (done, stop, last), moves)
                self.fit_tasks(state, tasks, width)
                done = stop
            self._stretch(state, rows, codes, y, (done, last, last), moves)
        except BaseException:
            if before is not None:
                state.model, (state.tasks, state.sharing, state.rounds) = before, kept
            raise
        return moves

    def _to_saved(self, state: State) -> Any:
        return state.model.to_saved(len(state.tasks))

    def _stops(
        self, state: State, rows: Any, codes: Codes, new: Sequence[Hashable], delay: int
    ) -> Iterator[tuple[int, Sequence[Hashable], int]]:
        """Yield the rounds before which new tasks or features need room, these tasks, and the number of features."""
        known = met = len(state.tasks)
        stops: Sequence[Stop] = [Stop(0, known + len(new), state.features)][: len(new)]
        if (new and self._counts_tasks) or self.counts_features:
            widths = widths_of(rows) if self.counts_features else None
            stops = arrivals(codes, known, delay, widths, state.features)
        for stop in stops:
            yield stop.round, new[met - known : stop.tasks - known], stop.width
            met = stop.tasks

    @property
    def _counts_tasks(self) -> bool:
        """True if a new task changes the predictions for known tasks."""
        return True

    def _stretch(
        self, state: State, rows: Any, codes: Codes, y: Margins, span: tuple[int, int, int], moves: Any
    ) -> None:
        """Learn the records of a span, of a run that ends with the ``last`` label; all tasks are known meanwhile."""
        first, stop, last = span
        if first == 0 and stop == last:
            self._learn(state, rows, codes, y, last, moves)
        elif first < stop:
            end = stop + len(codes) - last
            some = type(moves)(*(each[first:end] for each in moves))
            self._learn(state, cut(rows, first, end), codes[first:end], y[first:end], stop - first, some)
        state.rounds += stop - first

    def _moves(self, n: int) -> Any:
        """Room for the outcome of n rounds: the margins predicted, and the moves made."""
        return no_moves(n)

    def _backup(self, state: State) -> Any:
        """A copy of the model to go back to where records may be refused on the way, else None."""
        return None

    @abstractmethod
    def _learn(self, state: State, rows: Any, codes: Codes, y: Margins, last: int, moves: Any) -> None:
        """Learn the records before ``last``; with late labels, record s after record s + delay was predicted."""

    def _select(
        self,
        state: State,
        rows: Any,
        codes: Codes,
        y: Margins,
        moves: Any,
        last: int,
        asker: Any,
        new: Sequence[Hashable],
    ) -> None:
        stops = {s: (met, width) for s, met, width in self._stops(state, rows, codes, new, len(codes) - last)}
        for s in range(last):
            if s in stops:
                self.fit_tasks(state, *stops[s])
            ahead = s + len(codes) - last
            moves.margins[ahead] = self.score(state, cut(rows, ahead, ahead + 1), codes[ahead : ahead + 1])[0]
            self.inform(state, asker.chance)
            decide_all(asker, codes, moves.margins, ahead, ahead + 1)
            if asker.answer[s] > 0:
                made = self.update_many(state, cut(rows, s, s + 1), codes[s : s + 1], y[s : s + 1])
                for whole, one in zip(moves[1:], made[1:], strict=True):
                    whole[s] = one[0]
            else:
                self.skip_unlabelled(state)

    def update_one(self, state: State, rows: Any, i: int, y: float) -> None:
        """Learn one record of the known task i."""
        self.update_many(state, rows, np.array([i]), np.array([y]))

    def score_one(self, state: State, rows: Any, i: int) -> float:
        """Margin of one record of the known task i."""
        return float(self.score(state, rows, np.array([i]))[0])

    def skip_unlabelled(self, state: State, rounds: int = 1) -> None:
        """End rounds that have no labels: nothing changes but the number of rounds."""
        state.rounds += rounds

    def inform(self, state: State, chance: Any) -> None:
        """Do nothing: there is no learned relation on which a chance of asking could depend."""


class Span:
    """The records ``first`` to ``last`` of a run (not included), and how many rounds late their labels are."""

    __slots__ = ("delay", "first", "last")

    def __init__(self, first: int, last: int, delay: int) -> None:
        self.first, self.last, self.delay = first, last, delay

    def places(self, n: int) -> Codes:
        """The places of the records to learn, then of those to predict meanwhile if labels come late, of n in all."""
        learned = np.arange(self.first, self.last)
        if not self.delay:
            return learned
        return np.concatenate([learned, np.arange(self.first + self.delay, min(self.last + self.delay, n))])

    def __len__(self) -> int:
        return self.last - self.first


def spans(n: int, last: int) -> Iterator[Span]:
    """The blocks of n records whose labels come for those before ``last``."""
    for first in range(0, last, BLOCK):
        yield Span(first, min(first + BLOCK, last), n - last)


class BoundLearner(BlockLearner):
    """A block learner whose model reads a relation by pairs of tasks.

    Parameters
    ----------
    hypothesis : part
        What is stored.
    relation : part
        How tasks share.

    Raises
    ------
    TypeError
        If the hypothesis cannot learn under the relation, or it is none; both are named.
    """

    def __init__(self, hypothesis: Any, relation: Any) -> None:
        self._bound = FORMS[form_for(hypothesis, relation)]
        self.hypothesis, self.relation = hypothesis, relation

    @property
    def _counts_tasks(self) -> bool:
        return self.relation.form == "learned" or getattr(self.relation, "counts_tasks", False)

    def share(self, state: State) -> NDArray[np.float64]:
        """The part of each task's moves that is shared with others: 0 for independent tasks, 1 for one model of all."""
        return mean_share(self.relation_matrix(state))

    def _to_saved(self, state: State) -> Any:
        return super()._to_saved(state)._replace(sharing=self._bound.to_saved(state))

    def _from_saved(self, model: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        sharing, given = self._bound.from_saved(self.relation, model.sharing, tasks)
        return model._replace(sharing=given), sharing

    def drop_tasks(self, state: State, dropped: Dropped) -> None:
        """Take the records of tasks out of the model, the last tasks taking their numbers."""
        empty = self._bound.drop_tasks(state, dropped)
        state.model = self._without(state, dropped, empty)

    @abstractmethod
    def _without(self, state: State, dropped: Dropped, groups: Codes) -> Any:
        """The model without the rows of dropped tasks and of groups that have no task any more."""

    def _blank(self, tasks: Index, features: int, dense: bool) -> Sequence[Any]:
        return (self._first_model(self._bound.blank(self.relation), 1, dense),)

    def _check(self, state: State) -> None:
        state.model.sharing.check(self._bound.bounds(state))
        super()._check(state)

    def _started(self, tasks: Sequence[Hashable], features: int, dense: bool, length: int | None) -> State:
        index, sharing, given = self._bound.start(self.relation, tasks, features, length)
        return State(self._first_model(given, features, dense), index, sharing, features, dense)

    def _first_model(self, sharing: Any, features: int, dense: bool) -> Any:
        """The model of no record."""
        return self.hypothesis.start(sharing, features, dense)

    def _meet(self, state: State, new: Sequence[Hashable]) -> None:
        """Make room for new tasks in the relation's part of the state."""
        state.model = state.model._replace(sharing=self._bound.extend(self.relation, state, new))
        state.tasks.add(new)


class FixedLearner(BoundLearner):
    """A block learner under a fixed relation; a subclass defines its model and how this grows."""

    @abstractmethod
    def _grown(self, state: State, changed: bool) -> Any:
        """The model with room for the tasks and features of the state; ``changed`` says that M of known tasks did."""

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> State:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        state = self._started(tasks, features, dense, length)
        state.model = self._grown(state, True)
        return state

    def fit_tasks(self, state: State, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks, given by their labels, and for so many features."""
        new, changed = state.tasks.new_among(tasks), False
        self._bound.check(self.relation, state, new)
        if not new and features <= state.features:
            return
        if new:
            before = self._bound.group_weights(state.model.sharing)
            self._meet(state, new)
            after = self._bound.group_weights(state.model.sharing)
            changed = not np.array_equal(before, after[: len(before)])
        state.features = max(features, state.features)
        state.model = self._grown(state, changed)

    def matrix(self, state: State) -> NDArray[np.float64]:
        """M for all tasks known, on the scale that the model learns with, shape (K, K)."""
        every = np.arange(len(state.tasks))
        return np.asarray(self._bound.between(state, every, every))


def copied(model: Any) -> Any:
    """A deep copy of a model."""
    if isinstance(model, tuple):
        return type(model)(*map(copied, model))
    return model.copy() if isinstance(model, np.ndarray) else model
