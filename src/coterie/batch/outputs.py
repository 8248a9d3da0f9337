"""Relations as output kernels: the matrix M = A⁻¹ among tasks, and its rows for tasks nobody has learned from."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.relations import MixedEffect

from . import memory

Matrix = NDArray[np.float64]


#: Half of each task is what all have in common; M has a diagonal of 1, so that alpha means the same for any number of
#: tasks.
DEFAULT = MixedEffect(omega=0.5)


def relation_of(relation: Any) -> Any:
    """The relation, ``MixedEffect(omega=0.5)`` where none is given.

    Raises
    ------
    TypeError
        If it is no relation.
    ValueError
        If it is one that is learned online, which has no matrix before it has seen a stream, or in batch, by
        ``MultitaskKernelRidge`` alone.
    """
    if relation is None:
        return DEFAULT
    if getattr(relation, "form", None) == "learned":
        raise ValueError(
            f"relation {relation!r} is learned online; give relation=OptimalOutputKernel(), which is learned in batch"
        )
    spec.require_part("relation", relation, "MixedEffect(omega=0.5)")
    if not hasattr(relation, "relation_matrix"):
        raise TypeError(f"relation must be one of coterie.relations, got {relation!r}")
    return relation


def fixed_relation_of(relation: Any) -> Any:
    """As :func:`relation_of`, for estimators that learn none: ValueError for one that is learned in batch."""
    if getattr(relation, "form", None) == "alternated":
        raise ValueError(f"relation {relation!r} is learned by MultitaskKernelRidge; give one that is fixed")
    return relation_of(relation)


def output_kernel(relation: Any, tasks: Sequence[Hashable]) -> Matrix:
    """M for these tasks, shape (T, T).

    Raises
    ------
    OutOfMemoryError
        If it would not fit, before it is made.
    """
    n = len(tasks)
    instead = "take fewer tasks, or a linear machine (MultitaskLinearSVR) if they are in groups"
    memory.require(3 * 8.0 * n**2, f"the output kernel of {n} x {n} tasks", instead)
    return np.ascontiguousarray(fixed_relation_of(relation).relation_matrix(list(tasks)), np.float64)


def prior_rows(relation: Any, new: Sequence[Hashable], tasks: Sequence[Hashable]) -> Matrix:
    """What tasks not learned from have of those learned from, shape (len(new), T)."""
    if not new:
        return np.zeros((0, len(tasks)))
    return np.asarray(relation_of(relation).prior_rows(list(new), list(tasks)), np.float64)
