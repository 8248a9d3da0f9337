"""Sums by group, and confidence intervals for means and for differences of two error rates.

Two learners' errors differ only on rounds on which exactly one of them was wrong. Of n rounds let b (``won``) be those
on which only the other was wrong, and c (``lost``) those on which only the learner was wrong. The difference of the two
error rates is (b - c) / n, positive if the learner was better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from coterie.types import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coterie.types import Floats, Ints


Arrays = TypeVar("Arrays", bound="tuple[NDArray[Any], ...]")

#: With fewer tasks the mean gain is that of the observed tasks, not of a population of tasks.
FEW = 10


class Tally(NamedTuple):
    """The number of values in each group, their sums and their sums of squares.

    Attributes
    ----------
    n : ndarray of int64, shape (K,)
    total, squares : ndarray, shape (K,)

    Examples
    --------
    >>> tally = Tally.from_values(np.array([1.0, 3.0, 2.0]), np.array([0, 0, 1]), 2)
    >>> add_groups(tally, tally, np.array([1, 2])).total
    array([4., 6., 2.])
    """

    n: Ints
    total: Floats
    squares: Floats

    @classmethod
    def from_values(cls, values: Floats, group: Ints | None = None, groups: int = 1) -> Tally:
        """Return the number, sum and sum of squares of ``values`` in each group, without nan."""
        group = np.zeros(len(values), np.int64) if group is None else group
        defined = ~np.isnan(values)
        values, group = values[defined], group[defined]
        with np.errstate(over="ignore"):  # squares are infinite then, and means are still to be had
            total, squares = (np.bincount(group, power, groups).astype(np.float64) for power in (values, values**2))
        return cls(np.bincount(group, minlength=groups), total, squares)

    @property
    def whole(self) -> tuple[int, float, float]:
        """Return the sums over all groups, as a tally with one group."""
        return int(self.n.sum()), float(self.total.sum()), float(self.squares.sum())

    @property
    def mean(self) -> float:
        """The mean of all values; nan if there are none."""
        n, total, _ = self.whole
        return total / n if n else float("nan")

    @property
    def means(self) -> Floats:
        """The mean of each group's values; nan for empty groups."""
        return np.where(self.n > 0, self.total / np.maximum(self.n, 1), np.nan)


def add_groups(one: Arrays, other: Arrays, places: Ints) -> Arrays:
    """Add two tallies; ``places`` maps the groups of the second to those of the first."""

    def add(mine: Array, its: Array) -> Array:
        total: Array = np.zeros(max(len(mine), int(places.max(initial=-1)) + 1), mine.dtype)
        total[: len(mine)] = mine
        total[places] += its
        return total

    return type(one)(*map(add, one, other))


def paired_interval(
    n: float | Array, total: float | Array, squares: float | Array, confidence: float = 0.95
) -> tuple[Floats, Floats]:
    """Return the adjusted Wald interval (Agresti and Min) for the difference of two error rates on the same rounds.

    Add 1/2 to each of the four cells (both wrong, b, c, both right): n' = n + 2, b' = b + 1/2, c' = c + 1/2. Then it is

        (b' - c') / n'  ±  z sqrt(b' + c' - (b' - c')**2 / n') / n'

    cut to [-1, 1]. It keeps its coverage at small n, where the plain Wald interval does not (A. Agresti and Y. Min,
    "Simple improved confidence intervals for comparing matched proportions", Statistics in Medicine 24, 2005, 729-740).

    Parameters
    ----------
    n : int or ndarray
        Rounds.
    total, squares : int or ndarray
        The sums of the differences and of their squares; a difference is 1 if the round was won, -1 if it was lost,
        else 0.
    confidence : float
        The level of the interval.

    Returns
    -------
    low, high : float or ndarray
        The ends, within [-1, 1]; exactly -1 and 1 if n = 0.

    Examples
    --------
    >>> low, high = paired_interval(100, 20 - 5, 20 + 5)
    >>> round(float(low), 3), round(float(high), 3)
    (0.053, 0.241)
    """
    from scipy.special import ndtri

    # half a round added to each of four cells: b' - c' is total, and b' + c' is squares + 1
    rounds = np.asarray(n) + 2.0
    variance = np.asarray(squares) + 1.0 - np.asarray(total) ** 2 / rounds
    centre, half = np.asarray(total) / rounds, ndtri((1 + confidence) / 2) * np.sqrt(variance) / rounds
    nothing = np.asarray(n) == 0
    low, high = np.where(nothing, -1.0, centre - half), np.where(nothing, 1.0, centre + half)
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def student_interval(n: int, total: float, squares: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return Student's t interval for a mean of n values, from their sum and sum of squares; nan for fewer than two.

    Parameters
    ----------
    n : int
        The number of independent values.
    total, squares : float
        Their sum, and that of their squares.
    confidence : float
        The level of the interval.

    Examples
    --------
    >>> low, high = student_interval(3, 6.0, 14.0)
    >>> round(low, 2), round(high, 2)
    (-0.48, 4.48)
    """
    from scipy.special import stdtrit

    if n < 2:
        return float("nan"), float("nan")
    mean = total / n
    # rounding can make the difference of sums of equal values negative
    deviation = (max(squares - n * mean**2, 0.0) / (n - 1)) ** 0.5
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * deviation / n**0.5
    return mean - half, mean + half


def normal_interval(n: int, total: float, squares: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return the normal interval for a mean of n values, from their sum and sum of squares; nan for none.

    The variance includes ten more values of their mean square, so that a few equal values do not appear certain.

    Parameters
    ----------
    n, total, squares, confidence
        See :func:`student_interval`.

    Examples
    --------
    >>> low, high = normal_interval(2, 2.0, 2.0)
    >>> round(low, 2), round(high, 2)
    (-0.32, 2.32)
    """
    from scipy.special import ndtri

    if not n:
        return float("nan"), float("nan")
    mean = total / n
    # about mean 0: ten pseudo-values of size root mean square, which vanish as n grows
    variance = (max(squares - total * mean, 0.0) + 10 * squares / n) / (n + 9)
    half = float(ndtri((1 + confidence) / 2)) * (variance / n) ** 0.5
    return mean - half, mean + half


def mean_of_tasks(gain: Floats, low: Floats, high: Floats, confidence: float = 0.95) -> tuple[float, float, float]:
    """Return the plain mean of the tasks' gains and its confidence interval, from the gains and their intervals.

    For ten tasks or more it is Student's t interval for the mean over such tasks, whatever their sizes and differences.
    For fewer, or if all gains are equal, it is the interval for the mean of these tasks, by the squares of the
    distances between their gains and the ends of their intervals (G. Y. Zou and A. Donner, "Construction of confidence
    limits about effect measures", Statistics in Medicine 27, 2008, 1693-1702). nan without any task.

    Examples
    --------
    >>> [round(each, 2) for each in mean_of_tasks(np.array([1.0, 2.0]), np.array([0.7, 1.6]), np.array([1.3, 2.4]))]
    [1.5, 1.25, 1.75]
    """
    if not len(gain):
        return (float("nan"),) * 3
    mean, tasks = float(gain.mean()), len(gain)
    # equal gains have no variance between tasks, and Student's interval would have length 0
    if tasks >= FEW and np.ptp(gain) > 0:
        return (mean, *student_interval(tasks, float(gain.sum()), float((gain**2).sum()), confidence))
    # the MOVER: distances to the ends of independent intervals add in squares, each side by itself
    below, above = (float(np.sqrt(((gain - end) ** 2).sum())) / tasks for end in (low, high))
    return mean, mean - below, mean + above
