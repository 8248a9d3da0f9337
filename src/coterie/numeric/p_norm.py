"""The p-norm Perceptron on (T ⊗ I)φ, compiled: O(K² nnz) a mistake, O(nnz) a prediction.

With the raw sums g_i = Σ y x over the mistakes on task i, v = (T ⊗ I) g, and weights

    W = T ∇,    ∇ = sign(v) |v|^(p-1) / ‖v‖_p^(p-2).

The powers are kept relative to a ``scale`` s near ‖v‖_∞, U = sign(v) |v/s|^(p-1), so that no p makes them overflow, and
so is the sum of |v/s|^p. A mistake changes the columns of its record only; all is made anew where s has become unfit.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .generic import compiled
from .records import begin, end, feature, value

#: |v/s|^p may grow to this before everything is scaled anew, and their sum may fall to so much of its largest.
LARGE, FALLEN = 2.0**64, 0.5


class PNorm(NamedTuple):
    """Raw sums g, v, powers U and weights T U, all (K, d); T (K, K); and of scalars s, Σ|v/s|^p, its largest, and p."""

    raw: Any
    values: Any
    powers: Any
    weights: Any
    transform: Any
    scalars: Any
    sharing: Any


@compiled
def _factor(scalars: Any) -> Any:
    """What the weights T U are to be multiplied with: s / (Σ|v/s|^p)^(1 - 2/p)."""
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
def rescale(model: Any) -> None:
    """Take ‖v‖_∞ for the scale, and make the powers and weights anew: O(K² d)."""
    scalars, p = model.scalars, model.scalars[3]
    s = 0.0
    for v in model.values.flat:
        s = max(s, abs(v))
    scalars[0], scalars[1] = s, 0.0
    for j in range(model.values.shape[0]):
        for k in range(model.values.shape[1]):
            v = model.values[j, k] / s if s > 0.0 else 0.0
            model.powers[j, k] = _power(v, p)
            scalars[1] += abs(v) ** p
    scalars[2] = scalars[1]
    model.weights[:] = np.dot(model.transform, model.powers)


@compiled
def _add_column(model: Any, i: Any, k: Any, c: Any) -> Any:
    """Move the weights of feature k by c at task i; whether the scale still fits."""
    s, p = model.scalars[0], model.scalars[3]
    model.raw[i, k] += c
    fits = s > 0.0
    for j in range(model.values.shape[0]):
        if model.transform[j, i] != 0.0:
            before, after = model.values[j, k], model.values[j, k] + c * model.transform[j, i]
            model.values[j, k] = after
            if fits:
                model.powers[j, k] = _power(after / s, p)
                grown = abs(after / s) ** p
                model.scalars[1] += grown - abs(before / s) ** p
                fits = grown <= LARGE
    return fits


@compiled
def _respread(model: Any, k: Any) -> None:
    """Column k of T U."""
    K = model.transform.shape[0]
    for l in range(K):  # noqa: E741 - a task
        total = 0.0
        for j in range(K):
            total += model.transform[l, j] * model.powers[j, k]
        model.weights[l, k] = total


@compiled
def _move(model: Any, i: Any, y: Any, rows: Any, t: Any) -> None:
    fits = True
    for k in range(begin(rows, t), end(rows, t)):
        if value(rows, t, k) != 0.0:
            fits = _add_column(model, i, feature(rows, t, k), y * value(rows, t, k)) and fits
    scalars = model.scalars
    if not fits or not scalars[1] >= FALLEN * scalars[2]:
        rescale(model)
        return
    scalars[2] = max(scalars[2], scalars[1])
    for k in range(begin(rows, t), end(rows, t)):
        if value(rows, t, k) != 0.0:
            _respread(model, feature(rows, t, k))


@compiled
def tell(model: Any, rows: Any, tasks: Any, margins: Any) -> None:
    """Margins of records; nothing is learned."""
    for t in range(tasks.size):
        margins[t] = _product(model, tasks[t], rows, t)


@compiled
def learn(model: Any, rows: Any, tasks: Any, y: Any, first: int, last: int, delay: int, moves: Any) -> None:
    """Learn the records ``first`` to ``last``, each after the record ``delay`` rounds later was predicted."""
    for t in range(first, last):
        moves.own[t] = _product(model, tasks[t], rows, t)
        if delay == 0:
            moves.margins[t] = moves.own[t]
        elif t + delay < tasks.size:
            moves.margins[t + delay] = _product(model, tasks[t + delay], rows, t + delay)
        if y[t] * moves.own[t] <= 0.0:
            moves.taus[t] = 1.0
            _move(model, tasks[t], y[t], rows, t)
