"""The inverse of a Gram matrix, updated when a vector is added or removed: O(B²) each.

Let C be the inverse of the Gram matrix H of the support vectors, k the kernel values of a new vector with them, and κ
its value with itself. Then a = C k are the coefficients of its projection, and s = κ - k·a is its squared distance from
the span. The inverse with the new vector is C⁺ = [C + aa'/s, -a/s; -a'/s, 1/s]. Vector j has the squared distance
1/C⁺_jj from the span of the others, and the projection -C⁺_:j / C⁺_jj.

The time is dominated by moving C between caches. A replacement C + uu' - vv' therefore only stores u and v in
``waiting``; the next projection, which reads all of C anyway, applies the change. A mistake then reads and writes C
once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.generic import noinline


@noinline
def project(inverse, waiting, k, n, along):
    """Return k · a for the coefficients a = C k of a projection, which are written to ``along``.

    C is the inverse of the Gram matrix; a pending change of it is applied first. k are kernel values.
    """
    along[:n] = 0.0
    if _waits(waiting):
        _project_late(inverse, waiting[0], waiting[1], k, n, along)
        waiting[:] = 0.0
    else:
        # by rows: C is symmetric, and adding multiples of rows reads memory in order
        for j in range(n):
            row, k_j = inverse[j], k[j]
            for i in range(n):
                along[i] += k_j * row[i]
    total = 0.0
    for j in range(n):
        total += k[j] * along[j]
    return total


@noinline
def _project_late(inverse, u, v, k, n, along):
    """Apply a pending change C += uu' - vv', and add C k to ``along``. Two rows at a time halve the memory traffic."""
    # the update of two rows and their share of C k in one pass over u, v and along
    for j in range(0, n - 1, 2):
        row_1, k_1, u_1, v_1 = inverse[j], k[j], u[j], v[j]
        row_2, k_2, u_2, v_2 = inverse[j + 1], k[j + 1], u[j + 1], v[j + 1]
        for i in range(n):
            entry_1 = row_1[i] + (u_1 * u[i] - v_1 * v[i])
            entry_2 = row_2[i] + (u_2 * u[i] - v_2 * v[i])
            row_1[i] = entry_1
            row_2[i] = entry_2
            along[i] += k_1 * entry_1 + k_2 * entry_2
    for j in range(n - n % 2, n):
        for i in range(n):
            inverse[j, i] += u[j] * u[i] - v[j] * v[i]
            along[i] += k[j] * inverse[j, i]


@noinline
def apply_waiting(inverse, waiting):
    """Apply the pending change of the inverse C."""
    if _waits(waiting):
        u, v = waiting[0], waiting[1]
        for j in range(u.size):
            row, u_j, v_j = inverse[j], u[j], v[j]
            for i in range(u.size):
                row[i] += u_j * u[i] - v_j * v[i]
        waiting[:] = 0.0


@noinline
def _waits(waiting):
    """Return True if there is a pending change of the inverse."""
    noted = 0
    for i in range(waiting.shape[1]):
        # no early exit: a loop without branches can be vectorised
        noted += waiting[0, i] != 0.0
    return noted > 0


@noinline
def border(inverse, n, along, left):
    """Extend the inverse of the Gram matrix by a vector in slot n.

    ``along`` are the coefficients of its projection on the others, and ``left`` is its squared distance from them.
    """
    # C + aa'/s in place, then -a/s as row and column n
    for j in range(n):
        row, x = inverse[j], along[j] / left
        for i in range(n):
            row[i] += x * along[i]
        row[n] = -x
        inverse[n, j] = -x
    inverse[n, n] = 1.0 / left


@noinline
def replace(inverse, waiting, n, r, along, left, column):
    """Replace the vector in slot r by a new one, in O(B); the change of the inverse is left pending.

    Fills ``column`` with gamma, the projection of the removed vector on the others, and returns its coefficient on the
    new one in slot r.
    """
    u, v = waiting[0], waiting[1]
    # u = (a, -1) / √s, with -1 for the new vector: C⁺ = C + uu' where C is zero for the new vector
    first = along[r] / np.sqrt(left)
    # √C⁺_rr; v = C⁺_:r / √C⁺_rr is the column that removing vector r subtracts as vv'
    pivot = np.sqrt(inverse[r, r] + first * first)
    last = -first / np.sqrt(left) / pivot
    for j in range(n):
        u[j] = along[j] / np.sqrt(left)
        v[j] = (inverse[r, j] + first * u[j]) / pivot
        # -C⁺_:r / C⁺_rr; its entry r is -1
        column[j] = -v[j] / pivot
    # row and column r are those of the new vector from here on, so C is cleared there
    u[r], v[r] = -1.0 / np.sqrt(left), last
    inverse[r, :n] = 0.0
    inverse[:n, r] = 0.0
    return -last / pivot


@noinline
def cheapest(inverse, n, along, left, sizes, births):
    """Return the slot of the support vector that is best represented by the others.

    That is the one with the least |coefficient| · distance from their span; ties go to the oldest.

    Returns -1 if a pivot is not positive because the inverse has become inaccurate.
    """
    best, least = -1, np.inf
    for j in range(n):
        # C⁺_jj without forming C⁺: one over the squared residual of vector j
        pivot = inverse[j, j] + along[j] * along[j] / left
        if not pivot > 0.0:
            return -1
        cost = sizes[j] / np.sqrt(pivot)
        # slots are reused, so their order does not tell the age: births do
        if cost < least or (cost == least and births[j] < births[best]):
            best, least = j, cost
    return best


def inverse_of(H: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Invert a Gram matrix H by Cholesky. Also return how often its diagonal was raised to make it invertible.

    Raises
    ------
    ValueError
        If it has none however its diagonal is raised, the kernel not being positive semidefinite.
    """
    from scipy.linalg import lapack

    ridge, n = 0.0, len(H)
    for attempt in range(60):
        factor, failed = lapack.dpotrf(H + ridge * np.eye(n), lower=1)
        if not failed:
            # LAPACK writes the lower triangle alone
            lower, failed = lapack.dpotri(factor, lower=1)
            lower = np.tril(lower)
            return np.asarray(lower + np.tril(lower, -1).T), attempt
        # the smallest ridge that the largest entry does not swallow, then tenfold
        ridge = max(ridge * 10.0, np.finfo(np.float64).eps * max(float(np.abs(H).max()), 1e-300))
    raise ValueError("the Gram matrix of the support vectors has no inverse; is the kernel positive semidefinite?")
