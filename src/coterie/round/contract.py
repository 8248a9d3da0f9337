"""The contract of learners: predict a run of records, and learn their labels with the predictions that came first.

A prediction travels with its record. Whoever lets labels wait keeps the :class:`Predictions` of the records beside
them, and hands it back in the run in which they are learned, so no learner remembers predictions. Tasks are numbers in
an index that :class:`coterie.round.task_registry.TaskRegistry` alone changes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.checks import MOST_FEATURES, require
from coterie.numeric.core.records import Csr
from coterie.numeric.primal.asking import QUERY_ALL, decide_all
from coterie.numeric.primal.calls import BoundCall, PlainRecords
from coterie.numeric.trees import MOST_COUNT, Arrays, group_by_prefix, join_numbered, strip_prefix

Codes = NDArray[np.int64]
Margins = NDArray[np.float64]

#: Numbers in the document of a model file.
Features = Annotated[int, msgspec.Meta(ge=0, le=MOST_FEATURES)]
RoundCount = Annotated[int, msgspec.Meta(ge=0, le=MOST_COUNT)]


class Predictions(NamedTuple):
    """Predictions of n records, and what they were made of where that is charged when the labels come.

    Attributes
    ----------
    margins : ndarray, shape (n,) or (n, classes)
        The margins.
    experts : ndarray, shape (S, n), or None
        What a mixture mixed.
    members : tuple of Predictions
        What the learners inside told.
    """

    margins: Any
    experts: Any = None
    members: tuple[Predictions, ...] = ()

    def cut(self, first: int, last: int) -> Predictions:
        """The predictions of a stretch of the records."""
        experts = None if self.experts is None else self.experts[:, first:last]
        return Predictions(self.margins[first:last], experts, tuple(each.cut(first, last) for each in self.members))

    def after(self, before: Predictions | None) -> Predictions:
        """These predictions with the first ones replaced by those that were told before."""
        if before is None:
            return self
        return Predictions.joined([before, self.cut(len(before.margins), len(self.margins))])

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """Predictions one after the other; of classes that appear on the way, the last part has the most."""
        if len(parts) == 1:
            return parts[0]
        last = parts[-1]
        margins = np.zeros((sum(len(each.margins) for each in parts), *last.margins.shape[1:]))
        at = 0
        for each in parts:
            some = (slice(at, at + len(each.margins)), *map(slice, each.margins.shape[1:]))
            margins[some], at = each.margins, at + len(each.margins)
        experts = None
        if last.experts is not None:
            experts = np.concatenate([_experts_of(each, len(last.experts)) for each in parts], axis=1)
        held = [_members_alike(each, last.members) for each in parts]
        return cls(margins, experts, tuple(map(cls.joined, zip(*held, strict=True))))


def unknown(like: Predictions, n: int) -> Predictions:
    """Predictions of n records that nobody knows: zeros, in the shape of others."""
    experts = None if like.experts is None else np.zeros((len(like.experts), n))
    return Predictions(
        np.zeros((n, *like.margins.shape[1:])), experts, tuple(unknown(each, n) for each in like.members)
    )


def finite(predictions: Predictions) -> Predictions:
    """The predictions of a learner with 0 in place of NaN, once it has left."""
    return predictions._replace(margins=np.nan_to_num(predictions.margins))


def member_predictions(predictions: Predictions | None, members: int) -> Sequence[Predictions | None]:
    """The predictions of each learner inside, None if not known; of a class that came since, those of the spare one."""
    if predictions is None or not predictions.members:
        return [None] * members
    return [*predictions.members, *predictions.members[-1:] * (members - len(predictions.members))]


def _experts_of(predictions: Predictions, experts: int) -> NDArray[np.float64]:
    return np.zeros((experts, len(predictions.margins))) if predictions.experts is None else predictions.experts


def _members_alike(predictions: Predictions, members: Sequence[Predictions]) -> Sequence[Predictions]:
    """The predictions of the learners inside, zeros where these are not known."""
    found = member_predictions(predictions, len(members))
    return [
        unknown(one, len(predictions.margins)) if each is None else each
        for each, one in zip(found, members, strict=True)
    ]


class Batch(NamedTuple):
    """Records as learners take them.

    Attributes
    ----------
    rows : Dense, Csr or other rows of compiled code
        The records, with their weights.
    tasks : ndarray of int64
        The number of each record's task; -1 for one that nobody has seen, whose label is the next of ``unseen``. There
        are none such where records are learned.
    unseen : sequence of labels
        See ``tasks``.
    told : Predictions or None
        Predictions of the first records, made in an earlier run; the others are predicted in this one.
    asker : Every or QueryStrategy
        Which labels are wanted; the others are not looked at.
    """

    rows: Any
    tasks: Codes
    unseen: Sequence[Hashable] = ()
    predictions: Predictions | None = None
    query_strategy: Any = QUERY_ALL

    @property
    def given(self) -> int:
        """The number of records that were predicted before."""
        return 0 if self.predictions is None else len(self.predictions.margins)

    def cut(self, first: int, last: int) -> Batch:
        """A stretch of the records."""
        some = slice(first, last)
        predictions = None if first >= self.given or self.predictions is None else self.predictions.cut(first, last)
        query_strategy = self.query_strategy
        if query_strategy is not QUERY_ALL:
            query_strategy = query_strategy._replace(
                owner=query_strategy.owner[some], answer=query_strategy.answer[some]
            )
        unseen: Sequence[Hashable] = ()
        if self.unseen:
            met = int((self.tasks[:first] < 0).sum())
            unseen = self.unseen[met : met + int((self.tasks[some] < 0).sum())]
        return Batch(self.rows.cut(first, last), self.tasks[some], unseen, predictions, query_strategy)


class Events(NamedTuple):
    """Events of a run other than moves of weights: changes of support vectors, lengths of views' weights.

    Of support vectors ``stored`` says which records became one, ``evicted`` which task lost one, -1 for none. Of the
    views called ``names``, ``lengths[i]`` are those of their weights once ``ends[i]`` of the records were learned.
    """

    stored: NDArray[np.bool_] | None = None
    evicted: NDArray[np.int64] | None = None
    names: tuple[Hashable, ...] = ()
    ends: Any = None
    lengths: Any = None


class UpdateResult(NamedTuple):
    """The outcome of a run of n records of which the first m were learned.

    Attributes
    ----------
    told : Predictions
        The predictions of all n.
    own : ndarray, shape (m,) or (m, classes)
        The margins right before each label was learned.
    steps : ndarray, shape (m,)
        How far each label moved what is learned.
    events : Events
        What else happened.
    """

    predictions: Predictions
    own: Any
    steps: Any
    events: Events = Events()


class InputShape(NamedTuple):
    """How wide records are.

    Attributes
    ----------
    features : int
        The number of features, of all views together where there are several.
    dense : bool
        True where records come as dense arrays, so that storing every weight wastes nothing.
    names, widths : sequences
        The views of a record, where it has several, and how wide each is.
    owner : ndarray of int64, or None
        The number of the task that each feature belongs to, where tasks have feature spaces of their own.
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
    """Facts about a learner.

    Attributes
    ----------
    log_odds : float or None
        The factor that makes log-odds of margins; None where they are no such thing.
    weighs : bool
        Records may have weights, see :class:`coterie.numeric.core.records.WeightedDense`.
    asks : bool
        ``learn`` heeds the asker of a run; other learners are asked record by record.
    task_changes_all, feature_changes_all : bool
        A new task, or a wider record, changes what is predicted for others, so that it is met right before its round.
    unnoticed : bool
        Adding or dropping a task changes nothing for all others.
    named : sequence of labels
        The tasks that the relation names, which are known from the start.
    fixed : bool
        All tasks are known from the start and keep their numbers.
    cannot_drop, cannot_bound : str
        The reason why tasks cannot be dropped, or only so many be known at a time, in a sentence; empty if they can.
    cannot_multiply : str
        The reason why the learner cannot be had once a class; empty if it can.
    has_tasks : bool
        False for records of several views, which have no tasks.
    has_variances, has_intervals : bool
        Margins have variances; labels have intervals.
    mixes : bool
        Members are mixed by predictions that must have been made before the labels were known.
    beyond_features : str
        The part of a margin that is no weighted sum of features, in a few words for people; empty if there is none.
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
    cannot_multiply: str = ""
    has_tasks: bool = True
    has_variances: bool = False
    has_intervals: bool = False
    mixes: bool = False
    beyond_features: str = ""


class LearnedState(Protocol):
    """The state of any learner: the width of records, rounds so far and bytes of arrays."""

    @property
    def features(self) -> int: ...

    @property
    def rounds(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


class Learner(Protocol):
    """Everything that learns records in turn. It holds parameters only; what it learns is a state that it is handed.

    A state refers to the index of tasks that it began with, which others share. It knows the first tasks of the index,
    as many as it was last grown to.
    """

    traits: Capabilities

    @abstractmethod
    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> Any:
        """The state before the first round; ``length`` rounds will come in all where that is known."""

    @abstractmethod
    def refuse(self, state: Any, tasks: Sequence[Hashable]) -> None:
        """Refuse new tasks that the relation cannot have: ValueError naming the first."""

    @abstractmethod
    def resize(self, state: Any, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Make room for the first so many tasks of the index and for records so wide; all or nothing.

        Without ``counted``, M counts a new task only from its first record on.
        """

    @abstractmethod
    def drop(self, state: Any, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop tasks, given by their labels, and their own weights; the last tasks have their numbers now."""

    @abstractmethod
    def predict(self, state: Any, run: Batch) -> Predictions:
        """Predict records; nothing is written."""

    @abstractmethod
    def learn(self, state: Any, run: Batch, y: Any) -> UpdateResult:
        """Predict and learn: of n records and m labels, record s is learned after record s + n - m was predicted.

        So labels are n - m rounds late. They are -1.0 and 1.0, numbers, or memberships of classes of shape
        (m, classes). However a stream is cut into runs, every bit is the same.
        """

    @abstractmethod
    def skip(self, state: Any, rounds: int) -> None:
        """End rounds that have no labels: clocks advance, nothing else changes."""

    @abstractmethod
    def single(self, state: Any) -> FastPath:
        """Rounds of one record each."""

    @abstractmethod
    def dump(self, state: Any) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""

    @abstractmethod
    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> Any:
        """Undo :meth:`dump`: ValueError if the data do not fit together."""


class FastPath:
    """Rounds of one record of a known task, one after the other; these go by runs of one record.

    Attributes
    ----------
    warn : callable or None
        To be called with the state after a round that a bound call has learned, where there may be something to say.
    """

    warn: Callable[[Any], None] | None = None

    def __init__(self, learner: Any, state: Any) -> None:
        self.learner, self.state = learner, state

    def predict(self, rows: Any, i: int) -> Any:
        """The margin of a record of task i, or its margins."""
        return self.learner.predict(self.state, Batch(rows, np.array([i]))).margins[0]

    def learn(self, rows: Any, i: int, y: Any) -> None:
        """Learn a record of task i."""
        self.learner.learn(self.state, Batch(rows, np.array([i])), np.asarray(y)[None])

    def bound(self, records: PlainRecords) -> BoundCall | None:
        """Compiled calls for dictionaries, bound to the model; None where there are none, or until it pays."""
        return None

    def forget(self) -> None:
        """Release what was prepared: something else is about to change the state."""


class BaseLearner(Learner):
    """What people ask of a learner beside its rounds, with the answers of learners that have nothing to say."""

    def weights(self, state: Any) -> Any:
        """The weights that predictions use, one row a task, dense."""
        raise NotImplementedError

    def intercepts(self, state: Any) -> Any:
        """The part of each task's margins that no record changes, beside the weights; 0.0 where there is none."""
        return 0.0

    def relation_matrix(self, state: Any, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """A⁻¹ on the paper's scale for the tasks known, or for those ``among`` them with these numbers."""
        raise NotImplementedError

    def share(self, state: Any) -> NDArray[np.float64]:
        """The part of each task's moves that is shared with others: 0 for independent tasks, 1 for one model of all."""
        raise NotImplementedError

    def linear_part(self, state: Any, run: Batch, record: Any = None) -> Margins:
        """The part of margins that is a weighted sum of a record's features, and a constant.

        If such sums have a factor that depends on the record, it is that of the row ``record`` of the first task.
        """
        return np.zeros(len(run.tasks)) if self.traits.beyond_features else self.predict(state, run).margins

    def variances(self, state: Any, run: Batch) -> NDArray[np.float64]:
        """The variance of each record's margin, where there are variances."""
        return np.zeros(len(run.tasks))

    def intervals(self, state: Any, run: Batch, level: float) -> tuple[Margins, NDArray[np.float64]]:
        """Margins, and intervals of the labels of that level, shape (n, 2), where there are intervals."""
        raise AttributeError("there are no intervals")

    def has_left(self, state: Any) -> bool:
        """True once the learner predicts nothing any more, NaN, because records have too many features for it."""
        return False

    def update_query_strategy(self, state: Any, query_probability: Any) -> None:
        """Update what the chance of asking has stored of a learned relation."""
        return

    def refuse_rows(self, state: Any, rows: Any) -> None:
        """Refuse records that cannot be learned: ValueError, and nothing is changed."""
        return

    def rebind(self, state: Any) -> None:
        """Take over a state that was learned under other parameters: ValueError if that cannot be."""
        return

    def hold(self, state: Any) -> Callable[[], None]:
        """A function that takes back all that was learned since, and the room made, where records may be refused.

        Most learners refuse none, so nothing is copied; kernels and potentials of users may refuse one on the way.
        """
        return nothing

    def hold_mixing(self, state: Any) -> Callable[[], None]:
        """A function that makes what mixes members in this state what it is now, whatever they learn meanwhile."""
        return nothing

    def models(self, state: Any) -> int:
        """The number of two-class models in a state: one a class for learners of many classes, else 1."""
        return 1

    def single(self, state: Any) -> FastPath:
        """Rounds of one record each, by runs of one record."""
        return FastPath(self, state)


def nothing() -> None:
    """Do nothing."""


class MetaLearner(BaseLearner):
    """A learner around others: what it is asked goes on to all of them, unless a subclass answers it.

    A subclass gives the :meth:`pairs` of learners and states that there are.
    """

    @abstractmethod
    def pairs(self, state: Any) -> Iterable[tuple[Any, Any]]:
        """The learners inside with their states."""

    def refuse(self, state: Any, tasks: Sequence[Hashable]) -> None:
        """Refuse new tasks that one of them refuses."""
        for learner, inner in self.pairs(state):
            learner.refuse(inner, tasks)

    def refuse_rows(self, state: Any, rows: Any) -> None:
        """Refuse records that one of them refuses."""
        for learner, inner in self.pairs(state):
            learner.refuse_rows(inner, rows)

    def resize(self, state: Any, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Make room in all of them."""
        for learner, inner in self.pairs(state):
            learner.resize(inner, tasks, size, counted)

    def drop(self, state: Any, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop tasks in all of them."""
        for learner, inner in self.pairs(state):
            learner.drop(inner, dropped, tasks)

    def skip(self, state: Any, rounds: int) -> None:
        """End rounds in all of them."""
        for learner, inner in self.pairs(state):
            learner.skip(inner, rounds)

    def predict_each(self, state: Any, run: Batch) -> list[Predictions]:
        """What each of them tells of the records."""
        return [learner.predict(inner, run) for learner, inner in self.pairs(state)]

    def learn_each(self, state: Any, run: Batch, labels: Sequence[Any]) -> list[UpdateResult]:
        """Let each of them learn labels of its own."""
        pairs = list(self.pairs(state))
        tasks = zip(pairs, member_predictions(run.predictions, len(pairs)), labels, strict=True)
        return [
            learner.learn(inner, run._replace(predictions=predictions), y) for (learner, inner), predictions, y in tasks
        ]

    def hold(self, state: Any) -> Callable[[], None]:
        """A function that takes back all that was learned since in all of them."""
        return _each([learner.hold(inner) for learner, inner in self.pairs(state)])

    def hold_mixing(self, state: Any) -> Callable[[], None]:
        """A function that makes what mixes members in all of them what it is now."""
        return _each([learner.hold_mixing(inner) for learner, inner in self.pairs(state)])


class SavedMembers(msgspec.Struct):
    """The data that learners around members have in files."""

    members: list[dict[str, Any]]
    features: Features
    rounds: RoundCount


class MemberLearner(MetaLearner):
    """Learners of the same records; a state has their states as ``members``.

    It also has the number of ``rounds``, of ``features`` and of tasks, ``known``.
    """

    learners: list[Any]

    def pairs(self, state: Any) -> Iterable[tuple[Any, Any]]:
        """Each learner with its state."""
        return zip(self.learners, state.members, strict=True)

    def resize(self, state: Any, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Make room for the first so many tasks of the index and for records so wide; all or nothing."""
        super().resize(state, tasks, size, counted)
        state.known, state.features = tasks, max(size.features, state.features)

    def drop(self, state: Any, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Drop tasks and their own weights."""
        super().drop(state, dropped, tasks)
        state.known = dropped.left

    def skip(self, state: Any, rounds: int) -> None:
        """End rounds that have no labels."""
        super().skip(state, rounds)
        state.rounds += rounds

    def dump_members(self, state: Any) -> tuple[list[dict[str, Any]], Arrays]:
        """The learners' states as plain JSON data, and their named arrays under ``members``."""
        data, arrays = zip(*(learner.dump(inner) for learner, inner in self.pairs(state)), strict=True)
        return list(data), join_numbered("members", arrays)

    def restore_members(self, data: list[dict[str, Any]], arrays: Arrays, tasks: Index, features: int) -> list[Any]:
        """Undo :meth:`dump_members`: ValueError if the data do not fit together or are of other widths."""
        n, wanted = len(data), len(self.learners)
        require(n == wanted, f"the file holds {n} members, and the parameters name {wanted}")
        own = group_by_prefix(strip_prefix(arrays, "members."))
        members = [
            learner.restore(each, own.get(str(n), {}), tasks)
            for n, (learner, each) in enumerate(zip(self.learners, data, strict=True))
        ]
        require(all(member.features == features for member in members), "the members are of different widths")
        return members


class MemberFastPath(FastPath):
    """Rounds of one record each, by those of all members."""

    def __init__(self, learner: MemberLearner, state: Any) -> None:
        super().__init__(learner, state)
        self.members = [each.single(member) for each, member in learner.pairs(state)]

    def learn(self, rows: Any, i: int, y: Any) -> None:
        """Learn a record of task i."""
        for member in self.members:
            member.learn(rows, i, y)
        self.state.rounds += 1

    def forget(self) -> None:
        """Release the models."""
        for member in self.members:
            member.forget()


def _each(functions: Sequence[Callable[[], None]]) -> Callable[[], None]:
    """A function that calls all of these."""
    some = [function for function in functions if function is not nothing]

    def call() -> None:
        for function in some:
            function()

    return call if some else nothing


def known_and_unseen(
    run: Batch, of_known: Callable[[Any, Codes], Margins], of_unseen: Callable[[Any, Sequence[Hashable]], Margins]
) -> Margins:
    """One number a record: by ``of_known`` for known tasks, by ``of_unseen`` for the new ones, whose number is -1."""
    if not run.unseen:
        return of_known(run.rows, run.tasks)
    if len(run.unseen) == len(run.tasks):
        return of_unseen(run.rows, run.unseen)
    made, known, new = np.zeros(len(run.tasks)), np.flatnonzero(run.tasks >= 0), np.flatnonzero(run.tasks < 0)
    made[known] = of_known(run.rows.take(known), run.tasks[known])
    made[new] = of_unseen(run.rows.take(new), run.unseen)
    return made


def in_pieces(run: Batch, y: Any, ends: Iterable[int], learn: Callable[[Batch, Any], UpdateResult]) -> UpdateResult:
    """Learn a run in pieces, each up to one of the ``ends`` of labels, and hand on what the last records were told."""
    m, ends = len(y), list(ends)
    if len(ends) == 1:
        return learn(run, y)
    delay, first, rest, made = len(run.tasks) - m, 0, None, []
    for end in ends:
        piece = run.cut(first, end + delay)
        if rest is not None and piece.given < delay:
            piece = piece._replace(predictions=rest)
        done = learn(piece, y[first:end])
        rest = done.predictions.cut(end - first, end - first + delay) if delay else None
        made.append(done)
        first = end
    return joined(made)


def joined(made: Sequence[UpdateResult]) -> UpdateResult:
    """The outcomes of pieces of a run as one; each ends with the records that wait, with which the next one begins."""
    predictions = [each.predictions.cut(0, len(each.steps)) for each in made[:-1]]
    of_pieces = [each.own for each in made]
    if of_pieces[-1].ndim > 1:  # of classes that appear on the way, the last piece has the most
        own = Predictions.joined([Predictions(each) for each in of_pieces]).margins
    else:
        own = np.concatenate(of_pieces)
    steps = np.concatenate([each.steps for each in made])
    return UpdateResult(
        Predictions.joined([*predictions, made[-1].predictions]),
        own,
        steps,
        _joined_events([each.events for each in made]),
    )


def _joined_events(events: Sequence[Events]) -> Events:
    if events[-1].stored is None:
        return Events()
    stored, evicted = (np.concatenate([each[field] for each in events]) for field in (0, 1))
    return Events(stored, evicted)


def one_by_one(learner: BaseLearner, state: Any, run: Batch, y: Any) -> UpdateResult:
    """Predict, decide and learn those asked for, record by record: for a learner whose ``learn`` heeds no asker."""
    n, m = len(run.tasks), len(y)
    plain, query_strategy = run._replace(query_strategy=QUERY_ALL, predictions=None), run.query_strategy
    predictions = [
        None if run.predictions is None else run.predictions.cut(t, t + 1) for t in range(max(n - m, run.given))
    ]
    own, steps, made = np.zeros(m), np.zeros(m), {}
    for s in range(m):
        t = s + n - m
        if t >= len(predictions):
            predictions.append(learner.predict(state, plain.cut(t, t + 1)))
            learner.update_query_strategy(state, query_strategy.query_probability)
            margins = np.zeros(n)
            margins[t] = predictions[t].margins[0]  # type: ignore[union-attr]
            decide_all(query_strategy, run.tasks, margins, t, t + 1)
        if query_strategy.answer[s] > 0:
            made[s] = learner.learn(state, plain.cut(s, s + 1)._replace(predictions=predictions[s]), y[s : s + 1])
            own[s], steps[s] = made[s].own[0], made[s].steps[0]
        else:
            learner.skip(state, 1)
    known = [each for each in predictions if each is not None]
    like = known[-1] if known else Predictions(np.zeros(n))
    whole = [unknown(like, 1) if each is None else each for each in predictions]
    found = made or {0: learner.learn(state, plain.cut(0, 0), y[:0])}
    return UpdateResult(Predictions.joined(whole or [like]), own, steps, _placed(found, m))


def _placed(made: dict[int, UpdateResult], m: int) -> Events:
    """The events of single records at their places among m."""
    if next(iter(made.values())).events.stored is None:
        return Events()
    stored, evicted = np.zeros(m, bool), np.full(m, -1, np.int64)
    for s, done in made.items():
        if done.events.stored is not None and done.events.evicted is not None and len(done.events.stored):
            stored[s], evicted[s] = done.events.stored[0], done.events.evicted[0]
    return Events(stored, evicted)


def rows_from_column(rows: Any, first: int) -> Csr:
    """Copy the entries of features from column ``first`` on."""
    csr = rows.to_csr().trimmed()
    kept = csr.features >= first
    return Csr(csr.values[kept], csr.features[kept], np.append(0, np.cumsum(kept))[csr.starts])


def entries_of(rows: Any, t: int) -> int:
    """The number of entries of a record."""
    return int(rows.starts[t + 1] - rows.starts[t]) if hasattr(rows, "starts") else int(rows.values.shape[1])
