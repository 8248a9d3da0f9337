"""Kernel ridge regression for many tasks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from typing import ClassVar, Literal

import numpy as np

from coterie import spec
from coterie.data.tabular import split_task, task_labels
from coterie.kernels import KernelLike
from coterie.tasks.index import distinct_labels
from coterie.types import Array, Labels, Records, Tasks

from .base import BatchEstimator
from .designs import logger, solve
from .filters import Filter, filter_of
from .kernel_expansion import KernelExpansion
from .output_kernels import BatchRelation, OptimalOutputKernel, optimal, output_kernel
from .problem import Problem, problem_of


@spec.estimator
class MultitaskKernelRidge(BatchEstimator):
    """Kernel ridge regression for many tasks, which share through M = A⁻¹ (ROS11 §3-5).

    A is the interaction matrix of the tasks, and M = A⁻¹ their output kernel.

    With the kernel Q((x, s), (z, t)) = k(x, z) M_st it minimises, over functions f = (f_1, ..., f_T),

        Σ_i (y_i - f_(t_i)(x_i))² + alpha Σ_st A_st ⟨f_s, f_t⟩,

    so f_t(x) = Σ_i k(x, x_i) M_(t t_i) c_i with (Q + alpha I) c = y. If A has no inverse (``Pooled``, or a penalty
    with a null space) the functions that M cannot make are excluded.

    Parameters
    ----------
    kernel : kernel, str or callable, optional
        One of :mod:`coterie.kernels`, a name (``"linear"``, ``"gaussian"``, any of scikit-learn's, ``"precomputed"``),
        or a function of two arrays of records. By default ``Gaussian(sigma=1.0)``.
    relation : relation, optional
        The relation between tasks, by default ``MixedEffect(omega=0.5)``;
        :class:`~coterie.batch.OptimalOutputKernel` learns it.
    alpha : float > 0, default=1.0
        The strength of the regularisation, as in scikit-learn's ``KernelRidge``; the lambda of the lecture is
        alpha / n. Ignored if ``filter`` is set.
    filter : filter, optional
        Another regularisation: ``Landweber``, ``NuMethod``, ``CutOff``, ``IteratedTikhonov``.
    risk : {"rows", "tasks"}, default="rows"
        "rows" weighs every row the same (the 1/n risk), "tasks" every task: a row of a task of n_t rows then has weight
        n / (T n_t), T being the number of tasks that have rows (the risk Σ_t 1/n_t, scaled so that both agree for tasks
        of one size; (Q + lambda diag(n_t)) c = y with lambda = alpha T / n).
    center : bool, default=False
        Subtract the mean of y and add it again to predictions: one mean for all tasks of rows (and each output), or one
        a column.
    solver : {"auto", "cholesky", "spectrum"}, default="auto"
        "auto" is the fastest that fits in memory.
    dtype : {"float64", "float32"}, default="float64"
        The type of the kernel matrix and of the coefficients.
    task_column : hashable, optional
        The column of X, by name or index, or the key of a dictionary, that holds the task.
    new_task : {"grow", "raise"}, default="grow"
        Predict tasks without training records by the relation to other tasks ("grow"), or raise ValueError ("raise").

    Attributes
    ----------
    tasks_, dual_coef_, relation_matrix_, n_features_in_
        The tasks, the coefficients c in the shape of y, M, and the number of features.
    center_ : ndarray, shape (p,)
        The mean that was subtracted from y, 0 without ``center``.
    objective_ : ndarray
        The objective after each round, if the relation is learned.

    Notes
    -----
    y of shape (n,): each row has one task, ``task=``. y of shape (n, T) without ``task=``: each column is a task,
    named by ``tasks=``, and all have the same inputs; one eigendecomposition of k and one of M then solve everything,
    O(n³ + T³ + n T (n + T)). y of shape (n, p) with ``task=``: p outputs of each row, learned side by side.

    Otherwise Cholesky takes O(n³ / 3), or less if the tasks split into groups that do not share. There is no intercept:
    use ``center=True``, or a kernel with a constant part.

    Raises
    ------
    ValueError
        For alpha <= 0, NaN or infinity, wrong shapes, a precomputed kernel matrix that is not square and symmetric, or
        a kernel that is not positive definite.
    MemoryError
        If the solver does not fit in memory; the message names the solver that would.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> hours = np.array([[0.0], [1.0], [2.0], [3.0], [0.0], [2.0]])
    >>> blood = np.array([0.0, 2.1, 1.2, 0.6, 0.1, 1.0])
    >>> patient = ["ann", "ann", "ann", "ann", "bob", "bob"]
    >>> model = ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(sigma=1.0), ct.tasks.MixedEffect(omega=0.9),
    ...     alpha=0.01)
    >>> model.fit(hours, blood, task=patient).predict([[1.0]], task=["bob"]).round(1)
    array([1.8])

    Vector-valued outputs at shared inputs:

    >>> Y = np.column_stack([blood, -blood])[:4]
    >>> model = ct.batch.MultitaskKernelRidge(ct.kernels.Gaussian(), ct.Independent(), alpha=0.1).fit(hours[:4], Y)
    >>> model.predict(hours[:1]).shape
    (1, 2)
    """

    kernel: KernelLike | None = None
    relation: BatchRelation | None = None
    alpha: float = spec.field(default=1.0, above=0)
    filter: Filter | None = None
    _: KW_ONLY
    risk: Literal["rows", "tasks"] = "rows"
    center: bool = False
    solver: str = "auto"

    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"
    expansion_: KernelExpansion = spec.learned()
    _saved = ("center_", "objective_")

    @property
    def penalty_(self) -> float:
        """The penalty Σ_st A_st ⟨f_s, f_t⟩ of the functions f_t of the tasks: O(n²) kernel values.

        A = M⁻¹ is the interaction matrix.
        """
        self._check_fitted()
        return self.expansion_.penalty()

    def _outputs(self, X: Records, task: Tasks | None) -> Array:
        outputs = self._values(X, task)
        if outputs.ndim == 2:
            return np.asarray(outputs + self.center_)
        if self.expansion_.has_shared_rows and self.center:
            return np.asarray(outputs + self._center_at(X, task, len(outputs)))
        return np.asarray(outputs + self.center_[0]) if self.center else outputs

    def _center_at(self, X: Records, task: Tasks | None, n: int) -> Array:
        """Return the mean of y of each record's task; for a new task, the mean over tasks."""
        distinct, places = distinct_labels(task_labels(split_task(X, task, self.task_column)[1], n))
        known = self.expansion_.tasks.numbers
        # a new task has no column of its own: the mean over columns stands in for its intercept
        means = [self.center_[known[label]] if label in known else self.center_.mean() for label in distinct]
        return np.array(means)[places]

    def _learn(self, X: Records, y: Labels, task: Tasks | None, tasks: Sequence[Hashable] | None) -> None:
        problem = problem_of(self, X, y, task, tasks, self.risk, self.center)
        self.center_ = problem.center
        if isinstance(self.relation, OptimalOutputKernel):
            self.expansion_, self.objective_ = self._alternated(problem, self.relation)
        else:
            self.expansion_ = self._solved(problem, output_kernel(self.relation, problem.tasks.labels))

    def _solved(self, problem: Problem, M: Array) -> KernelExpansion:
        """Return the learned functions for a fixed matrix M, by which tasks share."""
        used = filter_of(self.filter, self.alpha)
        return problem.expansion(solve(problem.design(M), used, problem.Y, self.solver), M)

    def _alternated(self, problem: Problem, relation: OptimalOutputKernel) -> tuple[KernelExpansion, Array]:
        """Learn the functions and the matrix M in turn. Return them, and the objective after each iteration.

        Raises
        ------
        ValueError
            For another filter than Tikhonov, because the others do not minimise this objective.
        """
        if self.filter is not None:
            raise ValueError(f"learning an output kernel needs filter=None, got {self.filter!r}")
        M = relation.relation_matrix(problem.tasks.labels)
        objective: list[float] = []
        while True:
            expansion = self._solved(problem, M)
            G = expansion.inner_products() + relation.ridge * np.eye(len(M))
            # ridge · tr M⁻¹ bounds M away from singular matrices; tr(M⁻¹ ⟨f_s, f_t⟩) is the penalty
            objective.append(_loss(problem, expansion) + self.alpha * float(np.trace(np.linalg.solve(M, G))))
            logger.info("output kernel, round %d: objective %.6g", len(objective), objective[-1])
            is_settled = len(objective) > 1 and (
                objective[-2] - objective[-1] <= relation.tolerance * abs(objective[-2])
            )
            if is_settled or len(objective) > relation.steps:
                return expansion, np.array(objective)
            # block coordinate descent: exact in f, then exact in M, so the objective never rises
            M = optimal(G)


def _loss(problem: Problem, expansion: KernelExpansion) -> float:
    """Return the weighted sum of squared errors of the learned functions."""
    if problem.codes is None:
        values = expansion.sums(problem.points, expansion.C @ expansion.M)
    else:
        values = expansion.columns_at(problem.points, expansion.M, problem.codes)
    return float(np.sum((problem.Y - problem.row_roots * values) ** 2))
