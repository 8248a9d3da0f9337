"""The round of weights of several views: score, step and move.

The weights that a round moves are in ``one_space`` and ``own_spaces``, the norms that shape them in ``potentials``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from coterie.numeric.core.generic import compiled, generic, when
from coterie.numeric.primal.rules import HingeStep, MistakeStep, triggers_update

from .forms import Widths


class Latest(NamedTuple):
    """Margins are reported by the current weights; ``means`` is 0, that of no rounds."""

    means: float


class Mean(NamedTuple):
    """Margins are reported by the mean of the weights before each round."""

    means: float


class Primal(NamedTuple):
    """Weights, the norm that shapes them, and which of them margins are reported by."""

    store: Any
    potential: Any
    teller: Any

    def to_saved(self, widths: Widths) -> Primal:
        """Leave out room for more features than there are."""
        return self._replace(store=self.store.to_saved(widths))

    def check(self, widths: Any) -> None:
        """Refuse weights of other views, or of such as are wider: ValueError."""
        self.store.check(widths)
        self.potential.check(self.store.order)


@generic
def current(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    """Margin of record t by the current weights."""


@generic
def averaged(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    """Margin of record t by the mean of the weights before each round so far, times the number of rounds."""


@generic
def length(store: Any, potential: Any, rows: Any, t: Any) -> Any:
    """‖X‖² of record t as a step needs it, times the smoothness of half the squared norm."""


@generic
def move(store: Any, potential: Any, c: Any, rows: Any, t: Any) -> None:
    """Add c times record t."""


@generic
def report(teller: Any, store: Any, potential: Any, rows: Any, t: Any, margin: Any) -> Any:
    """The margin to report of record t, that by the current weights being ``margin``."""


@generic
def stride(rule: Any, store: Any, potential: Any, rows: Any, t: Any, signed_margin: Any) -> Any:
    """The step of record t, at which the rule calls for a move."""


@compiled
def reach(rule: Any, signed_margin: Any, squared: Any) -> Any:
    """The step of a hinge for a record of this squared length."""
    return min(rule.C, (1.0 - signed_margin) / (squared + rule.ridge)) if squared > 0.0 else 0.0


when(stride, MistakeStep)(lambda rule, store, potential, rows, t, signed_margin: 1.0)
when(stride, HingeStep)(
    lambda rule, store, potential, rows, t, signed_margin: reach(rule, signed_margin, length(store, potential, rows, t))
)
when(report, Latest)(lambda teller, store, potential, rows, t, margin: margin)


@when(report, Mean)
def _report_mean(teller: Any, store: Any, potential: Any, rows: Any, t: Any, margin: Any) -> Any:
    return averaged(store, potential, rows, t) / max(potential.clock[0], 1.0)


@compiled
def learn(model: Any, rule: Any, rows: Any, y: Any, last: int, moves: Any) -> None:
    """Learn the first ``last`` records, record s after record s + y.size - last was predicted."""
    store, potential, delay = model.store, model.potential, y.size - last
    for s in range(last):
        margin = current(store, potential, rows, s)
        if delay == 0:
            moves.margins[s] = report(model.teller, store, potential, rows, s, margin)
        elif s + delay < y.size:
            other = current(store, potential, rows, s + delay)
            moves.margins[s + delay] = report(model.teller, store, potential, rows, s + delay, other)
        moves.own[s] = margin
        potential.clock[0] += 1.0
        if triggers_update(rule, y[s] * margin):
            tau = stride(rule, store, potential, rows, s, y[s] * margin)
            moves.step_sizes[s] = tau
            if tau > 0.0:
                move(store, potential, y[s] * tau, rows, s)


@compiled
def predict(model: Any, rows: Any, margins: Any) -> None:
    """Margins of all records; nothing is learned."""
    for t in range(margins.size):
        margin = current(model.store, model.potential, rows, t)
        margins[t] = report(model.teller, model.store, model.potential, rows, t, margin)
