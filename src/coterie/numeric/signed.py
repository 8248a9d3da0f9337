"""Tasks that may mirror the others: a sign for each of them, decided by a vote, in front of any model."""

from __future__ import annotations

from typing import Any, NamedTuple

from .generic import compiled, when
from .models import adapt, add, diagonal, foresee, ready, report, score, sight, skip, spread, tick


class Signed(NamedTuple):
    """A model that task i sees through sigma_i = sign(prior + votes[i]), a tie being +1."""

    model: Any
    votes: Any
    prior: float


@compiled
def sign(model: Any, i: Any) -> Any:
    """The sign through which task i sees the model."""
    return 1.0 if model.prior + model.votes[i] >= 0.0 else -1.0


@when(tick, Signed)
def _tick_signed(model: Any, i: Any, agreement: Any) -> Any:
    if agreement != 0.0:
        model.votes[i] += sign(model, i) if agreement > 0.0 else -sign(model, i)
    tick(model.model, i, agreement)


when(score, Signed)(lambda model, i, rows, t: sign(model, i) * score(model.model, i, rows, t))
when(report, Signed)(
    lambda model, i, rows, t, margin: sign(model, i) * report(model.model, i, rows, t, sign(model, i) * margin)
)
when(diagonal, Signed)(lambda model, i: diagonal(model.model, i))
when(spread, Signed)(lambda model, i, rows, t: spread(model.model, i, rows, t))
when(foresee, Signed)(lambda model, i, rows, t: foresee(model.model, i, rows, t))
when(sight, Signed)(lambda model, i: sight(model.model, i))
when(skip, Signed)(lambda model: skip(model.model))
when(adapt, Signed)(lambda model: adapt(model.model))
when(ready, Signed)(lambda model, i, rows, t: ready(model.model, i, rows, t))
when(add, Signed)(lambda model, i, c, rows, t: add(model.model, i, sign(model, i) * c, rows, t))
