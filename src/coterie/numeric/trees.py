"""Models, which are trees of named tuples, turned into named arrays for a file and back."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .core.checks import require
from .weights.table import Part, Table

Arrays = dict[str, NDArray[Any]]
T = TypeVar("T")

#: A model's numbers are no larger: their squares, which learning takes, and sums of many of those are numbers too.
MOST_HELD = {np.dtype(np.float64): 1e150, np.dtype(np.float32): 1e18}

#: Whole numbers of a file, such as the rounds so far, are no larger: no stream is as long, and none then overflows.
MOST_COUNT = 2**53

#: Kinds whose own ``check`` bounds their numbers, which are squares already.
_BOUNDED = {"Gaussian", "MixedEffects", "Residuals"}

#: The modules whose named tuples models are made of; only those are imported that a file asks for.
_NAMES_OF = {
    "core.records": "Csr",
    "dual.eviction": "UnboundedBudget PrintedQueue EvictionQueue RandomSlots DecayBudget",
    "dual.expansion": "Expansion Support",
    "dual.heterogeneous": "Joined Rounds",
    "dual.projections": "Projected Projectron SharedByGroups SharedByTasks",
    "dual.second_order": "Bordered FullPrimal",
    "dual.stores": "DenseStore SparseStore",
    "mirrored": "Mirrored",
    "primal.adaptive": "Adaptive",
    "primal.arow": "ConfidenceWeights",
    "primal.averaged": "Averaged AveragedPairs",
    "primal.coin": "Coin",
    "primal.forgetting": "Faded TimeDecay",
    "primal.grouped": "Grouped Levels",
    "primal.intercepts": "Intercepts",
    "primal.relation_updates": "AsLearned Beta CovarianceUpdate DivergenceUpdate FixedUpdate FreeTrace "
    "InverseRootUpdate LogDetUpdate MeanStep PrecisionUpdate RootUpdate UnitTrace VonNeumannUpdate",
    "primal.learned_relations": "EveryRounds FromRound Gram LearnedModel Move New Previous Relation WhenSettled",
    "primal.gaussian": "Gaussian",
    "primal.mixed_effects": "FilterWork MixedEffects SeenFeatures",
    "primal.spread": "Columns SparseColumns Spread",
    "primal.stacking": "Residuals Stacking",
    "views.forms": "DenseViews",
    "views.one_space": "DenseMatrix SparseMatrix WideMatrix",
    "views.own_spaces": "Flat",
    "views.potentials": "Beyond Group Schatten Spectral",
    "views.tasks": "SpectralRelationModel SpectralUpdate SpectralRelation",
    "views.rounds": "Latest Mean Primal",
    "views.walk": "Expanded Supports",
    "weights.dense": "FeatureMajor RowMajor RowMajorMany RowMajorPairs",
    "weights.sparse": "Sparse SparseMany SparsePairs",
}
_MODULES = {name: module for module, names in _NAMES_OF.items() for name in names.split()}
_FROM_OUTSIDE: dict[str, Any] = {}


def kind_named(name: str) -> Any:
    """Return the named tuple that files know by this name.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name in _MODULES:
        return getattr(import_module(f"{__package__}.{_MODULES[name]}"), name)
    if name not in _FROM_OUTSIDE:
        known = ", ".join([*_MODULES, *_FROM_OUTSIDE])
        raise ValueError(f"unknown kind of model {name!r}: this version knows {known}")
    return _FROM_OUTSIDE[name]


def saved(kind: Any) -> Any:
    """Let models with this named tuple be saved and loaded; for those that do not come with this package.

    Loading knows it by its name alone, so the module that defines it is to be imported first.

    Raises
    ------
    ValueError
        If another kind has that name.
    """
    name = kind.__name__
    if name in _MODULES or _FROM_OUTSIDE.setdefault(name, kind) is not kind:
        raise ValueError(f"there is another kind of model named {name!r}: {kind_named(name)!r}")
    return kind


