"""Tables of weights as they are made, grown and read: the Python side of :mod:`coterie.numeric.tables`."""

from __future__ import annotations

import contextlib
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.arrays import grown, roomy
from coterie.numeric.records import Dense
from coterie.numeric.sparse_tables import (
    Sparse,
    SparsePairs,
    add_pairs,
    arena,
    compact,
    no_blocks,
    room,
    room_wanted,
    write_pairs,
    write_row,
)
from coterie.numeric.tables import FeatureMajor, Hashed, HashedPairs, RowMajor, RowMajorPairs, axpy, read_row

Weights = NDArray[np.floating[Any]]

#: A table of every weight may take so many bytes before "auto" stores only what was moved.
DENSE_LIMIT = 2**28

#: Arenas for more cells than a few come from the system as pages that take no memory before they are written to; up to
#: many, 256 MiB of doubles, there are so many to begin with that a table is copied once on the way.
FEW_CELLS, MANY_CELLS = 2**16, 2**24


def row_major(rows: int, features: int, dtype: str) -> RowMajor:
    """An empty dense table, each row in one piece."""
    return RowMajor(np.zeros(rows * max(features, 1), dtype), max(features, 1))


def feature_major(rows: int, features: int, dtype: str) -> FeatureMajor:
    """An empty dense table, each feature's weights in one piece."""
    return FeatureMajor(np.zeros(max(rows, 1) * max(features, 1), dtype), max(rows, 1))


def sparse(rows: int, dtype: str, cells: int = 512, kind: Any = Sparse) -> Any:
    """An empty table of the weights that will be moved."""
    start, size, count = np.zeros(rows, np.int64), np.zeros(rows, np.int32), np.zeros(rows, np.int32)
    return kind(*arena(cells, np.dtype(dtype), kind), start, size, count, np.array([4], np.int64), no_blocks())


def hashed(bits: int, dtype: str) -> Hashed:
    """An empty table of 2**bits weights for all rows and features."""
    return Hashed(np.zeros(2**bits, dtype), 64 - bits)


def row_major_pairs(rows: int, features: int, dtype: str) -> RowMajorPairs:
    """An empty dense table of weights and second numbers."""
    return RowMajorPairs(np.zeros(2 * rows * max(features, 1), dtype), 2 * max(features, 1))


def hashed_pairs(bits: int, dtype: str) -> HashedPairs:
    """An empty table of 2**bits weights and their second numbers."""
    return HashedPairs(np.zeros(2 ** (bits + 1), dtype), 64 - bits)


def rows_of(table: Any, rows: int, features: int) -> Weights:
    """The first rows as a dense (rows, features) array."""
    weights = np.zeros((rows, features), table.values.dtype)
    for row in range(rows):
        read_row(table, row, weights[row])
    return weights


def _lengthened(values: NDArray[Any], size: int) -> NDArray[Any]:
    """The weights with exactly so many places, or as they are: a table always holds whole rows."""
    if size <= values.size:
        return values
    longer = np.zeros(size, values.dtype)
    longer[: values.size] = values
    return longer


def _restrided(table: Any, stride: int) -> NDArray[Any]:
    old = table.values.reshape(-1, table.stride)
    wider = np.zeros((old.shape[0], stride), old.dtype)
    wider[:, : table.stride] = old
    return wider.reshape(-1)


@singledispatch
def has_room(table: Any, rows: int, features: int) -> bool:
    """Whether the table can hold so many rows of so many features as it is."""
    raise TypeError(f"not a table: {type(table).__name__}")


@has_room.register
def _(table: RowMajor, rows: int, features: int) -> bool:
    return bool(features <= table.stride and rows * table.stride <= table.values.size)


@has_room.register
def _(table: RowMajorPairs, rows: int, features: int) -> bool:
    return bool(2 * features <= table.stride and rows * table.stride <= table.values.size)


@has_room.register
def _(table: FeatureMajor, rows: int, features: int) -> bool:
    return bool(rows <= table.stride and features * table.stride <= table.values.size)


@has_room.register(Hashed)
@has_room.register(HashedPairs)
def _(table: Any, rows: int, features: int) -> bool:
    return True


@has_room.register(Sparse)
@has_room.register(SparsePairs)
def _(table: Any, rows: int, features: int) -> bool:
    return rows <= len(table.start)


@singledispatch
def fit_rows(table: Any, rows: int) -> Any:
    """The table with room for so many rows."""
    raise TypeError(f"not a table: {type(table).__name__}")


@fit_rows.register(RowMajor)
@fit_rows.register(RowMajorPairs)
def _(table: Any, rows: int) -> Any:
    have = table.values.size // table.stride
    return table._replace(values=_lengthened(table.values, roomy(have, rows) * table.stride))


@fit_rows.register
def _(table: FeatureMajor, rows: int) -> FeatureMajor:
    stride = roomy(table.stride, rows)
    return table if stride == table.stride else FeatureMajor(_restrided(table, stride), stride)


