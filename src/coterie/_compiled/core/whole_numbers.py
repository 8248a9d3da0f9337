"""A hash table that numbers integer labels in order of first appearance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arrays import Dropped
from .generic import no_refcount
from .hashing import mix

Integers = NDArray[np.int64]


@no_refcount
def cell_of(cells, label):
    """Return the cell of a hash table that has this label, or the empty cell in which to insert it."""
    last = np.uint64(cells.shape[0] - 1)
    # mixed, because labels such as 1, 2, 3 or multiples of a power of two would crowd in few cells
    at = mix(np.uint64(label)) & last
    while cells[at, 1] != 0 and cells[at, 0] != label:
        at = (at + np.uint64(1)) & last
    return at


@no_refcount
def find(cells, labels, numbers):
    """Look up the number of each label in a hash table, and write it to ``numbers``; -1 for unknown labels."""
    for t in range(labels.size):
        numbers[t] = cells[cell_of(cells, labels[t]), 1] - 1


@no_refcount
def add(cells, labels, known, numbers, firsts):
    """Write the number of each label to ``numbers``.

    Unknown labels get the next numbers, after ``known``, and are inserted.

    Returns the total number of labels. There must be free cells.
    """
    count = known
    for t in range(labels.size):
        at = cell_of(cells, labels[t])
        if cells[at, 1] == 0:
            firsts[count - known] = labels[t]
            count += 1
            cells[at, 0], cells[at, 1] = labels[t], count
        numbers[t] = cells[at, 1] - 1
    return count


@no_refcount
def remove(cells, labels):
    """Remove labels from a hash table, and move later cells so that all other labels are still found."""
    last = np.uint64(cells.shape[0] - 1)
    for t in range(labels.size):
        hole = np.uint64(cell_of(cells, labels[t]))
        at = (hole + np.uint64(1)) & last
        while cells[at, 1] != 0:
            # a label may fill the hole unless its search begins behind it
            home = mix(np.uint64(cells[at, 0])) & last
            if ((at - home) & last) >= ((at - hole) & last):
                cells[hole, 0], cells[hole, 1] = cells[at, 0], cells[at, 1]
                hole = at
            at = (at + np.uint64(1)) & last
        cells[hole, 0], cells[hole, 1] = 0, 0


@no_refcount
def renumber(cells, labels, numbers):
    """Change the numbers of labels that are in a hash table."""
    for t in range(labels.size):
        cells[cell_of(cells, labels[t]), 1] = numbers[t] + 1


class NumberTable:
    """A hash table from integer labels to their numbers, with 32 to 64 bytes per label.

    Examples
    --------
    >>> table = NumberTable()
    >>> table.add(np.array([7, -3, 7]))
    array([0, 1, 0])
    >>> table.find(np.array([-3, 5])), table.labels
    (array([ 1, -1]), array([ 7, -3]))
    """

    def __init__(self, room: int = 8) -> None:
        self._labels, self._count = np.empty(room, np.int64), 0
        self._provide(room)

    def __len__(self) -> int:
        return self._count

    @property
    def labels(self) -> Integers:
        """The labels in the order of their numbers."""
        return self._labels[: self._count]

    def find(self, labels: Integers) -> Integers:
        """Return the number of each label, -1 for an unknown one."""
        numbers = np.empty(len(labels), np.int64)
        find(self._cells, labels, numbers)
        return numbers

    def add(self, labels: Integers) -> Integers:
        """Return the number of each label; new labels get the next numbers."""
        most = self._count + len(labels)
        if 2 * most > len(self._cells):
            self._provide(most)
        if most > len(self._labels):
            self._labels = np.concatenate([self.labels, np.empty(max(most, self._count // 2), np.int64)])
        numbers = np.empty(len(labels), np.int64)
        firsts = self._labels[self._count :]
        self._count = int(add(self._cells, labels, self._count, numbers, firsts))
        return numbers

    def drop(self, dropped: Dropped) -> None:
        """Remove labels; the labels with the largest numbers get the free numbers."""
        remove(self._cells, self._labels[dropped.rows])
        renumber(self._cells, self._labels[dropped.moved], dropped.places)
        dropped.move(self._labels)
        self._count = dropped.left

    def _provide(self, most: int) -> None:
        """Enlarge the table so that ``most`` labels fill at most half of its cells."""
        bits = max(4, (2 * most - 1).bit_length())
        self._cells = np.zeros((2**bits, 2), np.int64)
        add(self._cells, self.labels, 0, np.empty(self._count, np.int64), np.empty(self._count, np.int64))
