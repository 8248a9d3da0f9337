"""Parser of svmlight text: ``[label] [qid:task] index:value ... [# comment]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coterie._compiled.core.generic import no_refcount
from coterie._compiled.core.text_fields import (
    BLANK,
    GOOD,
    INDEX_TOO_LARGE,
    NO_COLON,
    NOT_A_LABEL,
    NOT_A_NUMBER,
    NOT_A_QUERY,
    NOT_AN_INDEX,
    SECOND_QUERY,
    find,
    is_blank,
    skip_blanks,
    usable,
    whole_number,
)

from .numbers import parse_number, scan_number
from .parsed import ParsedRows, word_end

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_QUERY = -1


@no_refcount
def _scan_index(data, i, stop):
    """Parse the integer at position `i`: return its value (clipped below 10^18) and its end."""
    value = 0
    while i < stop and 48 <= data[i] <= 57:
        # saturates instead of wrapping: any index that large is too large anyway
        value = min(value * 10 + (data[i] - 48), 10**17)
        i += 1
    return value, i


@no_refcount
def _read_query(data, i, stop, row, task):
    """Parse the word ``qid:task`` at position `i`; return an error code, and the position after it."""
    end = word_end(data, i, stop)
    if task[row, 0] != NO_QUERY:
        return SECOND_QUERY, end
    task[row, 0] = whole_number(data, i + 4, end)
    return GOOD if task[row, 0] >= 0 else NOT_A_QUERY, end


@no_refcount
def _read_entry(data, i, stop, d):
    """Parse the word ``index:value`` at position `i`; return an error code, its end, the index and the value."""
    index, colon = _scan_index(data, i, stop)
    # no colon follows the digits: the word is without one, or its index is not a whole number
    if colon == stop or data[colon] != 58:
        end = word_end(data, i, stop)
        return NO_COLON if find(data, i, end, 58) == end else NOT_AN_INDEX, end, 0, 0.0
    value, end = scan_number(data, colon + 1, stop)
    if colon == i:
        return NOT_AN_INDEX, end, 0, 0.0
    if index >= d:
        return INDEX_TOO_LARGE, end, 0, 0.0
    well_formed = usable(value) and (end == stop or is_blank(data[end]))
    return GOOD if well_formed else NOT_A_NUMBER, end, index, value


@no_refcount
def _read_row(data, start, stop, d, row, at, out):
    """Parse one row with d columns; return an error code, the end of its entries, and the place of an invalid word."""
    indices, values = out.indices, out.values
    stop = find(data, start, stop, 35)
    i = skip_blanks(data, start, stop)
    if i == stop:
        return BLANK, at, i, i
    end = word_end(data, i, stop)
    # a first word with a colon is an entry: the label is optional
    if find(data, i, end, 58) == end:
        out.label[row] = parse_number(data, i, end)
        if not usable(out.label[row]):
            return NOT_A_LABEL, at, i, end
        i = skip_blanks(data, end, stop)
    while i < stop:
        if data[i] == 113 and i + 4 <= stop and data[i + 1] == 105 and data[i + 2] == 100 and data[i + 3] == 58:
            code, end = _read_query(data, i, stop, row, out.task)
        else:
            code, end, indices[at], values[at] = _read_entry(data, i, stop, d)
            at += 1
        if code != GOOD:
            return code, at, i, word_end(data, end, stop)
        i = skip_blanks(data, end, stop)
    return GOOD, at, i, i


@no_refcount
def _read_rows(data, start, stop, d, out):
    for row in range(len(start)):
        first = out.indptr[row]
        code, at, out.token[row, 0], out.token[row, 1] = _read_row(data, start[row], stop[row], d, row, first, out)
        out.fault[row] = code
        # a faulty row leaves no entries, so the rows behind it are not affected
        out.indptr[row + 1] = at if code == GOOD else first


def parse_svmlight(data: NDArray[np.uint8], start: NDArray[np.int64], stop: NDArray[np.int64], d: int) -> ParsedRows:
    """Parse the rows ``data[start[i]:stop[i]]``; O(bytes).

    Indices may come in any order and more than once (each an entry of its own); those of `d` and more are a fault. The
    task of a row is ``task[row, 0]``, `NO_QUERY` if it has none.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie._compiled.core.hashing import as_bytes
    >>> line = as_bytes(b"1 qid:3 5:0.5 2:1 # a comment")
    >>> rows = parse_svmlight(line, np.array([0]), np.array([len(line)]), d=8)
    >>> rows.label.tolist(), rows.task[:, 0].tolist(), rows.indices[:2].tolist(), rows.values[:2].tolist()
    ([1.0], [3], [5, 2], [0.5, 1.0])
    """
    out = ParsedRows.with_room(start, stop, NO_QUERY)
    _read_rows(data, start, stop, d, out)
    return out
