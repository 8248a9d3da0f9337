"""The inner model of an online estimator: the tasks and their learner, labels, form of records, and one lock for all.

An estimator has the parameters; each of its methods is one call of an :class:`OnlineModel`: ``learn``, or ``predict``,
whose result gives margins, labels, probabilities and intervals. Progressive validation, comparisons, selective
sampling, files and commands use it as a :class:`coterie.evaluation.stream_model.StreamModel`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from itertools import groupby
from threading import RLock
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import types
from coterie.evaluation.stream_model import Asking, BatchResult, Margins, concatenate_results, stacked
from coterie.evaluation.trace import ViewWeights
from coterie.index import Index, check_no_collisions, distinct_labels, occurring
from coterie.inputs import tabular
from coterie.inputs.block import Block
from coterie.inputs.input import AnyInput, Input, InputOptions, Records
from coterie.inputs.labels import Labels, ManyLabels
from coterie.inputs.preprocessing import runs_of
from coterie.models.contract import BaseLearner, Batch, InputShape, LearnerState, Predictions, UpdateResult
from coterie.models.task_registry import TaskRegistry
from coterie.numeric.core.checks import require
from coterie.numeric.core.records import Csr, widths_of, with_weights
from coterie.numeric.primal.query_decisions import QUERY_ALL
from coterie.types import Inputs, Json, Learning, Record, Tasks, Tree

from .fast_path import FastPath
from .predictions import ModelPredictions
from .waiting import WaitingRow, joined_rows, waiting_rows
from .weighing import Weighing, check_class_weight_names, sample_weights

#: Makes a label encoder of its saved data, or of None.
LabelKind: TypeAlias = Callable[[Any], Labels]
F = TypeVar("F", bound=Callable[..., Any])

#: The refusal of weights for a learner that cannot weigh records.
_UNWEIGHED = "a learner such as {} weighs no records: leave out {}"


def _locking(versions: int) -> Callable[[F], F]:
    """Return a decorator that makes a method hold the model's lock, and raise its version by this number.

    Compiled code holds no interpreter lock, and learning replaces tables when they grow; a concurrent call would
    read and write memory that was released. Each model has a lock of its own, so several learn in parallel.
    """

    def decorate(method: F) -> F:
        @wraps(method)
        def locked(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.lock:
                self.version += versions
                return method(self, *args, **kwargs)

        return cast(F, locked)

    return decorate


#: For methods that change nothing, and for those after which the fast path is outdated.
exclusive, changing = _locking(0), _locking(1)


@contextmanager
def transaction(model: OnlineModel) -> Iterator[Callable[[], None]]:
    """Restore everything if records are refused; the value forgets the form of records that are not learned.

    If records were already learned, as when a warning is an error, everything that they need stays.
    """
    first, labels, weighing = not model.fitted, model.labels, model.weighing
    rounds = 0 if first else model.state.rounds
    undo_reading, restore = model.input.snapshot(model.fitted), model.population.checkpoint()
    try:
        yield undo_reading
    except BaseException as error:
        if restore is not None and not isinstance(error, Warning):
            restore()
        if not model.fitted or model.state.rounds == rounds:
            undo_reading()
            if first:
                model.population.forget_all()
            if first or restore is not None:
                model.labels, model.weighing = labels, weighing
        raise


@dataclass(frozen=True)
class Settings:
    """An estimator's parameters as the inner model takes them.

    Attributes
    ----------
    learner : BaseLearner
        Learns, and predicts margins.
    decider : BaseLearner
        Predicts margins of which only the sign is right, if that is cheaper; otherwise the learner itself.
    labels : callable
        Makes a label encoder of its saved data, or of None.
    reading : InputOptions
        The options of reading records.
    new_task : {"grow", "raise"}
        Whether a task that was never seen is registered or refused.
    max_tasks : int, optional
        The most tasks to know; None without a limit.
    class_weight : mapping, "balanced" or None
        The weights of records by their labels; see :mod:`coterie.estimators.weighing`.
    """

    learner: BaseLearner
    decider: BaseLearner
    labels: LabelKind
    reading: InputOptions
    new_task: str
    max_tasks: int | None = None
    class_weight: Any = None


@dataclass(frozen=True)
class _Labelled:
    """Records that have been read, with their labels.

    Attributes
    ----------
    records : Records
        The records, without their weights.
    y, weights
        Their labels, and the weights given with them; None without.
    learned : ndarray of bool, or None
        The records that are learned, the others having weight 0; None if all are.
    labels, values : Labels and ndarray, or None
        The labels known with these, and these encoded; None until they are learned.
    """

    records: Records
    y: Any
    weights: NDArray[np.float64] | None
    learned: NDArray[np.bool_] | None = None
    labels: Labels | None = None
    values: Any = None

    def __len__(self) -> int:
        return len(self.y if self.values is None else self.values)

    def select(self, part: slice | NDArray[np.int64]) -> _Labelled:
        """Return the records at some places, all of which are learned."""
        records, weights = self.records, self.weights
        rows = records.rows.cut(part.start, part.stop) if isinstance(part, slice) else records.rows.take(part)
        records = records._replace(rows=rows, task=records.task[part])
        return _Labelled(records, self.y[part], None if weights is None else weights[part])


class OnlineModel:
    """A learner with its tasks, its labels and the form of its records, shared by threads one call at a time.

    Attributes
    ----------
    lock : RLock
        Held by what learns, predicts, copies or saves; neither copied, nor pickled, nor saved.
    version : int
        Raised by every change but a round of the fast path, which is valid while its version is the model's.
    fast_path : FastPath or None
        Rounds of single dictionaries in which nothing is new, ready to be called while the versions are equal.
    parameters, settings
        The estimator's parameters for which the settings were made, and these.
    population, labels, input
        The tasks and the learner's state, the labels so far, and the form of records.
    weighing : Weighing
        The weights of records by their labels.
    """

    settings: Settings
    population: TaskRegistry

    def __init__(self, source: AnyInput) -> None:
        self.lock = RLock()
        self.parameters: tuple[Any, ...] | None = None
        self.version, self.fast_path = 0, cast("FastPath | Any", None)
        self.labels: Labels | None = None
        self.input = source
        self.weighing = Weighing()

    def configure(self, parameters: tuple[Any, ...], settings: Settings, names: Sequence[str] = ()) -> None:
        """Set the parameters, ``names`` of which have changed: ValueError if the state cannot be continued."""
        learner = settings.learner
        if settings.class_weight is not None and not learner.traits.weighs:
            raise ValueError(_UNWEIGHED.format(type(learner).__name__, "class_weight"))
        if self.labels is not None:
            check_class_weight_names(settings.class_weight, self.labels, complete=False)
        population = self.__dict__.get("population", TaskRegistry(learner))
        before = population.learner
        if population.state is not None:
            if names or _parts_of(before) != _parts_of(learner):
                _require_alike(before, learner, population, names)
            population.release()
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

    def __getstate__(self) -> Json:
        """The state for copies and :mod:`pickle`: all but the lock, copied, since the original goes on changing."""
        with self.lock:
            skipped = ("lock", "fast_path", "parameters")
            values = {name: value for name, value in self.__dict__.items() if name not in skipped}
            return copy.deepcopy(values) | {"parameters": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> OnlineModel:
        model = memo[id(self)] = OnlineModel.__new__(OnlineModel)
        model.__setstate__(self.__getstate__())
        return model

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock, self.fast_path = RLock(), None

    @changing
    def replace(self, other: OnlineModel) -> None:
        """Take over the state of another model."""
        self.parameters, self.settings = other.parameters, other.settings
        self.population, self.labels, self.input = other.population, other.labels, other.input
        self.weighing = other.weighing

    # -- facts ----------------------------------------------------------------------------------------------------

    @property
    def fitted(self) -> bool:
        """True once a record was learned."""
        return self.state is not None

    @property
    def state(self) -> LearnerState:
        """The learner's state; None before the first record."""
        population = self.__dict__.get("population")
        return None if population is None else population.state

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
        """The encoder of records of files; None if no file was read."""
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
        X: Inputs | Records | Block,
        y: types.Labels | None = None,
        task: Tasks | None = None,
        *,
        tasks: Sequence[Hashable] | None = None,
        classes: types.Labels | None = None,
        weights: ArrayLike | None = None,
        late: int = 0,
        whole: bool = False,
        passes: int = 1,
        length: int | None = None,
        asking: Asking | None = None,
        predictions: Predictions | None = None,
    ) -> BatchResult:
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
            The delay of labels in rounds: the last ``late`` records are predicted and not learned.
        whole : bool
            True if these records are all there are, so that one label alone is an error.
        passes : int
            The number of times that they will be learned, if they are all there are.
        length : int, optional
            The number of rounds there will be in all, if that is known.
        asking : callable, optional
            Makes the query strategy that decides which labels are asked for.
        predictions : Predictions, optional
            Predictions of the first records, which were made before; see :attr:`BatchResult.predictions`.

        Returns
        -------
        BatchResult
            The prediction of each record, and the changes by its label.
        """
        if late < 0:
            raise ValueError(f"late must be at least 0 rounds, got {late!r}")
        tasks = () if tasks is None else tasks
        with transaction(self) as undo_reading:
            batch = self._read(X, y, task, classes, weights, whole)
            if not len(batch) and batch.learned is not None:
                undo_reading()
                return BatchResult(np.zeros(0), np.zeros(0, bool), np.zeros(0, bool))
            length = passes * len(batch) if whole else length
            if batch.learned is None or asking is not None:  # every round of a query strategy counts
                return self._learn(batch, tasks, late, length, asking, predictions)
            for check in self.population.checks():  # all are refused or none
                check(distinct_labels(batch.records.task)[0])
            learn = self._learn_some_late if late else self._learn_some
            return learn(batch, tasks, late, length, predictions)

    def _read(
        self,
        X: Inputs | Records | Block,
        y: types.Labels | None,
        task: Tasks | None,
        classes: types.Labels | None,
        weights: ArrayLike | None,
        whole: bool,
    ) -> _Labelled:
        """Read records to learn: ValueError if they are refused."""
        labels, is_validated = self._labels_copied(), isinstance(X, Records | Block)
        if isinstance(X, Records):
            records = X
        elif isinstance(X, Block):
            records, y, weights = self._read_block(X, y, task, weights)
        else:
            learned = self.learned_records(X, y, weights)
            records, y = self.input.read_labelled(X, y, task, labels, not self.fitted, learned)
            if classes is not None:
                labels.values(classes)
        values = labels.values(y)
        if not is_validated:
            records = self.input.with_tasks(records, self.population.labels)
        weights = sample_weights(weights, len(values), whole)
        check_class_weight_names(self.settings.class_weight, labels, complete=whole or classes is not None)
        if weights is not None and not self.learner.traits.weighs:
            raise ValueError(_UNWEIGHED.format(type(self.learner).__name__, "sample_weight"))
        learned = self.learned_records(values, y, weights)
        if np.all(learned):
            batch = _Labelled(records, y, weights, None, labels, values)
        else:
            batch = _Labelled(records, labels.array(y), weights, np.asarray(learned))
            places = np.flatnonzero(learned)
            if is_validated or not len(places):  # predictions of all are asked for, or none is learned
                return batch if is_validated else replace(batch.select(places), learned=batch.learned)
            batch, labels = batch.select(places), self._labels_copied()
            batch = replace(batch, labels=labels, values=labels.values(batch.y))
        if whole:
            labels.require_whole()
        return batch

    def _read_block(
        self, block: Block, y: types.Labels | None, task: Tasks | None, weights: ArrayLike | None
    ) -> tuple[Records, Any, Any]:
        """Return records, labels and weights of a block: ValueError without labels, or with other arguments."""
        if block.y is None:
            raise ValueError("records without labels can be predicted, not learned")
        if any(argument is not None for argument in (y, task, weights)):
            raise ValueError("a block of a reader has labels, tasks and weights of its own: give nothing beside it")
        return self.input.read_block(block, not self.fitted), block.y, block.weight

    def learned_records(self, X: Inputs, y: types.Labels | None, weights: ArrayLike | None) -> Learning:
        """Flag the records that are learned: those with both their own weight and their label's weight above 0."""
        class_weight, learned = self.settings.class_weight, cast(Learning, True)
        if isinstance(class_weight, Mapping) and not all(class_weight.values()):
            learned = np.array([class_weight.get(label, 1.0) > 0.0 for label in np.asarray(y, object).tolist()], bool)
        own = None if weights is None else sample_weights(weights, tabular.count(X))
        return learned if own is None else learned & (own > 0.0)

    def know_labels(self, y: types.Labels | None) -> None:
        """Register the labels of records, of which some may not be asked for; ValueError for a third of two."""
        labels = self._labels_copied()
        labels.values(y)
        self.labels = labels

    def _labels_copied(self) -> Labels:
        """Return the labels known, as a copy."""
        return self.settings.labels(None if self.labels is None else self.labels.inside)

    def _learn(
        self,
        batch: _Labelled,
        tasks: Sequence[Hashable],
        late: int,
        length: int | None,
        asking: Asking | None,
        predictions: Predictions | None,
    ) -> BatchResult:
        """Learn all records of a batch: number the tasks, weigh the records, encode the labels, update."""
        labels, values, n, population = batch.labels, batch.values, len(batch), self.population
        if labels is None:
            labels = self._labels_copied()
            values = labels.values(batch.y)
        last, weighing = max(n - late, 0), self.weighing.under(self.settings.class_weight)
        weights, records = weighing.weigh(batch.y, batch.weights, last), batch.records
        if weights is not None:
            records = records._replace(rows=with_weights(records.rows, weights))
        is_bounded = population.recency is not None
        if is_bounded and (late or asking is not None):
            feature = "labels that come late" if late else "selective sampling"
            raise ValueError(f"max_tasks={self.settings.max_tasks} cannot be had with {feature}: leave one of them out")
        codes, new = self._number(tasks, records, length)
        self.learner.refuse_rows(self.state, records.rows)
        self.labels, self.weighing = labels, weighing  # nothing is refused any more
        encoded = labels.learn(values, last, weights)
        strategy: Tree = QUERY_ALL if asking is None else asking(len(population) + len(new))
        run = Batch(records.rows, codes, (), predictions, strategy)
        if is_bounded:
            update = population.learn_bounded(run, encoded.y, records.task, self.input.size(records))
        else:
            update = population.learn(run, encoded.y[:last], new)
        return self._rounds(labels, encoded, update, np.ones(n, bool) if asking is None else strategy.answer > 0)

    def _learn_some(
        self,
        batch: _Labelled,
        tasks: Sequence[Hashable],
        late: int,
        length: int | None,
        predictions: Predictions | None,
    ) -> BatchResult:
        """Learn some of the records; the others are predicted in their turn, and change nothing."""
        pieces = []
        for first, last, learning in runs_of(cast("NDArray[np.bool_]", batch.learned), len(batch)):
            piece = batch.select(slice(first, last))
            earlier = None if predictions is None else predictions.cut(first, last)
            if learning:
                pieces.append(self._learn(piece, tasks, 0, length, None, earlier))
                tasks = ()
            else:
                pieces.append(self._predict_unlearned(piece.records, earlier))
        return concatenate_results(pieces)

    def _learn_some_late(
        self,
        batch: _Labelled,
        tasks: Sequence[Hashable],
        late: int,
        length: int | None,
        predictions: Predictions | None,
    ) -> BatchResult:
        """Learn as :meth:`_learn_some` does, each label ``late`` rounds after its record was predicted."""
        n, learned = len(batch), cast("NDArray[np.bool_]", batch.learned)
        if learned.any():
            self._number(tasks, batch.select(np.flatnonzero(learned)).records, length)
        n_predicted = 0 if predictions is None else len(predictions.margins)
        predicted: list[BatchResult] = []
        updates: list[BatchResult] = []
        for t in range(n):
            records = batch.select(slice(t, t + 1)).records
            if learned[t] and not self.learner.traits.tasks_independent:  # a task counts from its prediction on
                self.population.validate_and_register(records.task.tolist(), InputShape(self.state.features))
            earlier = predictions.cut(t, t + 1) if predictions is not None and t < n_predicted else None
            predicted.append(self._predict_unlearned(records, earlier))
            s = t - late
            if s >= 0 and learned[s]:
                piece = batch.select(slice(s, s + 1))
                updates.append(self._learn(piece, (), 0, length, None, predicted[s].predictions))
            elif s >= 0:
                updates.append(predicted[s])
        update = concatenate_results([*updates, *predicted[len(updates) :]])
        changes = {name: getattr(update, name) for name in ("updated", "stored", "evicted")}
        return replace(concatenate_results(predicted), **changes, own=None)

    def _predict_unlearned(self, records: Records, earlier: Predictions | None) -> BatchResult:
        """Predict records that change nothing; of those predicted earlier, return these predictions."""
        n, predictions, own = len(records.task), earlier, None
        if self.fitted:
            population, size = self.population, self.input.size(records)
            if self.learner.traits.feature_changes_all and self.input.grows:
                size = size._replace(features=int(widths_of(records.rows).max(initial=self.state.features)))
            if not population.has_room(size):
                population.register((), size)
            view = ModelPredictions(self, records)
            current = view.predictions
            predictions, own = current.replace_first(earlier), view.decode(current.margins)
        labels = self.label_encoder
        if predictions is None:
            margins = np.full((n, 0), -np.inf) if isinstance(labels, ManyLabels) else np.full(n, labels.shift)
        else:
            margins = np.asarray(labels.shift + labels.factor * predictions.margins)
        own = margins if own is None else own
        return BatchResult(margins, np.zeros(n, bool), np.ones(n, bool), predictions=predictions, own=own)

    def _rounds(self, labels: Labels, encoded: Any, update: UpdateResult, asked: NDArray[np.bool_]) -> BatchResult:
        """Return the result of a batch on the scale of the labels."""
        weights, n = None if update.views is None else ViewWeights(*update.views), len(asked)
        updated = np.zeros(n, bool)
        updated[: len(update.steps)] = update.steps > 0
        own = labels.predictions(update.own, encoded) if len(update.own) == n else None
        margins = labels.predictions(update.predictions.margins, encoded)
        return BatchResult(margins, updated, asked, update.stored, update.evicted, weights, update.predictions, own)

    def _number(
        self, tasks: Sequence[Hashable], records: Records, length: int | None
    ) -> tuple[NDArray[np.int64], Sequence[Hashable]]:
        """Return the numbers of records' tasks, and the new tasks, once there is room for ``tasks`` and the records.

        New tasks of the records are only checked: they get room as they come. Under ``max_tasks`` none is numbered.
        """
        population, size, is_bounded = self.population, self.input.size(records), self.population.recency is not None
        has_room = self.fitted and not len(tasks) and population.has_room(size) and not is_bounded
        codes = population.tasks.codes_of_known(records.task) if has_room else None
        if codes is not None:
            return codes, ()
        distinct, places = occurring(records.task)
        if has_room:
            codes, new = population.number(distinct, places)
            if not len(new):
                return codes, new
        if is_bounded:
            self._make_room((), size, length, distinct)
            return np.zeros(len(places), np.int64), ()
        if self.learner.traits.feature_changes_all and self.input.grows and len(distinct):
            size = size._replace(features=self.state.features if self.fitted else 1)
        self._make_room(tasks, size, length, distinct)
        return population.number(distinct, places)

    def _make_room(
        self, tasks: Sequence[Hashable], size: InputShape, length: int | None = None, coming: Sequence[Hashable] = ()
    ) -> None:
        """Create or resize the state for tasks; only check those in ``coming``: ValueError if refused."""
        population = self.population
        if self.state is None:
            population.require_savable([*tasks, *coming] if len(tasks) else coming)
            first = tasks if population.recency is not None else self.input.first_tasks(tasks, coming)
            population.begin(size, first, length, coming)
            self.input.began(self.state)
        elif population.recency is not None:
            population.validate_and_evict(coming)
        else:
            population.validate_and_register(tasks, size, coming)

    @exclusive
    def as_block(
        self,
        X: Inputs,
        y: types.Labels,
        task: Tasks | None = None,
        weights: ArrayLike | None = None,
        whole: bool = False,
    ) -> Block:
        """Validate records given in any form, for :meth:`learn`; ``whole`` as there."""
        with transaction(self):
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
        """End rounds without labels: means and clocks go on, nothing is learned."""
        if self.fitted:
            self.population.skip(rounds)

    @changing
    def forget_tasks(self, tasks: Sequence[Hashable]) -> None:
        """Drop tasks and their own weights: ValueError, and nothing changed, for one not known or that cannot be."""
        self.population.forget(tasks)

    # -- predicting -----------------------------------------------------------------------------------------------

    @exclusive
    def predict(self, X: Inputs | Block, task: Tasks | None = None) -> ModelPredictions:
        """The predictions of records, or of a validated block: margins, labels, probabilities and others are views."""
        return ModelPredictions(self, self.input.read(X, task, self.population.labels))

    @exclusive
    def margin_variances(self, X: Inputs, task: Tasks | None = None) -> NDArray[np.float64]:
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
    def predict_pending(self, block: Block) -> BatchResult:
        """Predict a validated block before its labels come; margins are 0 before anything is learned."""
        n = len(block)
        moved, asked = np.zeros(n, bool), np.ones(n, bool)
        if not self.fitted:
            return BatchResult(np.zeros(n), moved, asked)
        view = self.predict(block)
        predictions = view.predictions
        return BatchResult(view.decode(predictions.margins), moved, asked, predictions=predictions)

    # -- labels that come one by one, and late ----------------------------------------------------------------------

    @exclusive
    def require_labels(self, y: Sequence[Hashable]) -> None:
        """Refuse labels that cannot be learned: ValueError."""
        self._labels_copied().values(y)

    @changing
    def read_waiting(
        self, xs: Sequence[Record], tasks: Sequence[Hashable] | None, learning: bool = True
    ) -> list[WaitingRow]:
        """Read dictionaries with delayed labels without predicting them; see :meth:`predict_waiting`."""
        return self._waiting(xs, tasks, False, learning)

    @changing
    def predict_waiting(
        self, xs: Sequence[Record], tasks: Sequence[Hashable] | None, always: bool = False, learning: bool = True
    ) -> list[WaitingRow]:
        """Predict dictionaries with delayed labels; if ``learning``, features and scales count them.

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
        self, xs: Sequence[Record], tasks: Sequence[Hashable] | None, predicted: bool, learning: bool
    ) -> list[WaitingRow]:
        population, source = self.population, self.input
        if not self.fitted or not isinstance(source, Input):
            return [WaitingRow() for _ in xs]
        with transaction(self):
            records, _ = source.read_labelled(xs, "no_validation", tasks, cast(Any, None), False, learning)
            records = source.with_tasks(records, population.labels)
            distinct = occurring(records.task)[0]
            unmet = self.learner.traits.tasks_independent or population.recency is not None or not learning
            coming = () if unmet else distinct
            population.validate_and_register(coming, source.size(records), distinct)
        predictions = None
        if predicted:
            predictions = self.learner.predict(self.state, population.make_batch(records.rows, records.task))
        return waiting_rows(records.rows, predictions)

    def learn_waiting(
        self,
        waiting: Sequence[WaitingRow],
        y: Sequence[Hashable],
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
            part = slice(stretch[0], stretch[-1] + 1)
            rows, predictions = joined_rows(waiting[part])
            rounds = self.learn(Records(rows, rows.width, whose[part]), y[part], predictions=predictions)
            margins.append(rounds.margin if rounds.own is None else rounds.own)
        return stacked(margins)

    @exclusive
    def margins_waiting(self, waiting: Sequence[WaitingRow], tasks: Sequence[Hashable] | None) -> Margins:
        """Recompute the margins of waiting rows of one shape under the current model."""
        rows, _ = joined_rows(waiting)
        whose = tabular.task_labels(tasks, len(waiting), self.population.labels)
        return ModelPredictions(self, Records(rows, rows.width, whose)).margins

    @exclusive
    def check_waiting(self, waiting: Sequence[WaitingRow]) -> None:
        """Refuse rows of a file that this model cannot have made: ValueError."""
        if all(row.values is None and row.predictions is None for row in waiting):
            return
        require(self.fitted, "records wait that nothing can have predicted")
        like = self.predict_nothing()
        for row in waiting:
            row.check(self.state.features, like)

    @exclusive
    def predict_nothing(self) -> Predictions | None:
        """Predict a record without features, to compare the form of predictions; None if no task is known."""
        empty = Csr(np.zeros(0), np.zeros(0, np.int32), np.zeros(2, np.int64))
        return self.learner.predict(self.state, Batch(empty, np.zeros(1, np.int64))) if len(self.population) else None

    # -- one record at a time -------------------------------------------------------------------------------------

    def learn_one(self, x: Record, y: Hashable, task: Hashable = None, weight: float | None = None) -> None:
        """Learn one record given as a dictionary of features; new features and tasks are registered as they come."""
        lock = self.lock
        lock.acquire()  # in half the time that `with` takes, and a decorator would take longer still
        try:
            path = self.fast_path
            if path is not None and weight is None and path.version == self.version:
                labels = path.learn(x, y, task, self.labels)
                if labels is not None:
                    self.labels = labels
                    return
            own, is_weighted = None if weight is None else [weight], self.settings.class_weight is not None
            if (is_weighted or own) and not (self.fitted and np.all(self.learned_records([x], [y], own))):
                self.learn([x], [y], None if task is None else [task], weights=own)
                return
            self.version += 1
            encoded = self._encode_one(y, weight)
            with transaction(self):
                row, number = self._row_of_one(x, task)
                self._update_one(row, number, *encoded)
            if encoded[-1] is None:
                self._open_fast_path()
        finally:
            lock.release()

    def _encode_one(
        self, y: Hashable, weight: float | None = None
    ) -> tuple[Labels, Weighing, Any, NDArray[np.float64] | None]:
        """Return the labels and their weighing after one more label, the label encoded, and the record's weight."""
        class_weight = self.settings.class_weight
        if weight is None and class_weight is None:
            known = self.label_encoder.with_one(y)
            return known, self.weighing, known.value(y), None
        if not self.learner.traits.weighs:
            raise ValueError(_UNWEIGHED.format(type(self.learner).__name__, "sample_weight"))
        labels, weighing = self._labels_copied(), self.weighing.under(class_weight)
        values = labels.values([y])
        check_class_weight_names(class_weight, labels, complete=False)
        weights = weighing.weigh([y], sample_weights(weight, 1), 1)
        return labels, weighing, labels.learn(values, 1, weights).y, weights

    def _update_one(
        self, row: Any, number: int, labels: Labels, weighing: Weighing, y: Any, weights: NDArray[np.float64] | None
    ) -> None:
        self.labels, self.weighing, population = labels, weighing, self.population
        if weights is None:
            population.learner.learn_one(population.state, row, number, y)
        else:
            population.learn(Batch(with_weights(row, weights), np.array([number])), y)
        if population.recency is not None:
            population.recency.see_one(number)

    def _row_of_one(self, x: Any, task: Hashable) -> tuple[Any, int]:
        """Return the row of a record to learn, for which there is room then, and the number of its task."""
        row, width, task = self.input.read_one(x, task, self.population.labels, learning=True)
        population, size = self.population, self.input.size(Records(row, width, _NO_TASKS))
        if population.recency is not None:
            self._make_room((), size, None, [task])
            population.evict_for(task, size)
        elif not (self.fitted and task in population.tasks.numbers and population.has_room(size)):
            self._make_room([task], size)
        self.learner.refuse_rows(self.state, row)
        return row, population.tasks.numbers[task]

    def _open_fast_path(self) -> None:
        """Prepare rounds of dictionaries in which nothing is new, once the model has stayed the same for some time."""
        records, population = self.input.plain_records, self.population
        self.fast_path = None
        if records is not None and self.settings.class_weight is None:
            calls = population.learner.fast_calls(population.state)
            if calls is not None:
                self.fast_path = FastPath(self.version, population, calls, records)

    @changing
    def predict_and_learn_one(self, x: Record, y: Hashable, task: Hashable) -> Margins:
        """Predict and then learn one record, a dictionary; return the margin predicted, an array of one entry or row.

        The same bits as by a block of the record, in a tenth of the time.
        """
        before, labels = self.label_encoder, self.label_encoder.with_one(y)
        new = labels is not before and not before.numeric  # of many classes the margins get a column
        if not self.fitted or new or self.settings.class_weight is not None:
            return self.learn(self.as_block([x], [y], None if task is None else [task])).margin
        with transaction(self):
            # The scales learn of the record before it is predicted, as in a block.
            row, number = self._row_of_one(x, task)
            margin = before.shift + before.factor * self.learner.predict_one(self.state, row, number)
            self._update_one(row, number, labels, self.weighing, labels.value(y), None)
        return np.asarray(margin)[None]

    def predict_one(self, x: Record, task: Hashable = None) -> Any:
        """Return the label of one record; None, or 0.0 for numbers, before anything is learned."""
        lock = self.lock
        lock.acquire()
        try:
            path = self.fast_path
            if path is not None and path.version == self.version:
                margin, labels = path.score(x, task), self.labels
                if margin == margin and labels is not None:
                    return labels.label(labels.shift + labels.factor * margin)
            if self.state is None:
                return self.label_encoder.unlearned
            return self.label_encoder.label(self._decide_one(x, task, self.settings.decider))
        finally:
            lock.release()

    @exclusive
    def decide_one(self, x: Record, task: Hashable = None) -> Any:
        """Return the margin of one record on the scale of the labels; the model is fitted."""
        return self._decide_one(x, task, self.learner)

    def _decide_one(self, x: Record, task: Hashable, learner: BaseLearner) -> Any:
        """Return the margin of one record on the scale of the labels, which may have a new task or new features."""
        path, labels, population = self.fast_path, self.label_encoder, self.population
        margin = math.nan if path is None or path.version != self.version else path.score(x, task)
        if margin != margin:
            row, _, task = self.input.read_one(x, task, population.labels, learning=False)
            number = population.tasks.numbers.get(task)
            if number is None:
                population.refuse_unseen([task])
                check_no_collisions([task], population.tasks.numbers)
                margin = learner.predict(self.state, Batch(row, _UNSEEN, [task])).margins[0]
            elif learner is population.learner:
                self._open_fast_path()
                margin = learner.predict_one(self.state, row, number)
            else:
                margin = learner.predict(self.state, Batch(row, np.array([number]))).margins[0]
        return labels.shift + labels.factor * margin

    @exclusive
    def read_one(self, x: Record, task: Hashable) -> ModelPredictions:
        """Return the predictions of one record given as a dictionary, each view of it having one entry."""
        row, width, task = self.input.read_one(x, task, self.population.labels, learning=False)
        return ModelPredictions(self, Records(row, width, tabular.objects([task])))


