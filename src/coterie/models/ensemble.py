r"""Ensembles: learners of the same records, weighted by their losses on all tasks and on each task.

The weights of members are computed in ``_compiled/primal/mixture.py``.

With L_a the 0/1 loss of expert a so far and L_ia that on task i (a zero margin counts half), at task i

    eta = min(1, sqrt(2 ln S / (1 + min_a L_a))),    p_a ∝ exp(-eta L_a - lambda L_ia),    mixed = Σ_a p_a f_a.

Learners do not depend on each other. An expert is a sum of learners' margins, usually one of them alone. If the f_a are
log-odds, a logistic regression on all of them, learned online, makes log-odds of them,

    margin = c · mixed + Σ_a u_a f_a,    c, u ~ Normal((1, 0), I / 10) before the first round.

:class:`Ensemble` combines any learners; :class:`CompiledEnsemble` goes through its members in one compiled loop, with
the same result to the last bit. It owns the tables of weights, of which its members' models are slices.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import spec
from coterie._compiled.core.arrays import Dropped, enlarged
from coterie._compiled.core.records import split_unseen, weights_of
from coterie._compiled.primal.compiled_ensemble import (
    COIN,
    CONFIDENT,
    GRADIENT,
    EnsembleModel,
    MemberModels,
    Members,
    Workspace,
    learn,
    predict,
)
from coterie._compiled.primal.kalman_filter import MixedEffects
from coterie._compiled.primal.mixture import (
    UNSURE,
    Losses,
    Stacker,
    allocate_work,
    blend,
    combine,
    first_layer,
    mix,
    weigh,
)
from coterie._compiled.primal.stream import Moves
from coterie._compiled.trees import Arrays, array_of, flatten, require_held, strip_prefix
from coterie._compiled.weights.shared_tables import SharedTable, TableSlice, side_by_side
from coterie._compiled.weights.table import Weights
from coterie.tasks.index import Index
from coterie.tasks.relations.levels import LevelRelation
from coterie.types import Array, Json, Part
from coterie.updates.rules import AROW, Logistic
from coterie.updates.weights.adaptive_gradients import AdaptiveGradient, CoinBetting, DiagonalAROW

from .contract import (
    AnyRows,
    BaseLearner,
    Batch,
    Codes,
    InputShape,
    LearnerState,
    Margins,
    MemberLearner,
    MembersState,
    Predictions,
    UpdateResult,
    combine_traits,
    count_entries,
    learn_in_pieces,
    without_nan,
)
from .linear_learner import CompiledLearner, ConfidenceLearner, LinearLearner, result_of
from .mixed_effects_learner import MixedEffectsLearner
from .state import is_same

#: Records that all learners see before the next ones: long enough for a learner's weights to come into the processor's
#: cache and stay, while the margins of all learners, kept until they are mixed, take a few megabytes.
PIECE = 65_536


@spec.part
class Member:
    """One member of an ensemble: weights, relation and rule.

    Parameters
    ----------
    hypothesis, relation, rule : part
        The parts of a :class:`coterie.models.linear_learner.LinearLearner`.

    Examples
    --------
    >>> from coterie import Pooled
    >>> from coterie.updates import LinearWeights
    >>> from coterie.updates import PassiveAggressive
    >>> Member(LinearWeights(), Pooled(), PassiveAggressive()).rule
    PassiveAggressive(C=1.0, variant='I')
    """

    hypothesis: Part
    relation: Part
    rule: Part

    def learner(self) -> LinearLearner:
        """The learner with these weights, relation and rule; TypeError if they cannot be combined."""
        return LinearLearner(self.hypothesis, self.relation, self.rule)


@dataclass
class EnsembleState(MembersState):
    """The states of the members, the losses of the experts, and the state of the stacker, which combines them."""

    _: KW_ONLY
    losses: Losses
    layer: Stacker

    @property
    def nbytes(self) -> int:
        """The memory of the arrays in bytes."""
        return super().nbytes + sum(int(array.nbytes) for array in [*self.losses, *self.layer])


class Ensemble(MemberLearner):
    """A weighted average of learners, called experts, that is itself a learner.

    Parameters
    ----------
    learners : sequence of learners
        The members, each of which learns by its own margins.
    experts : array, shape (S, n_learners), optional
        One expert per row: the sum of the learners' margins with these factors. By default each learner is an expert.
    local : float >= 0, default=0.1
        lambda, the weight of a task's own losses against an expert.

    Notes
    -----
    If all learners have log-odds, these are combined, and the stacker learns. Otherwise margins are combined unchanged,
    and should have similar scales. O(S²) per record in addition to the learners' costs.
    """

    def __init__(self, learners: Sequence[BaseLearner], experts: ArrayLike | None = None, local: float = 0.1) -> None:
        if not learners:
            raise ValueError("an ensemble needs at least one member, got none")
        spec.check_not_negative("local", local)
        self.learners, self.local = list(learners), float(local)
        self.traits = combine_traits([learner.traits for learner in learners])
        self.unsure = 0.0 if self.traits.log_odds is None else UNSURE
        self.experts = np.eye(len(learners)) if experts is None else np.asarray(experts, np.float64)
        # margins become log-odds before they are averaged: only then do members share a scale
        factors = [1.0 if self.traits.log_odds is None else learner.traits.log_odds for learner in learners]
        self._scaled = self.experts * np.array(factors)

    # -- tasks and features -------------------------------------------------------------------------------------------

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> LearnerState:
        """Return the initial state for these tasks and records of the shape ``size``."""
        losses = Losses(np.zeros(len(self.experts)), np.zeros((len(tasks), len(self.experts))))
        return EnsembleState(**vars(super().init(tasks, size, length)), losses=losses, layer=self._first_layer())

    def _first_layer(self) -> Stacker:
        return first_layer(len(self.experts), self.unsure)

    def resize(self, state: LearnerState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state for ``tasks`` tasks and more features; on an error it is unchanged."""
        super().resize(state, tasks, size, counted)
        state.losses = state.losses._replace(tasks=enlarged(state.losses.tasks, tasks))

    def drop(self, state: LearnerState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Remove the ``dropped`` tasks with their losses, also from each member."""
        super().drop(state, dropped, tasks)
        dropped.move(state.losses.tasks)

    def mixing_arrays(self, state: LearnerState) -> Iterable[Array]:
        """Return the losses and the arrays of the stacker.

        They must see each record only once, before it is learned.
        """
        return *state.losses, *state.layer

    # -- rounds -------------------------------------------------------------------------------------------------------

    def predict(self, state: LearnerState, batch: Batch) -> Predictions:
        """Predict with all members and combine their margins."""
        members = self.predict_members(state, batch)
        experts = self._combine_experts([member.margins for member in members])
        mixed = self._blend(state, batch.tasks, experts)
        return Predictions(mixed, np.nan_to_num(experts), tuple(map(without_nan, members)))

    def _blend(self, state: LearnerState, codes: Codes, experts: NDArray[np.float64]) -> Margins:
        mixed = np.zeros(len(codes))
        blend(state.losses, state.layer, self.local, codes, experts, mixed, allocate_work(len(self.experts)))
        return mixed

    def _combine_experts(self, margins: Sequence[Margins]) -> NDArray[np.float64]:
        experts = np.zeros((len(self._scaled), len(margins[0])))
        combine(self._scaled, np.array(margins), experts)
        return experts

    def learn(self, state: LearnerState, batch: Batch, y: NDArray[np.float64]) -> UpdateResult:
        """Let all members learn a batch, then update the losses and combine the margins.

        The loss of an expert is that of its prediction before the label, because learners may have learned similar
        records since. If all predicted 0, as before the first label, or if the predictions are unknown, the current
        margin is used.
        """
        update = learn_in_pieces(batch, y, [*range(PIECE, len(y), PIECE), len(y)], partial(self._learn_piece, state))
        state.rounds += len(y)
        return update

    def _learn_piece(self, state: LearnerState, batch: Batch, y: NDArray[np.float64]) -> UpdateResult:
        n, m = len(batch.tasks), len(y)
        updates = self.learn_members(state, batch, [y] * len(self.learners))
        experts = self._combine_experts([update.predictions.margins for update in updates])
        earlier = max(batch.n_predicted, n - m)
        experts[:, :earlier] = 0.0 if batch.predictions is None else batch.predictions.experts
        charged = experts
        if earlier:
            own = self._combine_experts([update.own for update in updates])
            # all zero: nothing was known, and every expert would have the same loss
            charged = np.where(experts[:, :m].any(axis=0) & ~np.isnan(own), experts[:, :m], own)
        mixed, own, work = np.zeros(n), np.zeros(n), allocate_work(len(self.experts))
        asked = charged if n == m else experts
        weights = weights_of(batch.rows)
        mix(state.losses, state.layer, self.local, batch.tasks, y, weights, asked, charged, m, mixed, own, work)
        steps = np.maximum.reduce([update.steps for update in updates])
        members = tuple(without_nan(update.predictions) for update in updates)
        predictions = Predictions(mixed, np.nan_to_num(experts), members)
        return UpdateResult(predictions.replace_first(batch.predictions), own[:m], steps)

    # -- learned parameters -------------------------------------------------------------------------------------------

    def linear_part(self, state: LearnerState, batch: Batch, record: AnyRows | None = None) -> Margins:
        """Return the part of margins that is a weighted sum of features, combined from the members."""
        parts = [learner.linear_part(inner, batch, record) for learner, inner in self.pairs(state)]
        return self._blend(state, batch.tasks, self._combine_experts(parts))

    def expert_weights(self, state: LearnerState) -> NDArray[np.float64]:
        """Return the weight p_a of each of the S experts for every task, shape (n_tasks, S)."""
        weights = np.zeros((state.known, len(self.experts)))
        # a member that has stopped predicts NaN, so that its experts get no weight
        left = [np.full(1, np.nan if learner.has_left(inner) else 0.0) for learner, inner in self.pairs(state)]
        margins = self._combine_experts(left)[:, 0]
        for i, row in enumerate(weights):
            weigh(state.losses.overall, state.losses.tasks[i], self.local, margins, row)
        return weights

    def share(self, state: LearnerState) -> NDArray[np.float64]:
        """Return the share of each task: the average of the members' shares by the weights of the experts."""
        shares = np.array([learner.share(inner) for learner, inner in self.pairs(state)])
        return np.asarray(np.einsum("ia,am,mi->i", self.expert_weights(state), self._parts(), shares))

    def _parts(self) -> NDArray[np.float64]:
        """Return the coefficient of each learner in each of the S experts, shape (S, n_learners)."""
        return np.asarray(np.abs(self.experts) / np.abs(self.experts).sum(axis=1, keepdims=True))

    def weights(self, state: LearnerState) -> Weights:
        """Return the weights as a dense array, shape (n_tasks, n_features)."""
        factors = self._factors(state)
        members = (learner.weights(inner) for learner, inner in self.pairs(state))  # one at a time: they may be large
        return np.asarray(sum(factor[:, None] * W for factor, W in zip(factors.T, members, strict=True)))

    def _factors(self, state: LearnerState) -> NDArray[np.float64]:
        """Return the coefficient of each learner in the margins of each task, shape (n_tasks, n_learners)."""
        mean = state.layer.mean
        # c p_a + u_a of the stacker, as the margin is linear in the experts for fixed weights
        return np.asarray((mean[-1] * self.expert_weights(state) + mean[:-1]) @ self._scaled)

    def intercepts(self, state: LearnerState) -> NDArray[np.float64]:
        """Return the intercept of each task's margin, shape (n_tasks,)."""
        members = [np.broadcast_to(learner.intercepts(inner), state.known) for learner, inner in self.pairs(state)]
        return np.asarray(np.einsum("im,mi->i", self._factors(state), np.array(members)))

    def relation_matrix(self, state: LearnerState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the average of the learners' matrices M = A⁻¹, each scaled to a unit diagonal.

        The entry of tasks i and j is Σ_a sqrt(p_ia p_ja) M_a,ij, where p_ia is the weight of learner a for task i.
        """
        chosen = list(range(state.known) if among is None else among)
        # D M D with D = diag(√p_ia) keeps each term positive semidefinite, where p_ia M_ij would not be symmetric
        roots = np.sqrt(self.expert_weights(state)[chosen] @ self._parts())
        total = np.zeros((len(chosen), len(chosen)))
        for root, (learner, inner) in zip(roots.T, self.pairs(state), strict=True):
            M = learner.relation_matrix(inner, chosen)
            scale = np.sqrt(np.diag(M))
            total += np.outer(root / scale, root / scale) * M
        return total

    # -- files --------------------------------------------------------------------------------------------------------

    def dump(self, state: LearnerState) -> tuple[Json, Arrays]:
        """Return the state for a file, as JSON data and named arrays; task labels are saved elsewhere."""
        data, arrays = super().dump(state)
        losses = state.losses._replace(tasks=state.losses.tasks[: state.known])
        arrays |= flatten(losses, "losses.")[1]
        return data, arrays | flatten(require_held(state.layer, "layer."), "layer.")[1]

    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> LearnerState:
        """Restore the ensemble from the result of :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        S, state = len(self.experts), super().restore(data, arrays, tasks)
        losses = _rebuild_tuple(Losses(np.zeros(0), np.zeros((0, 0))), strip_prefix(arrays, "losses."))
        losses.check(S, len(tasks))
        layer = require_held(_rebuild_tuple(self._first_layer(), strip_prefix(arrays, "layer.")), "layer.")
        layer.check(S)
        return EnsembleState(**vars(state), losses=losses, layer=layer)


N = TypeVar("N", bound=tuple[Any, ...])


def _rebuild_tuple(like: N, arrays: Arrays) -> N:
    """Return a named tuple of the type of ``like`` with these arrays, converted to the array types of ``like``."""
    fields: Any = like
    return type(like)(*(array_of(arrays, name, array) for name, array in zip(fields._fields, fields, strict=True)))


#: The tables that members of a compiled ensemble share: rows of all tasks, of each task, and scales of coin betting.
_TABLES = ("groups", "tasks", "largest")


@dataclass
class CompiledEnsembleState(EnsembleState):
    """The state of a compiled ensemble: shared tables of weights, and a model with views of them."""

    shared: dict[str, SharedTable] = field(default_factory=dict)
    model: Any = None
    calls: Any = None

    def __getstate__(self) -> Json:
        """Return the state for copies and :mod:`pickle`, without the cached compiled functions."""
        return self.__dict__ | {"calls": None}

    @property
    def nbytes(self) -> int:
        """The memory of the arrays in bytes."""
        return super().nbytes + sum(int(table.nbytes) for table in self.model[:3])


class CompiledEnsemble(CompiledLearner, Ensemble):
    """An ensemble that learns in a single compiled loop: see :mod:`coterie._compiled.primal.compiled_ensemble`.

    Predictions, updates and files equal those of an :class:`Ensemble` of the same learners to the last bit.

    Parameters
    ----------
    learners, experts, local
        See :class:`Ensemble`; :meth:`supports` must be True for the learners.
    """

    def __init__(self, learners: Sequence[LinearLearner], experts: ArrayLike | None = None, local: float = 0.1) -> None:
        super().__init__(learners, experts, local)
        linear = learners[:-1] if isinstance(learners[-1], MixedEffectsLearner) else learners
        self._storage = learners[0].hypothesis.tables
        self._kinds = [_KINDS[type(learner.hypothesis)](learner.hypothesis, learner.rule) for learner in linear]
        self._shares = np.array([_own_and_shared(learner.relation) for learner in linear])
        numbers = range(len(linear))
        #: The members that have weights in each of the tables.
        self._owners = {
            "groups": [m for m in numbers if self._shares[m, 1] != 0.0],
            "tasks": [m for m in numbers if self._shares[m, 0] != 0.0],
            "largest": [m for m in numbers if self._kinds[m].kind == COIN],
        }
        self.compiled_rule = EnsembleModel(len(learners))
        self.traits = replace(self.traits, asks=True)

    @staticmethod
    def supports(learners: Sequence[Any]) -> bool:
        """Return True if the compiled loop supports these learners.

        It needs two or more learners, each with adaptive gradients, coin betting or diagonal AROW under the logistic or
        AROW rule, under an exchangeable relation whose shares do not depend on the number of tasks, all with the same
        storage of weights. A mixed-effects learner may follow.
        """
        linear = learners[:-1] if isinstance(learners[-1], MixedEffectsLearner) else learners
        return (
            len(linear) > 1
            and all(map(_can_be_member, linear))
            and len({replace(learner.hypothesis.tables, numbers=1) for learner in linear}) == 1
        )

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> CompiledEnsembleState:
        """Return the initial state for these tasks and records of the shape ``size``."""
        return self._share_tables(super().init(tasks, size, length))

    # -- tables

    def _share_tables(self, separate: EnsembleState) -> CompiledEnsembleState:
        """Return a state with shared tables of weights, filled from the states of ``separate`` members or zero."""
        state = CompiledEnsembleState(**vars(separate))
        models, rows = [member.model for member in state.members], self._rows(state)
        for name, owners in self._owners.items():
            table = side_by_side([getattr(models[m], name) for m in owners], rows[name], state.features)
            shared, first = SharedTable(table), 0
            for m in owners:
                numbers = getattr(models[m], name).numbers
                models[m] = models[m]._replace(**{name: TableSlice(shared, first, numbers)})
                first += numbers
            state.shared[name] = shared
        for member, model in zip(state.members, models, strict=True):
            member.model = model
        self._resize_tables(state)
        return state

    @staticmethod
    def _rows(state: EnsembleState) -> dict[str, int]:
        return {"groups": min(1, state.known), "tasks": state.known, "largest": 1}

    def _resize_tables(self, state: CompiledEnsembleState) -> None:
        """Resize the shared tables for the tasks and features of the state."""
        for name, rows in self._rows(state).items():
            if self._owners[name]:
                shared = state.shared[name]
                shared.table = self._storage.fit(shared.table, rows, state.features, state.members[0].dense)
        self._join(state)

    def _join(self, state: CompiledEnsembleState) -> None:
        """Return one model of all tables, losses and the mixed-effects model.

        It is cached until one of them changes.
        """
        tables, before = [state.shared[name].table for name in _TABLES], state.model
        parts = (*tables, state.losses, self._mixed_model(state))
        if before is None or not is_same((*before[:3], before.losses, before.mixed), parts):
            state.model = self._joined(state, *tables)

    def _mixed_model(self, state: CompiledEnsembleState) -> MixedEffects:
        """Return the mixed-effects model; an empty model if the ensemble has no such member."""
        return NO_EFFECTS if len(self.learners) == len(self._kinds) else state.members[-1].model

    def _joined(self, state: CompiledEnsembleState, groups: Any, tasks: Any, largest: Any) -> MemberModels:
        owners, kinds = self._owners, self._kinds
        at = np.full((len(kinds), 2), -1)
        for level, name in enumerate(("tasks", "groups")):
            for m in owners[name]:
                at[m, level] = getattr(state.members[m].model, name).first
        scales = np.array([owners["largest"].index(m) if m in owners["largest"] else 0 for m in range(len(at))])
        settings = np.array([kind.settings for kind in kinds], np.float64)  # given as whole numbers, too
        return MemberModels(
            groups,
            tasks,
            largest,
            Members(np.array([kind.kind for kind in kinds]), settings, at, self._shares, scales),
            has_own=bool(owners["tasks"]),
            has_pool=bool(owners["groups"]),
            bets=bool(owners["largest"]),
            factors=self._scaled,
            losses=state.losses,
            layer=state.layer,
            local=self.local,
            work=Workspace.allocate(len(self.learners), len(self.experts)),
            mixed=self._mixed_model(state),
            has_mixed=len(self.learners) > len(at),
        )

    def make_room(self, state: CompiledEnsembleState, i: int, entries: int) -> None:
        """Allocate the new weights for a record of task i that has this many ``entries``."""
        for name, row in (("groups", 0), ("tasks", i), ("largest", 0)):
            shared = state.shared[name]
            if self._owners[name]:
                shared.table = shared.table.make_room(np.array([row]), entries)
        for learner, member in list(zip(self.learners, state.members, strict=True))[len(self._kinds) :]:
            learner.make_room(member)
        self._join(state)

    @staticmethod
    def _set_rounds(state: CompiledEnsembleState) -> None:
        """Copy the number of rounds to the members' states, because relations depend on it."""
        for member in state.members:
            member.rounds = state.rounds

    # -- tasks

    def resize(self, state: CompiledEnsembleState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state for ``tasks`` tasks and more features; on an error it is unchanged."""
        if tasks > state.known or size.features > state.features:
            self._set_rounds(state)
            super().resize(state, tasks, size, counted)
            self._resize_tables(state)

    def drop(self, state: CompiledEnsembleState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Remove the ``dropped`` tasks with their losses, also from each member."""
        self._set_rounds(state)
        super().drop(state, dropped, tasks)
        groups, own = state.shared["groups"], state.shared["tasks"]
        if self._owners["tasks"]:
            own.table = own.table.drop_rows(dropped)
        if self._owners["groups"] and not state.known:
            groups.table = groups.table.clear_rows(np.array([0]))
        self._join(state)

    # -- rounds

    def learn(self, state: CompiledEnsembleState, batch: Batch, y: NDArray[np.float64]) -> UpdateResult:
        """Predict and learn records one after the other; see :meth:`Ensemble.learn`."""
        n, m, learned = len(batch.tasks), len(y), 0
        late = n > m or batch.n_predicted > 0
        moves, experts = Moves(*np.zeros((3, n))), np.zeros((len(self.experts), n if late else 0))
        n_predicted = max(batch.n_predicted, n - m) if late else 0
        if batch.predictions is not None:
            experts[:, : batch.n_predicted] = batch.predictions.experts
        while learned < m:
            records = batch.rows, batch.tasks, y, learned, m
            learned = learn(state.model, *records, n_predicted, experts, moves, batch.query_strategy)
            if learned < m:
                self.make_room(state, int(batch.tasks[learned]), count_entries(batch.rows, learned))
        state.rounds += m
        return result_of(moves, batch, m, experts if late else None)

    def skip(self, state: CompiledEnsembleState, rounds: int) -> None:
        """Count ``rounds`` rounds without labels; nothing is learned."""
        state.rounds += rounds

    def predict(self, state: CompiledEnsembleState, batch: Batch) -> Predictions:
        """Return the predictions of a batch without changing the state."""
        known = batch._replace(rows=split_unseen(batch.rows, state.features)[0])
        if known.rows is not batch.rows:
            return self._predict_unseen(state, batch, known)
        n, unseen = len(batch.tasks), batch.tasks < 0
        margins, experts = np.zeros(n), np.zeros((len(self.experts), n))
        if unseen.any() and not unseen.all():
            for places, labels in ((np.flatnonzero(~unseen), ()), (np.flatnonzero(unseen), batch.unseen)):
                part = self.predict(state, Batch(batch.rows.take(places), batch.tasks[places], labels))
                margins[places], experts[:, places] = part.margins, part.experts
        elif not unseen.any():
            predict(self._lend_model(state), batch.rows, batch.tasks, experts, margins)
        # an unseen task has no losses, so experts are weighted by the losses over all tasks
        elif state.known:  # without tasks there is nothing shared either
            losses = state.losses._replace(tasks=np.zeros((1, len(self.experts))))
            model = self._lend_model(state, has_own=False, losses=losses)
            predict(model, batch.rows, np.full(n, -1), experts, margins)
        return Predictions(margins, experts)

    def _predict_unseen(self, state: CompiledEnsembleState, batch: Batch, known: Batch) -> Predictions:
        """Predict records with unknown features from the known ones.

        Unknown features only add to the variances of mixed-effects members.
        """
        experts = self.predict(state, known).experts
        for m, (learner, inner) in enumerate(self.pairs(state)):
            if isinstance(learner, MixedEffectsLearner) and not learner.has_left(inner):
                change = learner.predict(inner, batch).margins - learner.predict(inner, known).margins
                experts += np.outer(self._scaled[:, m], change)
        return Predictions(self._blend(state, batch.tasks, experts), experts)

    def linear_part(self, state: CompiledEnsembleState, batch: Batch, record: AnyRows | None = None) -> Margins:
        """Return the part of margins that is a weighted sum of features, combined from the members."""
        experts = self.predict(state, batch).experts
        for m, (learner, inner) in enumerate(self.pairs(state)):
            if isinstance(learner, MixedEffectsLearner):
                experts[m] = learner.linear_part(inner, batch, record)
        return self._blend(state, batch.tasks, experts)

    def _lend_model(self, state: CompiledEnsembleState, **changed: Any) -> MemberModels:
        """Context that yields the model with its own working arrays, so that threads can predict in parallel."""
        work = Workspace.allocate(len(self.learners), len(self.experts))
        model: MemberModels = state.model._replace(work=work, mixed=state.model.mixed.lent(), **changed)
        return model

    # -- files

    def dump(self, state: CompiledEnsembleState) -> tuple[Json, Arrays]:
        """Return the state for a file, as JSON data and named arrays; each member is saved as a separate learner."""
        self._set_rounds(state)
        return super().dump(state)

    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> CompiledEnsembleState:
        """Restore the ensemble from the result of :meth:`dump`."""
        return self._share_tables(super().restore(data, arrays, tasks))


class _Kind(NamedTuple):
    """The kind of an ensemble member and its parameters, as compiled code reads them."""

    kind: int
    settings: tuple[float, float]


#: The kind of member for each type of weights with its rule.
_KINDS: dict[type, Callable[[Any, Any], _Kind]] = {
    AdaptiveGradient: lambda of, rule: _Kind(GRADIENT, (of.step, of.start)),
    DiagonalAROW: lambda of, rule: _Kind(CONFIDENT, (of.r, rule.compiled().target)),
    CoinBetting: lambda of, rule: _Kind(COIN, (of.alpha, of.wealth)),
}
#: A placeholder for the mixed-effects model in an ensemble without one.
NO_EFFECTS = MixedEffects.empty(logistic=True)

_RULES: dict[type, type] = {AdaptiveGradient: Logistic, DiagonalAROW: AROW, CoinBetting: Logistic}


def _can_be_member(learner: Any) -> bool:
    """Return True if a learner can be a member of a compiled ensemble."""
    if type(learner) not in (LinearLearner, ConfidenceLearner) or type(learner.hypothesis) not in _RULES:
        return False
    fits = type(learner.rule) is _RULES[type(learner.hypothesis)] and isinstance(learner.relation, LevelRelation)
    return fits and learner.traits.tasks_independent and len(learner.relation.path("")) <= 1


def _own_and_shared(relation: Part) -> tuple[float, float]:
    """Return two numbers that describe a relation: the weights in M of a task's own row and of the shared row."""
    depth = len(relation.path(""))
    return relation.own(depth), relation.shared(0, 1) if depth else 0.0


def make_ensemble(learners: Sequence[BaseLearner], experts: ArrayLike | None = None, local: float = 0.1) -> Ensemble:
    """Return an ensemble of the learners, compiled if possible; ``local`` is the weight of a task's own losses.

    ``experts`` has the coefficient of each learner in each expert; by default each learner is an expert.

    Examples
    --------
    >>> from coterie import Independent, Member, Pooled
    >>> from coterie.updates import AdaptiveGradient
    >>> from coterie.updates import Logistic
    >>> own, pooled = (Member(AdaptiveGradient(), relation, Logistic()) for relation in (Independent(), Pooled()))
    >>> type(make_ensemble([own.learner(), pooled.learner()])).__name__
    'CompiledEnsemble'
    """
    kind: type[Ensemble] = CompiledEnsemble if CompiledEnsemble.supports(learners) else Ensemble
    return kind(learners, experts, local)
