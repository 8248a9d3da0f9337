"""Traces and measures of predictions among many classes, or of sets of labels.

error and log loss are as for two classes (:mod:`coterie.evaluation.metrics`), the error of sets being the share of
those that were not wholly right. F1 is the plain mean over the classes that occur, as label or prediction, of 2 TP / (2
TP + FP + FN); of sets it is 2 Σ |A ∩ B| / Σ (|A| + |B|) over the rounds, A being predicted and B true. There is no AUC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coterie.index import distinct_labels

from .costs import RATES
from .metrics import Metrics, evaluate, metrics_of, ratio
from .progressive import Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ManyClassTrace(Trace):
    """The trace of a stream of many classes.

    As :class:`coterie.Trace`, where ``margin`` is how far the largest margin was above the second, a ``mistake`` a
    prediction that was wrong or undecided (margin 0), and ``probability`` that of the true label, where there is one.
    ``prediction`` is None before any class was seen.
    """


@dataclass(frozen=True)
class SetTrace(Trace):
    """The trace of a stream of sets of labels.

    As :class:`coterie.Trace`, where ``prediction`` and ``label`` are sets, ``margin`` is how far from zero the nearest
    margin was, and a ``mistake`` any set but the true one.
    """


@evaluate.register(ManyClassTrace)
def _(trace: ManyClassTrace) -> Metrics:
    return metrics_of(trace, RATES, lambda task, n_tasks: _of_classes(trace, task, n_tasks))


@evaluate.register(SetTrace)
def _(trace: SetTrace) -> Metrics:
    return metrics_of(trace, RATES, lambda task, n_tasks: _of_sets(trace, task, n_tasks))


def _of_classes(trace: ManyClassTrace, task: Ints, n_tasks: int) -> dict[str, Floats]:
    return {
        "error": _error(trace, task, n_tasks),
        "f1": _mean_f1(trace, task, n_tasks),
        "auc": np.full(n_tasks, np.nan),
        "log_loss": _log_loss(trace, task, n_tasks),
    }


def _of_sets(trace: SetTrace, task: Ints, n_tasks: int) -> dict[str, Floats]:
    pairs = list(zip(trace.prediction, trace.label, strict=True))
    both = np.array([len(predicted & true) for predicted, true in pairs], np.float64)
    either = np.array([len(predicted) + len(true) for predicted, true in pairs], np.float64)
    f1 = ratio(2 * np.bincount(task, both, n_tasks), np.bincount(task, either, n_tasks))
    nothing = np.full(n_tasks, np.nan)
    return {"error": _error(trace, task, n_tasks), "f1": f1, "auc": nothing, "log_loss": nothing}


def _error(trace: Trace, task: Ints, n_tasks: int) -> Floats:
    return ratio(np.bincount(task, trace.wrong, n_tasks), np.bincount(task, minlength=n_tasks))


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


def _log_loss(trace: ManyClassTrace, task: Ints, n_tasks: int) -> Floats:
    if trace.probability is None:
        return np.full(n_tasks, np.nan)
    known = ~np.isnan(trace.probability)
    loss = -np.log(np.clip(trace.probability[known], np.finfo(np.float64).eps, 1.0))
    return ratio(np.bincount(task[known], loss, n_tasks), np.bincount(task[known], minlength=n_tasks))
