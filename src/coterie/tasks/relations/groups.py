"""Arrays of nested groups for compiled code, updated when tasks are added or dropped."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import chain

import numpy as np

from coterie._compiled.core.arrays import Dropped, enlarged
from coterie._compiled.core.checks import require, require_within
from coterie._compiled.primal.grouped import NO_ARRIVALS, Arrivals, Levels, no_levels, reweigh
from coterie.settings import MOST
from coterie.types import Floats, Ints

from .levels import Group, LevelRelation


class GroupIndex:
    """Numbers groups of tasks in order of first appearance; numbers of empty groups are reused."""

    def __init__(self, relation: LevelRelation) -> None:
        self.relation = relation
        self.numbers: dict[tuple[Group, ...], int] = {}
        self.levels: list[int] = []
        self._free: list[int] = []  # a heap, so that a new group has the lowest number

    @classmethod
    def restored(cls, relation: LevelRelation, tasks: Sequence[Hashable], levels: Levels) -> GroupIndex:
        """Rebuild the group index for ``tasks`` of a relation from saved arrays of groups, ``levels``.

        Raises
        ------
        ValueError
            If the levels do not have the groups of the relation, or have weights that no relation has.
        """
        require_within("the array of tasks' own weights in M", levels.own, 0.0, MOST)
        require_within("the array of group weights in M", levels.weight, -MOST, MOST)
        index, paths = cls(relation), levels.paths[: len(tasks)]
        different, most = index._different(tasks), len(levels.weight)
        sound = paths.shape == (len(tasks), relation.depth) and not (relation.alike and (paths != paths[:1]).any())
        for task, row in zip(different, paths[: len(different)].tolist() if sound else (), strict=sound):
            route = relation.path(task)
            known = [index.numbers.setdefault(route[: n + 1], number) for n, number in enumerate(row[: len(route)])]
            sound = sound and row == known + [-1] * (relation.depth - len(route)) and all(0 <= n < most for n in known)
        if not sound or len({*index.numbers.values()}) < len(index.numbers):
            raise ValueError(f"the saved groups of the tasks differ from those of {type(relation).__name__}")
        index.levels = [0] * (max(index.numbers.values(), default=-1) + 1)
        for route, number in index.numbers.items():
            index.levels[number] = len(route) - 1
        index._free = sorted({*range(len(index.levels))} - {*index.numbers.values()})
        require(not levels.members[len(index) :].any(), "members are not those of paths")
        return index

    def __len__(self) -> int:
        return len(self.levels)

    def __copy__(self) -> GroupIndex:
        copied = GroupIndex(self.relation)
        copied.numbers, copied.levels, copied._free = dict(self.numbers), list(self.levels), list(self._free)
        return copied

    def empty(self) -> Levels:
        """Return arrays of groups, one per level, without tasks."""
        return no_levels(self.relation.depth)

    def extend(self, levels: Levels, known: int, new: Sequence[Hashable], rounds: int) -> Levels:
        """Add ``new`` tasks to their groups after ``known`` ones.

        Return ``levels``, the arrays of groups, enlarged if necessary.

        Weights change as of round ``rounds``.
        """
        levels, paths = self._enter(levels, known, new)
        # one path stands for all tasks that are in the same groups
        n_alike = len(new) if self.relation.alike else 1
        for group, arrivals in Counter(paths.ravel().tolist()).items():
            if group >= 0:
                self._reweigh(levels, group, n_alike * arrivals, rounds)
        return levels

    def expect(self, levels: Levels, known: int, new: Sequence[Hashable], rounds: int) -> tuple[Levels, Arrivals]:
        """Add ``new`` tasks that count as group members only from their first records on (see ``Arrivals``)."""
        if not self.relation.counts_tasks:
            return self.extend(levels, known, new, rounds), NO_ARRIVALS
        levels, _ = self._enter(levels, known, new)
        paths = levels.paths[known : known + len(new)]
        weights = np.zeros(paths.shape)
        for level, groups in enumerate(paths.T):
            there = np.flatnonzero(groups >= 0)
            # the size of its group when this task is added, after the earlier tasks of the same call
            members = levels.members[groups[there]] + _ranks(groups[there]) + 1
            weights[there, level] = [self.relation.shared(level, n) for n in members.tolist()]
        return levels, Arrivals(levels, np.array([known]), known, weights, rounds)

    def _enter(self, levels: Levels, known: int, new: Sequence[Hashable]) -> tuple[Levels, Ints]:
        """Write the groups and own weights of ``new`` tasks to the arrays ``levels`` after ``known`` tasks.

        Return the groups.
        """
        routes = [self.relation.path(task) for task in self._different(new)]
        numbers = np.fromiter(chain.from_iterable(map(self._number, routes)), np.int64)
        paths = numbers.reshape(len(routes), self.relation.depth)
        last = known + len(new)
        levels = self._resized(levels, last)
        levels.paths[known:last] = paths
        levels.own[known:last] = [self.relation.own(len(route)) for route in routes]
        return levels, paths

    def drop(self, levels: Levels, dropped: Dropped, tasks: Sequence[Hashable], rounds: int) -> Ints:
        """Remove tasks from their groups after ``rounds`` rounds; return the numbers of groups left without tasks."""
        leaving: Counter[tuple[Group, ...]] = Counter()
        n_alike = len(tasks) if self.relation.alike else 1
        for route in map(self.relation.path, self._different(tasks)):
            for level in range(len(route)):
                leaving[route[: level + 1]] += n_alike
        empty = []
        # group weights of relations by b follow the number of members, as of this round
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
        """Return the arrays of groups for tasks that were never learned: their known groups, and no own weights."""
        paths = np.full((len(tasks), self.relation.depth), -1, np.int64)
        for row, task in zip(paths, tasks, strict=True):
            route = self.relation.path(task)
            row[: len(route)] = [self.numbers.get(route[: n + 1], -1) for n in range(len(route))]
        return levels._replace(paths=paths, own=np.zeros(len(tasks)))

    def unlearned_weights(self, tasks: Sequence[Hashable]) -> Floats:
        """Return the part of M_ii of unseen tasks of which nothing was learned: their own, and that of new groups."""
        weights = []
        for route in map(self.relation.path, tasks):
            new = [level for level in range(len(route)) if route[: level + 1] not in self.numbers]
            weights.append(self.relation.own(len(route)) + sum(self.relation.shared(level, 1) for level in new))
        return np.array(weights)

    def _different(self, tasks: Sequence[Hashable]) -> Sequence[Hashable]:
        """Return the tasks with groups to look up: only the first task if all tasks have the same groups."""
        return tasks[:1] if self.relation.alike else tasks

    def _number(self, route: tuple[Group, ...]) -> list[int]:
        """Return the numbers of the groups in ``route``, a task's groups from the widest on; -1 for missing levels."""
        numbers = []
        for level in range(len(route)):
            group = route[: level + 1]
            if group not in self.numbers:
                number = heapq.heappop(self._free) if self._free else len(self.levels)
                self.numbers[group] = number
                self.levels[number : number + 1] = [level]
            numbers.append(self.numbers[group])
        return numbers + [-1] * (self.relation.depth - len(route))

    def _resized(self, levels: Levels, tasks: int) -> Levels:
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


def _ranks(groups: Ints) -> Ints:
    """Return for each entry of ``groups`` the number of equal entries before it."""
    order = np.argsort(groups, kind="stable")
    begins = np.flatnonzero(np.diff(groups[order], prepend=-1))
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(begins, np.diff(begins, append=len(groups)))
    return ranks
