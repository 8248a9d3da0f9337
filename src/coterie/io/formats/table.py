"""The interface of formats of named columns to the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from coterie.io.schema import Kinds


class TableChunk(NamedTuple):
    """Consecutive records: the columns wanted, the line or row of each record, and columns to hand on unchanged."""

    columns: pa.RecordBatch
    place: NDArray[np.int64]
    unchanged: Mapping[str, NDArray[Any]] = {}


class NamedColumns(Protocol):
    """One opened file of named columns."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    def kinds(self) -> Kinds:
        """Return the kind of each column that the first records suggest; nothing if there is no record."""

    def read_chunks(self, wanted: Mapping[str, str], unchanged: Sequence[str] = ()) -> Iterator[TableChunk]:
        """Yield all records; `wanted` has each column's use: a kind of feature, ``"label"`` or ``"task"``."""
