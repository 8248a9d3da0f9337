"""Dual models: support vectors with tasks, coefficients and records, and the state of their budget.

f_i(x) = Σ_j beta_j M_(i_j i) k(x_j, x). Kernel values are computed elsewhere. The update at a mistake is ``absorb``,
with one body per type of budget.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped, resized
from coterie._compiled.core.checks import (
    MOST_ROUNDS,
    Bounds,
    require,
    require_counts,
    require_finite,
    require_shape,
    require_within,
)
from coterie._compiled.core.generic import generic_no_refcount, no_refcount, when
from coterie._compiled.core.points import Points
from coterie._compiled.primal.grouped import Levels, diagonal_of
from coterie._compiled.primal.spread import Columns, SparseColumns

from .stores import Store

#: Places in ``counts`` of a support.
SIZE, EVICTED, PROJECTED, REPAIRED, SINCE = range(5)
#: Why a walk ends: all is done; a column of M is missing; the inverse has lost its digits; there is no room for the
#: coefficients of one more task.
DONE, COLUMN, WORN, ROOM = range(4)
#: Places in a cursor: records done, changes of slots, the task whose column is missing, the first record's round.
AT, CHANGES, LACKED, BORN = range(4)


class Support(NamedTuple):
    """Arrays with one entry per slot of a support vector: task, groups, round and coefficient; and counts.

    ``counts`` has the numbers of support vectors, evictions, projected mistakes, regularised inverses, and changes
    since the inverse was last computed from the Gram matrix.
    """

    tasks: Any
    groups: Any
    births: Any
    coefficients: Any
    counts: Any

    @classmethod
    def empty(cls, levels: int) -> Self:
        """Return an empty set of support vectors, for tasks in ``levels`` levels of groups."""
        none = np.zeros(0, np.int64)
        return cls(none, np.zeros((levels, 0), np.int64), none.copy(), np.zeros(0), np.zeros(5, np.int64))

    def select(self, slots: NDArray[np.int64], tasks: NDArray[np.int64]) -> Self:
        """Return the support vectors in these slots; ``tasks`` are their new task numbers."""
        counts, groups = self.counts.copy(), np.ascontiguousarray(self.groups[:, slots])
        counts[SIZE] = len(slots)
        return type(self)(tasks, groups, self.births[slots], self.coefficients[slots], counts)

    def check(self, bounds: Bounds) -> None:
        """Raise ValueError for more support vectors than slots, or for unknown tasks or groups."""
        require_counts("counts", self.counts, 5)
        slots, n = len(self.tasks), int(self.counts[SIZE])
        require(n <= slots, f"{n} support vectors do not fit into {slots} slots")
        for name, array in (("births", self.births), ("coefficients", self.coefficients)):
            require_shape(name, array, slots)
        levels = bounds.paths.shape[1]
        require_shape("groups", self.groups, levels, slots)
        require_within("tasks of support vectors", self.tasks[:n], 0, bounds.tasks - 1)
        require_within("births", self.births, 0, MOST_ROUNDS)
        require_finite("coefficients", self.coefficients[:n])
        if levels:
            same = bounds.paths[self.tasks[:n]] == self.groups[:, :n].T
            require(same.all(), "support vectors are in other groups than their tasks")

    def with_room(self, capacity: int) -> Self:
        """Resize to this many slots, or to the number of support vectors if that is larger."""
        if capacity <= len(self.tasks):
            return self
        groups = resized(self.groups, (len(self.groups), capacity))
        flat = (resized(array, (capacity,)) for array in (self.tasks, self.births, self.coefficients))
        tasks, births, coefficients = flat
        return type(self)(tasks, groups, births, coefficients, self.counts)

    def to_saved(self, size: int) -> Self:
        """Return the first ``size`` slots; the others are unused."""
        tasks, births, coefficients = (array[:size] for array in (self.tasks, self.births, self.coefficients))
        return type(self)(tasks, self.groups[:, :size], births, coefficients, self.counts)


@runtime_checkable
class SlotMemory(Protocol):
    """Interface of budget states that have one entry per slot of a support vector, or per task."""

    def to_saved(self, size: int, tasks: int) -> Any:
        """Return the state without unused capacity."""


class Expansion(NamedTuple):
    """A kernel model in dual form: support vectors, their records, the state of the budget, and the relation."""

    support: Support
    memory: Any
    sharing: Any
    store: Store

    @property
    def size(self) -> int:
        """The number of support vectors."""
        return int(self.support.counts[SIZE])

    def drop_tasks(self, dropped: Dropped, groups: NDArray[np.int64]) -> Self:
        """Remove the support vectors of tasks. The caller recomputes the inverse of the Gram matrix."""
        tasks = dropped.renumbered(self.support.tasks[: self.support.counts[SIZE]])
        slots = np.flatnonzero(tasks >= 0)
        memory = self.memory.drop_tasks(dropped, slots, groups, self.sharing)
        return self._replace(
            support=self.support.select(slots, tasks[slots]), memory=memory, store=self.store.select(slots)
        )

    def points(self, n: int | None = None) -> Points:
        """Return the records in the first ``n`` slots, by default those of all support vectors."""
        return self.store.points(self.size if n is None else n, self.support.births)

    def without_records(self) -> Expansion:
        """Return the model without records, for compiled code that reads kernel values instead."""
        return self._replace(store=None)  # type: ignore[arg-type]

    def to_saved(self, tasks: int) -> Expansion:
        """Return the model without unused capacity."""
        size = self.size
        memory = self.memory.to_saved(size, tasks) if isinstance(self.memory, SlotMemory) else self.memory
        return self._replace(support=self.support.to_saved(size), memory=memory, store=self.store.to_saved(size))

    def check(self, bounds: Bounds) -> None:
        """Raise ValueError for arrays with indices out of range, or for an invalid budget state."""
        self.support.check(bounds)
        self.memory.check(self.support, bounds)
        self.store.check(len(self.support.tasks), bounds.features)


@runtime_checkable
class Budget(Protocol):
    """Interface of budgets, which choose the support vectors to remove. Their state is a named tuple.

    ``size`` is the maximum number of support vectors, None without a limit. ``gram`` names the inverse Gram matrix in
    the state, of the multitask kernel or of the plain kernel. If ``uses_diagonal``, the state needs max_i M_ii in
    ``top``.
    """

    @property
    def size(self) -> int | None: ...

    @property
    def gram(self) -> Literal["multitask", "plain"] | None: ...

    @property
    def uses_diagonal(self) -> bool: ...

    def memory(self, form: str) -> Any:
        """Return the initial state, for a relation in the form of "levels" or "columns"."""

    def fit(self, memory: Any, capacity: int, paths: NDArray[np.int64], tasks: int) -> Any:
        """Resize the state for this many support vectors and tasks; ``paths`` are the groups of each task."""


class KernelWork(NamedTuple):
    """The kernel values of the current block of records, and working arrays for the loop.

    ``values`` has every record's kernel values with the slots, ``among`` with the records of the block; ``pending`` and
    ``pending_among`` are the same for records to predict with delayed labels. ``holder`` is the record of the block in
    a slot, -1 for none; ``slots`` and ``places`` list the replacements. ``cursor`` is the current position.
    """

    values: Any
    among: Any
    pending: Any
    pending_among: Any
    holder: Any
    slots: Any
    places: Any
    shares: Any
    weights: Any
    along: Any
    cursor: Any


@generic_no_refcount
def has_column(sharing, i):
    """Return True if column i of the relation matrix M has been computed."""


@generic_no_refcount
def shares(sharing, support, n, i, out):
    """Fill ``out`` with the entries of M between task i and the tasks of the first n support vectors."""


@generic_no_refcount
def store_groups(sharing, support, slot, i):
    """Store the groups of task i in a slot before a support vector is stored there."""


@generic_no_refcount
def diagonal_entry(sharing, i):
    """Return the diagonal entry M_ii of the relation matrix."""


@generic_no_refcount
def column_entry(sharing, i, task):
    """Return the entry of the relation matrix M in column i, which must have been computed, and row ``task``."""


@generic_no_refcount
def weigh(memory, model, i, work):
    """Write the weights with which kernel values enter the margin of task i to ``work.weights``."""


@generic_no_refcount
def scale(memory):
    """Return the common factor of all stored coefficients."""


@generic_no_refcount
def wanted(memory, signed_margin):
    """Return True if a record triggers an update; ``signed_margin`` is its y · margin."""


@generic_no_refcount
def apply_pending(memory):
    """Apply changes that were postponed to the end of the block."""


@generic_no_refcount
def absorb(memory, model, work, t, i, y, signed_margin, turns, s):
    """Update the support vectors by record t of the block after a mistake.

    Return ``DONE``, or a code for data that must be provided first; then nothing has changed.
    """


when(has_column, Levels)(lambda sharing, i: True)
when(has_column, object)(lambda sharing, i: sharing.slot[i] >= 0)


@when(store_groups, Levels)
def _store_groups(sharing, support, slot, i):
    for level in range(sharing.paths.shape[1]):
        support.groups[level, slot] = sharing.paths[i, level]


when(store_groups, object)(lambda sharing, support, slot, i: None)


@when(shares, Levels)
def _shares_of_levels(sharing, support, n, i, out):
    own = sharing.own[i]
    for j in range(n):
        # M_ij = own_i [i = j] + Σ_g weight_g over the groups that both tasks share
        out[j] = own if support.tasks[j] == i else 0.0
    for level in range(sharing.paths.shape[1]):
        group = sharing.paths[i, level]
        if group >= 0:
            weight, groups = sharing.weight[group], support.groups[level]
            for j in range(n):
                out[j] += weight if groups[j] == group else 0.0


@when(shares, Columns)
def _shares_of_columns(sharing, support, n, i, out):
    column = sharing.values[sharing.slot[i]]
    for j in range(n):
        out[j] = column[support.tasks[j]]


@when(shares, SparseColumns)
def _shares_of_sparse_columns(sharing, support, n, i, out):
    first, last = sharing.starts[sharing.slot[i]], sharing.starts[sharing.slot[i] + 1]
    rows, values = sharing.rows[first:last], sharing.values[first:last]
    for j in range(n):
        # rows of a sparse column ascend, and only those of a few tasks are stored
        place = np.searchsorted(rows, support.tasks[j])
        out[j] = values[place] if place < rows.size and rows[place] == support.tasks[j] else 0.0


when(diagonal_entry, Levels)(lambda sharing, i: diagonal_of(sharing, i))
when(diagonal_entry, Columns)(lambda sharing, i: column_entry(sharing, i, i))
when(diagonal_entry, SparseColumns)(lambda sharing, i: column_entry(sharing, i, i))

when(column_entry, Columns)(lambda sharing, i, task: sharing.values[sharing.slot[i], task])


@when(column_entry, SparseColumns)
def _sparse_entry(sharing, i, task):
    first, last = sharing.starts[sharing.slot[i]], sharing.starts[sharing.slot[i] + 1]
    spot = first + np.searchsorted(sharing.rows[first:last], task)
    return sharing.values[spot] if spot < last and sharing.rows[spot] == task else 0.0


@no_refcount
def margin(weights, values, n):
    """Return the sum of products of weights and values; sums within rounding error are 0, for any order."""
    # BLAS adds in an order of its own
    total = np.dot(weights[:n], values[:n])
    # the sizes of terms are summed only where a tie is possible, for most margins are far from zero
    if abs(total) < 1e-6:
        size = 0.0
        for j in range(n):
            size += abs(weights[j] * values[j])
        if abs(total) <= 1e-13 * size:
            total = 0.0
    return total


@no_refcount
def patch(values, among, work):
    """Correct the kernel values of a record for the slots that were replaced since they were computed."""
    # in the order of the changes: a slot may have changed hands twice
    for change in range(work.cursor[CHANGES]):
        values[work.slots[change]] = among[work.places[change]]


@no_refcount
def place(model, work, slot, t, i, coefficient):
    """Store record t of the block, of task i, with this coefficient as support vector in a slot."""
    support, cursor = model.support, work.cursor
    store_groups(model.sharing, support, slot, i)
    support.tasks[slot] = i
    support.births[slot] = cursor[BORN] + t
    support.coefficients[slot] = coefficient
    work.holder[slot] = t
    # kernel values of later records are patched by this list when their turn comes
    work.slots[cursor[CHANGES]], work.places[cursor[CHANGES]] = slot, t
    cursor[CHANGES] += 1
