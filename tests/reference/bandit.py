"""A contextual bandit by its definition, over the public one-record methods of a regressor: SquareCB over products."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reference.moments import scales


def crossed(x: Mapping[str, Any], action: Any) -> dict[str, float]:
    """All products of a context's features, and of a constant, with those of an action, by name."""
    left = numbers(x) | {"": 1.0}
    right = numbers(action if isinstance(action, dict) else {action: 1.0})
    return {f"{f}^{a}": v * w for a, w in right.items() for f, v in left.items()}


def numbers(features: Mapping[str, Any]) -> dict[str, float]:
    """Features as numbers, those of strings being 1 under ``name=string``."""
    return {
        f"{f}={v}" if isinstance(v, str) else f: 1.0 if isinstance(v, str) else float(v) for f, v in features.items()
    }


def squarecb(scores: Sequence[float], n: int, reward_range: float, gamma: float, floor: float) -> list[float]:
    """The probabilities of SquareCB with a floor; all the same before the first reward."""
    K = len(scores)
    if n == 0:
        return [1.0 / K] * K
    best = max(range(K), key=lambda a: (scores[a], -a))
    steepness = gamma * math.sqrt(n) / (reward_range or 1.0)
    weights = [1.0 / (K + steepness * (scores[best] - score)) for score in scores]
    weights[best] = 1.0 - sum(p for a, p in enumerate(weights) if a != best)
    return [(1.0 - floor) * p + floor / K for p in weights]


def range_of(rewards: Sequence[float]) -> float:
    """ρ: s (a + b) / sqrt(a b), the least and the largest reward being a and b off the mean, but at most 12 s."""
    if not rewards:
        return 0.0
    mean, s = scales(np.array(rewards))[-1]
    a, b = (min(end, 12.0 * s) for end in (mean - min(rewards), max(rewards) - mean))
    spread = max(rewards) - min(rewards)
    return min(spread, s * (a + b) / math.sqrt(a * b)) if min(a, b) > 0.0 else spread
