"""The fast path: single dictionaries with known names and a known task are passed directly to compiled code."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, cast

from coterie._compiled.core.dictionaries import read_dictionary, read_with_unseen
from coterie._compiled.primal.calls import RecordCalls
from coterie.data import tabular
from coterie.data.input_encoders import PlainRecords
from coterie.models.linear_learner import CompiledLearner
from coterie.models.task_registry import TaskRegistry
from coterie.types import Record


class FastPath:
    """The prepared calls that predict and learn single dictionaries without new tasks or features.

    Any other change of the model drops it; what may be new in a record is noticed here.
    """

    __slots__ = ("_calls", "_learner", "_recency", "_records", "_state", "_tasks")

    def __init__(self, population: TaskRegistry, calls: RecordCalls, records: PlainRecords) -> None:
        self._recency = population.recency
        self._learner = cast(CompiledLearner, population.learner)
        self._state: Any = population.state
        self._tasks, self._calls, self._records = population.tasks.numbers, calls, records

    def score(self, x: Record, task: Hashable) -> float:
        """Return the margin of record x on the learner's scale; NaN for unseen tasks or values of other types."""
        i, (numbers, plain, preparing, reads_unseen) = self._number(x, task), self._records
        if i is None:
            return math.nan
        if reads_unseen:
            entries = read_with_unseen(x, numbers, plain, preparing.scaled)
        else:
            known = read_dictionary(x, numbers, plain)
            entries = None if known is None else (*known, len(known[0]))
        if entries is None:
            return math.nan
        margin: float = self._calls.predict(self._state.model, *entries, preparing, i)
        return margin

    def learn(self, x: Record, y: Hashable, task: Hashable, labels: Any) -> Any:
        """Learn record x with label y; return the label encoder, or None if x may have a new task or feature."""
        state, i, (numbers, plain, preparing, _) = self._state, self._number(x, task), self._records
        if i is None or len(numbers) > state.features:
            return None
        entries = read_dictionary(x, numbers, plain)
        if entries is None or len(entries[0]) < len(x):
            return None
        labels, rule = labels.with_one(y), self._learner.compiled_rule
        if self._calls.learn(state.model, rule, *entries, preparing, i, labels.value(y)) < 0.0:
            return None
        state.rounds += 1
        if self._recency is not None:
            self._recency.see_one(i)
        if self._learner.warns:
            self._learner.warn(state)
        return labels

    def _number(self, x: Record, task: Hashable) -> int | None:
        """Return the number of a record's task; None if the task or a feature may be new."""
        if type(x) is not dict or "" in x:
            return None
        try:
            number: int | None = self._tasks.get(tabular.default_task(self._tasks) if task is None else task)
        except TypeError:  # an unhashable task
            return None
        return number
