"""Linear learners of tasks that may be forgotten, every move kept apart: what is dropped is left out of the sums."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
#: How far to move, by y·margin and by M_ii ‖x‖².
Step = Callable[[float, float], float]


@dataclass
class Move:
    """A move c x made in round t, in a row: a task's own, or that of a group."""

    row: Hashable
    t: int
    by: Vector


class Grouped:
    """w_i = own · (moves made at i) + Σ_g weight_g · (moves made in g), over the moves that nobody has dropped.

    ``relation`` says what groups a task is in, the widest first, and what they weigh by their number of tasks. A group
    that the last task has left is dropped, too.
    """

    def __init__(self, relation: Any, step: Step) -> None:
        self.relation, self.step = relation, step
        self.tasks: list[Hashable] = []
        self.moves: list[Move] = []
        self.weights: list[dict[Hashable, float]] = []  # of every row, round by round

    def rows(self, task: Hashable) -> list[Hashable]:
        """The rows of a task: its own, if it is known, and those of its groups."""
        path = self.relation.path(task)
        own: list[Hashable] = [("own", task)] if task in self.tasks else []
        return [*own, *(path[: level + 1] for level in range(len(path)))]

    def weight(self, row: Hashable) -> float:
        """What a row counts now."""
        if isinstance(row, tuple) and row[:1] == ("own",):
            return float(self.relation.own(len(self.relation.path(row[1]))))
        level = len(row) - 1  # type: ignore[arg-type]
        members = sum(self.relation.path(task)[: level + 1] == row for task in self.tasks)
        return float(self.relation.shared(level, members)) if members else 0.0

    def vector(self, task: Hashable, d: int) -> Vector:
        """The weights of a task."""
        weights = {row: self.weight(row) for row in self.rows(task)}
        return sum((weights[m.row] * m.by for m in self.moves if m.row in weights), np.zeros(d))

    def mean(self, task: Hashable, d: int) -> Vector:
        """The mean, over the rounds so far, of the weights before each that the moves not dropped make."""
        rows, total = set(self.rows(task)), np.zeros(d)
        for t, weights in enumerate(self.weights):
            for move in self.moves:
                if move.row in rows and move.t < t:
                    total += weights.get(move.row, 0.0) * move.by
        return total / max(len(self.weights), 1)

    def learn(self, x: Vector, y: float, task: Hashable) -> tuple[float, float]:
        """A round: the margins of the weights and of their mean, before the label."""
        if task not in self.tasks:
            self.tasks.append(task)
        rows, t, d = self.rows(task), len(self.weights), len(x)
        margin, mean = float(self.vector(task, d) @ x), float(self.mean(task, d) @ x)
        norm = sum(self.weight(row) for row in rows) * float(x @ x)
        c = y * self.step(y * margin, norm)
        self.weights.append({row: self.weight(row) for name in self.tasks for row in self.rows(name)})
        self.moves += [Move(row, t, c * x) for row in rows if c]
        return margin, mean

    def forget(self, task: Hashable) -> None:
        """Drop a task's own moves, and those of groups that it was the last one in."""
        gone = set(self.rows(task))
        self.tasks.remove(task)
        gone -= {row for other in self.tasks for row in self.rows(other)}
        self.moves = [move for move in self.moves if move.row not in gone]
        self.weights = [{row: w for row, w in row_weights.items() if row not in gone} for row_weights in self.weights]


class Named:
    """W <- W + c x (column i of M)' for tasks that the relation names: a task that is forgotten has its row cleared."""

    def __init__(self, tasks: list[Hashable], M: NDArray[np.float64], step: Step) -> None:
        self.tasks, self.M, self.step = tasks, M, step
        self.W: Any = None
        self.gathered: Any = None
        self.rounds = 0

    def vector(self, task: Hashable, d: int) -> Vector:
        """The weights of a task."""
        return np.asarray(self.W[self.tasks.index(task)])

    def mean(self, task: Hashable, d: int) -> Vector:
        """The mean of the weights before each round."""
        return np.asarray(self.gathered[self.tasks.index(task)] / max(self.rounds, 1))

    def learn(self, x: Vector, y: float, task: Hashable) -> tuple[float, float]:
        """A round: the margins of the weights and of their mean, before the label."""
        if self.W is None:
            self.W, self.gathered = np.zeros((2, len(self.tasks), len(x)))
        i, d = self.tasks.index(task), len(x)
        margin, mean = float(self.vector(task, d) @ x), float(self.mean(task, d) @ x)
        c = y * self.step(y * margin, self.M[i, i] * float(x @ x))
        self.gathered += self.W
        self.W += c * np.outer(self.M[:, i], x)
        self.rounds += 1
        return margin, mean

    def forget(self, task: Hashable) -> None:
        """Clear the task's row."""
        self.W[self.tasks.index(task)] = self.gathered[self.tasks.index(task)] = 0.0


def forget_row(learner: Any, task: Hashable) -> None:
    """Drop the numbers of a task's own row in a learner of :mod:`reference.adalog`."""
    for attribute in ("w", "Q", "S"):
        weights: dict[Any, float] = getattr(learner, attribute, {})
        for key in [key for key in weights if key[0] == ("own", task)]:
            del weights[key]
