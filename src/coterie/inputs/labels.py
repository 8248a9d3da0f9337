"""Labels: from those that users give to those that learners take, and from margins to predictions.

Inside of learners, two classes are -1 and +1, many classes are memberships, and numbers are their
differences from the mean so far. Each kind of labels turns margins of the inside into what users see on the outside:
labels and probabilities. How a trace is made of them is in :mod:`coterie.evaluation.tracing`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.index import distinct_labels
from coterie.multiview import unusable
from coterie.numeric.core.fields import LARGEST_VALUE
from coterie.numeric.core.moments import FAR, NOTHING, Moments, from_saved, noted, scale_of, scored
from coterie.numeric.primal.targets import standardise
from coterie.types import Floats


class Labels(ABC):
    """The labels of a stream, found as they come.

    A margin m of the inside is ``shift + factor · m`` outside. ``log_odds`` of the methods is the factor that makes
    log-odds of margins of the outside, None where they are no such thing.

    Attributes
    ----------
    numeric : bool
        True for numbers.
    most : int or None
        The largest number of different labels.
    unlearned : label
        The prediction before anything was learned.
    inside : data with a JSON form
        The labels known: all there is to keep of them.
    shift, factor : float
        See above.
    """

    numeric: ClassVar[bool] = False
    most: ClassVar[int | None] = None
    unlearned: ClassVar[Any] = None
    inside: Any
    shift: float = 0.0
    factor: float = 1.0

    # -- labels of users

    @property
    def ordered(self) -> Sequence[Hashable]:
        """The labels known, in the order of the columns of probabilities; numbers have none."""
        return ()

    @property
    def classes(self) -> NDArray[Any]:
        """The labels known as an array, in their order."""
        return as_labels(self.ordered)

    def array(self, y: Any) -> NDArray[Any]:
        """Labels in any form as an array of one entry a record."""
        made = np.asarray(exact_labels(y))
        return as_labels(y) if made.dtype.kind == "U" and isinstance(y, list) else made  # numbers stay what they are

    def check(self, y: Any) -> None:
        """Refuse what can be no label."""
        from sklearn.utils.multiclass import check_classification_targets

        if getattr(getattr(y, "dtype", None), "kind", "") == "O" and all(type(label) is int for label in y):
            return  # whole numbers of more than 64 bits, whose arrays scikit-learn refuses
        check_classification_targets(y)

    def require_whole(self) -> None:
        """Refuse a stream that is over and had too few labels."""
        if len(self.ordered) < 2:
            more = "two classes" if self.most == 2 else "two classes or more"
            raise ValueError(f"y must hold {more}, got one class only: {self.ordered[0]!r}")

    @abstractmethod
    def require_sound(self, models: int) -> None:
        """Refuse labels from a file that no stream leads to, of so many models of two classes: ValueError."""

    # -- labels of learners

    @abstractmethod
    def values(self, y: Any) -> NDArray[Any]:
        """The labels as learners take them, new ones noted; ValueError, with nothing noted, for invalid ones."""

    def with_one(self, y: Any) -> Labels:
        """These labels and one more, as a copy; themselves where it is known."""
        if _is_among(y, self.inside):
            return self
        made = type(self)(self.inside)  # type: ignore[call-arg]
        made.values([y])
        return made

    @abstractmethod
    def value(self, y: Any) -> Any:
        """One label that is known, as learners take it."""

    @abstractmethod
    def learn(self, values: NDArray[Any], last: int, weights: Floats | None = None) -> Any:
        """Learn the first ``last`` labels; returns labels as learners take them (``.y``), for :meth:`predictions`.

        What only the others hold has not been seen. Of numbers the ``weights`` of their records say how much each
        counts.
        """

    def predictions(self, margins: Floats, inside: Any) -> Floats:
        """Learners' margins of these rounds on the scale of the labels."""
        return np.asarray(inside.shift + inside.factor * margins)

    # -- predictions

    @abstractmethod
    def label(self, margin: Any) -> Any:
        """The prediction for one margin of the outside."""

    @abstractmethod
    def labels(self, margins: Floats) -> NDArray[Any]:
        """The prediction for each margin of the outside."""

    def strength(self, margins: Floats) -> NDArray[Any] | None:
        """The certainty of each prediction; None for numbers."""
        return margins

    def decision(self, margins: Floats) -> Floats:
        """Margins as ``decision_function`` gives them."""
        return margins

    def probabilities(self, margins: Floats, log_odds: float | None) -> Floats:
        """The probability of each label, columns in the order of ``ordered``."""
        return np.zeros((len(margins), 0))

    def probability(self, margins: Floats, log_odds: float | None) -> Floats | None:
        """One probability a record: of the positive label, or of the class predicted; None where there is none."""
        return None

    def score(self, predicted: Any, y: Any, weight: Any) -> float:
        """The value that scikit-learn's ``score`` gives to predictions: the share of those that are right."""
        return float(np.average(predicted == np.asarray(y), weights=weight))


