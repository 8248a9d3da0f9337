"""Learners of numbers under one last step that mixes them.

The learners are not aware of each other, and learn a run of records one after the other; the last step then goes
through their margins in one compiled loop (:mod:`coterie.numeric.primal.stacking`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from coterie.index import Index
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.records import Csr, weights_of
from coterie.numeric.primal import stacking
from coterie.numeric.primal.calls import PreparedCall
from coterie.numeric.primal.stacking import Stacking
from coterie.numeric.trees import Arrays, flatten, rebuild, require_held, strip_prefix
from coterie.state import State, copied, nbytes_of
from coterie.types import Floats

from .contract import (
    BaseLearner,
    Batch,
    Codes,
    InputShape,
    Margins,
    MemberFastPath,
    MemberLearner,
    Predictions,
    SavedMembers,
    UpdateResult,
    finite,
)


class _Saved(SavedMembers):
    """The data that :meth:`RegressionLearner.dump` returns beside the arrays."""

    shape: dict[str, Any]


@dataclass
class RegressionState:
    """The states of the learners, and the last step."""

    members: list[State]
    tasks: Index
    model: Stacking
    features: int
    known: int
    rounds: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(member.nbytes for member in self.members) + nbytes_of(self.model)


class RegressionLearner(MemberLearner):
    """Learners of numbers mixed into one that has the same methods.

    Parameters
    ----------
    learners : sequence of learners
        That learn numbers; those of mixed effects come last.
    """

    def __init__(self, learners: Sequence[BaseLearner]) -> None:
        self.learners = list(learners)
        self.traits = replace(
            learners[0].traits,
            log_odds=None,
            weighs=True,
            asks=False,
            tasks_independent=all(learner.traits.tasks_independent for learner in learners),
            has_intervals=True,
            mixes=True,
            beyond_features="kept within the labels so far",  # members' predictions
        )

    # -- tasks and features ---------------------------------------------------------------------------------------

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> RegressionState:
        """The state before the first round."""
        members = [learner.init(tasks, size, length) for learner in self.learners]
        model = Stacking.empty(len(self.learners), len(tasks))
        return RegressionState(members, tasks, model, size.features, len(tasks))

    def resize(self, state: RegressionState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Make room for the first so many tasks of the index, and for so many features."""
        super().resize(state, tasks, size, counted)
        state.model = state.model.with_tasks(tasks)

    def drop(self, state: RegressionState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop tasks and their own weights."""
        super().drop(state, dropped, tasks)
        state.model.drop_tasks(dropped)

    def hold_mixing(self, state: RegressionState) -> Callable[[], None]:
        """A function that restores the last step, and the members that are exact if they learned each record once."""
        model, restore_members = copied(state.model), super().hold_mixing(state)

        def restore() -> None:
            state.model = copied(model)
            restore_members()

        return restore

    # -- learning -------------------------------------------------------------------------------------------------

    def learn(self, state: RegressionState, run: Batch, y: Floats) -> UpdateResult:
        """Predict and learn; the last step and the residuals use predictions from when they were asked, where known."""
        n, m = len(run.tasks), len(y)
        made = self.learn_each(state, run, [y] * len(self.learners))
        foreseen, now = np.array([each.predictions.margins for each in made]), np.array([each.own for each in made])
        late = n > m or run.given > 0
        predictions = np.zeros((len(self.learners) + 2, n if late else 0))
        if run.predictions is not None:
            predictions[:, : run.given] = run.predictions.experts
        margins, own, weights = np.zeros(n), np.zeros(m), weights_of(run.rows)
        stacking.learn(state.model, foreseen, now, weights, run.tasks, y, predictions, run.given, m, margins, own)
        state.rounds += m
        members = tuple(finite(each.predictions) for each in made)
        steps = np.max([each.steps for each in made], axis=0)
        return UpdateResult(
            Predictions(margins, predictions if late else None, members).after(run.predictions), own, steps
        )

    def single(self, state: RegressionState) -> RegressionSingle:
        """Rounds of one record each, by calls that are prepared for the model."""
        return RegressionSingle(self, state)

    # -- predicting -----------------------------------------------------------------------------------------------

    def predict(self, state: RegressionState, run: Batch) -> Predictions:
        """Predict records; nothing is written."""
        return self._foreseen(state, run)[0]

    def _foreseen(self, state: RegressionState, run: Batch) -> tuple[Predictions, Floats]:
        """Predictions of records, and the spreads of their residuals."""
        members = self.predict_each(state, run)
        predictions, spreads = self._stacked(state.model, run.tasks, [each.margins for each in members])
        return Predictions(predictions[-2], predictions, tuple(map(finite, members))), spreads

    @staticmethod
    def _stacked(model: Stacking, tasks: Codes, margins: Sequence[Margins]) -> tuple[Floats, Floats]:
        predictions, spreads = np.zeros((len(margins) + 2, len(tasks))), np.zeros(len(tasks))
        stacking.predict(model, np.array(margins), tasks, predictions, spreads)
        return predictions, spreads

    def linear_part(self, state: RegressionState, run: Batch, record: Any = None) -> Margins:
        """Margins with members' predictions not kept within the range of the labels."""
        free = state.model._replace(extremes=np.array([-np.inf, np.inf]))
        margins = [learner.linear_part(inner, run, record) for learner, inner in self.pairs(state)]
        return np.asarray(self._stacked(free, run.tasks, margins)[0][-2])

    def intervals(self, state: RegressionState, run: Batch, level: float) -> tuple[Margins, Floats]:
        """Margins, and intervals in which labels lie with probability ``level``, shape (n, 2)."""
        predictions, spreads = self._foreseen(state, run)
        ends, ages = self.quantiles(state, np.array([0.5 - level / 2, 0.5 + level / 2])), predictions.experts[-1]
        return predictions.margins, predictions.margins[:, None] + spreads[:, None] * ends[ages.astype(np.int64)]

    def quantiles(self, state: RegressionState, levels: Floats) -> Floats:
        """The quantiles of a residual over its spread, of those counted so far and of a normal one that counts as 20.

        Shape (AGES, n): by how many labels of the task were known.
        """
        from scipy.special import ndtr

        made = []
        for held in state.model.spread.bins:
            edges = np.sinh(np.linspace(-stacking.REACH, stacking.REACH, len(held) + 1)) / 4.0
            below_edge = np.append(0.0, np.cumsum(held)) + NORMAL * ndtr(edges)
            made.append(np.interp(levels, below_edge / (held.sum() + NORMAL), edges))
        return np.array(made)

    # -- what was learned -----------------------------------------------------------------------------------------

    def member_weights(self, state: RegressionState) -> Floats:
        """The weights of the members in the last step, shape (S,); 0 for one that has left."""
        active = len(self.learners) - sum(learner.has_left(inner) for learner, inner in self.pairs(state))
        if state.model.clock[0] > stacking.START:
            return state.model.last.mean.copy()  # type: ignore[no-any-return]
        return np.pad(np.full(active, 1.0 / active), (0, len(self.learners) - active))

    def weights(self, state: RegressionState) -> Floats:
        """The weights that predictions use, one row a task, dense, without intercepts."""
        weights = np.zeros((state.known, state.features))
        for factor, (learner, inner) in zip(self.member_weights(state), self.pairs(state), strict=True):
            weights += factor * np.asarray(learner.weights(inner), np.float64)  # one at a time: they may be large
        return weights

    def intercepts(self, state: RegressionState) -> Floats:
        """The constant part of each task's predictions, beside its weights, shape (n_tasks,)."""
        factors = zip(self.member_weights(state), self.pairs(state), strict=True)
        return np.asarray(sum(factor * learner.intercepts(inner) for factor, (learner, inner) in factors))

    def share(self, state: RegressionState) -> Floats:
        """The share of the members, weighted by how much each counts in the last step; the same for all tasks."""
        parts = np.abs(self.member_weights(state))
        shares = np.array([learner.share(inner) for learner, inner in self.pairs(state)])
        return np.asarray(parts @ shares / (parts.sum() or 1.0))

    def relation_matrix(self, state: RegressionState, among: Sequence[int] | None = None) -> Floats:
        """The matrix (1 - s) I + s 11' of the share s."""
        n = state.known if among is None else len(among)
        shared = float(self.share(state)[0]) if state.known else 0.0
        return np.asarray((1.0 - shared) * np.eye(n) + shared)

    # -- files ----------------------------------------------------------------------------------------------------

    def dump(self, state: RegressionState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, arrays = self.dump_members(state)
        shape, own = flatten(require_held(state.model.to_saved(state.known)), "model.")
        return {"members": data, "shape": shape, "features": state.features, "rounds": state.rounds}, arrays | own

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> RegressionState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held = msgspec.convert(data, _Saved)
        members = self.restore_members(held.members, arrays, tasks, held.features)
        model = rebuild(held.shape, strip_prefix(arrays, "model."), Stacking.empty(len(self.learners)))
        model.check(len(tasks), len(self.learners))
        return RegressionState(members, tasks, model, held.features, len(tasks), held.rounds)


class RegressionSingle(MemberFastPath):
    """Rounds of one record each, by calls prepared for the model as long as it is the same object."""

    def __init__(self, learner: RegressionLearner, state: RegressionState) -> None:
        super().__init__(learner, state)
        self._predict, self._learn = PreparedCall(stacking.predict_one), PreparedCall(stacking.learn_one)

    def _foreseen(self, rows: Csr, i: int) -> Floats:
        """The margins of the members, shape (S, 1)."""
        return np.array([each.predict(rows, i) for each in self.members]).reshape(-1, 1)

    def predict(self, rows: Csr, i: int) -> float:
        """The margin of a record of task i."""
        return self._predict(self.state.model, self._foreseen(rows, i))  # type: ignore[no-any-return]

    def learn(self, rows: Csr, i: int, y: float) -> None:
        """Learn a record, as :meth:`RegressionLearner.learn` would, without returning its move."""
        now = self._foreseen(rows, i)
        super().learn(rows, i, y)
        self._learn(self.state.model, now, float(weights_of(rows)[0]), i, y)

    def forget(self) -> None:
        """Release the models."""
        self._predict.forget()
        self._learn.forget()
        super().forget()


#: How many residuals the normal distribution counts as, beside those seen.
NORMAL = 20.0
