"""Updates of a learned relation matrix M = A⁻¹ from the Gram matrix W'W of the task vectors (SRDV11 eq. 3.6 to 3.10).

An update is a named tuple with bodies of ``update_relation``, which updates M, and optionally of ``absorb``, which adds
the latest weight update to the Gram matrix, and of ``update_row``. A relation is therefore a named tuple of arrays, and
the loop has no flags.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import copy_matrix, symmetrise
from coterie._compiled.core.checks import (
    MOST_FEATURES,
    require,
    require_counts,
    require_finite,
    require_rate,
    require_shape,
    require_within,
)
from coterie._compiled.core.generic import compiled, generic, generic_noinline, noinline, when

from .exponential import exponential, exponential_column, log_trace_exponential, outgrows

Matrix = NDArray[np.float64]

#: The maximum factor of M over its start if M itself multiplies updates: beyond it one update outweighs all before.
GROWTH = 1e6
#: The maximum entry of M if the mean step is constant; the sum of its squares must be finite.
ROOM = 1e140


class RelationUpdate:
    """Base class of the updates of a learned relation matrix, with methods that resize their state."""

    __slots__ = ()

    def resized(self, fresh: int, features: int, first: float) -> Self:
        """Resize the state for ``fresh`` more tasks, with ``first`` on the diagonal of A⁻¹, and for these features."""
        return self

    def restarted(self, first: float) -> Self:
        """Return the initial state, for which A⁻¹ is ``first`` times the identity."""
        return self

    def select(self, tasks: NDArray[np.int64]) -> Self:
        """Return the update restricted to these tasks."""
        return self

    def inverse_of(self, inverse: Matrix, tasks: NDArray[np.int64]) -> Matrix:
        """Return A⁻¹ restricted to these tasks: its rows and columns."""
        return among(inverse, tasks)

    def untouched(self, first: float) -> float:
        """Return the diagonal entry of A⁻¹ for a task with zero weights, which was ``first`` at the start."""
        return first

    def write_inverse(self, mean_step: int, inverse: Matrix) -> None:
        """Compute A⁻¹ after tasks were added or dropped, if each update of the weights needs all of it."""

    def check(self, tasks: int) -> None:
        """Raise ValueError for invalid numbers, or arrays of wrong shape."""


def bordered(M: Matrix, fresh: int, diagonal: float = 0.0) -> Matrix:
    """Pad a square matrix M with ``fresh`` rows and columns of zeros; ``diagonal`` is the diagonal of the new part."""
    K = len(M)
    wider = np.zeros((K + fresh, K + fresh))
    wider[:K, :K] = M
    wider[range(K, K + fresh), range(K, K + fresh)] = diagonal
    return wider


def among(M: Matrix, tasks: NDArray[np.int64]) -> Matrix:
    """Return the rows and columns of the matrix M that belong to these tasks."""
    return np.ascontiguousarray(M[np.ix_(tasks, tasks)])


def inverse_among(inverse: Matrix, tasks: NDArray[np.int64]) -> Matrix:
    """Return the inverse of the submatrix of A for these tasks, computed from A⁻¹ by a Schur complement."""
    # (A_SS)⁻¹ = R_SS - R_SO (R_OO)⁻¹ R_OS for R = A⁻¹ and the other tasks O
    others = np.setdiff1d(np.arange(len(inverse)), tasks)
    across = inverse[np.ix_(others, tasks)]
    left = among(inverse, tasks) - across.T @ np.linalg.solve(among(inverse, others), across)
    return np.ascontiguousarray((left + left.T) / 2)


def padded(vector: NDArray[Any], fresh: int, value: float = 0.0) -> NDArray[Any]:
    """Append ``fresh`` entries with this value to the last axis of an array."""
    widths = [(0, 0)] * (vector.ndim - 1) + [(0, fresh)]
    return np.pad(vector, widths, constant_values=value)


@generic_noinline
def update_relation(update, relation):
    """Update the relation matrix M; return False, with M unchanged, if it would exceed its limit."""


@generic_noinline
def absorb(update, relation):
    """Add the latest update of the weights to the Gram matrix W'W of the task vectors."""


@generic_noinline
def update_row(update, relation, i):
    """Recompute row i of ``relation.inverse`` if it is out of date."""


@when(absorb, object)
def _absorb(update, relation):
    _add_move(relation.gram, relation.move)


