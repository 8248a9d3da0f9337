"""The arrays that compiled code reads of a relation of nested groups, updated as tasks arrive and leave."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.arrays import Dropped, enlarged
from coterie.numeric.core.checks import require, require_within
from coterie.numeric.primal.grouped import NO_ARRIVALS, Arrivals, Levels, no_levels, reweigh
from coterie.settings import MOST

from .levels import Group, LevelRelation


class GroupIndex:
    """Numbers groups in the order in which tasks bring them; one whose last task leaves gives its number back."""

    def __init__(self, relation: LevelRelation) -> None:
        self.relation = relation
        self.numbers: dict[tuple[Group, ...], int] = {}
        self.levels: list[int] = []
        self._free: list[int] = []  # a heap, so that a new group has the lowest number

    @classmethod
    def restored(cls, relation: LevelRelation, tasks: Sequence[Hashable], levels: Levels) -> GroupIndex:
        """The index of the groups that these tasks are in, by the numbers that their levels have.

        Raises
        ------
        ValueError
            If the levels are of other groups than the relation has the tasks in, or weigh them as no relation does.
        """
        require_within("what tasks have of their own", levels.own, 0.0, MOST)
        require_within("what tasks share", levels.weight, -MOST, MOST)
        made, paths = cls(relation), levels.paths[: len(tasks)]
        some, most = made._unlike(tasks), len(levels.weight)
        sound = paths.shape == (len(tasks), relation.depth) and not (relation.alike and (paths != paths[:1]).any())
        for task, row in zip(some, paths[: len(some)].tolist() if sound else (), strict=sound):
            route = relation.path(task)
            known = [made.numbers.setdefault(route[: n + 1], number) for n, number in enumerate(row[: len(route)])]
            sound = sound and row == known + [-1] * (relation.depth - len(route)) and all(0 <= n < most for n in known)
        if not sound or len({*made.numbers.values()}) < len(made.numbers):
            raise ValueError(f"the tasks are in other groups than {type(relation).__name__} has them in")
        made.levels = [0] * (max(made.numbers.values(), default=-1) + 1)
        for route, number in made.numbers.items():
            made.levels[number] = len(route) - 1
        made._free = sorted({*range(len(made.levels))} - {*made.numbers.values()})
        require(not levels.members[len(made) :].any(), "members are not those of paths")
        return made

    def __len__(self) -> int:
        return len(self.levels)

    def __copy__(self) -> GroupIndex:
        made = GroupIndex(self.relation)
        made.numbers, made.levels, made._free = dict(self.numbers), list(self.levels), list(self._free)
        return made

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
        """As :meth:`extend`, but each new task counts from its first record on, by the ``Arrivals`` returned."""
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
        """Levels with the groups and own weights of new tasks, and the groups of the tasks :meth:`_unlike` names."""
        routes = [self.relation.path(task) for task in self._unlike(new)]
        numbers = np.fromiter(chain.from_iterable(map(self._number, routes)), np.int64)
        paths = numbers.reshape(len(routes), self.relation.depth)
        last = known + len(new)
        levels = self._roomy(levels, last)
        levels.paths[known:last] = paths
        levels.own[known:last] = [self.relation.own(len(route)) for route in routes]
        return levels, paths

    def drop(self, levels: Levels, dropped: Dropped, tasks: Sequence[Hashable], rounds: int) -> NDArray[np.int64]:
        """Let tasks leave, weights changing as of round ``rounds``; gives the numbers of groups left without a task."""
        leaving: Counter[tuple[Group, ...]] = Counter()
        each = len(tasks) if self.relation.alike else 1
        for route in map(self.relation.path, self._unlike(tasks)):
            for level in range(len(route)):
                leaving[route[: level + 1]] += each
        empty = []
        for route, departures in leaving.items():
            number = self.numbers[route]
            self._reweigh(levels, number, -departures, rounds)
            if levels.members[number] == 0:
                empty.append(number)
                heapq.heappush(self._free, self.numbers.pop(route))
        for array in (levels.members, levels.weight, levels.spent, levels.since):
            array[empty] = 0
        dropped.move(levels.paths)
        dropped.move(levels.own)
        return np.array(empty, np.int64)

    def unseen_task_model(self, levels: Levels, tasks: Sequence[Hashable]) -> Levels:
        """Levels of tasks that nobody has seen: their known groups, and nothing of their own."""
        paths = np.full((len(tasks), self.relation.depth), -1, np.int64)
        for row, task in zip(paths, tasks, strict=True):
            route = self.relation.path(task)
            row[: len(route)] = [self.numbers.get(route[: n + 1], -1) for n in range(len(route))]
        return levels._replace(paths=paths, own=np.zeros(len(tasks)))

    def _unlike(self, tasks: Sequence[Hashable]) -> Sequence[Hashable]:
        """The tasks whose groups the relation is asked for: only the first if it treats all alike."""
        return tasks[:1] if self.relation.alike else tasks

    def _number(self, route: tuple[Group, ...]) -> list[int]:
        """The numbers of the groups of a task, the widest first, -1 for those that it lacks."""
        for level in range(len(route)):
            if route[: level + 1] not in self.numbers:
                self._number_group(route[: level + 1], level)
        known = [self.numbers[route[: level + 1]] for level in range(len(route))]
        return known + [-1] * (self.relation.depth - len(route))

    def _number_group(self, route: tuple[Group, ...], level: int) -> None:
        if self._free:
            self.numbers[route] = heapq.heappop(self._free)
            self.levels[self.numbers[route]] = level
        else:
            self.numbers[route] = len(self.levels)
            self.levels.append(level)

    def _roomy(self, levels: Levels, tasks: int) -> Levels:
        if tasks <= len(levels.own) and len(self) <= len(levels.weight):
            return levels
        of_tasks, of_groups = levels[:2], levels[2:]
        return Levels(
            *(enlarged(array, tasks) for array in of_tasks), *(enlarged(array, len(self)) for array in of_groups)
        )

    def _reweigh(self, levels: Levels, group: int, arrivals: int, rounds: int) -> None:
        levels.members[group] += arrivals
        members = int(levels.members[group])
        weight = self.relation.shared(self.levels[group], members) if members else 0.0
        reweigh.py_func(levels, group, weight, rounds)  # type: ignore[attr-defined]


def _ranks(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many entries before each are equal to it."""
    order = np.argsort(groups, kind="stable")
    held = groups[order]
    begins = np.flatnonzero(np.diff(held, prepend=-1))
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(begins, np.diff(begins, append=len(groups)))
    return ranks
