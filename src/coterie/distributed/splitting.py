"""Splitting of files into one set of files per shard, in one pass."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import pyarrow as pa

from coterie.data.columns import plain
from coterie.data.raw_records import TextRows
from coterie.data.readers import Reading
from coterie.evaluation.learning import NothingLeftError, checked_blocks
from coterie.persistence import sync_folder

from .routing import ShardNumbers
from .run import SPLIT, Split, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coterie.data.block import Block
    from coterie.data.readers import Reader
    from coterie.types import Estimator

#: Records that a shard gathers before they are written.
_ROWS = 8192


def split_records(
    run: Path, reader: Reader, models: Iterable[Estimator], shards: int, kind: str, on_block: Callable[[int], None]
) -> Split:
    """Write the records after the common start to files of their shards, in order.

    Parameters
    ----------
    run : Path
        The folder to write to; files that an earlier split has left there are replaced.
    reader : Reader
        Reads all files, and skips the records of the common start.
    models : iterable of estimators
        The learners; records that one of them does not support raise an error now.
    shards : int
    kind : str
        The format of the files: ``"arrow"`` for tables, else that of the text.
    on_block : callable
        Called with the number of records after each block.

    Raises
    ------
    InputError
        With file and line, for a record that cannot be read or learned.
    """
    for path in run.glob("rows-*"):
        path.unlink()
    raw = reader.raw()
    writers, shard_numbers = [_Writer(run, shard) for shard in range(shards)], ShardNumbers(shards)
    try:
        for block in checked_blocks(raw, models):
            numbers = shard_numbers.look_up(block.tasks)
            for shard in np.unique(numbers).tolist():
                writers[shard].add(block.take(np.flatnonzero(numbers == shard)))
            on_block(raw.passed + raw.rows)
    except NothingLeftError:
        pass  # the common start was all
    finally:
        for writer in writers:
            writer.close()
    sync_folder(run)
    reading = Reading.from_reader(raw).to_json() | {"rows": raw.passed + raw.rows}
    files = [writer.names for writer in writers]
    split = Split(raw.passed, kind, files, [writer.records for writer in writers], reading)
    write_json(run / SPLIT, split)
    return split


class _Writer:
    """Writer of a shard's files: text lines, or Arrow IPC files (a new one when column types change)."""

    def __init__(self, run: Path, shard: int) -> None:
        self._run, self._shard = run, shard
        self.names: list[str] = []
        self.records = 0
        self._file: IO[bytes] | None = None
        self._table: pa.RecordBatchFileWriter | None = None
        self._schema: pa.Schema | None = None
        self._pending: list[pa.RecordBatch] = []

    def add(self, block: Block) -> None:
        """Write the records of a block."""
        self.records += len(block)
        if isinstance(block.X, TextRows):
            file = self._file or self._begin("txt")
            lines = block.X.records
            file.writelines(lines.record(row) + b"\n" for row in range(len(lines)))
            return
        columns = block.X.columns
        arrays = [plain(column) for column in columns.columns]
        # with the metadata of fields, which define the meaning of null
        fields = [field.with_type(array.type) for field, array in zip(columns.schema, arrays, strict=True)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        if self._pending and self._pending[0].schema != batch.schema:
            self._write()
        self._pending.append(batch)
        if sum(map(len, self._pending)) >= _ROWS:
            self._write()

    def _begin(self, ending: str) -> IO[bytes]:
        self.names.append(f"rows-{self._shard:05}-{len(self.names):05}.{ending}")
        self._file = (self._run / self.names[-1]).open("wb")
        return self._file

    def _write(self) -> None:
        if not self._pending:
            return
        schema = self._pending[0].schema
        if self._table is not None and self._schema != schema:
            self._end()
        if self._table is None:
            self._table, self._schema = pa.ipc.new_file(self._begin("arrow"), schema), schema
        for batch in pa.Table.from_batches(self._pending).combine_chunks().to_batches():
            self._table.write_batch(batch)
        self._pending = []

    def close(self) -> None:
        """Write buffered records, and flush all files to disk."""
        self._write()
        self._end()

    def _end(self) -> None:
        if self._table is not None:
            self._table.close()
            self._table = None
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
