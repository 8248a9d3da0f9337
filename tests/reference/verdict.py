"""The noise of gains, tests and intervals straight from their definitions: one round, one outcome at a time."""

import math
from collections.abc import Sequence

from scipy import stats


def moments_of_two(positive: float, negative: float, probability: float) -> tuple[float, float]:
    """The second and third central moments of a gain that is one of two, the first with a probability."""
    outcomes = ((probability, positive), (1 - probability, negative))
    mean = sum(p * gain for p, gain in outcomes)
    return sum(p * (gain - mean) ** 2 for p, gain in outcomes), sum(p * (gain - mean) ** 3 for p, gain in outcomes)


def probability_of_no_gain(positive: float, negative: float) -> float:
    """The probability of the positive label with which the gain is 0 on average, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        above = middle * positive + (1 - middle) * negative > 0
        if above == (positive > negative):
            high = middle
        else:
            low = middle
    return (low + high) / 2


def at_least(won: int, of: int) -> float:
    """The probability that a fair coin falls on one side so often or more."""
    return sum(math.comb(of, k) for k in range(won, of + 1)) / float(2**of)


def called(p: Sequence[float], rate: float) -> list[bool]:
    """Benjamini and Hochberg's procedure: the largest k of which the k-th smallest p is at most rate k / K."""
    ordered, most = sorted(p), 0
    for k in range(1, len(p) + 1):
        if ordered[k - 1] <= rate * k / len(p):
            most = k
    return [p_value <= ordered[most - 1] if most else False for p_value in p]


class NullSums:
    """The sums of a task of two labels from which the sign of its gain is tested, record by record."""

    def __init__(self, gains: Sequence[tuple[float, float]]) -> None:
        self.variance = self.fourth_up = self.fourth_down = self.log_all_up = self.log_all_down = 0.0
        for positive, negative in gains:
            up, down = max(positive, negative), -min(positive, negative)
            self.variance += up * down
            if up > down:
                self.fourth_up += up * down * (up - down) ** 2
            else:
                self.fourth_down += up * down * (up - down) ** 2
            self.log_all_up += math.log(down / (up + down))
            self.log_all_down += math.log(up / (up + down))

    def helped(self, total: float) -> float:
        """The p-value of a gain as large."""
        return max(_p_value(total, self.variance, self.fourth_up), math.exp(self.log_all_up))

    def hurt(self, total: float) -> float:
        """The p-value of a loss as large."""
        return max(_p_value(-total, self.variance, self.fourth_down), math.exp(self.log_all_down))


def _p_value(total: float, variance: float, moment: float, order: int = 4) -> float:
    """The tail beyond a sum, with jumps as large as a sum of third or of fourth moments of one sign says."""
    far = total / math.sqrt(variance)
    jump = math.sqrt(moment) / variance if order == 4 else moment / variance**1.5
    skewed = stats.pearson3.sf(far - jump / 2, jump) if jump > 1e-4 else 0.0
    return max(stats.norm.sf(far), skewed)


def p_values_of_numbers(
    labels: Sequence[float],
    ours: Sequence[float],
    theirs: Sequence[float],
    of_all: tuple[float, float],
    to_gain: tuple[float, float],
) -> tuple[float, float]:
    """The p-values of a task's gain and loss in squared error; ``of_all`` are the moments over all tasks.

    ``to_gain`` are the probabilities of a gain of records with f < b and with f > b, were neither learner better.
    """
    moments = residual_moments(labels, ours, theirs)
    n = len(labels)
    square, cube = ((n * own + 20 * common) / (n + 20) for own, common in zip(moments, of_all, strict=True))
    total = variance = up = down = 0.0
    for y, f, b in zip(labels, ours, theirs, strict=True):
        total += (y - b) ** 2 - (y - f) ** 2
        variance += (2 * (b - f)) ** 2 * square
        third = -((2 * (b - f)) ** 3) * cube  # of (b - f) (b + f - 2 y), as y moves around its mean
        up += max(third, 0.0)
        down += max(-third, 0.0)
    of_records = [to_gain[0] if f < b else to_gain[1] for f, b in zip(ours, theirs, strict=True)]
    all_gain, all_lose = math.prod(of_records), math.prod(1 - p for p in of_records)
    return max(_p_value(total, variance, up, 3), all_gain), max(_p_value(-total, variance, down, 3), all_lose)


def probability_to_gain(gains: Sequence[float]) -> float:
    """The probability of a gain, were the mean of these 0: as large as they are if positive, and if negative."""
    up, down = [g for g in gains if g > 0], [-g for g in gains if g < 0]
    u, d = sum(up) / len(up), sum(down) / len(down)
    return d / (u + d)


def residual_moments(labels: Sequence[float], ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """The mean square and the mean cube of the residuals of the learner with the smaller ones."""
    residuals = [[y - f for y, f in zip(labels, margins, strict=True)] for margins in (ours, theirs)]
    better = min(residuals, key=lambda errors: sum(r**2 for r in errors))
    return sum(r**2 for r in better) / len(better), sum(r**3 for r in better) / len(better)
