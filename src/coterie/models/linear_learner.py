"""Linear learners: combinations of weights, a relation between tasks, and an update rule.

The loop over records is in ``_compiled/primal/stream.py``.

m   = score(state, z)              the margin, by which a query strategy may do without the label
tau = rule(m, y, ...)              the step size; 0.0 means that nothing changes
state <- add(state, z, tau, M)     share the update with the tasks through M
M <- adapt(M, gram)                only if the relation is learned

:class:`LinearLearner` has weights that one compiled loop updates. :class:`RelationLearner` is the base class of all
learners with one model and one relation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.records import Csr, Rows, split_unseen
from coterie._compiled.primal.averaged import AveragedModel
from coterie._compiled.primal.calls import RecordCalls, prepared
from coterie._compiled.primal.confidence import margin_variances
from coterie._compiled.primal.grouped import NO_ARRIVALS, Arrivals
from coterie._compiled.primal.query_decisions import renew, skip_rounds
from coterie._compiled.primal.round import Extent
from coterie._compiled.primal.scaling import UNPREPARED
from coterie._compiled.primal.step_rules import goes_by_sign
from coterie._compiled.primal.stream import UNPROVIDED, Moves, learn, learn_one, predict, predict_one
from coterie._compiled.trees import Arrays, flatten, rebuild, require_held
from coterie._compiled.views.tasks import SpectralRelationModel
from coterie._compiled.weights.table import Weights
from coterie.tasks.index import Index
from coterie.types import Json, Part, Tree

from .contract import (
    AnyRows,
    BaseLearner,
    Batch,
    Capabilities,
    Codes,
    Features,
    InputShape,
    LearnerState,
    Margins,
    Predictions,
    RoundCount,
    UpdateResult,
    count_entries,
    score_known_and_unseen,
)
from .relation_adapters import NO_GROUPS, LearnedAdapter, adapt_relation, arrivals_of, count_all, require_fit
from .state import State, holds


class _Saved(msgspec.Struct):
    """Saved data of :meth:`RelationLearner.dump`, without the arrays."""

    shape: Json
    features: Features
    dense: bool
    rounds: RoundCount


_MEAN_READ = (
    "a model with {!r} and averaged weights cannot {}, because the means of other tasks include the task's updates; "
    "use average=False"
)


class RelationLearner(BaseLearner):
    """Base class of learners with one model and one relation."""

    relation: Part
    adapter: Any

    def refuse(self, state: State, tasks: Sequence[Hashable]) -> None:
        """Raise ValueError, naming the first, if ``tasks`` contains tasks that the relation does not know."""
        self.adapter.refuse(state, tasks)

    def predict(self, state: State, batch: Batch) -> Predictions:
        """Return the predictions of a batch without changing the state."""
        return Predictions(score_known_and_unseen(batch, partial(self.score, state), partial(self.score_unseen, state)))

    @abstractmethod
    def score(self, state: State, rows: AnyRows, codes: Codes) -> Margins:
        """Return the margins of records of known tasks; ``codes`` are the task numbers."""

    @abstractmethod
    def score_unseen(self, state: State, rows: AnyRows, tasks: Sequence[Hashable]) -> Margins:
        """Return the margins of records of unseen tasks, predicted from known tasks by the relation."""

    def relation_matrix(self, state: State, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the relation matrix A⁻¹ in the paper's scaling, of all tasks or of the task numbers ``among``."""
        return np.asarray(self.adapter.relation_matrix(state, among))

    def dump(self, state: State) -> tuple[Json, Arrays]:
        """Return the state for a file, as JSON data and named arrays; task labels are saved elsewhere."""
        shape, arrays = flatten(require_held(self._to_saved(state)))
        return {"shape": shape, "features": state.features, "dense": state.dense, "rounds": state.rounds}, arrays

    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> State:
        """Restore a state from the result of :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        saved = msgspec.convert(data, _Saved)
        model = rebuild(saved.shape, arrays, *self._blank(tasks, saved.features, saved.dense))
        model, sharing = self._restored(model, tasks)
        state = State(model, tasks, sharing, saved.features, saved.dense, len(tasks), saved.rounds)
        self._check(state)
        return state

    @abstractmethod
    def _blank(self, tasks: Index, features: int, dense: bool) -> Sequence[Tree]:
        """Return empty models, one for each form that the parameters allow, to check the types of a file."""

    def _check(self, state: State) -> None:
        """Raise ValueError if a restored state has invalid indices, or no sequence of updates could produce it."""
        state.model.check(self.adapter.bounds(state))

    @abstractmethod
    def _to_saved(self, state: State) -> Tree:
        """Return the model without unused capacity, and without arrays that can be recomputed."""

    def _restored(self, model: Tree, tasks: Index) -> tuple[Tree, Tree]:
        """Return the complete model for a saved model, and the relation's part of the state."""
        return model, None


