"""What a model has learned: how to look at it, and how to keep it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie import persistence
from coterie.learner import Learner
from coterie.numeric.trees import below
from coterie.state import State
from coterie.streams.encoding import Encoder
from coterie.views import View, view_from_json

from .guard import Guarded, exclusive


class Fitted(Guarded):
    """The learned side of an online model; absent attributes say that nothing has been learned."""

    state_: State
    labels_: Any
    view_: View
    encoder_: Encoder
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @abstractmethod
    def _make_learner(self) -> Learner:
        """The learner that the parameters describe."""

    @abstractmethod
    def _labels(self, inside: Any = None) -> Any:
        """What labels are: those known, if any, from what is kept of them."""

    @property
    def passive(self) -> Any:
        """The classifier that learns every label there is: itself."""
        return self

    @property
    def orientation(self) -> float:
        """+1 if margins have outside the sign they have inside, -1 if the labels turned out the other way round."""
        return self.labels_.orientation if self.fitted else 1.0

    def _learner(self) -> Learner:
        """The learner, made anew when a parameter was set."""
        held = self.parameter_getter()(self)
        made = self.__dict__.get("_made")
        if made is None or held != made[0]:
            self._made = made = (held, self._make_learner())
        return made[1]

    @property
    def tasks_(self) -> list[Hashable]:
        """The tasks known, in order of first appearance."""
        self._check_fitted(AttributeError)
        return list(self.state_.tasks.labels)

    @property
    def extent(self) -> tuple[int, str]:
        """How many of what the model has."""
        return len(self.tasks_), "task"

    @property
    @exclusive
    def coef_(self) -> NDArray[Any]:
        """The weights that predictions use, as they are outside: shape (n_tasks, n_features), dense."""
        self._check_fitted(AttributeError)
        return np.asarray(self.labels_.factor * self._learner().weights(self.state_))

    @property
    @exclusive
    def relation_matrix_(self) -> NDArray[np.float64]:
        """A⁻¹ on the paper's scale for the tasks known, shape (n_tasks, n_tasks)."""
        self._check_fitted(AttributeError)
        return self._learner().relation_matrix(self.state_)

    @exclusive
    def relation_among(self, tasks: Sequence[Hashable]) -> NDArray[np.float64]:
        """The rows and columns of ``relation_matrix_`` for some tasks, where all would be too many.

        Raises
        ------
        ValueError
            For a task that is not known.
        """
        self._check_fitted()
        numbers = self.state_.tasks.numbers
        for task in tasks:
            if task not in numbers:
                raise ValueError(f"task {task!r} was never seen: the model knows {len(numbers)} tasks, see tasks_")
        return self._learner().relation_matrix(self.state_, [numbers[task] for task in tasks])

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features where records had names: tables, and dictionaries that are not hashed."""
        if "encoder_" in self.__dict__:
            named = self.encoder_.feature_names
            return None if named is None else list(named)
        if "view_" in self.__dict__:
            return self.view_.to_json().get("names")
        return list(self.feature_names_in_) if "feature_names_in_" in self.__dict__ else None

    @property
    def memory_(self) -> int:
        """Bytes of the arrays that hold what was learned; not what sparse tables have room for and do not use yet."""
        self._check_fitted(AttributeError)
        return self.state_.nbytes

    @exclusive
    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, completely or not at all; see :func:`coterie.load`."""
        persistence.save(self, path)

    @exclusive
    def dump(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything there is to keep, as data with a JSON form and named arrays."""
        if not self.fitted:
            return {}, {}
        state, arrays = self._learner().dump(self.state_)
        kept = {name: self.__dict__[name] for name in ("n_features_in_", "feature_names_in_") if name in self.__dict__}
        view = self.view_.to_json() if "view_" in self.__dict__ else None
        held: dict[str, Any] = {
            "kept": kept,
            "view": view,
            "labels": self.labels_.inside,
            "tasks": self.state_.tasks.labels,
        }
        if "encoder_" in self.__dict__:
            held["encoder"], encoded = self.encoder_.to_state()
            arrays |= {f"encoder.{name}": array for name, array in encoded.items()}
        return {"state": state} | held, arrays

    @exclusive
    def restore(self, data: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Undo :meth:`dump`."""
        if data:
            self.state_ = self._learner().restore(data["state"], arrays, data["tasks"])
            self.labels_ = self._labels(data["labels"])
            self.__dict__.update(data["kept"])
            if data["view"] is not None:
                self.view_ = view_from_json(data["view"])
            if "encoder" in data:
                self.encoder_ = Encoder.from_state(data["encoder"], below(arrays, "encoder."))
        return self
