"""What a learner's weights are made of, for the compiled loop: a way of sharing over tables of weights.

``Grouped`` keeps raw sums (W = MΘ is formed entry by entry, O(nnz · levels) whatever the number of tasks), ``Spread``
keeps W itself and adds a column of M at each move, ``Averaged`` puts the mean of the weights beside either of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .generic import compiled, generic, when
from .prefetch import fetch, prefetch, weights_of
from .records import begin, end, value
from .tables import FeatureMajor, axpy, dot, reserve


class Levels(NamedTuple):
    """M = diag(own) + Σ_l Σ_g weight[g] 1_g 1_g', group g of level l holding the tasks i with paths[i, l] = g.

    ``members[g]`` counts the tasks known in group g. The integral of ``weight`` over the rounds is
    ``spent + weight · (rounds - since)``, exact although weights change when tasks arrive.
    """

    paths: Any
    own: Any
    weight: Any
    members: Any
    spent: Any
    since: Any


class Grouped(NamedTuple):
    """Raw sums: a row of ``groups`` for every group, a row of ``tasks`` for every task."""

    groups: Any
    tasks: Any
    levels: Levels


class Columns(NamedTuple):
    """Columns of M that are at hand: column i is ``values[slot[i]]``, missing where the slot is negative."""

    values: Any
    slot: Any


class SparseColumns(NamedTuple):
    """Sparse columns of M that are at hand: entries ``starts[s]`` to ``starts[s + 1]`` for slot s of task i."""

    rows: Any
    values: Any
    starts: Any
    slot: Any


class Spread(NamedTuple):
    """The weights W themselves, one row a task."""

    table: Any
    columns: Any


#: A difference that is so small beside what it is of is rounding: it counts as zero, so that ties are ties.
ROUNDING = 1e-14


class Averaged(NamedTuple):
    """A model and a twin that gathers its moves weighted by their round; ``clock[0]`` counts the rounds learned."""

    model: Any
    twin: Any
    clock: Any


class AveragedPairs(NamedTuple):
    """As :class:`Averaged`, the twin's sums being the second numbers of the model's tables of pairs."""

    model: Any
    twin: Any
    clock: Any


@generic
def score(model: Any, i: Any, rows: Any, t: Any) -> Any:
    """Margin of record t under the current weights of task i."""


@generic
def report(model: Any, i: Any, rows: Any, t: Any, margin: Any) -> Any:
    """Margin that is told to the user: that of the averaged weights where there are such."""


@generic
def foresee(model: Any, i: Any, rows: Any, t: Any) -> None:
    """Ask for the memory that record t of task i will need, one round ahead of it."""


@generic
def sight(model: Any, i: Any) -> None:
    """Ask for what is to be known of task i before one can foresee: of a million tasks it is in no cache."""


@generic
def diagonal(model: Any, i: Any) -> Any:
    """M_ii, which with the squared norm of x makes the squared norm of the multitask instance."""


@generic
def spread(model: Any, i: Any, rows: Any, t: Any) -> Any:
    """Variance of the margin of record t and of its label, where the model knows how sure it is of its weights."""


@generic
def ready(model: Any, i: Any, rows: Any, t: Any) -> Any:
    """Whether task i can move by record t: its column of M is at hand and the tables have room."""


@generic
def add(model: Any, i: Any, c: Any, rows: Any, t: Any) -> Any:
    """Spread a move of c times record t, made at task i, over the tasks through M."""


@generic
def adapt(model: Any) -> Any:
    """Let the relation learn from the move just made; nothing where it is fixed."""


@generic
def add_timed(model: Any, i: Any, c: Any, rows: Any, t: Any, clock: Any) -> Any:
    """Gather a move made in round ``clock`` into the twin of an averaged model."""


@generic
def mean(model: Any, twin: Any, i: Any, rows: Any, t: Any, clock: Any, margin: Any) -> Any:
    """Sum over the rounds so far of the margin that the weights before each of them give to record t.

    That of the current weights being ``margin``, only the twin is left to be read.
    """


@generic
def tick(model: Any, i: Any, agreement: Any) -> Any:
    """One more round is over, at task i, whose margin times its label was ``agreement``."""


@generic
def skip(model: Any) -> Any:
    """One more round is over, whose label nobody saw."""


@when(score, Grouped)
def _score_grouped(model: Any, i: Any, rows: Any, t: Any) -> Any:
    levels = model.levels
    margin = 0.0
    if levels.own[i] != 0.0:
        margin += levels.own[i] * dot(model.tasks, i, rows, t)
    for level in range(levels.paths.shape[1]):
        group = levels.paths[i, level]
        if group >= 0:
            margin += levels.weight[group] * dot(model.groups, group, rows, t)
    return margin


@when(diagonal, Grouped)
def diagonal_grouped(model: Any, i: Any) -> Any:
    """The own weight of a task and those of its groups."""
    levels = model.levels
    total = levels.own[i]
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            total += levels.weight[levels.paths[i, level]]
    return total


@when(ready, Grouped)
def ready_grouped(model: Any, i: Any, rows: Any, t: Any) -> Any:
    """Whether the task's row and those of its groups have room for record t."""
    levels = model.levels
    room = levels.own[i] == 0.0 or reserve(model.tasks, i, rows, t)
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            room = room and reserve(model.groups, levels.paths[i, level], rows, t)
    return room


