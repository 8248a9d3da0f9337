"""Storage of multi-view records: row t·K + k is view k of record t.

An absent view is a row without entries, or of zeros: it adds nothing to a margin and is not updated. Sparse views are
``Csr`` rows; dense ones are the blocks of all views side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.checks import require, require_shape, require_within
from coterie._compiled.core.generic import when
from coterie._compiled.core.points import Points, points
from coterie._compiled.core.records import Csr, Dense, Rows, begin, concatenated, end, feature, value

Widths = Sequence[int]


class DenseViews(NamedTuple):
    """Dense records with several views side by side: view k has the columns ``edges[k]`` to ``edges[k + 1] - 1``."""

    values: Any
    edges: Any

    @property
    def dense(self) -> bool:
        """True: records are stored as dense arrays."""
        return True

    @property
    def n_records(self) -> int:
        """The number of records."""
        return len(self.values)

    def block(self, k: int) -> NDArray[np.float64]:
        """Return view k of all records as an array."""
        return np.ascontiguousarray(self.values[:, self.edges[k] : self.edges[k + 1]])


# row r is view r % K of record r // K; entries are columns of all views together
when(begin, DenseViews)(lambda rows, r: rows.edges[r % (rows.edges.size - 1)])
when(end, DenseViews)(lambda rows, r: rows.edges[r % (rows.edges.size - 1) + 1])
when(feature, DenseViews)(lambda rows, r, k: k - rows.edges[r % (rows.edges.size - 1)])
when(value, DenseViews)(lambda rows, r, k: rows.values[r // (rows.edges.size - 1), k])

ViewRows = DenseViews | Csr


def edges_of(widths: Widths) -> NDArray[np.int64]:
    """Return the first column of each view in concatenated views, and the total number of columns."""
    return np.concatenate([[0], np.cumsum(np.asarray(widths, np.int64))]).astype(np.int64)


def check_rows(rows: ViewRows, n: int, widths: Widths) -> None:
    """Raise ValueError for a wrong number of records, or views with too many features."""
    if isinstance(rows, DenseViews):
        require(np.array_equal(rows.edges, edges_of(widths)), "the places of views do not match their widths")
        require_shape("records of views", rows.values, n, int(rows.edges[-1]))
        return
    K, starts = len(widths), rows.starts
    require_shape("starts of views", starts, n * K + 1)
    require_shape("features of views", rows.features, len(rows.values))
    ends = starts[0] == 0 and starts[-1] == len(rows.values)
    require(ends and (starts[1:] >= starts[:-1]).all(), "the places where views begin are not in order")
    # every entry against the width of its own view
    most = np.repeat(np.tile(np.asarray(widths, np.int64), n), np.diff(starts))
    require_within("features of views", rows.features, 0, np.inf)
    require((rows.features < most).all(), "a view has features beyond its width")


def cut(rows: ViewRows, K: int, first: int, last: int) -> ViewRows:
    """Return the records ``first`` to ``last - 1``, each with K views, without a copy."""
    if isinstance(rows, DenseViews):
        return rows._replace(values=rows.values[first:last])
    return rows.cut(first * K, last * K)


def pick(rows: ViewRows, K: int, places: NDArray[np.int64]) -> ViewRows:
    """Copy the records with K views at the indices ``places``."""
    if isinstance(rows, DenseViews):
        return rows._replace(values=rows.values[places])
    return rows.take((places[:, None] * K + np.arange(K)).ravel())


def stack(above: Any, below: Any) -> ViewRows:
    """Concatenate records of the same storage."""
    if above.dense:
        return DenseViews(np.concatenate([above.values, below.values]), above.edges)
    return concatenated(above, below)


def as_form(rows: ViewRows, dense: bool, widths: Widths) -> ViewRows:
    """Convert records to dense or sparse storage; ``widths`` are the numbers of features of the views."""
    if not dense:
        return _sparse(rows) if isinstance(rows, DenseViews) else rows
    edges = edges_of(widths)
    if isinstance(rows, Csr):
        return _dense(rows, edges)
    if np.array_equal(rows.edges, edges):
        return rows
    wide = np.zeros((len(rows.values), edges[-1]))
    for k in range(len(widths)):
        block = rows.block(k)
        wide[:, edges[k] : edges[k] + block.shape[1]] = block
    return DenseViews(wide, edges)


def plain_rows(rows: ViewRows, K: int, k: int) -> Rows:
    """Return view k of all records, as records with a single feature vector."""
    if isinstance(rows, DenseViews):
        return Dense(rows.block(k))
    return rows.take(np.arange(k, rows.n_records, K))


def points_of(rows: ViewRows, K: int, k: int, rounds: NDArray[np.int64], width: int) -> Points:
    """Return view k of all records as `Points`, for kernels; ``rounds`` are the records' numbers in the stream."""
    return points(plain_rows(rows, K, k), rounds, width)


