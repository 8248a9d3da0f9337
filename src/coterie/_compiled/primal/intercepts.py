"""AdaGrad for common weights of all tasks, and an intercept per task."""

from __future__ import annotations

import numpy as np

from coterie._compiled.core.generic import when
from coterie._compiled.weights.table import dot, find_weight, get_or_insert, get_value, offset_of, prefetch_row, reserve

from .adaptive import Adaptive, descend, descend_row
from .round import FitTable, Weights, add, allocate, prefetch_record, score

#: The value of a task's own intercept feature in all its records.
VALUE = 0.5


class Intercepts(Adaptive):
    """AdaGrad model of all tasks with an intercept per task: the weight of a feature that is ``VALUE`` in all records.

    The table of tasks' own rows has one weight per task.
    """

    __slots__ = ()

    def fit(self, fit_table: FitTable, groups: int, tasks: int, features: int, dense: bool) -> Intercepts:
        return self._replace(
            groups=fit_table(self.groups, groups, features, dense), tasks=fit_table(self.tasks, tasks, 1, True)
        )

    def own_features(self, features: int) -> int:
        return 1

    def weights(self, tasks: int, features: int) -> Weights:
        return self.weighted_rows(np.zeros(tasks), np.ones(len(self.levels.weight)), features)

    def intercepts(self, tasks: int) -> Weights:
        return np.asarray(VALUE * self.tasks.rows(tasks, 1)[:, 0])


@when(score, Intercepts)
def _score(model, i, rows, t):
    levels = model.levels
    margin = 0.0
    if levels.own[i] != 0.0:
        margin += VALUE * get_value(model.tasks, find_weight(model.tasks, i, 0))
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            margin += dot(model.groups, levels.paths[i, level], rows, t)
    return margin


@when(allocate, Intercepts)
def _allocate(model, i, rows, t):
    levels = model.levels
    room = True
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            room = room and reserve(model.groups, levels.paths[i, level], rows, t)
    return room


@when(add, Intercepts)
def _add(model, i, c, rows, t):
    levels = model.levels
    if levels.own[i] != 0.0:
        place = get_or_insert(model.tasks, i, 0)
        second = place + offset_of(model.tasks, 1)
        descend(model.tasks, place, second, c * VALUE, model.step * levels.own[i], model.start)
    for level in range(levels.paths.shape[1]):
        group = levels.paths[i, level]
        if group >= 0:
            descend_row(model.groups, group, c, rows, t, model.step * levels.weight[group], model.start)


@when(prefetch_record, Intercepts)
def _prefetch_record(model, i, rows, t):
    levels = model.levels
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            prefetch_row(model.groups, levels.paths[i, level], rows, t)
