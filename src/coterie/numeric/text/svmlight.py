"""Rows of svmlight text: ``[label] [qid:task] index:value ... [# comment]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coterie.numeric.core.fields import (
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
    most_words,
    skip_blanks,
    usable,
    whole_number,
)
from coterie.numeric.core.generic import no_refcount

from .numbers import parse_number, scan_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_QUERY = -1


class SvmlightRows(NamedTuple):
    """Parsed rows: CSR entries, the label and task of each row, and its fault if there is one.

    ``label`` is NaN and ``query`` is `NO_QUERY` where the row has none; ``fault`` is a code of `fields`, and the words
    at fault are ``data[token[row, 0]:token[row, 1]]``. A faulty row has no entries.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    label: NDArray[np.float64]
    query: NDArray[np.int64]
    fault: NDArray[np.int8]
    token: NDArray[np.int64]


@no_refcount
def _word_end(data: NDArray[np.uint8], i: int, stop: int) -> int:
    while i < stop and not is_blank(data[i]):
        i += 1
    return i


@no_refcount
def _scan_index(data: NDArray[np.uint8], i: int, stop: int) -> tuple[int, int]:
    """Read the whole number that begins at `i`: its value (held below 10^18) and its end."""
    value = 0
    while i < stop and 48 <= data[i] <= 57:
        value = min(value * 10 + (data[i] - 48), 10**17)
        i += 1
    return value, i


@no_refcount
def _read_query(data: NDArray[np.uint8], i: int, stop: int, row: int, query: NDArray[np.int64]) -> tuple[int, int]:
    """Read ``qid:task``; return its code and its end."""
    end = _word_end(data, i, stop)
    if query[row] != NO_QUERY:
        return SECOND_QUERY, end
    query[row] = whole_number(data, i + 4, end)
    return GOOD if query[row] >= 0 else NOT_A_QUERY, end


@no_refcount
def _read_entry(data: NDArray[np.uint8], i: int, stop: int, d: int) -> tuple[int, int, int, float]:
    """Read ``index:value``; return its code, its end, and the two."""
    index, colon = _scan_index(data, i, stop)
    if colon == stop or data[colon] != 58:
        end = _word_end(data, i, stop)
        return NO_COLON if find(data, i, end, 58) == end else NOT_AN_INDEX, end, 0, 0.0
    value, end = scan_number(data, colon + 1, stop)
    if colon == i:
        return NOT_AN_INDEX, end, 0, 0.0
    if index >= d:
        return INDEX_TOO_LARGE, end, 0, 0.0
    well_formed = usable(value) and (end == stop or is_blank(data[end]))
    return GOOD if well_formed else NOT_A_NUMBER, end, index, value


@no_refcount
def _read_row(
    data: NDArray[np.uint8], start: int, stop: int, d: int, row: int, at: int, out: SvmlightRows
) -> tuple[int, int, int, int]:
    """Parse one row; return its code, the end of its entries, and the word at which it stopped."""
    indices, values = out.indices, out.values
    stop = find(data, start, stop, 35)
    i = skip_blanks(data, start, stop)
    if i == stop:
        return BLANK, at, i, i
    end = _word_end(data, i, stop)
    if find(data, i, end, 58) == end:
        out.label[row] = parse_number(data, i, end)
        if not usable(out.label[row]):
            return NOT_A_LABEL, at, i, end
        i = skip_blanks(data, end, stop)
    while i < stop:
        if data[i] == 113 and i + 4 <= stop and data[i + 1] == 105 and data[i + 2] == 100 and data[i + 3] == 58:
            code, end = _read_query(data, i, stop, row, out.query)
        else:
            code, end, indices[at], values[at] = _read_entry(data, i, stop, d)
            at += 1
        if code != GOOD:
            return code, at, i, _word_end(data, end, stop)
        i = skip_blanks(data, end, stop)
    return GOOD, at, i, i


@no_refcount
def _read_rows(
    data: NDArray[np.uint8], start: NDArray[np.int64], stop: NDArray[np.int64], d: int, out: SvmlightRows
) -> None:
    out.indptr[0] = 0
    for row in range(len(start)):
        out.label[row] = np.nan
        out.query[row] = NO_QUERY
        first = out.indptr[row]
        code, at, out.token[row, 0], out.token[row, 1] = _read_row(data, start[row], stop[row], d, row, first, out)
        out.fault[row] = code
        out.indptr[row + 1] = at if code == GOOD else first


def parse_svmlight(data: NDArray[np.uint8], start: NDArray[np.int64], stop: NDArray[np.int64], d: int) -> SvmlightRows:
    """Parse the rows ``data[start[i]:stop[i]]``; O(bytes).

    Indices may come in any order and more than once (each an entry of its own); those of `d` and more are a fault.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.numeric.core.hashing import as_bytes
    >>> line = as_bytes(b"1 qid:3 5:0.5 2:1 # a comment")
    >>> rows = parse_svmlight(line, np.array([0]), np.array([len(line)]), d=8)
    >>> rows.label.tolist(), rows.query.tolist(), rows.indices[:2].tolist(), rows.values[:2].tolist()
    ([1.0], [3], [5, 2], [0.5, 1.0])
    """
    n, entries = len(start), most_words(start, stop)
    out = SvmlightRows(
        indptr=np.empty(n + 1, np.int64),
        indices=np.empty(entries, np.int32),
        values=np.empty(entries, np.float64),
        label=np.empty(n, np.float64),
        query=np.empty(n, np.int64),
        fault=np.empty(n, np.int8),
        token=np.empty((n, 2), np.int64),
    )
    _read_rows(data, start, stop, d, out)
    return out
