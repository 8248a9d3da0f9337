"""Progressive validation: every prediction is made before its label is seen, and then learned from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.index import distinct_labels
from coterie.spec import require_instance

from .block import Block
from .view_weights import ViewWeights, in_order

#: Rounds between two reports of progress when the whole stream is at hand.
CHUNK = 65536


@dataclass(frozen=True)
class Trace:
    """What happened in each round of a stream, one entry a round.

    Attributes
    ----------
    margin : ndarray of float64
        The margin before the label was seen, positive for ``classes[1]``.
    prediction : ndarray
        The label predicted, a zero margin being ``classes[1]``; None where no label had come until the end.
    mistake : ndarray of bool
        Whether y·margin <= 0, the mistake of updates and of bounds: a zero margin is one whatever was predicted.
    updated : ndarray of bool
        Whether the record moved the weights.
    queried : ndarray of bool
        Whether the label was asked for; all are, but by :class:`coterie.SelectiveSampling`.
    label : ndarray
        The true label.
    task : ndarray of int64
        The task's place in ``tasks``.
    tasks : tuple
        The tasks in order of first appearance.
    classes : ndarray
        The labels, the negative one first.
    probability : ndarray of float64 or None
        The probability of ``classes[1]`` before the label was seen, where the learner has one.
    stored : ndarray of bool or None
        Whether the record became a support vector, where the learner has some.
    evicted : ndarray of int64 or None
        The place in ``tasks`` of the task whose support vector it took; -1 for none, -2 for one of another stream.
    weights : ViewWeights or None
        Of records of several views, how much each weighed as the stream went on.
    """

    margin: NDArray[np.float64]
    prediction: NDArray[Any]
    mistake: NDArray[np.bool_]
    updated: NDArray[np.bool_]
    queried: NDArray[np.bool_]
    label: NDArray[Any]
    task: NDArray[np.int64]
    tasks: tuple[Hashable, ...]
    classes: NDArray[Any]
    probability: NDArray[np.float64] | None = None
    stored: NDArray[np.bool_] | None = None
    evicted: NDArray[np.int64] | None = None
    weights: ViewWeights | None = None

    @property
    def n(self) -> int:
        """The number of rounds."""
        return len(self.margin)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Whether the label predicted was not the true one, which is what errors count."""
        return np.asarray(self.prediction != self.label, bool)

    @property
    def mistakes(self) -> int:
        """The number of mistakes, zero margins among them; at least the number of wrong predictions."""
        return int(self.mistake.sum())

    @property
    def queries(self) -> int:
        """The number of labels asked for."""
        return int(self.queried.sum())

    @property
    def error(self) -> float:
        """Wrong predictions a round; nan for an empty stream."""
        return float(self.wrong.mean()) if self.n else float("nan")


def progressive_validation(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    task: Any = None,
    tasks: Sequence[Hashable] | None = None,
    delay: int = 0,
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
        Tasks to know from the start. With arrays, all tasks that occur are known from the start anyhow.
    delay : int
        The label of a record comes after so many further records have been predicted.
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
    require_online("model", model)
    blocks, tasks = blocks_of(model, X, y, task, tasks, CHUNK if on_round else None)
    stream = Stream(model, tasks, delay, length_of(y))
    for block in blocks:
        stream.go(block)
        if on_round is not None and len(block):
            on_round(stream.latest())
    stream.finish()
    return stream.trace()


def goes_on(model: Any) -> bool:
    """Whether a model learns record by record: batch estimators do not."""
    return hasattr(model, "passive")


def require_online(name: str, model: Any) -> None:
    """Refuse a model that learns no stream.

    Raises
    ------
    TypeError
        With the argument's name and what came.
    """
    require_instance(name, model)
    if not goes_on(model):
        raise TypeError(f"{name} must learn record by record, got {type(model).__name__}, which does not")


def blocks_of(
    model: Any, X: Any, y: Any, task: Any, tasks: Sequence[Hashable] | None, size: int | None
) -> tuple[Iterable[Block], Sequence[Hashable]]:
    """A stream as blocks of at most ``size`` records, and the tasks to know from its start."""
    if y is None:
        return blocks_alone(X), tasks or ()
    whole = model.as_block(X, y, task)
    return whole.pieces(size or max(len(whole), 1)), [*(tasks or ()), *distinct_labels(whole.tasks)[0]]


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
                "y is missing: without it X must be blocks of records, as coterie.streams.readers.read makes of a "
                f"file, got {type(X).__name__}"
            )
        yield block


class Told(NamedTuple):
    """What is kept of a block that was predicted: not its features, so that a stream may be longer than the memory."""

    label: NDArray[Any] | None
    task: NDArray[Any]
    margin: NDArray[Any]
    asked: NDArray[np.bool_]


class Moved(NamedTuple):
    """What is kept of records that were learned, as in :class:`coterie.online.rounds.Rounds`."""

    updated: NDArray[np.bool_]
    stored: NDArray[np.bool_] | None
    evicted: NDArray[np.int64] | None
    weights: ViewWeights | None = None

    def piece(self, first: int | None, last: int | None) -> Moved:
        """A stretch of the records."""
        stored = None if self.stored is None else self.stored[first:last]
        evicted = None if self.evicted is None else self.evicted[first:last]
        return Moved(self.updated[first:last], stored, evicted, None if first else self.weights)


