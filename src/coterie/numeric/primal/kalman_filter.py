"""Mixed-effects models: shared weights with a full covariance, and each task's own with variances, on z-scores.

A record of task k has the margin f = (m + v_k) · x. Its entries are divided by that of the constant, which is first in
x; so records of unit length become z-scores again, and those without a constant get one. A priori m ~ N(0, P) with
P = diag(1 / ridge), and v_k ~ N(0, diag(q)). Each record is one step of an extended Kalman filter in which m and v_k
are independent. With s² = x'Px + Σ q_j x_j², the variance of f, a label has the noise r and the residual e,

    numbers:        r = 1,                 e = y - f,
    two classes:    r = 1 / (p (1 - p)),   e = r (y - p),    p = 1 / (1 + exp(-f / sqrt(1 + π s² / 8))),

and m += e P x / (r + s²), P -= P x x'P / (r + s²), v_j += e q_j x_j / (r + s²), q_j -= q_j² x_j² / (r + s²). A record
of weight w has the noise r / w.

P stays symmetric to the last bit. A label's noise is at least ``EXACT`` of s², so no variance is lost to rounding or
becomes negative, whatever the units of features. 1 / q_j grows by x_j² / (r + s² - q_j x_j²), which cannot be negative
either. To forget, P_jl is multiplied by s_j s_l after each record, where s_j² is 1 / kept or, if P_jj would be larger
than a priori, less; and 1 / q_j - 1 / q_j(0) is multiplied by a factor after each record of the task.

A prior variance of 0 leaves a weight at 0. If it is that of a task's own slopes, each task has only an intercept, one
number instead of c. For regression, the model also sums e² / (r + s²), whose mean estimates the variance of a label of
noise 1.

Features are numbered when they are first non-zero, so that hashed columns and columns of zeros need no room; until then
they have their prior variance. A model of more features than ``LIMIT`` stops permanently: its margin is NaN, and its
numbers are dropped.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.arrays import Dropped, enlarged
from coterie.numeric.core.checks import require, require_shape, require_within
from coterie.numeric.core.generic import compiled, no_refcount, no_refcount_noinline, when
from coterie.numeric.core.hashing import slot
from coterie.numeric.core.records import begin, end, feature, value, weight

from .gaussian import LARGEST, Gaussian, absorb, bounded, multiply
from .round import add, ready, score, score_with_unseen
from .step_rules import evidence, step, triggers_update

#: The most features seen, the constant being one: beyond, d² numbers cost too much.
LIMIT = 128

#: The size of the hash table of features seen, less one: four times as many entries as it may hold.
_MASK = np.uint64(4 * LIMIT - 1)

#: The noise of a label in relation to the variance of the margin, at least.
EXACT = 1e-10

#: The least curvature p (1 - p) of the logistic loss.
FLATTEST = 1e-4


class SeenFeatures(NamedTuple):
    """The columns of non-zero features so far, at most ``LIMIT``, in order of first appearance.

    ``columns`` (LIMIT,) has this order, with the constant first (-1 if it has no column); ``table`` is a hash table of
    positions in it, -1 for an empty entry.
    """

    columns: Any
    table: Any

    @classmethod
    def from_columns(cls, columns: NDArray[np.int32]) -> SeenFeatures:
        """Build the hash table of distinct columns."""
        features = cls(np.zeros(LIMIT, np.int32), np.full(int(_MASK) + 1, -1, np.int16))
        features.columns[: len(columns)] = columns
        for position, column in enumerate(columns.tolist()):
            if column >= 0:
                features.table[find(features, column)] = position
        return features


class FilterWork(NamedTuple):
    """Arrays for one record: x, Px, forgetting factors, and ``notes``.

    ``notes`` are the position of the record in its batch, the number of features of x, the shared and the own part of
    the margin, the variances of both, the number of features that need room, and the squared norm of unseen features.
    """

    x: Any
    moved: Any
    factors: Any
    notes: Any

    @classmethod
    def with_width(cls, width: int) -> FilterWork:
        """Allocate arrays for this many features."""
        return cls(np.zeros(width), np.zeros(width), np.zeros(width), np.full(8, -1.0))


RECORD, WIDTH, SHARED, OWN, SHARED_VARIANCE, OWN_VARIANCE, NEEDED, UNSEEN = range(8)


class MixedEffects(NamedTuple):
    """The state of one mixed-effects member.

    ``priors`` are the prior variances of the shared constant and slopes, ``ridges`` the prior precisions of a task's
    own; ``kept`` are the decay factors of the precisions of a task's own and of shared weights; ``logistic``
    is 1 for labels of two classes, 0 for numbers. ``clock`` has the number of features seen, ``LIMIT + 1`` if there
    were more than the limit. ``weights`` and ``precisions`` (K, c)
    are v_k and 1 / q - 1 / q(0); (K, 1) if tasks have no slopes of their own. A ridge of 0 stands for a prior variance
    of 0. ``noise`` has the sum of e² / (r + s²) of numbers and their count, starting with one of 1.
    """

    priors: Any
    ridges: Any
    kept: Any
    logistic: int
    seen: SeenFeatures
    clock: Any
    shared: Gaussian
    weights: Any
    precisions: Any
    noise: Any
    work: FilterWork

    @classmethod
    def empty(
        cls,
        priors: tuple[float, float] = (1.0, 1.0),
        own: tuple[float, float] = (1.0, 1.0),
        kept: tuple[float, float] = (1.0, 1.0),
        logistic: bool = False,
        tasks: int = 0,
    ) -> MixedEffects:
        """Create a model without records, with prior variances of constants and slopes."""
        variances, factors = np.array(priors, np.float64), np.array(kept, np.float64)
        seen, shared = SeenFeatures.from_columns(np.array([-1], np.int32)), Gaussian.from_priors(1, variances)
        numbers = np.zeros((tasks, 1)), np.zeros((tasks, 1)), np.ones(2)
        ridges = np.array([1.0 / variance if variance > 0.0 else 0.0 for variance in own])
        clock = np.ones(1, np.int64)
        return cls(variances, ridges, factors, int(logistic), seen, clock, shared, *numbers, FilterWork.with_width(1))

    @property
    def has_left(self) -> bool:
        """True if more features than the limit were seen."""
        return bool(self.clock[0] > LIMIT)

    @property
    def columns(self) -> NDArray[np.int32]:
        """The columns of the features, the constant first."""
        return self.seen.columns[: 0 if self.has_left else self.clock[0]]  # type: ignore[no-any-return]

    def own_width(self, width: int) -> int:
        """Return how many of this many features have own weights of a task."""
        return width if self.ridges[1] > 0.0 else min(width, 1)

    def with_constant(self, column: int) -> MixedEffects:
        """Return the model with that column as the constant, unless it has one or ``column`` is negative."""
        if column < 0 or self.seen.columns[0] >= 0:
            return self
        return self._replace(seen=SeenFeatures.from_columns(np.append(np.int32(column), self.columns[1:])))

    def with_tasks(self, tasks: int) -> MixedEffects:
        """Return the model with space for this many tasks."""
        if self.has_left or tasks <= len(self.weights):
            return self
        return self._replace(weights=enlarged(self.weights, tasks), precisions=enlarged(self.precisions, tasks))

    def with_room(self) -> MixedEffects:
        """Return the model with space for the needed features; empty if it has stopped."""
        if self.has_left:
            none = np.zeros((0, 0))
            return self._replace(
                shared=Gaussian.from_priors(0, self.priors),
                weights=none,
                precisions=none,
                work=FilterWork.with_width(0),
            )
        count, before = int(self.work.notes[NEEDED]), len(self.shared.mean)
        if count <= before:
            return self
        width = min(max(count, before * 3 // 2), LIMIT)
        shared = self.shared.resized(width, self.priors)
        more = self.own_width(width) - self.weights.shape[1]
        own = [np.pad(numbers, ((0, 0), (0, more))) for numbers in (self.weights, self.precisions)]
        return self._replace(shared=shared, weights=own[0], precisions=own[1], work=FilterWork.with_width(width))

    def lent(self) -> MixedEffects:
        """Return the model with separate working arrays, so that several threads can predict at a time."""
        return self._replace(work=FilterWork.with_width(len(self.shared.mean)))

    def drop_tasks(self, dropped: Dropped) -> None:
        """Drop the numbers of tasks; the last tasks take their places."""
        if not self.has_left:
            dropped.move(self.weights)
            dropped.move(self.precisions)

    def coefficients(self, tasks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return m + v of tasks, or m for the task -1, shape (tasks, features seen), the constant first."""
        width = len(self.columns)
        coefficients = np.tile(self.shared.mean[:width], (len(tasks), 1))
        if len(self.weights):
            own = self.weights[tasks, :width]
            coefficients[:, : own.shape[1]] += np.where(tasks[:, None] >= 0, own, 0.0)
        return coefficients

    def to_saved(self, tasks: int) -> MixedEffects:
        """Return the model without unused space and without working arrays."""
        if self.has_left:
            return self.with_room()
        width = len(self.columns)
        own = {name: getattr(self, name)[:tasks, :width] for name in ("weights", "precisions")}
        return self._replace(shared=self.shared.resized(width, self.priors), **own, work=FilterWork.with_width(0))

    def check(self, tasks: int, features: int) -> None:
        """Raise ValueError for other shapes, or for numbers that learning cannot reach."""
        require_shape("clock of mixed effects", self.clock, 1)
        require_within("number of features seen", self.clock, 1, min(features, LIMIT) + 1)
        require_shape("columns of features seen", self.seen.columns, LIMIT)
        columns = self.columns
        require_within("columns of features seen", columns[1:], 0, features - 1)
        require_within("column of the constant", columns[:1], -1, features - 1)
        require(len(set(columns.tolist())) == len(columns), "a column of features seen occurs twice")
        width = 0 if self.has_left else int(self.clock[0])
        self.shared.check("the shared weights", width)
        for name, numbers, low in (("weights", self.weights, -LARGEST), ("precisions", self.precisions, 0.0)):
            require_shape(f"the tasks' own {name}", numbers, 0 if self.has_left else tasks, self.own_width(width))
            require_within(f"the tasks' own {name}", numbers, low, LARGEST**3)
        require_shape("noise of mixed effects", self.noise, 2)
        require_within("noise of mixed effects", self.noise, 0.0, LARGEST**3)


