"""Normally distributed weights w ~ N(mean, P) with a full covariance matrix, and their updates."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.checks import require, require_shape, require_within
from coterie._compiled.core.generic import no_refcount, no_refcount_noinline

#: The largest magnitude of numbers in a model, so that their squares and products with labels stay finite.
LARGEST = 1e75


class Gaussian(NamedTuple):
    """Weights with a full covariance: ``mean`` (c,) and ``covariance`` (c, c)."""

    mean: Any
    covariance: Any

    @classmethod
    def from_priors(cls, width: int, priors: NDArray[np.float64]) -> Gaussian:
        """Return weights with mean 0, and prior variances for the first weight and for the others."""
        return cls(np.zeros(width), np.diag(priors[np.minimum(np.arange(width), 1)]))

    def resized(self, width: int, priors: NDArray[np.float64]) -> Gaussian:
        """Copy the first ``width`` weights, and add new ones with prior variances."""
        copy, common = Gaussian.from_priors(width, priors), min(width, len(self.mean))
        copy.mean[:common] = self.mean[:common]
        copy.covariance[:common, :common] = self.covariance[:common, :common]
        return copy

    def check(self, name: str, width: int) -> None:
        """Raise ValueError if the arrays have different sizes or invalid entries."""
        require_shape(f"mean of {name}", self.mean, width)
        require_within(f"mean of {name}", self.mean, -LARGEST, LARGEST)
        require_shape(f"covariance of {name}", self.covariance, width, width)
        require_within(f"covariance of {name}", self.covariance, -LARGEST, LARGEST)
        require(np.array_equal(self.covariance, self.covariance.T), f"covariance of {name} is not symmetric")
        require_within(f"variances of {name}", np.diag(self.covariance), 0.0, LARGEST)
        if len(self.covariance):  # rounding leaves eigenvalues a little below 0
            least = -1e-6 * np.trace(self.covariance)
            require(np.linalg.eigvalsh(self.covariance)[0] >= least, f"covariance of {name} has negative variances")


@no_refcount
def bounded(number):
    """Clip a number to the range from -``LARGEST`` to ``LARGEST``."""
    return min(max(number, -LARGEST), LARGEST)


@no_refcount_noinline
def multiply(gaussian, width, x, moved):
    """Write P x to ``moved`` for the covariance matrix P, and return x'Px; ``width`` features are used."""
    for a in range(width):
        moved[a] = 0.0
    for b in range(width):
        factor = x[b]  # not read again in the loop, which is thus compiled to vector instructions
        if factor != 0.0:
            for a in range(width):
                moved[a] += gaussian.covariance[b, a] * factor
    variance = 0.0
    for a in range(width):
        variance += x[a] * moved[a]
    return max(variance, 0.0)


@no_refcount_noinline
def absorb(gaussian, width, priors, factor, residual, total, moved, factors):
    """Update the mean and the covariance by a label; ``residual`` is its error, and ``total`` its variance."""
    # the square root goes to both factors, so that P stays symmetric to the last bit
    shrunk = math.sqrt(1.0 / total)
    for a in range(width):
        gaussian.mean[a] = bounded(gaussian.mean[a] + moved[a] * (residual / total))
        moved[a] *= shrunk
    if factor < 1.0:
        for a in range(width):
            variance = gaussian.covariance[a, a] - moved[a] * moved[a]
            factors[a] = math.sqrt(min(1.0 / factor, priors[min(a, 1)] / variance)) if variance > 0.0 else 1.0
        for a in range(width):
            for b in range(width):
                reduced = gaussian.covariance[a, b] - moved[a] * moved[b]
                gaussian.covariance[a, b] = reduced * (factors[a] * factors[b])
    else:
        for a in range(width):
            move = moved[a]
            if move != 0.0:
                for b in range(width):
                    gaussian.covariance[a, b] -= move * moved[b]
    for a in range(width):
        gaussian.covariance[a, a] = max(gaussian.covariance[a, a], 0.0)
