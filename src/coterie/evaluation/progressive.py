"""Progressive validation: predict each record before its label is learned."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from coterie.data.block import Block
from coterie.models.contract import Predictions
from coterie.settings import Setting
from coterie.tasks.index import distinct_labels
from coterie.types import AnyLabels, AnyRecords, AnyTasks, Array, Estimator, Flags, Floats, Json, Label

from .stream_model import BatchResult, Margins, StreamModel, stream_model_of
from .trace import Trace
from .tracing import make_trace

if TYPE_CHECKING:
    from coterie.data.record_encoders import RecordEncoder

#: Rounds between two reports of progress when the whole stream is at hand.
CHUNK = 65536


def progressive_validation(
    model: Estimator,
    X: AnyRecords,
    y: AnyLabels = None,
    *,
    task: AnyTasks = None,
    tasks: Sequence[Hashable] | None = None,
    delay: int = 0,
    sample_weight: ArrayLike | None = None,
    on_round: Callable[[Trace], None] | None = None,
) -> Trace:
    """Predict and then learn every record of a stream in one pass (progressive, or prequential, validation).

    Parameters
    ----------
    model : online classifier
        Changed in place; it may have learned before.
    X : array, sparse matrix, data frame, or iterable of :class:`Block`
        The records. For a reader of files, an iterable of blocks, the model gets its encoder. Several views are a list
        or a dictionary of such arrays or frames.
    y : array, shape (n,)
        Their labels; blocks contain their own.
    task : array, shape (n,), optional
        Their tasks; blocks contain their own.
    tasks : sequence of labels, optional
        Tasks to register at the start; others count in M from their first records on.
    delay : int, default=0
        The number of further records that are predicted before the label of a record arrives.
    sample_weight : array, shape (n,), optional
        The weight of each record in learning and in the error; blocks contain their own.
    on_round : callable, optional
        Called with the trace of each block of rounds when it is finished, to show progress.

    Returns
    -------
    Trace
        The trace, with the predictions of every round.

    Raises
    ------
    ValueError
        For a negative delay, records that the model does not support, or a reader without the encoder of a model that
        has learned files before.
    TypeError
        For a model that does not learn record by record.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = [[1.0], [2.0], [-1.0], [-3.0]], ["up", "up", "down", "down"]
    >>> trace = ct.progressive_validation(ct.MultitaskPerceptron(), X, y, task=["a", "b", "a", "b"])
    >>> trace.mistakes, trace.prediction.tolist()
    (1, ['up', 'up', 'down', 'down'])
    """
    inner = stream_model_of(model)
    require_scales(X, [inner])
    reading = reading_files([inner])
    blocks, tasks = blocks_of(inner, X, y, task, tasks, CHUNK if on_round else None, sample_weight)
    run = ProgressiveRun(inner, tasks, delay, count_learned(y, sample_weight))
    for block in blocks:
        run.predict_and_learn(block)
        if on_round is not None and len(block):
            on_round(run.latest_trace())
    run.learn_rest()
    keep_encoder(X, reading)
    return run.trace()


class ProgressiveRun:
    """A run of progressive validation: a model predicts records, and learns their labels when these arrive.

    Parameters
    ----------
    model : StreamModel
        The model.
    tasks : sequence of labels
        Tasks to register at the start.
    delay : int
        The number of records predicted between a record and its label.
    length : int, optional
        The number of records of the stream, if known.
    """

    def __init__(self, model: StreamModel, tasks: Sequence[Hashable], delay: int, length: int | None = None) -> None:
        Setting(kind="whole", at_least=0, unit="rounds").check("delay", delay)
        self.model, self.tasks, self.delay, self.length = model, tasks, int(delay), length
        self._predicted: list[_PredictedBlock] = []
        self._moves: list[BatchResult] = []
        self._waiting: Block | None = None
        self._asked = np.zeros(0, bool)
        # members' losses are computed from their stored predictions of the pending records when the labels arrive
        self._predictions: Predictions | None = None

    def predict_and_learn(self, block: Block) -> None:
        """Predict a block, and learn the labels that arrive in the meantime."""
        joined = block if self._waiting is None else self._waiting.joined(block)
        before, asked = len(joined) - len(block), self._asked
        weighs = np.ones(len(joined)) if joined.weight is None else joined.weight > 0
        # records before which no label has come, of this stream or an earlier one
        blind = np.append(np.zeros(self.delay + 1), np.cumsum(weighs))[: len(joined)] + self.model.fitted == 0
        margin = self.model.label_encoder.empty_rows(len(joined))
        # the model stays as it is here, so these need no interleaving with updates
        if before < self.delay:  # no label has come yet in this stream
            early = joined.piece(before, self.delay)
            rounds = self.model.predict_pending(early)
            if self.model.fitted:
                margin[before : before + len(early)] = self._rows(rounds.margin, early.y)
            asked = np.concatenate([asked, rounds.queried])
            parts = [part for part in (self._predictions, rounds.predictions) if part is not None]
            self._predictions = Predictions.concatenate(parts) if len(parts) == 2 else rounds.predictions
        learned = max(len(joined) - self.delay, 0)
        if learned:
            rounds = self._learn(replace(joined, asked=asked), self.delay)
            late = self.delay and rounds.predictions is not None
            self._predictions = rounds.predictions.cut(learned, len(joined)) if late else None  # type: ignore[union-attr]
            if self.model.fitted:  # else nothing was learned, because all records have weight 0
                label = None if joined.y is None else joined.y[self.delay :]
                margin[self.delay :] = self._rows(rounds.margin[self.delay :], label)
            self._moves.append(rounds.moves(None, learned))
            self.tasks, asked = (), rounds.queried
        self._predicted.append(
            _PredictedBlock(block.y, block.tasks, margin[before:], asked[before:], block.weight, blind[before:])
        )
        self._asked = asked[learned:]
        self._waiting = joined.piece(learned, len(joined)) if self.delay else None

    def learn_rest(self) -> None:
        """Learn the labels that arrive after the last prediction."""
        if self._waiting is None or not len(self._waiting):
            return
        # a stream no longer than its delay: all were predicted under M of all their tasks, and are learned under it too
        if not self._moves and not self.model.learner.traits.tasks_independent:  # tasks count from their predictions on
            learned = self.model.learned_records(self._waiting, self._waiting.y, self._waiting.weight)
            learned = np.broadcast_to(learned, len(self._waiting))
            self.tasks = [*self.tasks, *distinct_labels(self._waiting.tasks[learned])[0]]
        self._moves.append(self._learn(replace(self._waiting, asked=self._asked)).moves())
        self._waiting, self._predictions, self._asked = None, None, np.zeros(0, bool)

    def _learn(self, block: Block, late: int = 0) -> BatchResult:
        return self.model.learn(block, late=late, tasks=self.tasks, length=self.length, predictions=self._predictions)

    def _rows(self, margin: Margins, label: AnyLabels) -> Array:
        return self.model.label_encoder.rows(margin, label, self.model.learner.traits.log_odds)

    def latest_trace(self) -> Trace:
        """Return the trace of the last block."""
        learned = len(self._predicted[-1].margin) - (len(self._waiting) if self._waiting is not None else 0)
        return self._trace(self._predicted[-1:], [self._moves[-1].moves(-learned)] if learned > 0 else [])

    def trace(self) -> Trace:
        """Return the trace of all rounds so far."""
        return self._trace(self._predicted, self._moves)

    def _trace(self, predicted: Sequence[_PredictedBlock], moves: Sequence[BatchResult]) -> Trace:
        """Return the trace of predicted blocks, with tasks numbered in order of first appearance."""
        encoder = self.model.label_encoder
        margin = np.concatenate([encoder.empty_rows(0), *(block.margin for block in predicted)])
        n, tasks_of_blocks = len(margin), [np.asarray(block.task) for block in predicted]
        label = np.concatenate([np.asarray(block.label) for block in predicted]) if predicted else np.zeros(0)
        tasks, task = distinct_labels(np.concatenate(tasks_of_blocks) if predicted else np.zeros(0))
        rounds: Json = {
            "updated": _pad([part.updated for part in moves], n, False),
            "queried": np.concatenate([np.zeros(0, bool), *(block.asked for block in predicted)]),
            "blind": np.concatenate([np.zeros(0, bool), *(block.blind for block in predicted)]),
            "task": task,
            "tasks": tuple(tasks),
        }
        if any(block.weight is not None for block in predicted):
            weights = (np.ones(len(b.margin)) if b.weight is None else b.weight for b in predicted)
            rounds["weight"] = np.concatenate([*weights])
        if moves and all(part.stored is not None for part in moves):
            rounds["stored"] = _pad([part.stored for part in moves], n, False)
            # tasks by their place in the stream instead of that in the model
            places = {label: place for place, label in enumerate(tasks)}
            of_model = np.array([*(places.get(label, -2) for label in self.model.population.tasks), -1], np.int64)
            rounds["evicted"] = of_model[_pad([part.evicted for part in moves], n, -1)]
        return make_trace(encoder, margin, label, self.model.learner.traits.log_odds, rounds)


class _PredictedBlock(NamedTuple):
    """A predicted block without its features, which are dropped to save memory."""

    label: Array | None
    task: Array
    margin: Array
    asked: Flags
    weight: Floats | None
    blind: Flags


def _pad(arrays: Sequence[Array | None], n: int, rest: Label) -> Array:
    """Concatenate arrays, and pad them to n entries with ``rest`` for records without a label yet."""
    joined = np.concatenate([np.full(0, rest), *arrays])[:n]
    return np.concatenate([joined, np.full(n - len(joined), rest)])


def reading_files(models: Iterable[StreamModel]) -> list[StreamModel]:
    """Return the models that can use the encoder of a reader: unfitted ones, and those trained from files."""
    return [model for model in models if not model.fitted or model.encoder is not None]


def require_scales(X: AnyRecords, models: Iterable[StreamModel]) -> None:
    """Raise ValueError if a model was trained from files, and the reader X does not use its encoder."""
    is_new = getattr(X, "encoder", X) is None
    if is_new and any(model.fitted and model.encoder is not None for model in models):
        raise ValueError(
            "the model has learned records before, with columns and scales that the reader does not know; use "
            "read(..., encoder=model.encoder_)"
        )


def keep_encoder(X: AnyRecords, models: Iterable[StreamModel]) -> None:
    """Give each model that was trained from a reader a copy of the reader's encoder."""
    encoder: RecordEncoder | None = getattr(X, "encoder", None)
    if encoder is not None:
        for model in models:
            model.encoder = encoder.copy()


