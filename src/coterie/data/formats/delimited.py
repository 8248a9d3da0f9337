"""CSV and other delimited text: split into complete records, and parsed by pyarrow.

Records are split here and not by pyarrow, so that every error has a line number and a bad record can be skipped.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from coterie._compiled.core.hashing import as_bytes
from coterie._compiled.text.csv import split_csv
from coterie.data.columns import NUMBER, parse_numbers, unchanged_values
from coterie.data.dates import mostly_dates
from coterie.data.errors import InputError
from coterie.data.feature_keys import MISSING_WORDS
from coterie.data.invalid_records import Fault, Faults, require_distinct
from coterie.data.lines import TextRecords, text_records
from coterie.data.schema import TableChunk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from coterie.data.schema import Kinds
    from coterie.data.sources import Source
    from coterie.types import Array

DELIMITERS = ",\t;|"


def sniff_delimiter(header: bytes) -> str:
    """Guess the delimiter: the most frequent of ``, tab ; |`` outside quotes; a comma if there is none.

    Examples
    --------
    >>> sniff_delimiter(b'name;"price, net";shop')
    ';'
    """
    counts = Counter(re.sub(r'"[^"]*"', "", header.decode("utf-8", "replace")))
    return max(DELIMITERS, key=lambda delimiter: counts[delimiter])


class _Splitter:
    """Splits CSV text into complete records; the delimiter is detected in the first piece of text."""

    def __init__(self, delimiter: str | None) -> None:
        self.delimiter = delimiter or ""

    def __call__(self, data: bytes, final: bool) -> tuple[TextRecords, int, int]:
        if not self.delimiter:
            header, end, _ = data.lstrip(b"\r\n").partition(b"\n")
            if not (end or final):  # the rest of the line may decide
                data = b""
            self.delimiter = sniff_delimiter(header) if data else ""
        records, used, breaks = split_csv(as_bytes(data), self.delimiter or DELIMITERS[0], final)
        return TextRecords(data, records.start, records.stop, records.line, records.fields), used, breaks


class CsvTable:
    """An open CSV file with a header line."""

    def __init__(self, source: Source, faults: Faults, block_rows: int, delimiter: str | None = None) -> None:
        self._faults, self._block_rows = faults, block_rows
        self._split = _Splitter(delimiter)
        pieces = text_records(source, self._split, faults, header=True)
        first = next(pieces, None)
        if first is None:
            raise InputError("is empty: expected a header line")
        self.names = self._header(first)
        regular = map(self._regular, chain([first.pick(slice(1, None))], pieces))
        self._pieces = (records for records in regular if len(records))
        self._first = next(self._pieces, None)

    def _header(self, records: TextRecords) -> list[str]:
        line = records.record(0) + b"\n"
        table = pacsv.read_csv(
            pa.BufferReader(line),
            pacsv.ReadOptions(autogenerate_column_names=True, use_threads=False, block_size=len(line) + 1),
            self._parse_options(),
            pacsv.ConvertOptions(column_types={f"f{i}": pa.string() for i in range(records.fields[0])}),
        )
        names = [column[0].as_py().strip() for column in table.columns]
        require_distinct(names, int(records.line[0]))
        return names

    def _parse_options(self) -> pacsv.ParseOptions:
        return pacsv.ParseOptions(delimiter=self._split.delimiter, newlines_in_values=True)

    def _regular(self, records: TextRecords) -> TextRecords:
        """Return the records that have as many fields as the header; report the others as errors."""
        good = records.fields == len(self.names)
        if good.all():
            return records
        for row in np.flatnonzero(~good):
            fields = int(records.fields[row])
            message = f"the line has {fields} field{'s' * (fields != 1)}, the header {len(self.names)}"
            self._faults.report(message, records.line[row])
        return records.only(good)

    @staticmethod
    def _types(types: Mapping[str, pa.DataType]) -> pacsv.ConvertOptions:
        return pacsv.ConvertOptions(
            column_types=dict(types),
            include_columns=list(types),
            null_values=list(MISSING_WORDS),
            strings_can_be_null=False,
            check_utf8=False,
        )

    def _parse(self, records: TextRecords, wanted: pacsv.ConvertOptions) -> pa.RecordBatch:
        """Parse the wanted columns of records with pyarrow.

        Raise ``pyarrow.ArrowInvalid`` for text in a numeric column.
        """
        data = records.span()
        table = pacsv.read_csv(
            pa.BufferReader(data + b"\n"),
            pacsv.ReadOptions(column_names=self.names, use_threads=False, block_size=len(data) + 2),
            self._parse_options(),
            wanted,
        )
        if table.num_rows != len(records):
            raise InputError("cannot be split into records", line=int(records.line[0]))
        (batch,) = table.combine_chunks().to_batches()
        return batch

    def kinds(self) -> Kinds:
        """Return the kinds of columns: numeric or date if more than half of the values are, else categorical."""
        if self._first is None:
            return {}
        batch = self._parse(self._first, self._types(dict.fromkeys(self.names, pa.string())))
        words = pa.concat_arrays(batch.columns)  # all at once: there may be a hundred thousand columns
        shape = (len(self.names), len(self._first))
        present = ~pc.is_in(words, pa.array(MISSING_WORDS)).to_numpy(zero_copy_only=False).reshape(shape)
        numbers = pc.match_substring_regex(words, NUMBER).to_numpy(zero_copy_only=False).reshape(shape) & present
        values, numeric, kinds = present.sum(1).tolist(), numbers.sum(1).tolist(), {}
        for j, name in enumerate(self.names):
            is_date = 2 * numeric[j] <= values[j] and mostly_dates(batch.columns[j], values[j])
            kind = "numeric" if 2 * numeric[j] > values[j] else "date" if is_date else "categorical"
            kinds[name] = (kind, "") if values[j] else (None, "it is empty in the first rows")
        return kinds

    def read_chunks(self, wanted: Mapping[str, str], unchanged: Sequence[str] = ()) -> Iterator[TableChunk]:
        """Yield chunks: numeric columns as numbers, all other columns, and those in ``unchanged``, as strings."""
        types = {name: pa.float64() if use == "numeric" else pa.string() for name, use in wanted.items()}
        options = self._types(types)
        pieces = chain([self._first] if self._first is not None else [], self._pieces)
        for records in chain.from_iterable(piece.parts(self._block_rows) for piece in pieces):
            texts = self._texts(records, unchanged)
            try:
                yield TableChunk(self._parse(records, options), records.line, texts)
            except pa.ArrowInvalid:
                yield self._parse_doubtful(records, types, texts)

    def _texts(self, records: TextRecords, names: Sequence[str]) -> Mapping[str, Array]:
        """Parse the named columns as strings."""
        if not names:
            return {}
        batch = self._parse(records, self._types(dict.fromkeys(names, pa.string())))
        return {name: unchanged_values(batch.column(name)) for name in names}

    def _parse_doubtful(
        self, records: TextRecords, types: Mapping[str, pa.DataType], unchanged: Mapping[str, Array]
    ) -> TableChunk:
        """Parse numeric columns value by value after pyarrow failed, and report each value that is not a number."""
        batch = self._parse(records, self._types(dict.fromkeys(types, pa.string())))
        columns, faults = [], list[Fault]()
        for name, kind in types.items():
            column = batch.column(name)
            if kind == pa.float64():
                column, wrong = parse_numbers(name, column)
                faults += wrong
            columns.append(column)
        good = self._faults.reject(faults, records.line)
        batch = pa.RecordBatch.from_arrays(columns, names=list(types)).filter(pa.array(good))
        return TableChunk(batch, records.line[good], {name: column[good] for name, column in unchanged.items()})
