"""The running mean of each task, shrunk to that of all tasks: a baseline without features.

After n labels of a task with the sum s the prediction is m + (s - n m) / (n + κ); m is the mean of all labels so far.
For classes the same holds for the rate of each label, and the prediction is the likelier of two
labels: the most frequent one of the task, and that of all tasks. κ is that of ``STRENGTHS`` with the least loss so far:
the squared error of numbers, else the log loss. With κ = ∞ the prediction is that of the constant.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie.numeric.core.checks import require

from .costs import AMOUNTS, log_losses, words_of
from .trace import Trace

if TYPE_CHECKING:
    from coterie.types import Floats, Ints

#: Its names among learners: for labels, and for numbers.
RUNNING_RATE, RUNNING_MEAN = "running rate", "running mean"
#: The numbers of labels for which the mean of all tasks counts; of equally good ones the first is taken.
STRENGTHS = (inf, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
#: Rounds at once, so that memory does not grow with their number.
_CHUNK = 1 << 17
#: The largest residual, so that sums of products of its powers are finite.
LARGEST_RESIDUAL = 1e45


@dataclass(slots=True)
class Totals:
    """The number of labels, how often each came, and the most frequent one; of numbers the sum, under None."""

    n: int = 0
    sums: dict[Any, float] = field(default_factory=dict)
    leader: Any = None

    def add(self, label: Any) -> None:
        """Count a label."""
        self.n += 1
        self.sums[label] = self.sums.get(label, 0.0) + 1.0
        if self.leader is None or self.sums[label] > self.sums[self.leader]:
            self.leader = label


class Prior(NamedTuple):
    """What is added to the count of each label, 0 for numbers, and the number of labels, 0 if they come as they may."""

    half: float
    labels: int


class Rates(NamedTuple):
    """The rates before each round: the mean of numbers or the rate of the true label, and the likelier label's."""

    of_label: Floats
    likeliest: Any
    of_likeliest: Floats


class Counts(NamedTuple):
    """Counts before each of R rounds: of all labels, and of the true label and, of many, the two most frequent ones.

    ``leaders`` are these two, of the task and of all tasks; ``known`` is the number of labels.
    """

    leaders: Any
    n: Floats
    whole_n: Floats
    known: Any
    of_task: Floats
    of_all: Floats


