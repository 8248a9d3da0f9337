"""The state of a learner: a model of named arrays, and the tasks it knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .index import Index
from .numeric.weights.table import Table


class LearnedState(Protocol):
    """The state of any learner: the tasks it numbers, the width of records, rounds so far and bytes of arrays."""

    @property
    def tasks(self) -> Index: ...

    @property
    def features(self) -> int: ...

    @property
    def rounds(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


@dataclass
class State:
    """A model, which is a tree of named arrays, and the labels that number its rows."""

    model: Any
    tasks: Index
    sharing: Any
    features: int
    dense: bool
    rounds: int = 0

    def replace_model(self, model: Any) -> None:
        """Replace the model unless all its arrays are identical: compiled calls are bound to the object."""
        if not is_same(self.model, model):
            self.model = model

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return nbytes_of(self.model)


def nbytes_of(model: Any) -> int:
    """Bytes of the arrays of a model; a piece of memory that two of them show counts once.

    Of a table of weights only what is in use counts: room that nobody has written to yet is no memory.
    """
    held: dict[int, int] = {}
    for piece, nbytes in _pieces(model):
        held[piece] = min(nbytes, held.get(piece, nbytes))
    return sum(held.values())


def _pieces(model: Any) -> Iterator[tuple[int, int]]:
    """Yield a number that tells pieces of memory apart, and the bytes of each."""
    if isinstance(model, np.ndarray):
        yield id(_owner(model)), _owner(model).nbytes
    elif isinstance(model, Table):
        yield id(_owner(model.values)), model.nbytes
    elif isinstance(model, tuple):
        for held in model:
            yield from _pieces(held)


def holds(model: Any, kinds: tuple[type, ...]) -> bool:
    """Tell whether a model has a part of one of these kinds."""
    return isinstance(model, kinds) or (isinstance(model, tuple) and any(holds(part, kinds) for part in model))


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two trees are of the same arrays and scalars, not only of equal ones."""
    return one is other or (type(one) is type(other) and isinstance(one, tuple) and all(map(is_same, one, other)))


def arrays_of(model: Any) -> Iterator[NDArray[Any]]:
    """Yield the arrays of a model."""
    for held in model:
        if isinstance(held, tuple):
            yield from arrays_of(held)
        elif isinstance(held, np.ndarray):
            yield held


def _owner(array: NDArray[Any]) -> NDArray[Any]:
    return _owner(array.base) if isinstance(array.base, np.ndarray) else array
