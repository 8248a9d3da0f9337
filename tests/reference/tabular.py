"""Members for tables straight from their definitions: task means, crossed columns, and trees beside a learner.

A record is a dictionary of feature to value, features being whole numbers; what it lacks is zero.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Record = Mapping[int, float]
Token = tuple[int, int]


@dataclass
class TaskMean:
    """Logistic regression under a Gaussian, on x and on 0.3 · logit((m_i + 10 p) / (c_i + 10)) of the task.

    p = (M + 1) / (C + 2). The first ``places`` features that are learned have a factor. A round moves the mean to the
    most likely one, and adds its curvature to the precision, which starts at 1/10.
    """

    places: int = 128
    counts: dict[Hashable, list[int]] = field(default_factory=dict)
    known: list[int] = field(default_factory=list)
    mean: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))
    precision: NDArray[np.float64] = field(default_factory=lambda: np.eye(1) / 10.0)

    def shown(self, x: Record, task: Hashable) -> NDArray[np.float64]:
        """The record's inputs."""
        C = sum(c for c, _ in self.counts.values())
        M = sum(m for _, m in self.counts.values())
        p = (M + 1) / (C + 2)
        c, m = self.counts.get(task, [0, 0])
        rate = (m + 10 * p) / (c + 10)
        return np.array([0.3 * math.log(rate / (1 - rate)), *(x.get(j, 0.0) for j in self.known)])

    def margin(self, x: Record, task: Hashable, t: int) -> float:
        """The margin of a record."""
        return float(self.mean @ self.shown(x, task))

    def learn(self, x: Record, task: Hashable, y: float, t: int) -> None:
        """Learn a record, then count its label."""
        for j in sorted(j for j, value in x.items() if value != 0.0):
            if j not in self.known and len(self.known) < self.places:
                self.known.append(j)
                self.mean = np.append(self.mean, 0.0)
                grown = np.eye(len(self.mean)) / 10.0
                grown[:-1, :-1] = self.precision
                self.precision = grown
        shown = self.shown(x, task)
        direction = np.linalg.solve(self.precision, shown)
        tau = root(y * float(shown @ self.mean), float(shown @ direction))
        self.mean = self.mean + tau * y * direction
        self.precision = self.precision + tau * (1.0 - tau) * np.outer(shown, shown)
        c, m = self.counts.get(task, [0, 0])
        self.counts[task] = [c + 1, m + (y > 0)]


def root(z: float, q: float) -> float:
    """tau = 1 / (1 + exp(z + tau q)) by bisection."""
    low, high = 0.0, 1.0
    for _ in range(200):
        tau = (low + high) / 2.0
        low, high = (tau, high) if tau * (1.0 + math.exp(min(z + tau * q, 700.0))) < 1.0 else (low, tau)
    return (low + high) / 2.0


