"""Support vectors of steps by a ball around the record: v = Σ c z in the space of the kernel, and its length."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from .core.arrays import Dropped
from .core.checks import Bounds, require, require_finite, require_shape
from .core.generic import when
from .dual.expansion import SIZE, absorb, own_share, place, scale, wanted

#: Places in ``sums``: ‖v‖², and the factor that all coefficients share.
SQUARES, FACTOR = range(2)
#: Factor from which on coefficients are multiplied out.
LEAST = 1e-15


class Ball(NamedTuple):
    """All records that moved v are kept; see :class:`coterie.rules.Ballseptron`."""

    radius: float
    sums: Any

    @classmethod
    def empty(cls, radius: float) -> Self:
        """Before the first mistake."""
        return cls(radius, np.array([0.0, 1.0]))

    def drop_tasks(self, dropped: Dropped, slots: Any, groups: Any, sharing: Any) -> Self:
        """Refuse: ValueError; the moves of a task have shrunk those of others."""
        raise ValueError("a kernel model that learns by a ball cannot forget a task: its moves shrank those of others")

    def check(self, support: Any, bounds: Bounds) -> None:
        """Refuse a length below 0, a factor of 0, and what is not finite: ValueError."""
        require_shape("sums", self.sums, 2)
        require_finite("sums", self.sums)
        require(self.sums[SQUARES] >= 0.0, f"the squared length is {self.sums[SQUARES]!r}")
        require(self.sums[FACTOR] != 0.0, "the factor of all coefficients is 0")
        require(np.isfinite(self.radius), f"the radius is {self.radius!r}")


when(scale, Ball)(lambda memory: memory.sums[FACTOR])
when(wanted, Ball)(
    lambda memory, agreement: agreement <= 0.0 or agreement < memory.radius * math.sqrt(memory.sums[SQUARES])
)


@when(absorb, Ball)
def _absorb(m: Any, model: Any, work: Any, t: Any, i: Any, y: Any, agreement: Any, turns: Any, s: Any) -> Any:
    support, tau, kept = model.support, abs(y), 1.0
    if agreement > 0.0:
        kept = 1.0 - tau * m.radius / math.sqrt(m.sums[SQUARES])
    before, own = kept * agreement, own_share(model.sharing, i) * work.among[t, t]
    m.sums[SQUARES] = max(kept * kept * m.sums[SQUARES] + 2.0 * tau * before + tau * tau * own, 0.0)
    m.sums[FACTOR] *= kept
    if abs(m.sums[FACTOR]) < LEAST:
        for j in range(support.counts[SIZE]):
            support.coefficients[j] *= m.sums[FACTOR]
        m.sums[FACTOR] = 1.0
    place(model, work, support.counts[SIZE], t, i, y / m.sums[FACTOR])
    support.counts[SIZE] += 1
    turns.stored[s], turns.taus[s] = True, tau
    return 0
