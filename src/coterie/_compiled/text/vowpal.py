"""Parser of Vowpal Wabbit text: ``[label [importance [base]]] ['tag]|namespace[:scale] feature[:value] ... |...``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coterie._compiled.core.generic import no_refcount, no_refcount_noinline
from coterie._compiled.core.hashing import FNV_OFFSET, fnv1a, fnv1a_of, mix
from coterie._compiled.core.records import LARGEST_WEIGHT
from coterie._compiled.core.text_fields import (
    BLANK,
    GOOD,
    HEADER_TOO_LONG,
    NO_BAR,
    NO_NAME,
    NO_TASK,
    NOT_A_LABEL,
    NOT_A_NUMBER,
    NOT_AN_IMPORTANCE,
    byte,
    find,
    is_blank,
    skip_blanks,
    usable,
)

from .eight_bytes import eight, name_in
from .names import NO_NAMES, NameTable, collects_names, store_name
from .numbers import parse_number, scan_number
from .parsed import ParsedRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CARET = np.uint64(94)


@no_refcount
def _ends_word(c):
    """Return True for a blank or a vertical bar."""
    return bool(is_blank(c) or c == 124)


@no_refcount
def _word_end(data, i, stop):
    """Return the end of the word at `i` (a blank or a bar), and its first colon (or the end if it has none)."""
    colon = -1
    # the first colon only: later ones belong to the value or are an error there
    while i < stop and not _ends_word(byte(data, i)):
        if byte(data, i) == 58 and colon < 0:
            colon = i
        i += 1
    return i, colon if colon >= 0 else i


@no_refcount
def _value(data, colon, end):
    """Parse the number after a word's colon; 1 if there is no colon."""
    return 1.0 if colon == end else parse_number(data, colon + 1, end)


@no_refcount
def _same(data, start, stop, name):
    same = stop - start == len(name)
    # no early exit, and no bytes are read when the lengths differ
    for i in range(len(name) if same else 0):
        same = same and data[start + i] == name[i]
    return same


@no_refcount
def _read_header(data, i, bar, row, out):
    """Parse the label, the importance and the tag of a row, which are before its first bar."""
    i = skip_blanks(data, i, bar)
    words = 0
    while i < bar:
        end, _ = _word_end(data, i, bar)
        following = skip_blanks(data, end, bar)
        # "label |" needs the blank: a word that touches the bar is a tag even without its quote
        if end == bar or (following == bar and data[i] == 39):
            return GOOD, i, end
        value = parse_number(data, i, end)
        if words == 0:
            out.label[row] = value
            if not usable(value):
                return NOT_A_LABEL, i, end
        elif words == 1:
            out.importance[row] = value
            if not 0.0 <= value <= LARGEST_WEIGHT:
                return NOT_AN_IMPORTANCE, i, end
        elif words == 3 or value != 0.0:  # a base other than 0 is an offset
            return HEADER_TOO_LONG, i, end
        words += 1
        i = following
    return GOOD, i, i


@no_refcount
def _hash_name(data, i, stop, state):
    """Update a hash state with the bytes of a name; return it and the end of the name."""
    n = 8
    while n == 8 and i + 8 <= stop:
        # eight bytes at a time: the end of a name is one operation on them
        word = eight(data, i)
        n = name_in(word)
        for k in range(8):
            following = fnv1a_of(state, (word >> np.uint64(8 * k)) & np.uint64(255))
            # a select, because the number of bytes cannot be predicted
            state = following if k < n else state
        i += n
    return state, i


