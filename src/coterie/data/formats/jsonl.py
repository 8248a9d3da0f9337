"""JSON Lines: one object per line, decoded by msgspec into columns.

pyarrow's JSON parser (26.0) crashes the process on some invalid lines, such as ``null, "a": 1}``.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from contextlib import suppress
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET

from coterie.data.columns import where_null_is_absent
from coterie.data.dates import is_date_text
from coterie.data.errors import InputError
from coterie.data.feature_keys import is_missing_word, spell
from coterie.data.invalid_records import Fault, Faults, clipped, shown
from coterie.data.lines import TextRecords, split_lines, text_records
from coterie.data.schema import TableChunk
from coterie.types import Json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from coterie.data.schema import Kinds
    from coterie.data.sources import Source

#: Whole numbers up to this are floats without rounding, and those with more digits have no type in Arrow.
_EXACT, _DIGITS = 1 << 53, 76
_TOO_LONG = 10**_DIGITS


class _Type(NamedTuple):
    """The type of the values of a JSON key: in Arrow, as a feature, in messages, and in msgspec."""

    arrow: pa.DataType | None
    kind: str
    words: str
    checked: Any


_TYPES = {
    "bool": _Type(pa.bool_(), "categorical", "true or false", bool),
    "number": _Type(None, "numeric", "a number", int | float),  # see `_exact_numbers`
    "float": _Type(pa.float64(), "numeric", "a number", float),
    "str": _Type(pa.string(), "categorical", "a string", str),
    "list": _Type(pa.list_(pa.string()), "items", "a list of strings", list[str | None]),
}


def _type_of(value: object) -> str:
    """Return the type name of a JSON value: "other" for objects, mixed lists and numbers with too many digits."""
    name = type(value).__name__
    if name in ("int", "float"):
        return "number" if name == "float" or abs(value) < _TOO_LONG else "other"  # type: ignore[arg-type]
    if name == "list":
        return "list" if all(item is None or isinstance(item, str) for item in value) else "other"  # type: ignore[attr-defined]
    return name if name in _TYPES else "other"


def _decode(line: bytes) -> Json | str:
    """Decode one line of a JSON Lines file; return the object, or an error message as text."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        hint = " (JSON has no NaN and no Infinity)" if b"NaN" in line or b"Infinity" in line else ""
        return f"is not JSON: {str(error) or 'too deeply nested'}{hint}"
    if isinstance(value, dict):
        return value
    return f"{shown(line)} is not a JSON object"


class JsonTable:
    """An open JSON Lines file; keys that first appear after the first 4 MiB are ignored."""

    def __init__(self, source: Source, faults: Faults, block_rows: int) -> None:
        self._faults, self._block_rows = faults, block_rows
        self._pieces = text_records(source, split_lines, faults)
        first = next(self._pieces, None)
        if first is None:
            raise InputError("is empty: expected a JSON object on each line")
        self._first = first
        self._first_types = _find_types(self._first)
        self.names = list(self._first_types)
        if not self.names:
            message = _decode(self._first.record(0))
            raise InputError(message if isinstance(message, str) else "the object has no key", line=1)

    def kinds(self) -> Kinds:
        """Return the kind of each column: numeric, date, categorical for other strings, items for lists of strings."""
        reasons = {
            "null": "it is empty in the first rows",
            "other": "it holds objects or lists of other things than strings",
        }
        kinds = {name: kind.kind for name, kind in _TYPES.items()} | {"date": "date"}
        return {name: (kinds.get(kind), reasons.get(kind, "")) for name, kind in self._first_types.items()}

    def _type_for(self, name: str, use: str) -> str:
        """Return the type by which a column is read: that of ``use`` if it is fixed, else that of its first values."""
        if use in ("numeric", "items", "text", "date"):
            return {"numeric": "float", "items": "list", "text": "str", "date": "str"}[use]
        first = self._first_types.get(name, "null")
        return first if first in _TYPES and first != "list" else "str"

    def read_chunks(self, wanted: Mapping[str, str], unchanged: Sequence[str] = ()) -> Iterator[TableChunk]:
        """Yield chunks of the wanted columns; labels and tasks have the type of their values in the first 4 MiB."""
        types = {name: self._type_for(name, use) for name, use in wanted.items()}
        marked = {name for name, use in wanted.items() if use in ("categorical", "date")}
        decode = _column_decoder(types, marked)
        pieces = chain([self._first], self._pieces)
        for records in chain.from_iterable(piece.parts(self._block_rows) for piece in pieces):
            columns = None if unchanged else decode(records)
            if columns is None:
                yield self._parse_lines(records, types, marked, unchanged)
            else:
                yield TableChunk(columns, records.line)

    def _parse_lines(
        self, records: TextRecords, types: Mapping[str, str], marked: Collection[str], unchanged: Sequence[str]
    ) -> TableChunk:
        """Decode records line by line with ``types`` of the columns; report invalid lines and leave them out.

        ``marked`` names the columns in which null is a missing value and an absent key is not.
        """
        decoded = [_decode(records.record(row)) for row in range(len(records))]
        objects = [value for value in decoded if isinstance(value, dict)]
        numbers = [name for name, kind in types.items() if kind == "number"]
        whole = {name for name in numbers if any(_is_large(value.get(name)) for value in objects)}
        faults = [
            fault
            for row, value in enumerate(decoded)
            if records.record(row).strip()
            for fault in _check(row, value, types, whole)
        ]
        good = self._faults.reject(faults, records.line)
        good &= [isinstance(value, dict) for value in decoded]
        rows = [value for value, is_good in zip(decoded, good, strict=True) if is_good and isinstance(value, dict)]
        arrays = [
            _array([value.get(name, UNSET) for value in rows], kind, name in marked) for name, kind in types.items()
        ]
        values = {name: np.fromiter((row.get(name) for row in rows), object, len(rows)) for name in unchanged}
        return TableChunk(where_null_is_absent(arrays, list(types)), records.line[good], values)


