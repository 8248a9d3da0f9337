"""A relation learned in the dual form: each support vector teaches it, and keeps the column of M that it came with.

W = Σ_j beta_j phi(x_j) m_j' with m_j the column of M for the task of support vector j as it was when j came, so that
f_i(x) = Σ_j beta_j m_ji k(x_j, x). What the relation needs of a move W + phi(x) a' is k(x, x) and
W'phi(x) = Σ_j beta_j m_j k(x_j, x): the Gram matrix of the task vectors follows without any of them being there.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from coterie.numeric.core.arrays import resized
from coterie.numeric.core.checks import Bounds, require, require_shape
from coterie.numeric.core.generic import generic_no_refcount, noinline, when
from coterie.numeric.primal.asking import relation_in
from coterie.numeric.primal.laws import absorb, scale, update_row
from coterie.numeric.primal.learned_relations import end_rounds, learn_relation

from .expansion import SIZE, at_hand, end_round, enter, own_share, shares


class Taught(NamedTuple):
    """The columns of M that support vectors came with, by slot, and the relation that they teach.

    ``columns`` is (slots, K). ``taken`` says which slots hold one; ``among`` has kernel values between slots where a
    support vector may leave, whose part of W'W must then be taken out, and no rows elsewhere.
    """

    columns: Any
    taken: Any
    among: Any
    relation: Any

    @classmethod
    def empty(cls, relation: Any, tasks: int) -> Self:
        """No support vectors, beside the state of a relation between so many tasks."""
        return cls(np.zeros((0, tasks)), np.zeros(0, bool), np.zeros((0, 0)), relation)

    def with_room(self, capacity: int, evicts: bool) -> Self:
        """The same with so many slots at least; ``evicts`` says that support vectors may leave."""
        if capacity <= len(self.taken):
            return self
        return self._replace(
            columns=resized(self.columns, (capacity, self.columns.shape[1])),
            taken=resized(self.taken, (capacity,)),
            among=resized(self.among, (capacity, capacity)) if evicts else self.among,
        )

    def to_saved(self, size: int) -> Self:
        """Leave out room for more than so many support vectors."""
        among = self.among[:size, :size]
        return self._replace(columns=self.columns[:size], taken=self.taken[:size], among=among)

    def check(self, bounds: Bounds) -> None:
        """Refuse columns of other tasks, and kernel values between other slots: ValueError."""
        slots = len(self.taken)
        require_shape("columns of M", self.columns, slots, bounds.tasks)
        require(self.among.shape in ((0, 0), (slots, slots)), f"kernel values between slots have {self.among.shape}")
        self.relation.check(bounds.tasks)

    def check_slots(self, slots: int, n: int, evicts: bool) -> None:
        """Refuse other slots than those of support vectors, or such as hold none of the first ``n``: ValueError."""
        require(len(self.taken) == slots, f"{len(self.taken)} columns of M are kept for {slots} slots")
        require(not self.taken[n:].any(), "a slot without a support vector has a column of M")
        require(len(self.among) == (slots if evicts else 0), "kernel values between slots do not go with the budget")

    def with_tasks(self, relation: Any, tasks: int) -> Self:
        """The same for so many tasks, with the state that the relation has for them."""
        return self._replace(columns=resized(self.columns, (len(self.columns), tasks)), relation=relation)

    def rescale(self, to: float, by: float) -> None:
        """Multiply the columns of M by ``to`` and divide them by ``by``, in place; the relation is left as it is."""
        columns = self.columns
        columns *= to
        columns /= by

    def unseen(self, tasks: int) -> Self:
        """The same for as many tasks that nobody has seen, which share nothing."""
        return self._replace(columns=np.zeros((len(self.columns), tasks)))


class Gathering(Taught):
    """Each column says whose move it was, and the M of the relation is read at predictions.

    So W = V M with V = Σ_j beta_j phi(x_j) e_(i_j)', and the relation has the Gram matrix of V.
    """

    __slots__ = ()

    def unseen(self, tasks: int) -> Self:
        """The same for as many tasks that nobody has seen, which share nothing."""
        nothing = np.zeros((tasks, self.columns.shape[1]))
        return self._replace(relation=self.relation._replace(inverse=nothing))


when(relation_in, Taught)(lambda sharing: sharing.relation)
when(at_hand, Taught)(lambda sharing, i: True)
when(own_share, Taught)(lambda sharing, i: sharing.relation.inverse[i, i])


@when(shares, Taught)
def _shares_of_taught(sharing: Any, support: Any, n: Any, i: Any, out: Any) -> None:
    for j in range(n):
        out[j] = sharing.columns[j, i]


@when(shares, Gathering)
def _shares_of_gathering(sharing: Any, support: Any, n: Any, i: Any, out: Any) -> None:
    row = sharing.relation.inverse[i]
    for j in range(n):
        out[j] = row[support.tasks[j]]


@when(end_round, Taught)
def _end_round_taught(sharing: Any) -> None:
    end_rounds(sharing.relation.start, sharing.relation, 1)


@when(enter, Taught)
def _enter_taught(sharing: Any, model: Any, work: Any, slot: Any, t: Any, i: Any, coefficient: Any) -> None:
    support = model.support
    if sharing.taken[slot]:
        _leave(sharing, support, slot)
    _come(sharing, support, work.values[t], work.among[t, t], slot, i, coefficient)


@generic_no_refcount
def write_column(sharing: Any, column: Any, i: Any) -> None:
    """Write the column that a support vector of task i comes with."""


@when(write_column, Taught)
def _write_column_of_m(sharing: Any, column: Any, i: Any) -> None:
    relation = sharing.relation
    update_row(relation.law, relation, i)
    step = scale(relation.pace, relation)
    for j in range(column.size):
        column[j] = step * relation.inverse[i, j]


@when(write_column, Gathering)
def _write_column_of_task(sharing: Any, column: Any, i: Any) -> None:
    column[:] = 0.0
    column[i] = 1.0


@noinline
def _leave(sharing: Any, support: Any, slot: int) -> None:
    """Take the part of a support vector out of the Gram matrix of the task vectors: O(B·K + K²)."""
    relation, move = sharing.relation, sharing.relation.move
    _toward(sharing, support, sharing.among[slot], move.along)
    for j in range(move.column.size):
        move.column[j] = -support.coefficients[slot] * sharing.columns[slot, j]
    move.size[0] = sharing.among[slot, slot]
    absorb(relation.law, relation)
    sharing.taken[slot] = False


@noinline
def _come(sharing: Any, support: Any, values: Any, square: float, slot: int, i: int, coefficient: float) -> None:
    """Move all tasks by a new support vector, and let the relation learn from it: O(B·K) and a revision."""
    relation, move = sharing.relation, sharing.relation.move
    _toward(sharing, support, values, move.along)
    write_column(sharing, sharing.columns[slot], i)
    for j in range(move.column.size):
        move.column[j] = coefficient * sharing.columns[slot, j]
    move.size[0] = square
    for s in range(sharing.among.shape[0]):
        if sharing.taken[s]:
            sharing.among[s, slot] = sharing.among[slot, s] = values[s]
    if sharing.among.shape[0] > 0:
        sharing.among[slot, slot] = square
    sharing.taken[slot] = True
    learn_relation(relation)


@noinline
def _toward(sharing: Any, support: Any, values: Any, along: Any) -> None:
    """Fill ``along`` with W'phi(x) for the kernel values of x with the slots."""
    along[:] = 0.0
    for s in range(support.counts[SIZE]):
        if sharing.taken[s]:
            weight = support.coefficients[s] * values[s]
            for j in range(along.size):
                along[j] += weight * sharing.columns[s, j]
