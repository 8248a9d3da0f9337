"""Exponential decay of weights: all numbers of a table shrink after each round, in O(1) by a common scale factor.

Stored numbers are divided by the table's ``scale``, so that decay only changes the scale. When it becomes small, all
numbers are multiplied by it; this is so rare that the average cost is negligible.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.checks import Bounds, require_rate, require_shape
from coterie._compiled.core.generic import compiled, forward, generic, when
from coterie._compiled.weights.table import (
    find_weight,
    get_or_insert,
    get_value,
    multiply,
    numbers_of,
    offset_of,
    prefetch_row,
    reserve,
    set_value,
    touch,
)

from .round import FitTable, Weights, Wrapper, on_step_end, skip
from .spread import Spread

#: Scale at which the numbers of a table are multiplied out; a float32 divided by it is still one.
LEAST = 1e-15


class Faded(NamedTuple):
    """A table of numbers with a common scale factor: each value is the stored number times ``scale[0]``."""

    table: Any
    scale: Any

    @property
    def values(self) -> Weights:
        """The stored numbers, without the scale factor."""
        return np.asarray(self.table.values)

    def rows(self, rows: int, features: int) -> Weights:
        """Return the values of the first rows as a dense (rows, features) array."""
        return np.asarray(self.scale[0] * self.table.rows(rows, features))

    def has_room(self, rows: int, features: int) -> bool:
        """Return True if this many rows and features fit into the table without resizing."""
        return bool(self.table.has_room(rows, features))

    def clear_rows(self, rows: NDArray[np.int64]) -> Faded:
        """Delete the weights of these rows, so that their memory can be reused."""
        return self._replace(table=self.table.clear_rows(rows))

    def drop_rows(self, dropped: Dropped) -> Faded:
        """Remove rows; the last rows take their indices."""
        return self._replace(table=self.table.drop_rows(dropped))

    def make_room(self, rows: NDArray[np.int64], entries: int) -> Faded:
        """Allocate memory for this many new weights in each of these rows."""
        return self._replace(table=self.table.make_room(rows, entries))

    def part(self, rows: int, features: int) -> Faded:
        """Return the part of the table to save: this many rows and features."""
        return self._replace(table=self.table.part(rows, features))

    def check(self, rows: int, features: int) -> None:
        """Raise ValueError for an invalid table, or a scale outside (0, 1]."""
        self.table.check(rows, features)
        require_shape("scale", self.scale, 1)
        require_rate("scale", float(self.scale[0]), most=1.0)


forward(Faded, find_weight, get_or_insert, reserve, offset_of, numbers_of, touch, prefetch_row)
when(get_value, Faded)(lambda table, place: table.scale[0] * get_value(table.table, place))
when(set_value, Faded)(lambda table, place, number: set_value(table.table, place, number / table.scale[0]))


class TimeDecay(namedtuple("TimeDecay", "model shared own"), Wrapper):
    """A model with decay: per round, factor ``shared`` for shared weights and ``own`` for the tasks' own weights."""

    __slots__ = ()

    @classmethod
    def from_model(cls, model: Any, shared: float, own: float) -> Self:
        """Return a model in which shared weights decay by ``shared`` per round, and the tasks' own ones by ``own``."""
        return cls(model.map_tables(lambda table: Faded(table, np.ones(1))), shared, own)

    def fit(self, fit_table: FitTable, groups: int, tasks: int, features: int, dense: bool) -> TimeDecay:
        def fit_faded(table: Any, rows: int, features: int, dense: bool) -> Any:
            if not isinstance(
                table, Faded
            ):  # numbers other than weights, such as the scales of features in coin betting, do not decay
                return fit_table(table, rows, features, dense)
            return table._replace(table=fit_table(table.table, rows, features, dense))

        return self._replace(model=self.model.fit(fit_faded, groups, tasks, features, dense))

    def check(self, bounds: Bounds) -> None:
        super().check(bounds)
        require_rate("the decay of shared weights", self.shared, most=1.0)
        require_rate("the decay of tasks' own weights", self.own, most=1.0)


@when(on_step_end, TimeDecay)
def _tick(model):
    on_step_end(model.model)
    fade_all(model.model, model.shared, model.own)


@when(skip, TimeDecay)
def _skip(model):
    skip(model.model)
    fade_all(model.model, model.shared, model.own)


@generic
def fade_all(model, shared, own):
    """Apply the decay of one round to all tables of a model."""


@when(fade_all, Spread)
def _fade_spread(model, shared, own):
    fade(model.table, shared)


@when(fade_all, object)
def _fade_levels(model, shared, own):
    fade(model.groups, shared)
    fade(model.tasks, own)


@compiled
def fade(table, factor):
    """Multiply all numbers of a table by a factor, through its common scale: O(1) on average."""
    # the numbers stay as they are, only their common scale shrinks
    table.scale[0] *= factor
    if table.scale[0] < LEAST:
        multiply(table.table, table.scale[0])
        table.scale[0] = 1.0
