"""Claims of a paper and the rules by which they hold: one for claims on means, one for those without exceptions.

A claim on means says that some number of a run, mostly the difference of two methods over the same shuffle, lies above
a limit. It holds where the mean over the runs is more than two standard errors above the limit, does not hold where it
is more than two below, and is a tie else. Below two runs there is no error, and with few records (``--quick``) nothing
that is worth one: it is not tested.

A bound, a formula or an identity holds where no case that was tried breaks it, and one that does refutes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
#: A mean differs from a limit if it is more than so many standard errors away.
ERRORS = 2.0
#: Numbers that differ by less are equal but for rounding.
ROUNDING = 1e-9


class ClaimVerdict(StrEnum):
    """The outcome of checking a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    TIE = "tie"
    UNTESTED = "not tested"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that can be checked, the numbers seen, and the verdict.

    Attributes
    ----------
    said, seen : str
        The sentence, and the numbers.
    verdict : ClaimVerdict
        The verdict by the rules of this module.
    parts : sequence of ClaimVerdict
        The verdicts on the cells or methods that the claim is about, if there are several.
    exact : bool
        True if the claim allows no exception, so that no standard error is needed.
    runs : int
        The number of runs that it is judged by; 0 until the item says it.
    """

    said: str
    seen: str
    verdict: ClaimVerdict
    parts: Sequence[ClaimVerdict] = ()
    exact: bool = False
    runs: int = 0

    @property
    def holds(self) -> bool:
        """True if the claim holds."""
        return self.verdict is ClaimVerdict.HOLDS

    @property
    def shown(self) -> str:
        """The verdict, with the number of parts for each if they differ.

        Examples
        --------
        >>> Claim("it is so", "", ClaimVerdict.TIE, [ClaimVerdict.HOLDS, ClaimVerdict.HOLDS, ClaimVerdict.TIE]).shown
        'tie (2 × holds, 1 × tie)'
        """
        found = Counter(self.parts)
        if self.verdict is ClaimVerdict.UNTESTED or len(found) < 2:
            return str(self.verdict)
        counted = ", ".join(f"{found[each]} × {each}" for each in ClaimVerdict if each in found)
        return f"{self.verdict} ({counted})"

    def quick(self) -> Claim:
        """Return the claim after a quick rerun: means of few records do not test it, an exception does."""
        return self if self.exact else replace(self, verdict=ClaimVerdict.UNTESTED)


def above(
    said: str, first: ArrayLike, second: ArrayLike, by: float = 0.0, unit: str = " points", digits: int = 1
) -> Claim:
    """Claim that the first is above the second, by more than `by`, in the mean over the same runs.

    Examples
    --------
    >>> above("IPL is better than STL", [75.0, 77.0, 76.0], [57.0, 58.0, 56.5]).verdict
    <ClaimVerdict.HOLDS: 'holds'>
    >>> above("IPL is better than itself", [75.0, 77.0], [75.0, 77.0]).shown
    'tie'
    """
    gaps = _gaps(first, second)
    return Claim(said, in_mean(gaps, unit, digits), judge(gaps, gaps.mean() - by), runs=gaps.size)


def at_most(
    said: str, first: ArrayLike, second: ArrayLike, most: float, unit: str = " points", digits: int = 2
) -> Claim:
    """Claim that the first is above the second by less than `most` in the mean, if at all.

    Examples
    --------
    >>> found = at_most("four views hardly help", [10.0, 11.0, 12.0], [9.9, 11.0, 11.9], 0.25)
    >>> found.seen, found.shown
    ('+0.07±0.05 points', 'holds')
    """
    gaps = _gaps(first, second)
    return Claim(said, in_mean(gaps, unit, digits), judge(gaps, most - gaps.mean()), runs=gaps.size)


def within(said: str, first: ArrayLike, second: ArrayLike, most: float, unit: str = " points") -> Claim:
    """Claim that two are alike: in the mean they differ by less than `most`, either way.

    Examples
    --------
    >>> within("p does not matter", [20.0, 21.0], [20.1, 20.8], 0.5).shown
    'holds'
    """
    gaps = _gaps(first, second)
    return Claim(said, in_mean(gaps, unit, 2), judge(gaps, most - abs(gaps.mean())), runs=gaps.size)


def together(said: str, claims: Sequence[Claim], names: Sequence[str]) -> Claim:
    """Join claims into one, which holds if all do and fails if one does.

    Examples
    --------
    >>> both = [above("", [1.0, 1.2], [0.0, 0.2]), above("", [0.0, 0.2], [1.0, 1.2])]
    >>> found = together("sharing helps", both, ["school", "text"])
    >>> found.seen, found.shown
    ('school: +1.0±0.0 points; text: -1.0±0.0 points', 'does not hold (1 × holds, 1 × does not hold)')
    """
    seen = "; ".join(f"{name}: {each.seen}" for name, each in zip(names, claims, strict=True))
    parts = [each.verdict for each in claims]
    return Claim(said, seen, overall(parts), parts, runs=min((each.runs for each in claims), default=0))


def exact(said: str, seen: str, holds: bool) -> Claim:
    """Claim that something is so in every case, and report whether an exception was found.

    Examples
    --------
    >>> exact("the bound is kept", "mistakes / bound at most 0.9 over 10 streams", True).quick().shown
    'holds'
    """
    return Claim(said, seen, ClaimVerdict.HOLDS if holds else ClaimVerdict.FAILS, exact=True)


def judge(runs: Floats, distance: float) -> ClaimVerdict:
    """Apply the rule: compare the mean's distance from the limit with two of its standard errors.

    Parameters
    ----------
    runs : ndarray
        A number for each run, as a paired difference.
    distance : float
        From the limit to their mean; negative on the wrong side.

    Examples
    --------
    >>> [judge(np.array([0.9, 1.1, 1.0]), 1.0 - limit).value for limit in (0.5, 1.0, 1.5)]
    ['holds', 'tie', 'does not hold']
    >>> judge(np.array([5.0]), 5.0).value
    'not tested'
    """
    if runs.size < 2:
        return ClaimVerdict.UNTESTED
    error = max(ERRORS * float(runs.std(ddof=1)) / sqrt(runs.size), ROUNDING)
    return ClaimVerdict.HOLDS if distance > error else ClaimVerdict.FAILS if distance < -error else ClaimVerdict.TIE


def overall(parts: Iterable[ClaimVerdict]) -> ClaimVerdict:
    """Return the worst of several verdicts: a failure before one not tested, and that before a tie.

    Examples
    --------
    >>> overall([ClaimVerdict.HOLDS, ClaimVerdict.TIE]).value
    'tie'
    """
    found, worst = set(parts), (ClaimVerdict.FAILS, ClaimVerdict.UNTESTED, ClaimVerdict.TIE)
    return next((each for each in worst if each in found), ClaimVerdict.HOLDS)


def in_mean(runs: Floats, unit: str = "", digits: int = 1) -> str:
    """Format the mean with its sign and, for several runs, their deviation.

    Examples
    --------
    >>> in_mean(np.array([1.0, 2.0]), " points"), in_mean(np.array([1.0]), " points")
    ('+1.5±0.5 points', '+1.0 points')
    """
    deviation = f"±{runs.std():.{digits}f}" if runs.size > 1 else ""
    return f"{runs.mean():+.{digits}f}{deviation}{unit}"


def at_others_best(errors: ArrayLike) -> Floats:
    """Give the error of each run at the candidate that is best in the mean of the other runs: none by hindsight.

    Parameters
    ----------
    errors : array, shape (runs, candidates)
        Of one run alone, its own best counts.

    Examples
    --------
    >>> at_others_best([[1.0, 2.0], [4.0, 2.0], [3.0, 2.5]])
    array([2. , 4. , 2.5])
    """
    held = np.asarray(errors, np.float64)
    others = held.sum(axis=0) - held if len(held) > 1 else held
    return np.take_along_axis(held, others.argmin(axis=1)[:, None], axis=1)[:, 0]


def _gaps(first: ArrayLike, second: ArrayLike) -> Floats:
    return np.asarray(first, np.float64) - np.asarray(second, np.float64)
