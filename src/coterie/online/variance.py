"""Models that know how sure they are of a margin."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.index import distinct_labels
from coterie.streams import tabular
from coterie.streams.block import Block

from .base import OnlineModel
from .guard import exclusive
from .probabilistic import ProbabilisticClassifier
from .rounds import Margins


class Variances(OnlineModel):
    """Base of the online models whose learner gives means and variances of margins."""

    @exclusive
    def margin_variance(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """The variance q = φ'Pφ of each record's margin, P being the covariance of the weights. Nothing is learned.

        It is the prior's, M_ii ‖x‖², where nothing was learned of the record's features, and falls with what was.

        Raises
        ------
        ValueError
            For a task never seen, if ``new_task="raise"``.
        """
        return self._variances(*self._rows_and_tasks(X, task))

    def _variances(self, rows: Any, task: Any) -> NDArray[np.float64]:
        labels, places = distinct_labels(task)
        if self.new_task == "raise":
            self._refuse_unseen(labels)
        numbers = self.state_.tasks.numbers
        tabular.refuse_twins([label for label in labels if label not in numbers], numbers)
        learner: Any = self._learner()
        codes = np.array([numbers.get(label, -1) for label in labels], np.int64)[places]
        unseen = [labels[place] for place in places[codes < 0]]
        return np.asarray(learner.variances(self.state_, rows, codes, unseen))


#: The variance that labels have by themselves, in the probability of one. Of AROW with r from 3 to 30 it is measured.
LABELS = 0.25


class ProbitClassifier(Variances, ProbabilisticClassifier):
    """Base of the classifiers whose probabilities are a probit of margin over variance, where margins have any.

    A record's margin m has the variance v by what was learned, and its label another quarter, so that

        P(positive) = Φ(m / √(1/4 + v)),

    nearer to a half where little was seen of the record's features.
    """

    @exclusive
    def predict_proba(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """The probability of each class, shape (n, 2), columns in the order of ``classes_``.

        Raises
        ------
        AttributeError
            If the rule's margins say nothing of probabilities.
        """
        rows, tasks = self._rows_and_tasks(X, task)
        margin = self._margins(rows, *distinct_labels(tasks))
        self._columns(margin[:0])
        return self._pair(*_probit(margin, self._variances(rows, tasks)))

    @exclusive
    def predict_proba_one(self, x: Mapping[str, Any], task: Hashable = None) -> dict[Any, float]:
        """The probability of each label of one record given as a dictionary; empty before anything is learned."""
        if not self.fitted:
            return {}
        margin = np.array([self.decision_function_one(x, task)])
        self._columns(margin)
        columns = self._pair(*_probit(margin, self.margin_variance([x], None if task is None else [task])))
        return dict(zip(self.labels_.ordered, map(float, columns[0]), strict=True))

    @exclusive
    def block_probabilities(self, block: Block, margin: Margins) -> Margins | None:
        """The probability of ``classes_[1]`` for each record of a block that has been validated."""
        if self._learner().log_odds is None:
            return None
        rows, _ = tabular.block_rows(block.X, self.dtype)
        return _probit(margin, self._variances(rows, block.tasks))[0]


def _probit(margin: Margins, variance: Margins) -> tuple[Margins, Margins]:
    """The probabilities of the positive and of the negative label."""
    from scipy.special import ndtr

    z = margin / np.sqrt(LABELS + variance)
    return np.asarray(ndtr(z)), np.asarray(ndtr(-z))
