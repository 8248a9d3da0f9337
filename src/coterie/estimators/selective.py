"""Selective sampling: a classifier that queries some of the labels."""

from __future__ import annotations

import copy
import hashlib
import warnings
from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Literal, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie import persistence, spec, types
from coterie._compiled.primal.query_decisions import decide_all
from coterie._compiled.trees import strip_prefix
from coterie.data import tabular
from coterie.data.block import Block
from coterie.data.input import ReadContext
from coterie.evaluation.stream_model import BatchResult, BlockPredictions, Margins
from coterie.models.contract import Predictions
from coterie.parameters import Parameters
from coterie.settings import check_fields
from coterie.tasks.index import distinct_labels
from coterie.types import Array, Arrays, Estimator, Estimators, Inputs, Json, Part, Record, Tasks, Tree
from coterie.updates.query_strategies import Margin

from .delayed_labels import WaitingRow
from .estimator import OnlineEstimator
from .online_model import OnlineModel
from .predictions import ModelPredictions
from .queries import LabelBudget, Questions
from .sample_weights import BALANCED

Flags = NDArray[np.bool_]


class _Saved(msgspec.Struct):
    """The saved data of :meth:`SelectiveSampling.__dump__`."""

    model: Json
    questions: Json
    open: tuple[str, bool] | None


