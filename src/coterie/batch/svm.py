"""Support vector machines with the joint kernel of inputs and tasks, on scikit-learn's solver (LIBSVM)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from typing import ClassVar, Literal

import numpy as np

from coterie import persistence, spec
from coterie.index import Index
from coterie.kernels import KernelLike
from coterie.types import Array, Codes, Labels, Records, Tasks

from . import memory
from .base import BatchClassifier, KernelEstimator, TrainingRows
from .designs import Separate
from .expansion import KernelExpansion
from .output_kernels import BatchRelation, output_kernel
from .products import some
from .steps import logger, numbered
from .targets import numbers, signs_of


@persistence.register
class MultitaskSVC(KernelEstimator, BatchClassifier):
    """A support vector machine for many tasks: hinge loss and the kernel k(x, z) M_st (ROS11 §4.3, CCG08 §3).

    For two classes it minimises ½ Σ_st A_st ⟨f_s, f_t⟩ + C Σ_i max(0, 1 - y_i (f_(t_i)(x_i) + intercept)); several
    classes, and rows with several labels, are one machine each against all others.

    Parameters
    ----------
    kernel, relation
        As in :class:`MultitaskKernelRidge`.
    C : float > 0
        Weight of the losses.
    tol : float > 0
        Tolerance of LIBSVM's optimality conditions.
    dtype : {"float64", "float32"}
        Type of the coefficients; the machine is solved in 64 bits.
    task_column, new_task
        As in :class:`MultitaskKernelRidge`.

    Attributes
    ----------
    support_ : ndarray of int64
        The rows that are support vectors of any machine.
    dual_coef_ : ndarray
        Their coefficients y_i alpha_i, one column a machine (or a vector).
    intercept_ : ndarray, shape (n_machines,)
        Not penalised and the same for all tasks; a kernel with a constant part gives tasks intercepts of their own.
    duality_gap_ : ndarray, shape (n_machines,)
        The gap between the objective and its dual, relative to the objective: a certificate of the solution.

    Notes
    -----
    O(n²) memory for the kernel matrix, O(n²) to O(n³) time. For linear kernels and relations of groups
    :class:`MultitaskLinearSVC` takes O(entries of X).

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
    >>> model = ct.batch.MultitaskSVC(ct.kernels.Gaussian(1.0), ct.relations.MixedEffect(omega=0.5), C=10.0).fit(X, y,
    ...     task=users)
    >>> model.predict([[0.0, 0.0], [2.0, 2.0]], task=[0, 2])
    array(['near', 'far'], dtype='<U4')
    >>> bool(model.duality_gap_[0] < 1e-3)
    True
    """

    kernel: KernelLike | None = None
    relation: BatchRelation | None = None
    C: float = spec.field(default=1.0, above=0)
    _: KW_ONLY
    tol: float = spec.field(default=1e-5, above=0)

    expansion_: KernelExpansion = spec.learned()
    _saved = ("intercept_", "duality_gap_", "support_")
    _several_outputs = False

    def _outputs(self, X: Records, task: Tasks | None) -> Array:
        return np.asarray(self._values(X, task) + self.intercept_)

    def _learn(self, X: Records, y: Labels, task: Tasks | None, tasks: Sequence[Hashable] | None) -> None:
        rows = self._training_rows(X, task, shared=False)
        self.labels_, signs = signs_of(y, len(rows.points.squares))
        design, known = _design(self, rows, tasks)
        Q = design.values(np.arange(design.n), np.arange(design.n))
        made = [self._one(Q, each) for each in numbered("support vector machine", [*signs.T])]
        self.intercept_ = np.array([intercept for _, intercept in made])
        self.duality_gap_ = np.array([_hinge_gap(Q, y, c, b, self.C) for y, (c, b) in zip(signs.T, made, strict=True)])
        self.support_, self.expansion_ = _kept(self, design, known, np.column_stack([c for c, _ in made]), flat=False)

    def _one(self, Q: Array, signs: Array) -> tuple[Array, float]:
        """Solve for the coefficients and the intercept of one machine."""
        from sklearn.svm import SVC

        c = np.zeros(len(Q))
        if (signs == signs[0]).all():  # a label that all rows have, or none
            return c, float(signs[0])
        machine = SVC(C=self.C, kernel="precomputed", tol=self.tol).fit(Q, signs)
        c[machine.support_] = machine.dual_coef_[0]
        return c, float(machine.intercept_[0])


@persistence.register
class MultitaskSVR(KernelEstimator):
    """Support vector regression for many tasks: the epsilon-insensitive loss and the kernel k(x, z) M_st.

    It minimises ½ Σ_st A_st ⟨f_s, f_t⟩ + C Σ_i max(0, |y_i - f_(t_i)(x_i) - intercept| - epsilon).

    Parameters
    ----------
    kernel, relation
        As in :class:`MultitaskKernelRidge`.
    C : float > 0
        Weight of the losses.
    epsilon : float >= 0
        Errors up to it cost nothing.
    tol, dtype, task_column, new_task
        As in :class:`MultitaskSVC`.

    Attributes
    ----------
    support_, dual_coef_, intercept_, duality_gap_
        As in :class:`MultitaskSVC`.

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
    >>> model = ct.batch.MultitaskSVR(ct.kernels.Gaussian(1.0), ct.relations.MixedEffect(omega=0.5), C=10.0,
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
    _saved = ("intercept_", "duality_gap_", "support_")
    _several_outputs = False

    def _outputs(self, X: Records, task: Tasks | None) -> Array:
        return np.asarray(self._values(X, task) + self.intercept_[0])

    def _learn(self, X: Records, y: Labels, task: Tasks | None, tasks: Sequence[Hashable] | None) -> None:
        from sklearn.svm import SVR
        from sklearn.utils import column_or_1d

        rows = self._training_rows(X, task, shared=False)
        target = column_or_1d(numbers(y, len(rows.points.squares)), warn=True)
        design, known = _design(self, rows, tasks)
        Q = design.values(np.arange(design.n), np.arange(design.n))
        machine = SVR(C=self.C, epsilon=self.epsilon, kernel="precomputed", tol=self.tol).fit(Q, target)
        c = np.zeros(len(Q))
        c[machine.support_] = machine.dual_coef_[0]
        self.intercept_ = np.asarray(machine.intercept_, np.float64)
        self.duality_gap_ = np.array([_tube_gap(Q, target, c, self.intercept_[0], self.C, self.epsilon)])
        self.support_, self.expansion_ = _kept(self, design, known, c[:, None], flat=True)


def _design(
    model: MultitaskSVC | MultitaskSVR, rows: TrainingRows, tasks: Sequence[Hashable] | None
) -> tuple[Separate, Index]:
    """The joint kernel of the rows; refused where its matrix would not fit in memory."""
    known, codes = rows.one_task_each(tasks)
    n = len(codes)
    instead = "take a linear machine (MultitaskLinearSVC), or fewer rows"
    memory.require(2 * 8.0 * n**2, f"a kernel matrix of {n} x {n} rows", instead)
    logger.info("a kernel matrix of %d x %d rows", n, n)
    M = output_kernel(model.relation, known.labels)
    return Separate(model._kernel(), rows.points, codes, M, "float64"), known


def _kept(
    model: MultitaskSVC | MultitaskSVR, design: Separate, known: Index, C: Array, flat: bool
) -> tuple[Codes, KernelExpansion]:
    """The rows that have a coefficient, one at least, and the functions that they give."""
    rows = np.flatnonzero(np.abs(C).sum(axis=1) > 0)
    rows = rows if len(rows) else np.zeros(1, np.int64)
    points, codes = some(design.points, rows), design.codes[rows]
    held = np.ascontiguousarray(C[rows], model.dtype)
    return rows, KernelExpansion(design.kernel, model.relation, points, known, codes, held, design.M, flat)


def _hinge_gap(Q: Array, y: Array, c: Array, intercept: float, C: float) -> float:
    """The duality gap for the hinge loss: ½ c'Qc + C Σ max(0, 1 - y f) less Σ |c| - ½ c'Qc, over the first."""
    f = Q @ c
    losses = C * np.maximum(0.0, 1.0 - y * (f + intercept)).sum()
    return _relative(float(c @ f), float(losses), float(np.abs(c).sum()))


def _tube_gap(Q: Array, y: Array, c: Array, intercept: float, C: float, epsilon: float) -> float:
    """The duality gap for the epsilon-insensitive loss, whose dual is y'c - epsilon Σ |c| - ½ c'Qc."""
    f = Q @ c
    losses = C * np.maximum(0.0, np.abs(y - f - intercept) - epsilon).sum()
    return _relative(float(c @ f), float(losses), float(y @ c - epsilon * np.abs(c).sum()))


def _relative(norm: float, losses: float, linear: float) -> float:
    primal, dual = norm / 2 + losses, linear - norm / 2
    return (primal - dual) / max(abs(primal), np.finfo(np.float64).tiny)
