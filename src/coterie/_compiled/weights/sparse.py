"""Sparse tables of weights: one small hash table per row, all in one block of memory (arena).

A cell is a feature (-1 if free) and its weight side by side. Four cells make a bucket, and a row owns a block of 2**k
buckets. A row that is full moves to a larger block; the one that it leaves goes on the list of free blocks of its size,
for the next row that needs one of that size. Where a list is empty, blocks are taken from the end of the arena.

Free blocks of unused sizes could accumulate, for example when all rows grow at once. If more than a fifth of the arena
is unused, its end is not used before ``make_room`` has compacted all rows in one pass.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections import namedtuple
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arithmetic import trailing_zeros
from coterie._compiled.core.arrays import Dropped, aligned, enlarged
from coterie._compiled.core.checks import MOST_FEATURES, require, require_rows, require_shape
from coterie._compiled.core.generic import compiled, generic_no_refcount, no_refcount, no_refcount_noinline, when
from coterie._compiled.core.prefetching import prefetch
from coterie._compiled.core.records import begin, end, feature

from .table import (
    Table,
    Weights,
    add_entries,
    find_weight,
    get_or_insert,
    multiply,
    numbers_of,
    offset_of,
    prefetch_row,
    read_entries,
    reserve,
    touch,
)

#: Blocks have 2**k buckets, k below this: a row has fewer than 2**31 cells.
ORDERS = 30

#: Rows are compacted when more than one cell in this many belongs to no row.
GAPS = 5

#: Arenas for more cells than a few come from the system as pages that take no memory before they are written to; up to
#: many, 256 MiB of doubles, there are so many to begin with that a table is copied once on the way.
FEW_CELLS, MANY_CELLS = 2**16, 2**24

#: The maximum room of a table from a file, as a multiple of its cells; and the cells of a small table.
MOST_ROOM, FEW_ROOM = 64, 512


class _SparseTable(Table):
    __slots__ = ()

    dense: ClassVar[bool] = False
    features: Any
    start: Any
    size: Any
    count: Any
    used: Any
    free: Any
    _replace: Callable[..., Self]
    _asdict: Callable[[], dict[str, Any]]

    @classmethod
    @abstractmethod
    def of_arrays(cls, numbers: int, *arrays: Any) -> Self:
        """Return a table with these arrays, in the order of its fields."""

    def widened(self) -> SparseMany:
        """Return the table as the type for any number of numbers per weight, with the same arrays.

        Operations on whole tables are compiled only for this type; rounds are faster with a fixed number.
        """
        return SparseMany(*self[:7], self.numbers)  # type: ignore[index, call-arg]

    @classmethod
    def empty(cls, rows: int, numbers: int = 1, cells: int = 512) -> Self:
        """Return an empty table with this many cells of capacity."""
        start, size, count = np.zeros(rows, np.int64), np.zeros(rows, np.int32), np.zeros(rows, np.int32)
        arena = _arena(cells, bucket_places(numbers))
        return cls.of_arrays(numbers, *arena, start, size, count, np.array([4, 0]), _no_blocks())

    @classmethod
    def from_entries(cls, entries: Weights) -> Self:
        """Return a table of the weights in an array (rows, features, numbers per weight) that are not zero."""
        # a weight with any number other than zero gets a cell
        count = np.count_nonzero(np.any(entries, axis=2), axis=1).astype(np.int32)
        table = cls.with_rows(count, entries.shape[2], 512)
        add_entries(table.widened(), entries)
        return table

    @classmethod
    def with_rows(cls, count: NDArray[np.int32], numbers: int, spare: int) -> Self:
        """Return a table of empty rows; ``count`` are the weights to expect in each, ``spare`` further cells."""
        cells = spare + int(_cells_wanted(np.zeros_like(count), count, np.flatnonzero(count), 0))
        table = cls.empty(len(count), numbers, cells)
        _make_rows(table.widened(), count)
        return table

    @classmethod
    def blank(cls, numbers: int) -> Self:
        """Return a table without rows, with the array types of saved tables."""
        return cls.empty(0, numbers, 4)

    def read(self, rows: int, features: int, n: int) -> Weights:
        weights = np.zeros((rows, features))
        read_entries(self.widened(), n, weights)
        return weights

    # -- how it grows

    def has_room(self, rows: int, features: int) -> bool:
        """Return True if the table has this many rows; features are not limited."""
        return rows <= len(self.start)

    def fit_rows(self, rows: int) -> Self:
        """Return the table with this many rows; new rows are empty."""
        return self._replace(
            start=enlarged(self.start, rows), size=enlarged(self.size, rows), count=enlarged(self.count, rows)
        )

    def make_room(self, rows: NDArray[np.int64], entries: int) -> Self:
        """Return a table with capacity for ``entries`` new weights in each of these rows."""
        need = int(_cells_wanted(self.size, self.count, rows, entries))
        if self.used[0] + need > self.room:
            # room is counted as if every new block came from the end, although a free one may fit
            return self._moved(need)
        if GAPS * self.used[1] > self.used[0]:
            self._close_gaps()
        return self

    def clear_rows(self, rows: NDArray[np.int64]) -> Self:
        """Delete the weights of rows; compact the arena if too many cells are unused."""
        _release(self.widened(), rows)
        if 2 * self.used[1] > self.used[0]:
            return self._moved(0)
        if GAPS * self.used[1] > self.used[0]:
            self._close_gaps()
        return self

    def drop_rows(self, dropped: Dropped) -> Self:
        """Remove rows and free their cells; the last rows take their indices."""
        table = self.clear_rows(dropped.rows)
        for array in (table.start, table.size, table.count):
            dropped.move(array)
        return table

    def _moved(self, need: int) -> Self:
        """Copy the rows to a new arena with capacity for ``need`` more cells."""
        # only cells that belong to rows are copied, so the gaps need no room
        values, features = self._roomy_arena(int(self.used[0] - self.used[1]) + need)
        start = np.zeros_like(self.start)
        used = np.array([_lay_out(self.widened(), self._owners(), features, start), 0])
        return self._replace(values=values, features=features, start=start, used=used, free=_no_blocks())

    def _close_gaps(self) -> None:
        """Compact the rows within their arena."""
        before = len(self._taken())
        self.used[:] = _lay_out(self.widened(), self._owners(), self.features, self.start), 0
        # behind the end all must be zero again, the state in which take() finds fresh blocks
        self.features[len(self._taken()) : before] = 0
        self.free[:] = 0

    def _owners(self) -> NDArray[np.int64]:
        """Return the rows that have a block of cells, in the order of the blocks."""
        rows = np.flatnonzero(self.size)
        # _lay_out may only move blocks towards the beginning, which this order ensures
        return np.asarray(rows[np.argsort(self.start[rows])])

    def _roomy_arena(self, cells: int) -> tuple[Weights, NDArray[Any]]:
        """Allocate an arena several times larger than its content, because untouched memory is not allocated.

        A small arena is enlarged less, because its memory may have been used before. If the system refuses the large
        allocation, as without overcommitment, smaller ones are tried.
        """
        most = max(4, min(64, MANY_CELLS // cells)) if cells > FEW_CELLS else 2
        for times in (most, most // 2):
            with contextlib.suppress(MemoryError, ValueError):
                return _arena(times * cells, self.line)
        return _arena(cells, self.line)

    # -- storage

    @property
    def line(self) -> int:
        """The number of 8-byte words in a bucket of four cells."""
        return bucket_places(self.numbers)

    @property
    def room(self) -> int:
        """The number of cells in the arena."""
        return int(4 * self.values.size // self.line)

    def _taken(self) -> NDArray[Any]:
        """Return the used part of the arena (the memory of all rows) as a view of integers."""
        return np.asarray(self.features[: self.line * (int(self.used[0]) // 4)])

    @property
    def nbytes(self) -> int:
        """The memory in use in bytes, without the unused end of the arena."""
        return int(self._taken().nbytes + sum(array.nbytes for array in self._of_rows()))

    def _of_rows(self) -> tuple[Any, ...]:
        return self.start, self.size, self.count, self.used, self.free

    def to_saved(self, rows: int | None = None, features: int | None = None) -> dict[str, Any]:
        """Copy the non-zero weights in a layout that depends on them only, so that equal weights give equal files.

        Gaps and moved rows, which depend on when room was made, are not part of a file. Of the two views of the arena
        one is saved with its used part, the other only by its type; the spare capacity is not saved.
        """
        count = np.zeros(len(self.start) if rows is None else rows, np.int32)
        # weights of zero bits are not saved, whether they were moved or not
        count_weights(self.widened(), 0, self.numbers, count)
        table = self.with_rows(count, self.numbers, 4)
        copy_weights(self, 0, table, 0, self.numbers, count)
        return table._asdict() | {"values": table.values[:0], "features": table._taken(), "room": 0}

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> Self:
        """Restore a table from the result of :meth:`to_saved`.

        The numbers of used and unused cells are counted here, so that a file cannot falsify them; unused cells are not
        added to the lists of free blocks.
        """
        rows, filled = (saved["start"], saved["size"], saved["count"]), saved["features"]
        numbers: int = saved.get("numbers", cls.numbers)
        line = bucket_places(numbers)
        require(
            filled.size >= line and filled.size % line == 0,
            f"an arena of {filled.size} numbers is not a whole number of buckets",
        )
        cells = 4 * (filled.size // line)
        arena = _restored(filled, min(saved["room"], MOST_ROOM * max(cells, FEW_ROOM)), line)
        # the cells of bucket 0 and of rows belong to somebody, all others are gaps
        used = np.array([cells, cells - 4 - int(saved["size"].sum(dtype=np.int64))])
        return cls.of_arrays(numbers, *arena, *rows, used, _no_blocks())

    def check(self, rows: int, features: int) -> None:
        """Raise ValueError for rows outside the arena, overlapping rows, or features that a look-up does not find.

        Probing relies on this: it ends at a free cell.
        """
        R, end = len(self.start), int(self.used[0])
        require_shape("size", self.size, R)
        require_shape("count", self.count, R)
        require_rows("a sparse table", self.start, rows)
        size, start = self.size.astype(np.int64), self.start
        owns = size > 0
        # powers of two of at least one bucket, at the beginning of a bucket
        whole = ((size & (size - 1)) == 0) & (size >= 4) & (size < (np.int64(4) << ORDERS)) & ((start & 3) == 0)
        fits = np.where(owns, whole & (start >= 4) & (start <= end - size), (start == 0) & (self.count == 0))
        require(((size >= 0) & fits).all(), "a row of a sparse table lies outside its arena")
        require(((self.count >= 0) & (8 * self.count.astype(np.int64) <= 5 * size)).all(), "a row is too full")
        owners = self._owners()
        ends = start[owners] + size[owners]
        # owners are in the order of their blocks, so neighbours are all that can overlap
        require((ends[:-1] <= start[owners][1:]).all(), "two rows of a sparse table overlap")
        require(_is_empty(self.widened()), "bucket 0, which no row owns, is not empty")
        require(_finds_all(self.widened(), MOST_FEATURES), "a weight of a sparse table cannot be found at its place")

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments to copy the table with one arena for both views."""
        return type(self)._copied, (self.numbers, self._taken(), self.room, *self._of_rows())

    @classmethod
    def _copied(cls, numbers: int, saved: NDArray[Any], cells: int, *rest: Any) -> Self:
        return cls.of_arrays(numbers, *_restored(saved, cells, bucket_places(numbers)), *rest)


