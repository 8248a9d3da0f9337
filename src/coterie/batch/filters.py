"""Spectral filters: how much of the data is fitted along each eigenvector of the kernel matrix (ROS11 §5).

With Q = Σ_i sigma_i u_i u_i' a filter g gives the coefficients c = Σ_i g(sigma_i) (u_i'y) u_i. 1 / sigma would fit the
data exactly; every filter follows it where sigma is large, and stays bounded where sigma is small and noise would be
blown up. sigma are the eigenvalues of Q itself, not of Q / n.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from coterie import spec

Array = NDArray[np.float64]
Product = Callable[[Array], Array]

#: Eigenvalues of less than this part of the largest one are rounding.
ROUNDING = 1e-14


class Solve(Protocol):
    """Solves (Q + alpha I) c = y."""

    def __call__(self, y: Array, alpha: float) -> Array:
        """The solution for one right-hand side."""


class Filter(Protocol):
    """What solvers ask of a filter."""

    varied: ClassVar[str]

    def gains(self, sigma: Array, largest: float) -> Array:
        """g(sigma) for eigenvalues of which the largest is given."""

    def along(self, sigma: Array, largest: float, values: Sequence[Any]) -> Iterator[Array]:
        """The gains for each of several values of the parameter that is varied."""


class ByProducts(Protocol):
    """What a filter offers besides where it can do without the spectrum."""

    def iterate(self, product: Product, solve: Solve, y: Array, largest: Callable[[], float]) -> Array:
        """C by products with Q or solutions of Tikhonov systems, where there is no spectrum."""


class _OneByOne:
    """Filters whose gains have a closed form."""

    varied: ClassVar[str]

    def along(self, sigma: Array, largest: float, values: Sequence[Any]) -> Iterator[Array]:
        """The gains for each of several values of the parameter that is varied."""
        for value in values:
            yield changed(self, value).gains(sigma, largest)


def changed(used: Any, value: Any) -> Any:
    """The filter with another value of the parameter that is varied."""
    return type(used)(**{**spec.fields_of(used), used.varied: value})


@spec.part
class Tikhonov(_OneByOne):
    """g(sigma) = 1 / (sigma + alpha): the minimiser of the squared errors plus alpha ‖f‖².

    Parameters
    ----------
    alpha : float > 0
        As in scikit-learn's ``KernelRidge``; the lecture's lambda is alpha / n.

    Examples
    --------
    >>> Tikhonov(alpha=1.0).gains(np.array([0.0, 1.0, 3.0]), 3.0)
    array([1.  , 0.5 , 0.25])
    """

    varied: ClassVar[str] = "alpha"

    alpha: float = 1.0

    def __post_init__(self) -> None:
        spec.check_positive("alpha", self.alpha)

    def gains(self, sigma: Array, largest: float) -> Array:
        return 1.0 / (sigma + self.alpha)

    def iterate(self, product: Product, solve: Solve, y: Array, largest: Callable[[], float]) -> Array:
        return solve(y, self.alpha)


@spec.part
class IteratedTikhonov(_OneByOne):
    """g(sigma) = (1 - (alpha / (sigma + alpha))^steps) / sigma: ridge regression of what is left, so many times.

    Parameters
    ----------
    alpha : float > 0
        Of each round; that of the model is not used.
    steps : int
        How many rounds; one is :class:`Tikhonov`.

    Notes
    -----
    A single factorisation serves all rounds. Its bias falls with alpha^steps, where Tikhonov's saturates.

    Examples
    --------
    >>> IteratedTikhonov(alpha=1.0, steps=2).gains(np.array([1.0]), 1.0)
    array([0.75])
    """

    varied: ClassVar[str] = "steps"

    alpha: float = 1.0
    steps: int = 2

    def __post_init__(self) -> None:
        spec.check_positive("alpha", self.alpha)
        spec.check_count("steps", self.steps)

    def gains(self, sigma: Array, largest: float) -> Array:
        # at sigma = 0 the limit is steps / alpha, and expm1 keeps all digits near it
        power = -np.expm1(-self.steps * np.log1p(sigma / self.alpha))
        return _over(power, sigma, self.steps / self.alpha)

    def iterate(self, product: Product, solve: Solve, y: Array, largest: Callable[[], float]) -> Array:
        c = np.zeros_like(y)
        for _ in range(self.steps):
            c = c + solve(y - product(c), self.alpha)
        return c


@spec.part
class Landweber(_OneByOne):
    """Gradient steps, stopped early (L2 boosting): c_i = c_{i-1} + eta (y - Q c_{i-1}).

    Its filter is g(sigma) = eta Σ_{j < steps} (1 - eta sigma)^j.

    Parameters
    ----------
    steps : int
        How many; about 1 / (eta alpha) of them smooth as much as Tikhonov with alpha.
    rate : float, optional
        eta, below 2 / (the largest eigenvalue of Q); 1 / (the largest eigenvalue) without.

    Raises
    ------
    ValueError
        When fitting, for a rate with which the steps would diverge.

    Examples
    --------
    >>> Landweber(steps=2, rate=0.5).gains(np.array([1.0]), 1.0)
    array([0.75])
    """

    varied: ClassVar[str] = "steps"

    steps: int
    rate: float | None = None

    def __post_init__(self) -> None:
        spec.check_count("steps", self.steps)
        if self.rate is not None:
            spec.check_positive("rate", self.rate)

    def gains(self, sigma: Array, largest: float) -> Array:
        rate = self._rate(largest)
        shrunk = rate * sigma
        small = np.minimum(shrunk, 0.5)
        near = -np.expm1(self.steps * np.log1p(-small))
        power = np.where(shrunk <= 0.5, near, 1.0 - (1.0 - shrunk) ** self.steps)
        return _over(power, sigma, self.steps * rate)

    def iterate(self, product: Product, solve: Solve, y: Array, largest: Callable[[], float]) -> Array:
        rate, c = self._rate(largest()), np.zeros_like(y)
        for _ in range(self.steps):
            c = c + rate * (y - product(c))
        return c

    def _rate(self, largest: float) -> float:
        if self.rate is None:
            return _inverse(largest)
        if self.rate * largest >= 2.0:
            raise ValueError(
                f"rate must be below 2 / {largest:.6g}, twice one over the largest eigenvalue, got {self.rate!r}"
            )
        return self.rate


@spec.part
class NuMethod:
    """Accelerated gradient steps (the nu-method of Brakhage): as smooth as Landweber in the square root of its steps.

    The residual 1 - sigma g(sigma) is the polynomial r_steps with r(0) = 1 that is orthogonal on [0, largest] for the
    weight x^(2nu-1/2) (1-x)^(-1/2), x = sigma / largest.

    Parameters
    ----------
    steps : int
        How many; steps² smooths about as much as alpha = largest / steps².
    nu : float > 0
        Up to which smoothness the method is optimal.

    Examples
    --------
    >>> NuMethod(steps=1).gains(np.array([0.0, 1.0]), 1.0)
    array([1.2, 1.2])
    """

    varied: ClassVar[str] = "steps"

    steps: int
    nu: float = 1.0

    def __post_init__(self) -> None:
        spec.check_count("steps", self.steps)
        spec.check_positive("nu", self.nu)

    def gains(self, sigma: Array, largest: float) -> Array:
        return next(self.along(sigma, largest, [self.steps]))

    def along(self, sigma: Array, largest: float, values: Sequence[Any]) -> Iterator[Array]:
        """The gains for several numbers of steps, all of one run."""
        for steps in values:
            spec.check_count("steps", steps)
        kept: dict[int, Array] = {}
        run = self._run(lambda g: sigma * g, np.ones_like(sigma), largest)
        for step in range(1, max(values) + 1):
            g = next(run)
            if step in values:
                kept[step] = g
        return iter([kept[int(steps)] for steps in values])

    def iterate(self, product: Product, solve: Solve, y: Array, largest: Callable[[], float]) -> Array:
        run = self._run(product, y, largest())
        for _ in range(self.steps - 1):
            next(run)
        return next(run)

    def _run(self, product: Product, y: Array, largest: float) -> Iterator[Array]:
        """C after each step."""
        scale = _inverse(largest)
        before, c = np.zeros_like(y), np.zeros_like(y)
        step = 0
        while True:
            step += 1
            u, omega = self._step_sizes(step)
            before, c = c, c + u * (c - before) + omega * scale * (y - product(c))
            yield c

    def _step_sizes(self, i: int) -> tuple[float, float]:
        nu = self.nu
        shared = (i + 2 * nu - 1) * (2 * i + 4 * nu - 1)
        u = (i - 1) * (2 * i - 3) * (2 * i + 2 * nu - 1) / (shared * (2 * i + 2 * nu - 3)) if i > 1 else 0.0
        return u, 4 * (2 * i + 2 * nu - 1) * (i + nu - 1) / shared


@spec.part
class CutOff(_OneByOne):
    """g(sigma) = 1 / sigma from a threshold on and 0 below it (truncated singular values, principal components).

    Parameters
    ----------
    threshold : float > 0
        In the units of the eigenvalues of Q.

    Notes
    -----
    It needs the spectrum: with more rows than a matrix of them fits in memory there is no solver for it.

    Examples
    --------
    >>> CutOff(threshold=1.0).gains(np.array([0.5, 1.0, 4.0]), 4.0)
    array([0.  , 1.  , 0.25])
    """

    varied: ClassVar[str] = "threshold"

    threshold: float

    def __post_init__(self) -> None:
        spec.check_positive("threshold", self.threshold)

    def gains(self, sigma: Array, largest: float) -> Array:
        return np.where(sigma >= self.threshold, 1.0 / np.maximum(sigma, self.threshold), 0.0)


def _over(power: Array, sigma: Array, limit: float) -> Array:
    """Power / sigma, and its limit where sigma is zero."""
    positive = sigma > 0.0
    return np.where(positive, power / np.where(positive, sigma, 1.0), limit)


def _inverse(largest: float) -> float:
    """1 / the largest eigenvalue; 1 where all are zero, and the functions are whatever c is."""
    return 1.0 / largest if largest > 0.0 else 1.0


def filter_of(used: Any, alpha: float) -> Any:
    """The filter: Tikhonov with alpha where none is given.

    Raises
    ------
    TypeError
        If it is none of the filters.
    """
    if used is None:
        return Tikhonov(alpha)
    spec.require_part("filter", used, "Landweber(steps=10)")
    if not hasattr(used, "gains"):
        raise TypeError(f"filter must be one of coterie.batch.filters, got {used!r}")
    return used
