"""The learner whose tasks learn from each other's records, from some more than from others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.bindings import mean_share
from coterie.learner import Margins
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.records import Rows, weights_of
from coterie.numeric.primal.stream import Moves
from coterie.state import State

from .block import Codes, FixedLearner
from .mirror import entries


class SmoothedLearner(FixedLearner):
    """Smoothed relations, one record after the other; the relation is what was learned."""

    @property
    def _counts_tasks(self) -> bool:
        return True

    @property
    def weighs(self) -> bool:
        """True: losses and steps have the weight as a factor."""
        return True

    def check_bounded(self) -> None:
        """Accept ``max_tasks``: a task that is dropped takes its weights and relations along."""

    def _grown(self, state: State, changed: bool) -> Any:
        return state.model.grown(len(state.tasks), state.features)

    def _without(self, state: State, dropped: Dropped, groups: Codes) -> Any:
        return state.model.without(dropped)

    def score(self, state: State, rows: Rows, codes: Codes) -> Margins:
        """Margins of records of known tasks: O(nnz) each; nothing is written."""
        model = state.model
        return np.array([model.margin(i, *entries(rows, t, state.features)) for t, i in enumerate(codes.tolist())])

    def score_unseen(self, state: State, rows: Rows, tasks: Sequence[Hashable]) -> Margins:
        """Margins of records of tasks that nobody has seen: those of a task without records."""
        return self.score(state, rows, np.full(len(tasks), -1))

    def _learn(self, state: State, rows: Rows, codes: Codes, y: Margins, last: int, moves: Moves) -> None:
        model, held, tasks, delay = state.model, self.hypothesis, codes.tolist(), len(codes) - last
        steps, weights = (float(held.step), float(held.rate)), weights_of(rows)
        for t in range(last):
            record = entries(rows, t, state.features)
            moves.own[t] = model.margin(tasks[t], *record)
            if not delay:
                moves.margins[t] = moves.own[t]
            else:
                ahead = entries(rows, t + delay, state.features)
                moves.margins[t + delay] = model.margin(tasks[t + delay], *ahead)
            weight = float(weights[t])
            moves.taus[t] = model.learn(tasks[t], float(y[t]), *record, float(held.share), steps, weight)

    def weights(self, state: State) -> NDArray[np.floating[Any]]:
        """The weights that predictions use, one row a task, dense."""
        return np.asarray(state.model.weights[:-1].copy())

    def relation_matrix(self, state: State, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """How much a record of one task counts for another, on average of both directions; 1 - share by itself."""
        share, R = float(self.hypothesis.share), state.model.relations[:-1]
        made = share * (R + R.T) / 2 + (1.0 - share) * np.eye(len(R))
        return np.asarray(made if among is None else made[np.ix_(among, among)])

    def share(self, state: State) -> NDArray[np.float64]:
        """The part of each task's moves that is shared with others."""
        return mean_share(self.relation_matrix(state))
