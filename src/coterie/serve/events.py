"""The types of the contents of requests and frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from coterie.spec import ENDS_WITH_NULL, ends_with_null

Scalar = str | int | float | bool
#: Requests with longer ids are refused: a million of them are kept.
LONGEST_ID = 200
#: Values of features that are nested deeper are refused: no model reads them, and files are not nested without limit.
DEEPEST = 8
_FLAT = frozenset((float, int, str, bool, type(None)))


class Record(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A record: features by name (or by view and name), its task, its label, and an id by which to find it again."""

    id: str | None = None
    task: Scalar | None = None
    x: dict[str, Any] | None = None
    y: Scalar | None = None


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request."""

    records: list[Record]


class Event(msgspec.Struct, array_like=True):
    """What happened: records ``predicted``, labels ``observed``, tasks ``forgotten``, or the time ``reset``.

    ``at`` is the time in seconds since 1970, never before that of the event before, but where time is reset: a start
    with a clock that was wrong had been ahead.
    """

    kind: Literal["predicted", "observed", "forgotten", "reset"]
    at: float
    records: list[Record]


class Prediction(msgspec.Struct):
    """The prediction for a record: a label or number, the probability of that label, and whether the task was known."""

    id: str | None
    task: Scalar | None
    label: Any
    p: float | None
    known_task: bool


class Predictions(msgspec.Struct):
    """The answer to a prediction, and the offset up to which the model had learned."""

    predictions: list[Prediction]
    offset: int


class Observed(msgspec.Struct):
    """The answer to labels: how many were learned, how many had been before, and ids that nothing is known of."""

    learned: int
    duplicate: int
    unknown: list[str]
    offset: int = 0


class Refused(msgspec.Struct):
    """Why a request was refused."""

    error: str


decode_request = msgspec.json.Decoder(Request).decode
decode_frame = msgspec.msgpack.Decoder(list[Event]).decode
encode_frame = msgspec.msgpack.Encoder().encode
to_json = msgspec.json.Encoder().encode


def check(event: Event) -> bytes:
    """The records as a frame holds them; what does not suit a request of this kind, or fits in no frame, is refused.

    Raises
    ------
    ValueError
        The message names the record, counted from 0, and the field.
    """
    for k, record in enumerate(event.records):
        _require_shallow(k, record)
        if record.id is not None and not 0 < len(record.id) <= LONGEST_ID:
            raise ValueError(f"records[{k}].id must have 1 to {LONGEST_ID} characters, got {len(record.id)}")
        if event.kind == "predicted" and record.x is None:
            raise ValueError(f"records[{k}].x is missing")
        if event.kind == "predicted" and record.y is not None:
            raise ValueError(f"records[{k}].y is a label: what is known goes to /observe")
        if event.kind == "observed" and record.y is None:
            raise ValueError(f"records[{k}].y is missing")
        if ends_with_null(record.y):
            raise ValueError(f"records[{k}].y {ENDS_WITH_NULL}")
        if event.kind == "observed" and record.x is None and record.id is None:
            raise ValueError(f"records[{k}] needs x, or the id of a record that was predicted")
        if event.kind == "observed" and record.x is None and record.task is not None:
            raise ValueError(f"records[{k}].task is without x: the task of a record that waits is known")
    try:
        return encode_frame(event.records)
    except (OverflowError, RecursionError):
        k = next(k for k, record in enumerate(event.records) if not _is_storable(record))
        raise ValueError(f"records[{k}] has a whole number of more than 64 bits, or parts within parts") from None


def frame_of(events: Sequence[Event], records: Sequence[bytes]) -> bytes:
    """A frame of events whose records were encoded by :func:`check`: the same bytes as of the events themselves."""
    held = zip(events, records, strict=True)
    return encode_frame([(event.kind, event.at, msgspec.Raw(packed)) for event, packed in held])


def require_labels(event: Event, labels: Sequence[Any]) -> None:
    """Refuse a record whose label is not one of those that were declared; ValueError names it."""
    for k, record in enumerate(event.records):
        if event.kind == "observed" and record.y not in labels:
            *others, last = (to_json(label).decode() for label in labels)
            declared = f"{', '.join(others)} and {last}"
            raise ValueError(f"records[{k}].y is {to_json(record.y).decode()}; the labels declared are {declared}")


def _require_shallow(k: int, record: Record) -> None:
    """Refuse a record that a frame or a snapshot could not give back because it is nested."""
    if record.x is None or _FLAT.issuperset(map(type, record.x.values())):
        return
    for name, value in record.x.items():
        if isinstance(value, (list, dict)) and _is_deep(value, DEEPEST):
            raise ValueError(f"records[{k}].x[{name[:40]!r}] is nested more than {DEEPEST} deep")


def _is_storable(record: Record) -> bool:
    try:
        encode_frame(record)
    except (OverflowError, RecursionError):
        return False
    return True


def _is_deep(value: list[Any] | dict[str, Any], deepest: int) -> bool:
    """Tell whether lists and objects are nested more than so deep."""
    held = value.values() if isinstance(value, dict) else value
    return deepest == 0 or any(_is_deep(each, deepest - 1) for each in held if isinstance(each, (list, dict)))
