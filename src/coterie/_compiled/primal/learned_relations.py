"""Learned relations: the matrix M = A⁻¹ is updated from the Gram matrix W'W of the task vectors.

An update W <- W + x a' changes W'W by h a' + a h' + ‖x‖² a a' with h = W'x, for any features. The model stores a, h and
‖x‖² in a :class:`Move`; its :class:`Relation` adds them to the Gram matrix and updates M by
:mod:`coterie._compiled.primal.relation_updates`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.checks import (
    Bounds,
    require,
    require_counts,
    require_finite,
    require_rate,
    require_shape,
    require_within,
)
from coterie._compiled.core.generic import compiled, generic_noinline, noinline, when
from coterie._compiled.core.records import begin, end, value
from coterie._compiled.weights.dense import FeatureMajor, weights_of

from .relation_updates import absorb, among, bordered, padded, step_scale, update_relation, update_row
from .round import Extent, FitTable, adapt, add, add_timed, allocate, diagonal, on_step_end, skip
from .spread import TaskRows


class Move(NamedTuple):
    """The latest update W + x a' of the weights: the vector a, the products W'x before it, ‖x‖², and the sum of x."""

    column: Any
    along: Any
    size: Any


class Gram(NamedTuple):
    """The Gram matrix W'W of the task vectors, and the sum of each vector's entries."""

    products: Any
    sums: Any


class Relation(NamedTuple):
    """The state of a learned relation of K tasks: its update, its matrix M = A⁻¹, and the Gram matrix W'W.

    M is updated with the weights after the latest update, W_s, if ``after_move`` is 1, else with those before it,
    W_{s-1}. Updates are shared by A⁻¹ or, if ``mean_step`` = e is not 0, by K^e A⁻¹ / tr A⁻¹, which keeps the mean step
    size constant.

    ``inverse`` is A⁻¹ as its update stores it, ``first`` the diagonal of A_0⁻¹ = first · I at the first update.
    ``status`` has 1 if M is frozen because it exceeded its limit (2 after the warning), the round of that, and the
    number of updates of M.
    """

    update: Any
    after_move: int
    mean_step: int
    start: Any
    inverse: Any
    gram: Any
    move: Any
    status: Any
    first: float

    @classmethod
    def begin(cls, update: Any, after_move: int, mean_step: int, start: Any, n_tasks: int, first: float) -> Self:
        """Return the initial relation of K tasks: the inverse of A_0 is ``first`` times the identity, and W = 0."""
        K = n_tasks
        gram, move = Gram(np.zeros((K, K)), np.zeros(K)), Move(np.zeros(K), np.zeros(K), np.zeros(2))
        status = np.zeros(3, np.int64)
        return cls(update, after_move, mean_step, start, first * np.eye(K), gram, move, status, first)

    def resized(self, n_tasks: int, features: int, start: float) -> Self:
        """Return the relation with new tasks of zero weights, as if they had been known from the start.

        ``start`` is the diagonal of A_0⁻¹ for this many tasks, used before the first update of M.
        """
        fresh, update, first, inverse = (n_tasks - len(self.inverse), self.update, self.first, self.inverse)
        # before the first update A is A_0 alone, which depends on the number of tasks
        if self.status[2] == 0 and fresh:
            first = start
            update, inverse = update.restarted(first), first * np.eye(len(inverse))
        relation = self._replace(
            update=update.resized(fresh, features, first),
            start=self.start.resized(fresh),
            # new tasks are uncorrelated with all others until they have weights
            inverse=bordered(inverse, fresh, update.untouched(first) if self.status[2] else first),
            first=first,
            gram=Gram(bordered(self.gram.products, fresh), padded(self.gram.sums, fresh)),
            move=Move(padded(self.move.column, fresh), padded(self.move.along, fresh), self.move.size),
        )
        relation.update.write_inverse(relation.mean_step, relation.inverse)
        return relation

    def rescale(self, to: float, by: float) -> None:
        """Multiply the task vectors by ``to`` / ``by`` in the Gram matrix W'W, in place."""
        # W'W is quadratic in the weights, their sums linear
        for array, power in ((self.gram.products, 2), (self.gram.sums, 1)):
            array *= to**power
            array /= by**power

    def select(self, tasks: NDArray[np.int64]) -> Self:
        """Return the relation restricted to these tasks.

        The state of the update (A⁻¹, log A⁻¹ or A) loses the rows and columns of the others, and stays positive
        definite.
        """
        move = Move(self.move.column[tasks], self.move.along[tasks], self.move.size)
        relation = self._replace(
            update=self.update.select(tasks),
            start=self.start.select(tasks),
            inverse=self.update.inverse_of(self.inverse, tasks),
            gram=Gram(among(self.gram.products, tasks), self.gram.sums[tasks]),
            move=move,
        )
        relation.update.write_inverse(relation.mean_step, relation.inverse)
        return relation

    def check(self, tasks: int) -> None:
        """Raise ValueError for matrices of wrong shape or, while M is updated, with entries that are not finite."""
        for name, matrix in (("inverse", self.inverse), ("products", self.gram.products)):
            require_shape(name, matrix, tasks, tasks)
        for name, vector in (("sums", self.gram.sums), ("column", self.move.column), ("along", self.move.along)):
            require_shape(name, vector, tasks)
        require_shape("size", self.move.size, 2)
        require_counts("status", self.status, 3)
        require_within("status", self.status[:1], 0, 2)
        require_finite("inverse", self.inverse)
        if self.status[0] == 0:
            require_finite("products", self.gram.products)
            require_finite("sums", self.gram.sums)
        require_rate("the diagonal of A⁻¹ at the start", self.first)
        self.update.check(tasks)
        self.start.check(tasks)


