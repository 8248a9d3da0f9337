"""Averages of the weights before each round, from a second table that sums each update times its round.

With the sum of the updates Θ and the time-weighted sum Φ, the mean over T rounds is M(Θ - Φ/T). A model can be averaged
if it implements the generic functions ``add_timed`` and ``summed_margin`` and the methods ``summed_weights`` and
``without_sharing``.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.checks import MOST_ROUNDS, Bounds, require_shape, require_within
from coterie._compiled.core.generic import when
from coterie._compiled.weights.table import second

from .round import (
    Extent,
    Weights,
    Wrapper,
    add,
    add_timed,
    allocate,
    on_step_end,
    prefetch_record,
    report,
    skip,
    summed_margin,
)


class AveragedModel(namedtuple("AveragedModel", "model twin clock"), Wrapper):
    """A model and the sums of its updates times their rounds, for averages; ``clock[0]`` counts the rounds."""

    __slots__ = ()

    def weights(self, tasks: int, features: int) -> Weights:
        rounds = float(self.clock[0])
        total = self.model.summed_weights(self.twin, rounds, tasks, features)
        return np.asarray(total / max(rounds, 1.0))

    def check(self, bounds: Bounds) -> None:
        super().check(bounds)
        require_shape("the clock of averages", self.clock, 1)
        require_within("the clock of averages", self.clock, 0, MOST_ROUNDS)


class Averaged(AveragedModel):
    """A model and its sums of updates times their rounds, which are in a separate table."""

    __slots__ = ()

    def map_models(self, change: Callable[[Any], Any]) -> Averaged:
        return self._replace(model=change(self.model), twin=change(self.twin))

    def to_saved(self, extent: Extent) -> Averaged:
        return self._replace(model=self.model.to_saved(extent), twin=self.twin.to_saved(extent).without_sharing())

    def rescale(self, to: float, by: float) -> None:
        """Multiply the weights and the sums by ``to`` and divide them by ``by``, in place."""
        self.model.rescale(to, by)
        self.twin.rescale(to, by)

    def check(self, bounds: Bounds) -> None:
        super().check(bounds)
        self.twin.check(bounds)


class AveragedPairs(AveragedModel):
    """A model with pairs of numbers: a weight, and its sum of updates times their rounds."""

    __slots__ = ()

    @classmethod
    def from_model(cls, model: Any, clock: NDArray[np.float64]) -> Self:
        """Return a model in which the second number of each weight is its sum of updates times their rounds."""
        return cls(model, model.map_tables(second), clock)

    def map_models(self, change: Callable[[Any], Any]) -> AveragedPairs:
        return self.from_model(change(self.model), self.clock)

    def to_saved(self, extent: Extent) -> AveragedPairs:
        return self._replace(model=self.model.to_saved(extent), twin=None)


@when(prefetch_record, AveragedModel)
def _prefetch_record(model, i, rows, t):
    prefetch_record(model.model, i, rows, t)
    prefetch_record(model.twin, i, rows, t)


@when(report, AveragedModel)
def _report(model, i, rows, t, margin):
    rounds = model.clock[0]  # before the first all sums are zero
    return summed_margin(model.model, model.twin, i, rows, t, rounds, margin) / max(rounds, 1.0)


@when(allocate, AveragedModel)
def _allocate(model, i, rows, t):
    return allocate(model.model, i, rows, t) and allocate(model.twin, i, rows, t)


@when(add, AveragedModel)
def _add(model, i, c, rows, t):
    # the twin reads what the move has claimed in the shared table: the model must move first
    add(model.model, i, c, rows, t)
    add_timed(model.twin, i, c, rows, t, model.clock[0] + 1.0)


@when(on_step_end, AveragedModel)
def _tick(model):
    on_step_end(model.model)
    model.clock[0] += 1


@when(skip, AveragedModel)
def _skip(model):
    skip(model.model)
    model.clock[0] += 1
