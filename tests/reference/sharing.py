"""Adaptive sharing straight from its definition, over any experts that have ``margin`` and ``learn``."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass
class AdaptiveSharing:
    """p_a ∝ exp(-eta L_a - lambda L_ia), eta = min(1, sqrt(2 ln S / (1 + min_a L_a))); margin = Σ_a p_a f_a.

    ``learners`` have ``margin(x, task, t)`` and ``learn(x, task, y, t)``; ``experts`` turns the learners' margins into
    those of the experts.
    """

    learners: Sequence[Any]
    local: float = 0.1
    experts: Callable[[list[float]], list[float]] = list
    L: list[float] = field(default_factory=list)
    L_of: dict[Hashable, list[float]] = field(default_factory=dict)

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

    def margin(self, x: Any, task: Hashable, t: int) -> float:
        """The mixed margin."""
        f = self.margins(x, task, t)
        return sum(p * margin for p, margin in zip(self.weights(task, len(f)), f, strict=True))

    def learn(self, x: Any, task: Hashable, y: float, t: int) -> None:
        """Charge the experts for the margins they have now, then let the learners learn."""
        f = self.margins(x, task, t)
        loss = [1.0 if y * margin < 0 else 0.5 if margin == 0 else 0.0 for margin in f]
        self.L = [old + new for old, new in zip(self.L or [0.0] * len(f), loss, strict=True)]
        own = self.L_of.get(task, [0.0] * len(f))
        self.L_of[task] = [old + new for old, new in zip(own, loss, strict=True)]
        for learner in self.learners:
            learner.learn(x, task, y, t)


def run(
    learner: Any, records: Sequence[Any], tasks: Sequence[Hashable], y: Sequence[float], delay: int = 0
) -> list[float]:
    """Margins told, each label coming ``delay`` rounds after its prediction."""
    told: list[float] = []
    for t in range(len(records) + delay):
        if t < len(records):
            told.append(learner.margin(records[t], tasks[t], t))
        if t >= delay:
            learner.learn(records[t - delay], tasks[t - delay], y[t - delay], t - delay)
    return told
