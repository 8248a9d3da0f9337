"""Readers: iterate over files as blocks of feature rows, in bounded memory."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.wording import listed

from .block import SMALLEST_WEIGHT, Block, RawRecords
from .errors import FieldError, InputError
from .feature_names import Names
from .invalid_records import Fault, Faults, require_column, require_distinct
from .raw_records import TableRows, TextRows
from .schema import QUERY, ReadOptions, choose_encoder, kind_of_time
from .sources import STDIN, STDIN_NAME, Source, find_paths, format_suffix, total_size
from .urls import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from os import PathLike

    import pyarrow as pa
    from numpy.typing import NDArray

    from coterie.types import Array, Json

    from .hints import ColumnProfiler, Hint
    from .record_encoders import RecordEncoder
    from .schema import Kinds, NamedColumns, TableChunk

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
#: The content missing from an empty file, by format.
_EXPECTED = {
    **dict.fromkeys(("csv", "tsv"), "a header line"),
    "jsonl": "a JSON object on each line",
    "parquet": "Parquet data",
    "arrow": "Arrow IPC data",
}


def detect_format(path: str, name: str | None) -> str:
    """Return the format of a file: ``name`` unless it is None, else by the file extension.

    Examples
    --------
    >>> detect_format("logs/2013.csv.gz", None), detect_format("-", "jsonl")
    ('csv', 'jsonl')
    """
    if name is not None:
        if name not in FORMATS:
            raise FieldError("{} is {name!r}; expected one of {all}", "format", name=name, all=_LISTED)
        return name
    kind = _BY_ENDING.get(format_suffix(path))
    if kind is None:
        reason = "standard input has no extension" if path == STDIN else f"the extension of {path!r} names no format"
        raise FieldError("{reason}; give {}, one of {all}", "format", reason=reason, all=_LISTED)
    return kind


def open_table(kind: str, source: Source, faults: Faults, block_rows: int) -> NamedColumns:
    """Open a file with named columns (CSV, JSON Lines, Parquet or Arrow)."""
    if kind in ("csv", "tsv"):
        from .formats.delimited import CsvTable

        return CsvTable(source, faults, block_rows, "\t" if kind == "tsv" else None)
    if kind == "jsonl":
        from .formats.jsonl import JsonTable

        return JsonTable(source, faults, block_rows)
    from .formats.arrow import ArrowTable, ParquetTable

    return (ParquetTable if kind == "parquet" else ArrowTable)(source, faults, block_rows)


class Reader:
    """An iterable over blocks of feature rows from files, made by `read`.

    Each iteration starts from the first file and the initial encoder; standard input can be iterated once. The
    attributes describe the latest iteration.

    Attributes
    ----------
    encoder : RecordEncoder or None
        The encoder, a copy of the one passed, if any; otherwise None before the first block.
    rows : int
        Records yielded.
    passed : int
        Records left out at the beginning (``skip``).
    bytes_total : int or None
        Bytes of all files; None for standard input.
    columns : dict of str to str
        The use of each column: ``"label"``, ``"task"``, or a kind of feature.
    dropped : dict of str to str
        The reason for each column that was not used.
    missing_columns : dict of str to list of str
        For each file, the columns of features that are missing because it does not have them; only if records are
        predicted and not learned.
    """

    def __init__(
        self,
        paths: Sequence[str],
        formats: Sequence[str],
        options: ReadOptions,
        encoder: RecordEncoder | None = None,
        update: bool = True,
        skip: int = 0,
    ) -> None:
        self._paths, self._formats, self._options = tuple(paths), tuple(formats), options
        self._first_encoder = encoder.copy() if encoder is not None else None
        self._update, self._skip = update, skip
        self._stdin_read = self._labelled = self._number_labels = self._raw = False
        self._show_hints: Callable[[list[Hint]], None] | None = None
        self.bytes_total = total_size(paths)
        self._restart()

    def _restart(self) -> None:
        from .formats.named_features import RowSchema

        self._faults, self._order = Faults(self._options.on_error), Order()
        self._bytes_before = 0
        self._source: Source | None = None
        self.encoder: RecordEncoder | None = self._first_encoder.copy() if self._first_encoder is not None else None
        self._encoder_before = self._first_encoder
        self.rows = self.passed = 0
        self._schema = RowSchema(True if self._labelled else None, label_optional=not (self._update or self._labelled))
        self._profiler: ColumnProfiler | None = None
        self.columns: dict[str, str] = {}
        self.dropped: dict[str, str] = {}
        self.missing_columns: dict[str, list[str]] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """The names of the files, as in messages."""
        return tuple(STDIN_NAME if path == STDIN else path for path in self._paths)

    @property
    def path(self) -> str:
        """The name of the file being read, or of the last file after the end."""
        return self.paths[-1] if self._source is None else self._source.name

    @property
    def source(self) -> str:
        """The name of the first file, with the number of further files."""
        return listed(self.paths, 3)

    @property
    def names_by_role(self) -> dict[str, list[str]]:
        """The columns read, as a mapping from role (label, task, kind of feature) to names."""
        names: dict[str, list[str]] = {}
        for name, role in self.columns.items():
            names.setdefault(role, []).append(name)
        return names

    @property
    def skipped(self) -> int:
        """The number of records skipped because of errors, with ``on_error="skip"``."""
        return self._faults.skipped

    @property
    def skipped_examples(self) -> list[str]:
        """The first five reasons for skipped records."""
        return list(self._faults.examples)

    @property
    def unlabelled(self) -> int:
        """The number of records skipped because they have no label."""
        return self._faults.unlabelled

    @property
    def bytes_read(self) -> int:
        """The number of bytes (compressed size) of the files up to the last delivered record."""
        return self._bytes_before + (0 if self._source is None else self._source.position)

    @property
    def hints(self) -> list[Hint]:
        """Hints on columns that might be encoded in a better way; empty if the encoder was passed by the user."""
        if self._profiler is None or self.encoder is None:
            return []
        options = self._options
        chosen = {*options.named_kinds, *options.log, *filter(None, [options.time])}
        return self._profiler.hints(dict(self.encoder.columns), options.label, chosen)

    def raw(self) -> Reader:
        """Return the same reader without encoding: blocks with `TableRows` or `TextRows` as ``X``."""
        reader = copy(self)
        reader._raw = True
        return reader

    def before_first(self, show_hints: Callable[[list[Hint]], None]) -> None:
        """Call ``show_hints`` with the hints of the first block, if any, before that block is delivered."""
        self._show_hints = show_hints

    def require_labels(self, numbers: bool = False) -> None:
        """Skip records without a label, even if the first record has none; call it before the iteration.

        If labels are ``numbers``, text such as ``NA`` is a missing label, and other text is an error.
        """
        self._labelled, self._number_labels = True, numbers

    def __iter__(self) -> Generator[Any]:
        self._restart()
        for path, kind in zip(self._paths, self._formats, strict=True):
            if path == STDIN and self._stdin_read:
                raise InputError("standard input can be read only once", STDIN_NAME)
            self._stdin_read = self._stdin_read or path == STDIN
            self._faults.path = STDIN_NAME if path == STDIN else path
            with reading(self._faults.path), Source(path) as source:
                self._source = source
                if not source.stream.empty:
                    yield from self._read_file(kind, source)
                elif self._first_encoder is None or kind not in _WITHOUT_HEADER:
                    raise InputError(f"is empty: expected {_EXPECTED.get(kind, 'a record on each line')}")
                self._bytes_before, self._source = self.bytes_read, None
        if self._first_encoder is None and not (self.rows or self.skipped or self.unlabelled or self.passed):
            raise InputError("it has no records", self.paths[-1])

    def _read_file(self, kind: str, source: Source) -> Iterator[Any]:
        """Yield the non-empty blocks of a file."""
        for block in (self._table_blocks if kind in TABLES else self._row_blocks)(kind, source):
            if len(block):
                self.rows += len(block)
                yield block

    def empty_block(self) -> Block:
        """Return a block without records, with the columns of the initial encoder."""
        encoder = self._first_encoder
        if encoder is None:
            raise ValueError("empty_block needs a reader with an encoder")
        import pyarrow as pa

        types = [(name, pa.float64() if kind == "numeric" else pa.string()) for name, kind in encoder.columns]
        table = pa.schema(types).empty_table()
        return Block(
            encoder.assemble([], 0) if encoder.source in ROWS else encoder.encode_sound(table, False),
            None,
            np.zeros(0, object) if self._options.task or encoder.task else None,
            np.zeros(0, np.int64),
            indicators=encoder.indicator_columns,
            constant=encoder.length_column,
            unchanged={name: np.zeros(0, object) for name in self._options.keep},
        )

    def _require_source(self, source: str) -> None:
        """Raise InputError if the encoder belongs to another file format."""
        if self.encoder is not None and self.encoder.source != source:
            raise InputError(f"contains {source}; the encoder expects {self.encoder.source}")

    def _count_passed(self, n: int) -> int:
        """Return how many of the next n records belong to the first ``skip`` records, which are left out."""
        passed = min(self._skip - self.passed, n)
        self.passed += passed
        return passed

    # -- files of named columns

    def _table_blocks(self, kind: str, source: Source) -> Iterator[Block]:
        from .columns import with_missing

        options = self._options
        self._require_source("columns")
        table = open_table(kind, source, self._faults, options.block_rows)
        require_distinct(table.names)
        kinds: Kinds = {}
        if self.encoder is None or options.time is not None:
            kinds = table.kinds()
            if not kinds:
                return
        encoder = self.encoder or self._choose_encoder(kinds, absences=kind == "jsonl")
        roles = self._find_roles(table.names, encoder)
        features = dict(encoder.columns)
        uses = {name: role for role, name in roles.items() if role != "time"} | features
        kinds_of_roles = {"weight": "numeric"}
        if "time" in roles:
            uses.setdefault(roles["time"], "time")
            kinds_of_roles["time"] = kind_of_time(roles["time"], kinds)
        self.columns = dict(uses)
        for name in self._options.keep:
            require_column(name, table.names)
        missing = [name for name in features if name not in table.names]
        if kind == "jsonl" and encoder.absences and len(missing) < len(features):
            missing = []  # records may leave out a key, and all of a file as well
        if missing:
            if self._update or len(missing) == len(features):
                require_column(missing[0], table.names)
            self.missing_columns[source.name] = missing
        wanted = {name: kinds_of_roles.get(use, use) for name, use in uses.items() if name not in missing}
        for chunk in table.read_chunks(wanted, self._options.keep):
            block = self._encode(encoder, chunk._replace(columns=with_missing(chunk.columns, missing)), dict(roles))
            if block is not None:
                yield block

    def _choose_encoder(self, kinds: Kinds, absences: bool) -> RecordEncoder:
        """Choose the encoder by the columns of the first table and their kinds; ``absences``: rows may lack columns."""
        self.encoder, self.dropped = choose_encoder(kinds, self._options, absences)
        self._encoder_before = self.encoder.copy()
        self._faults.numeric = {name for name, kind in self.encoder.columns if kind == "numeric"}
        return self.encoder

    def _find_roles(self, names: Sequence[str], encoder: RecordEncoder) -> dict[str, str]:
        """Return the column of each role (label, task, weight, time); raise InputError for a missing one."""
        options, features = self._options, dict(encoder.columns)
        label = options.label or (encoder.label if encoder.label in names else None)
        weight = options.weight or (encoder.weight if self._update else None)  # predictions need none
        roles = {"label": label, "task": options.task or encoder.task, "weight": weight, "time": options.time}
        columns = {role: name for role, name in roles.items() if name is not None}
        for role, name in columns.items():
            if name in features and role != "time":
                raise InputError(f"the column {name!r} is a feature, and cannot be the {role} as well")
            require_column(name, names)
        return columns

    def _encode(self, encoder: RecordEncoder, chunk: TableChunk, roles: dict[str, str]) -> Block | None:
        """Encode the valid rows of a chunk as a block; None if there are none."""
        import pyarrow as pa

        from . import columns as arrow

        columns, rows, faults = chunk.columns, len(chunk.place), list[Fault]()
        for role, name in roles.items():
            arrow.require_role(role, name, columns.schema.field(name).type)
        if self._number_labels and "label" in roles:
            labels, faults = arrow.number_labels(roles["label"], arrow.plain(columns.column(roles["label"])))
            columns = columns.set_column(columns.schema.get_field_index(roles["label"]), roles["label"], labels)
        arrays = {role: arrow.plain(columns.column(name)) for role, name in roles.items()}
        unlabelled = arrow.missing_labels(arrays["label"]) if "label" in roles else np.zeros(rows, bool)
        unlabelled[[fault.row for fault in faults]] = False  # their labels are wrong, not missing
        optional = self._options.label is None  # a label that only the encoder names is not needed
        if optional and unlabelled.all():
            roles.pop("label", None)
        faults += encoder.faults(columns)
        for role, name in roles.items():
            faults += arrow.role_faults(role, name, arrays[role])
        unused = np.zeros(rows, bool) if optional else unlabelled
        self._faults.unlabelled += int(unused.sum())
        if "time" in roles:
            usable = ~unused
            usable[[fault.row for fault in faults]] = False
            faults += self._order.find_faults(roles["time"], arrays["time"], usable)
        good = self._faults.reject((fault for fault in faults if not unused[fault.row]), chunk.place) & ~unused
        good[np.flatnonzero(good)[: self._count_passed(int(good.sum()))]] = False
        if not good.any():
            return None
        if not good.all():
            columns = columns.filter(pa.array(good))
        self._profile(columns, encoder)
        values = {role: arrow.plain(columns.column(name)) for role, name in roles.items()}
        y = arrow.label_values(values["label"]) if "label" in roles else None
        if y is not None and optional and unlabelled[good].any():
            y = y.astype(object)
            y[unlabelled[good]] = None
        weight = arrow.numbers(values["weight"]).copy() if "weight" in roles else None
        if weight is not None:
            weight[weight < SMALLEST_WEIGHT] = 0.0
        update = self._update if weight is None else (weight > 0.0) & self._update
        X = TableRows(columns) if self._raw else encoder.encode_sound(columns, update)
        return Block(
            X,
            y,
            arrow.label_values(values["task"]) if "task" in roles else None,
            chunk.place[good],
            weight=weight,
            indicators=encoder.indicator_columns,
            unseen=0 if isinstance(X, TableRows) else encoder.unseen_columns(X),
            constant=encoder.length_column,
            unchanged={name: column[good] for name, column in chunk.unchanged.items()},
            raw=RawRecords.from_all(columns, self._encoder_before) if self._update else None,
        )

    def _profile(self, columns: pa.RecordBatch, encoder: RecordEncoder) -> None:
        """Store columns of the first records for hints, unless the encoder was passed by the user."""
        if self._first_encoder is not None:
            return
        from .hints import ColumnProfiler

        first, self._profiler = self._profiler is None, self._profiler or ColumnProfiler()
        self._profiler.see(columns, dict(encoder.columns), self._options.label)
        if first and self._show_hints is not None:
            continues = columns.num_rows >= self._options.block_rows  # over time the month is the same for long
            with suppress(Exception):  # a hint must not stop learning; the summary tells which one failed
                if hints := [hint for hint in self.hints if not (continues and hint.of_one_value)]:
                    self._show_hints(hints)

    # -- files of rows that name their features

    def _row_blocks(self, kind: str, source: Source) -> Iterator[Block]:
        from .formats.named_features import RowParser, SvmlightParser, VowpalParser, read_rows

        self._require_source(kind)
        options = self._options
        encoder = self.encoder = self.encoder or options.make_encoder(
            [], task=options.task, names=options.names, source=kind
        )
        task = QUERY if kind == "svmlight" else options.task or encoder.task
        parser: RowParser = SvmlightParser(encoder.bits)
        if kind == "vw":
            names = encoder.names if self._update else Names(encoder.bits, enabled=False)
            # records that are passed were learned before, and their names were stored then
            parser = VowpalParser(encoder.bits, task, names, lambda n: self.passed + n > self._skip)
        for rows in read_rows(source, self._faults, options.block_rows, parser, self._schema):
            self.columns = {"label": "label"} if self._schema.label else {}
            self.columns |= {str(task): "task"} if self._schema.task else {}
            X = encoder.assemble([rows.entries], len(rows.place))
            features = TextRows(rows.records, X) if self._raw else X
            constant = encoder.length_column
            block = Block(features, rows.label, rows.task, rows.place, weight=rows.weight, constant=constant)
            passed = self._count_passed(len(block))
            yield block.piece(passed, len(block)) if passed else block


class Order:
    """Checks that records are in order of time."""

    def __init__(self) -> None:
        self._latest: Array | None = None

    def find_faults(self, name: str, array: pa.Array, usable: NDArray[np.bool_]) -> Iterator[Fault]:
        """Yield an error for each row without a time, and for each row that is earlier than a row before it."""
        from .columns import date_faults, is_number, times

        if not is_number(array.type):
            yield from date_faults(name, array)
        keys, present = times(array)
        for row in np.flatnonzero(usable & ~present):
            yield Fault(int(row), name, "the time is missing")
        rows = np.flatnonzero(usable & present)
        if not len(rows):
            return
        used = keys[rows]
        latest = np.maximum.accumulate(np.append(used[:1] if self._latest is None else self._latest, used))
        self._latest, early = latest[-1:], used < latest[:-1]
        for row, late in zip(rows[early].tolist(), latest[:-1][early], strict=True):
            shown = [
                repr(float(at)) if at.dtype.kind == "f" else str(at.astype("M8[us]").item()) for at in (keys[row], late)
            ]
            yield Fault(row, name, f"{shown[0]} is earlier than {shown[1]}, of a record before")


@dataclass(frozen=True)
class Reading:
    """Summary of a reader after its last record.

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
    def from_reader(cls, reader: Reader) -> Reading:
        """Return the summary of a reader after its last record; hints are left empty."""
        left_out = (reader.skipped, tuple(reader.skipped_examples), reader.unlabelled)
        return cls(reader.source, reader.rows, *left_out, reader.names_by_role, dict(reader.dropped))

    def to_json(self) -> Json:
        """Return the summary as JSON data."""
        hints = [hint._asdict() for hint in self.hints]
        return dict(vars(self)) | {"skipped_examples": list(self.skipped_examples), "hints": hints}


