"""Reading of Python dictionaries in compiled code, through Python's C API.

With COTERIE_STOCK_NUMBA=1, and for other mappings and names of unusual types, Python code reads them with the same
result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numba import float64, int32, intp, void
from numpy.typing import NDArray

from coterie._compiled._numba import STOCK, python_function

from .generic import compiled, holds_gil
from .records import UNSEEN
from .text_fields import LARGEST_VALUE

#: The types of numbers and of values that are read here; values of derived types may need their own code.
NUMBERS = frozenset((float, int, bool, np.float64, np.float32))
PLAIN = NUMBERS | {str}
#: The same without truth values, for readers that treat them as categories.
WITHOUT_TRUTH_VALUES = PLAIN - {bool}

#: A record, and the columns of its features.
AnyRecord: TypeAlias = Mapping[Any, Any]
Columns: TypeAlias = Mapping[Any, int]

#: Values and columns of the features of a record.
Entries: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int32]]

#: The presence of a scaled number after one absence: the root of the share of absences.
PRESENCE = math.sqrt(0.5)

_NOT_PLAIN, _UNUSUAL_NAME = -1, -2
_EQUAL_SIGN = "="


def read_dictionary(record: AnyRecord, numbers: Columns, plain: frozenset[type] = PLAIN) -> Entries | None:
    """Return the values and the columns of the known features of a dictionary; None if it has values of other types.

    ``numbers`` maps names to columns, and ``plain`` are the allowed types.

    A number is the value of its name, a string the feature ``name=string`` of value 1. None is returned for values that
    are neither strings with letters nor finite numbers of a type in ``plain``, or too large in total.
    """
    if STOCK or type(record) is not dict or type(numbers) is not dict:
        return read_in_python(record, numbers, plain)
    values, columns = np.empty(len(record)), np.empty(len(record), np.int32)
    known, _ = _read(id(record), id(numbers), _addresses(plain), False, values, columns)
    if known == len(record):
        return values, columns
    if known == _UNUSUAL_NAME:
        return read_in_python(record, numbers, plain)
    return None if known < 0 else (values[:known], columns[:known])


def read_with_unseen(
    record: AnyRecord, numbers: Columns, plain: frozenset[type], scaled: bool
) -> tuple[NDArray[np.float64], NDArray[np.int32], int] | None:
    """Return values and columns of all features of a dictionary, known ones first, and the number of known ones.

    The others follow with columns from ``UNSEEN`` on and the values that they have once they are learned: where numbers
    are ``scaled``, a new one counts as its presence after one absence. None is returned as by :func:`read_dictionary`,
    and for records with unseen features that compiled code cannot read.
    """
    known, unseen = _UNUSUAL_NAME, 0
    if not STOCK and type(record) is dict and type(numbers) is dict:
        values, columns = np.empty(len(record)), np.empty(len(record), np.int32)
        known, unseen = _read(id(record), id(numbers), _addresses(plain), scaled, values, columns)
    if known == _UNUSUAL_NAME:
        entries = read_in_python(record, numbers, plain)
        return (*entries, len(record)) if entries is not None and len(entries[0]) == len(record) else None
    if known < 0:
        return None
    if unseen:  # they were written from the end
        values[known : known + unseen] = values[len(record) - unseen :][::-1].copy()
        columns[known : known + unseen] = UNSEEN + np.arange(unseen)
    return values[: known + unseen], columns[: known + unseen], known


def read_in_python(record: AnyRecord, numbers: Columns, plain: frozenset[type]) -> Entries | None:
    """Return the values and columns of the known features of any mapping.

    It is the Python version of :func:`read_dictionary`.
    """
    names: Any = record
    values: Any = record.values()
    try:
        types = set(map(type, values))
        if not types <= plain:
            return None
        if str in types:
            names, values = [], []
            for name, value in record.items():
                if type(value) is not str:
                    names.append(name)
                    values.append(value)
                elif value and type(name) is str:
                    names.append(f"{name}={value}")
                    values.append(1.0)
                else:
                    return None
        values = np.fromiter(values, np.float64, len(record))
    except (TypeError, OverflowError):  # a type without a hash, or an integer that no float can hold
        return None
    if not sum(map(abs, values.tolist())) <= LARGEST_VALUE:
        return None
    try:
        return values, np.fromiter(map(numbers.__getitem__, names), np.int32, len(record))
    except KeyError:  # a name without a column
        columns = np.array([numbers.get(name, -1) for name in names], np.int32)
        return values[columns >= 0], columns[columns >= 0]


@cache
def _addresses(plain: frozenset[type]) -> tuple[int, ...]:
    """Return the addresses of the Python types ``str``, ``int``, those in ``plain``, and of the string "="."""
    numbers = (int, float, np.float64, np.float32, bool if bool in plain else int)
    return (id(str), *map(id, numbers), id(_EQUAL_SIGN))


# Python's C API (docs.python.org/3/c-api): objects are passed by their addresses. Names and values of a dictionary
# are borrowed, and none of these functions runs code of the user for the types that are let through.
_next_entry = python_function("PyDict_Next", int32, intp, intp, intp, intp)
_find = python_function("PyDict_GetItem", intp, intp, intp)
_new_type = python_function("PyObject_Type", intp, intp)
_release = python_function("Py_DecRef", void, intp)
_float_of = python_function("PyFloat_AsDouble", float64, intp)
_whole_number_of = python_function("PyLong_AsSsize_t", intp, intp)
_failed = python_function("PyErr_Occurred", intp)
_forget_failure = python_function("PyErr_Clear", void)
_length = python_function("PyUnicode_GetLength", intp, intp)
_new_joined = python_function("PyUnicode_Concat", intp, intp, intp)


@compiled
def _type_of(address):
    kind = _new_type(address)
    _release(kind)  # every object has a reference to its type
    return kind


@compiled
def _number_of(value):
    """Convert a Python number to a float; NaN for an integer that is too large."""
    number = _float_of(value)
    if number == -1.0 and _failed():
        _forget_failure()
        return np.nan
    return number


@compiled
def _find_text(numbers, name, text, equal_sign):
    """Return the column entry of the feature ``name=text``, 0 if it is unknown."""
    start = _new_joined(name, equal_sign)
    joined = _new_joined(start, text)
    entry = _find(numbers, joined)
    _release(start)
    _release(joined)
    return entry


@compiled
def _scaled_unseen(numbers, name, is_text, equal_sign):
    """Return the scaled value of a number without a column; NaN if the value is text."""
    if is_text:
        return np.nan if _find(numbers, name) else 1.0
    # the z-score of a first number is 0, and its presence counts unless the name was missing in all records
    key_of_gaps = _new_joined(name, equal_sign)
    entry = _find(numbers, key_of_gaps)
    _release(key_of_gaps)
    return 0.0 if entry else PRESENCE


@holds_gil
def _read(record, numbers, addresses, scaled, values, columns):
    """Write the values and columns of known features to arrays, and values of others from their end.

    Return both counts; the first is negative if the record is not plain.
    """
    text, whole, equal_sign = addresses[0], addresses[1], addresses[-1]
    cursor = np.zeros(3, np.intp)  # a position in the dictionary, the name and the value there
    position = cursor.ctypes.data
    known, unseen, total = 0, 0, 0.0
    while _next_entry(record, position, position + cursor.itemsize, position + 2 * cursor.itemsize):
        name, value = cursor[1], cursor[2]
        type_of_name, type_of_value = _type_of(name), _type_of(value)
        is_text = type_of_value == text
        if is_text:
            if type_of_name != text or _length(value) == 0:
                return _NOT_PLAIN, 0
            number, entry = 1.0, _find_text(numbers, name, value, equal_sign)
        elif type_of_value in addresses[1:-1]:
            if type_of_name != text and type_of_name != whole:
                return _UNUSUAL_NAME, 0
            number, entry = _number_of(value), _find(numbers, name)
        else:
            return _NOT_PLAIN, 0
        total += abs(number)
        if entry:
            values[known], columns[known] = number, _whole_number_of(entry)
            known += 1
            continue
        if scaled:
            if type_of_name != text:
                return _UNUSUAL_NAME, 0
            number = _scaled_unseen(numbers, name, is_text, equal_sign)
            if np.isnan(number):
                continue
        unseen += 1
        values[values.size - unseen] = number
    return (known, unseen) if total <= LARGEST_VALUE else (_NOT_PLAIN, 0)


def with_space(values: NDArray[np.float64], columns: NDArray[np.int32], n: int, constant: bool) -> Entries:
    """Return the first n entries with space for a constant after them, and for n second columns at the end."""
    gap, space = np.zeros(int(constant)), np.zeros(n)
    spaced = np.concatenate([columns[:n], gap, columns[n:], space]).astype(np.int32)
    return np.concatenate([values[:n], gap, values[n:], space]), spaced
