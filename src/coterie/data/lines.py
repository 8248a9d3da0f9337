"""Splitting of text into complete records, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from coterie._compiled.core.hashing import as_bytes

from .errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coterie.types import Array

    from .invalid_records import Faults
    from .sources import Source

PIECE_BYTES = 1 << 22
LONGEST_RECORD = 1 << 24
#: If a piece has fewer records, as in tables of a hundred thousand columns, larger pieces are read, up to a limit:
#: otherwise the work that is done once for each column of a piece would take most of the time.
FEW_RECORDS = 256
LARGEST_PIECE = 1 << 26
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class TextRecords:
    """Complete records ``data[start[i]:stop[i]]``, their line numbers, and (CSV) their numbers of fields."""

    data: bytes
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    line: NDArray[np.int64]
    fields: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start)

    def pick(self, rows: slice | Array) -> TextRecords:
        """Return the records at these indices, without copying their text."""
        return TextRecords(self.data, self.start[rows], self.stop[rows], self.line[rows], self.fields[rows])

    def record(self, row: int) -> bytes:
        """Return the bytes of one record."""
        return self.data[self.start[row] : self.stop[row]]

    def span(self) -> bytes:
        """Return the bytes from the start of the first record to the end of the last."""
        return self.data[self.start[0] : self.stop[-1]] if len(self) else b""

    def parts(self, rows: int) -> Iterator[TextRecords]:
        """Split the records into parts of at most ``rows`` records."""
        for first in range(0, len(self), rows):
            yield self.pick(slice(first, first + rows))

    def only(self, good: NDArray[np.bool_]) -> TextRecords:
        """Copy the selected records (mask or slice), separated by line breaks, to a new text."""
        records = self.pick(good)
        data = b"\n".join(records.record(row) for row in range(len(records)))
        length = records.stop - records.start
        stop = np.cumsum(length + 1) - 1
        return replace(records, data=data, start=stop - length, stop=stop)


#: A function that finds complete records in bytes, the last ones of the text if the flag is true: the records (lines
#: counted from 0), and the numbers of bytes and of line breaks used.
Splitter = Callable[[bytes, bool], tuple[TextRecords, int, int]]


def split_lines(data: bytes, final: bool) -> tuple[TextRecords, int, int]:
    """Split text into lines; every non-empty line is a record. The `Splitter` of all formats except CSV."""
    ends = np.flatnonzero(as_bytes(data) == ord("\n"))
    breaks = len(ends)
    used = int(ends[-1]) + 1 if breaks else 0
    if final and used < len(data):
        ends, used = np.append(ends, len(data)), len(data)
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1])[: len(ends)]
    lines = np.arange(len(ends))
    records = TextRecords(data, starts, ends, lines, lines)
    return records.pick(ends > starts), used, breaks


def text_records(source: Source, split: Splitter, faults: Faults, header: bool = False) -> Iterator[TextRecords]:
    """Read a text and yield its records, about 4 MiB at a time.

    Reports records that are not UTF-8, that do not end within 16 MiB, and unclosed quotes; an error in a `header` is
    never skipped.
    """
    pending, line, final, size = source.read(PIECE_BYTES), 1, False, PIECE_BYTES
    if pending.startswith(_UTF16_MARKS):
        raise InputError("is UTF-16 text; expected UTF-8", line=1)
    pending = pending.removeprefix(_UTF8_MARK)
    while pending or not final:
        records, used, breaks = split(pending, final)
        if len(records):
            good = _utf8_records(replace(records, line=records.line + line), faults, header)
            header = False
            if len(good):
                yield good
        pending, line = pending[used:], line + breaks
        if pending and (final or len(pending) > LONGEST_RECORD):
            reason = (
                "a quoted field is not closed" if final else f"the record does not end within {LONGEST_RECORD} bytes"
            )
            if header:
                raise InputError(reason, line=line)
            faults.report(reason, line)
            while pending and b"\n" not in pending:
                pending = source.read(PIECE_BYTES)
            _, end, pending = pending.partition(b"\n")
            line += len(end)
        elif not final:
            size = min(max(size, FEW_RECORDS * used // max(len(records), 1)), LARGEST_PIECE)
            piece = source.read(size)
            pending, final = pending + piece, not piece


def _utf8_records(records: TextRecords, faults: Faults, header: bool) -> TextRecords:
    """Return the records that are valid UTF-8, and report the others."""
    with suppress(UnicodeDecodeError):
        records.span().decode()
        return records
    good = np.ones(len(records), dtype=bool)
    for row in range(len(records)):
        data, line = records.record(row), int(records.line[row])
        try:
            data.decode()
        except UnicodeDecodeError as error:
            good[row], first = False, error.start
            message = (
                f"is not UTF-8 text: byte 0x{data[first]:02x} at position {first + 1}; iconv converts other encodings"
            )
            if header and row == 0:
                raise InputError(message, line=line) from None
            faults.report(message, line)
    return records.only(good)
