"""What classifiers in batch share: labels and scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .base import BatchEstimator
from .coding import Labels

Array = NDArray[Any]


class BatchClassifier(BatchEstimator):
    """What classifiers in batch have in common: scores by class, labels, probabilities where they were calibrated.

    Attributes
    ----------
    classes_ : ndarray
        The labels, sorted; where rows have several, the numbers of the columns of y.
    """

    _kind = "classifier"
    labels_: Labels

    def fit(self, X: Any, y: Any, task: Any = None, *, tasks: Sequence[Hashable] | None = None) -> Self:
        """Forget everything and learn.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Arrow table or list of dictionaries, shape (n, d)
            The records.
        y : array, shape (n,) or (n, n_labels)
            Their labels, any values; or 0 and 1 in a column for each label, where a row may have several.
        task : array, shape (n,), optional
            The task of each row, any hashable labels.
        tasks : sequence of labels, optional
            Tasks to know whether they have rows or not.

        Returns
        -------
        self
        """
        return self._fit(X, y, task, tasks)

    def decision_function(self, X: Any, task: Any = None) -> Array:
        """The score of each class, shape (m, n_classes); of the second class, shape (m,), where there are two."""
        self._check_fitted()
        return self.labels_.scores(self._outputs(X, task))

    def predict(self, X: Any, task: Any = None) -> Array:
        """The label of each record, or 0 and 1 for each label where a row may have several."""
        self._check_fitted()
        return self.labels_.labels(self.decision_function(X, task))

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """The share of records whose labels are all predicted right."""
        right = self.predict(X, task) == np.asarray(y)
        return float(np.average(right if right.ndim == 1 else right.all(axis=1), weights=sample_weight))

    @property
    def classes_(self) -> Array:
        """The labels."""
        self._check_fitted(AttributeError)
        return self.labels_.classes

    @abstractmethod
    def _outputs(self, X: Any, task: Any) -> Array:
        """The outputs at each record, shape (m, p)."""

    def dump(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Everything there is to keep, as data with a JSON form and named arrays."""
        data, arrays = super().dump()
        if data:
            data["labels"], data["middle"] = self.labels_.classes, self.labels_.middle
            arrays |= {} if self.labels_.codes is None else {"codes of classes": self.labels_.codes}
        return data, arrays

    def restore(self, data: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Undo :meth:`dump`."""
        if data:
            classes = data["labels"] if data["labels"].dtype != object else np.array(data["labels"].tolist())
            self.labels_ = Labels(classes, arrays.get("codes of classes"), data["middle"])
        return super().restore(data, arrays)


def check_rows(Y: Array, n: int) -> None:
    """Refuse labels that are not as many as records."""
    if len(Y) != n:
        raise ValueError(f"y must hold one label a record: got {len(Y)} for {n} records")
