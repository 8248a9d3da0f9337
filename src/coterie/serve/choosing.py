"""The state of a service that chooses: a bandit, the choices that wait for their rewards, and those that were rewarded.

What was chosen is an event: with the action, its probability and those of all others. So the journal is a log of
choices, from which policies can be valued, and an id has one answer whatever has been learned since.
"""

from __future__ import annotations

import copy
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice, takewhile
from typing import Any, NamedTuple

import msgspec
import numpy as np

from coterie import persistence
from coterie.bandits import Bandit, Choice
from coterie.bandits.policy_sums import Interval, PolicySums
from coterie.evaluation.comparison import BASELINES
from coterie.numeric.trees import Arrays
from coterie.online.waiting import SavedPredictions, WaitingRow
from coterie.wording import counted

from .engine import Engine, Judge, Kept, WaitingRecord, named_task
from .events import (
    Choices,
    Chosen,
    Conflict,
    Event,
    JournalRecord,
    Record,
    RefusedError,
    Rewarded,
    Unknown,
)
from .live import POINTS, TOGETHER
from .refusals import in_one_line

_content = msgspec.msgpack.Encoder(order="deterministic").encode
#: The other policy: the same bandit with one model for all tasks.
POOLED = BASELINES[1]


class OpenChoice(WaitingRecord, array_like=True):
    """A choice that waits for its reward."""

    actions: list[Any] | None
    place: int
    probabilities: list[float]
    n_rewards: int

    def choice(self, bandit: Bandit) -> Choice:
        """Return the choice as it was made, without the scores."""
        predictions = None if self.row.predictions is None else self.row.predictions.restored()
        probabilities, scores = np.array(self.probabilities), np.full(len(self.probabilities), np.nan)
        return Choice(
            self.action(bandit), self.probability, self.place, probabilities, scores, predictions, self.n_rewards
        )

    def action(self, bandit: Bandit) -> Any:
        """The action that was chosen."""
        return offered(self.actions, bandit)[self.place]

    @property
    def content(self) -> bytes:
        """By which two choices are known to be for the same task, features and actions."""
        return hashlib.blake2b(_content([self.task, self.x, self.actions]), digest_size=16).digest()

    @property
    def probability(self) -> float:
        """That of the action that was chosen."""
        return self.probabilities[self.place]


class Settled(msgspec.Struct, array_like=True):
    """A choice whose reward was learned, to answer repeated requests."""

    task: Any
    content: bytes
    place: int
    probability: float
    reward: float


class Counts(msgspec.Struct):
    """The choices made, those that were not of the best score, the rewards learned and their sum."""

    choices: int = 0
    explored: int = 0
    rewards: int = 0
    total: float = 0.0

    @property
    def value(self) -> float:
        """The mean reward; nan before the first."""
        return self.total / self.rewards if self.rewards else math.nan

    @property
    def exploration(self) -> float:
        """The share of choices that were not of the best score."""
        return self.explored / self.choices if self.choices else 0.0


class _Due(NamedTuple):
    """A choice and its reward; ``place`` is the number of the record that told it."""

    name: str
    held: OpenChoice
    reward: float
    place: int


