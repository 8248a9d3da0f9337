r"""Smoothed relations: every task learns from the records of the others that it gets wrong, from some more than others.

At a record (x, y) of task i, with the hinge losses ℓ_k = max(0, 1 - y w_k·x) of all tasks on it,

$$w_k \leftarrow w_k + c_k\,[\ell_k > 0]\,y\,x,\qquad
c_k = \mathrm{step}\cdot\begin{cases}1 - s & k = i\\ s\,\eta_{ki} & k \ne i\end{cases},\qquad
\eta_{ki} \leftarrow \eta_{ki}\,e^{-\mathrm{rate}\,\ell_k},$$

after which each row of η, which has no diagonal, is divided by its sum. A last row belongs to no task: it learns
from all tasks as a task without records does, predicts for tasks that nobody has seen, and is what a new task begins
with.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .core.arrays import Dropped
from .core.checks import Bounds, require_finite, require_shape, require_within

Floats = NDArray[np.float64]


class Smoothed(NamedTuple):
    """Weights W (K + 1, d) and relations η (K + 1, K), rows of positive sums over the other tasks."""

    weights: Any
    relations: Any
    sharing: Any

    @classmethod
    def empty(cls, sharing: Any, features: int) -> Self:
        """Make a model of no task."""
        return cls(np.zeros((1, features)), np.zeros((1, 0)), sharing)

    def to_saved(self, tasks: int) -> Self:
        """Return the model: it has room for nothing more."""
        return self

    def check(self, bounds: Bounds) -> None:
        """Refuse arrays of other tasks or features, and relations that are none: ValueError."""
        K = bounds.tasks
        require_shape("weights", self.weights, K + 1, bounds.features)
        require_finite("weights", self.weights)
        require_shape("relations", self.relations, K + 1, K)
        require_within("relations", self.relations, 0.0, 1.0)

    def grown(self, tasks: int, features: int) -> Self:
        """Make room for so many tasks, each beginning as the last row is, with an equal part in all others' rows."""
        W, R = np.pad(self.weights, ((0, 0), (0, features - self.weights.shape[1]))), self.relations
        for K in range(R.shape[1], tasks):
            W = np.vstack([W[:-1], W[-1:], W[-1:]])
            R = np.vstack([R[:-1], R[-1:], R[-1:]])
            others = np.full((K + 2, 1), float(K))  # of a row, beside the newcomer
            others[:K] = K - 1
            R = np.hstack([R * (others / (others + 1.0)), 1.0 / (others + 1.0)])
            R[K] = np.append(self._alone(R[K, :K]), 0.0)
        return self._replace(weights=W, relations=R)

    @staticmethod
    def _alone(row: Floats) -> Floats:
        total = float(row.sum())
        return row / total if total > 0.0 else row

    def without(self, dropped: Dropped) -> Self:
        """Leave out tasks, the last ones taking their numbers."""
        order = dropped.order
        W, R = self.weights[np.append(order, -1)], self.relations[np.append(order, -1)][:, order]
        return self._replace(weights=W, relations=_normalised(R))

    def margin(self, i: int, x: Floats, features: Any) -> float:
        """Return the margin of task i for entries x of these features, of the last row for -1."""
        return float(x @ self.weights[i, features])

    def learn(
        self, i: int, y: float, x: Floats, features: Any, share: float, steps: tuple[float, float], weight: float
    ) -> bool:
        """Learn a record of task i, all of whose losses count so much; return whether it moved anything."""
        step, rate = steps
        losses = weight * np.maximum(0.0, 1.0 - y * (self.weights[:, features] @ x))
        moved = losses > 0.0
        amounts = weight * step * share * self.relations[:, i] * moved
        amounts[i] = weight * step * (1.0 - share) * moved[i]
        if amounts.any():
            change = np.outer(x, amounts * y)
            if isinstance(features, slice):
                self.weights.T[features] += change
            else:
                np.add.at(self.weights.T, features, change)  # a feature may stand twice
        losses[i] = 0.0
        if rate > 0.0 and losses.any():
            self.relations[:, i] *= np.exp(-rate * losses)
            self.relations[:] = _normalised(self.relations)
        return bool(amounts.any())


def _normalised(R: Floats) -> Floats:
    """Rows divided by their sums; those whose entries have all vanished begin anew, alike."""
    sums = R.sum(axis=1, keepdims=True)
    lost = (sums[:, 0] <= 0.0) & (R.shape[1] > 1)
    if lost.any():
        fresh = np.ones_like(R)
        np.fill_diagonal(fresh, 0.0)
        R = np.where(lost[:, None], fresh, R)
        sums = R.sum(axis=1, keepdims=True)
    return np.asarray(R / np.where(sums > 0.0, sums, 1.0))
