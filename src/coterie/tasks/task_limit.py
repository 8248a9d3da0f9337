"""The ``max_tasks`` limit: a new task replaces the least recently used one.

The new task is added before the old one, whose number it takes, is dropped, so that a group of both is never empty. A
block of records is learned in pieces between these replacements, with the same result as record by record.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np

from coterie._compiled.core.arrays import Dropped, enlarged
from coterie.types import Codes

#: The time, later than any record, at which a leaving task counts as seen.
_LEAVING = np.iinfo(np.int64).max


class Recency:
    """The least recently used (LRU) order of tasks, by their numbers: O(1) per record, with an occasional sort.

    Parameters
    ----------
    order : sequence of int
        The numbers of the tasks known, the one that was not seen for longest first.

    Examples
    --------
    >>> recency = Recency([0, 1, 2])
    >>> recency.see(np.array([0, 1, 0]))
    >>> recency.oldest(), recency.order
    (2, array([2, 1, 0]))
    """

    def __init__(self, order: Sequence[int] | Codes) -> None:
        self._known = self._sorted = len(order)
        self._seen = np.empty(self._known, np.int64)
        self._seen[np.asarray(order, np.int64)] = np.arange(self._known)
        self._clock = self._known
        self._stack: list[tuple[int, int]] = []  # numbers and when they were seen, the oldest last

    @classmethod
    def restored(cls, order: Codes, known: int) -> Self:
        """Restore the order of ``known`` tasks, numbered from 0, from a file.

        Raises
        ------
        ValueError
            If it is not an order of this many tasks.
        """
        if order.ndim != 1 or order.dtype.kind != "i" or not np.array_equal(np.sort(order), np.arange(known)):
            raise ValueError(f"the file has no valid order of its {known} tasks")
        return cls(order)

    @property
    def order(self) -> Codes:
        """The numbers of the known tasks, least recently used first."""
        return np.argsort(self._seen[: self._known], kind="stable")

    def join(self, tasks: int) -> None:
        """Add ``tasks`` new tasks, before their first records."""
        known = self._known + tasks
        self._seen = enlarged(self._seen, known)
        self._seen[self._known : known] = self._clock + np.arange(tasks)
        self._known, self._clock = known, self._clock + tasks

    def see(self, codes: Codes) -> None:
        """Mark tasks as used in the order of their records; ``codes`` are the numbers of the records' tasks."""
        self._seen[codes] = self._clock + np.arange(len(codes))  # of several times the last one stays
        self._clock += len(codes)

    def see_one(self, number: int) -> None:
        """Mark the task with this number as used."""
        self._seen[number] = self._clock
        self._clock += 1

    def oldest(self) -> int:
        """Return the number of the least recently used task that is not about to be dropped; -1 if there is none."""
        while True:
            if not self._stack:
                order, self._sorted = self.order[::-1], self._known
                order = order[self._seen[order] < _LEAVING]
                self._stack = list(zip(order.tolist(), self._seen[order].tolist(), strict=True))
            if not self._stack:
                return -1
            number, seen = self._stack[-1]
            # lazy deletion: entries of tasks that were seen again are stale, and dropped when they come to the top
            if self._seen[number] == seen:
                return number
            self._stack.pop()

    def leave(self, number: int) -> None:
        """Mark the task with this number as about to be dropped, so that :meth:`oldest` skips it."""
        self._seen[number] = _LEAVING

    def drop(self, dropped: Dropped) -> None:
        """Remove tasks; the tasks with the largest numbers get the free numbers."""
        dropped.move(self._seen)
        self._known = dropped.left
        # numbers on the stack may belong to other tasks now
        if self._known < self._sorted:  # else the moved tasks are new, and later than any on the stack
            self._stack = []


class Piece(NamedTuple):
    """The records ``first`` to ``last - 1`` of a block, with the tasks to add and to drop before them.

    ``coming`` are indices into the distinct tasks of the block, in the order of their first records; ``leaving`` are
    numbers, which the last of the added tasks take, in this order.
    """

    first: int
    last: int
    coming: list[int]
    leaving: list[int]


class Turnover:
    """Splits a block of records into pieces, between which tasks are replaced so that at most ``max_tasks`` are known.

    Parameters
    ----------
    numbers : ndarray of int64
        The number of each distinct task of the block, -1 for those not known. It is kept up to date: when a piece is
        given, it has the numbers that hold within.
    places : ndarray of int64
        For every record the place of its task among these.
    recency : Recency
        The order of the known tasks. The caller adds, drops and updates tasks after each piece.
    most : int
        The maximum number of tasks.
    together : int
        The maximum number of tasks that are added at the beginning of a piece before their records arrive; 1 if
        that would change predictions.
    """

    def __init__(self, numbers: Codes, places: Codes, recency: Recency, most: int, together: int) -> None:
        self.numbers, self._places, self._recency, self._most = numbers, places, recency, most
        self._together = together
        order = np.argsort(places, kind="stable")
        ends = np.cumsum(np.bincount(places, minlength=len(numbers)))[:-1]
        self._rounds = np.split(order, ends)
        self._place_of = {number: place for place, number in enumerate(numbers.tolist()) if number >= 0}
        self._coming = [(int(self._rounds[place][0]), place) for place in np.flatnonzero(numbers < 0).tolist()]
        heapq.heapify(self._coming)

    def pieces(self, known: int) -> Iterator[Piece]:
        """Yield the pieces; ``known`` is the number of known tasks before the block."""
        piece = Piece(0, 0, [], [])
        while piece.last < len(self._places) or not len(self._places):
            piece = self._piece(piece.last, known)
            known = self._number(piece, known)
            yield piece
            if piece.last == len(self._places):
                return

    def _piece(self, first: int, known: int) -> Piece:
        last = len(self._places)
        coming: list[int] = []
        leaving: list[int] = []
        while self._coming and self._coming[0][0] < last:
            at = self._coming[0][0]
            if len(coming) == self._together or (self._together == 1 and at > first):
                last = at
                break
            if known + len(coming) - len(leaving) >= self._most:
                number = self._recency.oldest()
                again = self._next_round(number, first)
                if number < 0 or again < at:  # who is the oldest is known when the records before have been seen
                    last = at
                    break
                self._let_go(number, again, leaving)
                last = min(last, again)
            coming.append(heapq.heappop(self._coming)[1])
        return Piece(first, last, coming, leaving)

    def _next_round(self, number: int, first: int) -> int:
        """Return the position of the next record of task ``number`` from ``first`` on.

        The length of the block if there is none.
        """
        place = self._place_of.get(number)
        rounds = () if place is None else self._rounds[place]
        at = np.searchsorted(rounds, first)
        return int(rounds[at]) if at < len(rounds) else len(self._places)

    def _let_go(self, number: int, again: int, leaving: list[int]) -> None:
        leaving.append(number)
        self._recency.leave(number)
        place = self._place_of.pop(number, None)
        if place is not None:
            self.numbers[place] = -1
            if again < len(self._places):
                heapq.heappush(self._coming, (again, place))

    def _number(self, piece: Piece, known: int) -> int:
        """Number the tasks added before ``piece``, with ``known`` tasks before it.

        Return the new number of known tasks.
        """
        room = len(piece.coming) - len(piece.leaving)
        for place, number in zip(piece.coming, [*range(known, known + room), *piece.leaving], strict=True):
            self.numbers[place] = number
            self._place_of[number] = place
        return known + room
