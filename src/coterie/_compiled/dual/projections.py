"""Budgets that project a removed support vector on the remaining ones, by the inverse Gram matrix: O(B²) per mistake.

Every support vector has either one coefficient and is projected under the relation, or one coefficient per task. Each
mistake costs O(B²).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped, resized, roomy
from coterie._compiled.core.checks import Bounds, require, require_rate, require_rows, require_shape, require_within
from coterie._compiled.core.generic import generic, noinline, when
from coterie._compiled.core.points import Kernel
from coterie._compiled.primal.grouped import Levels

from .eviction import require_budget
from .expansion import (
    EVICTED,
    PROJECTED,
    REPAIRED,
    ROOM,
    SINCE,
    SIZE,
    WORN,
    Expansion,
    Support,
    absorb,
    apply_pending,
    column_entry,
    diagonal_entry,
    place,
    wanted,
    weigh,
)
from .inverses import apply_waiting, border, cheapest, inverse_of, project, replace

Matrix = NDArray[np.float64]
Codes = NDArray[np.int64]

#: An inverse Gram matrix is recomputed after this many changes per support vector, and at least this many changes.
FRESH, FEWEST = 16, 64
#: Instead of a slot: the vector is not to be stored; the inverse has lost its digits.
NOWHERE, WORN_OUT = -1, -2


class Projected(NamedTuple):
    """The state of projections with one coefficient per support vector (mtbprj, CC12 Algorithm 1).

    ``limit`` is eta², ``inverse`` the inverse C of their Gram matrix under the relation, ``waiting`` its pending
    change, ``spare`` has room for four vectors. With ``plus`` 1, margin errors y·margin < 1 are learned too
    (Projectron++: Orabona, Keshet and Caputo 2008; FOR09 §4.2.3).
    """

    size: int
    limit: float
    plus: int
    inverse: Any
    waiting: Any
    spare: Any

    @classmethod
    def empty(cls, size: int, limit: float, plus: int = 0) -> Self:
        """Return the initial state."""
        return cls(size, limit, plus, **_new_inverse(0))

    def check(self, support: Any, bounds: Bounds) -> None:
        """Raise ValueError for an inverse of the wrong shape."""
        _check_inverse(self, support)

    def with_room(self, capacity: int) -> Self:
        """Resize the state for this many support vectors."""
        return self._replace(**_inverse_with_room(self, capacity))

    def to_saved(self, size: int, tasks: int) -> Self:
        """Return the state without unused capacity and working arrays."""
        return self._replace(**_saved_inverse(self, size))

    def drop_tasks(self, dropped: Dropped, slots: Codes, groups: Codes, sharing: Any) -> Self:
        """Return the state for the support vectors in these slots; the caller recomputes the inverse."""
        return self._replace(**_new_inverse(len(slots)))


class SharedByGroups(NamedTuple):
    """The state of projections with coefficients per task (mtbprj-2, CC12 Alg. 2), for relations of nested groups.

    ``raw`` has a row for every task with an update, ``row`` the row number of a task, -1 for none, ``owner`` the task
    of a row, and ``taken`` the number of rows. ``sums`` has a row for every group with the sum of its tasks' raw rows,
    ``scaled`` the sum of the rows times the task's own weight, and ``squares`` the sum over all tasks of the square of
    that. ``above`` is the parent of a group, -1 for none.
    """

    size: int
    limit: float
    inverse: Any
    waiting: Any
    spare: Any
    raw: Any
    row: Any
    owner: Any
    taken: Any
    sums: Any
    scaled: Any
    squares: Any
    above: Any

    @classmethod
    def empty(cls, size: int, limit: float) -> Self:
        """Return the initial state."""
        none, (raw, sums, scaled) = np.zeros(0, np.int64), (np.zeros((0, 0)) for _ in range(3))
        of_tasks = {"raw": raw, "row": none, "owner": none.copy(), "taken": np.zeros(1, np.int64)}
        of_groups = {"sums": sums, "scaled": scaled, "squares": np.zeros(0), "above": none.copy()}
        return cls(size, limit, **_new_inverse(0), **of_tasks, **of_groups)

    def check(self, support: Any, bounds: Bounds) -> None:
        """Raise ValueError for coefficients of wrong shape, or unknown tasks or groups."""
        _check_inverse(self, support)
        slots, taken = len(support.tasks), int(self.taken[0]) if len(self.taken) == 1 else -1
        groups, above = len(self.above), _above(bounds.paths)
        require_shape("raw", self.raw, len(self.owner), slots)
        require(0 <= taken <= len(self.owner), f"{taken} rows of coefficients are taken of {len(self.owner)}")
        require_shape("sums", self.sums, groups, slots)
        require_shape("scaled", self.scaled, groups, slots)
        require_shape("squares", self.squares, slots)
        require(not slots or np.array_equal(self.above, above), "the groups of coefficients are not those of tasks")
        require(len(self.row) <= bounds.tasks, "there are coefficients of more tasks than there are")
        require_within("row", self.row, -1, taken - 1)
        owners = np.flatnonzero(self.row >= 0)
        fits = len(owners) == taken and np.array_equal(self.owner[self.row[owners]], owners)
        require(fits and len(np.unique(self.row[owners])) == taken, "rows of coefficients are not one a task")

    def with_room(self, capacity: int, paths: Codes, tasks: int) -> Self:
        """Resize the state for this many support vectors and tasks; ``paths`` are the groups of each task."""
        above = _above(paths)
        above = resized(above, (max(len(above), len(self.sums)),), -1)
        groups = len(above), capacity
        return self._replace(
            **_inverse_with_room(self, capacity),
            raw=resized(self.raw, (len(self.raw), capacity)),
            row=resized(self.row, (tasks,), -1),
            sums=resized(self.sums, groups),
            scaled=resized(self.scaled, groups),
            squares=resized(self.squares, (capacity,)),
            above=above,
        )

    def to_saved(self, size: int, tasks: int) -> Self:
        """Return the state without unused capacity."""
        rows, groups = int(self.taken[0]), len(self.above)
        return self._replace(
            raw=self.raw[:rows, :size],
            owner=self.owner[:rows],
            row=self.row[:tasks],
            sums=self.sums[:groups, :size],
            scaled=self.scaled[:groups, :size],
            squares=self.squares[:size],
            **_saved_inverse(self, size),
        )

    def drop_tasks(self, dropped: Dropped, slots: Codes, groups: Codes, sharing: Levels) -> Self:
        """Remove tasks, but keep the support vectors in these slots and the groups' sums.

        ``sharing`` is that of the tasks that remain.
        """
        owner = dropped.renumbered(self.owner[: self.taken[0]])
        rows_left = np.flatnonzero(owner >= 0)
        raw, owner = self.raw[np.ix_(rows_left, slots)], owner[rows_left]
        row = np.full(dropped.left, -1)
        row[owner] = np.arange(len(rows_left))
        sums = self.sums[:, slots]
        # these groups have no task any more; in all others the moves of dropped tasks stay in the sum
        sums[groups] = 0.0
        # sums over tasks, so only over those that remain
        own, scaled = sharing.own[owner][:, None] * raw, np.zeros_like(sums)
        for level in sharing.paths[owner].T:
            np.add.at(scaled, level[level >= 0], own[level >= 0])
        return self._replace(
            **_new_inverse(len(slots)),
            raw=np.ascontiguousarray(raw),
            row=row,
            owner=owner,
            taken=np.array([len(rows_left)]),
            sums=np.ascontiguousarray(sums),
            scaled=scaled,
            squares=(own * own).sum(axis=0),
        )

    def with_more_rows(self) -> Self:
        """Add capacity for the coefficients of half as many more tasks."""
        rows = max(4, len(self.raw) + len(self.raw) // 2)
        return self._replace(raw=resized(self.raw, (rows, self.raw.shape[1])), owner=resized(self.owner, (rows,)))


class SharedByTasks(NamedTuple):
    """The state of projections with coefficients per task (mtbprj-2), for any relation: one row for every task."""

    size: int
    limit: float
    inverse: Any
    waiting: Any
    spare: Any
    beta: Any

    @classmethod
    def empty(cls, size: int, limit: float) -> Self:
        """Return the initial state."""
        return cls(size, limit, **_new_inverse(0), beta=np.zeros((0, 0)))

    def check(self, support: Any, bounds: Bounds) -> None:
        """Raise ValueError for coefficients of wrong shape."""
        _check_inverse(self, support)
        slots = len(support.tasks)
        require_shape("beta", self.beta, bounds.tasks if slots else len(self.beta), slots)
        require_rows("tasks", self.beta[: bounds.tasks], len(self.beta))

    def with_room(self, capacity: int, paths: Codes, tasks: int) -> Self:
        """Resize the state for this many support vectors and tasks."""
        beta = resized(self.beta, (roomy(len(self.beta), tasks), capacity))
        return self._replace(**_inverse_with_room(self, capacity), beta=beta)

    def to_saved(self, size: int, tasks: int) -> Self:
        """Return the state without unused capacity."""
        return self._replace(beta=self.beta[:tasks, :size], **_saved_inverse(self, size))

    def drop_tasks(self, dropped: Dropped, slots: Codes, groups: Codes, sharing: Any) -> Self:
        """Return the state for the support vectors in these slots, without the coefficients of dropped tasks."""
        beta = np.ascontiguousarray(self.beta[:, slots])
        beta[dropped.rows[dropped.rows < len(beta)]] = 0.0
        return self._replace(**_new_inverse(len(slots)), beta=beta)


def _check_inverse(memory: Any, support: Any) -> None:
    """Raise ValueError for too many support vectors, or an inverse of wrong shape."""
    require_budget(support, memory.size)
    slots = len(support.tasks)
    require_rate("the limit of the projection residual", memory.limit)
    require_shape("inverse", memory.inverse, slots, slots)
    require_shape("waiting", memory.waiting, 2, slots)
    require_shape("spare", memory.spare, 4, slots)


def _shapes(slots: int) -> dict[str, tuple[int, int]]:
    """Return the shapes of the inverse Gram matrix, its pending change, and working vectors for this many slots."""
    return {"inverse": (slots, slots), "waiting": (2, slots), "spare": (4, slots)}


def _new_inverse(slots: int) -> dict[str, Any]:
    """Return new arrays for the inverse Gram matrix, its pending change, and working vectors."""
    return {name: np.zeros(shape) for name, shape in _shapes(slots).items()}


def _inverse_with_room(memory: Any, slots: int) -> dict[str, Any]:
    """Resize the inverse, its pending change, and working vectors to this many support vectors."""
    return {name: resized(getattr(memory, name), shape) for name, shape in _shapes(slots).items()}


def _saved_inverse(memory: Any, size: int) -> dict[str, Any]:
    """Return the inverse and its pending change without unused capacity; working vectors are set to zero."""
    return _new_inverse(size) | {"inverse": memory.inverse[:size, :size], "waiting": memory.waiting[:, :size]}


def _above(paths: Codes) -> Codes:
    """Return the parent of each group, -1 for the widest groups, from the groups of all tasks."""
    above = np.full(int(paths.max(initial=-1)) + 1, -1, np.int64)
    for level in range(1, paths.shape[1]):
        inside = paths[:, level] >= 0
        above[paths[inside, level]] = paths[inside, level - 1]
    return above


def is_due(support: Support) -> bool:
    """Return True if the inverse has been changed so often that it must be recomputed."""
    return bool(support.counts[SINCE] >= max(FEWEST, FRESH * int(support.counts[SIZE])))


def refresh(model: Expansion, kernel: Kernel, shares: Matrix | None) -> None:
    """Recompute the inverse of the Gram matrix in place: O(B² d + B³) for B support vectors of d features.

    ``shares`` is M for the tasks of the support vectors, (B, B), or None where the Gram matrix is the kernel's alone.
    """
    n, counts, records = int(model.support.counts[SIZE]), model.support.counts, model.points()
    H = np.zeros((n, n))
    kernel.values(records, records, H)
    if shares is not None:
        H *= shares
    model.memory.inverse[:n, :n], repaired = inverse_of(H)
    counts[REPAIRED] += repaired
    counts[SINCE] = 0


@generic
def gather(memory, sharing, i, y, n, along):
    """Add y times the coefficients ``along`` to those of task i; n is the number of support vectors."""


@generic
def costs(memory, sharing, n, out):
    """Write the norm of each support vector's coefficients over all tasks to ``out``."""


