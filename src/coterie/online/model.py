"""The inner model of an online estimator: its learner, state, labels, form of records, and one lock for all.

An estimator holds what users type; each of its verbs is one call of an :class:`OnlineModel`. Progressive validation,
comparisons, selective sampling, files and commands talk to it by :class:`coterie.evaluation.stream_model.StreamModel`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from threading import RLock
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.evaluation.stream_model import Asking, BlockPredictions, Margins, Rounds
from coterie.evaluation.view_weights import ViewWeights
from coterie.explanation import Explanation, Weight, explanation_of, largest
from coterie.index import Whole, occurring
from coterie.inputs import tabular
from coterie.inputs.block import Block
from coterie.inputs.input import AnyInput, Input, InputOptions, Records, all_or_nothing
from coterie.inputs.labels import Labels
from coterie.learner import StreamLearner, nothing
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.records import Csr, weighted
from coterie.numeric.primal.asking import EVERY
from coterie.numeric.primal.calls import BoundCall

from .bounded import Recency, Turnover
from .forks import whole_in_children
from .weighing import BALANCED, Weighing, sample_weights

Arrays = dict[str, NDArray[Any]]
F = TypeVar("F", bound=Callable[..., Any])

#: The refusal of weights for a learner that cannot weigh records.
_UNWEIGHED = "a learner such as {} weighs no records: leave out {}"

#: The array of a file that has the order in which tasks were last seen.
RECENCY = "recency"

#: A label for a task that no record has, and the most weights of tasks that are averaged.
_NOBODY, MOST_WEIGHTS = "", 20_000_000

#: The number of one task that nobody has seen.
_UNSEEN = np.array([-1])

#: The labels' own variance in the probability of a label, measured for AROW with r from 3 to 30.
LABELS_VARIANCE = 0.25


def exclusive(method: F) -> F:
    """Make a method hold the model's lock.

    Compiled code holds no interpreter lock, and learning makes tables anew while they grow; a call that came between
    would read and write memory that is no longer there. Each model has a lock of its own, so several learn in parallel.
    """

    @wraps(method)
    def held(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.lock:
            return method(self, *args, **kwargs)

    return cast(F, held)


class _learning(all_or_nothing):  # noqa: N801 - used as a statement
    """Take back also what a model has made for records that are refused inside: its first state, room for features.

    Where records were learned all the same, as before a warning that is an error, all stays as they need it.
    """

    __slots__ = ("_first", "_labels", "_model", "_narrow", "_rounds")

    def __init__(self, model: OnlineModel) -> None:
        super().__init__(model.input, model.fitted)
        self._model, self._labels, self._first = model, model.labels, model.state is None
        self._narrow = nothing if self._first else model.learner.hold_room(model.state)
        self._rounds = 0 if self._first else model.state.rounds

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        model = self._model
        if kind is None or (model.state is not None and model.state.rounds != self._rounds):
            return
        super().__exit__(kind, *rest)
        self._narrow()
        if self._first and model.recency is None:
            model.fast, model.state, model.labels = None, None, self._labels


@dataclass(frozen=True)
class Settings:
    """An estimator's parameters as the inner model takes them.

    Attributes
    ----------
    learner : StreamLearner
        Learns, and gives margins.
    decider : StreamLearner
        Gives margins of which only the sign is right, where that is cheaper; the learner itself elsewhere.
    labels : callable
        Makes the labels of what is kept of them; of None where none is known.
    reading : InputOptions
        How records are read.
    new_task : {"grow", "raise"}
        Whether a task that was never seen is taken up or refused.
    max_tasks : int, optional
        How many tasks may be known; None where any number may be.
    class_weight : mapping, "balanced" or None
        The weights of records by their labels; see :mod:`coterie.online.weighing`.
    """

    learner: StreamLearner
    decider: StreamLearner
    labels: Callable[[Any], Labels]
    reading: InputOptions
    new_task: str
    max_tasks: int | None = None
    class_weight: Any = None


class OnlineModel:
    """A learner with its state, its labels and the form of its records, shared by threads one call at a time.

    Attributes
    ----------
    lock : RLock
        Held by what learns, predicts, copies or saves; neither copied, nor pickled, nor saved.
    fast : FastLane or None
        Rounds of single dictionaries in which nothing is new, ready to be called; None until it is known to pay, and
        after anything has changed.
    parameters, settings
        The estimator's parameters for which the settings were made, and these.
    state, labels, input
        What was learned (None before), the labels found so far, and the form of records.
    recency : Recency or None
        When tasks were last seen, where there may be so many only.
    weighing : Weighing
        The weights of records by their labels.
    """

    settings: Settings

    def __init__(self, source: AnyInput) -> None:
        self.lock = RLock()
        whole_in_children(self)
        self.parameters: tuple[Any, ...] | None = None
        self.fast: FastLane | None = None
        self.state: Any = None
        self.labels: Labels | None = None
        self.input = source
        self.recency: Recency | None = None
        self.weighing = Weighing()

    def configure(self, parameters: tuple[Any, ...], settings: Settings, names: Sequence[str] = ()) -> None:
        """Go on under these parameters, of which these are others than before; refuse them if that cannot be."""
        if self.state is not None:
            if names or _parts_of(self.settings.learner) != _parts_of(settings.learner):
                _require_alike(self.settings.learner, settings.learner, self.state, names)
            settings.learner.adopt(self.state)
        if settings.max_tasks is None:
            self.recency = None
        else:
            settings.learner.check_bounded()
            self.recency = self.recency or Recency(range(len(self.known_tasks)))
        if settings.class_weight is not None and not settings.learner.weighs:
            raise ValueError(_UNWEIGHED.format(type(settings.learner).__name__, "class_weight"))
        self.fast = None
        self.parameters, self.settings = parameters, settings
        self.weighing = self.weighing.under(settings.class_weight)
        self.input.configure(settings.reading)

    # -- copies ---------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """The state for copies and :mod:`pickle`: all but the lock, copied, since the original goes on changing."""
        with self.lock:
            held = {name: each for name, each in self.__dict__.items() if name not in ("lock", "fast", "parameters")}
            return copy.deepcopy(held) | {"parameters": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> OnlineModel:
        made = memo[id(self)] = OnlineModel.__new__(OnlineModel)
        made.__setstate__(self.__getstate__())
        return made

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock, self.fast = RLock(), None
        whole_in_children(self)

    @exclusive
    def replace(self, other: OnlineModel) -> None:
        """Become what another model has learned, and forget all else."""
        self.fast = None
        self.parameters, self.settings = other.parameters, other.settings
        self.state, self.labels, self.input, self.recency = other.state, other.labels, other.input, other.recency
        self.weighing = other.weighing

    # -- facts ----------------------------------------------------------------------------------------------------

    @property
    def fitted(self) -> bool:
        """True once a record was learned."""
        return self.state is not None

    def with_state(self, learner: StreamLearner, state: Any) -> OnlineModel:
        """Another model with this learner and state, to be saved; all else it shares with this one."""
        made = OnlineModel(self.input)
        made.parameters, made.settings = self.parameters, replace(self.settings, learner=learner, decider=learner)
        made.labels, made.weighing, made.state = self.labels, self.weighing, state
        return made

    @contextmanager
    def learning_by(self, learner: StreamLearner) -> Iterator[None]:
        """Learn by another learner, which learns the same to the last bit, for as long as the context lasts.

        What was learned comes back also after an error; where it cannot, the model is as it was.
        """
        settings, before, broken = self.settings, self.state, True
        with self.lock:
            self._hand_over(learner)
        try:
            yield
            broken = False
        finally:
            with self.lock:
                try:
                    self._hand_over(settings.learner)
                except Exception:
                    self.state = before
                    if not broken:
                        raise
                finally:
                    self.settings = settings

    def _hand_over(self, learner: StreamLearner) -> None:
        self.fast = None
        if self.state is not None:
            self.state = learner.restore(*self.learner.dump(self.state), list(self.known_tasks))
        self.settings = replace(self.settings, learner=learner, decider=learner)

    @property
    def learner(self) -> StreamLearner:
        """The learner."""
        return self.settings.learner

    @property
    def known_tasks(self) -> Sequence[Hashable]:
        """The tasks learned so far, in order of first appearance."""
        labels: Sequence[Hashable] = () if self.state is None else self.state.tasks.labels
        return labels

    @property
    def label_kind(self) -> Labels:
        """The labels known, or those there may be before any came."""
        return self.settings.labels(None) if self.labels is None else self.labels

    @property
    def encoder(self) -> Any:
        """The encoder by which records of files became rows; None where no file was read."""
        return self.input.encoder

    @encoder.setter
    def encoder(self, encoder: Any) -> None:
        with self.lock:
            self.fast = None
            self.input.encoder = encoder

    @property
    def has_tasks(self) -> bool:
        """False for a model of records of several views."""
        return self.settings.learner.has_tasks

    @property
    def log_odds(self) -> float | None:
        """The factor that makes log-odds of margins; None where margins cannot become log-odds."""
        return self.learner.log_odds

    @exclusive
    def weights(self) -> NDArray[Any]:
        """The weights that predictions use, on the scale of the labels: shape (n_tasks, n_features), dense."""
        if not self.learner.has_tasks:
            raise AttributeError("a model of several views has weights for each view, and no coef_")
        return np.asarray(self.label_kind.factor * self.learner.weights(self.state))

    @exclusive
    def relation_matrix(self, tasks: Sequence[Hashable] | None = None) -> NDArray[np.float64]:
        """A⁻¹ on the paper's scale for the tasks known, or for some of them; ValueError for one that is not known."""
        if tasks is None:
            return self.learner.relation_matrix(self.state)
        numbers = self.state.tasks.numbers
        for task in tasks:
            if task not in numbers:
                raise ValueError(f"task {task!r} was never seen: the model knows {len(numbers)} tasks, see tasks_")
        return self.learner.relation_matrix(self.state, [numbers[task] for task in tasks])

    @exclusive
    def task_checks(self) -> list[Callable[[Sequence[Hashable]], Any]]:
        """Functions that raise ValueError for tasks of which one would be refused."""
        learner = self.learner
        state = learner.init() if self.state is None else self.state
        checks: list[Callable[[Sequence[Hashable]], Any]] = [
            spec.check_labels,
            lambda tasks: learner.check_tasks(state, tasks),
        ]
        if self.fitted and self.settings.new_task == "raise":
            known = set(self.known_tasks)

            def seen(tasks: Sequence[Hashable]) -> None:
                for task in tasks:
                    if task not in known:
                        raise ValueError(f"task {task!r} was never seen, and the model refuses new tasks")

            checks.append(seen)
        return checks

    # -- learning -------------------------------------------------------------------------------------------------

    @exclusive
    def learn_rounds(
        self,
        X: Any,
        y: Any,
        task: Any = None,
        *,
        tasks: Sequence[Hashable] | None = None,
        classes: Any = None,
        weights: Any = None,
        late: int = 0,
        whole: bool = False,
        passes: int = 1,
    ) -> Rounds:
        """Predict and then learn each record in turn.

        Parameters
        ----------
        X, y, task, tasks, classes
            The records, their labels and tasks; tasks to know, and labels there will be.
        weights
            The weights of the records.
        late : int
            The labels come so many rounds late: the last ``late`` records are predicted and not learned.
        whole : bool
            True if these records are all there are, so that one label alone is an error.
        passes : int
            How many times they will be learned, if they are all there are.
        """
        with _learning(self):
            labels = self._labels_copied()
            records, y = self.input.read_labelled(X, y, task, labels, not self.fitted)
            if classes is not None:
                labels.values(classes)
            values = labels.values(y)
            if whole:
                labels.require_whole()
            length = passes * len(values) if whole else None
            records = self.input.with_tasks(records, self.known_tasks)
            given = sample_weights(weights, len(values), whole)
            weighing = self.weighing.under(self.settings.class_weight)
            records = self._weighed(records, weighing.of(y, given, max(len(values) - late, 0)))
            return self._learn(records, labels, values, tasks or (), late, length, None, weighing)

    def _weighed(self, records: Records, weights: NDArray[np.float64] | None) -> Records:
        """Records with their weights: ValueError where the learner weighs none."""
        if weights is None:
            return records
        if not self.learner.weighs:
            raise ValueError(_UNWEIGHED.format(type(self.learner).__name__, "sample_weight"))
        return records._replace(rows=weighted(records.rows, weights))

    @exclusive
    def share_form(self, other: OnlineModel) -> bool:
        """Go on with the form of records that another model has if both have read alike so far; whether they have.

        A block that one of them has read is then as the other would read it, and the other learns that block. From then
        on one lock protects both no more: one thread at a time may use them.
        """
        mine, its = self.input, other.input
        shared = type(mine) is type(its) is Input and self.fitted and other.fitted and mine.is_like(its)
        if shared:
            self.input, self.fast = its, None
        return shared

    @exclusive
    def as_block(self, X: Any, y: Any, task: Any = None, weights: Any = None, whole: bool = False) -> Block:
        """Validate records given in any form, for :meth:`learn_block`; ``whole`` as in :meth:`learn_rounds`."""
        with all_or_nothing(self.input, self.fitted):
            labels = self._labels_copied()
            records, y = self.input.read_labelled(X, y, task, labels, not self.fitted)
            labels.values(y)
            if whole:
                labels.require_whole()
            records = self.input.with_tasks(records, self.known_tasks)
            if self.fitted and not self.input.has_room(self.state, records.width):
                self.fast = None  # names that are new have columns now, and predictions may come to them
                self.input.fit_state(self.learner, self.state, (), records.width)
            block = self.input.as_block(records, labels.array(y))
            return block if weights is None else replace(block, weight=sample_weights(weights, len(block), whole))

    @exclusive
    def learn_block(
        self,
        block: Block,
        late: int = 0,
        tasks: Sequence[Hashable] = (),
        length: int | None = None,
        asking: Asking | None = None,
    ) -> Rounds:
        """Predict and then learn each record of a validated block; see :class:`StreamModel`."""
        if block.y is None:
            raise ValueError("records without labels can be predicted, not learned")
        with _learning(self):
            records = self.input.read_block(block, not self.fitted)
            labels, weighing = self._labels_copied(), self.weighing.under(self.settings.class_weight)
            values = labels.values(block.y)
            records = self._weighed(records, weighing.of(block.y, block.weight, max(len(values) - late, 0)))
            return self._learn(records, labels, values, tasks, late, length, asking, weighing)

    @exclusive
    def learn_at_once(
        self,
        X: Any,
        y: NDArray[Any],
        given: NDArray[np.bool_],
        tasks: Sequence[Hashable],
        *,
        weights: Any = None,
        classes: Any = None,
        whole: bool = False,
        passes: int = 1,
    ) -> tuple[Margins, NDArray[np.bool_]]:
        """Let tasks predict each record and then learn its labels, each by its own prediction; margins, and who moved.

        Parameters
        ----------
        X
            The records, or a block of them.
        y, given
            A label for each record and task, shape (n, K), and which of them there are.
        tasks
            The tasks, in the order of these columns.
        weights, classes, whole, passes
            As in :meth:`learn_rounds`.
        """
        self.learner.check_at_once()
        n, K = y.shape
        with _learning(self):
            labels = self._labels_copied()
            records = self._records_alone(X, learning=True)
            if records.rows.n_records != n:
                raise ValueError(f"y must hold one row a record: got {n} for {records.rows.n_records} records")
            counted = sample_weights(weights, n, whole)
            if classes is not None:
                labels.values(classes)
            came = y[given]
            if came.dtype.kind == "f":
                if np.isinf(came).any():
                    raise ValueError("Input y contains infinity, which is no label")
                labels.check(came)
            values = labels.values(came.tolist() if came.dtype.kind == "O" else came)
            if whole and not len(values):
                raise ValueError("y holds no label: all are missing")
            if whole:
                labels.require_whole()
            records = self._weighed(records, counted)
            state = self._state_with(tasks, records, passes * len(values) if whole else None)
            self.fast, self.labels = None, labels
            of_labels = None if counted is None else np.repeat(counted, K)[given.ravel()]
            inside = labels.learn(values, len(values), of_labels)
            told = np.full((n, K), np.nan)
            told[given] = inside.y
            margins, taus = self.learner.update_at_once(state, records.rows, state.tasks.find(tasks), told)
            before = np.append(0, np.cumsum(given.sum(axis=1)))[:n]  # labels before each record
            shift, factor = (
                np.append(np.broadcast_to(each, len(values)), last)[before, None]
                for each, last in ((inside.shift, labels.shift), (inside.factor, labels.factor))
            )
            return shift + factor * margins, taus > 0.0

    @exclusive
    def decide_at_once(self, X: Any, tasks: Sequence[Hashable]) -> Margins:
        """The margin of each record for each of these tasks, shape (n, K); nothing is learned."""
        records, labels = self._records_alone(X, learning=False), self.label_kind
        self._refuse_unseen(tasks)
        n, learner = records.rows.n_records, self.learner
        each = [
            learner.score_any(self.state, records.rows, np.full(n, number), [] if number >= 0 else [task] * n)
            for task, number in zip(tasks, self.state.tasks.find(tasks).tolist(), strict=True)
        ]
        return np.asarray(labels.shift + labels.factor * np.column_stack(each))

    def _records_alone(self, X: Any, learning: bool) -> Records:
        """Records without tasks, or a block of them."""
        first = learning and not self.fitted
        if isinstance(X, Block):
            return self.input.read_block(X, first)
        source = cast(Input, self.input)  # tasks with views or spaces of their own do not learn at once
        rows, width = source.read_rows(X, first, learning)
        return Records(rows, width, ())

    def _labels_copied(self) -> Labels:
        """The labels known, as a copy."""
        return self.settings.labels(None if self.labels is None else self.labels.inside)

    def _learn(
        self,
        records: Records,
        labels: Labels,
        values: NDArray[Any],
        tasks: Sequence[Hashable],
        late: int,
        length: int | None,
        asking: Asking | None,
        weighing: Weighing,
    ) -> Rounds:
        if late < 0:
            raise ValueError(f"late must be at least 0 rounds, got {late!r}")
        if self.recency is not None:
            return self._learn_bounded(self.recency, records, labels, values, late, length, asking, weighing)
        state, codes, new = self._numbered(records, tasks, length)
        self.fast, self.labels, self.weighing = None, labels, weighing
        asker = None if asking is None else asking(len(state.tasks) + len(new))
        last = max(len(values) - late, 0)
        inside = labels.learn(values, last, getattr(records.rows, "weights", None))
        moves = self.learner.update_many(
            state, records.rows, codes, inside.y, last, EVERY if asker is None else asker, new
        )
        asked = np.ones(len(values), bool) if asker is None else asker.answer > 0
        return self._rounds(labels, inside, moves, asked)

    def _rounds(self, labels: Labels, inside: Any, moves: Any, asked: NDArray[np.bool_]) -> Rounds:
        noted = self.learner.noted(self.state, moves)
        weights = None if noted.lengths is None else ViewWeights(noted.names, noted.ends, noted.lengths)
        return Rounds(labels.told(moves.margins, inside), moves.taus > 0, asked, noted.stored, noted.evicted, weights)

    def _learn_bounded(
        self,
        recency: Recency,
        records: Records,
        labels: Labels,
        values: NDArray[Any],
        late: int,
        length: int | None,
        asking: Asking | None,
        weighing: Weighing,
    ) -> Rounds:
        """As :meth:`_learn` under ``max_tasks``, each task being known from its first record on."""
        if late or asking is not None:
            what = "labels that come late" if late else "selective sampling"
            raise ValueError(f"max_tasks={self.settings.max_tasks} cannot be had with {what}: leave one of them out")
        distinct, places = occurring(records.task)
        state = self._bounded_state(distinct, records, length)
        self.fast, self.labels, self.weighing = None, labels, weighing
        inside = labels.learn(values, len(values), getattr(records.rows, "weights", None))
        most = int(self.settings.max_tasks or 0)
        together = max(most // 4, 1) if self.learner.comes_unnoticed else 1
        turnover = Turnover(state.tasks.find(distinct), places, recency, most, together)
        made = []
        for piece in turnover.pieces(len(state.tasks)):
            self._turn_over(recency, [distinct[place] for place in piece.coming], piece.leaving, records.width)
            codes = turnover.numbers[places[piece.first : piece.last]]
            rows = records.rows.cut(piece.first, piece.last)
            made.append(self.learner.update_many(state, rows, codes, inside.y[piece.first : piece.last]))
            recency.see(codes)
        moves = made[0] if len(made) == 1 else type(made[0])(*map(np.concatenate, zip(*made, strict=True)))
        return self._rounds(labels, inside, moves, np.ones(len(values), bool))

    def _bounded_state(self, tasks: Sequence[Hashable], records: Records, length: int | None) -> Any:
        """The state with no more tasks than there may be, which would take these: ValueError for one refused."""
        self._require_kept(tasks)
        if self.state is None:
            state = self.input.init_state(self.learner, (), records, length)
            self.learner.check_tasks(state, tasks)
            self.state = state
        self._refuse_unseen(tasks)
        self.learner.check_tasks(self.state, tasks)
        self._shed()
        return self.state

    def _turn_over(self, recency: Recency, coming: Sequence[Hashable], leaving: Sequence[int], width: int) -> None:
        """Let tasks come, the last of which take the numbers of those that leave."""
        if coming or not self.input.has_room(self.state, width):
            self.input.fit_state(self.learner, self.state, coming, width)
            recency.join(len(coming))
        if leaving:
            self._drop(leaving)

    def _shed(self) -> None:
        """Forget the tasks beyond those that there may be, as after a change of how many that is."""
        if self.recency is not None and len(self.state.tasks) > int(self.settings.max_tasks or 0):
            excess = len(self.state.tasks) - int(self.settings.max_tasks or 0)
            self._drop(self.recency.order[:excess].tolist())

    def _numbered(
        self, records: Records, tasks: Sequence[Hashable], length: int | None
    ) -> tuple[Any, NDArray[np.int64], Sequence[Hashable]]:
        """The state with room for the tasks named and these records, the number of each record's task, and new tasks.

        These have the numbers behind those known, in the order of their first records.
        """
        roomy = self.fitted and not tasks and self.input.has_room(self.state, records.width)
        codes = self.state.tasks.codes_of_known(records.task) if roomy else None
        if codes is not None:
            return self.state, codes, ()
        distinct, places = occurring(records.task)
        if roomy:
            numbers = self.state.tasks.find(distinct)
            if numbers.min(initial=0) >= 0:
                return self.state, numbers[places], ()
        state = self._state_with(tasks, records, length, distinct)
        numbers, known = state.tasks.find(distinct), len(state.tasks)
        fresh = np.flatnonzero(numbers < 0)
        numbers[fresh] = known + np.arange(len(fresh))
        new = distinct if len(fresh) == len(distinct) else state.tasks.new_among(distinct)
        return state, numbers[places], new

    def _state_with(
        self,
        tasks: Sequence[Hashable],
        records: Records,
        length: int | None = None,
        coming: Sequence[Hashable] = (),
    ) -> Any:
        """The state with room for these tasks and records, made if there is none; those ``coming`` are checked only."""
        if self.learner.counts_features and self.input.grows and len(coming):
            records = records._replace(width=1 if self.state is None else self.state.features)
        self._require_kept([*tasks, *coming] if tasks else coming)
        if self.state is None:
            state = self.input.init_state(self.learner, tasks, records, length, coming)
            self.learner.check_tasks(state, coming)
            self.state = state
            return state
        every = [*tasks, *coming] if tasks else coming
        self._refuse_unseen(every)
        self.learner.check_tasks(self.state, every)
        self.input.fit_state(self.learner, self.state, tasks, records.width)
        return self.state

    def _require_kept(self, tasks: Sequence[Hashable]) -> None:
        """Refuse new tasks that no file could give back."""
        if not isinstance(tasks, Whole):  # which are whole numbers
            known = self.known_tasks if self.state is None else self.state.tasks.numbers
            spec.check_labels(task for task in tasks if task not in known)

    def _refuse_unseen(self, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that were never seen, if the parameters say so."""
        if self.settings.new_task == "raise":
            unseen = self.state.tasks.new_among(tasks)
            if unseen:
                raise ValueError(f"task {unseen[0]!r} was never seen and new_task is 'raise'")

    @exclusive
    def skip_unlabelled(self, rounds: int = 1) -> None:
        """End rounds whose labels will not come: means and clocks go on, nothing is learned."""
        if self.fitted:
            self.learner.skip_unlabelled(self.state, rounds)

    @exclusive
    def inform(self, chance: Any) -> None:
        """Update what the chance of asking has stored of a learned relation."""
        self.learner.inform(self.state, chance)

    # -- forgetting ------------------------------------------------------------------------------------------------

    @exclusive
    def forget_tasks(self, tasks: Sequence[Hashable]) -> None:
        """Drop tasks and their own weights; nothing is changed where one is not known, or cannot be dropped."""
        if not self.learner.has_tasks:
            self.learner.check_dropping(self.state)
        numbers = self.state.tasks.numbers
        for task in tasks:
            if task not in numbers:
                raise ValueError(f"task {task!r} was never seen: the model knows {len(numbers)} tasks, see tasks_")
        self.learner.check_dropping(self.state)
        self._drop([numbers[task] for task in dict.fromkeys(tasks)])

    def _drop(self, numbers: Sequence[int]) -> None:
        self.fast = None
        dropped = Dropped.of(numbers, len(self.state.tasks), self.learner.names_tasks)
        self.learner.drop_tasks(self.state, dropped)
        if self.recency is not None:
            self.recency.drop(dropped)

    # -- predicting -----------------------------------------------------------------------------------------------

    @exclusive
    def predict(self, X: Any, task: Any = None) -> NDArray[Any]:
        """The predicted label of each record."""
        records = self.input.read(X, task, self.known_tasks)
        return np.asarray(self.label_kind.labels(self._margins(records, self.settings.decider)))

    @exclusive
    def decision_function(self, X: Any, task: Any = None) -> Margins:
        """The margin of each record, columns as ``classes_`` where there are several."""
        return self.label_kind.decision(self._margins(self.input.read(X, task, self.known_tasks)))

    @exclusive
    def predict_proba(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """The probability of each label, columns as ``classes_``."""
        return self._probabilities(self.input.read(X, task, self.known_tasks))

    @exclusive
    def margin_variance(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """The variance of each record's margin, by what was learned."""
        return self._variances(self.input.read(X, task, self.known_tasks))

    @exclusive
    def predict_interval(self, X: Any, task: Any, level: float) -> NDArray[np.float64]:
        """Intervals of labels that are numbers, of that level, shape (n, 2)."""
        check_level(level)
        return self._intervals(self.input.read(X, task, self.known_tasks), level)[1]

    @exclusive
    def predict_interval_one(self, x: Any, task: Hashable, level: float) -> tuple[float, float]:
        """The interval of the label of one record."""
        check_level(level)
        row, width, task = self.input.read_one(x, task, self.known_tasks, learning=False)
        tasks = np.empty(1, object)
        tasks[0] = task
        low, high = self._intervals(Records(row, width, tasks), level)[1][0].tolist()
        return low, high

    def _intervals(self, records: Records, level: float) -> tuple[Margins, NDArray[np.float64]]:
        """Margins of the outside, and the intervals of the labels."""
        codes, unseen = self._codes(records)
        labels = self.label_kind
        margins, ends = self.learner.intervals(self.state, records.rows, codes, unseen, level)
        return labels.shift + labels.factor * margins, labels.shift + labels.factor * ends

    def _probabilities(self, records: Records) -> NDArray[np.float64]:
        margins, labels = self._margins(records), self.label_kind
        if not self.learner.has_variances:
            return labels.probabilities(margins, self.log_odds)
        z = margins / np.sqrt(LABELS_VARIANCE + self._variances(records))
        return labels.columns(_normal(-z), _normal(z))  # type: ignore[attr-defined, no-any-return]

    def _margins(self, records: Records, learner: StreamLearner | None = None) -> Margins:
        """Margins on the scale of the labels; only their signs are right if the learner is the decider."""
        labels = self.label_kind
        margins = np.asarray(labels.shift + labels.factor * self._inside(records, learner or self.learner))
        return margins if records.shape is None else margins.reshape(records.shape)

    def _inside(self, records: Records, learner: StreamLearner) -> Margins:
        codes, unseen = self._codes(records)
        return np.asarray(learner.score_any(self.state, records.rows, codes, unseen))

    def _codes(self, records: Records) -> tuple[NDArray[np.int64], list[Hashable]]:
        """The number of each record's task, -1 for one that was never seen, and the labels of these in order."""
        distinct, places = occurring(records.task)
        self._refuse_unseen(distinct)
        numbers = self.state.tasks.find(distinct)
        if numbers.min(initial=0) < 0:
            tabular.refuse_twins([distinct[i] for i in np.flatnonzero(numbers < 0).tolist()], self.state.tasks.numbers)
        codes = numbers[places]
        return codes, [distinct[place] for place in places[codes < 0]]

    def _variances(self, records: Records) -> NDArray[np.float64]:
        codes, unseen = self._codes(records)
        return np.asarray(self.learner.variances(self.state, records.rows, codes, unseen))

    # -- streams --------------------------------------------------------------------------------------------------

    @exclusive
    def predict_pending(self, block: Block) -> Rounds:
        """Predict a validated block whose labels come later; margins are 0 before anything is learned."""
        margin = self.decide_block(block) if self.fitted else np.zeros(len(block))
        return Rounds(margin, np.zeros(len(block), bool), np.ones(len(block), bool))

    @exclusive
    def decide_block(self, block: Block) -> Margins:
        """The margin of each record of a validated block; nothing is learned."""
        return self._margins(self.input.read_block(block, first=False))

    @exclusive
    def predict_block(self, block: Block, level: float = 0.9, all_labels: bool = False) -> BlockPredictions:
        """The prediction for each record of a validated block, with intervals of that level; nothing is learned."""
        records, labels = self.input.read_block(block, first=False), self.label_kind
        if self.learner.has_intervals:
            check_level(level)
            margins, ends = self._intervals(records, level)
            return BlockPredictions(block.tasks, labels.labels(margins), None, None, *ends.T)
        margins = self._margins(records)
        probability = labels.probability(margins, self.log_odds)
        if self.learner.has_variances and probability is not None:
            probability = _normal(margins / np.sqrt(LABELS_VARIANCE + self._variances(records)))
        task = block.tasks if self.learner.has_tasks else None
        told = BlockPredictions(task, labels.labels(margins), labels.strength(margins), probability)
        return told._replace(probabilities=self._probabilities(records)) if all_labels else told

    # -- one record at a time -------------------------------------------------------------------------------------

    def learn_one(self, x: Any, y: Any, task: Hashable = None, weight: Any = None) -> None:
        """Learn one record given as a dictionary of features; new features and tasks are taken up as they come."""
        lock = self.lock
        lock.acquire()  # in half the time that `with` takes, and a decorator would take longer still
        try:
            fast = None if weight is not None else self.fast
            labels = None if fast is None else fast.learn(x, y, task, self.labels)
            if labels is None:
                self._learn_one(x, y, task, weight)
            else:
                self.labels = labels
        finally:
            lock.release()

    def _learn_one(self, x: Any, y: Any, task: Hashable, weight: Any) -> None:
        self.fast = None
        if weight is not None or self.settings.class_weight is not None:
            self._learn_weighted_one(x, y, task, weight)
            return
        labels = self.label_kind.with_one(y)
        inside = labels.value(y)
        with _learning(self):
            row, number = self._row_of_one(x, task)
            self._update_one(row, number, labels, inside)
        self._open_fast_lane()

    def _update_one(self, row: Any, number: int, labels: Any, inside: Any) -> None:
        self.labels = labels
        self.learner.update_one(self.state, row, number, inside)
        if self.recency is not None:
            self.recency.see_one(number)

    def _learn_weighted_one(self, x: Any, y: Any, task: Hashable, weight: Any) -> None:
        labels, weighing = self._labels_copied(), self.weighing.under(self.settings.class_weight)
        values = labels.values([y])
        weights = weighing.of([y], sample_weights(weight, 1), 1)
        if weights is None or not self.learner.weighs:
            raise ValueError(_UNWEIGHED.format(type(self.learner).__name__, "sample_weight"))
        with _learning(self):
            row, number = self._row_of_one(x, task)
            self.labels, self.weighing = labels, weighing
            inside = labels.learn(values, 1, weights)
            self.learner.update_many(self.state, weighted(row, weights), np.array([number]), inside.y)
        if self.recency is not None:
            self.recency.see_one(number)

    def _row_of_one(self, x: Any, task: Hashable) -> tuple[Any, int]:
        """The row of a record to learn, for which there is room then, and the number of its task."""
        row, width, task = self.input.read_one(x, task, self.known_tasks, learning=True)
        known = self.state is not None and task in self.state.tasks.numbers
        if self.recency is not None:
            self._meet(self.recency, task, Records(row, width, np.zeros(0)))
        elif not (known and self.input.has_room(self.state, width)):
            self._state_with([task], Records(row, width, np.zeros(0)))
        return row, self.state.tasks.numbers[task]

    def _meet(self, recency: Recency, task: Hashable, records: Records) -> None:
        """Make room for a record; where there are as many tasks as there may be, another one leaves for a new one."""
        state = self._bounded_state([task], records, None)
        known = task in state.tasks.numbers
        full = len(state.tasks) >= int(self.settings.max_tasks or 0)
        leaving = [recency.oldest()] if full and not known else []
        self._turn_over(recency, [] if known else [task], leaving, records.width)

    def _open_fast_lane(self) -> None:
        """Prepare rounds of dictionaries in which nothing is new, once the model has stayed the same for some time."""
        records = None if self.settings.class_weight is not None else self.input.plain_records
        call = None if records is None else self.learner.bound_call(self.state, records)
        if call is not None:
            self.fast = FastLane(self.learner, self.state, call, self.recency)

    def decide_one(self, x: Any, task: Hashable = None) -> Any:
        """The margin of one record as it is outside; something has been learned."""
        lock = self.lock
        lock.acquire()
        try:
            return self._decide_one(x, task, self.settings.learner)
        finally:
            lock.release()

    def _decide_one(self, x: Any, task: Hashable, learner: StreamLearner) -> Any:
        fast, labels = self.fast, self.label_kind
        margin = math.nan if fast is None else fast.score(x, task)
        if margin != margin:
            margin = self._margin_of_one(x, task, learner)
        return labels.shift + labels.factor * margin

    def _margin_of_one(self, x: Any, task: Hashable, learner: StreamLearner) -> Any:
        """The learner's margin of one record, which may be of a new task or have new features."""
        row, _, task = self.input.read_one(x, task, self.known_tasks, learning=False)
        number = self.state.tasks.numbers.get(task)
        if number is not None:
            self._open_fast_lane()
            return learner.score_one(self.state, row, number)
        self._refuse_unseen([task])
        tabular.refuse_twins([task], self.state.tasks.numbers)
        return learner.score_any(self.state, row, _UNSEEN, [task])[0]

    @exclusive
    def learn_told(self, x: Any, y: Any, task: Hashable) -> Margins:
        """Predict and then learn one record, a dictionary; the margin predicted, as an array of one entry or row.

        The same bits as by a block of the record, in a tenth of the time.
        """
        before, labels = self.label_kind, self.label_kind.with_one(y)
        new = labels is not before and not before.numeric  # of many classes the margins get a column
        if not self.fitted or new or self.settings.class_weight is not None:
            return self.learn_block(self.as_block([x], [y], None if task is None else [task])).margin
        self.fast = None
        inside = labels.value(y)
        with _learning(self):
            # The scales learn of the record before it is predicted, as in a block.
            row, number = self._row_of_one(x, task)
            told = before.shift + before.factor * self.learner.score_one(self.state, row, number)
            self._update_one(row, number, labels, inside)
        return np.asarray(told)[None]

    @exclusive
    def explain(self, x: Any, task: Hashable = None) -> Explanation | dict[Hashable, Explanation]:
        """The margin of one record as a sum of its features' parts; of several classes, that of each.

        The parts are the margins of records of one feature each, less that of a record without features.
        """
        rows, width, task, names, given = self._row_of(x, task)
        tasks = np.empty(len(names) + 1, object)
        tasks.fill(task)
        alone = rows._replace(starts=np.append(0, np.arange(len(names) + 1)))  # no feature, then each feature
        codes, unseen = self._codes(Records(alone, width, tasks))
        labels, learner = self.label_kind, self.learner
        whole = learner.score_any(self.state, rows, codes[:1], unseen[:1])
        told = np.concatenate([whole, learner.linear_part(self.state, alone, codes, unseen)])
        outside = labels.decision(labels.shift + labels.factor * told)
        values = rows.values.tolist()
        if outside.ndim == 1:
            return explanation_of(names, values, outside, learner.beyond_features).giving(given)
        columns = zip(labels.ordered, outside.T, strict=True)
        made = {label: explanation_of(names, values, each, learner.beyond_features) for label, each in columns}
        return {label: each.giving(given) for label, each in made.items()}

    @exclusive
    def largest_weights(
        self, task: Hashable, n: int, spread: NDArray[np.float64] | None = None
    ) -> list[Weight] | dict[Hashable, list[Weight]]:
        """The largest weights, own ones of a task, shared ones without; of several classes, those of each."""
        if not self.learner.has_tasks:
            raise ValueError("a model of several views has weights for each view: see coef_")
        spec.check_positive("n", n)
        if task is not None and task not in self.state.tasks.numbers:
            raise ValueError(f"task {task!r} was never seen: the model knows {len(self.known_tasks)} tasks, see tasks_")
        own = None if task is None else self._weights_of(self.state.tasks.numbers[task])
        shared = self._shared_weights()
        own = None if own is None else own - shared
        if shared.ndim == 1:
            return largest(self.input.entry_names, shared, own, n, spread)
        each = zip(self.label_kind.ordered, shared.T, shared.T if own is None else own.T, strict=True)
        return {
            label: largest(self.input.entry_names, mine, None if own is None else its, n, spread)
            for label, mine, its in each
        }

    def _weights_of(self, number: int, unseen: Sequence[Hashable] = ()) -> NDArray[np.float64]:
        """The weights of a task, shape (d,), or (d, classes): margins of unit records, less that of an empty one."""
        d, labels = self.state.features, self.label_kind
        units = Csr(
            np.ones(d, self.settings.reading.dtype), np.arange(d, dtype=np.int32), np.append(0, np.arange(d + 1))
        )
        codes = np.full(d + 1, number)
        told = self.learner.linear_part(self.state, units, codes, list(unseen) * (d + 1))
        outside = labels.decision(labels.shift + labels.factor * told)
        return np.asarray(outside[1:] - outside[0])

    def _shared_weights(self) -> NDArray[np.float64]:
        """The weights of a task that nobody has seen; the mean over tasks where a new task would change the others."""
        if self.learner.comes_unnoticed:
            return self._weights_of(-1, [_NOBODY])
        some = max(1, min(len(self.state.tasks), MOST_WEIGHTS // max(self.state.features, 1)))
        return np.asarray(np.mean([self._weights_of(i) for i in range(some)], axis=0))

    def _row_of(self, x: Any, task: Hashable) -> tuple[Csr, int, Hashable, list[Hashable], Mapping[Any, Any]]:
        """One record given in any form as entries, the width, its task, names of the entries, and values as given."""
        if not self.learner.has_tasks:
            raise ValueError("a record of several views cannot be explained: its views have no weights of one list")
        record: Mapping[Any, Any] | None
        if isinstance(x, Mapping):
            record, given = x, x
            rows, width, task = self.input.read_one(x, task, self.known_tasks, learning=False)
        else:
            x = tabular.one_row(x)
            found = self.input.read(x, None if task is None else [task], self.known_tasks)
            rows, width, task = found.rows.to_csr(self.settings.reading.dtype), found.width, found.task[0]
            record, given = tabular.record_of(x), {}
            if record is not None:
                given = record
            elif not isinstance(x, Block):
                columns, values = tabular.entries_of(tabular.split_task(x, None, self.settings.reading.task_column)[0])
                given = dict(zip(self.input.entry_names(columns), values, strict=True))
        entries = slice(int(rows.starts[0]), int(rows.starts[-1]))
        rows = Csr(rows.values[entries], rows.features[entries], rows.starts - rows.starts[0])
        return rows, width, task, self.input.entry_names(rows.features.tolist(), record), given

    def predict_one(self, x: Any, task: Hashable = None) -> Any:
        """The label of one record; None, of a number 0.0, before anything is learned."""
        lock = self.lock
        lock.acquire()
        try:
            if self.state is None:
                return self.label_kind.unlearned
            return self.label_kind.label(self._decide_one(x, task, self.settings.decider))
        finally:
            lock.release()

    @exclusive
    def predict_proba_one(self, x: Any, task: Hashable = None) -> dict[Any, float]:
        """The probability of each label of one record; empty before anything is learned."""
        if self.state is None:
            return {}
        labels = self.label_kind
        if self.learner.has_variances:
            row, width, task = self.input.read_one(x, task, self.known_tasks, learning=False)
            tasks = np.empty(1, object)
            tasks[0] = task
            found = self._probabilities(Records(row, width, tasks))
        else:
            found = labels.probabilities(np.asarray(self._decide_one(x, task, self.learner))[None], self.log_odds)
        return dict(zip(labels.ordered, found[0].tolist(), strict=True))

    # -- files ----------------------------------------------------------------------------------------------------

    @exclusive
    def to_saved(self) -> tuple[dict[str, Any], Arrays]:
        """Everything there is to keep, as data with a JSON form and named arrays."""
        if self.state is None:
            return {}, {}
        state, arrays = self.learner.dump(self.state)
        noted, more = self.input.to_saved()
        data = {"state": state, **noted, "labels": self.label_kind.inside}
        if self.learner.has_tasks:
            data["tasks"] = list(self.state.tasks.labels)  # the list goes on growing
        if self.recency is not None:
            arrays = arrays | {RECENCY: self.recency.order}
        if self.settings.class_weight == BALANCED:
            data["label_counts"] = self.weighing.to_saved()
        return data, arrays | more

    @exclusive
    def from_saved(self, data: Mapping[str, Any], arrays: Arrays) -> None:
        """Undo :meth:`to_saved`.

        Raises
        ------
        ValueError
            If the data and the arrays are nothing that a model of these parameters can have learned.
        """
        if data:
            of_records = ("encoder.", "preparation.")
            own = {name: each for name, each in arrays.items() if not name.startswith(of_records) and name != RECENCY}
            state, labels = self.input.restore_state(self.learner, data, own), self.settings.labels(data["labels"])
            labels.require_sound(self.learner.models(state))
            if self.recency is not None:
                self.recency = Recency.restored(arrays.get(RECENCY, np.zeros(0)), len(state.tasks))
            if self.settings.class_weight == BALANCED:
                self.weighing = Weighing.restored(BALANCED, data.get("label_counts"))
            self.input.from_saved(data, arrays, state)
            self.state, self.labels = state, labels


def _require_alike(before: StreamLearner, learner: StreamLearner, state: Any, names: Sequence[str]) -> None:
    """Refuse to go on by a learner whose models begin otherwise than those before: ValueError naming the parameters.

    What a model begins with, its kinds, its numbers and the relation's, stays in the state: other parameters would not
    be heard of, and a file with both could not be loaded. Compared are models of no record, as they would be saved.
    """
    if not learner.has_tasks:
        return  # learners of several views compare the state itself
    tasks = list(state.tasks.labels if learner.names_tasks else state.tasks.labels[:2])
    try:
        alike = getattr(before, "relation", None) == getattr(learner, "relation", None) and _begins_alike(
            before, learner, tasks
        )
    except (AttributeError, TypeError, ValueError):  # a task that the other relation does not know
        alike = False
    if not alike:
        learner.adopt(copy.deepcopy(state))  # may say more
        raise ValueError(f"{' and '.join(names) or 'parameters'} cannot change once something is learned: fit anew")


def _parts_of(learner: StreamLearner) -> list[Any]:
    """What tells of a copy, whose earlier parameters are not known, that they are others, without making a model."""
    own = [getattr(learner, name, None) for name in ("hypothesis", "relation", "rule")]
    inner = getattr(learner, "learners", [learner.learner] if hasattr(learner, "learner") else [])
    return [*own, *map(_parts_of, inner)]


def _begins_alike(one: StreamLearner, other: StreamLearner, tasks: Sequence[Hashable]) -> bool:
    """Tell whether two learners save the same before the first record."""
    (data, arrays), (others, theirs) = (each.dump(each.init(tasks)) for each in (one, other))
    same = data == others and arrays.keys() == theirs.keys()
    return same and all(np.array_equal(held, theirs[name]) for name, held in arrays.items())


class FastLane:
    """Rounds of dictionaries whose names and task are known, everything else being looked up once.

    Good while the state keeps its model, and no parameter is set; whatever else may be new is seen here.
    """

    __slots__ = (
        *("_at", "_call", "_learn", "_names", "_predict", "_recency", "_relation", "_state", "_tasks"),
        "_warn_if_frozen",
    )

    def __init__(self, learner: Any, state: Any, call: BoundCall, recency: Recency | None) -> None:
        self._recency = recency
        self._state, self._call, self._tasks = state, call, state.tasks.numbers
        self._at, self._predict, self._learn, self._names = call.at, call.predict, call.learn, call.names
        self._warn_if_frozen, self._relation = learner.warn_if_frozen, learner.relation

    def score(self, x: Any, task: Hashable) -> float:
        """Margin of a record on the scale of the inside; NaN if there may be something new."""
        i = self._number(x, task)
        return math.nan if i is None else self._predict(self._at, x, i)

    def _number(self, x: Any, task: Hashable) -> int | None:
        """The number of a record's task; None if there may be something new."""
        if type(x) is not dict or self._state.model is not self._call.model:
            return None
        try:
            number: int | None = self._tasks.get(tabular.only_task(self._tasks) if task is None else task)
        except TypeError:  # what no dictionary can hold
            return None
        return number

    def learn(self, x: Any, y: Hashable, task: Hashable, labels: Any) -> Any:
        """Learn a record; the labels known then, or None, nothing being changed, if there may be something new."""
        i, state = self._number(x, task), self._state
        if i is None or len(self._names) > state.features:
            return None
        labels = labels.with_one(y)
        if self._learn(self._at, x, i, labels.value(y)) < 0.0:
            return None
        state.rounds += 1
        if self._recency is not None:
            self._recency.see_one(i)
        self._warn_if_frozen(self._relation, state)
        return labels


def check_level(level: Any) -> None:
    """Refuse the level of an interval that is not between 0 and 1: ValueError."""
    number = isinstance(level, (int, float, np.number)) and not isinstance(level, bool)
    if not (number and 0.0 < float(level) < 1.0):
        raise ValueError(f"level must lie between 0 and 1, got {level!r}")


def _normal(z: Margins) -> Margins:
    """The standard normal distribution function."""
    from scipy.special import ndtr

    return np.asarray(ndtr(z))
