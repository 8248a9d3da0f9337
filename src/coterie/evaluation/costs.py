"""The cost of a prediction (1 for a wrong label, or the absolute error), and its name and format in texts.

A zero margin is a mistake of the learner, which then updates its weights. As a cost it would punish the model that has
seen least: one model per task has margin zero at the first record of every task, and would lose against a pooled model
on random labels. Therefore costs depend on predictions only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from coterie.types import Fields, Floats, Json
from coterie.wording import NONE, percent, points

from .confidence_intervals import paired_interval, student_interval

if TYPE_CHECKING:
    pass


#: Head, name and format of a measure.
Measure = tuple[str, str, str]


@dataclass(frozen=True)
class CostWords:
    """The words with which an error measure is reported: its name, unit and number format.

    Attributes
    ----------
    error : str
        The name of the mean cost in text.
    key : str
        Its name in JSON.
    value, difference : callable
        Functions that format a mean cost, and a difference of two, with a number of digits.
    unit : str
        The unit of differences after a blank; empty if it is that of the labels.
    factor, suffix
        The factor of costs in figures, and the text behind them.
    measures : tuple of (str, str, str)
        The heading, name and format of each further measure.
    interval : callable
        A function that returns the interval of the mean difference of two learners' costs, from their number, their
        sum, the sum of their squares, and the level.
    """

    error: str
    key: str
    value: Callable[..., str]
    difference: Callable[..., str]
    unit: str
    factor: float
    suffix: str
    measures: tuple[Measure, ...]
    interval: Callable[[int, float, float, float], tuple[float, float] | tuple[Floats, Floats]] = paired_interval

    @property
    def gain(self) -> str:
        """The column heading of gains."""
        return f"gain in{self.unit or ' ' + self.error}"

    def for_json(self, values: Fields) -> Json:
        """Return values as JSON data: the key ``error`` is replaced by the measure's own, nan and infinity by None."""
        return {
            name.replace("error", self.key) if name in ("error", "error_against") else name: (
                None if isinstance(value, float) and not isfinite(value) else value
            )
            for name, value in values.items()
        }


def number(value: float, digits: int = 1) -> str:
    """Format a number with at least four significant digits; a dash for nan.

    >>> number(8.20671), number(-0.0), number(123456.7), number(9e99)
    ('8.207', '0', '123457', '9e+99')
    """
    if value != value:
        return NONE
    return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value + 0.0:.4g}"


def decimals(value: float, digits: int = 1) -> str:
    """Format a log loss with two more decimals than a percentage; a dash for nan.

    >>> decimals(0.4592), decimals(-0.0001)
    ('0.459', '0.000')
    """
    return NONE if value != value else f"{value:z.{digits + 2}f}"


RATES = CostWords(
    "error",
    "error_rate",
    percent,
    points,
    " points",
    100.0,
    " %",
    (("F1", "f1", ".3f"), ("AUC", "auc", ".3f"), ("log loss", "log_loss", ".3f")),
)
LOG_LOSS = CostWords("log loss", "log_loss", decimals, decimals, "", 1.0, "", ())
SQUARES = CostWords("squared error", "squared_error", number, number, "", 1.0, "", ())
_OF_AMOUNTS = (("RMSE", "rmse", ".4g"), ("R²", "r2", ".3f"))
AMOUNTS = CostWords(
    "mean absolute error", "mean_absolute_error", number, number, "", 1.0, "", _OF_AMOUNTS, student_interval
)


def log_losses(probability: Floats) -> Floats:
    """Return -log of the probabilities of labels, clipped at the floating-point precision as in scikit-learn."""
    # one sure and wrong prediction must not make every mean infinite
    least = float(np.finfo(np.float64).eps)
    return np.asarray(-np.log(np.clip(probability, least, 1.0 - least)))
