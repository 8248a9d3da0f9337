"""The state of a bandit service: the bandit, choices that wait for rewards, and rewarded choices.

A choice is an event with the action, its probability and those of all others. Therefore the journal is a log of choices
from which policies can be evaluated, and repeated requests with one id get the same answer.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Hashable, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any, NamedTuple

import msgspec
import numpy as np

from coterie import spec
from coterie.bandits import Bandit, Choice
from coterie.bandits.crossed_input import Action
from coterie.estimators.delayed_labels import SavedPredictions, WaitingRow
from coterie.types import Estimator, Json
from coterie.wording import counted

from .engine import Engine, Metrics, SavedEngine, WaitingRecord, named_task
from .events import Choices, Chosen, Event, JournalRecord, Outcome, Record, Rewarded, Scalar, encode_frame
from .service_errors import ConflictError, RefusedError, UnknownError, in_one_line

#: The type of the probabilities of rewarded choices: of the last million, lists would need four times as much memory.
PACKED = "<f8"

_encode_content = msgspec.msgpack.Encoder(order="deterministic").encode


class OpenChoice(WaitingRecord, array_like=True):
    """A choice that waits for its reward."""

    actions: list[Any] | None
    place: int
    probabilities: list[float]
    n_rewards: int

    def choice(self, bandit: Bandit) -> Choice:
        """Return the choice as the bandit's :class:`Choice`, without scores."""
        predictions = None if self.row.predictions is None else self.row.predictions.restored()
        probabilities, scores = np.array(self.probabilities), np.full(len(self.probabilities), np.nan)
        return Choice(
            self.action(bandit), self.probability, self.place, probabilities, scores, predictions, self.n_rewards
        )

    def action(self, bandit: Bandit) -> Action:
        """Return the chosen action."""
        return offered_actions(self.actions, bandit)[self.place]

    @property
    def content(self) -> bytes:
        """Return a digest of the task, features and actions, by which a repeated request is recognised."""
        return hashlib.blake2b(_encode_content([self.task, self.x, self.actions]), digest_size=16).digest()

    @property
    def probability(self) -> float:
        """The probability of the chosen action."""
        return self.probabilities[self.place]


class Settled(msgspec.Struct, array_like=True):
    """A choice that has its reward. It is kept to answer repeated requests."""

    task: Scalar | None
    content: bytes
    place: int
    packed: bytes
    reward: float

    @property
    def probabilities(self) -> list[float]:
        """The probability that each action had."""
        return list(np.frombuffer(self.packed, PACKED).tolist())

    @property
    def probability(self) -> float:
        """The probability of the chosen action."""
        return self.probabilities[self.place]


class ChoiceCounts(msgspec.Struct):
    """Counts of choices, explorations and rewards, and the sum of rewards."""

    choices: int = 0
    explored: int = 0
    rewards: int = 0
    total: float = 0.0

    @property
    def value(self) -> float:
        """The mean reward; nan before the first reward."""
        return self.total / self.rewards if self.rewards else math.nan

    @property
    def exploration(self) -> float:
        """The fraction of choices of an action without the best score."""
        return self.explored / self.choices if self.choices else 0.0


class SavedBandit(SavedEngine, array_like=True):
    """The state of a bandit service that is saved in addition to its model."""

    waiting: dict[str, OpenChoice]  # type: ignore[assignment]
    learned: dict[str, Settled]  # type: ignore[assignment]
    counts: ChoiceCounts


class _Due(NamedTuple):
    """A choice and its reward; ``place`` is the number of the record in the request."""

    name: str
    choice: OpenChoice
    reward: float
    place: int


