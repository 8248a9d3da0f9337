"""Strategies of exploration: the probability of each action, computed from the predicted rewards."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

import msgspec
import numpy as np

from coterie import spec
from coterie.types import Floats


def greedy(scores: Floats, epsilon: float = 0.0) -> Floats:
    """Return the ε-greedy probabilities: 1 - ε shared by the actions of the largest score, ε by all actions."""
    best = scores == scores.max()
    return np.asarray(epsilon / len(scores) + (1.0 - epsilon) * best / best.sum())


def squarecb(scores: Floats, steepness: float) -> Floats:
    """Return the probabilities 1 / (K + g (ŷ* - ŷ_a)), and the rest for the best action; g is ``steepness``.

    Inverse gap weighting: Abe and Long (1999); Foster and Rakhlin (2020), algorithm 1.
    """
    # of several best the first gets the rest, the others 1/K as their gap is 0
    best = int(scores.argmax())
    probabilities = 1.0 / (len(scores) + steepness * (scores[best] - scores))
    probabilities[best] = 0.0
    probabilities[best] = 1.0 - probabilities.sum()
    return np.asarray(probabilities)


def with_floor(probabilities: Floats, floor: float) -> Floats:
    """Mix probabilities with the uniform distribution, which gets the share ``floor``."""
    return np.asarray((1.0 - floor) * probabilities + floor / len(probabilities))


def uniform(seed: int, name: Hashable) -> float:
    """Return a pseudo-random number in [0, 1) from a seed and a name, the same on every machine."""
    text = msgspec.json.encode([seed, spec.to_json(name)])
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()[:7], "big") / 2.0**56


def drawn(probabilities: Floats, at: float) -> int:
    """Return the first action at which the cumulative probability exceeds a number in [0, 1)."""
    # scaled by the last sum, which rounding keeps from being exactly 1
    sums = np.cumsum(probabilities)
    place = min(int(np.searchsorted(sums, at * sums[-1], "right")), len(sums) - 1)
    # a number just below 1 may land on an action of probability 0 at the end
    while probabilities[place] <= 0.0:
        place -= 1
    return place
