"""Arrays that grow by moving seldom, arrays that begin where a line of cache does, and copies in compiled code.

Copies are loops: where numba assigns an array to a slice it also compiles, for the message that shapes differ, half of
what it has for strings, which takes as long as a learner.
"""

from __future__ import annotations

from typing import Any

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
