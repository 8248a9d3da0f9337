"""Progress messages of a long fit, written to the logger ``coterie.batch``, which is silent unless configured."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

logger = logging.getLogger("coterie.batch")

T = TypeVar("T")


def numbered(what: str, steps: Sequence[T]) -> Iterator[T]:
    """Yield the steps, and log each as it begins: ``"fold 2 of 5"``."""
    for number, step in enumerate(steps, start=1):
        logger.info("%s %d of %d", what, number, len(steps))
        yield step


class Pace:
    """Logs the progress of many short steps, at most once a second."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def tell(self, message: str, *parts: object) -> None:
        """Log the message if a second has passed since the last one."""
        if logger.isEnabledFor(logging.INFO) and time.monotonic() - self._last >= 1.0:
            self._last = time.monotonic()
            logger.info(message, *parts)
