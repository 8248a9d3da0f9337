"""Tables of weights: a row of numbers for every task or group, in four layouts behind one address function.

``locate`` gives the address of a weight in ``table.values`` (negative where it was never stored), ``claim`` makes room
for it first. ``dot`` and ``axpy`` are written once on top of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .generic import compiled, generic, when
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
    """A fixed number of weights (a power of two) that rows and features share by hashing."""

    values: Any


class Sparse(NamedTuple):
    """The weights that were ever moved: a small open-addressing table for each row, all in one arena.

    Row r owns ``size[r]`` (a power of two, or 0) places from ``start[r]`` on, ``count[r]`` of them taken.
    ``used[0]`` is the end of the arena's taken part. A place that is free holds the feature -1.
    """

    values: Any
    features: Any
    start: Any
    size: Any
    count: Any
    used: Any


@generic
def locate(table: Any, row: Any, feature: Any) -> Any:
    """Address of a weight in ``table.values``, negative if it is not stored."""


@generic
def claim(table: Any, row: Any, feature: Any) -> Any:
    """Address of a weight, stored from now on; ``reserve`` has made room for it."""


@generic
def reserve(table: Any, row: Any, entries: Any) -> Any:
    """Make room for so many new weights in a row; False if the arena is too small for that."""


@compiled
def _scatter(row: int, feature: int) -> np.uint64:
    h = np.uint64(row) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(feature) * np.uint64(0xC2B2AE3D27D4EB4F)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(32))


@when(locate, RowMajor)
def _locate_row_major(table: Any, row: Any, feature: Any) -> Any:
    return row * table.stride + feature


@when(locate, FeatureMajor)
def _locate_feature_major(table: Any, row: Any, feature: Any) -> Any:
    return feature * table.stride + row


@when(locate, Hashed)
def _locate_hashed(table: Any, row: Any, feature: Any) -> Any:
    return np.int64(_scatter(row, feature) & np.uint64(table.values.size - 1))


@when(locate, Sparse)
def _locate_sparse(table: Any, row: Any, feature: Any) -> Any:
    size = table.size[row]
    if size == 0:
        return np.int64(-1)
    place = _probe(table, row, feature)
    return place if table.features[place] == feature else np.int64(-1)


@compiled
def _probe(table: Any, row: Any, feature: Any) -> Any:
    """The place of a feature in its row, or the free place where it would go."""
    mask = np.int64(table.size[row] - 1)
    first = table.start[row]
    offset = np.int64((np.uint64(feature) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & mask
    while table.features[first + offset] >= 0 and table.features[first + offset] != feature:
        offset = (offset + 1) & mask
    return first + offset


for _kind in (RowMajor, FeatureMajor, Hashed):
    when(claim, _kind)(lambda table, row, feature: locate(table, row, feature))
    when(reserve, _kind)(lambda table, row, entries: True)


@when(claim, Sparse)
def _claim_sparse(table: Any, row: Any, feature: Any) -> Any:
    place = _probe(table, row, feature)
    if table.features[place] < 0:
        table.features[place] = feature
        table.count[row] += 1
    return place


@when(reserve, Sparse)
def _reserve_sparse(table: Any, row: Any, entries: Any) -> Any:
    needed = table.count[row] + entries
    if 4 * needed <= 3 * table.size[row]:
        return True
    size = 4
    while 4 * needed > 3 * size:
        size *= 2
    if table.used[0] + size > table.values.size:
        return False
    _move_row(table, row, size)
    return True


@compiled
def _move_row(table: Any, row: Any, size: Any) -> Any:
    """Give a row a larger part of the arena; the part it leaves is dropped at the next compaction."""
    old_start, old_size = table.start[row], table.size[row]
    table.start[row], table.size[row] = table.used[0], size
    table.features[table.used[0] : table.used[0] + size] = -1
    table.used[0] += size
    for place in range(old_start, old_start + old_size):
        if table.features[place] >= 0:
            there = _probe(table, row, table.features[place])
            table.features[there] = table.features[place]
            table.values[there] = table.values[place]


@compiled
def compact(table: Any, values: Any, features: Any, start: Any) -> Any:
    """Copy the live rows of a sparse table into a new arena, in order; returns the end of its taken part."""
    used = 0
    for row in range(table.size.size):
        size = table.size[row]
        first = table.start[row]
        start[row] = used
        values[used : used + size] = table.values[first : first + size]
        features[used : used + size] = table.features[first : first + size]
        used += size
    return used


@compiled
def dot(table: Any, row: Any, rows: Any, t: Any) -> Any:
    """Inner product of a row of the table with record t: O(stored entries)."""
    total = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        place = locate(table, row, feature(rows, t, k))
        if place >= 0:
            total += table.values[place] * value(rows, t, k)
    return total


@compiled
def axpy(table: Any, row: Any, c: Any, rows: Any, t: Any) -> Any:
    """Add c times record t to a row of the table: O(stored entries)."""
    for k in range(begin(rows, t), end(rows, t)):
        place = claim(table, row, feature(rows, t, k))
        table.values[place] += c * value(rows, t, k)


@compiled
def read_row(table: Any, row: Any, weights: Any) -> Any:
    """Write a row of the table to a dense vector."""
    for j in range(weights.size):
        place = locate(table, row, j)
        weights[j] = table.values[place] if place >= 0 else 0.0


@compiled
def write_row(table: Any, row: Any, weights: Any) -> Any:
    """Store the nonzero entries of a dense vector in an empty row; False if there is no room for them."""
    if not reserve(table, row, np.count_nonzero(weights)):
        return False
    for j in range(weights.size):
        if weights[j] != 0.0:
            table.values[claim(table, row, j)] = weights[j]
    return True
