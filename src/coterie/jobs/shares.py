"""The sharing of a model's tasks, prepared for tables and figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.explanation import relation_among
from coterie.online.selective import base_model
from coterie.relations import Primed
from coterie.relations.relation import RelationPart
from coterie.settings import is_number, settings_of
from coterie.spec import fields_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

MOST = 2000


@dataclass(frozen=True)
class Shares:
    """Some tasks of a model and what they share.

    Attributes
    ----------
    name : str
        The relation, as its constructor would show it.
    tasks : tuple
        The k tasks looked at.
    matrix : ndarray, shape (k, k)
        Their rows and columns of the inverse interaction matrix, M.
    total : int
        How many tasks the model has.
    shares : ndarray, shape (total,), or None
        How much each of all tasks shares, 0 with none and 1 all, where the model learned that.
    """

    name: str
    tasks: tuple[Hashable, ...]
    matrix: NDArray[np.float64]
    total: int
    shares: NDArray[np.float64] | None = None

    @property
    def relative(self) -> NDArray[np.float64]:
        """M_ij / sqrt(M_ii M_jj), 1 on the diagonal."""
        scale = np.sqrt(np.maximum(self.matrix.diagonal(), np.finfo(np.float64).tiny))
        return np.asarray(self.matrix / np.outer(scale, scale))

    @property
    def uniform(self) -> float | None:
        """The share of every pair, relative to the tasks themselves, where it is the same for all."""
        off = self.relative[~np.eye(len(self.tasks), dtype=bool)]
        return float(off[0]) if len(off) and np.ptp(off) < 1e-9 else None


def sharing(model: Any, tasks: Sequence[Hashable] | None = None) -> Shares:
    """The sharing of a model's tasks.

    Parameters
    ----------
    model : online classifier or batch estimator
        That has learned.
    tasks : sequence of labels, optional
        The k tasks to look at; the first 2000 where they are not given.

    Returns
    -------
    Shares
        In O(K + k²·levels) time, or k columns of M for relations that are not of groups.

    Raises
    ------
    ValueError
        The model has learned nothing, or does not know a task.

    Examples
    --------
    >>> import coterie as ct
    >>> model = ct.MultitaskPerceptron(ct.MeanRegularized(share=0.25))
    >>> _ = model.fit([[1.0], [-1.0]], [1, 0], task=["a", "b"])
    >>> shown = sharing(model)
    >>> round(shown.uniform, 12), shown.total
    (0.25, 2)
    """
    if not model.__sklearn_is_fitted__():
        raise ValueError("the model has learned nothing yet, so it has no tasks")
    chosen = tuple(model.tasks_[:MOST] if tasks is None else tasks)
    return Shares(
        relation_name(model), chosen, relation_among(model, chosen), len(model.tasks_), getattr(model, "sharing_", None)
    )


def relation_name(model: Any) -> str:
    """The relation of a model in a few words, without what it stores for single tasks."""
    model = base_model(model)
    while inner := getattr(model, "_within", None):
        model = inner  # the model of each class, or the one that learns from random features
    if "relation" not in model.get_params(deep=False):
        return f"{type(model).__name__}({', '.join(getattr(model, 'members_', ()))})"
    return _named(model._relation_used)


def _named(relation: RelationPart) -> str:
    """The relation with those of its fields that commands take as words or numbers; of other parts all numbers."""
    inner = [_named(relation.relation)] if isinstance(relation, Primed) else []
    known, held = settings_of(type(relation)), []
    for name, value in fields_of(relation).items():
        setting = known.get(name)
        told = is_number(value) if setting is None else bool(setting.help) and isinstance(value, (int, float, str))
        held += [f"{name}={value!r}"] if told and value is not None else []
    return f"{type(relation).__name__}({', '.join(inner + held)})"
