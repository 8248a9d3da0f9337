"""Predictions of records, computed on demand: margins, labels, probabilities, variances and intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.data.input import Records
from coterie.evaluation.stream_model import BlockPredictions, Margins
from coterie.models.contract import Batch, Predictions
from coterie.types import Array, Estimator

#: The labels' own variance in the probability of a label, measured for AROW with r from 3 to 30.
LABELS_VARIANCE = 0.25


class ModelPredictions:
    """Predictions of encoded records by a model, which compute margins, labels and intervals on demand.

    Parameters
    ----------
    model : OnlineModel
        The model; each property predicts with its current state, under its lock.
    records : Records
        The records.
    """

    def __init__(self, model: Estimator, records: Records) -> None:
        self._model, self.records = model, records

    def decode(self, margins: Margins) -> Margins:
        """Convert margins on the learner's scale to the scale of the labels."""
        labels = self._model.label_encoder
        margins = np.asarray(labels.shift + labels.factor * margins)
        shape = self.records.shape
        return margins if shape is None else margins.reshape(shape)

    def _batch(self) -> Batch:
        batch: Batch = self._model.population.make_batch(self.records.rows, self.records.task)
        return batch

    @property
    def tasks(self) -> Array:
        """The task of each record."""
        return np.asarray(self.records.task)

    @property
    def predictions(self) -> Predictions:
        """The learner's predictions, from which losses are computed when labels arrive."""
        with self._model.lock:
            predictions: Predictions = self._model.learner.predict(self._model.state, self._batch())
            return predictions

    @property
    def margins(self) -> Margins:
        """The margin of each record on the scale of the labels, shape (n,) or (n, classes)."""
        with self._model.lock:
            return self.decode(self.predictions.margins)

    @property
    def decision(self) -> Margins:
        """The result of ``decision_function``; for several classes, columns as in ``classes_``."""
        with self._model.lock:
            return np.asarray(self._model.label_encoder.decision(self.margins))

    @property
    def labels(self) -> Array:
        """The predicted label of each record."""
        with self._model.lock:
            margins = self.decode(self._model.learner.decide(self._model.state, self._batch()))
            return np.asarray(self._model.label_encoder.labels(margins))

    @property
    def variances(self) -> NDArray[np.float64]:
        """The variance of each record's margin."""
        with self._model.lock:
            return np.asarray(self._model.learner.variances(self._model.state, self._batch()))

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """The probability of each label, columns as in ``classes_``."""
        with self._model.lock:
            labels, traits = self._model.label_encoder, self._model.learner.traits
            if not traits.has_variances:
                return np.asarray(labels.probabilities(self.margins, traits.log_odds))
            z = self._standardised()
            return np.asarray(labels.columns(_normal(-z), _normal(z)))

    def _standardised(self) -> Margins:
        """Return margins divided by the standard deviation of the margin and the label noise together."""
        # probit with the weights integrated out: P(y = 1) = Φ(m / √(label variance + margin variance))
        return self.margins / np.sqrt(LABELS_VARIANCE + self.variances)

    def intervals(self, level: float) -> tuple[Margins, NDArray[np.float64]]:
        """Return predicted numbers, and prediction intervals of this level, shape (n, 2)."""
        spec.Setting(above=0, below=1, must="lie between 0 and 1").check("level", level)
        with self._model.lock:
            labels = self._model.label_encoder
            margins, ends = self._model.learner.intervals(self._model.state, self._batch(), level)
            return labels.shift + labels.factor * margins, labels.shift + labels.factor * ends

    def of_block(self, level: float = 0.9, all_labels: bool = False) -> BlockPredictions:
        """Return the prediction for each record, with intervals if the model supports them."""
        with self._model.lock:
            labels, traits, task = self._model.label_encoder, self._model.learner.traits, self.records.task
            if traits.has_intervals:
                margins, ends = self.intervals(level)
                return BlockPredictions(task, labels.labels(margins), None, None, *ends.T)
            margins = self.margins
            probability = labels.probability(margins, traits.log_odds)
            if traits.has_variances and probability is not None:
                probability = _normal(self._standardised())
            task = task if traits.has_tasks else None
            predictions = BlockPredictions(task, labels.labels(margins), labels.strength(margins), probability)
            return predictions._replace(probabilities=self.probabilities) if all_labels else predictions


def _normal(z: Margins) -> Margins:
    """Return the standard normal distribution function Φ(z)."""
    from scipy.special import ndtr

    return np.asarray(ndtr(z))
