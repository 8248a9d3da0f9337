"""Learning from files in one pass: each record is predicted before it is learned."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from coterie import spec
from coterie.data.errors import FieldError, InputError
from coterie.data.label_encoders import LabelEncoder, NumberLabelEncoder
from coterie.data.readers import Reading
from coterie.tasks.index import TYPED, check_no_collisions, distinct_labels
from coterie.tasks.relations.learned import TooManyTasksError
from coterie.types import Estimator, Flags, Json, TaskType

from .baselines import LabelBaselines
from .comparison import Comparison, side_by_side, with_baselines
from .stopping_signals import Checkpoints, Stop, Stopped
from .stream_model import stream_model_of
from .trace import Trace

if TYPE_CHECKING:
    from coterie.data.block import Block
    from coterie.data.hints import Hint
    from coterie.data.readers import Reader
    from coterie.data.record_encoders import RecordEncoder

#: Name of the learner that is not one of the baselines.
TOGETHER = "together"

#: The advice after a third label.
MORE_LABELS = FieldError("{} learns more, {} numbers", "many_classes", "regression")


class NothingLeftError(InputError):
    """Error for files without records, or with invalid records only."""


OnRound = Callable[[Mapping[str, Trace]], None]


class LearnerFactory(Protocol):
    """Interface of objects that create a learner when the type of task labels is known."""

    @property
    def is_regression(self) -> bool:
        """True if the labels are numbers."""

    def parameter(self, name: str) -> Any:
        """Return a parameter of the model; None if it has no such parameter."""

    def make(self, task_type: TaskType) -> Estimator:
        """Return a new model for task labels of this type."""


@dataclass(frozen=True)
class LearningOutcome:
    """The result of learning from files.

    Attributes
    ----------
    comparison : Comparison
        The learners' traces, the learners and their seconds; a single learner if nothing was compared.
    learner : str
        The requested learner; the one with the least error of several.
    reading : Reading
        The records and columns that were read, and those that were not used.
    seconds : float
        Wall time of all.
    stopped : int or None
        The number of the signal that ended the pass early; the other fields are about the records until then.
    failed : Exception or None
        The error of a bad record that ended the pass early, after records that could be learned.
    one_label : bool
        True if the pass ended early while all records had the same label, so that errors are not informative.
    hints : callable
        Returns the hints about columns; called when the model has been saved.
    """

    comparison: Comparison
    learner: str
    reading: Reading
    seconds: float
    stopped: int | None = None
    failed: Exception | None = None
    one_label: bool = False
    hints: Callable[[], list[Hint]] = list

    @property
    def model(self) -> Estimator:
        """The learner to save."""
        return self.comparison.models[self.learner]

    @property
    def trace(self) -> Trace:
        """The trace of the learner to save."""
        return self.comparison.traces[self.learner]


def learn(
    reader: Reader,
    learners: Mapping[str, LearnerFactory],
    *,
    delay: int = 0,
    alone: bool = False,
    on_round: OnRound | None = None,
    stop: Stop | None = None,
    checkpoints: Checkpoints | None = None,
) -> LearningOutcome:
    """Learn new models from files in one pass, compared with their baselines.

    Parameters
    ----------
    reader : Reader
        The reader; it is read once, in bounded memory, and only predictions of records are stored.
    learners : mapping of name to LearnerFactory
        The learners.
    delay : int
        The number of further records that are predicted before a label arrives.
    alone : bool
        Leave out the baselines; for a single learner.
    on_round : callable, optional
        Called with the traces of each block, to show progress.
    stop : Stop, optional
        Ends the pass between two blocks as if there were no more records. With it, a record that cannot be read or
        learned ends the pass, too, except in the first block; records learned before are not lost.
    checkpoints : Checkpoints, optional
        Saves the first learner during the pass, between two blocks. Records with pending labels are not counted,
        because the saved model learns them when it reads them again.

    Returns
    -------
    LearningOutcome

    Raises
    ------
    InputError
        With file and line, for records that cannot be read or learned: no label, a third label, one label only, a task
        that the relation does not know.
    """
    if delay and any(learner.parameter("max_tasks") is not None for learner in learners.values()):
        raise FieldError(
            "{} is not supported with {}: a task may be forgotten before its label arrives", "max_tasks", "delay"
        )
    with closing(_CheckedStream(reader, any(learner.is_regression for learner in learners.values()), stop)) as stream:
        models = {name: learner.make(stream.task_type) for name, learner in learners.items()}
        stream.set_checkpoints(checkpoints, next(iter(models.values())), delay)
        return _run_pass(stream, models, delay, alone, on_round)


def continue_learning(
    reader: Reader,
    models: Json,
    *,
    saved: Estimator = None,
    label_baselines: LabelBaselines | None = None,
    delay: int = 0,
    on_round: OnRound | None = None,
    stop: Stop | None = None,
    checkpoints: Checkpoints | None = None,
) -> LearningOutcome:
    """Continue learning with saved models, without new baselines; see `learn`.

    Two files give the same models in one pass or in two, bit for bit.

    Parameters
    ----------
    reader : Reader
        Made with the encoder of the first model.
    models : mapping of name to model
        The models.
    saved : model, optional
        The estimator around the first model that is saved in its place.
    label_baselines : LabelBaselines, optional
        See `coterie.evaluation.comparison.side_by_side`.
    delay, on_round, stop, checkpoints
        See `learn`.
    """
    name, first = next(iter(models.items()))
    saved = first if saved is None else saved
    with closing(_CheckedStream(reader, stream_model_of(first).label_encoder.numeric, stop)) as stream:
        stream.set_checkpoints(checkpoints, saved, delay)
        outcome = _run_pass(stream, models, delay, True, on_round, label_baselines)
    return replace(outcome, comparison=replace(outcome.comparison, models={**models, name: saved}))


def checked_blocks(reader: Reader, models: Iterable[Estimator]) -> Iterator[Block]:
    """Yield the labelled blocks of a reader. Raise InputError, with file and line, if a model cannot learn a record."""
    models = list(models)
    with closing(_CheckedStream(reader, stream_model_of(models[0]).label_encoder.numeric)) as stream:
        stream.set_models(models)
        yield from stream


def _run_pass(
    stream: _CheckedStream,
    models: Json,
    delay: int,
    alone: bool,
    on_round: OnRound | None,
    label_baselines: LabelBaselines | None = None,
) -> LearningOutcome:
    start = time.perf_counter()
    stream.set_models(models.values())
    is_new = not any(stream_model_of(model).fitted for model in models.values())
    learners = models if alone else with_baselines(models, stream.first.X)
    try:
        rounds = ([block] * len(learners) for block in stream)
        comparison = side_by_side(
            learners, rounds, tuple(learners), delay=delay, on_round=on_round, label_baselines=label_baselines
        )
    except TooManyTasksError as error:
        raise stream.locate_error(error) from None
    stream.require_labels(delay if is_new else 0)
    for model in comparison.models.values():
        stream_model_of(model).encoder = stream.encoder
    # chosen and reported on the same stream: with many learners its error is slightly optimistic
    best = min(models, key=lambda name: comparison.traces[name].error)
    reading = replace(Reading.from_reader(stream.reader), rows=stream.rows)
    end = stream.stopped, stream.failed, stream.has_one_label
    return LearningOutcome(
        comparison, best, reading, time.perf_counter() - start, *end, hints=lambda: stream.reader.hints
    )


class _CheckedStream:
    """The labelled blocks of a reader, each checked by all models before any of them learns it.

    Attributes
    ----------
    rows : int
        Records yielded so far. All of them have been learned when the next block is requested.
    stopped : int or None
        The number of the signal that ended the stream.
    failed : Exception or None
        The error that ended the stream, if it may be stopped.
    """

    def __init__(self, reader: Reader, regression: bool, stop: Stop | None = None) -> None:
        self.reader, self.rows = reader, 0
        self.stopped: int | None = None
        self.failed: Exception | None = None
        self._stop, self._can_stop = stop or Stop(), stop is not None
        reader.require_labels(regression)
        self._blocks: Generator[Block] = iter(reader)
        self._block: Block | None = None
        self._encoder: RecordEncoder | None = None
        self._label_encoder: LabelEncoder
        self._labels: dict[Hashable, None] = {}
        self._is_continued = False
        self._tasks: dict[Hashable, None] = {}
        self._known_tasks: set[Hashable] = set()
        self._checks: list[Callable[[Sequence[Hashable]], object]] = []
        self._save_if_due: Callable[[], None] = lambda: None

    def close(self) -> None:
        """Close the files."""
        self._blocks.close()

    @property
    def encoder(self) -> RecordEncoder | None:
        """The encoder's state after the last learned block, although the next block may have been read."""
        return self._encoder if self._ended_early else self.reader.encoder

    @property
    def _ended_early(self) -> bool:
        return self.stopped is not None or self.failed is not None

    def set_checkpoints(self, checkpoints: Checkpoints | None, model: Estimator, delay: int) -> None:
        """Save the model between two blocks whenever ``checkpoints`` is due; ``delay`` is that of labels."""

        def save_if_due() -> None:
            # a checkpoint is resumed by reading from this record on: the last ones were predicted and not learned
            records = self.rows - delay
            if checkpoints is not None and records > 0 and checkpoints.is_due(records):
                stream_model_of(model).encoder = self.reader.encoder
                checkpoints.save(model, records)

        self._save_if_due = save_if_due

    def set_models(self, models: Iterable[Estimator]) -> None:
        """Set the models that check each block before it is learned."""
        for model in map(stream_model_of, models):
            self._label_encoder = model.label_encoder
            if model.fitted and not self._label_encoder.numeric:
                self._labels.update(dict.fromkeys(self._label_encoder.inside))
                self._is_continued = True
            self._checks += model.population.checks()
            self._known_tasks.update(model.population.tasks.labels)

    @cached_property
    def first(self) -> Block:
        """Return the first block."""
        try:
            block = next(self._blocks, None)
        except InputError:
            if self._stop.asked is None:
                raise
            block = None
        if block is None and self._stop.asked is not None:  # a signal interrupted the reading
            raise Stopped(self._stop.asked)
        if block is None:
            raise self._explain_no_block()
        return block

    def _explain_no_block(self) -> InputError:
        reader = self.reader
        if reader.passed:
            text = f"all of its {reader.passed:,} records were skipped at the start"
        elif reader.skipped:
            example = next(iter(reader.skipped_examples), "")
            text = f"no record could be used, {reader.skipped:,} were skipped; the first: {example}"
        elif reader.unlabelled:
            text = f"none of its {reader.unlabelled:,} records has a label"
        else:
            text = "it has no records"
        error = InputError if not reader.passed and (reader.skipped or reader.unlabelled) else NothingLeftError
        return error(text, None if reader.skipped else reader.path)

    @property
    def task_type(self) -> TaskType:
        """The type of task labels: int or str."""
        tasks = self.first.task
        is_whole = tasks is not None and (tasks.dtype.kind in "iu" or all(type(task) is int for task in tasks))
        return int if is_whole else str

    def __iter__(self) -> Iterator[Block]:
        blocks = chain([self.first], self._blocks)
        while (block := self._stop.run_unless_asked(lambda: self._check_next(blocks))) is not None:
            self.rows += len(block)
            yield block
            self._save_if_due()
            if self._can_stop and self.reader.encoder is not None:
                self._encoder = self.reader.encoder.copy()
        self.stopped = self._stop.asked
        if self.stopped is not None and not self.rows:
            raise Stopped(self.stopped)

    def _check_next(self, blocks: Iterator[Block]) -> Block | None:
        try:
            self._block = block = next(blocks, None)
            if block is not None:
                self._check_labels(block)
                self._check_tasks(block)
        except Exception as error:
            if not (self._can_stop and self.rows):
                raise
            self.failed = error
            return None
        return block

    @property
    def has_one_label(self) -> bool:
        """True if only one label has been seen, and labels are not numeric."""
        return not self._label_encoder.numeric and len(self._labels) < 2

    def require_labels(self, delay: int) -> None:
        """Raise an error at the end of a stream in which no label arrived, or only one."""
        if self._ended_early:
            return
        rows, path = self.reader.rows, self.reader.path
        if self.has_one_label:
            message = f"all {rows:,} records have the label {next(iter(self._labels))!r}; expected two labels"
            raise InputError(message, path, column=self._column("label"))
        if delay and rows <= delay:
            raise InputError(
                f"labels are delayed by {delay:,} records, but there are only {rows:,}, so that none arrives", path
            )

    def locate_error(self, error: TooManyTasksError) -> InputError:
        """Return an InputError for an invalid task, with the location of its record."""
        block: Any = self._block
        new = [task for task in self._tasks if task not in self._known_tasks]
        excess = set(new[max(error.most - len(self._known_tasks), 0) :])
        rows = np.array([task in excess for task in block.tasks.tolist()])
        return self._error(f"one task too many: {error}", "task", block, rows)

    def _check_labels(self, block: Block) -> None:
        if block.y is None:
            raise InputError("has no labels to learn from; name the label column", self.reader.path)
        if self._label_encoder.numeric:
            self._check_numbers(block)
            return
        distinct, codes = distinct_labels(block.y, "label")
        for code, label in enumerate(distinct):
            if label in self._labels:
                continue
            rows = codes == code
            if len(self._labels) == self._label_encoder.most:
                message = f"{label!r} is a third label, after {' and '.join(map(repr, self._labels))}"
                hint = None if self._is_continued else MORE_LABELS
                if str(label) in map(str, self._labels):
                    message, hint = f"{message}, and is equal to one of them except for its type: {TYPED}", None
                raise self._error(message, "label", block, rows, hint)
            try:
                spec.check_labels([label], "label")
            except ValueError as error:  # the file of the model could not store it
                raise self._error(str(error), "label", block, rows) from None
            self._labels[label] = None

    def _check_numbers(self, block: Block) -> None:
        try:
            self._label_encoder.values(block.y)
        except ValueError:
            labels = np.asarray(block.y)
            bad = np.array([not NumberLabelEncoder.takes(label) for label in labels])
            message = f"{labels[np.argmax(bad)]!r} is not a number that can be learned"
            raise self._error(message, "label", block, bad) from None

    def _check_tasks(self, block: Block) -> None:
        new = [task for task in dict.fromkeys(block.tasks.tolist()) if task not in self._tasks]
        try:
            self._check_new_tasks(new)
        except ValueError:  # of one task, whose record is wanted
            distinct, codes = distinct_labels(block.tasks)
            for code, task in enumerate(distinct):
                try:
                    self._check_new_tasks([task])
                except ValueError as error:
                    raise self._error(str(error), "task", block, codes == code) from None
            raise
        self._tasks.update(dict.fromkeys(new))

    def _check_new_tasks(self, tasks: Sequence[Hashable]) -> None:
        for check in self._checks:
            check(tasks)
        new = [task for task in tasks if task not in self._known_tasks and task not in self._tasks]
        check_no_collisions(new, self._known_tasks)
        check_no_collisions(new, self._tasks)

    def _error(self, message: str, role: str, block: Block, rows: Flags, hint: FieldError | None = None) -> InputError:
        line = int(block.place[np.argmax(rows)])
        return InputError(message, self.reader.path, line, self._column(role), hint)

    def _column(self, role: str) -> str | None:
        return next((name for name, kind in self.reader.columns.items() if kind == role), None)
