"""Live comparison of a service's model with baselines that learn the same records.

The baselines are those of every comparison: one model per task, one for all, one for all with an intercept per task,
the running rate or mean of each task, and the constant. They learn a little later, in blocks: after 256 records, or at
the first label more than a second after the last block, by the times of events. Reading does not update them, so that
the verdict depends only on the journal. The size does not grow with the number of records.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Hashable, Sequence
from typing import NamedTuple, Self

import numpy as np

from coterie import spec
from coterie._compiled.core.checks import require
from coterie._compiled.trees import Arrays, strip_prefix
from coterie.data.block import Block
from coterie.data.input import Input
from coterie.data.label_encoders import as_labels
from coterie.estimators.online_model import OnlineModel
from coterie.evaluation.baselines import CONSTANT, LabelBaselines
from coterie.evaluation.comparison import BASELINES, BEST
from coterie.evaluation.costs import AMOUNTS, RATES, CostWords
from coterie.evaluation.stream_model import StreamModel, stream_model_of
from coterie.evaluation.trace import BaseRate
from coterie.evaluation.tracing import make_trace
from coterie.evaluation.verdict import Sums, Verdict, conclusion
from coterie.tasks.index import distinct_labels
from coterie.types import Array, Estimator, Json
from coterie.wording import counted

from .service_errors import LabelledRecord

#: The model's own name among learners.
TOGETHER = "together"
#: The maximum number of records that baselines learn at once, and the seconds after which they learn fewer.
AT_ONCE, SECONDS = 256, 1.0
#: The maximum number of points of the curve; then every second one is left out.
POINTS = 400
#: The number of last records by which alarms go.
WINDOW = 1000
#: The maximum numbers of helped and of hurt tasks to list.
LISTED = 20


class Limits(NamedTuple):
    """The thresholds of alarms.

    Attributes
    ----------
    error : float or None
        The limit of the mean error of the last 1,000 records: the share of wrong labels, or the mean absolute error of
        numbers.
    silence : float or None
        The limit of the seconds without a label while records are predicted.
    """

    error: float | None = None
    silence: float | None = None


class LiveComparison:
    """Running comparison of a service's model with baselines, as sums of their errors.

    Parameters
    ----------
    model : estimator
        The model to compare; the baselines have its parameters.

    Attributes
    ----------
    references : dict of str to estimator
        The baselines; empty before the first record, and once all have rejected one.
    sums : Sums
        The sums of the model against these baselines and the constant.
    n : int
        The number of records added.
    head_start : int
        The number of records that the model had learned before the first record of the baselines.
    """

    def __init__(self, model: Estimator) -> None:
        self._model, self._stream = model, stream_model_of(model)
        self.references: dict[str, Estimator] = {}
        self.sums = Sums(TOGETHER)
        self.n = self.head_start = 0
        self._readers: dict[str, str] = {}
        self._labels_seen = LabelBaselines()
        self._waiting: list[LabelledRecord] = []
        self._rows: list[Array] = []
        self._caught_up = -np.inf
        self._recent: deque[float] = deque(maxlen=WINDOW)
        self._classes: list[Hashable] = []
        self._curve: list[list[float]] = []  # a row has the number of labels, and an error by learner
        self._step, self._passed = 1, 0

    # -- learning

    def add(self, records: Sequence[LabelledRecord], predictions: Array, at: float) -> None:
        """Add learned records, with the model's predictions as stored rows (see `coterie.evaluation.tracing`)."""
        self._waiting += records
        self._rows.append(predictions)
        if len(self._waiting) >= AT_ONCE or at >= self._caught_up + SECONDS:
            self.catch_up(at)

    def catch_up(self, at: float) -> None:
        """Let the baselines learn the pending records, and add these to all sums; ``at`` is the time."""
        self._caught_up = at
        if not self._waiting:
            return
        xs, ys, tasks = map(list, zip(*self._waiting, strict=True))
        rows = np.concatenate(self._rows)
        self._waiting, self._rows = [], []
        if not self.n:  # and not again once all have left the comparison
            self._begin(xs)
        elif not self._readers:
            self._share_reading()
        known, codes = distinct_labels(tasks)
        n, y = len(ys), as_labels(ys)
        rounds = {"updated": np.zeros(n, bool), "queried": np.ones(n, bool), "task": codes, "tasks": tuple(known)}
        ours = self._stream
        traces = {TOGETHER: make_trace(ours.label_encoder, rows, y, ours.learner.traits.log_odds, rounds)}
        blocks: dict[str, Block] = {}
        for name, model in list(self.references.items()):
            stream, reader = stream_model_of(model), self._readers.get(name, name)
            try:
                if reader not in blocks:
                    blocks[reader] = stream.as_block(xs, ys, tasks)
                margin = stream.learn(blocks[reader]).margin
            except ValueError:  # this learner rejects a record that the model accepted: it leaves the comparison
                self._drop(name)
                continue
            log_odds = stream.learner.traits.log_odds
            rows = stream.label_encoder.rows(margin, blocks[reader].y, log_odds)
            traces[name] = make_trace(stream.label_encoder, rows, y, log_odds, rounds)
        traces = self._labels_seen.add_to(traces)
        self.sums.add(traces)
        self.n += n
        self._classes = traces[TOGETHER].classes.tolist()
        self.sums.base_rate = self._base_rate()
        self._recent.extend(cost for cost in traces[TOGETHER].costs.tolist() if cost == cost)
        self._add_point()

    def _add_point(self) -> None:
        """Add a point to the error curve; points become sparser with its length."""
        self._passed += 1
        if self._passed % self._step == 0 and not np.isnan(self.errors[TOGETHER]):
            self._curve.append([self.n, *self.errors.values()])
        if len(self._curve) > POINTS:
            del self._curve[::2]
            self._step *= 2

    def _begin(self, xs: Sequence[Json]) -> None:
        """Create the baselines. They encode records as the model does if that was trained from files."""
        self.references = self._model.__baselines__(xs)
        self.head_start = self._model.state_.rounds - len(xs)
        encoder = self._stream.encoder
        if encoder is not None:
            for model in self.references.values():
                stream_model_of(model).encoder = encoder.copy()

    def _share_reading(self) -> None:
        """Find the baselines that encode records equally, so that each record is encoded only once for them."""
        streams: dict[str, StreamModel] = {name: stream_model_of(model) for name, model in self.references.items()}
        for name, stream in streams.items():
            self._readers[name] = next((other for other in self._readers if share_form(stream, streams[other])), name)

    def _drop(self, name: str) -> None:
        """Remove the baseline ``name`` from the comparison."""
        column = [*self.errors, name].index(name) + 1
        for point in self._curve:
            del point[column]
        del self.references[name]
        self.sums.pairs.pop(name, None)

    def reset(self, at: float) -> None:
        """Reset the clock."""
        self._caught_up = min(self._caught_up, at)

    def forget(self, tasks: Sequence[Hashable], at: float) -> None:
        """Forget tasks: remove their sums; totals are unchanged."""
        self.catch_up(at)
        gone = self.sums.forget(tasks)
        self._labels_seen.forget(gone)
        if gone:
            for model in self.references.values():
                model.forget_tasks(gone)

    # -- reading

    def verdict(self, against: str | None = None, confidence: float = 0.95) -> Verdict | None:
        """Compute the verdict, as :func:`coterie.evaluation.verdict.verdict` does; None before the first round.

        Parameters
        ----------
        against : str, optional
            The name of a baseline, or ``"best"`` for the best of them; by default one model per task, or the constant
            if that baseline has ended.
        confidence : float
            The level of intervals.

        Raises
        ------
        ValueError
            For an unknown name.
        """
        if not self.sums.pairs:
            return None
        if against == BEST:
            against = self._best
        elif against is None:
            against = BASELINES[0] if BASELINES[0] in self.sums.pairs else CONSTANT
        if against not in self.sums.pairs:
            raise ValueError(f"there is no {against!r} among {', '.join(self.sums.pairs)}")
        return self.sums.verdict(against, confidence)

    @property
    def _best(self) -> str:
        return self.sums.best([name for name in self.sums.pairs if name != CONSTANT] or [CONSTANT])

    @property
    def words(self) -> CostWords:
        """The name and number format of the errors."""
        return AMOUNTS if self._stream.label_encoder.numeric else RATES

    @property
    def errors(self) -> dict[str, float]:
        """The mean error over all records, by learner."""
        return self.sums.errors

    def report(self, against: str | None = None) -> Json:
        """Return the verdict, the gains and the error curve as JSON data.

        Without ``against`` the headline compares with the best baseline, and the tasks are those helped and hurt
        compared with one model per task.
        """
        if against is not None and not self.sums.pairs:
            raise ValueError("there is no verdict before the first label")
        key, recent = self.words.key, {"n": len(self._recent), "error": self._recent_error}
        report: Json = {"examples": self.n, "measure": key, key: self.errors, "verdict": None, "remarks": []}
        columns = {name: [point[k] for point in self._curve] for k, name in enumerate(self.errors, 1)}
        curve = {"n": [point[0] for point in self._curve], key: columns}
        report |= {"curve": curve, "recent": self.words.for_json(recent)}
        verdict, best = self.verdict(against), self.verdict(against or BEST)
        if verdict is None or best is None:
            return report | {"sentence": "No label has come yet."}
        if not verdict.tasks:
            return report | {"sentence": "All tasks whose labels came are forgotten."}
        sentence, remarks = conclusion(best, verdict)
        if self.head_start:
            ahead = counted(self.head_start, "record")
            remarks.append(f"The model had learned {ahead} before, its baselines none, which favours the model.")
        data, gains = verdict.to_json(), {name: self.sums.verdict(name) for name in self.sums.pairs}
        return report | {
            "sentence": sentence,
            "remarks": remarks,
            "verdict": data | {name: data[name][:LISTED] for name in ("helped", "hurt")},
            "counts": {name: len(data[name]) for name in ("helped", "hurt")},
            "best_baseline": self._best,
            "gains": {
                name: {"average": gain.to_json()["average"]}
                | {outcome: int((gain.outcome == outcome).sum()) for outcome in ("helped", "hurt")}
                for name, gain in gains.items()
            },
        }

    def _base_rate(self) -> BaseRate:
        """Return the positive (or most frequent) label and its frequency; the mean for regression."""
        return self._labels_seen.total.base_rate(self._classes[-1] if len(self._classes) == 2 else None)

    @property
    def _recent_error(self) -> float:
        """Return the mean error of the last records; nan if there are none."""
        return float(np.mean(self._recent)) if self._recent else float("nan")

    def alarms(self, limits: Limits) -> dict[str, str]:
        """Return the active alarms on the last records, as sentences by name."""
        error, words = self._recent_error, self.words
        if limits.error is None or not error >= limits.error:
            return {}
        now, ever = words.value(error), words.value(self.sums.errors[TOGETHER])
        return {"error": f"The {words.error} of the last {len(self._recent):,} records is {now}, of all {ever}."}

    def copy(self) -> Self:
        """Return a copy for reading in another thread, in O(K) for K tasks; it shares the models."""
        result = copy.copy(self)
        result._curve = list(self._curve)
        result.sums, result._recent = self.sums.copy(), self._recent.copy()
        return result

    # -- files

    def to_saved(self) -> tuple[Json, Arrays]:
        """Return the state as JSON data and named arrays."""
        models = {name: model.__dump__() for name, model in self.references.items()}
        arrays = {f"{name}.model.{key}": array for name, (_, dump) in models.items() for key, array in dump.items()}
        sums, sum_arrays = self.sums.to_saved()
        arrays |= sum_arrays
        if self._rows:
            arrays["rows"] = np.concatenate(self._rows)
        waiting: list[list[object]] = [[*record] for record in self._waiting]
        saved = {
            "curve": list(self._curve),
            "step": self._step,
            "passed": self._passed,
            "models": [[name, self.references[name], data] for name, (data, _) in models.items()],
            "sums": sums,
            "head_start": self.head_start,
            "tasks": list(self.sums.tasks),
            "n": self.n,
            "labels": self._labels_seen.to_saved(),
            "waiting": waiting,
            "since": self._caught_up,
            "recent": list(self._recent),
            "classes": list(self._classes),
        }
        return saved, arrays

    def restore(self, saved: Json, arrays: Arrays) -> None:
        """Restore the state from the result of :meth:`to_saved`; raise ValueError for invalid data."""
        self._curve = [list(point) for point in saved["curve"]]
        self._step, self._passed = int(saved["step"]), int(saved["passed"])
        for name, model, data in saved["models"]:
            spec.require_instance(name, model)
            model.__restore__(data, strip_prefix(arrays, f"{name}.model."))
            self.references[name] = model
        self.n, self.head_start, self._caught_up = int(saved["n"]), int(saved["head_start"]), float(saved["since"])
        self.sums = Sums.from_saved(TOGETHER, saved["sums"], arrays, saved["tasks"])
        self._labels_seen = LabelBaselines.from_saved(saved["labels"])
        self._waiting = [tuple(record) for record in saved["waiting"]]
        self._rows = [arrays["rows"]] if "rows" in arrays else []
        require(sum(map(len, self._rows)) == len(self._waiting), "records that wait have other predictions")
        self._recent.extend(saved["recent"])
        self._classes = list(saved["classes"])
        self.sums.base_rate = self._base_rate()


def share_form(model: StreamModel, other: StreamModel) -> bool:
    """Let a model use the input encoder of ``other`` if their encoders are equal; return True if it does.

    One encoder then encodes each block for both models. Because each model's lock does not protect the other one, only
    one thread at a time may use them.
    """
    if not (isinstance(model, OnlineModel) and isinstance(other, OnlineModel)):
        return False
    with model.lock:
        mine, its = model.input, other.input
        shared = type(mine) is type(its) is Input and model.fitted and other.fitted and mine.is_like(its)
        if shared:
            model.fast_path = None
            model.input = its
        return bool(shared)