class RunningMean:
    """Predict the running mean or rate of each task along a stream; O(1) time per record.

    Parameters
    ----------
    delay : int
        The number of records that are predicted between a record and its label.

    Attributes
    ----------
    total : Totals
        Of all labels so far.
    tasks : dict of task to Totals
        Of the labels of each task.
    losses : ndarray
        The sum of losses so far with each of ``STRENGTHS``.

    Examples
    --------
    >>> import coterie as ct
    >>> y, task = [2.0, 8.0, 2.0, 8.0, 2.0], ["a", "b", "a", "b", "a"]
    >>> trace = ct.progressive_validation(ct.MultitaskRegressor(), [[1.0]] * 5, y, task=task)
    >>> RunningMean().along(trace).prediction.round(2).tolist()
    [0.0, 2.0, 5.0, 7.64, 2.14]
    """

    def __init__(self, delay: int = 0) -> None:
        self._delay = delay
        self.total, self.tasks, self.losses = Totals(), dict[Hashable, Totals](), np.zeros(len(STRENGTHS))
        self._late, self._late_losses = deque[tuple[Hashable, Any]](), np.zeros((0, len(STRENGTHS)))

    @staticmethod
    def name_in(trace: Trace) -> str:
        """Return its name among learners with such traces."""
        return RUNNING_MEAN if words_of(trace) is AMOUNTS else RUNNING_RATE

    def along(self, trace: Trace) -> Trace:
        """Predict the next rounds, those of a learner's trace."""
        labels, tasks = np.asarray(trace.label, object).tolist(), [trace.tasks[k] for k in trace.task.tolist()]
        starts, prior = range(0, max(len(labels), 1), _CHUNK), prior_of(trace)
        parts = [self._rates(tasks[i : i + _CHUNK], labels[i : i + _CHUNK], prior) for i in starts]
        rates = Rates(*map(np.concatenate, zip(*parts, strict=True)))
        nothing = np.zeros(len(labels), bool)
        moves: dict[str, Any] = {"updated": nothing, "queried": ~nothing, "stored": None, "evicted": None}
        return replace(trace, **fields_of(trace, rates), **moves, weights=None)

    def _rates(self, tasks: Sequence[Hashable], labels: Sequence[Any], prior: Prior) -> Rates:
        """Predict some rounds and learn the labels that come meanwhile: counts in a loop, all else in columns."""
        come = np.maximum(np.arange(len(labels) + 1) + len(self._late) - self._delay, 0)
        count = self._count_two if prior.labels else self._count_many
        leaders, n, whole_n, known, of_task, of_all = count(tasks, labels, come, prior)
        mean = (of_all + prior.half) / np.maximum(whole_n + prior.half * known, 1.0)
        mean = np.where(of_all != 0, mean, mean if prior.labels else 0.0)
        rates = mean[..., None] + (of_task - n * mean)[..., None] / (n[:, None] + STRENGTHS)
        losses = np.concatenate([self._late_losses, _losses(rates[0], labels, prior)])
        before = np.cumsum(np.concatenate([self.losses[None], losses]), axis=0)
        self.losses, self._late_losses = before[come[-1]], losses[come[-1] :]
        chosen = before[come[:-1]].argmin(axis=1)[None, :, None]
        of_label, of_own, of_whole = np.take_along_axis(rates, chosen, 2)[[0, len(rates) // 2, -1], :, 0]
        return Rates(of_label, np.where(of_own > of_whole, *leaders), np.maximum(of_own, of_whole))

    def _count_two(self, tasks: Sequence[Hashable], labels: Sequence[Any], come: Ints, prior: Prior) -> Counts:
        """Count labels of which there are two by one of them, or add up numbers, which are much faster than any."""
        joined, total = [*self._late, *zip(tasks, labels, strict=True)], self.total
        label = (joined[0][1] if joined else None) if prior.half else None
        key, waiting = next(iter(total.sums), label), len(self._late)
        number = {task: k for k, task in enumerate(dict.fromkeys([task for task, _ in joined]))}
        known = [self.tasks.get(task) or Totals() for task in number]
        n, sums = [each.n for each in known], [each.sums.get(key, 0.0) for each in known]
        codes = [number[task] for task, _ in joined]
        values = [float(label == key) if prior.half else label for _, label in joined]
        before_n, before, first = [0] * len(labels), [0.0] * len(labels), 0
        for t, end in enumerate(come.tolist()):
            while first < end:
                k = codes[first]
                n[k] += 1
                sums[k] += values[first]
                first += 1
            if t < len(labels):
                k = codes[waiting + t]
                before_n[t], before[t] = n[k], sums[k]
        other = next((label for label in (*total.sums, *(label for _, label in joined)) if label != key), None)
        whole = np.cumsum([total.sums.get(key, 0.0), *values[:first]])
        own_n, of_task = np.array(before_n, np.float64), np.array(before, np.float64)
        whole_n, of_all = (total.n + come[:-1]).astype(np.float64), whole[come[:-1]]
        if prior.half:
            mine = np.array(values[waiting:], bool)
            of_task, of_all = np.where(mine, of_task, own_n - of_task), np.where(mine, of_all, whole_n - of_all)

        def update(counts: Totals, n: int, count: float) -> None:
            counts.n, counts.sums[key] = n, count
            if prior.half and n > count:
                counts.sums[other] = n - count

        names = list(number)
        for k in dict.fromkeys(codes[:first]):
            update(known[k], n[k], sums[k])
            self.tasks[names[k]] = known[k]
        update(total, total.n + first, float(whole[-1]))
        self._late = deque(joined[first:])
        return Counts(np.full((2, len(labels)), None), own_n, whole_n, prior.labels, of_task[None], of_all[None])

    def _count_many(self, tasks: Sequence[Hashable], labels: Sequence[Any], come: Ints, prior: Prior) -> Counts:
        """Count labels of any number: the true one, the most frequent one of the task, and that of all tasks."""
        rows, new, total = [], Totals(), self.total
        leaders = np.empty((2, len(labels)), object)
        for t, (task, label) in enumerate(zip(tasks, labels, strict=True)):
            own = self.tasks.get(task, new)
            keys = label, own.leader, total.leader
            leaders[0, t], leaders[1, t] = keys[1:]
            sums = (each.sums.get(key, 0.0) for each in (own, total) for key in keys)
            rows.append((own.n, total.n, len(total.sums), *sums))
            self._late.append((task, label))
            if len(self._late) > self._delay:
                task, label = self._late.popleft()
                total.add(label)
                self.tasks.setdefault(task, Totals()).add(label)
        n, whole_n, known, *counts = np.array(rows, np.float64).reshape(-1, 9).T
        return Counts(leaders, n, whole_n, known, np.array(counts[:3]), np.array(counts[3:]))

    def to_saved(self) -> dict[str, Any]:
        """Return the totals and losses as data with a JSON form; labels that are still to come are not among them."""
        tasks = [[task, *_fields(each)] for task, each in self.tasks.items()]
        return {"tasks": tasks, "total": _fields(self.total), "losses": self.losses.tolist()}

    @classmethod
    def from_saved(cls, saved: dict[str, Any]) -> RunningMean:
        """Undo :meth:`to_saved`."""
        result = cls()
        result.tasks = {task: _totals(*each) for task, *each in saved["tasks"]}
        result.total, result.losses = _totals(*saved["total"]), np.array(saved["losses"], np.float64)
        require(result.losses.shape == (len(STRENGTHS),), "the losses of the running mean are of other strengths")
        return result

    def forget(self, tasks: Iterable[Hashable]) -> None:
        """Forget the labels of tasks; the totals stay."""
        for task in tasks:
            self.tasks.pop(task, None)


def _fields(totals: Totals) -> list[Any]:
    return [totals.n, [list(pair) for pair in totals.sums.items()], totals.leader]


def _totals(n: int, sums: Iterable[Sequence[Any]], leader: Any) -> Totals:
    return Totals(n, dict(map(tuple, sums)), leader)


def _losses(rates: Floats, labels: Sequence[Any], prior: Prior) -> Floats:
    """The losses of means of numbers, or of rates of the true labels."""
    if prior.half:
        return log_losses(rates)
    return np.clip(np.array(labels, np.float64)[:, None] - rates, -LARGEST_RESIDUAL, LARGEST_RESIDUAL) ** 2


@singledispatch
def prior_of(trace: Trace) -> Prior:
    """The prior of the mean of all labels: for two labels (count + ½) / (n + 1), as the constant has it."""
    return Prior(0.5, 2)


@singledispatch
def fields_of(trace: Trace, rates: Rates) -> dict[str, Any]:
    """The margins, predictions, mistakes and probabilities of the running mean, as a trace of this kind has them."""
    if not len(trace.classes):
        return {}
    positive = np.asarray(trace.label == trace.classes[-1], bool)
    probability = np.where(positive, rates.of_label, 1.0 - rates.of_label)
    margin = np.log(probability / (1.0 - probability))
    return {
        "margin": margin,
        "prediction": trace.classes[np.where(margin >= 0, -1, 0)],
        "mistake": np.where(positive, margin, -margin) <= 0,
        "probability": probability,
    }
