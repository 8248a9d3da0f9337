"""The number of values of each group, their sum and that of their squares, which add up over the pieces of a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coterie.types import Floats, Ints


Arrays = TypeVar("Arrays", bound="tuple[NDArray[Any], ...]")


class Tally(NamedTuple):
    """The number of each group's values, their sum and that of their squares.

    Attributes
    ----------
    n : ndarray of int64, shape (K,)
    total, squares : ndarray, shape (K,)

    Examples
    --------
    >>> found = Tally.of(np.array([1.0, 3.0, 2.0]), np.array([0, 0, 1]), 2)
    >>> added(found, found, np.array([1, 2])).total
    array([4., 6., 2.])
    """

    n: Ints
    total: Floats
    squares: Floats

    @classmethod
    def of(cls, values: Floats, group: Ints | None = None, groups: int = 1) -> Tally:
        """The sums of some values, nan left out; without ``group`` all are one group; O(n + groups) time."""
        if group is None:
            group = np.zeros(len(values), np.int64)
        defined = ~np.isnan(values)
        values, group = values[defined], group[defined]
        with np.errstate(over="ignore"):  # squares are infinite then, and means are still to be had
            total, squares = (np.bincount(group, each, groups).astype(np.float64) for each in (values, values**2))
        return cls(np.bincount(group, minlength=groups), total, squares)

    @property
    def whole(self) -> tuple[int, float, float]:
        """The sums of all groups together, as one group."""
        return int(self.n.sum()), float(self.total.sum()), float(self.squares.sum())

    @property
    def mean(self) -> float:
        """The mean of all values; nan without any."""
        n, total, _ = self.whole
        return total / n if n else float("nan")

    @property
    def means(self) -> Floats:
        """The mean of each group's values; nan where it has none."""
        return np.where(self.n > 0, self.total / np.maximum(self.n, 1), np.nan)


def added(one: Arrays, other: Arrays, at: Ints) -> Arrays:
    """The sums over the rounds of both; ``at`` has the place among the first's groups of each of the other's."""

    def joined(mine: NDArray[Any], its: NDArray[Any]) -> NDArray[Any]:
        made: NDArray[Any] = np.zeros(max(len(mine), int(at.max(initial=-1)) + 1), mine.dtype)
        made[: len(mine)] = mine
        made[at] += its
        return made

    return type(one)(*map(joined, one, other))
