"""A logistic regression of all tasks on a record and on how its task's labels have been so far.

Of task i, m_i of the c_i labels so far were positive, and p is the part of all that were, (M + 1) / (C + 2). With

    x = (0.3 · logit((m_i + 10 p) / (c_i + 10)), entries of the record),

and a Gaussian of mean w and covariance P over all factors, the margin is w · x, and a round is that of the last step in
:mod:`coterie.numeric.primal.mixture`. So a task of few records is taken for one like all, and the factors weigh its
rate against its records. The first ``PLACES`` features that come have a factor; all others are left out.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from coterie.numeric.core.checks import (
    MOST_FEATURES,
    MOST_ROUNDS,
    require,
    require_finite,
    require_rows,
    require_shape,
    require_within,
)
from coterie.numeric.core.generic import compiled, no_refcount
from coterie.numeric.primal.mixture import learn_inputs

#: How many features have a factor: a round costs the square.
PLACES = 128

#: The variance of a factor before its first record.
UNSURE = 10.0

#: The factor of a task's log-odds, and how many records those of all tasks count for in them.
SCALE, PRIOR = 0.3, 10.0


class TaskMeans(NamedTuple):
    """Factors of ``features`` (PLACES,), -1 where a place is free: their ``mean`` (PLACES + 1,) and ``covariance``.

    The first factor is that of the task's log-odds, and place k has factor k + 1. ``counts`` (K, 2) has the labels of
    each task and how many of them were positive, ``overall`` (2,) those of all.
    """

    features: Any
    mean: Any
    covariance: Any
    counts: Any
    overall: Any

    def check(self, tasks: int, features: int) -> None:
        """Refuse factors of no such features and counts of no such tasks: ValueError."""
        require_shape("features with a factor", self.features, PLACES)
        require_within("features with a factor", self.features, -1, min(features, MOST_FEATURES) - 1)
        used = places_used(self.features)
        require((self.features[used:] == -1).all(), "features with a factor stand behind an empty place")
        require(len(set(self.features[:used].tolist())) == used, "a feature has two factors")
        require_shape("factors", self.mean, PLACES + 1)
        require_shape("covariance of factors", self.covariance, PLACES + 1, PLACES + 1)
        for numbers in (self.mean, self.covariance):
            require_finite("factors", numbers)
        require_shape("counts of tasks", self.counts, len(self.counts), 2)
        require_rows("counts of tasks", self.counts, tasks)
        require_shape("counts of all tasks", self.overall, 2)
        for counts in (self.counts, self.overall):
            require_within("counts of labels", counts, 0, MOST_ROUNDS)
            require((counts[..., 1] <= counts[..., 0]).all(), "more labels were positive than there were")


def start(tasks: int) -> TaskMeans:
    """The factors before the first record."""
    places = np.full(PLACES, -1, np.int32)
    covariance = np.eye(PLACES + 1) * UNSURE
    return TaskMeans(places, np.zeros(PLACES + 1), covariance, np.zeros((tasks, 2)), np.zeros(2))


@no_refcount
def places_used(features: Any) -> Any:
    """How many places have a feature: they are taken from the first on."""
    used = 0
    while used < features.size and features[used] >= 0:
        used += 1
    return used


@no_refcount
def task_log_odds(counts: Any, overall: Any, i: Any) -> Any:
    """The log-odds of a positive label at task i by counts alone, drawn to those of all; -1 is an unknown task."""
    p = (overall[1] + 1.0) / (overall[0] + 2.0)
    c = counts[i, 0] if i >= 0 else 0.0
    m = counts[i, 1] if i >= 0 else 0.0
    return math.log((m + PRIOR * p) / (c - m + PRIOR * (1.0 - p)))


@no_refcount
def _show(model: Any, used: Any, rows: Any, t: Any, i: Any, inputs: Any) -> Any:
    """Fill the inputs with a record; return the margin."""
    for k in range(used + 1):
        inputs[k] = 0.0
    inputs[0] = SCALE * task_log_odds(model.counts, model.overall, i)
    for e in range(rows.starts[t], rows.starts[t + 1]):
        for k in range(used):
            if model.features[k] == rows.features[e]:
                inputs[k + 1] = rows.values[e]
                break
    margin = 0.0
    for k in range(used + 1):
        margin += model.mean[k] * inputs[k]
    return margin


@no_refcount
def _claim(model: Any, used: Any, rows: Any, t: Any) -> Any:
    """Give a record's features places as long as there are some; return how many are taken."""
    for e in range(rows.starts[t], rows.starts[t + 1]):
        found = False
        for k in range(used):
            if model.features[k] == rows.features[e]:
                found = True
                break
        if not found and used < model.features.size:
            model.features[used] = rows.features[e]
            used += 1
    return used


@compiled
def learn_means(model: Any, rows: Any, tasks: Any, y: Any, last: Any, moves: Any) -> None:
    """Learn the first ``last`` records, record s after record s + tasks.size - last was predicted."""
    delay = tasks.size - last
    used = places_used(model.features)
    inputs, moved = np.zeros(PLACES + 1), np.zeros(PLACES + 1)
    for s in range(last):
        if delay > 0:
            moves.margins[s + delay] = _show(model, used, rows, s + delay, tasks[s + delay], inputs)
        used = _claim(model, used, rows, s)
        moves.own[s] = _show(model, used, rows, s, tasks[s], inputs)
        if delay == 0:
            moves.margins[s] = moves.own[s]
        moves.taus[s] = learn_inputs(model, used + 1, y[s], 1.0, moves.own[s], inputs, moved)
        positive = 1.0 if y[s] > 0.0 else 0.0
        model.counts[tasks[s], 0] += 1.0
        model.counts[tasks[s], 1] += positive
        model.overall[0] += 1.0
        model.overall[1] += positive


@compiled
def predict_means(model: Any, rows: Any, tasks: Any, margins: Any) -> None:
    """Margins of records, a task that nobody has seen being number -1; nothing is learned."""
    used = places_used(model.features)
    inputs = np.zeros(PLACES + 1)
    for t in range(tasks.size):
        margins[t] = _show(model, used, rows, t, tasks[t], inputs)
