"""Roles of the columns of a file (label, task, kinds of features), from the options and the first records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from .errors import FieldError, InputError
from .feature_keys import CONSTANT_KEY, NAMELESS
from .invalid_records import Faults, require_column
from .record_encoders import KINDS, RecordEncoder

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from coterie.types import Array

#: The kind of feature that a column's values suggest, or None and the reason why it is none.
Kinds = Mapping[str, tuple[str | None, str]]

#: The name of the task in rows of svmlight text.
QUERY = "qid"
_ROLES = ("label", "task", "weight", "time")
#: Pairs of options that may not name the same column.
_SEPARATE = (
    *combinations(_ROLES, 2),
    *product(("features",), _ROLES[:3]),
    *product(("categorical",), (*_ROLES, "text")),
    *product(("log",), (*_ROLES[:3], "text", "categorical", "ignore")),
)


class TableChunk(NamedTuple):
    """Consecutive records: the wanted columns, the line or row number of each record, and unchanged columns."""

    columns: pa.RecordBatch
    place: NDArray[np.int64]
    unchanged: Mapping[str, Array] = {}


class NamedColumns(Protocol):
    """Interface of an open file with named columns."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    def kinds(self) -> Kinds:
        """Return the kind of each column, guessed from the first records; empty without records."""

    def read_chunks(self, wanted: Mapping[str, str], unchanged: Sequence[str] = ()) -> Iterator[TableChunk]:
        """Yield all records; ``wanted`` maps a column to its use: a kind of feature, ``"label"`` or ``"task"``."""


