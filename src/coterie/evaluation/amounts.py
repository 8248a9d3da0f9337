"""Traces and measures of predicted numbers: errors, and comparisons of two learners by them.

For one set of n rounds with labels y and predictions f:

* error = mean of |y - f|, the mean absolute error, in the unit of the labels;
* RMSE = sqrt(mean of (y - f)²), in the same unit;
* R² = 1 - Σ (y - f)² / Σ (y - ȳ)², ȳ being the mean label of the set; nan where its labels are all equal.

A task's gain is the mean over its rounds of |y - f'| - |y - f|, f' being the other learner's predictions. Its interval
and p-value are Student's for paired samples, which take rounds as independent; a task of fewer than six rounds is never
called helped or hurt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .costs import AMOUNTS, Words, costs, words_of
from .metrics import Metrics, evaluate, metrics_of, ratio
from .paired import student
from .progressive import Trace
from .verdict import Compared, Gains, compared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

#: The fewest rounds of a task whose interval is trusted.
FEWEST = 6


@dataclass(frozen=True)
class AmountTrace(Trace):
    """The trace of a stream whose labels are numbers.

    As :class:`coterie.Trace`, with ``margin`` and ``prediction`` both the number predicted. A ``mistake`` is a
    prediction that was off by more than the loss tolerates, which is nothing for the squared and the absolute loss.
    ``classes`` is empty.

    Examples
    --------
    >>> import coterie as ct
    >>> trace = ct.progressive_validation(ct.MultitaskRegressor(), [[1.0], [1.0], [1.0]], [2.0, 4.0, 3.0])
    >>> trace.prediction[:2].tolist(), trace.residual[:2].tolist()
    ([0.0, 2.0], [2.0, 2.0])
    """

    @property
    def residual(self) -> Floats:
        """The label less the prediction, of each round."""
        return np.asarray(self.label - self.prediction)

    @property
    def error(self) -> float:
        """The mean absolute error; nan for an empty stream."""
        return float(np.abs(self.residual).mean()) if self.n else float("nan")


@costs.register(AmountTrace)
def _(trace: AmountTrace) -> Floats:
    return np.abs(trace.residual)


@words_of.register(AmountTrace)
def _(trace: AmountTrace) -> Words:
    return AMOUNTS


@evaluate.register(AmountTrace)
def _(trace: AmountTrace) -> Metrics:
    return metrics_of(trace, AMOUNTS, lambda task, n_tasks: _measures(trace, task, n_tasks))


def _measures(trace: AmountTrace, task: Ints, n_tasks: int) -> dict[str, Floats]:
    residual, y = trace.residual, np.asarray(trace.label, np.float64)
    counts = np.bincount(task, minlength=n_tasks)
    squares = np.bincount(task, residual**2, n_tasks)
    centred = y - ratio(np.bincount(task, y, n_tasks), counts)[task]
    total = np.bincount(task, centred**2, n_tasks)
    return {
        "error": ratio(np.bincount(task, np.abs(residual), n_tasks), counts),
        "rmse": np.sqrt(ratio(squares, counts)),
        "r2": 1.0 - ratio(squares, total),
    }


@compared.register(AmountTrace)
def _(trace: AmountTrace, against: Trace, confidence: float) -> Compared:
    ours, theirs, n_tasks = costs(trace), costs(against), len(trace.tasks)
    parts = _gains(ours, theirs, trace.task, n_tasks, confidence)
    return Compared(
        parts, _gains(ours, theirs, np.zeros_like(trace.task), 1, confidence), np.asarray(parts.n >= FEWEST)
    )


def _gains(ours: Floats, theirs: Floats, task: Ints, n_tasks: int, confidence: float) -> Gains:
    n = np.bincount(task, minlength=n_tasks)
    error, error_against = (ratio(np.bincount(task, each, n_tasks), n) for each in (ours, theirs))
    gain = ratio(np.bincount(task, theirs - ours, n_tasks), n)
    apart = (theirs - ours - gain[task]) ** 2
    deviation = np.sqrt(ratio(np.bincount(task, apart, n_tasks), n - 1) / np.maximum(n, 1))
    low, high, p_value = student(gain, deviation, n, confidence)
    return Gains(n, error, error_against, gain, low, high, p_value)
