"""Models of records that every task predicts and learns at once: y has a column a task."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from os import PathLike
from typing import Any, ClassVar, Literal, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from coterie import persistence, spec
from coterie.evaluation.stream_model import Asking, Margins, Rounds
from coterie.inputs import tabular
from coterie.inputs.block import Block
from coterie.inputs.input import Input
from coterie.inputs.keys import is_missing
from coterie.inputs.labels import Targets
from coterie.numeric.core.checks import require
from coterie.numeric.core.fields import LARGEST_VALUE
from coterie.parameters import Parameters, tags
from coterie.round.contract import Run

from .estimator import OnlineEstimator, baselines_of
from .model import OnlineModel
from .passes import most_passes
from .perceptron import MultitaskPerceptron
from .regression import MultitaskRegressor
from .saving import restore

Flags = NDArray[np.bool_]


class Outputs(NamedTuple):
    """Labels of every task: values and which of them there are, shape (n, K), and the tasks of the columns."""

    values: NDArray[Any]
    given: Flags
    tasks: list[Hashable]
    named: bool

    @property
    def labels(self) -> Any:
        """The labels that there are, record after record."""
        found = self.values[self.given]
        return found.tolist() if found.dtype.kind == "O" else found

    def as_numbers(self) -> Outputs:
        """The same as float64; ValueError naming the first that is no number, or too large."""
        plain = self.values.dtype.kind in "biuf"
        fits = np.abs(np.where(self.given, self.values, 0.0)) <= LARGEST_VALUE if plain else np.zeros_like(self.given)
        for t, k in np.argwhere(self.given & ~fits):
            held = self.values[t, k : k + 1].tolist()[0]
            if not Targets.takes(held):
                reason = f"must be a number of at most {LARGEST_VALUE:g}, got {held!r}"
                raise ValueError(f"label of record {t} (from 0) and task {self.tasks[k]!r} {reason}")
        numbers = np.zeros(self.values.shape)
        numbers[self.given] = self.values[self.given].astype(np.float64)
        return self._replace(values=numbers)


def read_outputs(y: Any, tasks: list[Hashable] | None) -> Outputs:
    """Labels as users give them: an array or frame of shape (n, K), or a list of dictionaries from task to label.

    Raises
    ------
    ValueError
        If they have another shape, or the labels of a task that is none of those that are known.
    """
    if tabular.is_records(y):
        names = dict.fromkeys(name for record in y for name in record)
        columns = {name: _objects([[record.get(name)] for record in y])[:, 0] for name in names}
    elif hasattr(y, "columns"):
        names = dict.fromkeys(getattr(y, "column_names", y.columns))
        if len(names) < len(getattr(y, "column_names", y.columns)):
            raise ValueError("y has two columns of one name, and names are those of tasks")
        columns = {tabular.one_task(name): np.asarray(y[name]) for name in names}
    else:
        if y is None:
            raise ValueError("y is missing: this estimator requires y to be passed, but the target y is None")
        values = np.asarray(y) if hasattr(y, "__array__") else _objects(y)
        if values.ndim != 2:
            raise ValueError(f"y must hold a label for each record and task, shape (n, K), got shape {values.shape}")
        if tasks is not None and len(tasks) != values.shape[1]:
            raise ValueError(f"y must have a column for each of {len(tasks)} tasks, got {values.shape[1]}")
        return Outputs(values, _given(values), list(range(values.shape[1])) if tasks is None else tasks, named=False)
    tasks = list(columns) if tasks is None else tasks
    for name in columns:
        if name not in tasks:
            raise ValueError(f"y has labels of task {name!r}, and the tasks are {', '.join(map(repr, tasks))}")
    nothing = np.full(len(y), None, object)
    each = [columns.get(task, nothing) for task in tasks]
    plain = all(column.dtype.kind in "biuf" for column in each)
    values = np.column_stack(each if plain else [column.astype(object) for column in each])
    return Outputs(values, _given(values), tasks, named=True)


def _objects(rows: Sequence[Any]) -> NDArray[Any]:
    """Rows of one length as an array of what they hold, none turned into another type; else an array of the rows."""
    lengths = {len(row) if isinstance(row, (list, tuple, np.ndarray)) else -1 for row in rows}
    shape = (len(rows), *(lengths if len(lengths) == 1 and -1 not in lengths else ()))
    made = np.empty(shape, object)
    for t, row in enumerate(rows):
        for k, held in enumerate(row) if len(shape) == 2 else ():
            made[t, k] = held
    return made


def _given(values: NDArray[Any]) -> Flags:
    """Flags of the labels that are there; the empty text is one."""
    if values.dtype.kind == "f":
        return np.asarray(~np.isnan(values))
    if values.dtype.kind != "O":
        return np.ones(values.shape, bool)
    found = [not is_missing(held) or isinstance(held, str) for held in values.ravel().tolist()]
    return np.array(found, bool).reshape(values.shape)


@dataclass(frozen=True)
class LabelledTurns(Block):
    """Records of which every task has a label, or some: as :class:`Block`, but X has a row a record.

    ``y``, ``task``, ``place`` and ``weight`` have an entry for each label, ``record`` and ``column`` say of which row
    of X and which of ``every`` task it is.
    """

    record: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    column: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    every: Sequence[Hashable] = ()

    def piece(self, first: int, last: int) -> Self:
        """The labels from ``first`` to before ``last``, which are those of whole records."""
        cut = slice(first, last)
        record, column = self.record[cut], self.column[cut]
        X = self.X[record[0] : record[-1] + 1]
        return replace(self, X=X, record=record - record[0], column=column, **self._beside(cut))

    def pieces(self, size: int) -> Iterator[Self]:
        """The records in blocks of at most ``size`` labels, or of one record."""
        ends = np.append(np.flatnonzero(np.diff(self.record)) + 1, len(self))
        first = 0
        while first < len(self):
            last = int(
                ends[max(np.searchsorted(ends, first + size, "right") - 1, np.searchsorted(ends, first, "right"))]
            )
            yield self.piece(first, last)
            first = last


@spec.with_constructor
class _ManyOutputs(Parameters):
    """The base of classifier and regressor: a linear model, all of whose tasks learn each record at once."""

    _usual: ClassVar[type[OnlineEstimator]]
    #: River's classifiers and regressors, and services, have one label a record.
    _learns_streams = False
    _learned = "model_"

    model: Any = None
    _: KW_ONLY
    tasks: Sequence[Hashable] | None = None

    @property
    def _within(self) -> Any:
        """The model whose tasks are the columns of y, as it is given."""
        return self._usual() if self.model is None else self.model

    def _nested(self, name: str, given: Any) -> Any:
        """The model that a parameter stands for."""
        return self._within if name == "model" and given is None else super()._nested(name, given)

    def _check(self) -> None:
        """Refuse a model of other labels, or whose tasks cannot learn at once: TypeError or ValueError."""
        spec.require_instance("model", self.model)
        model = self._within
        if not isinstance(model, OnlineEstimator) or model._kind != self._kind or model._many_classes:
            raise TypeError(f"model must be an online {self._kind} such as {self._usual.__name__}(), got {model!r}")
        for name in ("task_column", "max_tasks", "class_weight"):
            if getattr(model, name) is not None:
                raise ValueError(f"{name} cannot be had where y has a column a task: leave it out of {model!r}")
        model._make_learner().refuse_at_once()

    @property
    def _taught(self) -> OnlineModel:
        """The inner model of the fitted linear model, under the current parameters."""
        self._check()
        if "model_" not in self.__dict__:
            self.model_ = self._within.__sklearn_clone__()
        elif type(self.model_) is not type(self._within):
            raise TypeError(f"{self.model_!r} has learned: call fit to learn by {self._within!r}")
        else:
            self.model_.set_params(
                **{
                    n: held
                    for n, held in self._within.get_params(deep=False).items()
                    if held is not getattr(self.model_, n)
                }
            )
        inner: OnlineModel = self.model_.__stream_model__()
        return inner

    @property
    def _fitted(self) -> bool:
        """True once anything has been learned."""
        return "tasks_" in self.__dict__

    # -- arrays ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None, n_passes: int = 1) -> Self:
        """Forget everything and learn from X, y in order.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Arrow table or list of dictionaries, shape (n, d)
            The records.
        y : array or data frame of shape (n, K), or list of dictionaries
            A label for each record and task; None, NaN and what a dictionary does not hold is missing, and that task
            does not learn the record. Names of columns are those of the tasks.
        sample_weight : array, shape (n,), optional
            How much each record counts.
        n_passes : int
            How many times to go through the records.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For labels of another shape, of other tasks, or that the model refuses. Nothing is changed then.
        """
        passes = most_passes(n_passes, auto=False)
        fresh = type(self)(**self.get_params(deep=False))
        for done in range(passes):
            fresh._learn(X, y, weights=sample_weight, whole=not done, passes=passes)
        return self._take_over(fresh)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, *, sample_weight: Any = None) -> Self:
        """Go on learning from X, y in order; ``classes`` are labels there will be. Else as :meth:`fit`."""
        self._learn(X, y, weights=sample_weight, classes=classes)
        return self

    def _learn(self, X: Any, y: Any, **how: Any) -> tuple[Margins, Flags]:
        inner = self._taught
        outputs = self._outputs(y, inner)
        told = inner.learn_at_once(X, outputs.values, outputs.given, outputs.tasks, **how)
        self.tasks_ = outputs.tasks
        return told

    def _outputs(self, y: Any, inner: OnlineModel) -> Outputs:
        known = self.tasks_ if self._fitted else self.tasks
        if known is not None:
            known = list(map(tabular.one_task, known))
            if len(set(known)) < len(known):
                raise ValueError(f"tasks must be one a column, got {known}")
        outputs = read_outputs(y, known)
        learner: Any = inner.learner
        if known is None and not outputs.named and learner.traits.named:
            named = list(learner.traits.named)
            if len(named) != len(outputs.tasks):
                raise ValueError(f"y must have a column for each of {len(named)} tasks, got {len(outputs.tasks)}")
            outputs = outputs._replace(tasks=named)
        if self._kind == "regressor":
            outputs = outputs.as_numbers()
        return outputs

    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted label of each record and task, shape (n, K), columns as ``tasks_``. Nothing is learned."""
        margins = self._margins(X)
        labels = self._taught.label_kind.labels(margins.ravel())
        return np.asarray(labels).reshape(margins.shape)

    def _margins(self, X: Any) -> Margins:
        self._check_fitted()
        inner = self._taught
        source, population = cast(Input, inner.input), inner.population
        with inner.lock:
            rows, _ = source.read_rows(X, False, False)
            population.refuse_unseen(self.tasks_)
            n, numbers = rows.n_records, population.tasks.find(self.tasks_).tolist()
            runs = [
                Run(rows, np.full(n, number), [] if number >= 0 else [task] * n)
                for task, number in zip(self.tasks_, numbers, strict=True)
            ]
            margins = np.column_stack([population.predict(run).margins for run in runs])
            return np.asarray(inner.label_kind.shift + inner.label_kind.factor * margins)

    # -- one record at a time -------------------------------------------------------------------------------------

    def learn_one(self, x: Mapping[Any, Any], y: Mapping[Hashable, Any], *, sample_weight: float | None = None) -> None:
        """Learn one record, a dictionary of features, with the labels of tasks, a dictionary too."""
        self.partial_fit([x], [y], sample_weight=None if sample_weight is None else [sample_weight])

    def predict_one(self, x: Mapping[Any, Any]) -> dict[Hashable, Any]:
        """The label of each task for one record; no tasks before anything is learned."""
        return dict(zip(self.tasks_, self.predict([x])[0].tolist(), strict=True)) if self._fitted else {}

    # -- a task at a time -----------------------------------------------------------------------------------------

    def explain(self, x: Any, task: Hashable = None) -> Any:
        """The margin of one record for a task as a sum of its features' parts, as ``model_`` says it."""
        self._check_fitted()
        return self.model_.explain(x, task)

    def largest_weights(self, task: Hashable = None, n: int = 10, *, spread: NDArray[np.float64] | None = None) -> Any:
        """The largest weights that all tasks share, or in what a task differs from them, as ``model_`` has them."""
        self._check_fitted()
        return self.model_.largest_weights(task, n, spread=spread)

    def forget_task(self, task: Hashable) -> Self:
        """Forget a task's own weights, as ``model_`` does; it remains a column of y, and begins anew."""
        return self.forget_tasks([task])

    def forget_tasks(self, tasks: Sequence[Hashable]) -> Self:
        """Forget several tasks, or none if one of them is refused; see :meth:`forget_task`."""
        self._check_fitted()
        self.model_.forget_tasks(tasks)
        return self

    # -- beside other models, and files ---------------------------------------------------------------------------

    def _with_relation(self, relation: Any) -> Self:
        """An unfitted model like this one, whose tasks share by this relation."""
        return type(self)(self._within._with_relation(relation), tasks=self.tasks)

    def __baselines__(self, seen: Any = None) -> dict[str, Any]:
        """The baselines of a comparison with this model: one per task, one for all, and that with tasks' constants."""
        return baselines_of(self)

    def _with_intercepts(self) -> Self | None:
        """An unfitted model like this one of all tasks, with a constant of each; None where there is none."""
        made = self._within._with_intercepts()
        return made and type(self)(made, tasks=self.tasks)

    def __stream_model__(self) -> _AtOnce:
        """The stream model, in which every label is a round."""
        return _AtOnce(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, completely or not at all; see :func:`coterie.load`."""
        persistence.save(self, path, self._taught.lock)

    def __dump__(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything there is to keep, as data with a JSON form and named arrays."""
        if not self._fitted:
            return {}, {}
        data, arrays = self.model_.__dump__()
        return {"model": data, "tasks": list(self.tasks_)}, arrays

    def __restore__(self, data: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Undo :meth:`__dump__`; ValueError for data that do not fit such a model."""
        if data:
            restore(self._taught, data["model"], arrays)
            tasks = spec.labels_of(data["tasks"])
            whole = len(set(tasks)) == len(tasks) and set(self.model_.tasks_) <= set(tasks)  # but for those forgotten
            require(whole, "the columns of y are not those of the tasks")
            self.tasks_ = tasks
        return self

    @property
    def n_features_in_(self) -> int:
        """Width of the arrays learned from."""
        self._check_fitted(AttributeError)
        return int(self.model_.n_features_in_)

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns of the frames learned from."""
        self._check_fitted(AttributeError)
        return self.model_.feature_names_in_

    def __sklearn_tags__(self) -> Any:
        """scikit-learn's tags: y has two dimensions."""
        made = tags(self._kind, many_classes=False, several_outputs=True)
        made.target_tags.single_output = False
        made.input_tags.allow_nan = self._within._reading().prepares
        return made


@persistence.register
class MultiOutputClassifier(_ManyOutputs):
    r"""All tasks at once: each record has a label for every task, all are predicted before any is learned (CCG08 §8).

    y has shape (n, K), a column a task, of two labels. In a round every task predicts the record x, m = W x with a row
    of W for each; then the tasks move by the margins that were predicted,

        W <- W + M (τ * y) x',        τ_k = the rule's step at y_k m_k,

    so that no task's move depends on another's label of the same record, as it would in K rounds in turn. On any
    sequence the Perceptron makes at most L + c q + sqrt(c q L) mistakes, for every comparator u of hinge loss L, where
    q = u'(A ⊗ I)u and c = max‖x‖² λ_max(M), in the place of max_i M_ii: a round with mistakes of the tasks S adds
    2 Σ_S y_k m_k <= 0 and ‖x‖² Σ_{k,l∈S} y_k y_l M_kl <= ‖x‖² λ_max(M) |S| to the squared norm of W, and the rest is
    the proof of Theorem 1.

    Passive-aggressive steps have Σ_{l∈S} |M_kl| in the place of M_kk, S being the tasks that move by the record, so
    that tasks that share meet the margin together. A round then adds at most ‖x‖² Σ_{k∈S} τ_k² Σ_{l∈S} |M_kl|
    (Gershgorin), and the bounds of Crammer et al. (2006, Theorems 2, 4 and 5) hold with ‖u‖² = u'(A ⊗ I)u and
    R² = max‖x‖² max_k Σ_l |M_kl|.

    Parameters
    ----------
    model : online classifier, optional
        The linear model whose tasks are the columns, unfitted: :class:`MultitaskPerceptron` (without) under any fixed
        relation, or :class:`MultitaskLogistic`. It sets the preparation, storage and rule.
    tasks : sequence of labels, optional
        The tasks, in the order of the columns. Without, the names of y's columns, else the tasks that the relation
        names, else 0, ..., K - 1.

    Attributes
    ----------
    tasks_ : list
        The tasks, in the order of the columns.
    model_ : online classifier
        The model that has learned: its ``coef_``, ``relation_matrix_``, ``explain`` and all else, a task at a time.

    Raises
    ------
    TypeError
        For a model that is not of two labels, has a learned relation, or averages or forgets.
    ValueError
        For a model with ``task_column``, ``max_tasks`` or ``class_weight``.

    Notes
    -----
    O(K nnz levels) a record under relations of nested groups, O(K nnz) and O(K nnz) a mistake under others. A label
    that is missing (None, NaN) is that of a task that does not learn the record. In a trace of
    :func:`progressive_validation` every label is a round. Steps with rates of their own (:class:`MultitaskLogistic`)
    follow each other in the order of the tasks, each with the slope at the margin predicted.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, common = rng.normal(size=(500, 10)), rng.normal(size=10)
    >>> y = X @ (common + 0.5 * rng.normal(size=(4, 10))).T > 0
    >>> model = ct.MultiOutputClassifier(ct.MultitaskPerceptron(ct.MeanRegularized(share=0.5)))
    >>> trace = ct.progressive_validation(model, X, y)
    >>> trace.n, bool(trace.error < 0.15), model.predict(X[:2]).shape
    (2000, True, (2, 4))
    """

    _usual = MultitaskPerceptron

    def decision_function(self, X: Any) -> Margins:
        """The margin of each record and task, shape (n, K), columns as ``tasks_``. Nothing is learned."""
        return self._margins(X)

    @property
    def classes_(self) -> NDArray[Any]:
        """The two labels, the negative one first."""
        self._check_fitted(AttributeError)
        return np.asarray(self.model_.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the labels that are predicted right, of those there are."""
        predicted, outputs = self.predict(X), self._outputs(y, self._taught)
        given = outputs.given
        right = (predicted[given] == np.asarray(outputs.labels)).astype(float)
        return float(np.average(right, weights=_of_labels(sample_weight, given)))


@persistence.register
class MultiOutputRegressor(_ManyOutputs):
    """All tasks at once, whose labels are numbers: see :class:`MultiOutputClassifier`.

    All tasks' numbers are brought to one mean and standard deviation, those so far, as in :class:`MultitaskRegressor`.

    Parameters
    ----------
    model : online regressor, optional
        The linear model whose tasks are the columns, unfitted: :class:`MultitaskRegressor` (without). With
        ``loss=EpsilonInsensitive()`` under any fixed relation.
    tasks : sequence of labels, optional
        As in :class:`MultiOutputClassifier`.

    Attributes
    ----------
    tasks_ : list
        The tasks, in the order of the columns.
    model_ : online regressor
        The model that has learned.

    Raises
    ------
    TypeError, ValueError
        As in :class:`MultiOutputClassifier`.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 5))
    >>> y = X @ rng.normal(size=(5, 3)) + [10.0, 11.0, 12.0]
    >>> model = ct.MultiOutputRegressor().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    _kind: ClassVar[Literal["classifier", "regressor"]] = "regressor"
    _usual = MultitaskRegressor

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² in the mean over the tasks that have labels, of those there are."""
        from sklearn.metrics import r2_score

        predicted, outputs = self.predict(X), self._outputs(y, self._taught)
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        each = [
            r2_score(true[there], told[there], sample_weight=None if weights is None else weights[there])
            for true, told, there in zip(outputs.values.T, predicted.T, outputs.given.T, strict=True)
            if there.any()
        ]
        return float(np.mean(each))


class _AtOnce:
    """The stream model of records that all tasks learn at once: that of the linear model, but for the blocks."""

    def __init__(self, model: _ManyOutputs) -> None:
        self._model, self._taught = model, model._taught

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._taught, name)

    def as_block(self, X: Any, y: Any, task: Any = None, weights: Any = None) -> LabelledTurns:
        """Validate records and their labels, for :meth:`learn`."""
        if task is not None:
            raise ValueError("every task learns each record: task= must name none")
        outputs = self._model._outputs(y, self._taught)
        given, tasks = outputs.given, tabular.objects(outputs.tasks)
        if not given.any():
            raise ValueError("y holds no label: all are missing")
        labels = outputs.labels
        first = [next(iter(row[there]), labels[0]) for row, there in zip(outputs.values, given, strict=True)]
        block = self._taught.as_block(X, first, outputs.tasks[:1] * len(first), weights)  # whose task is of no account
        record, column = np.nonzero(given)
        return LabelledTurns(
            block.X,
            self._taught.label_kind.array(labels),
            tasks[column],
            block.place[record],
            weight=None if block.weight is None else block.weight[record],
            indicators=block.indicators,
            record=record,
            column=column,
            every=outputs.tasks,
        )

    def learn(
        self,
        block: LabelledTurns,
        *,
        late: int = 0,
        tasks: Sequence[Hashable] = (),
        length: int | None = None,
        asking: Asking | None = None,
        told: Any = None,
    ) -> Rounds:
        """Let all tasks predict and then learn each record of a block."""
        if not isinstance(block, LabelledTurns):
            raise TypeError(
                f"{type(self._model).__name__} learns records with a label of every task, and these have one"
            )
        if late or asking is not None:
            self._refuse()
        for task in tasks:
            if task not in block.every:
                raise ValueError(f"y has no column of task {task!r}")
        rows = Block(block.X, None, None, np.arange(block.X.shape[0]), indicators=block.indicators)
        given, weights = np.zeros((len(rows), len(block.every)), bool), None
        labels = np.asarray(block.y)
        values = np.zeros(given.shape, labels.dtype)
        at = block.record, block.column
        values[at], given[at] = labels, True
        if block.weight is not None:
            weights = np.ones(len(values))
            weights[block.record] = block.weight
        margins, moved = self._taught.learn_at_once(rows, values, given, block.every, weights=weights)
        self._model.tasks_ = list(block.every)
        return Rounds(margins[at], moved[at], np.ones(len(block), bool))

    def predict_pending(self, block: LabelledTurns) -> Rounds:
        """Refuse: labels cannot come late."""
        self._refuse()
        raise NotImplementedError

    def _refuse(self) -> None:
        raise ValueError(
            f"{type(self._model).__name__} learns all labels of a record at once: none late, none asked for"
        )


def _of_labels(weights: Any, given: Flags) -> NDArray[np.float64] | None:
    """The weight of each label, that of its record."""
    return None if weights is None else np.repeat(np.asarray(weights, np.float64), given.shape[1])[given.ravel()]
