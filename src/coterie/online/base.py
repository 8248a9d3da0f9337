"""What every online classifier can do: scikit-learn's verbs, River's verbs, and the round that both share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from coterie import persistence
from coterie.learner import Learner, State
from coterie.numeric.records import Csr
from coterie.numeric.trees import below
from coterie.streams.block import Block
from coterie.streams.encoding import Encoder
from coterie.views import Vocabulary, distinct_labels

from . import tabular
from .labels import TwoLabels
from .parameters import Parameters

Margins = NDArray[np.float64]

#: The task of records that name none.
ONLY_TASK = 0


@dataclass(frozen=True)
class Rounds:
    """What happened in a run of rounds: margins before each label (positive for ``classes_[1]``), and who moved."""

    margin: Margins
    updated: NDArray[np.bool_]


class OnlineClassifier(Parameters):
    """Base of the online classifiers; a subclass says which learner it is.

    Attributes
    ----------
    classes_ : ndarray
        The labels seen, the negative one first.
    tasks_ : list
        The tasks seen, in order of first appearance.
    state_ : State
        All that is learned.
    n_features_in_ : int
        Width of the arrays learned from; absent when records came as dictionaries.
    encoder_ : Encoder
        How the records of files became rows; dictionaries are read the same way. Absent where no file was read.
    """

    task_column: Hashable | None
    new_task: str
    dtype: Literal["float64", "float32"]
    state_: State
    labels_: TwoLabels
    view_: Vocabulary
    encoder_: Encoder
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @abstractmethod
    def _make_learner(self) -> Learner:
        """The learner that the parameters describe."""

    # -- arrays ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, task: Any = None, *, n_passes: int = 1) -> Self:
        """Forget everything and learn from X, y in order.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Arrow table or list of dictionaries, shape (n, d)
            The records.
        y : array, shape (n,)
            Their labels, any two values.
        task : array, shape (n,), optional
            Their tasks, any hashable labels; without it, and without ``task_column``, there is one task.
        n_passes : int
            How many times to go through the records.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For NaN or infinity, wrong shapes, or labels of which there are not two. Nothing is changed then.
        """
        if n_passes < 1:
            raise ValueError(f"n_passes must be at least 1, got {n_passes!r}")
        fresh = type(self)(**self.get_params())
        fresh.learn_rounds(X, y, task, whole=True, passes=n_passes)
        for _ in range(n_passes - 1):
            fresh.learn_rounds(X, y, task)
        self._forget()
        self.__dict__.update(fresh.__dict__)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        task: Any = None,
        classes: Sequence[Hashable] | None = None,
        *,
        tasks: Sequence[Hashable] | None = None,
    ) -> Self:
        """Go on learning from X, y in order.

        Parameters
        ----------
        X, y, task
            As in :meth:`fit`.
        classes : sequence of two labels, optional
            The labels there will be, where the first records may hold one only.
        tasks : sequence of labels, optional
            Tasks to know from now on, whether they occur in these records or not.

        Returns
        -------
        self
        """
        self.learn_rounds(X, y, task, tasks=tasks, classes=classes)
        return self

    def learn_rounds(
        self,
        X: Any,
        y: Any,
        task: Any = None,
        *,
        tasks: Sequence[Hashable] | None = None,
        classes: Sequence[Hashable] | None = None,
        late: int = 0,
        whole: bool = False,
        passes: int = 1,
    ) -> Rounds:
        """Predict and then learn each record in turn: what progressive validation is made of.

        Parameters
        ----------
        X, y, task, tasks, classes
            As in :meth:`partial_fit`.
        late : int
            The labels come so many rounds late: the last ``late`` records are predicted and not learned.
        whole : bool
            Whether these records are all there are, so that one label alone is an error.
        passes : int
            How many times they will be learned, if they are all there are.
        """
        self._check_parameters()
        X, task = tabular.split_task(X, task, self.task_column)
        rows, features, y = self._rows(X, y)
        labels = self._labels_with(y if classes is None else classes)
        signs = labels.signs(y)
        if whole and len(labels.inside) < 2:
            raise ValueError(f"y must hold two classes, got one class only: {labels.ordered[0]!r}")
        length = passes * len(signs) if whole else None
        task = tabular.task_labels(task, len(signs))
        return self._learn(rows, features, labels, signs, task, tasks or (), late, length)

    def as_block(self, X: Any, y: Any, task: Any = None) -> Block:
        """Records given in any form as a validated block, for :meth:`learn_block`."""
        self._check_parameters()
        X, task = tabular.split_task(X, task, self.task_column)
        rows, features, y = self._rows(X, y)
        y = np.asarray(y)
        return Block(tabular.as_array(rows, features), y, tabular.task_labels(task, len(y)), np.arange(1, len(y) + 1))

    def learn_block(
        self, block: Block, late: int = 0, tasks: Sequence[Hashable] = (), length: int | None = None
    ) -> Rounds:
        """As :meth:`learn_rounds`, for a validated block; ``length`` rounds will come, where that is known."""
        self._check_parameters()
        rows, features = tabular.block_rows(block.X, self.dtype)
        self._check_width(features)
        if block.y is None:
            raise ValueError("records without labels can be predicted, not learned")
        labels = self._labels_with(block.y)
        made = self._learn(rows, features, labels, labels.signs(block.y), block.tasks, tasks, late, length)
        if "view_" not in self.__dict__:
            self.n_features_in_ = features
        return made

    def decision_function(self, X: Any, task: Any = None) -> Margins:
        """The margin of each record, positive for ``classes_[1]``: w_task · x. Nothing is learned.

        Raises
        ------
        ValueError
            For a task never seen, if ``new_task="raise"``; otherwise such a task is predicted by what the relation says
            of a task nobody has seen.
        """
        self._check_fitted()
        X, task = tabular.split_task(X, task, self.task_column)
        rows, _, _ = self._rows(X)
        return self._margins(rows, tabular.task_labels(task, tabular.length(rows)))

    def predict(self, X: Any, task: Any = None) -> NDArray[Any]:
        """The predicted label of each record; a zero margin is ``classes_[1]``."""
        margins = self.decision_function(X, task)
        return self.labels_.labels(margins)

    def decide_block(self, block: Block) -> Margins:
        """As :meth:`decision_function`, for a block that has been validated."""
        self._check_fitted()
        rows, features = tabular.block_rows(block.X, self.dtype)
        self._check_width(features)
        return self._margins(rows, block.tasks)

    def score(self, X: Any, y: Any, task: Any = None, sample_weight: Any = None) -> float:
        """The share of records predicted right, weighted where weights are given."""
        return float(np.average(self.predict(X, task) == np.asarray(y), weights=sample_weight))

    # -- one record at a time -------------------------------------------------------------------------------------

    def learn_one(self, x: Mapping[str, Any], y: Hashable, task: Hashable = None) -> None:
        """Learn one record given as a dictionary of features; new features and tasks are taken up as they come."""
        self._check_parameters()
        x, task = self._split_record(x, task)
        labels = self._labels_with([y]) if not self.fitted or y not in self.labels_.inside else self.labels_
        rows, features = self._record(x, learning=True)
        state = self._state_with([task], features, dense=False)
        self.labels_ = labels
        codes = np.array([state.tasks.numbers[task]])
        self._learner().update_many(state, rows, codes, np.array([labels.inside[y]]))

    def decision_function_one(self, x: Mapping[str, Any], task: Hashable = None) -> float:
        """The margin of one record given as a dictionary; 0.0 before anything is learned."""
        if not self.fitted:
            return 0.0
        x, task = self._split_record(x, task)
        rows, _ = self._record(x, learning=False)
        return float(self._margins(rows, [task])[0])

    def predict_one(self, x: Mapping[str, Any], task: Hashable = None) -> Any:
        """The label of one record given as a dictionary; None before anything is learned."""
        if not self.fitted:
            return None
        return self.labels_.ordered[-1 if self.decision_function_one(x, task) >= 0 else 0]

    # -- what was learned -----------------------------------------------------------------------------------------

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels seen, the negative one first."""
        self._check_fitted(AttributeError)
        return self.labels_.classes

    @property
    def tasks_(self) -> list[Hashable]:
        """The tasks known, in order of first appearance."""
        self._check_fitted(AttributeError)
        return list(self.state_.tasks.labels)

    @property
    def coef_(self) -> NDArray[Any]:
        """The weights that predictions use, positive for ``classes_[1]``: shape (n_tasks, n_features), dense."""
        self._check_fitted(AttributeError)
        return self.labels_.orientation * self._learner().weights(self.state_)

    @property
    def relation_matrix_(self) -> NDArray[np.float64]:
        """A⁻¹ on the paper's scale for the tasks known, shape (n_tasks, n_tasks)."""
        self._check_fitted(AttributeError)
        return self._learner().relation_matrix(self.state_)

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features where records had names: data frames and dictionaries."""
        if "view_" in self.__dict__:
            return list(self.view_.numbers)
        return list(self.feature_names_in_) if "feature_names_in_" in self.__dict__ else None

    @property
    def memory_(self) -> int:
        """Bytes of the arrays that hold what was learned."""
        self._check_fitted(AttributeError)
        return self.state_.nbytes

    # -- a file ---------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, completely or not at all; see :func:`coterie.load`."""
        persistence.save(self, path)

    def dump(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything there is to keep, as data with a JSON form and named arrays."""
        if not self.fitted:
            return {}, {}
        state, arrays = self._learner().dump(self.state_)
        kept = {name: self.__dict__[name] for name in ("n_features_in_", "feature_names_in_") if name in self.__dict__}
        names = list(self.view_.numbers) if "view_" in self.__dict__ else None
        held: dict[str, Any] = {
            "kept": kept,
            "view": names,
            "labels": self.labels_.inside,
            "tasks": self.state_.tasks.labels,
        }
        if "encoder_" in self.__dict__:
            held["encoder"], encoded = self.encoder_.to_state()
            arrays |= {f"encoder.{name}": array for name, array in encoded.items()}
        return {"state": state} | held, arrays

    def restore(self, data: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Undo :meth:`dump`."""
        if data:
            self.state_ = self._learner().restore(data["state"], arrays, data["tasks"])
            self.labels_ = TwoLabels(data["labels"])
            self.__dict__.update(data["kept"])
            if data["view"] is not None:
                self.view_ = Vocabulary(data["view"])
            if "encoder" in data:
                self.encoder_ = Encoder.from_state(data["encoder"], below(arrays, "encoder."))
        return self

    # -- inside ---------------------------------------------------------------------------------------------------

    @property
    def fitted(self) -> bool:
        """Whether anything has been learned."""
        return "state_" in self.__dict__

    @property
    def orientation(self) -> float:
        """+1 if margins have outside the sign they have inside, -1 if the labels turned out the other way round."""
        return self.labels_.orientation if self.fitted else 1.0

    @property
    def _dictionaries(self) -> bool:
        """Whether records come as dictionaries, so that features may be new."""
        return "n_features_in_" not in self.__dict__ and "feature_names_in_" not in self.__dict__

    def __sklearn_is_fitted__(self) -> bool:
        return self.fitted

    def _check_fitted(self, kind: type[Exception] | None = None) -> None:
        if self.fitted:
            return
        from sklearn.exceptions import NotFittedError

        message = f"This {type(self).__name__} instance is not fitted yet: call fit, partial_fit or learn_one first."
        raise (kind or NotFittedError)(message)

    def _check_parameters(self) -> None:
        if self.new_task not in ("grow", "raise"):
            raise ValueError(f"new_task must be 'grow' or 'raise', got {self.new_task!r}")

    def _forget(self) -> None:
        for name in ("state_", "labels_", "view_", "n_features_in_", "feature_names_in_", "encoder_"):
            self.__dict__.pop(name, None)

    def _learner(self) -> Learner:
        key = tuple(map(id, self.get_params().values()))
        if self.__dict__.get("_learner_key") != key:
            self._made, self._learner_key = self._make_learner(), key
        return self._made

    def _labels_with(self, y: Any) -> TwoLabels:
        """The labels known and these, as a copy."""
        labels = TwoLabels(self.labels_.inside if self.fitted else None)
        labels.signs(y)
        return labels

    def _learn(
        self,
        rows: Any,
        features: int,
        labels: TwoLabels,
        signs: Margins,
        task: Any,
        tasks: Any,
        late: int,
        length: int | None,
    ) -> Rounds:
        distinct, places = distinct_labels(task)
        state = self._state_with([*tasks, *distinct], features, tabular.is_dense(rows), length)
        self.labels_ = labels
        codes = np.array([state.tasks.numbers[label] for label in distinct], np.int64)[places]
        moves = self._learner().update_many(state, rows, codes, signs, len(signs) - late)
        return Rounds(labels.orientation * moves.margins, moves.taus > 0)

    def _state_with(self, tasks: Sequence[Hashable], features: int, dense: bool, length: int | None = None) -> State:
        """The state with room for these tasks and features, made if there is none."""
        if not self.fitted:
            self.state_ = self._learner().init(tasks, features, dense, length)
            return self.state_
        if self.new_task == "raise":
            self._refuse_unseen(tasks)
        self._learner().fit_tasks(self.state_, tasks, features)
        return self.state_

    def _refuse_unseen(self, tasks: Sequence[Hashable]) -> None:
        unseen = [task for task in tasks if task not in self.state_.tasks.numbers]
        if unseen:
            raise ValueError(f"task {unseen[0]!r} was never seen and new_task is 'raise'")

    def _margins(self, rows: Any, task: Sequence[Hashable] | NDArray[Any]) -> Margins:
        distinct, places = distinct_labels(task) if len(task) != 1 else (list(task), np.zeros(1, np.int64))
        if self.new_task == "raise":
            self._refuse_unseen(distinct)
        numbers = self.state_.tasks.numbers
        codes = np.array([numbers.get(label, -1) for label in distinct], np.int64)[places]
        margins = self._learner().score_any(self.state_, rows, codes, [distinct[place] for place in places[codes < 0]])
        return self.labels_.orientation * margins

    def _split_record(self, x: Mapping[Any, Any], task: Hashable) -> tuple[Mapping[Any, Any], Hashable]:
        if self.task_column is None:
            return x, ONLY_TASK if task is None else task
        if self.task_column not in x:
            raise ValueError(f"the record has no task_column {self.task_column!r}; it has {list(x)[:10]}")
        return {name: held for name, held in x.items() if name != self.task_column}, x[self.task_column]

    def _record(self, x: Mapping[str, Any], learning: bool) -> tuple[Csr, int]:
        """A dictionary as a block of one record, and how many features there are."""
        if "encoder_" in self.__dict__:
            features, values = self.encoder_.encode_one(x)
            return Csr(values, features, np.array([0, len(values)], np.int64)), self.state_.features
        view = self._view()
        rows = view.record(x, grow=learning and self._dictionaries)
        if learning:
            self.view_ = view
        return rows, max(len(view), 1)

    def _view(self) -> Vocabulary:
        if "view_" in self.__dict__:
            return self.view_
        if self.fitted and "feature_names_in_" not in self.__dict__:
            raise ValueError("records given as dictionaries need feature names, and the model learned from bare arrays")
        return Vocabulary(self.__dict__.get("feature_names_in_", ()))

    def _check_width(self, features: int) -> None:
        if self.fitted and features != self.__dict__.get("n_features_in_", features):
            raise ValueError(f"X has {features} features, but {type(self).__name__} is expecting {self.n_features_in_}")

    def _rows(self, X: Any, y: Any = "no_validation") -> tuple[Any, int, Any]:
        """X validated, as compiled code takes it, its width, and y where there is one to learn from."""
        learning = not isinstance(y, str)
        if isinstance(X, (list, tuple)) and X and isinstance(X[0], Mapping):
            return *self._dictionary_rows(X, learning), y
        if self.fitted and self._dictionaries:
            raise ValueError("the model learned from dictionaries: give a list of dictionaries, not an array")
        return tabular.validated(self, X, y, reset=learning and not self.fitted)

    def _dictionary_rows(self, X: Sequence[Mapping[str, Any]], learning: bool) -> tuple[Any, int]:
        view = self._view()
        rows = view.records(X, grow=learning and self._dictionaries)
        if learning:
            self.view_ = view
        return rows, max(len(view), 1)
