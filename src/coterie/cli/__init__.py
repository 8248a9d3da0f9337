"""The command line: every command reads its options, makes one call to the library, and prints."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from types import FrameType

#: Objects made between two searches for garbage. What imports make is never garbage, and Python's 700 have it looked
#: through so often that a command of three seconds spends half of one on it; so many are more than any start makes.
GARBAGE = 500_000

#: OpenBLAS's threads look for work 2^n cycles long before they sleep: as it is, a tenth of a second each at the start.
#: A command that multiplies matrices one after the other still finds them awake.
AWAKE = "20"


def main() -> None:
    """Run the command that the process was started with."""
    _complete_streams()
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", AWAKE)  # before numpy is loaded
    gc.set_threshold(GARBAGE)
    atexit.register(gc.freeze)  # the process ends, and all its memory with it
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # not every system has both
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminated)
    try:
        from .app import app

        app(prog_name="coterie")
    except KeyboardInterrupt as stopped:  # before the command has begun, which would say so
        sys.exit(128 + getattr(stopped, "number", signal.SIGINT))


def _complete_streams() -> None:
    """Open the null device for each closed standard stream, so that no file gets the number of its descriptor."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _terminated(number: int, frame: FrameType | None) -> None:
    """End as after Ctrl-C, so that no part of a file is left behind."""
    from coterie.jobs.stopping import Stopped

    raise Stopped(number)
