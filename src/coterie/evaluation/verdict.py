"""The verdict on each task, whether sharing helped or hurt, by comparing two learners over the same rounds.

A task's **gain** is the other learner's error rate less the learner's own, so positive where the learner was better. It
has a paired interval (`paired.paired_interval`) and the p-value of an exact paired test (`paired.mcnemar`).

Among thousands of tasks some look helped or hurt by chance. With alpha = 1 - confidence, a task counts as helped (hurt)
if both hold:

1. the Benjamini-Hochberg procedure at level alpha rejects "no difference" for it, among the tasks *that could be told*:
   those whose smallest possible p-value, 2**(1 - m) with m the rounds on which exactly one of the two was wrong, is at
   most alpha (m >= 6 at 95 %). The choice looks at m only, given which the p-values are exact, so the share of false
   calls among all calls is still at most alpha in expectation; and tasks seen a few times only, which could never be
   called, do not weaken the rest;
2. its interval lies above (below) zero, so that what is said and what is drawn never disagree. For a confidence up to
   0.99 this follows from 1.

All other tasks are "unclear": not shown to be equal, only not told apart by the rounds so far. An interval is each
task's own, at the stated level for one task looked at by itself. Intervals and tests take the rounds of a task as
independent, which predictions of a learner that goes on learning are only roughly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie.wording import counted, digits_of, listed, none_for_nan

from .costs import RATES, Words, words_of
from .paired import benjamini_hochberg, mcnemar, paired_interval

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
        Error rate of the learner and of the one it is compared with.
    gain, low, high : float
        ``error_against - error`` and its interval.
    p_value : float
        Of the exact two-sided McNemar test.
    """

    n: int
    error: float
    error_against: float
    gain: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Verdict:
    """The outcome of sharing for every task, and over all rounds.

    Attributes
    ----------
    tasks : tuple
        The K task labels; entry i of every array belongs to ``tasks[i]``.
    confidence : float
        Level of the intervals, and 1 - the rate of false discoveries.
    n : ndarray of int64, shape (K,)
        Rounds of each task.
    error, error_against : ndarray, shape (K,)
        Error rates of the learner and of the one it is compared with; nan for a task without rounds.
    gain, low, high : ndarray, shape (K,)
        ``error_against - error`` and its interval; a task without rounds has nan and [-1, 1].
    p_value, q_value : ndarray, shape (K,)
        Of the exact McNemar test, before and after control of the false discovery rate.
    outcome : ndarray of str, shape (K,)
        ``"helped"``, ``"hurt"`` or ``"unclear"``.
    overall : Gain
        All rounds pooled.
    words : Words
        How errors are called and written.
    """

    tasks: tuple[Hashable, ...]
    confidence: float
    n: Ints
    error: Floats
    error_against: Floats
    gain: Floats
    low: Floats
    high: Floats
    p_value: Floats
    q_value: Floats
    outcome: NDArray[np.str_]
    overall: Gain
    words: Words = RATES

    @property
    def helped(self) -> tuple[Hashable, ...]:
        """The tasks that sharing helped, the largest gain first."""
        return tuple(self.tasks[i] for i in self.ordered("helped"))

    @property
    def hurt(self) -> tuple[Hashable, ...]:
        """The tasks that sharing hurt, the largest loss first."""
        return tuple(self.tasks[i] for i in self.ordered("hurt"))

    def ordered(self, outcome: str) -> Ints:
        """Indices of the tasks of one outcome, the largest difference first, ties to the lowest index; O(K log K)."""
        chosen = np.flatnonzero(self.outcome == outcome)
        sign = 1 if outcome == "hurt" else -1
        return chosen[np.argsort(sign * self.gain[chosen], kind="stable")]

    def sentence(
        self, name: str = "learning together", against: str = "one model per task", advice: bool = True
    ) -> str:
        """Two or three sentences to act on: what happened, to which tasks, and what to do.

        Parameters
        ----------
        name, against : str
            What to call the two learners.
        advice : bool
            Whether to say what to do.

        Examples
        --------
        >>> from types import SimpleNamespace
        >>> task = np.repeat([0, 1], 50)
        >>> together = SimpleNamespace(task=task, tasks=("ann", "bob"), wrong=np.arange(100) % 10 == 0)
        >>> alone = SimpleNamespace(task=task, tasks=("ann", "bob"), wrong=np.arange(100) % 4 == 0)
        >>> print(verdict(together, alone).sentence())
        Learning together cut the error from 25.0 % to 10.0 % over 100 examples (95 % interval of the gain: 5.3 to 24.1
        points). No single one of the 2 tasks can be told apart yet. Use learning together.
        """
        if self.overall.n == 0:
            return "There are no examples to compare."
        parts = (_overall(self, name, against), _tasks(self), _advice(self, name, against) if advice else "")
        return " ".join(part for part in parts if part)

    def to_json(self) -> dict[str, Any]:
        """Return the overall gain, counts of outcomes, and the tasks helped and hurt, for JSON; O(K log K)."""
        return {
            "confidence": self.confidence,
            "overall": {key: none_for_nan(value) for key, value in self.overall._asdict().items()},
            "tasks": len(self.tasks),
            "unclear": int((self.outcome == "unclear").sum()),
            "helped": [self._row(i) for i in self.ordered("helped")],
            "hurt": [self._row(i) for i in self.ordered("hurt")],
        }

    def _row(self, i: int) -> dict[str, Any]:
        names = ("n", "error", "error_against", "gain", "low", "high", "p_value", "q_value")
        return {"task": self.tasks[i]} | {name: getattr(self, name)[i].item() for name in names}


