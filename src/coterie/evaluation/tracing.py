"""Construction of traces from stored predictions; see ``LabelEncoder.rows``."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from coterie.data.label_encoders import BinaryLabelEncoder, ClassLabelEncoder, LabelEncoder, NumberLabelEncoder
from coterie.types import Array, Floats, Json

from .trace import AmountTrace, ManyClassTrace, Trace


@singledispatch
def make_trace(labels: LabelEncoder, rows: Array, y: Array, log_odds: float | None, rounds: Json) -> Trace:
    """Return the trace of a stream, made from the stored predictions ``rows`` and the labels y of its rounds.

    ``log_odds`` is the factor from margins to log-odds, None if they are not log-odds.
    """
    raise TypeError(f"{type(labels).__name__} is not supported for traces")


@make_trace.register
def _(labels: BinaryLabelEncoder, rows: Floats, y: Array, log_odds: float | None, rounds: Json) -> Trace:
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


@make_trace.register
def _(labels: ClassLabelEncoder, rows: Floats, y: Array, log_odds: float | None, rounds: Json) -> Trace:
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
def _(labels: NumberLabelEncoder, rows: Floats, y: Array, log_odds: float | None, rounds: Json) -> Trace:
    numbers = np.asarray(y, np.float64)
    return AmountTrace(
        margin=rows,
        prediction=rows,
        mistake=np.abs(numbers - rows) > labels.tolerance * labels.factor,
        label=numbers,
        classes=np.zeros(0),
        **rounds,
    )