# -- features ----------------------------------------------------------------------------------------------------------


@no_refcount
def find(seen, column):
    """Return the hash-table entry of a column, or the empty entry for it."""
    at = slot(np.uint64(column), _MASK)
    while seen.table[at] >= 0 and seen.columns[seen.table[at]] != column:
        at = (at + 1) & (seen.table.size - 1)
    return at


@no_refcount
def _add_features(model, rows, t):
    """Add the non-zero features of a record to those seen."""
    seen = model.seen
    for k in range(begin(rows, t), end(rows, t)):
        if model.clock[0] <= LIMIT and value(rows, t, k) != 0.0:
            at = find(seen, feature(rows, t, k))
            if seen.table[at] < 0:
                if model.clock[0] < LIMIT:
                    seen.table[at] = model.clock[0]
                    seen.columns[model.clock[0]] = feature(rows, t, k)
                model.clock[0] += 1


@no_refcount
def _write_record(seen, rows, t, width, x):
    """Write a record's seen features densely in this width, divided by the constant, which comes first.

    Return the squared norm of its other features.
    """
    unseen = 0.0
    for j in range(width):
        x[j] = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        j = seen.table[find(seen, feature(rows, t, k))]
        if 0 <= j < width:
            x[j] += value(rows, t, k)
        else:
            unseen += value(rows, t, k) * value(rows, t, k)
    constant = x[0] if x[0] != 0.0 else 1.0
    for j in range(width):
        x[j] = bounded(x[j] / constant)
    x[0] = 1.0
    return bounded(math.sqrt(unseen) / constant) ** 2


