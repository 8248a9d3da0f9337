"""The types of the contents of requests and frames."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Scalar = str | int | float | bool
#: Requests with longer ids are refused: a million of them are kept.
LONGEST_ID = 200


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
    """What happened: records ``predicted`` that wait for labels, labels ``observed``, or tasks ``forgotten``.

    ``at`` is the time in seconds since 1970, never before that of the event before.
    """

    kind: Literal["predicted", "observed", "forgotten"]
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


def check(event: Event) -> None:
    """Refuse records that do not suit a request of this kind, or do not fit in a frame, before any is written.

    Raises
    ------
    ValueError
        The message names the record, counted from 0, and the field.
    """
    for k, record in enumerate(event.records):
        if record.id is not None and not 0 < len(record.id) <= LONGEST_ID:
            raise ValueError(f"records[{k}].id must have 1 to {LONGEST_ID} characters, got {len(record.id)}")
        if event.kind == "predicted" and record.x is None:
            raise ValueError(f"records[{k}].x is missing")
        if event.kind == "predicted" and record.y is not None:
            raise ValueError(f"records[{k}].y is a label: what is known goes to /observe")
        if event.kind == "observed" and record.y is None:
            raise ValueError(f"records[{k}].y is missing")
        if event.kind == "observed" and record.x is None and record.id is None:
            raise ValueError(f"records[{k}] needs x, or the id of a record that was predicted")
        if event.kind == "observed" and record.x is None and record.task is not None:
            raise ValueError(f"records[{k}].task is without x: the task of a record that waits is known")
        try:
            encode_frame(record)
        except (OverflowError, RecursionError):
            raise ValueError(f"records[{k}] has a whole number of more than 64 bits, or parts within parts") from None
