"""What every batch estimator can do: read any form of input, keep its tasks apart, be saved and loaded."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from os import PathLike
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from coterie import persistence
from coterie.index import Index, distinct_labels
from coterie.numeric.points import Points, points
from coterie.parameters import Parameters
from coterie.streams import tabular
from coterie.streams.encoding import Encoder
from coterie.views import Vocabulary, view_from_json

from .outputs import output_kernel, relation_of

Array = NDArray[Any]


class Records(NamedTuple):
    """Records to learn from: their features, and the task of each (None where every row holds all tasks)."""

    points: Points
    tasks: Index | None
    codes: NDArray[np.int64] | None


class Numbers:
    """Labels that are the numbers predicted."""

    def labels(self, margin: Array) -> Array:
        """The numbers themselves."""
        return margin

    def strength(self, margin: Array) -> None:
        """Nothing is said of a number beside it."""


class BatchParameters(Parameters):
    """What all estimators are that learn no stream: constructor arguments as attributes, fitted at once, saved."""

    _learned = "expansion_"
    _learning = "fit"

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Make an instance; River's type checks are told nothing."""
        return object.__new__(cls)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, completely or not at all; see :func:`coterie.load`.

        Raises
        ------
        TypeError
            If a parameter has no JSON form, as a kernel that is a function: there is no code in a model file.
        """
        persistence.save(self, path)


class Regressor:
    """What predicts numbers is judged by explained variance."""

    predict: Any

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """The explained variance R², its mean over outputs."""
        from sklearn.metrics import r2_score

        return float(r2_score(plain(y), self.predict(X, task), sample_weight=sample_weight))


class BatchEstimator(BatchParameters):
    """Base of the batch estimators; what is learned is an expansion and what a subclass adds to it.

    Attributes
    ----------
    tasks_ : list
        The tasks learned from, in order of first appearance.
    n_features_in_ : int
        Width of the arrays learned from; absent when records came as dictionaries.
    """

    _supervised = True
    _kind = "regressor"

    relation: Any
    dtype: Literal["float64", "float32"]
    task_column: Hashable | None
    new_task: str
    expansion_: Any

    @abstractmethod
    def _learn(self, X: Any, y: Any, task: Any, tasks: Any) -> None:
        """Learn from nothing."""

    @abstractmethod
    def _restored(self, data: dict[str, Any], arrays: dict[str, Array]) -> Any:
        """The expansion that gave these data."""

    # -- scikit-learn's conventions

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect."""
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        classifies = self._kind == "classifier"
        return Tags(
            estimator_type=self._kind,
            target_tags=TargetTags(required=True, multi_output=self._several_outputs),
            transformer_tags=None,
            classifier_tags=ClassifierTags() if classifies else None,
            regressor_tags=None if classifies else RegressorTags(),
            input_tags=InputTags(sparse=not self._pairwise, pairwise=self._pairwise),
        )

    _several_outputs = True

    labels_: Any = Numbers()

    def decide_block(self, block: Any) -> Array:
        """What is predicted of a block of records read from a file: numbers, or scores of classes."""
        verb: Any = getattr(self, "decision_function", None) or self.predict
        return np.asarray(verb(block.X, block.tasks))

    @abstractmethod
    def predict(self, X: Any, task: Any = None) -> Array:
        """What is predicted of each record."""

    def probabilities(self, margin: Array) -> Array | None:
        """None: margins are no log-odds."""
        return None

    def block_probabilities(self, block: Any, margin: Array) -> Array | None:
        """As :meth:`probabilities`, for the margins of a block's records."""
        return self.probabilities(margin)

    def tasks_of(self, block: Any) -> Any:
        """The task of each of a block's records."""
        return block.tasks

    # -- learning

    def _fit(self, X: Any, y: Any, task: Any, tasks: Any) -> Self:
        """Learn on a fresh copy and take over what it learned."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        if self.new_task not in ("grow", "raise"):
            raise ValueError(f"new_task must be 'grow' or 'raise', got {self.new_task!r}")
        if self.dtype not in ("float64", "float32"):
            raise ValueError(f"dtype must be 'float64' or 'float32', got {self.dtype!r}")
        fresh = type(self)(**self.get_params())
        fresh._learn(X, y, task, tasks)
        return self._take_over(fresh)

    def _points(self, X: Any, learning: bool) -> Points:
        """X validated, with what kernels ask of it."""
        X = tabular.named(self, X)
        rows, features = self._dictionaries(X, learning) if tabular.is_records(X) else self._rows(X, learning)
        n = tabular.length(rows)
        if learning and features == 0:
            raise ValueError(f"0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
        made = points(rows, np.arange(n), features)
        if learning and self._pairwise:
            check_gram(rows)
        return made

    @property
    def _pairwise(self) -> bool:
        """Whether records are kernel values."""
        return _name(getattr(self, "kernel", None)) == "Precomputed"

    def _rows(self, X: Any, learning: bool) -> tuple[Any, int]:
        if "view_" in self.__dict__:
            raise ValueError(
                "the model learned from dictionaries: give a list of dictionaries, or a frame, not an array"
            )
        rows, features, _ = tabular.validated(self, X, "no_validation", reset=learning)
        return rows, features

    def _dictionaries(self, X: Any, learning: bool) -> tuple[Any, int]:
        if "encoder_" in self.__dict__:
            rows = tabular.encoded(self.encoder_, X, learning)
            return tabular.of_type(rows, self.dtype), self.encoder_.n_features
        if not learning and "view_" not in self.__dict__ and "feature_names_in_" not in self.__dict__:
            raise ValueError("records given as dictionaries need feature names, and the model learned from bare arrays")
        view = self.__dict__.get("view_") or Vocabulary(self.__dict__.get("feature_names_in_", ()))
        if learning:
            self.view_ = view
        rows = view.records(X, grow=learning)
        return tabular.of_type(rows, self.dtype), len(view)

    encoder_: Encoder

    def _records(self, X: Any, task: Any, shared: bool) -> Records:
        """What there is to learn from; ``shared`` says that each row holds the outputs of all tasks."""
        X, task = tabular.split_task(X, task, self.task_column)
        points = self._points(X, learning=True)
        if shared and task is None:
            return Records(points, None, None)
        labels = tabular.task_labels(task, len(points.squares))
        distinct, codes = distinct_labels(labels)
        return Records(points, Index(distinct), codes)

    def _unseen(self, distinct: Sequence[Hashable]) -> list[Hashable]:
        """The tasks never fitted, which may be refused."""
        known = self.expansion_.tasks.numbers
        new = [label for label in distinct if label not in known]
        tabular.refuse_twins(new, known)
        if new and self.new_task == "raise":
            raise ValueError(f"task {new[0]!r} was never fitted and new_task is 'raise'")
        return new

    # -- what was learned

    @property
    def extent(self) -> tuple[int, str]:
        """How many of what the model has."""
        return len(self.tasks_), "task"

    @property
    def tasks_(self) -> list[Hashable]:
        """The tasks learned from."""
        self._check_fitted(AttributeError)
        return list(self.expansion_.tasks.labels)

    @property
    def relation_matrix_(self) -> Array:
        """The output kernel M = A⁻¹ of the tasks learned from, shape (n_tasks, n_tasks)."""
        return output_kernel(self.relation, self.tasks_)

    @property
    def relation_used(self) -> Any:
        """How tasks share: as asked for, else ``MixedEffect(omega=0.5)``."""
        return relation_of(self.relation)

    def relation_among(self, tasks: Sequence[Hashable]) -> Array:
        """The rows and columns of ``relation_matrix_`` for some tasks.

        Raises
        ------
        ValueError
            For a task that was not learned from.
        """
        self._check_fitted()
        known = self.expansion_.tasks.numbers
        for task in tasks:
            if task not in known:
                raise ValueError(f"task {task!r} was never fitted: the model knows {len(known)} tasks, see tasks_")
        places = [known[task] for task in tasks]
        return np.asarray(self.relation_matrix_[np.ix_(places, places)])

    _kept: tuple[str, ...] = ("n_features_in_", "feature_names_in_")

    def dump(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Everything there is to keep, as data with a JSON form and named arrays."""
        if not self.fitted:
            return {}, {}
        data, arrays = self.expansion_.dump()
        data["kept"] = {name: self.__dict__[name] for name in self._kept if name in self.__dict__}
        data["view"] = self.view_.to_json() if "view_" in self.__dict__ else None
        if "encoder_" in self.__dict__:
            data["encoder"], encoded = self.encoder_.to_state()
            arrays |= {f"encoder.{name}": array for name, array in encoded.items()}
        return data, arrays

    view_: Any

    def restore(self, data: dict[str, Any], arrays: dict[str, Array]) -> Self:
        """Undo :meth:`dump`."""
        if data:
            self.expansion_ = self._restored(data, arrays)
            self.__dict__.update(data["kept"])
            if data["view"] is not None:
                self.view_ = view_from_json(data["view"])
            if "encoder" in data:
                within = {k.removeprefix("encoder."): v for k, v in arrays.items() if k.startswith("encoder.")}
                self.encoder_ = Encoder.from_state(data["encoder"], within)
        return self


