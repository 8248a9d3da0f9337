"""The errors of a service; errors of its model get the numbers of records in the request."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence

import msgspec

from coterie.types import Json

_PLACE = re.compile(r"(label of |task of )?record (\d+) \(from 0\)")
_FIELDS = {None: "x", "label of ": "y", "task of ": "task"}

LabelledRecord = tuple[Json, Hashable, Hashable]  # features, label, task


class ServiceError(Exception):
    """The service rejects a request; ``status`` is the HTTP status."""

    status: int


class RefusedError(ServiceError, ValueError):
    """The request is invalid."""

    status = 422


class ConflictError(RefusedError):
    """The request contradicts an earlier one."""

    status = 409


class UnknownError(RefusedError):
    """The request is for something that does not exist."""

    status = 404


class BusyError(ServiceError):
    """Too many records wait to be written."""

    status = 429


class ClosedError(ServiceError):
    """The service is closed or has failed."""

    status = 503


class LostFolderError(ServiceError, OSError):
    """The folder was moved, deleted or replaced."""

    status = 503


def in_json(value: object) -> str:
    """Encode a value as JSON text."""
    return msgspec.json.encode(value).decode()


def in_one_line(error: BaseException) -> str:
    """Return an error's message in one line, or its type if it has no message."""
    return " ".join(str(error).split()) or type(error).__name__


def describe_refusal(
    error: Exception,
    places: Sequence[int],
    records: Sequence[LabelledRecord],
    classes: Sequence[Hashable],
    predict: Callable[[Json, Hashable], object],
) -> str:
    """Describe the error of a record with its number in the request.

    Parameters
    ----------
    error : Exception
        The model's error, which numbers the records that the model received.
    places : sequence of int
        The numbers of these records in the request.
    records : sequence of (features, label, task)
        The records that the model received.
    classes : sequence
        The labels that it has learned.
    predict : callable
        Predicts features of a task, and raises the error of a record that ``error`` does not name.
    """
    text = in_one_line(error).partition("; pass task=")[0]  # which is advice for Python
    if text.startswith("Only binary classification"):
        return _third_label(places, records, classes) or text
    match = _PLACE.match(text)
    if match is not None:
        number, field = int(match[2]), _FIELDS[match[1]]
        reason = text[match.end() :]
        if field == "y":
            reason = reason.replace(repr(records[number][1]), in_json(records[number][1]))
        return f"records[{places[number]}].{field}{reason}"
    if len(records) == 1:
        return f"records[{places[0]}].{'task' if text.startswith('task ') else 'x'}: {text}"
    for place, record in zip(places, records, strict=True):
        try:
            predict(record[0], record[2])
        except (ValueError, TypeError) as record_error:
            return describe_refusal(record_error, [place], [record], classes, predict)
    return text


def _third_label(places: Sequence[int], records: Sequence[LabelledRecord], classes: Sequence[Hashable]) -> str | None:
    """Describe the first label after two others."""
    seen = list(classes)
    for place, (_, label, _) in zip(places, records, strict=True):
        if label not in seen and len(seen) >= 2:
            first, second = map(in_json, seen[:2])
            return (
                f"records[{place}].y is {in_json(label)}, a third label after {first} and {second}: "
                "a service of --many-classes learns more labels, one of --regression numbers"
            )
        seen += [label] * (label not in seen)
    return None