class Inside(NamedTuple):
    """Labels as learners take them, and how margins m of the same rounds get the labels' scale: shift + factor · m."""

    y: NDArray[np.float64]
    shift: NDArray[np.float64] | float
    factor: NDArray[np.float64] | float


def _is_among(y: Hashable, known: Mapping[Hashable, Any]) -> bool:
    """Tell whether a label is known; TypeError for what no dictionary can hold."""
    try:
        return y in known
    except TypeError:
        raise TypeError(f"a label must be text, a number or a tuple of them, got {y!r}") from None


def _log_probabilities(margins: Floats, log_odds: float) -> Floats:
    return -np.logaddexp(0.0, -log_odds * margins)


class TwoLabels(Labels):
    """The two labels of a stream, found as they come.

    Inside, a label keeps the sign it was first given; outside, the larger label is the positive one. ``orientation`` is
    -1 if a stream began with a label whose sign turned out the other way round.

    Examples
    --------
    >>> labels = TwoLabels()
    >>> labels.values(["no", "yes", "no"])
    array([-1.,  1., -1.])
    >>> labels.classes
    array(['no', 'yes'], dtype='<U3')
    """

    most: ClassVar[int | None] = 2
    inside: dict[Hashable, float]

    def __init__(self, inside: Mapping[Hashable, float] | None = None) -> None:
        self._know(dict(inside or {}))

    def _know(self, inside: dict[Hashable, float]) -> None:
        """Note the labels known, and work out once what each round of a single record asks for."""
        self.inside = inside
        self._ordered = _in_order(list(inside))
        #: +1 if the positive label, which is the only one while there is one, is +1 inside, else -1.
        self.orientation = inside[self._ordered[-1]] if inside else 1.0
        self.factor = self.orientation

    @property
    def ordered(self) -> list[Hashable]:
        """The labels known, the negative one first."""
        return self._ordered

    def require_sound(self, models: int) -> None:
        """Refuse labels from a file that are not one or two of different signs: ValueError."""
        spec.labels_of(list(self.inside))
        signs = list(self.inside.values())
        if sorted(signs) not in ([-1.0], [1.0], [-1.0, 1.0]):
            raise ValueError(f"the labels are {self.inside!r}, not two of different signs")

    def value(self, y: Hashable) -> float:
        """One label that is known, as learners take it."""
        return self.inside[y]

    def learn(self, values: NDArray[np.float64], last: int, weights: Floats | None = None) -> Inside:
        """Take in the first ``last`` labels of the inside."""
        return Inside(values, self.shift, self.factor)

    def values(self, y: Sequence[Hashable] | NDArray[Any]) -> NDArray[np.float64]:
        """The labels as -1 and +1 of the inside, new ones learned.

        Raises
        ------
        ValueError
            For a third label or a missing one; nothing is learned then.
        """
        distinct, places = distinct_labels(y, "label")
        known = self.known_with(distinct)
        self._know(known)
        return np.array([known[label] for label in distinct], np.float64)[places]

    def label(self, margin: float) -> Hashable:
        """The label for a margin of the outside, a zero margin being positive."""
        return self._ordered[-1 if margin >= 0 else 0]

    def known_with(self, labels: Sequence[Hashable]) -> dict[Hashable, float]:
        """The labels known after these have been seen."""
        known = dict(self.inside)
        fresh = [label for label in labels if label not in known]
        spec.check_labels(fresh, "label")
        if not known and len(fresh) == 1 and isinstance(fresh[0], bool):
            fresh = [False, True]
        if len(known) + len(fresh) > 2:
            shown = ", ".join(repr(label) for label in [*known, *fresh][:5])
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: expected two labels, "
                f"got {shown}; OneVsRest(model) learns any number of labels, AdaptiveSharingRegressor learns numbers"
            )
        return known | _signed(known, fresh)

    def labels(self, margins: NDArray[np.float64]) -> NDArray[Any]:
        """The label for each margin of the outside, a zero margin being positive."""
        classes = self.classes
        if len(classes) == 1:
            return np.repeat(classes, len(margins))
        return classes[(margins >= 0).astype(np.int64)]

    def probabilities(self, margins: Floats, log_odds: float | None) -> Floats:
        """The probability of both labels, shape (n, 2); one column of ones while a single label is known."""
        factor = 1.0 if log_odds is None else log_odds
        return self.columns(np.exp(_log_probabilities(-margins, factor)), np.exp(_log_probabilities(margins, factor)))

    def columns(self, negative: Floats, positive: Floats) -> Floats:
        """The probabilities of both labels side by side; one column of ones while a single label is known."""
        return np.ones((len(positive), 1)) if len(self.ordered) == 1 else np.column_stack([negative, positive])

    def probability(self, margins: Floats, log_odds: float | None) -> Floats | None:
        """The probability of the positive label."""
        return None if log_odds is None else np.exp(_log_probabilities(margins, log_odds))


