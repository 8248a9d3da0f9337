"""Laplacians and effective resistances of a weighted graph, edges being conductances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .sources import factored_diagonal, symmetric_factor

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Resistances = NDArray[np.float64]


def laplacian_of(W: csr_array[Any]) -> csr_array[Any]:
    """L = D - W, the rows of which sum to zero."""
    from scipy.sparse import csr_array, diags_array

    return csr_array(diags_array(W.sum(axis=1)) - W)


def interaction_of(W: csr_array[Any]) -> csr_array[Any]:
    """A = I + L."""
    from scipy.sparse import csr_array, diags_array

    return csr_array(diags_array(1.0 + W.sum(axis=1)) - W)


def component_of(W: csr_array[Any]) -> NDArray[np.int32]:
    """The number of each task's connected component, shape (K,), components numbered by their first task."""
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(W, directed=False)[1])


def within_row(W: csr_array[Any], i: int) -> Resistances:
    """Return the resistances from task i to all, infinite across components.

    They are the diagonal of the inverse of L without row and column i.
    """
    number = component_of(W)
    others = np.flatnonzero((number == number[i]) & (np.arange(len(number)) != i))
    resistance = np.full(len(number), np.inf)
    resistance[i] = 0.0
    if len(others):
        grounded = laplacian_of(W)[others][:, others].tocsc()
        resistance[others] = factored_diagonal(symmetric_factor(grounded))
    return resistance


def within_matrix(W: csr_array[Any]) -> Resistances:
    """Return the resistances between all tasks, dense: O(m³) for a component of m tasks."""
    number = component_of(W)
    resistance = np.full(W.shape, np.inf)
    for each in np.unique(number):
        members = np.flatnonzero(number == each)
        L = laplacian_of(W[members][:, members]).toarray()
        # L has the null space of constants, and adding to it along them changes no resistance.
        resistance[np.ix_(members, members)] = _from_inverse(np.linalg.inv(L + 1.0 / len(members)))
    return resistance


def augmented_matrix(M: NDArray[np.float64]) -> Resistances:
    """Return the resistances between all tasks and, last, the node joined to every one, from M = A^-1."""
    resistance = np.zeros((len(M) + 1, len(M) + 1))
    resistance[:-1, :-1] = _from_inverse(M)
    resistance[-1, :-1] = resistance[:-1, -1] = np.diag(M)
    return resistance


def augmented_row(diagonal: NDArray[np.float64], column: NDArray[np.float64], i: int) -> Resistances:
    """Return the resistances from task i to all and, last, the node joined to every one, from columns of A^-1."""
    resistance = np.append(np.maximum(diagonal + diagonal[i] - 2.0 * column, 0.0), diagonal[i])
    resistance[i] = 0.0
    return resistance


def _from_inverse(M: NDArray[Any]) -> Resistances:
    diagonal = np.diag(M)
    resistance: Resistances = np.maximum(diagonal[:, None] + diagonal - M - M.T, 0.0)
    np.fill_diagonal(resistance, 0.0)
    return resistance
