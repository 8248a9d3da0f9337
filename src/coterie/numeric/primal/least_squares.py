"""Regression by several members, some learned by gradients and two by least squares, and a last step on top of them.

A regression keeps the least squares of its labels, exactly and a record at a time: with A = ridge · I + Σ x x' = L D L'
and L unit lower triangular, it holds the pivots D, L transposed, and the answers a = D⁻¹ L⁻¹ (ridge · w_0 + Σ z x), so
that

    u = L⁻¹ x,    the prediction is x'w = Σ_j u_j a_j.

A record (x, z) of weight w, 1 as a rule, is rotated in (Gentleman, "Basic procedures for large, sparse or weighted
linear least squares problems", 1974): for each feature j in turn, with v that is w at first,

    D' = D_j + v x_j²,    gain = v x_j / D',    v <- v D_j / D',    D_j <- D',
    z <- z - x_j a_j,    a_j <- a_j + gain · z,    x_r <- x_r - x_j L_rj,    L_rj <- L_rj + gain · x_r  for r > j.

No difference of large numbers is taken, so it stays exact however long the stream and whatever the features' units, and
features that are 0 cost nothing. Features are numbered in the order in which they are first other than 0, so hashed
columns and columns of zeros take no room. Features that come later have been 0 so far: rows and columns of zeros and a
pivot of ``ridge``, and zeros are all that a larger table has to be filled with.

Members of a round for task i, each kept within the range of the labels so far, are

    the margins of the gradient learners, the last of which knows one model of all;
    w · x + b_i with the pooled regression w, which learns z - b_i, and b_i = Σ (z - w · x) / (n_i + 3) over the task;
    w_i · (1, x) with a regression of the task's own, which has a constant before the features.

A record of weight w counts as w records in all of these sums, in numbers of labels, and in what residuals say; one of
weight 0 is predicted and not learned.

The last step is a regression with ridge 1 on these numbers, from weights 1/S on. A regression of more features seen
than its limit falls away: w · x is then the margin of the last gradient learner, and a task's own leaves the last
step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.arrays import Dropped, grown
from coterie.numeric.core.checks import (
    MOST_ROUNDS,
    require,
    require_rows,
    require_shape,
    require_within,
)
from coterie.numeric.core.generic import compiled, holds_gil, no_refcount
from coterie.numeric.core.hashing import slot
from coterie.numeric.core.records import Csr, Rows, begin, end, feature, value, weight

#: The ridges of the pooled regression, of a task's own and of the last step; records should be of about unit length.
POOLED_RIDGE, OWN_RIDGE, LAST_RIDGE = 0.1, 1.0, 1.0

#: The most features seen of the pooled regression and of a task's own: beyond, d² and K d² numbers cost too much.
POOLED_LIMIT, OWN_LIMIT = 128, 32

#: The size of the hash table of features seen, less one: four times as many entries as it may hold.
_MASK = np.uint64(4 * POOLED_LIMIT - 1)

#: How many residuals of 0 a task's intercept begins with.
SHRINKAGE = 3.0

#: The labels before which the last step learns nothing and no residual counts: the first are not yet on a scale.
START = 30

#: Residuals with which the mean square of an age begins, and a task's factor of it: tasks differ more.
PRIOR, TASK_PRIOR = 10.0, 3.0

#: Numbers of a task's labels so far, by powers of two, whose residuals are kept apart; the last has all beyond.
AGES = 16

#: Bins of residuals over their spreads, in asinh(4 u) from -REACH to REACH.
BINS, REACH = 128, 6.4

#: What a number inside of a regression is at most: its square, and products of such with answers, stay finite.
LARGEST = 1e75


class Regressions(NamedTuple):
    """Least squares of several models, a row each: ``pivots`` D - ridge, ``answers`` a (R, c) and L transposed, packed.

    ``triangle`` (R, c (c - 1) / 2) has L_rj for r > j, the column j of L after that of j - 1.
    """

    pivots: Any
    answers: Any
    triangle: Any

    @classmethod
    def empty(cls, rows: int = 0, width: int = 0) -> Regressions:
        """So many models of no record."""
        return cls(np.zeros((rows, width)), np.zeros((rows, width)), np.zeros((rows, _places(width))))

    def with_room(self, rows: int, width: int, limit: int = POOLED_LIMIT) -> Regressions:
        """The same models with room for ``rows`` models and ``width`` features; ``limit`` is the most features."""
        held, before = self, self.pivots.shape[1]
        if width > before:
            held = held._copied(len(self.pivots), min(max(width, before * 3 // 2), limit))
        if rows <= len(held.pivots):
            return held
        return Regressions(*(grown(each, rows) for each in held))

    def _copied(self, rows: int, width: int) -> Regressions:
        """A copy of as much as goes into so many models and features, with zeros for what there is not yet."""
        made, before = Regressions.empty(rows, width), self.pivots.shape[1]
        held, common = min(rows, len(self.pivots)), min(width, before)
        old = new = 0
        for j in range(common):
            made.triangle[:held, new : new + common - 1 - j] = self.triangle[:held, old : old + common - 1 - j]
            old, new = old + before - 1 - j, new + width - 1 - j
        made.pivots[:held, :common] = self.pivots[:held, :common]
        made.answers[:held, :common] = self.answers[:held, :common]
        return made

    def cut(self, rows: int, width: int) -> Regressions:
        """The first ``rows`` models and ``width`` features without unused room, as a file holds them."""
        return self._copied(rows, min(width, self.pivots.shape[1]))

    def weights(self, width: int) -> NDArray[np.float64]:
        """The weights w = L'⁻¹ a of each model, shape (rows, width), zeros behind what is held: O(rows · width²)."""
        rows, held = self.pivots.shape
        made = np.zeros((rows, max(width, held)))
        made[:, :held] = self.answers
        for j in range(held - 2, -1, -1):
            first = _places(held) - _places(held - j)
            made[:, j] -= np.einsum("mr,mr->m", self.triangle[:, first : first + held - 1 - j], made[:, j + 1 : held])
        return made[:, :width]

    def check(self, name: str, rows: int | None = None) -> None:
        """Refuse arrays that do not fit together, or numbers that no records lead to: ValueError."""
        width = self.pivots.shape[1] if self.pivots.ndim == 2 else 0
        require(width <= POOLED_LIMIT, f"{name} has room for {width} features, and {POOLED_LIMIT} are the most")
        require_shape(f"pivots of {name}", self.pivots, rows, width)
        require_shape(f"answers of {name}", self.answers, len(self.pivots), width)
        require_shape(f"triangle of {name}", self.triangle, len(self.pivots), _places(width))
        require_within(f"pivots of {name}", self.pivots, 0.0, LARGEST**3)
        for numbers in (self.answers, self.triangle):
            require_within(name, numbers, -(LARGEST**1.5), LARGEST**1.5)


