"""Dense tables of weights, which store every weight of every row."""

from __future__ import annotations

from abc import abstractmethod
from collections import namedtuple
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped, aligned, roomy
from coterie._compiled.core.checks import require
from coterie._compiled.core.generic import compiled, generic_no_refcount, when
from coterie._compiled.core.prefetching import prefetch
from coterie._compiled.core.records import Csr, Dense, end, feature

from .sparse import Sparse, SparseMany, SparsePairs
from .table import LINE, Table, Weights, find_weight, numbers_of, prefetch_row, prefetch_weights


class _DenseTable(Table):
    __slots__ = ()

    dense: ClassVar[bool] = True
    sparse: ClassVar[type[Sparse | SparsePairs | SparseMany]] = Sparse
    stride: Any
    _replace: Callable[..., Self]
    _asdict: Callable[[], dict[str, Any]]

    @classmethod
    @abstractmethod
    def empty(cls, rows: int, features: int, numbers: int = 1) -> Self:
        """Return a table of zeros."""

    @classmethod
    def blank(cls, numbers: int) -> Self:
        """Return a table without rows, with the array types of saved tables."""
        return cls.empty(0, 0, numbers)

    @abstractmethod
    def entries(self) -> Weights:
        """Return the whole capacity as a view of shape (rows, features, numbers per weight)."""

    def read(self, rows: int, features: int, n: int) -> Weights:
        return self.entries()[:rows, :features, n].copy()

    def to_sparse(self) -> Sparse | SparsePairs | SparseMany:
        """Copy the non-zero weights to a sparse table."""
        return self.sparse.from_entries(self.entries())

    def clear_rows(self, rows: NDArray[np.int64]) -> Self:
        """Set rows to zero."""
        self.entries()[rows] = 0
        return self

    def drop_rows(self, dropped: Dropped) -> Self:
        """Remove rows; the last rows take their indices."""
        dropped.move(self.entries())
        return self

    def to_saved(self, rows: int | None = None, features: int | None = None) -> dict[str, Any]:
        """Copy the weights of this many rows and features."""
        part = self.entries()[:rows, :features]
        table = self.empty(
            part.shape[0] if rows is None else rows, part.shape[1] if features is None else features, self.numbers
        )
        table.entries()[: part.shape[0], : part.shape[1]] = part
        return table._asdict()

    def check(self, rows: int, features: int) -> None:
        """Raise ValueError for incomplete rows, too few weights, or excessive unused capacity."""
        size, stride = self.values.size, self.stride
        most = max(size, 4 * self.numbers * max(features, 1))  # a table without rows knows how long they will be
        require(0 < stride <= most, f"a table of {size} weights has pieces of {stride}")
        require(size % stride == 0 and stride % self.numbers == 0, f"{size} weights are not in pieces of {stride}")
        require(self.has_room(rows, features), f"a table of {size} weights is too small")


