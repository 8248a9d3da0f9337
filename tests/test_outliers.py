"""Streams with values that are wrong by far: what is learned of the others stays, to the same bits however it comes."""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import coterie as ct

Floats = NDArray[np.float64]
N, TASKS = 2400, 6
RNG = np.random.default_rng(3)
TASK = RNG.integers(TASKS, size=N)
Z = RNG.normal(size=(N, 4))
TRUTHS = RNG.normal(size=4) + 0.5 * RNG.normal(size=(TASKS, 4))
SCORE = np.sum(TRUTHS[TASK] * Z, axis=1) + RNG.normal(size=TASKS)[TASK]
X = Z * [1.0, 10.0, 100.0, 0.1] + [0.0, 5.0, 0.0, 0.0]
Y = SCORE + 0.3 * RNG.normal(size=N) > 0
NUMBERS = SCORE + 0.3 * RNG.normal(size=N)


def rows_from(first: int, count: int = 1) -> NDArray[np.bool_]:
    return (np.arange(N) >= first) & (np.arange(N) < first + count)


def among(share: float) -> NDArray[np.bool_]:
    return np.random.default_rng(4).random(N) < share


class Wrong(NamedTuple):
    """Which records are wrong, by what value, and what the others may lose.

    The error with wrong features may be higher by ``more``, and the absolute error with wrong features and labels so
    many times the clean one; wide intervals are excused where labels are wrong again and again.
    """

    where: NDArray[np.bool_]
    value: float
    more: float = 0.006
    features: float = 1.05
    labels: float = 1.1
    widest: float = 0.95


STREAMS = {
    **{
        f"{value:g} in record {first}": Wrong(rows_from(first), value)
        for first in (0, 5, 1500)
        for value in (1e5, -1e9)
    },
    "100000 in record 5": Wrong(rows_from(5), 1e5, labels=1.2),
    "twenty in a row": Wrong(rows_from(1500, 20), 1e6, 0.02, 1.5, 5.8),
    "one in a thousand": Wrong(among(0.001), 1e6, widest=0.96),
    "one in a hundred": Wrong(among(0.01), 1e6, 0.04, 2.4, 5.4, 0.98),
}
streams = pytest.mark.parametrize("wrong", STREAMS.values(), ids=STREAMS)


def error(rows: Floats) -> float:
    return float(ct.progressive_validation(ct.AdaptiveSharingClassifier(), rows, Y, task=TASK).error)


def absolute_error_and_coverage(rows: Floats, labels: Floats, where: NDArray[np.bool_]) -> tuple[float, float]:
    """Of the last records that are right: the mean absolute error, and how many lie in the interval told before."""
    model, predictions, ends = ct.AdaptiveSharingRegressor(), np.zeros(N), np.zeros((N, 2))
    for first in range(0, N, 100):
        part = slice(first, first + 100)
        if first:
            ends[part] = model.predict_interval(rows[part], task=TASK[part], level=0.9)
        predictions[part] = ct.progressive_validation(model, rows[part], labels[part], task=TASK[part]).prediction
    judged = ~where & (np.arange(N) >= 400)
    inside = (ends[:, 0] <= NUMBERS) & (ends[:, 1] >= NUMBERS)
    return float(np.abs(predictions - NUMBERS)[judged].mean()), float(inside[judged].mean())


@cache
def clean() -> tuple[float, float]:
    """The errors of the classifier and of the regressor where no value is wrong."""
    return error(X), absolute_error_and_coverage(X, NUMBERS, rows_from(N))[0]


@streams
def test_wrong_values_of_a_feature_do_not_spoil_the_others(wrong: Wrong) -> None:
    rows = X.copy()
    rows[wrong.where, 1] = wrong.value
    assert error(rows) <= clean()[0] + wrong.more
    actual, coverage = absolute_error_and_coverage(rows, NUMBERS, wrong.where)
    assert actual <= wrong.features * clean()[1]
    assert 0.85 <= coverage <= 0.95


@streams
def test_wrong_labels_of_regression_do_not_spoil_the_others(wrong: Wrong) -> None:
    error, coverage = absolute_error_and_coverage(X, np.where(wrong.where, wrong.value, NUMBERS), wrong.where)
    assert error <= wrong.labels * clean()[1]
    assert 0.85 <= coverage <= wrong.widest