def _places(width: int) -> int:
    """The entries of a triangle without its diagonal."""
    return width * (width - 1) // 2


class SeenFeatures(NamedTuple):
    """The columns of features seen, the first ``POOLED_LIMIT`` of them, in the order of their first value other than 0.

    ``columns`` (POOLED_LIMIT,) is in that order; ``table`` is a hash table of positions in it, -1 where it is empty.
    """

    columns: Any
    table: Any

    @classmethod
    def of_columns(cls, columns: NDArray[np.int32]) -> SeenFeatures:
        """Build the hash table of distinct columns."""
        features = cls(np.zeros(POOLED_LIMIT, np.int32), np.full(int(_MASK) + 1, -1, np.int16))
        one = Csr(np.ones(len(columns)), columns, np.array([0, len(columns)]))
        count_features(features, 0, one, np.zeros(1, np.int64))
        return features

    def copy(self) -> SeenFeatures:
        """Copy both arrays."""
        return SeenFeatures(self.columns.copy(), self.table.copy())


class Residuals(NamedTuple):
    """Squared residuals so far, from which the spread of a prediction follows.

    ``ages`` (AGES, 2) has their number and their sum by how many labels of the task were known, ``tasks`` (K, 2) their
    number and the sum of r² / e, e being the mean of that age; ``bins`` (AGES, BINS) counts residuals over their
    spreads, each age apart: what is left of a task's intercept, and noise, are of different shapes.
    """

    ages: Any
    tasks: Any
    bins: Any


