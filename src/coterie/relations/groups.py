"""The arrays that compiled code reads of a relation of nested groups, kept up as tasks arrive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.arrays import grown
from coterie.numeric.primal.grouped import NO_ARRIVALS, Arrivals, Levels, no_levels, reweigh

from .levels import Group, LevelRelation


class GroupIndex:
    """Numbers groups in the order in which tasks bring them; rebuilt from the tasks' labels alone."""

    def __init__(self, relation: LevelRelation, tasks: Sequence[Hashable] = ()) -> None:
        self.relation = relation
        self.numbers: dict[tuple[Group, ...], int] = {}
        self.levels: list[int] = []
        for task in self._unlike(tasks):
            self._number(relation.path(task))

    @classmethod
    def restored(cls, relation: LevelRelation, tasks: Sequence[Hashable], levels: Levels) -> GroupIndex:
        """Number the groups of these tasks anew; ValueError if their levels were made of other groups."""
        made, paths = cls(relation), levels.paths[: len(tasks)]
        routes = [made._number(relation.path(task)) for task in made._unlike(tasks)]
        numbers = np.array(routes, np.int64).reshape(len(routes), relation.depth)
        if paths.shape != (len(tasks), relation.depth) or not (paths == numbers).all():
            raise ValueError(f"the tasks are in other groups than {type(relation).__name__} has them in")
        return made

    def __len__(self) -> int:
        return len(self.levels)

    def empty(self) -> Levels:
        """Levels of no task at all."""
        return no_levels(self.relation.depth)

    def extend(self, levels: Levels, known: int, new: Sequence[Hashable], rounds: int) -> Levels:
        """Levels with the new tasks behind the ``known`` ones, the same object where it had room for them.

        Weights change as of round ``rounds``.
        """
        levels, paths = self._entered(levels, known, new)
        each = len(new) if self.relation.alike else 1
        for group, arrivals in Counter(paths.ravel().tolist()).items():
            if group >= 0:
                self._reweigh(levels, group, each * arrivals, rounds)
        return levels

    def expect(self, levels: Levels, known: int, new: Sequence[Hashable], rounds: int) -> tuple[Levels, Arrivals]:
        """As :meth:`extend`, but no task counts before it comes: what compiled code counts it by."""
        if not self.relation.counts_tasks:
            return self.extend(levels, known, new, rounds), NO_ARRIVALS
        levels, _ = self._entered(levels, known, new)
        paths = levels.paths[known : known + len(new)]
        weights = np.zeros(paths.shape)
        for level, groups in enumerate(paths.T):
            there = np.flatnonzero(groups >= 0)
            members = levels.members[groups[there]] + _ranks(groups[there]) + 1
            weights[there, level] = [self.relation.shared(level, each) for each in members.tolist()]
        return levels, Arrivals(levels, np.array([known]), known, weights, rounds)

    def _entered(self, levels: Levels, known: int, new: Sequence[Hashable]) -> tuple[Levels, NDArray[np.int64]]:
        """Levels with the groups and own weights of new tasks, and the groups of those that have to be asked for."""
        routes = [self.relation.path(task) for task in self._unlike(new)]
        numbers = np.fromiter(chain.from_iterable(map(self._number, routes)), np.int64)
        paths = numbers.reshape(len(routes), self.relation.depth)
        last = known + len(new)
        levels = self._roomy(levels, last)
        levels.paths[known:last] = paths
        levels.own[known:last] = [self.relation.own(len(route)) for route in routes]
        return levels, paths

    def unseen_task_model(self, levels: Levels, tasks: Sequence[Hashable]) -> Levels:
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
        """The numbers of the groups of a task, the widest first, -1 for those that it lacks."""
        for level in range(len(route)):
            if route[: level + 1] not in self.numbers:
                self.numbers[route[: level + 1]] = len(self.numbers)
                self.levels.append(level)
        known = [self.numbers[route[: level + 1]] for level in range(len(route))]
        return known + [-1] * (self.relation.depth - len(route))

    def _roomy(self, levels: Levels, tasks: int) -> Levels:
        if tasks <= len(levels.own) and len(self) <= len(levels.weight):
            return levels
        of_tasks, of_groups = levels[:2], levels[2:]
        return Levels(*(grown(array, tasks) for array in of_tasks), *(grown(array, len(self)) for array in of_groups))

    def _reweigh(self, levels: Levels, group: int, arrivals: int, rounds: int) -> None:
        levels.members[group] += arrivals
        weight = self.relation.shared(self.levels[group], int(levels.members[group]))
        reweigh.py_func(levels, group, weight, rounds)  # type: ignore[attr-defined]


def _ranks(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many entries before each are equal to it."""
    order = np.argsort(groups, kind="stable")
    held = groups[order]
    begins = np.flatnonzero(np.diff(held, prepend=-1))
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(begins, np.diff(begins, append=len(groups)))
    return ranks
