"""Products with kernel matrices that are not stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from coterie._compiled.core.points import Points, as_matrix, piece
from coterie._compiled.core.records import Csr, Dense
from coterie._compiled.dual.stores import widened
from coterie.kernels import Kernel, Linear
from coterie.types import AnyRecords, Array, Codes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: The number of entries of a block of kernel values, if not all are kept.
BLOCK_ENTRIES = 2**23

#: The maximum number of weights of all tasks for which linear kernels are computed by features.
MOST_WEIGHTS = 2**26


def block(kernel: Kernel, X: Points, Z: Points, dtype: str) -> Array:
    """Return the kernel values of all pairs of records of X and Z."""
    out, Z = np.empty((len(X.squares), len(Z.squares)), dtype), widened(Z, X.features)
    kernel.values(convert_form(X, Z), Z, out)
    return out


def convert_form(X: Points, Z: Points) -> Points:
    """Convert X to the storage of Z, dense or sparse, because kernels need both in the same storage."""
    if isinstance(X.rows, Dense) == isinstance(Z.rows, Dense):
        return X
    if isinstance(Z.rows, Dense):
        return X._replace(rows=Dense(as_matrix(X).toarray()))
    from scipy.sparse import csr_array

    rows = csr_array(as_matrix(X))
    return X._replace(rows=Csr(rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int64)))


def pieces(points: Points, width: int) -> Iterator[tuple[slice, Points]]:
    """Yield slices of records, for which a block of kernel values with ``width`` other records is small."""
    height = max(BLOCK_ENTRIES // max(width, 1), 1)
    n = len(points.squares)
    for first in range(0, n, height):
        last = min(first + height, n)
        yield slice(first, last), piece(points, first, last)


def by_tasks(codes: Codes, c: Array, n_tasks: int) -> csr_array[np.float64]:
    """Arrange the coefficients c of records in columns by task, as a sparse matrix of shape (n, T).

    ``codes`` are the task numbers.
    """
    from scipy.sparse import csr_array

    n = len(codes)
    return csr_array((np.asarray(c, np.float64), codes, np.arange(n + 1)), shape=(n, n_tasks))


def joint_product(
    kernel: Kernel, X: Points, places: Codes, Z: Points, codes: Codes, M: Array, C: Array, dtype: str
) -> Array:
    """Return Σ_j k(x_i, z_j) M_(p_i t_j) C_j for each record x_i of X, without storing the kernel matrix.

    The task of x_i is p_i = ``places[i]``, that of z_j is t_j = ``codes[j]``, and C_j are the coefficients of z_j.

    It needs the memory of one block. For a linear kernel the weights of each task, W = M Σ_j C_j z_j, are computed
    first: O(entries + T² d).
    """
    if _has_few_weights(kernel, max(M.shape), Z):
        sums = [dense(by_tasks(codes, c, M.shape[1]).T @ as_matrix(Z)) for c in C.T]
        return np.column_stack([_dots(as_matrix(X), M @ by_task, places) for by_task in sums])
    from coterie._compiled.dual.joint import joint_sums

    out = np.empty((len(places), C.shape[1]))
    for rows, piece_of_X in pieces(X, len(codes)):
        joint_sums(block(kernel, piece_of_X, Z, dtype), M, places[rows], codes, C, out[rows])
    return out


def _dots(X: AnyRecords, W: Array, places: Codes) -> Array:
    """Return the inner product of each record of X with a column of W, at index ``places[i]``."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.einsum("nd,nd->n", X, W[places]))
    rows = np.repeat(np.arange(len(places)), np.diff(X.indptr))
    return np.bincount(rows, X.data * W[places[rows], X.indices], minlength=len(places))


def gram_product(kernel: Kernel, X: Points, Z: Points, C: Array, dtype: str) -> Array:
    """Return Σ_j k(x_i, z_j) C_j for each record x_i of X, without storing the kernel matrix.

    C_j are the coefficients of record z_j of Z.
    """
    if _has_few_weights(kernel, C.shape[1], Z):
        return np.asarray(as_matrix(X) @ (as_matrix(Z).T @ np.asarray(C, np.float64)))
    out = np.empty((len(X.squares), C.shape[1]))
    for rows, piece_of_X in pieces(X, len(Z.squares)):
        out[rows] = block(kernel, piece_of_X, Z, dtype) @ C
    return out


def quadratic(kernel: Kernel, X: Points, D: Array | csr_array[np.float64], dtype: str) -> Array:
    """Return D' K D for the kernel matrix K of X, without storing it: O(n²) kernel values. D has one row per record.

    If the kernel is linear it goes by the weights D'X: O(entries + T² d).
    """
    if _has_few_weights(kernel, D.shape[1], X):
        W = dense(D.T @ as_matrix(X))
        return np.asarray(W @ W.T, np.float64)
    total = np.zeros((D.shape[1], D.shape[1]))
    for rows, piece_of_X in pieces(X, D.shape[0]):
        total += D[rows].T @ (block(kernel, piece_of_X, X, dtype) @ D)
    return total


def rank_bound(kernel: Kernel, X: Points) -> int:
    """Return an upper bound on the rank of the kernel matrix of the records X."""
    n = len(X.squares)
    return max(min(n, X.features), 1) if isinstance(kernel, Linear) else n


def is_narrow(kernel: Kernel, X: Points) -> bool:
    """Return True if an eigendecomposition by features is faster than by the kernel matrix."""
    return 2 * rank_bound(kernel, X) < len(X.squares)


def _has_few_weights(kernel: Kernel, n_tasks: int, Z: Points) -> bool:
    """Return True for a linear kernel with weights of all tasks that fit in memory."""
    return isinstance(kernel, Linear) and n_tasks * Z.features <= MOST_WEIGHTS


def dense(matrix: Array | csr_array[np.float64]) -> Array:
    """Convert a sparse matrix to an array; arrays are returned unchanged."""
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())
