"""What every online classifier of two classes can do beside what every online model can."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie.streams.progressive import Trace

from .base import OnlineModel
from .guard import exclusive
from .labels import TwoLabels
from .rounds import Margins


class OnlineClassifier(OnlineModel):
    """Base of the online classifiers of two classes; a subclass says which learner it is.

    Attributes
    ----------
    classes_ : ndarray
        The labels seen, the negative one first.
    """

    def _labels(self, inside: Any = None) -> TwoLabels:
        return TwoLabels(inside)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels seen, the negative one first."""
        self._check_fitted(AttributeError)
        return np.asarray(self.labels_.classes)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        task: Any = None,
        classes: Sequence[Hashable] | None = None,
        *,
        tasks: Sequence[Hashable] | None = None,
    ) -> Self:
        """Go on learning from X, y in order.

        Parameters
        ----------
        X, y, task
            As in :meth:`fit`.
        classes : sequence of two labels, optional
            The labels there will be, where the first records may hold one only.
        tasks : sequence of labels, optional
            Tasks to know from now on, whether they occur in these records or not.

        Returns
        -------
        self
        """
        self.learn_rounds(X, y, task, tasks=tasks, classes=classes)
        return self

    @exclusive
    def decision_function(self, X: Any, task: Any = None) -> Margins:
        """The margin of each record, positive for ``classes_[1]``: w_task · x. Nothing is learned.

        Raises
        ------
        ValueError
            For a task never seen, if ``new_task="raise"``; otherwise such a task is predicted by what the relation says
            of a task nobody has seen.
        """
        return self._decide(X, task)

    def decision_function_one(self, x: Mapping[str, Any], task: Hashable = None) -> float:
        """The margin of one record given as a dictionary; 0.0 before anything is learned."""
        with self._lock:
            return float(self._decide_one(x, task)) if self.fitted else 0.0

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """The share of records predicted right, weighted where weights are given."""
        return float(np.average(self.predict(X, task) == np.asarray(y), weights=sample_weight))

    def probabilities(self, margin: Margins) -> Margins | None:
        """The probability of ``classes_[1]`` for margins of the outside; None where margins say nothing of it."""
        factor = self._learner().log_odds
        return None if factor is None else np.exp(-np.logaddexp(0.0, -factor * margin))

    def judged(self, margin: Margins, label: NDArray[Any], rounds: dict[str, Any]) -> Trace:
        """The trace of rounds with these margins of the inside."""
        classes = self.classes_ if self.fitted else np.zeros(0)
        margin = self.orientation * margin
        return two_class_trace(margin, label, classes, self.probabilities(margin) if len(classes) else None, rounds)


def two_class_trace(
    margin: Margins, label: NDArray[Any], classes: NDArray[Any], probability: Margins | None, rounds: dict[str, Any]
) -> Trace:
    """The trace of rounds with these margins of the outside."""
    sign = np.where(label == classes[-1], 1.0, -1.0) if len(classes) else np.zeros(len(margin))
    return Trace(
        margin=margin,
        prediction=classes[np.where(margin >= 0, -1, 0)] if len(classes) else np.full(len(margin), None),
        mistake=sign * margin <= 0,
        label=label,
        classes=classes,
        probability=probability,
        **rounds,
    )
