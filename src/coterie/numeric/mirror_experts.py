r"""Mirror descent under several shares at once, mixed by AdaHedge: all experts have the gradients of the mixture.

So they share the sums G of the moves, one row a task, and expert k has, for N tasks and T_k = a_k I + (1 - a_k) 11'/N,

$$W_k = T_k\,\nabla\Phi^*(\eta_k T_k G),\qquad \eta_k = \sqrt{S_k/\mu}\,\big/\,(L \sqrt{(T_k^2)_{ii}\,(m + N)})$$

at task i, after m moves by records no longer than L. With Φ* = ½‖·‖², W_k is η_k (a_k² G + (1 - a_k²) 11'G/N), so
that a record needs two products, however many experts there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .core.checks import Bounds, require, require_finite, require_shape

Floats = NDArray[np.float64]


class Shares(NamedTuple):
    """The experts for N tasks: a_k and the root of S_k / μ, and ∇Φ* of a task's row, None where it is the identity."""

    own: Floats
    scales: Floats
    gradient: Callable[[Floats], Floats] | None


class MirrorExperts(NamedTuple):
    """Sums G (K, d) and over all tasks (d,), losses of the experts (S,); scalars: AdaHedge's gap Δ, m and L."""

    raw: Any
    total: Any
    losses: Any
    scalars: Any
    sharing: Any

    @classmethod
    def empty(cls, sharing: Any, features: int, experts: int) -> Self:
        """Make a model of no task."""
        return cls(np.zeros((0, features)), np.zeros(features), np.zeros(experts), np.zeros(3), sharing)

    def to_saved(self, tasks: int) -> Self:
        """Return the model: it has room for nothing more."""
        return self

    def check(self, bounds: Bounds) -> None:
        """Refuse arrays of other tasks or features, and numbers that are none: ValueError."""
        require_shape("raw", self.raw, bounds.tasks, bounds.features)
        require_shape("total", self.total, bounds.features)
        require_shape("losses", self.losses, None)
        require_shape("scalars", self.scalars, 3)
        for name in ("raw", "total", "losses", "scalars"):
            require_finite(name, getattr(self, name))
        require((self.scalars >= 0.0).all(), "the gap, the moves or the length are negative")

    def grown(self, tasks: int, features: int) -> Self:
        """Make room for so many tasks and features."""
        K, d = self.raw.shape
        raw, total = np.pad(self.raw, ((0, tasks - K), (0, features - d))), np.pad(self.total, (0, features - d))
        return self._replace(raw=raw, total=total)

    def chances(self) -> Floats:
        """Return AdaHedge's weights: exp(-η losses) for η = ln S / Δ; alike among the best while Δ = 0."""
        behind, gap = self.losses - self.losses.min(), float(self.scalars[0])
        found = np.exp(-math.log(len(behind)) / gap * behind) if gap > 0.0 else (behind == 0.0).astype(np.float64)
        return np.asarray(found / found.sum())

    def rates(self, shares: Shares) -> Floats:
        """Return η_k."""
        N, (_, moves, longest) = len(self.raw), self.scalars.tolist()
        if longest == 0.0:
            return np.zeros(len(shares.own))
        diagonal = shares.own**2 + (1.0 - shares.own**2) / N
        return np.asarray(shares.scales / (longest * np.sqrt(diagonal * (moves + N))))

    def margins(self, shares: Shares, i: int, x: Floats, features: Any) -> Floats:
        """Return the margins of all experts for entries x of these features: O(nnz), or O(S K) gradients."""
        rates, own, N = self.rates(shares), shares.own, len(self.raw)
        if shares.gradient is None:
            mine, shared = float(x @ self.raw[i, features]), float(x @ self.total[features]) / N
            return np.asarray(rates * (own**2 * mine + (1.0 - own**2) * shared))
        found = np.zeros(len(own))
        mean = self.total / N
        for k, (a, rate) in enumerate(zip(own.tolist(), rates.tolist(), strict=True)):
            P = np.array([shares.gradient(rate * (a * row + (1.0 - a) * mean)) for row in self.raw])
            found[k] = a * float(x @ P[i, features]) + (1.0 - a) * float(x @ P[:, features].mean(axis=0))
        return found

    def mixed(self, margins: Floats) -> float:
        """Return the margin of the mixture."""
        return float(self.chances() @ margins)

    def learn(self, margins: Floats, length: float, i: int, y: float, x: Floats, features: Any, weight: float) -> bool:
        """Learn a record by the hinge loss of the mixture, which counts so much; return whether it moved anything.

        Margins and x, which are ``length`` long, come multiplied with the weight.
        """
        chances = self.chances()
        moved = y * float(chances @ margins) < weight
        if moved:
            told = -y * margins
            before, gap = float(self.losses.min()), float(self.scalars[0])
            if gap > 0.0:
                rate, low = math.log(len(told)) / gap, float(told.min())
                mix = low - math.log(float(chances @ np.exp(-rate * (told - low)))) / rate
            else:
                mix = float((self.losses + told).min()) - before
            self.losses[:] += told
            if len(told) > 1:
                self.scalars[0] += max(0.0, float(chances @ told) - mix)
            self.scalars[1] += 1.0
            np.add.at(self.raw[i], features, y * x)
            np.add.at(self.total, features, y * x)
        self.scalars[2] = max(self.scalars[2], length)
        return moved
