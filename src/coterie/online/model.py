"""The inner model of an online estimator: the tasks and their learner, labels, form of records, and one lock for all.

An estimator holds what users type; each of its verbs is one call of an :class:`OnlineModel`, which has two: ``learn``,
and ``predict``, of which margins, labels, probabilities and intervals are views. Progressive validation, comparisons,
selective sampling, files and commands talk to it by :class:`coterie.evaluation.stream_model.StreamModel`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import groupby
from threading import RLock
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from coterie.evaluation.stream_model import Asking, Margins, Rounds, joined_rounds, stacked
from coterie.evaluation.trace import ViewWeights
from coterie.index import Index, check_no_collisions, distinct_labels, occurring
from coterie.inputs import tabular
from coterie.inputs.block import Block
from coterie.inputs.input import AnyInput, Input, InputOptions, Records, all_or_nothing
from coterie.inputs.labels import Labels, ManyLabels
from coterie.inputs.preprocessing import Learning, runs_of
from coterie.numeric.core.checks import require
from coterie.numeric.core.records import Csr, widths_of, with_weights
from coterie.numeric.primal.asking import QUERY_ALL
from coterie.numeric.primal.calls import BoundCall
from coterie.round.contract import BaseLearner, Batch, FastPath, InputShape, Predictions, UpdateResult, nothing
from coterie.round.task_registry import Numbered, TaskRegistry

from .predictions import ModelPredictions
from .waiting import WaitingRow, joined_rows, waiting_rows
from .weighing import Weighing, check_class_weight_names, sample_weights

Arrays = dict[str, NDArray[Any]]
F = TypeVar("F", bound=Callable[..., Any])

#: The refusal of weights for a learner that cannot weigh records.
_UNWEIGHED = "a learner such as {} weighs no records: leave out {}"


def exclusive(method: F) -> F:
    """Make a method hold the model's lock.

    Compiled code holds no interpreter lock, and learning makes tables anew while they grow; a call that came between
    would read and write memory that is no longer there. Each model has a lock of its own, so several learn in parallel.
    """

    @wraps(method)
    def locked(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.lock:
            return method(self, *args, **kwargs)

    return cast(F, locked)


def changing(method: F) -> F:
    """Make a method hold the model's lock and begin another version of the model, so that its lane is outdated."""

    @wraps(method)
    def locked(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self.lock:
            self.version += 1
            return method(self, *args, **kwargs)

    return cast(F, locked)


class _learning(all_or_nothing):  # noqa: N801 - used as a statement
    """Take back also what a model has made for records that are refused inside: its first state, or what it learned.

    If records were already learned, as when a warning is an error, nothing of what they need is taken back.
    """

    __slots__ = ("_first", "_labels", "_model", "_rounds", "_take_back", "_weighing")

    def __init__(self, model: OnlineModel) -> None:
        super().__init__(model.input, model.fitted)
        self._model, self._labels, self._weighing, self._first = model, model.labels, model.weighing, not model.fitted
        self._take_back = model.population.hold()
        self._rounds = 0 if self._first else model.state.rounds

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        model = self._model
        if kind is None:
            return
        if not issubclass(kind, Warning):
            self._take_back()
        if model.fitted and model.state.rounds != self._rounds:
            return
        super().__exit__(kind, *rest)
        if self._first:
            model.population.forget_all()
        if self._first or self._take_back is not nothing:
            model.labels, model.weighing = self._labels, self._weighing

    def take_back_form(self) -> None:
        """Take back what reading has noted, where nothing is learned of it."""
        self._undo()


@dataclass(frozen=True)
class Settings:
    """An estimator's parameters as the inner model takes them.

    Attributes
    ----------
    learner : BaseLearner
        Learns, and gives margins.
    decider : BaseLearner
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

    learner: BaseLearner
    decider: BaseLearner
    labels: Callable[[Any], Labels]
    reading: InputOptions
    new_task: str
    max_tasks: int | None = None
    class_weight: Any = None


class _Labelled(NamedTuple):
    """Records that have been read, with their labels.

    Attributes
    ----------
    records : Records
        The records, without their weights.
    y, weights
        Their labels, and the weights given with them; None without.
    learned : ndarray of bool, or None
        Which of them are learned, the others having weight 0; None if all are.
    labels, values : Labels and ndarray, or None
        The labels known with these, and these as learners take them; None until they are learned.
    """

    records: Records
    y: Any
    weights: NDArray[np.float64] | None
    learned: NDArray[np.bool_] | None = None
    labels: Labels | None = None
    values: Any = None

    def __len__(self) -> int:
        return len(self.y if self.values is None else self.values)

    def cut(self, first: int, last: int) -> _Labelled:
        """The records ``first`` to ``last`` (not included), of which all are learned."""
        records, weights = self.records, self.weights
        some = records._replace(rows=records.rows.cut(first, last), task=records.task[first:last])
        return _Labelled(some, self.y[first:last], None if weights is None else weights[first:last])

    def take(self, places: NDArray[np.int64]) -> _Labelled:
        """The records at some places, of which all are learned."""
        records, weights = self.records, self.weights
        some = records._replace(rows=records.rows.take(places), task=records.task[places])
        return _Labelled(some, self.y[places], None if weights is None else weights[places])


class OnlineModel:
    """A learner with its tasks, its labels and the form of its records, shared by threads one call at a time.

    Attributes
    ----------
    lock : RLock
        Held by what learns, predicts, copies or saves; neither copied, nor pickled, nor saved.
    version : int
        Raised by every change but a round of the lane, which is good while its version is the model's.
    lane : RecordLane or None
        Rounds of single dictionaries in which nothing is new, ready to be called while the version is theirs.
    parameters, settings
        The estimator's parameters for which the settings were made, and these.
    population, labels, input
        The tasks and what was learned, the labels found so far, and the form of records.
    weighing : Weighing
        The weights of records by their labels.
    """

    settings: Settings
    population: TaskRegistry

    def __init__(self, source: AnyInput) -> None:
        self.lock = RLock()
        self.parameters: tuple[Any, ...] | None = None
        self.version, self.lane = 0, cast("RecordLane | None", None)
        self.labels: Labels | None = None
        self.input = source
        self.weighing = Weighing()

    def configure(self, parameters: tuple[Any, ...], settings: Settings, names: Sequence[str] = ()) -> None:
        """Go on under these parameters, of which these are others than before; refuse them if that cannot be."""
        learner, held = settings.learner, self.__dict__.get("population")
        if settings.class_weight is not None and not learner.traits.weighs:
            raise ValueError(_UNWEIGHED.format(type(learner).__name__, "class_weight"))
        if self.labels is not None:
            check_class_weight_names(settings.class_weight, self.labels, complete=False)
        population = TaskRegistry(learner) if held is None else held
        before = population.learner
        if population.state is not None:
            if names or _parts_of(before) != _parts_of(learner):
                _require_alike(before, learner, population, names)
            learner.rebind(population.state)
        population.learner = learner
        try:
            population.limit(settings.max_tasks)
        except ValueError:
            population.learner = before
            raise
        self.version += 1
        population.new_task = settings.new_task
        self.parameters, self.settings, self.population = parameters, settings, population
        self.weighing = self.weighing.under(settings.class_weight)
        self.input.configure(settings.reading)

    # -- copies ---------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """The state for copies and :mod:`pickle`: all but the lock, copied, since the original goes on changing."""
        with self.lock:
            held = {name: each for name, each in self.__dict__.items() if name not in ("lock", "lane", "parameters")}
            return copy.deepcopy(held) | {"parameters": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> OnlineModel:
        made = memo[id(self)] = OnlineModel.__new__(OnlineModel)
        made.__setstate__(self.__getstate__())
        return made

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock, self.lane = RLock(), None

    @changing
    def replace(self, other: OnlineModel) -> None:
        """Become what another model has learned, and forget all else."""
        self.parameters, self.settings = other.parameters, other.settings
        self.population, self.labels, self.input = other.population, other.labels, other.input
        self.weighing = other.weighing

    # -- facts ----------------------------------------------------------------------------------------------------

    @property
    def fitted(self) -> bool:
        """True once a record was learned."""
        return self.state is not None

    @property
    def state(self) -> Any:
        """What was learned; None before."""
        held = self.__dict__.get("population")
        return None if held is None else held.state

    @property
    def learner(self) -> BaseLearner:
        """The learner."""
        return self.population.learner

    @property
    def label_encoder(self) -> Labels:
        """The labels known, or those there may be before any came."""
        return self.settings.labels(None) if self.labels is None else self.labels

    @property
    def encoder(self) -> Any:
        """The encoder by which records of files became rows; None where no file was read."""
        return self.input.encoder

    @encoder.setter
    def encoder(self, encoder: Any) -> None:
        with self.lock:
            self.version += 1
            self.input.encoder = encoder

    # -- learning -------------------------------------------------------------------------------------------------

    @changing
    def learn(
        self,
        X: Any,
        y: Any = None,
        task: Any = None,
        *,
        tasks: Sequence[Hashable] | None = None,
        classes: Any = None,
        weights: Any = None,
        late: int = 0,
        whole: bool = False,
        passes: int = 1,
        length: int | None = None,
        asking: Asking | None = None,
        predictions: Predictions | None = None,
    ) -> Rounds:
        """Predict and then learn each record in turn.

        Parameters
        ----------
        X, y, task
            The records, their labels and tasks; or a validated block, which has all three.
        tasks, classes
            Tasks to know from now on, and labels there will be.
        weights
            The weights of the records.
        late : int
            The labels come so many rounds late: the last ``late`` records are predicted and not learned.
        whole : bool
            True if these records are all there are, so that one label alone is an error.
        passes : int
            How many times they will be learned, if they are all there are.
        length : int, optional
            How many rounds there will be in all, where that is known.
        asking : callable, optional
            Makes the asker that decides which labels are asked for.
        told : Predictions, optional
            Predictions of the first records, which were made before; see :attr:`Rounds.predictions`.

        Returns
        -------
        Rounds
            What was told of each record, and what its label changed.
        """
        if late < 0:
            raise ValueError(f"late must be at least 0 rounds, got {late!r}")
        attempt = _learning(self)
        with attempt:
            read = self._read(X, y, task, classes, weights, whole)
            if read.learned is not None and not isinstance(X, Records | Block):  # nobody asks for predictions
                read = read.take(np.flatnonzero(read.learned))
                if len(read) and whole:
                    labels = self._labels_copied()
                    labels.values(read.y)
                    labels.require_whole()
                if not len(read):
                    attempt.take_back_form()
                    return Rounds(np.zeros(0), np.zeros(0, bool), np.zeros(0, bool))
            length = passes * len(read) if whole else length
            if read.learned is None or asking is not None:  # every round of a query strategy counts
                return self._learn(read, tasks or (), late, length, asking, predictions)
            return self._learn_among(read, tasks or (), late, length, predictions)

    def _read(self, X: Any, y: Any, task: Any, classes: Any, weights: Any, whole: bool) -> _Labelled:
        """Read records to learn: ValueError for what is refused of them."""
        labels, first = self._labels_copied(), not self.fitted
        if isinstance(X, Records):
            records = X
        elif isinstance(X, Block):
            if X.y is None:
                raise ValueError("records without labels can be predicted, not learned")
            if any(each is not None for each in (y, task, weights)):
                raise ValueError("a block of a reader has labels, tasks and weights of its own: give nothing beside it")
            records, y, weights = self.input.read_block(X, first), X.y, X.weight
        else:
            records, y = self.input.read_labelled(X, y, task, labels, first, self.learned_records(X, y, weights))
            if classes is not None:
                labels.values(classes)
        values = labels.values(y)
        if not isinstance(X, Records | Block):
            records = self.input.with_tasks(records, self.population.labels)
        weights = sample_weights(weights, len(values), whole)
        check_class_weight_names(self.settings.class_weight, labels, complete=whole or classes is not None)
        if weights is not None and not self.learner.traits.weighs:
            raise ValueError(_UNWEIGHED.format(type(self.learner).__name__, "sample_weight"))
        learned = self.learned_records(values, y, weights)
        if np.all(learned):
            if whole:
                labels.require_whole()
            return _Labelled(records, y, weights, None, labels, values)
        return _Labelled(records, labels.array(y), weights, np.asarray(learned))

    def learned_records(self, X: Any, y: Any, weights: Any) -> Learning:
        """Tell which of the records X are learned: those whose own weight and whose label's weight are above 0."""
        named, learned = self.settings.class_weight, cast(Learning, True)
        if isinstance(named, Mapping) and not all(named.values()):
            learned = np.array([named.get(label, 1.0) > 0.0 for label in np.asarray(y, object).tolist()], bool)
        given = None if weights is None else sample_weights(weights, tabular.count(X))
        return learned if given is None else learned & (given > 0.0)

    def know_labels(self, y: Any) -> None:
        """Note the labels of records, of which some may not be asked for; ValueError for a third of two."""
        labels = self._labels_copied()
        labels.values(y)
        self.labels = labels

    def _labels_copied(self) -> Labels:
        """The labels known, as a copy."""
        return self.settings.labels(None if self.labels is None else self.labels.inside)

    def _learn(
        self,
        read: _Labelled,
        tasks: Sequence[Hashable],
        late: int,
        length: int | None,
        asking: Asking | None,
        predictions: Predictions | None,
    ) -> Rounds:
        labels, values, n = read.labels, read.values, len(read)
        if labels is None:
            labels = self._labels_copied()
            values = labels.values(read.y)
        population, last, weighing = self.population, max(n - late, 0), self.weighing.under(self.settings.class_weight)
        weights, records = weighing.of(read.y, read.weights, last), read.records
        if weights is not None:
            records = records._replace(rows=with_weights(records.rows, weights))
        if population.recency is not None:
            if late or asking is not None:
                what = "labels that come late" if late else "selective sampling"
                raise ValueError(
                    f"max_tasks={self.settings.max_tasks} cannot be had with {what}: leave one of them out"
                )
            self._make_room((), self.input.size(records), length, occurring(records.task)[0])
            self.learner.refuse_rows(self.state, records.rows)
            self.labels, self.weighing = labels, weighing  # nothing is refused any more
            inside = labels.learn(values, last, weights)
            run = Batch(records.rows, np.zeros(n, np.int64), (), predictions)
            done = population.learn_bounded(run, inside.y, records.task, self.input.size(records))
            return self._rounds(labels, inside, done, np.ones(n, bool))
        codes, new = self._numbered(tasks, records, length)
        self.learner.refuse_rows(self.state, records.rows)
        self.labels, self.weighing = labels, weighing
        inside = labels.learn(values, last, weights)
        query_strategy: Any = QUERY_ALL if asking is None else asking(len(population) + len(new))
        done = population.learn(Batch(records.rows, codes, (), predictions, query_strategy), inside.y[:last], new)
        return self._rounds(labels, inside, done, np.ones(n, bool) if asking is None else query_strategy.answer > 0)

    def _learn_among(
        self, read: _Labelled, tasks: Sequence[Hashable], late: int, length: int | None, predictions: Predictions | None
    ) -> Rounds:
        """Learn some of the records; the others are predicted in their turn, and change nothing."""
        n, learned = len(read), cast("NDArray[np.bool_]", read.learned)
        for check in self.population.checks():  # all are refused or none
            check(distinct_labels(read.records.task)[0])
        if late:
            return self._learn_late_among(read, tasks, late, length, predictions)
        made = []
        for first, last, learning in runs_of(learned, n):
            piece, before = read.cut(first, last), None if predictions is None else predictions.cut(first, last)
            if learning:
                made.append(self._learn(piece, tasks, 0, length, None, before))
                tasks = ()
            else:
                made.append(self._predict_unlearned(piece.records, before))
        return joined_rounds(made)

    def _learn_late_among(
        self, read: _Labelled, tasks: Sequence[Hashable], late: int, length: int | None, predictions: Predictions | None
    ) -> Rounds:
        """As :meth:`_learn_among`, each label coming so many rounds after its record was predicted."""
        n, learned = len(read), cast("NDArray[np.bool_]", read.learned)
        if learned.any():
            self._numbered(tasks, read.take(np.flatnonzero(learned)).records, length)
        given = 0 if predictions is None else len(predictions.margins)
        predicted: list[Rounds] = []
        moves: list[Rounds] = []
        for t in range(n):
            records = read.cut(t, t + 1).records
            if learned[t] and not self.learner.traits.tasks_independent:  # a task counts from its prediction on
                self.population.validate_and_register(records.task.tolist(), InputShape(self.state.features))
            before = predictions.cut(t, t + 1) if predictions is not None and t < given else None
            predicted.append(self._predict_unlearned(records, before))
            s = t - late
            if s >= 0 and learned[s]:
                moves.append(self._learn(read.cut(s, s + 1), (), 0, length, None, predicted[s].predictions))
            elif s >= 0:
                moves.append(predicted[s])
        rounds = joined_rounds(predicted)
        moved = joined_rounds([*moves, *predicted[len(moves) :]])
        return replace(rounds, updated=moved.updated, stored=moved.stored, evicted=moved.evicted, own=None)

    def _predict_unlearned(self, records: Records, before: Predictions | None) -> Rounds:
        """Predict records that change nothing; of those predicted ``before``, return that."""
        n, predictions, own = len(records.task), before, None
        if self.fitted:
            population, size = self.population, self.input.size(records)
            if self.learner.traits.feature_changes_all and self.input.grows:
                size = size._replace(features=int(widths_of(records.rows).max(initial=self.state.features)))
            if not population.has_room(size):
                population.register((), size)
            present = ModelPredictions(self, records)
            now = present.predictions
            predictions, own = now.after(before), present.outside(now.margins)
        labels = self.label_encoder
        if predictions is None:
            margins = np.full((n, 0), -np.inf) if isinstance(labels, ManyLabels) else np.full(n, labels.shift)
        else:
            margins = np.asarray(labels.shift + labels.factor * predictions.margins)
        return Rounds(
            margins, np.zeros(n, bool), np.ones(n, bool), predictions=predictions, own=margins if own is None else own
        )

    def _rounds(self, labels: Labels, inside: Any, done: UpdateResult, asked: NDArray[np.bool_]) -> Rounds:
        events, n = done.events, len(asked)
        weights = None if events.lengths is None else ViewWeights(events.names, events.ends, events.lengths)
        moved = np.zeros(n, bool)
        moved[: len(done.steps)] = done.steps > 0
        stored, evicted = events.stored, events.evicted
        own = labels.predictions(done.own, inside) if len(done.own) == n else None
        return Rounds(
            labels.predictions(done.predictions.margins, inside),
            moved,
            asked,
            stored,
            evicted,
            weights,
            done.predictions,
            own,
        )

    def _numbered(self, tasks: Sequence[Hashable], records: Records, length: int | None) -> Numbered:
        """The numbers of records' tasks, once there is room for ``tasks`` and for records so wide.

        New tasks of the records are only checked: they get room as they come.
        """
        population, size = self.population, self.input.size(records)
        roomy = self.fitted and not len(tasks) and population.has_room(size)
        codes = population.tasks.codes_of_known(records.task) if roomy else None
        if codes is not None:
            return Numbered(codes, ())
        distinct, places = occurring(records.task)
        if roomy:
            found = population.number(distinct, places)
            if not len(found.new):
                return found
        if self.learner.traits.feature_changes_all and self.input.grows and len(distinct):
            size = size._replace(features=self.state.features if self.fitted else 1)
        self._make_room(tasks, size, length, distinct)
        return population.number(distinct, places)

    def _make_room(
        self, tasks: Sequence[Hashable], size: InputShape, length: int | None = None, coming: Sequence[Hashable] = ()
    ) -> None:
        """Make the state, or room in it, for tasks; those ``coming`` are only checked: ValueError for one refused."""
        population = self.population
        if self.state is None:
            population.require_savable([*tasks, *coming] if len(tasks) else coming)
            first = tasks if population.recency is not None else self.input.first_tasks(tasks, coming)
            population.begin(size, first, length, coming)
            self.input.began(self.state)
        elif population.recency is not None:
            population.admit_bounded(coming)
        else:
            population.validate_and_register(tasks, size, coming)

    @exclusive
    def as_block(self, X: Any, y: Any, task: Any = None, weights: Any = None, whole: bool = False) -> Block:
        """Validate records given in any form, for :meth:`learn`; ``whole`` as there."""
        with all_or_nothing(self.input, self.fitted):
            labels = self._labels_copied()
            learned = self.learned_records(X, y, weights)
            records, y = self.input.read_labelled(X, y, task, labels, not self.fitted, learned)
            labels.values(y)
            if whole:
                labels.require_whole()
            records = self.input.with_tasks(records, self.population.labels)
            if self.fitted and not self.population.has_room(self.input.size(records)):
                self.version += 1  # names that are new have columns now, and predictions may come to them
                self.population.validate_and_register((), self.input.size(records))
            block = self.input.as_block(records, labels.array(y))
            return block if weights is None else replace(block, weight=sample_weights(weights, len(block), whole))

    @changing
    def skip_unlabelled(self, rounds: int = 1) -> None:
        """End rounds whose labels will not come: means and clocks go on, nothing is learned."""
        if self.fitted:
            self.population.skip(rounds)

    @changing
    def forget_tasks(self, tasks: Sequence[Hashable]) -> None:
        """Drop tasks and their own weights; nothing is changed where one is not known, or cannot be dropped."""
        self.population.forget(tasks)

    # -- predicting -----------------------------------------------------------------------------------------------

    @exclusive
    def predict(self, X: Any, task: Any = None) -> ModelPredictions:
        """The predictions of records, or of a validated block: margins, labels, probabilities and others are views."""
        return ModelPredictions(self, self.input.read(X, task, self.population.labels))

    @exclusive
    def margin_variances(self, X: Any, task: Any = None) -> NDArray[np.float64]:
        """Compute the variance of each record's margin; features that no record had count with their prior variance."""
        predictions = self.predict(X, task)
        undo, known = self.input.snapshot(self.fitted), self.state.features
        try:  # new features get columns for a moment
            rows, _ = self.input.read_rows(
                tabular.split_task(X, task, self.input.options.task_column)[0], learning=True
            )
        finally:
            undo()
        if not isinstance(rows, Csr):
            return predictions.variances
        return predictions.variances + predictions.prior_variances(rows, known)

    @exclusive
    def predict_pending(self, block: Block) -> Rounds:
        """Predict a validated block whose labels come later; margins are 0 before anything is learned."""
        n = len(block)
        moved, asked = np.zeros(n, bool), np.ones(n, bool)
        if not self.fitted:
            return Rounds(np.zeros(n), moved, asked)
        made = self.predict(block)
        predictions = made.predictions
        return Rounds(made.outside(predictions.margins), moved, asked, predictions=predictions)

    # -- labels that come one by one, and late ----------------------------------------------------------------------

    @exclusive
    def require_labels(self, y: Sequence[Any]) -> None:
        """Refuse labels that cannot be learned: ValueError."""
        self._labels_copied().values(y)

    @changing
    def read_waiting(
        self, xs: Sequence[Any], tasks: Sequence[Hashable] | None, learning: bool = True
    ) -> list[WaitingRow]:
        """Read records, dictionaries, whose labels come later, without predicting them; see :meth:`predict_waiting`."""
        return self._waiting(xs, tasks, False, learning)

    @changing
    def predict_waiting(
        self, xs: Sequence[Any], tasks: Sequence[Hashable] | None, always: bool = False, learning: bool = True
    ) -> list[WaitingRow]:
        """Predict records, dictionaries, whose labels come later; if ``learning``, features and scales count them.

        Before anything is learned, and for records of several views, there are no rows: such records are read when
        their labels come. Under ``max_tasks`` a task is met when its label comes. Predictions are kept for learners
        that charge members by them, or ``always``.

        Raises
        ------
        ValueError, TypeError
            For a record that cannot be learned; nothing is changed then.
        """
        return self._waiting(xs, tasks, always or self.learner.traits.mixes, learning)

    def _waiting(
        self, xs: Sequence[Any], tasks: Sequence[Hashable] | None, predicted: bool, learning: bool
    ) -> list[WaitingRow]:
        population, source = self.population, self.input
        if not self.fitted or not isinstance(source, Input):
            return [WaitingRow() for _ in xs]
        with all_or_nothing(source, True):
            records, _ = source.read_labelled(xs, "no_validation", tasks, cast(Any, None), False, learning)
            records = source.with_tasks(records, population.labels)
            distinct = occurring(records.task)[0]
            unmet = self.learner.traits.tasks_independent or population.recency is not None or not learning
            coming = () if unmet else distinct
            population.validate_and_register(coming, source.size(records), distinct)
        predictions = None
        if predicted:
            predictions = self.learner.predict(self.state, Batch(records.rows, *population.codes(records.task)))
        return waiting_rows(records.rows, predictions)

    def learn_waiting(
        self,
        waiting: Sequence[WaitingRow],
        y: Sequence[Any],
        tasks: Sequence[Hashable] | None,
    ) -> Margins:
        """Learn records that :meth:`predict_waiting` read, by the predictions of then.

        Returns the margins right before each label was learned.
        """
        self.require_labels(y)  # before any is learned
        whose = tabular.task_labels(tasks, len(waiting), self.population.labels)
        margins = []
        for _, places in groupby(range(len(waiting)), key=lambda k: waiting[k].shape):
            stretch = list(places)
            some = slice(stretch[0], stretch[-1] + 1)
            rows, predictions = joined_rows(waiting[some])
            rounds = self.learn(Records(rows, rows.width, whose[some]), y[some], predictions=predictions)
            margins.append(rounds.margin if rounds.own is None else rounds.own)
        return stacked(margins)

    @exclusive
    def margins_waiting(self, waiting: Sequence[WaitingRow], tasks: Sequence[Hashable] | None) -> Margins:
        """The margins of records of one shape that :meth:`predict_waiting` read, as the model is now."""
        rows, _ = joined_rows(waiting)
        whose = tabular.task_labels(tasks, len(waiting), self.population.labels)
        return ModelPredictions(self, Records(rows, rows.width, whose)).margins

    @exclusive
    def check_waiting(self, waiting: Sequence[WaitingRow]) -> None:
        """Refuse rows of a file that this model cannot have made: ValueError."""
        if all(each.values is None and each.predictions is None for each in waiting):
            return
        require(self.fitted, "records wait that nothing can have predicted")
        like = self.predict_nothing()
        for each in waiting:
            each.check(self.state.features, like)

    @exclusive
    def predict_nothing(self) -> Predictions | None:
        """Predict a record without features, to compare the form of predictions; None if no task is known."""
        empty = Csr(np.zeros(0), np.zeros(0, np.int32), np.zeros(2, np.int64))
        return self.learner.predict(self.state, Batch(empty, np.zeros(1, np.int64))) if len(self.population) else None

    # -- one record at a time -------------------------------------------------------------------------------------

    def learn_one(self, x: Any, y: Any, task: Hashable = None, weight: Any = None) -> None:
        """Learn one record given as a dictionary of features; new features and tasks are taken up as they come."""
        lock = self.lock
        lock.acquire()  # in half the time that `with` takes, and a decorator would take longer still
        try:
            lane = self.lane
            if lane is not None and weight is None and lane.version == self.version:
                labels = lane.learn(x, y, task, self.labels)
                if labels is not None:
                    self.labels = labels
                    return
            self._learn_one(x, y, task, weight)
        finally:
            lock.release()

    def _learn_one(self, x: Any, y: Any, task: Hashable, weight: Any) -> None:
        self.version += 1
        if weight is not None or self.settings.class_weight is not None:
            self._learn_weighted_one(x, y, task, weight)
            return
        labels = self.label_encoder.with_one(y)
        inside = labels.value(y)
        with _learning(self):
            row, number = self._row_of_one(x, task)
            self._move_one(row, number, labels, inside)
        self._open_lane()

    def _move_one(self, row: Any, number: int, labels: Any, inside: Any) -> None:
        self.labels, population = labels, self.population
        population.single.learn(row, number, inside)
        if population.recency is not None:
            population.recency.see_one(number)

    def _learn_weighted_one(self, x: Any, y: Any, task: Hashable, weight: Any) -> None:
        given = None if weight is None else [weight]
        if not (self.fitted and np.all(self.learned_records([x], [y], given))):
            self.learn([x], [y], None if task is None else [task], weights=given)
            return
        labels, weighing = self._labels_copied(), self.weighing.under(self.settings.class_weight)
        values, population = labels.values([y]), self.population
        check_class_weight_names(self.settings.class_weight, labels, complete=False)
        weights = weighing.of([y], sample_weights(weight, 1), 1)
        if weights is None or not self.learner.traits.weighs:
            raise ValueError(_UNWEIGHED.format(type(self.learner).__name__, "sample_weight"))
        with _learning(self):
            row, number = self._row_of_one(x, task)
            self.labels, self.weighing = labels, weighing
            inside = labels.learn(values, 1, weights)
            population.learn(Batch(with_weights(row, weights), np.array([number])), inside.y)
        if population.recency is not None:
            population.recency.see_one(number)

    def _row_of_one(self, x: Any, task: Hashable) -> tuple[Any, int]:
        """The row of a record to learn, for which there is room then, and the number of its task."""
        row, width, task = self.input.read_one(x, task, self.population.labels, learning=True)
        population, size = self.population, self.input.size(Records(row, width, _NO_TASKS))
        if population.recency is not None:
            self._make_room((), size, None, [task])
            population.evict_for(task, size)
        elif not (self.fitted and task in population.tasks.numbers and population.has_room(size)):
            self._make_room([task], size)
        self.learner.refuse_rows(self.state, row)
        return row, population.tasks.numbers[task]

    def _open_lane(self) -> None:
        """Prepare rounds of dictionaries in which nothing is new, once the model has stayed the same for some time."""
        records = None if self.settings.class_weight is not None else self.input.plain_records
        single = self.population.single
        call = None if records is None else single.bound(records)
        self.lane = None if call is None else FastLane(self.version, self.population, single, call)

    @changing
    def learn_told(self, x: Any, y: Any, task: Hashable) -> Margins:
        """Predict and then learn one record, a dictionary; the margin predicted, as an array of one entry or row.

        The same bits as by a block of the record, in a tenth of the time.
        """
        before, labels = self.label_encoder, self.label_encoder.with_one(y)
        new = labels is not before and not before.numeric  # of many classes the margins get a column
        if not self.fitted or new or self.settings.class_weight is not None:
            return self.learn(self.as_block([x], [y], None if task is None else [task])).margin
        inside = labels.value(y)
        with _learning(self):
            # The scales learn of the record before it is predicted, as in a block.
            row, number = self._row_of_one(x, task)
            predictions = before.shift + before.factor * self.population.single.predict(row, number)
            self._move_one(row, number, labels, inside)
        return np.asarray(predictions)[None]

    def predict_one(self, x: Any, task: Hashable = None) -> Any:
        """The label of one record; None, of a number 0.0, before anything is learned."""
        lock = self.lock
        lock.acquire()
        try:
            lane = self.lane
            if lane is not None and lane.version == self.version:
                margin, labels = lane.score(x, task), self.labels
                if margin == margin and labels is not None:
                    return labels.label(labels.shift + labels.factor * margin)
            if self.state is None:
                return self.label_encoder.unlearned
            return self.label_encoder.label(self._decide_one(x, task, self.settings.decider))
        finally:
            lock.release()

    def decide_one(self, x: Any, task: Hashable = None) -> Any:
        """The margin of one record as it is outside; something has been learned."""
        lock = self.lock
        lock.acquire()
        try:
            return self._decide_one(x, task, self.learner)
        finally:
            lock.release()

    def _decide_one(self, x: Any, task: Hashable, learner: BaseLearner) -> Any:
        lane, labels = self.lane, self.label_encoder
        margin = math.nan if lane is None or lane.version != self.version else lane.score(x, task)
        if margin != margin:
            margin = self._margin_of_one(x, task, learner)
        return labels.shift + labels.factor * margin

    def _margin_of_one(self, x: Any, task: Hashable, learner: BaseLearner) -> Any:
        """The learner's margin of one record, which may be of a new task or have new features."""
        row, _, task = self.input.read_one(x, task, self.population.labels, learning=False)
        population = self.population
        number = population.tasks.numbers.get(task)
        if number is not None and learner is population.learner:
            self._open_lane()
            return population.single.predict(row, number)
        if number is not None:
            return learner.predict(self.state, Batch(row, np.array([number]))).margins[0]
        population.refuse_unseen([task])
        check_no_collisions([task], population.tasks.numbers)
        return learner.predict(self.state, Batch(row, _UNSEEN, [task])).margins[0]

    @exclusive
    def read_one(self, x: Any, task: Hashable) -> ModelPredictions:
        """The predictions of one record given as a dictionary, each view of it having one entry."""
        row, width, task = self.input.read_one(x, task, self.population.labels, learning=False)
        return ModelPredictions(self, Records(row, width, tabular.objects([task])))


_NO_TASKS = np.zeros(0)

#: The number of one task that nobody has seen.
_UNSEEN = np.array([-1])


def _require_alike(before: BaseLearner, learner: BaseLearner, population: TaskRegistry, names: Sequence[str]) -> None:
    """Refuse to go on by a learner whose models begin otherwise than those before: ValueError naming the parameters.

    What a model begins with, its kinds, its numbers and the relation's, stays in the state: other parameters would not
    be heard of, and a file with both could not be loaded. Compared are models of no record, as they would be saved.
    """
    if not learner.traits.has_tasks:
        return  # learners of several views compare the state itself
    labels = population.tasks.labels
    tasks = list(labels if learner.traits.fixed else labels[:2])
    try:
        alike = getattr(before, "relation", None) == getattr(learner, "relation", None) and _begins_alike(
            before, learner, tasks
        )
    except (AttributeError, TypeError, ValueError):  # a task that the other relation does not know
        alike = False
    if not alike:
        learner.rebind(copy.deepcopy(population.state))  # may say more
        raise ValueError(f"{' and '.join(names) or 'parameters'} cannot change once something is learned: fit anew")


def _parts_of(learner: BaseLearner) -> list[Any]:
    """What tells of a copy, whose earlier parameters are not known, that they are others, without making a model."""
    own = [getattr(learner, name, None) for name in ("hypothesis", "relation", "rule", "prior", "shared")]
    inner = getattr(learner, "learners", [learner.learner] if hasattr(learner, "learner") else [])
    return [*own, *map(_parts_of, inner)]


def _begins_alike(one: BaseLearner, other: BaseLearner, tasks: Sequence[Hashable]) -> bool:
    """Tell whether two learners save the same before the first record."""
    (data, arrays), (others, theirs) = (each.dump(each.init(Index(tasks), InputShape())) for each in (one, other))
    same = data == others and arrays.keys() == theirs.keys()
    return same and all(np.array_equal(held, theirs[name]) for name, held in arrays.items())


class RecordLane(Protocol):
    """Rounds of single records in which nothing is new, good while the model's version is the same."""

    version: int

    def score(self, x: Any, task: Hashable) -> float:
        """Margin of a record on the scale of the inside; NaN if there may be something new."""
        ...

    def learn(self, x: Any, y: Hashable, task: Hashable, labels: Any) -> Any:
        """Learn a record; the labels known then, or None, nothing being changed, if there may be something new."""
        ...


class FastLane:
    """Rounds of dictionaries whose names and task are known, everything else being looked up once.

    Good while the model's version is the same; whatever else may be new is seen here.
    """

    __slots__ = (
        "_at",
        "_call",
        "_learn",
        "_names",
        "_predict",
        "_recency",
        "_state",
        "_tasks",
        "_warn",
        "version",
    )

    def __init__(self, version: int, population: TaskRegistry, single: FastPath, call: BoundCall) -> None:
        self.version, self._recency, self._warn = version, population.recency, single.warn
        self._state: Any = population.state
        self._call, self._tasks = call, population.tasks.numbers
        self._at, self._predict, self._learn, self._names = call.at, call.predict, call.learn, call.names

    def score(self, x: Any, task: Hashable) -> float:
        """Margin of a record on the scale of the inside; NaN if there may be something new."""
        i = self._number(x, task)
        return math.nan if i is None else self._predict(self._at, id(x), i)

    def _number(self, x: Any, task: Hashable) -> int | None:
        """The number of a record's task; None if there may be something new."""
        if type(x) is not dict or "" in x or self._state.model is not self._call.model:
            return None
        try:
            number: int | None = self._tasks.get(tabular.only_task(self._tasks) if task is None else task)
        except TypeError:  # what no dictionary can hold
            return None
        return number

    def learn(self, x: Any, y: Hashable, task: Hashable, labels: Any) -> Any:
        """Learn a record; the labels known then, or None, nothing being changed, if there may be something new."""
        i = self._number(x, task)
        if i is None or len(self._names) > self._state.features:
            return None
        labels = labels.with_one(y)
        if self._learn(self._at, id(x), i, labels.value(y)) < 0.0:
            return None
        self._state.rounds += 1
        if self._recency is not None:
            self._recency.see_one(i)
        if self._warn is not None:
            self._warn(self._state)
        return labels
