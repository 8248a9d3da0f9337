"""Spectral filters, which regularise kernel methods by a function of the kernel matrix's eigenvalues (ROS11 §5).

With Q = Σ_i sigma_i u_i u_i' a filter g gives the coefficients c = Σ_i g(sigma_i) (u_i'y) u_i. 1 / sigma would fit the
data exactly; every filter is close to it for large sigma and bounded for small sigma, so that noise is not amplified.
sigma are the eigenvalues of Q itself, not of Q / n.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie import spec

Array = NDArray[np.float64]
Product = Callable[[Array], Array]
#: A function of y and alpha that solves (Q + alpha I) c = y.
Solve = Callable[[Array, float], Array]

_STEPS = spec.Setting(kind="whole", at_least=1)


class Filter(ABC):
    """Base class of spectral filters, functions g of the eigenvalues sigma of the kernel matrix."""

    #: The solvers that can apply it; "cholesky" calls :meth:`iterate`.
    solvers: ClassVar[tuple[str, ...]] = ("spectrum",)

    @abstractmethod
    def gains(self, sigma: Array, largest: float) -> Array:
        """Return g(sigma), the filter at the eigenvalues sigma; ``largest`` is the largest eigenvalue of the matrix."""

    def iterate(self, product: Product, solve: Solve, y: Array) -> Array:
        """Return the coefficients for targets y by iteration, without an eigendecomposition.

        ``product`` multiplies by the kernel matrix, and ``solve`` solves a ridge regression.
        """
        raise NotImplementedError(f"{self!r} needs the spectrum; choose solver='spectrum'")


@spec.part
class Tikhonov(Filter):
    """Tikhonov regularisation (ridge regression): g(sigma) = 1 / (sigma + alpha).

    g is the filter of the eigenvalues sigma of the kernel matrix.

    Parameters
    ----------
    alpha : float > 0, default=1.0
        The strength of the regularisation, as in scikit-learn's ``KernelRidge``; the lambda of the lecture is alpha /
        n.

    Examples
    --------
    >>> Tikhonov(alpha=1.0).gains(np.array([0.0, 1.0, 3.0]), 3.0)
    array([1.  , 0.5 , 0.25])
    """

    solvers: ClassVar[tuple[str, ...]] = ("cholesky", "spectrum")

    alpha: float = spec.field(default=1.0, above=0)

    def gains(self, sigma: Array, largest: float) -> Array:
        return 1.0 / (sigma + self.alpha)

    def iterate(self, product: Product, solve: Solve, y: Array) -> Array:
        return solve(y, self.alpha)


@spec.part
class IteratedTikhonov(Filter):
    """Iterated Tikhonov regularisation: ridge regression of the residuals, repeated ``steps`` times.

    Parameters
    ----------
    alpha : float > 0, default=1.0
        The alpha of each round, instead of the model's.
    steps : int, default=2
        The number of rounds; 1 is :class:`~coterie.batch.Tikhonov`.

    Notes
    -----
    A single factorisation serves all rounds. Its bias decreases with alpha^steps, whereas that of Tikhonov saturates.

    Examples
    --------
    >>> IteratedTikhonov(alpha=1.0, steps=2).gains(np.array([1.0]), 1.0)
    array([0.75])
    """

    solvers: ClassVar[tuple[str, ...]] = ("cholesky", "spectrum")

    alpha: float = spec.field(default=1.0, above=0)
    steps: int = spec.field(_STEPS, default=2)

    def gains(self, sigma: Array, largest: float) -> Array:
        # at sigma = 0 the limit is steps / alpha, and expm1 keeps all digits near it
        power = -np.expm1(-self.steps * np.log1p(sigma / self.alpha))
        return _over(power, sigma, self.steps / self.alpha)

    def iterate(self, product: Product, solve: Solve, y: Array) -> Array:
        c = np.zeros_like(y)
        for _ in range(self.steps):
            # ridge regression of the residuals y - Q c
            c = c + solve(y - product(c), self.alpha)
        return c


@spec.part
class Landweber(Filter):
    """Landweber iteration (gradient descent with early stopping): c_i = c_{i-1} + eta (y - Q c_{i-1}).

    c_i are the coefficients after step i, Q is the kernel matrix, y the targets, and eta the step size.

    Its filter is g(sigma) = eta Σ_{j < steps} (1 - eta sigma)^j.

    Parameters
    ----------
    steps : int
        The number of steps; 1 / (eta alpha) steps smooth about as much as Tikhonov with alpha.
    rate : float, optional
        eta, below 2 / (the largest eigenvalue of Q); by default 1 / (the largest eigenvalue).

    Raises
    ------
    ValueError
        When fitting, for a rate with which the steps diverge.

    Examples
    --------
    >>> Landweber(steps=2, rate=0.5).gains(np.array([1.0]), 1.0)
    array([0.75])
    """

    steps: int = spec.field(_STEPS)
    rate: float | None = spec.field(default=None, above=0)

    def gains(self, sigma: Array, largest: float) -> Array:
        rate = self._rate(largest)
        shrunk = rate * sigma
        small = np.minimum(shrunk, 0.5)
        # expm1 keeps the digits of 1 - (1 - x)^steps for small x; from x = 1 on log1p(-x) does not exist
        near = -np.expm1(self.steps * np.log1p(-small))
        power = np.where(shrunk <= 0.5, near, 1.0 - (1.0 - shrunk) ** self.steps)
        return _over(power, sigma, self.steps * rate)

    def _rate(self, largest: float) -> float:
        if self.rate is None:
            return _inverse(largest)
        # the residual along sigma shrinks by 1 - eta sigma in each step, which must stay above -1
        if self.rate * largest >= 2.0:
            raise ValueError(
                f"rate must be below 2 / {largest:.6g}, twice one over the largest eigenvalue, got {self.rate!r}"
            )
        return self.rate


@spec.part
class NuMethod(Filter):
    """Nu-method (accelerated gradient descent), which needs about the square root of Landweber's steps.

    The residual 1 - sigma g(sigma) is the polynomial r_steps with r(0) = 1 that is orthogonal on [0, largest] for the
    weight x^(2nu-1/2) (1-x)^(-1/2), x = sigma / largest.

    Parameters
    ----------
    steps : int
        The number of steps; they smooth about as much as Tikhonov with alpha = largest / steps².
    nu : float > 0, default=1.0
        The smoothness up to which the method is optimal.

    Examples
    --------
    >>> NuMethod(steps=1).gains(np.array([0.0, 1.0]), 1.0)
    array([1.2, 1.2])
    """

    steps: int = spec.field(_STEPS)
    nu: float = spec.field(default=1.0, above=0)

    def gains(self, sigma: Array, largest: float) -> Array:
        scale = _inverse(largest)
        before, g = np.zeros_like(sigma), np.zeros_like(sigma)
        for step in range(1, self.steps + 1):
            u, omega = self._step_sizes(step)
            before, g = g, g + u * (g - before) + omega * scale * (1.0 - sigma * g)
        return g

    def _step_sizes(self, i: int) -> tuple[float, float]:
        nu = self.nu
        shared = (i + 2 * nu - 1) * (2 * i + 4 * nu - 1)
        # recurrence of Jacobi polynomials (Engl, Hanke and Neubauer 1996, chapter 6), at first without momentum
        u = (i - 1) * (2 * i - 3) * (2 * i + 2 * nu - 1) / (shared * (2 * i + 2 * nu - 3)) if i > 1 else 0.0
        return u, 4 * (2 * i + 2 * nu - 1) * (i + nu - 1) / shared


@spec.part
class CutOff(Filter):
    """Spectral cut-off (principal components): g(sigma) = 1 / sigma for sigma >= threshold, else 0.

    g is the filter of the eigenvalues sigma of the kernel matrix.

    Parameters
    ----------
    threshold : float > 0
        In the units of the eigenvalues of Q.

    Examples
    --------
    >>> CutOff(threshold=1.0).gains(np.array([0.5, 1.0, 4.0]), 4.0)
    array([0.  , 1.  , 0.25])
    """

    threshold: float = spec.field(above=0)

    def gains(self, sigma: Array, largest: float) -> Array:
        return np.where(sigma >= self.threshold, 1.0 / np.maximum(sigma, self.threshold), 0.0)


def _over(power: Array, sigma: Array, limit: float) -> Array:
    """Return power / sigma, and its ``limit`` for sigma = 0."""
    positive = sigma > 0.0
    return np.where(positive, power / np.where(positive, sigma, 1.0), limit)


def _inverse(largest: float) -> float:
    """Return 1 / ``largest``, or 1 if that is 0."""
    return 1.0 / largest if largest > 0.0 else 1.0


def filter_of(used: Filter | None, alpha: float) -> Filter:
    """Return the filter ``used`` after validation; for None, a Tikhonov filter with ``alpha``.

    Raises
    ------
    TypeError
        If it is not a filter.
    """
    if used is None:
        return Tikhonov(alpha)
    spec.require_part("filter", used, "Landweber(steps=10)")
    if not isinstance(used, Filter):
        raise TypeError(f"filter must be one of coterie.batch.filters, got {used!r}")
    return used
