"""Adaptive sharing of numbers from its definition: the last step solved anew each round, residuals in lists."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from reference.mixed_effects import WIDEST, MixedEffects
from reference.moments import inside, scales

Vector = NDArray[np.float64]
START, HALF_LIFE = 30, 300


@dataclass
class Gradient:
    """Adaptive gradients of the squared loss on what all share and on what is a task's own."""

    share: float
    step: float = 0.3
    rows: dict[Any, tuple[Vector, Vector]] = field(default_factory=dict)

    def parts(self, task: Hashable, d: int) -> list[tuple[Vector, Vector, float]]:
        """Weights, squares and weight in M of the rows of a task."""
        results = []
        for row, weight in ((("all",), self.share), (("own", task), 1.0 - self.share)):
            if weight:
                w, Q = self.rows.setdefault(row, (np.zeros(d), np.zeros(d)))
                results.append((w, Q, weight))
        return results

    def margin(self, x: Vector, task: Hashable) -> float:
        """The sum of the margins of the rows."""
        return float(sum(w @ x for w, _, _ in self.parts(task, len(x))))

    def learn(self, x: Vector, task: Hashable, z: float, v: float) -> None:
        """Move every row along v times its gradient."""
        c = v * (z - self.margin(x, task))
        for w, Q, weight in self.parts(task, len(x)):
            Q += (c * x) ** 2
            w += self.step * weight * c * x / np.sqrt(1e-6 + Q)


@dataclass
class Weights:
    """w ~ N(1/d, I) learns labels of unit noise; then covariances are divided by ``decay``, variances being 1 at most."""

    d: int
    decay: float = 1.0

    def __post_init__(self) -> None:
        self.P: Vector = np.eye(self.d)
        self.weights: Vector = np.full(self.d, 1.0 / max(self.d, 1))

    def learn(self, x: Vector, z: float, v: float) -> None:
        """Condition on a label of weight v, and forget."""
        A: Vector = np.asarray(np.linalg.inv(self.P), float)
        b = A @ self.weights + v * z * x
        self.P = np.asarray(np.linalg.inv(A + v * np.outer(x, x)), float)
        self.weights = self.P @ b
        s = np.sqrt(np.minimum(1.0 / self.decay, 1.0 / np.diag(self.P)))
        self.P = self.P * np.outer(s, s)

    def leave(self, members: int) -> None:
        """Condition on the weights of all members but the first being 0."""
        factor = self.P[:members, members:] @ np.linalg.inv(self.P[members:, members:])
        self.weights = self.weights[:members] - factor @ self.weights[members:]
        self.P = self.P[:members, :members] - factor @ self.P[members:, :members]
        self.d = members


