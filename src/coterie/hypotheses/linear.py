"""Linear hypotheses: a weight vector w_i in R^d for every task, margin w_i · x."""

from __future__ import annotations

from functools import cached_property, singledispatch
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.numeric.learned import Learned
from coterie.numeric.models import Columns, Grouped, Levels, SparseColumns, Spread

from . import tables
from .storage import Storage


@spec.part
class Linear:
    """One weight vector a task, margin w_i · x, in one of three storages.

    ==========  =================================================================  ==========================
    storage     memory                                                             exact
    ==========  =================================================================  ==========================
    ``dense``   8·d bytes a task                                                   yes
    ``sparse``  what each task has moved: 16 to 64 bytes a weight                  yes
    ``hashed``  16·2**bits bytes at most, fixed; tasks and features share places   up to collisions
    ==========  =================================================================  ==========================

    Hashed, names of features are not kept either: dictionaries are hashed to 2**bits columns.

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

    forms: ClassVar[tuple[str, ...]] = ("levels", "repelling levels", "columns", "learned")
    moves: ClassVar[tuple[str, ...]] = ("gradient", "shortest")
    fades: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._storage.check()

    def grouped(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Grouped:
        """Raw sums for a relation of nested groups; ``dense`` says that records come as dense arrays."""
        return Grouped(self._table(groups, features, dense, shared=True), self._table(tasks, features, dense), levels)

    def spread(self, columns: Columns | SparseColumns, tasks: int, features: int, dense: bool) -> Spread:
        """Weights for a relation that gives columns of M."""
        if self._storage.kind(tasks, features, dense) == "dense":
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
        return self._storage.table(rows, features, dense, shared)

    @cached_property
    def _storage(self) -> Storage:
        return Storage(self.storage, self.dtype, self.bits)

    def fit(self, model: Any, groups: int, tasks: int, features: int, dense: bool) -> Any:
        """The model with room for so many groups, tasks and features."""
        return _fit_model(model, self, groups, tasks, features, dense)

    def fit_table(self, table: Any, rows: int, features: int, dense: bool) -> Any:
        """A table with room for more, stored another way from where it would become too large."""
        return self._storage.fit(table, rows, features, dense)


@singledispatch
def _fit_model(model: Any, linear: Linear, groups: int, tasks: int, features: int, dense: bool) -> Any:
    raise TypeError(f"not a linear model: {type(model).__name__}")


@_fit_model.register
def _(model: Grouped, linear: Linear, groups: int, tasks: int, features: int, dense: bool) -> Grouped:
    return linear._storage.fit_grouped(model, groups, tasks, features, dense)  # type: ignore[no-any-return]


@_fit_model.register
def _(model: Spread, linear: Linear, groups: int, tasks: int, features: int, dense: bool) -> Spread:
    return model._replace(table=linear.fit_table(model.table, tasks, features, dense))


@_fit_model.register
def _(model: Learned, linear: Linear, groups: int, tasks: int, features: int, dense: bool) -> Learned:
    return model._replace(table=tables.fit_features(tables.fit_rows(model.table, tasks), features))


@singledispatch
def make_room(model: Any, i: int, entries: int) -> Any:
    """The model with room in its sparse tables for a record of so many entries at task i."""
    raise TypeError(f"not a linear model: {type(model).__name__}")


@make_room.register(Grouped)
def _(model: Any, i: int, entries: int) -> Any:
    path = model.levels.paths[i]
    return model._replace(
        groups=_roomy(model.groups, path[path >= 0], entries), tasks=_roomy(model.tasks, np.array([i]), entries)
    )


@make_room.register
def _(model: Spread, i: int, entries: int) -> Spread:
    return model._replace(table=_roomy(model.table, _reached(model.columns, i), entries))


@singledispatch
def _reached(columns: Any, i: int) -> NDArray[np.int64]:
    """The rows that column i, which is at hand, is not zero in."""
    raise TypeError(f"not columns of M: {type(columns).__name__}")


@_reached.register
def _(columns: Columns, i: int) -> NDArray[np.int64]:
    return np.flatnonzero(columns.values[columns.slot[i]])


@_reached.register
def _(columns: SparseColumns, i: int) -> NDArray[np.int64]:
    slot = columns.slot[i]
    return np.asarray(columns.rows[columns.starts[slot] : columns.starts[slot + 1]])


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
    return combine(model, *factors(model, tasks), tasks, features)


@singledispatch
def factors(model: Any, tasks: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What counts of a task's own row, and of each group's, in its weights."""
    return model.levels.own[:tasks], model.levels.weight


def combine(
    model: Any, own: NDArray[np.float64], weight: NDArray[np.float64], tasks: int, features: int
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
def as_unseen(model: Any, levels: Levels) -> Any:
    """The same weights as tasks see them of which nothing is known but their levels."""
    return with_levels(model, levels)


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
