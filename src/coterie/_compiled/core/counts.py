"""Cumulative counts and sums per task along a stream."""

from __future__ import annotations

import numpy as np

from .generic import compiled


@compiled
def count_before(task, values, learned, ends, first, counts, sums):
    """Return, for each round, the number and the sum of the labels of its task that arrived before it.

    Round t has the task ``task[first + t]``, and ``values[: ends[t]]`` arrived before it. The values up to the last
    entry of ``ends``, which has one more entry than there are rounds, are added to ``counts`` and ``sums`` of their
    tasks, unless they are not ``learned``.
    """
    counts_before, sums_before, come = np.zeros(len(ends) - 1), np.zeros(len(ends) - 1), 0
    for t, end in enumerate(ends):
        for j in range(come, end):
            counts[task[j]] += learned[j]
            sums[task[j]] += values[j] * learned[j]
        come = max(come, end)
        if t < len(counts_before):
            counts_before[t], sums_before[t] = counts[task[first + t]], sums[task[first + t]]
    return counts_before, sums_before