@spec.estimator
class SelectiveSampling(Parameters):
    """Selective sampling: an online classifier that decides which labels to query, and learns from these only.

    In round t the model predicts; the label is queried if u_t < p(margin) and the budget permits it, where u_t is
    uniform in [0, 1), a hash of the seed and t. A record without a query changes nothing: no weights, no learned
    relation, no scale, no missing-value indicator, no names of features. It still counts as a round, as in SRDV11
    (Algorithm 1), for averages, for EPOCH and for half-lives. Mistakes are counted in all rounds, with and without
    queries (SRDV11 §4).

    Everything else is the model's: predictions, their types, its attributes. Labels passed to ``fit``, ``partial_fit``
    or ``learn_one`` are always learned. Queries are made in three places:

    * :meth:`wants_label`, for one record;
    * :meth:`wants_labels`, for a batch of unlabelled records;
    * :func:`coterie.progressive_validation` and :func:`coterie.compare`, which hide the labels without a query;
      ``Trace.queried`` has the flags.

    Parameters
    ----------
    model : online classifier
        Changed in place; it may have learned before.
    ask : part, optional
        The probability of a query: ``Margin`` (the default, c = 0.3), ``RelationRow``,
        :class:`coterie.updates.Below`, :class:`coterie.updates.Randomly` or :class:`coterie.updates.Always`.
    budget : int >= 1, optional
        The maximum number of labels in any ``window`` consecutive rounds.
    window : int >= 1, optional
        The number of rounds of the limits; by default the whole stream.
    per_task : int >= 1, or float in (0, 1], optional
        The maximum number of labels of a task in the window, or its share of the budget (at least one label).
    seed : int >= 0, default=0
        The seed of the uniform numbers.

    Raises
    ------
    ValueError
        At first use, for a budget, window, per_task or seed out of range, or a model with ``max_tasks``.
    TypeError
        At first use, if the model is not an online classifier, or for ``RelationRow`` with a model without a learned
        relation.

    Notes
    -----
    A query costs O(1) in addition to the prediction, and memory for the queries in the window. Ensembles
    (:class:`coterie.AdaptiveSharingClassifier`) query and learn record by record, about 50 µs each, whereas a compiled
    round takes less than 1 µs. So do models with scaling or with dictionaries: a record is prepared once for its
    prediction, and again for learning if its label is queried.

    Examples
    --------
    >>> import numpy as np, coterie as ct
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.standard_normal((4000, 10)), rng.integers(5, size=4000)
    >>> y = X[:, 0] + 0.5 * X[:, 1] > 0
    >>> model = ct.SelectiveSampling(ct.MultitaskLogistic(), ask=ct.updates.Margin(c=0.3))
    >>> trace = ct.progressive_validation(model, X, y, task=task)
    >>> bool(trace.queries < 1000), bool(trace.error < 0.1)
    (True, True)

    If labels cost a person's time, one record after the other:

    >>> model = ct.SelectiveSampling(ct.MultitaskLogistic(), budget=100, window=10_000, per_task=10)
    >>> record = {"word=free": 1.0, "length": 0.3}
    >>> if model.wants_label(record, task="ann"):
    ...     model.learn_one(record, "spam", task="ann")
    """

    model: Estimator
    ask: Part = None
    budget: int | None = None
    window: int | None = None
    per_task: int | float | None = None
    seed: int = spec.field(
        default=0, kind="whole", at_least=0, below=2**63, must="be a whole number from 0 to 2**63 - 1"
    )

    # -- questions ------------------------------------------------------------------------------------------------

    def wants_label(self, x: Record, task: Hashable = None) -> bool:
        """Return True if the label of record x is to be queried.

        Each call is a round, unless it repeats the last one.

        A query stays open until :meth:`learn_one` learns its label, :meth:`skip_unlabelled` closes it, labels are
        learned by ``fit`` or ``partial_fit``, or another record is queried. While it is open, a call with an equal
        record of the same task returns the same answer, without a new round and without using the budget. (If equal
        records may follow each other, call :meth:`skip_unlabelled` in between.)
        """
        with self._lock:
            key = self._key(x, task)
            question = self.__dict__.get("_open")
            if question is None or question[0] != key:
                self._open = question = (key, self._answer(x, task))
            return bool(question[1])

    def wants_labels(self, X: Inputs, task: Tasks | None = None) -> Flags:
        """Return a mask of the records to label, before any of their labels is known; every record is a round."""
        with self._lock:
            model = self._model
            if model.fitted:
                predictions = model.predict(X, task)
                return self._ended(self._decided(predictions.tasks, predictions.margins))
            X, task = tabular.split_task(X, task, model.settings.reading.task_column)
            tasks = tabular.task_labels(task, tabular.count(X))
            return self._ended(self._decided(tasks, np.zeros(len(tasks))))

    def skip_unlabelled(self) -> None:
        """Cancel the open query, because its label will not arrive."""
        with self._lock:
            self.__dict__.pop("_open", None)

    @property
    def rounds_(self) -> int:
        """The number of rounds so far."""
        return int(self._questions().clock[0])

    def _answer(self, x: Record, task: Hashable) -> bool:
        margin = np.array([self.model.decision_function_one(x, task)])
        whose = self._task_of(x, task)
        return bool(self._ended(self._decided(tabular.objects([whose]), margin))[0])

    def _task_of(self, x: Record, task: Hashable) -> Hashable:
        return self._model.input.split_one(x, task, self._model.population.tasks)[1]

    def _key(self, x: Record, task: Hashable) -> str:
        """Return a hashable key of record x and its task, which does not depend on the order of its features."""
        whose = spec.to_json(self._task_of(x, task))
        features = sorted(([spec.to_json(name), spec.to_json(value)] for name, value in x.items()), key=repr)
        return hashlib.blake2b(msgspec.json.encode([features, whose]), digest_size=16).hexdigest()

    def _decided(self, tasks: Array, margins: NDArray[np.float64], asked: Flags | None = None) -> Flags:
        query_strategy = self._questions().query_strategy(self._chance(), tasks, asked)
        decide_all(query_strategy, self._codes(tasks), margins, 0, len(margins))
        return np.asarray(query_strategy.answer > 0)

    def _ended(self, asked: Flags) -> Flags:
        """Count the rounds that end without a query, and return ``asked``.

        The other rounds are counted when their labels arrive.
        """
        self._model.skip_unlabelled(int(len(asked) - asked.sum()))
        return asked

    def _codes(self, tasks: Any) -> NDArray[np.int64]:
        model = self._model
        return np.asarray(model.population.tasks.codes(tasks)) if model.fitted else np.full(len(tasks), -1)

    def _chance(self, n_tasks: int | None = None) -> Tree:
        """Return the query probability for this many tasks, updated if it depends on a learned relation."""
        ask, model = self._ask, self._model
        known = len(model.population)
        query_probability = ask.compiled(known if n_tasks is None else n_tasks)
        if ask.learned and model.fitted:
            model.learner.update_query_strategy(model.state, query_probability)
        return query_probability

    def _questions(self) -> Questions:
        if "questions_" not in self.__dict__:
            self.questions_ = Questions(self._budget, self.seed)
        return self.questions_

    # -- learning -------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Inputs,
        y: types.Labels,
        task: Tasks | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        n_passes: int | Literal["auto"] = 1,
    ) -> Self:
        """Fit the model to X, y with all labels, and reset the counts of queries."""
        with self._lock:
            self.model.fit(X, y, task, sample_weight=sample_weight, n_passes=n_passes)
            self.skip_unlabelled()
            self.__dict__.pop("questions_", None)
            return self

    def partial_fit(self, X: Inputs, y: types.Labels, task: Tasks | None = None, *args: Any, **kwargs: Any) -> Self:
        """Update the model with X, y; all labels are learned, without queries."""
        with self._lock:
            self.model.partial_fit(X, y, task, *args, **kwargs)
            self.skip_unlabelled()
            return self

    def learn_one(self, x: Record, y: Hashable, task: Hashable = None, *, sample_weight: float | None = None) -> None:
        """Learn one record, queried or not; an open query for it is closed."""
        with self._lock:
            self.model.learn_one(x, y, task, sample_weight=sample_weight)
            question = self.__dict__.get("_open")
            if question is not None and question[0] == self._key(x, task):
                self.skip_unlabelled()

    def forget_task(self, task: Hashable) -> Self:
        """Forget a task in the model and in the counts of queries; an open query is cancelled.

        Earlier queries still count for the budget.
        """
        return self.forget_tasks([task])

    def forget_tasks(self, tasks: Sequence[Hashable]) -> Self:
        """Forget several tasks, or none if one of them cannot be forgotten; see :meth:`forget_task`."""
        with self._lock:
            self.model.forget_tasks(tasks)
            self.skip_unlabelled()
            for task in tasks:
                self._questions().forget(task)
            return self

    # -- the model's ----------------------------------------------------------------------------------------------

    def predict(self, X: Inputs, task: Tasks | None = None) -> Array:
        """Predict labels with the wrapped model."""
        return np.asarray(self.model.predict(X, task))

    def predict_one(self, x: Record, task: Hashable = None) -> Any:
        """Predict the label of one record with the wrapped model."""
        return self.model.predict_one(x, task)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.model, name)

    @property
    def _fitted(self) -> bool:
        """True after the first update."""
        return bool(self.model._fitted)

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy with the same parameters."""
        return self._asking_as(type(self)(**self.get_params(deep=False) | {"model": self.model.__sklearn_clone__()}))

    # -- inner model ----------------------------------------------------------------------------------------------

    @property
    def _model(self) -> OnlineModel:
        """The inner model of the wrapped model."""
        inner: OnlineModel = self.model.__stream_model__()
        return inner

    @property
    def _lock(self) -> Any:
        """The lock of the wrapped model; parameters are checked first."""
        self._check()
        return self._model.lock

    def __stream_model__(self) -> _AskingModel:
        """Return a stream model that ignores labels that are not queried."""
        self._check()
        return _AskingModel(self)

    def __baselines__(self, seen: Inputs | None = None) -> Estimators:
        """Return the baselines of the wrapped model, which learn from all labels."""
        return self.model.__baselines__(seen)  # type: ignore[no-any-return]

    def __predict_block__(self, block: Block, level: float = 0.9, all_labels: bool = False) -> BlockPredictions:
        """Return the prediction of each record of a file's block."""
        return self.model.__predict_block__(block, level, all_labels)  # type: ignore[no-any-return]

    def save(self, path: str | PathLike[str]) -> None:
        """Save the model and the counts of queries to one file atomically; see :func:`coterie.load`."""
        persistence.save(self, path, self._lock)

    def __dump__(self) -> tuple[Json, Arrays]:
        """Return the learned state as data with a JSON form and named arrays."""
        model, arrays = self.model.__dump__()
        questions, counts = self._questions().dump()
        saved = {f"model.{name}": array for name, array in arrays.items()}
        saved |= {f"questions.{name}": array for name, array in counts.items()}
        return {"model": model, "questions": questions, "open": self.__dict__.get("_open")}, saved

    def __restore__(self, data: Json, arrays: Arrays) -> Self:
        """Restore the learned state from the result of :meth:`__dump__`.

        Raises
        ------
        ValueError
            If a model with these parameters cannot have this state.
        """
        self._check()
        saved = msgspec.convert(data, _Saved)
        self.model.__restore__(saved.model, strip_prefix(arrays, "model."))
        self._questions().restore(saved.questions, strip_prefix(arrays, "questions."))
        if saved.open is not None:
            self._open = saved.open
        return self

    # -- inside ---------------------------------------------------------------------------------------------------

    @property
    def _ask(self) -> Part:
        return Margin() if self.ask is None else self.ask

    @property
    def _budget(self) -> LabelBudget:
        return LabelBudget(self.budget, self.window, self.per_task)

    def _check(self) -> None:
        """Raise ValueError or TypeError for invalid parameters."""
        spec.require_instance("model", self.model)
        if not is_askable(self.model):
            raise TypeError(f"model must be an online classifier such as MultitaskLogistic(), got {self.model!r}")
        if not hasattr(self._ask, "compiled") or not hasattr(self._ask, "learned"):
            raise TypeError(f"ask must be a query strategy such as Margin(c=0.3), got {self.ask!r}")
        # queries depend on margins, so the labels that come are a biased sample of their frequencies
        if self.model.class_weight == BALANCED:
            raise ValueError("class_weight='balanced' needs all labels; pass a dictionary of weights")
        if self.model.max_tasks is not None:
            raise ValueError(
                f"max_tasks={self.model.max_tasks} is not supported with selective sampling; leave out one of them"
            )
        relation: Part = getattr(self.model, "relation", None)
        if self._ask.learned and getattr(relation, "form", None) != "learned":
            raise TypeError(
                f"RelationRow() requires a learned relation such as LogDet or Covariance, and {self.model!r} has none; "
                "use Margin(c)"
            )
        if self._ask.learned and not relation.definite:
            raise TypeError(
                f"RelationRow() requires A, the inverse of M, and {relation!r} has no invertible M; use Margin(c)"
            )
        self._budget.check()
        check_fields(self)


