"""The command line: every command reads its options, makes one call to the library, and prints."""

from __future__ import annotations

import atexit
import gc

#: Objects made between two searches for garbage. What imports make is never garbage, and Python's 700 have it looked
#: through so often that a command of three seconds spends half of one on it.
GARBAGE = 100_000


def main() -> None:
    """Run the command that the process was started with."""
    gc.set_threshold(GARBAGE)
    atexit.register(gc.freeze)  # the process ends, and all its memory with it
    from coterie.cli.app import app

    app(prog_name="coterie")
