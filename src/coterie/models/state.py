"""The state of a learner with one model: named arrays, and the index of tasks for their rows."""

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
    """A model, which is a tree of named arrays, and the index of its rows.

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
        """Return the state without prepared calls, for copies and :mod:`pickle`."""
        return self.__dict__ | {"calls": None}

    @property
    def labels(self) -> list[Hashable]:
        """The labels of the tasks with rows, in row order."""
        labels = self.tasks.labels
        return labels if len(labels) == self.known else labels[: self.known]

    def replace_model(self, model: Tree) -> None:
        """Replace the model unless all its arrays are identical, because compiled calls are bound to the object."""
        if not is_same(self.model, model):
            self.model = model

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return nbytes_of(self.model)


def nbytes_of(model: Tree) -> int:
    """Bytes of the arrays of a model; a piece of memory that two of them show counts once.

    For weight tables only the used part counts, because unused capacity has not been written to.
    """
    sizes: dict[int, int] = {}
    for piece, nbytes in _pieces(model):
        sizes[piece] = min(nbytes, sizes.get(piece, nbytes))
    return sum(sizes.values())


def _pieces(model: Tree) -> Iterator[tuple[int, int]]:
    """Yield an identifier of each block of memory, and its size in bytes."""
    if isinstance(model, np.ndarray):
        yield id(_owner(model)), _owner(model).nbytes
    elif isinstance(model, Table):
        if model.nbytes:  # a slice of a shared table has none
            yield id(_owner(model.values)), model.nbytes
    elif isinstance(model, tuple):
        for field in model:
            yield from _pieces(field)


def holds(model: Tree, kinds: tuple[type, ...]) -> bool:
    """Return True if a model has a part of one of these kinds."""
    return isinstance(model, kinds) or (isinstance(model, tuple) and any(holds(part, kinds) for part in model))


def is_same(one: Any, other: Any) -> bool:
    """Return True if two trees consist of the same arrays and scalars, by identity."""
    return one is other or (type(one) is type(other) and isinstance(one, tuple) and all(map(is_same, one, other)))


def arrays_of(model: Tree) -> Iterator[Array]:
    """Yield the arrays of a model."""
    for part in model:
        if isinstance(part, tuple):
            yield from arrays_of(part)
        elif isinstance(part, np.ndarray):
            yield part


def copied(model: Tree) -> Tree:
    """Return a deep copy of a model."""
    if isinstance(model, tuple):
        return type(model)(*map(copied, model))
    return model.copy() if isinstance(model, np.ndarray) else model


def _owner(array: Array) -> Array:
    return _owner(array.base) if isinstance(array.base, np.ndarray) else array