def verdict(trace: Trace, against: Trace, confidence: float = 0.95) -> Verdict:
    """Judge for every task whether the learner of ``trace`` did better or worse than that of ``against``.

    Parameters
    ----------
    trace, against : Trace
        Two learners over the same n rounds of K tasks.
    confidence : float
        Level of the intervals; false calls are at most a share 1 - ``confidence`` of all calls, in expectation.

    Returns
    -------
    Verdict
        In O(n + K log K) time.

    Raises
    ------
    ValueError
        The traces are not over the same rounds, or ``confidence`` is not between 0 and 1.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> task = np.repeat([0, 1], 60)
    >>> together = SimpleNamespace(task=task, tasks=("ann", "bob"), wrong=np.tile([False, False, True], 40))
    >>> alone = SimpleNamespace(task=task, tasks=("ann", "bob"), wrong=task == 0)
    >>> result = verdict(together, alone)
    >>> result.helped, result.hurt, result.gain.round(2)
    (('ann',), ('bob',), array([ 0.67, -0.33]))
    """
    _check_same_rounds(trace, against)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r}: expected a number between 0 and 1")
    parts, pooled, decidable = compared(trace, against, confidence)
    q_value = np.ones_like(parts.p_value)
    q_value[decidable] = benjamini_hochberg(parts.p_value[decidable])
    outcome = _outcomes(q_value <= 1 - confidence, parts.low, parts.high)
    judged: dict[str, Any] = {"q_value": q_value, "outcome": outcome, "overall": _pooled(pooled)}
    return Verdict(tuple(trace.tasks), confidence, **parts._asdict(), **judged, words=words_of(trace))


class _Cells(NamedTuple):
    """Rounds of each task: all, and those on which only the other, only the learner, and both were wrong."""

    n: Ints
    won: Ints
    lost: Ints
    both: Ints


class Gains(NamedTuple):
    """Several gains: the fields of `Gain` as arrays."""

    n: Ints
    error: Floats
    error_against: Floats
    gain: Floats
    low: Floats
    high: Floats
    p_value: Floats


class Compared(NamedTuple):
    """A comparison of two learners on every task and over all rounds, with flags of tasks that can be decided."""

    parts: Gains
    pooled: Gains
    decidable: NDArray[np.bool_]


