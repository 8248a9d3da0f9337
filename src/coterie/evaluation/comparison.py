"""Comparison of several learners in one pass over a stream."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from coterie.data.block import Block
from coterie.types import AnyLabels, AnyRecords, AnyTasks, Estimator, Floats, Json
from coterie.wording import table, warn

from .baselines import CONSTANT, RUNNING_MEAN, RUNNING_RATE, LabelBaselines
from .metrics import evaluate, format_measures, measures_with_values
from .progressive import (
    CHUNK,
    ProgressiveRun,
    blocks_alone,
    blocks_of,
    count_learned,
    keep_encoder,
    reading_files,
    require_scales,
)
from .stream_model import stream_model_of
from .trace import SORTED, Trace
from .verdict import Sums, Verdict

#: The names of the baselines.
BASELINES = ("independent", "pooled", "intercepts", "mixed model", RUNNING_RATE, RUNNING_MEAN)
#: The names of the baselines of several views: the suffix for a model on a single view, and the model on all views.
ALONE, SIDE_BY_SIDE = " alone", "side by side"
#: Records from which the spread of features is computed, about.
_SPREAD_ROWS = 10_000
#: The name of the best learner.
BEST = "best"


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of :func:`compare`: the traces of several learners over the same rounds.

    Attributes
    ----------
    traces : dict of str to Trace
        The traces of the learners and of two baselines without features, by name, over the same rounds. The baselines
        are the ``"running rate"`` of labels of a task, or the ``"running mean"`` of its numbers, shrunk to that of all
        tasks (:mod:`coterie.evaluation.baselines`), and the ``"constant"``, the more frequent label so far or the mean
        of numbers. A prediction with a margin of exactly zero is replaced by the constant's.
    models : dict of str to online classifier
        The learners after the pass, ready to predict or to be saved.
    seconds : dict of str to float
        The CPU time of each learner, with compilation, but without reading.
    reference_names : tuple of two str
        The names of the baselines: independent models, and one model for all tasks.
    spread : dict of str to ndarray
        The standard deviation of each feature over the first 10,000 records, after scaling, by learner; learners of
        several views have no entry.
    requested : tuple of str
        The learners passed by the caller; the others are baselines. Empty if unknown.
    """

    traces: dict[str, Trace]
    models: dict[str, Estimator]
    seconds: dict[str, float]
    reference_names: tuple[str, str] = ("independent", "pooled")
    spread: dict[str, Floats] = field(default_factory=dict)
    requested: tuple[str, ...] = ()

    @property
    def best(self) -> str:
        """Return the name of the learner with the smallest error; the first one in case of ties."""
        return min(self.models, key=lambda name: self.traces[name].error)

    def verdict(self, learner: str | None = None, against: str | None = None, confidence: float = 0.95) -> Verdict:
        """Compute the verdict on one learner ``against`` another, on average and for each task.

        Parameters
        ----------
        learner : str, optional
            The name of the learner; by default the requested one with the least error, see :func:`asked_for`.
        against : str, optional
            The name of the other learner, or ``"best"`` for the best baseline, see :func:`best_baseline`. By default
            the average is against the best baseline, and the verdict of each task against independent models.
        confidence : float
            The level of intervals, see :func:`coterie.evaluation.verdict.verdict`.

        Returns
        -------
        Verdict
            ``print`` shows it in a few sentences.

        Raises
        ------
        ValueError
            For an unknown name, or the same name twice.

        Examples
        --------
        >>> import coterie as ct
        >>> X, y, users = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0], ["a", "b", "a", "b"]
        >>> found = ct.compare({"half": ct.MultitaskPerceptron()}, X, y, task=users)
        >>> found.verdict()
        <Verdict on 2 tasks: 0 helped, 0 hurt, 2 unclear>
        """
        if against == BEST and BEST not in self.traces:
            chosen = learner or asked_for(self)
            self._require(chosen)
            other = best_baseline(self.traces, chosen, self.reference_names)
        else:
            other = against or self.reference_names[0]
            chosen = learner or asked_for(self, other)
        self._require(chosen, other)
        if chosen == other:
            raise ValueError(f"{chosen!r} cannot be compared with itself; name another learner")
        baselines = [] if against else baselines_among(self.traces, chosen, self.reference_names)
        needed = {chosen, other, CONSTANT, *baselines}
        sums = Sums.from_traces(chosen, {name: trace for name, trace in self.traces.items() if name in needed})
        result = sums.verdict(other, confidence)
        return result if against else replace(result, best=sums.verdict(sums.best(baselines), confidence))

    def _require(self, *names: str) -> None:
        for name in names:
            if name not in self.traces:
                raise ValueError(f"there is no learner {name!r} among {sorted(self.traces)}")

    def __repr__(self) -> str:
        """Return the table of learners and their errors."""
        metrics = {name: evaluate(trace) for name, trace in self.traces.items()}
        words = next(iter(self.traces.values())).words
        measures = measures_with_values(words, metrics.values())
        heads = ["learner", words.error, *(head for head, _, _ in measures)]
        rows = [
            [name, words.value(learner["error"], 2), *format_measures(learner, measures)]
            for name, learner in metrics.items()
        ]
        return "\n".join(table(heads, rows))


