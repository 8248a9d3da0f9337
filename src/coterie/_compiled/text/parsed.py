"""Parsed rows of a text format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coterie._compiled.core.text_fields import byte, is_blank

if TYPE_CHECKING:
    from numpy.typing import NDArray

from coterie._compiled.core.generic import no_refcount


class ParsedRows(NamedTuple):
    """Parsed rows of text: sparse entries, and the label, importance weight, task and error code of each row.

    ``label`` is NaN where a row has none, ``importance`` 1. ``fault`` is a code of `fields`, and the words at fault are
    ``data[token[row, 0]:token[row, 1]]``. A faulty row has no entries. What ``task`` holds depends on the format.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    label: NDArray[np.float64]
    importance: NDArray[np.float64]
    task: NDArray[np.int64]
    fault: NDArray[np.int8]
    token: NDArray[np.int64]

    @classmethod
    def with_room(cls, start: NDArray[np.int64], stop: NDArray[np.int64], no_task: int) -> ParsedRows:
        """Allocate the arrays for rows of these byte ranges; each entry needs at least two bytes."""
        n = len(start)
        entries = (int(stop[-1] - start[0]) + 1) // 2 + n if n else 0
        return cls(
            np.zeros(n + 1, np.int64),
            np.empty(entries, np.int32),
            np.empty(entries),
            np.full(n, np.nan),
            np.ones(n),
            np.full((n, 2), no_task),
            np.empty(n, np.int8),
            np.empty((n, 2), np.int64),
        )


@no_refcount
def word_end(data, i, stop):
    """Return the end of the word at `i`, i.e. the position of the next blank."""
    while i < stop and not is_blank(byte(data, i)):
        i += 1
    return i
