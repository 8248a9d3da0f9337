"""Baselines computed from the labels only: the constant, and the running mean of each task.

**The constant** predicts the label that was most frequent until then, or the mean of numbers. A learner that is no
better has learned nothing useful. If a learner's margin is exactly zero, as it is for a task of which nothing was
learned, it prefers neither label: its user would then expect the usual one, so in a comparison such rounds are
predicted as the constant predicts them. To count them as the positive label, as ``predict`` does, would charge one
model per task with the first record of every task, and favour all models that it is compared with.

**The running mean** of each task is shrunk to that of all tasks. After n labels of a task with the sum s the prediction
is m + (s - n m) / (n + κ); m is the mean of all labels so far. For classes the same holds for the rate of each label,
and the prediction is the likelier of two labels: the most frequent one of the task, and that of all tasks. κ is that of
``STRENGTHS`` with the least loss so far: the squared error of numbers, else the log loss. With κ = ∞ the prediction is
that of the constant. Labels of records of weight 0 are not learned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import NamedTuple

import numpy as np

from coterie._compiled.core.checks import require
from coterie._compiled.core.counts import count_before
from coterie.types import Array, Flags, Floats, Ints, Json, Label

from .costs import AMOUNTS, log_losses
from .trace import LARGEST_RESIDUAL, BaseRate, LabelPrior, LabelRates, Trace

#: Their names among learners: the constant, and the running mean of labels and of numbers.
CONSTANT, RUNNING_RATE, RUNNING_MEAN = "constant", "running rate", "running mean"
#: The numbers of labels for which the mean of all tasks counts; of equally good ones the first is taken.
STRENGTHS = (inf, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
#: Rounds at once, so that memory does not grow with their number.
_CHUNK = 1 << 17


@dataclass(slots=True)
class LabelCounts:
    """Running counts of labels, with the most frequent label.

    For regression it has the sum of the labels, under the key None.
    """

    n: int = 0
    sums: dict[Label, float] = field(default_factory=dict)
    leader: Label = None

    def add(self, label: Label) -> None:
        """Count a label; if counts are equal, the label that reached the count first is the most frequent."""
        self.n += 1
        self.sums[label] = self.sums.get(label, 0.0) + 1.0
        # strictly more: a tie leaves the earlier leader, so that predictions do not flip on ties
        if self.leader is None or self.sums[label] > self.sums[self.leader]:
            self.leader = label

    def add_later(self, counts: LabelCounts, before: LabelCounts) -> None:
        """Add the labels that the counter ``counts`` has counted since ``before``, its own earlier state."""
        self.n += counts.n - before.n
        for label, count in counts.sums.items():
            self.sums[label] = self.sums.get(label, 0.0) + count - before.sums.get(label, 0.0)

    def base_rate(self, positive: Label = None) -> BaseRate:
        """Return the mean of numeric labels, or the frequency of the positive (or most frequent) label."""
        if not self.n:
            return BaseRate(None, float("nan"))
        if None in self.sums:
            return BaseRate(self.sums[None] / self.n, float("nan"))
        label = max(self.sums, key=self.sums.__getitem__) if positive is None else positive
        return BaseRate(label, self.sums.get(label, 0.0) / self.n)

    def to_saved(self) -> list[Label]:
        """Return the counts as JSON data."""
        return [self.n, [list(pair) for pair in self.sums.items()], self.leader]

    @classmethod
    def from_saved(cls, n: int, sums: Iterable[Sequence[Label]], leader: Label) -> LabelCounts:
        """Restore the counts from the result of :meth:`to_saved`."""
        return cls(n, dict(map(tuple, sums)), leader)


class RoundCounts(NamedTuple):
    """The counts that baselines need before each of R rounds: of all labels, and of the true and frequent ones.

    ``leaders`` are these two, of the task and of all tasks; ``known`` is the number of labels.
    """

    leaders: Array
    n: Floats
    total_n: Floats
    known: Array | int
    of_task: Floats
    of_all: Floats


class LabelBaselines:
    """The baselines that predict from labels only: the constant, and the running mean (or rate) of each task.

    Parameters
    ----------
    delay : int
        The number of records that are predicted between a record and its label.
    has_tasks : bool
        False for the constant alone.

    Attributes
    ----------
    total : LabelCounts
        Counts of all labels so far.
    tasks : dict of task to LabelCounts
        Counts of the labels of each task.
    losses : ndarray
        The sum of losses so far with each strength of shrinking a task's mean towards that of all tasks (``STRENGTHS``,
        in numbers of labels).

    Examples
    --------
    >>> import coterie as ct
    >>> y, task = [2.0, 8.0, 2.0, 8.0, 2.0], ["a", "b", "a", "b", "a"]
    >>> trace = ct.progressive_validation(ct.MultitaskRegressor(), [[1.0]] * 5, y, task=task)
    >>> for name, baseline in LabelBaselines().predict_next(trace).items():
    ...     print(name, baseline.prediction.round(2).tolist())
    running mean [0.0, 2.0, 5.0, 7.64, 2.14]
    constant [0.0, 2.0, 5.0, 4.0, 5.0]
    """

    def __init__(self, delay: int = 0, has_tasks: bool = True) -> None:
        self._delay, self._has_tasks = delay, has_tasks
        self.total, self.tasks, self.losses = LabelCounts(), dict[Hashable, LabelCounts](), np.zeros(len(STRENGTHS))
        self._late, self._late_losses = deque[tuple[Hashable, Label, bool]](), np.zeros((0, len(STRENGTHS)))

    def predict_next(self, trace: Trace) -> dict[str, Trace]:
        """Predict the rounds of a learner's trace, and then count their labels.

        The constant for two labels: with p of n labels positive so far, the probability is (p + ½) / (n + 1) and the
        margin its log-odds; ties go to the positive label. For many classes ties go to the first label to reach the
        count.
        """
        labels, spans = np.asarray(trace.label, object), range(0, max(trace.n, 1), _CHUNK)
        chunks = [slice(first, first + _CHUNK) for first in spans]
        learned = np.ones(trace.n, bool) if trace.weight is None else trace.weight > 0.0
        parts = [
            self._predict_chunk(trace.tasks, trace.task[rows], labels[rows], learned[rows], trace.prior)
            for rows in chunks
        ]
        running, constant, (known, of_label) = (
            map(np.concatenate, zip(*columns, strict=True)) for columns in zip(*parts, strict=True)
        )
        fields = {RUNNING_MEAN if trace.words is AMOUNTS else RUNNING_RATE: trace.running_fields(LabelRates(*running))}
        fields = fields if self._has_tasks else {}
        fields[CONSTANT] = trace.constant_fields(LabelRates(*constant), known, of_label)
        unmoved, blind = np.zeros(len(labels), bool), (known == 0) | np.array(trace.blind, bool)
        moves: Json = {"updated": unmoved, "queried": ~unmoved, "stored": None, "evicted": None, "blind": blind}
        return {name: replace(trace, **columns, **moves) for name, columns in fields.items()}

    def add_to(self, traces: Mapping[str, Trace]) -> dict[str, Trace]:
        """Add the next rounds of the baselines to the traces of learners over the same rounds.

        If a learner's margin is zero, its prediction is replaced by the constant's. Baselines have probabilities if
        a learner has.
        """
        baselines = self.predict_next(next(iter(traces.values())))
        if all(trace.probability is None for trace in traces.values()):
            baselines = {name: replace(trace, probability=None) for name, trace in baselines.items()}
        constant = baselines[CONSTANT]
        return {
            name: replace(trace.settle(constant), blind=constant.blind) for name, trace in traces.items()
        } | baselines

    def _predict_chunk(
        self, tasks: Sequence[Hashable], task: Ints, labels: Array, learned: Flags, prior: LabelPrior
    ) -> tuple[LabelRates, LabelRates, tuple[Floats, Floats]]:
        """Predict rounds, each from the labels that arrived before it, and count these labels.

        ``task`` numbers the task of each round among ``tasks``, ``learned`` are the labels to count, and ``prior`` is
        the prior of label frequencies.
        """
        # labels known before each round, counted from the first one still to come; the last entry is after the chunk
        come = np.maximum(np.arange(len(labels) + 1) + len(self._late) - self._delay, 0)
        count = self._count_two if prior.labels else self._count_many
        leaders, n, total_n, known, of_task, of_all = count(tasks, task, labels, learned, come, prior)
        mean = (of_all + prior.half) / np.maximum(total_n + prior.half * known, 1.0)
        # of many labels one that has not occurred has no rate; each of two labels begins at one half
        mean = np.where(of_all != 0, mean, mean if prior.labels else 0.0)
        # m + (s - n m) / (n + κ) for every κ at once; an infinite one leaves the mean of all tasks
        rates = mean[..., None] + (of_task - n * mean)[..., None] / (n[:, None] + STRENGTHS)
        losses = np.concatenate([self._late_losses, learned[:, None] * _losses(rates[0], labels, prior)])
        before = np.cumsum(np.concatenate([self.losses[None], losses]), axis=0)
        # losses of rounds with delayed labels are counted when the labels arrive, perhaps in a later chunk
        self.losses, self._late_losses = before[come[-1]], losses[come[-1] :]
        # follow the leader over κ, by losses of rounds whose labels have come: no hindsight
        chosen = before[come[:-1]].argmin(axis=1)[None, :, None]
        # rows: the true label and, of many classes, the leaders of the task and of all tasks
        of_label, of_own, of_total = np.take_along_axis(rates, chosen, 2)[[0, len(rates) // 2, -1], :, 0]
        running = LabelRates(
            of_label, np.where(of_own > of_total, leaders[0], leaders[1]), np.maximum(of_own, of_total)
        )
        return running, LabelRates(mean[0], leaders[1], mean[-1]), (total_n, of_all[0])

    def _count_two(
        self, tasks: Sequence[Hashable], task: Ints, labels: Array, learned: Flags, come: Ints, prior: LabelPrior
    ) -> RoundCounts:
        """Count the labels before each round of a two-class stream, or sum numeric labels, with array operations."""
        total, late, first = self.total, len(self._late), int(come[-1])
        present, codes = np.unique(task, return_inverse=True)
        names = list(dict.fromkeys([*(tasks[k] for k in present.tolist()), *(name for name, *_ in self._late)]))
        number = {name: k for k, name in enumerate(names)}
        codes = np.concatenate([np.array([number[name] for name, *_ in self._late], np.int64), codes])
        joined = np.concatenate([np.array([label for _, label, _ in self._late], object), labels])
        learned = np.concatenate([np.array([is_learned for *_, is_learned in self._late], bool), learned])
        key = next(iter(total.sums), joined[0] if len(joined) and prior.half else None)
        values = (joined == key if prior.half else joined).astype(np.float64)
        known = [self.tasks.get(name) or LabelCounts() for name in names]
        n = np.array([counts.n for counts in known], np.float64)
        sums = np.array([counts.sums.get(key, 0.0) for counts in known])
        own_n, of_task = count_before(codes, values, learned, come, late, n, sums)
        all_sums = np.cumsum([total.sums.get(key, 0.0), *(values * learned)[:first]])
        all_n = np.cumsum([float(total.n), *learned[:first]])
        total_n, of_all = all_n[come[:-1]], all_sums[come[:-1]]
        if prior.half:
            mine = values[late:] == 1.0
            of_task, of_all = np.where(mine, of_task, own_n - of_task), np.where(mine, of_all, total_n - of_all)

        other = next((label for label in (*total.sums, *joined.tolist()) if label != key), None)

        def update(counts: LabelCounts, n: float, count: float) -> None:
            counts.n, counts.sums[key] = int(n), count
            if prior.half and n > count:
                counts.sums[other] = n - count

        for k in dict.fromkeys(codes[:first].tolist()):
            update(known[k], float(n[k]), float(sums[k]))
            self.tasks[names[k]] = known[k]
        update(total, float(all_n[-1]), float(all_sums[-1]))
        late_names = [names[k] for k in codes[first:].tolist()]
        self._late = deque(zip(late_names, joined[first:].tolist(), learned[first:].tolist(), strict=True))
        return RoundCounts(np.full((2, len(labels)), None), own_n, total_n, prior.labels, of_task[None], of_all[None])

    def _count_many(
        self, tasks: Sequence[Hashable], task: Ints, labels: Array, learned: Flags, come: Ints, prior: LabelPrior
    ) -> RoundCounts:
        """Count the labels before each round of a multiclass stream, one by one."""
        rows, new, total = [], LabelCounts(), self.total
        leaders = np.empty((2, len(labels)), object)
        named = [tasks[k] for k in task.tolist()]
        for t, (name, label, is_learned) in enumerate(zip(named, labels.tolist(), learned.tolist(), strict=True)):
            own = self.tasks.get(name, new)
            keys = label, own.leader, total.leader
            leaders[0, t], leaders[1, t] = keys[1:]
            sums = (counts.sums.get(key, 0.0) for counts in (own, total) for key in keys)
            rows.append((own.n, total.n, len(total.sums), *sums))
            self._late.append((name, label, is_learned))
            if len(self._late) > self._delay:
                name, label, is_learned = self._late.popleft()
                if is_learned:
                    total.add(label)
                    self.tasks.setdefault(name, LabelCounts()).add(label)
        n, total_n, known, *counts = np.array(rows, np.float64).reshape(-1, 9).T
        return RoundCounts(leaders, n, total_n, known, np.array(counts[:3]), np.array(counts[3:]))

    def to_saved(self) -> Json:
        """Return the counts and losses as JSON data, without labels that have not arrived."""
        tasks = [[task, *counts.to_saved()] for task, counts in self.tasks.items()]
        return {"tasks": tasks, "total": self.total.to_saved(), "losses": self.losses.tolist()}

    @classmethod
    def from_saved(cls, saved: Json) -> LabelBaselines:
        """Restore the baselines from the result of :meth:`to_saved`."""
        result = cls()
        result.tasks = {task: LabelCounts.from_saved(*counts) for task, *counts in saved["tasks"]}
        result.total, result.losses = LabelCounts.from_saved(*saved["total"]), np.array(saved["losses"], np.float64)
        require(result.losses.shape == (len(STRENGTHS),), "the losses of the running mean are of other strengths")
        return result

    def forget(self, tasks: Iterable[Hashable]) -> None:
        """Remove the label counts of tasks; the totals are unchanged."""
        for task in tasks:
            self.tasks.pop(task, None)


def _losses(rates: Floats, labels: Array, prior: LabelPrior) -> Floats:
    """Return the loss of each round for predicted means of numbers, or predicted rates of the true labels."""
    if prior.half:
        return log_losses(rates)
    return np.clip(labels.astype(np.float64)[:, None] - rates, -LARGEST_RESIDUAL, LARGEST_RESIDUAL) ** 2
