"""Learning where the support vectors fit in a core's own cache: kernel values of a few records at a time, then a walk.

A long block has kernel values among its records, and Python once; here there is next to nothing of either. Support
vectors lie feature by feature, so that the inner loop goes through slots and works on as many at once as the processor
can, which for so few is quicker than a general matrix product.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .expansion import AT, BORN, CHANGES, DONE, SIZE, settle
from .generic import apart, lent
from .points import Points
from .walk import rounds

#: Records whose kernel values are made at once, so that what is read of the support vectors serves them all.
FEW = 4
_PAIRS = FEW * (FEW - 1) // 2

_LOG2_E = 1.4426950408889634
#: log 2 in two parts, the first with so many trailing zeros that a whole number of them is exact.
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
#: Added to a number, it leaves in the last bits the whole number that is nearest.
_ROUNDER = 1.5 * 2.0**52
#: exp is zero below.
_LOWEST = -746.0


class Strip(NamedTuple):
    """Records of a block with squared norms, and a few of them at a time, ``few``, with their norms."""

    rows: Any
    squares: Any
    few: Any
    norms: Any


class Room(NamedTuple):
    """Room for kernel values, and for powers of two beside each, as numbers and as their bits in the same memory."""

    values: Any
    powers: Any
    bits: Any
    more: Any
    more_bits: Any


class Near(NamedTuple):
    """Support vectors as the columns of ``table``, the records to learn, and those told of where labels come late.

    ``scale`` is 1 / (2 sigma²) of the Gaussian kernel.
    """

    scale: float
    table: Any
    own: Any
    late: Any
    room: Any


def strip(points: Points) -> Strip:
    """Records to go through, in float64."""
    rows = np.require(points.rows.values, np.float64, ["C", "W"])
    return Strip(rows, points.squares, np.zeros((FEW, rows.shape[1])), np.zeros(FEW))


def room(slots: int) -> Room:
    """Room for the kernel values of a few records with so many slots and with each other."""
    values, powers, more = np.zeros((3, FEW * slots + _PAIRS))
    return Room(values, powers, powers.view(np.int64), more, more.view(np.int64))


@lent
def learn_near(model: Any, near: Any, work: Any, tasks: Any, y: Any, first: int, n: int, delay: int, turns: Any) -> Any:
    """As :func:`coterie.numeric.walk.walk`, with the kernel values made on the way; ``work`` has room for a few.

    When it ends, the records of support vectors are where they belong, and ``work`` has no changes.
    """
    cursor, own, late = work.cursor, near.own, near.late
    at, born, why = cursor[AT], cursor[BORN], DONE
    while at < n and why == DONE:
        few = min(FEW, n - at)
        _take(own, at)
        _evaluate(near, model.store.squares, model.support.counts[SIZE], own, work.values, work.among)
        if late.squares.size > at:
            _take(late, at)
            _evaluate(near, model.store.squares, model.support.counts[SIZE], late, work.told, work.told_among)
        cursor[AT], cursor[BORN] = 0, born + at
        why = rounds(model, work, tasks, y, first + at, few, delay, turns)
        _keep(model.store, near.table, work, own, at)
        at += cursor[AT]
    cursor[AT], cursor[BORN] = at, born
    settle(model.memory)
    return why


@apart
def _take(strip: Any, first: int) -> None:
    """Have the few records from ``first`` on at hand, zeros behind the last."""
    rows, few = strip.rows, strip.few
    n = max(0, min(FEW, strip.squares.size - first))
    for r in range(n):
        strip.norms[r] = strip.squares[first + r]
        for j in range(few.shape[1]):
            few[r, j] = rows[first + r, j]
    for r in range(n, FEW):
        strip.norms[r] = 0.0
        for j in range(few.shape[1]):
            few[r, j] = 0.0


@apart
def _evaluate(near: Any, squares: Any, n: int, strip: Any, values: Any, among: Any) -> None:
    """Kernel values of the few of a strip with n support vectors, and with those to learn that come before them."""
    made, x, z, at = near.room.values, strip.few, near.own.few, FEW * n
    _products(near.table, x, n, made)
    for r in range(FEW):
        _exponents(near.scale, strip.norms[r], squares, made, r * n, n)
    for r in range(1, FEW):
        for p in range(r):
            made[at + p] = _product(x, r, z, p)
        _exponents(near.scale, strip.norms[r], near.own.norms, made, at, r)
        at += r
    exponentials(at, near.room)
    at = FEW * n
    for r in range(FEW):
        for k in range(n):
            values[r, k] = made[r * n + k]
        for p in range(r):
            among[r, p] = made[at + p]
        among[r, r] = 1.0
        at += r


@lent
def _products(table: Any, x: Any, n: int, out: Any) -> None:
    """Inner products of the few records with the first n columns of the table, one record after the other: O(n d)."""
    # Every number of the table is read before a sum is written, or else it is read again for the next.
    a, b, c, e = out[:n], out[n : 2 * n], out[2 * n : 3 * n], out[3 * n : 4 * n]
    x0, x1, x2, x3 = x[0], x[1], x[2], x[3]
    for k in range(n):
        a[k] = b[k] = c[k] = e[k] = 0.0
    for fourth in range(x0.size // 4):
        j = 4 * fourth
        t0, t1, t2, t3 = table[j], table[j + 1], table[j + 2], table[j + 3]
        a0, a1, a2, a3 = x0[j], x0[j + 1], x0[j + 2], x0[j + 3]
        b0, b1, b2, b3 = x1[j], x1[j + 1], x1[j + 2], x1[j + 3]
        c0, c1, c2, c3 = x2[j], x2[j + 1], x2[j + 2], x2[j + 3]
        e0, e1, e2, e3 = x3[j], x3[j + 1], x3[j + 2], x3[j + 3]
        for k in range(n):
            s, u, v, w = t0[k], t1[k], t2[k], t3[k]
            a[k] += (a0 * s + a1 * u) + (a2 * v + a3 * w)
            b[k] += (b0 * s + b1 * u) + (b2 * v + b3 * w)
            c[k] += (c0 * s + c1 * u) + (c2 * v + c3 * w)
            e[k] += (e0 * s + e1 * u) + (e2 * v + e3 * w)
    for rest in range(x0.size % 4):
        j = x0.size - 1 - rest
        t0, a0, b0, c0, e0 = table[j], x0[j], x1[j], x2[j], x3[j]
        for k in range(n):
            s = t0[k]
            a[k] += a0 * s
            b[k] += b0 * s
            c[k] += c0 * s
            e[k] += e0 * s


@lent
def _product(x: Any, r: int, z: Any, p: int) -> Any:
    """Row r of x times row p of z, in four sums that go on at the same time."""
    here, there = x[r], z[p]
    a = b = c = e = 0.0
    for fourth in range(here.size // 4):
        j = 4 * fourth
        a += here[j] * there[j]
        b += here[j + 1] * there[j + 1]
        c += here[j + 2] * there[j + 2]
        e += here[j + 3] * there[j + 3]
    for rest in range(here.size % 4):
        j = here.size - 1 - rest
        a += here[j] * there[j]
    return (a + b) + (c + e)


@lent
def _exponents(scale: Any, here: Any, squares: Any, products: Any, first: int, n: int) -> None:
    """-‖x - z‖² · scale in the place of x · z, never above zero."""
    part = products[first : first + n]
    for k in range(n):
        part[k] = min(0.0, scale * (2.0 * part[k] - here - squares[k]))


@lent
def exponentials(n: int, room: Any) -> None:
    """The exponentials of the first n values, which are not above zero, in their place, to 2 units in the last place.

    exp(v) = 2^m exp(r) with m whole and |r| <= log 2 / 2 (Cody and Waite); no branches, so that loops work on several
    numbers at once. The power is taken as two, of half of m each, for one alone might be too small to be a number.
    """
    values, powers, bits, more, more_bits = room
    for k in range(n):
        v = max(values[k], _LOWEST)
        m = v * _LOG2_E + _ROUNDER
        powers[k] = m
        m -= _ROUNDER
        values[k] = _series((v - m * _LOG2_HIGH) - m * _LOG2_LOW)
    for k in range(n):
        half = bits[k] >> 1
        more_bits[k] = (half + 1023) << 52
        bits[k] = (bits[k] - half + 1023) << 52
    for k in range(n):
        values[k] = values[k] * powers[k] * more[k]


@lent
def _series(r: Any) -> Any:
    """exp(r) by its series."""
    p = r * (1.0 / 6227020800.0) + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    return 1.0 + (r + r * r * p)


@apart
def _keep(store: Any, table: Any, work: Any, strip: Any, first: int) -> None:
    """Put the records that have become support vectors where they belong."""
    for each in range(work.cursor[CHANGES]):
        slot, t = work.slots[each], work.places[each]
        store.squares[slot], store.lengths[slot] = strip.squares[first + t], work.among[t, t]
        work.holder[slot] = -1
        for j in range(table.shape[0]):
            store.values[slot, j] = table[j, slot] = strip.few[t, j]
    work.cursor[CHANGES] = 0
