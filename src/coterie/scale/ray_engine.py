"""Lanes on Ray: on this machine or a cluster, each an actor that is begun anew where it is lost."""

from __future__ import annotations

import contextlib
import io
import pickle
import re
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from coterie.index import Index
from coterie.round.contract import BaseLearner, Size

from .lanes import Lane, LaneEngine, LaneWork

#: The calls that change a lane, which one that is begun anew has to do again.
_CHANGING = frozenset({"grow", "learn", "skip", "restore"})
#: After so many calls, or so many bytes of records, a lane is saved, so that there is never more to do again.
MOST_CALLS, MOST_BYTES = 256, 2**28
#: A call that so many actors were lost in is given up.
TRIES = 5
#: A cluster answers within so many seconds.
ANSWER = 10.0


class LostLaneError(RuntimeError):
    """A lane was lost again and again."""


class Ray(LaneEngine):
    """Lanes that are actors of Ray.

    A lane that is lost is begun anew: from what was last saved of it on this machine's disk it does again what it has
    done since, and comes to the same bits.

    Parameters
    ----------
    workers : int
        The number of parts that tasks are cut into.
    address : str
        ``"local"`` starts Ray on this machine, and stops it in the end; otherwise a cluster's address, which is left
        running.

    Raises
    ------
    ModuleNotFoundError
        If Ray is not installed.
    ConnectionError
        If there is no cluster at the address.
    """

    def __init__(self, workers: int, address: str = "local") -> None:
        super().__init__(workers)
        try:
            import ray
        except ModuleNotFoundError:
            raise ModuleNotFoundError("workers at an address need Ray: pip install 'coterie[scale]'") from None
        self.ray, self._began = ray, not ray.is_initialized()
        if self._began:
            _connect(ray, self.workers, address)
        self._workers = [Worker(ray) for _ in range(self.workers)]
        self._place = tempfile.TemporaryDirectory(prefix="coterie-lanes-")
        self._shared: tuple[Any, Any] = None, None
        self._lock, self._numbers = threading.Lock(), count()

    def _lane(self, name: str, learner: BaseLearner, size: Size, length: int | None) -> Lane:
        n = next(self._numbers)  # on the worker whose turn it is, with a file to which it is saved
        worker, place = self._workers[n % self.workers], Path(self._place.name) / f"{n}"
        return RayLane(n, name, learner, (size, length), self, worker, place)

    @property
    def lost(self) -> int:
        """How many workers were lost."""
        return sum(worker.lost for worker in self._workers)

    @property
    def actors(self) -> list[Any]:
        """The workers' actors of now."""
        return [worker.actor for worker in self._workers]

    def shared(self, rows: Any) -> Any:
        """Put records where all lanes find them, once."""
        with self._lock:
            if self._shared[0] is not rows:
                self._shared = rows, self.ray.put(_trimmed(rows))
            return self._shared[1]

    def close(self) -> None:
        """End the lanes, and Ray if it was started here."""
        self._shared = None, None
        for lane in self.lanes:
            lane.close()
        for worker in self._workers:
            worker.close()
        if self._began:
            self.ray.shutdown()
        self._place.cleanup()


