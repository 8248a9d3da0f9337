"""The state of a service: the model, the records that wait for labels, and the ids that were learned.

It is a function of the journal alone: a frame is cut into blocks by what it holds, and each is learned by one call.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby, islice, takewhile
from os import PathLike
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie import persistence, spec
from coterie.evaluation.stream_model import stream_model_of
from coterie.evaluation.tracing import trace_rows
from coterie.explanation import listed_weights, nearest_tasks
from coterie.inputs.labels import as_labels
from coterie.inputs.tabular import ONLY_TASK
from coterie.numeric.trees import below
from coterie.online.waiting import WaitingRow
from coterie.parameters import Parameters

from .events import Event, Observed, Prediction, Record, Refused, RefusedError, Unknown
from .features import Features
from .live import Limits, Live
from .refusals import in_json, in_one_line, worded

#: From how many records on they are predicted as a block.
BLOCK = 16
#: Up to so many requests of a record each are learned one by one, which takes less time than a block of so few.
APART = 8


class WaitingRecord(msgspec.Struct, array_like=True):
    """A record that was predicted: its task, its features, the time, and the row and the predictions made of it."""

    task: Any
    x: dict[str, Any]
    at: float
    row: WaitingRow


W = TypeVar("W", bound=WaitingRecord)
L = TypeVar("L")


class WaitingRecords(dict[str, Any]):
    """Records that wait, by id, the oldest first, with their number for each task."""

    def __init__(self, records: Mapping[str, WaitingRecord]) -> None:
        super().__init__(records)
        self._counts = Counter(named_task(record.task) for record in records.values())

    def count(self, task: Any) -> int:
        """Return the number of records of a task."""
        return self._counts[named_task(task)]

    def __setitem__(self, name: str, record: Any) -> None:
        self.pop(name, None)
        super().__setitem__(name, record)
        self._counts[named_task(record.task)] += 1

    def __delitem__(self, name: str) -> None:
        task = named_task(self[name].task)
        super().__delitem__(name)
        self._counts[task] -= 1
        if not self._counts[task]:
            del self._counts[task]

    def pop(self, name: str, default: Any = None) -> Any:
        """Remove a record, and return it, or a default."""
        record = self.get(name, default)
        if name in self:
            del self[name]
        return record

    def update(self, *given: Any, **named: Any) -> None:
        """Add records."""
        for name, record in dict(*given, **named).items():
            self[name] = record

    def __ior__(self, records: Any) -> Self:  # type: ignore[override, misc]
        self.update(records)
        return self


class Kept(msgspec.Struct, Generic[W, L], array_like=True):
    """The data of an engine that are saved beside the model."""

    offset: int
    at: float
    waiting: dict[str, W]
    learned: L
    observed_at: float = 0.0
    began_at: float = 0.0
    features: Features = msgspec.field(default_factory=Features)
    forgotten: int = 0


class Judge(Protocol):
    """What learns beside a model and says what learning together is worth.

    What one does not say, nor heed, is as here: nothing.
    """

    @property
    def errors(self) -> dict[str, float]:
        """The error over all records, by learner."""
        return {}

    def add(self, records: Any, rows: Any, at: float) -> None:
        """Note what the model has learned."""

    def forget(self, tasks: Any, at: float) -> None:
        """Forget tasks."""

    def reset(self, at: float) -> None:
        """Set the time back."""
        return

    def as_it_is(self) -> Self:
        """A copy for who reads it while records are learned."""

    def predictions(self, against: str | None) -> dict[str, Any]:
        """All it says, as data with a JSON form."""

    def of_task(self, task: Any) -> dict[str, Any]:
        """What it says of a task."""
        return {}

    def alarms(self, limits: Limits) -> dict[str, str]:
        """The alarms it raises."""
        return {}

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything as data with a JSON form, and named arrays."""

    def restore(self, saved: Any, arrays: dict[str, NDArray[Any]]) -> None:
        """Undo :meth:`to_saved`."""


class _Change(msgspec.Struct):
    """The changes that some events make: records to learn, ids that wait and that were learned, tasks to forget.

    ``places`` are the numbers that the records to learn have in their requests.
    """

    outcomes: list[Observed]
    records: list[tuple[dict[str, Any], Any, Any]]
    rows: list[WaitingRow]
    waiting: dict[str, WaitingRecord | None]
    learned: dict[str, None]
    forgotten: list[Any]
    places: list[int]


