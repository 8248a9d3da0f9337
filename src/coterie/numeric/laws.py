"""The laws by which a learned M follows from the Gram matrix of the task vectors: bodies for :mod:`.learned`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .exponential import exponential, exponential_column, log_trace_exponential, outgrows
from .generic import apart, when
from .learned import (
    AsLearned,
    CovarianceLaw,
    FixedLaw,
    FreeTrace,
    InverseRootLaw,
    LogDetLaw,
    MeanStep,
    PrecisionLaw,
    RootLaw,
    UnitTrace,
    VonNeumannLaw,
    absorb,
    exponentiate,
    fetch,
    limit,
    log_trace,
    may_grow,
    revise,
    unit_trace,
)

# -- the Gram matrix --------------------------------------------------------------------------------------------------


@apart
def _absorb(gram: Any, move: Any) -> None:
    """W'W += a b' + b a' with b = W'x + ‖x‖² a / 2: exactly symmetric, for sums of two commute."""
    a = move.column
    b = move.along + 0.5 * move.size[0] * a
    for j in range(a.size):
        gram.sums[j] += move.size[1] * a[j]
        row = gram.products[j]
        for k in range(a.size):
            row[k] += a[j] * b[k] + b[j] * a[k]


@when(absorb, PrecisionLaw)
def _absorb_precision(law: Any, relation: Any) -> Any:
    _note_centred(law.last, law.features[0], relation.gram, relation.move)
    law.since[0] += 1
    _absorb(relation.gram, relation.move)


@when(absorb, object)
def _absorb_any(law: Any, relation: Any) -> Any:
    _absorb(relation.gram, relation.move)


@apart
def _note_centred(last: Any, d: Any, gram: Any, move: Any) -> None:
    """The a and b of the change a b' + b a' of the centred Gram matrix."""
    length = move.size[0] - move.size[1] ** 2 / d
    for j in range(move.column.size):
        last[0, j] = move.column[j]
        last[1, j] = move.along[j] - move.size[1] * gram.sums[j] / d + 0.5 * length * move.column[j]


# -- LogDet -----------------------------------------------------------------------------------------------------------


@when(revise, LogDetLaw)
def _revise_logdet(law: Any, relation: Any) -> Any:
    if not _add_gram(relation.inverse, law.eta, relation.gram.products, limit(relation.pace, relation.first)):
        return False
    unit_trace(law.trace, relation.inverse)
    return True


@apart
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


when(unit_trace, FreeTrace)(lambda trace, inverse: None)


@when(unit_trace, UnitTrace)
def _unit_trace(trace: Any, inverse: Any) -> Any:
    inverse *= np.sum(1.0 / np.linalg.eigvalsh(inverse))


# -- von Neumann ------------------------------------------------------------------------------------------------------


@when(revise, VonNeumannLaw)
def _revise_von_neumann(law: Any, relation: Any) -> Any:
    exponent = law.exponent + law.eta * relation.gram.products
    shift = log_trace(law.trace, exponent)
    for j in range(exponent.shape[0]):
        exponent[j, j] += shift
    if not may_grow(relation.pace, exponent, np.log(limit(relation.pace, relation.first))):
        return False
    law.exponent[:] = exponent
    exponentiate(relation.pace, law, relation)
    return True


when(log_trace, FreeTrace)(lambda trace, exponent: 0.0)
when(log_trace, UnitTrace)(lambda trace, exponent: log_trace_exponential(-exponent))
when(may_grow, AsLearned)(lambda pace, exponent, largest: not outgrows(exponent, largest))
when(may_grow, MeanStep)(lambda pace, exponent, largest: np.isfinite(np.sum(np.diag(exponent))))


@when(exponentiate, AsLearned)
def _exponentiate_lazily(pace: Any, law: Any, relation: Any) -> Any:
    law.known[:] = 0


@when(exponentiate, MeanStep)
def _exponentiate(pace: Any, law: Any, relation: Any) -> Any:
    exponential(law.exponent, relation.inverse)


@when(fetch, VonNeumannLaw)
def _fetch_von_neumann(law: Any, relation: Any, i: Any) -> Any:
    if not law.known[i]:
        exponential_column(law.exponent, i, relation.inverse[i])
        law.known[i] = 1


when(fetch, object)(lambda law, relation, i: None)


# -- covariance -------------------------------------------------------------------------------------------------------


@apart
def _covariance(gram: Any, d: Any, ridge: Any, out: Any) -> None:
    """The covariance of the task vectors over their d features, plus ridge I."""
    for j in range(out.shape[0]):
        for k in range(out.shape[0]):
            out[j, k] = (gram.products[j, k] - gram.sums[j] * gram.sums[k] / d) / max(d - 1.0, 1.0)
        out[j, j] += ridge


@when(revise, CovarianceLaw)
def _revise_covariance(law: Any, relation: Any) -> Any:
    return _take_covariance(law, relation.gram, relation.inverse, limit(relation.pace, relation.first))


@apart
def _take_covariance(law: Any, gram: Any, inverse: Any, largest: Any) -> bool:
    d = law.features[0]
    for j in range(inverse.shape[0]):
        if not (gram.products[j, j] - gram.sums[j] ** 2 / d) / max(d - 1.0, 1.0) <= largest:
            return False
    _covariance(gram, d, law.ridge, inverse)
    return True


@when(revise, PrecisionLaw)
def _revise_precision(law: Any, relation: Any) -> Any:
    return _take_precision(law, relation.gram, relation.inverse)


@apart
def _take_precision(law: Any, gram: Any, inverse: Any) -> bool:
    """The inverse by the rank-two change since the revision before, and now and then afresh: O(K²) on average."""
    K = inverse.shape[0]
    fresh = law.since[0] != 1 or law.since[1] >= max(K, 64)
    if fresh or not _rank_two(inverse, law.last[0], law.last[1], max(law.features[0] - 1.0, 1.0)):
        A = np.empty((K, K))
        _covariance(gram, law.features[0], law.ridge, A)
        if not np.all(np.isfinite(A)):
            return False
        inverted = np.linalg.inv(A)
        inverse[:] = 0.5 * (inverted + inverted.T)
        law.since[1] = 0
    law.since[0], law.since[1] = 0, law.since[1] + 1
    return True


@apart
def _rank_two(P: Any, a: Any, b: Any, d: Any) -> bool:
    """P = A⁻¹ becomes the inverse of A + (a b' + b a') / d by Woodbury's identity; False if rounding would spoil it."""
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


