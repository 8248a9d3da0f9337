"""Quasi-additive Perceptron with a potential: O(nnz) per prediction; O(K² d) and one gradient per mistake.

With the raw sums g_i = Σ y x over the mistakes on task i, v = rate (T ⊗ I) g, and weights W = T ∇Φ*(v). Potentials are
Python functions of NumPy arrays; therefore nothing is compiled here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .core.checks import Bounds, require_finite, require_shape
from .core.records import Dense, Rows

Matrix = NDArray[np.float64]
#: ∇Φ* of all weights at once.
Gradient: TypeAlias = Callable[[Matrix], Matrix]


class Mirrored(NamedTuple):
    """Model with weights from a potential: sums g of updates, transformed sums v, and weights W, all (K, d)."""

    raw: Any
    values: Any
    weights: Any
    transform: Any
    sharing: Any

    @classmethod
    def empty(cls, sharing: Any, features: int) -> Self:
        """Return a model without tasks."""
        raw, values, weights = (np.zeros((0, features)) for _ in range(3))
        return cls(raw, values, weights, np.zeros((0, 0)), sharing)

    def to_saved(self, tasks: int) -> Self:
        """Return the model itself; it has no unused capacity."""
        return self

    def check(self, bounds: Bounds) -> None:
        """Raise ValueError for arrays of the wrong shape."""
        for name in ("raw", "values", "weights"):
            require_shape(name, getattr(self, name), bounds.tasks, bounds.features)
            require_finite(name, getattr(self, name))
        require_shape("transform", self.transform, bounds.tasks, bounds.tasks)
        require_finite("transform", self.transform)

    def resized(self, T: Matrix, rate: float, gradient: Gradient, features: int) -> Self:
        """Recompute the model for another K x K transform T, and for this many features: O(K² d)."""
        K, d = self.raw.shape
        raw = np.pad(self.raw, ((0, len(T) - K), (0, features - d)))
        v = rate * (T @ raw)
        return type(self)(raw, v, T @ gradient(v), T, self.sharing)

    def move(self, i: int, x: Matrix, rate: float, gradient: Gradient) -> None:
        """Add the vector x to the sum of updates of task i, and recompute all weights."""
        self.raw[i] += x
        for j in np.flatnonzero(self.transform[:, i]):
            self.values[j] += (rate * self.transform[j, i]) * x
        np.matmul(self.transform, gradient(self.values), out=self.weights)

    def margin(self, i: int, rows: Rows, t: int) -> float:
        """Return the margin of record t of task i: O(nnz)."""
        if isinstance(rows, Dense):
            return float(rows.values[t] @ self.weights[i])
        entries = slice(rows.starts[t], rows.starts[t + 1])
        return float(rows.values[entries] @ self.weights[i, rows.features[entries]])
