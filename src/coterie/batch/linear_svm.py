"""Linear support vector machines on the explicit features of tasks and groups, on scikit-learn's LIBLINEAR.

A relation of groups has M = F F' with a few entries a row: a task's own and those of its groups. The kernel x·z M_st is
then that of the features x ⊗ F_s, a copy of the record in the slot of its task and one in that of each group, so
memory and time are those of the stored entries, whatever the number of pairs of rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from coterie import persistence, spec
from coterie.index import Index, distinct_labels
from coterie.numeric.points import Points, as_matrix
from coterie.relations.matrices import labels_of as task_tuple
from coterie.streams import tabular

from . import memory
from .base import BatchEstimator, Regressor, numbers
from .classifier_base import BatchClassifier, check_rows
from .coding import machines_of
from .outputs import fixed_relation_of

Array = NDArray[Any]

#: LIBLINEAR numbers features and entries in 32 bits.
MOST = 2**31 - 1


@dataclass
class SlotWeights:
    """Weights of the copies of a record: one block of features for each slot.

    Attributes
    ----------
    tasks : Index
        The tasks learned from.
    W : ndarray, shape (p, n_slots, d)
        For each machine.
    """

    tasks: Index
    W: Array

    def dump(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """As data with a JSON form and named arrays."""
        return {"tasks": self.tasks.labels}, {"W": self.W}


class _LinearMachine(BatchEstimator):
    """Reads tasks as slots, and predicts by weights."""

    expansion_: SlotWeights
    C: float
    tol: float
    max_iter: int
    n_iter_: int
    _kept = ("n_features_in_", "feature_names_in_", "n_iter_", "intercept_")

    def _restored(self, data: dict[str, Any], arrays: dict[str, Array]) -> SlotWeights:
        return SlotWeights(Index(data["tasks"]), arrays["W"])

    @property
    def coef_(self) -> Array:
        """The weights of each task, shape (n_tasks, n_features), or (n_machines, n_tasks, n_features)."""
        self._check_fitted(AttributeError)
        values, slots = factor_of(self.relation, self.tasks_)
        copies = [values[:, level, None] * self.expansion_.W[:, slots[:, level]] for level in range(values.shape[1])]
        W = np.sum(copies, axis=0)
        return np.asarray(W[0] if len(W) == 1 else W)

    def _mapped(self, X: Any, task: Any, tasks: Any) -> tuple[Any, Index, int]:
        """The features of rows to learn from, their tasks, and the number of slots."""
        spec.check_positive("C", self.C)
        spec.check_positive("tol", self.tol)
        records = self._records(X, task, shared=False)
        if records.tasks is None or records.codes is None:
            raise ValueError("rows of a support vector machine have one task each")
        known = Index([*(() if tasks is None else task_tuple(tasks)), *records.tasks.labels])
        codes = np.array([known.numbers[label] for label in records.tasks.labels], np.int64)[records.codes]
        values, slots = factor_of(self.relation, known.labels)
        n_slots = int(slots.max(initial=0)) + 1
        _check_size(records.points, values.shape[1], n_slots)
        return features(records.points, values[codes], slots[codes], n_slots), known, n_slots

    def _keep(self, known: Index, n_slots: int, machines: list[tuple[Array, int]]) -> None:
        """Keep the weights of each machine, and the most passes that LIBLINEAR took."""
        weights = [each for each, _ in machines]
        self.n_iter_ = max(passes for _, passes in machines)
        W = np.array(weights, self.dtype).reshape(len(weights), n_slots, -1)
        self.expansion_ = SlotWeights(known, W)

    def _outputs(self, X: Any, task: Any) -> Array:
        self._check_fitted()
        X, task = tabular.split_task(X, task, self.task_column)
        points = self._points(X, learning=False)
        distinct, places = distinct_labels(
            tabular.task_labels(task, len(points.squares), self.expansion_.tasks.numbers)
        )
        held, new = self.expansion_, self._unseen(distinct)
        values, slots = factor_of(self.relation, held.tasks.labels, new)
        numbers = held.tasks.numbers | {label: len(held.tasks) + i for i, label in enumerate(new)}
        codes = np.array([numbers[label] for label in distinct], np.int64)[places]
        made = features(points, values[codes], slots[codes], held.W.shape[1])
        return np.asarray(made @ held.W.reshape(len(held.W), -1).T)


@persistence.register
class MultitaskLinearSVC(_LinearMachine, BatchClassifier):
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
    >>> model = ct.MultitaskLinearSVC(ct.MixedEffect(omega=0.8), C=10.0).fit(X, y, task=users)
    >>> model.coef_.shape, bool(model.score(X, y, task=users) > 0.95)
    ((5, 50), True)
    """

    _several_outputs = False

    def __init__(
        self,
        relation: Any = None,
        C: float = 1.0,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        *,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        dtype: Literal["float64", "float32"] = "float64",
        task_column: Hashable | None = None,
        new_task: Literal["grow", "raise"] = "grow",
    ) -> None:
        self.relation = relation
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.task_column = task_column
        self.new_task = new_task

    def _learn(self, X: Any, y: Any, task: Any, tasks: Any) -> None:
        if self.loss not in ("squared_hinge", "hinge"):
            raise ValueError(f"loss must be 'squared_hinge' or 'hinge', got {self.loss!r}")
        made, known, n_slots = self._mapped(X, task, tasks)
        self.labels_, signs = machines_of(y)
        check_rows(signs, made.shape[0])
        self.intercept_ = np.where((signs == signs[0]).all(axis=0), signs[0], 0.0)
        self._keep(known, n_slots, [self._one(made, each) for each in signs.T])

    def _outputs(self, X: Any, task: Any) -> Array:
        return super()._outputs(X, task) + self.intercept_

    def _one(self, made: Any, signs: Array) -> tuple[Array, int]:
        from sklearn.svm import LinearSVC

        if (signs == signs[0]).all():  # a label that all rows have, or none
            return np.zeros(made.shape[1]), 1  # the intercept says it
        dual = self.loss == "hinge" or made.shape[0] < made.shape[1]
        machine = LinearSVC(
            C=self.C,
            loss=self.loss,
            dual=dual,
            tol=self.tol,
            max_iter=self.max_iter,
            fit_intercept=False,
            random_state=0,
        )
        machine.fit(made, signs)
        return np.asarray(machine.coef_[0]), int(machine.n_iter_)


