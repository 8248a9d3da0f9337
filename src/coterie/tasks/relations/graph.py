"""Tasks connected by a graph: the interaction matrix A = I + L, without its explicit inverse.

Updates are in ``_compiled/primal/spread.py``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from coterie import spec
from coterie.types import Ints, Matrix

from .files import ReadFromFile, read_edges
from .interaction import ColumnRelation, FactorColumns
from .matrices import SYMMETRY, check_label, label_of, labels_of, rows_of, shorten, task_vectors

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Two tasks, or two tasks and a weight.
Edge = tuple[Hashable, ...]

MATRIX_TASKS = 10_000

# Beyond it rounding in I + L moves A^-1 by more than 1e-10.
LARGEST_WEIGHT = 1e6

ADJACENCY = "edges as an adjacency matrix"


@spec.part
class TaskGraph(ReadFromFile, ColumnRelation):
    """Graph relation: tasks that share an edge have similar weights, A = I + L (CCG08 §3.3, CC12 §3).

    A is the K x K interaction matrix of the K tasks, L the Laplacian matrix of the graph, w_ij the weight of an edge,
    and u_i the vector of task i. An update of task i changes task j by (A^-1)_ji.

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
        All tasks in the order of their rows, including isolated ones. By default those of the edges, in order of first
        appearance.
    error : float, default=1e-10
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
    >>> round(star.c_G() ** 2, 3)
    0.625
    """

    kind: ClassVar[str] = "node"
    _read_fields = staticmethod(read_edges)

    edges: Any
    tasks: Sequence[Hashable] | None = None
    error: float = spec.field(default=1e-10, at_least=0, below=1)

    def __post_init__(self) -> None:
        tasks = None if self.tasks is None else labels_of(self.tasks)
        if _is_adjacency(self.edges):
            edges, tasks = _read_adjacency(self.edges, tasks)
        elif isinstance(self.edges, (str, dict)) or not isinstance(self.edges, Iterable):
            raise ValueError(f"edges must be pairs or triples of tasks or an adjacency matrix, got {self.edges!r}")
        else:
            edges = tuple(_normalize_edge(place, edge) for place, edge in enumerate(self.edges))
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "tasks", tasks)
        if not self.known_tasks:
            raise ValueError("TaskGraph has no tasks; pass edges, tasks or both")
        _ = self._adjacency  # refuse bad edges now, when the relation is made

    @cached_property
    def known_tasks(self) -> tuple[Hashable, ...]:
        """The tasks of the graph, in the order of the rows of A."""
        return tuple(dict.fromkeys(chain(*(edge[:2] for edge in self.edges))) if self.tasks is None else self.tasks)

    def adjacency(self) -> csr_array[np.float64]:
        """Return the weights W of the edges as a sparse symmetric matrix with one row per task, shape (K, K)."""
        return self._adjacency.copy()

    def laplacian(self) -> csr_array[np.float64]:
        """Return the Laplacian L = D - W of the edge weights W, sparse, shape (K, K).

        D has the row sums of W on its diagonal.
        """
        from scipy.sparse import csr_array, diags_array

        return csr_array(diags_array(self._adjacency.sum(axis=1)) - self._adjacency)

    def source(self) -> FactorColumns:
        """Return the columns of A^-1, computed on demand, without entries up to ``error``."""
        return FactorColumns(self._interaction(), self.error)

    def relation_matrix(self, tasks: Sequence[Hashable] | None = None) -> Matrix:
        """Return A^-1, or its submatrix for ``tasks``, shape (n, n); for inspection.

        Raises
        ------
        ValueError
            For more than 10 000 tasks, or a task that is not in the graph.
        """
        n_tasks = len(self.known_tasks if tasks is None else tasks)
        if n_tasks > MATRIX_TASKS:
            raise ValueError(
                f"a matrix of {n_tasks} tasks is too large (at most {MATRIX_TASKS}); "
                "pass some tasks, or use source().column(row)"
            )
        return super().relation_matrix(tasks)

    def penalty(self, U: ArrayLike, tasks: Sequence[Hashable] | None = None) -> float:
        """Return the penalty u'(A ⊗ I)u = Σ‖u_i‖² + Σ w_ij ‖u_i - u_j‖² of the task vectors.

        They are the rows of U, shape (K, d); w_ij are the weights of the edges.
        """
        if tasks is not None:
            return super().penalty(U, tasks)
        V = task_vectors(U, len(self.known_tasks))
        return float(np.vdot(V, np.asarray(self._interaction() @ V)))

    def c_G(self) -> float:  # noqa: N802 - the paper's name
        """The constant of the bounds of CC12, max_i √((A^-1)_ii)."""
        return float(np.sqrt(self.max_diagonal()))

    def _interaction(self) -> csr_array[np.float64]:
        """Return A = I + L."""
        from scipy.sparse import csr_array, diags_array

        # diagonally dominant with slack 1: positive definite for every graph, and its inverse is nonnegative
        return csr_array(diags_array(1.0 + self._adjacency.sum(axis=1)) - self._adjacency)

    @cached_property
    def _adjacency(self) -> csr_array[np.float64]:
        """Return the symmetric weight matrix in CSC form; raise ValueError for edges of unknown tasks."""
        from scipy.sparse import csr_array

        tasks = self.known_tasks
        rows = rows_of(tasks)
        try:
            ends = np.array([(rows[edge[0]], rows[edge[1]]) for edge in self.edges], dtype=np.int64).reshape(-1, 2)
        except KeyError as unknown:
            a, b = next(edge[:2] for edge in self.edges if unknown.args[0] in edge[:2])
            raise ValueError(
                f"edge ({a!r}, {b!r}) names {unknown.args[0]!r}, which is not among tasks: {shorten(tasks)}"
            ) from None
        _check_simple(ends, tasks)
        weight = np.array([edge[2] if len(edge) == 3 else 1.0 for edge in self.edges], dtype=np.float64)
        # each edge once in either direction; the sum with its transpose makes it undirected
        half = csr_array((weight, (ends[:, 0], ends[:, 1])), shape=(len(tasks), len(tasks)))
        whole = csr_array(half + half.T)
        whole.sort_indices()
        return whole


def _normalize_edge(place: int, edge: Any) -> Edge:
    """Convert the edge at position ``place`` to a pair of tasks, or to a triple with its weight if that is not 1."""
    if isinstance(edge, str) or not hasattr(edge, "__len__") or len(edge) not in (2, 3):
        raise ValueError(f"edges[{place}] must be (task, task) or (task, task, weight), got {edge!r}")
    a, b, weight = map(label_of, (*edge, 1.0)[:3])
    check_label(a)
    check_label(b)
    if not isinstance(weight, (int, float)) or not 0 < weight <= LARGEST_WEIGHT:
        raise ValueError(
            f"edge ({a!r}, {b!r}) has weight {weight!r}: expected a number above 0, up to {LARGEST_WEIGHT:g}"
        )
    return (a, b) if weight == 1.0 else (a, b, float(weight))


def _check_simple(ends: Ints, tasks: tuple[Hashable, ...]) -> None:
    """Raise ValueError for an edge from a task to itself, and for an edge given twice.

    ``ends`` are the rows of its two tasks.
    """
    loops = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if len(loops):
        raise ValueError(f"edges[{loops[0]}] joins {tasks[ends[loops[0], 0]]!r} to itself")
    low, high = np.sort(ends, axis=1).T
    # one number for an undirected pair, whichever end is named first
    _, first = np.unique(low * len(tasks) + high, return_index=True)
    if len(first) < len(ends):
        again = np.setdiff1d(np.arange(len(ends)), first)[0]
        a, b = (tasks[row] for row in ends[again])
        raise ValueError(f"edges[{again}] repeats ({a!r}, {b!r}); both directions are one edge")


def _is_adjacency(edges: object) -> bool:
    """Return True if ``edges`` is a matrix (sparse, or a square array of numbers) rather than a list of edges."""
    from scipy.sparse import issparse

    if not isinstance(edges, np.ndarray):
        return bool(issparse(edges))
    return edges.ndim == 2 and edges.shape[0] == edges.shape[1] and edges.dtype.kind in "biufc"


def _read_adjacency(W: Any, tasks: tuple[Hashable, ...] | None) -> tuple[tuple[Edge, ...], tuple[Hashable, ...]]:
    """Convert a symmetric matrix W of edge weights to a list of edges and the names of its rows."""
    from scipy.sparse import csr_array, triu

    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(f"{ADJACENCY} must be square, got shape {W.shape}")
    A = csr_array(W)
    if A.dtype.kind not in "biuf":
        raise ValueError(f"{ADJACENCY} must have real numbers, got dtype {A.dtype}")
    A = A.astype(np.float64)
    if not np.isfinite(A.data).all():
        raise ValueError(f"{ADJACENCY} must be finite, got {A.data[~np.isfinite(A.data)][0]}")
    gap = abs(A - A.T).tocoo()
    # symmetric up to rounding of computed weights; the upper half is what is read
    if gap.nnz and gap.data.max() > SYMMETRY * abs(A).max():
        i, j = (int(axis[np.argmax(gap.data)]) for axis in gap.coords)
        raise ValueError(f"{ADJACENCY} must be symmetric, but ({i}, {j}) is {A[i, j]:g} and ({j}, {i}) is {A[j, i]:g}")
    if A.diagonal().any():
        i = int(np.flatnonzero(A.diagonal())[0])
        raise ValueError(f"{ADJACENCY} must be zero on the diagonal, but ({i}, {i}) is {A[i, i]:g}")
    labels = tuple(range(W.shape[0])) if tasks is None else tasks
    if len(labels) != W.shape[0]:
        raise ValueError(
            f"tasks must have one task per row: got {len(labels)} tasks for {W.shape[0]} rows of {ADJACENCY}"
        )
    upper = triu(A, k=1, format="coo")
    upper.eliminate_zeros()
    entries = zip(*(values.tolist() for values in (*upper.coords, upper.data)), strict=True)
    edges = ((labels[i], labels[j], weight) for i, j, weight in entries)
    return tuple(_normalize_edge(place, edge) for place, edge in enumerate(edges)), labels
