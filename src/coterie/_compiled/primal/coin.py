"""Coin betting (COCOB): learning without a learning rate, with weights for every task and every group.

Each weight bets on the sign of its next gradient with a fraction of its wealth. An update of c at task i has the
gradients g_j = c x_j in the task's own row and in that of each of its groups. With L_j the largest |g_j| of the feature
in any row,

    L_j = max(L_j, |g_j|, 1e-8),    G += |g_j|,    R = max(R + g_j w, 0),    θ += g_j,
    w = θ (ε L_j + R) / (L_j max(G + L_j, alpha L_j)),

where G starts at 1e-6, and ε, with the initial wealth ε L of a row, is ``wealth`` times the row's weight in M.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Self

import numpy as np

from coterie._compiled.core.checks import Bounds, require_rate
from coterie._compiled.core.generic import no_refcount, when
from coterie._compiled.core.records import begin, end, feature, value
from coterie._compiled.weights.table import find_weight, get_or_insert, get_value, offset_of, reserve, set_value

from .grouped import LevelModel, allocate_levels
from .round import Extent, FitTable, add, allocate

#: The initial G, and the smallest L.
START, LEAST = 1e-6, 1e-8
#: The offsets of θ, G and R from their weight.
SUM, GAINED, REWARD = 1, 2, 3
#: Numbers of a weight: w, θ, G and R.
NUMBERS = 4


class Coin(namedtuple("Coin", "groups tasks levels largest alpha wealth"), LevelModel):
    """Coin-betting model: tables with four numbers per weight, (w, θ, G - 1e-6, R), for every group and every task.

    ``largest`` has the largest gradient L of each feature.
    """

    __slots__ = ()

    def fit(self, fit_table: FitTable, groups: int, tasks: int, features: int, dense: bool) -> Self:
        model = super().fit(fit_table, groups, tasks, features, dense)
        return model._replace(largest=fit_table(self.largest, 1, features, dense))

    def to_saved(self, extent: Extent) -> Self:
        return super().to_saved(extent)._replace(largest=self.largest.part(1, extent.features))

    def check(self, bounds: Bounds) -> None:
        super().check(bounds)
        self.largest.check(1, bounds.features)
        require_rate("alpha", self.alpha)
        require_rate("wealth", self.wealth)

    def make_room(self, i: int, entries: int) -> Self:
        model = super().make_room(i, entries)
        return model._replace(largest=self.largest.make_room(np.array([0]), entries))


@no_refcount
def measure(table, n, c, rows, t):
    """Update the largest gradients of the features of record t, for an update by c; n is the number of features."""
    for k in range(begin(rows, t), end(rows, t)):
        gradient = abs(c * value(rows, t, k))
        # an entry of zero must claim no cell of a sparse table
        if gradient > 0.0:
            place = get_or_insert(table, 0, feature(rows, t, k)) + offset_of(table, n)
            set_value(table, place, max(get_value(table, place), gradient, LEAST))


@no_refcount
def bet(table, weight, sums, gains, rewards, gradient, scale, wealth, alpha):
    """Update one weight by a gradient other than zero; the arguments before it are the positions of w, θ, G and R."""
    total = get_value(table, sums) + gradient
    gained = get_value(table, gains) + abs(gradient)
    # the weight of before this gradient is the bet that it decides; a loss beyond R is cut off at 0
    reward = max(get_value(table, rewards) + gradient * get_value(table, weight), 0.0)
    set_value(table, sums, total)
    set_value(table, gains, gained)
    set_value(table, rewards, reward)
    set_value(table, weight, total * (wealth * scale + reward) / (scale * max(START + gained + scale, alpha * scale)))


@no_refcount
def _bet_row(table, row, wealth, alpha, largest, c, rows, t):
    """Update a row of weights by c times record t.

    ``wealth`` and ``alpha`` are settings of the algorithm; ``largest`` is the table of the largest gradient by feature.
    """
    sums, gains, rewards = offset_of(table, SUM), offset_of(table, GAINED), offset_of(table, REWARD)
    for k in range(begin(rows, t), end(rows, t)):
        # without a gradient there is no bet, and the denominator could be zero
        gradient = c * value(rows, t, k)
        if gradient != 0.0:
            j = feature(rows, t, k)
            scale, at = get_value(largest, find_weight(largest, 0, j)), get_or_insert(table, row, j)
            bet(table, at, at + sums, at + gains, at + rewards, gradient, scale, wealth, alpha)


@when(allocate, Coin)
def _allocate(model, i, rows, t):
    return reserve(model.largest, 0, rows, t) and allocate_levels(model, i, rows, t)


@when(add, Coin)
def _add(model, i, c, rows, t):
    levels = model.levels
    measure(model.largest, 0, c, rows, t)
    if levels.own[i] != 0.0:
        _bet_row(model.tasks, i, model.wealth * levels.own[i], model.alpha, model.largest, c, rows, t)
    for level in range(levels.paths.shape[1]):
        group = levels.paths[i, level]
        if group >= 0 and levels.weight[group] != 0.0:
            _bet_row(model.groups, group, model.wealth * levels.weight[group], model.alpha, model.largest, c, rows, t)
