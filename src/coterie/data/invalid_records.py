"""Policies for invalid records: stop at the first, or skip and count them."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coterie.types import Flags, Ints
from coterie.wording import nearest

from .errors import FieldError, InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence


ON_ERROR = ("stop", "skip")
_EXAMPLES = 5
_LONGEST_WORD = 40
_MOST_NAMES = 20
#: The ends of messages about text in a column of numbers, and about a record without a task.
NO_NUMBER, NO_TASK = "is not a number", "the task is missing"


class Fault(NamedTuple):
    """An error in a block: the row, the column, and the message."""

    row: int
    column: str | None
    message: str


class Faults:
    """The policy for invalid records, with counts of skipped ones.

    Parameters
    ----------
    on_error : {"stop", "skip"}
        Raise at the first bad record, or leave bad records out.

    Attributes
    ----------
    skipped : int
        Records left out.
    unlabelled : int
        Records left out because they have no label, which is not an error.
    examples : list of str
        The first five messages.
    numeric : collection of str
        Columns that a new encoder reads as numbers, and could read as categories.
    path : str or None
        The name of the file being read.
    """

    def __init__(self, on_error: str) -> None:
        if on_error not in ON_ERROR:
            raise FieldError("{} is {value!r}; expected 'stop' or 'skip'", "on_error", value=on_error)
        self.stop = on_error == "stop"
        self.skipped = self.unlabelled = 0
        self.examples: list[str] = []
        self.numeric: Collection[str] = ()
        self.path: str | None = None

    def report(self, message: str, line: int, column: str | None = None) -> None:
        """Raise `InputError` for an invalid record, or count it if such records are skipped."""
        hint = None
        if self.stop and column in self.numeric and message.endswith(NO_NUMBER):
            hint = FieldError("if the column has names, add it to {}", "categorical")
        elif self.stop and message == NO_TASK:
            hint = FieldError("{} skip leaves such records out", "on_error")
        error = InputError(message, self.path, int(line), column, hint)
        if self.stop:
            raise error
        self.skipped += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(str(error))

    def reject(self, faults: Iterable[Fault], place: Ints) -> Flags:
        """Report the first error of each row, and return a mask of the rows without errors.

        ``place`` has the line numbers.
        """
        good = np.ones(len(place), dtype=bool)
        for fault in sorted(faults, key=lambda fault: fault.row):
            if good[fault.row]:
                self.report(fault.message, place[fault.row], fault.column)
            good[fault.row] = False
        return good


def clipped(word: str | bytes) -> str:
    """Shorten text for a message."""
    text = word.decode("utf-8", "replace") if isinstance(word, bytes) else word
    return text if len(text) <= _LONGEST_WORD else text[: _LONGEST_WORD - 1] + "…"


def shown(word: str | bytes) -> str:
    """Quote and shorten text for a message."""
    return repr(clipped(word))


def require_distinct(names: Sequence[str], line: int | None = None) -> None:
    """Raise an error if two of a table's column ``names`` are equal; ``line`` is the line of the header."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"two columns have the name {name!r}", line=line)


def require_column(name: str, names: Collection[str]) -> None:
    """Raise an error for an unknown column; the message lists similar names and all columns.

    Examples
    --------
    >>> require_column("clic", ["click", "user"])
    Traceback (most recent call last):
    coterie.data.errors.InputError: there is no column 'clic' among 'click', 'user'; did you mean 'click'?
    """
    if name in names:
        return
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and set(parts) <= set(names):
        raise InputError(f"there is no column {name!r}; name them separately: {' and '.join(map(repr, parts))}")
    listed = ", ".join(map(repr, islice(names, _MOST_NAMES))) + (", …" if len(names) > _MOST_NAMES else "")
    raise InputError(f"there is no column {name!r} among {listed}{nearest(name, names, 2)}")