def _signed(known: dict[Hashable, float], fresh: list[Hashable]) -> dict[Hashable, float]:
    if len(fresh) == 2:
        first, second = _in_order(fresh)
        return {first: -1.0, second: 1.0}
    if len(fresh) == 1:
        return {fresh[0]: -next(iter(known.values())) if known else _guess(fresh[0])}
    return {}


def _in_order(labels: list[Hashable]) -> list[Hashable]:
    try:
        return sorted(labels)  # type: ignore[type-var]
    except TypeError:
        return labels


def _guess(label: Hashable) -> float:
    """The likely sign of a label seen alone: numbers up to zero are negative."""
    return -1.0 if isinstance(label, (int, float)) and label <= 0 else 1.0


class Membership(NamedTuple):
    """Memberships of records in classes, (n, classes), and the number of classes known when each was predicted."""

    y: NDArray[np.bool_]
    known: NDArray[np.int64]


class ManyLabels(Labels):
    """Any number of labels, of which a record has one, numbered as they come.

    Outside, classes stand in their order where they have one; of equal margins that of the class seen first wins. One
    that was not seen yet cannot be predicted.

    Examples
    --------
    >>> labels = ManyLabels()
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
        """The labels in order of appearance."""
        return list(self.inside)

    @property
    def ordered(self) -> list[Hashable]:
        """The labels in their order."""
        return _in_order(self.seen)

    @property
    def columns(self) -> list[int]:
        """The numbers of the labels, in their order."""
        return [self.inside[label] for label in self.ordered]

    def require_sound(self, models: int) -> None:
        """Refuse labels from a file that are not numbered in their order, or not one a model: ValueError."""
        spec.labels_of(self.seen)
        if list(self.inside.values()) != list(range(models)):
            raise ValueError(f"{len(self.inside)} labels are not those of {models} models, in their order")

    def value(self, y: Hashable) -> NDArray[np.bool_]:
        """One label as memberships of all classes."""
        return np.asarray(np.arange(len(self.inside)) == self.inside[y])

    def values(self, y: Any) -> NDArray[np.int64]:
        """The number of each label, new ones learned."""
        distinct, places = distinct_labels(y, "label")
        self._before = len(self.inside)
        spec.check_labels((label for label in distinct if label not in self.inside), "label")
        for label in distinct:
            self.inside.setdefault(label, len(self.inside))
        return np.array([self.inside[label] for label in distinct], np.int64)[places]

    def learn(self, values: NDArray[np.int64], last: int, weights: Floats | None = None) -> Membership:
        """Take in the first ``last`` labels; what only the others hold has not been seen."""
        upto = np.maximum.accumulate(np.append(self._before, values[:last] + 1))
        self.inside = dict(list(self.inside.items())[: upto[-1]])
        return Membership(values[:, None] == np.arange(upto[-1]), _when_predicted(upto, len(values), last))

    def labels(self, margins: Floats) -> NDArray[Any]:
        """The label of the largest margin of each record, the class seen first where several are largest."""
        return np.asarray(as_labels(self.seen)[np.argmax(margins, axis=1)])

    def label(self, margins: Floats) -> Hashable:
        """The label of the largest margin of one record."""
        return self.seen[int(np.argmax(margins))]

    def strength(self, margins: Floats) -> Floats:
        """The lead of each record's largest margin over the second; 0 where there is one class only."""
        if margins.shape[1] < 2:
            return np.zeros(len(margins))
        second, first = np.partition(margins, -2, axis=1)[:, -2:].T
        return np.where(np.isfinite(second), first - np.where(np.isfinite(second), second, 0.0), 0.0)

    def predictions(self, margins: Floats, inside: Membership) -> Floats:
        """The margins, with minus infinity for classes that had not been seen when these were predicted."""
        return np.where(np.arange(margins.shape[1]) < inside.known[:, None], margins, -np.inf)

    def decision(self, margins: Floats) -> Floats:
        """Margins, columns in the order of the labels; of two labels their difference."""
        ordered = margins[:, self.columns]
        return ordered[:, 1] - ordered[:, 0] if ordered.shape[1] == 2 else ordered

    def probabilities(self, margins: Floats, log_odds: float | None) -> Floats:
        """The probability of each label by its own model, normalised to a sum of one."""
        logs = self.log_probabilities(margins, log_odds)
        return np.zeros((len(margins), 0)) if logs is None else np.exp(logs[:, self.columns])

    def probability(self, margins: Floats, log_odds: float | None) -> Floats | None:
        """The probability of the label that is predicted."""
        logs = self.log_probabilities(margins, log_odds)
        return None if logs is None else np.exp(logs.max(axis=1))

    def log_probabilities(self, margins: Floats, log_odds: float | None) -> Floats | None:
        """Logarithms of the probabilities, in order of appearance, those of all models normalised."""
        if log_odds is None:
            return None
        logs = _log_probabilities(margins, log_odds)
        if not logs.shape[1]:
            return logs
        logs = logs - np.maximum(logs.max(axis=1, keepdims=True), np.finfo(np.float64).min)
        with np.errstate(divide="ignore", invalid="ignore"):  # no class had been seen: nan
            return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


