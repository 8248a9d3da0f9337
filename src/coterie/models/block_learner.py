"""Base classes of learners that process a batch in blocks of records."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped
from coterie._compiled.primal.stream import Moves
from coterie.tasks.index import Index
from coterie.types import Part, Tree

from .contract import Batch, Capabilities, Codes, InputShape, Margins, UpdateResult
from .linear_learner import RelationLearner, named_by, result_of
from .relation_adapters import adapt_relation, mean_share
from .state import State

#: Records in a block.
BLOCK = 128


class BlockLearner(RelationLearner):
    """Base class of learners that update their model once for each block of consecutive records."""

    def learn(self, state: State, batch: Batch, y: Margins) -> UpdateResult:
        """Predict and learn records; see :meth:`coterie.models.contract.BaseLearner.learn`.

        Raises
        ------
        ValueError
            If a record has kernel values that no kernel has.
        """
        m, moves = len(y), self._moves(len(batch.tasks))
        self._learn(state, batch, y, moves)
        state.rounds += m
        return result_of(moves, batch, m)

    def skip(self, state: State, rounds: int) -> None:
        """Count ``rounds`` rounds without labels; nothing else changes."""
        state.rounds += rounds

    def _to_saved(self, state: State) -> Tree:
        return state.model.to_saved(state.known)

    def _moves(self, n: int) -> Tree:
        """Allocate the result arrays of n rounds: predicted margins, margins at the update, and step sizes."""
        return Moves(*np.zeros((3, n)))

    @abstractmethod
    def _learn(self, state: State, batch: Batch, y: Margins, moves: Tree) -> None:
        """Learn the first len(y) records of a batch, and write margins and steps to ``moves``.

        The caller updates the number of rounds.
        """


class Span:
    """A block of records, ``first`` to ``last - 1`` of a batch, and the delay of their labels in rounds."""

    __slots__ = ("delay", "first", "last")

    def __init__(self, first: int, last: int, delay: int) -> None:
        self.first, self.last, self.delay = first, last, delay

    def places(self, n: int) -> Codes:
        """Return the indices of the records to learn, then of those to predict before delayed labels.

        N is the batch size.
        """
        learned = np.arange(self.first, self.last)
        if not self.delay:
            return learned
        # label s comes after record s + delay was predicted, so both go in one block
        return np.concatenate([learned, np.arange(self.first + self.delay, min(self.last + self.delay, n))])

    def __len__(self) -> int:
        return self.last - self.first


def spans(n: int, m: int) -> Iterator[Span]:
    """Split the first m of n records, those with labels, into blocks; yield each block as a `Span`."""
    for first in range(0, m, BLOCK):
        yield Span(first, min(first + BLOCK, m), n - m)


class BoundLearner(BlockLearner):
    """Base class of block learners that read the relation's matrix M for pairs of tasks.

    Parameters
    ----------
    hypothesis : part
        The support vectors or weights.
    relation : part
        The relation between tasks.

    Raises
    ------
    TypeError
        If the weights do not support the relation; the message has both.
    """

    def __init__(self, hypothesis: Part, relation: Part) -> None:
        self.adapter = adapt_relation(hypothesis, relation)
        self.hypothesis, self.relation = hypothesis, relation
        self.traits = Capabilities(
            weighs=True,
            task_changes_all=getattr(relation, "counts_tasks", False),
            named=named_by(relation),
            fixed=relation.form == "columns",
            cannot_bound="max_tasks is not supported with this learner, which cannot drop tasks",
        )

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> State:
        """Return the initial state for these tasks and records of the shape ``size``."""
        own, sharing = self.adapter.begin(tasks, size.features, length)
        model = self._first_model(sharing, size.features, size.dense)
        state = State(model, tasks, own, size.features, size.dense, len(tasks))
        state.model = self._resized(state, True)
        return state

    def resize(self, state: State, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state for ``tasks`` tasks and more features; relations count new tasks at once."""
        if tasks <= state.known and size.features <= state.features:
            return
        before = self.adapter.group_weights(state.model.sharing)
        if tasks > state.known:
            state.model = state.model._replace(sharing=self.adapter.extend(state, tasks))
            state.known = tasks
        # relations by b depend on the numbers of tasks: what was derived from M is then computed again
        after = self.adapter.group_weights(state.model.sharing)
        state.features = max(size.features, state.features)
        state.model = self._resized(state, not np.array_equal(before, after[: len(before)]))

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Remove the records of ``tasks`` from the model; the tasks with the largest numbers take the free numbers."""
        empty = self.adapter.drop(state, dropped, tasks)
        state.known = dropped.left
        state.model = self._without(state, dropped, empty)

    def share(self, state: State) -> NDArray[np.float64]:
        """Return the shared fraction of each task's updates: 0 for independent tasks, 1 for one common model."""
        return mean_share(self.relation_matrix(state))

    def matrix(self, state: State) -> NDArray[np.float64]:
        """Return the K x K matrix M = A⁻¹ of all known tasks, as used in updates; A is their interaction matrix."""
        tasks = np.arange(state.known)
        return np.asarray(self.adapter.between(state, tasks, tasks))

    def _first_model(self, sharing: Tree, features: int, dense: bool) -> Tree:
        """Return the initial model for this number of features; ``sharing`` has the arrays of the relation."""
        return self.hypothesis.start(sharing, features, dense)

    @abstractmethod
    def _resized(self, state: State, changed: bool) -> Tree:
        """Return the model resized to fit the state; ``changed`` is True if M changed for known tasks."""

    @abstractmethod
    def _without(self, state: State, dropped: Dropped, groups: Codes) -> Tree:
        """Return the model without the rows of dropped tasks, and without those of ``groups`` left without tasks."""

    def _to_saved(self, state: State) -> Tree:
        return super()._to_saved(state)._replace(sharing=self.adapter.to_saved(state))

    def _restored(self, model: Tree, tasks: Index) -> tuple[Tree, Tree]:
        own, sharing = self.adapter.restore(model.sharing, tasks)
        return model._replace(sharing=sharing), own

    def _blank(self, tasks: Index, features: int, dense: bool) -> Sequence[Tree]:
        return (self._first_model(self.adapter.blank(), 1, dense),)

    def _check(self, state: State) -> None:
        state.model.sharing.check(self.adapter.bounds(state))
        super()._check(state)
