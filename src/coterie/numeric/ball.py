"""Steps by a ball around the record, and models that know how long the sum of their moves is.

With z = (M^(1/2) ⊗ I)φ the sum v of the moves c z has margins m = v·z, so that its length follows from margins alone:
a move takes m to m' = m + c z·z, and ‖v‖² to ‖v‖² + 2 c m + c² z·z = ‖v‖² + c (m + m').
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from .core.checks import Bounds, require, require_shape
from .core.generic import when
from .core.records import weight
from .primal.forgetting import Forgetful, fade_all
from .primal.round import Wrapper, add, score
from .primal.rules import calls, step


class _MeasuredFields(NamedTuple):
    model: Any
    squares: Any


class Measured(_MeasuredFields, Wrapper):
    """A model of which ``squares[0]`` is the squared length of v, and whose weights can shrink in O(1)."""

    __slots__ = ()

    @classmethod
    def of(cls, model: Any) -> Self:
        """Measure a model without moves, its tables with scales of their own."""
        return cls(Forgetful.of(model, 1.0, 1.0), np.zeros(1))

    def check(self, bounds: Bounds) -> None:
        super().check(bounds)
        require_shape("the squared length", self.squares, 1)
        require(0.0 <= self.squares[0] < np.inf, f"the squared length is {self.squares[0]!r}")


class BallStep(NamedTuple):
    """A step of one where a ball of this ``radius`` around the record reaches the wrong side; see ``Ballseptron``."""

    radius: float


when(calls, BallStep)(lambda rule, agreement: True)  # it depends on the length, which the step knows


@when(step, BallStep)
def _step_by_the_ball(rule: Any, model: Any, i: Any, rows: Any, t: Any, agreement: Any) -> Any:
    """Shrink all weights first where the record was right by too little: v - τ radius v / ‖v‖ is a multiple of v."""
    if agreement > 0.0:
        length = math.sqrt(model.squares[0])
        if agreement >= rule.radius * length:
            return 0.0
        factor = 1.0 - weight(rows, t) * rule.radius / length
        fade_all(model.model.model, factor, factor)
        model.squares[0] *= factor * factor
    return weight(rows, t)


@when(add, Measured)
def _add(model: Any, i: Any, c: Any, rows: Any, t: Any) -> Any:
    before = score(model.model, i, rows, t)
    add(model.model, i, c, rows, t)
    model.squares[0] = max(model.squares[0] + c * (before + score(model.model, i, rows, t)), 0.0)
