"""Linear hypotheses: a weight vector w_i in R^d for every task, margin w_i · x."""

from __future__ import annotations

from functools import singledispatch
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.numeric.learned import Learned
from coterie.numeric.models import Columns, Grouped, Levels, SparseColumns, Spread

from . import tables

STORAGES = ("auto", "dense", "sparse", "hashed")


@spec.part
class Linear:
    """One weight vector a task, margin w_i · x, in one of three storages.

    ==========  =================================================================  ==========================
    storage     memory                                                             exact
    ==========  =================================================================  ==========================
    ``dense``   8·d bytes a task                                                   yes
    ``sparse``  what each task has moved: 16 to 64 bytes a weight                  yes
    ``hashed``  8·2**bits bytes, fixed; tasks and features share places by hash    up to collisions
    ==========  =================================================================  ==========================

    ``auto`` stores densely what comes as dense arrays or fits in 256 MiB, and sparsely beyond that, changing over while
    the stream goes if it must.

    Parameters
    ----------
    storage : {"auto", "dense", "sparse", "hashed"}
        Which storage.
    dtype : {"float64", "float32"}
        Of the weights; margins are summed in float64.
    bits : int
        For ``hashed``: the table holds 2**bits weights.

    Raises
    ------
    ValueError
        For an unknown storage or dtype, or bits outside 1 to 40.

    Examples
    --------
    >>> Linear(storage="hashed", bits=20)
    Linear(storage='hashed', dtype='float64', bits=20)
    """

    storage: Literal["auto", "dense", "sparse", "hashed"] = "auto"
    dtype: Literal["float64", "float32"] = "float64"
    bits: int = 22

    forms: ClassVar[tuple[str, ...]] = ("levels", "columns", "learned")

    def __post_init__(self) -> None:
        if self.storage not in STORAGES:
            raise ValueError(f"storage must be one of {', '.join(STORAGES)}, got {self.storage!r}")
        if self.dtype not in ("float64", "float32"):
            raise ValueError(f"dtype must be 'float64' or 'float32', got {self.dtype!r}")
        if not 1 <= self.bits <= 40:
            raise ValueError(f"bits must lie between 1 and 40, got {self.bits!r}")

    def grouped(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Grouped:
        """Raw sums for a relation of nested groups; ``dense`` says that records come as dense arrays."""
        return Grouped(self._table(groups, features, dense, shared=True), self._table(tasks, features, dense), levels)

    def spread(self, columns: Columns | SparseColumns, tasks: int, features: int, dense: bool) -> Spread:
        """Weights for a relation that gives columns of M."""
        kind = self._kind(tasks, features, dense)
        if kind == "dense":
            return Spread(tables.feature_major(tasks, features, self.dtype), columns)
        return Spread(self._table(tasks, features, dense), columns)

    def learned(self, relation: Any, tasks: int, features: int, dense: bool) -> Learned:
        """Weights for a relation that is learned from them: all of them, for its moves reach every task.

        Raises
        ------
        ValueError
            For a storage that does not keep every weight apart.
        """
        if self.storage not in ("auto", "dense"):
            raise ValueError(
                f"storage={self.storage!r} cannot keep what a learned relation needs, all weights of all tasks: "
                "take storage='auto' or 'dense'"
            )
        return Learned(tables.feature_major(tasks, features, self.dtype), relation)

    def _table(self, rows: int, features: int, dense: bool, shared: bool = False) -> Any:
        kind = self._kind(rows, features, dense)
        if shared and rows * features <= 2**self.bits:
            kind = "dense"  # groups are few and every record moves them: a plain vector is the fastest exact form
        if kind == "hashed":
            return tables.hashed(self.bits, self.dtype)
        return tables.sparse(rows, self.dtype) if kind == "sparse" else tables.row_major(rows, features, self.dtype)

    def _kind(self, rows: int, features: int, dense: bool) -> str:
        if self.storage != "auto":
            return self.storage
        return "dense" if dense or not self._too_large(rows * features) else "sparse"

    def _too_large(self, weights: int) -> bool:
        return weights * np.dtype(self.dtype).itemsize > tables.DENSE_LIMIT

    def fit(self, model: Any, groups: int, tasks: int, features: int, dense: bool) -> Any:
        """The model with room for so many groups, tasks and features."""
        return _fit_model(model, self, groups, tasks, features, dense)

    def fit_table(self, table: Any, rows: int, features: int, dense: bool) -> Any:
        """A row-wise table with room for more, stored sparsely from where it would become too large."""
        grows = tables.is_dense(table) and rows * features > table.values.size
        if grows and self.storage in ("auto", "sparse") and not dense and self._too_large(rows * features):
            table = tables.to_sparse(table, table.values.size // table.stride)
        return tables.fit_rows(tables.fit_features(table, features), rows)


@singledispatch
def _fit_model(model: Any, linear: Linear, groups: int, tasks: int, features: int, dense: bool) -> Any:
    raise TypeError(f"not a linear model: {type(model).__name__}")


@_fit_model.register
def _(model: Grouped, linear: Linear, groups: int, tasks: int, features: int, dense: bool) -> Grouped:
    return model._replace(
        groups=linear.fit_table(model.groups, groups, features, dense),
        tasks=linear.fit_table(model.tasks, tasks, features, dense),
    )


@_fit_model.register
def _(model: Spread, linear: Linear, groups: int, tasks: int, features: int, dense: bool) -> Spread:
    return model._replace(table=tables.fit_features(tables.fit_rows(model.table, tasks), features))


@_fit_model.register
def _(model: Learned, linear: Linear, groups: int, tasks: int, features: int, dense: bool) -> Learned:
    return model._replace(table=tables.fit_features(tables.fit_rows(model.table, tasks), features))


@singledispatch
def make_room(model: Any, i: int, entries: int) -> Any:
    """The model with room in its sparse tables for a record of so many entries at task i."""
    raise TypeError(f"not a linear model: {type(model).__name__}")


@make_room.register
def _(model: Grouped, i: int, entries: int) -> Grouped:
    path = model.levels.paths[i]
    return model._replace(
        groups=_roomy(model.groups, path[path >= 0], entries), tasks=_roomy(model.tasks, np.array([i]), entries)
    )


@make_room.register
def _(model: Spread, i: int, entries: int) -> Spread:
    return model._replace(table=_roomy(model.table, np.arange(len(model.columns.slot)), entries))


def _roomy(table: Any, rows: NDArray[np.int64], entries: int) -> Any:
    return tables.enlarge(table, rows, entries) if hasattr(table, "used") else table


@singledispatch
def weights(model: Any, tasks: int, features: int) -> tables.Weights:
    """The weights that predictions use, as a dense (tasks, features) array."""
    raise TypeError(f"not a linear model: {type(model).__name__}")


@weights.register
def _(model: Spread, tasks: int, features: int) -> tables.Weights:
    return tables.rows_of(model.table, tasks, features)


@weights.register
def _(model: Learned, tasks: int, features: int) -> tables.Weights:
    return tables.rows_of(model.table, tasks, features)


@weights.register
def _(model: Grouped, tasks: int, features: int) -> tables.Weights:
    return combine(model, model.levels.own[:tasks], model.levels.weight, tasks, features)


def combine(
    model: Grouped, own: NDArray[np.float64], weight: NDArray[np.float64], tasks: int, features: int
) -> tables.Weights:
    """Sums of a task's own row times ``own`` and its groups' rows times ``weight``: shape (tasks, features)."""
    W = np.zeros((tasks, features), model.tasks.values.dtype)
    if np.any(own):
        W += own[:, None] * tables.rows_of(model.tasks, tasks, features)
    shared = tables.rows_of(model.groups, len(weight), features) * weight[:, None]
    for group in model.levels.paths[:tasks].T:
        W += np.where(group[:, None] >= 0, shared[group], 0.0)
    return W


@singledispatch
def levels_of(model: Any) -> Levels:
    """The levels that a grouped model reads."""
    return model.levels  # type: ignore[no-any-return]


@singledispatch
def with_levels(model: Any, levels: Levels) -> Any:
    """The same weights under other levels."""
    return model._replace(levels=levels)


@singledispatch
def with_columns(model: Any, columns: Columns | SparseColumns) -> Any:
    """The same weights with other columns of M at hand."""
    return model._replace(columns=columns)


@singledispatch
def relation_of(model: Any) -> Any:
    """The learned relation that a model moves by."""
    return model.relation


@singledispatch
def with_relation(model: Any, relation: Any) -> Any:
    """The same weights under another state of the learned relation."""
    return model._replace(relation=relation)


@singledispatch
def without_copies(model: Any) -> Any:
    """The model as it is saved, the learned relation once; :func:`with_relation` undoes it."""
    return model


@singledispatch
def nothing(model: Any, tasks: int) -> Any:
    """A model of so many tasks without any weights, for predictions only."""
    zeros = np.zeros(tasks, model.table.values.dtype)
    return model._replace(table=model.table._replace(values=zeros, stride=0))
