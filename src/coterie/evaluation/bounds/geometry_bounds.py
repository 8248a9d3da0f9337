"""Mistake bounds of second-order, p-norm and potential-based Perceptrons, and of MMPERC."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from coterie import spec
from coterie.evaluation.trace import Trace
from coterie.types import Ints, Matrix, RowMatrix
from coterie.updates.potentials import Potential
from coterie.updates.weights.heterogeneous_weights import signed_margin

from .perceptron_bounds import MistakeBound, comparators, penalty, signs


@dataclass(frozen=True)
class SecondOrderBound:
    """The mistake bound of a second-order Perceptron for one comparator, and its parts.

    Attributes
    ----------
    loss : float
        L, the comparator's hinge loss, summed over the rounds with a mistake.
    complexity : float
        ridge · u'(A ⊗ I)u + Σ (u_i·x)², summed over the same rounds.
    log_determinant : float
        Σ_j ln(1 + λ_j / ridge), λ_j being the eigenvalues of the multitask Gram matrix of the mistakes.
    """

    loss: float
    complexity: float
    log_determinant: float

    @property
    def mistakes(self) -> float:
        """The mistake bound, L + sqrt(complexity · log_determinant), for the comparator's loss L."""
        return self.loss + math.sqrt(self.complexity * self.log_determinant)


def second_order_bound(trace: Trace, X: RowMatrix, U: ArrayLike, M: ArrayLike, ridge: float = 1.0) -> SecondOrderBound:
    """Bound the mistakes of a second-order multitask Perceptron by a comparator (CCG08 §4.1).

    For every comparator U, a linear classifier u_i for each task, with sums over the rounds with a mistake,

        mistakes <= L + sqrt((ridge u'(A ⊗ I)u + Σ (u_i·x)²) Σ_j ln(1 + λ_j / ridge)),

    λ_j being the eigenvalues of G_st = M_{i_s i_t} x_s·x_t. The paper has ridge = 1. It holds for an unchanged relation
    and without delay.

    Parameters
    ----------
    trace : Trace
        The trace of the first pass of a :class:`~coterie.SecondOrderMultitaskPerceptron` with the linear
        kernel.
    X : array or sparse matrix, shape (n, d)
        The records of the stream.
    U : array, shape (K, d)
        The comparator; row i is for ``trace.tasks[i]``.
    M : array, shape (K, K)
        The A⁻¹ of the learner, in the order of ``trace.tasks``, on the scale of its ridge: ``relation_matrix_``, but
        M_ij / sqrt(M_ii M_jj) of it for :class:`~coterie.HalfUpdate` and ``share=``.
    ridge : float > 0
        The learner's ridge.

    Returns
    -------
    SecondOrderBound
        Its ``mistakes`` is the bound. O(m² d + m³) for m mistakes.

    Raises
    ------
    ValueError
        If shapes do not fit, or ridge is not positive.

    Examples
    --------
    >>> import coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, users = rng.normal(size=(200, 3)), rng.integers(2, size=200)
    >>> model = ct.SecondOrderMultitaskPerceptron(ct.MeanRegularized(b=2))
    >>> trace = ct.progressive_validation(model, X, X[:, 0] > 0, task=users)
    >>> bound = second_order_bound(trace, X, [[3.0, 0.0, 0.0]] * 2, model.relation_matrix_)
    >>> trace.mistakes, round(bound.mistakes, 1)
    (8, 18.0)
    """
    spec.check_positive("ridge", ridge)
    margins, loss, moved = _against(trace, X, U)
    # u'(ridge A ⊗ I + Σ φφ')u, the comparator in the norm of the final matrix
    complexity = ridge * penalty(U, M) + float(margins @ margins)
    return SecondOrderBound(loss, complexity, gram_log_determinant(X[moved], trace.task[moved], M, ridge))


def log_determinant(trace: Trace, X: RowMatrix, M: ArrayLike, ridge: float = 1.0) -> float:
    """Return ln det(I + G / ridge) for the Gram matrix G of the rounds with a mistake.

    See :func:`second_order_bound`.

    Examples
    --------
    >>> import coterie as ct
    >>> trace = ct.progressive_validation(ct.SecondOrderMultitaskPerceptron(), [[1.0], [2.0]], [0, 1])
    >>> round(log_determinant(trace, np.array([[1.0], [2.0]]), [[1.0]]), 3), round(float(np.log(1 + 1 + 4)), 3)
    (1.792, 1.792)
    """
    spec.check_positive("ridge", ridge)
    moved = np.flatnonzero(trace.mistake)
    return gram_log_determinant(X[moved], trace.task[moved], M, ridge)