@generic
def distribute_coefficients(memory, sharing, n, r, along, last, i, y):
    """Give the coefficients of slot r to the other support vectors, and store the new vector there.

    ``along`` are the coefficients of the projection of r on the others.
    """


@generic
def has_row(memory, sharing, i):
    """Return True if there is space for the coefficients of task i."""


when(wanted, object)(lambda memory, signed_margin: signed_margin <= 0.0)
when(wanted, Projected)(
    lambda memory, signed_margin: signed_margin <= 0.0 or (memory.plus == 1 and signed_margin < 1.0)
)

_kind: Any
for _kind in (Projected, SharedByGroups, SharedByTasks):
    when(apply_pending, _kind)(lambda memory: apply_waiting(memory.inverse, memory.waiting))
when(apply_pending, object)(lambda memory: None)


# -- one coefficient a support vector ---------------------------------------------------------------------------------


@when(absorb, Projected)
def _absorb_projected(m, model, work, t, i, y, signed_margin, turns, s):
    # left is ‖δ‖² = k(x, x) - ‖P k‖², the squared norm of the part of the instance outside the span
    left, whole = _residual(m, model, work, t, i), work.among[t, t] * diagonal_entry(model.sharing, i)
    if _worn(model.support, left, whole):
        return WORN
    if signed_margin <= 0.0:
        return _mistake(m, model, work, t, i, y, left, turns, s)
    # margin error 0 < y f < 1 of Projectron++: loss 1 - y f, and ‖δ‖ / eta because limit is eta²
    loss, short = 1.0 - signed_margin, np.sqrt(max(left, 0.0) / m.limit)
    # ‖P k‖² by Pythagoras
    length = whole - max(left, 0.0)
    if loss > short and length > 0.0:
        # tau = min{loss / ‖P k‖², 2 (loss - ‖δ‖ / eta) / ‖P k‖², 1}, a step that never adds a support vector
        tau = min(loss / length, 2.0 * (loss - short) / length, 1.0)
        for j in range(model.support.counts[SIZE]):
            model.support.coefficients[j] += tau * y * work.along[j]
        turns.step_sizes[s] = tau
    return 0


