"""Gradient learners of numbers beside least squares, pooled and of each task, under one last step that mixes them.

The learners are not aware of each other, and learn a run of records one after the other; the regressions and the last
step then go through their margins in one compiled loop (:mod:`coterie.numeric.primal.least_squares`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.learner import Features, Learner, Margins, RoundCount, StreamLearner
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.checks import require, require_finite, require_shape, require_within
from coterie.numeric.core.records import Csr, Rows, widths_of
from coterie.numeric.primal import least_squares
from coterie.numeric.primal.asking import EVERY
from coterie.numeric.primal.calls import PreparedCall
from coterie.numeric.primal.least_squares import AGES, OWN_LIMIT, POOLED_LIMIT, LeastSquares
from coterie.numeric.primal.stream import Moves
from coterie.numeric.trees import Arrays, array_of, below, flatten, numbered, rebuild, require_held
from coterie.state import State, nbytes_of

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


class Waiting(NamedTuple):
    """Records that were predicted and whose labels come later: their predictions, (S + 2, m), and their tasks."""

    told: Floats
    codes: Codes

    def renumbered(self, codes: Codes) -> Waiting:
        """The same with other numbers of the tasks; of -1 nothing is kept."""
        return Waiting(np.where(codes >= 0, self.told, 0.0), codes)


NOBODY = Waiting(np.zeros((0, 0)), np.zeros(0, np.int64))


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
    rounds: int = 0
    waiting: Waiting = NOBODY

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(member.nbytes for member in self.members) + nbytes_of((self.model, self.waiting))

    def of_tasks(self, members: list[State], tasks: Codes) -> RegressionState:
        """The state of some tasks alone, in this order, beside their members' states."""
        labels = self.tasks.labels
        numbers = np.full(len(labels) + 1, -1)  # the last is that of -1
        numbers[tasks] = np.arange(len(tasks))
        return RegressionState(
            members,
            Index([labels[i] for i in tasks.tolist()]),
            self.model.to_saved(len(labels)).of_tasks(tasks),
            self.features,
            self.rounds,
            self.waiting.renumbered(numbers[self.waiting.codes]),
        )

    @classmethod
    def joined(
        cls, parts: Sequence[RegressionState], members: list[State], labels: Sequence[Hashable], places: Sequence[Codes]
    ) -> RegressionState:
        """Undo :meth:`of_tasks`: the tasks of each part are at those places of all labels."""
        models = [part.model.to_saved(len(part.tasks)) for part in parts]
        model = LeastSquares.joined(models, np.argsort(np.concatenate(places)))
        told, codes = zip(
            *(
                part.waiting.renumbered(np.append(at, -1)[part.waiting.codes])
                for part, at in zip(parts, places, strict=True)
            ),
            strict=True,
        )
        waiting = Waiting(np.sum(told, axis=0), np.max(codes, axis=0))
        return cls(members, Index(labels), model, parts[0].features, parts[0].rounds, waiting)


class _RecordCalls:
    """The calls for one record at a time, prepared for a model; copies begin with none."""

    def __init__(self) -> None:
        self.predict = PreparedCall(least_squares.predict_one)
        self.learn = PreparedCall(least_squares.learn_one)

    def __reduce__(self) -> tuple[Any, ...]:
        return _RecordCalls, ()

    def forget(self) -> None:
        """Release the model."""
        self.predict.forget()
        self.learn.forget()


