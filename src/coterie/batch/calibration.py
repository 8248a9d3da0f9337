"""Probabilities from scores, fitted on rows whose scores come from a model that did not learn from them.

There is a slope and no offset: regression on codes puts the score of even odds at zero, and so the class of the largest
probability is the one that is predicted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: A little pull towards slope 1, so that separable scores have finite probabilities.
PULL = 1e-3
#: Slopes tried, their logarithms.
SLOPES = (-7.0, 7.0)


def sigmoid(scores: Array, positive: NDArray[np.bool_]) -> float:
    """The slope a of the probability 1 / (1 + exp(-a score)) with the least log loss (Platt 1999, without offset).

    Targets are drawn in to (m + 1)/(m + 2), as Platt does, for m rows of a label.
    """
    ups, downs = int(positive.sum()), int((~positive).sum())
    target = np.where(positive, (ups + 1) / (ups + 2), 1 / (downs + 2))
    return _least(lambda a: float(np.mean(np.logaddexp(0.0, a * scores) - target * a * scores)))


def softmax(scores: Array, places: NDArray[np.int64]) -> float:
    """The slope a of the probabilities ∝ exp(a score_c) with the least log loss."""
    true = scores[np.arange(len(scores)), places]

    def loss(a: float) -> float:
        z = a * (scores - true[:, None])
        top = z.max(axis=1)
        return float(np.mean(top + np.log(np.exp(z - top[:, None]).sum(axis=1))))

    return _least(loss)


def sigmoid_probabilities(scores: Array, slope: float) -> Array:
    """1 / (1 + exp(-slope · score))."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -slope * scores)))


def softmax_probabilities(scores: Array, slope: float) -> Array:
    """exp(slope · score_c) over its sum."""
    z = slope * scores
    z = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(z / z.sum(axis=1, keepdims=True))


def _least(loss: Callable[[float], float]) -> float:
    from scipy.optimize import minimize_scalar

    def pulled(log: float) -> float:
        return loss(float(np.exp(log))) + PULL * log**2

    found = minimize_scalar(pulled, bounds=SLOPES, method="bounded", options={"xatol": 1e-8})
    return float(np.exp(found.x))
