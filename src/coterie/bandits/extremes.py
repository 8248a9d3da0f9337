"""The smallest and largest reward over all tasks that are not forgotten."""

from __future__ import annotations

import math
from collections.abc import Container, Hashable

import msgspec

from coterie.types import Label

#: The number of tasks at each end whose extreme rewards are stored.
_TASKS = 16


class Extremes(msgspec.Struct):
    """The smallest and the largest reward of tasks: ``[task, reward]`` of the 16 most extreme tasks on each side."""

    lowest: list[list[Label]] = msgspec.field(default_factory=list)
    highest: list[list[Label]] = msgspec.field(default_factory=list)

    def add(self, task: Hashable, reward: float) -> None:
        """Add a reward of a task."""
        _keep_largest(self.lowest, task, -reward)
        _keep_largest(self.highest, task, reward)

    def keep(self, tasks: Container[Hashable]) -> None:
        """Remove the rewards of all tasks that are not in ``tasks``."""
        for pairs in (self.lowest, self.highest):
            pairs[:] = [pair for pair in pairs if pair[0] in tasks]

    @property
    def low(self) -> float:
        """The smallest reward; inf if there is none."""
        return -self.lowest[0][1] if self.lowest else math.inf

    @property
    def high(self) -> float:
        """The largest reward; -inf if there is none."""
        return self.highest[0][1] if self.highest else -math.inf


def _keep_largest(pairs: list[list[Label]], task: Hashable, number: float) -> None:
    """Insert the ``number`` of a task into a sorted list with one entry per task, of limited length."""
    # smaller numbers of a full list are lost: after more than 16 tasks were forgotten the ends may be too near
    if len(pairs) == _TASKS and number <= pairs[-1][1]:
        return
    pair = next((pair for pair in pairs if pair[0] == task), None)
    if pair is None:
        pairs.append([task, number])
    elif number <= pair[1]:
        return
    else:
        pair[1] = number
    pairs.sort(key=lambda pair: -pair[1])
    del pairs[_TASKS:]