def as_labels(labels: Sequence[Hashable]) -> NDArray[Any]:
    """Labels as an array of one entry each, also where they are of several types."""
    if len({type(label) for label in labels}) <= 1 and not isinstance(next(iter(labels), None), tuple):
        return np.array(exact_labels(labels))
    made = np.empty(len(labels), object)
    made[:] = labels
    return made


def exact_labels(y: Any) -> Any:
    """Return a list of labels as an array of objects if NumPy would round whole numbers of it to floats, else as it is.

    Examples
    --------
    >>> exact_labels([2**63 + 1, 2**63 + 2, 5]).tolist() == [2**63 + 1, 2**63 + 2, 5]
    True
    """
    if not (isinstance(y, (list, tuple)) and any(type(label) is int and abs(label) >= _ROUNDED for label in y)):
        return y
    made = np.empty(len(y), object)
    made[:] = y
    return made


#: NumPy makes floats of lists with such whole numbers, or with smaller ones beside floats; those are exact up to here.
_ROUNDED = 1 << 53


def _when_predicted(upto: NDArray[np.int64], n: int, last: int) -> NDArray[np.int64]:
    """The count when each of n records was predicted, of the counts before the first label and after each one."""
    return np.asarray(upto[np.maximum(np.arange(n) - (n - last), 0)])


def _moments_from(saved: Sequence[float]) -> Moments:
    """The moments of numbers from a file; ValueError for what no numbers have."""
    message = f"the moments of numbers are {saved!r}"
    if not all(type(each) in (int, float) for each in saved):
        raise ValueError(message)
    try:
        made = Moments(*from_saved([saved], 1)[0].tolist())
    except ValueError:
        raise ValueError(message) from None
    if made.weight < 0 or max(map(abs, (made.mean, made.low, made.high))) > LARGEST_VALUE:
        raise ValueError(message)
    return made


