"""Adaptive sharing of numbers from its definition: least squares solved anew each round, members and residuals in lists."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from reference.moments import inside, scales

Vector = NDArray[np.float64]
START, RANGES = 30, (32, 128)


@dataclass
class Gradient:
    """Adaptive gradients of the squared loss on what all share and on what is a task's own."""

    share: float
    step: float = 0.3
    rows: dict[Any, tuple[Vector, Vector]] = field(default_factory=dict)

    def parts(self, task: Hashable, d: int) -> list[tuple[Vector, Vector, float]]:
        """Weights, squares and weight in M of the rows of a task."""
        made = []
        for row, weight in ((("all",), self.share), (("own", task), 1.0 - self.share)):
            if weight:
                w, Q = self.rows.setdefault(row, (np.zeros(d), np.zeros(d)))
                made.append((w, Q, weight))
        return made

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
class Squares:
    """w = argmin ridge ‖w - w_0‖² + Σ v (z - w · x)²."""

    d: int
    ridge: float
    prior: float = 0.0
    records: list[tuple[Vector, float, float]] = field(default_factory=list)

    @property
    def weights(self) -> Vector:
        """The minimum, by the normal equations."""
        A = self.ridge * np.eye(self.d) + sum(
            (v * np.outer(x, x) for x, _, v in self.records), np.zeros((self.d, self.d))
        )
        b = self.ridge * self.prior * np.ones(self.d) + sum((v * z * x for x, z, v in self.records), np.zeros(self.d))
        return np.asarray(np.linalg.solve(A, b), np.float64)

    def learn(self, x: Vector, z: float, v: float) -> None:
        """Keep the record."""
        self.records.append((x.copy(), z, v))


class AdaptiveRegression:
    """Three gradient members, pooled least squares with intercepts, least squares of each task, and a last step.

    ``told`` has for each record that waits what the members said, the prediction, and how many labels were known.
    """

    def __init__(self, d: int) -> None:
        self.d = d
        self.gradients = [Gradient(share) for share in (0.0, 0.5, 1.0)]
        self.pooled: Squares | None = Squares(d, 0.1) if d <= RANGES[1] else None
        self.own: dict[Hashable, Squares] | None = {} if d <= RANGES[0] else None
        S = 5 if self.own is not None else 4
        self.last = Squares(S, 1.0, 1.0 / S)
        self.gaps: dict[Hashable, list[tuple[float, float]]] = {}  # gap, weight
        self.labels: list[float] = []
        self.residuals: list[tuple[Hashable, int, float, float, float, float]] = []  # task, age, r², r² / e, r / s, v
        self.told: dict[int, tuple[Vector, float, int]] = {}

    def intercept(self, task: Hashable) -> float:
        """b_i."""
        return sum(v * gap for gap, v in self.gaps.get(task, [])) / (self.known(task) + 3)

    def known(self, task: Hashable) -> float:
        """How many labels of a task are known, each by its weight."""
        return sum(v for _, v in self.gaps.get(task, []))

    def base(self, x: Vector) -> float:
        """w · x of what the intercepts stand on."""
        return self.gradients[-1].margin(x, None) if self.pooled is None else float(self.pooled.weights @ x)

    def inputs(self, x: Vector, task: Hashable) -> Vector:
        """What the members say, within the range of the labels so far and of 0."""
        said = [member.margin(x, task) for member in self.gradients]
        said.append(self.base(x) + self.intercept(task))
        if self.own is not None:
            said.append(float(self.own[task].weights @ np.append(1.0, x)) if task in self.own else 0.0)
        return np.clip(said, min([0.0, *self.labels]), max([0.0, *self.labels]))

    def margin(self, x: Vector, task: Hashable, t: int) -> float:
        """The prediction of the last step."""
        f = self.inputs(x, task)
        self.told[t] = f, float(f @ self.last.weights), int(self.known(task))
        return self.told[t][1]

    def learn(self, x: Vector, task: Hashable, z: float, t: int, v: float = 1.0) -> None:
        """Judge what was told, or what would be where nothing was yet; then let all members learn."""
        f, margin, known = self.told.pop(t)
        if v == 0.0:
            return
        if not f.any():
            self.margin(x, task, t)
            f, margin, known = self.told.pop(t)
        if len(self.labels) >= START:
            self.last.learn(f, z, v)
            self.count(task, known, z - margin, v)
        for member in self.gradients:
            member.learn(x, task, z, v) if member is not self.gradients[-1] else None
        base, b = self.base(x), self.intercept(task)
        self.gradients[-1].learn(x, task, z, v)
        if self.pooled is not None:
            self.pooled.learn(x, z - b, v)
        if self.own is not None:
            self.own.setdefault(task, Squares(self.d + 1, 1.0)).learn(np.append(1.0, x), z, v)
        self.gaps.setdefault(task, []).append((z - base, v))
        self.labels.append(z)

    # -- residuals -------------------------------------------------------------------------------------------------

    def mean_square(self, age: int) -> float:
        """e, begun with ten residuals of the mean over all ages, and this with ten of 1."""
        every = [(v, v * r2) for _, _, r2, _, _, v in self.residuals]
        mine = [(v, v * r2) for _, each, r2, _, _, v in self.residuals if each == age]
        overall = (sum(r2 for _, r2 in every) + 10) / (sum(v for v, _ in every) + 10)
        return (sum(r2 for _, r2 in mine) + 10 * overall) / (sum(v for v, _ in mine) + 10)

    def spread(self, task: Hashable, known: int) -> float:
        """s, of a prediction for a task of which so many labels are known."""
        ratios = [(v, v * ratio) for each, _, _, ratio, _, v in self.residuals if each == task and known]
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
        f = float(self.inputs(x, task) @ self.last.weights)
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
    told, v = np.zeros(len(X)), np.ones(len(X)) if weights is None else weights
    known = scales(y, v)
    for t in range(len(X) + delay):
        if t < len(X):
            mean, deviation = known[max(t - delay, 0)]
            told[t] = mean + deviation * learner.margin(X[t], task[t], t)
        if t >= delay:
            s = t - delay
            learner.learn(X[s], task[s], inside(y[s], known[s + 1]), s, float(v[s]))
    return told
