"""A mixture whose members learn side by side, record by record, in one compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.hypotheses.adaptive_gradients import AdaptiveGradient, CoinBetting, DiagonalAROW
from coterie.index import Index
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.primal.members import (
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
from coterie.numeric.primal.mixed_effects import MixedEffects
from coterie.numeric.trees import Arrays
from coterie.numeric.weights.sections import SharedTable, TableSlice, side_by_side
from coterie.relations.levels import LevelRelation
from coterie.rules import AROW, Logistic
from coterie.state import is_same

from .contract import BaseLearner, Batch, InputShape, Margins, Predictions, UpdateResult, entries_of
from .linear import ConfidenceLearner, LinearFastPath, LinearLearner, no_moves
from .mixed_effects import MixedEffectsLearner
from .mixture import Ensemble, MixtureState


@dataclass
class SharedTables:
    """The tables that members have sections of: rows of all tasks, of each task, and scales of coin betting."""

    groups: SharedTable = field(default_factory=SharedTable)
    tasks: SharedTable = field(default_factory=SharedTable)
    largest: SharedTable = field(default_factory=SharedTable)


@dataclass
class CompiledEnsembleState(MixtureState):
    """The state of a mixture whose members' weights are sections of common tables, and the model made of these."""

    shared: SharedTables = field(default_factory=SharedTables)
    model: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(int(held.nbytes) for held in [*self.members, *self.model[:3], *self.losses, *self.layer])


