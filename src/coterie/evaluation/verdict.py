"""The verdict on multitask learning, on average and for each task: is the learner better than a baseline.

A round's **gain** is the other learner's loss minus the learner's own, positive if the learner was better. The loss is
the log loss if both have probabilities, the squared error of numbers, and otherwise 1 for a wrong label.

* The headline is the plain mean of the tasks' mean gains, with Student's interval over the tasks. With fewer than ten
  tasks it is an interval for these tasks only, computed from their own intervals
  (:func:`coterie.evaluation.confidence_intervals.mean_of_tasks`). The same is computed for each size class, from tasks
  of one or two records to those of more than 300.
* A task's own gain is the mean over its rounds, with an interval whose noise follows from the predictions, see
  :mod:`coterie.evaluation.noise`. It makes no assumptions about the other tasks' gains.
* A task is ``"helped"`` (``"hurt"``) if Benjamini and Hochberg's procedure selects it at a false discovery rate of
  1 - confidence, and its interval lies above (below) zero. All others are ``"unclear"``. Gains and losses have one
  procedure each: the rate is that of the tasks called helped, and that of the tasks called hurt, not of both together.
* The learner is also compared with the **constant** (:mod:`coterie.evaluation.baselines`). If that is as good, or if
  every task has a single record, there is no evidence for learning together: no task is called, and there is no advice.

Rounds are treated as independent, which is only roughly true while a learner continues to learn.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coterie._compiled.trees import strip_prefix
from coterie.types import Arrays, Flags, Json
from coterie.wording import SPOKEN, counted, digits_of, listed, spoken

from .baselines import CONSTANT, LabelBaselines
from .confidence_intervals import mean_of_tasks, normal_interval
from .costs import RATES, CostWords
from .noise import SIZES, class_of_size, select_discoveries
from .paired_sums import Pair
from .trace import BaseRate, ratio

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from coterie.types import Floats, Ints

    from .trace import Trace


#: Gains with an interval within this fraction of the loss count as equal performance.
_ALIKE = 0.02


class Gain(NamedTuple):
    """The mean difference of the losses of two learners on a set of rounds, with its confidence interval.

    Attributes
    ----------
    n : int
        Rounds.
    error, error_against : float
        Mean error, or loss, of the learner and of the one it is compared with.
    gain, low, high : float
        ``error_against - error`` and its interval.
    """

    n: int
    error: float
    error_against: float
    gain: float
    low: float
    high: float


class SizeBucket(NamedTuple):
    """The mean gain of the tasks with ``least`` to ``most`` records.

    Attributes
    ----------
    least, most : int
        The fewest and the most records of such a task; of the largest tasks ``most`` is None.
    tasks : int
        The number of tasks.
    gain, low, high : float
        The mean gain of a task and its interval.
    """

    least: int
    most: int | None
    tasks: int
    gain: float
    low: float
    high: float

    @property
    def records(self) -> str:
        """The range of the number of records, as text.

        >>> SizeBucket(3, 10, 1, 0.0, 0.0, 0.0).records, SizeBucket(301, None, 1, 0.0, 0.0, 0.0).records
        ('3 to 10', 'more than 300')
        """
        if self.most is None:
            return f"more than {self.least - 1:,}"
        return f"{self.least:,} {'or' if self.most == self.least + 1 else 'to'} {self.most:,}"


#: The sentence before the advice if only the errors are clearly fewer.
ERRS_LESS = "It errs less over all examples. "


@dataclass(frozen=True, repr=False)
class Verdict:
    """The verdict: gains on average, by size of task, and for each task; and a comparison with the constant.

    Attributes
    ----------
    tasks : tuple
        The K task labels; entry i of every array belongs to ``tasks[i]``.
    confidence : float
        The level of all intervals; 1 - ``confidence`` is the false discovery rate of helped and of hurt tasks.
    n : ndarray of int64, shape (K,)
        Rounds of each task.
    error, error_against : ndarray, shape (K,)
        Errors of the learner and of the one it is compared with; nan for a task without rounds.
    gain, low, high : ndarray, shape (K,)
        The mean gain in loss over the task's own rounds, and its interval; nan for a task without rounds.
    outcome : ndarray of str, shape (K,)
        ``"helped"``, ``"hurt"`` or ``"unclear"``.
    average : Gain
        The mean of the tasks' gains in loss and its interval; ``error`` and ``error_against`` are means over all
        rounds.
    sizes : tuple of SizeBucket
        The mean gain by class of size, the smallest tasks first; classes without tasks are left out.
    overall : Gain
        The gain in errors over all rounds.
    constant, constant_error : Gain
        The gains of the learner over the constant, over all rounds, in loss and in errors.
    base_rate : BaseRate
        The base rate of the labels.
    words, loss : CostWords
        The names and formats of errors and losses.
    name, against : str
        The names of the two learners.
    best : Verdict or None
        The verdict against the best baseline, if the headline is about it.
    """

    tasks: tuple[Hashable, ...]
    confidence: float
    n: Ints
    error: Floats
    error_against: Floats
    gain: Floats
    low: Floats
    high: Floats
    outcome: NDArray[np.str_]
    average: Gain
    sizes: tuple[SizeBucket, ...]
    overall: Gain
    constant: Gain
    constant_error: Gain
    base_rate: BaseRate
    words: CostWords = RATES
    loss: CostWords = RATES

    name: str = "learning together"
    against: str = "one model per task"
    best: Verdict | None = None

    def __str__(self) -> str:
        """Return the verdict as a few sentences."""
        return self.sentence()

    def __repr__(self) -> str:
        """Return the numbers of tasks helped, hurt and unclear; ``print`` shows the sentences."""
        counts = ", ".join(f"{(self.outcome == name).sum():,} {name}" for name in ("helped", "hurt", "unclear"))
        return f"<Verdict on {counted(len(self.tasks), 'task')}: {counts}>"

    def row(self, i: int) -> list[str]:
        """Return the table row of task i: name, records, both errors, gain, interval, outcome."""
        errors = (self.words.value(error[i]) for error in (self.error_against, self.error))
        gain = shown_gain(self.loss, self.gain[i], self.low[i], self.high[i])
        return [str(self.tasks[i]), f"{self.n[i]:,}", *errors, *gain, str(self.outcome[i])]

    def task_heads(self, *names: str) -> list[str]:
        """Return the column headings of :meth:`row`; ``names`` are the learner compared against, and the learner."""
        errors = [name if self.words is RATES else f"{name}: {self.words.error}" for name in names]
        return ["task", "examples", *errors, self.loss.gain, self.level, "outcome"]

    @property
    def level(self) -> str:
        """The confidence level of the intervals, as a column heading."""
        return f"{100 * self.confidence:g} % interval"

    @property
    def size_rows(self) -> list[list[str]]:
        """The table of gains by size class."""
        return [
            [size.records, f"{size.tasks:,}", *shown_gain(self.loss, size.gain, size.low, size.high)]
            for size in self.sizes
        ]

    @property
    def helped(self) -> tuple[Hashable, ...]:
        """The tasks helped by sharing, sorted by the lower end of the gain's interval, largest first."""
        return tuple(self.tasks[i] for i in self.ordered("helped"))

    @property
    def hurt(self) -> tuple[Hashable, ...]:
        """The tasks hurt by sharing, sorted by the upper end of the gain's interval, smallest first."""
        return tuple(self.tasks[i] for i in self.ordered("hurt"))

    @property
    def better(self) -> bool:
        """True if the learner is significantly better, in the mean gain over tasks or in the error over all rounds."""
        return self.average.low > 0 or self.overall.low > 0

    @property
    def worse(self) -> bool:
        """True if the learner is significantly worse, in the mean gain over tasks or in the error over all rounds."""
        return self.average.high < 0 or self.overall.high < 0

    @property
    def beats_constant(self) -> bool:
        """True if the learner has a significantly smaller loss than the constant."""
        return self.constant.low > 0

    @property
    def says_something(self) -> bool:
        """True if the verdict can be used: the learner beats the constant, and some task has more than one record."""
        return self.beats_constant and not self.single_records

    @property
    def single_records(self) -> bool:
        """True if every task has only one record."""
        return len(self.tasks) > 1 and bool((self.n <= 1).all())

    def ordered(self, outcome: str) -> Ints:
        """Return the indices of the tasks with this outcome, most certain first; O(K log K) for K tasks."""
        chosen = np.flatnonzero(self.outcome == outcome)
        surest = self.high if outcome == "hurt" else -self.low
        return chosen[np.argsort(surest[chosen], kind="stable")]

    def headline(self) -> str:
        """Return the mean gain over tasks and its interval, as one sentence.

        If the constant is as good, the sentence compares with the constant only. Otherwise it compares with the best
        baseline if that is known.
        """
        if self.best is not None:
            return self.best.headline()
        if self.overall.n == 0:
            return "There are no examples to compare."
        words = self.loss
        if not self.beats_constant:
            verb = "better than" if self.constant.high < 0 else "as well as"
            gain, interval = _in_words(self, self.constant)
            over = f"gain in {words.error} {gain}, {interval}"
            return f"A constant guess does {verb} {self.name} ({over})."
        what = f"tasks' mean {words.error}" if len(self.tasks) > 1 else f"mean {words.error}"
        average, name = self.average, _capital(self.name)
        if average.low > 0:
            change, interval = _in_words(self, average)
            return f"{name} cut the {what} by {change} ({interval}) against {self.against}."
        if average.high < 0:
            turned = average._replace(gain=-average.gain, low=-average.high, high=-average.low)
            change, interval = _in_words(self, turned)
            return f"{name} raised the {what} by {change} ({interval}) against {self.against}."
        change, interval = _in_words(self, self.average)
        return f"{name} did not clearly change {what} (gain {change}, {interval}) against {self.against}."

    def remarks(self) -> list[str]:
        """Return the sentences after the headline: tasks helped and hurt, limits, recommendation."""
        if self.overall.n == 0:
            return []
        return [*filter(None, (tasks_called(self), reserve(self), _advice(self)))]

    def sentence(self) -> str:
        """Return the headline, the errors over all rounds, and the remarks.

        Examples
        --------
        >>> import coterie as ct
        >>> rng = np.random.default_rng(0)
        >>> X, user = rng.normal(size=(2000, 10)), rng.integers(20, size=2000)
        >>> likes = X.sum(axis=1) > 0
        >>> traces = ct.compare({"together": ct.MultitaskPerceptron()}, X, likes, task=user).traces
        >>> print(verdict(traces["together"], traces["independent"]).sentence())
        Learning together cut the tasks' mean error by 11.1 points (95 % interval 9.1 to 13.2) against one model
        per task. The error over 2,000 examples fell from 19.6 % to 8.6 %; a constant guess has 50.2 %. It
        clearly helped 12 of 20 tasks and clearly hurt none; at most 1 in 20 of either is expected to be wrong. Use
        learning together.
        """
        best = self.best or self
        headline, remarks = conclusion(best, self)
        return " ".join([headline, *([_overall(best)] if best.overall.n else []), *remarks])

    def to_json(self) -> Json:
        """Return the verdict as JSON data: gains, counts of outcomes, and tasks helped and hurt."""
        return {
            "confidence": self.confidence,
            "against": self.against,
            "loss": self.loss.key,
            "average": self.loss.for_json(self.average._asdict()),
            "sizes": [self.loss.for_json(size._asdict()) for size in self.sizes],
            "overall": self.words.for_json(self.overall._asdict()),
            "constant": self.loss.for_json(self.constant._asdict()),
            "constant_error": self.words.for_json(self.constant_error._asdict()),
            "base_rate": self.words.for_json(self.base_rate._asdict()),
            "tasks": len(self.tasks),
            "unclear": int((self.outcome == "unclear").sum()),
            "helped": [self._task_for_json(i) for i in self.ordered("helped")],
            "hurt": [self._task_for_json(i) for i in self.ordered("hurt")],
        }

    def _task_for_json(self, i: int) -> Json:
        names = ("n", "error", "error_against", "gain", "low", "high")
        return self.words.for_json({"task": self.tasks[i]} | {name: getattr(self, name)[i].item() for name in names})


