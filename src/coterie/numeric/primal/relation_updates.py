"""The laws by which a learned M = A⁻¹ follows from the Gram matrix W'W of the task vectors (SRDV11 eq. 3.6 to 3.10).

A law is a named tuple with bodies of ``update_relation``, which takes M one step on, and where it must of ``absorb``,
which adds a move to the Gram matrix, and of ``update_row``. So a relation is a named tuple of arrays, and the loop has
no flag.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie.numeric.core.arrays import copy_matrix, symmetrise
from coterie.numeric.core.checks import (
    MOST_FEATURES,
    require,
    require_counts,
    require_finite,
    require_rate,
    require_shape,
    require_within,
)
from coterie.numeric.core.generic import compiled, generic, generic_noinline, noinline, when

from .exponential import exponential, exponential_column, log_trace_exponential, outgrows

Matrix = NDArray[np.float64]

#: M may grow to so many times its start where moves are spread by M itself: beyond that one move outweighs all before.
GROWTH = 1e6
#: Where the mean step is kept, M may grow as far as its square can be summed.
ROOM = 1e140


class RelationUpdate:
    """The Python side of a law: it grows as tasks and features arrive."""

    __slots__ = ()

    def resized(self, fresh: int, features: int, first: float) -> Self:
        """Make room for so many new tasks, whose diagonal of A⁻¹ began at ``first``, and for ``features`` in all."""
        return self

    def restarted(self, first: float) -> Self:
        """Start anew at A⁻¹ = first · I, while nothing has been revised yet."""
        return self

    def of(self, tasks: NDArray[np.int64]) -> Self:
        """Return the law of these tasks alone, in their order."""
        return self

    def inverse_of(self, inverse: Matrix, tasks: NDArray[np.int64]) -> Matrix:
        """Return A⁻¹ of these tasks alone: its rows and columns."""
        return among(inverse, tasks)

    def untouched(self, first: float) -> float:
        """Return the diagonal of a revised A⁻¹ at a task without weights; it was ``first`` before."""
        return first

    def bring_up(self, schedule: Any, inverse: Matrix) -> None:
        """Bring A⁻¹ up to date with a law that has grown, where every move needs all of it."""

    def check(self, tasks: int) -> None:
        """Refuse numbers and arrays that do not fit this law and so many tasks: ValueError."""


def bordered(M: Matrix, fresh: int, diagonal: float = 0.0) -> Matrix:
    """Add so many rows and columns to a square matrix, zero but for the diagonal."""
    K = len(M)
    wider = np.zeros((K + fresh, K + fresh))
    wider[:K, :K] = M
    wider[range(K, K + fresh), range(K, K + fresh)] = diagonal
    return wider


def among(M: Matrix, tasks: NDArray[np.int64]) -> Matrix:
    """Return the rows and columns of some tasks, in their order."""
    return np.ascontiguousarray(M[np.ix_(tasks, tasks)])


def inverse_among(inverse: Matrix, tasks: NDArray[np.int64]) -> Matrix:
    """Return the inverse of the rows and columns of A for some tasks, by Schur's complement in A⁻¹."""
    others = np.setdiff1d(np.arange(len(inverse)), tasks)
    across = inverse[np.ix_(others, tasks)]
    left = among(inverse, tasks) - across.T @ np.linalg.solve(among(inverse, others), across)
    return np.ascontiguousarray((left + left.T) / 2)


def padded(vector: NDArray[Any], fresh: int, value: float = 0.0) -> NDArray[Any]:
    """Add so many entries to the last axis."""
    widths = [(0, 0)] * (vector.ndim - 1) + [(0, fresh)]
    return np.pad(vector, widths, constant_values=value)


@generic_noinline
def update_relation(relation_update: Any, relation: Any) -> Any:
    """Revise M; return False, leaving M as it is, if it would outgrow its limit."""


@generic_noinline
def absorb(relation_update: Any, relation: Any) -> Any:
    """Add the move to the Gram matrix."""


@generic_noinline
def update_row(relation_update: Any, relation: Any, i: Any) -> Any:
    """Bring row i of ``relation.inverse`` up to date."""


@when(absorb, object)
def _absorb(relation_update: Any, relation: Any) -> Any:
    _add_move(relation.gram, relation.move)


when(update_row, object)(lambda relation_update, relation, i: None)