when(update_row, object)(lambda update, relation, i: None)


@noinline
def _add_move(gram, move):
    """Add the change of W'W by the latest update to the Gram matrix; the result is exactly symmetric."""
    a = move.column
    # a b' + b a' = a h' + h a' + ‖x‖² a a': W'W changes by a matrix of rank two
    b = move.along + 0.5 * move.size[0] * a
    for j in range(a.size):
        gram.sums[j] += move.size[1] * a[j]
        row = gram.products[j]
        for k in range(a.size):
            row[k] += a[j] * b[k] + b[j] * a[k]


@noinline
def step_scale(relation):
    """Return the factor of A⁻¹ in updates: 1, or K^e / tr A⁻¹ for K tasks with e = ``mean_step``."""
    if relation.mean_step == 0:
        return 1.0
    # without it A⁻¹ and W feed each other and grow without bound, for W += A⁻¹x and A⁻¹ += eta W'W
    return relation.inverse.shape[0] ** relation.mean_step / np.trace(relation.inverse)


@noinline
def entry_limit(relation):
    """Return the largest value that an entry of M may have; beyond it M is no longer updated."""
    return GROWTH * relation.first if relation.mean_step == 0 else ROOM


# -- LogDet -----------------------------------------------------------------------------------------------------------


class LogDetUpdate(namedtuple("LogDetUpdate", "eta unit_trace"), RelationUpdate):
    """LogDet update of a relation: eta W'W is added to A⁻¹. If ``unit_trace`` is 1, A is then divided by its trace.

    W has the task vectors as columns.
    """

    __slots__ = ()

    def check(self, tasks: int) -> None:
        require_rate("eta", self.eta)


@when(update_relation, LogDetUpdate)
def _update_by_log_det(update, relation):
    # SRDV11 (3.7), A_s = (A_{s-1}⁻¹ + eta W'W)⁻¹, needs no inversion when A⁻¹ is what is stored
    if not _add_gram(relation.inverse, update.eta, relation.gram.products, entry_limit(relation)):
        return False
    if update.unit_trace == 1:
        _divide_by_trace(relation.inverse)
    return True


@noinline
def _divide_by_trace(inverse):
    """Divide A by its trace, given A⁻¹, which is changed in place."""
    # (A / tr A)⁻¹ = tr A · A⁻¹, and tr A is the sum of 1 / eigenvalue of A⁻¹
    inverse *= np.sum(1.0 / np.linalg.eigvalsh(inverse))


@noinline
def _add_gram(R, eta, G, largest):
    """Add eta times the Gram matrix G to R, unless an entry would exceed ``largest``; then return False."""
    for j in range(R.shape[0]):
        # |R_jk| <= max R_jj for a positive definite R. "not <=" is true of NaN as well
        if not R[j, j] + eta * G[j, j] <= largest:
            return False
    for j in range(R.shape[0]):
        to, by = R[j], G[j]
        for k in range(to.size):
            to[k] += eta * by[k]
    return True


# -- von Neumann ------------------------------------------------------------------------------------------------------


class VonNeumannUpdate(namedtuple("VonNeumannUpdate", "eta unit_trace exponent known"), RelationUpdate):
    """Von Neumann update of a relation: eta W'W is added to B, with A⁻¹ = exp(B).

    Columns of A⁻¹ are computed on demand; W has the task vectors as columns.
    """

    __slots__ = ()

    @classmethod
    def begin(cls, eta: float, unit_trace: int, n_tasks: int, first: float) -> Self:
        """Return the initial state, for which A⁻¹ is ``first`` times the identity."""
        return cls(eta, unit_trace, np.log(first) * np.eye(n_tasks), np.ones(n_tasks, np.uint8))

    def restarted(self, first: float) -> Self:
        return self._replace(exponent=np.log(first) * np.eye(len(self.exponent)), known=np.ones_like(self.known))

    def resized(self, fresh: int, features: int, first: float) -> Self:
        return self._replace(exponent=bordered(self.exponent, fresh, np.log(first)), known=padded(self.known, fresh, 1))

    def select(self, tasks: NDArray[np.int64]) -> Self:
        return self._replace(exponent=among(self.exponent, tasks), known=np.zeros(len(tasks), np.uint8))

    def write_inverse(self, mean_step: int, inverse: Matrix) -> None:
        if mean_step:
            exponential(self.exponent, inverse)

    def check(self, tasks: int) -> None:
        require_rate("eta", self.eta)
        require_shape("exponent", self.exponent, tasks, tasks)
        require_finite("exponent", self.exponent)
        require_shape("known", self.known, tasks)
        require_within("known", self.known, 0, 1)


