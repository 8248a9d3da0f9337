"""Where weights are kept: one choice for every hypothesis that has a row of them for each task and group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie import spec
from coterie.numeric.weights.dense import RowMajor, RowMajorPairs
from coterie.numeric.weights.hashed import Hashed, HashedPairs
from coterie.numeric.weights.sparse import Sparse, SparsePairs

#: A table of every weight may take so many bytes before "auto" stores only what was moved.
DENSE_LIMIT = 2**28

STORAGE = spec.Setting(
    kind="text",
    choices=("auto", "dense", "sparse", "hashed"),
    option="storage",
    metavar="HOW",
    help="How weights are kept: `auto`, `dense`, `sparse` or `hashed` (fixed memory).",
)
DTYPE = spec.Setting(
    kind="text",
    choices=("float64", "float32"),
    option="dtype",
    help="Keep weights as `float64` or `float32`, half the memory.",
)
BITS = spec.Setting(
    kind="whole",
    at_least=1,
    at_most=40,
    option="storage_bits",
    help="For hashed weights: 2^N of them in all.",
)


@dataclass(frozen=True)
class Storage:
    """The storage that a user asked for, and the tables it makes; ``paired`` ones hold a second number a weight."""

    storage: str
    dtype: str
    bits: int
    paired: bool = False

    def kind(self, rows: int, features: int, dense: bool) -> str:
        """Return the storage, with "auto" decided for a table of this size."""
        if self.storage != "auto":
            return self.storage
        numbers = rows * features * (2 if self.paired else 1)
        return "dense" if dense or not _too_large(numbers, self.dtype) else "sparse"

    def table(self, rows: int, features: int, dense: bool, shared: bool = False) -> Any:
        """Make an empty table; ``shared`` says that its rows are those of groups."""
        kind = self.kind(rows, features, dense)
        if shared and rows * features <= 2**self.bits:
            kind = "dense"  # groups are few and every record moves them: a plain vector is the fastest exact form
        if kind == "hashed":
            return (HashedPairs if self.paired else Hashed).empty(self.bits, self.dtype)
        if kind == "sparse":
            return (SparsePairs if self.paired else Sparse).empty(rows, self.dtype)
        return (RowMajorPairs if self.paired else RowMajor).empty(rows, features, self.dtype)

    def fit(self, table: Any, rows: int, features: int, dense: bool) -> Any:
        """Make room for so many rows and features, in another storage where a dense table would become too large."""
        if table.dense:  # whether it has room by chance, as one from a file has not, must not decide
            table = self._changed_over(table, rows * features, dense)
        return table if table.has_room(rows, features) else table.fit_features(features).fit_rows(rows)

    def of_levels(self, groups: int, tasks: int, features: int, dense: bool) -> tuple[Any, Any]:
        """Make empty tables of so many groups and of so many tasks."""
        return self.table(groups, features, dense, shared=True), self.table(tasks, features, dense)

    def _changed_over(self, table: Any, weights: int, dense: bool) -> Any:
        """A dense table that shall hold so many weights, as it is or in a storage that has an end."""
        if self.storage == "hashed" and weights > 2**self.bits:
            return table.to_hashed(self.bits)
        if self.storage in ("auto", "sparse") and not dense and _too_large(table.numbers * weights, table.values.dtype):
            return table.to_sparse()
        return table


def _too_large(numbers: int, dtype: Any) -> bool:
    return bool(numbers * np.dtype(dtype).itemsize > DENSE_LIMIT)
