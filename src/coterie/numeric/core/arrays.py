"""Arrays that grow by moving seldom, arrays that begin where a line of cache does, and copies in compiled code.

Copies are loops: where numba assigns an array to a slice it also compiles, for the message that shapes differ, half of
what it has for strings, which takes as long as a learner.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .generic import no_refcount


def roomy(have: int, need: int) -> int:
    """The size to take for ``need`` places: half as many again as there are when they do not suffice."""
    return have if need <= have else max(need, have + have // 2)


def grown(array: NDArray[Any], need: int) -> NDArray[Any]:
    """The array, or a larger copy filled up with zeros, with at least ``need`` rows."""
    size = roomy(array.shape[0], need)
    if size == array.shape[0]:
        return array
    larger = np.zeros((size, *array.shape[1:]), array.dtype)
    larger[: array.shape[0]] = array
    return larger


def resized(array: NDArray[Any], shape: tuple[int, ...], fill: float = 0) -> NDArray[Any]:
    """The array, or a larger copy of this shape with ``fill`` in the new places."""
    if array.shape == shape:
        return array
    larger = np.full(shape, fill, array.dtype) if fill else np.zeros(shape, array.dtype)
    larger[tuple(map(slice, array.shape))] = array
    return larger


class Dropped(NamedTuple):
    """Rows that leave the first ``known`` rows of an array, whose places the last ones take, so that ``left`` remain.

    ``rows`` leave, row ``moved[k]`` becomes row ``places[k]``, and all others stay where they are. Rows that are
    ``named``, which always stand where they stand, are cleared and remain.

    Examples
    --------
    >>> dropped = Dropped.of([1, 4], 5)
    >>> dropped.order, dropped.renumbered(np.array([0, 1, 3, 4]))
    (array([0, 3, 2]), array([ 0, -1,  1, -1]))
    """

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    moved: NDArray[np.int64]
    left: int
    known: int

    @classmethod
    def of(cls, rows: Any, known: int, named: bool = False) -> Self:
        """Let these of so many rows leave; the first of ``places`` is taken by the first of those behind."""
        rows = np.asarray(rows, np.int64)
        if named:
            return cls(rows, rows[:0], rows[:0], known, known)
        left = known - len(rows)
        stays = np.ones(len(rows), bool)
        stays[rows[rows >= left] - left] = False
        return cls(rows, rows[rows < left], left + np.flatnonzero(stays), left, known)

    def move(self, array: NDArray[Any]) -> None:
        """Move the rows of an array, in place; the places that nobody takes are filled with zeros."""
        array[self.rows] = 0
        array[self.places] = array[self.moved]
        array[self.left : self.known] = 0

    def moved_copy(self, array: NDArray[Any]) -> NDArray[Any]:
        """The rows that remain of an array."""
        copy = array[: self.known].copy()
        self.move(copy)
        return copy[: self.left].copy()

    @property
    def order(self) -> NDArray[np.int64]:
        """The rows that remain, in the order in which they stand from now on."""
        order = np.arange(self.left)
        order[self.places] = self.moved
        return order

    def renumbered(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers that rows have from now on, -1 for those that leave and for -1."""
        new = np.arange(self.known + 1)
        new[self.moved] = self.places
        new[self.rows] = new[-1] = -1
        return np.asarray(new[numbers])


def aligned(places: int, dtype: Any, line: int) -> NDArray[Any]:
    """So many zeros, the first at an address that is a multiple of ``line`` bytes."""
    itemsize = np.dtype(dtype).itemsize
    zeros = np.zeros(places + line // itemsize, dtype)
    first = -zeros.ctypes.data % line // itemsize
    return zeros[first : first + places]


@no_refcount
def copy_vector(values: Any, out: Any) -> None:
    """``out[:] = values``."""
    for k in range(out.size):
        out[k] = values[k]


@no_refcount
def copy_matrix(values: Any, out: Any) -> None:
    """``out[:, :] = values``."""
    for j in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[j, k] = values[j, k]


@no_refcount
def symmetrise(A: Any, out: Any) -> None:
    """``out[:, :] = (A + A.T) / 2``."""
    for j in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[j, k] = 0.5 * (A[j, k] + A[k, j])
