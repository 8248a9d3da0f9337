"""Shrunken means and the constant, straight from their definitions: explicit loops, and integrals by a fine sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def standard_errors(values: Sequence[float], group: Sequence[int], groups: int, common: float = 10.0) -> list[float]:
    """The standard error of each group's mean, its variance pooled with ``common`` values' worth of the mean square."""
    shared = sum(x * x for x in values) / len(values)
    errors = []
    for g in range(groups):
        own = [x for x, of in zip(values, group, strict=True) if of == g]
        mean = sum(own) / len(own)
        variance = (sum((x - mean) ** 2 for x in own) + common * shared) / (len(own) - 1 + common)
        errors.append(math.sqrt(variance / len(own)))
    return errors


def posterior(
    mean: Sequence[float], error: Sequence[float], top: float, steps: int
) -> tuple[tuple[float, float], list[tuple[float, float]]]:
    """Mean and deviation of mu and of every g_i, mu and tau having flat priors, tau from 0 to ``top``.

    For each tau everything is normal: d_i ~ N(mu, tau² + s_i²). The integral over tau is a sum over its steps.
    """
    of_mu, of_each, total = [0.0, 0.0], [[0.0, 0.0] for _ in mean], 0.0
    for k in range(steps):
        tau = top * k / (steps - 1)
        variances = [tau**2 + s**2 for s in error]
        v = 1.0 / sum(1.0 / each for each in variances)
        m = v * sum(d / each for d, each in zip(mean, variances, strict=True))
        density = math.sqrt(v) * (0.5 if k in (0, steps - 1) else 1.0)
        for d, each in zip(mean, variances, strict=True):
            density *= math.exp(-((d - m) ** 2) / (2 * each)) / math.sqrt(each)
        total += density
        of_mu[0] += density * m
        of_mu[1] += density * (v + m * m)
        for i, (d, s) in enumerate(zip(mean, error, strict=True)):
            share = tau**2 / (tau**2 + s**2)
            value = share * d + (1 - share) * m
            spread = share * s**2 + (1 - share) ** 2 * v
            of_each[i][0] += density * value
            of_each[i][1] += density * (spread + value**2)
    pairs = [(first / total, second / total) for first, second in (of_mu, *of_each)]
    found = [(first, math.sqrt(second - first**2)) for first, second in pairs]
    return found[0], found[1:]


def constant(labels: Sequence[Any], delay: int) -> list[Any]:
    """The most frequent of the labels that came before each round, of equally frequent ones the first to be so."""
    told = []
    for t in range(len(labels)):
        counts: dict[Any, int] = {}
        leader = None
        for label in labels[: max(t - delay, 0)]:
            counts[label] = counts.get(label, 0) + 1
            if leader is None or counts[label] > counts[leader]:
                leader = label
        told.append(leader)
    return told
