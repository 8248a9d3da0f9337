"""Weights of views with separate feature spaces: one vector v_k per view."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import roomy
from coterie._compiled.core.checks import require, require_shape, require_within
from coterie._compiled.core.generic import compiled, generic, when
from coterie._compiled.core.points import ROUNDING
from coterie._compiled.core.records import begin, end, feature, value

from .forms import DenseViews, Widths, edges_of
from .norm_potentials import Group, accumulate_factor, refresh, squared, summed
from .rounds import averaged, current, length, move


class Flat(NamedTuple):
    """The sum of updates v_k of each view, one after the other; view k starts at ``offsets[k]``.

    ``twin`` has the sums for averages.
    """

    weights: Any
    twin: Any
    offsets: Any

    @classmethod
    def empty(cls, widths: Widths) -> Self:
        """Return zero weights."""
        edges = edges_of(widths)
        return cls(np.zeros(edges[-1]), np.zeros(edges[-1]), edges[:-1].copy())

    def check(self, widths: Widths) -> None:
        """Raise ValueError for overlapping views, or weights out of range."""
        require_shape("twin of views", self.twin, len(self.weights))
        require_shape("offsets of views", self.offsets, len(widths))
        require_within("offsets of views", self.offsets, 0, len(self.weights))
        sizes = np.diff(np.append(self.offsets, len(self.weights)))
        require(self.offsets[0] == 0 and (sizes >= np.asarray(widths)).all(), "the weights of a view lie in another's")

    @property
    def order(self) -> int:
        """The number of products: one per view."""
        return len(self.offsets)

    def with_widths(self, widths: Widths) -> Self:
        """Resize the weights for views with these numbers of features, with spare capacity of a half."""
        sizes = np.diff(np.append(self.offsets, len(self.weights)))
        need = [roomy(have, width) for have, width in zip(sizes, widths, strict=True)]
        if np.array_equal(need, sizes):
            return self
        larger = self.empty(need)
        for have, before, after in zip(sizes, self.offsets, larger.offsets, strict=True):
            old, new = slice(before, before + have), slice(after, after + have)
            larger.weights[new], larger.twin[new] = self.weights[old], self.twin[old]
        return larger

    def to_saved(self, widths: Widths) -> Self:
        """Return the weights without unused capacity."""
        edges = edges_of(widths)
        places = np.concatenate([first + np.arange(width) for first, width in zip(self.offsets, widths, strict=True)])
        return type(self)(self.weights[places], self.twin[places], edges[:-1].copy())

    def by_view(self, potential: Group, widths: Widths) -> list[NDArray[np.float64]]:
        """Return W as one vector per view."""
        bent = np.sign(self.weights) * np.abs(self.weights) ** (potential.inner - 1.0)
        return [
            factor * bent[first : first + width]
            for factor, first, width in zip(potential.factor, self.offsets, widths, strict=True)
        ]


@compiled
def _bent(weight, inner):
    """Return sign(v)|v|^(r - 1) of one weight v, with r = ``inner``."""
    if inner == 2.0:
        return weight
    return math.copysign(abs(weight) ** (inner - 1.0), weight)


@compiled
def _power(weight, inner):
    """Return |v|^r of one weight v, with r = ``inner``."""
    return weight * weight if inner == 2.0 else abs(weight) ** inner


@generic
def against(rows, r, weights, at, inner):
    """Return the inner product of row r with sign(v)|v|^(inner - 1), for the weights v that start at ``at``."""


@generic
def shift(rows, r, c, store, at, inner, past):
    """Add c times row r to the weights that start at ``at``, and to the sums for averages.

    Return the change of ‖v‖_r^r.
    """


@when(against, object)
def _against_entries(rows, r, weights, at, inner):
    dot = 0.0
    for k in range(begin(rows, r), end(rows, r)):
        dot += value(rows, r, k) * _bent(weights[at + feature(rows, r, k)], inner)
    return dot


@when(shift, object)
def _shift_entries(rows, r, c, store, at, inner, past):
    growth = 0.0
    for k in range(begin(rows, r), end(rows, r)):
        j = at + feature(rows, r, k)
        before, after = store.weights[j], store.weights[j] + c * value(rows, r, k)
        # ‖v‖_r^r is a sum over features, so the difference of the touched ones updates it
        growth += _power(after, inner) - _power(before, inner)
        # bent is not linear: the twin sums the change of the bent weight times past, not the move itself
        store.twin[j] += (_bent(after, inner) - _bent(before, inner)) * past
        store.weights[j] = after
    return growth


@compiled
def _slice(rows, r):
    K = rows.edges.size - 1
    return rows.values[r // K, rows.edges[r % K] : rows.edges[r % K + 1]]


@when(against, DenseViews)
def _against_slice(rows, r, weights, at, inner):
    x = _slice(rows, r)
    # views are slices of one row, so BLAS applies
    if inner == 2.0:
        return np.dot(weights[at : at + x.size], x)
    dot = 0.0
    for k in range(x.size):
        dot += x[k] * _bent(weights[at + k], inner)
    return dot


@when(shift, DenseViews)
def _shift_slice(rows, r, c, store, at, inner, past):
    x, growth = _slice(rows, r), 0.0
    weights, twin = store.weights[at : at + x.size], store.twin[at : at + x.size]
    if inner == 2.0:
        # 2 c v·x + c² ‖x‖², from the weights before the move
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
def _current_flat(store, potential, rows, t):
    K, margin = store.offsets.size, 0.0
    for b in range(K):
        dot = against(rows, t * K + b, store.weights, store.offsets[b], potential.inner)
        margin += potential.factor[b] * dot
    return margin


@when(averaged, Flat)
def _averaged_flat(store, potential, rows, t):
    K, margin, size = store.offsets.size, 0.0, 0.0
    for b in range(K):
        r, at = t * K + b, store.offsets[b]
        for k in range(begin(rows, r), end(rows, r)):
            j, x = at + feature(rows, r, k), value(rows, r, k)
            # the bent weight times all factors so far, less the factors from before each of its moves
            weight = _bent(store.weights[j], potential.inner) * summed(potential, b)
            margin += x * (weight - store.twin[j])
            size += abs(x) * (abs(weight) + abs(store.twin[j]))
    return margin if abs(margin) > ROUNDING * size else 0.0


@when(length, Flat)
def _length_flat(store, potential, rows, t):
    K = store.offsets.size
    own = np.zeros(K)
    for b in range(K):
        r = t * K + b
        for k in range(begin(rows, r), end(rows, r)):
            own[b] += _power(value(rows, r, k), potential.inner)
    return squared(potential, own)


@when(move, Flat)
def _move_flat(store, potential, c, rows, t):
    K = store.offsets.size
    # past must contain this round's factor before the sums change
    accumulate_factor(potential)
    for b in range(K):
        past = potential.past[b]
        potential.sums[b] += shift(rows, t * K + b, c, store, store.offsets[b], potential.inner, past)
    refresh(potential)
