"""The use of each column of a file: what the caller said, and what the first records decide once for all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations
from typing import TYPE_CHECKING, Any

from coterie.inputs.encoding import KINDS, Encoder
from coterie.inputs.errors import FieldError, InputError
from coterie.inputs.faults import require_column
from coterie.inputs.keys import CONSTANT_KEY, NAMELESS
from coterie.inputs.view_encoding import ViewColumns, ViewEncoder, require_one_space

if TYPE_CHECKING:
    import pyarrow as pa

#: The kind of feature that a column's values suggest, or None and the reason why it is none.
Kinds = Mapping[str, tuple[str | None, str]]

#: The name of the task in rows of svmlight text.
QUERY = "qid"

_MAGIC = re.compile(r"[*?\[]")
NO_VIEW = "it is in no view"


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
    views: Mapping[str, Sequence[str]] | None = None
    one_space: bool = False
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
        if self.views:
            if self.weight is not None:
                raise FieldError("{} does not go with views: learners of several views weigh no records", "weight")
            self._check_views(self.views)
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

    def _check_views(self, views: Mapping[str, Sequence[str]]) -> None:
        """Refuse arguments that do not go with views, and views that do not go together."""
        if self.task is not None:
            raise FieldError("{} does not go with views: records of several views have no tasks", "task")
        if self.features is not None:
            raise FieldError("{} does not go with views, which name their columns themselves", "features")
        owner: dict[str, str] = {}
        for view, columns in views.items():
            for name in columns:
                if name == self.label:
                    raise ValueError(f"the column {name!r} is named both as label and in the view {view!r}")
                if name in self.ignored:
                    raise ValueError(f"the column {name!r} is to be ignored, and is named in the view {view!r}")
                if owner.setdefault(name, view) != view:
                    raise ValueError(f"the column {name!r} is in two views, {owner[name]!r} and {view!r}")

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


def decide(kinds: Kinds, options: ReadOptions, path: str | None = None) -> tuple[Encoder | ViewEncoder, dict[str, str]]:
    """Make the encoder of a table of columns, and list the dropped columns with the reasons.

    Raises
    ------
    InputError
        A column that was named does not exist, or no column is left for features.
    """
    if options.views:
        return decide_views(kinds, options, path)
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
    return options.encoder(columns, **roles, names=options.names, log=options.logs), dropped


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
    told = ("label", "features", "ignore", "text", "categorical", "time", "log")
    given = {name: getattr(options, name) for name in told}
    for name, value in given.items():
        if value:
            raise FieldError("{} does not apply to {kind}, whose rows name their label and features", name, kind=kind)
    if options.keep:
        raise FieldError("{} does not apply to {kind}, whose rows have no columns", "keep", kind=kind)
    if options.weight is not None:
        rows = "have no weights" if kind == "svmlight" else "name their importances"
        raise FieldError("{} does not apply to {kind}, whose rows {rows}", "weight", kind=kind, rows=rows)
    if kind == "svmlight" and options.views:
        raise ValueError("views do not apply to svmlight, whose features have numbers and no names")
    if kind == "svmlight" and options.task not in (None, QUERY):
        message = "{}={task!r} does not apply to svmlight, whose rows name their task as {query!r}"
        raise FieldError(message, "task", task=options.task, query=QUERY)
    options.encoder([], source=kind)  # with the checks of its own


def named_views(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Parse views: ``NAME=COLUMN,COLUMN``, or a column by itself, which is a view of its name.

    Raises
    ------
    ValueError
        If a view has no name or no column, or is given twice.

    Examples
    --------
    >>> named_views(["audio=pitch,mfcc_*", "title"])
    {'audio': ('pitch', 'mfcc_*'), 'title': ('title',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, columns = word.partition("=")
        given = tuple(filter(None, columns.split(","))) if equals else (name,)
        if not name or not given:
            raise FieldError("{} is {word!r}; expected NAME=COLUMN,COLUMN,... or one column", "view", word=word)
        if name in found:
            raise ValueError(f"the view {name!r} is given twice: name all of its columns together, with commas between")
        found[name] = given
    return found


def decide_views(kinds: Kinds, options: ReadOptions, path: str | None = None) -> tuple[ViewEncoder, dict[str, str]]:
    """Make the encoder of a table's views, and list the dropped columns with the reasons.

    Raises
    ------
    InputError
        A column that was named does not exist, is in two views, or a view has no column left.
    ValueError
        If views of different sizes are to lie in one space.
    """
    given = options.named_kinds
    for name in (*filter(None, (options.label,)), *options.ignored, *given, *options.logs):
        require_column(name, kinds, path)
    out = dict.fromkeys(options.ignored, "it was to be ignored")
    free = [name for name in kinds if name != options.label and name not in out]
    views = _resolved(options.views or {}, list(kinds), free, "column", path)
    used = {name: given.get(name, kinds[name][0]) for columns in views.values() for name in columns}
    held = {view: [(name, kind) for name in names if (kind := used[name])] for view, names in views.items()}
    for view, columns in held.items():
        if not columns:
            why = "; ".join(f"{name!r}: {kinds[name][1] or out.get(name)}" for name in views[view])
            raise InputError(f"the view {view!r} has no column left ({why})", path)
    _require_numbers(options.logs, {name: kind for name, kind in used.items() if kind is not None}, path)
    reasons = {name: kinds[name][1] if name in used else NO_VIEW for name in free if not used.get(name)}
    return _encoder(held, options, "columns"), out | reasons


def decide_namespaces(found: Sequence[str], options: ReadOptions, path: str) -> tuple[ViewEncoder, dict[str, str]]:
    """As `decide_views`, for the namespaces in the first rows of Vowpal Wabbit text."""
    named = list(filter(None, found))
    views = _resolved(options.views or {}, named, named, "namespace", path)
    used = {name for names in views.values() for name in names}
    dropped = {name or "(no namespace)": NO_VIEW for name in found if name not in used}
    return _encoder({view: [(name, "") for name in names] for view, names in views.items()}, options, "vw"), dropped


def _resolved(
    views: Mapping[str, Sequence[str]], names: Sequence[str], free: Sequence[str], what: str, path: str | None
) -> dict[str, list[str]]:
    """Resolve the patterns of each view to names; a pattern by itself is a view for each name that it fits."""
    made: dict[str, list[str]] = {}
    owner: dict[str, str] = {}
    for view, wanted in views.items():
        found = dict.fromkeys(name for pattern in wanted for name in _fitting(pattern, view, names, free, what, path))
        apart = tuple(wanted) == (view,) and view not in names
        for name in found:
            if name in owner:
                raise InputError(f"the {what} {name!r} is in two views, {owner[name]!r} and {view!r}", path)
            owner[name] = name if apart else view
        for called, columns in [(name, [name]) for name in found] if apart else [(view, list(found))]:
            if called in made:
                raise InputError(f"two views are called {called!r}", path)
            made[called] = columns
    return made


def _fitting(
    pattern: str, view: str, names: Sequence[str], free: Sequence[str], what: str, path: str | None
) -> Sequence[str]:
    if pattern in names or not _MAGIC.search(pattern):
        require_column(pattern, names, path, what)
        return [pattern]
    found = [name for name in free if fnmatchcase(name, pattern)]
    if not found:
        raise InputError(f"no {what} matches {pattern!r} of the view {view!r}", path)
    return found


def _encoder(held: Mapping[str, Sequence[tuple[str, str]]], options: ReadOptions, source: str) -> ViewEncoder:
    names = list(held)
    if options.one_space:
        require_one_space(True, names, [len(columns) for columns in held.values()])
        _require_one_kind(held)
    parts = []
    for view, columns in held.items():
        called = held[names[0]] if options.one_space else columns
        encoder = options.encoder(
            called if source == "columns" else [],
            label=options.label,
            source=source,
            indicators=False,
            names=False,
            log=[name for (name, _), (own, _) in zip(called, columns, strict=True) if own in options.logs],
        )
        parts.append(ViewColumns(view, tuple(name for name, _ in columns), encoder, tuple(name for name, _ in called)))
    return ViewEncoder(parts, label=options.label)


def _require_one_kind(held: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    for columns in zip(*held.values(), strict=True):
        if len({kind for _, kind in columns}) > 1:
            shown = ", ".join(f"{name!r} is {kind}" for name, kind in columns)
            raise ValueError(f"columns in the same place of all views must be of one kind in one space: {shown}")