@noinline  # one machine function, whatever the records, the rule and the weights are
def learn_relation(relation):
    """Update the matrix M after the latest update of the weights, unless it is frozen."""
    if relation.status[0] != 0:
        return
    # priming, t < EPOCH in SRDV11 Algorithm 1: W'W is summed although M stays A_0
    if not is_due(relation.start, relation.gram.products):
        absorb(relation.update, relation)
    # the variant with W_s; equations (3.7) to (3.10) use W_{s-1}, so the move is absorbed last
    elif relation.after_move == 1:
        absorb(relation.update, relation)
        _count_update(relation, update_relation(relation.update, relation), relation.start.clock[0] + 1)
    else:
        fits = update_relation(relation.update, relation)
        absorb(relation.update, relation)
        _count_update(relation, fits, relation.start.clock[0] + 1)


@noinline
def _count_update(relation, fits, round_number):
    """Count an update of the matrix M; freeze M if the update did not fit (it would exceed its limit)."""
    relation.status[2] += 1
    if not fits:
        relation.status[0], relation.status[1] = 1, round_number


@compiled
def current(relation):
    """Return the matrix by which the next update is shared among K tasks, shape (K, K)."""
    for i in range(relation.inverse.shape[0]):
        update_row(relation.update, relation, i)
    return relation.inverse * step_scale(relation)


# -- when it starts ---------------------------------------------------------------------------------------------------


class FromRound(NamedTuple):
    """Schedule: M is updated from round ``first`` on, at each update of the weights or after ``every`` rounds."""

    clock: Any
    first: float
    every: int

    @classmethod
    def begin(cls, first: float, every: int = 0) -> Self:
        """Return the initial schedule; ``every`` = 0 updates M at each update of the weights."""
        return cls(np.zeros(1, np.int64), float(first), int(every))

    def resized(self, fresh: int) -> Self:
        """Return this schedule, which does not depend on tasks."""
        return self

    def select(self, tasks: NDArray[np.int64]) -> Self:
        """Return this schedule, which does not depend on tasks."""
        return self

    def check(self, tasks: int) -> None:
        """Raise ValueError for an invalid clock or number of rounds."""
        require_counts("the clock of the relation", self.clock, 1)
        require(np.isfinite(self.first), f"the first round is {self.first!r}")
        require(self.every >= 0, f"M is updated every {self.every!r} rounds")


