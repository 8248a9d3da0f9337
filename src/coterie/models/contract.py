"""The interface of learners: predict a batch of records, then learn their labels with the earlier predictions.

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
    """Predictions of n records, with the members' predictions from which their losses are computed later.

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
        """Return the predictions of the records ``first`` to ``last`` (excluded)."""
        experts = None if self.experts is None else self.experts[:, first:last]
        return Predictions(self.margins[first:last], experts, tuple(member.cut(first, last) for member in self.members))

    def replace_first(self, earlier: Predictions | None) -> Predictions:
        """Replace the first predictions by earlier ones of the same records."""
        if earlier is None:
            return self
        return Predictions.concatenate([earlier, self.cut(len(earlier.margins), len(self.margins))])

    def split(self, members: int) -> Sequence[Predictions | None]:
        """Return the predictions of each inner learner, None if unknown; new classes get the spare learner's."""
        return [*self.members, *self.members[-1:] * (members - len(self.members))] or [None] * members

    def expand_to(self, like: Predictions) -> Predictions:
        """Extend these predictions with zeros to the classes, experts and members of ``like``."""
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
        """Concatenate predictions; if classes were added in between, the last part has the most."""
        if len(parts) == 1:
            return parts[0]
        margins, experts, members = zip(*(part.expand_to(parts[-1]) for part in parts), strict=True)
        joined = None if experts[-1] is None else np.concatenate(experts, axis=1)
        return cls(np.concatenate(margins), joined, tuple(map(cls.concatenate, zip(*members, strict=True))))


def zero_predictions(like: Predictions, n: int) -> Predictions:
    """Return zeros as the predictions of n records, with the shapes of ``like``."""
    experts = None if like.experts is None else np.zeros((len(like.experts), n))
    members = tuple(zero_predictions(member, n) for member in like.members)
    return Predictions(np.zeros((n, *like.margins.shape[1:])), experts, members)


def without_nan(predictions: Predictions) -> Predictions:
    """Replace NaN, the prediction of a learner that has stopped, by 0."""
    return predictions._replace(margins=np.nan_to_num(predictions.margins))


