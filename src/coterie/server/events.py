"""The data types of requests, responses and journal frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec

from coterie.spec import ENDS_WITH_NULL, ends_with_null
from coterie.types import Json

from .service_errors import RefusedError, in_json

Scalar = str | int | float | bool
_Part = Scalar | None | list[Scalar | None]
#: Features by name; of several views, those of each by the view's name.
Features = dict[str, _Part | dict[str, _Part]]
#: Up to a million ids are kept, so they are short.
Id = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]

RecordT = TypeVar("RecordT")


class Record(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A record of a request: features by name (or by view and name), task, label, and an optional id."""

    id: Id | None = None
    task: Scalar | None = None
    x: Features | None = None
    y: Scalar | None = None


class JournalRecord(Record):
    """A record as it is stored in the journal.

    For a choice it has the offered actions (None: those of the bandit), the index of the chosen action, the probability
    of each action, and whether another action had a better score; for a reward it has only the id.
    """

    # what was written is read whatever the limits of requests are, and frames from Python may hold other features
    id: str | None = None
    x: Json | None = None
    actions: list[Any] | None = None
    place: int = 0
    probabilities: list[float] = []
    explored: bool = False
    reward: float | None = None


class Offer(msgspec.Struct, forbid_unknown_fields=True):
    """A request to choose: the actions (labels, or features by name), the id, the task and its features."""

    id: Id
    task: Scalar | None = None
    x: Features = {}
    actions: list[Scalar | Features] | None = None


class Reward(msgspec.Struct, forbid_unknown_fields=True):
    """A reward for the choice with this id."""

    id: Id
    reward: float | bool


class Request(msgspec.Struct, Generic[RecordT], forbid_unknown_fields=True):
    """The JSON body of a request."""

    records: list[RecordT]


Kind = Literal["predicted", "observed", "forgotten", "reset", "chosen", "rewarded"]


class Event(msgspec.Struct, array_like=True):
    """An event of the journal; its ``kind`` is predicted, observed, forgotten, reset, chosen or rewarded.

    In a bandit service actions were ``chosen``, or choices ``rewarded``. ``at`` is the time in seconds since 1970,
    never before the previous event, except for a reset after a start with a wrong clock.
    """

    kind: Kind
    at: float
    records: Sequence[Record]


class _JournalEvent(Event, array_like=True):
    """An event as stored in a journal frame."""

    records: list[JournalRecord]


class Prediction(msgspec.Struct):
    """A prediction: the label or number, the label's probability, and True if the task is known."""

    id: str | None
    task: Scalar | None
    label: Scalar | None
    p: float | None
    known_task: bool


class PredictResponse(msgspec.Struct):
    """The response of /predict: predictions, and the journal offset up to which the model had learned."""

    predictions: list[Prediction]
    offset: int


class Observed(msgspec.Struct):
    """The response of /observe: the number of learned labels, of ids learned earlier, and the unknown ids."""

    learned: int
    duplicate: int
    unknown: list[str]
    offset: int = 0


class Chosen(msgspec.Struct):
    """A choice in a response: the action, its probability, and the probabilities of all actions."""

    id: str
    task: Scalar | None
    action: Any
    probability: float
    probabilities: list[float]


class Choices(msgspec.Struct):
    """The response of /choose."""

    choices: list[Chosen]
    offset: int = 0


class Rewarded(msgspec.Struct):
    """The response of /reward: the number of rewards learned now or earlier."""

    rewarded: int
    offset: int = 0


#: The result of an event.
Outcome = Observed | Choices | Rewarded | RefusedError

_records = msgspec.json.Decoder(Request[Record]).decode
_offers = msgspec.json.Decoder(Request[Offer]).decode
_rewards = msgspec.json.Decoder(Request[Reward]).decode


def decode_records(body: bytes | bytearray) -> list[Record]:
    """Decode the records of a request to /predict or /observe."""
    return _records(body).records


def decode_offers(body: bytes | bytearray) -> list[Record]:
    """Decode the records of a request to /choose."""
    return [JournalRecord(offer.id, offer.task, offer.x, actions=offer.actions) for offer in _offers(body).records]


def decode_rewards(body: bytes | bytearray) -> list[Record]:
    """Decode the records of a request to /reward."""
    return [JournalRecord(reward.id, reward=float(reward.reward)) for reward in _rewards(body).records]


decode_frame: Callable[[bytes], Sequence[Event]] = msgspec.msgpack.Decoder(list[_JournalEvent]).decode
encode_frame = msgspec.msgpack.Encoder().encode
to_json = msgspec.json.Encoder().encode


def encode_records(event: Event) -> msgspec.Raw:
    """Validate the records of an event, and encode them for a frame.

    Raises
    ------
    RefusedError
        For a record that does not suit the kind of event, or fits in no frame; it is named by its number, from 0, and
        the field.
    """
    encoded = []
    for k, record in enumerate(event.records):
        if reason := _find_error(event.kind, record):
            raise RefusedError(f"records[{k}]{reason}")
        try:
            encoded.append(msgspec.Raw(encode_frame(record)))
        except (OverflowError, RecursionError):
            raise RefusedError(
                f"records[{k}] has a whole number of more than 64 bits, or is nested too deeply"
            ) from None
    return msgspec.Raw(encode_frame(encoded))


def _find_error(kind: str, record: Record) -> str | None:
    """Return the first error in a record of an event of this kind, with the field's name; None if it is valid."""
    if isinstance(record, JournalRecord):
        return ".id is missing" if record.id is None else None
    if kind == "predicted":
        if record.x is None:
            return ".x is missing"
        return None if record.y is None else ".y is a label: send records with labels to /observe"
    if kind != "observed":
        return None
    if record.y is None:
        return ".y is missing"
    if ends_with_null(record.y):
        return f".y {ENDS_WITH_NULL}"
    if record.x is not None:
        return None
    if record.id is None:
        return " needs x, or the id of a record that was predicted"
    return None if record.task is None else ".task is without x: the task of a record that waits is known"


def encode_events(events: Sequence[Event], records: Sequence[msgspec.Raw]) -> bytes:
    """Encode events as JSON, given their records from :func:`encode_records`."""
    pairs = zip(events, records, strict=True)
    return encode_frame([(event.kind, event.at, encoded) for event, encoded in pairs])


def require_labels(event: Event, labels: Sequence[Scalar]) -> None:
    """Raise RefusedError for a record with a label that was not declared."""
    for k, record in enumerate(event.records):
        if event.kind == "observed" and record.y not in labels:
            *others, last = map(in_json, labels)
            declared = f"{', '.join(others)} and {last}"
            raise RefusedError(f"records[{k}].y is {in_json(record.y)}; the declared labels are {declared}")
