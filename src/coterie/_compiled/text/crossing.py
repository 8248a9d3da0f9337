"""Products of two sparse vectors (feature crosses), with a column for each pair of features.

The cells of :mod:`coterie._compiled.core.whole_numbers` have the column of each pair (i, j), whose key is i · 2³² + j.
They are at most half full, so that a search ends after few steps.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import enlarged
from coterie._compiled.core.generic import compiled, no_refcount
from coterie._compiled.core.whole_numbers import add, cell_of

_32 = np.uint64(32)


class Pairs(NamedTuple):
    """A hash table from pairs of features to columns.

    Attributes
    ----------
    cells : ndarray of int64, shape (2**m, 2)
        The pairs' keys, and their columns + 1; 0 where there is none.
    known : ndarray of int32, shape (room, 2)
        The pair of each column.
    used : ndarray of int64, shape (1,)
        The number of columns.
    """

    cells: NDArray[np.int64]
    known: NDArray[np.int32]
    used: NDArray[np.int64]

    def __len__(self) -> int:
        """The number of pairs."""
        return int(self.used[0])

    @classmethod
    def from_known(cls, known: NDArray[np.int32], more: int = 0) -> Pairs:
        """Return a table of these distinct pairs, with space for ``more`` pairs."""
        count, known = len(known), enlarged(known, max(len(known) + more, 32))
        # a power of two with at most half of the cells in use
        cells = np.zeros((2 ** math.ceil(math.log2(2 * len(known))), 2), np.int64)
        keys = known[:count, 0].astype(np.int64) << 32 | known[:count, 1]
        add(cells, keys, 0, np.empty(count, np.int64), np.empty(count, np.int64))
        return cls(cells, known, np.array([count]))

    def with_room(self, more: int) -> Pairs:
        """Return the table with capacity for ``more`` further pairs."""
        return self if len(self) + more <= len(self.known) else self.from_known(self.known[: len(self)], more)

    def cut(self, count: int) -> Pairs:
        """Return a table of the first ``count`` pairs."""
        return self if len(self) == count else self.from_known(self.known[:count].copy())


@no_refcount
def _column(pairs, i, j, resize):
    """Return the column of the pair (i, j). A new pair is added if ``resize``; else the result is -1."""
    # two features of 32 bits in one key of 64: a single comparison tells pairs from each other
    key: Any = np.int64((np.uint64(i) << _32) | np.uint64(j))
    at = cell_of(pairs.cells, key)
    # 0 marks a free cell because columns are stored plus one
    if pairs.cells[at, 1] == 0 and resize:
        column = pairs.used[0]
        pairs.used[0] += 1
        pairs.known[column, 0], pairs.known[column, 1] = i, j
        pairs.cells[at, 0], pairs.cells[at, 1] = key, column + 1
    return pairs.cells[at, 1] - 1


@compiled
def cross(pairs, left, right, constant, unit, resize, values, features, starts, unknown):
    """Write the products of the features of one sparse vector with those of each of several, as sparse rows.

    Each pair of features has a column in ``pairs``.

    Features of the right below 0 are unknown, and pairs without a column are left out, unless ``resize`` adds one. Then
    comes 1 in the column ``constant``, if that is not below 0; with ``unit`` every record is scaled to unit length.
    There must be room for all pairs. If ``unknown`` has room, the squared length of the products left out of each
    record is written there, and counts in its length.
    """
    # ‖x ⊗ a‖² = ‖x‖² ‖a‖², so what is left out follows without its products
    n, squares = 0, _squares(left.values, left.starts[0], left.starts[1])
    for k in range(right.starts.size - 1):
        first = n
        for b in range(right.starts[k], right.starts[k + 1]):
            if right.features[b] >= 0:
                n = _products(pairs, left, right.values[b], right.features[b], resize, values, features, n)
        left_out = 0.0
        if unknown.size:
            if n - first < (left.starts[1] - left.starts[0]) * (right.starts[k + 1] - right.starts[k]):
                whole = squares * _squares(right.values, right.starts[k], right.starts[k + 1])
                # a difference of sums, which rounding may bring below zero
                left_out = max(whole - _squares(values, first, n), 0.0)
            unknown[k] = left_out
        if constant >= 0:
            values[n], features[n] = 1.0, constant
            n += 1
        # the part left out counts in the length: a record with unknown pairs is not stretched to 1
        if unit:
            square = _squares(values, first, n) + left_out
            _divide(values, first, n, math.sqrt(square))
            if unknown.size:
                unknown[k] = left_out / square if square > 0.0 else 0.0
        starts[k + 1] = n


@no_refcount
def _divide(values, first, end, length):
    if length > 0.0:
        for e in range(first, end):
            values[e] /= length


@no_refcount
def _products(pairs, left, value, j, resize, values, features, n):
    """Write the products of the vector ``left`` with one feature j, from position n on.

    Return the position after them.
    """
    for e in range(left.starts[0], left.starts[1]):
        column = _column(pairs, left.features[e], j, resize)
        if column >= 0:
            values[n], features[n] = left.values[e] * value, column
            n += 1
    return n


@no_refcount
def _squares(values, first, end):
    total = 0.0
    for e in range(first, end):
        total += values[e] * values[e]
    return total