def all_points(rows: ViewRows, K: int, rounds: NDArray[np.int64], width: int) -> Points:
    """Return all views of all records as `Points`, record by record; the views share one feature space."""
    every = Dense(rows.values.reshape(-1, width)) if isinstance(rows, DenseViews) else rows
    return points(every, np.repeat(rounds, K), width)


def alone(rows: ViewRows, K: int, k: int) -> ViewRows:
    """Return view k of all records as records with a single view."""
    one = plain_rows(rows, K, k)
    return DenseViews(one.values, edges_of([one.values.shape[1]])) if isinstance(one, Dense) else one


def empty(dense: bool, widths: Widths) -> ViewRows:
    """Return an empty set of records."""
    if dense:
        edges = edges_of(widths)
        return DenseViews(np.zeros((0, edges[-1])), edges)
    return Csr(np.zeros(0), np.zeros(0, np.int32), np.zeros(1, np.int64))


def emptied(block: Any, present: NDArray[np.bool_]) -> Any:
    """Set the rows of absent views to zero: in place for an array, in a copy for a CSR matrix."""
    if hasattr(block, "indptr"):
        block = block.tocsr(copy=True)
        # stored zeros would count as entries, so they are removed from the structure as well
        block.data[np.repeat(~present, np.diff(block.indptr))] = 0.0
        block.eliminate_zeros()
        return block
    block[~present] = 0.0
    return block


def side_by_side(blocks: Sequence[Any], widths: Widths, n: int) -> ViewRows:
    """Combine one block per view into rows of n records; None is a view that is absent in all records."""
    if not any(hasattr(block, "indptr") for block in blocks):
        parts = [np.zeros((n, d)) if block is None else block for block, d in zip(blocks, widths, strict=True)]
        return DenseViews(np.ascontiguousarray(np.concatenate(parts, axis=1)), edges_of(widths))
    from scipy.sparse import csr_array, hstack

    matrices = [
        csr_array((n, d)) if block is None else csr_array(block) for block, d in zip(blocks, widths, strict=True)
    ]
    whole = csr_array(hstack(matrices, format="csr"))
    # entries in order of features, each once: products of two sparse views rely on both
    whole.sum_duplicates()
    edges = edges_of(widths)
    # the view of each column of all views; the counts by record and view are the lengths of the rows
    view = np.searchsorted(edges, whole.indices, side="right") - 1
    record = np.repeat(np.arange(n), np.diff(whole.indptr))
    counts = np.bincount(record * len(widths) + view, minlength=n * len(widths))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Csr(whole.data.astype(np.float64), (whole.indices - edges[view]).astype(np.int32), starts)


def _dense(rows: Csr, edges: NDArray[np.int64]) -> DenseViews:
    trimmed, K = rows.trimmed(), len(edges) - 1
    owner = np.repeat(np.arange(trimmed.n_records), np.diff(trimmed.starts))
    values = np.zeros((trimmed.n_records // K, edges[-1]))
    # unbuffered, so that entries of a repeated feature add up
    np.add.at(values, (owner // K, edges[owner % K] + trimmed.features), trimmed.values)
    return DenseViews(values, edges)


def _sparse(rows: DenseViews) -> Csr:
    K, (record, column) = len(rows.edges) - 1, np.nonzero(rows.values)
    view = np.searchsorted(rows.edges, column, side="right") - 1
    counts = np.bincount(record * K + view, minlength=len(rows.values) * K)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Csr(rows.values[record, column], (column - rows.edges[view]).astype(np.int32), starts)
