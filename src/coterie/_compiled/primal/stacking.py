"""Stacking of regression learners: their weights, and the standard deviation of predictions.

The prediction is Σ_a v_a f_a with members' predictions f_a, each clipped to the range of the labels so far. The weights
v ~ N(1/S, P) are updated by :mod:`.gaussian`, with P = I a priori and unit noise; precisions halve after ``HALF_LIFE``
more labels. Stopped members, which are the last ones, have the prediction NaN; v is then conditioned on their weights
being 0.

A record of weight w counts as w records in all sums, in numbers of labels, and in residuals; one of weight 0 is
predicted and not learned.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from coterie._compiled.core.arrays import Dropped, enlarged
from coterie._compiled.core.checks import MOST_ROUNDS, require, require_rows, require_shape, require_within
from coterie._compiled.core.generic import compiled, holds_gil, no_refcount

from .gaussian import LARGEST, Gaussian, absorb, bounded, multiply

#: The prior variances of the weights of members.
PRIORS = np.ones(2)

#: The number of labels after which a record counts half for the weights of members.
HALF_LIFE = 300.0

#: The labels before which the last step learns nothing and no residual counts: the first are not yet on a scale.
START = 30

#: Prior numbers of residuals: for the mean square of an age class, and for a task's factor of it, as tasks differ more.
PRIOR, TASK_PRIOR = 10.0, 3.0

#: Numbers of a task's labels so far, by powers of two, whose residuals are kept apart; the last has all beyond.
AGES = 16

#: Bins of residuals over their spreads, in asinh(4 u) from -REACH to REACH.
BINS, REACH = 128, 6.4


class Residuals(NamedTuple):
    """Running sums of squared residuals, by task and by the number of labels of the task.

    ``ages`` (AGES, 2) has their number and their sum by the number of known labels of the task (its age), ``tasks``
    (K, 2) their number and the sum of r² / e, e being the mean of that age; ``bins`` (AGES, BINS) counts residuals over
    their spreads for each age, because errors of a task's intercept and noise have different distributions.
    """

    ages: Any
    tasks: Any
    bins: Any


class Stacking(NamedTuple):
    """The state of the stacker: weights of the members, residuals, and counts of labels.

    ``labels`` (K,) counts each task's labels; ``extremes`` has the smallest and the largest label so far, ``clock``
    (1,) the number of labels.
    """

    labels: Any
    last: Gaussian
    spread: Residuals
    extremes: Any
    clock: Any

    @classmethod
    def empty(cls, members: int, tasks: int = 0) -> Stacking:
        """Return the initial state for this many members and tasks."""
        last = Gaussian.from_priors(members, PRIORS)
        last.mean[:] = 1.0 / members
        spread = Residuals(np.zeros((AGES, 2)), np.zeros((tasks, 2)), np.zeros((AGES, BINS)))
        return cls(np.zeros(tasks), last, spread, np.zeros(2), np.zeros(1, np.int64))

    def with_tasks(self, tasks: int) -> Stacking:
        """Return the state with capacity for this many tasks."""
        if tasks <= len(self.labels):
            return self
        spread = self.spread._replace(tasks=enlarged(self.spread.tasks, tasks))
        return self._replace(labels=enlarged(self.labels, tasks), spread=spread)

    def drop_tasks(self, dropped: Dropped) -> None:
        """Remove the numbers of tasks; the tasks with the largest numbers get the free numbers."""
        for array in (self.labels, self.spread.tasks):
            dropped.move(array)

    def to_saved(self, tasks: int) -> Stacking:
        """Return the state without unused capacity."""
        return self._replace(labels=self.labels[:tasks], spread=self.spread._replace(tasks=self.spread.tasks[:tasks]))

    def check(self, tasks: int, members: int) -> None:
        """Raise ValueError for wrong shapes, or numbers that no sequence of updates leads to."""
        require_shape("clock", self.clock, 1)
        require_within("clock", self.clock, 0, MOST_ROUNDS)
        require_shape("numbers of labels", self.labels, None)
        require_rows("numbers of labels", self.labels, tasks)
        require_within("numbers of labels", self.labels, 0, MOST_ROUNDS)
        self.last.check("the last step", members)
        require_shape("range of labels", self.extremes, 2)
        require_within("range of labels", self.extremes, -LARGEST, LARGEST)
        require(self.extremes[0] <= self.extremes[1], "the range of labels is invalid")
        require_shape("residuals by age", self.spread.ages, AGES, 2)
        require_shape("residuals of tasks", self.spread.tasks, None, 2)
        require_rows("residuals of tasks", self.spread.tasks, tasks)
        for counted in (self.spread.ages, self.spread.tasks):
            require_within("numbers of residuals", counted[:, 0], 0, MOST_ROUNDS)
            require_within("squared residuals", counted[:, 1], 0, LARGEST**3)
        require_shape("bins of residuals", self.spread.bins, AGES, BINS)
        require_within("bins of residuals", self.spread.bins, 0, MOST_ROUNDS)


# -- the spread of predictions -----------------------------------------------------------------------------------------


@no_refcount
def _age(count):
    """Return the class of a task by its number of labels, ``count``: 0, 1, 2-3, 4-7, ...."""
    # by powers of two, because errors fall with the number of labels ever more slowly
    age = 0
    while count >= 1.0 and age < AGES - 1:
        count *= 0.5
        age += 1
    return age


@no_refcount
def _mean_square(spread, age):
    """Return the mean squared residual of predictions for tasks in the class ``age`` of numbers of labels."""
    # shrinks the mean of an age towards that of all ages, which is shrunk towards 1
    number, total = 0.0, 0.0
    for a in range(AGES):
        number += spread.ages[a, 0]
        total += spread.ages[a, 1]
    overall = (total + PRIOR) / (number + PRIOR)
    return (spread.ages[age, 1] + PRIOR * overall) / (spread.ages[age, 0] + PRIOR)


@no_refcount
def _variance(spread, i, age):
    """Return the variance of the residual of task i; ``age`` is its class by the number of labels."""
    e = _mean_square(spread, age)
    # without labels of the task its own factor is not known
    if age == 0:
        return e
    # a task's factor is shrunk towards 1 by TASK_PRIOR residuals of average size
    return e * (spread.tasks[i, 1] + TASK_PRIOR) / (spread.tasks[i, 0] + TASK_PRIOR)


@no_refcount
def bin_of(score):
    """Return the histogram bin of a standardised residual."""
    # asinh is linear near 0 and logarithmic in the tails, so few bins reach far
    place = math.floor((math.asinh(4.0 * score) + REACH) * (0.5 * BINS / REACH))
    return int(min(max(place, 0.0), BINS - 1.0))


@no_refcount
def _count(spread, i, age, residual, w):
    # from before this residual: bins must compare it with what was predicted
    e, variance = _mean_square(spread, age), _variance(spread, i, age)
    square = bounded(residual * residual)
    spread.bins[age, bin_of(residual / math.sqrt(variance))] += w
    spread.ages[age, 0] += w
    # bounded, so that sums stay finite
    spread.ages[age, 1] += w * square
    spread.tasks[i, 0] += w
    spread.tasks[i, 1] += w * bounded(square / e)


# -- rounds ------------------------------------------------------------------------------------------------------------


class StackingWork(NamedTuple):
    """Working arrays of one round: the stacker's inputs, P times the inputs, and decay factors."""

    inputs: Any
    moved: Any
    factors: Any


