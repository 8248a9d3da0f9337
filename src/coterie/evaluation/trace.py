"""The trace of a stream: margins, predictions and labels, round by round."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.wording import counted, html_table

from .costs import costs, words_of
from .view_weights import ViewWeights


@dataclass(frozen=True, repr=False)
class Trace:
    """The rounds of a stream: margins, predictions, labels, one entry a round.

    Attributes
    ----------
    margin : ndarray of float64
        The margin before the label was seen, positive for ``classes[1]``.
    prediction : ndarray
        The label predicted, a zero margin being ``classes[1]``; None where no label had come until the end.
    mistake : ndarray of bool
        Whether y·margin <= 0, the mistake of updates and of bounds: a zero margin is one whatever was predicted.
    updated : ndarray of bool
        Whether the record moved the weights.
    queried : ndarray of bool
        Whether the label was asked for; all are, but by :class:`coterie.SelectiveSampling`.
    label : ndarray
        The true label.
    task : ndarray of int64
        The task's place in ``tasks``.
    tasks : tuple
        The tasks in order of first appearance.
    classes : ndarray
        The labels, the negative one first.
    probability : ndarray of float64 or None
        The probability of ``classes[1]`` before the label was seen, where the learner has one.
    stored : ndarray of bool or None
        Whether the record became a support vector, where the learner has some.
    evicted : ndarray of int64 or None
        The place in ``tasks`` of the task whose support vector it took; -1 for none, -2 for one of another stream.
    weights : ViewWeights or None
        Of records of several views, how much each weighed as the stream went on.
    weight : ndarray of float64 or None
        How much each record counts, where it was said.
    """

    margin: NDArray[np.float64]
    prediction: NDArray[Any]
    mistake: NDArray[np.bool_]
    updated: NDArray[np.bool_]
    queried: NDArray[np.bool_]
    label: NDArray[Any]
    task: NDArray[np.int64]
    tasks: tuple[Hashable, ...]
    classes: NDArray[Any]
    probability: NDArray[np.float64] | None = None
    stored: NDArray[np.bool_] | None = None
    evicted: NDArray[np.int64] | None = None
    weights: ViewWeights | None = None
    weight: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        """The numbers of rounds and tasks, and the error; the attributes have the arrays of single rounds."""
        words = words_of(self)
        error = f"{words.value(self.error)} {words.error}, {counted(self.mistakes, 'mistake')}"
        return f"<{type(self).__name__}: {counted(self.n, 'round')} of {counted(len(self.tasks), 'task')}, {error}>"

    def _repr_html_(self) -> str:
        """The same as a table, as notebooks show it."""
        words = words_of(self)
        row = [
            f"{self.n:,}",
            f"{len(self.tasks):,}",
            words.value(self.error),
            f"{self.mistakes:,}",
            f"{self.queries:,}",
        ]
        return html_table(["rounds", "tasks", words.error, "mistakes", "labels asked for"], [row], words=0)

    @property
    def n(self) -> int:
        """The number of rounds."""
        return len(self.margin)

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Flags of the rounds whose predicted label was not the true one, which is what errors count."""
        return np.asarray(self.prediction != self.label, bool)

    @property
    def mistakes(self) -> int:
        """The number of mistakes, zero margins among them; at least the number of wrong predictions."""
        return int(self.mistake.sum())

    @property
    def queries(self) -> int:
        """The number of labels asked for."""
        return int(self.queried.sum())

    @property
    def error(self) -> float:
        """The mean cost of a round, 1 for a wrong label or the distance of a number, by weights; nan for no rounds."""
        return mean_of(costs(self), self.weight)


def mean_of(cost: NDArray[Any], weight: NDArray[np.float64] | None) -> float:
    """The mean of costs, each counting by its weight where there are weights; nan where there is nothing to count."""
    counted = float(len(cost)) if weight is None else float(weight.sum())
    if not counted:
        return float("nan")
    return float(cost.mean()) if weight is None else float(weight @ cost / counted)