class CompiledLearner(BaseLearner):
    """Base class of learners that update records in a compiled loop.

    The state caches compiled functions for single records.
    """

    compiled_rule: Tree
    #: True if a round may have consequences to :meth:`warn` of.
    warns: bool = False

    def warn(self, state: LearnerState) -> None:
        """Emit the warnings that are due after a round."""

    @abstractmethod
    def make_room(self, state: LearnerState, i: int, entries: int) -> None:
        """Allocate the weights for a record of task i that has this many ``entries``."""

    def learn_compiled(
        self, state: LearnerState, batch: Batch, y: Any, arrivals: Arrivals = NO_ARRIVALS, rule: Tree | None = None
    ) -> Moves:
        """Predict and learn a batch in the compiled loop.

        If a record raises an error, the records before it stay learned.
        """
        n, m, learned = len(batch.tasks), len(y), 0
        state.calls = None  # prepared calls refer to the old tables and would keep them in memory
        moves, strategy = Moves(*np.zeros((3, n))), batch.query_strategy
        rule = self.compiled_rule if rule is None else rule
        try:
            while learned < m:
                records = batch.rows, batch.tasks, y
                learned = learn(state.model, rule, *records, learned, m, n - m, moves, strategy, arrivals)
                if learned < m:
                    self.make_room(state, int(batch.tasks[learned]), count_entries(batch.rows, learned))
        finally:
            state.rounds += learned
        return moves

    def predict_one(self, state: LearnerState, rows: Csr, i: int) -> float:
        """Return the margin of one record in a few microseconds, in the precision of the weights."""
        call, n = _calls_of(state).predict, len(rows.values)
        margin: float = call(state.model, rows.values, rows.features, n, UNPREPARED, i)
        return margin

    def learn_one(self, state: LearnerState, rows: Csr, i: int, y: float) -> None:
        """Learn one record as :meth:`learn` does; nothing is returned."""
        call, entries = _calls_of(state).learn, (rows.values, rows.features)
        while call(state.model, self.compiled_rule, *entries, UNPREPARED, i, y) == UNPROVIDED:
            self.make_room(state, i, len(rows.values))
        state.rounds += 1
        if self.warns:
            self.warn(state)

    def fast_calls(self, state: LearnerState) -> RecordCalls | None:
        """Return the compiled functions for single records of this state."""
        return _calls_of(state)


def _calls_of(state: LearnerState) -> RecordCalls:
    if state.calls is None:
        state.calls = RecordCalls(prepared(predict_one), prepared(learn_one))
    calls: RecordCalls = state.calls
    return calls


def named_by(relation: Part) -> Sequence[Hashable]:
    """Return the tasks that a relation lists, which are then the only valid tasks; empty if it lists none."""
    return tuple(relation.known_tasks) if relation.form == "columns" else ()