@compiled
def allocate_work(model):
    """Allocate the working arrays of one round."""
    S = model.last.mean.size
    return StackingWork(np.zeros(S), np.zeros(S), np.zeros(S))


@no_refcount
def _age_of(model, i):
    return _age(model.labels[i]) if i >= 0 else 0


@no_refcount
def _active(margins, t):
    """Return the number of members that have not stopped."""
    active = 0
    # members leave from the last to the first, so the first NaN ends the search
    while active < margins.shape[0] and margins[active, t] == margins[active, t]:
        active += 1
    return active


@no_refcount
def _predict(model, margins, t, work):
    """Write the stacker's inputs for record t (0 for stopped members); return the prediction."""
    active, prediction = _active(margins, t), 0.0
    for a in range(work.inputs.size):
        margin = margins[a, t] if a < active else 0.0
        # clipped to the range of the labels: a member that diverges cannot carry the mean with it
        work.inputs[a] = min(max(margin, model.extremes[0]), model.extremes[1])
        # equal weights until the last step has learned from a label
        prediction += work.inputs[a] * (model.last.mean[a] if model.clock[0] > START else 1.0 / active)
    return prediction


@no_refcount
def _leave(last, a):
    """Set the weight of a stopped member a to 0, and the distribution of the other weights to match."""
    variance = last.covariance[a, a]
    # a Gaussian conditioned on v_a = 0: mean and covariance lose their regression on v_a
    if variance > 0.0:
        # the square root goes to both factors, so that P stays symmetric to the last bit
        shrunk = 1.0 / math.sqrt(variance)
        for b in range(last.mean.size):
            if b != a:
                factor = last.covariance[b, a] * shrunk
                last.mean[b] -= factor * shrunk * last.mean[a]
                for c in range(last.mean.size):
                    if c != a:
                        last.covariance[b, c] -= factor * (last.covariance[a, c] * shrunk)
    last.mean[a] = 0.0
    for b in range(last.mean.size):
        last.covariance[a, b] = 0.0
        last.covariance[b, a] = 0.0