def verdict(trace: Trace, against: Trace, confidence: float = 0.95, constant: Trace | None = None) -> Verdict:
    """Compute the verdict on the learner of ``trace`` against the learner of the trace ``against``.

    Parameters
    ----------
    trace, against : Trace
        Two learners over the same n rounds of K tasks.
    confidence : float
        The level of all intervals; 1 - ``confidence`` is the false discovery rate of helped and of hurt tasks.
    constant : Trace, optional
        The trace of the constant, from :class:`Comparison`; by default computed from the labels without a delay.

    Returns
    -------
    Verdict
        In O(n + K log K) time.

    Raises
    ------
    ValueError
        The traces are not over the same rounds, or ``confidence`` is not between 0.5 and 1.

    Examples
    --------
    >>> import coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, user = rng.normal(size=(2000, 10)), rng.integers(4, size=2000)
    >>> likes = (X.sum(axis=1) > 0) ^ (user == 3)  # the last one likes what the others do not
    >>> traces = ct.compare({"half": ct.MultitaskPerceptron()}, X, likes, task=user).traces
    >>> result = verdict(traces["half"], traces["independent"])
    >>> sorted(result.hurt), bool(result.beats_constant)
    ([3], True)
    """
    sums = Sums.from_traces(
        "trace", {"trace": trace, "against": against} | ({} if constant is None else {CONSTANT: constant})
    )
    return replace(sums.verdict("against", confidence), name="learning together", against="one model per task")


