"""Vocabularies: mappings from feature names to columns."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie._compiled.core.checks import require
from coterie._compiled.core.dictionaries import NUMBERS, PLAIN, read_dictionary, read_with_unseen
from coterie._compiled.core.records import UNSEEN, Csr
from coterie._compiled.core.text_fields import LARGEST_VALUE
from coterie.types import Json, Record


@dataclass(frozen=True)
class SecondColumn:
    """The key of a feature's second column, which is equal to no feature name."""

    feature: int


class Vocabulary:
    """A vocabulary of feature names; each new name gets the next column.

    Numbers and booleans are values of their name; a string is the feature ``name=value`` with value 1.

    Examples
    --------
    >>> row = Vocabulary().record({"price": 2.5, "colour": "red"}, resize=True)
    >>> row.values, row.features
    (array([2.5, 1. ]), array([0, 1], dtype=int32))
    """

    def __init__(self, names: Iterable[Hashable] = ()) -> None:
        self.numbers: dict[Hashable, int] = {name: j for j, name in enumerate(names)}

    def __len__(self) -> int:
        return len(self.numbers)

    def shorten(self, names: int) -> None:
        """Remove all but the first ``names`` names."""
        while len(self.numbers) > names:
            self.numbers.popitem()

    def record(self, features: Record, resize: bool, unseen: bool = False) -> Csr:
        """Encode one dictionary as a row.

        New names get columns if ``resize``, and temporary ones if ``unseen``; else they are ignored.
        """
        plain = self._plain(features, resize, unseen) if type(features) is dict else None
        if plain is not None:
            return plain
        names, values = _numbers(features)
        if resize:
            self.add(names)
        places = self.columns(names)
        if unseen:
            places[places < 0] = UNSEEN + np.arange(int((places < 0).sum()))
        columns = places[places >= 0]
        return Csr(values[places >= 0], columns, one_record(len(columns)))

    def columns(self, names: Iterable[Hashable]) -> NDArray[np.int32]:
        """Return the column of each name, -1 for unknown names."""
        return np.array([self.numbers.get(name, -1) for name in names], np.int32)

    def _plain(self, features: Json, resize: bool, unseen: bool) -> Csr | None:
        """Encode one dictionary of plain numbers and strings as a row; return None if it has other values."""
        if unseen:
            read = read_with_unseen(features, self.numbers, PLAIN, False)
            return None if read is None else Csr(*read[:2], one_record(len(read[0])))
        entries = read_dictionary(features, self.numbers)
        if resize and entries is not None and len(entries[0]) < len(features):
            self.add(f"{name}={value}" if type(value) is str else name for name, value in features.items())
            entries = read_dictionary(features, self.numbers)
        return None if entries is None else Csr(*entries, one_record(len(entries[0])))

    def add(self, names: Iterable[Hashable]) -> list[Hashable]:
        """Add a column for each unknown name; return the new names."""
        known, new = self.numbers, []
        for name in names:
            if name not in known:
                if type(name) is not SecondColumn:
                    spec.check_labels([name], "feature")
                known[name] = len(known)
                new.append(name)
        return new

    def records(self, features: Sequence[Record], resize: bool, unseen: bool = False) -> Csr:
        """Encode several dictionaries as rows."""
        return concatenated([self.record(record, resize, unseen) for record in features])

    def to_json(self) -> Json:
        """Return the vocabulary as data for :func:`vocabulary_from_json`, which does not restore second columns."""
        return {"names": [name for name in self.numbers if type(name) is not SecondColumn]}

    def with_second_columns(self, second: Mapping[int, int]) -> Vocabulary:
        """Return a copy with second columns of features inserted at the given columns.

        Raises
        ------
        ValueError
            If a column lies beyond the last one.
        """
        names, n = iter(self.numbers), len(self) + len(second)
        require(all(0 <= column < n for column in second), "second columns lie beyond the last column")
        return type(self)(SecondColumn(second[j]) if j in second else next(names) for j in range(n))


class _Named(msgspec.Struct, forbid_unknown_fields=True):
    names: list[Any]


def vocabulary_from_json(data: Json) -> Vocabulary:
    """Restore the vocabulary from the result of :meth:`Vocabulary.to_json`.

    Raises
    ------
    ValueError
        If a name occurs twice, or is not valid.
    """
    names = spec.labels_of(msgspec.convert(data, _Named).names)
    vocabulary = Vocabulary(names)
    if len(vocabulary) != len(names):
        raise ValueError("a feature name occurs twice")
    return vocabulary


def concatenated(parts: Sequence[Csr]) -> Csr:
    """Concatenate several blocks of rows."""
    if len(parts) == 1:
        return parts[0]
    values, features = [part.values for part in parts], [part.features for part in parts]
    return Csr(np.concatenate(values), np.concatenate(features), np.cumsum([0, *map(len, values)]))


@lru_cache(4096)
def one_record(entries: int) -> NDArray[np.int64]:
    """Return the read-only array ``indptr`` of a CSR matrix with one row of this many entries."""
    return np.array([0, entries], np.int64)


def _numbers(features: Record) -> tuple[Iterable[str], NDArray[np.float64]]:
    """Return the names and values of a dictionary of finite numbers."""
    values = features.values()
    try:
        if NUMBERS.issuperset(map(type, values)) and sum(map(abs, values)) <= LARGEST_VALUE:
            return features, np.fromiter(values, np.float64, len(values))
    except (OverflowError, TypeError):  # an integer that no float can hold, or a type without a hash, named below
        pass
    return _mixed_numbers(features)


def _mixed_numbers(features: Record) -> tuple[Iterable[str], NDArray[np.float64]]:
    pairs = [
        (f"{name}={value}", 1.0) if isinstance(value, str) else (name, usable_number(name, value))
        for name, value in features.items()
    ]
    return [name for name, _ in pairs], np.array([value for _, value in pairs], np.float64)


def usable_number(name: Hashable, value: Any) -> float:
    """Convert a feature's value to a float; raise ValueError if it, or its square, is not finite."""
    if not _is_usable(value):
        raise ValueError(f"feature {name!r} must be a finite number or a string, got {value!r}")
    if not abs(value) <= LARGEST_VALUE:
        raise ValueError(f"feature {name!r}: {unusable(float(value))}")
    return float(value)


def unusable(number: float) -> str:
    """Return the reason why a number cannot be a feature value (not finite, or too large); '' if it can."""
    reason = f"beyond the limit of {LARGEST_VALUE:g}" if math.isfinite(number) else "not a finite number"
    return f"{number!r} is {reason}"


def _is_usable(value: Any) -> bool:
    try:
        return isinstance(value, (int, float, np.bool_, numbers.Real, Decimal)) and math.isfinite(value)
    except TypeError:  # abstract classes look for the class in a set, and it cannot be hashed
        return False
    except (OverflowError, ValueError):  # an integer that no float can hold, or a Decimal's signaling NaN
        return False
