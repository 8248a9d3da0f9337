"""The round: a learner joins a hypothesis, a relation and a rule, none of which knows the others.

m   = score(state, z)              the margin, by which an asker may do without the label
tau = rule(m, y, ...)              how far to move; 0.0 means that nothing changes
state <- add(state, z, tau, M)     spread the move over the tasks through M
M <- adapt(M, gram)                only where the relation is learned
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from . import spec
from .bindings import FORMS
from .index import Index
from .numeric.core.arrays import Dropped
from .numeric.core.checks import MOST_FEATURES, require
from .numeric.core.records import Csr, take
from .numeric.primal.asking import EVERY, renew, skip_rounds
from .numeric.primal.averaged import AveragedModel
from .numeric.primal.calls import BoundCall, PlainRecords, RecordCalls
from .numeric.primal.grouped import NO_ARRIVALS, Arrivals, count_arrivals
from .numeric.primal.round import Extent
from .numeric.primal.stream import UNPROVIDED, Moves, learn, predict
from .numeric.simultaneous import learn_at_once
from .numeric.trees import MOST_COUNT, Arrays, flatten, rebuild, require_held
from .numeric.views.tasks import Gathered
from .numeric.weights.sections import HASHED
from .state import State, holds

Margins = NDArray[np.float64]

#: Numbers in the document of a model file.
Features = Annotated[int, msgspec.Meta(ge=0, le=MOST_FEATURES)]
RoundCount = Annotated[int, msgspec.Meta(ge=0, le=MOST_COUNT)]


class _Saved(msgspec.Struct):
    """The data that :meth:`Round.dump` returns beside the arrays."""

    shape: dict[str, Any]
    features: Features
    dense: bool
    rounds: RoundCount


class Noted(NamedTuple):
    """Events of a run of rounds other than moves of weights: changes of support vectors, lengths of views' weights.

    Of support vectors ``stored`` says which records became one, ``evicted`` which task lost one, -1 for none. Of the
    views called ``names``, ``lengths[i]`` are those of their weights once ``ends[i]`` of the records were learned.
    """

    stored: NDArray[np.bool_] | None = None
    evicted: NDArray[np.int64] | None = None
    names: tuple[Hashable, ...] = ()
    ends: Any = None
    lengths: Any = None


_MEAN_READ = (
    "a model with {!r} cannot {} while its weights are averaged: the means of other tasks have its moves in them; take "
    "average=False"
)
_HASHED = (
    "a model with storage='hashed' cannot {}: the weights of all tasks share their places, so that nobody can tell "
    "whose they are; take storage='sparse'"
)


T = TypeVar("T")


def in_turn(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """Call functions one after the other, and return their results."""
    return [job() for job in jobs]


def nothing() -> None:
    """Do nothing."""


class StreamLearner(Protocol):
    """Everything that learns records in turn: :class:`Learner`, those in other geometries, mixtures, reductions.

    A learner holds hyperparameters only; what it learns is a state that it is handed. Records enter as rows of compiled
    code, tasks by their numbers in the state. Margins are learners' own: labels are -1 and +1, or memberships of
    classes of shape (n, classes), margins then being of that shape too.

    Attributes
    ----------
    log_odds : float or None
        The factor that makes log-odds of margins; None where they are no such thing.
    has_tasks : bool
        False for records that have no tasks.
    has_variances : bool
        True where :meth:`variances` has the variance of each margin.
    has_intervals : bool
        True where :meth:`intervals` has an interval for each label.
    weighs : bool
        True where records may have weights, see :class:`coterie.numeric.core.records.WeightedDense`.
    counts_features : bool
        True where the number of features is part of what is computed, so that records that come with more are met one
        by one.
    gather : callable
        Calls functions of members that do not depend on each other: in turn, or several at a time.
    """

    log_odds: float | None = None
    gather: Callable[[Sequence[Callable[[], Any]]], list[Any]] = staticmethod(in_turn)
    has_tasks: ClassVar[bool] = True
    has_variances: bool = False
    has_intervals: bool = False

    @property
    def weighs(self) -> bool:
        """True where records may have weights."""
        return False

    @property
    def counts_features(self) -> bool:
        """True where computations depend on the number of features."""
        return False

    @abstractmethod
    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> Any:
        """The state before the first round; see :meth:`Learner.init`."""

    @abstractmethod
    def fit_tasks(self, state: Any, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks, given by their labels, and for so many features; all or nothing."""

    @abstractmethod
    def check_tasks(self, state: Any, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that the relation does not know: ValueError naming the first."""

    @property
    def names_tasks(self) -> bool:
        """True if the relation names all its tasks, so that they are always known and keep their numbers."""
        return False

    @abstractmethod
    def check_dropping(self, state: Any) -> None:
        """Refuse if tasks cannot be dropped: ValueError."""

    def check_bounded(self) -> None:
        """Refuse ``max_tasks``, a limit on the tasks known at a time: ValueError, unless the learner can drop tasks."""
        raise ValueError("max_tasks cannot be given with this learner: it cannot drop tasks as a stream goes on")

    def check_many(self) -> None:
        """Refuse to be copied for each of many classes: ValueError."""
        return

    def hold_room(self, state: Any) -> Callable[[], None]:
        """A function that gives up the room made since for features of records that are refused then.

        Room that is left over does no harm, except where functions of users are given it.
        """
        return nothing

    #: True where members are mixed by predictions of theirs, which must have been made before the labels were known.
    mixes: bool = False

    def check_passes(self) -> None:
        """Refuse to learn records more than once: ValueError."""
        return

    def hold_mixing(self, state: Any) -> Callable[[], None]:
        """A function that makes what mixes members in this state what it is now, whatever they learn meanwhile."""
        return nothing

    @property
    def comes_unnoticed(self) -> bool:
        """True if adding or dropping a task changes nothing for all others."""
        return False

    @abstractmethod
    def drop_tasks(self, state: Any, dropped: Dropped) -> None:
        """Drop tasks and their own weights; the last tasks take their numbers. Call :meth:`check_dropping` before."""

    @abstractmethod
    def update_many(
        self,
        state: Any,
        rows: Any,
        codes: NDArray[np.int64],
        y: NDArray[Any],
        last: int | None = None,
        asker: Any = EVERY,
        new: Sequence[Hashable] = (),
    ) -> Any:
        """Predict and learn records one after the other; see :meth:`Learner.update_many`."""

    @abstractmethod
    def update_one(self, state: Any, rows: Any, i: int, y: Any) -> None:
        """Learn one record of the known task i."""

    @abstractmethod
    def score_any(self, state: Any, rows: Any, codes: NDArray[np.int64], unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of the tasks ``codes``; -1 is a new task, whose label is the next of ``unseen``."""

    #: The part of a margin that is no weighted sum of features, in a few words for people; empty if there is none.
    beyond_features: str = ""

    def linear_part(self, state: Any, rows: Any, codes: NDArray[np.int64], unseen: Sequence[Hashable]) -> Margins:
        """The part of :meth:`score_any` that is a weighted sum of a record's features, and a constant."""
        return np.zeros(len(codes)) if self.beyond_features else self.score_any(state, rows, codes, unseen)

    @abstractmethod
    def score_one(self, state: Any, rows: Any, i: int) -> Any:
        """Margin of one record of the known task i."""

    @abstractmethod
    def skip_unlabelled(self, state: Any, rounds: int = 1) -> None:
        """End rounds that have no labels: clocks advance, nothing else changes."""

    @abstractmethod
    def weights(self, state: Any) -> Any:
        """The weights that predictions use, one row a task, dense."""

    def intercepts(self, state: Any) -> Any:
        """The part of each task's margins that no record changes, beside the weights; 0.0 where there is none."""
        return 0.0

    @abstractmethod
    def relation_matrix(self, state: Any, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """A⁻¹ on the paper's scale for the tasks known, or for those ``among`` them with these numbers."""

    @abstractmethod
    def share(self, state: Any) -> NDArray[np.float64]:
        """The part of each task's moves that is shared with others: 0 for independent tasks, 1 for one model of all."""

    @abstractmethod
    def dump(self, state: Any) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""

    @abstractmethod
    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> Any:
        """Undo :meth:`dump`."""

    def beside(self) -> Self:
        """The same learner for another state, with prepared calls for single records of its own."""
        return self

    def models(self, state: Any) -> int:
        """The number of two-class models in a state: one a class for learners of many classes, else 1."""
        return 1

    def adopt(self, state: Any) -> None:
        """Take over a state that was learned under other parameters: ValueError if that cannot be."""
        return

    def inform(self, state: Any, chance: Any) -> None:
        """Update what the chance of asking has stored of a learned relation."""
        return

    def variances(
        self, state: Any, rows: Any, codes: NDArray[np.int64], unseen: Sequence[Hashable]
    ) -> NDArray[np.float64]:
        """The variance of each record's margin, by what was learned; 0 where :attr:`has_variances` is False."""
        return np.zeros(len(codes))

    def intervals(
        self, state: Any, rows: Any, codes: NDArray[np.int64], unseen: Sequence[Hashable], level: float
    ) -> tuple[Margins, NDArray[np.float64]]:
        """Margins as :meth:`score_any`, and intervals of the labels, shape (n, 2), where :attr:`has_intervals`."""
        raise AttributeError("there are no intervals")

    def noted(self, state: Any, moves: Any) -> Noted:
        """Events of a run of rounds other than moves of weights: changes of support vectors, lengths of views."""
        return Noted()

    def bound_call(self, state: Any, records: PlainRecords) -> BoundCall | None:
        """The compiled calls for dictionaries, bound to this model; None until binding them pays."""
        return None

    def check_at_once(self) -> None:
        """Refuse to let several tasks learn a record at once: TypeError, unless the learner can."""
        raise TypeError(f"all tasks cannot learn a record at once by a {type(self).__name__}")

    def update_at_once(self, state: Any, rows: Any, codes: NDArray[np.int64], y: Margins) -> tuple[Margins, Margins]:
        """Let the tasks with these codes predict each record, and then learn their labels; see :class:`Learner`."""
        self.check_at_once()
        raise NotImplementedError


class Round(StreamLearner, ABC):
    """Base of the learners with one model and one relation bound to it."""

    relation: Any
    _bound: Any

    @abstractmethod
    def score(self, state: State, rows: Any, codes: NDArray[np.int64]) -> Margins:
        """Margins of records of known tasks; nothing is written."""

    @abstractmethod
    def score_unseen(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> Margins:
        """Margins of records of tasks that nobody has seen: those that the relation derives from known tasks."""

    def score_any(self, state: State, rows: Any, codes: NDArray[np.int64], unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of the tasks ``codes``; -1 is a new task, whose label is the next of ``unseen``."""
        return known_and_unseen(state, rows, codes, unseen, self.score, self.score_unseen)

    def check_tasks(self, state: State, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that the relation does not know: ValueError naming the first."""
        self._bound.check(self.relation, state, state.tasks.new_among(tasks))

    @property
    def names_tasks(self) -> bool:
        """True if the relation names all its tasks, so that they are always known and keep their numbers."""
        return bool(self.relation.form == "columns")

    def check_dropping(self, state: State) -> None:
        """Refuse to drop tasks whose part of the weights cannot be separated from that of other tasks."""
        if holds(state.model, HASHED):
            raise ValueError(_HASHED.format("forget a task"))

    def relation_matrix(self, state: State, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """A⁻¹ on the paper's scale for the tasks known, or for those ``among`` them with these numbers."""
        return np.asarray(self._bound.relation_matrix(self.relation, state, among))

    def dump(self, state: State) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        shape, arrays = flatten(require_held(self._to_saved(state)))
        return {"shape": shape, "features": state.features, "dense": state.dense, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> State:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held, index = msgspec.convert(data, _Saved), Index(tasks)
        require(len(index) == len(tasks), "a task is there twice")
        model = rebuild(held.shape, arrays, *self._blank(index, held.features, held.dense))
        model, sharing = self._from_saved(model, index.labels)
        state = State(model, index, sharing, held.features, held.dense, held.rounds)
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

    def _from_saved(self, model: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        """The whole model restored from a saved one, and what the state keeps of the relation for these tasks."""
        return model, None


class Learner(Round):
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
        _require(hypothesis, move in hypothesis.moves, f"move by {rule!r}", "a rule", hypothesis.moves)
        self.hypothesis, self.relation, self.rule = hypothesis, relation, rule
        self.log_odds = rule.log_odds
        self._rule = rule.compiled()
        self._bound = FORMS[form]
        self._one = RecordCalls()

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> State:
        """The state before the first round.

        Parameters
        ----------
        tasks : sequence of labels
            Tasks known from the start; those that the relation itself names are added.
        features : int
            Width of the records expected.
        dense : bool
            Whether records come as dense arrays, so that storing every weight wastes nothing.
        length : int, optional
            How many rounds there will be, if that is known.
        """
        state: State = self._bound.start(self, tasks, features, dense, length)
        return state

    @property
    def weighs(self) -> bool:
        """True: a weight is a factor of the step, or divides the label's variance."""
        return True

    @property
    def counts_features(self) -> bool:
        """True of a relation that is learned from features as observations."""
        return self.relation.form == "learned" and bool(self.relation.needs_features)

    def share(self, state: State) -> NDArray[np.float64]:
        """The part of each task's moves that is shared with others: 0 for independent tasks, 1 for one model of all."""
        return np.asarray(self._bound.share(self.relation, state))

    def fit_tasks(self, state: State, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks, given by their labels, and for so many features; all or nothing."""
        new = state.tasks.new_among(tasks)
        if new or features > state.features:
            self._bound.extend(self, state, new, max(features, state.features))

    def drop_tasks(self, state: State, dropped: Dropped) -> None:
        """Drop tasks and their own weights; the last tasks take their numbers: O(what they hold).

        Groups keep what they have learned; one whose last task leaves is dropped, too.
        """
        self._one.forget()
        self._bound.drop_tasks(self, state, dropped)

    def check_dropping(self, state: State) -> None:
        """Refuse to drop tasks whose part of the weights cannot be separated from that of other tasks."""
        super().check_dropping(state)
        self._check_mean(state.model, "forget a task")

    def _check_mean(self, model: Any, what: str) -> None:
        if holds(model, (AveragedModel,)) and holds(model, (Gathered,)):
            raise ValueError(_MEAN_READ.format(self.relation, what))

    def check_bounded(self) -> None:
        """Refuse ``max_tasks`` under a relation that names all its tasks, or with hashed weights: ValueError."""
        self._check_mean(self._bound.blank(self, False), "have max_tasks")
        if self.names_tasks:
            raise ValueError(f"max_tasks cannot be given with {self.relation!r}, which names all its tasks")
        if self.hypothesis.tables.storage == "hashed":
            raise ValueError(_HASHED.format("have max_tasks"))

    @property
    def comes_unnoticed(self) -> bool:
        """True if all tasks are in the same groups, whose weight does not depend on how many they are."""
        relation = self.relation
        return bool(relation.form in ("levels", "intercepts") and relation.alike and not relation.counts_tasks)

    def _to_saved(self, state: State) -> Any:
        return state.model.to_saved(self._bound.extent(self.relation, state))

    def _from_saved(self, model: Any, tasks: Sequence[Hashable]) -> tuple[Any, Any]:
        made: tuple[Any, Any] = self._bound.from_saved(self, model, tasks)
        return made

    def _blank(self, tasks: Index, features: int, dense: bool) -> Sequence[Any]:
        return (self._bound.blank(self, dense).to_saved(Extent(0, 0, 0, 1)),)

    def score(self, state: State, rows: Any, codes: NDArray[np.int64]) -> Margins:
        """Margins of records of known tasks: O(nnz · levels) each; nothing is written."""
        margins = np.zeros(len(codes))
        predict(state.model, rows, codes, 0, len(codes), margins)
        return margins

    def weights(self, state: State) -> NDArray[np.floating[Any]]:
        """The weights that predictions use, one row a task, dense."""
        return state.model.weights(len(state.tasks), state.features)  # type: ignore[no-any-return]

    def intercepts(self, state: State) -> NDArray[np.floating[Any]]:
        """The part of each task's margins that no record changes, shape (n_tasks,)."""
        return state.model.intercepts(len(state.tasks))  # type: ignore[no-any-return]

    def score_unseen(self, state: State, rows: Any, tasks: Sequence[Hashable]) -> Margins:
        """Margins of records of tasks that nobody has seen: those that the relation derives from known tasks."""
        margins = np.zeros(len(tasks))
        model = self._bound.unseen_task_model(state, tasks)
        predict(model, rows, np.arange(len(tasks)), 0, len(tasks), margins)
        return margins

    def update_many(
        self,
        state: State,
        rows: Any,
        codes: NDArray[np.int64],
        y: NDArray[np.float64],
        last: int | None = None,
        asker: Any = EVERY,
        new: Sequence[Hashable] = (),
    ) -> Moves:
        """Predict and learn records one after the other, the last ones only predicted if their labels come late.

        However a stream is cut into calls, every bit is the same: a ``new`` task counts from its first record on.

        Parameters
        ----------
        state : State
            Changed in place.
        rows : Dense or Csr
            The records.
        codes : ndarray of int64
            Their tasks' numbers.
        y : ndarray of float64
            Their labels, -1.0 or +1.0.
        last : int, optional
            How many of the records have their labels by the end; the others come ``len(codes) - last`` rounds late.
        asker : Every or Asker
            Which labels to ask for, see :mod:`coterie.numeric.primal.asking`; the others are not looked at.
        new : sequence of labels
            The tasks that were not known, in the order of their first records. Their numbers follow those known.
        """
        self._one.forget()
        moves = no_moves(len(codes))
        last = len(codes) if last is None else last
        delay = len(codes) - last
        known, done, coming = len(state.tasks), 0, NO_ARRIVALS
        counted = new or self.counts_features
        for stop, tasks, width in self._bound.stops(self.relation, state, rows, codes, delay) if counted else ():
            self._learn(state, rows, codes, y, (done, stop, delay), moves, asker, coming)
            some = new[len(state.tasks) - known : tasks - known]
            coming, done = self._bound.meet(self, state, some, width), stop
        if coming is not NO_ARRIVALS:  # those whose labels are late were there before the first round
            count_arrivals(coming, codes[:delay].max(initial=-1), 0)
        try:
            self._learn(state, rows, codes, y, (done, last, delay), moves, asker, coming)
        finally:
            if coming is not NO_ARRIVALS:  # whatever stopped it: a task that is known is counted
                count_arrivals(coming, len(state.tasks) - 1, last)
        state.rounds += last
        self._bound.warn_if_frozen(self.relation, state)
        return moves

    def _learn(
        self,
        state: State,
        rows: Any,
        codes: NDArray[np.int64],
        y: NDArray[np.float64],
        span: tuple[int, int, int],
        moves: Moves,
        asker: Any,
        coming: Arrivals,
    ) -> None:
        """Learn the records of a span, from the first to the last (not included), with labels ``delay`` rounds late."""
        done, last, delay = span
        while done < last:
            done = learn(state.model, self._rule, rows, codes, y, done, last, delay, moves, asker, coming)
            if done < last:
                self._bound.ensure_capacity(state, int(codes[done]), entries_of(rows, done))

    def check_at_once(self) -> None:
        """Refuse a relation that is learned, and weights that are averaged or fade: TypeError.

        What a record moves has to add up, whichever task moves first.
        """
        if self.relation.form == "learned":
            raise TypeError(f"all tasks cannot learn a record at once under {self.relation!r}, which each move changes")
        if not getattr(self.hypothesis, "at_once", False):
            raise TypeError(f"all tasks cannot learn a record at once with {self.hypothesis!r}: take plain weights")

    def update_at_once(self, state: State, rows: Any, codes: NDArray[np.int64], y: Margins) -> tuple[Margins, Margins]:
        """Let the tasks with these codes predict each record, and then learn their labels by these predictions.

        W <- W + M (tau * y) x', for the vector of steps tau of all tasks at the margins W x. ``y`` has shape (n, K),
        NaN where a task has no label. Gives the margins and the steps, in that shape.
        """
        self._one.forget()
        margins, taus, done = np.zeros(y.shape), np.zeros(y.shape), 0
        while done < y.size:
            done = learn_at_once(state.model, self._rule, rows, codes, y, done, y.size, margins, taus)
            if done < y.size:
                s, k = divmod(done, len(codes))
                self._bound.ensure_capacity(state, int(codes[k]), entries_of(rows, s))
        state.rounds += int(np.count_nonzero(~np.isnan(y)))
        return margins, taus

    def skip_unlabelled(self, state: State, rounds: int = 1) -> None:
        """End rounds that have no labels: clocks advance, nothing else changes."""
        skip_rounds(state.model, rounds)
        state.rounds += rounds

    def inform(self, state: State, chance: Any) -> None:
        """Update what the chance of asking has stored of the learned relation."""
        renew(chance, state.model)

    def score_one(self, state: State, rows: Csr, i: int) -> float:
        """Margin of one record of the known task i, its values of the hypothesis's type, in some microseconds."""
        return self._one.predict(state.model, rows, i)  # type: ignore[no-any-return]

    def update_one(self, state: State, rows: Csr, i: int, y: float) -> None:
        """Learn one record, as :meth:`update_many` would, without returning its moves."""
        while self._one.learn(state.model, self._rule, rows, i, y) == UNPROVIDED:
            self._bound.ensure_capacity(state, i, len(rows.values))
        self._end_round(state)

    def beside(self) -> Self:
        """The same learner for another state."""
        made = copy.copy(self)
        made._one = RecordCalls()
        return made

    def bound_call(self, state: State, records: PlainRecords) -> BoundCall | None:
        """The compiled calls for dictionaries, bound to this model; None until it has stayed the same for a while."""
        return self._one.bound_call(state.model, self._rule, records)

    def _end_round(self, state: State) -> None:
        state.rounds += 1
        self._bound.warn_if_frozen(self.relation, state)

    @property
    def warn_if_frozen(self) -> Callable[[Any, State], None]:
        """The function to call with the relation and the state after a record was learned by the fast lane."""
        return self._bound.warn_if_frozen  # type: ignore[no-any-return]


def form_for(hypothesis: Any, relation: Any) -> str:
    """The form by which a hypothesis learns under a relation; TypeError naming both if there is none."""
    spec.require_part("relation", relation, "HalfUpdate()")
    form = getattr(relation, "form", None)
    _require(hypothesis, form in hypothesis.forms, f"learn under {relation!r}", "a relation", hypothesis.forms)
    return str(form)


def known_and_unseen(
    state: Any,
    rows: Any,
    codes: NDArray[np.int64],
    unseen: Sequence[Hashable],
    of_known: Callable[..., Margins],
    of_unseen: Callable[..., Margins],
) -> Margins:
    """One number a record: by ``of_known`` for known tasks, by ``of_unseen`` for the new ones, whose code is -1."""
    if not unseen:
        return of_known(state, rows, codes)
    if len(unseen) == len(codes):
        return of_unseen(state, rows, unseen)
    made, known, new = np.zeros(len(codes)), np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
    made[known] = of_known(state, take(rows, known), codes[known])
    made[new] = of_unseen(state, take(rows, new), unseen)
    return made


def _require(hypothesis: Any, fits: bool, what: str, part: str, kinds: Sequence[str]) -> None:
    if not fits:
        raise TypeError(f"{type(hypothesis).__name__} cannot {what}: it needs {part} by {' or '.join(kinds)}")


def no_moves(n: int) -> Moves:
    """Room for the outcome of n rounds."""
    return Moves(np.zeros(n), np.zeros(n), np.zeros(n))


def entries_of(rows: Any, t: int) -> int:
    """The number of entries of a record."""
    return int(rows.starts[t + 1] - rows.starts[t]) if hasattr(rows, "starts") else int(rows.values.shape[1])
