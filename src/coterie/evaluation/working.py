"""The CPU time of a process, less the time that it takes to compile or to load compiled code.

A speed that includes compiling measures the first run on a machine rather than the learner.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


class _Compiling(event.Listener):
    """Adds up the CPU seconds for which numba's lock of compiling is held, which is also while it loads."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth, self._since = 0, 0.0

    def on_start(self, event: Any) -> None:
        """Note the CPU time at which compiling begins."""
        if not self._depth:
            self._since = time.process_time()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Add the CPU seconds that compiling took."""
        self._depth -= 1
        if not self._depth:
            self.seconds += time.process_time() - self._since


_COMPILING = _Compiling()
event.register("numba:compiler_lock", _COMPILING)  # type: ignore[no-untyped-call]


#: The clocks of threads that do something else, by the thread, and what those had done that have ended.
_ASIDE: dict[int, int] = {}
_ENDED = [0.0]


@contextmanager
def aside() -> Iterator[None]:
    """Exclude the CPU time of this thread, such as one that reads, where the system measures it by thread."""
    clock = getattr(time, "pthread_getcpuclockid", None)
    thread = threading.get_ident()
    if clock is not None:
        _ASIDE[thread] = clock(thread)
    try:
        yield
    finally:
        if clock is not None:
            _ENDED[0] += time.clock_gettime(_ASIDE.pop(thread))


def working_seconds() -> float:
    """CPU seconds of this process so far, less those of compiling and of threads :func:`aside`."""
    others = sum(time.clock_gettime(clock) for clock in list(_ASIDE.values()))
    return time.process_time() - _COMPILING.seconds - _ENDED[0] - others
