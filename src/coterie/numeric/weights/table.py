"""Tables of weights, a row of numbers for every task or group: what every kind of table has to offer.

A kind of table is a named tuple of arrays, and kinds that are alike share a file: ``dense``, ``sparse``.
Some hold several numbers a weight: a second one, such as a sum of squared gradients, and more lie beside each weight,
where they are in cache when the weight moves.

**In compiled code** a kind gives bodies to these functions, and learners use nothing else of it. It must have a body of
``locate``; the others have defaults that fit a table in which every weight has a place:

============================== =========================================================================================
``locate(table, row, j)``      address of a weight in ``table.values``, or that of some zero if the weight is not stored
``claim(table, row, j)``       address of a weight, which is stored from now on
``reserve(table, row, ...)``   makes room for the weights of a record before they are claimed; False if memory is needed
``touch``, ``prefetch_row``    load what a record needs of a row; ask for it a round ahead
``beside(table, n)``           distance from a weight to the n-th number that lies beside it
``numbers_of(table)``          how many numbers a weight has, itself included
``held``, ``put``              read and write the number at an address (tables that fade scale it)
``multiply(table, factor)``    scales every stored number
============================== =========================================================================================

**In Python** a kind is a :class:`Table`, which grows, is saved and restored, and tells the bytes it uses. How it is
made (``empty``) depends on the kind; :func:`rows_of` reads any of them.
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

    @property
    @abstractmethod
    def values(self) -> Any:
        """The array in which the weights are."""

    @property
    @abstractmethod
    def numbers(self) -> Any:
        """How many numbers a weight has, itself included."""

    #: Every weight has a place, so that more rows or features cost memory whether they are used or not.
    dense: ClassVar[bool]

    def has_room(self, rows: int, features: int) -> bool:
        """Tell whether so many rows of so many features fit in as it is."""
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
        """Drop the weights of these rows, whose memory others can have."""

    @abstractmethod
    def drop_rows(self, dropped: Dropped) -> Self:
        """Drop rows, others taking their places."""

    @abstractmethod
    def to_saved(self, rows: int | None = None, features: int | None = None) -> dict[str, Any]:
        """Copy what a file holds of so many rows and features: the same for equal weights, whatever room there is.

        Without them all that there is room for is copied.
        """

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> Self:
        """Restore a table from what :meth:`to_saved` returned; its arrays belong to the table from now on.

        Raises
        ------
        ValueError
            If rows lie where none can.
        """
        return cls(**saved)

    @classmethod
    @abstractmethod
    def blank(cls, dtype: str, numbers: int) -> Self:
        """Make a table without rows, which has the types of the arrays that are saved."""

    @abstractmethod
    def check(self, rows: int, features: int) -> None:
        """Refuse a table whose weights lie outside its arrays, or which lacks room for so many: ValueError."""

    def part(self, rows: int, features: int) -> Part:
        """Name so many rows and features as the part to be saved."""
        return Part(self, rows, features)

    @property
    def nbytes(self) -> int:
        """Bytes in use."""
        return int(self.values.nbytes)

    def rows(self, rows: int, features: int) -> Weights:
        """Return the first rows as a dense (rows, features) array."""
        return rows_of(self, rows, features)


class Part(NamedTuple):
    """The used rows and features of a table, in a tree of named tuples that is to be saved."""

    table: Table
    rows: int
    features: int


# -- what a kind has bodies for ----------------------------------------------------------------------------------------


@generic_no_refcount
def locate(table: Any, row: Any, feature: Any) -> Any:
    """Address of a weight in ``table.values``, or that of some zero if the weight is not stored.

    Where it can be, it is unsigned: that spares a test for addresses counted from the end.
    """


@generic_no_refcount
def claim(table: Any, row: Any, feature: Any) -> Any:
    """Address of a weight, stored from now on; ``reserve`` has made room for it."""


@generic_no_refcount
def reserve(table: Any, row: Any, rows: Any, t: Any) -> Any:
    """Make room in a row for the weights that record t would move; False if the table needs more memory for that."""


@generic_no_refcount
def touch(table: Any, row: Any, rows: Any, t: Any) -> Any:
    """Load what a record needs of a row before it is looked at; returns something that is never -2.

    A probe branches on what it has loaded, so a processor waits for the memory once an entry; loads that nothing
    depends on overlap. On text this halves the time of a sparse row.
    """


@generic_no_refcount
def prefetch_row(table: Any, row: Any, rows: Any, t: Any) -> None:
    """Ask for the memory that record t needs of a row, ahead of its round: on text this halves the time of a round.

    A record that is dense reads its row from end to end, which a processor foresees by itself.
    """


@generic_no_refcount
def beside(table: Any, n: Any) -> Any:
    """Distance from a weight to the n-th number that lies beside it, 0 for itself."""


@generic_no_refcount
def numbers_of(table: Any) -> Any:
    """How many numbers a weight has, itself included."""


@generic_no_refcount
def held(table: Any, place: Any) -> Any:
    """Return the number at an address."""


@generic_no_refcount
def put(table: Any, place: Any, number: Any) -> None:
    """Store a number at an address that is claimed."""


@generic_no_refcount
def multiply(table: Any, factor: Any) -> None:
    """Multiply every stored number by a factor."""


when(claim, object)(lambda table, row, feature: locate(table, row, feature))
when(reserve, object)(lambda table, row, rows, t: True)
when(touch, object)(lambda table, row, rows, t: np.int64(0))
when(prefetch_row, object)(lambda table, row, rows, t: None)
when(beside, object)(lambda table, n: np.uint64(n))
when(numbers_of, object)(lambda table: 1)
when(held, object)(lambda table, place: table.values[place])


@when(put, object)
def _put(table: Any, place: Any, number: Any) -> None:
    table.values[place] = number


@when(multiply, object)
def _multiply_all(table: Any, factor: Any) -> None:
    for place in range(table.values.size):
        table.values[place] *= factor


# -- what is written once, on top of these -----------------------------------------------------------------------------


@no_refcount
def dot(table: Any, row: Any, rows: Any, t: Any) -> Any:
    """Inner product of a row of the table with record t: O(stored entries)."""
    total = 0.0 if touch(table, row, rows, t) != -2 else np.nan
    for k in range(begin(rows, t), end(rows, t)):
        total += held(table, locate(table, row, feature(rows, t, k))) * value(rows, t, k)
    return total


@no_refcount
def axpy(table: Any, row: Any, c: Any, rows: Any, t: Any) -> Any:
    """Add c times record t to a row of the table: O(stored entries)."""
    for k in range(begin(rows, t), end(rows, t)):
        place = claim(table, row, feature(rows, t, k))
        put(table, place, held(table, place) + c * value(rows, t, k))


def prefetch_weights(table: Any, row: Any, rows: Any, t: Any) -> None:
    """A body of ``prefetch_row`` for tables in which the address of a weight follows from row and feature alone."""
    for k in range(begin(rows, t), end(rows, t)):
        prefetch(table.values, locate(table, row, feature(rows, t, k)))


@compiled
def add_entries(table: Any, entries: Any) -> None:
    """Add an array (rows, features, numbers of a weight), as far as it is not zero, to a table with room for it."""
    rows, features, numbers = entries.shape
    for row in range(rows):
        for j in range(features):
            moved = False
            for n in range(numbers):
                moved |= entries[row, j, n] != 0.0
            if moved:
                place = claim(table, row, j)
                for n in range(numbers):
                    table.values[place + beside(table, n)] += entries[row, j, n]


@compiled
def _read(table: Any, n: int, weights: Any) -> None:
    for row in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            weights[row, j] = table.values[locate(table, row, j) + beside(table, n)]


def rows_of(table: Any, rows: int, features: int, n: int = 0) -> Weights:
    """Return the first rows of a table, or the n-th numbers of their weights, as a dense (rows, features) array."""
    weights = np.zeros((rows, features), table.values.dtype)
    _read(table, n, weights)
    return weights


# -- second numbers ----------------------------------------------------------------------------------------------------


class Second(NamedTuple):
    """The second numbers of a table as a table of their own, in the same memory.

    It has room where the first numbers have, and holds what they have claimed: they must be moved first.
    """

    values: Any
    table: Any

    def rows(self, rows: int, features: int) -> Weights:
        """Return the first rows as a dense (rows, features) array."""
        return rows_of(self, rows, features)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the table, and take the second numbers of the copy."""
        return second, (self.table,)


def second(table: Any) -> Second:
    """Return the second numbers of a table as a table."""
    return Second(table.values, table)


when(locate, Second)(lambda table, row, feature: locate(table.table, row, feature) + beside(table.table, 1))