def gram_log_determinant(X: RowMatrix, task: Ints, M: ArrayLike, ridge: float = 1.0) -> float:
    """Return ln det(I + G / ridge) for the Gram matrix G of all records: O(n² d + n³).

    G_st = M_{i_s i_t} x_s·x_t for the tasks i_s of the records, which number the rows of M.

    Examples
    --------
    >>> round(gram_log_determinant(np.array([[1.0], [2.0]]), np.array([0, 1]), np.eye(2)), 3)
    2.303
    """
    rows: Any = X
    products = rows @ rows.T
    G = np.asarray(products.toarray() if hasattr(products, "toarray") else products)
    shares = np.asarray(M, np.float64)[np.ix_(task, task)]
    # by the m x m Gram matrix: it has the nonzero eigenvalues of the Kd x Kd correlation matrix
    return float(np.linalg.slogdet(np.eye(len(task)) + shares * G / ridge)[1])


@dataclass(frozen=True)
class PNormBound:
    """The mistake bound of a p-norm Perceptron for one comparator, and its parts.

    Attributes
    ----------
    loss : float
        L, the comparator's hinge loss, summed over the rounds with a mistake.
    radius : float
        X, the largest ‖(T ⊗ I)φ‖_p of these rounds.
    length : float
        U = ‖(T ⊗ I)⁻¹u‖_q, 1/p + 1/q = 1.
    p : float
        The norm.
    """

    loss: float
    radius: float
    length: float
    p: float

    @property
    def mistakes(self) -> float:
        """The mistake bound, L + (p - 1) X² U² + X U sqrt((p - 1) L).

        L, ``loss``, is the comparator's loss, X, ``radius``, the largest norm of a record, and U, ``length``, the
        comparator's length.
        """
        both = self.radius * self.length
        return self.loss + (self.p - 1.0) * both**2 + both * math.sqrt((self.p - 1.0) * self.loss)


def p_norm_bound(trace: Trace, X: RowMatrix, U: ArrayLike, T: ArrayLike, p: float) -> PNormBound:
    """Bound the mistakes of the p-norm multitask Perceptron by a comparator (CCG08 §5, as reconstructed).

    For every comparator U, with z = (T ⊗ I)φ and the hinge loss L on the rounds with a mistake,

        mistakes <= L + (p - 1) X² V² + X V sqrt((p - 1) L),    X = max ‖z‖_p,    V = ‖(T ⊗ I)⁻¹u‖_q.

    Parameters
    ----------
    trace, X, U
        See :func:`second_order_bound`; the trace of a :class:`~coterie.PNormMultitaskPerceptron`.
    T : array, shape (K, K)
        M, its square root or I, according to the learner's ``transformation``, in the order of ``trace.tasks``; a
        factor cancels.
    p : float >= 2
        The learner's p, the same in all rounds.

    Raises
    ------
    ValueError
        If shapes do not fit, or p is below 2.

    Examples
    --------
    >>> import coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-1.0, 1.0], size=(400, 100))
    >>> model = ct.PNormMultitaskPerceptron(ct.Independent(), p="auto")
    >>> trace = ct.progressive_validation(model, X, X[:, 3] > 0)
    >>> bound = p_norm_bound(trace, X, [np.eye(100)[3]], [[1.0]], model.p_)
    >>> trace.mistakes, round(bound.mistakes, 1)
    (6, 22.3)
    """
    if not p >= 2:
        raise ValueError(f"p must be at least 2, got {p!r}")
    _, loss, moved = _against(trace, X, U)
    # φ has x in block i and 0 elsewhere, so (T ⊗ I)φ stacks T_ji x over all tasks j
    columns = np.linalg.norm(np.asarray(T, np.float64)[:, trace.task[moved]], p, axis=0)
    rows = X[moved].toarray() if hasattr(X, "toarray") else np.asarray(X)[moved]
    lengths = np.linalg.norm(rows, p, axis=1) * columns  # ‖(T ⊗ I)φ‖_p = ‖T_i‖_p ‖x‖_p
    # v'(T ⊗ I)φ = u'φ for v = (T ⊗ I)⁻¹u: the comparator for z that has the margins of u
    inverse = np.linalg.solve(np.asarray(T, np.float64), np.asarray(U, np.float64))
    length = np.linalg.norm(inverse.ravel(), p / (p - 1.0))
    return PNormBound(loss, float(lengths.max(initial=0.0)), float(length), float(p))


