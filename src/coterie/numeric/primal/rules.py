"""Rules of learning: whether a margin calls for a move, and how far it goes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from coterie.numeric.core.generic import compiled, generic, no_refcount, when
from coterie.numeric.core.records import sqnorm, weight

from .round import diagonal, predictive_variance


class MistakeStep(NamedTuple):
    """A step of one on every mistake, y·margin <= ``threshold`` (0 is the Perceptron)."""

    threshold: float


class HingeStep(NamedTuple):
    """tau = min(C, loss / (M_ii ‖x‖² + ridge)) with loss = 1 - y·margin where that is positive."""

    C: float
    ridge: float


class LogisticStep(NamedTuple):
    """tau = 1 / (1 + exp(``scale`` · y·margin)), the slope of the logistic loss."""

    scale: float


class ConfidenceStep(NamedTuple):
    """tau = (``target`` - y·margin) / (v + r) where that is positive, v + r being ``predictive_variance``."""

    target: float


class ConfidentMistake(NamedTuple):
    """The step of :class:`ConfidenceStep`, on mistakes only: y·margin <= 0."""

    target: float


class ResidualStep(NamedTuple):
    """tau = ``rate`` · |y - margin|, the slope of half the squared loss."""

    rate: float


class SignStep(NamedTuple):
    """tau = ``rate`` wherever the margin is not y, the slope of the absolute loss."""

    rate: float


class TubeStep(NamedTuple):
    """tau = min(C, loss / (M_ii ‖x‖² + ridge)) with loss = |y - margin| - ``epsilon`` where that is positive."""

    epsilon: float
    C: float
    ridge: float


#: The rules that learn numbers.
NUMBERS: tuple[Any, ...] = (ResidualStep, SignStep, TubeStep)


#: A record whose squared length, or the variance that comes of it, is no more counts as nothing under any rule that
#: divides by it: where nothing limits it, its step would have no end. The other way, numbers are refused beyond 1e100.
SHORTEST = 1e-200


def goes_by_sign(rule: Any) -> bool:
    """Tell whether the rule asks for the sign of y·margin alone, so that longer weights move as they did."""
    return isinstance(rule, MistakeStep) and rule.threshold == 0.0


@generic
def evidence(rule: Any, y: Any, margin: Any) -> Any:
    """Return what a round is judged by: y·margin where y is a sign, the residual y - margin where it is a number."""


@generic
def direction(rule: Any, y: Any, signed_margin: Any) -> Any:
    """Return the sign of the step, -1 or +1: that of y, or that of the residual."""


when(evidence, object)(lambda rule, y, margin: y * margin)
when(direction, object)(lambda rule, y, signed_margin: y)
for _kind in NUMBERS:
    when(evidence, _kind)(lambda rule, y, margin: y - margin)
    when(direction, _kind)(lambda rule, y, signed_margin: 1.0 if signed_margin > 0.0 else -1.0)


@generic
def triggers_update(rule: Any, signed_margin: Any) -> Any:
    """Tell whether the rule asks for a move where its ``evidence`` is ``signed_margin``."""


@generic
def step(rule: Any, model: Any, i: Any, rows: Any, t: Any, signed_margin: Any) -> Any:
    """Return the step tau >= 0 of a move the rule asks for, task i being ready; 0.0 means that nothing changes.

    The weight of the record is a factor of it; where steps go by confidence, the label's variance is divided by it.
    """


when(triggers_update, MistakeStep)(lambda rule, signed_margin: signed_margin <= rule.threshold)
when(triggers_update, HingeStep)(lambda rule, signed_margin: signed_margin < 1.0)
when(triggers_update, LogisticStep)(lambda rule, signed_margin: True)
when(triggers_update, ConfidenceStep)(lambda rule, signed_margin: signed_margin < rule.target)

when(triggers_update, ConfidentMistake)(lambda rule, signed_margin: signed_margin <= 0.0)

when(step, MistakeStep)(lambda rule, model, i, rows, t, signed_margin: weight(rows, t))


@compiled
def _shortest_step(rule: Any, share: Any, rows: Any, t: Any, loss: Any) -> Any:
    """Return the shortest step that leaves no loss, at most C, times the record's weight; ``share`` is M_ii."""
    length = share * sqnorm(rows, t)
    return weight(rows, t) * min(rule.C, loss / (length + rule.ridge)) if length > SHORTEST else 0.0


@when(step, HingeStep)
def _step_on_hinge(rule: Any, model: Any, i: Any, rows: Any, t: Any, signed_margin: Any) -> Any:
    return _shortest_step(rule, diagonal(model, i), rows, t, 1.0 - signed_margin)


@no_refcount
def logistic_step(scale: Any, signed_margin: Any) -> Any:
    """Return 1 / (1 + exp(``scale`` · ``signed_margin``))."""
    if signed_margin > 0.0:  # of the two forms, the one whose exponential cannot overflow
        small = math.exp(-scale * signed_margin)
        return small / (1.0 + small)
    return 1.0 / (1.0 + math.exp(scale * signed_margin))


when(step, LogisticStep)(
    lambda rule, model, i, rows, t, signed_margin: weight(rows, t) * logistic_step(rule.scale, signed_margin)
)


@when(step, ConfidentMistake)
@when(step, ConfidenceStep)
def _step_on_confidence(rule: Any, model: Any, i: Any, rows: Any, t: Any, signed_margin: Any) -> Any:
    total = predictive_variance(model, i, rows, t)
    return (rule.target - signed_margin) / total if total > SHORTEST else 0.0


for _kind in (ResidualStep, SignStep):
    when(triggers_update, _kind)(lambda rule, signed_margin: signed_margin != 0.0)
when(triggers_update, TubeStep)(lambda rule, signed_margin: abs(signed_margin) > rule.epsilon)

when(step, ResidualStep)(
    lambda rule, model, i, rows, t, signed_margin: weight(rows, t) * (rule.rate * abs(signed_margin))
)
when(step, SignStep)(lambda rule, model, i, rows, t, signed_margin: weight(rows, t) * rule.rate)


@when(step, TubeStep)
def _step_into_tube(rule: Any, model: Any, i: Any, rows: Any, t: Any, signed_margin: Any) -> Any:
    return _shortest_step(rule, diagonal(model, i), rows, t, abs(signed_margin) - rule.epsilon)
