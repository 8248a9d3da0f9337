"""The interface of tables of weights, which have one row per task or group and one or more numbers per weight.

A kind of table is a named tuple of arrays, and kinds that are alike share a file: ``dense``, ``sparse``.
Some have several numbers per weight: a second one, such as a sum of squared gradients, and more are stored next to each
weight, so that an update finds them in the cache.

**In compiled code** a kind has bodies of these functions, and learners use nothing else of it. ``find_weight`` is
required; the others have defaults for tables in which every weight has a place:

================================ =======================================================================================
``find_weight(table, row, j)``   address of a weight in ``table.values``, or that of some zero if it is not stored
``get_or_insert(table, row, j)`` address of a weight, which is stored from now on
``reserve(table, row, ...)``     makes room for the weights of a record before they are inserted; False if there is none
``touch``, ``prefetch_row``      load the weights of a record in a row; prefetch them a round ahead
``offset_of(table, n)``          distance from a weight to its n-th number
``numbers_of(table)``            the number of numbers per weight, including the weight
``get_value``, ``set_value``     read and write the number at an address (tables that fade scale it)
``multiply(table, factor)``      scales every stored number
================================ =======================================================================================

**In Python** a kind is a :class:`Table`, which grows, is saved and restored, and tells the bytes it uses. How it is
made (``empty``) depends on the kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.generic import compiled, generic_no_refcount, no_refcount, when
from coterie._compiled.core.prefetching import prefetch
from coterie._compiled.core.records import begin, end, feature, value

Weights = NDArray[np.floating[Any]]

#: Bytes of a line of cache.
LINE = 64


class Table(ABC):
    """Base class of tables. Methods return this table, or another one with the same weights.

    Default methods are for tables that store every weight from the start.
    """

    __slots__ = ()

    #: The array in which the weights are.
    values: Any

    @property
    @abstractmethod
    def numbers(self) -> Any:
        """The number of numbers per weight, including the weight."""

    #: Every weight has a place, so that more rows or features cost memory whether they are used or not.
    dense: ClassVar[bool]

    def has_room(self, rows: int, features: int) -> bool:
        """Return True if this many rows and features fit into the table without resizing."""
        return True

    def fit_rows(self, rows: int) -> Self:
        """Return a table with capacity for this many rows."""
        return self

    def fit_features(self, features: int) -> Self:
        """Return a table with capacity for this many features."""
        return self

    def make_room(self, rows: NDArray[np.int64], entries: int) -> Self:
        """Return a table with capacity for ``entries`` new weights in each of these rows."""
        return self

    @abstractmethod
    def clear_rows(self, rows: NDArray[np.int64]) -> Self:
        """Delete the weights of these rows, so that their memory can be reused."""

    @abstractmethod
    def drop_rows(self, dropped: Dropped) -> Self:
        """Remove rows; the last rows take their indices."""

    @abstractmethod
    def to_saved(self, rows: int | None = None, features: int | None = None) -> dict[str, Any]:
        """Copy this many rows and features (by default all) for a file; equal weights give equal copies.

        Without them all that there is room for is copied.
        """

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> Self:
        """Restore a table from the result of :meth:`to_saved`, the arrays of which it takes over.

        Raises
        ------
        ValueError
            If a row has an impossible place.
        """
        return cls(**saved)

    @classmethod
    @abstractmethod
    def blank(cls, numbers: int) -> Self:
        """Return an empty table with ``numbers`` per weight and the array types of saved tables."""

    @abstractmethod
    def check(self, rows: int, features: int) -> None:
        """Raise ValueError for a table that is too small, or refers to weights outside its arrays."""

    def part(self, rows: int, features: int) -> Part:
        """Return a :class:`Part` of this many rows and features, to be saved."""
        return Part(self, rows, features)

    @property
    def nbytes(self) -> int:
        """The memory in use in bytes."""
        return int(self.values.nbytes)

    def rows(self, rows: int, features: int) -> Weights:
        """Return the weights of the first rows as a dense array, shape (rows, features)."""
        return self.read(rows, features, 0)

    @abstractmethod
    def read(self, rows: int, features: int, n: int) -> Weights:
        """Return the n-th numbers of the weights in the first rows as a dense array, shape (rows, features)."""


class Part(NamedTuple):
    """A part of a table to save: its first rows and features."""

    table: Table
    rows: int
    features: int


# -- what a kind has bodies for ----------------------------------------------------------------------------------------


@generic_no_refcount
def find_weight(table, row, feature):
    """Return the address (index in ``table.values``) of a weight; that of a zero if it is not stored.

    Where it can be, it is unsigned: that spares a test for addresses counted from the end.
    """


@generic_no_refcount
def get_or_insert(table, row, feature):
    """Return the address of a weight, inserting it if it is not stored; call ``reserve`` before."""


@generic_no_refcount
def reserve(table, row, rows, t):
    """Allocate the weights of a row that record t updates; return False if the table needs more memory."""


@generic_no_refcount
def touch(table, row, rows, t):
    """Load the weights of record t in a row into the cache. The result is never -2, and only prevents optimisation.

    Each probe branches on a loaded value, so the processor waits for memory once per entry; these loads have no
    dependent branches and overlap. On text this halves the time of a sparse row.
    """


@generic_no_refcount
def prefetch_row(table, row, rows, t):
    """Prefetch the memory that record t needs of a row, one round ahead.

    Dense records need no prefetching: they read the row from end to end, which processors detect by themselves.
    """


@generic_no_refcount
def offset_of(table, n):
    """Return the distance from the position of a weight to that of its n-th number; 0 for the weight itself."""


@generic_no_refcount
def numbers_of(table):
    """Return the number of numbers per weight, including the weight."""


@generic_no_refcount
def get_value(table, place):
    """Return the number at a position in the table."""


@generic_no_refcount
def set_value(table, place, number):
    """Store a number at the position of a stored weight."""


@generic_no_refcount
def multiply(table, factor):
    """Multiply every number of the table by a factor."""


when(get_or_insert, object)(lambda table, row, feature: find_weight(table, row, feature))
when(reserve, object)(lambda table, row, rows, t: True)
when(touch, object)(lambda table, row, rows, t: np.int64(0))
when(prefetch_row, object)(lambda table, row, rows, t: None)
when(offset_of, object)(lambda table, n: np.uint64(n))
when(numbers_of, object)(lambda table: 1)
when(get_value, object)(lambda table, place: table.values[place])


@when(set_value, object)
def _put(table, place, number):
    table.values[place] = number


@when(multiply, object)
def _multiply_all(table, factor):
    for place in range(table.values.size):
        table.values[place] *= factor


# -- what is written once, on top of these -----------------------------------------------------------------------------


@no_refcount
def dot(table, row, rows, t):
    """Return the inner product of a row of weights with record t: O(stored entries)."""
    total = 0.0 if touch(table, row, rows, t) != -2 else np.nan
    for k in range(begin(rows, t), end(rows, t)):
        total += get_value(table, find_weight(table, row, feature(rows, t, k))) * value(rows, t, k)
    return total


@no_refcount
def axpy(table, row, c, rows, t):
    """Add c times record t to a row of weights: O(stored entries)."""
    for k in range(begin(rows, t), end(rows, t)):
        place = get_or_insert(table, row, feature(rows, t, k))
        set_value(table, place, get_value(table, place) + c * value(rows, t, k))


def prefetch_weights(table, row, rows, t):
    """Prefetch weights, for tables in which row and feature determine the address."""
    for k in range(begin(rows, t), end(rows, t)):
        prefetch(table.values, find_weight(table, row, feature(rows, t, k)))


@compiled
def add_entries(table, entries):
    """Add the non-zero entries of an array (rows, features, numbers per weight) to a table with enough capacity."""
    rows, features, numbers = entries.shape
    for row in range(rows):
        for j in range(features):
            moved = False
            for n in range(numbers):
                moved |= entries[row, j, n] != 0.0
            # weights that are zero get no cell
            if moved:
                place = get_or_insert(table, row, j)
                for n in range(numbers):
                    table.values[place + offset_of(table, n)] += entries[row, j, n]


@compiled
def read_entries(table, n, weights):
    """Write the n-th numbers of all weights to an array (rows, features)."""
    for row in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            weights[row, j] = table.values[find_weight(table, row, j) + offset_of(table, n)]


# -- second numbers ----------------------------------------------------------------------------------------------------


class Second(NamedTuple):
    """The second numbers of the weights of a table, as a table in the same memory.

    It has room for the features of the first numbers, and values for the weights that these have inserted; update the
    first numbers before it.
    """

    values: Any
    table: Any

    def rows(self, rows: int, features: int) -> Weights:
        """Return the second numbers of the first rows as a dense array, shape (rows, features)."""
        return self.table.read(rows, features, 1)  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments to copy the underlying table, with the second numbers of the copy."""
        return second, (self.table,)


def second(table: Any) -> Second:
    """Return the second numbers of a table as a table."""
    return Second(table.values, table)


when(find_weight, Second)(
    lambda table, row, feature: find_weight(table.table, row, feature) + offset_of(table.table, 1)
)
