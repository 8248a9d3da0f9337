"""Relations as output kernels: the matrix M = A⁻¹ between tasks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Protocol

import numpy as np

from coterie import spec
from coterie.tasks.relations import MixedEffect
from coterie.types import Array, Matrix

from . import memory


class BatchRelation(Protocol):
    """Interface of relations for batch estimators, through the matrix M = A⁻¹ by which tasks share."""

    @property
    def form(self) -> str:
        """The form of the relation; "learned" is learned online, "alternated" in turn with the functions."""

    def relation_matrix(self, tasks: Sequence[Hashable]) -> Matrix:
        """Return M for these tasks, shape (T, T)."""

    def prior_rows(self, new: Sequence[Hashable], tasks: Sequence[Hashable]) -> Matrix:
        """Return M between new tasks and training tasks, shape (len(new), T)."""


@spec.part
class OptimalOutputKernel:
    """Learned output kernel: the optimal M of trace T, computed in turn with the functions (Zhang & Yeung 2010).

    M is the matrix by which T tasks share.

    Over functions f and positive semidefinite M of trace T it minimises

        Σ_i (y_i - f_(t_i)(x_i))² + alpha tr(M⁻¹ (G + ridge I)),      G_st = ⟨f_s, f_t⟩,

    which is convex in both together. For given functions the best is M = T (G + ridge I)^½ / tr (G + ridge I)^½
    (BATCHOPT of SRDV11, with a ridge), for given M the functions are kernel ridge regression; each round computes both
    in turn, so the objective never rises.

    Parameters
    ----------
    ridge : float > 0, default=1e-06
        Keeps M positive definite; otherwise a round could not leave the span of the previous one.
    tolerance : float > 0, default=1e-06
        The relative decrease of the objective below which the rounds end.
    steps : int, default=200
        The maximum number of rounds.

    Notes
    -----
    A round costs a kernel ridge regression and O(T³). It starts from M = I, independent tasks.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(60, 2)), np.repeat(["a", "b", "opposite"], 20)
    >>> y = X[:, 0] * np.where(task == "opposite", -1, 1)
    >>> model = ct.batch.MultitaskKernelRidge("linear", ct.batch.OptimalOutputKernel(), alpha=0.1).fit(X, y, task=task)
    >>> model.relation_matrix_.round(1)
    array([[ 1.,  1., -1.],
           [ 1.,  1., -1.],
           [-1., -1.,  1.]])
    >>> bool((np.diff(model.objective_) <= 0).all())
    True
    """

    form: ClassVar[str] = "alternated"

    ridge: float = spec.field(default=1e-6, above=0)
    tolerance: float = spec.field(default=1e-6, above=0)
    steps: int = spec.field(default=200, kind="whole", at_least=1)

    def relation_matrix(self, tasks: Sequence[Hashable]) -> Array:
        """Return the initial M."""
        return np.eye(len(tasks))

    def prior_rows(self, new: Sequence[Hashable], tasks: Sequence[Hashable]) -> Array:
        """Return zeros, because tasks without training data have the zero function."""
        return np.zeros((len(new), len(tasks)))


def optimal(G: Array) -> Array:
    """Return the matrix M = T G^½ / tr G^½, which minimises tr(M⁻¹ G) among those of trace T.

    G has the inner products of the T tasks' functions.
    """
    values, U = np.linalg.eigh(G)
    roots = np.sqrt(np.maximum(values, np.finfo(np.float64).tiny))
    return np.ascontiguousarray((U * (len(G) * roots / roots.sum())) @ U.T)


#: Half of each function is shared by all tasks; M has a diagonal of 1, so that alpha is independent of their number.
DEFAULT = MixedEffect(omega=0.5)


def relation_of(relation: BatchRelation | None) -> BatchRelation:
    """Return the relation after validation; for None, ``MixedEffect(omega=0.5)``.

    Raises
    ------
    TypeError
        If it is not a relation.
    ValueError
        If it is learned online, because it has no matrix before a stream.
    """
    if relation is None:
        return DEFAULT
    spec.require_part("relation", relation, "MixedEffect(omega=0.5)")
    if getattr(relation, "form", None) == "learned":
        raise ValueError(
            f"relation {relation!r} is learned online; give relation=OptimalOutputKernel(), which is learned in batch"
        )
    if not hasattr(relation, "relation_matrix"):
        raise TypeError(f"relation must be one of coterie.tasks, got {relation!r}")
    return relation


def fixed_relation_of(relation: BatchRelation | None) -> BatchRelation:
    """Return the relation after validation; raise ValueError if it is learned with the functions."""
    used = relation_of(relation)
    if is_learned(used):
        raise ValueError(f"relation {relation!r} is learned only by MultitaskKernelRidge; choose a fixed relation")
    return used


def is_learned(relation: BatchRelation) -> bool:
    """Return True for :class:`~coterie.batch.OptimalOutputKernel`, which is learned with the functions."""
    return relation.form == OptimalOutputKernel.form


def output_kernel(relation: BatchRelation | None, tasks: Sequence[Hashable]) -> Matrix:
    """Return the matrix M = A⁻¹ by which these T tasks share, shape (T, T).

    Raises
    ------
    OutOfMemoryError
        If M does not fit into memory; raised before it is allocated.
    """
    n = len(tasks)
    memory.require(3 * 8.0 * n**2, f"the output kernel of {n} x {n} tasks", "take fewer tasks, or an online learner")
    return np.ascontiguousarray(fixed_relation_of(relation).relation_matrix(list(tasks)), np.float64)


def prior_rows(relation: BatchRelation | None, new: Sequence[Hashable], tasks: Sequence[Hashable]) -> Matrix:
    """Return M between ``new`` tasks and the T training tasks, shape (len(new), T)."""
    if not new:
        return np.zeros((0, len(tasks)))
    return np.asarray(relation_of(relation).prior_rows(list(new), list(tasks)), np.float64)


def known_tasks(relation: BatchRelation | None) -> Sequence[Hashable] | None:
    """Return the tasks that a relation lists; None for relations that allow any tasks."""
    tasks: Sequence[Hashable] | None = getattr(relation, "known_tasks", None)
    return tasks
