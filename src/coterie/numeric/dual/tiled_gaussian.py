"""Learning with a Gaussian kernel in compiled code throughout: kernel values of a few records at a time, then a walk.

A long block has kernel values among its records, and Python once; here there is next to nothing of either. Support
vectors lie feature by feature, so that the inner loop goes through slots and works on as many at once as the processor
can: with the exponentials beside it, quicker than a general matrix product.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.arithmetic import fma, gaussian
from coterie.numeric.core.arrays import aligned
from coterie.numeric.core.generic import no_refcount, noinline
from coterie.numeric.core.points import Points

from .expansion import AT, BORN, CHANGES, DONE, SIZE, apply_pending
from .walk import rounds

#: Records whose kernel values are made one after the other, while the slots they are made with lie near the core.
FEW = 16
#: Records whose products are made at once, for so many slots that they stay in the nearest cache meanwhile.
_AT_ONCE, _TILE = 4, 512
#: Numbers in a line of cache; what crosses from one into the next is read and written twice.
_LINE = 8


class Strip(NamedTuple):
    """Records of a block with squared norms, and a few of them at a time as ``columns``, with their norms."""

    rows: Any
    squares: Any
    columns: Any
    norms: Any


class Tiling(NamedTuple):
    """Support vectors as the columns of ``table``, the records to learn, and those to predict where labels come late.

    ``scale`` is 1 / (2 sigma²) of the Gaussian kernel; ``made`` has room for inner products.
    """

    scale: float
    table: Any
    own: Any
    pending: Any
    made: Any


def strip(points: Points) -> Strip:
    """Records to go through, in float64, none of them at hand yet."""
    rows = np.require(points.rows.values, np.float64, ["C", "W"])
    return Strip(rows, points.squares, columns(np.zeros((FEW, rows.shape[1]))), np.zeros(FEW))


def columns(rows: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Records side by side, feature by feature; zeros fill up the last line of each, and the last four features."""
    n, d = rows.shape
    table = lined(d + -d % 4, n + -n % _LINE)
    table[:d, :n] = rows.T
    return table


def lined(*shape: int) -> NDArray[np.float64]:
    """Zeros of that shape that begin where a line of cache does."""
    return aligned(prod(shape), np.float64, 8 * _LINE).reshape(shape)


def room() -> NDArray[np.float64]:
    """Room for the inner products that are made at once."""
    return lined(_AT_ONCE * _TILE)


@no_refcount
def learn_tiled(
    model: Any, tiling: Any, work: Any, tasks: Any, y: Any, weights: Any, first: int, n: int, delay: int, turns: Any
) -> Any:
    """Learn n records of a block as :func:`coterie.numeric.dual.walk.walk` does, making kernel values on the way.

    ``work`` has room for a few records. In the end those of support vectors are in the store, and no slot has changed.
    """
    cursor, own, pending = work.cursor, tiling.own, tiling.pending
    at, born, why = cursor[AT], cursor[BORN], DONE
    while at < n and why == DONE:
        few = min(FEW, n - at)
        _take(own, at)
        _evaluate(tiling, tiling.table, model.store.squares, model.support.counts[SIZE], own, few, work.values)
        _evaluate(tiling, own.columns, own.norms, few, own, few, work.among)
        for t in range(few):
            work.among[t, t] = 1.0
        if pending.squares.size > at:
            _take(pending, at)
            _evaluate(tiling, tiling.table, model.store.squares, model.support.counts[SIZE], pending, few, work.pending)
            _evaluate(tiling, own.columns, own.norms, few, pending, few, work.pending_among)
        cursor[AT], cursor[BORN] = 0, born + at
        why = rounds(model, work, tasks, y, weights, first + at, few, delay, turns)
        _keep(model.store, tiling.table, work, own, at)
        at += cursor[AT]
    cursor[AT], cursor[BORN] = at, born
    apply_pending(model.memory)
    return why


@noinline
def _take(strip: Any, first: int) -> None:
    """Lay out the few records from ``first`` on, with zeros behind the last."""
    n = max(0, min(FEW, strip.squares.size - first))
    strip.norms[n:] = 0.0
    strip.columns[:, n:] = 0.0
    for r in range(n):
        strip.norms[r] = strip.squares[first + r]
        for j in range(strip.rows.shape[1]):
            strip.columns[j, r] = strip.rows[first + r, j]


@noinline
def _evaluate(tiling: Any, table: Any, squares: Any, n: int, strip: Any, few: int, out: Any) -> None:
    """Fill ``out`` with kernel values of the first few of a strip with the first n columns of a table: O(n d) each."""
    for first in range(0, n, _TILE):
        size = min(_TILE, n - first)
        some = squares[first : first + size]
        for r in range(0, few, _AT_ONCE):
            _products(table, first, size + -size % _LINE, strip.columns, r, tiling.made)
            for t in range(_AT_ONCE):
                made, here, values = tiling.made[t * _TILE :], strip.norms[r + t], out[r + t, first : first + size]
                for k in range(size):
                    values[k] = gaussian(tiling.scale, made[k], here, some[k])


@no_refcount
def _products(table: Any, first: int, n: int, columns: Any, r: int, made: Any) -> None:
    """Make inner products of four records, columns from r on, with n of the table, whole lines, from ``first`` on."""
    # All in one array, or else it is asked each time whether four lie apart, which is long for a short loop.
    b, c, e = _TILE, 2 * _TILE, 3 * _TILE
    for k in range(n):
        made[k] = made[b + k] = made[c + k] = made[e + k] = 0.0
    for fourth in range(table.shape[0] // 4):
        j = 4 * fourth
        t0, t1, t2, t3 = table[j, first:], table[j + 1, first:], table[j + 2, first:], table[j + 3, first:]
        x0, x1, x2, x3 = columns[j, r:], columns[j + 1, r:], columns[j + 2, r:], columns[j + 3, r:]
        a0, a1, a2, a3 = x0[0], x1[0], x2[0], x3[0]
        b0, b1, b2, b3 = x0[1], x1[1], x2[1], x3[1]
        c0, c1, c2, c3 = x0[2], x1[2], x2[2], x3[2]
        e0, e1, e2, e3 = x0[3], x1[3], x2[3], x3[3]
        for k in range(n):
            # All that is read of the table is read before a sum is written, or else it is read again for the next.
            s, u, v, w = t0[k], t1[k], t2[k], t3[k]
            made[k] = fma(a0, s, fma(a1, u, fma(a2, v, fma(a3, w, made[k]))))
            made[b + k] = fma(b0, s, fma(b1, u, fma(b2, v, fma(b3, w, made[b + k]))))
            made[c + k] = fma(c0, s, fma(c1, u, fma(c2, v, fma(c3, w, made[c + k]))))
            made[e + k] = fma(e0, s, fma(e1, u, fma(e2, v, fma(e3, w, made[e + k]))))


@noinline
def _keep(store: Any, table: Any, work: Any, strip: Any, first: int) -> None:
    """Copy the records that have become support vectors to the store and the table."""
    for each in range(work.cursor[CHANGES]):
        slot, t = work.slots[each], work.places[each]
        store.squares[slot], store.lengths[slot] = strip.squares[first + t], work.among[t, t]
        work.holder[slot] = -1
        for j in range(strip.rows.shape[1]):
            store.values[slot, j] = table[j, slot] = strip.rows[first + t, j]
    work.cursor[CHANGES] = 0
