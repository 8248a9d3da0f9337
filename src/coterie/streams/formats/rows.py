"""svmlight and Vowpal Wabbit text: rows that name their own features, parsed by compiled code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from coterie.numeric import fields
from coterie.numeric.hashing import as_bytes, bit_mask, encode_key
from coterie.numeric.svmlight import NO_QUERY, parse_svmlight
from coterie.numeric.vowpal import namespaces, number_words, parse_vowpal
from coterie.streams.entries import Entries
from coterie.streams.faults import Fault, Faults, shown
from coterie.streams.lines import Records, split_lines, text_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from coterie.streams.sources import Source
    from coterie.streams.view_encoding import ViewEncoder

_NAMESPACE = re.compile(rb"\|([^\s|:]*)")

_MESSAGES = {
    fields.NOT_A_LABEL: "the label {word} is not a number",
    fields.NOT_A_NUMBER: "{word} does not hold a finite number within ±1e100",
    fields.NOT_AN_INDEX: "{word} does not begin with a whole number as its index",
    fields.INDEX_TOO_LARGE: "the index in {word} is beyond the {d} columns of bits={bits}; read with more bits",
    fields.NOT_A_QUERY: "{word} is no whole number as the task",
    fields.SECOND_QUERY: "{word} is a second task in one row",
    fields.NO_COLON: "{word} is not of the form index:value",
    fields.NO_BAR: "the line has no '|' before its features",
    fields.NO_NAME: "{word} is a value without a feature's name",
    fields.NOT_AN_IMPORTANCE: "the importance {word} is not a number of 0 or more",
    fields.HEADER_TOO_LONG: "{word} is one word too many before '|'; expected label, importance, base and tag",
    fields.NO_TASK: "the namespace {task!r}, which holds the task, is empty or missing",
    fields.NO_LABEL: "the label is missing, which earlier rows have",
}
_UNEXPECTED_LABEL = "the row has a label, which earlier rows do not"
_UNEXPECTED_TASK = "the row has a task, which earlier rows do not"
_MISSING_TASK = "the row has no qid:, which earlier rows have"


class Rows(NamedTuple):
    """Consecutive records that are good, as `Block` wants them."""

    entries: Entries
    label: NDArray[Any] | None
    task: NDArray[Any] | None
    place: NDArray[np.int64]
    view: NDArray[np.int64] | None = None


@dataclass
class Habits:
    """What the first record of a stream fixes for all: whether records have a label and a task."""

    label: bool | None = None
    task: bool | None = None
    notes: dict[str, str] = field(default_factory=dict)


class _Parsed(NamedTuple):
    """What `parse_svmlight` and `parse_vowpal` have in common."""

    entries: Entries
    label: NDArray[np.float64]
    task: NDArray[Any] | None
    fault: NDArray[np.int8]
    token: NDArray[np.int64]
    view: NDArray[np.int64] | None = None


class RowParser(Protocol):
    """Parses records of one format."""

    @property
    def bits(self) -> int:
        """There are ``2**bits`` columns."""

    @property
    def task(self) -> str | None:
        """Where the task stands, if the format lets the caller say."""

    def __call__(self, data: NDArray[np.uint8], records: Records) -> _Parsed:
        """Parse; the task is None where the format or the options give none."""


@dataclass(frozen=True)
class SvmlightParser:
    """svmlight with 2**bits columns; the task is a number, `NO_QUERY` where a row has none."""

    bits: int
    task: str | None = None

    def __call__(self, data: NDArray[np.uint8], records: Records) -> _Parsed:
        """Parse; the task is the number after ``qid:``."""
        rows = parse_svmlight(data, records.start, records.stop, 1 << self.bits)
        entries = Entries(np.diff(rows.indptr), rows.indices[: rows.indptr[-1]], rows.values[: rows.indptr[-1]])
        return _Parsed(entries, rows.label, rows.query, rows.fault, rows.token)


@dataclass(frozen=True)
class VowpalParser:
    """Vowpal Wabbit text, hashed to 2**bits columns; the task is the first feature of a namespace."""

    bits: int
    task: str | None
    habits: Habits

    def __call__(self, data: NDArray[np.uint8], records: Records) -> _Parsed:
        """Parse; the task is a string."""
        name = as_bytes(encode_key(self.task or ""))
        rows = parse_vowpal(data, records.start, records.stop, name, bit_mask(self.bits))
        entries = Entries(np.diff(rows.indptr), rows.indices[: rows.indptr[-1]], rows.values[: rows.indptr[-1]])
        if (rows.importance != 1.0).any():
            self.habits.notes["importance"] = "importance weights are not used"
        return _Parsed(entries, rows.label, self._tasks(data, rows.task), rows.fault, rows.token)

    def _tasks(self, data: NDArray[np.uint8], place: NDArray[np.int64]) -> NDArray[Any] | None:
        """Task of each row; equal ones are one object."""
        if self.task is None:
            return None
        first, numbers = number_words(data, place)
        words = [data[start:stop].tobytes().decode() for start, stop in place[first].tolist()]
        return np.array(words, object)[numbers]


class ViewParser:
    """Vowpal Wabbit text whose namespaces belong to views; ``decide`` makes an encoder of those the first rows have."""

    task: None = None

    def __init__(
        self, bits: int, encoder: ViewEncoder | None, decide: Callable[[list[str]], ViewEncoder], habits: Habits
    ) -> None:
        self.bits, self.encoder, self._decide, self._habits = bits, encoder, decide, habits

    def __call__(self, data: NDArray[np.uint8], records: Records) -> _Parsed:
        """Parse; an entry's view is its place among the views."""
        if self.encoder is None:
            self.encoder = self._decide(namespaces_in(records))
        parts = self.encoder.parts
        wanted = namespaces([name for each in parts for name in each.own], [n for each in parts for n in each.called])
        rows = parse_vowpal(data, records.start, records.stop, as_bytes(b""), bit_mask(self.bits), wanted)
        total = rows.indptr[-1]
        if (rows.importance != 1.0).any():
            self._habits.notes["importance"] = "importance weights are not used"
        view = np.repeat(np.arange(len(parts)), [len(each.own) for each in parts])[rows.namespace[:total]]
        entries = Entries(np.diff(rows.indptr), rows.indices[:total], rows.values[:total])
        return _Parsed(entries, rows.label, None, rows.fault, rows.token, view)


