"""One record at a time, given as a dictionary of features: River's verbs."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from coterie.numeric.records import Csr
from coterie.streams import tabular
from coterie.views import HashedVocabulary, View, Vocabulary

from .compared import Compared
from .quick import Quick
from .refusal import all_or_nothing


class OneByOne(Compared):
    """The part of an online model that reads dictionaries and learns them one by one."""

    task_column: Hashable | None
    storage: Literal["auto", "dense", "sparse", "hashed"]
    bits: int
    dtype: Literal["float64", "float32"]

    #: What is predicted for one record before anything is learned.
    unlearned: ClassVar[Any] = None

    def learn_one(self, x: Mapping[str, Any], y: Hashable, task: Hashable = None) -> None:
        """Learn one record given as a dictionary of features; new features and tasks are taken up as they come."""
        lock = self._lock
        lock.acquire()  # in half the time that `with` takes, and a decorator would take longer still
        try:
            labels = None if self._quick is None else self._quick.learn(x, y, task, self.labels_)
            if labels is None:
                self._learn_one(x, y, task)
            else:
                self.__dict__["labels_"] = labels  # which quick rounds do not depend on
        finally:
            lock.release()

    def _learn_one(self, x: Mapping[str, Any], y: Hashable, task: Hashable) -> None:
        self._quick = None
        self._check_parameters()
        x, task = self._split_record(x, task)
        labels = (self.labels_ if self.fitted else self._labels()).with_one(y)
        known, inside = self._known(x, task), labels.value(y)
        if known and self._learner().update_named(self.state_, *known, inside):
            self.labels_ = labels
            self._make_quick(known[1])
            return
        with all_or_nothing(self):
            rows, features = self._record(x, learning=True)
            if not self.fitted or features > self.state_.features or task not in self.state_.tasks.numbers:
                self._state_with([task], features, dense=False)
        self.labels_ = labels
        self._learner().update_one(self.state_, rows, self.state_.tasks.numbers[task], inside)

    def _make_quick(self, numbers: dict[str, int]) -> None:
        """Make ready what rounds have in common that come after one of known names and a known task."""
        settled = self._learner().settled(self.state_, numbers)
        if settled is not None and self.task_column is None:
            self._quick = Quick(self._learner(), self.state_, settled)

    def _decide_one(self, x: Mapping[str, Any], task: Hashable = None) -> Any:
        """The margin of one record as it is outside; something has been learned."""
        quick, labels = self._quick, self.labels_
        margin = math.nan if quick is None else quick.score(x, task)
        if margin != margin:
            margin = self._margin_of_one(x, task)
        return labels.shift + labels.factor * margin

    def _margin_of_one(self, x: Mapping[str, Any], task: Hashable) -> Any:
        """The margin of one record of which nothing is known, on the scale of the inside."""
        x, task = self._split_record(x, task)
        known = self._known(x, task)
        margin = self._learner().score_named(self.state_, *known) if known else None
        if known and margin is not None:
            self._make_quick(known[1])
            return margin
        rows, _ = self._record(x, learning=False)
        number = self.state_.tasks.numbers.get(task)
        if number is None:
            return self._inside_unseen(rows, task)
        return self._learner().score_one(self.state_, rows, number)

    def predict_one(self, x: Mapping[str, Any], task: Hashable = None) -> Any:
        """The label of one record given as a dictionary; None, of a number 0.0, before anything is learned."""
        lock = self._lock
        lock.acquire()
        try:
            if self._quick is None and not self.fitted:
                return self.unlearned
            return self.labels_.label(self._decide_one(x, task))
        finally:
            lock.release()

    def task_of(self, x: Mapping[Any, Any], task: Hashable = None) -> Hashable:
        """The task of one record given as a dictionary."""
        return self._split_record(x, task)[1]

    @property
    def _dictionaries(self) -> bool:
        """Whether records come as dictionaries, so that features may be new."""
        return "n_features_in_" not in self.__dict__ and "feature_names_in_" not in self.__dict__

    def _split_record(self, x: Mapping[Any, Any], task: Hashable) -> tuple[Mapping[Any, Any], Hashable]:
        if type(x) is not dict and not isinstance(x, Mapping):
            raise TypeError(f"one record is a dictionary of features, got {type(x).__name__}; arrays hold several")
        if self.task_column is None:
            return x, tabular.only_task(self._tasks_known()) if task is None else tabular.one_task(task)
        if task is not None:
            raise ValueError(f"the task is given twice: as task= and as task_column={self.task_column!r}")
        if self.task_column not in x:
            raise ValueError(f"the record has no task_column {self.task_column!r}; it has {list(x)[:10]}")
        rest = {name: held for name, held in x.items() if name != self.task_column}
        return rest, tabular.one_task(x[self.task_column])

    def _known(self, x: Any, task: Hashable) -> tuple[dict[Any, Any], dict[str, int], int] | None:
        """A dictionary, the numbers of names and the number of its task, where it may do without being read first."""
        held = self.__dict__
        if type(x) is not dict or "view_" not in held or "encoder_" in held or self.dtype != "float64":
            return None
        numbers, i = held["view_"].numbers, held["state_"].tasks.numbers.get(task)
        return None if numbers is None or i is None else (x, numbers, i)

    def _record(self, x: Mapping[str, Any], learning: bool) -> tuple[Csr, int]:
        """A dictionary as a block of one record, and how many features there are."""
        held = self.__dict__
        if "encoder_" in held:
            rows = tabular.encoded(self.encoder_, [x], learning)
            return tabular.of_type(rows, self.dtype), self.encoder_.n_features
        view = held["view_"] if "view_" in held else self._view()
        rows = view.record(x, learning and self._dictionaries)
        if learning:
            self.view_ = view
        return tabular.of_type(rows, self.dtype), len(view) or 1

    def _view(self) -> View:
        if "view_" in self.__dict__:
            return self.view_
        if self.fitted and "feature_names_in_" not in self.__dict__:
            raise ValueError("records given as dictionaries need feature names, and the model learned from bare arrays")
        if "feature_names_in_" not in self.__dict__ and self.storage == "hashed":
            return HashedVocabulary(self.bits)
        return Vocabulary(self.__dict__.get("feature_names_in_", ()))

    def _tasks_known(self) -> Collection[Hashable]:
        return self.state_.tasks.labels if self.fitted else ()

    def _check_parameters(self) -> None:
        if self.new_task not in ("grow", "raise"):
            raise ValueError(f"new_task must be 'grow' or 'raise', got {self.new_task!r}")

    @abstractmethod
    def _state_with(self, tasks: Sequence[Hashable], features: int, dense: bool) -> Any:
        """The state with room for these tasks and features, made if there is none."""

    @abstractmethod
    def _inside_unseen(self, rows: Any, task: Hashable) -> Any:
        """Margin of one record of a task that is not known, on the scale of the inside."""
