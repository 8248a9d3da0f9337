"""Tasks as views: the matrix Perceptron where every record has one view, that of its task.

V holds the sum of the moves of each task, a column each, and W = V F is what predicts, F = Tr(G^p)^(1/p - 1) G^(p - 1)
with G = V'V. So a move changes one column of V, and F all others of W: F is the M of a learned relation, G its Gram
matrix, and V is what the table of weights holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.checks import require, require_finite, require_shape
from coterie.numeric.core.generic import compiled, generic, noinline, when
from coterie.numeric.core.records import begin, end, value
from coterie.numeric.primal.learned_relations import EveryRounds, LearnedModel, Relation
from coterie.numeric.primal.relation_updates import Matrix, RelationUpdate, among, bordered, update_relation
from coterie.numeric.primal.round import Weights, add, add_timed, diagonal, score, summed_margin
from coterie.numeric.weights.dense import weights_of

from .potentials import Schatten, refresh


class _SpectralFields(NamedTuple):
    p: float
    past: Any
    since: Any


class SpectralUpdate(_SpectralFields, RelationUpdate):
    """M is F; ``past`` is its sum over the first ``since[0]`` rounds, for the mean of the weights."""

    __slots__ = ()

    @classmethod
    def begin(cls, p: float, n_tasks: int) -> Self:
        """Start with so many tasks, before the first round."""
        return cls(p, np.zeros((n_tasks, n_tasks)), np.zeros(1))

    def resized(self, fresh: int, features: int, first: float) -> Self:
        return self._replace(past=bordered(self.past, fresh))

    def of(self, tasks: NDArray[np.int64]) -> Self:
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
    """A relation whose M is a function of the Gram matrix as it is, not of one revision after the other."""

    __slots__ = ()

    def of(self, tasks: NDArray[np.int64]) -> Self:
        """Return the relation of these tasks alone: that of the sums of their moves, if M has been revised."""
        made = super().of(tasks)
        if made.status[2] and len(tasks):
            write_factor(made.relation_update, made.gram.products, made.inverse)
        return made


@generic
def rounds_with(start: Any) -> Any:
    """Return the number of rounds up to that whose end the relation is revised at."""


when(rounds_with, object)(lambda start: start.clock[0] + 1.0)
when(rounds_with, EveryRounds)(lambda start: start.clock[0] + 0.0)  # the round has ended by then


@when(update_relation, SpectralUpdate)
def _revise_spectral(relation_update: Any, relation: Any) -> Any:
    if not np.isfinite(np.sum(relation.gram.products)):
        return False
    rounds = rounds_with(relation.start)
    gap = rounds - relation_update.since[0]
    for j in range(relation_update.past.shape[0]):
        for k in range(relation_update.past.shape[0]):
            relation_update.past[j, k] += gap * relation.inverse[j, k]
    relation_update.since[0] = rounds
    write_factor(relation_update, relation.gram.products, relation.inverse)
    return True


@noinline
def write_factor(relation_update: Any, products: Any, out: Any) -> None:
    """Write F: O(K²) for p = 2, where it is G / ‖G‖, and for p = 1; else the eigenvalues of G, O(K³)."""
    K = products.shape[0]
    if relation_update.p == 2.0:
        top = np.max(np.diag(products))
        size = top * np.sqrt(np.sum((products / top) ** 2)) if top > 0.0 else 1.0
        for j in range(K):
            for k in range(K):
                out[j, k] = products[j, k] / size
        return
    refresh(Schatten(products, out.reshape(-1), out.reshape(-1), relation_update.since, relation_update.p))
    if relation_update.p > 1.0:
        for j in range(K):
            if products[j, j] == 0.0:  # the task has never moved; eigenvectors say so but for their rounding
                out[j, :] = 0.0
                out[:, j] = 0.0


class SpectralRelationModel(LearnedModel):
    """The sums V of the tasks' moves, feature by feature, and the relation by which they are read."""

    __slots__ = ()

    def unseen_task_model(self, tasks: int, sharing: Any) -> SpectralRelationModel:
        nothing: Matrix = np.zeros((tasks, tasks))
        unseen = sharing._replace(inverse=nothing, relation_update=sharing.relation_update._replace(past=nothing))
        return super().unseen_task_model(tasks, unseen)._replace(relation=unseen)  # type: ignore[return-value]

    def weights(self, tasks: int, features: int) -> Weights:
        return np.asarray(self.relation.inverse @ self.table.rows(tasks, features))

    def summed_weights(self, twin: LearnedModel, rounds: float, tasks: int, features: int) -> Weights:
        relation_update = self.relation.relation_update
        F = relation_update.past + (rounds - relation_update.since[0]) * self.relation.inverse
        return np.asarray(F @ self.table.rows(tasks, features) - twin.table.rows(tasks, features))


@compiled
def _read(table: Any, factor: Any, rows: Any, t: Any) -> Any:
    """Σ_j f_j v_j·x for a row f of a matrix: O(K nnz)."""
    total = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        sums, part = weights_of(table, rows, t, k, factor.size), 0.0
        for j in range(factor.size):
            part += factor[j] * sums[j]
        total += part * value(rows, t, k)
    return total


when(score, SpectralRelationModel)(lambda model, i, rows, t: _read(model.table, model.relation.inverse[i], rows, t))
when(diagonal, SpectralRelationModel)(
    lambda model, i: 2.0 * model.relation.relation_update.p - 1.0
)  # ‖x‖² times it is what steps are sized by


@when(add, SpectralRelationModel)
def _add(model: Any, i: Any, c: Any, rows: Any, t: Any) -> Any:
    move = model.relation.move
    move.column[:] = 0.0
    move.column[i] = c
    move.along[:] = 0.0
    length = total = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        sums, x = weights_of(model.table, rows, t, k, move.column.size), value(rows, t, k)
        length += x * x
        total += x
        for j in range(move.column.size):
            move.along[j] += x * sums[j]
        sums[i] += x * c
    move.size[0], move.size[1] = length, total


@when(add_timed, SpectralRelationModel)
def _add_timed(model: Any, i: Any, c: Any, rows: Any, t: Any, clock: Any) -> Any:
    relation_update, inverse = model.relation.relation_update, model.relation.inverse
    gap = clock - relation_update.since[0]
    for k in range(begin(rows, t), end(rows, t)):
        sums, x = weights_of(model.table, rows, t, k, inverse.shape[0]), c * value(rows, t, k)
        for j in range(inverse.shape[0]):
            sums[j] += x * (relation_update.past[i, j] + gap * inverse[i, j])


@when(summed_margin, SpectralRelationModel)
def _summed_margin(model: Any, twin: Any, i: Any, rows: Any, t: Any, clock: Any, margin: Any) -> Any:
    relation_update, inverse = model.relation.relation_update, model.relation.inverse
    gap, total = clock - relation_update.since[0], 0.0
    for k in range(begin(rows, t), end(rows, t)):
        sums, part = weights_of(model.table, rows, t, k, inverse.shape[0]), 0.0
        timed = weights_of(twin.table, rows, t, k, inverse.shape[0])
        for j in range(inverse.shape[0]):
            part += (relation_update.past[i, j] + gap * inverse[i, j]) * sums[j]
        total += (part - timed[i]) * value(rows, t, k)
    return total
