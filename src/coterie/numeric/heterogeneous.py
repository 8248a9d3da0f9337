"""Models of tasks that each have features of their own, and the walk through a block of rounds.

In a round with the active task i, φ_i is its instance, and z = sqrt(b K)(φ_i - φ/K) with φ the sum of all instances.
F_u = v'P u and Q_uv = u'P v for the u and v among the φ_i and z of a block are all that is needed of it: a mistake in
round t changes those of the rounds behind it by

    Q_uv -= Q_uz Q_zv / (1 + Q_zz),        F_u += y Q_uφ - Q_uz F_z / (1 + Q_zz)    (with the new Q, the old F).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .generic import compiled


class Joined(NamedTuple):
    """P = A⁻¹ (D, D), w = P v and v, with the task that owns each of the D features; ``count`` of mistakes."""

    P: Any
    w: Any
    v: Any
    owner: Any
    count: Any


class Rounds(NamedTuple):
    """Rounds with a mistake: all instances side by side, labels, active tasks, and numbers.

    With the factor L L' = I + Z'Z, ``half`` is L⁻¹Z'Φy and ``gamma`` is L'⁻¹ times that.
    """

    factor: Any
    half: Any
    gamma: Any
    labels: Any
    tasks: Any
    births: Any
    rows: Any
    owner: Any
    count: Any


@compiled
def margin_of(f: Any, fz: Any, cross: Any, zz: Any) -> Any:
    """The margin v'A_t⁻¹φ_i, A_t holding the round's own z."""
    return f - fz * cross / (1.0 + zz)


@compiled
def course_through(F: Any, Q: Any, y: Any, n: int, late: int, margins: Any, own: Any, taus: Any) -> None:
    """Learn the first n rounds of a block: φ of round t stands at t, z half the length of F behind it."""
    half = F.size // 2
    for t in range(n):
        z = half + t
        own[t] = margin_of(F[t], F[z], Q[t, z], Q[z, z])
        if late == 0:
            margins[t] = own[t]
        elif n + t < half:
            other = half + n + t
            margins[t] = margin_of(F[n + t], F[other], Q[n + t, other], Q[other, other])
        if y[t] * own[t] <= 0.0:
            taus[t] = 1.0
            total, level = 1.0 + Q[z, z], F[z]
            along, mine = Q[:, z].copy(), Q[:, t].copy()
            for u in range(F.size):
                F[u] += y[t] * (mine[u] - along[u] * along[t] / total) - along[u] * level / total
                for v in range(F.size):
                    Q[u, v] -= along[u] * along[v] / total
