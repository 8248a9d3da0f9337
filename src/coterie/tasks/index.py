"""Indexes that number labels in order of first appearance."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import repeat

import numpy as np

from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.whole_numbers import Integers, NumberTable
from coterie.spec import is_hashable
from coterie.types import AnyLabels, Array, Ints, Label

#: The minimum number of whole numbers for compiled code; for fewer a dictionary is as fast.
MANY = 256


class WholeNumbers(Sequence[int]):
    """A sequence of integers that is stored as an array and returns Python integers.

    Examples
    --------
    >>> list(WholeNumbers(np.array([3, 1])))
    [3, 1]
    """

    def __init__(self, array: Integers) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[int]:
        return iter(self.array.tolist())

    def __getitem__(self, place: int | slice) -> Label:
        return WholeNumbers(self.array[place]) if isinstance(place, slice) else int(self.array[place])


def whole_numbers(labels: AnyLabels, least: int = MANY) -> Integers | None:
    """Convert labels to an int64 array.

    Return None if there are fewer than ``least``, or one is not a 64-bit integer.
    """
    array = labels.array if hasattr(labels, "array") else labels
    if isinstance(array, np.ndarray):
        is_whole = array.ndim == 1 and array.dtype.kind in "iu" and np.can_cast(array.dtype, np.int64)
        return np.ascontiguousarray(array, np.int64) if is_whole and len(array) >= least else None
    if not isinstance(labels, (list, tuple, range)) or len(labels) < least or not set(map(type, labels)) <= {int}:
        return None
    try:
        return np.array(labels, np.int64)
    except OverflowError:  # a number of more than 64 bits
        return None


class Index:
    """An index that numbers labels (such as tasks) in order of first appearance.

    Many integers are numbered by compiled code, in a tenth of the time of dictionaries; the list and the dictionary are
    made on demand.

    Examples
    --------
    >>> index = Index(["fr", "it"])
    >>> index.codes(["it", "es"])
    array([ 1, -1])
    """

    def __init__(self, labels: Iterable[Hashable] = ()) -> None:
        self._labels: list[Hashable] = []
        self._numbers: dict[Hashable, int] = {}
        self._table: NumberTable | None = None  # of all labels, while they are whole numbers
        self.add(labels)

    def __len__(self) -> int:
        return len(self._labels) if self._table is None else len(self._table)

    def __contains__(self, label: Hashable) -> bool:
        return label in self.numbers

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.labels)

    @property
    def labels(self) -> list[Hashable]:
        """The labels in the order of their numbers."""
        if self._table is not None and len(self._labels) < len(self._table):  # at once, for threads look without a lock
            self._labels = self._table.labels.tolist()
        return self._labels

    @property
    def sequence(self) -> Sequence[Hashable]:
        """The labels in the order of their numbers, without a copy."""
        return self.labels if self._table is None else WholeNumbers(self._table.labels)

    @property
    def numbers(self) -> dict[Hashable, int]:
        """A dictionary from label to number."""
        have, table = len(self._numbers), self._table
        if table is not None and have < len(table):
            fresh = table.labels[have:].tolist()
            self._numbers.update(zip(fresh, range(have, have + len(fresh)), strict=True))
        return self._numbers

    def add(self, labels: Iterable[Hashable]) -> None:
        """Give new labels the next free numbers."""
        whole = whole_numbers(labels, MANY if self._table is None else 0)
        table = None if whole is None else self._tabled()
        if whole is not None and table is not None:
            table.add(whole)
            return
        numbers, known = self.numbers, self.labels
        self._table = None
        for label in labels.tolist() if isinstance(labels, np.ndarray) else labels:
            if label not in numbers:
                numbers[label] = len(known)
                known.append(label)

    def drop(self, dropped: Dropped) -> None:
        """Remove labels; the labels with the largest numbers take the numbers that become free."""
        if self._table is None or self._labels or self._numbers:  # else the lists have not been needed yet
            labels, numbers = self.labels, self.numbers
            for number in dropped.rows.tolist():
                del numbers[labels[number]]
            for place, number in zip(dropped.places.tolist(), dropped.moved.tolist(), strict=True):
                labels[place] = labels[number]
                numbers[labels[place]] = place
            del labels[dropped.left :]
        if self._table is not None:
            self._table.drop(dropped)

    def _tabled(self) -> NumberTable | None:
        """Return a hash table of all labels, created on first use; None if a label is not an integer."""
        known = whole_numbers(self._labels, 0) if self._table is None else None
        if known is not None:
            table = NumberTable(len(known))
            table.add(known)
            self._table = table
        return self._table

    def find(self, labels: Sequence[Hashable] | Array) -> Ints:
        """Return the number of each label, -1 for unknown ones; for a few labels only, see :meth:`codes`."""
        table = self._table
        whole = None if table is None else whole_numbers(labels)
        if table is not None and whole is not None:
            return table.find(whole)
        numbers = self._numbers if table is None else self.numbers
        labels = labels.tolist() if isinstance(labels, np.ndarray) else labels
        return np.fromiter(map(numbers.get, labels, repeat(-1)), np.int64, len(labels))

    def new_among(self, labels: Sequence[Hashable]) -> Sequence[Hashable]:
        """Return the distinct labels that have no number, in order of first appearance."""
        table = self._table
        whole = None if table is None else whole_numbers(labels)
        if table is None or whole is None:
            numbers = self.numbers
            return [label for label in dict.fromkeys(labels) if label not in numbers]
        fresh = NumberTable()
        fresh.add(whole[table.find(whole) < 0])
        return WholeNumbers(fresh.labels)

    def codes(self, labels: Sequence[Hashable] | Array) -> Ints:
        """Return the number of each label, -1 for unknown ones: O(n), with one lookup per distinct label."""
        distinct, places = distinct_labels(labels)
        return self.find(distinct)[places]

    def number(self, labels: Array) -> tuple[Ints, Sequence[Hashable]]:
        """Return the number of each label, and the list of new labels, counted as if they had the next numbers."""
        if self._table is not None or len(labels) < MANY:
            with suppress(TypeError):  # of a label that is not hashable, which distinct_labels names
                codes = self.find(labels)
                if codes.min(initial=0) >= 0:
                    return codes, ()
        distinct, places = distinct_labels(labels)
        numbers = self.find(distinct)
        fresh = np.flatnonzero(numbers < 0)
        if not len(fresh):
            return numbers[places], ()
        numbers[fresh] = len(self) + np.arange(len(fresh))
        return numbers[places], distinct if len(fresh) == len(distinct) else self.new_among(distinct)


#: The maximum number of labels of these types that a dictionary numbers, if Arrow is loaded and if it is not. Arrow is
#: faster for more labels, but loading it takes as long as a dictionary for a million.
_FEW, _UNLOADED, _SIMPLE = 8192, 2**20, {str, int, float, bool}


def distinct_labels(labels: Sequence[Hashable] | Array, role: str = "task") -> tuple[Sequence[Hashable], Ints]:
    """Return the distinct labels in order of first appearance, and for each record the position of its label in them.

    Many integers stay an array.

    Raises
    ------
    ValueError
        If a label is missing (None or NaN); the message names the record.
    TypeError
        If a label is not hashable; the message names the record.
    """
    if (
        isinstance(labels, np.ndarray)
        and labels.ndim == 1
        and labels.dtype.kind in "iuf"
        and labels.dtype.itemsize <= 8
    ):
        is_whole = np.can_cast(labels.dtype, np.int64)
        # numbers are compared by their bits, with -0.0 as 0.0
        wide = labels.astype(np.int64) if is_whole else labels.astype(f"{labels.dtype.kind}8") + 0
        table = NumberTable(len(labels))
        places = table.add(wide.view(np.int64))
        numbers = table.labels.view(wide.dtype)
        if is_whole and len(numbers) >= MANY:
            return WholeNumbers(numbers), places
        return _distinct_objects(labels.tolist(), role) if (numbers != numbers).any() else (numbers.tolist(), places)
    most = _FEW if "pyarrow" in sys.modules else _UNLOADED
    values: AnyLabels = labels
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "bUO":
        values = labels.tolist()
    kinds = set(map(type, values)) if isinstance(values, list) else {object}
    if kinds <= _SIMPLE and (len(values) <= most or len(kinds) > 1):  # Arrow would make numbers of one type of several
        return _distinct_objects(values, role)
    if any(issubclass(kind, datetime.datetime) for kind in kinds):  # of which Arrow would take nanoseconds off
        return _distinct_objects(values, role)
    import pyarrow as pa

    try:
        array = pa.array(labels)
        if pa.types.is_dictionary(array.type):  # its own may have labels that do not occur, or one twice
            array = array.dictionary_decode()
        encoded = array.dictionary_encode()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # labels that Arrow has no type for
        return _distinct_objects(values, role)
    distinct = encoded.dictionary.to_pylist()
    if encoded.null_count or pa.types.is_nested(encoded.dictionary.type) or any(label != label for label in distinct):
        return _distinct_objects(values, role)
    return distinct, np.from_dlpack(encoded.indices).astype(np.int64)


def _distinct_objects(labels: Iterable[Hashable], role: str) -> tuple[list[Hashable], Ints]:
    values = list(labels)
    try:
        distinct = list(dict.fromkeys(values))
    except TypeError:
        t, label = next((t, label) for t, label in enumerate(values) if not is_hashable(label))
        raise TypeError(
            f"{role} of record {t} (from 0) is not a valid label; expected text, a number or a tuple, got {label!r}"
        ) from None
    if not set(map(type, distinct)) <= {str, int, bool} and any(map(is_missing_label, distinct)):
        t, label = next((t, label) for t, label in enumerate(values) if is_missing_label(label))
        raise ValueError(f"{role} of record {t} (from 0) is missing: {label!r}")
    numbers = dict(zip(distinct, range(len(distinct)), strict=True))
    return distinct, np.fromiter(map(numbers.__getitem__, values), np.int64, len(values))


def is_missing_label(label: object) -> bool:
    """Return True for a missing label: None, NaN of any type, or pandas' NA."""
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


#: Why a number of one file is another label in another.
TYPED = "CSV has only text; in JSON a value without quotes is a number"


def check_no_collisions(unseen: Sequence[Hashable], known: Collection[Hashable]) -> None:
    """Raise ValueError for a new task that equals a known one except for its type, such as 1 and "1".

    Raises
    ------
    ValueError
        For the first such task.
    """
    for task in unseen:
        for twin in _twins(task):
            if twin in known:
                raise ValueError(f"task {task!r} is unknown, but {twin!r} is known; did you mean that type? {TYPED}")


def _twins(task: Hashable) -> list[Hashable]:
    """Return the labels of the other type that are printed alike: "1" for 1, "1" and "1.0" for 1.0, 1 for both."""
    if isinstance(task, str):
        number = task.removesuffix(".0")
        return [int(number)] if number.isdecimal() else []
    whole = [str(int(task))] if isinstance(task, float) and task.is_integer() else []
    return [*whole, str(task)] if whole or isinstance(task, int) else []
