"""OMCL, with which FOR09 §4.2.3 compares: Jie, Orabona and Caputo, ACCV 2009, here for two classes.

The lower layer has one Projectron++ per view, updated by its own margin. The upper layer has the margin ω · h, with the
margins h of the views; after their updates, h is computed again, and ω makes a passive-aggressive step on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import MultitaskKernelPerceptron
from coterie.tasks import Independent
from coterie.updates import Projectron

Grams = Mapping[str, NDArray[np.float64]]


class MultiCue:
    """A Projectron++ for each view, and weights of their margins.

    Parameters
    ----------
    eta : float
        The distance from the span of its support vectors above which a Projectron adds a record.
    C : float
        The largest step of the weights.
    """

    def __init__(self, eta: float = 0.1, C: float = 1.0) -> None:
        self.eta, self.C = eta, C

    def learn(self, X: Grams, y: NDArray[Any]) -> float:
        """Learn the kernel values of all pairs of records, view by view; return the wrong predictions in %."""
        budget = Projectron(self.eta, plus=True)
        self.views = {name: MultitaskKernelPerceptron("precomputed", Independent(), budget=budget) for name in X}
        self.weights, self.classes, wrong = np.zeros(len(X)), np.unique(y), 0
        for t, label in enumerate(y):
            record = {name: values[t : t + 1] for name, values in X.items()}
            wrong += (t == 0 and label != self.classes[1]) or (t > 0 and self.predict(record)[0] != label)
            for name, model in self.views.items():
                model.partial_fit(record[name], [label], classes=self.classes)
            h, sign = self.margins(record)[0], 1.0 if label == self.classes[1] else -1.0
            loss, length = 1.0 - sign * float(self.weights @ h), float(h @ h)
            if loss > 0.0 and length > 0.0:
                self.weights += min(self.C, loss / length) * sign * h
        return 100.0 * wrong / len(y)

    def predict(self, X: Grams) -> NDArray[Any]:
        """Predict labels from kernel values with the records learned."""
        return np.asarray(self.classes[(self.margins(X) @ self.weights >= 0.0).astype(int)])

    def margins(self, X: Grams) -> NDArray[np.float64]:
        """The margins of each record, one for each view."""
        return np.column_stack([self.views[name].decision_function(values) for name, values in X.items()])