@no_refcount
def _learn(model, i, age, y, w, margin, active, work):
    """Update the weights of the members by a label y of weight w, and the variances by its residual."""
    last, S = model.last, work.inputs.size
    for a in range(active, S):
        # a variance of 0 is that of a member which has left before
        if last.covariance[a, a] > 0.0:
            _leave(last, a)
    # members may have left before the first update: those that stay share equally
    if model.clock[0] == START:
        for a in range(active):
            last.mean[a] = 1.0 / active
    if model.clock[0] >= START:
        # unit noise over the record's weight; the variance of the prediction is added below
        total, residual = 1.0 / w, y
        for a in range(S):
            residual -= last.mean[a] * work.inputs[a]
        total += multiply(last, S, work.inputs, work.moved)
        absorb(last, S, PRIORS, 0.5 ** (1.0 / HALF_LIFE), residual, total, work.moved, work.factors)
        _count(model.spread, i, age, y - margin, w)
    # weights count in labels, ages and spreads, but START counts records
    model.labels[i] += w
    model.clock[0] += 1
    model.extremes[0] = min(model.extremes[0], y)
    model.extremes[1] = max(model.extremes[1], y)


@no_refcount
def _was_predicted(predictions, s):
    known = False
    # zeros stand for a record that was not predicted before
    for a in range(predictions.shape[0] - 1):
        known = known or predictions[a, s] != 0.0
    return known


@no_refcount
def _note(model, foreseen, t, i, predictions, work):
    """Store the inputs of the stacker for record t of task i, its prediction, and the age class of the task.

    ``foreseen`` are the members' predictions.
    """
    S = work.inputs.size
    predictions[S, t] = _predict(model, foreseen, t, work)
    for a in range(S):
        predictions[a, t] = work.inputs[a]
    predictions[S + 1, t] = _age_of(model, i)


@compiled
def learn(model, foreseen, now, weights, tasks, y, predictions, n_predicted, last, margins, own):
    """Predict and learn the first ``last`` records.

    Record s is learned after record s + tasks.size - last was predicted.

    ``foreseen`` and ``now`` (S, n) are the members' margins when they were asked and when the label came.
    ``predictions`` (S + 2, n) gets the inputs of the last step, its margin and the task's age as they were predicted;
    those of the first ``n_predicted`` records are from an earlier run. Zeros mean unknown predictions; such records are
    predicted when the label arrives. There are no columns without delayed labels.
    """
    delay = tasks.size - last
    work = allocate_work(model)
    S = work.inputs.size
    for s in range(last):
        t = s + delay
        if delay > 0 and t >= n_predicted:
            _note(model, foreseen, t, tasks[t], predictions, work)
            margins[t] = predictions[S, t]
        # with late labels the members' margins of today are learned from only where no prediction is known
        i = tasks[s]
        own[s] = _predict(model, now, s, work)
        if delay == 0:
            margins[s] = own[s]
        if weights[s] == 0.0:
            continue
        margin, age = own[s], _age_of(model, i)
        if predictions.shape[1] > 0 and _was_predicted(predictions, s):
            for a in range(S):
                work.inputs[a] = predictions[a, s]
            margin = predictions[S, s]
            age = int(predictions[S + 1, s])
        _learn(model, i, age, y[s], weights[s], margin, _active(now, s), work)


@compiled
def predict(model, foreseen, tasks, predictions, spreads):
    """Write the predictions of records and their standard deviations, without learning.

    ``foreseen`` are the predictions of the members. An unknown task has the number -1.
    """
    work = allocate_work(model)
    for t in range(tasks.size):
        _note(model, foreseen, t, tasks[t], predictions, work)
        spreads[t] = math.sqrt(_variance(model.spread, tasks[t], _age_of(model, tasks[t])))


@holds_gil
def learn_one(model, now, weight, i, y):
    """Learn one record of task i with label y; ``now`` are the members' predictions, shape (S, 1)."""
    if weight > 0.0:
        work = allocate_work(model)
        margin = _predict(model, now, 0, work)
        _learn(model, i, _age_of(model, i), y, weight, margin, _active(now, 0), work)


@holds_gil
def predict_one(model, foreseen):
    """Return the prediction for one record; ``foreseen`` are the members' predictions."""
    return _predict(model, foreseen, 0, allocate_work(model))
