"""Blocks of an arena for the rows of sparse tables: a buddy allocator, so that what growing rows leave is used again.

An arena is a row of buckets, of which bucket 0 belongs to nobody. A block of order k is 2**k buckets of which the first
is bucket 1 + a multiple of 2**k, so it is one half of one block of order k + 1, and the other half is its buddy
(Knowlton, "A fast storage allocator", CACM 1965). Blocks of rows and free blocks cover the buckets from 1 up to
``used[0] // 4``; nothing was ever written to those from there on. Two buddies are never both free: they are one block.

A free block's first bucket holds, as integers, -3 - k in place of its first feature, and at the places behind it the
numbers of the buckets where the next and the previous free block of its order begin, 0 for none; ``free[k]`` is where
the first one does. The rest is as it was left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arithmetic import trailing_zeros
from .generic import generic_lent, lent, lent_apart

#: Orders that a block may have: a row has fewer than 2**31 cells.
ORDERS = 30

#: Where a free block's first bucket has its mark, the next block of its order and the previous one.
_MARK, _NEXT, _PREVIOUS = 0, 1, 3


@generic_lent
def line(table: Any) -> Any:
    """Places that a bucket of a sparse table takes."""


@lent
def _marked(order: Any) -> Any:
    """What the first bucket of a free block of this order holds as its first feature; features are -1 or more."""
    return -3 - order


@lent
def _held(table: Any, bucket: Any, what: Any) -> Any:
    return np.int64(table.features[line(table) * bucket + what])


@lent
def _put(table: Any, bucket: Any, what: Any, number: Any) -> None:
    table.features[line(table) * bucket + what] = number


@lent
def _list(table: Any, bucket: Any, order: Any) -> None:
    """Put a block at the head of the list of its order."""
    following = table.free[order]
    _put(table, bucket, _MARK, _marked(order))
    _put(table, bucket, _NEXT, following)
    _put(table, bucket, _PREVIOUS, 0)
    if following > 0:
        _put(table, following, _PREVIOUS, bucket)
    table.free[order] = bucket


@lent
def _unlist(table: Any, bucket: Any, order: Any) -> None:
    """Take a block out of the list of its order; its mark is for the caller to overwrite."""
    following, previous = _held(table, bucket, _NEXT), _held(table, bucket, _PREVIOUS)
    if following > 0:
        _put(table, following, _PREVIOUS, previous)
    if previous > 0:
        _put(table, previous, _NEXT, following)
    else:
        table.free[order] = following


@lent_apart
def give(table: Any, bucket: Any, order: Any) -> None:
    """Let a block be free: it becomes one with its buddy if that is, and so on."""
    buckets = table.used[0] >> 2
    while order + 1 < ORDERS:
        buddy = ((bucket - 1) ^ (np.int64(1) << order)) + 1
        if buddy + (np.int64(1) << order) > buckets or _held(table, buddy, _MARK) != _marked(order):
            break
        _unlist(table, buddy, order)
        bucket = min(bucket, buddy)
        order += 1
    _list(table, bucket, order)


@lent
def _take_free(table: Any, order: Any) -> Any:
    """A block out of the lists, a larger one being split; 0 if there is none."""
    larger = order
    while larger < ORDERS and table.free[larger] == 0:
        larger += 1
    if larger == ORDERS:
        return np.int64(0)
    bucket = table.free[larger]
    _unlist(table, bucket, larger)
    while larger > order:
        larger -= 1
        _list(table, bucket + (np.int64(1) << larger), larger)
    return bucket


@lent_apart
def take(table: Any, order: Any) -> Any:
    """The first bucket of a block, or 0 if the arena has no room for it. Whoever takes it overwrites its mark."""
    size = np.int64(1) << order
    bucket = _take_free(table, order)
    first = (((table.used[0] >> 2) - 1 + size - 1) & -size) + 1
    if bucket > 0 or line(table) * (first + size) > table.values.size:
        return bucket
    while bucket == 0 and table.used[0] >> 2 < first:  # blocks before one that is aligned become free
        end = table.used[0] >> 2
        below = np.int64(trailing_zeros(end - 1))
        table.used[0] += 4 << below
        give(table, end, below)
        bucket = _take_free(table, order)
    if bucket == 0:
        bucket = first
        table.used[0] += 4 * size
    return bucket
