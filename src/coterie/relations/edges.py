"""Edges between tasks as people give them, brought to one form."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .matrices import SYMMETRY, check_label, label_of, labels_of, rows_of, some

if TYPE_CHECKING:
    from scipy.sparse import coo_array, csr_array

Edge = tuple[Hashable, Hashable] | tuple[Hashable, Hashable, float]
Ends = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]

# Beyond it rounding in I + L moves A^-1 by more than 1e-10.
LARGEST_WEIGHT = 1e6

ADJACENCY = "edges as an adjacency matrix"


def normalized(edges: object, tasks: Iterable[Hashable] | None) -> tuple[tuple[Edge, ...], tuple[Hashable, ...] | None]:
    """Edges as pairs (weight 1) and triples of labels, and the tasks where they are named or an adjacency numbers them.

    Raises
    ------
    ValueError
        For an edge that is neither pair nor triple or has no positive weight; for an adjacency that is not square,
        symmetric, nonnegative and zero on the diagonal, or does not match ``tasks``.
    """
    if _is_adjacency(edges):
        return _from_adjacency(edges, tasks)
    if isinstance(edges, (str, dict)) or not isinstance(edges, Iterable):
        raise ValueError(f"edges must be pairs or triples of tasks or an adjacency matrix, got {edges!r}")
    pairs = tuple(edge_of(place, edge) for place, edge in enumerate(edges))
    return pairs, None if tasks is None else labels_of(tasks)


def edge_of(place: int, edge: Any) -> Edge:
    """A pair of labels, or a triple where the weight is not 1."""
    if isinstance(edge, str) or not hasattr(edge, "__len__") or len(edge) not in (2, 3):
        raise ValueError(f"edges[{place}] must be (task, task) or (task, task, weight), got {edge!r}")
    a, b = label_of(edge[0]), label_of(edge[1])
    check_label(a)
    check_label(b)
    weight = 1.0 if len(edge) == 2 else weight_of(a, b, edge[2])
    return (a, b) if weight == 1.0 else (a, b, weight)


def weight_of(a: Hashable, b: Hashable, weight: object) -> float:
    """The weight of an edge; ValueError unless it is a positive number that float64 can add to 1."""
    number = label_of(weight)
    if not isinstance(number, (int, float)) or not 0 < number <= LARGEST_WEIGHT:
        raise ValueError(
            f"edge ({a!r}, {b!r}) has weight {weight!r}: expected a number above 0, up to {LARGEST_WEIGHT:g}"
        )
    return float(number)


def nodes_of(edges: Iterable[Edge]) -> tuple[Hashable, ...]:
    """The tasks that edges name, in order of first appearance."""
    return tuple(dict.fromkeys(chain.from_iterable(edge[:2] for edge in edges)))


def ends_of(edges: tuple[Edge, ...], tasks: tuple[Hashable, ...]) -> Ends:
    """The edges as rows and weights.

    Raises
    ------
    ValueError
        For an edge whose ends are no tasks or the same one, or that was given before in either direction.
    """
    rows = rows_of(tasks)
    try:
        ends = np.array([(rows[edge[0]], rows[edge[1]]) for edge in edges], dtype=np.int64).reshape(-1, 2)
    except KeyError as unknown:
        a, b = next(edge[:2] for edge in edges if unknown.args[0] in edge[:2])
        raise ValueError(
            f"edge ({a!r}, {b!r}) names {unknown.args[0]!r}, which is not among tasks: {some(tasks)}"
        ) from None
    _check_simple(ends, tasks)
    weight = np.array([edge[2] if len(edge) == 3 else 1.0 for edge in edges], dtype=np.float64)
    return ends[:, 0], ends[:, 1], weight


def adjacency_of(ends: Ends, n_tasks: int) -> csr_array[Any]:
    """The symmetric weighted adjacency matrix, shape (K, K), indices ascending."""
    from scipy.sparse import csr_array

    a, b, weight = ends
    half = csr_array((weight, (a, b)), shape=(n_tasks, n_tasks))
    whole = csr_array(half + half.T)
    whole.sort_indices()
    return whole


def _check_simple(ends: NDArray[np.int64], tasks: tuple[Hashable, ...]) -> None:
    loops = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if len(loops):
        raise ValueError(f"edges[{loops[0]}] joins {tasks[ends[loops[0], 0]]!r} to itself")
    low, high = np.sort(ends, axis=1).T
    _, first = np.unique(low * len(tasks) + high, return_index=True)
    if len(first) < len(ends):
        again = np.setdiff1d(np.arange(len(ends)), first)[0]
        a, b = (tasks[row] for row in ends[again])
        raise ValueError(f"edges[{again}] gives ({a!r}, {b!r}) a second time; both directions are one edge")


def _is_adjacency(edges: Any) -> bool:
    """Sparse, or a square array of numbers: as edges, such an array that passes as an adjacency would hold loops."""
    from scipy.sparse import issparse

    if not isinstance(edges, np.ndarray):
        return bool(issparse(edges))
    return edges.ndim == 2 and edges.shape[0] == edges.shape[1] and edges.dtype.kind in "biufc"


def _from_adjacency(W: Any, tasks: Iterable[Hashable] | None) -> tuple[tuple[Edge, ...], tuple[Hashable, ...]]:
    upper = _upper(_checked(W))
    labels = tuple(range(W.shape[0])) if tasks is None else labels_of(tasks)
    if len(labels) != W.shape[0]:
        raise ValueError(f"tasks names {len(labels)} tasks, and {ADJACENCY} has {W.shape[0]} rows")
    entries = zip(*(each.tolist() for each in (*upper.coords, upper.data)), strict=True)
    return tuple(edge_of(place, (labels[i], labels[j], weight)) for place, (i, j, weight) in enumerate(entries)), labels


def _checked(W: Any) -> csr_array[Any]:
    from scipy.sparse import csr_array

    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(f"{ADJACENCY} must be square, got shape {W.shape}")
    A = csr_array(W)
    if A.dtype.kind not in "biuf":
        raise ValueError(f"{ADJACENCY} must hold real numbers, got dtype {A.dtype}")
    if not np.isfinite(A.data).all():
        raise ValueError(f"{ADJACENCY} must be finite, got {A.data[~np.isfinite(A.data)][0]}")
    return A.astype(np.float64)


def _upper(A: csr_array[Any]) -> coo_array[Any]:
    """The entries above the diagonal of a matrix that is symmetric and zero on it."""
    from scipy.sparse import triu

    gap = abs(A - A.T).tocoo()
    if gap.nnz and gap.data.max() > SYMMETRY * abs(A).max():
        i, j = (int(each[np.argmax(gap.data)]) for each in gap.coords)
        raise ValueError(f"{ADJACENCY} must be symmetric, and ({i}, {j}) is {A[i, j]:g} but ({j}, {i}) is {A[j, i]:g}")
    if A.diagonal().any():
        i = int(np.flatnonzero(A.diagonal())[0])
        raise ValueError(f"{ADJACENCY} must be zero on the diagonal, and ({i}, {i}) is {A[i, i]:g}")
    upper: coo_array[Any] = triu(A, k=1, format="coo")
    upper.eliminate_zeros()
    return upper
