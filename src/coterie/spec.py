"""Parts: frozen hyperparameters that become JSON, and declare what users may choose.

A *part* (a relation, a rule, a storage, ...) is a frozen dataclass that knows nothing of the stream. It is written to
JSON and read back without running any code: a name is looked up among the registered parts, the fields are plain data.

**A field says what it means**: ``spec.field`` gives it help and a range (`coterie.settings`). Commands take a part as
the expression that makes it (`coterie.expressions`), so no other file needs to know of it.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import reprlib
import uuid
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, fields
from importlib.util import find_spec
from inspect import get_annotations
from itertools import chain
from typing import Any, Literal, TypeGuard, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from .settings import (
    Setting,
    check_count,
    check_fields,
    check_not_negative,
    check_positive,
    field,
    is_number,
    learned,
    settings_of,
)

__all__ = [
    "ENDS_WITH_NULL", "Setting", "check_count", "check_labels", "check_not_negative", "check_positive",
    "ends_with_null", "field", "fields_of", "from_json", "is_number", "labels_of", "learned",
    "model", "part", "registered", "require_instance", "require_part", "settings_of", "to_json",
    "with_constructor",
]  # fmt: skip

T = TypeVar("T")

_PARTS: dict[str, type] = {}
_MODELS: dict[str, type] = {}

#: Data are nested so deep at most; mixtures of mixtures of wrapped parts come to a dozen. Labels stand in such data.
DEEPEST, DEEPEST_LABEL = 100, 50

#: Arrays of more entries are shortened in texts of parts.
LONGEST_LITERAL = 10_000


# -- parts ------------------------------------------------------------------------------------------------------------


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def part(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass whose instances round-trip through JSON.

    Values are checked against the `Setting` of their fields before the class's own ``__post_init__``. Two parts are
    equal when their JSON forms are, so parts that hold arrays can be compared.

    Raises
    ------
    ValueError
        If coterie has a part of that name, which files would not tell from it.

    Examples
    --------
    >>> from coterie.relations import MeanRegularized
    >>> from_json(to_json(MeanRegularized(b=10)))
    MeanRegularized(b=10)
    """
    _require_name_of_its_own(cls)
    cls.__eq__ = _same  # type: ignore[method-assign]
    cls.__hash__ = _hash  # type: ignore[method-assign]
    cls.__repr__ = _show  # type: ignore[method-assign]
    cls.__deepcopy__ = _itself  # type: ignore[attr-defined]
    cls.__post_init__ = _checked_first(getattr(cls, "__post_init__", None))  # type: ignore[attr-defined]
    made = dataclass(frozen=True, eq=False, repr=False)(cls)
    _PARTS[cls.__name__] = made
    return made


def _checked_first(more: Callable[[Any], None] | None) -> Callable[[Any], None]:
    def __post_init__(self: Any) -> None:  # noqa: N807
        check_fields(self)
        if more is not None:
            more(self)

    return __post_init__


def _require_name_of_its_own(cls: type) -> None:
    """Refuse a user's part with the name of one of coterie's: a file would mean whichever came last."""
    if cls.__module__.startswith("coterie."):
        return
    name = cls.__name__
    if any(name in dir(room) and getattr(room, name) is _PARTS.get(name) for room in _rooms()):
        raise ValueError(f"coterie has a part {cls.__name__!r}: give {cls.__module__}.{cls.__name__} another name")


# -- what is refused --------------------------------------------------------------------------------------------------


def require_part(role: str, given: object, such: str) -> None:
    """Refuse text, a class, or whatever else is no part where one is needed; ``such`` is an example of one.

    Raises
    ------
    TypeError
        Telling what to write instead.
    """
    if getattr(given, "__name__", None) in _PARTS:
        require_instance(role, given)
    if type(given).__name__ not in _PARTS:
        raise TypeError(f"{role} must be a part such as {such}, got {given!r}")


def is_part(held: object) -> bool:
    """True for an instance of a part."""
    return type(held) is _PARTS.get(type(held).__name__)


def require_instance(role: str, given: object) -> None:
    """Refuse a class where something made of it is needed: TypeError telling what to write instead."""
    if isinstance(given, type):
        raise TypeError(f"{role} is the class {given.__name__}; give one made of it: {given.__name__}(...)")


# -- estimators -------------------------------------------------------------------------------------------------------