class Worker:
    """An actor in which lanes are, and others in its place where it is lost.

    Attributes
    ----------
    actor : handle
        The actor of now.
    lost : int
        How many actors were lost.
    """

    def __init__(self, ray: Any) -> None:
        self._ray, self._lock, self.lost = ray, threading.Lock(), 0
        self.actor = self._begun()

    def _begun(self) -> Any:
        # no CPUs are asked for, so that workers start also where a cluster's are taken, or are fewer
        options = {"num_cpus": 0, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        return self._ray.remote(_Actor).options(**options).remote()

    def now(self) -> tuple[Any, int]:
        """The actor, and how many were lost before it."""
        with self._lock:
            return self.actor, self.lost

    def renew(self, lost: int) -> None:
        """Begin another actor, unless that was done since this many were lost."""
        with self._lock:
            if lost == self.lost:
                self.close()  # one that is only out of reach must not go on beside the new one
                self.lost += 1
                self.actor = self._begun()

    def close(self) -> None:
        """End the actor."""
        with contextlib.suppress(Exception):
            self._ray.kill(self.actor)


class RayLane:
    """A lane in an actor; see :class:`coterie.scale.lanes.Lane`."""

    def __init__(
        self,
        number: int,
        name: str,
        learner: BaseLearner,
        shape: tuple[Size, int | None],
        engine: Ray,
        worker: Worker,
        place: Path,
    ) -> None:
        self.name, self.worker = name, worker
        self._number, self._learner, self._shape = number, learner, shape
        self._engine, self._place = engine, place
        self._calls = ThreadPoolExecutor(1, f"lane {name}")  # one after the other, whoever calls
        self._saved, self._begun_in = False, -1
        self._since: list[tuple[str, tuple[Any, ...]]] = []
        self._bytes = 0

    def start(self, method: str, *given: Any) -> Future[Any]:
        """Begin a call of :meth:`coterie.scale.lanes.LaneWork.do`."""
        return self._calls.submit(self._do, method, given)

    def _do(self, method: str, given: tuple[Any, ...]) -> Any:
        losses = _losses(self._engine.ray)
        for _ in range(TRIES):
            actor, lost = self.worker.now()
            try:
                if self._begun_in != lost:
                    self._begin(actor)
                    self._begun_in = lost
                made = self._once(actor, method, given)
            except losses:
                self.worker.renew(lost)
                continue
            if method in _CHANGING:
                self._since.append((method, given))
                self._bytes += sum(map(_nbytes, given))
                # an actor that is lost meanwhile is found out by the next call: this one is done
                with contextlib.suppress(*losses):
                    self._save_if_due(actor, method)
            return made
        raise LostLaneError(
            f"the worker of {self.name!r} was lost {TRIES} times in one call: is there memory enough where it runs?"
        )

    def _once(self, actor: Any, method: str, given: tuple[Any, ...]) -> Any:
        """Call an actor once, with the records at the places asked for, or a shared copy of all of them."""
        if method in ("learn", "predict"):
            rows, places, *others = given
            given = (self._engine.shared(rows) if places is None else rows.take(places), None, *others)
        made, error = self._engine.ray.get(actor.do.remote(self._number, method, *given))
        if error is not None:  # one of ours, which Ray would wrap
            raise error
        return made

    def _save_if_due(self, actor: Any, method: str) -> None:
        """Save the lane where there is too much to do again."""
        if len(self._since) < MOST_CALLS and self._bytes < MOST_BYTES and method != "restore":
            return
        saved = self._once(actor, "saved", ())
        before = self._place.with_suffix(".new")
        with before.open("wb") as file:
            pickle.dump(saved, file, protocol=5)
        before.replace(self._place)
        self._saved, self._since, self._bytes = True, [], 0

    def _begin(self, actor: Any) -> None:
        """Begin this lane in an actor: restore the state last saved, and repeat the calls since."""
        self._once(actor, "begin", (pickle.dumps(self._learner), *self._shape))
        if self._saved:
            with self._place.open("rb") as file:
                self._once(actor, "restore", pickle.load(file))  # noqa: S301 - written above
        for method, given in self._since:
            self._once(actor, method, given)

    def state(self) -> Any:
        """The state as it is now, brought here."""
        return self._brought()[0]

    def _brought(self) -> tuple[Any, Index]:
        """The state as it is now, and the index of its tasks."""
        data, arrays, labels = self.start("saved").result()
        index = Index(labels)
        return self._learner.restore(data, _own(arrays), index), index

    def take(self, state: Any, tasks: Index) -> None:
        """Go on with a state, whose tasks this index numbers."""
        self.start("restore", *self._learner.dump(state), list(tasks.labels)).result()

    def copy(self) -> Lane:
        """Another lane with the same state."""
        lane = self._engine.lane(self.name, self._learner, *self._shape)
        lane.take(*self._brought())
        return lane

    def close(self) -> None:
        """Take no calls any more, and have the actor forget the state."""
        self._calls.shutdown(cancel_futures=True)
        self._place.unlink(missing_ok=True)
        with contextlib.suppress(Exception):
            self.worker.actor.do.remote(self._number, "end")


class _Actor:
    """The :class:`LaneWork` of some lanes in a process of its own; errors of a learner are returned as they are."""

    def __init__(self) -> None:
        self._works: dict[int, LaneWork] = {}

    def do(self, lane: int, method: str, *given: Any) -> tuple[Any, Exception | None]:
        """The result of :meth:`LaneWork.do`, or its error; ``"begin"`` and ``"end"`` are of the lane itself."""
        try:
            if method == "begin":
                learner, *shape = given
                self._works[lane] = LaneWork(pickle.loads(learner), *shape)  # noqa: S301 - the driver's
                return None, None
            if method == "end":
                self._works.pop(lane, None)
                return None, None
            return self._works[lane].do(method, *map(_own, given)), None
        except Exception as error:
            return None, error


def _losses(ray: Any) -> tuple[type[Exception], ...]:
    """The errors of Ray's by which a worker, or what it gave back, is lost."""
    names = ("RayActorError", "ActorUnavailableError", "NodeDiedError", "ObjectLostError", "OutOfMemoryError")
    return tuple(getattr(ray.exceptions, name) for name in names)


def _own(given: Any) -> Any:
    """Arguments with their arrays copied: Ray's are read-only, and code is compiled for writeable ones."""
    if isinstance(given, np.ndarray):
        return given.copy()
    if isinstance(given, dict):
        return {name: _own(each) for name, each in given.items()}
    if isinstance(given, tuple) and hasattr(given, "_fields"):
        return type(given)(*map(_own, given))
    return given


def _trimmed(rows: Any) -> Any:
    """Sparse records as arrays of their own entries, without those of the records around them."""
    return rows.take(np.arange(rows.n_records)) if hasattr(rows, "starts") else rows


def _nbytes(given: Any) -> int:
    if isinstance(given, tuple):
        return sum(map(_nbytes, given))
    return int(getattr(given, "nbytes", 0))


def _connect(ray: Any, workers: int, address: str) -> None:
    """Start Ray, or connect to it, without its log output and without its handlers of signals."""
    found = re.fullmatch(r"(?:ray://)?([^:/]+):(\d+)", address)
    if found is not None:  # Ray itself would try for minutes
        try:
            socket.create_connection((found[1], int(found[2])), ANSWER).close()
        except OSError as error:
            raise ConnectionError(f"nothing answers at {address}: {error}") from None
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == "local":
        quiet |= {"num_cpus": workers, "include_dashboard": False}
    with _signals_kept(), contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        ray.init(address=address, **quiet)


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    held = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in held.items():
                signal.signal(number, handler)
