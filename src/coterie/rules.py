"""Rules: when a margin calls for a move, and how far it goes."""

from __future__ import annotations

import math
from typing import Any, Literal

from . import spec
from .numeric.rules import HingeStep, MistakeStep


@spec.part
class Perceptron:
    """A step of one on every mistake, and on nothing else: tau = 1 if y·margin <= 0 (CCG08 Fig. 1).

    A zero margin is a mistake. Multiplying every step by a constant changes no prediction, so there is no rate to tune.

    Examples
    --------
    >>> Perceptron()
    Perceptron()
    """

    def compiled(self) -> Any:
        """The rule as compiled code takes it."""
        return MistakeStep(0.0)


@spec.part
class PassiveAggressive:
    """The shortest move that gives the record a margin of one (FOR09 §2.2; Crammer et al. 2006).

    With loss = max(0, 1 - y·margin) and the squared norm of the multitask instance, M_ii ‖x‖²:

    ========  =====================================
    variant   tau
    ========  =====================================
    ``"0"``   loss / (M_ii ‖x‖²), the plain PA
    ``"I"``   min(C, loss / (M_ii ‖x‖²))
    ``"II"``  loss / (M_ii ‖x‖² + 1 / (2C))
    ========  =====================================

    Parameters
    ----------
    C : float > 0
        How far one record may move the weights; the plain PA ignores it. 0.03 to 0.1 suits few features, 0.3 to 1 text.
    variant : {"0", "I", "II"}
        Which of the three.

    Raises
    ------
    ValueError
        If C is not positive or the variant unknown.

    Examples
    --------
    >>> PassiveAggressive(C=0.1)
    PassiveAggressive(C=0.1, variant='I')
    """

    C: float = 1.0
    variant: Literal["0", "I", "II"] = "I"

    def __post_init__(self) -> None:
        if not self.C > 0:
            raise ValueError(f"C must be positive, got {self.C!r}")
        if self.variant not in ("0", "I", "II"):
            raise ValueError(f"variant must be '0', 'I' or 'II', got {self.variant!r}")

    def compiled(self) -> Any:
        """The rule as compiled code takes it."""
        bound = self.C if self.variant == "I" else math.inf
        ridge = 1.0 / (2.0 * self.C) if self.variant == "II" else 0.0
        return HingeStep(float(bound), float(ridge))
