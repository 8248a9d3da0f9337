"""Label encoders: from users' labels to numbers for learners, and from learners' margins to predicted labels.

Learners get -1 and +1 for two classes, class indicators for many classes, and standardised numbers. A label encoder
decodes margins into labels and probabilities. :mod:`coterie.evaluation.tracing` makes traces of the rows in which
predictions are stored until their labels arrive.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from coterie import spec
from coterie._compiled.core.checks import require
from coterie._compiled.core.moments import FAR, NOTHING, Moments, from_saved, noted, scale_of, scored
from coterie._compiled.core.text_fields import LARGEST_VALUE
from coterie._compiled.primal.targets import standardise
from coterie.models.multiview import unusable
from coterie.tasks.index import distinct_labels
from coterie.types import AnyLabels, Array, Flags, Floats, Ints, Label

#: Types that NumPy converts to floats, though they are not numbers.
_NOT_NUMBERS = (str, bytes, complex, np.complexfloating, np.datetime64, np.timedelta64)


class LabelEncoder(ABC):
    """Base class of label encoders, which number labels in order of first appearance.

    A learner's margin m is decoded to ``shift + factor · m``. ``log_odds`` is the factor from decoded margins to
    log-odds, None if they are not log-odds.

    Attributes
    ----------
    numeric : bool
        True for numbers.
    most : int or None
        The largest number of different labels.
    unlearned : label
        The prediction before any label was learned.
    inside : data with a JSON form
        The known labels, which are the whole state.
    shift, factor : float
        The shift and the factor from learners' margins to decoded ones.
    """

    numeric: ClassVar[bool] = False
    most: ClassVar[int | None] = None
    unlearned: ClassVar[Label] = None
    inside: Any
    shift: float = 0.0
    factor: float = 1.0

    # -- labels of users

    @property
    def ordered(self) -> Sequence[Hashable]:
        """The known labels in the order of the columns of ``predict_proba``; empty for numbers."""
        return ()

    @property
    def classes(self) -> Array:
        """The known labels as an array, in the order of ``predict_proba``."""
        return as_labels(self.ordered)

    def array(self, y: AnyLabels) -> Array:
        """Convert labels of any form to an array with one entry per record."""
        labels = np.asarray(exact_labels(y))
        return as_labels(y) if labels.dtype.kind == "U" and isinstance(y, list) else labels  # numbers keep their type

    def require_whole(self) -> None:
        """Raise ValueError if too few different labels were learned by the end of a stream."""
        if len(self.ordered) < 2:
            more = "two classes" if self.most == 2 else "two classes or more"
            raise ValueError(f"y must have {more}, got only one class: {self.ordered[0]!r}")

    @abstractmethod
    def require_sound(self, models: int) -> None:
        """Raise ValueError if labels restored from a file are invalid for this number of binary ``models``."""

    # -- labels of learners

    @abstractmethod
    def values(self, y: AnyLabels, of_arrays: bool = False) -> Array:
        """Encode labels as numbers and add new labels; raise ValueError, and add none, if a label is invalid.

        Those ``of_arrays`` are also checked by scikit-learn if there are new ones, so that numbers are no labels.
        """

    def with_one(self, y: AnyLabels) -> LabelEncoder:
        """Return a copy of the encoder that also knows label y; the encoder itself if y is known."""
        try:
            if y in self.inside:
                return self
        except TypeError:
            raise TypeError(f"a label must be text, a number or a tuple of them, got {y!r}") from None
        labels = type(self)(self.inside)  # type: ignore[call-arg]
        labels.values([y])
        return labels

    @abstractmethod
    def value(self, y: AnyLabels) -> Label:
        """Encode y, one known label, as a number."""

    @abstractmethod
    def learn(self, values: Array, last: int, weights: Floats | None = None) -> Any:
        """Update the encoder with the first ``last`` encoded labels, and return all of them as `Inside`.

        The other labels have not arrived yet. The ``weights`` of records are the weights of numbers.
        """

    def predictions(self, margins: Floats, inside: Any) -> Floats:
        """Convert learners' margins to the scale of labels; ``inside`` is the result of :meth:`learn`."""
        return np.asarray(inside.shift + inside.factor * margins)

    def empty_rows(self, n: int) -> Array:
        """Return the stored rows of n predictions that were made before the first label."""
        return np.zeros(n)

    def rows(self, margins: Floats, y: AnyLabels, log_odds: float | None) -> Array:
        """Convert margins to one row per prediction, to store until labels arrive; ``y`` are the labels if known."""
        return np.asarray(margins)

    # -- predictions

    @abstractmethod
    def label(self, margin: Any) -> Label:
        """Return the predicted label for one margin, as returned by :meth:`predictions`."""

    @abstractmethod
    def labels(self, margins: Floats) -> Array:
        """Return the predicted labels for margins, as returned by :meth:`predictions`."""

    def strength(self, margins: Floats) -> Array | None:
        """Return the confidence of each prediction, a nonnegative number; None for regression."""
        return margins

    def decision(self, margins: Floats) -> Floats:
        """Convert margins to the values that ``decision_function`` returns."""
        return margins

    def probabilities(self, margins: Floats, log_odds: float | None) -> Floats:
        """Return class probabilities, shape (n, classes), with columns in the order of ``ordered``.

        ``log_odds`` is the factor from margins to log-odds, None if there is none.
        """
        return np.zeros((len(margins), 0))

    def probability(self, margins: Floats, log_odds: float | None) -> Floats | None:
        """Return each record's probability of the positive (or predicted) class; None for numbers."""
        return None

    def score(self, predicted: Array, y: AnyLabels, weight: ArrayLike | None) -> float:
        """Return the weighted accuracy of predictions (for numbers: R²), as scikit-learn's ``score``."""
        return accuracy(y, predicted, weight)