@no_refcount
def _hash_count(n, state):
    """Update a hash state with the decimal digits of n."""
    # digits from the first on: the order in which the name would be written
    power = 1
    while power * 10 <= n:
        power *= 10
    while power > 0:
        state = fnv1a_of(state, np.uint64(48 + n // power % 10))
        power //= 10
    return state


@no_refcount
def _spells(data, i, a, b, c):
    """Return True if the text at `i` has the letters a, b and c, in upper or lower case."""
    # capital and small letters differ in the bit of 32
    return bool((data[i] | 32) == a and (data[i + 1] | 32) == b and (data[i + 2] | 32) == c)


@no_refcount
def _is_text(data, i, end):
    """Return True if a value is text: it does not start like a number, and is neither nan nor infinity."""
    c = byte(data, i)
    if i == end or 48 <= c <= 57 or c == 43 or c == 45 or c == 46:
        return False
    if end - i == 3:  # nan and inf
        return not (_spells(data, i, 110, 97, 110) or _spells(data, i, 105, 110, 102))
    # infinity, as inf, ini and ity
    infinite = end - i == 8 and _spells(data, i, 105, 110, 102) and _spells(data, i + 3, 105, 110, 105)
    return not (infinite and _spells(data, i + 5, 105, 116, 121))


@no_refcount
def _read_feature(data, i, stop, state):
    """Parse a feature ``name[:value]``: return its hash state, its value, its end, and the end of its name."""
    begin = i
    # most of the name by words of eight bytes, the rest byte by byte
    state, i = _hash_name(data, i, stop, state)
    while i < stop:
        c = byte(data, i)
        if c == 58:
            value, end = scan_number(data, i + 1, stop)
            # a value that ends within a word is no number; text as a value is read by _read_unusual
            good = i > begin and (end == stop or _ends_word(byte(data, end)))
            return state, (value if good else np.nan), end, i
        if _ends_word(c):
            break
        state = fnv1a_of(state, np.uint64(c))
        i += 1
    return state, 1.0, i, i


@no_refcount_noinline
def _read_unusual(data, i, stop, state, scale, unnamed):
    """Parse a feature without a name, or with text as value, as `_read_feature` does; NaN for others.

    The name of a number without a name is the count ``unnamed`` of earlier ones, and ends where it begins. Text has the
    name ``name:text``, or ``0:text`` without a name, as in Vowpal Wabbit, which does not count texts.
    """
    end, colon = _word_end(data, i, stop)
    # the name; without one the text stands for feature 0 of its namespace
    if colon > i:
        state = fnv1a(state, data, i, colon)
    if _is_text(data, colon + 1, end):
        state = state if colon > i else _hash_count(0, state)
        return fnv1a(state, data, colon, end), 1.0, end, (end if colon > i else i), unnamed
    # a name with a bad number, or a lone colon: neither form
    if colon > i or end == i + 1:
        return state, np.nan, end, i, unnamed
    return _hash_count(unnamed, state), parse_number(data, i + 1, end) * scale, end, i, unnamed + 1


@no_refcount
def _read_namespace(data, i, stop, at, mask, names, collecting, out):
    """Parse the features of a namespace; return an error code, the end of entries, and the invalid word."""
    end, colon = _word_end(data, i, stop)
    space, space_end = i, colon
    prefix = fnv1a(FNV_OFFSET, data, i, colon)
    # key "namespace^feature"; the namespace without a name adds no caret
    prefix = fnv1a_of(prefix, _CARET) if colon > i else prefix
    scale = _value(data, colon, end)
    if not usable(scale):
        return NOT_A_NUMBER, at, i, end
    indices, values = out.indices, out.values
    i = skip_blanks(data, end, stop)
    # numbers without names are counted from their bar on
    unnamed = 0
    while i < stop and byte(data, i) != 124:
        state, value, end, name_end = _read_feature(data, i, stop, prefix)
        value *= scale
        # rare forms are read by a function of their own, which keeps this loop small
        if not usable(value):
            state, value, end, name_end, unnamed = _read_unusual(data, i, stop, prefix, scale, unnamed)
        if not usable(value):
            return (NO_NAME if end == i + 1 else NOT_A_NUMBER), at, i, end
        hashed = mix(state)
        if collecting and name_end > i:
            store_name(names, hashed, mask, i, name_end, space, space_end)
        indices[np.uint64(at)], values[np.uint64(at)] = np.int32(hashed & mask), value
        at += 1
        i = skip_blanks(data, end, stop)
    return GOOD, at, i, i


@no_refcount
def _read_task(data, i, stop, row, out):
    """Store the first feature of the task's namespace as task; return the position of the next bar."""
    end, _ = _word_end(data, i, stop)
    i = skip_blanks(data, end, stop)
    # the first feature of the first such namespace; others are no features of the record
    if i < stop and data[i] != 124 and out.task[row, 1] == 0:
        end, colon = _word_end(data, i, stop)
        out.task[row, 0], out.task[row, 1] = i, colon
    return find(data, i, stop, 124)


@no_refcount
def _read_row(data, start, stop, task, mask, names, row, at, out):
    """Parse one row; return an error code, the end of its entries, and the byte range of the invalid word."""
    bar = find(data, start, stop, 124)
    if skip_blanks(data, start, stop) == stop:
        return BLANK, at, start, stop
    if bar == stop:
        return NO_BAR, at, start, stop
    collecting = collects_names(names, row)
    code, first, end = _read_header(data, start, bar, row, out)
    i = bar
    while code == GOOD and i < stop:
        _, colon = _word_end(data, i + 1, stop)
        if len(task) > 0 and _same(data, i + 1, colon, task):
            i = _read_task(data, i + 1, stop, row, out)
        else:
            code, at, first, end = _read_namespace(data, i + 1, stop, at, mask, names, collecting, out)
            i = first
    # both places are equal unless a task was read
    if code == GOOD and len(task) > 0 and out.task[row, 0] == out.task[row, 1]:
        return NO_TASK, at, start, stop
    return code, at, first, end


@no_refcount
def _read_rows(data, start, stop, task, mask, names, out):
    for row in range(len(start)):
        first = out.indptr[row]
        code, at, out.token[row, 0], out.token[row, 1] = _read_row(
            data, start[row], stop[row], task, mask, names, row, first, out
        )
        out.fault[row] = code
        # a faulty row leaves no entries, so the rows behind it are not affected
        out.indptr[row + 1] = at if code == GOOD else first


def parse_vowpal(
    data: NDArray[np.uint8],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    task: NDArray[np.uint8],
    mask: np.uint64,
    names: NameTable = NO_NAMES,
) -> ParsedRows:
    """Parse the rows ``data[start[i]:stop[i]]``; O(bytes).

    A feature's key is ``namespace^feature``, or ``feature`` in the namespace without a name. A number without a name
    has its place, from 0, among those of its namespace in the row as its name; a feature whose value is text is
    ``name:text`` with the value 1, which no namespace scales. With `task` not empty, the namespace of that name holds
    the row's task and no features: ``data[task[row, 0]:task[row, 1]]``. ``names`` gets the names of features.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie._compiled.core.hashing import as_bytes, bit_mask, feature_hash
    >>> line = as_bytes(b"-1 |user u42 |word free:2 now")
    >>> rows = parse_vowpal(line, np.array([0]), np.array([len(line)]), as_bytes(b"user"), bit_mask(18))
    >>> rows.label.tolist(), line[slice(*rows.task[0])].tobytes(), rows.values[:2].tolist()
    ([-1.0], b'u42', [2.0, 1.0])
    >>> rows.indices[:2].tolist() == [feature_hash("word^free", 18), feature_hash("word^now", 18)]
    True
    """
    out = ParsedRows.with_room(start, stop, 0)
    _read_rows(data, start, stop, task, mask, names, out)
    return out


@no_refcount
def _number_words(data, place, table, first, numbers):
    """Compute :func:`number_words` with a hash table (negative cells are empty); ``numbers`` is the result."""
    count, mask = 0, np.uint64(len(table) - 1)
    for row in range(len(place)):
        start, stop = place[row, 0], place[row, 1]
        cell = mix(fnv1a(FNV_OFFSET, data, start, stop)) & mask
        # linear probing; the table is at most half full, so a free cell ends each search
        while table[cell] >= 0:
            other = first[table[cell]]
            if _same(data, start, stop, data[place[other, 0] : place[other, 1]]):
                break
            cell = (cell + np.uint64(1)) & mask
        if table[cell] < 0:
            table[cell], first[count] = count, row
            count += 1
        numbers[row] = table[cell]
    return count


def number_words(data: NDArray[np.uint8], place: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the distinct words ``data[place[i, 0]:place[i, 1]]`` in order of first appearance; O(bytes).

    Returns
    -------
    first : int64, shape (n_words,)
        Where each word is first.
    numbers : int64, shape (n,)
        Which word each is.

    Examples
    --------
    >>> from coterie._compiled.core.hashing import as_bytes
    >>> first, numbers = number_words(as_bytes(b"it fr it"), np.array([[0, 2], [3, 5], [6, 8]]))
    >>> first.tolist(), numbers.tolist()
    ([0, 1], [0, 1, 0])
    """
    n = len(place)
    # a power of two with more than twice as many cells as words
    table = np.full(2 << n.bit_length(), -1, np.int64)
    first, numbers = np.empty(n, np.int64), np.empty(n, np.int64)
    count = _number_words(data, place, table, first, numbers)
    return first[:count], numbers
