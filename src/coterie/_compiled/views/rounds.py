"""The compiled loop over multi-view records with primal weights: score, step size and update.

The weights are in ``one_space`` and ``own_spaces``, the norms in ``norm_potentials``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from coterie._compiled.core.generic import compiled, generic, when
from coterie._compiled.primal.step_rules import MistakeStep, ShortestStep, triggers_update

from .forms import Widths


class Primal(NamedTuple):
    """Primal multi-view model: weights and the state of the norm; ``mean`` is 1 for averaged weights."""

    store: Any
    potential: Any
    mean: int

    def to_saved(self, widths: Widths) -> Primal:
        """Return the model without unused capacity."""
        return self._replace(store=self.store.to_saved(widths))

    def check(self, widths: Any) -> None:
        """Raise ValueError for weights with wrong views, or too many features."""
        self.store.check(widths)
        self.potential.check(self.store.order)


@generic
def current(store, potential, rows, t):
    """Return the margin of record t under the current weights."""


@generic
def averaged(store, potential, rows, t):
    """Return the sum of record t's margins under the weights before each round so far."""


@generic
def length(store, potential, rows, t):
    """Return ‖X‖² of record t times the smoothness constant of the norm, by which step sizes are divided."""


@generic
def move(store, potential, c, rows, t):
    """Add c times record t to the sums of updates, and recompute the weights."""


@generic
def stride(rule, store, potential, rows, t, signed_margin):
    """Return the step size of record t, which triggers an update, by the rule."""


@compiled
def reach(rule, signed_margin, squared):
    """Return the step size that reaches a margin of 1, for a record with this squared norm."""
    # no step for a record of length zero: it could not change its own margin
    return min(rule.C, (1.0 - signed_margin) / (squared + rule.ridge)) if squared > 0.0 else 0.0


when(stride, MistakeStep)(lambda rule, store, potential, rows, t, signed_margin: 1.0)
when(stride, ShortestStep)(
    lambda rule, store, potential, rows, t, signed_margin: reach(rule, signed_margin, length(store, potential, rows, t))
)


@compiled
def _report(model, rows, t, margin):
    """Return the margin of record t that users see; ``margin`` is that of the current weights."""
    if model.mean == 0:
        return margin
    return averaged(model.store, model.potential, rows, t) / max(model.potential.clock[0], 1.0)


@compiled
def learn(model, rule, rows, y, last, moves):
    """Predict and learn the first ``last`` records.

    Record s is learned after record s + y.size - last was predicted.
    """
    store, potential, delay = model.store, model.potential, y.size - last
    for s in range(last):
        # the current weights decide on updates; the mean is only reported
        margin = current(store, potential, rows, s)
        if delay == 0:
            moves.margins[s] = _report(model, rows, s, margin)
        elif s + delay < y.size:
            other = current(store, potential, rows, s + delay)
            moves.margins[s + delay] = _report(model, rows, s + delay, other)
        moves.own[s] = margin
        # the round counts before its move: the mean is that of the weights before each round
        potential.clock[0] += 1.0
        if triggers_update(rule, y[s] * margin):
            tau = stride(rule, store, potential, rows, s, y[s] * margin)
            moves.step_sizes[s] = tau
            if tau > 0.0:
                move(store, potential, y[s] * tau, rows, s)


@compiled
def predict(model, rows, margins):
    """Write the margins of all records, without learning."""
    for t in range(margins.size):
        margin = current(model.store, model.potential, rows, t)
        margins[t] = _report(model, rows, t, margin)