@fit_rows.register(Hashed)
@fit_rows.register(HashedPairs)
def _(table: Any, rows: int) -> Any:
    return table


@fit_rows.register(Sparse)
@fit_rows.register(SparsePairs)
def _(table: Any, rows: int) -> Any:
    return table._replace(start=grown(table.start, rows), size=grown(table.size, rows), count=grown(table.count, rows))


@singledispatch
def fit_features(table: Any, features: int) -> Any:
    """The table with room for so many features."""
    return table


@fit_features.register
def _(table: RowMajor, features: int) -> RowMajor:
    stride = roomy(table.stride, features)
    return table if stride == table.stride else RowMajor(_restrided(table, stride), stride)


@fit_features.register
def _(table: RowMajorPairs, features: int) -> RowMajorPairs:
    stride = roomy(table.stride, 2 * features)
    return (
        table if stride == table.stride else RowMajorPairs(_restrided(table, stride + stride % 2), stride + stride % 2)
    )


@fit_features.register
def _(table: FeatureMajor, features: int) -> FeatureMajor:
    have = table.values.size // table.stride
    return FeatureMajor(_lengthened(table.values, roomy(have, features) * table.stride), table.stride)


def enlarge(table: Any, rows: NDArray[np.int64], entries: int) -> Any:
    """A sparse table with room for so many new entries in each of these rows, in an arena copied if need be."""
    need = room_wanted(table.size, table.count, rows, entries)
    if table.used[0] + need <= room(table):
        return table
    live = 4 + int(table.size.sum(dtype=np.int64))
    values, features = _roomy_arena(live + need, table.values.dtype, type(table))
    start, largest_first = np.zeros_like(table.start), np.argsort(-table.size, kind="stable")
    used = np.array([compact(table, largest_first, features, start)], np.int64)
    return table._replace(values=values, features=features, start=start, used=used, free=no_blocks())


def _roomy_arena(cells: int, dtype: np.dtype[Any], kind: Any) -> tuple[Weights, NDArray[Any]]:
    """An arena several times larger than what is to be in it, for what is not written to takes no memory.

    A small one takes some, for it may be where something else was. A system that promises no more memory than there is
    is asked for less when it refuses; what others ask of it meanwhile it may refuse as well.
    """
    most = max(4, min(64, MANY_CELLS // cells)) if cells > FEW_CELLS else 2
    for times in (most, most // 2):
        with contextlib.suppress(MemoryError, ValueError):
            return arena(times * cells, dtype, kind)
    return arena(cells, dtype, kind)


@singledispatch
def every_row(table: Any) -> Weights:
    """All rows that a dense table has room for, as they stand in memory."""
    raise TypeError(f"not a dense table: {type(table).__name__}")


@every_row.register
def _(table: RowMajor) -> Weights:
    return np.asarray(table.values.reshape(-1, table.stride))


@every_row.register
def _(table: FeatureMajor) -> Weights:
    return np.asarray(table.values.reshape(-1, table.stride).T)


def every_pair(table: RowMajorPairs) -> Weights:
    """All weights and second numbers that a dense table has room for: shape (rows, features, 2)."""
    return np.asarray(table.values.reshape(-1, table.stride // 2, 2))


def _room_for(weights: NDArray[np.int64]) -> int:
    """Cells of an arena for rows with so many weights each."""
    count = weights.astype(np.int32)
    return 512 + int(room_wanted(np.zeros_like(count), count, np.flatnonzero(count), 0))


@singledispatch
def to_sparse(table: Any) -> Any:
    """The same weights, only those that are not zero stored."""
    dense = every_row(table)
    made = sparse(len(dense), dense.dtype.str, _room_for(np.count_nonzero(dense, axis=1)))
    for row, weights in enumerate(dense):
        write_row(made, row, np.ascontiguousarray(weights))
    return made


@to_sparse.register
def _(table: RowMajorPairs) -> Any:
    dense = every_pair(table)
    cells = _room_for(np.count_nonzero(np.any(dense, axis=2), axis=1))
    made = sparse(len(dense), dense.dtype.str, cells, SparsePairs)
    for row, pairs in enumerate(dense):
        write_pairs(made, row, pairs)
    return made


@singledispatch
def to_hashed(table: Any, bits: int) -> Any:
    """The same weights in 2**bits places, those that meet added up."""
    dense = every_row(table)
    made = hashed(bits, dense.dtype.str)
    for row in range(len(dense)):
        axpy(made, row, 1.0, Dense(dense), row)
    return made


@to_hashed.register
def _(table: RowMajorPairs, bits: int) -> HashedPairs:
    made = hashed_pairs(bits, table.values.dtype.str)
    for row, pairs in enumerate(every_pair(table)):
        add_pairs(made, row, pairs)
    return made


def is_dense(table: Any) -> bool:
    """Whether every weight has a place, so that a larger stream costs more memory whether it is used or not."""
    return hasattr(table, "stride")
