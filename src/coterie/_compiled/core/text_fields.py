"""Common steps of the text parsers: whitespace, ends of words, integers, and error codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .generic import no_refcount

if TYPE_CHECKING:
    pass

# Error codes of a row. Python adds the text at fault to the message.
BLANK = -1
GOOD = 0
NOT_A_LABEL = 1
NOT_A_NUMBER = 2
NOT_AN_INDEX = 3
INDEX_TOO_LARGE = 4
NOT_A_QUERY = 5
NO_COLON = 6
NO_BAR = 7
NO_NAME = 8
NOT_AN_IMPORTANCE = 9
HEADER_TOO_LONG = 10
NO_TASK = 11
SECOND_QUERY = 13

# Larger values make squares and sums overflow; nothing that is measured is as large. A float64 of numpy, so that
# comparing float32 with it does not narrow it to infinity.
LARGEST_VALUE: float = np.float64(1e100)


@no_refcount
def byte(data, i):
    """Return ``data[i]`` with an unsigned index, which avoids numba's handling of negative indices."""
    there: np.uint8 = data[np.uint64(i)]
    return there


@no_refcount
def is_blank(c):
    """Return True for a space, tab or carriage return."""
    return bool(c == 32 or c == 9 or c == 13)


@no_refcount
def skip_blanks(data, i, stop):
    """Return the first position in ``data[i:stop]`` that is not blank; `stop` if there is none."""
    while i < stop and is_blank(byte(data, i)):
        i += 1
    return i


@no_refcount
def find(data, i, stop, wanted):
    """Return the first position in ``data[i:stop]`` of the byte `wanted`; `stop` if there is none."""
    while i < stop and byte(data, i) != wanted:
        i += 1
    return i


@no_refcount
def whole_number(data, start, stop):
    """Parse ``data[start:stop]`` as an integer of up to 18 digits; -1 if it is none."""
    if start == stop or stop - start > 18:
        return -1
    value = 0
    for i in range(start, stop):
        if not 48 <= data[i] <= 57:
            return -1
        value = value * 10 + (data[i] - 48)
    return value


@no_refcount
def usable(value):
    """Return True for a finite number with an absolute value of at most `LARGEST_VALUE`, which can be squared."""
    return abs(value) <= LARGEST_VALUE
