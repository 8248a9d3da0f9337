"""Members of a mixture that learn side by side: what each keeps of a weight lies beside what the others do.

A row of ``tasks`` has the numbers of all members that keep something for a task, the one row of ``groups`` those of all
members that share something; so a feature's numbers come into cache together. A member is one of three kinds, each of
which does to its numbers, bit for bit, what its own file says:

=========== ==================================== ============================= ======================================
kind        file                                 numbers of a weight           ``settings``
=========== ==================================== ============================= ======================================
``GRADIENT`` :mod:`.adaptive`                    w, Q                          step, start, scale of the margin
``CONFIDENT`` :mod:`.arow`                       w, P                          noise, target, -
``COIN``    :mod:`.coin`                         w, θ, G, R                    alpha, wealth, scale of the margin
=========== ==================================== ============================= ======================================

The kind is a number and not a type, so that whatever members there are, the same compiled code learns them. Up to two
models with mixed effects, :mod:`.mixed_effects`, come behind these members; each has arrays of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie.numeric.core.generic import compiled, generic_no_refcount, no_refcount, when
from coterie.numeric.core.prefetching import prefetch
from coterie.numeric.core.records import begin, end, feature, value, weight
from coterie.numeric.weights.dense import RowMajor, RowMajorMany
from coterie.numeric.weights.table import beside, claim, held, locate, prefetch_row, reserve, touch

from . import mixed_effects
from .adaptive import descend
from .arow import label_variance, row_variance, sharpen
from .asking import decide, skip_unlabelled, wanted
from .coin import GAINED, REWARD, SUM, bet, measure
from .mixture import Work, charge, correct, finite, room, show
from .round import add, prefetch_record, prefetch_task, ready, score
from .rules import SHORTEST, evidence, logistic_step, step, triggers_update
from .stream import AHEAD

GRADIENT, CONFIDENT, COIN = range(3)

#: Levels: a task's own row, and the row of all.
OWN, POOL = 0, 1

#: Entries of a record that are looked up together.
CHUNK = 64


class Members(NamedTuple):
    """What the members are: ``kinds`` (m,), ``settings`` (m, 3), and of the two levels ``at`` and ``shares`` (m, 2).

    ``at`` is where in a row a member's numbers begin, -1 if it has none there; ``shares`` are the weights in M of the
    rows. ``largest`` is where in the row of scales a coin better has its L.
    """

    kinds: Any
    settings: Any
    at: Any
    shares: Any
    largest: Any


class Room(NamedTuple):
    """Workspace for one record: margins ``predictions`` (m,), their ``pooled`` parts, ``steps``, AROW's ``noise``.

    ``places`` (CHUNK,) are addresses of weights, ``mixing`` is room for the last step.
    """

    predictions: Any
    pooled: Any
    steps: Any
    noise: Any
    places: Any
    mixing: Work

    @classmethod
    def of(cls, members: int, experts: int) -> Room:
        """Make room for so many members and experts."""
        predictions, pooled, steps, noise = np.zeros((4, members))
        return cls(predictions, pooled, steps, noise, np.zeros(CHUNK, np.uint64), room(experts))


class MemberModels(NamedTuple):
    """A mixture as a model of the compiled round: tables, members, and what mixes them.

    ``has_own``, ``has_pool`` and ``bets`` tell whether some member keeps something in ``tasks``, in ``groups`` and in
    ``largest``. ``factors`` (S, m) make experts of the members; ``losses``, ``layer`` and ``local`` are those of
    :mod:`.mixture`. ``mixed`` of the models ``first`` and ``second`` are members, the last ones.
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
    work: Room
    first: mixed_effects.MixedEffects
    second: mixed_effects.MixedEffects
    mixed: int


class EnsembleModel(NamedTuple):
    """The rule of a mixture: each member learns by its own, and then the mixture does."""

    members: int


# -- addresses ---------------------------------------------------------------------------------------------------------


@generic_no_refcount
def _remember(table: Any, places: Any, k: Any, place: Any) -> None:
    """Note the address of the k-th weight of a chunk."""


@generic_no_refcount
def _recall(table: Any, row: Any, rows: Any, t: Any, k: Any, places: Any, first: Any) -> Any:
    """Return the address of the weight of entry k of a record, of a chunk that begins with the first."""