@noinline
def _add_move(gram: Any, move: Any) -> None:
    """W'W += a b' + b a' with b = W'x + ‖x‖² a / 2: exactly symmetric, for sums of two commute."""
    a = move.column
    b = move.along + 0.5 * move.size[0] * a
    for j in range(a.size):
        gram.sums[j] += move.size[1] * a[j]
        row = gram.products[j]
        for k in range(a.size):
            row[k] += a[j] * b[k] + b[j] * a[k]


# -- the pace: by what moves are spread -------------------------------------------------------------------------------


class AsLearned(NamedTuple):
    """Moves are spread by A⁻¹."""

    power: int

    @property
    def reads_all(self) -> bool:
        """Tell that a move reads one column of A⁻¹."""
        return False


class MeanStep(NamedTuple):
    """Moves are spread by K^(1 + power) A⁻¹ / tr A⁻¹, so that the mean step stays that of the start, K or 1."""

    power: int

    @property
    def reads_all(self) -> bool:
        """Tell that a move needs all of A⁻¹, for its trace."""
        return True


@generic_noinline
def scale(schedule: Any, relation: Any) -> Any:
    """Return the factor of A⁻¹ in a move."""


@generic_noinline
def limit(schedule: Any, first: Any) -> Any:
    """Return how large an entry of M may become."""


when(limit, AsLearned)(lambda schedule, first: GROWTH * first)
when(limit, MeanStep)(lambda schedule, first: ROOM)
when(scale, AsLearned)(lambda schedule, relation: 1.0)


@when(scale, MeanStep)
def _scale_mean_step(schedule: Any, relation: Any) -> Any:
    K = relation.inverse.shape[0]
    return K ** (1 + schedule.power) / np.trace(relation.inverse)


# -- the trace --------------------------------------------------------------------------------------------------------


class FreeTrace(NamedTuple):
    """A is not divided by its trace."""

    exponent: int


class UnitTrace(NamedTuple):
    """A is divided by its trace after every revision."""

    exponent: int


@generic_noinline
def log_trace(trace: Any, exponent: Any) -> Any:
    """Return log tr A of A = exp(-exponent), if A is divided by its trace; else 0."""


@generic_noinline
def unit_trace(trace: Any, inverse: Any) -> Any:
    """Divide A by its trace, if asked for."""


when(log_trace, FreeTrace)(lambda trace, exponent: 0.0)
when(log_trace, UnitTrace)(lambda trace, exponent: log_trace_exponential(-exponent))
when(unit_trace, FreeTrace)(lambda trace, inverse: None)


@when(unit_trace, UnitTrace)
def _unit_trace(trace: Any, inverse: Any) -> Any:
    inverse *= np.sum(1.0 / np.linalg.eigvalsh(inverse))


# -- LogDet -----------------------------------------------------------------------------------------------------------


class _LogDetFields(NamedTuple):
    eta: float
    trace: Any


class LogDetUpdate(_LogDetFields, RelationUpdate):
    """A⁻¹ <- A⁻¹ + eta W'W."""

    __slots__ = ()

    def check(self, tasks: int) -> None:
        require_rate("eta", self.eta)


@when(update_relation, LogDetUpdate)
def _revise_logdet(relation_update: Any, relation: Any) -> Any:
    if not _add_gram(
        relation.inverse, relation_update.eta, relation.gram.products, limit(relation.schedule, relation.first)
    ):
        return False
    unit_trace(relation_update.trace, relation.inverse)
    return True


@noinline
def _add_gram(R: Any, eta: Any, G: Any, largest: Any) -> bool:
    """R += eta G unless that makes an entry larger than that; of a positive definite R the diagonal tells."""
    for j in range(R.shape[0]):
        if not R[j, j] + eta * G[j, j] <= largest:
            return False
    for j in range(R.shape[0]):
        to, by = R[j], G[j]
        for k in range(to.size):
            to[k] += eta * by[k]
    return True


# -- von Neumann ------------------------------------------------------------------------------------------------------


class _VonNeumannFields(NamedTuple):
    eta: float
    trace: Any
    exponent: Any
    known: Any


