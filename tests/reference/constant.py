"""The constant, straight from its definition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def constant(labels: Sequence[Any], delay: int) -> list[Any]:
    """The most frequent of the labels that came before each round, of equally frequent ones the first to be so."""
    predictions = []
    for t in range(len(labels)):
        counts: dict[Any, int] = {}
        leader = None
        for label in labels[: max(t - delay, 0)]:
            counts[label] = counts.get(label, 0) + 1
            if leader is None or counts[label] > counts[leader]:
                leader = label
        predictions.append(leader)
    return predictions
