"""Predictions mixed by how well each expert has done so far, over all tasks and on the task at hand."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .generic import compiled


class Losses(NamedTuple):
    """0/1 losses so far, a zero margin counting half: ``overall`` (S,) and ``tasks`` (K, S) for S experts."""

    overall: Any
    tasks: Any


@compiled
def combine(factors: Any, margins: Any, experts: Any) -> None:
    """Write the experts' margins (S, n), sums of the learners' (m, n) with factors (S, m)."""
    for a in range(factors.shape[0]):
        for m in range(factors.shape[1]):
            if factors[a, m] != 0.0:
                for t in range(margins.shape[1]):
                    experts[a, t] += factors[a, m] * margins[m, t]


@compiled
def rate_of(overall: Any) -> Any:
    """The rate eta = min(1, sqrt(2 ln S / (1 + min L)))."""
    return min(1.0, math.sqrt(2.0 * math.log(overall.size) / (1.0 + overall.min())))


@compiled
def weigh(overall: Any, own: Any, local: Any, weights: Any) -> None:
    """Write p_a proportional to exp(-eta L_a - local · L_ia), stable however large the losses are."""
    eta = rate_of(overall)
    least = np.inf
    for a in range(overall.size):
        weights[a] = eta * overall[a] + local * own[a]
        least = min(least, weights[a])
    total = 0.0
    for a in range(overall.size):
        weights[a] = math.exp(least - weights[a])
        total += weights[a]
    for a in range(overall.size):
        weights[a] /= total


@compiled
def _blend(losses: Any, local: Any, i: Any, margins: Any, t: Any, weights: Any) -> Any:
    weigh(losses.overall, losses.tasks[i], local, weights)
    total = 0.0
    for a in range(weights.size):
        total += weights[a] * margins[a, t]
    return total


@compiled
def _charge(losses: Any, i: Any, y: Any, margins: Any, t: Any) -> None:
    for a in range(losses.overall.size):
        agreement = y * margins[a, t]
        loss = 1.0 if agreement < 0.0 else (0.5 if agreement == 0.0 else 0.0)
        losses.overall[a] += loss
        losses.tasks[i, a] += loss


@compiled
def blend(losses: Any, local: Any, tasks: Any, margins: Any, mixed: Any) -> None:
    """Mixed margins of records whose experts' ``margins`` (S, n) are given; nothing is learned.

    A task of which nothing is known has the number -1.
    """
    weights, none = np.zeros(losses.overall.size), np.zeros((1, losses.overall.size))
    unknown = Losses(losses.overall, none)
    for t in range(tasks.size):
        if tasks[t] >= 0:
            mixed[t] = _blend(losses, local, tasks[t], margins, t, weights)
        else:
            mixed[t] = _blend(unknown, local, 0, margins, t, weights)


@compiled
def mix(losses: Any, local: Any, tasks: Any, y: Any, told: Any, judged: Any, last: int, mixed: Any, own: Any) -> None:
    """Mix and learn the first ``last`` records, each after the record so many rounds later was mixed as are missing.

    ``told`` (S, n) are the experts' margins when they were asked, ``judged`` (S, n) those by which they are charged.
    """
    delay = tasks.size - last
    weights = np.zeros(losses.overall.size)
    for s in range(last):
        mixed[s + delay] = _blend(losses, local, tasks[s + delay], told, s + delay, weights)
        own[s] = _blend(losses, local, tasks[s], judged, s, weights) if delay > 0 else mixed[s]
        _charge(losses, tasks[s], y[s], judged, s)
