"""Readers of files: records as blocks of feature rows, in bounded memory."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.inputs.block import Block, RawRecords
from coterie.inputs.encoding import Encoder
from coterie.inputs.errors import FieldError, InputError
from coterie.inputs.faults import Fault, Faults, reading, require_column, require_distinct
from coterie.inputs.names import Names
from coterie.wording import listed

from .raw import TableRows, TextRows
from .schema import QUERY, ReadOptions, decide, kind_of_time, require_row_options
from .sources import STDIN, STDIN_NAME, Source, find_paths, format_suffix, total_size

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from coterie.inputs.hints import ColumnProfiler, Hint

    from .formats.rows import RowParser, RowSchema
    from .formats.table import NamedColumns, TableChunk

TABLES = ("csv", "tsv", "jsonl", "parquet", "arrow")
ROWS = ("svmlight", "vw")
FORMATS = TABLES + ROWS
_WITHOUT_HEADER = ("jsonl", *ROWS)
_LISTED = ", ".join(map(repr, FORMATS))
#: The endings of the names of files.
_ENDINGS = {
    "csv": ("csv", "txt"),
    "tsv": ("tsv", "tab"),
    "jsonl": ("jsonl", "ndjson", "json"),
    "parquet": ("parquet", "pq"),
    "arrow": ("arrow", "arrows", "feather", "ipc"),
    "svmlight": ("svm", "svmlight", "libsvm"),
    "vw": ("vw",),
}
_BY_ENDING = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings}
#: What is missing in an empty file.
_EXPECTED = {
    **dict.fromkeys(("csv", "tsv"), "a header line"),
    "jsonl": "a JSON object on each line",
    "parquet": "Parquet data",
    "arrow": "Arrow IPC data",
    **dict.fromkeys(ROWS, "a record on each line"),
}


def detect_format(path: str, given: str | None) -> str:
    """The format of a file: the one given, or that of its extension.

    Examples
    --------
    >>> detect_format("logs/2013.csv.gz", None), detect_format("-", "jsonl")
    ('csv', 'jsonl')
    """
    if given is not None:
        if given not in FORMATS:
            raise FieldError("{} is {given!r}; expected one of {all}", "format", given=given, all=_LISTED)
        return given
    found = _BY_ENDING.get(format_suffix(path))
    if found is None:
        place = "standard input has no extension" if path == STDIN else f"the extension of {path!r} names no format"
        raise FieldError("{place}; give {}, one of {all}", "format", place=place, all=_LISTED)
    return found


def open_table(kind: str, source: Source, faults: Faults, block_rows: int) -> NamedColumns:
    """Open a file of named columns; its format's module is loaded now."""
    if kind in ("csv", "tsv"):
        from .formats.csv import CsvTable

        return CsvTable(source, faults, block_rows, "\t" if kind == "tsv" else None)
    if kind == "jsonl":
        from .formats.jsonl import JsonTable

        return JsonTable(source, faults, block_rows)
    from .formats.arrow import ArrowTable, ParquetTable

    return (ParquetTable if kind == "parquet" else ArrowTable)(source, faults, block_rows)


class FilesReader:
    """The base of readers: the files, and what was read and left out of them in the latest iteration."""

    def __init__(self, paths: Sequence[str], formats: Sequence[str], on_error: str) -> None:
        self._paths, self._formats, self._on_error = tuple(paths), tuple(formats), on_error
        self.bytes_total = total_size(paths)
        self._restart()

    def _restart(self) -> None:
        self._faults = Faults(self._on_error)
        self._order = Order()
        self._bytes_before = 0
        self._source: Source | None = None
        self.columns: dict[str, str] = {}
        self.dropped: dict[str, str] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """The names of the files in messages."""
        return tuple(STDIN_NAME if path == STDIN else path for path in self._paths)

    @property
    def source(self) -> str:
        """The first of these names, and how many more there are."""
        return listed(self.paths, 3)

    @property
    def names_by_role(self) -> dict[str, list[str]]:
        """The columns that were read, by their use."""
        found: dict[str, list[str]] = {}
        for name, role in self.columns.items():
            found.setdefault(role, []).append(name)
        return found

    @property
    def skipped(self) -> int:
        """Records left out."""
        return self._faults.skipped

    @property
    def skipped_examples(self) -> list[str]:
        """The first reasons why records were left out."""
        return list(self._faults.examples)

    @property
    def unlabelled(self) -> int:
        """Records left out because they have no label."""
        return self._faults.unlabelled

    @property
    def bytes_read(self) -> int:
        """Bytes of the files read so far, before decompression."""
        return self._bytes_before + (0 if self._source is None else self._source.position)