class VonNeumannUpdate(_VonNeumannFields, RelationUpdate):
    """B <- B + eta W'W with A⁻¹ = exp(B); ``known`` says which columns of the exponential are at hand."""

    __slots__ = ()

    @classmethod
    def begin(cls, eta: float, trace: Any, n_tasks: int, first: float) -> Self:
        """Start at A⁻¹ = first · I for so many tasks."""
        return cls(eta, trace, np.log(first) * np.eye(n_tasks), np.ones(n_tasks, np.uint8))

    def restarted(self, first: float) -> Self:
        return self._replace(exponent=np.log(first) * np.eye(len(self.exponent)), known=np.ones_like(self.known))

    def resized(self, fresh: int, features: int, first: float) -> Self:
        return self._replace(exponent=bordered(self.exponent, fresh, np.log(first)), known=padded(self.known, fresh, 1))

    def of(self, tasks: NDArray[np.int64]) -> Self:
        return self._replace(exponent=among(self.exponent, tasks), known=np.zeros(len(tasks), np.uint8))

    def bring_up(self, schedule: Any, inverse: Matrix) -> None:
        if schedule.reads_all:
            exponential(self.exponent, inverse)

    def check(self, tasks: int) -> None:
        require_rate("eta", self.eta)
        require_shape("exponent", self.exponent, tasks, tasks)
        require_finite("exponent", self.exponent)
        require_shape("known", self.known, tasks)
        require_within("known", self.known, 0, 1)


@generic_noinline
def exponentiate(schedule: Any, relation_update: Any, relation: Any) -> Any:
    """Bring ``relation.inverse`` up to date with an exponent that has changed."""


@generic_noinline
def may_grow(schedule: Any, exponent: Any, largest: Any) -> Any:
    """Tell whether moves can be spread by the exponential of this exponent."""


@when(update_relation, VonNeumannUpdate)
def _revise_von_neumann(relation_update: Any, relation: Any) -> Any:
    exponent = relation_update.exponent + relation_update.eta * relation.gram.products
    shift = log_trace(relation_update.trace, exponent)
    for j in range(exponent.shape[0]):
        exponent[j, j] += shift
    if not may_grow(relation.schedule, exponent, np.log(limit(relation.schedule, relation.first))):
        return False
    copy_matrix(exponent, relation_update.exponent)
    exponentiate(relation.schedule, relation_update, relation)
    return True


when(may_grow, AsLearned)(lambda schedule, exponent, largest: not outgrows(exponent, largest))
when(may_grow, MeanStep)(lambda schedule, exponent, largest: np.isfinite(np.sum(np.diag(exponent))))


@when(exponentiate, AsLearned)
def _exponentiate_lazily(schedule: Any, relation_update: Any, relation: Any) -> Any:
    relation_update.known[:] = 0


@when(exponentiate, MeanStep)
def _exponentiate(schedule: Any, relation_update: Any, relation: Any) -> Any:
    exponential(relation_update.exponent, relation.inverse)


@when(update_row, VonNeumannUpdate)
def _update_row_of_exponential(relation_update: Any, relation: Any, i: Any) -> Any:
    if not relation_update.known[i]:
        exponential_column(relation_update.exponent, i, relation.inverse[i])
        relation_update.known[i] = 1


# -- any divergence ---------------------------------------------------------------------------------------------------


class Divergence:
    """The Python side of a divergence between positive definite matrices that goes by their eigenvalues.

    A named tuple that derives from it has bodies of ``gradient`` and ``inverse_gradient``, of an increasing f.
    """

    __slots__ = ()

    def check(self) -> None:
        """Refuse numbers that make no such divergence: ValueError."""


@generic
def gradient(divergence: Any, value: Any) -> Any:
    """Return f(a) of an eigenvalue a of A, f being the gradient of the function that generates the divergence."""


@generic
def inverse_gradient(divergence: Any, value: Any) -> Any:
    """Return the a of which f(a) is this, or NaN if there is none."""


class _BetaFields(NamedTuple):
    beta: float


class Beta(_BetaFields, Divergence):
    """f(a) = (a^(beta - 1) - 1) / (beta - 1): 1 - 1/a of LogDet for beta = 0, log a of von Neumann for beta = 1."""

    __slots__ = ()

    def check(self) -> None:
        require(0.0 <= self.beta <= 1.0, f"beta is {self.beta!r}")


@when(gradient, Beta)
def _gradient_of_beta(divergence: Any, value: Any) -> Any:
    less = divergence.beta - 1.0
    return np.log(value) if less == 0.0 else np.expm1(less * np.log(value)) / less


@when(inverse_gradient, Beta)
def _inverse_gradient_of_beta(divergence: Any, value: Any) -> Any:
    less = divergence.beta - 1.0
    return np.exp(value) if less == 0.0 else np.exp(np.log1p(less * value) / less)


