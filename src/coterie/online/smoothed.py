"""Multitask learning by smoothed relations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import persistence
from coterie.hypotheses.smoothed import SmoothedWeights
from coterie.learners.smoothed import SmoothedLearner
from coterie.relations import Independent, Pooled

from .estimator import OnlineEstimator
from .logistic import logistic_with_intercepts
from .perceptron import MultitaskPerceptron


@persistence.register
class SmoothedMultitaskPerceptron(OnlineEstimator):
    """Tasks that learn from each other's records, and find out from whose (Murugesan, Liu, Carbonell, Yang, NIPS 2016).

    A record (x, y) of task i has a hinge loss under the weights of every task, ℓ_k = max(0, 1 - y w_k·x). Those with a
    loss move by it, the others' by how much they trust task i, and then trust it by their losses:

        w_i <- w_i + step (1 - share) [ℓ_i > 0] y x,
        w_k <- w_k + step share η_ki [ℓ_k > 0] y x,        η_ki <- η_ki exp(-rate ℓ_k) / (the sum of row k),    k ≠ i.

    So each row of η is Hedge over the other tasks by how well the task's own weights do on theirs, and need not be
    symmetric. A task that nobody has seen is predicted by weights that learn from all tasks' records; a new task
    begins with them.

    Parameters
    ----------
    share : float from 0 to 1
        How much other tasks' records count, all together, beside the task's own: 1 - α of the paper.
    rate : float >= 0
        C / λ of the paper; with 0 all others are trusted alike.
    step : float > 0
        C of the paper.
    task_column, new_task, max_tasks, class_weight
        As in :class:`MultitaskPerceptron`.

    Attributes
    ----------
    relations_ : ndarray, shape (n_tasks, n_tasks)
        η, rows of sum one without a diagonal: how much the task of the row trusts that of the column.

    Raises
    ------
    ValueError
        For numbers out of range; when the model first learns.

    Notes
    -----
    O(K nnz + K²) a record for K tasks, and K d + K² numbers. In the paper a round has a record of every task; here it
    is one record, so a task with many records has many losses, and is trusted less than it deserves where numbers of
    records are very unlike.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(1500, 5)), rng.integers(4, size=1500)
    >>> y = X[:, 0] * np.where(task % 2 == 1, 1, -1) > 0  # odd tasks are alike, and even ones
    >>> model = ct.SmoothedMultitaskPerceptron().fit(X, y, task=task)
    >>> order = np.argsort(model.tasks_)
    >>> model.relations_[np.ix_(order, order)].round(2)
    array([[0., 0., 1., 0.],
           [0., 0., 0., 1.],
           [1., 0., 0., 0.],
           [0., 1., 0., 0.]])
    """

    relation = None

    def __init__(
        self,
        share: float = 0.5,
        rate: float = 0.1,
        step: float = 1.0,
        *,
        task_column: Hashable | None = None,
        new_task: Literal["grow", "raise"] = "grow",
        max_tasks: int | None = None,
        class_weight: Mapping[Hashable, float] | Literal["balanced"] | None = None,
    ) -> None:
        self.share = share
        self.rate = rate
        self.step = step
        self.task_column = task_column
        self.new_task = new_task
        self.max_tasks = max_tasks
        self.class_weight = class_weight

    def _make_learner(self) -> Any:
        return SmoothedLearner(SmoothedWeights(self.share, self.rate, self.step), Independent())

    def with_relation(self, relation: Any) -> Any:
        """A model whose tasks learn from their own records alone; no other relation can be had."""
        if type(relation) is Independent:
            return type(self)(**{**self.get_params(deep=False), "share": 0.0, "max_tasks": None})
        raise TypeError(f"{type(self).__name__} finds its relation out: it cannot learn under {relation!r}")

    with_intercepts = logistic_with_intercepts

    def baselines(self, seen: Any = None) -> dict[str, Any]:
        """A model a task, a Perceptron of all, and a logistic regression of all with a constant of each task."""
        kept = ("task_column", "new_task", "class_weight")
        reading: dict[str, Any] = {name: getattr(self, name) for name in kept}
        pooled = MultitaskPerceptron(Pooled(), **reading)
        own = self.with_relation(Independent())
        return {"independent": own, "pooled": pooled, "intercepts": self.with_intercepts()}

    @property
    def relations_(self) -> NDArray[np.float64]:
        """How much the task of each row learns from the records of the task of each column."""
        return np.asarray(self._fitted_model().state.model.relations[:-1].copy())