class Reader(FilesReader):
    """An iterable over blocks of feature rows from files, made by `read`.

    Iterating starts anew from the first file and from the encoder as it was at the beginning; standard input can be
    iterated once. The attributes describe the latest iteration.

    Attributes
    ----------
    encoder : Encoder or None
        Known from the first block on, or before if one was given (a copy of which learns).
    rows : int
        Records delivered.
    passed : int
        Records left out at the beginning (``skip``).
    ends : list of int
        How many records had been delivered or passed at the end of each of the first files that are finished, as long
        as later files depend on nothing in them: of tables, without a column of times.
    skipped : int
        Records left out (``on_error="skip"``).
    skipped_examples : list of str
        The first five reasons.
    unlabelled : int
        Records left out because they have no label, where one is to be read.
    bytes_read : int
        Bytes of the files behind what was delivered, before decompression.
    bytes_total : int or None
        Bytes of all files; None for standard input.
    columns : dict of str to str
        The use of each column: ``"label"``, ``"task"``, or a kind of feature.
    dropped : dict of str to str
        The reason for each column that was not used.
    lacking : dict of str to list of str
        The columns of features that a file lacks, by the file's name, where records are only predicted.
    """

    def __init__(
        self,
        paths: Sequence[str],
        formats: Sequence[str],
        options: ReadOptions,
        on_error: str,
        block_rows: int,
        encoder: Encoder | None,
        update: bool,
        skip: int = 0,
        ends: Sequence[int] = (),
    ) -> None:
        self._options, self._block_rows = options, block_rows
        self._given = encoder.copy() if encoder is not None else None
        self._update, self._skip, self._finished = update, skip, tuple(ends)
        self._stdin_read = self._labelled = self._number_labels = self._raw = False
        self._told: Callable[[list[Hint]], None] | None = None
        super().__init__(paths, formats, on_error)

    def _restart(self) -> None:
        from .formats.rows import RowSchema

        super()._restart()
        self.encoder: Encoder | None = self._given.copy() if self._given is not None else None
        self._begun = self._given
        self.rows = self.passed = 0
        self.ends: list[int] = []
        self._schema: RowSchema = RowSchema(
            label=True if self._labelled else None, kept=not (self._update or self._labelled)
        )
        self._looks: ColumnProfiler | None = None
        self.lacking: dict[str, list[str]] = {}

    @property
    def path(self) -> str:
        """The name of the file being read; after the end of the last one."""
        return self.paths[-1] if self._source is None else self._source.name

    @property
    def hints(self) -> list[Hint]:
        """What the first records say about columns that might be read better in another way; of a new encoder only."""
        if self._looks is None or self.encoder is None:
            return []
        return self._looks.hints(dict(self.encoder.columns), self._options.label, self._said)

    @property
    def _said(self) -> set[str]:
        """The columns of which was said how they are to be read."""
        return {*self._options.named_kinds, *self._options.logs, *filter(None, [self._options.time])}

    def raw(self) -> Reader:
        """Return the same reader for records before encoding: blocks with `TableRows` or `TextRows` as ``X``."""
        reader = copy(self)
        reader._raw = True
        return reader

    def before_first(self, predictions: Callable[[list[Hint]], None]) -> None:
        """Call a function with what the first block says of columns to leave out, if anything, before it is given."""
        self._told = predictions

    def require_labels(self, numbers: bool = False) -> None:
        """Leave out records without a label, also where the first one has none; before the iteration begins.

        If labels are to be ``numbers``, text such as ``NA`` is a missing label, and other text is a bad record.
        """
        self._labelled, self._number_labels = True, numbers

    def __iter__(self) -> Generator[Block]:
        self._restart()
        for n, (path, kind) in enumerate(zip(self._paths, self._formats, strict=True)):
            if n < len(self._finished):
                self.passed = self._finished[n]
                self.ends.append(self.passed)
                self._bytes_before += total_size([path]) or 0
                continue
            self._require_unread(path)
            with reading(STDIN_NAME if path == STDIN else path), Source(path) as source:
                self._source = source
                if source.stream.empty and (self._given is None or kind not in _WITHOUT_HEADER):
                    raise InputError(f"is empty: expected {_EXPECTED[kind]}", source.name)
                read_blocks = self._table_blocks if kind in TABLES else self._row_blocks
                for block in () if source.stream.empty else read_blocks(kind, source):
                    self.rows += len(block)
                    if len(block):
                        yield block
                self._bytes_before, self._source = self.bytes_read, None
                if kind in TABLES and self._options.time is None and len(self.ends) == n:
                    self.ends.append(self.passed + self.rows)
        if self._given is None and not (self.rows or self.skipped or self.unlabelled or self.passed):
            raise InputError("there is no record in it", self.paths[-1])

    def empty_block(self) -> Block:
        """Return a block of no records for the encoder that was given."""
        encoder, kept = self._given, {name: np.zeros(0, object) for name in self._options.kept}
        if encoder is None:
            raise ValueError("a reader without an encoder has no empty block")
        X: Any
        if encoder.source in ROWS:
            X = encoder.assemble([], 0)
        else:
            import pyarrow as pa

            types = [(name, pa.float64() if kind == "numeric" else pa.string()) for name, kind in encoder.columns]
            X = encoder.encode_sound(pa.schema(types).empty_table(), False)
        task = np.zeros(0, object) if self._options.task or encoder.task else None
        return Block(
            X,
            None,
            task,
            np.zeros(0, np.int64),
            indicators=encoder.indicator_columns,
            constant=encoder.length_column,
            kept=kept,
        )

    def _require_unread(self, path: str) -> None:
        if path == STDIN and self._stdin_read:
            raise InputError("standard input can be read once only", STDIN_NAME)
        self._stdin_read = self._stdin_read or path == STDIN

    def _require_kind(self, path: str, source: str) -> None:
        """Refuse an encoder that was made for another kind of rows."""
        if self.encoder is not None and self.encoder.source != source:
            raise InputError(f"holds {source}, and the encoder was made for {self.encoder.source}", path)

    # -- files of named columns

    def _table_blocks(self, kind: str, source: Source) -> Iterator[Block]:
        self._require_kind(source.name, "columns")
        from coterie.inputs.columns import with_missing

        table = open_table(kind, source, self._faults, self._block_rows)
        require_distinct(table.names, source.name)
        time = self._options.time
        if self.encoder is None or time is not None:
            kinds = table.kinds()
            if not kinds:
                return
            if self.encoder is None:
                self.encoder, self.dropped = decide(kinds, self._options, source.name, absences=kind == "jsonl")
                self._begun = self.encoder.copy()
                self._faults.numeric = {name for name, kind in self.encoder.columns if kind == "numeric"}
        wanted = self._wanted(self.encoder, table.names, source.name)
        if time is not None:
            wanted.setdefault(time, kind_of_time(time, kinds, source.name))
        self.columns = dict(wanted)
        if time is not None and time not in dict(self.encoder.columns):
            self.columns |= {time: "time"}
        if self._options.weight is not None:
            self.columns |= {self._options.weight: "weight"}
        for name in self._options.kept:
            require_column(name, table.names, source.name)
        lacking = self._lacking(self.encoder, table.names, source.name)
        there = {name: use for name, use in wanted.items() if name not in lacking}
        for batch in table.batches(there, self._options.kept):
            columns = with_missing(batch.columns, lacking)
            yield from self._encode(self.encoder, batch._replace(columns=columns), wanted, source.name)

    def _wanted(self, encoder: Encoder, names: Sequence[str], path: str) -> dict[str, str]:
        """The use of each column to be read; a label that only the encoder names may be missing."""
        there, features = dict.fromkeys(names), dict(encoder.columns)
        label = self._options.label or (encoder.label if encoder.label in there else None)
        roles = [(label, "label"), (self._options.task or encoder.task, "task"), (self._options.weight, "weight")]
        for name, role in roles:
            if name in features:
                raise InputError(f"the column {name!r} is a feature, and cannot be the {role} as well", path)
        wanted = {name: role for name, role in roles[:2] if name is not None}
        if self._options.weight is not None:
            wanted |= {self._options.weight: "numeric"}
        for name in wanted:
            require_column(name, there, path)
        return wanted | features

    def _lacking(self, encoder: Encoder, names: Sequence[str], path: str) -> list[str]:
        """The columns of features that a table lacks, whose values are missing where records are only predicted."""
        there = dict.fromkeys(names)
        lacking = [name for name, _ in encoder.columns if name not in there]
        if lacking and (self._update or len(lacking) == len(encoder.columns)):
            require_column(lacking[0], there, path)
        if lacking:
            self.lacking[path] = lacking
        return lacking

    def _encode(self, encoder: Encoder, batch: TableChunk, wanted: Mapping[str, str], path: str) -> Iterator[Block]:
        """Leave out the rows that cannot be used, and encode the others."""
        import pyarrow as pa

        from coterie.inputs.columns import (
            label_faults,
            label_values,
            missing_labels,
            numbers,
            plain,
            refused_as_label,
            refused_as_weight,
            weight_faults,
        )

        roles = {role: name for name, role in wanted.items() if role in ("label", "task")}
        for role, name in roles.items():
            reason = refused_as_label(batch.columns.schema.field(name).type, role)
            if reason is not None:
                raise InputError(reason, path, column=name)
        batch, found = self._with_number_labels(batch, roles.get("label"))
        named = {role: plain(batch.columns.column(name)) for role, name in roles.items()}
        unlabelled = missing_labels(named["label"]) if "label" in roles else np.zeros(len(batch.place), bool)
        unlabelled[[fault.row for fault in found]] = False  # their labels are wrong, not missing
        kept = self._options.label is None  # a label that only the encoder names is not needed
        if kept and unlabelled.all():
            roles.pop("label", None)
        found += encoder.faults(batch.columns, path)
        time = self._options.time
        for role, name in roles.items():
            found += label_faults(name, role, named[role])
        weight = self._options.weight
        if weight is not None:
            reason = refused_as_weight(batch.columns.schema.field(weight).type)
            if reason is not None:
                raise InputError(reason, path, column=weight)
            found += weight_faults(weight, plain(batch.columns.column(weight)))
        left_out = np.zeros_like(unlabelled) if kept else unlabelled
        self._faults.unlabelled += int(left_out.sum())
        if time is not None:
            read = left_out.copy()
            read[[fault.row for fault in found]] = True
            found += self._order.faults(time, plain(batch.columns.column(time)), ~read)
        found = [fault for fault in found if not left_out[fault.row]]
        good = self._faults.reject(found, path, batch.place) & ~left_out
        columns = batch.columns if good.all() else batch.columns.filter(pa.array(good))
        passed = self._pass(columns.num_rows)
        columns = columns.slice(passed)
        if columns.num_rows:
            self._look(columns, encoder)
            values = {role: label_values(plain(columns.column(name))) for role, name in roles.items()}
            if kept and "label" in values:
                values["label"] = _none_where(unlabelled[good][passed:], values["label"])
            weights = None if weight is None else numbers(plain(columns.column(weight))).copy()
            learned = self._update if weights is None else (weights > 0.0) & self._update
            X = TableRows(columns) if self._raw else encoder.encode_sound(columns, learned)
            place, gaps = batch.place[good][passed:], encoder.indicator_columns
            asides = {name: held[good][passed:] for name, held in batch.kept.items()}
            raw = RawRecords.of(columns, self._begun) if self._update else None
            block = Block(
                X,
                values.get("label"),
                values.get("task"),
                place,
                weight=weights,
                indicators=gaps,
                constant=encoder.length_column,
            )
            yield replace(block, kept=asides, raw=raw)

    def _with_number_labels(self, batch: TableChunk, name: str | None) -> tuple[TableChunk, list[Fault]]:
        """Convert the column of labels to numbers if they are to be such; return the faults of those that are none."""
        from coterie.inputs.columns import number_labels, plain

        if name is None or not self._number_labels:
            return batch, []
        labels, faults = number_labels(name, plain(batch.columns.column(name)))
        place = batch.columns.schema.get_field_index(name)
        return batch._replace(columns=batch.columns.set_column(place, name, labels)), faults

    def _look(self, columns: Any, encoder: Encoder) -> None:
        """Keep records of which hints are made, where columns may still be read in another way."""
        if self._given is None:
            from coterie.inputs.hints import ColumnProfiler

            first, self._looks = self._looks is None, self._looks or ColumnProfiler()
            self._looks.see(columns, dict(encoder.columns), self._options.label)
            if first and self._told is not None:
                goes_on = columns.num_rows >= self._block_rows  # in a stream over time the month is the same for long
                with suppress(Exception):  # a hint must not stop learning; the summary says what failed
                    if found := [hint for hint in self.hints if not (goes_on and hint.of_one_value)]:
                        self._told(found)

    def _pass(self, n: int) -> int:
        """How many of the next n records are to be left out, being among the first of all."""
        passed = min(self._skip - self.passed, n)
        self.passed += passed
        return passed

    def _rest(self, block: Block) -> Block:
        passed = self._pass(len(block))
        return block.piece(passed, len(block)) if passed else block

    # -- files of rows that name their features

    def _row_blocks(self, kind: str, source: Source) -> Iterator[Block]:
        from .formats.rows import read_rows

        self._require_kind(source.name, kind)
        encoder = self.encoder = self.encoder or self._options.encoder(
            [], task=self._options.task, names=self._options.names, source=kind
        )
        for rows in read_rows(source, self._faults, self._block_rows, self._parser(kind, encoder), self._schema):
            self.columns = self._row_columns(kind, encoder)
            self.dropped = self._schema.notes
            X: Any = encoder.assemble([rows.entries], len(rows.place))
            X = TextRows(rows.records, X) if self._raw else X
            yield self._rest(Block(X, rows.label, rows.task, rows.place, weight=rows.weight))

    def _parser(self, kind: str, encoder: Encoder) -> RowParser:
        from .formats.rows import SvmlightParser, VowpalParser

        if kind == "svmlight":
            return SvmlightParser(encoder.bits)
        names = encoder.names if self._update else Names(encoder.bits, kept=False)
        task = self._options.task or encoder.task
        # records that are passed were learned before, and their names were noted then
        return VowpalParser(encoder.bits, task, self._schema, names, lambda n: self.passed + n > self._skip)

    def _row_columns(self, kind: str, encoder: Encoder) -> dict[str, str]:
        task = QUERY if kind == "svmlight" else self._options.task or encoder.task
        used = {"label": "label"} if self._schema.label else {}
        return used | ({str(task): "task"} if self._schema.task else {})


