"""Models, which are named tuples within named tuples, as named arrays and back."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sparse_tables import Sparse, SparsePairs, restored, room, taken

Arrays = dict[str, NDArray[Any]]


@cache
def kinds() -> dict[str, Any]:
    """What models can be made of, by name; learning needs few of these modules, and starts without the others."""
    from . import learned, memories, models, one_space, potentials, projections, stores, tables, view_walk, views
    from .adaptive import Adaptive
    from .confidence import Confident
    from .expansion import Expansion, Support
    from .fading import Faded, Forgetful
    from .heterogeneous import Joined, Rounds
    from .own_spaces import Flat
    from .p_norm import PNorm
    from .records import Csr
    from .second_order import Bordered, FullPrimal
    from .signed import Signed
    from .taught import Taught

    return {
        kind.__name__: kind
        for kind in (
            *(Adaptive, models.Averaged, models.AveragedPairs, Confident, Faded, Forgetful, models.Grouped, Signed),
            *(models.Spread, Bordered, FullPrimal, Joined, PNorm, Rounds),
            *(models.Columns, models.Levels, models.SparseColumns, Taught),
            *(Expansion, Support, stores.DenseStore, stores.SparseStore),
            *(memories.Everything, memories.PrintedQueue, memories.Queue, memories.RandomSlots),
            *(projections.Projected, projections.Projectron, projections.SharedByGroups, projections.SharedByTasks),
            *(potentials.Schatten, potentials.Group, views.Primal, views.Latest, views.Mean, view_walk.Expanded),
            *(one_space.DenseMatrix, one_space.SparseMatrix, one_space.WideMatrix, Flat, views.DenseViews),
            *(view_walk.Supports, Csr, tables.FeatureMajor, tables.Hashed, tables.HashedPairs),
            *(tables.RowMajor, tables.RowMajorPairs, Sparse, SparsePairs),
        )
    } | {kind.__name__: kind for kind in vars(learned).values() if hasattr(kind, "_fields")}


def saved(kind: Any) -> Any:
    """Let models with this named tuple be saved and loaded; for those that do not come with this package.

    Loading knows it by its name alone, so the module that defines it is to be imported first.

    Raises
    ------
    ValueError
        If another kind has that name.
    """
    if kinds().setdefault(kind.__name__, kind) is not kind:
        raise ValueError(f"there is another kind of model named {kind.__name__!r}: {kinds()[kind.__name__]!r}")
    return kind


def flatten(model: Any, prefix: str = "") -> tuple[Any, Arrays]:
    """The shape of a model as plain JSON data, and its arrays by dotted name."""
    fields: dict[str, Any] = {}
    arrays: Arrays = {}
    if isinstance(model, (Sparse, SparsePairs)):
        fields["room"] = room(model)
        model = model._replace(values=model.values[:0], features=taken(model))  # one piece of memory: kept once
    for name, held in model._asdict().items():
        if isinstance(held, tuple):
            fields[name], below = flatten(held, f"{prefix}{name}.")
            arrays |= below
        elif isinstance(held, np.ndarray):
            arrays[prefix + name] = held
        else:
            fields[name] = held
    return {"kind": type(model).__name__, "fields": fields}, arrays


def rebuild(shape: Any, arrays: Arrays, prefix: str = "") -> Any:
    """Undo :func:`flatten`.

    Raises
    ------
    ValueError
        If the shape names a kind of model, or the arrays lack one, that this version needs.
    """
    known = kinds()
    if shape["kind"] not in known:
        raise ValueError(f"unknown kind of model {shape['kind']!r}: this version knows {', '.join(known)}")
    kind = known[shape["kind"]]
    held = {name: _field(shape["fields"], arrays, prefix, name) for name in kind._fields}
    if kind in (Sparse, SparsePairs):
        cells = shape["fields"]["room"]
        held["values"], held["features"] = restored(held["features"], held["values"].dtype, cells, kind)
    return kind(**held)


def _field(fields: dict[str, Any], arrays: Arrays, prefix: str, name: str) -> Any:
    if isinstance(fields.get(name), dict):
        return rebuild(fields[name], arrays, f"{prefix}{name}.")
    if name in fields:
        return fields[name]
    if prefix + name not in arrays:
        raise ValueError(f"array {prefix + name!r} is missing")
    return arrays[prefix + name].copy()


def below(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with the prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
