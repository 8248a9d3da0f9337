"""Detection of records and their numbers of fields in CSV text.

The rules are those of pyarrow's parser: a quote opens a quoted field only at the field's beginning; inside, two quotes
are one, and line breaks and delimiters are text; what follows the closing quote is plain. A record ends at a line feed,
a carriage return or both; empty lines are no records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coterie._compiled.core.generic import no_refcount

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FIELD_START, _PLAIN, _QUOTED, _CLOSING = range(4)
_OTHER, _DELIMITER, _QUOTE, _BREAK = range(4)

# rows are states; columns are other bytes, delimiter, quote, line break
_NEXT = np.array(
    [
        [_PLAIN, _FIELD_START, _QUOTED, _FIELD_START],
        [_PLAIN, _FIELD_START, _PLAIN, _FIELD_START],
        [_QUOTED, _QUOTED, _CLOSING, _QUOTED],
        [_PLAIN, _FIELD_START, _QUOTED, _FIELD_START],
    ],
    dtype=np.uint8,
)


class CsvRecords(NamedTuple):
    """Complete records ``data[start[i]:stop[i]]``, with the line number and the number of fields of each."""

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    fields: NDArray[np.int64]
    line: NDArray[np.int64]


@no_refcount
def _scan(data, kind, final, out):
    """Find the records of a CSV text; return their number, the bytes up to their end, and the line breaks."""
    count, begin, consumed, lines, begin_line, breaks, fields = 0, 0, 0, 0, 0, 0, 1
    state = _FIELD_START
    n = len(data)
    for i in range(n):
        k = kind[data[i]]
        if k == _BREAK:
            # the pair of carriage return and line feed is one line break
            feed_of_pair = data[i] == 10 and i > 0 and data[i - 1] == 13
            lines += not feed_of_pair
            if state != _QUOTED:
                # a carriage return at the very end may be half of a pair: wait for its line feed
                if i + 1 == n and data[i] == 13 and not final:
                    break
                # empty lines are no records
                if i > begin:
                    out.start[count], out.stop[count] = begin, i
                    out.fields[count], out.line[count] = fields, begin_line
                    count += 1
                begin, consumed, begin_line, breaks, fields = i + 1, i + 1, lines, lines, 1
        elif k == _DELIMITER and state != _QUOTED:
            fields += 1
        state = _NEXT[state, k]
    # the last record needs no line break, but an open quote is never complete
    if final and begin < n and state != _QUOTED:
        out.start[count], out.stop[count] = begin, n
        out.fields[count], out.line[count] = fields, begin_line
        count, consumed, breaks = count + 1, n, lines
    return count, consumed, breaks


def split_csv(data: NDArray[np.uint8], delimiter: str, final: bool) -> tuple[CsvRecords, int, int]:
    r"""Find the complete records of a CSV text; O(bytes).

    Parameters
    ----------
    data : uint8, shape (n,)
        The text, beginning at a record.
    delimiter : str
        One ASCII character.
    final : bool
        Whether the text ends here, so that its last record needs no line break.

    Returns
    -------
    records : CsvRecords
    taken : int
        Bytes of the text up to the end of the last complete record; what remains belongs before the next text. An open
        quote is never complete.
    breaks : int
        Line breaks among the bytes taken.

    Examples
    --------
    >>> from coterie._compiled.core.hashing import as_bytes
    >>> records, taken, breaks = split_csv(as_bytes(b'a,"b\nc"\n\n1,2\n3'), ",", final=False)
    >>> records.start.tolist(), records.fields.tolist(), records.line.tolist(), taken, breaks
    ([0, 9], [2, 2], [0, 3], 13, 4)
    """
    kind = np.full(256, _OTHER, dtype=np.uint8)
    kind[ord(delimiter)] = _DELIMITER
    kind[ord('"')] = _QUOTE
    kind[[10, 13]] = _BREAK
    bound = int(np.count_nonzero(data == 10) + np.count_nonzero(data == 13)) + 1
    out = CsvRecords(*(np.empty(bound, np.int64) for _ in range(4)))
    count, consumed, breaks = _scan(data, kind, final, out)
    return CsvRecords(*(column[:count] for column in out)), consumed, breaks
