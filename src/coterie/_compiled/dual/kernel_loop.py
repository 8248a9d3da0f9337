"""The compiled loop over a block of records with known kernel values: margin, decision, update."""

from __future__ import annotations

from typing import Any, NamedTuple

from coterie._compiled.core.generic import no_refcount, when

from . import eviction
from .expansion import (
    AT,
    COLUMN,
    DONE,
    LACKED,
    SIZE,
    Expansion,
    absorb,
    apply_pending,
    has_column,
    margin,
    patch,
    scale,
    shares,
    wanted,
    weigh,
)
from .projections import SharedByGroups, SharedByTasks


class Turns(NamedTuple):
    """The result of a loop: margins and step sizes (see `Moves`), and the changes of support vectors.

    ``stored`` is True for records that became support vectors, ``evicted`` is the task of the removed one, or -1.
    """

    margins: Any
    own: Any
    step_sizes: Any
    stored: Any
    evicted: Any


@when(weigh, object)
def _weigh_each(memory, model, i, work):
    support = model.support
    n, factor = support.counts[SIZE], scale(memory)
    shares(model.sharing, support, n, i, work.shares)
    for j in range(n):
        # M_(i_j i) beta_j times the factor that a Forgetron shares between all coefficients
        work.weights[j] = support.coefficients[j] * work.shares[j] * factor


@no_refcount
def walk(model, work, tasks, y, weights, first, n, delay, turns):
    """Learn n records of a block from ``first`` on; return the reason for stopping.

    The loop stops if a column of M or memory is missing, and is then called again.

    ``weights`` multiply the coefficients of records; a record of weight 0 is only predicted.
    """
    memory, support, cursor = model.memory, model.support, work.cursor
    lacking = DONE
    for t in range(cursor[AT], n):
        s, i = first + t, tasks[first + t]
        cursor[AT] = t
        if not has_column(model.sharing, i):
            # the caller computes the column and calls again: the cursor points to this record
            lacking, cursor[LACKED] = COLUMN, i
            break
        # kernel values are those of the slots before the block; slots that changed hands are filled in
        patch(work.values[t], work.among[t], work)
        if delay > 0 and s + delay < tasks.size:
            other = tasks[s + delay]
            if not has_column(model.sharing, other):
                lacking, cursor[LACKED] = COLUMN, other
                break
            patch(work.pending[t], work.pending_among[t], work)
            weigh(memory, model, other, work)
            turns.margins[s + delay] = margin(work.weights, work.pending[t], support.counts[SIZE])
        # after the delayed prediction: absorb reads the shares of the record's own task
        weigh(memory, model, i, work)
        turns.own[s] = margin(work.weights, work.values[t], support.counts[SIZE])
        if delay == 0:
            turns.margins[s] = turns.own[s]
        if weights[s] > 0.0 and wanted(memory, y[s] * turns.own[s]):
            # a weighted record is a step of that length; the decision depends on the label alone
            lacking = absorb(memory, model, work, t, i, weights[s] * y[s], y[s] * turns.own[s], turns, s)
            if lacking != DONE:
                # the model has not changed: the same record is repeated after a refresh, or with larger arrays
                break
            # a margin error of Projectron++ has written its own tau
            if y[s] * turns.own[s] <= 0.0:
                turns.step_sizes[s] = weights[s]
    if lacking == DONE:
        cursor[AT] = n
    # predictions read the inverse's memory from outside: no change may stay pending between calls
    apply_pending(memory)
    return lacking


def readable(model: Expansion) -> Expansion:
    """Return the model in a form for predictions that has the same type for most budgets."""
    # predictions by one coefficient per vector need its common factor alone
    shared = isinstance(model.memory, (SharedByGroups, SharedByTasks))
    memory = model.memory if shared else eviction.read_factor(model.memory)
    return model.without_records()._replace(memory=memory)


@no_refcount
def predict(model, work, values, tasks, margins):
    """Predict records from their kernel values; return the reason for stopping, as :func:`walk` does."""
    for t in range(work.cursor[AT], tasks.size):
        work.cursor[AT] = t
        if not has_column(model.sharing, tasks[t]):
            work.cursor[LACKED] = tasks[t]
            return COLUMN
        weigh(model.memory, model, tasks[t], work)
        margins[t] = margin(work.weights, values[t], model.support.counts[SIZE])
    return DONE
