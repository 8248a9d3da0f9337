"""Arithmetic that compiled loops lack: fused multiply-add, exponentials, scaling to unit length, bit operations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .generic import no_refcount

_LOG2_E = 1.4426950408889634
#: log 2 in two parts; the first one has enough trailing zeros for exact multiples by whole numbers.
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
#: exp is zero below.
_LOWEST = -746.0
#: The exponent added to powers of two, because the smallest ones would not be normal numbers.
_RAISED = 64.0
#: Adding it to a number leaves the nearest whole number, plus ``_RAISED``, in the last bits.
_ROUNDER = 1.5 * 2.0**52 + _RAISED


def _fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a · b + c with a single rounding (IEEE fused multiply-add), equal on all machines."""
    kind = types.float64(types.float64, types.float64, types.float64)
    return kind, lambda context, builder, signature, arguments: builder.fma(*arguments)


fma: Any = intrinsic(_fma)


def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Return the number of trailing zero bits of an integer: log2 of a power of two, 64 for 0."""
    kind, zero_has_them = types.uint64(types.uint64), ir.IntType(1)(0)
    return kind, lambda context, builder, signature, arguments: builder.cttz(arguments[0], zero_has_them)


trailing_zeros: Any = intrinsic(_trailing_zeros)


@no_refcount
def to_unit_length(values, first, end):
    """Divide ``values[first:end]`` by their Euclidean norm, in place; zeros are unchanged."""
    total = 0.0
    for k in range(first, end):
        total += values[np.uint64(k)] * values[np.uint64(k)]
    norm = math.sqrt(total)
    if norm > 0.0:
        for k in range(first, end):
            values[np.uint64(k)] /= norm


@no_refcount
def gaussian(scale, product, here, there):
    """Return the Gaussian kernel exp(-scale · ‖x - z‖²) of two vectors x and z.

    ``product`` is x · z; ``here`` and ``there`` are their squared norms.
    """
    return exp_of_negative(scale * (2.0 * product - here - there))


@no_refcount
def exp_of_negative(v):
    """Return exp(v), or 1 for v > 0, to 2 units in the last place; without branches, so that loops are vectorised.

    exp(v) = 2^m exp(r) with m whole and |r| <= log 2 / 2 (Cody and Waite).
    """
    # rounding may leave a squared distance below zero, and a kernel value is at most 1
    v = max(min(0.0, v), _LOWEST)
    k = fma(v, _LOG2_E, _ROUNDER)
    m = k - _ROUNDER
    # log 2 in two parts, or r would lose the digits that cancel between v and m log 2
    series = _series(fma(-m, _LOG2_LOW, fma(-m, _LOG2_HIGH, v)))
    # the last bits of k are m + 64: moved to the place of the exponent, they multiply by a power of two
    bits = np.float64(series).view(np.int64) + (np.float64(k).view(np.int64) << 52)
    # the 64 comes off here, where a result below the normal numbers is rounded correctly
    return np.int64(bits).view(np.float64) * 2.0**-_RAISED


@no_refcount
def _series(r):
    """Sum the Taylor series of exp(r), in two halves that run in parallel."""
    q = r * r
    # up to r^13 / 13!: the next term is below 1e-17 for |r| <= log 2 / 2
    p = fma(r, 1.0 / 6227020800.0, 1.0 / 479001600.0)
    p = fma(p, q, fma(r, 1.0 / 39916800.0, 1.0 / 3628800.0))
    p = fma(p, q, fma(r, 1.0 / 362880.0, 1.0 / 40320.0))
    p = fma(p, q, fma(r, 1.0 / 5040.0, 1.0 / 720.0))
    p = fma(p, q, fma(r, 1.0 / 120.0, 1.0 / 24.0))
    p = fma(p, q, fma(r, 1.0 / 6.0, 0.5))
    return fma(p, q, 1.0 + r)
