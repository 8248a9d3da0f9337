"""Assembly of rows from hashed entries: duplicates, running scales, unit length.

The scale is that of :mod:`coterie._compiled.core.moments`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coterie._compiled.core.arithmetic import to_unit_length
from coterie._compiled.core.generic import compiled, no_refcount
from coterie._compiled.core.moments import z_score

if TYPE_CHECKING:
    pass


@no_refcount
def standardise(values, present, moments, j, update, out):
    """Standardise a column by the moments in row j. If ``update``, they first include each value."""
    for i in range(len(values)):
        out[i] = z_score(values[i], moments, j, update) if present[i] else 0.0


@no_refcount
def place_column(counts, indices, values, cursor, out_indices, out_values):
    """Append the entries of a column to sparse rows: ``counts[i]`` entries for row i.

    ``cursor`` are the current ends of the rows.
    """
    at = 0
    for row in range(len(counts)):
        for _ in range(counts[row]):
            out_indices[cursor[row]] = indices[at]
            out_values[cursor[row]] = values[at]
            cursor[row] += 1
            at += 1


@no_refcount
def _find_or_add(table, size, first, at, indices, key):
    """Return the position of a column in ``indices[first:at]``, or `at` if it is new, by a hash table of positions."""
    cell = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & (size - 1)
    while True:
        position = int(table[np.uint64(cell)])
        if position < first or position >= at:
            table[np.uint64(cell)] = at
            return at
        if indices[np.uint64(position)] == key:
            return position
        cell = (cell + 1) & (size - 1)


#: Cells that a core's first cache holds.
_CLOSE = 4096


@no_refcount
def _size(entries):
    """Return the size of a hash table for this many columns: eight cells per column, or two for long rows."""
    size = 8
    while size < 2 * entries or size < min(8 * entries, _CLOSE):
        size *= 2
    return size


@compiled
def merge_repeats(indptr, indices, values):
    """Sum duplicate entries of each row in place, in order of first appearance, and drop zeros.

    Returns the number of remaining entries; O(entries).
    """
    longest = 0
    for row in range(len(indptr) - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    table = np.full(_size(longest), -1, dtype=np.int64)
    at, start = 0, indptr[0]
    indptr[0] = 0
    for row in range(len(indptr) - 1):
        stop = indptr[row + 1]
        first, size = at, _size(stop - start)
        for i in range(start, stop):
            key, value = indices[np.uint64(i)], values[np.uint64(i)]
            # zeros are dropped before they take a cell
            if value == 0.0:
                continue
            position = _find_or_add(table, size, first, at, indices, key)
            if position == at:
                indices[np.uint64(at)], values[np.uint64(at)] = key, value
                at += 1
            else:
                values[np.uint64(position)] += value
        start = stop
        indptr[row + 1] = at
    return at


@no_refcount
def unit_rows(indptr, values):
    """Divide each row by its Euclidean norm in place; zero rows are unchanged."""
    for row in range(len(indptr) - 1):
        to_unit_length(values, indptr[row], indptr[row + 1])
