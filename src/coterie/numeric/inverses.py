"""The inverse of a Gram matrix, bordered by one more vector and cut down by one: O(B²) each.

With C the inverse of the Gram matrix H of the support vectors, k the kernel values of a new one with them and κ that
with itself, a = C k are the coefficients of its projection and s = κ - k·a the squared norm of what is left. The
inverse with it is C⁺ = [C + aa'/s, -a/s; -a'/s, 1/s]; what is left of vector j beside the others then has the squared
norm 1/C⁺_jj and the projection -C⁺_:j / C⁺_jj.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .generic import apart


@apart
def project(inverse: Any, k: Any, n: Any, along: Any) -> Any:
    """A = C k; returns k·a."""
    along[:n] = 0.0
    for j in range(n):
        row, x = inverse[j], k[j]
        for each in range(n):
            along[each] += x * row[each]
    total = 0.0
    for j in range(n):
        total += k[j] * along[j]
    return total


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
def replace(inverse: Any, n: Any, r: Any, along: Any, left: Any, column: Any) -> Any:
    """The inverse with one more vector and without that of slot r, whose place the new one takes.

    ``column`` comes to hold gamma, the projection of the one that leaves on the others; that on the new one, which is
    returned, stands in slot r.
    """
    u, v = along / np.sqrt(left), column
    pivot = inverse[r, r] + u[r] * u[r]
    for j in range(n):
        v[j] = (inverse[r, j] + u[r] * u[j]) / np.sqrt(pivot)
    last = -u[r] / np.sqrt(left) / np.sqrt(pivot)
    for j in range(n):
        row, x, z = inverse[j], u[j], v[j]
        for each in range(n):
            row[each] += x * u[each] - z * v[each]
        row[r] = -x / np.sqrt(left) - last * z
    for j in range(n):
        inverse[r, j] = -u[j] / np.sqrt(left) - last * v[j]
    inverse[r, r] = 1.0 / left - last * last
    for j in range(n):
        v[j] /= -np.sqrt(pivot)
    return -last / np.sqrt(pivot)


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