class Policies(Judge):
    """What a bandit is worth beside one with one model for all tasks, by DR* over what both learn.

    Attributes
    ----------
    pooled : Bandit or None
        The other one; None where there is none, or it could not take what the bandit did.
    values : dict of str to PolicySums
        The sums of each policy.
    """

    def __init__(self, bandit: Bandit, counts: Counts) -> None:
        self._counts = counts
        self.pooled = bandit.__baselines__().get(POOLED)
        names = (TOGETHER,) if self.pooled is None else (TOGETHER, POOLED)
        self.values = {name: PolicySums() for name in names}
        self.gain = PolicySums(gain=True)
        self._reward_range = (0.0, 1.0) if bandit._rates else bandit.reward_range
        self._curve: list[list[float]] = []
        self._step = 1

    def add(self, records: Sequence[_Due], rows: Sequence[Choice | None], at: float) -> None:
        """Note choices whose rewards were learned, and what the bandit would have chosen just before."""
        for due, ours, theirs in zip(records, rows, self._beside(records), strict=True):
            if ours is not None:
                row = np.array([due.reward]), np.array([due.held.place]), np.array([due.held.probabilities])
                policy, q, tasks = ours.probabilities[None], ours.scores[None], [due.held.task]
                with suppress(ValueError):  # of numbers too large for sums
                    self.values[TOGETHER].add(*row, policy, q, tasks=tasks)
                    if theirs is not None:
                        other = theirs.probabilities[None]
                        self.values[POOLED].add(*row, other, q, tasks=tasks)
                        self.gain.add(*row, policy, q, other, tasks=tasks)
                    self._note()

    def _beside(self, records: Sequence[_Due]) -> list[Choice | None]:
        """What one model for all would choose before it learns these rewards, as the bandit was asked."""
        none: list[Choice | None] = [None] * len(records)
        pooled = self.pooled
        if pooled is None:
            return none
        try:
            made = [pooled.choose(due.held.x, due.held.actions, due.held.task, id="") for due in records]
            for due in records:
                pooled.learn(due.held.x, due.held.action(pooled), due.reward, task=due.held.task)
        except (ValueError, TypeError):  # what the bandit took may be too much for this one: it is compared no more
            self.pooled = None
            del self.values[POOLED]
            for point in self._curve:
                del point[3]
            return none
        return list(made)

    def _note(self) -> None:
        n = self.values[TOGETHER].phi.n
        if n % self._step == 0:
            self._curve.append([n, self._counts.value, *(each.phi.mean for each in self.values.values())])
        if len(self._curve) > POINTS:
            del self._curve[::2]
            self._step *= 2

    def forget(self, tasks: Sequence[Any], at: float) -> None:
        """Forget tasks."""
        for sums in (*self.values.values(), self.gain):
            sums.extremes.forget(tasks)
        if self.pooled is not None and self.pooled._fitted:
            self.pooled.forget_tasks([task for task in tasks if task in self.pooled.tasks_])

    def as_it_is(self) -> Policies:
        """A copy for who reads it while rewards are learned."""
        made = copy.copy(self)
        made.values, made.gain, made._curve = copy.deepcopy(self.values), copy.deepcopy(self.gain), list(self._curve)
        made._counts = copy.copy(self._counts)
        return made

    def predictions(self, against: str | None = None) -> dict[str, Any]:
        """What the policies are worth, as data with a JSON form; ValueError if there is a name in ``against``."""
        if against is not None:
            raise ValueError(f"against={against[:40]!r} is not supported by a bandit's service; leave it out")
        intervals = {name: self._interval(sums) for name, sums in self.values.items() if sums.phi.n}
        policies = {
            name: {
                "value": self.values[name].phi.mean,
                "low": interval.low,
                "high": interval.high,
                "effective_n": self.values[name].effective_n,
            }
            for name, interval in intervals.items()
        }
        gain = self._interval(self.gain) if POOLED in intervals else None
        shown = [*intervals.values(), *([] if gain is None else [gain])]
        columns = ["n", "choices", *self.values]
        curve = {name: [point[k] for point in self._curve] for k, name in enumerate(columns)}
        return {
            "examples": self._counts.rewards,
            "sentence": self._sentence(intervals, gain),
            "remarks": sorted({f"The interval {interval.warning}." for interval in shown if interval.warning}),
            "verdict": None,
            "choices": msgspec.to_builtins(self._counts)
            | {"value": self._counts.value, "exploration": self._counts.exploration},
            "policies": policies,
            "gain": None if gain is None else {"value": self.gain.phi.mean, "low": gain.low, "high": gain.high},
            "curve": {"n": curve.pop("n"), "value": curve},
        }

    def _interval(self, sums: PolicySums) -> Interval:
        """The interval of a policy or of the gain, unknown if the policy may choose what had the probability 0."""
        if sums.impossible:
            why = f"is unknown: in {counted(sums.impossible, 'row')} the policy may choose what had the probability 0"
            return Interval(-math.inf, math.inf, why)
        return sums.interval(0.95, self._reward_range)

    def _sentence(self, intervals: Mapping[str, Interval], gain: Interval | None) -> str:
        if not intervals:
            return "No reward has come yet."
        ours = self.values[TOGETHER].phi
        said = f"Over {counted(ours.n, 'reward')} sharing is worth {_worth(ours.mean, intervals[TOGETHER])} a choice"
        if gain is None:
            return f"{said}."
        clear = "" if gain.low > 0.0 or gain.high < 0.0 else ": which is better cannot be told yet"
        return f"{said}, {_worth(self.gain.phi.mean, gain)} more than one model for all{clear}."

    def to_saved(self) -> tuple[dict[str, Any], Arrays]:
        """Everything as data with a JSON form, and named arrays."""
        saved: dict[str, Any] = {
            "values": msgspec.to_builtins(self.values),
            "gain": msgspec.to_builtins(self.gain),
            "curve": self._curve,
            "step": self._step,
        }
        if self.pooled is None:
            return saved, {}
        saved["pooled"], arrays = self.pooled.__dump__()
        return saved, arrays

    def restore(self, saved: Mapping[str, Any], arrays: Arrays) -> None:
        """Undo :meth:`to_saved`."""
        self.values = msgspec.convert(saved["values"], dict[str, PolicySums])
        self.gain = msgspec.convert(saved["gain"], PolicySums)
        self._curve, self._step = [list(point) for point in saved["curve"]], int(saved["step"])
        if POOLED not in self.values:
            self.pooled = None
        if self.pooled is not None:
            self.pooled.__restore__(saved["pooled"], arrays)


