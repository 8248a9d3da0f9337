"""Ensembles in one compiled loop; the members' numbers for a feature are adjacent in memory.

A row of ``tasks`` has the numbers of all members with weights per task, the one row of ``groups`` those of all members
with shared weights, so that a feature's numbers are next to each other in the cache. A member is of one of three kinds,
with the same updates, bit for bit, as in its own file:

=========== ==================================== ============================= ======================================
kind        file                                 numbers of a weight           ``settings``
=========== ==================================== ============================= ======================================
``GRADIENT`` :mod:`.adaptive`                    w, Q                          step, start
``CONFIDENT`` :mod:`.confidence`                       w, P                          noise, target
``COIN``    :mod:`.coin`                         w, θ, G, R                    alpha, wealth
=========== ==================================== ============================= ======================================

The kind is a number and not a type, so that the same compiled code learns all combinations of members. One model with
mixed effects, :mod:`.kalman_filter`, may follow these members; it has its own arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie._compiled.core.generic import compiled, generic_no_refcount, no_refcount, no_refcount_noinline, when
from coterie._compiled.core.prefetching import prefetch
from coterie._compiled.core.records import begin, end, feature, value, weight
from coterie._compiled.weights.dense import RowMajor, RowMajorMany
from coterie._compiled.weights.table import (
    find_weight,
    get_or_insert,
    get_value,
    offset_of,
    prefetch_row,
    reserve,
    touch,
)

from . import kalman_filter as mixed_effects
from .adaptive import descend
from .coin import GAINED, REWARD, SUM, bet, measure
from .confidence import label_variance, row_variance, sharpen
from .kalman_filter import is_in_time
from .mixture import Work, allocate_work, charge, correct, finite, stack_inputs
from .query_decisions import decide, skip_unlabelled, wanted
from .round import add, allocate, prefetch_record, prefetch_task, score, score_with_unseen
from .step_rules import SHORTEST, evidence, logistic_step, step, triggers_update
from .stream import AHEAD

GRADIENT, CONFIDENT, COIN = range(3)

#: Levels: a task's own row, and the row of all.
OWN, POOL = 0, 1

#: Entries of a record that are looked up together.
CHUNK = 64


class Members(NamedTuple):
    """The members of an ensemble: their kinds, parameters, and positions and shares in the tables.

    ``at`` is the position of a member's numbers in a row, -1 if it has none; ``shares`` are the weights in M of the
    rows. ``largest`` is the position of L of a coin-betting member.
    """

    kinds: Any
    settings: Any
    at: Any
    shares: Any
    largest: Any


class Workspace(NamedTuple):
    """Working arrays for one record: the margins, step sizes and noise of members, and those of the stacker.

    ``places`` (CHUNK,) are addresses of weights, ``mixing`` has arrays of the stacker.
    """

    predictions: Any
    pooled: Any
    steps: Any
    noise: Any
    places: Any
    mixing: Work

    @classmethod
    def allocate(cls, members: int, experts: int) -> Workspace:
        """Allocate working arrays for these members and experts."""
        predictions, pooled, steps, noise = np.zeros((4, members))
        return cls(predictions, pooled, steps, noise, np.zeros(CHUNK, np.uint64), allocate_work(experts))


class MemberModels(NamedTuple):
    """The model of an ensemble: tables of weights, members, losses of members, and the stacker.

    ``has_own``, ``has_pool`` and ``bets`` are True if some member has numbers in ``tasks``, ``groups`` and ``largest``.
    ``factors`` (S, m) combine members to experts; ``losses``, ``layer`` and ``local`` are those of :mod:`.mixture`. The
    last member is the model ``mixed``, if ``has_mixed``.
    """

    groups: Any
    tasks: Any
    largest: Any
    members: Members
    has_own: bool
    has_pool: bool
    bets: bool
    factors: Any
    losses: Any
    layer: Any
    local: float
    work: Workspace
    mixed: mixed_effects.MixedEffects
    has_mixed: bool


class EnsembleModel(NamedTuple):
    """The update rule of an ensemble: each member learns by its own rule, then the stacker learns."""

    members: int


# -- addresses ---------------------------------------------------------------------------------------------------------


@generic_no_refcount
def _remember(table, places, k, place):
    """Store the position in the table of the k-th weight of a chunk of features."""


@generic_no_refcount
def _recall(table, row, rows, t, k, places, first):
    """Return the stored position of the weight of entry k; ``first`` is the first entry of its chunk of features."""


@when(_remember, object)
def _note(table, places, k, place):
    places[k] = place


when(_recall, object)(lambda table, row, rows, t, k, places, first: places[k - first])
for _kind in (RowMajor, RowMajorMany):  # where that is less work than to look it up
    when(_remember, _kind)(lambda table, places, k, place: None)
    when(_recall, _kind)(lambda table, row, rows, t, k, places, first: find_weight(table, row, feature(rows, t, k)))


# -- margins -----------------------------------------------------------------------------------------------------------


@no_refcount
def _add_products(table, row, level, members, rows, t, first, last, places, predictions):
    """Add the products of some entries of record t with the weights in a row to each member's margin.

    The entries are ``first`` to ``last - 1``.
    """
    for k in range(first, last):
        _remember(table, places, k - first, find_weight(table, row, feature(rows, t, k)))
    # each member adds up in the order of entries, as it would alone: sums must be equal to the last bit
    for m in range(members.kinds.size):
        # -1 for a member without numbers on this level
        if members.at[m, level] >= 0:
            # total goes on from the chunk before, so the order of additions is that of one long loop
            n, total = offset_of(table, members.at[m, level]), predictions[m]
            for k in range(first, last):
                total += get_value(table, _recall(table, row, rows, t, k, places, first) + n) * value(rows, t, k)
            predictions[m] = total


# called for two levels, now and for late labels: inlined, it would be compiled four times
@no_refcount_noinline
def _score_level(table, row, level, members, rows, t, places, predictions):
    """Add the products of record t with the weights in a row of the table to each member's margin."""
    # always true: the compiler must not drop loads that only warm the cache
    if touch(table, row, rows, t) != -2:
        for first in range(begin(rows, t), end(rows, t), CHUNK):
            last = min(first + CHUNK, end(rows, t))
            _add_products(table, row, level, members, rows, t, first, last, places, predictions)


