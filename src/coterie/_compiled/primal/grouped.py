"""Relations of nested groups: sums of updates for every task and every group, at O(nnz · levels) per record.

A round costs O(nnz · levels) for any number of tasks. :class:`LevelModel` is also the base of other models with a row
for every task and every group.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.checks import Bounds, require, require_finite, require_rows, require_shape, require_within
from coterie._compiled.core.generic import compiled, no_refcount, when
from coterie._compiled.core.prefetching import prefetch
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
    prefetch_task,
    score,
    summed_margin,
)

#: A difference below this fraction of its terms is rounding, and is set to zero, so that ties stay ties.
ROUNDING = 1e-14


class Levels(NamedTuple):
    """Arrays of a relation of nested groups: the groups of each task, its own weight in M, and the groups' weights.

    ``members[g]`` counts the known tasks of group g. The integral of ``weight`` over the rounds is ``spent + weight ·
    (rounds - since)``, which is exact although weights change when tasks are added.
    """

    paths: Any
    own: Any
    weight: Any
    members: Any
    spent: Any
    since: Any

    def to_saved(self, groups: int, tasks: int) -> Levels:
        """Return the arrays without unused capacity for groups and tasks."""
        of_tasks, of_groups = (array[:tasks] for array in self[:2]), (array[:groups] for array in self[2:])
        return Levels(*of_tasks, *of_groups)

    def check(self, bounds: Bounds) -> None:
        """Raise ValueError for unknown groups, member counts that contradict the paths, or invalid clocks."""
        K, G, depth = bounds.tasks, bounds.groups, self.paths.shape[1]
        require_shape("paths", self.paths, len(self.own), depth)
        require_shape("weight", self.weight, len(self.weight))
        require_rows("paths", self.paths, K)
        require_rows("weight", self.weight, G)
        for array in (self.members, self.spent, self.since):
            require_shape("the array of groups", array, len(self.weight))
        paths = self.paths[:K]
        require_within("paths", paths, -1, G - 1)
        require(
            (np.bincount(paths[paths >= 0], minlength=G) == self.members[:G]).all(), "members are not those of paths"
        )
        for array in (self.own, self.weight, self.spent):
            require_finite("the array of group weights in M", array)
        require_within("since", self.since, 0, bounds.rounds)


class Arrivals(NamedTuple):
    """The new tasks of a block. Each counts as a member of its groups from its first record on.

    The first ``counted[0]`` tasks are already counted. Counting task ``first + k`` sets the weight of its group at
    level l to ``weights[k, l]``. ``rounds`` is the number of rounds before the block.
    """

    levels: Levels
    counted: Any
    first: int
    weights: Any
    rounds: int


def no_levels(depth: int) -> Levels:
    """Return levels without tasks, for tasks in ``depth`` groups each."""
    none, zeros = np.zeros(0, np.int64), np.zeros(0)
    return Levels(np.zeros((0, depth), np.int64), zeros, zeros.copy(), none, zeros.copy(), zeros.copy())


#: No new tasks for M to count.
NO_ARRIVALS = Arrivals(no_levels(0), np.full(1, np.iinfo(np.int64).max), 0, np.zeros((0, 0)), 0)


@compiled
def reweigh(levels, group, weight, clock):
    """Set the weight of a group in M from round ``clock`` on, and update the sum of its weights over the rounds.

    The first weight of a group counts from the first round on. This has no effect, because there was no update in the
    group before, and keeps the result independent of the round in which the group was created.
    """
    before = levels.weight[group]
    if weight != before:
        if before != 0.0 or levels.since[group] != 0.0:
            levels.spent[group] += before * (clock - levels.since[group])
            levels.since[group] = clock
        levels.weight[group] = weight


@compiled
def count_arrivals(arrivals, i, s):
    """Count the new tasks up to number i as members of their groups, at round s of the block."""
    levels, clock = arrivals.levels, arrivals.rounds + s
    # tasks are numbered in the order of their first records, so those up to i have arrived
    for task in range(arrivals.counted[0], i + 1):
        for level in range(levels.paths.shape[1]):
            group = levels.paths[task, level]
            if group >= 0:
                levels.members[group] += 1
                reweigh(levels, group, arrivals.weights[task - arrivals.first, level], clock)
        arrivals.counted[0] = task + 1


# -- what all kinds with levels have in common ------------------------------------------------------------------------


class LevelModel(Model):
    """Base class of models with a row of weights for every task and every group; subclasses define the update.

    Its margin and weights are sums of the rows of a task and of its groups.
    """

    __slots__ = ()

    groups: Any
    tasks: Any
    levels: Levels
    _replace: Callable[..., Self]

    @property
    def sharing(self) -> Levels:
        return self.levels

    def with_sharing(self, sharing: Levels) -> Self:
        return self._replace(levels=sharing)

    def map_tables(self, change: Callable[[Any], Any]) -> Self:
        """Return the model with a function applied to each table."""
        return self._replace(groups=change(self.groups), tasks=change(self.tasks))

    def fit(self, fit_table: FitTable, groups: int, tasks: int, features: int, dense: bool) -> Self:
        return self._replace(
            groups=fit_table(self.groups, groups, features, dense), tasks=fit_table(self.tasks, tasks, features, dense)
        )

    def own_features(self, features: int) -> int:
        """Return the number of weights in a task's own row, for records with this many features."""
        return features

    def drop_tasks(self, dropped: Dropped, groups: NDArray[np.int64]) -> Self:
        has_own_rows = self.tasks.has_room(dropped.known, 1)  # else there is one row, of no task
        return self._replace(
            tasks=self.tasks.drop_rows(dropped) if has_own_rows else self.tasks,
            groups=self.groups.clear_rows(groups) if len(groups) else self.groups,
        )

    def make_room(self, i: int, entries: int) -> Self:
        path = self.levels.paths[i]
        return self._replace(
            groups=self.groups.make_room(path[path >= 0], entries), tasks=self.tasks.make_room(np.array([i]), entries)
        )

    def to_saved(self, extent: Extent) -> Self:
        return self._replace(
            groups=self.groups.part(extent.groups, extent.features),
            tasks=self.tasks.part(extent.own, self.own_features(extent.features)),
            levels=self.levels.to_saved(extent.groups, extent.tasks),
        )

    def unseen_task_model(self, tasks: int, sharing: Levels) -> Self:
        return self.with_sharing(sharing)

    def check(self, bounds: Bounds) -> None:
        self.levels.check(bounds)
        specific = np.flatnonzero(self.levels.own[: bounds.tasks])  # the others have no row that is looked at
        self.groups.check(bounds.groups, bounds.features)
        self.tasks.check(int(specific.max(initial=-1)) + 1, self.own_features(bounds.features))

    def weights(self, tasks: int, features: int) -> Weights:
        return self.summed_rows(tasks, features)

    def summed_rows(self, tasks: int, features: int) -> Weights:
        """Return for each task the sum of its row of weights and those of its groups, shape (tasks, features)."""
        specific = (self.levels.own[:tasks] != 0.0).astype(np.float64)
        return self.weighted_rows(specific, np.ones(len(self.levels.weight)), features)

    def weighted_rows(self, own: NDArray[np.float64], weight: NDArray[np.float64], features: int) -> Weights:
        """Return for each task the sum of its row times ``own`` and its groups' rows times ``weight``."""
        tasks = len(own)
        W = np.zeros((tasks, features))
        if np.any(own):
            W += own[:, None] * self.tasks.rows(tasks, features)
        shared = self.groups.rows(len(weight), features) * weight[:, None]
        for group in self.levels.paths[:tasks].T:
            W += np.where(group[:, None] >= 0, shared[group], 0.0)
        return W


