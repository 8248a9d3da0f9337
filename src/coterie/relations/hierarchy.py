"""A tree of tasks: user, country, everybody."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from coterie import spec

from .files import TaskType, read_parents
from .levels import SHARE, B, Group, LevelRelation, choose_strength


@spec.part
class Hierarchy(LevelRelation):
    """Tasks are drawn to the mean of each of their ancestors: A = I + Σ_l b_l (I - P_l).

    P_l averages over the tasks that share their ancestor at level l, counted from the root. M is then diagonal plus one
    block a level. A task with fewer ancestors than others is its own group at the levels it lacks.

    Parameters
    ----------
    parents : mapping or str
        Node to parent, tasks being the nodes one asks for: ``{"u1": "fr", "u2": "fr", "fr": "all"}``. Or a separator by
        which a task's label names its ancestors: with ``"/"``, task ``"fr/u1"`` lies below ``"fr"``, which lies below
        the root; then tasks may be new at any time.
    b : float or tuple of float, each > -1
        Strength, one for all levels or one for each, the root's first.
    share : float or tuple of float, each in [0, 1], summing to at most 1
        The same on a scale that keeps its meaning as tasks arrive: M = (1 - Σ s_l) I + Σ_l s_l (blocks of ones). A
        single number is divided evenly over the levels; one half where neither is given.

    Raises
    ------
    ValueError
        For a cycle, an unknown task, strengths out of range or as many of them as there are not levels.

    Examples
    --------
    >>> tree = Hierarchy({"u1": "fr", "u2": "fr", "u3": "it", "fr": "all", "it": "all"}, share=(0.25, 0.25))
    >>> tree.relation_matrix(["u1", "u2", "u3"])
    array([[1.  , 0.5 , 0.25],
           [0.5 , 1.  , 0.25],
           [0.25, 0.25, 1.  ]])
    """

    parents: Mapping[Hashable, Hashable] | str
    b: float | Sequence[float] | None = spec.field(B, default=None, several=True)
    share: float | Sequence[float] | None = spec.field(SHARE, default=None, several=True)

    def __post_init__(self) -> None:
        if not isinstance(self.parents, (Mapping, str)) or not self.parents:
            raise ValueError(f"parents must map nodes to parents or be a separator, got {self.parents!r}")
        choose_strength(self, self.b, self.share)
        for b in self._strengths() if self.b is not None else ():
            B.check("b", b)
        if self.share is not None:
            SHARE.check("share", sum(self._strengths()))
            SHARE.check("share", min(self._strengths()))

    @classmethod
    def read(cls, path: str | Path, task_type: TaskType = None, **fields: Any) -> Self:
        """Read the parent of each node, from a CSV file of ``node,parent``.

        Parameters
        ----------
        path : str or Path
            The file. A header with these names is skipped.
        task_type : {int, str}, optional
            The type of tasks; inferred if not given: `int` if all are whole numbers.
        **fields
            Other parameters of the class.

        Raises
        ------
        ValueError
            If a line has another form, with file and line.
        OSError
            If the file cannot be read.
        """
        return cls(read_parents(path, task_type), **fields)

    @cached_property
    def depth(self) -> int:
        """The number of levels above the tasks."""
        if isinstance(self.parents, Mapping):
            return max(len(self.path(node)) for node in self.parents)
        given = self.b if self.b is not None else self.share
        return len(given) if isinstance(given, Sequence) else 2

    def path(self, task: Hashable) -> tuple[Group, ...]:
        if isinstance(self.parents, str):
            return self._named_path(task, self.parents)
        if task not in self.parents:
            raise ValueError(f"task {task!r} has no parent in Hierarchy: give it one in parents")
        above = [self.parents[task]]
        while above[-1] in self.parents:
            above.append(self.parents[above[-1]])
            if above[-1] in above[:-1] or above[-1] == task:
                raise ValueError(f"parents has a cycle through {above[-1]!r}")
        return tuple(reversed(above))

    def _named_path(self, task: Hashable, separator: str) -> tuple[Group, ...]:
        parts = str(task).split(separator)
        if len(parts) > self.depth:
            raise ValueError(
                f"task {task!r} names {len(parts) - 1} ancestors below the root, and there are strengths for "
                f"{self.depth - 1}: give b or share as a tuple with one number a level"
            )
        return tuple(separator.join(parts[:n]) for n in range(len(parts)))

    @cached_property
    def _levels(self) -> tuple[float, ...]:
        return self._strengths()

    def _strengths(self) -> tuple[float, ...]:
        given = self.b if self.b is not None else self.share
        if isinstance(given, Sequence):
            if len(given) != self.depth:
                raise ValueError(f"there are {self.depth} levels and {len(given)} strengths: give one number a level")
            return tuple(float(each) for each in given)
        return (float(given or 0.0) / (1 if self.share is None else self.depth),) * self.depth

    def own(self, depth: int) -> float:
        above = sum(self._levels[:depth])
        return 1.0 / (1.0 + above) if self.share is None else 1.0 - above

    def shared(self, level: int, members: int) -> float:
        if self.share is not None:
            return self._levels[level]
        above = 1.0 + sum(self._levels[:level])
        return (1.0 / above - 1.0 / (above + self._levels[level])) / members
