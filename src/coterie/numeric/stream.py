"""The round, compiled: score, step, add, for a block of records."""

from __future__ import annotations

from typing import Any

from .generic import compiled
from .models import add, ready, report, score, tick
from .rules import step


@compiled
def predict(model: Any, rows: Any, tasks: Any, first: int, last: int, margins: Any) -> None:
    """Margins of the records ``first`` to ``last`` (not included), nothing learned."""
    for t in range(first, last):
        margins[t] = report(model, tasks[t], rows, t, score(model, tasks[t], rows, t))


@compiled
def learn(
    model: Any, rule: Any, rows: Any, tasks: Any, y: Any, first: int, last: int, delay: int, margins: Any, taus: Any
) -> int:
    """Learn the records ``first`` to ``last``, each after the record ``delay`` rounds later was predicted.

    Returns the record at which it stopped: ``last``, or an earlier one before whose move the model needs room or a
    column of M. Nothing of that record has been learned; the caller provides and calls again.
    """
    for s in range(first, last):
        i = tasks[s]
        margin = score(model, i, rows, s)
        if delay == 0:
            margins[s] = report(model, i, rows, s, margin)
        elif s + delay < tasks.size:
            predict(model, rows, tasks, s + delay, s + delay + 1, margins)
        taus[s] = step(rule, model, i, rows, s, y[s] * margin)
        if taus[s] > 0.0:
            if not ready(model, i, rows, s):
                return s
            add(model, i, taus[s] * y[s], rows, s)
        tick(model)
    return last