@no_refcount
def _combine(factors, margins, experts):
    """Compute the margins of experts: sums of the members' margins with these coefficients (``factors``)."""
    for a in range(experts.size):
        experts[a] = 0.0
        for m in range(margins.size):
            if factors[a, m] != 0.0:
                experts[a] += factors[a, m] * margins[m]


@no_refcount
def score_members(model, i, rows, t, whole):
    """Compute the margins of members and experts for record t of task i; return the ensemble's margin.

    The record t of ``whole`` has all features, also those without weights, which count in variances.
    """
    members, work, experts = model.members, model.work, model.work.mixing.experts
    for m in range(work.predictions.size):
        work.predictions[m] = 0.0
    if model.has_own:
        _score_level(model.tasks, i, OWN, members, rows, t, work.places, work.predictions)
    if model.has_pool:
        # summed on its own and then added, as a single model adds the margins of two rows
        for m in range(work.predictions.size):
            work.pooled[m] = 0.0
        _score_level(model.groups, 0, POOL, members, rows, t, work.places, work.pooled)
        for m in range(work.predictions.size):
            work.predictions[m] += work.pooled[m]
    if model.has_mixed:
        # it is no part of the tables: it comes last, with arrays of its own
        work.predictions[members.kinds.size] = mixed_effects.predict_margin(model.mixed, i, whole, t)
    _combine(model.factors, work.predictions, experts)
    return stack_inputs(model.losses, model.layer, model.local, i, work.mixing)


when(score, MemberModels)(lambda model, i, rows, t: score_members(model, i, rows, t, rows))
when(score_with_unseen, MemberModels)(lambda model, i, known, rows: score_members(model, i, known, 0, rows))


@no_refcount
def _ask_for(model, i, rows, t):
    if model.has_own:
        prefetch_row(model.tasks, i, rows, t)
    if model.has_pool:
        prefetch_row(model.groups, 0, rows, t)


when(prefetch_record, MemberModels)(lambda model, i, rows, t: _ask_for(model, i, rows, t))
when(prefetch_task, MemberModels)(lambda model, i: prefetch(model.losses.tasks, i * model.losses.tasks.shape[1]))


# -- learning ----------------------------------------------------------------------------------------------------------


@no_refcount
def _allocate(model, i, rows, t):
    room = not model.has_own or reserve(model.tasks, i, rows, t)
    room = room and (not model.has_pool or reserve(model.groups, 0, rows, t))
    room = room and (not model.bets or reserve(model.largest, 0, rows, t))
    return room and (not model.has_mixed or mixed_effects.has_room(model.mixed, i, rows, t))


when(allocate, MemberModels)(lambda model, i, rows, t: _allocate(model, i, rows, t))