class Order:
    """The latest time so far of the records of a stream that are to be in order."""

    def __init__(self) -> None:
        self._latest: Any = None

    def faults(self, name: str, array: Any, usable: NDArray[np.bool_]) -> Iterator[Fault]:
        """Yield a fault for each row, of those usable, without a time or with one earlier than that of a row before."""
        from coterie.inputs.columns import date_faults, is_number, times

        if not is_number(array.type):
            yield from date_faults(name, array)
        held, there = times(array)
        for row in np.flatnonzero(usable & ~there):
            yield Fault(int(row), name, "the time is missing")
        rows = np.flatnonzero(usable & there)
        if not len(rows):
            return
        predictions = held[rows]
        latest = np.maximum.accumulate(np.append(predictions[0] if self._latest is None else self._latest, predictions))
        self._latest, early = latest[-1], predictions < latest[:-1]
        for row, late in zip(rows[early].tolist(), latest[:-1][early], strict=True):
            yield Fault(row, name, f"{_shown_time(held[row])} is earlier than {_shown_time(late)}, of a record before")


def _shown_time(at: Any) -> str:
    """A date in UTC, or a number."""
    return repr(float(at)) if at.dtype.kind == "f" else str(at.astype("M8[us]").item())


def _none_where(missing: NDArray[np.bool_], labels: NDArray[Any]) -> NDArray[Any]:
    """The labels, None where they are missing."""
    if not missing.any():
        return labels
    made = labels.astype(object)
    made[missing] = None
    return made


