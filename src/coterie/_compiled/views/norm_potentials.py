"""Norms over several views: the gradient of half the squared norm maps sums of updates V to weights W = V F.

A potential uses only products: of the sum V of the updates with a record X, and of the record with itself. It is
therefore the same in primal and dual form. ``factor`` is F in W = V F, ``past`` its sum over the rounds, for the mean
hypothesis.
"""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.checks import MOST_ROUNDS, require_finite, require_shape, require_within
from coterie._compiled.core.generic import compiled, generic, noinline, when
from coterie._compiled.core.points import Kernel

from .forms import ViewRows, Widths, all_points, points_of

#: Squared singular values are zero below so much of the largest, times their number.
SINGULAR = 1e-15


class FeatureSet(NamedTuple):
    """Records with several views in the form that kernels read: rows, the mask of present views, and rounds."""

    rows: ViewRows
    present: NDArray[np.bool_]
    rounds: NDArray[np.int64]


class Schatten(NamedTuple):
    """The state of the potential ½ ‖V‖² in the Schatten 2p-norm; V is the sum of updates, with a column per view.

    ``gram`` is G = V'V, and ``factor`` the factor F of the weights W = V F,

        F = Tr(G^p)^(1/p - 1) G^(p - 1).

    ``clock`` has the number of rounds so far, and a round up to which ``past`` is the sum of the factors, for averages.
    """

    gram: Any
    factor: Any
    past: Any
    clock: Any
    p: float

    @classmethod
    def empty(cls, n: int, p: float) -> Self:
        """Return the initial state for n views, or for n features if those are fewer."""
        return cls(np.zeros((n, n)), np.zeros(n * n), np.zeros(n * n), np.zeros(2), p)

    def check(self, n: int) -> None:
        """Raise ValueError for arrays of wrong shape, or invalid clocks."""
        require_shape("gram", self.gram, n, n)
        require_finite("gram", self.gram)
        _check_factors(self, n * n)

    def products(self, kernels: Sequence[Kernel], X: FeatureSet, Z: FeatureSet, widths: Widths) -> NDArray[np.float64]:
        """Return the kernel values of Z's records with X's for all pairs of views, (n, m, K²); 0 for absent views.

        ``kernels`` are K times one for all, or one for each of the K (K + 1) / 2 pairs of views, by :func:`pair`: that
        of a and b, a <= b, is given records of view a, then of view b, which may be spaces of their own.
        """
        K, n, m = len(widths), len(X.present), len(Z.present)
        out = np.zeros((n * K, m * K))
        if n and m and len(kernels) == K:
            left, right = (all_points(seen.rows, K, seen.rounds, max(widths)) for seen in (X, Z))
            kernels[0].values(left, right, out)
        elif n and m:
            these, others = ([points_of(seen.rows, K, k, seen.rounds, widths[k]) for k in range(K)] for seen in (X, Z))
            for a, b in itertools.product(range(K), range(K)):
                if not (widths[a] and widths[b]):
                    continue  # a view that nobody has seen
                if a < b:
                    # a pair's kernel has the records of the first view on the left, so values are transposed here
                    kernels[pair(a, b, K)].values(others[a], these[b], values := np.zeros((m, n)))
                    out[b::K, a::K] = values.T
                else:
                    kernels[pair(a, b, K)].values(these[b], others[a], values := np.zeros((n, m)))
                    out[b::K, a::K] = values
        # absent views are zeros, but a kernel of zeros need not be zero
        out_of_views = out.reshape(n, K, m, K).transpose(0, 2, 3, 1) * Z.present[None, :, :, None]
        return np.ascontiguousarray(out_of_views * X.present[:, None, None, :]).reshape(n, m, K * K)