@persistence.register
class MultitaskLinearSVR(Regressor, _LinearMachine):
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
    >>> model = ct.MultitaskLinearSVR(ct.MixedEffect(omega=0.5), C=10.0).fit(X, y, task=shops)
    >>> bool(model.score(X, y, task=shops) > 0.99)
    True
    """

    _several_outputs = False

    def __init__(
        self,
        relation: Any = None,
        C: float = 1.0,
        epsilon: float = 0.0,
        loss: Literal["squared_epsilon_insensitive", "epsilon_insensitive"] = "squared_epsilon_insensitive",
        *,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        dtype: Literal["float64", "float32"] = "float64",
        task_column: Hashable | None = None,
        new_task: Literal["grow", "raise"] = "grow",
    ) -> None:
        self.relation = relation
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        self.task_column = task_column
        self.new_task = new_task

    def fit(self, X: Any, y: Any, task: Any = None, *, tasks: Sequence[Hashable] | None = None) -> Self:
        """Forget everything and learn; X, y of shape (n,), task and tasks as in :meth:`MultitaskKernelRidge.fit`."""
        return self._fit(X, y, task, tasks)

    def predict(self, X: Any, task: Any = None) -> Array:
        """The output of each record for its task."""
        return np.asarray(self._outputs(X, task)[:, 0])

    def _learn(self, X: Any, y: Any, task: Any, tasks: Any) -> None:
        from sklearn.svm import LinearSVR
        from sklearn.utils import column_or_1d

        if self.loss not in ("squared_epsilon_insensitive", "epsilon_insensitive"):
            raise ValueError(f"loss must be 'squared_epsilon_insensitive' or 'epsilon_insensitive', got {self.loss!r}")
        spec.check_not_negative("epsilon", self.epsilon)
        made, known, n_slots = self._mapped(X, task, tasks)
        target = column_or_1d(numbers(y, made.shape[0]), warn=True)
        dual = self.loss == "epsilon_insensitive" or made.shape[0] < made.shape[1]
        machine = LinearSVR(
            C=self.C,
            epsilon=self.epsilon,
            loss=self.loss,
            dual=dual,
            tol=self.tol,
            max_iter=self.max_iter,
            fit_intercept=False,
            random_state=0,
        )
        machine.fit(made, target)
        self._keep(known, n_slots, [(machine.coef_, int(machine.n_iter_))])


def factor_of(relation: Any, tasks: Sequence[Hashable], new: Sequence[Hashable] = ()) -> tuple[Array, Array]:
    """F of M = F F', for relations of groups.

    Raises
    ------
    TypeError
        If it is no relation, or the class of one.
    ValueError
        For another relation.
    """
    used = fixed_relation_of(relation)
    if not hasattr(used, "factor"):
        raise ValueError(
            f"relation {used!r} is not one of groups: take MultitaskSVC or MultitaskSVR with kernel='linear'"
        )
    values, slots = used.factor(list(tasks), list(new))
    return values, slots


def features(points: Points, values: Array, slots: Array, n_slots: int) -> Any:
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


def _check_size(points: Points, copies: int, n_slots: int) -> None:
    columns, entries = n_slots * points.features, copies * int(np.size(points.rows[0]))
    if max(columns, entries) > MOST:
        raise ValueError(
            f"LIBLINEAR takes up to {MOST} weights and entries, and these would be {max(columns, entries)}"
        )
    what = f"a machine of {n_slots} tasks and groups with {points.features} features"
    memory.require(8.0 * 4 * columns + 24.0 * entries, what, "hash the features into fewer columns")
