"""Learners with weights w = ∇Φ*(v), the gradient of a potential at the sum v of all updates."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.records import Rows, split_unseen, weights_of
from coterie._compiled.primal.stream import Moves
from coterie._compiled.weights.table import Weights
from coterie.types import Part, Tree
from coterie.updates.potentials import ExponentiatedGradient, PNorm

from .block_learner import BoundLearner
from .contract import Batch, Codes, Margins
from .state import State


class PotentialLearner(BoundLearner):
    """Perceptron with weights ∇Φ*(v), the gradient of a potential at the sum v of all updates.

    They are recomputed after every mistake.

    For the parameters see :class:`BoundLearner`.
    """

    def __init__(self, hypothesis: Part, relation: Part) -> None:
        super().__init__(hypothesis, relation)
        # T is made of all of M, and potentials are of all weights and may depend on the number of features
        own = not isinstance(hypothesis.potential, (PNorm, ExponentiatedGradient))  # whose gradient may be refused
        self.traits = replace(self.traits, task_changes_all=True, feature_changes_all=True, can_refuse=own)

    def _resized(self, state: State, changed: bool) -> Tree:
        return self.hypothesis.resized(state.model, self.matrix(state), state.features)

    def _without(self, state: State, dropped: Dropped, groups: Codes) -> Tree:
        state.model = state.model._replace(raw=dropped.moved_copy(state.model.raw))
        return self._resized(state, True)

    def weights(self, state: State) -> Weights:
        """Return the weights as a dense array, shape (n_tasks, n_features)."""
        return np.array(state.model.weights)

    def score(self, state: State, rows: Rows, codes: Codes) -> Margins:
        """Return the margins of records of known tasks, at O(nnz) each."""
        margins = np.zeros(len(codes))
        self._predict(state.model, split_unseen(rows, state.features)[0], codes, margins)
        return margins

    def score_unseen(self, state: State, rows: Rows, tasks: Sequence[Hashable]) -> Margins:
        """Return the margins of records of unseen tasks, as if they were known tasks: O(K² d) per task."""
        margins, places = np.zeros(len(tasks)), dict.fromkeys(tasks)
        for task in places:
            rows_of_task = np.array([t for t, other in enumerate(tasks) if other == task])
            model = self._with_one(state, task)
            scores, known = np.zeros(len(rows_of_task)), split_unseen(rows, state.features)[0]
            self._predict(model, known.take(rows_of_task), np.full(len(rows_of_task), state.known), scores)
            margins[rows_of_task] = scores
        return margins

    def _with_one(self, state: State, task: Hashable) -> Tree:
        row, own = self.adapter.unseen(state, [task], np.arange(state.known))
        M = np.block([[self.matrix(state), row.T], [row, own[:, None]]])
        # ∇Φ couples all tasks, so a task more changes W everywhere: predictions need a model that has it
        return self.hypothesis.resized(state.model, M, state.features)

    def _predict(self, model: Tree, rows: Rows, codes: Codes, margins: Margins) -> None:
        for t, i in enumerate(codes.tolist()):
            margins[t] = model.margin(i, rows, t)

    def _learn(self, state: State, batch: Batch, y: Margins, moves: Moves) -> None:
        model, rows, n, delay = state.model, batch.rows, len(batch.tasks), len(batch.tasks) - len(y)
        weights, task = weights_of(rows), batch.tasks.tolist()
        for t in range(len(y)):
            moves.own[t] = model.margin(task[t], rows, t)
            if t + delay < n:
                moves.margins[t + delay] = model.margin(task[t + delay], rows, t + delay) if delay else moves.own[t]
            # a mistake is determined by the weights when the label arrives; the prediction may be older
            if weights[t] > 0.0 and y[t] * moves.own[t] <= 0.0:
                moves.step_sizes[t] = weights[t]
                record = rows.cut(t, t + 1).to_dense(state.features).values[0]
                self.hypothesis.move(model, task[t], weights[t] * y[t] * record)
