"""Parquet, and Arrow's IPC files and streams: columns with their types, checked before use."""

from __future__ import annotations

import tempfile
from functools import partial
from itertools import groupby
from typing import IO, TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coterie.data.columns import is_string, unchanged_values
from coterie.data.errors import InputError
from coterie.data.schema import TableChunk, schema_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyarrow import parquet

    from coterie.data.invalid_records import Faults
    from coterie.data.schema import Kinds
    from coterie.data.sources import Source

_BLOCK_BYTES = 1 << 25
_PIECE_BYTES = 1 << 20
_PAGE_BYTES = 1 << 16
_FILE_MAGIC = b"ARROW1\0\0"
_STREAM_MAGIC = b"\xff\xff\xff\xff"


def _rows_at_once(block_rows: int, columns: int) -> int:
    """Return the number of rows to read per chunk: ``block_rows``, or fewer for tables with many columns."""
    return max(1, min(block_rows, _BLOCK_BYTES // (8 * max(columns, 1))))


def _cut(batch: pa.RecordBatch, before: int, block_rows: int, unchanged: Sequence[str]) -> Iterator[TableChunk]:
    """Validate a batch and split it into chunks of at most ``block_rows`` rows.

    ``before`` is the number of rows of the file before it, and ``unchanged`` names the columns to return as they are.
    """
    batch.validate(full=True)
    block_rows = _rows_of_length(sum(map(_longest_shared, batch.columns)), block_rows)
    for first in range(0, batch.num_rows, block_rows):
        part = batch.slice(first, block_rows)
        place = np.arange(part.num_rows, dtype=np.int64) + before + first + 1
        yield TableChunk(part, place, {name: unchanged_values(part.column(name)) for name in unchanged})


def _rows_of_length(longest: int, most: int) -> int:
    """Return the number of rows per chunk: ``most``, or fewer if a row may have ``longest`` bytes of text."""
    return max(1, min(most, _BLOCK_BYTES // max(longest, 1)))


def _longest_shared(column: pa.Array) -> int:
    """Return the byte length of the longest dictionary-encoded string of a column; 0 for other columns.

    A chunk copies a text for each row: a file of a kilobyte could expand to gigabytes.
    """
    kind = column.type
    shared = column.dictionary if pa.types.is_dictionary(kind) else column if pa.types.is_string_view(kind) else None
    if shared is None or not is_string(shared.type):
        return 0
    if pa.types.is_string_view(shared.type):  # a view has 16 bytes, of which the first four are the length of the text
        first = np.frombuffer(shared.buffers()[1], np.int32)[::4]
        return int(first[shared.offset : shared.offset + len(shared)].max(initial=0))
    return _longest_text(shared)


def _longest_text(texts: pa.Array) -> int:
    """Return the length in bytes of the longest text of a column; 0 for an empty column."""
    return pc.max(pc.binary_length(texts)).as_py() or 0


class ParquetTable:
    """An open Parquet file; standard input and compressed files are first copied to a temporary file."""

    def __init__(self, source: Source, faults: Faults, block_rows: int) -> None:
        from pyarrow import parquet

        self._source, self._block_rows = source, block_rows
        self._open = partial(parquet.ParquetFile, source.reopen() or _copy_to_disk(source))
        self._file = self._open()
        source.add_callback(self._file.close)
        self._schema = self._file.schema_arrow
        self.names = list(self._schema.names)
        self._peeking: parquet.ParquetFile | None = None

    def kinds(self) -> Kinds:
        """Return the kind of feature of each column by its type in the file."""
        return schema_kinds(self._schema)

    def read_chunks(self, wanted: Mapping[str, str], unchanged: Sequence[str] = ()) -> Iterator[TableChunk]:
        """Yield the wanted columns in chunks of rows."""
        names, metadata = list(dict.fromkeys((*wanted, *unchanged))), self._file.metadata
        groups = range(metadata.num_row_groups)
        size = sum(metadata.row_group(group).total_byte_size for group in groups)
        longest = _BLOCK_BYTES * max(metadata.num_rows, 1) // max(size, 1)
        row, most = 0, max(1, min(_rows_at_once(self._block_rows, len(names)), longest))
        for rows, alike in groupby(groups, lambda group: self._rows_of_group(group, names, most)):
            for batch in self._file.iter_batches(rows, list(alike), columns=names, use_threads=False):
                yield from _cut(batch.select(names), row, rows, unchanged)
                row += batch.num_rows
                self._source.advance(row / max(metadata.num_rows, 1))

    def _rows_of_group(self, group: int, wanted: Sequence[str], most: int) -> int:
        """Return the number of rows to read per chunk of a row group, at most ``most``.

        It is smaller if dictionary-encoded strings are long.

        The first row decides. The metadata of a column would decide as well, but a damaged file whose statistics
        contradict its schema would crash the process.
        """
        shared = [name for name in wanted if is_string(self._schema.field(name).type)]
        described = self._file.metadata.row_group(group)
        if not shared or described.total_byte_size * described.num_rows <= _BLOCK_BYTES:
            return most
        if self._peeking is None:
            strings = [name for name in self.names if is_string(self._schema.field(name).type)]
            self._peeking = self._open(read_dictionary=strings, buffer_size=_PAGE_BYTES)
            self._source.add_callback(self._peeking.close)
        longest = 0
        for name in shared:
            try:
                longest += sum(map(_longest_shared, _first_row(self._peeking, group, name)))
            except OSError:  # text in a delta encoding cannot be read as a dictionary
                longest += sum(map(_longest_text, _first_row(self._file, group, name)))
        return _rows_of_length(longest, most)


def _first_row(file: parquet.ParquetFile, group: int, name: str) -> list[pa.Array]:
    """Return the first row of column ``name`` in a row group of a Parquet file; an empty list for an empty group."""
    first = next(file.iter_batches(1, [group], columns=[name], use_threads=False), None)
    return [] if first is None else first.columns


def _copy_to_disk(source: Source) -> IO[bytes]:
    """Copy a stream to a temporary file, because Parquet needs random access; closing the file deletes it."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the source
    source.add_callback(file.close)
    while piece := source.read(_PIECE_BYTES):
        file.write(piece)
    file.seek(0)
    return file


class ArrowTable:
    """An open Arrow IPC file or stream; a source without random access is read as a stream."""

    def __init__(self, source: Source, faults: Faults, block_rows: int) -> None:
        self._source, self._block_rows = source, block_rows
        is_file = source.stream.begins_with(_FILE_MAGIC)
        if not is_file and not source.stream.begins_with(_STREAM_MAGIC):
            raise InputError("is not Arrow IPC data")
        file = source.reopen() if is_file else None
        if file is not None:
            reader = pa.ipc.open_file(file)
            self._batches = self._file_batches(reader)
        else:
            if is_file:
                source.read(len(_FILE_MAGIC))
            reader = pa.ipc.open_stream(pa.PythonFile(source.stream, mode="r"))
            self._batches = self._stream_batches(reader)
        self._schema = reader.schema
        self.names = list(self._schema.names)

    def _file_batches(self, reader: pa.ipc.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)
            self._source.advance((i + 1) / reader.num_record_batches)

    def _stream_batches(self, reader: pa.ipc.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
        yield from reader
        # a file has a footer behind its stream, and a process that writes it into a pipe waits until it is read
        while self._source.read(_PIECE_BYTES):
            pass

    def kinds(self) -> Kinds:
        """Return the kind of feature of each column by its type in the file."""
        return schema_kinds(self._schema)

    def read_chunks(self, wanted: Mapping[str, str], unchanged: Sequence[str] = ()) -> Iterator[TableChunk]:
        """Yield the wanted columns in chunks: the batches of the file, split if they are large."""
        names = list(dict.fromkeys((*wanted, *unchanged)))
        row, rows = 0, _rows_at_once(self._block_rows, len(names))
        for batch in self._batches:
            yield from _cut(batch.select(names), row, rows, unchanged)
            row += batch.num_rows