_NO_TASKS = np.zeros(0)

#: The number of one task that nobody has seen.
_UNSEEN = np.array([-1])


def _require_alike(before: BaseLearner, learner: BaseLearner, population: TaskRegistry, names: Sequence[str]) -> None:
    """Refuse a learner with other initial models than before: ValueError naming the parameters.

    The kinds and numbers of a model's beginning, and the relation's, stay in the state: other parameters would have no
    effect, and a file with both could not be loaded. Models of no record are compared, as they would be saved.
    """
    if not learner.traits.has_tasks:
        return  # learners of several views compare the state itself
    labels = population.tasks.labels
    tasks = list(labels if learner.traits.fixed else labels[:2])
    try:
        alike = getattr(before, "relation", None) == getattr(learner, "relation", None)
        (data, arrays), (others, theirs) = (one.dump(one.init(Index(tasks), InputShape())) for one in (before, learner))
        alike = alike and data == others and arrays.keys() == theirs.keys()
        alike = alike and all(np.array_equal(array, theirs[name]) for name, array in arrays.items())
    except (AttributeError, TypeError, ValueError):  # a task that the other relation does not know
        alike = False
    if not alike:
        learner.rebind(copy.deepcopy(population.state))  # may say more
        changed = " and ".join(names) or "parameters"
        raise ValueError(f"{changed} cannot change once something is learned: fit a new model")


def _parts_of(learner: BaseLearner) -> list[Any]:
    """Return the parts by which a copy, without its earlier parameters, is compared before a model is made."""
    own = [getattr(learner, name, None) for name in ("hypothesis", "relation", "rule", "prior", "shared")]
    inner = getattr(learner, "learners", [learner.learner] if hasattr(learner, "learner") else [])
    return [*own, *map(_parts_of, inner)]