def conclusion(best: Verdict, alone: Verdict) -> tuple[str, list[str]]:
    """Return the sentences of a report: the headline against the best baseline, and remarks against separate models.

    Parameters
    ----------
    best, alone : Verdict
        The verdicts on one learner against the best baseline and against independent models; the same object if these
        are the best.
    """
    headline, *remarks = best.headline(), *best.remarks()
    if best.against == alone.against or not best.overall.n:
        return headline, remarks
    named = f"{_capital(best.against)} is the best of the baselines."
    tasks = tasks_called(alone)
    if alone.helped or alone.hurt:
        tasks = f"Against {alone.against}: {tasks[:1].lower()}{tasks[1:]}"
    return headline, [named, *filter(None, (tasks, reserve(best), _advice(best, listed(best.hurt))))]


class Sums:
    """Sums over all rounds of a stream for a learner and others, updated block by block, that yield verdicts.

    Parameters
    ----------
    learner : str
        The name of the learner to judge.

    Attributes
    ----------
    pairs : dict of str to Pair
        The sums against each other learner and the constant, by name; empty before the first round.
    base_rate : BaseRate
        The base rate of the labels, as passed with the sums.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y, users = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0], ["a", "b", "a", "b"]
    >>> traces = ct.compare({"half": ct.MultitaskPerceptron()}, X, y, task=users).traces
    >>> sums = Sums.from_traces("half", traces)
    >>> sums.errors["independent"], sums.best(["independent", "pooled"]), sums.verdict("pooled").against
    (0.0, 'independent', 'one model for all tasks')
    """

    def __init__(self, learner: str) -> None:
        self.learner = learner
        self.pairs: dict[str, Pair] = {}
        self.base_rate = BaseRate(None, float("nan"))
        self._numbers: dict[Hashable, int] = {}

    @classmethod
    def from_traces(cls, learner: str, traces: Mapping[str, Trace]) -> Sums:
        """Compute the sums of complete traces of a learner and the others; a missing constant is added.

        Raises
        ------
        ValueError
            The traces are not over the same rounds.
        """
        sums, ours = cls(learner), traces[learner]
        others = {CONSTANT: traces.get(CONSTANT) or LabelBaselines().predict_next(ours)[CONSTANT]}
        sums._add(ours, others | {name: trace for name, trace in traces.items() if name != learner}, None)
        sums.base_rate = ours.counted.base_rate
        return sums

    def add(self, traces: Mapping[str, Trace]) -> None:
        """Add the next rounds of the learner and of the same others; O(rounds + K) time."""
        self._add(traces[self.learner], {name: trace for name, trace in traces.items() if name != self.learner}, 1.0)

    def _add(self, ours: Trace, others: Mapping[str, Trace], scale: float | None) -> None:
        at = np.array([self._numbers.setdefault(task, len(self._numbers)) for task in ours.tasks], np.int64)
        for name, trace in others.items():
            _check_same_rounds(ours, trace, name)
            pair, before = Pair.from_traces(ours, trace, scale), self.pairs.get(name)
            self.pairs[name] = pair if before is None else before.plus(pair, at)

    def plus(self, other: Sums) -> Sums:
        """Return the sums over the rounds of both objects; O(K) time for K tasks."""
        total = self.copy()
        at = np.array([total._numbers.setdefault(task, len(total._numbers)) for task in other.tasks], np.int64)
        for name, pair in other.pairs.items():
            total.pairs[name] = total.pairs[name].plus(pair, at) if name in total.pairs else pair
        return total

    def forget(self, tasks: Iterable[Hashable]) -> list[Hashable]:
        """Drop the sums of ``tasks``, but not those over all rounds; return the tasks among them that were known."""
        gone = {task: self._numbers.pop(task) for task in tasks if task in self._numbers}
        self._numbers = {task: number for number, task in enumerate(self._numbers)}
        rows = np.array([*gone.values()], np.int64)
        self.pairs = {name: pair.without(rows) for name, pair in self.pairs.items()}
        return list(gone)

    def copy(self) -> Sums:
        """Copy the sums, so that others can read them at the same time; O(K) time for K tasks."""
        sums = copy(self)
        sums.pairs, sums._numbers = dict(self.pairs), dict(self._numbers)
        return sums

    def to_saved(self) -> tuple[list[list[str]], Arrays]:
        """Return the names of the sums as JSON data, and the sums as named arrays."""
        saved = {name: pair.to_saved() for name, pair in self.pairs.items()}
        arrays = {f"{name}.sums.{key}": array for name, (_, sums) in saved.items() for key, array in sums.items()}
        return [[name, *called] for name, (called, _) in saved.items()], arrays

    @classmethod
    def from_saved(cls, learner: str, saved: list[list[str]], arrays: Arrays, tasks: list[Hashable]) -> Sums:
        """Restore the sums from :meth:`to_saved`; raise ValueError for a wrong number of tasks."""
        sums = cls(learner)
        sums._numbers = {task: number for number, task in enumerate(tasks)}
        for name, *called in saved:
            sums.pairs[name] = Pair.from_saved(called, strip_prefix(arrays, f"{name}.sums."), len(tasks))
        return sums

    @property
    def tasks(self) -> tuple[Hashable, ...]:
        """The tasks, in order of first appearance."""
        return tuple(self._numbers)

    @property
    def words(self) -> CostWords:
        """The name and the number format of the errors."""
        return next((pair.words for pair in self.pairs.values()), RATES)

    @property
    def errors(self) -> dict[str, float]:
        """The mean error of each learner over all rounds; empty before the first round."""
        errors = {name: pair.cost_against.mean for name, pair in self.pairs.items()}
        return {self.learner: next(iter(self.pairs.values())).cost.mean} | errors if errors else {}

    def of_task(self, task: Hashable) -> Json:
        """Return the number of records of a task, and the error of each learner on it."""
        number = self._numbers.get(task)
        if number is None:
            return {}
        costs = {self.learner: next(iter(self.pairs.values())).by_task}
        costs |= {name: pair.by_task_against for name, pair in self.pairs.items()}
        errors = {name: cost.total[number].item() / (cost.n[number].item() or np.nan) for name, cost in costs.items()}
        return {"examples": costs[self.learner].n[number].item(), self.words.key: errors}

    def best(self, names: Iterable[str]) -> str:
        """Return the best of the learners ``names``: the one over which this learner has the smallest mean gain.

        Ties go to the first. If gains over them are in different losses, the one with the least error over all rounds
        is the best.
        """
        pairs = {name: self.pairs[name] for name in names}
        if len({pair.loss.error for pair in pairs.values()}) > 1:
            return min(pairs, key=lambda name: pairs[name].cost_against.mean)

        def gain(name: str) -> float:
            means = pairs[name].gains.means
            # means of tasks are weighed equally, as in the headline: a few large tasks do not choose the rival
            defined = means[~np.isnan(means)]
            return pairs[name].scale * float(defined.mean()) if len(defined) else 0.0

        return min(pairs, key=gain)

    @np.errstate(under="ignore")
    def verdict(self, against: str, confidence: float = 0.95) -> Verdict:
        """Compute the verdict on the learner against another one."""
        if not 0.5 < confidence < 1:
            raise ValueError(f"confidence={confidence!r}: expected a number between 0.5 and 1")
        tasks, pair, constant = self.tasks, self.pairs[against], self.pairs[CONSTANT]
        gain, judged = pair.gains.means, pair.noise.judged(pair.gains, confidence)
        helped, hurt = (select_discoveries(p, 1.0 - confidence) for p in (judged.helped, judged.hurt))
        # the p-value and the interval take their variances from different hypotheses: both must agree
        outcome = np.where(helped & (judged.low > 0), "helped", np.where(hurt & (judged.high < 0), "hurt", "unclear"))
        n, size, seen = pair.by_task.n, class_of_size(pair.gains.n), pair.gains.n > 0

        def mean(chosen: Flags) -> Iterator[float]:
            ends = mean_of_tasks(gain[chosen], judged.low[chosen], judged.high[chosen], confidence)
            return (pair.scale * number for number in ends)

        ends = (0, *SIZES)
        sizes = tuple(
            SizeBucket(ends[k] + 1, SIZES[k] if k < len(SIZES) else None, int(chosen.sum()), *mean(chosen))
            for k in range(len(ends))
            for chosen in [seen & (size == k)]
            if chosen.any()
        )
        columns: Json = {
            "n": n,
            "error": ratio(pair.by_task.total, n),
            "error_against": ratio(pair.by_task_against.total, n),
            "gain": pair.scale * gain,
            "low": pair.scale * judged.low,
            "high": pair.scale * judged.high,
            "outcome": outcome,
            # errors are over all rounds, the gain is the plain mean over tasks: they need not have the same sign
            "average": Gain(pair.cost.whole[0], pair.lost.mean, pair.lost_against.mean, *mean(seen)),
            "sizes": sizes,
            "overall": _error_gain(pair, confidence),
            "constant": _loss_gain(constant, confidence),
            "constant_error": _error_gain(constant, confidence),
            "base_rate": self.base_rate,
            "words": pair.words,
            "loss": pair.loss,
            "name": spoken(self.learner),
            "against": spoken(against),
        }
        # a learner no better than a constant has no useful gains, even if tests of single tasks are significant
        result = Verdict(tasks, confidence, **columns)
        return result if result.says_something else replace(result, outcome=np.full(len(tasks), "unclear"))


