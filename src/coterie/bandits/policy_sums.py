"""Running sums over a log of choices that give the DR* value of a policy, with its interval, without the rows."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from coterie.types import Floats, Ints, Label

if TYPE_CHECKING:
    pass


#: With fewer expected rows with large weights, or fewer rewards other than 0, unbounded rewards have no interval.
LEAST_ROWS, LEAST_REWARDS = 5.0, 3.0
#: Larger numbers are refused because the sums contain their third powers.
_LARGEST = 1e90
#: Tasks whose extremes are kept at each end.
_EXTREME_TASKS = 16


class Interval(NamedTuple):
    """An interval, and the reason if it is unknown or may be too narrow."""

    low: float
    high: float
    warning: str = ""


class PolicyMoments(msgspec.Struct):
    """The number, the mean, and the sums of squared and cubed deviations from the mean, updated in batches."""

    n: int = 0
    mean: float = 0.0
    second: float = 0.0
    third: float = 0.0

    def add(self, numbers: Floats) -> None:
        """Add a batch of numbers, by Pébay's formulas for the union of two samples."""
        count, mean, second, third = len(numbers), float(numbers[0]), 0.0, 0.0
        if count > 1 and not np.all(numbers == mean):  # equal numbers keep a second moment of exactly 0
            mean = float(numbers.mean())
            second, third = float(((numbers - mean) ** 2).sum()), float(((numbers - mean) ** 3).sum())
        before, total, shift = self.n, self.n + count, mean - self.mean
        self.third += third + 3.0 * shift * (before * second - count * self.second) / total
        self.third += shift**3 * before * count * (before - count) / total**2
        # Chan's update; the third moment above needs this one from before the batch
        self.second += second + shift**2 * before * count / total
        self.mean = self.mean + shift * count / total if before else mean
        self.n = total

    @property
    def variance(self) -> float:
        """The sample variance, with n - 1."""
        return self.second / (self.n - 1)


class Extremes(msgspec.Struct):
    """The smallest and the largest number over all tasks, except those of forgotten tasks.

    The extreme numbers of the 16 most extreme tasks are stored at both ends, as ``[task, number]``.
    """

    lowest: list[list[Label]] = msgspec.field(default_factory=list)
    highest: list[list[Label]] = msgspec.field(default_factory=list)

    def add(self, task: Hashable, low: float, high: float) -> None:
        """Add the smallest and the largest of a task's numbers."""
        _keep_largest(self.lowest, task, -low)
        _keep_largest(self.highest, task, high)

    def forget(self, tasks: Collection[Hashable]) -> None:
        """Drop the numbers of these tasks."""
        for pairs in (self.lowest, self.highest):
            pairs[:] = [pair for pair in pairs if pair[0] not in tasks]

    @property
    def low(self) -> float:
        """The smallest number; inf if there is none."""
        return -self.lowest[0][1] if self.lowest else math.inf

    @property
    def high(self) -> float:
        """The largest number; -inf if there is none."""
        return self.highest[0][1] if self.highest else -math.inf


def _keep_largest(pairs: list[list[Label]], task: Hashable, number: float) -> None:
    """Insert a task's number into a list sorted by numbers, with one entry per task."""
    # smaller numbers of a full list are lost: after more than 16 tasks were forgotten the ends may be too near
    if len(pairs) == _EXTREME_TASKS and number <= pairs[-1][1]:
        return
    pair = next((pair for pair in pairs if pair[0] == task), None)
    if pair is None:
        pairs.append([task, number])
    elif number <= pair[1]:
        return
    else:
        pair[1] = number
    pairs.sort(key=lambda pair: -pair[1])
    del pairs[_EXTREME_TASKS:]


