"""Mistake bound of the matrix Perceptron with tasks as views."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from coterie.evaluation.trace import Trace
from coterie.multiview.norms import EXPONENT
from coterie.types import RowMatrix

from .perceptron import mistake_bound
from .views import ViewBound, schatten_norm


def spectral_bound(trace: Trace, X: RowMatrix, U: ArrayLike, p: float) -> ViewBound:
    """The bound of CCG08 Theorem 10 for a multitask Perceptron under ``Spectral(p)``, its stream and a comparator.

    A record of task i is a matrix whose only column that is not 0 is the i-th, of Schatten norm ‖x‖. So for every
    comparator U, a linear classifier u_i for each task,

        mistakes <= L + (2p - 1)(XU)² + XU sqrt((2p - 1) L),

    with X = max‖x‖, U the Schatten-2q norm of the comparator, 2q = 2p / (2p - 1), and L its hinge loss,
    Σ max(0, 1 - y u_i · x); rounds with a mistake are enough for X and L. It holds for the rule
    :class:`~coterie.rules.Perceptron`, from the first record on, without averaging and delay, whenever tasks arrive. It
    is least for p = 1, independent tasks: U grows with p, and the gain that the paper sees comes from records of many
    columns, whose Schatten norm falls.

    Parameters
    ----------
    trace : Trace
        The trace of the first pass.
    X : array or sparse matrix, shape (n, d)
        The records of the stream.
    U : array, shape (K, d)
        The comparator; row i is that of ``trace.tasks[i]``.
    p : float >= 1
        The relation's p.

    Raises
    ------
    ValueError
        If X has not one row a round, or U not one row a task and one column a feature.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y, users = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]), [1, 0, 1], ["ann", "bob", "ann"]
    >>> trace = ct.progressive_validation(ct.MultitaskPerceptron(ct.relations.Spectral(2)), X, y, task=users)
    >>> bound = spectral_bound(trace, X, [[1.0, 1.0], [0.0, -1.0]], p=2)
    >>> trace.mistakes, round(bound.mistakes, 3)
    (2, 11.336)
    """
    EXPONENT.check("p", p)
    bound = mistake_bound(trace, X, U, 1.0, 1.0)  # L, and X² as the complexity
    size = schatten_norm(np.asarray(U, np.float64), 2.0 * p / (2.0 * p - 1.0))
    return ViewBound(bound.loss, float(np.sqrt(bound.complexity)), size, float(p), 1)
