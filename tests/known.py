"""Streams whose truth is known: what each label's probability, or each number's mean, was when it was drawn.

A few patients come daily and most come once or twice, so that tasks have from one to hundreds of records. Labels are
rare where ``base`` is low, numbers are as noisy as each task is, and ``odd`` is the share of tasks that are the other
way round.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import samples
from coterie.evaluation.trace import AmountTrace


@dataclass(frozen=True)
class Known:
    X: Any
    y: Any
    task: Any
    truth: Any  # the probability of a positive label, or the mean of the number
    seen: Any  # how many records of its task came before each

    def gains(self, ours, theirs):
        """The mean gain of each task if labels are drawn again and again: exactly, not from the labels that came."""
        n = np.bincount(self.task)
        if self.y.dtype == bool:
            (p, q), truth = (1 / (1 + np.exp(-trace.margin)) for trace in (ours, theirs)), self.truth
            gain = truth * np.log(p / q) + (1 - truth) * np.log((1 - p) / (1 - q))
        else:
            gain = (theirs.prediction - self.truth) ** 2 - (ours.prediction - self.truth) ** 2
        return np.bincount(self.task, gain) / n

    def trace(self, predicted):
        """The trace of a learner that predicted these log-odds, or these numbers."""
        tasks = tuple(range(int(self.task.max()) + 1))
        if self.y.dtype == bool:
            return samples.trace(predicted, self.y, self.task, tasks, probability=1 / (1 + np.exp(-predicted)))
        nothing = np.zeros(len(predicted), bool)
        return AmountTrace(
            predicted, predicted, predicted != self.y, nothing, ~nothing, self.y, self.task, tasks, np.zeros(0)
        )


def _order(seed, tasks, records):
    """The tasks of the records in the order of their arrival, how many of its task came before each, and the records."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(np.ceil(3 * rng.pareto(1.0, tasks) + 0.2), 800) if records is None else np.full(tasks, records)
    task = rng.permutation(np.repeat(np.arange(tasks), sizes.astype(int)))
    order = np.argsort(task, kind="stable")
    seen = np.empty(len(task), int)
    seen[order] = np.arange(len(task)) - np.searchsorted(task[order], task[order])
    return rng, task, seen, rng.normal(size=(len(task), 4))


def labels(seed, tasks=400, base=-2.0, odd=0.0, records=None, alike=True):
    """Labels that a common function of four columns makes likely, and what is each task's own."""
    rng, task, seen, X = _order(seed, tasks, records)
    own = rng.normal(0, 0.7, tasks)
    weights = np.array([1.2, -0.8, 0.5, 0.0]) + (0.0 if alike else 2.0) * rng.normal(size=(tasks, 4))
    weights[: int(odd * tasks)] *= -1
    truth = 1 / (1 + np.exp(-(base + own[task] + (X * weights[task]).sum(axis=1))))
    return Known(X, rng.random(len(task)) < truth, task, truth, seen)


def numbers(seed, tasks=400, odd=0.0, records=None, alike=True):
    """Numbers with a common slope, and each task's own level and noise."""
    rng, task, seen, X = _order(seed, tasks, records)
    level, noise = rng.normal(0, 2.0, tasks), np.exp(rng.normal(0, 0.4, tasks))
    weights = np.array([3.0, -2.0, 1.0, 0.0]) + (0.0 if alike else 4.0) * rng.normal(size=(tasks, 4))
    weights[: int(odd * tasks)] *= -1
    truth = 20.0 + level[task] + (X * weights[task]).sum(axis=1)
    return Known(X, truth + noise[task] * rng.standard_normal(len(task)), task, truth, seen)


def tell_intervals(model, X, y, task, inside):
    """Learn hundreds of records; add to each level, from the third on, which numbers are in the intervals told before."""
    for first in range(0, len(y), 100):
        rows = slice(first, first + 100)
        if first >= 200:
            for level, flags in inside.items():
                low, high = model.predict_interval(X[rows], task=task[rows], level=level).T
                flags += ((low <= y[rows]) & (y[rows] <= high)).tolist()
        model.partial_fit(X[rows], y[rows], task=task[rows])


def drawn(known, seed, off=0.4, slow=0.0, wrong=()):
    """A trace of predictions that are off the truth by chance, by more (``slow``) as long as a task is new.

    Those of the tasks ``wrong`` are off for good.
    """
    rng = np.random.default_rng(seed)
    exact = known.truth if known.y.dtype != bool else np.log(known.truth / (1 - known.truth))
    of_task = rng.normal(size=int(known.task.max()) + 1)[known.task]
    away = off * rng.normal(size=len(exact)) + slow * of_task / np.sqrt(1 + known.seen)
    away += 1.5 * np.isin(known.task, wrong) * np.sign(of_task)
    return known.trace(exact + away)


def as_good(known, trace):
    """A trace of other predictions whose expected loss in each record is that of a trace: its gains are 0."""
    if known.y.dtype != bool:
        return known.trace(2.0 * known.truth - trace.prediction)
    exact = np.log(known.truth / (1 - known.truth))

    def loss(log_odds):
        return np.logaddexp(0.0, log_odds) - known.truth * log_odds

    above, goal = trace.margin > exact, loss(trace.margin)
    least, most = np.where(above, -40.0, exact), np.where(above, exact, 40.0)
    for _ in range(60):
        middle = (least + most) / 2
        outside = (loss(middle) > goal) == above
        least, most = np.where(outside, middle, least), np.where(outside, most, middle)
    return known.trace(middle)


#: Noise of numbers: how it is drawn, with mean 0.
NOISE = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "Student, 4 degrees": lambda rng, n: rng.standard_t(4, n),
    "lognormal": lambda rng, n: rng.lognormal(0.0, 1.0, n) - np.exp(0.5),
    "large in 1 % of records": lambda rng, n: _rare(rng, n, 0.01),
    "large in 0.1 % of records": lambda rng, n: _rare(rng, n, 0.001),
}


def _rare(rng, n, share):
    """Amounts with mean 0.3 that are 0 in most records, with a little noise around it."""
    return (rng.random(n) < share) * rng.exponential(0.3 / share, n) - 0.3 + 0.1 * rng.standard_normal(n)


def off_by_task(known, seed, off=0.4):
    """A trace of predictions that are off the true means by a number of each task."""
    rng = np.random.default_rng(seed)
    return known.trace(known.truth + off * rng.normal(size=int(known.task.max()) + 1)[known.task])


def again(known, seed, noise=None):
    """The same records with labels drawn anew, numbers with this noise."""
    rng = np.random.default_rng(seed)
    if noise is not None:
        return replace(known, y=known.truth + NOISE[noise](rng, len(known.truth)))
    return replace(known, y=rng.random(len(known.truth)) < known.truth)
