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

The prior variances of own weights may be learned online. The log-odds g = f / sqrt(1 + π s² / 8) of a label are a
function of ln q_j(0), since v_j / q_j and 1 / q_j - 1 / q_j(0), which are stored, are not: the derivatives of q_j and
v_j are q_j² / q_j(0) and v_j q_j / q_j(0). Each record moves every ln q_j(0) by ``rate`` times the derivative of the
log likelihood of its label over the root of the sum of squares of such derivatives and ``START``; those of all slopes
also move together, by the sum of their derivatives likewise. To move one by a is to multiply q_j(0) by
(2 + a) / (2 - a), nearly e^a. Labels that come late do not move them: the variances that suit the next record are too
large for a prediction many labels ahead.

The prior variance of own slopes may be for a number of features: if a record had c > ``features`` that were not 0,
q_j(0) is ``features`` / c times that, for the largest c so far, so that many columns do not make tasks a priori more
different than few. As 1 / q_j(0) then grows, v_j and q_j become what they were with this prior from the start.

A prior variance of 0 leaves a weight at 0. If it is that of a task's own slopes, each task has only an intercept, one
number instead of c. For regression, the model also sums e² / (r + s²), whose mean estimates the variance of a label of
noise 1.

Features are numbered when they are first non-zero, so that hashed columns and columns of zeros need no room; until then
they have their prior variance. Only the first ``LIMIT`` are learned: the others keep it. A model that has seen more
features than ``most``, unless that is 0, stops permanently: its margin is NaN, and its numbers are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped, enlarged
from coterie._compiled.core.checks import require, require_counts, require_shape, require_within
from coterie._compiled.core.generic import compiled, no_refcount, no_refcount_noinline, when
from coterie._compiled.core.hashing import slot
from coterie._compiled.core.records import begin, end, feature, value, weight

from .gaussian import LARGEST, Gaussian, absorb, bounded, multiply
from .round import add, allocate, score, score_with_unseen
from .step_rules import evidence, step, triggers_update

#: The most features that are learned, the constant being one: beyond, d² numbers cost too much.
LIMIT = 128

#: The most features that a model may see: records with more are text rather than a table, and the first say little.
WIDEST = 1024

#: The size of the hash table of features seen, less one: four times as many entries as it may hold.
_MASK = np.uint64(4 * WIDEST - 1)

#: The noise of a label in relation to the variance of the margin, at least.
EXACT = 1e-10

#: The sum of squared derivatives by a log prior variance before the first record.
START = 0.01

#: Learned prior precisions stay between these.
RIDGES = 1e-4, 1e8

#: The least curvature p (1 - p) of the logistic loss.
FLATTEST = 1e-4


class SeenFeatures(NamedTuple):
    """The columns of the features that were not zero in some record, at most ``WIDEST``, with a hash table.

    ``columns`` (WIDEST,) has this order, with the constant first (-1 if it has no column), and -2 beyond; ``table`` is
    a hash table of positions in it, -1 for an empty entry.
    """

    columns: Any
    table: Any

    @classmethod
    def from_columns(cls, columns: NDArray[np.int32]) -> SeenFeatures:
        """Build the hash table of distinct columns."""
        features = cls(np.full(WIDEST, -2, np.int32), np.full(int(_MASK) + 1, -1, np.int16))
        features.columns[: len(columns)] = columns
        for position, column in enumerate(columns.tolist()):
            if column >= 0:
                features.table[find(features, column)] = position
        return features


class OwnPrior(NamedTuple):
    """The prior precisions of the tasks' own weights, with sums of squared derivatives from which they are learned.

    ``ridges`` (LIMIT + 1,) are the prior precisions, 0 for a prior variance of 0, ``squares`` (LIMIT + 1,) the sums of
    squared derivatives. The last numbers are the precision of features not seen so far, and the sum of the common step.
    ``rate`` is 0 for a prior that is not learned, ``features`` infinite for one that is for any number of features.
    """

    ridges: Any
    squares: Any
    rate: float
    features: float

    @property
    def changes(self) -> bool:
        """True if records change the precisions."""
        return self.rate > 0.0 or self.features < math.inf

    @classmethod
    def from_variances(cls, constant: float, slopes: float, rate: float = 0.0, features: float = 0.0) -> OwnPrior:
        """Return a prior with these variances of the constant and of slopes; 0 features are any number of them."""
        ridges = [1.0 / variance if variance > 0.0 else 0.0 for variance in (constant, slopes)]
        return cls(np.repeat(ridges, [1, LIMIT]), np.full(LIMIT + 1, START), rate, float(features or math.inf))


