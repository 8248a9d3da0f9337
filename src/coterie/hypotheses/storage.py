"""Where weights are kept: one choice for every hypothesis that has a row of them for each task and group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coterie.numeric.sparse_tables import Sparse, SparsePairs

from . import tables

STORAGES = ("auto", "dense", "sparse", "hashed")


@dataclass(frozen=True)
class Storage:
    """The storage that a user asked for, and the tables it makes; ``paired`` ones hold a second number a weight."""

    storage: str
    dtype: str
    bits: int
    paired: bool = False

    def check(self) -> None:
        """Refuse what there is not: ValueError naming the argument."""
        if self.storage not in STORAGES:
            raise ValueError(f"storage must be one of {', '.join(STORAGES)}, got {self.storage!r}")
        if self.dtype not in ("float64", "float32"):
            raise ValueError(f"dtype must be 'float64' or 'float32', got {self.dtype!r}")
        if not 1 <= self.bits <= 40:
            raise ValueError(f"bits must lie between 1 and 40, got {self.bits!r}")

    def kind(self, rows: int, features: int, dense: bool) -> str:
        """The storage, "auto" decided for a table of this size."""
        if self.storage != "auto":
            return self.storage
        return "dense" if dense or not self._too_large(rows * features) else "sparse"

    def table(self, rows: int, features: int, dense: bool, shared: bool = False) -> Any:
        """An empty table; ``shared`` says that its rows are those of groups."""
        kind = self.kind(rows, features, dense)
        if shared and rows * features <= 2**self.bits:
            kind = "dense"  # groups are few and every record moves them: a plain vector is the fastest exact form
        if kind == "hashed":
            return (tables.hashed_pairs if self.paired else tables.hashed)(self.bits, self.dtype)
        if kind == "sparse":
            return tables.sparse(rows, self.dtype, kind=SparsePairs if self.paired else Sparse)
        return (tables.row_major_pairs if self.paired else tables.row_major)(rows, features, self.dtype)

    def fit(self, table: Any, rows: int, features: int, dense: bool) -> Any:
        """A table with room for more, stored another way from where it would become too large."""
        if tables.has_room(table, rows, features):
            return table
        if tables.is_dense(table):
            table = self._changed_over(table, rows * features, dense)
        return tables.fit_rows(tables.fit_features(table, features), rows)

    def fit_grouped(self, model: Any, groups: int, tasks: int, features: int, dense: bool) -> Any:
        """A model of groups and tasks with room for more."""
        return model._replace(
            groups=self.fit(model.groups, groups, features, dense), tasks=self.fit(model.tasks, tasks, features, dense)
        )

    def _changed_over(self, table: Any, weights: int, dense: bool) -> Any:
        """A dense table that shall hold so many weights, as it is or in a storage that has an end."""
        if self.storage == "hashed" and weights > 2**self.bits:
            return tables.to_hashed(table, self.bits)
        if self.storage in ("auto", "sparse") and not dense and self._too_large(weights):
            return tables.to_sparse(table)
        return table

    @property
    def _numbers(self) -> int:
        return 2 if self.paired else 1

    def _too_large(self, weights: int) -> bool:
        return weights * self._numbers * np.dtype(self.dtype).itemsize > tables.DENSE_LIMIT
