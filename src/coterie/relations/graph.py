"""Tasks joined by a graph: the interaction matrix A = I + L, whose inverse is never formed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import spec

from .edges import Ends, adjacency_of, ends_of, nodes_of, normalized
from .files import TaskType, read_edges
from .matrices import half_sum, row, rows_of, task_vectors
from .resistance import (
    augmented_matrix,
    augmented_row,
    component_of,
    interaction_of,
    laplacian_of,
    within_matrix,
    within_row,
)
from .sources import Column, ColumnSource, FactorColumns

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MATRIX_TASKS = 10_000


@spec.part
class TaskGraph:
    """Tasks joined in a graph are drawn together: A = I + L (CCG08 §3.3, CC12 §3).

    L is the Laplacian, so the penalty is Σ‖u_i‖² + Σ_(i,j) w_ij ‖u_i - u_j‖² over the edges, each once. The rows of
    A^-1 sum to 1, its entries are nonnegative, 0 between components, and the largest of a row is on the diagonal. All
    tasks are known from the start.

    A^-1 is never formed. Its columns come from a sparse factor. For trees and grids of 100 000 tasks it takes seconds;
    a random graph fills in: of 8000 tasks and 80 000 edges it took half a minute, and a column 80 ms.

    Parameters
    ----------
    edges : iterable of pairs or triples, or an adjacency matrix
        (task, task) or (task, task, weight), each edge once, in either direction, weights above 0 and up to 1e6. Or a
        symmetric matrix of weights, sparse or a square numpy array, whose rows ``tasks`` names (else 0, ..., K - 1).
    tasks : sequence of task labels, optional
        All tasks in the order of their rows, the isolated ones among them. Without: those that edges name, in order of
        first appearance.
    error : float
        Entries of a column up to this are left out (0: none).

    Raises
    ------
    ValueError
        For an edge to itself, given twice, without a positive weight, or with an end that is not among ``tasks``; for
        an adjacency matrix that is not square, symmetric, nonnegative and finite; for tasks named twice; for no tasks.

    Examples
    --------
    >>> star = TaskGraph([("hub", "a"), ("hub", "b")])
    >>> star.relation_matrix().round(3)
    array([[0.5  , 0.25 , 0.25 ],
           [0.25 , 0.625, 0.125],
           [0.25 , 0.125, 0.625]])
    >>> star.resistance_distances("a")
    array([1., 0., 2.])
    """

    form: ClassVar[str] = "columns"

    edges: Any
    tasks: Sequence[Hashable] | None = None
    error: float = spec.field(default=1e-10, at_least=0, below=1)

    def __post_init__(self) -> None:
        edges, tasks = normalized(self.edges, self.tasks)
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "tasks", tasks)
        if not self.known_tasks:
            raise ValueError("TaskGraph has no tasks: give edges, or tasks, or both")
        _ = self._ends  # refuse bad edges now, when the relation is made

    @classmethod
    def read(cls, path: str | Path, task_type: TaskType = None, **fields: Any) -> Self:
        """Read the edges, from a CSV file of ``task,task`` or ``task,task,weight``.

        Parameters
        ----------
        path : str or Path
            The file. A header with these names is skipped.
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
        return cls(read_edges(path, task_type), **fields)

    @cached_property
    def known_tasks(self) -> tuple[Hashable, ...]:
        """The labels of the rows, in order."""
        return nodes_of(self.edges) if self.tasks is None else tuple(self.tasks)

    def index(self, task: Hashable) -> int:
        """The row of a task; ValueError if the graph has no such node."""
        return row(self._rows, task, "node of TaskGraph")

    def adjacency(self) -> csr_array[Any]:
        """The weights of the edges, sparse, shape (K, K)."""
        return self._adjacency.copy()

    def laplacian(self) -> csr_array[Any]:
        """L = D - W with D the weighted degrees, sparse, shape (K, K)."""
        return laplacian_of(self._adjacency)

    def components(self) -> tuple[tuple[Hashable, ...], ...]:
        """The tasks of each connected component, in order of their first task."""
        members: dict[int, list[Any]] = {}
        for task, number in zip(self.known_tasks, component_of(self._adjacency).tolist(), strict=True):
            members.setdefault(number, []).append(task)
        return tuple(tuple(each) for each in members.values())

    def prior_rows(self, new: Sequence[Hashable], tasks: Sequence[Hashable]) -> NDArray[np.float64]:
        """A^-1 between tasks not learned from and those learned from, shape (len(new), len(tasks))."""
        return self.relation_matrix([*new, *tasks])[: len(new), len(new) :]

    def source(self) -> ColumnSource:
        """Gives the columns of A^-1, entries above ``error`` only; factored when the first is asked for."""
        return FactorColumns(interaction_of(self._adjacency), self.error)

    def relation_matrix(self, tasks: Sequence[Hashable] | None = None) -> NDArray[np.float64]:
        """A^-1, or its rows and columns for these tasks, shape (n, n); for looking at, never for learning.

        Raises
        ------
        ValueError
            For more than 10 000 tasks, or a task that is not in the graph.
        """
        rows = self._some_rows(tasks)
        source = self.source()
        M = np.empty((len(rows), len(rows)))
        for place, i in enumerate(rows):
            M[:, place] = _dense(source.column(i), source.n_tasks)[rows]
        return half_sum(M)

    def penalty(self, U: ArrayLike) -> float:
        """u'(A ⊗ I)u = Σ‖u_i‖² + Σ w_ij ‖u_i - u_j‖² for the task vectors in the rows of U, shape (K, d)."""
        V = task_vectors(U, len(self.known_tasks))
        return float(np.vdot(V, interaction_of(self._adjacency) @ V))

    def max_diagonal(self) -> float:
        """max_i (A^-1)_ii = c_G²: at most 1, and 1 iff a task is isolated; without weights at least 2 / (K + 1).

        As much work again as the factor.
        """
        return self.source().max_diagonal()

    def c_G(self) -> float:  # noqa: N802 - the paper's name
        """The constant of the bounds of CC12, max_i √((A^-1)_ii)."""
        return float(np.sqrt(self.max_diagonal()))

    def resistance_distances(self, task: Hashable = None, augmented: bool = False) -> NDArray[np.float64]:
        """Effective resistance between tasks when every edge is a resistor of conductance w_ij.

        Parameters
        ----------
        task : task label, optional
            From this task to all, shape (K,). Without: between all, shape (K, K).
        augmented : bool
            In the graph G' of proposition 3.1 of CC12, in which one more node, here the last, is joined to every task
            by an edge of weight 1; shapes (K + 1,) and (K + 1, K + 1). There R_ij = M_ii + M_jj - 2 M_ij, and M_ii to
            the additional node, with M = A^-1. Otherwise within the graph itself, infinite between components.

        Returns
        -------
        ndarray
            Resistances; a row costs about one sparse factor, all O(K³) at most.

        Raises
        ------
        ValueError
            For all of more than 10 000 tasks, or an unknown task.
        """
        if task is None:
            self._some_rows(None)
            return augmented_matrix(self.relation_matrix()) if augmented else within_matrix(self._adjacency)
        source = self.source()
        if augmented:
            return augmented_row(
                source.diagonal(), _dense(source.column(self.index(task)), source.n_tasks), self.index(task)
            )
        return within_row(self._adjacency, self.index(task))

    @cached_property
    def _rows(self) -> dict[Hashable, int]:
        return rows_of(self.known_tasks)

    @cached_property
    def _ends(self) -> Ends:
        return ends_of(self.edges, self.known_tasks)

    @cached_property
    def _adjacency(self) -> csr_array[Any]:
        return adjacency_of(self._ends, len(self.known_tasks))

    def _some_rows(self, tasks: Sequence[Hashable] | None) -> list[int]:
        chosen = self.known_tasks if tasks is None else tasks
        if len(chosen) > MATRIX_TASKS:
            raise ValueError(
                f"a matrix of {len(chosen)} tasks is too large to look at (at most {MATRIX_TASKS}): "
                "name some tasks, or take columns by source().column(row)"
            )
        return [self.index(task) for task in chosen]


def _dense(column: Column, n_tasks: int) -> NDArray[np.float64]:
    filled = np.zeros(n_tasks)
    filled[column[0]] = column[1]
    return filled
