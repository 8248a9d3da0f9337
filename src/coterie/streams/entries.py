"""Features that have been hashed, as readers of all formats give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Entries(NamedTuple):
    """Hashed features of some rows: ``counts[i]`` entries for row i, one row after the other."""

    counts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