@persistence.known
class BanditEngine(Engine):
    """A bandit that chooses, and learns each choice once its reward is known.

    Parameters
    ----------
    model : Bandit
        Chooses and learns; changed in place.
    remember, expire, compared
        As those of :class:`coterie.serve.engine.Engine`; beside it learns the same bandit with one model for all.
    window : float > 0, optional
        Seconds after which a choice without a reward is learned with 0; without, nothing is learned of it.

    Attributes
    ----------
    waiting : dict of str to OpenChoice
        The choices that wait for rewards by id, the oldest first.
    learned : dict of str to Settled
        Those whose rewards were learned.
    counts : Counts
        What was chosen, and what it brought.

    Examples
    --------
    >>> engine = BanditEngine(Bandit(actions=["shoes", "hats"]))
    >>> made = engine.choose([JournalRecord(id="a", task="ann", x={"hour": 9})])
    >>> engine.apply([Event("chosen", 0.0, made)])[0].choices[0].probability
    0.5
    >>> engine.apply([Event("rewarded", 1.0, [JournalRecord(id="a", reward=1.0)])])
    [Rewarded(rewarded=1, offset=0)]
    >>> engine.apply([Event("rewarded", 2.0, [JournalRecord(id="a", reward=0.0)])])
    [Conflict(error="records[0].reward is 0.0; id 'a' was learned with 1.0")]
    """

    kinds = ("chosen", "rewarded")
    refusal = "the service chooses: it has no /predict and no /observe"
    _kept = Kept[OpenChoice, dict[str, Settled]]

    def __init__(
        self,
        model: Any,
        remember: int = 1_000_000,
        expire: float = 86_400.0,
        compared: bool = True,
        window: float | None = None,
    ) -> None:
        self.window, self.counts = window, Counts()
        if window is not None and not 0.0 < window <= expire:
            raise ValueError(f"window must be a number of seconds above 0 and at most {expire:.15g}, got {window!r}")
        super().__init__(model, remember, expire, compared)

    def _begin(self) -> Judge | None:
        if not isinstance(self.model, Bandit):
            raise TypeError(f"model must be a Bandit, got {self.model!r}")
        self.model._check()
        limits = self.model.reward_range
        if self.window is not None and limits is not None and not limits[0] <= 0.0 <= limits[1]:
            raise ValueError(f"a window learns rewards of 0, which are not within reward_range={limits!r}")
        return Policies(self.model, self.counts) if self.compared else None

    # -- what happens

    def choose(self, records: Sequence[Any]) -> list[JournalRecord]:
        """Choose for each record, but those whose ids were chosen for; nothing is noted.

        ValueError names a record for which nothing can be chosen.
        """
        made = []
        for k, record in enumerate(records):
            x = record.x or {}
            if record.id in self.waiting or record.id in self.learned:
                made.append(record)
                continue
            try:
                choice = self.model.choose(x, record.actions, record.task, id=record.id)
            except (ValueError, TypeError, OverflowError) as error:
                raise ValueError(f"records[{k}]: {in_one_line(error)}") from None
            explored = bool(choice.scores[choice.index] < choice.scores.max())
            probabilities = choice.probabilities.tolist()
            made.append(
                JournalRecord(record.id, record.task, x, None, record.actions, choice.index, probabilities, explored)
            )
        return made

    def _one_by_one(self, block: Sequence[Event]) -> bool:
        return True

    def _worded(self, error: Exception, event: Event) -> str:
        return in_one_line(error)

    def _apply(self, events: Sequence[Event]) -> list[Any]:
        (event,) = events
        if event.kind == "chosen":
            return [self._note_choices(event)]
        if event.kind == "rewarded":
            return [self._note_rewards(event)]
        return super()._apply(events)

    def _note_choices(self, event: Event) -> Choices:
        """Let choices wait for rewards; of an id that was chosen for before, tell what was chosen then."""
        new: dict[str, OpenChoice] = {}
        predictions, explored = [], 0
        for k, record in enumerate(event.records):
            assert isinstance(record, JournalRecord) and record.id is not None  # noqa: PT018, S101 - by what it was checked
            asked = OpenChoice(
                record.task,
                record.x or {},
                event.at,
                WaitingRow(),
                record.actions,
                record.place,
                record.probabilities,
                self.model.__dict__.get("n_rewards_", 0),
            )
            held = new.get(record.id) or self.waiting.get(record.id) or self.learned.get(record.id)
            if held is None:
                if not record.probabilities:
                    raise RefusedError(Conflict(f"records[{k}]: id {record.id!r} has expired just now: send it again"))
                asked.row.predictions = self._predict_members(asked)
                held = new[record.id] = asked
                explored += record.explored
            elif held.content != asked.content:
                raise RefusedError(Conflict(f"records[{k}]: id {record.id!r} was chosen for with other content"))
            action = offered(record.actions, self.model)[held.place]
            predictions.append(Chosen(record.id, record.task, action, held.probability))
        self.waiting |= new
        self.counts.choices += len(new)
        self.counts.explored += explored
        return Choices(predictions)

    def _predict_members(self, choice: OpenChoice) -> SavedPredictions | None:
        """Predict a choice as the model is now; a choice that the model refuses is refused with its reward."""
        with self.model_lock, suppress(ValueError, TypeError):
            predictions = self.model.predict_members(choice.x, choice.action(self.model), choice.task)
            return None if predictions is None else SavedPredictions.of(predictions)
        return None

    def _note_rewards(self, event: Event) -> Rewarded:
        """Learn rewards of choices that wait; those learned before must have been the same."""
        due: dict[str, _Due] = {}
        for k, record in enumerate(event.records):
            assert isinstance(record, JournalRecord) and record.id is not None and record.reward is not None  # noqa: PT018, S101
            name, reward = record.id, record.reward
            before = self.learned.get(name) or due.get(name)
            if before is not None and before.reward != reward:
                why = f"records[{k}].reward is {reward!r}; id {name!r} was learned with {before.reward!r}"
                raise RefusedError(Conflict(why))
            if before is None:
                if name not in self.waiting:
                    why = f"records[{k}].id {name!r} is not known: nothing was chosen for it, or it has expired"
                    raise RefusedError(Unknown(why))
                due[name] = _Due(name, self.waiting[name], reward, k)
        self._reward(list(due.values()), event.at)
        return Rewarded(len(event.records))

    def _reward(self, due: Sequence[_Due], at: float) -> None:
        """Learn rewards, all of them or none."""
        if not due:
            return
        xs, tasks = [each.held.x for each in due], [each.held.task for each in due]
        choices, rewards = [each.held.choice(self.model) for each in due], [each.reward for each in due]
        rows = [self._would_choose(each.held) for each in due] if self.live is not None else []
        with self.model_lock:
            try:
                if len(due) == 1:
                    self.model.learn(xs[0], choices[0], rewards[0], task=tasks[0])
                else:
                    self.model.learn_many(xs, choices, rewards, task=tasks)
            except (ValueError, TypeError) as error:
                raise ValueError(_placed(in_one_line(error), due)) from None
        self.observed_at = at
        self.counts.rewards += len(due)
        self.counts.total += math.fsum(rewards)
        if self.live is not None:
            self.live.add(due, rows, at)
        self.features.add(xs)
        logged = [_logged(each.held, choice.action, self.model) for each, choice in zip(due, choices, strict=True)]
        self.on_learned(list(zip(logged, rewards, map(named_task, tasks), strict=True)))
        for each in due:
            held = each.held
            self.learned[each.name] = Settled(held.task, held.content, held.place, held.probability, each.reward)
            del self.waiting[each.name]
        for name in list(islice(self.learned, max(len(self.learned) - self.remember, 0))):
            del self.learned[name]

    def _forget_learned(self, tasks: Sequence[Any]) -> None:
        self.learned = {name: settled for name, settled in self.learned.items() if settled.task not in tasks}

    def _would_choose(self, held: OpenChoice) -> Choice | None:
        """What would be chosen now."""
        with suppress(ValueError, TypeError):  # of a prediction that is not finite
            made: Choice = self.model.choose(held.x, held.actions, held.task, id="")
            return made
        return None

    def _check_waiting(self) -> None:
        self.model._taught.check_waiting([choice.row for choice in self.waiting.values()])

    def _expire(self) -> None:
        if self.window is not None:
            since = self.at - self.window
            for name in list(takewhile(lambda name: self.waiting[name].at <= since, self.waiting)):
                try:
                    self._reward([_Due(name, self.waiting[name], 0.0, 0)], self.at)
                except ValueError:  # what the model refuses is given up
                    del self.waiting[name]
                    self.expired += 1
        super()._expire()

    # -- what is told

    @property
    def tasks(self) -> Sequence[Any]:
        """The tasks known, in order of first appearance."""
        known: Sequence[Any] = self.model.tasks_ if self.model._fitted else ()
        return known

    def _knows(self, task: Any) -> bool:
        return self.model._fitted and task in self._estimator.__stream_model__().population.tasks.numbers

    @property
    def _estimator(self) -> Any:
        return self.model.model_

    def require_declared(self, labels: Sequence[Any]) -> None:
        """Refuse labels: there are none."""
        raise ValueError("a service that chooses has no labels to declare")

    def predict(self, records: Sequence[Record]) -> Any:
        """Refuse to predict."""
        raise RefusedError(Unknown(self.refusal))

    def compile(self) -> None:
        """Choose and learn by a bandit of the same kind, so that the code is compiled when records come."""
        spare = BanditEngine(type(self.model)(**self.model.get_params(deep=False)), compared=self.compared)
        actions: Any = None if self.model.actions is not None else ["a", "b"]
        for at, count in enumerate((1, 1, 2)):
            records = [
                JournalRecord(f"{at} {k}", "a", {"number": 0.5, "word": "b"}, actions=actions) for k in range(count)
            ]
            spare.apply([Event("chosen", float(at), spare.choose(records))])
            spare.apply(
                [Event("rewarded", float(at), [JournalRecord(each.id, reward=float(at % 2)) for each in records])]
            )

    # -- files

    @property
    def _ids(self) -> Any:
        return self.learned

    def __dump__(self) -> tuple[dict[str, Any], Arrays]:
        """Everything there is to keep, as data with a JSON form and named arrays."""
        data, arrays = super().__dump__()
        return data | {"counts": msgspec.to_builtins(self.counts)}, arrays

    def __restore__(self, data: dict[str, Any], arrays: Arrays) -> BanditEngine:
        """Undo :meth:`__dump__`; ValueError for what no engine can have been."""
        super().__restore__(data, arrays)
        held = msgspec.convert(data["counts"], Counts)
        for name in Counts.__struct_fields__:
            setattr(self.counts, name, getattr(held, name))
        return self


