"""Where the records of support vectors are kept, slot by slot."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .generic import compiled
from .points import Points
from .records import Csr, Dense

Places = NDArray[np.int64]


class DenseStore(NamedTuple):
    """Records as rows of an array, their squared norms, and their k(x, x)."""

    values: Any
    squares: Any
    lengths: Any

    @classmethod
    def empty(cls, features: int, dtype: str) -> Self:
        """Room for none."""
        return cls(np.zeros((0, features), dtype), np.zeros(0), np.zeros(0))

    def roomy(self, capacity: int) -> Self:
        """With room for so many records."""
        if len(self.values) == capacity:
            return self
        return type(self)(*(_taller(array, capacity) for array in self))

    def wider(self, features: int) -> Self:
        """With room for so many features."""
        return self._replace(values=np.pad(self.values, ((0, 0), (0, features - self.values.shape[1]))))

    def put(self, holder: Places, points: Points, lengths: NDArray[np.float64]) -> Self:
        """With record ``holder[slot]`` of those given in every slot where that is not negative."""
        _copy(holder, points.rows.values, points.squares, lengths, *self)
        return self

    def rows(self, n: int) -> Dense:
        """The first n slots as records."""
        return Dense(self.values[:n])

    @property
    def features(self) -> int:
        """Width of the records."""
        return int(self.values.shape[1])


class SparseStore(NamedTuple):
    """Records as compressed sparse rows in the order of the slots, squared norms, k(x, x), and the width."""

    values: Any
    entries: Any
    starts: Any
    squares: Any
    lengths: Any
    width: Any

    @classmethod
    def empty(cls, features: int, dtype: str) -> Self:
        """Room for none."""
        entries = np.zeros(0, np.int32), np.zeros(1, np.int64)
        return cls(np.zeros(0, dtype), *entries, np.zeros(0), np.zeros(0), np.array([features]))

    def roomy(self, capacity: int) -> Self:
        """With room for so many records."""
        if len(self.squares) == capacity:
            return self
        starts = np.concatenate([self.starts, np.full(capacity - len(self.squares), self.starts[-1])])
        return self._replace(
            starts=starts, squares=_taller(self.squares, capacity), lengths=_taller(self.lengths, capacity)
        )

    def wider(self, features: int) -> Self:
        """With room for so many features."""
        return self._replace(width=np.array([features]))

    def put(self, holder: Places, points: Points, lengths: NDArray[np.float64]) -> Self:
        """With record ``holder[slot]`` of those given in every slot where that is not negative: O(all entries)."""
        slots, rows = holder >= 0, points.rows
        places = holder[slots]
        self.squares[slots], self.lengths[slots] = points.squares[places], lengths[places]
        sizes = np.diff(self.starts)
        sizes[slots] = np.diff(rows.starts)[places]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        values, entries = np.zeros(starts[-1], self.values.dtype), np.zeros(starts[-1], np.int32)
        _lay_out(holder, self.values, self.entries, self.starts, rows, starts, values, entries)
        return self._replace(values=values, entries=entries, starts=starts)

    def rows(self, n: int) -> Csr:
        """The first n slots as records."""
        return Csr(self.values, self.entries, self.starts[: n + 1])

    @property
    def features(self) -> int:
        """Width of the records."""
        return int(self.width[0])


def joined(store: Any, n: int, births: Places) -> Points:
    """The records in the first n slots."""
    return Points(store.rows(n), store.squares[:n], births[:n], store.features)


def _taller(array: NDArray[Any], rows: int) -> NDArray[Any]:
    larger = np.zeros((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


@compiled
def _copy(holder: Any, rows: Any, sq: Any, own: Any, values: Any, squares: Any, lengths: Any) -> None:
    for slot in range(holder.size):
        if holder[slot] >= 0:
            squares[slot], lengths[slot] = sq[holder[slot]], own[holder[slot]]
            for k in range(rows.shape[1]):
                values[slot, k] = rows[holder[slot], k]


@compiled
def _lay_out(
    source: Any, values: Any, entries: Any, starts: Any, rows: Any, new: Any, out: Any, out_entries: Any
) -> None:
    for slot in range(source.size):
        size, at = new[slot + 1] - new[slot], new[slot]
        if source[slot] >= 0:
            first = rows.starts[source[slot]]
            for k in range(size):
                out[at + k], out_entries[at + k] = rows.values[first + k], rows.features[first + k]
        else:
            first = starts[slot]
            for k in range(size):
                out[at + k], out_entries[at + k] = values[first + k], entries[first + k]