@dataclass(frozen=True)
class PotentialBound:
    """The mistake bound of a Perceptron of any potential for one comparator, and its parts.

    Attributes
    ----------
    loss : float
        L, the comparator's hinge loss, summed over the rounds with a mistake.
    radius : float
        X, the largest ‖(T ⊗ I)φ‖ of these rounds, in the potential's norm.
    scale : float
        The c of the least bound found.
    complexity : float
        Φ(c (T ⊗ I)⁻¹u) / (rate c), with the learner's rate.
    curvature : float
        rate · smoothness · X² / (2c), below 1, with the smoothness of the potential.
    """

    loss: float
    radius: float
    scale: float
    complexity: float
    curvature: float

    @property
    def mistakes(self) -> float:
        """The mistake bound, (L + complexity) / (1 - curvature), for the comparator's loss L."""
        return (self.loss + self.complexity) / (1.0 - self.curvature)


def potential_bound(
    trace: Trace, X: RowMatrix, U: ArrayLike, T: ArrayLike, potential: Potential, rate: float = 1.0
) -> PotentialBound:
    """Bound the mistakes of a Perceptron with any potential by a comparator.

    With z = (T ⊗ I)φ, the largest norm X of them and the hinge loss L on the rounds with a mistake, for every
    comparator U and every c > rate · smoothness · X² / 2,

        mistakes <= (L + Φ(c (T ⊗ I)⁻¹u) / (rate c)) / (1 - rate · smoothness · X² / (2c)).

    Proof: the sum v of the updates has Φ*(v) <= ½ m rate² smoothness X², because every mistake has y w·z <= 0; and by
    Fenchel and Young Φ*(v) >= c u'(T ⊗ I)⁻¹v - Φ(c (T ⊗ I)⁻¹u), where the product is at least rate (m - L). For a
    p-norm and the best c this is m - L <= X V sqrt((p - 1) m), a little less than :func:`p_norm_bound`; for the
    exponentiated gradient and ‖(T ⊗ I)⁻¹u‖_1 = V, it grows with X² V² ln 2N at the best rate.

    Parameters
    ----------
    trace, X, U
        See :func:`second_order_bound`; the trace of a :class:`~coterie.PotentialMultitaskPerceptron`.
    T : array, shape (K, K)
        M, its square root or I, according to the learner's ``transformation``, in the order of ``trace.tasks``; its
        scale matters.
    potential : potential
        The learner's potential; if it depends on the number of weights, this must not have changed.
    rate : float > 0
        The learner's rate.

    Returns
    -------
    PotentialBound
        The bound for the best c found; ``mistakes`` is infinite if no c has a finite Φ and a curvature below 1.
        O(m K d).

    Raises
    ------
    ValueError
        If shapes do not fit, or the rate is not positive.
    TypeError
        If the potential does not have the methods that a bound needs.

    Examples
    --------
    >>> import coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-1.0, 1.0], size=(400, 100))
    >>> potential = ct.updates.ExponentiatedGradient()
    >>> model = ct.PotentialMultitaskPerceptron(potential, ct.Independent(), rate=0.5)
    >>> trace = ct.progressive_validation(model, X, X[:, 3] > 0)
    >>> bound = potential_bound(trace, X, [np.eye(100)[3]], [[1.0]], potential, rate=0.5)
    >>> trace.mistakes, round(bound.mistakes, 1)
    (11, 13.6)
    """
    spec.check_positive("rate", rate)
    if not isinstance(potential, Potential):
        raise TypeError(f"potential must have value, norm, smoothness and gradient, as PNorm has, got {potential!r}")
    _, loss, moved = _against(trace, X, U)
    columns = np.asarray(T, np.float64)[:, trace.task[moved]].T
    rows = X[moved].toarray() if hasattr(X, "toarray") else np.asarray(X)[moved]
    radius = max((potential.norm(np.outer(T_i, x)) for T_i, x in zip(columns, rows, strict=True)), default=0.0)
    # as in p_norm_bound: the comparator for z with the margins of u
    inverse = np.linalg.solve(np.asarray(T, np.float64), np.asarray(U, np.float64))
    least = 0.5 * rate * potential.smoothness(inverse.size) * radius**2

    def at(c: float) -> PotentialBound:
        value = potential.value(c * inverse)
        return PotentialBound(loss, radius, c, value / (rate * c), least / c)

    # from just above the least c, where the curvature dominates, to the c where the complexity dominates
    candidates = max(least, 1e-9) * (1.0 + np.geomspace(1e-3, 1e9, 400))
    # every c gives a valid bound: a grid can only make it looser
    return min((at(float(c)) for c in candidates), key=lambda bound: bound.mistakes)