class RegressionLearner(StreamLearner):
    """Learners of numbers and two kinds of least squares mixed into one that has the same methods.

    Parameters
    ----------
    learners : sequence of Learner
        That learn numbers by gradients, the last of them one model of all; their shares of a move are ``shares``.
    shares : sequence of float
        How much of a move each of the learners shares.
    """

    has_intervals = True

    def __init__(self, learners: Sequence[Learner], shares: Sequence[float]) -> None:
        self.learners, self.log_odds = list(learners), None
        self.shares = [*shares, 1.0, 0.0]
        self._one = _RecordCalls()

    def apart(self, learners: Sequence[Any]) -> RegressionLearner:
        """The same with other gradient learners."""
        return RegressionLearner(learners, self.shares[:-2])

    @property
    def weighs(self) -> bool:
        """True: least squares weigh records, as the gradient learners do."""
        return True

    # -- tasks and features ---------------------------------------------------------------------------------------

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> RegressionState:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        members = [learner.init(tasks, features, dense, length) for learner in self.learners]
        index = Index(members[0].tasks.labels)
        model = LeastSquares.empty(len(self.learners), len(index))
        return RegressionState(members, index, model, features)

    def check_tasks(self, state: RegressionState, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that a learner's relation does not know: ValueError naming the first."""
        for learner, member in self._members(state):
            learner.check_tasks(member, tasks)

    def fit_tasks(self, state: RegressionState, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks, given by their labels, and for so many features; all or nothing."""
        if features <= state.features and not state.tasks.new_among(tasks):
            return
        self.check_tasks(state, tasks)
        for learner, member in self._members(state):
            learner.fit_tasks(member, tasks, features)
        self._note_tasks(state, tasks)
        state.features = max(features, state.features)

    @staticmethod
    def _note_tasks(state: RegressionState, new: Sequence[Hashable]) -> None:
        """Number tasks that are new, with intercepts of 0."""
        if new:
            state.tasks.add(new)
            state.model = state.model.with_tasks(len(state.tasks))

    def check_dropping(self, state: RegressionState) -> None:
        """Refuse if a learner cannot drop tasks: ValueError."""
        for learner, member in self._members(state):
            learner.check_dropping(member)

    def check_bounded(self) -> None:
        """Refuse ``max_tasks``, a limit on the tasks known at a time, if a learner does: ValueError."""
        for learner in self.learners:
            learner.check_bounded()

    mixes = True

    def hold_mixing(self, state: RegressionState) -> Callable[[], None]:
        """A function that gives back all but the gradient learners: the last step, the residuals and least squares.

        These are exact when they have learned every record once; more often, they would take each for several.
        """
        held = copy.deepcopy(state.model)

        def give_back() -> None:
            self._one.forget()
            state.model = copy.deepcopy(held)

        return give_back

    @property
    def comes_unnoticed(self) -> bool:
        """True if adding or dropping a task changes nothing for all others, whichever the learner."""
        return all(learner.comes_unnoticed for learner in self.learners)

    def drop_tasks(self, state: RegressionState, dropped: Dropped) -> None:
        """Drop tasks, their own weights, and the predictions of theirs that wait for labels."""
        for learner, member in self._members(state):
            learner.drop_tasks(member, dropped)
        state.tasks.drop(dropped)
        state.model.drop_tasks(dropped)
        state.waiting = state.waiting.renumbered(dropped.renumbered(state.waiting.codes))

    def _members(self, state: RegressionState) -> Iterator[tuple[Learner, State]]:
        """Each gradient learner with its state."""
        return zip(self.learners, state.members, strict=True)

    # -- learning -------------------------------------------------------------------------------------------------

    def update_many(
        self,
        state: RegressionState,
        rows: Rows,
        codes: Codes,
        y: Floats,
        last: int | None = None,
        asker: Any = EVERY,
        new: Sequence[Hashable] = (),
    ) -> Moves:
        """Predict and learn records one after the other; see :meth:`coterie.learner.Learner.update_many`.

        The last step and the residuals use the members' predictions from when they were asked, where these are known.

        Raises
        ------
        TypeError
            For an asker: whether a number is asked for cannot be decided by a margin.
        """
        if asker is not EVERY:
            raise TypeError("labels that are numbers cannot be asked for by the margin: the model must be a classifier")
        self._one.forget()
        last = len(codes) if last is None else last
        delay = len(codes) - last
        self._note_tasks(state, new)
        self._make_room(state, rows, codes, last)
        made = self.gather(
            [
                partial(learner.update_many, member, rows, codes, y, last, EVERY, new)
                for learner, member in self._members(state)
            ]
        )
        foreseen, now = (np.array([each[kind] for each in made]) for kind in (0, 1))
        told = self._told_before(state, codes, delay)
        moves = Moves(np.zeros(len(codes)), np.zeros(len(codes)), np.max([each.taus for each in made], axis=0))
        least_squares.learn(state.model, foreseen, now, rows, codes, y, told, last, moves.margins, moves.own)
        state.model = state.model.without_fallen()
        state.waiting = Waiting(told[:, last:].copy(), codes[last:].copy())
        state.features = max(state.features, *(member.features for member in state.members))
        state.rounds += last
        return moves

    @staticmethod
    def _make_room(state: RegressionState, rows: Rows, codes: Codes, last: int) -> None:
        """Make room for regressions of the tasks and features of the records before those with too many features."""
        model = state.model
        if not (model.has_pooled and last):
            return
        widths = np.maximum(np.maximum.accumulate(widths_of(rows.cut(0, last))), model.width)
        pooled, own = (int(np.searchsorted(widths, limit, "right")) for limit in (POOLED_LIMIT, OWN_LIMIT))
        wide, narrow = (int(widths[end - 1]) if end else 0 for end in (pooled, own))
        state.model = model.with_room(wide, int(codes[:own].max(initial=-1)) + 1, narrow)

    def _told_before(self, state: RegressionState, codes: Codes, delay: int) -> Floats:
        """Room for the predictions of each record, with those made of the first if these wait for labels; else zeros.

        At the end of a stream they come alone and with all their labels.
        """
        waiting, late = state.waiting.codes, delay or len(codes)
        known = len(waiting) == late and bool(((waiting == codes[:late]) | (waiting < 0)).all())
        told = np.zeros((len(self.learners) + 4, len(codes) if delay or known else 0))
        if known:
            told[:, :late] = state.waiting.told
        return told

    def update_one(self, state: RegressionState, rows: Csr, i: int, y: float) -> None:
        """Learn one record of the known task i, as :meth:`update_many` would, without returning its moves."""
        now = self._margins_of_one(state, rows, i)
        for learner, member in self._members(state):
            learner.update_one(member, rows, i, y)
        done = self._one.learn(state.model, now, rows, i, y)
        if done == least_squares.NO_ROOM:
            self._make_room(state, rows, np.array([i]), 1)
            done = self._one.learn(state.model, now, rows, i, y)
        if done == least_squares.FELL:
            state.model = state.model.without_fallen()
        state.waiting = NOBODY
        state.rounds += 1

    def skip_unlabelled(self, state: RegressionState, rounds: int = 1) -> None:
        """End rounds that have no labels; see :meth:`coterie.learner.Learner.skip_unlabelled`."""
        for learner, member in self._members(state):
            learner.skip_unlabelled(member, rounds)
        state.rounds += rounds
        state.waiting = NOBODY

    # -- predicting -----------------------------------------------------------------------------------------------

    def moments(
        self, state: RegressionState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]
    ) -> tuple[Floats, Floats, Codes]:
        """Margins as :meth:`score_any`, the spreads of their residuals and the ages of the tasks."""
        jobs = [partial(learner.score_any, member, rows, codes, unseen) for learner, member in self._members(state)]
        foreseen = np.array(self.gather(jobs))
        margins, spreads, ages = np.zeros(len(codes)), np.zeros(len(codes)), np.zeros(len(codes), np.int64)
        least_squares.predict(state.model, foreseen, rows, codes, margins, spreads, ages)
        return margins, spreads, ages

    def score_any(self, state: RegressionState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of the tasks ``codes``; -1 is a new task, whose label is the next of ``unseen``."""
        return self.moments(state, rows, codes, unseen)[0]

    #: The part of a margin that is no weighted sum of features: members' predictions are kept within the labels' range.
    beyond_features = "kept within the labels so far"

    def linear_part(self, state: RegressionState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Margins as :meth:`score_any`, with members' predictions not kept within the range of the labels."""
        free = state.model._replace(extremes=np.array([-np.inf, np.inf]))
        return self.score_any(replace(state, model=free), rows, codes, unseen)

    def score_one(self, state: RegressionState, rows: Csr, i: int) -> float:
        """Margin of one record of the known task i."""
        return self._one.predict(state.model, self._margins_of_one(state, rows, i), rows, i)  # type: ignore[no-any-return]

    def _margins_of_one(self, state: RegressionState, rows: Csr, i: int) -> Floats:
        said = [learner.score_one(member, rows, i) for learner, member in self._members(state)]
        return np.array(said).reshape(-1, 1)

    def intervals(
        self, state: RegressionState, rows: Rows, codes: Codes, unseen: Sequence[Hashable], level: float
    ) -> tuple[Margins, Floats]:
        """Margins as :meth:`score_any`, and intervals in which labels lie with probability ``level``, shape (n, 2)."""
        margins, spreads, ages = self.moments(state, rows, codes, unseen)
        ends = self.quantiles(state, np.array([0.5 - level / 2, 0.5 + level / 2]))
        return margins, margins[:, None] + spreads[:, None] * ends[ages]

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
        each = [np.asarray(learner.weights(member), np.float64) for learner, member in self._members(state)]
        pooled = model.pooled.weights(state.features) if model.has_pooled else each[-1]
        made = np.einsum("a,amj->mj", factors[:-2], np.array(each)) + factors[-2] * pooled
        own = self._own_weights(state)
        made[: len(own)] += factors[-1] * own[:, 1:]
        return np.asarray(made)

    @staticmethod
    def _own_weights(state: RegressionState) -> Floats:
        """The constants and weights of the tasks' own regressions, as far as there are any."""
        model = state.model
        return model.own.weights(1 + state.features)[: len(state.tasks) if model.has_own else 0]

    def intercepts(self, state: RegressionState) -> Floats:
        """The constant part of each task's predictions, beside its weights, shape (n_tasks,)."""
        residuals = state.model.residuals[: len(state.tasks)]
        factors, own = self.member_weights(state), self._own_weights(state)
        made = factors[-2] * residuals[:, 0] / (residuals[:, 1] + least_squares.SHRINKAGE)
        made[: len(own)] += factors[-1] * own[:, 0]
        return np.asarray(made)

    def share(self, state: RegressionState) -> Floats:
        """The share of the members, weighted by how much each counts in the last step; the same for all tasks."""
        parts = np.abs(self.member_weights(state))
        shared = float(parts @ self.shares / parts.sum()) if parts.any() else 0.0
        return np.full(len(state.tasks), shared)

    def relation_matrix(self, state: RegressionState, among: Sequence[int] | None = None) -> Floats:
        """The matrix (1 - s) I + s 11' of the share s."""
        n = len(state.tasks) if among is None else len(among)
        shared = float(self.share(state)[0]) if len(state.tasks) else 0.0
        return np.asarray((1.0 - shared) * np.eye(n) + shared)

    # -- files ----------------------------------------------------------------------------------------------------

    def dump(self, state: RegressionState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, held = zip(*(learner.dump(member) for learner, member in self._members(state)), strict=True)
        shape, own = flatten(require_held(state.model.to_saved(len(state.tasks))), "model.")
        arrays = numbered("members", held) | own
        if len(state.waiting.codes):
            arrays |= flatten(state.waiting, "waiting.")[1]
        return {"members": list(data), "shape": shape, "features": state.features, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> RegressionState:
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
        index = Index(members[0].tasks.labels)
        require(all(member.features == held.features for member in members), "the members are of different widths")
        model = rebuild(held.shape, below(arrays, "model."), LeastSquares.empty(len(self.learners)))
        model.check(len(index), len(self.learners), held.features)
        return RegressionState(members, index, model, held.features, held.rounds, self._waiting(arrays, len(index)))

    def _waiting(self, arrays: Arrays, tasks: int) -> Waiting:
        """The predictions that wait for labels, read from the arrays of a file and checked."""
        kept = below(arrays, "waiting.")
        if not kept:
            return NOBODY
        waiting = Waiting(*(array_of(kept, name, like) for name, like in zip(Waiting._fields, NOBODY, strict=True)))
        require_shape("predictions that wait", waiting.told, len(self.learners) + 4, len(waiting.codes))
        require_finite("predictions that wait", waiting.told)
        require_within("ages that wait", waiting.told[-1], 0, AGES - 1)
        require_within("tasks that wait", waiting.codes, -1, tasks - 1)  # -1: forgotten meanwhile
        return waiting


#: How many residuals the normal distribution counts as, beside those seen.
NORMAL = 20.0
