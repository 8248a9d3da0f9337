"""Records of a file before encoding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from .lines import TextRecords


@dataclass(frozen=True)
class TableRows:
    """Rows of a table before encoding, with the column types of the file."""

    columns: pa.RecordBatch

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> TableRows:
        if isinstance(rows, slice):
            rows = np.arange(self.columns.num_rows)[rows]
        return TableRows(self.columns.take(rows))


@dataclass(frozen=True)
class TextRows:
    """Lines of svmlight or Vowpal Wabbit text with their parsed features."""

    records: TextRecords
    X: csr_array

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> TextRows:
        return TextRows(self.records.pick(rows), self.X[rows])
