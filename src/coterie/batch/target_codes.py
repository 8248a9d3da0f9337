"""Targets as numbers, or as class codes (ROS11 §6.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from coterie import spec
from coterie._compiled.core.checks import require, require_finite, require_shape
from coterie.data.label_encoders import accuracy
from coterie.data.tabular import require_labels
from coterie.types import AnyLabels, Array, Arrays, Json, Labels


class Numbers:
    """Targets that are numbers: the outputs to learn are the targets."""

    def scores(self, outputs: Array) -> Array:
        """Return the outputs unchanged."""
        return outputs

    def labels(self, scores: Array) -> Array:
        """Return the scores unchanged, which are the predictions."""
        return scores

    def accuracy(self, y: Labels, predicted: Array, weights: ArrayLike | None) -> float:
        """Return R², averaged over outputs."""
        from sklearn.metrics import r2_score

        return float(r2_score(plain(y), predicted, sample_weight=weights))

    def dump(self) -> tuple[Json, Arrays]:
        """Return empty data: there is no state."""
        return {}, {}


@dataclass(frozen=True)
class Classes:
    """Targets that are classes: the outputs to learn are a code vector for each class.

    Attributes
    ----------
    classes : ndarray
        The labels, sorted.
    codes : ndarray, shape (n_classes, p)
        The target output of each class.
    middle : float
        The midpoint of the target outputs of absent and present labels: 0.5 for 0 and 1, 0 for -1 and +1 (support
        vector machines).
    """

    classes: Array
    codes: Array
    middle: float = 0.5

    @property
    def binary(self) -> bool:
        """True for two classes with one output, the sign of which is the class."""
        return self.codes.shape == (2, 1)

    def scores(self, outputs: Array) -> Array:
        """Return the score of each class, ⟨f, code⟩ - middle ‖code‖², for outputs f; for two classes f itself.

        For two classes with other codes than -1 and +1, f is brought to these.
        """
        if self.binary:
            negative, positive = self.codes[:, 0].tolist()
            return np.asarray((outputs[:, 0] - (positive + negative) / 2) / ((positive - negative) / 2))
        # ‖f - code‖² = ‖f‖² - 2 ⟨f, code⟩ + ‖code‖²: with middle = 1/2 the largest score is the nearest code
        return np.asarray(outputs @ self.codes.T - self.middle * (self.codes**2).sum(axis=1))

    def labels(self, scores: Array) -> Array:
        """Return the class with the largest score; for two classes the sign of the score decides."""
        places = (scores >= 0).astype(np.int64) if self.binary else scores.argmax(axis=1)
        return np.asarray(self.classes[places])

    accuracy = staticmethod(accuracy)

    def dump(self) -> tuple[Json, Arrays]:
        """Return classes and codes as JSON data and named arrays."""
        return {"labels": self.classes, "middle": self.middle}, {"codes of classes": self.codes}

    @classmethod
    def restored(cls, data: Json, arrays: Arrays, outputs: int) -> Classes:
        """Restore the classes from the result of :meth:`dump`.

        Raises
        ------
        ValueError
            If there is not one code per class, or not one number of each code an output.
        """
        classes, codes, middle = data["labels"], arrays["codes of classes"], data["middle"]
        require(isinstance(classes, np.ndarray), "the classes are not an array")
        classes = classes if classes.dtype != object else np.array(spec.labels_of(classes.tolist()))
        require_shape("classes", classes, None)
        require(type(middle) in (int, float) and math.isfinite(middle), f"the middle of outputs is {middle!r}")
        require(codes.dtype in (np.float32, np.float64), f"codes of classes are {codes.dtype}")
        require_shape("codes of classes", codes, len(classes), outputs)
        require_finite("codes of classes", codes)
        distinct = len(np.unique(codes, axis=0)) == len(classes) >= 2
        require(distinct, f"got {len(classes)} classes; expected two or more with different codes")
        return cls(classes, codes, middle)


def plain(y: Labels) -> ArrayLike:
    """Convert Arrow columns and tables to arrays."""
    labels: AnyLabels = y
    if hasattr(labels, "column_names"):
        return np.column_stack([np.asarray(column) for column in labels.columns])
    values: ArrayLike = labels.to_pylist() if hasattr(labels, "to_pylist") else labels
    return values


def numbers(y: Labels, n: int, name: str = "y") -> Array:
    """Validate numeric outputs y, of shape (n,) or (n, p); ``name`` is the argument in messages.

    Raises
    ------
    ValueError
        For anything else, or another number of rows.
    """
    from sklearn.utils import check_array

    require_labels(plain(y))
    array = check_array(plain(y), dtype=np.float64, ensure_2d=False, allow_nd=False, input_name=name)
    if array.ndim not in (1, 2) or len(array) != n:
        raise ValueError(f"{name} must have one row per record, shape ({n},) or ({n}, p), got shape {array.shape}")
    return np.asarray(array)


def classes_of(y: Labels, n: int, coding: str | ArrayLike = "one-vs-all") -> tuple[Classes, Array]:
    """Return the classes of y, and the codes as outputs to learn, shape (n, p).

    Raises
    ------
    ValueError
        For one class only, a y that is not a classification, a coding without a row for each class, or other than n
        rows.
    """
    from sklearn.utils import check_array, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets

    values = plain(y)
    require_labels(values)
    check_array(values, ensure_2d=False, dtype=None, input_name="y")
    check_classification_targets(values)
    classes, places = np.unique(column_or_1d(values, warn=True), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have two classes, got only one class: {classes.tolist()[0]!r}")
    spec.check_labels(classes if classes.dtype.kind in "mM" else classes.tolist(), "label")
    codes = codes_of(coding, len(classes))
    if len(places) != n:
        raise ValueError(f"y must have one label per record: got {len(places)} for {n} records")
    return Classes(classes, codes), codes[places]


def signs_of(y: Labels, n: int) -> tuple[Classes, Array]:
    """Return the classes of y, and a column of +1 or -1 per class (a single column for two classes)."""
    labels, Y = classes_of(y, n)
    return Classes(labels.classes, labels.codes, middle=0.0), np.where(Y > 0.5, 1.0, -1.0)


def codes_of(coding: str | ArrayLike, n_classes: int) -> Array:
    """Return the code of each class: +1 and -1 for two classes, else rows of the coding matrix.

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
        # both codings coincide for two classes: one output, the simplex of a line
        return np.array([[-1.0], [1.0]])
    return np.eye(n_classes) if coding == "one-vs-all" else simplex(n_classes)


def simplex(n_classes: int) -> Array:
    """Return the corners of a regular simplex: unit vectors with inner products -1/(n - 1), shape (n, n - 1)."""
    codes = np.zeros((n_classes, n_classes - 1))
    codes[0, 0] = 1.0
    if n_classes > 2:
        codes[1:, 0] = -1.0 / (n_classes - 1)
        # the others form a simplex at height -1/(n - 1), shrunk so that they stay unit vectors
        codes[1:, 1:] = simplex(n_classes - 1) * np.sqrt(1 - 1 / (n_classes - 1) ** 2)
    else:
        codes[1, 0] = -1.0
    return codes


def _given(coding: ArrayLike, n_classes: int) -> Array:
    codes = np.asarray(coding, np.float64)
    if codes.ndim != 2 or len(codes) != n_classes or not np.isfinite(codes).all():
        raise ValueError(
            f"coding must have one finite row for each of the {n_classes} classes, got shape {codes.shape}"
        )
    if len(np.unique(codes, axis=0)) < n_classes:
        raise ValueError("coding gives two classes the same code")
    return codes
