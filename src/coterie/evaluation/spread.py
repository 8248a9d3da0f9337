"""How much features vary: what a weight moves is its size times this."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: So many records are looked at, about.
LOOKED = 10_000


class FeatureSpread:
    """The standard deviation of each feature over the first records of a stream, as they are learned.

    Examples
    --------
    >>> import numpy as np
    >>> spread = FeatureSpread()
    >>> spread.see(np.array([[1.0, 3.0], [1.0, 5.0]]))
    >>> spread.deviations.tolist()
    [0.0, 1.0]
    """

    def __init__(self) -> None:
        self._rows = 0
        self._sums = np.zeros((2, 0))

    def see(self, X: Any) -> None:
        """Note the records of a block, dense or sparse, if they are among the first; those of views are not."""
        if self._rows >= LOOKED or getattr(X, "ndim", 0) != 2 or not hasattr(X, "T"):
            return
        self._rows += X.shape[0]
        resized = np.zeros((2, max(X.shape[1], self._sums.shape[1])))
        resized[:, : self._sums.shape[1]] = self._sums
        for held, values in zip(resized, _powers(X), strict=True):
            held[: len(values)] += values
        self._sums = resized

    @property
    def deviations(self) -> NDArray[np.float64] | None:
        """The deviations by column; None where no record was noted."""
        if not self._rows:
            return None
        means, squares = self._sums / self._rows
        return np.asarray(np.sqrt(np.maximum(squares - means * means, 0.0)))


def _powers(X: Any) -> list[NDArray[np.float64]]:
    """The sum of the values in each column, and of their squares."""
    if hasattr(X, "indices"):
        data = np.asarray(X.data, np.float64)
        return [np.bincount(X.indices, held, X.shape[1]).astype(np.float64) for held in (data, data * data)]
    values = np.asarray(X, np.float64)
    return [values.sum(0), np.square(values).sum(0)]
