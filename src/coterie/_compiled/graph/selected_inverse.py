"""The diagonal of the inverse of a sparse matrix, computed from its sparse factor."""

from __future__ import annotations

import numpy as np

from coterie._compiled.core.generic import compiled


@compiled
def inverse_diagonal(indptr, indices, lower, pivot):
    """Return the diagonal of (L D L')⁻¹ for a sparse triangular L, by Takahashi's recurrence.

    With Z the inverse, Z = D^-1 L^-1 + (I - L') Z; read on the pattern of L from the last column to the first,

        Z_ij = -sum_{k in L_j} Z_ik L_kj  (i in L_j),   Z_jj = 1 / D_j - sum_{k in L_j} L_kj Z_kj,

    and every Z_ik needed lies on the pattern, because elimination fills it in.

    Parameters
    ----------
    indptr, indices, lower : ndarray
        Columns of the unit lower triangular L without its diagonal, rows ascending.
    pivot : ndarray, shape (n,)
        The diagonal of D.

    Returns
    -------
    ndarray, shape (n,)
        The diagonal of the inverse; cost sum_j sum_{k in L_j} nnz(L_k), memory that of L.
    """
    n = pivot.size
    diagonal = np.zeros(n)
    inverse = np.zeros(lower.size)
    total = np.zeros(n)
    factor = np.zeros(n)  # column j of L while j is at work, zero elsewhere
    # Z_jj depends on columns behind j only, so the recurrence runs from the last column to the first
    for j in range(n - 1, -1, -1):
        start, stop = indptr[j], indptr[j + 1]
        for p in range(start, stop):
            k = indices[p]
            # the diagonal term k = i of the sum; _cross adds the terms off the diagonal
            factor[k], total[k] = lower[p], lower[p] * diagonal[k]
        for p in range(start, stop):
            _cross(indptr, indices, inverse, indices[p], factor, total)
        diagonal[j] = 1.0 / pivot[j]
        for p in range(start, stop):
            inverse[p] = -total[indices[p]]
            diagonal[j] -= lower[p] * inverse[p]
            # only the touched entries are cleared: O(nnz(L_j)), not O(n)
            factor[indices[p]] = 0.0
    return diagonal


@compiled
def _cross(indptr, indices, inverse, k, factor, total):
    """Add the terms of column k of the inverse to the sums ``total``."""
    gathered = 0.0
    for p in range(indptr[k], indptr[k + 1]):
        # Z is symmetric and one triangle is stored: entry (i, k) serves both sums
        total[indices[p]] += inverse[p] * factor[k]
        gathered += inverse[p] * factor[indices[p]]
    total[k] += gathered