def namespaces_in(records: Records) -> list[str]:
    """Names of the namespaces of some rows, in order of first appearance; ``""`` is the one without a name."""
    found = (name for row in range(len(records)) for name in _NAMESPACE.findall(records.record(row)))
    return [name.decode("utf-8", "replace") for name in dict.fromkeys(found)]


def read_rows(source: Source, faults: Faults, block_rows: int, parse: RowParser, habits: Habits) -> Iterator[Rows]:
    """Yield the rows of a file, block after block; blank lines and comments are none."""
    pieces = text_records(source, split_lines, faults)
    for records in chain.from_iterable(piece.parts(block_rows) for piece in pieces):
        parsed = parse(as_bytes(records.data), records)
        _settle(habits, parsed)
        found = [*_parser_faults(parsed, records, parse), *_habit_faults(habits, parsed)]
        good = faults.reject(found, source.name, records.line) & (parsed.fault == fields.GOOD)
        if good.any():
            yield _good_rows(parsed, records, good, habits)


def _settle(habits: Habits, parsed: _Parsed) -> None:
    """Let the first good row say whether there are labels and tasks."""
    good = np.flatnonzero(parsed.fault == fields.GOOD)
    if habits.label is None and len(good):
        habits.label = not np.isnan(parsed.label[good[0]])
        habits.task = bool(_has_task(parsed)[good[0]])


def _has_task(parsed: _Parsed) -> NDArray[np.bool_]:
    """Whether each row names a task."""
    if parsed.task is None:
        return np.zeros(len(parsed.label), dtype=bool)
    there: NDArray[np.bool_] = parsed.task != NO_QUERY
    return there


def _parser_faults(parsed: _Parsed, records: Records, parse: RowParser) -> Iterator[Fault]:
    """Sentences for the codes of the parser."""
    for row in np.flatnonzero(parsed.fault > fields.GOOD):
        word = shown(records.data[slice(*parsed.token[row])])
        message = _MESSAGES[int(parsed.fault[row])].format(
            word=word, d=1 << parse.bits, bits=parse.bits, task=parse.task
        )
        yield Fault(int(row), None, message)


def _habit_faults(habits: Habits, parsed: _Parsed) -> Iterator[Fault]:
    """Good rows that have a label or a task where the first had none, or the other way round."""
    good = parsed.fault == fields.GOOD
    labelled, tasked = ~np.isnan(parsed.label), _has_task(parsed)
    for row in np.flatnonzero(good & (labelled != bool(habits.label))):
        yield Fault(int(row), None, _MESSAGES[fields.NO_LABEL] if habits.label else _UNEXPECTED_LABEL)
    for row in np.flatnonzero(good & (tasked != bool(habits.task))):
        yield Fault(int(row), None, _MISSING_TASK if habits.task else _UNEXPECTED_TASK)


def _good_rows(parsed: _Parsed, records: Records, good: NDArray[np.bool_], habits: Habits) -> Rows:
    """Leave out the rows that are not good."""
    counts = parsed.entries.counts
    kept = slice(None) if good.all() else np.repeat(good, counts)
    entries = Entries(counts[good], parsed.entries.indices[kept], parsed.entries.values[kept])
    label = parsed.label[good] if habits.label else None
    task = parsed.task[good] if habits.task and parsed.task is not None else None
    view = None if parsed.view is None else parsed.view[kept]
    return Rows(entries, label, task, records.line[good], view)
