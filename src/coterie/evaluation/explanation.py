"""Explanations of a fitted model: contributions to a margin, largest weights, and similar tasks.

Matrices are for all tasks unless some are named.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from coterie.data.preprocessing import CONSTANT
from coterie.types import Estimator, Floats, Matrix, Record
from coterie.wording import table

#: A rest below this fraction of the sum of all parts is rounding.
ROUNDING = 1e-12

#: Of this many tasks the nearest to one are chosen.
MOST = 2000

#: The maximum number of values of one column in a list of the largest weights, and the factor of candidates examined.
OF_A_COLUMN, LOOKED_AT = 5, 20


class Contribution(NamedTuple):
    """The contribution of one feature to a margin: its weight times its value.

    ``name`` is the feature's name, or its column number if it has no name. Several features of a record in one column
    of a hashed model are named together. ``value`` is the value after scaling, ``given`` the one in the record; it is
    None for categories, which ``column=value`` describes completely.
    """

    name: Hashable
    value: float
    part: float
    given: object = None


class Weight(NamedTuple):
    """The weight of a feature for a task: the shared weight, and the task's difference from it.

    ``shared`` is the weight of an unseen task, or the mean over tasks if a new task would change other tasks. ``own``
    is the task's weight minus that; 0.0 without a task. ``spread`` is the standard deviation of the feature, if known:
    weight times spread is the feature's effect on margins.
    """

    name: Hashable
    shared: float
    own: float
    spread: float | None = None

    @property
    def moves(self) -> tuple[float, float]:
        """Return the change of the margin by one standard deviation of the feature: shared part, and own part."""
        by = 1.0 if self.spread is None else self.spread
        return self.shared * by, self.own * by


@dataclass(frozen=True)
class Explanation:
    """The margin of one record as a sum of contributions: ``margin = base + Σ part + rest``, up to rounding.

    Attributes
    ----------
    margin : float
        The value of ``decision_function``, or the predicted number.
    parts : list of Contribution
        The part of each feature, summed over the members of an ensemble, the largest first, without zeros.
    base : float
        The margin of a record without features; for numbers their mean and the constant part of the task.
    rest : float
        The part that is not a weighted sum of features, such as the margin of a kernel; otherwise 0.0.
    rest_of : str
        A description of that part; empty if it is 0.0.
    """

    margin: float
    parts: list[Contribution]
    base: float = 0.0
    rest: float = 0.0
    rest_of: str = ""

    def lines(self, most: int | None = None) -> Iterator[str]:
        """Return table rows of the largest contributions and of the sum of all others.

        There are at most ``most`` rows for contributions, by default all.

        Original values have a separate column if scaling changed any.
        """
        scaled = any(part.given is not None and part.given != part.value for part in self.parts[:most])
        rows = [
            [shown(part.name), *[_format_given(part.given)] * scaled, f"{part.value:.4g}", f"{part.part:+.3g}"]
            for part in self.parts[:most]
        ]
        others = self.parts[len(rows) :]
        sums = [
            (f"{len(others):,} more", math.fsum(part.part for part in others)),
            ("base", self.base),
            (f"rest: {self.rest_of}", self.rest),
        ]
        empty, heads = [""] * (1 + scaled), ["feature", *["given"] * scaled, "value", "part"]
        rows += [[name, *empty, f"{part:+.3g}"] for name, part in sums if part != 0.0]
        return table(heads, [*rows, ["margin", *empty, f"{self.margin:+.4g}"]])

    def giving(self, record: Record) -> Explanation:
        """Return a copy that also shows the values of the record before they were scaled."""
        return replace(self, parts=[part._replace(given=record.get(part.name)) for part in self.parts])

    def __str__(self) -> str:
        return "\n".join(self.lines())


class Weights(list[Weight]):
    """The largest weights of a model in descending order: a list that is displayed as a table.

    ``of_task`` is True for the weights of a task, in addition to the shared ones.
    """

    def __init__(self, weights: Iterable[Weight], of_task: bool) -> None:
        super().__init__(weights)
        self.of_task = of_task

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the headings and rows of a table of the shared weights and, for a task, its own weights and sums."""
        heads = ["feature", "shared", "own", "together"] if self.of_task else ["feature", "weight"]
        rows = [(shown(name), (shared, own, shared + own)) for name, shared, own, _ in self]
        return heads, [[name, *(f"{number:+.3g}" for number in numbers[: len(heads) - 1])] for name, numbers in rows]