class LeastSquares(NamedTuple):
    """All that is learned beside the gradient learners.

    ``residuals`` (K, 2) has the sum of z - w · x and the number of labels of each task; ``last`` is the last step, one
    regression of S weights. ``extremes`` has the least and the largest label so far; ``clock`` the number of labels and
    that of features seen, ``POOLED_LIMIT + 1`` for more than the limit.
    """

    seen: SeenFeatures
    pooled: Regressions
    own: Regressions
    residuals: Any
    last: Regressions
    spread: Residuals
    extremes: Any
    clock: Any

    @classmethod
    def empty(cls, gradients: int, tasks: int = 0) -> LeastSquares:
        """Members that have learned nothing, beside so many gradient learners."""
        last = Regressions.empty(1, gradients + 2)
        last.answers[:] = 1.0 / (gradients + 2)
        spread = Residuals(np.zeros((AGES, 2)), np.zeros((tasks, 2)), np.zeros((AGES, BINS)))
        return cls(
            SeenFeatures.of_columns(np.zeros(0, np.int32)),
            Regressions.empty(1),
            Regressions.empty(tasks),
            np.zeros((tasks, 2)),
            last,
            spread,
            np.zeros(2),
            np.zeros(2, np.int64),
        )

    @property
    def columns(self) -> NDArray[np.int32]:
        """The columns of the features of the regressions, in their order."""
        return self.seen.columns[: self.clock[1]]  # type: ignore[no-any-return]

    @property
    def has_pooled(self) -> bool:
        """True while the pooled regression has not fallen away."""
        return bool(self.clock[1] <= POOLED_LIMIT)

    @property
    def has_own(self) -> bool:
        """True while the regressions of the tasks have not fallen away."""
        return bool(self.clock[1] <= OWN_LIMIT)

    def with_tasks(self, tasks: int) -> LeastSquares:
        """The same with room for the intercepts and residuals of so many tasks."""
        if tasks <= len(self.residuals):
            return self
        spread = self.spread._replace(tasks=grown(self.spread.tasks, tasks))
        return self._replace(residuals=grown(self.residuals, tasks), spread=spread)

    def with_room_for(self, rows: Rows, tasks: NDArray[np.int64]) -> LeastSquares:
        """Return the model with room for the regressions of records to learn, up to the first of too many features."""
        counts = np.zeros(len(tasks), np.int64)
        count_features(self.seen.copy(), self.clock[1], rows, counts)
        pooled, own = (int(np.searchsorted(counts, limit, "right")) for limit in (POOLED_LIMIT, OWN_LIMIT))
        most_pooled, most_own = (int(counts[end - 1]) if end else 0 for end in (pooled, own))
        return self.with_room(most_pooled, int(tasks[:own].max(initial=-1)) + 1, most_own)

    def with_room(self, pooled: int, tasks: int, own: int) -> LeastSquares:
        """The same with room for the pooled regression on so many features, and for those of tasks on so many."""
        made = self.pooled.with_room(1, pooled), self.own.with_room(tasks, 1 + own if tasks else 0, 1 + OWN_LIMIT)
        same = made[0] is self.pooled and made[1] is self.own
        return self if same else self._replace(pooled=made[0], own=made[1])

    def without_fallen(self) -> LeastSquares:
        """The same without the numbers of regressions that have fallen away."""
        made = self
        if not self.has_own and self.own.pivots.size:
            made = made._replace(own=Regressions.empty())
        if not self.has_pooled and self.pooled.pivots.size:
            made = made._replace(pooled=Regressions.empty(1))
        return made

    def drop_tasks(self, dropped: Dropped) -> None:
        """Drop the numbers that tasks have of their own; the last tasks take the places of those dropped."""
        for array in (self.residuals, self.spread.tasks):
            dropped.move(array)
        if len(self.own.pivots):
            whole = self.own.with_room(dropped.known, 0)
            for array, held in zip(whole, self.own, strict=True):
                dropped.move(array)
                held[:] = array[: len(held)]

    def of_tasks(self, tasks: NDArray[np.int64]) -> LeastSquares:
        """What :meth:`to_saved` returned, with some of the tasks only, in this order."""
        return self._with_rows(lambda of: of(self)[tasks])

    @classmethod
    def joined(cls, parts: Sequence[LeastSquares], order: NDArray[np.int64]) -> LeastSquares:
        """Undo :meth:`of_tasks`: task k is row ``order[k]`` of the rows of all parts, one part behind the other."""
        return parts[0]._with_rows(lambda of: np.concatenate([of(part) for part in parts])[order])

    def _with_rows(self, taken: Callable[[Callable[[LeastSquares], Any]], Any]) -> LeastSquares:
        """The same with ``taken`` in the place of each array that has a row for every task."""
        own = [taken(attrgetter(f"own.{name}")) for name in Regressions._fields]
        spread = self.spread._replace(tasks=taken(attrgetter("spread.tasks")))
        return self._replace(own=Regressions(*own), residuals=taken(attrgetter("residuals")), spread=spread)

    def to_saved(self, tasks: int) -> LeastSquares:
        """The same without unused room."""
        spread = self.spread._replace(tasks=self.spread.tasks[:tasks])
        held = self.without_fallen()
        return held._replace(
            pooled=held.pooled.cut(1, len(self.columns)),
            own=held.own.cut(tasks, 1 + len(self.columns)),
            residuals=self.residuals[:tasks],
            spread=spread,
        )

    def check(self, tasks: int, gradients: int, features: int) -> None:
        """Refuse arrays of other shapes, and numbers outside of the limits that learning keeps: ValueError."""
        require_shape("clock", self.clock, 2)
        require_within("clock", self.clock[:1], 0, MOST_ROUNDS)
        require_within("number of features seen", self.clock[1:], 0, min(features, POOLED_LIMIT + 1))
        require_shape("columns of features seen", self.seen.columns, POOLED_LIMIT)
        require_within("columns of features seen", self.columns, 0, features - 1)
        fits = np.array_equal(self.seen.table, SeenFeatures.of_columns(self.columns).table)
        require(fits, "the hash table of features seen does not fit their columns")
        self.pooled.check("the pooled regression", 1)
        self.own.check("the tasks' own regressions")
        require(self.own.pivots.shape[1] <= 1 + OWN_LIMIT, "the tasks' own regressions have too many features")
        self.last.check("the last step", 1)
        require_shape("answers of the last step", self.last.answers, 1, gradients + 2)
        require_shape("residuals", self.residuals, None, 2)
        require_rows("residuals", self.residuals, tasks)
        require_within("residuals", self.residuals[:, 0], -LARGEST, LARGEST)
        require_within("numbers of labels", self.residuals[:, 1], 0, MOST_ROUNDS)
        require_shape("range of labels", self.extremes, 2)
        require_within("range of labels", self.extremes, -LARGEST, LARGEST)
        require(self.extremes[0] <= self.extremes[1], "the range of labels is none")
        require_shape("spread by age", self.spread.ages, AGES, 2)
        require_shape("spread of tasks", self.spread.tasks, None, 2)
        require_rows("spread of tasks", self.spread.tasks, tasks)
        for counted in (self.spread.ages, self.spread.tasks):
            require_within("numbers of residuals", counted[:, 0], 0, MOST_ROUNDS)
            require_within("squared residuals", counted[:, 1], 0, LARGEST**3)
        require_shape("bins of residuals", self.spread.bins, AGES, BINS)
        require_within("bins of residuals", self.spread.bins, 0, MOST_ROUNDS)


