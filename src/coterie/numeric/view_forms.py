"""Rows of several views taken apart, put together and brought from one form to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .points import Points, points
from .records import Csr, Dense, take
from .views import DenseViews

Widths = Sequence[int]


def edges_of(widths: Widths) -> NDArray[np.int64]:
    """Where each view begins if they stand side by side, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(np.asarray(widths, np.int64))]).astype(np.int64)


def is_dense(rows: Any) -> bool:
    """Whether the blocks are dense."""
    return hasattr(rows, "edges")


def cut(rows: Any, K: int, first: int, last: int) -> Any:
    """The records ``first`` to ``last`` (not included), nothing copied."""
    if is_dense(rows):
        return rows._replace(values=rows.values[first:last])
    return rows._replace(starts=rows.starts[first * K : last * K + 1])


def pick(rows: Any, K: int, places: NDArray[np.int64]) -> Any:
    """Some of the records, copied."""
    if is_dense(rows):
        return rows._replace(values=rows.values[places])
    return take(rows, (places[:, None] * K + np.arange(K)).ravel())


def stack(above: Any, below: Any) -> Any:
    """Records and those after them, of one form."""
    if is_dense(above):
        return above._replace(values=np.concatenate([above.values, below.values]))
    (one, two), offset = map(_trimmed, (above, below)), len(_trimmed(above).values)
    starts = np.concatenate([one.starts, offset + two.starts[1:]])
    return Csr(np.concatenate([one.values, two.values]), np.concatenate([one.features, two.features]), starts)


def as_form(rows: Any, dense: bool, widths: Widths) -> Any:
    """Records in the form and the widths that a model keeps."""
    K = len(widths)
    if not dense:
        return rows if not is_dense(rows) else _sparse(rows, K)
    if not is_dense(rows):
        return _dense(_trimmed(rows), K, widths)
    edges = edges_of(widths)
    if np.array_equal(rows.edges, edges):
        return rows
    wide = np.zeros((len(rows.values), edges[-1]))
    for k in range(K):
        block = rows.values[:, rows.edges[k] : rows.edges[k + 1]]
        wide[:, edges[k] : edges[k] + block.shape[1]] = block
    return DenseViews(wide, edges)


def points_of(rows: Any, K: int, k: int, rounds: NDArray[np.int64], width: int) -> Points:
    """View k of all records, as kernels take them."""
    if is_dense(rows):
        block = np.ascontiguousarray(rows.values[:, rows.edges[k] : rows.edges[k + 1]])
        return points(Dense(block), rounds, width)
    return points(take(rows, np.arange(k, len(rows.starts) - 1, K)), rounds, width)


def all_points(rows: Any, K: int, rounds: NDArray[np.int64], width: int) -> Points:
    """All views of all records, which lie in one space, record by record."""
    if is_dense(rows):
        return points(Dense(rows.values.reshape(-1, width)), np.repeat(rounds, K), width)
    return points(rows, np.repeat(rounds, K), width)


def empty(dense: bool, widths: Widths) -> Any:
    """No records."""
    if dense:
        edges = edges_of(widths)
        return DenseViews(np.zeros((0, edges[-1])), edges)
    return Csr(np.zeros(0), np.zeros(0, np.int32), np.zeros(1, np.int64))


def emptied(block: Any, present: NDArray[np.bool_]) -> Any:
    """An array of numbers, changed in place, or a copy of a CSR matrix, all rows that are not there being zero."""
    if hasattr(block, "indptr"):
        block = block.tocsr(copy=True)
        block.data[np.repeat(~present, np.diff(block.indptr))] = 0.0
        block.eliminate_zeros()
        return block
    block[~present] = 0.0
    return block


def side_by_side(blocks: Sequence[Any], widths: Widths, n: int) -> Any:
    """One block a view as the rows of n records: arrays if all are, None for a view that none of them has."""
    if not any(hasattr(block, "indptr") for block in blocks):
        parts = [np.zeros((n, d)) if block is None else block for block, d in zip(blocks, widths, strict=True)]
        return DenseViews(np.ascontiguousarray(np.concatenate(parts, axis=1)), edges_of(widths))
    from scipy.sparse import csr_array, hstack

    held = [csr_array((n, d)) if block is None else csr_array(block) for block, d in zip(blocks, widths, strict=True)]
    whole = csr_array(hstack(held, format="csr"))
    whole.sum_duplicates()
    edges = edges_of(widths)
    view = np.searchsorted(edges, whole.indices, side="right") - 1
    record = np.repeat(np.arange(n), np.diff(whole.indptr))
    counts = np.bincount(record * len(widths) + view, minlength=n * len(widths))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Csr(whole.data.astype(np.float64), (whole.indices - edges[view]).astype(np.int32), starts)


def alone(rows: Any, K: int, k: int) -> Any:
    """View k of all records, as rows of one view."""
    if not is_dense(rows):
        return Csr(*take(rows, np.arange(k, len(rows.starts) - 1, K)))
    block = np.ascontiguousarray(rows.values[:, rows.edges[k] : rows.edges[k + 1]])
    return DenseViews(block, edges_of([block.shape[1]]))


def _trimmed(rows: Any) -> Any:
    first, last = int(rows.starts[0]), int(rows.starts[-1])
    return Csr(rows.values[first:last], rows.features[first:last], rows.starts - first)


def _dense(rows: Any, K: int, widths: Widths) -> DenseViews:
    edges, n = edges_of(widths), (len(rows.starts) - 1) // K
    owner = np.repeat(np.arange(n * K), np.diff(rows.starts))
    values = np.zeros((n, edges[-1]))
    np.add.at(values, (owner // K, edges[owner % K] + rows.features), rows.values)
    return DenseViews(values, edges)


def _sparse(rows: Any, K: int) -> Csr:
    record, column = np.nonzero(rows.values)
    view = np.searchsorted(rows.edges, column, side="right") - 1
    counts = np.bincount(record * K + view, minlength=len(rows.values) * K)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Csr(rows.values[record, column], (column - rows.edges[view]).astype(np.int32), starts)