def asked_for(comparison: Comparison, against: str | None = None) -> str:
    """Return the default learner of a comparison's verdict: the one with the smallest error that the user passed.

    These are the learners passed to :func:`compare`, without baselines. If there are none, a baseline is chosen.

    Parameters
    ----------
    comparison : Comparison
        Several learners.
    against : str, optional
        The name of the learner to compare with.
    """
    traces, baselines = comparison.traces, (*comparison.reference_names, *BASELINES)
    names = [name for name in traces if name not in (CONSTANT, against)]
    learners = [name for name in names if name in comparison.requested] or names
    candidates = [name for name in learners if name not in baselines] or learners
    return min(candidates, key=lambda name: np.nan_to_num(traces[name].error), default=against or CONSTANT)


def best_baseline(traces: Mapping[str, Trace], learner: str, reference_names: Sequence[str] = ()) -> str:
    """Return the name of the baseline over which the learner has the smallest mean gain.

    Parameters
    ----------
    traces : mapping of name to Trace
        Learners over the same rounds.
    learner : str
        The learner to compare with the baselines.
    reference_names : sequence of str
        Baselines in addition to :data:`BASELINES`.

    Raises
    ------
    ValueError
        If there is no baseline.
    """
    names = baselines_among(traces, learner, reference_names)
    return Sums.from_traces(learner, {name: traces[name] for name in (learner, *names)}).best(names)


def baselines_among(traces: Mapping[str, Trace], learner: str, reference_names: Sequence[str] = ()) -> list[str]:
    """Return the names of a learner's baselines among the traces; see :func:`best_baseline`."""
    names = [name for name in dict.fromkeys((*reference_names, *BASELINES)) if name in traces and name != learner]
    if not names:
        raise ValueError(f"there is no baseline for {learner!r} among {sorted(traces)}")
    return names


def compare(
    models: Estimator | Sequence[Estimator] | Mapping[str, Estimator],
    X: AnyRecords,
    y: AnyLabels = None,
    *,
    task: AnyTasks = None,
    tasks: Sequence[Hashable] | None = None,
    delay: int = 0,
    sample_weight: ArrayLike | None = None,
    on_round: Callable[[Mapping[str, Trace]], None] | None = None,
) -> Comparison:
    """Evaluate several learners side by side in one pass over a stream, each predicting before it learns.

    Parameters
    ----------
    models : online classifier or regressor, sequence of them, or mapping of name to them
        Changed in place. Without names a model is named by its class, and by its parameters if classes repeat.

        Missing baselines are added, with the parameters of the first model: ``"independent"``, ``"pooled"``,
        ``"intercepts"`` and ``"mixed model"``. ``"intercepts"`` is one model for all tasks with a constant per task
        (:class:`coterie.tasks.Intercepts`); for classifiers without gradients it is a logistic regression.
        ``"mixed model"`` has a random intercept per task (:class:`coterie.MultitaskMixedEffectsClassifier`). Kernel
        learners have neither of these two, and :class:`HeterogeneousMultitaskPerceptron` has no model for all tasks,
        because its tasks have different features. The baselines of multi-view learners are ``"NAME alone"`` for each
        view, ``"in parallel"`` (the sum of their margins) and ``"side by side"``; the reference is the single view
        with the least error.
    X, y, task, tasks, delay, sample_weight
        See :func:`progressive_validation`; blocks are read once for all learners.
    on_round : callable, optional
        Called with the traces of each block of rounds when it is finished.

    Returns
    -------
    Comparison

    Raises
    ------
    TypeError
        For a model that does not learn record by record.
    ValueError
        If there is no model, a name is that of a baseline such as ``"constant"``, two equal models have no names, or
        one model occurs twice (also within a wrapper).

    Examples
    --------
    >>> import coterie as ct
    >>> X, y, users = [[1.0], [2.0], [-1.0], [-3.0]], [1, 1, 0, 0], ["a", "b", "a", "b"]
    >>> found = ct.compare({"half": ct.MultitaskPerceptron()}, X, y, task=users)
    >>> {name: trace.mistakes for name, trace in found.traces.items()}
    {'half': 1, 'independent': 2, 'pooled': 1, 'intercepts': 1, 'mixed model': 2, 'running rate': 3, 'constant': 3}
    >>> list(ct.compare(ct.MultitaskPerceptron(), X, y, task=users).models)
    ['MultitaskPerceptron', 'independent', 'pooled', 'intercepts', 'mixed model']
    """
    models = _named(models)
    for name in (CONSTANT, RUNNING_RATE, RUNNING_MEAN):
        if name in models:
            raise ValueError(f"models: {name!r} is the name of a built-in baseline; choose another name")
    if len({id(stream_model_of(model).population) for model in models.values()}) < len(models):
        raise ValueError("models: two learners are, or contain, the same model, which would learn twice; pass a copy")
    require_scales(X, map(stream_model_of, models.values()))
    seen, records = _first_of(models, X, y)
    asked, models = tuple(models), with_baselines(models, seen)
    rounds, tasks = _rounds(models, records, y, task, tasks, sample_weight)
    reading = reading_files(map(stream_model_of, models.values()))
    comparison = side_by_side(models, rounds, asked, tasks, delay, count_learned(y, sample_weight), on_round)
    if next(iter(comparison.traces.values())).is_sorted_by_task:
        warn(f"the records {SORTED}")
    keep_encoder(X, reading)
    return comparison


