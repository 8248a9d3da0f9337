"""Long runs that can be stopped, and that save what they have learned on the way."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar

from coterie.inputs.errors import FieldError

T = TypeVar("T")

#: The signals that ask a process to stop: Ctrl-C, what `kill`, `timeout` and machines that shut down send, and, where
#: the system has it, what comes when a terminal or a connection is closed.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

_HANGUP = getattr(signal, "SIGHUP", None)

#: Seconds from which on saving counts as long: it then takes half of the time at most.
LONG = 1.0

_UNITS = {"s": 1, "m": 60, "h": 3600}


class Stopped(KeyboardInterrupt):
    """A process was asked to stop by the signal of this number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Stop:
    """Whether the process was asked to stop, heeded between blocks of records.

    In a ``with`` block it takes the signals of `SIGNALS`, unless the process ignores them. Until learning begins, and
    while a block is read, a signal raises `Stopped`. While a block is
    learned, and after the last one, a first signal is only remembered, so that models are never left half-changed; a
    second one raises `Stopped` wherever it comes. A closed terminal is no second one: the kernel and the shell tell of
    it, each for itself.

    Parameters
    ----------
    on_signal : callable, optional
        Called at the first signal if learning has begun, from the handler.

    Attributes
    ----------
    asked : int or None
        The number of the signal.
    begun : bool
        True once the first block was asked for.

    Examples
    --------
    >>> with Stop() as stop:
    ...     first = stop.unless_asked(lambda: "a block")
    ...     signal.raise_signal(signal.SIGINT)  # while it is learned
    ...     second = stop.unless_asked(lambda: "another")
    >>> first, second, stop.asked == signal.SIGINT
    ('a block', None, True)
    """

    def __init__(self, on_signal: Callable[[], None] | None = None) -> None:
        self.asked: int | None = None
        self._on_signal = on_signal
        self._learning = self.begun = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():  # others get no signals
            for number in SIGNALS:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._heed)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _heed(self, number: int, frame: FrameType | None) -> None:
        again = self.asked is not None
        if again and number == _HANGUP:
            return
        self.asked = number
        if self.begun and not again and self._on_signal is not None:
            self._on_signal()
        if again or not self._learning:
            raise Stopped(number)

    def unless_asked(self, take: Callable[[], T | None]) -> T | None:
        """The result of ``take``, which a signal interrupts; None if a signal came before it or meanwhile."""
        taken = None
        self.begun = True
        try:
            self._learning = False  # before the question, so that no signal falls between the two
            if self.asked is None:
                taken = take()
            self._learning = True
        except Stopped:
            self._learning, taken = True, None
        return taken


@dataclass
class SaveEvery:
    """How often a model is saved while it learns: after so many records, or seconds.

    Examples
    --------
    >>> SaveEvery.of("5m"), SaveEvery.of("100000")
    (SaveEvery(records=None, seconds=300.0), SaveEvery(records=100000, seconds=None))
    """

    records: int | None = None
    seconds: float | None = None
    _since: int = field(default=0, init=False, repr=False)
    _at: float = field(default_factory=lambda: time.monotonic(), init=False, repr=False)
    _ended: float = field(default_factory=lambda: time.monotonic(), init=False, repr=False)
    _pause: float = field(default=0.0, init=False, repr=False)

    @classmethod
    def of(cls, text: str) -> SaveEvery:
        """Read a number of records, or of seconds, minutes or hours: ``100000``, ``30s``, ``5m``, ``1h``.

        Raises
        ------
        FieldError
            For anything else, and for none.
        """
        found = re.fullmatch(r"(\d+)([smh]?)", text, re.ASCII)
        if found is None or int(found[1]) == 0:
            expected = "a number of records, or of seconds, minutes or hours, as 100000, 30s, 5m or 1h"
            raise FieldError("{} is {text!r}; expected {expected}", "save_every", text=text, expected=expected)
        n = int(found[1])
        return cls(seconds=float(n * _UNITS[found[2]])) if found[2] else cls(records=n)

    def due(self, records: int) -> bool:
        """True, once, if so many records or seconds have passed since it last was, and saving left time to learn."""
        now = time.monotonic()
        if self.records is not None and records - self._since < self.records:
            return False
        if self.seconds is not None and now - self._at < self.seconds:
            return False
        if now - self._ended < self._pause:
            return False
        self._since, self._at = records, now
        return True

    def saved(self, began: float) -> float | None:
        """Note that saving is done: the seconds that it took if that was long, and longer than learning before it.

        The next time then waits until learning has taken as long.
        """
        now = time.monotonic()
        took, learned = now - began, began - self._ended
        self._ended = now
        self._pause = took if took > max(LONG, learned) else 0.0
        return self._pause or None


@dataclass(frozen=True)
class Checkpoints:
    """How often a model is saved while it learns, and the function that saves it.

    Attributes
    ----------
    every : SaveEvery
    save : callable
        ``save(model, records)`` saves a model that has learned so many records of this run.
    """

    every: SaveEvery
    save: Callable[[Any, int], None]
