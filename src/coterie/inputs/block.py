"""A run of consecutive records, the unit in which streams are read and learned."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True)
class RawRecords:
    """Records of a block before their preparation: a query strategy prepares each of them with or without learning.

    Attributes
    ----------
    parts : tuple of (records, first, last)
        Records ``first`` to before ``last`` of lists of dictionaries, arrays of numbers, or Arrow tables.
    encoder : Encoder, optional
        Of files: the encoder before the first record of the stream.
    """

    parts: tuple[tuple[Any, int, int], ...]
    encoder: Any = None

    @classmethod
    def of(cls, records: Any, encoder: Any = None) -> Self:
        """Take all records of a list, an array or a table."""
        return cls(((records, 0, len(records)),), encoder)

    def __getitem__(self, which: slice) -> Self:
        start, stop, _ = which.indices(sum(last - first for _, first, last in self.parts))
        parts, before = [], 0
        for records, first, last in self.parts:
            part = records, first + max(start - before, 0), min(first + stop - before, last)
            parts += [part] if part[1] < part[2] else []
            before += last - first
        return replace(self, parts=tuple(parts))

    def __iter__(self) -> Iterator[Any]:
        for records, first, last in self.parts:
            for row in range(first, last):
                yield records.slice(row, 1) if hasattr(records, "slice") else records[row]

    def joined(self, other: RawRecords) -> Self:
        """These records and those after them."""
        return replace(self, parts=self.parts + other.parts)


@dataclass(frozen=True)
class Block:
    """Consecutive records of one stream, in their order.

    Attributes
    ----------
    X : ndarray, csr_array or ViewRecords, shape (n, d)
        The features, one record a row.
    y : ndarray, shape (n,), or None
        The labels as they were read; None where the source has none.
    task : ndarray, shape (n,), or None
        The task of each record as it was read; None means that all belong to one task.
    place : ndarray of int64, shape (n,)
        Where each record stood: its 1-based line (text formats) or row (Parquet, Arrow).
    asked : ndarray of bool, optional
        Of the first records, those whose question has been decided: whether their labels were asked for.
    weight : ndarray of float64, shape (n,), optional
        How much each record counts, 1 without.
    indicators : int
        How many of the last columns say what is missing; later blocks may have more of them.
    constant : int
        The column of the constant, by whose entry the others are to be divided to become z-scores; -1 if there is none.
    kept : mapping of name to ndarray, shape (n,)
        Columns of the source as they stand there, whatever they are used for.
    raw : RawRecords, optional
        The records before their preparation, if the preparation learns from records.
    """

    X: Any
    y: NDArray[Any] | None
    task: NDArray[Any] | None
    place: NDArray[np.int64]
    asked: NDArray[np.bool_] | None = None
    weight: NDArray[np.float64] | None = None
    indicators: int = 0
    constant: int = -1
    kept: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    raw: RawRecords | None = None

    def __len__(self) -> int:
        return len(self.place)

    @property
    def tasks(self) -> NDArray[Any]:
        """The task of each record, 0 for all where the source names none."""
        return np.zeros(len(self), np.int64) if self.task is None else self.task

    def piece(self, first: int, last: int) -> Self:
        """The records from ``first`` to before ``last``."""
        return self.take(slice(first, last))

    def take(self, which: slice | NDArray[np.int64]) -> Self:
        """The records of a slice, or at some places in their order."""
        return replace(self, X=self.X[which], **self._beside(which))

    def _beside(self, which: slice | NDArray[np.int64]) -> dict[str, Any]:
        """What the block has beside the records, at these places."""
        y, task, weight = (None if held is None else held[which] for held in (self.y, self.task, self.weight))
        kept = {name: held[which] for name, held in self.kept.items()}
        raw = self.raw[which] if self.raw is not None and isinstance(which, slice) else None
        held = {"y": y, "task": task, "weight": weight, "place": self.place[which], "asked": None}
        return held | {"kept": kept, "raw": raw}

    def pieces(self, size: int) -> Iterator[Self]:
        """The records in blocks of at most ``size``; one empty block if there are none."""
        for first in range(0, max(len(self), 1), size):
            yield self if size >= len(self) else self.piece(first, first + size)

    def joined(self, other: Block) -> Block:
        """These records and those after them."""
        return Block(
            _stacked(self.X, other.X),
            _appended(self.y, other.y),
            _appended(self.task, other.task),
            np.concatenate([self.place, other.place]),
            weight=_joined_weights(self, other),
            indicators=max(self.indicators, other.indicators),
            kept={name: np.concatenate([held, other.kept[name]]) for name, held in self.kept.items()},
            raw=None if self.raw is None or other.raw is None else self.raw.joined(other.raw),
        )


def _stacked(above: Any, below: Any) -> Any:
    if hasattr(above, "joined"):  # records of several views
        return above.joined(below)
    if not hasattr(above, "indptr"):
        new = below.shape[1] - above.shape[1]  # indicators of values that were not missing before
        return np.concatenate([np.pad(above, ((0, 0), (0, new))) if new > 0 else above, below])
    from scipy.sparse import vstack

    return vstack([above, below], format="csr")


def _joined_weights(one: Block, other: Block) -> NDArray[np.float64] | None:
    if one.weight is None and other.weight is None:
        return None
    return np.concatenate([np.ones(len(each)) if each.weight is None else each.weight for each in (one, other)])


def _appended(before: Any, after: Any) -> Any:
    return None if before is None or after is None else np.concatenate([before, after])
