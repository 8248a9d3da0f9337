"""The learner that moves by a ball around each record."""

from __future__ import annotations

from typing import Any

from coterie.learner import Learner
from coterie.numeric.ball import Measured
from coterie.state import State


class BallLearner(Learner):
    """A learner of weights that are measured, under a relation whose M never changes.

    Raises
    ------
    TypeError
        As :class:`Learner`, and under a relation by the number of tasks, since the length of what was learned would be
        another with each that comes.
    """

    def __init__(self, hypothesis: Any, relation: Any, rule: Any) -> None:
        super().__init__(hypothesis, relation, rule)
        if getattr(relation, "counts_tasks", False):
            raise TypeError(
                f"{rule!r} cannot learn under {relation!r}, whose M changes with every task that comes, and so the "
                "length of the weights: give share= instead of b, or take PotentialMultitaskPerceptron(PNorm(2))"
            )

    def adopt(self, state: State) -> None:
        """Refuse a state whose weights were never measured: ValueError."""
        if not isinstance(state.model, Measured):
            raise ValueError(f"{self.rule!r} cannot go on with weights whose length is not known: fit anew")

    def check_dropping(self, state: State) -> None:
        """Refuse to drop tasks: what their moves are of the length of all weights is not kept."""
        raise ValueError(f"a model that learns by {self.rule!r} cannot forget a task: its moves shrank those of others")

    def check_bounded(self) -> None:
        """Refuse, as :meth:`check_dropping`."""
        raise ValueError(f"max_tasks cannot be given with {self.rule!r}: its moves shrink those of all tasks")
