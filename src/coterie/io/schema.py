"""The use of each column of a file: what the caller said, and what the first records decide once for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from coterie.inputs.encoding import KINDS, Encoder
from coterie.inputs.errors import FieldError, InputError
from coterie.inputs.faults import require_column
from coterie.inputs.keys import CONSTANT_KEY, NAMELESS

if TYPE_CHECKING:
    import pyarrow as pa

#: The kind of feature that a column's values suggest, or None and the reason why it is none.
Kinds = Mapping[str, tuple[str | None, str]]

#: The name of the task in rows of svmlight text.
QUERY = "qid"


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


@dataclass(frozen=True)
class ReadOptions:
    """The arguments of `read` about columns, by their names there; checked before a file is opened."""

    label: str | None
    task: str | None
    features: Sequence[str] | Mapping[str, str] | None
    ignore: str | Sequence[str]
    text: str | Sequence[str]
    bits: int
    constant: bool
    scale: str
    weight: str | None = None
    names: bool = True
    keep: str | Sequence[str] = ()
    categorical: str | Sequence[str] = ()
    time: str | None = None
    log: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        for role, other in combinations(("label", "task", "weight", "time"), 2):
            if getattr(self, role) is not None and getattr(self, role) == getattr(self, other):
                raise FieldError("{} and {} are both the column {both!r}", role, other, both=getattr(self, role))
        self._check_categorical()
        self._check_logs()
        for name in self.chosen or ():
            if name in (self.label, self.task, self.weight):
                raise ValueError(f"the column {name!r} is named both as {self._role(name)} and as a feature")
        for name, kind in self.named_kinds.items():
            if kind not in KINDS:
                raise ValueError(f"features[{name!r}] is {kind!r}; expected one of {', '.join(map(repr, KINDS))}")
        self.encoder([])  # its own checks, made before any file is opened

    def _check_categorical(self) -> None:
        for name in _names(self.categorical):
            if name in (self.label, self.task, self.weight, self.time, *_names(self.text)):
                other = "text" if name in _names(self.text) else self._role(name)
                raise FieldError("{} and {} both name the column {both!r}", "categorical", other, both=name)

    def _check_logs(self) -> None:
        for role in ("label", "task", "weight", "text", "categorical", "ignore"):
            for name in self.logs:
                if name in _names(getattr(self, role) or ()):
                    raise FieldError("{} and {} both name the column {both!r}", "log", role, both=name)

    def _role(self, name: str) -> str:
        return next(role for role in ("label", "task", "weight", "time") if getattr(self, role) == name)

    def encoder(self, columns: Sequence[tuple[str, str]], **more: Any) -> Encoder:
        """Make an encoder of these columns."""
        return Encoder(columns, bits=self.bits, constant=self.constant, scale=self.scale, **more)

    @property
    def chosen(self) -> tuple[str, ...] | None:
        """The names of the features, if the caller chose them."""
        return None if self.features is None else _names(self.features)

    @property
    def named_kinds(self) -> dict[str, str]:
        """The kinds that the caller gave."""
        given = dict(self.features) if isinstance(self.features, Mapping) else {}
        categories = dict.fromkeys(_names(self.categorical), "categorical")
        return {**given, **dict.fromkeys(_names(self.text), "text"), **categories}

    @property
    def kept(self) -> tuple[str, ...]:
        """The names of the columns that are handed on as they stand, each once."""
        return tuple(dict.fromkeys(_names(self.keep)))

    @property
    def logs(self) -> tuple[str, ...]:
        """The names of the columns whose logarithms are taken, each once."""
        return tuple(dict.fromkeys(_names(self.log)))

    @property
    def ignored(self) -> tuple[str, ...]:
        """The names of the columns to leave out."""
        return _names(self.ignore)


def decide(
    kinds: Kinds, options: ReadOptions, path: str | None = None, absences: bool = False
) -> tuple[Encoder, dict[str, str]]:
    """Make the encoder of a table of columns, and list the dropped columns with the reasons.

    ``absences``: null is an absent name.

    Raises
    ------
    InputError
        A column that was named does not exist, or no column is left for features.
    """
    chosen, given = dict.fromkeys(options.chosen or kinds), options.named_kinds
    named = filter(None, (options.label, options.task, options.weight, options.time))
    for name in (*named, *chosen, *options.ignored, *given, *options.logs):
        require_column(name, kinds, path)
    columns, dropped = [], {}
    for name, (kind, reason) in kinds.items():
        used = given.get(name, kind)
        if name in options.ignored:
            dropped[name] = "it was to be ignored"
        elif name in (options.label, options.task, options.weight):
            continue
        elif name not in chosen and name not in given:
            dropped[name] = "it is not among the features named"
        elif used is None or name == CONSTANT_KEY:
            dropped[name] = reason or NAMELESS
        else:
            columns.append((name, used))
    if not columns:
        why = "; ".join(f"{name!r}: {reason}" for name, reason in dropped.items())
        raise InputError(f"no column is left for features{f' ({why})' if why else ''}", path)
    _require_numbers(options.logs, dict(columns), path)
    roles = {"label": options.label, "task": options.task}
    return options.encoder(columns, **roles, names=options.names, log=options.logs, absences=absences), dropped


def _require_numbers(logs: Iterable[str], kinds: Mapping[str, str], path: str | None) -> None:
    """Refuse to take the logarithm of a column that is no feature, or is none of numbers."""
    for name in logs:
        if kinds.get(name) != "numeric":
            why = f"is {kinds[name]}" if name in kinds else "is none of the features"
            raise InputError(f"it {why}", path, column=name, hint=FieldError("{} takes columns of numbers", "log"))


def kind_of_time(name: str, kinds: Kinds, path: str | None = None) -> str:
    """The kind of the column that tells the order of records: dates, or numbers.

    Raises
    ------
    InputError
        If it is neither.
    """
    require_column(name, kinds, path)
    kind = kinds[name][0]
    if kind not in ("date", "numeric"):
        raise InputError("holds neither dates nor numbers, which a time is", path, column=name)
    return kind


def schema_kinds(schema: pa.Schema) -> Kinds:
    """Derive the kinds of columns from their Arrow types."""
    from coterie.inputs.columns import kind_of

    return {field.name: kind_of(field.type) for field in schema}


def require_row_options(kind: str, options: ReadOptions) -> None:
    """Refuse arguments that do not apply to formats whose rows name their own label and features."""
    predictions = ("label", "features", "ignore", "text", "categorical", "time", "log")
    given = {name: getattr(options, name) for name in predictions}
    for name, value in given.items():
        if value:
            raise FieldError("{} does not apply to {kind}, whose rows name their label and features", name, kind=kind)
    if options.keep:
        raise FieldError("{} does not apply to {kind}, whose rows have no columns", "keep", kind=kind)
    if options.weight is not None:
        rows = "have no weights" if kind == "svmlight" else "name their importances"
        raise FieldError("{} does not apply to {kind}, whose rows {rows}", "weight", kind=kind, rows=rows)
    if kind == "svmlight" and options.task not in (None, QUERY):
        message = "{}={task!r} does not apply to svmlight, whose rows name their task as {query!r}"
        raise FieldError(message, "task", task=options.task, query=QUERY)
    options.encoder([], source=kind)  # with the checks of its own
