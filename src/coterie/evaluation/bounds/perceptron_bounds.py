"""Mistake bounds of the multitask Perceptron, a worst-case stream, and a risk bound."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import spec
from coterie.evaluation.trace import Trace
from coterie.types import Floats, Ints, RowMatrix


@dataclass(frozen=True)
class MistakeBound:
    """The mistake bound of a stream for one comparator, and its parts.

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
        """The mistake bound, L + c q + sqrt(c q L).

        L, ``loss``, is the comparator's hinge loss, and c q, ``complexity``, its complexity q times c, the largest
        diagonal entry of M times the largest ‖x‖².
        """
        # solves m - L <= sqrt(c q m) for m, a little loosely
        return self.loss + self.complexity + math.sqrt(self.complexity * self.loss)


def mistake_bound(trace: Trace, X: RowMatrix, U: ArrayLike, penalty: float, max_diagonal: float) -> MistakeBound:
    """Bound the mistakes of a multitask Perceptron by a comparator (CCG08 Theorem 1).

    For every comparator U, a linear classifier u_i for each task,

        mistakes <= L + c q + sqrt(c q L),    c = max‖x‖² max_i M_ii,    q = u'(A ⊗ I)u,

    with the comparator's hinge loss L = Σ max(0, 1 - y u_i · x). L and max‖x‖ are over the rounds with a mistake only.
    It holds for the rule :class:`~coterie.updates.Perceptron` under an unchanged relation (all tasks known from the
    start), without averaging and delay. A factor of A cancels in c q.

    Parameters
    ----------
    trace : Trace
        The trace of the Perceptron's first pass.
    X : array or sparse matrix, shape (n, d)
        The records of the stream.
    U : array, shape (K, d)
        The comparator; row i is for ``trace.tasks[i]``.
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
        If X does not have one row per round, or U does not have one row per task and one column per feature.

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
    V, rounds = comparators(trace, X, U), np.flatnonzero(trace.mistake)
    margins, lengths = _against(X[rounds], V, trace.task[rounds])
    loss = np.maximum(0.0, 1.0 - signs(trace)[rounds] * margins).sum()
    return MistakeBound(float(loss), float(lengths.max(initial=0.0) * max_diagonal * penalty))


def comparators(trace: Trace, X: RowMatrix, U: ArrayLike) -> Floats:
    """Return the comparator U as an array. Raise ValueError unless X has one row per round and U one row per task."""
    V = np.asarray(U, dtype=np.float64)
    if X.shape[0] != trace.n:
        raise ValueError(f"X must have one row per round, shape ({trace.n}, d), got shape {X.shape}")
    if V.shape != (len(trace.tasks), X.shape[1]):
        raise ValueError(f"U must have shape ({len(trace.tasks)}, {X.shape[1]}), got {V.shape}")
    return V


def signs(trace: Trace) -> Floats:
    """Return the labels of all rounds as 1.0 and -1.0."""
    return np.where(trace.label == trace.classes[-1], 1.0, -1.0)


def penalty(U: ArrayLike, M: ArrayLike) -> float:
    """Return the penalty u'(A ⊗ I)u = tr(U'A U) of the task vectors, the rows of U, for M = A⁻¹.

    A is the K x K interaction matrix, and U has the shape (K, d).

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


def _against(X: RowMatrix, U: Floats, task: Ints) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the margin u_i · x of each record under its task's row u_i of U, and ‖x‖²."""
    margins, squares = np.zeros(len(task)), X.multiply(X) if hasattr(X, "multiply") else X * X
    for i in range(len(U)):
        of_task = np.flatnonzero(task == i)
        margins[of_task] = X[of_task] @ U[i]
    return margins, np.asarray(squares.sum(axis=1)).ravel()


@dataclass(frozen=True)
class ShiftingBound:
    """The mistake bound of a drifting stream for a moving comparator, and its parts.

    Attributes
    ----------
    loss : float
        L, the hinge loss of the current comparators, summed over the rounds with a mistake.
    radius : float
        c, max‖x‖² over those rounds times max_i M_ii.
    path : float
        Q = ‖u_n‖ + (1 - gamma) Σ_t ‖u_t‖ + Σ_t ‖u_t - u_{t-1}‖, the norms being sqrt(u'(A ⊗ I)u).
    gamma : float
        The factor by which weights shrink in a round; 1 without forgetting.
    """

    loss: float
    radius: float
    path: float
    gamma: float

    @property
    def mistakes(self) -> float:
        """The mistake bound: the smaller of L + c Q² + Q sqrt(c L) and, with decay, L + Q sqrt(c / (1 - gamma²)).

        L, ``loss``, is the comparator's loss, Q, ``path``, the length of its path, and c, ``radius``, the largest
        squared norm of a record.
        """
        complexity = self.radius * self.path**2
        growing = self.loss + complexity + math.sqrt(complexity * self.loss)
        # without forgetting the norm of the weights has no bound but the number of mistakes
        if self.gamma == 1.0:
            return growing
        return min(growing, self.loss + self.path * math.sqrt(self.radius / (1.0 - self.gamma**2)))


