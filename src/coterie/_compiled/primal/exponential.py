"""Matrix exponentials of symmetric matrices: the whole matrix, a single column, or the logarithm of the trace."""

from __future__ import annotations

import numpy as np

from coterie._compiled.core.arrays import copy_vector, symmetrise
from coterie._compiled.core.generic import noinline

#: A column is right to so much of its length.
TOLERANCE = 1e-14


@noinline
def outgrows(B, limit):
    """Return True if the largest eigenvalue of the symmetric matrix B exceeds the limit: O(K²) in general."""
    largest = 0.0
    # Gershgorin: no eigenvalue exceeds the largest absolute row sum
    for j in range(B.shape[0]):
        row = 0.0
        for k in range(B.shape[0]):
            row += abs(B[j, k])
        if not np.isfinite(row):
            return True
        largest = max(largest, row)
    # the decomposition only if the bound is not enough
    return largest > limit and np.linalg.eigvalsh(B)[-1] > limit


@noinline
def log_trace_exponential(B):
    """Return the logarithm of the trace of exp(B), for a symmetric K x K matrix B: O(K³)."""
    values = np.linalg.eigvalsh(B)
    # log-sum-exp: exponents relative to the largest eigenvalue cannot overflow
    return values[-1] + np.log(np.sum(np.exp(values - values[-1])))


@noinline
def exponential(B, out):
    """Write exp(B) to ``out``, scaled so that its largest eigenvalue is 1, for a K x K matrix B: O(K³)."""
    # the factor exp(-largest) cancels with the trace by which steps are divided
    values, vectors = np.linalg.eigh(B)
    product = np.dot(vectors * np.exp(values - values[-1]), vectors.T)
    symmetrise(product, out)
    for j in range(B.shape[0]):
        # a row of B that is diagonal is diagonal in exp(B), too; eigenvectors give that only up to rounding
        if np.sum(np.abs(B[j])) == abs(B[j, j]):
            out[j, :] = 0.0
            out[:, j] = 0.0
            out[j, j] = np.exp(B[j, j] - values[-1])


@noinline
def exponential_column(B, i, out):
    """Write column i of exp(B) to ``out`` by the Lanczos process: O(K²) per step, a few dozen steps.

    With V the orthonormal basis of the Krylov space and T = V'BV tridiagonal, exp(B) e_i ≈ V exp(T) e_1. Every new
    vector is made orthogonal to all before it, so K steps are exact; it ends when the last coordinate is negligible.
    """
    K = B.shape[0]
    V, T = np.zeros((K, K)), np.zeros((K, K))
    V[0, i] = 1.0
    for m in range(1, K + 1):
        w = np.dot(B, V[m - 1])
        T[m - 1, m - 1] = np.dot(w, V[m - 1])
        # twice is enough: one pass of Gram-Schmidt leaves rounding of the size of what it removes
        for _ in range(2):
            w -= np.dot(np.dot(V[:m], w), V[:m])
        beta = np.sqrt(np.dot(w, w))
        last = m == K or beta <= 1e-15 * (abs(T[m - 1, m - 1]) + 1e-300)
        if last or m % 4 == 0:
            # every fourth step, because the small eigendecomposition costs O(m³)
            top, coordinates = _tridiagonal(T[:m, :m])
            # the error of Lanczos' process is about beta times the last coordinate of exp(T) e_1
            if last or (1.0 + beta) * abs(coordinates[-1]) <= TOLERANCE * np.sqrt(np.dot(coordinates, coordinates)):
                copy_vector(np.exp(top) * np.dot(coordinates, V[:m]), out)
                return
        T[m - 1, m] = T[m, m - 1] = beta
        copy_vector(w / beta, V[m])


@noinline
def _tridiagonal(T):
    """Return the largest eigenvalue of a tridiagonal matrix T, and the first column of exp(T) up to a factor."""
    values, vectors = np.linalg.eigh(np.ascontiguousarray(T))
    top = values[-1]
    return top, np.dot(vectors, np.exp(values - top) * np.ascontiguousarray(vectors[0]))
