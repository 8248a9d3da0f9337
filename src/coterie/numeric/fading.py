"""Weights that are forgotten: after each round every number of a table shrinks by a factor, which costs O(1).

What is stored is a number divided by the table's ``scale``; to forget is to shrink the scale. When it has become small,
all numbers are multiplied by it once, which happens after so many half-lives that it costs nothing in the mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .arenas import line
from .confidence import variance
from .generic import compiled, generic, when
from .models import Spread, adapt, add, diagonal, foresee, ready, report, score, sight, skip, spread, tick
from .prefetch import fetch
from .sparse_tables import Sparse, SparsePairs
from .tables import (
    FeatureMajor,
    Hashed,
    HashedPairs,
    RowMajor,
    RowMajorPairs,
    beside,
    claim,
    held,
    locate,
    put,
    reserve,
    touch,
)

#: Scale at which the numbers of a table are multiplied out; a float32 divided by it is still one.
LEAST = 1e-15


class Faded(NamedTuple):
    """A table of which every number counts ``scale[0]`` times what is stored."""

    table: Any
    scale: Any


class Forgetful(NamedTuple):
    """A model whose tables fade by these factors a round: what is shared, and what is a task's own."""

    model: Any
    shared: float
    own: float


@generic
def multiply(table: Any, factor: Any) -> None:
    """Multiply every number that is stored."""


_kind: Any
for _kind in (RowMajor, FeatureMajor, Hashed, RowMajorPairs, HashedPairs):

    @when(multiply, _kind)
    def _multiply_all(table: Any, factor: Any) -> None:
        for place in range(table.values.size):
            table.values[place] *= factor


for _kind in (Sparse, SparsePairs):

    @when(multiply, _kind)
    def _multiply_cells(table: Any, factor: Any) -> None:
        for row in range(table.size.size):
            for cell in range(table.start[row], table.start[row] + table.size[row]):
                place = line(table) * (cell >> 2) + 2 * (cell & 3)
                if table.features[place] >= 0:
                    at = np.uint64(place + 1)
                    table.values[at] *= factor
                    if beside(table) > 0:
                        table.values[at + beside(table)] *= factor


@compiled
def fade(table: Any, factor: Any) -> None:
    """Let every number of a table shrink by a factor: O(1) in the mean."""
    table.scale[0] *= factor
    if table.scale[0] < LEAST:
        multiply(table.table, table.scale[0])
        table.scale[0] = 1.0


@generic
def fade_all(model: Any, shared: Any, own: Any) -> None:
    """Let the tables of a model shrink."""


@when(fade_all, Spread)
def _fade_spread(model: Any, shared: Any, own: Any) -> None:
    fade(model.table, shared)


@when(fade_all, object)
def _fade_levels(model: Any, shared: Any, own: Any) -> None:
    fade(model.groups, shared)
    fade(model.tasks, own)


when(locate, Faded)(lambda table, row, feature: locate(table.table, row, feature))
when(claim, Faded)(lambda table, row, feature: claim(table.table, row, feature))
when(reserve, Faded)(lambda table, row, rows, t: reserve(table.table, row, rows, t))
when(beside, Faded)(lambda table: beside(table.table))
when(touch, Faded)(lambda table, row, rows, t: touch(table.table, row, rows, t))
when(fetch, Faded)(lambda table, row, rows, t: fetch(table.table, row, rows, t))
when(held, Faded)(lambda table, place: table.scale[0] * held(table.table, place))
when(put, Faded)(lambda table, place, number: put(table.table, place, number / table.scale[0]))


@when(tick, Forgetful)
def _tick_forgetful(model: Any, i: Any, agreement: Any) -> Any:
    tick(model.model, i, agreement)
    fade_all(model.model, model.shared, model.own)


@when(skip, Forgetful)
def _skip_forgetful(model: Any) -> Any:
    skip(model.model)
    fade_all(model.model, model.shared, model.own)


when(score, Forgetful)(lambda model, i, rows, t: score(model.model, i, rows, t))
when(report, Forgetful)(lambda model, i, rows, t, margin: margin)
when(diagonal, Forgetful)(lambda model, i: diagonal(model.model, i))
when(variance, Forgetful)(lambda model, i, rows, t: variance(model.model, i, rows, t))
when(spread, Forgetful)(lambda model, i, rows, t: spread(model.model, i, rows, t))
when(foresee, Forgetful)(lambda model, i, rows, t: foresee(model.model, i, rows, t))
when(sight, Forgetful)(lambda model, i: sight(model.model, i))
when(adapt, Forgetful)(lambda model: adapt(model.model))
when(ready, Forgetful)(lambda model, i, rows, t: ready(model.model, i, rows, t))
when(add, Forgetful)(lambda model, i, c, rows, t: add(model.model, i, c, rows, t))
