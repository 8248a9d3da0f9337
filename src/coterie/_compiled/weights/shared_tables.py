"""Shared tables: the weights of several learners in one table, adjacent in memory for each feature.

All numbers of a task's feature are then looked up once and are in the cache together, if learners process the same
records. Compiled code uses the shared table; in Python each learner has a :class:`TableSlice`, which is read and saved
like a separate table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped

from .dense import RowMajor, RowMajorMany, RowMajorPairs
from .sparse import Sparse, SparseMany, SparsePairs, copy_weights, count_weights
from .table import Part, Table, Weights

#: The kinds of tables, dense and sparse, by the number of numbers per weight, and the kinds for any number.
TABLES: dict[int, tuple[Any, Any]] = {1: (RowMajor, Sparse), 2: (RowMajorPairs, SparsePairs)}
MANY: tuple[Any, Any] = RowMajorMany, SparseMany

SPARSE = (Sparse, SparsePairs, SparseMany)


@dataclass
class SharedTable:
    """A table that several learners share; when it grows, it is replaced by a larger one."""

    table: Any = None


class TableSlice(Table):
    """The part of a shared table that belongs to one learner: its numbers per weight start at number ``first``."""

    __slots__ = ("first", "numbers", "whole")

    dense: ClassVar[bool] = False
    numbers: int

    def __init__(self, whole: SharedTable, first: int, numbers: int) -> None:
        self.whole, self.first, self.numbers = whole, first, numbers

    @property
    def nbytes(self) -> int:
        """Return 0: the memory is counted for the shared table."""
        return 0

    def clear_rows(self, rows: NDArray[np.int64]) -> TableSlice:
        """Do nothing: the ensemble clears the rows of the shared table."""
        return self

    def drop_rows(self, dropped: Dropped) -> TableSlice:
        """Do nothing: the ensemble drops the rows of the shared table."""
        return self

    def check(self, rows: int, features: int) -> None:
        """Do nothing: parts of shared tables are not loaded from files."""

    def read(self, rows: int, features: int, n: int) -> Weights:
        return np.asarray(self.whole.table.read(rows, features, self.first + n))

    def part(self, rows: int, features: int) -> Part:
        """Return the part to save: this many rows and features, copied to a separate table."""
        kinds = TABLES.get(self.numbers, MANY)
        return Part(_copied([(self.whole.table, self.first, self.numbers)], kinds, rows, features, 4), rows, features)

    def to_saved(self, rows: int | None = None, features: int | None = None) -> dict[str, Any]:
        """Raise an error: the result of :meth:`part` is saved instead."""
        raise TypeError("a slice of a table cannot be saved")

    @classmethod
    def blank(cls, numbers: int) -> TableSlice:
        """Raise an error: the result of :meth:`part` is saved instead."""
        raise TypeError("a slice of a table cannot be saved")


def side_by_side(tables: Sequence[Any], rows: int, features: int) -> Any:
    """Copy tables into one shared table: sparse if one of them is sparse, else dense.

    Its type supports any number of numbers per weight, so that ensembles of all sizes share compiled code.
    """
    if not tables:
        return RowMajorMany.empty(0, 0)
    joined = _copied([(table, 0, table.numbers) for table in tables], MANY, rows, features, 512)
    return (
        SparseMany.from_saved(joined.to_saved(rows) | {"room": joined.room})
        if isinstance(joined, SparseMany)
        else joined
    )


def _copied(parts: Sequence[tuple[Any, int, int]], kinds: tuple[Any, Any], rows: int, features: int, spare: int) -> Any:
    """Copy parts of tables (by first number and count) into one dense or sparse table."""
    dense, sparse = kinds
    numbers = sum(part[2] for part in parts)
    target = 0
    if not any(isinstance(table, SPARSE) for table, _, _ in parts):
        joined = dense.empty(rows, features, numbers)
        for table, first, count in parts:
            entries = table.entries()[:rows, :features, first : first + count]
            joined.entries()[: entries.shape[0], : entries.shape[1], target : target + count] = entries
            target += count
        return joined
    total, sources = np.zeros(rows, np.int32), []
    for table, first, count in parts:
        source = (table if isinstance(table, SPARSE) else table.to_sparse()).widened()
        weights = np.zeros(min(rows, len(source.start)), np.int32)
        count_weights(source, first, count, weights)
        # a feature of several parts counts once per part, which only reserves too much
        total[: len(weights)] += weights
        sources.append((source, first, count, weights))
    joined = sparse.with_rows(total, numbers, spare)
    for source, first, count, weights in sources:
        copy_weights(source, first, joined, target, count, weights)
        target += count
    return joined
