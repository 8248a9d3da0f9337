"""The base class of batch estimators: input validation, tasks, and saving."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from os import PathLike
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from coterie import persistence, spec
from coterie._compiled.core.checks import require
from coterie._compiled.core.points import Points, points
from coterie._compiled.core.records import Csr, place_unseen
from coterie.data import tabular
from coterie.data.input import Input, InputOptions, ReadContext
from coterie.kernels import Gaussian, Kernel, KernelLike, Linear, Precomputed, as_kernel
from coterie.parameters import Parameters, tags
from coterie.settings import check_fields
from coterie.tasks.index import Index, check_no_collisions, distinct_labels
from coterie.tasks.relations.matrices import check_symmetric, labels_of, square
from coterie.types import AnyRows, Array, Arrays, Codes, Json, Labels, Records, Tasks

from .kernel_expansion import KernelExpansion, PredictionTasks
from .output_kernels import BatchRelation, relation_of
from .target_codes import Classes, Numbers

if TYPE_CHECKING:
    from sklearn.utils import Tags


class TrainingRows(NamedTuple):
    """The training records, and the task of each; None if each record has the outputs of all tasks."""

    points: Points
    tasks: Index | None
    codes: Codes | None

    def one_task_each(self, tasks: Sequence[Hashable] | None) -> tuple[Index, Codes]:
        """Return all tasks, ``tasks`` first and then those of the records, and the task index of each record."""
        if self.tasks is None or self.codes is None:
            raise ValueError("y has one column, so each row needs a task; pass task=")
        known = Index([*(() if tasks is None else labels_of(tasks)), *self.tasks.labels])
        spec.check_labels(known.labels)
        return known, np.array([known.numbers[label] for label in self.tasks.labels], np.int64)[self.codes]


@spec.with_constructor
class _Reading(Parameters):
    """Base class with the parameters that determine how records are read."""

    _: KW_ONLY
    dtype: Literal["float64", "float32"] = "float64"
    task_column: Hashable | None = None
    new_task: Literal["grow", "raise"] = "grow"


class BatchEstimator(_Reading):
    """Base class of batch (offline) estimators.

    Attributes
    ----------
    tasks_ : list
        The tasks learned from, in order of first appearance.
    relation_matrix_ : ndarray, shape (n_tasks, n_tasks)
        The output kernel M = A⁻¹ of these tasks.
    dual_coef_ : ndarray
        The coefficients of the rows learned from.
    n_features_in_ : int
        Width of the arrays learned from; absent if records were dictionaries.
    """

    _learned = "expansion_"
    _learning = "fit"
    _learns_streams = False

    #: The names of fitted attributes in a model file, in addition to ``expansion_``.
    _saved: ClassVar[tuple[str, ...]] = ()
    #: Attributes that exist for some parameters only.
    _optional: ClassVar[tuple[str, ...]] = ("objective_",)
    _several_outputs: ClassVar[bool] = True

    kernel: KernelLike | None
    relation: BatchRelation | None

    #: The meaning of outputs; for a classifier, its labels.
    labels_: Numbers | Classes = Numbers()
    expansion_: KernelExpansion
    input_: Input

    @abstractmethod
    def _learn(self, X: Records, y: Labels, task: Tasks | None, tasks: Sequence[Hashable] | None) -> None:
        """Fit the model to the records X with outputs y."""

    @abstractmethod
    def _outputs(self, X: Records, task: Tasks | None) -> Array:
        """Return the p outputs at each of m records, shape (m,) or (m, p)."""

    # -- scikit-learn's conventions

    def fit(self, X: Records, y: Labels, task: Tasks | None = None, *, tasks: Sequence[Hashable] | None = None) -> Self:
        """Fit the model to these records, discarding any previous fit.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Arrow table or list of dictionaries, shape (n, d)
            The records; the (n, n) kernel matrix if the kernel is precomputed.
        y : array, shape (n,) or (n, p)
            Numbers: one output per row, or several if the estimator supports this. Labels: any values, one per row.
        task : array, shape (n,), optional
            The task of each row, any hashable labels.
        tasks : sequence of labels, optional
            Further tasks, with or without rows; if ``task`` is None, the tasks of the columns of y, by default
            their names in a frame, if the relation has these tasks or any, or the relation's tasks in its order.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        check_fields(self)
        fresh = self.__sklearn_clone__()
        fresh._learn(X, y, task, tasks)
        return self._take_over(fresh)

    def predict(self, X: Records, task: Tasks | None = None) -> Array:
        """Predict the outputs or the label of each record for its task (or for all tasks, if trained so).

        Raises
        ------
        ValueError
            For a task without training rows, if ``new_task="raise"`` or the relation does not know it.
        """
        self._check_fitted()
        return self.labels_.labels(self._scores(X, task))

    def score(self, X: Records, y: Labels, task: Tasks | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return R² (averaged over outputs), or the accuracy of a classifier."""
        return self.labels_.accuracy(y, self.predict(X, task), sample_weight)

    def save(self, path: str | PathLike[str]) -> None:
        """Save the model to one file atomically; see :func:`coterie.load`.

        Raises
        ------
        TypeError
            If a parameter has no JSON form, such as a kernel that is a function, because model files contain no code.
        """
        persistence.save(self, path)

    def __sklearn_tags__(self) -> Tags:
        pairwise = self._pairwise
        return tags(self._kind, several_outputs=self._several_outputs, sparse=not pairwise, pairwise=pairwise)

    # -- records and tasks

    @property
    def _pairwise(self) -> bool:
        """True if the records are precomputed kernel values, not features."""
        return isinstance(self.kernel, Precomputed) or self.kernel == "precomputed"

    def _kernel(self) -> Kernel:
        return Gaussian() if self.kernel is None else as_kernel(self.kernel)

    def _training_rows(self, X: Records, task: Tasks | None, shared: bool) -> TrainingRows:
        """Validate the training records X; if ``shared``, each may have the outputs of all tasks."""
        X, task = tabular.split_task(X, task, self.task_column)
        points = self._points(X, learning=True)
        if shared and task is None:
            return TrainingRows(points, None, None)
        labels = tabular.task_labels(task, len(points.squares))
        distinct, codes = distinct_labels(labels)
        return TrainingRows(points, Index(distinct), codes)

    def _values(self, X: Records, task: Tasks | None) -> Array:
        """Evaluate the learned functions at each record, for its task or for all tasks."""
        self._check_fitted()
        X, task = tabular.split_task(X, task, self.task_column)
        points, expansion = self._points(X, learning=False), self.expansion_
        if task is None and expansion.has_shared_rows:
            return expansion.values(points, None)
        labels = tabular.task_labels(task, len(points.squares), expansion.tasks.numbers)
        distinct, places = distinct_labels(labels)
        return expansion.values(points, PredictionTasks(distinct, self._unseen(distinct), places))

    def _unseen(self, distinct: Sequence[Hashable]) -> list[Hashable]:
        """Return those of the ``distinct`` tasks that have no training data.

        Raise ValueError if ``new_task='raise'``.
        """
        known = self.expansion_.tasks.numbers
        new = [label for label in distinct if label not in known]
        check_no_collisions(new, known)
        if new and self.new_task == "raise":
            raise ValueError(f"task {new[0]!r} was never fitted and new_task is 'raise'")
        return new

    def _points(self, X: Records, learning: bool) -> Points:
        """Validate X, and convert it to `Points`, the form that kernels read."""
        if learning:
            self.input_ = Input()
        counts_unseen = not learning and not isinstance(self._kernel(), Linear)
        self.input_.configure(InputOptions(type(self).__name__, counts_unseen=counts_unseen))
        rows, features, *_ = self.input_.read(X, None, None, ReadContext(learning=learning, first=learning))
        if counts_unseen and isinstance(rows, Csr):
            rows = place_unseen(rows, features)
            features = max(features, rows.width)
        if self.dtype != "float64":
            tabular.require_usable(tabular.as_array(rows, features), "X", self.input_.form.feature_names, self.dtype)
            rows = rows._replace(values=rows.values.astype(self.dtype))
        n = rows.n_records
        if learning and features == 0:
            raise ValueError(f"0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
        if learning and self._pairwise:
            check_gram(rows)
        return points(rows, np.arange(n), features)

    # -- the fitted model

    @property
    def tasks_(self) -> list[Hashable]:
        """The tasks in the training data."""
        self._check_fitted()
        return list(self.expansion_.tasks.labels)

    @property
    def dual_coef_(self) -> Array:
        """The dual coefficients of the training records, shaped like y."""
        self._check_fitted()
        return self.expansion_.coefficients

    @property
    def relation_matrix_(self) -> Array:
        """The matrix M = A⁻¹ by which the training tasks share, shape (n_tasks, n_tasks). It is the output kernel."""
        self._check_fitted()
        return self.expansion_.relation_matrix

    @property
    def _relation_used(self) -> BatchRelation:
        """The relation between tasks, by default ``MixedEffect(omega=0.5)``."""
        return relation_of(self.relation)

    # -- model files

    def _scores(self, X: Records, task: Tasks | None) -> Array:
        return self.labels_.scores(self._outputs(X, task))

    def __dump__(self) -> tuple[Json, Arrays]:
        """Return the fitted state as JSON data and named arrays."""
        if not self._fitted:
            return {}, {}
        data, arrays = self.expansion_.dump()
        noted, more = self.input_.to_saved()
        noted["kept"] |= {name: self.__dict__[name] for name in self._saved if name in self.__dict__}
        described, coded = self.labels_.dump()
        return data | noted | described, arrays | more | coded

    def __restore__(self, data: Json, arrays: Arrays) -> Self:
        """Restore the fitted state from the result of :meth:`__dump__`.

        Raises
        ------
        ValueError
            If a model with these parameters cannot have this state.
        """
        kernel = self._kernel()
        relation_of(self.relation)
        if data:
            require(self.dtype in tabular.LIMITS, f"dtype={self.dtype!r} is not a parameter of {type(self).__name__}")
            expansion = KernelExpansion.restored(kernel, self.relation, data, arrays)
            self.input_ = Input()
            self.input_.restore_form(data, arrays, expansion.features)
            attributes = {name: data["kept"][name] for name in self._saved if name in data["kept"]}
            for name, value in attributes.items():
                _check_kept(name, value, expansion.outputs)
            missing = [name for name in self._saved if name not in attributes and name not in self._optional]
            require(not missing, f"{missing} is missing")
            require(("labels" in data) == (self._kind == "classifier"), "labels are those of classifiers")
            if "labels" in data:
                self.labels_ = Classes.restored(data, arrays, expansion.outputs)
            self.__dict__.update(attributes)
            self.expansion_ = expansion
        return self


class BatchClassifier(BatchEstimator):
    """Base class of batch classifiers."""

    _kind: ClassVar[Literal["classifier", "regressor"]] = "classifier"
    _several_outputs = False
    labels_: Classes

    def decision_function(self, X: Records, task: Tasks | None = None) -> Array:
        """Return the score of each class, shape (m, n_classes); for two classes that of the second, shape (m,)."""
        self._check_fitted()
        return self._scores(X, task)

    @property
    def classes_(self) -> Array:
        """The sorted classes."""
        self._check_fitted()
        return self.labels_.classes


def _check_kept(name: str, value: AnyRows, outputs: int) -> None:
    """Raise ValueError if the fitted attribute ``name`` of a file has an invalid value."""
    numbers = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "if"
    require(numbers and np.isfinite(value).all(), f"{name} holds no numbers")
    fits = len(value) == outputs if name in _OF_OUTPUTS else len(value)
    require(fits, f"{name} has {len(value)} numbers for {outputs} outputs")


#: Fitted attributes with a number for each output.
_OF_OUTPUTS = ("intercept_", "center_")


def check_gram(rows: tabular.Rows) -> None:
    """Raise ValueError if ``rows``, a precomputed kernel matrix, is not square and symmetric.

    Raises
    ------
    ValueError
        With the shape, or the worst pair.
    """
    if not rows.dense:
        raise ValueError("X must be a dense kernel matrix for kernel='precomputed', got a sparse one")
    check_symmetric(square(rows.values, "X (the kernel matrix)"), "X (the kernel matrix)")
