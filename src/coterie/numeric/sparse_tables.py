"""Tables that keep the weights that were ever moved, and no others: their cells, how rows find them, how rows grow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .arrays import aligned
from .generic import compiled, generic_lent, lent, when
from .records import begin, end, feature
from .tables import beside, claim, locate, reserve, touch


class Sparse(NamedTuple):
    """The weights that were ever moved: a small hash table for each row, all in one arena.

    A cell is a feature (-1 if free) and its weight side by side: the feature at place 2c of ``features``, the weight at
    place 2c + 1 of ``values``, the two arrays being one piece of memory. Four cells make a bucket, one cache line, that
    fills from its first cell on. Row r owns ``size[r]`` cells from cell ``start[r]`` on, ``count[r]`` of them taken, at
    most five of eight.
    Bucket 0 belongs to nobody and stays empty: rows without cells look there, and so does whoever finds nothing.
    ``used[0]`` is the end of the arena's taken part.
    """

    values: Any
    features: Any
    start: Any
    size: Any
    count: Any
    used: Any

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy's two views are one piece of memory again."""
        return _sparse_again, (Sparse, self.features, self.values.dtype, *self[2:])


class SparsePairs(NamedTuple):
    """As :class:`Sparse`, a bucket being two cache lines: the four cells, then the four second numbers.

    A margin reads the first line only, a move both, and processors fetch lines in pairs.
    """

    values: Any
    features: Any
    start: Any
    size: Any
    count: Any
    used: Any

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy's two views are one piece of memory again."""
        return _sparse_again, (SparsePairs, self.features, self.values.dtype, *self[2:])


@generic_lent
def line(table: Any) -> Any:
    """Places that a bucket of a sparse table takes."""


when(beside, Sparse)(lambda table: 0)
when(beside, SparsePairs)(lambda table: 8)
when(line, Sparse)(lambda table: 8)
when(line, SparsePairs)(lambda table: 16)


@when(locate, SparsePairs)
@when(locate, Sparse)
def _locate_sparse(table: Any, row: Any, feature: Any) -> Any:
    place, found = _probe(table, row, feature)
    return place + 1 if found else 1


