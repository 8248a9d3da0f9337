"""AdaGrad with two numbers, weight and sum of squared gradients, per feature of every task and every group.

The margin is the sum of the weights of all levels. An update of c at task i changes the task's own row and that of each
of its groups, with ``rate`` = ``step`` times the level's weight in M,

    Q_j += (c x_j)²,    w_j += rate · c x_j / sqrt(start + Q_j).
"""

from __future__ import annotations

import math
from collections import namedtuple

from coterie._compiled.core.checks import Bounds, require_rate
from coterie._compiled.core.generic import no_refcount, when
from coterie._compiled.core.records import begin, end, feature, value
from coterie._compiled.weights.table import get_or_insert, get_value, offset_of, set_value

from .grouped import LevelModel
from .round import add


class Adaptive(namedtuple("Adaptive", "groups tasks levels step start"), LevelModel):
    """AdaGrad model: tables with a weight w and a sum Q of squared gradients, for every group and every task."""

    __slots__ = ()

    def check(self, bounds: Bounds) -> None:
        super().check(bounds)
        require_rate("step", self.step)
        require_rate("start", self.start)


@no_refcount
def descend(table, place, second, gradient, rate, start):
    """Update a weight by its gradient; ``place`` and ``second`` are the positions of the weight and of its Q."""
    # the present gradient counts in its own rate, so that the first step is no longer than the rate
    squares = get_value(table, second) + gradient * gradient
    set_value(table, second, squares)
    set_value(table, place, get_value(table, place) + rate * gradient / math.sqrt(start + squares))


@no_refcount
def descend_row(table, row, c, rows, t, rate, start):
    """Update a row of a table of weights by the gradient -c · x of record t."""
    second = offset_of(table, 1)
    for k in range(begin(rows, t), end(rows, t)):
        place = get_or_insert(table, row, feature(rows, t, k))
        descend(table, place, place + second, c * value(rows, t, k), rate, start)


@when(add, Adaptive)
def _add(model, i, c, rows, t):
    levels = model.levels
    if levels.own[i] != 0.0:
        descend_row(model.tasks, i, c, rows, t, model.step * levels.own[i], model.start)
    for level in range(levels.paths.shape[1]):
        group = levels.paths[i, level]
        if group >= 0 and levels.weight[group] != 0.0:
            descend_row(model.groups, group, c, rows, t, model.step * levels.weight[group], model.start)
