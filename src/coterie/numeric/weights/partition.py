"""Some rows of a table as a table of their own, and the rows of several tables as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sections import SPARSE
from .sparse import bucket_places


def some_rows(table: Any, rows: NDArray[np.int64]) -> Any:
    """Copy some rows, in this order, to a table of their own."""
    if isinstance(table, SPARSE):
        owned = table._replace(start=table.start[rows], size=table.size[rows], count=table.count[rows])
        return type(table).from_saved(owned.to_saved())
    made = table.empty(len(rows), table.stride // table.numbers, table.values.dtype.str, table.numbers)
    made.entries()[:] = table.entries()[rows]
    return made


def joined_rows(tables: Sequence[Any], order: NDArray[np.int64], features: int) -> Any:
    """Copy the rows of several tables to one: row k is row ``order[k]`` of all rows, one table behind the other.

    Where some are dense and others sparse, for the latter have become too large, the whole is sparse.
    """
    if any(isinstance(table, SPARSE) for table in tables):
        return _joined_sparse([table.to_sparse() if table.dense else table for table in tables], order)
    first = tables[0]
    width = max(features, 1)
    made = first.empty(len(order), width, first.values.dtype.str, first.numbers)
    done = 0
    for table in tables:
        held = table.entries()
        mine = np.flatnonzero((order >= done) & (order < done + len(held)))
        made.entries()[mine, : min(width, held.shape[1])] = held[order[mine] - done, :width]
        done += len(held)
    return made


def _joined_sparse(tables: Sequence[Any], order: NDArray[np.int64]) -> Any:
    first = tables[0]
    line = bucket_places(first.numbers)
    arenas: list[NDArray[Any]] = []
    starts: list[NDArray[Any]] = []
    taken = 4
    for table in tables:
        held = table._taken()
        arenas.append(held if not arenas else held[line:])  # the first bucket is nobody's, and one is enough
        starts.append(np.where(table.size > 0, table.start + taken - 4, 0))
        taken += 4 * (held.size // line) - 4
    size, count = (np.concatenate([getattr(table, name) for table in tables]) for name in ("size", "count"))
    saved = first._asdict() | {
        "values": first.values[:0],
        "features": np.concatenate(arenas),
        "start": np.concatenate(starts)[order],
        "size": size[order],
        "count": count[order],
        "free": np.zeros_like(first.free),
        "room": 0,
    }
    return type(first).from_saved(saved)
