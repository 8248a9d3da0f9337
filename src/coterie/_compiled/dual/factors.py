"""A growing Cholesky factor L L' = R + G of Gram matrix plus noise, extended block by block.

It replaces the bordered inverse (R + G)⁻¹ at the same cost, and is accurate even if R + G is far from I.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

#: Rows of a factor that are solved at once; the rest of the work is matrix products.
PANEL = 128


def root(S: Matrix) -> Matrix:
    """Return the lower Cholesky factor of a positive definite matrix.

    Raises
    ------
    ValueError
        If it is not positive definite.
    """
    try:
        return np.asarray(np.linalg.cholesky(S))
    except np.linalg.LinAlgError:
        raise ValueError("the kernel is not positive semidefinite: its Gram matrix has no Cholesky factor") from None


def forward(L: Matrix, B: Matrix) -> Matrix:
    """Return L⁻¹B for a lower triangular L, by forward substitution: O(m² n).

    L may be larger than B: its leading rows and columns are used.
    """
    from scipy.linalg import solve_triangular

    m = len(B)
    V = np.array(B, np.float64)
    # block by block: only diagonal blocks are solved, the rest is BLAS-3
    for first in range(0, m, PANEL):
        rows = slice(first, min(first + PANEL, m))
        if first:
            V[rows] -= L[rows, :first] @ V[:first]
        V[rows] = solve_triangular(L[rows, rows], V[rows], lower=True, check_finite=False)
    return V


def backward(L: Matrix, b: Matrix) -> Matrix:
    """Return L'⁻¹b for a lower triangular L, by backward substitution: O(m²).

    L may be larger than b: its leading rows and columns are used.
    """
    from scipy.linalg import solve_triangular

    m = len(b)
    v = np.array(b, np.float64)
    # L' is upper triangular, so substitution begins with the last rows
    for first in reversed(range(0, m, PANEL)):
        rows = slice(first, min(first + PANEL, m))
        if rows.stop < m:
            v[rows] -= L[rows.stop : m, rows].T @ v[rows.stop :]
        v[rows] = solve_triangular(L[rows, rows], v[rows], lower=True, trans=1, check_finite=False)
    return v


def border(L: Matrix, m: int, V: Matrix, lower: Matrix) -> None:
    """Append rows to a Cholesky factor L with m rows, in place.

    V, (m, n), is L⁻¹ times their Gram matrix with the old rows; ``lower``, the new diagonal block, is the factor of
    their remaining Gram matrix.
    """
    n = len(lower)
    # V' = G_new,old L'⁻¹, the lower left block of the factor; the old rows stay as they are
    L[m : m + n, :m] = V.T
    L[m : m + n, m : m + n] = lower
