"""Linear support vector machines on the explicit features of tasks and groups, on scikit-learn's LIBLINEAR.

Memory and time are those of the stored entries, whatever the number of pairs of rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from coterie import persistence, spec
from coterie.index import Index
from coterie.numeric.core.points import Points
from coterie.types import Array, Labels, Records, Tasks

from . import memory
from .base import BatchClassifier, BatchEstimator
from .output_kernels import BatchRelation
from .slots import SlotWeights, factor_of, features
from .steps import numbered
from .targets import numbers, signs_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array


#: LIBLINEAR numbers features and entries in 32 bits.
MOST = 2**31 - 1


@dataclass
class _Mapped:
    """Rows to learn from as explicit features, with their tasks and the number of slots."""

    features: csr_array
    tasks: Index
    n_slots: int


@persistence.register
class MultitaskLinearSVC(BatchClassifier):
    """A linear support vector machine for many tasks in groups, for many and sparse features.

    For two classes it minimises ½ Σ_st A_st w_s·w_t + C Σ_i max(0, 1 - y_i w_(t_i)·x_i)², or the same without the
    square for ``loss="hinge"``; several classes are one machine each against all others. With ``loss="hinge"`` it is
    :class:`MultitaskSVC` with the kernel ``"linear"``, but without an intercept: add a constant feature, which is
    penalised like the others.

    Parameters
    ----------
    relation : relation, optional
        One of groups: ``Independent``, ``Pooled``, ``HalfUpdate``, ``MeanRegularized``, ``Clusters``, ``Hierarchy``,
        :class:`MixedEffect`, :class:`ClusterPenalty`; ``MixedEffect(omega=0.5)`` without.
    C : float > 0
        Weight of the losses.
    loss : {"squared_hinge", "hinge"}
        As in scikit-learn's ``LinearSVC``.
    tol, max_iter
        When LIBLINEAR ends.
    dtype : {"float64", "float32"}
        In which records are read and weights kept; LIBLINEAR learns in double precision.
    task_column, new_task
        As in :class:`MultitaskKernelRidge`.

    Attributes
    ----------
    coef_ : ndarray, shape (n_tasks, n_features)
        The weights of each task; one array a machine where there are several.

    Notes
    -----
    O(nnz · (levels + 1)) a pass over the records; memory of (tasks + groups) · features weights.

    Raises
    ------
    ValueError
        For a relation that is not one of groups, or in which tasks repel each other; for C <= 0, one class only.
    MemoryError
        If the weights would not fit in memory.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, users = sp.random_array((300, 50), density=0.1, random_state=rng, format="csr"), rng.integers(5, size=300)
    >>> y = X @ rng.normal(size=50) > 0
    >>> model = ct.batch.MultitaskLinearSVC(ct.relations.MixedEffect(omega=0.8), C=10.0).fit(X, y, task=users)
    >>> model.coef_.shape, bool(model.score(X, y, task=users) > 0.95)
    ((5, 50), True)
    """

    relation: BatchRelation | None = None
    C: float = spec.field(default=1.0, above=0)
    loss: Literal["squared_hinge", "hinge"] = "squared_hinge"
    _: KW_ONLY
    tol: float = spec.field(default=1e-4, above=0)
    max_iter: int = 10_000

    kernel = "linear"
    _functions = SlotWeights
    expansion_: SlotWeights = spec.learned()
    _saved = ("n_iter_", "intercept_")
    _several_outputs = False

    @property
    def coef_(self) -> Array:
        """The weights of each task, shape (n_tasks, n_features), after one axis of machines where there are several."""
        self._check_fitted(AttributeError)
        return self.expansion_.by_task

    def _outputs(self, X: Records, task: Tasks | None) -> Array:
        return np.asarray(self._values(X, task) + self.intercept_)

    def _learn(self, X: Records, y: Labels, task: Tasks | None, tasks: Sequence[Hashable] | None) -> None:
        made = _mapped(self, X, task, tasks)
        self.labels_, signs = signs_of(y, made.features.shape[0])
        self.intercept_ = np.where((signs == signs[0]).all(axis=0), signs[0], 0.0)
        self.expansion_, self.n_iter_ = _kept(
            self, made, [self._one(made, each) for each in numbered("linear machine", [*signs.T])]
        )

    def _one(self, made: _Mapped, signs: Array) -> tuple[Array, int]:
        """Learn one machine: its weights and the passes that it took."""
        from sklearn.svm import LinearSVC

        if (signs == signs[0]).all():  # all rows have the label, or none has: the intercept alone predicts it
            return np.zeros(made.features.shape[1]), 1
        machine = LinearSVC(**_options(self, made)).fit(made.features, signs)
        return np.asarray(machine.coef_[0]), int(machine.n_iter_)


@persistence.register
class MultitaskLinearSVR(BatchEstimator):
    """Linear support vector regression for many tasks in groups, for many and sparse features.

    It minimises ½ Σ_st A_st w_s·w_t + C Σ_i max(0, |y_i - w_(t_i)·x_i| - epsilon)², or the same without the square for
    ``loss="epsilon_insensitive"``.

    Parameters
    ----------
    relation, C
        As in :class:`MultitaskLinearSVC`; there is no intercept.
    epsilon : float >= 0
        Errors up to it cost nothing.
    loss : {"squared_epsilon_insensitive", "epsilon_insensitive"}
        As in scikit-learn's ``LinearSVR``.
    tol, max_iter, dtype, task_column, new_task
        As in :class:`MultitaskLinearSVC`.

    Attributes
    ----------
    coef_ : ndarray, shape (n_tasks, n_features)
        The weights of each task.

    Raises
    ------
    ValueError
        As :class:`MultitaskLinearSVC`, and for epsilon < 0.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, shops = rng.normal(size=(200, 3)), rng.integers(4, size=200)
    >>> y = X @ [1.0, -1.0, 0.0] + 0.5 * shops * X[:, 2]
    >>> model = ct.batch.MultitaskLinearSVR(ct.relations.MixedEffect(omega=0.5), C=10.0).fit(X, y, task=shops)
    >>> bool(model.score(X, y, task=shops) > 0.99)
    True
    """

    relation: BatchRelation | None = None
    C: float = spec.field(default=1.0, above=0)
    epsilon: float = spec.field(default=0.0, at_least=0)
    loss: Literal["squared_epsilon_insensitive", "epsilon_insensitive"] = "squared_epsilon_insensitive"
    _: KW_ONLY
    tol: float = spec.field(default=1e-4, above=0)
    max_iter: int = 10_000

    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"
    kernel = "linear"
    _functions = SlotWeights
    expansion_: SlotWeights = spec.learned()
    _saved = ("n_iter_",)
    _several_outputs = False

    @property
    def coef_(self) -> Array:
        """The weights of each task, shape (n_tasks, n_features)."""
        self._check_fitted(AttributeError)
        return self.expansion_.by_task

    def _outputs(self, X: Records, task: Tasks | None) -> Array:
        return np.asarray(self._values(X, task)[:, 0])

    def _learn(self, X: Records, y: Labels, task: Tasks | None, tasks: Sequence[Hashable] | None) -> None:
        from sklearn.svm import LinearSVR
        from sklearn.utils import column_or_1d

        made = _mapped(self, X, task, tasks)
        target = column_or_1d(numbers(y, made.features.shape[0]), warn=True)
        machine = LinearSVR(epsilon=self.epsilon, **_options(self, made)).fit(made.features, target)
        self.expansion_, self.n_iter_ = _kept(self, made, [(machine.coef_, int(machine.n_iter_))])


def _mapped(
    model: MultitaskLinearSVC | MultitaskLinearSVR, X: Records, task: Tasks | None, tasks: Sequence[Hashable] | None
) -> _Mapped:
    """Read rows to learn from and map them to explicit features."""
    rows = model._training_rows(X, task, shared=False)
    known, codes = rows.one_task_each(tasks)
    values, slots = factor_of(model.relation, known.labels)
    n_slots = int(slots.max(initial=0)) + 1
    _check_size(rows.points, values.shape[1], n_slots)
    return _Mapped(features(rows.points, values[codes], slots[codes], n_slots), known, n_slots)


def _options(model: MultitaskLinearSVC | MultitaskLinearSVR, made: _Mapped) -> dict[str, Any]:
    """The arguments of LIBLINEAR's machines; the dual if it is the smaller problem, or the only one."""
    n, d = made.features.shape
    dual = not model.loss.startswith("squared") or n < d
    options = {name: getattr(model, name) for name in ("C", "loss", "tol", "max_iter")}
    return options | {"dual": dual, "fit_intercept": False, "random_state": 0}


def _kept(
    model: MultitaskLinearSVC | MultitaskLinearSVR, made: _Mapped, machines: Sequence[tuple[Array, int]]
) -> tuple[SlotWeights, int]:
    """The weights of all machines, and the most passes that one of them took."""
    W = np.array([weights for weights, _ in machines], model.dtype).reshape(len(machines), made.n_slots, -1)
    return SlotWeights(model.relation, made.tasks, W), max(passes for _, passes in machines)


def _check_size(points: Points, copies: int, n_slots: int) -> None:
    columns, entries = n_slots * points.features, copies * int(np.size(points.rows[0]))
    if max(columns, entries) > MOST:
        raise ValueError(
            f"LIBLINEAR takes up to {MOST} weights and entries, and these would be {max(columns, entries)}"
        )
    what = f"a machine of {n_slots} tasks and groups with {points.features} features"
    memory.require(8.0 * 4 * columns + 24.0 * entries, what, "hash the features into fewer columns")
