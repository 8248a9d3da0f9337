"""Dates and times as categories: the hour, the weekday and the month.

The time since the first date is no feature: in order of time the newest date is always at the end of what was seen,
where a weight that was learned says nothing or, later, the wrong thing.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Hashable, Mapping
from functools import lru_cache
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .errors import InputError
from .faults import clipped
from .keys import is_missing, is_missing_word

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Text that is a date or a time, as ISO 8601 and RFC 3339 write it; so that RE2 reads it, too.
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

_PARTS = (
    ("hour", range(24)),
    ("weekday", ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")),
    ("month", range(1, 13)),
)
#: How many values the parts before each have.
_BEFORE = tuple(accumulate((len(values) for _, values in _PARTS[:-1]), initial=0))


class Moment(NamedTuple):
    """A date in microseconds since 1970: what a clock on the spot shows, and the instant, as the clock in UTC shows it.

    Both are arrays for several dates. Where nothing tells the zone, they are the same.
    """

    wall: Any
    instant: Any


def is_date_text(word: str) -> bool:
    """True for text that has the form of a date.

    Examples
    --------
    >>> [is_date_text(word) for word in ("2024-02-29", "2024-02-29 18:30Z", "2024", "18:30", "20240229")]
    [True, True, False, False, False]
    """
    return re.match(PATTERN, word) is not None


def mostly_dates(words: Any, of: int | None = None) -> bool:
    """True for an Arrow column of text of which more than half has the form of dates: that is then read as dates.

    Half of the values that are not null or empty, or of ``of``.
    """
    import pyarrow.compute as pc

    if not str(words.type).startswith(("string", "large_string")):
        return False
    held = pc.sum(pc.greater(pc.binary_length(words), 0)).as_py() if of is None else of
    return bool(2 * (pc.sum(pc.match_substring_regex(words, PATTERN)).as_py() or 0) > (held or 0))


def moment(value: Any, name: Hashable = None) -> Moment:
    """The moment of a date, a datetime, a `numpy.datetime64` or text in ISO 8601.

    Raises
    ------
    InputError
        If it is none, or there is no such day; with ``name`` as its column.

    Examples
    --------
    >>> one, other = moment("2024-02-29T18:30:00+01:00"), moment("2024-02-29 17:30")
    >>> one.instant == other.instant, (one.wall - other.wall) / 3.6e9
    (True, 1.0)
    """
    try:
        if isinstance(value, str):
            return _of_text(value)
        if isinstance(value, np.datetime64):
            value = value.astype("M8[us]").item()
        if isinstance(value, datetime.date):
            return _of_date(value)
    except (ValueError, OverflowError):
        pass
    shown = repr(clipped(value)) if isinstance(value, str) else clipped(repr(value))
    raise InputError(f"{shown} is not {EXPECTED}", column=None if name is None else str(name))


@lru_cache(1 << 15)
def _of_text(word: str) -> Moment:
    if not is_date_text(word):
        raise ValueError
    return _of_date(datetime.datetime.fromisoformat(word.strip()))


def _of_date(value: datetime.date) -> Moment:
    time = value if isinstance(value, datetime.datetime) else datetime.datetime.combine(value, datetime.time())
    away = time.utcoffset() or datetime.timedelta()
    wall = (time.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
    return Moment(wall, wall - away // _MICROSECOND)


@lru_cache(256)
def part_keys(name: Hashable) -> tuple[tuple[str, str], ...]:
    """The names and values of all categories that a date may have, to be numbered by `parts`."""
    return tuple((f"{name}.{part}", str(value)) for part, values in _PARTS for value in values)


def parts_of(wall: int) -> tuple[int, ...]:
    """The numbers, in `part_keys`, of the categories of one date: as `parts`, without what calling NumPy costs."""
    days, rest = divmod(wall, DAY)
    day = datetime.date.fromordinal(days - FIRST_DAY + 1)
    numbers = rest // (DAY // 24), day.weekday(), day.month - 1
    return tuple(map(add, _BEFORE, numbers))


def parts(wall: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers, in `part_keys`, of the categories of n dates, shape (n, 3).

    Examples
    --------
    >>> keys = part_keys("t")
    >>> [keys[k] for k in parts(np.array([moment("2024-02-29T18:30:00").wall]))[0]]
    [('t.hour', '18'), ('t.weekday', 'Thu'), ('t.month', '2')]
    """
    days = wall // DAY
    months = days.astype("M8[D]").astype("M8[M]").astype(np.int64)
    numbers = (wall - days * DAY) // (DAY // 24), (days + 3) % 7, months % 12
    made: NDArray[np.int64] = np.stack(numbers, axis=1)
    made += np.array(_BEFORE)
    return made


def is_date(held: Any) -> bool:
    """True for dates and datetimes of Python, NumPy and pandas."""
    return isinstance(held, (datetime.date, np.datetime64))


def spread(record: Mapping[Any, Any], known: dict[Any, None], update: bool) -> dict[Any, Any]:
    """A record with categories as text in place of each date.

    ``known`` has the names that were dates so far, and learns from the record if it is to ``update``; text is a date
    where there was one before.

    Raises
    ------
    InputError
        For what is none where dates were so far.
    """
    record = {name: None if name in known and is_missing_word(held) else held for name, held in record.items()}
    found = {
        name: moment(held, name)
        for name, held in record.items()
        if (name in known or is_date(held)) and not is_missing(held)
    }
    made: dict[Any, Any] = {}
    for name, held in record.items():
        if name not in found:
            made[name] = held
            continue
        keys = part_keys(name)
        made |= [keys[k] for k in parts_of(found[name].wall)]
    if update:
        known |= dict.fromkeys(found)
    return made
