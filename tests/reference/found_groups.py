"""Groups that are found (Gentile, Li, Zappella, ICML 2014) without the bandit: every round from the definition."""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Pair = tuple[int, int]


class Round(NamedTuple):
    """After a record: the tasks' vectors, the edges that are left, and the components when they were last looked for."""

    own: Matrix
    edges: frozenset[Pair]
    groups: frozenset[frozenset[int]]


def rounds(
    X: Matrix, y: Matrix, task: Iterable[int], K: int, alpha: float, edges: Iterable[Pair], every: int
) -> Iterator[Round]:
    """Every round, with components after each ``every`` of them."""
    left = frozenset(edges)
    groups = components(K, left)
    seen: list[list[int]] = [[] for _ in range(K)]
    for t, i in enumerate(task):
        seen[i].append(t)
        own = np.array([ridge(X[of], y[of]) for of in seen])
        width = [alpha * math.sqrt((1 + math.log(1 + len(of))) / (1 + len(of))) for of in seen]
        far = {(j, k) for j, k in left if i in (j, k) and float(np.linalg.norm(own[j] - own[k])) > width[j] + width[k]}
        left -= far
        if (t + 1) % every == 0:
            groups = components(K, left)
        yield Round(own, left, groups)


def ridge(X: Matrix, y: Matrix) -> Matrix:
    """(I + X'X)⁻¹ X'y."""
    return np.asarray(np.linalg.solve(np.eye(X.shape[1]) + X.T @ X, X.T @ y), dtype=np.float64)


def components(K: int, edges: Iterable[Pair]) -> frozenset[frozenset[int]]:
    """The finest partition in which no edge runs between two parts."""
    part = [frozenset({i}) for i in range(K)]
    for j, k in edges:
        joined = part[j] | part[k]
        for i in joined:
            part[i] = joined
    return frozenset(part)
