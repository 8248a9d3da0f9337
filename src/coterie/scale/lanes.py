"""Lanes: places where parts of a model learn side by side, each by itself, on threads or on other machines.

Members of a mixture do not depend on each other, nor do independent tasks. So each may learn in a lane of its own: its
results depend on the records that it is given and on nothing else, whenever and wherever it learns. The lanes' margins
are then mixed as usual, and the bits are those of one process.
"""

from __future__ import annotations

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from coterie import spec
from coterie.index import Index
from coterie.numeric.core.records import Rows
from coterie.round.contract import BaseLearner, Learned, Run, Size, Told

Codes = NDArray[np.int64]
T = TypeVar("T")


class LaneWork:
    """The work of a lane: a learner with its state, and the tasks that it numbers.

    Parameters
    ----------
    learner : BaseLearner
        Learns.
    size, length
        As for :meth:`coterie.round.contract.Learner.init`.
    """

    def __init__(self, learner: BaseLearner, size: Size, length: int | None) -> None:
        self.learner, self.tasks = learner, Index(learner.traits.named)
        self.state = learner.init(self.tasks, size, length)
        self.seconds = 0.0

    def do(self, name: str, *given: Any) -> Any:
        """Call one of the methods below, and count the CPU seconds that it takes."""
        before = time.thread_time()
        try:
            return getattr(self, name)(*given)
        finally:
            self.seconds += time.thread_time() - before

    def grow(self, tasks: Sequence[Hashable], size: Size, counted: bool) -> None:
        """Make room for new tasks and for records so wide."""
        self.tasks.add(tasks)
        self.learner.grow(self.state, len(self.tasks), size, counted)

    def learn(self, rows: Rows, places: Codes | None, codes: Codes, y: NDArray[Any], told: Told | None) -> Learned:
        """Predict and learn the records at some places, or all."""
        mine = rows if places is None else rows.take(places)
        return self.learner.learn(self.state, Run(mine, codes, (), told), y)

    def predict(self, rows: Rows, places: Codes | None, codes: Codes, unseen: Sequence[Hashable]) -> Told:
        """Predict the records at some places, or all."""
        mine = rows if places is None else rows.take(places)
        return self.learner.predict(self.state, Run(mine, codes, unseen))

    def skip(self, rounds: int) -> None:
        """End rounds that have no labels."""
        self.learner.skip(self.state, rounds)

    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return int(self.state.nbytes)

    def spent(self) -> float:
        """CPU seconds so far."""
        return self.seconds

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]], list[Hashable]]:
        """The state as data, arrays and the labels of its tasks."""
        return *self.learner.dump(self.state), list(self.tasks.labels)

    def restore(self, data: dict[str, Any], arrays: dict[str, NDArray[Any]], labels: Sequence[Hashable]) -> None:
        """Undo :meth:`saved`."""
        self.tasks = Index(labels)
        self.state = self.learner.restore(data, arrays, self.tasks)


class Lane(Protocol):
    """A place where one :class:`LaneWork` is done, one call after the other."""

    name: str

    def start(self, method: str, *given: Any) -> Future[Any]:
        """Begin a call of :meth:`LaneWork.do`."""

    def state(self) -> Any:
        """The state as it is now, here; not to be changed."""

    def take(self, state: Any, tasks: Index) -> None:
        """Go on with a state, whose tasks this index numbers."""

    def copy(self) -> Lane:
        """Another lane with the same state."""

    def close(self) -> None:
        """Accept no more calls, and forget the state."""


def parts_for(workers: int) -> int:
    """How many parts tasks are cut into for so many workers."""
    return 1 if workers == 1 else 2 * workers


class LaneEngine(ABC):
    """Makes lanes and runs them; a context manager, at whose end all lanes are closed.

    Attributes
    ----------
    workers : int
        How many lanes work at a time.
    parts : int
        How many parts tasks are cut into: two for each worker, so that workers end together, and what a part has
        learned stays in the processor's cache while a block of its records is learned.
    lanes : list of Lane
        Those made so far.
    """

    def __init__(self, workers: int) -> None:
        spec.check_count("workers", workers)
        self.workers, self.parts = int(workers), parts_for(int(workers))
        self.lanes: list[Any] = []
        self._ended: dict[str, float] = {}

    def __enter__(self) -> LaneEngine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def lane(self, name: str, learner: BaseLearner, size: Size, length: int | None) -> Lane:
        """A new lane with a state before the first round."""
        return self.add(self._lane(name, learner, size, length))

    def add(self, lane: Lane) -> Lane:
        """Make one more lane."""
        self.lanes.append(lane)
        return lane

    @abstractmethod
    def _lane(self, name: str, learner: BaseLearner, size: Size, length: int | None) -> Lane:
        """Make a lane."""

    @abstractmethod
    def close(self) -> None:
        """End all lanes."""

    def end(self, first: int) -> None:
        """End the lanes from the first of these on, whose model is whole again; their seconds are kept."""
        for lane in self.lanes[first:]:
            with suppress(Exception):  # the seconds of a lost lane are not known
                self._ended[lane.name] = self._ended.get(lane.name, 0.0) + float(lane.start("spent").result())
            lane.close()
        del self.lanes[first:]

    def seconds(self) -> dict[str, float]:
        """CPU seconds of all lanes so far, by name."""
        found = dict(self._ended)
        for lane in self.lanes:
            found[lane.name] = found.get(lane.name, 0.0) + float(lane.start("spent").result())
        return found


def at_once(jobs: Sequence[Callable[[], T]], most: int | None = None) -> list[T]:
    """Call functions concurrently, ``most`` at a time or all, and return their results in order."""
    if len(jobs) < 2 or most == 1:
        return [job() for job in jobs]
    with ThreadPoolExecutor(most or len(jobs)) as threads:
        return [each.result() for each in [threads.submit(job) for job in jobs]]


class Threads(LaneEngine):
    """Lanes on threads of this process: nothing is copied, for compiled code holds no interpreter lock.

    Parameters
    ----------
    workers : int
        The number of threads.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.pool = ThreadPoolExecutor(self.workers, "lane")

    def _lane(self, name: str, learner: BaseLearner, size: Size, length: int | None) -> Lane:
        return ThreadLane(name, LaneWork(learner, size, length), self)

    def close(self) -> None:
        """End the threads."""
        self.pool.shutdown(cancel_futures=True)


class ThreadLane:
    """A lane of this process; see :class:`Lane`."""

    def __init__(self, name: str, work: LaneWork, engine: Threads) -> None:
        self.name, self._work, self._engine = name, work, engine

    def start(self, method: str, *given: Any) -> Future[Any]:
        """Begin a call of :meth:`LaneWork.do`."""
        return self._engine.pool.submit(self._work.do, method, *given)

    def state(self) -> Any:
        """The state as it is now."""
        return self._work.state

    def take(self, state: Any, tasks: Index) -> None:
        """Go on with a state, whose tasks this index numbers."""
        self._work.state, self._work.tasks = state, tasks

    def copy(self) -> Lane:
        """Another lane with the same state."""
        return self._engine.add(ThreadLane(self.name, copy.deepcopy(self._work), self._engine))

    def close(self) -> None:
        """Forget the state."""
        self._work.state = None