@when(score, LevelModel)
def _score_plain(model, i, rows, t):
    levels = model.levels
    margin = 0.0
    if levels.own[i] != 0.0:
        margin += dot(model.tasks, i, rows, t)
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            margin += dot(model.groups, levels.paths[i, level], rows, t)
    return margin


@no_refcount
def allocate_levels(model, i, rows, t):
    """Allocate the weights that record t of task i updates, its own and those of its groups.

    Return False if a table needs more memory.
    """
    levels = model.levels
    room = levels.own[i] == 0.0 or reserve(model.tasks, i, rows, t)
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            room = room and reserve(model.groups, levels.paths[i, level], rows, t)
    return room


when(allocate, LevelModel)(lambda model, i, rows, t: allocate_levels(model, i, rows, t))


@when(prefetch_record, LevelModel)
def _prefetch_record(model, i, rows, t):
    levels = model.levels
    if levels.own[i] != 0.0:
        prefetch_row(model.tasks, i, rows, t)
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            prefetch_row(model.groups, levels.paths[i, level], rows, t)


@when(prefetch_task, LevelModel)
def _prefetch_task(model, i):
    paths = model.levels.paths
    prefetch(model.levels.own, i)
    prefetch(paths, i * paths.shape[1])


# -- raw sums ---------------------------------------------------------------------------------------------------------


