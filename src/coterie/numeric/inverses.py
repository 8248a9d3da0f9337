"""The inverse of a Gram matrix, bordered by one more vector and cut down by one: O(B²) each.

With C the inverse of the Gram matrix H of the support vectors, k the kernel values of a new one with them and κ that
with itself, a = C k are the coefficients of its projection and s = κ - k·a the squared norm of what is left. The
inverse with it is C⁺ = [C + aa'/s, -a/s; -a'/s, 1/s]; what is left of vector j beside the others then has the squared
norm 1/C⁺_jj and the projection -C⁺_:j / C⁺_jj.

Time goes into moving C between caches. So a replacement, which is C + uu' - vv', only notes u and v in ``waiting``,
and the next projection, which reads all of C anyway, makes the change on its way: a mistake reads and writes C once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .generic import apart


@apart
def project(inverse: Any, waiting: Any, k: Any, n: Any, along: Any) -> Any:
    """A = C k, with C brought up to date; returns k·a."""
    along[:n] = 0.0
    if _waits(waiting):
        _project_late(inverse, waiting[0], waiting[1], k, n, along)
        waiting[:] = 0.0
    else:
        for j in range(n):
            row, x = inverse[j], k[j]
            for each in range(n):
                along[each] += x * row[each]
    total = 0.0
    for j in range(n):
        total += k[j] * along[j]
    return total


@apart
def _project_late(inverse: Any, u: Any, v: Any, k: Any, n: Any, along: Any) -> None:
    """C += uu' - vv' and a += C k, two rows at a time: what else is read with them is read half as often."""
    for j in range(0, n - 1, 2):
        one, x, y, z = inverse[j], k[j], u[j], v[j]
        two, p, q, r = inverse[j + 1], k[j + 1], u[j + 1], v[j + 1]
        for each in range(n):
            here = one[each] + (y * u[each] - z * v[each])
            there = two[each] + (q * u[each] - r * v[each])
            one[each] = here
            two[each] = there
            along[each] += x * here + p * there
    for j in range(n - n % 2, n):
        for each in range(n):
            inverse[j, each] += u[j] * u[each] - v[j] * v[each]
            along[each] += k[j] * inverse[j, each]


@apart
def settled(inverse: Any, waiting: Any) -> None:
    """Make the change that waits."""
    if _waits(waiting):
        u, v = waiting[0], waiting[1]
        for j in range(u.size):
            row, y, z = inverse[j], u[j], v[j]
            for each in range(u.size):
                row[each] += y * u[each] - z * v[each]
        waiting[:] = 0.0


@apart
def _waits(waiting: Any) -> Any:
    """Whether a change does: what a replacement notes of its own slot is not zero."""
    noted = 0
    for each in range(waiting.shape[1]):
        noted += waiting[0, each] != 0.0
    return noted > 0


@apart
def border(inverse: Any, n: Any, along: Any, left: Any) -> None:
    """The inverse with one more vector, in slot n."""
    for j in range(n):
        row, x = inverse[j], along[j] / left
        for each in range(n):
            row[each] += x * along[each]
        row[n] = -x
        inverse[n, j] = -x
    inverse[n, n] = 1.0 / left


@apart
def replace(inverse: Any, waiting: Any, n: Any, r: Any, along: Any, left: Any, column: Any) -> Any:
    """The inverse with one more vector and without that of slot r, whose place the new one takes: O(B), the rest waits.

    ``column`` comes to hold gamma, the projection of the one that leaves on the others; that on the new one, which is
    returned, stands in slot r.
    """
    u, v = waiting[0], waiting[1]
    first = along[r] / np.sqrt(left)
    pivot = np.sqrt(inverse[r, r] + first * first)
    last = -first / np.sqrt(left) / pivot
    for j in range(n):
        u[j] = along[j] / np.sqrt(left)
        v[j] = (inverse[r, j] + first * u[j]) / pivot
        column[j] = -v[j] / pivot
    u[r], v[r] = -1.0 / np.sqrt(left), last
    inverse[r, :n] = 0.0
    inverse[:n, r] = 0.0
    return -last / pivot


@apart
def cheapest(inverse: Any, n: Any, along: Any, left: Any, sizes: Any, births: Any) -> Any:
    """The slot whose |coefficient| times what is left of its vector is least, the oldest of several; -1 if worn out."""
    best, least = -1, np.inf
    for j in range(n):
        pivot = inverse[j, j] + along[j] * along[j] / left
        if not pivot > 0.0:
            return -1
        cost = sizes[j] / np.sqrt(pivot)
        if cost < least or (cost == least and births[j] < births[best]):
            best, least = j, cost
    return best