@generic_noinline
def normalise(trace: Any, values: Any) -> Any:
    """Divide the eigenvalues by their sum, if asked for; tell whether that was done."""


when(normalise, FreeTrace)(lambda trace, values: False)


@when(normalise, UnitTrace)
def _normalise(trace: Any, values: Any) -> Any:
    values /= np.sum(values)
    return True


class _DivergenceFields(NamedTuple):
    eta: float
    divergence: Any
    trace: Any
    power: int
    dual: Any


class DivergenceUpdate(_DivergenceFields, RelationUpdate):
    """B <- B - eta W'W with B = f(P), where P is A for ``power`` = -1 and A⁻¹ for 1: A⁻¹ = P^power."""

    __slots__ = ()

    @classmethod
    def begin(cls, eta: float, divergence: Any, trace: Any, power: int, n_tasks: int, first: float) -> Self:
        """Start at A⁻¹ = first · I for so many tasks."""
        return cls(eta, divergence, trace, power, np.zeros((n_tasks, n_tasks))).restarted(first)

    def restarted(self, first: float) -> Self:
        return self._replace(dual=self._at(first) * np.eye(len(self.dual)))

    def resized(self, fresh: int, features: int, first: float) -> Self:
        return self._replace(dual=bordered(self.dual, fresh, self._at(first)))

    def _at(self, first: float) -> float:
        """Return the diagonal of B where A⁻¹ has ``first``."""
        return float(gradient_at(self.divergence, first**self.power))

    def of(self, tasks: NDArray[np.int64]) -> Self:
        return self._replace(dual=among(self.dual, tasks))

    def bring_up(self, schedule: Any, inverse: Matrix) -> None:
        if len(inverse):
            write_out(self, inverse)

    def check(self, tasks: int) -> None:
        require_rate("eta", self.eta)
        self.divergence.check()
        require_shape("dual", self.dual, tasks, tasks)
        require_finite("dual", self.dual)


@compiled
def gradient_at(divergence: Any, value: float) -> Any:
    """Call ``gradient`` from Python."""
    return gradient(divergence, value)


@compiled
def write_out(relation_update: Any, inverse: Any) -> None:
    """Write the A⁻¹ = P^power that belongs to B = f(P)."""
    values, vectors = np.linalg.eigh(relation_update.dual)
    for j in range(values.size):
        values[j] = inverse_gradient(relation_update.divergence, values[j])
        if relation_update.power < 0:
            values[j] = 1.0 / values[j] if values[j] > 0.0 else np.inf
    _compose_apart(values, vectors, relation_update.dual, inverse)


@when(update_relation, DivergenceUpdate)
def _revise_by_divergence(relation_update: Any, relation: Any) -> Any:
    dual = relation_update.dual - relation_update.eta * relation.gram.products
    if not np.all(np.isfinite(dual)):
        return False
    values, vectors = np.linalg.eigh(dual)
    for j in range(values.size):
        values[j] = inverse_gradient(relation_update.divergence, values[j])
    if not np.all(values > 0.0):
        return False
    normed = normalise(relation_update.trace, values)
    if not np.all(values > 0.0):  # the smallest may vanish beside the largest
        return False
    spread = values**relation_update.power
    if not np.max(spread) <= limit(relation.schedule, relation.first):
        return False
    _compose_apart(spread, vectors, dual, relation.inverse)
    if normed:
        for j in range(values.size):
            values[j] = gradient(relation_update.divergence, values[j])
        _compose_apart(values, vectors, dual, relation_update.dual)
    else:
        copy_matrix(dual, relation_update.dual)
    return True


@noinline
def _compose_apart(values: Any, vectors: Any, like: Any, out: Any) -> None:
    """Write V diag(values) V', exactly zero between a task and all others where ``like`` is."""
    made = np.dot(vectors * values, vectors.T)
    symmetrise(made, out)
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


class _CovarianceFields(NamedTuple):
    ridge: float
    features: Any


class CovarianceUpdate(_CovarianceFields, RelationUpdate):
    """A⁻¹ <- cov(W) + ridge I, the features being the observations."""

    __slots__ = ()

    @classmethod
    def begin(cls, ridge: float, features: int) -> Self:
        """Start with so many features."""
        return cls(ridge, np.array([float(max(features, 1))]))

    def resized(self, fresh: int, features: int, first: float) -> Self:
        return self._replace(features=np.array([float(features)]))

    def untouched(self, first: float) -> float:
        return float(self.ridge)

    def check(self, tasks: int) -> None:
        require_rate("ridge", self.ridge)
        require_shape("features", self.features, 1)
        require_within("features", self.features, 0, MOST_FEATURES)