@when(update_relation, VonNeumannUpdate)
def _update_by_von_neumann(update, relation):
    # SRDV11 (3.8) with B = -log A = log A⁻¹; B itself is stored, so no logarithm is ever computed
    exponent = update.exponent + update.eta * relation.gram.products
    if update.unit_trace == 1:
        # A / tr A = exp(-B - log tr exp(-B) I), so B gains log tr A on its diagonal
        shift = log_trace_exponential(-exponent)
        for j in range(exponent.shape[0]):
            exponent[j, j] += shift
    # the mean step needs the trace, so all of A⁻¹, up to a factor; else a column is computed when it is needed
    if relation.mean_step == 0:
        if outgrows(exponent, np.log(entry_limit(relation))):
            return False
        # columns are computed on demand: a move needs one, and each revision outdates all
        update.known[:] = 0
    # only A⁻¹ divided by its trace is used, so B may grow as long as it is finite
    elif not np.isfinite(np.sum(np.diag(exponent))):
        return False
    # nothing was changed before this line, so a failed update leaves M unchanged
    copy_matrix(exponent, update.exponent)
    if relation.mean_step > 0:
        exponential(update.exponent, relation.inverse)
    return True


@when(update_row, VonNeumannUpdate)
def _update_row_of_exponential(update, relation, i):
    if not update.known[i]:
        exponential_column(update.exponent, i, relation.inverse[i])
        update.known[i] = 1


# -- any divergence ---------------------------------------------------------------------------------------------------


class Divergence:
    """Base class of divergences between positive definite matrices that depend on their eigenvalues.

    A derived named tuple has bodies of ``gradient`` and ``inverse_gradient``, for an increasing f.
    """

    __slots__ = ()

    def check(self) -> None:
        """Raise ValueError for invalid parameters."""


@generic
def gradient(divergence, value):
    """Return f(a) for an eigenvalue a of A; f is the derivative of the function that generates the divergence."""


@generic
def inverse_gradient(divergence, value):
    """Return the eigenvalue a for which f(a) is this value; NaN if there is none."""


class Beta(namedtuple("Beta", "beta"), Divergence):
    """Beta divergence, f(a) = (a^(beta - 1) - 1) / (beta - 1): LogDet for beta = 0, von Neumann for beta = 1."""

    __slots__ = ()

    def check(self) -> None:
        require(0.0 <= self.beta <= 1.0, f"beta is {self.beta!r}")


@when(gradient, Beta)
def _gradient_of_beta(divergence, value):
    less = divergence.beta - 1.0
    # expm1 loses no digits near beta = 1, where (a^less - 1) / less tends to log a
    return np.log(value) if less == 0.0 else np.expm1(less * np.log(value)) / less


@when(inverse_gradient, Beta)
def _inverse_gradient_of_beta(divergence, value):
    less = divergence.beta - 1.0
    # log1p of less than -1 is NaN, which tells that no eigenvalue has this gradient
    return np.exp(value) if less == 0.0 else np.exp(np.log1p(less * value) / less)


class DivergenceUpdate(namedtuple("DivergenceUpdate", "eta divergence unit_trace power dual"), RelationUpdate):
    """Update of a relation by a divergence: eta W'W is subtracted from f(P), for P = A or P = A⁻¹.

    W has the task vectors as columns, and f is the gradient of the divergence.
    """

    __slots__ = ()

    @classmethod
    def begin(cls, eta: float, divergence: Any, unit_trace: int, power: int, n_tasks: int, first: float) -> Self:
        """Return the initial state, for which A⁻¹ is ``first`` times the identity."""
        return cls(eta, divergence, unit_trace, power, np.zeros((n_tasks, n_tasks))).restarted(first)

    def restarted(self, first: float) -> Self:
        return self._replace(dual=self._at(first) * np.eye(len(self.dual)))

    def resized(self, fresh: int, features: int, first: float) -> Self:
        return self._replace(dual=bordered(self.dual, fresh, self._at(first)))

    def _at(self, first: float) -> float:
        """Return the initial diagonal entry of B = f(P), for ``first`` on the diagonal of A⁻¹."""
        return float(gradient_at(self.divergence, first**self.power))

    def select(self, tasks: NDArray[np.int64]) -> Self:
        return self._replace(dual=among(self.dual, tasks))

    def write_inverse(self, mean_step: int, inverse: Matrix) -> None:
        if len(inverse):
            write_out(self, inverse)

    def check(self, tasks: int) -> None:
        require_rate("eta", self.eta)
        self.divergence.check()
        require_shape("dual", self.dual, tasks, tasks)
        require_finite("dual", self.dual)