@noinline
def _residual(memory, model, work, t, i):
    """Return the squared distance of record t of task i from the span of the support vectors.

    The coefficients of its projection are written to ``along``.
    """
    n, k = model.support.counts[SIZE], memory.spare[0]
    for j in range(n):
        # K([x, i], [x', j]) = M_ij k(x, x') of CC12 §3; weighing the record has left M's entries in shares
        k[j] = work.shares[j] * work.values[t, j]
    whole = work.among[t, t] * diagonal_entry(model.sharing, i)
    return whole - project(memory.inverse, memory.waiting, k, n, work.along)


@noinline
def _worn(support, left, whole):
    """Return True if a squared distance is negative by more than rounding; the inverse must then be recomputed."""
    # right after a refresh the kernel itself is indefinite, and a further refresh would not help
    # "not >=" instead of "<" because comparisons with NaN are false: NaN asks for a refresh, too
    return not left >= -1e-9 * abs(whole) and support.counts[SINCE] > 0


@noinline
def _mistake(memory, model, work, t, i, y, left, turns, s):
    support, beta, n = model.support, model.support.coefficients, model.support.counts[SIZE]
    r = _slot(memory, support, work, left, beta)
    if r == WORN_OUT:
        return WORN
    if r == NOWHERE:
        # CC12 Algorithm 1 line 6: only the projection is added, the support vectors stay as they are
        for j in range(n):
            beta[j] += y * work.along[j]
        support.counts[PROJECTED] += 1
        return 0
    # line 10: there is room. The test is |S| < B as in the text; |S| <= B, as printed, would store B + 1
    if r == n:
        border(memory.inverse, n, work.along, left)
        support.counts[SIZE] += 1
        coefficient = y
    else:
        # lines 12 to 14: slot r loses its vector, whose projection on all others and the new one stays
        gamma, coefficient_of_r = memory.spare[2], beta[r]
        last = replace(memory.inverse, memory.waiting, n, r, work.along[:n], left, gamma)
        # gamma[r] is -1, so the loop also clears the coefficient of the vector that leaves
        for j in range(n):
            beta[j] += coefficient_of_r * gamma[j]
        coefficient = y + coefficient_of_r * last
        # before place() overwrites the task of the slot
        turns.evicted[s] = support.tasks[r]
        support.counts[EVICTED] += 1
    place(model, work, r, t, i, coefficient)
    support.counts[SINCE] += 1
    turns.stored[s] = True
    return 0


