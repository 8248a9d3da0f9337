"""A bounded table of the names of hashed features, filled while text is hashed.

A hash does not contain the feature's name, which explanations need. The table stores the first name of each column, by
its position in the text, until it is full, and flags columns with further names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie._compiled.core.generic import no_refcount
from coterie._compiled.core.hashing import FNV_OFFSET, fnv1a, mix

if TYPE_CHECKING:
    pass

#: The maximum number of names, a power of two.
MOST = 65_536

#: Names are collected from texts and rows of the first records, then of every 16th record: a lookup outside of the
#: cache takes as long as reading the word, and important names occur often.
FIRST, STRIDE = 10_000, 16


class NameTable(NamedTuple):
    """A hash table of the names of hashed features, as their hashes and their positions in the text.

    ``cells`` has the hashes in open addressing by column (the last bits of a hash), 0 if free, so that one comparison
    recognises a known name; ``shared`` is True for columns with other names, too. Both are empty if names are not
    stored. ``hashes`` has them in order of appearance, and ``place`` their positions in the text just read: start and
    end, and those of their prefix. ``counts`` has the number of names, of names without room, and of earlier records.
    """

    cells: Any
    shared: Any
    hashes: Any
    place: Any
    counts: Any


def name_table(most: int) -> NameTable:
    """Return an empty table for ``most`` names, a power of two (0: no names are stored)."""
    return NameTable(
        np.zeros(2 * most, np.uint64),
        np.zeros(2 * most, np.bool_),
        np.zeros(most, np.uint64),
        np.zeros((most, 4), np.int64),
        np.zeros(3, np.int64),
    )


#: A table that keeps no names.
NO_NAMES = name_table(0)


@no_refcount
def collects_names(table, row):
    """Return True if names are collected from the text of this row."""
    number = table.counts[2] + row
    return table.cells.size > 0 and (number < FIRST or number % STRIDE == 0)


@no_refcount
def store_name(table, hashed, mask, start, stop, prefix, prefix_stop):
    """Store the position of a name in the text, unless its column ``hashed & mask`` already has a name.

    There is nothing to prefix it where the prefix is empty.
    """
    last = np.uint64(table.cells.size - 1)
    cell = hashed & mask & last
    while table.cells[cell] != 0:
        # the same column: the name that is known, or another one that shares it
        if (table.cells[cell] ^ hashed) & mask == 0:
            if table.cells[cell] != hashed:
                table.shared[cell] = True
            return
        cell = (cell + np.uint64(1)) & last
    n = table.counts[0]
    if n == table.hashes.size:
        # a full table is no error: names help to read a model and do not change it
        table.counts[1] += 1
        return
    table.cells[cell] = table.hashes[n] = hashed
    table.place[n, 0], table.place[n, 1] = start, stop
    table.place[n, 2], table.place[n, 3] = prefix, prefix_stop
    table.counts[0] = n + 1


@no_refcount
def store_strings(state, data, offsets, mask, table):
    """Store the keys ``prefix + string_i`` of an Arrow string array, except empty strings."""
    for i in range(len(offsets) - 1):
        if offsets[i + 1] > offsets[i]:
            hashed = mix(fnv1a(state, data, offsets[i], offsets[i + 1]))
            store_name(table, hashed, mask, offsets[i], offsets[i + 1], 0, 0)


@no_refcount
def store_keys(data, ends, mask, table):
    """Store keys that follow each other in the text ``data``; they end at the positions ``ends``."""
    begin = 0
    for end in ends:
        store_name(table, mix(fnv1a(FNV_OFFSET, data, begin, end)), mask, begin, end, 0, 0)
        begin = end
