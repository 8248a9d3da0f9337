"""Records in compiled code: dense rows or compressed sparse rows (CSR).

All other code reads records through these four functions, so that dense and sparse input differ only here.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .checks import MOST_FEATURES
from .generic import compiled, generic_no_refcount, no_refcount, when

#: The weights of records that all count once. One type of rows, weighted or not, keeps loops from being compiled twice.
UNWEIGHTED = np.zeros(0)


class Dense(NamedTuple):
    """Dense records: the rows of an (n, d) array, with sample weights (empty for weight 1)."""

    values: Any
    weights: Any = UNWEIGHTED

    @property
    def dense(self) -> bool:
        """True: records are stored as dense rows."""
        return True

    @property
    def n_records(self) -> int:
        """The number of records."""
        return len(self.values)

    def take(self, places: NDArray[np.int64]) -> Dense:
        """Copy the records at these indices."""
        return Dense(self.values[places], _weights_at(self.weights, places))

    def cut(self, first: int, last: int) -> Dense:
        """Return the records ``first`` to ``last - 1``, without a copy."""
        return Dense(self.values[first:last], self.weights[first:last])

    def squares(self) -> NDArray[np.float64]:
        """Return the squared Euclidean norm of every record."""
        return np.asarray(np.einsum("td,td->t", self.values, self.values, dtype=np.float64))

    def non_zeros(self) -> NDArray[np.int64]:
        """Return the number of non-zero entries of every record."""
        return np.asarray(np.count_nonzero(self.values, axis=1))

    def to_matrix(self, features: int) -> NDArray[np.floating[Any]]:
        """Return the array itself; the argument is for compatibility with :class:`Csr`."""
        return np.asarray(self.values)

    def to_dense(self, features: int) -> Dense:
        """Return the records padded with zeros to this many features; wider records are unchanged."""
        missing = features - self.values.shape[1]
        return self._replace(values=np.pad(self.values, ((0, 0), (0, missing)))) if missing > 0 else self

    def to_csr(self) -> Csr:
        """Convert the non-zero entries to CSR."""
        from scipy.sparse import csr_array

        matrix = csr_array(self.values)
        return Csr(matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int64))


class Csr(NamedTuple):
    """Sparse records in CSR form, with sample weights (empty for weight 1); duplicate entries are summed."""

    values: Any
    features: Any
    starts: Any
    weights: Any = UNWEIGHTED

    @property
    def dense(self) -> bool:
        """False: records are stored as sparse rows."""
        return False

    @property
    def n_records(self) -> int:
        """The number of records."""
        return len(self.starts) - 1

    @property
    def width(self) -> int:
        """The largest column index plus one: O(entries)."""
        return int(self.features[self.starts[0] : self.starts[-1]].max(initial=-1)) + 1

    def take(self, places: NDArray[np.int64]) -> Csr:
        """Copy the records at these indices."""
        lengths = np.diff(self.starts)[places]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        # the places of the entries of all chosen records, one range behind another, without a loop
        entries = np.repeat(self.starts[places] - starts[:-1], lengths) + np.arange(starts[-1])
        return Csr(self.values[entries], self.features[entries], starts, _weights_at(self.weights, places))

    def cut(self, first: int, last: int) -> Csr:
        """Return the records ``first`` to ``last - 1``, without a copy."""
        # starts keep their values: positions count from the beginning of the uncut arrays
        return self._replace(starts=self.starts[first : last + 1], weights=self.weights[first:last])

    def trimmed(self) -> Csr:
        """Return the records without entries of the arrays before the first record and after the last one."""
        first, last = int(self.starts[0]), int(self.starts[-1])
        return Csr(self.values[first:last], self.features[first:last], self.starts - first, self.weights)

    def squares(self) -> NDArray[np.float64]:
        """Return the squared norm of every record, without summing duplicate entries."""
        squares = np.zeros(self.n_records)
        _squares(self.values, self.starts, squares)
        return squares

    def non_zeros(self) -> NDArray[np.int64]:
        """Return the number of non-zero entries of every record."""
        # reduceat needs a place to begin at for a last record without entries: one zero is appended
        counts = np.add.reduceat(np.append(self.values[: self.starts[-1]] != 0, 0), self.starts[:-1])
        # reduceat gives the next entry itself for an empty range: such records count nothing
        return np.asarray(counts * (np.diff(self.starts) > 0))

    def to_matrix(self, features: int) -> Any:
        """Return the records as a SciPy CSR matrix with this many columns."""
        from scipy.sparse import csr_array

        return csr_array(tuple(self.trimmed()[:3]), shape=(self.n_records, features))

    def to_dense(self, features: int) -> Dense:
        """Convert the records to a dense array with this many columns; duplicate entries are summed."""
        rows, trimmed = np.zeros((self.n_records, features)), self.trimmed()
        owners = np.repeat(np.arange(len(rows)), np.diff(self.starts))
        # unbuffered, so that entries of a repeated feature add up
        np.add.at(rows, (owners, trimmed.features), trimmed.values)
        return Dense(rows)

    def to_csr(self) -> Csr:
        """Return the records themselves."""
        return self


Rows = Dense | Csr
R = TypeVar("R", bound=Dense | Csr)

#: The first column for features without a column in a record to predict, because no learned record had them.
UNSEEN = MOST_FEATURES


def _weights_at(weights: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    return weights[places] if weights.size else weights


#: The largest weight of a record: squares of its gradients stay finite in single precision, too.
LARGEST_WEIGHT = 1e6


def concatenated(above: Csr, below: Csr) -> Csr:
    """Concatenate records without weights."""
    one, two = above.trimmed(), below.trimmed()
    # the first start of the second part is the last end of the first
    starts = np.concatenate([one.starts, len(one.values) + two.starts[1:]])
    return Csr(np.concatenate([one.values, two.values]), np.concatenate([one.features, two.features]), starts)


def with_weights(rows: Rows, weights: NDArray[np.float64]) -> Rows:
    """Return the records with sample weights."""
    return rows._replace(weights=weights)


def weights_of(rows: Rows) -> NDArray[np.float64]:
    """Return the sample weight of every record."""
    return rows.weights if rows.weights.size else np.ones(rows.n_records)


def split_unseen(rows: R, features: int) -> tuple[R, NDArray[np.float64]]:
    """Return the first ``features`` columns of records, and the squared norm of their other columns."""
    if isinstance(rows, Dense):
        known, unseen = np.hsplit(rows.values, [features])
        dense = rows._replace(values=np.ascontiguousarray(known)) if unseen.size else rows
        return dense, np.einsum("td,td->t", unseen, unseen)
    if rows.width <= features:
        return rows, np.zeros(rows.n_records)
    csr = rows.trimmed()
    seen, owners = csr.features < features, np.repeat(np.arange(csr.n_records), np.diff(csr.starts))
    starts, squares = np.append(0, np.cumsum(seen))[csr.starts], np.where(seen, 0.0, csr.values) ** 2
    sparse = rows._replace(values=csr.values[seen], features=csr.features[seen], starts=starts)
    return sparse, np.asarray(np.bincount(owners, squares, csr.n_records), np.float64)


def place_unseen(rows: R, features: int) -> R:
    """Give features without a column (numbers from ``UNSEEN`` on) the columns from ``features`` on."""
    if not isinstance(rows, Csr) or rows.width <= UNSEEN:
        return rows
    columns = np.where(rows.features < UNSEEN, rows.features, features + rows.features - UNSEEN)
    return rows._replace(features=columns.astype(np.int32))


@compiled
def _squares(values, starts, squares):
    for t in range(squares.size):
        for k in range(starts[t], starts[t + 1]):
            # in double precision, also where values are float32
            squares[t] += np.float64(values[k]) * values[k]


@generic_no_refcount
def begin(rows, t):
    """Return the position of the first stored entry of record t."""


@generic_no_refcount
def end(rows, t):
    """Return the position after the last stored entry of record t."""


@generic_no_refcount
def feature(rows, t, k):
    """Return the column of the entry at position k of record t."""


@generic_no_refcount
def value(rows, t, k):
    """Return the value of the entry at position k of record t."""


when(begin, Dense)(lambda rows, t: 0)
when(end, Dense)(lambda rows, t: rows.values.shape[1])
when(feature, Dense)(lambda rows, t, k: k)
when(value, Dense)(lambda rows, t, k: rows.values[t, k])

when(begin, Csr)(lambda rows, t: rows.starts[t])
when(end, Csr)(lambda rows, t: rows.starts[t + 1])
# unsigned positions spare numba's test for negative indices
when(feature, Csr)(lambda rows, t, k: rows.features[np.uint64(k)])
when(value, Csr)(lambda rows, t, k: rows.values[np.uint64(k)])


@generic_no_refcount
def weight(rows, t):
    """Return the weight of record t."""


when(weight, object)(lambda rows, t: 1.0)
for _kind in (Dense, Csr):
    when(weight, _kind)(lambda rows, t: rows.weights[t] if rows.weights.size > 0 else 1.0)


@no_refcount
def sqnorm(rows, t):
    """Return the squared Euclidean norm of record t, without summing duplicate entries."""
    total = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        total += value(rows, t, k) * value(rows, t, k)
    return total


def widths_of(rows: Rows, known: int = 0) -> NDArray[np.int64]:
    """Return the number of features of each record: its largest column index plus one, or at least ``known``."""
    if isinstance(rows, Dense):
        new = rows.values[:, known:] != 0
        return np.asarray(known + np.max(new * np.arange(1, new.shape[1] + 1), axis=1, initial=0))
    widths = np.full(rows.n_records, known)
    features = rows.features[rows.starts[0] : rows.starts[-1]].astype(np.int64) + 1
    np.maximum.at(widths, np.repeat(np.arange(len(widths)), np.diff(rows.starts)), features)
    return widths