class CompiledEnsemble(Ensemble):
    """A mixture whose members learn side by side: see :mod:`coterie.numeric.primal.members`.

    It says, learns and saves to the last bit what a :class:`Ensemble` of the same learners does; only its members'
    states are not whole without it, for their tables are sections of common ones.

    Parameters
    ----------
    learners, experts, local
        As in :class:`Ensemble`, the learners being such as :meth:`takes` accepts.
    """

    def __init__(self, learners: Sequence[LinearLearner], experts: ArrayLike | None = None, local: float = 0.1) -> None:
        super().__init__(learners, experts, local)
        linear = [learner for learner in learners if not isinstance(learner, MixedEffectsLearner)]
        self._storage = learners[0].hypothesis.tables
        self._kinds = [_KINDS[type(learner.hypothesis)](learner.hypothesis, learner.rule) for learner in linear]
        self._shares = np.array([_shares_of(learner.relation) for learner in linear])
        every = range(len(linear))
        #: The members that have something in each of the tables.
        self._fields = {
            "groups": [m for m in every if self._shares[m, 1] != 0.0],
            "tasks": [m for m in every if self._shares[m, 0] != 0.0],
            "largest": [m for m in every if self._kinds[m].kind == COIN],
        }
        self.compiled_rule = EnsembleModel(len(learners))
        self.traits = replace(self.traits, asks=True)

    @staticmethod
    def takes(learners: Sequence[Any]) -> bool:
        """Tell whether learners can go side by side.

        There must be two or more, each with adaptive gradients, coin betting or the diagonal AROW under the logistic
        rule or AROW's, under a relation of all tasks alike whose shares do not depend on how many they are; all keep
        weights in the same way. Up to two with mixed effects may come behind them.
        """
        mixed = sum(isinstance(learner, MixedEffectsLearner) for learner in learners[-2:])
        linear = learners[: len(learners) - mixed]
        return (
            len(linear) > 1
            and all(map(_goes_along, linear))
            and len({replace(learner.hypothesis.tables, numbers=1) for learner in linear}) == 1
        )

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> CompiledEnsembleState:
        """The state before the first round."""
        return self._together(super().init(tasks, size, length))

    def _together(self, apart: MixtureState) -> CompiledEnsembleState:
        """The state of a mixture whose members are apart, or all zero, with their weights in common tables."""
        state = CompiledEnsembleState(**vars(apart))
        self._lay_together(state)
        return state

    # -- tables

    def _lay_together(self, state: CompiledEnsembleState) -> None:
        """Move the weights of members that are apart, or all zero, to common tables, of which they get sections."""
        models = [member.model for member in state.members]
        rows = {"groups": min(1, state.known), "tasks": state.known, "largest": 1}
        fields = self._fields
        made = {
            name: side_by_side([getattr(models[m], name) for m in having], rows[name], state.features)
            for name, having in fields.items()
        }
        state.shared = shared = SharedTables(**{name: SharedTable(table) for name, table in made.items()})
        for name, having in fields.items():
            first = 0
            for m in having:
                numbers = getattr(models[m], name).numbers
                models[m] = models[m]._replace(**{name: TableSlice(getattr(shared, name), first, numbers)})
                first += numbers
        for member, model in zip(state.members, models, strict=True):
            member.model = model
        self._fit_tables(state)

    def _fit_tables(self, state: CompiledEnsembleState) -> None:
        """Give the common tables room for the tasks and features of the state."""
        shared, fields, dense = state.shared, self._fields, state.members[0].dense
        for name, rows in (("groups", min(1, state.known)), ("tasks", state.known), ("largest", 1)):
            whole: SharedTable = getattr(shared, name)
            if fields[name]:
                whole.table = self._storage.fit(whole.table, rows, state.features, dense)
        self._join(state)

    def _join(self, state: CompiledEnsembleState) -> None:
        """Put the tables and what mixes the members into one model; the same object while nothing changed."""
        shared, before = state.shared, state.model
        tables = shared.groups.table, shared.tasks.table, shared.largest.table
        parts = (*tables, state.losses, *self._mixed_models(state))
        if before is None or not is_same((*before[:3], before.losses, before.first, before.second), parts):
            state.model = self._joined(state, *tables)

    def _mixed_models(self, state: CompiledEnsembleState) -> tuple[MixedEffects, MixedEffects]:
        """The two models with mixed effects, empty ones if there are fewer."""
        first, second, *_ = [*(member.model for member in state.members[len(self._kinds) :]), NO_EFFECTS, NO_EFFECTS]
        return first, second

    def _joined(self, state: CompiledEnsembleState, groups: Any, tasks: Any, largest: Any) -> MemberModels:
        fields = self._fields
        at = np.full((len(self._kinds), 2), -1)
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
        first, second = self._mixed_models(state)
        return MemberModels(
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
            Workspace.allocate(len(self.learners), len(self.experts)),
            first,
            second,
            len(self.learners) - len(at),
        )

    def make_room(self, state: CompiledEnsembleState, i: int, entries: int) -> None:
        """Give the rows that a record of task i moves room for so many new weights."""
        shared, fields = state.shared, self._fields
        for name, row in (("groups", 0), ("tasks", i), ("largest", 0)):
            whole: SharedTable = getattr(shared, name)
            if fields[name]:
                whole.table = whole.table.make_room(np.array([row]), entries)
        for learner, member in list(self.pairs(state))[len(self._kinds) :]:
            learner.make_room(member)
        self._join(state)

    @staticmethod
    def _tell_rounds(state: CompiledEnsembleState) -> None:
        """Set the number of rounds in the members' states, on which relations depend."""
        for member in state.members:
            member.rounds = state.rounds

    # -- tasks

    def resize(self, state: CompiledEnsembleState, tasks: int, size: InputShape, counted: bool = True) -> None:  # type: ignore[override]
        """Make room for the first so many tasks of the index and for so many features; all or nothing."""
        if tasks > state.known or size.features > state.features:
            self._tell_rounds(state)
            super().resize(state, tasks, size, counted)
            self._fit_tables(state)

    def drop(self, state: CompiledEnsembleState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:  # type: ignore[override]
        """Drop tasks: their losses, and what each member has."""
        shared, fields = state.shared, self._fields
        self._tell_rounds(state)
        super().drop(state, dropped, tasks)
        if fields["tasks"]:
            shared.tasks.table = shared.tasks.table.drop_rows(dropped)
        if fields["groups"] and not state.known:
            shared.groups.table = shared.groups.table.clear_rows(np.array([0]))
        self._join(state)

    # -- rounds

    def learn(self, state: CompiledEnsembleState, run: Batch, y: NDArray[np.float64]) -> UpdateResult:  # type: ignore[override]
        """Predict and learn records one after the other; see :meth:`Ensemble.learn`."""
        n, m = len(run.tasks), len(y)
        late, done = n > m or run.given > 0, 0
        moves, predictions = no_moves(n), np.zeros((len(self.experts), n if late else 0))
        if run.predictions is not None:
            predictions[:, : run.given] = run.predictions.experts
        given = max(run.given, n - m) if late else 0
        while done < m:
            rows, codes, query_strategy = run.rows, run.tasks, run.query_strategy
            done = learn(state.model, rows, codes, y, done, m, given, predictions, moves, query_strategy)
            if done < m:
                self.make_room(state, int(run.tasks[done]), entries_of(run.rows, done))
        state.rounds += m
        return UpdateResult(
            Predictions(moves.margins, predictions if late else None).after(run.predictions),
            moves.own[:m],
            moves.step_sizes[:m],
        )

    def skip(self, state: CompiledEnsembleState, rounds: int) -> None:
        """End rounds that have no labels."""
        state.rounds += rounds

    def predict(self, state: CompiledEnsembleState, run: Batch) -> Predictions:  # type: ignore[override]
        """Predict records; nothing is written."""
        n, unseen = len(run.tasks), run.tasks < 0
        margins, experts = np.zeros(n), np.zeros((len(self.experts), n))
        if unseen.any() and not unseen.all():
            for some, labels in ((np.flatnonzero(~unseen), ()), (np.flatnonzero(unseen), run.unseen)):
                part = self.predict(state, Batch(run.rows.take(some), run.tasks[some], labels))
                margins[some], experts[:, some] = part.margins, part.experts
        elif not unseen.any():
            predict(self._lent(state), run.rows, run.tasks, experts, margins)
        elif state.known:  # without tasks there is nothing shared either
            none = state.losses._replace(tasks=np.zeros((1, len(self.experts))))
            model = self._lent(state, has_own=False, losses=none)
            predict(model, run.rows, np.full(n, -1), experts, margins)
        return Predictions(margins, experts)

    def linear_part(self, state: CompiledEnsembleState, run: Batch, record: Any = None) -> Margins:  # type: ignore[override]
        """The part of margins that is a weighted sum of features: the mixture of the members' such parts."""
        experts = self.predict(state, run).experts
        for m, (learner, inner) in enumerate(self.pairs(state)):
            if isinstance(learner, MixedEffectsLearner):
                experts[m] = learner.linear_part(inner, run, record)
        return self._blended(state, run.tasks, experts)

    def _lent(self, state: CompiledEnsembleState, **changed: Any) -> MemberModels:
        """The model with working arrays of its own, so that several threads can predict at a time."""
        mixed = {name: getattr(state.model, name).lent() for name in ("first", "second")}
        lent: MemberModels = state.model._replace(
            work=Workspace.allocate(len(self.learners), len(self.experts)), **mixed, **changed
        )
        return lent

    def single(self, state: CompiledEnsembleState) -> LinearFastPath:
        """Rounds of one record each, by calls that are prepared for the model."""
        return LinearFastPath(self, state)

    def rebind(self, state: CompiledEnsembleState) -> None:
        """Go on with a state that was learned by other settings of the mixture, which its model has."""
        state.model = self._joined(state, *state.model[:3])

    # -- files

    def dump(self, state: CompiledEnsembleState) -> tuple[dict[str, Any], Arrays]:  # type: ignore[override]
        """The state as plain JSON data and named arrays, without the labels of the tasks; each member's as if apart."""
        self._tell_rounds(state)
        return super().dump(state)

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> CompiledEnsembleState:
        """Undo :meth:`dump`."""
        return self._together(super().restore(data, arrays, tasks))


class _Kind(NamedTuple):
    """The kind and the settings of a member, as compiled code takes them."""

    kind: int
    settings: tuple[float, float]


#: Of each hypothesis that can go side by side with others, the kind of member that it makes with a rule.
_KINDS: dict[type, Callable[[Any, Any], _Kind]] = {
    AdaptiveGradient: lambda of, rule: _Kind(GRADIENT, (of.step, of.start)),
    DiagonalAROW: lambda of, rule: _Kind(CONFIDENT, (of.r, rule.compiled().target)),
    CoinBetting: lambda of, rule: _Kind(COIN, (of.alpha, of.wealth)),
}
#: In the place of models with mixed effects that an ensemble does not have.
NO_EFFECTS = MixedEffects.empty(logistic=True)

_RULES: dict[type, type] = {AdaptiveGradient: Logistic, DiagonalAROW: AROW, CoinBetting: Logistic}


def _goes_along(learner: Any) -> bool:
    """Tell whether a learner can go side by side with others."""
    if type(learner) not in (LinearLearner, ConfidenceLearner) or type(learner.hypothesis) not in _RULES:
        return False
    fits = type(learner.rule) is _RULES[type(learner.hypothesis)] and isinstance(learner.relation, LevelRelation)
    return fits and learner.traits.tasks_independent and len(learner.relation.path("")) <= 1


def _shares_of(relation: Any) -> tuple[float, float]:
    """The weights in M of a task's own row and of the row of all."""
    depth = len(relation.path(""))
    return relation.own(depth), relation.shared(0, 1) if depth else 0.0


def mixture_of(learners: Sequence[BaseLearner], experts: ArrayLike | None = None, local: float = 0.1) -> Ensemble:
    """Mix learners, compiled as one where :meth:`CompiledEnsemble.takes` them: the same to the last bit.

    Examples
    --------
    >>> from coterie import Independent, Member, Pooled
    >>> from coterie.hypotheses import AdaptiveGradient
    >>> from coterie.rules import Logistic
    >>> own, pooled = (Member(AdaptiveGradient(), relation, Logistic()) for relation in (Independent(), Pooled()))
    >>> type(mixture_of([own.learner(), pooled.learner()])).__name__
    'CompiledEnsemble'
    """
    if CompiledEnsemble.takes(learners):
        return CompiledEnsemble(learners, experts, local)  # type: ignore[arg-type]
    return Ensemble(learners, experts, local)
