"""Adaptive sharing straight from its definition, over any experts that have ``margin`` and ``learn``."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class AdaptiveSharing:
    """p_a ∝ exp(-eta L_a - lambda L_ia), eta = min(1, sqrt(2 ln S / (1 + min_a L_a))); mixed = Σ_a p_a f_a.

    The margin is mean · (f_1, ..., f_S, mixed). Where these are log-odds, ``mean`` is learned by logistic regression:
    each round moves it to the most likely one under a Gaussian prior with the precision so far, and adds the curvature
    there, tau (1 - tau) x x'.

    ``learners`` have ``margin(x, task, t)`` and ``learn(x, task, y, t)``; ``experts`` turns the learners' margins into
    those of the experts.
    """

    learners: Sequence[Any]
    local: float = 0.1
    experts: Callable[[list[float]], list[float]] = list
    log_odds: bool = True
    mean: NDArray[np.float64] | None = None
    precision: NDArray[np.float64] | None = None
    L: list[float] = field(default_factory=list)
    L_of: dict[Hashable, list[float]] = field(default_factory=dict)
    predictions: dict[int, list[float]] = field(default_factory=dict)

    def margins(self, x: Any, task: Hashable, t: int) -> list[float]:
        """The experts' margins."""
        return self.experts([learner.margin(x, task, t) for learner in self.learners])

    def weights(self, task: Hashable, S: int) -> list[float]:
        """The experts' weights at a task."""
        L = self.L or [0.0] * S
        own = self.L_of.get(task, [0.0] * S)
        eta = min(1.0, math.sqrt(2.0 * math.log(S) / (1.0 + min(L))))
        exponents = [-eta * L[a] - self.local * own[a] for a in range(S)]
        powers = [math.exp(exponent - max(exponents)) for exponent in exponents]
        return [power / sum(powers) for power in powers]

    def inputs(self, f: list[float], task: Hashable) -> NDArray[np.float64]:
        """The experts' margins and, last, their mixture."""
        if self.mean is None:
            self.mean, self.precision = np.array([0.0] * len(f) + [1.0]), 10.0 * np.eye(len(f) + 1)
        mixed = sum(p * margin for p, margin in zip(self.weights(task, len(f)), f, strict=True))
        return np.array([*f, mixed])

    def margin(self, x: Any, task: Hashable, t: int) -> float:
        """The margin of the last step."""
        self.predictions[t] = self.margins(x, task, t)
        shown = self.inputs(self.predictions[t], task)
        return float(shown @ self.mean)  # type: ignore[operator]

    def correct(self, shown: NDArray[np.float64], y: float, weight: float) -> None:
        """Move the last step to the minimum of weight · ln(1 + e^{-y m·x}) + (m - mean)' precision (m - mean) / 2."""
        assert self.mean is not None
        assert self.precision is not None
        direction = np.linalg.solve(self.precision, shown)
        tau = weight * root(y * float(shown @ self.mean), weight * float(shown @ direction))
        self.mean = self.mean + tau * y * direction
        self.precision = self.precision + tau * (1.0 - tau / weight) * np.outer(shown, shown)

    def learn(self, x: Any, task: Hashable, y: float, t: int, weight: float = 1.0) -> None:
        """Charge the experts for what they told, correct the last step by it, then let the learners learn.

        Experts that told nothing yet are charged for what they say now.
        """
        f = self.predictions.pop(t)
        if weight == 0.0:
            return
        f = f if any(f) else self.margins(x, task, t)
        if self.log_odds:
            self.correct(self.inputs(f, task), y, weight)
        loss = [weight if y * margin < 0 else 0.5 * weight if margin == 0 else 0.0 for margin in f]
        self.L = [old + new for old, new in zip(self.L or [0.0] * len(f), loss, strict=True)]
        own = self.L_of.get(task, [0.0] * len(f))
        self.L_of[task] = [old + new for old, new in zip(own, loss, strict=True)]
        for learner in self.learners:
            learner.learn(x, task, y, t, *([] if weight == 1.0 else [weight]))


def root(z: float, q: float) -> float:
    """tau = 1 / (1 + exp(z + tau q)) by bisection."""
    low, high = 0.0, 1.0
    for _ in range(200):
        tau = (low + high) / 2.0
        if tau * (1.0 + math.exp(min(z + tau * q, 700.0))) < 1.0:
            low = tau
        else:
            high = tau
    return (low + high) / 2.0


def run(
    learner: Any,
    records: Sequence[Any],
    tasks: Sequence[Hashable],
    y: Sequence[float],
    delay: int = 0,
    weights: Sequence[float] | None = None,
) -> list[float]:
    """Margins told, each label coming ``delay`` rounds after its prediction."""
    predictions: list[float] = []
    for t in range(len(records) + delay):
        if t < len(records):
            predictions.append(learner.margin(records[t], tasks[t], t))
        if t >= delay:
            s = t - delay
            learner.learn(records[s], tasks[s], y[s], s, *([] if weights is None else [weights[s]]))
    return predictions