@no_refcount
def _bet_some(table, row, level, members, largest, m, c, rows, t, first, last, places):
    """Update the weights of the coin-betting member m in a row for some entries of record t, by c."""
    n, scales = members.at[m, level], members.largest[m]
    alpha, wealth = members.settings[m, 0], members.settings[m, 1] * members.shares[m, level]
    first_number, sums = offset_of(table, n), offset_of(table, n + SUM)
    gains, rewards = offset_of(table, n + GAINED), offset_of(table, n + REWARD)
    for k in range(first, last):
        gradient = c * value(rows, t, k)
        if gradient != 0.0:
            at = _recall(table, row, rows, t, k, places, first)
            # the largest gradient of the feature, which measure() has updated for this record already
            scale = get_value(largest, find_weight(largest, 0, feature(rows, t, k)) + offset_of(largest, scales))
            bet(table, at + first_number, at + sums, at + gains, at + rewards, gradient, scale, wealth, alpha)


@no_refcount
def _move_some(table, row, level, members, largest, steps, noise, y, rows, t, first, last, places):
    """Update the weights of all other members in a row for some entries of record t."""
    for k in range(first, last):
        _remember(table, places, k - first, get_or_insert(table, row, feature(rows, t, k)))
    for m in range(members.kinds.size):
        # a member without a step must not touch its sums, which would change by -0.0
        if members.at[m, level] < 0 or steps[m] <= 0.0:
            continue
        # the levels share one step; each level's part of it is its weight in M
        n, c, share = members.at[m, level], steps[m] * y, members.shares[m, level]
        first_number, second = offset_of(table, n), offset_of(table, n + 1)
        if members.kinds[m] == GRADIENT:
            rate, start = members.settings[m, 0] * share, members.settings[m, 1]
            for k in range(first, last):
                place = _recall(table, row, rows, t, k, places, first)
                descend(table, place + first_number, place + second, c * value(rows, t, k), rate, start)
        elif members.kinds[m] == CONFIDENT:
            # as in .confidence: the mean moves by its variance, the precision gains x² / r
            move, sharpness = c * share, 1.0 / noise[m]
            for k in range(first, last):
                place = _recall(table, row, rows, t, k, places, first)
                sharpen(table, place + first_number, place + second, value(rows, t, k), share, move, sharpness)
        else:
            _bet_some(table, row, level, members, largest, m, c, rows, t, first, last, places)


@no_refcount_noinline
def _move_level(table, row, level, members, largest, steps, noise, y, rows, t, places):
    for first in range(begin(rows, t), end(rows, t), CHUNK):
        last = min(first + CHUNK, end(rows, t))
        _move_some(table, row, level, members, largest, steps, noise, y, rows, t, first, last, places)


@no_refcount
def _variance(model, m, i, rows, t):
    """Return the variance of the margin of member m for record t of task i."""
    members, total = model.members, 0.0
    if members.at[m, OWN] >= 0:
        total += row_variance(model.tasks, i, members.at[m, OWN] + 1, members.shares[m, OWN], rows, t)
    if members.at[m, POOL] >= 0:
        total += row_variance(model.groups, 0, members.at[m, POOL] + 1, members.shares[m, POOL], rows, t)
    return total


@no_refcount
def _choose_steps(model, i, y, rows, t):
    """Compute each member's step size from its latest margin; return the largest."""
    members, work = model.members, model.work
    longest = 0.0
    for m in range(members.kinds.size):
        signed_margin = y * work.predictions[m]
        work.steps[m] = 0.0
        if members.kinds[m] != CONFIDENT:
            # AdaGrad and coin betting follow the gradient of the logistic loss
            work.steps[m] = weight(rows, t) * logistic_step(signed_margin)
        elif signed_margin < members.settings[m, 1]:
            work.noise[m] = label_variance(members.settings[m, 0], rows, t)
            # AROW: (target - y f) / (v + r), v from before the record
            total = _variance(model, m, i, rows, t) + work.noise[m]
            if total > SHORTEST:
                work.steps[m] = (members.settings[m, 1] - signed_margin) / total
        longest = max(longest, work.steps[m])
    return longest


