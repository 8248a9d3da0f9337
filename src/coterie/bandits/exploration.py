"""Exploration strategies: the probability of each action, given the predicted rewards."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

import msgspec
import numpy as np

from coterie import spec
from coterie.types import Floats

#: Points at which the densities of Thompson's scores are summed: midpoints of this many parts of ± 6 deviations.
_POINTS, _REACH = 96, 6.0
#: Draws of scores that are not independent.
_DRAWS = 4096


def greedy(scores: Floats, epsilon: float = 0.0) -> Floats:
    """Return ε-greedy probabilities of actions: 1 - ε for the best one(s), plus ε divided equally among all."""
    best = scores == scores.max()
    return np.asarray(epsilon / len(scores) + (1.0 - epsilon) * best / best.sum())


def squarecb(scores: Floats, steepness: float) -> Floats:
    """Return SquareCB probabilities 1 / (K + g (ŷ* - ŷ_a)) of K actions.

    The best action gets the rest. ŷ_a is the score of action a, ŷ* the largest score, and g the ``steepness`` of the
    probabilities.

    Inverse gap weighting: Abe and Long (1999); Foster and Rakhlin (2020), algorithm 1.
    """
    # of several best the first gets the rest, the others 1/K as their gap is 0
    best = int(scores.argmax())
    probabilities = 1.0 / (len(scores) + steepness * (scores[best] - scores))
    probabilities[best] = 0.0
    probabilities[best] = 1.0 - probabilities.sum()
    return np.asarray(probabilities)


def thompson(scores: Floats, covariance: Floats) -> Floats:
    """Return Thompson sampling probabilities of actions with normally distributed scores.

    Each is the probability that the score of this action is the largest.

    Thompson sampling draws the weights, which all scores share, and takes the action of the largest score. For
    independent scores the probability is computed by quadrature, to 0.015 if deviations differ by orders of magnitude,
    and much more precisely otherwise; for others from 4,096 draws, in pairs of z and -z, to 0.01.
    """
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    joint = covariance - np.diag(np.diag(covariance))
    # actions without common weights, such as labels, have independent scores
    if np.all(abs(joint) <= 1e-9 * np.outer(deviations, deviations)):
        return _independent(scores, deviations)
    values, vectors = np.linalg.eigh(covariance)
    # the same draws each time: probabilities must be a function of the state, for logs and replays
    draws = np.random.default_rng(0).standard_normal((_DRAWS // 2, len(scores)))
    values = np.where(values > 1e-12 * values[-1], values, 0.0)  # smaller values are rounding errors
    # antithetic pairs: symmetric scores get equal probabilities, and errors of odd order cancel
    noise = (np.vstack([draws, -draws]) * np.sqrt(values)) @ vectors.T
    return np.bincount((scores + noise).argmax(axis=1), minlength=len(scores)) / _DRAWS


@np.errstate(under="ignore")
def _independent(scores: Floats, deviations: Floats) -> Floats:
    """Return for each of several independent normal scores the probability that it is the largest, by quadrature."""
    from scipy.special import log_ndtr

    # a known score is a point mass: a tiny deviation keeps its quotient finite and orders ties evenly
    spread = np.maximum(deviations, 1e-12 * max(1.0, float(np.abs(scores).max())))
    points = _REACH * (2.0 * (np.arange(_POINTS) + 0.5) / _POINTS - 1.0)
    at = scores[:, None] + spread[:, None] * points
    below = log_ndtr((at[:, :, None] - scores) / spread)  # that another score is below these points
    own = np.arange(len(scores))
    below[own, :, own] = 0.0
    # P(a is largest) = ∫ φ(z) Π_b Φ((ŷ_a + σ_a z - ŷ_b) / σ_b) dz, logarithms against underflow of long products
    densities = np.exp(below.sum(axis=2) - points * points / 2.0).sum(axis=1)
    return np.asarray(densities / densities.sum())


def with_floor(probabilities: Floats, floor: float) -> Floats:
    """Mix probabilities with the uniform distribution, so that each action has at least ``floor`` / K of K actions."""
    return np.asarray((1.0 - floor) * probabilities + floor / len(probabilities))


def uniform(seed: int, name: Hashable) -> float:
    """Return a reproducible random number in [0, 1), which depends on the seed and the ``name`` of the decision."""
    text = msgspec.json.encode([seed, spec.to_json(name)])
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()[:7], "big") / 2.0**56


def drawn(probabilities: Floats, at: float) -> int:
    """Return the index of the first action with a cumulative probability above ``at``, a random number in [0, 1)."""
    # scaled by the last sum, which rounding keeps from being exactly 1
    sums = np.cumsum(probabilities)
    place = min(int(np.searchsorted(sums, at * sums[-1], "right")), len(sums) - 1)
    # a number just below 1 may land on an action of probability 0 at the end
    while probabilities[place] <= 0.0:
        place -= 1
    return place
