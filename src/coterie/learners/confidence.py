"""The round of hypotheses whose weights have variances of their own, and the variances of margins."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.learner import Learner, Margins, known_and_unseen
from coterie.numeric.confidence import variances
from coterie.state import State


class ConfidenceLearner(Learner):
    """A learner that says how sure it is: of a hypothesis with variances, such as the diagonal AROW."""

    def variances(self, state: State, rows: Any, codes: NDArray[np.int64], unseen: Sequence[Hashable]) -> Margins:
        """Variances of the margins of records, codes and ``unseen`` as in :meth:`score_any`: O(nnz · levels) each."""
        return known_and_unseen(state, rows, codes, unseen, self._known_variances, self._unseen_variances)

    def _known_variances(self, state: State, rows: Any, codes: NDArray[np.int64]) -> Margins:
        return _of(state.model, rows, codes)

    def _unseen_variances(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> Margins:
        own = np.array([self.relation.own(len(self.relation.path(task))) for task in tasks])
        return _of(self._bound.ghosts(state, tasks), rows, np.arange(len(tasks))) + own * _squares(rows)


def _of(model: Any, rows: Any, codes: NDArray[np.int64]) -> Margins:
    found = np.zeros(len(codes))
    variances(model, rows, codes, found)
    return found


def _squares(rows: Any) -> Margins:
    if not hasattr(rows, "starts"):
        return np.asarray(np.einsum("td,td->t", rows.values, rows.values, dtype=np.float64))
    record = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
    return np.asarray(np.bincount(record, rows.values.astype(np.float64) ** 2, len(rows.starts) - 1), np.float64)
