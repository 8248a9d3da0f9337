"""Models that know how sure they are of a margin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.views import distinct_labels

from . import tabular
from .base import OnlineModel


class Variances(OnlineModel):
    """Base of the online models whose learner gives means and variances of margins."""

    def margin_variance(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """The variance q = φ'Pφ of each record's margin, P being the covariance of the weights. Nothing is learned.

        It is the prior's, M_ii ‖x‖², where nothing was learned of the record's features, and falls with what was.

        Raises
        ------
        ValueError
            For a task never seen, if ``new_task="raise"``.
        """
        self._check_fitted()
        X, task = tabular.split_task(X, task, self.task_column)
        rows, _, _ = self._rows(X)
        labels, places = distinct_labels(tabular.task_labels(task, tabular.length(rows), self._tasks_known()))
        if self.new_task == "raise":
            self._refuse_unseen(labels)
        numbers = self.state_.tasks.numbers
        tabular.refuse_twins([label for label in labels if label not in numbers], numbers)
        learner: Any = self._learner()
        codes = np.array([numbers.get(label, -1) for label in labels], np.int64)[places]
        unseen = [labels[place] for place in places[codes < 0]]
        return np.asarray(learner.variances(self.state_, rows, codes, unseen))
