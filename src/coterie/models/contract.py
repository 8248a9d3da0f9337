"""The interface of learners: predict a batch of records, then learn their labels, possibly later.

Learners do not store predictions. With delayed labels the caller keeps the :class:`Predictions` and passes them in the
batch that learns the labels. Tasks are numbers in an index that only :class:`coterie.models.task_registry.TaskRegistry`
changes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, TypeAlias, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.checks import MOST_FEATURES, require
from coterie._compiled.core.records import split_unseen
from coterie._compiled.primal.calls import RecordCalls
from coterie._compiled.primal.query_decisions import QUERY_ALL, decide_all
from coterie._compiled.trees import MOST_COUNT, Arrays, group_by_prefix, join_numbered, strip_prefix
from coterie.tasks.index import Index
from coterie.types import AnyRows as AnyRows
from coterie.types import Array, Json, Tree
from coterie.types import Codes as Codes

Margins = NDArray[np.float64]

#: The state of a learner, of the class that its :meth:`BaseLearner.init` returns.
LearnerState: TypeAlias = Any

#: Numbers in the document of a model file.
Features = Annotated[int, msgspec.Meta(ge=0, le=MOST_FEATURES)]
RoundCount = Annotated[int, msgspec.Meta(ge=0, le=MOST_COUNT)]


class Predictions(NamedTuple):
    """Predictions of n records, including those of ensemble members, to compute their losses when labels arrive.

    Attributes
    ----------
    margins : ndarray, shape (n,) or (n, classes)
        The margins.
    experts : ndarray, shape (S, n), or None
        The margins that an ensemble combines.
    members : tuple of Predictions
        The predictions of the learners inside.
    """

    margins: Any
    experts: Any = None
    members: tuple[Predictions, ...] = ()

    def cut(self, first: int, last: int) -> Predictions:
        """Return the predictions of the records ``first`` to ``last - 1``."""
        experts = None if self.experts is None else self.experts[:, first:last]
        return Predictions(self.margins[first:last], experts, tuple(member.cut(first, last) for member in self.members))

    def replace_first(self, earlier: Predictions | None) -> Predictions:
        """Replace the predictions of the first records by their earlier predictions."""
        if earlier is None:
            return self
        return Predictions.concatenate([earlier, self.cut(len(earlier.margins), len(self.margins))])

    def split(self, members: int) -> Sequence[Predictions | None]:
        """Return the predictions of each of the ``members``, None if unknown.

        A new class gets those of the spare learner.
        """
        return [*self.members, *self.members[-1:] * (members - len(self.members))] or [None] * members

    def expand_to(self, like: Predictions) -> Predictions:
        """Pad the predictions with zeros to the numbers of classes, experts and members that ``like`` has."""
        n, classes = len(self.margins), zip(self.margins.shape[1:], like.margins.shape[1:], strict=True)
        margins = np.pad(self.margins, [(0, 0), *((0, more - fewer) for fewer, more in classes)])
        experts = self.experts
        if experts is None and like.experts is not None:
            experts = np.zeros((len(like.experts), n))
        pairs = zip(self.split(len(like.members)), like.members, strict=True)
        return Predictions(
            margins, experts, tuple((own or zero_predictions(other, n)).expand_to(other) for own, other in pairs)
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Predictions]) -> Predictions:
        """Concatenate predictions of consecutive records; the last part has the most classes."""
        if len(parts) == 1:
            return parts[0]
        margins, experts, members = zip(*(part.expand_to(parts[-1]) for part in parts), strict=True)
        joined = None if experts[-1] is None else np.concatenate(experts, axis=1)
        return cls(np.concatenate(margins), joined, tuple(map(cls.concatenate, zip(*members, strict=True))))


def zero_predictions(like: Predictions, n: int) -> Predictions:
    """Return zeros as predictions of n records, with the numbers of classes, experts and members that ``like`` has."""
    experts = None if like.experts is None else np.zeros((len(like.experts), n))
    members = tuple(zero_predictions(member, n) for member in like.members)
    return Predictions(np.zeros((n, *like.margins.shape[1:])), experts, members)


def without_nan(predictions: Predictions) -> Predictions:
    """Replace NaN in predictions by 0; a learner that has stopped predicts NaN."""
    return predictions._replace(margins=np.nan_to_num(predictions.margins))


class Batch(NamedTuple):
    """A batch of encoded records with the task number of each.

    Attributes
    ----------
    rows : Dense, Csr or other rows of compiled code
        The records, with their weights.
    tasks : ndarray of int64
        The number of each record's task; -1 for an unseen one, whose label is the next of ``unseen``. Records to learn
        have known tasks only.
    unseen : sequence of labels
        See ``tasks``.
    predictions : Predictions or None
        Predictions of the first records, made in an earlier batch; the others are predicted in this one.
    query_strategy : QueryAll or QueryStrategy
        Selects the labels to query; the others are not read.
    """

    rows: AnyRows
    tasks: Codes
    unseen: Sequence[Hashable] = ()
    predictions: Predictions | None = None
    query_strategy: Tree = QUERY_ALL

    @property
    def n_predicted(self) -> int:
        """The number of records that were already predicted in an earlier batch."""
        return 0 if self.predictions is None else len(self.predictions.margins)

    def cut(self, first: int, last: int) -> Batch:
        """Return the records ``first`` to ``last - 1`` as a batch."""
        part, strategy, unseen = slice(first, last), self.query_strategy, self.unseen
        predictions = (
            None if first >= self.n_predicted or self.predictions is None else self.predictions.cut(first, last)
        )
        if strategy is not QUERY_ALL:
            strategy = strategy._replace(owner=strategy.owner[part], answer=strategy.answer[part])
        if unseen:
            before = int((self.tasks[:first] < 0).sum())
            unseen = unseen[before : before + int((self.tasks[part] < 0).sum())]
        return Batch(self.rows.cut(first, last), self.tasks[part], unseen, predictions, strategy)


class UpdateResult(NamedTuple):
    """The result of learning a batch: predictions of all n records, and updates of the first m, which had labels.

    Attributes
    ----------
    predictions : Predictions
        The predictions of all n.
    own : ndarray, shape (m,) or (m, classes)
        The margins right before each label was learned.
    steps : ndarray, shape (m,)
        The length of each label's update.
    stored, evicted : ndarray, shape (m,), or None
        With support vectors: True for each record that became one, and the task that lost one, -1 for none.
    """

    predictions: Predictions
    own: Any
    steps: Any
    stored: NDArray[np.bool_] | None = None
    evicted: NDArray[np.int64] | None = None


class InputShape(NamedTuple):
    """The number of features of records, their storage (dense or sparse), and further properties.

    Attributes
    ----------
    features : int
        The number of features, of all views together if there are several.
    dense : bool
        True if records are dense arrays, so that storing every weight wastes nothing.
    names, widths : sequences
        The views of a record, if it has several, and the width of each.
    owner : ndarray of int64, or None
        The number of the task that each feature belongs to, if tasks have feature spaces of their own.
    constant : int
        The column of the constant, by whose entry z-scores are to be divided to undo the scaling to unit length; -1 if
        records have none, or are no z-scores.
    """

    features: int = 0
    dense: bool = False
    names: Sequence[Hashable] = ()
    widths: tuple[int, ...] = ()
    owner: Any = None
    constant: int = -1


@dataclass(frozen=True)
class Capabilities:
    """Capabilities and properties of a learner.

    Attributes
    ----------
    log_odds : float or None
        The factor from margins to log-odds; None if margins are not log-odds.
    weighs : bool
        Records may have weights, see :class:`coterie._compiled.core.records.WeightedDense`.
    asks : bool
        True if ``learn`` applies the query strategy of a batch; for other learners it is applied record by record.
    task_changes_all, feature_changes_all : bool
        A new task, or a wider record, changes the predictions of others, so it is registered right before its round.
    tasks_independent : bool
        Adding or dropping a task changes nothing for all others.
    named : sequence of labels
        The tasks that the relation names, which are known from the start.
    fixed : bool
        All tasks are known from the start and keep their numbers.
    cannot_drop, cannot_bound : str
        The reason why tasks cannot be dropped, or not while a stream goes on, in a sentence; empty if they can.
    has_tasks : bool
        False for records of several views, which have no tasks.
    has_variances, has_intervals : bool
        Margins have variances; labels have intervals.
    can_refuse : bool
        Learning may raise an error for a record, for example in a user's kernel or potential.
    by_round : bool
        Records are rows of a kernel matrix, whose columns are rounds, so that none may be left out.
    limits_features : bool
        ``refuse_rows`` raises an error for records with too many features.
    mixes : bool
        Members are combined by predictions that must have been made before the labels were known.
    counts_unseen : bool
        Predictions depend on features that no record had: their weights have variances, or ‖x‖² counts.
    beyond_features : str
        A description of the part of margins that is not a weighted sum of features; empty if there is none.
    """

    log_odds: float | None = None
    weighs: bool = False
    asks: bool = False
    task_changes_all: bool = False
    feature_changes_all: bool = False
    tasks_independent: bool = False
    named: Sequence[Hashable] = ()
    fixed: bool = False
    cannot_drop: str = ""
    cannot_bound: str = ""
    has_tasks: bool = True
    has_variances: bool = False
    has_intervals: bool = False
    can_refuse: bool = False
    by_round: bool = False
    limits_features: bool = False
    mixes: bool = False
    counts_unseen: bool = False
    beyond_features: str = ""


_UNLIKE = (
    "an ensemble cannot forget tasks if the relation of one member names all its tasks, as a graph does, and that of "
    "another does not"
)


def combine_traits(members: Sequence[Capabilities]) -> Capabilities:
    """Return the capabilities of an ensemble with these members."""
    of_any = ("task_changes_all", "feature_changes_all", "can_refuse", "by_round", "limits_features", "counts_unseen")
    flags = {name: any(getattr(member, name) for member in members) for name in of_any}
    flags |= {name: all(getattr(member, name) for member in members) for name in ("weighs", "tasks_independent")}
    alike = len({member.fixed for member in members}) == 1
    return Capabilities(
        log_odds=None if None in [member.log_odds for member in members] else 1.0,
        named=tuple(dict.fromkeys(task for member in members for task in member.named)),
        fixed=members[0].fixed,
        cannot_drop=next(filter(None, (member.cannot_drop for member in members)), "" if alike else _UNLIKE),
        cannot_bound=next(filter(None, (member.cannot_bound for member in members)), ""),
        mixes=True,
        beyond_features=" and ".join(dict.fromkeys(filter(None, (member.beyond_features for member in members)))),
        **flags,
    )


class BaseLearner(ABC):
    """Base class of learners. A learner has parameters only; its state is an argument of every method.

    Several states share one index of tasks. A state has room for the first tasks of the index, as many as in its last
    resize. Every state has ``features``, ``rounds`` and ``nbytes``.
    """

    traits: Capabilities

    # -- tasks and features

    @abstractmethod
    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> LearnerState:
        """Return the initial state for ``tasks`` and records of the shape ``size``.

        ``length`` is the number of rounds if known.
        """

    @abstractmethod
    def refuse(self, state: LearnerState, tasks: Sequence[Hashable]) -> None:
        """Raise ValueError, naming the first new task among ``tasks``, if the relation does not allow new tasks."""

    @abstractmethod
    def resize(self, state: LearnerState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state for ``tasks`` tasks and more features; on an error it is unchanged.

        Without ``counted``, M counts a new task only from its first record on.
        """

    @abstractmethod
    def drop(self, state: LearnerState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Remove ``tasks`` with their own weights; the tasks with the largest numbers take the free numbers.

        ``dropped`` is the plan of these changes of numbers.
        """

    # -- rounds

    @abstractmethod
    def predict(self, state: LearnerState, batch: Batch) -> Predictions:
        """Return the predictions of a batch without changing the state."""

    def decide(self, state: LearnerState, batch: Batch) -> Margins:
        """Return margins of the correct sign. Their sizes may be wrong if that is cheaper to compute."""
        return self.predict(state, batch).margins  # type: ignore[no-any-return]

    @abstractmethod
    def learn(self, state: LearnerState, batch: Batch, y: Any) -> UpdateResult:
        """Predict n records and learn m <= n labels: record s is learned after record s + n - m was predicted.

        Labels are thus delayed by n - m rounds. They are -1.0 and 1.0, numbers, or class indicators of shape (m,
        classes). The result does not depend, to the last bit, on how a stream is split into batches.
        """

    @abstractmethod
    def skip(self, state: LearnerState, rounds: int) -> None:
        """Count ``rounds`` rounds without labels; only clocks, such as that of a decay, change."""

    def predict_one(self, state: LearnerState, rows: AnyRows, i: int) -> Any:
        """Return the margin (or margins) of one record, the only one of ``rows``, of the known task number i."""
        return self.predict(state, Batch(rows, np.array([i]))).margins[0]

    def learn_one(self, state: LearnerState, rows: AnyRows, i: int, y: Any) -> None:
        """Learn one record, the only one of ``rows``, with label y, of the known task number i."""
        self.learn(state, Batch(rows, np.array([i])), np.asarray(y)[None])

    def fast_calls(self, state: LearnerState) -> RecordCalls | None:
        """Return compiled functions that predict and learn single records; None if the learner has none."""
        return None

    def refuse_rows(self, state: LearnerState, rows: AnyRows) -> None:
        """Raise ValueError if the learner cannot learn these records."""
        return

    def update_query_strategy(self, state: LearnerState, query_probability: Tree) -> None:
        """Update a query probability, if it depends on a learned relation."""
        return

    # -- learned parameters

    def weights(self, state: LearnerState) -> Any:
        """Return the weights as a dense array, shape (n_tasks, n_features)."""
        raise NotImplementedError

    def intercepts(self, state: LearnerState) -> Any:
        """Return the intercept of each task's margin; 0.0 if there is none."""
        return 0.0

    def relation_matrix(self, state: LearnerState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the relation matrix A⁻¹ in the paper's scaling, of all tasks or of the task numbers ``among``."""
        raise NotImplementedError

    def share(self, state: LearnerState) -> NDArray[np.float64]:
        """Return the shared fraction of each task's updates: 0 for independent tasks, 1 for one common model."""
        raise NotImplementedError

    def linear_part(self, state: LearnerState, batch: Batch, record: AnyRows | None = None) -> Margins:
        """Return the linear part of margins: weighted sums of the features, and a constant.

        If the sums have a factor that depends on the record, use the factor of the row ``record`` of the first task.
        """
        return np.zeros(len(batch.tasks)) if self.traits.beyond_features else self.predict(state, batch).margins

    def variances(self, state: LearnerState, batch: Batch) -> NDArray[np.float64]:
        """Return the variance of each record's margin; 0 for learners without variances."""
        return np.zeros(len(batch.tasks))

    def intervals(self, state: LearnerState, batch: Batch, level: float) -> tuple[Margins, NDArray[np.float64]]:
        """Return margins, and prediction intervals that contain labels with probability ``level``, shape (n, 2)."""
        raise AttributeError("this learner has no intervals")

    def has_left(self, state: LearnerState) -> bool:
        """Return True if the learner has stopped because records have too many features; it then predicts NaN."""
        return False

    def mixing_arrays(self, state: LearnerState) -> Iterable[Array]:
        """Return the arrays, such as expert losses, that must not be updated again in later passes."""
        return ()

    def models(self, state: LearnerState) -> int:
        """Return the number of binary models in a state: the number of classes, or 1."""
        return 1

    def walk(self, state: LearnerState) -> Iterator[tuple[BaseLearner, LearnerState]]:
        """Yield (learner, state) for this learner and, recursively, for the learners that it contains."""
        yield self, state

    # -- files

    @abstractmethod
    def dump(self, state: LearnerState) -> tuple[Json, Arrays]:
        """Return the state for a file, as JSON data and named arrays; task labels are saved elsewhere."""

    @abstractmethod
    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> LearnerState:
        """Restore a state from the result of :meth:`dump`; raise ValueError for inconsistent data."""


class MetaLearner(BaseLearner):
    """Base class of learners that contain others and forward every call to them; subclasses define :meth:`pairs`."""

    @abstractmethod
    def pairs(self, state: LearnerState) -> Iterable[tuple[BaseLearner, LearnerState]]:
        """Return the contained learners, each with its part of the state."""

    def walk(self, state: LearnerState) -> Iterator[tuple[BaseLearner, LearnerState]]:
        """Yield (learner, state) for this learner and, recursively, for the learners that it contains."""
        yield self, state
        for learner, inner in self.pairs(state):
            yield from learner.walk(inner)

    def refuse(self, state: LearnerState, tasks: Sequence[Hashable]) -> None:
        """Raise ValueError for new tasks that a contained learner does not allow."""
        for learner, inner in self.pairs(state):
            learner.refuse(inner, tasks)

    def refuse_rows(self, state: LearnerState, rows: AnyRows) -> None:
        """Raise ValueError for records that a contained learner cannot learn."""
        for learner, inner in self.pairs(state):
            learner.refuse_rows(inner, rows)

    def resize(self, state: LearnerState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the states of all contained learners."""
        for learner, inner in self.pairs(state):
            learner.resize(inner, tasks, size, counted)

    def drop(self, state: LearnerState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Remove tasks from all contained learners."""
        for learner, inner in self.pairs(state):
            learner.drop(inner, dropped, tasks)

    def skip(self, state: LearnerState, rounds: int) -> None:
        """Count rounds without labels in all contained learners."""
        for learner, inner in self.pairs(state):
            learner.skip(inner, rounds)

    def predict_members(self, state: LearnerState, batch: Batch) -> list[Predictions]:
        """Return the predictions of each contained learner."""
        pairs, known = list(self.pairs(state)), batch
        if self.traits.counts_unseen and not all(learner.traits.counts_unseen for learner, _ in pairs):
            known = batch._replace(rows=split_unseen(batch.rows, state.features)[0])
        return [learner.predict(inner, batch if learner.traits.counts_unseen else known) for learner, inner in pairs]

    def learn_members(self, state: LearnerState, batch: Batch, labels: Sequence[Any]) -> list[UpdateResult]:
        """Let each contained learner learn the batch with its own labels."""
        earlier = [None] * len(labels) if batch.predictions is None else batch.predictions.split(len(labels))
        return [
            learner.learn(inner, batch._replace(predictions=predictions), y)
            for (learner, inner), predictions, y in zip(self.pairs(state), earlier, labels, strict=True)
        ]


class SavedMembers(msgspec.Struct):
    """The saved data of an ensemble's members."""

    members: list[Json]
    features: Features
    rounds: RoundCount


@dataclass
class MembersState:
    """The states of several learners of the same records, and the index of their tasks."""

    members: list[Any]
    tasks: Index
    features: int
    known: int
    rounds: int = 0

    @property
    def nbytes(self) -> int:
        """The memory of the arrays in bytes."""
        return sum(int(member.nbytes) for member in self.members)


class MemberLearner(MetaLearner):
    """Base class of ensembles; the members, ``learners``, all learn the same records."""

    learners: list[Any]

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> LearnerState:
        """Return the initial state for these tasks and records of the shape ``size``."""
        members = [learner.init(tasks, size, length) for learner in self.learners]
        return MembersState(members, tasks, size.features, len(tasks))

    def pairs(self, state: LearnerState) -> Iterable[tuple[BaseLearner, LearnerState]]:
        """Return pairs of a member and its state."""
        return zip(self.learners, state.members, strict=True)

    def resize(self, state: LearnerState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state for ``tasks`` tasks and more features; on an error it is unchanged."""
        super().resize(state, tasks, size, counted)
        state.known, state.features = tasks, max(size.features, state.features)

    def drop(self, state: LearnerState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Remove ``tasks`` with their own weights."""
        super().drop(state, dropped, tasks)
        state.known = dropped.left

    def skip(self, state: LearnerState, rounds: int) -> None:
        """Count rounds without labels in all members."""
        super().skip(state, rounds)
        state.rounds += rounds

    def learn_one_in_members(self, state: LearnerState, rows: AnyRows, i: int, y: float) -> None:
        """Learn one record of the known task number i in each member."""
        for learner, inner in self.pairs(state):
            learner.learn_one(inner, rows, i, y)
        state.rounds += 1

    def dump(self, state: LearnerState) -> tuple[Json, Arrays]:
        """Return the state for a file, as JSON data and named arrays; task labels are saved elsewhere."""
        data, arrays = zip(*(learner.dump(inner) for learner, inner in self.pairs(state)), strict=True)
        saved = {"members": list(data), "features": state.features, "rounds": state.rounds}
        return saved, join_numbered("members", arrays)

    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> LearnerState:
        """Restore the members from the result of :meth:`dump`; raise ValueError for inconsistent data."""
        saved = msgspec.convert(data, SavedMembers)
        n, expected = len(saved.members), len(self.learners)
        require(n == expected, f"the file has {n} members, but the parameters have {expected}")
        own = group_by_prefix(strip_prefix(arrays, "members."))
        members = [
            learner.restore(member, own.get(str(number), {}), tasks)
            for number, (learner, member) in enumerate(zip(self.learners, saved.members, strict=True))
        ]
        require(
            all(member.features == saved.features for member in members),
            "the members have different numbers of features",
        )
        return MembersState(members, tasks, saved.features, len(tasks), saved.rounds)


def score_known_and_unseen(
    batch: Batch, score: Callable[[Any, Codes], Margins], score_unseen: Callable[[Any, Sequence[Hashable]], Margins]
) -> Margins:
    """Return one number per record, from ``score`` for known tasks and from ``score_unseen`` for new ones.

    New tasks have the number -1 in the batch.
    """
    if not batch.unseen:
        return score(batch.rows, batch.tasks)
    if len(batch.unseen) == len(batch.tasks):
        return score_unseen(batch.rows, batch.unseen)
    margins, known, new = np.zeros(len(batch.tasks)), np.flatnonzero(batch.tasks >= 0), np.flatnonzero(batch.tasks < 0)
    margins[known] = score(batch.rows.take(known), batch.tasks[known])
    margins[new] = score_unseen(batch.rows.take(new), batch.unseen)
    return margins


def learn_in_pieces(
    batch: Batch, y: Any, ends: Sequence[int], learn: Callable[[Batch, Any], UpdateResult]
) -> UpdateResult:
    """Learn a batch in pieces that end at the label indices ``ends``; predictions are passed on to the next piece."""
    if len(ends) == 1:
        return learn(batch, y)
    delay, first, waiting, updates = len(batch.tasks) - len(y), 0, None, []
    for end in ends:
        piece = batch.cut(first, end + delay)
        if waiting is not None and piece.n_predicted < delay:
            piece = piece._replace(predictions=waiting)
        update = learn(piece, y[first:end])
        waiting = update.predictions.cut(end - first, end - first + delay) if delay else None
        updates.append(update)
        first = end
    return concatenate_updates(updates)


def concatenate_updates(updates: Sequence[UpdateResult]) -> UpdateResult:
    """Concatenate the results of learning a batch in pieces.

    Records without a label at a piece's end begin the next piece.
    """
    last, predictions = updates[-1], [update.predictions.cut(0, len(update.steps)) for update in updates[:-1]]
    own = Predictions.concatenate([Predictions(update.own) for update in updates]).margins
    stored = evicted = None
    if last.stored is not None:
        stored = np.concatenate([cast(Any, update.stored) for update in updates])
        evicted = np.concatenate([cast(Any, update.evicted) for update in updates])
    steps = np.concatenate([update.steps for update in updates])
    return UpdateResult(Predictions.concatenate([*predictions, last.predictions]), own, steps, stored, evicted)


def learn_one_by_one(learner: BaseLearner, state: LearnerState, batch: Batch, y: Any) -> UpdateResult:
    """Predict, query and learn record by record, for learners that do not apply query strategies themselves."""
    n, m, earlier, strategy = len(batch.tasks), len(y), batch.predictions, batch.query_strategy
    plain = batch._replace(query_strategy=QUERY_ALL, predictions=None)
    predictions = [None if earlier is None else earlier.cut(t, t + 1) for t in range(max(n - m, batch.n_predicted))]
    own, steps, stored, evicted = np.zeros(m), np.zeros(m), np.zeros(m, bool), np.full(m, -1, np.int64)
    has_support = learner.learn(state, plain.cut(0, 0), y[:0]).stored is not None
    for s in range(m):
        t = s + n - m
        if t >= len(predictions):
            predictions.append(learner.predict(state, plain.cut(t, t + 1)))
            learner.update_query_strategy(state, strategy.query_probability)
            margins = np.zeros(n)
            margins[t] = predictions[t].margins[0]  # type: ignore[union-attr]
            decide_all(strategy, batch.tasks, margins, t, t + 1)
        if strategy.answer[s] > 0:
            update = learner.learn(state, plain.cut(s, s + 1)._replace(predictions=predictions[s]), y[s : s + 1])
            own[s], steps[s] = update.own[0], update.steps[0]
            if update.stored is not None and update.evicted is not None:
                stored[s], evicted[s] = update.stored[0], update.evicted[0]
        else:
            learner.skip(state, 1)
    known = [prediction for prediction in predictions if prediction is not None]
    like = known[-1] if known else Predictions(np.zeros(n))
    whole = [prediction or zero_predictions(like, 1) for prediction in predictions]
    support = (stored, evicted) if has_support else (None, None)
    return UpdateResult(Predictions.concatenate(whole or [like]), own, steps, *support)


def count_entries(rows: AnyRows, t: int) -> int:
    """Return the number of stored entries of record t."""
    return int(rows.starts[t + 1] - rows.starts[t]) if hasattr(rows, "starts") else int(rows.values.shape[1])
