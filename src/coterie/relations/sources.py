"""Sources of the columns of M, for relations whose M is not diagonal plus group blocks."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array
    from scipy.sparse.linalg import SuperLU

Column = tuple[NDArray[np.int64], NDArray[np.float64]]


class ColumnSource(Protocol):
    """Gives the columns of M = A^-1 one at a time; made by a relation, never saved."""

    dense: bool

    @property
    def n_tasks(self) -> int:
        """The number of tasks, K."""

    def column(self, task: int) -> Column:
        """The rows (int64, ascending) and values of the entries of one column of M; all K of them if ``dense``."""

    def diagonal(self) -> NDArray[np.float64]:
        """The diagonal of M, shape (K,)."""

    def max_diagonal(self) -> float:
        """The largest entry of the diagonal, which is the largest entry of M."""


class DenseColumns:
    """Columns of a matrix that is at hand."""

    dense = True

    def __init__(self, inverse: NDArray[np.float64]) -> None:
        self.inverse = inverse
        self._rows = np.arange(len(inverse), dtype=np.int64)

    @property
    def n_tasks(self) -> int:
        """The number of tasks, K."""
        return len(self.inverse)

    def column(self, task: int) -> Column:
        """All rows and their values: O(1)."""
        return self._rows, self.inverse[task]

    def diagonal(self) -> NDArray[np.float64]:
        """The diagonal of M, shape (K,)."""
        return self.inverse.diagonal()

    def max_diagonal(self) -> float:
        """The largest entry of the diagonal."""
        return float(self.diagonal().max())


class FactorColumns:
    """Columns of the inverse of a sparse positive definite matrix, solved with its sparse factor.

    The matrix is factored when the first column is asked for. Entries of ``error`` or less are left out.
    """

    dense = False

    def __init__(self, A: csr_array[Any], error: float) -> None:
        self.A, self.error = A, error

    def __reduce__(self) -> tuple[type[FactorColumns], tuple[Any, float]]:
        return FactorColumns, (self.A, self.error)

    @property
    def n_tasks(self) -> int:
        """The number of tasks, K."""
        return int(self.A.shape[0])

    @cached_property
    def factor(self) -> SuperLU:
        """The factor, A = P L D L' P'."""
        return symmetric_factor(self.A.tocsc())

    def column(self, task: int) -> Column:
        """The entries above ``error``: two triangular solves, O(nnz(L))."""
        unit = np.zeros(self.n_tasks)
        unit[task] = 1.0
        solved = self.factor.solve(unit)
        rows = np.flatnonzero(solved > self.error).astype(np.int64)
        return rows, solved[rows]

    def diagonal(self) -> NDArray[np.float64]:
        """The diagonal of M, shape (K,), exact: about the cost of another factor."""
        return factored_diagonal(self.factor)

    def max_diagonal(self) -> float:
        """The largest entry of the diagonal."""
        return float(self.diagonal().max())


def symmetric_factor(A: csc_array[Any]) -> SuperLU:
    """Sparse factor of a symmetric positive definite matrix, without pivoting."""
    from scipy.sparse.linalg import splu

    return splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})


def factored_diagonal(factor: SuperLU) -> NDArray[np.float64]:
    """Diagonal of the inverse of a matrix factored by :func:`symmetric_factor`."""
    from scipy.sparse import tril

    from coterie.numeric.graph.selected_inverse import inverse_diagonal

    lower = tril(factor.L, k=-1, format="csc")
    lower.sort_indices()
    return inverse_diagonal(lower.indptr, lower.indices, lower.data, factor.U.diagonal())[factor.perm_c]
