"""Random Fourier features from their definition, one record and one frequency at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MASK = 2**64 - 1


def scrambled(z: int) -> int:
    """SplitMix64's finaliser, in whole numbers without end."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def uniform(seed: int, feature: int, frequency: int) -> float:
    """The uniform number of a frequency's entry."""
    gamma = 0x9E3779B97F4A7C15
    key = scrambled((scrambled(seed) + gamma * (frequency + 1)) & MASK)
    return max((scrambled((key + gamma * (feature + 1)) & MASK) >> 11) * 2.0**-53, 2.0**-54)


def features(X: NDArray[np.float64], quantile: Callable[[float], float], size: int, seed: int) -> NDArray[np.float64]:
    """z(x) = (cos w_r·x, r = 1 ... m; sin w_r·x, r = 1 ... m) / sqrt(m) for m = size / 2."""
    m = size // 2
    W = np.array([[quantile(uniform(seed, j, r)) for r in range(m)] for j in range(X.shape[1])])
    made: Any = np.zeros((len(X), size))
    for t, x in enumerate(X):
        for r in range(m):
            angle = sum(float(x[j]) * float(W[j, r]) for j in range(len(x)))
            made[t, r], made[t, m + r] = math.cos(angle) / math.sqrt(m), math.sin(angle) / math.sqrt(m)
    return np.asarray(made)
