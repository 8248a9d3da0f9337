"""Hypotheses whose every weight has a step of its own: adaptive gradients, and weights with a variance."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from coterie import spec
from coterie.numeric.adaptive import Adaptive
from coterie.numeric.confidence import Confident
from coterie.numeric.models import Grouped, Levels

from . import linear, tables
from .storage import Storage


@spec.part
class AdaptiveGradient:
    """Weights whose steps shrink with the gradients they have seen (AdaGrad), apart for the tasks and their groups.

    The margin of a record of task i is (w_i + Σ_g w_g) · x over the groups g of the task. A move of c = tau·y changes
    each of these rows by its own gradients, the row's weight in M being a factor of its rate,

        Q_j += (c x_j)²,    w_j += step · M-weight · c x_j / sqrt(start + Q_j).

    Parameters
    ----------
    step : float > 0
        The rate; 0.5 to 1 differ by about one percent of the mistakes.
    start : float > 0
        What Q starts from; it matters for the first record of a weight only.
    storage, dtype, bits
        As in :class:`coterie.hypotheses.Linear`; each weight takes twice the memory.

    Raises
    ------
    ValueError
        If step or start is not positive and finite, or for an unknown storage.

    Examples
    --------
    >>> AdaptiveGradient(step=0.5)
    AdaptiveGradient(step=0.5, start=1e-06, storage='auto', dtype='float64', bits=22)
    """

    step: float = 0.7
    start: float = 1e-6
    storage: Literal["auto", "dense", "sparse", "hashed"] = "auto"
    dtype: Literal["float64", "float32"] = "float64"
    bits: int = 22

    forms: ClassVar[tuple[str, ...]] = ("levels",)
    moves: ClassVar[tuple[str, ...]] = ("gradient",)
    fades: ClassVar[bool] = True

    def __post_init__(self) -> None:
        spec.check_positive("step", self.step)
        spec.check_positive("start", self.start)
        self._storage.check()

    def grouped(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Adaptive:
        """Pairs (w, Q) for a relation of nested groups."""
        made = self._storage.table(groups, features, dense, shared=True), self._storage.table(tasks, features, dense)
        return Adaptive(*made, levels, float(self.step), float(self.start))

    def fit(self, model: Adaptive, groups: int, tasks: int, features: int, dense: bool) -> Adaptive:
        """The model with room for so many groups, tasks and features."""
        return self._storage.fit_grouped(model, groups, tasks, features, dense)  # type: ignore[no-any-return]

    @cached_property
    def _storage(self) -> Storage:
        return Storage(self.storage, self.dtype, self.bits, paired=True)


#: Labels with less noise than this give precisions whose products do not fit a float.
LEAST_NOISE = 1e-50


@spec.part
class DiagonalAROW:
    """Weights with a mean and a variance, one of each for the tasks and their groups (diagonal AROW).

    The prior variance S of a row's weights is the row's weight in M: with share s, s for what is shared and 1 - s for
    what is a task's own. With r = noise · ‖x‖² / nnz(x) and v = Σ S_j x_j² over the rows of the task,

        alpha = max(0, 1 - y·margin) / (v + r),    w_j += alpha y S_j x_j,    S_j <- S_j / (1 + S_j x_j² / r).

    Being relative to the record, one noise serves text and few features alike.

    Parameters
    ----------
    r : float > 0
        How noisy labels are: 3 for text, 10 in general, 30 where labels are noisy.
    storage, dtype, bits
        As in :class:`coterie.hypotheses.Linear`; each weight takes twice the memory.

    Raises
    ------
    ValueError
        If r is not finite or below 1e-50, or for an unknown storage.

    Examples
    --------
    >>> DiagonalAROW(r=3)
    DiagonalAROW(r=3, storage='auto', dtype='float64', bits=22)
    """

    r: float = 10.0
    storage: Literal["auto", "dense", "sparse", "hashed"] = "auto"
    dtype: Literal["float64", "float32"] = "float64"
    bits: int = 22

    forms: ClassVar[tuple[str, ...]] = ("levels",)
    moves: ClassVar[tuple[str, ...]] = ("confidence",)
    fades: ClassVar[bool] = True

    def __post_init__(self) -> None:
        spec.check_positive("r", self.r)
        if self.r < LEAST_NOISE:
            raise ValueError(f"r must be at least {LEAST_NOISE:g}, got {self.r!r}: the precisions would overflow")
        self._storage.check()

    def grouped(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Confident:
        """Pairs (mean, gained precision) for a relation of nested groups."""
        made = self._storage.table(groups, features, dense, shared=True), self._storage.table(tasks, features, dense)
        return Confident(*made, levels, float(self.r))

    def fit(self, model: Confident, groups: int, tasks: int, features: int, dense: bool) -> Confident:
        """The model with room for so many groups, tasks and features."""
        return self._storage.fit_grouped(model, groups, tasks, features, dense)  # type: ignore[no-any-return]

    @cached_property
    def _storage(self) -> Storage:
        return Storage(self.storage, self.dtype, self.bits, paired=True)


@linear.weights.register(Adaptive)
@linear.weights.register(Confident)
def _(model: Any, tasks: int, features: int) -> tables.Weights:
    return linear.combine(model, *linear.factors(model, tasks), tasks, features)


@linear.factors.register(Adaptive)
@linear.factors.register(Confident)
def _(model: Any, tasks: int) -> Any:
    return (model.levels.own[:tasks] != 0.0).astype(np.float64), np.ones(len(model.levels.weight))


for _kind in (Adaptive, Confident):
    linear.make_room.register(_kind)(linear.make_room.dispatch(Grouped))
