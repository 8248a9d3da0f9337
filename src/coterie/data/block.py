"""Blocks: consecutive records that are read, learned or predicted together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from coterie.types import AnyRecords, AnyRows, Array, Flags, Floats, Ints

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .record_encoders import RecordEncoder

#: Smaller weights count as 0, because squares of them underflow, and labels far apart have no deviation with them.
SMALLEST_WEIGHT = 1e-12


@dataclass(frozen=True)
class RawRecords:
    """Records before preprocessing, for a query strategy that preprocesses and learns them one by one.

    Attributes
    ----------
    parts : tuple of (records, first, last)
        Records ``first`` to before ``last`` of lists of dictionaries, arrays of numbers, or Arrow tables.
    encoder : RecordEncoder, optional
        For files: the encoder before the first record of the stream.
    """

    parts: tuple[tuple[AnyRecords, int, int], ...]
    encoder: RecordEncoder | None = None

    @classmethod
    def from_all(cls, records: AnyRecords, encoder: RecordEncoder | None = None) -> Self:
        """Return a whole list, array or table as raw records."""
        return cls(((records, 0, len(records)),), encoder)

    def __getitem__(self, rows: slice) -> Self:
        start, stop, _ = rows.indices(sum(last - first for _, first, last in self.parts))
        parts, before = [], 0
        for records, first, last in self.parts:
            part = records, first + max(start - before, 0), min(first + stop - before, last)
            parts += [part] if part[1] < part[2] else []
            before += last - first
        return replace(self, parts=tuple(parts))

    def __iter__(self) -> Iterator[AnyRecords]:
        for records, first, last in self.parts:
            for row in range(first, last):
                yield records.slice(row, 1) if hasattr(records, "slice") else records[row]


@dataclass(frozen=True)
class Block:
    """Consecutive records of one stream, in order.

    Attributes
    ----------
    X : ndarray, csr_array or ViewRecords, shape (n, d)
        The features, one record per row.
    y : ndarray, shape (n,), or None
        The labels before their encoding; None if the source has none.
    task : ndarray, shape (n,), or None
        The task of each record; None if all belong to one task.
    place : ndarray of int64, shape (n,)
        The 1-based line (text formats) or row (Parquet, Arrow) of each record.
    asked : ndarray of bool, optional
        For the first records, with decided queries: True if the label was queried.
    weight : ndarray of float64, shape (n,), optional
        The weights of the records; None for weight 1.
    indicators : int
        The number of columns that indicate missing values, the last ones but for ``unseen``; later blocks may have
        more.
    unseen : int
        The number of columns behind all others that indicate the first missing values of a column in records that are
        not learned. The model has no weights for them, but they count in variances and lengths.
    constant : int
        The column of the constant, -1 if there is none; dividing a record by its entry restores z-scores.
    unchanged : mapping of name to ndarray, shape (n,)
        Columns of the source without any conversion.
    raw : RawRecords, optional
        The records before their preparation, if the preparation learns from records.
    """

    X: AnyRecords
    y: Array | None
    task: Array | None
    place: Ints
    asked: Flags | None = None
    weight: Floats | None = None
    indicators: int = 0
    unseen: int = 0
    constant: int = -1
    unchanged: Mapping[str, Array] = field(default_factory=dict)
    raw: RawRecords | None = None

    def __len__(self) -> int:
        return len(self.place)

    @property
    def tasks(self) -> Array:
        """The task of each record; 0 for all records if the source has no task column."""
        return np.zeros(len(self), np.int64) if self.task is None else self.task

    def piece(self, first: int, last: int) -> Self:
        """Return the records ``first`` to ``last - 1`` as a block."""
        return self.take(slice(first, last))

    def take(self, rows: slice | Ints) -> Self:
        """Return the records selected by ``rows``, a slice or indices, as a block."""
        y, task, weight = (None if array is None else array[rows] for array in (self.y, self.task, self.weight))
        raw = self.raw[rows] if self.raw is not None and isinstance(rows, slice) else None
        unchanged = {name: column[rows] for name, column in self.unchanged.items()}
        arrays = {"X": self.X[rows], "y": y, "task": task, "weight": weight, "place": self.place[rows]}
        return replace(self, **arrays, asked=None, unchanged=unchanged, raw=raw)

    def pieces(self, size: int) -> Iterator[Self]:
        """Yield the records in blocks of at most ``size`` records; an empty block is yielded once."""
        for first in range(0, max(len(self), 1), size):
            yield self if size >= len(self) else self.piece(first, first + size)

    def with_number_labels(self) -> Self:
        """Return the block with text labels such as ``"1"``, as read from CSV, converted to numbers."""
        if self.y is None or self.y.dtype != object or not all(type(label) is str for label in self.y):
            return self
        import pyarrow as pa

        from .columns import number_labels

        numbers, faults = number_labels("label", pa.array(self.y, pa.string()))
        return self if faults or numbers.null_count else replace(self, y=numbers.to_numpy())

    def _known_columns(self) -> AnyRecords:
        """Return X without its last ``unseen`` columns, which stand for different features in each block."""
        return self.X[:, : self.X.shape[1] - self.unseen] if self.unseen else self.X

    def joined(self, other: Block) -> Block:
        """Return a block with the records of this block, followed by those of ``other``."""
        weights = [np.ones(len(block)) if block.weight is None else block.weight for block in (self, other)]
        raw = None
        if self.raw is not None and other.raw is not None:
            raw = replace(self.raw, parts=self.raw.parts + other.raw.parts)
        return Block(
            _stack(self._known_columns(), other._known_columns()),
            None if self.y is None or other.y is None else np.concatenate([self.y, other.y]),
            None if self.task is None or other.task is None else np.concatenate([self.task, other.task]),
            np.concatenate([self.place, other.place]),
            weight=None if self.weight is None and other.weight is None else np.concatenate(weights),
            indicators=max(self.indicators, other.indicators),
            constant=self.constant,
            unchanged={
                name: np.concatenate([column, other.unchanged[name]]) for name, column in self.unchanged.items()
            },
            raw=raw,
        )


def _stack(above: AnyRows, below: AnyRows) -> AnyRows:
    if hasattr(above, "joined"):  # records of several views
        return above.joined(below)
    if not hasattr(above, "indptr"):
        new = below.shape[1] - above.shape[1]  # indicators of values that were not missing before
        return np.concatenate([np.pad(above, ((0, 0), (0, new))) if new > 0 else above, below])
    from scipy.sparse import vstack

    return vstack([above, below], format="csr")
