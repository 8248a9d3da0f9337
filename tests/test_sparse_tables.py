"""Tables of the weights that were ever moved, and the arena their rows are in."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from coterie.hypotheses import tables
from coterie.numeric import arenas, fading, sparse_tables
from coterie.numeric.records import Csr
from coterie.numeric.sparse_tables import Sparse, SparsePairs, arena
from coterie.numeric.tables import axpy, read_row, reserve, second
from coterie.state import nbytes_of

kinds = pytest.mark.parametrize("kind", [Sparse, SparsePairs])
dtypes = pytest.mark.parametrize("dtype", ["float64", "float32"])


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
def multiply(table, factor):
    fading.multiply(table, factor)


def records(rng, features, lengths):
    """Records of so many entries each."""
    chosen = np.concatenate([rng.choice(features, n, replace=False) for n in lengths])
    return Csr(rng.standard_normal(len(chosen)), chosen.astype(np.int32), np.cumsum([0, *lengths]))


def moved(table, row, rows, t):
    """The table after record t was added to a row, and twice the record to its second numbers."""
    at = np.array([row])
    if type(table) is Sparse:
        while not move(table, row, rows, t):
            table = tables.enlarge(table, at, int(rows.starts[t + 1] - rows.starts[t]))
    else:
        while not move_both(table, second(table), row, rows, t):
            table = tables.enlarge(table, at, int(rows.starts[t + 1] - rows.starts[t]))
    return table


def line(table):
    """Places that a bucket takes."""
    return 8 if type(table) is Sparse else 16


def free_blocks(table):
    """First bucket and order of every free block, from lists that are whole in both directions."""
    found = []
    for order, bucket in enumerate(table.free.tolist()):
        previous = 0
        while bucket:
            mark, following, _, before = table.features[line(table) * bucket :][:4].tolist()
            assert (mark, before) == (-3 - order, previous)
            found.append((bucket, order))
            previous, bucket = bucket, following
    return found


def check(table, taken=()):
    """Blocks of rows, those taken besides and free ones cover the arena up to its end, buddies never both free."""
    rows = [(int(s) // 4, int(n // 4).bit_length() - 1) for s, n in zip(table.start, table.size, strict=True) if n]
    assert all(n == 0 or n & (n - 1) == 0 for n in table.size.tolist())
    free = free_blocks(table)
    end = 1
    for first, order in sorted([*rows, *taken, *free]):
        assert first == end
        assert (first - 1) % 2**order == 0
        end += 2**order
    assert 4 * end == table.used[0]
    assert not {(((first - 1) ^ 2**order) + 1, order) for first, order in free} & set(free)
    assert not np.any(table.features[line(table) * end :])
    assert table.features[0] == -1


# -- the allocator -----------------------------------------------------------------------------------------------------


@kinds
@given(orders=st.lists(st.integers(0, 5), max_size=60), seed=st.integers(0, 2**16))
def test_blocks_cover_the_arena(kind, orders, seed):
    rng, table, held = np.random.default_rng(seed), tables.sparse(0, "float64", 1000, kind), []
    for order in orders:
        bucket = int(arenas.take(table, order))
        if bucket:
            table.features[line(table) * bucket] = -1
            held.append((bucket, order))
        else:
            assert all(k < order for _, k in free_blocks(table))
            assert table.used[0] + 4 * 2 ** (order + 1) > tables.room(table)
        while held and rng.random() < 0.4:
            arenas.give(table, *held.pop(rng.integers(len(held))))
        check(table, held)
    while held:
        arenas.give(table, *held.pop(rng.integers(len(held))))
    check(table)
    assert sum(2**order for _, order in free_blocks(table)) == table.used[0] // 4 - 1


@pytest.mark.parametrize("order", ["in turn", "in any order"])
def test_rows_that_grow_together_reuse_what_they_leave(order):
    rng, table = np.random.default_rng(0), tables.sparse(300, "float64")
    lengths = np.full(300 * 60, 7)
    rows = records(rng, 10**6, lengths)
    for t in range(len(lengths)):
        table = moved(table, t % 300 if order == "in turn" else int(rng.integers(300)), rows, t)
        if t > 1000 and t % 100 == 0:
            assert table.used[0] <= 1.3 * table.size.sum()
    check(table)


def test_an_arena_that_is_copied_has_no_gaps():
    rng, table = np.random.default_rng(1), tables.sparse(100, "float64")
    rows = records(rng, 10**4, rng.integers(0, 60, 1000))
    for t in range(1000):
        table = moved(table, int(rng.integers(100) * rng.random()), rows, t)
    weights = tables.rows_of(table, 100, 10**4)
    larger = tables.enlarge(table, np.arange(100), 10**5)
    check(larger)
    assert larger.used[0] == 4 + table.size.sum()
    assert not free_blocks(larger)
    np.testing.assert_array_equal(tables.rows_of(larger, 100, 10**4), weights)


# -- weights -----------------------------------------------------------------------------------------------------------


@kinds
@dtypes
def test_a_table_is_a_dictionary_of_weights(kind, dtype):
    """Rows of all sizes, through many growths and several arenas, bit for bit."""
    rng, table, number = np.random.default_rng(2), tables.sparse(40, dtype, 8, kind), np.dtype(dtype).type
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
    literal = np.zeros((2, 40, 3000), dtype)
    for at, both in wanted.items():
        literal[:, *at] = both
    np.testing.assert_array_equal(tables.rows_of(table, 40, 3000), literal[0])
    if kind is SparsePairs:
        np.testing.assert_array_equal(seconds(table, 40, 3000), literal[1])


def seconds(table, rows, features):
    weights = np.zeros((rows, features), table.values.dtype)
    for row in range(rows):
        read_row(second(table), row, weights[row])
    return weights


def moved_often(kind, seed, times, n):
    """A table of 20 rows that so many of n records have moved in turn, and the records."""
    rng, table = np.random.default_rng(seed), tables.sparse(20, "float64", kind=kind)
    rows = records(rng, 5000, rng.integers(0, 40, n))
    for t in range(times):
        table = moved(table, t % 20, rows, t)
    return table, rows


@kinds
def test_copies_go_on_equal(kind):
    table, rows = moved_often(kind, 3, 300, 600)
    copies = [table, copy.deepcopy(table), pickle.loads(pickle.dumps(table))]  # noqa: S301
    assert len(pickle.dumps(table)) < nbytes_of(table) + 1000
    for each in copies[1:]:
        assert np.shares_memory(each.values, each.features)
        assert not np.shares_memory(each.values, table.values)
    for t in range(300, 600):
        copies = [moved(each, t % 20, rows, t) for each in copies]
    for each in copies:
        check(each)
        for one, other in zip(copies[0][1:], each[1:], strict=True):
            np.testing.assert_array_equal(one, other)


@kinds
def test_forgetting_leaves_free_blocks_alone(kind):
    table, _ = moved_often(kind, 4, 300, 300)
    weights = tables.rows_of(table, 20, 5000)
    assert free_blocks(table)
    multiply(table, 0.5)
    check(table)
    np.testing.assert_array_equal(tables.rows_of(table, 20, 5000), 0.5 * weights)


# -- room --------------------------------------------------------------------------------------------------------------


def test_room_that_nobody_has_written_to_is_no_memory(monkeypatch):
    monkeypatch.setattr(tables, "FEW_CELLS", 100)
    rng, table = np.random.default_rng(5), tables.sparse(20, "float64")
    rows = records(rng, 5000, np.full(200, 20))
    for t in range(200):
        table = moved(table, t % 20, rows, t)
    assert table.values.nbytes > 2 * 16 * table.used[0]
    assert nbytes_of(table) == 16 * table.used[0] + sum(each.nbytes for each in table[2:])


def test_a_system_that_promises_little_memory_is_asked_for_less(monkeypatch):
    asked = []

    def stingy(cells, *rest):
        asked.append(cells)
        if cells > 20_000:
            raise MemoryError
        return arena(cells, *rest)

    table = tables.sparse(1, "float64")
    monkeypatch.setattr(tables, "FEW_CELLS", 100)
    monkeypatch.setattr(tables, "arena", stingy)
    table = tables.enlarge(table, np.array([0]), 1500)
    assert asked == sorted(asked, reverse=True)
    assert asked[-2] > 20_000 >= asked[-1] == tables.room(table)
    with pytest.raises(MemoryError):
        tables.enlarge(table, np.array([0]), 15_000)


def test_a_copy_does_without_room_that_cannot_be_had(monkeypatch):
    table = tables.enlarge(tables.sparse(1, "float64"), np.array([0]), 1500)

    def stingy(cells, *rest):
        if cells > 4 * 200:
            raise MemoryError
        return arena(cells, *rest)

    monkeypatch.setattr(sparse_tables, "arena", stingy)
    copied = copy.deepcopy(table)
    assert copied.used[0] == tables.room(copied) < tables.room(table)


def test_a_table_of_float32_has_an_end():
    with pytest.raises(ValueError, match="float32 has room for less than 2\\*\\*33 cells, and 8589934592 are wanted"):
        arena(2**33, np.dtype("float32"))
