"""Models, which are trees of named tuples, turned into named arrays for a file and back."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .weights.table import Part, Table

Arrays = dict[str, NDArray[Any]]

#: The modules whose named tuples models are made of; only those are imported that a file asks for.
_NAMES_OF = {
    "core.records": "Csr",
    "dual.eviction": "Everything PrintedQueue Queue RandomSlots",
    "dual.expansion": "Expansion Support",
    "dual.heterogeneous": "Joined Rounds",
    "dual.learned_dual": "Taught",
    "dual.projections": "Projected Projectron SharedByGroups SharedByTasks",
    "dual.second_order": "Bordered FullPrimal",
    "dual.stores": "DenseStore SparseStore",
    "primal.adaptive": "Adaptive",
    "primal.arow": "Confident",
    "primal.averaged": "Averaged AveragedPairs",
    "primal.forgetting": "Faded Forgetful",
    "primal.grouped": "Grouped Levels",
    "primal.laws": "AsLearned CovarianceLaw FixedLaw FreeTrace InverseRootLaw LogDetLaw MeanStep PrecisionLaw RootLaw "
    "UnitTrace VonNeumannLaw",
    "primal.learned_relations": "FromRound Gram Learned Move New Previous Relation WhenSettled",
    "primal.p_norm": "PNorm",
    "primal.signed": "Signed",
    "primal.spread": "Columns SparseColumns Spread",
    "views.forms": "DenseViews",
    "views.one_space": "DenseMatrix SparseMatrix WideMatrix",
    "views.own_spaces": "Flat",
    "views.potentials": "Group Schatten",
    "views.rounds": "Latest Mean Primal",
    "views.walk": "Expanded Supports",
    "weights.dense": "FeatureMajor RowMajor RowMajorPairs",
    "weights.hashed": "Hashed HashedPairs",
    "weights.sparse": "Sparse SparsePairs",
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
    """Give the kind of a model and what a file has of it by name; the arrays of tables are copies."""
    if isinstance(model, Part):
        return type(model.table), model.table.to_saved(model.rows, model.features)
    return type(model), model.to_saved() if isinstance(model, Table) else model._asdict()


def rebuild(shape: Any, arrays: Arrays, prefix: str = "") -> Any:
    """Undo :func:`flatten`.

    Raises
    ------
    ValueError
        If the shape names a kind of model, or the arrays lack one, that this version needs.
    """
    kind = kind_named(shape["kind"])
    is_table = issubclass(kind, Table)
    names = kind.saved_fields if is_table else kind._fields
    held = {name: _field(shape["fields"], arrays, prefix, name) for name in names}
    return kind.from_saved(held) if is_table else kind(**held)


def _field(fields: dict[str, Any], arrays: Arrays, prefix: str, name: str) -> Any:
    if isinstance(fields.get(name), dict):
        return rebuild(fields[name], arrays, f"{prefix}{name}.")
    if name in fields:
        return fields[name]
    if prefix + name not in arrays:
        raise ValueError(f"array {prefix + name!r} is missing")
    return arrays[prefix + name].copy()


def numbered(name: str, parts: Sequence[Arrays]) -> Arrays:
    """The arrays of several models by one name: ``NAME.0.`` before those of the first, and so on."""
    return {f"{name}.{n}.{own}": array for n, held in enumerate(parts) for own, array in held.items()}


def below(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
