"""A model in the dual form: support vectors with their tasks and coefficients, and what a budget keeps beside them.

f_i(x) = Σ_j beta_j M_(i_j i) k(x_j, x). Kernel values come from outside; the arrays here know of records no more than
their slots. What a budget does with a mistake is ``absorb``, its body chosen by the memory that the budget keeps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .generic import generic_lent, lent, when
from .models import Columns, Levels, SparseColumns

#: Places in ``counts`` of a support.
SIZE, EVICTED, PROJECTED, REPAIRED, SINCE = range(5)
#: What a walk ends with: all done; a column of M is missing; the inverse is worn out; there is no room for the
#: coefficients of one more task.
DONE, COLUMN, WORN, ROOM = range(4)
#: Places in a cursor: records done, changes of slots, the task that a column is wanted of, the first record's round.
AT, CHANGES, LACKED, BORN = range(4)


class Support(NamedTuple):
    """Support vectors by slot: task, groups of the task (a row a level, -1 for none), round, coefficient, and counts.

    ``counts`` holds how many there are, how many were evicted, mistakes that were projected, inverses that had to be
    regularised, and changes since the inverse was made afresh.
    """

    tasks: Any
    groups: Any
    births: Any
    coefficients: Any
    counts: Any


class Expansion(NamedTuple):
    """Support vectors, what the budget keeps, how tasks share, and the support vectors' records."""

    support: Support
    memory: Any
    sharing: Any
    store: Any


class Work(NamedTuple):
    """Kernel values and notes of the block that is being walked through.

    ``values`` has for every record its kernel values with the slots, ``among`` with the records of the block; ``told``
    and ``told_among`` the same for the records predicted where labels come late. ``holder`` says which record of the
    block a slot holds, -1 for none; ``slots`` and ``places`` list who was put where. ``cursor`` says how far it is.
    """

    values: Any
    among: Any
    told: Any
    told_among: Any
    holder: Any
    slots: Any
    places: Any
    shares: Any
    weights: Any
    along: Any
    cursor: Any


@generic_lent
def at_hand(sharing: Any, i: Any) -> Any:
    """Whether M's entries for task i can be read."""


@generic_lent
def shares(sharing: Any, support: Any, n: Any, i: Any, out: Any) -> None:
    """M_(i_j i) for the tasks i_j of the first n support vectors."""


@generic_lent
def enter(sharing: Any, model: Any, work: Any, slot: Any, t: Any, i: Any, coefficient: Any) -> None:
    """Note how the tasks share in record t of the block, of task i, which is about to be put into a slot."""


@generic_lent
def turn_over(sharing: Any) -> None:
    """End a round."""


@generic_lent
def own_share(sharing: Any, i: Any) -> Any:
    """M_ii."""


@generic_lent
def weigh(memory: Any, model: Any, i: Any, work: Any) -> None:
    """Put into ``work.weights`` what the kernel values with the support vectors count for task i."""


@generic_lent
def scale(memory: Any) -> Any:
    """What all coefficients are to be multiplied with."""


@generic_lent
def wanted(memory: Any, agreement: Any) -> Any:
    """Whether a record is to be learned at y·margin = ``agreement``."""


@generic_lent
def settle(memory: Any) -> None:
    """Make what the memory has put off while a block is gone through."""


@generic_lent
def absorb(memory: Any, model: Any, work: Any, t: Any, i: Any, y: Any, agreement: Any, turns: Any, s: Any) -> Any:
    """Learn record t of the block, which is the s-th of the turns; what it lacks, in which case nothing has changed."""


when(at_hand, Levels)(lambda sharing, i: True)
when(at_hand, object)(lambda sharing, i: sharing.slot[i] >= 0)


@when(enter, Levels)
def _enter_levels(sharing: Any, model: Any, work: Any, slot: Any, t: Any, i: Any, coefficient: Any) -> None:
    for level in range(sharing.paths.shape[1]):
        model.support.groups[level, slot] = sharing.paths[i, level]


when(enter, object)(lambda sharing, model, work, slot, t, i, coefficient: None)
when(turn_over, object)(lambda sharing: None)


@when(shares, Levels)
def _shares_of_levels(sharing: Any, support: Any, n: Any, i: Any, out: Any) -> None:
    own = sharing.own[i]
    for j in range(n):
        out[j] = own if support.tasks[j] == i else 0.0
    for level in range(sharing.paths.shape[1]):
        group = sharing.paths[i, level]
        if group >= 0:
            weight, groups = sharing.weight[group], support.groups[level]
            for j in range(n):
                out[j] += weight if groups[j] == group else 0.0


@when(shares, Columns)
def _shares_of_columns(sharing: Any, support: Any, n: Any, i: Any, out: Any) -> None:
    column = sharing.values[sharing.slot[i]]
    for j in range(n):
        out[j] = column[support.tasks[j]]


@when(shares, SparseColumns)
def _shares_of_sparse_columns(sharing: Any, support: Any, n: Any, i: Any, out: Any) -> None:
    first, last = sharing.starts[sharing.slot[i]], sharing.starts[sharing.slot[i] + 1]
    rows, values = sharing.rows[first:last], sharing.values[first:last]
    for j in range(n):
        place = np.searchsorted(rows, support.tasks[j])
        out[j] = values[place] if place < rows.size and rows[place] == support.tasks[j] else 0.0


@when(own_share, Levels)
def _own_of_levels(sharing: Any, i: Any) -> Any:
    total = sharing.own[i]
    for level in range(sharing.paths.shape[1]):
        if sharing.paths[i, level] >= 0:
            total += sharing.weight[sharing.paths[i, level]]
    return total


when(own_share, Columns)(lambda sharing, i: sharing.values[sharing.slot[i], i])


@when(own_share, SparseColumns)
def _own_of_sparse_columns(sharing: Any, i: Any) -> Any:
    first, last = sharing.starts[sharing.slot[i]], sharing.starts[sharing.slot[i] + 1]
    return sharing.values[first + np.searchsorted(sharing.rows[first:last], i)]


@lent
def margin(weights: Any, values: Any, n: Any) -> Any:
    """Σ_j weights_j values_j; a sum that is nothing but rounding is zero, so that ties are ties in every order."""
    total = np.dot(weights[:n], values[:n])
    if abs(total) < 1e-6:
        size = 0.0
        for j in range(n):
            size += abs(weights[j] * values[j])
        if abs(total) <= 1e-13 * size:
            total = 0.0
    return total


@lent
def patch(values: Any, among: Any, work: Any) -> None:
    """Bring one record's kernel values up to the slots that have changed hands in this block."""
    for each in range(work.cursor[CHANGES]):
        values[work.slots[each]] = among[work.places[each]]


@lent
def place(model: Any, work: Any, slot: Any, t: Any, i: Any, coefficient: Any) -> None:
    """Put record t of the block, of task i, into a slot."""
    support, cursor = model.support, work.cursor
    enter(model.sharing, model, work, slot, t, i, coefficient)
    support.tasks[slot] = i
    support.births[slot] = cursor[BORN] + t
    support.coefficients[slot] = coefficient
    work.holder[slot] = t
    work.slots[cursor[CHANGES]], work.places[cursor[CHANGES]] = slot, t
    cursor[CHANGES] += 1
