"""Dates and times as categories: the hour, the weekday and the month.

The time since the first date is not a feature, because in a stream every new date is larger than all earlier ones, and
a weight learned for earlier dates may be wrong for it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Hashable
from functools import lru_cache
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie.types import AnyRows, Ints, Record

from .errors import InputError
from .feature_keys import is_missing, is_missing_word
from .invalid_records import clipped

if TYPE_CHECKING:
    pass

#: Text that is a date or a time, as ISO 8601 and RFC 3339 write it; RE2 accepts the pattern, too.
PATTERN = (
    r"^[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?[ \t]*$"
)
EXPECTED = "a date such as 2024-02-29 or 2024-02-29T18:30:00+01:00"
DAY = 86_400_000_000
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)
#: The first and the last day that there is in Python, counted from 1970.
FIRST_DAY, LAST_DAY = -719_162, 2_932_896

_PARTS = (("hour", range(24)), ("weekday", ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")), ("month", range(1, 13)))
#: For each part, the number of values of the parts before it.
_BEFORE = tuple(accumulate((len(values) for _, values in _PARTS[:-1]), initial=0))


class Moment(NamedTuple):
    """A point in time in microseconds since 1970: as local clock time, and in UTC.

    Both are arrays for several dates, and equal for dates without a time zone.
    """

    wall: Any
    instant: Any


def is_date_text(word: str) -> bool:
    """Return True for text in ISO 8601 format, such as ``2024-02-29T18:30``.

    Examples
    --------
    >>> [is_date_text(word) for word in ("2024-02-29", "2024-02-29 18:30Z", "2024", "18:30", "20240229")]
    [True, True, False, False, False]
    """
    return re.match(PATTERN, word) is not None


def mostly_dates(words: AnyRows, total: int | None = None) -> bool:
    """Return True if more than half of the values of a text column are dates.

    ``total`` is the number of values, by default of those that are not null or empty.
    """
    import pyarrow.compute as pc

    if str(words.type) == "string_view":  # which has no regular expressions
        words = words.cast("large_string")
    if str(words.type) not in ("string", "large_string"):
        return False
    total = pc.sum(pc.greater(pc.binary_length(words), 0)).as_py() if total is None else total
    return bool(2 * (pc.sum(pc.match_substring_regex(words, PATTERN)).as_py() or 0) > (total or 0))


def moment(value: object, name: Hashable = None) -> Moment:
    """Convert a date, a datetime, a `numpy.datetime64` or ISO 8601 text to a `Moment`.

    ``name`` is for error messages.

    Raises
    ------
    InputError
        If it is not a date, or the day does not exist; the error has ``name`` as its column.

    Examples
    --------
    >>> one, other = moment("2024-02-29T18:30:00+01:00"), moment("2024-02-29 17:30")
    >>> one.instant == other.instant, (one.wall - other.wall) / 3.6e9
    (True, 1.0)
    """
    try:
        if isinstance(value, str):
            return _parse_date(value)
        if isinstance(value, np.datetime64):
            value = value.astype("M8[us]").item()
        if isinstance(value, datetime.date):
            return _convert_date(value)
    except (ValueError, OverflowError):
        pass
    shown = repr(clipped(value)) if isinstance(value, str) else clipped(repr(value))
    raise InputError(f"{shown} is not {EXPECTED}", column=None if name is None else str(name))


@lru_cache(1 << 15)
def _parse_date(word: str) -> Moment:
    if not is_date_text(word):
        raise ValueError
    return _convert_date(datetime.datetime.fromisoformat(word.strip()))


def _convert_date(value: datetime.date) -> Moment:
    time = value if isinstance(value, datetime.datetime) else datetime.datetime.combine(value, datetime.time())
    away = time.utcoffset() or datetime.timedelta()
    wall = (time.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    return Moment(wall, wall - away // _MICROSECOND)


@lru_cache(256)
def part_keys(name: Hashable) -> tuple[tuple[str, str], ...]:
    """Return the pairs (key, value) of all categories of a date feature, such as ``("t.hour", "18")``.

    `parts` returns indices into this list.
    """
    return tuple((f"{name}.{part}", str(value)) for part, values in _PARTS for value in values)


def parts_of(wall: int) -> tuple[int, ...]:
    """Return the category indices of one date, as `parts` does for many; ``wall`` is its local time in microseconds."""
    days, rest = divmod(wall, DAY)
    day = datetime.date.fromordinal(days - FIRST_DAY + 1)
    numbers = rest // (DAY // 24), day.weekday(), day.month - 1
    return tuple(map(add, _BEFORE, numbers))


def parts(wall: Ints) -> Ints:
    """Return the indices in the list `part_keys` of the hour, weekday and month of n dates, shape (n, 3).

    ``wall`` are local times in microseconds since 1970.

    Examples
    --------
    >>> keys = part_keys("t")
    >>> [keys[k] for k in parts(np.array([moment("2024-02-29T18:30:00").wall]))[0]]
    [('t.hour', '18'), ('t.weekday', 'Thu'), ('t.month', '2')]
    """
    days = wall // DAY
    months = days.astype("M8[D]").astype("M8[M]").astype(np.int64)
    numbers = (wall - days * DAY) // (DAY // 24), (days + 3) % 7, months % 12
    return np.asarray(np.stack(numbers, axis=1) + np.array(_BEFORE))


def is_date(value: object) -> bool:
    """Return True for dates and datetimes of Python, NumPy and pandas."""
    return isinstance(value, (datetime.date, np.datetime64))


def expand_dates(record: Record, known: dict[Hashable, None], update: bool) -> dict[Hashable, object]:
    """Replace each date in a record by its categories (hour, weekday, month).

    ``known`` has the names of earlier dates; their text is read as a date. If ``update``, the record's names are added.

    Raises
    ------
    InputError
        If a known name has a value that is not a date.
    """
    expanded: dict[Hashable, object] = {}
    dates = []
    for name, value in record.items():
        if name in known and (is_missing(value) or is_missing_word(value)):
            expanded[name] = None
        elif name in known or (is_date(value) and not is_missing(value)):
            keys = part_keys(name)
            expanded |= [keys[k] for k in parts_of(moment(value, name).wall)]
            dates.append(name)
        else:
            expanded[name] = value
    if update:
        known |= dict.fromkeys(dates)
    return expanded