class Grouped(namedtuple("Grouped", "groups tasks levels"), LevelModel):
    """Model of nested groups that sums updates: a row of ``groups`` per group, and a row of ``tasks`` per task."""

    __slots__ = ()

    def weights(self, tasks: int, features: int) -> Weights:
        return self.weighted_rows(self.levels.own[:tasks], self.levels.weight, features)

    def summed_weights(self, twin: Grouped, rounds: float, tasks: int, features: int) -> Weights:
        """Return the sum of the weights before each round, for averages.

        ``twin`` has the updates times their rounds.
        """
        levels = self.levels
        # a move in round c counts from then on: its weight in the sum is the integral up to now less that up to c
        integral = levels.spent + levels.weight * (rounds - levels.since)
        moves = self.weighted_rows(levels.own[:tasks] * rounds, integral, features)
        return moves - twin.summed_rows(tasks, features)

    def without_sharing(self) -> Grouped:
        """Return the model without levels, which are saved with the main model."""
        return self._replace(levels=None)


@when(score, Grouped)
def _score(model, i, rows, t):
    levels = model.levels
    margin = 0.0
    # a task whose own weight in M is 0 has no row at all
    if levels.own[i] != 0.0:
        margin += levels.own[i] * dot(model.tasks, i, rows, t)
    for level in range(levels.paths.shape[1]):
        group = levels.paths[i, level]
        if group >= 0:
            margin += levels.weight[group] * dot(model.groups, group, rows, t)
    return margin


@no_refcount
def diagonal_of(levels, i):
    """Return the diagonal entry M_ii."""
    total = levels.own[i]
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            total += levels.weight[levels.paths[i, level]]
    return total


when(diagonal, Grouped)(lambda model, i: diagonal_of(model.levels, i))


@when(add, Grouped)
def _add(model, i, c, rows, t):
    levels = model.levels
    # raw moves, whatever M is: its weights enter when margins are computed, so they may change later
    if levels.own[i] != 0.0:
        axpy(model.tasks, i, c, rows, t)
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            axpy(model.groups, levels.paths[i, level], c, rows, t)


@compiled
def _integral(levels, group, clock):
    return levels.spent[group] + levels.weight[group] * (clock - levels.since[group])


@when(add_timed, Grouped)
def _add_timed(model, i, c, rows, t, clock):
    levels = model.levels
    if levels.own[i] != 0.0:
        # the twin sums each move times the integral of its weight in M up to its round
        axpy(model.tasks, i, c * levels.own[i] * clock, rows, t)
    for level in range(levels.paths.shape[1]):
        group = levels.paths[i, level]
        if group >= 0:
            axpy(model.groups, group, c * _integral(levels, group, clock), rows, t)


@when(summed_margin, Grouped)
def _summed_margin(model, twin, i, rows, t, clock, margin):
    levels = model.levels
    before = 0.0
    if levels.own[i] != 0.0:
        before += dot(twin.tasks, i, rows, t)
    for level in range(levels.paths.shape[1]):
        group = levels.paths[i, level]
        if group >= 0:
            # margin has the present weights of groups, so clock · margin needs the difference to their integrals
            lag = clock * levels.weight[group] - _integral(levels, group, clock)
            if lag != 0.0:  # the group's weight has changed as tasks arrived
                before += lag * dot(model.groups, group, rows, t)
            before += dot(twin.groups, group, rows, t)
    total = clock * margin - before
    # the difference of two large sums, in which rounding errors would decide ties
    return total if abs(total) > ROUNDING * abs(before) else 0.0
