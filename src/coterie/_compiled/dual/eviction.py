"""Budgets of support vectors: unlimited, random removal, or removal of the oldest (CCG08 §3; CC12 §4.2, §4.3)."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple, Self

import numpy as np

from coterie._compiled.core.arrays import Dropped, resized
from coterie._compiled.core.checks import Bounds, require, require_finite, require_rate, require_shape
from coterie._compiled.core.generic import generic_no_refcount, no_refcount, noinline, when
from coterie._compiled.core.randomness import uniform
from coterie._compiled.primal.grouped import Levels

from .expansion import EVICTED, SIZE, absorb, diagonal_entry, place, scale

#: Places in the sums of a queue.
SPENT, MISTAKES, FACTOR, TOP = range(4)
#: A factor below this goes into the coefficients.
TINY = 1e-100


def require_budget(support: Any, size: int) -> None:
    """Raise ValueError for more support vectors than the budget allows."""
    require(support.counts[SIZE] <= size, f"{support.counts[SIZE]} support vectors are more than the budget of {size}")


class _SlotlessBudget:
    """Base class of budgets with a state that has no entry per support vector."""

    __slots__ = ()
    size: int

    def drop_tasks(self, dropped: Dropped, slots: Any, groups: Any, sharing: Any) -> Self:
        """Return the state unchanged, because it does not depend on tasks."""
        return self

    def check(self, support: Any, bounds: Bounds) -> None:
        """Raise ValueError for too many support vectors."""
        require_budget(support, self.size)


class UnboundedBudget(namedtuple("UnboundedBudget", "size"), _SlotlessBudget):
    """Unlimited budget: every mistake becomes a support vector."""

    __slots__ = ()


class RandomSlots(namedtuple("RandomSlots", "size seed"), _SlotlessBudget):
    """Random removal: a new support vector replaces the one in a slot that depends on seed and number of evictions."""

    __slots__ = ()


class EvictionQueue(NamedTuple):
    """The state of the Forgetron, with kernel values divided by ``top`` times the largest k(x, x).

    ``sums`` has Q, the mistakes M, the common factor of all coefficients, and the largest k(x, x) so far; ``top`` is
    max_i M_ii. ``later`` has, for every slot, the sum of c k(x_j, x) over itself and all later ones. For the oldest
    slot these are all support vectors, so that its f is known without kernel values between slots. With ``printed`` 1,
    inequality (3) is used as printed in CC12.
    """

    size: int
    printed: int
    sums: Any
    top: Any
    later: Any

    @classmethod
    def empty(cls, size: int, printed: int) -> Self:
        """Return the initial state."""
        return cls(size, printed, np.array([0.0, 0.0, 1.0, 0.0]), np.zeros(1), np.zeros((0, 0)))

    def with_room(self, capacity: int, levels: int) -> Self:
        """Resize the state for ``capacity`` support vectors, of tasks in ``levels`` levels of groups."""
        return self._replace(later=resized(self.later, (1 + levels, capacity)))

    def to_saved(self, size: int, tasks: int) -> Self:
        """Return the state without unused capacity."""
        return self._replace(later=self.later[:, :size])

    def check(self, support: Any, bounds: Bounds) -> None:
        """Raise ValueError for sums that no sequence of mistakes leads to."""
        require_budget(support, self.size)
        require_shape("sums", self.sums, 4)
        require_finite("sums", self.sums)
        require_rate("the factor of all coefficients", float(self.sums[FACTOR]))
        require_shape("top", self.top, 1)
        require_finite("top", self.top)
        slots = len(support.tasks)
        if slots:
            require_shape("later", self.later, 1 + bounds.paths.shape[1], slots)


class DecayBudget(namedtuple("DecayBudget", "size factor phi"), _SlotlessBudget):
    """Decay: all coefficients shrink by ``phi`` at every mistake, and a full budget removes the oldest vector.

    ``factor`` is the common factor of all coefficients.
    """

    __slots__ = ()

    @classmethod
    def empty(cls, size: int, phi: float) -> Self:
        """Return the initial state."""
        return cls(size, np.ones(1), phi)

    def check(self, support: Any, bounds: Bounds) -> None:
        """Raise ValueError for too many support vectors, or a factor outside (0, 1]."""
        require_budget(support, self.size)
        require_shape("factor", self.factor, 1)
        require_rate("the factor of all coefficients", float(self.factor[0]), 0.0, 1.0)
        require_rate("phi", float(self.phi), 0.0, 1.0)


@no_refcount
def penalty(memory, squared, sigma, mu):
    """Return the numbers a and b, for which shrinking by chi and removing the oldest vector costs a chi² + b chi.

    ``sigma`` is the size of its coefficient, and ``mu`` its signed margin.
    """
    if memory.printed == 1:
        # (3) literally: Ψ(β_r y_r χ, β_r χ f) with 2 c λ, so that σ² multiplies mu and c stands alone
        return squared * sigma * sigma - 2.0 * sigma * sigma * mu, 2.0 * np.sqrt(squared) * sigma
    # corrected: Ψ(σχ, y_r χ f) with 2 c² λ, the loss of the Forgetron under the kernel K / c²
    return squared * sigma * sigma - 2.0 * sigma * mu, 2.0 * squared * sigma


@noinline
def shrinking(a, b, room):
    """Return the largest factor chi in (0, 1] for which a chi² + b chi is at most ``room``."""
    if a + b <= room:
        return 1.0
    # the positive root of a χ² + b χ = room, rationalised: no cancellation, and right for a <= 0 as well
    return 2.0 * room / (b + np.sqrt(max(b * b + 4.0 * a * room, 0.0)))


when(scale, EvictionQueue)(lambda memory: memory.sums[FACTOR])
when(scale, DecayBudget)(lambda memory: memory.factor[0])
when(scale, object)(lambda memory: 1.0)


class CommonFactor(NamedTuple):
    """The common factor of all coefficients, the only part of a budget's state that predictions read."""

    factor: float


