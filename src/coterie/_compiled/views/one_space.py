"""Weights of views in one common feature space: W = V F, with the sums of updates V."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import enlarged
from coterie._compiled.core.checks import require, require_rows, require_shape
from coterie._compiled.core.generic import compiled, generic, noinline, when
from coterie._compiled.core.points import ROUNDING
from coterie._compiled.core.records import begin, end, feature, value

from .forms import Widths
from .norm_potentials import Schatten, absorb, accumulate_factor, refresh, squared, summed
from .rounds import averaged, current, length, move


class DenseMatrix(NamedTuple):
    """Dense weights of views that share one feature space, a row per view.

    ``weights`` is the sum V of updates, ``cached`` the weights W = F V with the factor F of the potential, ``total``
    the sum of W over rounds, for averages.
    """

    weights: Any
    cached: Any
    total: Any

    @classmethod
    def empty(cls, widths: Widths) -> Self:
        """Return zero weights."""
        return cls(*(np.zeros((len(widths), max(widths))) for _ in range(3)))

    def check(self, widths: Widths) -> None:
        """Raise ValueError for weights of wrong shape, or views with different numbers of features."""
        require(len(set(widths)) == 1, f"views of one space have the widths {tuple(widths)}")
        for array in self:
            require_shape("weights of views", array, len(widths), max(widths))

    @property
    def order(self) -> int:
        """The size of the matrix of products V'V: the number of views."""
        return int(self.weights.shape[0])

    def with_widths(self, widths: Widths) -> Self:
        """Do nothing: arrays have the same number of features from the start."""
        return self

    def to_saved(self, widths: Widths) -> Self:
        """Return the weights themselves; they have no unused capacity."""
        return self

    def shape(self, potential: Schatten) -> None:
        """Recompute the weights W for a norm without a compiled gradient."""
        K = self.order
        np.dot(potential.factor.reshape(K, K), self.weights, out=self.cached)

    def by_view(self, potential: Schatten, widths: Widths) -> list[NDArray[np.float64]]:
        """Return W as one vector per view."""
        return list(self.cached.copy())


class WideMatrix(DenseMatrix):
    """Dense weights for more views than features: W = F V with F computed from the d × d products VV'."""

    __slots__ = ()

    @property
    def order(self) -> int:
        """The size of the matrix of products VV': the number of features."""
        return int(self.weights.shape[1])

    def shape(self, potential: Schatten) -> None:
        """Recompute W for a norm without a compiled gradient."""
        d = self.order
        np.dot(self.weights, potential.factor.reshape(d, d), out=self.cached)


class SparseMatrix(NamedTuple):
    """Sparse weights of views in one space: only the sum V of updates is stored, not the weights W = V F."""

    weights: Any
    twin: Any

    @classmethod
    def empty(cls, widths: Widths) -> Self:
        """Return zero weights."""
        return cls(*(np.zeros((max(widths), len(widths))) for _ in range(2)))

    def check(self, widths: Widths) -> None:
        """Raise ValueError for weights of wrong shape."""
        for array in self:
            require_shape("weights of views", array, len(self.weights), len(widths))
            require_rows("weights of views", array, max(widths))

    @property
    def order(self) -> int:
        """The size of the matrix of products V'V: the number of views."""
        return int(self.weights.shape[1])

    def with_widths(self, widths: Widths) -> Self:
        """Resize the weights for views with these numbers of features."""
        return type(self)(*(enlarged(array, max(widths)) for array in self))

    def to_saved(self, widths: Widths) -> Self:
        """Return the weights without unused capacity."""
        return type(self)(*(array[: max(widths)] for array in self))

    def shape(self, potential: Schatten) -> None:
        """Do nothing: W is not stored."""

    def by_view(self, potential: Schatten, widths: Widths) -> list[NDArray[np.float64]]:
        """Return W as one vector per view."""
        K = len(widths)
        return list(potential.factor.reshape(K, K) @ self.weights[: max(widths)].T)


def empty_matrix(widths: Widths, dense: bool) -> DenseMatrix | SparseMatrix:
    """Return zero weights, in the fastest storage for these views."""
    if not dense:
        return SparseMatrix.empty(widths)
    return (WideMatrix if max(widths) < len(widths) else DenseMatrix).empty(widths)


# -- dense ----------------------------------------------------------------------------------------------------------


@generic
def paired(store, A, B):
    """Return the products AB' of views, or A'B of features if there are fewer features than views."""


@generic
def write_weights(store, F):
    """Recompute the weights W = V F for the factor F."""


# whichever of K × K and d × d is smaller: V (V'V)^(p-1) = (VV')^(p-1) V, FOR09 (3.1.11)
when(paired, DenseMatrix)(lambda store, A, B: np.dot(A, B.T))
when(paired, WideMatrix)(lambda store, A, B: np.dot(A.T, B))


