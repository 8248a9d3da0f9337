"""Eigenvalues and eigenvectors of a kernel matrix, from which every filter and every held-out error follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Folds = Sequence[NDArray[np.int64]]

#: Gains that differ by less than this part differ by rounding.
NOTHING = 1e-15


class Part(NamedTuple):
    """Some rows, and the eigenvalues and eigenvectors of their block."""

    rows: NDArray[np.int64]
    sigma: Array
    U: Array


class JointSpectrum:
    """The spectrum of Q over rows of tasks, block by block."""

    def __init__(self, parts: Sequence[Part], n: int) -> None:
        self.parts, self.n = list(parts), n

    @property
    def largest(self) -> float:
        """The largest eigenvalue."""
        return max(float(part.sigma[-1]) for part in self.parts)

    def coefficients(self, used: Any, y: Array) -> Array:
        """C = g(Q) y: O(n²)."""
        return next(self.path(used, y, [getattr(used, used.varied)]))

    def path(self, used: Any, y: Array, values: Sequence[Any]) -> Iterator[Array]:
        """The coefficients for each value of the filter's parameter: O(n²) each."""
        turned = [part.U.T @ y[part.rows] for part in self.parts]
        for gains in self._gains(used, values):
            c = np.empty_like(y)
            for part, g, z in zip(self.parts, gains, turned, strict=True):
                c[part.rows] = part.U @ (g[:, None] * z)
            yield c

    def left_out(self, used: Any, y: Array, values: Sequence[Any]) -> Iterator[Array]:
        """What is missing at each row when it is not learned from, c_i / (g(Q))_ii for Tikhonov's g: O(n²) each."""
        paths = self.path(used, y, values)
        for gains, c in zip(self._gains(used, values), paths, strict=True):
            missing = np.empty_like(y)
            for part, g in zip(self.parts, gains, strict=True):
                missing[part.rows] = c[part.rows] / np.einsum("ij,ij,j->i", part.U, part.U, g)[:, None]
            yield missing

    def folds_left_out(self, used: Any, y: Array, values: Sequence[Any], folds: Folds) -> Iterator[Array]:
        """What is missing at the rows of each fold when the fold is not learned from: (g(Q)_FF)⁻¹ c_F."""
        paths = self.path(used, y, values)
        for gains, c in zip(self._gains(used, values), paths, strict=True):
            missing = np.empty_like(y)
            for part, g in zip(self.parts, gains, strict=True):
                for fold in folds:
                    _fill(missing, c, part, g, np.flatnonzero(np.isin(part.rows, fold)))
            yield missing

    def _gains(self, used: Any, values: Sequence[Any]) -> Iterator[tuple[Array, ...]]:
        return zip(*(used.along(part.sigma, self.largest, values) for part in self.parts), strict=True)


def _fill(missing: Array, c: Array, part: Part, g: Array, inside: NDArray[np.int64]) -> None:
    """Residuals of the rows of a part that lie in one fold."""
    U, rows = part.U[inside], part.rows[inside]
    if len(rows):
        missing[rows] = np.linalg.solve((U * g) @ U.T, c[rows])


class KroneckerSpectrum:
    """The spectrum of M ⊗ K: eigenvalues s_i l_j, eigenvectors those of K and of M (ROS11 §5.2).

    Eigenvectors of K whose eigenvalue is zero may be left out: all of them have the gain g(0), and what they say is
    what the others do not say.
    """

    def __init__(self, s: Array, V: Array, lams: Array, U: Array) -> None:
        self.s, self.V, self.lams, self.U = s, V, lams, U

    def beside(self, lams: Array, U: Array) -> KroneckerSpectrum:
        """The spectrum with another M: K is not factored again."""
        return KroneckerSpectrum(self.s, self.V, lams, U)

    @property
    def largest(self) -> float:
        """The largest eigenvalue."""
        return float(self.s[-1] * self.lams[-1])

    def coefficients(self, used: Any, Y: Array) -> Array:
        """C = V [g(s_i l_j) (V'YU)_ij] U': O(n T (n + T))."""
        return next(self.path(used, Y, [getattr(used, used.varied)]))

    def path(self, used: Any, Y: Array, values: Sequence[Any]) -> Iterator[Array]:
        """The coefficients for each value of the filter's parameter: O(n T (n + T)) each."""
        for C in self._turned(used, Y, values):
            yield C @ self.U.T

    def left_out(self, used: Any, Y: Array, values: Sequence[Any]) -> Iterator[Array]:
        """What is missing at each row when all its outputs are left out: O(n r T) each, r the rank of K beside alpha.

        With H_ij = Σ_k V_ik² g(s_k l_j) it is (C U)_ij / H_ij, turned back by U.
        """
        lams, place = np.unique(self.lams, return_inverse=True)
        ones = np.ones((len(self.s), len(lams)))
        squares = self._sums_along(used, values, self.V**2, ones, np.ones((len(Y), len(lams))), lams)
        for C, H in zip(self._turned(used, Y, values), squares, strict=True):
            yield (C / H[:, place]) @ self.U.T

    def folds_left_out(self, used: Any, Y: Array, values: Sequence[Any], folds: Folds) -> Iterator[Array]:
        """The same for folds of rows: a system of the size of the fold for each distinct eigenvalue of M."""
        columns, place = np.unique(self.lams, return_inverse=True)
        gains = used.along(np.multiply.outer(np.append(self.s, 0.0), columns), self.largest, values)
        for C, g in zip(self._turned(used, Y, values), gains, strict=True):
            missing = np.empty_like(C)
            for fold in folds:
                V = self.V[fold]
                left_out = np.eye(len(fold)) - V @ V.T if self._thin else 0.0
                for j in range(len(columns)):
                    here = np.flatnonzero(place == j)
                    among = (V * g[:-1, j]) @ V.T + g[-1, j] * left_out
                    missing[np.ix_(fold, here)] = np.linalg.solve(among, C[np.ix_(fold, here)])
            yield missing @ self.U.T

    @property
    def _thin(self) -> bool:
        """Whether eigenvectors of K are left out."""
        n, r = self.V.shape
        return bool(r < n)

    def _turned(self, used: Any, Y: Array, values: Sequence[Any]) -> Iterator[Array]:
        """C U for each value."""
        turned = Y @ self.U
        return self._sums_along(used, values, self.V, self.V.T @ turned, turned, self.lams)

    def _sums_along(
        self, used: Any, values: Sequence[Any], V: Array, Z: Array, whole: Array, lams: Array
    ) -> Iterator[Array]:
        """Σ_k V_ik g(s_k l_j) Z_kj for each value; where g is g(0) for all of them, the sum is made once.

        Over all k, those left out included, Σ_k V_ik Z_kj is ``whole``.
        """
        first = self._constant_before(used, values)
        flat = whole - V[:, first:] @ Z[first:] if self._thin else V[:, :first] @ Z[:first]
        sigma = np.multiply.outer(np.concatenate([[0.0], self.s[first:]]), lams)
        for gains in used.along(sigma, self.largest, values):
            yield gains[0] * flat + V[:, first:] @ (gains[1:] * Z[first:])

    def _constant_before(self, used: Any, values: Sequence[Any]) -> int:
        """How many of the smallest eigenvalues of K are as good as zero to all these filters."""
        sigma = np.concatenate([[0.0], self.s * self.lams[-1]])
        steep = np.zeros(len(self.s), bool)
        for gains in used.along(sigma, self.largest, values):
            steep |= np.abs(gains[1:] - gains[0]) > NOTHING * np.abs(gains[0])
        return int(np.argmax(steep)) if steep.any() else len(steep)