def shown_gain(words: CostWords, gain: float, low: float, high: float) -> list[str]:
    """Format a gain and its interval as two table cells."""
    digits = digits_of(gain, low, high)
    return [words.difference(gain, digits), f"{words.difference(low, digits)} to {words.difference(high, digits)}"]


def _error_gain(pair: Pair, confidence: float) -> Gain:
    """Return the gain in the error over all rounds of a pair of learners, with its interval."""
    low, high = map(float, pair.words.interval(*pair.difference.whole, confidence))
    return Gain(pair.difference.whole[0], pair.cost.mean, pair.cost_against.mean, pair.difference.mean, low, high)


def _loss_gain(pair: Pair, confidence: float) -> Gain:
    """Return the gain in the loss over all rounds of a pair of learners, with a normal interval."""
    # rounds are taken as independent, unlike in the headline, which takes tasks as the sample
    low, high = (pair.scale * end for end in normal_interval(*pair.gains.whole, confidence))
    mean = pair.scale * pair.gains.mean
    return Gain(pair.cost.whole[0], pair.lost.mean, pair.lost_against.mean, mean, low, high)


def _check_same_rounds(trace: Trace, against: Trace, name: str) -> None:
    if len(trace.task) != len(against.task):
        raise ValueError(f"{name}: {len(against.task)} rounds, expected the {len(trace.task)} of trace")
    if tuple(trace.tasks) != tuple(against.tasks) or not np.array_equal(trace.task, against.task):
        raise ValueError(f"{name}: its rounds belong to other tasks than those of trace; expected the same stream")


