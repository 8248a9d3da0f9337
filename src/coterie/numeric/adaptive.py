"""Adaptive gradients: a weight and its sum of squared gradients, side by side, for every task and every group.

The margin is the plain sum of the levels' weights. A move of c at task i changes, in the task's own row and in that of
each of its groups, with ``rate`` = ``step`` times the level's weight in M,

    Q_j += (c x_j)²,    w_j += rate · c x_j / sqrt(start + Q_j).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .generic import compiled, generic_lent, lent, when
from .models import (
    adapt,
    add,
    foresee,
    foresee_grouped,
    ready,
    ready_grouped,
    report,
    score,
    sight,
    sight_grouped,
    skip,
    tick,
)
from .records import Csr, begin, end, feature, value
from .tables import beside, claim, dot, held, put


class Adaptive(NamedTuple):
    """Pairs (w, Q) for every group and for every task."""

    groups: Any
    tasks: Any
    levels: Any
    step: float
    start: float


@compiled
def sum_of_levels(model: Any, i: Any, rows: Any, t: Any) -> Any:
    """Margin of record t under the sum of the weights of task i and of its groups."""
    levels = model.levels
    margin = 0.0
    if levels.own[i] != 0.0:
        margin += dot(model.tasks, i, rows, t)
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            margin += dot(model.groups, levels.paths[i, level], rows, t)
    return margin


@lent
def _gather(table: Any, place: Any, gradient: Any) -> Any:
    """Add the square of a gradient to the sum beside a weight; returns the sum."""
    squares = held(table, place + beside(table)) + gradient * gradient
    put(table, place + beside(table), squares)
    return squares


@lent
def _descend_one(rows: Any, t: Any, k: Any, table: Any, row: Any, c: Any, rate: Any, start: Any) -> None:
    """Move the weight of entry k."""
    place = claim(table, row, feature(rows, t, k))
    gradient = c * value(rows, t, k)
    squares = _gather(table, place, gradient)
    put(table, place, held(table, place) + rate * gradient / math.sqrt(start + squares))


@generic_lent
def descend(rows: Any, t: Any, table: Any, row: Any, c: Any, rate: Any, start: Any) -> None:
    """Move a row of pairs by c times record t."""


@when(descend, object)
def _descend(rows: Any, t: Any, table: Any, row: Any, c: Any, rate: Any, start: Any) -> None:
    for k in range(begin(rows, t), end(rows, t)):
        _descend_one(rows, t, k, table, row, c, rate, start)


@when(descend, Csr)
def _descend_two(rows: Any, t: Any, table: Any, row: Any, c: Any, rate: Any, start: Any) -> None:
    # Processors do several of a dense record's roots and divisions at once; here two entries share a division.
    last = end(rows, t) - 1
    for k in range(begin(rows, t), last, 2):
        here, g = claim(table, row, feature(rows, t, k)), c * value(rows, t, k)
        a = math.sqrt(start + _gather(table, here, g))
        there, h = claim(table, row, feature(rows, t, k + 1)), c * value(rows, t, k + 1)
        b = math.sqrt(start + _gather(table, there, h))
        both = rate / (a * b)
        put(table, here, held(table, here) + g * (both * b))
        put(table, there, held(table, there) + h * (both * a))
    if (last - begin(rows, t)) % 2 == 0:
        _descend_one(rows, t, last, table, row, c, rate, start)


@when(add, Adaptive)
def _add_adaptive(model: Any, i: Any, c: Any, rows: Any, t: Any) -> Any:
    levels = model.levels
    if levels.own[i] != 0.0:
        descend(rows, t, model.tasks, i, c, model.step * levels.own[i], model.start)
    for level in range(levels.paths.shape[1]):
        group = levels.paths[i, level]
        if group >= 0 and levels.weight[group] != 0.0:
            descend(rows, t, model.groups, group, c, model.step * levels.weight[group], model.start)


def of_levels(kind: type) -> None:
    """Register what models of pairs by levels have in common: margins, readiness and foresight; nothing else to do."""
    when(score, kind)(lambda model, i, rows, t: sum_of_levels(model, i, rows, t))
    when(foresee, kind)(foresee_grouped)
    when(sight, kind)(sight_grouped)
    when(ready, kind)(ready_grouped)
    when(report, kind)(lambda model, i, rows, t, margin: margin)
    when(tick, kind)(lambda model, i, agreement: None)
    when(skip, kind)(lambda model: None)
    when(adapt, kind)(lambda model: None)


of_levels(Adaptive)
