"""The p-norm Perceptron on (T ⊗ I)φ: O(K² nnz) a mistake, O(nnz) a prediction.

With the raw sums g_i = Σ y x over the mistakes on task i, v = (T ⊗ I) g, and weights

    W = T ∇,    ∇ = sign(v) |v|^(p-1) / ‖v‖_p^(p-2).

The powers are kept relative to a ``scale`` s near ‖v‖_∞, U = sign(v) |v/s|^(p-1), so that no p makes them overflow, and
so is the sum of |v/s|^p. A mistake changes the columns of its record only; all is computed anew where s has become
unfit, and where a record has most of the features anyway: NumPy's powers of a whole array are the quickest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.checks import Bounds, require, require_finite, require_shape
from coterie.numeric.core.generic import compiled
from coterie.numeric.core.records import begin, end, feature, value, weight

Matrix = NDArray[np.float64]

#: |v/s|^p may grow to this before everything is scaled anew, and their sum may fall to so much of its largest.
LARGE, FALLEN = 2.0**64, 0.5
#: A record that has at least one feature of so many is learned by computing all anew.
MOST = 3
#: Why the loop stopped.
DONE, UNFIT, WHOLE = range(3)


class PNorm(NamedTuple):
    """Raw sums g, v, powers U and weights T U, all (K, d); T (K, K); scalars s, Σ|v/s|^p, the largest it was, and p."""

    raw: Any
    values: Any
    powers: Any
    weights: Any
    transform: Any
    scalars: Any
    sharing: Any

    @classmethod
    def empty(cls, sharing: Any, features: int) -> Self:
        """Make a model of no task."""
        raw, values, powers, weights = (np.zeros((0, features)) for _ in range(4))
        return cls(raw, values, powers, weights, np.zeros((0, 0)), np.zeros(4), sharing)

    def to_saved(self, tasks: int) -> Self:
        """Return the model: it has room for nothing more."""
        return self

    def check(self, bounds: Bounds) -> None:
        """Refuse arrays of other tasks or features, and a norm that is none: ValueError."""
        K = bounds.tasks
        for name in ("raw", "values", "powers", "weights"):
            require_shape(name, getattr(self, name), K, bounds.features)
        require_shape("transform", self.transform, K, K)
        require_finite("transform", self.transform)
        require_shape("scalars", self.scalars, 4)
        require(np.isfinite(self.scalars[3]) and self.scalars[3] >= 2.0, f"p is {self.scalars[3]!r}")

    def grown(self, T: Matrix, p: float, features: int) -> Self:
        """Make the model of the same moves for another T, as many tasks as it has, and so many features: O(K² d)."""
        K, d = self.raw.shape
        raw = np.pad(self.raw, ((0, len(T) - K), (0, features - d)))
        scalars = np.array([0.0, 0.0, 0.0, p])
        model = type(self)(raw, T @ raw, np.zeros_like(raw), np.zeros_like(raw), T, scalars, self.sharing)
        model.rescale()
        return model

    def rescale(self) -> None:
        """Take ‖v‖_∞ for the scale, and compute powers and weights anew: O(K² d)."""
        scalars, p = self.scalars, float(self.scalars[3])
        size = np.abs(self.values)
        s = float(size.max(initial=0.0))
        scalars[:3] = s, 0.0, 0.0
        if s > 0.0:
            size /= s
            np.power(size, p - 1.0, out=self.powers)
            scalars[1:3] = np.vdot(size, self.powers)
            np.copysign(self.powers, self.values, out=self.powers)
        else:
            self.powers[:] = 0.0
        np.matmul(self.transform, self.powers, out=self.weights)

    def move_whole(self, i: int, x: NDArray[np.float64]) -> None:
        """Add x at task i, and compute all else anew."""
        self.raw[i] += x
        for j in np.flatnonzero(self.transform[:, i]):
            self.values[j] += self.transform[j, i] * x
        self.rescale()


@compiled
def _factor(scalars: Any) -> Any:
    """Return the factor of the weights T U: s / (Σ|v/s|^p)^(1 - 2/p)."""
    s, total, p = scalars[0], scalars[1], scalars[3]
    return s / total ** (1.0 - 2.0 / p) if total > 0.0 else 0.0


@compiled
def _product(model: Any, i: Any, rows: Any, t: Any) -> Any:
    total = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        total += model.weights[i, feature(rows, t, k)] * value(rows, t, k)
    return total * _factor(model.scalars)


@compiled
def _power(v: Any, p: Any) -> Any:
    return math.copysign(abs(v) ** (p - 1.0), v) if v != 0.0 else 0.0


@compiled
def _add_column(model: Any, i: Any, k: Any, c: Any) -> Any:
    """Move the weights of feature k by c at task i; return whether the scale still fits."""
    s, p = model.scalars[0], model.scalars[3]
    model.raw[i, k] += c
    fits = s > 0.0
    for j in range(model.values.shape[0]):
        if model.transform[j, i] != 0.0:
            before, after = model.values[j, k], model.values[j, k] + c * model.transform[j, i]
            model.values[j, k] = after
            if fits:
                power = _power(after / s, p)
                model.scalars[1] += power * (after / s) - model.powers[j, k] * (before / s)
                model.powers[j, k] = power
                fits = power * (after / s) <= LARGE
    return fits


@compiled
def _update_weights(model: Any, k: Any) -> None:
    """Compute column k of T U anew."""
    K = model.transform.shape[0]
    for l in range(K):  # noqa: E741 - a task
        total = 0.0
        for j in range(K):
            total += model.transform[l, j] * model.powers[j, k]
        model.weights[l, k] = total


@compiled
def _move(model: Any, i: Any, y: Any, rows: Any, t: Any) -> Any:
    """Learn record t at task i; return whether the scale still fits."""
    fits = True
    for k in range(begin(rows, t), end(rows, t)):
        if value(rows, t, k) != 0.0:
            fits = _add_column(model, i, feature(rows, t, k), y * value(rows, t, k)) and fits
    scalars = model.scalars
    if not fits or not scalars[1] >= FALLEN * scalars[2]:
        return False
    scalars[2] = max(scalars[2], scalars[1])
    for k in range(begin(rows, t), end(rows, t)):
        if value(rows, t, k) != 0.0:
            _update_weights(model, feature(rows, t, k))
    return True


@compiled
def predict(model: Any, rows: Any, tasks: Any, margins: Any) -> None:
    """Write the margins of records; nothing is learned."""
    for t in range(tasks.size):
        margins[t] = _product(model, tasks[t], rows, t)


@compiled
def learn(model: Any, rows: Any, tasks: Any, y: Any, first: int, last: int, delay: int, moves: Any) -> Any:
    """Learn the records ``first`` to ``last``, each after the record ``delay`` rounds later was predicted.

    Returns the record at which it stopped, and why: ``DONE``; ``UNFIT`` where it was learned and all has to be scaled
    anew; ``WHOLE`` where it was not learned yet, and has most of the features.
    """
    for t in range(first, last):
        moves.own[t] = _product(model, tasks[t], rows, t)
        if delay == 0:
            moves.margins[t] = moves.own[t]
        elif t + delay < tasks.size:
            moves.margins[t + delay] = _product(model, tasks[t + delay], rows, t + delay)
        if weight(rows, t) > 0.0 and y[t] * moves.own[t] <= 0.0:
            moves.taus[t] = weight(rows, t)
            if MOST * (end(rows, t) - begin(rows, t)) >= model.values.shape[1]:
                return t, WHOLE
            if not _move(model, tasks[t], moves.taus[t] * y[t], rows, t):
                return t, UNFIT
    return last, DONE
