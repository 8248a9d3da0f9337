"""Probabilities from scores, fitted on rows whose scores come from a model that did not learn from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: A little pull towards slope 1 and no offset, so that separable scores have finite probabilities.
PULL = 1e-3


def sigmoid(scores: Array, positive: NDArray[np.bool_]) -> Array:
    """(a, b) of the probability 1 / (1 + exp(-(a score + b))) with the least log loss (Platt 1999).

    Targets are drawn in to (m + 1)/(m + 2), as Platt does, for m rows of a label.
    """
    ups, downs = int(positive.sum()), int((~positive).sum())
    target = np.where(positive, (ups + 1) / (ups + 2), 1 / (downs + 2))

    def loss(parameters: Array) -> tuple[float, Array]:
        a, b = parameters
        z = a * scores + b
        value = np.logaddexp(0.0, z) - target * z
        gap = _expit(z) - target
        return _pulled(float(value.sum()), np.array([gap @ scores, gap.sum()]), parameters, len(scores))

    return _least(loss, np.array([1.0, 0.0]))


def softmax(scores: Array, places: NDArray[np.int64]) -> Array:
    """(a, b_1, ..., b_C) of the probabilities ∝ exp(a score_c + b_c) with the least log loss."""
    rows = np.arange(len(scores))

    def loss(parameters: Array) -> tuple[float, Array]:
        P = softmax_probabilities(scores, parameters)
        value = -float(np.log(np.maximum(P[rows, places], 1e-300)).sum())
        P[rows, places] -= 1.0
        return _pulled(value, np.concatenate([[np.sum(P * scores)], P.sum(axis=0)]), parameters, len(scores))

    return _least(loss, np.r_[1.0, np.zeros(scores.shape[1])])


def sigmoid_probabilities(scores: Array, parameters: Array) -> Array:
    """1 / (1 + exp(-(a score + b)))."""
    return _expit(parameters[0] * scores + parameters[1])


def softmax_probabilities(scores: Array, parameters: Array) -> Array:
    """exp(a score_c + b_c) over its sum."""
    z = parameters[0] * scores + parameters[1:]
    z = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(z / z.sum(axis=1, keepdims=True))


def _pulled(value: float, slope: Array, parameters: Array, n: int) -> tuple[float, Array]:
    away = parameters - np.r_[1.0, np.zeros(len(parameters) - 1)]
    return value / n + PULL * float(away @ away), slope / n + 2 * PULL * away


def _least(loss: Any, start: Array) -> Array:
    from scipy.optimize import minimize

    # a slope below zero would turn the order of the scores round
    bounds = [(0.0, None), *((None, None) for _ in start[1:])]
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)


def _expit(z: Array) -> Array:
    return np.exp(-np.logaddexp(0.0, -z))
