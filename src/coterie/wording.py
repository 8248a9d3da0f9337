"""Formatting of numbers, lists and tables in texts; and warnings with the user's source line."""

from __future__ import annotations

import difflib
import os
import re
import sys
import warnings
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

NONE = "–"
SPOKEN = {
    "together": "learning together",
    "independent": "one model per task",
    "pooled": "one model for all tasks",
    "intercepts": "one model with a constant per task",
    "mixed model": "a mixed model",
    "running rate": "a running rate per task",
    "running mean": "a running mean per task",
    "constant": "a constant guess",
    "side by side": "one Perceptron on all views",
    "in parallel": "one Perceptron per view, summed",
}
_NAMED = 5

#: What a terminal or a table takes for more than a sign: control characters (ESC, the newline, the C1 set that holds a
#: second way to begin an escape sequence), separators of lines, marks that turn the direction of writing, and halves of
#: pairs, by which Python spells the bytes of file names that are no UTF-8.
COMMANDING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def percent(rate: float, digits: int = 1) -> str:
    """Format a rate as a percentage; a dash for nan.

    >>> percent(0.21437)
    '21.4 %'
    """
    return NONE if isnan(rate) else f"{100 * rate:.{digits}f} %"


def points(rate: float, digits: int = 1) -> str:
    """Format a difference of rates in percentage points, without the unit; a dash for nan.

    >>> points(-0.0001)
    '0.0'
    """
    return NONE if isnan(rate) else f"{100 * rate:z.{digits}f}"


def listed(names: Sequence[Hashable], most: int = _NAMED) -> str:
    """List the first ``most`` names, and count the others.

    >>> listed(["a", "b, c", "d"], most=2)
    "a, 'b, c' and 1 more"
    """
    words = map(str, names[:most])
    shown = ", ".join(repr(word) if "," in word and word[0] not in "'\"" else word for word in words)
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def nearest(word: object, among: Iterable[object], most: int = 1, cutoff: float = 0.6) -> str:
    """Return "; did you mean ...?" with the most similar of the words ``among``; '' if none is similar.

    >>> nearest("perceptorn", ["perceptron", "pa1"]), nearest("x", ["perceptron"])
    ("; did you mean 'perceptron'?", '')
    """
    near = difflib.get_close_matches(str(word), [str(name) for name in among], n=most, cutoff=cutoff)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def nearest_file(path: str) -> str:
    """Return "; did you mean ...?" with a similar file name in the same folder; '' if none is similar."""
    place = Path(path)
    try:
        names = [path.name for path in place.parent.iterdir()]
    except OSError:
        return ""
    return nearest(place.name, names, cutoff=0.85)


def counted(n: int, thing: str) -> str:
    """Return a number n with a noun, such as "1 task" or "2 tasks".

    >>> counted(1, "task"), counted(4037, "task")
    ('1 task', '4,037 tasks')
    """
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def none_for_nan(value: float) -> float | None:
    """Return the value; None for nan."""
    return None if isnan(value) else value


def spoken(learner: str) -> str:
    """Return the name of a learner as it is written in sentences.

    >>> spoken("pooled"), spoken("share=0.25")
    ('one model for all tasks', 'share=0.25')
    >>> spoken("audio alone")
    'the view audio by itself'
    """
    view = learner.removesuffix(" alone")
    return SPOKEN.get(learner, learner if view == learner else f"the view {view} by itself")


def digits_of(gain: float, low: float, high: float) -> int:
    """Return the number of decimals (1 or 2) with which a gain and its interval are not rounded to zero.

    It is 1 from a tenth of a percentage point on, else 2.

    >>> digits_of(0.012, 0.003, 0.02), digits_of(0.012, 0.0003, 0.02), digits_of(0.012, -0.0003, 0.02)
    (1, 2, 2)
    """
    smallest = min(gain, low, high, key=abs)
    return 1 if abs(smallest) >= 0.001 or smallest == 0 else 2


def visible(text: str) -> str:
    r"""Replace control characters and line breaks by escape sequences.

    >>> print(visible("ann\x1b[31m\nbob"), visible("Zoë – 東京"))
    ann\x1b[31m\nbob Zoë – 東京
    """
    return COMMANDING.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> Iterator[str]:
    r"""Yield the lines of a text table; the first ``words`` columns are left-aligned.

    >>> print(*table(["learner", "error"], [["pooled", "9.1 %"], ["half", "10.2 %"]]), sep="\n")
    learner   error
    pooled    9.1 %
    half     10.2 %

    Control characters and line breaks in names are replaced by their escape sequences.

    >>> print(*table(["task", "n"], [["a\nb", "1"]]), sep="\n")
    task  n
    a\nb  1
    """
    shown = [[visible(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = zip(row, widths, range(len(row)), strict=True)
        yield "  ".join(f"{cell:<{width}}" if i < words else f"{cell:>{width}}" for cell, width, i in cells).rstrip()


#: The folder of the package, whose files no warning names.
_PACKAGE = str(Path(__file__).parent) + os.sep


def warn(message: Warning | str, category: type[Warning] = UserWarning) -> None:
    """Emit a warning that points at the calling line outside the package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
