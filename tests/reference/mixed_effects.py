"""A mixed-effects model from its definition: an extended Kalman filter with all covariances of the shared weights."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

#: The most features learned, the constant being one, and the most features seen by a member of an ensemble.
LIMIT, WIDEST = 128, 1024


def moved(step: float) -> float:
    """The factor of a prior variance by a step of its logarithm, nearly e^step."""
    return (2.0 + step) / (2.0 - step)


def entries(x: Any) -> dict[Any, float]:
    """The entries of a record by their columns."""
    return x if isinstance(x, dict) else dict(enumerate(x.tolist()))


class MixedEffects:
    """f = (m + v_k) · x with m ~ N(0, P) and v_k ~ N(0, diag(q)), the constant first; ``column`` has the constant.

    Features are in the order in which they are first other than 0; the first ``LIMIT`` are learned. A model that has seen
    more than ``most`` has left.

    With a ``rate``, the logarithms of the prior variances of q are learned, by AdaGrad on the log likelihood of each label
    before it is learned: one for each weight, and all slopes by a common step, too. What is known of a task is its
    information, v / q and 1 / q - 1 / q(0), from which v and q follow by the prior of the moment. A label that comes late,
    to a margin that is no longer the one predicted, does not move the prior, unless that was 0, as before the first label.

    The prior variances of q are for records of at most ``features``; those of slopes are divided by c / ``features`` if c of
    a record before were not 0.
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
        rate: float = 0.0,
        most: int = LIMIT,
        features: float = math.inf,
    ) -> None:
        self.slopes, self.kept_own, self.kept, self.logistic, self.rate, self.most = (
            slopes,
            own,
            shared,
            logistic,
            rate,
            most,
        )
        self.prior, self.features, self.largest = np.array([constant]), features, 0
        self.predicted: dict[int | float, float] = {}
        self.gradients: dict[int | str, list[float]] = {}
        self.order: list[int | None] = [column]
        self.m = np.zeros(1)
        self.fixed = fixed or (4.0 if logistic else 10.0, 1.0)
        self.P = np.eye(1) * self.fixed[0]
        self.squares: list[float] = [1.0]
        self.tasks: dict[Hashable, tuple[Vector, Vector]] = {}

    def has_left(self) -> bool:
        """Tell whether there were more features than the limit."""
        return 0 < self.most < len(self.order)

    def own(self, task: Hashable, prior: Any = None) -> tuple[Any, Any]:
        """v_k and q of a task, of which v_k / q and 1 / q - 1 / q(0) are known."""
        prior = self.thinned(self.prior if prior is None else prior)
        pulls, gained = (
            np.append(known, np.zeros(len(prior) - len(known))) for known in self.tasks.get(task, np.zeros((2, 0)))
        )
        q = prior / (1.0 + prior * gained)
        return pulls * q, q

    def thinned(self, prior: Any) -> Any:
        """Prior variances for as many features as records had."""
        return np.append(prior[:1], prior[1:] / max(1.0, self.largest / self.features))

    def record(self, x: Any) -> Vector:
        """The features seen, divided by the constant."""
        x = entries(x)
        return np.array([1.0] + [x.get(j, 0.0) / self.scale(x) for j in self.order[1:LIMIT]])

    def scale(self, x: dict[Any, float]) -> float:
        """The constant of a record."""
        return x.get(self.order[0], 0.0) or 1.0

    def parts(self, x: Any, task: Hashable, prior: Any = None) -> tuple[Any, Any]:
        """The mean of the margin and its variance, to which features that were always 0 add that of their weights."""
        z, (v, q), x = self.record(x), self.own(task, prior), entries(x)
        new = sum((value / self.scale(x)) ** 2 for j, value in x.items() if j not in self.order[:LIMIT])
        unseen = self.fixed[1] + self.thinned(np.full(2, self.slopes))[1]
        return (self.m + v) @ z, z @ self.P @ z + q @ z**2 + unseen * new

    def margin(self, x: Any, task: Hashable, t: int | float = -1) -> float:
        """The margin; log-odds are shrunk by their variance. What was predicted first for record t is kept."""
        margin = math.nan if self.has_left() else float(self.margin_by(x, task))
        if t >= 0:
            self.predicted.setdefault(t, margin)
        return margin

    def margin_by(self, x: Any, task: Hashable, prior: Any = None) -> Any:
        """The margin by some prior variances of a task's own weights."""
        f, variance = self.parts(x, task, prior)
        return f / np.sqrt(1.0 + math.pi / 8.0 * variance) if self.logistic else f

    def meet(self, x: Any) -> None:
        """Add the features of a record."""
        for j, value in entries(x).items():
            if value != 0.0 and j not in self.order:
                self.order.append(j)
                if (d := len(self.order)) > LIMIT:
                    continue
                P = np.eye(d) * self.fixed[1]
                P[: d - 1, : d - 1] = self.P
                self.m, self.P = np.append(self.m, 0.0), P
                self.prior = np.append(self.prior, self.slopes)

    def learn(self, x: Any, task: Hashable, y: float, t: int | float = -1, weight: float = 1.0) -> None:
        """One step of the filter."""
        predicted = self.predicted.pop(t, None)
        if self.has_left() or weight == 0.0:
            return
        learns_prior = self.rate > 0.0 and predicted in (None, 0.0, self.margin(x, task))
        self.meet(x)
        if self.has_left():
            return
        f, variance = self.parts(x, task)
        z, (v, q) = self.record(x), self.own(task)
        derivatives = [weight * self.derivative(x, task, y, j) for j in range(len(z))] if learns_prior else []
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
        q = np.minimum(q / self.kept_own, self.thinned(self.prior))
        has_prior = q > 0.0
        q, prior = np.where(has_prior, q, 1.0), np.where(has_prior, self.thinned(self.prior), 1.0)
        self.tasks[task] = np.where(has_prior, v / q, 0.0), np.where(has_prior, 1.0 / q - 1.0 / prior, 0.0)
        if self.kept < 1.0:
            self.forget()
        self.largest = max(self.largest, sum(value != 0.0 and j != self.order[0] for j, value in entries(x).items()))
        if learns_prior:
            together = self.step("together", sum(derivatives[1:]))
            steps = [self.step(j, derivative) + (together if j else 0.0) for j, derivative in enumerate(derivatives)]
            self.prior = self.prior * [moved(step) for step in steps]
            self.slopes *= moved(together)

    def derivative(self, x: Any, task: Hashable, y: float, j: int) -> float:
        """Of the log likelihood of a label by the logarithm of a prior variance, by a step along the imaginary axis."""
        prior = self.prior.astype(complex)
        prior[j] *= 1.0 + 1e-20j
        likelihood = -np.log(1.0 + np.exp(-y * self.margin_by(x, task, prior)))
        return float(likelihood.imag / 1e-20)

    def step(self, which: int | str, derivative: float) -> float:
        """The step of AdaGrad."""
        squares = self.gradients.setdefault(which, [0.01])
        squares.append(derivative**2)
        return self.rate * derivative / math.sqrt(sum(squares))

    def forget(self) -> None:
        """Divide covariances by a factor, but keep variances within those a priori."""
        prior, variances = np.array([self.fixed[0]] + [self.fixed[1]] * (len(self.m) - 1)), np.diag(self.P)
        growth = np.divide(prior, variances, out=np.ones(len(prior)), where=variances > 0.0)
        s = np.sqrt(np.minimum(1.0 / self.kept, growth))
        self.P = self.P * np.outer(s, s)
