"""Numbers as labels: what learners see of them is how far they lie from the mean so far, in standard deviations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.fields import LARGEST_VALUE
from coterie.numeric.targets import standardise
from coterie.views import unusable

from .labels import Inside

Floats = NDArray[np.float64]

#: Nothing known yet: count, mean, sum of squared deviations.
NOTHING = (0.0, 0.0, 0.0)


class Targets:
    """The numbers of a stream, by their moments so far.

    With the mean m and the standard deviation s of the labels that have been learned, a margin f of the inside is the
    prediction m + s f, and a label y is (y - m) / s inside, m and s being taken with y itself then. All tasks have the
    same m and s: they make labels of any unit alike to the rules; how tasks differ is for the weights to say.

    Parameters
    ----------
    inside : tuple, optional
        Count, mean and sum of squared deviations so far.
    standardised : bool
        Whether labels are brought to that scale; else they are learned as they are, m being 0 and s 1.

    Examples
    --------
    >>> targets = Targets()
    >>> targets.learn(targets.values([10.0, 20.0, 30.0]), last=3).y.round(3)
    array([0.   , 1.   , 1.225])
    >>> targets.shift, round(targets.factor, 3)
    (20.0, 8.165)
    """

    numeric: ClassVar[bool] = True
    orientation: ClassVar[float] = 1.0
    plain: ClassVar[bool] = True
    most: ClassVar[int | None] = None

    def __init__(self, inside: Sequence[float] | None = None, standardised: bool = True) -> None:
        self.inside: tuple[float, ...] = tuple(inside or NOTHING)
        self._standardised = standardised

    @property
    def shift(self) -> float:
        """The mean so far."""
        return self.inside[1] if self._standardised else 0.0

    @property
    def factor(self) -> float:
        """The standard deviation so far, 1 where there is none."""
        count, _, squares = self.inside
        return math.sqrt(squares / count) if self._standardised and squares > 0.0 else 1.0

    @staticmethod
    def array(y: Any) -> Floats:
        """Labels in any form as an array of numbers."""
        return np.asarray(y, np.float64)

    @staticmethod
    def takes(y: Any) -> bool:
        """Whether something is a number that can be learned."""
        try:
            return abs(float(y)) <= LARGEST_VALUE
        except (TypeError, ValueError):
            return False

    def check(self, y: Any) -> None:
        """Refuse what can be no label."""
        self.values(y)

    def require_whole(self) -> None:
        """Any number of different labels will do."""

    def values(self, y: Any) -> Floats:
        """The labels as numbers.

        Raises
        ------
        ValueError
            For a label that is no number, not finite or too large; the message names the record.
        """
        try:
            values = np.asarray(y, np.float64)
        except (TypeError, ValueError):
            t, found = next((t, each) for t, each in enumerate(y) if not self.takes(each))
            raise ValueError(f"label of record {t} (from 0) must be a number, got {found!r}") from None
        if values.ndim != 1:
            raise ValueError(f"y must hold one number a record, got shape {values.shape}")
        wrong = np.flatnonzero(~(np.abs(values) <= LARGEST_VALUE))
        if len(wrong):
            raise ValueError(f"label of record {wrong[0]} (from 0): {unusable(float(values[wrong[0]]))}")
        return values

    def with_one(self, y: Any) -> Targets:
        """The moments after one more label."""
        made = Targets(self.inside, self._standardised)
        made.learn(self.values([y]), 1)
        return made

    def value(self, y: Any) -> float:
        """One label as learners take it."""
        if not self._standardised:
            return float(y)
        return (float(y) - self.inside[1]) / self.factor if self.inside[2] > 0.0 else 0.0

    def learn(self, values: Floats, last: int) -> Inside:
        """Take in the first ``last`` labels; the others, whose records are predicted in these rounds, come later."""
        moments, n = np.array(self.inside), len(values)
        inside, shift, factor = np.zeros(n), np.zeros(last), np.zeros(last)
        standardise(values[:last], moments, inside[:last], shift, factor)
        self.inside = tuple(moments.tolist())
        if not self._standardised:
            return Inside(values, 0.0, 1.0)
        known = np.maximum(np.arange(n) - (n - last), 0)  # labels that had come when each record was predicted
        return Inside(inside, shift[known], factor[known]) if last else Inside(inside, self.shift, self.factor)

    def told(self, margins: Floats, inside: Inside) -> Floats:
        """Predictions told in the rounds of these labels."""
        return inside.shift + inside.factor * margins

    def labels(self, margins: Floats) -> Floats:
        """The prediction for each margin of the outside, which it is."""
        return margins

    def strength(self, margins: Floats) -> None:
        """What is said of predictions beside them: nothing."""

    def label(self, margin: float) -> float:
        """The prediction for one margin of the outside, which it is."""
        return float(margin)
