"""Stacked regression: a linear stacker combines the predictions of several regression learners.

The learners do not depend on each other, and learn a batch one after the other; then the stacker processes their
margins in one compiled loop (:mod:`coterie._compiled.primal.stacking`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import msgspec
import numpy as np

from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.records import Csr, weights_of
from coterie._compiled.primal import stacking
from coterie._compiled.primal.stacking import Stacking
from coterie._compiled.trees import Arrays, flatten, rebuild, require_held, strip_prefix
from coterie.tasks.index import Index
from coterie.types import Floats, Json

from .contract import (
    AnyRows,
    BaseLearner,
    Batch,
    Codes,
    InputShape,
    Margins,
    MemberLearner,
    MembersState,
    Predictions,
    UpdateResult,
    combine_traits,
    without_nan,
)
from .state import arrays_of, nbytes_of

#: The weight of the normal prior, as a number of residuals.
NORMAL = 20.0


class _Saved(msgspec.Struct):
    """Saved data of :meth:`RegressionLearner.dump`, without the arrays."""

    shape: Json


@dataclass
class RegressionState(MembersState):
    """The states of the members and of the stacker."""

    _: KW_ONLY
    model: Stacking

    @property
    def nbytes(self) -> int:
        """The memory of the arrays in bytes."""
        return super().nbytes + nbytes_of(self.model)


class RegressionLearner(MemberLearner):
    """An ensemble of regression learners; a stacker, itself learned online, combines their predictions.

    Parameters
    ----------
    learners : sequence of learners
        Learners of numbers; those of mixed effects come last.
    """

    def __init__(self, learners: Sequence[BaseLearner]) -> None:
        self.learners = list(learners)
        traits = combine_traits([learner.traits for learner in learners])
        beyond = "kept within the labels so far"  # members' predictions
        self.traits = replace(traits, has_intervals=True, counts_unseen=False, beyond_features=beyond)

    # -- tasks and features ---------------------------------------------------------------------------------------

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> RegressionState:
        """Return the initial state for these tasks and records of the shape ``size``."""
        model = Stacking.empty(len(self.learners), len(tasks))
        return RegressionState(**vars(super().init(tasks, size, length)), model=model)

    def resize(self, state: RegressionState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state to the first ``tasks`` tasks of the index, and to these features."""
        super().resize(state, tasks, size, counted)
        state.model = state.model.with_tasks(tasks)

    def drop(self, state: RegressionState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Remove ``tasks`` with their own weights."""
        super().drop(state, dropped, tasks)
        state.model.drop_tasks(dropped)

    def mixing_arrays(self, state: RegressionState) -> Iterable[Any]:
        """Return the arrays of the stacker. They must see each record only once, before it is learned."""
        return arrays_of(state.model)

    # -- learning -------------------------------------------------------------------------------------------------

    def learn(self, state: RegressionState, batch: Batch, y: Floats) -> UpdateResult:
        """Predict and learn a batch. The stacker learns from predictions that the members made before the label."""
        n, m = len(batch.tasks), len(y)
        updates = self.learn_members(state, batch, [y] * len(self.learners))
        foreseen = np.array([update.predictions.margins for update in updates])
        now = np.array([update.own for update in updates])
        # delayed labels: members' losses are those of their earlier predictions, not of present margins
        late = n > m or batch.n_predicted > 0
        experts = np.zeros((len(self.learners) + 2, n if late else 0))
        if batch.predictions is not None:
            experts[:, : batch.n_predicted] = batch.predictions.experts
        margins, own, weights = np.zeros(n), np.zeros(m), weights_of(batch.rows)
        options = weights, batch.tasks, y, experts, batch.n_predicted, m, margins, own
        stacking.learn(state.model, foreseen, now, *options)
        state.rounds += m
        members = tuple(without_nan(update.predictions) for update in updates)
        steps = np.max([update.steps for update in updates], axis=0)
        predictions = Predictions(margins, experts if late else None, members)
        return UpdateResult(predictions.replace_first(batch.predictions), own, steps)

    def predict_one(self, state: RegressionState, rows: Csr, i: int) -> float:
        """Return the prediction for one record of the known task number i."""
        return float(stacking.predict_one(state.model, self._foresee_one(state, rows, i)))

    def learn_one(self, state: RegressionState, rows: Csr, i: int, y: float) -> None:
        """Learn one record as :meth:`learn` does; nothing is returned."""
        now = self._foresee_one(state, rows, i)
        self.learn_one_in_members(state, rows, i, y)
        stacking.learn_one(state.model, now, float(weights_of(rows)[0]), i, y)

    def _foresee_one(self, state: RegressionState, rows: Csr, i: int) -> Floats:
        """Return the predictions of one record by the S members, shape (S, 1)."""
        return np.array([[learner.predict_one(inner, rows, i)] for learner, inner in self.pairs(state)])

    # -- predicting -----------------------------------------------------------------------------------------------

    def predict(self, state: RegressionState, batch: Batch) -> Predictions:
        """Return the predictions of a batch without changing the state."""
        return self._predict_with_spread(state, batch)[0]

    def _predict_with_spread(self, state: RegressionState, batch: Batch) -> tuple[Predictions, Floats]:
        """Return the predictions of a batch, and the standard deviations of their residuals."""
        members = self.predict_members(state, batch)
        experts, spreads = self._stack(state.model, batch.tasks, [member.margins for member in members])
        return Predictions(experts[-2], experts, tuple(map(without_nan, members))), spreads

    @staticmethod
    def _stack(model: Stacking, tasks: Codes, margins: Sequence[Margins]) -> tuple[Floats, Floats]:
        experts, spreads = np.zeros((len(margins) + 2, len(tasks))), np.zeros(len(tasks))
        stacking.predict(model, np.array(margins), tasks, experts, spreads)
        return experts, spreads

    def linear_part(self, state: RegressionState, batch: Batch, record: AnyRows | None = None) -> Margins:
        """Return the part of predictions that is a weighted sum of features, not clipped to the range of labels."""
        # predictions are linear in features only without the limits
        free = state.model._replace(extremes=np.array([-np.inf, np.inf]))
        margins = [learner.linear_part(inner, batch, record) for learner, inner in self.pairs(state)]
        return np.asarray(self._stack(free, batch.tasks, margins)[0][-2])

    def intervals(self, state: RegressionState, batch: Batch, level: float) -> tuple[Margins, Floats]:
        """Return predictions, and intervals that contain labels with probability ``level``, shape (n, 2)."""
        predictions, spreads = self._predict_with_spread(state, batch)
        ends, ages = self.quantiles(state, np.array([0.5 - level / 2, 0.5 + level / 2])), predictions.experts[-1]
        return predictions.margins, predictions.margins[:, None] + spreads[:, None] * ends[ages.astype(np.int64)]

    def quantiles(self, state: RegressionState, levels: Floats) -> Floats:
        """Return quantiles of past residuals divided by their deviation. A normal prior counts as 20 residuals.

        Shape (AGES, n): by the number of known labels of the task.
        """
        from scipy.special import ndtr

        quantiles = []
        for counts in state.model.spread.bins:
            # bins that are narrow around 0 and wide in the tails, as quantiles of residuals need them
            edges = np.sinh(np.linspace(-stacking.REACH, stacking.REACH, len(counts) + 1)) / 4.0
            # a Dirichlet-like prior: the normal distribution as NORMAL pseudo-residuals
            below_edge = np.append(0.0, np.cumsum(counts)) + NORMAL * ndtr(edges)
            quantiles.append(np.interp(levels, below_edge / (counts.sum() + NORMAL), edges))
        return np.array(quantiles)

    # -- learned parameters ----------------------------------------------------------------------------------------

    def member_weights(self, state: RegressionState) -> Floats:
        """Return the weight of each of the S members in predictions, shape (S,); 0 for a member that has stopped."""
        active = len(self.learners) - sum(learner.has_left(inner) for learner, inner in self.pairs(state))
        if state.model.clock[0] > stacking.START:
            return state.model.last.mean.copy()  # type: ignore[no-any-return]
        return np.pad(np.full(active, 1.0 / active), (0, len(self.learners) - active))

    def weights(self, state: RegressionState) -> Floats:
        """Return the weights without intercepts, dense, shape (n_tasks, n_features)."""
        weights = np.zeros((state.known, state.features))
        for factor, (learner, inner) in zip(self.member_weights(state), self.pairs(state), strict=True):
            weights += factor * np.asarray(learner.weights(inner), np.float64)  # one at a time: they may be large
        return weights

    def intercepts(self, state: RegressionState) -> Floats:
        """Return the intercept of each task's predictions, shape (n_tasks,)."""
        factors = zip(self.member_weights(state), self.pairs(state), strict=True)
        return np.asarray(sum(factor * learner.intercepts(inner) for factor, (learner, inner) in factors))

    def share(self, state: RegressionState) -> Floats:
        """Return the members' shares averaged by their stacking weights, equal for all tasks."""
        parts = np.abs(self.member_weights(state))
        shares = np.array([learner.share(inner) for learner, inner in self.pairs(state)])
        return np.asarray(parts @ shares / (parts.sum() or 1.0))

    def relation_matrix(self, state: RegressionState, among: Sequence[int] | None = None) -> Floats:
        """Return the matrix (1 - s) I + s 11', which has 1 on the diagonal and the share s elsewhere."""
        n = state.known if among is None else len(among)
        shared = float(self.share(state)[0]) if state.known else 0.0
        return np.asarray((1.0 - shared) * np.eye(n) + shared)

    # -- files ----------------------------------------------------------------------------------------------------

    def dump(self, state: RegressionState) -> tuple[Json, Arrays]:
        """Return the state for a file, as JSON data and named arrays; task labels are saved elsewhere."""
        data, arrays = super().dump(state)
        shape, own = flatten(require_held(state.model.to_saved(state.known)), "model.")
        return data | {"shape": shape}, arrays | own

    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> RegressionState:
        """Restore a state from the result of :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        shape, state = msgspec.convert(data, _Saved).shape, super().restore(data, arrays, tasks)
        model = rebuild(shape, strip_prefix(arrays, "model."), Stacking.empty(len(self.learners)))
        model.check(len(tasks), len(self.learners))
        return RegressionState(**vars(state), model=model)
