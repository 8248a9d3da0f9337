"""Records of several views, and the round of their weights: row t·K + k of the rows is view k of record t.

An absent view is a row without entries, or of zeros: it adds nothing to a margin and learns nothing. The weights that a
round moves are in ``one_space`` and ``own_spaces``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .generic import compiled, generic, when
from .records import begin, end, feature, value
from .rules import HingeStep, MistakeStep, calls


class DenseViews(NamedTuple):
    """The blocks of K views side by side, (n, D): view k is columns ``edges[k]`` to ``edges[k + 1]``."""

    values: Any
    edges: Any


when(begin, DenseViews)(lambda rows, r: rows.edges[r % (rows.edges.size - 1)])
when(end, DenseViews)(lambda rows, r: rows.edges[r % (rows.edges.size - 1) + 1])
when(feature, DenseViews)(lambda rows, r, k: k - rows.edges[r % (rows.edges.size - 1)])
when(value, DenseViews)(lambda rows, r, k: rows.values[r // (rows.edges.size - 1), k])


class Latest(NamedTuple):
    """Margins are told by the current weights; ``means`` says that of none."""

    means: float


class Mean(NamedTuple):
    """Margins are told by the mean of the weights before each round."""

    means: float


class Primal(NamedTuple):
    """Weights, the norm that shapes them, and which of them predict."""

    store: Any
    potential: Any
    teller: Any


@generic
def current(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    """Margin of record t by the current weights."""


@generic
def averaged(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    """Margin of record t by the mean of the weights before each round so far, times the number of rounds."""


@generic
def length(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    """‖X‖² of record t as a step takes it."""


@generic
def move(store: Any, potential: Any, c: Any, rows: Any, t: Any) -> None:
    """Add c times record t."""


@generic
def tell(teller: Any, store: Any, potential: Any, rows: Any, t: Any, margin: Any) -> Any:
    """The margin that is told, where that by the current weights is given."""


@generic
def stride(rule: Any, store: Any, potential: Any, rows: Any, t: Any, agreement: Any) -> Any:
    """How far record t moves the weights, for which the rule calls."""


@generic
def reach(rule: Any, agreement: Any, squared: Any) -> Any:
    """How far a record of that squared length moves, for which the rule calls."""


when(reach, MistakeStep)(lambda rule, agreement, squared: 1.0)
when(reach, HingeStep)(
    lambda rule, agreement, squared: min(rule.C, (1.0 - agreement) / (squared + rule.ridge)) if squared > 0.0 else 0.0
)
when(stride, MistakeStep)(lambda rule, store, potential, rows, t, agreement: 1.0)
when(stride, HingeStep)(
    lambda rule, store, potential, rows, t, agreement: reach(rule, agreement, length(store, potential, rows, t))
)
when(tell, Latest)(lambda teller, store, potential, rows, t, margin: margin)


@when(tell, Mean)
def _tell_mean(teller: Any, store: Any, potential: Any, rows: Any, t: Any, margin: Any) -> Any:
    return averaged(store, potential, rows, t) / max(potential.clock[0], 1.0)


@compiled
def learn(model: Any, rule: Any, rows: Any, y: Any, last: int, moves: Any) -> None:
    """Learn the first ``last`` records, each after the record y.size - last rounds later was predicted."""
    store, potential, delay = model.store, model.potential, y.size - last
    for s in range(last):
        margin = current(store, potential, rows, s)
        if delay == 0:
            moves.margins[s] = tell(model.teller, store, potential, rows, s, margin)
        elif s + delay < y.size:
            other = current(store, potential, rows, s + delay)
            moves.margins[s + delay] = tell(model.teller, store, potential, rows, s + delay, other)
        moves.own[s] = margin
        potential.clock[0] += 1.0
        if calls(rule, y[s] * margin):
            tau = stride(rule, store, potential, rows, s, y[s] * margin)
            moves.taus[s] = tau
            if tau > 0.0:
                move(store, potential, y[s] * tau, rows, s)


@compiled
def predict(model: Any, rows: Any, margins: Any) -> None:
    """Margins of all records; nothing is learned."""
    for t in range(margins.size):
        margin = current(model.store, model.potential, rows, t)
        margins[t] = tell(model.teller, model.store, model.potential, rows, t, margin)
