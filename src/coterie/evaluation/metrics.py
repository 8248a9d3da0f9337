"""Metrics of progressive validation: error, F1, AUC and log loss (classification), MAE, RMSE and R² (regression).

The positive class is the second of the trace's two classes. For one set of rounds with labels y:

* error = wrong predictions / n, a zero margin being a positive prediction; if records have weights, the total weight of
  the wrong predictions over the total weight of all;
* F1 = 2 TP / (2 TP + FP + FN), from the same predictions;
* AUC = P(margin of a positive round > margin of a negative round) + P(both equal) / 2;
* log loss = mean of -log(probability given to the label), probabilities clipped to [eps, 1 - eps] as scikit-learn does.

A measure is nan if it is undefined: all of them without rounds; AUC if only one class occurs; F1 while the model knows
only one label, which may be either class, or if no label and no prediction is positive; log loss without probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from coterie.settings import Setting
from coterie.types import Flags
from coterie.wording import NONE

from .costs import CostWords, Measure
from .trace import Trace, ratio

if TYPE_CHECKING:
    from coterie.types import Floats, Ints


#: The minimum number of rounds of the warm-up.
_FIRST = 30
_COUNT = Setting(kind="whole", at_least=1)


def measures_with_values(words: CostWords, learners: Iterable[Mapping[str, float]]) -> list[Measure]:
    """Return the metrics to show besides the error. Log loss is left out if no learner has probabilities."""
    has_losses = any(not np.isnan(metrics.get("log_loss", np.nan)) for metrics in learners)
    return [measure for measure in words.measures if measure[1] != "log_loss" or has_losses]


def format_measures(metrics: Mapping[str, float], measures: Iterable[Measure]) -> list[str]:
    """Format metrics for a table; a dash for undefined ones."""
    values = ((metrics[name], form) for _, name, form in measures)
    return [NONE if value != value else format(value, form) for value, form in values]


class ErrorCurve(NamedTuple):
    """The cumulative error at selected rounds of a stream.

    Attributes
    ----------
    rounds : ndarray of int64, shape (p,)
        The numbers of rounds at these points, increasing.
    cumulative : ndarray, shape (p,)
        Wrong predictions per round since the start, or their mean cost.
    """

    rounds: Ints
    cumulative: Floats


def settled(rounds: Ints) -> Flags:
    """Return a mask of the rounds after a warm-up of 1 % of all rounds, but at least 30 rounds."""
    # the last point is always included, even if the stream is shorter than the warm-up
    return np.asarray(rounds >= min(max(_FIRST, rounds[-1] // 100), rounds[-1]))


class CalibrationCurve(NamedTuple):
    """The fraction of positive labels in bins of the predicted probability.

    Attributes
    ----------
    predicted, observed : ndarray, shape (bins,)
        Mean probability of the positive label, and its share, over the rounds of each bin.
    rounds : ndarray of int64, shape (bins,)
        The number of rounds in each bin.
    """

    predicted: Floats
    observed: Floats
    rounds: Ints


def evaluate(trace: Trace) -> dict[str, float]:
    """Compute ``"error"``, ``"f1"``, ``"auc"`` and ``"log_loss"`` of a trace, or ``"error"``, ``"rmse"`` and ``"r2"``.

    Parameters
    ----------
    trace : Trace
        n rounds, as `progressive_validation` returns them.

    Returns
    -------
    dict of str to float
        In O(n log n) time; nan for a measure that is undefined.

    Examples
    --------
    >>> labels, margin = np.array(["no", "yes", "yes", "no"]), np.array([-1.0, 2.0, -0.5, -2.0])
    >>> wrong, prediction = np.array([False, False, True, False]), np.array(["no", "yes", "no", "no"])
    >>> task, tasks, classes = np.array([0, 0, 1, 1]), ("ann", "bob"), np.array(["no", "yes"])
    >>> metrics = evaluate(Trace(margin, prediction, wrong, wrong, ~wrong, labels, task, tasks, classes))
    >>> metrics["error"], metrics["auc"], round(metrics["f1"], 2)
    (0.25, 1.0, 0.67)
    """
    return {"error": trace.error, **trace.counted.measures()}


def error_curve(trace: Trace, points: int = 200, spacing: Literal["even", "log"] = "even") -> ErrorCurve:
    """Compute the cumulative (weighted) error at selected rounds, including the last one.

    Parameters
    ----------
    trace : Trace
        The trace of n rounds.
    points : int
        The largest number of points; there are fewer if rounds would repeat.
    spacing : {"even", "log"}
        Points at equal steps of the number of rounds, or of its logarithm.

    Returns
    -------
    ErrorCurve
        In O(n) time.

    Raises
    ------
    ValueError
        If ``points`` is below 1, or for another ``spacing``.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> trace = SimpleNamespace(costs=np.array([True, True, False, False, True, False, False, False]), weight=None)
    >>> error_curve(trace, points=4)
    ErrorCurve(rounds=array([2, 4, 6, 8]), cumulative=array([1.   , 0.5  , 0.5  , 0.375]))
    """
    if spacing not in ("even", "log"):
        raise ValueError(f"spacing={spacing!r}: expected 'even' or 'log'")
    _COUNT.check("points", points)
    n, fraction = len(trace.costs), np.arange(1, points + 1) / points
    # points of the logarithm repeat at the start of a stream; the union keeps one of each
    wanted = n**fraction if spacing == "log" else n * fraction
    rounds = np.unique(np.clip(np.rint(wanted).astype(np.int64), 1, n)) if n else np.empty(0, np.int64)
    costs = np.asarray(trace.costs, np.float64)
    weight = ~np.isnan(costs) * (1.0 if trace.weight is None else trace.weight)
    return ErrorCurve(rounds, ratio(np.nancumsum(costs * weight), np.cumsum(weight))[rounds - 1])


def calibration_curve(trace: Trace, bins: int = 10) -> CalibrationCurve:
    """Compute the fraction of positive labels in bins of the predicted probability with equal counts.

    Parameters
    ----------
    trace : Trace
        A trace of two classes from a learner with probabilities; rounds without one are left out.
    bins : int
        The maximum number of bins.

    Returns
    -------
    CalibrationCurve
        In O(n log n) time; empty without a probability.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> trace = SimpleNamespace(label=np.array([0, 0, 1, 1]), classes=np.array([0, 1]),
    ...                         probability=np.array([0.1, 0.3, 0.6, 0.8]), weight=None)
    >>> calibration_curve(trace, bins=2)
    CalibrationCurve(predicted=array([0.2, 0.7]), observed=array([0., 1.]), rounds=array([2, 2]))
    """
    _COUNT.check("bins", bins)
    probability, positive = np.zeros(0), np.zeros(0, np.bool_)
    if trace.probability is not None and len(trace.classes) >= 2:
        defined = ~np.isnan(trace.probability) & (True if trace.weight is None else trace.weight > 0.0)
        probability, positive = trace.probability[defined], (trace.label == trace.classes[1])[defined]
    # bins of equal counts: with rare labels bins of equal width would nearly all be empty
    order = np.argsort(probability, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    predicted, observed = (np.array([values[part].mean() for part in parts]) for values in (probability, positive))
    return CalibrationCurve(predicted, observed, np.array([len(part) for part in parts], np.int64))
