"""JSON Lines: one object a line, parsed by pyarrow; what it refuses is decoded line by line, to find the place."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.json as pajson

from coterie.streams.errors import InputError
from coterie.streams.faults import Fault, Faults, clipped, shown
from coterie.streams.formats.table import Batch
from coterie.streams.lines import Records, split_lines, text_records

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from coterie.streams.schema import Kinds
    from coterie.streams.sources import Source

_TYPES = {
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "str": pa.string(),
    "list": pa.list_(pa.string()),
}
_KINDS = {"bool": "categorical", "int": "numeric", "float": "numeric", "str": "categorical", "list": "items"}
_WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "list": "a list of strings",
}
_LARGEST_INT = 1 << 63


def _type_of(value: object) -> str:
    """Name of a JSON value's type; ``"other"`` for an object, a mixed list or a number beyond the types."""
    name = type(value).__name__
    if name == "int":
        return "int" if -_LARGEST_INT <= value < _LARGEST_INT else "float"  # type: ignore[operator]
    if name == "list":
        return "list" if all(isinstance(item, str) for item in value) else "other"  # type: ignore[attr-defined]
    return name if name in _TYPES else "other"


def _decode(line: bytes) -> dict[str, Any] | str:
    """Decode one line: its object, or what is wrong with it."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        return f"is not JSON: {str(error) or 'too deeply nested'}"
    if isinstance(value, dict):
        return value
    return f"{shown(line)} is not a JSON object"


class JsonTable:
    """One file of JSON Lines; keys that first appear after the first block are not read."""

    def __init__(self, source: Source, faults: Faults, block_rows: int) -> None:
        self._path, self._faults = source.name, faults
        self._pieces = text_records(source, split_lines, faults, block_rows)
        self._first = next(self._pieces, None)
        if self._first is None:
            raise InputError("is empty: expected a JSON object on each line", source.name)
        self._seen = self._types(self._first)
        self.names = list(self._seen)
        if not self._seen:
            raise InputError("has no JSON object with a key in its first lines", source.name)

    def _types(self, records: Records) -> dict[str, str]:
        """Most frequent type of each key's values in some records, a number before all if one is not whole."""
        seen: dict[str, Counter[str]] = {}
        for row in range(len(records)):
            decoded = _decode(records.record(row))
            if isinstance(decoded, str):
                self._refuse(records, row, decoded)
                continue
            for key, value in decoded.items():
                counts = seen.setdefault(key, Counter())
                if value is not None and value != []:
                    counts[_type_of(value)] += 1
        for counts in seen.values():
            if counts["float"]:
                counts["float"] += counts.pop("int", 0)
        return {key: max(counts, key=lambda name: counts[name], default="null") for key, counts in seen.items()}

    def _refuse(self, records: Records, row: int, message: str) -> None:
        """Stop at a line that is no object; where faults are skipped it will be met, and counted, again."""
        if self._faults.stop and records.record(row).strip():
            self._faults.report(message, self._path, records.line[row])

    def kinds(self) -> Kinds:
        """Numbers are numeric, strings and truth values categorical, lists of strings items."""
        return {name: self._kind(found) for name, found in self._seen.items()}

    @staticmethod
    def _kind(found: str) -> tuple[str | None, str]:
        if found in _KINDS:
            return _KINDS[found], ""
        empty = "it is empty in the first rows"
        return None, empty if found == "null" else "it holds objects or lists of other things than strings"

    def _wanted_type(self, name: str, use: str) -> str:
        """Type to read a column as: what its use needs, or else what it was in the first rows."""
        found = self._seen.get(name, "null")
        if use in ("numeric", "items", "text"):
            return {"numeric": "float", "items": "list", "text": "str"}[use]
        return found if found in _TYPES and found != "list" else "str"

    def batches(self, wanted: Mapping[str, str]) -> Iterator[Batch]:
        """Parse piece after piece; the label and the task keep the type that they have in the first block."""
        types = {name: self._wanted_type(name, use) for name, use in wanted.items()}
        schema = pa.schema([(name, _TYPES[kind]) for name, kind in types.items()])
        for records in chain([self._first] if self._first else [], self._pieces):
            batch = self._parse(records, schema)
            yield Batch(batch, records.line) if batch is not None else self._parse_doubtful(records, types)

    @staticmethod
    def _parse(records: Records, schema: pa.Schema) -> pa.RecordBatch | None:
        """Parse some columns; None where pyarrow refuses the piece, or reads other records than there are lines."""
        data = records.span()
        try:
            table = pajson.read_json(
                pa.BufferReader(data),
                pajson.ReadOptions(use_threads=False, block_size=len(data) + 1),
                pajson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except pa.ArrowInvalid:
            return None
        if table.num_rows != len(records):
            return None
        columns = [table.column(name).combine_chunks() for name in schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _parse_doubtful(self, records: Records, types: Mapping[str, str]) -> Batch:
        """Decode line by line, report the bad ones, and keep the others."""
        decoded = [_decode(records.record(row)) for row in range(len(records))]
        found = [
            fault
            for row, value in enumerate(decoded)
            if records.record(row).strip()
            for fault in _check(row, value, types)
        ]
        good = self._faults.reject(found, self._path, records.line)
        good &= [isinstance(value, dict) for value in decoded]
        kept = [value for value, use in zip(decoded, good, strict=True) if use and isinstance(value, dict)]
        arrays = [_array([value.get(name) for value in kept], kind) for name, kind in types.items()]
        return Batch(pa.RecordBatch.from_arrays(arrays, names=list(types)), records.line[good])


def _check(row: int, value: dict[str, Any] | str, types: Mapping[str, str]) -> Iterator[Fault]:
    """What is wrong with a decoded line."""
    if isinstance(value, str):
        yield Fault(row, None, value)
        return
    for name, kind in types.items():
        item = value.get(name)
        fits = item is None or _type_of(item) == kind or (kind == "float" and _type_of(item) == "int") or item == []
        if not fits:
            yield Fault(row, name, f"{clipped(msgspec.json.encode(item))} is not {_WORDS[kind]}")


def _array(values: list[Any], kind: str) -> pa.Array:
    if kind == "float":
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, _TYPES[kind])