class WhenSettled(NamedTuple):
    """Schedule: M is updated once the correlations of the task vectors change little between checkpoints.

    ``moves`` has the number of updates so far, the number at the next checkpoint, and 1 after the correlations have
    settled; ``last`` are the correlations at the latest checkpoint. ``every`` is 0: M is not updated at the ends of
    rounds.
    """

    clock: Any
    moves: Any
    last: Any
    tolerance: float
    every: int

    @classmethod
    def begin(cls, n_tasks: int, moves: int, tolerance: float) -> Self:
        """Return the initial schedule; the first checkpoint is after ``moves`` updates, the next at each doubling."""
        return cls(np.zeros(1, np.int64), np.array([0, moves, 0]), np.zeros((n_tasks, n_tasks)), tolerance, 0)

    def resized(self, fresh: int) -> Self:
        """Return the schedule with new tasks."""
        return self._replace(last=bordered(self.last, fresh))

    def move_first_look(self, before: int, moves: int) -> None:
        """Move the first checkpoint from ``before`` to ``moves`` updates, unless it is past."""
        if self.moves[1] == before:  # each later one is at twice the moves of the one before, or more
            self.moves[1] = moves

    def select(self, tasks: NDArray[np.int64]) -> Self:
        """Return the schedule restricted to these tasks."""
        return self._replace(last=among(self.last, tasks))

    def check(self, tasks: int) -> None:
        """Raise ValueError for an invalid clock, or correlations of wrong shape."""
        require_counts("the clock of the relation", self.clock, 1)
        require_counts("moves", self.moves, 3)
        require_shape("last", self.last, tasks, tasks)
        require(np.isfinite(self.tolerance), f"tolerance is {self.tolerance!r}")
        require(self.every == 0, f"M is updated every {self.every!r} rounds")


@generic_noinline
def is_due(start, products):
    """Return True if the schedule ``start`` requires an update of M now; ``products`` is the Gram matrix."""


# clock[0] counts finished rounds, so the present one is clock[0] + 1
when(is_due, FromRound)(lambda start, products: start.every == 0 and start.clock[0] + 1 >= start.first)


@generic_noinline
def ends_period(start):
    """Return True if M must be updated at the end of the current round."""


when(ends_period, FromRound)(lambda start: start.clock[0] % start.every == 0 and start.clock[0] >= start.first)
when(ends_period, WhenSettled)(lambda start: False)


@when(is_due, WhenSettled)
def _has_settled(start, products):
    """Return True if the correlations of the task vectors have changed little since the last checkpoint."""
    moves = start.moves
    if moves[2] > 0:
        return True
    moves[0] += 1
    if moves[0] >= moves[1]:
        # checkpoints at doublings: O(K²) each, but only log2 of the number of moves
        moves[1] = 2 * moves[0]
        # at the first checkpoint last is zero, so the change is as large as the correlations themselves
        change, size = _correlation_change(products, start.last)
        if change <= start.tolerance * start.tolerance * size:
            moves[2] = 1
    return moves[2] > 0


@noinline
def _correlation_change(products, last):
    """Return the squared norms of the change of the correlations and of the correlations; store these as ``last``."""
    change = size = 0.0
    for j in range(products.shape[0]):
        for k in range(products.shape[0]):
            # cosines of the task vectors, whose entries are not centred
            length = np.sqrt(products[j, j] * products[k, k])
            r = products[j, k] / length if length > 0.0 else 0.0
            change += (r - last[j, k]) ** 2
            size += r * r
            last[j, k] = r
    return change, size


@noinline
def end_rounds(relation, rounds):
    """Count rounds, and update M at the end of each round with an update due."""
    start = relation.start
    # updates at moves need the number of rounds alone
    if start.every == 0:
        start.clock[0] += rounds
        return
    for _ in range(rounds):
        start.clock[0] += 1
        if ends_period(start) and relation.status[0] == 0 and relation.inverse.shape[0] > 0:
            _count_update(relation, update_relation(relation.update, relation), start.clock[0])


