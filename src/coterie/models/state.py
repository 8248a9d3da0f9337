"""The state of a learner: named arrays, and an index that assigns rows to tasks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coterie._compiled.primal.grouped import NO_ARRIVALS, Arrivals
from coterie._compiled.weights.table import Table
from coterie.tasks.index import Index
from coterie.types import Array, Tree


@dataclass
class State:
    """The state of a learner: a model (nested named tuples of arrays), and the index of its tasks.

    The first ``known`` tasks of the index have rows; ``coming`` are those that compiled code counts at their first
    records; ``calls`` are prepared compiled calls for single records.
    """

    model: Tree
    tasks: Index
    sharing: Any
    features: int
    dense: bool
    known: int
    rounds: int = 0
    coming: Arrivals = NO_ARRIVALS
    calls: Any = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and :mod:`pickle`, without the cached compiled functions."""
        return self.__dict__ | {"calls": None}

    @property
    def labels(self) -> list[Hashable]:
        """The labels of the tasks that have rows in the model's arrays, in the order of the rows."""
        labels = self.tasks.labels
        return labels if len(labels) == self.known else labels[: self.known]

    def replace_model(self, model: Tree) -> None:
        """Set the model. The old object is kept if all arrays are the same, because compiled calls refer to it."""
        if not is_same(self.model, model):
            self.model = model

    @property
    def nbytes(self) -> int:
        """The memory of the arrays in bytes."""
        return nbytes_of(self.model)


def nbytes_of(model: Tree) -> int:
    """Return the memory of the arrays of a model in bytes; memory shared by several arrays counts once.

    For weight tables only the used part counts, because unused capacity has not been written to.
    """
    sizes: dict[int, int] = {}
    for piece, nbytes in _pieces(model):
        sizes[piece] = min(nbytes, sizes.get(piece, nbytes))
    return sum(sizes.values())


def _pieces(model: Tree) -> Iterator[tuple[int, int]]:
    """Yield an identifier and the size in bytes of each block of memory that a model's arrays use."""
    if isinstance(model, np.ndarray):
        yield id(_owner(model)), _owner(model).nbytes
    elif isinstance(model, Table):
        if model.nbytes:  # a slice of a shared table has none
            yield id(_owner(model.values)), model.nbytes
    elif isinstance(model, tuple):
        for field in model:
            yield from _pieces(field)


def holds(model: Tree, kinds: tuple[type, ...]) -> bool:
    """Return True if the nested tuple ``model`` contains an object of one of these types."""
    return isinstance(model, kinds) or (isinstance(model, tuple) and any(holds(part, kinds) for part in model))


def is_same(one: Any, other: Any) -> bool:
    """Return True if two nested tuples consist of the same array objects and equal numbers."""
    return one is other or (type(one) is type(other) and isinstance(one, tuple) and all(map(is_same, one, other)))


def arrays_of(model: Tree) -> Iterator[Array]:
    """Yield all arrays of a nested tuple."""
    for part in model:
        if isinstance(part, tuple):
            yield from arrays_of(part)
        elif isinstance(part, np.ndarray):
            yield part


def copied(model: Tree) -> Tree:
    """Return a copy of a nested tuple with copies of its arrays."""
    if isinstance(model, tuple):
        return type(model)(*map(copied, model))
    return model.copy() if isinstance(model, np.ndarray) else model


def _owner(array: Array) -> Array:
    return _owner(array.base) if isinstance(array.base, np.ndarray) else array
