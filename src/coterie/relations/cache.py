"""The columns of M that compiled code has at hand, for relations that give columns one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.arrays import enlarged
from coterie.numeric.primal.spread import Columns, SparseColumns

from .sources import ColumnSource

#: Columns kept at hand may take so many bytes; beyond that the oldest make room.
CACHE_BYTES = 2**26


class DenseCache:
    """Whole columns in a fixed number of slots, the oldest leaving first."""

    def __init__(self, source: ColumnSource) -> None:
        K = source.n_tasks
        slots = max(1, min(K, CACHE_BYTES // (8 * max(K, 1))))
        self.source = source
        self.columns: Any = Columns(np.zeros((slots, K)), np.full(K, -1, np.int64))
        self._holder = np.full(slots, -1, np.int64)
        self._next = 0

    def fetch(self, i: int) -> None:
        """Make column i available to compiled code, asking its source if it is not there."""
        rows, values = self.source.column(i)
        slot, self._next = self._next, (self._next + 1) % len(self._holder)
        if self._holder[slot] >= 0:
            self.columns.slot[self._holder[slot]] = -1
        self.columns.values[slot] = 0.0
        self.columns.values[slot, rows] = values
        self.columns.slot[i], self._holder[slot] = slot, i


class SparseCache:
    """Sparse columns one behind the other; when their space is used up, all are dropped and asked for again."""

    def __init__(self, source: ColumnSource) -> None:
        self.source = source
        self._clear(np.zeros(1024, np.int64), np.zeros(1024))

    def _clear(self, rows: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        starts, slot = np.zeros(self.source.n_tasks + 1, np.int64), np.full(self.source.n_tasks, -1, np.int64)
        self.columns: Any = SparseColumns(rows, values, starts, slot)
        self._taken = 0

    def fetch(self, i: int) -> None:
        """Make column i available to compiled code, asking its source if it is not there."""
        rows, values = self.source.column(i)
        if 16 * (self._used + len(rows)) > CACHE_BYTES and self._taken:
            self._clear(self.columns.rows, self.columns.values)
        first, last = self._used, self._used + len(rows)
        held = self.columns
        self.columns = held._replace(rows=enlarged(held.rows, last), values=enlarged(held.values, last))
        self.columns.rows[first:last], self.columns.values[first:last] = rows, values
        self.columns.starts[self._taken + 1] = last
        self.columns.slot[i] = self._taken
        self._taken += 1

    @property
    def _used(self) -> int:
        return int(self.columns.starts[self._taken])


def column_cache(source: ColumnSource) -> DenseCache | SparseCache:
    """The cache that suits a source."""
    return DenseCache(source) if source.dense else SparseCache(source)
