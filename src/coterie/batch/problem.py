"""A batch problem: training records, outputs, tasks and weights."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from coterie import spec
from coterie._compiled.core.points import Points
from coterie.kernels import Kernel
from coterie.tasks.index import Index
from coterie.tasks.relations.matrices import labels_of
from coterie.types import Array, Ints, Labels, Records, Tasks

from .base import BatchEstimator, TrainingRows
from .designs import Separate, Shared
from .kernel_expansion import KernelExpansion
from .output_kernels import BatchRelation, known_tasks
from .target_codes import numbers, plain


@dataclass(frozen=True)
class Problem:
    """A validated batch problem: records, outputs, tasks and weights.

    Outputs are multiplied by the square roots of their records' weights.

    Attributes
    ----------
    kernel : kernel
        The kernel k.
    relation : relation or None
        The relation between tasks.
    points : Points
        The records.
    tasks : Index
        The tasks.
    codes : ndarray of int64, shape (n,), or None
        The task of each record; None if each has the outputs of all tasks, one per column of Y.
    Y : ndarray, shape (n, p)
        The outputs, weighted.
    roots : ndarray, shape (T,)
        The root of the weight of a task's rows.
    flat : bool
        True if the outputs were a vector.
    center : ndarray, shape (p,)
        The mean that was subtracted from the outputs, 0 if none was.
    """

    kernel: Kernel
    relation: BatchRelation | None
    points: Points
    tasks: Index
    codes: Ints | None
    Y: Array
    roots: Array
    flat: bool
    dtype: str
    center: Array

    def design(self, M: Array) -> Separate | Shared:
        """Return the design, which computes the kernel matrix Q, for the matrix M by which tasks share."""
        # weighted least squares as ordinary least squares: R (Q + alpha R⁻²) R = R Q R + alpha I for roots R
        weighted = np.ascontiguousarray(self.roots[:, None] * M * self.roots, np.float64)
        if self.codes is None:
            return Shared(self.kernel, self.points, weighted, self.dtype)
        return Separate(self.kernel, self.points, self.codes, weighted, self.dtype)

    def expansion(self, C: Array, M: Array) -> KernelExpansion:
        """Return the learned functions with the coefficients C, for the matrix M by which tasks share."""
        # coefficients of the scaled system times the roots are those of k(x_i, ·) itself
        c = np.asarray(C * self.row_roots, self.dtype)
        return KernelExpansion(self.kernel, self.relation, self.points, self.tasks, self.codes, c, M, self.flat)

    @property
    def row_roots(self) -> Array:
        """Return the square root of each record's weight, in a shape that multiplies outputs."""
        return self.roots if self.codes is None else self.roots[self.codes][:, None]


def problem_of(
    model: BatchEstimator,
    X: Records,
    y: Labels,
    task: Tasks | None,
    tasks: Sequence[Hashable] | None,
    risk: str,
    center: bool,
) -> Problem:
    """Validate the training data, and return the problem.

    Raises
    ------
    ValueError
        If outputs are not finite numbers, have another length, or another number of columns than there are tasks.
    """
    rows = model._training_rows(X, task, shared=np.asarray(plain(y)).ndim == 2)
    n = len(rows.points.squares)
    Y = numbers(y, n)
    names = getattr(y, "column_names", getattr(y, "columns", None))
    return problem_from(model, rows, Y, tasks, risk, center, names)


def problem_from(
    model: BatchEstimator,
    rows: TrainingRows,
    Y: Array,
    tasks: Sequence[Hashable] | None,
    risk: str,
    center: bool = False,
    names: Sequence[Hashable] | None = None,
) -> Problem:
    """Return the problem of validated records ``rows`` with outputs Y."""
    codes: Ints | None = None
    if rows.codes is None:
        known = column_tasks(Y.shape[1], tasks, names, model.relation)
    else:
        known, codes = rows.one_task_each(tasks)
    roots = risk_roots(risk, codes, len(known))
    row_roots = roots if codes is None else roots[codes][:, None]
    flat, Y = Y.ndim == 1, Y[:, None] if Y.ndim == 1 else Y
    mean = np.zeros(Y.shape[1])
    # the weighted mean minimises the squared errors of a constant under the same risk
    if center:
        weights = None if codes is None else roots[codes] ** 2
        mean = np.average(Y, axis=0, weights=weights)
    weighted = np.ascontiguousarray((Y - mean) * row_roots, model.dtype)
    kernel, dtype = model._kernel(), model.dtype
    return Problem(kernel, model.relation, rows.points, known, codes, weighted, roots, flat, dtype, mean)


def column_tasks(
    n_columns: int, tasks: Sequence[Hashable] | None, names: Sequence[Hashable] | None, relation: BatchRelation | None
) -> Index:
    """Return the task of each column of y: from ``tasks``, the relation, the names of columns, or 0, 1, ....

    Columns of a frame that have the names of the relation's tasks are these tasks, in any order.

    Raises
    ------
    ValueError
        If there are not as many as columns.
    """
    known = known_tasks(relation)
    if known is not None and names is not None and {*labels_of(names)} == {*known}:
        known = names
    for candidate in (tasks, known, names):
        if candidate is not None:
            labels = labels_of(candidate)
            spec.check_labels(labels)
            if len(labels) != n_columns:
                raise ValueError(f"y must have one column per task: got {n_columns} columns for {len(labels)} tasks")
            return Index(labels)
    return Index(range(n_columns))


def risk_roots(risk: str, codes: Ints | None, n_tasks: int) -> Array:
    """Return the square roots of the records' weights. They are 1, or give all tasks the same total weight."""
    if risk == "rows" or codes is None:
        return np.ones(n_tasks)
    counts = np.bincount(codes, minlength=n_tasks)
    present = np.count_nonzero(counts)
    # mean weight 1, so that alpha means the same under both risks
    return np.sqrt(len(codes) / (present * np.maximum(counts, 1.0)))
