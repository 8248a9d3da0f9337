"""A learner spread over lanes: the same rounds, and the same bits, as by itself."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.stream_model import stream_model_of
from coterie.index import Index
from coterie.learner import Margins, StreamLearner
from coterie.learners.regression import RegressionLearner
from coterie.mixture import Mixture
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.records import Rows
from coterie.numeric.primal.asking import EVERY
from coterie.numeric.trees import Arrays
from coterie.online.model import OnlineModel
from coterie.reductions import ManyLearners

from .lanes import Lane, LaneEngine, at_once
from .partition import joined, parts_of, places_of, some_tasks, why_whole

Codes = NDArray[np.int64]
_NO_CODES = np.zeros(0, np.int64)


@dataclass
class SpreadState:
    """The lanes of a learner, and where each task is: the part, and its number there.

    Lanes are made when there is something for them to do.
    """

    make: Callable[[], list[Lane]]
    tasks: Index
    features: int
    dense: bool
    part: Codes = field(default_factory=lambda: _NO_CODES)
    number: Codes = field(default_factory=lambda: _NO_CODES)
    rounds: int = 0

    @cached_property
    def lanes(self) -> list[Lane]:
        """The lanes, one for each part."""
        return self.make()

    def __deepcopy__(self, memo: dict[int, Any]) -> SpreadState:
        lanes = [lane.copy() for lane in self.lanes]
        return replace(self, make=lambda: lanes, tasks=copy.deepcopy(self.tasks, memo))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in all lanes."""
        return sum(each.result() for each in [lane.start("nbytes") for lane in self.lanes])


