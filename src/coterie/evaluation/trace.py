"""Traces of streams, with one entry per round: margins, predictions and labels.

What a kind of labels means for the measures of a comparison is a method here. For one set of n rounds with labels y:

* two labels: cost 1 for a wrong label; loss = the log loss; F1, AUC and log loss beside the error;
* many classes: the same but for AUC; F1 is the plain mean over the classes that occur, as label or prediction, of
  2 TP / (2 TP + FP + FN);
* numbers with predictions f: cost |y - f|, so that the error is the mean absolute error in the unit of the labels;
  loss (y - f)²; RMSE = sqrt(mean of (y - f)²); R² = 1 - Σ (y - f)² / Σ (y - ȳ)², ȳ being the mean label of the set.

A zero margin is a mistake of the learner, which updates, whatever was predicted. As a cost it would punish the
model that has seen least: one model per task has margin zero at the first record of every task, and would lose against
a pooled model on labels drawn at random. So costs depend on predictions only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from coterie.tasks.index import distinct_labels
from coterie.types import AnyLabels, Array, Flags, Floats, Ints, Json, Label
from coterie.wording import counted

from .costs import AMOUNTS, LOG_LOSS, RATES, SQUARES, CostWords, log_losses
from .noise import Noise, OfClasses, OfLabels, OfNumbers

#: The largest residual, so that sums of products of its powers are finite.
LARGEST_RESIDUAL = 1e45


class BaseRate(NamedTuple):
    """The most frequent label of a stream and its frequency, or the mean of numeric labels.

    Attributes
    ----------
    label : label
        The positive one of two labels, the most frequent one of more labels, or the mean of numbers; None without
        labels.
    share : float
        Its share of all labels; nan for numbers.
    """

    label: Label
    share: float


class LabelPrior(NamedTuple):
    """A prior of label frequencies: the count added to each label (0 for numbers), and the number of labels."""

    half: float
    labels: int


class LabelRates(NamedTuple):
    """The label rates that a baseline predicts before each round: those of the true label and of the likeliest one."""

    of_label: Floats
    likeliest: Array
    of_likeliest: Floats


#: What a message says of records that are sorted by task.
SORTED = "are sorted by task, so that models learn one task after the other: sort them by time, or shuffle them"


@dataclass(frozen=True, repr=False)
class Trace:
    """The trace of a stream with two classes: arrays of margins, predictions and labels, with one entry per round.

    Attributes
    ----------
    margin : ndarray of float64
        The margin before the label was seen, positive for ``classes[1]``.
    prediction : ndarray
        The predicted label, ``classes[1]`` for a zero margin; None if there was no label in the whole stream.
    mistake : ndarray of bool
        True if y·margin <= 0, the mistake of updates and of bounds; a zero margin is a mistake for every prediction.
    updated : ndarray of bool
        True if the record changed the weights.
    queried : ndarray of bool
        True if the label was queried; always, except with :class:`coterie.SelectiveSampling`.
    label : ndarray
        The true label.
    task : ndarray of int64
        The index of the task in ``tasks``.
    tasks : tuple
        The tasks in order of first appearance.
    classes : ndarray
        The labels, the negative one first.
    probability : ndarray of float64 or None
        The probability of ``classes[1]`` before the label was seen, if the learner has one.
    stored : ndarray of bool or None
        True if the record became a support vector, if the learner has support vectors.
    evicted : ndarray of int64 or None
        The index in ``tasks`` of the task of the removed support vector; -1 for none, -2 for one of an earlier stream.
    weight : ndarray of float64 or None
        The weights of the records, if any.
    blind : ndarray of bool or None
        True in the rounds that were predicted before any label was known; errors of numbers leave them out.
    """

    margin: Floats
    prediction: Array
    mistake: Flags
    updated: Flags
    queried: Flags
    label: Array
    task: Ints
    tasks: tuple[Hashable, ...]
    classes: Array
    probability: Floats | None = None
    stored: Flags | None = None
    evicted: Ints | None = None
    weight: Floats | None = None
    blind: Flags | None = None

    #: The name and format of mean costs, and of mean losses.
    words: ClassVar[CostWords] = RATES
    loss_words: ClassVar[CostWords] = LOG_LOSS
    prior: ClassVar[LabelPrior] = LabelPrior(0.5, 2)

    def __repr__(self) -> str:
        """Return the numbers of rounds and tasks, and the error."""
        error = f"{self.words.value(self.error)} {self.words.error}, {counted(self.mistakes, 'mistake')}"
        return f"<{type(self).__name__}: {counted(self.n, 'round')} of {counted(len(self.tasks), 'task')}, {error}>"

    @property
    def n(self) -> int:
        """The number of rounds."""
        return len(self.margin)

    def only(self, rounds: Flags) -> Self:
        """Return the trace of some of the rounds, of the same tasks."""
        arrays = (name for name, value in vars(self).items() if isinstance(value, np.ndarray) and name != "classes")
        fields: Json = {name: getattr(self, name)[rounds] for name in arrays}
        return replace(self, **fields)

    @property
    def counted(self) -> Self:
        """The rounds of records with a weight above 0."""
        return self if self.weight is None else self.only(self.weight > 0.0)

    @property
    def is_sorted_by_task(self) -> bool:
        """True if each task, of several, ends before the next one begins."""
        runs = 1 + int(np.count_nonzero(np.diff(self.task)))
        return 1 < len(self.tasks) == runs < self.n

    @property
    def wrong(self) -> Flags:
        """A mask of the rounds with a wrong prediction."""
        return np.asarray(self.prediction != self.label, bool)

    @property
    def mistakes(self) -> int:
        """The number of mistakes, including zero margins; it is at least the number of wrong predictions."""
        return int(self.mistake.sum())

    @property
    def queries(self) -> int:
        """The number of queried labels."""
        return int(self.queried.sum())

    @property
    def error(self) -> float:
        """The weighted mean cost (error rate or mean absolute error); nan without rounds."""
        return weighted_mean(self.costs, self.weight)

    @property
    def costs(self) -> Array:
        """The cost of each round, shape (n,): 1 for a wrong prediction, else 0; for regression the absolute error."""
        return self.wrong

    @property
    def losses(self) -> Floats | None:
        """The loss of each round, shape (n,), from which gains are computed: log loss, or squared error for regression.

        None for classes if the learner has no probabilities.
        """
        if self.probability is None or not len(self.classes):
            return None
        # the probability given to the label that came
        return log_losses(np.where(self.label == self.classes[-1], self.probability, 1.0 - self.probability))

    @property
    def base_rate(self) -> BaseRate:
        """The base rate of the labels; O(n)."""
        if not len(self.classes) or not len(self.label):
            return BaseRate(None, float("nan"))
        return BaseRate(self.classes[-1:].tolist()[0], float(np.mean(self.label == self.classes[-1])))

    def measures(self) -> dict[str, float]:
        """Return further metrics over all rounds, by name; O(n log n)."""
        positive = np.asarray(self.label == self.classes[-1:], np.bool_)  # there may be one class, or none
        predicted = np.asarray(self.prediction == self.classes[-1:], np.bool_)
        f1 = float("nan")  # a single label may turn out to be the negative one
        if len(self.classes) > 1:
            f1 = _share(2 * int(np.sum(positive & predicted)), int(positive.sum() + predicted.sum()))
        return {"f1": f1, "auc": auc(positive, self.margin), "log_loss": mean_loss(self.losses)}

    def gain_noise(self, against: Self, gain: Floats, scale: float) -> Noise:
        """Return the sums that estimate the noise of the gains over the trace ``against``; None without losses."""
        ours: Any = self.probability
        theirs: Any = against.probability
        positive, negative = (  # the gain with either label: both predictions were known before it
            (log_losses(its) - log_losses(mine)) / scale for mine, its in ((ours, theirs), (1.0 - ours, 1.0 - theirs))
        )
        return OfLabels.from_rounds(positive, negative, ours, gain, self.task, len(self.tasks))

    def settle(self, constant: Trace) -> Trace:
        """Return the trace with the predictions of the trace ``constant`` in rounds with a zero margin.

        Numbers do not change, because they start at their mean.
        """
        # before any label the constant is undecided, too, and both predict the positive label
        undecided = (self.margin == 0) & (constant.margin != 0)
        if not undecided.any():
            return self
        prediction = self.prediction.copy()
        prediction[undecided] = constant.prediction[undecided]
        if self.probability is None or constant.probability is None:
            return replace(self, prediction=prediction)
        probability = np.where(undecided, constant.probability, self.probability)
        return replace(self, prediction=prediction, probability=probability)

    def running_fields(self, rates: LabelRates) -> Json:
        """Return the fields of the trace of a baseline that predicts these label rates."""
        if not len(self.classes):
            return {}
        probability = np.where(self.label == self.classes[-1], rates.of_label, 1.0 - rates.of_label)
        return self._two_label_fields(np.log(probability / (1.0 - probability)), probability)

    def constant_fields(self, rates: LabelRates, n: Floats, of_label: Floats, /) -> Json:
        """Return the fields of the trace of the constant.

        Before each round, n labels are known, ``of_label`` of them equal to the true label.
        """
        if not len(self.classes):
            return {}
        # by counts, so that equal counts give equal margins, which the AUC takes as ties
        positives = np.where(self.label == self.classes[-1], of_label, n - of_label)
        return self._two_label_fields(np.log((positives + 0.5) / (n - positives + 0.5)), (positives + 0.5) / (n + 1.0))

    def _two_label_fields(self, margin: Floats, probability: Floats) -> Json:
        sign = np.where(self.label == self.classes[-1], 1.0, -1.0)
        prediction = self.classes[np.where(margin >= 0, -1, 0)]
        return {"margin": margin, "prediction": prediction, "mistake": sign * margin <= 0, "probability": probability}


@dataclass(frozen=True, repr=False)
class ManyClassTrace(Trace):
    """The trace of a stream with more than two classes.

    Differences from :class:`coterie.evaluation.Trace`: ``margin`` is the largest margin minus the second largest;
    a ``mistake`` is a wrong prediction or a margin of 0; ``probability`` is that of the true label, if the learner has
    probabilities; ``prediction`` is None before the first label.
    """

    prior: ClassVar[LabelPrior] = LabelPrior(0.5, 0)

    @property
    def losses(self) -> Floats | None:
        """The log loss of each round; None without probabilities."""
        return None if self.probability is None else log_losses(self.probability)

    @property
    def base_rate(self) -> BaseRate:
        """The most frequent label, with its frequency."""
        label, count = Counter(_objects(self.label).tolist()).most_common(1)[0] if self.n else (None, np.nan)
        return BaseRate(label, count / max(self.n, 1))

    def measures(self) -> dict[str, float]:
        """Return F1 and log loss over all rounds (there is no AUC)."""
        score = mean_class_f1(_objects(self.label), _objects(self.prediction))
        return {"f1": score, "auc": float("nan"), "log_loss": mean_loss(self.losses)}

    def gain_noise(self, against: Trace, gain: Floats, scale: float) -> Noise:
        """Return the sums that estimate the noise of gains over ``against``, from the true labels' probabilities."""
        return OfClasses.from_rounds(gain, self.task, len(self.tasks))

    def running_fields(self, rates: LabelRates, *counts: Floats) -> Json:
        """Return the fields of the trace of a baseline that predicts the likeliest label.

        None before the first label.
        """
        prediction = rates.likeliest
        # no label was seen, so nothing is likeliest
        prediction[rates.of_likeliest == 0] = None
        mistake = np.array(prediction != _objects(self.label), bool)
        if rates.of_likeliest.all():
            prediction = prediction.astype(self.classes.dtype)
        fields = {"margin": rates.of_likeliest, "prediction": prediction, "mistake": mistake}
        return fields | {"probability": rates.of_label}

    constant_fields = running_fields


