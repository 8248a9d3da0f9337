"""The tasks of a model: numbers them, has room made for them, lets a learner meet them as they come, and forgets them.

A learner sees numbers only. Here alone is known which tasks there are, which of them may come (``new_task``), how many
there may be (``max_tasks``), and when each was last seen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.index import Index, WholeNumbers, check_no_collisions, occurring
from coterie.numeric.core.arrays import Dropped
from coterie.numeric.core.records import widths_of
from coterie.numeric.primal.asking import QUERY_ALL
from coterie.numeric.trees import Arrays

from .contract import (
    BaseLearner,
    Batch,
    Codes,
    FastPath,
    InputShape,
    Predictions,
    UpdateResult,
    in_pieces,
    joined,
    nothing,
    one_by_one,
)
from .recency import Recency, Turnover

#: The array of a file that has the order in which tasks were last seen.
RECENCY = "recency"


class Arrival(NamedTuple):
    """Before round ``round`` of a run the state must have ``tasks`` tasks and ``width`` features."""

    round: int
    tasks: int
    width: int


def arrivals(codes: Codes, known: int, delay: int, widths: Codes | None = None, width: int = 0) -> list[Arrival]:
    """The arrivals of a run: the rounds before which new tasks, or new features, need room.

    New tasks have the numbers from ``known`` on, in the order in which they come; record t is ``widths[t]`` wide, where
    that counts, and ``width`` features are known. Where labels are ``delay`` rounds late, a record comes so many rounds
    before it is learned, and the first of a run are there from the start.
    """
    tasks = np.maximum(np.maximum.accumulate(codes) + 1, known)
    wide = np.full(len(codes), width) if widths is None else np.maximum(np.maximum.accumulate(widths), width)
    places = np.flatnonzero((np.diff(tasks, prepend=known) > 0) | (np.diff(wide, prepend=width) > 0))
    rounds = np.maximum(places - delay, 0)
    places = places[np.diff(rounds, append=-1) != 0]
    rounds = np.maximum(places - delay, 0)
    return [Arrival(*each) for each in zip(rounds.tolist(), tasks[places].tolist(), wide[places].tolist(), strict=True)]


class Numbered(NamedTuple):
    """The number of each record's task, and the tasks among these that are new, in the order of their first records.

    New tasks have the numbers behind those known.
    """

    codes: Codes
    new: Sequence[Hashable]


class TaskRegistry:
    """A learner, the tasks it knows, and what it has learned.

    Parameters
    ----------
    learner : BaseLearner
        What learns.

    Attributes
    ----------
    new_task : {"grow", "raise"}
        Whether a task that was never seen is taken up or refused.
    max_tasks : int, optional
        How many tasks may be known at a time; the one not seen for longest is forgotten for a new one. See `limit`.
    tasks : Index
        The tasks known.
    state : object or None
        What was learned; None before.
    recency : Recency or None
        When tasks were last seen, where there may be so many only.
    """

    def __init__(self, learner: BaseLearner) -> None:
        self.learner, self.new_task = learner, "grow"
        self.max_tasks: int | None = None
        self.tasks, self.state = Index(), cast(Any, None)
        self.recency: Recency | None = None
        self._single: FastPath | None = None

    @classmethod
    def of(cls, learner: BaseLearner, state: Any, tasks: Index) -> TaskRegistry:
        """The population of a learner with this state, whose tasks the index numbers."""
        made = cls(learner)
        made.tasks, made.state = tasks, state
        return made

    def limit(self, max_tasks: int | None) -> None:
        """Set how many tasks may be known at a time: ValueError where the learner cannot drop tasks."""
        if max_tasks is None:
            self.recency = None
        else:
            if self.learner.traits.cannot_bound:
                raise ValueError(self.learner.traits.cannot_bound)
            self.recency = self.recency or Recency(range(len(self)))
        self.max_tasks = max_tasks

    def __len__(self) -> int:
        return len(self.tasks) if self.state is not None else 0

    @property
    def labels(self) -> Sequence[Hashable]:
        """The tasks learned so far, in order of first appearance."""
        return () if self.state is None else self.tasks.labels

    @property
    def single(self) -> FastPath:
        """Rounds of single records."""
        held = self._single
        if held is None or held.state is not self.state or held.learner is not self.learner:
            held = self._single = self.learner.single(self.state)
        return held

    def _release(self) -> None:
        """Let the rounds of single records give up what they prepared, which something else is about to change."""
        if self._single is not None:
            self._single.forget()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_single": None}

    # -- refusals -----------------------------------------------------------------------------------------------------

    def checks(self) -> list[Callable[[Sequence[Hashable]], Any]]:
        """Functions that raise ValueError for tasks of which one would be refused."""
        learner, state = self.learner, self.state
        index = self.tasks if state is not None else Index(learner.traits.named)
        state = learner.init(index, InputShape()) if state is None and learner.traits.has_tasks else state

        def refuse(tasks: Sequence[Hashable]) -> None:
            learner.refuse(state, index.new_among(tasks))

        made: list[Callable[[Sequence[Hashable]], Any]] = [spec.check_labels, refuse]
        if self.state is not None and self.new_task == "raise":
            known = set(self.labels)

            def seen(tasks: Sequence[Hashable]) -> None:
                for task in tasks:
                    if task not in known:
                        raise ValueError(f"task {task!r} was never seen, and the model refuses new tasks")

            made.append(seen)
        return made

    def refuse_unseen(self, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that were never seen, if the parameters say so."""
        if self.new_task == "raise":
            unseen = self.tasks.new_among(tasks)
            if unseen:
                raise ValueError(f"task {unseen[0]!r} was never seen and new_task is 'raise'")

    def _refuse(self, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks to be learned of which one cannot be had: ValueError."""
        self.refuse_unseen(tasks)
        new = self.tasks.new_among(tasks)
        if len(new):
            self.learner.refuse(self.state, new)

    def require_savable(self, tasks: Sequence[Hashable]) -> None:
        """Refuse new tasks that no file could give back."""
        if not isinstance(tasks, WholeNumbers):  # which are whole numbers
            known = () if self.state is None else self.tasks.numbers
            spec.check_labels(task for task in tasks if task not in known)

    def number_of(self, task: Hashable) -> int:
        """The number of a known task: ValueError for another one."""
        number = self.tasks.numbers.get(task) if self.state is not None else None
        if number is None:
            raise ValueError(f"task {task!r} was never seen: the model knows {len(self)} tasks, see tasks_")
        return number

    # -- room ---------------------------------------------------------------------------------------------------------

    def begin(
        self,
        size: InputShape,
        tasks: Sequence[Hashable] = (),
        length: int | None = None,
        coming: Sequence[Hashable] = (),
    ) -> None:
        """Make the state before the first round, of the tasks known from the start; those ``coming`` are checked only.

        Nothing is changed where one is refused.
        """
        index, learner = Index(self.learner.traits.named or tasks), self.learner
        state = learner.init(index, size, length)
        if learner.traits.has_tasks:
            learner.refuse(state, index.new_among([*tasks, *coming] if len(tasks) else coming))
        self.tasks, self.state = index if learner.traits.has_tasks else Index([0]), state

    def forget_all(self) -> None:
        """Be as before the first round."""
        self.tasks, self.state, self._single = Index(), None, None
        self.recency = None if self.max_tasks is None else Recency([])

    def register(self, new: Sequence[Hashable], size: InputShape, counted: bool = True) -> None:
        """Make room for new tasks, known from now on, and for records so wide."""
        known = len(self.tasks)
        if len(new):
            self.tasks.add(new)
        try:
            self.learner.resize(self.state, len(self.tasks), size, counted)
        except BaseException:  # for want of memory: a task without a row must not be known
            self.tasks.drop(Dropped.plan(range(known, len(self.tasks)), len(self.tasks)))
            raise

    def number(self, distinct: Sequence[Hashable], places: Codes) -> Numbered:
        """The number of each record's task, given the distinct ones and their places; nothing is changed or refused."""
        numbers = self.tasks.find(distinct)
        fresh = np.flatnonzero(numbers < 0)
        if not len(fresh):
            return Numbered(numbers[places], ())
        numbers[fresh] = len(self.tasks) + np.arange(len(fresh))
        return Numbered(numbers[places], distinct if len(fresh) == len(distinct) else self.tasks.new_among(distinct))

    def validate_and_register(
        self, tasks: Sequence[Hashable], size: InputShape, coming: Sequence[Hashable] = ()
    ) -> None:
        """Make room for these tasks and for records so wide; tasks ``coming`` are checked only: ValueError."""
        every = [*tasks, *coming] if len(tasks) else coming
        self.require_savable(every)
        self._refuse(every)
        new = self.tasks.new_among(tasks) if len(tasks) else ()
        if len(new) or not self.has_room(size):
            self.register(new, size)

    def has_room(self, size: InputShape) -> bool:
        """True if the state has room for records so wide."""
        return bool(size.features <= self.state.features) and (not size.widths or size.widths == self.state.widths)

    # -- rounds -------------------------------------------------------------------------------------------------------

    def predict(self, run: Batch) -> Predictions:
        """Predict records; nothing is written."""
        return self.learner.predict(self.state, run)

    def run_of(self, rows: Any, tasks: NDArray[Any]) -> Batch:
        """Records to predict, with the numbers of their tasks: ValueError for one that is refused."""
        codes, unseen = self.codes(tasks)
        if unseen:
            check_no_collisions(list(dict.fromkeys(unseen)), self.tasks.numbers)
        return Batch(rows, codes, unseen)

    def codes(self, tasks: NDArray[Any]) -> tuple[Codes, list[Hashable]]:
        """The number of each record's task, -1 for one that was never seen, and the labels of these in order."""
        distinct, places = occurring(tasks)
        self.refuse_unseen(distinct)
        codes = self.tasks.find(distinct)[places]
        return codes, [distinct[place] for place in places[codes < 0]]

    def learn(self, run: Batch, y: Any, new: Sequence[Hashable] = ()) -> UpdateResult:
        """Let the learner predict and learn a run, which is cut where a new task or feature changes what others have.

        Parameters
        ----------
        run, y
            As :meth:`coterie.round.contract.Learner.learn` takes them.
        new : sequence of labels
            The tasks that were not known, in the order of their first records; see :meth:`number`.
        """
        self._release()
        traits, learn = self.learner.traits, partial(self.learner.learn, self.state)
        asked_singly = run.query_strategy is not QUERY_ALL and not traits.asks
        if asked_singly:
            learn = partial(one_by_one, self.learner, self.state)
        cuts = len(new) > 0 and (traits.task_changes_all or asked_singly)
        if not (cuts or traits.feature_changes_all):
            if len(new):
                self.register(new, InputShape(self.state.features), counted=False)
            return learn(run, y)
        widths = widths_of(run.rows) if traits.feature_changes_all else None
        known, delay = len(self.tasks), len(run.tasks) - len(y)
        coming = arrivals(run.tasks, known, delay, widths, self.state.features)
        rest = iter(coming)

        def meet_next() -> None:
            arrival = next(rest, None)
            if arrival is not None:
                self.register(new[len(self.tasks) - known : arrival.tasks - known], InputShape(arrival.width))

        def learn_next(piece: Batch, labels: Any) -> UpdateResult:
            done = learn(piece, labels)
            meet_next()
            return done

        if coming and coming[0].round == 0:
            meet_next()
        return in_pieces(run, y, [*(each.round for each in coming if each.round > 0), len(y)], learn_next)

    def learn_bounded(self, run: Batch, y: Any, tasks: NDArray[Any], size: InputShape) -> UpdateResult:
        """As :meth:`learn` under ``max_tasks``, each task being known from its first record on."""
        assert self.recency is not None  # noqa: S101 - there is a limit
        distinct, places = occurring(tasks)
        most = int(self.max_tasks or 0)
        together = max(most // 4, 1) if self.learner.traits.tasks_independent else 1
        turnover = Turnover(self.tasks.find(distinct), places, self.recency, most, together)
        made = []
        for piece in turnover.pieces(len(self.tasks)):
            self._turn_over([distinct[place] for place in piece.coming], piece.leaving, size)
            codes = turnover.numbers[places[piece.first : piece.last]]
            some = run.cut(piece.first, piece.last)._replace(tasks=codes)
            made.append(self.learn(some, y[piece.first : piece.last]))
            self.recency.see(codes)
        return made[0] if len(made) == 1 else joined(made)

    def _turn_over(self, coming: Sequence[Hashable], leaving: Sequence[int], size: InputShape) -> None:
        """Let tasks come, the last of which take the numbers of those that leave."""
        if len(coming) or not self.has_room(size):
            self.register(coming, size)
            if self.recency is not None:
                self.recency.join(len(coming))
        if len(leaving):
            self.drop(leaving)

    def evict_for(self, task: Hashable, size: InputShape) -> None:
        """Make room for a record under ``max_tasks``; where there are as many as there may be, another task leaves."""
        assert self.recency is not None  # noqa: S101 - there is a limit
        known = task in self.tasks.numbers
        full = len(self.tasks) >= int(self.max_tasks or 0)
        leaving = [self.recency.oldest()] if full and not known else []
        self._turn_over([] if known else [task], leaving, size)

    def admit_bounded(self, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks of which one cannot be had, and forget those beyond so many as there may be."""
        self.require_savable(tasks)
        self._refuse(tasks)
        excess = len(self.tasks) - int(self.max_tasks or 0)
        if self.recency is not None and excess > 0:
            self.drop(self.recency.order[:excess].tolist())

    def skip(self, rounds: int) -> None:
        """End rounds that have no labels: clocks advance, nothing else changes."""
        self._release()
        self.learner.skip(self.state, rounds)

    # -- forgetting ---------------------------------------------------------------------------------------------------

    def forget(self, tasks: Sequence[Hashable]) -> None:
        """Forget tasks and their own weights: ValueError, and nothing changed, for one not known or that cannot be."""
        why = self.learner.traits.cannot_drop
        if why and not self.learner.traits.has_tasks:
            raise ValueError(why)
        numbers = [self.number_of(task) for task in dict.fromkeys(tasks)]
        if why:
            raise ValueError(why)
        self.drop(numbers)

    def drop(self, numbers: Sequence[int]) -> None:
        """Drop the tasks with these numbers; the last ones take their numbers."""
        self._release()
        fixed = self.learner.traits.fixed
        dropped = Dropped.plan(numbers, len(self.tasks), fixed)
        labels = [self.tasks.sequence[i] for i in dropped.rows.tolist()]
        if not fixed:
            self.tasks.drop(dropped)
        self.learner.drop(self.state, dropped, labels)
        if self.recency is not None:
            self.recency.drop(dropped)

    # -- other learners and files -------------------------------------------------------------------------------------

    def dump(self) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, arrays = self.learner.dump(self.state)
        return data, arrays if self.recency is None else arrays | {RECENCY: self.recency.order}

    def restore(self, data: dict[str, Any], arrays: Arrays, index: Index) -> None:
        """Undo :meth:`dump`; of records of several views the index numbers the names of these.

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
        self.tasks, self.state, self.recency, self._single = index, state, recency, None

    def hold(self) -> Callable[[], None]:
        """A function that takes back what was learned since, and the tasks that came, where records may be refused."""
        known, learned = len(self), nothing if self.state is None else self.learner.hold(self.state)
        if learned is nothing:
            return nothing

        def take_back() -> None:
            self._release()
            learned()
            came = range(known, len(self.tasks))
            if len(came):
                self.tasks.drop(Dropped.plan(came, len(self.tasks)))

        return take_back
