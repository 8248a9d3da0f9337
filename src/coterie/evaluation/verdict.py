"""The verdict: whether learning together helped, on average and on which tasks, by two learners over the same rounds.

A round's **gain** is the other learner's loss less the learner's own, so positive where the learner was better. The
loss is the log loss where both have probabilities, the squared error of numbers, and else 1 for a wrong label. A task's
mean gain is noise as long as its rounds are few, so gains are **shrunken**, see :mod:`coterie.evaluation.shrunken`:
what a task is said to gain is the posterior of its gain, given its own rounds and those of all tasks.

* The headline is the mean gain of a task, with its interval, and beside it the error over all rounds, with the interval
  of the difference (see :mod:`coterie.evaluation.paired`).
* A task is ``"helped"`` (``"hurt"``) where the posterior has its gain above (below) zero with the certainty asked for,
  0.95 by default, which is where its interval, 0.05 left out on either side, lies above (below) zero. Of such calls
  about one in twenty has the wrong sign on average, however many tasks there are. All others are ``"unclear"``.
* The learner is also compared with the **constant** (:mod:`coterie.evaluation.constant`). Where that does as well, or
  where every task has a single record, nothing speaks for learning together: no task is called, and nothing advised.

Rounds are taken as independent, which predictions of a learner that goes on learning are only roughly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie.wording import counted, digits_of, html_table, listed

from .constant import BaseRate, Constant, base_rate
from .costs import RATES, Words, costs, loss_words, losses, words_of
from .metrics import ratio
from .shrunken import Moments, quantile, shrink

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from .progressive import Trace

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Gain(NamedTuple):
    """The gain of one learner over another on a set of rounds.

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


