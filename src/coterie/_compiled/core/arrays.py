"""Arrays that grow with few copies, cache-aligned arrays, and copies of arrays in compiled code.

Copies are loops, because numba compiles slice assignment together with much string code for its error message, which
takes as long as compiling a learner.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .generic import no_refcount


def roomy(have: int, need: int) -> int:
    """Return the capacity for an array of ``need`` entries: ``have`` if that is enough, else 1.5 times it or more."""
    return have if need <= have else max(need, have + have // 2)


def enlarged(array: NDArray[Any], need: int) -> NDArray[Any]:
    """Return the array, or a larger copy padded with zeros, with at least ``need`` rows."""
    size = roomy(array.shape[0], need)
    if size == array.shape[0]:
        return array
    larger = np.zeros((size, *array.shape[1:]), array.dtype)
    larger[: array.shape[0]] = array
    return larger


def resized(array: NDArray[Any], shape: tuple[int, ...], fill: float = 0) -> NDArray[Any]:
    """Return the array, or a larger copy of this shape padded with ``fill``."""
    if array.shape == shape:
        return array
    larger = np.full(shape, fill, array.dtype) if fill else np.zeros(shape, array.dtype)
    larger[tuple(map(slice, array.shape))] = array
    return larger


class Dropped(NamedTuple):
    """A plan to remove rows of an array: the last rows take the numbers of removed rows, and ``left`` rows remain.

    ``rows`` are removed, row ``moved[k]`` becomes row ``places[k]``, and all others keep their numbers. ``named`` rows
    are cleared instead of removed.

    Examples
    --------
    >>> dropped = Dropped.plan([1, 4], 5)
    >>> dropped.order, dropped.renumbered(np.array([0, 1, 3, 4]))
    (array([0, 3, 2]), array([ 0, -1,  1, -1]))
    """

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    moved: NDArray[np.int64]
    left: int
    known: int

    @classmethod
    def plan(cls, rows: Any, known: int, named: bool = False) -> Self:
        """Plan the removal of ``rows`` out of ``known`` rows; ``named`` rows are only set to zero."""
        rows = np.asarray(rows, np.int64)
        if named:
            return cls(rows, rows[:0], rows[:0], known, known)
        left = known - len(rows)
        stays = np.ones(len(rows), bool)
        stays[rows[rows >= left] - left] = False
        return cls(rows, rows[rows < left], left + np.flatnonzero(stays), left, known)

    def move(self, array: NDArray[Any]) -> None:
        """Remove the planned rows from an array in place; the freed rows at its end are set to zero."""
        array[self.rows] = 0
        array[self.places] = array[self.moved]
        array[self.left : self.known] = 0

    def moved_copy(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of the remaining rows of an array, in their new order."""
        copy = array[: self.known].copy()
        self.move(copy)
        return copy[: self.left].copy()

    @property
    def order(self) -> NDArray[np.int64]:
        """Return the old indices of the remaining rows, in their new order."""
        order = np.arange(self.left)
        order[self.places] = self.moved
        return order

    def renumbered(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Replace old row numbers by new ones; removed rows get -1."""
        new = np.arange(self.known + 1)
        new[self.moved] = self.places
        new[self.rows] = new[-1] = -1
        return np.asarray(new[numbers])


def aligned(places: int, line: int) -> NDArray[np.float64]:
    """Return an array of ``places`` zeros that starts at a multiple of ``line`` bytes in memory."""
    zeros = np.zeros(places + line // 8)
    first = -zeros.ctypes.data % line // 8
    return zeros[first : first + places]


@no_refcount
def copy_vector(values, out):
    """Copy a vector: ``out[:] = values``."""
    for k in range(out.size):
        out[k] = values[k]


@no_refcount
def copy_matrix(values, out):
    """Copy a matrix: ``out[:, :] = values``."""
    for j in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[j, k] = values[j, k]


@no_refcount
def symmetrise(A, out):
    """Symmetrise a matrix: ``out[:, :] = (A + A.T) / 2``."""
    for j in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[j, k] = 0.5 * (A[j, k] + A[k, j])
