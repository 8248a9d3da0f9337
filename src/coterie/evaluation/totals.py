"""Running totals of learners on a stream, at every doubling of the number of examples."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .costs import costs

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from numpy.typing import NDArray

    from .progressive import Trace


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
    >>> stretch = SimpleNamespace(wrong=np.array([True, False, False]), task=np.array([0, 1, 0]), tasks=("a", "b"))
    >>> totals = RunningTotals()
    >>> [(each.examples, each.tasks, each.error["together"]) for each in totals.add({"together": stretch})]
    [(1, 1, 1.0), (2, 2, 0.5)]
    >>> totals.now().examples
    3
    """

    def __init__(self) -> None:
        self._examples = 0
        self._next = 1
        self._tasks: set[Hashable] = set()
        self._costs: dict[str, float] = {}
        self._reported_at = 0
        self._reported: dict[str, float] = {}

    def add(self, traces: Mapping[str, Trace]) -> Iterator[Totals]:
        """Add the next stretch of every learner; yield the totals at each doubling within it.

        Parameters
        ----------
        traces : mapping of name to Trace
            All over the same rounds, the same names each time. O(rounds) time.
        """
        trace = next(iter(traces.values()))
        n, arrivals = len(trace.task), self._arrivals(trace)
        sums = {name: np.cumsum(costs(each), dtype=np.float64) for name, each in traces.items()}
        while self._next <= self._examples + n:
            yield self._report(self._next - self._examples, sums, arrivals)
            self._next *= 2
        self._costs = {name: self._upto(name, each, n) for name, each in sums.items()}
        self._tasks.update(trace.tasks)
        self._examples += n

    def now(self) -> Totals:
        """The totals of all that was added."""
        nothing: dict[str, NDArray[np.float64]] = dict.fromkeys(self._costs, np.zeros(0))
        return self._report(0, nothing, np.zeros(0, np.int64))

    def _arrivals(self, trace: Trace) -> NDArray[np.int64]:
        """The rounds in which a task comes for the first time, ascending."""
        _, first = np.unique(trace.task, return_index=True)
        new = [task not in self._tasks for task in trace.tasks]
        return np.sort(first[np.array(new, bool)])

    def _upto(self, name: str, sums: NDArray[np.float64], rounds: int) -> float:
        return self._costs.get(name, 0.0) + (float(sums[rounds - 1]) if rounds else 0.0)

    def _report(self, rounds: int, sums: Mapping[str, NDArray[np.float64]], arrivals: NDArray[np.int64]) -> Totals:
        examples, before = self._examples + rounds, self._reported
        tasks = len(self._tasks) + int(np.searchsorted(arrivals, rounds))
        total = {name: self._upto(name, each, rounds) for name, each in sums.items()}
        error = {name: _rate(cost, examples) for name, cost in total.items()}
        fresh = {name: cost - before.get(name, 0.0) for name, cost in total.items()}
        since = {name: _rate(cost, examples - self._reported_at) for name, cost in fresh.items()}
        self._reported_at, self._reported = examples, total
        return Totals(examples, tasks, error, since)


def _rate(cost: float, n: int) -> float:
    return cost / n if n else float("nan")
