"""The round of the p-norm Perceptron under a fixed relation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.learner import Margins
from coterie.learners.block import Codes, FixedLearner
from coterie.numeric.p_norm import DONE, UNFIT, WHOLE, learn, move_whole, rescale, tell
from coterie.numeric.records import Csr, Dense, take
from coterie.numeric.stream import Moves
from coterie.state import State


class PNormLearner(FixedLearner):
    """A p-norm hypothesis and a fixed relation joined into one round; the rule is the Perceptron's."""

    def _grown(self, state: State, changed: bool) -> Any:
        return self.hypothesis.grown(state.model, self.matrix(state), state.features)

    def weights(self, state: State) -> NDArray[np.floating[Any]]:
        """The weights that predictions use, one row a task, dense: margins of the unit vectors."""
        model, every = state.model, np.eye(state.features)
        made = np.zeros((len(state.tasks), state.features))
        for i, row in enumerate(made):
            tell(model, Dense(every), np.full(len(every), i), row)
        return made

    def score(self, state: State, rows: Any, codes: Codes) -> Margins:
        """Margins of records of known tasks: O(nnz) each; nothing is written."""
        margins = np.zeros(len(codes))
        tell(state.model, _within(rows, state.features), codes, margins)
        return margins

    def score_unseen(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> Margins:
        """Margins of records of tasks that nobody has seen: those they had if they had been known, O(K² d) a task."""
        margins, places = np.zeros(len(tasks)), dict.fromkeys(tasks)
        for task in places:
            some = np.array([t for t, each in enumerate(tasks) if each == task])
            model = self._with_one(state, task)
            told = np.zeros(len(some))
            tell(model, take(_within(rows, state.features), some), np.full(len(some), len(state.tasks)), told)
            margins[some] = told
        return margins

    def _with_one(self, state: State, task: Hashable) -> Any:
        row, own = self._bound.unseen(state, [task], np.arange(len(state.tasks)))
        M = np.block([[self.matrix(state), row.T], [row, own[:, None]]])
        return self.hypothesis.grown(state.model, M, state.features)

    def _learn(self, state: State, rows: Any, codes: Codes, y: Margins, last: int, moves: Moves) -> None:
        t = 0
        while t < last:
            t, why = learn(state.model, rows, codes, y, t, last, len(codes) - last, moves)
            if why == UNFIT:
                rescale(state.model)
            elif why == WHOLE:
                move_whole(state.model, int(codes[t]), y[t] * _row(rows, t, state.features))
            t += why != DONE


def _row(rows: Any, t: int, features: int) -> NDArray[np.float64]:
    """Record t as an array of all features."""
    if not hasattr(rows, "starts"):
        return np.asarray(rows.values[t], np.float64)
    entries = slice(rows.starts[t], rows.starts[t + 1])
    return np.asarray(np.bincount(rows.features[entries], rows.values[entries], features), np.float64)


def _within(rows: Any, features: int) -> Any:
    """The records without features that the model has never had."""
    if hasattr(rows, "starts") and rows.features.size and int(rows.features.max()) >= features:
        kept = rows.features < features
        starts = np.concatenate([[0], np.cumsum(kept)])[rows.starts]
        return Csr(rows.values[kept], rows.features[kept], starts)
    return rows