class FilterWork(NamedTuple):
    """Working arrays for one record: x, P x, decay factors, steps of the log prior variances, and scalars.

    ``notes`` are the position of the record in its batch, the number of features of x, the shared and the own part of
    the margin, the variances of both, the number of features that need room, the squared norm of unseen features,
    the common step of slopes, and the number of features that are not 0.
    """

    x: Any
    moved: Any
    factors: Any
    steps: Any
    notes: Any

    @classmethod
    def with_width(cls, width: int) -> FilterWork:
        """Allocate arrays for this many features."""
        return cls(np.zeros(width), np.zeros(width), np.zeros(width), np.zeros(width), np.full(10, -1.0))


RECORD, WIDTH, SHARED, OWN, SHARED_VARIANCE, OWN_VARIANCE, NEEDED, UNSEEN, TOGETHER, NONZERO = range(10)


class MixedEffects(NamedTuple):
    """The state of a mixed-effects model.

    ``priors`` are the prior variances of the shared constant and slopes, ``prior`` the prior of a task's own weights;
    ``kept`` are the decay factors of the precisions of a task's own and of shared weights; ``logistic`` is 1 for labels
    of two classes, 0 for numbers. ``clock`` has the number of features seen, ``most + 1`` if there were more than
    ``most``; if that is 0, they are counted to ``LIMIT`` only. Its second number is the largest number of features that
    were not 0 in one record. ``pulls`` and ``precisions`` (K, c) are v / q and 1 / q - 1 / q(0); (K, 1) if tasks have
    no slopes of their own. ``noise`` has the sum of e² / (r + s²) of numbers and their count, starting with one of 1.
    """

    priors: Any
    prior: OwnPrior
    kept: Any
    logistic: int
    most: int
    seen: SeenFeatures
    clock: Any
    shared: Gaussian
    pulls: Any
    precisions: Any
    noise: Any
    work: FilterWork

    @classmethod
    def empty(
        cls,
        priors: tuple[float, float] = (1.0, 1.0),
        own: tuple[float, ...] = (1.0, 1.0),
        decay: Sequence[float] = (1.0, 1.0),
        logistic: bool = False,
        tasks: int = 0,
        most: int = LIMIT,
    ) -> MixedEffects:
        """Return a model without records, with prior variances of constants and slopes.

        ``own`` are the arguments of `OwnPrior.from_variances`.
        """
        variances, factors = np.array(priors, np.float64), np.array(decay, np.float64)
        seen, shared = SeenFeatures.from_columns(np.array([-1], np.int32)), Gaussian.from_priors(1, variances)
        numbers = np.zeros((tasks, 1)), np.zeros((tasks, 1)), np.ones(2)
        clock = np.array([1, 0])
        options = variances, OwnPrior.from_variances(*own), factors, int(logistic), most
        return cls(*options, seen, clock, shared, *numbers, FilterWork.with_width(1))

    @property
    def has_left(self) -> bool:
        """True if the model has stopped because there were more features than ``most``."""
        return bool(0 < self.most < self.clock[0])

    @property
    def columns(self) -> NDArray[np.int32]:
        """The columns of the features that are learned, the constant first."""
        return self.seen.columns[: 0 if self.has_left else min(self.clock[0], LIMIT)]  # type: ignore[no-any-return]

    def own_width(self, width: int) -> int:
        """Return the number of own weights of a task among this many features."""
        return width if self.prior.ridges[1] > 0.0 else min(width, 1)

    def with_constant(self, column: int) -> MixedEffects:
        """Return the model with ``column`` as the constant, if it has none yet and ``column`` >= 0."""
        if column < 0 or self.seen.columns[0] >= 0:
            return self
        return self._replace(seen=SeenFeatures.from_columns(np.append(np.int32(column), self.columns[1:])))

    def with_tasks(self, tasks: int) -> MixedEffects:
        """Return the model with capacity for this many tasks."""
        if self.has_left or tasks <= len(self.pulls):
            return self
        return self._replace(pulls=enlarged(self.pulls, tasks), precisions=enlarged(self.precisions, tasks))

    def with_room(self) -> MixedEffects:
        """Return the model with capacity for the features of the latest record; an empty model if it has stopped."""
        if self.has_left:
            none = np.zeros((0, 0))
            return self._replace(
                shared=Gaussian.from_priors(0, self.priors), pulls=none, precisions=none, work=FilterWork.with_width(0)
            )
        count, before = int(self.work.notes[NEEDED]), len(self.shared.mean)
        if count <= before:
            return self
        width = min(max(count, before * 3 // 2), LIMIT)
        shared = self.shared.resized(width, self.priors)
        more = self.own_width(width) - self.pulls.shape[1]
        own = [np.pad(numbers, ((0, 0), (0, more))) for numbers in (self.pulls, self.precisions)]
        return self._replace(shared=shared, pulls=own[0], precisions=own[1], work=FilterWork.with_width(width))

    def lent(self) -> MixedEffects:
        """Return the model with working arrays of its own, so that threads can predict in parallel."""
        return self._replace(work=FilterWork.with_width(len(self.shared.mean)))

    def drop_tasks(self, dropped: Dropped) -> None:
        """Remove the numbers of tasks; the tasks with the largest numbers get the free numbers."""
        if not self.has_left:
            dropped.move(self.pulls)
            dropped.move(self.precisions)

    def own_weights(self, tasks: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the own weights v and variances q of tasks, shape (tasks, features seen); the prior for task -1."""
        own, known = self.own_width(len(self.columns)), tasks >= 0
        means, variances = np.zeros((2, len(tasks), len(self.columns)))
        pulls, gained = np.zeros((2, len(tasks), own))
        pulls[known], gained[known] = (numbers[tasks[known], :own] for numbers in (self.pulls, self.precisions))
        precisions = self.prior.ridges[:own] + gained
        for numbers, result in ((1.0, variances), (pulls, means)):
            np.divide(numbers, precisions, out=result[:, :own], where=precisions > 0.0)
        return means, variances

    def coefficients(self, tasks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights m + v of tasks, shape (tasks, features seen); the shared weights m for task -1."""
        return np.asarray(self.shared.mean[: len(self.columns)] + self.own_weights(tasks)[0])

    def to_saved(self, tasks: int) -> MixedEffects:
        """Return the model without unused capacity and working arrays."""
        if self.has_left:
            return self.with_room()
        width = len(self.columns)
        own = {name: getattr(self, name)[:tasks, :width] for name in ("pulls", "precisions")}
        return self._replace(shared=self.shared.resized(width, self.priors), **own, work=FilterWork.with_width(0))

    def check(self, tasks: int, features: int) -> None:
        """Raise ValueError for wrong shapes, or numbers that no sequence of updates leads to."""
        require_shape("clock of mixed effects", self.clock, 2)
        require_within("number of features seen", self.clock[:1], 1, min(features, max(self.most, LIMIT)) + 1)
        require_counts("number of features of a record", self.clock[1:], 1)
        require_shape("columns of features seen", self.seen.columns, WIDEST)
        columns = self.seen.columns[: 0 if self.has_left else self.clock[0]]
        require_within("columns of features seen", columns[1:], 0, features - 1)
        require_within("column of the constant", columns[:1], -1, features - 1)
        require(len(set(columns.tolist())) == len(columns), "a column of features seen occurs twice")
        width = len(self.columns)
        self.shared.check("the shared weights", width)
        for name, numbers, low in (("pulls", self.pulls, -(LARGEST**3)), ("precisions", self.precisions, 0.0)):
            require_shape(f"the tasks' own {name}", numbers, 0 if self.has_left else tasks, self.own_width(width))
            require_within(f"the tasks' own {name}", numbers, low, LARGEST**3)
        for numbers, least, most in ((self.prior.ridges, *RIDGES), (self.prior.squares, START, LARGEST**3)):
            require_shape("the tasks' own prior", numbers, LIMIT + 1)
            if self.prior.changes:
                require_within("the tasks' own prior", numbers, least, most)
        # learning keeps v within LARGEST, which a later prior can exceed by the ratio of its limits
        most = LARGEST * RIDGES[1] / RIDGES[0]
        require_within("the tasks' own weights", self.own_weights(np.arange(len(self.pulls)))[0], -most, most)
        require_shape("noise of mixed effects", self.noise, 2)
        require_within("noise of mixed effects", self.noise, 0.0, LARGEST**3)


# -- features ----------------------------------------------------------------------------------------------------------


@no_refcount
def find(seen, column):
    """Return the entry of a column in the hash table of seen features, or the empty entry in which to insert it."""
    at = slot(np.uint64(column), _MASK)
    while seen.table[at] >= 0 and seen.columns[seen.table[at]] != column:
        at = (at + 1) & (seen.table.size - 1)
    return at


@no_refcount
def _position(seen, column, guess):
    """Return the position of a column among the features seen, -1 if unseen; ``guess`` is tried first."""
    return guess if guess < WIDEST and seen.columns[guess] == column else seen.table[find(seen, column)]


@no_refcount
def has_stopped(model):
    """Return True if the model has seen more features than it may."""
    return 0 < model.most < model.clock[0]


@no_refcount
def _add_features(model, rows, t):
    """Add the non-zero features of a record to the features seen."""
    seen, last = model.seen, max(model.most, LIMIT)
    for k in range(begin(rows, t), end(rows, t)):
        if model.clock[0] <= last and value(rows, t, k) != 0.0:
            at = find(seen, feature(rows, t, k))
            if seen.table[at] < 0:
                if model.clock[0] < last:
                    seen.table[at] = model.clock[0]
                    seen.columns[model.clock[0]] = feature(rows, t, k)
                if model.clock[0] < LIMIT:
                    model.prior.ridges[model.clock[0]] = model.prior.ridges[LIMIT]
                model.clock[0] += 1 if model.clock[0] < last or model.most > 0 else 0


@no_refcount
def _write_record(seen, rows, t, width, x):
    """Write record t as a dense vector x, divided by its constant. Return the squared norm of its other features."""
    unseen, j = 0.0, 0
    for a in range(width):
        x[a] = 0.0
    for k in range(begin(rows, t), end(rows, t)):
        j = _position(seen, feature(rows, t, k), j + 1)
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
    """Store the shared and the own part of the margin and of its variance for task i (-1 if unknown)."""
    shared, own, variance, x, ridges = 0.0, 0.0, 0.0, model.work.x, model.prior.ridges
    for j in range(width):
        shared += model.shared.mean[j] * x[j]
        precision = ridges[j]
        if precision > 0.0:
            if i >= 0:
                precision += model.precisions[i, j]
            scaled = x[j] / precision
            if i >= 0:
                own += model.pulls[i, j] * scaled
            variance += x[j] * scaled
    if ridges[LIMIT] > 0.0:
        variance += model.work.notes[UNSEEN] / ridges[LIMIT]
    model.work.notes[SHARED] = shared
    model.work.notes[OWN] = own
    model.work.notes[OWN_VARIANCE] = variance


@no_refcount
def _note_shared_variance(model):
    work = model.work
    variance = multiply(model.shared, int(work.notes[WIDTH]), work.x, work.moved)
    work.notes[SHARED_VARIANCE] = variance + model.priors[1] * work.notes[UNSEEN]


@no_refcount
def is_in_time(predicted, margin):
    """Return True if the margin is still the predicted one, so that the label is not delayed."""
    return predicted == margin or predicted == 0.0


# called at several places: inlined, it would be compiled at each
@no_refcount_noinline
def predict_margin(model, i, rows, t):
    """Return the margin of record t of task i, NaN if the model has stopped.

    Log-odds are divided by sqrt(1 + π s² / 8), where s² is their variance.
    """
    if has_stopped(model):
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
def learn(model, i, y, rows, t, in_time):
    """Learn record t of task i right after ``has_room``; return the size of the update.

    The size is 0 if the model has stopped. Only a label that comes in time moves the prior variances.
    """
    if model.work.notes[NEEDED] > model.clock[0]:
        _add_features(model, rows, t)
    if has_stopped(model):
        return 0.0
    work, width = model.work, min(model.clock[0], LIMIT)
    notes, learns_prior = work.notes, in_time and model.prior.rate > 0.0
    if notes[RECORD] != t or notes[WIDTH] != width:
        predict_margin(model, i, rows, t)
    noise, residual = 1.0 / weight(rows, t), y - (notes[SHARED] + notes[OWN])
    if model.logistic:
        variance = notes[SHARED_VARIANCE] + notes[OWN_VARIANCE]
        p = 1.0 / (1.0 + math.exp(-(notes[SHARED] + notes[OWN]) / math.sqrt(1.0 + math.pi / 8.0 * variance)))
        curvature = max(p * (1.0 - p), FLATTEST)
        noise, residual = noise / curvature, (0.5 * (1.0 + y) - p) / curvature
        if learns_prior:
            _choose_steps(model, i, width, weight(rows, t) * (0.5 * (1.0 + y) - p), variance)
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
    if learns_prior:
        _move_prior(model, width)
    if notes[NONZERO] > model.clock[1]:
        _divide_prior(model, int(notes[NONZERO]))
    notes[RECORD] = -1.0
    return abs(residual) / total


@no_refcount
def _move_own(model, i, width, residual, noise, total):
    """Update the own weights of task i by a label; ``residual`` is its error, ``noise`` and ``total`` are variances."""
    decay, step = model.kept[0], residual / total
    for j in range(min(width, model.pulls.shape[1])):
        x, ridge, gained = model.work.x[j], model.prior.ridges[j], model.precisions[i, j]
        q = 1.0 / (ridge + gained) if ridge > 0.0 else 0.0
        v = bounded(model.pulls[i, j] * q + x * q * step)
        precision = (ridge + gained + x * x / max(total - x * x * q, noise)) * decay - ridge
        precision = min(max(precision, 0.0), LARGEST) if ridge > 0.0 else 0.0
        model.precisions[i, j], model.pulls[i, j] = precision, v * (ridge + precision)


@no_refcount
def _choose_steps(model, i, width, error, variance):
    """Compute the steps of the log prior variances for a label; ``error`` is that of its probability."""
    prior, steps, shrunk, together = model.prior, model.work.steps, 1.0 / (1.0 + math.pi / 8.0 * variance), 0.0
    # of g = f sqrt(shrunk), by f and by s²
    by_margin = error * math.sqrt(shrunk)
    by_variance = -math.pi / 16.0 * (model.work.notes[SHARED] + model.work.notes[OWN]) * shrunk
    # loops of one kind of work each, which are compiled to vector instructions
    for j in range(width):
        q = 1.0 / (prior.ridges[j] + model.precisions[i, j])
        change = q * model.work.x[j]
        steps[j] = bounded(by_margin * prior.ridges[j] * change * (model.pulls[i, j] * q + by_variance * change))
    for j in range(1, width):
        together += steps[j]
    prior.squares[LIMIT] += bounded(together) ** 2
    together *= prior.rate / math.sqrt(prior.squares[LIMIT])
    model.work.notes[TOGETHER] = together
    for j in range(width):
        prior.squares[j] += steps[j] * steps[j]
        steps[j] = prior.rate * steps[j] / math.sqrt(prior.squares[j])
    for j in range(1, width):
        steps[j] += together


@no_refcount
def _move_prior(model, width):
    """Change the prior precisions of own weights by the computed steps of the log variances."""
    ridges, steps = model.prior.ridges, model.work.steps
    for j in range(width):
        ridges[j] = _moved_ridge(ridges[j], steps[j])
    ridges[LIMIT] = _moved_ridge(ridges[LIMIT], model.work.notes[TOGETHER])


@no_refcount
def _divide_prior(model, count):
    """Change the prior precisions of own slopes for records with ``count`` features, more than any before."""
    ridges, typical = model.prior.ridges, model.prior.features
    growth = max(1.0, count / typical) / max(1.0, model.clock[1] / typical)
    for j in range(1, ridges.size):
        ridges[j] = min(ridges[j] * growth, RIDGES[1])
    model.clock[1] = count


@no_refcount
def _moved_ridge(ridge, step):
    # e^-step but for step³ / 12: a step is at most twice the rate, and exp takes longer than all else here
    return min(max(ridge * (2.0 - step) / (2.0 + step), RIDGES[0]), RIDGES[1])


@no_refcount
def has_room(model, i, rows, t):
    """Return True if record t of task i needs no more memory, or the model has stopped. Else store the size needed."""
    needed, nonzero, width, j = model.clock[0], 0, model.shared.mean.size, 0
    if has_stopped(model):
        return width == 0
    for k in range(begin(rows, t), end(rows, t)):
        j = _position(model.seen, feature(rows, t, k), j + 1)
        if value(rows, t, k) != 0.0:
            nonzero += 1 if j != 0 else 0
            needed += 1 if j < 0 else 0
    model.work.notes[NEEDED] = needed
    model.work.notes[NONZERO] = nonzero
    return min(needed, LIMIT) <= width and i < model.pulls.shape[0]


@compiled
def margin_variances(model, rows, tasks, variances):
    """Write the variance of each record's margin to ``variances``; an unknown task has number -1."""
    for t in range(tasks.size):
        if not np.isnan(predict_margin(model, tasks[t], rows, t)):
            _note_shared_variance(model)
            variances[t] = model.work.notes[SHARED_VARIANCE] + model.work.notes[OWN_VARIANCE]


class FilterStep(NamedTuple):
    """The update rule of a mixed-effects model; ``in_time`` is False for a delayed label."""

    in_time: bool = True


when(score, MixedEffects)(lambda model, i, rows, t: predict_margin(model, i, rows, t))
when(score_with_unseen, MixedEffects)(lambda model, i, known, rows: predict_margin(model, i, rows, 0))
when(allocate, MixedEffects)(lambda model, i, rows, t: has_room(model, i, rows, t))
when(evidence, FilterStep)(lambda rule, y, margin: y)
when(triggers_update, FilterStep)(lambda rule, label: True)
when(step, FilterStep, MixedEffects)(
    lambda rule, model, i, rows, t, label: learn(model, i, label, rows, t, rule.in_time)
)
when(add, MixedEffects)(lambda model, i, c, rows, t: None)
