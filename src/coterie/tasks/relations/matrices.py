"""Validation of matrices and task labels of relations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from coterie import spec
from coterie.types import Array, Matrix

SHOWN = 5
SYMMETRY = 1e-8
#: Eigenvalues are zero below so much of the largest.
SINGULAR = 1e-13


def label_of(value: Hashable) -> Hashable:
    """Convert a task label to a Python type, such as ``numpy.int64(3)`` to ``3``."""
    return value.item() if isinstance(value, np.generic) else value


def labels_of(tasks: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Convert task labels to a tuple of Python values.

    Raises
    ------
    ValueError
        If a label occurs twice, cannot be hashed or is not equal to itself (NaN).
    """
    if isinstance(tasks, str) or not isinstance(tasks, Iterable):
        raise ValueError(f"tasks must be a sequence of task labels, got {tasks!r}")
    labels = tuple(label_of(task) for task in tasks)
    rows_of(labels)
    return labels


def rows_of(labels: tuple[Hashable, ...]) -> dict[Hashable, int]:
    """Return a dictionary from task label to row index; raise ValueError for duplicate or invalid labels."""
    rows: dict[Hashable, int] = {}
    for row, label in enumerate(labels):
        check_label(label)
        if rows.setdefault(label, row) != row:
            raise ValueError(f"tasks has {label!r} twice, as task {rows[label]} and as task {row}")
    return rows


def check_label(label: Hashable) -> None:
    """Raise ValueError for a label that is not equal to itself (NaN), or cannot be restored from a file."""
    if not spec.is_hashable(label):
        raise ValueError(f"a task label must be hashable, got {label!r}, a {type(label).__name__}")
    if label != label:
        raise ValueError(f"a task label must be equal to itself, got {label!r}")
    spec.check_labels([label])


def row(rows: Mapping[Hashable, int], label: Hashable, what: str) -> int:
    """Return the index of task ``label`` in ``rows``; raise ValueError, listing the known tasks, for an unknown one."""
    try:
        return rows[label_of(label)]
    except (KeyError, TypeError):
        raise ValueError(f"task {label_of(label)!r} is not a {what} (known: {shorten(rows)})") from None


def shorten(labels: Iterable[Hashable]) -> str:
    """Format the first few labels and the total number of labels, for error messages."""
    labels = list(labels)
    rest = f", … {len(labels)} in all" if len(labels) > SHOWN else ""
    return ", ".join(map(repr, labels[:SHOWN])) + rest


def positive_definite(value: ArrayLike, name: str) -> Matrix:
    """Return a read-only copy of a matrix.

    Raise ValueError, naming it ``name``, unless it is symmetric positive definite.

    Raises
    ------
    ValueError
        If it is not a square matrix of finite numbers, not symmetric (the worst pair is named) or not positive
        definite (its smallest eigenvalue is given).
    """
    A = _symmetric(value, name)
    if not _has_positive_pivots(A):
        smallest = float(np.linalg.eigvalsh(A)[0])
        raise ValueError(f"{name} must be positive definite, but its smallest eigenvalue is {smallest:.3g}")
    return A


def positive_semidefinite(value: ArrayLike, name: str) -> Matrix:
    """Return a read-only copy of a matrix.

    Raise ValueError, naming it ``name``, unless it is symmetric, positive semidefinite and nonzero.

    Raises
    ------
    ValueError
        If it is not a square matrix of finite numbers, not symmetric, or has such eigenvalues (both ends are given).
    """
    A = _symmetric(value, name)
    values = np.linalg.eigvalsh(A)
    if values[-1] <= 0 or values[0] < -SINGULAR * values[-1]:
        ends = f"from {values[0]:.3g} to {values[-1]:.3g}"
        raise ValueError(f"{name} must be positive semidefinite and not zero, but its eigenvalues go {ends}")
    return A


def _symmetric(value: ArrayLike, name: str) -> Matrix:
    """Return a read-only copy of a matrix; raise ValueError, naming it ``name``, unless it is symmetric."""
    A = square(value, name)
    check_symmetric(A, name)
    A = half_sum(A)
    A.setflags(write=False)
    return A


def square(value: ArrayLike, name: str) -> Matrix:
    """Convert to a square float64 matrix.

    Raise ValueError, naming it ``name``, for other shapes and for NaN or infinity.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must have real numbers, got an array of {array.dtype}")
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        raise ValueError(f"{name} must be a square matrix, got shape {array.shape}")
    A = array.astype(np.float64)
    if not np.isfinite(A).all():
        i, j = np.argwhere(~np.isfinite(A))[0]
        raise ValueError(f"{name} must be finite, but entry ({i}, {j}) is {A[i, j]}")
    return A


def check_symmetric(A: Matrix, name: str) -> None:
    """Raise ValueError, naming the matrix ``name``, if A differs from its transpose by more than rounding."""
    gap = np.abs(A - A.T)
    i, j = np.unravel_index(np.argmax(gap), gap.shape)
    if gap[i, j] > SYMMETRY * np.abs(A).max():
        raise ValueError(f"{name} must be symmetric, but ({i}, {j}) is {A[i, j]:g} and ({j}, {i}) is {A[j, i]:g}")


def inverse_of(A: Matrix) -> Matrix:
    """Return the inverse of a symmetric positive definite matrix, exactly symmetric."""
    return half_sum(np.linalg.inv(A))


def pseudo_inverse_of(A: Matrix) -> Matrix:
    """Return the pseudo-inverse of a symmetric positive semidefinite matrix, exactly symmetric."""
    # relative to the largest eigenvalue: smaller ones are zeros of A, not huge entries of its inverse
    return half_sum(np.linalg.pinv(A, rcond=SINGULAR, hermitian=True))


def half_sum(A: Array) -> Matrix:
    """Return the symmetric part (A + A') / 2 of a matrix."""
    return np.asarray((A + A.T) / 2, dtype=np.float64)


def _has_positive_pivots(A: Matrix) -> bool:
    try:
        # Cholesky is half the price of eigenvalues, which are computed for the message only
        pivots = np.diag(np.linalg.cholesky(A)) ** 2
    except np.linalg.LinAlgError:
        return False
    # A singular matrix may pass with pivots that are only rounding.
    return bool(pivots.min() > len(A) * np.finfo(np.float64).eps * np.diag(A).max())


def task_vectors(U: ArrayLike, n_tasks: int) -> Matrix:
    """Return U, one task vector per row, as a float64 matrix; raise ValueError unless it has ``n_tasks`` rows."""
    V = np.asarray(U, dtype=np.float64)
    if V.ndim != 2 or len(V) != n_tasks:
        raise ValueError(f"U must have one row per task, shape ({n_tasks}, d), got shape {V.shape}")
    return V


def pseudo_quadratic(M: Matrix, V: Matrix) -> float:
    """Return tr(V' M† V), M† the pseudo-inverse of a positive semidefinite M.

    Infinite if V is not in the range of M.
    """
    values, vectors = np.linalg.eigh(M)
    # in the eigenbasis of M the quadratic form is Σ (v_k'V)² / λ_k over its range
    squares = ((vectors.T @ V) ** 2).sum(axis=1)
    spanned = values > len(M) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
    if squares[~spanned].sum() > SYMMETRY**2 * squares.sum():
        return float("inf")
    return float(np.sum(squares[spanned] / values[spanned]))
