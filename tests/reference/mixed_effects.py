"""A mixed-effects model from its definition: an extended Kalman filter with all covariances of the shared weights."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

#: The most features seen, the constant being one.
LIMIT = 128


def entries(x: Any) -> dict[Any, float]:
    """The entries of a record by their columns."""
    return x if isinstance(x, dict) else dict(enumerate(x.tolist()))


class MixedEffects:
    """f = (m + v_k) · x with m ~ N(0, P) and v_k ~ N(0, diag(q)), the constant first; ``column`` has the constant.

    Features are in the order in which they are first other than 0. A model of more than ``LIMIT`` has left.
    """

    def __init__(
        self,
        constant: float,
        slopes: float,
        own: float = 1.0,
        shared: float = 1.0,
        logistic: bool = False,
        column: int | None = None,
        fixed: tuple[float, float] | None = None,
    ) -> None:
        self.constant, self.slopes, self.kept_own, self.kept, self.logistic = constant, slopes, own, shared, logistic
        self.order: list[int | None] = [column]
        self.m = np.zeros(1)
        self.fixed = fixed or (4.0 if logistic else 10.0, 1.0)
        self.P = np.eye(1) * self.fixed[0]
        self.squares: list[float] = [1.0]
        self.tasks: dict[Hashable, tuple[Vector, Vector]] = {}

    def has_left(self) -> bool:
        """Tell whether there were more features than the limit."""
        return len(self.order) > LIMIT

    def prior(self) -> Vector:
        """The variances of a task's own weights a priori."""
        return np.array([self.constant] + [self.slopes] * (len(self.order) - 1))

    def own(self, task: Hashable) -> tuple[Vector, Vector]:
        """v_k and q of a task."""
        v, q = self.tasks.get(task, (np.zeros(1), self.prior()[:1]))
        more = len(self.order) - len(v)
        return np.append(v, np.zeros(more)), np.append(q, [self.slopes] * more)

    def record(self, x: Any) -> Vector:
        """The features seen, divided by the constant."""
        x = entries(x)
        return np.array([1.0] + [x.get(j, 0.0) / self.scale(x) for j in self.order[1:]])

    def scale(self, x: dict[Any, float]) -> float:
        """The constant of a record."""
        return x.get(self.order[0], 0.0) or 1.0

    def parts(self, x: Any, task: Hashable) -> tuple[float, float]:
        """The mean of the margin and its variance, to which features that were always 0 add that of their weights."""
        z, (v, q), x = self.record(x), self.own(task), entries(x)
        new = sum((value / self.scale(x)) ** 2 for j, value in x.items() if j not in self.order)
        return float((self.m + v) @ z), float(z @ self.P @ z + q @ z**2 + (self.fixed[1] + self.slopes) * new)

    def margin(self, x: Any, task: Hashable, t: int = 0) -> float:
        """The margin; log-odds are shrunk by their variance."""
        if self.has_left():
            return math.nan
        f, variance = self.parts(x, task)
        return f / math.sqrt(1.0 + math.pi / 8.0 * variance) if self.logistic else f

    def meet(self, x: Any) -> None:
        """Add the features of a record."""
        for j, value in entries(x).items():
            if value != 0.0 and j not in self.order:
                self.order.append(j)
                d = len(self.order)
                P = np.eye(d) * self.fixed[1]
                P[: d - 1, : d - 1] = self.P
                self.m, self.P = np.append(self.m, 0.0), P

    def learn(self, x: Any, task: Hashable, y: float, t: int | float = 0, weight: float = 1.0) -> None:
        """One step of the filter."""
        if self.has_left() or weight == 0.0:
            return
        self.meet(x)
        if self.has_left():
            return
        f, variance = self.parts(x, task)
        z, (v, q) = self.record(x), self.own(task)
        noise, residual = 1.0 / weight, y - f
        if self.logistic:
            p = 1.0 / (1.0 + math.exp(-self.margin(x, task)))
            curvature = max(p * (1.0 - p), 1e-4)
            noise, residual = noise / curvature, ((1.0 + y) / 2.0 - p) / curvature
        total, g = noise + variance, self.P @ z
        self.squares = [self.kept * square for square in self.squares]
        self.squares.append(residual**2 / total)
        self.m = self.m + g * residual / total
        self.P = self.P - np.outer(g, g) / total
        v = v + q * z * residual / total
        q = q - (q * z) ** 2 / total
        self.tasks[task] = v, np.minimum(q / self.kept_own, self.prior())
        if self.kept < 1.0:
            self.forget()

    def forget(self) -> None:
        """Divide covariances by a factor, but keep variances within those a priori."""
        prior, variances = np.array([self.fixed[0]] + [self.fixed[1]] * (len(self.m) - 1)), np.diag(self.P)
        growth = np.divide(prior, variances, out=np.ones(len(prior)), where=variances > 0.0)
        s = np.sqrt(np.minimum(1.0 / self.kept, growth))
        self.P = self.P * np.outer(s, s)
