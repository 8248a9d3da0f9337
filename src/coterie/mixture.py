r"""Adaptive sharing: several learners side by side, mixed by how well each has done over all tasks and on each.

With L_a the 0/1 loss of expert a so far and L_ia that on task i (a zero margin counts half), at task i

    eta = min(1, sqrt(2 ln S / (1 + min_a L_a))),    p_a ∝ exp(-eta L_a - lambda L_ia),    mixed = Σ_a p_a f_a.

Learners are not aware of each other. An expert is a sum of learners' margins, one of them alone as a rule. Where the
f_a are log-odds, a logistic regression on all of them, learned online, has the last word and makes log-odds of them,

    margin = c · mixed + Σ_a u_a f_a,    c, u ~ Normal((1, 0), I / 10) before the first round.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import spec
from .bindings import arrivals
from .index import Index
from .learner import Features, Learner, Margins, RoundCount, StreamLearner
from .numeric.core.arrays import Dropped, grown
from .numeric.core.checks import require, require_shape, require_within
from .numeric.core.records import Rows, widths_of
from .numeric.primal.asking import EVERY, decide_all
from .numeric.primal.mixture import Layer, Losses, blend, combine, mix, weigh
from .numeric.primal.stream import Moves
from .numeric.trees import Arrays, apart, array_of, below, flatten, numbered
from .numeric.weights.table import Weights
from .state import LearnedState

Codes = NDArray[np.int64]

#: Variance of the factors of the last step before the first round; from 1/30 to 1 makes little difference.
UNSURE = 0.1

#: Records that all learners see before the next ones: long enough for a learner's weights to come into the processor's
#: cache and stay, while the margins of all learners, kept until they are mixed, take a few megabytes.
PIECE = 65_536


@spec.part
class Member:
    """One learner of a mixture, given by its parts.

    Parameters
    ----------
    hypothesis, relation, rule : part
        As :class:`coterie.learner.Learner` joins them.

    Examples
    --------
    >>> from coterie import LinearWeights, PassiveAggressive, Pooled
    >>> Member(LinearWeights(), Pooled(), PassiveAggressive()).rule
    PassiveAggressive(C=1.0, variant='I')
    """

    hypothesis: Any
    relation: Any
    rule: Any

    def learner(self) -> Learner:
        """The parts joined; TypeError if they do not go together."""
        return Learner(self.hypothesis, self.relation, self.rule)


class Waiting(NamedTuple):
    """Records that were predicted and whose labels come later: the margins of the experts, (S, m), and the tasks."""

    told: NDArray[np.float64]
    codes: Codes


T = TypeVar("T", Losses, Layer, Waiting)

NOBODY = Waiting(np.zeros((0, 0)), np.zeros(0, np.int64))


class _Saved(msgspec.Struct):
    """What :meth:`Mixture.dump` notes beside the arrays."""

    members: list[dict[str, Any]]
    features: Features
    rounds: RoundCount


@dataclass
class MixtureState:
    """The states of the learners, the losses of the experts that are made of them, and the last step."""

    members: list[LearnedState]
    tasks: Index
    losses: Losses
    layer: Layer
    features: int
    rounds: int = 0
    waiting: Waiting = NOBODY

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(int(held.nbytes) for held in [*self.members, *self.losses, *self.layer, *self.waiting])


class Mixture(StreamLearner):
    """Learners mixed into one that has the same methods.

    Parameters
    ----------
    learners : sequence of Learner
        Those that learn, each by its own margins.
    experts : array, shape (S, n_learners), optional
        Each row an expert, the sum of the learners' margins with these factors; the learners themselves without.
    local : float >= 0
        lambda, how fast a task's own losses speak against an expert.
    unsure : float >= 0
        Variance of the factors of the last step before the first round, 0 for the mixture alone.

    Notes
    -----
    Where all learners have log-odds, these are mixed, and the last step learns; else margins as they are, whose scales
    should then be alike. O(S²) a record beside what the learners cost.
    """

    def __init__(
        self,
        learners: Sequence[StreamLearner],
        experts: ArrayLike | None = None,
        local: float = 0.1,
        unsure: float = UNSURE,
    ) -> None:
        if not learners:
            raise ValueError("a mixture needs at least one member")
        spec.check_not_negative("local", local)
        self.learners, self.local = list(learners), float(local)
        factors = [learner.log_odds for learner in learners]
        self.log_odds = None if None in factors else 1.0
        self.unsure = 0.0 if self.log_odds is None else float(unsure)
        self._experts = np.eye(len(learners)) if experts is None else np.asarray(experts, np.float64)
        self._scaled = self._experts * (1.0 if self.log_odds is None else np.array(factors))

    @property
    def counts_features(self) -> bool:
        """True where one of the learners counts them."""
        return any(learner.counts_features for learner in self.learners)

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> MixtureState:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        named = [task for learner in self.learners for task in learner.init((), 1, dense).tasks.labels]
        tasks = Index([*named, *tasks]).labels
        members = [learner.init(tasks, features, dense, length) for learner in self.learners]
        index = _same_tasks(members)
        losses = Losses(np.zeros(len(self._experts)), np.zeros((len(index), len(self._experts))))
        return MixtureState(members, index, losses, self._layer(), features)

    @property
    def names_tasks(self) -> bool:
        """True if the relation of the first learner names all its tasks."""
        return self.learners[0].names_tasks

    def _layer(self) -> Layer:
        """The last step before the first round: the mixture as it is, for good where nothing is unsure."""
        S = len(self._experts)
        return Layer(np.append(np.zeros(S), 1.0), np.eye(S + 1) * self.unsure)

    def check_tasks(self, state: MixtureState, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that a learner's relation does not know: ValueError naming the first."""
        for learner, member in self._members(state):
            learner.check_tasks(member, tasks)

    def fit_tasks(self, state: MixtureState, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for the labels that are new, and for so many features; all or nothing."""
        if features <= min(member.features for member in state.members) and not state.tasks.new_among(tasks):
            return
        self.check_tasks(state, tasks)
        for learner, member in self._members(state):
            learner.fit_tasks(member, tasks, features)
        self._note_tasks(state, tasks)
        state.features = max(features, state.features)

    def check_dropping(self, state: MixtureState) -> None:
        """Refuse if a learner cannot drop tasks, or if some relations name theirs and others do not: ValueError."""
        for learner, member in self._members(state):
            learner.check_dropping(member)
        if any(learner.names_tasks != self.names_tasks for learner in self.learners):
            raise ValueError(
                "a mixture cannot forget a task where the relation of one member names all its tasks, as a graph does, "
                "and that of another does not"
            )

    def check_bounded(self) -> None:
        """Refuse to have some tasks at a time only, if a learner does: ValueError."""
        for learner in self.learners:
            learner.check_bounded()

    @property
    def comes_unnoticed(self) -> bool:
        """True if a task that comes or leaves changes nothing of the others, for any learner."""
        return all(learner.comes_unnoticed for learner in self.learners)

    def drop_tasks(self, state: MixtureState, dropped: Dropped) -> None:
        """Drop what is tasks' own: their losses, and what each learner has; predictions of theirs no longer wait."""
        for learner, member in self._members(state):
            learner.drop_tasks(member, dropped)
        if not self.names_tasks:
            state.tasks.drop(dropped)
        dropped.move(state.losses.tasks)
        codes = dropped.renumbered(state.waiting.codes)
        state.waiting = Waiting(np.where(codes >= 0, state.waiting.told, 0.0), codes)

    def update_many(
        self,
        state: MixtureState,
        rows: Rows,
        codes: Codes,
        y: NDArray[np.float64],
        last: int | None = None,
        asker: Any = EVERY,
        new: Sequence[Hashable] = (),
    ) -> Moves:
        """Predict and learn records one after the other; see :meth:`coterie.learner.Learner.update_many`.

        An expert is charged for the margin that it predicted: when the label comes, learners have learned from the
        record's neighbours, and know more of it than they did. Where all predicted 0, as before anything is learned, or
        where their predictions are not known, it is the margin they have now. An asker decides by the mixed margin; the
        learners then go on record by record, together.
        """
        moves = Moves(np.zeros(len(codes)), np.zeros(len(codes)), np.zeros(len(codes)))
        last = len(codes) if last is None else last
        delay = len(codes) - last
        if asker is not EVERY:
            self._select(state, rows, codes, y, moves, last, asker, new)
            return moves
        known = len(state.tasks)
        self._note_tasks(state, new)
        self._widen(state, rows)
        for first in range(0, last, PIECE):
            end = min(first + PIECE, last)
            met = len(state.members[0].tasks) - known
            coming = new[met : int(codes[: end + delay].max(initial=-1)) + 1 - known] if met < len(new) else ()
            some = slice(first, end + delay)
            self._piece(state, rows.cut(first, end + delay), codes[some], y[first:end], moves, first, coming)
        if last == 0:  # no label has come yet, and no learner has met anybody
            self.fit_tasks(state, new, state.features)
        state.features = max(state.features, *(member.features for member in state.members))
        state.rounds += last
        return moves

    def _widen(self, state: MixtureState, rows: Rows) -> None:
        """Make room for the features of records in learners that do not count them: the others look for themselves."""
        if self.counts_features:
            width = int(widths_of(rows).max(initial=state.features))
            for learner, member in self._members(state):
                if not learner.counts_features:
                    learner.fit_tasks(member, (), width)

    @staticmethod
    def _note_tasks(state: MixtureState, new: Sequence[Hashable]) -> None:
        """Number tasks that are new, and begin their losses."""
        if new:
            state.tasks.add(new)
            state.losses = state.losses._replace(tasks=grown(state.losses.tasks, len(state.tasks)))

    def _select(
        self,
        state: MixtureState,
        rows: Rows,
        codes: Codes,
        y: NDArray[np.float64],
        moves: Moves,
        last: int,
        asker: Any,
        new: Sequence[Hashable],
    ) -> None:
        delay, known = len(codes) - last, len(state.tasks)
        widths = widths_of(rows) if self.counts_features else None
        counted = new or self.counts_features
        stops = {each.round: each for each in arrivals(codes, known, delay, widths, state.features)} if counted else {}
        state.waiting = Waiting(self._predicted_before(state, codes[:delay]), codes[:delay])
        for s in range(last):
            if s in stops:
                self.fit_tasks(state, new[: stops[s].tasks - known], stops[s].width)
            end = s + delay + 1
            predicted = self._predicted(state, rows.cut(end - 1, end), codes[end - 1 : end], ())
            blend(state.losses, state.layer, self.local, codes[end - 1 : end], predicted, moves.margins[end - 1 : end])
            decide_all(asker, codes, moves.margins, end - 1, end)
            waiting = Waiting(np.append(state.waiting.told, predicted, axis=1), codes[s:end])
            if asker.answer[s] > 0:
                self._piece(state, rows.cut(s, end), codes[s:end], y[s : s + 1], moves, s)
                state.rounds += 1
            else:
                self.skip_unlabelled(state)
            state.waiting = Waiting(waiting.told[:, 1:], waiting.codes[1:])

    def skip_unlabelled(self, state: MixtureState, rounds: int = 1) -> None:
        """End rounds whose labels nobody saw; see :meth:`coterie.learner.Learner.skip_unlabelled`."""
        for learner, member in self._members(state):
            learner.skip_unlabelled(member, rounds)
        state.rounds += rounds
        state.waiting = NOBODY

    def _piece(
        self,
        state: MixtureState,
        rows: Rows,
        codes: Codes,
        y: NDArray[np.float64],
        moves: Moves,
        first: int,
        new: Sequence[Hashable] = (),
    ) -> None:
        signs = np.append(y, np.ones(len(codes) - len(y)))
        made = [
            learner.update_many(member, rows, codes, signs, len(y), EVERY, new)
            for learner, member in self._members(state)
        ]
        predicted = self._experts_of([each.margins for each in made])
        judged = self._judged(state, predicted, made, codes, len(y))
        mixed, own = (array[first : first + len(codes)] for array in (moves.margins, moves.own))
        mix(state.losses, state.layer, self.local, codes, y, predicted, judged, len(y), mixed, own)
        np.maximum.reduce([each.taus[: len(y)] for each in made], out=moves.taus[first : first + len(y)])

    def _judged(
        self, state: MixtureState, predicted: Margins, made: Sequence[Moves], codes: Codes, last: int
    ) -> NDArray[np.float64]:
        """The margins that experts are charged for: those predicted, or those now where all were 0; the rest waits."""
        delay = len(codes) - last
        predicted[:, :delay] = self._predicted_before(state, codes[:delay])
        state.waiting = Waiting(predicted[:, last:].copy(), codes[last:].copy())
        if not delay:
            return predicted
        own = self._experts_of([each.own for each in made])
        return np.where(predicted[:, :last].any(axis=0), predicted[:, :last], own[:, :last])

    def _predicted_before(self, state: MixtureState, codes: Codes) -> NDArray[np.float64]:
        """The margins that experts predicted of these records, if they are those that wait; else zeros."""
        waiting = state.waiting.codes
        known = len(waiting) == len(codes) > 0 and bool(((waiting == codes) | (waiting < 0)).all())
        return state.waiting.told if known else np.zeros((len(self._experts), len(codes)))

    def _predicted(
        self, state: MixtureState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]
    ) -> NDArray[np.float64]:
        members = self._members(state)
        return self._experts_of([learner.score_any(member, rows, codes, unseen) for learner, member in members])

    def _members(self, state: MixtureState) -> Iterator[tuple[StreamLearner, LearnedState]]:
        """Each learner with its state."""
        return zip(self.learners, state.members, strict=True)

    def _experts_of(self, margins: Sequence[Margins]) -> NDArray[np.float64]:
        experts = np.zeros((len(self._scaled), len(margins[0])))
        combine(self._scaled, np.array(margins), experts)
        return experts

    def score(self, state: MixtureState, rows: Rows, codes: Codes) -> Margins:
        """Margins of records of known tasks; nothing is written."""
        return self.score_any(state, rows, codes, ())

    def score_any(self, state: MixtureState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of known tasks, and of those with code -1, whose labels are ``unseen`` in their order."""
        mixed = np.zeros(len(codes))
        blend(state.losses, state.layer, self.local, codes, self._predicted(state, rows, codes, unseen), mixed)
        return mixed

    def score_one(self, state: MixtureState, rows: Rows, i: int) -> float:
        """Margin of one record of the known task i."""
        return float(self.score(state, rows, np.array([i]))[0])

    def update_one(self, state: MixtureState, rows: Rows, i: int, y: float) -> None:
        """Learn one record."""
        self.update_many(state, rows, np.array([i]), np.array([y]))

    def expert_weights(self, state: MixtureState) -> NDArray[np.float64]:
        """The weights p_a of the experts for every known task, shape (n_tasks, S)."""
        weights = np.zeros((len(state.tasks), len(self._experts)))
        for i, row in enumerate(weights):
            weigh(state.losses.overall, state.losses.tasks[i], self.local, row)
        return weights

    def share(self, state: MixtureState) -> NDArray[np.float64]:
        """The share expected of each task: that of its experts, weighted."""
        each = np.array([learner.share(m) for learner, m in self._members(state)])
        parts = np.abs(self._experts) / np.abs(self._experts).sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("ia,am,mi->i", self.expert_weights(state), parts, each))

    def weights(self, state: MixtureState) -> Weights:
        """The weights that predictions use, one row a task, dense."""
        last = state.layer.mean
        factors = (last[-1] * self.expert_weights(state) + last[:-1]) @ self._scaled
        each = [learner.weights(m) for learner, m in self._members(state)]
        return np.asarray(sum(factor[:, None] * W for factor, W in zip(factors.T, each, strict=True)))

    def relation_matrix(self, state: MixtureState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """The mean of the learners' A⁻¹, each scaled to a unit diagonal: Σ_a sqrt(p_ia p_ja) M_a,ij."""
        chosen = list(range(len(state.tasks)) if among is None else among)
        parts = np.abs(self._experts) / np.abs(self._experts).sum(axis=1, keepdims=True)
        roots = np.sqrt(self.expert_weights(state)[chosen] @ parts)
        total = np.zeros((len(chosen), len(chosen)))
        for root, learner, member in zip(roots.T, self.learners, state.members, strict=True):
            M = learner.relation_matrix(member, chosen)
            scale = np.sqrt(np.diag(M))
            total += np.outer(root / scale, root / scale) * M
        return total

    def dump(self, state: MixtureState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, held = zip(*(learner.dump(member) for learner, member in self._members(state)), strict=True)
        losses = state.losses._replace(tasks=state.losses.tasks[: len(state.tasks)])
        arrays = numbered("members", held) | flatten(losses, "losses.")[1] | flatten(state.layer, "layer.")[1]
        if len(state.waiting.codes):
            arrays |= flatten(state.waiting, "waiting.")[1]
        return {"members": list(data), "features": state.features, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> MixtureState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held = msgspec.convert(data, _Saved)
        if len(held.members) != len(self.learners):
            raise ValueError(
                f"the file holds {len(held.members)} members, and the parameters name {len(self.learners)}"
            )
        own = apart(below(arrays, "members."))
        members = [
            learner.restore(each, own.get(str(n), {}), tasks)
            for n, (learner, each) in enumerate(zip(self.learners, held.members, strict=True))
        ]
        index, S = _same_tasks(members), len(self._experts)
        require(all(member.features == held.features for member in members), "the members are of different widths")
        losses = _rebuilt(Losses(np.zeros(0), np.zeros((0, 0))), below(arrays, "losses."))
        losses.check(S, len(index))
        layer, waiting = below(arrays, "layer."), below(arrays, "waiting.")
        last = _rebuilt(self._layer(), layer) if layer else self._layer()
        last.check(S)
        late = _rebuilt(NOBODY, waiting) if waiting else NOBODY
        require_shape("margins that wait", late.told, S if waiting else 0, len(late.codes))
        require_within("tasks that wait", late.codes, -1, len(index) - 1)  # -1: forgotten meanwhile
        return MixtureState(members, index, losses, last, held.features, held.rounds, late)


def _rebuilt(like: T, arrays: Arrays) -> T:
    """A named tuple of the arrays of its fields, each of the same type as in another."""
    return type(like)(*(array_of(arrays, name, each) for name, each in zip(like._fields, like, strict=True)))


def _same_tasks(members: Sequence[LearnedState]) -> Index:
    """The tasks of all members, which must number them alike."""
    labels = members[0].tasks.labels
    for member in members[1:]:
        if member.tasks.labels != labels:
            raise ValueError(
                f"the members of a mixture must know the same tasks from the start: {labels[:5]!r} and "
                f"{member.tasks.labels[:5]!r}"
            )
    return Index(labels)
