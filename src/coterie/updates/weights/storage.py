"""Storage of weight tables, dense or sparse, with one row per task and group.

The tables are in ``_compiled/weights``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coterie import spec
from coterie._compiled.weights.shared_tables import MANY, TABLES

#: The maximum number of bytes of a dense table under "auto"; above it only updated weights are stored.
DENSE_LIMIT = 2**28
#: Groups are few and every record updates them, so up to this many weights a plain vector is the fastest form.
DENSE_GROUPS = 2**22

STORAGE = spec.Setting(kind="text", choices=("auto", "dense", "sparse"))


@dataclass(frozen=True)
class Storage:
    """The storage of tables of weights, dense or sparse as the user chose, with ``numbers`` values per weight."""

    storage: str
    numbers: int = 1

    def kind(self, rows: int, features: int, dense: bool) -> str:
        """Return "dense" or "sparse"; "auto" is decided by the size of the table."""
        if self.storage != "auto":
            return self.storage
        return "dense" if dense or not _too_large(rows * features * self.numbers) else "sparse"

    def make_table(self, rows: int, features: int, dense: bool, shared: bool = False) -> Any:
        """Return an empty table; ``shared`` is True if its rows belong to groups."""
        kind = self.kind(rows, features, dense)
        if shared and rows * features <= DENSE_GROUPS:
            kind = "dense"
        dense_table, sparse_table = TABLES.get(self.numbers, MANY)
        if kind == "sparse":
            return sparse_table.empty(rows, self.numbers)
        return dense_table.empty(rows, features, self.numbers)

    def fit(self, table: Any, rows: int, features: int, dense: bool) -> Any:
        """Resize a table for this many rows and features; it becomes sparse if it would be too large."""
        # the result must not depend on spare capacity of a dense table, which a loaded one does not have
        if table.dense and self.storage != "dense" and not dense and _too_large(table.numbers * rows * features):
            # copying is compiled, and a table without rows, as before the first task, has nothing to copy
            table = table.to_sparse() if table.values.size else table.sparse.empty(0, table.numbers)
        return table if table.has_room(rows, features) else table.fit_features(features).fit_rows(rows)

    def make_pair(self, groups: int, tasks: int, features: int, dense: bool) -> tuple[Any, Any]:
        """Return two empty tables, one with a row per group and one with a row per task."""
        return self.make_table(groups, features, dense, shared=True), self.make_table(tasks, features, dense)


def _too_large(numbers: int) -> bool:
    return numbers * 8 > DENSE_LIMIT
