"""Cholesky factors and eigendecompositions of kernel matrices, and dual coefficients c = g(Q) y."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np

from coterie.types import Array, Codes

from .filters import Filter

#: Gains that differ by less than this part differ by rounding.
NOTHING = 1e-15


def eigen(A: Array) -> tuple[Array, Array]:
    """Return the eigenvalues and eigenvectors of a positive semidefinite matrix A, which is overwritten.

    Eigenvalues that are only rounding errors are 0.

    Raises
    ------
    ValueError
        If A is not finite, or has eigenvalues that are negative beyond rounding.
    """
    from scipy.linalg import eigh

    _require_finite(A)
    values, vectors = eigh(A, overwrite_a=True, check_finite=False, driver="evd")
    eps = np.finfo(values.dtype).eps
    if values[0] < -(eps**0.4) * np.abs(values).max():
        raise ValueError(f"the kernel matrix has the eigenvalue {values[0]:.3g}: the function is not a kernel")
    # small or negative by rounding: a filter such as the cut-off's 1 / sigma would blow them up
    values[values < 4 * eps * values[-1]] = 0.0
    return values, vectors


def thin_eigen(X: Array, dtype: str) -> tuple[Array, Array]:
    """Return the r nonzero eigenvalues of X X' and their eigenvectors, shape (n, r), by an SVD: O(n d²).

    X has the shape (n, d).
    """
    from scipy.linalg import svd

    V, s, _ = svd(np.asarray(X, dtype), full_matrices=False, check_finite=False)
    # the usual threshold of numerical rank, relative to the largest singular value
    rank = max(int(np.count_nonzero(s > len(X) * np.finfo(s.dtype).eps * s[0])), 1)
    return s[:rank][::-1] ** 2, V[:, :rank][:, ::-1]


def _require_finite(A: Array) -> None:
    """Raise ValueError if the kernel matrix A has values that are not finite."""
    if not np.isfinite(A.sum(dtype=np.float64)):
        raise ValueError("the kernel matrix is not finite: the kernel returned NaN, or values that are too large")


def distinct(values: Array) -> list[tuple[float, Codes]]:
    """Group values that are equal up to rounding; return each different value with its positions."""
    order = np.argsort(values, kind="stable")
    gap = 64 * np.finfo(values.dtype).eps * max(float(values.max(initial=0.0)), np.finfo(np.float64).tiny)
    groups = np.split(order, np.flatnonzero(np.diff(values[order]) > gap) + 1)
    return [(float(values[group].mean()), group) for group in groups]


def positive_factor(A: Array, alpha: float) -> Callable[[Array], Array]:
    """Factor A + alpha I by Cholesky; return a function that solves (A + alpha I) x = b. A is overwritten.

    Raises
    ------
    ValueError
        If A is not finite, or A + alpha I not positive definite: the function is not a kernel, or alpha is lost in
        rounding.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    _require_finite(A)
    A.flat[:: len(A) + 1] += A.dtype.type(alpha)
    try:
        # the transpose is Fortran-ordered without a copy, so that LAPACK overwrites A in place
        factor = cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        raise ValueError(
            f"the kernel matrix plus alpha = {alpha:g} is not positive definite: the function is not a kernel, or "
            "alpha is lost in rounding"
        ) from None
    return lambda b: cast(Array, cho_solve(factor, b, check_finite=False))


class EigenBlock(NamedTuple):
    """A diagonal block of the kernel matrix Q: its rows, its eigenvalues and its eigenvectors."""

    rows: Codes
    sigma: Array
    U: Array


class JointSpectrum:
    """Eigendecomposition, block by block, of the kernel matrix Q of records with one task each."""

    def __init__(self, parts: Sequence[EigenBlock], n: int) -> None:
        self.parts, self.n = list(parts), n

    @property
    def largest(self) -> float:
        """The largest eigenvalue."""
        return max(float(part.sigma[-1]) for part in self.parts)

    def path(self, filters: Sequence[Filter], y: Array) -> Iterator[Array]:
        """Return the coefficients C = g(Q) y for each spectral filter g: O(n²) each."""
        turned = [part.U.T @ y[part.rows] for part in self.parts]
        for gains in self._gains(filters):
            c = np.empty_like(y)
            for part, g, z in zip(self.parts, gains, turned, strict=True):
                c[part.rows] = part.U @ (g[:, None] * z)
            yield c

    def left_out(self, filters: Sequence[Filter], y: Array) -> Iterator[Array]:
        """Return the leave-one-out residuals for each filter: O(n²) each.

        For ridge regression they are c_i / (g(Q))_ii, with the coefficients c = g(Q) y.
        """
        for gains, c in zip(self._gains(filters), self.path(filters, y), strict=True):
            missing = np.empty_like(y)
            for part, g in zip(self.parts, gains, strict=True):
                # leave-one-out: y_i - f_-i(x_i) = c_i / (G⁻¹)_ii, as for PRESS in linear regression
                missing[part.rows] = c[part.rows] / np.einsum("ij,ij,j->i", part.U, part.U, g)[:, None]
            yield missing

    def _gains(self, filters: Sequence[Filter]) -> Iterator[list[Array]]:
        for used in filters:
            yield [used.gains(part.sigma, self.largest) for part in self.parts]


