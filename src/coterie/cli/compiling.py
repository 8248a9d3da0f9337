"""A line on a terminal while code is compiled, which takes the first run on a machine half a minute."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from .failures import tell

#: The line comes when so many seconds have passed since the first function began to be compiled, and so many have
#: begun and ended: a single one takes a moment. Seconds between two looks.
PATIENCE, MANY, PAUSE = 1.0, 20, 0.25


def tell_of_compiling() -> None:
    """Let a line say so, once, when this process compiles much; what compiles is not imported for that."""
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    seen: Any = None
    while seen is None or len(seen.buffer) < MANY or time.time() - seen.buffer[0][0] < PATIENCE:
        time.sleep(PAUSE)
        events: Any = sys.modules.get("numba.core.event")
        if seen is None and hasattr(events, "RecordingListener"):  # it has been imported whole
            seen = events.RecordingListener()
            events.register("numba:compile", seen)
    tell("compiling for this machine: half a minute, once; what is compiled is kept")
