"""Storages of weights: one choice for every hypothesis that has a row of them for each task and group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coterie import spec
from coterie.numeric.weights.sections import MANY, TABLES

#: A table of every weight may take this many bytes before "auto" stores only what was moved.
DENSE_LIMIT = 2**28
#: Groups are few and every record moves them: up to this many weights a plain vector is the fastest form.
DENSE_GROUPS = 2**22

STORAGE = spec.Setting(kind="text", choices=("auto", "dense", "sparse"))


@dataclass(frozen=True)
class Storage:
    """The storage that a user asked for, and the tables it makes, with this many ``numbers`` a weight."""

    storage: str
    numbers: int = 1

    def kind(self, rows: int, features: int, dense: bool) -> str:
        """Return the storage, with "auto" decided for a table of this size."""
        if self.storage != "auto":
            return self.storage
        return "dense" if dense or not _too_large(rows * features * self.numbers) else "sparse"

    def make_table(self, rows: int, features: int, dense: bool, shared: bool = False) -> Any:
        """Make an empty table; ``shared`` says that its rows are those of groups."""
        kind = self.kind(rows, features, dense)
        if shared and rows * features <= DENSE_GROUPS:
            kind = "dense"
        dense_table, sparse_table = TABLES.get(self.numbers, MANY)
        if kind == "sparse":
            return sparse_table.empty(rows, self.numbers)
        return dense_table.empty(rows, features, self.numbers)

    def fit(self, table: Any, rows: int, features: int, dense: bool) -> Any:
        """Make room for this many rows and features, sparsely where a dense table would become too large."""
        # whether a dense table has room by chance, as one from a file has not, must not decide
        if table.dense and self.storage != "dense" and not dense and _too_large(table.numbers * rows * features):
            table = table.to_sparse()
        return table if table.has_room(rows, features) else table.fit_features(features).fit_rows(rows)

    def make_pair(self, groups: int, tasks: int, features: int, dense: bool) -> tuple[Any, Any]:
        """Make empty tables of this many groups and of this many tasks."""
        return self.make_table(groups, features, dense, shared=True), self.make_table(tasks, features, dense)


def _too_large(numbers: int) -> bool:
    return numbers * 8 > DENSE_LIMIT
