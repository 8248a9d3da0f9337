"""The interface of models: generic functions for the compiled loop, and methods for Python code.

A model is a named tuple of weights and of the form of M, in one file with its functions. Its compiled side are bodies
of these functions, registered by ``when``:

=====================================  ==================================================================  ===========
function                               purpose                                                             default
=====================================  ==================================================================  ===========
``score(model, i, rows, t)``           margin of record t under the current weights of task i
``report(model, i, rows, t, margin)``  margin shown to the user                                            ``margin``
``allocate(model, i, rows, t)``        allocate the weights for an update; False if memory or M is missing
``add(model, i, c, rows, t)``          add c times record t to task i, and to all tasks through M
``adapt(model)``                       update the relation after that                                      nothing
``on_step_end(model)``                 end a round                                                         nothing
``skip(model)``                        end a round without a label                                         nothing
``prefetch_record(model, i, rows, t)`` prefetch the weights for record t, one round ahead                  nothing
``prefetch_task(model, i)``            prefetch the places of the weights of task i, before that           nothing
``diagonal(model, i)``                 M_ii, for rules with the shortest step
``predictive_variance(...)``           variance of margin and label, for rules with confidence
``add_timed``, ``summed_margin``       for averages of weights, see :mod:`.averaged`
=====================================  ==================================================================  ===========

Its Python side is the methods of :class:`Model`. Kinds that keep a row for every task and every group have most of both
sides from :class:`coterie._compiled.primal.grouped.LevelModel`, those that wrap another model from :class:`Wrapper`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.checks import Bounds
from coterie._compiled.core.generic import forward, generic, when

Weights = NDArray[np.floating[Any]]
#: Enlarges a table to a number of rows and of features; the flag is True for dense records.
FitTable = Callable[[Any, int, int, bool], Any]


@generic
def score(model, i, rows, t):
    """Return the margin of record t under the current weights of task i."""


@generic
def score_with_unseen(model, i, known, rows):
    """Return the margin of one record: from its known features, with the length of all its features."""


@generic
def report(model, i, rows, t, margin):
    """Return the margin that users see: that of the averaged weights if the model has them, else ``margin``."""


@generic
def prefetch_record(model, i, rows, t):
    """Prefetch the weights that record t of task i needs, one round ahead."""


@generic
def prefetch_task(model, i):
    """Prefetch the table entry that locates the weights of task i, several rounds ahead."""


@generic
def diagonal(model, i):
    """Return M_ii, the factor of ‖x‖² in the effect of an update on the margin of the same record."""


@generic
def predictive_variance(model, i, rows, t):
    """Return the variances of record t's margin and of its label, for models with variances."""


@generic
def allocate(model, i, rows, t):
    """Allocate the weights that record t of task i will update.

    Return False if a table needs more memory, or column i of M is missing.
    """


@generic
def add(model, i, c, rows, t):
    """Add c times record t to the weights of task i, and to those of other tasks according to M."""


@generic
def adapt(model):
    """Update a learned relation after an update of the weights; do nothing for a fixed relation."""


@generic
def on_step_end(model):
    """End a round, for example by applying decay."""


@generic
def skip(model):
    """End a round without a label."""


@generic
def add_timed(model, i, c, rows, t, clock):
    """Add c times record t, times the round ``clock``, to the sums from which averaged weights are computed."""


@generic
def summed_margin(model, twin, i, rows, t, clock, margin):
    """Return the sum of the margins of record t under the weights before each round so far.

    ``twin`` has the sums for averages.

    The margin of the current weights is given as ``margin``, so that only the time-weighted sums are read.
    """


when(score_with_unseen, object)(lambda model, i, known, rows: score(model, i, known, 0))
when(report, object)(lambda model, i, rows, t, margin: margin)
when(adapt, object)(lambda model: None)
when(on_step_end, object)(lambda model: None)
when(skip, object)(lambda model: None)
when(prefetch_record, object)(lambda model, i, rows, t: None)
when(prefetch_task, object)(lambda model, i: None)


