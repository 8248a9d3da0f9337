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
def calls(rule: Any, agreement: Any) -> Any:
    """Whether the rule asks for a move at y·margin = ``agreement``."""


@generic
def step(rule: Any, model: Any, i: Any, rows: Any, t: Any, agreement: Any) -> Any:
    """Step tau >= 0 where the rule asks for a move, task i being ready for it; 0.0 means that nothing changes."""


when(calls, MistakeStep)(lambda rule, agreement: agreement <= rule.threshold)
when(calls, HingeStep)(lambda rule, agreement: agreement < 1.0)

when(step, MistakeStep)(lambda rule, model, i, rows, t, agreement: 1.0)


@when(step, HingeStep)
def _step_on_hinge(rule: Any, model: Any, i: Any, rows: Any, t: Any, agreement: Any) -> Any:
    length = diagonal(model, i) * sqnorm(rows, t)
    return min(rule.C, (1.0 - agreement) / (length + rule.ridge)) if length > 0.0 else 0.0