# -- rounds ------------------------------------------------------------------------------------------------------------


@no_refcount
def _note_parts(model, i, width):
    """Store the parts of the margin, and the variance of the own part; an unknown task has the number -1."""
    shared, own, variance, x = 0.0, 0.0, 0.0, model.work.x
    for j in range(width):
        shared += model.shared.mean[j] * x[j]
        precision = model.ridges[min(j, 1)]
        if precision > 0.0:
            if i >= 0:
                own += model.weights[i, j] * x[j]
                precision += model.precisions[i, j]
            variance += x[j] * x[j] / precision
    if model.ridges[1] > 0.0:
        variance += model.work.notes[UNSEEN] / model.ridges[1]
    model.work.notes[SHARED] = shared
    model.work.notes[OWN] = own
    model.work.notes[OWN_VARIANCE] = variance


@no_refcount
def _note_shared_variance(model):
    work = model.work
    variance = multiply(model.shared, int(work.notes[WIDTH]), work.x, work.moved)
    work.notes[SHARED_VARIANCE] = variance + model.priors[1] * work.notes[UNSEEN]


# called at several places: inlined, it would be compiled at each
@no_refcount_noinline
def predict_margin(model, i, rows, t):
    """Return the margin of record t of task i, NaN if the model has stopped; store its parts.

    Log-odds are divided by sqrt(1 + π s² / 8), where s² is their variance.
    """
    if model.clock[0] > LIMIT:
        return np.nan
    notes, width = model.work.notes, min(model.clock[0], model.shared.mean.size)
    notes[UNSEEN] = _write_record(model.seen, rows, t, width, model.work.x)
    _note_parts(model, i, width)
    notes[RECORD] = t
    notes[WIDTH] = width
    margin = notes[SHARED] + notes[OWN]
    if model.logistic:
        _note_shared_variance(model)
        margin /= math.sqrt(1.0 + math.pi / 8.0 * (notes[SHARED_VARIANCE] + notes[OWN_VARIANCE]))
    return bounded(margin)


