"""Inner products between records, a block at a time: by one matrix product, or by an inverted index where sparse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arithmetic import gaussian
from .generic import compiled
from .records import Csr, Dense

#: Sums that are smaller than what rounding makes of their terms are zero: so many times the sum of the terms' sizes.
ROUNDING = 1e-13


class Points(NamedTuple):
    """Records with their squared norms, and for each the round that it came in.

    ``features`` is the width of the space they lie in.
    """

    rows: Any
    squares: Any
    rounds: Any
    features: int


def points(rows: Any, rounds: NDArray[np.int64], features: int) -> Points:
    """Records with their squared norms."""
    if isinstance(rows, Dense):
        squares = np.einsum("td,td->t", rows.values, rows.values, dtype=np.float64)
    else:
        squares = np.zeros(len(rows.starts) - 1)
        _squares(rows.values, rows.starts, squares)
    return Points(rows, squares, rounds, features)


def piece(held: Points, first: int, last: int) -> Points:
    """The records ``first`` to ``last`` (not included), nothing copied."""
    rows = held.rows
    if isinstance(rows, Dense):
        rows = Dense(rows.values[first:last])
    else:
        rows = Csr(rows.values, rows.features, rows.starts[first : last + 1])
    return Points(rows, held.squares[first:last], held.rounds[first:last], held.features)


def products(X: Points, Z: Points, out: NDArray[np.float64]) -> None:
    """X · z for all pairs, shape (n, m): O(n m d) by BLAS, or the entries that records have in common."""
    if isinstance(X.rows, Dense):
        x, z = (np.asarray(each.rows.values, np.float64) for each in (X, Z))
        np.matmul(x, z.T, out=out)
    else:
        starts, places, values = inverted(Z)
        _sparse_products(X.rows.values, X.rows.features, X.rows.starts, starts, places, values, out)


def inverted(Z: Points) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Of every feature, which records have it and with which value: O(entries + features)."""
    starts = np.zeros(Z.features + 1, np.int64)
    first, last = int(Z.rows.starts[0]), int(Z.rows.starts[-1])
    places, values = np.zeros(last - first, np.int32), np.zeros(last - first)
    _invert(Z.rows.values, Z.rows.features, Z.rows.starts, starts, places, values)
    return starts, places, values


def as_matrix(held: Points) -> Any:
    """The records as an array or a CSR matrix."""
    if isinstance(held.rows, Dense):
        return held.rows.values
    from scipy.sparse import csr_array

    first, last = int(held.rows.starts[0]), int(held.rows.starts[-1])
    values, features = held.rows.values[first:last], held.rows.features[first:last]
    return csr_array((values, features, held.rows.starts - first), shape=(len(held.squares), held.features))


@compiled
def _squares(values: Any, starts: Any, squares: Any) -> None:
    for t in range(squares.size):
        for k in range(starts[t], starts[t + 1]):
            squares[t] += np.float64(values[k]) * values[k]


@compiled
def _invert(entries: Any, features: Any, rows: Any, starts: Any, places: Any, values: Any) -> None:
    for k in range(rows[0], rows[-1]):
        starts[features[k] + 1] += 1
    for j in range(starts.size - 1):
        starts[j + 1] += starts[j]
    for t in range(rows.size - 1):
        for k in range(rows[t], rows[t + 1]):
            place = starts[features[k]]
            places[place], values[place] = t, entries[k]
            starts[features[k]] = place + 1
    for j in range(starts.size - 1, 0, -1):
        starts[j] = starts[j - 1]
    starts[0] = 0


@compiled
def _sparse_products(entries: Any, features: Any, rows: Any, starts: Any, places: Any, values: Any, out: Any) -> None:
    for t in range(out.shape[0]):
        sums = out[t]
        sums[:] = 0.0
        for k in range(rows[t], rows[t + 1]):
            x = np.float64(entries[k])
            for each in range(starts[features[k]], starts[features[k] + 1]):
                sums[np.uint64(places[each])] += x * values[each]


@compiled
def gaussians(products: Any, squares: Any, others: Any, scale: Any) -> None:
    """exp(-‖x - z‖² · scale) in the place of x · z."""
    for t in range(products.shape[0]):
        row, here = products[t], squares[t]
        for j in range(others.size):
            row[j] = gaussian(scale, row[j], here, others[j])


@compiled
def divided(values: Any, lengths: Any, others: Any) -> None:
    """Values over the square roots of two lengths, in place; 0 where there is no length."""
    inverse = np.zeros(others.size)
    for j in range(others.size):
        inverse[j] = 1.0 / np.sqrt(others[j]) if others[j] > 0.0 else 0.0
    for t in range(values.shape[0]):
        here = 1.0 / np.sqrt(lengths[t]) if lengths[t] > 0.0 else 0.0
        for j in range(others.size):
            values[t, j] *= here * inverse[j]
