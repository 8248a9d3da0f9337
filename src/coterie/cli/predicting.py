"""Predictions for the records of files, block by block."""

from __future__ import annotations

from contextlib import closing
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie.inputs.errors import FieldError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Mapping

    from numpy.typing import NDArray

    from coterie.inputs.block import Block
    from coterie.io.readers import Reader


class PredictedRecords(NamedTuple):
    """Predictions of a model for n consecutive records.

    Attributes
    ----------
    place : ndarray, shape (n,)
        Line or row of each record, a whole number; of several files ``"FILE:LINE"``.
    task : ndarray, shape (n,), or None
        Its task; None where records have several views, and no tasks.
    prediction : ndarray, shape (n,)
        The label predicted.
    margin : ndarray of float64, shape (n,)
        Positive for the second of the model's classes; None where a number was predicted.
    probability : ndarray of float64, shape (n,), or None
        Of the second class, where the model has one.
    low, high : ndarray of float64, shape (n,), or None
        The ends of an interval in which a number lies, where the model has intervals.
    probabilities : mapping of label to ndarray of float64, shape (n,), or None
        Of each label, where they were asked for.
    kept : mapping of name to ndarray, shape (n,)
        The columns that the reader kept.
    """

    place: NDArray[Any]
    task: NDArray[Any] | None
    prediction: NDArray[Any]
    margin: NDArray[np.float64] | None
    probability: NDArray[np.float64] | None = None
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    probabilities: Mapping[Hashable, NDArray[np.float64]] | None = None
    kept: Mapping[str, NDArray[Any]] = {}


#: The probability with which numbers lie in their intervals, where nothing else is said.
LEVEL = 0.9


def predict_records(
    model: Any,
    reader: Reader,
    level: float | None = None,
    threshold: float | None = None,
    all_labels: bool = False,
) -> Generator[PredictedRecords]:
    """Predict the records of files with a model that learned from files; nothing is learned.

    Parameters
    ----------
    model : online classifier
        With its encoder.
    reader : Reader
        Made with the model's encoder and ``update=False``.
    level : float, optional
        The probability with which numbers are to lie in their intervals, 0.9 without; for models that have such.
    threshold : float, optional
        The probability from which on the larger of two labels is predicted, a half without.
    all_labels : bool, default False
        Tell the probability of each label.

    Yields
    ------
    PredictedRecords
        One for each block of the reader, in bounded memory; one without records if the reader has none.

    Raises
    ------
    InputError
        With file and line, for a record that cannot be read, or a task that the model refuses.
    FieldError
        For a level that is not between 0 and 1, or given to a model without intervals; for a threshold beyond 0 and 1,
        or given to a model without probabilities of two labels; for ``all_labels`` of a model without probabilities.
    """
    if level is not None and not 0.0 < level < 1.0:
        raise FieldError("{} must lie between 0 and 1, got {level!r}", "level", level=level)
    if threshold is not None and not 0.0 <= threshold <= 1.0:
        raise FieldError("{} must be from 0 to 1, got {threshold!r}", "threshold", threshold=threshold)
    if all_labels and not hasattr(model, "predict_proba"):
        raise FieldError("{} cannot be given: {kind} has no probabilities", "probabilities", kind=type(model).__name__)
    blocks = iter(reader)
    with closing(blocks):
        first = next(blocks, None)
        for block in chain([reader.empty_block() if first is None else first], blocks):
            made = _predicted(model, block, reader, level, all_labels)
            if level is not None and made.low is None:
                raise FieldError("{} cannot be given: {kind} has no intervals", "level", kind=type(model).__name__)
            if len(reader.paths) > 1:
                made = made._replace(place=np.array([f"{reader.path}:{place}" for place in made.place], object))
            yield made if threshold is None else _decided(model, made, threshold)


def _decided(model: Any, made: PredictedRecords, threshold: float) -> PredictedRecords:
    """The same predictions, but with the second of two labels predicted from this probability on."""
    if made.probability is None or model._many_classes or len(model.classes_) != 2:
        message = "{} cannot be given: {kind} has no probability of one of two labels"
        raise FieldError(message, "threshold", kind=type(model).__name__)
    return made._replace(prediction=model.classes_[(made.probability >= threshold).astype(int)])


def _predicted(model: Any, block: Block, source: Reader, level: float | None, all_labels: bool) -> PredictedRecords:
    try:
        made = model.__predict_block__(block, LEVEL if level is None else level, all_labels)
    except ValueError as error:
        raise placed(model.__predict_block__, block, source, error) from None
    found = made.probabilities
    by_label = None if found is None else dict(zip(model.classes_.tolist(), found.T, strict=True))
    predictions = PredictedRecords(
        block.place, made.task, made.prediction, made.margin, made.probability, made.low, made.high
    )
    return predictions._replace(probabilities=by_label, kept=block.kept)


def placed(decide: Callable[[Block], Any], block: Block, source: Reader, error: ValueError) -> ValueError:
    """The same error with the place of the first record that raises it."""
    for i in range(len(block)):
        try:
            decide(block.piece(i, i + 1))
        except ValueError as first:
            column = next((name for name, role in source.columns.items() if role == "task"), None)
            return InputError(str(first), source.path, int(block.place[i]), column)
    return error
