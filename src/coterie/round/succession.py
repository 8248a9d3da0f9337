"""A mixed-effects model until records have too many features for it, then another learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from coterie.index import Index
from coterie.numeric.core.records import Csr
from coterie.numeric.trees import Arrays
from coterie.state import State
from coterie.types import Floats

from .contract import (
    BaseLearner,
    Batch,
    InputShape,
    Margins,
    MemberFastPath,
    MemberLearner,
    Predictions,
    SavedMembers,
    UpdateResult,
    finite,
)
from .mixed_effects import MixedEffectsLearner


@dataclass
class SuccessionState:
    """The states of the mixed-effects model and of its successor."""

    members: list[State]
    tasks: Index
    features: int
    known: int
    rounds: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(member.nbytes for member in self.members)


class SuccessionLearner(MemberLearner):
    """Predict by a mixed-effects model until it leaves, then by a successor, which learns from the start.

    Parameters
    ----------
    first : MixedEffectsLearner
        One that leaves beyond the limit of features.
    successor : learner
        A learner of the same labels, whose margins are log-odds if those of the first are.
    """

    def __init__(self, first: MixedEffectsLearner, successor: BaseLearner) -> None:
        self.learners = [first, successor]
        tasks_independent = successor.traits.tasks_independent
        self.traits = replace(
            first.traits, asks=False, tasks_independent=tasks_independent, has_variances=False, has_intervals=False
        )

    # -- tasks and features -------------------------------------------------------------------------------------------

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> SuccessionState:
        """Return the state before the first round."""
        members = [learner.init(tasks, size, length) for learner in self.learners]
        return SuccessionState(members, tasks, size.features, len(tasks))

    # -- rounds -------------------------------------------------------------------------------------------------------

    def predict(self, state: SuccessionState, run: Batch) -> Predictions:
        """Predict records; nothing is written."""
        return self._joined(self.predict_each(state, run))

    @staticmethod
    def _joined(members: Sequence[Predictions]) -> Predictions:
        first, successor = (each.margins for each in members)
        return Predictions(np.where(np.isnan(first), successor, first), None, tuple(map(finite, members)))

    def learn(self, state: SuccessionState, run: Batch, y: Floats) -> UpdateResult:
        """Predict and learn records; see :meth:`coterie.round.contract.Learner.learn`."""
        first, successor = self.learn_each(state, run, [y, y])
        state.rounds += len(y)
        own = np.where(np.isnan(first.own), successor.own, first.own)
        steps = np.maximum(first.steps, successor.steps)
        return UpdateResult(self._joined([first.predictions, successor.predictions]).after(run.predictions), own, steps)

    def single(self, state: SuccessionState) -> SuccessionSingle:
        """Return rounds of one record each, by those of both learners."""
        return SuccessionSingle(self, state)

    def variances(self, state: SuccessionState, run: Batch) -> Floats:
        """Refuse to tell variances, which the successor has none of."""
        raise AttributeError("a model with many_features='gradient' has no variances; use many_features='raise'")

    def intervals(self, state: SuccessionState, run: Batch, level: float) -> tuple[Margins, Floats]:
        """Refuse to tell intervals, which the successor has none of."""
        raise AttributeError("a model with many_features='gradient' has no intervals; use many_features='raise'")

    # -- what was learned: that of the learner that predicts ----------------------------------------------------------

    def _active(self, state: SuccessionState) -> tuple[Any, Any]:
        first, successor = self.pairs(state)
        return successor if first[0].has_left(first[1]) else first

    def linear_part(self, state: SuccessionState, run: Batch, record: Any = None) -> Margins:
        """Return the margins of records as weighted sums."""
        learner, inner = self._active(state)
        return np.asarray(learner.linear_part(inner, run, record))

    def weights(self, state: SuccessionState) -> Floats:
        """Return the weights that predictions use, one row a task, dense."""
        learner, inner = self._active(state)
        return np.asarray(learner.weights(inner))

    def intercepts(self, state: SuccessionState) -> Floats:
        """Return the constant part of each task's margins, beside the weights."""
        learner, inner = self._active(state)
        return np.asarray(learner.intercepts(inner))

    def share(self, state: SuccessionState) -> Floats:
        """Return the part of each task's moves that is shared with others."""
        learner, inner = self._active(state)
        return np.asarray(learner.share(inner))

    def relation_matrix(self, state: SuccessionState, among: Sequence[int] | None = None) -> Floats:
        """Return A⁻¹ on the paper's scale for the tasks known, or for those ``among`` them."""
        learner, inner = self._active(state)
        return np.asarray(learner.relation_matrix(inner, among))

    # -- files --------------------------------------------------------------------------------------------------------

    def dump(self, state: SuccessionState) -> tuple[dict[str, Any], Arrays]:
        """Return the state as plain JSON data and named arrays, without the labels of the tasks."""
        data, arrays = self.dump_members(state)
        return {"members": data, "features": state.features, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> SuccessionState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        saved = msgspec.convert(data, SavedMembers)
        members = self.restore_members(saved.members, arrays, tasks, saved.features)
        return SuccessionState(members, tasks, saved.features, len(tasks), saved.rounds)


class SuccessionSingle(MemberFastPath):
    """Rounds of one record each, by those of both learners."""

    def predict(self, rows: Csr, i: int) -> float:
        """Return the margin of a record of task i."""
        first, successor = self.members
        margin = float(first.predict(rows, i))
        return float(successor.predict(rows, i)) if np.isnan(margin) else margin
