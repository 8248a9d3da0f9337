"""A message during compilation, which takes half a minute in the first run on a machine."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from .failures import print_message

#: The line is printed after PATIENCE seconds of compiling and MANY events, because one function takes a moment only;
#: PAUSE is the time between two looks in seconds.
PATIENCE, MANY, PAUSE = 1.0, 20, 0.25


def announce_compiling() -> None:
    """Print a message, once, when this process starts to compile; numba is not imported for that."""
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    listener: Any = None
    while listener is None or len(listener.buffer) < MANY or time.time() - listener.buffer[0][0] < PATIENCE:
        time.sleep(PAUSE)
        events: Any = sys.modules.get("numba.core.event")
        if listener is None and hasattr(events, "RecordingListener"):  # its import has ended
            listener = events.RecordingListener()
            events.register("numba:compile", listener)
    print_message("compiling for this machine: half a minute, once; the compiled code is stored")
