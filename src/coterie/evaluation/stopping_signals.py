"""Signal handling for long runs: stop between two blocks of records, and save models at intervals."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple, TypeVar

from coterie.data.errors import FieldError
from coterie.types import Estimator

T = TypeVar("T")

#: The signals that ask a process to stop: Ctrl-C; SIGTERM of `kill`, `timeout` and machines that shut down; and, if the
#: system has them, SIGHUP of a terminal or a connection that is closed, and SIGBREAK of Ctrl-Break.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))

_HANGUP = getattr(signal, "SIGHUP", None)

#: Saving that takes more seconds, and longer than learning since the last time, is slow: it gets half of the time.
SLOW = 1.0

_UNITS = {"s": 1, "m": 60, "h": 3600}


class Stopped(KeyboardInterrupt):
    """Exception for a signal that asks a run to stop, with its number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Stop:
    """Context in which a signal stops a run between two blocks of records.

    In a ``with`` block it handles the signals of `SIGNALS`, unless the process ignores them. Before learning begins,
    and while a block is read, a signal raises `Stopped`. While a block is learned, and after the last one, a first
    signal is only recorded, so that models are never left half-updated; a second one raises `Stopped` at once. A second
    SIGHUP is ignored, because the kernel and the shell both send one when a terminal is closed.

    Parameters
    ----------
    on_signal : callable, optional
        Called at the first signal if learning has begun, from the handler.

    Attributes
    ----------
    asked : int or None
        The number of the signal.
    begun : bool
        True once the first block was requested.

    Examples
    --------
    >>> with Stop() as stop:
    ...     first = stop.run_unless_asked(lambda: "a block")
    ...     signal.raise_signal(signal.SIGINT)  # while it is learned
    ...     second = stop.run_unless_asked(lambda: "another")
    >>> first, second, stop.asked == signal.SIGINT
    ('a block', None, True)
    """

    def __init__(self, on_signal: Callable[[], None] | None = None) -> None:
        self.asked: int | None = None
        self._on_signal = on_signal
        self._learning = self.begun = False
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():  # others get no signals
            for number in SIGNALS:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._handlers[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again = self.asked is not None
        if again and number == _HANGUP:
            return
        self.asked = number
        if self.begun and not again and self._on_signal is not None:
            self._on_signal()
        if again or not self._learning:
            raise Stopped(number)

    def run_unless_asked(self, function: Callable[[], T | None]) -> T | None:
        """Call a function that a signal may interrupt.

        Return None if a signal has arrived before or during the call.
        """
        result = None
        self.begun = True
        try:
            self._learning = False  # before the question, so that no signal falls between the two
            if self.asked is None:
                result = function()
            self._learning = True
        except Stopped:
            self._learning, result = True, None
        return result


@contextmanager
def interrupt_deferred() -> Iterator[None]:
    """Context that delays Ctrl-C to its end, so that no model is left half-updated; a second Ctrl-C is not delayed.

    Other handlers of the signal than Python's own, and other threads than the main one, are left as they are.
    """
    asked: list[int] = []

    def record(number: int, frame: FrameType | None) -> None:
        asked.append(number)
        signal.signal(number, signal.default_int_handler)

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, record)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if asked:
            raise KeyboardInterrupt


class SaveInterval(NamedTuple):
    """An interval between checkpoints: a number of records or of seconds.

    Examples
    --------
    >>> SaveInterval.from_text("5m"), SaveInterval.from_text("100000")
    (SaveInterval(records=None, seconds=300.0), SaveInterval(records=100000, seconds=None))
    """

    records: int | None = None
    seconds: float | None = None

    @classmethod
    def from_text(cls, text: str, name: str = "save_every") -> SaveInterval:
        """Parse a number of records, or of seconds, minutes or hours, such as ``100000``, ``30s``, ``5m``, ``1h``.

        Raises
        ------
        FieldError
            For other text, about the argument of this name.
        """
        match = re.fullmatch(r"([1-9]\d*)([smh]?)", text, re.ASCII)
        if match is None:
            expected = "a number of records, or of seconds, minutes or hours, such as 100000, 30s, 5m or 1h"
            raise FieldError("{} is {text!r}; expected {expected}", name, text=text, expected=expected)
        n = int(match[1])
        return cls(seconds=float(n * _UNITS[match[2]])) if match[2] else cls(records=n)


class Checkpoints:
    """Saves a model at intervals during learning.

    Parameters
    ----------
    interval : str
        See `SaveInterval.from_text`. If saving takes longer than the learning since the last save, the next save waits
        until learning has taken as long.
    save : callable
        ``save(model, records)`` saves a model that has learned this number of records in this run.
    """

    def __init__(self, interval: str, save: Callable[[Estimator, int], None]) -> None:
        self._interval, self._save = SaveInterval.from_text(interval), save
        self._records, self._pause = 0, 0.0
        self._start = self._end = time.monotonic()

    def is_due(self, records: int) -> bool:
        """Return True if the model should be saved now.

        The interval grows so that saving takes at most half of the time.
        """
        now = time.monotonic()
        return (
            records - self._records >= (self._interval.records or 0)
            and now - self._start >= (self._interval.seconds or 0)
            and now - self._end >= self._pause
        )

    def save(self, model: Estimator, records: int) -> None:
        """Save a model, after it has learned this number of records."""
        self._records, self._start = records, time.monotonic()
        learning = self._start - self._end
        self._save(model, records)
        self._end = time.monotonic()
        saving = self._end - self._start
        self._pause = saving if saving > max(SLOW, learning) else 0.0