def blocks_of(
    model: StreamModel,
    X: AnyRecords,
    y: AnyLabels,
    task: AnyTasks,
    tasks: Sequence[Hashable] | None,
    size: int | None,
    sample_weight: ArrayLike | None = None,
) -> tuple[Iterable[Block], Sequence[Hashable]]:
    """Split a stream into blocks of at most ``size`` records; return them and the initially known tasks."""
    if y is None:
        return blocks_alone(X, model.label_encoder.numeric), tasks or ()
    whole = model.as_block(X, y, task, sample_weight)
    return whole.pieces(size or max(len(whole), 1)), tasks or ()


def blocks_alone(X: AnyRecords, numbers: bool) -> Iterator[Block]:
    """Yield the blocks of a reader, with labels converted to numbers if ``numbers``.

    Raises
    ------
    TypeError
        For other records, which need labels.
    """
    for block in X if hasattr(X, "__iter__") else [X]:
        if not hasattr(block, "pieces"):
            raise TypeError(
                "y is missing; without y, X must be blocks of records such as those of "
                f"coterie.data.readers.read, got {type(X).__name__}"
            )
        yield block.with_number_labels() if numbers else block


def count_learned(y: AnyLabels, sample_weight: ArrayLike | None = None) -> int | None:
    """Return the number of records with a weight above 0, which are learned.

    It is None if y is None, for a stream of unknown length.
    """
    if y is None or sample_weight is None:
        return None if y is None else len(y)
    return int(np.count_nonzero(np.broadcast_to(sample_weight, len(y))))
