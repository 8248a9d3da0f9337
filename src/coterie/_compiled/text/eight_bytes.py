"""Processing of eight text bytes at a time, as one 64-bit integer (little-endian).

The end of a number or a name is then found without a branch for each byte. Carries and borrows affect only bytes after
the first match, which is therefore correct.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from coterie._compiled.core.arithmetic import trailing_zeros
from coterie._compiled.core.generic import no_refcount

_8, _16, _32 = np.uint64(8), np.uint64(16), np.uint64(32)
_TEN = np.uint64(10)
_TENS = np.array([10**i for i in range(9)], np.uint64)
_ONES, _HIGH_BITS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_ZEROS, _BEYOND_NINE = np.uint64(0x3030303030303030), np.uint64(0x4646464646464646)
_AFTER_BLANK, _COLONS, _BARS = (np.uint64(c * 0x0101010101010101) for c in (33, 58, 124))
_VALUES, _PAIRS = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x000000FF000000FF)
_HUNDREDS, _REST = np.uint64(100 + (10**6 << 32)), np.uint64(1 + (10**4 << 32))


def _eight(typing_context: Any, data: Any, i: Any) -> Any:
    """Load eight bytes from ``data[i]`` on as an integer, without a bounds check."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(view.data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(address, align=1)

    return types.uint64(data, i), generate


eight: Any = intrinsic(_eight)


@no_refcount
def _before(marks):
    """Return the number of bytes before the first one in ``marks`` with its highest bit set."""
    return np.int64(trailing_zeros(marks & _HIGH_BITS) >> np.uint64(3))


@no_refcount
def digits_in(word):
    """Return the number of bytes before the first one that is not a digit."""
    # adding 0x46 sets the highest bit of bytes above "9", and subtracting "0" that of bytes below "0"
    return _before((word + _BEYOND_NINE) | (word - _ZEROS))


@no_refcount
def name_in(word):
    """Return the number of bytes of ``word`` before the first one that may end a name."""
    # xor leaves a zero where a byte is the one looked for, and subtracting 1 sets the highest bit there
    low, colon, bar = (word - _AFTER_BLANK) & ~word, word ^ _COLONS, word ^ _BARS
    return _before(low | ((colon - _ONES) & ~colon) | ((bar - _ONES) & ~bar))


@no_refcount
def append_digits(w, word, n):
    """Append n digits (the first bytes of ``word``) to the decimal number w."""
    # moved up, so that the digits missing to eight are zeros in front
    digits = (word << np.uint64(64 - 8 * n)) & _VALUES if n > 0 else np.uint64(0)
    # ten times each digit plus the next one: pairs of digits in every second byte
    pairs = digits * _TEN + (digits >> _8)
    # two products add four pairs with their powers of 100 in the upper half
    value = ((pairs & _PAIRS) * _HUNDREDS + ((pairs >> _16) & _PAIRS) * _REST) >> _32
    longer: np.uint64 = w * _TENS[n] + value
    return longer
