"""The p-norm hypothesis: moves add up in one space, and predictions are made in its dual."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from coterie import potentials, spec
from coterie.numeric.primal.p_norm import PNorm
from coterie.types import Matrix

TRANSFORM = spec.Setting(kind="text", choices=("Ainv", "Ainvsqrt", "none"))


@spec.part
class PNormed:
    """Weights ∇½‖v‖_p² of the sum v of all moves z = (T ⊗ I)φ (CCG08 §5), T made of M = A⁻¹.

    Parameters
    ----------
    p : float >= 2, or "auto"
        The norm; ``"auto"`` is 2 ln(K d), of the tasks and features seen, and at least 2.
    transform : {"Ainv", "Ainvsqrt", "none"}
        T = M, M^(1/2) or I.

    Raises
    ------
    ValueError
        If p is below 2 or not finite, or the transform unknown.

    Examples
    --------
    >>> PNormed(p=6)
    PNormed(p=6, transform='Ainv')
    """

    p: float | Literal["auto"] = spec.field(default="auto", words=("auto",), at_least=2)
    transform: Literal["Ainv", "Ainvsqrt", "none"] = spec.field(TRANSFORM, default="Ainv")

    forms: ClassVar[tuple[str, ...]] = ("levels", "repelling levels", "columns")

    def start(self, sharing: Any, features: int, dense: bool) -> PNorm:
        """Make a model of no task."""
        return PNorm.empty(sharing, features)

    def grown(self, model: PNorm, M: Matrix, features: int) -> PNorm:
        """Make the model of the same moves under M, with so many features: O(K² d + K³)."""
        p = potentials.PNorm(self.p).order(len(M) * features)
        return model.grown(transformed(M, self.transform), p, features)


def transformed(M: Matrix, transform: str) -> Matrix:
    """Return T for M."""
    if transform == "none":
        return np.eye(len(M))
    return np.ascontiguousarray(M) if transform == "Ainv" else root_of(M)


def root_of(M: Matrix) -> Matrix:
    """Return the symmetric square root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(M)
    return np.ascontiguousarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
