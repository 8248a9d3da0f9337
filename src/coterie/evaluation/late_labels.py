"""A model going along a stream: where records wait whose labels come late, with what was predicted of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.index import distinct_labels
from coterie.inputs.block import Block
from coterie.round.contract import Predictions

from .stream_model import Margins, Rounds, StreamModel
from .trace import Trace, ViewWeights
from .tracing import empty_trace, make_trace, trace_rows


class Predicted(NamedTuple):
    """A block that was predicted, without its features, so that a stream may be longer than the memory."""

    label: NDArray[Any] | None
    task: NDArray[Any]
    margin: NDArray[Any]
    asked: NDArray[np.bool_]
    weight: NDArray[np.float64] | None = None


class Stream:
    """A model going along a stream, with the records whose labels have not come yet."""

    def __init__(self, model: StreamModel, tasks: Sequence[Hashable], delay: int, length: int | None = None) -> None:
        if delay < 0:
            raise ValueError(f"delay must be at least 0 rounds, got {delay!r}")
        self.model, self.tasks, self.delay, self.length = model, tasks, delay, length
        self.predictions: list[Predicted] = []
        self.moved: list[Rounds] = []
        self.waiting: Block | None = None
        self.asked = np.zeros(0, bool)
        self.before: Predictions | None = (
            None  # the predictions of the waiting records, which are charged when labels come
        )

    def go(self, block: Block) -> None:
        """Predict a block, learning the labels that come meanwhile."""
        joined = block if self.waiting is None else self.waiting.joined(block)
        before = len(joined) - len(block)
        margin = empty_trace(self.model.label_encoder, len(joined))
        asked = self.asked
        if before < self.delay:  # no label has come yet in this stream
            early = joined.piece(before, self.delay)
            met = self.model.predict_pending(early)
            if self.model.fitted:
                margin[before : before + len(early)] = self._rows(met.margin, early.y)
            asked = np.concatenate([asked, met.queried])
            predictions = met.predictions
            self.before = (
                predictions
                if self.before is None or predictions is None
                else Predictions.joined([self.before, predictions])
            )
        learned = max(len(joined) - self.delay, 0)
        if learned:
            rounds = self._learn(replace(joined, asked=asked), self.delay)
            waits = (
                None if rounds.predictions is None or not self.delay else rounds.predictions.cut(learned, len(joined))
            )
            self.before = waits
            label = None if joined.y is None else joined.y[self.delay :]
            if self.model.fitted:  # else nothing was learned, all records having weight 0
                margin[self.delay :] = self._rows(rounds.margin[self.delay :], label)
            self.moved.append(rounds.moves(None, learned))
            self.tasks, asked = (), rounds.queried
        self.predictions.append(Predicted(block.y, block.tasks, margin[before:], asked[before:], block.weight))
        self.asked = asked[learned:]
        self.waiting = joined.piece(learned, len(joined)) if self.delay else None

    def finish(self) -> None:
        """Learn the labels that come after the last prediction."""
        if self.waiting is not None and len(self.waiting):
            if (
                not self.moved and not self.model.learner.traits.tasks_independent
            ):  # tasks count from their predictions on
                learned = self.model.learned_records(self.waiting, self.waiting.y, self.waiting.weight)
                learned = np.broadcast_to(learned, len(self.waiting))
                self.tasks = [*self.tasks, *distinct_labels(self.waiting.tasks[learned])[0]]
            self.moved.append(self._learn(replace(self.waiting, asked=self.asked)).moves())
            self.waiting, self.before, self.asked = None, None, np.zeros(0, bool)

    def _learn(self, block: Block, late: int = 0) -> Rounds:
        return self.model.learn(block, late=late, tasks=self.tasks, length=self.length, predictions=self.before)

    def _rows(self, margin: Margins, label: Any) -> NDArray[Any]:
        return trace_rows(self.model.label_encoder, margin, label, self.model.learner.traits.log_odds)

    def latest(self) -> Trace:
        """The rounds of the last block; a record whose label has not come counts as not moved."""
        learned = len(self.predictions[-1].margin) - (len(self.waiting) if self.waiting is not None else 0)
        return _trace(self.model, self.predictions[-1:], [self.moved[-1].moves(-learned)] if learned > 0 else [])

    def trace(self) -> Trace:
        """All rounds so far."""
        return _trace(self.model, self.predictions, self.moved)


def _trace(model: StreamModel, predictions: Sequence[Predicted], moved: Sequence[Rounds]) -> Trace:
    """The trace of all rounds, with tasks numbered as they came; the model makes it of what it kept of predictions."""
    margin = np.concatenate([empty_trace(model.label_encoder, 0), *(rounds.margin for rounds in predictions)])
    label = _joined([rounds.label for rounds in predictions])
    tasks, task = distinct_labels(_joined([rounds.task for rounds in predictions]))
    updated = _padded([each.updated for each in moved], len(margin), False)
    queried = np.concatenate([np.zeros(0, bool), *(rounds.asked for rounds in predictions)])
    rounds: dict[str, Any] = {"updated": updated, "queried": queried, "task": task, "tasks": tuple(tasks)}
    if any(each.weight is not None for each in predictions):
        rounds["weight"] = np.concatenate([_weight_of(each) for each in predictions])
    if moved and all(each.stored is not None for each in moved):
        rounds["stored"] = _padded([each.stored for each in moved], len(margin), False)
        rounds["evicted"] = _placed(_padded([each.evicted for each in moved], len(margin), -1), model, tasks)
    if moved and moved[0].weights is not None:
        rounds["weights"] = ViewWeights.concatenate(
            [each.weights for each in moved], [len(each.updated) for each in moved]
        )
    return make_trace(model.label_encoder, margin, label, model.learner.traits.log_odds, rounds)


def _weight_of(predictions: Predicted) -> NDArray[np.float64]:
    return np.ones(len(predictions.margin)) if predictions.weight is None else predictions.weight


def _padded(arrays: Sequence[Any], n: int, rest: Any) -> NDArray[Any]:
    """The arrays as one of n entries; records whose labels have not come have ``rest``."""
    held = np.concatenate([np.full(0, rest), *arrays])[:n]
    return np.concatenate([held, np.full(n - len(held), rest)])


def _placed(evicted: NDArray[np.int64], model: StreamModel, tasks: Sequence[Hashable]) -> NDArray[np.int64]:
    """Tasks by their place in the stream instead of that in the model."""
    places = {label: place for place, label in enumerate(tasks)}
    of_model = np.array([*(places.get(label, -2) for label in model.population.labels), -1], np.int64)
    return of_model[evicted]


def _joined(arrays: Sequence[Any]) -> NDArray[Any]:
    return np.concatenate([np.asarray(array) for array in arrays]) if arrays else np.zeros(0)