def shifting_bound(
    trace: Trace, X: RowMatrix, U: ArrayLike, when: ArrayLike, M: ArrayLike, half_life: float = math.inf
) -> ShiftingBound:
    """Bound the mistakes of a multitask Perceptron on a drifting stream by a moving comparator.

    It extends :func:`mistake_bound` to comparators u_t that may change from round to round, and to weights that decay
    by gamma = 2^(-1/half_life) per round, both shared and own ones (``Forgetting``). With a_t = <u_t, w_t> in the inner
    product of A ⊗ I, a mistake gives a_{t+1} >= gamma (a_t + 1 - loss_t) - ‖u_{t+1} - u_t‖ ‖w_{t+1}‖, and ‖w_t‖² /
    gamma² is at most c times the mistakes before and at most c / (1 - gamma²); summed over the rounds this is

        mistakes <= L + Q sqrt(c mistakes)    and    mistakes <= L + Q sqrt(c / (1 - gamma²)).

    With one comparator and without forgetting it is the bound of :func:`mistake_bound`.

    Parameters
    ----------
    trace, X
        See :func:`mistake_bound`.
    U : array, shape (P, K, d)
        The comparators.
    when : array of int, shape (n,)
        The number of the comparator of each round.
    M : array, shape (K, K)
        A⁻¹, such as a relation matrix; a factor of it cancels.
    half_life : float > 0
        The half-life of the weights, in rounds.

    Raises
    ------
    ValueError
        If shapes do not fit, or the half-life is not positive.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = np.array([[1.0, 0.0]] * 6), [1, 1, 1, 0, 0, 0]
    >>> model = ct.MultitaskPerceptron(ct.Independent(), half_life=2.0)
    >>> trace = ct.progressive_validation(model, X, y)
    >>> U = np.array([[[1.0, 0.0]], [[-1.0, 0.0]]])
    >>> bound = shifting_bound(trace, X, U, [0, 0, 0, 1, 1, 1], [[1.0]], half_life=2.0)
    >>> trace.mistakes, round(bound.path, 2), round(bound.mistakes, 1)
    (2, 4.76, 6.7)
    """
    V, which = np.asarray(U, dtype=np.float64), np.asarray(when)
    if V.ndim != 3 or V.shape[1:] != (len(trace.tasks), X.shape[1]):
        raise ValueError(f"U must have shape (P, {len(trace.tasks)}, {X.shape[1]}), got {V.shape}")
    if X.shape[0] != trace.n or which.shape != (trace.n,):
        raise ValueError(f"X and when must have one entry per round, {trace.n}, got {X.shape[0]} and {which.shape}")
    if not half_life > 0:
        raise ValueError(f"half_life must be positive, got {half_life!r}")
    gamma = 2.0 ** (-1.0 / half_life)
    rounds = np.flatnonzero(trace.mistake)
    products = [_against(X[rounds], comparator, trace.task[rounds]) for comparator in V]
    margins = np.array([margin for margin, _ in products])[which[rounds], np.arange(len(rounds))]
    loss = np.maximum(0.0, 1.0 - signs(trace)[rounds] * margins).sum()
    radius = products[0][1].max(initial=0.0) * np.asarray(M).diagonal().max()
    return ShiftingBound(float(loss), float(radius), _path(V, which, M, gamma), gamma)


def _path(V: Floats, which: Ints, M: ArrayLike, gamma: float) -> float:
    norms = np.array([math.sqrt(penalty(comparator, M)) for comparator in V])
    shifts = np.flatnonzero(which[1:] != which[:-1])
    moved = sum(math.sqrt(penalty(V[which[t + 1]] - V[which[t]], M)) for t in shifts)
    last = norms[which[-1]] if len(which) else 0.0
    # rounds without a mistake count too: the weights fade in every round
    return float(last + (1.0 - gamma) * norms[which].sum() + moved)


class WorstStream(NamedTuple):
    """A worst-case stream: the learner makes a mistake in every round, but some task vectors make none.

    ``X`` (n, d), ``y`` of -1 and +1 and ``task`` are its records; ``U`` (K, d) has the comparators, in the order of the
    tasks given.
    """

    X: Floats
    y: Ints
    task: list[Hashable]
    U: Floats


