"""Online classifiers whose margins are log-odds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .classifier import OnlineClassifier
from .guard import exclusive


class ProbabilisticClassifier(OnlineClassifier):
    """Base of the online classifiers that have probabilities, p = 1 / (1 + exp(-log-odds))."""

    @exclusive
    def predict_proba(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """The probability of each class, shape (n, 2), columns in the order of ``classes_``.

        Raises
        ------
        AttributeError
            If the margins of what the parameters describe are no log-odds.
        """
        return self._columns(self.decision_function(X, task))

    @exclusive
    def predict_proba_one(self, x: Mapping[str, Any], task: Hashable = None) -> dict[Any, float]:
        """The probability of each label of one record given as a dictionary; empty before anything is learned."""
        if not self.fitted:
            return {}
        columns = self._columns(np.array([self.decision_function_one(x, task)]))
        return dict(zip(self.labels_.ordered, map(float, columns[0]), strict=True))

    def _columns(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        positive, negative = self.probabilities(margins), self.probabilities(-margins)
        if positive is None or negative is None:
            raise AttributeError(f"{self!r} has no probabilities: not all of its margins are log-odds")
        return self._pair(positive, negative)

    def _pair(self, positive: NDArray[np.float64], negative: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(self.labels_.ordered) == 1:
            return np.ones((len(positive), 1))
        return np.column_stack([negative, positive])