def _as_names(names: Iterable[str] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(dict.fromkeys(names or ()))


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options for reading records from files, checked before a file is opened.

    Attributes
    ----------
    label, task : str, optional
        Columns of the label and the task; see the table of `read`. No label need be named if none is to be read;
        records without a label are left out and counted if one is named.
    weight : str, optional
        A column with the weights of records, from 0 to a million.
    format : str, optional
        The format of the files; required if their extension does not determine it.
    features : sequence of names, or mapping of name to kind, optional
        Columns to use as features, all others being dropped; a mapping also gives the kind: ``"numeric"``,
        ``"categorical"``, ``"date"``, ``"text"`` or ``"items"``. By default all columns are used but label, task and
        `ignore`.
    ignore, text, categorical : name or sequence of names
        Columns to leave out; columns of text, to be split into words; columns of names, even if they are whole numbers.
    time : str, optional
        A column of dates or numbers that never become less: a record earlier than one before it, or without a time, is
        a bad record. It is a feature as well, unless it is ignored.
    log : name or sequence of names
        Columns of skewed numbers to replace by sign(x) · log(1 + |x|) before the scaling.
    bits, constant, scale, names
        See `RecordEncoder`; the default of ``scale`` is that of commands and of the adaptive estimators.
    on_error : {"stop", "skip"}, default="stop"
        Raise at the first bad record, or leave bad records out and count them.
    block_rows : int, default=8192
        The maximum number of records in a block; blocks of text have at most about four mebibytes, or a few records.
    keep : name or sequence of names
        Columns to hand on unchanged in `Block.unchanged`, in addition to any other use of them.

    Raises
    ------
    ValueError
        If options are out of range or contradict each other.
    """

    label: str | None = None
    task: str | None = None
    weight: str | None = None
    format: str | None = None
    features: Sequence[str] | Mapping[str, str] | None = None
    ignore: Sequence[str] = ()
    text: Sequence[str] = ()
    categorical: Sequence[str] = ()
    time: str | None = None
    log: Sequence[str] = ()
    bits: int = 18
    constant: bool = True
    scale: str = "auto"
    on_error: str = "stop"
    block_rows: int = 8192
    names: bool = True
    keep: Sequence[str] = ()

    def __post_init__(self) -> None:
        for option in ("ignore", "text", "categorical", "log", "keep"):
            object.__setattr__(self, option, _as_names(getattr(self, option)))
        for one, other in _SEPARATE:
            both = [name for name in _as_names(getattr(self, one)) if name in _as_names(getattr(self, other))]
            if both:
                raise FieldError("{} and {} both name the column {both!r}", one, other, both=both[0])
        for name, kind in self.named_kinds.items():
            if kind not in KINDS:
                raise ValueError(f"features[{name!r}] is {kind!r}; expected one of {', '.join(map(repr, KINDS))}")
        if self.block_rows < 1:
            raise ValueError(f"block_rows is {self.block_rows!r}; expected a whole number of 1 or more")
        Faults(self.on_error)  # these check their own arguments
        self.make_encoder([])

    def make_encoder(self, columns: Sequence[tuple[str, str]], **more: Any) -> RecordEncoder:
        """Return a new encoder for these pairs of a column's name and kind; ``more`` are arguments of the encoder."""
        return RecordEncoder(columns, bits=self.bits, constant=self.constant, scale=self.scale, **more)

    @property
    def named_kinds(self) -> dict[str, str]:
        """The kind of each column for which the user chose one."""
        kinds = dict(self.features) if isinstance(self.features, Mapping) else {}
        return kinds | dict.fromkeys(self.text, "text") | dict.fromkeys(self.categorical, "categorical")

    def require_for_rows(self, kind: str) -> None:
        """Raise FieldError for options that do not apply to a format without columns."""
        named = ("label", "features", "ignore", "text", "categorical", "time", "log")
        weights = "have no weights" if kind == "svmlight" else "name their importances"
        reasons = dict.fromkeys(named, "name their label and features") | {"keep": "have no columns", "weight": weights}
        for name, rows in reasons.items():
            if getattr(self, name):
                raise FieldError("{} does not apply to {kind}, whose rows {rows}", name, kind=kind, rows=rows)
        if kind == "svmlight" and self.task not in (None, QUERY):
            message = "{}={task!r} does not apply to svmlight, whose rows name their task as {query!r}"
            raise FieldError(message, "task", task=self.task, query=QUERY)
        self.make_encoder([], source=kind)


def choose_encoder(
    kinds: Kinds, options: ReadOptions, absences: bool = False, may_be_empty: bool = False
) -> tuple[RecordEncoder, dict[str, str]]:
    """Return the encoder of a table, and the columns that are not used with the reasons.

    Parameters
    ----------
    absences : bool
        True if null is an absent name.
    may_be_empty : bool
        True to accept a table without features.

    Raises
    ------
    InputError
        If a named column does not exist, a column to take the logarithm of has no numbers, or no columns are left for
        features.
    """
    features = dict.fromkeys(_as_names(options.features) or kinds)
    roles = [name for name in (options.label, options.task, options.weight) if name is not None]
    chosen_kinds = options.named_kinds
    time = [] if options.time is None else [options.time]
    for name in (*roles, *time, *features, *options.ignore, *chosen_kinds, *options.log):
        require_column(name, kinds)
    columns, dropped = {}, {}
    for name, (kind, reason) in kinds.items():
        used = chosen_kinds.get(name, kind)
        if name in options.ignore:
            dropped[name] = "it was to be ignored"
        elif name in roles:
            continue
        elif name not in features and name not in chosen_kinds:
            dropped[name] = "it is not among the features named"
        elif used is None or name == CONSTANT_KEY:
            dropped[name] = reason or NAMELESS
        else:
            columns[name] = used
    if not (columns or may_be_empty):
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in dropped.items())
        raise InputError(f"no columns are left for features{f' ({reasons})' if reasons else ''}")
    for name in options.log:
        if columns.get(name) != "numeric":
            message = f"it is {columns[name]}" if name in columns else "it is none of the features"
            raise InputError(message, column=name, hint=FieldError("{} takes columns of numbers", "log"))
    encoder = options.make_encoder(
        [*columns.items()],
        label=options.label,
        task=options.task,
        names=options.names,
        log=options.log,
        weight=options.weight,
        absences=absences,
    )
    return encoder, dropped


def kind_of_time(name: str, kinds: Kinds) -> str:
    """Return "date" or "numeric", the kind of the time column; raise InputError for any other kind."""
    require_column(name, kinds)
    kind = kinds[name][0]
    if kind not in ("date", "numeric"):
        raise InputError("has neither dates nor numbers; expected times", column=name)
    return kind


def schema_kinds(schema: pa.Schema) -> Kinds:
    """Return the kind of feature of each column by its Arrow type."""
    from .columns import kind_of

    return {field.name: kind_of(field.type) for field in schema}
