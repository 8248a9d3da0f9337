"""Storages of weights: one choice for every hypothesis that has a row of them for each task and group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie import spec
from coterie.numeric.weights.sections import MANY, TABLES

#: A table of every weight may take so many bytes before "auto" stores only what was moved.
DENSE_LIMIT = 2**28

STORAGE = spec.Setting(
    kind="text",
    choices=("auto", "dense", "sparse", "hashed"),
    help="How weights are kept: `auto`, `dense`, `sparse` or `hashed` (fixed memory).",
)
DTYPE = spec.Setting(
    kind="text",
    choices=("float64", "float32"),
    help="Keep weights as `float64` or `float32`, half the memory.",
)
BITS = spec.Setting(
    kind="whole",
    at_least=1,
    at_most=40,
    help="For hashed weights: 2^N of them in all.",
)


@dataclass(frozen=True)
class Storage:
    """The storage that a user asked for, and the tables it makes, with so many ``numbers`` a weight."""

    storage: str
    dtype: str
    bits: int
    numbers: int = 1

    def kind(self, rows: int, features: int, dense: bool) -> str:
        """Return the storage, with "auto" decided for a table of this size."""
        if self.storage != "auto":
            return self.storage
        numbers = rows * features * self.numbers
        return "dense" if dense or not _too_large(numbers, self.dtype) else "sparse"

    def table(self, rows: int, features: int, dense: bool, shared: bool = False) -> Any:
        """Make an empty table; ``shared`` says that its rows are those of groups."""
        kind = self.kind(rows, features, dense)
        if shared and rows * features <= 2**self.bits:
            kind = "dense"  # groups are few and every record moves them: a plain vector is the fastest exact form
        dense_table, sparse_table, hashed_table = TABLES.get(self.numbers, MANY)
        if kind == "hashed":
            return hashed_table.empty(self.bits, self.dtype, self.numbers)
        if kind == "sparse":
            return sparse_table.empty(rows, self.dtype, self.numbers)
        return dense_table.empty(rows, features, self.dtype, self.numbers)

    def fit(self, table: Any, rows: int, features: int, dense: bool) -> Any:
        """Make room for so many rows and features, in another storage where a dense table would become too large."""
        if table.dense:  # whether it has room by chance, as one from a file has not, must not decide
            table = self._changed_over(table, rows * features, dense)
        return table if table.has_room(rows, features) else table.fit_features(features).fit_rows(rows)

    def of_levels(self, groups: int, tasks: int, features: int, dense: bool) -> tuple[Any, Any]:
        """Make empty tables of so many groups and of so many tasks."""
        return self.table(groups, features, dense, shared=True), self.table(tasks, features, dense)

    def _changed_over(self, table: Any, weights: int, dense: bool) -> Any:
        """A dense table that is to hold so many weights, as it is or, if it grows too large, in another storage."""
        if self.storage == "hashed" and weights > 2**self.bits:
            return table.to_hashed(self.bits)
        if self.storage in ("auto", "sparse") and not dense and _too_large(table.numbers * weights, table.values.dtype):
            return table.to_sparse()
        return table


def _too_large(numbers: int, dtype: Any) -> bool:
    return bool(numbers * np.dtype(dtype).itemsize > DENSE_LIMIT)
