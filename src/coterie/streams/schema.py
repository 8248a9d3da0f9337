"""Which column of a file is what: decided once, from its first records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coterie.streams.encoding import Encoder
from coterie.streams.errors import FieldError, InputError
from coterie.streams.faults import require_column
from coterie.streams.view_schema import decide_views

if TYPE_CHECKING:
    import pyarrow as pa

    from coterie.streams.wishes import Kinds, Wishes

#: What a row of svmlight text calls its task.
QUERY = "qid"


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
