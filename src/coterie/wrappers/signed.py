"""Tasks that share with a sign of their own each."""

from __future__ import annotations

from typing import Any

import numpy as np

from coterie import spec
from coterie.numeric.primal.grouped import Levels
from coterie.numeric.primal.signed import Signed as SignedModel

from .wrapper import HypothesisWrapper


@spec.part
class Signed(HypothesisWrapper):
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
    prior: float = spec.field(default=5.0, at_least=0)

    def __post_init__(self) -> None:
        if "levels" not in self.forms:
            raise TypeError(f"Signed cannot turn {self.hypothesis!r}: it needs a hypothesis for relations by levels")

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms of relation that the wrapped hypothesis learns under, as far as they are of nested groups."""
        return tuple(form for form in self.hypothesis.forms if "levels" in form)

    def by_levels(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> SignedModel:
        """Make the model of the wrapped hypothesis, with a vote for every task."""
        model = self.hypothesis.by_levels(levels, groups, tasks, features, dense)
        return SignedModel(model, np.zeros(len(levels.own)), float(self.prior))
