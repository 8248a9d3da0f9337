"""The round: a learner joins a hypothesis, a relation and a rule, none of which knows the others.

m   = score(state, z)              the margin, by which an asker may do without the label
tau = rule(m, y, ...)              how far to move; 0.0 means that nothing changes
state <- add(state, z, tau, M)     spread the move over the tasks through M
M <- adapt(M, gram)                only where the relation is learned

:class:`LinearLearner` is that of weights, which one compiled loop moves; :class:`Round` is the base of all learners
with one model and one relation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.index import Index
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.records import Csr, Rows
from coterie.numeric.primal.arow import margin_variances
from coterie.numeric.primal.asking import renew, skip_rounds
from coterie.numeric.primal.averaged import AveragedModel
from coterie.numeric.primal.calls import BoundCall, PlainRecords, RecordCalls
from coterie.numeric.primal.round import Extent
from coterie.numeric.primal.stream import UNPROVIDED, Moves, learn, predict
from coterie.numeric.trees import Arrays, flatten, rebuild, require_held
from coterie.numeric.views.tasks import SpectralRelationModel
from coterie.state import State, holds

from .contract import (
    BaseLearner,
    Batch,
    Capabilities,
    Codes,
    FastPath,
    Features,
    InputShape,
    Margins,
    Predictions,
    RoundCount,
    UpdateResult,
    entries_of,
    known_and_unseen,
    rows_from_column,
)
from .sharing import BINDINGS, NO_GROUPS, coming_in, count_all, form_for, require_fit


class _Saved(msgspec.Struct):
    """The data that :meth:`Round.dump` returns beside the arrays."""

    shape: dict[str, Any]
    features: Features
    dense: bool
    rounds: RoundCount


_MEAN_READ = (
    "a model with {!r} cannot {} while its weights are averaged: the means of other tasks have its moves in them; take "
    "average=False"
)


class Round(BaseLearner, ABC):
    """Base of the learners with one model and one relation bound to it."""

    relation: Any
    _bound: Any

    def refuse(self, state: State, tasks: Sequence[Hashable]) -> None:
        """Refuse new tasks that the relation does not know: ValueError naming the first."""
        self._bound.refuse(self.relation, state, tasks)

    def predict(self, state: State, run: Batch) -> Predictions:
        """Predict records; nothing is written."""
        return Predictions(
            known_and_unseen(
                run,
                lambda rows, codes: self.score(state, rows, codes),
                lambda rows, tasks: self.score_unseen(state, rows, tasks),
            )
        )

    @abstractmethod
    def score(self, state: State, rows: Any, codes: Codes) -> Margins:
        """Margins of records of known tasks; nothing is written."""

    @abstractmethod
    def score_unseen(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> Margins:
        """Margins of records of tasks that nobody has seen: those that the relation derives from known tasks."""

    def relation_matrix(self, state: State, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """A⁻¹ on the paper's scale for the tasks known, or for those ``among`` them with these numbers."""
        return np.asarray(self._bound.relation_matrix(self.relation, state, among))

    def dump(self, state: State) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        shape, arrays = flatten(require_held(self._to_saved(state)))
        return {"shape": shape, "features": state.features, "dense": state.dense, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> State:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held = msgspec.convert(data, _Saved)
        model = rebuild(held.shape, arrays, *self._blank(tasks, held.features, held.dense))
        model, sharing = self._restored(model, tasks)
        state = State(model, tasks, sharing, held.features, held.dense, len(tasks), held.rounds)
        self._check(state)
        return state

    @abstractmethod
    def _blank(self, tasks: Index, features: int, dense: bool) -> Sequence[Any]:
        """Models of no record as they would be saved, one for each form that these parameters allow."""

    def _check(self, state: State) -> None:
        """Refuse a state by which compiled code could read beyond arrays, or that learning cannot reach: ValueError."""
        state.model.check(self._bound.bounds(state))

    @abstractmethod
    def _to_saved(self, state: State) -> Any:
        """The model without unused room and without arrays that can be computed again, to be saved."""

    def _restored(self, model: Any, tasks: Index) -> tuple[Any, Any]:
        """The whole model restored from a saved one, and what the state keeps of the relation for these tasks."""
        return model, None


def named_by(relation: Any) -> Sequence[Hashable]:
    """The tasks that a relation names, which are all there can be; empty if it names none."""
    return tuple(relation.known_tasks) if relation.form == "columns" else ()


class LinearLearner(Round):
    """A hypothesis, a relation and a rule joined into one round.

    Parameters
    ----------
    hypothesis : part
        What is stored, such as :class:`coterie.hypotheses.LinearWeights` or a wrapper around it.
    relation : part
        How tasks share.
    rule : part
        When and how far to move.

    Raises
    ------
    TypeError
        If the hypothesis cannot be moved under the relation or by the rule; both are named.
    """

    def __init__(self, hypothesis: Any, relation: Any, rule: Any) -> None:
        form = form_for(hypothesis, relation)
        spec.require_part("rule", rule, "PassiveAggressive()")
        move = getattr(rule, "move", None)
        require_fit(hypothesis, move in hypothesis.moves, f"move by {rule!r}", "a rule", hypothesis.moves)
        self.hypothesis, self.relation, self.rule = hypothesis, relation, rule
        self.compiled_rule, self._bound = rule.compiled(), BINDINGS[form]
        mean_read = self._mean_is_read()
        learned = form == "learned"
        self.traits = Capabilities(
            log_odds=rule.log_odds,
            weighs=True,
            asks=True,
            task_changes_all=learned,
            feature_changes_all=learned and bool(relation.needs_features),
            tasks_independent=form in ("levels", "intercepts") and bool(relation.alike and not relation.counts_tasks),
            named=named_by(relation),
            fixed=form == "columns",
            cannot_drop=_MEAN_READ.format(relation, "forget a task") if mean_read else "",
            cannot_bound=self._why_unbounded(mean_read),
        )

    def _mean_is_read(self) -> bool:
        """True where means of weights are kept of which those of other tasks are a part."""
        model = self._blank_model(False)
        return holds(model, (AveragedModel,)) and holds(model, (SpectralRelationModel,))

    def _why_unbounded(self, mean_read: bool) -> str:
        if mean_read:
            return _MEAN_READ.format(self.relation, "have max_tasks")
        if self.relation.form == "columns":
            return f"max_tasks cannot be given with {self.relation!r}, which names all its tasks"
        return ""

    # -- tasks and features -------------------------------------------------------------------------------------------

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> State:
        """The state before the first round."""
        state: State = self._bound.start(self, tasks, size, length)
        return state

    def resize(self, state: State, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Make room for the first so many tasks of the index and for so many features; all or nothing."""
        if tasks > state.known or size.features > state.features:
            self._bound.resize(self, state, tasks, max(size.features, state.features), counted)

    def drop(self, state: State, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop tasks and their own weights: O(what they hold).

        Groups keep what they have learned; one whose last task leaves is dropped, too.
        """
        self._bound.drop_weights(self, state, dropped, tasks)
        state.known = dropped.left

    # -- predicting ---------------------------------------------------------------------------------------------------

    def score(self, state: State, rows: Any, codes: Codes) -> Margins:
        """Margins of records of known tasks: O(nnz · levels) each; nothing is written."""
        margins = np.zeros(len(codes))
        predict(state.model, rows, codes, 0, len(codes), margins)
        return margins

    def score_unseen(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> Margins:
        """Margins of records of tasks that nobody has seen: those that the relation derives from known tasks."""
        margins = np.zeros(len(tasks))
        model = self._bound.unseen_task_model(state, tasks)
        predict(model, rows, np.arange(len(tasks)), 0, len(tasks), margins)
        return margins

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(self, state: State, run: Batch, y: NDArray[np.float64]) -> UpdateResult:
        """Predict and learn in the compiled loop, which knows how late labels are.

        However a stream is cut into runs, every bit is the same: a new task counts from its first record on.
        """
        n, m = len(run.tasks), len(y)
        moves, delay, done = no_moves(n), n - m, 0
        coming = coming_in(state, run.tasks[:delay])
        try:
            while done < m:
                done = learn(
                    state.model,
                    self.compiled_rule,
                    run.rows,
                    run.tasks,
                    y,
                    done,
                    m,
                    delay,
                    moves,
                    run.query_strategy,
                    coming,
                )
                if done < m:
                    self.make_room(state, int(run.tasks[done]), entries_of(run.rows, done))
        except BaseException:
            state.rounds += done  # whatever stopped it: these were learned, and a task that is known is counted
            count_all(state)
            raise
        state.rounds += m
        self._bound.warn_if_frozen(self.relation, state)
        return UpdateResult(Predictions(moves.margins).after(run.predictions), moves.own[:m], moves.step_sizes[:m])

    def make_room(self, state: State, i: int, entries: int) -> None:
        """Make room for a record of task i with so many entries, which compiled code found missing."""
        self._bound.make_room(state, i, entries)

    def skip(self, state: State, rounds: int) -> None:
        """End rounds that have no labels: clocks advance, nothing else changes."""
        skip_rounds(state.model, rounds)
        state.rounds += rounds

    def single(self, state: State) -> LinearFastPath:
        """Rounds of one record each, by calls that are prepared for the model."""
        made = LinearFastPath(self, state)
        if self.relation.form == "learned":
            made.warn = self.warn_if_frozen
        return made

    def warn_if_frozen(self, state: State) -> None:
        """Warn, once, that a learned relation has outgrown its limit and is kept as it was."""
        self._bound.warn_if_frozen(self.relation, state)

    def update_query_strategy(self, state: State, query_probability: Any) -> None:
        """Update what the chance of asking has stored of the learned relation."""
        renew(query_probability, state.model)

    # -- what was learned ---------------------------------------------------------------------------------------------

    def weights(self, state: State) -> NDArray[np.floating[Any]]:
        """The weights that predictions use, one row a task, dense."""
        return state.model.weights(state.known, state.features)  # type: ignore[no-any-return]

    def intercepts(self, state: State) -> NDArray[np.floating[Any]]:
        """The part of each task's margins that no record changes, shape (n_tasks,)."""
        return state.model.intercepts(state.known)  # type: ignore[no-any-return]

    def share(self, state: State) -> NDArray[np.float64]:
        """The part of each task's moves that is shared with others: 0 for independent tasks, 1 for one model of all."""
        return np.asarray(self._bound.share(self.relation, state))

    # -- files --------------------------------------------------------------------------------------------------------

    def _to_saved(self, state: State) -> Any:
        count_all(state)
        return state.model.to_saved(self._bound.extent(self.relation, state))

    def _restored(self, model: Any, tasks: Index) -> tuple[Any, Any]:
        kept, sharing = self._bound.restored(self.relation, model.sharing, tasks)
        return model.with_sharing(sharing), kept

    def _blank(self, tasks: Index, features: int, dense: bool) -> Sequence[Any]:
        return (self._blank_model(dense).to_saved(Extent(0, 0, 0, 1)),)

    def _blank_model(self, dense: bool) -> Any:
        """Return a model without tasks, of the same named tuples as every model under these parameters."""
        return self._bound.model(self.hypothesis, self._bound.blank(self.relation), 0, 0, 1, dense)


class LinearFastPath(FastPath):
    """Rounds of one record each, by calls prepared for the model as long as it is the same object.

    The learner has a ``compiled_rule``, and makes room where its model has none.
    """

    def __init__(self, learner: Any, state: Any) -> None:
        super().__init__(learner, state)
        self._calls = RecordCalls()

    def predict(self, rows: Csr, i: int) -> float:
        """The margin of a record, its values of the hypothesis's type, in some microseconds."""
        return self._calls.predict(self.state.model, rows, i)  # type: ignore[no-any-return]

    def learn(self, rows: Csr, i: int, y: float) -> None:
        """Learn a record, as the learner would, without returning its move."""
        while self._calls.learn(self.state.model, self.learner.compiled_rule, rows, i, y) == UNPROVIDED:
            self.learner.make_room(self.state, i, len(rows.values))
        self.state.rounds += 1
        if self.warn is not None:
            self.warn(self.state)

    def bound(self, records: PlainRecords) -> BoundCall | None:
        """The compiled calls for dictionaries, bound to this model; None until it has stayed the same for a while."""
        return self._calls.bound_call(self.state.model, self.learner.compiled_rule, records)

    def forget(self) -> None:
        """Release the model."""
        self._calls.forget()


class ConfidenceLearner(LinearLearner):
    """A learner of a hypothesis whose weights have variances, such as the diagonal AROW."""

    def __init__(self, hypothesis: Any, relation: Any, rule: Any) -> None:
        super().__init__(hypothesis, relation, rule)
        self.traits = replace(self.traits, has_variances=True)

    def variances(self, state: State, run: Batch) -> Margins:
        """Variances of the margins of records: O(nnz · levels) each."""

        def of_unseen(rows: Rows, tasks: Sequence[Hashable]) -> Margins:
            own = np.array([self.relation.own(len(self.relation.path(task))) for task in tasks])
            return _variances(self._bound.unseen_task_model(state, tasks), rows, np.arange(len(tasks))) + (
                own * rows.squares()
            )

        return known_and_unseen(run, lambda rows, codes: _variances(state.model, rows, codes), of_unseen)

    def prior_variances(self, state: State, run: Batch, first: int = 0) -> Margins:
        """Compute M_ii ‖x‖², the variances of margins a priori, by the features from column ``first`` on."""
        if first:
            run = run._replace(rows=rows_from_column(run.rows, first))
        of_known = lambda rows, codes: self._bound.diagonal(state, codes) * rows.squares()  # noqa: E731
        of_unseen = lambda rows, tasks: self._bound.unseen(state, tasks, NO_GROUPS)[1] * rows.squares()  # noqa: E731
        return known_and_unseen(run, of_known, of_unseen)


def _variances(model: Any, rows: Rows, codes: Codes) -> Margins:
    found = np.zeros(len(codes))
    margin_variances(model, rows, codes, found)
    return found


def no_moves(n: int) -> Moves:
    """Room for the outcome of n rounds."""
    return Moves(np.zeros(n), np.zeros(n), np.zeros(n))
