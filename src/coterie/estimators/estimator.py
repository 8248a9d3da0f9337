"""The base class of online estimators: the methods of scikit-learn and River, saving, and baselines."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import persistence, spec, types
from coterie.data import tabular
from coterie.data.block import Block
from coterie.data.input import AnyInput, Input, InputOptions
from coterie.data.label_encoders import BinaryLabelEncoder
from coterie.evaluation.explanation import Explanation, Weights
from coterie.evaluation.stream_model import BlockPredictions, Margins
from coterie.kernels import Precomputed
from coterie.models.contract import BaseLearner, LearnerState
from coterie.parameters import Parameters
from coterie.settings import check_fields
from coterie.tasks.relations import HalfUpdate, Independent, Intercepts, Pooled
from coterie.types import Array, Arrays, Estimator, Estimators, Inputs, Json, Part, Record, Tasks

from .explaining import explain, largest_weights, weights_of
from .online_model import LabelKind, OnlineModel, Settings
from .passes import AUTO, learn_passes, most_passes
from .sample_weights import check_class_weight

#: The parameters that a model has in common with its baselines.
_FOR_BASELINES = ("fit_intercept", "scale", "log", "storage", "task_column", "new_task", "half_life", "class_weight")


def baseline_parameters(model: Estimator) -> Json:
    """Return the parameters of a model that its baselines also use, by name."""
    return {name: value for name, value in model.get_params(deep=False).items() if name in _FOR_BASELINES}


def _are_alike(one: Any, other: Any) -> bool:
    """Return True if two estimators have the same class and equal parameters."""
    return isinstance(one, Parameters) and type(one) is type(other) and spec.to_json(one) == spec.to_json(other)


class _Available:
    """A method that exists only if a condition holds, as with scikit-learn's ``available_if``.

    scikit-learn's own takes a second to import, and learning does not need it.
    """

    def __init__(self, condition: Callable[[Any], bool], lacking: str, method: Callable[..., Any]) -> None:
        self._method, self._condition, self._lacking = method, condition, lacking
        self.__doc__ = method.__doc__
        self.__wrapped__ = method

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self._method
        if not self._condition(instance):
            raise AttributeError(f"{instance!r} {self._lacking}")
        return self._method.__get__(instance, owner)


_probabilities = partial(
    _Available,
    lambda estimator: estimator._kind == "classifier" and estimator._model.learner.traits.log_odds is not None,
    "has no probabilities: not all of its margins are log-odds",
)
_classifiers = partial(
    _Available, lambda estimator: estimator._kind == "classifier", "predicts numbers, which have no classes"
)


class OnlineEstimator(Parameters):
    """Base class of online estimators; a subclass has a constructor and creates the learner for its parameters.

    Threads may share an estimator: a call that learns, predicts or saves blocks all others.

    Attributes
    ----------
    classes_ : ndarray
        The labels seen, the negative one first.
    tasks_ : list
        The tasks seen, in order of first appearance; the last one takes the place of a forgotten one.
    coef_ : ndarray or csr_array, shape (n_tasks, n_features)
        The weights that predictions use, for features after scaling. Sparse if the names of features are hashed.
    intercept_ : ndarray, shape (n_tasks,)
        The weights of the constant, 0 without one.
    relation_matrix_ : ndarray, shape (n_tasks, n_tasks)
        A⁻¹ on the paper's scale; relations given by ``share=`` learn with M_ij / sqrt(M_ii M_jj).
    memory_ : int
        Bytes of the arrays of the learned state.
    n_features_in_ : int
        Number of columns of the arrays or frames learned from, without ``task_column``; absent if records were
        dictionaries.
    feature_names_in_ : ndarray of str
        Names of the columns of the frames learned from, if all are text; otherwise absent.
    encoder_ : RecordEncoder
        The conversion of records of files to rows, which also reads dictionaries. Absent if no file was read.
    state_ : State
        The whole learned state, for inspection.
    """

    __slots__ = ("_inner",)

    #: The inner model as it was last configured; ``_model`` is the one to use.
    _inner: OnlineModel

    task_column: Hashable | None
    new_task: str
    max_tasks: int | None = None
    class_weight: Any = None
    relation: Part
    #: True for estimators that learn how much tasks share; they warn of records without a task.
    _expects_tasks: bool = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Create an instance with an unfitted inner model."""
        estimator = super().__new__(cls)
        estimator._inner = OnlineModel(estimator._make_input())
        return estimator

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; a changed parameter disables the fast path of the inner model."""
        object.__setattr__(self, name, value)
        if name != "_inner":
            self._inner.fast_path = None

    # -- for subclasses to define ---------------------------------------------------------------------------------

    @abstractmethod
    def _make_learner(self) -> BaseLearner:
        """Return the learner for the current parameters."""

    def _label_kind(self) -> LabelKind:
        """Return the class of label encoders; by default that of binary labels."""
        return BinaryLabelEncoder

    def _make_input(self) -> AnyInput:
        """Return the initial input encoder; by default that of records with one feature vector."""
        return Input()

    @property
    def _is_binary(self) -> bool:
        """True for classifiers of two labels, with one feature vector per record."""
        return self._kind == "classifier" and not self._many_classes and type(self._make_input()) is Input

    def _check_parameters(self) -> None:
        """Raise ValueError for invalid parameters that the learner's constructor does not check."""
        check_fields(self)
        check_class_weight(self.class_weight)

    def _reading(self) -> InputOptions:
        """The options for encoding records, taken from the estimator's parameters."""
        return InputOptions(type(self).__name__, self.task_column, expects_tasks=self._expects_tasks)

    @property
    def _relation_used(self) -> Part:
        """The relation between tasks; by default :class:`HalfUpdate`."""
        return HalfUpdate() if self.relation is None else self.relation

    # -- inner model ----------------------------------------------------------------------------------------------

    @property
    def _model(self) -> OnlineModel:
        """The inner model, configured with the current parameters."""
        inner, parameters = self._inner, self._parameter_getter()(self)
        if inner.parameters is None or inner.parameters != parameters:
            with inner.lock:
                self._check_parameters()
                options = self.new_task, self.max_tasks, self.class_weight
                settings = Settings(self._make_learner(), self._label_kind(), self._reading(), *options)
                inner.configure(parameters, settings, self._changed_names(inner.parameters, parameters))
        return inner

    def _changed_names(self, before: Any, after: Any) -> list[str]:
        """Return the names of the parameters that differ between two sets of values; empty before the first use."""
        names = list(spec.parameters_of(type(self)))
        if before is None:
            return []
        pairs = zip(names, before, after, strict=True) if len(names) > 1 else [(names[0], before, after)]
        return [name for name, old, new in pairs if old is not new and old != new and not _are_alike(old, new)]

    def __stream_model__(self) -> OnlineModel:
        """Return the inner model, for progressive validation, comparisons and commands."""
        return self._model

    def __predict_block__(self, block: Block, level: float = 0.9, all_labels: bool = False) -> BlockPredictions:
        """Return the prediction of each record of a file's block, with prediction intervals if ``level`` is set."""
        return self._fitted_model().predict(block).of_block(level, all_labels)

    def __dump__(self) -> tuple[Json, Arrays]:
        """Return the learned state as data with a JSON form and named arrays."""
        return self._model.dump() if self._fitted else ({}, {})

    def __restore__(self, data: Json, arrays: Arrays) -> Self:
        """Restore the learned state from the result of :meth:`__dump__`."""
        self._model.restore(data, arrays)
        return self

    def __getstate__(self) -> tuple[Json, Json]:
        """Return the attributes and the inner model, for :mod:`pickle`."""
        return self.__dict__, {"_inner": self._inner}

    def __copy__(self) -> Self:
        """Return a copy with equal parameters and a copy of the inner model."""
        duplicate = type(self).__new__(type(self))
        with self._inner.lock:
            duplicate.__dict__.update(self.__dict__)
            duplicate._inner = copy.deepcopy(self._inner)
        return duplicate

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags; NaN is a missing value if records are preprocessed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._reading().preprocesses
        kernel = getattr(getattr(self, "model", self), "kernel", None)
        tags.input_tags.pairwise = kernel in ("precomputed", Precomputed())
        return tags

    # -- arrays ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Inputs,
        y: types.Labels,
        task: Tasks | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        n_passes: int | Literal["auto"] = 1,
    ) -> Self:
        """Fit the model to X, y, discarding any previous fit.

        Records are learned in their order. If they are sorted by task, the adaptive estimators and mixed-effects
        models learn one record of each task in turn instead, because weights and scales would follow one task after
        the other; but not with ``max_tasks``.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Arrow table or list of dictionaries, shape (n, d)
            The records. (To predict, and for :meth:`partial_fit`, also a block of a reader of files.)
        y : array, shape (n,)
            Their labels, any two values.
        task : array, shape (n,), optional
            Their tasks, any hashable labels. Without it, and without ``task_column``, there is one task; the adaptive
            estimators warn then.
        sample_weight : array, shape (n,), optional
            The weight of each record, to a million; 1 by default, and below 1e-12 0 (predicted and not learned). See
            :mod:`coterie.estimators.sample_weights` for its effect on each learner.
        n_passes : int or "auto"
            The number of passes over the records. For an ensemble, such as the default, it is a maximum: passes go over
            the first nine tenths of the records, in their order, stop after the first pass that does not improve the
            predictions of the last tenth, and then learn that tenth once. The weights of members and the intervals of
            numbers come from the first pass and the last tenth, that is, from out-of-sample predictions. Fewer than
            20 records are learned once. ``"auto"`` does this with at most 20 passes, for any estimator.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For NaN or infinity, wrong shapes, other than two labels, or weights that are negative or not numbers. The
            model is then unchanged.
        """
        arguments = X, y, task, sample_weight
        try:
            # with max_tasks, each task would be forgotten before its next turn
            in_turn = self._reading().expects_tasks and self.max_tasks is None
            order = tabular.interleaving(X, task, self.task_column) if in_turn else None
            if order is not None:
                return self._fit(n_passes, *(tabular.take_rows(part, order) for part in arguments))
        except (LookupError, TypeError, ValueError):
            pass  # refused again below, in words that name the place of the fault
        return self._fit(n_passes, *arguments)

    def _fit(
        self,
        n_passes: int | Literal["auto"],
        X: Inputs,
        y: types.Labels,
        task: Tasks | None,
        sample_weight: ArrayLike | None,
    ) -> Self:
        """Fit the model to X, y in this order."""
        passes = most_passes(n_passes)
        # a new model replaces the old one at the end: if the records are refused, what was learned before stays
        fresh = type(self)(**self.get_params(deep=False))
        model = fresh._model
        if n_passes == AUTO or (passes > 1 and model.learner.traits.mixes):
            model = learn_passes(model, X, y, task, sample_weight, passes)
        else:
            model.learn(X, y, task, weights=sample_weight, whole=True, passes=passes)
            # only the first pass is "whole": it gets the total number of rounds
            for _ in range(passes - 1):
                model.learn(X, y, task, weights=sample_weight)
        self._inner.replace(model, fresh._inner.parameters)
        return self

    def partial_fit(
        self,
        X: Inputs,
        y: types.Labels | None = None,
        task: Tasks | None = None,
        classes: types.Labels | None = None,
        *,
        tasks: Sequence[Hashable] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Update the model with X, y in order.

        Parameters
        ----------
        X, y, task
            See :meth:`fit`. A block of a reader of files contains all three; pass it as X alone.
        classes : labels, optional
            All labels of the stream, if the first records may not contain all of them.
        tasks : sequence of labels, optional
            Tasks to know from now on, whether they occur in these records or not.
        sample_weight
            See :meth:`fit`.

        Returns
        -------
        self
        """
        self._model.learn(X, y, task, tasks=tasks, classes=classes, weights=sample_weight)
        return self

    def predict(self, X: Inputs, task: Tasks | None = None) -> Array:
        """Return the predicted label of each record; for two classes a zero margin is ``classes_[1]``.

        Raises
        ------
        ValueError
            For an unseen task, if ``new_task="raise"``; otherwise it is predicted by the weights
            that the relation gives to new tasks.
        """
        return self._fitted_model().predict(X, task).labels

    @_classifiers
    def decision_function(self, X: Inputs, task: Tasks | None = None) -> Margins:
        """Return the margin of each record, w_task · x, positive for ``classes_[1]``.

        For more than two classes the shape is (n, n_classes), with columns as in ``classes_``.

        Raises
        ------
        ValueError
            For an unseen task, if ``new_task="raise"``; otherwise it is predicted by the weights
            that the relation gives to new tasks.
        """
        return self._fitted_model().predict(X, task).decision

    @_probabilities
    def predict_proba(self, X: Inputs, task: Tasks | None = None) -> NDArray[np.float64]:
        """Return the probability of each class, shape (n, n_classes), columns as in ``classes_``.

        With ``class_weight`` it is the probability under label frequencies changed by the weights, not a rate
        (docs/labels.md).

        Raises
        ------
        AttributeError
            If the margins of the model are not log-odds; the method does not exist then.
        """
        return self._fitted_model().predict(X, task).probabilities

    def score(
        self, X: Inputs, y: types.Labels, task: Tasks | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy, or R² for numbers; weighted if there are weights."""
        return self._model.label_encoder.score(self.predict(X, task), y, sample_weight)

    # -- one record at a time -------------------------------------------------------------------------------------

    def learn_one(self, x: Record, y: Hashable, task: Hashable = None, *, sample_weight: float | None = None) -> None:
        """Update the model with one record, a dictionary of features; it may have new features and a new task.

        ``sample_weight`` is as in :meth:`fit`; a record with a weight takes a few tenths of a millisecond longer.
        """
        inner = self._inner
        (self._model if inner.fast_path is None else inner).learn_one(x, y, task, sample_weight)

    def predict_one(self, x: Record, task: Hashable = None) -> Any:
        """Return the label of one dictionary; before the first update None, or 0.0 for numbers."""
        inner = self._inner
        return (self._model if inner.fast_path is None else inner).predict_one(x, task)

    @_probabilities
    def predict_proba_one(self, x: Record, task: Hashable = None) -> dict[Any, float]:
        """Return the probability of each label of one dictionary; empty before the first update."""
        model = self._model
        with model.lock:
            if model.state is None:
                return {}
            labels, traits = model.label_encoder, model.learner.traits
            if traits.has_variances:
                probabilities = model.read_one(x, task).probabilities
            else:
                probabilities = labels.probabilities(np.asarray(model.decide_one(x, task))[None], traits.log_odds)
            return dict(zip(labels.ordered, probabilities[0].tolist(), strict=True))

    @_classifiers
    def decision_function_one(self, x: Record, task: Hashable = None) -> float:
        """Return the margin of one dictionary; 0.0 before the first update."""
        return float(self._model.decide_one(x, task)) if self._fitted else 0.0

    def explain(self, x: Any, task: Hashable = None) -> Explanation | dict[Hashable, Explanation]:
        """Explain the margin of one record as a sum of the features' contributions.

        ``margin = base + Σ part + rest``: a part is the task's weight for a feature, summed over the members of an
        ensemble, times the feature's value. ``rest`` is the nonlinear remainder: everything under a kernel.

        Parameters
        ----------
        x : mapping, array, sparse matrix or frame
            One record: a dictionary, an array of shape (d,) or (1, d), a sparse matrix or a frame of one row, or the
            row of a pandas frame (``df.iloc[0]``).
        task : label, optional
            Its task.

        Returns
        -------
        Explanation
            The explanation of the margin, positive for ``classes_[1]``, or of the predicted number. Each part has the
            feature's values after and before scaling. For more than two classes, and for sets of labels, a dictionary
            with an explanation for each label.

        Raises
        ------
        ValueError
            For records of several views, for more than one record, and for the reasons of :meth:`predict`.

        Notes
        -----
        O(nnz) margins of records with one feature each.

        Examples
        --------
        >>> import coterie as ct
        >>> model = ct.MultitaskPerceptron(ct.Independent())
        >>> model.learn_one({"fish": 1.0, "meat": 2.0, "drink": "tea"}, True, task="ann")
        >>> print(model.explain({"meat": 0.5, "drink": "tea", "bread": 3.0}, task="ann"))
        feature    value  part
        meat         0.5    +1
        drink=tea      1    +1
        margin              +2
        """
        return explain(self._fitted_model(), x, task)

    def largest_weights(
        self, task: Hashable = None, n: int = 10, *, spread: NDArray[np.float64] | None = None
    ) -> Weights | dict[Hashable, Weights]:
        """Return the features with the largest weights, either shared weights or a task's own weights.

        Parameters
        ----------
        task : label, optional
            One of ``tasks_``: list its weights minus the shared ones. By default list the shared weights.
        n : int
            The maximum number of features.
        spread : ndarray, shape (n_features,), optional
            The standard deviation of each feature, such as ``Comparison.spread[name]``; features are then ordered by
            weight times deviation.

        Returns
        -------
        Weights
            A list of :class:`coterie.evaluation.explanation.Weight`, the largest first, without zeros. For more than
            two classes, a dictionary with a list for each class.

        Raises
        ------
        ValueError
            For an unseen task, or a ``spread`` that is not an array.

        Notes
        -----
        O(d) margins. The shared weights are those of an unseen task. If a new task changes the weights of known tasks,
        as under a graph, they are the mean over the tasks (over the first ones, if they have more than 20 million
        weights together).

        Examples
        --------
        >>> import coterie as ct
        >>> model = ct.MultitaskPerceptron()
        >>> for x, liked, user in [({"fish": 1.0}, True, "ann"), ({"fish": 1.0, "meat": 2.0}, False, "bob")]:
        ...     model.learn_one(x, liked, task=user)
        >>> [(each.name, each.shared, each.own) for each in model.largest_weights("bob", n=1)]
        [('meat', -1.0, -1.0)]
        """
        return largest_weights(self._fitted_model(), task, n, spread)

    def learn_many(
        self, X: Inputs, y: types.Labels, task: Tasks | None = None, *, sample_weight: ArrayLike | None = None
    ) -> None:
        """Update the model with a batch of records in order (River's name of :meth:`partial_fit`)."""
        self.partial_fit(X, y, task, sample_weight=sample_weight)

    def predict_many(self, X: Inputs, task: Tasks | None = None) -> Any:
        """Predict labels (River's name of :meth:`predict`); a series for a pandas frame, else an array.

        Before the first update it returns the value of :meth:`predict_one` for each record.
        """
        if self._fitted or not self._inner.input.has_tasks:
            return tabular.indexed_as(X, self.predict(X, task))
        return tabular.indexed_as(X, np.full(tabular.count(X), self._model.label_encoder.unlearned))

    @_probabilities
    def predict_proba_many(self, X: Inputs, task: Tasks | None = None) -> Any:
        """Predict class probabilities (River's name of :meth:`predict_proba`); a pandas frame for a frame."""
        if self._fitted or not self._inner.input.has_tasks:
            return tabular.indexed_as(X, self.predict_proba(X, task), self.classes_)
        return tabular.indexed_as(X, np.zeros((tabular.count(X), 0)), [])

    def forget_task(self, task: Hashable) -> Self:
        """Forget a task: its own weights, its name and its counts, as if it had never been seen.

        Shared weights stay as they are. The last task of ``tasks_`` takes the place of the forgotten one.

        Parameters
        ----------
        task : label
            One of ``tasks_``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For an unknown task, or a model that cannot separate the task's own weights. The model is then unchanged.

        Examples
        --------
        >>> import coterie as ct
        >>> X, y, users = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["spam", "ham", "spam"], ["ann", "bob", "eve"]
        >>> model = ct.MultitaskLogistic().fit(X, y, task=users)
        >>> model.forget_task("ann").tasks_
        ['eve', 'bob']
        """
        return self.forget_tasks([task])

    def forget_tasks(self, tasks: Sequence[Hashable]) -> Self:
        """Forget several tasks, or none if one of them cannot be forgotten; see :meth:`forget_task`."""
        self._fitted_model().forget_tasks(tasks)
        return self

    # -- the fitted model -----------------------------------------------------------------------------------------

    @property
    def _fitted(self) -> bool:
        """True after the first update."""
        return self._inner.fitted

    def _fitted_model(self) -> OnlineModel:
        """Return the inner model; raise NotFittedError, also an AttributeError, before the first update."""
        self._check_fitted()
        return self._model

    @property
    def state_(self) -> LearnerState:
        """The complete learned state."""
        return self._fitted_model().state

    @property
    def classes_(self) -> Array:
        """The known labels; for two classes, the negative one first."""
        model = self._fitted_model()
        if self._kind != "classifier":
            raise AttributeError(f"{type(self).__name__} predicts numbers and has no classes")
        return np.asarray(model.label_encoder.classes)

    @property
    def tasks_(self) -> list[Hashable]:
        """The known tasks, in order of first appearance."""
        model = self._fitted_model()
        if not model.learner.traits.has_tasks:
            raise AttributeError(f"{type(self).__name__} has no tasks: its records have several views")
        return list(model.population.tasks.labels)

    @property
    def coef_(self) -> Any:
        """The weights on the scale of the labels, shape (n_tasks, n_features).

        A ``csr_array`` if names of features are hashed to ``2**bits`` columns, of which most are never used; otherwise,
        and for more than two classes, an ndarray. The weights of columns come first, then those of their
        missing-value indicators. Hashed names have one column for the constant. The sum is computed dense, about 10 MiB
        per task for ``2**18`` columns; see :meth:`largest_weights` for names and for many tasks.
        """
        weights, form = weights_of(self._fitted_model()), self._source.form
        if form.bits is not None and weights.ndim == 2:
            from scipy.sparse import csr_array

            return csr_array(weights)
        return weights if form.constant_column is None else np.delete(weights, form.constant_column, axis=-1)

    @property
    def intercept_(self) -> Array:
        """The intercepts, shape (n_tasks,): the weights of the constant; for regression plus the mean of the labels.

        If names are hashed, the weights of the constant are a column of ``coef_``, except those of mixed effects.
        """
        model, constant = self._fitted_model(), self._source.form.constant_column
        with model.lock:
            labels = model.label_encoder
            if constant is None and model.learner.models(model.state) == 1:
                of_all = np.zeros(len(model.population))  # not by the weights, which may have 2**bits columns
            else:
                weights = weights_of(model)
                of_all = np.zeros(weights.shape[:-1]) if constant is None else weights[..., constant]
            return np.asarray(labels.shift + of_all + labels.factor * model.learner.intercepts(model.state))

    @property
    def relation_matrix_(self) -> NDArray[np.float64]:
        """The matrix A⁻¹ by which tasks share updates, in the paper's scaling, shape (n_tasks, n_tasks).

        :class:`HalfUpdate` and relations with ``share=`` learn with M_ij / sqrt(M_ii M_jj), whose diagonal is 1.
        """
        model = self._fitted_model()
        with model.lock:
            return model.learner.relation_matrix(model.state)

    @property
    def memory_(self) -> int:
        """The memory of the state's arrays in bytes, without the unused capacity of sparse tables."""
        return int(self._fitted_model().state.nbytes)

    @property
    def _source(self) -> AnyInput:
        return self._inner.input

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns of ``coef_`` for tables and unhashed dictionaries; else None."""
        names, constant = self._source.form.feature_names, self._source.form.constant_column
        if names is not None and constant is not None:
            del names[constant]
        return names

    def save(self, path: str | PathLike[str]) -> None:
        """Save the model to one file atomically; see :func:`coterie.load`.

        Other threads may learn and predict after the model has been copied, while the copy is written.
        """
        persistence.save(self, path, self._inner.lock)

    # -- comparison with other models -----------------------------------------------------------------------------

    def _with_relation(self, relation: Part) -> Estimator:
        """Return an unfitted copy with this relation between tasks, as a baseline.

        It has no ``max_tasks``, because a model that forgets tasks is not a fair baseline.
        """
        parameters = self.get_params(deep=False)
        unbounded = {"max_tasks": None} if "max_tasks" in parameters else {}
        return type(self)(**{**parameters, "relation": relation, **unbounded})

    def __baselines__(self, seen: Inputs | None = None) -> Estimators:
        """Return the baselines: one model per task, one for all tasks, and one for all with an intercept per task.

        ``seen`` has the records so far.
        """
        baselines = {"independent": self._with_relation(Independent()), "pooled": self._with_relation(Pooled())}
        intercepts = self._with_intercepts()
        if intercepts is None:
            return baselines
        return baselines | {"intercepts": intercepts, "mixed model": self._mixed_model()}

    def _with_intercepts(self) -> Estimator:
        """Return the baseline of one gradient model for all tasks with an intercept per task.

        It reads records as this model does. None for a kernel, and for tasks with separate features, because tasks then
        have no weights to share.
        """
        from coterie import estimators  # by its name there: the modules of estimators import this one

        kind = "MultitaskRegressor" if self._kind == "regressor" else "MultitaskLogistic"
        has_kernel = getattr(self, "kernel", None) is not None
        return None if has_kernel else getattr(estimators, kind)(Intercepts(), **baseline_parameters(self))

    def _mixed_model(self) -> Estimator:
        """Return an unfitted mixed-effects model with random intercepts as a baseline, and the input of this model."""
        from coterie import estimators

        kind = "MultitaskMixedEffectsRegressor" if self._kind == "regressor" else "MultitaskMixedEffectsClassifier"
        return getattr(estimators, kind)._as_baseline(self)