@when(add, Grouped)
def _add_grouped(model: Any, i: Any, c: Any, rows: Any, t: Any) -> Any:
    levels = model.levels
    if levels.own[i] != 0.0:
        axpy(model.tasks, i, c, rows, t)
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            axpy(model.groups, levels.paths[i, level], c, rows, t)


@compiled
def _integral(levels: Any, group: Any, clock: Any) -> Any:
    return levels.spent[group] + levels.weight[group] * (clock - levels.since[group])


@when(add_timed, Grouped)
def _add_timed_grouped(model: Any, i: Any, c: Any, rows: Any, t: Any, clock: Any) -> Any:
    levels = model.levels
    if levels.own[i] != 0.0:
        axpy(model.tasks, i, c * levels.own[i] * clock, rows, t)
    for level in range(levels.paths.shape[1]):
        group = levels.paths[i, level]
        if group >= 0:
            axpy(model.groups, group, c * _integral(levels, group, clock), rows, t)


@when(mean, Grouped)
def _mean_grouped(model: Any, twin: Any, i: Any, rows: Any, t: Any, clock: Any, margin: Any) -> Any:
    levels = model.levels
    before = 0.0
    if levels.own[i] != 0.0:
        before += dot(twin.tasks, i, rows, t)
    for level in range(levels.paths.shape[1]):
        group = levels.paths[i, level]
        if group >= 0:
            lag = clock * levels.weight[group] - _integral(levels, group, clock)
            if lag != 0.0:  # the group's weight has changed as tasks arrived
                before += lag * dot(model.groups, group, rows, t)
            before += dot(twin.groups, group, rows, t)
    total = clock * margin - before
    return total if abs(total) > ROUNDING * abs(before) else 0.0


@when(foresee, Grouped)
def foresee_grouped(model: Any, i: Any, rows: Any, t: Any) -> None:
    """Ask for the task's row and those of its groups."""
    levels = model.levels
    if levels.own[i] != 0.0:
        fetch(model.tasks, i, rows, t)
    for level in range(levels.paths.shape[1]):
        if levels.paths[i, level] >= 0:
            fetch(model.groups, levels.paths[i, level], rows, t)


@when(sight, Grouped)
def sight_grouped(model: Any, i: Any) -> None:
    """Ask for the weight of the task's own moves, and for its groups."""
    paths = model.levels.paths
    prefetch(model.levels.own, i)
    prefetch(paths, i * paths.shape[1])


when(sight, object)(lambda model, i: None)

when(foresee, Spread)(lambda model, i, rows, t: fetch(model.table, i, rows, t))


@when(score, Spread)
def _score_spread(model: Any, i: Any, rows: Any, t: Any) -> Any:
    return dot(model.table, i, rows, t)


@generic
def entry(columns: Any, i: Any, j: Any) -> Any:
    """M_ij of a column at hand."""


@when(entry, Columns)
def _entry_dense(columns: Any, i: Any, j: Any) -> Any:
    return columns.values[columns.slot[i], j]


@when(entry, SparseColumns)
def _entry_sparse(columns: Any, i: Any, j: Any) -> Any:
    for k in range(columns.starts[columns.slot[i]], columns.starts[columns.slot[i] + 1]):
        if columns.rows[k] == j:
            return columns.values[k]
    return 0.0


@when(diagonal, Spread)
def _diagonal_spread(model: Any, i: Any) -> Any:
    return entry(model.columns, i, i)


@when(ready, Spread)
def _ready_spread(model: Any, i: Any, rows: Any, t: Any) -> Any:
    return model.columns.slot[i] >= 0 and reserve_column(model.table, model.columns, i, rows, t)


@generic
def reserve_column(table: Any, columns: Any, i: Any, rows: Any, t: Any) -> Any:
    """Make room for a record in every row that column i reaches."""