def read(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    encoder: RecordEncoder | None = None,
    update: bool = True,
    skip: int = 0,
    **options: Any,
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
    items (see `RecordEncoder` for their features); in CSV a column is numeric, or of dates, if more than half of its
    values are. Keys of JSON that first appear later are not read. The indices of svmlight are the columns themselves;
    features of Vowpal Wabbit text are hashed by ``namespace^feature``, and its importances are the weights of records.

    Parameters
    ----------
    source : path, URL, glob, "-" or list of them
        Files to read one after the other, of a store too (``"s3://bucket/logs/*.parquet"``), which fsspec reads;
        ``"-"`` is standard input.
    encoder : RecordEncoder, optional
        The encoder of an earlier reading; a copy of it continues, and options for a new encoder are ignored. Its task
        column must exist. Its label column is read if it exists; missing labels are None, unless ``label`` is passed.
    update : bool, default=True
        True to update running scales. With False they, and the names of features, do not change, and columns of
        features without a column in a file are missing values (``reader.missing_columns``).
    skip : int, default=0
        The number of records to leave out at the beginning, such as those that the encoder has seen; they do not update
        scales. Bad records are not counted.
    **options
        The attributes of :class:`~coterie.data.schema.ReadOptions`: ``label``, ``task``, ``weight``, ``format``,
        ``features``, ``ignore``, ``text``, ``categorical``, ``time``, ``log``, ``bits``, ``constant``, ``scale``,
        ``on_error``, ``block_rows``, ``names`` and ``keep``.

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
    chosen = ReadOptions(**options)
    if skip < 0:
        raise FieldError("{} is {n!r}; expected a whole number of 0 or more", "skip", n=skip)
    paths = find_paths(source)
    formats = [detect_format(path, chosen.format) for path in paths]
    for kind in formats:
        if kind in ROWS:
            chosen.require_for_rows(kind)
    return Reader(paths, formats, chosen, encoder, update, skip)
