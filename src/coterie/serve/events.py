"""The types of the contents of requests and frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

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


class JournalRecord(Record):
    """A record as the journal has it.

    That of a choice has the actions offered (None: those that the bandit has), the number of the one chosen, from 0,
    the probability of each, and whether another one had a better score; that of a reward has no more than the id.
    """

    actions: list[Scalar | dict[str, Any]] | None = None
    place: int = 0
    probabilities: list[float] = []
    explored: bool = False
    reward: float | None = None


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request."""

    records: list[Record]


class Offer(msgspec.Struct, forbid_unknown_fields=True):
    """What is to be chosen: an id, whose choice it is, its features, and the actions, labels or features by name."""

    id: str
    task: Scalar | None = None
    x: dict[str, Any] = {}
    actions: list[Scalar | dict[str, Any]] | None = None


class Offers(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request to choose."""

    records: list[Offer]


class Reward(msgspec.Struct, forbid_unknown_fields=True):
    """What the action brought that was chosen under an id."""

    id: str
    reward: float | bool


class Rewards(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request that tells rewards."""

    records: list[Reward]


class Event(msgspec.Struct, array_like=True):
    """What happened: records ``predicted``, labels ``observed``, tasks ``forgotten``, or the time ``reset``.

    At a service of a bandit actions were ``chosen``, or choices ``rewarded``. ``at`` is the time in seconds since 1970,
    never before that of the event before, but where time is reset: a start with a clock that was wrong had been ahead.
    """

    kind: Literal["predicted", "observed", "forgotten", "reset", "chosen", "rewarded"]
    at: float
    records: Sequence[Record]


class _Written(Event, array_like=True):
    """An event as a frame holds it."""

    records: list[JournalRecord]


class Prediction(msgspec.Struct):
    """The prediction for a record: a label or number, the probability of that label, and whether the task was known."""

    id: str | None
    task: Scalar | None
    label: Any
    p: float | None
    known_task: bool


class PredictResponse(msgspec.Struct):
    """The answer to a prediction, and the offset up to which the model had learned."""

    predictions: list[Prediction]
    offset: int


class Observed(msgspec.Struct):
    """The answer to labels: how many were learned, how many had been before, and ids that nothing is known of."""

    learned: int
    duplicate: int
    unknown: list[str]
    offset: int = 0


class Chosen(msgspec.Struct):
    """The action chosen under an id, and the probability that it had."""

    id: str
    task: Scalar | None
    action: Any
    probability: float


class Choices(msgspec.Struct):
    """The answer to what was to be chosen."""

    choices: list[Chosen]
    offset: int = 0


class Rewarded(msgspec.Struct):
    """The answer to rewards: for how many choices they are learned, now or before."""

    rewarded: int
    offset: int = 0


class Refused(msgspec.Struct):
    """Why a request was refused."""

    error: str
    status: ClassVar[int] = 422


class Conflict(Refused):
    """A request that contradicts an earlier one."""

    status: ClassVar[int] = 409


class Unknown(Refused):
    """A request for what is not there."""

    status: ClassVar[int] = 404


class RefusedError(ValueError):
    """A request is refused."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.error)
        self.refused = refused


def _of_records(many: Any, one: Any) -> Callable[[bytes | bytearray], list[Any]]:
    """The decoder of a body that has ``records``, or is one alone."""
    whole, alone = msgspec.json.Decoder(many), msgspec.json.Decoder(one)

    def decode(body: bytes | bytearray) -> list[Any]:
        try:
            records: list[Any] = whole.decode(body).records
        except msgspec.ValidationError:
            if "records" in msgspec.json.decode(body, type=Mapping[str, msgspec.Raw]):
                raise
            return [alone.decode(body)]
        return records

    return decode


_offers, _rewards = _of_records(Offers, Offer), _of_records(Rewards, Reward)


def decode_offers(body: bytes | bytearray) -> list[Record]:
    """The records of a request to choose."""
    return [JournalRecord(each.id, each.task, each.x, actions=each.actions) for each in _offers(body)]


def decode_rewards(body: bytes | bytearray) -> list[Record]:
    """The records of a request that tells rewards."""
    return [JournalRecord(each.id, reward=float(each.reward)) for each in _rewards(body)]


def decode_records(body: bytes | bytearray) -> list[Record]:
    """The records of a request to predict or to learn."""
    return decode_request(body).records


decode_request = msgspec.json.Decoder(Request).decode
decode_frame: Callable[[bytes], list[Any]] = msgspec.msgpack.Decoder(list[_Written]).decode
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
        _require_shallow(f"records[{k}].x", record.x)
        if record.id is not None and not 0 < len(record.id) <= LONGEST_ID:
            raise ValueError(f"records[{k}].id must have 1 to {LONGEST_ID} characters, got {len(record.id)}")
        if isinstance(record, JournalRecord):
            _require_entry(k, record)
        else:
            _require_fields(event.kind, k, record)
    try:
        return encode_frame(event.records)
    except (OverflowError, RecursionError):
        k = next(k for k, record in enumerate(event.records) if not _is_storable(record))
        raise ValueError(f"records[{k}] has a whole number of more than 64 bits, or parts within parts") from None


def _require_entry(k: int, entry: JournalRecord) -> None:
    """Refuse a choice, or a reward, that has no id, or actions that are nested."""
    if entry.id is None:
        raise ValueError(f"records[{k}].id is missing")
    for j, action in enumerate(entry.actions or ()):
        if isinstance(action, dict):
            _require_shallow(f"records[{k}].actions[{j}]", action)


def _require_fields(kind: str, k: int, record: Record) -> None:
    """Refuse a record that lacks what is predicted or observed, or has what does not go with it."""
    if kind == "predicted" and record.x is None:
        raise ValueError(f"records[{k}].x is missing")
    if kind == "predicted" and record.y is not None:
        raise ValueError(f"records[{k}].y is a label: what is known goes to /observe")
    if kind == "observed" and record.y is None:
        raise ValueError(f"records[{k}].y is missing")
    if ends_with_null(record.y):
        raise ValueError(f"records[{k}].y {ENDS_WITH_NULL}")
    if kind == "observed" and record.x is None and record.id is None:
        raise ValueError(f"records[{k}] needs x, or the id of a record that was predicted")
    if kind == "observed" and record.x is None and record.task is not None:
        raise ValueError(f"records[{k}].task is without x: the task of a record that waits is known")


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


def _require_shallow(where: str, x: dict[str, Any] | None) -> None:
    """Refuse features that a frame or a snapshot could not give back because they are nested."""
    if x is None or _FLAT.issuperset(map(type, x.values())):
        return
    for name, value in x.items():
        if isinstance(value, (list, dict)) and _is_deep(value, DEEPEST):
            raise ValueError(f"{where}[{name[:40]!r}] is nested more than {DEEPEST} deep")


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
