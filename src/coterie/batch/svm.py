"""Support vector machines for many tasks, solved by scikit-learn (LIBSVM)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal

import numpy as np

from coterie import spec
from coterie.kernels import KernelLike
from coterie.types import Array, Codes, Labels, Records, Tasks

from . import memory
from .base import BatchClassifier, BatchEstimator, TrainingRows
from .designs import Separate
from .kernel_expansion import KernelExpansion
from .output_kernels import BatchRelation, output_kernel
from .target_codes import numbers, signs_of


@spec.estimator
class MultitaskSVC(BatchClassifier):
    """Support vector classifier for many tasks: hinge loss, and the kernel k(x, z) M_st (ROS11 §4.3, CCG08 §3).

    x and z are records of the tasks s and t, k is their kernel, and M = A⁻¹ the matrix by which tasks share.

    For two classes it minimises ½ Σ_st A_st ⟨f_s, f_t⟩ + C Σ_i max(0, 1 - y_i (f_(t_i)(x_i) + intercept)); several
    classes are one machine each against all others.

    Parameters
    ----------
    kernel, relation
        See :class:`MultitaskKernelRidge`.
    C : float > 0, default=1.0
        Weight of the losses.
    tol : float > 0, default=1e-05
        Tolerance of LIBSVM's optimality conditions.
    dtype : {"float64", "float32"}, default="float64"
        Type of the coefficients; the machine is solved in 64 bits.
    task_column, new_task
        See :class:`MultitaskKernelRidge`.

    Attributes
    ----------
    support_ : ndarray of int64
        The rows that are support vectors of any machine.
    dual_coef_ : ndarray
        Their coefficients y_i alpha_i, one column per machine (or a vector).
    intercept_ : ndarray, shape (n_machines,)
        The intercept of all tasks, not penalised; a kernel with a constant part adds an intercept per task.

    Notes
    -----
    O(n²) memory for the kernel matrix, O(n²) to O(n³) time.

    Raises
    ------
    ValueError
        For C <= 0, one class only, NaN or infinity, wrong shapes.
    MemoryError
        If the kernel matrix would not fit in memory.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, users = rng.normal(size=(200, 2)), rng.integers(3, size=200)
    >>> y = np.where((X**2).sum(axis=1) > 1 + 0.3 * users, "far", "near")
    >>> model = ct.batch.MultitaskSVC(ct.kernels.Gaussian(1.0), ct.tasks.MixedEffect(omega=0.5), C=10.0).fit(X, y,
    ...     task=users)
    >>> model.predict([[0.0, 0.0], [2.0, 2.0]], task=[0, 2])
    array(['near', 'far'], dtype='<U4')
    """

    kernel: KernelLike | None = None
    relation: BatchRelation | None = None
    C: float = spec.field(default=1.0, above=0)
    _: KW_ONLY
    tol: float = spec.field(default=1e-5, above=0)

    expansion_: KernelExpansion = spec.learned()
    intercept_: Array = spec.learned()
    support_: Codes = spec.learned()
    _saved = ("intercept_", "support_")

    def _outputs(self, X: Records, task: Tasks | None) -> Array:
        return np.asarray(self._values(X, task) + self.intercept_)

    def _learn(self, X: Records, y: Labels, task: Tasks | None, tasks: Sequence[Hashable] | None) -> None:
        from sklearn.svm import SVC

        rows = self._training_rows(X, task, shared=False)
        self.labels_, signs = signs_of(y, len(rows.points.squares))
        machine = SVC(C=self.C, kernel="precomputed", tol=self.tol)
        _learn_machines(self, machine, rows, signs, tasks, flat=False)


@spec.estimator
class MultitaskSVR(BatchEstimator):
    """Support vector regression for many tasks: the epsilon-insensitive loss and the kernel k(x, z) M_st.

    x and z are records of the tasks s and t, k is their kernel, and M = A⁻¹ the matrix by which tasks share.

    It minimises ½ Σ_st A_st ⟨f_s, f_t⟩ + C Σ_i max(0, |y_i - f_(t_i)(x_i) - intercept| - epsilon).

    Parameters
    ----------
    kernel, relation
        See :class:`MultitaskKernelRidge`.
    C : float > 0, default=1.0
        Weight of the losses.
    epsilon : float >= 0, default=0.1
        Errors up to it cost nothing.
    tol, dtype, task_column, new_task
        See :class:`MultitaskSVC`.

    Attributes
    ----------
    support_, dual_coef_, intercept_
        See :class:`MultitaskSVC`.

    Raises
    ------
    ValueError
        For C <= 0, epsilon < 0, NaN or infinity, wrong shapes.
    MemoryError
        If the kernel matrix would not fit in memory.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, sensors = rng.uniform(-2, 2, size=(120, 1)), rng.integers(2, size=120)
    >>> y = np.sin(X[:, 0]) + 0.2 * sensors
    >>> model = ct.batch.MultitaskSVR(ct.kernels.Gaussian(1.0), ct.tasks.MixedEffect(omega=0.5), C=10.0,
    ...     epsilon=0.01)
    >>> model.fit(X, y, task=sensors).predict([[0.0], [0.0]], task=[0, 1]).round(1)
    array([0. , 0.2])
    """

    kernel: KernelLike | None = None
    relation: BatchRelation | None = None
    C: float = spec.field(default=1.0, above=0)
    epsilon: float = spec.field(default=0.1, at_least=0)
    _: KW_ONLY
    tol: float = spec.field(default=1e-5, above=0)

    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"
    expansion_: KernelExpansion = spec.learned()
    intercept_: Array = spec.learned()
    support_: Codes = spec.learned()
    _saved = ("intercept_", "support_")
    _several_outputs = False

    def _outputs(self, X: Records, task: Tasks | None) -> Array:
        return np.asarray(self._values(X, task) + self.intercept_[0])

    def _learn(self, X: Records, y: Labels, task: Tasks | None, tasks: Sequence[Hashable] | None) -> None:
        from sklearn.svm import SVR
        from sklearn.utils import column_or_1d

        rows = self._training_rows(X, task, shared=False)
        target = column_or_1d(numbers(y, len(rows.points.squares)), warn=True)
        machine = SVR(C=self.C, epsilon=self.epsilon, kernel="precomputed", tol=self.tol)
        _learn_machines(self, machine, rows, target[:, None], tasks, flat=True)


def _learn_machines(
    model: MultitaskSVC | MultitaskSVR,
    machine: Any,
    rows: TrainingRows,
    targets: Array,
    tasks: Sequence[Hashable] | None,
    flat: bool,
) -> None:
    """Fit a machine of scikit-learn for each column of targets, on precomputed joint kernel values."""
    known, codes = rows.one_task_each(tasks)
    n = len(codes)
    memory.require(2 * 8.0 * n**2, f"a kernel matrix of {n} x {n} rows", "take fewer rows, or an online learner")
    M = output_kernel(model.relation, known.labels)
    design = Separate(model._kernel(), rows.points, codes, M, "float64")
    Q, coefficients = design.values(np.arange(n), np.arange(n)), np.zeros(targets.shape)
    model.intercept_ = np.zeros(targets.shape[1])
    for k, target in enumerate(targets.T):
        if model._kind == "classifier" and (target == target[0]).all():  # a label that all rows have, or none
            model.intercept_[k] = target[0]
            continue
        machine.fit(Q, target)
        # for the sorted labels -1 and +1 scikit-learn's signs are those of y_i alpha_i
        coefficients[machine.support_, k] = machine.dual_coef_[0]
        model.intercept_[k] = machine.intercept_[0]
    support = np.flatnonzero(np.abs(coefficients).sum(axis=1) > 0)
    # constant labels need no support vector; one of coefficient 0 keeps the expansion from being empty
    model.support_ = support if len(support) else np.zeros(1, np.int64)
    points, codes = rows.points.take(model.support_), codes[model.support_]
    c = np.ascontiguousarray(coefficients[model.support_], model.dtype)
    model.expansion_ = KernelExpansion(design.kernel, model.relation, points, known, codes, c, M, flat)
