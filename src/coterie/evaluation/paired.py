"""Statistics of two learners over the same rounds: intervals, tests, and tests of many tasks at once.

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


def mcnemar(won: ArrayLike, lost: ArrayLike) -> Floats:
    """p-value of the exact two-sided McNemar test, min(1, 2 P(binomial(won + lost, 1/2) <= min(won, lost))).

    With no difference, ``won`` is binomial(won + lost, 1/2) given won + lost.

    Parameters
    ----------
    won, lost : array_like
        Rounds on which only the other learner, and only this one, was wrong.

    Returns
    -------
    ndarray
        1 where no round differs.

    Examples
    --------
    >>> mcnemar([0, 6, 5], [0, 0, 5])
    array([1.     , 0.03125, 1.     ])
    """
    from scipy.special import bdtr

    fewer, differing = np.minimum(won, lost), np.asarray(won) + np.asarray(lost)
    p: Floats = np.minimum(1.0, 2.0 * bdtr(fewer.astype(np.float64), differing, 0.5))
    return p


def student(mean: Floats, deviation: Floats, n: NDArray[np.int64], confidence: float) -> tuple[Floats, Floats, Floats]:
    """Student's interval for a mean of n values, and the p-value of a mean of zero.

    Parameters
    ----------
    mean, deviation : ndarray
        The mean and its standard deviation.
    n : ndarray
        The number of values; below two the interval is nan and the p-value 1.
    confidence : float
        The level of the interval.

    Examples
    --------
    >>> low, high, p = student(np.array([1.0]), np.array([0.5]), np.array([30]), 0.95)
    >>> low.round(3), high.round(3), p.round(3)
    (array([-0.023]), array([2.023]), array([0.055]))
    """
    from scipy.special import stdtr, stdtrit

    freedom = np.maximum(n - 1, 1)
    half = stdtrit(freedom, (1 + confidence) / 2) * deviation
    t = np.divide(np.abs(mean), deviation, out=np.full(len(mean), np.inf), where=deviation > 0)
    p_value = np.where((n < 2) | (mean == 0), 1.0, 2.0 * stdtr(freedom, -t))
    return mean - half, mean + half, p_value


def benjamini_hochberg(p_value: ArrayLike) -> Floats:
    """Adjusted p-values q: rejecting where q <= alpha keeps the false discovery rate at alpha.

    q of the i-th smallest of m p-values is the least of p_(j) m / j over j >= i, at most 1 (Y. Benjamini and
    Y. Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc. B 57, 1995, 289-300).

    Parameters
    ----------
    p_value : array_like, shape (m,)
        p-values of independent or positively dependent tests.

    Returns
    -------
    ndarray, shape (m,)
        In O(m log m) time.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.5])
    array([0.04      , 0.05333333, 0.05333333, 0.5       ])
    """
    p = np.asarray(p_value, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.minimum(adjusted, 1.0)
