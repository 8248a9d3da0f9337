"""Sections: the numbers of several learners side by side in one table, each learner's as a table of its own.

Where learners go through the same records together, what all of them know of a task's feature then comes into the
processor's cache at once, and is looked for once. Compiled code works on the whole; in Python each learner has a
:class:`TableSlice`, which is read, saved and taken over as if it stood alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.arrays import Dropped

from .dense import RowMajor, RowMajorMany, RowMajorPairs
from .sparse import Sparse, SparseMany, SparsePairs, copy_weights, count_weights
from .table import Part, Table, Weights, rows_of

#: The kinds of tables, dense and sparse, by how many numbers a weight has, and those for any number.
TABLES: dict[int, tuple[Any, Any]] = {1: (RowMajor, Sparse), 2: (RowMajorPairs, SparsePairs)}
MANY: tuple[Any, Any] = RowMajorMany, SparseMany

SPARSE = (Sparse, SparsePairs, SparseMany)


@dataclass
class SharedTable:
    """The table that several learners share, another one after it has grown."""

    table: Any = None


class TableSlice(Table):
    """One learner's numbers in a shared table, ``numbers`` a weight from ``first`` on; the table's owner makes room."""

    __slots__ = ("first", "numbers", "whole")

    dense: ClassVar[bool] = False
    numbers: int

    def __init__(self, whole: SharedTable, first: int, numbers: int) -> None:
        self.whole, self.first, self.numbers = whole, first, numbers

    @property
    def values(self) -> Any:
        return self.whole.table.values

    @property
    def nbytes(self) -> int:
        """Zero: the bytes count for the whole table."""
        return 0

    def clear_rows(self, rows: NDArray[np.int64]) -> TableSlice:
        """Return this section: the table's owner clears rows of all."""
        return self

    def drop_rows(self, dropped: Dropped) -> TableSlice:
        """Return this section: the table's owner drops rows of all."""
        return self

    def check(self, rows: int, features: int) -> None:
        """Do nothing: no section comes from a file."""

    def rows(self, rows: int, features: int) -> Weights:
        """Return the first rows as a dense (rows, features) array."""
        return rows_of(self.whole.table, rows, features, self.first)

    def part(self, rows: int, features: int) -> Part:
        """Name so many rows and features of a copy as the part to be saved."""
        return Part(self.apart(rows, features), rows, features)

    def to_saved(self, rows: int | None = None, features: int | None = None) -> dict[str, Any]:
        """Refuse: what is saved is :meth:`apart`."""
        raise TypeError("a section of a table is not saved as such")

    @classmethod
    def blank(cls, dtype: str, numbers: int) -> TableSlice:
        """Refuse, as :meth:`to_saved`."""
        raise TypeError("a section of a table is not saved as such")

    def apart(self, rows: int, features: int) -> Table:
        """Copy the section to a table of its own, with so many rows and features."""
        table, last = self.whole.table, self.first + self.numbers
        dense, sparse = TABLES.get(self.numbers, MANY)
        dtype = table.values.dtype.str
        if isinstance(table, SPARSE):
            count = np.zeros(rows, np.int32)
            count_weights(table, self.first, self.numbers, count)
            made = sparse.with_rows(count, dtype, self.numbers, 4)
            copy_weights(table, self.first, made, 0, self.numbers, count)
        else:
            entries = table.entries()[:rows, :features, self.first : last]
            made = dense.empty(rows, features, dtype, self.numbers)
            made.entries()[: entries.shape[0], : entries.shape[1]] = entries
        return made  # type: ignore[no-any-return]


def side_by_side(tables: Sequence[Any], rows: int, features: int) -> Any:
    """Copy so many rows and features of tables into one, their numbers in this order: sparse if any is, else dense."""
    firsts = np.cumsum([0, *(table.numbers for table in tables)]).tolist()
    numbers, dtype = firsts[-1], tables[0].values.dtype.str
    dense_kind, sparse_kind = TABLES.get(numbers, MANY)
    if not any(isinstance(table, SPARSE) for table in tables):
        made = dense_kind.empty(rows, features, dtype, numbers)
        for first, table in zip(firsts, tables, strict=False):
            entries = table.entries()[:rows, :features]
            made.entries()[: entries.shape[0], : entries.shape[1], first : first + table.numbers] = entries
        return made
    counts = []
    apart = [table if isinstance(table, SPARSE) else table.to_sparse() for table in tables]
    for table in apart:
        counts.append(np.zeros(min(rows, len(table.start)), np.int32))
        count_weights(table, 0, table.numbers, counts[-1])
    most = np.zeros(rows, np.int32)
    for count in counts:
        most[: len(count)] += count
    made = sparse_kind.with_rows(most, dtype, numbers, 512)
    for first, table, count in zip(firsts, apart, counts, strict=False):
        copy_weights(table, 0, made, first, table.numbers, count)
    return sparse_kind.from_saved(made.to_saved(rows) | {"room": made.room})