class KroneckerSpectrum:
    """Eigendecomposition of the kernel matrix M ⊗ K, computed from those of M and K (ROS11 §5.2).

    Its eigenvalues are s_i l_j, those of K times those of M.

    Eigenvectors of K whose eigenvalue is zero may be left out: all of them have the gain g(0), and they span what the
    others do not.
    """

    def __init__(self, s: Array, V: Array, lams: Array, U: Array) -> None:
        self.s, self.V, self.lams, self.U = s, V, lams, U

    def under(self, lams: Array, U: Array) -> KroneckerSpectrum:
        """Return the eigendecomposition for the same K and another M, with eigenvalues ``lams`` and eigenvectors U."""
        return KroneckerSpectrum(self.s, self.V, lams, U)

    @property
    def largest(self) -> float:
        """The largest eigenvalue."""
        return float(self.s[-1] * self.lams[-1])

    def path(self, filters: Sequence[Filter], Y: Array) -> Iterator[Array]:
        """Return the coefficients C = V [g(s_i l_j) (V'YU)_ij] U' for each filter g: O(n T (n + T)) each.

        V and U are the eigenvectors of K and M, s and l the eigenvalues.
        """
        for C in self._turned(filters, Y):
            yield C @ self.U.T

    def left_out(self, filters: Sequence[Filter], Y: Array) -> Iterator[Array]:
        """Return the residuals of each record, with all its T outputs left out, for each filter.

        O(n r T) per filter, for a kernel matrix of rank r.

        With H_ij = Σ_k V_ik² g(s_k l_j) it is R U' for R_ij = (C U)_ij / H_ij.
        """
        # one H for equal eigenvalues of M: a relation such as MeanRegularized has two distinct ones
        lams, place = np.unique(self.lams, return_inverse=True)
        ones = np.ones((len(self.s), len(lams)))
        squares = self._sums_along(filters, self.V**2, ones, np.ones((len(Y), len(lams))), lams)
        for C, H in zip(self._turned(filters, Y), squares, strict=True):
            yield (C / H[:, place]) @ self.U.T

    @property
    def _thin(self) -> bool:
        """True if eigenvectors of K with eigenvalue zero are not stored."""
        n, r = self.V.shape
        return bool(r < n)

    def _turned(self, filters: Sequence[Filter], Y: Array) -> Iterator[Array]:
        """Yield for each filter the coefficients C times U, the eigenvectors of M."""
        turned = Y @ self.U
        return self._sums_along(filters, self.V, self.V.T @ turned, turned, self.lams)

    def _sums_along(self, filters: Sequence[Filter], V: Array, Z: Array, whole: Array, lams: Array) -> Iterator[Array]:
        """Return Σ_k V_ik g(s_k l_j) Z_kj for each filter g, with the eigenvalues s of K and l of M, ``lams``.

        Over all k, those left out included, Σ_k V_ik Z_kj is ``whole``.
        """
        first = self._constant_before(filters)
        # the eigenvectors with the gain g(0), left-out ones included, by the complement of the others
        flat = whole - V[:, first:] @ Z[first:] if self._thin else V[:, :first] @ Z[:first]
        sigma = np.multiply.outer(np.concatenate([[0.0], self.s[first:]]), lams)
        for used in filters:
            gains = used.gains(sigma, self.largest)
            yield gains[0] * flat + V[:, first:] @ (gains[1:] * Z[first:])

    def _constant_before(self, filters: Sequence[Filter]) -> int:
        """Return the number of smallest eigenvalues of K for which every filter has the same value as for zero."""
        sigma = np.concatenate([[0.0], self.s * self.lams[-1]])
        steep = np.zeros(len(self.s), bool)
        for used in filters:
            gains = used.gains(sigma, self.largest)
            steep |= np.abs(gains[1:] - gains[0]) > NOTHING * np.abs(gains[0])
        return int(np.argmax(steep)) if steep.any() else len(steep)