class Spectral(Schatten):
    """The state of a norm or potential of the singular values of V: G = V'V, and the factor F of W = V F.

    The potential is a function of NumPy arrays; compiled code therefore leaves F unchanged, and ``shape`` is called
    after an update.
    """

    __slots__ = ()

    def shape(self, gradient: Callable[[NDArray[np.float64]], NDArray[np.float64]], r: int) -> None:
        """Set the factor F to :meth:`shaped`, by the potential's gradient, for V with r singular values."""
        self.factor[:] = self.shaped(gradient, r)

    def shaped(self, gradient: Callable[[NDArray[np.float64]], NDArray[np.float64]], r: int) -> NDArray[np.float64]:
        """Return the factor F computed from the r largest eigenvalues of G; all others are zero."""
        # eigh sorts in ascending order: the largest r come last
        squares, vectors = (part[..., -r:] for part in np.linalg.eigh(self.gram))
        # the ratio of gradient and singular value has no meaning at a singular value of zero
        there = squares > SINGULAR * len(self.gram) * max(float(squares[-1]), 0.0)
        sizes = np.zeros(len(squares))
        sizes[there] = np.sqrt(squares[there])
        factors = gradient(sizes)[there] / sizes[there]
        return np.asarray((vectors[:, there] * factors) @ vectors[:, there].T).reshape(-1)


class Group(NamedTuple):
    """The state of the group norm (Σ_k ‖v_k‖_r^2p)^(1/2p): sums ‖v_k‖_r^r, and the factors F_k of the weights.

    ``inner`` is r; weights are F_k sign(v)|v|^(r - 1), so F_k v where r is 2.
    """

    sums: Any
    factor: Any
    past: Any
    clock: Any
    p: float
    inner: float

    @classmethod
    def empty(cls, K: int, p: float, inner: float) -> Self:
        """Return the initial state for K views."""
        return cls(np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(2), p, inner)

    def check(self, n: int) -> None:
        """Raise ValueError for arrays of wrong shape, or invalid clocks."""
        require_shape("sums", self.sums, n)
        require_finite("sums", self.sums)
        _check_factors(self, n)

    def products(self, kernels: Sequence[Kernel], X: FeatureSet, Z: FeatureSet, widths: Widths) -> NDArray[np.float64]:
        """Return the kernel values of Z's records with X's for each view, (n, m, K); 0 for absent views."""
        K, n, m = len(widths), len(X.present), len(Z.present)
        out_of_views = np.zeros((K, n, m))
        for k, width in enumerate(widths if n and m else ()):
            left, right = (points_of(seen.rows, K, k, seen.rounds, width) for seen in (X, Z))
            kernels[k].values(left, right, out_of_views[k])
        out_of_views *= X.present.T[:, :, None] * Z.present.T[:, None, :]
        return np.ascontiguousarray(out_of_views.transpose(1, 2, 0))


class Beyond(namedtuple("Beyond", "sums factor past clock p inner beyond_span"), Group):  # type: ignore[misc]
    """Group norm in which each sum v_k has a constant part of norm ``beyond_span``, orthogonal to all records."""

    __slots__ = ()

    @classmethod
    def with_part(cls, K: int, p: float, inner: float, beyond_span: float) -> Self:
        """Return the initial state for K views."""
        # a part of length beyond_span, orthogonal to all records: no move changes it (FOR09 Lemma A.2.1)
        sums = np.full(K, beyond_span**2)
        return cls(sums, np.zeros(K), np.zeros(K), np.zeros(2), p, inner, beyond_span)


Potential = Schatten | Spectral | Group


def pair(a: int, b: int, K: int) -> int:
    """Return the index of the pair of views a and b in the order (0, 0), (0, 1), ..., (1, 1), (1, 2), ...."""
    a, b = min(a, b), max(a, b)
    return a * K - a * (a + 1) // 2 + b


def _check_factors(potential: Potential, n: int) -> None:
    """Raise ValueError unless a potential has n valid factors and a valid clock."""
    for name in ("factor", "past"):
        require_shape(name, getattr(potential, name), n)
        require_finite(name, getattr(potential, name))
    require_shape("the round counters of views", potential.clock, 2)
    require_within("the round counters of views", potential.clock, 0, MOST_ROUNDS)


@generic
def refresh(potential):
    """Recompute the factor F of the weights W = V F from the current products V'V."""


@generic
def absorb(potential, c, products, own):
    """Update the products of the norm for the new sum V + c X; ``products`` are V'X, and ``own`` are X'X."""


@generic
def squared(potential, own):
    """Return ‖X‖² in the norm times its smoothness constant, from the products X'X of the record (``own``)."""


