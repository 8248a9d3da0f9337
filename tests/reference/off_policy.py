"""The value of a policy by a log, straight from the definitions: one row, one action at a time."""

import math
from collections.abc import Sequence

from scipy import stats

Numbers = Sequence[float]
Rows = Sequence[Sequence[float]]


def mean(values: Numbers) -> float:
    return math.fsum(values) / len(values)


def variance(values: Numbers) -> float:
    """The sample variance, over n - 1."""
    return math.fsum((value - mean(values)) ** 2 for value in values) / (len(values) - 1)


def weights(shown: Sequence[int], mu: Rows, pi: Rows) -> list[float]:
    """How much more often the policy would have shown what was shown."""
    return [p[a] / m[a] for a, m, p in zip(shown, mu, pi, strict=True)]


def effective_n(w: Numbers) -> float:
    return sum(w) ** 2 / sum(weight_of_row**2 for weight_of_row in w)


def numbers(reward: Numbers, shown: Sequence[int], mu: Rows, pi: Rows, q: Rows) -> tuple[float, list[float]]:
    """The value, and the numbers whose variance over n is the value's."""
    n, w = len(reward), weights(shown, mu, pi)
    phi = []
    for t in range(n):
        direct = sum(pi[t][a] * q[t][a] for a in range(len(pi[t])))
        phi.append(direct + w[t] * (reward[t] - q[t][shown[t]]))
    return mean(phi), phi


def interval(phi: Numbers, value: float, level: float) -> tuple[float, float]:
    """Student's."""
    half = quantile(level, len(phi) - 1) * math.sqrt(variance(phi) / len(phi))
    return value - half, value + half


def quantile(level: float, degrees: float) -> float:
    return float(stats.t.ppf((1 + level) / 2, degrees))


