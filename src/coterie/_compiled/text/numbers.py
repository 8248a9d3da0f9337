r"""Parsing of decimal numbers to the nearest double.

A number is read as $w\cdot 10^q$ with $w$ its first 19 digits. Small ones are one exact product or quotient (Clinger
1990); for the rest the top of $w\cdot 5^q$ decides, from a table of 128-bit powers of five (Lemire, *Number parsing at
a gigabyte per second*, 2021). The result is correctly rounded for numbers of up to 19 digits; with more it is at most
one unit in the last place away. Below 1e-290 it is zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from coterie._compiled.core.generic import no_refcount
from coterie._compiled.core.text_fields import byte

from .eight_bytes import append_digits, digits_in, eight

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOWEST_POWER = -325
HIGHEST_POWER = 308
_MAX_DIGITS = 19
_LOW_32 = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_1 = np.uint64(1)
_TEN = np.uint64(10)
_NINE, _ZERO = np.uint64(9), np.uint64(48)
_BEYOND_PRECISION = np.uint64(0x1FF)
_EXACT_POWERS = np.array([float(10**i) for i in range(23)])


def _power_of_five(q: int) -> int:
    """Return the leading 128 bits of 5^q (rounded as in Lemire 2021, §5)."""
    power: int = 5 ** abs(q)
    bits = power.bit_length()
    if q >= 0:
        return power << (128 - bits) if bits <= 128 else power >> (bits - 128)
    if q >= -27:
        return (1 << (bits + 127)) // power + 1
    return ((1 << (2 * bits + 128)) // power + 1) >> (bits + 1)


def _table() -> NDArray[np.uint64]:
    """Return the table of the powers of five from `LOWEST_POWER` on, each as two 64-bit words."""
    powers = [_power_of_five(q) for q in range(LOWEST_POWER, HIGHEST_POWER + 1)]
    words = [(power >> 64, power & 0xFFFFFFFFFFFFFFFF) for power in powers]
    return np.array(words, dtype=np.uint64)


_POWERS = _table()


@no_refcount
def _product(a, b):
    """Return the 128-bit product of two 64-bit words, as high and low word."""
    a_high, a_low, b_high, b_low = a >> _32, a & _LOW_32, b >> _32, b & _LOW_32
    low = a_low * b_low
    middle = a_high * b_low + (low >> _32)
    other = a_low * b_high + (middle & _LOW_32)
    return a_high * b_high + (middle >> _32) + (other >> _32), (other << _32) | (low & _LOW_32)


@no_refcount
def _leading_zeros(word):
    zeros = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - step) == 0:
            word = word << np.uint64(step)
            zeros += step
    return zeros


@no_refcount
def _round_product(w, q):
    """Return the double nearest to w · 10^q, for w > 0, from the 128-bit product of the significands."""
    zeros = _leading_zeros(w)
    w = w << np.uint64(zeros)
    high, low = _product(w, _POWERS[q - LOWEST_POWER, 0])
    # Lemire (2021): only a carry through nine ones can change the result, so the second word seldom counts
    if high & _BEYOND_PRECISION == _BEYOND_PRECISION:
        carry, _ = _product(w, _POWERS[q - LOWEST_POWER, 1])
        low = low + carry
        if low < carry:
            high = high + _1
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    significand = high >> shift
    # ties round to even; only these powers of ten have exact ones
    halfway_is_exact = low <= _1 and -4 <= q <= 23
    if halfway_is_exact and significand & np.uint64(3) == _1 and significand << shift == high:
        significand = significand - _1
    significand = (significand + (significand & _1)) >> _1
    # floor(q·log2(5)) + q, exact in this range
    exponent = ((217706 * q) >> 16) + 63 + np.int64(upper) - zeros - 52
    return math.ldexp(float(significand), int(exponent))


@no_refcount
def decimal_value(w, q):
    """Return the double nearest to w · 10^q; 0 below 1e-290, infinity above the largest double."""
    if w == 0:
        return 0.0
    # Clinger (1990): both factors are exact doubles, so the result is rounded once
    if w <= np.uint64(1 << 53) and -22 <= q <= 22:
        exact: float = np.float64(w) / _EXACT_POWERS[-q] if q < 0 else np.float64(w) * _EXACT_POWERS[q]
        return exact
    if q > HIGHEST_POWER:
        return np.inf
    if q < LOWEST_POWER:
        return 0.0
    value: float = _round_product(w, q)
    # that product knows nothing of the subnormals, whose significands are shorter
    return value if value >= 1e-290 else 0.0


@no_refcount
def _exponent(data, i, stop):
    """Parse an exponent such as ``e-5``: return its value, clipped to ± 100000, and its end (`i` if there is none)."""
    begin = i
    negative = i < stop and data[i] == 45
    if i < stop and (data[i] == 43 or negative):
        i += 1
    value, first = 0, i
    while i < stop and 48 <= data[i] <= 57:
        value = min(value * 10 + data[i] - 48, 100000)
        i += 1
    return (-value if negative else value), (i if i > first else begin)


@no_refcount
def _first_digits(data, i, stop):
    """Parse the first 19 digits in ``data[i:stop]`` as an integer, and count the digits after them."""
    w, digits, beyond = np.uint64(0), 0, 0
    for k in range(i, stop):
        # unsigned, so that characters below "0" become large numbers: one comparison finds digits
        digit = np.uint64(byte(data, k)) - _ZERO
        if digit > _NINE:
            continue
        if digits < _MAX_DIGITS:
            w = w * _TEN + digit
            # leading zeros are no digits of the significand
            digits += w != 0
        else:
            beyond += 1
    return w, beyond


@no_refcount
def _digit_by_digit(data, i, stop, w):
    """Append the digits from `i` on to the number w one by one; faster than `_read_digits` for few digits."""
    while i < stop and np.uint64(byte(data, i)) - _ZERO <= _NINE:
        w = w * _TEN + (np.uint64(byte(data, i)) - _ZERO)
        i += 1
    return w, i


@no_refcount
def _read_digits(data, i, stop, w):
    """Append the digits from `i` on to the number w; return it, and the position after them."""
    n = 8
    while n == 8 and i + 8 <= stop:
        word = eight(data, i)
        n = digits_in(word)
        w = append_digits(w, word, n)
        i += n
    if n == 8:  # fewer than eight bytes are left
        w, i = _digit_by_digit(data, i, stop, w)
    return w, i


@no_refcount
def scan_number(data, i, stop):
    """Parse the number at position `i`: return its value (NaN if there is none) and its end.

    ``[+-] digits [. digits] [e [+-] digits]``, at least one digit before the exponent; no blanks, ``nan`` or ``inf``.
    """
    negative = i < stop and byte(data, i) == 45
    if i < stop and (byte(data, i) == 43 or negative):
        i += 1
    first, q = i, 0
    # the whole part has few digits as a rule
    w, i = _digit_by_digit(data, i, stop, np.uint64(0))
    digits = i - first
    if i < stop and byte(data, i) == 46:
        w, end = _read_digits(data, i + 1, stop, w)
        q, i = i + 1 - end, end
        # q is minus the number of decimals
        digits -= q
    if digits == 0:
        return np.nan, i
    if digits > _MAX_DIGITS:  # more than w holds
        w, beyond = _first_digits(data, first, i)
        q += beyond
    if i < stop and (byte(data, i) | 32) == 101:
        power, end = _exponent(data, i + 1, stop)
        # an "e" without digits is no part of the number
        if end > i + 1:
            q, i = q + power, end
    value = decimal_value(w, q)
    return (-value if negative else value), i


@no_refcount
def parse_number(data, start, stop):
    """Parse ``data[start:stop]`` as a number; NaN for other text."""
    value, end = scan_number(data, start, stop)
    return value if end == stop else np.nan