@when(write_weights, DenseMatrix)
def _write_dense(store, F):
    np.dot(F, store.weights, out=store.cached)


@when(write_weights, WideMatrix)
def _write_wide(store, F):
    np.dot(store.weights, F, out=store.cached)


@compiled
def _record(rows, t, K):
    return rows.values[t].reshape(K, rows.values.shape[1] // K)


@when(current, DenseMatrix)
def _current_dense(store, potential, rows, t):
    return np.dot(store.cached.reshape(-1), rows.values[t])


@when(averaged, DenseMatrix)
def _averaged_dense(store, potential, rows, t):
    # total has the rounds up to the latest move, the current W those since then
    before = np.dot(store.total.reshape(-1), rows.values[t])
    gap = potential.clock[0] - potential.clock[1]
    return before + gap * np.dot(store.cached.reshape(-1), rows.values[t])


@when(length, DenseMatrix)
def _length_dense(store, potential, rows, t):
    X = _record(rows, t, store.weights.shape[0])
    return squared(potential, paired(store, X, X).reshape(-1))


@noinline
def _move_dense(store, potential, c, rows, t):
    X, n = _record(rows, t, store.weights.shape[0]), potential.gram.shape[0]
    total, weights = store.total, store.weights
    # before W changes: it was in force in all rounds since the latest move
    total += (potential.clock[0] - potential.clock[1]) * store.cached
    accumulate_factor(potential)
    # with the products of the old V, so before the weights move
    absorb(potential, c, paired(store, weights, X).reshape(-1), paired(store, X, X).reshape(-1))
    weights += c * X
    refresh(potential)
    write_weights(store, potential.factor.reshape(n, n))


# -- sparse ---------------------------------------------------------------------------------------------------------


@when(current, SparseMatrix)
def _current_sparse(store, potential, rows, t):
    K, margin = store.weights.shape[1], 0.0
    for b in range(K):
        r = t * K + b
        for k in range(begin(rows, r), end(rows, r)):
            j, weight = feature(rows, r, k), 0.0
            # W = V F is formed at the features of the record only: O(K) per entry
            for a in range(K):
                weight += store.weights[j, a] * potential.factor[a * K + b]
            margin += value(rows, r, k) * weight
    return margin


@when(averaged, SparseMatrix)
def _averaged_sparse(store, potential, rows, t):
    K, margin, size = store.weights.shape[1], 0.0, 0.0
    for b in range(K):
        r = t * K + b
        for k in range(begin(rows, r), end(rows, r)):
            j, weight = feature(rows, r, k), 0.0
            for a in range(K):
                weight += store.weights[j, a] * summed(potential, a * K + b)
            # each update counts the factors since its round: all factors less those in ``past`` at that time
            margin += value(rows, r, k) * (weight - store.twin[j, b])
            size += abs(value(rows, r, k)) * (abs(weight) + abs(store.twin[j, b]))
    return margin if abs(margin) > ROUNDING * size else 0.0


@when(length, SparseMatrix)
def _length_sparse(store, potential, rows, t):
    K = store.weights.shape[1]
    own = np.zeros(K * K)
    for a in range(K):
        for b in range(a, K):
            # symmetric: half of the products suffice
            own[a * K + b] = own[b * K + a] = _common(rows, t * K + a, t * K + b)
    return squared(potential, own)


@compiled
def _common(rows, r, s):
    """Return the inner product of two sparse rows with sorted features."""
    i, j, total = begin(rows, r), begin(rows, s), 0.0
    # a merge: both rows have their features in ascending order
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


@noinline
def _move_sparse(store, potential, c, rows, t):
    K = store.weights.shape[1]
    # the twin below needs past up to this round, with the factor of before the move
    accumulate_factor(potential)
    for b in range(K):
        r = t * K + b
        for k in range(begin(rows, r), end(rows, r)):
            j, x = feature(rows, r, k), c * value(rows, r, k)
            for a in range(K):  # views before b have moved already: their products with this record are in V
                potential.gram[a, b] += x * store.weights[j, a]
                store.twin[j, a] += x * potential.past[b * K + a]
            # ‖v + x‖² - ‖v‖² = x (2 v + x): the loop above has added x v once
            potential.gram[b, b] += x * (store.weights[j, b] + x)
            store.weights[j, b] += x
        # the loop has filled column b; row b follows by symmetry
        for a in range(K):
            potential.gram[b, a] = potential.gram[a, b]
    refresh(potential)


# An eigendecomposition a move: it takes long to compile, so it is compiled once for all rules and tellers.
when(move, DenseMatrix)(lambda store, potential, c, rows, t: _move_dense(store, potential, c, rows, t))
when(move, SparseMatrix)(lambda store, potential, c, rows, t: _move_sparse(store, potential, c, rows, t))
