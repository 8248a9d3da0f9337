"""What a round costs, and how such costs are called and written: one for a wrong label, or how far off a number was.

A zero margin is a mistake of the learner, which moves by it, whatever was predicted. As a cost it would punish whoever
has seen least: a model of its own has margin zero at the first record of every task, and would lose against a pooled
model on labels drawn by lot. So costs look at predictions only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

from coterie.streams.wording import NONE, percent, points

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Head, name and format of a measure.
Measure = tuple[str, str, str]


@dataclass(frozen=True)
class Words:
    """How mean costs are called and written.

    Attributes
    ----------
    error : str
        What the mean cost is called.
    value, difference : callable
        From a mean cost or a difference of two, and a number of digits, to text.
    unit : str
        Of differences, a blank before it; empty where that of the labels is meant.
    factor, suffix
        What figures multiply costs with, and write behind them.
    measures : tuple of (str, str, str)
        Head, name and format of what else is measured.
    """

    error: str
    value: Callable[..., str]
    difference: Callable[..., str]
    unit: str
    factor: float
    suffix: str
    measures: tuple[Measure, ...]

    @property
    def gain(self) -> str:
        """What a gain is called at the head of a column."""
        return f"gain in{self.unit}" if self.unit else "gain"


def number(value: float, digits: int = 1) -> str:
    """A number with four significant digits at least, a dash for nan.

    >>> number(8.20671), number(-0.0), number(123456.7)
    ('8.207', '0', '123457')
    """
    if value != value:
        return NONE
    return f"{value:.0f}" if abs(value) >= 1e4 else f"{value + 0.0:.4g}"


RATES = Words(
    "error",
    percent,
    points,
    " points",
    100.0,
    " %",
    (("F1", "f1", ".3f"), ("AUC", "auc", ".3f"), ("log loss", "log_loss", ".3f")),
)
AMOUNTS = Words("mean absolute error", number, number, "", 1.0, "", (("RMSE", "rmse", ".4g"), ("R²", "r2", ".3f")))


@singledispatch
def costs(trace: Any) -> NDArray[Any]:
    """What each round cost, shape (n,): 1 for a wrong prediction, 0 for a right one."""
    wrong: NDArray[Any] = trace.wrong
    return wrong


@singledispatch
def words_of(trace: Any) -> Words:
    """How the costs of a trace are called and written."""
    return RATES