@noinline
def _slot(memory, support, work, left, sizes):
    """Return the slot for a new support vector: a free one, the one to replace, or ``NOWHERE`` if it is projected.

    ``left`` is its squared distance from the span of the others.
    """
    n = support.counts[SIZE]
    # squares are compared, so no root is needed: limit is eta²
    if not left > memory.limit:
        return NOWHERE
    if n < memory.size:
        return n
    for j in range(n):
        # line 12 with |beta_j|: a signed argmin, as printed, would prefer the most negative coefficient
        memory.spare[1, j] = abs(sizes[j])
    r = cheapest(memory.inverse, n, work.along, left, memory.spare[1], support.births)
    if r >= 0:
        return r
    # a pivot may fail right after a refresh, too: project then instead of asking for another one
    return WORN_OUT if support.counts[SINCE] > 0 else NOWHERE


# -- a coefficient for every task and support vector ------------------------------------------------------------------


@when(absorb, SharedByGroups)
@when(absorb, SharedByTasks)
def _absorb_for_all(m, model, work, t, i, y, signed_margin, turns, s):
    return _absorb_shared(m, model, work, t, i, y, turns, s)


@noinline
def _absorb_shared(memory, model, work, t, i, y, turns, s):
    support, sharing = model.support, model.sharing
    # before anything changes, because the caller enlarges the arrays and repeats the record
    if not has_row(memory, sharing, i):
        return ROOM
    # CC12 Algorithm 2 projects by the plain kernel: task markers, and so M_ii, play no part
    n, whole, gamma = support.counts[SIZE], work.among[t, t], memory.spare[2]
    left = whole - project(memory.inverse, memory.waiting, work.values[t], n, work.along)
    if _worn(support, left, whole):
        return WORN
    # norms over all tasks are needed only if a vector has to leave
    if n == memory.size and left > memory.limit:
        costs(memory, sharing, n, memory.spare[3])
    r = _slot(memory, support, work, left, memory.spare[3])
    if r == WORN_OUT:
        return WORN
    if r == NOWHERE:
        gather(memory, sharing, i, y, n, work.along)
        support.counts[PROJECTED] += 1
        return 0
    # before place() overwrites the task of the slot
    if r < n:
        turns.evicted[s] = support.tasks[r]
    place(model, work, r, t, i, y)
    if r == n:
        border(memory.inverse, n, work.along, left)
        support.counts[SIZE] += 1
        # line 10: a unit vector on the new slot adds column i of M times y, as a projection adds alpha
        gamma[:n] = 0.0
        gamma[n] = 1.0
        gather(memory, sharing, i, y, n + 1, gamma)
    else:
        support.counts[EVICTED] += 1
        last = replace(memory.inverse, memory.waiting, n, r, work.along[:n], left, gamma)
        distribute_coefficients(memory, sharing, n, r, gamma, last, i, y)
    support.counts[SINCE] += 1
    turns.stored[s] = True
    return 0


