"""Running moments with held extremes from their definition: sorted lists, sums written out, nothing carried along."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
FAR = 12.0


@dataclass
class Moments:
    """Values with their weights: the least, the largest, and the others as they count, in the order in which they came in."""

    low: tuple[float, float] | None = None
    high: tuple[float, float] | None = None
    others: list[tuple[float, float]] = field(default_factory=list)

    def learn(self, x: float, v: float = 1.0) -> None:
        """Count a value; of three, the one that is neither the least nor the largest joins the others."""
        came = (x, v)
        if self.low is None:
            self.low = came
        elif self.high is None:
            self.low, self.high = (came, self.low) if x < self.low[0] else (self.low, came)
        elif x < self.low[0]:
            self.low, came = came, self.low
            self._join(came)
        elif x > self.high[0]:
            self.high, came = came, self.high
            self._join(came)
        else:
            self._join(came)

    def _join(self, came: tuple[float, float]) -> None:
        self.others.append((self._brought_near(came[0]), came[1]))

    def _brought_near(self, x: float) -> float:
        """A value as it counts beside the others."""
        if not self.others:
            return x
        mean, deviation = weighted(self.others)
        return min(max(x, mean - FAR * deviation), mean + FAR * deviation) if deviation > 0.0 else x

    def scale(self) -> tuple[float, float]:
        """The mean and the standard deviation of all; 0 where there is none."""
        if self.low is None or self.high is None:
            return (0.0 if self.low is None else self.low[0]), 0.0
        ends = [(self._brought_near(x), v) for x, v in (self.low, self.high)]
        return weighted([*self.others, *ends])

    def score(self, x: float, limit: float) -> float:
        """The z-score of a value, within ± limit."""
        mean, deviation = self.scale()
        return min(max((x - mean) / deviation, -limit), limit) if deviation > 0.0 else 0.0


def weighted(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The mean and the standard deviation of values with weights; a deviation that is rounding is 0."""
    total = sum(v for _, v in pairs)
    mean = sum(v * x for x, v in pairs) / total
    deviation = math.sqrt(sum(v * (x - mean) ** 2 for x, v in pairs) / total)
    return mean, deviation if deviation > 1e-12 * max(abs(x) for x, _ in pairs) else 0.0


def scales(y: Vector, weights: Vector | None = None) -> list[tuple[float, float]]:
    """Mean and standard deviation of the first 0, 1, ... labels; 0 and 1 where there are none or no difference."""
    moments, examples = Moments(), [(0.0, 1.0)]
    for x, v in zip(y.tolist(), (np.ones(len(y)) if weights is None else weights).tolist(), strict=True):
        if v > 0.0:
            moments.learn(x, v)
        mean, deviation = moments.scale()
        examples.append((mean, deviation or 1.0))
    return examples


def inside(y: float, scale: tuple[float, float]) -> float:
    """A label as it is learned."""
    return min(max((y - scale[0]) / scale[1], -FAR), FAR)


def scores(values: Sequence[float], limit: float = 5.0) -> list[float]:
    """The z-score of each value by the moments up to and with it."""
    moments, examples = Moments(), []
    for x in values:
        moments.learn(x)
        examples.append(moments.score(x, limit))
    return examples
