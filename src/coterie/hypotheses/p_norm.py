"""The p-norm hypothesis: moves add up in one space, and predictions are made in its dual."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.numeric.p_norm import PNorm, rescale

Matrix = NDArray[np.float64]

TRANSFORMS = ("Ainv", "Ainvsqrt", "none")


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

    p: float | Literal["auto"] = "auto"
    transform: Literal["Ainv", "Ainvsqrt", "none"] = "Ainv"

    forms: ClassVar[tuple[str, ...]] = ("levels", "repelling levels", "columns")

    def __post_init__(self) -> None:
        number = isinstance(self.p, (int, float)) and not isinstance(self.p, bool)
        if self.p != "auto" and not (number and 2 <= self.p < math.inf):
            raise ValueError(f"p must be 'auto' or a finite number, at least 2, got {self.p!r}")
        if self.transform not in TRANSFORMS:
            raise ValueError(f"transform must be one of {', '.join(TRANSFORMS)}, got {self.transform!r}")

    def start(self, sharing: Any, features: int, dense: bool) -> PNorm:
        """A model of no task."""
        none = np.zeros((0, features))
        return PNorm(none, none.copy(), none.copy(), none.copy(), np.zeros((0, 0)), np.zeros(4), sharing)

    def order(self, tasks: int, features: int) -> float:
        """The p for so many weights."""
        if self.p != "auto":
            return float(self.p)
        return max(2.0, 2.0 * math.log(max(tasks * features, 1)))

    def transformed(self, M: Matrix) -> Matrix:
        """T for M."""
        if self.transform == "none":
            return np.eye(len(M))
        return np.ascontiguousarray(M) if self.transform == "Ainv" else root_of(M)

    def grown(self, model: PNorm, M: Matrix, features: int) -> PNorm:
        """The model of the same moves under M, with so many features: O(K² d + K³)."""
        K, d = model.raw.shape
        raw = np.pad(model.raw, ((0, len(M) - K), (0, features - d)))
        T = self.transformed(M)
        scalars = np.array([0.0, 0.0, 0.0, self.order(*raw.shape)])
        made = PNorm(raw, T @ raw, np.zeros_like(raw), np.zeros_like(raw), T, scalars, model.sharing)
        rescale(made)
        return made


def root_of(M: Matrix) -> Matrix:
    """The symmetric square root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(M)
    return np.ascontiguousarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