def _format_given(value: object) -> str:
    """Format a value of a record before scaling; an empty text for None."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)


def largest(
    names: Callable[[Sequence[int]], Sequence[Hashable]],
    shared: Floats,
    own: Floats | None,
    n: int,
    spread: Floats | None = None,
) -> Weights:
    """Return the n features with the largest weights: own ones if they are passed, else shared ones.

    Zeros are left out.

    Weights are multiplied by the ``spread`` of features, if known, before comparison.
    """
    by = None if spread is None else np.append(spread, np.zeros(max(len(shared) - len(spread), 0)))[: len(shared)]
    key = np.abs(shared if own is None else own) * (1.0 if by is None else by)
    top = np.argpartition(-key, min(n, len(key) - 1))[:n] if len(key) else np.zeros(0, np.int64)
    chosen = sorted((j for j in top.tolist() if key[j] > 0), key=lambda j: (-key[j], j))
    weights = (
        Weight(name, float(shared[j]), 0.0 if own is None else float(own[j]), None if by is None else float(by[j]))
        for name, j in zip(names(chosen), chosen, strict=True)
    )
    return Weights(weights, own is not None)


def varied(weights: Sequence[Weight], n: int) -> list[Weight]:
    """Return the first n weights, at most five of them from the same column.

    Examples
    --------
    >>> weights = [Weight(f"day={k}", -k, 0.0) for k in range(90, 0, -1)] + [Weight("price", 0.5, 0.0)]
    >>> [weight.name for weight in varied(weights, 10)]
    ['day=90', 'day=89', 'day=88', 'day=87', 'day=86', 'price']
    """
    columns: Counter[Hashable] = Counter()
    chosen = []
    for weight in weights:
        column, value, _ = weight.name.partition("=") if isinstance(weight.name, str) else (weight.name, "", "")
        columns[column] += bool(value)
        if columns[column] <= OF_A_COLUMN:
            chosen.append(weight)
    return chosen[:n]


def listed_weights(
    model: Estimator, task: Hashable = None, n: int = 10, spread: Floats | None = None
) -> Weights | dict[Hashable, Weights]:
    """Return the largest weights of a model, with at most five features of the same column; the intercept is last.

    They are ordered by their effect on margins if the ``spread`` of features is known. The intercept comes last,
    because it depends only on the frequency of labels.
    """

    def select(weights: Weights) -> Weights:
        intercept = [weight for weight in varied(weights, n) if weight.name == CONSTANT]
        features = [weight for weight in weights if weight.name != CONSTANT]
        return Weights([*varied(features, n - len(intercept)), *intercept], weights.of_task)

    weights = model.largest_weights(task, LOOKED_AT * n, spread=spread)
    if isinstance(weights, dict):
        return {label: select(of_label) for label, of_label in weights.items()}
    return select(weights)


def shown(name: Hashable) -> str:
    """Format a feature's name for tables; missing-value indicators are spelled out.

    Examples
    --------
    >>> shown("card="), shown("card=visa"), shown(3)
    ('card is missing', 'card=visa', '3')
    """
    text = str(name)
    return f"{text[:-1]} is missing" if text.endswith("=") and text != "=" else text


def explanation_of(names: Sequence[Hashable], values: Sequence[float], margins: Floats, rest_of: str) -> Explanation:
    """Return an explanation computed from margins: those of records with one feature each, and of an empty record.

    If the parts do not add up to the margin, because it is not a weighted sum, the remainder is attributed to
    ``rest_of``.
    """
    margin, base = margins[:2].tolist()
    contributions = (margins[2:] - margins[1]).tolist()
    parts = [Contribution(*part) for part in zip(names, values, contributions, strict=True) if part[2] != 0.0]
    parts.sort(key=lambda part: -abs(part.part))  # stable: ties in the order of the record
    rest = margin - base - math.fsum(contributions)
    rounding = ROUNDING * (abs(margin) + abs(base) + math.fsum(map(abs, contributions)))
    return Explanation(margin, parts, base, *((rest, rest_of) if abs(rest) > rounding else ()))


class SharingModel(Protocol):
    """Interface of a fitted multitask model, online or batch."""

    @property
    def tasks_(self) -> list[Hashable]:
        """The known tasks."""

    @property
    def relation_matrix_(self) -> Matrix:
        """The matrix M = A⁻¹ by which the known tasks share updates."""


def relation_among(model: SharingModel, tasks: Sequence[Hashable]) -> Matrix:
    """Return the rows and columns of ``relation_matrix_`` that belong to these tasks.

    Raises
    ------
    ValueError
        For a task that the model does not know.
    """
    if hasattr(model, "__stream_model__"):
        inner = model.__stream_model__()
        with inner.lock:
            numbers = [inner.population.number_of(task) for task in tasks]
            return np.asarray(inner.learner.relation_matrix(inner.state, numbers))
    known = {task: i for i, task in enumerate(model.tasks_)}
    for task in tasks:
        if task not in known:
            raise ValueError(f"task {task!r} was never fitted; tasks_ lists the {len(known)} known tasks")
    places = [known[task] for task in tasks]
    return np.asarray(model.relation_matrix_[np.ix_(places, places)])


def correlations(model: SharingModel, tasks: Sequence[Hashable] | None = None) -> Matrix:
    """Return the correlation M_ij / sqrt(M_ii M_jj) between each pair of tasks (by default all), shape (K, K).

    M = A⁻¹ is the matrix by which the K tasks share updates.
    """
    M = model.relation_matrix_ if tasks is None else relation_among(model, tasks)
    own = np.diag(M)
    length = np.sqrt(np.where(own > 0.0, own, 1.0))  # a task without updates may share nothing, not even with itself
    return np.asarray(np.clip(M / np.outer(length, length), -1.0, 1.0))


def nearest_tasks(model: SharingModel, task: Hashable, n: int = 5) -> list[tuple[Hashable, float]]:
    """Return the n tasks with the largest correlation with a task, and these correlations.

    The correlation is M_ij / sqrt(M_ii M_jj), for the matrix M = A⁻¹ by which tasks share updates.

    Negative values, of tasks with opposite weights, come last. Only the first 2000 tasks are compared.

    Raises
    ------
    ValueError
        For a task that the model does not know.

    Examples
    --------
    >>> import coterie as ct
    >>> relation = ct.tasks.Interaction(inverse=[[4, 0, 2], [0, 4, 0], [2, 0, 4]], tasks=("ann", "bob", "cid"))
    >>> model = ct.MultitaskPerceptron(relation).fit([[1.0], [-1.0]], [1, 0], task=["ann", "bob"])
    >>> nearest_tasks(model, "ann", n=1)
    [('cid', 0.5)]
    """
    _number(model, task)
    others = [other for other in model.tasks_[:MOST] if other != task]
    row = correlations(model, [task, *others])[0, 1:]
    return [(others[j], float(row[j])) for j in np.argsort(-row, kind="stable")[:n].tolist()]


def _number(model: SharingModel, task: Hashable) -> int:
    tasks = model.tasks_
    if task not in tasks:
        shown = ", ".join(map(repr, tasks[:5]))
        raise ValueError(f"task {task!r} is unknown; the model has {shown}{' ...' if len(tasks) > 5 else ''}")
    return int(tasks.index(task))
