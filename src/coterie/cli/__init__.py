"""The command line interface: each command parses its options, calls the library, and prints the result."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from types import FrameType

#: Objects made between two garbage collections. The objects of imports are never garbage, and with Python's threshold
#: of 700 they are searched so often that a command of three seconds spends half a second on it.
GARBAGE = 500_000

#: OpenBLAS's threads look for work for 2^n cycles before they sleep; by default that takes a tenth of a second at the
#: start of each. With this n they are still awake for a command that multiplies matrices one after the other.
AWAKE = "20"


def main() -> None:
    """Run the command line program."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed: no file may get the number of its descriptor
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # as in files, whatever the locale
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", AWAKE)  # before numpy is loaded
    gc.set_threshold(GARBAGE)
    atexit.register(gc.freeze)  # the process ends, and all its memory with it
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # not every system has both
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _stop)
    try:
        from .program import app

        if sys.stderr.isatty() and not {"-q", "--quiet"} & set(sys.argv):
            from .compiling import announce_compiling

            announce_compiling()
        app(prog_name="coterie")
    except KeyboardInterrupt as error:  # before the command began; later it is reported there
        sys.exit(128 + getattr(error, "number", signal.SIGINT))


def _stop(number: int, frame: FrameType | None) -> None:
    """Handle a signal like Ctrl-C, so that no partial file remains."""
    from coterie.evaluation.stopping_signals import Stopped

    raise Stopped(number)
