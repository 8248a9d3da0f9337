"""Arrays that grow by moving seldom, and arrays that begin where a line of cache does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


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


def aligned(places: int, dtype: Any, line: int) -> NDArray[Any]:
    """So many zeros, the first at an address that is a multiple of ``line`` bytes."""
    itemsize = np.dtype(dtype).itemsize
    zeros = np.zeros(places + line // itemsize, dtype)
    first = -zeros.ctypes.data % line // itemsize
    return zeros[first : first + places]