@dataclass(frozen=True, repr=False)
class Verdict:
    """The outcome of learning together, on average, for every task, and beside a constant.

    Attributes
    ----------
    tasks : tuple
        The K task labels; entry i of every array belongs to ``tasks[i]``.
    confidence : float
        Level of the intervals of means, and how sure the sign of a task's gain must be to be called.
    n : ndarray of int64, shape (K,)
        Rounds of each task.
    error, error_against : ndarray, shape (K,)
        Errors of the learner and of the one it is compared with; nan for a task without rounds.
    measured, deviation : ndarray, shape (K,)
        Mean gain in loss over the task's own rounds, and its standard error.
    gain, low, high : ndarray, shape (K,)
        The same shrunken, and its interval; nan for a task without rounds.
    outcome : ndarray of str, shape (K,)
        ``"helped"``, ``"hurt"`` or ``"unclear"``.
    average : Gain
        In loss: the mean gain of a task and its interval; ``error`` and ``error_against`` are means over all rounds.
    spread : float
        The standard deviation of the gains of tasks; 0 where all are alike as far as can be told.
    overall : Gain
        In errors, over all rounds.
    constant, constant_error : Gain
        Of the learner over the constant, over all rounds, in loss and in errors.
    base_rate : BaseRate
        The label to know the stream by.
    words, loss : Words
        How errors and losses are called and written.
    name, against : str
        What the two learners are called.
    """

    tasks: tuple[Hashable, ...]
    confidence: float
    n: Ints
    error: Floats
    error_against: Floats
    measured: Floats
    deviation: Floats
    gain: Floats
    low: Floats
    high: Floats
    outcome: NDArray[np.str_]
    average: Gain
    spread: float
    overall: Gain
    constant: Gain
    constant_error: Gain
    base_rate: BaseRate
    words: Words = RATES
    loss: Words = RATES

    name: str = "learning together"
    against: str = "one model per task"

    def __str__(self) -> str:
        """The verdict in a few sentences."""
        return self.sentence()

    def __repr__(self) -> str:
        """The numbers of tasks helped, hurt and unclear; ``print`` shows the sentences."""
        counts = ", ".join(f"{(self.outcome == name).sum():,} {name}" for name in ("helped", "hurt", "unclear"))
        return f"<Verdict on {counted(len(self.tasks), 'task')}: {counts}>"

    def _repr_html_(self) -> str:
        """The sentences, and a table of the tasks called, at most ten of each outcome, as notebooks show it."""
        chosen = [i for outcome in ("helped", "hurt") for i in self.ordered(outcome)[:10].tolist()]
        heads = ["task", "examples", self.against, self.name, self.loss.gain, "interval", "outcome"]
        return (
            f"<p>{escape(self.sentence())}</p>{html_table(heads, [self._shown(i) for i in chosen]) if chosen else ''}"
        )

    def _shown(self, i: int) -> list[str]:
        tell = self.loss.difference
        errors = (self.words.value(each[i]) for each in (self.error_against, self.error))
        interval = f"{tell(self.low[i])} to {tell(self.high[i])}"
        return [str(self.tasks[i]), f"{self.n[i]:,}", *errors, tell(self.gain[i]), interval, str(self.outcome[i])]

    @property
    def helped(self) -> tuple[Hashable, ...]:
        """The tasks that sharing helped, the largest gain first."""
        return tuple(self.tasks[i] for i in self.ordered("helped"))

    @property
    def hurt(self) -> tuple[Hashable, ...]:
        """The tasks that sharing hurt, the largest loss first."""
        return tuple(self.tasks[i] for i in self.ordered("hurt"))

    @property
    def task_confidence(self) -> float:
        """The level of the tasks' intervals: 1 - ``confidence`` is left out on either side."""
        return 2 * self.confidence - 1

    @property
    def better(self) -> bool:
        """True if the learner was better by more than chance, on a task on average or in errors over all rounds."""
        return self.average.low > 0 or self.overall.low > 0

    @property
    def worse(self) -> bool:
        """True if the learner was worse by more than chance, on a task on average or in errors over all rounds."""
        return self.average.high < 0 or self.overall.high < 0

    @property
    def beats_constant(self) -> bool:
        """True if the learner is better than the constant by more than chance, in loss."""
        return self.constant.low > 0

    @property
    def says_something(self) -> bool:
        """True if the learner is better than the constant, and some task has more than one record."""
        return self.beats_constant and not self.single_records

    @property
    def single_records(self) -> bool:
        """True if no task has two records, so that none can learn by itself."""
        return len(self.tasks) > 1 and bool((self.n <= 1).all())

    def ordered(self, outcome: str) -> Ints:
        """Indices of the tasks of one outcome, the largest difference first, ties to the lowest index; O(K log K)."""
        chosen = np.flatnonzero(self.outcome == outcome)
        sign = 1 if outcome == "hurt" else -1
        return chosen[np.argsort(sign * self.gain[chosen], kind="stable")]

    def sentence(
        self,
        name: str | None = None,
        against: str | None = None,
        advice: bool = True,
        constant: bool = True,
    ) -> str:
        """A few sentences to act on: what happened, to which tasks, what a constant does, and what to do.

        Parameters
        ----------
        name, against : str, optional
            What to call the two learners, if not by their names.
        advice : bool
            Whether to say what to do.
        constant : bool
            Whether to say what the constant does.

        Examples
        --------
        >>> import coterie as ct
        >>> rng = np.random.default_rng(0)
        >>> X, user = rng.normal(size=(2000, 10)), rng.integers(100, size=2000)
        >>> likes = X.sum(axis=1) > 0
        >>> traces = ct.compare({"together": ct.MultitaskPerceptron()}, X, likes, task=user).traces
        >>> print(verdict(traces["together"], traces["independent"]).sentence())
        Learning together cut the error of a task by 24.4 points on average (95 % interval: 22.1 to 26.7
        points). The error over 2,000 examples fell from 31.8 % to 7.1 % (gain 22.5 to 26.9 points); a
        constant guess has 50.2 %. It helped 100 of 100 tasks and hurt none. All tasks are alike in this, as
        far as can be told. Use learning together.
        """
        name, against = name or self.name, against or self.against
        if self.overall.n == 0:
            return "There are no examples to compare."
        parts = [
            _average(self, name),
            _overall(self, constant),
            _tasks(self),
            _reserve(self) if constant else "",
            _advice(self, name, against) if advice else "",
        ]
        return " ".join(part for part in parts if part)

    def to_json(self) -> dict[str, Any]:
        """Return the gains, counts of outcomes, and the tasks helped and hurt, for JSON; O(K log K)."""
        return {
            "confidence": self.confidence,
            "loss": self.loss.error,
            "average": _for_json(self.average),
            "spread": self.spread,
            "overall": _for_json(self.overall),
            "constant": _for_json(self.constant),
            "constant_error": _for_json(self.constant_error),
            "base_rate": _for_json(self.base_rate),
            "tasks": len(self.tasks),
            "unclear": int((self.outcome == "unclear").sum()),
            "helped": [self._row(i) for i in self.ordered("helped")],
            "hurt": [self._row(i) for i in self.ordered("hurt")],
        }

    def _row(self, i: int) -> dict[str, Any]:
        names = ("n", "error", "error_against", "measured", "deviation", "gain", "low", "high")
        return {"task": self.tasks[i]} | {name: getattr(self, name)[i].item() for name in names}


