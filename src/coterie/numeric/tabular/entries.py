"""Records in one form, whatever form they came in: entries other than zero, each feature once, in ascending order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.checks import require, require_finite, require_shape, require_within
from coterie.numeric.core.generic import compiled
from coterie.numeric.core.records import Csr, Rows, begin, end, feature, value


def sorted_entries(rows: Rows) -> Csr:
    """Copy records, dense or sparse, as rows of ascending features without zeros; entries of a repeated one add up."""
    n = rows.n_records
    places = rows.values.size if rows.dense else int(rows.starts[-1] - rows.starts[0])  # type: ignore[union-attr]
    made = Csr(np.empty(places), np.empty(places, np.int32), np.zeros(n + 1, np.int64))
    _sort(rows, n, *made)
    return Csr(made.values[: made.starts[-1]], made.features[: made.starts[-1]], made.starts)


@compiled
def _sort(rows: Any, n: Any, values: Any, features: Any, starts: Any) -> None:
    at = 0
    for t in range(n):
        first = at
        ascending = True
        for k in range(begin(rows, t), end(rows, t)):
            if at > first and feature(rows, t, k) <= features[at - 1]:
                ascending = False
            values[at] = value(rows, t, k)
            features[at] = feature(rows, t, k)
            at += 1
        if not ascending:
            order = np.argsort(features[first:at], kind="mergesort")
            features[first:at] = features[first:at][order]
            values[first:at] = values[first:at][order]
        kept = first
        k = first
        while k < at:
            j = features[k]
            total = values[k]
            k += 1
            while k < at and features[k] == j:
                total += values[k]
                k += 1
            if total != 0.0:
                features[kept] = j
                values[kept] = total
                kept += 1
        at = kept
        starts[t + 1] = at


def joined(one: Csr, other: Csr) -> Csr:
    """The records of both, one after the other; of records that begin at their first entry."""
    starts = np.append(one.starts, one.starts[-1] + other.starts[1:])
    return Csr(np.append(one.values, other.values), np.append(one.features, other.features), starts)


def no_records() -> Csr:
    """Rows of no record."""
    return Csr(np.zeros(0), np.zeros(0, np.int32), np.zeros(1, np.int64))


def check_entries(name: str, rows: Csr, n: int, features: int) -> None:
    """Refuse what are no ``n`` records as :func:`sorted_entries` gives them, of so many features: ValueError."""
    entries = len(rows.values)
    require_shape(f"features of {name}", rows.features, entries)
    require_shape(f"starts of {name}", rows.starts, n + 1)
    fits = rows.starts[0] == 0 and rows.starts[-1] == entries and (np.diff(rows.starts) >= 0).all()
    require(fits, f"{name} do not begin and end where their entries do")
    require_within(f"features of {name}", rows.features, 0, features - 1)
    require_finite(name, rows.values)
    climbs = np.diff(rows.features.astype(np.int64)) > 0
    inner = np.ones(max(entries - 1, 0), bool)
    inner[_between(rows.starts, entries)] = False
    require((climbs | ~inner).all(), f"features of {name} are not in ascending order")


def _between(starts: NDArray[np.int64], entries: int) -> NDArray[np.int64]:
    """Of neighbouring entries the places where a record ends."""
    ends = starts[1:-1]
    return np.asarray(ends[(ends > 0) & (ends < entries)] - 1)
