"""Bases of the learners that go through a stream a block of records at a time."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.numeric.core.arrays import Dropped
from coterie.relations.groups import GroupIndex
from coterie.state import State, copied

from .contract import Batch, Capabilities, Codes, Events, InputShape, Margins, Predictions, UpdateResult, nothing
from .linear import Round, named_by, no_moves
from .sharing import BINDINGS, form_for, mean_share

#: Records in a block.
BLOCK = 128


class BlockLearner(Round):
    """A learner whose model takes a block of records at once."""

    def learn(self, state: State, run: Batch, y: Margins) -> UpdateResult:
        """Predict and learn records; see :meth:`coterie.round.contract.Learner.learn`.

        Raises
        ------
        ValueError
            If a record is refused after all, its kernel's values not being such as a kernel has; see :meth:`hold`.
        """
        m, moves = len(y), self._moves(len(run.tasks))
        self._learn(state, run, y, moves)
        state.rounds += m
        return UpdateResult(
            Predictions(moves.margins).after(run.predictions),
            moves.own[:m],
            moves.step_sizes[:m],
            self._events(moves, m),
        )

    def skip(self, state: State, rounds: int) -> None:
        """End rounds that have no labels: nothing changes but the number of rounds."""
        state.rounds += rounds

    def hold(self, state: State) -> Callable[[], None]:
        """A function that takes back all that was learned since, and the room made, where records may be refused."""
        if not self._refuses(state):
            return nothing
        held = state.sharing
        before = {"model": copied(state.model), "sharing": copy.copy(held) if isinstance(held, GroupIndex) else held}
        return partial(vars(state).update, {**vars(state), **before})

    def _to_saved(self, state: State) -> Any:
        return state.model.to_saved(state.known)

    def _moves(self, n: int) -> Any:
        """Room for the outcome of n rounds: the margins predicted, and the moves made."""
        return no_moves(n)

    def _events(self, moves: Any, m: int) -> Events:
        """What else happened in the m rounds that were learned."""
        return Events()

    def _refuses(self, state: State) -> bool:
        """True if a record may be refused while it is learned."""
        return False

    @abstractmethod
    def _learn(self, state: State, run: Batch, y: Margins, moves: Any) -> None:
        """Learn as many records as there are labels; the number of rounds stays."""


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


def spans(n: int, m: int) -> Iterator[Span]:
    """The blocks of the first m of n records, which have labels."""
    for first in range(0, m, BLOCK):
        yield Span(first, min(first + BLOCK, m), n - m)


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
        form = form_for(hypothesis, relation)
        self.hypothesis, self.relation = hypothesis, relation
        self._bound: Any = BINDINGS[form]
        self.traits = Capabilities(
            weighs=True,
            task_changes_all=getattr(relation, "counts_tasks", False),
            named=named_by(relation),
            fixed=form == "columns",
            cannot_bound="max_tasks cannot be given with this learner: it cannot drop tasks as a stream goes on",
        )

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> State:
        """The state before the first round."""
        sharing, given = self._bound.begin(self.relation, tasks, size.features, length)
        model = self._first_model(given, size.features, size.dense)
        state = State(model, tasks, sharing, size.features, size.dense, len(tasks))
        state.model = self._grown(state, True)
        return state

    def resize(self, state: State, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Make room for the first so many tasks of the index and for so many features; each counts at once."""
        if tasks <= state.known and size.features <= state.features:
            return
        before = self._bound.group_weights(state.model.sharing)
        if tasks > state.known:
            state.model = state.model._replace(sharing=self._bound.extend(self.relation, state, tasks))
            state.known = tasks
        after = self._bound.group_weights(state.model.sharing)
        state.features = max(size.features, state.features)
        state.model = self._grown(state, not np.array_equal(before, after[: len(before)]))

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Take the records of tasks out of the model, the last tasks having their numbers."""
        empty = self._bound.drop(state, dropped, tasks)
        state.known = dropped.left
        state.model = self._without(state, dropped, empty)

    def share(self, state: State) -> NDArray[np.float64]:
        """The part of each task's moves that is shared with others: 0 for independent tasks, 1 for one model of all."""
        return mean_share(self.relation_matrix(state))

    def matrix(self, state: State) -> NDArray[np.float64]:
        """M of a relation that is given, for all tasks known, on the scale that the model learns with, shape (K, K)."""
        every = np.arange(state.known)
        return np.asarray(self._bound.between(state, every, every))

    def _first_model(self, sharing: Any, features: int, dense: bool) -> Any:
        """The model of no record."""
        return self.hypothesis.start(sharing, features, dense)

    @abstractmethod
    def _grown(self, state: State, changed: bool) -> Any:
        """The model with room for the tasks and features of the state; ``changed`` says that M of known tasks did."""

    @abstractmethod
    def _without(self, state: State, dropped: Dropped, groups: Codes) -> Any:
        """The model without the rows of dropped tasks and of groups that have no task any more."""

    def _to_saved(self, state: State) -> Any:
        return super()._to_saved(state)._replace(sharing=self._bound.to_saved(state))

    def _restored(self, model: Any, tasks: Index) -> tuple[Any, Any]:
        sharing, given = self._bound.restored(self.relation, model.sharing, tasks)
        return model._replace(sharing=given), sharing

    def _blank(self, tasks: Index, features: int, dense: bool) -> Sequence[Any]:
        return (self._first_model(self._bound.blank(self.relation), 1, dense),)

    def _check(self, state: State) -> None:
        state.model.sharing.check(self._bound.bounds(state))
        super()._check(state)