def accuracy(y: AnyLabels, predicted: Array, weight: ArrayLike | None) -> float:
    """Return the weighted share of right predictions; y has one label per record, and may be a column of a frame."""
    labels = np.asarray(y).ravel()
    require(len(labels) == len(predicted), f"y must have one label per record: got {len(labels)} for {len(predicted)}")
    return float(np.average(predicted == labels, weights=None if weight is None else np.asarray(weight)))


class Inside(NamedTuple):
    """Encoded labels y, and the numbers that convert margins m to predictions: shift + factor · m."""

    y: Floats
    shift: Floats | float
    factor: Floats | float


@np.errstate(under="ignore")  # also if the caller raises it: 0 is right
def _log_probabilities(margins: Floats, log_odds: float) -> Floats:
    return -np.logaddexp(0.0, -log_odds * margins)


@np.errstate(under="ignore")
def _exp(logs: Floats) -> Floats:
    return np.exp(logs)


class BinaryLabelEncoder(LabelEncoder):
    """Encoder of two labels as -1 and +1.

    For learners a label keeps its first sign; for users the larger label is the positive one. ``orientation`` is -1 if
    these differ, because the first label of a stream had an unknown sign.

    Examples
    --------
    >>> labels = BinaryLabelEncoder()
    >>> labels.values(["no", "yes", "no"])
    array([-1.,  1., -1.])
    >>> labels.classes
    array(['no', 'yes'], dtype='<U3')
    """

    most: ClassVar[int | None] = 2
    inside: dict[Hashable, float]

    def __init__(self, inside: Mapping[Hashable, float] | None = None) -> None:
        self._set_inside(dict(inside or {}))

    def _set_inside(self, inside: dict[Hashable, float]) -> None:
        """Set the known labels with their encodings, and cache them for single records."""
        self.inside = inside
        self._ordered = _in_order(list(inside))
        #: +1 if learners see the positive label, or the only one, as +1, else -1.
        self.orientation = inside[self._ordered[-1]] if inside else 1.0
        self.factor = self.orientation

    @property
    def ordered(self) -> list[Hashable]:
        """The known labels, the negative one first."""
        return self._ordered

    def require_sound(self, models: int) -> None:
        """Raise ValueError for labels from a file unless they are one or two labels with different signs."""
        spec.labels_of(list(self.inside))
        signs = list(self.inside.values())
        if sorted(signs) not in ([-1.0], [1.0], [-1.0, 1.0]):
            raise ValueError(f"the labels are {self.inside!r}, not two of different signs")

    def value(self, y: Hashable) -> float:
        """Encode one known label as -1 or +1."""
        return self.inside[y]

    def learn(self, values: Floats, last: int, weights: Floats | None = None) -> Inside:
        """Return the encoded labels as `Inside`; nothing else has to be learned."""
        return Inside(values, self.shift, self.factor)

    def values(self, y: Sequence[Hashable] | Array, of_arrays: bool = False) -> Floats:
        """Encode labels as -1 and +1, and add new ones.

        Raises
        ------
        ValueError
            For a third label or a missing one; nothing is added then.
        """
        distinct, places = distinct_labels(y, "label")
        if not self.inside.keys() >= set(distinct):
            if of_arrays:
                _check_classes(y)
            self._add([label for label in distinct if label not in self.inside])
        return np.array(list(map(self.inside.get, distinct)), np.float64)[places]

    def _add(self, fresh: list[Hashable]) -> None:
        known = dict(self.inside)
        spec.check_labels(fresh, "label")
        if not known and len(fresh) == 1 and isinstance(fresh[0], bool):
            fresh = [False, True]
        if len(known) + len(fresh) > 2:
            shown = ", ".join(repr(label) for label in [*known, *fresh][:5])
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: expected two labels, "
                f"got {shown}; OneVsRest(model) learns any number of labels, AdaptiveSharingRegressor learns numbers"
            )
        if len(fresh) == 2:
            known |= dict(zip(_in_order(fresh), (-1.0, 1.0), strict=True))
        elif fresh:
            # before the second label is known, numbers up to zero are taken as negative
            is_negative = isinstance(fresh[0], (int, float)) and fresh[0] <= 0
            known[fresh[0]] = -next(iter(known.values())) if known else -1.0 if is_negative else 1.0
        self._set_inside(known)

    def rows(self, margins: Floats, y: AnyLabels, log_odds: float | None) -> Array:
        """Return the margins with the sign of the learner, because the order of the labels may still change."""
        return np.asarray(margins * self.orientation)

    def label(self, margin: float) -> Hashable:
        """Return the label for a decoded margin; a zero margin is positive."""
        return self._ordered[-1 if margin >= 0 else 0]

    def labels(self, margins: Floats) -> Array:
        """Return the label for each decoded margin; a zero margin is positive."""
        classes = self.classes
        if len(classes) == 1:
            return np.repeat(classes, len(margins))
        return classes[(margins >= 0).astype(np.int64)]

    def probabilities(self, margins: Floats, log_odds: float | None) -> Floats:
        """Return the probability of both labels, shape (n, 2), or a column of ones if only one label is known."""
        factor = 1.0 if log_odds is None else log_odds
        return self.columns(_exp(_log_probabilities(-margins, factor)), _exp(_log_probabilities(margins, factor)))

    def columns(self, negative: Floats, positive: Floats) -> Floats:
        """Stack the probabilities of the negative and the positive label as columns; ones if one label is known."""
        return np.ones((len(positive), 1)) if len(self.ordered) == 1 else np.column_stack([negative, positive])

    def probability(self, margins: Floats, log_odds: float | None) -> Floats | None:
        """Return the probability of the positive label."""
        return None if log_odds is None else _exp(_log_probabilities(margins, log_odds))