when(scale, CommonFactor)(lambda memory: memory.factor)


def read_factor(memory: Any) -> CommonFactor:
    """Return the common factor of all coefficients, in a type that several budgets share."""
    if isinstance(memory, EvictionQueue):
        return CommonFactor(float(memory.sums[FACTOR]))
    return CommonFactor(float(memory.factor[0]) if isinstance(memory, DecayBudget) else 1.0)


@when(absorb, UnboundedBudget)
def _absorb_everything(m, model, work, t, i, y, signed_margin, turns, s):
    counts = model.support.counts
    place(model, work, counts[SIZE], t, i, y)
    counts[SIZE] += 1
    turns.stored[s] = True
    return 0


@when(absorb, RandomSlots)
def _absorb_at_random(m, model, work, t, i, y, signed_margin, turns, s):
    counts = model.support.counts
    slot = counts[SIZE]
    # CC12 Algorithm 3: only old vectors may leave. The number of evictions picks u, whatever the blocks are
    if slot == m.size:
        slot = int(uniform(m.seed, counts[EVICTED]) * m.size)
        turns.evicted[s] = model.support.tasks[slot]
        counts[EVICTED] += 1
    else:
        counts[SIZE] += 1
    place(model, work, slot, t, i, y)
    turns.stored[s] = True
    return 0


@when(absorb, DecayBudget)
def _absorb_waning(m, model, work, t, i, y, signed_margin, turns, s):
    support = model.support
    slot, counts = support.counts[SIZE], support.counts
    if slot == m.size:
        slot = np.int64(0)
        for j in range(1, m.size):  # a task that was forgotten has left slots in an order of their own
            if support.births[j] < support.births[slot]:
                slot = np.int64(j)
        turns.evicted[s] = support.tasks[slot]
        counts[EVICTED] += 1
    else:
        counts[SIZE] += 1
    # divided by the common factor, so that the coefficient itself is y
    place(model, work, slot, t, i, y / m.factor[0])
    # the new coefficient shrinks with all others
    m.factor[0] *= m.phi
    # stored coefficients grow as the factor shrinks: multiplied out long before they overflow
    if m.factor[0] < TINY:
        _settle(support, m)
    turns.stored[s] = True
    return 0


@noinline
def _settle(support, memory):
    """Multiply all stored coefficients by the common factor, and set that to 1."""
    coefficients = support.coefficients
    coefficients *= memory.factor[0]
    memory.factor[0] = 1.0


