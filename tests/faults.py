"""Disks that fail, in place of functions that tests patch."""

import errno
import itertools
import os


def full_disk(*arguments, **named):
    """Fail as a write to a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def failing_once(real, k, code=errno.ENOSPC, half=False):
    """A function whose k-th call fails, after half of what it was to write if so said; and the count of its calls."""
    calls = itertools.count()

    def failing(*arguments, **named):
        if next(calls) != k:
            return real(*arguments, **named)
        if half:
            real(arguments[0], arguments[1][: len(arguments[1]) // 2])
        raise OSError(code, os.strerror(code))

    return failing, calls
