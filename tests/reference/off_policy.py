"""The value of a policy by a log, straight from the definitions: one row, one action at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import stats

Numbers = Sequence[float]
Rows = Sequence[Sequence[float]]


def mean(values: Numbers) -> float:
    return math.fsum(values) / len(values)


def variance(values: Numbers) -> float:
    """The sample variance, over n - 1."""
    return math.fsum((each - mean(values)) ** 2 for each in values) / (len(values) - 1)


def weights(shown: Sequence[int], mu: Rows, pi: Rows) -> list[float]:
    """How much more often the policy would have shown what was shown."""
    return [p[a] / m[a] for a, m, p in zip(shown, mu, pi, strict=True)]


def effective_n(w: Numbers) -> float:
    return sum(w) ** 2 / sum(each**2 for each in w)


def numbers(
    reward: Numbers, shown: Sequence[int], mu: Rows, pi: Rows, q: Rows, estimator: str
) -> tuple[float, list[float]]:
    """The value, and the numbers whose variance over n is the value's."""
    n, w = len(reward), weights(shown, mu, pi)
    if estimator == "ips":
        phi = [w[t] * reward[t] for t in range(n)]
        return mean(phi), phi
    if estimator == "snips":
        value = sum(w[t] * reward[t] for t in range(n)) / sum(w)
        return value, [value + w[t] * (reward[t] - value) / mean(w) for t in range(n)]
    phi = []
    for t in range(n):
        direct = sum(pi[t][a] * q[t][a] for a in range(len(pi[t])))
        phi.append(direct + w[t] * (reward[t] - q[t][shown[t]]))
    return mean(phi), phi


def known_variance(reward: Numbers, shown: Sequence[int], mu: Rows, pi: Rows, q: Rows) -> float:
    """v mean(h) + s²(Σ π q)."""
    n, w = len(reward), weights(shown, mu, pi)
    squares = [(reward[t] - q[t][shown[t]]) ** 2 for t in range(n)]
    v = mean(squares)
    if sum(w) > 0:
        v = max(v, sum(w[t] * squares[t] for t in range(n)) / sum(w))
    direct = [sum(p * f for p, f in zip(pi[t], q[t], strict=True)) for t in range(n)]
    return v * mean(powers(mu, pi, 2)) + variance(direct)


def known_third(reward: Numbers, shown: Sequence[int], mu: Rows, pi: Rows, q: Rows) -> float:
    """mean(h₃) Σ w e³ / Σ w."""
    w = weights(shown, mu, pi)
    cubes = [w[t] * (reward[t] - q[t][shown[t]]) ** 3 for t in range(len(reward))]
    return mean(powers(mu, pi, 3)) * sum(cubes) / sum(w) if sum(w) > 0 else 0.0


def powers(mu: Rows, pi: Rows, power: int) -> list[float]:
    """What is expected of w^power in each row."""
    return [sum(m * (p / m) ** power for m, p in zip(*each, strict=True) if m > 0) for each in zip(mu, pi, strict=True)]


def interval(phi: Numbers, value: float, level: float) -> tuple[float, float]:
    """Student's."""
    half = float(stats.t.ppf((1 + level) / 2, len(phi) - 1)) * math.sqrt(variance(phi) / len(phi))
    return value - half, value + half


def skewed_interval(phi: Numbers, known: float, third: float, level: float) -> tuple[float, float]:
    """On each side with the larger of both variances, the farthest row once more, and farther if that is skewed."""
    value = mean(phi)
    above = farthest_end([each - value for each in phi], known, third, level)
    below = farthest_end([value - each for each in phi], known, -third, level)
    return value - below, value + above


def farthest_end(apart: Numbers, known: float, third: float, level: float) -> float:
    """How far the upper end is from the value."""
    n, c = len(apart), max(0.0, *apart)
    far, z = float(stats.t.ppf((1 + level) / 2, n - 1)), float(stats.norm.ppf((1 + level) / 2))
    most = max(variance(apart), known)
    se = math.sqrt(most / n)
    d = math.sqrt(n) * (math.sqrt(n) * se) ** 3
    kappa = max((mean([each**3 for each in apart]) + c**3 / n) / d, min(third / d, 1.0), 0.0)
    return far * math.sqrt((most + c**2 / n) / n) + kappa * (2 * z**2 + 1) / 6 * se