def _in_words(verdict: Verdict, gain: Gain) -> tuple[str, str]:
    """Format a gain with its unit, and its interval with the confidence level."""
    change, interval = shown_gain(verdict.loss, gain.gain, gain.low, gain.high)
    return f"{change}{verdict.loss.unit}", f"{verdict.level} {interval}"


def _overall(verdict: Verdict) -> str:
    """Return the sentence of the verdict about the errors over all rounds."""
    gain, words = verdict.overall, verdict.words
    digits = digits_of(gain.gain, gain.low, gain.high)
    before, after, guessed = (
        words.value(error, digits) for error in (gain.error_against, gain.error, verdict.constant_error.error_against)
    )
    over = f"The {words.error} over {counted(gain.n, 'example')}"
    constant = f"; a constant guess has {guessed}"
    if gain.low > 0 or gain.high < 0:
        return f"{over} {'fell' if gain.low > 0 else 'rose'} from {before} to {after}{constant}."
    return f"{over} is {after} against {before}{constant}."


def tasks_called(verdict: Verdict) -> str:
    """Return the sentence on the tasks helped or hurt."""
    total, helped, hurt = len(verdict.tasks), verdict.helped, verdict.hurt
    if total < 2 or not verdict.says_something:
        return ""
    if not helped and not hurt:
        return "No single task clearly gains or loses."
    whom = f"{len(hurt):,} ({listed(hurt)})" if hurt else "none"
    share = _share(1.0 - verdict.confidence)
    helped_and_hurt = f"It clearly helped {len(helped):,} of {total:,} tasks and clearly hurt {whom}"
    return f"{helped_and_hurt}; at most {share} of either is expected to be wrong."