def _in_order(labels: list[Hashable]) -> list[Hashable]:
    try:
        return sorted(labels)  # type: ignore[type-var]
    except TypeError:
        return labels


class Membership(NamedTuple):
    """One-hot indicators of the labels, shape (n, classes), and the number of classes known before each record."""

    y: Flags
    known: Ints


class ClassLabelEncoder(LabelEncoder):
    """Encoder of any number of classes, numbered in order of first appearance, as one-hot vectors.

    For users classes are sorted if possible; ties go to the class seen first. A class without a label so far cannot be
    predicted.

    Examples
    --------
    >>> labels = ClassLabelEncoder()
    >>> labels.values(["b", "c", "a", "b"])
    array([0, 1, 2, 0])
    >>> labels.classes, labels.labels(np.array([[0.5, 0.5, -1.0], [0.0, 0.0, 0.1]]))
    (array(['a', 'b', 'c'], dtype='<U1'), array(['b', 'a'], dtype='<U1'))
    """

    def __init__(self, inside: Mapping[Hashable, int] | None = None) -> None:
        self.inside: dict[Hashable, int] = dict(inside or {})
        self._before = len(self.inside)

    @property
    def seen(self) -> list[Hashable]:
        """The labels in order of first appearance."""
        return list(self.inside)

    @property
    def ordered(self) -> list[Hashable]:
        """The labels in sorted order."""
        return _in_order(self.seen)

    @property
    def columns(self) -> list[int]:
        """The indices that sort the labels, which are stored in order of first appearance."""
        return [self.inside[label] for label in self.ordered]

    def require_sound(self, models: int) -> None:
        """Raise ValueError for labels from a file unless they are numbered in order, one for each model."""
        spec.labels_of(self.seen)
        if list(self.inside.values()) != list(range(models)):
            raise ValueError(f"{len(self.inside)} labels do not match {models} two-class models")

    def value(self, y: Hashable) -> Flags:
        """Encode one label as a one-hot vector."""
        return np.asarray(np.arange(len(self.inside)) == self.inside[y])

    def values(self, y: AnyLabels, of_arrays: bool = False) -> Ints:
        """Return the index of each label; new labels are added."""
        distinct, places = distinct_labels(y, "label")
        self._before = len(self.inside)
        fresh = [label for label in distinct if label not in self.inside]
        if fresh and of_arrays:
            _check_classes(y)
        spec.check_labels(fresh, "label")
        self.inside = self.inside | dict(zip(fresh, count(self._before)))
        return np.array([self.inside[label] for label in distinct], np.int64)[places]

    def learn(self, values: Ints, last: int, weights: Floats | None = None) -> Membership:
        """Convert label indices to one-hot indicators, for learning the first ``last`` labels."""
        counts = np.maximum.accumulate(np.append(self._before, values[:last] + 1))
        self.inside = dict(list(self.inside.items())[: counts[-1]])
        return Membership(values[:, None] == np.arange(counts[-1]), counts[_learned_before(len(values), last)])

    def empty_rows(self, n: int) -> Floats:
        """Return the stored rows of n predictions that were made before the first label."""
        return np.full((n, 3), (-1.0, 0.0, np.nan))

    def rows(self, margins: Floats, y: AnyLabels, log_odds: float | None) -> Floats:
        """Return for each record the predicted class, its margin over the next class, and the label's probability."""
        rows = self.empty_rows(len(margins))
        if margins.shape[1]:
            rows[:, 0] = np.where(np.isfinite(margins).any(axis=1), np.argmax(margins, axis=1), -1)
            rows[:, 1] = self.strength(margins)
        logs = self.log_probabilities(margins, log_odds)
        if logs is not None and y is not None and len(y):
            numbers = np.array([self.inside.get(label, -1) for label in np.asarray(exact_labels(y)).tolist()])
            known = np.where(numbers < margins.shape[1], numbers, -1)
            probability = _exp(logs[np.arange(len(logs)), known])
            rows[:, 2] = np.where((known < 0) | np.isnan(probability), 0.0, probability)
        return rows

    def labels(self, margins: Floats) -> Array:
        """Return the label with the largest margin of each record; ties go to the label seen first."""
        return np.asarray(as_labels(self.seen)[np.argmax(margins, axis=1)])

    def label(self, margins: Floats) -> Hashable:
        """Return the label with the largest margin of one record."""
        return self.seen[int(np.argmax(margins))]

    def strength(self, margins: Floats) -> Floats:
        """Return for each record the difference of its two largest margins; 0 for a single class."""
        if margins.shape[1] < 2:
            return np.zeros(len(margins))
        second, first = np.partition(margins, -2, axis=1)[:, -2:].T
        return np.where(np.isfinite(second), first - np.where(np.isfinite(second), second, 0.0), 0.0)

    def predictions(self, margins: Floats, inside: Membership) -> Floats:
        """Return the margins, with -inf for classes that were unknown when the record was predicted."""
        return np.where(np.arange(margins.shape[1]) < inside.known[:, None], margins, -np.inf)

    def decision(self, margins: Floats) -> Floats:
        """Return margins with columns in the order of labels; for two labels their difference."""
        ordered = margins[:, self.columns]
        return ordered[:, 1] - ordered[:, 0] if ordered.shape[1] == 2 else ordered

    def probabilities(self, margins: Floats, log_odds: float | None) -> Floats:
        """Return one-vs-rest class probabilities, normalised to a sum of one."""
        logs = self.log_probabilities(margins, log_odds)
        return np.zeros((len(margins), 0)) if logs is None else _exp(logs[:, self.columns])

    def probability(self, margins: Floats, log_odds: float | None) -> Floats | None:
        """Return the probability of the predicted label."""
        logs = self.log_probabilities(margins, log_odds)
        return None if logs is None else _exp(logs.max(axis=1))

    def log_probabilities(self, margins: Floats, log_odds: float | None) -> Floats | None:
        """Return the logarithms of the normalised class probabilities, in order of first appearance."""
        if log_odds is None:
            return None
        logs = _log_probabilities(margins, log_odds)
        if not logs.shape[1]:
            return logs
        logs = logs - np.maximum(logs.max(axis=1, keepdims=True), np.finfo(np.float64).min)
        with np.errstate(divide="ignore", invalid="ignore", under="ignore"):  # no class had been seen: nan
            return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


