"""One model for all tasks, but for a constant of each."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from coterie import spec

from .levels import Group


@spec.part
class Intercepts:
    """One model for all tasks, with a constant of each (a random intercept): what is known of a task is its rate.

    The margin is w · x + b_i / 2, where w is that of all tasks. b_i is learned as the weight of one more feature, which
    is 1/2 in each record of task i; so records should be of about unit length. For learners by adaptive gradients only.
    A task never seen before has no constant.

    Examples
    --------
    >>> import coterie as ct
    >>> model = ct.MultitaskLogistic(Intercepts(), fit_intercept=False)
    >>> model = model.fit([[1.0], [1.0], [1.0], [1.0]], [1, 0, 1, 0], task=["high", "low", "high", "low"])
    >>> model.predict([[1.0], [1.0]], task=["high", "low"])
    array([1, 0])
    """

    form: ClassVar[str] = "intercepts"

    # as :class:`coterie.relations.levels.LevelRelation` says it of groups: all tasks are in one
    alike: ClassVar[bool] = True
    specific: ClassVar[bool] = True
    counts_tasks: ClassVar[bool] = False
    depth: ClassVar[int] = 1

    def path(self, task: Hashable) -> tuple[Group, ...]:
        """The group of all tasks."""
        return ("all",)

    def own(self, depth: int) -> float:
        """One: a task's constant moves by whole steps."""
        return 1.0

    def shared(self, level: int, members: int) -> float:
        """One: what all tasks share moves by whole steps."""
        return 1.0
