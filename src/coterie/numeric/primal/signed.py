"""A sign for each task in front of any model, decided by a vote, for tasks that may mirror the others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.arrays import Dropped, grown
from coterie.numeric.core.checks import Bounds, require, require_finite, require_rows, require_shape
from coterie.numeric.core.generic import compiled, when

from .round import Extent, FitTable, Weights, Wrapper, add, report, score, tick


class _SignedFields(NamedTuple):
    model: Any
    votes: Any
    prior: float


class Signed(_SignedFields, Wrapper):
    """A model that task i sees through sigma_i = sign(prior + votes[i]), a tie being +1."""

    __slots__ = ()

    def fit(self, fit_table: FitTable, groups: int, tasks: int, features: int, dense: bool) -> Signed:
        model = self.model.fit(fit_table, groups, tasks, features, dense)
        return self._replace(model=model, votes=grown(self.votes, len(model.sharing.own)))

    def to_saved(self, extent: Extent) -> Signed:
        return self._replace(model=self.model.to_saved(extent), votes=self.votes[: extent.tasks])

    def drop_tasks(self, dropped: Dropped, groups: NDArray[np.int64]) -> Signed:
        dropped.move(self.votes)
        return self._replace(model=self.model.drop_tasks(dropped, groups))

    def unseen_task_model(self, tasks: int, sharing: Any) -> Signed:
        return self._replace(model=self.model.unseen_task_model(tasks, sharing), votes=np.zeros(tasks))

    def weights(self, tasks: int, features: int) -> Weights:
        signs = np.where(self.prior + self.votes[:tasks] >= 0.0, 1.0, -1.0)
        return np.asarray(signs[:, None] * self.model.weights(tasks, features))

    def check(self, bounds: Bounds) -> None:
        super().check(bounds)
        require_shape("votes", self.votes, len(self.votes))
        require_rows("votes", self.votes, bounds.tasks)
        require_finite("votes", self.votes)
        require(np.isfinite(self.prior), f"prior is {self.prior!r}")


@compiled
def sign(model: Any, i: Any) -> Any:
    """Return the sign through which task i sees the model."""
    return 1.0 if model.prior + model.votes[i] >= 0.0 else -1.0


@when(tick, Signed)
def _tick(model: Any, i: Any, agreement: Any) -> Any:
    if agreement != 0.0:
        model.votes[i] += sign(model, i) if agreement > 0.0 else -sign(model, i)
    tick(model.model, i, agreement)


when(score, Signed)(lambda model, i, rows, t: sign(model, i) * score(model.model, i, rows, t))
when(report, Signed)(
    lambda model, i, rows, t, margin: sign(model, i) * report(model.model, i, rows, t, sign(model, i) * margin)
)
when(add, Signed)(lambda model, i, c, rows, t: add(model.model, i, sign(model, i) * c, rows, t))
