"""Registry of a model's tasks: numbers new tasks, resizes the state, and drops tasks.

A learner handles numbers only. The registry has the labels of tasks, ``new_task``, ``max_tasks``, and the order of
their last records.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from coterie import spec
from coterie._compiled.core.arrays import Dropped
from coterie._compiled.core.records import Dense, split_unseen, widths_of
from coterie._compiled.primal.query_decisions import QUERY_ALL
from coterie._compiled.trees import Arrays
from coterie.tasks.index import Index, WholeNumbers, check_no_collisions, distinct_labels
from coterie.tasks.relations.groups import GroupIndex
from coterie.tasks.task_limit import Recency, Turnover
from coterie.types import Array, Json

from .contract import (
    AnyRows,
    BaseLearner,
    Batch,
    Codes,
    InputShape,
    UpdateResult,
    concatenate_updates,
    learn_in_pieces,
    learn_one_by_one,
)

#: The array of a file that has the order in which tasks were last seen.
RECENCY = "recency"


class Arrival(NamedTuple):
    """A resize of the state before round ``round`` of a batch, to ``tasks`` tasks and ``width`` features."""

    round: int
    tasks: int
    width: int


def find_arrivals(codes: Codes, known: int, delay: int, widths: Codes | None = None, width: int = 0) -> list[Arrival]:
    """Return the rounds of a batch before which the state must be resized for new tasks or features.

    ``codes`` are task numbers, and ``widths`` the numbers of features of the records.

    New tasks have numbers from ``known`` on, in order of first appearance; record t has ``widths[t]`` features, if
    widths are given, and the state has ``width``. If labels are delayed by ``delay`` rounds, a record is predicted that
    many rounds before it is learned.
    """
    tasks = np.maximum(np.maximum.accumulate(codes) + 1, known)
    wide = np.full(len(codes), width) if widths is None else np.maximum(np.maximum.accumulate(widths), width)
    places = np.flatnonzero((np.diff(tasks, prepend=known) > 0) | (np.diff(wide, prepend=width) > 0))
    rounds = np.maximum(places - delay, 0)
    last = np.diff(rounds, append=-1) != 0
    return list(map(Arrival, rounds[last].tolist(), tasks[places[last]].tolist(), wide[places[last]].tolist()))


class TaskRegistry:
    """The known tasks of a model, with the learner and its state.

    Parameters
    ----------
    learner : BaseLearner
        The learner.

    Attributes
    ----------
    new_task : {"grow", "raise"}
        Register an unseen task, or raise ValueError.
    max_tasks : int, optional
        The maximum number of tasks; a further one replaces the least recently seen one. See `limit`.
    tasks : Index
        The tasks known.
    state : object or None
        The learner's state; None before the first record.
    recency : Recency or None
        The order in which tasks were last seen, under ``max_tasks``.
    """

    def __init__(self, learner: BaseLearner) -> None:
        self.learner, self.new_task = learner, "grow"
        self.max_tasks: int | None = None
        self.tasks, self.state = Index(), cast(Any, None)
        self.recency: Recency | None = None

    def limit(self, learner: BaseLearner, max_tasks: int | None) -> None:
        """Set ``max_tasks``, the maximum number of tasks; raise ValueError if the learner cannot drop tasks."""
        if max_tasks is not None and learner.traits.cannot_bound:
            raise ValueError(learner.traits.cannot_bound)
        self.recency = None if max_tasks is None else self.recency or Recency(range(len(self)))
        self.max_tasks = max_tasks

    def __len__(self) -> int:
        return len(self.tasks) if self.state is not None else 0

    def checkpoint(self) -> Callable[[], None]:
        """Return a function that restores the current tasks and state."""
        own = [getattr(state, "sharing", None) for _, state in self.learner.walk(self.state)]
        caches = {id(sharing): sharing for sharing in own if not isinstance(sharing, GroupIndex)}
        tasks, state = copy.deepcopy((self.tasks, self.state), caches)

        def restore() -> None:
            self.tasks, self.state = tasks, state

        return restore

    # -- refusals -----------------------------------------------------------------------------------------------------

    def checks(self) -> list[Callable[[Sequence[Hashable]], Any]]:
        """Return functions that each raise ValueError if a new task is not allowed."""
        learner, state = self.learner, self.state
        index = self.tasks if state is not None else Index(learner.traits.named)
        state = learner.init(index, InputShape()) if state is None and learner.traits.has_tasks else state

        def refuse(tasks: Sequence[Hashable]) -> None:
            learner.refuse(state, index.new_among(tasks))

        return [spec.check_labels, refuse, *([] if self.state is None else [self.refuse_unseen])]

    def refuse_unseen(self, tasks: Sequence[Hashable]) -> None:
        """Raise ValueError for unseen tasks if ``new_task='raise'``."""
        if self.new_task == "raise":
            unseen = self.tasks.new_among(tasks)
            if unseen:
                raise ValueError(f"task {unseen[0]!r} was never seen and new_task is 'raise'")

    def validate(self, tasks: Sequence[Hashable]) -> None:
        """Raise ValueError for tasks that cannot be added or saved."""
        self.require_savable(tasks)
        self.refuse_unseen(tasks)
        new = self.tasks.new_among(tasks)
        if len(new):
            self.learner.refuse(self.state, new)

    def require_savable(self, tasks: Sequence[Hashable]) -> None:
        """Raise ValueError for new tasks with labels that cannot be restored from a file."""
        if not isinstance(tasks, WholeNumbers):
            known = () if self.state is None else self.tasks.numbers
            spec.check_labels(task for task in tasks if task not in known)

    def number_of(self, task: Hashable) -> int:
        """Return the number of a known task; raise ValueError for an unknown one."""
        number = self.tasks.numbers.get(task) if self.state is not None else None
        if number is None:
            raise ValueError(f"task {task!r} was never seen; tasks_ lists the {len(self)} known tasks")
        return number

    # -- capacity -----------------------------------------------------------------------------------------------------

    def begin(
        self,
        size: InputShape,
        tasks: Sequence[Hashable] = (),
        length: int | None = None,
        coming: Sequence[Hashable] = (),
    ) -> None:
        """Create the initial state for ``tasks``.

        Those in ``coming`` are only validated, and added at their first records.

        If one is invalid, nothing changes.
        """
        index, learner = Index(self.learner.traits.named or tasks), self.learner
        state = learner.init(index, size, length)
        if learner.traits.has_tasks:
            learner.refuse(state, index.new_among([*tasks, *coming] if len(tasks) else coming))
        self.tasks, self.state = index if learner.traits.has_tasks else Index([0]), state

    def forget_all(self) -> None:
        """Remove all tasks and the state."""
        self.tasks, self.state = Index(), None
        self.recency = None if self.max_tasks is None else Recency([])

    def register(self, new: Sequence[Hashable], size: InputShape, counted: bool = True) -> None:
        """Add the ``new`` tasks, and resize the state for them and for records of the shape ``size``."""
        known = len(self.tasks)
        if len(new):
            self.tasks.add(new)
        try:
            self.learner.resize(self.state, len(self.tasks), size, counted)
        except BaseException:  # for want of memory: a task without a row must not be known
            self.tasks.drop(Dropped.plan(range(known, len(self.tasks)), len(self.tasks)))
            raise

    def validate_and_register(
        self, tasks: Sequence[Hashable], size: InputShape, coming: Sequence[Hashable] = ()
    ) -> None:
        """Add tasks and resize the state; raise ValueError if one is invalid. Tasks in ``coming`` are only checked."""
        self.validate([*tasks, *coming] if len(tasks) else coming)
        new = self.tasks.new_among(tasks) if len(tasks) else ()
        if len(new) or not self.has_room(size):
            self.register(new, size)

    def has_room(self, size: InputShape) -> bool:
        """Return True if the state fits records of the shape ``size`` without resizing."""
        return bool(size.features <= self.state.features) and (not size.widths or size.widths == self.state.widths)

    # -- rounds -------------------------------------------------------------------------------------------------------

    def make_batch(self, rows: AnyRows, tasks: Array) -> Batch:
        """Return a batch of records to predict, with task numbers; raise ValueError for invalid tasks."""
        distinct, places = distinct_labels(tasks)
        self.refuse_unseen(distinct)
        codes = self.tasks.find(distinct)[places]
        unseen = [distinct[place] for place in places[codes < 0]]
        if unseen:
            check_no_collisions(list(dict.fromkeys(unseen)), self.tasks.numbers)
        return Batch(rows, codes, unseen)

    def learn(self, batch: Batch, y: Any, new: Sequence[Hashable] = ()) -> UpdateResult:
        """Predict and learn a batch, in parts if a new task or feature changes the weights of other tasks.

        ``new`` are the new tasks.

        Parameters
        ----------
        run, y
            As in :meth:`coterie.models.contract.BaseLearner.learn`.
        new : sequence of labels
            The tasks that were not known, in the order of their first records; see
            :meth:`coterie.tasks.index.Index.number`.
        """
        traits, learn = self.learner.traits, partial(self.learner.learn, self.state)
        asked_singly = batch.query_strategy is not QUERY_ALL and not traits.asks
        if asked_singly:
            learn = partial(learn_one_by_one, self.learner, self.state)
        # a new task may change predictions of others, and must not do so before its first record
        cuts = len(new) > 0 and (traits.task_changes_all or asked_singly)
        if not (cuts or traits.feature_changes_all):
            if len(new):
                self.register(new, InputShape(self.state.features), counted=False)
            return learn(batch, y)
        widths = widths_of(batch.rows, self.state.features) if traits.feature_changes_all else None
        known, delay = len(self.tasks), len(batch.tasks) - len(y)
        arrivals = find_arrivals(batch.tasks, known, delay, widths, self.state.features)
        rest = iter(arrivals)

        def register_next() -> None:
            arrival = next(rest, None)
            if arrival is not None:
                self.register(new[len(self.tasks) - known : arrival.tasks - known], InputShape(arrival.width))

        def learn_next(piece: Batch, labels: Any) -> UpdateResult:
            if traits.feature_changes_all and isinstance(piece.rows, Dense):
                piece = piece._replace(rows=split_unseen(piece.rows, self.state.features)[0])
            update = learn(piece, labels)
            register_next()
            return update

        if arrivals and arrivals[0].round == 0:
            register_next()
        ends = [*(arrival.round for arrival in arrivals if arrival.round > 0), len(y)]
        return learn_in_pieces(batch, y, ends, learn_next)

    def learn_bounded(self, batch: Batch, y: Any, tasks: Array, size: InputShape) -> UpdateResult:
        """Learn a batch under the limit ``max_tasks``: a new task replaces the least recently used one."""
        recency, most = cast(Recency, self.recency), int(self.max_tasks or 0)
        distinct, places = distinct_labels(tasks)
        together = max(most // 4, 1) if self.learner.traits.tasks_independent else 1
        turnover = Turnover(self.tasks.find(distinct), places, recency, most, together)
        updates = []
        for piece in turnover.pieces(len(self.tasks)):
            if self.learner.traits.feature_changes_all:
                size = InputShape(self.state.features)
            self._turn_over([distinct[place] for place in piece.coming], piece.leaving, size)
            codes = turnover.numbers[places[piece.first : piece.last]]
            part = batch.cut(piece.first, piece.last)._replace(tasks=codes)
            updates.append(self.learn(part, y[piece.first : piece.last]))
            recency.see(codes)
        return updates[0] if len(updates) == 1 else concatenate_updates(updates)

    def _turn_over(self, coming: Sequence[Hashable], leaving: Sequence[int], size: InputShape) -> None:
        """Add the tasks ``coming``, and drop the task numbers ``leaving``, which the last new tasks take."""
        if len(coming) or not self.has_room(size):
            self.register(coming, size)
            if self.recency is not None:
                self.recency.join(len(coming))
        if len(leaving):
            self.drop(leaving)

    def evict_for(self, task: Hashable, size: InputShape) -> None:
        """Drop the least recently used task if there are ``max_tasks`` tasks and ``task`` is new."""
        known = task in self.tasks.numbers
        full = len(self.tasks) >= int(self.max_tasks or 0)
        leaving = [cast(Recency, self.recency).oldest()] if full and not known else []
        self._turn_over([] if known else [task], leaving, size)

    def validate_and_evict(self, tasks: Sequence[Hashable]) -> None:
        """Raise ValueError if a task is invalid; drop the least recently used tasks beyond ``max_tasks``."""
        self.validate(tasks)
        excess = len(self.tasks) - int(self.max_tasks or 0)
        if self.recency is not None and excess > 0:
            self.drop(self.recency.order[:excess].tolist())

    def skip(self, rounds: int) -> None:
        """Count ``rounds`` rounds without labels; only clocks, such as that of a decay, change."""
        self.learner.skip(self.state, rounds)

    # -- forgetting ---------------------------------------------------------------------------------------------------

    def forget(self, tasks: Sequence[Hashable]) -> None:
        """Remove tasks with their own weights; raise ValueError, and remove none, if one is unknown."""
        reason = self.learner.traits.cannot_drop
        numbers = [self.number_of(task) for task in dict.fromkeys(tasks) if self.learner.traits.has_tasks]
        if reason:
            raise ValueError(reason)
        self.drop(numbers)

    def drop(self, numbers: Sequence[int]) -> None:
        """Remove the tasks with these numbers; the tasks with the largest numbers get the free numbers."""
        fixed = self.learner.traits.fixed
        dropped = Dropped.plan(numbers, len(self.tasks), fixed)
        labels = [self.tasks.sequence[i] for i in dropped.rows.tolist()]
        if not fixed:
            self.tasks.drop(dropped)
        self.learner.drop(self.state, dropped, labels)
        if self.recency is not None:
            self.recency.drop(dropped)

    # -- files --------------------------------------------------------------------------------------------------------

    def dump(self) -> tuple[Json, Arrays]:
        """Return the state for a file, as JSON data and named arrays; task labels are saved elsewhere."""
        data, arrays = self.learner.dump(self.state)
        return data, arrays if self.recency is None else arrays | {RECENCY: self.recency.order}

    def restore(self, data: Json, arrays: Arrays, index: Index) -> None:
        """Restore the result of :meth:`dump`; ``index`` numbers the tasks (or the views of multi-view records).

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        own = {name: array for name, array in arrays.items() if name != RECENCY}
        state = self.learner.restore(data, own, index)
        index = index if self.learner.traits.has_tasks else Index([0])
        recency = None
        if self.max_tasks is not None:
            recency = Recency.restored(arrays.get(RECENCY, np.zeros(0)), len(index))
        self.tasks, self.state, self.recency = index, state, recency
