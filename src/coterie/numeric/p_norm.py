"""The p-norm Perceptron on (T ⊗ I)φ: O(K² nnz) a mistake, O(nnz) a prediction.

With the raw sums g_i = Σ y x over the mistakes on task i, v = (T ⊗ I) g, and weights

    W = T ∇,    ∇ = sign(v) |v|^(p-1) / ‖v‖_p^(p-2).

The powers are kept relative to a ``scale`` s near ‖v‖_∞, U = sign(v) |v/s|^(p-1), so that no p makes them overflow, and
so is the sum of |v/s|^p. A mistake changes the columns of its record only; all is made anew where s has become unfit,
and where a record has most of the features anyway: NumPy's powers of a whole array are the quickest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .generic import compiled
from .records import begin, end, feature, value

#: |v/s|^p may grow to this before everything is scaled anew, and their sum may fall to so much of its largest.
LARGE, FALLEN = 2.0**64, 0.5
#: A record that has at least one feature of so many is learned by making all anew.
MOST = 3
#: Why the loop stopped.
DONE, UNFIT, WHOLE = range(3)


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


def rescale(model: PNorm) -> None:
    """Take ‖v‖_∞ for the scale, and make the powers and weights anew: O(K² d)."""
    scalars, p = model.scalars, float(model.scalars[3])
    size = np.abs(model.values)
    s = float(size.max(initial=0.0))
    scalars[:3] = s, 0.0, 0.0
    if s > 0.0:
        size /= s
        np.power(size, p - 1.0, out=model.powers)
        scalars[1:3] = np.vdot(size, model.powers)
        np.copysign(model.powers, model.values, out=model.powers)
    else:
        model.powers[:] = 0.0
    np.matmul(model.transform, model.powers, out=model.weights)


def move_whole(model: PNorm, i: int, x: Any) -> None:
    """Add x at task i, all being made anew."""
    model.raw[i] += x
    for j in np.flatnonzero(model.transform[:, i]):
        model.values[j] += model.transform[j, i] * x
    rescale(model)


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
                power = _power(after / s, p)
                model.scalars[1] += power * (after / s) - model.powers[j, k] * (before / s)
                model.powers[j, k] = power
                fits = power * (after / s) <= LARGE
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
def _move(model: Any, i: Any, y: Any, rows: Any, t: Any) -> Any:
    """Learn record t at task i; whether the scale still fits."""
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
            _respread(model, feature(rows, t, k))
    return True


@compiled
def tell(model: Any, rows: Any, tasks: Any, margins: Any) -> None:
    """Margins of records; nothing is learned."""
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
        if y[t] * moves.own[t] <= 0.0:
            moves.taus[t] = 1.0
            if MOST * (end(rows, t) - begin(rows, t)) >= model.values.shape[1]:
                return t, WHOLE
            if not _move(model, tasks[t], y[t], rows, t):
                return t, UNFIT
    return last, DONE