@noinline
def _passed_on(row, n, r, along, last):
    leaving = row[r]
    for j in range(n):
        # along[r] is -1, which clears row[r]; the slot then gets the projection on its new vector
        row[j] += leaving * along[j]
    row[r] = leaving * last


@when(weigh, SharedByGroups)
def _weigh_by_groups(memory, model, i, work):
    n, sharing = model.support.counts[SIZE], model.sharing
    work.weights[:n] = 0.0
    # a task that has not moved since the memory was sized has no row, only sums of its groups
    row = memory.row[i] if i < memory.row.size and sharing.own[i] != 0.0 else -1
    if row >= 0:
        for j in range(n):
            # beta_i = own_i raw_i + Σ_g weight_g sums_g over the groups g of task i: O(B), not O(B K)
            work.weights[j] = sharing.own[i] * memory.raw[row, j]
    for level in range(sharing.paths.shape[1]):
        group = sharing.paths[i, level]
        if group >= 0:
            weight, sums = sharing.weight[group], memory.sums[group]
            for j in range(n):
                work.weights[j] += weight * sums[j]


when(has_row, SharedByGroups, Levels)(
    lambda memory, sharing, i: memory.row[i] >= 0 or memory.taken[0] < memory.raw.shape[0] or sharing.own[i] == 0.0
)
when(has_row, SharedByTasks)(lambda memory, sharing, i: True)


