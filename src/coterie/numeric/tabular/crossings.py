"""Columns of a table as tokens, and pairs of them, by bins that the first records of a stream settle for good.

A feature's values in those records settle its bins: the one or two values that there are, or eight quantiles. A value
is the token (feature, bin), unless the bin is *quiet*: the only one, the commoner one of two, or zero where most values
are. A record becomes the indicator of its tokens and of all pairs of them, hashed to ``2**BITS`` columns, at unit
length. Where records are of more than ``MOST_TOKENS`` tokens on average, as texts are, nothing is crossed.

Rows of unit length with a constant among their features are taken as they were before they were scaled.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.checks import (
    require,
    require_shape,
    require_within,
)
from coterie.numeric.core.generic import compiled, no_refcount
from coterie.numeric.core.hashing import mix
from coterie.numeric.core.records import Csr

#: Columns that tokens and pairs are hashed to, as a power of two.
BITS = 18

#: Bins of a feature of many values; their edges are one fewer.
BINS = 8

#: Of a record so many tokens are crossed at most; if the first ones have more on average, none are.
MOST_TOKENS = 30

#: The quiet bin where all bins speak, and where zero does not, which then is in none.
NO_BIN, ZERO = -1, BINS

#: The bin of any value other than zero of a feature that none of the first records had.
UNKNOWN = BINS + 1

_MASK = np.uint64((1 << BITS) - 1)
_STRIDE, _TURN = np.uint64(16), np.uint64(0x9E3779B97F4A7C15)

#: 2**33 + 1: what is left of a float times this, less itself, are its first 20 bits.
_SPLITTER = 8589934593.0

#: Rows whose squared norms are so near to one are of unit length, in single precision too.
_NEAR = 1e-4


class Crossing(NamedTuple):
    """Bins of features: ``features`` (m,) ascending, ``edges`` (m, BINS - 1) ascending, infinite behind the last.

    A value is in the bin of as many edges as are below it; ``quiet`` (m,) is the bin that says nothing. ``constant[0]``
    is the feature by whose value all are divided, -1 for none, and ``on[0]`` is 0 where nothing is crossed.
    """

    features: Any
    edges: Any
    quiet: Any
    constant: Any
    on: Any

    def check(self, features: int) -> None:
        """Refuse bins of no such features: ValueError."""
        m = len(self.features)
        require_within("features crossed", self.features, 0, features - 1)
        require((np.diff(self.features.astype(np.int64)) > 0).all(), "features crossed are not in ascending order")
        require_shape("edges of bins", self.edges, m, BINS - 1)
        require(not np.isnan(self.edges).any(), "edges of bins hold what is no number")
        require((self.edges[:, 1:] >= self.edges[:, :-1]).all(), "edges of bins are not in ascending order")
        require_shape("quiet bins", self.quiet, m)
        require_within("quiet bins", self.quiet, NO_BIN, ZERO)
        require_shape("the constant feature", self.constant, 1)
        require_within("the constant feature", self.constant, -1, features - 1)
        require_shape("whether features are crossed", self.on, 1)
        require_within("whether features are crossed", self.on, 0, 1)


def no_crossing() -> Crossing:
    """The crossing without features, which is off."""
    edges = np.zeros((0, BINS - 1))
    return Crossing(np.zeros(0, np.int32), edges, np.zeros(0, np.int8), np.full(1, -1), np.zeros(1, np.int8))


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers to twenty bits: scaled to unit length and back they are what they were, to the last bit."""
    c = values * _SPLITTER
    return np.asarray(c - (c - values))


def constant_of(rows: Csr) -> int:
    """The feature that is the constant 1 in rows that were scaled to unit length; -1 if they were not, or have none.

    It is positive in all rows, and after division by it features have the fewest values; of several the last.
    """
    n = rows.n_records
    squares = rows.squares()
    if n == 0 or (np.abs(squares[squares > 0.0] - 1.0) > _NEAR).any():
        return -1
    owners = np.repeat(np.arange(n), np.diff(rows.starts))
    seen, counts = np.unique(rows.features[rows.values > 0.0], return_counts=True)
    best, fewest = -1, len(rows.values) + 1
    for j in seen[counts == n].tolist():
        divided = rounded(rows.values / rows.values[rows.features == j][owners])
        order = np.lexsort((divided, rows.features))
        fresh = (np.diff(rows.features[order]) != 0) | (np.diff(divided[order]) != 0.0)
        if 1 + int(fresh.sum()) <= fewest:
            best, fewest = j, 1 + int(fresh.sum())
    return best


def unscaled(rows: Csr, constant: int) -> NDArray[np.float64]:
    """The values of rows divided by those of the constant feature, where a row has it, to twenty bits."""
    values = rows.values.copy()
    if constant >= 0:
        owners, own = np.repeat(np.arange(rows.n_records), np.diff(rows.starts)), np.ones(rows.n_records)
        mine = rows.features == constant
        own[owners[mine]] = rows.values[mine]
        values /= own[owners]
    return rounded(values)


