"""The interface of online models that is used by progressive validation, comparisons and commands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.data.block import Block
from coterie.data.label_encoders import LabelEncoder
from coterie.models.contract import BaseLearner, Predictions
from coterie.models.task_registry import TaskRegistry
from coterie.spec import require_instance
from coterie.types import AnyLabels, AnyRecords, AnyTasks, Array, Estimator, Flags, Ints, Label, Learning, Record

if TYPE_CHECKING:
    from coterie.data.record_encoders import RecordEncoder

Margins = NDArray[np.float64]
#: A record that was read and predicted, in the form of the model that waits for its label.
Waiting: TypeAlias = Any
#: A function that makes the asker of a run of records, given the number of tasks at the run's end.
Asking = Callable[[int], Any]


@dataclass(frozen=True)
class BatchResult:
    """The result of predicting and learning a batch, with margins on the scale of the labels.

    Attributes
    ----------
    margin : ndarray
        The margin of each record before its label, positive for ``classes_[1]``.
    updated, queried : ndarray of bool
        True for records that changed the model, and for queried records.
    stored, evicted : ndarray, optional
        True for records that became support vectors; the task of the removed support vector, -1 for none.
    predictions : Predictions, optional
        The learner's predictions, for records that are learned later.
    own : ndarray, optional
        The margins right before each label was learned, if all were.
    """

    margin: Margins
    updated: Flags
    queried: Flags
    stored: Flags | None = None
    evicted: Ints | None = None
    predictions: Predictions | None = None
    own: Margins | None = None

    def moves(self, first: int | None = None, last: int | None = None) -> BatchResult:
        """Return the result of the rounds ``first`` to ``last - 1`` without margins."""
        stored = None if self.stored is None else self.stored[first:last]
        evicted = None if self.evicted is None else self.evicted[first:last]
        return BatchResult(np.zeros(0), self.updated[first:last], self.queried[first:last], stored, evicted)


def stacked(margins: Sequence[Margins]) -> Margins:
    """Stack the margins of successive parts. A class that a part did not know yet has the margin -inf."""
    if margins[0].ndim == 1:
        return np.concatenate(margins)
    width = max(part.shape[1] for part in margins)
    return np.concatenate(
        [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=-np.inf) for part in margins]
    )


def concatenate_results(parts: Sequence[BatchResult]) -> BatchResult:
    """Concatenate the results of successive batches."""

    def joined(name: str, rest: Label) -> Array | None:
        arrays = [getattr(part, name) for part in parts]
        if all(array is None for array in arrays):
            return None
        pairs = zip(arrays, parts, strict=True)
        # parts of records that are only predicted have no such columns
        return np.concatenate([np.full(len(part.updated), rest) if array is None else array for array, part in pairs])

    predictions = [part.predictions for part in parts if part.predictions is not None]
    own = [part.own for part in parts if part.own is not None]
    return BatchResult(
        stacked([part.margin for part in parts]),
        np.concatenate([part.updated for part in parts]),
        np.concatenate([part.queried for part in parts]),
        joined("stored", False),
        joined("evicted", -1),
        predictions=Predictions.concatenate(predictions) if len(predictions) == len(parts) else None,
        own=stacked(own) if len(own) == len(parts) else None,
    )


class BlockPredictions(NamedTuple):
    """Predictions for the n records of a block; fields that do not apply are None.

    These are None: ``task`` if records have no tasks, ``margin`` (positive for the second class) for regression,
    ``probability`` (of the second class, or of the predicted one of many) if the model has none, ``low`` and ``high``,
    the ends of an interval, without intervals, and ``probabilities``, of all labels with columns as in ``classes_``,
    unless requested.
    """

    task: Array | None
    prediction: Array
    margin: Array | None
    probability: Margins | None
    low: Margins | None = None
    high: Margins | None = None
    probabilities: Margins | None = None


class StreamModel(Protocol):
    """Interface of a model that predicts and learns blocks of records.

    :func:`stream_model_of` returns that of an estimator.

    All methods hold the model's lock. Blocks are validated: they come from a reader of files or from :meth:`as_block`.
    A block is learned completely or not at all.
    """

    @property
    def fitted(self) -> bool:
        """True after the first learned record."""

    @property
    def learner(self) -> BaseLearner:
        """The learner; its ``traits`` describe its capabilities."""

    @property
    def population(self) -> TaskRegistry:
        """The registry of known tasks, which also validates new ones."""

    @property
    def label_encoder(self) -> LabelEncoder:
        """The label encoder; empty before the first label."""

    @property
    def encoder(self) -> RecordEncoder | None:
        """The encoder of records of files; None if no file was read."""

    @encoder.setter
    def encoder(self, encoder: RecordEncoder | None) -> None: ...

    def as_block(self, X: AnyRecords, y: AnyLabels, task: AnyTasks = None, weights: ArrayLike | None = None) -> Block:
        """Validate records of any form, and return them as a block for :meth:`learn`."""

    def learn(
        self,
        block: Block,
        *,
        late: int = 0,
        tasks: Sequence[Hashable] = (),
        length: int | None = None,
        asking: Asking | None = None,
        predictions: Predictions | None = None,
    ) -> BatchResult:
        """Predict and then learn each record of a block; the last ``late`` records are only predicted.

        ``tasks`` are registered first, ``length`` is the total number of rounds, if known, ``asking`` makes the query
        strategy, and ``predictions`` are earlier predictions of the first records.
        """

    def learned_records(self, X: AnyRecords, y: AnyLabels, weights: ArrayLike | None) -> Learning:
        """Return the mask of records to learn: those with a positive sample weight and class weight."""

    def predict_and_learn_one(self, x: Record, y: AnyLabels, task: Hashable) -> Margins:
        """Predict and then learn one dictionary; return the predicted margin as an array."""

    def predict_waiting(self, xs: Sequence[Record], tasks: Sequence[Hashable] | None) -> Sequence[Waiting]:
        """Predict dictionaries xs with delayed labels; :meth:`learn_waiting` takes the result when labels arrive."""

    def read_waiting(
        self, xs: Sequence[Record], tasks: Sequence[Hashable] | None, learning: bool = True
    ) -> Sequence[Waiting]:
        """Encode dictionaries xs with delayed labels without predicting them; scales are updated if ``learning``."""

    def learn_waiting(
        self, waiting: Sequence[Waiting], y: Sequence[Label], tasks: Sequence[Hashable] | None
    ) -> Margins:
        """Learn the labels y of records that :meth:`predict_waiting` returned; return the margins before each label."""

    def require_labels(self, y: Sequence[Label]) -> None:
        """Raise ValueError for labels that the model cannot learn."""

    def check_waiting(self, waiting: Sequence[Waiting], tasks: Sequence[Hashable]) -> None:
        """Raise ValueError for waiting records that contradict this model."""

    def predict_pending(self, block: Block) -> BatchResult:
        """Predict a block with delayed labels; margins are 0 before the first update."""


def stream_model_of(model: Estimator, name: str = "model") -> StreamModel:
    """Return the stream model of an estimator.

    Raises
    ------
    TypeError
        For a model that does not learn record by record; the message has the argument's name and type.
    """
    require_instance(name, model)
    if not goes_on(model):
        raise TypeError(f"{name} must be an online estimator, got {type(model).__name__}")
    inner: StreamModel = model.__stream_model__()
    return inner


def goes_on(model: Estimator) -> bool:
    """Return True if a model can continue to learn after ``fit``, as online estimators can."""
    return hasattr(model, "__stream_model__")