@compiled
def gradient_at(divergence, value):
    """Return f(value) for a divergence; :func:`gradient` for calls from Python."""
    return gradient(divergence, value)


@compiled
def write_out(update, inverse):
    """Compute A⁻¹ from the state B = f(P), and write it to ``inverse``."""
    values, vectors = np.linalg.eigh(update.dual)
    for j in range(values.size):
        # f acts on eigenvalues, so f⁻¹(B) has the eigenvectors of B
        values[j] = inverse_gradient(update.divergence, values[j])
        if update.power < 0:
            values[j] = 1.0 / values[j] if values[j] > 0.0 else np.inf
    _compose_apart(values, vectors, update.dual, inverse)


@when(update_relation, DivergenceUpdate)
def _update_by_divergence(update, relation):
    # SRDV11 (3.6) for P = A, with both sides mapped by f: f(A_s) = f(A_{s-1}) - eta W'W
    dual = update.dual - update.eta * relation.gram.products
    if not np.all(np.isfinite(dual)):
        return False
    values, vectors = np.linalg.eigh(dual)
    for j in range(values.size):
        values[j] = inverse_gradient(update.divergence, values[j])
    # outside the range of f there is no matrix with this dual: M stays as it was
    if not np.all(values > 0.0):
        return False
    if update.unit_trace == 1:
        values /= np.sum(values)
    if not np.all(values > 0.0):  # the smallest may vanish beside the largest
        return False
    spread = values**update.power
    if not np.max(spread) <= entry_limit(relation):
        return False
    _compose_apart(spread, vectors, dual, relation.inverse)
    # the dual must be that of the normalised P, or the next update would start elsewhere
    if update.unit_trace == 1:
        for j in range(values.size):
            values[j] = gradient(update.divergence, values[j])
        _compose_apart(values, vectors, dual, update.dual)
    else:
        copy_matrix(dual, update.dual)
    return True


@noinline
def _compose_apart(values, vectors, like, out):
    """Compute V diag(values) V' from eigenvectors V.

    Entries are exactly zero between tasks that ``like`` does not connect.
    """
    # symmetrised, because rounding of the product differs between the two triangles
    product = np.dot(vectors * values, vectors.T)
    symmetrise(product, out)
    for j in range(out.shape[0]):
        alone = True
        for k in range(out.shape[0]):
            alone = alone and (k == j or like[j, k] == 0.0)
        if alone:
            for k in range(out.shape[0]):
                if k != j:
                    out[j, k] = out[k, j] = 0.0


# -- covariance -------------------------------------------------------------------------------------------------------

#: Moves since the latest revision, anything but 1, so that the next one inverts afresh; revisions since the inversion.
NEVER_INVERTED = np.array([2, 0])


class CovarianceUpdate(namedtuple("CovarianceUpdate", "ridge features"), RelationUpdate):
    """Covariance update of a relation: A⁻¹ becomes cov(W) + ridge I.

    The task vectors are the columns of W, and features are the observations.
    """

    __slots__ = ()

    @classmethod
    def begin(cls, ridge: float, features: int) -> Self:
        """Return the initial state for this many features."""
        return cls(ridge, np.array([float(max(features, 1))]))

    def resized(self, fresh: int, features: int, first: float) -> Self:
        return self._replace(features=np.array([float(features)]))

    def untouched(self, first: float) -> float:
        return float(self.ridge)

    def check(self, tasks: int) -> None:
        require_rate("ridge", self.ridge)
        require_shape("features", self.features, 1)
        require_within("features", self.features, 0, MOST_FEATURES)