@spec.register
class BanditEngine(Engine):
    """The engine of a bandit service: chooses actions, and learns from rewards.

    Parameters
    ----------
    model : Bandit
        The bandit; changed in place.
    remember, expire
        See :class:`coterie.server.engine.Engine`; there are no baselines.
    window : float > 0, optional
        Seconds after which a choice without a reward is learned with reward 0; by default it is not learned.

    Attributes
    ----------
    waiting : WaitingRecords
        The choices that wait for rewards by id, the oldest first.
    learned : dict of str to Settled
        The choices with learned rewards, by id.
    counts : ChoiceCounts
        The numbers of choices and rewards.

    Examples
    --------
    >>> engine = BanditEngine(Bandit(actions=["shoes", "hats"]))
    >>> choices = engine.choose([JournalRecord(id="a", task="ann", x={"hour": 9})])
    >>> engine.apply([Event("chosen", 0.0, choices)])[0].choices[0].probability
    0.5
    >>> engine.apply([Event("rewarded", 1.0, [JournalRecord(id="a", reward=1.0)])])
    [Rewarded(rewarded=1, offset=0)]
    >>> engine.apply([Event("rewarded", 2.0, [JournalRecord(id="a", reward=0.0)])])
    [ConflictError("records[0].reward is 0.0, but id 'a' has the reward 1.0")]
    """

    kinds = ("chosen", "rewarded")
    refusal = "the service chooses: it has no /predict and no /observe"
    _saved = SavedBandit

    def __init__(
        self, model: Estimator, remember: int = 1_000_000, expire: float = 86_400.0, window: float | None = None
    ) -> None:
        self.window, self.counts = window, ChoiceCounts()
        if window is not None and not 0.0 < window <= expire:
            raise ValueError(f"window must be a number of seconds above 0 and at most {expire:.15g}, got {window!r}")
        super().__init__(model, remember, expire, False)

    def _begin(self) -> None:
        if not isinstance(self.model, Bandit):
            raise TypeError(f"model must be a Bandit, got {self.model!r}")
        self.model._check()
        limits = self.model.reward_range
        if self.window is not None and limits is not None and not limits[0] <= 0.0 <= limits[1]:
            raise ValueError(f"a window adds rewards of 0, which are outside reward_range={limits!r}")

    # -- events

    def prepare(self, event: Event) -> msgspec.Raw:
        """Validate an event before it is written; choose actions for a request of choices, and encode its records."""
        encoded = super().prepare(event)
        if event.kind != "chosen":
            return encoded
        event.records = self.choose(event.records)
        return msgspec.Raw(encode_frame(event.records))

    def choose(self, records: Sequence[Any]) -> list[JournalRecord]:
        """Return a choice for each record with a new id; the state does not change.

        Raises RefusedError, naming the record, if no choice is possible.
        """
        choices = []
        for k, record in enumerate(records):
            x = record.x or {}
            if record.id in self.waiting or record.id in self.learned:
                choices.append(record)
                continue
            try:
                choice = self.model.choose(x, record.actions, record.task, id=record.id)
            except (ValueError, TypeError, OverflowError) as error:
                raise RefusedError(f"records[{k}]: {in_one_line(error)}") from None
            explored = bool(choice.scores[choice.index] < choice.scores.max())
            probabilities = choice.probabilities.tolist()
            choices.append(
                JournalRecord(record.id, record.task, x, None, record.actions, choice.index, probabilities, explored)
            )
        return choices

    def _is_small(self, block: Sequence[Event]) -> bool:
        return True

    def _describe(self, error: Exception, event: Event) -> str:
        return in_one_line(error)

    def _apply(self, events: Sequence[Event]) -> list[Outcome]:
        (event,) = events
        if event.kind == "chosen":
            return [self._add_choices(event)]
        if event.kind == "rewarded":
            return [self._add_rewards(event)]
        return super()._apply(events)

    def _add_choices(self, event: Event) -> Choices:
        """Store new choices until their rewards arrive. A request with a known id gets the earlier choice."""
        new: dict[str, OpenChoice] = {}
        choices, explored = [], 0
        for k, record in enumerate(event.records):
            assert isinstance(record, JournalRecord) and record.id is not None  # noqa: PT018, S101 - by encode_records
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
            known = new.get(record.id) or self.waiting.get(record.id) or self.learned.get(record.id)
            if known is None:
                if not record.probabilities:
                    raise ConflictError(f"records[{k}]: id {record.id!r} has just expired; send it again")
                asked.row.predictions = self._predict_members(asked)
                known = new[record.id] = asked
                explored += record.explored
            elif known.content != asked.content:
                raise ConflictError(f"records[{k}]: id {record.id!r} has an earlier choice with different content")
            action = offered_actions(record.actions, self.model)[known.place]
            choices.append(Chosen(record.id, record.task, action, known.probability, known.probabilities))
        self.waiting.update(new)
        self.counts.choices += len(new)
        self.counts.explored += explored
        return Choices(choices)

    def _predict_members(self, choice: OpenChoice) -> SavedPredictions | None:
        """Return the ensemble members' predictions for a choice; None for an invalid one, which fails at its reward."""
        with self.model_lock, suppress(ValueError, TypeError):
            predictions = self.model.predict_members(choice.x, choice.action(self.model), choice.task)
            return None if predictions is None else SavedPredictions.from_predictions(predictions)
        return None

    def _add_rewards(self, event: Event) -> Rewarded:
        """Learn the rewards of stored choices. A repeated reward must equal the earlier one."""
        due: dict[str, _Due] = {}
        for k, record in enumerate(event.records):
            assert isinstance(record, JournalRecord) and record.id is not None and record.reward is not None  # noqa: PT018, S101
            name, reward = record.id, record.reward
            before = self.learned.get(name) or due.get(name)
            if before is not None and before.reward != reward:
                raise ConflictError(
                    f"records[{k}].reward is {reward!r}, but id {name!r} has the reward {before.reward!r}"
                )
            if before is None:
                if name not in self.waiting:
                    reason = "is not known: nothing was chosen for it, or it has expired"
                    raise UnknownError(f"records[{k}].id {name!r} {reason}")
                due[name] = _Due(name, self.waiting[name], reward, k)
        self._reward(list(due.values()), event.at)
        return Rewarded(len(event.records))

    def _reward(self, due: Sequence[_Due], at: float) -> None:
        """Learn several rewards, or none if one is invalid; ``at`` is the time of the event."""
        if not due:
            return
        waiting, rewards = [one.choice for one in due], [one.reward for one in due]
        xs, tasks = [choice.x for choice in waiting], [choice.task for choice in waiting]
        choices = [choice.choice(self.model) for choice in waiting]
        with self.model_lock:
            try:
                if len(due) == 1:
                    self.model.learn(xs[0], choices[0], rewards[0], task=tasks[0])
                else:
                    self.model.learn_many(xs, choices, rewards, task=tasks)
            except (ValueError, TypeError) as error:
                raise ValueError(_describe_refusal(in_one_line(error), due)) from None
        self.observed_at = at
        self.counts.rewards += len(due)
        self.counts.total += math.fsum(rewards)
        self.features.add(xs)
        for name, choice, reward, _ in due:
            del self.waiting[name]
            packed = np.array(choice.probabilities, PACKED).tobytes()
            settled = Settled(choice.task, choice.content, choice.place, packed, reward)
            self._remember({name: settled})

    def _forget_learned(self, tasks: Sequence[Hashable]) -> None:
        self.learned = {name: one for name, one in self.learned.items() if named_task(one.task) not in tasks}

    def _check_waiting(self) -> None:
        choices = self.waiting.values()
        rows, tasks = [choice.row for choice in choices], [choice.task for choice in choices]
        self.model._inner_model.check_waiting(rows, tasks)

    def _expire(self) -> None:
        if self.window is not None:
            since = self.at - self.window
            for name in list(takewhile(lambda name: self.waiting[name].at <= since, self.waiting)):
                try:
                    self._reward([_Due(name, self.waiting[name], 0.0, 0)], self.at)
                except ValueError:  # drop the records that the model rejects
                    del self.waiting[name]
                    self.expired += 1
        super()._expire()

    # -- reading

    @property
    def tasks(self) -> Sequence[Hashable]:
        """The known tasks, in order of first appearance."""
        known: Sequence[Hashable] = self.model.tasks_ if self.model._fitted else ()
        return known

    def _knows(self, task: Hashable) -> bool:
        return self.model._fitted and task in self._estimator.__stream_model__().population.tasks.numbers

    @property
    def _estimator(self) -> Estimator:
        return self.model.model_

    def metrics(self) -> Metrics:
        """Return the metrics of the engine for Prometheus."""
        with self.lock:
            return {
                "value": ("Mean reward of the choices", "", self.counts.value),
                "choices": ("Choices made", "", self.counts.choices),
                "exploration_ratio": ("Share of choices not of the best score", "", self.counts.exploration),
            }

    def report(self, against: str | None = None) -> Json:
        """Return the numbers of choices and rewards, and the mean reward; raise ValueError if ``against`` is set."""
        if against is not None:
            raise ValueError(f"against={against[:40]!r} is not supported by a bandit's service; leave it out")
        with self.lock:
            counts = self.counts
            mean = f"The mean reward of {counted(counts.rewards, 'choice')} is {counts.value:.3g}."
            return {
                "examples": counts.rewards,
                "sentence": mean if counts.rewards else "No reward has come yet.",
                "choices": msgspec.to_builtins(counts) | {"value": counts.value, "exploration": counts.exploration},
            }

    def require_declared(self, labels: Sequence[Scalar]) -> None:
        """Raise ValueError: bandits have no labels to declare."""
        raise ValueError("a bandit has no labels to declare")

    def compile(self) -> None:
        """Choose and learn with a copy of the same kind, so that code is compiled before the first request."""
        spare = BanditEngine(type(self.model)(**self.model.get_params(deep=False)))
        actions = None if self.model.actions is not None else ["a", "b"]
        for at, count in enumerate((1, 1, 2)):
            records = [
                JournalRecord(f"{at} {k}", "a", {"number": 0.5, "word": "b"}, actions=actions) for k in range(count)
            ]
            spare.apply([Event("chosen", float(at), spare.choose(records))])
            rewards: list[Record] = [JournalRecord(record.id, reward=float(at % 2)) for record in records]
            spare.apply([Event("rewarded", float(at), rewards)])


def offered_actions(actions: Sequence[Action] | None, bandit: Bandit) -> Sequence[Action]:
    """Return the offered actions; by default those of the bandit."""
    return (bandit.actions or ()) if actions is None else actions


def _describe_refusal(text: str, due: Sequence[_Due]) -> str:
    """Return a message about an invalid reward with its number in the request."""
    match = re.search(r"(?:record (\d+) \(from 0\): )|(?: of row (\d+) \(from 0\))", text)
    number = 0 if match is None else int(match[1] or match[2])
    return f"records[{due[number].place}]: {text if match is None else text[: match.start()] + text[match.end() :]}"