# -- one regression ----------------------------------------------------------------------------------------------------


@no_refcount
def bounded(number: Any) -> Any:
    """Return the number, or LARGEST with its sign where it is larger."""
    return min(max(number, -LARGEST), LARGEST)


@no_refcount
def foresee(kept: Any, m: Any, width: Any, x: Any) -> Any:
    """Return the prediction of the model m for the first features of a dense record, which becomes u."""
    room = kept.pivots.shape[1]
    prediction, first = 0.0, 0
    for j in range(width):
        held = x[j]
        if held != 0.0:
            prediction += held * kept.answers[m, j]
            for r in range(width - 1 - j):
                x[j + 1 + r] = bounded(x[j + 1 + r] - held * kept.triangle[m, first + r])
        first += room - 1 - j
    return prediction


@no_refcount
def absorb(kept: Any, m: Any, width: Any, ridge: Any, x: Any, z: Any, w: Any) -> Any:
    """Learn a dense record of weight w, which becomes u, and its label; return what :func:`foresee` would have."""
    room = kept.pivots.shape[1]
    prediction, first, left = 0.0, 0, w
    for j in range(width):
        held = x[j]
        if held != 0.0:
            answer = kept.answers[m, j]
            prediction += held * answer
            before = ridge + kept.pivots[m, j]
            moved = left * held * held
            gain = left * held / (before + moved)
            kept.pivots[m, j] += moved
            left *= before / (before + moved)
            z = bounded(z - held * answer)
            kept.answers[m, j] = answer + gain * z
            for r in range(width - 1 - j):
                entry = kept.triangle[m, first + r]
                rest = bounded(x[j + 1 + r] - held * entry)
                x[j + 1 + r] = rest
                kept.triangle[m, first + r] = entry + gain * rest
        first += room - 1 - j
    return prediction