@dataclass(frozen=True)
class Reading:
    """A summary of what a reader read and left out.

    Attributes
    ----------
    source : str
        The files' names.
    rows, skipped : int
        Records delivered, and records left out.
    skipped_examples : tuple of str
        Reasons for the first of them.
    unlabelled : int
        Records left out because they have no label.
    hints : tuple of Hint
        Columns that might be read better in another way; `Reader.hints` computes them.
    columns : dict of str to list of str
        By role (``"label"``, ``"task"``, or a kind of feature), the columns used.
    dropped : dict of str to str
        The reason for each column that was not used.
    """

    source: str
    rows: int
    skipped: int
    skipped_examples: tuple[str, ...]
    unlabelled: int
    columns: dict[str, list[str]]
    dropped: dict[str, str]
    hints: tuple[Hint, ...] = ()

    @classmethod
    def of(cls, reader: Reader) -> Reading:
        """Summarise a reader after its last record, without hints."""
        left_out = (reader.skipped, tuple(reader.skipped_examples), reader.unlabelled)
        return cls(reader.source, reader.rows, *left_out, reader.names_by_role, dict(reader.dropped))

    def to_json(self) -> dict[str, Any]:
        """Return the summary as data with a JSON form."""
        hints = [hint._asdict() for hint in self.hints]
        return dict(vars(self)) | {"skipped_examples": list(self.skipped_examples), "hints": hints}


