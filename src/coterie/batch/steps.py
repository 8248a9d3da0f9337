"""Progress messages of a long fit, written to the logger ``coterie.batch``, which is silent unless configured."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TypeVar

logger = logging.getLogger("coterie.batch")

T = TypeVar("T")


def numbered(what: str, steps: Sequence[T]) -> Iterator[T]:
    """Yield the steps, and log each as it begins: ``"fold 2 of 5"``."""
    for number, step in enumerate(steps, start=1):
        logger.info("%s %d of %d", what, number, len(steps))
        yield step
