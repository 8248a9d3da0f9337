"""The measures straight from their definitions, one round at a time."""

import math
from collections.abc import Sequence

NAN = float("nan")
EPS = 2.0**-52


def error(mistakes: Sequence[bool]) -> float:
    """Mistakes per round."""
    return sum(mistakes) / len(mistakes) if mistakes else NAN


def f1(positive: Sequence[bool], predicted: Sequence[bool]) -> float:
    """2 TP / (2 TP + FP + FN)."""
    tp = fp = fn = 0
    for truth, predicted_label in zip(positive, predicted, strict=True):
        tp += truth and predicted_label
        fp += predicted_label and not truth
        fn += truth and not predicted_label
    return 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else NAN


def auc(positive: Sequence[bool], margin: Sequence[float]) -> float:
    """Pairs of a positive and a negative round in the right order, ties counted half."""
    won = 0.0
    pairs = 0
    for truth, high in zip(positive, margin, strict=True):
        for other, low in zip(positive, margin, strict=True):
            if truth and not other:
                pairs += 1
                won += 1.0 if high > low else 0.5 if high == low else 0.0
    return won / pairs if pairs else NAN


def log_loss(positive: Sequence[bool], probability: Sequence[float]) -> float:
    """Mean of -log of the probability given to what came."""
    total, n = 0.0, 0
    for truth, p in zip(positive, probability, strict=True):
        if not math.isnan(p):
            clipped = min(max(p, EPS), 1 - EPS)
            total -= math.log(clipped if truth else 1 - clipped)
            n += 1
    return total / n if n else NAN
