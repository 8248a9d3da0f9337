"""Linear weights: a vector w_i in R^d for every task, margin w_i · x.

The arithmetic is in ``_compiled/primal``: ``grouped.py``, ``spread.py`` and ``learned_relations.py``.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal

from coterie import spec
from coterie._compiled.primal.grouped import Grouped
from coterie._compiled.primal.learned_relations import LearnedModel, Relation
from coterie._compiled.primal.spread import Spread
from coterie._compiled.views.tasks import SpectralRelation, SpectralRelationModel
from coterie._compiled.weights.dense import FeatureMajor

from .storage import STORAGE, Storage

#: The models of relations with which weights are computed when read; with other relations the weights are stored.
_READ: dict[type[Relation], type[LearnedModel]] = {SpectralRelation: SpectralRelationModel}


@spec.part
class LinearWeights:
    """One weight vector w_i per task, which predicts the margin w_i · x.

    ``dense`` takes 8·d bytes per task, ``sparse`` 16 to 64 bytes for each weight that the task has updated. ``auto`` is
    dense for dense arrays and up to 256 MiB, and switches to sparse beyond that during the stream.

    Parameters
    ----------
    storage : {"auto", "dense", "sparse"}, default="auto"
        The storage of the weights.

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

    def make_model(
        self, form: str, sharing: Any, groups: int, tasks: int, features: int, dense: bool
    ) -> Grouped | Spread | LearnedModel:
        """Return an empty model. It has the sums of updates for nested groups, else the weights of all tasks.

        Raises
        ------
        ValueError
            For a learned relation, whose updates reach every task, with sparse storage.
        """
        if form == "learned" and self.storage == "sparse":
            raise ValueError(
                "storage='sparse' is not supported for a learned relation, which needs all weights of all tasks; "
                "choose storage='auto' or 'dense'"
            )
        if form == "learned":
            return _READ.get(type(sharing), LearnedModel)(FeatureMajor.empty(tasks, features), sharing)
        if form == "columns" and self.tables.kind(tasks, features, dense) == "dense":
            return Spread(FeatureMajor.empty(tasks, features), sharing)
        if form == "columns":
            return Spread(self.tables.make_table(tasks, features, dense), sharing)
        return Grouped(*self.tables.make_pair(groups, tasks, features, dense), sharing)

    @cached_property
    def tables(self) -> Storage:
        """The storage that creates and resizes the tables of weights."""
        return Storage(self.storage)
