"""Potentials: functions from sums of updates to weights, w = ∇Φ*(v), and their constants in mistake bounds.

A quasi-additive learner sums its updates to v and predicts with w = ∇Φ*(v), where Φ* is the convex conjugate of the
potential Φ (FOR09 2.1.14, CCG08 §5 and §7). A potential is an object with a method ``gradient``; the mistake bound
needs three more methods, see :class:`Potential`.
"""

from __future__ import annotations

import math
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from coterie import spec

__all__ = ["ExponentiatedGradient", "PNorm", "Potential", "require_potential"]

Numbers = NDArray[np.float64]

#: The input on which a potential is tried: sums of all signs.
_TRIAL = np.array([[0.0, 0.5, -1.0], [2.0, -0.25, 0.0]])


@runtime_checkable
class Potential(Protocol):
    """Interface of potentials: a convex function Φ of all weights, defined by the gradient of its conjugate Φ*.

    A learner sums its updates to v, and its weights are w = ∇Φ*(v).

    Learning needs only ``gradient``. The others are for the bound on the number of mistakes, see
    :func:`coterie.evaluation.bounds.geometry_bounds.potential_bound`: Φ >= 0 takes the value 0, so that Φ*(0) = 0, and
    for all v and z

        Φ*(v + z) <= Φ*(v) + ∇Φ*(v)·z + ½ smoothness(N) ‖z‖².
    """

    def gradient(self, v: Numbers) -> Numbers:
        """Return w = ∇Φ*(v), with the shape of v, which must not be changed."""

    def value(self, w: Numbers) -> float:
        """Return Φ(w), the potential of weights w; infinite for weights that no sum of updates gives."""

    def norm(self, z: Numbers) -> float:
        """Return the norm ‖z‖ of an update z, in which Φ* is smooth."""

    def smoothness(self, size: int) -> float:
        """Return the smoothness constant of Φ*, in this norm, for ``size`` weights."""


@spec.part
class PNorm:
    """Squared p-norm: Φ* = ½‖v‖_p², w = sign(v) |v|^(p-1) / ‖v‖_p^(p-2) (FOR09 2.1.11).

    v is the sum of all updates, w = ∇Φ*(v) are the weights, and Φ* is the conjugate of the potential.

    Parameters
    ----------
    p : float >= 2, or "auto", default="auto"
        2 is the Perceptron; large values suit problems with few relevant features. ``"auto"`` is 2 ln N for N weights,
        at least 2.

    Raises
    ------
    ValueError
        If p is below 2 or not finite.

    Notes
    -----
    Φ* is (p - 1)-smooth in the p-norm. Figure 2.5 of the thesis has w = ∇½‖v‖_q² with q <= 2, for which its bound
    (2.1.15) does not hold.

    Examples
    --------
    >>> PNorm(3.0).gradient(np.array([2.0, -1.0, 0.0])).round(3)
    array([ 1.923, -0.481,  0.   ])
    """

    p: float | Literal["auto"] = spec.field(default="auto", words=("auto",), at_least=2)

    def order(self, size: int) -> float:
        """Return the exponent p for ``size`` weights; it depends on ``size`` only if ``p="auto"``."""
        return max(2.0, 2.0 * math.log(max(size, 1))) if self.p == "auto" else float(self.p)

    def gradient(self, v: Numbers) -> Numbers:
        """Return the weights ∇½‖v‖_p² for the sum v of updates, 0 at 0: O(N) for N weights."""
        p, top = self.order(v.size), float(np.abs(v).max(initial=0.0))
        if top == 0.0:
            return np.zeros_like(v)
        part = np.abs(v) / top  # powers of v itself would overflow
        power = part ** (p - 1.0)
        return np.asarray(np.copysign(power * (top / float(np.vdot(part, power)) ** (1.0 - 2.0 / p)), v))

    def value(self, w: Numbers) -> float:
        """Return the potential ½‖w‖_q² of weights w, with 1/p + 1/q = 1."""
        p = self.order(w.size)
        return 0.5 * float(np.linalg.norm(w.ravel(), p / (p - 1.0))) ** 2

    def norm(self, z: Numbers) -> float:
        """Return the p-norm ‖z‖_p of an update z."""
        return float(np.linalg.norm(z.ravel(), self.order(z.size)))

    def smoothness(self, size: int) -> float:
        """Return p - 1, the smoothness constant for ``size`` weights."""
        return self.order(size) - 1.0


