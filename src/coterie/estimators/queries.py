"""Limits on the number of label queries, and the counts of queries."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from coterie import spec
from coterie._compiled.core.arrays import Dropped, enlarged, roomy
from coterie._compiled.core.checks import require, require_counts
from coterie._compiled.primal.query_decisions import Ever, QueryStrategy, Sliding, Unlimited
from coterie._compiled.trees import array_of
from coterie.tasks.index import Index, distinct_labels
from coterie.types import Array, Arrays, Json, Tree

_NO_LIMIT = int(np.iinfo(np.int64).max)


class LabelBudget(NamedTuple):
    """Limits on queries: ``labels`` per ``window`` rounds, ``per_task`` of them per task; None is no limit."""

    labels: int | None
    window: int | None
    per_task: int | float | None

    def check(self) -> None:
        """Raise ValueError if a limit is out of range, or has no effect.

        Raises
        ------
        ValueError
            The message names the parameter.
        """
        _require_count("budget", self.labels)
        _require_count("window", self.window)
        if isinstance(self.per_task, float):
            _require_share(self.per_task, self.labels)
        else:
            _require_count("per_task", self.per_task, "or a share of the budget between 0 and 1")
        if self.window is not None and self.labels is None and self.per_task is None:
            raise ValueError(f"window={self.window!r} needs a limit; set budget or per_task")

    @property
    def labels_per_task(self) -> int:
        """Return the largest number of queries allowed for each task."""
        if self.per_task is None:
            return _NO_LIMIT
        if isinstance(self.per_task, float):
            # rounded down, but a task that may have no label at all could never be learned
            return max(int(self.per_task * (self.labels or 0)), 1)
        return int(self.per_task)

    def limits(self) -> Tree:
        """Return the limits for compiled code, with zero counts."""
        total, no_tasks = _NO_LIMIT if self.labels is None else int(self.labels), np.zeros(0, np.int64)
        if self.labels is None and self.per_task is None:
            return Unlimited(_NO_LIMIT)
        if self.window is None:
            return Ever(total, self.labels_per_task, np.zeros(1, np.int64), no_tasks)
        ring = np.zeros(0, np.int64)
        return Sliding(
            total, self.labels_per_task, int(self.window), ring, ring.copy(), np.zeros(2, np.int64), no_tasks
        )


class Questions:
    """The state of selective sampling: the number of rounds, and the counts of queries if they are limited.

    Parameters
    ----------
    budget : Budget
        The limits.
    seed : int
        The seed of the uniform numbers, one per round.
    """

    def __init__(self, budget: LabelBudget, seed: int) -> None:
        self.seed = seed
        self.tasks = Index()
        self.clock = np.zeros(1, np.int64)
        self.limits = budget.limits()

    def __setstate__(self, state: Json) -> None:
        """Restore a pickled state with writeable arrays."""
        self.__dict__.update(copy.deepcopy(state))

    @property
    def spent(self) -> bool:
        """True if all queries of a budget without a window have been used."""
        return isinstance(self.limits, Ever) and bool(self.limits.count[0] >= self.limits.total)

    def query_strategy(
        self, query_probability: Tree, tasks: Sequence[Hashable] | Array, asked: Any = None
    ) -> QueryStrategy:
        """Return the query strategy for a batch with these tasks.

        Queries of the first records, ``asked``, have already been decided.
        """
        distinct, places = distinct_labels(tasks)
        spec.check_labels(self.tasks.new_among(distinct))
        self.tasks.add(distinct)
        owner = np.array([self.tasks.numbers[task] for task in distinct], np.int64)[places]
        self.limits = _make_room(self.limits, len(self.tasks), len(owner))
        answer = np.full(len(owner), -1, np.int8)
        if asked is not None:
            answer[: len(asked)] = asked
        return QueryStrategy(query_probability, self.limits, self.seed, self.clock, owner, answer)

    def forget(self, task: Hashable) -> None:
        """Remove a task and its count of queries; the total count remains."""
        if task not in self.tasks.numbers:
            return
        dropped = Dropped.plan([self.tasks.numbers[task]], len(self.tasks))
        self.tasks.drop(dropped)
        if isinstance(self.limits, (Ever, Sliding)):
            self.limits = self.limits._replace(held=enlarged(self.limits.held, dropped.known))
            dropped.move(self.limits.held)
        if isinstance(self.limits, Sliding):
            first, length = (int(end) for end in self.limits.ends)
            ring = (first + np.arange(length)) % max(len(self.limits.owners), 1)
            self.limits.owners[ring] = dropped.renumbered(self.limits.owners[ring])

    def dump(self) -> tuple[Json, Arrays]:
        """Return the known tasks as JSON data, and the counters of rounds and queries as named arrays."""
        limits = _without_room(self.limits, len(self.tasks))
        saved = {name: array.copy() for name, array in limits._asdict().items() if isinstance(array, np.ndarray)}
        return {"tasks": list(self.tasks.labels)}, {"clock": self.clock.copy(), **saved}

    def restore(self, data: Json, arrays: Arrays) -> None:
        """Restore the state from the result of :meth:`dump`.

        Raises
        ------
        ValueError
            If no sequence of queries has this state.
        """
        tasks = spec.labels_of(data["tasks"])
        self.tasks = Index(tasks)
        require(len(self.tasks) == len(tasks), "a task occurs twice among those asked about")
        self.clock = array_of(arrays, "clock", self.clock)
        require_counts("the clock of questions", self.clock, 1)
        own = [name for name, like in self.limits._asdict().items() if isinstance(like, np.ndarray)]
        restored = {name: array_of(arrays, name, getattr(self.limits, name)) for name in own}
        self.limits = self.limits._replace(**restored)
        self.limits.check(len(self.tasks))


def _make_room(limits: Tree, tasks: int, rounds: int) -> Tree:
    """Return the limits with capacity for this many tasks, and for queries in this many more rounds."""
    if not hasattr(limits, "held"):
        return limits
    limits = limits._replace(held=enlarged(limits.held, tasks))
    if not hasattr(limits, "rounds"):
        return limits
    # at most one label a round, and no more than the budget, can be in the window
    need = max(min(int(limits.ends[1]) + rounds, limits.total, limits.width), 1)
    return limits if need <= len(limits.rounds) else _with_ring(limits, roomy(len(limits.rounds), need))


def _without_room(limits: Tree, tasks: int) -> Tree:
    """Return the limits in saved form, without unused capacity."""
    if not hasattr(limits, "held"):
        return limits
    limits = limits._replace(held=limits.held[:tasks])
    return _with_ring(limits, int(limits.ends[1])) if hasattr(limits, "rounds") else limits


def _with_ring(limits: Sliding, size: int) -> Sliding:
    first, length = (int(end) for end in limits.ends)
    order = (first + np.arange(length)) % max(len(limits.rounds), 1)
    rounds, owners = np.zeros(size, np.int64), np.zeros(size, np.int64)
    rounds[:length], owners[:length] = limits.rounds[order], limits.owners[order]
    return limits._replace(rounds=rounds, owners=owners, ends=np.array([0, length]))


def _require_count(name: str, value: Any, more: str = "or None") -> None:
    if value is not None:
        spec.Setting(kind="whole", at_least=1, must=f"be a whole number of 1 or more, {more}").check(name, value)


def _require_share(share: float, labels: int | None) -> None:
    if not 0 < share <= 1:
        raise ValueError(f"per_task must be a whole number of labels or a share of the budget in (0, 1], got {share!r}")
    if labels is None:
        raise ValueError(f"per_task={share!r} is a share of the budget; set budget")
