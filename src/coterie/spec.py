"""Parts and estimators: classes described by their parameters, registered by name, and written as JSON.

A *part* (a relation, a rule, a storage, ...) is a frozen dataclass that knows nothing of the stream; an estimator is a
mutable dataclass. Both are written to JSON and read back without running any code: a name is looked up among
the registered classes, the parameters are plain data.

``spec.field`` gives a parameter its help and its range (`coterie.settings`). The checks, ``repr``, ``get_params``,
files and the expressions of commands (`coterie.expressions`) use this one description (`parameters_of`), so no other
file needs to know of a new class.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import inspect
import reprlib
import uuid
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import chain
from types import ModuleType
from typing import Any, Literal, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from coterie.types import Array, Json, JsonValue, Label

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
from .wording import nearest

__all__ = [
    "ENDS_WITH_NULL", "ESTIMATORS", "PARTS", "Setting", "check_count", "check_labels", "check_not_negative",
    "check_parameters", "check_positive", "ends_with_null", "estimator", "field", "find_class", "from_json",
    "is_hashable", "is_number", "labels_of", "learned", "parameters_of", "part", "register", "require_instance",
    "require_part", "settings_of", "to_json", "values_of", "with_constructor",
]  # fmt: skip

T = TypeVar("T")

#: The registered classes by name. Classes are registered when they are imported, that is when first used.
PARTS: dict[str, type] = {}
ESTIMATORS: dict[str, type] = {}

#: The maximum depth of nested data and of labels in them; ensembles of ensembles of wrapped parts need about a dozen.
DEEPEST, DEEPEST_LABEL = 100, 50

#: Arrays of more entries are shortened in texts of parts.
LONGEST_LITERAL = 10_000


# -- parts ------------------------------------------------------------------------------------------------------------


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def part(cls: type[T]) -> type[T]:
    """Make a class a part: a frozen dataclass that can be converted to JSON and back.

    Values are checked against the `Setting` of their fields before the class's own ``__post_init__``. Two parts are
    equal when their JSON forms are, so parts that hold arrays can be compared.

    Raises
    ------
    ValueError
        If coterie has a part of that name, because files identify parts by name.

    Examples
    --------
    >>> from coterie.tasks import MeanRegularized
    >>> from_json(to_json(MeanRegularized(b=10)))
    MeanRegularized(b=10)
    """
    _require_name_of_its_own(cls)
    cls.__eq__ = _same  # type: ignore[method-assign]
    cls.__hash__ = lambda self: hash((type(self).__name__, _hashable(to_json(self))))  # type: ignore[method-assign]
    cls.__repr__ = _show  # type: ignore[method-assign]
    cls.__deepcopy__ = lambda self, memo: self  # type: ignore[attr-defined] # frozen: a copy would only cost time
    cls.__post_init__ = _checked_first(getattr(cls, "__post_init__", None))  # type: ignore[attr-defined]
    cls = dataclass(frozen=True, eq=False, repr=False)(cls)
    PARTS[cls.__name__] = cls
    return cls


def _checked_first(more: Callable[[Any], None] | None) -> Callable[[Any], None]:
    def __post_init__(self: Any) -> None:  # noqa: N807
        for name, value in vars(self).items():
            if isinstance(value, (dict, list)):  # the caller's, who may go on filling it
                object.__setattr__(self, name, value.copy())
            elif isinstance(value, np.generic):  # what is computed with float32 would be float32
                object.__setattr__(self, name, value.item())
        check_fields(self)
        if more is not None:
            more(self)

    return __post_init__


def _require_name_of_its_own(cls: type) -> None:
    """Raise an error if a user's part has the name of one of coterie's parts, because files use these names."""
    if cls.__module__.startswith("coterie."):
        return
    name = cls.__name__
    if any(name in dir(room) and getattr(room, name) is PARTS.get(name) for room in _rooms()):
        raise ValueError(f"coterie has a part {cls.__name__!r} already; rename {cls.__module__}.{cls.__name__}")


@dataclass_transform(eq_default=False, field_specifiers=(field, learned))
def with_constructor(cls: type[T]) -> type[T]:
    """Add a constructor with the class's fields as parameters, the values of which it does not check.

    Parameters are checked when they are used, as in scikit-learn: by :func:`coterie.settings.check_fields`, including
    the values of ``Literal`` types.
    """
    hints = get_type_hints(cls)
    for name in inspect.get_annotations(cls):
        default = vars(cls).get(name)
        if get_origin(hints[name]) is Literal and isinstance(default, str):
            setattr(cls, name, field(default=default, choices=get_args(hints[name])))
    return dataclass(eq=False, repr=False, match_args=False)(cls)


def register(cls: type[T]) -> type[T]:
    """Register a class by name, for :func:`coterie.load` and for unfitted models as parameters."""
    ESTIMATORS[cls.__name__] = cls
    return cls


@dataclass_transform(eq_default=False, field_specifiers=(field, learned))
def estimator(cls: type[T]) -> type[T]:
    """Add a constructor to an estimator, and register it for files, ``--learner`` and documentation."""
    return register(with_constructor(cls))


def find_class(table: dict[str, type], name: str) -> type | None:
    """Return the class with this name in a registry (``table``); None if there is none."""
    if name not in table:
        rooms = _rooms()
        named = [(room, name) for room in rooms if name in dir(room)]
        for package, public in chain(named, ((room, public) for room in rooms for public in dir(room))):
            getattr(package, public)
            if name in table:
                break
    return table.get(name)


def _rooms() -> list[ModuleType]:
    """Return the package ``coterie`` and its public modules."""
    import coterie

    inner = [name for name in dir(coterie) if find_spec(f"coterie.{name}") is not None]
    return [coterie, *(getattr(coterie, name) for name in inner)]


# -- parameters --------------------------------------------------------------------------------------------------------


def parameters_of(cls: type) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a class's constructor by name, in order.

    >>> list(parameters_of(PARTS["MeanRegularized"]))
    ['b', 'share']
    """
    if cls not in _PARAMETERS:
        arguments = inspect.signature(cls.__init__).parameters  # type: ignore[misc]
        _PARAMETERS[cls] = {name: argument for name, argument in arguments.items() if name != "self"}
    return _PARAMETERS[cls]


