"""Weights that are the gradient of a potential at the sum of all updates.

The arithmetic is in ``_compiled/mirrored.py``.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from coterie import spec
from coterie._compiled.mirrored import Mirrored
from coterie.types import Matrix, Part
from coterie.updates.potentials import checked, require_potential

TRANSFORM = spec.Setting(kind="text", choices=("Ainv", "Ainvsqrt", "none"))


@spec.part
class PotentialWeights:
    """Weights w = ∇Φ*(v), with v = rate Σ y z the sum of all updates z = (T ⊗ I)φ (FOR09 2.1.14).

    Φ* is the conjugate of the potential, y the label, φ the record in the block of its task, T a K x K matrix, and M =
    A⁻¹ the matrix by which the K tasks share updates.

    Parameters
    ----------
    potential : potential
        An object with a method ``gradient``, such as :class:`coterie.updates.PNorm`.
    transform : {"Ainv", "Ainvsqrt", "none"}, default="Ainv"
        T = M, M^(1/2) or I.
    rate : float > 0, default=1.0
        λ, the weight of the loss relative to the divergence from the previous weights (2.1.13).

    Raises
    ------
    TypeError
        If the potential has no gradient.
    ValueError
        If its gradient is not one finite number per weight, the rate not positive, or the transform unknown.

    Examples
    --------
    >>> from coterie.updates import ExponentiatedGradient
    >>> PotentialWeights(ExponentiatedGradient(), rate=0.5)
    PotentialWeights(potential=ExponentiatedGradient(total=1.0), transform='Ainv', rate=0.5)
    """

    potential: Part
    transform: Literal["Ainv", "Ainvsqrt", "none"] = spec.field(TRANSFORM, default="Ainv")
    rate: float = spec.field(default=1.0, above=0)

    forms: ClassVar[tuple[str, ...]] = ("levels", "repelling levels", "columns")

    def __post_init__(self) -> None:
        require_potential(self.potential)

    def start(self, sharing: Any, features: int, dense: bool) -> Mirrored:
        """Return a model without tasks."""
        return Mirrored.empty(sharing, features)

    def resized(self, model: Mirrored, M: Matrix, features: int) -> Mirrored:
        """Return the model for another relation matrix M (K x K) and another number of features d: O(K² d + K³)."""
        gradient = partial(checked, self.potential)
        return model.resized(transformed(M, self.transform), float(self.rate), gradient, features)

    def move(self, model: Mirrored, i: int, x: Matrix) -> None:
        """Add the vector x to the sum of updates of task i, and recompute all weights: O(K² d) and one gradient."""
        model.move(i, x, float(self.rate), partial(checked, self.potential))


def transformed(M: Matrix, transform: str) -> Matrix:
    """Return the matrix T of a transform: M itself ("Ainv"), its square root ("Ainvsqrt"), or I ("none")."""
    if transform == "none":
        return np.eye(len(M))
    return np.ascontiguousarray(M) if transform == "Ainv" else root_of(M)


def root_of(M: Matrix) -> Matrix:
    """Return the symmetric square root of a positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(M)
    return np.ascontiguousarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
