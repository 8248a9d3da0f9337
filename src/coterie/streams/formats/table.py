"""What a format of named columns offers to the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from coterie.streams.wishes import Kinds

LABEL = "label"
TASK = "task"


class Batch(NamedTuple):
    """Consecutive records: the columns that were wanted, and the line or row of each record."""

    columns: pa.RecordBatch
    place: NDArray[np.int64]


class Table(Protocol):
    """One opened file of named columns."""

    @property
    def names(self) -> list[str]:
        """The columns there are."""

    def kinds(self) -> Kinds:
        """What the first records suggest that each column is; nothing where there is no record."""

    def batches(self, wanted: Mapping[str, str]) -> Iterator[Batch]:
        """Yield all records; `wanted` gives each column's use: a kind of feature, `LABEL` or `TASK`."""
