r"""Tokenisation of texts, and hashed token counts.

A token is a longest run of word bytes: ASCII letters (lower-cased) and digits, and every byte of a non-ASCII character.
In the row of a text, token $t$ has the value $\log(1 + \text{count}(t))$ in column ``hash(name^t)``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from coterie._compiled.core.generic import compiled, no_refcount
from coterie._compiled.core.hashing import fnv1a_of, mix

from .names import collects_names, store_name

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _folded_bytes() -> NDArray[np.uint8]:
    """Return a table of 256 bytes: each byte of a token in lower case, 0 for separators."""
    folded = np.zeros(256, dtype=np.uint8)
    words = np.r_[48:58, 97:123, 128:256]
    folded[words] = words
    folded[65:91] = np.arange(97, 123)
    return folded


FOLDED = _folded_bytes()


@no_refcount
def _table_size(entries):
    """Return the size of a hash table, a power of two, that this many entries fill at most half."""
    size = 8
    while size < 2 * entries:
        size *= 2
    return size


@no_refcount
def _longest(offsets):
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@no_refcount
def _count(state, table, size, first, at, seen):
    """Return the position of a token in ``seen[first:at]``; a new one is stored at `at`. ``state`` is its hash.

    The table keeps positions; one that lies outside ``[first, at)`` was left by an earlier text and counts as empty.
    """
    cell = np.int64(state & np.uint64(size - 1))
    while True:
        position = int(table[cell])
        if position < first or position >= at:
            table[cell] = at
            seen[at] = state
            return at
        if seen[position] == state:
            return position
        cell = (cell + 1) & (size - 1)


@compiled
def hash_texts(prefix, data, offsets, mask, names, counts, indices, values):
    """Tokenise and hash a column of texts (Arrow's data and offsets), in one pass over its bytes.

    Parameters
    ----------
    prefix : uint64
        FNV-1a state after ``name^``.
    names : NameTable
        Gets the tokens, in the letters of the text.
    counts : int64, shape (n,), out
        Distinct tokens of each text.
    indices, values : shape (token_bound,), out
        The entries, text after text, in order of first appearance; equal columns of different tokens stay apart.

    Returns
    -------
    int
        Number of entries.
    """
    # one table for all texts: positions of earlier texts are recognised by their range and need no clearing
    table = np.full(_table_size(_longest(offsets) // 2 + 1), -1, dtype=np.int64)
    seen = np.empty(len(indices), dtype=np.uint64)
    at, begun = 0, 0
    for row in range(len(counts)):
        first, collecting = at, collects_names(names, row)
        size = _table_size((offsets[row + 1] - offsets[row]) // 2 + 1)
        state = prefix
        inside = False
        for i in range(offsets[row], offsets[row + 1] + 1):
            # one step beyond the end, where a separator ends the last token
            c = FOLDED[data[i]] if i < offsets[row + 1] else np.uint8(0)
            if c:
                begun = begun if inside else i
                state = fnv1a_of(state, np.uint64(c))
                inside = True
            elif inside:
                position = _count(state, table, size, first, at, seen)
                if position == at:
                    hashed = mix(state)
                    indices[at] = np.int32(hashed & mask)
                    if collecting:
                        store_name(names, hashed, mask, begun, i, 0, 0)
                    values[at] = 0.0
                    at += 1
                values[position] += 1.0
                state, inside = prefix, False
        for position in range(first, at):
            # term frequencies, log(1 + count)
            values[position] = math.log(1.0 + values[position])
        counts[row] = at - first
    return at


def token_bound(offsets: NDArray[np.int64]) -> int:
    """Return an upper bound on the number of tokens in texts of these lengths."""
    return int(offsets[-1] - offsets[0]) // 2 + len(offsets)
