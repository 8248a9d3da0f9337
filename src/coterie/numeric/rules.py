"""When a margin calls for a move, and how far it goes."""

from __future__ import annotations

from typing import Any, NamedTuple

from .generic import generic, when
from .models import diagonal
from .records import sqnorm


class MistakeStep(NamedTuple):
    """A step of one on every mistake, y·margin <= ``threshold`` (0 is the Perceptron)."""

    threshold: float


class HingeStep(NamedTuple):
    """tau = min(C, loss / (M_ii ‖x‖² + ridge)) with loss = 1 - y·margin where that is positive."""

    C: float
    ridge: float


@generic
def step(rule: Any, model: Any, i: Any, rows: Any, t: Any, agreement: Any) -> Any:
    """Step tau >= 0 for y·margin = ``agreement``; 0.0 means that nothing changes."""


@when(step, MistakeStep)
def _step_on_mistake(rule: Any, model: Any, i: Any, rows: Any, t: Any, agreement: Any) -> Any:
    return 1.0 if agreement <= rule.threshold else 0.0


@when(step, HingeStep)
def _step_on_hinge(rule: Any, model: Any, i: Any, rows: Any, t: Any, agreement: Any) -> Any:
    loss = 1.0 - agreement
    if loss <= 0.0:
        return 0.0
    length = diagonal(model, i) * sqnorm(rows, t)
    return min(rule.C, loss / (length + rule.ridge)) if length > 0.0 else 0.0
