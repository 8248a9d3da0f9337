"""Steps from raw columns and counts to features; scaling to unit norm is always the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    Columns = NDArray[np.float64]
    Numbers = NDArray[Any]
    Arrays = Mapping[str, NDArray[Any]]


def signs(positive: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return +1 where `positive`, else -1.

    >>> signs(np.array([True, False]))
    array([ 1, -1], dtype=int8)
    """
    return np.where(positive, 1, -1).astype(np.int8)


def standardized(columns: Columns) -> Columns:
    """Return each column less its mean, over its standard deviation.

    >>> standardized(np.array([[1.0], [3.0]]))
    array([[-1.], [ 1.]])
    """
    scaled: Columns = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    return scaled


def to_unit_interval(columns: Columns) -> Columns:
    """Return each column moved and scaled to [0, 1]; a constant column stays as it is.

    >>> to_unit_interval(np.array([[2.0, 1.0], [4.0, 1.0]]))
    array([[0., 1.], [1., 1.]])
    """
    low, width = columns.min(axis=0), np.ptp(columns, axis=0)
    constant = width == 0
    return (columns - np.where(constant, 0, low)) / np.where(constant, 1, width)


def with_constant(columns: Columns) -> Columns:
    """Return the columns and a column of ones after them.

    >>> with_constant(np.array([[2.0], [4.0]]))
    array([[2., 1.], [4., 1.]])
    """
    return np.column_stack([columns, np.ones(len(columns))])


def unit_rows(columns: Columns) -> Columns:
    """Return each row over its Euclidean norm; a zero row stays zero.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8], [0. , 0. ]])
    """
    norm = np.linalg.norm(columns, axis=1, keepdims=True)
    return columns / np.where(norm == 0, 1, norm)


def unit_rows_sparse(X: csr_array) -> csr_array:
    """Return each sparse row over its Euclidean norm.

    >>> unit_rows_sparse(csr_array(np.array([[3.0, 4.0]]))).toarray()
    array([[0.6, 0.8]])
    """
    norm = np.sqrt(X.multiply(X).sum(axis=1))
    return csr_array((X.data / np.repeat(norm, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)


def log_counts(counts: csr_array) -> csr_array:
    """Return log(1 + count), rows scaled to unit norm.

    >>> log_counts(csr_array(np.array([[7, 0]]))).toarray()
    array([[1., 0.]])
    """
    logs = np.log1p(counts.data.astype(np.float64))
    return unit_rows_sparse(csr_array((logs, counts.indices, counts.indptr), shape=counts.shape))


def csr(arrays: Arrays, prefix: str = "") -> csr_array:
    """Return the matrix stored as data, indices, indptr and shape, under names that begin with `prefix`."""
    data, indices, indptr, shape = (arrays[prefix + part] for part in ("data", "indices", "indptr", "shape"))
    return _matrix(data, indices, indptr, shape)


def gap_csr(arrays: Arrays) -> csr_array:
    """Return the matrix stored as data, gap, rowlen and ncol: column numbers as differences within a row.

    >>> packed = {"data": [5, 6, 7], "gap": [1, 2, 0], "rowlen": [2, 1], "ncol": 4}
    >>> gap_csr({name: np.array(values) for name, values in packed.items()}).toarray()
    array([[0., 5., 0., 6.], [7., 0., 0., 0.]])
    """
    rowlen = arrays["rowlen"].astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(rowlen)])
    running = np.concatenate([[0], np.cumsum(arrays["gap"], dtype=np.int64)])
    indices = running[1:] - np.repeat(running[indptr[:-1]], rowlen)
    return _matrix(arrays["data"], indices, indptr, (len(rowlen), arrays["ncol"]))


def _matrix(data: Numbers, indices: Numbers, indptr: Numbers, shape: Iterable[Any]) -> csr_array:
    rows, columns = map(int, shape)
    places = (indices.astype(np.int32), indptr.astype(np.int32))
    return csr_array((data.astype(np.float64), *places), shape=(rows, columns))
