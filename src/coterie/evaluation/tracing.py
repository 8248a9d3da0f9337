"""Traces from predictions: rows stored until the labels come, by the kind of labels.

Of two labels it is the margin with the sign of the inside, for labels may yet turn round; of many classes the number of
the one predicted, its lead over the second, and the probability of the true label; of sets the set predicted, and how
near to zero a margin came; of numbers the prediction.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.inputs.labels import Labels, ManyLabels, Targets, TwoLabels, exact_labels
from coterie.types import Floats

from .trace import AmountTrace, ManyClassTrace, Trace


@singledispatch
def empty_trace(labels: Labels, n: int) -> NDArray[Any]:
    """Return the rows of n predictions before anything is learned."""
    return np.zeros(n)


@singledispatch
def trace_rows(labels: Labels, margins: Floats, y: Any, log_odds: float | None) -> NDArray[Any]:
    """Convert predictions to rows that are stored until their labels come; ``y`` are the labels, if known.

    ``log_odds`` is the factor that makes log-odds of margins, None where they are no such thing.
    """
    return np.asarray(margins)


@singledispatch
def make_trace(
    labels: Labels, rows: NDArray[Any], y: NDArray[Any], log_odds: float | None, rounds: dict[str, Any]
) -> Trace:
    """Make the trace of rounds from the rows of their predictions; ``rounds`` has its other attributes."""
    raise TypeError(f"no trace is made of {type(labels).__name__}")


@trace_rows.register
def _(labels: TwoLabels, margins: Floats, y: Any, log_odds: float | None) -> Floats:
    return np.asarray(margins * labels.orientation)


@make_trace.register
def _(labels: TwoLabels, rows: Floats, y: NDArray[Any], log_odds: float | None, rounds: dict[str, Any]) -> Trace:
    margin, classes = labels.orientation * rows, labels.classes if labels.inside else np.zeros(0)
    two = len(classes) > 0
    sign = np.where(y == classes[-1], 1.0, -1.0) if two else np.zeros(len(margin))
    return Trace(
        margin=margin,
        prediction=classes[np.where(margin >= 0, -1, 0)] if two else np.full(len(margin), None),
        mistake=sign * margin <= 0,
        label=y,
        classes=classes,
        probability=labels.probability(margin, log_odds) if two else None,
        **rounds,
    )


@empty_trace.register
def _(labels: ManyLabels, n: int) -> Floats:
    return np.full((n, 3), (-1.0, 0.0, np.nan))


@trace_rows.register
def _(labels: ManyLabels, margins: Floats, y: Any, log_odds: float | None) -> Floats:
    rows = empty_trace(labels, len(margins))
    if margins.shape[1]:
        rows[:, 0] = np.where(np.isfinite(margins).any(axis=1), np.argmax(margins, axis=1), -1)
        rows[:, 1] = labels.strength(margins)
    logs = labels.log_probabilities(margins, log_odds)
    if logs is not None and y is not None and len(y):
        numbers = np.array([labels.inside.get(label, -1) for label in np.asarray(exact_labels(y)).tolist()])
        known = np.where(numbers < margins.shape[1], numbers, -1)
        probability = np.exp(logs[np.arange(len(logs)), known])
        rows[:, 2] = np.where((known < 0) | np.isnan(probability), 0.0, probability)
    return rows


@make_trace.register
def _(labels: ManyLabels, rows: Floats, y: NDArray[Any], log_odds: float | None, rounds: dict[str, Any]) -> Trace:
    numbers, lead, probability = rows.T if len(rows) else np.zeros((3, 0))
    known = [*labels.seen, None]
    prediction = np.empty(len(y), object)
    prediction[:] = [known[c] for c in numbers.astype(np.int64)]
    whole = bool(labels.inside) and not (numbers < 0).any()
    return ManyClassTrace(
        margin=lead,
        prediction=prediction.astype(labels.classes.dtype) if whole else prediction,
        mistake=np.asarray(prediction != np.asarray(y, object), bool) | (lead <= 0.0),
        label=y,
        classes=labels.classes,
        probability=None if log_odds is None else probability,
        **rounds,
    )


@make_trace.register
def _(labels: Targets, rows: Floats, y: NDArray[Any], log_odds: float | None, rounds: dict[str, Any]) -> Trace:
    numbers = np.asarray(y, np.float64)
    return AmountTrace(
        margin=rows,
        prediction=rows,
        mistake=np.abs(numbers - rows) > labels.tolerance * labels.factor,
        label=numbers,
        classes=np.zeros(0),
        **rounds,
    )