def as_floats(numbers: AnyLabels) -> Floats:
    """Convert numbers to an array of floats; raise TypeError for text, dates and durations."""
    array = np.asarray(numbers)
    texts = array.dtype.kind == "O" and any(isinstance(number, _NOT_NUMBERS) for number in array.ravel())
    if array.dtype.kind in "SUmMc" or texts:
        raise TypeError("not numbers")
    return np.asarray(array, np.float64)


def _check_classes(y: AnyLabels) -> None:
    """Raise ValueError for an array with values that cannot be labels, such as floats with fractions."""
    from sklearn.utils.multiclass import check_classification_targets

    if getattr(getattr(y, "dtype", None), "kind", "") == "O" and all(type(label) is int for label in y):
        return  # whole numbers of more than 64 bits, whose arrays scikit-learn refuses
    check_classification_targets(y)


def as_labels(labels: Sequence[Hashable]) -> Array:
    """Convert labels to an array with one entry per label, also for labels of mixed types."""
    if len({type(label) for label in labels}) <= 1 and not isinstance(next(iter(labels), None), tuple):
        return np.array(exact_labels(labels))
    return np.fromiter(labels, object, len(labels))


def exact_labels(y: AnyLabels) -> AnyLabels:
    """Convert labels to an object array if NumPy would round some integers to floats.

    Examples
    --------
    >>> exact_labels([2**63 + 1, 2**63 + 2, 5]).tolist() == [2**63 + 1, 2**63 + 2, 5]
    True
    """
    if not (isinstance(y, (list, tuple)) and any(type(label) is int and abs(label) >= _ROUNDED for label in y)):
        return y
    return np.fromiter(y, object, len(y))


