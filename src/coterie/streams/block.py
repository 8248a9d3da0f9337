"""A run of consecutive records, the unit in which streams are read and learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Block:
    """Consecutive records of one stream, in their order.

    Attributes
    ----------
    X : ndarray or csr_array, shape (n, d)
        The features, one record a row.
    y : ndarray, shape (n,), or None
        The labels as they were read; None where the source has none.
    task : ndarray, shape (n,), or None
        The task of each record as it was read; None means that all belong to one task.
    place : ndarray of int64, shape (n,)
        Where each record stood: its 1-based line (text formats) or row (Parquet, Arrow).
    """

    X: NDArray[np.float64] | csr_array
    y: NDArray[Any] | None
    task: NDArray[Any] | None
    place: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.place)