@when(_remember, object)
def _note(table: Any, places: Any, k: Any, place: Any) -> None:
    places[k] = place


when(_recall, object)(lambda table, row, rows, t, k, places, first: places[k - first])
for _kind in (RowMajor, RowMajorMany):  # where that is less work than to look it up
    when(_remember, _kind)(lambda table, places, k, place: None)
    when(_recall, _kind)(lambda table, row, rows, t, k, places, first: locate(table, row, feature(rows, t, k)))


# -- margins -----------------------------------------------------------------------------------------------------------


@no_refcount
def _add_products(
    table: Any,
    row: Any,
    level: Any,
    members: Any,
    rows: Any,
    t: Any,
    first: Any,
    last: Any,
    places: Any,
    predictions: Any,
) -> None:
    """Add the products of some entries with the weights in a row to each member's margin, in the entries' order."""
    for k in range(first, last):
        _remember(table, places, k - first, locate(table, row, feature(rows, t, k)))
    for m in range(members.kinds.size):
        if members.at[m, level] >= 0:
            n, total = beside(table, members.at[m, level]), predictions[m]
            for k in range(first, last):
                total += held(table, _recall(table, row, rows, t, k, places, first) + n) * value(rows, t, k)
            predictions[m] = total


@no_refcount
def _tell_level(
    table: Any, row: Any, level: Any, members: Any, rows: Any, t: Any, places: Any, predictions: Any
) -> None:
    """Add the products of record t with the weights in a row to each member's margin."""
    if touch(table, row, rows, t) != -2:
        for first in range(begin(rows, t), end(rows, t), CHUNK):
            last = min(first + CHUNK, end(rows, t))
            _add_products(table, row, level, members, rows, t, first, last, places, predictions)


@no_refcount
def _combine(factors: Any, margins: Any, experts: Any) -> None:
    """Write the margins of experts, sums of the members' with factors (S, m)."""
    for a in range(experts.size):
        experts[a] = 0.0
        for m in range(margins.size):
            if factors[a, m] != 0.0:
                experts[a] += factors[a, m] * margins[m]


@no_refcount
def tell(model: Any, i: Any, rows: Any, t: Any) -> Any:
    """Write the margins of members and experts of record t of task i; returns the mixture's."""
    members, work, experts = model.members, model.work, model.work.mixing.experts
    for m in range(work.predictions.size):
        work.predictions[m] = 0.0
    if model.has_own:
        _tell_level(model.tasks, i, OWN, members, rows, t, work.places, work.predictions)
    if model.has_pool:
        for m in range(work.predictions.size):
            work.pooled[m] = 0.0
        _tell_level(model.groups, 0, POOL, members, rows, t, work.places, work.pooled)
        for m in range(work.predictions.size):
            work.predictions[m] += work.pooled[m]
    if model.mixed > 0:
        work.predictions[members.kinds.size] = mixed_effects.tell(model.first, i, rows, t)
    if model.mixed > 1:
        work.predictions[members.kinds.size + 1] = mixed_effects.tell(model.second, i, rows, t)
    _combine(model.factors, work.predictions, experts)
    return show(model.losses, model.layer, model.local, i, work.mixing)


when(score, MemberModels)(lambda model, i, rows, t: tell(model, i, rows, t))


@no_refcount
def _ask_for(model: Any, i: Any, rows: Any, t: Any) -> None:
    if model.has_own:
        prefetch_row(model.tasks, i, rows, t)
    if model.has_pool:
        prefetch_row(model.groups, 0, rows, t)


when(prefetch_record, MemberModels)(lambda model, i, rows, t: _ask_for(model, i, rows, t))
when(prefetch_task, MemberModels)(lambda model, i: prefetch(model.losses.tasks, i * model.losses.tasks.shape[1]))


# -- learning ----------------------------------------------------------------------------------------------------------


@no_refcount
def _has_room(model: Any, i: Any, rows: Any, t: Any) -> Any:
    room = not model.has_own or reserve(model.tasks, i, rows, t)
    room = room and (not model.has_pool or reserve(model.groups, 0, rows, t))
    room = room and (not model.bets or reserve(model.largest, 0, rows, t))
    room = room and (model.mixed < 1 or mixed_effects.has_room(model.first, i, rows, t))
    return room and (model.mixed < 2 or mixed_effects.has_room(model.second, i, rows, t))


