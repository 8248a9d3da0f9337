"""Weights of explicit features of tasks and groups.

A relation of groups has M = F F' with a few entries a row: a task's own and those of its groups. The kernel x·z M_st is
then that of the features x ⊗ F_s, a copy of the record in the slot of its task and one in that of each group.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.index import Index
from coterie.kernels import Kernel
from coterie.numeric.core.checks import require, require_finite, require_shape
from coterie.numeric.core.points import Points, as_matrix
from coterie.relations.levels import LevelRelation
from coterie.types import Array

from .expansion import Asked
from .output_kernels import BatchRelation, fixed_relation_of, output_kernel

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass
class SlotWeights:
    """Weights of the copies of a record: one block of features for each slot.

    Attributes
    ----------
    relation : relation or None
        How tasks share.
    tasks : Index
        The tasks learned from.
    W : ndarray, shape (p, n_slots, d)
        The weights of each machine.
    """

    relation: BatchRelation | None
    tasks: Index
    W: Array

    has_shared_rows: ClassVar[bool] = False

    @property
    def features(self) -> int:
        """The width of the records learned from."""
        return int(self.W.shape[2])

    @property
    def outputs(self) -> int:
        """The number of machines."""
        return len(self.W)

    @property
    def relation_matrix(self) -> Array:
        """The output kernel M of the tasks learned from."""
        return output_kernel(self.relation, self.tasks.labels)

    @property
    def by_task(self) -> Array:
        """The weights of each task, shape (n_tasks, d), or (p, n_tasks, d) where there are several machines."""
        values, slots = factor_of(self.relation, self.tasks.labels)
        copies = [values[:, level, None] * self.W[:, slots[:, level]] for level in range(values.shape[1])]
        W = np.sum(copies, axis=0)
        return np.asarray(W[0] if len(W) == 1 else W)

    def values(self, X: Points, asked: Asked | None) -> Array:
        """The outputs of all machines at records for the tasks asked for, shape (m, p)."""
        if asked is None:
            raise ValueError("every record must have one task, given as task=")
        values, slots = factor_of(self.relation, self.tasks.labels, asked.new)
        numbers = self.tasks.numbers | {label: len(self.tasks) + i for i, label in enumerate(asked.new)}
        codes = np.array([numbers[label] for label in asked.labels], np.int64)[asked.places]
        made = features(X, values[codes], slots[codes], self.W.shape[1])
        return np.asarray(made @ self.W.reshape(len(self.W), -1).T)

    def dump(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return all but the relation as data with a JSON form and named arrays."""
        return {"tasks": self.tasks.labels}, {"W": self.W}

    @classmethod
    def restored(
        cls, kernel: Kernel, relation: BatchRelation | None, data: dict[str, Any], arrays: dict[str, Array]
    ) -> SlotWeights:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held, W = spec.labels_of(data["tasks"]), arrays.get("W", np.zeros(0))
        tasks = Index(held)
        require(len(tasks) == len(held), "a task is there twice")
        require(W.dtype in (np.float32, np.float64), f"W holds {W.dtype}")
        slots = factor_of(relation, tasks.labels)[1]
        require_shape("W", W, None, int(slots.max(initial=0)) + 1, None)
        require(len(W) and W.shape[2], f"W has shape {W.shape}")
        require_finite("W", W)
        return cls(relation, tasks, W)


def factor_of(
    relation: BatchRelation | None, tasks: Sequence[Hashable], new: Sequence[Hashable] = ()
) -> tuple[Array, NDArray[np.int64]]:
    """F of M = F F', for relations of groups: its entries and their columns, see :meth:`LevelRelation.factor`.

    Raises
    ------
    TypeError
        If it is no relation, or the class of one.
    ValueError
        For another relation.
    """
    used = fixed_relation_of(relation)
    if not isinstance(used, LevelRelation):
        raise ValueError(
            f"relation {used!r} is not one of groups: take MultitaskSVC or MultitaskSVR with kernel='linear'"
        )
    return used.factor(list(tasks), list(new))


def features(points: Points, values: Array, slots: Array, n_slots: int) -> csr_array:
    """The rows x ⊗ F_t as a sparse matrix, (n, n_slots · d): a copy of each entry for every slot its task has."""
    from scipy.sparse import coo_array, csr_array

    X = csr_array(as_matrix(points))
    d, n = X.shape[1], X.shape[0]
    rows = np.repeat(np.arange(n), np.diff(X.indptr))
    copies = []
    for level in range(values.shape[1]):
        used = values[rows, level] != 0
        where = (rows[used], slots[rows[used], level] * d + X.indices[used])
        copies.append((X.data[used] * values[rows[used], level], where))
    data = np.concatenate([each for each, _ in copies])
    ends = tuple(np.concatenate([where[axis] for _, where in copies]) for axis in range(2))
    made = coo_array((data.astype(np.float64), ends), shape=(n, n_slots * d)).tocsr()
    made.indices, made.indptr = made.indices.astype(np.int32), made.indptr.astype(np.int32)
    return made
