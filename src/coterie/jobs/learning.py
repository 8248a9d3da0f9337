"""The main job: learners go along the records of files in one pass, each record predicted before it is learned."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie import spec
from coterie.evaluation.comparison import Comparison, Guesses, side_by_side, with_baselines
from coterie.evaluation.stream_model import stream_model_of
from coterie.evaluation.trace import Trace
from coterie.index import TYPED, check_no_collisions, distinct_labels
from coterie.inputs.errors import FieldError, InputError
from coterie.io.readers import Reading
from coterie.online.selective import base_model
from coterie.relations.learned import TooManyTasksError

from .stopping import Checkpoints, Stop, Stopped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coterie.expressions import LearnerExpression
    from coterie.inputs.block import Block
    from coterie.inputs.hints import Hint
    from coterie.io.readers import Reader

#: Name of the learner that is not one of the baselines.
TOGETHER = "together"

#: What to do about a third label.
MORE = FieldError("{} learns more, {} numbers", "many_classes", "regression")


class NothingLeftError(InputError):
    """The files have no records, or all were to be left out at the start."""


OnRound = Callable[[Mapping[str, Trace]], None]


@dataclass(frozen=True)
class LearningOutcome:
    """The result of a pass over files.

    Attributes
    ----------
    comparison : Comparison
        The learners' traces, the learners and their seconds; one learner only where nothing was compared.
    learner : str
        The learner that was asked for, of several the one with the least error.
    reading : Reading
        What was read and what was not used.
    seconds : float
        Wall time of all.
    stopped : int or None
        The number of the signal that ended the pass before the records did; all else is of the records until then.
    failed : Exception or None
        The error that ended it so: of a record that cannot be read or learned, after others that could.
    one_label : bool
        True if it was ended while all records had the same label, so that errors tell nothing.
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
    def model(self) -> Any:
        """The learner that was asked for, ready to be saved."""
        return self.comparison.models[self.learner]

    @property
    def trace(self) -> Trace:
        """Its rounds."""
        return self.comparison.traces[self.learner]


def learn(
    reader: Reader,
    choices: Mapping[str, LearnerExpression],
    *,
    delay: int = 0,
    alone: bool = False,
    on_round: OnRound | None = None,
    stop: Stop | None = None,
    checkpoints: Checkpoints | None = None,
) -> LearningOutcome:
    """Let new learners go along the records of files, beside one model per task and one model for all.

    Parameters
    ----------
    reader : Reader
        Read once, in bounded memory; what is kept of a record is its prediction.
    choices : mapping of name to LearnerExpression
        The learners.
    delay : int
        Labels come after so many further records have been predicted.
    alone : bool
        Leave out the baselines; of one learner only.
    on_round : callable, optional
        Called with the traces of each block, to show progress.
    stop : Stop, optional
        Ends the pass between two blocks as if there were no more records. So does then a record that cannot be read or
        learned, in any block but the first: what was learned before it is not lost.
    checkpoints : Checkpoints, optional
        Saves the first learner on the way, between two blocks. Records whose labels have not come are not counted: they
        are learned when the model that was saved reads them again.

    Returns
    -------
    LearningOutcome

    Raises
    ------
    InputError
        With file and line, for records that cannot be read or learned: no label, a third label, one label only, a task
        that the relation does not know.
    """
    if delay and any(choice.parameter("max_tasks") is not None for choice in choices.values()):
        raise FieldError("{} cannot be given with {}: a task may be gone when its label comes", "max_tasks", "delay")
    numbers = any(choice.is_regression for choice in choices.values())
    with closing(_Stream(reader, stop, numbers)) as stream:
        models: dict[str, Any] = {name: choice.make(stream.task_type, delay) for name, choice in choices.items()}
        stream.save_by(checkpoints, next(iter(models.values())), delay)
        return _go(stream, models, delay, alone, on_round)


