"""Text cut into complete records, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.inputs.errors import InputError
from coterie.inputs.faults import Faults
from coterie.numeric.core.hashing import as_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .sources import Source

PIECE_BYTES = 1 << 22
LONGEST_RECORD = 1 << 24
#: Where a piece holds fewer records, as in tables of a hundred thousand columns, larger ones are read, up to a limit:
#: what is done once for each column of a piece would otherwise take most of the time.
FEW_RECORDS = 256
LARGEST_PIECE = 1 << 26
_STRICT = Faults("stop")
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class TextRecords:
    """Complete records ``data[start[i]:stop[i]]``, the line each begins on, and its number of fields (CSV)."""

    data: bytes
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    line: NDArray[np.int64]
    fields: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start)

    def pick(self, rows: slice | NDArray[Any]) -> TextRecords:
        """Take some of the records, over the same data."""
        return TextRecords(self.data, self.start[rows], self.stop[rows], self.line[rows], self.fields[rows])

    def record(self, row: int) -> bytes:
        """The bytes of one record."""
        return self.data[self.start[row] : self.stop[row]]

    def span(self) -> bytes:
        """All bytes from the first record's beginning to the last one's end."""
        return self.data[self.start[0] : self.stop[-1]] if len(self) else b""

    def parts(self, rows: int) -> Iterator[TextRecords]:
        """Cut the records into runs of at most so many."""
        for first in range(0, len(self), rows):
            yield self.pick(slice(first, first + rows))

    def is_ascii(self) -> bool:
        """True if all bytes from the first record's beginning to the last one's end are below 128."""
        return not len(self) or int(as_bytes(self.data)[self.start[0] : self.stop[-1]].max()) < 128

    def only(self, good: NDArray[np.bool_]) -> TextRecords:
        """Keep the good records, with nothing between them but line breaks."""
        kept = self.pick(good)
        data = b"\n".join(kept.record(row) for row in range(len(kept)))
        length = kept.stop - kept.start
        stop = np.cumsum(length + 1) - 1
        return replace(kept, data=data, start=stop - length, stop=stop)


#: A function that finds complete records in some bytes, which are the end of the text if the flag says so: the records
#: (lines counted from 0), the bytes and the line breaks taken.
Splitter = Callable[[bytes, bool], tuple[TextRecords, int, int]]


def split_lines(data: bytes, final: bool) -> tuple[TextRecords, int, int]:
    """Take every line that is not empty as a record; the `Splitter` of all formats but CSV."""
    ends = np.flatnonzero(as_bytes(data) == ord("\n"))
    breaks = len(ends)
    taken = int(ends[-1]) + 1 if breaks else 0
    if final and taken < len(data):
        ends, taken = np.append(ends, len(data)), len(data)
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1])[: len(ends)]
    lines = np.arange(len(ends))
    records = TextRecords(data, starts, ends, lines, lines)
    return records.pick(ends > starts), taken, breaks


def _decode(data: bytes, name: str) -> bytes:
    """Remove the mark at the beginning of a text, and refuse what is not UTF-8."""
    if data.startswith(_UTF16_MARKS):
        raise InputError("is UTF-16 text; expected UTF-8", name, 1)
    return data.removeprefix(_UTF8_MARK)


def _drop_line(source: Source, pending: bytes) -> tuple[bytes, int]:
    """Drop the line that `pending` begins with, reading on to its end; returns what follows, and the breaks dropped."""
    while pending and b"\n" not in pending:
        pending = source.read(PIECE_BYTES)
    _, ended, rest = pending.partition(b"\n")
    return rest, len(ended)


def _all_records(source: Source, split: Splitter, faults: Faults, header: bool) -> Iterator[TextRecords]:
    """Yield the records of each piece read; an incomplete one waits for more, at most `LONGEST_RECORD` of it."""
    pending, line, final, size = _decode(source.read(PIECE_BYTES), source.name), 1, False, PIECE_BYTES
    while pending or not final:
        records, taken, breaks = split(pending, final)
        if len(records):
            yield replace(records, line=records.line + line)
            header = False
        pending, line = pending[taken:], line + breaks
        if pending and (final or len(pending) > LONGEST_RECORD):
            what = "a quoted field is not closed" if final else f"the record does not end within {LONGEST_RECORD} bytes"
            (_STRICT if header else faults).report(what, source.name, line)
            pending, breaks = _drop_line(source, pending)
            line += breaks
        elif not final:
            size = min(max(size, FEW_RECORDS * taken // max(len(records), 1)), LARGEST_PIECE)
            piece = source.read(size)
            pending, final = pending + piece, not piece


def _only_utf8(records: TextRecords, name: str, faults: Faults, header: bool) -> TextRecords:
    """Keep the records that are UTF-8, and report the others."""
    if records.is_ascii() or _utf8_error(records.span()) is None:
        return records
    good = np.ones(len(records), dtype=bool)
    for row in range(len(records)):
        error = _utf8_error(records.record(row))
        if error is not None:
            good[row] = False
            byte = records.record(row)[error]
            message = f"is not UTF-8 text: byte 0x{byte:02x} at position {error + 1}; iconv converts other encodings"
            (_STRICT if header and row == 0 else faults).report(message, name, records.line[row])
    return records.only(good)


def _utf8_error(data: bytes) -> int | None:
    """Position of the first byte that is not UTF-8, None if all are."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def text_records(source: Source, split: Splitter, faults: Faults, header: bool = False) -> Iterator[TextRecords]:
    """Yield the records of a text, about four mebibytes at a time.

    Reports records that are not UTF-8, that do not end within 16 MiB, and quoted fields never closed; a fault of the
    first record is never skipped if it is a `header`.
    """
    for records in _all_records(source, split, faults, header):
        good = _only_utf8(records, source.name, faults, header)
        header = False
        if len(good):
            yield good
