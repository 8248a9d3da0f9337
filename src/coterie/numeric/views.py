"""Records of several views and their weights: row t·K + k of the rows is view k of record t.

An absent view is a row without entries, or of zeros: it adds nothing to a margin and learns nothing.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .generic import apart, compiled, generic, when
from .points import ROUNDING
from .potentials import absorb, elapse, refresh, squared, summed
from .records import begin, end, feature, value
from .rules import HingeStep, MistakeStep, calls


class DenseViews(NamedTuple):
    """The blocks of K views side by side, (n, D): view k is columns ``edges[k]`` to ``edges[k + 1]``."""

    values: Any
    edges: Any


when(begin, DenseViews)(lambda rows, r: rows.edges[r % (rows.edges.size - 1)])
when(end, DenseViews)(lambda rows, r: rows.edges[r % (rows.edges.size - 1) + 1])
when(feature, DenseViews)(lambda rows, r, k: k - rows.edges[r % (rows.edges.size - 1)])
when(value, DenseViews)(lambda rows, r, k: rows.values[r // (rows.edges.size - 1), k])


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


class Flat(NamedTuple):
    """v_k from ``offsets[k]`` on, for views of any sizes; ``twin`` as in :class:`SparseMatrix`."""

    weights: Any
    twin: Any
    offsets: Any


class Latest(NamedTuple):
    """Margins are told by the current weights; ``means`` says that of none."""

    means: float


class Mean(NamedTuple):
    """Margins are told by the mean of the weights before each round."""

    means: float


class Primal(NamedTuple):
    """Weights, the norm that shapes them, and which of them predict."""

    store: Any
    potential: Any
    teller: Any


@generic
def current(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    """Margin of record t by the current weights."""


@generic
def averaged(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    """Margin of record t by the mean of the weights before each round so far, times the number of rounds."""


@generic
def length(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    """‖X‖² of record t as a step takes it."""


@generic
def move(store: Any, potential: Any, c: Any, rows: Any, t: Any) -> None:
    """Add c times record t."""


@generic
def tell(teller: Any, store: Any, potential: Any, rows: Any, t: Any, margin: Any) -> Any:
    """The margin that is told, where that by the current weights is given."""


@generic
def stride(rule: Any, store: Any, potential: Any, rows: Any, t: Any, agreement: Any) -> Any:
    """How far record t moves the weights, for which the rule calls."""


@generic
def reach(rule: Any, agreement: Any, squared: Any) -> Any:
    """How far a record of that squared length moves, for which the rule calls."""


when(reach, MistakeStep)(lambda rule, agreement, squared: 1.0)
when(reach, HingeStep)(
    lambda rule, agreement, squared: min(rule.C, (1.0 - agreement) / (squared + rule.ridge)) if squared > 0.0 else 0.0
)
when(stride, MistakeStep)(lambda rule, store, potential, rows, t, agreement: 1.0)
when(stride, HingeStep)(
    lambda rule, store, potential, rows, t, agreement: reach(rule, agreement, length(store, potential, rows, t))
)
when(tell, Latest)(lambda teller, store, potential, rows, t, margin: margin)


@when(tell, Mean)
def _tell_mean(teller: Any, store: Any, potential: Any, rows: Any, t: Any, margin: Any) -> Any:
    return averaged(store, potential, rows, t) / max(potential.clock[0], 1.0)


@compiled
def learn(model: Any, rule: Any, rows: Any, y: Any, last: int, moves: Any) -> None:
    """Learn the first ``last`` records, each after the record y.size - last rounds later was predicted."""
    store, potential, delay = model.store, model.potential, y.size - last
    for s in range(last):
        margin = current(store, potential, rows, s)
        if delay == 0:
            moves.margins[s] = tell(model.teller, store, potential, rows, s, margin)
        elif s + delay < y.size:
            other = current(store, potential, rows, s + delay)
            moves.margins[s + delay] = tell(model.teller, store, potential, rows, s + delay, other)
        moves.own[s] = margin
        potential.clock[0] += 1.0
        if calls(rule, y[s] * margin):
            tau = stride(rule, store, potential, rows, s, y[s] * margin)
            moves.taus[s] = tau
            if tau > 0.0:
                move(store, potential, y[s] * tau, rows, s)


@compiled
def predict(model: Any, rows: Any, margins: Any) -> None:
    """Margins of all records; nothing is learned."""
    for t in range(margins.size):
        margin = current(model.store, model.potential, rows, t)
        margins[t] = tell(model.teller, model.store, model.potential, rows, t, margin)


# -- all views in one space, dense --------------------------------------------------------------------------------


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


# -- all views in one space, sparse -------------------------------------------------------------------------------


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


# -- every view in a space of its own -----------------------------------------------------------------------------


@compiled
def _bent(weight: float, inner: float) -> float:
    """sign(v)|v|^(r - 1)."""
    if inner == 2.0:
        return weight
    return math.copysign(abs(weight) ** (inner - 1.0), weight)


@compiled
def _power(weight: float, inner: float) -> float:
    """|v|^r."""
    return weight * weight if inner == 2.0 else abs(weight) ** inner


@generic
def against(rows: Any, r: Any, weights: Any, at: Any, inner: Any) -> Any:
    """Product of row r with sign(v)|v|^(inner - 1), v being the weights from ``at`` on."""


@generic
def shift(rows: Any, r: Any, c: Any, store: Any, at: Any, inner: Any, past: Any) -> Any:
    """Add c times row r to the weights from ``at`` on, and what goes with it to the twin; by how much ‖v‖_r^r grew."""


@when(against, object)
def _against_entries(rows: Any, r: Any, weights: Any, at: Any, inner: Any) -> Any:
    dot = 0.0
    for k in range(begin(rows, r), end(rows, r)):
        dot += value(rows, r, k) * _bent(weights[at + feature(rows, r, k)], inner)
    return dot


@when(shift, object)
def _shift_entries(rows: Any, r: Any, c: Any, store: Any, at: Any, inner: Any, past: Any) -> Any:
    growth = 0.0
    for k in range(begin(rows, r), end(rows, r)):
        j = at + feature(rows, r, k)
        before, after = store.weights[j], store.weights[j] + c * value(rows, r, k)
        growth += _power(after, inner) - _power(before, inner)
        store.twin[j] += (_bent(after, inner) - _bent(before, inner)) * past
        store.weights[j] = after
    return growth


@compiled
def _slice(rows: Any, r: int) -> Any:
    K = rows.edges.size - 1
    return rows.values[r // K, rows.edges[r % K] : rows.edges[r % K + 1]]


@when(against, DenseViews)
def _against_slice(rows: Any, r: Any, weights: Any, at: Any, inner: Any) -> Any:
    x = _slice(rows, r)
    if inner == 2.0:
        return np.dot(weights[at : at + x.size], x)
    dot = 0.0
    for k in range(x.size):
        dot += x[k] * _bent(weights[at + k], inner)
    return dot


@when(shift, DenseViews)
def _shift_slice(rows: Any, r: Any, c: Any, store: Any, at: Any, inner: Any, past: Any) -> Any:
    x, growth = _slice(rows, r), 0.0
    weights, twin = store.weights[at : at + x.size], store.twin[at : at + x.size]
    if inner == 2.0:
        growth = c * (2.0 * np.dot(weights, x) + c * np.dot(x, x))
        for k in range(x.size):
            twin[k] += past * (c * x[k])
            weights[k] += c * x[k]
        return growth
    for k in range(x.size):
        before, after = weights[k], weights[k] + c * x[k]
        growth += _power(after, inner) - _power(before, inner)
        twin[k] += (_bent(after, inner) - _bent(before, inner)) * past
        weights[k] = after
    return growth


@when(current, Flat)
def _current_flat(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    K, margin = store.offsets.size, 0.0
    for b in range(K):
        dot = against(rows, t * K + b, store.weights, store.offsets[b], potential.inner)
        margin += potential.factor[b] * dot
    return margin


@when(averaged, Flat)
def _averaged_flat(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    K, margin, size = store.offsets.size, 0.0, 0.0
    for b in range(K):
        r, at = t * K + b, store.offsets[b]
        for k in range(begin(rows, r), end(rows, r)):
            j, x = at + feature(rows, r, k), value(rows, r, k)
            weight = _bent(store.weights[j], potential.inner) * summed(potential, b)
            margin += x * (weight - store.twin[j])
            size += abs(x) * (abs(weight) + abs(store.twin[j]))
    return margin if abs(margin) > ROUNDING * size else 0.0


@when(length, Flat)
def _length_flat(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    K = store.offsets.size
    own = np.zeros(K)
    for b in range(K):
        r = t * K + b
        for k in range(begin(rows, r), end(rows, r)):
            own[b] += _power(value(rows, r, k), potential.inner)
    return squared(potential, own)


@when(move, Flat)
def _move_flat(store: Any, potential: Any, c: Any, rows: Any, t: Any) -> None:
    K = store.offsets.size
    elapse(potential)
    for b in range(K):
        past = potential.past[b]
        potential.sums[b] += shift(rows, t * K + b, c, store, store.offsets[b], potential.inner, past)
    refresh(potential)