class Extent(NamedTuple):
    """The used part of a model's arrays: numbers of group rows, task rows, tasks, and features."""

    groups: int
    own: int
    tasks: int
    features: int


class Model(ABC):
    """Base class of models. Methods return another model, which shares all unchanged arrays."""

    __slots__ = ()

    @property
    @abstractmethod
    def sharing(self) -> Any:
        """The arrays by which the relation matrix M is read: levels of groups, columns, or a learned relation."""

    @abstractmethod
    def with_sharing(self, sharing: Any) -> Self:
        """Return the model with other arrays for the relation matrix M."""

    @abstractmethod
    def fit(self, fit_table: FitTable, groups: int, tasks: int, features: int, dense: bool) -> Self:
        """Return the model resized for these numbers; ``fit_table`` resizes each table."""

    @abstractmethod
    def drop_tasks(self, dropped: Dropped, groups: NDArray[np.int64]) -> Self:
        """Remove the rows of tasks and of groups without tasks. The caller changes the relation matrix M."""

    @abstractmethod
    def make_room(self, i: int, entries: int) -> Self:
        """Allocate the weights for a record of task i with this many entries."""

    @abstractmethod
    def unseen_task_model(self, tasks: int, sharing: Any) -> Self:
        """Return a model that predicts for tasks without records, under their M."""

    @abstractmethod
    def weights(self, tasks: int, features: int) -> Weights:
        """Return the weights as a dense array, shape (tasks, features)."""

    def intercepts(self, tasks: int) -> Weights:
        """Return the intercept of each task's margin, shape (tasks,)."""
        return np.zeros(tasks)

    @abstractmethod
    def to_saved(self, extent: Extent) -> Self:
        """Return the model without unused capacity, and without columns of M that can be recomputed.

        Tables become :class:`coterie._compiled.weights.table.Part`, without a copy so far.
        """

    @abstractmethod
    def check(self, bounds: Bounds) -> None:
        """Raise ValueError for indices out of range, or an invalid state."""


class Wrapper(Model):
    """Base class of models that wrap another model, their first field, and delegate to it."""

    __slots__ = ()

    model: Any
    _replace: Callable[..., Self]

    def map_models(self, change: Callable[[Any], Any]) -> Self:
        """Return the model with a function applied to each wrapped model."""
        return self._replace(model=change(self.model))

    @property
    def sharing(self) -> Any:
        return self.model.sharing

    def with_sharing(self, sharing: Any) -> Self:
        return self.map_models(lambda model: model.with_sharing(sharing))

    def fit(self, fit_table: FitTable, groups: int, tasks: int, features: int, dense: bool) -> Self:
        return self.map_models(lambda model: model.fit(fit_table, groups, tasks, features, dense))

    def drop_tasks(self, dropped: Dropped, groups: NDArray[np.int64]) -> Self:
        return self.map_models(lambda model: model.drop_tasks(dropped, groups))

    def make_room(self, i: int, entries: int) -> Self:
        return self.map_models(lambda model: model.make_room(i, entries))

    def unseen_task_model(self, tasks: int, sharing: Any) -> Self:
        return self.map_models(lambda model: model.unseen_task_model(tasks, sharing))

    def weights(self, tasks: int, features: int) -> Weights:
        return np.asarray(self.model.weights(tasks, features))

    def intercepts(self, tasks: int) -> Weights:
        return np.asarray(self.model.intercepts(tasks))

    def to_saved(self, extent: Extent) -> Self:
        return self.map_models(lambda model: model.to_saved(extent))

    def check(self, bounds: Bounds) -> None:
        self.model.check(bounds)


forward(Wrapper, score, score_with_unseen, report, allocate, add, adapt, on_step_end, skip)
forward(Wrapper, prefetch_record, prefetch_task, diagonal, predictive_variance)