@singledispatch
def compared(trace: Trace, against: Trace, confidence: float) -> Compared:
    """Compare two learners over the same rounds; for numbers see :mod:`coterie.evaluation.amounts`."""
    cells = _cells(trace, against)
    pooled = _Cells(*(counts.sum(keepdims=True) for counts in cells))
    decidable = 2.0 ** (1.0 - (cells.won + cells.lost)) <= 1 - confidence
    return Compared(_gains(cells, confidence), _gains(pooled, confidence), decidable)


def _cells(trace: Trace, against: Trace) -> _Cells:
    ours, theirs, n_tasks = trace.wrong, against.wrong, len(trace.tasks)
    chosen = (np.ones_like(ours), theirs & ~ours, ours & ~theirs, ours & theirs)
    return _Cells(*(np.bincount(trace.task[rounds], minlength=n_tasks) for rounds in chosen))


def _gains(cells: _Cells, confidence: float) -> Gains:
    n, won, lost, both = cells
    error, error_against, gain = (_per_round(count, n) for count in (both + lost, both + won, won - lost))
    low, high = paired_interval(n, won, lost, confidence)
    return Gains(n, error, error_against, gain, low, high, mcnemar(won, lost))


def _per_round(count: Ints, n: Ints) -> Floats:
    rate: Floats = np.divide(count, n, out=np.full(len(n), np.nan), where=n > 0)
    return rate


def _pooled(parts: Gains) -> Gain:
    return Gain(int(parts.n[0]), *(float(values[0]) for values in parts[1:]))


def _outcomes(called: NDArray[np.bool_], low: Floats, high: Floats) -> NDArray[np.str_]:
    return np.where(called & (low > 0), "helped", np.where(called & (high < 0), "hurt", "unclear"))


def _check_same_rounds(trace: Trace, against: Trace) -> None:
    if len(trace.task) != len(against.task):
        raise ValueError(f"against: {len(against.task)} rounds, expected the {len(trace.task)} of trace")
    if tuple(trace.tasks) != tuple(against.tasks) or not np.array_equal(trace.task, against.task):
        raise ValueError("against: its rounds belong to other tasks than those of trace, expected the same stream")


def _overall(verdict: Verdict, name: str, against: str) -> str:
    gain = verdict.overall
    digits = digits_of(gain.gain, gain.low, gain.high)
    words = verdict.words
    before, after = words.value(gain.error_against, digits), words.value(gain.error, digits)
    rounds = f"over {counted(gain.n, 'example')}"
    interval = f"{words.difference(gain.low, digits)} to {words.difference(gain.high, digits)}{words.unit}"
    level = f"{100 * verdict.confidence:g} % interval of the gain: {interval}"
    if not (gain.low > 0 or gain.high < 0):
        return f"{_capital(name)} made no clear difference {rounds}: {after} {words.error} against {before} ({level})."
    verb = "cut" if gain.low > 0 else "raised"
    return f"{_capital(name)} {verb} the {words.error} from {before} to {after} {rounds} ({level})."


def _tasks(verdict: Verdict) -> str:
    total, helped, hurt = len(verdict.tasks), verdict.helped, verdict.hurt
    if total < 2:
        return ""
    if not helped and not hurt:
        return f"No single one of the {total:,} tasks can be told apart yet."
    unclear = total - len(helped) - len(hurt)
    whom = f"hurt {len(hurt):,} ({listed(hurt)})" if hurt else "hurt none that can be told"
    rest = f"; {unclear:,} cannot be told apart yet" if unclear else ""
    return f"It helped {len(helped):,} of {total:,} tasks and {whom}{rest}."


def _advice(verdict: Verdict, name: str, against: str) -> str:
    gain, few = verdict.overall, 0 < len(verdict.hurt) < len(verdict.tasks)
    if gain.low > 0:
        keep = f", but look at {'that task' if len(verdict.hurt) == 1 else 'those tasks'}" if few else ""
        return f"Use {name}{keep}{f': {against} served better there' if keep else ''}."
    if gain.high < 0:
        return f"Keep {against}."
    return "More examples are needed to choose between the two."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