@no_refcount
def _find(seen: Any, column: Any) -> Any:
    """Return the entry of the hash table that has a column, or the empty one that it would get."""
    at = slot(np.uint64(column), _MASK)
    while seen.table[at] >= 0 and seen.columns[seen.table[at]] != column:
        at = (at + 1) & (seen.table.size - 1)
    return at


@no_refcount
def _add_features(seen: Any, count: Any, rows: Any, t: Any) -> Any:
    """Add the features of a record that are not 0 to the ``count`` seen; return how many are seen then."""
    for k in range(begin(rows, t), end(rows, t)):
        if count <= POOLED_LIMIT and value(rows, t, k) != 0.0:
            at = _find(seen, feature(rows, t, k))
            if seen.table[at] < 0:
                if count < POOLED_LIMIT:
                    seen.table[at] = count
                    seen.columns[count] = feature(rows, t, k)
                count += 1
    return count


@compiled
def count_features(seen: Any, count: int, rows: Any, counts: Any) -> None:
    """Write how many features are seen after each of the first records is learned, of ``count`` before."""
    for t in range(counts.size):
        if weight(rows, t) != 0.0:
            count = _add_features(seen, count, rows, t)
        counts[t] = count


@no_refcount
def _spread_out(seen: Any, rows: Any, t: Any, constants: Any, width: Any, x: Any) -> None:
    """Write so many ones and the features seen of a record as a dense one of this width."""
    for j in range(width):
        x[j] = 1.0 if j < constants else 0.0
    for k in range(begin(rows, t), end(rows, t)):
        j = seen.table[_find(seen, feature(rows, t, k))]
        if 0 <= j < width - constants:
            x[j + constants] = bounded(x[j + constants] + value(rows, t, k))


# -- the spread of predictions -----------------------------------------------------------------------------------------


@no_refcount
def _age(count: Any) -> Any:
    """Return the age of a task with so many labels: the number of bits of that count, AGES - 1 at most."""
    age = 0
    while count >= 1.0 and age < AGES - 1:
        count *= 0.5
        age += 1
    return age


@no_refcount
def _mean_square(spread: Any, age: Any) -> Any:
    """Return e, the mean squared residual of predictions for tasks of so many labels."""
    number, total = 0.0, 0.0
    for a in range(AGES):
        number += spread.ages[a, 0]
        total += spread.ages[a, 1]
    overall = (total + PRIOR) / (number + PRIOR)
    return (spread.ages[age, 1] + PRIOR * overall) / (spread.ages[age, 0] + PRIOR)


@no_refcount
def _variance(spread: Any, i: Any, age: Any) -> Any:
    """Return the squared spread of predictions for task i at this age; at age 0 that of all tasks."""
    e = _mean_square(spread, age)
    if age == 0:
        return e
    return e * (spread.tasks[i, 1] + TASK_PRIOR) / (spread.tasks[i, 0] + TASK_PRIOR)


@no_refcount
def bin_of(score: Any) -> Any:
    """Return the bin of a residual over its spread."""
    place = math.floor((math.asinh(4.0 * score) + REACH) * (0.5 * BINS / REACH))
    return int(min(max(place, 0.0), BINS - 1.0))


@no_refcount
def _count(spread: Any, i: Any, age: Any, residual: Any, w: Any) -> None:
    e, variance = _mean_square(spread, age), _variance(spread, i, age)
    square = bounded(residual * residual)
    spread.bins[age, bin_of(residual / math.sqrt(variance))] += w
    spread.ages[age, 0] += w
    spread.ages[age, 1] += w * square
    spread.tasks[i, 0] += w
    spread.tasks[i, 1] += w * bounded(square / e)


# -- rounds ------------------------------------------------------------------------------------------------------------


class Work(NamedTuple):
    """Room for one round: a dense record and the inputs of the last step, each as it comes and as it is used up."""

    x: Any
    inputs: Any
    used: Any


@compiled
def room(model: Any) -> Any:
    """Make room for rounds of a model."""
    S = model.last.pivots.shape[1]
    return Work(np.zeros(max(model.pooled.pivots.shape[1], model.own.pivots.shape[1])), np.zeros(S), np.zeros(S))


