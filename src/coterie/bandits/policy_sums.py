"""Sums over a log from which confidence intervals of policy values and gains are computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from coterie.types import Floats, Ints

#: With fewer expected rows with large weights, or fewer rewards other than 0, unbounded rewards have no interval.
LEAST_ROWS, LEAST_REWARDS = 5.0, 3.0
#: Larger numbers are refused because the sums contain their third powers.
_LARGEST = 1e90


class Interval(NamedTuple):
    """A confidence interval, and the reason if it is unknown or may be too narrow."""

    low: float
    high: float
    warning: str = ""


class PolicyMoments(NamedTuple):
    """The mean of n numbers, and the sums of their squared and cubed deviations from it."""

    n: int
    mean: float
    second: float = 0.0
    third: float = 0.0

    @classmethod
    def from_numbers(cls, numbers: Floats) -> Self:
        """Compute the moments of numbers; the deviations of equal numbers are exactly 0."""
        if np.all(numbers == numbers[0]):
            return cls(len(numbers), float(numbers[0]))
        mean = float(numbers.mean())
        deviations = numbers - mean
        return cls(len(numbers), mean, float((deviations**2).sum()), float((deviations**3).sum()))

    @property
    def variance(self) -> float:
        """The sample variance, with n - 1 degrees of freedom."""
        return self.second / (self.n - 1)


class PolicySums:
    """Sums over the rows of a log, from which the interval of a policy's value (DR*), or gain, is computed.

    The symbols are those of :mod:`coterie.bandits.off_policy`: w = d(a)/μ(a) for the chosen action a, with d = π, or π
    - π' for a gain; e = r - q(a); H = d²/μ for each action. For a gain all sums but φ and Σ d q have |w| and |d| in
    place of w and d.

    Parameters
    ----------
    reward, shown, mu, pi, q
        See :func:`coterie.bandits.off_policy.policy_value`.
    against : ndarray, shape (n, K), optional
        The probabilities π' of the other policy of a gain.
    offset : ndarray, shape (n,), optional
        Added to φ, with expectation 0.

    Raises
    ------
    ValueError
        If numbers are too large for sums of their powers.
    """

    def __init__(
        self,
        reward: Floats,
        shown: Ints,
        mu: Floats,
        pi: Floats,
        q: Floats,
        against: Floats | None = None,
        offset: Floats | float = 0.0,
    ) -> None:
        rows, self.gain = np.arange(len(reward)), against is not None
        d = pi if against is None else pi - against
        ratio = np.divide(d, mu, out=np.zeros_like(d), where=mu > 0)
        w, e, direct = ratio[rows, shown], reward - q[rows, shown], (d * q).sum(axis=1) + offset
        parts = np.column_stack([ratio, e, w * e, direct])
        if not (abs(parts) < _LARGEST).all():
            t = int(np.argmin((abs(parts) < _LARGEST).all(axis=1)))
            raise ValueError(f"a reward of {reward[t]:g}, predicted as {q[t, shown[t]]:g}, is too large to be summed")
        phi = direct + w * e
        self.phi, self.direct, self.reward = map(PolicyMoments.from_numbers, (phi, direct, reward))
        self.lowest, self.highest = float(phi.min()), float(phi.max())
        self.zero_one = bool(((reward == 0.0) | (reward == 1.0)).all())
        if self.gain:
            d, ratio, w = abs(d), abs(ratio), abs(w)
        we, w_nonzero, square = w * e, w * (reward != 0.0), e * e
        h = d * ratio
        hq, hratio = h * q, h * ratio
        self.w = float(w.sum())
        self.w_nonzero, self.w2_nonzero = float(w_nonzero.sum()), float(w_nonzero @ w_nonzero)
        # estimate v by two means of e²: over rows, and weighted by w, which stresses the actions of the policy
        self.e2, self.we, self.we2 = float(square.sum()), float(we.sum()), float(we @ e)
        self.we3 = float((abs(we) if self.gain else we) @ square)
        # for a gain with abs(d), unlike the direct part of φ above
        self.mass, self.dq = float(d.sum()), float(np.vdot(d, q))
        self.h, self.hq, self.hq2 = float(h.sum()), float(hq.sum()), float(np.vdot(hq, q))
        self.h3, self.h4 = float(hratio.sum()), float(np.vdot(hratio, ratio))

    @property
    def expected_rows(self) -> float:
        """The expected number of rows with large weights, n h² / h₄.

        See :mod:`coterie.bandits.off_policy` for the symbols.
        """
        return self.h**2 / self.h4 if self.h4 > 0.0 else math.inf

    def interval(self, level: float, reward_range: Sequence[float] | None = None) -> Interval:
        """Return the confidence interval of the policy's value; ``reward_range`` are known limits of rewards."""
        from scipy.special import ndtri, stdtrit

        n, same = self.phi.n, self.reward.second == 0.0
        if n < 2:
            return Interval(-math.inf, math.inf)
        known_binary = self.zero_one and reward_range is not None and tuple(reward_range) == (0, 1)
        # rewards that are all 0, or all 1, do not inform a difference of two policies, or a range other than [0, 1]
        binary = known_binary or (self.zero_one and not (same and (self.gain or reward_range is not None)))
        nonzero = self.w_nonzero**2 / self.w2_nonzero if self.w2_nonzero > 0.0 else 0.0
        # the expected number, not the observed one: a log that happens to lack large weights seems to have low variance
        few = self.expected_rows < LEAST_ROWS or (nonzero < LEAST_REWARDS and reward_range is None)
        if few and not binary and reward_range is None and self.mass > 0.0:
            shown = "show the difference of the two policies" if self.gain else "show what this policy would bring"
            return Interval(-math.inf, math.inf, f"is unknown: too few rows {shown}")
        # v is estimated from the few rows with large weights; rewards of 0 and 1 need no estimate of v
        degrees = n - 1.0 if binary else min(self.expected_rows + 1.0, n - 1.0)
        student, normal = float(stdtrit(degrees, (1.0 + level) / 2.0)), float(ndtri((1.0 + level) / 2.0))
        least, most = (0.0, 1.0) if binary else reward_range or (-math.inf, math.inf)
        residual = max(self.e2 / n, self.we2 / self.w if self.w > 0.0 else 0.0)
        variance = residual * self.h / n + self.direct.variance
        ends: tuple[float, ...] = ()
        # Wilson's interval inverts the test with the variance under V, so it has length even if all residuals are 0
        if self.mass > 0.0 and (binary or ((few or same) and reward_range is not None)):
            # n - 1 degrees here: this variance follows from V, not from the few rows with large weights
            far = float(stdtrit(n - 1.0, (1.0 + level) / 2.0))
            ends, largest = self._score_interval(far, least, most)
            # the sign of a gain is unknown under the null: the worst variance over the interval of abs(d)
            variance = max(variance, largest if self.gain else 0.0)
        low, high = self._skewed_interval(variance, student, normal)
        if ends and not self.gain:
            low, high = min(low, ends[0]), max(high, ends[1])
        if self.gain:
            least, most = least - most, most - least
        elif binary and same and not known_binary:  # these may be amounts, so other rewards are possible
            least, most = -math.inf, math.inf
        warning = "may be too narrow: all rewards were the same" if same and reward_range is None else ""
        return Interval(min(max(low, least), most), max(min(high, most), least), warning)

    def _score_interval(self, far: float, least: float, most: float) -> tuple[tuple[float, float], float]:
        """Return the ends of Wilson's score interval for weighted rewards, and the largest variance between them.

        Rewards are between ``least`` and ``most``; ``far`` is the quantile.

        Every reward is at one of the two ends of its range. The ends solve
        (V - value)² n = far² (a + b V + s²(Σ d q)). Suppose that the policy d has the value V, and that the model q of
        the rewards is wrong by the same amount (V - Σ d q) / Σ d for all actions. A reward of 0 or 1 with the mean p
        has E e² = p (1 - 2 q) + q², so that E[w² e²] = a + b V. This needs no observed residual. For a gain, d is
        replaced by |d|.
        """
        n, scale = self.phi.n, most - least
        mass, h = self.mass / n, self.h / n
        direct, spread = (self.dq / n - least * mass) / scale, self.direct.variance / scale**2
        value = direct + self.we / n / scale
        hq, hq2 = (
            (self.hq / n - least * h) / scale,
            (self.hq2 - 2.0 * least * self.hq + least**2 * self.h) / n / scale**2,
        )
        # with q(a) + c for all a in place of the unknown rates, c = (V - Σ d q) / Σ d
        b = (h - 2.0 * hq) / mass
        a = hq - hq2 - direct * b
        k = far * far / n
        centre, product = value + k * b / 2.0, value**2 - k * (a + spread)
        root = math.sqrt(max(centre**2 - product, 0.0))
        ends = centre - root, centre + root
        # linear in V, so the largest lies at an end; such rewards cannot have a value outside [0, Σ d]
        largest = max(a + b * min(max(end, 0.0), mass) + spread for end in ends)
        return (least + scale * ends[0], least + scale * ends[1]), largest * scale**2

    def _skewed_interval(self, variance: float, student: float, normal: float) -> tuple[float, float]:
        """Return the confidence interval of a skewed mean, by Hall's expansion.

        ``student`` and ``normal`` are the quantiles.
        """
        n, value = self.phi.n, self.phi.mean
        variance = max(self.phi.variance, variance)
        if variance == 0.0:
            return value, value
        # E[w³ e³] as mean(h₃) times the w-weighted mean of e³: exact if e does not depend on w
        third = self.we3 / self.w * self.h3 / n if self.w > 0.0 else 0.0
        cubed = math.sqrt(n) * variance**1.5
        ends = []
        for side, end in ((-1.0, self.lowest), (1.0, self.highest)):
            # one more row as far as the farthest: the tail beyond a sample of n holds about 1/n of the mass
            farthest = max(side * (end - value), 0.0)
            seen = (side * self.phi.third / n + farthest**3 / n) / cubed
            # only positive skewness on its side moves an end outwards; the short tail is never used to shrink one
            skewness = max(seen, min((1.0 if self.gain else side) * third / cubed, 1.0), 0.0)
            error = math.sqrt((variance + farthest**2 / n) / n)
            # Hall's first-order term: the quantile of a skewed Student statistic less the normal one
            skewed = skewness * (2.0 * normal * normal + 1.0) / 6.0 * math.sqrt(variance / n)
            ends.append(value + side * (student * error + skewed))
        return ends[0], ends[1]
