"""Selective sampling written out: one uniform per round, the chance, the budget counted over the whole past."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
WORD = 2**64


def _scrambled(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def uniform(seed: int, turn: int, stream: int = 0) -> float:
    """53 bits of SplitMix64's finaliser, in whole numbers of any size."""
    key = _scrambled((_scrambled(seed) + 0x9E3779B97F4A7C15 * (stream + 1)) % WORD)
    return (_scrambled((key + 0x9E3779B97F4A7C15 * (turn + 1)) % WORD) >> 11) / 2**53


@dataclass
class Asking:
    """``query_probability`` of the margin and of a row of A; at most ``total`` labels, ``per_task`` of a task, in ``window`` rounds."""

    query_probability: Callable[[float, Matrix], float]
    seed: int = 0
    total: float = np.inf
    per_task: float = np.inf
    window: float = np.inf
    tasks: list[int] = field(default_factory=list)
    asked: list[bool] = field(default_factory=list)

    def __call__(self, margin: float, row: Matrix, task: int) -> bool:
        now = len(self.asked)
        inside = [t for t in range(now) if self.asked[t] and t > now - self.window]
        mine = [t for t in inside if self.tasks[t] == task]
        wanted = uniform(self.seed, now) < self.query_probability(margin, row) and len(inside) < self.total
        self.tasks.append(task)
        self.asked.append(bool(wanted and len(mine) < self.per_task))
        return self.asked[-1]


def selective_omtl(
    X: Matrix,
    y: Matrix,
    task: Sequence[int],
    asking: Asking,
    update: Callable[[Matrix, Matrix], Matrix],
    *,
    A: Matrix,
    epoch: float = 0.0,
    average: bool = False,
    asked_by: Callable[[Matrix], Matrix] = np.asarray,
) -> tuple[Matrix, NDArray[np.bool_]]:
    """The margins and questions of SRDV11 Algorithm 1 with queries: rounds t from 1, A revised with W_{s-1} at mistakes asked for, in t >= epoch.

    ``asked_by`` makes of A the matrix whose rows are asked by. The margin that is told, and by which is asked, is that of W, or of its mean before each of the rounds so far.
    """
    W, total = np.zeros((X.shape[1], len(A))), np.zeros((X.shape[1], len(A)))
    margins = np.zeros(len(y))
    for t, (x, label, i) in enumerate(zip(X, y, task, strict=True), start=1):
        weights = total / (t - 1) if average and t > 1 else W
        margins[t - 1] = weights[:, i] @ x
        total = total + W
        if asking(margins[t - 1], asked_by(A)[i], i) and label * (W[:, i] @ x) <= 0:
            before = W
            W = W + label * np.outer(x, np.linalg.inv(A)[:, i])
            if t >= epoch:
                A = update(A, before)
    return margins, np.array(asking.asked)