def go_on(
    reader: Reader,
    model: Any,
    *,
    delay: int = 0,
    asking: LearnerExpression | None = None,
    on_round: OnRound | None = None,
    stop: Stop | None = None,
    checkpoints: Checkpoints | None = None,
) -> LearningOutcome:
    """Let a model that has learned before go on, by itself: a model that starts now could not be compared with it.

    The reader must have been made with the model's encoder; see `learn` for the rest. The records of two files give the
    same model, bit for bit, whether they are learned in one pass or one after the other. One that asks for labels
    learns all that the files have, as they have come back to it, unless `asking` says how to ask anew.
    """
    going = base_model(model) if asking is None else asking.make()
    kept = model if asking is None else going
    with closing(_Stream(reader, stop, stream_model_of(going).label_encoder.numeric)) as stream:
        stream.save_by(checkpoints, kept, delay)
        outcome = _go(stream, {TOGETHER: going}, delay, True, on_round)
    return replace(outcome, comparison=replace(outcome.comparison, models={TOGETHER: kept}))


def go_on_together(
    reader: Reader,
    models: Mapping[str, Any],
    guesses: Guesses,
    *,
    on_round: OnRound | None = None,
    checkpoints: Checkpoints | None = None,
) -> LearningOutcome:
    """Let models that have learned the same records go on side by side, the first of which has the encoder.

    ``guesses`` have counted the labels of these records; see `go_on` for the rest.
    """
    first = next(iter(models.values()))
    with closing(_Stream(reader, None, stream_model_of(first).label_encoder.numeric)) as stream:
        stream.save_by(checkpoints, first, 0)
        return _go(stream, models, 0, True, on_round, guesses)


def checked_blocks(reader: Reader, models: Iterable[Any]) -> Iterator[Block]:
    """Read blocks with labels; records that one of the models would refuse raise InputError with file and line."""
    models = list(models)
    with closing(_Stream(reader, None, stream_model_of(models[0]).label_encoder.numeric)) as stream:
        stream.guard(models)
        yield from stream


def _go(
    stream: _Stream,
    models: Mapping[str, Any],
    delay: int,
    alone: bool,
    on_round: OnRound | None,
    guesses: Guesses | None = None,
) -> LearningOutcome:
    started = time.perf_counter()
    stream.guard(models.values())
    fresh = not any(stream_model_of(model).fitted for model in models.values())
    learning = models if alone else with_baselines(models, stream.first.X)
    try:
        rounds = ([block] * len(learning) for block in stream)
        comparison = side_by_side(learning, rounds, tuple(learning), delay=delay, on_round=on_round, guesses=guesses)
    except TooManyTasksError as error:
        raise stream.placed(error) from None
    stream.require_two_labels()
    if fresh:
        stream.require_labels_in_time(delay)
    for model in comparison.models.values():
        stream_model_of(model).encoder = stream.encoder
    best = min(models, key=lambda name: comparison.traces[name].error)
    reading = replace(Reading.of(stream.reader), rows=stream.rows)
    seconds = time.perf_counter() - started
    ended = stream.stopped, stream.failed, stream.one_label
    return LearningOutcome(comparison, best, reading, seconds, *ended, hints=lambda: stream.reader.hints)


