"""Prediction intervals of regressors."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.types import Inputs, Record, Tasks


class PredictsIntervals:
    """Mixin of regressors with prediction intervals."""

    def predict_interval(self: Any, X: Inputs, task: Tasks | None = None, level: float = 0.9) -> NDArray[np.float64]:
        """Return prediction intervals that contain labels with probability ``level``, shape (n, 2).

        Parameters
        ----------
        X, task
            See :meth:`predict`.
        level : float
            The probability, between 0 and 1; both tails have the same probability.

        Returns
        -------
        ndarray, shape (n, 2)
            Lower and upper ends.

        Raises
        ------
        ValueError
            For a level that is not between 0 and 1, and for the reasons of :meth:`predict`.
        """
        return np.asarray(self._fitted_model().predict(X, task).intervals(level)[1])

    def predict_interval_one(self: Any, x: Record, task: Hashable = None, level: float = 0.9) -> tuple[float, float]:
        """Return the prediction interval of one dictionary; see :meth:`predict_interval`."""
        low, high = self._fitted_model().read_one(x, task).intervals(level)[1][0].tolist()
        return low, high