@persistence.known
class Engine(Parameters):
    """A model that learns the records it predicted once their labels are known, each id once.

    Parameters
    ----------
    model : estimator
        Learns online; changed in place.
    remember : int >= 1
        An id is learned at most once among the last so many.
    expire : float > 0
        Seconds after which a record that waits for its label is given up, by the times that events have.
    compared : bool
        Whether one model per task and one for all learn beside it, to say whether learning together helps; it takes
        about twice the memory and the time. Never beside a model of several views.

    Attributes
    ----------
    offset : int
        The journal's offset up to which everything was applied.
    forgotten : int
        The offset behind the last frame by which tasks were forgotten; what is older holds their records. 0 before any.
    began_at, at, observed_at : float
        The times of the first event, the last, and the last that brought a label; 0 before the first.
    waiting : dict of str to WaitingRecord
        The records that wait for labels by id, the oldest first.
    expired : int
        How many were given up by this process.
    learned : dict of str to None
        The ids learned, the oldest first.
    features : Features
        The names of features in the records learned.
    live : Live or None
        Whether learning together helps.
    lock : RLock
        Held by what applies or copies.
    model_lock : RLock
        Held by what predicts, and while the model learns; baselines learn later, and no prediction waits for them.
    on_learned : callable
        Is called with the records that were learned: features, label, task of each.

    Examples
    --------
    >>> import coterie as ct
    >>> engine = Engine(ct.MultitaskLogistic())
    >>> record = Record(id="a", task="ann", x={"price": 2.0})
    >>> engine.apply([Event("predicted", 0.0, [record])])
    [Observed(learned=0, duplicate=0, unknown=[], offset=0)]
    >>> engine.apply([Event("observed", 1.0, [Record(id="a", y=True), Record(id="b", y=False)])])
    [Observed(learned=1, duplicate=0, unknown=['b'], offset=0)]
    >>> engine.apply([Event("observed", 2.0, [Record(id="a", y=True)])])
    [Observed(learned=0, duplicate=1, unknown=[], offset=0)]
    """

    _learns_streams = False

    #: The kinds of events that requests bring, besides ``forgotten``, and how others are refused.
    kinds: ClassVar[tuple[str, ...]] = ("predicted", "observed")
    refusal: ClassVar[str] = "the service learns labels: it has no /choose and no /reward"
    _kept: ClassVar[Any] = Kept[WaitingRecord, list[str]]

    def __init__(self, model: Any, remember: int = 1_000_000, expire: float = 86_400.0, compared: bool = True) -> None:
        self.model, self.remember, self.expire, self.compared = model, remember, expire, compared
        spec.require_instance("model", model)
        spec.check_count("remember", remember)
        if not 0.0 < expire < math.inf:
            raise ValueError(f"expire must be a number of seconds above 0, got {expire!r}")
        self.live: Judge | None = self._begin()
        self.offset, self.forgotten, self.began_at, self.at, self.observed_at = 0, 0, 0.0, 0.0, 0.0
        self.expired = 0
        self.waiting = WaitingRecords({})
        self.learned: dict[str, Any] = {}
        self.features = Features()
        self.lock, self.model_lock = threading.RLock(), threading.RLock()
        self.on_learned: Callable[[Sequence[tuple[Any, Any, Any]]], Any] = lambda records: None

    def _begin(self) -> Judge | None:
        """Look at the model, and make what is compared with it."""
        self._stream = stream_model_of(self.model)
        return Live(self.model) if self.compared and self._stream.learner.traits.has_tasks else None

    # -- what happens

    def require(self, kind: str) -> None:
        """Refuse an event of a kind that this model has nothing to do with."""
        if kind not in (*self.kinds, "forgotten"):
            raise RefusedError(Unknown(self.refusal))

    def choose(self, records: Sequence[Any]) -> list[Any]:
        """Refuse to choose: a bandit does."""
        raise RefusedError(Unknown(self.refusal))

    def apply(self, events: Sequence[Event]) -> list[Any]:
        """Apply events in their order; one that the model refuses changes nothing and has a ``Refused``.

        Events of one kind that follow each other are one block: what is predicted after a label was learned is another
        prediction. If the model refuses the block, each event goes by itself, so that one that is refused takes no
        other with it. So do few events of one record, and tasks that are forgotten.
        """
        with self.lock:
            done: list[Any] = []
            self.began_at = self.began_at or (events[0].at if events else 0.0)
            for kind, group in groupby(events, key=lambda event: event.kind):
                block = list(group)
                apart = kind in ("forgotten", "reset") or self._one_by_one(block)
                for some in ([event] for event in block) if apart else [block]:
                    done += self._outcomes(some)
            if events:
                self.at = max(self.at, events[-1].at)
                self._expire()
            return done

    def _one_by_one(self, block: Sequence[Event]) -> bool:
        """Whether events are learned one by one."""
        return len(block) <= APART and all(len(event.records) == 1 for event in block)

    def take(self, events: Sequence[Event], end: int) -> list[Any]:
        """Apply the events of the journal's frame that ends at an offset; see :meth:`apply`."""
        with self.lock:
            done = self.apply(events)
            self.offset = end
            if any(
                event.kind == "forgotten" and isinstance(predictions, Observed)
                for event, predictions in zip(events, done, strict=True)
            ):
                self.forgotten = end
            return done

    def _outcomes(self, events: Sequence[Event]) -> list[Any]:
        """The outcomes of events applied as one block, or one by one if the model refuses the block."""
        try:
            return [*self._apply(events)]
        except (ValueError, TypeError) as error:
            if isinstance(error, RefusedError):
                return [error.refused]
            if len(events) == 1:
                return [Refused(self._worded(error, events[0]))]
            return [outcome for event in events for outcome in self._outcomes([event])]

    def _worded(self, error: Exception, event: Event) -> str:
        """Say why an event was refused, with the numbers that its records have."""
        if event.kind == "forgotten":
            return in_one_line(error)
        change = _Change([], [], [], {}, {}, [], [])
        self._note(event, change)
        return worded(error, change.places, change.records, self._classes, self._predict_one)

    def require_declared(self, labels: Sequence[Any]) -> None:
        """Refuse labels to declare that the model cannot learn, or that lack one that it has learned."""
        if self._stream.label_encoder.numeric:
            raise ValueError("a model of numbers has no labels to declare")
        if len(set(labels)) < 2:
            raise ValueError("there are two labels or more, each declared once")
        if len(labels) > 2 and self._stream.label_encoder.most == 2:
            raise ValueError(f"the model learns two labels, and {len(labels)} are declared")
        for label in self._classes:
            if label not in labels:
                raise ValueError(f"the model has learned the label {in_json(label)}, which is not declared")

    @property
    def _classes(self) -> Sequence[Any]:
        """The labels learned; none of numbers."""
        numbers = self._stream.label_encoder.numeric or not self._stream.fitted
        return () if numbers else [_plain(label) for label in self.model.classes_]

    def _apply(self, events: Sequence[Event]) -> list[Observed]:
        change = _Change([], [], [], {}, {}, [], [])
        for event in events:
            self._note(event, change)
        first = bool(change.records) and not self._stream.fitted
        if change.records:
            with self.model_lock:
                margin, y = self._learn(change.records, change.rows)
            named = [(x, label, named_task(task)) for x, label, task in change.records]
            if self.live is not None:
                rows = trace_rows(self._stream.label_encoder, margin, y, self._stream.learner.traits.log_odds)
                self.live.add(named, rows, events[-1].at)
            self.observed_at = events[-1].at
            self.features.add(x for x, _, _ in change.records)
            self.on_learned(named)
        known = [task for task in change.forgotten if self._knows(task)]
        if known:
            with self.model_lock:
                self.model.forget_tasks(known)
            if self.live is not None:
                self.live.forget(known, events[-1].at)
            self._forget_learned(known)
        self._update_waiting(change, first)
        self.learned |= change.learned
        for name in list(islice(self.learned, max(len(self.learned) - self.remember, 0))):
            del self.learned[name]
        return change.outcomes

    def has_task(self, task: Any) -> bool:
        """Return whether a task was learned, or has records that wait."""
        with self.model_lock:
            return self._knows(task) or self.waiting.count(task) > 0

    def _forget_learned(self, tasks: Sequence[Any]) -> None:
        """Drop what is kept of learned records of forgotten tasks; their ids alone are no data of a task."""

    def _update_waiting(self, change: _Change, first: bool) -> None:
        """Note what waits, and no longer waits, for labels; ``first`` if nothing was learned before."""
        for name, held in change.waiting.items():
            self.waiting.pop(name, None)
            if held is not None:
                self.waiting[name] = held
        predicted = [record for record in change.waiting.values() if record is not None]
        if predicted:
            self._predict_waiting(predicted)
        elif first:
            self._read_waiting()

    def _knows(self, task: Any) -> bool:
        return self._stream.fitted and task in self._stream.population.tasks.numbers

    @property
    def _estimator(self) -> Any:
        """What has learned, with weights by name."""
        return self.model

    def _check_waiting(self) -> None:
        """Refuse rows that the model cannot have made."""
        self._stream.check_waiting([record.row for record in self.waiting.values()])

    def _predict_waiting(self, records: Sequence[WaitingRecord]) -> None:
        """Predict records as the model is now; one that it refuses is read, and refused, when its label comes."""
        try:
            with self.model_lock:
                rows = self._stream.predict_waiting([record.x for record in records], _tasks_of(records))
        except (ValueError, TypeError):
            for record in records if len(records) > 1 else ():
                self._predict_waiting([record])
            return
        for record, row in zip(records, rows, strict=True):
            record.row = row

    def _read_waiting(self) -> None:
        """Read what was predicted before anything was learned: from now on features and scales count it."""
        for record in self.waiting.values():
            with self.model_lock, suppress(ValueError, TypeError):  # it is refused when its label comes
                learning = record.row.asked is not False
                (row,) = self._stream.read_waiting([record.x], _tasks_of([record]), learning)
                row.asked = record.row.asked
                record.row = row

    def _learn(
        self, records: Sequence[tuple[dict[str, Any], Any, Any]], rows: Sequence[WaitingRow]
    ) -> tuple[NDArray[Any], Any]:
        """Learn records as one block; returns the margins right before each label, and the labels."""
        fresh = all(row.values is None for row in rows)
        asked = [row.asked for row in takewhile(lambda row: row.asked is not None, rows)]
        if len(records) == 1 and fresh and not asked and self._stream.fitted:
            x, y, task = records[0]
            return self._stream.learn_told(x, y, task), as_labels([y])
        xs, ys, each = map(list, zip(*records, strict=True))
        tasks = None if all(task is None for task in each) else each
        if fresh:
            block = self._stream.as_block(xs, ys, tasks)
            if asked:
                block = replace(block, asked=np.array(asked))
            return self._learn_block(block), block.y
        self._stream.require_labels(ys)
        read = [self._read(k, records[k]) if row.values is None else row for k, row in enumerate(rows)]
        return self._stream.learn_waiting(read, ys, tasks), as_labels(ys)

    def _learn_block(self, block: Any) -> NDArray[Any]:
        """Learn a block; tasks that wait count from the first label on, if they change what others learn."""
        stream = self._stream
        if not stream.fitted and self.waiting and not stream.learner.traits.tasks_independent:
            known = list(dict.fromkeys(named_task(record.task) for record in self.waiting.values()))
            with suppress(ValueError, TypeError):  # of a task that cannot be: it is refused when its label comes
                return stream.learn(block, tasks=known).margin
        return stream.learn(block).margin

    def _read(self, number: int, record: tuple[dict[str, Any], Any, Any]) -> WaitingRow:
        """Read a record that is learned among others that were read before; it is refused by its number."""
        x, _, task = record
        try:
            row: WaitingRow = self._stream.predict_waiting([x], None if task is None else [task])[0]
        except (ValueError, TypeError) as error:
            raise type(error)(f"record {number} (from 0): {error}") from None
        row.predictions = None
        return row

    def _note(self, event: Event, change: _Change) -> None:
        """Add to a change what an event does after it."""
        outcome = Observed(0, 0, [])
        change.outcomes.append(outcome)
        if event.kind == "forgotten":
            self._note_forgotten({record.task for record in event.records}, change)
            return
        if event.kind == "reset":
            self._reset(event.at)
            return
        for place, record in enumerate(event.records):
            name = record.id
            if name is not None and (name in change.learned or name in self.learned):
                outcome.duplicate += event.kind == "observed"
            elif event.kind == "predicted":
                if name is not None and record.x is not None:
                    change.waiting[name] = WaitingRecord(record.task, record.x, event.at, WaitingRow())
            else:
                held = None if name is None else change.waiting.get(name, self.waiting.get(name))
                if record.x is not None:
                    held = WaitingRecord(record.task, record.x, event.at, WaitingRow())
                if held is None:
                    outcome.unknown.append(str(name))
                    continue
                change.records.append((held.x, record.y, held.task))
                change.rows.append(held.row)
                change.places.append(place)
                outcome.learned += 1
                if name is not None:
                    change.waiting[name] = None
                    change.learned[name] = None

    def _note_forgotten(self, tasks: set[Any], change: _Change) -> None:
        """Add to a change what forgetting tasks does: ValueError where one is not known, and nothing of it waits."""
        waiting = {name: named_task(record.task) for name, record in self.waiting.items()}
        change.waiting |= {name: None for name, task in waiting.items() if task in tasks}
        for task in tasks.difference(waiting.values()):
            if not self._knows(task):
                raise ValueError(f"task {task!r} is not known")
        change.forgotten += list(tasks)

    def _reset(self, at: float) -> None:
        """Set the time back; what seems to have come later has come now, and waits as long as it may from now on."""
        self.at, self.observed_at, self.began_at = at, min(self.observed_at, at), min(self.began_at, at)
        for held in self.waiting.values():
            held.at = min(held.at, at)
        if self.live is not None:
            self.live.reset(at)

    def overdue(self, at: float) -> int:
        """The number of records that are given up at a time, because they have waited for too long then."""
        with self.lock:
            return sum(held.at <= at - self.expire for held in self.waiting.values())

    def _expire(self) -> None:
        for name in list(takewhile(lambda name: self.waiting[name].at <= self.at - self.expire, self.waiting)):
            del self.waiting[name]
            self.expired += 1

    # -- what is told

    def alarms(self, limits: Limits, now: float) -> dict[str, str]:
        """The current alarms, a sentence each by the alarm's name; ``now`` is the time in seconds since 1970."""
        with self.lock:
            predictions = {} if self.live is None else self.live.alarms(limits)
            quiet = now - max(self.observed_at, self.began_at)
            if limits.silence is not None and self.began_at and quiet >= limits.silence and self.at > self.observed_at:
                predictions["silence"] = f"No label has come for {_span(quiet)}."
        return predictions

    @property
    def new(self) -> list[str]:
        """The names of features that came first among the last 1,000 records."""
        with self.lock:
            return self.features.new

    @property
    def stopped(self) -> list[str]:
        """The names of features that used to come, and came in none of the last 1,000 records."""
        with self.lock:
            return self.features.stopped

    @property
    def tasks(self) -> Sequence[Any]:
        """The tasks known, in order of first appearance."""
        return self._stream.population.labels

    def about(self, task: Any) -> dict[str, Any]:
        """A summary of a task: its records and errors, the weights in which it differs, and the nearest tasks."""
        with self.lock:
            found: dict[str, Any] = {"task": task, "waiting": self.waiting.count(task)}
            if not self._knows(task):  # it waits for its first label
                return found | {"examples": 0}
            if self.live is not None:
                found |= self.live.of_task(task)
            shares = getattr(self._estimator, "sharing_", None)
            if shares is not None:
                found["sharing"] = float(shares[self._stream.population.number_of(task)])
            with suppress(ValueError, TypeError, AttributeError):  # not every model has weights by name
                weights = listed_weights(self._estimator, task)
                found["differs_in"] = [each._asdict() for each in weights] if isinstance(weights, list) else None
            with suppress(ValueError, TypeError, AttributeError):
                found["nearest"] = [list(pair) for pair in nearest_tasks(self._estimator, task)]
        return found

    def compile(self) -> None:
        """Predict and learn a record with a model of the same kind, so that the code is compiled when records come."""
        spare = Engine(self.model.__sklearn_clone__(), compared=self.compared)
        numbers = spare._stream.label_encoder.numeric
        if not spare._stream.learner.traits.has_tasks:
            return
        for at, (count, label) in enumerate(((1, 0.5), (1, 1.5), (BLOCK, 0.5))):
            y: Any = label if numbers else str(label)
            records = [Record(task="a", x={"number": label, "word": "b"}, y=y) for _ in range(count)]
            spare.apply([Event("observed", 2.0 * at, records)])
            spare.predict(records)

    def predict(self, records: Sequence[Record]) -> list[Prediction]:
        """Predict records; nothing is noted. Before anything was learned a label is None, a number 0."""
        xs: list[Any] = [record.x for record in records]
        tasks = [record.task for record in records]
        numbers = self._stream.label_encoder.numeric
        if not self._stream.fitted:
            unlearned = 0.0 if numbers else None
            return [Prediction(record.id, record.task, unlearned, None, False) for record in records]
        with self.model_lock:
            known = {task for task in map(named_task, tasks) if self._knows(task)}
            labels, chances = self._told(xs, tasks)
            return [
                Prediction(record.id, record.task, _plain(label), p, named_task(record.task) in known)
                for record, label, p in zip(records, labels, chances, strict=True)
            ]

    def _told(self, xs: list[Any], tasks: list[Any]) -> tuple[Any, Any]:
        """The labels of records and their probabilities; ValueError names the record that cannot be predicted."""
        place = 0
        try:
            if len(xs) >= BLOCK:
                return self._predict_block(xs, tasks)
            predictions = []
            for place, (x, task) in enumerate(zip(xs, tasks, strict=True)):  # noqa: B007 - where it was
                predictions.append(self._predict_one(x, task))
            labels, chances = zip(*predictions, strict=True) if predictions else ((), ())
            return labels, chances
        except (ValueError, TypeError) as error:
            places = range(len(xs)) if len(xs) >= BLOCK else [place]
            records = [(xs[k], None, tasks[k]) for k in places]
            raise ValueError(worded(error, places, records, self._classes, self._predict_one)) from None

    def _predict_one(self, x: Any, task: Any) -> tuple[Any, float | None]:
        """The label of a record and its probability, where the model has any."""
        if not hasattr(self.model, "predict_proba_one"):
            return self.model.predict_one(x, task), None
        chances = self.model.predict_proba_one(x, task)
        if len(chances) != 2:
            return self.model.predict_one(x, task), float(max(chances.values()))
        (negative, less), (positive, more) = chances.items()
        return (positive, float(more)) if more >= less else (negative, float(less))

    def _predict_block(self, xs: list[Any], tasks: list[Any]) -> tuple[Any, Any]:
        keys: NDArray[Any] = np.empty(len(tasks), object)
        keys[:] = tasks
        labels = self.model.predict(xs, keys)
        if not hasattr(self.model, "predict_proba"):
            return labels, [None] * len(labels)
        return labels, self.model.predict_proba(xs, keys).max(axis=1).tolist()

    # -- files

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, completely or not at all; see :func:`coterie.load`."""
        persistence.save(self, path, self.lock)

    def __dump__(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything there is to keep, as data with a JSON form and named arrays."""
        model, arrays = self.model.__dump__()
        kept = msgspec.msgpack.encode(
            self._kept(
                self.offset,
                self.at,
                self.waiting,
                self._ids,
                self.observed_at,
                self.began_at,
                self.features,
                self.forgotten,
            )
        )
        held = {f"model.{name}": array for name, array in arrays.items()}
        live, sums = self.live.to_saved() if self.live is not None else (None, {})
        held |= {f"live.{name}": array for name, array in sums.items()}
        return {"model": model, "live": live}, held | {"kept": np.frombuffer(kept, np.uint8)}

    @property
    def _ids(self) -> Any:
        """The ids learned, as they are saved."""
        return list(self.learned)

    def __restore__(self, data: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Undo :meth:`__dump__`; ValueError for what no engine can have been."""
        self.model.__restore__(data["model"], below(arrays, "model."))
        kept = msgspec.msgpack.decode(arrays["kept"].tobytes(), type=self._kept)
        if not 0 <= kept.forgotten <= kept.offset or not all(
            map(math.isfinite, (kept.at, kept.observed_at, kept.began_at))
        ):
            raise ValueError("a service's offset and time are no such numbers")
        self.offset, self.at, self.waiting = kept.offset, kept.at, WaitingRecords(kept.waiting)
        self.learned = kept.learned if isinstance(kept.learned, dict) else dict.fromkeys(kept.learned)
        self.began_at, self.observed_at, self.features = kept.began_at, kept.observed_at, kept.features
        self.forgotten = kept.forgotten
        self._check_waiting()
        if self.live is not None and data.get("live") is not None:
            self.live.restore(data["live"], below(arrays, "live."))
        return self


def _tasks_of(records: Sequence[WaitingRecord]) -> list[Any] | None:
    tasks = [record.task for record in records]
    return None if all(task is None for task in tasks) else tasks


def _span(seconds: float) -> str:
    return f"{seconds / 3600:.1f} hours" if seconds >= 7200 else f"{seconds / 60:.0f} minutes"


def named_task(task: Any) -> Any:
    """Return the task under which the model knows a record: records that name none are of task 0.

    Tasks are equal as Python's are: 1, 1.0 and True are one task, and so are 0, 0.0, False and None.
    """
    return ONLY_TASK if task is None else task


def _plain(label: Any) -> Any:
    """A label without numpy's types."""
    return label.item() if isinstance(label, np.generic) else label
