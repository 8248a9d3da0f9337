"""What budgets keep and do that give nothing away: all, a random slot, the oldest (CCG08 §3; CC12 §4.2 and §4.3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .expansion import (
    COLUMN,
    EVICTED,
    OLDEST,
    SIZE,
    absorb,
    at_hand,
    place,
    scale,
    shares,
)
from .generic import apart, generic, when
from .randomness import uniform


class Everything(NamedTuple):
    """All mistakes are kept."""

    size: int


class RandomSlots(NamedTuple):
    """A full support loses the vector in slot floor(u · size); ``seed`` and the evictions so far make u."""

    size: int
    seed: Any


class Queue(NamedTuple):
    """The self-tuned Forgetron on K / c², c² being ``top`` times the longest k(x, x).

    ``sums`` holds Q, the mistakes M, the factor that all coefficients share, and the longest k(x, x) so far; ``top``
    is max_i M_ii.
    """

    size: int
    sums: Any
    top: Any


class PrintedQueue(NamedTuple):
    """The same with (3) as CC12 prints it."""

    size: int
    sums: Any
    top: Any


@generic
def penalty(memory: Any, squared: Any, sigma: Any, mu: Any) -> Any:
    """The coefficients of chi² and chi in what removing and shrinking by chi costs."""


when(penalty, Queue)(lambda memory, c2, sigma, mu: (c2 * sigma * sigma - 2.0 * sigma * mu, 2.0 * c2 * sigma))


@when(penalty, PrintedQueue)
def _printed_penalty(memory: Any, squared: Any, sigma: Any, mu: Any) -> Any:
    return squared * sigma * sigma - 2.0 * sigma * sigma * mu, 2.0 * np.sqrt(squared) * sigma


@apart
def shrinking(a: Any, b: Any, room: Any) -> Any:
    """The largest chi in (0, 1] with a chi² + b chi <= room, for b >= 0 and room > 0."""
    if a + b <= room:
        return 1.0
    return 2.0 * room / (b + np.sqrt(max(b * b + 4.0 * a * room, 0.0)))


when(scale, Queue)(lambda memory: memory.sums[2])
when(scale, PrintedQueue)(lambda memory: memory.sums[2])
when(scale, object)(lambda memory: 1.0)


@when(absorb, Everything)
def _absorb_everything(m: Any, model: Any, work: Any, t: Any, i: Any, y: Any, agree: Any, turns: Any, s: Any) -> Any:
    counts = model.support.counts
    place(model, work, counts[SIZE], t, i, y)
    counts[SIZE] += 1
    turns.stored[s] = True
    return 0


@when(absorb, RandomSlots)
def _absorb_at_random(m: Any, model: Any, work: Any, t: Any, i: Any, y: Any, agree: Any, turns: Any, s: Any) -> Any:
    counts = model.support.counts
    slot = counts[SIZE]
    if slot == m.size:
        slot = int(uniform(m.seed, counts[EVICTED]) * m.size)
        turns.evicted[s] = model.support.tasks[slot]
        counts[EVICTED] += 1
    else:
        counts[SIZE] += 1
    place(model, work, slot, t, i, y)
    turns.stored[s] = True
    return 0


@when(absorb, Queue)
def _absorb_in_queue(m: Any, model: Any, work: Any, t: Any, i: Any, y: Any, agree: Any, turns: Any, s: Any) -> Any:
    return _queue(m, model, work, t, i, y, turns, s)


@when(absorb, PrintedQueue)
def _absorb_in_printed(m: Any, model: Any, work: Any, t: Any, i: Any, y: Any, agree: Any, turns: Any, s: Any) -> Any:
    return _queue(m, model, work, t, i, y, turns, s)


@apart
def _queue(memory: Any, model: Any, work: Any, t: Any, i: Any, y: Any, turns: Any, s: Any) -> Any:
    support, sums = model.support, memory.sums
    kappa = work.values[t, work.width + t]
    slot, coefficient = support.counts[SIZE], y / sums[2]
    if slot == memory.size:
        slot = support.counts[EVICTED] % memory.size
        with_new = work.shares[slot] * work.values[t, slot] * y  # as `weigh` left it: M is symmetric
        lacking = _old_values(model, work, slot)
        if lacking != 0:
            return lacking
        shares(model.sharing, support, memory.size, support.tasks[slot], work.shares)
        _shrink(memory, support, work, slot, with_new, max(sums[3], kappa))
        turns.evicted[s] = support.tasks[slot]
        support.counts[EVICTED] += 1
    else:
        sums[1] += 1.0
        support.counts[SIZE] += 1
    sums[3] = max(sums[3], kappa)
    place(model, work, slot, t, i, coefficient)
    _rescale(support, sums)
    turns.stored[s] = True
    return 0


@apart
def _old_values(model: Any, work: Any, r: Any) -> Any:
    """Put the kernel values of the oldest with all slots into ``work.along``, or say what is missing."""
    support, cursor = model.support, work.cursor
    if not at_hand(model.sharing, support.tasks[r]):
        cursor[4] = support.tasks[r]
        return COLUMN
    row, held = support.counts[EVICTED] - cursor[3], work.holder[r]
    if held < 0 and not 0 <= row < cursor[2]:
        return OLDEST
    for j in range(support.counts[SIZE]):
        if work.holder[j] < 0:
            work.along[j] = work.oldest[row, j]
        else:  # the later of the two came when the earlier was there
            work.along[j] = work.values[work.holder[j], r] if j != r else work.values[held, work.width + held]
    return 0


@apart
def _shrink(memory: Any, support: Any, work: Any, r: Any, with_new: Any, longest: Any) -> None:
    """Choose phi with the new vector in and the oldest not yet out, and shrink all."""
    sums = memory.sums
    sums[1] += 1.0
    f = 0.0
    for j in range(support.counts[SIZE]):
        f += support.coefficients[j] * work.shares[j] * work.along[j]
    f = f * sums[2] + with_new
    sigma = abs(support.coefficients[r]) * sums[2]
    mu = f if support.coefficients[r] > 0.0 else -f
    squared = longest * memory.top[0]
    a, b = penalty(memory, squared, sigma, mu)
    phi = shrinking(a, b, 15.0 * squared * sums[1] / 32.0 - sums[0])
    sums[0] += a * phi * phi + b * phi
    sums[2] *= phi


@apart
def _rescale(support: Any, sums: Any) -> None:
    """Bring a factor that has become tiny into the coefficients."""
    if sums[2] < 1e-100:
        for j in range(support.counts[SIZE]):
            support.coefficients[j] *= sums[2]
        sums[2] = 1.0
