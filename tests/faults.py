"""Disks that fail, in place of functions that tests patch."""

import errno
import itertools
import os


def full_disk(*given, **named):
    """Fail as a write to a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def failing_once(real, k, code=errno.ENOSPC, half=False):
    """A function whose k-th call fails, after half of what it was to write if so said; and the count of its calls."""
    calls = itertools.count()

    def failing(*given, **named):
        if next(calls) != k:
            return real(*given, **named)
        if half:
            real(given[0], given[1][: len(given[1]) // 2])
        raise OSError(code, os.strerror(code))

    return failing, calls