def heterogeneous_bound(
    trace: Trace, X: Sequence[ArrayLike], U: Sequence[ArrayLike], b: float, M: ArrayLike | None = None
) -> MistakeBound:
    """Bound the mistakes of :class:`coterie.HeterogeneousMultitaskPerceptron` by a comparator (CCG08 §6).

    For every u = (u_1, ..., u_K), with sums over the rounds with a mistake, i being the active task,

        mistakes <= L + c q + sqrt(c q L),    q = Σ_k ‖u_k‖² + b K Σ (u_i·x_i - mean_k u_k·x_k)²,

    c being the largest φ_i'(I + zz')⁻¹φ_i of these rounds, z = sqrt(b K)(φ_i - φ/K). For instances of unit length c is
    (K (b + 1) - b) / (b K (K - 1) + K). With a relation z = sqrt(b K) Σ_k S_ik φ_k, S = (A - I)^½ for an A with least
    eigenvalue 1, and the second term of q is Σ (z·u)²: the proof of theorem 6 holds for any z.

    Parameters
    ----------
    trace : Trace
        The trace of the first pass of a :class:`~coterie.HeterogeneousMultitaskPerceptron`, without kernels
        and delay.
    X : list of K arrays
        The instances, in the order of ``trace.tasks``.
    U : list of K vectors
        The comparator, in the same order.
    b : float >= 0
        The learner's b.
    M : array of shape (K, K), optional
        The relation's A⁻¹ among ``trace.tasks``, if the learner has one.

    Raises
    ------
    ValueError
        If there is not one array with one row per round, one vector, and one row of M per task.

    Examples
    --------
    >>> import coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> hidden, active = rng.normal(size=(200, 2)), np.arange(200) % 2
    >>> X = [hidden / np.linalg.norm(hidden, axis=1, keepdims=True)] * 2
    >>> trace = ct.progressive_validation(ct.HeterogeneousMultitaskPerceptron(b=1.0), X, hidden[:, 0] > 0,
    ...     task=active)
    >>> bound = heterogeneous_bound(trace, X, [np.array([4.0, 0.0])] * 2, b=1.0)
    >>> trace.mistakes, round(bound.mistakes, 1)
    (12, 40.7)
    """
    R = _coupling_matrix(trace, b, M)
    moved, loss, q = _loss_and_q(trace, X, U, R)
    squares = np.array([(np.asarray(x)[moved] ** 2).sum(axis=1) for x in X])
    c = _radius(squares, trace.task[moved], R).max(initial=0.0)
    return MistakeBound(loss, float(c) * q)


def _coupling_matrix(trace: Trace, b: float, M: ArrayLike | None) -> Matrix:
    """Return the coupling matrix R of the tasks of a trace, with which z = Σ_k R_ik φ_k."""
    K = len(trace.tasks)
    relation = None if M is None else np.asarray(M, np.float64)
    if relation is not None and relation.shape != (K, K):
        raise ValueError(f"M must have shape ({K}, {K}), got {relation.shape}")
    return signed_margin(b, K, relation)


def _loss_and_q(trace: Trace, X: Sequence[ArrayLike], U: Sequence[ArrayLike], R: Matrix) -> tuple[Ints, float, float]:
    """Return the rounds with a mistake, and in these the comparators' hinge loss and q of :func:`heterogeneous_bound`.

    ``X`` has the instances of each task, ``U`` a comparator for each task, ``R`` the coupling matrix.
    """
    K = len(trace.tasks)
    if len(X) != K or len(U) != K or any(len(np.asarray(rows)) != trace.n for rows in X):
        raise ValueError(f"X and U must have one array per task ({K}) for {trace.n} rounds, got {len(X)} and {len(U)}")
    moved = np.flatnonzero(trace.mistake)
    margins = np.array([np.asarray(x)[moved] @ np.asarray(u) for x, u in zip(X, U, strict=True)])
    active = trace.task[moved], np.arange(len(moved))
    loss = np.maximum(0.0, 1.0 - signs(trace)[moved] * margins[active]).sum()
    # z·u of each round, the comparator's disagreement, which the matrix A_t penalises
    distances = (R @ margins)[active]
    q = sum(float(np.vdot(u, u)) for u in map(np.asarray, U)) + float(distances @ distances)
    return moved, float(loss), q


