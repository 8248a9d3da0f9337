"""What estimators share whose functions are expansions over kernel values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.index import distinct_labels
from coterie.kernels import Gaussian, as_kernel
from coterie.streams import tabular

from .base import BatchEstimator
from .expansion import Expansion
from .outputs import prior_rows

Array = NDArray[Any]


class KernelEstimator(BatchEstimator):
    """Base of the estimators with a kernel; what they learn is an :class:`Expansion`.

    Attributes
    ----------
    dual_coef_ : ndarray
        The coefficient of each row (and output).
    relation_matrix_ : ndarray, shape (n_tasks, n_tasks)
        The output kernel M = A⁻¹.
    """

    kernel: Any
    expansion_: Expansion

    def _kernel(self) -> Any:
        return Gaussian() if self.kernel is None else as_kernel(self.kernel)

    def _restored(self, data: dict[str, Any], arrays: dict[str, Array]) -> Expansion:
        return Expansion.restored(self._kernel(), data, arrays)

    def _evaluate(self, X: Any, task: Any) -> Array:
        """The value of every output at each record, shape (n, outputs), or (n,) where tasks are asked for."""
        self._check_fitted()
        X, task = tabular.split_task(X, task, self.task_column)
        made = self._points(X, learning=False)
        held = self.expansion_
        if held.codes is None and task is None:
            return held.all_tasks(made)
        distinct, places = distinct_labels(tabular.task_labels(task, len(made.squares), held.tasks.numbers))
        return held.at_tasks(made, self._task_rows(distinct), places)

    def _task_rows(self, distinct: Sequence[Hashable]) -> Array:
        """The rows of M for these tasks, those of the relation's prior for tasks that are new.

        Raises
        ------
        ValueError
            For a new task, if ``new_task="raise"`` or the relation knows nothing of it.
        """
        known, held = self.expansion_.tasks.numbers, self.expansion_
        new = self._unseen(distinct)
        rows = np.zeros((len(distinct), len(held.M)))
        prior = dict(zip(new, prior_rows(self.relation, new, self.tasks_), strict=True))
        for place, label in enumerate(distinct):
            rows[place] = held.M[known[label]] if label in known else prior[label]
        return rows

    @property
    def dual_coef_(self) -> Array:
        """The coefficients c of the rows, as y was shaped."""
        self._check_fitted(AttributeError)
        return self.expansion_.C[:, 0] if self.expansion_.flat else self.expansion_.C

    @property
    def relation_matrix_(self) -> Array:
        """The output kernel M = A⁻¹ of the tasks learned from."""
        self._check_fitted(AttributeError)
        return self.expansion_.M