@dataclass_transform(eq_default=False, field_specifiers=(field, learned))
def with_constructor(cls: type[T]) -> type[T]:
    """Give an estimator the constructor of its fields, which are its parameters; nothing is checked there.

    Parameters are checked when they are used, as scikit-learn has it: by :func:`coterie.settings.check_fields`, those
    of a type ``Literal`` for being one of its words.
    """
    hints = get_type_hints(cls)
    for name in get_annotations(cls):
        default = vars(cls).get(name)
        if get_origin(hints[name]) is Literal and isinstance(default, str):
            setattr(cls, name, field(default=default, choices=get_args(hints[name])))
    return dataclass(eq=False, repr=False, match_args=False)(cls)


# -- JSON -------------------------------------------------------------------------------------------------------------


def model(cls: type[T]) -> type[T]:
    """Let the unfitted estimators of a class round-trip through JSON by their parameters, as members of others."""
    _MODELS[cls.__name__] = cls
    return cls


def registered(table: dict[str, type], name: str) -> type | None:
    """Return the class of this name, None if there is none; classes enter a table as public names are first used."""
    if name not in table:
        rooms = _rooms()
        named = [(room, name) for room in rooms if name in dir(room)]
        for room, public in chain(named, ((each, other) for each in rooms for other in dir(each))):
            getattr(room, public)
            if name in table:
                break
    return table.get(name)


def _rooms() -> list[Any]:
    """The package and its public modules, where public names are."""
    import coterie

    inner = [name for name in dir(coterie) if find_spec(f"coterie.{name}") is not None]
    return [coterie, *(getattr(coterie, name) for name in inner)]


def to_json(value: object, deepest: int = DEEPEST) -> Any:
    """Plain JSON data for a part, or for anything a part or a task label may hold: what :func:`from_json` undoes.

    Raises
    ------
    TypeError
        If the value has no JSON form; the message names its type.
    ValueError
        If reading would not give it back: text that UTF-8 has no code for (half a surrogate pair), times of
        nanoseconds, data nested deeper than ``deepest``.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _write_text(str.__str__(value))  # numpy's strings and those of enumerations among them
    if _is_whole(value):
        return int(value)
    if isinstance(value, (float, np.floating)) and np.isfinite(value):
        return float(value)
    if deepest == 0:
        raise ValueError("the data are nested too deep")
    return _tagged(value, lambda held: to_json(held, deepest - 1))


def _is_whole(value: Any) -> TypeGuard[int]:
    """Tell whether it is a whole number; a duration of NumPy's is one to NumPy alone."""
    return not isinstance(value, np.timedelta64) and isinstance(value, (int, np.integer))


def from_json(data: Any, deepest: int = DEEPEST) -> Any:
    """Undo :func:`to_json`; nothing in the data is ever executed.

    Raises
    ------
    ValueError
        If the data name a part or a tag that this version does not know, or are nested deeper than ``deepest``.
    """
    if not isinstance(data, (list, dict)):
        return data
    if deepest == 0:
        raise ValueError(f"JSON data are nested more than {DEEPEST} deep")
    if isinstance(data, list):
        return [from_json(item, deepest - 1) if isinstance(item, (list, dict)) else item for item in data]
    tag = next((key for key in data if key.startswith("$")), None)
    if tag not in _READERS:
        raise ValueError(f"unknown JSON tag {tag!r}: expected one of {', '.join(map(str, _READERS))}")
    return _READERS[tag](data, lambda held: from_json(held, deepest - 1) if isinstance(held, (list, dict)) else held)


