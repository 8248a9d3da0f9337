"""The arrays that compiled code reads of a relation of nested groups, kept up as tasks arrive."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.arrays import grown
from coterie.numeric.models import Levels

from .levels import Group, LevelRelation


class GroupIndex:
    """Numbers groups in the order in which tasks bring them; rebuilt from the tasks' labels alone."""

    def __init__(self, relation: LevelRelation, tasks: Sequence[Hashable] = ()) -> None:
        self.relation = relation
        self.numbers: dict[tuple[Group, ...], int] = {}
        self.levels: list[int] = []
        for task in self._unlike(tasks):
            self._number(relation.path(task))

    def __len__(self) -> int:
        return len(self.levels)

    def empty(self) -> Levels:
        """Levels of no task at all."""
        none, zeros = np.zeros(0, np.int64), np.zeros(0)
        paths = np.zeros((0, self.relation.depth), np.int64)
        return Levels(paths, zeros, zeros.copy(), none, zeros.copy(), zeros.copy())

    def extend(self, levels: Levels, known: int, new: Sequence[Hashable], rounds: int) -> Levels:
        """Levels with the new tasks added behind the ``known`` ones; weights change as of round ``rounds``."""
        routes = [self.relation.path(task) for task in self._unlike(new)]
        paths = np.full((len(routes), self.relation.depth), -1, np.int64)
        for row, route in zip(paths, routes, strict=True):
            row[: len(route)] = self._number(route)
        own = np.array([self.relation.own(len(route)) for route in routes])
        if self.relation.alike and len(new) > 1:
            paths, own = np.repeat(paths, len(new), 0), np.repeat(own, len(new))
        levels = Levels(
            _appended(levels.paths, known, paths),
            _appended(levels.own, known, own),
            *(grown(array, len(self)) for array in levels[2:]),
        )
        self._reweigh(levels, paths, rounds)
        return levels

    def ghosts(self, levels: Levels, tasks: Sequence[Hashable]) -> Levels:
        """Levels of tasks that nobody has seen: their known groups, and nothing of their own."""
        paths = np.full((len(tasks), self.relation.depth), -1, np.int64)
        for row, task in zip(paths, tasks, strict=True):
            route = self.relation.path(task)
            row[: len(route)] = [self.numbers.get(route[: n + 1], -1) for n in range(len(route))]
        return levels._replace(paths=paths, own=np.zeros(len(tasks)))

    def _unlike(self, tasks: Sequence[Hashable]) -> Sequence[Hashable]:
        """The tasks that have to be asked for: of those alike the first."""
        return tasks[:1] if self.relation.alike else tasks

    def _number(self, route: tuple[Group, ...]) -> list[int]:
        for level in range(len(route)):
            if route[: level + 1] not in self.numbers:
                self.numbers[route[: level + 1]] = len(self.numbers)
                self.levels.append(level)
        return [self.numbers[route[: level + 1]] for level in range(len(route))]

    def _reweigh(self, levels: Levels, paths: NDArray[np.int64], rounds: int) -> None:
        groups, arrivals = np.unique(paths[paths >= 0], return_counts=True)
        levels.members[groups] += arrivals
        levels.spent[groups] += levels.weight[groups] * (rounds - levels.since[groups])
        levels.since[groups] = rounds
        levels.weight[groups] = [self.relation.shared(self.levels[g], int(levels.members[g])) for g in groups]


def _appended(array: NDArray[Any], known: int, rows: NDArray[Any]) -> NDArray[Any]:
    array = grown(array, known + len(rows))
    array[known : known + len(rows)] = rows
    return array
