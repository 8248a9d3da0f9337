"""A pool that each task enters with a sign of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie import spec
from coterie.hypotheses import linear
from coterie.hypotheses.tables import Weights
from coterie.numeric.arrays import grown
from coterie.numeric.models import Levels
from coterie.numeric.signed import Signed as SignedModel


@spec.part
class Signed:
    """Tasks that mirror the others share with their signs turned: task i sees the model through sigma_i = sign(c_i).

    The vote c_i begins at ``prior`` and counts, round by round, whether the model unturned was right about task i,
    c_i += y · sign(margin unturned). A task whose vote falls below zero predicts and learns with all signs turned, so
    that what the others know of it is used rather than unlearned. With a quarter of the tasks turned round this takes
    back most of the loss; where none is, it costs nothing. Meant for :class:`coterie.relations.Pooled`.

    Parameters
    ----------
    hypothesis : part
        What is shared.
    prior : float >= 0
        How many rounds must have spoken against a task's sign before it turns.

    Examples
    --------
    >>> from coterie.hypotheses import AdaptiveGradient
    >>> Signed(AdaptiveGradient()).prior
    5.0
    """

    hypothesis: Any
    prior: float = 5.0

    def __post_init__(self) -> None:
        if not (self.prior >= 0 and np.isfinite(self.prior)):
            raise ValueError(f"prior must be finite and at least 0, got {self.prior!r}")
        if "levels" not in self.forms:
            raise TypeError(f"Signed cannot turn {self.hypothesis!r}: it needs a hypothesis for relations by levels")

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of relation that the wrapped hypothesis learns under, those that give columns excepted."""
        return tuple(form for form in self.hypothesis.forms if form != "columns")

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves that the wrapped hypothesis can make."""
        return tuple(self.hypothesis.moves)

    def grouped(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> SignedModel:
        """As the wrapped hypothesis, with a vote for every task."""
        model = self.hypothesis.grouped(levels, groups, tasks, features, dense)
        return SignedModel(model, np.zeros(len(levels.own)), float(self.prior))

    def fit(self, model: SignedModel, groups: int, tasks: int, features: int, dense: bool) -> SignedModel:
        """The model with room for so many groups, tasks and features."""
        votes = grown(model.votes, len(linear.levels_of(model).own))
        return model._replace(model=self.hypothesis.fit(model.model, groups, tasks, features, dense), votes=votes)


@linear.make_room.register
def _(model: SignedModel, i: int, entries: int) -> SignedModel:
    return model._replace(model=linear.make_room(model.model, i, entries))


@linear.levels_of.register
def _(model: SignedModel) -> Levels:
    return linear.levels_of(model.model)


@linear.with_levels.register
def _(model: SignedModel, levels: Levels) -> SignedModel:
    return model._replace(model=linear.with_levels(model.model, levels))


@linear.as_unseen.register
def _(model: SignedModel, levels: Levels) -> SignedModel:
    return model._replace(model=linear.as_unseen(model.model, levels), votes=np.zeros(len(levels.own)))


@linear.weights.register
def _(model: SignedModel, tasks: int, features: int) -> Weights:
    signs = np.where(model.prior + model.votes[:tasks] >= 0.0, 1.0, -1.0)
    return np.asarray(signs[:, None] * linear.weights(model.model, tasks, features))
