"""Storage of the support vectors' records, by slot."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import resized
from coterie._compiled.core.checks import require, require_shape, require_within
from coterie._compiled.core.points import Points, points
from coterie._compiled.core.records import Csr, Dense, Rows, concatenated

Places = NDArray[np.int64]
Norms = NDArray[np.float64]


class DenseStore(NamedTuple):
    """Records of support vectors as rows of a dense array, with squared norms and kernel values k(x, x)."""

    values: Any
    squares: Any
    lengths: Any

    @classmethod
    def empty(cls, features: int) -> Self:
        """Return an empty store."""
        return cls(np.zeros((0, features)), np.zeros(0), np.zeros(0))

    def check(self, slots: int, features: int) -> None:
        """Raise ValueError for records of wrong number or width."""
        require_shape("records", self.values, slots, features)
        require_shape("squares", self.squares, slots)
        require_shape("lengths", self.lengths, slots)

    def with_room(self, capacity: int) -> Self:
        """Return the store with exactly this many slots."""
        return type(self)(*(resized(array, (capacity, *array.shape[1:])) for array in self))

    def to_saved(self, size: int) -> Self:
        """Return the first ``size`` slots; the others are unused."""
        return type(self)(*(array[:size] for array in self))

    def select(self, slots: Places) -> Self:
        """Return the records of these slots."""
        return type(self)(*(array[slots] for array in self))

    def with_features(self, features: int) -> Self:
        """Resize the store to this many features."""
        return self._replace(values=resized(self.values, (len(self.values), features)))

    def with_records(self, holder: Places, records: Points, lengths: Norms) -> Self:
        """Copy record ``holder[slot]`` of ``records`` to each slot for which this number is not negative."""
        slots, places = holder >= 0, holder[holder >= 0]
        for array, new in zip(self, (records.rows.values, records.squares, lengths), strict=True):
            array[slots] = new[places]
        return self

    def points(self, n: int, births: Places) -> Points:
        """Return the records in the first n slots as `Points`."""
        return Points(Dense(self.values[:n]), self.squares[:n], births[:n], self.features)

    def convert(self, rows: Rows, rounds: Places) -> Points:
        """Convert records to `Points` in the form of this store."""
        return dense_points(rows, rounds, self.features)

    @property
    def features(self) -> int:
        """The number of features."""
        return int(self.values.shape[1])


class SparseStore(NamedTuple):
    """Records of support vectors as sparse rows, with squared norms and kernel values k(x, x)."""

    values: Any
    entries: Any
    starts: Any
    squares: Any
    lengths: Any
    width: Any

    @classmethod
    def empty(cls, features: int) -> Self:
        """Return an empty store."""
        entries = np.zeros(0, np.int32), np.zeros(1, np.int64)
        return cls(np.zeros(0), *entries, np.zeros(0), np.zeros(0), np.array([features]))

    def check(self, slots: int, features: int) -> None:
        """Raise ValueError for records of wrong number or width, or entries outside their slots."""
        require_shape("starts", self.starts, slots + 1)
        require_shape("entries", self.entries, len(self.values))
        require_shape("squares", self.squares, slots)
        require_shape("lengths", self.lengths, slots)
        require_shape("width", self.width, 1)
        require(self.width[0] == features, f"records are {self.width[0]} wide, and the model {features}")
        require_within("entries", self.entries, 0, features - 1)
        ends = self.starts[0] == 0 and self.starts[-1] == len(self.values)
        require(ends and (self.starts[1:] >= self.starts[:-1]).all(), "the entries of records are not one by one")

    def with_room(self, capacity: int) -> Self:
        """Return the store with exactly this many slots."""
        squares, lengths = (resized(array, (capacity,)) for array in (self.squares, self.lengths))
        # slots without a record are empty rows: their start is the end of the last one
        starts = resized(self.starts, (capacity + 1,), self.starts[-1])
        return self._replace(starts=starts, squares=squares, lengths=lengths)

    def to_saved(self, size: int) -> Self:
        """Return the first ``size`` slots; the others are unused."""
        end, squares, lengths = int(self.starts[size]), self.squares[:size], self.lengths[:size]
        starts, values, entries = self.starts[: size + 1], self.values[:end], self.entries[:end]
        return type(self)(values, entries, starts, squares, lengths, self.width)

    def select(self, slots: Places) -> Self:
        """Return the records of these slots."""
        rows = self._rows().take(slots)
        return type(self)(*rows[:3], self.squares[slots], self.lengths[slots], self.width)

    def _rows(self) -> Csr:
        return Csr(self.values, self.entries, self.starts)

    def with_features(self, features: int) -> Self:
        """Resize the store to this many features."""
        return self._replace(width=np.array([features]))

    def with_records(self, holder: Places, records: Points, lengths: Norms) -> Self:
        """Copy record ``holder[slot]`` of ``records`` to each slot for which this number is not negative.

        O(all entries).
        """
        slots, places = holder >= 0, holder[holder >= 0]
        self.squares[slots], self.lengths[slots] = records.squares[places], lengths[places]
        n = len(holder)
        # behind the n stored rows come the new ones: slot j keeps row j or takes row n + holder[j]
        rows = concatenated(self._rows(), records.rows).take(np.where(slots, n + holder, np.arange(n)))
        return self._replace(values=rows.values, entries=rows.features, starts=rows.starts)

    def points(self, n: int, births: Places) -> Points:
        """Return the records in the first n slots as `Points`."""
        rows = Csr(self.values, self.entries, self.starts[: n + 1])
        return Points(rows, self.squares[:n], births[:n], self.features)

    def convert(self, rows: Rows, rounds: Places) -> Points:
        """Convert records to `Points` in the form of this store."""
        form = rows.to_csr()
        # the new records may have features that the store has not seen
        return points(form, rounds, max(self.features, form.width))

    @property
    def features(self) -> int:
        """The number of features."""
        return int(self.width[0])


Store = DenseStore | SparseStore


def empty_store(dense: bool, features: int) -> Store:
    """Return an empty store for dense or sparse records."""
    return (DenseStore if dense else SparseStore).empty(features)


def dense_points(rows: Rows, rounds: Places, features: int) -> Points:
    """Convert records to dense `Points` with at least this many features."""
    form = rows.to_dense(max(features, rows.width) if isinstance(rows, Csr) else features)
    return points(form, rounds, form.values.shape[1])


def widened(records: Points, features: int) -> Points:
    """Return records padded with zeros to this many features, because kernels compare records of equal width."""
    if records.features >= features:
        return records
    rows = records.rows.to_dense(features) if records.rows.dense else records.rows
    return records._replace(rows=rows, features=features)
