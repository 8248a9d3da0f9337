"""Which column of a file is what: decided once, from its first records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coterie.streams.encoding import KINDS, Encoder
from coterie.streams.errors import FieldError, InputError
from coterie.streams.faults import require_column
from coterie.streams.view_schema import check_views, decide_views

if TYPE_CHECKING:
    import pyarrow as pa

#: What a row of svmlight text calls its task.
QUERY = "qid"
# What a column's values suggest: a kind of feature, or None and the reason why it is none.
Kinds = Mapping[str, tuple[str | None, str]]


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


@dataclass(frozen=True)
class Wishes:
    """What the caller of `read` said of the columns; the names as there."""

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

    def __post_init__(self) -> None:
        if self.label is not None and self.label == self.task:
            raise FieldError("{} and {} are both the column {both!r}", "label", "task", both=self.label)
        for name in self.chosen or ():
            if name in (self.label, self.task):
                raise ValueError(f"the column {name!r} is named both as {self._role(name)} and as a feature")
        for name, kind in self.named_kinds.items():
            if kind not in KINDS:
                raise ValueError(f"features[{name!r}] is {kind!r}; expected one of {', '.join(map(repr, KINDS))}")
        if self.views:
            check_views(self.views, self.label, self.task, self.features, self.ignored)
        # an encoder's own checks, made before any file is opened
        Encoder([], bits=self.bits, scale=self.scale)

    def _role(self, name: str) -> str:
        return "label" if name == self.label else "task"

    @property
    def chosen(self) -> tuple[str, ...] | None:
        """Names of the features, where the caller chose them."""
        return None if self.features is None else _names(self.features)

    @property
    def named_kinds(self) -> dict[str, str]:
        """Kinds that the caller gave."""
        given = dict(self.features) if isinstance(self.features, Mapping) else {}
        return {**given, **dict.fromkeys(_names(self.text), "text")}

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names of the columns to leave out."""
        return _names(self.ignore)


def decide(kinds: Kinds, wishes: Wishes, path: str | None = None) -> tuple[Any, dict[str, str]]:
    """Make the encoder of a table of columns, and say which columns were dropped and why.

    Raises
    ------
    InputError
        A column that was named does not exist, or no column is left for features.
    """
    if wishes.views:
        return decide_views(kinds, wishes, path)
    chosen, given = dict.fromkeys(wishes.chosen or kinds), wishes.named_kinds
    for name in (*filter(None, (wishes.label, wishes.task)), *chosen, *wishes.ignored, *given):
        require_column(name, kinds, path)
    columns, dropped = [], {}
    for name, (kind, reason) in kinds.items():
        used = given.get(name, kind)
        if name in wishes.ignored:
            dropped[name] = "it was to be ignored"
        elif name in (wishes.label, wishes.task):
            continue
        elif name not in chosen and name not in given:
            dropped[name] = "it is not among the features named"
        elif used is None:
            dropped[name] = reason
        else:
            columns.append((name, used))
    if not columns:
        why = "; ".join(f"{name!r}: {reason}" for name, reason in dropped.items())
        raise InputError(f"no column is left for features{f' ({why})' if why else ''}", path)
    encoder = Encoder(
        columns, label=wishes.label, task=wishes.task, bits=wishes.bits, constant=wishes.constant, scale=wishes.scale
    )
    return encoder, dropped


def schema_kinds(schema: pa.Schema) -> Kinds:
    """Kinds that Arrow's types suggest."""
    from coterie.streams.columns import kind_of

    return {field.name: kind_of(field.type) for field in schema}


def require_row_wishes(kind: str, wishes: Wishes) -> None:
    """Refuse what does not apply to formats whose rows name their own label and features."""
    given = {"label": wishes.label, "features": wishes.features, "ignore": wishes.ignore, "text": wishes.text}
    for name, value in given.items():
        if value:
            raise FieldError("{} does not apply to {kind}, whose rows name their label and features", name, kind=kind)
    if kind == "svmlight" and wishes.views:
        raise ValueError("views do not apply to svmlight, whose features have numbers and no names")
    if kind == "svmlight" and wishes.task not in (None, QUERY):
        message = "{}={task!r} does not apply to svmlight, whose rows name their task as {query!r}"
        raise FieldError(message, "task", task=wishes.task, query=QUERY)
    Encoder([], bits=wishes.bits, scale=wishes.scale, source=kind)
