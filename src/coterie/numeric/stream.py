"""The round, compiled: score, ask, step, add, adapt, for a block of records."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import laws  # noqa: F401 - it gives the functions below bodies for learned relations
from .asking import decide, pass_by, wanted
from .dictionaries import taken
from .generic import compiled, locked
from .kept import address, opened
from .models import adapt, add, foresee, ready, report, score, sight, tick
from .records import end
from .rules import calls, direction, evidence, step


class Moves(NamedTuple):
    """What a run of rounds did, one entry a record.

    ``margins`` were told before the label; ``own`` is the margin of the current weights when the record was learned,
    which differs where weights are averaged or labels come late; ``taus`` is how far it moved them.
    """

    margins: Any
    own: Any
    taus: Any


#: So many rounds ahead memory is asked for that says where weights are: before these are asked for, one round ahead.
SIGHT = 4


@compiled
def predict(model: Any, rows: Any, tasks: Any, first: int, last: int, margins: Any) -> None:
    """Margins of the records ``first`` to ``last`` (not included), nothing learned."""
    for t in range(first, last):
        if t + 1 < last:
            foresee(model, tasks[t + 1], rows, t + 1)
        if t + SIGHT < last:
            sight(model, tasks[t + SIGHT])
        margins[t] = report(model, tasks[t], rows, t, score(model, tasks[t], rows, t))


@compiled
def learn(
    model: Any, rule: Any, rows: Any, tasks: Any, y: Any, first: int, last: int, delay: int, moves: Any, asker: Any
) -> int:
    """Learn the records ``first`` to ``last``, each after the record ``delay`` rounds later was predicted.

    The asker decides on each record when it is predicted; one whose label it does not want changes nothing.
    Returns the record at which it stopped: ``last``, or an earlier one before whose move the model needs room or a
    column of M. Nothing of that record has been learned; the caller provides and calls again.
    """
    for s in range(first, last):
        i = tasks[s]
        if s + 1 < last:
            foresee(model, tasks[s + 1], rows, s + 1)
        if s + SIGHT < last:
            sight(model, tasks[s + SIGHT])
        margin = score(model, i, rows, s)
        if delay == 0:
            moves.margins[s] = report(model, i, rows, s, margin)
            decide(asker, model, i, moves.margins[s], s)
        elif s + delay < tasks.size:
            predict(model, rows, tasks, s + delay, s + delay + 1, moves.margins)
            decide(asker, model, tasks[s + delay], moves.margins[s + delay], s + delay)
        moves.own[s] = margin
        moves.taus[s] = 0.0
        if not wanted(asker, s):
            pass_by(asker, model)
            continue
        agreement = evidence(rule, y[s], margin)
        if calls(rule, agreement):
            if not ready(model, i, rows, s):  # before the step, which may depend on M_ii
                return s
            moves.taus[s] = step(rule, model, i, rows, s, agreement)
        if moves.taus[s] > 0.0:
            add(model, i, moves.taus[s] * direction(rule, y[s], agreement), rows, s)
            adapt(model)
        tick(model, i, y[s] * margin)
    return last


@locked
def predict_one(model: Any, rows: Any, record: int, numbers: int, plain: int, i: int) -> float:
    """Margin of the only record, or of the dictionary at an address, nothing learned; NaN if that cannot be read."""
    rows = taken(rows, record, numbers, plain, False)
    if end(rows, 0) < 0:
        return np.nan
    return report(model, i, rows, 0, score(model, i, rows, 0))  # type: ignore[no-any-return]


#: What keeps :func:`learn_one` from learning: the model needs room or a column of M; the record cannot be read.
UNPROVIDED, UNREAD = -1.0, -2.0


@locked
def learn_one(model: Any, rule: Any, rows: Any, record: int, numbers: int, plain: int, i: int, y: float) -> float:
    """The round of the only record, or of the dictionary at an address: returns the step, or what it lacks.

    The lines of :func:`learn` once more: in a function that both would call, a model's arrays are counted in and out.
    """
    rows = taken(rows, record, numbers, plain, True)
    if end(rows, 0) < 0:
        return UNREAD
    margin = score(model, i, rows, 0)
    agreement = evidence(rule, y, margin)
    tau = 0.0
    if calls(rule, agreement):
        if not ready(model, i, rows, 0):
            return UNPROVIDED
        tau = step(rule, model, i, rows, 0, agreement)
    if tau > 0.0:
        add(model, i, tau * direction(rule, y, agreement), rows, 0)
        adapt(model)
    tick(model, i, y * margin)
    return tau


@locked
def predict_kept(kept: Any, record: Any, i: int) -> float:
    """As :func:`predict_one`, of a dictionary, with all else as it is kept."""
    model, _, rows, numbers, plain = opened(kept)
    return predict_one(model, rows, address(record), numbers, plain, i)


@locked
def learn_kept(kept: Any, record: Any, i: int, y: float) -> float:
    """As :func:`learn_one`, of a dictionary, with all else as it is kept."""
    model, rule, rows, numbers, plain = opened(kept)
    return learn_one(model, rule, rows, address(record), numbers, plain, i, y)
