"""Tables of weights: a row of numbers for every task or group, in several layouts behind one address function.

``locate`` gives the address of a weight in ``table.values`` (of a zero where it was never stored), ``claim`` makes room
for it first. ``dot`` and ``axpy`` are written once on top of them.

Layouts also exist as *pairs*: a second number, that of the geometry, lies ``beside`` each weight, where the processor
has it at hand when the weight is moved. Tables that keep only what was moved are in ``sparse_tables``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .generic import generic_lent, lent, when
from .records import begin, end, feature, value


class RowMajor(NamedTuple):
    """Every weight of every row, a row after the other: 8·d bytes a row."""

    values: Any
    stride: int


class FeatureMajor(NamedTuple):
    """Every weight of every row, the rows of one feature together: for updates that touch all rows."""

    values: Any
    stride: int


class Hashed(NamedTuple):
    """2**(64 - shift) weights that rows and features share by hashing."""

    values: Any
    shift: int


class RowMajorPairs(NamedTuple):
    """As :class:`RowMajor`, each weight followed by its second number; the stride counts both."""

    values: Any
    stride: int


class HashedPairs(NamedTuple):
    """As :class:`Hashed`, each weight followed by its second number."""

    values: Any
    shift: int


class Second(NamedTuple):
    """The second numbers of a table of pairs as a table of their own.

    It has room where the first numbers have, and holds what they have claimed: they must be moved first.
    """

    values: Any
    table: Any

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy is of the copied table's memory again."""
        return second, (self.table,)


def second(table: Any) -> Second:
    """The second numbers of a table of pairs, the same memory."""
    return Second(table.values, table)


@generic_lent
def locate(table: Any, row: Any, feature: Any) -> Any:
    """Address of a weight in ``table.values``, or that of some zero if the weight is not stored.

    Where it can be, it is unsigned: that spares a test for addresses counted from the end.
    """


@generic_lent
def claim(table: Any, row: Any, feature: Any) -> Any:
    """Address of a weight, stored from now on; ``reserve`` has made room for it."""


@generic_lent
def reserve(table: Any, row: Any, rows: Any, t: Any) -> Any:
    """Make room in a row for the weights that record t would move; False if the arena is too small for that."""


@generic_lent
def beside(table: Any) -> Any:
    """How far behind a weight its second number lies; 0 where there is none."""


@generic_lent
def held(table: Any, place: Any) -> Any:
    """The number at a place."""


@generic_lent
def put(table: Any, place: Any, number: Any) -> None:
    """Store a number at a place that is claimed."""


@when(held, object)
def _held(table: Any, place: Any) -> Any:
    return table.values[place]


@when(put, object)
def _put(table: Any, place: Any, number: Any) -> None:
    table.values[place] = number


_kind: Any
for _kind in (RowMajor, FeatureMajor, Hashed):
    when(beside, _kind)(lambda table: 0)
when(beside, RowMajorPairs)(lambda table: np.uint64(1))
when(beside, HashedPairs)(lambda table: np.uint64(1))


@when(locate, RowMajorPairs)
def _locate_row_pairs(table: Any, row: Any, feature: Any) -> Any:
    return np.uint64(row * table.stride + 2 * feature)


@when(locate, RowMajor)
def _locate_row_major(table: Any, row: Any, feature: Any) -> Any:
    return np.uint64(row * table.stride + feature)


@when(locate, FeatureMajor)
def _locate_feature_major(table: Any, row: Any, feature: Any) -> Any:
    return np.uint64(feature * table.stride + row)


@when(locate, Hashed)
def _locate_hashed(table: Any, row: Any, feature: Any) -> Any:
    mixed = np.uint64(row) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(feature) * np.uint64(0xC2B2AE3D27D4EB4F)
    return mixed >> np.uint64(table.shift)


@when(locate, HashedPairs)
def _locate_hashed_pairs(table: Any, row: Any, feature: Any) -> Any:
    mixed = np.uint64(row) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(feature) * np.uint64(0xC2B2AE3D27D4EB4F)
    return np.uint64(2) * (mixed >> np.uint64(table.shift))


@generic_lent
def touch(table: Any, row: Any, rows: Any, t: Any) -> Any:
    """Load what a record needs of a row before it is looked at; returns something that is never -2.

    A probe branches on what it has loaded, so a processor waits for the memory once an entry; loads that nothing
    depends on overlap. On text this halves the time of a sparse row.
    """


for _kind in (RowMajor, FeatureMajor, Hashed, RowMajorPairs, HashedPairs):
    when(touch, _kind)(lambda table, row, rows, t: np.int64(0))
    when(claim, _kind)(lambda table, row, feature: locate(table, row, feature))
    when(reserve, _kind)(lambda table, row, rows, t: True)


when(locate, Second)(lambda table, row, feature: locate(table.table, row, feature) + beside(table.table))
when(claim, Second)(lambda table, row, feature: locate(table, row, feature))
when(touch, Second)(lambda table, row, rows, t: np.int64(0))
when(reserve, Second)(lambda table, row, rows, t: True)


@lent
def dot(table: Any, row: Any, rows: Any, t: Any) -> Any:
    """Inner product of a row of the table with record t: O(stored entries)."""
    total = 0.0 if touch(table, row, rows, t) != -2 else np.nan
    for k in range(begin(rows, t), end(rows, t)):
        total += held(table, locate(table, row, feature(rows, t, k))) * value(rows, t, k)
    return total


@lent
def axpy(table: Any, row: Any, c: Any, rows: Any, t: Any) -> Any:
    """Add c times record t to a row of the table: O(stored entries)."""
    for k in range(begin(rows, t), end(rows, t)):
        place = claim(table, row, feature(rows, t, k))
        put(table, place, held(table, place) + c * value(rows, t, k))


@lent
def read_row(table: Any, row: Any, weights: Any) -> Any:
    """Write a row of the table to a dense vector."""
    for j in range(weights.size):
        weights[j] = table.values[locate(table, row, j)]
