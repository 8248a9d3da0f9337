"""
Clustering tasks online
=======================

Sixty tasks belong to four unknown groups. All begin in one group, which is split when the weight vectors of its tasks
differ by more than their confidence widths, as in Gentile, Li, Zappella, "Online Clustering of Bandits", ICML 2014,
without the bandit. The groups then serve as the tasks of a learner. On real data this gained almost nothing: look at
``groups_`` before you use them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import coterie as ct

# %%
# Each task has the weight vector of a ridge regression on its records. The edge between two tasks is deleted when the
# distance of their vectors exceeds the sum of their widths. Groups are the connected components of the graph.


class FoundGroups:
    """Groups of tasks: connected components of a graph whose edges between different tasks are deleted.

    After a record of task i, its T_i-th,

        M_i += xx',  b_i += y x,  w_i = (I + M_i)⁻¹ b_i,  CB(T) = alpha · sqrt((1 + ln(1 + T)) / (1 + T)),

    and each edge (i, j) with ‖w_i - w_j‖ > CB(T_i) + CB(T_j) is permanently deleted. The components are recomputed
    after every ``n_tasks`` records. If a group splits, its largest part keeps the number, and the others get new ones.

    A record costs O(features² + links · features), independent of the number of tasks. Memory is
    O(features² + links) per task.

    Parameters
    ----------
    n_tasks, n_features : int
        Tasks are the numbers 0 to ``n_tasks`` - 1. All must be known at the start, because a new task would join
        groups that have been separated.
    alpha : float >= 0
        The width of the confidence; 0 separates tasks at once. A good value for records of unit length is about the
        square root of ``n_features``.
    links : int, optional
        The mean number of edges per task in the initial random graph. By default the graph is complete.
    seed : int
        The seed of the random graph.

    Attributes
    ----------
    groups_ : ndarray of shape (n_tasks,)
        The number of each task's group.
    own_ : ndarray of shape (n_tasks, n_features)
        The weight vector of each task.
    """

    def __init__(
        self, n_tasks: int, n_features: int, alpha: float = 3.0, links: int | None = None, seed: int = 0
    ) -> None:
        self.alpha, self.every = alpha, n_tasks
        self.edges = drawn(n_tasks, links, seed)
        self.alive = np.ones(len(self.edges), dtype=bool)
        # Every edge is listed twice, once for each of its tasks; those of task i begin at `first[i]`.
        ends = np.concatenate([self.edges, self.edges[:, ::-1]])
        order = np.argsort(ends[:, 0], kind="stable")
        self.near, self.edge = ends[order, 1], order % max(1, len(self.edges))
        self.first = np.searchsorted(ends[order, 0], np.arange(n_tasks + 1))
        self.inverse = np.tile(np.eye(n_features), (n_tasks, 1, 1))
        self.sums, self.own_ = np.zeros((2, n_tasks, n_features))
        self.counts, self.width = np.zeros(n_tasks, dtype=int), np.full(n_tasks, float(alpha))
        self.groups_, self.seen = np.zeros(n_tasks, dtype=int), 0
        self._part()

    def learn(self, X: ArrayLike, y: ArrayLike, task: ArrayLike) -> NDArray[np.int_]:
        """Learn records in order; return the group of each record's task before the record, to use as ``task=``.

        Raises ValueError, before anything is learned, for arrays of other shapes, numbers that are not finite, labels
        other than -1 and +1, and tasks other than 0, ..., ``n_tasks`` - 1.
        """
        X, y, task = np.asarray(X, dtype=float), np.asarray(y, dtype=float), np.asarray(task)
        n, (n_tasks, n_features) = len(X), self.own_.shape
        if X.shape != (n, n_features) or y.shape != (n,) or task.shape != (n,):
            raise ValueError(f"X, y and task must be {n_features} numbers, a label and a task a record")
        if not (np.isfinite(X).all() and np.isin(y, [-1, 1]).all()):
            raise ValueError("X must hold finite numbers, and y labels -1 and +1")
        if n and (task.dtype.kind not in "iu" or task.min() < 0 or task.max() >= n_tasks):
            raise ValueError(f"tasks must be whole numbers from 0 to {n_tasks - 1}")
        before = np.empty(len(y), dtype=int)
        for t, i in enumerate(task.tolist()):
            before[t] = self.groups_[i]
            self._move(X[t], y[t], i)
            self._separate(i)
            self.seen += 1
            if self.seen % self.every == 0:
                self._part()
        return before

    def _move(self, x: NDArray[np.float64], y: float, i: int) -> None:
        z = self.inverse[i] @ x
        self.inverse[i] -= np.outer(z, z / (1.0 + x @ z))
        self.sums[i] += y * x
        self.own_[i] = self.inverse[i] @ self.sums[i]
        self.counts[i] += 1
        self.width[i] = self.alpha * np.sqrt((1 + np.log1p(self.counts[i])) / (1 + self.counts[i]))

    def _separate(self, i: int) -> None:
        these = slice(self.first[i], self.first[i + 1])
        near = self.near[these]
        separate = ((self.own_[near] - self.own_[i]) ** 2).sum(axis=1) > (self.width[near] + self.width[i]) ** 2
        self.alive[self.edge[these][separate]] = False

    def _part(self) -> None:
        n = len(self.groups_)
        i, j = self.edges[self.alive].T
        _, part = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)
        # Each part lies within one previous group, so any of its tasks determines that group.
        first = np.unique(part, return_index=True)[1]
        self.groups_ = numbered(part, self.groups_[first])


def drawn(n: int, links: int | None, seed: int) -> NDArray[np.int_]:
    """Draw the initial edges, without duplicates."""
    if links is None or links >= n - 1:
        return np.stack(np.triu_indices(n, 1), axis=1)
    ends = np.sort(np.random.default_rng(seed).integers(n, size=(n * links // 2, 2)), axis=1)
    return np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)


def numbered(part: NDArray[np.int_], came_from: NDArray[np.int_]) -> NDArray[np.int_]:
    """Number the groups: the largest part of a previous group keeps its number, the others get new ones."""
    number, free = np.full(len(came_from), -1), came_from.max() + 1
    used: set[int] = set()
    for label in np.argsort(-np.bincount(part), kind="stable").tolist():
        old = int(came_from[label])
        number[label] = free if old in used else old
        free += old in used
        used.add(old)
    return number[part]


# %%
# Records have unit length, and a tenth of the labels is flipped. ``learn`` returns the group of each record's task; a
# learner that gets the groups as its tasks learns one vector per group.

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    true_group, task = rng.permutation(np.arange(60) % 4), rng.integers(60, size=18_000)
    vectors, X = rng.normal(size=(4, 10)), rng.normal(size=(len(task), 10))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where((X * vectors[true_group[task]]).sum(axis=1) > 0, 1, -1) * rng.choice([1, -1], len(task), p=[0.9, 0.1])

    clustering = FoundGroups(n_tasks=60, n_features=10)
    group = clustering.learn(X, y, task)
    print("sizes:", np.unique(clustering.groups_, return_counts=True)[1])
    agreement = np.equal.outer(clustering.groups_, clustering.groups_) == np.equal.outer(true_group, true_group)
    print(f"pairs of tasks grouped correctly: {agreement.mean():.1%}")

    independent = ct.Independent()
    learners = {
        "one vector for all": (ct.MultitaskLogistic(ct.Pooled()), task),
        "one per task": (ct.MultitaskLogistic(independent), task),
        "half shared": (ct.MultitaskLogistic(), task),
        "one per found group": (ct.MultitaskLogistic(independent), group),
        "one per true group": (ct.MultitaskLogistic(independent), true_group[task]),
    }
    for name, (learner, tasks) in learners.items():
        print(f"{name:20} {ct.progressive_validation(learner, X, y, task=tasks).error:.2%} error")
