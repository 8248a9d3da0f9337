"""Intervals for the difference of two learners over the same rounds.

Only rounds on which exactly one of the two was wrong tell them apart. Of n rounds let b (``won``) be those on which
only the other was wrong, and c (``lost``) those on which only the learner was. The difference of the two error rates is
(b - c) / n, positive where the learner was better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


def paired_interval(n: ArrayLike, won: ArrayLike, lost: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Agresti and Min's adjusted Wald interval for the difference of two matched proportions, (won - lost) / n.

    Add 1/2 to each of the four cells (both wrong, b, c, both right): n' = n + 2, b' = b + 1/2, c' = c + 1/2. Then it is

        (b' - c') / n'  ±  z sqrt(b' + c' - (b' - c')**2 / n') / n'

    cut to [-1, 1]. It keeps its coverage at small n, where the plain Wald interval does not (A. Agresti and Y. Min,
    "Simple improved confidence intervals for comparing matched proportions", Statistics in Medicine 24, 2005, 729-740).

    Parameters
    ----------
    n, won, lost : array_like
        Rounds, rounds won, rounds lost; of one shape, won + lost <= n.
    confidence : float
        The level of the interval.

    Returns
    -------
    low, high : ndarray
        Within [-1, 1]; exactly that where n = 0.

    Examples
    --------
    >>> low, high = paired_interval(100, 20, 5)
    >>> round(float(low), 3), round(float(high), 3)
    (0.053, 0.241)
    """
    from scipy.special import ndtri

    rounds = np.asarray(n) + 2.0
    apart = np.asarray(won) - np.asarray(lost)
    variance = np.asarray(won) + np.asarray(lost) + 1.0 - apart**2 / rounds
    centre, half = apart / rounds, ndtri((1 + confidence) / 2) * np.sqrt(variance) / rounds
    nothing = np.asarray(n) == 0
    low, high = np.where(nothing, -1.0, centre - half), np.where(nothing, 1.0, centre + half)
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def student_interval(values: Floats, confidence: float = 0.95) -> tuple[float, float]:
    """Student's interval for the mean of some values; nan of fewer than two.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Independent values.
    confidence : float
        The level of the interval.

    Examples
    --------
    >>> low, high = student_interval(np.array([1.0, 2.0, 3.0]))
    >>> round(low, 2), round(high, 2)
    (-0.48, 4.48)
    """
    from scipy.special import stdtrit

    n = len(values)
    if n < 2:
        return float("nan"), float("nan")
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * float(values.std(ddof=1)) / n**0.5
    return float(values.mean()) - half, float(values.mean()) + half
