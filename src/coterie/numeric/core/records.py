"""Records as they enter compiled code: dense rows or compressed sparse rows.

Everything else reads a record through the four functions here, so dense and sparse input differ nowhere else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .generic import compiled, generic_no_refcount, no_refcount, when


class Dense(NamedTuple):
    """Records as the rows of an (n, d) array."""

    values: Any

    @property
    def dense(self) -> bool:
        """True: every feature of every record is stored."""
        return True

    @property
    def n_records(self) -> int:
        """The number of records."""
        return len(self.values)

    def take(self, places: NDArray[np.int64]) -> Dense:
        """Copy the records at these places, in this order."""
        return Dense(self.values[places])

    def cut(self, first: int, last: int) -> Dense:
        """The records ``first`` to ``last`` (not included), nothing copied."""
        return Dense(self.values[first:last])

    def squares(self) -> NDArray[np.float64]:
        """The squared norm of every record."""
        return np.asarray(np.einsum("td,td->t", self.values, self.values, dtype=np.float64))

    def non_zeros(self) -> NDArray[np.int64]:
        """The number of entries other than zero of every record."""
        return np.asarray(np.count_nonzero(self.values, axis=1))

    def to_matrix(self, features: int) -> NDArray[np.floating[Any]]:
        """The array itself, whatever the width of the space."""
        return np.asarray(self.values)

    def to_dense(self, features: int, dtype: DTypeLike) -> Dense:
        """The records with zeros for the features that they lack of so many; they keep their type and their width."""
        missing = features - self.values.shape[1]
        return Dense(np.pad(self.values, ((0, 0), (0, missing)))) if missing > 0 else self

    def to_csr(self, dtype: DTypeLike) -> Csr:
        """The non-zero entries as compressed sparse rows."""
        from scipy.sparse import csr_array

        found = csr_array(self.values)
        return Csr(found.data.astype(dtype), found.indices.astype(np.int32), found.indptr.astype(np.int64))


class Csr(NamedTuple):
    """Records as compressed sparse rows; a feature may stand twice in one, its values then add up."""

    values: Any
    features: Any
    starts: Any

    @property
    def dense(self) -> bool:
        """False: only the entries that a record has are stored."""
        return False

    @property
    def n_records(self) -> int:
        """The number of records."""
        return len(self.starts) - 1

    @property
    def width(self) -> int:
        """The largest feature of any record, plus one: O(entries)."""
        return int(self.features[self.starts[0] : self.starts[-1]].max(initial=-1)) + 1

    def take(self, places: NDArray[np.int64]) -> Csr:
        """Copy the records at these places, in this order."""
        lengths = np.diff(self.starts)[places]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.repeat(self.starts[places] - starts[:-1], lengths) + np.arange(starts[-1])
        return Csr(self.values[entries], self.features[entries], starts)

    def cut(self, first: int, last: int) -> Csr:
        """The records ``first`` to ``last`` (not included), nothing copied."""
        return self._replace(starts=self.starts[first : last + 1])

    def trimmed(self) -> Csr:
        """The records without entries before the first or behind the last."""
        first, last = int(self.starts[0]), int(self.starts[-1])
        return Csr(self.values[first:last], self.features[first:last], self.starts - first)

    def squares(self) -> NDArray[np.float64]:
        """The squared norm of every record, the entries of a repeated feature taken apart."""
        squares = np.zeros(self.n_records)
        _squares(self.values, self.starts, squares)
        return squares

    def non_zeros(self) -> NDArray[np.int64]:
        """The number of entries other than zero of every record."""
        counts = np.add.reduceat(np.append(self.values != 0, 0), self.starts[:-1])
        return np.asarray(counts * (np.diff(self.starts) > 0))

    def to_matrix(self, features: int) -> Any:
        """The records as a CSR matrix of scipy's, in a space of so many features."""
        from scipy.sparse import csr_array

        return csr_array(tuple(self.trimmed()), shape=(self.n_records, features))

    def to_dense(self, features: int, dtype: DTypeLike) -> Dense:
        """The records as rows of an array with so many columns; entries of a repeated feature add up."""
        rows, held = np.zeros((self.n_records, features), dtype), self.trimmed()
        owners = np.repeat(np.arange(len(rows)), np.diff(self.starts))
        np.add.at(rows, (owners, held.features), held.values)
        return Dense(rows)

    def to_csr(self, dtype: DTypeLike) -> Csr:
        """The records as they are, their type too."""
        return self


