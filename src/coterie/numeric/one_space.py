"""Weights of views that share one space: a matrix V of one vector a view, and W = V F under a norm of V."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .generic import apart, compiled, when
from .points import ROUNDING
from .potentials import absorb, elapse, refresh, squared, summed
from .records import begin, end, feature, value
from .views import averaged, current, length, move


class DenseMatrix(NamedTuple):
    """V, one row a view, with W = V F at hand, and the sum of W over the rounds before it last changed."""

    weights: Any
    cached: Any
    total: Any


class WideMatrix(NamedTuple):
    """The same for more views than features: W = F V with F of the d × d products VV'."""

    weights: Any
    cached: Any
    total: Any


class SparseMatrix(NamedTuple):
    """V, one row a feature; W = V F is never formed. ``twin`` gathers the moves times the ``past`` at their round."""

    weights: Any
    twin: Any


# -- dense ----------------------------------------------------------------------------------------------------------


@compiled
def _record(rows: Any, t: int, K: int) -> Any:
    return rows.values[t].reshape(K, rows.values.shape[1] // K)


@when(current, WideMatrix)
@when(current, DenseMatrix)
def _current_dense(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    return np.dot(store.cached.reshape(-1), rows.values[t])


@when(averaged, WideMatrix)
@when(averaged, DenseMatrix)
def _averaged_dense(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    before = np.dot(store.total.reshape(-1), rows.values[t])
    gap = potential.clock[0] - potential.clock[1]
    return before + gap * np.dot(store.cached.reshape(-1), rows.values[t])


@when(length, DenseMatrix)
def _length_dense(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    X = _record(rows, t, store.weights.shape[0])
    return squared(potential, np.dot(X, X.T).reshape(-1))


@apart
def _move_dense(store: Any, potential: Any, c: Any, rows: Any, t: Any) -> None:
    K = store.weights.shape[0]
    X = _record(rows, t, K)
    store.total[:] += (potential.clock[0] - potential.clock[1]) * store.cached
    elapse(potential)
    absorb(potential, c, np.dot(store.weights, X.T).reshape(-1), np.dot(X, X.T).reshape(-1))
    store.weights[:] += c * X
    refresh(potential)
    store.cached[:] = np.dot(potential.factor.reshape(K, K), store.weights)


@when(length, WideMatrix)
def _length_wide(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    X = _record(rows, t, store.weights.shape[0])
    return squared(potential, np.dot(X.T, X).reshape(-1))


@apart
def _move_wide(store: Any, potential: Any, c: Any, rows: Any, t: Any) -> None:
    K, d = store.weights.shape
    X = _record(rows, t, K)
    store.total[:] += (potential.clock[0] - potential.clock[1]) * store.cached
    elapse(potential)
    absorb(potential, c, np.dot(store.weights.T, X).reshape(-1), np.dot(X.T, X).reshape(-1))
    store.weights[:] += c * X
    refresh(potential)
    store.cached[:] = np.dot(store.weights, potential.factor.reshape(d, d))


# -- sparse ---------------------------------------------------------------------------------------------------------


@when(current, SparseMatrix)
def _current_sparse(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    K, margin = store.weights.shape[1], 0.0
    for b in range(K):
        r = t * K + b
        for k in range(begin(rows, r), end(rows, r)):
            j, weight = feature(rows, r, k), 0.0
            for a in range(K):
                weight += store.weights[j, a] * potential.factor[a * K + b]
            margin += value(rows, r, k) * weight
    return margin


@when(averaged, SparseMatrix)
def _averaged_sparse(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    K, margin, size = store.weights.shape[1], 0.0, 0.0
    for b in range(K):
        r = t * K + b
        for k in range(begin(rows, r), end(rows, r)):
            j, weight = feature(rows, r, k), 0.0
            for a in range(K):
                weight += store.weights[j, a] * summed(potential, a * K + b)
            margin += value(rows, r, k) * (weight - store.twin[j, b])
            size += abs(value(rows, r, k)) * (abs(weight) + abs(store.twin[j, b]))
    return margin if abs(margin) > ROUNDING * size else 0.0


@when(length, SparseMatrix)
def _length_sparse(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    K = store.weights.shape[1]
    own = np.zeros(K * K)
    for a in range(K):
        for b in range(a, K):
            own[a * K + b] = own[b * K + a] = _common(rows, t * K + a, t * K + b)
    return squared(potential, own)


@compiled
def _common(rows: Any, r: int, s: int) -> float:
    """The product of two rows whose features are in order."""
    i, j, total = begin(rows, r), begin(rows, s), 0.0
    while i < end(rows, r) and j < end(rows, s):
        if feature(rows, r, i) == feature(rows, s, j):
            total += value(rows, r, i) * value(rows, s, j)
            i += 1
            j += 1
        elif feature(rows, r, i) < feature(rows, s, j):
            i += 1
        else:
            j += 1
    return total


@apart
def _move_sparse(store: Any, potential: Any, c: Any, rows: Any, t: Any) -> None:
    K = store.weights.shape[1]
    elapse(potential)
    for b in range(K):
        r = t * K + b
        for k in range(begin(rows, r), end(rows, r)):
            j, x = feature(rows, r, k), c * value(rows, r, k)
            for a in range(K):  # views before b have moved already: their products with this record are in V
                potential.gram[a, b] += x * store.weights[j, a]
                store.twin[j, a] += x * potential.past[b * K + a]
            potential.gram[b, b] += x * (store.weights[j, b] + x)
            store.weights[j, b] += x
        for a in range(K):
            potential.gram[b, a] = potential.gram[a, b]
    refresh(potential)


# an eigendecomposition a move: what that costs to compile is compiled once for all rules and tellers
when(move, DenseMatrix)(lambda store, potential, c, rows, t: _move_dense(store, potential, c, rows, t))
when(move, WideMatrix)(lambda store, potential, c, rows, t: _move_wide(store, potential, c, rows, t))
when(move, SparseMatrix)(lambda store, potential, c, rows, t: _move_sparse(store, potential, c, rows, t))
