"""Estimates of free memory, to raise an error before a large allocation."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_GROUPS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.stat"), "anon"),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.stat"), "total_rss"),
)

#: The part of free memory that may be taken.
PART = 0.9


class OutOfMemoryError(MemoryError, ValueError):
    """Error for an operation that needs more memory than is free; nothing has been allocated."""


def available_bytes() -> float:
    """Return the memory available without swapping, inf if the system does not report it."""
    return min(_free(), _left_in_group())


def fits(needed: float) -> bool:
    """Return True if this many bytes are free."""
    return needed <= PART * available_bytes()


def require(needed: float, what: str, instead: str) -> None:
    """Raise OutOfMemoryError, with the advice ``instead``, if ``needed`` bytes are not free.

    Raises
    ------
    OutOfMemoryError
        The message has the memory needed and free, and an alternative that fits.
    """
    if not fits(needed):
        raise OutOfMemoryError(
            f"{what} needs {gibibytes(needed)}, but only {gibibytes(available_bytes())} are free: {instead}"
        )


def gibibytes(count: float) -> str:
    """Format ``count`` bytes in GiB."""
    return f"{count / 2**30:.3g} GiB"


def _free() -> float:
    with suppress(OSError, ValueError, StopIteration):
        return 1024.0 * _entry(_MEMINFO, "MemAvailable:")
    with suppress(OSError, ValueError, AttributeError):
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return float("inf")


def _left_in_group() -> float:
    """Return the memory that a container may still allocate."""
    for limit, statistics, name in _GROUPS:
        with suppress(OSError, ValueError, StopIteration):
            return float(limit.read_text()) - _entry(statistics, name)
    return float("inf")


def _entry(path: Path, name: str) -> float:
    lines = (line.split() for line in path.read_text().splitlines())
    return float(next(words[1] for words in lines if words[0] == name))
