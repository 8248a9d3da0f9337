"""Conversion of models (nested named tuples of arrays) to named arrays for a file, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .core.checks import require
from .weights.dense import FeatureMajor
from .weights.shared_tables import MANY, TABLES
from .weights.sparse import Sparse
from .weights.table import Part, Table

Arrays = dict[str, NDArray[Any]]
T = TypeVar("T")

#: A model's numbers are no larger: their squares, which learning takes, and sums of many of those are numbers too.
LARGEST = 1e150

#: Whole numbers of a file, such as the rounds so far, are no larger: no stream is as long, and none then overflows.
MOST_COUNT = 2**53

#: Kinds whose own ``check`` bounds their numbers, which are squares already.
_BOUNDED = {"Gaussian", "MixedEffects", "OwnPrior", "Residuals"}


def flatten(model: Any, prefix: str = "") -> tuple[Any, Arrays]:
    """Split a model (nested named tuples) into its structure as JSON data, and copies of its arrays by dotted name.

    Only the part of a table named by :class:`Part` is copied, so that equal models give equal arrays.
    """
    fields: dict[str, Any] = {}
    arrays: Arrays = {}
    kind, parts = _parts(model)
    for name, value in parts.items():
        if isinstance(value, tuple):
            fields[name], below = flatten(value, f"{prefix}{name}.")
            arrays |= below
        elif isinstance(value, np.ndarray):
            arrays[prefix + name] = value if issubclass(kind, Table) else value.copy()
        else:
            fields[name] = value
    return {"kind": kind.__name__, "fields": fields}, arrays


def _parts(model: Any) -> tuple[type, dict[str, Any]]:
    """Return the type of a model, and its fields to save by name; tables are copied."""
    if isinstance(model, Part):
        return type(model.table), model.table.to_saved(model.rows, model.features)
    return type(model), model.to_saved() if isinstance(model, Table) else model._asdict()


def require_held(model: T, prefix: str = "") -> T:
    """Return the model; raise ValueError if its numbers are not finite, or so large that learning would overflow.

    Raises
    ------
    ValueError
        If an array, which is named, holds numbers beyond `LARGEST` or `MOST_COUNT`.
    """
    tree: Any = model.table if isinstance(model, Part) else model
    for name, value in tree._asdict().items():
        if isinstance(value, tuple):
            require_held(value, f"{prefix}{name}.")
    _require_own(tree, prefix)
    return model


def _require_own(model: Any, prefix: str) -> None:
    """Raise ValueError for invalid arrays of a single named tuple, as :func:`require_held` does for a model.

    The further numbers of a weight, such as a sum of squared gradients, may have any size, even infinite: such a weight
    no longer changes. In a sparse table the weights are every second number of the first eight of a line.
    """
    if hasattr(model, "line"):
        lines = model.values[: model._taken().size].reshape(-1, model.line)
        _require_sizes(f"{prefix}features", lines[:, 1:8:2])
        _require_numbers(f"{prefix}features", lines[:, 8:])
    elif isinstance(model, Table):
        _require_sizes(f"{prefix}values", model.values[:: model.numbers])
        _require_numbers(f"{prefix}values", model.values)
    elif type(model).__name__ not in _BOUNDED:
        for name, array in model._asdict().items():
            if isinstance(array, np.ndarray):
                _require_sizes(prefix + name, array)


def _require_sizes(path: str, array: NDArray[Any]) -> None:
    most = {"f": LARGEST, "i": MOST_COUNT}.get(array.dtype.kind) if array.dtype.itemsize == 8 else None
    if most is not None and array.size:
        fits = array.min() >= -most and array.max() <= most
        require(fits, f"array {path!r} has numbers that are not finite, or beyond {most:g}")


def _require_numbers(path: str, array: NDArray[Any]) -> None:
    require(not array.size or array.min() == array.min(), f"array {path!r} contains NaN")


def rebuild(shape: Any, arrays: Arrays, *likes: Any, prefix: str = "") -> Any:
    """Restore a model from the result of :func:`flatten`; it must have the types of one of the models ``likes``.

    The types of named tuples (tables may have another storage), the types and dimensions of arrays, and numbers that
    select compiled code are compared. Array entries are only checked for their size; each model's ``check`` does the
    rest.

    Parameters
    ----------
    shape, arrays
        The result of :func:`flatten`, or untrusted data in its form; the model takes ownership of the arrays.
    *likes : named tuple
        Unfitted models with the same parameters in their saved form, one for each possible form.

    Raises
    ------
    ValueError
        If the shape names a kind of model that this version does not know, or another than these, if an array is
        missing or of another type or holds numbers beyond `LARGEST` or `MOST_COUNT`, or if a table of weights has no
        arena.
    """
    named = shape.get("kind") if isinstance(shape, dict) else None
    fields = shape.get("fields") if isinstance(shape, dict) else None
    if not isinstance(named, str) or not isinstance(fields, dict):
        raise ValueError(f"{prefix or 'the state'} has no known type")
    likes = tuple(like.table if isinstance(like, Part) else like for like in likes)
    kinds = [(kind, like) for like in likes for kind in _kinds_of(like) if kind.__name__ == named]
    if not kinds:
        wanted = " or ".join(type(like).__name__ for like in likes)
        raise ValueError(f"{prefix or 'the state'} is a {named}, but the parameters require a {wanted}")
    kind, like = kinds[0]
    if issubclass(kind, Table):
        known = kind.blank(like.numbers).to_saved()
        model = kind.from_saved({name: _field(fields, arrays, prefix, name, known[name]) for name in known})
    else:
        known = like._asdict()
        model = kind(**{name: _field(fields, arrays, prefix, name, known[name]) for name in kind._fields})
    _require_own(model, prefix)
    return model


#: Storages that a table changes over to as it grows.
_STORAGES: tuple[tuple[Any, Any], ...] = (*TABLES.values(), MANY, (FeatureMajor, Sparse))


def _kinds_of(like: Any) -> list[Any]:
    """Return the types that a model with the same parameters as ``like`` may have."""
    kind = type(like)
    return [kind, *(other for pair in _STORAGES if kind in pair for other in pair if other is not kind)]


#: Number fields that select compiled code or sizes of its arrays; they must equal the parameters.
_CHOICES = {"size", "numbers", "seed", "power", "p", "inner", "beyond_span", "printed"}
_CHOICES |= {"after_move", "mean_step", "unit_trace", "every"}


def _field(fields: dict[str, Any], arrays: Arrays, prefix: str, name: str, like: Any) -> Any:
    """Return the value of a field; raise ValueError if its type or its choice differs from that of ``like``."""
    path = prefix + name
    value: Any = fields.get(name)
    if isinstance(like, tuple):
        return rebuild(value, arrays, like, prefix=f"{path}.")
    if isinstance(like, np.ndarray):
        return _array(path, None if name in fields else arrays.get(path), like)
    if like is None and value is None and name in fields:
        return None
    # type() instead of isinstance(): True and False are instances of int
    numeric = type(value) is int or (type(value) is float and type(like) is not int)
    if not numeric or like is None or (name in _CHOICES and value != like):
        raise ValueError(f"{path} is {value!r}, but the parameters require {like!r}")
    most = MOST_COUNT if type(like) is int else LARGEST
    require(value == like or abs(value) <= most, f"{path} is {value!r}, which is not finite, or beyond {most:g}")
    return value if type(value) is type(like) else float(value)


def array_of(arrays: Arrays, name: str, like: NDArray[Any]) -> NDArray[Any]:
    """Return a named array; raise ValueError if its type or number of dimensions differs from that of ``like``.

    Its numbers may have any size, even infinite; integers are counts, up to `MOST_COUNT`.
    """
    array = _array(name, arrays.get(name), like)
    if array.dtype == np.int64:
        _require_sizes(name, array)
    return array


def _array(path: str, array: NDArray[Any] | None, like: NDArray[Any]) -> NDArray[Any]:
    if array is None:
        raise ValueError(f"array {path!r} is missing")
    if array.ndim != like.ndim or array.dtype != like.dtype:
        raise ValueError(f"array {path!r} has type {array.dtype} and {array.ndim} dimensions")
    # compiled code has the types of writeable, contiguous arrays
    return array if array.flags.writeable and array.flags.c_contiguous else array.copy()


def join_numbered(name: str, parts: Sequence[Arrays]) -> Arrays:
    """Combine the arrays of several models under the names ``NAME.0.x``, ``NAME.1.x``, and so on."""
    return {f"{name}.{n}.{own}": array for n, part in enumerate(parts) for own, array in part.items()}


def group_by_prefix(arrays: Arrays) -> dict[str, Arrays]:
    """Group named arrays by the first part of their dotted names, which is removed."""
    groups: dict[str, Arrays] = {}
    for name, array in arrays.items():
        first, _, own = name.partition(".")
        groups.setdefault(first, {})[own] = array
    return groups


def strip_prefix(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays with a name that starts with the prefix, under the rest of the name."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
