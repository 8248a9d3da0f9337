"""The inner model of an online estimator: learner, tasks, label encoder and input encoder, with a lock.

An estimator has the parameters; each of its methods makes one call of an :class:`OnlineModel`: ``learn``, or
``predict``, whose result has margins, labels, probabilities and intervals. Progressive validation, comparisons,
selective sampling, files and commands use it as a :class:`coterie.evaluation.stream_model.StreamModel`.
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
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import types
from coterie._compiled.core.checks import require
from coterie._compiled.core.records import Csr, split_unseen, with_weights
from coterie._compiled.primal.query_decisions import QUERY_ALL
from coterie.data import tabular
from coterie.data.block import Block
from coterie.data.input import AnyInput, InputOptions, ReadContext, Records
from coterie.data.label_encoders import ClassLabelEncoder, LabelEncoder
from coterie.data.preprocessing import runs_of
from coterie.evaluation.stopping_signals import interrupt_deferred
from coterie.evaluation.stream_model import Asking, BatchResult, Margins, concatenate_results, stacked
from coterie.models.contract import BaseLearner, Batch, InputShape, LearnerState, Predictions
from coterie.models.task_registry import TaskRegistry
from coterie.tasks.index import check_no_collisions, distinct_labels
from coterie.types import AnyLabels, AnyRecords, Array, Arrays, Floats, Inputs, Json, Learning, Record, Tasks, Tree

from .delayed_labels import WaitingRow, joined_rows, waiting_rows
from .fast_path import FastPath
from .predictions import ModelPredictions
from .sample_weights import BALANCED, Weighing, check_class_weight_names, sample_weights

#: Makes a label encoder of its saved data, or of None.
LabelKind: TypeAlias = Callable[[Any], LabelEncoder]
F = TypeVar("F", bound=Callable[..., Any])

#: The parameters of estimators that may change after the first update; others belong to what was learned.
CHANGEABLE = ("task_column", "new_task", "max_tasks", "class_weight")

#: The error of weights for a learner that does not support them.
_UNWEIGHED = "{} does not support {}; leave it out"


def _locking(changes: bool) -> Callable[[F], F]:
    """Return a decorator for methods that hold the model's lock.

    If ``changes``, the method also disables the fast path.

    Compiled code releases the interpreter lock, and learning replaces tables when they grow; without the lock a
    concurrent call could read and write released memory. Each model has its own lock, so that several learn in
    parallel.
    """

    def decorate(method: F) -> F:
        @wraps(method)
        def locked(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.lock:
                if changes:
                    self.fast_path = None
                return method(self, *args, **kwargs)

        return cast(F, interrupt_deferred()(locked) if changes else locked)

    return decorate


#: Decorators for methods that change nothing, and for methods that invalidate the fast path.
exclusive, changing = _locking(False), _locking(True)


@contextmanager
def transaction(model: OnlineModel) -> Iterator[Callable[[], None]]:
    """Context that locks a model and restores its state if an error occurs.

    It yields a function that discards the encodings of records that were not learned.

    If records were already learned, as when a warning is raised as an error, their encoding is kept.
    """
    with interrupt_deferred(), model.lock:
        model.fast_path = None
        population, labels, weighing = model.population, model.label_encoder, model.weighing
        first = population.state is None
        rounds = 0 if first else population.state.rounds
        undo_reading = model.input.snapshot(not first)
        restore = population.checkpoint() if population.learner.traits.can_refuse and not first else None
        try:
            yield undo_reading
        except BaseException as error:
            if restore is not None and not isinstance(error, Warning):
                restore()
            # records that were learned need their columns and scales, whatever happened afterwards
            if population.state is None or population.state.rounds == rounds:
                undo_reading()
                if first:
                    population.forget_all()
                if first or restore is not None:
                    model.label_encoder, model.weighing = labels, weighing
            raise


@dataclass(frozen=True)
class Settings:
    """The validated parameters of an estimator, as objects that its inner model uses.

    Attributes
    ----------
    learner : BaseLearner
        Learns, and predicts margins.
    labels : callable
        Makes a label encoder of its saved data, or of None.
    reading : InputOptions
        The options of reading records.
    new_task : {"grow", "raise"}
        Register an unseen task, or raise ValueError.
    max_tasks : int, optional
        The maximum number of tasks; None for no limit.
    class_weight : mapping, "balanced" or None
        The weights of records by their labels; see :mod:`coterie.estimators.sample_weights`.
    """

    learner: BaseLearner
    labels: LabelKind
    reading: InputOptions
    new_task: str
    max_tasks: int | None = None
    class_weight: Any = None


class LearnSettings(NamedTuple):
    """The options of learning a batch; see :meth:`OnlineModel.learn`."""

    tasks: Sequence[Hashable] = ()
    late: int = 0
    length: int | None = None
    asking: Asking | None = None
    predictions: Predictions | None = None


class OnlineModel:
    """A learner with its tasks, label encoder and input encoder, locked so that threads can share it.

    Attributes
    ----------
    lock : RLock
        Held during learning, predicting, copying and saving; itself not copied, pickled or saved.
    fast_path : FastPath or None
        The fast path for single dictionaries without new tasks or features; other changes of the model drop it.
    parameters, settings
        The estimator's parameters, and the settings made from them.
    population, label_encoder, input
        The tasks and the learner's state, the labels so far, and the encoding of records.
    weighing : Weighing
        The weights of records by their labels.
    """

    settings: Settings
    population: TaskRegistry
    label_encoder: LabelEncoder

    def __init__(self, source: AnyInput) -> None:
        self.lock = RLock()
        self.parameters: tuple[Any, ...] | None = None
        self.fast_path = cast("FastPath | Any", None)
        self.input = source
        self.weighing = Weighing()

    def configure(self, parameters: tuple[Any, ...], settings: Settings, names: Sequence[str] = ()) -> None:
        """Set new parameters.

        Raise ValueError if one of the changed ones, ``names``, is fixed after the first update.
        """
        learner = settings.learner
        if settings.class_weight is not None and not learner.traits.weighs:
            raise ValueError(_UNWEIGHED.format(type(learner).__name__, "class_weight"))
        known = self.__dict__.get("label_encoder")
        labels = settings.labels(None if known is None else known.inside)
        check_class_weight_names(settings.class_weight, labels, complete=False)
        population = self.__dict__.get("population", TaskRegistry(learner))
        fixed = [name for name in names if name not in CHANGEABLE]
        if fixed and population.state is not None:
            raise ValueError(f"{' and '.join(fixed)} cannot change after the first update; fit a new model")
        population.limit(learner, settings.max_tasks)
        self.fast_path, self.label_encoder = None, labels
        population.learner, population.new_task = learner, settings.new_task
        self.parameters, self.settings, self.population = parameters, settings, population
        self.weighing = self.weighing.under(settings.class_weight)
        self.input.configure(replace(settings.reading, counts_unseen=learner.traits.counts_unseen))

    # -- copies ---------------------------------------------------------------------------------------------------

    def __getstate__(self) -> Json:
        """Return a copy of the state without the lock, for copies and :mod:`pickle`."""
        with self.lock:
            skipped = ("lock", "fast_path", "parameters")
            values = {name: value for name, value in self.__dict__.items() if name not in skipped}
            return copy.deepcopy(values) | {"parameters": self.parameters}

    def __deepcopy__(self, memo: dict[int, Any]) -> OnlineModel:
        model = memo[id(self)] = OnlineModel.__new__(OnlineModel)
        model.__dict__.update(self.__getstate__(), lock=RLock(), fast_path=None)
        model.parameters = copy.deepcopy(self.parameters, memo)  # of a copied estimator they are the same objects
        return model

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Restore a state with writeable copies of its arrays.

        Arrays in shared memory or mapped files may be read-only.
        """
        self.__dict__.update(copy.deepcopy(state, {id(state["parameters"]): state["parameters"]}))
        self.lock, self.fast_path = RLock(), None

    @changing
    def replace(self, other: OnlineModel, parameters: tuple[Any, ...] | None) -> None:
        """Replace the state by that of the model ``other``, which has these parameters."""
        self.parameters, self.settings = parameters, other.settings
        self.population, self.input, self.label_encoder = other.population, other.input, other.label_encoder
        self.weighing = other.weighing

    # -- files ----------------------------------------------------------------------------------------------------

    @exclusive
    def dump(self) -> tuple[Json, Arrays]:
        """Return the learned state as JSON data and named arrays."""
        if self.state is None:
            return {}, {}
        state, arrays = self.population.dump()
        reading, more = self.input.to_saved()
        data = {"state": state, **reading, "labels": self.label_encoder.inside}
        if self.learner.traits.has_tasks:
            data["tasks"] = list(self.population.tasks.labels)  # the list goes on growing
        if self.settings.class_weight == BALANCED:
            data["label_counts"] = self.weighing.to_saved()
        return data, arrays | more

    @changing
    def restore(self, data: Json, arrays: Arrays) -> None:
        """Restore the state from the result of :meth:`dump`; raise ValueError if it contradicts the parameters."""
        if not data:
            return
        of_records = ("encoder.", "preparation.")
        own = {name: array for name, array in arrays.items() if not name.startswith(of_records)}
        self.population.restore(data["state"], own, self.input.index_of(data))
        labels = self.settings.labels(data["labels"])
        labels.require_sound(self.learner.models(self.state))
        if self.settings.class_weight == BALANCED:
            self.weighing = Weighing.restored(BALANCED, data.get("label_counts"))
        self.input.from_saved(data, arrays, self.state)
        self.label_encoder = labels

    # -- facts ----------------------------------------------------------------------------------------------------

    @property
    def fitted(self) -> bool:
        """True after the first learned record."""
        return self.state is not None

    @property
    def state(self) -> LearnerState:
        """The learner's state; None before the first record."""
        population = self.__dict__.get("population")
        return None if population is None else population.state

    @property
    def learner(self) -> BaseLearner:
        """The learner, which has the algorithm and its parameters but no state."""
        return self.population.learner

    @property
    def encoder(self) -> Any:
        """The encoder of records from files; None if no file was read."""
        return self.input.encoder

    @encoder.setter
    def encoder(self, encoder: Any) -> None:
        with self.lock:
            self.fast_path = None
            self.input.encoder = encoder

    # -- learning -------------------------------------------------------------------------------------------------

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
        """Predict each record of a batch and then learn it, in their order.

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
            The number of passes over these records, if ``whole``.
        length : int, optional
            The total number of rounds, if known.
        asking : callable, optional
            Makes the query strategy that selects the labels to learn.
        predictions : Predictions, optional
            Earlier predictions of the first records; see :attr:`BatchResult.predictions`.

        Returns
        -------
        BatchResult
            The prediction of each record, and the changes by its label.
        """
        if late < 0:
            raise ValueError(f"late must be at least 0 rounds, got {late!r}")
        if self.settings.max_tasks is not None and (late or asking is not None):
            feature = "delayed labels" if late else "selective sampling"
            raise ValueError(
                f"max_tasks={self.settings.max_tasks} is not supported with {feature}; leave out one of them"
            )
        with transaction(self) as undo_reading:
            records = self._read(X, y, task, classes, weights, whole)
            n = len(records.task)
            if not n and records.learned is not None:
                undo_reading()
                self.know_labels(() if classes is None else classes)
                return BatchResult(np.zeros(0), np.zeros(0, bool), np.zeros(0, bool))
            length = passes * n if whole else length
            options = LearnSettings(() if tasks is None else tasks, late, length, asking, predictions)
            if records.learned is None or asking is not None:  # every round of a query strategy counts
                return self._learn(records, options)
            for check in self.population.checks():  # all are refused or none
                check(distinct_labels(records.task)[0])
            if self.label_encoder.most == 2:  # the sign of a label must not depend on how weights of 0 cut the batch
                self.know_labels(records.y[records.learned])
            # records of weight 0 are predicted in order, and must not change scales, clocks or the relation
            return self._learn_some_late(records, options) if late else self._learn_some(records, options)

    def _read(
        self,
        X: Inputs | Records | Block,
        y: types.Labels | None,
        task: Tasks | None,
        classes: types.Labels | None,
        weights: ArrayLike | None,
        whole: bool,
    ) -> Records:
        """Validate and encode the records X, y to learn."""
        labels, population = copy.copy(self.label_encoder), self.population
        if classes is not None:
            labels.values(classes)
        declared = copy.copy(labels)
        if isinstance(X, Block):
            X = X.with_number_labels() if labels.numeric else X
            y, weights = _unpack_block(X, y, task, weights)
        is_validated, learned = isinstance(X, Records | Block), cast(Learning, True)
        is_weighted = weights is not None or isinstance(self.settings.class_weight, Mapping)
        if is_weighted:
            learned = self.learned_records(y if is_validated else X, y, weights)
        if isinstance(X, Records):
            records = X.with_labels(y, labels)
        else:
            context = ReadContext(population.tasks, labels, learned, first=population.state is None)
            records = self.input.read(X, y, task, context)
        if is_weighted:
            checked = sample_weights(weights, len(records.task), whole)
            check_class_weight_names(self.settings.class_weight, labels, complete=whole or classes is not None)
            if checked is not None and not self.learner.traits.weighs:
                raise ValueError(_UNWEIGHED.format(type(self.learner).__name__, "sample_weight"))
            records = self._mark_learned(records._replace(weights=checked), declared, np.asarray(learned), is_validated)
        if whole and records.labels is not None:
            records.labels.require_whole()
        return records

    def _mark_learned(
        self, records: Records, declared: LabelEncoder, learned: NDArray[np.bool_], is_validated: bool
    ) -> Records:
        """Set the mask of records to learn, those with a weight and a known label; drop others unless validated.

        ``declared`` is the encoder of labels without those of these records.
        """
        if learned.all():
            return records
        if self.learner.traits.by_round:
            raise ValueError(f"record {np.argmin(learned)} has weight 0; leave out its row and column of kernel values")
        places = np.flatnonzero(learned)
        records = records._replace(y=declared.array(records.y), learned=learned, labels=None, values=None)
        if is_validated:
            return records
        records = records.select(places)
        if not len(places):
            return records._replace(learned=learned)
        return records.with_labels(records.y, declared)

    def learned_records(self, X: AnyRecords, y: AnyLabels, weights: ArrayLike | None) -> Learning:
        """Return a mask of the records with a positive sample weight and class weight, which are learned."""
        class_weight, learned = self.settings.class_weight, cast(Learning, True)
        if isinstance(class_weight, Mapping) and not all(class_weight.values()):
            learned = np.array([class_weight.get(label, 1.0) > 0.0 for label in np.ravel(np.asarray(y, object))], bool)
        # a list of views is not counted as records: learners of views refuse weights later, in their own words
        refused = weights is None or not self.learner.traits.weighs
        own = None if refused else sample_weights(weights, tabular.count(X))
        return learned if own is None else learned & (own > 0.0)

    def know_labels(self, y: types.Labels | None) -> None:
        """Add the labels y to the label encoder; raise ValueError for a third label of a binary classifier."""
        labels = copy.copy(self.label_encoder)
        labels.values(y)
        self.label_encoder = labels

    def _learn(self, records: Records, options: LearnSettings) -> BatchResult:
        """Learn all records of a batch: number their tasks, compute weights, encode labels, and update the model."""
        tasks, late, length, asking, predictions = options
        if records.labels is None:
            records = records.with_labels(records.y, copy.copy(self.label_encoder))
        n, population = len(records.task), self.population
        labels, values = cast(LabelEncoder, records.labels), cast(Array, records.values)
        last, weighing, weights = max(n - late, 0), self.weighing, records.weights
        if self.settings.class_weight is not None:
            weighing = weighing.under(self.settings.class_weight)
            weights = weighing.weigh(records.y, weights, last)
        rows = records.rows if weights is None else with_weights(records.rows, weights)
        codes, new = self._number(tasks, records, length)
        if population.learner.traits.limits_features:
            population.learner.refuse_rows(population.state, rows)
        self.label_encoder, self.weighing = labels, weighing  # nothing is refused any more
        encoded = labels.learn(values, last, weights)
        strategy: Tree = QUERY_ALL if asking is None else asking(len(population) + len(new))
        batch = Batch(rows, codes, (), predictions, strategy)
        if population.recency is not None:
            update = population.learn_bounded(batch, encoded.y, records.task, self.input.size(records))
        else:
            update = population.learn(batch, encoded.y[:last], new)
        updated, asked = np.zeros(n, bool), np.ones(n, bool) if asking is None else strategy.answer > 0
        updated[: len(update.steps)] = update.steps > 0
        return BatchResult(
            labels.predictions(update.predictions.margins, encoded),
            updated,
            asked,
            update.stored,
            update.evicted,
            update.predictions,
            labels.predictions(update.own, encoded) if len(update.own) == n else None,
        )

    def _learn_some(self, records: Records, options: LearnSettings) -> BatchResult:
        """Learn the records in the mask ``records.learned``, and only predict the others, in order."""
        pieces, predictions = [], options.predictions
        for first, last, learning in runs_of(cast("NDArray[np.bool_]", records.learned), len(records.task)):
            piece = records.select(slice(first, last))
            earlier = None if predictions is None else predictions.cut(first, last)
            if learning:
                pieces.append(self._learn(piece, options._replace(predictions=earlier)))
                options = options._replace(tasks=())
            else:
                pieces.append(self._predict_unlearned(piece, earlier))
        return concatenate_results(pieces)

    def _learn_some_late(self, records: Records, options: LearnSettings) -> BatchResult:
        """Learn as :meth:`_learn_some` does, with labels that arrive ``options.late`` rounds after the records."""
        tasks, late, length, _, predictions = options
        n, learned = len(records.task), cast("NDArray[np.bool_]", records.learned)
        if learned.any():
            self._number(tasks, records.select(np.flatnonzero(learned)), length)
        n_predicted = 0 if predictions is None else len(predictions.margins)
        predicted: list[BatchResult] = []
        updates: list[BatchResult] = []
        for t in range(n):
            record = records.select(slice(t, t + 1))
            if learned[t] and not self.learner.traits.tasks_independent:  # a task counts from its prediction on
                self.population.validate_and_register(record.task.tolist(), InputShape(self.state.features))
            earlier = predictions.cut(t, t + 1) if predictions is not None and t < n_predicted else None
            predicted.append(self._predict_unlearned(record, earlier))
            s = t - late
            if s >= 0 and learned[s]:
                piece = records.select(slice(s, s + 1))
                updates.append(self._learn(piece, LearnSettings(length=length, predictions=predicted[s].predictions)))
            elif s >= 0:
                updates.append(predicted[s])
        update = concatenate_results([*updates, *predicted[len(updates) :]])
        changes = {name: getattr(update, name) for name in ("updated", "stored", "evicted")}
        return replace(concatenate_results(predicted), **changes, own=None)

    def _predict_unlearned(self, records: Records, earlier: Predictions | None) -> BatchResult:
        """Predict records that are not learned. ``earlier`` are the earlier predictions of the first of them."""
        n, predictions, own = len(records.task), earlier, None
        if self.fitted:
            population, size = self.population, self.input.size(records)
            if self.learner.traits.feature_changes_all:  # no columns for the names and gaps of records that follow
                records = records._replace(rows=split_unseen(records.rows, self.state.features)[0])
            elif not population.has_room(size):
                population.register((), size)
            view = ModelPredictions(self, records)
            current = view.predictions
            predictions, own = current.replace_first(earlier), view.decode(current.margins)
        labels = self.label_encoder
        if predictions is None:
            margins = np.full((n, 0), -np.inf) if isinstance(labels, ClassLabelEncoder) else np.full(n, labels.shift)
        else:
            margins = np.asarray(labels.shift + labels.factor * predictions.margins)
        own = margins if own is None else own
        return BatchResult(margins, np.zeros(n, bool), np.ones(n, bool), predictions=predictions, own=own)

    def _number(
        self, tasks: Sequence[Hashable], records: Records, length: int | None
    ) -> tuple[NDArray[np.int64], Sequence[Hashable]]:
        """Return the task number of each record, and the new tasks; the state is resized for both.

        New tasks of the records are only checked, because they are registered at their first record. Under
        ``max_tasks`` no task is numbered.
        """
        population, size = self.population, self.input.size(records)
        is_fitted = population.state is not None
        if self.learner.traits.feature_changes_all and len(records.task):
            width = population.state.features if is_fitted else self.input.first_width(size.features)
            size = size._replace(features=width)
        if population.recency is not None:
            self._make_room((), size, length, distinct_labels(records.task)[0])
            return np.zeros(len(records.task), np.int64), ()
        codes, new = population.tasks.number(records.task)
        if is_fitted and not len(new) and not len(tasks) and population.has_room(size):
            return codes, new
        known = len(population.tasks)
        self._make_room(tasks, size, length, new)
        return (codes, new) if len(population.tasks) == known else population.tasks.number(records.task)

    def _make_room(
        self, tasks: Sequence[Hashable], size: InputShape, length: int | None = None, coming: Sequence[Hashable] = ()
    ) -> None:
        """Create or resize the state for ``tasks`` and records of the shape ``size``.

        Tasks in ``coming`` are only checked; an invalid one raises ValueError.
        """
        population = self.population
        if self.state is None:
            population.require_savable([*tasks, *coming] if len(tasks) else coming)
            first = tasks if population.recency is not None else self.input.first_tasks(tasks, coming)
            population.begin(size, first, length, coming)
            self.input.on_state_created(self.state)
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
        """Validate records of any form, and return them as a block for :meth:`learn`."""
        with transaction(self):
            labels = copy.copy(self.label_encoder)
            learned = self.learned_records(X, y, weights)
            records = self.input.read(X, y, task, ReadContext(self.population.tasks, labels, learned, not self.fitted))
            if whole:
                labels.require_whole()
            if self.fitted and not self.learner.traits.feature_changes_all:
                self.population.validate_and_register((), self.input.size(records))
            block = self.input.as_block(records, labels.array(records.y))
            return block if weights is None else replace(block, weight=sample_weights(weights, len(block), whole))

    @changing
    def skip_unlabelled(self, rounds: int = 1) -> None:
        """Count ``rounds`` rounds without labels; nothing is learned."""
        if self.fitted:
            self.population.skip(rounds)

    @changing
    def forget_tasks(self, tasks: Sequence[Hashable]) -> None:
        """Remove tasks with their own weights; raise ValueError, and change nothing, if one is unknown."""
        self.population.forget(tasks)

    # -- predicting -----------------------------------------------------------------------------------------------

    @exclusive
    def predict(self, X: Inputs | Block, task: Tasks | None = None) -> ModelPredictions:
        """Return the predictions of records X; the object computes margins, labels and probabilities on demand."""
        return ModelPredictions(self, self.input.read(X, None, task, ReadContext(self.population.tasks)))

    @exclusive
    def predict_pending(self, block: Block) -> BatchResult:
        """Predict a validated block with delayed labels; margins are 0 before the first update."""
        n = len(block)
        moved, asked = np.zeros(n, bool), np.ones(n, bool)
        if not self.fitted:
            return BatchResult(np.zeros(n), moved, asked)
        view = self.predict(block)
        if self.learner.traits.feature_changes_all:
            self.population.validate_and_register((), self.input.size(view.records))
        predictions = view.predictions
        return BatchResult(view.decode(predictions.margins), moved, asked, predictions=predictions)

    # -- labels that come one by one, and late ----------------------------------------------------------------------

    @exclusive
    def require_labels(self, y: Sequence[Hashable]) -> None:
        """Raise ValueError if y contains a label that the model cannot learn."""
        copy.copy(self.label_encoder).values(y)

    @changing
    def read_waiting(
        self, xs: Sequence[Record], tasks: Sequence[Hashable] | None, learning: bool = True, predicted: bool = False
    ) -> list[WaitingRow]:
        """Encode dictionaries xs with delayed labels.

        If ``learning``, their features and scales are learned now; ``predicted`` is True if predictions are stored with
        them.

        Before the first update, and for multi-view records, there are no encoded rows: such records are encoded when
        their labels arrive. Under ``max_tasks`` a task is registered when its label arrives. Predictions are stored if
        ``predicted``.

        Raises
        ------
        ValueError, TypeError
            For a record that cannot be learned; nothing is changed then.
        """
        population, source = self.population, self.input
        if not self.fitted or not source.has_tasks:
            return [WaitingRow() for _ in xs]
        with transaction(self):
            records = source.read(xs, None, tasks, ReadContext(population.tasks, learning=learning))
            distinct = distinct_labels(records.task)[0]
            unmet = self.learner.traits.tasks_independent or population.recency is not None or not learning
            coming = () if unmet else distinct
            population.validate_and_register(coming, source.size(records), distinct)
        predictions = None
        if predicted:
            predictions = self.learner.predict(self.state, population.make_batch(records.rows, records.task))
        return waiting_rows(records.rows, predictions)

    def predict_waiting(self, xs: Sequence[Record], tasks: Sequence[Hashable] | None) -> list[WaitingRow]:
        """Encode dictionaries xs with delayed labels; their predictions are included if they are needed later."""
        return self.read_waiting(xs, tasks, predicted=self.learner.traits.mixes)

    def learn_waiting(
        self, waiting: Sequence[WaitingRow], y: Sequence[Hashable], tasks: Sequence[Hashable] | None
    ) -> Margins:
        """Learn the labels y of records that :meth:`predict_waiting` returned as ``waiting``.

        Returns the margins right before each label was learned.
        """
        self.require_labels(y)  # before any is learned
        whose = tabular.task_labels(tasks, len(waiting), self.population.tasks)
        margins = []
        # rows with other numbers of members or classes in their predictions cannot be joined; the order of labels stays
        for _, places in groupby(range(len(waiting)), key=lambda k: waiting[k].shape):
            stretch = list(places)
            part = slice(stretch[0], stretch[-1] + 1)
            rows, predictions = joined_rows(waiting[part])
            rounds = self.learn(Records(rows, rows.width, whose[part]), y[part], predictions=predictions)
            margins.append(rounds.margin if rounds.own is None else rounds.own)
        return stacked(margins)

    @exclusive
    def margins_waiting(self, waiting: Sequence[WaitingRow], tasks: Sequence[Hashable] | None) -> Margins:
        """Return the margins of waiting rows (of equal shape) under the current model."""
        rows, _ = joined_rows(waiting)
        whose = tabular.task_labels(tasks, len(waiting), self.population.tasks)
        return ModelPredictions(self, Records(rows, rows.width, whose)).margins

    @exclusive
    def check_waiting(self, waiting: Sequence[WaitingRow], tasks: Sequence[Hashable]) -> None:
        """Raise ValueError for waiting rows from a file, and their tasks, that contradict this model."""
        if all(row.values is None and row.predictions is None for row in waiting):
            return
        require(self.fitted, "records wait that nothing can have predicted")
        predicted = (task for row, task in zip(waiting, tasks, strict=True) if row.predictions is not None)
        like = self.predict_nothing(next(predicted, None))
        for row in waiting:
            row.check(self.state.features, like)

    @exclusive
    def predict_nothing(self, task: Hashable = None) -> Predictions | None:
        """Return the predictions for an empty record, as an example of their shapes; None without a task to predict.

        ``task`` is predicted if all tasks are forgotten.
        """
        empty, known = Csr(np.zeros(0), np.zeros(0, np.int32), np.zeros(2, np.int64)), len(self.population) > 0
        batch = Batch(
            empty, np.array([0 if known else -1]), () if known else [tabular.ONLY_TASK if task is None else task]
        )
        try:
            return self.learner.predict(self.state, batch)
        except ValueError:  # under a relation that does not know the task
            return None

    # -- one record at a time -------------------------------------------------------------------------------------

    def learn_one(self, x: Record, y: Hashable, task: Hashable = None, weight: float | None = None) -> None:
        """Learn one dictionary of features; new features and a new task are added."""
        lock = self.lock
        lock.acquire()  # in half the time that `with` takes, and a decorator would take longer still
        try:
            path = self.fast_path
            if path is not None and weight is None:
                labels = path.learn(x, y, task, self.label_encoder)
                if labels is not None:
                    self.label_encoder = labels
                    return
            own, is_weighted = None if weight is None else [weight], self.settings.class_weight is not None
            if (is_weighted or own) and not (self.fitted and np.all(self.learned_records([x], [y], own))):
                self.learn([x], [y], None if task is None else [task], weights=own)
                return
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
    ) -> tuple[LabelEncoder, Weighing, Any, NDArray[np.float64] | None]:
        """Encode label y of one record.

        Return the label encoder and class weights after it, y as a number, and its weight.
        """
        class_weight = self.settings.class_weight
        if weight is None and class_weight is None:
            known = self.label_encoder.with_one(y)
            return known, self.weighing, known.value(y), None
        if not self.learner.traits.weighs:
            raise ValueError(_UNWEIGHED.format(type(self.learner).__name__, "sample_weight"))
        labels, weighing = copy.copy(self.label_encoder), self.weighing.under(class_weight)
        values = labels.values([y])
        check_class_weight_names(class_weight, labels, complete=False)
        weights = weighing.weigh([y], sample_weights(weight, 1), 1)
        return labels, weighing, labels.learn(values, 1, weights).y, weights

    def _update_one(
        self,
        row: Any,
        number: int,
        labels: LabelEncoder,
        weighing: Weighing,
        y: Any,
        weights: NDArray[np.float64] | None,
    ) -> None:
        self.label_encoder, self.weighing, population = labels, weighing, self.population
        if weights is None:
            population.learner.learn_one(population.state, row, number, y)
        else:
            population.learn(Batch(with_weights(row, weights), np.array([number])), y)
        if population.recency is not None:
            population.recency.see_one(number)

    def _row_of_one(self, x: Any, task: Hashable) -> tuple[Any, int]:
        """Return the feature row of record x, and the number of its task; the state is resized for both."""
        row, width, task = self.input.read_one(x, task, self.population.tasks, learning=True)
        population, size = self.population, self.input.size(Records(row, width, _NO_TASKS))
        limited, first = self.learner.traits.limits_features, self.state is None
        if limited and not first:  # before a task is added, or another forgotten for it
            self.learner.refuse_rows(self.state, row)
        if population.recency is not None:
            self._make_room((), size, None, [task])
            population.evict_for(task, size)
        elif not (self.fitted and task in population.tasks.numbers and population.has_room(size)):
            self._make_room([task], size)
        if limited and first:
            self.learner.refuse_rows(self.state, row)
        return row, population.tasks.numbers[task]

    def _open_fast_path(self) -> None:
        """Prepare the calls for single records (the fast path) if the model has not been changed for some rounds."""
        records, population = self.input.plain_records, self.population
        self.fast_path = None
        if records is not None and self.settings.class_weight is None:
            calls = population.learner.fast_calls(population.state)
            if calls is not None:
                self.fast_path = FastPath(population, calls, records)

    @changing
    def predict_and_learn_one(self, x: Record, y: Hashable, task: Hashable) -> Margins:
        """Predict and then learn one dictionary; return the predicted margin.

        The result equals that of a block of one record, in a tenth of the time.
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
        """Return the predicted label of one dictionary; before the first update None, or 0.0 for regression."""
        lock = self.lock
        lock.acquire()
        try:
            path = self.fast_path
            if path is not None:
                margin, labels = path.score(x, task), self.label_encoder
                if margin == margin:
                    return labels.label(labels.shift + labels.factor * margin)
            if self.state is None:
                return self.label_encoder.unlearned
            return self.label_encoder.label(self.decide_one(x, task))
        finally:
            lock.release()

    @exclusive
    def decide_one(self, x: Record, task: Hashable = None) -> Any:
        """Return the margin of dictionary x on the scale of the labels; the model must be fitted.

        The record's task and features may be new.
        """
        path, labels, population, learner = self.fast_path, self.label_encoder, self.population, self.learner
        margin = math.nan if path is None else path.score(x, task)
        if margin != margin:
            row, _, task = self.input.read_one(x, task, population.tasks, learning=False)
            number = population.tasks.numbers.get(task)
            if number is None:
                population.refuse_unseen([task])
                check_no_collisions([task], population.tasks.numbers)
                margin = learner.predict(self.state, Batch(row, _UNSEEN, [task])).margins[0]
            elif not (isinstance(row, Csr) and row.width > self.state.features):
                self._open_fast_path()
                margin = learner.predict_one(self.state, row, number)
            else:
                margin = learner.predict(self.state, Batch(row, np.array([number]))).margins[0]
        return labels.shift + labels.factor * margin

    @exclusive
    def read_one(self, x: Record, task: Hashable) -> ModelPredictions:
        """Return the predictions of dictionary x, as a batch of one record."""
        row, width, task = self.input.read_one(x, task, self.population.tasks, learning=False)
        return ModelPredictions(self, Records(row, width, tabular.objects([task])))


def _unpack_block(block: Block, *others: object) -> tuple[Array, Floats | None]:
    """Return the labels and weights of a block; raise ValueError if it has no labels, or others are passed."""
    if block.y is None:
        raise ValueError("records without labels can only be predicted")
    if any(argument is not None for argument in others):
        raise ValueError("a block of a reader includes labels, tasks and weights; leave out y, task and sample_weight")
    return block.y, block.weight


_NO_TASKS = np.zeros(0)

#: The number of an unseen task.
_UNSEEN = np.array([-1])