class _PrecisionFields(NamedTuple):
    ridge: float
    features: Any
    last: Any
    since: Any


class PrecisionUpdate(_PrecisionFields, RelationUpdate):
    """A <- cov(W) + ridge I, its inverse kept.

    ``last`` holds the a and b of the latest change (a b' + b a') / (d - 1) of the covariance, ``since`` how many moves
    came after the latest revision and how many revisions after the latest inversion.
    """

    __slots__ = ()

    @classmethod
    def begin(cls, ridge: float, features: int, n_tasks: int) -> Self:
        """Start with so many features and tasks."""
        return cls(ridge, np.array([float(max(features, 1))]), np.zeros((2, n_tasks)), NEVER_INVERTED.copy())

    def resized(self, fresh: int, features: int, first: float) -> Self:
        since = self.since if features == self.features[0] else NEVER_INVERTED.copy()
        return self._replace(features=np.array([float(features)]), last=padded(self.last, fresh), since=since)

    def of(self, tasks: NDArray[np.int64]) -> Self:
        last = np.ascontiguousarray(self.last[:, tasks])
        return self._replace(last=last, since=NEVER_INVERTED.copy())

    def inverse_of(self, inverse: Matrix, tasks: NDArray[np.int64]) -> Matrix:
        """Return the inverse of A of these tasks alone."""
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
def _covariance(gram: Any, d: Any, ridge: Any, out: Any) -> None:
    """Write the covariance of the task vectors over their d features, plus ridge I."""
    for j in range(out.shape[0]):
        for k in range(out.shape[0]):
            out[j, k] = (gram.products[j, k] - gram.sums[j] * gram.sums[k] / d) / max(d - 1.0, 1.0)
        out[j, j] += ridge


@when(update_relation, CovarianceUpdate)
def _revise_covariance(relation_update: Any, relation: Any) -> Any:
    return _take_covariance(relation_update, relation.gram, relation.inverse, limit(relation.schedule, relation.first))


@noinline
def _take_covariance(relation_update: Any, gram: Any, inverse: Any, largest: Any) -> bool:
    d = relation_update.features[0]
    for j in range(inverse.shape[0]):
        if not (gram.products[j, j] - gram.sums[j] ** 2 / d) / max(d - 1.0, 1.0) <= largest:
            return False
    _covariance(gram, d, relation_update.ridge, inverse)
    return True


@when(absorb, PrecisionUpdate)
def _absorb_precision(relation_update: Any, relation: Any) -> Any:
    _note_centred(relation_update.last, relation_update.features[0], relation.gram, relation.move)
    relation_update.since[0] += 1
    _add_move(relation.gram, relation.move)


@noinline
def _note_centred(last: Any, d: Any, gram: Any, move: Any) -> None:
    """Write the a and b of the change a b' + b a' of the centred Gram matrix."""
    length = move.size[0] - move.size[1] ** 2 / d
    for j in range(move.column.size):
        last[0, j] = move.column[j]
        last[1, j] = move.along[j] - move.size[1] * gram.sums[j] / d + 0.5 * length * move.column[j]


@when(update_relation, PrecisionUpdate)
def _revise_precision(relation_update: Any, relation: Any) -> Any:
    return _take_precision(relation_update, relation.gram, relation.inverse)


@noinline
def _take_precision(relation_update: Any, gram: Any, inverse: Any) -> bool:
    """Update the inverse by the rank-two change since the last revision, now and then afresh: O(K²) on average."""
    K = inverse.shape[0]
    fresh = relation_update.since[0] != 1 or relation_update.since[1] >= max(K, 64)
    if fresh or not _rank_two(
        inverse, relation_update.last[0], relation_update.last[1], max(relation_update.features[0] - 1.0, 1.0)
    ):
        A = np.empty((K, K))
        _covariance(gram, relation_update.features[0], relation_update.ridge, A)
        if not np.all(np.isfinite(A)):
            return False
        inverted = np.linalg.inv(A)
        symmetrise(inverted, inverse)
        relation_update.since[1] = 0
    relation_update.since[0], relation_update.since[1] = 0, relation_update.since[1] + 1
    return True


