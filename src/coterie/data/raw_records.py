"""Records of a file before encoding, as the features of a block."""

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
    """Records of a table: the columns read, with their types in the file."""

    columns: pa.RecordBatch

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> TableRows:
        if isinstance(rows, slice):
            rows = np.arange(self.columns.num_rows)[rows]
        return TableRows(self.columns.take(rows))


@dataclass(frozen=True)
class TextRows:
    """Records of svmlight or Vowpal Wabbit text: their lines and their features."""

    records: TextRecords
    X: csr_array

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> TextRows:
        return TextRows(self.records.pick(rows), self.X[rows])
