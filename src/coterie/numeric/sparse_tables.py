"""Tables that keep the weights that were ever moved, and no others: their cells, how rows find them, how rows grow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .arenas import ORDERS, give, line, take
from .arithmetic import trailing_zeros
from .arrays import aligned
from .generic import compiled, lent, lent_apart, when
from .records import begin, end, feature
from .tables import beside, claim, locate, reserve, touch


class Sparse(NamedTuple):
    """The weights that were ever moved: a small hash table for each row, all in one arena.

    A cell is a feature (-1 if free) and its weight side by side: the feature at place 2c of ``features``, the weight at
    place 2c + 1 of ``values``, the two arrays being one piece of memory. Four cells make a bucket, of doubles a cache
    line, that fills from its first cell on. Row r owns ``size[r]`` cells, a power of two, from cell ``start[r]`` on;
    ``count[r]`` are taken, at most five of eight.
    Bucket 0 belongs to nobody and stays empty: rows without cells look there, and so does whoever finds nothing.
    Up to cell ``used[0]`` the arena is taken by rows and by the free blocks of the lists ``free`` (see ``arenas``);
    from there on it is zero and, where it is large, takes no memory before it is written to.
    """

    values: Any
    features: Any
    start: Any
    size: Any
    count: Any
    used: Any
    free: Any

    @property
    def nbytes(self) -> int:
        """Bytes in use: those behind the arena's taken part are none."""
        return _bytes_used(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy's two views are one piece of memory again."""
        return _sparse_again, (Sparse, taken(self), self.values.dtype, room(self), *self[2:])


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
    free: Any

    @property
    def nbytes(self) -> int:
        """Bytes in use: those behind the arena's taken part are none."""
        return _bytes_used(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy's two views are one piece of memory again."""
        return _sparse_again, (SparsePairs, taken(self), self.values.dtype, room(self), *self[2:])


when(beside, Sparse)(lambda table: np.uint64(0))
when(beside, SparsePairs)(lambda table: np.uint64(8))
when(line, Sparse)(lambda table: 8)
when(line, SparsePairs)(lambda table: 16)


@when(locate, SparsePairs)
@when(locate, Sparse)
def _locate_sparse(table: Any, row: Any, feature: Any) -> Any:
    place, found = _probe(table, row, feature)
    return np.uint64(place + 1 if found else 1)


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
        a, b = table.features[np.uint64(place)], table.features[np.uint64(place + 2)]
        c, d = table.features[np.uint64(place + 4)], table.features[np.uint64(place + 6)]
        found = (a == feature) | (b == feature) | (c == feature) | (d == feature)
        if found | (d < 0):
            matching = 2 * (b == feature) + 4 * (c == feature) + 6 * (d == feature)
            free = 2 * (a >= 0) + 2 * (b >= 0) + 2 * (c >= 0)
            return place + (matching if found else free), found
        bucket += 1
        if 4 * bucket >= table.size[row]:
            bucket = 0


@when(claim, SparsePairs)
@when(claim, Sparse)
def _claim_sparse(table: Any, row: Any, feature: Any) -> Any:
    place, found = _probe(table, row, feature)
    if not found:
        table.features[place] = feature
        table.values[np.uint64(place + 1) + beside(table)] = 0.0
        table.values[place + 1] = 0.0
        table.count[row] += 1
    return np.uint64(place + 1)


@lent
def _fits(needed: Any, size: Any) -> Any:
    """Whether so many weights may lie in a row of so many cells.

    Fuller rows take less memory, and finding a weight in them takes longer: at three of four a fifth each, on text.
    """
    return 8 * needed <= 5 * size


@lent
def _order(needed: Any) -> Any:
    """The order of the smallest block in which so many weights may lie."""
    order = np.int64(0)
    while not _fits(needed, np.int64(4) << order):
        order += 1
    return order


@when(reserve, SparsePairs)
@when(reserve, Sparse)
def _reserve_sparse(table: Any, row: Any, rows: Any, t: Any) -> Any:
    most = table.count[row] + end(rows, t) - begin(rows, t)
    if _fits(most, table.size[row]):
        return True
    needed = table.count[row]
    for k in range(begin(rows, t), end(rows, t)):
        _, found = _probe(table, row, feature(rows, t, k))
        needed += 0 if found else 1
    return _fits(needed, table.size[row]) or _grow_row(table, row, needed)


@lent_apart
def _grow_row(table: Any, row: Any, needed: Any) -> Any:
    """Give a row the cells that so many weights need; False if the arena is too small for that."""
    order = _order(needed)
    bucket = take(table, order)
    if bucket > 0:
        _move_row(table, row, bucket, order)
    return bucket > 0


@lent
def _move_row(table: Any, row: Any, bucket: Any, order: Any) -> None:
    """Give a row another block, and the one that it leaves to whoever wants it.

    Buckets follow each other as the hashes of features do, so a larger row is written from one end to the other.
    """
    old, old_buckets = table.start[row] >> 2, np.int64(table.size[row]) >> 2
    table.start[row], table.size[row] = 4 * bucket, np.int64(4) << order
    for each in range(bucket, bucket + (np.int64(1) << order)):
        for cell in range(4):
            table.features[line(table) * each + 2 * cell] = -1
    for each in range(old, old + old_buckets):
        for here in range(line(table) * each, line(table) * each + 8, 2):
            if table.features[here] < 0:
                break
            there, _ = _probe(table, row, table.features[here])
            table.features[there] = table.features[here]
            source, target = np.uint64(here + 1), np.uint64(there + 1)
            table.values[target + beside(table)] = table.values[source + beside(table)]
            table.values[target] = table.values[source]
    if old_buckets > 0:
        give(table, old, np.int64(trailing_zeros(old_buckets)))


@compiled
def compact(table: Any, rows: Any, features: Any, start: Any) -> Any:
    """Copy the rows of a sparse table into a new arena, one after the other; returns the end of its taken part.

    Blocks are aligned without gaps if larger ones come first. Cells are copied as integers, weights by their bits.
    """
    used = 4
    for row in rows:
        first, size = line(table) * (table.start[row] >> 2), line(table) * (np.int64(table.size[row]) >> 2)
        if size > 0:
            start[row] = used
            there = line(table) * (used >> 2)
            features[there : there + size] = table.features[first : first + size]
            used += table.size[row]
    return used


@compiled
def room_wanted(size: Any, count: Any, rows: Any, entries: int) -> Any:
    """Cells of free arena in which each of these rows finds a block for so many new entries, wherever the arena ends.

    A block is as large as what is skipped to align it, at most.
    """
    cells = np.int64(0)
    for row in rows:
        if not _fits(count[row] + entries, size[row]):
            cells += np.int64(8) << _order(count[row] + entries)
    return cells


@when(touch, SparsePairs)
@when(touch, Sparse)
def _touch_sparse(table: Any, row: Any, rows: Any, t: Any) -> Any:
    seen = np.int64(0)
    for k in range(begin(rows, t), end(rows, t)):
        bucket = (table.start[row] >> 2) + bucket_of(table, row, feature(rows, t, k))
        seen |= table.features[np.uint64(line(table) * bucket)]
    return seen


@compiled
def write_row(table: Any, row: Any, weights: Any) -> None:
    """Store the nonzero entries of a dense vector in an empty row of a sparse table that has room for them."""
    if np.any(weights):
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
    if moved > 0:
        _grow_row(table, row, moved)
    add_pairs(table, row, pairs)


#: Places that a bucket takes, by kind of sparse table.
LINES: dict[Any, int] = {Sparse: 8, SparsePairs: 16}


#: Bytes of the pages that memory comes in: a row that begins where one does is in as few pages as can be.
_PAGE = 4096


def arena(cells: int, dtype: np.dtype[Any], kind: type = Sparse) -> tuple[Any, Any]:
    """Room for so many cells, seen as weights and as features; bucket 1 begins a pair of cache lines, or a page.

    All zero but for the mark of bucket 0: memory that is not written to is not taken, nor saved.
    """
    buckets = -(-cells // 4)
    if buckets >= 2 ** (8 * dtype.itemsize - 1):
        raise ValueError(f"a sparse table of {dtype} has room for less than 2**33 cells, and {cells} are wanted")
    bucket = LINES[kind] * dtype.itemsize
    boundary = _PAGE if bucket * buckets > 64 * _PAGE else 128
    before = -bucket % boundary // dtype.itemsize
    values = aligned(before + LINES[kind] * buckets, dtype, boundary)[before:]
    features = values.view(f"i{dtype.itemsize}")
    features[:8:2] = -1
    return values, features


def no_blocks() -> Any:
    """Lists of free blocks, all empty."""
    return np.zeros(ORDERS, np.int64)


def _sparse_again(kind: Any, bits: Any, dtype: np.dtype[Any], cells: int, *rest: Any) -> Any:
    return kind(*restored(bits, dtype, cells, kind), *rest)


def restored(bits: Any, dtype: np.dtype[Any], cells: int, kind: type = Sparse) -> tuple[Any, Any]:
    """A new arena with the taken part of another, given as integers, and room for so many cells if that can be had."""
    needed = 4 * bits.size // LINES[kind]
    try:
        values, features = arena(max(cells, needed), dtype, kind)
    except MemoryError:
        values, features = arena(needed, dtype, kind)
    features[: bits.size] = bits
    return values, features


def room(table: Any) -> int:
    """The number of cells of a sparse table's arena."""
    return int(4 * table.values.size // LINES[type(table)])


def taken(table: Any) -> Any:
    """The taken part of a sparse table's arena, as integers."""
    return table.features[: LINES[type(table)] * (int(table.used[0]) // 4)]


def _bytes_used(table: Any) -> int:
    return int(taken(table).nbytes + sum(array.nbytes for array in table[2:]))
