"""The compiled loop over records: score, query, step size, update of weights, update of the relation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from coterie._compiled.core.generic import compiled, holds_gil
from coterie._compiled.core.records import UNSEEN, Csr, end, feature, value, weight

from .grouped import count_arrivals
from .query_decisions import decide, skip_unlabelled, wanted
from .round import adapt, add, allocate, on_step_end, prefetch_record, prefetch_task, report, score, score_with_unseen
from .scaling import prepare_entries, undo_record
from .step_rules import direction, evidence, step, triggers_update


class Moves(NamedTuple):
    """The result of a loop: predicted margins, margins at the update, and step sizes, one entry per record.

    ``margins`` are the predictions before the label; ``own`` is the margin of the current weights when the record was
    learned, which differs for averaged weights or delayed labels; ``step_sizes`` are the step sizes.
    """

    margins: Any
    own: Any
    step_sizes: Any


#: Weights are prefetched one round ahead, and their places this many rounds ahead.
AHEAD = 4


@compiled
def predict(model, rows, tasks, first, last, margins):
    """Write the margins of the records ``first`` to ``last - 1`` to ``margins``, without learning."""
    for t in range(first, last):
        if t + 1 < last:
            prefetch_record(model, tasks[t + 1], rows, t + 1)
        if t + AHEAD < last:
            prefetch_task(model, tasks[t + AHEAD])
        margins[t] = report(model, tasks[t], rows, t, score(model, tasks[t], rows, t))


@compiled
def learn(model, rule, rows, tasks, y, first, last, delay, moves, query_strategy, arrivals):
    """Learn the records ``first`` to ``last - 1``, each after the record ``delay`` rounds later was predicted.

    The query strategy decides on each record when it is predicted; a record without a query, or of weight 0, changes
    nothing. The tasks among the ``arrivals`` count in M from the round on in which their first record is predicted.
    Returns the record at which it stopped: ``last``, or an earlier one for which the model needs room or a column of M.
    Nothing of that record has been learned; the caller provides it and calls again.
    """
    for s in range(first, last):
        i = tasks[s]
        # M depends on how many tasks have come, and a block may hold the first records of several
        if tasks[s + delay] >= arrivals.counted[0]:
            count_arrivals(arrivals, tasks[s + delay], s)
        # with many tasks weights are in no cache, so memory is prefetched while earlier rounds are computed
        if s + 1 < last:
            prefetch_record(model, tasks[s + 1], rows, s + 1)
        if s + AHEAD < last:
            prefetch_task(model, tasks[s + AHEAD])
        # a delayed label updates the current weights, so its margin is computed again
        margin = score(model, i, rows, s)
        if delay == 0:
            moves.margins[s] = report(model, i, rows, s, margin)
            decide(query_strategy, model, i, moves.margins[s], s)
        else:
            predict(model, rows, tasks, s + delay, s + delay + 1, moves.margins)
            decide(query_strategy, model, tasks[s + delay], moves.margins[s + delay], s + delay)
        moves.own[s] = margin
        moves.step_sizes[s] = 0.0
        if not (wanted(query_strategy, s) and weight(rows, s) > 0.0):
            skip_unlabelled(query_strategy, model)
            continue
        # the current weights decide, not the averaged ones that were reported
        signed_margin = evidence(rule, y[s], margin)
        if triggers_update(rule, signed_margin):
            if not allocate(model, i, rows, s):  # before the step, which may depend on M_ii
                return s
            moves.step_sizes[s] = step(rule, model, i, rows, s, signed_margin)
        if moves.step_sizes[s] > 0.0:
            add(model, i, moves.step_sizes[s] * direction(rule, y[s], signed_margin), rows, s)
            adapt(model)
        on_step_end(model)
    return last


#: Reasons to stop at a record: the model needs memory or a column of M; or the record cannot be preprocessed yet.
UNPROVIDED, UNPREPARABLE = -1.0, -2.0


@compiled
def prepare_record(values, features, known, preparing, update):
    """Copy and preprocess the entries of one record. The result has negative length if Python code must do it.

    The first ``known`` features have columns, the others were seen in no record.
    """
    # room for second columns of all entries and for the constant
    size = values.size + known + 1
    rows = Csr(np.empty(size), np.empty(size, np.int32), np.zeros(2, np.int64), np.zeros(0))
    for k in range(known):
        rows.values[k], rows.features[k] = values[k], features[k]
    gap = 1 if preparing.constant >= 0 else 0
    for k in range(known, values.size):
        rows.values[k + gap], rows.features[k + gap] = values[k], features[k]
    rows.starts[1] = prepare_entries(preparing, rows.values, rows.features, known, values.size - known, update)
    return rows


@compiled
def _without_unseen(rows):
    """Copy the entries of one record, without those of features that have no column."""
    n = end(rows, 0)
    known = Csr(np.empty(n), np.empty(n, np.int32), np.zeros(2, np.int64), np.zeros(0))
    for k in range(n):
        if feature(rows, 0, k) < UNSEEN:
            known.values[known.starts[1]], known.features[known.starts[1]] = value(rows, 0, k), feature(rows, 0, k)
            known.starts[1] += 1
    return known


@holds_gil
def predict_one(model, values, features, n, preparing, i):
    """Return the margin of one record, without learning; NaN if it cannot be preprocessed in compiled code.

    The first n features have columns, the others were seen in no record.
    """
    rows = prepare_record(values, features, n, preparing, False)
    if end(rows, 0) < 0:
        return np.nan
    known = _without_unseen(rows) if n < values.size else rows
    return report(model, i, known, 0, score_with_unseen(model, i, known, rows))


@holds_gil
def learn_one(model, rule, values, features, preparing, i, y):
    """Learn one record; return the step size, or UNPROVIDED or UNPREPARABLE with nothing changed.

    It repeats the lines of :func:`learn`, because in a shared function the reference counts of a model's arrays would
    be updated.
    """
    rows = prepare_record(values, features, values.size, preparing, True)
    if end(rows, 0) < 0:
        return UNPREPARABLE
    margin = score(model, i, rows, 0)
    signed_margin = evidence(rule, y, margin)
    tau = 0.0
    if triggers_update(rule, signed_margin):
        if not allocate(model, i, rows, 0):
            undo_record(preparing, features, values.size)
            return UNPROVIDED
        tau = step(rule, model, i, rows, 0, signed_margin)
    if tau > 0.0:
        add(model, i, tau * direction(rule, y, signed_margin), rows, 0)
        adapt(model)
    on_step_end(model)
    return tau
