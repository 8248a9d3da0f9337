"""Products with the joint kernel matrix, never keeping it: by blocks of kernel values, or by features where they do."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.kernels import Linear
from coterie.numeric.points import Points, as_matrix, piece
from coterie.numeric.records import take

Array = NDArray[Any]
Codes = NDArray[np.int64]

#: Entries of the blocks in which kernel values are made where not all are kept.
BLOCK_ENTRIES = 2**23


def some(points: Points, places: Codes) -> Points:
    """Some of the records, in the order of their places."""
    return Points(take(points.rows, places), points.squares[places], points.rounds[places], points.features)


def block(kernel: Any, X: Points, Z: Points, dtype: str) -> Array:
    """The kernel's values for all pairs."""
    out = np.empty((len(X.squares), len(Z.squares)), dtype)
    kernel.values(X, Z, out)
    return out


def pieces(points: Points, width: int) -> Iterator[tuple[slice, Points]]:
    """The records in pieces so small that a block of kernel values with ``width`` others is no burden."""
    height = max(BLOCK_ENTRIES // max(width, 1), 1)
    n = len(points.squares)
    for first in range(0, n, height):
        last = min(first + height, n)
        yield slice(first, last), piece(points, first, last)


@singledispatch
def joint_product(kernel: Any, points: Points, codes: Codes, M: Array, C: Array, dtype: str) -> Array:
    """Σ_j k(x_i, x_j) M_(t_i t_j) C_j for every row i: O(n²) kernel values, O(n) memory."""
    from coterie.numeric.joint import joint_sums

    out = np.empty(C.shape)
    for rows, X in pieces(points, len(codes)):
        joint_sums(block(kernel, X, points, dtype), M, codes[rows], codes, C, out[rows])
    return out


@joint_product.register
def _(kernel: Linear, points: Points, codes: Codes, M: Array, C: Array, dtype: str) -> Array:
    """The same by the weights of each task, W = M Σ_j C_j x_j: O(entries + T² d)."""
    from scipy.sparse import csr_array

    n, X = len(codes), as_matrix(points)
    tasks: Any = csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, len(M)))
    made = [_by_features(X, tasks, codes, M, c) for c in np.asarray(C, np.float64).T]
    return np.column_stack(made)


def _by_features(X: Any, tasks: Any, codes: Codes, M: Array, c: Array) -> Array:
    moved = X * c[:, None] if isinstance(X, np.ndarray) else X.multiply(c[:, None]).tocsr()
    sums = tasks.T @ moved
    W = M @ (sums if isinstance(sums, np.ndarray) else sums.toarray())
    if isinstance(X, np.ndarray):
        return np.asarray(np.einsum("nd,nd->n", X, W[codes]))
    rows = np.repeat(np.arange(len(codes)), np.diff(X.indptr))
    return np.bincount(rows, X.data * W[codes[rows], X.indices], minlength=len(codes))
