"""The treatment of records that cannot be used: stop the stream, or leave them out and count them."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coterie.wording import nearest

from .errors import FieldError, InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

ON_ERROR = ("stop", "skip")
_EXAMPLES = 5
_LONGEST_WORD = 40
_MOST_NAMES = 20


#: What is said of text in a column of numbers, and of a record without a task.
NO_NUMBER, NO_TASK = "is not a number", "the task is missing"


class Fault(NamedTuple):
    """A fault in a row of a block: the row, the column, the sentence."""

    row: int
    column: str | None
    message: str


class Faults:
    """The policy of one reading on faulty records, and their count.

    Parameters
    ----------
    on_error : {"stop", "skip"}
        Raise at the first bad record, or leave bad records out.

    Attributes
    ----------
    skipped : int
        Records left out.
    unlabelled : int
        Records left out because they have no label, which is no fault.
    examples : list of str
        The first five messages.
    numeric : collection of str
        Columns that a new encoder reads as numbers, and could read as categories.
    """

    def __init__(self, on_error: str) -> None:
        if on_error not in ON_ERROR:
            raise FieldError("{} is {value!r}; expected 'stop' or 'skip'", "on_error", value=on_error)
        self.stop = on_error == "stop"
        self.skipped = self.unlabelled = 0
        self.examples: list[str] = []
        self.numeric: Collection[str] = ()

    def advice(self, column: str | None, message: str) -> FieldError | None:
        """Name the argument that accepts a faulty record, if there is one."""
        if column in self.numeric and message.endswith(NO_NUMBER):
            return FieldError("if the column has names, add it to {}", "categorical")
        return FieldError("{} skip leaves such records out", "on_error") if message == NO_TASK else None

    def report(self, message: str, path: str, line: int, column: str | None = None) -> None:
        """Raise `InputError`, or count one record left out."""
        if self.stop:
            raise InputError(message, path, int(line), column, self.advice(column, message))
        error = InputError(message, path, int(line), column)
        self.skipped += 1
        if len(self.examples) < _EXAMPLES:
            self.examples.append(str(error))

    def reject(self, found: Iterable[Fault], path: str, place: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Report the first fault of every row, in the order of the rows; return flags of the good rows."""
        good = np.ones(len(place), dtype=bool)
        for fault in sorted(found, key=lambda fault: fault.row):
            if good[fault.row]:
                self.report(fault.message, path, place[fault.row], fault.column)
            good[fault.row] = False
        return good


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn errors of the operating system, a decompressor or pyarrow about a file into `InputError`."""
    try:
        yield
    except _failures() as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"cannot be read: {reason}", path) from error


def _failures() -> tuple[type[BaseException], ...]:
    """The exceptions that mean that a file cannot be read; pyarrow is not loaded for its own."""
    arrow = sys.modules.get("pyarrow")
    return OSError, EOFError, MemoryError, UnicodeDecodeError, *([arrow.ArrowException] if arrow else [])


def clipped(word: str | bytes) -> str:
    """Shorten a word to a length that fits into a message."""
    text = word.decode("utf-8", "replace") if isinstance(word, bytes) else word
    return text if len(text) <= _LONGEST_WORD else text[: _LONGEST_WORD - 1] + "…"


def shown(word: str | bytes) -> str:
    """Quote a word, shortened."""
    return repr(clipped(word))


def require_distinct(names: Sequence[str], path: str, line: int | None = None) -> None:
    """Refuse columns of the same name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"two columns are called {name!r}", path, line)


def require_column(name: str, names: Collection[str], path: str | None = None) -> None:
    """Refuse a name that is not among the columns, and list them and similar ones.

    Examples
    --------
    >>> require_column("clic", ["click", "user"], "a.csv")
    Traceback (most recent call last):
    coterie.inputs.errors.InputError: a.csv: there is no column 'clic' among 'click', 'user'; did you mean 'click'?
    """
    if name in names:
        return
    several = [each.strip() for each in name.split(",")]
    if len(several) > 1 and set(several) <= set(names):
        raise InputError(f"there is no column {name!r}: name each by itself, {' and '.join(map(repr, several))}", path)
    listed = ", ".join(map(repr, islice(names, _MOST_NAMES))) + (", …" if len(names) > _MOST_NAMES else "")
    raise InputError(f"there is no column {name!r} among {listed}{nearest(name, names, 2)}", path)
