"""The state of a service, which depends only on the journal: the model, records without labels, and learned ids.

The state depends only on the journal: the events of a frame are grouped into blocks by kind, and each block is learned
in one call.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, UserDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby, islice, takewhile
from os import PathLike
from typing import Any, ClassVar, Self

import msgspec
import numpy as np

from coterie import persistence, spec
from coterie._compiled.trees import Arrays, strip_prefix
from coterie.data.block import Block
from coterie.data.label_encoders import as_labels
from coterie.data.tabular import ONLY_TASK
from coterie.estimators.delayed_labels import WaitingRow
from coterie.evaluation.explanation import listed_weights, nearest_tasks
from coterie.evaluation.stream_model import stream_model_of
from coterie.parameters import Parameters
from coterie.types import Array, Estimator, Json

from .events import Event, Observed, Outcome, Prediction, Record, Scalar, encode_records
from .features import Features
from .live_comparison import Limits, LiveComparison
from .service_errors import LabelledRecord, RefusedError, UnknownError, describe_refusal, in_json, in_one_line

#: The minimum number of records that are predicted as a block.
BLOCK = 16
#: The maximum number of single-record requests that are learned one by one, which is faster than such a small block.
ONE_BY_ONE = 8

#: For each name a text, and a number, or a label with one number for each of its values.
Metrics = dict[str, tuple[str, str, float | Mapping[str, float]]]


class WaitingRecord(msgspec.Struct, array_like=True):
    """A predicted record that waits for its label: task, features, time, encoded row and predictions."""

    task: Scalar | None
    x: Json
    at: float
    row: WaitingRow


class WaitingRecords(UserDict[str, Any]):
    """The predicted records that wait for their labels, by id, oldest first, with their number per task."""

    def __init__(self, records: Iterable[tuple[str, WaitingRecord]] = ()) -> None:
        self._counts: Counter[Hashable] = Counter()
        super().__init__(records)

    def count(self, task: Hashable) -> int:
        """Return the number of these records of a task."""
        return self._counts[named_task(task)]

    def __setitem__(self, name: str, record: WaitingRecord) -> None:
        self.pop(name, None)  # so that it becomes the newest
        self.data[name] = record
        self._counts[named_task(record.task)] += 1

    def __delitem__(self, name: str) -> None:
        task = named_task(self.data.pop(name).task)
        self._counts[task] -= 1
        if not self._counts[task]:
            del self._counts[task]


class SavedEngine(msgspec.Struct, array_like=True):
    """The state of an engine that is saved in addition to the model."""

    offset: int
    forgotten: int
    began_at: float
    at: float
    observed_at: float
    waiting: dict[str, WaitingRecord]
    learned: dict[str, None]
    features: Features


class _Update(msgspec.Struct):
    """The changes made by some events: records to learn, ids, and tasks to forget.

    ``places`` are the numbers of the records to learn in their requests.
    """

    outcomes: list[Outcome] = []
    records: list[LabelledRecord] = []
    rows: list[WaitingRow] = []
    waiting: dict[str, WaitingRecord | None] = {}
    learned: dict[str, None] = {}
    forgotten: list[Hashable] = []
    places: list[int] = []


@spec.register
class Engine(Parameters):
    """The engine of a service: a model that predicts records, and learns each when its label arrives.

    Parameters
    ----------
    model : estimator
        The online model; changed in place.
    remember : int >= 1
        The number of latest learned ids; each of these is not learned again.
    expire : float > 0
        Seconds after which a record without a label is dropped, by the times of events.
    compared : bool
        True to let baselines learn the same records, for the live comparison; it takes about twice the memory and the
        time. Models of several views are never compared.

    Attributes
    ----------
    offset : int
        The journal's offset up to which all events were applied.
    forgotten : int
        The offset after the last frame with forgotten tasks, 0 before the first; older files contain their records.
    began_at, at, observed_at : float
        The times of the first event, the last one, and the last one with a label; 0 before the first.
    waiting : WaitingRecords
        The records that wait for labels by id, the oldest first.
    expired : int
        The number of records without a label that this process dropped.
    learned : dict of str to None
        The learned ids, the oldest first.
    features : Features
        The names of features in the learned records.
    live : LiveComparison or None
        The live comparison with baselines.
    lock : RLock
        Held while events are applied, or the engine is copied.
    model_lock : RLock
        Held during predictions, and while the model learns; baselines learn later, without it.

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

    #: The kinds of events of requests, besides ``forgotten``, and the refusal of others.
    kinds: ClassVar[tuple[str, ...]] = ("predicted", "observed")
    refusal: ClassVar[str] = "the service learns labels: it has no /choose and no /reward"
    _saved: ClassVar[type[SavedEngine]] = SavedEngine

    def __init__(
        self, model: Estimator, remember: int = 1_000_000, expire: float = 86_400.0, compared: bool = True
    ) -> None:
        self.model, self.remember, self.expire, self.compared = model, remember, expire, compared
        spec.require_instance("model", model)
        spec.check_count("remember", remember)
        if not 0.0 < expire < math.inf:
            raise ValueError(f"expire must be a number of seconds above 0, got {expire!r}")
        self.live: LiveComparison | None = self._begin()
        self.offset, self.forgotten, self.began_at, self.at, self.observed_at = 0, 0, 0.0, 0.0, 0.0
        self.expired = 0
        self.waiting = WaitingRecords()
        self.learned: Json = {}
        self.features = Features()
        self.lock, self.model_lock = threading.RLock(), threading.RLock()

    def _begin(self) -> LiveComparison | None:
        """Validate the model, and create the live comparison."""
        self._stream = stream_model_of(self.model)
        return LiveComparison(self.model) if self.compared and self._stream.learner.traits.has_tasks else None

    # -- events

    def prepare(self, event: Event) -> msgspec.Raw:
        """Validate an event before it is written, and encode its records; raise RefusedError for an invalid one."""
        if event.kind not in (*self.kinds, "forgotten", "reset"):
            raise UnknownError(self.refusal)
        return encode_records(event)

    def apply(self, events: Sequence[Event]) -> list[Outcome]:
        """Apply events in order; an invalid event changes nothing, and its result is a RefusedError.

        Successive events of one kind form one block. A block with an invalid event is applied event by event, so that
        the other events are learned. Small blocks and forgotten tasks are applied one by one, too.
        """
        with self.lock:
            outcomes: list[Outcome] = []
            self.began_at = self.began_at or (events[0].at if events else 0.0)
            for kind, group in groupby(events, key=lambda event: event.kind):
                block = list(group)
                if kind in ("forgotten", "reset") or self._is_small(block):
                    for event in block:
                        outcomes += self._apply_or_refuse([event])
                else:
                    outcomes += self._apply_or_refuse(block)
            if events:
                self.at = max(self.at, events[-1].at)
                self._expire()
            return outcomes

    def _is_small(self, block: Sequence[Event]) -> bool:
        """Return True for a small block, the records of which are applied one by one."""
        return len(block) <= ONE_BY_ONE and all(len(event.records) == 1 for event in block)

    def apply_frame(self, events: Sequence[Event], end: int) -> list[Outcome]:
        """Apply the events of a journal frame that ends at offset ``end``; see :meth:`apply`."""
        with self.lock:
            outcomes = self.apply(events)
            self.offset = end
            pairs = zip(events, outcomes, strict=True)
            if any(event.kind == "forgotten" and isinstance(outcome, Observed) for event, outcome in pairs):
                self.forgotten = end
            return outcomes

    def _apply_or_refuse(self, events: Sequence[Event]) -> list[Outcome]:
        """Apply events as one block; if that fails, one by one."""
        try:
            return self._apply(events)
        except RefusedError as error:
            return [error]
        except (ValueError, TypeError) as error:
            if len(events) == 1:
                return [RefusedError(self._describe(error, events[0]))]
            return [outcome for event in events for outcome in self._apply_or_refuse([event])]

    def _describe(self, error: Exception, event: Event) -> str:
        """Return the message of an error in an event, with the numbers of the invalid records in the request."""
        if event.kind == "forgotten":
            return in_one_line(error)
        update = _Update()
        self._add_event(event, update)
        return describe_refusal(error, update.places, update.records, self._classes, self._predict_one)

    def require_declared(self, labels: Sequence[Scalar]) -> None:
        """Raise ValueError if the model cannot learn the declared labels, or if they omit a learned label."""
        if self._stream.label_encoder.numeric:
            raise ValueError("labels cannot be declared for regression")
        if len(set(labels)) < 2:
            raise ValueError("expected two or more different labels")
        if len(labels) > 2 and self._stream.label_encoder.most == 2:
            raise ValueError(f"the model learns two labels; {len(labels)} were declared")
        for label in self._classes:
            if label not in labels:
                raise ValueError(f"the model has learned the label {in_json(label)}; it must be declared, too")

    @property
    def _classes(self) -> Sequence[Scalar]:
        """The learned labels; empty for regression."""
        numbers = self._stream.label_encoder.numeric or not self._stream.fitted
        return () if numbers else [_plain(label) for label in self.model.classes_]

    def _apply(self, events: Sequence[Event]) -> list[Outcome]:
        update = _Update()
        for event in events:
            self._add_event(event, update)
        is_first = bool(update.records) and not self._stream.fitted
        if update.records:
            with self.model_lock:
                margin, y = self._learn(update.records, update.rows)
            if self.live is not None:
                records = [(x, label, named_task(task)) for x, label, task in update.records]
                rows = self._stream.label_encoder.rows(margin, y, self._stream.learner.traits.log_odds)
                self.live.add(records, rows, events[-1].at)
            self.observed_at = events[-1].at
            self.features.add(x for x, _, _ in update.records)
        if known := [task for task in update.forgotten if self._knows(task)]:
            with self.model_lock:
                self.model.forget_tasks(known)
            if self.live is not None:
                self.live.forget(known, events[-1].at)
            self._forget_learned(known)
        self._update_waiting(update, is_first)
        self._remember(update.learned)
        return update.outcomes

    def _remember(self, learned: Json) -> None:
        """Store the ids of learned records; the oldest ids are dropped beyond the limit."""
        self.learned |= learned
        for name in list(islice(self.learned, max(len(self.learned) - self.remember, 0))):
            del self.learned[name]

    def has_task(self, task: Hashable) -> bool:
        """Return True for a learned task, or one with records without labels."""
        with self.model_lock:
            return self._knows(task) or self.waiting.count(task) > 0

    def _forget_learned(self, tasks: Sequence[Hashable]) -> None:
        """Remove data of the forgotten tasks' learned records; ids without data remain."""

    def _update_waiting(self, update: _Update, is_first: bool) -> None:
        """Apply an update to the records that wait for labels; ``is_first`` is True if no label was learned before."""
        for name, record in update.waiting.items():
            self.waiting.pop(name, None)
            if record is not None:
                self.waiting[name] = record
        predicted = [record for record in update.waiting.values() if record is not None]
        if predicted:
            self._predict_waiting(predicted)
        elif is_first:
            self._read_waiting()

    def _knows(self, task: Hashable) -> bool:
        return self._stream.fitted and task in self._stream.population.tasks.numbers

    @property
    def _estimator(self) -> Estimator:
        """The estimator that has feature weights."""
        return self.model

    def _check_waiting(self) -> None:
        """Raise ValueError if stored predictions of records without labels contradict the model."""
        records = self.waiting.values()
        self._stream.check_waiting([record.row for record in records], [record.task for record in records])

    def _predict_waiting(self, records: Sequence[WaitingRecord]) -> None:
        """Predict records that will wait for labels. An invalid record is rejected only when its label arrives."""
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
        """Encode the records that were predicted before the first label, and update the scales with them."""
        for record in self.waiting.values():
            with self.model_lock, suppress(ValueError, TypeError):  # it is refused when its label comes
                learning = record.row.asked is not False
                (row,) = self._stream.read_waiting([record.x], _tasks_of([record]), learning)
                row.asked = record.row.asked
                record.row = row

    def _learn(self, records: Sequence[LabelledRecord], rows: Sequence[WaitingRow]) -> tuple[Array, Any]:
        """Learn records as one block; return the margins before each label, and the labels."""
        fresh = all(row.values is None for row in rows)
        asked = [row.asked for row in takewhile(lambda row: row.asked is not None, rows)]
        if len(records) == 1 and fresh and not asked and self._stream.fitted:
            x, y, task = records[0]
            return self._stream.predict_and_learn_one(x, y, task), as_labels([y])
        xs, ys, named = map(list, zip(*records, strict=True))
        tasks = None if all(task is None for task in named) else named
        if fresh:
            block = self._stream.as_block(xs, ys, tasks)
            if asked:
                block = replace(block, asked=np.array(asked))
            return self._learn_block(block), block.y
        self._stream.require_labels(ys)
        read = [self._read(k, records[k]) if row.values is None else row for k, row in enumerate(rows)]
        return self._stream.learn_waiting(read, ys, tasks), as_labels(ys)

    def _learn_block(self, block: Block) -> Array:
        """Learn a block; new tasks that change the weights of others are added at their first label."""
        stream = self._stream
        if not stream.fitted and self.waiting and not stream.learner.traits.tasks_independent:
            known = list(dict.fromkeys(named_task(record.task) for record in self.waiting.values()))
            with suppress(ValueError, TypeError):  # of an impossible task: it is refused when its label comes
                return stream.learn(block, tasks=known).margin
        return stream.learn(block).margin

    def _read(self, number: int, record: LabelledRecord) -> WaitingRow:
        """Encode a record with the number ``number`` of its request; errors name this number."""
        x, _, task = record
        try:
            row: WaitingRow = self._stream.predict_waiting([x], None if task is None else [task])[0]
        except (ValueError, TypeError) as error:
            raise type(error)(f"record {number} (from 0): {error}") from None
        row.predictions = None
        return row

    def _add_event(self, event: Event, update: _Update) -> None:
        """Add the changes that an event makes to an update."""
        outcome = Observed(0, 0, [])
        update.outcomes.append(outcome)
        if event.kind == "forgotten":
            self._add_forgotten({record.task for record in event.records}, update)
        elif event.kind == "reset":
            self._reset(event.at)
        else:
            for place, record in enumerate(event.records):
                self._add_record(event, place, record, update, outcome)

    def _add_record(self, event: Event, place: int, record: Record, update: _Update, outcome: Observed) -> None:
        """Add a predicted or observed record, at index ``place`` of its event, to an update."""
        name, new = record.id, None
        if record.x is not None:
            new = WaitingRecord(record.task, record.x, event.at, WaitingRow())
        if name is not None and (name in update.learned or name in self.learned):
            outcome.duplicate += event.kind == "observed"
        elif event.kind == "predicted":
            if name is not None and new is not None:
                update.waiting[name] = new
        elif (labelled := new or update.waiting.get(name or "", self.waiting.get(name or ""))) is None:
            outcome.unknown.append(str(name))
        else:
            update.records.append((labelled.x, record.y, labelled.task))
            update.rows.append(labelled.row)
            update.places.append(place)
            outcome.learned += 1
            if name is not None:
                update.waiting[name] = None
                update.learned[name] = None

    def _add_forgotten(self, tasks: set[Hashable], update: _Update) -> None:
        """Add tasks to forget to an update; raise UnknownError for a task without any record."""
        waiting = {name: named_task(record.task) for name, record in self.waiting.items()}
        update.waiting |= {name: None for name, task in waiting.items() if task in tasks}
        for task in tasks.difference(waiting.values()):
            if not self._knows(task):
                raise UnknownError(f"task {task!r} is unknown")
        update.forgotten += list(tasks)

    def _reset(self, at: float) -> None:
        """Reset the clock to ``at``; records with later times start to wait from then."""
        self.at, self.observed_at, self.began_at = at, min(self.observed_at, at), min(self.began_at, at)
        for record in self.waiting.values():
            record.at = min(record.at, at)
        if self.live is not None:
            self.live.reset(at)

    def overdue(self, at: float) -> int:
        """Return the number of records that have waited too long for their labels at the time ``at``."""
        with self.lock:
            return sum(record.at <= at - self.expire for record in self.waiting.values())

    def _expire(self) -> None:
        for name in list(takewhile(lambda name: self.waiting[name].at <= self.at - self.expire, self.waiting)):
            del self.waiting[name]
            self.expired += 1

    # -- reading

    def alarms(self, limits: Limits, now: float) -> dict[str, str]:
        """Return the active alarms as sentences by name; ``now`` is in seconds since 1970."""
        with self.lock:
            alarms = {} if self.live is None else self.live.alarms(limits)
            quiet = now - max(self.observed_at, self.began_at)
            if limits.silence is not None and self.began_at and quiet >= limits.silence and self.at > self.observed_at:
                duration = f"{quiet / 3600:.1f} hours" if quiet >= 7200 else f"{quiet / 60:.0f} minutes"
                alarms["silence"] = f"No label has come for {duration}."
        return alarms

    def metrics(self) -> Metrics:
        """Return the metrics of the engine for Prometheus."""
        with self.lock:
            errors = {} if self.live is None else self.live.errors
        return {"error_ratio": ("Error over all records, by learner", "learner", errors)}

    def report(self, against: str | None = None) -> Json:
        """Return the live verdict as JSON data; raise ValueError without a comparison."""
        if self.live is None:
            raise ValueError(
                "the service has no comparison: it was started with --no-verdict, or its model has several views"
            )
        with self.lock:
            live = self.live.copy()
        return live.report(against)

    def watch_features(self) -> dict[str, list[str]]:
        """Return the names of new features, and of features that no longer occur."""
        with self.lock:
            return {"new": self.features.new, "stopped": self.features.stopped}

    @property
    def tasks(self) -> Sequence[Hashable]:
        """The known tasks, in order of first appearance."""
        return self._stream.population.tasks.labels

    def about(self, task: Hashable) -> Json:
        """Return a summary of a task: records, errors, largest own weights, and nearest tasks."""
        with self.lock:
            summary: Json = {"task": task, "waiting": self.waiting.count(task)}
            if not self._knows(task):  # it waits for its first label
                return summary | {"examples": 0}
            if self.live is not None:
                summary |= self.live.sums.of_task(task)
            shares = getattr(self._estimator, "sharing_", None)
            if shares is not None:
                summary["sharing"] = float(shares[self._stream.population.number_of(task)])
            with suppress(ValueError, TypeError, AttributeError):  # not every model has weights by name
                weights = listed_weights(self._estimator, task)
                summary["differs_in"] = [weight._asdict() for weight in weights] if isinstance(weights, list) else None
            with suppress(ValueError, TypeError, AttributeError):
                summary["nearest"] = [list(pair) for pair in nearest_tasks(self._estimator, task)]
        return summary

    def compile(self) -> None:
        """Predict and learn with a copy of the same kind, so that code is compiled before the first request."""
        spare = Engine(self.model.__sklearn_clone__(), compared=self.compared)
        if not spare._stream.learner.traits.has_tasks:
            return
        for at, (count, label) in enumerate(((1, 0.5), (1, 1.5), (BLOCK, 0.5))):
            y = label if spare._stream.label_encoder.numeric else str(label)
            records = [Record(task="a", x={"number": label, "word": "b"}, y=y) for _ in range(count)]
            spare.apply([Event("observed", 2.0 * at, records)])
            spare.predict(records)

    def predict(self, records: Sequence[Record]) -> list[Prediction]:
        """Predict records without changing the state.

        Raises
        ------
        RefusedError
            For a record that cannot be predicted; it is named.
        """
        xs: list[Json] = [record.x or {} for record in records]
        tasks = [record.task for record in records]
        if not self._stream.fitted:
            unlearned = 0.0 if self._stream.label_encoder.numeric else None
            return [Prediction(record.id, record.task, unlearned, None, False) for record in records]
        with self.model_lock:
            known = {task for task in map(named_task, tasks) if self._knows(task)}
            place = 0
            try:
                if len(xs) >= BLOCK:
                    predictions = self._predict_block(xs, tasks)
                else:
                    predictions = []
                    for place, (x, task) in enumerate(zip(xs, tasks, strict=True)):  # noqa: B007 - for the error
                        predictions.append(self._predict_one(x, task))
            except (ValueError, TypeError) as error:
                places = range(len(xs)) if len(xs) >= BLOCK else [place]
                refused = [(xs[k], None, tasks[k]) for k in places]
                reason = describe_refusal(error, places, refused, self._classes, self._predict_one)
                raise RefusedError(reason) from None
            return [
                Prediction(record.id, record.task, _plain(label), p, named_task(record.task) in known)
                for record, (label, p) in zip(records, predictions, strict=True)
            ]

    def _predict_one(self, x: Json, task: Hashable) -> tuple[Scalar, float | None]:
        """Predict the label of a record, and its probability (None if the model has none)."""
        if not hasattr(self.model, "predict_proba_one"):
            return self.model.predict_one(x, task), None
        probabilities = self.model.predict_proba_one(x, task)
        if len(probabilities) != 2:
            return self.model.predict_one(x, task), float(max(probabilities.values()))
        (negative, less), (positive, more) = probabilities.items()
        return (positive, float(more)) if more >= less else (negative, float(less))

    def _predict_block(self, xs: list[Json], tasks: Sequence[Hashable]) -> list[tuple[Scalar, float | None]]:
        keys: Array = np.empty(len(tasks), object)
        keys[:] = tasks
        labels = self.model.predict(xs, keys)
        if not hasattr(self.model, "predict_proba"):
            return [(label, None) for label in labels]
        return list(zip(labels, self.model.predict_proba(xs, keys).max(axis=1).tolist(), strict=True))

    # -- files

    def save(self, path: str | PathLike[str]) -> None:
        """Save the engine to one file atomically; see :func:`coterie.load`."""
        persistence.save(self, path, self.lock)

    def __dump__(self) -> tuple[Json, Arrays]:
        """Return the state as JSON data and named arrays."""
        model, model_arrays = self.model.__dump__()
        live, live_arrays = self.live.to_saved() if self.live is not None else (None, {})
        arrays = {f"model.{name}": array for name, array in model_arrays.items()}
        arrays |= {f"live.{name}": array for name, array in live_arrays.items()}
        fields = (getattr(self, name) for name in self._saved.__struct_fields__)
        saved = msgspec.msgpack.encode(self._saved(*fields), enc_hook=lambda waiting: waiting.data)
        return {"model": model, "live": live}, arrays | {"engine": np.frombuffer(saved, np.uint8)}

    def __restore__(self, data: Json, arrays: Arrays) -> Self:
        """Restore the state from the result of :meth:`__dump__`; raise ValueError for invalid data."""
        self.model.__restore__(data["model"], strip_prefix(arrays, "model."))
        saved = msgspec.msgpack.decode(arrays["engine"].tobytes(), type=self._saved)
        times = saved.at, saved.observed_at, saved.began_at
        if not 0 <= saved.forgotten <= saved.offset or not all(map(math.isfinite, times)):
            raise ValueError("the offset and times of the service are invalid")
        if any(len(counts) != 3 for counts in saved.features.seen.values()):
            raise ValueError("the counts of a feature are not three")
        for name in saved.__struct_fields__:
            setattr(self, name, getattr(saved, name))
        self.waiting = WaitingRecords(saved.waiting.items())
        self._check_waiting()
        if self.live is not None and data.get("live") is not None:
            self.live.restore(data["live"], strip_prefix(arrays, "live."))
        return self


def _tasks_of(records: Sequence[WaitingRecord]) -> list[Scalar | None] | None:
    tasks = [record.task for record in records]
    return None if all(task is None for task in tasks) else tasks


def named_task(task: Hashable) -> Hashable:
    """Return the task of a record for the model; 0 for a record without a task.

    Tasks are compared as Python values: 1, 1.0 and True are one task, and so are 0, 0.0, False and None.
    """
    return ONLY_TASK if task is None else task


def _plain(label: Scalar | np.generic) -> Scalar:
    """Convert a label from a NumPy type to a Python type."""
    plain: Scalar = label.item() if isinstance(label, np.generic) else label
    return plain