class Batch(NamedTuple):
    """Encoded records with the number of each record's task.

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
        """The number of records predicted in an earlier batch."""
        return 0 if self.predictions is None else len(self.predictions.margins)

    def cut(self, first: int, last: int) -> Batch:
        """Return the records ``first`` to ``last`` (excluded)."""
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
    """The result of a batch of n records, the first m of which were learned.

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
    """The number of features of records, and their storage: dense or sparse.

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
    limits_features: bool = False
    mixes: bool = False
    counts_unseen: bool = False
    beyond_features: str = ""


_UNLIKE = (
    "an ensemble cannot forget tasks if the relation of one member names all its tasks, as a graph does, and that of "
    "another does not"
)


def combine_traits(members: Sequence[Capabilities]) -> Capabilities:
    """Return the capabilities of an ensemble of these members."""
    of_any = ("task_changes_all", "feature_changes_all", "can_refuse", "limits_features", "counts_unseen")
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
    """Base of learners; a learner has parameters only, and its state is an argument of every method.

    Several states share one index of tasks. A state has room for the first tasks of the index, as many as in its last
    resize. Every state has ``features``, ``rounds`` and ``nbytes``.
    """

    traits: Capabilities

    # -- tasks and features

    @abstractmethod
    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> LearnerState:
        """Return the state before the first round; ``length`` is the total number of rounds, if known."""

    @abstractmethod
    def refuse(self, state: LearnerState, tasks: Sequence[Hashable]) -> None:
        """Raise ValueError, naming the first, if the relation does not allow new tasks."""

    @abstractmethod
    def resize(self, state: LearnerState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state to the first ``tasks`` tasks of the index and to this width; unchanged on an error.

        Without ``counted``, M counts a new task only from its first record on.
        """

    @abstractmethod
    def drop(self, state: LearnerState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop tasks by their labels, with their own weights; the last tasks take their numbers."""

    # -- rounds

    @abstractmethod
    def predict(self, state: LearnerState, run: Batch) -> Predictions:
        """Predict records without changing the state."""

    def decide(self, state: LearnerState, run: Batch) -> Margins:
        """Return margins of which only the signs are exact, if that is cheaper."""
        return self.predict(state, run).margins  # type: ignore[no-any-return]

    @abstractmethod
    def learn(self, state: LearnerState, run: Batch, y: Any) -> UpdateResult:
        """Predict and learn: of n records and m labels, learn record s after predicting record s + n - m.

        Labels are thus delayed by n - m rounds. They are -1.0 and 1.0, numbers, or class indicators of shape (m,
        classes). The result does not depend, to the last bit, on how a stream is split into batches.
        """

    @abstractmethod
    def skip(self, state: LearnerState, rounds: int) -> None:
        """End rounds without labels: advance clocks, change nothing else."""

    def predict_one(self, state: LearnerState, rows: AnyRows, i: int) -> Any:
        """Return the margin or margins of one record of the known task i."""
        return self.predict(state, Batch(rows, np.array([i]))).margins[0]

    def learn_one(self, state: LearnerState, rows: AnyRows, i: int, y: Any) -> None:
        """Learn one record of the known task i."""
        self.learn(state, Batch(rows, np.array([i])), np.asarray(y)[None])

    def fast_calls(self, state: LearnerState) -> RecordCalls | None:
        """Return compiled calls for single records with known names; None if there are none."""
        return None

    def refuse_rows(self, state: LearnerState, rows: AnyRows) -> None:
        """Raise ValueError for records that cannot be learned, and change nothing."""
        return

    def update_query_strategy(self, state: LearnerState, query_probability: Tree) -> None:
        """Update a query probability that depends on a learned relation."""
        return

    # -- learned parameters

    def weights(self, state: LearnerState) -> Any:
        """Return the weights that predictions use, one row per task, dense."""
        raise NotImplementedError

    def intercepts(self, state: LearnerState) -> Any:
        """Return the constant part of each task's margins in addition to the weights; 0.0 if there is none."""
        return 0.0

    def relation_matrix(self, state: LearnerState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return A⁻¹ on the paper's scale, for all known tasks or for the numbers ``among``."""
        raise NotImplementedError

    def share(self, state: LearnerState) -> NDArray[np.float64]:
        """Return the shared part of each task's updates: 0 for independent tasks, 1 for one model of all."""
        raise NotImplementedError

    def linear_part(self, state: LearnerState, run: Batch, record: AnyRows | None = None) -> Margins:
        """Return the part of margins that is a weighted sum of a record's features, and a constant.

        If the sums have a factor that depends on the record, use the factor of the row ``record`` of the first task.
        """
        return np.zeros(len(run.tasks)) if self.traits.beyond_features else self.predict(state, run).margins

    def variances(self, state: LearnerState, run: Batch) -> NDArray[np.float64]:
        """Return the variance of each record's margin, 0 without variances."""
        return np.zeros(len(run.tasks))

    def intervals(self, state: LearnerState, run: Batch, level: float) -> tuple[Margins, NDArray[np.float64]]:
        """Return margins and intervals of labels, shape (n, 2), if the learner supports intervals."""
        raise AttributeError("this learner has no intervals")

    def has_left(self, state: LearnerState) -> bool:
        """Return True if the learner predicts NaN from now on because records have too many features."""
        return False

    def mixing_arrays(self, state: LearnerState) -> Iterable[Array]:
        """Return the arrays that must learn each record only once in several passes."""
        return ()

    def models(self, state: LearnerState) -> int:
        """Return the number of binary models in a state: one per class for multiclass learners, else 1."""
        return 1

    def walk(self, state: LearnerState) -> Iterator[tuple[BaseLearner, LearnerState]]:
        """Yield this learner with its state, then the inner learners with theirs."""
        yield self, state

    # -- files

    @abstractmethod
    def dump(self, state: LearnerState) -> tuple[Json, Arrays]:
        """Return the state as plain JSON data and named arrays, without the labels of the tasks."""

    @abstractmethod
    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> LearnerState:
        """Restore the result of :meth:`dump`; raise ValueError for inconsistent data."""


class MetaLearner(BaseLearner):
    """A learner with inner learners that get every call; a subclass defines :meth:`pairs`."""

    @abstractmethod
    def pairs(self, state: LearnerState) -> Iterable[tuple[BaseLearner, LearnerState]]:
        """Return the inner learners with their states."""

    def walk(self, state: LearnerState) -> Iterator[tuple[BaseLearner, LearnerState]]:
        """Yield this learner with its state, then the inner learners with theirs."""
        yield self, state
        for learner, inner in self.pairs(state):
            yield from learner.walk(inner)

    def refuse(self, state: LearnerState, tasks: Sequence[Hashable]) -> None:
        """Raise ValueError for new tasks that an inner learner does not allow."""
        for learner, inner in self.pairs(state):
            learner.refuse(inner, tasks)

    def refuse_rows(self, state: LearnerState, rows: AnyRows) -> None:
        """Raise ValueError for records that an inner learner cannot learn."""
        for learner, inner in self.pairs(state):
            learner.refuse_rows(inner, rows)

    def resize(self, state: LearnerState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize all inner learners."""
        for learner, inner in self.pairs(state):
            learner.resize(inner, tasks, size, counted)

    def drop(self, state: LearnerState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop tasks from all inner learners."""
        for learner, inner in self.pairs(state):
            learner.drop(inner, dropped, tasks)

    def skip(self, state: LearnerState, rounds: int) -> None:
        """End rounds in all inner learners."""
        for learner, inner in self.pairs(state):
            learner.skip(inner, rounds)

    def predict_members(self, state: LearnerState, run: Batch) -> list[Predictions]:
        """Return the predictions of each inner learner."""
        pairs, known = list(self.pairs(state)), run
        if self.traits.counts_unseen and not all(learner.traits.counts_unseen for learner, _ in pairs):
            known = run._replace(rows=split_unseen(run.rows, state.features)[0])
        return [learner.predict(inner, run if learner.traits.counts_unseen else known) for learner, inner in pairs]

    def learn_members(self, state: LearnerState, run: Batch, labels: Sequence[Any]) -> list[UpdateResult]:
        """Update each inner learner with its own labels."""
        earlier = [None] * len(labels) if run.predictions is None else run.predictions.split(len(labels))
        return [
            learner.learn(inner, run._replace(predictions=predictions), y)
            for (learner, inner), predictions, y in zip(self.pairs(state), earlier, labels, strict=True)
        ]


class SavedMembers(msgspec.Struct):
    """The saved data of learners with members."""

    members: list[Json]
    features: Features
    rounds: RoundCount


@dataclass
class MembersState:
    """The states of several learners of the same records; the first ``known`` tasks of the index have rows."""

    members: list[Any]
    tasks: Index
    features: int
    known: int
    rounds: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(int(member.nbytes) for member in self.members)


class MemberLearner(MetaLearner):
    """Base of a learner with members, which are ``learners`` of the same records."""

    learners: list[Any]

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> LearnerState:
        """Return the state before the first round."""
        members = [learner.init(tasks, size, length) for learner in self.learners]
        return MembersState(members, tasks, size.features, len(tasks))

    def pairs(self, state: LearnerState) -> Iterable[tuple[BaseLearner, LearnerState]]:
        """Return each learner with its state."""
        return zip(self.learners, state.members, strict=True)

    def resize(self, state: LearnerState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state to the first ``tasks`` tasks of the index and to this width; unchanged on an error."""
        super().resize(state, tasks, size, counted)
        state.known, state.features = tasks, max(size.features, state.features)

    def drop(self, state: LearnerState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop tasks and their own weights."""
        super().drop(state, dropped, tasks)
        state.known = dropped.left

    def skip(self, state: LearnerState, rounds: int) -> None:
        """End rounds without labels."""
        super().skip(state, rounds)
        state.rounds += rounds

    def learn_one_in_members(self, state: LearnerState, rows: AnyRows, i: int, y: float) -> None:
        """Learn one record of the known task i in each member."""
        for learner, inner in self.pairs(state):
            learner.learn_one(inner, rows, i, y)
        state.rounds += 1

    def dump(self, state: LearnerState) -> tuple[Json, Arrays]:
        """Return the state as plain JSON data and named arrays, without the labels of the tasks."""
        data, arrays = zip(*(learner.dump(inner) for learner, inner in self.pairs(state)), strict=True)
        saved = {"members": list(data), "features": state.features, "rounds": state.rounds}
        return saved, join_numbered("members", arrays)

    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> LearnerState:
        """Restore the result of :meth:`dump`; raise ValueError for inconsistent data or members of different widths."""
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
    run: Batch, score: Callable[[Any, Codes], Margins], score_unseen: Callable[[Any, Sequence[Hashable]], Margins]
) -> Margins:
    """Return one number per record: by ``score`` for known tasks, by ``score_unseen`` for new tasks (number -1)."""
    if not run.unseen:
        return score(run.rows, run.tasks)
    if len(run.unseen) == len(run.tasks):
        return score_unseen(run.rows, run.unseen)
    margins, known, new = np.zeros(len(run.tasks)), np.flatnonzero(run.tasks >= 0), np.flatnonzero(run.tasks < 0)
    margins[known] = score(run.rows.take(known), run.tasks[known])
    margins[new] = score_unseen(run.rows.take(new), run.unseen)
    return margins


def learn_in_pieces(
    run: Batch, y: Any, ends: Sequence[int], learn: Callable[[Batch, Any], UpdateResult]
) -> UpdateResult:
    """Learn a batch in pieces that end at these labels, passing on the predictions of unlearned records."""
    if len(ends) == 1:
        return learn(run, y)
    delay, first, waiting, updates = len(run.tasks) - len(y), 0, None, []
    for end in ends:
        piece = run.cut(first, end + delay)
        if waiting is not None and piece.n_predicted < delay:
            piece = piece._replace(predictions=waiting)
        update = learn(piece, y[first:end])
        waiting = update.predictions.cut(end - first, end - first + delay) if delay else None
        updates.append(update)
        first = end
    return concatenate_updates(updates)


def concatenate_updates(updates: Sequence[UpdateResult]) -> UpdateResult:
    """Concatenate the updates of pieces; each piece ends with the unlearned records that start the next one."""
    last, predictions = updates[-1], [update.predictions.cut(0, len(update.steps)) for update in updates[:-1]]
    own = Predictions.concatenate([Predictions(update.own) for update in updates]).margins
    stored = evicted = None
    if last.stored is not None:
        stored = np.concatenate([cast(Any, update.stored) for update in updates])
        evicted = np.concatenate([cast(Any, update.evicted) for update in updates])
    steps = np.concatenate([update.steps for update in updates])
    return UpdateResult(Predictions.concatenate([*predictions, last.predictions]), own, steps, stored, evicted)


def learn_one_by_one(learner: BaseLearner, state: LearnerState, run: Batch, y: Any) -> UpdateResult:
    """Predict, decide and learn record by record, for learners without query strategies in ``learn``."""
    n, m, earlier, strategy = len(run.tasks), len(y), run.predictions, run.query_strategy
    plain = run._replace(query_strategy=QUERY_ALL, predictions=None)
    predictions = [None if earlier is None else earlier.cut(t, t + 1) for t in range(max(n - m, run.n_predicted))]
    own, steps, stored, evicted = np.zeros(m), np.zeros(m), np.zeros(m, bool), np.full(m, -1, np.int64)
    has_support = learner.learn(state, plain.cut(0, 0), y[:0]).stored is not None
    for s in range(m):
        t = s + n - m
        if t >= len(predictions):
            predictions.append(learner.predict(state, plain.cut(t, t + 1)))
            learner.update_query_strategy(state, strategy.query_probability)
            margins = np.zeros(n)
            margins[t] = predictions[t].margins[0]  # type: ignore[union-attr]
            decide_all(strategy, run.tasks, margins, t, t + 1)
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
    """Return the number of entries of record t."""
    return int(rows.starts[t + 1] - rows.starts[t]) if hasattr(rows, "starts") else int(rows.values.shape[1])
