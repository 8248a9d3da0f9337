"""Second-order models, and the walk through a block of records whose covariances are at hand.

With f_t the margin of record t by the mean of the weights, and Q_tu the covariance of the margins of two records, a
move at t changes the later records of its block by

    f_u += Q_ut (y_t - f_t) / (r_t + Q_tt),        Q_uv -= Q_ut Q_tv / (r_t + Q_tt),

r_t being the noise of its label. Records, weights and support vectors are not needed on the way: what was moved on is
taken up by the model at the end of the block, by matrix products.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .generic import compiled


class FullPrimal(NamedTuple):
    """Weights with their covariance: W (K, d) = P b, P (K d, K d) = (A ⊗ I + S)⁻¹, task-major.

    ``moments`` (K, d, d) has the blocks of S = Σ φφ'/r and ``sums`` (K, d) is b = Σ yφ/r over the records moved on:
    what P and W are made of where M or the number of features changes. ``count`` holds how many there were.
    """

    W: Any
    P: Any
    moments: Any
    sums: Any
    count: Any
    sharing: Any


class Bordered(NamedTuple):
    """Support vectors with the factor of their Gram matrix, L L' = R + G, beta = L⁻¹y and alpha = (R + G)⁻¹y.

    ``noise`` is the diagonal of R; ``tasks`` and ``births`` say which task and round each is of; ``count`` how many
    there are; the arrays have room for more.
    """

    factor: Any
    alpha: Any
    beta: Any
    labels: Any
    noise: Any
    tasks: Any
    births: Any
    count: Any
    sharing: Any
    store: Any


class Course(NamedTuple):
    """A block to walk through: the records to learn first, then those to tell where labels come late.

    ``f`` and ``Q`` are changed on the way. ``threshold`` is what y·f must not exceed for a move (or must not reach, if
    ``strict`` is 0); with ``shrunk`` 1 the margin told is r f / (r + Q_tt), else f.
    """

    f: Any
    Q: Any
    y: Any
    noise: Any
    threshold: float
    strict: int
    shrunk: int


@compiled
def told(course: Any, t: int) -> Any:
    """The margin of record t as it is told."""
    f, r = course.f[t], course.noise[t]
    total = r + course.Q[t, t]
    return f * r / total if course.shrunk == 1 and total > 0.0 else f


@compiled
def _called(course: Any, t: int) -> Any:
    agreement = course.y[t] * course.f[t]
    return agreement < course.threshold or (course.strict == 0 and agreement == course.threshold)


@compiled
def course_through(course: Any, n: int, late: int, margins: Any, own: Any, taus: Any) -> None:
    """Learn the first n records of a course; margins are those of the records behind them, if labels come ``late``."""
    f, Q = course.f, course.Q
    for t in range(n):
        if late == 0:
            margins[t] = told(course, t)
        elif n + t < f.size:
            margins[t] = told(course, n + t)
        own[t] = told(course, t)
        total = course.noise[t] + Q[t, t]
        if total > 0.0 and _called(course, t):
            step = (course.y[t] - f[t]) / total
            taus[t] = abs(step)
            for u in range(t + 1, f.size):
                along = Q[t, u]
                f[u] += along * step
                for v in range(t + 1, f.size):
                    Q[u, v] -= along * Q[t, v] / total