@noinline
def _rank_two(P: Any, a: Any, b: Any, d: Any) -> bool:
    """Make P = A⁻¹ the inverse of A + (a b' + b a') / d by Woodbury's identity; False if rounding would spoil it."""
    u, v = np.dot(P, a), np.dot(P, b)
    p, q, r = np.dot(a, u) / d, 1.0 + np.dot(a, v) / d, np.dot(b, v) / d
    determinant = q * q - p * r
    if not determinant > 1e-6 * (q * q + abs(p * r)):
        return False
    scaled = d * determinant
    for j in range(a.size):
        along_u, along_v = (q * v[j] - r * u[j]) / scaled, (q * u[j] - p * v[j]) / scaled
        for k in range(j + 1):
            P[j, k] -= along_u * u[k] + along_v * v[k]
            P[k, j] = P[j, k]
    return True


# -- the square root --------------------------------------------------------------------------------------------------


class _RidgeFields(NamedTuple):
    ridge: float


class _RidgeLaw(_RidgeFields, RelationUpdate):
    """A law of the square root of W'W, to which a ridge is added."""

    __slots__ = ()

    def check(self, tasks: int) -> None:
        require_rate("ridge", self.ridge)


class RootUpdate(_RidgeLaw):
    """A⁻¹ <- (W'W)^(1/2) / tr + ridge I."""

    __slots__ = ()

    def untouched(self, first: float) -> float:
        return float(self.ridge)


class InverseRootUpdate(_RidgeLaw):
    """A <- (W'W)^(1/2) / tr + ridge I."""

    __slots__ = ()

    def inverse_of(self, inverse: Matrix, tasks: NDArray[np.int64]) -> Matrix:
        """Return the inverse of A of these tasks alone."""
        return inverse_among(inverse, tasks)

    def untouched(self, first: float) -> float:
        return 1.0 / float(self.ridge)


@noinline
def _root(G: Any) -> Any:
    """Return eigenvalues of G^(1/2) / tr and eigenvectors; the eigenvalues sum to 1, or to 0 where W is zero."""
    values, vectors = np.linalg.eigh(G)
    roots = np.sqrt(np.maximum(values, 0.0))
    total = np.sum(roots)
    return roots / total if total > 0.0 else roots, vectors


@noinline
def _compose(values: Any, vectors: Any, G: Any, at_zero: float, out: Any) -> None:
    """Write V diag(values) V', tasks without weights exactly apart from all, so that their margins stay zero."""
    made = np.dot(vectors * values, vectors.T)
    symmetrise(made, out)
    for j in range(out.shape[0]):
        if G[j, j] == 0.0:
            out[j, :] = 0.0
            out[:, j] = 0.0
            out[j, j] = at_zero


@when(update_relation, RootUpdate)
def _revise_root(relation_update: Any, relation: Any) -> Any:
    if not np.isfinite(np.trace(relation.gram.products)):
        return False
    roots, vectors = _root(relation.gram.products)
    if np.sum(roots) > 0.0:
        _compose(
            roots + relation_update.ridge, vectors, relation.gram.products, relation_update.ridge, relation.inverse
        )
    return True


@when(update_relation, InverseRootUpdate)
def _revise_inverse_root(relation_update: Any, relation: Any) -> Any:
    if not np.isfinite(np.trace(relation.gram.products)):
        return False
    roots, vectors = _root(relation.gram.products)
    if np.sum(roots) > 0.0:
        _compose(
            1.0 / (roots + relation_update.ridge),
            vectors,
            relation.gram.products,
            1.0 / relation_update.ridge,
            relation.inverse,
        )
    return True


# -- a fixed relation that waits --------------------------------------------------------------------------------------


class _FixedFields(NamedTuple):
    target: Any


class FixedUpdate(_FixedFields, RelationUpdate):
    """A⁻¹ <- ``target``, whatever the task vectors are."""

    __slots__ = ()

    def of(self, tasks: NDArray[np.int64]) -> Self:
        return self._replace(target=among(self.target, tasks))

    def check(self, tasks: int) -> None:
        require_shape("target", self.target, tasks, tasks)
        require_finite("target", self.target)


@when(update_relation, FixedUpdate)
def _revise_fixed(relation_update: Any, relation: Any) -> Any:
    copy_matrix(relation_update.target, relation.inverse)
    return True
