"""A log of rejected requests with a bounded size."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from os import PathLike

from .events import to_json

#: Lines written in one period, and its seconds.
LINES, PERIOD = 100, 10.0
#: Characters of a text in a line.
LONGEST = 300
#: Bytes after which the file is renamed to FILE.1, in place of the one before, and another is begun.
LOG_BYTES = 2**24


class RefusalLog:
    r"""Append rejected requests to a file, as lines of JSON.

    ``left_out`` in a line counts the lines omitted before it. The file is opened for each line, so that it may be moved
    away; write errors do not affect requests.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "refused.jsonl"
    >>> RefusalLog(path).write(status=404, error="there is no such page")
    >>> path.read_text().partition('"status"')[2]
    ':404,"error":"there is no such page"}\n'
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._file = _QuietFile(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
        self._period_start, self._lines, self._left_out = time.monotonic(), 0, 0

    def write(self, **fields: object) -> None:
        """Write a line, unless the period has too many; long texts are truncated."""
        now = time.monotonic()
        if now >= self._period_start + PERIOD:
            self._period_start, self._lines = now, 0
        if self._lines >= LINES:
            self._left_out += 1
            return
        line: dict[str, object] = {"at": datetime.now(UTC).isoformat(timespec="milliseconds")} | fields
        if self._left_out:
            line["left_out"] = self._left_out
        line = {name: value[:LONGEST] if isinstance(value, str) else value for name, value in line.items()}
        self._lines, self._left_out = self._lines + 1, 0
        self._file.handle(logging.makeLogRecord({"msg": to_json(line).decode()}))
        self._file.close()


class _QuietFile(RotatingFileHandler):
    """A log file that ignores errors."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Ignore an error, such as a full disk."""
