"""Inner products between blocks of records: by matrix products, or by an inverted index for sparse records."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .arithmetic import gaussian
from .generic import compiled
from .records import Rows

#: Sums below this fraction of the sum of their absolute terms are rounding, and are set to zero.
ROUNDING = 1e-13


class Points(NamedTuple):
    """Records for kernels, with their squared norms and the round in which each was learned.

    ``features`` is the width of their space.
    """

    rows: Any
    squares: Any
    rounds: Any
    features: int

    def take(self, places: NDArray[np.int64]) -> Points:
        """Copy the records at these indices."""
        return Points(self.rows.take(places), self.squares[places], self.rounds[places], self.features)


@runtime_checkable
class Kernel(Protocol):
    """Interface of kernels, which fill arrays with their values for pairs of records.

    ``trusted`` is True for kernels known to be positive semidefinite, whose values are not checked.
    """

    @property
    def trusted(self) -> bool:
        """True if the kernel is known to be positive semidefinite."""

    def values(self, X: Points, Z: Points, out: NDArray[np.float64]) -> None:
        """Fill ``out``, shape (n, m), with k(x, z) of all pairs."""

    def diagonal(self, X: Points) -> NDArray[np.float64]:
        """Return k(x, x) of each record."""


@runtime_checkable
class PlainProduct(Kernel, Protocol):
    """Interface of kernels that may be the plain inner product (``plain`` is True), so that features have weights."""

    @property
    def plain(self) -> bool: ...


def points(rows: Rows, rounds: NDArray[np.int64], features: int) -> Points:
    """Convert rows to `Points`, with their squared norms; ``rounds`` are the rounds of the records."""
    return Points(rows, rows.squares(), rounds, features)


def piece(points: Points, first: int, last: int) -> Points:
    """Return the records ``first`` to ``last - 1``, without a copy."""
    return Points(points.rows.cut(first, last), points.squares[first:last], points.rounds[first:last], points.features)


def products(X: Points, Z: Points, out: NDArray[np.float64]) -> None:
    """Write the inner products of all pairs of records to ``out``, shape (n, m): O(n m d), or O(common entries)."""
    if X.rows.dense:
        x, z = (np.asarray(records.rows.values, np.float64) for records in (X, Z))
        np.matmul(x, z.T, out=out)
    else:
        starts, places, values = inverted(Z)
        _sparse_products(X.rows.values, X.rows.features, X.rows.starts, starts, places, values, out)


def inverted(Z: Points) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Return an inverted index of sparse records: for each feature the records that have it, and their values."""
    starts = np.zeros(Z.features + 1, np.int64)
    first, last = int(Z.rows.starts[0]), int(Z.rows.starts[-1])
    places, values = np.zeros(last - first, np.int32), np.zeros(last - first)
    _invert(Z.rows.values, Z.rows.features, Z.rows.starts, starts, places, values)
    return starts, places, values


def as_matrix(points: Points) -> Any:
    """Return the records as an array or a CSR matrix."""
    return points.rows.to_matrix(points.features)


@compiled
def _invert(entries, features, rows, starts, places, values):
    # a counting sort by feature: counts, then starts, then records in order
    for k in range(rows[0], rows[-1]):
        starts[features[k] + 1] += 1
    for j in range(starts.size - 1):
        starts[j + 1] += starts[j]
    for t in range(rows.size - 1):
        for k in range(rows[t], rows[t + 1]):
            place = starts[features[k]]
            places[place], values[place] = t, entries[k]
            # starts[j] moves to the end of feature j, which is the start of j + 1
            starts[features[k]] = place + 1
    # backwards, so that each start is read before it is overwritten: back by one place
    for j in range(starts.size - 1, 0, -1):
        starts[j] = starts[j - 1]
    starts[0] = 0


@compiled
def _sparse_products(entries, features, rows, starts, places, values, out):
    for t in range(out.shape[0]):
        sums = out[t]
        sums[:] = 0.0
        for k in range(rows[t], rows[t + 1]):
            # products in double precision, as in the dense branch
            x = np.float64(entries[k])
            for entry in range(starts[features[k]], starts[features[k] + 1]):
                # only records that share the feature are touched
                sums[np.uint64(places[entry])] += x * values[entry]


@compiled
def gaussians(products, squares, others, scale):
    """Replace inner products x · z by Gaussian kernel values, in place.

    ``squares`` and ``others`` are the squared norms of x and z.
    """
    for t in range(products.shape[0]):
        row, here = products[t], squares[t]
        for j in range(others.size):
            row[j] = gaussian(scale, row[j], here, others[j])


@compiled
def divided(values, lengths, others):
    """Divide kernel values by the lengths √k(x, x) and √k(z, z), in place; 0 for a length of 0."""
    inverse = np.zeros(others.size)
    for j in range(others.size):
        inverse[j] = 1.0 / np.sqrt(others[j]) if others[j] > 0.0 else 0.0
    # one root per record and one per support, not one per pair
    for t in range(values.shape[0]):
        here = 1.0 / np.sqrt(lengths[t]) if lengths[t] > 0.0 else 0.0
        for j in range(others.size):
            values[t, j] *= here * inverse[j]
