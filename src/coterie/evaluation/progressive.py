"""Progressive validation: every prediction is made before its label is seen, and then learned from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.index import distinct_labels
from coterie.inputs.block import Block
from coterie.round.contract import Told

from .stream_model import Margins, Rounds, StreamModel, stream_model_of
from .trace import Trace
from .tracing import empty_trace, make_trace, trace_rows
from .view_weights import in_order

#: Rounds between two reports of progress when the whole stream is at hand.
CHUNK = 65536


def progressive_validation(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    task: Any = None,
    tasks: Sequence[Hashable] | None = None,
    delay: int = 0,
    sample_weight: Any = None,
    on_round: Callable[[Trace], None] | None = None,
) -> Trace:
    """Let a model predict and then learn every record of a stream, in one pass.

    Parameters
    ----------
    model : online classifier
        Changed in place; it may have learned before.
    X : array, sparse matrix, data frame, or iterable of :class:`Block`
        The records; a reader of files is an iterable of blocks. Views of one thing are a list or a dictionary of such.
    y : array, shape (n,)
        Their labels; blocks bring their own.
    task : array, shape (n,), optional
        Their tasks; blocks bring their own.
    tasks : sequence of labels, optional
        Tasks to know from the start; any other counts in M from its first record on.
    delay : int
        The label of a record comes after so many further records have been predicted.
    sample_weight : array, shape (n,), optional
        How much each record counts where it is learned, and in the error; blocks bring their own.
    on_round : callable, optional
        Called with the trace of each stretch of rounds as it is finished, to show progress.

    Returns
    -------
    Trace
        With the predictions of every round.

    Raises
    ------
    ValueError
        For a negative delay, or whatever the model refuses.
    TypeError
        For a model that learns no stream.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = [[1.0], [2.0], [-1.0], [-3.0]], ["up", "up", "down", "down"]
    >>> trace = ct.progressive_validation(ct.MultitaskPerceptron(), X, y, task=["a", "b", "a", "b"])
    >>> trace.mistakes, trace.prediction.tolist()
    (1, ['up', 'up', 'down', 'down'])
    """
    going = stream_model_of(model)
    blocks, tasks = blocks_of(going, X, y, task, tasks, CHUNK if on_round else None, sample_weight)
    stream = Stream(going, tasks, delay, length_of(y))
    for block in blocks:
        stream.go(block)
        if on_round is not None and len(block):
            on_round(stream.latest())
    stream.finish()
    return stream.trace()


def blocks_of(
    model: StreamModel,
    X: Any,
    y: Any,
    task: Any,
    tasks: Sequence[Hashable] | None,
    size: int | None,
    sample_weight: Any = None,
) -> tuple[Iterable[Block], Sequence[Hashable]]:
    """A stream as blocks of at most ``size`` records, and the tasks known from its start."""
    if y is None:
        return blocks_alone(X), tasks or ()
    whole = model.as_block(X, y, task, sample_weight)
    return whole.pieces(size or max(len(whole), 1)), tasks or ()


def blocks_alone(X: Any) -> Iterator[Block]:
    """The blocks of a reading, one after the other.

    Raises
    ------
    TypeError
        For anything else, which needs labels beside it.
    """
    for block in X if hasattr(X, "__iter__") else [X]:
        if not hasattr(block, "pieces"):
            raise TypeError(
                "y is missing: without it X must be blocks of records, as coterie.io.readers.read makes of a "
                f"file, got {type(X).__name__}"
            )
        yield block


class Predicted(NamedTuple):
    """A block that was predicted, without its features, so that a stream may be longer than the memory."""

    label: NDArray[Any] | None
    task: NDArray[Any]
    margin: NDArray[Any]
    asked: NDArray[np.bool_]
    weight: NDArray[np.float64] | None = None


def length_of(y: Any) -> int | None:
    """The number of records, where all are at hand."""
    return None if y is None else len(y)


class Stream:
    """A model going along a stream, with the records whose labels have not come yet."""

    def __init__(self, model: StreamModel, tasks: Sequence[Hashable], delay: int, length: int | None = None) -> None:
        if delay < 0:
            raise ValueError(f"delay must be at least 0 rounds, got {delay!r}")
        self.model, self.tasks, self.delay, self.length = model, tasks, delay, length
        self.told: list[Predicted] = []
        self.moved: list[Rounds] = []
        self.waiting: Block | None = None
        self.asked = np.zeros(0, bool)
        self.before: Told | None = None  # the predictions of the waiting records, which are charged when labels come

    def go(self, block: Block) -> None:
        """Predict a block, learning the labels that come meanwhile."""
        joined = block if self.waiting is None else self.waiting.joined(block)
        before = len(joined) - len(block)
        margin = empty_trace(self.model.label_kind, len(joined))
        asked = self.asked
        if before < self.delay:  # no label has come yet in this stream
            early = joined.piece(before, self.delay)
            met = self.model.predict_pending(early)
            if self.model.fitted:
                margin[before : before + len(early)] = self._rows(met.margin, early.y)
            asked = np.concatenate([asked, met.queried])
            told = met.told
            self.before = told if self.before is None or told is None else Told.joined([self.before, told])
        learned = max(len(joined) - self.delay, 0)
        if learned:
            rounds = self._learn(replace(joined, asked=asked), self.delay)
            waits = None if rounds.told is None or not self.delay else rounds.told.cut(learned, len(joined))
            self.before = waits
            label = None if joined.y is None else joined.y[self.delay :]
            margin[self.delay :] = self._rows(rounds.margin[self.delay :], label)
            self.moved.append(rounds.moves(None, learned))
            self.tasks, asked = (), rounds.queried
        self.told.append(Predicted(block.y, block.tasks, margin[before:], asked[before:], block.weight))
        self.asked = asked[learned:]
        self.waiting = joined.piece(learned, len(joined)) if self.delay else None

    def finish(self) -> None:
        """Learn the labels that come after the last prediction."""
        if self.waiting is not None and len(self.waiting):
            self.moved.append(self._learn(replace(self.waiting, asked=self.asked)).moves())
            self.waiting, self.before, self.asked = None, None, np.zeros(0, bool)

    def _learn(self, block: Block, late: int = 0) -> Rounds:
        return self.model.learn(block, late=late, tasks=self.tasks, length=self.length, told=self.before)

    def _rows(self, margin: Margins, label: Any) -> NDArray[Any]:
        return trace_rows(self.model.label_kind, margin, label, self.model.traits.log_odds)

    def latest(self) -> Trace:
        """The rounds of the last block; a record whose label has not come counts as not moved."""
        learned = len(self.told[-1].margin) - (len(self.waiting) if self.waiting is not None else 0)
        return _trace(self.model, self.told[-1:], [self.moved[-1].moves(-learned)] if learned > 0 else [])

    def trace(self) -> Trace:
        """All rounds so far."""
        return _trace(self.model, self.told, self.moved)


def _trace(model: StreamModel, told: Sequence[Predicted], moved: Sequence[Rounds]) -> Trace:
    """The trace of all rounds, with tasks numbered as they came; the model makes it of what it kept of predictions."""
    margin = np.concatenate([empty_trace(model.label_kind, 0), *(rounds.margin for rounds in told)])
    label = _joined([rounds.label for rounds in told])
    tasks, task = distinct_labels(_joined([rounds.task for rounds in told]))
    updated = _padded([each.updated for each in moved], len(margin), False)
    queried = np.concatenate([np.zeros(0, bool), *(rounds.asked for rounds in told)])
    rounds: dict[str, Any] = {"updated": updated, "queried": queried, "task": task, "tasks": tuple(tasks)}
    if any(each.weight is not None for each in told):
        rounds["weight"] = np.concatenate([_weight_of(each) for each in told])
    if moved and all(each.stored is not None for each in moved):
        rounds["stored"] = _padded([each.stored for each in moved], len(margin), False)
        rounds["evicted"] = _placed(_padded([each.evicted for each in moved], len(margin), -1), model, tasks)
    if moved and moved[0].weights is not None:
        rounds["weights"] = in_order([each.weights for each in moved], [len(each.updated) for each in moved])
    return make_trace(model.label_kind, margin, label, model.traits.log_odds, rounds)


def _weight_of(told: Predicted) -> NDArray[np.float64]:
    return np.ones(len(told.margin)) if told.weight is None else told.weight


def _padded(arrays: Sequence[Any], n: int, rest: Any) -> NDArray[Any]:
    """The arrays as one of n entries; records whose labels have not come have ``rest``."""
    held = np.concatenate([np.full(0, rest), *arrays])[:n]
    return np.concatenate([held, np.full(n - len(held), rest)])


def _placed(evicted: NDArray[np.int64], model: StreamModel, tasks: Sequence[Hashable]) -> NDArray[np.int64]:
    """Tasks by their place in the stream instead of that in the model."""
    places = {label: place for place, label in enumerate(tasks)}
    of_model = np.array([*(places.get(label, -2) for label in model.known_tasks), -1], np.int64)
    return of_model[evicted]


def _joined(arrays: Sequence[Any]) -> NDArray[Any]:
    return np.concatenate([np.asarray(array) for array in arrays]) if arrays else np.zeros(0)
