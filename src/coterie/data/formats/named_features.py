"""svmlight and Vowpal Wabbit text: sparse rows with named features, parsed by compiled code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coterie._compiled.core import text_fields as fields
from coterie._compiled.core.hashing import as_bytes, bit_mask, encode_key
from coterie._compiled.text.svmlight import NO_QUERY, parse_svmlight
from coterie._compiled.text.vowpal import number_words, parse_vowpal
from coterie.data.feature_keys import HashedFeatures
from coterie.data.feature_names import Names
from coterie.data.invalid_records import Fault, Faults, shown
from coterie.data.lines import TextRecords, split_lines, text_records
from coterie.types import Array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from coterie.data.sources import Source

_NAMESPACE = re.compile(rb"\|([^\s|:]*)")

_MESSAGES = {
    fields.NOT_A_LABEL: "the label {word} is not a number",
    fields.NOT_A_NUMBER: "{word} does not hold a finite number within ±1e100",
    fields.NOT_AN_INDEX: "{word} does not begin with a whole number as its index",
    fields.INDEX_TOO_LARGE: "the index in {word} is beyond the {d} columns of bits={bits}; read with more bits",
    fields.NOT_A_QUERY: "task ids are whole numbers in this file, got {word}",
    fields.SECOND_QUERY: "{word} is a second task in one row",
    fields.NO_COLON: "{word} is not of the form index:value",
    fields.NO_BAR: "the line has no '|' before its features",
    fields.NO_NAME: "{word} is neither a feature's name nor a value",
    fields.NOT_AN_IMPORTANCE: "the importance {word} is not a number from 0 to 1,000,000",
    fields.HEADER_TOO_LONG: "{word} before '|' is neither label, importance nor tag; "
    "a base other than 0, an offset of the prediction, is not supported: leave it out",
    fields.NO_TASK: "the namespace {task!r} of the task is empty or missing; found {names}",
}
_UNEXPECTED_LABEL = "the row has a label, which earlier rows do not"
_UNEXPECTED_TASK = "the row has a task, which earlier rows do not"
_MISSING_TASK = "the row has no qid:, which earlier rows have"


class Rows(NamedTuple):
    """Consecutive valid records of a text file, parsed but not yet encoded as a `Block`."""

    records: TextRecords
    entries: HashedFeatures
    label: Array | None
    task: Array | None
    place: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None


@dataclass
class RowSchema:
    """Two properties of a stream, determined by its first record: it has labels, and it has tasks.

    If there are labels, rows without one are omitted unless ``label_optional``, as for prediction.
    """

    label: bool | None = None
    task: bool | None = None
    label_optional: bool = False


class _Parsed(NamedTuple):
    """The arrays that a compiled parser of svmlight or Vowpal Wabbit text returns."""

    entries: HashedFeatures
    label: NDArray[np.float64]
    task: Array | None
    fault: NDArray[np.int8]
    token: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class SvmlightParser:
    """A parser of svmlight text with 2**bits columns. A task is an integer, or `NO_QUERY` if the row has none."""

    bits: int
    task: str | None = None

    def __call__(self, data: NDArray[np.uint8], records: TextRecords) -> _Parsed:
        """Parse the records of a text; the task of a record is the number after ``qid:``."""
        rows = parse_svmlight(data, records.start, records.stop, 1 << self.bits)
        entries = HashedFeatures(np.diff(rows.indptr), rows.indices[: rows.indptr[-1]], rows.values[: rows.indptr[-1]])
        return _Parsed(entries, rows.label, rows.task[:, 0], rows.fault, rows.token)


@dataclass(frozen=True)
class VowpalParser:
    """A parser of Vowpal Wabbit text, hashed to 2**bits columns; the task is the first feature of a namespace.

    ``noted(n)`` returns True if the feature names of the next n records shall be stored in ``names``.
    """

    bits: int
    task: str | None
    names: Names
    noted: Callable[[int], bool]

    def __call__(self, data: NDArray[np.uint8], records: TextRecords) -> _Parsed:
        """Parse the records of a text; tasks are strings."""
        name = as_bytes(encode_key(self.task or ""))
        names = self.names if self.noted(len(records)) else Names(self.bits, enabled=False)
        rows = parse_vowpal(data, records.start, records.stop, name, bit_mask(self.bits), names.table)
        names.copy_names(data)
        names.count(len(records))
        entries = HashedFeatures(np.diff(rows.indptr), rows.indices[: rows.indptr[-1]], rows.values[: rows.indptr[-1]])
        weight = rows.importance if (rows.importance != 1.0).any() else None
        return _Parsed(entries, rows.label, self._tasks(data, rows.task), rows.fault, rows.token, weight=weight)

    def _tasks(self, data: NDArray[np.uint8], place: NDArray[np.int64]) -> Array | None:
        """Return the tasks of the rows as strings, given the byte range ``place`` of each task in the text."""
        if self.task is None:
            return None
        first, numbers = number_words(data, place)
        words = [data[start:stop].tobytes().decode() for start, stop in place[first].tolist()]
        return np.array(words, object)[numbers]


#: A parser of the records of one format, with 2**bits columns, and the namespace of the task, if any.
RowParser = SvmlightParser | VowpalParser


def namespaces_in(records: TextRecords) -> list[str]:
    """Return the namespaces of these records in order of first appearance; ``""`` is the unnamed namespace."""
    names = (name for row in range(len(records)) for name in _NAMESPACE.findall(records.record(row)))
    return [name.decode("utf-8", "replace") for name in dict.fromkeys(names)]


def read_rows(source: Source, faults: Faults, block_rows: int, parse: RowParser, schema: RowSchema) -> Iterator[Rows]:
    """Yield the parsed rows of a file in blocks of ``block_rows``; blank lines and comments are skipped."""
    pieces = text_records(source, split_lines, faults)
    for records in chain.from_iterable(piece.parts(block_rows) for piece in pieces):
        parsed = parse(as_bytes(records.data), records)
        sound, labelled = parsed.fault == fields.GOOD, ~np.isnan(parsed.label)
        has_task = np.zeros(len(records), bool) if parsed.task is None else np.asarray(parsed.task != NO_QUERY)
        if schema.task is None and sound.any():  # the first good row decides
            first = int(sound.argmax())
            schema.label, schema.task = bool(schema.label or labelled[first]), bool(has_task[first])
        unlabelled = sound & ~labelled & (bool(schema.label) and not schema.label_optional)
        faults.unlabelled += int(unlabelled.sum())
        used, wrong = sound & ~unlabelled, list(_parser_faults(parsed, records, parse))
        if not (schema.label or schema.label_optional):
            wrong += [Fault(row, None, _UNEXPECTED_LABEL) for row in np.flatnonzero(used & labelled).tolist()]
        message = _MISSING_TASK if schema.task else _UNEXPECTED_TASK
        wrong += [Fault(row, None, message) for row in np.flatnonzero(used & (has_task != bool(schema.task))).tolist()]
        good = faults.reject(wrong, records.line) & used
        if good.any():
            counts, indices, values = parsed.entries
            entries = slice(None) if good.all() else np.repeat(good, counts)
            yield Rows(
                records.pick(good),
                HashedFeatures(counts[good], indices[entries], values[entries]),
                parsed.label[good] if schema.label else None,
                parsed.task[good] if schema.task and parsed.task is not None else None,
                records.line[good],
                None if parsed.weight is None else parsed.weight[good],
            )


def _parser_faults(parsed: _Parsed, records: TextRecords, parse: RowParser) -> Iterator[Fault]:
    """Yield an error message for each record for which the compiled parser returned an error code."""
    for row in np.flatnonzero(parsed.fault > fields.GOOD):
        word, names = shown(records.data[slice(*parsed.token[row])]), namespaces_in(records.pick(slice(row, row + 1)))
        message = _MESSAGES[int(parsed.fault[row])].format(
            word=word, d=1 << parse.bits, bits=parse.bits, task=parse.task, names=", ".join(map(shown, names))
        )
        yield Fault(int(row), None, message)