@no_refcount
def _active(model: Any) -> Any:
    """Return the number of members that the last step has."""
    S = model.last.pivots.shape[1]
    return S if model.clock[1] <= OWN_LIMIT else S - 1


@no_refcount
def _intercept(model: Any, i: Any) -> Any:
    return model.residuals[i, 0] / (model.residuals[i, 1] + SHRINKAGE) if i >= 0 else 0.0


@no_refcount
def _age_of(model: Any, i: Any) -> Any:
    return _age(model.residuals[i, 1]) if i >= 0 else 0


@no_refcount
def _finish(model: Any, work: Any) -> Any:
    """Keep the inputs of the last step within the labels so far, NaN being 0; return its prediction."""
    active = _active(model)
    for a in range(work.inputs.size):
        told = work.inputs[a]
        if a >= active or told != told:
            told = 0.0
        work.inputs[a] = min(max(told, model.extremes[0]), model.extremes[1])
        work.used[a] = work.inputs[a]
    return foresee(model.last, 0, active, work.used)


@no_refcount
def _tell(model: Any, gradients: Any, rows: Any, t: Any, i: Any, work: Any) -> Any:
    """Fill in the inputs of the last step for record t of task i; return the prediction."""
    G = gradients.shape[0]
    for a in range(G):
        work.inputs[a] = gradients[a, t]
    work.inputs[G] = gradients[G - 1, t]
    work.inputs[G + 1] = 0.0
    if model.clock[1] <= POOLED_LIMIT:
        width = min(model.clock[1], model.pooled.pivots.shape[1])
        _spread_out(model.seen, rows, t, 0, width, work.x)
        work.inputs[G] = foresee(model.pooled, 0, width, work.x)
    work.inputs[G] += _intercept(model, i)
    if model.clock[1] <= OWN_LIMIT and 0 <= i < model.own.pivots.shape[0]:
        width = min(1 + model.clock[1], model.own.pivots.shape[1])
        _spread_out(model.seen, rows, t, 1, width, work.x)
        work.inputs[G + 1] = foresee(model.own, i, width, work.x)
    return _finish(model, work)


@no_refcount
def _meet_features(model: Any, rows: Any, t: Any) -> None:
    """Add the features of a record to those seen, and restart the last step if it loses an input before it learned."""
    before = model.clock[1]
    model.clock[1] = _add_features(model.seen, before, rows, t)
    if before <= OWN_LIMIT < model.clock[1] and model.clock[0] < START:
        for a in range(_active(model)):
            model.last.answers[0, a] = 1.0 / _active(model)


@no_refcount
def _learn_members(model: Any, gradients: Any, rows: Any, t: Any, i: Any, y: Any, work: Any) -> Any:
    """Learn record t of task i by the regressions; fill in the inputs of the last step, and return its prediction.

    Both are as before the record was learned: learning a record computes its prediction on the way.
    """
    G = gradients.shape[0]
    for a in range(G):
        work.inputs[a] = gradients[a, t]
    pooled, own = gradients[G - 1, t], 0.0
    intercept = _intercept(model, i)
    _meet_features(model, rows, t)
    if model.clock[1] <= POOLED_LIMIT:
        _spread_out(model.seen, rows, t, 0, model.clock[1], work.x)
        pooled = absorb(model.pooled, 0, model.clock[1], POOLED_RIDGE, work.x, y - intercept, weight(rows, t))
    if model.clock[1] <= OWN_LIMIT:
        _spread_out(model.seen, rows, t, 1, 1 + model.clock[1], work.x)
        own = absorb(model.own, i, 1 + model.clock[1], OWN_RIDGE, work.x, y, weight(rows, t))
    work.inputs[G] = pooled + intercept
    work.inputs[G + 1] = own
    margin = _finish(model, work)
    model.residuals[i, 0] = bounded(model.residuals[i, 0] + weight(rows, t) * (y - pooled))
    model.residuals[i, 1] += weight(rows, t)
    return margin


@no_refcount
def _judge(model: Any, i: Any, age: Any, y: Any, w: Any, margin: Any, work: Any) -> None:
    """Learn the last step from the inputs as they were predicted, and count the residual in the spreads."""
    if model.clock[0] >= START:
        for a in range(work.inputs.size):
            work.used[a] = work.inputs[a]
        absorb(model.last, 0, _active(model), LAST_RIDGE, work.used, y, w)
        _count(model.spread, i, age, y - margin, w)
    model.clock[0] += 1
    model.extremes[0] = min(model.extremes[0], y)
    model.extremes[1] = max(model.extremes[1], y)


