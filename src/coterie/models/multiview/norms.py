"""Norms over several views, the gradients of which map sums of updates to weights: W = ∇ ½‖V‖²."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie._compiled.views.forms import Widths
from coterie._compiled.views.norm_potentials import Beyond, Group, Schatten, Spectral
from coterie._compiled.views.one_space import DenseMatrix, SparseMatrix, empty_matrix
from coterie._compiled.views.own_spaces import Flat
from coterie.types import Part
from coterie.updates.potentials import checked, require_potential

#: Singular values on which a gauge is tried.
_SIZES = np.array([0.0, 0.25, 1.0, 1.0, 3.0])
EXPONENT = spec.Setting(at_least=1, words=("auto",))


def exponent_of(p: float | Literal["auto"], r: int) -> float:
    """Return p, or for p="auto" max(1, ln r) for r singular values. The 2p-norm is then close to the maximum."""
    return max(1.0, math.log(r)) if p == "auto" else float(p)


class _OfOneSpace(ABC):
    """Base class of norms for views in one feature space.

    They depend on the singular values of V = [v_1 … v_K], with the sum of the updates of each view as a column.
    """

    one_space: ClassVar[bool] = True
    inner: ClassVar[float] = 2.0

    @abstractmethod
    def potential(self, n: int, r: int) -> Schatten:
        """Return the initial state of the norm for n views (or features, if those are fewer) and r singular values."""

    def rank(self, widths: Widths) -> int:
        """Return the number of singular values for views with these numbers of features: min(d, K), at least 1.

        K is the number of views, and d the number of features of each.
        """
        return max(min(max(widths), len(widths)), 1)

    def start(self, widths: Widths, dense: bool) -> tuple[DenseMatrix | SparseMatrix, Schatten]:
        """Return zero weights for views with these numbers of features, and the initial state of the norm."""
        store = empty_matrix(widths, dense)
        return store, self.potential(store.order, self.rank(widths))


@spec.part
class SchattenNorm(_OfOneSpace):
    """‖V‖_S2p = (Σ σ_i^2p)^(1/2p) over the singular values of V = [v_1 … v_K], views of one space (FOR09 3.1.1).

    W = ∇ ½‖V‖² = V F with F = Tr(G^p)^(1/p - 1) G^(p - 1), G = V'V; 0 at V = 0.

    Parameters
    ----------
    p : float >= 1, or "auto"
        1 is the Perceptron on all views side by side; ``"auto"`` is ln min(d, K), at least 1 (CCG08 §7).

    Raises
    ------
    ValueError
        If p is below 1 or not finite.

    Examples
    --------
    >>> SchattenNorm(2.0)
    SchattenNorm(p=2.0)
    """

    compiled: ClassVar[bool] = True

    p: float | Literal["auto"] = spec.field(EXPONENT, default=2.0)

    def potential(self, n: int, r: int) -> Schatten:
        """Return the initial state of the norm for n views (or features, if those are fewer) and r singular values."""
        return Schatten.empty(n, exponent_of(self.p, r))


@spec.part
class SpectralNorm(_OfOneSpace):
    """Any unitarily invariant norm or potential of V = [v_1 … v_K], as a function of the singular values (CCG08 §7).

    W = L diag(∇Φ*(σ)) R' for V = L diag(σ) R' (Theorem 9), where Φ* does not depend on the order and the signs of the
    min(d, K) singular values, or of K of them in the space of a kernel. With ``PNorm(2 p)`` it is
    :class:`SchattenNorm`.

    Parameters
    ----------
    gauge : potential
        A symmetric potential, such as ``updates.ExponentiatedGradient()``, or a custom object with a method
        ``gradient``: half the square of a symmetric gauge function, or another convex function.

    Raises
    ------
    TypeError
        If the gauge has no gradient.
    ValueError
        If its gradient is not one finite number per singular value, or not symmetric: it must follow the signs and the
        order of the values, be 0 at 0, and increase with the values.

    Examples
    --------
    >>> from coterie.updates import ExponentiatedGradient
    >>> SpectralNorm(ExponentiatedGradient())
    SpectralNorm(gauge=ExponentiatedGradient(total=1.0))
    """

    compiled: ClassVar[bool] = False

    gauge: Part

    def __post_init__(self) -> None:
        require_potential(self.gauge, "gauge")
        gradient, turned = self.gradient(_SIZES), self.gradient(-_SIZES[::-1])
        if not (np.allclose(turned, -gradient[::-1]) and gradient[0] == 0.0 and (np.diff(gradient) >= 0.0).all()):
            raise ValueError(
                f"the gauge {self.gauge!r} must be symmetric in the singular values: its gradient must follow their "
                "order and signs, be 0 at 0, and increase with them"
            )

    def gradient(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of the conjugate potential Φ* at these singular values.

        It maps sums of updates to weights.
        """
        return checked(self.gauge, sizes)

    def potential(self, n: int, r: int) -> Spectral:
        """Return the initial state of the norm for n views (or features, if those are fewer) and r singular values."""
        return Spectral.empty(n, 1.0)


@spec.part
class GroupNorm:
    """Group norm (Σ_k ‖v_k‖_r^2p)^(1/2p): the r-norm within each view, the 2p-norm over views of any sizes.

    W_k = ∇_k ½‖V‖² = ‖V‖^(2 - 2p) ‖v_k‖_r^(2p - r) sign(v_k)|v_k|^(r - 1). With r = 2 it is the Schatten norm of views
    in orthogonal subspaces (FOR09 4.1.6); with r = 2p the norm of all features side by side, whose potential is that of
    the p-norm Perceptron.

    Parameters
    ----------
    p : float >= 1, or "auto"
        1 adds the views; larger values prefer those with longer sums; ``"auto"`` is ln K, at least 1.
    inner : float >= 2
        The exponent r.
    beyond_span : float >= 0
        The length of an additional part of every v_k, orthogonal to all records: ‖v_k‖² + beyond_span² replaces ‖v_k‖²
        (FOR09 A.2.1).

    Raises
    ------
    ValueError
        If p is below 1, inner below 2, beyond_span negative, or one is not finite; for beyond_span with inner other
        than 2.

    Examples
    --------
    >>> GroupNorm(3.0)
    GroupNorm(p=3.0, inner=2.0, beyond_span=0.0)
    """

    one_space: ClassVar[bool] = False
    compiled: ClassVar[bool] = True

    p: float | Literal["auto"] = spec.field(EXPONENT, default=2.0)
    inner: float = spec.field(default=2.0, at_least=2)
    beyond_span: float = spec.field(default=0.0, at_least=0)

    def __post_init__(self) -> None:
        if self.beyond_span > 0 and self.inner != 2.0:
            raise ValueError(f"beyond_span needs inner=2, got inner={self.inner!r}")

    def rank(self, widths: Widths) -> int:
        """Return the number of views, which is the number of singular values of orthogonal views."""
        return len(widths)

    def potential(self, n: int, r: int) -> Group:
        """Return the initial state of the norm for n views and r singular values."""
        p = exponent_of(self.p, r)
        if self.beyond_span > 0:
            return Beyond.with_part(n, p, float(self.inner), float(self.beyond_span))
        return Group.empty(n, p, float(self.inner))

    def start(self, widths: Widths, dense: bool) -> tuple[Flat, Group]:
        """Return zero weights for views with these numbers of features, and the initial state of the norm."""
        return Flat.empty(widths), self.potential(len(widths), self.rank(widths))


Norm = SchattenNorm | SpectralNorm | GroupNorm
