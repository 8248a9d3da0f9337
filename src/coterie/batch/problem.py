"""What there is to fit: records, outputs, tasks and the weight that each row has in the risk."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.numeric.points import Points
from coterie.relations.matrices import labels_of

from .base import Records, numbers, plain
from .designs import Separate, Shared
from .expansion import Expansion
from .kernel_base import KernelEstimator

Array = NDArray[Any]

RISKS = ("rows", "tasks")


@dataclass(frozen=True)
class Problem:
    """Outputs Y of records and tasks, the outputs of a row multiplied with the root of its weight in the risk.

    Attributes
    ----------
    kernel : kernel
        k.
    points : Points
        The records.
    tasks : Index
        The tasks.
    codes : ndarray of int64, shape (n,), or None
        The task of each record; None where each has the outputs of all tasks, one a column of Y.
    Y : ndarray, shape (n, p)
        The outputs, weighted.
    roots : ndarray, shape (T,)
        The root of the weight of a task's rows.
    flat : bool
        Whether the outputs were a vector.
    center : ndarray, shape (p,)
        What was subtracted of the outputs.
    """

    kernel: Any
    points: Points
    tasks: Index
    codes: NDArray[np.int64] | None
    Y: Array
    roots: Array
    flat: bool
    dtype: str
    center: Array

    def design(self, M: Array) -> Separate | Shared:
        """The kernel matrix under an output kernel, its rows and columns multiplied with the roots of the weights."""
        weighted = np.ascontiguousarray(self.roots[:, None] * M * self.roots, np.float64)
        if self.codes is None:
            return Shared(self.kernel, self.points, weighted, self.dtype)
        return Separate(self.kernel, self.points, self.codes, weighted, self.dtype)

    def expansion(self, C: Array, M: Array) -> Expansion:
        """What predicts with the coefficients of a weighted problem."""
        c = np.asarray(C * self.row_roots, self.dtype)
        return Expansion(self.kernel, self.points, self.tasks, self.codes, c, M, self.flat)

    @property
    def row_roots(self) -> Array:
        """The root of each row's weight, to multiply with an array of outputs."""
        return self.roots if self.codes is None else self.roots[self.codes][:, None]


def problem_of(model: KernelEstimator, X: Any, y: Any, task: Any, tasks: Any, risk: str) -> Problem:
    """Read and check what there is to learn from.

    Raises
    ------
    ValueError
        For outputs that are no finite numbers, of another length, or not of as many columns as there are tasks.
    """
    if risk not in RISKS:
        raise ValueError(f"risk must be 'rows' or 'tasks', got {risk!r}")
    records = model._records(X, task, shared=np.asarray(plain(y)).ndim == 2)
    Y = numbers(y, len(records.points.squares))
    return problem_from(model, records, Y, tasks, risk, getattr(y, "column_names", getattr(y, "columns", None)))


def problem_from(
    model: KernelEstimator, records: Records, Y: Array, tasks: Any, risk: str, names: Any = None
) -> Problem:
    """The problem of records and outputs that have been checked."""
    if records.tasks is None or records.codes is None:
        known, codes = column_tasks(Y.shape[1], tasks, names, model.relation), None
    else:
        known, codes = Index([*(() if tasks is None else labels_of(tasks)), *records.tasks.labels]), records.codes
        codes = np.array([known.numbers[label] for label in records.tasks.labels], np.int64)[codes]
    roots = risk_roots(risk, codes, len(known))
    row_roots = roots if codes is None else roots[codes][:, None]
    flat, Y = Y.ndim == 1, Y[:, None] if Y.ndim == 1 else Y
    center = np.zeros(Y.shape[1])
    if getattr(model, "center", False):
        center = np.average(Y, axis=0, weights=None if codes is None else roots[codes] ** 2)
    made = np.ascontiguousarray((Y - center) * row_roots, model.dtype)
    return Problem(model._kernel(), records.points, known, codes, made, roots, flat, model.dtype, center)


def column_tasks(n_columns: int, tasks: Any, names: Any, relation: Any) -> Index:
    """The tasks that the columns of y are: those given, the relation's own, the frame's names, or 0, 1, ....

    Raises
    ------
    ValueError
        If there are not as many as columns.
    """
    own = getattr(relation, "known_tasks", None)
    for given in (tasks, own, names):
        if given is not None:
            labels: Sequence[Hashable] = labels_of(given)
            if len(labels) != n_columns:
                raise ValueError(f"y has {n_columns} columns, and there are {len(labels)} tasks: one column a task")
            return Index(labels)
    return Index(range(n_columns))


def risk_roots(risk: str, codes: NDArray[np.int64] | None, n_tasks: int) -> Array:
    """Roots of the weights of rows by task: all 1, or 1/n_t times what makes the weights' mean over rows 1."""
    if risk == "rows" or codes is None:
        return np.ones(n_tasks)
    counts = np.bincount(codes, minlength=n_tasks)
    present = np.count_nonzero(counts)
    return np.sqrt(len(codes) / (present * np.maximum(counts, 1.0)))
