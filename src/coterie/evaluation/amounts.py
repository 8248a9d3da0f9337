"""Traces and measures of predicted numbers: errors, and comparisons of two learners by them.

For one set of n rounds with labels y and predictions f:

* error = mean of |y - f|, the mean absolute error, in the unit of the labels;
* RMSE = sqrt(mean of (y - f)²), in the same unit;
* R² = 1 - Σ (y - f)² / Σ (y - ȳ)², ȳ being the mean label of the set; nan where its labels are all equal.

A task's gain is the mean over its rounds of (y - f')² - (y - f)², f' being the other learner's predictions, with the
noise of :mod:`coterie.evaluation.noise`. Over all rounds, |y - f'| - |y - f| has Student's interval for paired samples,
which takes rounds as independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .constant import BaseRate, ComingLabels, FeatureSet, base_rate, guesses, settled
from .costs import AMOUNTS, SQUARES, CostWords, costs, loss_words, losses, words_of
from .metrics import measures_of, ratio
from .noise import OfNumbers, noise_of
from .running import LARGEST_RESIDUAL, Prior, Rates, fields_of, prior_of
from .trace import Trace

if TYPE_CHECKING:
    from coterie.types import Floats, Ints


@dataclass(frozen=True, repr=False)
class AmountTrace(Trace):
    """The trace of a stream whose labels are numbers.

    As :class:`coterie.evaluation.Trace`, with ``margin`` and ``prediction`` both the number predicted. A ``mistake`` is
    a prediction that was off by more than the loss tolerates, which is nothing for the squared and the absolute loss.
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
        """The label less the prediction, of each round, cut to ± 1e45 so that a verdict's sums are finite."""
        return np.asarray(np.clip(self.label - self.prediction, -LARGEST_RESIDUAL, LARGEST_RESIDUAL))


@costs.register(AmountTrace)
def _(trace: AmountTrace) -> Floats:
    return np.abs(trace.residual)


@words_of.register(AmountTrace)
def _(trace: AmountTrace) -> CostWords:
    return AMOUNTS


@measures_of.register(AmountTrace)
def _(trace: AmountTrace, task: Ints, n_tasks: int) -> dict[str, Floats]:
    y = np.asarray(trace.label, np.float64)
    counts = np.bincount(task, minlength=n_tasks)
    squares = np.bincount(task, trace.residual**2, n_tasks)
    centred = y - ratio(np.bincount(task, y, n_tasks), counts)[task]
    total = np.bincount(task, centred**2, n_tasks)
    return {"rmse": np.sqrt(ratio(squares, counts)), "r2": 1.0 - ratio(squares, total)}


@losses.register(AmountTrace)
def _(trace: AmountTrace) -> Floats:
    return np.asarray(trace.residual**2)


@noise_of.register(AmountTrace)
def _(trace: AmountTrace, against: AmountTrace, gain: Floats, scale: float, task: Ints, tasks: int) -> OfNumbers:
    unit = scale**0.5
    return OfNumbers.of(trace.residual / unit, against.residual / unit, task, tasks)


@loss_words.register(AmountTrace)
def _(trace: AmountTrace) -> CostWords:
    return SQUARES


@base_rate.register(AmountTrace)
def _(trace: AmountTrace) -> BaseRate:
    return BaseRate(float(trace.label.mean()) if trace.n else None, float("nan"))


@settled.register(AmountTrace)
def _(trace: AmountTrace, constant: Trace) -> AmountTrace:
    return trace


@guesses.register(AmountTrace)
def _(trace: AmountTrace, seen: FeatureSet, arrivals: ComingLabels) -> tuple[dict[str, Any], FeatureSet]:
    number, total = seen.get("number", 0), seen.get("sum", 0.0)
    sums = total + np.concatenate([np.zeros(1), np.cumsum(arrivals.labels, dtype=np.float64)])
    mean = sums[arrivals.so_far] / np.maximum(number + arrivals.so_far, 1)
    fields = {"margin": mean, "prediction": mean, "mistake": mean != trace.label}
    return fields, {"number": number + arrivals.come, "sum": float(sums[arrivals.come])}


@prior_of.register(AmountTrace)
def _(trace: AmountTrace) -> Prior:
    return Prior(0.0, 1)


@fields_of.register(AmountTrace)
def _(trace: AmountTrace, rates: Rates) -> dict[str, Any]:
    return {"margin": rates.of_label, "prediction": rates.of_label, "mistake": rates.of_label != trace.label}
