"""The learner of hypotheses whose weights have variances, and the variances of margins."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.learner import Learner, Margins, known_and_unseen
from coterie.numeric.core.records import Rows
from coterie.numeric.primal.arow import margin_variances
from coterie.state import State


class ConfidenceLearner(Learner):
    """A learner of a hypothesis with variances, such as the diagonal AROW, that gives variances of margins."""

    has_variances = True

    def variances(self, state: State, rows: Rows, codes: NDArray[np.int64], unseen: Sequence[Hashable]) -> Margins:
        """Variances of the margins of records, codes and ``unseen`` as in :meth:`score_any`: O(nnz · levels) each."""
        return known_and_unseen(state, rows, codes, unseen, self._known_variances, self._unseen_variances)

    def _known_variances(self, state: State, rows: Rows, codes: NDArray[np.int64]) -> Margins:
        return _of(state.model, rows, codes)

    def _unseen_variances(self, state: State, rows: Rows, tasks: Sequence[Hashable]) -> Margins:
        own = np.array([self.relation.own(len(self.relation.path(task))) for task in tasks])
        return _of(self._bound.unseen_task_model(state, tasks), rows, np.arange(len(tasks))) + own * rows.squares()


def _of(model: Any, rows: Rows, codes: NDArray[np.int64]) -> Margins:
    found = np.zeros(len(codes))
    margin_variances(model, rows, codes, found)
    return found