def side_by_side(
    models: Mapping[str, Estimator],
    rounds: Iterable[Sequence[Block]],
    asked: Sequence[str],
    tasks: Sequence[Hashable] = (),
    delay: int = 0,
    length: int | None = None,
    on_round: Callable[[Mapping[str, Trace]], None] | None = None,
    label_baselines: LabelBaselines | None = None,
) -> Comparison:
    """Evaluate several learners on the same stream. Each item of ``rounds`` has one block per learner.

    Parameters
    ----------
    models : mapping of name to model
        All learners.
    rounds : iterable of sequences of Block
        The same records for each of them, in the order of the models.
    asked : sequence of str
        The requested learners.
    tasks, delay, on_round
        See :func:`progressive_validation`.
    length : int, optional
        The total number of records, if known.
    label_baselines : LabelBaselines, optional
        The baselines whose traces ``on_round`` gets; they may have counted labels of earlier records.
    """
    runs = {name: ProgressiveRun(stream_model_of(model), tasks, delay, length) for name, model in models.items()}
    tasks_known = stream_model_of(next(iter(models.values()))).learner.traits.has_tasks
    seconds, running = dict.fromkeys(models, 0.0), label_baselines or LabelBaselines(delay, tasks_known)
    spreads = {name: FeatureSpread() for name in models}
    for blocks in rounds:
        for (name, run), block in zip(runs.items(), blocks, strict=True):
            spreads[name].add(block.X)
            seconds[name] += _timed(partial(run.predict_and_learn, block))
        if on_round is not None and len(blocks[0]):
            on_round(running.add_to({name: run.latest_trace() for name, run in runs.items()}))
    for name, run in runs.items():
        seconds[name] += _timed(run.learn_rest)
    # from the start of this stream: all learners are judged beside a constant of the same labels
    traces = LabelBaselines(delay, tasks_known).add_to({name: run.trace() for name, run in runs.items()})
    reference_names = BASELINES[:2]
    if not tasks_known:  # the best model of a single view, and the model of all views side by side
        alone = [name for name in models if name.endswith(ALONE)]
        reference_names = min(alone, key=lambda name: traces[name].error, default=""), SIDE_BY_SIDE
    deviations = {name: spread.deviations for name, spread in spreads.items() if spread.deviations is not None}
    return Comparison(traces, dict(models), seconds, reference_names, deviations, tuple(asked))