@when(absorb, EvictionQueue)
def _absorb_in_queue(m, model, work, t, i, y, signed_margin, turns, s):
    support, sums, later = model.support, m.sums, m.later
    n, values, kappa = support.counts[SIZE], work.values[t], work.among[t, t]
    slot, coefficient = n, y / sums[FACTOR]
    # first, because f at the oldest vector counts the new one, before anything shrinks (CC12 §4.3)
    gather(model.sharing, support, work.shares, i, coefficient, values, 0, n, later)
    sums[MISTAKES] += 1.0
    if n == m.size:
        # slots are refilled in turn: the next eviction is that of the oldest, without a search
        slot = support.counts[EVICTED] % n
        f = gathered(model.sharing, support, slot, later)
        # c² bounds all k(x, x) so far, that of the new vector included
        _shrink(m, support.coefficients[slot], f, max(sums[TOP], kappa))
        turns.evicted[s] = support.tasks[slot]
        support.counts[EVICTED] += 1
    else:
        support.counts[SIZE] += 1
    sums[TOP] = max(sums[TOP], kappa)
    place(model, work, slot, t, i, coefficient)
    # the slot has another record now: its sum starts with its own move
    values[slot], later[:, slot], work.shares[slot] = kappa, 0.0, diagonal_entry(model.sharing, i)
    gather(model.sharing, support, work.shares, i, coefficient, values, slot, slot + 1, later)
    if sums[FACTOR] < TINY:
        _rescale(support, m)
    turns.stored[s] = True
    return 0


@no_refcount
def _shrink(memory, coefficient, f, longest):
    """Choose the factor by which the Forgetron shrinks all coefficients before a removal, and apply it.

    ``f`` is the margin, and ``longest`` the largest k(x, x).
    """
    sums = memory.sums
    # σ = |β_r| and mu = y_r f(x_r); the sign of a coefficient is the label of its vector
    sigma = abs(coefficient) * sums[FACTOR]
    mu = f * sums[FACTOR] if coefficient > 0.0 else -f * sums[FACTOR]
    squared = longest * memory.top[0]
    a, b = penalty(memory, squared, sigma, mu)
    # 15 c² M / 32 - Q is positive: each earlier phi left Q below it, and M and c² only grow
    phi = shrinking(a, b, 15.0 * squared * sums[MISTAKES] / 32.0 - sums[SPENT])
    sums[SPENT] += a * phi * phi + b * phi
    sums[FACTOR] *= phi


@noinline
def _rescale(support, memory):
    """Multiply all stored coefficients by the common factor, and set that to 1."""
    coefficients, later = support.coefficients, memory.later
    coefficients *= memory.sums[FACTOR]
    # later is a sum of coefficients times kernel values, so it has the same factor
    later *= memory.sums[FACTOR]
    memory.sums[FACTOR] = 1.0


@generic_no_refcount
def gather(s, support, shares, i, c, values, first, last, later):
    """Add the update c · k(x, ·) of task i to the sums ``later`` of the slots ``first`` to ``last - 1``.

    The sums are the margins that support vectors gain from later updates.

    ``values`` are its kernel values with the slots, ``shares`` M's entries. M may change when tasks are added;
    therefore under nested groups the updates of each group are stored separately.
    """


@generic_no_refcount
def gathered(sharing, support, r, later):
    """Return the part of the margin of support vector r that comes from updates after it was added.

    ``sharing`` has the entries of M, ``later`` the sums over later slots.
    """


@when(gather, Levels)
def _gather_levels(s, support, shares, i, c, values, first, last, later):
    own = later[0]
    for j in range(first, last):
        # a select instead of a branch, so that the loop can be vectorised
        own[j] += c * values[j] if support.tasks[j] == i else 0.0
    for level in range(s.paths.shape[1]):
        group, groups, row = s.paths[i, level], support.groups[level], later[1 + level]
        if group >= 0:
            for j in range(first, last):
                row[j] += c * values[j] if groups[j] == group else 0.0


@when(gather, object)
def _gather(s, support, shares, i, c, values, first, last, later):
    row = later[0]
    for j in range(first, last):
        row[j] += c * shares[j] * values[j]


@when(gathered, Levels)
def _gathered_levels(sharing, support, r, later):
    # M's entries of today times raw sums: weights of groups change as tasks arrive
    total = sharing.own[support.tasks[r]] * later[0, r]
    for level in range(sharing.paths.shape[1]):
        group = support.groups[level, r]
        if group >= 0:
            total += sharing.weight[group] * later[1 + level, r]
    return total


when(gathered, object)(lambda sharing, support, r, later: later[0, r])