class PrecisionUpdate(namedtuple("PrecisionUpdate", "ridge features last since"), RelationUpdate):
    """Covariance update of a relation: A becomes cov(W) + ridge I, and its inverse is stored.

    The task vectors are the columns of W, and features are the observations.

    ``last`` has the a and b of the latest change (a b' + b a') / (d - 1) of the covariance, ``since`` the numbers of
    weight updates after the latest update of M, and of these after the latest inversion.
    """

    __slots__ = ()

    @classmethod
    def begin(cls, ridge: float, features: int, n_tasks: int) -> Self:
        """Return the initial state for this many features and tasks."""
        return cls(ridge, np.array([float(max(features, 1))]), np.zeros((2, n_tasks)), NEVER_INVERTED.copy())

    def resized(self, fresh: int, features: int, first: float) -> Self:
        since = self.since if features == self.features[0] else NEVER_INVERTED.copy()
        return self._replace(features=np.array([float(features)]), last=padded(self.last, fresh), since=since)

    def select(self, tasks: NDArray[np.int64]) -> Self:
        last = np.ascontiguousarray(self.last[:, tasks])
        return self._replace(last=last, since=NEVER_INVERTED.copy())

    def inverse_of(self, inverse: Matrix, tasks: NDArray[np.int64]) -> Matrix:
        """Return the inverse of the submatrix of A for these tasks."""
        return inverse_among(inverse, tasks)

    def untouched(self, first: float) -> float:
        return 1.0 / float(self.ridge)

    def check(self, tasks: int) -> None:
        require_rate("ridge", self.ridge)
        require_shape("features", self.features, 1)
        require_within("features", self.features, 0, MOST_FEATURES)
        require_shape("last", self.last, 2, tasks)
        require_counts("since", self.since, 2)


@noinline
def _covariance(gram, d, ridge, out):
    """Write the covariance of the task vectors over their d features, plus ridge times the identity, to ``out``."""
    for j in range(out.shape[0]):
        for k in range(out.shape[0]):
            # SRDV11 (3.9): sums[j] / d is the mean weight of task j over the features; d = 1 divides by 1
            out[j, k] = (gram.products[j, k] - gram.sums[j] * gram.sums[k] / d) / max(d - 1.0, 1.0)
        out[j, j] += ridge


@when(update_relation, CovarianceUpdate)
def _update_by_covariance(update, relation):
    return _write_covariance(update, relation.gram, relation.inverse, entry_limit(relation))


@noinline
def _write_covariance(update, gram, inverse, largest):
    d = update.features[0]
    for j in range(inverse.shape[0]):
        # a covariance is at most the larger of the two variances, so the diagonal tells
        if not (gram.products[j, j] - gram.sums[j] ** 2 / d) / max(d - 1.0, 1.0) <= largest:
            return False
    _covariance(gram, d, update.ridge, inverse)
    return True


@when(absorb, PrecisionUpdate)
def _absorb_into_precision(update, relation):
    # it reads the sums from before the move, so it comes before they change
    _note_centred(update.last, update.features[0], relation.gram, relation.move)
    update.since[0] += 1
    _add_move(relation.gram, relation.move)


@noinline
def _note_centred(last, d, gram, move):
    """Store the vectors a and b of the latest change a b' + b a' of the covariance."""
    # ‖x - mean‖² = ‖x‖² - (Σ x)² / d
    length = move.size[0] - move.size[1] ** 2 / d
    for j in range(move.column.size):
        last[0, j] = move.column[j]
        # the centred h is W'x - Σx Σw / d; half the centred ‖x‖² a makes the change a b' + b a', as in _add_move
        last[1, j] = move.along[j] - move.size[1] * gram.sums[j] / d + 0.5 * length * move.column[j]


@when(update_relation, PrecisionUpdate)
def _update_by_precision(update, relation):
    return _write_precision(update, relation.gram, relation.inverse)


@noinline
def _write_precision(update, gram, inverse):
    """Update the inverse by the latest change, of rank two: O(K²), with an occasional recomputation."""
    K = inverse.shape[0]
    # rounding errors of rank-two updates accumulate, so the inverse is recomputed from time to time
    fresh = update.since[0] != 1 or update.since[1] >= max(K, 64)
    if fresh or not _rank_two(inverse, update.last[0], update.last[1], max(update.features[0] - 1.0, 1.0)):
        A = np.empty((K, K))
        _covariance(gram, update.features[0], update.ridge, A)
        # A of weights that overflowed; without this the inverse would be NaN
        if not np.all(np.isfinite(A)):
            return False
        inverted = np.linalg.inv(A)
        symmetrise(inverted, inverse)
        update.since[1] = 0
    # 0 moves since this revision, one more revision since the inversion
    update.since[0], update.since[1] = 0, update.since[1] + 1
    return True