when(ready, MemberModels)(lambda model, i, rows, t: _has_room(model, i, rows, t))


@no_refcount
def _bet_some(
    table: Any, row: Any, level: Any, model: Any, m: Any, y: Any, rows: Any, t: Any, first: Any, last: Any
) -> None:
    """Move a betting member's weights in a row for some entries, whose addresses are noted."""
    members, work, largest = model.members, model.work, model.largest
    n, c, scales = members.at[m, level], work.steps[m] * y, members.largest[m]
    alpha, wealth = members.settings[m, 0], members.settings[m, 1] * members.shares[m, level]
    first_number, sums = beside(table, n), beside(table, n + SUM)
    gains, rewards = beside(table, n + GAINED), beside(table, n + REWARD)
    for k in range(first, last):
        gradient = c * value(rows, t, k)
        if gradient != 0.0:
            at = _recall(table, row, rows, t, k, work.places, first)
            scale = held(largest, locate(largest, 0, feature(rows, t, k)) + beside(largest, scales))
            bet(table, at + first_number, at + sums, at + gains, at + rewards, gradient, scale, wealth, alpha)


@no_refcount
def _move_some(table: Any, row: Any, level: Any, model: Any, y: Any, rows: Any, t: Any, first: Any, last: Any) -> None:
    """Move each member's weights in a row for some entries."""
    members, work = model.members, model.work
    for k in range(first, last):
        _remember(table, work.places, k - first, claim(table, row, feature(rows, t, k)))
    for m in range(members.kinds.size):
        if members.at[m, level] < 0 or work.steps[m] <= 0.0:
            continue
        n, c, share = members.at[m, level], work.steps[m] * y, members.shares[m, level]
        first_number, second = beside(table, n), beside(table, n + 1)
        if members.kinds[m] == GRADIENT:
            rate, start = members.settings[m, 0] * share, members.settings[m, 1]
            for k in range(first, last):
                place = _recall(table, row, rows, t, k, work.places, first)
                descend(table, place + first_number, place + second, c * value(rows, t, k), rate, start)
        elif members.kinds[m] == CONFIDENT:
            move, sharpness = c * share, 1.0 / work.noise[m]
            for k in range(first, last):
                place = _recall(table, row, rows, t, k, work.places, first)
                sharpen(table, place + first_number, place + second, value(rows, t, k), share, move, sharpness)
        else:
            _bet_some(table, row, level, model, m, y, rows, t, first, last)


@no_refcount
def _move_level(table: Any, row: Any, level: Any, model: Any, y: Any, rows: Any, t: Any) -> None:
    for first in range(begin(rows, t), end(rows, t), CHUNK):
        _move_some(table, row, level, model, y, rows, t, first, min(first + CHUNK, end(rows, t)))


@no_refcount
def _variance(model: Any, m: Any, i: Any, rows: Any, t: Any) -> Any:
    """Return the variance of a member's margin."""
    members, total = model.members, 0.0
    if members.at[m, OWN] >= 0:
        total += row_variance(model.tasks, i, members.at[m, OWN] + 1, members.shares[m, OWN], rows, t)
    if members.at[m, POOL] >= 0:
        total += row_variance(model.groups, 0, members.at[m, POOL] + 1, members.shares[m, POOL], rows, t)
    return total


@no_refcount
def _choose_steps(model: Any, i: Any, y: Any, rows: Any, t: Any) -> Any:
    """Write each member's step, by its latest margin; returns the longest step."""
    members, work = model.members, model.work
    longest = 0.0
    for m in range(members.kinds.size):
        signed_margin = y * work.predictions[m]
        work.steps[m] = 0.0
        if members.kinds[m] != CONFIDENT:
            work.steps[m] = weight(rows, t) * logistic_step(members.settings[m, 2], signed_margin)
        elif signed_margin < members.settings[m, 1]:
            work.noise[m] = label_variance(members.settings[m, 0], rows, t)
            total = _variance(model, m, i, rows, t) + work.noise[m]
            if total > SHORTEST:
                work.steps[m] = (members.settings[m, 1] - signed_margin) / total
        longest = max(longest, work.steps[m])
    return longest