def offered(actions: list[Any] | None, bandit: Bandit) -> Sequence[Any]:
    """The actions that were offered: those of the bandit, where none were named."""
    made: Any = bandit.actions if actions is None else actions
    return made  # type: ignore[no-any-return]


def _logged(held: OpenChoice, action: Any, bandit: Bandit) -> dict[str, Any]:
    """A choice as a row of a log: features, what was shown, and of actions that are labels a probability each."""
    offers = offered(held.actions, bandit)
    if isinstance(action, Mapping):
        return held.x | {"action": action, "actions": offers, "probabilities": held.probabilities}
    chances = zip(offers, held.probabilities, strict=True)
    return held.x | {"action": action} | {f"p_{each}": chance for each, chance in chances}


def _worth(value: float, interval: Interval) -> str:
    """A value and its interval as text."""
    known = math.isfinite(interval.low)
    return f"{value:.3g} ({f'{interval.low:.3g} to {interval.high:.3g}' if known else 'interval unknown'})"


def _placed(text: str, due: Sequence[_Due]) -> str:
    """A refusal of rewards with the number of the record in its request."""
    found = re.search(r"(?:record (\d+) \(from 0\): )|(?: of row (\d+) \(from 0\))", text)
    number = 0 if found is None else int(found[1] or found[2])
    return f"records[{due[number].place}]: {text if found is None else text[: found.start()] + text[found.end() :]}"