@no_refcount
def _was_told(told: Any, s: Any) -> Any:
    known = False
    for a in range(told.shape[0] - 1):
        known = known or told[a, s] != 0.0
    return known


@no_refcount
def _note(model: Any, foreseen: Any, rows: Any, t: Any, i: Any, told: Any, work: Any) -> None:
    """Write the inputs of the last step for record t of task i, the prediction, and the age of the task."""
    S = work.inputs.size
    told[S, t] = _tell(model, foreseen, rows, t, i, work)
    for a in range(S):
        told[a, t] = work.inputs[a]
    told[S + 1, t] = _age_of(model, i)


@compiled
def learn(
    model: Any,
    foreseen: Any,
    now: Any,
    rows: Any,
    tasks: Any,
    y: Any,
    told: Any,
    given: int,
    last: int,
    margins: Any,
    own: Any,
) -> None:
    """Learn the first ``last`` records, record s after record s + tasks.size - last was predicted.

    ``foreseen`` and ``now`` (G, n) are the gradient learners' margins when they were asked and when the label came.
    ``told`` (S + 2, n) gets the inputs of the last step, its margin and the task's age as they were told; it has them
    of the first ``given`` records, which were told in an earlier run. Where that is not known there are zeros: such
    records are judged by what would be told when the label comes. There are no columns where every label comes at once.
    """
    delay = tasks.size - last
    work = room(model)
    S = work.inputs.size
    for s in range(last):
        t = s + delay
        if delay > 0 and t >= given:
            _note(model, foreseen, rows, t, tasks[t], told, work)
            margins[t] = told[S, t]
        i = tasks[s]
        if weight(rows, s) == 0.0:
            own[s] = _tell(model, now, rows, s, i, work)
            if delay == 0:
                margins[s] = own[s]
            continue
        age = _age_of(model, i)
        margin = _learn_members(model, now, rows, s, i, y[s], work)
        own[s] = margin
        if delay == 0:
            margins[s] = margin
        if told.shape[1] > 0 and _was_told(told, s):
            for a in range(S):
                work.inputs[a] = told[a, s]
            margin = told[S, s]
            age = int(told[S + 1, s])
        _judge(model, i, age, y[s], weight(rows, s), margin, work)


@compiled
def predict(model: Any, foreseen: Any, rows: Any, tasks: Any, told: Any, spreads: Any) -> None:
    """Write what records are told, see :func:`learn`, and the spreads of their residuals.

    A task that is not known has the number -1.
    """
    work = room(model)
    for t in range(tasks.size):
        _note(model, foreseen, rows, t, tasks[t], told, work)
        spreads[t] = math.sqrt(_variance(model.spread, tasks[t], _age_of(model, tasks[t])))


#: Results of :func:`learn_one`: the model needs room first, the record was learned, or a regression fell away, too.
NO_ROOM, LEARNED, FELL = 0, 1, 2


@no_refcount
def _has_room(model: Any, i: Any) -> Any:
    """Tell whether the regressions have room for the features seen and for task i."""
    count, own = model.clock[1], model.own.pivots
    pooled = count > POOLED_LIMIT or count <= model.pooled.pivots.shape[1]
    return pooled and (count > OWN_LIMIT or (count < own.shape[1] and i < own.shape[0]))


@holds_gil
def learn_one(model: Any, now: Any, rows: Any, i: int, y: float) -> int:
    """Learn the only record, the gradient learners' margins being ``now`` (G, 1)."""
    _meet_features(model, rows, 0)
    if not _has_room(model, i):
        return NO_ROOM
    work = room(model)
    age = _age_of(model, i)
    margin = _learn_members(model, now, rows, 0, i, y, work)
    _judge(model, i, age, y, weight(rows, 0), margin, work)
    own, pooled = model.own.pivots.size, model.pooled.pivots.size
    fell = (own > 0 and model.clock[1] > OWN_LIMIT) or (pooled > 0 and model.clock[1] > POOLED_LIMIT)
    return FELL if fell else LEARNED


@holds_gil
def predict_one(model: Any, foreseen: Any, rows: Any, i: int) -> float:
    """Margin of the only record, nothing learned."""
    return _tell(model, foreseen, rows, 0, i, room(model))  # type: ignore[no-any-return]
