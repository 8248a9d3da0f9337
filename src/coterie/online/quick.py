"""Rounds of one record with which nothing new comes."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from coterie.numeric.entries import Settled
from coterie.state import State
from coterie.streams import tabular


class Quick:
    """Rounds of dictionaries whose names and task are known, everything else being looked up once.

    Good while no attribute of the model is set; whatever else may have changed, or may be new, is seen here.
    """

    __slots__ = ("_at", "_learn", "_names", "_notice", "_predict", "_relation", "_settled", "_state", "_tasks")

    def __init__(self, learner: Any, state: State, settled: Settled) -> None:
        self._state, self._settled, self._tasks = state, settled, state.tasks.numbers
        self._at, self._predict, self._learn, self._names = settled.at, settled.predict, settled.learn, settled.names
        self._notice, self._relation = learner.notice, learner.relation

    def score(self, x: Any, task: Hashable) -> float:
        """Margin of a record on the scale of the inside; NaN if there may be something new."""
        i = self.task(x, task)
        return math.nan if i is None else self._predict(self._at, x, i)

    def task(self, x: Any, task: Hashable) -> int | None:
        """The number of a record's task; None if there may be something new."""
        if type(x) is not dict or self._state.model is not self._settled.model:
            return None
        try:
            return self._tasks.get(tabular.only_task(self._tasks) if task is None else task)
        except TypeError:  # what no dictionary can hold
            return None

    def learn(self, x: Any, y: Hashable, task: Hashable, labels: Any) -> Any:
        """Learn a record; the labels known then, or None, nothing being changed, if there may be something new."""
        i, state = self.task(x, task), self._state
        if i is None or len(self._names) > state.features:
            return None
        labels = labels.with_one(y)
        if self._learn(self._at, x, i, labels.value(y)) < 0.0:
            return None
        state.rounds += 1
        self._notice(self._relation, state)
        return labels
