"""The protocol of models that go along a stream, for progressive validation, comparisons, sampling and commands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.inputs.block import Block
from coterie.inputs.labels import Labels
from coterie.models.contract import BaseLearner, Predictions
from coterie.models.task_registry import TaskRegistry
from coterie.spec import require_instance
from coterie.types import AnyLabels, AnyRecords, AnyTasks, Array, Estimator, Flags, Ints, Label, Learning, Record

from .trace import ViewWeights

if TYPE_CHECKING:
    from coterie.inputs.encoding import Encoder

Margins = NDArray[np.float64]
#: A record that was read and predicted, in the form of the model that waits for its label.
Waiting: TypeAlias = Any
#: A function that makes the asker of a run of records, given the number of tasks at the run's end.
Asking = Callable[[int], Any]


@dataclass(frozen=True)
class BatchResult:
    """The result of a batch that a model predicted and learned, on the scale of the labels.

    Attributes
    ----------
    margin : ndarray
        The margin of each record before its label, positive for ``classes_[1]``.
    updated, queried : ndarray of bool
        Flags of the records that changed the model, and of those with a query.
    stored, evicted : ndarray, optional
        Of support vectors: flags of the records that became one, and the task that lost one, -1 for none.
    weights : ViewWeights, optional
        Of several views: the lengths of their weights.
    predictions : Predictions, optional
        The learner's own predictions, for records that are learned later.
    own : ndarray, optional
        The margins right before each label was learned, if all were.
    """

    margin: Margins
    updated: Flags
    queried: Flags
    stored: Flags | None = None
    evicted: Ints | None = None
    weights: ViewWeights | None = None
    predictions: Predictions | None = None
    own: Margins | None = None

    def moves(self, first: int | None = None, last: int | None = None) -> BatchResult:
        """Return some rounds without their margins, so that a stream may be longer than the memory."""
        stored = None if self.stored is None else self.stored[first:last]
        evicted = None if self.evicted is None else self.evicted[first:last]
        weights = None if first else self.weights
        return BatchResult(np.zeros(0), self.updated[first:last], self.queried[first:last], stored, evicted, weights)


def stacked(margins: Sequence[Margins]) -> Margins:
    """Stack margins; classes that appear later have margins of -inf before."""
    if margins[0].ndim == 1:
        return np.concatenate(margins)
    width = max(part.shape[1] for part in margins)
    return np.concatenate(
        [np.pad(part, ((0, 0), (0, width - part.shape[1])), constant_values=-np.inf) for part in margins]
    )


def concatenate_results(parts: Sequence[BatchResult]) -> BatchResult:
    """Join rounds of consecutive records; parts that learned nothing stored and evicted nothing."""

    def joined(name: str, rest: Label) -> Array | None:
        arrays = [getattr(part, name) for part in parts]
        if all(array is None for array in arrays):
            return None
        pairs = zip(arrays, parts, strict=True)
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
    """Predictions for the n records of a block.

    ``task`` is None where records have no tasks, ``margin`` (positive for the second class) where numbers are
    predicted, ``probability`` (of the second class, or of the class predicted among many) where the model has none,
    ``low`` and ``high``, the ends of an interval of numbers, where it has no intervals; ``probabilities``, of all
    labels, columns as ``classes_``, where they were not asked for.
    """

    task: Array | None
    prediction: Array
    margin: Array | None
    probability: Margins | None
    low: Margins | None = None
    high: Margins | None = None
    probabilities: Margins | None = None


class BlockViews(Protocol):
    """The predictions of a block, each view of them computed when it is asked for."""

    @property
    def margins(self) -> Margins:
        """The margin of each record."""

    def of_block(self, level: float = 0.9, all_labels: bool = False) -> BlockPredictions:
        """Return the prediction for each record, with intervals of that level.

        With ``all_labels``, which needs a model that has ``predict_proba``, also the probability of each label.
        """


class StreamModel(Protocol):
    """A model that predicts and learns blocks of records; :func:`stream_model_of` finds that of an estimator.

    All methods hold the model's lock. Blocks have been validated: they come from a reader of files or from
    :meth:`as_block`. A block is learned whole or not at all.
    """

    @property
    def fitted(self) -> bool:
        """True once a record was learned."""

    @property
    def learner(self) -> BaseLearner:
        """The learner; its traits are facts such as having tasks, or margins that are log-odds."""

    @property
    def population(self) -> TaskRegistry:
        """The tasks learned so far, and the checks of others."""

    @property
    def label_encoder(self) -> Labels:
        """The labels known, or those there may be before any came."""

    @property
    def encoder(self) -> Encoder | None:
        """The encoder of records of files; None if no file was read."""

    @encoder.setter
    def encoder(self, encoder: Encoder | None) -> None: ...

    def as_block(self, X: AnyRecords, y: AnyLabels, task: AnyTasks = None, weights: ArrayLike | None = None) -> Block:
        """Validate records given in any form, for :meth:`learn`."""

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
        """Predict and then learn each record of a block, the last ``late`` of them predicted only.

        ``tasks`` are to be known from now on, ``length`` rounds will come in all where that is known, ``asking`` makes
        the asker that decides which labels are asked for, and ``predictions`` are predictions of the first records,
        made before.
        """

    def learned_records(self, X: AnyRecords, y: AnyLabels, weights: ArrayLike | None) -> Learning:
        """Flag the records that are learned, with a positive weight of their own and of their label."""

    def predict_and_learn_one(self, x: Record, y: AnyLabels, task: Hashable) -> Margins:
        """Predict and then learn one record, a dictionary, as a block of one; the margin predicted, as an array."""

    def predict_waiting(self, xs: Sequence[Record], tasks: Sequence[Hashable] | None) -> Sequence[Waiting]:
        """Predict dictionaries before their labels come, and return them in the form of :meth:`learn_waiting`."""

    def read_waiting(
        self, xs: Sequence[Record], tasks: Sequence[Hashable] | None, learning: bool = True
    ) -> Sequence[Waiting]:
        """Read records as :meth:`predict_waiting` does, without predicting them; scales learn if ``learning``."""

    def learn_waiting(
        self, waiting: Sequence[Waiting], y: Sequence[Label], tasks: Sequence[Hashable] | None
    ) -> Margins:
        """Learn records that :meth:`predict_waiting` predicted, by these predictions; the margins before each label."""

    def require_labels(self, y: Sequence[Label]) -> None:
        """Refuse labels that cannot be learned: ValueError."""

    def check_waiting(self, waiting: Sequence[Waiting]) -> None:
        """Raise ValueError for objects that :meth:`predict_waiting` cannot have returned."""

    def predict_pending(self, block: Block) -> BatchResult:
        """Predict a block before its labels come; margins are 0 before anything is learned."""

    def predict(self, block: Block) -> BlockViews:
        """Predict the records of a block without learning."""

    def skip_unlabelled(self, rounds: int = 1) -> None:
        """End rounds without labels: means and clocks go on, nothing is learned."""


def stream_model_of(model: Estimator, name: str = "model") -> StreamModel:
    """Return the stream model of an estimator.

    Raises
    ------
    TypeError
        For a model that does not learn record by record, with the argument's name and what came.
    """
    require_instance(name, model)
    if not goes_on(model):
        raise TypeError(f"{name} must learn record by record, got {type(model).__name__}, which does not")
    inner: StreamModel = model.__stream_model__()
    return inner


def goes_on(model: Estimator) -> bool:
    """Return True for a model that learns record by record, which batch estimators do not."""
    return hasattr(model, "__stream_model__")
