"""The constant: a prediction that ignores the records, which every comparison has among its references.

Before each label it predicts the label that was most frequent until then, or the mean of numbers. A learner that is no
better has learned nothing useful. Where a learner's margin is exactly zero, as it is for a task of which nothing was
learned, it prefers neither label: its user would then expect the usual one, so in a comparison such rounds are
predicted as the constant predicts them. To count them as the positive label, as ``predict`` does, would charge one
model per task with the first record of every task, and favour all models that it is compared with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .running import RunningMean
from .trace import Trace

#: Its name among learners.
CONSTANT = "constant"
#: What it has seen: the count of each label, of numbers their sum and their number.
FeatureSet = Mapping[Any, float]


class ComingLabels(NamedTuple):
    """Labels in the order in which they come, and how many have come when each of n rounds is predicted."""

    labels: NDArray[Any]
    so_far: NDArray[np.int64]
    come: int


class BaseRate(NamedTuple):
    """The label that a constant would guess, and how frequent it is.

    Attributes
    ----------
    label : label
        Of two labels the positive one, of more the most frequent one, of numbers their mean; None without any.
    share : float
        Its share of all labels; nan for numbers.
    """

    label: Any
    share: float


class ConstantGuess:
    """The constant along a stream, stretch after stretch.

    Parameters
    ----------
    delay : int
        The label of a record comes after so many further records have been predicted.

    Attributes
    ----------
    seen : mapping
        The count of each label that came, of numbers their sum and their number.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = [[1.0], [2.0], [-1.0], [-3.0]], ["up", "down", "down", "down"]
    >>> trace = ct.progressive_validation(ct.MultitaskPerceptron(), X, y)
    >>> ConstantGuess().along(trace).prediction.tolist()
    ['up', 'up', 'up', 'down']
    """

    def __init__(self, delay: int = 0) -> None:
        self._delay = delay
        self.seen: FeatureSet = {}
        self._late: NDArray[Any] | None = None

    def along(self, trace: Trace) -> Trace:
        """The constant's trace over the next rounds, those of a learner's; O(n) time.

        Two labels: with p of n labels positive so far, the probability is (p + ½) / (n + 1) and the margin its
        log-odds, so that of equally frequent labels the positive one is predicted. Many classes, sets: of equally
        frequent ones the first to be so.
        """
        labels = trace.label if self._late is None else np.concatenate([self._late, trace.label])
        waiting = len(labels) - len(trace.label)
        so_far = np.maximum(np.arange(len(trace.label)) + waiting - self._delay, 0)
        come = max(len(labels) - self._delay, 0)
        fields, self.seen = guesses(trace, self.seen, ComingLabels(labels, so_far, come))
        self._late = labels[come:]
        nothing = np.zeros(len(trace.label), bool)
        moves: dict[str, Any] = {"updated": nothing, "queried": ~nothing, "stored": None, "evicted": None}
        return replace(trace, **fields, **moves, weights=None)


def with_constant(
    traces: Mapping[str, Trace], constant: ConstantGuess, running: RunningMean | None = None
) -> dict[str, Trace]:
    """Add the traces of the constant and of the running mean to those of learners over the same rounds.

    The constant settles rounds in which a learner is undecided. Both have probabilities if one of the learners has.
    """
    first = next(iter(traces.values()))
    guesses = {} if running is None else {running.name_in(first): running.along(first)}
    guesses[CONSTANT] = constant.along(first)
    if all(trace.probability is None for trace in traces.values()):
        guesses = {name: replace(trace, probability=None) for name, trace in guesses.items()}
    return {name: settled(trace, guesses[CONSTANT]) for name, trace in traces.items()} | guesses


@singledispatch
def guesses(trace: Trace, seen: FeatureSet, arrivals: ComingLabels) -> tuple[dict[str, Any], FeatureSet]:
    """The margins, predictions, mistakes and probabilities of the constant, and the labels counted afterwards.

    For many classes and sets see :mod:`coterie.evaluation.many`, for numbers :mod:`coterie.evaluation.amounts`.
    """
    if not len(trace.classes):
        return {}, seen
    positive = np.asarray(arrivals.labels == trace.classes[-1], bool)
    before = seen.get(trace.classes[-1:].tolist()[0], 0)
    positives = before + np.concatenate([[0], np.cumsum(positive)])[arrivals.so_far]
    rest = sum(seen.values()) + arrivals.so_far - positives
    margin = np.log((positives + 0.5) / (rest + 0.5))
    sign = np.where(trace.label == trace.classes[-1], 1.0, -1.0)
    fields = {
        "margin": margin,
        "prediction": trace.classes[np.where(margin >= 0, -1, 0)],
        "mistake": sign * margin <= 0,
        "probability": (positives + 0.5) / (positives + rest + 1.0),
    }
    return fields, Counter(seen) + Counter(arrivals.labels[: arrivals.come].tolist())


@singledispatch
def settled(trace: Trace, constant: Trace) -> Trace:
    """The trace with the constant's predictions where a margin is zero, once it has seen labels.

    Predictions of numbers and sets stay as they are: numbers begin at their mean, and sets with the empty one.
    """
    undecided = (trace.margin == 0) & (constant.margin != 0)
    if not undecided.any():
        return trace
    prediction = trace.prediction.copy()
    prediction[undecided] = constant.prediction[undecided]
    if trace.probability is None or constant.probability is None:
        return replace(trace, prediction=prediction)
    probability = np.where(undecided, constant.probability, trace.probability)
    return replace(trace, prediction=prediction, probability=probability)


@singledispatch
def base_rate(trace: Trace) -> BaseRate:
    """The base rate of a trace's labels; O(n)."""
    if not len(trace.classes) or not len(trace.label):
        return BaseRate(None, float("nan"))
    return BaseRate(trace.classes[-1:].tolist()[0], float(np.mean(trace.label == trace.classes[-1])))


def rate_in(counts: FeatureSet, label: Any = None) -> BaseRate:
    """The base rate by counts of labels: of one of them, or of the most frequent one, the first to come of several."""
    if not counts:
        return BaseRate(None, float("nan"))
    chosen = max(counts, key=counts.__getitem__) if label is None else label
    return BaseRate(chosen, counts.get(chosen, 0) / sum(counts.values()))
