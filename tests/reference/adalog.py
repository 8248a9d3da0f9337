"""Adaptive-gradient logistic regression and diagonal AROW over nested groups, in dictionaries and scalar loops.

A record is a dictionary of feature to value. ``rows(task, t)`` gives the rows that a task adds up in round t, its own
and those of its groups, as pairs of any hashable key and the row's weight in M.
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence

Record = Mapping[Hashable, float]
Rows = Callable[[Hashable, int], Sequence[tuple[Hashable, float]]]


def margin_of(w: Mapping[Hashable, float], x: Record, rows: Sequence[tuple[Hashable, float]]) -> float:
    """Sum over the rows of their inner products with x."""
    return sum(w.get((row, j), 0.0) * value for row, _ in rows for j, value in x.items())


class Perceptron:
    """f = Σ_rows weight · w_row · x; where y f <= 0, w_row += y x."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.w: dict[Hashable, float] = {}

    def margin(self, x: Record, task: Hashable, t: int) -> float:
        """The margin in round t."""
        return sum(weight * margin_of(self.w, x, [(row, weight)]) for row, weight in self.rows(task, t))

    def learn(self, x: Record, task: Hashable, y: float, t: int) -> None:
        """Add the record to all rows if its margin is wrong."""
        if y * self.margin(x, task, t) <= 0:
            for row, _ in self.rows(task, t):
                for j, value in x.items():
                    self.w[row, j] = self.w.get((row, j), 0.0) + y * value


class AdaLog:
    """f = Σ_rows w_row · x; g = -y / (1 + e^{y f}); Q += (g x_j)²; w -= step · weight · g x_j / sqrt(Q)."""

    def __init__(self, rows: Rows, step: float = 0.7, start: float = 1e-6) -> None:
        self.rows, self.step, self.start = rows, step, start
        self.w: dict[Hashable, float] = {}
        self.Q: dict[Hashable, float] = {}

    def margin(self, x: Record, task: Hashable, t: int) -> float:
        """The margin in round t."""
        return margin_of(self.w, x, self.rows(task, t))

    def learn(self, x: Record, task: Hashable, y: float, t: int, weight: float = 1.0) -> None:
        """One step of gradient descent on the weight times ln(1 + e^{-y f})."""
        f = self.margin(x, task, t)
        g = -weight * y / (1.0 + math.exp(min(y * f, 700.0)))
        for row, share in self.rows(task, t):
            for j, value in x.items():
                if share == 0.0 or g == 0.0:
                    continue
                self.Q[row, j] = self.Q.get((row, j), self.start) + (g * value) ** 2
                self.w[row, j] = self.w.get((row, j), 0.0) - self.step * share * g * value / math.sqrt(self.Q[row, j])


class Coin:
    """Coin betting: w = θ (ε L + R) / (L max(G + L, alpha L)), with L the largest gradient of a feature in any row."""

    def __init__(self, rows: Rows, alpha: float = 3.0, wealth: float = 1.0) -> None:
        self.rows, self.alpha, self.wealth = rows, alpha, wealth
        self.w: dict[Hashable, float] = {}
        self.theta: dict[Hashable, float] = {}
        self.G: dict[Hashable, float] = {}
        self.R: dict[Hashable, float] = {}
        self.L: dict[Hashable, float] = {}

    def margin(self, x: Record, task: Hashable, t: int) -> float:
        """The margin in round t."""
        return margin_of(self.w, x, self.rows(task, t))

    def learn(self, x: Record, task: Hashable, y: float, t: int, weight: float = 1.0) -> None:
        """One round of bets on the gradients of the weight times -ln(1 + e^{-y f})."""
        f = self.margin(x, task, t)
        c = weight * y / (1.0 + math.exp(min(y * f, 700.0)))
        moves = [
            ((row, j), c * value, self.wealth * prior)
            for row, prior in self.rows(task, t)
            for j, value in x.items()
            if prior != 0.0 and c * value != 0.0
        ]
        for at, g, _ in moves:
            self.L[at[1]] = max(self.L.get(at[1], 0.0), abs(g), 1e-8)
        for at, g, epsilon in moves:
            self._bet(at, g, epsilon)

    def _bet(self, at: tuple[Hashable, Hashable], g: float, epsilon: float) -> None:
        L = self.L[at[1]]
        self.R[at] = max(self.R.get(at, 0.0) + g * self.w.get(at, 0.0), 0.0)
        self.theta[at] = self.theta.get(at, 0.0) + g
        self.G[at] = self.G.get(at, 1e-6) + abs(g)
        self.w[at] = self.theta[at] * (epsilon * L + self.R[at]) / (L * max(self.G[at] + L, self.alpha * L))


class AROW:
    """v = Σ_rows Σ_j S x_j²; r = rho ‖x‖² / nnz; where y f < 1, w += y (1 - y f) / (v + r) S x and S /= 1 + S x²/r."""

    def __init__(self, rows: Rows, rho: float = 10.0) -> None:
        self.rows, self.rho = rows, rho
        self.w: dict[Hashable, float] = {}
        self.S: dict[Hashable, float] = {}

    def margin(self, x: Record, task: Hashable, t: int) -> float:
        """The margin in round t."""
        return margin_of(self.w, x, self.rows(task, t))

    def learn(self, x: Record, task: Hashable, y: float, t: int, weight: float = 1.0) -> None:
        """One step, with r / weight for r; rows without a prior variance stay as they are."""
        f = self.margin(x, task, t)
        entries = {j: value for j, value in x.items() if value != 0.0}
        if y * f >= 1.0 or not entries or weight == 0.0:
            return
        rows = [(row, prior) for row, prior in self.rows(task, t) if prior != 0.0]
        r = self.rho * sum(value**2 for value in entries.values()) / len(entries) / weight
        S = {(row, j): self.S.get((row, j), prior) for row, prior in rows for j in entries}
        v = sum(S[row, j] * entries[j] ** 2 for row, j in S)
        alpha = (1.0 - y * f) / (v + r)
        for row, j in S:
            self.w[row, j] = self.w.get((row, j), 0.0) + alpha * y * S[row, j] * entries[j]
            self.S[row, j] = S[row, j] / (1.0 + S[row, j] * entries[j] ** 2 / r)


def share(s: float) -> Rows:
    """The rows of M = (1 - s) I + s 11'."""
    return lambda task, t: [(("own", task), 1.0 - s), ("all", s)]