@dataclass(frozen=True, repr=False)
class AmountTrace(Trace):
    """The trace of a regression stream.

    Differences from :class:`coterie.evaluation.Trace`: ``margin`` and ``prediction`` are both the predicted number; a
    ``mistake`` is an error above the tolerance of the loss, which is 0 for the squared and the absolute loss;
    ``classes`` is empty.

    Examples
    --------
    >>> import coterie as ct
    >>> trace = ct.progressive_validation(ct.MultitaskRegressor(), [[1.0], [1.0], [1.0]], [2.0, 4.0, 3.0])
    >>> trace.prediction[:2].tolist(), trace.residual[:2].tolist()
    ([0.0, 2.0], [2.0, 2.0])
    """

    words: ClassVar[CostWords] = AMOUNTS
    loss_words: ClassVar[CostWords] = SQUARES
    prior: ClassVar[LabelPrior] = LabelPrior(0.0, 1)

    @property
    def residual(self) -> Floats:
        """The label minus the prediction in each round, clipped to ± 1e45 so that sums of squares are finite."""
        return np.asarray(np.clip(self.label - self.prediction, -LARGEST_RESIDUAL, LARGEST_RESIDUAL))

    @property
    def _counted(self) -> Floats:
        """The residuals, nan before the first label: they say nothing of a learner."""
        return np.asarray(self.residual if self.blind is None else np.where(self.blind, np.nan, self.residual))

    @property
    def costs(self) -> Floats:
        """The absolute error of each round; nan in ``blind`` ones."""
        return np.abs(self._counted)

    @property
    def losses(self) -> Floats:
        """The squared error of each round; nan in ``blind`` ones."""
        return self._counted**2

    @property
    def base_rate(self) -> BaseRate:
        """The mean label."""
        return BaseRate(float(self.label.mean()) if self.n else None, float("nan"))

    def measures(self) -> dict[str, float]:
        """Return RMSE and R² over all rounds; R² is nan if all labels are equal."""
        y, squares = self.label[~np.isnan(self.losses)], float(np.nansum(self.losses))
        # two passes: sums of squares less n mean² would cancel for labels far from 0
        total = float(np.sum((y - y.mean()) ** 2)) if len(y) else 0.0
        return {"rmse": _share(squares, len(y)) ** 0.5, "r2": 1.0 - _share(squares, total)}

    def gain_noise(self, against: Self, gain: Floats, scale: float) -> Noise:
        """Return the sums that estimate the noise of gains over the trace ``against``, from both residuals."""
        # gains are differences of squares, so residuals are divided by the root
        ours, theirs = (np.nan_to_num(trace._counted) / scale**0.5 for trace in (self, against))
        return OfNumbers.from_rounds(ours, theirs, self.task, len(self.tasks))

    def settle(self, constant: Trace) -> AmountTrace:
        """Return the trace unchanged: numbers have no zero margins."""
        return self

    def running_fields(self, rates: LabelRates, *counts: Floats) -> Json:
        """Return the fields of the trace of a baseline that predicts running means."""
        return {"margin": rates.of_label, "prediction": rates.of_label, "mistake": rates.of_label != self.label}

    constant_fields = running_fields


