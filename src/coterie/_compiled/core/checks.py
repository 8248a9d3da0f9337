"""Validation of a model's arrays before compiled code reads them.

Compiled code does not check bounds. The arrays of a trained model are consistent; those of a file may be anything.
Therefore every kind of model has a method ``check``, which uses these functions to reject arrays with which compiled
code would access memory out of bounds, or not terminate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Clocks and counts stay below this, so that a stream of any length can follow without an overflow.
MOST_ROUNDS = 2**62

#: Columns are numbered in 31 bits; those of the second half are free for features that no record had.
MOST_FEATURES = 2**30


class Bounds(NamedTuple):
    """Upper bounds of the indices in the arrays of a saved model: numbers of tasks, groups, features and rounds.

    ``paths`` has the groups of each task, one column per level, and no columns for tasks without groups.
    """

    tasks: int
    groups: int
    features: int
    rounds: int
    paths: NDArray[np.int64] = np.zeros((0, 0), np.int64)


def require(fits: Any, what: str) -> None:
    """Raise ValueError with this message unless ``fits`` is True.

    Raises
    ------
    ValueError
        Unless ``fits``.
    """
    if not fits:
        raise ValueError(what)


def require_shape(name: str, array: NDArray[Any], *shape: int | None) -> None:
    """Raise ValueError for an array of another shape; None stands for any length."""
    fits = array.ndim == len(shape) and all(want in (None, have) for have, want in zip(array.shape, shape, strict=True))
    require(fits, f"{name} has shape {array.shape}, expected {tuple('any' if n is None else n for n in shape)}")


def require_rows(name: str, array: NDArray[Any], least: int) -> None:
    """Raise ValueError for an array with fewer than ``least`` rows."""
    require(len(array) >= least, f"{name} has room for {len(array)}, and there are {least}")


def require_within(name: str, array: NDArray[Any], low: float, high: float) -> None:
    """Raise ValueError for an array with NaN or a number outside [``low``, ``high``]."""
    fits = not array.size or (array.min() >= low and array.max() <= high)
    require(fits, f"{name} holds numbers outside {low} to {high}")


def require_finite(name: str, array: NDArray[Any]) -> None:
    """Raise ValueError for an array with infinity or NaN."""
    require(np.isfinite(array).all(), f"{name} holds numbers that are not finite")


def require_counts(name: str, array: NDArray[Any], length: int) -> None:
    """Raise ValueError for an array of another length, or with negative or too large counts."""
    require_shape(name, array, length)
    require_within(name, array, 0, MOST_ROUNDS)


def require_rate(name: str, number: float, least: float = 0.0, most: float = np.inf) -> None:
    """Raise ValueError unless a number is finite, above ``least``, and at most ``most``.

    ``name`` is for the message.
    """
    require(np.isfinite(number) and least < number <= most, f"{name} is {number!r}")