@no_refcount
def learn_members(model, i, y, rows, t, in_time):
    """Update the members by record t of task i right after ``score_members``; return the largest step size.

    ``in_time`` is False if the mixed-effects model has learned since it predicted the record.
    """
    members, work = model.members, model.work
    # all steps are chosen before the first weight moves: members do not see each other
    longest = _choose_steps(model, i, y, rows, t)
    for m in range(members.kinds.size):
        # L must cover the present gradient before any bet divides by it
        if members.kinds[m] == COIN and work.steps[m] > 0.0:
            measure(model.largest, members.largest[m], work.steps[m] * y, rows, t)
    if model.has_own:
        _move_level(model.tasks, i, OWN, members, model.largest, work.steps, work.noise, y, rows, t, work.places)
    if model.has_pool:
        _move_level(model.groups, 0, POOL, members, model.largest, work.steps, work.noise, y, rows, t, work.places)
    if model.has_mixed:
        longest = max(longest, mixed_effects.learn(model.mixed, i, y, rows, t, in_time))
    # both read the margins from before this record's moves
    correct(model.layer, y, weight(rows, t), work.mixing)
    charge(model.losses, i, y, weight(rows, t), work.mixing)
    return longest


# The step of a mixture is the whole of its learning, which the label decides and not the mixture's own margin.
when(evidence, EnsembleModel)(lambda rule, y, margin: y)
when(triggers_update, EnsembleModel)(lambda rule, label: True)
when(step, EnsembleModel, MemberModels)(
    lambda rule, model, i, rows, t, label: learn_members(model, i, label, rows, t, True)
)
when(add, MemberModels)(lambda model, i, c, rows, t: None)


@no_refcount
def _score_late(model, i, rows, s, predictions):
    """Compute the present margin of record s of task i, to learn its delayed label.

    Experts keep their earlier predictions. If all of these are 0, experts count with their current margins; stopped
    experts have none.
    """
    # members are updated by their current margins; experts' losses are those of their earlier predictions
    margin, experts, known = score_members(model, i, rows, s, rows), model.work.mixing.experts, False
    for a in range(experts.size):
        known = known or predictions[a, s] != 0.0
    in_time = is_in_time(predictions[experts.size - 1, s], experts[experts.size - 1])
    if not known:
        return margin, in_time
    for a in range(experts.size):
        # NaN: an expert that has left since it predicted
        if experts[a] == experts[a]:
            experts[a] = predictions[a, s]
    return stack_inputs(model.losses, model.layer, model.local, i, model.work.mixing), in_time


@compiled
def learn(model, rows, tasks, y, first, last, n_predicted, predictions, moves, query_strategy):
    """Learn records as :func:`coterie._compiled.primal.stream.learn`; labels are delayed by ``tasks.size - y.size``.

    ``predictions`` (S, n) has the experts' margins of the first ``n_predicted`` records, predicted earlier, and gets
    those of the others. Losses of experts are computed from these margins, unless all are 0. It is (S, 0) if labels
    were never delayed: the margins are then computed once for prediction and learning.
    """
    delay, experts, late = tasks.size - y.size, model.work.mixing.experts, predictions.shape[1] > 0
    for s in range(first, last):
        # record s is learned in the round in which record t is predicted
        i, t = tasks[s], s + delay
        if s + 1 < last:
            prefetch_record(model, tasks[s + 1], rows, s + 1)
        if s + AHEAD < last:
            prefetch_task(model, tasks[s + AHEAD])
        if t >= n_predicted:
            moves.margins[t] = score_members(model, tasks[t], rows, t, rows)
            # experts are charged later for these margins, when the label comes
            for a in range(experts.size if late else 0):
                predictions[a, t] = finite(experts[a])
            decide(query_strategy, model, tasks[t], moves.margins[t], t)
        moves.own[s], moves.step_sizes[s] = 0.0 if late else moves.margins[s], 0.0
        if not (wanted(query_strategy, s) and weight(rows, s) > 0.0):
            skip_unlabelled(query_strategy, model)
            continue
        if not allocate(model, i, rows, s):
            # memory is reserved before any update, so that the caller can repeat this record
            return s
        in_time = True
        if late:
            moves.own[s], in_time = _score_late(model, i, rows, s, predictions)
        moves.step_sizes[s] = learn_members(model, i, y[s], rows, s, in_time)
    return last


@compiled
def predict(model, rows, tasks, predictions, margins):
    """Predict records: write the ensemble's margins, and the experts' margins to ``predictions`` (S, n)."""
    experts = model.work.mixing.experts
    for t in range(tasks.size):
        if t + 1 < tasks.size:
            prefetch_record(model, tasks[t + 1], rows, t + 1)
        if t + AHEAD < tasks.size:
            prefetch_task(model, tasks[t + AHEAD])
        margins[t] = score_members(model, tasks[t], rows, t, rows)
        for a in range(experts.size):
            predictions[a, t] = experts[a]
