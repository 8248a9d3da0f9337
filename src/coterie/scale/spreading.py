"""A learner spread over lanes: the same rounds, and the same bits, as by itself."""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.stream_model import stream_model_of
from coterie.index import Index
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.primal.asking import EVERY
from coterie.numeric.trees import Arrays
from coterie.online.model import OnlineModel
from coterie.round.classes import CLASS
from coterie.round.contract import BaseLearner, Learned, Run, Size, Told

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
    size: Size
    known: int = 0
    part: Codes = field(default_factory=lambda: _NO_CODES)
    number: Codes = field(default_factory=lambda: _NO_CODES)
    rounds: int = 0

    @cached_property
    def lanes(self) -> list[Lane]:
        """The lanes, one for each part."""
        return self.make()

    @property
    def features(self) -> int:
        """The width of the records."""
        return self.size.features

    def __deepcopy__(self, memo: dict[int, Any]) -> SpreadState:
        lanes = [lane.copy() for lane in self.lanes]
        return replace(self, make=lambda: lanes, tasks=copy.deepcopy(self.tasks, memo))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in all lanes."""
        return sum(results([lane.start("nbytes") for lane in self.lanes]))


def results(calls: Sequence[Future[Any]]) -> list[Any]:
    """The results of calls that were begun together."""
    return [each.result() for each in calls]


class SpreadLearner(BaseLearner):
    """A learner whose state is in lanes: one for all tasks, or several with a part of the tasks each.

    Parameters
    ----------
    learner : BaseLearner
        What learns. In several parts it is a :class:`LinearLearner` whose tasks can be cut, see :func:`why_whole`.
    engine : LaneEngine
        Has the lanes.
    name : str
        The name of the lane; parts are numbered.
    parts : int
        The number of lanes.
    """

    def __init__(self, learner: BaseLearner, engine: LaneEngine, name: str, parts: int = 1) -> None:
        self.learner: Any = learner  # of parts it is a LinearLearner
        self.parts, self._engine, self._name = parts, engine, name
        why = "a model that several workers learn cannot forget tasks meanwhile"
        self.traits = replace(learner.traits, asks=True, cannot_drop=why)

    # -- tasks

    def init(self, tasks: Index, size: Size, length: int | None = None) -> SpreadState:
        """The state before the first round."""
        names = names_of_parts(self._name, self.parts)

        def make() -> list[Lane]:
            return [self._engine.lane(name, self.learner, size, length) for name in names]

        state = SpreadState(make, tasks, size, len(self.learner.traits.named))
        if len(tasks) > state.known:
            self.grow(state, len(tasks), size)
        return state

    def refuse(self, state: SpreadState, tasks: Sequence[Hashable]) -> None:
        """Refuse new tasks that the relation cannot have: ValueError naming the first."""
        index = Index(self.learner.traits.named)
        self.learner.refuse(self.learner.init(index, Size(1)), tasks)

    def grow(self, state: SpreadState, tasks: int, size: Size, counted: bool = True) -> None:
        """Make room for the first so many tasks of the index and for records so wide."""
        if tasks <= state.known and size.features <= state.features:
            return
        state.size = state.size._replace(features=max(size.features, state.features))
        coming = self._met(state, state.tasks.sequence[state.known : tasks])
        state.known = tasks
        results([lane.start("grow", some, state.size, counted) for lane, some in zip(state.lanes, coming, strict=True)])

    def _met(self, state: SpreadState, new: Sequence[Hashable]) -> list[Sequence[Hashable]]:
        """Number tasks that are new in their parts; returns those of each part."""
        if self.parts == 1:
            return [list(new)]
        of = parts_of(new, self.parts, self.learner.relation)
        held = np.bincount(state.part, minlength=self.parts)
        number = np.zeros(len(new), np.int64)
        coming: list[Sequence[Hashable]] = []
        for v in range(self.parts):
            mine = np.flatnonzero(of == v)
            number[mine] = held[v] + np.arange(len(mine))
            coming.append([new[i] for i in mine.tolist()])
        state.part, state.number = np.append(state.part, of), np.append(state.number, number)
        return coming

    def drop(self, state: SpreadState, dropped: Dropped, tasks: Sequence[Hashable]) -> None:
        """Never called: a model can forget once it is whole again."""
        raise ValueError(self.traits.cannot_drop)

    # -- rounds

    def learn(self, state: SpreadState, run: Run, y: NDArray[Any]) -> Learned:
        """Predict and learn records one after the other, each part its own."""
        if run.asker is not EVERY:
            raise ValueError("labels cannot be asked for by several workers: the answer depends on all of them")
        state.rounds += len(y)
        if self.parts == 1:
            done: Learned = state.lanes[0].start("learn", run.rows, None, run.tasks, y, run.told).result()
            return done
        if len(y) < len(run.tasks) or run.told is not None:
            raise ValueError("labels that come late cannot be learned in parts")
        places, number = places_of(state.part[run.tasks]), state.number[run.tasks]
        made: list[Learned] = results(
            [state.lanes[v].start("learn", run.rows, at, number[at], y[at], None) for v, at in places.items()]
        )
        margins, own, steps = np.zeros((3, len(y)))
        for at, done in zip(places.values(), made, strict=True):
            margins[at], own[at], steps[at] = done.told.margins, done.own, done.steps
        return Learned(Told(margins), own, steps)

    def predict(self, state: SpreadState, run: Run) -> Told:
        """Predict records, each part its own."""
        if self.parts == 1:
            told: Told = state.lanes[0].start("predict", run.rows, None, run.tasks, run.unseen).result()
            return told
        n, known = len(run.tasks), run.tasks >= 0
        part, number = np.zeros(n, np.int64), np.full(n, -1)
        part[known], number[known] = state.part[run.tasks[known]], state.number[run.tasks[known]]
        part[~known] = parts_of(run.unseen, self.parts, self.learner.relation)
        labels = np.full(n, None, object)
        labels[~known] = np.fromiter(run.unseen, object, len(run.unseen))
        places, margins = places_of(part), np.zeros(n)
        made = results(
            [
                state.lanes[v].start("predict", run.rows, at, number[at], labels[at][number[at] < 0].tolist())
                for v, at in places.items()
            ]
        )
        for at, each in zip(places.values(), made, strict=True):
            margins[at] = each.margins
        return Told(margins)

    def skip(self, state: SpreadState, rounds: int) -> None:
        """End rounds that have no labels."""
        results([lane.start("skip", rounds) for lane in state.lanes])
        state.rounds += rounds

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

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> SpreadState:
        """Undo :meth:`dump`."""
        index = Index(tasks.labels)  # the lanes', which they add tasks to by themselves
        whole = self.learner.restore(data, arrays, index)
        state = self.init(Index(self.learner.traits.named), Size(whole.features, getattr(whole, "dense", False)))
        state.tasks, state.rounds, state.known = tasks, whole.rounds, len(tasks)
        self._met(state, index.labels)
        if self.parts == 1:
            state.lanes[0].take(whole, index)
            return state
        for v, lane in enumerate(state.lanes):
            some = some_tasks(self.learner, whole, np.flatnonzero(state.part == v))
            lane.take(some, some.tasks)
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


def without_lanes(learner: Any) -> Any:
    """The learner that one in lanes has."""
    return learner.learner if isinstance(learner, SpreadLearner) else learner


def spread(learner: BaseLearner, engine: LaneEngine, name: str = "", late: bool = False) -> BaseLearner:
    """The same learner with its state in lanes: members apart from each other, independent tasks cut into parts.

    Parameters
    ----------
    learner : BaseLearner
        What an estimator learns by.
    engine : LaneEngine
        Has the lanes, and says how many parts there are.
    name : str
        What the names of the lanes begin with.
    late : bool
        Whether labels come late: then no tasks are cut, for whose label comes next depends on all of them.
    """
    members = learner.members()
    if not members:
        parts = 1 if late or why_whole(learner) else engine.parts
        return SpreadLearner(learner, engine, name or "all", parts)
    made: Any = learner
    made = made.apart([spread(each, engine, f"{name}{own}", late) for own, each in members])
    made.gather = at_once
    return made  # type: ignore[no-any-return]


def members_of(learner: BaseLearner) -> list[tuple[str, BaseLearner]]:
    """The members of a learner that learn apart from each other, with the names of their lanes.

    Examples
    --------
    >>> from coterie import AdaptiveSharingClassifier
    >>> [name for name, _ in members_of(AdaptiveSharingClassifier(members="cheap").__stream_model__().learner)]
    ['member 0', 'member 1']
    """
    found = []
    for name, each in learner.members():
        inner = members_of(each) if name == CLASS else [("", each)]
        found += [(f"{name}{own}", one) for own, one in inner]
    return found or [("all", learner)]


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
            stack.enter_context(learning_by(model, learner))
        yield


@contextmanager
def learning_by(model: OnlineModel, learner: BaseLearner) -> Iterator[None]:
    """Let a model learn by another learner, which learns the same to the last bit, for as long as the context lasts."""
    settings = model.settings
    with model.lock:
        model.version += 1
        model.settings = replace(settings, learner=learner, decider=learner)
    try:
        with model.population.learning_by(learner, model.lock):
            yield
    finally:
        with model.lock:
            model.version += 1
            model.settings = settings


def model_of_tasks(model: Any) -> OnlineModel | None:
    """The inner model of an online estimator of tasks; None of another one."""
    inner = stream_model_of(model)
    return inner if isinstance(inner, OnlineModel) and inner.learner.traits.has_tasks else None


def online_model(model: Any, name: str = "the model") -> OnlineModel:
    """The inner model of an estimator that can learn in lanes; ValueError for another one."""
    inner = model_of_tasks(model)
    if inner is None:
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
    if workers == 1 or len(members) > 1 or members[0][0].startswith(CLASS):
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
