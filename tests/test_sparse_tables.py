"""Tables of the weights that were ever moved, and the arena their rows are in."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from coterie._compiled import trees
from coterie._compiled.core.records import Csr
from coterie._compiled.weights import sparse
from coterie._compiled.weights import table as tables
from coterie._compiled.weights.sparse import Sparse, SparsePairs
from coterie._compiled.weights.table import axpy, reserve, second
from slow import slow

#: They differ in nothing but how many numbers a weight has.
kinds = pytest.mark.parametrize("kind", [slow(Sparse), SparsePairs])


@njit
def move(table, row, rows, t):
    """Add record t, or say that the arena is too small."""
    if not reserve(table, row, rows, t):
        return False
    axpy(table, row, 1.0, rows, t)
    return True


@njit
def move_both(table, twin, row, rows, t):
    if not move(table, row, rows, t):
        return False
    axpy(twin, row, 2.0, rows, t)
    return True


@njit
def exchange(table, bucket, order):
    """Give a block back, or take one for bucket 0, which no row owns."""
    if bucket:
        sparse.give(table, bucket, order)
        return bucket
    return sparse.take(table, order)


@njit
def multiply(table, factor):
    tables.multiply(table, factor)


def records(rng, features, lengths):
    """Records of this many entries each."""
    chosen = np.concatenate([rng.choice(features, n, replace=False) for n in lengths])
    return Csr(rng.standard_normal(len(chosen)), chosen.astype(np.int32), np.cumsum([0, *lengths]))


def moved(table, row, rows, t):
    """The table after record t was added to a row, and twice the record to its second numbers."""
    at = np.array([row])
    entries = int(rows.starts[t + 1] - rows.starts[t])
    while not (move(table, row, rows, t) if type(table) is Sparse else move_both(table, second(table), row, rows, t)):
        table = table.make_room(at, entries)
    return table


def free_blocks(table):
    """First bucket and order of every free block."""
    results = []
    for order, bucket in enumerate(table.free.tolist()):
        while bucket:
            results.append((bucket, order))
            bucket = int(table.features[table.line * bucket])
    return results


def check(table, occupied=()):
    """Blocks of rows, those taken besides and free ones cover the arena up to its end, and free ones are counted."""
    rows = [(int(s) // 4, int(n // 4).bit_length() - 1) for s, n in zip(table.start, table.size, strict=True) if n]
    assert all(n == 0 or n & (n - 1) == 0 for n in table.size.tolist())
    free = free_blocks(table)
    end = 1
    for first, order in sorted([*rows, *occupied, *free]):
        assert first == end
        end += 2**order
    assert table.used.tolist() == [4 * end, 4 * sum(2**order for _, order in free)]
    assert not np.any(table.features[table.line * end :])
    assert table.features[0] == -1


# -- the allocator -----------------------------------------------------------------------------------------------------


@kinds
@given(orders=st.lists(st.integers(0, 5), max_size=60), seed=st.integers(0, 2**16))
def test_blocks_cover_the_arena(kind, orders, seed):
    rng, table, rows_used = np.random.default_rng(seed), kind.empty(0, 1000), []
    for order in orders:
        bucket = int(exchange(table.widened(), 0, order))
        if bucket:
            table.features[table.line * bucket] = -1
            rows_used.append((bucket, order))
        else:
            assert all(k != order for _, k in free_blocks(table))
            assert table.used[0] + 4 * 2**order > table.room or sparse.GAPS * table.used[1] > table.used[0]
        while rows_used and rng.random() < 0.4:
            exchange(table.widened(), *rows_used.pop(rng.integers(len(rows_used))))
        check(table, rows_used)
    while rows_used:
        exchange(table.widened(), *rows_used.pop(rng.integers(len(rows_used))))
    check(table)
    assert sum(2**order for _, order in free_blocks(table)) == table.used[0] // 4 - 1


@pytest.mark.parametrize("order", ["in turn", "in any order"])
def test_rows_that_grow_together_reuse_what_they_leave(order):
    rng, table = np.random.default_rng(0), SparsePairs.empty(300)
    lengths = np.full(300 * 60, 7)
    rows = records(rng, 10**6, lengths)
    for t in range(len(lengths)):
        table = moved(table, t % 300 if order == "in turn" else int(rng.integers(300)), rows, t)
        if t > 1000 and t % 100 == 0:
            assert table.used[0] <= 1.3 * table.size.sum()
    check(table)


def test_an_arena_that_is_copied_has_no_gaps():
    rng, table = np.random.default_rng(1), SparsePairs.empty(100)
    rows = records(rng, 10**4, rng.integers(0, 60, 1000))
    for t in range(1000):
        table = moved(table, int(rng.integers(100) * rng.random()), rows, t)
    weights = table.rows(100, 10**4)
    larger = table.make_room(np.arange(100), 10**5)
    check(larger)
    assert larger.used[0] == 4 + table.size.sum()
    assert not free_blocks(larger)
    np.testing.assert_array_equal(larger.rows(100, 10**4), weights)


# -- weights -----------------------------------------------------------------------------------------------------------


@kinds
def test_a_table_is_a_dictionary_of_weights(kind):
    """Rows of all sizes, through many growths and several arenas, bit for bit."""
    rng, table, number = np.random.default_rng(2), kind.empty(40, kind.numbers), np.float64
    rows, wanted, arenas_seen = records(rng, 3000, rng.integers(0, 40, 3000)), {}, set()
    for t in range(3000):
        row = int(40 * rng.random() ** 3)
        table = moved(table, row, rows, t)
        arenas_seen.add(table.values.size)
        for k in range(rows.starts[t], rows.starts[t + 1]):
            at, x = (row, int(rows.features[k])), rows.values[k]
            one, two = wanted.get(at, (number(0), number(0)))
            wanted[at] = number(float(one) + x), number(float(two) + 2.0 * x)
        if t % 200 == 0:
            check(table)
    check(table)
    assert len(arenas_seen) > 5
    assert table.count.sum() == len(wanted)
    literal = np.zeros((2, 40, 3000))
    for at, both in wanted.items():
        literal[:, *at] = both
    np.testing.assert_array_equal(table.rows(40, 3000), literal[0])
    if kind is SparsePairs:
        np.testing.assert_array_equal(second(table).rows(40, 3000), literal[1])


def moved_often(kind, seed, times, n):
    """A table of 20 rows that this many of n records have moved in turn, and the records."""
    rng, table = np.random.default_rng(seed), kind.empty(20)
    rows = records(rng, 5000, rng.integers(0, 40, n))
    for t in range(times):
        table = moved(table, t % 20, rows, t)
    return table, rows


@kinds
def test_a_table_from_a_file_goes_on_equal(kind):
    """It has no gaps; those that an altered file has are on no list of free blocks."""
    table, rows = moved_often(kind, 6, 300, 2000)
    assert table.used[1] > 0
    rebuilt = trees.rebuild(*trees.flatten(table), table)
    check(rebuilt)
    assert (rebuilt.used.tolist(), free_blocks(rebuilt)) == ([4 + rebuilt.size.sum(), 0], [])
    np.testing.assert_array_equal(rebuilt.rows(20, 5000), table.rows(20, 5000))
    shape = {"kind": kind.__name__, "fields": {"room": table.room}}
    arrays = table._asdict() | {"values": table.values[:0], "features": table._taken()}
    again = trees.rebuild(shape, copy.deepcopy(arrays | {"used": table.used[:1], "free": np.arange(30)}), table)
    assert again.used.tolist() == table.used.tolist()
    assert not free_blocks(again)
    for t in range(300, 2000):
        table, again, rebuilt = (moved(one_table, t % 20, rows, t) for one_table in (table, again, rebuilt))
        assert again.used[0] <= 1.25 * (again.size.sum() + 4) + again.size.max()
    for other in (again, rebuilt):
        check(other)
        np.testing.assert_array_equal(other.rows(20, 5000), table.rows(20, 5000))


@kinds
def test_forgetting_leaves_free_blocks_alone(kind):
    table, _ = moved_often(kind, 4, 300, 300)
    weights = table.rows(20, 5000)
    assert free_blocks(table)
    multiply(table, 0.5)
    check(table)
    np.testing.assert_array_equal(table.rows(20, 5000), 0.5 * weights)