_PARAMETERS: dict[type, dict[str, inspect.Parameter]] = {}


def check_parameters(cls: type, names: Iterable[str]) -> None:
    """Raise ValueError for a name that is not a parameter of a class; the message lists the parameters.

    >>> check_parameters(PARTS["MeanRegularized"], ["shar"])
    Traceback (most recent call last):
    ValueError: MeanRegularized has no parameter 'shar'; it has b, share; did you mean 'share'?
    """
    known = parameters_of(cls)
    for name in names:
        if name not in known:
            hint = nearest(name, known)
            raise ValueError(f"{cls.__name__} has no parameter {name!r}; it has {', '.join(known) or 'none'}{hint}")


def values_of(value: object) -> Json:
    """Return the parameters of a part or an estimator, by name."""
    return {name: getattr(value, name) for name in parameters_of(type(value))}


def is_hashable(value: object) -> bool:
    """Return True for a hashable value."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def require_part(role: str, value: object, example: str) -> None:
    """Raise TypeError if ``value`` is not a part; ``role`` and ``example`` are for the message."""
    if getattr(value, "__name__", None) in PARTS:
        require_instance(role, value)
    if type(value).__name__ not in PARTS:
        raise TypeError(f"{role} must be a part such as {example}, got {value!r}")


def is_part(value: object) -> bool:
    """Return True for an instance of a registered part, such as a relation, a rule or a kernel."""
    return type(value) is PARTS.get(type(value).__name__)


def require_instance(role: str, value: object) -> None:
    """Raise TypeError if ``value`` is a class, not an instance; the message shows how to write it."""
    if isinstance(value, type):
        raise TypeError(f"{role} is the class {value.__name__}; pass an instance: {value.__name__}(...)")


# -- JSON -------------------------------------------------------------------------------------------------------------


def to_json(value: object, deepest: int = DEEPEST) -> JsonValue:
    """Convert a part, a parameter value or a task label to JSON data; :func:`from_json` is the inverse.

    Raises
    ------
    TypeError
        If the value has no JSON form; the message names its type.
    ValueError
        If it cannot be restored: text that UTF-8 cannot encode (half a surrogate pair), times of nanoseconds, data
        nested deeper than ``deepest``.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _write_text(str.__str__(value))  # numpy's strings and those of enumerations among them
    if not isinstance(value, np.timedelta64) and isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)) and np.isfinite(value):
        return float(value)
    if deepest == 0:
        raise ValueError("the data are nested too deeply")
    return _tagged(value, lambda item: to_json(item, deepest - 1))


