"""Any interaction matrix, given whole: positive definite, or semidefinite and its pseudo-inverse taken."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import spec

from .files import TaskType, read_matrix
from .matrices import (
    inverse_of,
    labels_of,
    positive_definite,
    positive_semidefinite,
    pseudo_inverse_of,
    pseudo_quadratic,
    row,
    rows_of,
    task_vectors,
)
from .sources import ColumnSource, DenseColumns

#: Diagonal entries of a pseudo-inverse are zero below so much of the largest.
EXCLUDED = 1e-12


@spec.part
class Interaction:
    """Tasks share through any symmetric positive definite interaction matrix A (CCG08 §3), given as A or as A^-1.

    The penalty is u'(A ⊗ I_d)u; a mistake on task i moves task j by (A^-1)_ji. All tasks are known from the start. A
    step costs O(K · nnz), the inverse O(K³) once.

    Parameters
    ----------
    matrix : array of shape (K, K)
        The interaction matrix A.
    inverse : array of shape (K, K)
        Its inverse M. Exactly one of the two is given.
    tasks : sequence of task labels, optional
        The names of the rows; 0, 1, ..., K - 1 without.
    pseudo_inverse : bool
        Take a singular matrix by its pseudo-inverse, as CC12 §3 (footnote 1) takes the Laplacian of a graph, A = L:
        vectors that A does not penalise are excluded, not left free. With a Laplacian the mean of all tasks stays zero.

    Raises
    ------
    ValueError
        If both or none is given, if it is not a square matrix of finite numbers, not symmetric, not positive definite,
        or if ``tasks`` does not name each row once. With ``pseudo_inverse``, if an eigenvalue is negative, or the
        pseudo-inverse leaves nothing to a task: its row is zero, and nothing could be learned of it.

    Examples
    --------
    >>> relation = Interaction([[2.0, -1.0], [-1.0, 2.0]], tasks=["a", "b"])
    >>> relation.relation_matrix().round(3)
    array([[0.667, 0.333],
           [0.333, 0.667]])
    >>> relation.penalty([[1.0], [1.0]])
    2.0
    """

    form: ClassVar[str] = "columns"

    matrix: ArrayLike | None = None
    inverse: ArrayLike | None = None
    tasks: Sequence[Hashable] | None = None
    pseudo_inverse: bool = spec.field(default=False)

    def __post_init__(self) -> None:
        if (self.matrix is None) == (self.inverse is None):
            which = "none" if self.matrix is None else "both"
            raise ValueError(f"Interaction takes exactly one of matrix (A) and inverse (A^-1), got {which}")
        name, given = ("inverse", self.inverse) if self.matrix is None else ("matrix", self.matrix)
        checked = positive_semidefinite if self.pseudo_inverse else positive_definite
        object.__setattr__(self, name, checked(given, name))
        if self.tasks is not None:
            object.__setattr__(self, "tasks", labels_of(self.tasks))
        if len(self.known_tasks) != len(self._given):
            raise ValueError(f"tasks names {len(self.known_tasks)} tasks, and {name} has {len(self._given)} rows")
        left = self._inverse.diagonal() > EXCLUDED * self._inverse.diagonal().max() if self.pseudo_inverse else None
        if left is not None and not left.all():
            raise ValueError(
                f"{name} leaves nothing to task {self.known_tasks[int(np.argmin(left))]!r}: its row is zero"
            )

    @classmethod
    def read(cls, path: str | Path, task_type: TaskType = None, **fields: Any) -> Self:
        """Read the matrix A, from a CSV file of header of tasks and a line of numbers for each.

        Parameters
        ----------
        path : str or Path
            The file. The order of the lines is that of the header.
        task_type : {int, str}, optional
            The type of tasks; inferred if not given: `int` if all are whole numbers.
        **fields
            Other parameters of the class.

        Raises
        ------
        ValueError
            If a line has another form, with file and line.
        OSError
            If the file cannot be read.
        """
        matrix, tasks = read_matrix(path, task_type)
        return cls(matrix, tasks=tasks, **fields)

    @property
    def known_tasks(self) -> tuple[Hashable, ...]:
        """The labels of the rows, in order."""
        return tuple(range(len(self._given))) if self.tasks is None else tuple(self.tasks)

    def index(self, task: Hashable) -> int:
        """The row of a task; ValueError if it has none."""
        return row(self._rows, task, "row of Interaction")

    def relation_matrix(self, tasks: Sequence[Hashable] | None = None) -> NDArray[np.float64]:
        """A^-1, or its rows and columns for these tasks, shape (len(tasks), len(tasks))."""
        rows = range(len(self._given)) if tasks is None else [self.index(task) for task in tasks]
        return self._inverse[np.ix_(rows, rows)]

    def prior_rows(self, new: Sequence[Hashable], tasks: Sequence[Hashable]) -> NDArray[np.float64]:
        """A^-1 between tasks not learned from and those learned from, shape (len(new), len(tasks))."""
        return self.relation_matrix([*new, *tasks])[: len(new), len(new) :]

    def source(self) -> ColumnSource:
        """Gives the columns of A^-1, all entries."""
        return DenseColumns(self._inverse)

    def penalty(self, U: ArrayLike) -> float:
        """u'(A ⊗ I)u for the task vectors in the rows of U, shape (K, d); infinite if some of it is excluded."""
        V = task_vectors(U, len(self._given))
        if self.pseudo_inverse:
            return pseudo_quadratic(self._inverse, V)
        return float(np.vdot(V, self._apply(V)))

    def max_diagonal(self) -> float:
        """max_i (A^-1)_ii, the factor c of the mistake bound for ‖x‖ ≤ 1."""
        return self.source().max_diagonal()

    @property
    def _given(self) -> NDArray[np.float64]:
        return np.asarray(self.inverse if self.matrix is None else self.matrix)

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        if self.matrix is None:
            return self._given
        return pseudo_inverse_of(self._given) if self.pseudo_inverse else inverse_of(self._given)

    @cached_property
    def _rows(self) -> dict[Hashable, int]:
        return rows_of(self.known_tasks)

    def _apply(self, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """A V, without forming A where M is given."""
        if self.matrix is not None:
            return self._given @ V
        return np.asarray(np.linalg.solve(self._given, V), dtype=np.float64)
