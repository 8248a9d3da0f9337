"""The protocols of hypotheses that :class:`coterie.round.linear.LinearLearner` learns with."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from coterie.numeric.primal.grouped import Levels
from coterie.numeric.primal.learned_relations import Relation
from coterie.numeric.primal.round import Model
from coterie.numeric.primal.spread import Columns, SparseColumns

from .storage import Storage


@runtime_checkable
class Hypothesis(Protocol):
    """A part that decides how weights are stored, and makes such a model for each form of relation it supports.

    One with the form ``"columns"`` is a :class:`ColumnHypothesis`, too, one with ``"intercepts"`` an
    :class:`InterceptHypothesis`, one with ``"learned"`` a :class:`LearningHypothesis`.
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


class ColumnHypothesis(Hypothesis, Protocol):
    """A hypothesis for relations that give columns of M."""

    def by_columns(self, columns: Columns | SparseColumns, tasks: int, features: int, dense: bool) -> Model:
        """Make a model for a relation that gives columns of M."""


class InterceptHypothesis(Hypothesis, Protocol):
    """A hypothesis for one model of all tasks with a constant of each."""

    def by_intercepts(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Model:
        """Make a model whose tasks have one weight of their own each."""


class LearningHypothesis(Hypothesis, Protocol):
    """A hypothesis from whose weights a relation can be learned."""

    def by_learning(self, relation: Relation, tasks: int, features: int, dense: bool) -> Model:
        """Make a model for a relation that is learned."""
