"""What labels are outside, and what learners take them for: any two labels outside are -1 and +1 inside."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.index import distinct_labels


class Inside(NamedTuple):
    """Labels as learners take them, and how margins told in the same rounds are brought outside: shift + factor · m."""

    y: NDArray[np.float64]
    shift: NDArray[np.float64] | float
    factor: NDArray[np.float64] | float


class TwoLabels:
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

    numeric: ClassVar[bool] = False
    plain: ClassVar[bool] = True
    most: ClassVar[int | None] = 2

    #: Margins are 0 outside where they are inside.
    shift: ClassVar[float] = 0.0

    def __init__(self, inside: Mapping[Hashable, float] | None = None) -> None:
        self._know(dict(inside or {}))

    def _know(self, inside: dict[Hashable, float]) -> None:
        """What follows of the labels known, worked out once: the rounds of one record ask each time."""
        self.inside = inside
        #: The labels known, the negative one first.
        self.ordered = _in_order(list(inside))
        #: +1 if the positive label, which is the only one while there is one, is +1 inside, else -1.
        self.orientation = inside[self.ordered[-1]] if inside else 1.0
        #: What brings margins of the inside outside.
        self.factor = self.orientation

    @property
    def classes(self) -> NDArray[Any]:
        """The labels known as an array, the negative one first."""
        return np.array(self.ordered)

    @staticmethod
    def array(y: Any) -> NDArray[Any]:
        """Labels in any form as an array of one entry a record."""
        return np.asarray(y)

    @staticmethod
    def check(y: Any) -> None:
        """Refuse what can be no label."""
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(y)

    def require_whole(self) -> None:
        """Refuse a stream that is over and had one label only."""
        if len(self.inside) < 2:
            raise ValueError(f"y must hold two classes, got one class only: {self.ordered[0]!r}")

    def with_one(self, y: Hashable) -> TwoLabels:
        """These labels and one more; themselves where it is known."""
        if y in self.inside:
            return self
        made = TwoLabels(self.inside)
        made.values([y])
        return made

    def value(self, y: Hashable) -> float:
        """One label that is known, as learners take it."""
        return self.inside[y]

    def learn(self, values: NDArray[np.float64], last: int) -> Inside:
        """Take in the first ``last`` labels of the inside."""
        return Inside(values, self.shift, self.factor)

    def told(self, margins: NDArray[np.float64], inside: Inside) -> NDArray[np.float64]:
        """Margins told in the rounds of these labels, as they are outside."""
        return inside.shift + inside.factor * margins

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
        return self.ordered[-1 if margin >= 0 else 0]

    def known_with(self, labels: Sequence[Hashable]) -> dict[Hashable, float]:
        """The labels known after these have been seen."""
        known = dict(self.inside)
        fresh = [label for label in labels if label not in known]
        if not known and len(fresh) == 1 and isinstance(fresh[0], bool):
            fresh = [False, True]
        if len(known) + len(fresh) > 2:
            shown = ", ".join(repr(label) for label in [*known, *fresh][:5])
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: expected two labels, "
                f"got {shown}"
            )
        return known | _signed(known, fresh)

    def labels(self, margins: NDArray[np.float64]) -> NDArray[Any]:
        """The label for each margin of the outside, a zero margin being positive."""
        classes = self.classes
        if len(classes) == 1:
            return np.repeat(classes, len(margins))
        return classes[(margins >= 0).astype(np.int64)]

    def strength(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is said of predictions beside the labels: the margins."""
        return margins


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
