"""A relation that is learned, in the dual: support vectors teach it, and each keeps the column of M it came with.

W = Σ_j beta_j phi(x_j) m_j' with m_j the column of M for the task of support vector j as it was when j came, so that
f_i(x) = Σ_j beta_j m_ji k(x_j, x). What the relation needs of a move W + phi(x) a' is k(x, x) and
W'phi(x) = Σ_j beta_j m_j k(x_j, x): the Gram matrix of the task vectors follows without any of them being there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .asking import relation_in
from .expansion import SIZE, at_hand, enter, own_share, shares, turn_over
from .generic import apart, when
from .learned import _learn, absorb, fetch, scale


class Taught(NamedTuple):
    """What support vectors came with, by slot, and the relation that they teach.

    ``columns`` is (slots, K). ``taken`` says which slots hold one; ``among`` has kernel values between slots where a
    support vector may leave, whose part of W'W must then be taken out, and no rows elsewhere.
    """

    columns: Any
    taken: Any
    among: Any
    relation: Any


when(relation_in, Taught)(lambda sharing: sharing.relation)
when(at_hand, Taught)(lambda sharing, i: True)
when(own_share, Taught)(lambda sharing, i: sharing.relation.inverse[i, i])


@when(shares, Taught)
def _shares_of_taught(sharing: Any, support: Any, n: Any, i: Any, out: Any) -> None:
    for j in range(n):
        out[j] = sharing.columns[j, i]


@when(turn_over, Taught)
def _turn_over_taught(sharing: Any) -> None:
    sharing.relation.start.clock[0] += 1


@when(enter, Taught)
def _enter_taught(sharing: Any, model: Any, work: Any, slot: Any, t: Any, i: Any, coefficient: Any) -> None:
    support = model.support
    if sharing.taken[slot]:
        _leave(sharing, support, slot)
    _come(sharing, support, work.values[t], work.among[t, t], slot, i, coefficient)


@apart
def _leave(sharing: Any, support: Any, slot: int) -> None:
    """Take the part of a support vector out of the Gram matrix of the task vectors: O(B·K + K²)."""
    relation, move = sharing.relation, sharing.relation.move
    _toward(sharing, support, sharing.among[slot], move.along)
    for j in range(move.column.size):
        move.column[j] = -support.coefficients[slot] * sharing.columns[slot, j]
    move.size[0] = sharing.among[slot, slot]
    absorb(relation.law, relation)
    sharing.taken[slot] = False


@apart
def _come(sharing: Any, support: Any, values: Any, square: float, slot: int, i: int, coefficient: float) -> None:
    """Move all tasks by a new support vector, and let the relation learn from it: O(B·K) and a revision."""
    relation, move = sharing.relation, sharing.relation.move
    _toward(sharing, support, values, move.along)
    fetch(relation.law, relation, i)
    step = scale(relation.pace, relation)
    for j in range(move.column.size):
        sharing.columns[slot, j] = step * relation.inverse[i, j]
        move.column[j] = coefficient * sharing.columns[slot, j]
    move.size[0] = square
    for s in range(sharing.among.shape[0]):
        if sharing.taken[s]:
            sharing.among[s, slot] = sharing.among[slot, s] = values[s]
    if sharing.among.shape[0] > 0:
        sharing.among[slot, slot] = square
    sharing.taken[slot] = True
    _learn(relation)


@apart
def _toward(sharing: Any, support: Any, values: Any, along: Any) -> None:
    """W'phi(x) for the kernel values of x with the slots."""
    along[:] = 0.0
    for s in range(support.counts[SIZE]):
        if sharing.taken[s]:
            weight = support.coefficients[s] * values[s]
            for j in range(along.size):
                along[j] += weight * sharing.columns[s, j]
