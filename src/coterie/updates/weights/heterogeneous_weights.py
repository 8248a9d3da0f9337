"""Weights of tasks with separate feature spaces, which are drawn to similar margins (MMPERC).

The arithmetic is in ``_compiled/dual/own_features.py``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from coterie import spec
from coterie._compiled.core.points import Kernel
from coterie._compiled.dual.own_features import Coupling, Joined, Rounds
from coterie.types import Codes, Matrix

#: Eigenvalues of A less the smallest count as 0 below this fraction of the largest: their roots would not be small.
ROUNDING = 1e-12


@spec.part
class Heterogeneous:
    """Weights of tasks with separate feature spaces, under A = I + Σ z_s z_s' (CCG08 §6).

    A is the D x D matrix between the D features of all K tasks, and s numbers the rounds with a mistake.

    z_s = sqrt(b K)(φ_i - φ/K) of each round s with a mistake, φ_i being the instance of its active task in its own
    part of the space and φ the sum of all instances, so that u'z_s z_s'u = b K (u_i·x_i - mean_k u_k·x_k)². With a
    relation z_s = Σ_k R_ik φ_k, see :func:`signed_margin`.

    Parameters
    ----------
    b : float >= 0, default=1.0
        The strength of the similarity of tasks; 0 makes them independent.
    kernels : kernel, tuple of kernels, mapping from task to kernel, or None
        One kernel for all tasks, or one per task; by default linear.
    solver : {"auto", "primal", "dual"}, default="auto"
        The primal form stores A⁻¹, shape (D, D), the dual form (I + Z'Z)⁻¹ of the mistakes. ``"auto"`` starts with the
        dual form, and changes to the primal form after D mistakes if there are no kernels.

    Raises
    ------
    ValueError
        If b is negative or not finite, for an unknown solver, or for the primal form with kernels.

    Examples
    --------
    >>> Heterogeneous(b=2.0)
    Heterogeneous(b=2.0, solver='auto')
    """

    b: float = spec.field(default=1.0, at_least=0)
    kernels: Any = None
    solver: Literal["auto", "primal", "dual"] = spec.field(default="auto", choices=("auto", "primal", "dual"))

    def __post_init__(self) -> None:
        if self.solver == "primal" and self.kernels is not None:
            raise ValueError(f"solver='primal' does not support kernels, got {self.kernels!r}")

    def start(self, owner: Codes) -> Joined | Rounds:
        """Return the initial model; ``owner`` is the task of each feature."""
        return (Joined if self.solver == "primal" else Rounds).empty(owner)

    def outgrown(self, model: Joined | Rounds) -> bool:
        """Return True if the primal form would now be smaller than the dual form, and a change to it is allowed."""
        if self.solver != "auto" or model.solver == "primal" or self.kernels is not None:
            return False
        return int(model.count[0]) >= len(model.owner)

    def coupling(self, tasks: Sequence[Hashable], M: Matrix | None = None) -> Coupling:
        """Return the matrix R of :func:`signed_margin` for a relation matrix M (or None), and the kernel of each task.

        Raises
        ------
        ValueError
            If there is not one kernel per task.
        """
        return Coupling(signed_margin(float(self.b), len(tasks), M), self._kernels_of(tasks))

    def _kernels_of(self, tasks: Sequence[Hashable]) -> tuple[Kernel, ...] | None:
        kernels = self.kernels
        if kernels is None:
            return None
        if isinstance(kernels, Mapping):
            if set(kernels) != set(tasks):
                raise ValueError(f"kernels must have one entry per task, {list(tasks)}, got {list(kernels)}")
            kernels = tuple(kernels[task] for task in tasks)
        elif not isinstance(kernels, tuple):
            kernels = (kernels,) * len(tasks)
        if len(kernels) != len(tasks):
            raise ValueError(f"kernels must have one kernel per task: expected {len(tasks)}, got {len(kernels)}")
        return kernels


def signed_margin(b: float, K: int, M: Matrix | None = None) -> Matrix:
    """Return the K x K matrix R that couples the margins m of K tasks.

    A round with active task i penalises (R m)_i² with the strength b. M is the matrix of a relation, or None.

    R = sqrt(b K)(I - 11'/K), as in CCG08 §6. With M = A⁻¹ of a relation R = sqrt(b K)(A/λ - I)^½, λ being A's least
    eigenvalue: the scale of A does not change decisions, and with this one A/λ is I plus the coupling. So the mean
    over tasks is b m'(A/λ - I)m, the penalty of A on task vectors, applied to margins; for the A of
    :class:`~coterie.MeanRegularized` with b = 1, the R of the paper.
    """
    if M is None:
        return np.asarray(np.sqrt(b * K) * (np.eye(K) - 1.0 / K))
    values, U = np.linalg.eigh(M)
    beyond = values[-1] / values - 1.0
    beyond[beyond < ROUNDING * (1.0 + beyond[0])] = 0.0
    return np.asarray(np.sqrt(b * K) * (U * np.sqrt(beyond)) @ U.T)