def _named(models: Estimator | Sequence[Estimator] | Mapping[str, Estimator]) -> Mapping[str, Estimator]:
    """Return a mapping from name to model: the given one, or models named after their class (and parameters).

    Raises
    ------
    TypeError
        For an object that is not a model.
    ValueError
        For two equal models.
    """
    if hasattr(models, "items"):
        for name, model in models.items():
            stream_model_of(model, f"models[{name!r}]")
        return cast(Json, models)
    if not isinstance(models, (list, tuple)):
        if not hasattr(models, "get_params"):
            expected = "models must be a model, a list of models, or a dictionary from names to models"
            raise TypeError(f"{expected}, got {type(models).__name__}")
        stream_model_of(models, "models")
        return {type(models).__name__: models}
    for n, model in enumerate(models):
        stream_model_of(model, f"models[{n}]")
    kinds = [type(model).__name__ for model in models]
    names = [kind if kinds.count(kind) == 1 else repr(model) for kind, model in zip(kinds, models, strict=True)]
    for n, name in enumerate(names):
        if name in names[:n]:
            raise ValueError(
                f"models[{n}] has the same name as models[{names.index(name)}], {name}; pass a dictionary with names"
            )
    return dict(zip(names, models, strict=True))


def _first_of(models: Mapping[str, Estimator], X: AnyRecords, y: AnyLabels) -> tuple[AnyRecords, AnyRecords]:
    """Return the first records of X and y, and X with those records put back if it is an iterator."""
    if y is not None or not models:
        return X, X
    numbers = any(stream_model_of(model).label_encoder.numeric for model in models.values())
    blocks = blocks_alone(X, numbers)
    first = next(blocks, None)
    return (None, ()) if first is None else (first.X, chain([first], blocks))


def _rounds(
    models: Mapping[str, Estimator],
    X: AnyRecords,
    y: AnyLabels,
    task: AnyTasks,
    tasks: Sequence[Hashable] | None,
    sample_weight: ArrayLike | None,
) -> tuple[Iterable[Sequence[Block]], Sequence[Hashable]]:
    """Return an iterator over tuples of blocks, one block per learner, and the initially known tasks.

    All learners share the blocks of a reader. Arrays are encoded by each learner, which registers names and types.
    """
    if y is None:
        return ([block] * len(models) for block in X), tasks or ()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read = [blocks_of(stream_model_of(model), X, y, task, tasks, CHUNK, sample_weight) for model in models.values()]
    for message, category in dict.fromkeys((str(one.message), one.category) for one in caught):  # once, not by learner
        warn(message, category)
    return zip(*(blocks for blocks, _ in read), strict=True), read[0][1]


class FeatureSpread:
    """The standard deviation of each encoded feature over the first 10,000 records of a stream.

    Examples
    --------
    >>> spread = FeatureSpread()
    >>> spread.add(np.array([[1.0, 1e9 + 3.0], [1.0, 1e9 + 5.0]]))
    >>> spread.deviations.tolist()
    [0.0, 1.0]
    """

    def __init__(self) -> None:
        self._rows, self._sums, self._first = 0, np.zeros((2, 0)), np.zeros(0)

    def add(self, X: AnyRecords) -> None:
        """Add the records of a block, if they are among the first; multi-view records are ignored."""
        if self._rows >= _SPREAD_ROWS or getattr(X, "ndim", 0) != 2 or not hasattr(X, "T"):
            return
        values: AnyRecords = X.astype(np.float64) if hasattr(X, "indices") else np.asarray(X, np.float64)
        if not hasattr(X, "indices"):  # squares of numbers far from 0 would cancel
            self._first = self._first if self._rows else values[:1].sum(axis=0)
            values = values - np.pad(self._first, (0, values.shape[1] - len(self._first)))
        powers = values, values.multiply(values) if hasattr(X, "indices") else np.square(values)
        sums = np.stack([np.asarray(power.sum(axis=0), np.float64).ravel() for power in powers])
        width = max(self._sums.shape[1], sums.shape[1])
        self._rows += X.shape[0]
        self._sums = np.add(*(np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in (self._sums, sums)))

    @property
    def deviations(self) -> Floats | None:
        """Return the standard deviation of each column; None without records."""
        if not self._rows:
            return None
        means, squares = self._sums / self._rows
        return np.asarray(np.sqrt(np.maximum(squares - means * means, 0.0)))


def _timed(work: Callable[[], None]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def with_baselines(models: Mapping[str, Estimator], seen: AnyRecords = None) -> dict[str, Estimator]:
    """Return the models, extended by the missing baselines of the first model.

    ``seen`` are the first records, on which the baselines may depend.

    Raises
    ------
    ValueError
        If there is no learner to compare.
    """
    if not models:
        raise ValueError("compare needs at least one learner")
    like = next(iter(models.values()))
    return dict(models) | {name: model for name, model in like.__baselines__(seen).items() if name not in models}
