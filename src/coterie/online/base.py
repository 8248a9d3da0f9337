"""What every online model can do: scikit-learn's verbs, River's verbs, and the round that both share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from coterie.index import occurring
from coterie.state import State
from coterie.streams import tabular
from coterie.streams.block import Block

from .guard import exclusive
from .one_by_one import OneByOne
from .refusal import all_or_nothing
from .rounds import Asking, Margins, Rounds

#: The number of one task that has none.
_UNSEEN = np.array([-1])


class OnlineModel(OneByOne):
    """Base of the online models; a subclass says what labels are, and which learner it is.

    Attributes
    ----------
    tasks_ : list
        The tasks seen, in order of first appearance.
    state_ : State
        All that is learned.
    n_features_in_ : int
        Width of the arrays learned from; absent when records came as dictionaries.
    encoder_ : Encoder
        How the records of files became rows; dictionaries are read the same way. Absent where no file was read.
    """

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
        fresh = type(self)(**self.get_params(deep=False))
        fresh.learn_rounds(X, y, task, whole=True, passes=n_passes)
        for _ in range(n_passes - 1):
            fresh.learn_rounds(X, y, task)
        with self._lock:
            return self._take_over(fresh)

    @exclusive
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
            The records, their labels and tasks; tasks to know, and labels there will be.
        late : int
            The labels come so many rounds late: the last ``late`` records are predicted and not learned.
        whole : bool
            Whether these records are all there are, so that one label alone is an error.
        passes : int
            How many times they will be learned, if they are all there are.
        """
        self._check_parameters()
        X, task = tabular.split_task(X, task, self.task_column)
        with all_or_nothing(self):
            rows, features, y = self._rows(X, y)
            labels = self._labels_known() if classes is None else self._labels_with(classes)
            values = labels.values(y)
            if whole:
                labels.require_whole()
            length = passes * len(values) if whole else None
            task = tabular.task_labels(task, len(values), self._tasks_known())
            return self._learn(rows, features, labels, values, task, tasks or (), late, length)

    @exclusive
    def as_block(self, X: Any, y: Any, task: Any = None) -> Block:
        """Records given in any form as a validated block, for :meth:`learn_block`."""
        self._check_parameters()
        X, task = tabular.split_task(X, task, self.task_column)
        with all_or_nothing(self):
            rows, features, y = self._rows(X, y)
            self._labels_with(y)
            y, n = self._labels().array(y), tabular.length(rows)
            return Block(
                tabular.as_array(rows, features),
                y,
                tabular.task_labels(task, n, self._tasks_known()),
                np.arange(1, n + 1),
            )

    def blank(self, n: int) -> NDArray[Any]:
        """What is kept of n predictions until they are judged, to be filled in by :meth:`kept`."""
        return np.zeros(n)

    def kept(self, margin: Any, label: Any) -> NDArray[Any]:
        """What is kept of predictions: margins with the sign of the inside, for labels may yet turn round."""
        return np.asarray(margin * self.orientation)

    @exclusive
    def learn_block(
        self,
        block: Block,
        late: int = 0,
        tasks: Sequence[Hashable] = (),
        length: int | None = None,
        asking: Asking | None = None,
    ) -> Rounds:
        """As :meth:`learn_rounds`, for a validated block; ``length`` rounds will come, where that is known.

        ``asking`` makes what decides which labels are asked for, of the state; all are without it.
        """
        self._check_parameters()
        rows, features = tabular.block_rows(block.X, self.dtype)
        self._check_width(features)
        if block.y is None:
            raise ValueError("records without labels can be predicted, not learned")
        with all_or_nothing(self):
            labels = self._labels_known()
            made = self._learn(rows, features, labels, labels.values(block.y), block.tasks, tasks, late, length, asking)
        if "view_" not in self.__dict__:
            self.n_features_in_ = features
        return made

    @exclusive
    def meet_block(self, block: Block) -> Rounds:
        """Predict a validated block whose labels come later; margins are 0 before anything is learned."""
        margin = self.decide_block(block) if self.fitted else np.zeros(len(block))
        return Rounds(margin, np.zeros(len(block), bool), np.ones(len(block), bool))

    @exclusive
    def pass_by(self, rounds: int = 1) -> None:
        """End rounds whose labels will not come: means and clocks go on, nothing is learned."""
        if self.fitted:
            self._learner().pass_by(self.state_, rounds)

    @exclusive
    def inform(self, chance: Any) -> None:
        """Bring what an asker's chance holds of a learned relation up to date."""
        self._learner().inform(self.state_, chance)

    def _decide(self, X: Any, task: Any = None) -> Margins:
        """The margin of each record as it is outside; nothing is learned."""
        rows, tasks = self._rows_and_tasks(X, task)
        return self._margins(rows, *occurring(tasks))

    def _rows_and_tasks(self, X: Any, task: Any) -> tuple[Any, Any]:
        """Records to predict, and the task of each; something has been learned."""
        self._check_fitted()
        X, task = tabular.split_task(X, task, self.task_column)
        rows, _, _ = self._rows(X)
        return rows, tabular.task_labels(task, tabular.length(rows), self._tasks_known())

    @exclusive
    def predict(self, X: Any, task: Any = None) -> NDArray[Any]:
        """The predicted label of each record; of two classes a zero margin is ``classes_[1]``. Nothing is learned.

        Raises
        ------
        ValueError
            For a task never seen, if ``new_task="raise"``; otherwise such a task is predicted by what the relation says
            of a task nobody has seen.
        """
        margins = self._decide(X, task)
        return np.asarray(self.labels_.labels(margins))

    @exclusive
    def decide_block(self, block: Block) -> Margins:
        """The margin of each record of a block that has been validated."""
        self._check_fitted()
        rows, features = tabular.block_rows(block.X, self.dtype)
        self._check_width(features)
        return self._margins(rows, *occurring(block.tasks))

    # -- inside ---------------------------------------------------------------------------------------------------

    def _labels_with(self, y: Any) -> Any:
        """The labels known and these, as a copy."""
        labels = self._labels_known()
        labels.values(y)
        return labels

    def _labels_known(self) -> Any:
        """The labels known, as a copy."""
        return self._labels(self.labels_.inside if self.fitted else None)

    def _learn(
        self,
        rows: Any,
        features: int,
        labels: Any,
        values: Margins,
        task: Any,
        tasks: Any,
        late: int,
        length: int | None,
        asking: Asking | None = None,
    ) -> Rounds:
        if late < 0:
            raise ValueError(f"late must be at least 0 rounds, got {late!r}")
        state, codes = self._numbered(task, features, tabular.is_dense(rows), tasks, length)
        self.labels_ = labels
        asker = None if asking is None else asking(state)
        last = max(len(values) - late, 0)
        inside = labels.learn(values, last)
        moves = self._learner().update_many(state, rows, codes, inside.y, last, *([] if asker is None else [asker]))
        asked = np.ones(len(values), bool) if asker is None else asker.answer > 0
        support = getattr(moves, "stored", None), getattr(moves, "evicted", None)
        return Rounds(labels.told(moves.margins, inside), moves.taus > 0, asked, *support)

    def _numbered(
        self, task: Any, features: int, dense: bool, tasks: Sequence[Hashable], length: int | None
    ) -> tuple[State, NDArray[np.int64]]:
        """The state with room for all these tasks, and the number of each record's, looked up once if known."""
        roomy = self.fitted and not tasks and features <= self.state_.features
        codes = self.state_.tasks.codes_of_known(task) if roomy else None
        if codes is not None:
            return self.state_, codes
        distinct, places = occurring(task)
        if roomy:
            numbers = self.state_.tasks.find(distinct)
            if numbers.min(initial=0) >= 0:
                return self.state_, numbers[places]
        state = self._state_with([*tasks, *distinct] if tasks else distinct, features, dense, length)
        return state, state.tasks.find(distinct)[places]

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
        unseen = self.state_.tasks.new_among(tasks)
        if unseen:
            raise ValueError(f"task {unseen[0]!r} was never seen and new_task is 'raise'")

    def _margins(self, rows: Any, distinct: Sequence[Hashable], places: NDArray[np.int64]) -> Margins:
        return np.asarray(self.labels_.shift + self.labels_.factor * self._inside(rows, distinct, places))

    def _inside(self, rows: Any, distinct: Sequence[Hashable], places: NDArray[np.int64]) -> Margins:
        if self.new_task == "raise":
            self._refuse_unseen(distinct)
        numbers = self.state_.tasks.find(distinct)
        if numbers.min(initial=0) < 0:
            tabular.refuse_twins([distinct[i] for i in np.flatnonzero(numbers < 0).tolist()], self.state_.tasks.numbers)
        codes = numbers[places]
        unseen = [distinct[place] for place in places[codes < 0]]
        return np.asarray(self._learner().score_any(self.state_, rows, codes, unseen))

    def _inside_unseen(self, rows: Any, task: Hashable) -> Any:
        if self.new_task == "raise":
            self._refuse_unseen([task])
        tabular.refuse_twins([task], self.state_.tasks.numbers)
        return self._learner().score_any(self.state_, rows, _UNSEEN, [task])[0]

    def _check_width(self, features: int) -> None:
        if self.fitted and features != self.__dict__.get("n_features_in_", features):
            raise ValueError(f"X has {features} features, but {type(self).__name__} is expecting {self.n_features_in_}")

    def _rows(self, X: Any, y: Any = "no_validation") -> tuple[Any, int, Any]:
        """X validated, as compiled code takes it, its width, and y where there is one to learn from."""
        learning, X = not isinstance(y, str), tabular.named(self, X)
        if tabular.is_records(X):
            return *self._dictionary_rows(X, y, learning), y
        if self.fitted and self._dictionaries:
            raise ValueError(
                "the model learned from dictionaries: give a list of dictionaries, or a frame, not an array"
            )
        return tabular.validated(self, X, y, learning and not self.fitted, self._labels())

    def _dictionary_rows(self, X: Sequence[Mapping[str, Any]], y: Any, learning: bool) -> tuple[Any, int]:
        if learning and len(y) != len(X):
            raise ValueError(f"y must hold one label a record: got {len(y)} for {len(X)} records")
        if "encoder_" in self.__dict__:
            rows = tabular.encoded(self.encoder_, X, learning)
            return tabular.of_type(rows, self.dtype), self.encoder_.n_features
        view = self._view()
        rows = view.records(X, grow=learning and self._dictionaries)
        if learning:
            self.view_ = view
        return tabular.of_type(rows, self.dtype), max(len(view), 1)
