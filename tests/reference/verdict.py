"""The noise of gains, tests and intervals straight from their definitions: one round, one outcome at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence


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
    return [each <= ordered[most - 1] if most else False for each in p]
