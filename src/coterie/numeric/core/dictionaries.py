"""Records given as dictionaries of numbers and strings, read without Python code for each number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .text_fields import LARGEST_VALUE

#: The types of numbers and of values that are read here; values of derived types may need their own code.
NUMBERS = frozenset((float, int, bool, np.float64, np.float32))
PLAIN = NUMBERS | {str}
#: The same without truth values, where these are categories.
WITHOUT_TRUTH_VALUES = PLAIN - {bool}

#: Values and columns of the features of a record.
Entries: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int32]]


def read_dictionary(
    record: Mapping[Any, Any], numbers: Mapping[Any, int], plain: frozenset[type] = PLAIN
) -> Entries | None:
    """Return the values and the columns of the features that have one.

    A number is the feature of its name, a string the feature ``name=string`` of value 1. None is returned if values are
    neither strings of some letters nor finite numbers of a type in ``plain``, not too large in sum.
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


def with_space(values: NDArray[np.float64], columns: NDArray[np.int32]) -> Entries:
    """Append space for a constant and for second columns of all entries."""
    space = np.zeros(len(values) + 1)
    return np.append(values, space), np.append(columns, space.astype(np.int32))