@noinline
def _refresh_schatten(potential):
    K = potential.gram.shape[0]
    # p = 1: W = V, the Perceptron on all views side by side; no decomposition is needed
    if potential.p == 1.0:
        _identity(potential.factor, K)
        return
    values, vectors = np.linalg.eigh(potential.gram)
    top = values[K - 1]
    potential.factor[:] = 0.0
    if not top > 0.0:
        return
    total = 0.0
    for i in range(K):
        values[i] = max(values[i], 0.0) / top  # powers of the values themselves would overflow
        total += values[i] ** potential.p
    # powers of top cancel: (top^p)^(1/p - 1) · top^(p - 1) = 1
    scale = total ** (1.0 / potential.p - 1.0)
    for i in range(K):
        # W = ‖V‖^(2(1 - p)) V (V'V)^(p - 1): the prefactor, which FOR09 (3.1.12) drops, scales the mean weights
        power = scale * values[i] ** (potential.p - 1.0)
        for a in range(K):
            for b in range(K):
                potential.factor[a * K + b] += power * vectors[a, i] * vectors[b, i]


when(refresh, Schatten)(lambda potential: _refresh_schatten(potential))


@when(refresh, Spectral)
def _leave_spectral(potential):
    pass


@compiled
def _identity(factor, K):
    factor[:] = 0.0
    for a in range(K):
        factor[a * K + a] = 1.0


@when(refresh, Group)
def _refresh_group(potential):
    # relative to the largest view: powers of the sums themselves would overflow
    top = potential.sums.max()
    potential.factor[:] = 0.0
    if not top > 0.0:
        return
    # sums have ‖v_k‖_r^r, so ‖v_k‖_r^2p is their power 2p / r
    power, total = 2.0 * potential.p / potential.inner, 0.0
    for k in range(potential.sums.size):
        total += (max(potential.sums[k], 0.0) / top) ** power
    # the powers of top that do not cancel when r is not 2
    scale = total ** (1.0 / potential.p - 1.0) * top ** (2.0 / potential.inner - 1.0)
    for k in range(potential.sums.size):
        part = max(potential.sums[k], 0.0) / top
        # a view without moves: 0^0 is 1 for power 1, and powers below 1 would divide by zero
        if part > 0.0 or power == 1.0:
            potential.factor[k] = scale * part ** (power - 1.0)


@when(absorb, Schatten)
def _absorb_schatten(potential, c, products, own):
    K = potential.gram.shape[0]
    for a in range(K):
        for b in range(K):
            # V'X + (V'X)' and X'X of FOR09 (3.1.17); the two triangles of X'X may round differently
            both = products[a * K + b] + products[b * K + a]
            potential.gram[a, b] += c * both + c * c * 0.5 * (own[a * K + b] + own[b * K + a])


@when(absorb, Group)
def _absorb_group(potential, c, products, own):
    for k in range(potential.sums.size):
        # ‖v + c x‖² from products alone: O(1) per view instead of O(d)
        potential.sums[k] += 2.0 * c * products[k] + c * c * own[k]


@when(squared, Schatten)
def _squared_schatten(potential, own):
    K = potential.gram.shape[0]
    products = np.empty((K, K))
    for a in range(K):
        for b in range(K):
            products[a, b] = 0.5 * (own[a * K + b] + own[b * K + a])
    values = np.linalg.eigvalsh(products)
    # the factor 2p - 1 of CCG08 Theorem 10: how smooth half the squared norm is
    return (2.0 * potential.p - 1.0) * together(values, potential.p)


@when(squared, Group)
def _squared_group(potential, own):
    power = 2.0 * potential.p / potential.inner
    smooth = 2.0 * potential.p - 1.0 + (potential.inner - 1.0 if potential.inner != 2.0 else 0.0)
    return smooth * together(own, power) ** (2.0 / potential.inner)


@compiled
def together(values, power):
    """Return the norm (Σ max(value, 0)^power)^(1/power), without overflow."""
    top, total = values.max(), 0.0
    if not top > 0.0:
        return 0.0
    for value in values:
        total += (max(value, 0.0) / top) ** power
    return top * total ** (1.0 / power)


@compiled
def accumulate_factor(potential):
    """Add the factor F to its sum ``past`` for each round since its last change."""
    # rounds without an update cost nothing: their factors are added at the next update
    gap = potential.clock[0] - potential.clock[1]
    for k in range(potential.factor.size):
        potential.past[k] += gap * potential.factor[k]
    potential.clock[1] = potential.clock[0]


@compiled
def summed(potential, k):
    """Return entry k of the sum of the factor F over all rounds so far."""
    return potential.past[k] + (potential.clock[0] - potential.clock[1]) * potential.factor[k]
