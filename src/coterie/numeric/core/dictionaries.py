"""Records given as dictionaries, read by compiled code: a walk in Python takes longer than the learning.

The functions of Python's stable interface are called by name. Objects are given by their addresses (``id``), and the
interpreter is locked meanwhile.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import typeof, types

from coterie.numeric._numba import STOCK

from .fields import LARGEST_VALUE
from .generic import holds_gil
from .packed import word
from .records import Csr

_OBJECT, _FOUND = types.intp, types.intc


def _python(name: str, result: Any, *arguments: Any) -> Any:
    return types.ExternalFunction(name, result(*arguments))


_size = _python("PyDict_Size", types.intp, _OBJECT)
_next_item = _python("PyDict_Next", _FOUND, _OBJECT, types.intp, types.intp, types.intp)
_get_item = _python("PyDict_GetItemWithError", _OBJECT, _OBJECT, _OBJECT)
_as_float = _python("PyFloat_AsDouble", types.float64, _OBJECT)
_as_integer = _python("PyLong_AsLongLong", types.int64, _OBJECT)
_joined = _python("PyUnicode_Concat", _OBJECT, _OBJECT, _OBJECT)
_letters = _python("PyUnicode_GetLength", types.intp, _OBJECT)
_release = _python("Py_DecRef", types.void, _OBJECT)
_error = _python("PyErr_Occurred", _OBJECT)
_forget_error = _python("PyErr_Clear", types.void)

#: The addresses of the types of numbers that are read without any code of Python being run: to look for a type in a set
#: of types calls its hash, which may be any code, or none.
PLAIN = frozenset(map(id, (float, int, bool, np.float64, np.float32)))
_EQUALS = "="
#: Where these are, and behind them the addresses of the type of strings and of the one between a name and its string.
_PLAIN = np.array([*PLAIN, id(str), id(_EQUALS)], np.intp)
AT_PLAIN, _WORD, _KINDS = _PLAIN.ctypes.data, _PLAIN.itemsize, len(PLAIN)
#: The same without truth values, where these are categories; floats twice, for compiled code looks at as many.
_NUMBERS = np.array([id(float), *(PLAIN - {id(bool)}), id(str), id(_EQUALS)], np.intp)
AT_NUMBERS = _NUMBERS.ctypes.data

#: Where an object keeps the address of its type, last of what every object begins with.
TYPE = object.__basicsize__ - np.dtype(np.intp).itemsize


@holds_gil
def _is_plain(kind, plain):
    """Return True if a type's address is one of those at ``plain``."""
    matches = False
    for n in range(_KINDS):
        matches |= word(plain + _WORD * n) == kind
    return matches


def allocate_record(entries: int) -> Csr:
    """Memory for one record of up to so many entries."""
    return Csr(np.empty(entries), np.empty(entries, np.int32), np.zeros(2, np.int64))


@holds_gil
def _column_of(numbers, name, text, plain):
    """Look up the number of the feature ``name=text`` as an object, 0 if there is none; both must be plain strings."""
    begun = _joined(name, word(plain + _WORD * (_KINDS + 1)))
    if begun == 0:
        return 0
    key = _joined(begun, text)
    _release(begun)
    if key == 0:
        return 0
    column = _get_item(numbers, key)
    _release(key)
    return column


@holds_gil
def fill(values, columns, record, numbers, plain, whole):
    """Write the values of a dictionary, and the numbers of its features' names, to arrays of its length.

    A number is the feature of its name, a string the feature ``name=string`` of value 1.

    Returns how many there are: all, or if it need not be ``whole`` those whose names have a number. -1 if a name lacks
    one that must not, or values are neither strings of some letters nor finite numbers of a :data:`PLAIN` type, not too
    large in sum;
    what was written means nothing then.
    """
    item = np.zeros(3, np.int64)  # how far the walk is, and the name and the value there
    at = item.ctypes.data
    k, kind, total, strings = np.uint64(0), 0, 0.0, word(plain + _WORD * _KINDS)
    while _next_item(record, at, at + 8, at + 16) != 0:
        before, kind = kind, word(item[2] + TYPE)
        if k == values.size:
            return -1
        if kind == strings:
            if word(item[1] + TYPE) != strings or _letters(item[2]) == 0:
                return -1
            number = 1.0
            column = _column_of(numbers, item[1], item[2], plain)
        else:
            if kind != before and not _is_plain(kind, plain):
                return -1
            number = _as_float(item[2])
            total += abs(number)
            if not total <= LARGEST_VALUE or (number == -1.0 and _error() != 0):
                _forget_error()  # an integer that no float can hold
                return -1
            column = _get_item(numbers, item[1])
        if column != 0:
            values[k], columns[k] = number, _as_integer(column)
            k += np.uint64(1)
        elif whole or _error() != 0:
            _forget_error()
            return -1
    return np.int64(k)


@holds_gil
def read_record(room, record, numbers, plain, whole):
    """Read the dictionary at an address as a block of one record, which ends before it begins if it cannot be read.

    It is written to ``room``, or to new memory if that is too small for two entries a name and one for the constant.
    """
    n = _size(record)
    entries = 2 * n + 1
    if entries > room.values.size:
        room = Csr(np.empty(entries), np.empty(entries, np.int32), np.zeros(2, np.int64), room.weights)
    room.starts[1] = fill(room.values[:n], room.features[:n], record, numbers, plain, whole)
    return room


@cache
def _entry() -> Any:
    function: Any = fill
    return function.compile(tuple(map(typeof, (np.zeros(0), np.zeros(0, np.int32), 0, 0, 0, True))))


def read(record: dict[Any, Any], numbers: dict[Any, int], values: Any, columns: Any, plain: int = AT_PLAIN) -> int:
    """Fill arrays of the record's length with values and numbers of names, of the names that have one.

    Returns how many have; -1 if the record is not so plain.
    """
    if STOCK:
        return -1
    return _entry()(values, columns, id(record), id(numbers), plain, False)  # type: ignore[no-any-return]
