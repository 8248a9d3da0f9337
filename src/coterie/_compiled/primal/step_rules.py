"""Update rules in compiled code: the margins that trigger an update, and the step size tau."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from coterie._compiled.core.generic import generic, no_refcount, when
from coterie._compiled.core.records import sqnorm, weight

from .round import diagonal, predictive_variance


class MistakeStep(NamedTuple):
    """Rule that steps on mistakes: tau = 1 if y·margin <= ``threshold`` (0 for the Perceptron), else 0."""

    threshold: float


class ShortestStep(NamedTuple):
    """Passive-aggressive rule: tau = min(C, loss / (M_ii ‖x‖² + ridge)) if the loss is positive, for task i.

    It is 1 - y·margin or, if ``numbers`` is 1, |y - margin| - ``epsilon``.
    """

    C: float
    ridge: float
    epsilon: float = 0.0
    numbers: int = 0


#: Losses of :class:`GradientStep`.
LOGISTIC, SQUARED, ABSOLUTE = range(3)


class GradientStep(NamedTuple):
    """Gradient rule: tau is the slope of a loss, 1 / (1 + exp(y·margin)), |y - margin|, or constant 1."""

    loss: int


class ConfidenceStep(NamedTuple):
    """Rule for weights with variances: tau = (``target`` - y·margin) / (v + r), with variances v and r.

    They are those of the margin and of the label.

    If ``mistakes`` is 1, on mistakes only: y·margin <= 0.
    """

    target: float
    mistakes: int = 0


#: A record whose squared length, or the variance that comes of it, is no more counts as nothing under any rule that
#: divides by it: where nothing limits it, its step would have no end. The other way, numbers are refused beyond 1e100.
SHORTEST = 1e-200


def goes_by_sign(rule: Any) -> bool:
    """Return True if the rule depends only on the sign of y·margin, so that a scale of weights has no effect."""
    return isinstance(rule, MistakeStep) and rule.threshold == 0.0


@generic
def evidence(rule, y, margin):
    """Return the number on which the rule decides: y·margin for two classes, the residual y - margin for numbers."""


@generic
def direction(rule, y, signed_margin):
    """Return the sign of the update, -1 or +1: that of the label or of the residual."""


when(evidence, object)(lambda rule, y, margin: y * margin)
when(direction, object)(lambda rule, y, signed_margin: y)
when(evidence, ShortestStep)(lambda rule, y, margin: y - margin if rule.numbers == 1 else y * margin)
when(evidence, GradientStep)(lambda rule, y, margin: y * margin if rule.loss == LOGISTIC else y - margin)


@no_refcount
def _sign(residual):
    return 1.0 if residual > 0.0 else -1.0


when(direction, ShortestStep)(lambda rule, y, residual: _sign(residual) if rule.numbers == 1 else y)
when(direction, GradientStep)(lambda rule, y, residual: y if rule.loss == LOGISTIC else _sign(residual))


@generic
def triggers_update(rule, signed_margin):
    """Return True if the rule triggers an update; ``signed_margin`` is the result of ``evidence``."""


@generic
def step(rule, model, i, rows, t, signed_margin):
    """Return the size tau >= 0 of an update of task i by record t; 0 for no update.

    It is multiplied by the weight of the record; for steps by confidence, the label's variance is divided by the
    weight instead.
    """


when(triggers_update, MistakeStep)(lambda rule, signed_margin: signed_margin <= rule.threshold)
when(step, MistakeStep)(lambda rule, model, i, rows, t, signed_margin: weight(rows, t))


# -- the shortest step -------------------------------------------------------------------------------------------------


@no_refcount
def shortest_loss(rule, signed_margin):
    """Return the loss of :class:`ShortestStep` (hinge or epsilon-insensitive)."""
    return abs(signed_margin) - rule.epsilon if rule.numbers == 1 else 1.0 - signed_margin


@when(triggers_update, ShortestStep)
def _exceeds_margin(rule, signed_margin):
    # compared as they are: a difference of the two may round to zero
    return abs(signed_margin) > rule.epsilon if rule.numbers == 1 else signed_margin < 1.0


@when(step, ShortestStep)
def _shortest_step(rule, model, i, rows, t, signed_margin):
    length = diagonal(model, i) * sqnorm(rows, t)
    if not length > SHORTEST:
        return 0.0
    return weight(rows, t) * min(rule.C, shortest_loss(rule, signed_margin) / (length + rule.ridge))


# -- gradients ---------------------------------------------------------------------------------------------------------

when(triggers_update, GradientStep)(lambda rule, signed_margin: rule.loss == LOGISTIC or signed_margin != 0.0)


@no_refcount
def logistic_step(signed_margin):
    """Return 1 / (1 + exp(``signed_margin``)), the slope of the logistic loss."""
    if signed_margin > 0.0:  # of the two forms, the one whose exponential cannot overflow
        small = math.exp(-signed_margin)
        return small / (1.0 + small)
    return 1.0 / (1.0 + math.exp(signed_margin))


@when(step, GradientStep)
def _gradient_step(rule, model, i, rows, t, signed_margin):
    if rule.loss == LOGISTIC:
        return weight(rows, t) * logistic_step(signed_margin)
    return weight(rows, t) * (abs(signed_margin) if rule.loss == SQUARED else 1.0)


# -- confidence --------------------------------------------------------------------------------------------------------


@when(triggers_update, ConfidenceStep)
def _lacks_confidence(rule, signed_margin):
    return signed_margin <= 0.0 if rule.mistakes == 1 else signed_margin < rule.target


@when(step, ConfidenceStep)
def _confidence_step(rule, model, i, rows, t, signed_margin):
    total = predictive_variance(model, i, rows, t)
    return (rule.target - signed_margin) / total if total > SHORTEST else 0.0
