"""Running totals of learners on a stream, at every doubling of the number of examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from .trace import Trace


class Totals(NamedTuple):
    """The errors of learners after some examples.

    Attributes
    ----------
    examples, tasks : int
        The numbers of examples and of their tasks.
    error : dict of str to float
        Mistakes an example since the start, or their mean cost, by learner.
    since : dict of str to float
        The same since the totals reported before.
    """

    examples: int
    tasks: int
    error: dict[str, float]
    since: dict[str, float]


class RunningTotals:
    """A sum over the traces of consecutive stretches of one stream; O(1) memory except for the set of tasks.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> stretch = SimpleNamespace(costs=np.array([True, False, False]), task=np.array([0, 1, 0]), tasks=("a", "b"))
    >>> totals = RunningTotals()
    >>> [(each.examples, each.tasks, each.error["together"]) for each in totals.add({"together": stretch})]
    [(1, 1, 1.0), (2, 2, 0.5)]
    >>> totals.now().examples
    3
    """

    def __init__(self) -> None:
        self._examples, self._reported_at = 0, 0
        self._tasks: set[Hashable] = set()
        self._costs: dict[str, float] = {}
        self._reported: dict[str, float] = {}

    def add(self, traces: Mapping[str, Trace]) -> Iterator[Totals]:
        """Add the next stretch of every learner; yield the totals at each doubling within it.

        Parameters
        ----------
        traces : mapping of name to Trace
            All over the same rounds, the same names each time. O(rounds) time.
        """
        trace, first = next(iter(traces.values())), 0
        found = {name: each.costs for name, each in traces.items()}
        while first < len(trace.task):
            last = first + (1 << self._examples.bit_length()) - self._examples  # the next power of two
            self._tasks.update(trace.tasks[i] for i in np.unique(trace.task[first:last]).tolist())
            for name, each in found.items():
                self._costs[name] = self._costs.get(name, 0.0) + float(each[first:last].sum())
            self._examples += len(trace.task[first:last])
            if last <= len(trace.task):
                yield self.now()
            first = last

    def now(self) -> Totals:
        """The totals of all that was added, and since this was asked before."""
        examples, before, at = self._examples, self._reported, self._reported_at
        error = {name: _rate(cost, examples) for name, cost in self._costs.items()}
        since = {name: _rate(cost - before.get(name, 0.0), examples - at) for name, cost in self._costs.items()}
        self._reported_at, self._reported = examples, dict(self._costs)
        return Totals(examples, len(self._tasks), error, since)


def _rate(cost: float, n: int) -> float:
    return cost / n if n else float("nan")