def _find_types(records: TextRecords) -> dict[str, str]:
    """Return the most frequent type of the values of each key in the first records; "date" for mostly dates."""
    types: dict[str, Counter[str]] = {}
    for row in range(len(records)):
        decoded = _decode(records.record(row))
        for key, value in decoded.items() if isinstance(decoded, dict) else ():
            counts = types.setdefault(key, Counter())
            if value is not None and value != []:
                counts[_type_of(value)] += 1
                counts["date"] += isinstance(value, str) and is_date_text(value)
    for counts in types.values():
        if 2 * counts["date"] <= counts["str"]:
            del counts["date"]
        else:
            counts["date"] = counts.pop("str")
    return {key: max(counts, key=lambda name: counts[name], default="null") for key, counts in types.items()}


def _is_large(value: object) -> bool:
    """Return True for an integer that float64 cannot represent exactly."""
    return type(value) is int and _EXACT < abs(value) < _TOO_LONG


def _check(row: int, value: Json | str, types: Mapping[str, str], whole: Collection[str] = ()) -> Iterator[Fault]:
    """Yield the errors of one decoded line, which is row ``row``.

    Integers too large for float64 are allowed in the columns ``whole`` (labels and tasks).
    """
    if isinstance(value, str):
        yield Fault(row, None, value)
        return
    for name, kind in types.items():
        item = value.get(name)
        fits = item is None or _type_of(item) == kind or item == []
        if kind in ("float", "number"):
            fits = fits or _type_of(item) == "number" or is_missing_word(item)
        if not fits:
            more = ": move its keys to the object of the line" if isinstance(item, dict) else ""
            more = f" of up to {_DIGITS} digits" if type(item) is int and kind in ("number", "float") else more
            yield Fault(row, name, f"{clipped(json.dumps(item, ensure_ascii=False))} is not {_TYPES[kind].words}{more}")
        elif name in whole and isinstance(item, float) and not item.is_integer():
            yield Fault(row, name, f"{item!r} is not a whole number, as others of this column are")


def _array(values: list[Any], kind: str, marked: bool) -> pa.Array:
    """Convert the values of a key to an Arrow column: null for an absent key.

    A JSON null becomes "" if ``marked``, else null.
    """
    if kind in ("float", "number"):
        values = [None if isinstance(value, str) else value for value in values]  # a word for a missing number
    if kind == "float":
        numbers = np.array([math.nan if value is None or value is UNSET else float(value) for value in values])
        return pa.array(numbers, mask=np.array([value is UNSET for value in values], bool))
    if marked and None in values:
        kind = "str"
        values = ["" if value is None else value if value is UNSET else spell(value) for value in values]
    values = [None if value is UNSET else value for value in values]
    return _exact_numbers(values) if kind == "number" else pa.array(values, _TYPES[kind].arrow)


def _exact_numbers(values: list[Any]) -> pa.Array:
    """Convert numeric labels or tasks without rounding: to int64 or float64 if all fit, else to decimal numbers.

    Raises
    ------
    OverflowError
        If a whole number has too many digits, or no float equals it and other numbers are not whole.
    """
    kinds = set(map(type, values))
    if float in kinds and not any(map(_is_large, values)):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if float not in kinds:
        with suppress(OverflowError):
            return pa.array(values, pa.int64())
    whole = [None if value is None else int(value) for value in values]
    if whole != values or not all(value is None or abs(value) < _TOO_LONG for value in whole):
        raise OverflowError
    return pa.array(whole, pa.decimal256(_DIGITS, 0))


def _column_decoder(
    types: Mapping[str, str], marked: Collection[str]
) -> Callable[[TextRecords], pa.RecordBatch | None]:
    """Return a function that decodes many lines at once into columns of these types.

    It returns None if a line has other types.
    """
    attributes = [f"f{i}" for i in range(len(types))]
    fields = [(name, _TYPES[kind].checked | None, UNSET) for name, kind in zip(attributes, types.values(), strict=True)]
    try:
        record = msgspec.defstruct("Record", fields, rename=dict(zip(attributes, types, strict=True)), gc=False)
    except ValueError:
        # a key with a quote or a backslash in it: line by line, then
        return lambda records: None
    decoder = msgspec.json.Decoder(record)

    def decode(records: TextRecords) -> pa.RecordBatch | None:
        try:
            rows = decoder.decode_lines(records.span())
        except (msgspec.DecodeError, RecursionError):
            return None
        columns = [list(map(attrgetter(name), rows)) for name in attributes]
        try:
            arrays = [
                _array(values, kind, name in marked)
                for values, (name, kind) in zip(columns, types.items(), strict=True)
            ]
        except OverflowError:
            return None
        return where_null_is_absent(arrays, list(types)) if len(rows) == len(records) else None

    return decode
