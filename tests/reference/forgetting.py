"""Forgetting from its definition: every number of every row shrinks after every round."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.perceptron import step

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def perceptron(
    X: Matrix, y: Vector, task: NDArray[np.int64], M: Matrix, half_life: float, C: float | None = None
) -> tuple[Vector, Matrix]:
    """W <- 2^(-1/H) (W + tau y M[:, i] x): margins and the last W; tau by PA-I where C is given."""
    W = np.zeros((len(M), X.shape[1]))
    margins = np.zeros(len(y))
    for t, (x, i) in enumerate(zip(X, task, strict=True)):
        margins[t] = W[i] @ x
        tau = step("perceptron" if C is None else "PA-I", C or 0.0, y[t] * margins[t], M[i, i] * (x @ x))
        W = 2.0 ** (-1.0 / half_life) * (W + tau * y[t] * np.outer(M[:, i], x))
    return margins, W


class Fading:
    """A learner of :mod:`reference.adalog` whose numbers go back to where they began, by a half-life, after every round.

    ``own`` says which numbers fade as a task's own, by their row and feature; the others fade as what all share.
    """

    def __init__(
        self, learner: Any, half_lives: tuple[float, float], own: Any = lambda row, j: row[0] == "own"
    ) -> None:
        self.learner, self.own, self.margin = learner, own, learner.margin
        self.left = [2.0 ** (-1.0 / half_life) for half_life in half_lives]

    def learn(self, x: Any, task: Any, y: float, t: int) -> None:
        """A round of the learner, and its end."""
        self.learner.learn(x, task, y, t)
        weights = {row[0] == "own": weight for row, weight in self.learner.rows(task, t)}
        squares, variances = getattr(self.learner, "Q", {}), getattr(self.learner, "S", {})
        for row, j in self.learner.w:
            left, prior = self.left[self.own(row, j)], 1.0 / weights[row[0] == "own"]
            self.learner.w[row, j] *= left
            if squares:
                squares[row, j] = self.learner.start + left * (squares[row, j] - self.learner.start)
            if variances:
                variances[row, j] = 1.0 / (prior + left * (1.0 / variances[row, j] - prior))
