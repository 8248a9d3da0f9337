"""Kernel learners with support vectors: the kernel values of a block are computed at once, then records are learned.

The kernel values are those of the next records with the support vectors and with each other
(:mod:`coterie.models.kernel_values`). The loop, in ``_compiled/dual/kernel_loop.py``, processes the records one by one.
When a support vector is added or removed it updates the kernel values of the later records, so that mistakes are those
of learning one record at a time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.points import Points, piece
from coterie._compiled.core.records import Rows, place_unseen, weights_of
from coterie._compiled.dual.eviction import EvictionQueue
from coterie._compiled.dual.expansion import AT, BORN, COLUMN, DONE, LACKED, ROOM, SIZE, WORN, Expansion, KernelWork
from coterie._compiled.dual.kernel_loop import Turns, predict, readable, walk
from coterie._compiled.dual.projections import is_due, refresh
from coterie._compiled.dual.stores import widened
from coterie._compiled.weights.table import Weights
from coterie.kernels import Precomputed
from coterie.tasks.index import Index
from coterie.types import Part, Tree
from coterie.updates.weights.dual import Dual

from .block_learner import BoundLearner, Span
from .contract import Batch, Codes, InputShape, Margins
from .kernel_values import NONE, SPARSE_BLOCK, BlockValues, with_block_records, work_with
from .state import State


class KernelLearner(BoundLearner):
    """Kernel Perceptron on a budget, with a relation between tasks.

    Parameters
    ----------
    hypothesis : Dual
        Kernel and budget.
    relation : part
        A fixed relation between tasks.

    Raises
    ------
    TypeError
        If the relation is learned, or not a relation.
    """

    hypothesis: Dual

    def __init__(self, hypothesis: Dual, relation: Part) -> None:
        super().__init__(hypothesis, relation)
        self.traits = replace(
            self.traits,
            # the coefficients of all tasks determine which support vector SharedProjection removes
            task_changes_all=self.traits.task_changes_all or hypothesis.budget.gram == "plain",
            counts_unseen=True,
            beyond_features="support vectors",
            cannot_drop=_why_not_dropped(hypothesis, relation),
            can_refuse=not hypothesis.kernel.trusted,
            by_round=isinstance(hypothesis.kernel, Precomputed),
        )

    # -- the state ----------------------------------------------------------------------------------------------------

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> State:
        """Return the initial state for these tasks and records of the shape ``size``."""
        state = super().init(tasks, size, length)
        self._note_top(state)
        return state

    def resize(self, state: State, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state for exactly this many tasks and features."""
        known = state.known
        super().resize(state, tasks, size, counted)
        if state.known > known:
            self._note_top(state)

    def _resized(self, state: State, changed: bool) -> Expansion:
        model: Expansion = state.model
        if state.features > model.store.features:
            model = model._replace(store=model.store.with_features(state.features))
        if changed and self.hypothesis.budget.gram == "multitask":
            self._refresh(state, model)
        return model

    def _without(self, state: State, dropped: Dropped, groups: Codes) -> Expansion:
        model: Expansion = state.model.drop_tasks(dropped, groups)
        return model

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Remove the support vectors of ``tasks``; the tasks with the largest numbers take the free numbers."""
        super().drop(state, dropped, tasks)
        if self.hypothesis.budget.gram is not None:
            self._refresh(state, state.model)

    def weights(self, state: State) -> Weights:
        """Raise AttributeError: a nonlinear kernel has no weights of features.

        Raises
        ------
        AttributeError
            Always.
        """
        raise AttributeError("a kernel model has support vectors, not a weight for every feature")

    def _first_model(self, sharing: Tree, features: int, dense: bool) -> Expansion:
        paths: Codes | None = self.adapter.paths(sharing)
        return self.hypothesis.start(sharing, paths, features, dense)

    def _note_top(self, state: State) -> None:
        """Store the largest diagonal entry of M so far in the model if its budget depends on it."""
        # ‖ψ‖² = M_ii k(x, x): budgets whose decay is derived for records of length 1 need the largest so far, as M may
        # shrink when tasks come
        if self.hypothesis.budget.uses_diagonal:
            top = state.model.memory.top
            top[0] = max(top[0], self.adapter.top(state))

    # -- predictions --------------------------------------------------------------------------------------------------

    def score(self, state: State, rows: Rows, codes: Codes) -> Margins:
        """Return the margins of records of the known tasks ``codes``, at one kernel value per support vector."""
        return self._predict(state, state.model, rows, codes)

    def score_unseen(self, state: State, rows: Rows, tasks: Sequence[Hashable]) -> Margins:
        """Return the margins of records of unseen tasks, predicted from known tasks by the relation."""
        model = state.model._replace(sharing=self.adapter.unseen_sharing(state, tasks))
        return self._predict(state, model, rows, np.arange(len(tasks)))

    def _predict(self, state: State, model: Expansion, rows: Rows, codes: Codes) -> Margins:
        margins, size = np.zeros(len(codes)), int(model.support.counts[SIZE])
        if size == 0 or len(codes) == 0:
            return margins
        points = self._points(state, rows)
        support = widened(model.points(), points.features)
        for first in range(0, len(codes), SPARSE_BLOCK):
            part, part_margins = codes[first : first + SPARSE_BLOCK], margins[first : first + SPARSE_BLOCK]
            values = np.zeros((len(part), size))
            self.hypothesis.kernel.values(piece(points, first, first + len(part)), support, values)
            work = work_with((values, NONE), (NONE, NONE), np.zeros((3, size)), 0)
            while predict(readable(model), work, values, part, part_margins) == COLUMN:
                model = self._fetched(state, model, int(work.cursor[LACKED]))
        return margins

    def _points(self, state: State, rows: Rows) -> Points:
        rows = place_unseen(rows, state.features)
        points: Points = state.model.store.convert(rows, state.rounds + np.arange(rows.n_records))
        return points

    def _fetched(self, state: State, model: Expansion, i: int) -> Expansion:
        """Compute column i of the relation's matrix M, and return the model with it."""
        state.sharing.fetch(i)
        state.model = state.model._replace(sharing=state.sharing.columns)
        return model._replace(sharing=state.sharing.columns)

    # -- learning -----------------------------------------------------------------------------------------------------

    def _moves(self, n: int) -> Turns:
        return Turns(np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, bool), np.full(n, -1, np.int64))

    def _learn(self, state: State, batch: Batch, y: Margins, moves: Turns) -> None:
        first, m = 0, len(y)
        values = BlockValues(self.hypothesis, self._points(state, batch.rows), weights_of(batch.rows), state.dense)
        while first < m:
            span = Span(first, min(first + values.most, m), len(batch.tasks) - m)
            first = self._learn_span(state, batch.tasks, y, span, moves, values)

    def _learn_span(self, state: State, codes: Codes, y: Margins, span: Span, turns: Turns, values: BlockValues) -> int:
        """Learn the records of a block until memory is full; return the index of the first one not learned."""
        first, delay, n = span.first, span.delay, len(span)
        points, weights = values.points, values.weights
        paths, budget = self.adapter.paths(state.model.sharing), self.hypothesis.budget
        state.model = self.hypothesis.with_room(state.model, n, paths, state.known)
        block, pending = piece(points, first, first + n), piece(points, first + delay, first + delay + n)
        work = values.work(state.model, block, pending if delay else piece(points, 0, 0))
        work.cursor[BORN] = state.rounds + first
        while True:
            why = walk(state.model.without_records(), work, codes, y, weights, first, n, delay, turns)
            if why in (DONE, WORN):
                break
            self._provide(state, work, why)
        state.model = with_block_records(state.model, block, work)
        # rank-one updates of the inverse Gram matrix accumulate rounding errors, so it is factored again at times
        if why == WORN or (budget.gram is not None and is_due(state.model.support)):
            self._refresh(state, state.model)
        return first + int(work.cursor[AT])

    def _provide(self, state: State, work: KernelWork, why: int) -> None:
        """Compute a missing column of M or enlarge the arrays; ``why`` is the reason why the loop stopped."""
        if why == COLUMN:
            self._fetched(state, state.model, int(work.cursor[LACKED]))
        if why == ROOM:
            state.model = state.model._replace(memory=state.model.memory.with_more_rows())

    def _refresh(self, state: State, model: Expansion) -> None:
        """Recompute the inverse Gram matrix of ``model`` in place, with the M of the state."""
        if model.support.counts[SIZE]:
            is_multitask = self.hypothesis.budget.gram == "multitask"
            refresh(model, self.hypothesis.kernel, self._shares(state) if is_multitask else None)

    def _shares(self, state: State) -> NDArray[np.float64]:
        """Return the relation's matrix M for the tasks of the support vectors."""
        support = state.model.support
        tasks = support.tasks[: support.counts[SIZE]]
        return np.asarray(self.adapter.between(state, tasks, tasks))


def _why_not_dropped(hypothesis: Dual, relation: Part) -> str:
    """Return the reason why tasks cannot be dropped (a learned relation, a Forgetron's sums); '' if they can."""
    if not isinstance(hypothesis.budget.memory(relation.form), EvictionQueue):
        return ""
    return (
        f"a kernel model with {relation!r} and {hypothesis.budget!r} cannot forget a task: the changes by its support "
        "vectors cannot be undone; train a new model without it"
    )