def verdict(trace: Trace, against: Trace, confidence: float = 0.95, constant: Trace | None = None) -> Verdict:
    """Judge whether the learner of ``trace`` did better or worse than that of ``against``, on average and on each task.

    Parameters
    ----------
    trace, against : Trace
        Two learners over the same n rounds of K tasks.
    confidence : float
        Level of the intervals of means, and how sure the sign of a task's gain must be to be called.
    constant : Trace, optional
        That of :class:`Comparison`; where it is not given it is made of the labels, as if each had come at once.

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
    for name, other in (("against", against), ("constant", constant)):
        if other is not None:
            _check_same_rounds(trace, other, name)
    if not 0.5 < confidence < 1:
        raise ValueError(f"confidence={confidence!r}: expected a number between 0.5 and 1")
    if constant is None:
        constant = Constant().beside(trace)
    n_tasks = len(trace.tasks)
    ours, guessed = (Beside.of(trace, other, trace.task, n_tasks) for other in (against, constant))
    return verdict_of_sums(tuple(trace.tasks), ours, guessed, base_rate(trace), confidence)


class Beside(NamedTuple):
    """A learner beside another over the same rounds, by sums over the rounds of K tasks.

    Attributes
    ----------
    words, loss : Words
        How costs and losses are called and written.
    scale : float
        What differences of losses were divided by.
    gains : Moments, shape (K,)
        Of the other's losses less the learner's, divided by ``scale``.
    apart : Moments, shape (1,)
        Of the other's costs less the learner's.
    by_task : tuple of two Moments, shape (K,)
        Of the costs of the learner in each task, and of the other's.
    cost, lost : tuple of two Moments, shape (1,)
        Of all costs and all losses of the learner, and of the other's.
    """

    words: Words
    loss: Words
    scale: float
    gains: Moments
    apart: Moments
    by_task: tuple[Moments, Moments]
    cost: tuple[Moments, Moments]
    lost: tuple[Moments, Moments]

    @classmethod
    def of(cls, trace: Trace, against: Trace, task: Ints, tasks: int, scale: float | None = None) -> Beside:
        """The sums of two traces; ``task`` has the number of each round's task; O(n + K) time.

        Without ``scale`` it is the largest difference, so that no square is infinite.
        """
        words, ours, theirs = _losses(trace, against)
        scale = _scale(ours, theirs) if scale is None else scale
        cost = tuple(costs(each).astype(np.float64) for each in (trace, against))
        return cls(
            words_of(trace),
            words,
            scale,
            Moments.of((theirs - ours) / scale, task, tasks),
            Moments.of(cost[1] - cost[0]),
            (Moments.of(cost[0], task, tasks), Moments.of(cost[1], task, tasks)),
            (Moments.of(cost[0]), Moments.of(cost[1])),
            (Moments.of(ours), Moments.of(theirs)),
        )

    def plus(self, other: Beside) -> Beside:
        """The sums over the rounds of both, which have the same words and scale, and number tasks alike."""
        return self._replace(
            gains=self.gains.plus(other.gains),
            apart=self.apart.plus(other.apart),
            by_task=(self.by_task[0].plus(other.by_task[0]), self.by_task[1].plus(other.by_task[1])),
            cost=(self.cost[0].plus(other.cost[0]), self.cost[1].plus(other.cost[1])),
            lost=(self.lost[0].plus(other.lost[0]), self.lost[1].plus(other.lost[1])),
        )

    def without(self, tasks: Ints) -> Beside:
        """The sums where some tasks are forgotten: those over all rounds stay."""
        ours, theirs = (each.without(tasks) for each in self.by_task)
        return self._replace(gains=self.gains.without(tasks), by_task=(ours, theirs))


def verdict_of_sums(
    tasks: tuple[Hashable, ...], ours: Beside, constant: Beside, base_rate: BaseRate, confidence: float = 0.95
) -> Verdict:
    """The verdict from sums: of the learner beside the other, and beside the constant.

    Parameters
    ----------
    tasks : tuple of K labels
        Entry i of every sum belongs to ``tasks[i]``.
    ours, constant : Beside
        The learner's sums, beside the other's and beside the constant's.
    base_rate : BaseRate
        Of all labels.
    confidence : float
        As for :func:`verdict`.
    """
    found = ours.gains.means()
    shrunken = shrink(found.mean, found.error)
    scale = ours.scale
    low, high = (scale * each for each in shrunken.intervals(confidence))
    average = (scale * each for each in (shrunken.mu, *shrunken.interval(confidence)))
    n = ours.by_task[0].n
    made: dict[str, Any] = {
        "n": n,
        "error": ratio(ours.by_task[0].total, n),
        "error_against": ratio(ours.by_task[1].total, n),
        "measured": scale * found.mean,
        "deviation": scale * found.error,
        "gain": scale * shrunken.value,
        "low": low,
        "high": high,
        "outcome": np.where(low > 0, "helped", np.where(high < 0, "hurt", "unclear")),
        "average": Gain(ours.cost[0].whole[0], ours.lost[0].mean, ours.lost[1].mean, *average),
        "spread": scale * shrunken.tau,
        "overall": _error_gain(ours, confidence),
        "constant": _loss_gain(constant, confidence),
        "constant_error": _error_gain(constant, confidence),
        "base_rate": base_rate,
    }
    told = Verdict(tasks, confidence, **made, words=ours.words, loss=ours.loss)
    return told if told.says_something else replace(told, outcome=np.full(len(tasks), "unclear"))


def _error_gain(sums: Beside, confidence: float) -> Gain:
    """The gain in errors over all rounds."""
    ours, theirs = (each.mean for each in sums.cost)
    interval = sums.words.interval(*sums.apart.whole, confidence)
    return Gain(sums.apart.whole[0], ours, theirs, sums.apart.mean, *interval)


def _loss_gain(sums: Beside, confidence: float) -> Gain:
    """The gain in loss over all rounds, with a normal interval."""
    ours, theirs = (each.mean for each in sums.lost)
    found = Moments(*(np.array([each]) for each in sums.gains.whole)).means()
    gain, half = sums.scale * found.mean[0].item(), sums.scale * quantile((1 + confidence) / 2) * found.error[0].item()
    return Gain(sums.cost[0].whole[0], ours, theirs, gain, gain - half, gain + half)


def _losses(trace: Trace, against: Trace) -> tuple[Words, Floats, Floats]:
    """The losses of two learners in each round, and their name; costs where one of them has no probabilities."""
    ours, theirs = losses(trace), losses(against)
    if ours is None or theirs is None:
        return words_of(trace), costs(trace).astype(np.float64), costs(against).astype(np.float64)
    return loss_words(trace), ours, theirs


def _scale(ours: Floats, theirs: Floats) -> float:
    """The largest difference; 1 if all are 0."""
    apart = np.abs(theirs - ours)
    return float(np.max(apart, initial=0.0, where=~np.isnan(apart))) or 1.0


def _check_same_rounds(trace: Trace, against: Trace, name: str) -> None:
    if len(trace.task) != len(against.task):
        raise ValueError(f"{name}: {len(against.task)} rounds, expected the {len(trace.task)} of trace")
    if tuple(trace.tasks) != tuple(against.tasks) or not np.array_equal(trace.task, against.task):
        raise ValueError(f"{name}: its rounds belong to other tasks than those of trace, expected the same stream")


def _average(verdict: Verdict, name: str) -> str:
    """The sentence about the mean loss of a task."""
    gain, words, several = verdict.average, verdict.loss, len(verdict.tasks) > 1
    digits = digits_of(gain.gain, gain.low, gain.high)
    what = f"the {words.error}{' of a task' if several else ''}"
    on_average = " on average" if several else ""
    level = f"{100 * verdict.confidence:g} % interval"
    if not (gain.low > 0 or gain.high < 0):
        interval = _span(words, gain.low, gain.high, digits)
        return f"{_capital(name)} made no clear difference to {what}{on_average} ({level} of the gain: {interval})."
    verb, near, far = ("cut", gain.low, gain.high) if gain.low > 0 else ("raised", -gain.high, -gain.low)
    by = f"{words.difference(abs(gain.gain), digits)}{words.unit}{on_average}"
    return f"{_capital(name)} {verb} {what} by {by} ({level}: {_span(words, near, far, digits)})."


def _overall(verdict: Verdict, constant: bool) -> str:
    """The sentence about the error over all rounds."""
    gain, words = verdict.overall, verdict.words
    digits = digits_of(gain.gain, gain.low, gain.high)
    before, after, guessed = (
        words.value(each, digits) for each in (gain.error_against, gain.error, verdict.constant_error.error_against)
    )
    over = f"The {words.error} over {counted(gain.n, 'example')}"
    interval = f"(gain {_span(words, gain.low, gain.high, digits)})"
    beside = f"; a constant guess has {guessed}" if constant else ""
    if gain.low > 0 or gain.high < 0:
        return f"{over} {'fell' if gain.low > 0 else 'rose'} from {before} to {after} {interval}{beside}."
    return f"{over} is {after} against {before} {interval}{beside}."


def _span(words: Words, low: float, high: float, digits: int) -> str:
    return f"{words.difference(low, digits)} to {words.difference(high, digits)}{words.unit}"


def _tasks(verdict: Verdict) -> str:
    total, helped, hurt = len(verdict.tasks), verdict.helped, verdict.hurt
    if total < 2 or not verdict.says_something:
        return ""
    alike = "All tasks are alike in this, as far as can be told." if verdict.spread == 0 else ""
    if alike and not (verdict.average.low > 0 or verdict.average.high < 0):
        return alike  # the sentence about the mean holds for each task
    if not helped and not hurt:
        return alike or f"No single one of the {total:,} tasks can be told apart yet."
    unclear = 0 if alike else total - len(helped) - len(hurt)
    none = "hurt none that can be told" if unclear else "hurt none"
    whom = f"hurt {len(hurt):,} ({listed(hurt)})" if hurt else none
    rest = f"; {unclear:,} cannot be told apart yet" if unclear else ""
    wrong = f"Of such calls roughly {100 * (1 - verdict.confidence):.3g} % are wrong on average."
    return f"It helped {len(helped):,} of {total:,} tasks and {whom}{rest}. {alike or wrong}"


def _reserve(verdict: Verdict) -> str:
    """The sentence about the constant, or about single records, where they limit the verdict."""
    if not verdict.beats_constant:
        better = "better" if verdict.constant.high < 0 else "as well"
        ours, theirs = (verdict.loss.value(each) for each in (verdict.constant.error, verdict.constant.error_against))
        return f"A constant guess does {better}: its {verdict.loss.error} is {theirs} against {ours}."
    if verdict.single_records:
        return "Every task has a single record, so none can show what it would learn by itself."
    if verdict.loss is not verdict.words and not verdict.constant_error.low > 0:
        return "In its predictions a constant guess does as well; what is better are the probabilities."
    return ""


def _advice(verdict: Verdict, name: str, against: str) -> str:
    few = 0 < len(verdict.hurt) < len(verdict.tasks)
    if not verdict.beats_constant:
        return "Nothing has been learned yet that pays."
    if verdict.single_records:
        return "More records of each task are needed to choose between the two."
    if verdict.better and verdict.worse:
        return "The two disagree: choose by the one that counts."
    if verdict.worse:
        return f"Keep {against}."
    if not verdict.better:
        return "More examples are needed to choose between the two."
    if _reserve(verdict):
        return f"Go by the probabilities of {name}, not by the labels it predicts."
    keep = f", but look at {'that task' if len(verdict.hurt) == 1 else 'those tasks'}" if few else ""
    return f"Use {name}{keep}{f': {against} served better there' if keep else ''}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _for_json(values: NamedTuple) -> dict[str, Any]:
    """The fields of a named tuple, None for what is no finite number."""
    fields = values._asdict().items()
    return {name: None if isinstance(value, float) and not isfinite(value) else value for name, value in fields}