def crossing_of(rows: Csr) -> Crossing:
    """The bins that these records, the first of a stream, make of their features: O(entries · log entries)."""
    n, entries = rows.n_records, len(rows.values)
    if n == 0 or entries > 4 * MOST_TOKENS * n:
        return no_crossing()
    order = np.argsort(rows.features, kind="stable")
    features, first, counts = np.unique(rows.features[order], return_index=True, return_counts=True)
    if counts[2 * counts < n].sum() > MOST_TOKENS * n:  # where most values are zero all others speak, as of a text
        return no_crossing()
    constant = constant_of(rows)
    columns = np.split(unscaled(rows, constant)[order], first[1:])[: len(features)]
    found = [_bins(column, n) for column in columns]
    edges = np.array([each for each, _ in found]).reshape(len(features), BINS - 1)
    quiet = np.array([each for _, each in found], np.int8)
    made = Crossing(features.astype(np.int32), edges, quiet, np.full(1, constant), np.ones(1, np.int8))
    return made if _mean_tokens(made, rows) <= MOST_TOKENS else no_crossing()


def _bins(values: NDArray[np.float64], n: int) -> tuple[NDArray[np.float64], int]:
    """The edges of a feature with these values other than zero among so many, and its quiet bin."""
    zeros, edges = n - len(values), np.full(BINS - 1, np.inf)
    everything = np.append(np.zeros(zeros), values)
    different, counts = np.unique(everything, return_counts=True)
    if len(different) <= 2:
        edges[0] = different[0]
        return edges, int(counts.argmax())
    spoken = values if 2 * zeros > n else everything
    chosen = np.unique(np.quantile(spoken, np.arange(1, BINS) / BINS, method="inverted_cdf"))
    edges[: len(chosen)] = chosen
    return edges, ZERO if 2 * zeros > n else NO_BIN


def _mean_tokens(crossing: Crossing, rows: Csr) -> float:
    room, total = np.zeros(MOST_TOKENS, np.uint64), 0
    for t in range(rows.n_records):
        total += _tokens(crossing, rows, t, room)
    return total / rows.n_records


def crossed(crossing: Crossing, rows: Csr) -> Csr:
    """Records as their tokens and pairs of them, 2**BITS columns wide."""
    n = rows.n_records
    starts = np.zeros(n + 1, np.int64)
    if crossing.on[0]:
        _count(crossing, rows, n, starts)
    made = Csr(np.empty(starts[-1]), np.empty(starts[-1], np.int32), starts)
    if crossing.on[0]:
        _cross(crossing, rows, n, *made)
    return made


@no_refcount
def _bin_of(crossing: Any, m: Any, x: Any) -> Any:
    """The bin of a value of the known feature at place m; ZERO for zero where this is quiet."""
    if x == 0.0 and crossing.quiet[m] == ZERO:
        return ZERO
    found = 0
    while found < crossing.edges.shape[1] and crossing.edges[m, found] < x:
        found += 1
    return found


@no_refcount
def _token(feature: Any, found: Any) -> Any:
    return mix(np.uint64(feature) * _STRIDE + np.uint64(found) + _TURN)


@compiled
def _tokens(crossing: Any, rows: Any, t: Any, tokens: Any) -> Any:
    """Write the first tokens of record t as far as there is room; return how many it has.

    Known features and entries both ascend, and are gone through side by side: one that a record lacks is zero.
    """
    scale = 1.0
    for e in range(rows.starts[t], rows.starts[t + 1]):
        if rows.features[e] == crossing.constant[0]:
            scale = rows.values[e]
    known = crossing.features.size
    e = rows.starts[t]
    m = 0
    count = 0
    while e < rows.starts[t + 1] or m < known:
        x = 0.0
        found = UNKNOWN
        if m < known and (e == rows.starts[t + 1] or crossing.features[m] < rows.features[e]):
            feature = crossing.features[m]
            found = _bin_of(crossing, m, 0.0)
        else:
            feature = rows.features[e]
            c = rows.values[e] / scale * _SPLITTER
            x = c - (c - rows.values[e] / scale)
            if m < known and crossing.features[m] == feature:
                found = _bin_of(crossing, m, x)
            e += 1
        if m < known and crossing.features[m] == feature:
            quiet = crossing.quiet[m] == found
            m += 1
        else:
            quiet = False
        if not quiet:
            if count < tokens.size:
                tokens[count] = _token(feature, found)
            count += 1
    return count


@compiled
def _count(crossing: Any, rows: Any, n: Any, starts: Any) -> None:
    tokens = np.zeros(MOST_TOKENS, np.uint64)
    for t in range(n):
        count = min(_tokens(crossing, rows, t, tokens), MOST_TOKENS)
        starts[t + 1] = starts[t] + count * (count + 1) // 2


@compiled
def _cross(crossing: Any, rows: Any, n: Any, values: Any, features: Any, starts: Any) -> None:
    tokens = np.zeros(MOST_TOKENS, np.uint64)
    for t in range(n):
        count = min(_tokens(crossing, rows, t, tokens), MOST_TOKENS)
        at = starts[t]
        for a in range(count):
            for b in range(a, count):
                token = tokens[a] if a == b else mix(tokens[a] * _STRIDE + tokens[b])
                features[at] = np.int32(token & _MASK)
                values[at] = 1.0 / math.sqrt(starts[t + 1] - starts[t])
                at += 1
