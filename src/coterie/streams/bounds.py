"""How many mistakes a multitask Perceptron can have made at most, whatever the stream was."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .progressive import Trace


@dataclass(frozen=True)
class MistakeBound:
    """The mistake bound of a stream for one comparator, and what it is made of.

    Attributes
    ----------
    loss : float
        L, the comparator's hinge loss, summed over the rounds with a mistake.
    complexity : float
        c q: max‖x‖² over those rounds, times max_i M_ii, times u'(A ⊗ I)u.
    """

    loss: float
    complexity: float

    @property
    def mistakes(self) -> float:
        """L + c q + sqrt(c q L), which the number of mistakes cannot exceed."""
        return self.loss + self.complexity + math.sqrt(self.complexity * self.loss)


def mistake_bound(trace: Trace, X: Any, U: ArrayLike, penalty: float, max_diagonal: float) -> MistakeBound:
    """Theorem 1 of CCG08 for the stream that a multitask Perceptron went through, and a comparator of one's choice.

    For every comparator U, a linear classifier u_i for each task,

        mistakes <= L + c q + sqrt(c q L),    c = max‖x‖² max_i M_ii,    q = u'(A ⊗ I)u,

    L being the comparator's hinge loss, Σ max(0, 1 - y u_i · x), on the rounds with a mistake; those rounds are enough
    for max‖x‖ too. It holds for the rule :class:`~coterie.Perceptron` under a relation that did not change on the way
    (all tasks known from the start), without averaging and delay. A factor of A cancels in c q.

    Parameters
    ----------
    trace : Trace
        Of the Perceptron's first pass.
    X : array or sparse matrix, shape (n, d)
        The records of the stream.
    U : array, shape (K, d)
        The comparator; row i is that of ``trace.tasks[i]``.
    penalty : float
        u'(A ⊗ I)u.
    max_diagonal : float
        The largest entry on the diagonal of M = A⁻¹.

    Returns
    -------
    MistakeBound
        Its ``mistakes`` is the bound. O(nnz).

    Raises
    ------
    ValueError
        If X has not one row a round, or U not one row a task and one column a feature.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y, users = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]), [1, 0, 1], ["ann", "bob", "ann"]
    >>> model = ct.MultitaskPerceptron(ct.MeanRegularized(b=1))
    >>> trace = ct.progressive_validation(model, X, y, task=users)
    >>> U, M = np.array([[1.0, 1.0], [0.0, -1.0]]), model.relation_matrix_
    >>> bound = mistake_bound(trace, X, U, penalty(U, M), M.diagonal().max())
    >>> trace.mistakes, round(bound.mistakes, 3)
    (2, 4.125)
    """
    V = np.asarray(U, dtype=np.float64)
    if X.shape[0] != trace.n:
        raise ValueError(f"X must have one row a round, shape ({trace.n}, d), got shape {X.shape}")
    if V.shape != (len(trace.tasks), X.shape[1]):
        raise ValueError(f"U must have shape ({len(trace.tasks)}, {X.shape[1]}), got {V.shape}")
    rounds = np.flatnonzero(trace.mistake)
    sign = np.where(trace.label[rounds] == trace.classes[-1], 1.0, -1.0)
    margins, lengths = _against(X[rounds], V, trace.task[rounds])
    loss = np.maximum(0.0, 1.0 - sign * margins).sum()
    return MistakeBound(float(loss), float(lengths.max(initial=0.0) * max_diagonal * penalty))


def penalty(U: ArrayLike, M: ArrayLike) -> float:
    """u'(A ⊗ I)u = tr(U'A U) for task vectors in the rows of U, shape (K, d), and M = A⁻¹ such as a relation matrix.

    Raises
    ------
    numpy.linalg.LinAlgError
        If M has no inverse, as that of :class:`~coterie.Pooled`.

    Examples
    --------
    >>> round(penalty([[1.0], [-1.0]], [[0.75, 0.25], [0.25, 0.75]]), 12)
    4.0
    """
    V = np.asarray(U, dtype=np.float64)
    return float(np.vdot(V, np.linalg.solve(np.asarray(M, dtype=np.float64), V)))


def _against(X: Any, U: NDArray[np.float64], task: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """u_i · x and ‖x‖² of every record."""
    margins, squares = np.zeros(len(task)), X.multiply(X) if hasattr(X, "multiply") else X * X
    for i in range(len(U)):
        of_task = np.flatnonzero(task == i)
        margins[of_task] = X[of_task] @ U[i]
    return margins, np.asarray(squares.sum(axis=1)).ravel()
