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
    """Consecutive records: the columns wanted, the line or row of each, and columns as they stand in the file."""

    columns: pa.RecordBatch
    place: NDArray[np.int64]
    kept: Mapping[str, NDArray[Any]] = {}


class NamedColumns(Protocol):
    """One opened file of named columns."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    def kinds(self) -> Kinds:
        """The kind of each column that the first records suggest; nothing if there is no record."""

    def batches(self, wanted: Mapping[str, str], kept: Sequence[str] = ()) -> Iterator[TableChunk]:
        """Yield all records; `wanted` gives each column's use: a kind of feature, ``"label"`` or ``"task"``.

        The columns `kept` come as they stand, beside what is read of them for a use.
        """