def bucket_places(numbers: int) -> int:
    """Return the number of 8-byte words in a bucket with ``numbers`` numbers per weight."""
    return 8 * (1 + numbers // 2)


def _arena(cells: int, line: int) -> tuple[Weights, NDArray[np.int64]]:
    """Allocate memory for this many cells, aligned to cache lines, as a view of weights and one of features.

    All zero except for the mark of bucket 0: memory that was not written to is not allocated, nor saved.
    """
    values = aligned(line * -(-cells // 4), 128)
    features = values.view(np.int64)
    # bucket 0 must look empty to a probe, whereas other buckets are marked when a row gets them
    features[:8:2] = -1
    return values, features


def _restored(saved: NDArray[Any], cells: int, line: int) -> tuple[Weights, NDArray[np.int64]]:
    """Allocate an arena with the used part of a saved one, and with more capacity if memory allows."""
    needed = 4 * saved.size // line
    try:
        values, features = _arena(max(cells, needed), line)
    except MemoryError:
        values, features = _arena(needed, line)
    features[: saved.size] = saved
    return values, features


def _no_blocks() -> NDArray[np.int64]:
    return np.zeros(ORDERS, np.int64)


class Sparse(namedtuple("Sparse", "values features start size count used free"), _SparseTable):
    """A sparse table: the weights updated so far, in one small hash table per row, all in one arena.

    The feature of cell c of bucket b is at place 8b + 2c of ``features``, its weight at place 8b + 2c + 1 of
    ``values``, the two arrays being one piece of memory. A bucket, of doubles a cache line, fills from its first cell
    on. Row r owns ``size[r]`` cells, a power of two, from cell ``start[r]`` on; ``count[r]`` are taken, at most five of
    eight. Bucket 0 belongs to no row and stays empty: rows without cells, and searches without a result, end there.

    The arena is in use up to cell ``used[0]``, with ``used[1]`` unused cells before it; the rest is zero and, in a
    large arena, not allocated before it is written to. ``free[k]`` is the first bucket of a free block of 2**k buckets,
    whose first feature is the next such block; 0 ends a list.
    """

    __slots__ = ()
    numbers: ClassVar[int] = 1

    @classmethod
    def of_arrays(cls, numbers: int, *arrays: Any) -> Self:
        """Return a table with these arrays, in the order of its fields."""
        return cls(*arrays)


class SparsePairs(Sparse):
    """A :class:`Sparse` table with two numbers per weight; the second numbers of a bucket are in its second cache line.

    A margin reads only the first line, an update both; processors fetch lines in pairs.
    """

    __slots__ = ()
    numbers = 2


class SparseMany(namedtuple("SparseMany", "values features start size count used free numbers"), _SparseTable):
    """A :class:`Sparse` table with ``numbers`` per weight; a bucket has another cache line for every two of them."""

    __slots__ = ()

    @classmethod
    def of_arrays(cls, numbers: int, *arrays: Any) -> Self:
        """Return a table with these arrays, in the order of its fields."""
        return cls._make((*arrays, numbers))


@generic_no_refcount
def _line(table):
    """Return the number of 8-byte words in a bucket."""


when(_line, Sparse)(lambda table: 8)
when(_line, SparsePairs)(lambda table: 16)
when(_line, SparseMany)(lambda table: 8 * (1 + table.numbers // 2))
when(numbers_of, SparsePairs)(lambda table: 2)
when(numbers_of, SparseMany)(lambda table: table.numbers)


@when(offset_of, SparseMany)
@when(offset_of, Sparse)
def _beside(table, n):
    # The weights stand at the odd places of the first line, so the even ones of the second are the next to be had.
    return np.uint64(8 * ((n + 1) // 2) - (1 if n > 0 and n % 2 == 0 else 0))


# -- a weight in its row -----------------------------------------------------------------------------------------------


@no_refcount
def _mixed(feature):
    """Return the 32-bit hash of a feature, by which buckets of a row are ordered."""
    # Fibonacci hashing: 2^64 divided by the golden ratio spreads consecutive features far from each other
    return (np.uint64(feature) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)


@no_refcount
def _bucket_of(table, row, feature):
    """Return the first bucket of a row in which to look up a feature."""
    # a product instead of a mask: buckets follow the order of hashes, whatever their number
    return np.int64((_mixed(feature) * np.uint64(table.size[row] >> 2)) >> np.uint64(32))


@no_refcount
def _probe(table, row, feature):
    """Look up a feature in a row: return its position and True, or a free position and False."""
    bucket = _bucket_of(table, row, feature)
    while True:
        # four comparisons without a branch; a bucket is one cache line, so all four are loaded anyway
        place = _line(table) * ((table.start[row] >> 2) + bucket)
        a, b = table.features[np.uint64(place)], table.features[np.uint64(place + 2)]
        c, d = table.features[np.uint64(place + 4)], table.features[np.uint64(place + 6)]
        is_there = (a == feature) | (b == feature) | (c == feature) | (d == feature)
        # buckets fill from the first cell on: a free last cell ends the search
        if is_there | (d < 0):
            # one of the three at most is true; cell a adds nothing
            matching = 2 * (b == feature) + 4 * (c == feature) + 6 * (d == feature)
            free = 2 * (a >= 0) + 2 * (b >= 0) + 2 * (c >= 0)
            return place + (matching if is_there else free), is_there
        # linear probing. Weights are never removed one by one, so there are no tombstones to skip
        bucket += 1
        if 4 * bucket >= table.size[row]:
            bucket = 0


@when(find_weight, SparseMany)
@when(find_weight, Sparse)
def _locate(table, row, feature):
    place, is_there = _probe(table, row, feature)
    # place 1 is the weight of the first cell of bucket 0, which is zero for good
    return np.uint64(place + 1 if is_there else 1)


@when(get_or_insert, SparseMany)
@when(get_or_insert, Sparse)
def _claim(table, row, feature):
    place, is_there = _probe(table, row, feature)
    if not is_there:
        table.features[place] = feature
        for n in range(numbers_of(table)):
            table.values[np.uint64(place + 1) + offset_of(table, n)] = 0.0
        table.count[row] += 1
    return np.uint64(place + 1)


@when(touch, SparseMany)
@when(touch, Sparse)
def _touch(table, row, rows, t):
    seen = np.int64(0)
    # only the first cell of each bucket: that loads the line, and nothing waits for the value
    for k in range(begin(rows, t), end(rows, t)):
        bucket = (table.start[row] >> 2) + _bucket_of(table, row, feature(rows, t, k))
        seen |= table.features[np.uint64(_line(table) * bucket)]
    return seen


@when(prefetch_row, SparseMany)
@when(prefetch_row, Sparse)
def _prefetch_buckets(table, row, rows, t):
    for k in range(begin(rows, t), end(rows, t)):
        place = _line(table) * ((table.start[row] >> 2) + _bucket_of(table, row, feature(rows, t, k)))
        # buckets of several numbers are several cache lines
        for line in range(0, _line(table), 8):
            prefetch(table.values, place + line)


@when(multiply, SparseMany)
@when(multiply, Sparse)
def _multiply(table, factor):
    for row in range(table.size.size):
        for cell in range(table.start[row], table.start[row] + table.size[row]):
            place = _line(table) * (cell >> 2) + 2 * (cell & 3)
            if table.features[place] >= 0:
                for n in range(numbers_of(table)):
                    table.values[np.uint64(place + 1) + offset_of(table, n)] *= factor


# -- rows that grow ----------------------------------------------------------------------------------------------------


@no_refcount
def _fits(needed, size):
    """Return True if a row of ``size`` cells has space for ``needed`` weights.

    Fuller rows need less memory, but look-ups take longer: at three of four, a fifth less and a fifth longer, on text.
    """
    return 8 * needed <= 5 * size


@no_refcount
def _order(needed):
    """Return the smallest k for which a block of 2**k buckets has space for ``needed`` weights."""
    order = np.int64(0)
    while not _fits(needed, np.int64(4) << order):
        order += 1
    return order


@compiled
def _cells_wanted(size, count, rows, entries):
    """Return the number of cells that these rows need for ``entries`` new weights each."""
    cells = np.int64(0)
    for row in rows:
        if not _fits(count[row] + entries, size[row]):
            # in the worst case all entries are new
            cells += np.int64(4) << _order(count[row] + entries)
    return cells


@when(reserve, SparseMany)
@when(reserve, Sparse)
def _reserve(table, row, rows, t):
    # if the row has room for all entries, no probe is needed
    most = table.count[row] + end(rows, t) - begin(rows, t)
    if _fits(most, table.size[row]):
        return True
    needed = table.count[row]
    for k in range(begin(rows, t), end(rows, t)):
        _, is_there = _probe(table, row, feature(rows, t, k))
        # a repeated feature is counted twice, which can only reserve too much
        needed += 0 if is_there else 1
    return _fits(needed, table.size[row]) or _grow_row(table, row, needed)


@no_refcount_noinline
def _grow_row(table, row, needed):
    """Enlarge a row for ``needed`` weights; return False if there is not enough memory in the arena."""
    order = _order(needed)
    bucket = take(table, order)
    if bucket > 0:
        _move_row(table, row, bucket, order)
    return bucket > 0


@no_refcount
def take(table, order):
    """Allocate a block of 2**order buckets; return its first bucket, or 0 if the arena is full."""
    bucket, cells = table.free[order], np.int64(4) << order
    if bucket > 0:
        # a free block keeps the next one of its size in its first place
        table.free[order] = table.features[_line(table) * bucket]
        table.used[1] -= cells
    # a table with too many gaps refuses, so that make_room closes them instead of growing
    elif GAPS * table.used[1] <= table.used[0] and _line(table) * (table.used[0] + cells) <= 4 * table.values.size:
        bucket = table.used[0] >> 2
        table.used[0] += cells
    return bucket


@no_refcount
def give(table, bucket, order):
    """Add a block of 2**order buckets, which is zero, to the list of free blocks of its size.

    Zeroing ensures that old values are neither in another row nor in a file.
    """
    for place in range(_line(table) * bucket, _line(table) * (bucket + (np.int64(1) << order))):
        table.features[place] = 0
    table.features[_line(table) * bucket] = table.free[order]
    table.free[order] = bucket
    table.used[1] += np.int64(4) << order


@no_refcount
def _move_row(table, row, bucket, order):
    """Move a row to another block, and free its old block.

    Buckets are in the order of hashes, so that a larger row is written sequentially.
    """
    old, old_buckets = table.start[row] >> 2, np.int64(table.size[row]) >> 2
    table.start[row], table.size[row] = 4 * bucket, np.int64(4) << order
    # free cells are marked before the first probe looks at them
    for target_bucket in range(bucket, bucket + (np.int64(1) << order)):
        for cell in range(4):
            table.features[_line(table) * target_bucket + 2 * cell] = -1
    for target_bucket in range(old, old + old_buckets):
        for here in range(_line(table) * target_bucket, _line(table) * target_bucket + 8, 2):
            # the cells of a bucket are filled from the first on, so the rest is free
            if table.features[here] < 0:
                break
            there, _ = _probe(table, row, table.features[here])
            table.features[there] = table.features[here]
            source, target = np.uint64(here + 1), np.uint64(there + 1)
            for n in range(numbers_of(table)):
                table.values[target + offset_of(table, n)] = table.values[source + offset_of(table, n)]
    # freed after the copy, for the block may be given to the next row at once
    if old_buckets > 0:
        give(table, old, np.int64(trailing_zeros(old_buckets)))


@compiled
def _release(table, rows):
    """Free all cells of rows."""
    for row in rows:
        if table.size[row] > 0:
            give(table, table.start[row] >> 2, np.int64(trailing_zeros(np.int64(table.size[row]) >> 2)))
        table.start[row], table.size[row], table.count[row] = 0, 0, 0


@compiled
def _make_rows(table, count):
    """Allocate cells for ``count`` weights in each (empty) row; the arena has capacity for them."""
    for row in range(count.size):
        if count[row] > 0:
            _grow_row(table, row, count[row])


@no_refcount
def _is_zero(table, place, first, numbers):
    """Return True if ``numbers`` numbers of a weight have only zero bits (-0.0 has not)."""
    bits = 0
    for n in range(first, first + numbers):
        # by bits: -0.0 is a weight that was moved, and comparing it with 0.0 would lose it
        bits |= table.features[np.uint64(place) + offset_of(table, n)]
    return bits == 0


@compiled
def count_weights(table, first, numbers, count):
    """Count for each row the weights that are not zero, looking at some of their numbers."""
    for row in range(count.size):
        for cell in range(table.start[row], table.start[row] + table.size[row]):
            place = _line(table) * (cell >> 2) + 2 * (cell & 3)
            if table.features[place] >= 0 and not _is_zero(table, place + 1, first, numbers):
                count[row] += 1


def copy_weights(source: Any, first: int, target: Any, there: int, numbers: int, count: NDArray[np.int32]) -> None:
    """Copy ``numbers`` numbers of the weights that :func:`count_weights` counted to another table.

    They are the numbers from ``first`` on of the source, and from ``there`` on of the target. Weights are copied bit
    for bit, each row's in the order of hashes and features, which is nearly the order in memory.
    """
    most = int(count.max(initial=0))
    keys, places = np.empty(most, np.uint64), np.empty(most, np.int64)
    _copy_weights(source.widened(), first, target.widened(), there, numbers, len(count), keys, places)


@compiled
def _copy_weights(source, first, target, there, numbers, rows, keys, places):
    for row in range(rows):
        n = 0
        for cell in range(source.start[row], source.start[row] + source.size[row]):
            place = _line(source) * (cell >> 2) + 2 * (cell & 3)
            if source.features[place] >= 0 and not _is_zero(source, place + 1, first, numbers):
                # hash first, feature second: the order in which cells lie, but for collisions
                key = (_mixed(source.features[place]) << np.uint64(32)) | np.uint64(source.features[place])
                at = n
                # insertion sort, because the cells are almost in this order already
                while at > 0 and keys[at - 1] > key:
                    keys[at], places[at] = keys[at - 1], places[at - 1]
                    at -= 1
                keys[at], places[at] = key, place
                n += 1
        for k in range(n):
            here, other = np.uint64(places[k] + 1), get_or_insert(target, row, source.features[places[k]])
            for i in range(numbers):
                # through the integers, so that NaN and -0.0 go bit for bit
                target.features[other + offset_of(target, there + i)] = source.features[
                    here + offset_of(source, first + i)
                ]


@compiled
def _lay_out(table, rows, features, start):
    """Copy the blocks of rows to an arena without gaps, and store their starts; return the end.

    It may be their own arena, if the rows are in memory order. Weights are copied bit for bit.
    """
    # behind bucket 0
    used = np.int64(4)
    for row in rows:
        source, target = _line(table) * (table.start[row] >> 2), _line(table) * (used >> 2)
        for place in range(_line(table) * (np.int64(table.size[row]) >> 2)):
            features[target + place] = table.features[source + place]
        # after the copy, which reads the old start: start may be the table's own array
        start[row] = used
        used += table.size[row]
    return used


# -- tables that come from a file --------------------------------------------------------------------------------------


@compiled
def _is_empty(table):
    """Return True if bucket 0, which belongs to no row, is empty."""
    for place in range(0, 8, 2):
        if table.features[place] != -1 or table.values[place + 1] != 0.0:
            return False
    stray = 0
    for place in range(8, _line(table)):
        stray += 1 if table.values[place] != 0.0 else 0
    return stray == 0


@compiled
def _finds_all(table, most):
    """Return True if a look-up finds every feature of every row.

    Rows must lie in the arena, with so few weights that some bucket has a free cell.
    """
    for row in range(table.size.size):
        first, count = table.start[row] >> 2, 0
        for bucket in range(first, first + (np.int64(table.size[row]) >> 2)):
            ended: Any = False
            for here in range(_line(table) * bucket, _line(table) * bucket + 8, 2):
                feature = np.int64(table.features[here])
                # a free cell before a used one would end a search too early
                if feature < -1 or feature >= most or (ended and feature >= 0):
                    return False
                ended = feature < 0
                count += 0 if ended else 1
        if count != table.count[row]:
            return False
        for bucket in range(first, first + (np.int64(table.size[row]) >> 2)):
            for here in range(_line(table) * bucket, _line(table) * bucket + 8, 2):
                if table.features[here] >= 0:
                    # each feature must be where a search arrives first, or a second copy could be inserted
                    place, is_there = _probe(table, row, table.features[here])
                    if not is_there or place != here:
                        return False
    return True
