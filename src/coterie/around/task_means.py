"""A logistic regression of all tasks that knows, beside each record, how the labels of its task have been so far."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.learner import Features, Margins, RoundCount, StreamLearner, no_moves
from coterie.numeric.core.arrays import Dropped, grown
from coterie.numeric.core.checks import require
from coterie.numeric.core.records import Rows
from coterie.numeric.primal.asking import EVERY
from coterie.numeric.primal.stream import Moves
from coterie.numeric.tabular.entries import sorted_entries
from coterie.numeric.tabular.task_means import PLACES, TaskMeans, learn_means, places_used, predict_means, start
from coterie.numeric.trees import Arrays, array_of, require_held

Codes = NDArray[np.int64]


class _Saved(msgspec.Struct):
    """The data that :meth:`TaskMeanLogistic.dump` returns beside the arrays."""

    features: Features
    rounds: RoundCount


@dataclass
class TaskMeansState:
    """The factors with the counts of every task, and the tasks."""

    model: TaskMeans
    tasks: Index
    features: int
    rounds: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(int(array.nbytes) for array in self.model)


class TaskMeanLogistic(StreamLearner):
    """Learns one logistic regression of all tasks on records and on the task's own log-odds so far.

    The margin is w · (0.3 · logit((m_i + 10 p) / (c_i + 10)), x), where m_i of the c_i labels of task i so far were
    positive and p is the part of all that were; w has a full covariance, which starts at 10 I
    (:mod:`coterie.numeric.tabular.task_means` has the round). Of the features the first 128 that come have a factor.

    Notes
    -----
    O(d²) a record for d ≤ 128 features, and 16 bytes a task.
    """

    log_odds: float | None = 1.0

    def learner(self) -> TaskMeanLogistic:
        """Itself: as a member of a mixture it needs no parts."""
        return self

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> TaskMeansState:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        index = Index(tasks)
        return TaskMeansState(start(len(index)), index, features)

    def check_tasks(self, state: TaskMeansState, tasks: Sequence[Hashable]) -> None:
        """Accept any task."""

    def fit_tasks(self, state: TaskMeansState, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks, given by their labels, and for so many features."""
        state.tasks.add(state.tasks.new_among(tasks))
        state.model = state.model._replace(counts=grown(state.model.counts, len(state.tasks)))
        state.features = max(features, state.features)

    def check_dropping(self, state: TaskMeansState) -> None:
        """Accept that any task is dropped."""

    def check_bounded(self) -> None:
        """Accept ``max_tasks``, a limit on the tasks known at a time."""

    @property
    def comes_unnoticed(self) -> bool:
        """True: what a task leaves behind is in the factors of all."""
        return True

    def drop_tasks(self, state: TaskMeansState, dropped: Dropped) -> None:
        """Drop the counts of tasks; what all have learned from them stays."""
        dropped.move(state.model.counts)
        state.tasks.drop(dropped)

    def update_many(
        self,
        state: TaskMeansState,
        rows: Rows,
        codes: Codes,
        y: NDArray[np.float64],
        last: int | None = None,
        asker: Any = EVERY,
        new: Sequence[Hashable] = (),
    ) -> Moves:
        """Predict and learn records one after the other; see :meth:`coterie.learner.Learner.update_many`.

        Raises
        ------
        TypeError
            For an asker: it is for the mixture to ask.
        """
        require_every(asker, self)
        moves = no_moves(len(codes))
        last = len(codes) if last is None else last
        self.fit_tasks(state, new, state.features)
        learn_means(state.model, sorted_entries(rows), codes, y, last, moves)
        state.rounds += last
        return moves

    def update_one(self, state: TaskMeansState, rows: Rows, i: int, y: float) -> None:
        """Learn one record of the known task i."""
        self.update_many(state, rows, np.array([i]), np.array([y]))

    def score_any(self, state: TaskMeansState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of known tasks, and of those with code -1, which are taken for tasks without labels."""
        margins = np.zeros(len(codes))
        predict_means(state.model, sorted_entries(rows), codes, margins)
        return margins

    def score_one(self, state: TaskMeansState, rows: Rows, i: int) -> float:
        """Margin of one record of the known task i."""
        return float(self.score_any(state, rows, np.array([i]), ())[0])

    def skip_unlabelled(self, state: TaskMeansState, rounds: int = 1) -> None:
        """End rounds that have no labels."""
        state.rounds += rounds

    def weights(self, state: TaskMeansState) -> NDArray[np.float64]:
        """The factors of features, alike for all tasks; the factor of a task's log-odds is not among them."""
        made = np.zeros(state.features)
        used = places_used(state.model.features)
        made[state.model.features[:used]] = state.model.mean[1 : used + 1]
        return np.tile(made, (len(state.tasks), 1))

    def relation_matrix(self, state: TaskMeansState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Ones, as of one model of all."""
        tasks = len(state.tasks) if among is None else len(among)
        return np.ones((tasks, tasks))

    def share(self, state: TaskMeansState) -> NDArray[np.float64]:
        """Ones: factors are those of all tasks."""
        return np.ones(len(state.tasks))

    def dump(self, state: TaskMeansState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks: places in use only."""
        used = places_used(require_held(state.model).features)
        arrays = {
            "features": state.model.features[:used].copy(),
            "mean": state.model.mean[: used + 1].copy(),
            "covariance": state.model.covariance[: used + 1, : used + 1].copy(),
            "counts": state.model.counts[: len(state.tasks)].copy(),
            "overall": state.model.overall.copy(),
        }
        return {"features": state.features, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> TaskMeansState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held, index, model = msgspec.convert(data, _Saved), Index(tasks), start(0)
        saved = TaskMeans(*(array_of(arrays, name, like) for name, like in zip(model._fields, model, strict=True)))
        require_held(saved)
        used = len(saved.features)
        require(used <= PLACES, f"{used} features have factors, and there are {PLACES} places")
        fits = saved.mean.shape == (used + 1,) and saved.covariance.shape == (used + 1, used + 1)
        require(fits, "factors are not those of their features")
        model.features[:used] = saved.features
        model.mean[: used + 1] = saved.mean
        model.covariance[: used + 1, : used + 1] = saved.covariance
        model = model._replace(counts=saved.counts, overall=saved.overall)
        model.check(len(index), held.features)
        return TaskMeansState(model, index, held.features, held.rounds)


def require_every(asker: Any, learner: StreamLearner) -> None:
    """Refuse an asker: TypeError. Not this learner can ask for labels, but the mixture that contains it."""
    if asker is not EVERY:
        raise TypeError(f"{type(learner).__name__} learns every record that it is given: a mixture of it can ask")