class PolicySums(msgspec.Struct):
    """Running sums for the DR* value of a policy, or for its gain over another, with the interval.

    The symbols are those of :mod:`coterie.bandits.off_policy`: w = d(a)/μ(a) for the chosen action a, with d = π, or π
    - π' for a gain; e = r - q(a); H = d²/μ for each action. For a gain all sums but φ and Σ d q have |w| and |d| in
    place of w and d.

    Examples
    --------
    >>> sums, half, first = PolicySums(), np.full((4, 2), 0.5), np.tile([1.0, 0.0], (4, 1))
    >>> sums.add(np.array([1.0, 0.0, 1.0, 1.0]), np.array([0, 1, 0, 1]), half, first, np.zeros((4, 2)))
    >>> sums.phi.mean, sums.effective_n
    (1.0, 2.0)
    """

    gain: bool = False
    phi: PolicyMoments = msgspec.field(default_factory=PolicyMoments)
    direct: PolicyMoments = msgspec.field(default_factory=PolicyMoments)
    reward: PolicyMoments = msgspec.field(default_factory=PolicyMoments)
    extremes: Extremes = msgspec.field(default_factory=Extremes)
    zero_one: bool = True  # all rewards are 0 or 1
    impossible: int = 0  # rows in which d is not 0 where μ is
    w: float = 0.0
    w2: float = 0.0
    w_nonzero: float = 0.0  # over rewards other than 0
    w2_nonzero: float = 0.0
    e2: float = 0.0
    we: float = 0.0
    we2: float = 0.0
    we3: float = 0.0
    mass: float = 0.0  # Σ d
    dq: float = 0.0  # Σ d q
    h: float = 0.0  # Σ H
    hq: float = 0.0  # Σ H q
    hq2: float = 0.0  # Σ H q²
    h3: float = 0.0  # Σ d³/μ²
    h4: float = 0.0  # Σ d⁴/μ³

    def add(
        self,
        reward: Floats,
        shown: Ints,
        mu: Floats,
        pi: Floats,
        q: Floats,
        against: Floats | None = None,
        *,
        offset: Floats | float = 0.0,
        weight: Floats | None = None,
        tasks: Sequence[Hashable] = (None,),
    ) -> None:
        """Add rows, with the arguments of :func:`coterie.bandits.off_policy.policy_value`.

        Parameters
        ----------
        reward, shown, mu, pi, q
            See :func:`coterie.bandits.off_policy.policy_value`; the policy may change from row to row if it does not
            depend on the row's reward.
        against : ndarray, shape (n, K), optional
            The probabilities π' of the other policy of a gain.
        offset : ndarray, shape (n,), optional
            Added to φ, with expectation 0.
        weight : ndarray, shape (n,), optional
            The number of events for which each row stands. Rows with weights are added in a single call.
        tasks : sequence
            The task of each row, or one task for all.

        Raises
        ------
        ValueError
            If numbers are too large for sums of their powers.
        """
        rows = np.arange(len(reward))
        d = pi if against is None else pi - against
        ratio = np.divide(d, mu, out=np.zeros_like(d), where=mu > 0)
        w, e, direct = ratio[rows, shown], reward - q[rows, shown], (d * q).sum(axis=1) + offset
        parts = np.column_stack([ratio, e, w * e, direct])
        if not (abs(parts) < _LARGEST).all():
            t = int(np.argmin((abs(parts) < _LARGEST).all(axis=1)))
            raise ValueError(f"a reward of {reward[t]:g}, predicted as {q[t, shown[t]]:g}, is too large to be summed")
        phi, omega = direct + w * e, np.ones(len(reward))
        if weight is not None:  # a ratio estimator: rows are spread about the weighted mean
            omega = weight / weight.mean()
            centre = (omega * phi).mean()
            phi, direct = centre + omega * (phi - centre), centre + omega * (direct - centre)
        self.phi.add(phi)
        self.direct.add(direct)
        self.reward.add(reward)
        if len(tasks) == len(rows):
            for task, number in zip(tasks, phi.tolist(), strict=True):
                self.extremes.add(task, number, number)
        else:
            self.extremes.add(tasks[0], float(phi.min()), float(phi.max()))
        self.zero_one = self.zero_one and bool(((reward == 0.0) | (reward == 1.0)).all())
        self.impossible += int(((mu == 0) & (d != 0)).any(axis=1).sum())
        if self.gain:
            d, ratio, w = abs(d), abs(ratio), abs(w)
        w = omega * w
        we, w_nonzero, wide = w * e, w * (reward != 0.0), omega[:, None]
        d, ratio, square = wide * d, wide * ratio, e * e  # of a ratio estimator a row counts omega times
        h = d * ratio
        hq, hratio = h * q, h * ratio
        self.w += float(w.sum())
        self.w2 += float(w @ w)
        self.w_nonzero += float(w_nonzero.sum())
        self.w2_nonzero += float(w_nonzero @ w_nonzero)
        # both means of e² for v: over rows, and by w, which looks where the policy would go
        self.e2 += float(omega @ square)
        self.we += float(we.sum())
        self.we2 += float(we @ e)
        self.we3 += float((abs(we) if self.gain else we) @ square)
        self.mass += float(d.sum())
        # for a gain with abs(d), unlike the direct part of φ above
        self.dq += float(np.vdot(d, q))
        self.h += float(h.sum())
        self.hq += float(hq.sum())
        self.hq2 += float(np.vdot(hq, q))
        self.h3 += float(hratio.sum())
        self.h4 += float(np.vdot(hratio, ratio))

    @property
    def effective_n(self) -> float:
        """(Σ w)² / Σ w²."""
        return self.w**2 / self.w2 if self.w2 > 0.0 else 0.0

    @property
    def expected_rows(self) -> float:
        """The expected number of rows with large weights, n h² / h₄; it does not depend on the actions drawn."""
        return self.h**2 / self.h4 if self.h4 > 0.0 else math.inf

    def interval(self, level: float, reward_range: Sequence[float] | None = None) -> Interval:
        """Return the interval of the mean of φ, for rewards within ``reward_range`` if given."""
        from scipy.special import ndtri, stdtrit

        n, same = self.phi.n, self.reward.second == 0.0
        if n < 2:
            return Interval(-math.inf, math.inf)
        known_binary = self.zero_one and reward_range is not None and tuple(reward_range) == (0, 1)
        # equal rewards, all 0 or all 1, say nothing of a difference of two policies, nor of a range beyond 0 and 1
        binary = known_binary or (self.zero_one and not (same and (self.gain or reward_range is not None)))
        nonzero = self.w_nonzero**2 / self.w2_nonzero if self.w2_nonzero > 0.0 else 0.0
        # the number before any draw, not the realised one: a log that missed its large weights looks calm
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
        # Wilson inverts the test with the variance under V: it has length also where all residuals are 0
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
        elif binary and same and not known_binary:  # these may be amounts: that other rewards can come is not excluded
            least, most = -math.inf, math.inf
        warning = "may be too narrow: all rewards were the same" if same and reward_range is None else ""
        return Interval(min(max(low, least), most), max(min(high, most), least), warning)

    def _score_interval(self, far: float, least: float, most: float) -> tuple[tuple[float, float], float]:
        """Solve (V - value)² n = far² (a + b V + s²(Σ d q)) for both V; return them and the largest variance between.

        This is Wilson's interval for weighted rewards at the two ends of their range. If d is worth V and the q of all
        actions are off by the same, (V - Σ d q) / Σ d, then E[w² e²] = a + b V: for a reward of 0 or 1 with the mean p,
        E e² = p (1 - 2 q) + q². No residual needs to be seen. For a gain it is that of |d|.
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
        # linear in V, so the largest lies at an end; values outside [0, Σ d] are none of such rewards
        largest = max(a + b * min(max(end, 0.0), mass) + spread for end in ends)
        return (least + scale * ends[0], least + scale * ends[1]), largest * scale**2

    def _skewed_interval(self, variance: float, student: float, normal: float) -> tuple[float, float]:
        """Return the interval of a mean by Hall's expansion, with this variance or a larger one."""
        n, value = self.phi.n, self.phi.mean
        variance = max(self.phi.variance, variance)
        if variance == 0.0:
            return value, value
        # E[w³ e³] as mean(h₃) times the w-weighted mean of e³: exact if e does not depend on w
        third = self.we3 / self.w * self.h3 / n if self.w > 0.0 else 0.0
        cubed = math.sqrt(n) * variance**1.5
        ends = []
        for side, end in ((-1.0, self.extremes.low), (1.0, self.extremes.high)):
            # one more row as far as the farthest: the tail beyond a sample of n holds about 1/n of the mass
            farthest = max(side * (end - value), 0.0) if math.isfinite(end) else 0.0
            seen = (side * self.phi.third / n + farthest**3 / n) / cubed
            # only positive skewness on its side moves an end outwards; the short tail is never used to shrink one
            skewness = max(seen, min((1.0 if self.gain else side) * third / cubed, 1.0), 0.0)
            error = math.sqrt((variance + farthest**2 / n) / n)
            # Hall's first-order term: the quantile of a skewed Student statistic less the normal one
            skewed = skewness * (2.0 * normal * normal + 1.0) / 6.0 * math.sqrt(variance / n)
            ends.append(value + side * (student * error + skewed))
        return ends[0], ends[1]
