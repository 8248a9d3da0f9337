"""The fast path: rounds of dictionaries with known names and a known task, straight to compiled code."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from coterie.inputs import tabular
from coterie.numeric.primal.calls import BoundCall
from coterie.round.task_registry import TaskRegistry
from coterie.types import Record


class FastPath:
    """Rounds of single records in which nothing is new, everything else being looked up once.

    Valid while the model's version is the same; anything else that may be new is noticed here.
    """

    __slots__ = ("_at", "_call", "_learn", "_names", "_predict", "_recency", "_state", "_tasks", "_warn", "version")

    def __init__(self, version: int, population: TaskRegistry, call: BoundCall) -> None:
        self.version, self._recency, self._warn = version, population.recency, population.learner.warn
        self._state: Any = population.state
        self._call, self._tasks = call, population.tasks.numbers
        self._at, self._predict, self._learn, self._names = call.at, call.predict, call.learn, call.names

    def score(self, x: Record, task: Hashable) -> float:
        """Return the margin of a record before labels are decoded; NaN if there may be something new."""
        i = self._number(x, task)
        return math.nan if i is None else self._predict(self._at, id(x), i)

    def learn(self, x: Record, y: Hashable, task: Hashable, labels: Any) -> Any:
        """Learn a record; return the labels known then, or None, with nothing changed, if something may be new."""
        i = self._number(x, task)
        if i is None or len(self._names) > self._state.features:
            return None
        labels = labels.with_one(y)
        if self._learn(self._at, id(x), i, labels.value(y)) < 0.0:
            return None
        self._state.rounds += 1
        if self._recency is not None:
            self._recency.see_one(i)
        self._warn(self._state)
        return labels

    def _number(self, x: Record, task: Hashable) -> int | None:
        """Return the number of a record's task; None if there may be something new."""
        if type(x) is not dict or "" in x or self._state.model is not self._call.model:
            return None
        try:
            number: int | None = self._tasks.get(tabular.only_task(self._tasks) if task is None else task)
        except TypeError:  # an unhashable task
            return None
        return number