@no_refcount
def learn_told(model: Any, i: Any, y: Any, rows: Any, t: Any) -> Any:
    """Learn record t right after ``tell`` has computed its margins, where it is ``ready``; returns the longest step."""
    members, work = model.members, model.work
    longest = _choose_steps(model, i, y, rows, t)
    for m in range(members.kinds.size):
        if members.kinds[m] == COIN and work.steps[m] > 0.0:
            measure(model.largest, members.largest[m], work.steps[m] * y, rows, t)
    if model.has_own:
        _move_level(model.tasks, i, OWN, model, y, rows, t)
    if model.has_pool:
        _move_level(model.groups, 0, POOL, model, y, rows, t)
    if model.mixed > 0:
        longest = max(longest, mixed_effects.learn(model.first, i, y, rows, t))
    if model.mixed > 1:
        longest = max(longest, mixed_effects.learn(model.second, i, y, rows, t))
    correct(model.layer, y, weight(rows, t), work.mixing)
    charge(model.losses, i, y, weight(rows, t), work.mixing)
    return longest


# The step of a mixture is the whole of its learning, which the label decides and not the mixture's own margin.
when(evidence, EnsembleModel)(lambda rule, y, margin: y)
when(triggers_update, EnsembleModel)(lambda rule, label: True)
when(step, EnsembleModel, MemberModels)(lambda rule, model, i, rows, t, label: learn_told(model, i, label, rows, t))
when(add, MemberModels)(lambda model, i, c, rows, t: None)


@no_refcount
def _restore_experts(predictions: Any, s: Any, experts: Any) -> Any:
    """Write the margins that experts predicted for record s unless all are 0 or they left; return if there were any."""
    known = False
    for a in range(experts.size):
        known = known or predictions[a, s] != 0.0
    if known:
        for a in range(experts.size):
            if experts[a] == experts[a]:
                experts[a] = predictions[a, s]
    return known


@compiled
def learn_late(
    model: Any,
    rows: Any,
    tasks: Any,
    y: Any,
    first: int,
    last: int,
    given: int,
    predictions: Any,
    moves: Any,
    query_strategy: Any,
) -> int:
    """As :func:`coterie.numeric.primal.stream.learn`, of records whose labels come ``tasks.size - y.size`` rounds late.

    ``predictions`` (S, n) has the experts' margins of the first ``given`` records, which were predicted before, and
    gets those of the others. Experts are charged for these margins, unless all are 0.
    """
    delay, experts = tasks.size - y.size, model.work.mixing.experts
    for s in range(first, last):
        i, t = tasks[s], s + delay
        if s + 1 < last:
            prefetch_record(model, tasks[s + 1], rows, s + 1)
        if t >= given:
            moves.margins[t] = tell(model, tasks[t], rows, t)
            for a in range(experts.size):
                predictions[a, t] = finite(experts[a])
            decide(query_strategy, model, tasks[t], moves.margins[t], t)
        moves.step_sizes[s] = 0.0
        if not (wanted(query_strategy, s) and weight(rows, s) > 0.0):
            skip_unlabelled(query_strategy, model)
            continue
        if not ready(model, i, rows, s):
            return s
        moves.own[s] = tell(model, i, rows, s)
        if _restore_experts(predictions, s, experts):
            moves.own[s] = show(model.losses, model.layer, model.local, i, model.work.mixing)
        moves.step_sizes[s] = learn_told(model, i, y[s], rows, s)
    return last


@compiled
def predict_told(model: Any, rows: Any, tasks: Any, predictions: Any, margins: Any) -> None:
    """Write the ensemble's margins of records, and those of the experts to ``predictions`` (S, n)."""
    experts = model.work.mixing.experts
    for t in range(tasks.size):
        if t + 1 < tasks.size:
            prefetch_record(model, tasks[t + 1], rows, t + 1)
        if t + AHEAD < tasks.size:
            prefetch_task(model, tasks[t + AHEAD])
        margins[t] = tell(model, tasks[t], rows, t)
        for a in range(experts.size):
            predictions[a, t] = experts[a]
