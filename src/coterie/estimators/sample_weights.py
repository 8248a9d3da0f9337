"""Sample weights and class weights.

A record of weight w has w times the loss: the step of Perceptrons, of passive-aggressive learners and of gradients is
multiplied by w, AROW divides the label's variance r by w, a support vector starts with the coefficient w y, and least
squares, means and losses count the record w times. With weight 1 the result equals that without weights, bit for bit;
with weight 0 a record is predicted and changes nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import spec
from coterie._compiled.core.checks import require
from coterie._compiled.core.records import LARGEST_WEIGHT
from coterie.data.block import SMALLEST_WEIGHT
from coterie.data.feature_keys import refuse_masked
from coterie.data.label_encoders import LabelEncoder, as_floats
from coterie.tasks.index import distinct_labels
from coterie.types import Array, Floats
from coterie.wording import listed

BALANCED = "balanced"

#: The weights of labels: one for each, "balanced", or None without.
ClassWeight: TypeAlias = Mapping[Hashable, float] | str | None


def sample_weights(sample_weight: ArrayLike | None, n: int, whole: bool = False) -> Floats | None:
    """Validate ``sample_weight`` for n records; return an array, or None if all weights are 1.

    ``whole`` means that these are all records.

    Raises
    ------
    ValueError
        For a weight that is negative, NaN, infinite or above a million, if there is not one per record, or if all
        records have weight zero and ``whole`` is True.
    """
    if sample_weight is None:
        return None
    refuse_masked(sample_weight, "sample_weight")
    try:
        weights = np.array(as_floats(sample_weight))
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must have one number per record, got {sample_weight!r}") from None
    if weights.ndim == 0:
        weights = np.full(n, weights)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have one number per record: got shape {weights.shape} for {n} records")
    wrong = np.flatnonzero(~((weights >= 0.0) & (weights <= LARGEST_WEIGHT)))
    if len(wrong):
        raise ValueError(
            f"sample_weight of record {wrong[0]} (from 0) must be a number from 0 to {LARGEST_WEIGHT:,.0f}, "
            f"got {float(weights[wrong[0]])!r}"
        )
    weights[weights < SMALLEST_WEIGHT] = 0.0
    if whole and not weights.any():
        raise ValueError("sample_weight is zero for all records: nothing would be learned")
    return weights


def check_class_weight(class_weight: Any) -> None:
    """Raise ValueError for a ``class_weight`` other than "balanced", None or a mapping to valid weights."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == BALANCED):
        return
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight must be a dictionary from label to weight, 'balanced' or None, got {class_weight!r}"
        )
    for label, weight in class_weight.items():
        number = isinstance(weight, Decimal) or spec.is_number(weight)
        if not (number and 0 <= weight <= LARGEST_WEIGHT):
            raise ValueError(
                f"class_weight of {label!r} must be a number from 0 to {LARGEST_WEIGHT:,.0f}, got {weight!r}"
            )


def check_class_weight_names(class_weight: ClassWeight, labels: LabelEncoder, complete: bool) -> None:
    """Raise ValueError for a ``class_weight`` that names labels that are not among ``labels``.

    Unless ``complete``, further labels may still occur.

    Parameters
    ----------
    class_weight : mapping of label to weight, "balanced" or None
    labels : Labels
        The labels known so far.
    complete : bool
        True if no labels will be added. Otherwise each weight may be for a future label, up to the number of labels
        that the model supports.

    Raises
    ------
    ValueError
        The message has the first such label, the known labels and the most similar of them.
    """
    known = labels.ordered
    if not isinstance(class_weight, Mapping) or not known:
        return
    unknown = [label for label in class_weight if label not in known]
    too_many = labels.most is not None and len(known) + len(unknown) > labels.most
    if unknown and (complete or too_many):
        words = {str(label).casefold(): label for label in known}
        near = get_close_matches(str(unknown[0]).casefold(), words, n=1)
        meant = f"; did you mean {words[near[0]]!r}?" if near else ""
        labels_shown = listed([repr(label) for label in known])
        raise ValueError(f"class_weight names {unknown[0]!r}, which is not among the labels {labels_shown}{meant}")


class Weighing:
    """The class weights of a model, and the total weight of each label so far, on which "balanced" weights depend.

    Parameters
    ----------
    class_weight : mapping of label to weight, "balanced" or None
        ``"balanced"`` is n / (K n_k) for n records so far, including this one, with K labels, n_k of them with its
        label, all counted by their sample weights. A label that is not in the mapping has weight 1.
    counts : mapping of label to float
        The total weight of the records of each label so far, if ``class_weight`` is ``"balanced"``.

    Examples
    --------
    >>> weighing = Weighing("balanced")
    >>> weighing.weigh(["no", "no", "yes", "no"], None, last=4)
    array([1.        , 1.        , 1.5       , 0.66666667])
    """

    def __init__(self, class_weight: Any = None, counts: Mapping[Hashable, float] | None = None) -> None:
        self.class_weight, self.counts = class_weight, dict(counts or {})

    def under(self, class_weight: ClassWeight) -> Weighing:
        """Return a copy with other class weights and the same counts of labels."""
        return Weighing(class_weight, self.counts if class_weight == BALANCED else None)

    def weigh(self, y: Sequence[Hashable] | Array, own: Floats | None, last: int) -> Floats | None:
        """Return the product of sample weight and class weight for each record.

        The first ``last`` labels are counted; ``own`` are the sample weights.
        """
        if self.class_weight is None:
            return own
        labels, places = distinct_labels(y, "label")
        weights = np.ones(len(places)) if own is None else own
        if self.class_weight == BALANCED:
            of_records = self._balanced(labels, places, weights, last)
        else:
            of_records = np.array([float(self.class_weight.get(label, 1.0)) for label in labels])[places]
        # a rare label's weight grows like n; steps beyond the limit would lose all digits of the rest
        return np.asarray(np.minimum(weights * of_records, LARGEST_WEIGHT))

    def _balanced(self, labels: Sequence[Hashable], places: NDArray[np.int64], weights: Floats, last: int) -> Floats:
        balanced, counts = np.ones(len(places)), self.counts
        for t, (place, weight) in enumerate(zip(places[:last].tolist(), weights[:last].tolist(), strict=True)):
            if weight > 0.0:
                label = labels[place]
                counts[label] = counts.get(label, 0.0) + weight
                # counts so far, this record's included: a label's first record has a finite weight
                balanced[t] = sum(counts.values()) / (len(counts) * counts[label])
        return balanced

    def to_saved(self) -> list[Any]:
        """Return the labels and their counts as JSON data."""
        return [list(self.counts), list(self.counts.values())]

    @classmethod
    def restored(cls, class_weight: ClassWeight, data: Any) -> Weighing:
        """Restore the counts of labels; raise ValueError if they are invalid."""
        require(isinstance(data, list) and len(data) == 2, "the weights of labels so far are invalid")
        labels, counts = spec.labels_of(data[0]), data[1]
        fits = isinstance(counts, list) and len(counts) == len(labels) == len(set(labels))
        require(
            fits and all(spec.is_number(count) and count > 0.0 for count in counts),
            "the weights of labels so far are invalid",
        )
        return cls(class_weight, dict(zip(labels, map(float, counts), strict=True)))
