"""Update rules: the margins that trigger an update, and the step size.

Their arithmetic is in ``_compiled/primal/step_rules.py``.

A rule declares its kind of ``move``: a step along the ``gradient`` of a loss, the ``shortest`` step that reaches a
margin, or a step scaled by the ``confidence`` in each weight. If its margins can be read as log-odds, ``log_odds`` is
the factor.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from coterie import spec
from coterie._compiled.primal.step_rules import (
    ABSOLUTE,
    LOGISTIC,
    SQUARED,
    ConfidenceStep,
    GradientStep,
    MistakeStep,
    ShortestStep,
)

_C = spec.Setting(above=0, infinite=True, must="be positive")
_VARIANTS = ("0", "I", "II")


@runtime_checkable
class Rule(Protocol):
    """Interface of update rules, which compute a step size from the margin and the label."""

    @property
    def move(self) -> str: ...

    @property
    def log_odds(self) -> float | None: ...

    def compiled(self) -> Any:
        """Return the rule as a named tuple for compiled code."""


@runtime_checkable
class ConfidenceRule(Rule, Protocol):
    """Interface of rules for models with a full covariance.

    It updates if y·margin is below ``threshold``, or equal to it unless ``strict`` is 1: on every record if that is
    infinite. With ``shrunk`` 1 margins are shrunk by their variance. ``noise`` is the name of the parameter that is the
    variance of a label.
    """

    @property
    def threshold(self) -> float: ...

    @property
    def strict(self) -> int: ...

    @property
    def shrunk(self) -> int: ...

    @property
    def noise(self) -> str: ...


class _BaseRule:
    """Defaults of rules: gradient steps, and margins that are not log-odds."""

    move: ClassVar[str] = "gradient"
    log_odds: ClassVar[float | None] = None


@spec.part
class Perceptron(_BaseRule):
    """Perceptron rule: the step size tau is 1 on a mistake (y·margin <= 0), else 0 (CCG08 Fig. 1).

    tau is the size of the step, y the label, -1 or 1, and margin the score before the update.

    A zero margin is a mistake. Multiplying every step by a constant changes no prediction, so there is no rate to tune.

    Examples
    --------
    >>> Perceptron()
    Perceptron()
    """

    def compiled(self) -> MistakeStep:
        """Return the rule as a named tuple for compiled code."""
        return MistakeStep(0.0)


@spec.part
class PassiveAggressive(_BaseRule):
    """Passive-aggressive rule: the smallest update that gives margin one (FOR09 §2.1.1; Crammer et al. 2006).

    tau is the size of the step, y the label, -1 or 1, and M_ii the diagonal entry of task i in M = A⁻¹, the matrix by
    which tasks share updates.

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
    C : float > 0, default=1.0
        The largest update of one record; the plain PA ignores it. 0.03 to 0.1 suits few features, 0.3 to 1 text.
    variant : {"0", "I", "II"}, default="I"
        The formula of tau.

    Raises
    ------
    ValueError
        If C is not positive, or the variant is unknown.

    Examples
    --------
    >>> PassiveAggressive(C=0.1)
    PassiveAggressive(C=0.1, variant='I')
    """

    move: ClassVar[str] = "shortest"

    C: float = spec.field(_C, default=1.0)
    variant: Literal["0", "I", "II"] = spec.field(default="I", choices=_VARIANTS)

    def compiled(self) -> ShortestStep:
        """Return the rule as a named tuple for compiled code."""
        bound = self.C if self.variant == "I" else math.inf
        ridge = 1.0 / (2.0 * self.C) if self.variant == "II" else 0.0
        return ShortestStep(float(bound), float(ridge))


@spec.part
class Logistic(_BaseRule):
    """Logistic rule: a gradient step of the logistic loss on every record, tau = 1 / (1 + exp(y·margin)).

    tau is the size of the step, y the label, -1 or 1, and margin the score before the update.

    Margins are log-odds. With :class:`coterie.updates.LinearWeights` this is gradient descent at a constant rate of
    one; :class:`coterie.updates.AdaptiveGradient` gives each weight its own rate.

    Examples
    --------
    >>> Logistic()
    Logistic()
    """

    log_odds: ClassVar[float | None] = 1.0

    def compiled(self) -> GradientStep:
        """Return the rule as a named tuple for compiled code."""
        return GradientStep(LOGISTIC)


@spec.part
class AROW(_BaseRule):
    """AROW rule: the step size is tau = (1 - y·margin) / (v + r) if y·margin < 1, else 0.

    It is smaller for more certain weights.

    Adaptive regularization of weight vectors (Crammer, Kulesza and Dredze, NIPS 2009).
    v is the variance of the margin and r that of the label, both of :class:`coterie.updates.DiagonalAROW`. Twice
    the margin serves as log-odds.

    Examples
    --------
    >>> AROW()
    AROW()
    """

    move: ClassVar[str] = "confidence"
    log_odds: ClassVar[float | None] = 2.0

    #: For models with a full covariance: the largest y·margin of an update (excluded if ``strict``); shrunk margins.
    threshold: ClassVar[float] = 1.0
    strict: ClassVar[int] = 1
    shrunk: ClassVar[int] = 0
    noise: ClassVar[str] = "r"

    def compiled(self) -> ConfidenceStep:
        """Return the rule as a named tuple for compiled code."""
        return ConfidenceStep(1.0)


@spec.part
class SecondOrder(_BaseRule):
    """Second-order Perceptron rule: on a mistake the step size is tau = (1 - y f) / (v + r) (CCG08 §4).

    y is the label, -1 or 1, f the margin before the update, v the variance of the margin, and r that of a label.

    The weights are then the ridge regression on all mistakes. It is the step of :class:`AROW`, but only on mistakes,
    y·margin <= 0. With a full covariance it is the
    second-order Perceptron, whose margin is f r / (v + r).

    Examples
    --------
    >>> SecondOrder()
    SecondOrder()
    """

    move: ClassVar[str] = "confidence"

    threshold: ClassVar[float] = 0.0
    strict: ClassVar[int] = 0
    shrunk: ClassVar[int] = 1
    noise: ClassVar[str] = "ridge"

    def compiled(self) -> ConfidenceStep:
        """Return the rule as a named tuple for compiled code."""
        return ConfidenceStep(1.0, mistakes=1)


@spec.part
class Squared(_BaseRule):
    """Squared loss: the step size is tau = |y - margin|, towards the label y, on every record.

    The loss is (y - margin)² / 2, for the margin before the update. v is the variance of the margin, r that of a label,
    and M_ii the diagonal entry of the task in M = A⁻¹, by which tasks share updates.

    Margins estimate the mean. Use it with :class:`coterie.updates.AdaptiveGradient`, which has a rate per weight;
    with :class:`coterie.updates.LinearWeights` the rate is 1, which diverges for records longer than
    sqrt(2 / M_ii). With a full covariance it is ridge regression on all records: tau = |y - f| / (v + r).

    Examples
    --------
    >>> Squared()
    Squared()
    """

    tolerance: ClassVar[float] = 0.0

    threshold: ClassVar[float] = math.inf
    strict: ClassVar[int] = 1
    shrunk: ClassVar[int] = 0
    noise: ClassVar[str] = "ridge"

    def compiled(self) -> GradientStep:
        """Return the rule as a named tuple for compiled code."""
        return GradientStep(SQUARED)


@spec.part
class Absolute(_BaseRule):
    """Absolute loss |y - margin|: the step size is 1, towards the label y, on every record.

    Margins estimate the median, on which outliers have little effect.

    Examples
    --------
    >>> Absolute()
    Absolute()
    """

    tolerance: ClassVar[float] = 0.0

    def compiled(self) -> GradientStep:
        """Return the rule as a named tuple for compiled code."""
        return GradientStep(ABSOLUTE)


@spec.part
class EpsilonInsensitive(_BaseRule):
    """Epsilon-insensitive rule: the smallest update that brings the margin within epsilon of the label.

    tau is the size of the step, y the label, and M_ii the diagonal entry of task i in M = A⁻¹, the matrix by which
    tasks share updates.

    With loss = max(0, |y - margin| - epsilon) and the squared norm of the multitask instance, M_ii ‖x‖², the step goes
    towards y by

    ========  =====================================
    variant   tau
    ========  =====================================
    ``"0"``   loss / (M_ii ‖x‖²)
    ``"I"``   min(C, loss / (M_ii ‖x‖²))
    ``"II"``  loss / (M_ii ‖x‖² + 1 / (2C))
    ========  =====================================

    With epsilon = 0 and variant ``"II"`` it is the normalised gradient of the squared loss (normalised least mean
    squares). It supports every relation.

    Parameters
    ----------
    epsilon : float >= 0, default=0.1
        The error without a loss; in :class:`coterie.MultitaskRegressor`, in standard deviations of the labels unless
        ``targets="as they are"``.
    C : float > 0, default=0.1
        The largest update of one record.
    variant : {"0", "I", "II"}, default="II"
        The formula of tau.

    Raises
    ------
    ValueError
        If epsilon is negative or not finite, C is not positive, or the variant is unknown.

    Examples
    --------
    >>> EpsilonInsensitive(0.2)
    EpsilonInsensitive(epsilon=0.2, C=0.1, variant='II')
    """

    move: ClassVar[str] = "shortest"

    epsilon: float = spec.field(default=0.1, at_least=0)
    C: float = spec.field(_C, default=0.1)
    variant: Literal["0", "I", "II"] = spec.field(default="II", choices=_VARIANTS)

    @property
    def tolerance(self) -> float:
        """The largest error that does not trigger an update."""
        return self.epsilon

    def compiled(self) -> ShortestStep:
        """Return the rule as a named tuple for compiled code."""
        hinge = PassiveAggressive(self.C, self.variant).compiled()
        return hinge._replace(epsilon=float(self.epsilon), numbers=1)