class Targets(Labels):
    """The numbers of a stream, by their moments so far.

    With the mean m and the standard deviation s of the labels that have been learned, a margin f of the inside is the
    prediction m + s f, and a label y is (y - m) / s inside, m and s being taken with y itself then, brought within
    ± 12. All tasks have the same m and s: so rules need not know the unit of labels, and the weights learn how tasks
    differ. No single label ruins m and s: :mod:`coterie.numeric.core.moments`.

    Parameters
    ----------
    inside : sequence of float, optional
        The moments so far; as they came from a file, they are checked.
    standardised : bool
        Whether labels are brought to that scale; else they are learned as they are, m being 0 and s 1.
    tolerance : float
        How far off a prediction may be, in standard deviations, and be no mistake.

    Attributes
    ----------
    shift, factor : float
        The mean and the standard deviation so far; 0 where there is no label, 1 where there is no deviation.

    Examples
    --------
    >>> targets = Targets()
    >>> targets.learn(targets.values([10.0, 20.0, 30.0]), last=3).y.round(3)
    array([0.   , 1.   , 1.225])
    >>> targets.shift, round(targets.factor, 3)
    (20.0, 8.165)
    """

    numeric: ClassVar[bool] = True
    unlearned: ClassVar[float] = 0.0

    def __init__(
        self,
        inside: Sequence[float] | None = None,
        standardised: bool = True,
        tolerance: float = 0.0,
    ) -> None:
        self._standardised, self.tolerance = standardised, tolerance
        self._hold(inside if isinstance(inside, Moments) else _moments_from(inside) if inside else NOTHING)

    def _hold(self, moments: Moments) -> None:
        self.inside = moments
        found: tuple[float, float] = scale_of(moments) if self._standardised else (0.0, 1.0)
        self.shift, self._deviation = found
        self.factor = self._deviation or 1.0

    def array(self, y: Any) -> Floats:
        """Labels in any form as an array of numbers."""
        return np.asarray(y, np.float64)

    @staticmethod
    def takes(y: Any) -> bool:
        """True for a number that can be learned."""
        try:
            return abs(float(y)) <= LARGEST_VALUE
        except (TypeError, ValueError):
            return False

    def check(self, y: Any) -> None:
        """Refuse what can be no label."""
        self.values(y)

    def require_whole(self) -> None:
        """Accept any number of different labels."""

    def require_sound(self, models: int) -> None:
        """Accept moments: they were checked when they came."""

    def values(self, y: Any) -> Floats:
        """The labels as numbers.

        Raises
        ------
        ValueError
            For a label that is no number, not finite or too large; the message names the record.
        """
        try:
            values = np.asarray(y, np.float64)
        except (TypeError, ValueError):
            t, found = next((t, each) for t, each in enumerate(y) if not self.takes(each))
            raise ValueError(f"label of record {t} (from 0) must be a number, got {found!r}") from None
        if values.ndim != 1:
            raise ValueError(f"y must hold one number a record, got shape {values.shape}")
        wrong = np.flatnonzero(~(np.abs(values) <= LARGEST_VALUE))
        if len(wrong):
            reason = unusable(float(values[wrong[0]]))
            raise ValueError(f"label of record {wrong[0]} (from 0): {reason}")
        return values

    def with_one(self, y: Any) -> Targets:
        """The moments after one more label."""
        if not (type(y) in (float, int) and abs(y) <= LARGEST_VALUE):
            y = float(self.values([y])[0])
        return Targets(noted(float(y), 1.0, self.inside), self._standardised, self.tolerance)

    def value(self, y: Any) -> float:
        """One label as learners take it."""
        return float(scored(float(y), self.shift, self._deviation, FAR)) if self._standardised else float(y)

    def learn(self, values: Floats, last: int, weights: Floats | None = None) -> Inside:
        """Take in the first ``last`` labels; the others, whose records are predicted in these rounds, come later."""
        n = len(values)
        inside, shift, factor = np.zeros(n), np.zeros(last), np.zeros(last)
        counted = np.ones(last) if weights is None else weights[:last]
        self._hold(standardise(values[:last], counted, self.inside, inside[:last], shift, factor))
        if not self._standardised:
            return Inside(values, 0.0, 1.0)
        known = np.maximum(np.arange(n) - (n - last), 0)  # labels that had come when each record was predicted
        return Inside(inside, shift[known], factor[known]) if last else Inside(inside, self.shift, self.factor)

    def labels(self, margins: Floats) -> Floats:
        """The prediction for each margin of the outside: that margin."""
        return margins

    def strength(self, margins: Floats) -> None:
        """None: a number has no certainty beside it."""

    def label(self, margin: float) -> float:
        """The prediction for one margin of the outside, which it is."""
        return float(margin)

    def score(self, predicted: Any, y: Any, weight: Any) -> float:
        """The coefficient of determination R²."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, predicted, sample_weight=weight))