@lent
def bucket_of(table: Any, row: Any, feature: Any) -> Any:
    """The bucket of its row in which a feature is looked for first."""
    mixed = (np.uint64(feature) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
    return np.int64((mixed * np.uint64(table.size[row] >> 2)) >> np.uint64(32))


@lent
def _probe(table: Any, row: Any, feature: Any) -> Any:
    """The place of a feature in its row and True, or the free place where it would go and False."""
    bucket = bucket_of(table, row, feature)
    while True:
        place = line(table) * ((table.start[row] >> 2) + bucket)
        a, b = table.features[place], table.features[place + 2]
        c, d = table.features[place + 4], table.features[place + 6]
        found = (a == feature) | (b == feature) | (c == feature) | (d == feature)
        if found | (d < 0):
            matching = 2 * (b == feature) + 4 * (c == feature) + 6 * (d == feature)
            free = 2 * (a >= 0) + 2 * (b >= 0) + 2 * (c >= 0)
            return place + (matching if found else free), found
        bucket += 1
        if 4 * bucket >= table.size[row]:
            bucket = 0


@lent
def _cell(table: Any, cell: Any) -> Any:
    """The place of a cell's feature."""
    return line(table) * (cell >> 2) + 2 * (cell & 3)


@when(claim, SparsePairs)
@when(claim, Sparse)
def _claim_sparse(table: Any, row: Any, feature: Any) -> Any:
    place, found = _probe(table, row, feature)
    if not found:
        table.features[place] = feature
        table.values[place + 1 + beside(table)] = 0.0
        table.values[place + 1] = 0.0
        table.count[row] += 1
    return place + 1


@when(reserve, SparsePairs)
@when(reserve, Sparse)
def _reserve_sparse(table: Any, row: Any, rows: Any, t: Any) -> Any:
    most = table.count[row] + end(rows, t) - begin(rows, t)
    if 8 * most <= 5 * table.size[row]:
        return True
    needed = table.count[row]
    for k in range(begin(rows, t), end(rows, t)):
        _, found = _probe(table, row, feature(rows, t, k))
        needed += 0 if found else 1
    return 8 * needed <= 5 * table.size[row] or _grow_row(table, row, needed)


@lent
def _grow_row(table: Any, row: Any, needed: Any) -> Any:
    """Give a row twice as many cells, or more if needed; False if the arena is too small for that."""
    size = max(4 * ((2 * needed) // 4 + 1), 2 * np.int64(table.size[row]))
    if line(table) * (table.used[0] + size) > 4 * table.values.size:
        return False
    _move_row(table, row, size)
    return True


@lent
def _move_row(table: Any, row: Any, size: Any) -> None:
    """Give a row a larger part of the arena; the part it leaves is dropped at the next compaction."""
    old_start, old_size = table.start[row], table.size[row]
    table.start[row], table.size[row] = table.used[0], size
    for cell in range(table.used[0], table.used[0] + size):
        table.features[_cell(table, cell)] = -1
    table.used[0] += size
    for cell in range(old_start, old_start + old_size):
        here = _cell(table, cell)
        if table.features[here] >= 0:
            there, _ = _probe(table, row, table.features[here])
            table.features[there] = table.features[here]
            table.values[there + 1 + beside(table)] = table.values[here + 1 + beside(table)]
            table.values[there + 1] = table.values[here + 1]


@compiled
def compact(table: Any, features: Any, start: Any) -> Any:
    """Copy the live rows of a sparse table into a new arena, in order; returns the end of its taken part.

    Cells are copied as integers, weights by their bits.
    """
    used = 4
    for row in range(table.size.size):
        first, size = line(table) * (table.start[row] >> 2), line(table) * (np.int64(table.size[row]) >> 2)
        if size > 0:
            start[row] = used
            there = line(table) * (used >> 2)
            features[there : there + size] = table.features[first : first + size]
            used += table.size[row]
    return used


@when(touch, SparsePairs)
@when(touch, Sparse)
def _touch_sparse(table: Any, row: Any, rows: Any, t: Any) -> Any:
    seen = np.int64(0)
    for k in range(begin(rows, t), end(rows, t)):
        bucket = (table.start[row] >> 2) + bucket_of(table, row, feature(rows, t, k))
        seen |= table.features[line(table) * bucket]
    return seen


@compiled
def write_row(table: Any, row: Any, weights: Any) -> None:
    """Store the nonzero entries of a dense vector in an empty row of a sparse table that has room for them."""
    _grow_row(table, row, np.count_nonzero(weights))
    for j in range(weights.size):
        if weights[j] != 0.0:
            table.values[claim(table, row, j)] = weights[j]


@lent
def add_pairs(table: Any, row: Any, pairs: Any) -> None:
    """Add weights and second numbers of an array (features, 2), those that are not both zero, to a row with room."""
    for j in range(len(pairs)):
        if pairs[j, 0] != 0.0 or pairs[j, 1] != 0.0:
            place = claim(table, row, j)
            table.values[place] += pairs[j, 0]
            table.values[place + beside(table)] += pairs[j, 1]


@lent
def write_pairs(table: Any, row: Any, pairs: Any) -> None:
    """As :func:`write_row` for the weights and second numbers of an array (features, 2)."""
    moved = 0
    for j in range(len(pairs)):
        moved += 1 if pairs[j, 0] != 0.0 or pairs[j, 1] != 0.0 else 0
    _grow_row(table, row, moved)
    add_pairs(table, row, pairs)


#: Places that a bucket takes, by kind of sparse table.
LINES: dict[Any, int] = {Sparse: 8, SparsePairs: 16}


def arena(size: int, dtype: np.dtype[Any], kind: type = Sparse) -> tuple[Any, Any]:
    """Room for so many cells, seen as weights and as features; buckets begin at the start of a pair of cache lines.

    All zero, since a saved model holds what nobody has written to as well.
    """
    values = aligned(LINES[kind] * -(-size // 4), dtype, 128)
    features = values.view(f"i{dtype.itemsize}")
    values[: LINES[kind]], features[:8:2] = 0.0, -1
    return values, features


def _sparse_again(kind: Any, bits: Any, dtype: np.dtype[Any], *rest: Any) -> Any:
    return kind(*cells(bits, dtype, kind), *rest)


def cells(bits: Any, dtype: np.dtype[Any], kind: type = Sparse) -> tuple[Any, Any]:
    """A new arena with the cells of another, given as integers."""
    values, features = arena(4 * bits.size // LINES[kind], dtype, kind)
    features[:] = bits
    return values, features


def room(table: Any) -> int:
    """The number of cells of a sparse table's arena."""
    return int(4 * table.values.size // LINES[type(table)])