@when(reserve_column, object, Columns)
def _reserve_dense(table: Any, columns: Any, i: Any, rows: Any, t: Any) -> Any:
    for j in range(columns.values.shape[1]):
        if columns.values[columns.slot[i], j] != 0.0 and not reserve(table, j, rows, t):
            return False
    return True


@when(reserve_column, object, SparseColumns)
def _reserve_sparse_column(table: Any, columns: Any, i: Any, rows: Any, t: Any) -> Any:
    for k in range(columns.starts[columns.slot[i]], columns.starts[columns.slot[i] + 1]):
        if not reserve(table, columns.rows[k], rows, t):
            return False
    return True


@generic
def add_column(table: Any, columns: Any, i: Any, c: Any, rows: Any, t: Any) -> Any:
    """W[j] += c M_ji x for every row j that column i reaches."""


@when(add_column, FeatureMajor, Columns)
def _add_eager(table: Any, columns: Any, i: Any, c: Any, rows: Any, t: Any) -> Any:
    column = columns.values[columns.slot[i]]
    for k in range(begin(rows, t), end(rows, t)):
        weights, move = weights_of(table, rows, t, k, column.size), c * value(rows, t, k)
        for j in range(column.size):
            weights[j] += move * column[j]


@when(add_column, object, Columns)
def _add_dense(table: Any, columns: Any, i: Any, c: Any, rows: Any, t: Any) -> Any:
    for j in range(columns.values.shape[1]):
        if columns.values[columns.slot[i], j] != 0.0:
            axpy(table, j, c * columns.values[columns.slot[i], j], rows, t)


@when(add_column, object, SparseColumns)
def _add_sparse(table: Any, columns: Any, i: Any, c: Any, rows: Any, t: Any) -> Any:
    for k in range(columns.starts[columns.slot[i]], columns.starts[columns.slot[i] + 1]):
        axpy(table, columns.rows[k], c * columns.values[k], rows, t)


when(add, Spread)(lambda model, i, c, rows, t: add_column(model.table, model.columns, i, c, rows, t))
when(add_timed, Spread)(
    lambda model, i, c, rows, t, clock: add_column(model.table, model.columns, i, c * clock, rows, t)
)
when(mean, Spread)(lambda model, twin, i, rows, t, clock, margin: clock * margin - dot(twin.table, i, rows, t))


_kind: Any
for _kind in (Grouped, Spread):
    when(report, _kind)(lambda model, i, rows, t, margin: margin)
    when(tick, _kind)(lambda model, i, agreement: None)
    when(skip, _kind)(lambda model: None)
    when(adapt, _kind)(lambda model: None)


for _kind in (Averaged, AveragedPairs):
    when(sight, _kind)(lambda model, i: sight(model.model, i))
    when(score, _kind)(lambda model, i, rows, t: score(model.model, i, rows, t))
    when(diagonal, _kind)(lambda model, i: diagonal(model.model, i))
    when(adapt, _kind)(lambda model: adapt(model.model))


@when(foresee, AveragedPairs)
@when(foresee, Averaged)
def _foresee_averaged(model: Any, i: Any, rows: Any, t: Any) -> None:
    foresee(model.model, i, rows, t)
    foresee(model.twin, i, rows, t)


@when(report, AveragedPairs)
@when(report, Averaged)
def _report_averaged(model: Any, i: Any, rows: Any, t: Any, margin: Any) -> Any:
    rounds = model.clock[0]  # before the first all sums are zero
    return mean(model.model, model.twin, i, rows, t, rounds, margin) / max(rounds, 1.0)


@when(ready, AveragedPairs)
@when(ready, Averaged)
def _ready_averaged(model: Any, i: Any, rows: Any, t: Any) -> Any:
    return ready(model.model, i, rows, t) and ready(model.twin, i, rows, t)


@when(add, AveragedPairs)
@when(add, Averaged)
def _add_averaged(model: Any, i: Any, c: Any, rows: Any, t: Any) -> Any:
    add(model.model, i, c, rows, t)
    add_timed(model.twin, i, c, rows, t, model.clock[0] + 1.0)


@when(tick, AveragedPairs)
@when(tick, Averaged)
def _tick_averaged(model: Any, i: Any, agreement: Any) -> Any:
    tick(model.model, i, agreement)
    model.clock[0] += 1


@when(skip, AveragedPairs)
@when(skip, Averaged)
def _skip_averaged(model: Any) -> Any:
    skip(model.model)
    model.clock[0] += 1