@spec.part
class ExponentiatedGradient:
    """Exponentiated gradient (EG±): Φ* = total · ln(Σ cosh v_i / N), w = total · sinh v / Σ cosh v.

    v is the sum of all updates, w = ∇Φ*(v) are the N weights, and Φ* is the conjugate of the potential.

    The last chapter of FOR09 suggests it for problems with few relevant features. Each weight is the difference of two
    positive ones, proportional to ½e^v and ½e^-v, and all of these sum to ``total``: the algorithm of Kivinen and
    Warmuth (1997). In contrast to ``PNorm``, the rate of the learner changes the predictions.

    Parameters
    ----------
    total : float > 0, default=1.0
        The maximum of Σ |w_i|. It is a factor of all margins, and changes no decision.

    Raises
    ------
    ValueError
        If total is not positive and finite.

    Notes
    -----
    Φ is ``total`` times the relative entropy of the 2N positive weights to equal ones, at most total · ln 2N for
    ‖w‖_1 <= total, and infinite beyond. Φ* is ``total``-smooth in the maximum norm.

    Examples
    --------
    >>> ExponentiatedGradient().gradient(np.array([1.0, -1.0, 0.0])).round(3)
    array([ 0.288, -0.288,  0.   ])
    """

    total: float = spec.field(default=1.0, above=0)

    @np.errstate(under="ignore")
    def gradient(self, v: Numbers) -> Numbers:
        """Return the weights total · sinh v / Σ cosh v without overflow, for the sum v of updates: O(N)."""
        top = np.abs(v).max(initial=0.0)
        up, down = np.exp(v - top), np.exp(-v - top)
        return np.asarray((self.total / max(float(up.sum() + down.sum()), 1e-300)) * (up - down))

    def value(self, w: Numbers) -> float:
        """Return the potential Φ(w) of N weights w, by solving an equation in one variable: O(N) per iteration."""
        from scipy.optimize import brentq

        part = np.abs(w.ravel()) / self.total
        left, n = float(part.sum()), part.size
        if left == 0.0 or left > 1.0:
            return math.inf if left else 0.0
        # 1 = Σ sqrt(x² + part²) for x = 1 / Σ cosh v, with sinh v = part / x
        x = brentq(lambda x: float(np.hypot(x, part).sum()) - 1.0, 0.0, 2.0 / n) if left < 1.0 else 0.0
        positive = part[part > 0.0]
        lengths = positive @ np.log(positive + np.hypot(positive, x)) + math.log(n)  # v + ln x
        return self.total * max(0.0, float(lengths) + (1.0 - left) * math.log(max(x, 1e-300)))

    def norm(self, z: Numbers) -> float:
        """Return the maximum norm of an update z, max_i |z_i|."""
        return float(np.abs(z).max(initial=0.0))

    def smoothness(self, size: int) -> float:
        """Return ``total``, the smoothness constant in the maximum norm."""
        return self.total


def require_potential(potential: object, role: str = "potential") -> None:
    """Raise TypeError if ``potential`` is no potential; ``role`` is the name of the parameter in the message.

    Raises
    ------
    TypeError
        If it is not a part, or has no gradient.
    ValueError
        If its gradient is not one finite number per weight.
    """
    spec.require_part(role, potential, "PNorm(p=4.0)")
    if not callable(getattr(potential, "gradient", None)):
        raise TypeError(f"{role} must have a method gradient, as PNorm has, got {potential!r}")
    checked(potential, _TRIAL)


def checked(potential: Any, v: Numbers) -> Numbers:
    """Return the weights ∇Φ*(v); raise ValueError unless they have the shape of v and are finite."""
    w = np.asarray(potential.gradient(v), np.float64)
    if w.shape != v.shape or not np.isfinite(w).all():
        what = f"numbers of shape {w.shape}" if w.shape != v.shape else "numbers that are not finite"
        raise ValueError(
            f"the gradient of {potential!r} must be one finite number per weight, shape {v.shape}, got {what}"
        )
    return w