class _Rows(_DenseTable):
    """Base class of dense tables that store row after row, with ``stride`` numbers per row."""

    __slots__ = ()

    def has_room(self, rows: int, features: int) -> bool:
        """Return True if this many rows and features fit into the table without resizing."""
        return bool(self.numbers * features <= self.stride and rows * self.stride <= self.values.size)

    def fit_rows(self, rows: int) -> Self:
        """Return the table with capacity for this many rows."""
        return self._replace(values=_lengthened(self.values, self.stride, rows))

    def fit_features(self, features: int) -> Self:
        """Return the table with capacity for this many features."""
        stride = roomy(self.stride, self.numbers * features)
        if stride == self.stride:
            return self
        stride += -stride % self.numbers
        return self._replace(values=_restrided(self.values, self.stride, stride), stride=stride)

    def entries(self) -> Weights:
        """Return the whole capacity as a view of shape (rows, features, numbers per weight)."""
        return np.asarray(self.values.reshape(-1, self.stride // self.numbers, self.numbers))


class RowMajor(namedtuple("RowMajor", "values stride"), _Rows):
    """A dense table that stores row after row, with ``stride`` weights per row."""

    __slots__ = ()

    numbers: ClassVar[int] = 1

    @classmethod
    def empty(cls, rows: int, features: int, numbers: int = 1) -> Self:
        """Return a table of zeros."""
        stride = cls.numbers * max(features, 1)
        return cls(np.zeros(rows * stride), stride)


class RowMajorPairs(RowMajor):
    """A dense table that stores row after row, with two numbers per weight, next to each other."""

    __slots__ = ()

    numbers = 2
    sparse = SparsePairs


class RowMajorMany(namedtuple("RowMajorMany", "values stride numbers"), _Rows):
    """A dense table that stores row after row, with several numbers per weight, next to each other.

    It starts at a cache line, so that eight doubles are one line.
    """

    __slots__ = ()

    sparse = SparseMany

    @classmethod
    def empty(cls, rows: int, features: int, numbers: int = 1) -> Self:
        """Return a table of zeros."""
        stride = numbers * max(features, 1)
        return cls(aligned(rows * stride, LINE), stride, numbers)


class FeatureMajor(namedtuple("FeatureMajor", "values stride"), _DenseTable):
    """A dense table that stores the weights of all rows for one feature next to each other."""

    __slots__ = ()

    numbers: ClassVar[int] = 1

    @classmethod
    def empty(cls, rows: int, features: int, numbers: int = 1) -> Self:
        """Return a table of zeros."""
        return cls(np.zeros(max(rows, 1) * max(features, 1)), max(rows, 1))

    def has_room(self, rows: int, features: int) -> bool:
        """Return True if this many rows and features fit into the table without resizing."""
        return bool(rows <= self.stride and features * self.stride <= self.values.size)

    def fit_rows(self, rows: int) -> Self:
        """Return the table with capacity for this many rows."""
        stride = roomy(self.stride, rows)
        return self if stride == self.stride else type(self)(_restrided(self.values, self.stride, stride), stride)

    def fit_features(self, features: int) -> Self:
        """Return the table with capacity for this many features."""
        return self._replace(values=_lengthened(self.values, self.stride, features))

    def entries(self) -> Weights:
        """Return the whole capacity as a view of shape (rows, features, 1)."""
        return np.asarray(self.values.reshape(-1, self.stride).T[:, :, None])


def _lengthened(values: Weights, stride: int, pieces: int) -> Weights:
    """Return the array with space for ``pieces`` rows or columns of ``stride`` numbers each."""
    size = roomy(values.size // stride, pieces) * stride
    if size <= values.size:
        return values
    longer = aligned(size, LINE)
    longer[: values.size] = values
    return longer


def _restrided(values: Weights, before: int, stride: int) -> Weights:
    """Return the array with another ``stride``, i.e. with more numbers per row or column."""
    old = values.reshape(-1, before)
    wider = aligned(old.shape[0] * stride, LINE)
    wider.reshape(-1, stride)[:, :before] = old
    return wider


when(find_weight, RowMajor)(lambda table, row, feature: np.uint64(row * table.stride + feature))
when(find_weight, RowMajorPairs)(lambda table, row, feature: np.uint64(row * table.stride + 2 * feature))
when(find_weight, RowMajorMany)(lambda table, row, feature: np.uint64(row * table.stride + table.numbers * feature))
when(find_weight, FeatureMajor)(lambda table, row, feature: np.uint64(feature * table.stride + row))
when(numbers_of, RowMajorPairs)(lambda table: 2)
when(numbers_of, RowMajorMany)(lambda table: table.numbers)
for _kind in (RowMajor, RowMajorPairs, RowMajorMany, FeatureMajor):
    when(prefetch_row, _kind, object, Csr)(prefetch_weights)


# -- one feature of all rows -------------------------------------------------------------------------------------------

#: Weights are prefetched this many entries ahead, for this many rows at most; and the weights of a cache line.
_LATER, _FIRST, _LINE = 8, 128, 8


@generic_no_refcount
def _prefetch_weights_of(rows, t, k, table, n):
    """Prefetch the weights of n rows for the feature that follows entry k by some entries."""


@when(_prefetch_weights_of, Csr)
def _prefetch_later(rows, t, k, table, n):
    if k + _LATER < end(rows, t):
        first = feature(rows, t, k + _LATER) * table.stride
        for place in range(first, first + min(n, _FIRST), _LINE):
            prefetch(table.values, place)


when(_prefetch_weights_of, Dense)(lambda rows, t, k, table, n: None)


@compiled
def weights_of(table, rows, t, k, n):
    """Return the weights of n rows for the feature of entry k of record t, as one array."""
    _prefetch_weights_of(rows, t, k, table, n)
    first = feature(rows, t, k) * table.stride
    return table.values[first : first + n]
