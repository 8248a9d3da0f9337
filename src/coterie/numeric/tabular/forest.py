"""Trees of a boosted model as plain arrays, and their log-odds of records."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.checks import require, require_finite, require_shape, require_within
from coterie.numeric.core.generic import compiled
from coterie.numeric.core.records import Csr

from .crossings import unscaled

#: Columns of a record that trees look at, at most, beside the category of its task.
MOST_COLUMNS = 255

#: Categories of tasks: 0 is that of all without one of their own.
CATEGORIES = 255

#: What a node's ``feature`` is at a leaf, and its ``group`` where it compares with a threshold.
LEAF, THRESHOLD = -1, -1


class Forest(NamedTuple):
    """Trees over the features ``columns`` (C,), ascending, and over the category of a record's task, which is column C.

    Node v of ``feature`` (V,) is a leaf that says ``value[v]`` where ``feature[v]`` is -1. Else it goes on to
    ``left[v]`` where column ``feature[v]`` is at most ``threshold[v]``, or, with a ``group`` of its own, where
    ``groups[group[v], category]`` is true; else to ``right[v]``. Both stand behind v. ``roots`` (T,) are the trees'
    first nodes. ``constant[0]`` is the feature by whose value the others are divided, -1 for none. ``on_top[0]`` says
    whether trees add to the log-odds told (1.0) or stand for themselves (0.0).
    """

    roots: Any
    feature: Any
    threshold: Any
    left: Any
    right: Any
    value: Any
    group: Any
    groups: Any
    columns: Any
    constant: Any
    on_top: Any

    def check(self, features: int) -> None:
        """Refuse what leads outside of arrays or round in circles: ValueError."""
        nodes, places = len(self.feature), np.arange(len(self.feature))
        for name, array in zip(self._fields[1:7], self[1:7], strict=True):
            require_shape(f"{name} of nodes", array, nodes)
        require_within("roots of trees", self.roots, 0, nodes - 1)
        require(len(self.columns) <= MOST_COLUMNS, f"trees look at {len(self.columns)} columns")
        require_within("columns of trees", self.columns, 0, features - 1)
        require((np.diff(self.columns.astype(np.int64)) > 0).all(), "columns of trees are not in ascending order")
        require_within("features of nodes", self.feature, LEAF, len(self.columns))
        split = self.feature != LEAF
        for name, child in (("left", self.left), ("right", self.right)):
            behind = (child[split] > places[split]) & (child[split] < nodes)
            require(behind.all(), f"{name} of nodes does not lead on to another node")
        require_shape("groups of categories", self.groups, len(self.groups), CATEGORIES)
        require_within("group of nodes", self.group, THRESHOLD, len(self.groups) - 1)
        by_group = self.group[split] != THRESHOLD
        require(((self.feature[split] == len(self.columns)) == by_group).all(), "a number is split by categories")
        for name, numbers in (("thresholds", self.threshold), ("values of leaves", self.value)):
            require_finite(name, numbers)
        require_shape("the constant feature", self.constant, 1)
        require_within("the constant feature", self.constant, -1, features - 1)
        require_shape("what trees add to", self.on_top, 1)
        require_within("what trees add to", self.on_top, 0.0, 1.0)


class Nodes:
    """Nodes of trees as they are found, to become a :class:`Forest`."""

    def __init__(self) -> None:
        self.roots: list[int] = []
        self.rows: list[list[float]] = []
        self.groups: list[NDArray[np.bool_]] = []

    def add(self, value: float = 0.0) -> int:
        """Add a leaf, which may become a split; returns its number."""
        self.rows.append([LEAF, 0.0, 0, 0, value, THRESHOLD])
        return len(self.rows) - 1

    def split(self, node: int, feature: int, threshold: float, group: NDArray[np.bool_] | None = None) -> None:
        """Make a leaf a split by a threshold or by a group of categories; :meth:`lead` says where it leads."""
        self.rows[node][:2] = [feature, threshold]
        if group is not None:
            self.rows[node][5] = len(self.groups)
            self.groups.append(group)

    def lead(self, node: int, left: int, right: int) -> None:
        """Let a split lead to these nodes."""
        self.rows[node][2:4] = [left, right]

    def forest(self, columns: NDArray[np.int32], constant: int, on_top: bool) -> Forest:
        """All of them as arrays."""
        rows = np.array(self.rows, np.float64).reshape(-1, 6)
        feature, left, right, group = (rows[:, k].astype(np.int32) for k in (0, 2, 3, 5))
        return Forest(
            roots=np.array(self.roots, np.int32),
            feature=feature,
            threshold=rows[:, 1].copy(),
            left=left,
            right=right,
            value=rows[:, 4].copy(),
            group=group,
            groups=np.array(self.groups, bool).reshape(-1, CATEGORIES),
            columns=columns,
            constant=np.full(1, constant),
            on_top=np.full(1, float(on_top)),
        )


def no_forest() -> Forest:
    """No trees."""
    return Nodes().forest(np.zeros(0, np.int32), -1, False)


def columns_of(rows: Csr, constant: int, least: int) -> NDArray[np.int32]:
    """The features that trees look at: those with several values that come ``least`` times, the commonest of many."""
    values = unscaled(rows, constant)
    order = np.argsort(rows.features, kind="stable")
    features, first, counts = np.unique(rows.features[order], return_index=True, return_counts=True)
    ends = np.append(first[1:], len(order))[: len(features)]
    varied = [
        count < rows.n_records or np.ptp(values[order[a:b]]) > 0.0
        for a, b, count in zip(first, ends, counts, strict=True)
    ]
    usable = np.flatnonzero(np.array(varied, bool) & (counts >= least))
    chosen = usable[np.argsort(-counts[usable], kind="stable")[:MOST_COLUMNS]]
    return np.sort(features[chosen]).astype(np.int32)


def matrix_of(rows: Csr, columns: NDArray[np.int32], constant: int) -> NDArray[np.float64]:
    """The columns of records that trees look at, shape (n, C)."""
    owners = np.repeat(np.arange(rows.n_records), np.diff(rows.starts))
    made = np.zeros((rows.n_records, len(columns)))
    if len(columns):
        places = np.minimum(np.searchsorted(columns, rows.features), len(columns) - 1)
        there = columns[places] == rows.features
        made[owners[there], places[there]] = unscaled(rows, constant)[there]
    return made


def trees_say(forest: Forest, rows: Csr, categories: NDArray[np.int64], told: NDArray[np.float64]) -> Any:
    """Log-odds of records by trees, on top of those told where trees are: O(trees · depth) a record."""
    said = forest.on_top[0] * told
    plain = rows.trimmed()
    _add(forest, plain._replace(values=unscaled(plain, int(forest.constant[0]))), categories, said)
    return said


@compiled
def _add(forest: Any, rows: Any, categories: Any, said: Any) -> None:
    columns = forest.columns.size
    x = np.zeros(columns + 1)
    for t in range(said.size):
        x[:] = 0.0
        k = 0
        for e in range(rows.starts[t], rows.starts[t + 1]):
            while k < columns and forest.columns[k] < rows.features[e]:
                k += 1
            if k < columns and forest.columns[k] == rows.features[e]:
                x[k] = rows.values[e]
        total = 0.0
        for root in forest.roots:
            v = root
            while forest.feature[v] >= 0:
                if forest.group[v] >= 0:
                    goes_left = forest.groups[forest.group[v], categories[t]]
                else:
                    goes_left = x[forest.feature[v]] <= forest.threshold[v]
                v = forest.left[v] if goes_left else forest.right[v]
            total += forest.value[v]
        said[t] += total