def weighted_mean(cost: Array, weight: Floats | None) -> float:
    """Return the (weighted) mean cost of the rounds that have one; nan without rounds."""
    known = ~np.isnan(cost)
    cost, weight = cost[known], None if weight is None else weight[known]
    total = float(len(cost)) if weight is None else float(weight.sum())
    if not total:
        return float("nan")
    return float(cost.mean()) if weight is None else float(weight @ cost / total)


def _objects(labels: AnyLabels) -> Array:
    """Convert labels, which may be tuples, to an object array."""
    values = np.asarray(labels, object).tolist()
    result = np.empty(len(values), object)
    result[:] = values
    return result


def auc(positive: Flags, margin: Floats) -> float:
    """Return the area under the ROC curve, from the ranks of the positive margins.

    Equal margins share their mean rank. Sums of half-integers below 2**52 are exact.
    """
    _, place, counts = np.unique(margin, return_inverse=True, return_counts=True)
    ranks, n_positive = np.cumsum(counts) - (counts - 1) / 2, int(positive.sum())
    above = float(ranks[place[positive]].sum()) - n_positive * (n_positive + 1) / 2
    return _share(above, n_positive * (len(margin) - n_positive))


def mean_class_f1(labels: Array, predictions: Array) -> float:
    """Return the macro F1: the mean over the classes that occur."""
    n = len(labels)
    predicted = [("", None) if label is None else ("class", label) for label in predictions.tolist()]
    classes, numbers = distinct_labels([*predicted, *(("class", label) for label in labels.tolist())], "label")
    guess, label = numbers[:n], numbers[n:]
    K, none = len(classes), classes.index(("", None)) if ("", None) in classes else -1
    occurring = np.bincount(label, minlength=K) + np.bincount(guess[guess != none], minlength=K)
    scores = ratio(2.0 * np.bincount(label[guess == label], minlength=K), occurring)
    # a class that is only predicted counts with F1 = 0
    return _share(float(np.nansum(scores)), int((occurring > 0).sum()))


def mean_loss(loss: Floats | None) -> float:
    """Return the mean loss over rounds with a probability; nan if there are none."""
    return float("nan") if loss is None else _share(float(np.nansum(loss)), int((~np.isnan(loss)).sum()))


def _share(top: float, bottom: float) -> float:
    return float(top / bottom) if bottom > 0 else float("nan")


def ratio(top: Array, bottom: Array) -> Floats:
    """Return ``top / bottom``; nan unless the denominator is positive."""
    return np.asarray(np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 0))