class _Stream:
    """The blocks of a reader; what no learner could learn is refused with its place before any learner sees it.

    Attributes
    ----------
    rows : int
        Records given out so far. All of them have been learned when the next block is asked for.
    stopped : int or None
        The number of the signal that ended it, if one did.
    failed : Exception or None
        The error of reading or of a record that ended it, if one did and it may be stopped.
    """

    def __init__(self, reader: Reader, stop: Stop | None = None, numbers: bool = False) -> None:
        self.reader = reader
        self._stop, self._may_stop = stop or Stop(), stop is not None
        reader.require_labels(numbers)
        self._blocks = iter(reader)
        self._labels: dict[Hashable, None] = {}
        self._kind: Any = None
        self._goes_on = False
        self._tasks: dict[Hashable, None] = {}
        self._before: set[Hashable] = set()
        self._now: Any = None
        self._allowed: list[Callable[[Sequence[Hashable]], Any]] = []
        self._learned: Callable[[], None] = lambda: None
        self._encoder: Any = None
        self.rows = 0
        self.stopped: int | None = None
        self.failed: Exception | None = None

    def close(self) -> None:
        """Close the files, wherever in them the pass has stopped."""
        self._blocks.close()

    @property
    def encoder(self) -> Any:
        """The encoder as it was after the last block: one that was being read when the pass ended leaves no trace."""
        return self._encoder if self._cut_short else self.reader.encoder

    @property
    def _cut_short(self) -> bool:
        return self.stopped is not None or self.failed is not None

    def save_by(self, checkpoints: Checkpoints | None, model: Any, delay: int) -> None:
        """Save a model between blocks, as often as the checkpoints say."""

        def learned() -> None:
            records = self.rows - delay
            if checkpoints is not None and records > 0 and checkpoints.every.due(records):
                stream_model_of(model).encoder = self.reader.encoder
                checkpoints.save(model, records)

        self._learned = learned

    @cached_property
    def first(self) -> Block:
        """The first block."""
        try:
            block: Block | None = next(self._blocks, None)
        except InputError:
            if self._stop.asked is None:
                raise
            block = None
        if block is None and self._stop.asked is not None:  # a signal interrupted the reading
            raise Stopped(self._stop.asked)
        if block is None:
            left_out = self.reader.skipped or self.reader.unlabelled
            kind = NothingLeftError if self.reader.passed or not left_out else InputError
            raise kind(self._why_none(), None if self.reader.skipped else self.reader.path)
        return block

    def _why_none(self) -> str:
        if self.reader.passed:
            return f"all of its {self.reader.passed:,} records were to be left out at the start"
        if not self.reader.skipped and not self.reader.unlabelled:
            return "there is no record in it"
        if self.reader.unlabelled and not self.reader.skipped:
            return f"none of its {self.reader.unlabelled:,} records has a label"
        first = next(iter(self.reader.skipped_examples), "")
        return f"no record could be used, {self.reader.skipped:,} were skipped; the first: {first}"

    @property
    def task_type(self) -> Callable[[str], Any]:
        """The type of the tasks' labels: whole numbers or text."""
        tasks = self.first.task
        is_whole = tasks is not None and (tasks.dtype.kind in "iu" or all(type(task) is int for task in tasks))
        return int if is_whole else str

    def guard(self, models: Any) -> None:
        """Refuse records that one of these models would refuse."""
        for model in models:
            inner = stream_model_of(model)
            self._kind = inner.label_encoder
            if inner.fitted and not self._kind.numeric:
                self._labels.update(dict.fromkeys(self._kind.inside))
                self._goes_on = True
            self._allowed += inner.population.checks()
            self._before.update(inner.population.labels)

    def __iter__(self) -> Iterator[Block]:
        blocks = chain([self.first], self._blocks)
        while (block := self._stop.unless_asked(lambda: self._next_sound(blocks))) is not None:
            self.rows += len(block)
            yield block
            self._learned()
            if self._may_stop and self.reader.encoder is not None:
                self._encoder = self.reader.encoder.copy()
        self.stopped = self._stop.asked
        if self.stopped is not None and not self.rows:
            raise Stopped(self.stopped)

    def _next_sound(self, blocks: Iterator[Block]) -> Block | None:
        try:
            return self._next(blocks)
        except Exception as error:
            if not (self._may_stop and self.rows):
                raise
            self.failed = error
            return None

    def _next(self, blocks: Iterator[Block]) -> Block | None:
        self._now = block = next(blocks, None)
        if block is not None:
            self._check_labels(block)
            self._check_tasks(block)
        return block

    @property
    def one_label(self) -> bool:
        """True if there was one label only so far, and labels are no numbers."""
        return not self._kind.numeric and len(self._labels) < 2

    def require_two_labels(self) -> None:
        """Refuse a stream that is over and had one label only, unless labels are numbers."""
        if not self._cut_short and self.one_label:
            only = next(iter(self._labels))
            message = f"all {self.reader.rows:,} records have the label {only!r}; expected two labels"
            raise InputError(message, self.reader.path, column=_role(self.reader, "label"))

    def require_labels_in_time(self, delay: int) -> None:
        """Refuse a stream that is over before the first label came: nothing was predicted from what was learned."""
        if not self._cut_short and self.reader.rows <= delay:
            message = f"labels come {delay:,} records late, and there are {self.reader.rows:,}: none comes in time"
            raise InputError(message, self.reader.path)

    def placed(self, error: TooManyTasksError) -> InputError:
        """The refusal of one task too many, with its record."""
        new = [task for task in self._tasks if task not in self._before]
        over = set(new[max(error.most - len(self._before), 0) :])
        distinct, codes = distinct_labels(self._now.tasks)
        rows = np.array([task in over for task in distinct])[codes]
        return self._error(f"one task too many: {error}", "task", self._now, rows)

    def _check_labels(self, block: Block) -> None:
        if block.y is None:
            raise InputError("has no labels to learn from: name their column as the label", self.reader.path)
        if self._kind.numeric:
            self._check_numbers(block)
            return
        distinct, codes = distinct_labels(block.y, "label")
        for code, label in enumerate(distinct):
            if label not in self._labels and len(self._labels) == self._kind.most:
                known = " and ".join(map(repr, self._labels))
                what = None if self._goes_on else MORE
                message = f"{label!r} is a third label, after {known}"
                if str(label) in map(str, self._labels):
                    message, what = f"{message}: is one of them meant, and of another type? {TYPED}", None
                raise self._error(message, "label", block, codes == code, what)
            if label not in self._labels:
                self._require_kept(label, block, codes == code)
            self._labels[label] = None

    def _require_kept(self, label: Hashable, block: Block, rows: NDArray[np.bool_]) -> None:
        """Refuse a label that the model's file could not give back, before anything is learned of it."""
        try:
            spec.check_labels([label], "label")
        except ValueError as error:
            raise self._error(str(error), "label", block, rows) from None

    def _check_numbers(self, block: Block) -> None:
        try:
            self._kind.values(block.y)
        except ValueError:
            wrong = np.array([not _is_number(self._kind, label) for label in np.asarray(block.y)])
            label = np.asarray(block.y)[np.argmax(wrong)]
            raise self._error(f"{label!r} is no number that can be learned", "label", block, wrong) from None

    def _check_tasks(self, block: Block) -> None:
        new = [task for task in dict.fromkeys(block.tasks.tolist()) if task not in self._tasks]
        try:
            self._allow(new)
        except ValueError:  # one of them: which, and in which record?
            distinct, codes = distinct_labels(block.tasks)
            for code, task in enumerate(distinct):
                try:
                    self._allow([task])
                except ValueError as error:
                    raise self._error(str(error), "task", block, codes == code) from None
            raise
        self._tasks.update(dict.fromkeys(new))

    def _allow(self, tasks: Sequence[Hashable]) -> None:
        for allow in self._allowed:
            allow(tasks)
        for known in (self._before, self._tasks):
            check_no_collisions([task for task in tasks if task not in self._before and task not in self._tasks], known)

    def _error(
        self, message: str, role: str, block: Block, rows: NDArray[np.bool_], hint: FieldError | None = None
    ) -> InputError:
        line = int(block.place[np.argmax(rows)])
        return InputError(message, self.reader.path, line, _role(self.reader, role), hint)


def _is_number(kind: Any, label: Any) -> bool:
    try:
        kind.values([label])
    except ValueError:
        return False
    return True


def _role(reader: Reader, role: str) -> str | None:
    return next((name for name, held in reader.columns.items() if held == role), None)
