"""Tables of weights, a row of numbers for every task or group: the interface of all kinds of tables.

A kind of table is a named tuple of arrays, and kinds that are alike share a file: ``dense``, ``sparse``.
Some hold several numbers a weight: a second one, such as a sum of squared gradients, and more lie beside each weight,
where they are in cache when the weight moves.

**In compiled code** a kind gives bodies to these functions, and learners use nothing else of it. It must have a body of
``find_weight``; the others have defaults that fit a table in which every weight has a place:

================================ =======================================================================================
``find_weight(table, row, j)``   address of a weight in ``table.values``, or that of some zero if it is not stored
``get_or_insert(table, row, j)`` address of a weight, which is stored from now on
``reserve(table, row, ...)``     makes room for the weights of a record before they are inserted; False if there is none
``touch``, ``prefetch_row``      load what a record needs of a row; ask for it a round ahead
``offset_of(table, n)``          distance from a weight to its n-th number
``numbers_of(table)``            how many numbers a weight has, itself included
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

from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.generic import compiled, generic_no_refcount, no_refcount, when
from coterie.numeric.core.prefetching import prefetch
from coterie.numeric.core.records import begin, end, feature, value

Weights = NDArray[np.floating[Any]]

#: Bytes of a line of cache.
LINE = 64


class Table(ABC):
    """The Python side of every kind of table. Methods return a table, this one or another with the same weights.

    What is not abstract is as for a table in which every weight has a place from the start.
    """

    __slots__ = ()

    #: The array in which the weights are.
    values: Any

    @property
    @abstractmethod
    def numbers(self) -> Any:
        """The number of numbers that a weight has, itself included."""

    #: Every weight has a place, so that more rows or features cost memory whether they are used or not.
    dense: ClassVar[bool]

    def has_room(self, rows: int, features: int) -> bool:
        """Return True if so many rows of so many features fit in as it is."""
        return True

    def fit_rows(self, rows: int) -> Self:
        """Make room for so many rows."""
        return self

    def fit_features(self, features: int) -> Self:
        """Make room for so many features."""
        return self

    def make_room(self, rows: NDArray[np.int64], entries: int) -> Self:
        """Make room for so many new weights in each of these rows, after ``reserve`` has found none."""
        return self

    @abstractmethod
    def clear_rows(self, rows: NDArray[np.int64]) -> Self:
        """Drop the weights of these rows; others can use their memory."""

    @abstractmethod
    def drop_rows(self, dropped: Dropped) -> Self:
        """Drop rows, others taking their places."""

    @abstractmethod
    def to_saved(self, rows: int | None = None, features: int | None = None) -> dict[str, Any]:
        """Copy so many rows and features for a file: the same for equal weights, whatever room there is.

        Without them all that there is room for is copied.
        """

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> Self:
        """Restore a table from the result of :meth:`to_saved`; its arrays belong to the table from now on.

        Raises
        ------
        ValueError
            If rows lie where none can.
        """
        return cls(**saved)

    @classmethod
    @abstractmethod
    def blank(cls, numbers: int) -> Self:
        """Make a table without rows, which has the types of the arrays that are saved."""

    @abstractmethod
    def check(self, rows: int, features: int) -> None:
        """Refuse a table with weights outside its arrays, or without room for so many: ValueError."""

    def part(self, rows: int, features: int) -> Part:
        """Name so many rows and features as the part to be saved."""
        return Part(self, rows, features)

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return int(self.values.nbytes)

    def rows(self, rows: int, features: int) -> Weights:
        """Return the first rows as a dense (rows, features) array."""
        return self.read(rows, features, 0)

    @abstractmethod
    def read(self, rows: int, features: int, n: int) -> Weights:
        """Return the n-th numbers of the weights in the first rows as a dense (rows, features) array."""


class Part(NamedTuple):
    """The used rows and features of a table, in a tree of named tuples that is to be saved."""

    table: Table
    rows: int
    features: int


# -- what a kind has bodies for ----------------------------------------------------------------------------------------


@generic_no_refcount
def find_weight(table, row, feature):
    """Address of a weight in ``table.values``, or that of some zero if the weight is not stored.

    Where it can be, it is unsigned: that spares a test for addresses counted from the end.
    """


@generic_no_refcount
def get_or_insert(table, row, feature):
    """Address of a weight, stored from now on; ``reserve`` has made room for it."""


@generic_no_refcount
def reserve(table, row, rows, t):
    """Make room in a row for the weights that record t would move; False if the table needs more memory for that."""


@generic_no_refcount
def touch(table, row, rows, t):
    """Load the part of a row that a record needs before it is looked at; return something that is never -2.

    A probe branches on what it has loaded, so a processor waits for the memory once an entry; loads that nothing
    depends on overlap. On text this halves the time of a sparse row.
    """


@generic_no_refcount
def prefetch_row(table, row, rows, t):
    """Ask for the memory that record t needs of a row, ahead of its round: on text this halves the time of a round.

    A record that is dense reads its row from end to end, which a processor foresees by itself.
    """


@generic_no_refcount
def offset_of(table, n):
    """Distance from a weight to the n-th number that lies beside it, 0 for itself."""


@generic_no_refcount
def numbers_of(table):
    """How many numbers a weight has, itself included."""


@generic_no_refcount
def get_value(table, place):
    """Return the number at an address."""


@generic_no_refcount
def set_value(table, place, number):
    """Store a number at an address that is claimed."""


@generic_no_refcount
def multiply(table, factor):
    """Multiply every stored number by a factor."""


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
    """Inner product of a row of the table with record t: O(stored entries)."""
    total = 0.0 if touch(table, row, rows, t) != -2 else np.nan
    for k in range(begin(rows, t), end(rows, t)):
        total += get_value(table, find_weight(table, row, feature(rows, t, k))) * value(rows, t, k)
    return total


@no_refcount
def axpy(table, row, c, rows, t):
    """Add c times record t to a row of the table: O(stored entries)."""
    for k in range(begin(rows, t), end(rows, t)):
        place = get_or_insert(table, row, feature(rows, t, k))
        set_value(table, place, get_value(table, place) + c * value(rows, t, k))


def prefetch_weights(table, row, rows, t):
    """A body of ``prefetch_row`` for tables in which the address of a weight follows from row and feature alone."""
    for k in range(begin(rows, t), end(rows, t)):
        prefetch(table.values, find_weight(table, row, feature(rows, t, k)))


@compiled
def add_entries(table, entries):
    """Add an array (rows, features, numbers of a weight), as far as it is not zero, to a table with room for it."""
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
    """Write the n-th numbers of weights to an array (rows, features)."""
    for row in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            weights[row, j] = table.values[find_weight(table, row, j) + offset_of(table, n)]


# -- second numbers ----------------------------------------------------------------------------------------------------


class Second(NamedTuple):
    """The second numbers of a table as a table of their own, in the same memory.

    It has room where the first numbers have, and holds what they have claimed: they must be moved first.
    """

    values: Any
    table: Any

    def rows(self, rows: int, features: int) -> Weights:
        """Return the first rows as a dense (rows, features) array."""
        return self.table.read(rows, features, 1)  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the table, and take the second numbers of the copy."""
        return second, (self.table,)


def second(table: Any) -> Second:
    """Return the second numbers of a table as a table."""
    return Second(table.values, table)


when(find_weight, Second)(
    lambda table, row, feature: find_weight(table.table, row, feature) + offset_of(table.table, 1)
)
