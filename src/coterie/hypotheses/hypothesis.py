"""The protocols of hypotheses that :class:`coterie.round.linear.LinearLearner` learns with."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from coterie.numeric.primal.grouped import Levels
from coterie.numeric.primal.round import Model

from .storage import Storage


@runtime_checkable
class Hypothesis(Protocol):
    """A part that decides how weights are stored, and makes such a model for each form of relation it supports.

    Beside :meth:`by_levels`, one with the form ``"columns"`` has ``by_columns(columns, tasks, features, dense)`` for
    relations that give columns of M; one with ``"intercepts"`` has ``by_intercepts``, with the parameters of
    ``by_levels``, for tasks with one weight of their own each; and one with ``"learned"`` has
    ``by_learning(relation, tasks, features, dense)`` for a relation that is learned from its weights.
    """

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of relation under which it can be moved."""

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves of rules that it can make: "gradient", "shortest" and "confidence"."""

    @property
    def fades(self) -> bool:
        """True if :class:`coterie.wrappers.Forgetting` can wrap it: all its numbers may be scaled by one factor."""

    @property
    def tables(self) -> Storage:
        """The storage of the tables of weights, which makes and enlarges them."""

    def by_levels(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Model:
        """Make a model for a relation of nested groups; ``dense``: records come as dense arrays."""