@noinline
def _rank_two(P, a, b, d):
    """Update P = A⁻¹ for the new matrix A + (a b' + b a') / d; return False if the result is inaccurate."""
    u, v = np.dot(P, a), np.dot(P, b)
    # with U = [a b] and S = [0 1; 1 0] / d, (S⁻¹ + U'PU) / d = [p q; q r]
    p, q, r = np.dot(a, u) / d, 1.0 + np.dot(a, v) / d, np.dot(b, v) / d
    determinant = q * q - p * r
    # q² and p r nearly cancel where A is nearly singular after the change
    if not determinant > 1e-3 * (q * q + abs(p * r)):
        return False
    scaled = d * determinant
    for j in range(a.size):
        along_u, along_v = (q * v[j] - r * u[j]) / scaled, (q * u[j] - p * v[j]) / scaled
        # one triangle and its mirror image, so that P stays symmetric to the last bit
        for k in range(j + 1):
            P[j, k] -= along_u * u[k] + along_v * v[k]
            P[k, j] = P[j, k]
    return True


# -- the square root --------------------------------------------------------------------------------------------------


class RootUpdate(namedtuple("RootUpdate", "ridge power"), RelationUpdate):
    """Square-root update of a relation: P becomes (W'W)^(1/2), divided by its trace, plus ridge I.

    P is A or A⁻¹, and W has the task vectors as columns.
    """

    __slots__ = ()

    def inverse_of(self, inverse: Matrix, tasks: NDArray[np.int64]) -> Matrix:
        return among(inverse, tasks) if self.power > 0 else inverse_among(inverse, tasks)

    def untouched(self, first: float) -> float:
        return float(self.ridge) if self.power > 0 else 1.0 / float(self.ridge)

    def check(self, tasks: int) -> None:
        require_rate("ridge", self.ridge)


@noinline
def _root(G):
    """Return the eigenvalues and eigenvectors of the square root of G, divided by its trace; zeros for G = 0."""
    values, vectors = np.linalg.eigh(G)
    # rounding may leave eigenvalues of a singular W'W below zero
    roots = np.sqrt(np.maximum(values, 0.0))
    total = np.sum(roots)
    return roots / total if total > 0.0 else roots, vectors


@noinline
def _compose(values, vectors, G, at_zero, out):
    """Compute V diag(values) V' from eigenvectors V.

    Tasks without weights (zero in G) get ``at_zero`` and no correlations.
    """
    product = np.dot(vectors * values, vectors.T)
    symmetrise(product, out)
    for j in range(out.shape[0]):
        # an eigenbasis of the null space is arbitrary and mixes tasks without weights with others
        if G[j, j] == 0.0:
            out[j, :] = 0.0
            out[:, j] = 0.0
            out[j, j] = at_zero


@when(update_relation, RootUpdate)
def _update_by_root(update, relation):
    products = relation.gram.products
    if not np.isfinite(np.trace(products)):
        return False
    # SRDV11 (3.10); ridge I is added because W'W is singular until all tasks have moved
    roots, vectors = _root(products)
    # before the first move there is no matrix of trace one to take: M stays
    if np.sum(roots) > 0.0:
        values, at_zero = roots + update.ridge, update.ridge
        if update.power < 0:
            values, at_zero = 1.0 / values, 1.0 / at_zero
        _compose(values, vectors, products, at_zero, relation.inverse)
    return True


# -- a fixed relation that waits --------------------------------------------------------------------------------------


class FixedUpdate(namedtuple("FixedUpdate", "target"), RelationUpdate):
    """Update of a relation to the constant matrix ``target``, whatever the task vectors."""

    __slots__ = ()

    def select(self, tasks: NDArray[np.int64]) -> Self:
        return self._replace(target=among(self.target, tasks))

    def check(self, tasks: int) -> None:
        require_shape("target", self.target, tasks, tasks)
        require_finite("target", self.target)


@when(update_relation, FixedUpdate)
def _update_to_target(update, relation):
    # until EPOCH moves were spread by A_0 = I / K, from here on by the fixed relation
    copy_matrix(update.target, relation.inverse)
    return True