class Log:
    """A log, and a policy or two, with all that intervals of DR* are made of, row by row and action by action."""

    def __init__(
        self, reward: Numbers, shown: Sequence[int], mu: Rows, pi: Rows, q: Rows, against: Rows | None = None
    ) -> None:
        n, K = len(reward), len(mu[0])
        self.n, self.reward, self.gain = n, reward, against is not None
        d = [[pi[t][a] - (against[t][a] if against else 0.0) for a in range(K)] for t in range(n)]
        e = [reward[t] - q[t][shown[t]] for t in range(n)]
        w = [d[t][shown[t]] / mu[t][shown[t]] for t in range(n)]
        direct = [sum(d[t][a] * q[t][a] for a in range(K)) for t in range(n)]
        self.phi = [direct[t] + w[t] * e[t] for t in range(n)]
        self.value, self.spread = mean(self.phi), variance(direct)
        if self.gain:
            d, w = [[abs(value) for value in row] for row in d], [abs(value) for value in w]
        self.mass, self.h, self.h3, self.h4 = (
            mean([sum(m * (x / m) ** k for m, x in zip(mu[t], d[t], strict=True) if m) for t in range(n)])
            for k in (1, 2, 3, 4)
        )
        self.rows = n * self.h**2 / self.h4 if self.h4 else math.inf
        self.v = mean([e[t] ** 2 for t in range(n)])
        self.third = 0.0
        if sum(w) > 0:
            self.v = max(self.v, sum(w[t] * e[t] ** 2 for t in range(n)) / sum(w))
            self.third = sum(w[t] * (abs(e[t]) if self.gain else e[t]) ** 3 for t in range(n)) / sum(w)
        large = [w[t] for t in range(n) if reward[t] != 0 and w[t]]
        self.nonzero = sum(large) ** 2 / sum(value**2 for value in large) if large else 0.0
        self.positive = mean([sum(d[t][a] * q[t][a] for a in range(K)) + w[t] * e[t] for t in range(n)])
        self.e, self.w, self.d, self.mu, self.q = e, w, d, mu, q

    def ends(self, degrees: float, level: float, known: float) -> tuple[float, float]:
        """Hall's, with the larger of both variances and the farthest row once more."""
        third = self.third * self.h3
        below = [self.value - p for p in self.phi]
        above = [p - self.value for p in self.phi]
        down = self.end(below, known, third if self.gain else -third, degrees, level)
        return self.value - down, self.value + self.end(above, known, third, degrees, level)

    def end(self, deviations: Numbers, known: float, third: float, degrees: float, level: float) -> float:
        """How far the upper end is from the value."""
        n, c, z = self.n, max(0.0, *deviations), float(stats.norm.ppf((1 + level) / 2))
        most = max(variance(deviations), known)
        if most == 0.0:
            return 0.0
        se = math.sqrt(most / n)
        D = math.sqrt(n) * (math.sqrt(n) * se) ** 3
        kappa = max((mean([value**3 for value in deviations]) + c**3 / n) / D, min(third / D, 1.0), 0.0)
        return quantile(level, degrees) * math.sqrt((most + c**2 / n) / n) + kappa * (2 * z**2 + 1) / 6 * se

    def variance_if(self, worth: float, least: float, most: float) -> float:
        """The variance of w e if d is worth so much, rewards are ``least`` or ``most``, and all q are off alike."""
        direct = mean([sum(x * f for x, f in zip(d, q, strict=True)) for d, q in zip(self.d, self.q, strict=True)])
        off = (worth - direct) / self.mass
        total = 0.0
        for d, mu, q in zip(self.d, self.mu, self.q, strict=True):
            for x, m, f in zip(d, mu, q, strict=True):
                if m > 0:  # of rewards least + (most - least) X with P(X = 1) = p
                    p = (f + off - least) / (most - least)
                    squared = p * (most - f) ** 2 + (1 - p) * (least - f) ** 2
                    total += x**2 / m * squared
        return total / self.n

    def score_ends(self, worth: float, level: float, least: float, most: float) -> tuple[float, float]:
        """Where (V - worth)² n = t² (variance_if(V) + s²), by the roots of a parabola through three points."""
        t2 = quantile(level, self.n - 1) ** 2

        def missing(V: float) -> float:
            return (V - worth) ** 2 * self.n - t2 * (self.variance_if(V, least, most) + self.spread)

        at = [missing(worth + k) for k in (-1.0, 0.0, 1.0)]
        two_a, b, c = at[0] + at[2] - 2 * at[1], (at[2] - at[0]) / 2, at[1]
        root = math.sqrt(max(b * b - 2 * two_a * c, 0.0))
        return worth + (-b - root) / two_a, worth + (-b + root) / two_a

    def interval(self, level: float, reward_range: tuple[float, float] | None = None) -> tuple[float, float]:
        """DR*'s interval of the value or the gain."""
        known, n = self.v * self.h + self.spread, self.n
        alike, zero_one = len(set(self.reward)) == 1, set(self.reward) <= {0.0, 1.0}
        if zero_one and (reward_range == (0, 1) or not (alike and (self.gain or reward_range is not None))):
            if not self.gain:
                low, high = self.ends(n - 1, level, known)
                score = self.score_ends(self.value, level, 0, 1)
                low, high = min(low, score[0]), max(high, score[1])
                return cut(low, high, *((-math.inf, math.inf) if alike and reward_range is None else (0, 1)))
            if self.mass:
                score = self.score_ends(self.positive, level, 0, 1)
                within = [min(max(value, 0.0), self.mass) for value in score]
                known = max(known, *(self.variance_if(value, 0, 1) + self.spread for value in within))
            return cut(*self.ends(n - 1, level, known), -1, 1)
        if reward_range is None:
            if self.mass and (self.rows < 5 or self.nonzero < 3):
                return -math.inf, math.inf
            return self.ends(min(self.rows + 1, n - 1), level, known)
        least, most = reward_range
        width, degrees = most - least, min(self.rows + 1, n - 1)
        if self.gain:
            if self.mass and (self.rows < 5 or alike):
                score = self.score_ends(self.positive, level, least, most)
                within = [min(max(value, least * self.mass), most * self.mass) for value in score]
                known = max(known, *(self.variance_if(value, least, most) + self.spread for value in within))
            return cut(*self.ends(degrees, level, known), -width, width)
        low, high = self.ends(degrees, level, known)
        if self.mass and (self.rows < 5 or alike):
            score = self.score_ends(self.value, level, least, most)
            low, high = min(low, score[0]), max(high, score[1])
        return cut(low, high, least, most)


def cut(low: float, high: float, least: float, most: float) -> tuple[float, float]:
    return min(max(low, least), most), max(min(high, most), least)


def for_new_tasks(phi: Numbers, tasks: Sequence[object], low: float, high: float, level: float) -> tuple[float, float]:
    """The interval if the rows of a task are alike."""
    names = list(dict.fromkeys(tasks))
    K, n, value = len(names), len(phi), mean(phi)
    if K < 10:
        return -math.inf, math.inf
    sums = [math.fsum(p - value for p, task in zip(phi, tasks, strict=True) if task == name) for name in names]
    half = quantile(level, K - 1) * math.sqrt(K / (K - 1) * math.fsum(total**2 for total in sums)) / n
    return min(low, value - half), max(high, value + half)