#: Whole numbers up to this are exact as floats, which NumPy makes of lists with larger ones, or with floats.
_ROUNDED = 1 << 53


def _learned_before(n: int, last: int) -> Ints:
    """Return for each of n predictions how many of the first ``last`` labels had arrived before it."""
    return np.maximum(np.arange(n) - (n - last), 0)


def _restore_moments(saved: Sequence[float]) -> Moments:
    """Restore the label moments from a file; raise ValueError for impossible values."""
    message = f"the moments of numbers are {saved!r}"
    if not all(type(number) in (int, float) for number in saved):
        raise ValueError(message)
    try:
        moments = Moments(*from_saved([saved], 1)[0].tolist())
    except ValueError:
        raise ValueError(message) from None
    if moments.weight < 0 or max(map(abs, (moments.mean, moments.low, moments.high))) > LARGEST_VALUE:
        raise ValueError(message)
    return moments


class NumberLabelEncoder(LabelEncoder):
    """Encoder of numeric labels, which standardises them by their running mean and standard deviation.

    With the mean m and the standard deviation s of the learned labels, a margin f is the prediction m + s f, and a
    label y is encoded as (y - m) / s, clipped to ± 12, with m and s after y itself. All tasks have the same m and s, so
    that rules do not depend on the unit of labels, and the weights learn how tasks differ. Single outliers have a
    limited effect on m and s: :mod:`coterie._compiled.core.moments`.

    Parameters
    ----------
    inside : sequence of float, optional
        The moments so far; those from a file are checked.
    standardised : bool
        False to learn labels unchanged, with m = 0 and s = 1.
    tolerance : float
        The largest error of a prediction, in standard deviations, that is not a mistake.

    Attributes
    ----------
    shift, factor : float
        The mean and the standard deviation so far; 0 without labels, 1 without a deviation.

    Examples
    --------
    >>> targets = NumberLabelEncoder()
    >>> targets.learn(targets.values([10.0, 20.0, 30.0]), last=3).y.round(3)
    array([0.   , 1.   , 1.225])
    >>> targets.shift, round(targets.factor, 3)
    (20.0, 8.165)
    """

    numeric: ClassVar[bool] = True
    unlearned: ClassVar[float] = 0.0

    def __init__(
        self, inside: Sequence[float] | None = None, standardised: bool = True, tolerance: float = 0.0
    ) -> None:
        self._standardised, self.tolerance = standardised, tolerance
        moments = inside if isinstance(inside, Moments) else _restore_moments(inside) if inside else NOTHING
        self._set_moments(moments)

    def _set_moments(self, moments: Moments) -> None:
        self.inside = moments
        scale: tuple[float, float] = scale_of(moments) if self._standardised else (0.0, 1.0)
        self.shift, self._deviation = scale
        self.factor = self._deviation or 1.0

    def array(self, y: AnyLabels) -> Floats:
        """Convert labels of any form to an array of numbers."""
        return np.asarray(y, np.float64)

    @staticmethod
    def takes(y: AnyLabels) -> bool:
        """Return True for a label that can be learned: a finite number that is not too large to be squared."""
        try:
            return not isinstance(y, _NOT_NUMBERS) and abs(float(y)) <= LARGEST_VALUE
        except (TypeError, ValueError):
            return False

    def require_whole(self) -> None:
        """Do nothing: any number of different labels is valid."""

    def require_sound(self, models: int) -> None:
        """Do nothing: moments are checked when they are set."""

    def values(self, y: AnyLabels, of_arrays: bool = False) -> Floats:
        """Convert labels to floats.

        Raises
        ------
        ValueError
            For a label that is not a number, not finite or too large; the message names the record.
        """
        try:
            values = as_floats(y)
        except (TypeError, ValueError):
            t, label = next((t, label) for t, label in enumerate(y) if not self.takes(label))
            raise ValueError(f"label of record {t} (from 0) must be a number, got {label!r}") from None
        if values.ndim != 1:
            raise ValueError(f"y must have one number per record, got shape {values.shape}")
        wrong = np.flatnonzero(~(np.abs(values) <= LARGEST_VALUE))
        if len(wrong):
            raise ValueError(f"label of record {wrong[0]} (from 0): {unusable(float(values[wrong[0]]))}")
        return values

    def with_one(self, y: AnyLabels) -> NumberLabelEncoder:
        """Return a copy of the encoder that has also learned label y."""
        if not (type(y) in (float, int) and abs(y) <= LARGEST_VALUE):
            y = float(self.values([y])[0])
        return NumberLabelEncoder(noted(float(y), 1.0, self.inside), self._standardised, self.tolerance)

    def value(self, y: AnyLabels) -> float:
        """Encode y, one label, by subtracting the current mean and dividing by the standard deviation."""
        return float(scored(float(y), self.shift, self._deviation, FAR)) if self._standardised else float(y)

    def learn(self, values: Floats, last: int, weights: Floats | None = None) -> Inside:
        """Update the moments with the first ``last`` labels; return the standardised labels as `Inside`."""
        n = len(values)
        inside, shift, factor = np.zeros(n), np.zeros(last), np.zeros(last)
        counted = np.ones(last) if weights is None else weights[:last]
        first = values[:last].copy()  # read-only or strided arrays would be further types to compile
        self._set_moments(standardise(first, counted, self.inside, inside[:last], shift, factor))
        if not self._standardised:
            return Inside(values, 0.0, 1.0)
        if not last:
            return Inside(inside, self.shift, self.factor)
        known = _learned_before(n, last)
        return Inside(inside, shift[known], factor[known])

    def labels(self, margins: Floats) -> Floats:
        """Return the margins unchanged: on the scale of labels they are the predictions."""
        return margins

    def strength(self, margins: Floats) -> None:
        """Return None: predicted numbers have no confidence."""

    def label(self, margin: float) -> float:
        """Return the margin unchanged: on the scale of labels it is the prediction."""
        return float(margin)

    def score(self, predicted: Array, y: AnyLabels, weight: ArrayLike | None) -> float:
        """Return the coefficient of determination R²."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, predicted, sample_weight=weight))
