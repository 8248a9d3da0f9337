"""A logistic regression of all tasks that knows, beside each record, how the labels of its task have been so far."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.numeric.core.arrays import Dropped, grown
from coterie.numeric.core.checks import require
from coterie.numeric.tabular.entries import sorted_entries
from coterie.numeric.tabular.task_means import PLACES, TaskMeans, learn_means, places_used, predict_means, start
from coterie.numeric.trees import Arrays, array_of, require_held
from coterie.round.contract import BaseLearner, Features, Learned, RoundCount, Run, Size, Told, Traits
from coterie.round.linear import no_moves


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
    known: int
    rounds: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(int(array.nbytes) for array in self.model)


class TaskMeanLogistic(BaseLearner):
    """Learns one logistic regression of all tasks on records and on the task's own log-odds so far.

    The margin is w · (0.3 · logit((m_i + 10 p) / (c_i + 10)), x), where m_i of the c_i labels of task i so far were
    positive and p is the part of all that were; w has a full covariance, which starts at 10 I
    (:mod:`coterie.numeric.tabular.task_means` has the round). Of the features the first 128 that come have a factor.

    Notes
    -----
    O(d²) a record for d ≤ 128 features, and 16 bytes a task.
    """

    traits = Traits(log_odds=1.0, unnoticed=True)  # what a task leaves behind is in the factors of all

    def init(self, tasks: Index, size: Size, length: int | None = None) -> TaskMeansState:
        """The state before the first round."""
        return TaskMeansState(start(len(tasks)), tasks, size.features, len(tasks))

    def refuse(self, state: TaskMeansState, tasks: Sequence[Hashable]) -> None:
        """Accept any task."""

    def grow(self, state: TaskMeansState, tasks: int, size: Size, counted: bool = True) -> None:
        """Make room for the first so many tasks of the index and for so many features."""
        state.model = state.model._replace(counts=grown(state.model.counts, tasks))
        state.known, state.features = tasks, max(size.features, state.features)

    def drop(self, state: TaskMeansState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop the counts of tasks; what all have learned from them stays."""
        dropped.move(state.model.counts)
        state.known = dropped.left

    def learn(self, state: TaskMeansState, run: Run, y: NDArray[np.float64]) -> Learned:
        """Predict and learn records one after the other."""
        moves, m = no_moves(len(run.tasks)), len(y)
        learn_means(state.model, sorted_entries(run.rows), run.tasks, y, m, moves)
        state.rounds += m
        return Learned(Told(moves.margins).after(run.told), moves.own[:m], moves.taus[:m])

    def predict(self, state: TaskMeansState, run: Run) -> Told:
        """Predict records; a task that nobody has seen is one without labels."""
        margins = np.zeros(len(run.tasks))
        predict_means(state.model, sorted_entries(run.rows), run.tasks, margins)
        return Told(margins)

    def skip(self, state: TaskMeansState, rounds: int) -> None:
        """End rounds that have no labels."""
        state.rounds += rounds

    def weights(self, state: TaskMeansState) -> NDArray[np.float64]:
        """The factors of features, alike for all tasks; the factor of a task's log-odds is not among them."""
        made = np.zeros(state.features)
        used = places_used(state.model.features)
        made[state.model.features[:used]] = state.model.mean[1 : used + 1]
        return np.tile(made, (state.known, 1))

    def relation_matrix(self, state: TaskMeansState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Ones, as of one model of all."""
        tasks = state.known if among is None else len(among)
        return np.ones((tasks, tasks))

    def share(self, state: TaskMeansState) -> NDArray[np.float64]:
        """Ones: factors are those of all tasks."""
        return np.ones(state.known)

    def dump(self, state: TaskMeansState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks: places in use only."""
        used = places_used(require_held(state.model).features)
        arrays = {
            "features": state.model.features[:used].copy(),
            "mean": state.model.mean[: used + 1].copy(),
            "covariance": state.model.covariance[: used + 1, : used + 1].copy(),
            "counts": state.model.counts[: state.known].copy(),
            "overall": state.model.overall.copy(),
        }
        return {"features": state.features, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> TaskMeansState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held, model = msgspec.convert(data, _Saved), start(0)
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
        model.check(len(tasks), held.features)
        return TaskMeansState(model, tasks, held.features, len(tasks), held.rounds)