def worst_stream(model: Any, tasks: Sequence[Hashable], shared: int, own: int, seed: int = 0) -> WorstStream:
    """Return a stream on which the model makes a mistake in every round (the lower bound of CCG08 §8).

    Records are different unit vectors: ``shared`` of them, each for a random task, and ``own`` for each task. The label
    is the one that the model did not predict; if its margin is zero, every label is a mistake, and labels alternate. So
    **every** algorithm makes

        m = shared + own K

    mistakes. Task vectors that agree on all shared features, and have their own features in addition, have margin one
    in every round: no loss, and ‖u_i - u_j‖² = 2 own. Under :class:`~coterie.HalfUpdate` the bound of Theorem 1 is then
    2 (K shared + K² own) / (K + 1), which is less than 2 m: no algorithm improves on it by more than a factor of 2.

    Parameters
    ----------
    model : classifier of two labels
        An unfitted online estimator with ``task=``; it is cloned, and not changed.
    tasks : sequence of task labels
        The K tasks.
    shared, own : int >= 0
        The numbers of records shared by all tasks, and of each task; not both 0.
    seed : int
        The seed of the order, and of the tasks of shared records.

    Raises
    ------
    ValueError
        If there is no task, a number is negative, or both are 0.

    Examples
    --------
    >>> import coterie as ct
    >>> worst = worst_stream(ct.MultitaskPerceptron(), ["a", "b"], shared=4, own=1)
    >>> trace = ct.progressive_validation(ct.MultitaskPerceptron(), worst.X, worst.y, task=worst.task)
    >>> trace.mistakes, len(worst.y)
    (6, 6)
    """
    spec.check_not_negative("shared", shared)
    spec.check_not_negative("own", own)
    K, d = len(tasks), shared + own * len(tasks)
    if d == 0:
        raise ValueError(f"a task and a record are required, got {K} tasks, shared={shared} and own={own}")
    rng = np.random.default_rng(seed)
    owner = np.concatenate([rng.integers(K, size=shared), np.repeat(np.arange(K), own)])
    order = rng.permutation(d)
    X, whose, learned = np.eye(d)[order], owner[order], type(model)(**model.get_params(deep=False))
    y = np.ones(d, np.int64)
    for t in range(d):
        record, task = X[t : t + 1], [tasks[whose[t]]]
        # records are orthogonal, so one comparator is right on all of them, whatever labels are chosen here
        margin = learned.decision_function(record, task=task)[0] if t else 0.0
        # a zero margin is a mistake for either label; taking turns leaves no class without records
        y[t] = -np.sign(margin) if margin else 1 - 2 * (t % 2)
        learned.partial_fit(record, y[t : t + 1], task=task, classes=[-1, 1], tasks=tasks)
    signs = np.zeros(d)
    signs[order] = y
    U = np.array([np.where((np.arange(d) < shared) | (owner == k), signs, 0.0) for k in range(K)])
    return WorstStream(X, y, [tasks[k] for k in whose], U)


def mean_risk_bound(losses: ArrayLike, delta: float = 0.05) -> float:
    """Bound the risk of averaged weights by the losses of the run (FOR09 Theorem 3.1.6).

    For independent records of one distribution, a convex loss between 0 and 1, and the mean w̄ of the weights before
    each of T rounds, with probability 1 - delta at least

        risk(w̄) <= (1/T) Σ loss_t(w_(t-1)) + sqrt((2/T) ln(1 / delta))    (3.1.22).

    w̄ are the weights of ``average=True``. The thesis applies the theorem to the hinge loss, but that can exceed 1. Use
    a loss that is convex and at most 1 for the margins of the stream, such as |y - margin| / 2 for margins from -1 to
    1.

    Parameters
    ----------
    losses : array, shape (T,)
        The loss of each round, with the weights before it.
    delta : float in (0, 1]
        The probability that the bound does not hold.

    Raises
    ------
    ValueError
        If there are no losses, one is outside [0, 1], or delta is not in (0, 1].

    Examples
    --------
    >>> round(mean_risk_bound(np.full(1000, 0.1), delta=0.05), 3)
    0.177
    """
    values = np.asarray(losses, np.float64)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"losses must have one value per round, shape (T,), got shape {values.shape}")
    if not (values.min() >= 0.0 and values.max() <= 1.0):
        raise ValueError("losses must be between 0 and 1; the hinge loss is not")
    if not 0.0 < delta <= 1.0:
        raise ValueError(f"delta must lie in (0, 1], got {delta!r}")
    # Azuma and Hoeffding for the martingale of losses, and Jensen for the mean of the weights
    return float(values.mean() + math.sqrt(2.0 / len(values) * math.log(1.0 / delta)))
