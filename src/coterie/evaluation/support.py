"""Numbers of support vectors by task along a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .metrics import places

if TYPE_CHECKING:
    from coterie.types import Ints

    from .trace import Trace


class SupportCurve(NamedTuple):
    """The support vectors of the tasks that have most of them in the end, at p points of the stream.

    Attributes
    ----------
    rounds : ndarray of int64, shape (p,)
        The numbers of rounds that had passed, increasing.
    tasks : ndarray of int64, shape (m,)
        The places of these tasks in the trace's ``tasks``, those with most first.
    held : ndarray of int64, shape (p, m + 1)
        The increase of each since the start of the stream, all other tasks in the last column.
    evicted : ndarray of int64, shape (p,)
        The number of support vectors that had been evicted.
    """

    rounds: Ints
    tasks: Ints
    held: Ints
    evicted: Ints


def support_curve(trace: Trace, most: int = 5, points: int = 200) -> SupportCurve:
    """Count the support vectors of tasks along a stream.

    Parameters
    ----------
    trace : Trace
        The trace of a learner with support vectors.
    most : int
        The number of tasks with a column of their own.
    points : int
        The most points, at equal steps.

    Returns
    -------
    SupportCurve
        In O(n + K log K + points · most) time.

    Raises
    ------
    ValueError
        The learner has no support vectors.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> trace = SimpleNamespace(task=np.array([0, 1, 1, 0]), tasks=("ann", "bob"),
    ...     stored=np.array([True, True, True, False]), evicted=np.array([-1, -1, 0, -1]))
    >>> curve = support_curve(trace, most=1, points=2)
    >>> curve.rounds, curve.tasks, curve.held.tolist(), curve.evicted
    (array([2, 4]), array([1]), [[1, 1], [2, 0]], array([0, 1]))
    """
    if trace.stored is None or trace.evicted is None:
        raise ValueError("trace: its learner has no support vectors")
    left = trace.evicted != -1
    came = np.bincount(trace.task[trace.stored], minlength=len(trace.tasks))
    went = np.bincount(trace.evicted[trace.evicted >= 0], minlength=len(trace.tasks))
    chosen = np.argsort(went - came, kind="stable")[:most]
    column = np.full(len(trace.tasks) + 1, len(chosen))  # the last for tasks of earlier streams
    column[chosen] = np.arange(len(chosen))
    rounds = places(len(trace.task), points, "even")
    at = np.searchsorted(rounds, np.arange(1, len(trace.task) + 1))
    change = np.zeros((len(rounds), len(chosen) + 1), np.int64)
    np.add.at(change, (at[trace.stored], column[trace.task[trace.stored]]), 1)
    np.add.at(change, (at[left], column[trace.evicted[left].clip(-1)]), -1)
    gone = np.cumsum(np.bincount(at[left], minlength=len(rounds)))
    return SupportCurve(rounds, chosen, np.cumsum(change, axis=0), gone)
