"""What every classifier of things seen in several views can do: scikit-learn's verbs, River's verbs, and the round."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from coterie import persistence
from coterie.numeric.trees import below
from coterie.streams.block import Block
from coterie.streams.progressive import Trace
from coterie.streams.tabular import is_records
from coterie.streams.view_encoding import ViewEncoder, require_one_space
from coterie.streams.view_input import read, read_only
from coterie.streams.view_weights import ViewWeights
from coterie.views import ViewRecords, Views, view_from_json

from .classifier import two_class_trace
from .guard import Guarded, exclusive
from .labels import TwoLabels
from .rounds import Margins, Rounds

#: What a comparison calls a Perceptron on a view by itself, after the view's name, and one on all of them.
ALONE, SIDE_BY_SIDE = " alone", "side by side"


class MultiviewClassifier(Guarded):
    """Base of the online classifiers of records that have several views; a subclass says which learner it is.

    Records come as a list of blocks, one a view (None for a view that is absent from all of them), or a dictionary
    name -> block; a :class:`coterie.PartialBlock` says which of its rows are there. One record is a dictionary
    name -> dictionary of features, and so may be those of a list; a missing key is an absent view. **An absent view is
    not a vector of zeros**: it adds nothing to the margin and its weights stay as they are, whatever the kernel.

    Attributes
    ----------
    classes_ : ndarray
        The labels seen, the negative one first.
    views_ : list
        The names of the views; 0, 1, … where blocks came in a list.
    encoder_ : ViewEncoder
        How the records of files became rows; dictionaries are read the same way. Absent where no file was read.
    """

    views: Sequence[Hashable] | None

    #: Whether all views must have the same features.
    one_space: ClassVar[bool] = False

    state_: Any
    labels_: TwoLabels
    view_: Views
    encoder_: ViewEncoder

    @abstractmethod
    def _make_learner(self) -> Any:
        """The learner that the parameters describe."""

    @abstractmethod
    def baselines(self, seen: Any) -> dict[str, Any]:
        """What a comparison lets run beside this model, ``seen`` being records or the first of them."""

    # -- arrays ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, *, n_passes: int = 1) -> Self:
        """Forget everything and learn from X, y in order.

        Parameters
        ----------
        X : list of blocks, dictionary name -> block, or list of dictionaries of dictionaries
            The records, view by view; blocks are arrays, sparse matrices or data frames of shape (n, d_k).
        y : array, shape (n,)
            Their labels, any two values.
        n_passes : int
            How many times to go through the records.

        Raises
        ------
        ValueError
            For views that disagree on the records, NaN or infinity, wrong shapes, or labels of which there are not two.
            Nothing is changed then.
        """
        if n_passes < 1:
            raise ValueError(f"n_passes must be at least 1, got {n_passes!r}")
        fresh = type(self)(**self.get_params(deep=False))
        for _ in range(n_passes):
            fresh.partial_fit(X, y)
            fresh.labels_.require_whole()
        with self._lock:
            return self._take_over(fresh)

    @exclusive
    def partial_fit(self, X: Any, y: Any, classes: Sequence[Hashable] | None = None) -> Self:
        """Go on learning from X, y in order; ``classes`` are the two labels there will be, where that is known."""
        labels = TwoLabels(self.labels_.inside if self.fitted else None)
        if classes is not None:
            labels.values(list(classes))
        records, values = self._read(X, y, labels)
        self._learn(records, labels, values)
        return self

    @exclusive
    def decision_function(self, X: Any) -> Margins:
        """The margin of each record, positive for ``classes_[1]``. Nothing is learned."""
        self._check_fitted()
        if "encoder_" in self.__dict__ and is_records(X):
            records = self.encoder_.records(X, update=False)
        else:
            records = read_only(X, self.view_, self.views, self.one_space)
        return np.asarray(self.labels_.factor * self._learner().score(self.state_, records))

    @exclusive
    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted label of each record; a zero margin is ``classes_[1]``. Nothing is learned."""
        return self.labels_.labels(self.decision_function(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of records predicted right, weighted where weights are given."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    # -- one record at a time -------------------------------------------------------------------------------------

    @exclusive
    def learn_one(self, x: Mapping[Hashable, Mapping[str, Any] | None], y: Hashable) -> None:
        """Learn one record, a dictionary name of a view -> dictionary of its features; absent views are left out."""
        known = TwoLabels(self.labels_.inside if self.fitted else None)
        labels = known.with_one(y)
        records = self._noted([_one(x)], lambda n: None)
        self._learn(records, labels, np.array([labels.value(y)]))

    @exclusive
    def decision_function_one(self, x: Mapping[Hashable, Mapping[str, Any] | None]) -> float:
        """The margin of one record; 0.0 before anything is learned."""
        return float(self.decision_function([_one(x)])[0]) if self.fitted else 0.0

    @exclusive
    def predict_one(self, x: Mapping[Hashable, Mapping[str, Any] | None]) -> Any:
        """The label of one record; None before anything is learned."""
        return self.labels_.label(self.decision_function_one(x)) if self.fitted else None

    # -- streams --------------------------------------------------------------------------------------------------

    @exclusive
    def as_block(self, X: Any, y: Any, task: Any = None) -> Block:
        """Records given in any form as a validated block, for :meth:`learn_block`.

        Raises
        ------
        ValueError
            If tasks are named, which records of several views have not.
        """
        if task is not None:
            raise ValueError(f"{type(self).__name__} has no tasks: leave task out")
        labels = TwoLabels(self.labels_.inside if self.fitted else None)
        records, _ = self._read(X, y, labels)
        return Block(records, np.asarray(y), None, np.arange(1, len(records) + 1))

    @exclusive
    def learn_block(
        self, block: Block, late: int = 0, tasks: Sequence[Hashable] = (), length: int | None = None
    ) -> Rounds:
        """Predict and learn each record of a validated block, the last ``late`` of them predicted only."""
        if block.y is None:
            raise ValueError("records without labels can be predicted, not learned")
        labels = TwoLabels(self.labels_.inside if self.fitted else None)
        values = labels.values(block.y)
        self._meet_views(block.X.views)
        return self._learn(block.X, labels, values, late)

    @exclusive
    def meet_block(self, block: Block) -> Rounds:
        """Predict a validated block whose labels come later; margins are 0 before anything is learned."""
        margin = self.decide_block(block) if self.fitted else np.zeros(len(block))
        return Rounds(margin, np.zeros(len(block), bool), np.ones(len(block), bool))

    @exclusive
    def decide_block(self, block: Block) -> Margins:
        """The margin of each record of a block that has been validated."""
        self._check_fitted()
        self._meet_views(block.X.views)
        return np.asarray(self.labels_.factor * self._learner().score(self.state_, block.X))

    @exclusive
    def pass_by(self, rounds: int = 1) -> None:
        """End rounds whose labels will not come: the mean goes on, nothing is learned."""
        if self.fitted:
            self._learner().pass_by(self.state_, rounds)

    def blank(self, n: int) -> NDArray[Any]:
        """What is kept of n predictions until they are judged."""
        return np.zeros(n)

    def kept(self, margin: Any, label: Any) -> NDArray[Any]:
        """Margins with the sign of the inside, for labels may yet turn round."""
        return np.asarray(margin * self.orientation)

    def judged(self, margin: Margins, label: NDArray[Any], rounds: dict[str, Any]) -> Trace:
        """The trace of rounds with these margins of the inside."""
        classes = self.classes_ if self.fitted else np.zeros(0)
        return two_class_trace(self.orientation * margin, label, classes, None, rounds)

    def probabilities(self, margin: Margins) -> None:
        """There are none: margins of several views are no log-odds."""

    def block_probabilities(self, block: Block, margin: Margins) -> None:
        """There are none."""

    def tasks_of(self, block: Block) -> None:
        """There are none."""

    @property
    def label_kind(self) -> TwoLabels:
        """What labels may be: nothing known of them but that."""
        return TwoLabels(None)

    def learner(self) -> Any:
        """The learner that the parameters describe."""
        return self._learner()

    def task_checks(self) -> list[Callable[[Hashable], Any]]:
        """What raises ValueError for a task that would be refused; there are no tasks."""
        return []

    def beside(self, errors: Mapping[str, float]) -> tuple[str, str]:
        """What a comparison judges by, of learners with these errors: the view that alone did best, and all of them."""
        alone = {name: error for name, error in errors.items() if name.endswith(ALONE)}
        return min(alone, key=alone.__getitem__, default=""), SIDE_BY_SIDE

    @property
    def extent(self) -> tuple[int, str]:
        """How many of what the model has."""
        return len(self.views_), "view"

    @property
    def passive(self) -> Self:
        """The classifier that learns every label there is: itself."""
        return self

    # -- what was learned -----------------------------------------------------------------------------------------

    @property
    def orientation(self) -> float:
        """+1 if margins have outside the sign they have inside, -1 if the labels turned out the other way round."""
        return self.labels_.orientation if self.fitted else 1.0

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels seen, the negative one first."""
        self._check_fitted(AttributeError)
        return self.labels_.classes

    @property
    def views_(self) -> list[Hashable]:
        """The names of the views."""
        self._check_fitted(AttributeError)
        return list(self.state_.names)

    @property
    def memory_(self) -> int:
        """Bytes of the arrays that hold what was learned."""
        self._check_fitted(AttributeError)
        return int(self.state_.nbytes)

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
        held = {"state": state, "labels": self.labels_.inside, "view": self.view_.to_json()}
        if "encoder_" in self.__dict__:
            held["encoder"], encoded = self.encoder_.to_state()
            arrays |= {f"encoder.{name}": array for name, array in encoded.items()}
        return held, arrays

    @exclusive
    def restore(self, data: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Undo :meth:`dump`."""
        if data:
            self.view_ = view_from_json(data["view"])
            self.labels_ = TwoLabels(data["labels"])
            own = {name: array for name, array in arrays.items() if not name.startswith("encoder.")}
            self.state_ = self._learner().restore(data["state"], own, self.view_.names)
            if "encoder" in data:
                self.encoder_ = ViewEncoder.from_state(data["encoder"], below(arrays, "encoder."))
        return self

    # -- inside ---------------------------------------------------------------------------------------------------

    def _learner(self) -> Any:
        """The learner, made anew when a parameter was set."""
        held = self.parameter_getter()(self)
        made = self.__dict__.get("_made")
        if made is None or held != made[0]:
            learner = self._make_learner()
            if self.fitted:
                learner.adopt(self.state_)
            self._made = made = (held, learner)
        return made[1]

    def _read(self, X: Any, y: Any, labels: TwoLabels) -> tuple[ViewRecords, Margins]:
        """Records and labels checked; the views seen are noted if nothing is refused."""
        values: list[Margins] = []

        def check(n: int) -> None:
            if np.ndim(y) != 1 or len(y) != n:
                raise ValueError(f"y must hold one label a record: got shape {np.shape(y)} for {n} records")
            TwoLabels.check(y)
            values.append(labels.values(y))

        return self._noted(X, check), values[0]

    def _noted(self, X: Any, check: Callable[[int], None]) -> ViewRecords:
        """Records checked, and then whatever there is to ``check`` for so many; the views are noted if all is well."""
        learner = self._learner()
        if "encoder_" in self.__dict__ and is_records(X):
            check(len(X))
            encoded: ViewRecords = self.encoder_.records(X, update=True)
            return encoded
        known = self.view_ if self.fitted else None
        sizes = known.sizes() if known is not None else []
        try:
            records, views = read(X, known, self.views, self.one_space)
            check(len(records))
            if not self.fitted:
                learner.check(views.names)
        except BaseException:
            if known is not None:
                known.shorten(sizes)
            raise
        self.view_ = views
        return records

    def _meet_views(self, views: Views | None) -> None:
        """Note the views of records from a file, if these are the first; refuse others than those known."""
        if views is None:
            return
        if self.fitted:
            known = self.view_
            if (views.names, views.widths) != (known.names, known.widths):
                came, kept = (dict(zip(each.names, each.widths, strict=True)) for each in (views, known))
                raise ValueError(f"the views and their widths are {came}, and the model learned {kept}")
            return
        if self.views is not None and list(self.views) != views.names:
            raise ValueError(f"views={list(self.views)!r} are not those of the file, {views.names!r}")
        require_one_space(self.one_space, views.names, views.widths)
        self._learner().check(views.names)
        self.view_ = views

    def _learn(self, records: ViewRecords, labels: TwoLabels, values: Margins, late: int = 0) -> Rounds:
        if late < 0:
            raise ValueError(f"late must be at least 0 rounds, got {late!r}")
        learner, state = self._learner(), self.__dict__.get("state_")
        if state is None:
            dense = not hasattr(records.rows, "starts")
            state = learner.init(self.view_.names, self.view_.widths, dense)
        learner.fit_widths(state, self.view_.widths)
        moves = learner.update_many(state, records, values, max(len(values) - late, 0))
        self.state_, self.labels_ = state, labels
        weights = ViewWeights(tuple(state.names), moves.ends, moves.lengths)
        return Rounds(labels.factor * moves.margins, moves.taus > 0, np.ones(len(values), bool), weights=weights)


def _one(x: Any) -> Mapping[Hashable, Any]:
    if not isinstance(x, Mapping):
        raise TypeError(f"one record is a dictionary view -> features, got {type(x).__name__}; lists hold several")
    return x
