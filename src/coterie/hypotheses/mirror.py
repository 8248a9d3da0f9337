"""Weights of mirror descent under several shares at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.numeric.mirror_experts import MirrorExperts, Shares
from coterie.potentials import Potential, checked, require_potential

#: Variances of tasks, from tasks as different as can be to tasks that are one.
VARIANCES = (1.0, *(4.0**-k for k in range(1, 7)), 0.0)


@spec.part
class MirrorDescent:
    """Experts of mirror descent, each for tasks of another variance (Cesa-Bianchi, Laforgue, Paudice, Pontil 2022).

    Parameters
    ----------
    potential : potential, optional
        φ of each task's weights, such as ``potentials.PNorm()``; ½‖w‖² without.
    radius : float > 0
        D: how large a task's weights are expected to be, φ(w_i) ≤ ½D².
    variances : sequence of float
        σ²: how far tasks are expected to be from their mean, Σ ‖w_i - w̄‖² ≤ (N - 1) σ² D², each from 0 to 1.

    Raises
    ------
    TypeError
        If the potential is no part with all that a bound needs.
    ValueError
        If the radius is not positive, or a variance not from 0 to 1.

    Examples
    --------
    >>> MirrorDescent(radius=2.0, variances=(1.0, 0.0))
    MirrorDescent(radius=2.0, variances=(1.0, 0.0))
    """

    potential: Any = None
    radius: float = spec.field(default=1.0, above=0)
    variances: Sequence[float] = VARIANCES

    forms: ClassVar[tuple[str, ...]] = ("levels",)

    def __post_init__(self) -> None:
        if self.potential is not None:
            require_potential(self.potential)
            if not isinstance(self.potential, Potential):
                raise TypeError(
                    f"potential must have value, norm and smoothness beside its gradient, got {self.potential!r}"
                )
        given = self.variances
        if np.ndim(given) != 1 or not len(given) or not all(spec.is_number(v) and 0.0 <= v <= 1.0 for v in given):
            raise ValueError(f"variances must be numbers from 0 to 1, at least one, got {given!r}")
        object.__setattr__(self, "variances", tuple(map(float, given)))

    def start(self, sharing: Any, features: int, dense: bool) -> MirrorExperts:
        """Make a model of no task."""
        return MirrorExperts.empty(sharing, features, len(self.variances))

    def shares(self, tasks: int, features: int) -> Shares:
        """Return the experts for so many tasks, each with the b that is best for its variance."""
        b = np.array([best_b(variance, tasks) for variance in self.variances])
        rho = np.array(self.variances) * (tasks - 1) / max(tasks, 1)
        own = 1.0 / np.sqrt(1.0 + b)
        level = 0.5 * self.radius**2 * tasks * (1.0 + np.where(rho > 0.0, b, 0.0) * rho)
        smoothness = 1.0 if self.potential is None else self.potential.smoothness(features)
        gradient = None if self.potential is None else partial(checked, self.potential)
        return Shares(own, np.sqrt(level / smoothness), gradient)

    def length(self, x: NDArray[np.float64]) -> float:
        """Return the norm of a record, in which the potential is smooth."""
        return float(np.linalg.norm(x)) if self.potential is None else float(self.potential.norm(x))


def best_b(variance: float, tasks: int) -> float:
    """Return the b of A = (1 + b) I - b 11'/N for which the regret bound is least; infinite for one model of all.

    With ρ = σ²(N - 1)/N the square of the bound has the factor (1 + bρ)(1 + (N - 1)/(1 + b)), which is least at
    1 + b = sqrt((1 - ρ)(N - 1)/ρ), or at b = 0. The paper takes b = N, where it is up to twice as large.
    """
    rho = variance * (tasks - 1) / max(tasks, 1)
    if tasks <= 1:
        return 0.0
    return max(0.0, math.sqrt((1.0 - rho) * (tasks - 1) / rho) - 1.0) if rho > 0.0 else math.inf
