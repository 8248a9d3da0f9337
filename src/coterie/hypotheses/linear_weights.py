"""Linear hypotheses: a weight vector w_i in R^d for every task, margin w_i · x."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Literal

from coterie import spec
from coterie.numeric.primal.grouped import Grouped, Levels
from coterie.numeric.primal.learned_relations import LearnedModel, Relation
from coterie.numeric.primal.spread import Columns, SparseColumns, Spread
from coterie.numeric.views.tasks import SpectralRelation, SpectralRelationModel
from coterie.numeric.weights.dense import FeatureMajor

from .storage import STORAGE, Storage

#: The models of relations by which weights are read; those of the others keep the weights themselves.
_READ: dict[type[Relation], type[LearnedModel]] = {SpectralRelation: SpectralRelationModel}


@spec.part
class LinearWeights:
    """One weight vector a task, margin w_i · x.

    ``dense`` takes 8·d bytes a task, ``sparse`` 16 to 64 bytes for each weight that the task has moved.
    ``auto`` stores densely what comes as dense arrays or fits in 256 MiB, and sparsely beyond that, changing over while
    the stream goes if it must.

    Parameters
    ----------
    storage : {"auto", "dense", "sparse"}
        Which storage.

    Raises
    ------
    ValueError
        For an unknown storage.

    Examples
    --------
    >>> LinearWeights(storage="sparse")
    LinearWeights(storage='sparse')
    """

    storage: Literal["auto", "dense", "sparse"] = spec.field(STORAGE, default="auto")

    forms: ClassVar[tuple[str, ...]] = ("levels", "repelling levels", "columns", "learned")
    moves: ClassVar[tuple[str, ...]] = ("gradient", "shortest")
    fades: ClassVar[bool] = True

    def by_levels(self, levels: Levels, groups: int, tasks: int, features: int, dense: bool) -> Grouped:
        """Make a model of raw sums for a relation of nested groups; ``dense``: records come as dense arrays."""
        return Grouped(*self.tables.of_levels(groups, tasks, features, dense), levels)

    def by_columns(self, columns: Columns | SparseColumns, tasks: int, features: int, dense: bool) -> Spread:
        """Make a model of the weights themselves for a relation that gives columns of M."""
        if self.tables.kind(tasks, features, dense) == "dense":
            return Spread(FeatureMajor.empty(tasks, features), columns)
        return Spread(self.tables.table(tasks, features, dense), columns)

    def by_learning(self, relation: Relation, tasks: int, features: int, dense: bool) -> LearnedModel:
        """Make a model for a learned relation: all weights are kept, for its moves reach every task.

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
        kind = _READ.get(type(relation), LearnedModel)
        return kind(FeatureMajor.empty(tasks, features), relation)

    @cached_property
    def tables(self) -> Storage:
        """The storage of the tables of weights, which makes and enlarges them."""
        return Storage(self.storage)
