"""Refusals of records in the words of who sent them: the number of the record in its request, and labels as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

_PLACE = re.compile(r"(label of |task of )?record (\d+) \(from 0\)")
_FIELDS = {None: "x", "label of ": "y", "task of ": "task"}

LabelledRecord = tuple[Any, Any, Any]  # features, label, task


def in_json(value: Any) -> str:
    """A value as JSON has it."""
    return msgspec.json.encode(value).decode()


def in_one_line(error: BaseException) -> str:
    """What an error says, in one line; its type where it says nothing."""
    return " ".join(str(error).split()) or type(error).__name__


def worded(
    error: Exception,
    places: Sequence[int],
    records: Sequence[LabelledRecord],
    classes: Sequence[Any],
    probe: Callable[[Any, Any], Any],
) -> str:
    """Say why records were refused.

    Parameters
    ----------
    error : Exception
        The model's refusal, in which records have their numbers among those that it was given.
    places : sequence of int
        The numbers that these have in the request.
    records : sequence of (features, label, task)
        The records that the model was given.
    classes : sequence
        The labels that it has learned.
    probe : callable
        Predicts features of a task: raises what is wrong with a record that the error does not name.
    """
    text = in_one_line(error).partition("; give task=")[0]  # which is of Python
    if text.startswith("Only binary classification"):
        return _third_label(places, records, classes) or text
    found = _PLACE.match(text)
    if found is not None:
        number, field = int(found[2]), _FIELDS[found[1]]
        said = text[found.end() :]
        if field == "y":
            said = said.replace(repr(records[number][1]), in_json(records[number][1]))
        return f"records[{places[number]}].{field}{said}"
    if len(records) == 1:
        return f"records[{places[0]}].{'task' if text.startswith('task ') else 'x'}: {text}"
    for place, record in zip(places, records, strict=True):
        try:
            probe(record[0], record[2])
        except (ValueError, TypeError) as its:
            return worded(its, [place], [record], classes, probe)
    return text


def _third_label(places: Sequence[int], records: Sequence[LabelledRecord], classes: Sequence[Any]) -> str | None:
    """The refusal of the first label behind two others."""
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