def from_json(data: JsonValue, deepest: int = DEEPEST) -> JsonValue:
    """Convert JSON data of :func:`to_json` back, without executing code.

    Raises
    ------
    ValueError
        If the data have a part or a tag that this version does not know, or are nested deeper than ``deepest``.
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
    return _READERS[tag](data, lambda item: from_json(item, deepest - 1) if isinstance(item, (list, dict)) else item)


#: The types of labels, of records and of tasks, that files have a form for.
LABELS = (str, bool, int, float, bytes, tuple, datetime.date, uuid.UUID, decimal.Decimal)


def labels_of(data: JsonValue) -> list[Label]:
    """Return a list of labels from a file; raise ValueError for missing or unhashable labels."""
    if not isinstance(data, list):
        raise ValueError(f"{data!r} is not a list of labels")
    for label in data:
        if not isinstance(label, LABELS) or label != label:
            raise ValueError(f"{label!r} is not a valid label")
    return data


def check_labels(labels: Iterable[Hashable], role: str = "task") -> None:
    """Raise ValueError for new labels that cannot be restored from a file: O(their length).

    Without the check, a model with such a label could not be saved or loaded. The message begins with ``role``. A
    ``"label"`` of records must not end with a null character either, because arrays of text drop it.

    Raises
    ------
    ValueError
        For the first label that has no JSON form, or that would be restored as another one.

    Examples
    --------
    >>> check_labels(["ann", 7, ("fr", 2.5)])
    >>> check_labels([1j])
    Traceback (most recent call last):
    ValueError: task 1j cannot be saved to a file: a complex (1j) has no JSON form; use numbers, strings, tuples ...
    """
    for label in labels:
        reason = _why_not_saved(label)
        if reason is not None:
            raise ValueError(f"{role} {_shown(label)} cannot be saved to a file: {reason}")
        if role == "label" and ends_with_null(label):
            raise ValueError(f"label {_shown(label)} {ENDS_WITH_NULL}")


#: The error of a label that :func:`ends_with_null`.
ENDS_WITH_NULL = "ends with a null character, which arrays of text drop"


def ends_with_null(label: object) -> bool:
    r"""Return True for text or bytes that end with a null character, which NumPy's arrays drop.

    Examples
    --------
    >>> ends_with_null("yes\0"), np.array(["yes\0"]).tolist()
    (True, ['yes'])
    """
    return (isinstance(label, str) and label.endswith("\0")) or (isinstance(label, bytes) and label.endswith(b"\0"))


def _why_not_saved(label: Hashable) -> str | None:
    """Return the reason why a label cannot be saved to a file and restored; None if it can."""
    if _is_plain_label(label):
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
    """Format a label as a Python literal, shortened if it is long."""
    try:
        return reprlib.repr(label)
    except (ValueError, RecursionError):  # of thousands of digits
        return f"of type {type(label).__name__}"


def _is_plain_label(label: Label) -> bool:
    """Return True for the most frequent types of labels, which files can restore."""
    kind = type(label)
    if kind is int:
        return bool(label.bit_length() < 64)
    # nan is not equal to itself, so that no file can restore it
    return kind is bool or (kind is float and label == label) or (kind is str and label.isascii())


def _tagged(value: object, write: Writer) -> JsonValue:
    cls = type(value)
    for tag, (table, key) in _TABLES.items():
        if cls is table.get(cls.__name__):
            return {tag: cls.__name__, key: {name: write(item) for name, item in values_of(value).items()}}
    for kind, write_kind in _WRITERS:
        if isinstance(value, kind):
            return write_kind(value, write)
    raise TypeError(f"a {type(value).__name__} ({value!r}) has no JSON form; use numbers, strings, tuples or dates")


def _write_text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"the text {reprlib.repr(value)} contains half a surrogate pair, which is not valid Unicode"
            ) from None
    return value


def _write_time(value: datetime.datetime, write: Writer) -> Json:
    if datetime.datetime.fromisoformat(value.isoformat()) != value:
        # Python calls the times of an hour that clocks repeat, or leave out, equal to none with an offset
        fine = getattr(value, "nanosecond", 0)
        why = "is finer than microseconds" if fine else "occurs twice or never in its zone; convert it to UTC"
        raise ValueError(f"the time {value!r} {why}")
    return {"$datetime": value.isoformat()}


def _write_time_of_numpy(value: np.datetime64, write: Writer) -> JsonValue:
    time = value.item()
    if not isinstance(time, datetime.date):  # a number of nanoseconds, or a year that Python has no date for
        raise ValueError(f"the time {value!r} is finer than microseconds, or outside the years 1 to 9999")
    return write(time)


def _write_decimal(value: decimal.Decimal, write: Writer) -> dict[str, str]:
    if not value.is_finite():
        raise ValueError(f"the decimal number {value!r} is not finite")
    return {"$decimal": str(value)}


def _write_array(value: Array, write: Writer) -> Json:
    if value.dtype.kind not in "biuf":
        return {"$list": [write(item) for item in (value.tolist() if value.dtype.kind in "OSU" else value.ravel())]}
    raw = np.asarray(value, order="C")
    text = base64.b64encode(raw.tobytes()).decode("ascii")
    return {"$array": text, "dtype": raw.dtype.str, "shape": list(raw.shape)}


_TABLES = {"$part": (PARTS, "fields"), "$model": (ESTIMATORS, "parameters")}

#: Writes nested data.
Writer = Callable[[JsonValue], JsonValue]

_WRITERS: list[tuple[type, Callable[[Any, Writer], JsonValue]]] = [
    (np.bool_, lambda value, write: bool(value)),
    (np.ndarray, _write_array),
    (tuple, lambda value, write: {"$tuple": [write(item) for item in value]}),
    (list, lambda value, write: [write(item) for item in value]),
    (Mapping, lambda value, write: {"$dict": [[write(key), write(item)] for key, item in value.items()]}),
    (bytes, lambda value, write: {"$bytes": base64.b64encode(value).decode("ascii")}),
    (datetime.datetime, _write_time),
    (float, lambda value, write: {"$float": repr(float(value))}),
    (np.floating, lambda value, write: {"$float": repr(float(value))}),
    (datetime.date, lambda value, write: {"$date": value.isoformat()}),
    (np.datetime64, _write_time_of_numpy),
    (uuid.UUID, lambda value, write: {"$uuid": str(value)}),
    (decimal.Decimal, _write_decimal),
]


def _read_decimal(text: str) -> decimal.Decimal:
    try:
        value = decimal.Decimal(text)
    except (decimal.InvalidOperation, TypeError, ValueError):
        raise ValueError(f"{text!r} is not a decimal number") from None
    if not value.is_finite():
        raise ValueError(f"{text!r} is not a decimal number")
    return value


def _read_array(data: Json, read: Reader) -> Array:
    dtype = np.dtype(data["dtype"])
    if dtype.kind not in "biuf":
        raise ValueError(f"an array of {dtype} is not numeric")
    return np.frombuffer(base64.b64decode(data["$array"]), dtype=dtype).reshape(data["shape"]).copy()


def _read_objects(data: Json, read: Reader) -> Array:
    objects = np.empty(len(data["$list"]), dtype=object)
    objects[:] = [read(item) for item in data["$list"]]
    return objects


def _read_object(tag: str, data: Json, read: Reader) -> object:
    (table, key), name = _TABLES[tag], data[tag]
    cls = find_class(table, name)
    if cls is None:
        raise ValueError(f"unknown {tag[1:]} {name!r}: this version supports {', '.join(sorted(table))}")
    return cls(**{parameter: read(value) for parameter, value in data[key].items()})


#: Reads nested data.
Reader = Callable[[JsonValue], JsonValue]

_READERS: dict[str | None, Callable[[Json, Reader], Any]] = {
    "$part": partial(_read_object, "$part"),
    "$model": partial(_read_object, "$model"),
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


def _hashable(data: JsonValue) -> Any:
    """Convert lists in JSON data to nested tuples, which can be hashed."""
    if isinstance(data, dict):
        return tuple((key, _hashable(item)) for key, item in data.items())
    return tuple(map(_hashable, data)) if isinstance(data, list) else data


def _show(self: object) -> str:
    arguments = (f"{name}={literal(value)}" for name, value in values_of(self).items() if value is not None)
    return f"{type(self).__name__}({', '.join(arguments)})"


def literal(value: object) -> str:
    """Return the Python expression of a value: arrays as lists, NumPy scalars as Python numbers.

    Arrays of more than 10,000 entries are shortened, and are then no expression.

    >>> literal(np.eye(2)), literal(np.float64(0.5))
    ('[[1.0, 0.0], [0.0, 1.0]]', '0.5')
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.size <= LONGEST_LITERAL):
        return repr(value.tolist())
    return repr(value)