@dataclass(frozen=True)
class SpectralBound:
    """A mistake bound of the heterogeneous Perceptron by the spectrum of the data, for one comparator.

    Attributes
    ----------
    loss : float
        L, the comparator's hinge loss, summed over the rounds with a mistake.
    complexity : float
        The q of :func:`heterogeneous_bound`.
    energy : float
        Σ φ_i'A_t⁻¹φ_i, summed over the same rounds.
    """

    loss: float
    complexity: float
    energy: float

    @property
    def mistakes(self) -> float:
        """The mistake bound, L + sqrt(complexity · energy), for the comparator's loss L."""
        return self.loss + math.sqrt(self.complexity * self.energy)


def heterogeneous_spectral_bound(
    trace: Trace, X: Sequence[ArrayLike], U: Sequence[ArrayLike], b: float, M: ArrayLike | None = None
) -> SpectralBound:
    """Bound the mistakes of the heterogeneous Perceptron by the spectrum of its matrix (open question of CCG08 §8).

    For every u, with q and the hinge loss L as in :func:`heterogeneous_bound` and sums over the rounds with a mistake,

        mistakes <= L + sqrt(q Σ φ_i'A_t⁻¹φ_i),    A_t = I + Σ_(s <= t) z_s z_s',

    with the z of :func:`heterogeneous_bound`.

    Proof: a mistake increases v'A⁻¹v by at most φ_i'A_t⁻¹φ_i, because 2 y v'A_t⁻¹φ_i <= 0 and A only grows; and u·v is
    at least m - L and at most sqrt(u'A u · v'A⁻¹v), with u'A u = q. Each term is at most the φ_i'(I + M_t)⁻¹φ_i of
    :func:`heterogeneous_bound`, because A_t sums over all rounds so far, and M_t is of one round.

    Parameters
    ----------
    trace, X, U, b, M
        See :func:`heterogeneous_bound`.

    Returns
    -------
    SpectralBound
        Its ``mistakes`` is the bound. O(m D²) for D features in all.

    Raises
    ------
    ValueError
        If there is not one array with one row per round and one vector per task.

    Examples
    --------
    >>> import coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> hidden, active = rng.normal(size=(200, 2)), np.arange(200) % 2
    >>> X = [hidden / np.linalg.norm(hidden, axis=1, keepdims=True)] * 2
    >>> trace = ct.progressive_validation(ct.HeterogeneousMultitaskPerceptron(b=1.0), X, hidden[:, 0] > 0,
    ...     task=active)
    >>> bound = heterogeneous_spectral_bound(trace, X, [np.array([4.0, 0.0])] * 2, b=1.0)
    >>> trace.mistakes, round(bound.mistakes, 1)
    (12, 20.7)
    """
    R = _coupling_matrix(trace, b, M)
    moved, loss, q = _loss_and_q(trace, X, U, R)
    widths = [np.asarray(x).shape[1] for x in X]
    owner = np.repeat(np.arange(len(X)), widths)
    edges = np.concatenate([[0], np.cumsum(widths)])
    rows = np.hstack([np.asarray(x, np.float64)[moved] for x in X])
    P, energy = np.eye(edges[-1]), 0.0
    for row, i in zip(rows, trace.task[moved], strict=True):
        phi = np.zeros_like(row)
        phi[edges[i] : edges[i + 1]] = row[edges[i] : edges[i + 1]]
        z = R[i, owner] * row
        along = P @ z
        # Sherman and Morrison; the energy below uses A_t, which includes the current z, as MMPERC predicts
        P -= np.outer(along, along) / (1.0 + z @ along)
        energy += float(phi @ P @ phi)
    return SpectralBound(loss, q, energy)


def _radius(squares: Matrix, active: Ints, R: Matrix) -> Matrix:
    """Return φ_i'(I + zz')⁻¹φ_i of each round, from the squared norms of its instances.

    ``active`` are the active tasks i, and R is the coupling matrix.
    """
    own = squares[active, np.arange(len(active))]
    # Sherman and Morrison for one z: views are orthogonal, so z'φ_i = R_ii ‖φ_i‖² and ‖z‖² = Σ R_ik² ‖φ_k‖²
    along = (R[active, active] * own) ** 2
    return np.asarray(own - along / (1.0 + np.einsum("tk,kt->t", R[active] ** 2, squares)))


def _against(trace: Trace, X: RowMatrix, U: ArrayLike) -> tuple[Matrix, float, Ints]:
    """Return the rounds with a mistake, and in these the comparator's margins u_i·x and hinge loss."""
    V, moved = comparators(trace, X, U), np.flatnonzero(trace.mistake)
    margins = np.asarray((X[moved] @ V.T)[np.arange(len(moved)), trace.task[moved]])
    return margins, float(np.maximum(0.0, 1.0 - signs(trace)[moved] * margins).sum()), moved
