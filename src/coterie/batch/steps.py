"""The steps of a long fit, told to the logger ``coterie.batch``: nobody hears them who does not ask for them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

logger = logging.getLogger("coterie.batch")

T = TypeVar("T")


def numbered(what: str, steps: Sequence[T]) -> Iterator[T]:
    """Yield the steps, each told as it begins: ``"fold 2 of 5"``."""
    for number, step in enumerate(steps, start=1):
        logger.info("%s %d of %d", what, number, len(steps))
        yield step


class Pace:
    """Tell at most once a second what many short steps have come to."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def tell(self, message: str, *parts: object) -> None:
        """Tell it if it is time."""
        if logger.isEnabledFor(logging.INFO) and time.monotonic() - self._last >= 1.0:
            self._last = time.monotonic()
            logger.info(message, *parts)
