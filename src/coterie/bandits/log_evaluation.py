"""Evaluation of policies on a log of decisions, from which bandits learn at the same time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from coterie.data.errors import FieldError, InputError
from coterie.types import Estimator, Floats, Ints, Json
from coterie.wording import counted

from .contextual_bandit import Bandit
from .off_policy import PolicyGain, PolicyValue, digits, policy_gain, policy_value

if TYPE_CHECKING:
    from coterie.data.bandit_logs import LoggedChoice, LogReader


#: The policies that learn as the log goes on, by their names; the first is the one that the library is for.
SHARED, POOLED, ALONE = "shared", "one for all", "one per task"
#: The names of the best single action by the previous rows, of the policy passed, and of the logged policy.
SINGLE, SAVED, DONE = "single action", "policy", "what was done"
#: The text for an interval that too few rows inform.
UNKNOWN = "unknown"
#: The minimum mean number of rows that offer an action, for an evaluation of the best single action.
_ROUNDS_OF_AN_ACTION = 2


class LogRows(NamedTuple):
    """The rows of a log that are evaluated, and the numbers of rows that are left out, by reason.

    Attributes
    ----------
    rows : list of LoggedChoice
        The rows in the order of the log, all with a reward.
    actions : list of list
        The actions of each row; rows without a separate list share one.
    known : bool
        True if the probabilities of all actions are known in all rows.
    unrewarded : int
        Rows left out because they have no reward.
    young : int
        Rows left out because the window has not passed.
    zeros : int
        Rows without a reward, which counts as 0.
    """

    rows: list[LoggedChoice]
    actions: list[list[Hashable]]
    known: bool
    unrewarded: int
    young: int
    zeros: int

    @property
    def tasks(self) -> list[Hashable]:
        """The tasks, in order of first appearance."""
        return list(dict.fromkeys(row.task for row in self.rows))


@dataclass(frozen=True)
class BanditOutcome:
    """The values of policies on a log, and the bandit that has learned the log.

    Attributes
    ----------
    log : LogRows
        The rows evaluated.
    values : dict of str to PolicyValue
        The value of each policy; the last one is the logged policy.
    gains : dict of str to dict of str to PolicyGain
        The gain of the first policy over the second, by their names.
    single : label
        The action that had the best value at the end of the log.
    bandit : Bandit
        The bandit that shares between tasks, after learning the log.
    saved : str
        The name of the policy passed; empty without one.
    reader : LogReader
        The reader, with the rows and columns read and left out.
    """

    log: LogRows
    values: dict[str, PolicyValue]
    gains: dict[str, dict[str, PolicyGain]]
    single: Hashable
    bandit: Bandit
    saved: str
    reader: LogReader

    @property
    def chosen(self) -> str:
        """The policy of the headline.

        It is a saved bandit if there is one, else the best bandit that clearly beats the one with sharing, else that
        one.
        """
        if self.saved:
            return SAVED
        better = [name for name in self.values if name not in (SHARED, DONE) and self.gains[name][SHARED].low > 0.0]
        return max(better, key=lambda name: self.values[name].value, default=SHARED)

    def spoken(self, name: str) -> str:
        """Return the name of a policy as it is written in sentences."""
        if name == SINGLE:
            return f"always {self.single!r}"
        phrases = {SHARED: "a shared policy", POOLED: "one policy for all tasks", ALONE: "one policy per task"}
        return phrases.get(name, self.saved if name == SAVED else name)

    def row_name(self, name: str) -> str:
        """Return the name of a policy as it is written in tables."""
        return f"always {self.single!r}" if name == SINGLE else self.saved if name == SAVED else name

    @property
    def sentences(self) -> list[str]:
        """The headline and remarks, as sentences."""
        chosen = self.chosen
        gain, policy = self.gains[chosen][DONE], self.spoken(chosen)
        against = f"{_gain_text(gain)} against what was done{self._beside}."
        if gain.low > 0.0:
            unless = ", unless it has learned from these rows" if self.saved else ""
            headline = f"Use {policy}{unless}: {against}"
        elif gain.high < 0.0:
            headline = f"Keep what was done: {policy} is worth {against}"
        else:
            headline = f"Undecided: {policy} is worth {against}"
        alike = [
            self.spoken(name) for name, gain_over in self.gains[chosen].items() if name != DONE and not gain_over.clear
        ]
        return [headline, *([f"No clear difference from {' or '.join(alike)}."] if alike else []), *self._reserves]

    @property
    def _beside(self) -> str:
        """Return the clause of the headline that compares the chosen policy with its best competitor."""
        rivals = [name for name in self.values if name not in (self.chosen, DONE)]
        if not rivals:
            return ""
        nearest = max(rivals, key=lambda name: self.values[name].value)
        return f", {_gain_text(self.gains[self.chosen][nearest], short=True)} against {self.spoken(nearest)}"

    @property
    def _reserves(self) -> Iterator[str]:
        """Yield the reservations about the result, as sentences."""
        if not self.log.known:
            yield (
                "All intervals may be too narrow: the log has the probability of what was shown only. Log those of all "
                "actions."
            )
            return
        for warning in dict.fromkeys(value.warning for value in self.values.values() if value.warning):
            names = [self.row_name(name) for name, value in self.values.items() if value.warning == warning]
            which = "The intervals" if len(names) == len(self.values) else f"The interval of {' and '.join(names)}"
            yield f"{which} {warning}."

    @property
    def counts(self) -> str:
        """The numbers of rows, actions and tasks, and of omitted rows, as a sentence."""
        sizes = {len(offered) for offered in self.log.actions}
        among = counted(max(sizes), "action") if len(sizes) == 1 else f"{min(sizes)} to {max(sizes)} actions"
        choices = f"{counted(len(self.log.rows), 'choice')} of {counted(len(self.log.tasks), 'task')}"
        sentences = [f"{choices} among {among}."]
        if self.log.zeros:
            sentences.append(f"{self.log.zeros:,} rewards never came, and count as 0.")
        if self.log.young:
            sentences.append(f"{counted(self.log.young, 'row')} left out, whose window had not passed.")
        if self.log.unrewarded:
            sentences.append(f"{counted(self.log.unrewarded, 'row')} without a reward left out.")
        return " ".join(sentences)

    def to_json(self) -> Json:
        """Return the outcome as JSON data."""
        names, of_reader = list(self.values), ("source", "skipped_examples", "columns", "dropped")
        return {
            "rows": len(self.log.rows),
            "tasks": len(self.log.tasks),
            "most_actions": max(map(len, self.log.actions)),
            "left_out": {"unrewarded": self.log.unrewarded, "window": self.log.young, "bad": self.reader.skipped},
            "zeros": self.log.zeros,
            "policies": {name: _json(vars(self.values[name])) for name in names},
            "gains": {
                name: {other: _json(gain._asdict()) for other, gain in self.gains[name].items()} for name in names
            },
            "single": None if SINGLE not in self.values else self.single,
            "chosen": self.chosen,
            "sentences": self.sentences,
            "reading": {name: getattr(self.reader, name) for name in of_reader},
        }


def evaluate(
    reader: LogReader,
    *,
    model: Estimator = None,
    policy: Bandit | None = None,
    policy_name: str = "the policy",
    window: float | None = None,
    reward_range: tuple[float, float] | None = None,
    for_new_tasks: bool = False,
    on_learned: Callable[[Bandit], object] | None = None,
) -> BanditOutcome:
    """Evaluate the logged policy, bandits that learn the log row by row, and the best single action.

    Each row is evaluated before it is learned: three bandits compute their choice probabilities for it, and then learn
    its reward: one that shares between tasks, one for all tasks, one per task. The best single action is that of the
    previous rows. All are valued with the predictions of the sharing bandit, see :mod:`coterie.bandits.off_policy`. The
    log is held in memory.

    Parameters
    ----------
    reader : LogReader
        The log, in the order of time.
    model : estimator, optional
        The model of the bandit that shares, as in :class:`coterie.Bandit`.
    policy : Bandit, optional
        A further policy to evaluate, without updates; it must not have learned this log.
    policy_name : str
        Its name.
    window : float, optional
        Seconds after which a missing reward counts as 0, relative to the last time of the log. Rows of the last window
        are left out even if they have a reward, because early rewards would be over-represented. By default rows
        without a reward are left out.
    reward_range, for_new_tasks
        See :func:`coterie.off_policy`.
    on_learned : callable, optional
        Called with the bandit that has learned all rows, before policies are evaluated.

    Returns
    -------
    BanditOutcome
        The values, and the bandit that has learned.

    Raises
    ------
    InputError
        For an invalid row, with its place, or if no row is left.
    """
    log = _prepared(list(reader), window, reader.paths[-1])
    low, high = reward_range or (-np.inf, np.inf)
    for row in log.rows:
        if not low <= (row.reward or 0.0) <= high:
            raise InputError(f"the reward {row.reward:g} lies outside the range {low:g} to {high:g}", *row.place)
    going = _LogPass(log, model, policy)
    going.run()
    if on_learned is not None:
        on_learned(going.bandits[SHARED])
    rows = log.rows
    reward = np.array([row.reward for row in rows], np.float64)
    options: Json = {"reward_range": reward_range, "cluster": [row.task for row in rows] if for_new_tasks else None}
    mu = (
        _matrix([row.probabilities or [] for row in rows]) if log.known else np.array([row.probability for row in rows])
    )
    shown, q = np.array(going.shown), _matrix(going.scores)
    pis = {name: _matrix(chosen) for name, chosen in going.probabilities.items()}
    for name, pi in pis.items():
        _refuse_never_shown(log, name, pi)
    values = {name: policy_value(reward, shown, mu, pi, q, **options) for name, pi in pis.items()}
    ones = np.ones((len(rows), 1))
    # on-policy: one action of probability 1 and q = 0, so w = 1 and the value is the plain mean
    values[DONE] = policy_value(reward, np.zeros(len(rows), int), ones, ones, np.zeros_like(ones), **options)
    gains = _gains(pis, lambda pi, against: policy_gain(reward, shown, mu, pi, q, against, **options))
    saved = policy_name if policy is not None else ""
    return BanditOutcome(log, values, gains, going.leader, going.bandits[SHARED], saved, reader)


def _gains(
    pis: Mapping[str, Floats], gain_over: Callable[[Floats, Floats | None], PolicyGain]
) -> dict[str, dict[str, PolicyGain]]:
    """Return the gain of each policy over every other one, and over the policy of the log."""
    gains: dict[str, dict[str, PolicyGain]] = {name: {} for name in (*pis, DONE)}
    for name, pi in pis.items():
        for other, against in [*pis.items(), (DONE, None)]:
            if other != name:
                gains[name][other] = gain_over(pi, against)
        gain = gains[name][DONE]
        gains[DONE][name] = PolicyGain(-gain.value, -gain.high, -gain.low, gain.warning)
    return gains


class _LogPass:
    """One pass over a log, in which bandits give probabilities for each row and then learn it."""

    def __init__(self, log: LogRows, model: Estimator, policy: Bandit | None) -> None:
        self.log, self.policy = log, policy
        self.bandits = _bandits(model, len(log.tasks))
        lists = {id(actions): actions for actions in log.actions}.values()
        self._actions = list(dict.fromkeys(action for actions in lists for action in actions))
        self._numbers = {action: number for number, action in enumerate(self._actions)}
        self.shown = [actions.index(row.action) for actions, row in zip(log.actions, log.rows, strict=True)]
        names = [SHARED, POOLED, ALONE][: len(self.bandits)]
        if _ROUNDS_OF_AN_ACTION * len(self._actions) <= sum(map(len, log.actions)):
            names.append(SINGLE)
        if policy is not None:
            names.insert(0, SAVED)
        self.probabilities: dict[str, list[Floats]] = {name: [] for name in names}
        self.scores: list[Floats] = []
        self._sums, self._counts = np.zeros(len(self._actions)), np.zeros(len(self._actions))

    def run(self) -> None:
        """Evaluate and then learn each row."""
        for i, (row, actions) in enumerate(zip(self.log.rows, self.log.actions, strict=True)):
            try:
                self._evaluate_and_learn(i, row, actions)
            except (ValueError, TypeError) as error:
                raise InputError(str(error), *row.place) from None

    def _evaluate_and_learn(self, i: int, row: LoggedChoice, actions: list[Hashable]) -> None:
        offered = np.array([self._numbers[action] for action in actions])
        choices = {name: bandit.choose(row.x, actions, row.task, id=i) for name, bandit in self.bandits.items()}
        probabilities = {name: choice.probabilities for name, choice in choices.items()}
        if self.policy is not None:
            probabilities[SAVED] = np.array(self.policy.probabilities(row.x, actions, row.task))
        if SINGLE in self.probabilities:
            probabilities[SINGLE] = self._leading(offered)
        # one q for all policies: their values are compared by the same noise
        q, at, reward = choices[SHARED].scores, self.shown[i], float(row.reward or 0.0)
        if not np.isfinite(q).all():
            raise ValueError(f"a predicted reward is not finite: {q.tolist()}")
        self.scores.append(q)
        for name, chosen in probabilities.items():
            self.probabilities[name].append(chosen)
        # the correction of DR for the action that was shown, per unit of the policy's probability
        error = (reward - q[at]) / row.probability
        # DR values of single actions over the rows before: choosing by them leaves the row's own φ unbiased
        self._sums[offered] += q
        self._sums[offered[at]] += error
        self._counts[offered] += 1
        for bandit in self.bandits.values():
            bandit.learn(row.x, row.action, reward, row.probability, task=row.task)

    def _leading(self, offered: Ints) -> Floats:
        """Return the probabilities of always choosing the best single action so far; uniform ones if there is none."""
        counts = self._counts[offered]
        if not counts.any():
            return np.full(len(offered), 1.0 / len(offered))
        means = np.where(counts > 0, self._sums[offered] / np.where(counts > 0, counts, 1.0), -np.inf)
        best = np.zeros(len(offered))
        best[int(means.argmax())] = 1.0
        return best

    @property
    def leader(self) -> Hashable:
        """Return the action with the highest value so far, of those chosen in at least a tenth of the rows."""
        # the best mean of many rare actions is mostly luck
        often = self._counts >= max(1.0, self._counts.max() / 10)
        means = np.where(often, self._sums / np.maximum(self._counts, 1), -np.inf)
        return self._actions[int(means.argmax())]


def _bandits(model: Estimator, tasks: int) -> dict[str, Bandit]:
    """Return the bandit that shares between tasks and, if there are tasks, its baselines, by name."""
    shared = Bandit(model)
    shared.scores({}, [""])  # reject an unsuitable model before the first row
    if tasks < 2:
        return {SHARED: shared}
    baselines = shared.__baselines__()
    return {SHARED: shared, POOLED: baselines["pooled"], ALONE: baselines["independent"]}


# -- the rows -------------------------------------------------------------------------------------------------------


def _prepared(rows: list[LoggedChoice], window: float | None, path: str) -> LogRows:
    """Return the rows of a log to evaluate; ``window`` limits the age of rewards, and ``path`` is for messages."""
    if not rows:
        raise InputError("the log has no rows", path)
    there, young, zeros = _with_rewards(rows, window)
    if not there:
        raise InputError("no row has a reward" if not young else "no row is older than the window", path)
    known = all(row.probabilities is not None for row in there)
    shared: dict[tuple[Hashable, ...], list[Hashable]] = {}
    shown = list(dict.fromkeys(row.action for row in rows))
    lists = [shown if row.actions is None else row.actions for row in there]
    actions = [shared.setdefault(tuple(offered), offered) for offered in lists]
    if max(map(len, actions)) < 2:
        raise InputError("there is only one action; a choice needs at least two", path)
    # no overlap: every weight of another action would be 0 / 0
    if all(row.probability == 1.0 for row in there):
        raise InputError("every choice has probability 1; other policies cannot be evaluated by such a log", path)
    return LogRows(there, actions, known, len(rows) - len(there) - young, young, zeros)


def _with_rewards(rows: Sequence[LoggedChoice], window: float | None) -> tuple[list[LoggedChoice], int, int]:
    """Return the rows with a reward, and the counts of rows within the window and of rewards set to 0."""
    if window is None:
        return [row for row in rows if row.reward is not None], 0, 0
    if rows[-1].time is None:
        raise FieldError("{} requires {}, the column of times", "window", "time")
    # a row within the window without a reward may still get one: censored, so it is left out with all others of its age
    end = rows[-1].time - window
    old = [row for row in rows if row.time is not None and row.time <= end]
    zeros = sum(row.reward is None for row in old)
    return [row if row.reward is not None else row._replace(reward=0.0) for row in old], len(rows) - len(old), zeros


def _matrix(rows: Sequence[Sequence[float] | Floats]) -> Floats:
    """Convert lists of numbers to an array with one list per row, padded with 0."""
    result = np.zeros((len(rows), max(map(len, rows))))
    for i, row in enumerate(rows):
        result[i, : len(row)] = row
    return result


def _refuse_never_shown(log: LogRows, name: str, pi: Floats) -> None:
    """Raise an error if the policy ``name`` may choose an action that the log's policy never chooses.

    ``pi`` are its probabilities.
    """
    for i, row in enumerate(log.rows if log.known else ()):
        mu = np.array(row.probabilities)
        never = (pi[i, : len(mu)] > 0) & (mu == 0)
        if never.any():
            action = log.actions[i][int(never.argmax())]
            raise InputError(
                f"the action {action!r} had probability 0, but the {name} policy may choose it, so that it cannot be "
                "evaluated. Leave the cell empty if an action was not offered; otherwise log with a floor",
                *row.place,
            )


# -- words ----------------------------------------------------------------------------------------------------------


def _gain_text(gain: PolicyGain, short: bool = False) -> str:
    """Format a gain with its interval, as text for sentences.

    >>> _gain_text(PolicyGain(0.0312, 0.012, 0.05))
    '+0.031 (95 % interval 0.012 to 0.050)'
    """
    value, interval = gain_cells(gain)
    if interval == UNKNOWN:
        return f"{value} (interval unknown)"
    return f"{value} ({'' if short else '95 % interval '}{interval})"


def interval_text(low: float, high: float) -> str:
    """Format the ends of an interval as text.

    >>> interval_text(0.31, 0.35), interval_text(-np.inf, np.inf)
    ('0.310 to 0.350', 'unknown')
    """
    k = digits(low, high)
    return f"{low:z.{k}f} to {high:z.{k}f}" if np.isfinite(high - low) else UNKNOWN


def gain_cells(gain: PolicyGain) -> list[str]:
    """Format a gain and its interval as two table cells."""
    return [f"{gain.value:+z.{digits(gain.low, gain.high)}f}", interval_text(gain.low, gain.high)]


def _json(result: Json) -> Json:
    """Convert a value or gain to JSON data, with null for infinite ends of intervals."""
    return {**result, **{name: result[name] if np.isfinite(result[name]) else None for name in ("low", "high")}}
