r"""Adaptive sharing: several learners side by side, mixed by how well each has done over all tasks and on each.

With L_a the 0/1 loss of expert a so far and L_ia that on task i (a zero margin counts half), at task i

    eta = min(1, sqrt(2 ln S / (1 + min_a L_a))),    p_a ∝ exp(-eta L_a - lambda L_ia),    mixed = Σ_a p_a f_a.

Learners are not aware of each other. An expert is a sum of learners' margins, one of them alone as a rule. Where the
f_a are log-odds, a logistic regression on all of them, learned online, has the last word and makes log-odds of them,

    margin = c · mixed + Σ_a u_a f_a,    c, u ~ Normal((1, 0), I / 10) before the first round.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import spec
from .bindings import arrivals
from .hypotheses.adaptive import AdaptiveGradient, CoinBetting, DiagonalAROW
from .hypotheses.storage import Storage
from .index import Index
from .learner import Features, Learner, Margins, RoundCount, StreamLearner, entries_of, known_and_unseen, no_moves
from .learners.confidence import ConfidenceLearner
from .numeric.core.arrays import Dropped, grown
from .numeric.core.checks import require, require_shape, require_within
from .numeric.core.records import Csr, Rows, weights_of, widths_of
from .numeric.primal.asking import EVERY, decide_all
from .numeric.primal.calls import BoundCall, PlainRecords, RecordCalls
from .numeric.primal.grouped import NO_ARRIVALS
from .numeric.primal.members import ALONE, COIN, CONFIDENT, GRADIENT, Members, Room, SideBySide, Together, learn_late
from .numeric.primal.mixture import UNSURE, Layer, Losses, Work, blend, combine, first_layer, mix, room, weigh
from .numeric.primal.stream import UNPROVIDED, Moves, learn, predict
from .numeric.trees import Arrays, apart, array_of, below, flatten, numbered, require_held
from .numeric.weights.sections import Section, Whole, side_by_side
from .numeric.weights.table import Weights
from .relations.levels import LevelRelation
from .rules import AROW, Logistic
from .state import LearnedState, is_same

Codes = NDArray[np.int64]

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
    >>> from coterie import PassiveAggressive, Pooled
    >>> from coterie.hypotheses import LinearWeights
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


@dataclass
class Shared:
    """The tables that members have sections of: rows of all tasks, of each task, and scales of coin betting."""

    groups: Whole = field(default_factory=Whole)
    tasks: Whole = field(default_factory=Whole)
    largest: Whole = field(default_factory=Whole)


class _Saved(msgspec.Struct):
    """The data that :meth:`Mixture.dump` returns beside the arrays."""

    members: list[dict[str, Any]]
    features: Features
    rounds: RoundCount


@dataclass
class MixtureState:
    """The states of the learners, the losses of the experts that are made of them, and the last step."""

    members: list[Any]
    tasks: Index
    losses: Losses
    layer: Layer
    features: int
    rounds: int = 0
    waiting: Waiting = NOBODY
    shared: Shared = field(default_factory=Shared)
    model: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        shared = () if self.model is None else self.model[:3]
        return sum(int(held.nbytes) for held in [*self.members, *shared, *self.losses, *self.layer, *self.waiting])


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
        self.beyond_features = " and ".join(dict.fromkeys(filter(None, (each.beyond_features for each in learners))))
        self.experts = np.eye(len(learners)) if experts is None else np.asarray(experts, np.float64)
        self._scaled = self.experts * (1.0 if self.log_odds is None else np.array(factors))

    def apart(self, learners: Sequence[StreamLearner]) -> Mixture:
        """The same mixture of other learners, not compiled, whatever this one is: each has a state of its own."""
        return Mixture(learners, self.experts, self.local, self.unsure)

    @property
    def weighs(self) -> bool:
        """True where all learners weigh records."""
        return all(learner.weighs for learner in self.learners)

    @property
    def counts_features(self) -> bool:
        """True where computations of one of the learners depend on the number of features."""
        return any(learner.counts_features for learner in self.learners)

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> MixtureState:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        named = [task for learner in self.learners for task in learner.init((), 1, dense).tasks.labels]
        tasks = Index([*named, *tasks]).labels
        members = [learner.init(tasks, features, dense, length) for learner in self.learners]
        index = _same_tasks(members)
        losses = Losses(np.zeros(len(self.experts)), np.zeros((len(index), len(self.experts))))
        return MixtureState(members, index, losses, self._layer(), features)

    @property
    def names_tasks(self) -> bool:
        """True if the relation of the first learner names all its tasks."""
        return self.learners[0].names_tasks

    def _layer(self) -> Layer:
        return first_layer(len(self.experts), self.unsure)

    def check_tasks(self, state: MixtureState, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that a learner's relation does not know: ValueError naming the first."""
        for learner, member in self._members(state):
            learner.check_tasks(member, tasks)

    def fit_tasks(self, state: MixtureState, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks, given by their labels, and for so many features; all or nothing."""
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
        """Refuse ``max_tasks``, a limit on the tasks known at a time, if a learner does: ValueError."""
        for learner in self.learners:
            learner.check_bounded()

    def check_many(self) -> None:
        """Refuse to be copied for each of many classes, if a learner does: ValueError."""
        for learner in self.learners:
            learner.check_many()

    mixes = True

    def check_passes(self) -> None:
        """Refuse to learn records more than once, if a learner does: ValueError."""
        for learner in self.learners:
            learner.check_passes()

    def hold_mixing(self, state: MixtureState) -> Callable[[], None]:
        """A function that gives back the losses and the last step of now; see :class:`coterie.learner.StreamLearner`.

        No task may be dropped meanwhile.
        """
        held = [array.copy() for array in (*state.losses, *state.layer)]
        members = [learner.hold_mixing(member) for learner, member in self._members(state)]

        def give_back() -> None:
            for array, before in zip((*state.losses, *state.layer), held, strict=True):
                array[: len(before)] = before
            for each in members:
                each()

        return give_back

    @property
    def comes_unnoticed(self) -> bool:
        """True if adding or dropping a task changes nothing for all others, whichever the learner."""
        return all(learner.comes_unnoticed for learner in self.learners)

    def drop_tasks(self, state: MixtureState, dropped: Dropped) -> None:
        """Drop tasks: their losses, and what each learner has; predictions of theirs no longer wait."""
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
        moves = no_moves(len(codes))
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
        if last == 0:  # no label has come yet, and no learner knows a task
            self.fit_tasks(state, new, state.features)
        state.features = max(state.features, *(member.features for member in state.members))
        state.rounds += last
        return moves

    def _widen(self, state: MixtureState, rows: Rows) -> None:
        """Make room for records' features in learners that do not depend on their number; others do it themselves."""
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
            mixed = moves.margins[end - 1 : end]
            blend(state.losses, state.layer, self.local, codes[end - 1 : end], predicted, mixed, self._room())
            decide_all(asker, codes, moves.margins, end - 1, end)
            waiting = Waiting(np.append(state.waiting.told, predicted, axis=1), codes[s:end])
            if asker.answer[s] > 0:
                self._piece(state, rows.cut(s, end), codes[s:end], y[s : s + 1], moves, s)
                state.rounds += 1
            else:
                self.skip_unlabelled(state)
            state.waiting = Waiting(waiting.told[:, 1:], waiting.codes[1:])

    def skip_unlabelled(self, state: MixtureState, rounds: int = 1) -> None:
        """End rounds that have no labels; see :meth:`coterie.learner.Learner.skip_unlabelled`."""
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
        made = self.gather(
            [
                partial(learner.update_many, member, rows, codes, signs, len(y), EVERY, new)
                for learner, member in self._members(state)
            ]
        )
        predicted = self._experts_of([each.margins for each in made])
        judged = self._judged(state, predicted, made, codes, len(y))
        mixed, own = (array[first : first + len(codes)] for array in (moves.margins, moves.own))
        work = self._room()
        mix(
            state.losses,
            state.layer,
            self.local,
            codes,
            y,
            weights_of(rows),
            predicted,
            judged,
            len(y),
            mixed,
            own,
            work,
        )
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
        return state.waiting.told if known else np.zeros((len(self.experts), len(codes)))

    def _predicted(
        self, state: MixtureState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]
    ) -> NDArray[np.float64]:
        members = self._members(state)
        jobs = [partial(learner.score_any, member, rows, codes, unseen) for learner, member in members]
        return self._experts_of(self.gather(jobs))

    def _room(self) -> Work:
        return room(len(self.experts))

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
        """Margins of records of the tasks ``codes``; -1 is a new task, whose label is the next of ``unseen``."""
        return self._blended(state, codes, self._predicted(state, rows, codes, unseen))

    def linear_part(self, state: MixtureState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """The part of :meth:`score_any` that is a weighted sum of features: the mixture of the members' such parts."""
        if not self.beyond_features:
            return self.score_any(state, rows, codes, unseen)
        members = self._members(state)
        each = [learner.linear_part(member, rows, codes, unseen) for learner, member in members]
        return self._blended(state, codes, self._experts_of(each))

    def _blended(self, state: MixtureState, codes: Codes, predicted: NDArray[np.float64]) -> Margins:
        mixed = np.zeros(len(codes))
        blend(state.losses, state.layer, self.local, codes, predicted, mixed, self._room())
        return mixed

    def score_one(self, state: MixtureState, rows: Rows, i: int) -> float:
        """Margin of one record of the known task i."""
        return float(self.score(state, rows, np.array([i]))[0])

    def update_one(self, state: MixtureState, rows: Rows, i: int, y: float) -> None:
        """Learn one record."""
        self.update_many(state, rows, np.array([i]), np.array([y]))

    def expert_weights(self, state: MixtureState) -> NDArray[np.float64]:
        """The weights p_a of the experts for every known task, shape (n_tasks, S)."""
        weights = np.zeros((len(state.tasks), len(self.experts)))
        for i, row in enumerate(weights):
            weigh(state.losses.overall, state.losses.tasks[i], self.local, row)
        return weights

    def share(self, state: MixtureState) -> NDArray[np.float64]:
        """The expected share of each task: the mean of its experts' shares, by their weights."""
        each = np.array([learner.share(m) for learner, m in self._members(state)])
        parts = np.abs(self.experts) / np.abs(self.experts).sum(axis=1, keepdims=True)
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
        parts = np.abs(self.experts) / np.abs(self.experts).sum(axis=1, keepdims=True)
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
        arrays = numbered("members", held) | flatten(losses, "losses.")[1]
        arrays |= flatten(require_held(state.layer, "layer."), "layer.")[1]
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
        index, S = _same_tasks(members), len(self.experts)
        require(all(member.features == held.features for member in members), "the members are of different widths")
        losses = _rebuilt(Losses(np.zeros(0), np.zeros((0, 0))), below(arrays, "losses."))
        losses.check(S, len(index))
        layer, waiting = below(arrays, "layer."), below(arrays, "waiting.")
        last = require_held(_rebuilt(self._layer(), layer), "layer.") if layer else self._layer()
        last.check(S)
        late = _rebuilt(NOBODY, waiting) if waiting else NOBODY
        require_shape("margins that wait", late.told, S if waiting else 0, len(late.codes))
        require_within("tasks that wait", late.codes, -1, len(index) - 1)  # -1: forgotten meanwhile
        return MixtureState(members, index, losses, last, held.features, held.rounds, late)


class CompiledMixture(Mixture):
    """A mixture whose members learn side by side, record by record, in one compiled loop: see :mod:`.members`.

    It says, learns and saves to the last bit what a :class:`Mixture` of the same learners does; only its members'
    states are not whole without it, for their tables are sections of common ones.

    Parameters
    ----------
    learners, experts, local, unsure
        As in :class:`Mixture`, the learners being such as :meth:`takes` accepts.
    """

    def __init__(
        self,
        learners: Sequence[Learner],
        experts: ArrayLike | None = None,
        local: float = 0.1,
        unsure: float = UNSURE,
    ) -> None:
        super().__init__(learners, experts, local, unsure)
        self._storage = learners[0].hypothesis.tables
        self._kinds = [_KINDS[type(learner.hypothesis)](learner.hypothesis, learner.rule) for learner in learners]
        self._shares = np.array([_shares_of(learner.relation) for learner in learners])
        every = range(len(learners))
        #: The members that have something in each of the tables.
        self._fields = {
            "groups": [m for m in every if self._shares[m, 1] != 0.0],
            "tasks": [m for m in every if self._shares[m, 0] != 0.0],
            "largest": [m for m in every if self._kinds[m].kind == COIN],
        }
        self._one, self._rule = RecordCalls(), Together(len(learners))

    @staticmethod
    def takes(learners: Sequence[Any]) -> bool:
        """Tell whether learners can go side by side.

        There must be two or more, each with adaptive gradients, coin betting or the diagonal AROW under the logistic
        rule or AROW's, under a relation of all tasks alike whose shares do not depend on how many they are; all keep
        weights in the same way.
        """
        return (
            len(learners) > 1
            and all(map(_goes_along, learners))
            and len({replace(learner.hypothesis.tables, numbers=1) for learner in learners}) == 1
        )

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> MixtureState:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        state = super().init(tasks, features, dense, length)
        self._lay_together(state, blank=True)
        return state

    # -- tables

    def _lay_together(self, state: MixtureState, *, blank: bool = False) -> None:
        """Move the weights of members that are apart, or all zero, to common tables, of which they get sections."""
        models = [member.model for member in state.members]
        rows = {"groups": min(1, len(state.tasks)), "tasks": len(state.tasks), "largest": 1}
        fields = self._fields
        made = {
            name: side_by_side([getattr(models[m], name) for m in having], rows[name], state.features, blank=blank)
            if having
            else Storage("dense", "float64", 1).table(0, 0, True)
            for name, having in fields.items()
        }
        state.shared = shared = Shared(**{name: Whole(table) for name, table in made.items()})
        for name, having in fields.items():
            first = 0
            for m in having:
                numbers = getattr(models[m], name).numbers
                models[m] = models[m]._replace(**{name: Section(getattr(shared, name), first, numbers)})
                first += numbers
        for member, model in zip(state.members, models, strict=True):
            member.model = model
        self._fit_tables(state)

    def _fit_tables(self, state: MixtureState) -> None:
        """Give the common tables room for the tasks and features of the state."""
        shared, fields, dense = state.shared, self._fields, state.members[0].dense
        for name, rows in (("groups", min(1, len(state.tasks))), ("tasks", len(state.tasks)), ("largest", 1)):
            whole: Whole = getattr(shared, name)
            if fields[name]:
                whole.table = self._storage.fit(whole.table, rows, state.features, dense)
        self._join(state)

    def _join(self, state: MixtureState) -> None:
        """Put the tables and what mixes the members into one model; the same object while nothing changed."""
        shared, before = state.shared, state.model
        tables = shared.groups.table, shared.tasks.table, shared.largest.table
        if before is None or not is_same((*before[:3], before.losses), (*tables, state.losses)):
            state.model = self._joined(state, *tables)

    def _joined(self, state: MixtureState, groups: Any, tasks: Any, largest: Any) -> SideBySide:
        fields = self._fields
        at = np.full((len(self.learners), 2), -1)
        for level, name in enumerate(("tasks", "groups")):
            for m in fields[name]:
                at[m, level] = getattr(state.members[m].model, name).first
        scales = np.array([fields["largest"].index(m) if m in fields["largest"] else 0 for m in range(len(at))])
        members = Members(
            np.array([each.kind for each in self._kinds]),
            np.array([each.settings for each in self._kinds], np.float64),  # given as whole numbers, too
            at,
            self._shares,
            scales,
        )
        return SideBySide(
            groups,
            tasks,
            largest,
            members,
            bool(fields["tasks"]),
            bool(fields["groups"]),
            bool(fields["largest"]),
            self._scaled,
            state.losses,
            state.layer,
            self.local,
            Room.of(len(at), len(self.experts)),
        )

    def _ensure_capacity(self, state: MixtureState, i: int, entries: int) -> None:
        """Give the rows that a record of task i moves room for so many new weights."""
        shared, fields = state.shared, self._fields
        for name, row in (("groups", 0), ("tasks", i), ("largest", 0)):
            whole: Whole = getattr(shared, name)
            if fields[name]:
                whole.table = whole.table.make_room(np.array([row]), entries)
        self._join(state)

    @staticmethod
    def _tell_rounds(state: MixtureState) -> None:
        """Set the number of rounds in the members' states, on which relations depend."""
        for member in state.members:
            member.rounds = state.rounds

    # -- tasks

    def fit_tasks(self, state: MixtureState, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks, given by their labels, and for so many features; all or nothing."""
        if features <= state.features and not state.tasks.new_among(tasks):
            return
        self._tell_rounds(state)
        super().fit_tasks(state, tasks, features)
        self._fit_tables(state)

    def check_dropping(self, state: MixtureState) -> None:
        """Refuse if tasks share places by hashes: ValueError."""
        for learner, member in zip(self.learners, state.members, strict=True):
            learner.check_dropping(replace(member, model=state.model))

    def drop_tasks(self, state: MixtureState, dropped: Dropped) -> None:
        """Drop tasks: their losses, and what each member has; predictions of theirs no longer wait."""
        self._one.forget()
        shared, fields = state.shared, self._fields
        self._tell_rounds(state)
        super().drop_tasks(state, dropped)
        if fields["tasks"]:
            shared.tasks.table = shared.tasks.table.drop_rows(dropped)
        if fields["groups"] and not len(state.tasks):
            shared.groups.table = shared.groups.table.clear_rows(np.array([0]))
        self._join(state)

    # -- rounds

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
        """Predict and learn records one after the other; see :meth:`Mixture.update_many`."""
        self._one.forget()
        moves = no_moves(len(codes))
        last = len(codes) if last is None else last
        delay = len(codes) - last
        self.fit_tasks(state, new, state.features)
        told = np.zeros((len(self.experts), len(codes) if delay else 0))
        if delay:
            told[:, :delay] = self._predicted_before(state, codes[:delay])
        done = 0
        while done < last:
            if delay:
                done = learn_late(state.model, rows, codes, y[:last], done, last, told, moves, asker)
            else:
                done = learn(state.model, self._rule, rows, codes, y, done, last, 0, moves, asker, NO_ARRIVALS)
            if done < last:
                self._ensure_capacity(state, int(codes[done]), entries_of(rows, done))
        if last or delay:
            state.waiting = Waiting(told[:, last:].copy(), codes[last:].copy()) if delay else NOBODY
        state.rounds += last
        return moves

    def skip_unlabelled(self, state: MixtureState, rounds: int = 1) -> None:
        """End rounds that have no labels; see :meth:`coterie.learner.Learner.skip_unlabelled`."""
        state.rounds += rounds
        state.waiting = NOBODY

    def score(self, state: MixtureState, rows: Rows, codes: Codes) -> Margins:
        """Margins of records of known tasks; nothing is written."""
        margins = np.zeros(len(codes))
        predict(self._lent(state), rows, codes, 0, len(codes), margins)
        return margins

    def _lent(self, state: MixtureState, **changed: Any) -> SideBySide:
        """The model with working arrays of its own, so that several threads can predict at a time."""
        lent: SideBySide = state.model._replace(work=Room.of(len(self.learners), len(self.experts)), **changed)
        return lent

    def score_any(self, state: MixtureState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of the tasks ``codes``; -1 is a new task, whose label is the next of ``unseen``."""
        return known_and_unseen(state, rows, codes, unseen, self.score, self._score_unseen)

    def _score_unseen(self, state: MixtureState, rows: Rows, tasks: Sequence[Hashable]) -> Margins:
        margins, S = np.zeros(len(tasks)), len(self.experts)
        if len(state.tasks):  # without tasks there is nothing shared either
            none = state.losses._replace(tasks=np.zeros((1, S)))
            model = self._lent(state, has_own=False, losses=none)
            predict(model, rows, np.zeros(len(tasks), np.int64), 0, len(tasks), margins)
        return margins

    def score_one(self, state: MixtureState, rows: Rows, i: int) -> float:
        """Margin of one record of the known task i."""
        return self._one.predict(state.model, rows, i)  # type: ignore[no-any-return]

    def update_one(self, state: MixtureState, rows: Csr, i: int, y: float) -> None:  # type: ignore[override]
        """Learn one record, as :meth:`update_many` would, without returning its moves."""
        while self._one.learn(state.model, self._rule, rows, i, y) == UNPROVIDED:
            self._ensure_capacity(state, i, len(rows.values))
        state.rounds += 1
        state.waiting = NOBODY

    def bound_call(self, state: MixtureState, records: PlainRecords) -> BoundCall | None:
        """The compiled calls for dictionaries, bound to this model; None until it has stayed the same for a while."""
        return self._one.bound_call(state.model, self._rule, records)

    def beside(self) -> Self:
        """The same mixture for another state."""
        made = copy.copy(self)
        made._one = RecordCalls()
        return made

    #: A mixture has no single relation.
    relation: ClassVar[None] = None

    @staticmethod
    def warn_if_frozen(relation: Any, state: MixtureState) -> None:
        """End a round of the fast lane: no prediction waits for its label. There is no relation to warn of."""
        state.waiting = NOBODY

    # -- files

    def dump(self, state: MixtureState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks; each member's as if apart."""
        self._tell_rounds(state)
        return super().dump(state)

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> MixtureState:
        """Undo :meth:`dump`."""
        state = super().restore(data, arrays, tasks)
        self._lay_together(state)
        return state


class _Kind(NamedTuple):
    """The kind and the settings of a member, as compiled code takes them."""

    kind: int
    settings: tuple[float, float, float]


#: Of each hypothesis that can go side by side with others, the kind of member that it makes with a rule.
_KINDS: dict[type, Callable[[Any, Any], _Kind]] = {
    AdaptiveGradient: lambda of, rule: _Kind(GRADIENT, (of.step, of.start, rule.compiled().scale)),
    DiagonalAROW: lambda of, rule: _Kind(CONFIDENT, (of.r, rule.compiled().target, 0.0)),
    CoinBetting: lambda of, rule: _Kind(
        COIN if of.scales == "feature" else ALONE, (of.alpha, of.wealth, rule.compiled().scale)
    ),
}
_RULES: dict[type, type] = {AdaptiveGradient: Logistic, DiagonalAROW: AROW, CoinBetting: Logistic}


def _goes_along(learner: Any) -> bool:
    """Tell whether a learner can go side by side with others."""
    if type(learner) not in (Learner, ConfidenceLearner) or type(learner.hypothesis) not in _RULES:
        return False
    fits = type(learner.rule) is _RULES[type(learner.hypothesis)] and isinstance(learner.relation, LevelRelation)
    return fits and learner.comes_unnoticed and len(learner.relation.path("")) <= 1


def _shares_of(relation: Any) -> tuple[float, float]:
    """The weights in M of a task's own row and of the row of all."""
    depth = len(relation.path(""))
    return relation.own(depth), relation.shared(0, 1) if depth else 0.0


def mixture_of(learners: Sequence[StreamLearner], experts: ArrayLike | None = None, local: float = 0.1) -> Mixture:
    """Mix learners, compiled as one where :meth:`CompiledMixture.takes` them: the same to the last bit.

    Examples
    --------
    >>> from coterie import Independent, Logistic, Pooled
    >>> from coterie.hypotheses import AdaptiveGradient
    >>> own, pooled = (Member(AdaptiveGradient(), relation, Logistic()) for relation in (Independent(), Pooled()))
    >>> type(mixture_of([own.learner(), pooled.learner()])).__name__
    'CompiledMixture'
    """
    if CompiledMixture.takes(learners):
        return CompiledMixture(learners, experts, local)  # type: ignore[arg-type]
    return Mixture(learners, experts, local)


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