def read(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    label: str | None = None,
    task: str | None = None,
    weight: str | None = None,
    format: str | None = None,  # noqa: A002
    features: Sequence[str] | Mapping[str, str] | None = None,
    ignore: str | Sequence[str] = (),
    text: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    time: str | None = None,
    log: str | Sequence[str] = (),
    bits: int = 18,
    constant: bool = True,
    scale: str = "auto",
    on_error: str = "stop",
    block_rows: int = 8192,
    encoder: Encoder | None = None,
    update: bool = True,
    skip: int = 0,
    ends: Sequence[int] = (),
    names: bool = True,
    keep: str | Sequence[str] = (),
) -> Reader:
    r"""Read records from files as blocks of feature rows, in bounded memory.

    ==========  ========================  ==============================================================
    format      extensions                label and task
    ==========  ========================  ==============================================================
    csv, tsv    csv txt; tsv tab          columns, read as strings; the delimiter of csv is found out
    jsonl       jsonl ndjson json         keys, with the type they have in the first 4 MiB
    parquet     parquet pq                columns, with their type
    arrow       arrow arrows feather ipc  columns, with their type (IPC files and streams)
    svmlight    svm svmlight libsvm       the row's first number; ``qid:``, a whole number
    vw          vw                        the row's first number; the first feature of the namespace `task`
    ==========  ========================  ==============================================================

    Any of them may be compressed as a whole (gz, bz2, zst, lz4). Columns of text are typed by the first four mebibytes:
    numbers are numeric features, text in ISO 8601 dates, other strings and truth values categorical, lists of strings
    items (`Encoder` tells how each becomes features); in CSV a column is numeric, or of dates, if more than half of its
    values are. Keys of JSON that first appear later are not read. The indices of svmlight are the columns themselves;
    features of Vowpal Wabbit text are hashed by ``namespace^feature``, and its importances are the weights of records.

    Parameters
    ----------
    source : path, URL, glob, "-" or list of them
        Files to read one after the other, of a store too (``"s3://bucket/logs/*.parquet"``), which fsspec reads;
        ``"-"`` is standard input.
    label, task : str, optional
        Columns of the label and the task; see the table. No label need be named if none is to be read; records that
        have none where one is named are left out and counted.
    weight : str, optional
        A column of numbers from 0 to a million: how much each record counts.
    format : str, optional
        Required if the extension does not tell.
    features : sequence of names, or mapping of name to kind, optional
        Columns to use as features, all others being dropped; a mapping also gives the kind: ``"numeric"``,
        ``"categorical"``, ``"date"``, ``"text"`` or ``"items"``. By default all columns are used but label, task and
        `ignore`.
    ignore, text, categorical : name or sequence of names
        Columns to leave out; columns of text, to be split into words; columns of names, such as whole numbers that are.
    time : str, optional
        A column of dates or numbers that never become less: a record earlier than one before it, or without a time, is
        a bad record. It is a feature as well, unless it is ignored.
    log : name or sequence of names
        Columns of numbers whose logarithm is taken before they are scaled, sign(x) · log(1 + |x|): skewed ones.
    bits, constant, scale
        As in `Encoder`, but that numbers are scaled as commands and the adaptive estimators do unless ``scale`` says
        otherwise.
    on_error : {"stop", "skip"}, default "stop"
        Raise at the first bad record, or leave bad records out and count them.
    block_rows : int, default 8192
        Most records of a block; blocks of text are about four mebibytes at most, more where these are few records.
    encoder : Encoder, optional
        The encoder of an earlier reading, a copy of which goes on. The arguments that would shape a new one are not
        used. Its task column must exist; its label, unless it is named, is read if the column exists, and is None where
        it is missing.
    update : bool, default True
        Let running scales go on learning; with False they, and the names of features, stay as the encoder has them, and
        columns of features that a file lacks are missing values (``reader.lacking``).
    skip : int, default 0
        Leave out so many records at the beginning, such as those that the encoder has seen: scales do not learn from
        them. Bad records are not counted among them.
    ends : sequence of int
        `Reader.ends` of an earlier reading of these files: those files are not opened, for all their records are among
        the ``skip`` first.
    names : bool, default True
        As in `Encoder`.
    keep : name or sequence of names
        Columns to hand on as they stand in the file, in `Block.kept`, whatever else they are used for.

    Returns
    -------
    Reader
        Iterate over it for `Block` after `Block`.

    Raises
    ------
    InputError
        While reading, with file and line: a file is missing, empty or broken, or a file of a store was changed
        meanwhile; a named column is missing; or, with ``on_error="stop"``, a record cannot be used.
    ValueError
        At once, for an argument.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "clicks.csv"
    >>> _ = path.write_text("user,price,click\nann,2.5,yes\nbob,1.5,no\n")
    >>> reader = read(path, label="click", task="user", scale="none")
    >>> block = next(iter(reader))
    >>> block.X.tolist(), block.y.tolist(), block.task.tolist(), block.place.tolist()
    ([[2.5, 1.0], [1.5, 1.0]], ['yes', 'no'], ['ann', 'bob'], [2, 3])
    >>> reader.encoder.feature_names, reader.columns
    (('price', 'constant'), {'click': 'label', 'user': 'task', 'price': 'numeric'})
    """
    options = ReadOptions(
        label=label,
        task=task,
        features=features,
        ignore=ignore,
        text=text,
        bits=bits,
        constant=constant,
        scale=scale,
        weight=weight,
        names=names,
        keep=keep,
        categorical=categorical,
        time=time,
        log=log,
    )
    Faults(on_error)
    if block_rows < 1:
        raise ValueError(f"block_rows is {block_rows!r}; expected a whole number of 1 or more")
    if skip < 0:
        raise FieldError("{} is {n!r}; expected a whole number of 0 or more", "skip", n=skip)
    if ends and ends[-1] > skip:
        raise FieldError("{} has a file of {last} records, and {} is {n}", "ends", "skip", last=ends[-1], n=skip)
    paths = find_paths(source)
    formats = [detect_format(path, format) for path in paths]
    for kind in formats:
        if kind in ROWS:
            require_row_options(kind, options)
    return Reader(paths, formats, options, on_error, block_rows, encoder, update, skip, ends)
