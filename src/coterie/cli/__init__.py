"""The command line: every command reads its options, makes one call to the library, and prints."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os

#: Objects made between two searches for garbage. What imports make is never garbage, and Python's 700 have it looked
#: through so often that a command of three seconds spends half of one on it; so many are more than any start makes.
GARBAGE = 500_000

#: What glibc's `mallopt` calls them, and bytes: free memory beyond the first goes back to the system, and blocks larger
#: than the second come from it. Left to itself, glibc gives the four mebibytes of each piece of a text back and asks
#: for them again: new pages, which the system fills with zeros first.
M_TRIM_THRESHOLD, KEPT = -1, 2**26
M_MMAP_THRESHOLD, LARGE = -3, 2**25


#: OpenBLAS's threads look for work 2^n cycles long before they sleep: as it is, a tenth of a second each at the start.
#: A command that multiplies matrices one after the other still finds them awake.
AWAKE = "20"


def main() -> None:
    """Run the command that the process was started with."""
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", AWAKE)  # before numpy is loaded
    keep_memory()
    gc.set_threshold(GARBAGE)
    atexit.register(gc.freeze)  # the process ends, and all its memory with it
    from coterie.cli.app import app

    app(prog_name="coterie")


def keep_memory() -> None:
    """Let blocks that were freed serve again, where the C library is glibc, which can be told so."""
    try:
        tell = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    tell(M_TRIM_THRESHOLD, KEPT)
    tell(M_MMAP_THRESHOLD, LARGE)