def flatten(model: Any, prefix: str = "") -> tuple[Any, Arrays]:
    """Split a model into its shape, as plain JSON data, and copies of its arrays by dotted name.

    Of a table that stands in a :class:`Part` only this is copied, so that equal models give equal arrays.
    """
    fields: dict[str, Any] = {}
    arrays: Arrays = {}
    kind, parts = _parts(model)
    for name, held in parts.items():
        if isinstance(held, tuple):
            fields[name], below = flatten(held, f"{prefix}{name}.")
            arrays |= below
        elif isinstance(held, np.ndarray):
            arrays[prefix + name] = held if issubclass(kind, Table) else held.copy()
        else:
            fields[name] = held
    return {"kind": kind.__name__, "fields": fields}, arrays


def _parts(model: Any) -> tuple[type, dict[str, Any]]:
    """Return the kind of a model and its fields to save, by name; the arrays of tables are copies."""
    if isinstance(model, Part):
        return type(model.table), model.table.to_saved(model.rows, model.features)
    return type(model), model.to_saved() if isinstance(model, Table) else model._asdict()


def require_held(model: T, prefix: str = "") -> T:
    """Return a model whose numbers are finite and not so large that learning would overflow; O(its numbers).

    Raises
    ------
    ValueError
        If an array, which is named, holds numbers beyond `MOST_HELD` or `MOST_COUNT`.
    """
    tree: Any = model.table if isinstance(model, Part) else model
    for name, each in tree._asdict().items():
        if isinstance(each, tuple):
            require_held(each, f"{prefix}{name}.")
    _require_own(tree, prefix)
    return model