def fields_of(value: Any) -> dict[str, Any]:
    """The fields of a part by name, in the order of its constructor."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


#: The types of labels, of records and of tasks, that files have a form for.
LABELS = (str, bool, int, float, bytes, tuple, datetime.date, uuid.UUID, decimal.Decimal)


def labels_of(given: Any) -> list[Any]:
    """A list of labels from a file as it is.

    Raises
    ------
    ValueError
        If it is no list, or holds what can be no label: one that is missing, a part, anything that cannot be hashed.
    """
    if not isinstance(given, list):
        raise ValueError(f"{given!r} is no list of labels")
    for label in given:
        if not isinstance(label, LABELS) or label != label:
            raise ValueError(f"{label!r} can be no label")
    return given


def check_labels(labels: Iterable[Hashable], what: str = "task") -> None:
    """Refuse labels that no file could give back, before anything is learned of them: O(their length).

    A model that had learned of one could never be saved again, or not be loaded. ``what`` it would be the label of
    begins the message; of a ``"label"`` of records, which arrays of text hold, :func:`ends_with_null` is refused, too.

    Raises
    ------
    ValueError
        For the first label that has no JSON form, or that would come back as another one.

    Examples
    --------
    >>> check_labels(["ann", 7, ("fr", 2.5)])
    >>> check_labels([1j])
    Traceback (most recent call last):
    ValueError: task 1j cannot be kept in a file: a complex (1j) has no JSON form; use numbers, strings, tuples or dates
    """
    for label in labels:
        reason = _obstacle(label)
        if reason is not None:
            raise ValueError(f"{what} {_shown(label)} cannot be kept in a file: {reason}")
        if what == "label" and ends_with_null(label):
            raise ValueError(f"label {_shown(label)} {ENDS_WITH_NULL}")


#: What is said of a label that :func:`ends_with_null`.
ENDS_WITH_NULL = "ends with a null character, which arrays of text take off"


def ends_with_null(label: Any) -> bool:
    r"""Tell whether a label is text, or bytes, that NumPy's arrays of such give back as another.

    Examples
    --------
    >>> ends_with_null("yes\0"), np.array(["yes\0"]).tolist()
    (True, ['yes'])
    """
    return (isinstance(label, str) and label.endswith("\0")) or (isinstance(label, bytes) and label.endswith(b"\0"))


def _obstacle(label: Hashable) -> str | None:
    """The reason why a file would not give a label back as it is; None if it would."""
    if _is_plainly_kept(label):
        return None
    try:
        text = msgspec.json.encode(to_json(label, DEEPEST_LABEL))
        again = from_json(msgspec.json.decode(text))
    except (TypeError, ValueError) as error:
        return str(error)
    except RecursionError:
        return "the data are nested too deep"
    same = isinstance(again, LABELS) and again == label and hash(again) == hash(label)
    return None if same else f"it would come back as {_shown(again)}"


def _shown(label: object) -> str:
    """A label as its literal, shortened."""
    try:
        return reprlib.repr(label)
    except (ValueError, RecursionError):  # of thousands of digits
        return f"of type {type(label).__name__}"


def _is_plainly_kept(label: Any) -> bool:
    """True for the labels that are nearly all, without writing them."""
    kind = type(label)
    if kind is int:
        return bool(label.bit_length() < 64)
    return kind is bool or kind is float or (kind is str and label.isascii())


def _tagged(value: object, write: Writer) -> Any:
    if is_part(value):
        named = {name: write(held) for name, held in fields_of(value).items()}
        return {"$part": type(value).__name__, "fields": named}
    if type(value) is _MODELS.get(type(value).__name__):
        return _write_model(value, write)
    for kind, written in _WRITERS:
        if isinstance(value, kind):
            return written(value, write)
    raise TypeError(f"a {type(value).__name__} ({value!r}) has no JSON form; use numbers, strings, tuples or dates")


def _write_text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"the text {reprlib.repr(value)} holds half a surrogate pair, which is no Unicode"
            ) from None
    return value


def _write_time(value: datetime.datetime, write: Writer) -> dict[str, Any]:
    if datetime.datetime.fromisoformat(value.isoformat()) != value:
        raise ValueError(f"the time {value!r} is finer than microseconds")
    return {"$datetime": value.isoformat()}


def _write_time_of_numpy(value: np.datetime64, write: Writer) -> Any:
    held = value.item()
    if not isinstance(held, datetime.date):  # a number of nanoseconds, or a year that Python has no date for
        raise ValueError(f"the time {value!r} is finer than microseconds, or of none of the years 1 to 9999")
    return write(held)


def _write_decimal(value: decimal.Decimal, write: Writer) -> dict[str, str]:
    if not value.is_finite():
        raise ValueError(f"the decimal number {value!r} is not finite")
    return {"$decimal": str(value)}


def _write_model(value: Any, write: Writer) -> dict[str, Any]:
    held = {name: write(each) for name, each in value.get_params(deep=False).items()}
    return {"$model": type(value).__name__, "parameters": held}


def _write_array(value: np.ndarray[Any, Any], write: Writer) -> dict[str, Any]:
    if value.dtype.kind not in "biuf":
        return {"$list": [write(item) for item in (value.tolist() if value.dtype.kind in "OSU" else value.ravel())]}
    raw = np.asarray(value, order="C")
    text = base64.b64encode(raw.tobytes()).decode("ascii")
    return {"$array": text, "dtype": raw.dtype.str, "shape": list(raw.shape)}


#: Writes what is nested in data.
Writer = Callable[[Any], Any]

_WRITERS: list[tuple[type, Callable[[Any, Writer], Any]]] = [
    (np.bool_, lambda value, write: bool(value)),
    (np.ndarray, _write_array),
    (tuple, lambda value, write: {"$tuple": [write(item) for item in value]}),
    (list, lambda value, write: [write(item) for item in value]),
    (Mapping, lambda value, write: {"$dict": [[write(key), write(held)] for key, held in value.items()]}),
    (bytes, lambda value, write: {"$bytes": base64.b64encode(value).decode("ascii")}),
    (datetime.datetime, _write_time),
    (float, lambda value, write: {"$float": repr(float(value))}),
    (np.floating, lambda value, write: {"$float": repr(float(value))}),
    (datetime.date, lambda value, write: {"$date": value.isoformat()}),
    (np.datetime64, _write_time_of_numpy),
    (uuid.UUID, lambda value, write: {"$uuid": str(value)}),
    (decimal.Decimal, _write_decimal),
]


def _read_decimal(text: Any) -> decimal.Decimal:
    try:
        value = decimal.Decimal(text)
    except (decimal.InvalidOperation, TypeError, ValueError):
        raise ValueError(f"{text!r} is no decimal number") from None
    if not value.is_finite():
        raise ValueError(f"{text!r} is no decimal number")
    return value


def _read_array(data: dict[str, Any], read: Reader) -> np.ndarray[Any, Any]:
    dtype = np.dtype(data["dtype"])
    if dtype.kind not in "biuf":
        raise ValueError(f"an array of {dtype} is none of numbers")
    return np.frombuffer(base64.b64decode(data["$array"]), dtype=dtype).reshape(data["shape"]).copy()


def _read_objects(data: dict[str, Any], read: Reader) -> np.ndarray[Any, Any]:
    objects = np.empty(len(data["$list"]), dtype=object)
    objects[:] = [read(item) for item in data["$list"]]
    return objects


def _read_part(data: dict[str, Any], read: Reader) -> Any:
    return _made("part", _PARTS, data["$part"], data["fields"], read)


def _read_model(data: dict[str, Any], read: Reader) -> Any:
    return _made("model", _MODELS, data["$model"], data["parameters"], read)


def _made(what: str, table: dict[str, type], name: str, given: Mapping[str, Any], read: Reader) -> Any:
    found = registered(table, name)
    if found is None:
        raise ValueError(f"unknown {what} {name!r}: this version knows {', '.join(sorted(table))}")
    return found(**{key: read(value) for key, value in given.items()})


#: Reads what is nested in tagged data.
Reader = Callable[[Any], Any]

_READERS: dict[str | None, Callable[[dict[str, Any], Reader], Any]] = {
    "$part": _read_part,
    "$model": _read_model,
    "$array": _read_array,
    "$float": lambda data, read: float(data["$float"]),
    "$tuple": lambda data, read: tuple(read(item) for item in data["$tuple"]),
    "$list": _read_objects,
    "$dict": lambda data, read: {read(key): read(value) for key, value in data["$dict"]},
    "$bytes": lambda data, read: base64.b64decode(data["$bytes"]),
    "$datetime": lambda data, read: datetime.datetime.fromisoformat(data["$datetime"]),
    "$date": lambda data, read: datetime.date.fromisoformat(data["$date"]),
    "$uuid": lambda data, read: uuid.UUID(data["$uuid"]),
    "$decimal": lambda data, read: _read_decimal(data["$decimal"]),
}


def _same(self: object, other: object) -> bool:
    return type(self) is type(other) and bool(to_json(self) == to_json(other))


def _hash(self: object) -> int:
    return hash((type(self).__name__, _hashable(to_json(self))))


def _hashable(data: Any) -> Any:
    """JSON data as nested tuples: equal data have equal hashes, also 10 and 10.0."""
    if isinstance(data, dict):
        return tuple((key, _hashable(held)) for key, held in data.items())
    return tuple(map(_hashable, data)) if isinstance(data, list) else data


def _itself(self: T, memo: dict[int, Any]) -> T:
    return self  # frozen: a copy would only cost time


def _show(self: object) -> str:
    shown = (f"{name}={literal(value)}" for name, value in fields_of(self).items() if value is not None)
    return f"{type(self).__name__}({', '.join(shown)})"


def literal(value: object) -> str:
    """Return the text of a value as the expression that makes it: arrays as lists, NumPy's scalars as Python's.

    Arrays of more than 10,000 entries are shortened, and are then no expression.

    >>> literal(np.eye(2)), literal(np.float64(0.5))
    ('[[1.0, 0.0], [0.0, 1.0]]', '0.5')
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.size <= LONGEST_LITERAL):
        return repr(value.tolist())
    return repr(value)