class SpreadLearner(StreamLearner):
    """A learner whose state is in lanes: one for all tasks, or several with a part of the tasks each.

    Parameters
    ----------
    learner : StreamLearner
        What learns. In several parts it is a :class:`Learner` whose tasks can be cut, see :func:`why_whole`.
    engine : LaneEngine
        Has the lanes.
    name : str
        The name of the lane; parts are numbered.
    parts : int
        The number of lanes.
    """

    def __init__(self, learner: StreamLearner, engine: LaneEngine, name: str, parts: int = 1) -> None:
        self.learner: Any = learner  # of parts it is a Learner
        self.parts = parts
        self.log_odds, self.beyond_features = learner.log_odds, learner.beyond_features
        self._engine, self._name = engine, name

    @property
    def weighs(self) -> bool:
        """True where the learner weighs records."""
        return bool(self.learner.weighs)

    @property
    def counts_features(self) -> bool:
        """True where the learner's computations depend on the number of features."""
        return bool(self.learner.counts_features)

    @property
    def names_tasks(self) -> bool:
        """True if the relation names all its tasks."""
        return bool(self.learner.names_tasks)

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> SpreadState:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        names = names_of_parts(self._name, self.parts)

        def make() -> list[Lane]:
            return [self._engine.lane(name, self.learner.beside(), features, dense, length) for name in names]

        state = SpreadState(make, Index(self.learner.init((), 1, dense).tasks.labels), features, dense)
        self.fit_tasks(state, tasks, features)
        return state

    def check_tasks(self, state: SpreadState, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that the relation does not know: ValueError naming the first."""
        self.learner.check_tasks(self.learner.init((), 1), tasks)

    def fit_tasks(self, state: SpreadState, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks, given by their labels, and for so many features."""
        new = state.tasks.new_among(tasks)
        if not new and features <= state.features:
            return
        state.features = max(features, state.features)
        coming = self._met(state, new)
        for call in [lane.start("fit", some, state.features) for lane, some in zip(state.lanes, coming, strict=True)]:
            call.result()

    def _met(self, state: SpreadState, new: Sequence[Hashable]) -> list[Sequence[Hashable]]:
        """Number tasks that are new, as a whole and in their parts; returns those of each part."""
        if self.parts == 1:
            state.tasks.add(new)
            return [new]
        of = parts_of(new, self.parts, self.learner.relation)
        state.tasks.add(new)
        held = np.bincount(state.part, minlength=self.parts)
        number = np.zeros(len(new), np.int64)
        coming: list[Sequence[Hashable]] = []
        for v in range(self.parts):
            mine = np.flatnonzero(of == v)
            number[mine] = held[v] + np.arange(len(mine))
            coming.append([new[i] for i in mine.tolist()])
        state.part, state.number = np.append(state.part, of), np.append(state.number, number)
        return coming

    def update_many(
        self,
        state: SpreadState,
        rows: Rows,
        codes: Codes,
        y: NDArray[Any],
        last: int | None = None,
        asker: Any = EVERY,
        new: Sequence[Hashable] = (),
    ) -> Any:
        """Predict and learn records one after the other; see :meth:`coterie.learner.Learner.update_many`."""
        if asker is not EVERY:
            raise ValueError("labels cannot be asked for by several workers: the answer depends on all of them")
        coming = self._met(state, new)
        state.rounds += len(codes) if last is None else last
        if self.parts == 1:
            made, state.features = state.lanes[0].start("learn", rows, None, codes, y, last, new).result()
            return made
        if last is not None and last < len(codes):
            raise ValueError("labels that come late cannot be learned in parts")
        places, number = places_of(state.part[codes]), state.number[codes]
        calls = [
            state.lanes[v].start("learn", rows, at, number[at], y[at], None, coming[v]) for v, at in places.items()
        ]
        made = [each.result() for each in calls]
        state.features = max([state.features, *(features for _, features in made)])
        return _put_together([moves for moves, _ in made], list(places.values()), len(codes))

    def score_any(self, state: SpreadState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of the tasks ``codes``; -1 is a new task, whose label is the next of ``unseen``."""
        if self.parts == 1:
            return np.asarray(state.lanes[0].start("score", rows, None, codes, unseen).result())
        known = codes >= 0
        part, number = np.zeros(len(codes), np.int64), np.full(len(codes), -1)
        part[known], number[known] = state.part[codes[known]], state.number[codes[known]]
        part[~known] = parts_of(unseen, self.parts, self.learner.relation)
        labels = np.full(len(codes), None, object)
        labels[~known] = np.fromiter(unseen, object, len(unseen))
        places = places_of(part)
        calls = [
            state.lanes[v].start("score", rows, at, number[at], labels[at][number[at] < 0].tolist())
            for v, at in places.items()
        ]
        margins = np.zeros(len(codes))
        for at, call in zip(places.values(), calls, strict=True):
            margins[at] = call.result()
        return margins

    def score_one(self, state: SpreadState, rows: Rows, i: int) -> Any:
        """Margin of one record of the known task i."""
        return self.score_any(state, rows, np.array([i]), ())[0]

    def update_one(self, state: SpreadState, rows: Rows, i: int, y: Any) -> None:
        """Learn one record of the known task i."""
        self.update_many(state, rows, np.array([i]), np.asarray(y)[None])

    def skip_unlabelled(self, state: SpreadState, rounds: int = 1) -> None:
        """End rounds that have no labels."""
        for call in [lane.start("skip_unlabelled", rounds) for lane in state.lanes]:
            call.result()
        state.rounds += rounds

    def check_dropping(self, state: SpreadState) -> None:
        """Refuse: ValueError; a model can forget once it is whole again."""
        raise ValueError("a model that several workers learn cannot forget tasks meanwhile")

    def drop_tasks(self, state: SpreadState, dropped: Dropped) -> None:
        """Do nothing: :meth:`check_dropping` allows it never."""

    # -- the whole

    def whole(self, state: SpreadState) -> Any:
        """The state of all tasks as the learner itself would have it."""
        if self.parts == 1:
            return state.lanes[0].state()
        parts = [lane.state() for lane in state.lanes]
        whole = joined(self.learner, parts, state.tasks.labels, state.part, state.number)
        whole.rounds = state.rounds
        return whole

    def dump(self, state: SpreadState) -> tuple[dict[str, Any], Arrays]:
        """The state as the learner of all tasks would save it."""
        made: tuple[dict[str, Any], Arrays] = self.learner.dump(self.whole(state))
        return made

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> SpreadState:
        """Undo :meth:`dump`."""
        whole = self.learner.restore(data, arrays, tasks)
        state = self.init((), whole.features, getattr(whole, "dense", False))
        state.rounds = whole.rounds
        self._met(state, list(whole.tasks.labels))
        if self.parts == 1:
            state.lanes[0].take(whole)
            return state
        for v, lane in enumerate(state.lanes):
            lane.take(some_tasks(self.learner, whole, np.flatnonzero(state.part == v)))
        return state

    def weights(self, state: SpreadState) -> Any:
        """The weights that predictions use, one row a task, dense."""
        return self.learner.weights(self.whole(state))

    def relation_matrix(self, state: SpreadState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """A⁻¹ on the paper's scale."""
        return np.asarray(self.learner.relation_matrix(self.whole(state), among))

    def share(self, state: SpreadState) -> NDArray[np.float64]:
        """The part of each task's moves that is shared with others."""
        return np.asarray(self.learner.share(self.whole(state)))


def _put_together(moves: Sequence[Any], places: Sequence[Codes], n: int) -> Any:
    """Put together the moves of n records from the parts, each of which has those at its places."""
    made = [np.zeros((n, *held.shape[1:]), held.dtype) for held in moves[0]]
    for part, at in zip(moves, places, strict=True):
        for whole, held in zip(made, part, strict=True):
            whole[at] = held
    return type(moves[0])(*made)


def spread(learner: StreamLearner, engine: LaneEngine, name: str = "", late: bool = False) -> StreamLearner:
    """The same learner with its state in lanes: members apart from each other, independent tasks cut into parts.

    Parameters
    ----------
    learner : StreamLearner
        What an estimator learns by.
    engine : LaneEngine
        Has the lanes, and says how many parts there are.
    name : str
        What the names of the lanes begin with.
    late : bool
        Whether labels come late: then no tasks are cut, for whose label comes next depends on all of them.
    """
    made: Any
    if isinstance(learner, ManyLearners):
        made = ManyLearners(spread(learner.learner, engine, f"{name}class, ", late))
    elif isinstance(learner, (Mixture, RegressionLearner)):
        members = [spread(each, engine, f"{name}member {m}", late) for m, each in enumerate(learner.learners)]
        made = learner.apart(members)
    else:
        parts = 1 if late or why_whole(learner) else engine.parts
        return SpreadLearner(learner, engine, name or "all", parts)
    made.gather = at_once
    return made  # type: ignore[no-any-return]


def members_of(learner: StreamLearner) -> list[tuple[str, StreamLearner]]:
    """The members of a learner that learn apart from each other, with the names of their lanes.

    Examples
    --------
    >>> from coterie import AdaptiveSharingClassifier
    >>> [name for name, _ in members_of(AdaptiveSharingClassifier(members="cheap").__stream_model__().learner)]
    ['member 0', 'member 1']
    """
    if isinstance(learner, ManyLearners):
        return [(f"class, {name}", each) for name, each in members_of(learner.learner)]
    if isinstance(learner, (Mixture, RegressionLearner)):
        return [(f"member {m}", each) for m, each in enumerate(learner.learners)]
    return [("all", learner)]


def names_of_parts(name: str, parts: int) -> list[str]:
    """The names of the lanes of a learner that is in so many parts."""
    return [name] if parts == 1 else [f"{name}, part {v + 1}" for v in range(parts)]


@contextmanager
def spreading(models: Mapping[str, Any], engine: LaneEngine, late: bool = False) -> Iterator[None]:
    """Let models learn in lanes; afterwards each is whole again, and the same to the last bit as without lanes.

    Parameters
    ----------
    models : mapping of name to estimator
        Changed in place while they learn.
    engine : LaneEngine
        Has the lanes.
    late : bool
        Whether labels come late.

    Raises
    ------
    ValueError
        If one of them cannot learn in lanes: naming it, and what could.
    """
    inner = {name: online_model(model, name) for name, model in models.items()}
    with ExitStack() as stack:
        stack.callback(engine.end, len(engine.lanes))
        for name, model in inner.items():
            learner = spread(model.learner, engine, "" if len(inner) == 1 else f"{name}: ", late)
            stack.enter_context(model.learning_by(learner))
        yield


def online_model(model: Any, name: str = "the model") -> OnlineModel:
    """The inner model of an estimator that can learn in lanes; ValueError for another one."""
    inner = stream_model_of(model)
    if not isinstance(inner, OnlineModel) or not inner.has_tasks:
        raise ValueError(f"{name} cannot be learned by several workers: it is no online model of tasks")
    if inner.settings.max_tasks is not None:
        raise ValueError(
            f"{name} cannot be learned by several workers with max_tasks: which task is forgotten depends on all others"
        )
    return inner


def check_lanes(model: Any, workers: int, late: bool = False) -> None:
    """Refuse several workers for a model that learns in one lane: ValueError saying why, and which model to take."""
    learner = online_model(model).learner
    members = members_of(learner)
    if workers == 1 or len(members) > 1 or isinstance(learner, ManyLearners):
        return
    why = why_whole(members[0][1]) or ("labels come late, in an order that is of all tasks" if late else "")
    if why:
        raise ValueError(
            f"several workers would do no more than one: {why}. AdaptiveSharingClassifier(members='separable') learns "
            "with as many as there are, and is about as good as the default"
        )


def spreading_by(engine: LaneEngine) -> Callable[[Mapping[str, Any], bool], AbstractContextManager[None]]:
    """Return :func:`spreading` in the lanes of an engine, as `coterie.jobs.learning.learn` takes it."""

    def spread_all(models: Mapping[str, Any], late: bool) -> AbstractContextManager[None]:
        check_lanes(next(iter(models.values())), engine.workers, late)
        return spreading(models, engine, late)

    return spread_all