class LinearLearner(CompiledLearner, RelationLearner):
    """A learner that combines weights, a relation and a rule.

    Parameters
    ----------
    hypothesis : part
        The weights and their storage, such as :class:`coterie.updates.LinearWeights` or a wrapper around it.
    relation : part
        The relation between tasks.
    rule : part
        The update rule.

    Raises
    ------
    TypeError
        If the weights cannot be updated under the relation or by the rule; both are named.
    """

    def __init__(self, hypothesis: Part, relation: Part, rule: Part) -> None:
        self.adapter = adapt_relation(hypothesis, relation)
        spec.require_part("rule", rule, "PassiveAggressive()")
        move = getattr(rule, "move", None)
        require_fit(hypothesis, move in hypothesis.moves, f"move by {rule!r}", "a rule", hypothesis.moves)
        self.hypothesis, self.relation, self.rule = hypothesis, relation, rule
        self.compiled_rule, form = rule.compiled(), relation.form
        learned = isinstance(self.adapter, LearnedAdapter)
        if learned:
            self.adapter.by_sign = goes_by_sign(self.compiled_rule)
        self.warns = learned
        cannot_drop = cannot_bound = ""
        blank = self._blank_model(False)
        if holds(blank, (AveragedModel,)) and holds(blank, (SpectralRelationModel,)):
            cannot_drop = _MEAN_READ.format(relation, "forget a task")
            cannot_bound = _MEAN_READ.format(relation, "have max_tasks")
        elif form == "columns":
            cannot_bound = f"max_tasks is not supported with {relation!r}, which names all its tasks"
        self.traits = Capabilities(
            log_odds=rule.log_odds,
            weighs=True,
            asks=True,
            task_changes_all=learned,
            feature_changes_all=learned and bool(relation.needs_features),
            tasks_independent=form in ("levels", "intercepts") and bool(relation.alike and not relation.counts_tasks),
            named=named_by(relation),
            fixed=form == "columns",
            cannot_drop=cannot_drop,
            cannot_bound=cannot_bound,
        )

    # -- tasks and features -------------------------------------------------------------------------------------------

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> State:
        """Return the initial state for these tasks and records of the shape ``size``."""
        state: State = self.adapter.start(tasks, size, length)
        return state

    def resize(self, state: State, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state for ``tasks`` tasks and more features; on an error it is unchanged."""
        if tasks > state.known or size.features > state.features:
            self.adapter.resize(state, tasks, max(size.features, state.features), counted)

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Remove ``tasks`` with their own weights; the time is proportional to the number of these weights.

        Groups keep their weights; a group without tasks is dropped, too.
        """
        self.adapter.drop_weights(state, dropped, tasks)
        state.known = dropped.left

    def make_room(self, state: State, i: int, entries: int) -> None:
        """Allocate the weights for a record of task i that has this many ``entries``."""
        self.adapter.make_room(state, i, entries)

    # -- rounds -------------------------------------------------------------------------------------------------------

    def score(self, state: State, rows: AnyRows, codes: Codes) -> Margins:
        """Return the margins of records of the known tasks ``codes``: O(nonzero features · levels of groups) each."""
        margins = np.zeros(len(codes))
        predict(state.model, rows, codes, 0, len(codes), margins)
        return margins

    def score_unseen(self, state: State, rows: AnyRows, tasks: Sequence[Hashable]) -> Margins:
        """Return the margins of records of unseen tasks, predicted from known tasks by the relation."""
        margins = np.zeros(len(tasks))
        model = self.adapter.unseen_task_model(state, tasks)
        predict(model, rows, np.arange(len(tasks)), 0, len(tasks), margins)
        return margins

    def learn(self, state: State, batch: Batch, y: NDArray[np.float64]) -> UpdateResult:
        """Predict and learn a batch in the compiled loop; labels are delayed if y is shorter than the batch.

        The result does not depend, to the last bit, on how a stream is split into batches: a new task counts from its
        first record on.
        """
        m = len(y)
        try:
            arrivals = state.coming
            if arrivals is not NO_ARRIVALS:
                arrivals = arrivals_of(state, batch.tasks[: len(batch.tasks) - m])
            moves = self.learn_compiled(state, batch, y, arrivals)
        except BaseException:
            count_all(state)  # a known task is counted, whatever stopped learning
            raise
        if self.warns:
            self.warn(state)
        return result_of(moves, batch, m)

    def skip(self, state: State, rounds: int) -> None:
        """Count ``rounds`` rounds without labels; only clocks, such as that of a decay, change."""
        skip_rounds(state.model, rounds)
        state.rounds += rounds

    def warn(self, state: State) -> None:
        """Warn once if a learned relation has exceeded its limit and is no longer updated."""
        self.adapter.warn_if_frozen(state)

    def update_query_strategy(self, state: State, query_probability: Tree) -> None:
        """Update a query probability that depends on a learned relation."""
        renew(query_probability, state.model)

    # -- learned parameters -------------------------------------------------------------------------------------------

    def weights(self, state: State) -> Weights:
        """Return the weights as a dense array, shape (n_tasks, n_features)."""
        return state.model.weights(state.known, state.features)  # type: ignore[no-any-return]

    def intercepts(self, state: State) -> Weights:
        """Return the intercept of each task's margin, shape (n_tasks,)."""
        return state.model.intercepts(state.known)  # type: ignore[no-any-return]

    def share(self, state: State) -> NDArray[np.float64]:
        """Return the shared fraction of each task's updates: 0 for independent tasks, 1 for one common model."""
        return np.asarray(self.adapter.share(state))

    # -- files --------------------------------------------------------------------------------------------------------

    def _to_saved(self, state: State) -> Tree:
        count_all(state)
        return state.model.to_saved(self.adapter.extent(state))

    def _restored(self, model: Tree, tasks: Index) -> tuple[Tree, Tree]:
        own, sharing = self.adapter.restore(model.sharing, tasks)
        return model.with_sharing(sharing), own

    def _blank(self, tasks: Index, features: int, dense: bool) -> Sequence[Tree]:
        return (self._blank_model(dense).to_saved(Extent(0, 0, 0, 1)),)

    def _blank_model(self, dense: bool) -> Tree:
        """Return a model without tasks, with the array types of every model under these parameters."""
        return self.adapter.model(self.adapter.blank(), 0, 0, 1, dense)


class ConfidenceLearner(LinearLearner):
    """A learner with a variance for each weight, such as diagonal AROW."""

    def __init__(self, hypothesis: Part, relation: Part, rule: Part) -> None:
        super().__init__(hypothesis, relation, rule)
        self.traits = replace(self.traits, has_variances=True, counts_unseen=True)

    def predict(self, state: State, batch: Batch) -> Predictions:
        """Return the predictions of a batch without changing the state."""
        return super().predict(state, batch._replace(rows=split_unseen(batch.rows, state.features)[0]))

    def variances(self, state: State, batch: Batch) -> Margins:
        """Return the variance of each record's margin: O(nonzero features · levels of groups) each."""
        known, unseen = split_unseen(batch.rows, state.features)

        def score_unseen(rows: Rows, tasks: Sequence[Hashable]) -> Margins:
            model, unlearned = self.adapter.unseen_task_model(state, tasks), state.sharing.unlearned_weights(tasks)
            return np.asarray(_variances(model, rows, np.arange(len(tasks))) + unlearned * rows.squares())

        variances = score_known_and_unseen(batch._replace(rows=known), partial(_variances, state.model), score_unseen)
        return variances + unseen * score_known_and_unseen(
            batch,
            lambda rows, codes: self.adapter.diagonal(state, codes),
            lambda rows, tasks: self.adapter.unseen(state, tasks, NO_GROUPS)[1],
        )


def _variances(model: Tree, rows: Rows, codes: Codes) -> Margins:
    variances = np.zeros(len(codes))
    margin_variances(model, rows, codes, variances)
    return variances


def result_of(moves: Tree, batch: Batch, m: int, experts: Any = None) -> UpdateResult:
    """Return the result of a batch with m learned records.

    Predictions that were made earlier replace those in ``moves``.
    """
    predictions = Predictions(moves.margins, experts)
    if batch.predictions is not None:
        predictions = predictions.replace_first(batch.predictions)
    support = (moves.stored[:m], moves.evicted[:m]) if hasattr(moves, "stored") else ()
    return UpdateResult(predictions, moves.own[:m], moves.step_sizes[:m], *support)
