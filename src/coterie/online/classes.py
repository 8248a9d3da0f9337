"""Labels of more than two values: one of many classes, or any set of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.index import distinct_labels

from .labels import TwoLabels

Floats = NDArray[np.float64]


class Membership(NamedTuple):
    """Which classes records are in, (n, classes), and how many classes were known when each was predicted."""

    y: NDArray[np.bool_]
    known: NDArray[np.int64]


class ManyLabels:
    """The labels of a stream, numbered as they come; a label that was not seen yet cannot be predicted.

    Outside, classes stand in their order where they have one; of equal margins that of the class seen first wins.

    Examples
    --------
    >>> labels = ManyLabels()
    >>> labels.values(["b", "c", "a", "b"])
    array([0, 1, 2, 0])
    >>> labels.classes, labels.labels(np.array([[0.5, 0.5, -1.0], [0.0, 0.0, 0.1]]))
    (array(['a', 'b', 'c'], dtype='<U1'), array(['b', 'a'], dtype='<U1'))
    """

    numeric: ClassVar[bool] = False
    plain: ClassVar[bool] = True
    most: ClassVar[int | None] = None
    orientation: ClassVar[float] = 1.0
    shift: ClassVar[float] = 0.0
    factor: ClassVar[float] = 1.0

    def __init__(self, inside: Mapping[Hashable, int] | None = None) -> None:
        self.inside: dict[Hashable, int] = dict(inside or {})
        self._before = len(self.inside)

    array = staticmethod(TwoLabels.array)
    check = staticmethod(TwoLabels.check)

    @property
    def seen(self) -> list[Hashable]:
        """The labels in order of appearance."""
        return list(self.inside)

    @property
    def ordered(self) -> list[Hashable]:
        """The labels in their order."""
        try:
            return sorted(self.inside)  # type: ignore[type-var]
        except TypeError:
            return self.seen

    @property
    def columns(self) -> list[int]:
        """The numbers of the labels, in their order."""
        return [self.inside[label] for label in self.ordered]

    @property
    def classes(self) -> NDArray[Any]:
        """The labels as an array, in their order."""
        return as_labels(self.ordered)

    def require_whole(self) -> None:
        """Refuse a stream that is over and had one label only."""
        if len(self.inside) < 2:
            raise ValueError(f"y must hold two classes or more, got one class only: {self.ordered[0]!r}")

    def with_one(self, y: Hashable) -> ManyLabels:
        """These labels and one more; themselves where it is known."""
        if y in self.inside:
            return self
        made = ManyLabels(self.inside)
        made.values([y])
        return made

    def value(self, y: Hashable) -> NDArray[np.bool_]:
        """Which class one label is."""
        return np.asarray(np.arange(len(self.inside)) == self.inside[y])

    def values(self, y: Any) -> NDArray[np.int64]:
        """The number of each label, new ones learned."""
        distinct, places = distinct_labels(y, "label")
        self._before = len(self.inside)
        for label in distinct:
            self.inside.setdefault(label, len(self.inside))
        return np.array([self.inside[label] for label in distinct], np.int64)[places]

    def learn(self, values: NDArray[np.int64], last: int) -> Membership:
        """Take in the first ``last`` labels; what only the others hold has not been seen."""
        upto = np.maximum.accumulate(np.append(self._before, values[:last] + 1))
        self.inside = dict(list(self.inside.items())[: upto[-1]])
        return Membership(values[:, None] == np.arange(upto[-1]), _when_predicted(upto, len(values), last))

    def told(self, margins: Floats, inside: Membership) -> Floats:
        """The margins, of classes that had not been seen when they were told minus infinity."""
        return np.where(np.arange(margins.shape[1]) < inside.known[:, None], margins, -np.inf)

    def labels(self, margins: Floats) -> NDArray[Any]:
        """The label of the largest margin of each record, the class seen first where several are largest."""
        return np.asarray(as_labels(self.seen)[np.argmax(margins, axis=1)])

    def label(self, margins: Floats) -> Hashable:
        """The label of the largest margin of one record."""
        return self.seen[int(np.argmax(margins))]

    def strength(self, margins: Floats) -> Floats:
        """How far the largest margin of each record is above the second; 0 where there is one class only."""
        if margins.shape[1] < 2:
            return np.zeros(len(margins))
        second, first = np.partition(margins, -2, axis=1)[:, -2:].T
        return np.where(np.isfinite(second), first - np.where(np.isfinite(second), second, 0.0), 0.0)


class LabelSets:
    """Sets of labels, the labels numbered as they come; what was not seen yet cannot be predicted.

    Given as sets, lists or tuples of labels, or as a matrix of 0 and 1 whose columns are the labels 0, 1, ...;
    predicted in the form that came.

    Examples
    --------
    >>> sets = LabelSets()
    >>> sets.values([{"a"}, set(), {"b", "a"}])
    array([[ True, False],
           [False, False],
           [ True,  True]])
    >>> sets.labels(np.array([[1.0, 0.5]])).tolist() == [frozenset({"a", "b"})]
    True
    """

    numeric: ClassVar[bool] = False
    plain: ClassVar[bool] = False
    most: ClassVar[int | None] = None
    orientation: ClassVar[float] = 1.0
    shift: ClassVar[float] = 0.0
    factor: ClassVar[float] = 1.0

    def __init__(self, inside: tuple[Sequence[Hashable], bool] | None = None) -> None:
        self.seen: list[Hashable] = list(inside[0]) if inside else []
        self.matrix = bool(inside and inside[1])
        self._before = len(self.seen)

    @property
    def inside(self) -> tuple[list[Hashable], bool]:
        """The labels in order of appearance, and whether they came as a matrix."""
        return list(self.seen), self.matrix

    @property
    def ordered(self) -> list[Hashable]:
        """The labels in their order."""
        try:
            return sorted(self.seen)  # type: ignore[type-var]
        except TypeError:
            return list(self.seen)

    @property
    def columns(self) -> list[int]:
        """The numbers of the labels, in their order."""
        return [self.seen.index(label) for label in self.ordered]

    @property
    def classes(self) -> NDArray[Any]:
        """The labels as an array, in their order."""
        return as_labels(self.ordered)

    @staticmethod
    def array(y: Any) -> NDArray[Any]:
        """One set of labels a record, as objects."""
        rows = _matrix_rows(y)
        made = np.empty(len(rows if rows is not None else y), object)
        made[:] = (
            [frozenset(np.flatnonzero(row).tolist()) for row in rows] if rows is not None else list(map(_as_set, y))
        )
        return made

    def check(self, y: Any) -> None:
        """Refuse what can be no sets of labels."""
        self.array(y)

    def require_whole(self) -> None:
        """Refuse a stream that is over and had no label at all."""
        if not self.seen:
            raise ValueError("y must hold one label at least, and all of its sets are empty")

    def with_one(self, y: Any) -> LabelSets:
        """These labels and those of one more record."""
        made = LabelSets(self.inside)
        made.values([y])
        return made

    def value(self, y: Any) -> NDArray[np.bool_]:
        """Which classes one record is in."""
        return np.asarray(self._rows(self.array([y]))[0])

    def values(self, y: Any) -> NDArray[np.bool_]:
        """Which classes each record is in, new ones learned."""
        rows = _matrix_rows(y)
        if self.seen and len(y) and (rows is not None) != self.matrix and not _are_sets(y):
            raise ValueError("labels came as sets before, and now as a matrix of 0 and 1: give the one or the other")
        sets = self.array(y)
        self.matrix = self.matrix or rows is not None
        self._before = len(self.seen)
        width = range(rows.shape[1]) if rows is not None else ()
        fresh = dict.fromkeys([*width, *(label for each in sets for label in _in_order(each))])
        known = set(self.seen)
        self.seen += [label for label in fresh if label not in known]
        return self._rows(sets)

    def learn(self, values: NDArray[np.bool_], last: int) -> Membership:
        """Take in the first ``last`` sets; what only the others hold has not been seen."""
        if self.matrix:
            return Membership(values, np.full(len(values), len(self.seen)))
        highest = np.where(values[:last], np.arange(values.shape[1]) + 1, 0).max(axis=1, initial=0)
        upto = np.maximum.accumulate(np.append(self._before, highest))
        self.seen = self.seen[: upto[-1]]
        return Membership(values[:, : upto[-1]], _when_predicted(upto, len(values), last))

    def told(self, margins: Floats, inside: Membership) -> Floats:
        """The margins, of classes that had not been seen when they were told minus infinity."""
        return np.where(np.arange(margins.shape[1]) < inside.known[:, None], margins, -np.inf)

    def labels(self, margins: Floats) -> NDArray[Any]:
        """The labels of each record whose margins are above zero: sets, or a matrix if labels came as one."""
        if self.matrix:
            return (margins[:, self.columns] > 0).astype(np.int64)
        return self.sets(margins)

    def sets(self, margins: Floats) -> NDArray[Any]:
        """The set of the labels of each record whose margins are above zero."""
        made = np.empty(len(margins), object)
        made[:] = [frozenset(self.seen[c] for c in np.flatnonzero(row > 0)) for row in margins]
        return made

    def label(self, margins: Floats) -> frozenset[Hashable]:
        """The set of the labels of one record whose margins are above zero."""
        return frozenset(self.seen[c] for c in np.flatnonzero(margins > 0))

    def strength(self, margins: Floats) -> Floats:
        """How far from zero the nearest margin of each record is."""
        near = np.abs(np.where(np.isfinite(margins), margins, np.inf)).min(axis=1, initial=np.inf)
        return np.where(np.isfinite(near), near, 0.0)

    def _rows(self, sets: NDArray[Any]) -> NDArray[np.bool_]:
        numbers = {label: c for c, label in enumerate(self.seen)}
        made = np.zeros((len(sets), len(self.seen)), bool)
        for t, each in enumerate(sets):
            for label in each:
                made[t, numbers[label]] = True
        return made


def as_labels(labels: Sequence[Hashable]) -> NDArray[Any]:
    """Labels as an array of one entry each, also where they are of several types."""
    if len({type(label) for label in labels}) <= 1 and not isinstance(next(iter(labels), None), (tuple, frozenset)):
        return np.array(labels)
    made = np.empty(len(labels), object)
    made[:] = labels
    return made


def _when_predicted(upto: NDArray[np.int64], n: int, last: int) -> NDArray[np.int64]:
    """Of counts before and after each label that came, that when each of n records was predicted."""
    return np.asarray(upto[np.maximum(np.arange(n) - (n - last), 0)])


def _matrix_rows(y: Any) -> NDArray[np.bool_] | None:
    """A matrix of 0 and 1 as truth values; None for anything else."""
    if hasattr(y, "toarray"):
        y = y.toarray()
    if getattr(y, "ndim", 1) != 2:
        return None
    if not np.isin(y, (0, 1)).all():
        raise ValueError("y as a matrix must hold 0 and 1 only, a column a label")
    return np.asarray(y).astype(bool)


def _are_sets(y: Any) -> bool:
    return all(isinstance(each, (set, frozenset)) for each in y)


def _as_set(each: Any) -> frozenset[Hashable]:
    if isinstance(each, (set, frozenset, list, tuple)):
        return frozenset(each)
    raise ValueError(f"y must hold a set of labels for each record, or be a matrix of 0 and 1; got {each!r}")


def _in_order(labels: frozenset[Hashable]) -> list[Hashable]:
    """A set's labels in an order that does not depend on how it was made."""
    try:
        return sorted(labels)  # type: ignore[type-var]
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, repr(label)))
