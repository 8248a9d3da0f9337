"""Stateless uniform random numbers: functions of a seed and a round."""

from __future__ import annotations

import numpy as np

from .generic import compiled

#: SplitMix64 (Steele, Lea and Flood 2014): 2**64 over the golden ratio, and the two multipliers of its finaliser.
GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11, _ONE = (np.uint64(number) for number in (30, 27, 31, 11, 1))


@compiled
def _scrambled(z):
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@compiled
def uniform(seed, turn, stream=0):
    """Return a random number in [0, 1) that depends only on the seed, the stream and the number ``turn``: O(1).

    Parameters
    ----------
    seed, turn : int
        Of which 64 bits count.
    stream : int
        One for each use, where a round needs several numbers that have nothing to do with each other.

    Examples
    --------
    >>> uniform(0, 7) == uniform(0, 7), uniform(0, 7) == uniform(0, 7, 1)
    (True, False)
    """
    key = _scrambled(_scrambled(np.uint64(seed)) + GAMMA * (np.uint64(stream) + _ONE))
    return np.float64(_scrambled(key + GAMMA * (np.uint64(turn) + _ONE)) >> _11) * 2.0**-53
