"""Regret bound of a contextual bandit with second-order regression (GOB.Lin)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from coterie import spec
from coterie.types import RowMatrix

from .geometry_bounds import gram_log_determinant
from .perceptron_bounds import penalty


def confidence_width(
    log_determinant: float, complexity: float, sigma: float, delta: float = 0.05, ridge: float = 1.0
) -> float:
    """Return β, the factor of the confidence intervals of a bandit's predictions.

    With probability 1 - delta, |f - u_i·x| <= β √(q / ridge) in all rounds, for the prediction f, its variance q, and
    the true vector u_i of task i.

    f and q are the prediction and the margin's variance of :class:`coterie.SecondOrderMultitaskRegressor`,
    and

        β = sigma √(ln det(I + G / ridge) + 2 ln(1 / delta)) + √(ridge · u'(A ⊗ I)u).

    Parameters
    ----------
    log_determinant : float
        ln det(I + G / ridge) with the multitask Gram matrix G of the learned records; equal to Σ ln(1 + q / ridge) with
        the q of each record before it was learned.
    complexity : float
        u'(A ⊗ I)u of the true weights, or an upper bound; see
        :func:`coterie.evaluation.bounds.perceptron_bounds.penalty`.
    sigma : float >= 0
        The subgaussian parameter of the noise, for rewards u_i·x + noise; the deviation of normal noise.
    delta : float
        The probability that the bound does not hold.
    ridge : float > 0
        The learner's ridge.

    Raises
    ------
    ValueError
        If ridge is not positive, or delta is not between 0 and 1.

    Examples
    --------
    >>> round(confidence_width(0.0, complexity=4.0, sigma=0.0), 3)
    2.0
    """
    spec.check_positive("ridge", ridge)
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta!r}")
    return sigma * math.sqrt(log_determinant + 2.0 * math.log(1.0 / delta)) + math.sqrt(ridge * complexity)


@dataclass(frozen=True)
class RegretBound:
    """A regret bound and its parts.

    Attributes
    ----------
    rounds : int
        T, the number of records chosen.
    log_determinant : float
        ln det(I + G / ridge) with the multitask Gram matrix G of these records.
    width : float
        β after the last record, see :func:`confidence_width`.
    radius : float
        Z = max M_ii ‖x‖² / ridge over these records.
    """

    rounds: int
    log_determinant: float
    width: float
    radius: float

    @property
    def regret(self) -> float:
        """The regret bound, 2 β √(T Z / ln(1 + Z) · ln det(I + G / ridge)); the attributes define its parts."""
        # Z / ln(1 + Z) has the limit 1, and the determinant is 0
        if self.radius == 0:
            return 0.0
        return 2.0 * self.width * math.sqrt(self.rounds * self.radius / math.log1p(self.radius) * self.log_determinant)


def regret_bound(
    X: RowMatrix, task: ArrayLike, U: ArrayLike, M: ArrayLike, sigma: float, delta: float = 0.05, ridge: float = 1.0
) -> RegretBound:
    """Bound the regret of the bandit GOB.Lin from its chosen records (Cesa-Bianchi, Gentile and Zappella, NIPS 2013).

    Each round has a task and some records; the record with the largest f + β √(q / ridge) is chosen and its reward
    learned, by a :class:`coterie.SecondOrderMultitaskRegressor` and the β of :func:`confidence_width` so
    far. Then with a probability of 1 - delta for all T at once, u_i·(x* - x) of the best records x* and those chosen
    sum up to at most

        2 β √(T Z / ln(1 + Z) · ln det(I + G / ridge)),
        β = sigma √(ln det(I + G / ridge) + 2 ln(1 / delta)) + √(ridge · u'(A ⊗ I)u),    Z = max M_ii ‖x‖² / ridge.

    Under a graph u'(A ⊗ I)u = Σ ‖u_i‖² + Σ_(i,j) ‖u_i - u_j‖² over its edges, which is small for similar neighbours.
    It is the paper's Theorem 1, which has ridge = 1, with other constants: by (a + b)² <= 2a² + 2b² it is below

        2 √(T (2 sigma² (ln det(I + G) + 2 ln(1 / delta)) + 2 u'(A ⊗ I)u) · (1 + Z) ln det(I + G)).

    Proof: β is that of Abbasi-Yadkori, Pál and Szepesvári (NIPS 2011, Theorem 2) for the records (A ⊗ I)^(-1/2) φ and
    the weights (A ⊗ I)^(1/2) u. So the regret of a round is at most 2 β √z, z = q / ridge of the chosen record. Here
    z <= Z, so z <= Z / ln(1 + Z) · ln(1 + z); Σ ln(1 + z) = ln det(I + G / ridge); and Σ √z <= √(T Σ z).

    Parameters
    ----------
    X : array or sparse matrix, shape (T, d)
        The chosen records.
    task : array of int, shape (T,)
        The task of each record, as row numbers of U and M.
    U : array, shape (K, d)
        The true weights.
    M : array, shape (K, K)
        The A⁻¹ of the learner, on the scale of :func:`coterie.evaluation.bounds.geometry_bounds.second_order_bound`.
    sigma, delta, ridge
        See :func:`confidence_width`; β must have been computed with the u'(A ⊗ I)u of U.

    Raises
    ------
    ValueError
        If shapes do not fit, ridge is not positive, or delta is not between 0 and 1.

    Examples
    --------
    >>> import coterie as ct
    >>> rng, relation, U = np.random.default_rng(0), ct.MeanRegularized(b=2), np.ones((2, 3))
    >>> M = relation.relation_matrix([0, 1])
    >>> model = ct.SecondOrderMultitaskRegressor(relation).fit(np.zeros((2, 3)), [0.0, 0.0], task=[0, 1])
    >>> chosen, tasks, regret, so_far = [], rng.integers(2, size=200), 0.0, 0.0
    >>> for i in tasks:
    ...     actions = rng.normal(size=(5, 3))
    ...     f, q = model.predict(actions, [i] * 5), model.margin_variance(actions, [i] * 5)
    ...     a = np.argmax(f + confidence_width(so_far, penalty(U, M), sigma=0.1) * np.sqrt(q))
    ...     regret, so_far = regret + (actions @ U[i]).max() - actions[a] @ U[i], so_far + np.log1p(q[a])
    ...     model = model.partial_fit(actions[a : a + 1], [actions[a] @ U[i] + 0.1 * rng.normal()], [i])
    ...     chosen.append(actions[a])
    >>> bool(regret < regret_bound(np.array(chosen), tasks, U, M, sigma=0.1).regret)
    True
    """
    V, shares, rows = np.asarray(U, np.float64), np.asarray(M, np.float64), np.asarray(task)
    if rows.shape != (X.shape[0],):
        raise ValueError(f"task must have one row of U per record, shape ({X.shape[0]},), got shape {rows.shape}")
    if V.shape != (len(shares), X.shape[1]):
        raise ValueError(f"U must have shape ({len(shares)}, {X.shape[1]}), got {V.shape}")
    spec.check_positive("ridge", ridge)
    # q of a record is largest before anything was learned: M_ii ‖x‖²
    squares = np.asarray((X.multiply(X) if hasattr(X, "multiply") else X * X).sum(axis=1)).ravel()
    seen = gram_log_determinant(X, rows, shares, ridge)
    # β grows with the determinant, so its last value covers all rounds before
    width = confidence_width(seen, penalty(V, shares), sigma, delta, ridge)
    return RegretBound(len(rows), seen, width, float((shares.diagonal()[rows] * squares).max(initial=0.0)) / ridge)