def _require_own(model: Any, prefix: str) -> None:
    """As :func:`require_held`, for the arrays of one kind.

    What stands beside a weight in a table, such as a sum of squared gradients, may be of any size, infinite too: such a
    weight moves no more. In a sparse table the weights have every second place of a line's first eight.
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
    most = MOST_HELD.get(array.dtype, MOST_COUNT if array.dtype == np.int64 else None)
    if most is not None and array.size:
        fits = array.min() >= -most and array.max() <= most
        require(fits, f"array {path!r} holds numbers that are not finite, or beyond {most:g}")


def _require_numbers(path: str, array: NDArray[Any]) -> None:
    require(not array.size or array.min() == array.min(), f"array {path!r} holds what is no number")


def rebuild(shape: Any, arrays: Arrays, *likes: Any, prefix: str = "") -> Any:
    """Undo :func:`flatten` for a model that is made of the same kinds as one of ``likes``.

    Compared are the kinds of named tuples (tables may have gone over to another storage), the types and dimensions of
    arrays, and the numbers that stand for choices: all that decides which compiled code runs. Of the numbers in arrays
    only the size is looked at; what they mean together is left to the ``check`` of each kind.

    Parameters
    ----------
    shape, arrays
        What :func:`flatten` gave, or what somebody says that it gave; the arrays are the model's from now on.
    *likes : named tuple
        Models of no record, of the same parameters, as they would be saved: in each form that there is.

    Raises
    ------
    ValueError
        If the shape names a kind of model that this version does not know, or another than these, if an array is
        missing or of another type or holds numbers beyond `MOST_HELD` or `MOST_COUNT`, or if a table of weights has no
        arena.
    """
    named = shape.get("kind") if isinstance(shape, dict) else None
    fields = shape.get("fields") if isinstance(shape, dict) else None
    if not isinstance(named, str) or not isinstance(fields, dict):
        raise ValueError(f"{prefix or 'the state'} is of no kind")
    kind, likes = kind_named(named), tuple(like.table if isinstance(like, Part) else like for like in likes)
    found = [like for like in likes if type(like) is kind or _may_become(type(like).__name__, named)]
    if not found:
        wanted = " or ".join(type(like).__name__ for like in likes)
        raise ValueError(f"{prefix or 'the state'} is a {named}, and the parameters make it a {wanted}")
    if issubclass(kind, Table):
        known = kind.blank(found[0].values.dtype.str, found[0].numbers).to_saved()
        made = kind.from_saved({name: _field(fields, arrays, prefix, name, known[name]) for name in known})
    else:
        known = found[0]._asdict()
        made = kind(**{name: _field(fields, arrays, prefix, name, known[name]) for name in kind._fields})
    _require_own(made, prefix)
    return made


#: Kinds that a model may be of whatever it was at first: storages that a table goes over to as it grows, and the
#: weights by which views report, which is a parameter.
_BECOMING = (
    {"RowMajor", "Sparse"},
    {"FeatureMajor", "Sparse"},
    {"RowMajorPairs", "SparsePairs"},
    {"RowMajorMany", "SparseMany"},
    {"Latest", "Mean"},
)

#: Fields of numbers that choose what compiled code does, or that its arrays have room for: as the parameters have them.
_CHOICES = {"size", "numbers", "seed", "power", "exponent", "lag", "p", "inner", "beyond_span"}

#: Weights and records may be of another precision than the parameters ask for by now; they are brought to that.
_FLOATS = {np.dtype(np.float32), np.dtype(np.float64)}


def _may_become(first: str, later: str) -> bool:
    return any(first in kinds and later in kinds for kinds in _BECOMING)


def _field(fields: dict[str, Any], arrays: Arrays, prefix: str, name: str, like: Any) -> Any:
    """The value of a field, refused if its type or its choice differs from ``like``."""
    path = prefix + name
    held: Any = fields.get(name)
    if isinstance(like, tuple):
        return rebuild(held, arrays, like, prefix=f"{path}.")
    if isinstance(like, np.ndarray):
        return _array(path, None if name in fields else arrays.get(path), like)
    if like is None and held is None and name in fields:
        return None
    numeric = type(held) is int or (type(held) is float and type(like) is not int)
    if not numeric or like is None or (name in _CHOICES and held != like):
        raise ValueError(f"{path} is {held!r}, and the parameters make it {like!r}")
    most = MOST_COUNT if type(like) is int else MOST_HELD[np.dtype(np.float64)]
    require(held == like or abs(held) <= most, f"{path} is {held!r}, which is not finite, or beyond {most:g}")
    return held if type(held) is type(like) else float(held)


def array_of(arrays: Arrays, name: str, like: NDArray[Any]) -> NDArray[Any]:
    """An array by its name, with the type and the dimensions of another: ValueError if there is none such.

    Numbers in it may be of any size, infinite too; whole ones are counts, up to `MOST_COUNT`.
    """
    array = _array(name, arrays.get(name), like)
    if array.dtype == np.int64:
        _require_sizes(name, array)
    return array


def _array(path: str, array: NDArray[Any] | None, like: NDArray[Any]) -> NDArray[Any]:
    if array is None:
        raise ValueError(f"array {path!r} is missing")
    if array.ndim != like.ndim or {array.dtype, like.dtype} not in ({like.dtype}, _FLOATS):
        raise ValueError(f"array {path!r} is of type {array.dtype} in {array.ndim} dimensions")
    with np.errstate(over="ignore"):
        held = array.astype(like.dtype, copy=False)
    return held if held.flags.writeable and held.flags.c_contiguous else held.copy()


def numbered(name: str, parts: Sequence[Arrays]) -> Arrays:
    """Put the arrays of several models together: the names of the first begin with ``NAME.0.``, and so on."""
    return {f"{name}.{n}.{own}": array for n, held in enumerate(parts) for own, array in held.items()}


def apart(arrays: Arrays) -> dict[str, Arrays]:
    """Group arrays by the first part of their names, which is left out: O(arrays), however many models there are."""
    found: dict[str, Arrays] = {}
    for name, array in arrays.items():
        first, _, own = name.partition(".")
        found.setdefault(first, {})[own] = array
    return found


def below(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
