"""A running verdict on whether learning together helps: baselines that learn beside the model, and sums over rounds.

The baselines that every comparison has go beside the model: one model per task, one for all, one with tasks' constants,
the running rate or mean of each task, and the constant. They learn the same records a little later, many at once: when
256 wait, or with the first label that comes a second after the last time, by the times that events have. No reading
makes them learn, so that what is said is a function of the journal alone. Nothing grows with the number of records.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.evaluation.baselines import CONSTANT, RUNNING_MEAN, RUNNING_RATE, LabelBaselines
from coterie.evaluation.comparison import BASELINES, BEST
from coterie.evaluation.costs import AMOUNTS, RATES, CostWords
from coterie.evaluation.intervals import Tally, add_groups
from coterie.evaluation.stream_model import stream_model_of
from coterie.evaluation.trace import BaseRate, Trace
from coterie.evaluation.tracing import make_trace, trace_rows
from coterie.evaluation.verdict import Sums, Verdict, conclusion
from coterie.index import distinct_labels
from coterie.inputs.block import Block
from coterie.inputs.input import Input
from coterie.inputs.labels import as_labels
from coterie.numeric.core.checks import require
from coterie.numeric.trees import below
from coterie.online.model import OnlineModel
from coterie.wording import counted

Arrays = dict[str, NDArray[Any]]

#: The model's own name among learners.
TOGETHER = "together"
#: Records that are gone through at once at most, and seconds after which fewer are.
AT_ONCE, SECONDS = 256, 1.0
#: Points of the curve at most; then every second one is left out.
POINTS = 400
#: Records of the window that alarms look at.
WINDOW = 1000
#: Tasks helped, and hurt, that are named.
LISTED = 20
_NOTHING_YET = "No label has come yet."
_NOTHING_LEFT = "All tasks whose labels came are forgotten."


class Point(NamedTuple):
    """The sums of costs of every learner after n records, and when that was."""

    n: int
    at: float
    cost: list[float]


class Recent(NamedTuple):
    """The last records.

    Attributes
    ----------
    n : int
        How many there are, of 1,000 at most.
    error : float
        The mean cost of the model's predictions among them, nan without any.
    rate, rate_before : float
        The share of the positive label among them, and among all before; of numbers their mean; nan of many classes.
    drift : float
        How many standard deviations of chance the one is from the other.
    """

    n: int
    error: float
    rate: float
    rate_before: float
    drift: float


class Limits(NamedTuple):
    """The limits beyond which there is an alarm.

    Attributes
    ----------
    error : float or None
        The mean error of the last records: the share of wrong labels, of numbers the mean absolute error.
    silence : float or None
        Seconds without a label while records are predicted.
    drift : float
        Standard deviations of chance that the share of the positive label among the last records, of numbers their
        mean, is from that of all before.
    """

    error: float | None = None
    silence: float | None = None
    drift: float = 6.0


class Live:
    """Sums over all rounds of a model and of its baselines.

    Parameters
    ----------
    model : estimator
        The model that is judged, of which the others are made.

    Attributes
    ----------
    references : dict of str to estimator
        What learns beside it; none before the first record.
    sums : Sums
        The model beside these and the constant.
    n : int
        Rounds gone through.
    head_start : int
        The records that the model had learned before those that the others learned, too.
    """

    def __init__(self, model: Any) -> None:
        self._model, self._stream = model, stream_model_of(model)
        self.references: dict[str, Any] = {}
        self.sums = Sums(TOGETHER)
        self.n = self.head_start = 0
        self._readers: dict[str, str] = {}
        self._labels_seen = LabelBaselines()
        self._value = Tally.of(np.zeros(0))
        self._waiting: list[tuple[Any, Any, Any]] = []
        self._rows: list[NDArray[Any]] = []
        self._caught_up = -np.inf
        self._curve: list[Point] = []
        self._recent: deque[tuple[float, Any]] = deque(maxlen=WINDOW)
        self._classes: list[Any] = []

    # -- going on

    def add(self, records: Sequence[tuple[Any, Any, Any]], rows: NDArray[Any], at: float) -> None:
        """Note records (features, label, task) that the model has learned, and its predictions of them.

        ``rows`` are as :func:`coterie.evaluation.tracing.trace_rows` makes them.
        """
        self._waiting += records
        self._rows.append(rows)
        if len(self._waiting) >= AT_ONCE or at >= self._caught_up + SECONDS:
            self.catch_up(at)

    def catch_up(self, at: float) -> None:
        """Let the baselines learn the records that wait, and add them to all sums."""
        self._caught_up = at
        if not self._waiting:
            return
        xs, ys, tasks = (list(each) for each in zip(*self._waiting, strict=True))
        rows = np.concatenate(self._rows)
        self._waiting, self._rows = [], []
        if not self.references:
            self._begin(xs)
        elif not self._readers:
            self._share_reading()
        known, codes = distinct_labels(tasks)
        n, y = len(ys), as_labels(ys)
        rounds = {
            "updated": np.zeros(n, bool),
            "queried": np.ones(n, bool),
            "task": codes,
            "tasks": tuple(known),
        }
        traces = {
            TOGETHER: make_trace(self._stream.label_encoder, rows, y, self._stream.learner.traits.log_odds, rounds)
        }
        blocks: dict[str, Block] = {}
        for name, model in list(self.references.items()):
            stream, reader = stream_model_of(model), self._readers.get(name, name)
            try:
                if reader not in blocks:
                    blocks[reader] = stream.as_block(xs, ys, tasks)
                margin = stream.learn(blocks[reader]).margin
            except ValueError:  # what the model took may be too much for this one: it is compared no more
                self._drop(name)
                continue
            predictions = trace_rows(stream.label_encoder, margin, blocks[reader].y, stream.learner.traits.log_odds)
            traces[name] = make_trace(stream.label_encoder, predictions, y, stream.learner.traits.log_odds, rounds)
        self._sum(self._labels_seen.add_to(traces), at)

    def _begin(self, xs: Sequence[Any]) -> None:
        """Make the references, which read records as the model does if that has learned from files."""
        self.references = self._model.__baselines__(xs)
        self.head_start = self._model.state_.rounds - len(xs)
        encoder = self._stream.encoder
        for model in self.references.values() if encoder is not None else ():
            stream_model_of(model).encoder = encoder.copy()

    def _share_reading(self) -> None:
        """Find the references that have read all records alike: one of them reads those to come for all."""
        streams: dict[str, Any] = {name: stream_model_of(model) for name, model in self.references.items()}
        for name, stream in streams.items():
            known = self._readers if isinstance(stream, OnlineModel) else ()
            self._readers[name] = next((other for other in known if share_form(stream, streams[other])), name)

    def _drop(self, name: str) -> None:
        column = self.learners.index(name)
        for point in self._curve:
            del point.cost[column]
        del self.references[name]
        self.sums.pairs.pop(name, None)

    def _sum(self, traces: Mapping[str, Trace], at: float) -> None:
        self.sums.add(traces)
        ours = traces[TOGETHER]
        self.n += ours.n
        self._classes = ours.classes.tolist()
        labels = ours.label.tolist()
        if self._stream.label_encoder.numeric:
            self._value = add_groups(self._value, Tally.of(np.asarray(labels, np.float64)), np.zeros(1, np.int64))
        self.sums.base_rate = self._base_rate()
        self._recent.extend(zip(ours.costs.tolist(), labels, strict=True))
        totals = [float(trace.costs.sum()) for trace in traces.values()]
        if self._curve:
            totals = [one + other for one, other in zip(self._curve[-1].cost, totals, strict=True)]
        self._curve.append(Point(self.n, at, totals))
        if len(self._curve) > POINTS:
            del self._curve[:-1:2]

    def reset(self, at: float) -> None:
        """Set the time back: what waits is not waited for until the old time has come again."""
        self._caught_up = min(self._caught_up, at)

    def forget(self, tasks: Sequence[Hashable], at: float) -> None:
        """Forget tasks: their own sums are dropped, totals stay."""
        self.catch_up(at)
        gone = self.sums.forget(tasks)
        self._labels_seen.forget(gone)
        if gone:
            for model in self.references.values():
                model.forget_tasks(gone)

    # -- what is said

    @property
    def learners(self) -> list[str]:
        """The names of all learners, the model's first, the constant last."""
        running = RUNNING_MEAN if self._stream.label_encoder.numeric else RUNNING_RATE
        return [TOGETHER, *self.references, running, CONSTANT]

    @property
    def alone(self) -> str:
        """What one has without learning together; where that is compared no more, the constant."""
        return BASELINES[0] if BASELINES[0] in self.sums.pairs else CONSTANT

    @property
    def best(self) -> str:
        """The best of the baselines, see :func:`coterie.evaluation.comparison.best_baseline`."""
        return self.sums.best([name for name in self.sums.pairs if name != CONSTANT] or [CONSTANT])

    def verdict(self, against: str | None = None, confidence: float = 0.95) -> Verdict | None:
        """Judge the model as :func:`coterie.evaluation.verdict.verdict` does; None before the first round.

        Parameters
        ----------
        against : str, optional
            The name of what it is judged against, or ``"best"`` for the best of the baselines; what one has without
            learning together, where it is not given.
        confidence : float
            As there.

        Raises
        ------
        ValueError
            For a name that is none of them.
        """
        if not self.sums.pairs:
            return None
        chosen = self.best if against == BEST else against or self.alone
        if chosen not in self.sums.pairs:
            raise ValueError(f"there is no {chosen!r} among {', '.join(self.sums.pairs)}")
        return self.sums.verdict(chosen, confidence)

    @property
    def words(self) -> CostWords:
        """The name and the format of errors."""
        return AMOUNTS if self._stream.label_encoder.numeric else RATES

    @property
    def errors(self) -> dict[str, float]:
        """The error over all records, by learner."""
        return self.sums.errors

    def of_task(self, task: Hashable) -> dict[str, Any]:
        """The number of labels of a task, and its errors."""
        return self.sums.of_task(task)

    def predictions(self, against: str | None = None) -> dict[str, Any]:
        """All that is said, as data with a JSON form; see :meth:`judged`."""
        if against is not None and not self.sums.pairs:
            raise ValueError("no label has come yet, and so there is nothing to judge against")
        predictions: dict[str, Any] = {"examples": self.n, "measure": self.words.key, self.words.key: self.errors}
        predictions |= self.judged(against)
        if predictions["verdict"] is not None:
            predictions["counts"] = {name: len(predictions["verdict"][name]) for name in ("helped", "hurt")}
            predictions["verdict"] |= {name: predictions["verdict"][name][:LISTED] for name in ("helped", "hurt")}
        return predictions | {"curve": self.curve, "recent": self.words.for_json(self.recent._asdict())}

    def judged(self, against: str | None = None) -> dict[str, Any]:
        """The headline, remarks, the verdict against one learner and the gains over all, as data with a JSON form.

        Without ``against`` the headline is against the best of the baselines, and the tasks are those helped and hurt
        against what one has without learning together.
        """
        predictions, best = self.verdict(against), self.verdict(against or BEST)
        if predictions is None or best is None or not predictions.tasks:
            nothing = _NOTHING_LEFT if predictions is not None else _NOTHING_YET
            return {"sentence": nothing, "remarks": [], "verdict": None}
        sentence, remarks = conclusion(best, predictions)
        if self.head_start:
            ahead = counted(self.head_start, "record")
            remarks.append(f"The model had learned {ahead} before, its baselines none, which favours the model.")
        gains = {name: self.sums.verdict(name) for name in self.sums.pairs}
        return {
            "sentence": sentence,
            "remarks": remarks,
            "verdict": predictions.to_json(),
            "best_baseline": self.best,
            "gains": {
                name: {"average": each.to_json()["average"]}
                | {outcome: int((each.outcome == outcome).sum()) for outcome in ("helped", "hurt")}
                for name, each in gains.items()
            },
        }

    def _base_rate(self) -> BaseRate:
        """The positive label, or of many the most frequent one, and its share; of numbers their mean."""
        return self._labels_seen.total.base_rate(self._classes[-1] if len(self._classes) == 2 else None)

    @property
    def recent(self) -> Recent:
        """The error of the last records, and how far their labels have drifted from those before."""
        if not self._recent:
            return Recent(0, *[float("nan")] * 4)
        cost = np.array([each for each, _ in self._recent])
        value, (n, total, squares) = self._labels()
        n, total, squares = n - len(value), total - value.sum(), squares - (value**2).sum()
        rate = float(value.mean()) if len(value) else float("nan")
        if not len(value) or n <= 0:
            return Recent(len(cost), float(cost.mean()), rate, float("nan"), 0.0)
        before = float(total / n)
        deviation = (max(squares / n - before**2, 0.0) / len(value)) ** 0.5
        drift = float(abs(rate - before) / deviation) if deviation else 0.0
        return Recent(len(cost), float(cost.mean()), rate, before, drift)

    def _labels(self) -> tuple[NDArray[np.float64], tuple[int, float, float]]:
        """The last labels as numbers, and the number, the sum and the sum of squares of all.

        Of two labels the positive one is 1 and the other 0; of more there are none.
        """
        labels = [label for _, label in self._recent]
        if self._stream.label_encoder.numeric:
            return np.array(labels, np.float64), self._value.whole
        if len(self._classes) != 2:
            return np.zeros(0), (0, 0.0, 0.0)
        positive = self._classes[-1]
        total = self._labels_seen.total
        share = total.sums.get(positive, 0.0)
        return np.array([label == positive for label in labels], np.float64), (total.n, share, share)

    def alarms(self, limits: Limits) -> dict[str, str]:
        """The alarms raised by the last records, a sentence each by the alarm's name."""
        recent, words = self.recent, self.words
        predictions: dict[str, str] = {}
        if limits.error is not None and recent.n and recent.error >= limits.error:
            over = f"of the last {recent.n:,} records"
            now, ever = (words.value(each) for each in (recent.error, self.sums.errors[TOGETHER]))
            predictions["error"] = f"The {words.error} {over} is {now}, of all {ever}."
        if recent.drift >= limits.drift and recent.n == WINDOW:
            label = "" if self._stream.label_encoder.numeric else f" label {self.sums.base_rate.label!r}"
            what = f"The share of the{label}" if label else "The mean label"
            now, before = (f"{each:.3g}" for each in (recent.rate, recent.rate_before))
            predictions["drift"] = f"{what} is {now} among the last {recent.n:,} records, and was {before} before."
        return predictions

    @property
    def curve(self) -> dict[str, Any]:
        """The error over time: of each learner between two points, and up to each of them."""
        points, names = self._curve, self.learners if self._curve else []
        totals = np.array([point.cost for point in points]).reshape(len(points), len(names))
        n = np.array([point.n for point in points], np.float64)
        steps = np.diff(n, prepend=0.0)[:, None]
        between = np.diff(totals, axis=0, prepend=np.zeros((1, totals.shape[1]))) / np.maximum(steps, 1.0)
        upto = totals / np.maximum(n, 1.0)[:, None]
        return {
            "n": [point.n for point in points],
            "at": [point.at for point in points],
            self.words.key: {name: upto[:, k].tolist() for k, name in enumerate(names)},
            "between": {name: between[:, k].tolist() for k, name in enumerate(names)},
        }

    def as_it_is(self) -> Live:
        """A copy for who reads it while records are learned; O(K), and no model is copied."""
        made = copy.copy(self)
        made.sums, made._curve, made._recent = self.sums.copy(), list(self._curve), self._recent.copy()
        return made

    # -- files

    def to_saved(self) -> tuple[dict[str, Any], Arrays]:
        """Everything as data with a JSON form, and named arrays."""
        models = {name: model.__dump__() for name, model in self.references.items()}
        arrays = {f"{name}.model.{key}": held for name, (_, each) in models.items() for key, held in each.items()}
        sums, held = self.sums.to_saved()
        arrays |= held
        if self._rows:
            arrays["rows"] = np.concatenate(self._rows)
        saved: dict[str, Any] = {
            "models": [[name, self.references[name], data] for name, (data, _) in models.items()],
            "sums": sums,
            "head_start": self.head_start,
            "tasks": list(self.sums.tasks),
            "n": self.n,
            "labels": self._labels_seen.to_saved(),
            "value": [each[0].item() for each in self._value],
            "waiting": [list(record) for record in self._waiting],
            "since": self._caught_up,
            "curve": [[point.n, point.at, point.cost] for point in self._curve],
            "recent": [list(pair) for pair in self._recent],
            "classes": self._classes,
        }
        return saved, arrays

    def restore(self, saved: Mapping[str, Any], arrays: Arrays) -> None:
        """Undo :meth:`to_saved`; ValueError for data that it cannot have returned."""
        for name, model, data in saved["models"]:
            spec.require_instance(name, model)
            model.__restore__(data, below(arrays, f"{name}.model."))
            self.references[name] = model
        self.n, self._caught_up = int(saved["n"]), float(saved["since"])
        self.head_start = int(saved["head_start"])
        self.sums = Sums.from_saved(TOGETHER, saved["sums"], arrays, saved["tasks"])
        self._labels_seen = LabelBaselines.from_saved(saved["labels"])
        self._value = Tally(*(np.array([each]) for each in saved["value"]))
        self._waiting = [tuple(record) for record in saved["waiting"]]
        self._rows = [arrays["rows"]] if "rows" in arrays else []
        require(sum(map(len, self._rows)) == len(self._waiting), "what waits to be compared was told otherwise")
        self._curve = [Point(*point) for point in saved["curve"]]
        self._recent.extend(map(tuple, saved["recent"]))
        self._classes = list(saved["classes"])
        self.sums.base_rate = self._base_rate()


def share_form(model: Any, other: Any) -> bool:
    """Let a model go on with the form of records of another one if both have read alike so far; whether they have.

    A block that one of them has read is then as the other would read it, and the other learns that block. From then on
    one lock protects both no more: one thread at a time may use them.
    """
    with model.lock:
        mine, its = model.input, other.input
        shared = type(mine) is type(its) is Input and model.fitted and other.fitted and mine.is_like(its)
        if shared:
            model.version += 1
            model.input = its
        return bool(shared)