Rows = Dense | Csr

#: The largest weight of a record: squares of its gradients stay finite in single precision, too.
LARGEST_WEIGHT = 1e6


class _WeightedDenseFields(NamedTuple):
    values: Any
    weights: Any


class WeightedDense(_WeightedDenseFields, Dense):  # type: ignore[misc]
    """Records as the rows of an (n, d) array, each with a weight: it counts as so many, and with 0 for nothing."""

    __slots__ = ()

    def take(self, places: NDArray[np.int64]) -> WeightedDense:
        """Copy the records at these places, in this order."""
        return WeightedDense(self.values[places], self.weights[places])

    def cut(self, first: int, last: int) -> WeightedDense:
        """The records ``first`` to ``last`` (not included), nothing copied."""
        return WeightedDense(self.values[first:last], self.weights[first:last])


class _WeightedCsrFields(NamedTuple):
    values: Any
    features: Any
    starts: Any
    weights: Any


class WeightedCsr(_WeightedCsrFields, Csr):  # type: ignore[misc]
    """Records as compressed sparse rows, each with a weight, as in :class:`WeightedDense`."""

    __slots__ = ()

    def take(self, places: NDArray[np.int64]) -> WeightedCsr:
        """Copy the records at these places, in this order."""
        return WeightedCsr(*Csr.take(self, places), self.weights[places])

    def cut(self, first: int, last: int) -> WeightedCsr:
        """The records ``first`` to ``last`` (not included), nothing copied."""
        return WeightedCsr(self.values, self.features, self.starts[first : last + 1], self.weights[first:last])


def weighted(rows: Rows, weights: NDArray[np.float64]) -> WeightedDense | WeightedCsr:
    """The records, each with a weight."""
    if isinstance(rows, Dense):
        return WeightedDense(rows.values, weights)
    return WeightedCsr(*rows[:3], weights)


def weights_of(rows: Rows) -> NDArray[np.float64]:
    """The weight of every record."""
    return rows.weights if isinstance(rows, (WeightedDense, WeightedCsr)) else np.ones(rows.n_records)


def without_weights(rows: Rows) -> Rows:
    """The records by themselves."""
    return Dense(rows.values) if isinstance(rows, Dense) else Csr(*rows[:3])


@compiled
def _squares(values: Any, starts: Any, squares: Any) -> None:
    for t in range(squares.size):
        for k in range(starts[t], starts[t + 1]):
            squares[t] += np.float64(values[k]) * values[k]


@generic_no_refcount
def begin(rows: Any, t: Any) -> Any:
    """Position of the first entry of record t."""


@generic_no_refcount
def end(rows: Any, t: Any) -> Any:
    """Position after the last entry of record t."""


@generic_no_refcount
def feature(rows: Any, t: Any, k: Any) -> Any:
    """Feature of the entry at position k of record t."""


@generic_no_refcount
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


@generic_no_refcount
def weight(rows: Any, t: Any) -> Any:
    """Weight of record t."""


when(weight, object)(lambda rows, t: 1.0)
when(weight, WeightedDense)(lambda rows, t: rows.weights[t])
when(weight, WeightedCsr)(lambda rows, t: rows.weights[t])


@no_refcount
def sqnorm(rows: Any, t: int) -> float:
    """Squared Euclidean norm of record t, the entries of a repeated feature taken apart."""
    total = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        total += value(rows, t, k) * value(rows, t, k)
    return total


def widths_of(rows: Rows) -> NDArray[np.int64]:
    """The largest feature of each record, plus one."""
    if isinstance(rows, Dense):
        return np.full(rows.n_records, rows.values.shape[1])
    widths = np.zeros(rows.n_records, np.int64)
    held = rows.features[rows.starts[0] : rows.starts[-1]].astype(np.int64) + 1
    np.maximum.at(widths, np.repeat(np.arange(len(widths)), np.diff(rows.starts)), held)
    return widths
