"""Models for relations by columns: an update of task i adds M_ji x to the weights of every task j."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.checks import Bounds
from coterie._compiled.core.generic import generic, when
from coterie._compiled.core.records import begin, end, value
from coterie._compiled.weights.dense import FeatureMajor, weights_of
from coterie._compiled.weights.table import axpy, dot, prefetch_row, reserve

from .round import (
    Extent,
    FitTable,
    Model,
    Weights,
    add,
    add_timed,
    allocate,
    diagonal,
    prefetch_record,
    score,
    summed_margin,
)


class Columns(NamedTuple):
    """Computed columns of the relation matrix M: column i is ``values[slot[i]]``; it is missing if the slot is < 0."""

    values: Any
    slot: Any

    def check(self, bounds: Bounds) -> None:
        """Do nothing: columns are not saved but recomputed."""

    def reached(self, i: int) -> NDArray[np.int64]:
        """Return the tasks that an update of task i changes, those with M_ji other than 0."""
        return np.flatnonzero(self.values[self.slot[i]])


class SparseColumns(NamedTuple):
    """Computed sparse columns of the relation matrix M, in slots; a column is missing if its slot is negative."""

    rows: Any
    values: Any
    starts: Any
    slot: Any

    def check(self, bounds: Bounds) -> None:
        """Do nothing: columns are not saved but recomputed."""

    def reached(self, i: int) -> NDArray[np.int64]:
        """Return the tasks that an update of task i changes, those with M_ji other than 0."""
        slot = self.slot[i]
        return np.asarray(self.rows[self.starts[slot] : self.starts[slot + 1]])


def no_columns() -> Columns:
    """Return an object without computed columns of M."""
    return Columns(np.zeros((0, 0)), np.zeros(0, np.int64))


class TaskRows(Model):
    """Base class of models with one row of weights per task, in the field ``table``."""

    __slots__ = ()

    table: Any
    _replace: Callable[..., Self]

    def drop_tasks(self, dropped: Dropped, groups: NDArray[np.int64]) -> Self:
        return self._replace(table=self.table.drop_rows(dropped))

    def weights(self, tasks: int, features: int) -> Weights:
        return np.asarray(self.table.rows(tasks, features))

    def summed_weights(self, twin: Any, rounds: float, tasks: int, features: int) -> Weights:
        """Return the sum of the weights before each of the first ``rounds`` rounds, for averages."""
        return np.asarray(rounds * self.weights(tasks, features) - twin.weights(tasks, features))


when(score, TaskRows)(lambda model, i, rows, t: dot(model.table, i, rows, t))
when(summed_margin, TaskRows)(
    lambda model, twin, i, rows, t, clock, margin: clock * margin - dot(twin.table, i, rows, t)
)


class Spread(namedtuple("Spread", "table columns"), TaskRows):
    """Linear model with one row of weights per task; an update of a task reaches the others by its column of M.

    Columns of the relation matrix M are computed when they are needed first.
    """

    __slots__ = ()

    @property
    def sharing(self) -> Columns | SparseColumns:
        return self.columns  # type: ignore[no-any-return]

    def with_sharing(self, sharing: Columns | SparseColumns) -> Spread:
        return self._replace(columns=sharing)

    def fit(self, fit_table: FitTable, groups: int, tasks: int, features: int, dense: bool) -> Spread:
        return self._replace(table=fit_table(self.table, tasks, features, dense))

    def map_tables(self, change: Callable[[Any], Any]) -> Spread:
        """Return the model with a function applied to its table."""
        return self._replace(table=change(self.table))

    def make_room(self, i: int, entries: int) -> Spread:
        return self._replace(table=self.table.make_room(self.columns.reached(i), entries))

    def unseen_task_model(self, tasks: int, sharing: Any) -> Spread:
        raise TypeError("a relation that names its tasks has no model of an unseen task")

    def to_saved(self, extent: Extent) -> Spread:
        return self._replace(table=self.table.part(extent.tasks, extent.features), columns=no_columns())

    def check(self, bounds: Bounds) -> None:
        self.table.check(bounds.tasks, bounds.features)

    def without_sharing(self) -> Spread:
        """Return the model without the columns, which can be recomputed."""
        return self._replace(columns=no_columns())


when(prefetch_record, Spread)(lambda model, i, rows, t: prefetch_row(model.table, i, rows, t))
when(diagonal, Spread)(lambda model, i: entry(model.columns, i, i))
when(add, Spread)(lambda model, i, c, rows, t: add_column(model.table, model.columns, i, c, rows, t))
when(add_timed, Spread)(
    lambda model, i, c, rows, t, clock: add_column(model.table, model.columns, i, c * clock, rows, t)
)


@when(allocate, Spread)
def _allocate(model, i, rows, t):
    return model.columns.slot[i] >= 0 and reserve_column(model.table, model.columns, i, rows, t)


@generic
def entry(columns, i, j):
    """Return the entry M_ij of the relation matrix; column i must have been computed."""


@generic
def reserve_column(table, columns, i, rows, t):
    """Allocate the weights that record t of task i updates, in the rows of all tasks j with M_ji other than 0."""


@generic
def add_column(table, columns, i, c, rows, t):
    """Add c M_ji times record t to the row of each task j for which M_ji is not 0."""


# -- whole columns ----------------------------------------------------------------------------------------------------


@when(entry, Columns)
def _entry(columns, i, j):
    return columns.values[columns.slot[i], j]


@when(reserve_column, object, Columns)
def _reserve(table, columns, i, rows, t):
    for j in range(columns.values.shape[1]):
        if columns.values[columns.slot[i], j] != 0.0 and not reserve(table, j, rows, t):
            return False
    return True


@when(add_column, object, Columns)
def _add(table, columns, i, c, rows, t):
    for j in range(columns.values.shape[1]):
        if columns.values[columns.slot[i], j] != 0.0:
            axpy(table, j, c * columns.values[columns.slot[i], j], rows, t)


@when(add_column, FeatureMajor, Columns)
def _add_to_all(table, columns, i, c, rows, t):
    column = columns.values[columns.slot[i]]
    for k in range(begin(rows, t), end(rows, t)):
        weights, move = weights_of(table, rows, t, k, column.size), c * value(rows, t, k)
        for j in range(column.size):
            weights[j] += move * column[j]


# -- sparse columns ---------------------------------------------------------------------------------------------------


@when(entry, SparseColumns)
def _sparse_entry(columns, i, j):
    for k in range(columns.starts[columns.slot[i]], columns.starts[columns.slot[i] + 1]):
        if columns.rows[k] == j:
            return columns.values[k]
    return 0.0


@when(reserve_column, object, SparseColumns)
def _reserve_sparse(table, columns, i, rows, t):
    for k in range(columns.starts[columns.slot[i]], columns.starts[columns.slot[i] + 1]):
        if not reserve(table, columns.rows[k], rows, t):
            return False
    return True


@when(add_column, object, SparseColumns)
def _add_sparse(table, columns, i, c, rows, t):
    for k in range(columns.starts[columns.slot[i]], columns.starts[columns.slot[i] + 1]):
        axpy(table, columns.rows[k], c * columns.values[k], rows, t)
