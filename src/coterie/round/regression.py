"""Gradient learners of numbers beside least squares, pooled and of each task, under one last step that mixes them.

The learners are not aware of each other, and learn a run of records one after the other; the regressions and the last
step then go through their margins in one compiled loop (:mod:`coterie.numeric.primal.least_squares`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from coterie.index import Index
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.checks import require
from coterie.numeric.core.records import Csr, Rows
from coterie.numeric.primal import least_squares
from coterie.numeric.primal.calls import PreparedCall
from coterie.numeric.primal.least_squares import LeastSquares
from coterie.numeric.trees import Arrays, below, flatten, numbered, rebuild, require_held
from coterie.state import State, nbytes_of
from coterie.types import Floats

from .contract import (
    AroundMembers,
    Codes,
    Features,
    Learned,
    Margins,
    RoundCount,
    Run,
    Single,
    Size,
    Told,
)
from .linear import LinearLearner


class _Saved(msgspec.Struct):
    """The data that :meth:`RegressionLearner.dump` returns beside the arrays."""

    members: list[dict[str, Any]]
    shape: dict[str, Any]
    features: Features
    rounds: RoundCount


@dataclass
class RegressionState:
    """The states of the gradient learners, and all that is learned beside them."""

    members: list[State]
    tasks: Index
    model: LeastSquares
    features: int
    known: int
    rounds: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(member.nbytes for member in self.members) + nbytes_of(self.model)


class RegressionLearner(AroundMembers):
    """Learners of numbers and two kinds of least squares mixed into one that has the same methods.

    Parameters
    ----------
    learners : sequence of LinearLearner
        That learn numbers by gradients, the last of them one model of all; their shares of a move are ``shares``.
    shares : sequence of float
        How much of a move each of the learners shares.
    """

    def __init__(self, learners: Sequence[LinearLearner], shares: Sequence[float]) -> None:
        self.learners = list(learners)
        self.shares = [*shares, 1.0, 0.0]
        self.traits = replace(
            learners[0].traits,
            log_odds=None,
            weighs=True,
            asks=False,
            unnoticed=all(learner.traits.unnoticed for learner in learners),
            has_intervals=True,
            mixes=True,
            beyond_features="kept within the labels so far",  # members' predictions
        )

    # -- tasks and features ---------------------------------------------------------------------------------------

    def init(self, tasks: Index, size: Size, length: int | None = None) -> RegressionState:
        """The state before the first round."""
        members = [learner.init(tasks, size, length) for learner in self.learners]
        model = LeastSquares.empty(len(self.learners), len(tasks))
        return RegressionState(members, tasks, model, size.features, len(tasks))

    def grow(self, state: RegressionState, tasks: int, size: Size, counted: bool = True) -> None:
        """Make room for the first so many tasks of the index, with intercepts of 0, and for so many features."""
        super().grow(state, tasks, size, counted)
        state.model = state.model.with_tasks(tasks)
        state.known, state.features = tasks, max(size.features, state.features)

    def drop(self, state: RegressionState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop tasks and their own weights."""
        super().drop(state, dropped, tasks)
        state.model.drop_tasks(dropped)
        state.known = dropped.left

    def hold_mixing(self, state: RegressionState) -> Callable[[], None]:
        """A function that gives back all but the gradient learners: the last step, the residuals and least squares.

        These are exact when they have learned every record once; more often, they would take each for several.
        """
        held = copy.deepcopy(state.model)

        def give_back() -> None:
            state.model = copy.deepcopy(held)

        return give_back

    # -- learning -------------------------------------------------------------------------------------------------

    def learn(self, state: RegressionState, run: Run, y: Floats) -> Learned:
        """Predict and learn; the last step and the residuals use predictions from when they were asked, where known."""
        n, m = len(run.tasks), len(y)
        self.make_room(state, run.rows, run.tasks, m)
        made = self.learn_each(state, run, [y] * len(self.learners))
        foreseen, now = np.array([each.told.margins for each in made]), np.array([each.own for each in made])
        late = n > m or run.given > 0
        told = np.zeros((len(self.learners) + 4, n if late else 0))
        if run.told is not None:
            told[:, : run.given] = run.told.experts
        margins, own = np.zeros(n), np.zeros(m)
        least_squares.learn(state.model, foreseen, now, run.rows, run.tasks, y, told, run.given, m, margins, own)
        state.model = state.model.without_fallen()
        state.rounds += m
        done = Told(margins, told if late else None, tuple(each.told for each in made))
        return Learned(done.after(run.told), own, np.max([each.steps for each in made], axis=0))

    @staticmethod
    def make_room(state: RegressionState, rows: Rows, codes: Codes, m: int) -> None:
        """Make room for regressions of the tasks and features of m records, up to one of too many features."""
        if state.model.has_pooled and m:
            state.model = state.model.with_room_for(rows, codes[:m])

    def single(self, state: RegressionState) -> RegressionSingle:
        """Rounds of one record each, by calls that are prepared for the model."""
        return RegressionSingle(self, state)

    # -- predicting -----------------------------------------------------------------------------------------------

    def predict(self, state: RegressionState, run: Run) -> Told:
        """Predict records; nothing is written."""
        return self._foreseen(state, run)[0]

    def _foreseen(self, state: RegressionState, run: Run) -> tuple[Told, Floats]:
        """Predictions of records, and the spreads of their residuals."""
        members = self.predict_each(state, run)
        n, foreseen = len(run.tasks), np.array([each.margins for each in members])
        told, spreads = np.zeros((len(self.learners) + 4, n)), np.zeros(n)
        least_squares.predict(state.model, foreseen, run.rows, run.tasks, told, spreads)
        return Told(told[-2], told, tuple(members)), spreads

    def linear_part(self, state: RegressionState, run: Run) -> Margins:
        """Margins with members' predictions not kept within the range of the labels."""
        free = state.model._replace(extremes=np.array([-np.inf, np.inf]))
        return self.predict(replace(state, model=free), run).margins  # type: ignore[no-any-return]

    def intervals(self, state: RegressionState, run: Run, level: float) -> tuple[Margins, Floats]:
        """Margins, and intervals in which labels lie with probability ``level``, shape (n, 2)."""
        told, spreads = self._foreseen(state, run)
        ends, ages = self.quantiles(state, np.array([0.5 - level / 2, 0.5 + level / 2])), told.experts[-1]
        return told.margins, told.margins[:, None] + spreads[:, None] * ends[ages.astype(np.int64)]

    def quantiles(self, state: RegressionState, levels: Floats) -> Floats:
        """The quantiles of a residual over its spread, of those counted so far and of a normal one that counts as 20.

        Shape (AGES, n): by how many labels of the task were known.
        """
        from scipy.special import ndtr

        made = []
        for held in state.model.spread.bins:
            edges = np.sinh(np.linspace(-least_squares.REACH, least_squares.REACH, len(held) + 1)) / 4.0
            below_edge = np.append(0.0, np.cumsum(held)) + NORMAL * ndtr(edges)
            made.append(np.interp(levels, below_edge / (held.sum() + NORMAL), edges))
        return np.array(made)

    # -- what was learned -----------------------------------------------------------------------------------------

    def member_weights(self, state: RegressionState) -> Floats:
        """The weights of the members in the last step, shape (S,); 0 for one that has fallen away."""
        last = state.model.last
        made = np.zeros(last.pivots.shape[1])
        active = len(made) - (not state.model.has_own)
        made[:active] = last.cut(1, active).weights(active)[0]
        return made

    def weights(self, state: RegressionState) -> Floats:
        """The weights that predictions use, one row a task, dense, without intercepts."""
        factors, model = self.member_weights(state), state.model
        made = np.zeros((state.known, state.features))
        for factor, (learner, member) in zip(factors[:-2], self.pairs(state), strict=True):
            W = np.asarray(learner.weights(member), np.float64)  # one at a time: they may be large
            made += factor * W
        if model.has_pooled:
            made[:, model.columns] += factors[-2] * model.pooled.weights(len(model.columns))
        else:
            made += factors[-2] * W
        own = self._own_weights(state)
        made[: len(own), model.columns] += factors[-1] * own[:, 1:]
        return made

    @staticmethod
    def _own_weights(state: RegressionState) -> Floats:
        """The constants and weights of the tasks' own regressions, as far as there are any."""
        model = state.model
        return model.own.weights(1 + len(model.columns))[: state.known if model.has_own else 0]

    def intercepts(self, state: RegressionState) -> Floats:
        """The constant part of each task's predictions, beside its weights, shape (n_tasks,)."""
        residuals = state.model.residuals[: state.known]
        factors, own = self.member_weights(state), self._own_weights(state)
        made = factors[-2] * residuals[:, 0] / (residuals[:, 1] + least_squares.SHRINKAGE)
        made[: len(own)] += factors[-1] * own[:, 0]
        return np.asarray(made)

    def share(self, state: RegressionState) -> Floats:
        """The share of the members, weighted by how much each counts in the last step; the same for all tasks."""
        parts = np.abs(self.member_weights(state))
        shared = float(parts @ self.shares / parts.sum()) if parts.any() else 0.0
        return np.full(state.known, shared)

    def relation_matrix(self, state: RegressionState, among: Sequence[int] | None = None) -> Floats:
        """The matrix (1 - s) I + s 11' of the share s."""
        n = state.known if among is None else len(among)
        shared = float(self.share(state)[0]) if state.known else 0.0
        return np.asarray((1.0 - shared) * np.eye(n) + shared)

    # -- files ----------------------------------------------------------------------------------------------------

    def dump(self, state: RegressionState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, held = zip(*(learner.dump(member) for learner, member in self.pairs(state)), strict=True)
        shape, own = flatten(require_held(state.model.to_saved(state.known)), "model.")
        arrays = numbered("members", held) | own
        return {"members": list(data), "shape": shape, "features": state.features, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> RegressionState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held = msgspec.convert(data, _Saved)
        require(len(held.members) == len(self.learners), f"there are {len(held.members)} gradient learners")
        members = [
            learner.restore(each, below(arrays, f"members.{n}."), tasks)
            for n, (learner, each) in enumerate(zip(self.learners, held.members, strict=True))
        ]
        require(all(member.features == held.features for member in members), "the members are of different widths")
        model = rebuild(held.shape, below(arrays, "model."), LeastSquares.empty(len(self.learners)))
        model.check(len(tasks), len(self.learners), held.features)
        return RegressionState(members, tasks, model, held.features, len(tasks), held.rounds)


class RegressionSingle(Single):
    """Rounds of one record each, by calls prepared for the model as long as it is the same object."""

    def __init__(self, learner: RegressionLearner, state: RegressionState) -> None:
        super().__init__(learner, state)
        self._members = [each.single(member) for each, member in learner.pairs(state)]
        self._predict, self._learn = PreparedCall(least_squares.predict_one), PreparedCall(least_squares.learn_one)

    def _foreseen(self, rows: Csr, i: int) -> Floats:
        """The margins of the gradient learners, shape (G, 1)."""
        return np.array([each.predict(rows, i) for each in self._members]).reshape(-1, 1)

    def predict(self, rows: Csr, i: int) -> float:
        """The margin of a record of task i."""
        return self._predict(self.state.model, self._foreseen(rows, i), rows, i)  # type: ignore[no-any-return]

    def learn(self, rows: Csr, i: int, y: float) -> None:
        """Learn a record, as :meth:`RegressionLearner.learn` would, without returning its move."""
        state, now = self.state, self._foreseen(rows, i)
        for each in self._members:
            each.learn(rows, i, y)
        done = self._learn(state.model, now, rows, i, y)
        if done == least_squares.NO_ROOM:
            self.learner.make_room(state, rows, np.array([i]), 1)
            done = self._learn(state.model, now, rows, i, y)
        if done == least_squares.FELL:
            state.model = state.model.without_fallen()
        state.rounds += 1

    def forget(self) -> None:
        """Release the models."""
        self._predict.forget()
        self._learn.forget()
        for each in self._members:
            each.forget()


#: How many residuals the normal distribution counts as, beside those seen.
NORMAL = 20.0
