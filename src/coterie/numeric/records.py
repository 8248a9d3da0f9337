"""Records as they enter compiled code: dense rows or compressed sparse rows.

Everything else reads a record through the four functions here, so dense and sparse input differ nowhere else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .generic import generic_lent, lent, when


class Dense(NamedTuple):
    """Records as the rows of an (n, d) array."""

    values: Any


class Csr(NamedTuple):
    """Records as compressed sparse rows; a feature may stand twice in one, its values then add up."""

    values: Any
    features: Any
    starts: Any


@generic_lent
def begin(rows: Any, t: Any) -> Any:
    """Position of the first entry of record t."""


@generic_lent
def end(rows: Any, t: Any) -> Any:
    """Position after the last entry of record t."""


@generic_lent
def feature(rows: Any, t: Any, k: Any) -> Any:
    """Feature of the entry at position k of record t."""


@generic_lent
def value(rows: Any, t: Any, k: Any) -> Any:
    """Value of the entry at position k of record t."""


when(begin, Dense)(lambda rows, t: 0)
when(end, Dense)(lambda rows, t: rows.values.shape[1])
when(feature, Dense)(lambda rows, t, k: k)
when(value, Dense)(lambda rows, t, k: rows.values[t, k])

when(begin, Csr)(lambda rows, t: rows.starts[t])
when(end, Csr)(lambda rows, t: rows.starts[t + 1])
when(feature, Csr)(lambda rows, t, k: rows.features[np.uint64(k)])
when(value, Csr)(lambda rows, t, k: rows.values[np.uint64(k)])


@lent
def sqnorm(rows: Any, t: int) -> float:
    """Squared Euclidean norm of record t, the entries of a repeated feature taken apart."""
    total = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        total += value(rows, t, k) * value(rows, t, k)
    return total


def take(rows: Any, places: Any) -> Any:
    """Some of the records as records of their own."""
    if hasattr(rows, "starts"):
        lengths = np.diff(rows.starts)[places]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.repeat(rows.starts[places] - starts[:-1], lengths) + np.arange(starts[-1])
        return Csr(rows.values[entries], rows.features[entries], starts)
    return Dense(rows.values[places])


def cut(rows: Any, first: int, last: int) -> Any:
    """The records ``first`` to ``last`` (not included), nothing copied."""
    if hasattr(rows, "starts"):
        return rows._replace(starts=rows.starts[first : last + 1])
    return rows._replace(values=rows.values[first:last])