class _Waiting(NamedTuple):
    """A predicted record with a delayed label: its block, if the label was queried, and its predictions."""

    block: Block | None
    predictions: Predictions | None


class _AskingModel:
    """The stream model of selective sampling: its wrapped model learns only from labels that are queried.

    If encoding depends on earlier records (scales, indicators of missing values, names of features), records are
    encoded one by one: once for the prediction without updating the encoder, and with an update if the label is
    queried.
    """

    def __init__(self, sampler: SelectiveSampling) -> None:
        self._sampler, self._wrapped = sampler, sampler._model
        self._waiting: deque[_Waiting] = deque()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._wrapped, name)

    @property
    def encoder(self) -> Any:
        """The encoder of the wrapped model."""
        return self._wrapped.encoder

    @encoder.setter
    def encoder(self, encoder: Any) -> None:
        own = self._wrapped.encoder
        if encoder is None or own is None or encoder.source != "columns":  # else it learned from queried records
            self._wrapped.encoder = encoder

    def as_block(
        self, X: Inputs, y: types.Labels, task: Tasks | None = None, weights: ArrayLike | None = None
    ) -> Block:
        """Validate records of any form, and return them as a block for :meth:`learn`."""
        wrapped = self._wrapped
        with wrapped.lock:
            own = wrapped.input
            try:
                wrapped.input = copy.deepcopy(own)
                block = wrapped.as_block(X, y, task, weights)
            finally:
                wrapped.input = own
            if not wrapped.fitted:  # the first records determine the encoder
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # they came with the block
                    own.read(X, y, task, ReadContext(labels=wrapped.settings.labels(None), first=True))
            return replace(block, raw=own.raw_records(X))

    def learn(self, block: Block, **options: Any) -> BatchResult:
        """Predict the records of a block, and learn those that are queried.

        Raises
        ------
        ValueError
            For a block without labels.
        """
        sampler = self._sampler
        if block.y is None:
            raise ValueError("records have no labels to query; use wants_labels for unlabelled records")

        def query_strategy(n_tasks: int) -> Tree:
            return sampler._questions().query_strategy(sampler._chance(n_tasks), block.tasks, block.asked)

        with self._wrapped.lock:
            if self._reads_raw(block):
                return self._learn_raw(block, **options)
            update: BatchResult = self._wrapped.learn(block, **options | {"asking": query_strategy})
            return update

    def _reads_raw(self, block: Block) -> bool:
        """Return True if the records of a block are encoded one by one, because only queried ones may change scales."""
        wrapped, raw = self._wrapped, block.raw
        if raw is None or (raw.encoder is not None and wrapped.fitted and wrapped.encoder is None):
            return False
        if raw.encoder is not None and wrapped.encoder is None:
            wrapped.encoder = raw.encoder.copy()
        return True

    def _learn_raw(
        self,
        block: Block,
        late: int = 0,
        tasks: Sequence[Hashable] = (),
        length: int | None = None,
        predictions: Predictions | None = None,
    ) -> BatchResult:
        """Predict and learn a block record by record, because only queried records may change scales.

        ``late`` is the delay of labels in rounds.
        """
        wrapped, n, t = self._wrapped, len(block), len(self._waiting)
        waited, raw = t, iter(() if block.raw is None else block.raw[t:])
        margin, asked = np.zeros(n), np.zeros(n, bool)
        moved, stored, evicted = np.zeros(n, bool), np.zeros(n, bool), np.full(n, -1)
        has_support = False
        asked[:t] = () if block.asked is None else block.asked[:t]
        self._check(block)
        for s in range(n - late):
            while t <= s + late:
                decided = None if block.asked is None else block.asked[t : t + 1]
                margin[t], asked[t] = self._decide(block, t, next(raw), decided)
                t += 1
            entry = self._waiting.popleft()
            if entry.block is None:
                wrapped.skip_unlabelled()
                continue
            before = entry.predictions if late or s < waited else None
            update = wrapped.learn(entry.block, tasks=tasks, length=length, predictions=before)
            tasks, moved[s] = (), update.updated[0]
            if update.stored is not None and update.evicted is not None:
                has_support, stored[s], evicted[s] = True, update.stored[0], update.evicted[0]
        support = (stored, evicted) if has_support else (None, None)
        return BatchResult(margin, moved, asked, *support)

    def _check(self, block: Block) -> None:
        """Raise ValueError for invalid tasks and labels of a block; add new labels."""
        tasks, _ = distinct_labels(block.tasks)
        for check in self._wrapped.population.checks():
            check(tasks)
        self._wrapped.know_labels(block.y)

    def _decide(self, block: Block, t: int, raw: Any, decided: Flags | None = None) -> tuple[float, bool]:
        """Predict record ``t`` of a block and decide on its query; if its label is queried, scales are updated."""
        wrapped, task = self._wrapped, block.tasks[t : t + 1]
        population, source = wrapped.population, wrapped.input
        # a prediction changes no encoder, because the label may never be queried
        records = source.read_raw(raw, task, learning=False)
        predictions, margin = None, np.zeros(1)
        if wrapped.fitted:
            if not population.has_room(source.size(records)):
                population.validate_and_register((), source.size(records))
            present = ModelPredictions(wrapped, records)
            predictions = present.predictions
            margin = present.decode(predictions.margins)
        asked = bool(self._sampler._decided(task, margin, decided)[0])
        piece = None
        if asked and block.y is not None:
            y, weight = block.y[t : t + 1], None if block.weight is None else block.weight[t : t + 1]
            wrapped.fast_path = None
            if np.all(wrapped.learned_records(y, y, weight)):
                records = source.read_raw(raw, task, learning=True)
                piece = replace(source.as_block(records, y), weight=weight)
        self._waiting.append(_Waiting(piece, predictions))
        return float(margin[0]), asked

    def predict_and_learn_one(self, x: Record, y: Hashable, task: Hashable) -> Margins:
        """Predict and learn one record; return its predicted margin."""
        return self.learn(self.as_block([x], [y], None if task is None else [task])).margin

    def predict_waiting(self, xs: Sequence[Record], tasks: Sequence[Hashable] | None) -> list[WaitingRow]:
        """Predict dictionaries with delayed labels, and decide on their queries."""
        with self._wrapped.lock:
            return [self._predict_one_waiting(x, None if tasks is None else [tasks[t]]) for t, x in enumerate(xs)]

    def _predict_one_waiting(self, x: Record, task: Sequence[Hashable] | None) -> WaitingRow:
        """Predict record x with a delayed label, and decide on its query; if queried, scales are updated."""
        wrapped = self._wrapped
        (row,) = wrapped.read_waiting([x], task, learning=False, predicted=True)
        labels, predictions = wrapped.label_encoder, row.predictions
        margin = np.zeros(1) if predictions is None else predictions.restored().margins
        whose = tabular.task_labels(task, 1, wrapped.population.tasks)
        asked = bool(self._sampler._decided(whose, labels.shift + labels.factor * margin)[0])
        if asked and row.values is not None:
            (row,) = wrapped.read_waiting([x], task)
        row.predictions, row.asked = predictions, asked
        return row

    def learn_waiting(
        self, waiting: Sequence[WaitingRow], y: Sequence[Hashable], tasks: Sequence[Hashable] | None
    ) -> Margins:
        """Learn the labels y of queried records that :meth:`predict_waiting` returned as ``waiting``."""
        wrapped, margins = self._wrapped, []
        with wrapped.lock:
            wrapped.know_labels(y)
            for t, row in enumerate(waiting):
                task = None if tasks is None else [tasks[t]]
                if row.asked:
                    margins.append(wrapped.learn_waiting([row], [y[t]], task))
                else:
                    margins.append(wrapped.margins_waiting([row], task))
                    wrapped.skip_unlabelled()
        return np.concatenate(margins)

    def predict_pending(self, block: Block) -> BatchResult:
        """Predict a block with delayed labels, and decide on their queries."""
        with self._wrapped.lock:
            if block.y is not None and self._reads_raw(block):
                self._check(block)
                decided = [self._decide(block, t, raw) for t, raw in enumerate(block.raw or ())]
                margin, asked = (
                    np.array([decision[k] for decision in decided], kind) for k, kind in ((0, float), (1, bool))
                )
                return BatchResult(margin, np.zeros(len(block), bool), asked)
            met = self._wrapped.predict_pending(block)
            return replace(met, queried=self._sampler._decided(block.tasks, met.margin))

    def wants_block(self, block: Block) -> Flags:
        """Return a mask of the records of a block to label, as ``wants_labels`` does."""
        with self._wrapped.lock:
            return self._sampler._ended(self.predict_pending(block).queried)

    @property
    def spent(self) -> bool:
        """True if all queries of a budget without a window have been used."""
        return self._sampler._questions().spent


def is_askable(model: Estimator) -> bool:
    """Return True for an online binary classifier with one feature vector per record."""
    two = isinstance(model, OnlineEstimator) and model._kind == "classifier" and not model._many_classes
    return two and model._inner.input.has_tasks


def base_model(model: Estimator) -> Estimator:
    """Return the wrapped model of selective sampling; other models unchanged."""
    return model.model if isinstance(model, SelectiveSampling) else model