class AdaptiveRegression:
    """Four gradient members, three with mixed effects, and a last step.

    ``predictions`` has for each record that waits what the members said, the prediction, and how many labels were known.
    """

    def __init__(self, d: int) -> None:
        self.gradients = [Gradient(0.0), Gradient(0.5), Gradient(1.0), Gradient(1.0, 0.6)]
        priors = (10.0, 0.3), (0.3, 0.03), (1.0, 0.3, 0.9, 0.999)
        self.mixed = [MixedEffects(*prior, most=WIDEST, features=2) for prior in priors]  # type: ignore[misc]
        self.last = Weights(7, 0.5 ** (1.0 / HALF_LIFE))
        self.counts: dict[Hashable, float] = {}
        self.labels: list[float] = []
        self.residuals: list[tuple[Hashable, int, float, float, float, float]] = []  # task, age, r², r² / e, r / s, v
        self.predictions: dict[int, tuple[Vector, float, int]] = {}

    def known(self, task: Hashable) -> float:
        """How many labels of a task are known, each by its weight."""
        return self.counts.get(task, 0.0)

    def inputs(self, x: Vector, task: Hashable) -> Vector:
        """What the members say, within the range of the labels so far and of 0."""
        margins = [member.margin(x, task) for member in self.gradients]
        margins += [member.margin(x, task) for member in self.mixed if not member.has_left()]
        return np.asarray(np.clip(np.array(margins), min([0.0, *self.labels]), max([0.0, *self.labels])))

    def mix(self, f: Vector) -> float:
        """The prediction of the last step, the mean of what members say before it begins."""
        return float(np.mean(f) if len(self.labels) <= START else f @ self.last.weights[: len(f)])

    def margin(self, x: Vector, task: Hashable, t: int) -> float:
        """The prediction of the last step."""
        f = self.inputs(x, task)
        self.predictions[t] = f, self.mix(f), int(self.known(task))
        return self.predictions[t][1]

    def learn(self, x: Vector, task: Hashable, z: float, t: int, v: float = 1.0) -> None:
        """Judge what was told, or what would be where nothing was yet; then let all members learn."""
        f, margin, known = self.predictions.pop(t)
        if v == 0.0:
            return
        if not f.any():
            self.margin(x, task, t)
            f, margin, known = self.predictions.pop(t)
        active = len(self.gradients) + sum(not member.has_left() for member in self.mixed)
        if active < self.last.d:
            self.last.leave(active)
        if len(self.labels) >= START:
            self.last = Weights(active, self.last.decay) if len(self.labels) == START else self.last
            self.last.learn(f[:active], z, v)
            self.count(task, known, z - margin, v)
        for gradient in self.gradients:
            gradient.learn(x, task, z, v)
        for member in self.mixed:
            member.learn(x, task, z, weight=v)
        self.counts[task] = self.known(task) + v
        self.labels.append(z)

    # -- residuals -------------------------------------------------------------------------------------------------

    def mean_square(self, age: int) -> float:
        """e, begun with ten residuals of the mean over all ages, and this with ten of 1."""
        every = [(v, v * r2) for _, _, r2, _, _, v in self.residuals]
        mine = [(v, v * r2) for _, round_age, r2, _, _, v in self.residuals if round_age == age]
        overall = (sum(r2 for _, r2 in every) + 10) / (sum(v for v, _ in every) + 10)
        return (sum(r2 for _, r2 in mine) + 10 * overall) / (sum(v for v, _ in mine) + 10)

    def spread(self, task: Hashable, known: int) -> float:
        """s, of a prediction for a task of which this many labels are known."""
        ratios = [(v, v * ratio) for name, _, _, ratio, _, v in self.residuals if name == task and known]
        scale = (sum(ratio for _, ratio in ratios) + 3) / (sum(v for v, _ in ratios) + 3)
        return math.sqrt(self.mean_square(known.bit_length()) * scale)

    def count(self, task: Hashable, known: int, r: float, v: float) -> None:
        """Keep a residual with its task, age, and scales."""
        age = known.bit_length()
        self.residuals.append((task, age, r * r, r * r / self.mean_square(age), r / self.spread(task, known), v))

    def interval(self, x: Vector, task: Hashable, level: float) -> tuple[float, float]:
        """The prediction and its spread times the quantiles of 20 normal residuals and those so far, in bins.

        The residuals are those of tasks of which as many labels were known, in powers of two.
        """
        f = self.mix(self.inputs(x, task))
        known = int(self.known(task))
        s = self.spread(task, known)
        scores = [(score, v) for _, age, _, _, score, v in self.residuals if age == known.bit_length()]
        edges = np.sinh(np.linspace(-6.4, 6.4, 129)) / 4
        below = np.array([sum(v for score, v in scores if score < edge) for edge in edges], float)
        total = sum(v for _, v in scores)
        below[0], below[-1] = 0, total
        share = (below + 20 * norm.cdf(edges)) / (total + 20)
        low, high = np.interp([(1 - level) / 2, (1 + level) / 2], share, edges)
        return f + s * float(low), f + s * float(high)


def run(
    learner: AdaptiveRegression,
    X: Vector,
    task: Sequence[Hashable],
    y: Vector,
    delay: int = 0,
    weights: Vector | None = None,
) -> Vector:
    """Predictions of numbers, each before its label, which comes ``delay`` rounds later; inside by their moments."""
    predictions, v = np.zeros(len(X)), np.ones(len(X)) if weights is None else weights
    known = scales(y, v)
    for t in range(len(X) + delay):
        if t < len(X):
            mean, deviation = known[max(t - delay, 0)]
            predictions[t] = mean + deviation * learner.margin(X[t], task[t], t)
        if t >= delay:
            s = t - delay
            learner.learn(X[s], task[s], inside(y[s], known[s + 1]), s, float(v[s]))
    return predictions