def length_of(y: Any) -> int | None:
    """How many records there are, where all are at hand."""
    return None if y is None else len(y)


class Stream:
    """A model going along a stream, with the records whose labels have not come yet."""

    def __init__(self, model: Any, tasks: Sequence[Hashable], delay: int, length: int | None = None) -> None:
        if delay < 0:
            raise ValueError(f"delay must be at least 0 rounds, got {delay!r}")
        self.model, self.tasks, self.delay, self.length = model, tasks, delay, length
        self.told: list[Told] = []
        self.moved: list[Moved] = []
        self.waiting: Block | None = None
        self.asked = np.zeros(0, bool)

    def go(self, block: Block) -> None:
        """Predict a block, learning the labels that come meanwhile."""
        joined = block if self.waiting is None else self.waiting.joined(block)
        before = len(joined) - len(block)
        margin = self.model.blank(len(joined))
        asked = self.asked
        if before < self.delay:  # no label has come yet in this stream
            early = joined.piece(before, self.delay)
            met = self.model.meet_block(early)
            if self.model.fitted:
                margin[before : before + len(early)] = self.model.kept(met.margin, early.y)
            asked = np.concatenate([asked, met.queried])
        learned = max(len(joined) - self.delay, 0)
        if learned:
            rounds = self._learn(replace(joined, asked=asked), self.delay)
            label = None if joined.y is None else joined.y[self.delay :]
            margin[self.delay :] = self.model.kept(rounds.margin[self.delay :], label)
            self.moved.append(_moved(rounds).piece(None, learned))
            self.tasks, asked = (), rounds.queried
        self.told.append(Told(block.y, block.tasks, margin[before:], asked[before:]))
        self.asked = asked[learned:]
        self.waiting = joined.piece(learned, len(joined)) if self.delay else None

    def finish(self) -> None:
        """Learn the labels that come after the last prediction."""
        if self.waiting is not None and len(self.waiting):
            self.moved.append(_moved(self._learn(replace(self.waiting, asked=self.asked))))
            self.waiting, self.asked = None, np.zeros(0, bool)

    def _learn(self, block: Block, late: int = 0) -> Any:
        return self.model.learn_block(block, late=late, tasks=self.tasks, length=self.length)

    def latest(self) -> Trace:
        """The rounds of the last block; a record whose label has not come counts as not moved."""
        learned = len(self.told[-1].margin) - (len(self.waiting) if self.waiting is not None else 0)
        return _trace(self.model, self.told[-1:], [self.moved[-1].piece(-learned, None)] if learned > 0 else [])

    def trace(self) -> Trace:
        """All rounds so far."""
        return _trace(self.model, self.told, self.moved)


def _moved(rounds: Any) -> Moved:
    return Moved(rounds.updated, rounds.stored, rounds.evicted, rounds.weights)


def _trace(model: Any, told: Sequence[Told], moved: Sequence[Moved]) -> Trace:
    """The rounds as the user sees them; what was kept of predictions is for the model to judge."""
    margin = np.concatenate([model.blank(0), *(rounds.margin for rounds in told)])
    label = _joined([rounds.label for rounds in told])
    tasks, task = distinct_labels(_joined([rounds.task for rounds in told]))
    updated = _padded([each.updated for each in moved], len(margin), False)
    queried = np.concatenate([np.zeros(0, bool), *(rounds.asked for rounds in told)])
    rounds: dict[str, Any] = {"updated": updated, "queried": queried, "task": task, "tasks": tuple(tasks)}
    if moved and all(each.stored is not None for each in moved):
        rounds["stored"] = _padded([each.stored for each in moved], len(margin), False)
        rounds["evicted"] = _placed(_padded([each.evicted for each in moved], len(margin), -1), model, tasks)
    if moved and moved[0].weights is not None:
        rounds["weights"] = in_order([each.weights for each in moved], [len(each.updated) for each in moved])
    made: Trace = model.judged(margin, label, rounds)
    return made


def _padded(arrays: Sequence[Any], n: int, rest: Any) -> NDArray[Any]:
    """The arrays as one of n entries; records whose labels have not come have ``rest``."""
    held = np.concatenate([np.full(0, rest), *arrays])[:n]
    return np.concatenate([held, np.full(n - len(held), rest)])


def _placed(evicted: NDArray[np.int64], model: Any, tasks: Sequence[Hashable]) -> NDArray[np.int64]:
    """Tasks by their place in the stream instead of that in the model."""
    places = {label: place for place, label in enumerate(tasks)}
    of_model = np.array([*(places.get(label, -2) for label in model.tasks_), -1], np.int64)
    return of_model[evicted]


def _joined(arrays: Sequence[Any]) -> NDArray[Any]:
    return np.concatenate([np.asarray(array) for array in arrays]) if arrays else np.zeros(0)