def _share(rate: float) -> str:
    """Format a rate as a fraction, such as "1 in 20".

    >>> _share(0.05), _share(0.02), _share(0.3)
    ('1 in 20', '1 in 50', '30 in 100')
    """
    times = round(1.0 / rate)
    return f"1 in {times}" if abs(times * rate - 1.0) < 1e-9 else f"{100 * rate:.3g} in 100"


def reserve(verdict: Verdict) -> str:
    """Return the sentence about limits of the verdict: single records per task, or missing probabilities."""
    if not verdict.beats_constant:
        return ""
    if verdict.single_records:
        return "Every task has a single record, so none can show what it would learn by itself."
    # better in log loss only: with rare labels both predict the usual one nearly always
    if verdict.loss is not verdict.words and not verdict.constant_error.low > 0:
        return "In its predictions a constant guess does as well; what is better are the probabilities."
    return ""


def _advice(verdict: Verdict, hurt: str = "") -> str:
    """Return the recommendation of the verdict; ``hurt`` is a text that lists the tasks hurt, or empty."""
    name, against, few = verdict.name, verdict.against, 0 < len(verdict.hurt) < len(verdict.tasks)
    if not verdict.beats_constant:
        return "Nothing has been learned yet that pays."
    if verdict.single_records:
        return "More records of each task are needed to choose between the two."
    if verdict.better and verdict.worse:
        return "Errors and losses disagree: choose by the one that counts."
    if verdict.worse:
        return f"Keep {against}."
    if not verdict.better:
        average = verdict.average
        # an equivalence test: the whole interval lies within two percent of the rival's loss
        if max(-average.low, average.high) < _ALIKE * average.error_against:
            return "The two do equally well here."
        return "More examples are needed to choose between the two."
    if reserve(verdict):
        return f"Go by the probabilities of {name}, not by the labels it predicts."
    whom = hurt or ("that task" if len(verdict.hurt) == 1 else "those tasks")
    keep = f", but look at {whom}" if few else ""
    use = f"Use {name}" if verdict.average.low > 0 else f"{ERRS_LESS}Use {name}"
    return f"{use}{keep}{f': {against} served better there' if keep else ''}."


def _capital(text: str) -> str:
    """Capitalize a learner's name at the start of a sentence, unless a user chose it."""
    ours = text in SPOKEN.values() or text.startswith("the view ")
    return text[:1].upper() + text[1:] if ours else text
