"""Relations given by the columns of M = A⁻¹, for a fixed list of tasks.

Updates are in ``_compiled/primal/spread.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from coterie import spec
from coterie._compiled.core.arrays import enlarged
from coterie._compiled.primal.spread import Columns, SparseColumns
from coterie.types import Floats, Ints, Matrix

from .files import ReadFromFile, read_matrix
from .matrices import (
    half_sum,
    inverse_of,
    labels_of,
    positive_definite,
    positive_semidefinite,
    pseudo_inverse_of,
    pseudo_quadratic,
    row,
    rows_of,
    square,
    task_vectors,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import SuperLU

#: Rows (ascending) and values of the entries of a column.
Column = tuple[Ints, Floats]

#: Diagonal entries of a pseudo-inverse are zero below so much of the largest.
EXCLUDED = 1e-12

#: Cached columns may take this many bytes; beyond that the oldest are replaced.
CACHE_BYTES = 2**26


# -- sources of columns ------------------------------------------------------------------------------------------------


class ColumnSource(ABC):
    """Base class of objects that compute the columns of M = A⁻¹ one at a time.

    A is the interaction matrix of the tasks.
    """

    dense: ClassVar[bool]
    n_tasks: int

    @abstractmethod
    def column(self, task: int) -> Column:
        """Return the row indices (ascending) and the values of column ``task`` of M; all rows if ``dense`` is True."""

    @abstractmethod
    def diagonal(self) -> Floats:
        """Return the diagonal of M, one entry per task, shape (K,)."""

    def max_diagonal(self) -> float:
        """Return the largest entry of M, which is on its diagonal."""
        return float(self.diagonal().max())


class DenseColumns(ColumnSource):
    """Columns of a matrix M that is stored in memory as a dense array."""

    dense = True

    def __init__(self, inverse: Matrix) -> None:
        self.inverse, self.n_tasks = inverse, len(inverse)
        self._rows = np.arange(len(inverse), dtype=np.int64)

    def column(self, task: int) -> Column:
        """Return all row indices and the values of column ``task`` of M: O(1)."""
        return self._rows, self.inverse[task]

    def diagonal(self) -> Floats:
        """Return the diagonal of M, shape (K,)."""
        return self.inverse.diagonal()


class FactorColumns(ColumnSource):
    """Columns of M = A⁻¹ for a sparse positive definite A, computed from a sparse factorisation of A.

    The factor is computed for the first column. Entries of at most ``error`` are left out.
    """

    dense = False

    def __init__(self, A: csr_array[np.float64], error: float) -> None:
        self.A, self.error, self.n_tasks = A, error, int(A.shape[0])

    def __reduce__(self) -> tuple[type[FactorColumns], tuple[csr_array[np.float64], float]]:
        return FactorColumns, (self.A, self.error)

    @cached_property
    def factor(self) -> SuperLU:
        """The factor A = P L D L' P', computed without pivoting because A is positive definite."""
        from scipy.sparse.linalg import splu

        options = {"SymmetricMode": True}
        # symmetric ordering: the factor is L D L', and a pivot would spoil both symmetry and sparsity
        return splu(self.A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)

    def column(self, task: int) -> Column:
        """Return the entries above ``error`` of column ``task`` of A⁻¹, by two triangular solves: O(nnz(L)).

        L is the sparse factor of A.
        """
        unit = np.zeros(self.n_tasks)
        unit[task] = 1.0
        solved = self.factor.solve(unit)
        # entries of (I + L)⁻¹ are nonnegative: negative ones are rounding
        rows = np.flatnonzero(solved > self.error).astype(np.int64)
        return rows, solved[rows]

    def diagonal(self) -> Floats:
        """Return the exact diagonal of M, shape (K,), at about the cost of another factorisation."""
        from scipy.sparse import tril

        from coterie._compiled.graph.selected_inverse import inverse_diagonal

        lower, perm = tril(self.factor.L, k=-1, format="csc"), self.factor.perm_c
        lower.sort_indices()
        # Takahashi's recurrence: entries of the inverse on the pattern of L, without solving for K columns
        return np.asarray(inverse_diagonal(lower.indptr, lower.indices, lower.data, self.factor.U.diagonal())[perm])


# -- columns in the form of compiled code ------------------------------------------------------------------------------


class DenseCache:
    """A cache of dense columns of M with a fixed number of slots.

    If it is full, the column that was stored first is replaced.
    """

    def __init__(self, source: ColumnSource) -> None:
        K = source.n_tasks
        slots = max(1, min(K, CACHE_BYTES // (8 * max(K, 1))))
        self.source = source
        self.columns = Columns(np.zeros((slots, K)), np.full(K, -1, np.int64))
        self._owner = np.full(slots, -1, np.int64)
        self._next = 0

    def fetch(self, i: int) -> None:
        """Compute column i of M and store it in the cache, for compiled code."""
        rows, values = self.source.column(i)
        slot, self._next = self._next, (self._next + 1) % len(self._owner)
        # the column in this slot is gone, and must be fetched again when its task moves
        if self._owner[slot] >= 0:
            self.columns.slot[self._owner[slot]] = -1
        self.columns.values[slot] = 0.0
        self.columns.values[slot, rows] = values
        self.columns.slot[i], self._owner[slot] = slot, i


class SparseCache:
    """A cache of sparse columns of M; it is emptied when it is full."""

    def __init__(self, source: ColumnSource) -> None:
        self.source = source
        self._clear(np.zeros(1024, np.int64), np.zeros(1024))

    def _clear(self, rows: Ints, values: Floats) -> None:
        starts, slot = np.zeros(self.source.n_tasks + 1, np.int64), np.full(self.source.n_tasks, -1, np.int64)
        self.columns = SparseColumns(rows, values, starts, slot)
        self._n_columns = 0

    def fetch(self, i: int) -> None:
        """Compute column i of M and store it in the cache, for compiled code."""
        rows, values = self.source.column(i)
        first = int(self.columns.starts[self._n_columns])
        # 8 bytes each for a row and a value
        if 16 * (first + len(rows)) > CACHE_BYTES and self._n_columns:
            self._clear(self.columns.rows, self.columns.values)
            first = 0
        last, columns = first + len(rows), self.columns
        self.columns = columns._replace(rows=enlarged(columns.rows, last), values=enlarged(columns.values, last))
        self.columns.rows[first:last], self.columns.values[first:last] = rows, values
        self.columns.starts[self._n_columns + 1] = last
        self.columns.slot[i] = self._n_columns
        self._n_columns += 1


def column_cache(source: ColumnSource) -> DenseCache | SparseCache:
    """Return a new cache for the columns of ``source``, dense or sparse."""
    return DenseCache(source) if source.dense else SparseCache(source)


# -- relations ---------------------------------------------------------------------------------------------------------


class ColumnRelation(ABC):
    """Base class of relations for a fixed list of tasks, given by the columns of M.

    M = A⁻¹ is the inverse of the K x K interaction matrix of the tasks.
    """

    form: ClassVar[str] = "columns"

    #: A row of the relation, in refusals.
    kind: ClassVar[str] = "row"

    @property
    @abstractmethod
    def known_tasks(self) -> tuple[Hashable, ...]:
        """The tasks of the relation, in the order of the rows of M."""

    @abstractmethod
    def source(self) -> ColumnSource:
        """Return the object that computes the columns of M."""

    def index(self, task: Hashable) -> int:
        """Return the row of M of a task; raise ValueError for an unknown task."""
        return row(self._rows, task, f"{self.kind} of {type(self).__name__}")

    def relation_matrix(self, tasks: Sequence[Hashable] | None = None) -> Matrix:
        """Return M, or its submatrix for ``tasks``, shape (K, K)."""
        rows = [self.index(task) for task in (self.known_tasks if tasks is None else tasks)]
        source = self.source()
        M, dense = np.empty((len(rows), len(rows))), np.zeros(source.n_tasks)
        for place, i in enumerate(rows):
            entries, values = source.column(i)
            dense[entries] = values
            M[:, place] = dense[rows]
            dense[entries] = 0.0
        # columns are solved one by one, so M is symmetric up to rounding only
        return half_sum(M)

    def prior_rows(self, new: Sequence[Hashable], tasks: Sequence[Hashable]) -> Matrix:
        """Return the rows of M for ``new`` tasks and its columns for known ``tasks``, shape (len(new), len(tasks))."""
        return self.relation_matrix([*new, *tasks])[: len(new), len(new) :]

    def penalty(self, U: ArrayLike, tasks: Sequence[Hashable] | None = None) -> float:
        """Return the penalty u'(A ⊗ I)u of the task vectors, the rows of U, shape (K, d).

        Infinite if a singular relation excludes them.

        For some of the tasks it is the minimum over the vectors of the others.
        """
        M = self.relation_matrix(tasks)
        return pseudo_quadratic(M, task_vectors(U, len(M)))

    def max_diagonal(self) -> float:
        """Return the largest diagonal entry of M, the factor c of the mistake bound for records of length at most 1."""
        return self.source().max_diagonal()

    @cached_property
    def _rows(self) -> dict[Hashable, int]:
        return rows_of(self.known_tasks)


class _MatrixRelation(ColumnRelation):
    """Base class of relations that store the matrix M = A⁻¹ in memory."""

    tasks: Sequence[Hashable] | None

    @property
    @abstractmethod
    def _inverse(self) -> Matrix:
        """Return the matrix M = A⁻¹."""

    def source(self) -> DenseColumns:
        """Return the columns of M, with all their entries."""
        return DenseColumns(self._inverse)

    def _name_rows(self, name: str) -> None:
        """Set default task names.

        Raise ValueError unless ``tasks`` names each row of the matrix in the field ``name`` once.
        """
        n_rows = len(getattr(self, name))
        tasks = tuple(range(n_rows)) if self.tasks is None else labels_of(self.tasks)
        if len(tasks) != n_rows:
            raise ValueError(f"tasks must have one task per row: got {len(tasks)} tasks for {n_rows} rows of {name}")
        object.__setattr__(self, "tasks", None if self.tasks is None else tasks)

    @property
    def known_tasks(self) -> tuple[Hashable, ...]:
        return tuple(range(len(self._inverse)) if self.tasks is None else self.tasks)


@spec.part
class Interaction(ReadFromFile, _MatrixRelation):
    """Relation given by any symmetric positive definite matrix A, or by A^-1 (CCG08 §3).

    A is the K x K interaction matrix of the K tasks, I_d the identity of the d features, and u the concatenation of the
    task vectors.

    The penalty is u'(A ⊗ I_d)u; a mistake on task i updates task j by (A^-1)_ji. All tasks are known from the start. A
    step costs O(K · nnz), the inverse O(K³) once.

    Parameters
    ----------
    matrix : array of shape (K, K)
        The interaction matrix A.
    inverse : array of shape (K, K)
        Its inverse M. Exactly one of the two is given.
    tasks : sequence of task labels, optional
        The names of the rows; by default 0, 1, ..., K - 1.
    pseudo_inverse : bool, default=False
        Use the pseudo-inverse of a singular matrix, as CC12 §3 (footnote 1) does for the Laplacian of a graph, A = L:
        directions with penalty zero are excluded, not unrestricted. With a Laplacian the mean of all tasks stays zero.

    Raises
    ------
    ValueError
        If both or neither is given, if it is not a square matrix of finite numbers, not symmetric, not positive
        definite, or if ``tasks`` does not name each row once. With ``pseudo_inverse``, if an eigenvalue is negative, or
        the pseudo-inverse has a zero row, because that task could not learn.

    Examples
    --------
    >>> relation = Interaction([[2.0, -1.0], [-1.0, 2.0]], tasks=["a", "b"])
    >>> relation.relation_matrix().round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]])
    >>> round(relation.penalty([[1.0], [1.0]]), 9)
    2.0
    """

    _read_fields = staticmethod(read_matrix)

    matrix: ArrayLike | None = None
    inverse: ArrayLike | None = None
    tasks: Sequence[Hashable] | None = None
    pseudo_inverse: bool = spec.field(default=False)

    def __post_init__(self) -> None:
        if (self.matrix is None) == (self.inverse is None):
            which = "none" if self.matrix is None else "both"
            raise ValueError(f"Interaction takes exactly one of matrix (A) and inverse (A^-1), got {which}")
        name, value = ("inverse", self.inverse) if self.matrix is None else ("matrix", self.matrix)
        check = positive_semidefinite if self.pseudo_inverse else positive_definite
        object.__setattr__(self, name, check(np.asarray(value), name))
        self._name_rows(name)
        # M_ii = 0 makes the whole row 0, as M is semidefinite
        diagonal = self._inverse.diagonal() if self.pseudo_inverse else np.ones(1)
        if diagonal.min() <= EXCLUDED * diagonal.max():
            raise ValueError(f"{name} has a zero row for task {self.known_tasks[int(np.argmin(diagonal))]!r}")

    @cached_property
    def _inverse(self) -> Matrix:
        if self.matrix is None:
            return np.asarray(self.inverse)
        A = np.asarray(self.matrix)
        return pseudo_inverse_of(A) if self.pseudo_inverse else inverse_of(A)


@spec.part
class GraphPenalty(_MatrixRelation):
    """Relation of a weighted graph with penalty ½ Σ_st W_st ‖f_s - f_t‖² + Σ_t W_tt ‖f_t‖² (ROS11 §4.2, §5.1).

    T is the number of tasks, f_t the function of task t, W_st the weight of the edge between tasks s and t, and P the
    penalty matrix (the interaction matrix A of the other relations).

    P = D - W with D_tt = Σ_s W_ts + W_tt; its pseudo-inverse is the output kernel. Unlike :class:`TaskGraph`, whose
    A = I + L penalises every task, a component without a W_tt above 0 has its mean excluded, not penalised.

    Parameters
    ----------
    weights : array of shape (T, T)
        W, of which only the symmetric part has an effect; the diagonal has the penalties of single tasks.
    tasks : sequence of task labels, optional
        The names of the rows; by default 0, 1, ..., T - 1.

    Raises
    ------
    ValueError
        For a matrix that is not square and finite, whose P has a negative eigenvalue or is zero; for tasks that do not
        name each row once.

    Examples
    --------
    >>> relation = GraphPenalty([[0.0, 1.0], [1.0, 0.0]], tasks=["a", "b"])
    >>> round(relation.penalty([[1.0], [-1.0]]), 9)
    4.0
    >>> relation.penalty([[1.0], [1.0]])  # the mean is excluded
    inf
    >>> relation.relation_matrix()
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """

    weights: ArrayLike
    tasks: Sequence[Hashable] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", square(self.weights, "weights"))
        self._name_rows("weights")
        values = np.linalg.eigvalsh(self.matrix)
        # negative weights are allowed as long as P is semidefinite, up to rounding
        if values[-1] <= 0 or values[0] < -len(values) * 1e-14 * values[-1]:
            raise ValueError(
                "D - W of the weights must be positive semidefinite and not zero, but its eigenvalues go from "
                f"{values[0]:.3g} to {values[-1]:.3g}"
            )

    @cached_property
    def matrix(self) -> Floats:
        """Return the penalty matrix P = D - W, with the edge weights W and the diagonal matrix D of their row sums."""
        W = half_sum(np.asarray(self.weights))
        # the sum over a row has W_tt once and -W takes it away again, so W_tt is added: P_tt = Σ_(s≠t) W_ts + W_tt
        return np.diag(W.sum(axis=1) + W.diagonal()) - W

    @cached_property
    def _inverse(self) -> Matrix:
        return pseudo_inverse_of(self.matrix)
