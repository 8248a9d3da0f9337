"""The spectral relation: a matrix Perceptron in which tasks are views.

The columns of V are the sums of updates of each task. Predictions use W = V F with F = Tr(G^p)^(1/p - 1) G^(p - 1) and
G = V'V. So an update changes one column of V, and through F all columns of W: F is the M of a learned relation, G its
Gram matrix, and V is stored in the table of weights.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.checks import require, require_finite, require_shape
from coterie._compiled.core.generic import compiled, noinline, when
from coterie._compiled.core.records import begin, end, value
from coterie._compiled.primal.learned_relations import LearnedModel, Relation
from coterie._compiled.primal.relation_updates import Matrix, RelationUpdate, among, bordered, update_relation
from coterie._compiled.primal.round import Weights, add, add_timed, diagonal, score, summed_margin
from coterie._compiled.weights.dense import weights_of

from .norm_potentials import Schatten, refresh


class SpectralUpdate(namedtuple("SpectralUpdate", "p past since"), RelationUpdate):
    """The update of the spectral relation, in which M is the factor F; ``past`` sums F over past rounds."""

    __slots__ = ()

    @classmethod
    def begin(cls, p: float, n_tasks: int) -> Self:
        """Return the initial state for this many tasks."""
        return cls(p, np.zeros((n_tasks, n_tasks)), np.zeros(1))

    def resized(self, fresh: int, features: int, first: float) -> Self:
        return self._replace(past=bordered(self.past, fresh))

    def select(self, tasks: NDArray[np.int64]) -> Self:
        return self._replace(past=among(self.past, tasks))

    def untouched(self, first: float) -> float:
        return first if self.p == 1.0 else 0.0

    def check(self, tasks: int) -> None:
        require(np.isfinite(self.p) and self.p >= 1.0, f"p is {self.p!r}")
        require_shape("past", self.past, tasks, tasks)
        require_finite("past", self.past)
        require_shape("since", self.since, 1)
        require_finite("since", self.since)


class SpectralRelation(Relation):
    """A learned relation with a matrix M that depends only on the current Gram matrix of the tasks' sums."""

    __slots__ = ()

    def select(self, tasks: NDArray[np.int64]) -> Self:
        """Return the relation restricted to these tasks; M follows from their sums of updates."""
        relation = super().select(tasks)
        if relation.status[2] and len(tasks):
            write_factor(relation.update, relation.gram.products, relation.inverse)
        return relation


@when(update_relation, SpectralUpdate)
def _revise_spectral(update, relation):
    if not np.isfinite(np.sum(relation.gram.products)):
        return False
    # an update at the end of a round counts it already
    rounds = relation.start.clock[0] + (1.0 if relation.start.every == 0 else 0.0)
    gap = rounds - update.since[0]
    for j in range(update.past.shape[0]):
        for k in range(update.past.shape[0]):
            # the F that was in force since the latest revision counts once per round
            update.past[j, k] += gap * relation.inverse[j, k]
    update.since[0] = rounds
    write_factor(update, relation.gram.products, relation.inverse)
    return True


@noinline
def write_factor(update, products, out):
    """Compute the factor F from the Gram matrix ``products``: O(K²) for p = 1 and 2, O(K³) for other p."""
    K = products.shape[0]
    if update.p == 2.0:
        # divided by the largest entry first, because squares of the products may overflow
        top = np.max(np.diag(products))
        size = top * np.sqrt(np.sum((products / top) ** 2)) if top > 0.0 else 1.0
        for j in range(K):
            for k in range(K):
                out[j, k] = products[j, k] / size
        return
    # a potential with one view per task; out stands for its past, too, which refresh does not read
    refresh(Schatten(products, out.reshape(-1), out.reshape(-1), update.since, update.p))
    if update.p > 1.0:
        for j in range(K):
            if products[j, j] == 0.0:  # the task has never moved; eigenvectors say so but for their rounding
                out[j, :] = 0.0
                out[:, j] = 0.0


class SpectralRelationModel(LearnedModel):
    """Linear model of the spectral relation: the tasks' sums of updates V, stored by feature, and the relation."""

    __slots__ = ()

    def unseen_task_model(self, tasks: int, sharing: Any) -> SpectralRelationModel:
        nothing: Matrix = np.zeros((tasks, tasks))
        unseen = sharing._replace(inverse=nothing, update=sharing.update._replace(past=nothing))
        return super().unseen_task_model(tasks, unseen)._replace(relation=unseen)  # type: ignore[return-value]

    def weights(self, tasks: int, features: int) -> Weights:
        return np.asarray(self.relation.inverse @ self.table.rows(tasks, features))

    def summed_weights(self, twin: LearnedModel, rounds: float, tasks: int, features: int) -> Weights:
        update = self.relation.update
        F = update.past + (rounds - update.since[0]) * self.relation.inverse
        return np.asarray(F @ self.table.rows(tasks, features) - twin.table.rows(tasks, features))


@compiled
def _read(table, factor, rows, t):
    """Return the margin of record t for a task; ``factor`` is the task's row of F. O(K · entries of the record)."""
    total = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        sums, part = weights_of(table, rows, t, k, factor.size), 0.0
        for j in range(factor.size):
            part += factor[j] * sums[j]
        total += part * value(rows, t, k)
    return total


when(score, SpectralRelationModel)(lambda model, i, rows, t: _read(model.table, model.relation.inverse[i], rows, t))
when(diagonal, SpectralRelationModel)(
    lambda model, i: 2.0 * model.relation.update.p - 1.0
)  # ‖x‖² times it is what steps are sized by


@when(add, SpectralRelationModel)
def _add(model, i, c, rows, t):
    move = model.relation.move
    move.column[:] = 0.0
    # V moves in one column only; the other tasks follow through F
    move.column[i] = c
    move.along[:] = 0.0
    length = total = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        sums, x = weights_of(model.table, rows, t, k, move.column.size), value(rows, t, k)
        length += x * x
        total += x
        for j in range(move.column.size):
            # as in LearnedModel: exact also for a feature that occurs twice
            move.along[j] += x * sums[j]
        sums[i] += x * c
    move.size[0], move.size[1] = length, total


@when(add_timed, SpectralRelationModel)
def _add_timed(model, i, c, rows, t, clock):
    update, inverse = model.relation.update, model.relation.inverse
    gap = clock - update.since[0]
    for k in range(begin(rows, t), end(rows, t)):
        sums, x = weights_of(model.table, rows, t, k, inverse.shape[0]), c * value(rows, t, k)
        for j in range(inverse.shape[0]):
            # row i of the sum of F up to this round: what the sum over all rounds must not count of this move
            sums[j] += x * (update.past[i, j] + gap * inverse[i, j])


@when(summed_margin, SpectralRelationModel)
def _summed_margin(model, twin, i, rows, t, clock, margin):
    update, inverse = model.relation.update, model.relation.inverse
    gap, total = clock - update.since[0], 0.0
    for k in range(begin(rows, t), end(rows, t)):
        sums, part = weights_of(model.table, rows, t, k, inverse.shape[0]), 0.0
        timed = weights_of(twin.table, rows, t, k, inverse.shape[0])
        for j in range(inverse.shape[0]):
            part += (update.past[i, j] + gap * inverse[i, j]) * sums[j]
        # sum of F times V over all rounds, less the part from before each move
        total += (part - timed[i]) * value(rows, t, k)
    return total