# -- the model --------------------------------------------------------------------------------------------------------


class LearnedModel(namedtuple("LearnedModel", "table relation"), TaskRows):
    """Linear model with a learned relation: the weights W, stored by feature, and the relation."""

    __slots__ = ()

    @property
    def sharing(self) -> Relation:
        return self.relation  # type: ignore[no-any-return]

    def with_sharing(self, sharing: Relation) -> LearnedModel:
        return self._replace(relation=sharing)

    def fit(self, fit_table: FitTable, groups: int, tasks: int, features: int, dense: bool) -> LearnedModel:
        # not by fit_table, which goes over to another storage: all weights are kept, however many there are
        return self._replace(table=self.table.fit_rows(tasks).fit_features(features))

    def make_room(self, i: int, entries: int) -> LearnedModel:
        return self

    def rescale(self, to: float, by: float) -> None:
        """Multiply the weights by ``to`` and divide them by ``by``, in place; the relation is unchanged."""
        values = self.table.values
        values *= to
        values /= by

    def unseen_task_model(self, tasks: int, sharing: Any) -> LearnedModel:
        zeros = np.zeros(tasks)
        return self._replace(table=self.table._replace(values=zeros, stride=0))

    def to_saved(self, extent: Extent) -> LearnedModel:
        return self._replace(table=self.table.part(extent.tasks, extent.features))

    def check(self, bounds: Bounds) -> None:
        require(type(self.table) is FeatureMajor, f"a {type(self.table).__name__} lacks weights of a feature")
        self.table.check(bounds.tasks, bounds.features)
        self.relation.check(bounds.tasks)

    def without_sharing(self) -> LearnedModel:
        """Return the model without the relation, which is saved with the main model."""
        return self._replace(relation=None)


when(allocate, LearnedModel)(lambda model, i, rows, t: True)


@when(diagonal, LearnedModel)
def _diagonal(model, i):
    relation = model.relation
    update_row(relation.update, relation, i)
    return relation.inverse[i, i] * step_scale(relation)


@when(add, LearnedModel)
def _add(model, i, c, rows, t):
    relation = model.relation
    update_row(relation.update, relation, i)
    step = c * step_scale(relation)
    for j in range(relation.inverse.shape[0]):
        # column i of A⁻¹ is row i by symmetry, and rows are contiguous: (3.3) of SRDV11
        relation.move.column[j] = step * relation.inverse[i, j]
    _add_outer(model.table, relation.move, rows, t)


@compiled
def _add_outer(table, move, rows, t):
    """Add the update x a' to the weights W, and store W'x and ‖x‖²; x is record t."""
    column, along = move.column, move.along
    along[:] = 0.0
    length = total = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        weights, x = weights_of(table, rows, t, k, column.size), value(rows, t, k)
        length += x * x
        total += x
        for j in range(column.size):
            # h = W'x of before the move: the weight of this feature is read, then moved
            along[j] += x * weights[j]
            weights[j] += x * column[j]
    move.size[0], move.size[1] = length, total


@when(add_timed, LearnedModel)
def _add_timed(model, i, c, rows, t, clock):
    # the model has moved first and left the column a in its relation
    column = model.relation.move.column
    for k in range(begin(rows, t), end(rows, t)):
        # M changes with time, so the twin sums clock · a x' instead of clock times the present M
        weights, x = weights_of(model.table, rows, t, k, column.size), value(rows, t, k) * clock
        for j in range(column.size):
            weights[j] += x * column[j]


when(adapt, LearnedModel)(lambda model: learn_relation(model.relation))


@when(on_step_end, LearnedModel)
def _tick(model):
    end_rounds(model.relation, 1)


@when(skip, LearnedModel)
def _skip(model):
    end_rounds(model.relation, 1)