def mix(h: int) -> int:
    """The finaliser of MurmurHash3."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = ((h ^ (h >> 33)) * factor) % 2**64
    return h ^ (h >> 33)


def token_hash(feature: int, found: int) -> int:
    """The hash of a token."""
    return mix((feature * 16 + found + 0x9E3779B97F4A7C15) % 2**64)


def twenty_bits(value: float) -> float:
    """A number to its first twenty bits, to the nearest."""
    if value == 0.0:
        return 0.0
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 2.0**20), exponent - 20)


class Crossing:
    """Bins of features by first records; :meth:`tokens` of any.

    Features with one or two values in these records have a bin each, one of many has its eight quantiles; where most
    values are zero, zero is in none. The only bin, or the commoner of two, is quiet.
    """

    def __init__(self, records: Sequence[Record], most: int = 30) -> None:
        self.constant = self._constant(records)
        scaled = [self.unscaled(x) for x in records]
        self.edges: dict[int, list[float]] = {}
        self.quiet: dict[int, int | None] = {}
        self.zero_is_none: set[int] = set()
        for j in sorted({j for x in scaled for j in x}):
            values = [x.get(j, 0.0) for x in scaled]
            counts = sorted(Counter(values).items())
            if len(counts) <= 2:
                self.edges[j] = [counts[0][0]]
                self.quiet[j] = max(range(len(counts)), key=lambda b: counts[b][1])
                continue
            self.quiet[j] = None
            if 2 * values.count(0.0) > len(values):
                self.zero_is_none.add(j)
                values = [value for value in values if value != 0.0]
            values.sort()
            places = [math.ceil(k / 8 * len(values)) - 1 for k in range(1, 8)]
            self.edges[j] = sorted({values[place] for place in places})
        lengths = [len(self.tokens(x)) for x in records]
        if sum(len(x) for x in records) > 4 * most * len(records) or sum(lengths) > most * len(records):
            self.edges = {}
            self.off = True
        else:
            self.off = False

    @staticmethod
    def _constant(records: Sequence[Record]) -> int | None:
        """Of features positive in all records of unit length, that by which division leaves the fewest values."""
        if any(abs(sum(v * v for v in x.values()) - 1.0) > 1e-4 for x in records if x):
            return None
        always = sorted(set.intersection(*({j for j, v in x.items() if v > 0.0} for x in records)))
        sizes = {c: len({(j, twenty_bits(v / x[c])) for x in records for j, v in x.items()}) for c in always}
        return max((c for c in always if sizes[c] == min(sizes.values())), default=None)

    def unscaled(self, x: Record) -> dict[int, float]:
        """A record as it was before it was scaled."""
        by = 1.0 if self.constant is None else x.get(self.constant, 1.0)
        return {j: twenty_bits(value / by) for j, value in x.items() if value != 0.0}

    def tokens(self, x: Record) -> list[Token]:
        """The tokens of a record, by feature."""
        scaled, found = self.unscaled(x), []
        for j in sorted({*self.edges, *scaled}):
            value = scaled.get(j, 0.0)
            if j not in self.edges:
                found.append((j, 9))
            elif not (j in self.zero_is_none and value == 0.0):
                inside = sum(edge < value for edge in self.edges[j])
                if inside != self.quiet[j]:
                    found.append((j, inside))
        return found

    def crossed(self, x: Record, most: int = 30, bits: int = 18) -> dict[int, float]:
        """Tokens and pairs of the first ones as columns, at unit length."""
        if self.off:
            return {}
        hashes = [token_hash(*token) for token in self.tokens(x)[:most]]
        pairs = [mix((a * 16 + b) % 2**64) for k, a in enumerate(hashes) for b in hashes[k + 1 :]]
        made: dict[int, float] = {}
        for each in hashes + pairs:
            column = each % 2**bits
            made[column] = made.get(column, 0.0) + 1.0 / math.sqrt(len(hashes) + len(pairs))
        return made


@dataclass
class Crossed:
    """``inner``, a pooled AdaLog, on crossed columns, silent until the first records have settled the bins."""

    inner: Any
    first: int = 300
    records: list[Record] = field(default_factory=list)
    crossing: Crossing | None = None

    def margin(self, x: Record, task: Hashable, t: int) -> float:
        """The margin of a record."""
        return 0.0 if self.crossing is None else float(self.inner.margin(self.crossing.crossed(x), task, t))

    def learn(self, x: Record, task: Hashable, y: float, t: int) -> None:
        """Learn a record, or keep it for the bins."""
        if self.crossing is not None:
            self.inner.learn(self.crossing.crossed(x), task, y, t)
            return
        self.records.append(x)
        if len(self.records) == self.first:
            self.crossing = Crossing(self.records)


def tree_value(forest: Any, root_node: int, x: Sequence[float], category: int) -> float:
    """What one tree says, by its nodes."""
    v = root_node
    while forest.feature[v] >= 0:
        if forest.group[v] >= 0:
            left = bool(forest.groups[forest.group[v], category])
        else:
            left = bool(x[forest.feature[v]] <= forest.threshold[v])
        v = int(forest.left[v] if left else forest.right[v])
    return float(forest.value[v])


def forest_value(forest: Any, x: Record, category: int, told: float) -> float:
    """What all trees say of a record, on top of the log-odds told where they are."""
    constant = int(forest.constant[0])
    by = x.get(constant, 1.0) if constant >= 0 else 1.0
    values = [twenty_bits(x.get(int(j), 0.0) / by) for j in forest.columns]
    return float(forest.on_top[0] * told) + sum(tree_value(forest, int(r), values, category) for r in forest.roots)


Fit = Callable[[list[Record], list[int], list[float], list[float]], Any]


@dataclass
class Refitted:
    """A learner f, and g = f + trees, mixed by ``mixed`` as members are, with trees fitted when 200, 400, 800, ... were learned.

    ``fit`` makes a forest of the last ``window`` records, the categories of their tasks, labels and log-odds told; None
    leaves the one before.
    """

    learner: Any
    mixed: Any
    fit: Fit
    window: int = 8000
    first: int = 200
    forest: Any = None
    categories: dict[Hashable, int] = field(default_factory=dict)
    kept: list[tuple[Record, Hashable, float, float]] = field(default_factory=list)
    order: list[Hashable] = field(default_factory=list)
    told: dict[int, list[float]] = field(default_factory=dict)
    learned: int = 0

    def experts(self, x: Record, task: Hashable, f: float) -> list[float]:
        """The log-odds of the learner and of the trees."""
        return [f, f if self.forest is None else forest_value(self.forest, x, self.categories.get(task, 0), f)]

    def margin(self, x: Record, task: Hashable, t: int) -> float:
        """The margin of a record."""
        if task not in self.order:
            self.order.append(task)
        self.told[t] = self.experts(x, task, self.learner.margin(x, task, t))
        if self.forest is None:
            return self.told[t][0]
        return float(self.mixed.inputs(self.told[t], task) @ self.mixed.mean)

    def learn(self, x: Record, task: Hashable, y: float, t: int) -> None:
        """Learn a record by what was told of it, or is now if that was nothing, then fit trees if it makes the number full."""
        f = self.told.pop(t)
        f = f if any(f) else self.experts(x, task, self.learner.margin(x, task, t))
        if self.forest is not None:
            self.mixed.told[t] = f
            self.mixed.learn(x, task, y, t)
        self.learner.learn(x, task, y, t)
        self.kept.append((x, task, y, f[0]))
        self.learned += 1
        doublings = math.log2(self.learned / self.first)
        if doublings >= 0 and doublings == int(doublings):
            records, tasks, labels, told = map(list, zip(*self.kept[-self.window :], strict=True))
            counts = Counter(tasks)
            chosen = sorted(counts, key=lambda i: (-counts[i], self.order.index(i)))[:254]
            categories = {i: k + 1 for k, i in enumerate(chosen)}
            made = self.fit(records, [categories.get(i, 0) for i in tasks], labels, told)
            if made is not None:
                self.forest, self.categories = made, categories
