"""Mistake bounds of a kernel Perceptron on a budget (CC12 Theorems 1 and 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from coterie.evaluation.trace import Trace
from coterie.kernels import KernelLike, as_kernel, gram
from coterie.types import Floats, RowMatrix
from coterie.updates.budgets import ShiftingForgetron

from .perceptron_bounds import signs


@dataclass(frozen=True)
class Comparators:
    """Comparators for mistake bounds: a classifier g_i(x) = Σ_s C_is k(z_s, x) per task, which may change.

    The z_s are fixed points, the anchors, and k is the kernel.

    Attributes
    ----------
    kernel : kernel
        The learner's kernel, with k(x, x) <= 1.
    anchors : array, shape (m, d)
        The records z_s.
    M : array, shape (K, K)
        A⁻¹ of the relation, rows in the order of ``trace.tasks``.
    from_round : sequence of int
        The first round, from 0, of each comparator; the first one is 0.
    coefficients : sequence of arrays, shape (K, m)
        The C of each comparator.

    Examples
    --------
    >>> alike = Comparators("linear", np.eye(2), np.array([[0.75, 0.25], [0.25, 0.75]]), [0], [np.ones((2, 2))])
    >>> round(alike.norms[0], 12)  # two tasks of squared norm 2 that are equal
    2.0
    """

    kernel: KernelLike
    anchors: ArrayLike
    M: ArrayLike
    from_round: Sequence[int]
    coefficients: Sequence[ArrayLike]

    @property
    def top(self) -> float:
        """The constant c_G of the bounds, the square root of the largest diagonal entry of M."""
        return math.sqrt(float(np.diagonal(np.asarray(self.M)).max()))

    @property
    def norms(self) -> list[float]:
        """The norm of each comparator, sqrt(tr(K_gg A)).

        K_gg has the inner products of its task classifiers, and A is the interaction matrix.
        """
        return [self._norm(np.asarray(C, np.float64)) for C in self.coefficients]

    @property
    def shift(self) -> float:
        """The total distance S between successive comparators, in the norm of the interaction matrix A."""
        coefficients = [np.asarray(C, np.float64) for C in self.coefficients]
        return sum(self._norm(after - before) for before, after in pairwise(coefficients))

    def losses(self, trace: Trace, X: RowMatrix) -> Floats:
        """Return the hinge loss of the current comparator in each round.

        Raises
        ------
        ValueError
            If X does not have one row per round, or records are longer than 1.
        """
        if X.shape[0] != trace.n:
            raise ValueError(f"X must have one row per round, shape ({trace.n}, d), got shape {X.shape}")
        longest = max(float(gram(as_kernel(self.kernel), X[t : t + 1])[0, 0]) for t in range(X.shape[0]))
        if longest > 1.0 + 1e-9:
            raise ValueError(f"k(x, x) must be at most 1, got {longest:g}: use Normalised(kernel)")
        values = gram(self.kernel, X, self.anchors)
        # the last comparator that took over at or before each round
        turn = np.searchsorted(np.asarray(self.from_round), np.arange(trace.n), side="right") - 1
        C = np.array([np.asarray(C_i, np.float64) for C_i in self.coefficients])[turn, trace.task]
        return np.asarray(np.maximum(0.0, 1.0 - signs(trace) * np.einsum("ts,ts->t", C, values)))

    def _norm(self, C: Floats) -> float:
        products = C @ gram(self.kernel, self.anchors) @ C.T
        # tr(K_gg A) with A = M⁻¹, by a solve; rounding can make a zero norm negative
        return math.sqrt(max(float(np.trace(np.linalg.solve(np.asarray(self.M, np.float64), products))), 0.0))


@dataclass(frozen=True)
class BudgetBound:
    """A mistake bound and its parts.

    Attributes
    ----------
    mistakes : float
        The bound.
    loss : float
        L, the hinge loss of the comparators.
    shift : float
        S, the total distance of the shifts.
    epsilon : float or None
        The smallest epsilon for which Theorem 1 covers the comparators.
    """

    mistakes: float
    loss: float
    shift: float = 0.0
    epsilon: float | None = None


def random_removal_bound(trace: Trace, X: RowMatrix, comparators: Comparators, size: int) -> BudgetBound:
    """CC12 Theorem 1: bound the expected mistakes under :class:`~coterie.updates.RandomRemoval`.

    That is

        (L + c S sqrt(B) + eps B^(3/2) / 2 + (eps B / 4) ln(B / 3)) / (1 - eps),

    for comparators with max_t sqrt(tr(K_gg A)) <= eps sqrt(B) / (2 c); the smallest such eps is taken. L is summed over
    all rounds, c² = max_i M_ii, and the expectation is over the seeds.

    Parameters
    ----------
    trace : Trace
        The trace of the stream; its labels and tasks are read, not its mistakes.
    X : array or sparse matrix, shape (n, d)
        Its records.
    comparators : Comparators
        Comparators, which may shift.
    size : int
        B, the budget.

    Raises
    ------
    ValueError
        If the comparators are too long for the budget (eps >= 1), or records are longer than 1.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), [1, 0, 1]
    >>> model = ct.MultitaskKernelPerceptron("linear", budget=ct.updates.RandomRemoval(9))
    >>> trace = ct.progressive_validation(model, X, y)
    >>> g = Comparators("linear", np.eye(2), [[1.0]], [0], [np.array([[0.75, 0.0]])])
    >>> bound = random_removal_bound(trace, X, g, size=9)
    >>> bound.loss, bound.epsilon, round(bound.mistakes, 2)
    (1.5, 0.5, 18.97)
    """
    # the smallest eps whose class holds the longest comparator: the bound grows with eps
    epsilon = 2.0 * comparators.top * max(comparators.norms) / math.sqrt(size)
    if epsilon >= 1.0:
        raise ValueError(
            f"the comparators are too large for a budget of {size}: the largest is {max(comparators.norms):.4g}, and "
            f"must be below sqrt(B) / (2 c) = {math.sqrt(size) / (2.0 * comparators.top):.4g}"
        )
    loss, shift = float(comparators.losses(trace, X).sum()), comparators.shift
    whole = loss + comparators.top * shift * math.sqrt(size)
    whole += epsilon * size**1.5 / 2.0 + epsilon * size / 4.0 * math.log(size / 3.0)
    return BudgetBound(whole / (1.0 - epsilon), loss, shift, epsilon)


def forgetron_bound(trace: Trace, X: RowMatrix, comparators: Comparators, size: int) -> BudgetBound:
    """CC12 Theorem 2: bound the mistakes under :class:`~coterie.updates.Forgetron`.

    That is

        4 L + (B + 1) / (2 ln(B + 1)),

    for B > 83 and a comparator with sqrt(tr(K_gg A)) <= sqrt((B + 1) / ln(B + 1)) / (4 c), c² = max_i M_ii. L is summed
    over the rounds with a mistake.

    Parameters
    ----------
    trace : Trace
        The trace of the learner's first pass.
    X : array or sparse matrix, shape (n, d)
        The records of the stream.
    comparators : Comparators
        One comparator, which does not shift.
    size : int
        B, the budget.

    Raises
    ------
    ValueError
        If B is not above 83, the comparator shifts or is too long, or records are longer than 1.
    """
    # an assumption of CC12 Theorem 2, as of the Forgetron's own analysis
    if size <= 83:
        raise ValueError(f"the bound holds for budgets above 83, got {size}")
    if len(comparators.coefficients) != 1:
        raise ValueError(f"the bound holds for one comparator, got {len(comparators.coefficients)} different ones")
    most = math.sqrt((size + 1) / math.log(size + 1)) / (4.0 * comparators.top)
    if comparators.norms[0] > most * (1.0 + 1e-12):
        raise ValueError(f"the comparator is too large for a budget of {size}: {comparators.norms[0]:.4g} > {most:.4g}")
    loss = float(comparators.losses(trace, X)[trace.mistake].sum())
    return BudgetBound(4.0 * loss + (size + 1) / (2.0 * math.log(size + 1)), loss)


def shifting_forgetron_bound(trace: Trace, X: RowMatrix, comparators: Comparators, size: int) -> BudgetBound:
    """Bound the mistakes under :class:`~coterie.updates.ShiftingForgetron`, for comparators that may shift.

    That is, with lambda = phi^(B + 1), U = c max_t sqrt(tr(K_gg A)), S their shift times c, c² = max_i M_ii, and R the
    length that the weights cannot exceed, R = phi sqrt(R² + 1) + lambda,

        (2 L + U² + 2 (R + lambda (B + 1)) S) / (1 - (1 - phi) / (1 + phi) U² - 2 lambda (1 + R) - lambda²),

    L being summed over the rounds with a mistake. Proof, by the squared distance of f and g in the space of K / c²: a
    mistake decreases it by at least 2 y g(x) - 1; shrinking increases it by at most (1 - phi) / (1 + phi) U²; removing
    the oldest vector by 2 lambda y (f(x) - g(x)) - lambda², where the term with g is combined with the decrease when
    that vector was added; and a shift of g by at most 2 R times its length, plus 2 lambda per vector present meanwhile.

    Parameters
    ----------
    trace : Trace
        The trace of the learner's first pass.
    X : array or sparse matrix, shape (n, d)
        The records of the stream.
    comparators : Comparators
        Comparators, which may shift.
    size : int
        B, the budget.

    Raises
    ------
    ValueError
        If the comparators are too long for the budget, or records are longer than 1.

    Examples
    --------
    >>> import coterie as ct
    >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), [1, 0, 1]
    >>> model = ct.MultitaskKernelPerceptron("linear", budget=ct.updates.ShiftingForgetron(9))
    >>> trace = ct.progressive_validation(model, X, y)
    >>> g = Comparators("linear", np.eye(2), [[1.0]], [0], [np.array([[1.0, -1.0]])])
    >>> bound = shifting_forgetron_bound(trace, X, g, size=9)
    >>> trace.mistakes, round(bound.mistakes, 2)
    (2, 5.62)
    """
    phi = ShiftingForgetron(size).phi
    left = phi ** (size + 1)
    # the positive root of R = phi sqrt(R² + 1) + lambda, squared to a quadratic equation
    longest = (left + math.sqrt(left**2 + (1.0 - phi**2) * (phi**2 - left**2))) / (1.0 - phi**2)
    length = comparators.top * max(comparators.norms)
    # the progress of a mistake less the losses by shrinking and removal; if nothing remains, there is no bound
    remaining = 1.0 - (1.0 - phi) / (1.0 + phi) * length**2 - 2.0 * left * (1.0 + longest) - left**2
    if remaining <= 0.0:
        raise ValueError(
            f"the comparators are too large for a budget of {size}: the largest is {max(comparators.norms):.4g}"
        )
    losses, shift = comparators.losses(trace, X), comparators.shift
    loss = float(losses[trace.mistake].sum())
    whole = 2.0 * loss + length**2 + 2.0 * (longest + left * (size + 1)) * comparators.top * shift
    return BudgetBound(whole / remaining, loss, shift)
