"""Classes as outputs: each class has a code, and the class is predicted whose code is nearest (ROS11 §4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import plain

Array = NDArray[Any]


@dataclass(frozen=True)
class Labels:
    """The classes of a problem and how they become outputs.

    Attributes
    ----------
    classes : ndarray
        The labels, sorted; the columns of y where there are several labels a row.
    codes : ndarray, shape (n_classes, p), or None
        The output that each class should have; None where there are several labels a row (one output a label).
    middle : float
        Half-way between the outputs 0 and 1 of labels that a row has not and has; 0 for machines, whose are -1 and +1.
    """

    classes: Array
    codes: Array | None
    middle: float = 0.5

    @property
    def binary(self) -> bool:
        """Whether there is one output, whose sign is the class."""
        return self.codes is not None and self.codes.shape[1] == 1

    def scores(self, F: Array) -> Array:
        """⟨f, code⟩ - middle ‖code‖² for each class; f where there are two; f - middle where rows have several."""
        if self.codes is None:
            return F - self.middle
        if self.binary:
            return F[:, 0]
        return np.asarray(F @ self.codes.T - self.middle * (self.codes**2).sum(axis=1))

    def labels(self, scores: Array) -> Array:
        """The labels: ties go to the class that comes first, and a score of zero is positive."""
        if self.codes is None:
            return (scores >= 0).astype(np.int64)
        places = (scores >= 0).astype(np.int64) if self.binary else scores.argmax(axis=1)
        return np.asarray(self.classes[places])

    def strength(self, scores: Array) -> Array:
        """The score of two classes; how far the best of several is ahead; of several labels, the nearest to zero."""
        if self.codes is None:
            return np.asarray(np.abs(scores).min(axis=1))
        if self.binary:
            return scores
        second, first = np.partition(scores, -2, axis=1)[:, -2:].T
        return np.asarray(first - second)


def labels_of(y: Any, coding: Any) -> tuple[Labels, Array, Array]:
    """The labels of y, the outputs to learn, shape (n, p), and the class of each row (its first label among several).

    Raises
    ------
    ValueError
        For one class only, a y that is no classification, or a coding without a row for each class.
    """
    from sklearn.utils import check_array, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets, type_of_target

    held = plain(y)
    check_array(held, ensure_2d=False, dtype=None, input_name="y")
    check_classification_targets(held)
    if type_of_target(held) == "multilabel-indicator":
        Y = check_array(held, accept_sparse=False, input_name="y", dtype=np.float64)
        return Labels(np.arange(Y.shape[1]), None), Y, Y.argmax(axis=1)
    classes, places = np.unique(column_or_1d(held, warn=True), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold two classes, got one class only: {classes.tolist()[0]!r}")
    codes = codes_of(coding, len(classes))
    return Labels(classes, codes), codes[places], places


def codes_of(coding: Any, n_classes: int) -> Array:
    """A code for each class: +1 and -1 for two, else the rows of the matrix that the coding names or is.

    Examples
    --------
    >>> codes_of("one-vs-all", 3)
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    >>> codes_of("simplex", 3).round(3)
    array([[ 1.   ,  0.   ],
           [-0.5  ,  0.866],
           [-0.5  , -0.866]])
    """
    if not isinstance(coding, str):
        return _given(coding, n_classes)
    if coding not in ("one-vs-all", "simplex"):
        raise ValueError(f"coding must be 'one-vs-all', 'simplex' or a matrix of codes, got {coding!r}")
    if n_classes == 2:
        return np.array([[-1.0], [1.0]])
    return np.eye(n_classes) if coding == "one-vs-all" else simplex(n_classes)


def simplex(n_classes: int) -> Array:
    """The corners of a regular simplex: unit vectors with inner products -1/(n - 1), shape (n, n - 1)."""
    codes = np.zeros((n_classes, n_classes - 1))
    codes[0, 0] = 1.0
    if n_classes > 2:
        codes[1:, 0] = -1.0 / (n_classes - 1)
        codes[1:, 1:] = simplex(n_classes - 1) * np.sqrt(1 - 1 / (n_classes - 1) ** 2)
    else:
        codes[1, 0] = -1.0
    return codes


def _given(coding: Any, n_classes: int) -> Array:
    codes = np.asarray(coding, np.float64)
    if codes.ndim != 2 or len(codes) != n_classes or not np.isfinite(codes).all():
        raise ValueError(
            f"coding must have one finite row for each of the {n_classes} classes, got shape {codes.shape}"
        )
    if len(np.unique(codes, axis=0)) < n_classes:
        raise ValueError("coding gives two classes the same code")
    return codes


def machines_of(y: Any) -> tuple[Labels, Array]:
    """The labels of y, and for each a column of +1 where a row has it and -1 where not; one for two classes."""
    labels, Y, _ = labels_of(y, "one-vs-all")
    return Labels(labels.classes, labels.codes, middle=0.0), np.where(Y > 0.5, 1.0, -1.0)