def _name(kernel: Any) -> str:
    return "Precomputed" if kernel == "precomputed" else type(kernel).__name__


def check_gram(rows: Any) -> None:
    """Refuse a kernel matrix that is not square or not symmetric.

    Raises
    ------
    ValueError
        With the shape, or the worst pair.
    """
    from coterie.relations.matrices import check_symmetric, square

    if not tabular.is_dense(rows):
        raise ValueError("X must be a dense kernel matrix where kernel='precomputed', got a sparse one")
    check_symmetric(square(rows.values, "X (the kernel matrix)"), "X (the kernel matrix)")


def plain(y: Any) -> Any:
    """Labels as NumPy knows them: columns and tables of Arrow as lists and arrays."""
    if hasattr(y, "column_names"):
        return np.column_stack([np.asarray(column) for column in y.columns])
    return y.to_pylist() if hasattr(y, "to_pylist") else y


def numbers(y: Any, n: int, name: str = "y") -> Array:
    """Numeric outputs, shape (n,) or (n, p), finite.

    Raises
    ------
    ValueError
        For anything else, or another number of rows.
    """
    from sklearn.utils import check_array

    array = check_array(plain(y), dtype=np.float64, ensure_2d=False, allow_nd=False, input_name=name)
    if array.ndim not in (1, 2) or len(array) != n:
        raise ValueError(f"{name} must have one row a record, shape ({n},) or ({n}, p), got shape {array.shape}")
    return np.asarray(array)