@apart
def _root(G: Any) -> Any:
    """Eigenvalues of G^(1/2) / tr and eigenvectors; the sum of the eigenvalues is 0 where W is zero, 1 elsewhere."""
    values, vectors = np.linalg.eigh(G)
    roots = np.sqrt(np.maximum(values, 0.0))
    total = np.sum(roots)
    return roots / total if total > 0.0 else roots, vectors


@apart
def _compose(values: Any, vectors: Any, G: Any, at_zero: float, out: Any) -> None:
    """V diag(values) V', tasks without weights kept apart exactly, so that their margins stay zero."""
    made = np.dot(vectors * values, vectors.T)
    out[:] = 0.5 * (made + made.T)
    for j in range(out.shape[0]):
        if G[j, j] == 0.0:
            out[j, :] = 0.0
            out[:, j] = 0.0
            out[j, j] = at_zero


@when(revise, RootLaw)
def _revise_root(law: Any, relation: Any) -> Any:
    if not np.isfinite(np.trace(relation.gram.products)):
        return False
    roots, vectors = _root(relation.gram.products)
    if np.sum(roots) > 0.0:
        _compose(roots + law.ridge, vectors, relation.gram.products, law.ridge, relation.inverse)
    return True


@when(revise, InverseRootLaw)
def _revise_inverse_root(law: Any, relation: Any) -> Any:
    if not np.isfinite(np.trace(relation.gram.products)):
        return False
    roots, vectors = _root(relation.gram.products)
    if np.sum(roots) > 0.0:
        _compose(1.0 / (roots + law.ridge), vectors, relation.gram.products, 1.0 / law.ridge, relation.inverse)
    return True


# -- a fixed relation that waits --------------------------------------------------------------------------------------


@when(revise, FixedLaw)
def _revise_fixed(law: Any, relation: Any) -> Any:
    relation.inverse[:] = law.target
    return True
