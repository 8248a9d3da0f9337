"""Progressive validation: every prediction is made before its label is seen, and then learned from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from coterie.inputs.block import Block

from .late_labels import Stream
from .stream_model import StreamModel, stream_model_of
from .trace import Trace

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
        The records; a reader of files is an iterable of blocks, whose encoder the model has in the end. Views of one
        thing are a list or a dictionary of such.
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
    reading = reading_files([going])
    blocks, tasks = blocks_of(going, X, y, task, tasks, CHUNK if on_round else None, sample_weight)
    stream = Stream(going, tasks, delay, length_of(y, sample_weight))
    for block in blocks:
        stream.go(block)
        if on_round is not None and len(block):
            on_round(stream.latest())
    stream.finish()
    keep_encoder(X, reading)
    return stream.trace()


def reading_files(models: Iterable[StreamModel]) -> list[StreamModel]:
    """The models that can take over the encoder of a reader: those that have learned nothing, or from files."""
    return [model for model in models if not model.fitted or model.encoder is not None]


def keep_encoder(X: Any, models: Iterable[StreamModel]) -> None:
    """Let models that have gone along a reader of files have a copy of its encoder each."""
    encoder: Any = getattr(X, "encoder", None)
    for model in models if encoder is not None else ():
        model.encoder = encoder.copy()


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


def length_of(y: Any, sample_weight: Any = None) -> int | None:
    """The number of records that are learned, where all are at hand."""
    if y is None or sample_weight is None:
        return None if y is None else len(y)
    return int(np.count_nonzero(np.broadcast_to(sample_weight, len(y))))
