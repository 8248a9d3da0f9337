"""The loop over records that every task learns at once: score all, and only then step and add for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from .core.generic import compiled
from .core.records import weight
from .primal.round import add, ready, score, tick
from .primal.rules import calls, direction, evidence, step_at_once


@compiled
def learn_at_once(
    model: Any, rule: Any, rows: Any, tasks: Any, y: Any, first: int, last: int, margins: Any, taus: Any
) -> int:
    """Let all tasks predict each record, and then move one after the other by the margins they had told.

    ``y`` holds a label for each record and task, shape (n, K), NaN where there is none; ``margins`` and ``taus`` are
    written, in the same shape. Record s and its k-th task make the turn s K + k. Turns go from ``first`` to ``last``
    (not included); the one before whose move the model needs room, or a column of M, is returned, ``last`` in the end.
    The caller provides and calls again: what was told of the record before its first move is kept.
    """
    K = tasks.size
    moving = np.zeros(tasks.max() + 1, np.bool_)
    for turn in range(first, last):
        s, k = turn // K, turn % K
        i = tasks[k]
        if k == 0:
            for j in range(K):
                margins[s, j] = score(model, tasks[j], rows, s)
        if k == 0 or turn == first:
            for j in range(K):
                labelled = not np.isnan(y[s, j])
                moving[tasks[j]] = labelled and calls(rule, evidence(rule, y[s, j], margins[s, j]))
        if np.isnan(y[s, k]) or weight(rows, s) <= 0.0:
            continue
        agreement = evidence(rule, y[s, k], margins[s, k])
        if calls(rule, agreement):
            if not ready(model, i, rows, s):
                return turn
            taus[s, k] = step_at_once(rule, model, i, rows, s, agreement, moving)
        if taus[s, k] > 0.0:
            add(model, i, taus[s, k] * direction(rule, y[s, k], agreement), rows, s)
        tick(model, i, y[s, k] * margins[s, k])
    return last