@when(gather, SharedByGroups, Levels)
def _gather_by_groups(memory, sharing, i, y, n, along):
    own = sharing.own[i]
    if own != 0.0:
        _gather_own(memory, i, own, y, n, along)
    for level in range(sharing.paths.shape[1]):
        group = sharing.paths[i, level]
        if group >= 0:
            for j in range(n):
                memory.sums[group, j] += y * along[j]
                # needed for the cross term of ‖beta_:j‖² in the costs of slots
                memory.scaled[group, j] += own * y * along[j]


@noinline
def _gather_own(memory, i, own, y, n, along):
    if memory.row[i] < 0:
        memory.row[i], memory.owner[memory.taken[0]] = memory.taken[0], i
        memory.taken[0] += 1
    row = memory.raw[memory.row[i]]
    for j in range(n):
        # the change of a sum of squares; each eviction sums them afresh, so rounding cannot pile up
        before = row[j]
        row[j] += y * along[j]
        memory.squares[j] += own * own * (row[j] * row[j] - before * before)


@when(costs, SharedByGroups, Levels)
def _costs_by_groups(memory, sharing, n, out):
    # ‖beta_:j‖² over all tasks by groups: the own parts first, Σ_i own_i² raw_ij²
    for j in range(n):
        out[j] = memory.squares[j]
    above = memory.above
    for group in range(above.size):
        weight, members, sums = sharing.weight[group], sharing.members[group], memory.sums[group]
        scaled = memory.scaled[group]
        for j in range(n):
            # twice own part times group part, and the square of the group part for each of its members
            out[j] += weight * sums[j] * (2.0 * scaled[j] + members * weight * sums[j])
        wider = above[group]
        # members of a group are also in the wider groups: their cross terms, each pair of levels once
        while wider >= 0:
            factor, others = 2.0 * members * weight * sharing.weight[wider], memory.sums[wider]
            for j in range(n):
                out[j] += factor * sums[j] * others[j]
            wider = above[wider]
    for j in range(n):
        # differences were added to the squares, so rounding may have left them below zero
        out[j] = np.sqrt(max(out[j], 0.0))


@when(distribute_coefficients, SharedByGroups, Levels)
def _distribute_by_groups(memory, sharing, n, r, along, last, i, y):
    # all rows change, so this is the place to sum the squares without rounding of the past
    memory.squares[:n] = 0.0
    for row_number in range(memory.taken[0]):
        row, own = memory.raw[row_number], sharing.own[memory.owner[row_number]]
        # projecting is linear and beta = M raw, so it may act on raw rows and sums. No factor A⁻¹ as in
        # line 14 of CC12 Algorithm 2: beta contains it already
        _passed_on(row, n, r, along, last)
        for j in range(n):
            memory.squares[j] += own * own * row[j] * row[j]
    for group in range(memory.above.size):
        _passed_on(memory.sums[group], n, r, along, last)
        _passed_on(memory.scaled[group], n, r, along, last)
    # the new vector enters its slot as in line 10: a unit vector, spread by M
    along[:n] = 0.0
    along[r] = 1.0
    gather(memory, sharing, i, y, n, along)


@when(weigh, SharedByTasks)
def _weigh_by_tasks(memory, model, i, work):
    n = model.support.counts[SIZE]
    for j in range(n):
        work.weights[j] = memory.beta[i, j]


@when(gather, SharedByTasks)
def _gather_by_tasks(memory, sharing, i, y, n, along):
    for task in range(memory.beta.shape[0]):
        share, row = y * column_entry(sharing, i, task), memory.beta[task]
        if share != 0.0:
            for j in range(n):
                row[j] += share * along[j]


@when(costs, SharedByTasks)
def _costs_by_tasks(memory, sharing, n, out):
    out[:n] = 0.0
    for task in range(memory.beta.shape[0]):
        row = memory.beta[task]
        for j in range(n):
            out[j] += row[j] * row[j]
    for j in range(n):
        out[j] = np.sqrt(out[j])


@when(distribute_coefficients, SharedByTasks)
def _distribute_by_tasks(memory, sharing, n, r, along, last, i, y):
    # without the factor A⁻¹ of line 14 of CC12 Algorithm 2: beta contains it already
    for task in range(memory.beta.shape[0]):
        _passed_on(memory.beta[task], n, r, along, last)
    along[:n] = 0.0
    along[r] = 1.0
    gather(memory, sharing, i, y, n, along)
