"""Diagonal AROW, with a mean and a variance for each weight of every task and every group.

The precision P added to the prior is stored next to each weight, so that an initial pair is two zeros. With the prior
variance p of its level, which is the level's weight in M, its variance is

    S = 1 / (1/p + P) = p / (1 + p P).

The multiplicative form S <- S / (1 + S x² / r) is P <- P + x² / r.
"""

from __future__ import annotations

from collections import namedtuple

from coterie._compiled.core.checks import Bounds, require_rate
from coterie._compiled.core.generic import compiled, forward, generic, no_refcount, when
from coterie._compiled.core.records import begin, end, feature, sqnorm, value, weight
from coterie._compiled.weights.table import find_weight, get_or_insert, get_value, offset_of, set_value

from .grouped import LevelModel
from .round import Wrapper, add, predictive_variance


class ConfidenceWeights(namedtuple("ConfidenceWeights", "groups tasks levels noise"), LevelModel):
    """AROW model: tables with a mean and an added precision for each weight, for every group and every task."""

    __slots__ = ()

    def check(self, bounds: Bounds) -> None:
        super().check(bounds)
        require_rate("noise", self.noise)


@no_refcount
def label_variance(noise, rows, t):
    """Return the variance of record t's label, r = noise · ‖x‖² / nnz(x), divided by the record's weight."""
    entries = 0
    for k in range(begin(rows, t), end(rows, t)):
        entries += 1 if value(rows, t, k) != 0.0 else 0
    return noise * sqnorm(rows, t) / (entries * weight(rows, t)) if entries > 0 else 0.0


@no_refcount
def row_variance(table, row, n, prior, rows, t):
    """Return the part of a margin's variance that comes from one row of weights; ``prior`` is their prior variance."""
    # Two entries' fractions are brought to one denominator: dividing is what takes longest here. Which two is decided
    # by the record's entries that are not 0, for neither its place in a block nor a stored 0 must change a bit.
    second = offset_of(table, n)
    total, before, below, even = 0.0, 0.0, 1.0, True
    for k in range(begin(rows, t), end(rows, t)):
        if value(rows, t, k) == 0.0:
            continue
        shrinkage = 1.0 + prior * get_value(table, find_weight(table, row, feature(rows, t, k)) + second)
        square = value(rows, t, k) * value(rows, t, k)
        even = not even
        if not even:
            before, below = square, shrinkage
        else:
            total += (before * shrinkage + square * below) / (below * shrinkage)
            before, below = 0.0, 1.0
    return prior * (total + before / below)


@no_refcount
def sharpen(table, place, second, x, prior, move, sharpness):
    """Update the mean and the precision of a weight; ``place`` and ``second`` are their positions.

    ``second`` is the address of its P, which increases by x² times ``sharpness``.
    """
    gained = get_value(table, second)
    set_value(table, place, get_value(table, place) + move / (1.0 + prior * gained) * x)
    set_value(table, second, gained + x * x * sharpness)


@no_refcount
def _move_row(table, row, prior, c, r, rows, t):
    second, move, sharpness = offset_of(table, 1), c * prior, 1.0 / r
    for k in range(begin(rows, t), end(rows, t)):
        place = get_or_insert(table, row, feature(rows, t, k))
        sharpen(table, place, place + second, value(rows, t, k), prior, move, sharpness)


@generic
def margin_variance(model, i, rows, t):
    """Return the variance of the margin of record t of task i."""


forward(Wrapper, margin_variance)


@when(margin_variance, ConfidenceWeights)
def _margin_variance(model, i, rows, t):
    levels = model.levels
    total = 0.0
    if levels.own[i] != 0.0:
        total += row_variance(model.tasks, i, 1, levels.own[i], rows, t)
    for level in range(levels.paths.shape[1]):
        group = levels.paths[i, level]
        if group >= 0 and levels.weight[group] != 0.0:
            total += row_variance(model.groups, group, 1, levels.weight[group], rows, t)
    return total


@compiled
def margin_variances(model, rows, tasks, out):
    """Write the variance of each record's margin to ``out``."""
    for t in range(out.size):
        out[t] = margin_variance(model, tasks[t], rows, t)


when(predictive_variance, ConfidenceWeights)(
    lambda model, i, rows, t: margin_variance(model, i, rows, t) + label_variance(model.noise, rows, t)
)


@when(add, ConfidenceWeights)
def _add(model, i, c, rows, t):
    levels = model.levels
    r = label_variance(model.noise, rows, t)
    if levels.own[i] != 0.0:
        _move_row(model.tasks, i, levels.own[i], c, r, rows, t)
    for level in range(levels.paths.shape[1]):
        group = levels.paths[i, level]
        if group >= 0 and levels.weight[group] != 0.0:
            _move_row(model.groups, group, levels.weight[group], c, r, rows, t)