@no_refcount_noinline
def learn(model, i, y, rows, t):
    """Learn record t of task i, for which there is room; return the size of the update, 0 if stopped."""
    _add_features(model, rows, t)
    if model.clock[0] > LIMIT:
        return 0.0
    work, width = model.work, model.clock[0]
    notes = work.notes
    if notes[RECORD] != t or notes[WIDTH] != width:
        predict_margin(model, i, rows, t)
    noise, residual = 1.0 / weight(rows, t), y - (notes[SHARED] + notes[OWN])
    if model.logistic:
        variance = notes[SHARED_VARIANCE] + notes[OWN_VARIANCE]
        p = 1.0 / (1.0 + math.exp(-(notes[SHARED] + notes[OWN]) / math.sqrt(1.0 + math.pi / 8.0 * variance)))
        curvature = max(p * (1.0 - p), FLATTEST)
        noise, residual = noise / curvature, (0.5 * (1.0 + y) - p) / curvature
    else:
        _note_shared_variance(model)
        variance = notes[SHARED_VARIANCE] + notes[OWN_VARIANCE]
    residual, noise = bounded(residual), max(noise, EXACT * variance)
    total = noise + variance
    if not model.logistic:
        model.noise[0] = model.noise[0] * model.kept[1] + residual * (residual / total)
        model.noise[1] = model.noise[1] * model.kept[1] + 1.0
    absorb(model.shared, width, model.priors, model.kept[1], residual, total, work.moved, work.factors)
    _move_own(model, i, width, residual, noise, total)
    notes[RECORD] = -1.0
    return abs(residual) / total


@no_refcount
def _move_own(model, i, width, residual, noise, total):
    """Update a task's own weights by a label with this residual and variance."""
    for j in range(width):
        x, ridge = model.work.x[j], model.ridges[min(j, 1)]
        if ridge > 0.0:
            moved = x / (ridge + model.precisions[i, j])
            model.weights[i, j] = bounded(model.weights[i, j] + moved * (residual / total))
            precision = model.precisions[i, j] + x * x / max(total - moved * x, noise)
            model.precisions[i, j] = min(max((ridge + precision) * model.kept[0] - ridge, 0.0), LARGEST)


@no_refcount
def has_room(model, i, rows, t):
    """Return True if the model has room for record t of task i, or has stopped; store the room needed."""
    needed, width = model.clock[0], model.shared.mean.size
    if needed > LIMIT:
        return width == 0
    for k in range(begin(rows, t), end(rows, t)):
        if value(rows, t, k) != 0.0 and model.seen.table[find(model.seen, feature(rows, t, k))] < 0:
            needed += 1
    model.work.notes[NEEDED] = min(needed, LIMIT)
    return min(needed, LIMIT) <= width and i < model.weights.shape[0]


@compiled
def margin_variances(model, rows, tasks, variances):
    """Write the variance of each record's margin; an unknown task has the number -1."""
    for t in range(tasks.size):
        if not np.isnan(predict_margin(model, tasks[t], rows, t)):
            _note_shared_variance(model)
            variances[t] = model.work.notes[SHARED_VARIANCE] + model.work.notes[OWN_VARIANCE]


class FilterStep(NamedTuple):
    """The rule of a mixed-effects model: its step is the complete update."""


when(score, MixedEffects)(lambda model, i, rows, t: predict_margin(model, i, rows, t))
when(score_with_unseen, MixedEffects)(lambda model, i, known, rows: predict_margin(model, i, rows, 0))
when(ready, MixedEffects)(lambda model, i, rows, t: has_room(model, i, rows, t))
when(evidence, FilterStep)(lambda rule, y, margin: y)
when(triggers_update, FilterStep)(lambda rule, label: True)
when(step, FilterStep, MixedEffects)(lambda rule, model, i, rows, t, label: learn(model, i, label, rows, t))
when(add, MixedEffects)(lambda model, i, c, rows, t: None)
