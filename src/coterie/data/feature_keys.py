"""Keys and values of features, the same for columns of a file and dictionaries."""

from __future__ import annotations

import math
import re
from collections import Counter
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coterie._compiled.core.hashing import as_bytes, bit_mask, encode_key, fnv1a, prefix_state, slot
from coterie._compiled.core.text_fields import LARGEST_VALUE
from coterie.models.multiview import unusable
from coterie.types import Floats, Ints, Label

from .errors import InputError
from .invalid_records import clipped, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


#: The key of the constant, which no feature may have, and the reason why a column of that name is left out.
CONSTANT_KEY, NAMELESS = "", "it has no name"
_TOKEN = re.compile(rb"[0-9a-z\x80-\xff]+")


class HashedFeatures(NamedTuple):
    """Hashed features of rows: ``counts[i]`` entries for row i, one row after the other."""

    counts: Ints
    indices: NDArray[np.int32]
    values: Floats


def is_missing(value: object) -> bool:
    """Return True for None, NaN in any of its forms and the empty string."""
    if value is None or (isinstance(value, str) and not value):
        return True
    if isinstance(value, (float, np.floating, np.datetime64)):
        return bool(value != value)
    if isinstance(value, Decimal):
        return value.is_nan()
    return type(value).__name__ in ("NAType", "NaTType")  # pandas' ``NA`` and ``NaT``


#: Text that means a missing number or date: in features, labels, weights, times and rewards.
MISSING_WORDS = ("", "NA", "N/A", "#N/A", "<NA>", "n/a", "null", "NULL", "None", "nan", "NaN", "NAN", "NaT")


def is_missing_word(value: object) -> bool:
    """Return True for words for a missing number or date, such as "NA"."""
    return isinstance(value, str) and value.strip() in MISSING_WORDS


def missing_key(name: object) -> str:
    """Return the key of the indicator of missing values in the column ``name``."""
    return f"{name}="


def presence_name(name: object) -> str:
    """Return the name of the indicator that is 1 if a record has this number, such as ``"price is present"``."""
    return f"{name} is present"


@lru_cache(maxsize=1 << 16)
def presence_column(name: str, bits: int) -> int:
    """Return the hashed column of a number's presence indicator. Its key ends with a byte that UTF-8 does not use."""
    state = np.uint64(fnv1a(prefix_state(name), as_bytes(b"\xff"), 0, 1))
    return int(slot(state, bit_mask(bits)))


def spell(value: object) -> str:
    """Format a category for a key: a number without trailing zeros, a boolean as ``True`` or ``False``.

    Examples
    --------
    >>> [spell(value) for value in (3, 3.0, 0.5, Decimal("3.00"), Decimal("0.50"), True, "x")]
    ['3', '3', '0.5', '3', '0.5', 'True', 'x']
    """
    if isinstance(value, Decimal):
        digits = f"{value:f}"
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _number(name: str, value: Label) -> Iterator[tuple[str, float]]:
    if value is None:
        return
    if isinstance(value, str | bytes):
        raise InputError(f"{shown(value)} is not a number", column=name)
    number = float(value)
    if not abs(number) <= LARGEST_VALUE:
        raise InputError(unusable(number), column=name)
    yield name, number


def _category(name: str, value: object) -> Iterator[tuple[str, float]]:
    if value is not None and value != "":
        yield f"{name}={spell(value)}", 1.0


def _items(name: str, value: Label) -> Iterator[tuple[str, float]]:
    if isinstance(value, str):
        raise InputError(f"{shown(value)} is not a list of strings", column=name)
    for item in value or ():
        yield from _category(name, item)


def _text(name: str, value: object) -> Iterator[tuple[str, float]]:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{clipped(repr(value))} is not text", column=name)
    tokens = _TOKEN.findall(encode_key(value or "").lower())
    for token, count in Counter(tokens).items():
        yield f"{name}^{token.decode('utf-8', 'surrogatepass')}", math.log(1.0 + count)


_KEYED = {"numeric": _number, "categorical": _category, "items": _items, "text": _text}


def keyed(name: str, kind: str, value: object) -> list[tuple[str, float]]:
    """Return the (key, value) pairs of the features of a value in column ``name``; an empty list for None.

    Raises
    ------
    InputError
        If the value does not fit the kind, or is a number that is not finite.

    Examples
    --------
    >>> keyed("price", "numeric", 2.5), keyed("shop", "categorical", "north"), keyed("tags", "items", ["a", "b"])
    ([('price', 2.5)], [('shop=north', 1.0)], [('tags=a', 1.0), ('tags=b', 1.0)])
    >>> [key for key, _ in keyed("title", "text", "The cat, the hat")]
    ['title^the', 'title^cat', 'title^hat']
    """
    return list(_KEYED[kind](name, value))


def refuse_masked(values: object, what: str) -> None:
    """Raise TypeError for a masked array, because NumPy's functions ignore its mask."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array, whose mask would be ignored; pass its filled() array")
