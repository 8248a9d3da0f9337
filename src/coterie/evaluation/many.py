"""Traces and measures of predictions among many classes.

error and log loss are as for two classes (:mod:`coterie.evaluation.metrics`). F1 is the plain mean over the classes
that occur, as label or prediction, of 2 TP / (2 TP + FP + FN). There is no AUC.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.index import distinct_labels

from .constant import BaseRate, ComingLabels, FeatureSet, base_rate, guesses, rate_in
from .costs import log_losses, losses
from .metrics import mean_loss, measures_of, ratio
from .noise import OfClasses, noise_of
from .running import Prior, Rates, fields_of, prior_of
from .trace import Trace

if TYPE_CHECKING:
    from collections.abc import Hashable

    from coterie.types import Floats, Ints


@dataclass(frozen=True, repr=False)
class ManyClassTrace(Trace):
    """The trace of a stream of many classes.

    As :class:`coterie.evaluation.Trace`, where ``margin`` is how far the largest margin was above the second, a
    ``mistake`` a prediction that was wrong or undecided (margin 0), and ``probability`` that of the true label, where
    there is one. ``prediction`` is None before any class was seen.
    """


@measures_of.register(ManyClassTrace)
def _(trace: ManyClassTrace, task: Ints, n_tasks: int) -> dict[str, Floats]:
    nothing = np.full(n_tasks, np.nan)
    return {"f1": _mean_f1(trace, task, n_tasks), "auc": nothing, "log_loss": mean_loss(trace, task, n_tasks)}


def _mean_f1(trace: ManyClassTrace, task: Ints, n_tasks: int) -> Floats:
    n = len(trace.label)
    guesses = np.asarray(trace.prediction, object).tolist()
    predicted = [("", None) if each is None else ("class", each) for each in guesses]
    true = [("class", each) for each in np.asarray(trace.label, object).tolist()]
    classes, numbers = distinct_labels([*predicted, *true], "label")
    guess, label = numbers[:n], numbers[n:]
    shape, none = (n_tasks, len(classes)), classes.index(("", None)) if ("", None) in classes else -1
    hits = np.zeros(shape)
    occurring = np.zeros(shape)
    np.add.at(hits, (task[guess == label], label[guess == label]), 2.0)
    np.add.at(occurring, (task, label), 1.0)
    np.add.at(occurring, (task[guess != none], guess[guess != none]), 1.0)
    each = np.divide(hits, occurring, out=np.zeros(shape), where=occurring > 0)
    return ratio(each.sum(axis=1), (occurring > 0).sum(axis=1))


@losses.register(ManyClassTrace)
def _(trace: ManyClassTrace) -> Floats | None:
    return None if trace.probability is None else log_losses(trace.probability)


@noise_of.register(ManyClassTrace)
def _(trace: ManyClassTrace, against: Trace, gain: Floats, scale: float, task: Ints, tasks: int) -> OfClasses:
    return OfClasses.of(gain, task, tasks)


@base_rate.register(ManyClassTrace)
def _(trace: ManyClassTrace) -> BaseRate:
    return rate_in(Counter(np.asarray(trace.label, object).tolist()))


@guesses.register(ManyClassTrace)
def _(trace: ManyClassTrace, seen: FeatureSet, arrivals: ComingLabels) -> tuple[dict[str, Any], FeatureSet]:
    labels = np.asarray(arrivals.labels, object).tolist()
    counts, come, rows = _Counts(seen), 0, []
    for label, arrived in zip(np.asarray(trace.label, object).tolist(), arrivals.so_far.tolist(), strict=True):
        counts.add(labels[come:arrived])
        come = arrived
        rows.append((counts.leader, counts.share(counts.leader), counts.share(label)))
    counts.add(labels[come : arrivals.come])
    prediction = np.empty(len(rows), object)
    prediction[:] = [row[0] for row in rows]
    share, probability = np.array([row[1:] for row in rows], np.float64).reshape(-1, 2).T
    return _guessed(trace, Rates(probability, prediction, share)), counts.seen()


def _guessed(trace: ManyClassTrace, rates: Rates) -> dict[str, Any]:
    label, prediction = np.empty(len(trace.label), object), rates.likeliest
    label[:] = np.asarray(trace.label, object).tolist()
    prediction[rates.of_likeliest == 0] = None
    fields = {"margin": rates.of_likeliest, "prediction": prediction, "mistake": np.array(prediction != label, bool)}
    if rates.of_likeliest.all():
        fields["prediction"] = prediction.astype(trace.classes.dtype)
    return fields | {"probability": rates.of_label}


class _Counts:
    """Counts of the labels so far, and the most frequent one: of several, the first that reached its count."""

    def __init__(self, seen: FeatureSet) -> None:
        self._of = dict(seen)
        self._number = sum(self._of.values())
        self.leader = max(self._of, key=self._of.__getitem__, default=None)

    def add(self, labels: list[Hashable]) -> None:
        """Count some labels."""
        for label in labels:
            self._of[label] = self._of.get(label, 0) + 1
            if self._of[label] > self._of.get(self.leader, 0):
                self.leader = label
        self._number += len(labels)

    def share(self, label: Hashable) -> float:
        """The probability of a label, (count + ½) / (n + labels / 2); 0 of one that has not come."""
        return (self._of[label] + 0.5) / (self._number + 0.5 * len(self._of)) if label in self._of else 0.0

    def seen(self) -> FeatureSet:
        """The counts, that of the leader first."""
        return {self.leader: self._of[self.leader]} | self._of if self._of else {}


@prior_of.register(ManyClassTrace)
def _(trace: ManyClassTrace) -> Prior:
    return Prior(0.5, 0)


@fields_of.register(ManyClassTrace)
def _(trace: ManyClassTrace, rates: Rates) -> dict[str, Any]:
    return _guessed(trace, rates)
