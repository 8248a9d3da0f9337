"""A service: a folder with journal and snapshots, and the thread that writes and learns.

======================== ===========================================================================================
``lock``                 held by the process that writes
``journal-<offset>``     frames from that offset on
``flushed``              the offset up to which they are on the disk, compared at each start
``snapshot-<offset>…``   the engine at that offset; the last two are kept
======================== ===========================================================================================

An acknowledged request is on the disk: the requests that wait are written as one frame, learned and flushed, and then
answered. After a crash the newest snapshot is loaded, and the frames behind it are learned again, each as before, so
that bits are the same. A journal that ends before the flushed offset is damaged, and the service refuses to start.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Self

import msgspec

from coterie import persistence

from . import bandit_engine  # noqa: F401 - folders hold its engines, too
from .engine import Engine
from .events import (
    Choices,
    Event,
    Kind,
    Observed,
    Outcome,
    Prediction,
    Record,
    Rewarded,
    Scalar,
    decode_frame,
    encode_events,
    encode_frame,
    require_labels,
)
from .journal import FLUSHED, LONGEST, PRIVATE, SEGMENT, DamageError, Journal, cut_at_damage, firsts_in, has_frames
from .live_comparison import Limits
from .service_errors import BusyError, ClosedError, LostFolderError, RefusedError

#: The maximum number of records of a frame, unless one request has more.
GROUP = 4096
#: The number of bytes after which a frame is complete, and the most of one request, which the journal takes together.
GROUP_BYTES, REQUEST_BYTES = 2**26, LONGEST - 2**27
SNAPSHOT, SUFFIX = "snapshot-", ".coterie"
OURS = re.compile(rf"{SNAPSHOT}[0-9]{{20}}\{SUFFIX}")
#: The number of snapshots to keep, so that a damaged one is not the only one.
KEPT = 2
#: Seconds after a task was forgotten in which a snapshot is begun that replaces all files with its records.
PURGE = 300.0
#: Seconds that the machine's clock may be behind the last event at a start without time being reset.
BEHIND = 60.0


#: Receives the outcome of a request, or its error, from the thread that writes.
ResultCallback = Callable[[Outcome | BaseException], object]


class _Request(NamedTuple):
    event: Event
    answer: ResultCallback
    records: msgspec.Raw


class SnapshotCost(NamedTuple):
    """The size and the duration of a snapshot, and the seconds in which it blocked learning."""

    size: int = 0
    seconds: float = 0.0
    blocked: float = 0.0


class Service:
    """A model in a folder: it predicts, learns from labels, and continues after a crash without loss.

    Parameters
    ----------
    folder : str or Path
        The folder; created if it does not exist.
    make : callable
        Makes the engine of a new folder.
    waiting : int
        The maximum number of records that wait to be written.
    every_records, every_seconds : int or float, optional
        A snapshot is written after this many records or this many seconds (if there was a record since).
    segment : int
        The maximum number of bytes of a journal file.
    limits : Limits, optional
        The limits of alarms.
    accept_loss : bool
        If acknowledged frames are missing or damaged, continue with the readable frames and delete the others.
    check : callable, optional
        Called with the engine before anything is written; its error stops the start.

    Attributes
    ----------
    engine : Engine
        The model and the waiting records.
    journal : Journal
        The acknowledged events.
    reset : float
        The seconds by which the last event was ahead of the machine's clock at the start; time was set back by them.
    replayed : int
        Frames that were learned again when the folder was opened.
    new : bool
        True if this start created the folder's service.
    accepted : str or None
        The loss that was accepted when the folder was opened.
    lacks_journal : bool
        True if there was a snapshot and no journal, as in a folder that was created with a copied snapshot. Records
        acknowledged after that snapshot are lost.
    snapshot_offset : int
        The offset of the last snapshot, -1 if there is none.
    snapshot_error : str or None
        The error of the last snapshot.
    snapshot_cost : SnapshotCost or None
        The cost of the last snapshot; None before the first one since the start.
    failure : BaseException or None
        The error after which the service rejects all events, because the state of the disk is unknown after an error of
        writing.
    clock : callable
        The time in seconds since 1970: the machine's clock at the start plus monotonic time, because a step of the
        clock would expire waiting records.
    on_failure, on_commit : callable
        Called by the thread that writes: with the error of a failure, and after every frame with its seconds and number
        of records.

    Raises
    ------
    ValueError
        If another process has locked the folder, or a file in it is damaged or missing; the message has its name and
        the way to continue.
    OSError
        If the folder cannot be read or written.

    Examples
    --------
    >>> import tempfile
    >>> import coterie as ct
    >>> folder = tempfile.mkdtemp()
    >>> with Service(folder, lambda: Engine(ct.MultitaskLogistic())) as service:
    ...     _ = service.predict([Record(id="e1", task="ann", x={"price": 2.0})])
    ...     service.observe([Record(id="e1", y=True)]).learned
    1
    >>> with Service(folder, lambda: Engine(ct.MultitaskLogistic())) as service:
    ...     service.observe([Record(id="e1", y=True)]).duplicate
    1
    """

    snapshot_error: str | None = None
    snapshot_cost: SnapshotCost | None = None
    labels: Sequence[Scalar] | None = None
    accepted: str | None = None
    lacks_journal = False
    failure: BaseException | None = None
    reset = 0.0
    #: The advice for a folder with missing data, and for a continuation without these.
    elsewhere = "put back a backup"
    remedy = f"{elsewhere}; or go on with what can be read by --accept-loss, which deletes the rest"

    def __init__(
        self,
        folder: str | os.PathLike[str],
        make: Callable[[], Engine],
        *,
        waiting: int = 20_000,
        every_records: int | None = None,
        every_seconds: float | None = 300.0,
        segment: int = SEGMENT,
        limits: Limits | None = None,
        accept_loss: bool = False,
        check: Callable[[Engine], object] = lambda engine: None,
    ) -> None:
        persistence.require_local(folder)
        self.folder, self.limits = Path(folder), limits or Limits()
        self._lock_path = self.folder / persistence.LOCK
        self._open(make, segment, accept_loss, check)
        self._most = waiting
        self.clock = _steady_clock()
        self.on_failure: Callable[[BaseException], object] = lambda error: None
        self.on_commit: Callable[[float, int], object] = lambda seconds, records: None
        self._queue: SimpleQueue[_Request | None] = SimpleQueue()  # None: look again for what else is to be done
        self._snapshots = ThreadPoolExecutor(1, "coterie-snapshot")
        self.depth, self._depth_lock = 0, threading.Lock()
        self._every_records, self._every_seconds = every_records, every_seconds
        self._wanted: Future[int] | None = None
        self._saving: Future[int] | None = None
        self._saved_at, self._since = time.monotonic(), 0
        self._closed = False
        self._writer = threading.Thread(target=self._write, name="coterie-writer", daemon=True)
        self._purge_from = -math.inf  # a purge that an earlier process has promised is due
        self._writer.start()
        ahead = self.engine.at - self.clock()
        if ahead > BEHIND:  # else nothing would expire for so long
            result: Future[Outcome] = Future()
            self._submit(Event("reset", self.clock(), []), msgspec.Raw(encode_frame([])), partial(resolve, result))
            result.result()
            self.reset = ahead

    # -- opening

    def _open(
        self, make: Callable[[], Engine], segment: int, accept_loss: bool, check: Callable[[Engine], object]
    ) -> None:
        """Lock and read the folder, and start the writer thread; on an error the folder is unchanged."""
        with ExitStack() as refused, ExitStack() as failed:
            if not self.folder.exists():
                refused.callback(self._remove_folder)
            new_lock = not self._lock_path.exists()
            with suppress(FileExistsError):  # no other user may read the records
                self.folder.mkdir(mode=0o700, parents=True)
            self._lock = persistence.hold_folder(self.folder)
            failed.callback(self._lock.close)
            if new_lock:
                refused.callback(self._lock_path.unlink)
            self._lock_stat = os.fstat(self._lock.fileno())
            try:
                self._read(make, segment)
            except DamageError as error:
                if not accept_loss:
                    raise ValueError(f"{error}; {self.remedy}") from None
                self.accepted = str(error)
                cut_at_damage(self.folder, self._oldest_needed())
                self._read(make, segment)
            check(self.engine)
            refused.pop_all()
            for part in self.folder.glob(f".{SNAPSHOT}*"):  # of snapshots during which a process was killed
                part.unlink()
            forgotten = self.engine.forgotten  # older files hold records of forgotten tasks
            offsets = [self.journal.first, *map(offset_of, self.snapshots())]
            self._purged = -1 if min(offsets) < forgotten else forgotten
            self.new = self.snapshot_offset < 0
            failed.callback(self.journal.close)
            self.journal.begin()
            if self.new:  # the initial state is part of what is replayed
                self._save(self.engine.offset)
            failed.pop_all()

    def _remove_folder(self) -> None:
        with suppress(OSError):
            self.folder.rmdir()

    def _read(self, make: Callable[[], Engine], segment: int) -> None:
        """Read the folder, or create a model for a new folder; nothing is written."""
        snapshots = self.snapshots()
        self.lacks_journal = bool(snapshots) and not (firsts_in(self.folder) or (self.folder / FLUSHED).exists())
        if has_frames(self.folder):
            if not snapshots and self.accepted is None:
                raise DamageError(f"{self.folder} has a journal but no first snapshot, so that its model is unknown")
            if not (self.folder / FLUSHED).exists():
                reason = "it says how far the journal was on the disk, and so whether frames are missing"
                raise DamageError(f"{self.folder / FLUSHED} is missing: {reason}")
        self.journal = Journal(self.folder, segment, self._oldest_needed())
        if snapshots:
            self.engine = self._load(snapshots)
            self.snapshot_offset = self.engine.offset
        else:
            self.engine, self.snapshot_offset = make(), -1
            self.engine.offset = self.journal.first
        if self.engine.offset > self.journal.end:
            ends = f"its journal ends at {self.journal.end}"
            raise DamageError(f"{self.folder} has a snapshot at offset {self.engine.offset}, and {ends}")
        self.replayed = 0
        for frame in self.journal.read(self.engine.offset):
            self.engine.apply_frame(decode_frame(frame.payload), frame.end)
            self.replayed += 1

    def _oldest_needed(self) -> int:
        """Return the offset of the newest snapshot; without one, the start of the journal."""
        snapshots = self.snapshots()
        return offset_of(snapshots[-1]) if snapshots else min(firsts_in(self.folder), default=0)

    def snapshots(self) -> list[Path]:
        """Return the snapshot files, oldest first."""
        return snapshots_in(self.folder)

    def _load(self, snapshots: Sequence[Path]) -> Engine:
        """Load the newest snapshot."""
        try:
            engine = persistence.load(snapshots[-1])
        except ValueError as error:
            if len(snapshots) == 1:
                raise ValueError(f"{error}; there is no other snapshot: {self.elsewhere}") from None
            raise ValueError(f"{error}; an older snapshot exists; move this one away and start again") from None
        if not isinstance(engine, Engine):
            raise ValueError(f"{snapshots[-1]} holds a {type(engine).__name__}; expected the snapshot of a service")
        return engine

    # -- requests

    def predict(self, records: Sequence[Record]) -> list[Prediction]:
        """Predict records; those with an id are written to the journal and wait for their labels.

        Raises
        ------
        RefusedError
            For a record that the model cannot take; nothing waits then.
        BusyError, ClosedError
            As :meth:`submit`.
        """
        event = Event("predicted", self.clock(), list(records))
        encoded = self.engine.prepare(event)
        predictions = self.engine.predict(records)
        event.records = [record for record in records if record.id is not None]
        if event.records:
            all_wait = len(event.records) == len(records)
            self._submit(event, encoded if all_wait else msgspec.Raw(encode_frame(event.records)), lambda outcome: None)
        return predictions

    def observe(self, records: Sequence[Record]) -> Observed:
        """Learn records with labels, or labels of predicted records; on return they are on disk.

        Raises
        ------
        RefusedError
            For a record that the model does not support; none of the records is learned.
        """
        outcome: Observed = self.submit("observed", records).result()
        return outcome

    def choose(self, records: Sequence[Record]) -> Choices:
        """Choose actions for records with ids; on return the choices are on disk.

        Raises
        ------
        RefusedError
            For a record for which nothing can be chosen, or an id that was chosen for with other content.
        """
        outcome: Choices = self.submit("chosen", records).result()
        return outcome

    def reward(self, records: Sequence[Record]) -> Rewarded:
        """Learn the rewards of choices; on return they are on disk.

        Raises
        ------
        RefusedError
            For an id that is not known, or was learned with another reward; none of these was learned.
        """
        outcome: Rewarded = self.submit("rewarded", records).result()
        return outcome

    def forget(self, tasks: Sequence[Scalar]) -> Observed:
        """Forget tasks with their open records; raise RefusedError, and forget none, if one is unknown."""
        outcome: Observed = self.submit("forgotten", [Record(task=task) for task in tasks]).result()
        return outcome

    def submit(self, kind: Kind, records: Sequence[Record]) -> Future[Any]:
        """Submit an event to the writer thread; return a future that is done when the event is on disk."""
        result: Future[Any] = Future()
        self.submit_to(partial(resolve, result), kind, records)
        return result

    def submit_to(self, answer: ResultCallback, kind: Kind, records: Sequence[Record]) -> None:
        """Submit an event to the writer thread, which calls ``answer`` when the event is on disk.

        Raises
        ------
        RefusedError
            For records that cannot be such an event.
        BusyError, ClosedError, LostFolderError
            If too many records wait, the service has ended, or its folder no longer exists.
        """
        event = Event(kind, self.clock(), list(records))
        encoded = self.engine.prepare(event)
        if self.labels is not None:
            require_labels(event, self.labels)
        if event.records:
            self._submit(event, encoded, answer)
        else:
            offset = self.engine.offset
            nothing: dict[str, Outcome] = {"chosen": Choices([], offset), "rewarded": Rewarded(0, offset)}
            answer(nothing.get(kind, Observed(0, 0, [], offset)))

    def _submit(self, event: Event, encoded: msgspec.Raw, answer: ResultCallback) -> None:
        """Submit an event with validated records."""
        if memoryview(encoded).nbytes > REQUEST_BYTES:
            raise RefusedError(f"the records are longer than {REQUEST_BYTES} bytes together: send several requests")
        with self._depth_lock:
            self._require_open()
            if self.depth and self.depth + len(event.records) > self._most:
                raise BusyError(
                    f"too many records wait to be written: {self.depth} of at most {self._most}; try again later"
                )
            self.depth += len(event.records)
            self._queue.put(_Request(event, answer, encoded))

    def snapshot(self) -> int:
        """Write a snapshot that includes all acknowledged requests; return its journal offset."""
        with self._depth_lock:
            self._require_open()
            self._wanted = wanted = self._wanted or Future()
            self._queue.put(None)
        return wanted.result()

    def _require_open(self) -> None:
        self.require_folder()
        if self.failure is not None:
            raise ClosedError(f"the service failed: {self.failure}")
        if self._closed:
            raise ClosedError("the service is closed")

    def require_folder(self) -> None:
        """Raise LostFolderError if the folder was replaced since the service locked it."""
        with suppress(OSError):
            if os.path.samestat(self._lock_path.stat(), self._lock_stat):
                return
        raise LostFolderError(
            f"{self.folder} was moved, deleted or replaced while the service ran; put it back, or stop the service"
        )

    def declare(self, labels: Sequence[Scalar]) -> None:
        """Declare the labels; others are rejected from now on. Raise ValueError if the model cannot learn them."""
        self.engine.require_declared(labels)
        self.labels = list(labels)

    def alarms(self) -> dict[str, str]:
        """Return the active alarms as sentences by name."""
        alarms = self.engine.alarms(self.limits, self.clock())
        if self.snapshot_error is not None:
            alarms["snapshot"] = f"The last snapshot could not be written: {self.snapshot_error}"
        try:
            self.require_folder()
        except LostFolderError as error:
            alarms["folder"] = str(error)
        return alarms

    # -- the thread that writes

    def _write(self) -> None:
        group: list[_Request] = []
        try:
            while not self._closed or not self._queue.empty():
                group = self._next_group()
                if group:
                    self._commit(group)
                if (self._saving is None or self._saving.done()) and (self._wanted is not None or self._is_due()):
                    self._begin_snapshot()
        except BaseException as error:  # the state of the disk is now unknown
            self._fail(error, group)

    def _next_group(self) -> list[_Request]:
        """Wait for a request; return it with all others in the queue."""
        group: list[_Request] = []
        until = self._purge_from + PURGE - time.monotonic() if self._must_purge else None
        records = size = 0
        with suppress(Empty):
            request = self._queue.get(timeout=None if until is None else max(until, 0.5))
            while request is not None:
                group.append(request)
                records, size = records + len(request.event.records), size + memoryview(request.records).nbytes
                if records >= GROUP or size >= GROUP_BYTES:
                    break
                request = self._queue.get_nowait()
        with self._depth_lock:
            self.depth -= records
        return group

    def _commit(self, group: list[_Request]) -> None:
        """Write requests as one frame, learn them, flush the frame to disk, and answer."""
        try:
            self.require_folder()
        except LostFolderError as error:
            for request in group:
                request.answer(error)
            return
        began, events = time.perf_counter(), [request.event for request in group]
        for event in events:
            if event.kind != "reset":
                event.at = max(event.at, self.engine.at)  # clocks may jump back
        forgotten, was_due = self.engine.forgotten, self._must_purge
        end = self.journal.append(encode_events(events, [request.records for request in group]))
        outcomes = self.engine.apply_frame(events, end)
        if self.engine.forgotten > forgotten and not was_due:
            self._purge_from = time.monotonic()
        records = sum(len(event.records) for event in events)
        self._since += records
        self.journal.flush()
        self.on_commit(time.perf_counter() - began, records)
        for request, outcome in zip(group, outcomes, strict=True):
            if not isinstance(outcome, RefusedError):
                outcome.offset = end
            request.answer(outcome)

    @property
    def _must_purge(self) -> bool:
        """True if the next snapshot must replace all files, because these contain records of forgotten tasks."""
        return self.engine.forgotten > self._purged

    def _is_due(self) -> bool:
        """Return True if a snapshot is due: after enough records or time, or a forgotten task."""
        if self._every_records is not None and self._since >= self._every_records:
            return True
        if self._must_purge and time.monotonic() >= self._purge_from + PURGE:
            return True
        seconds = self._every_seconds
        return seconds is not None and self._since > 0 and time.monotonic() - self._saved_at >= seconds

    def _begin_snapshot(self) -> None:
        """Write a snapshot in another thread; learning continues once the model is copied."""
        with self._depth_lock:
            result, self._wanted = self._wanted or Future(), None
        try:
            self.require_folder()
            if self._must_purge:
                self.journal.begin_file()
                self._purge_from = time.monotonic()
        except OSError as error:
            result.set_exception(error)
            if isinstance(error, LostFolderError):
                return
            raise
        copied = threading.Event()
        self._saved_at, self._since = time.monotonic(), 0
        self._saving = result
        self._snapshots.submit(self._save_for, result, self.engine.offset, copied)
        copied.wait()

    def _save_for(self, result: Future[int], offset: int, copied: threading.Event) -> None:
        try:
            resolve(result, self._save(offset, copied))
        except BaseException as error:
            resolve(result, error)
        self._queue.put(None)  # another snapshot may have been requested

    def _save(self, offset: int, copied: threading.Event | None = None) -> int:
        """Write a snapshot, and delete the files that it replaces; ``copied`` is set after the model was copied."""
        purging = self._must_purge and self.engine.forgotten <= offset
        path, began = self.folder / f"{SNAPSHOT}{offset:020d}{SUFFIX}", time.monotonic()
        blocked, copied = 0.0, copied or threading.Event()

        @contextmanager
        def copying() -> Iterator[None]:
            nonlocal blocked
            with self.engine.lock:
                locked = time.monotonic()
                yield
                blocked = time.monotonic() - locked
            copied.set()

        try:
            self.require_folder()
            persistence.save(self.engine, path, copying(), PRIVATE)
            self.require_folder()
            self.snapshot_cost = SnapshotCost(path.stat().st_size, time.monotonic() - began, blocked)
            self.snapshot_offset = offset
            most, snapshots = 1 if purging else KEPT, self.snapshots()
            for old in snapshots[:-most]:
                old.unlink()
            self.journal.drop_before(min(map(offset_of, snapshots[-most:])))
            if purging:
                self._purged = offset
        except Exception as error:  # nothing is lost: the journal has all, and the next snapshot may succeed
            self.snapshot_error = str(error) or type(error).__name__
            raise
        finally:
            copied.set()
        self.snapshot_error = None
        return offset

    def _fail(self, error: BaseException, group: list[_Request]) -> None:
        with self._depth_lock:
            self.failure = error
        self.on_failure(error)
        failed = ClosedError(f"the service failed: {error}")
        if self._wanted is not None:
            self._wanted.set_exception(failed)
        while True:
            for request in group:
                request.answer(failed)
            try:
                waiting = self._queue.get_nowait()
            except Empty:
                return
            group = [] if waiting is None else [waiting]

    # -- ending

    def close(self) -> None:
        """Write pending requests and a snapshot, and unlock the folder."""
        with self._depth_lock:
            already, self._closed = self._closed, True
            self._queue.put(None)
        if already:
            return
        self._writer.join()
        self._snapshots.shutdown(wait=True)
        wanted: Future[int] = self._wanted or Future()  # of a postponed snapshot
        try:
            if self.failure is None:
                self.require_folder()
                if self._must_purge:
                    self.journal.begin_file()
                if self.engine.offset > self.snapshot_offset or self._must_purge:
                    self._save(self.engine.offset)
                wanted.set_result(self.snapshot_offset)
        except BaseException as error:
            wanted.set_exception(error)
            if not isinstance(error, LostFolderError):
                raise
            self.failure = error
        finally:
            self.journal.close()
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def resolve(future: Future[Any] | asyncio.Future[Any], outcome: object) -> None:
    """Set the result or the error of a future, unless it is done or cancelled."""
    with suppress(InvalidStateError):
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)


def _steady_clock() -> Callable[[], float]:
    """Return a clock of the time since 1970 that ignores changes of the system's time."""
    started = time.time() - time.monotonic()
    return lambda: started + time.monotonic()


def snapshots_in(folder: Path) -> list[Path]:
    """Return the files of snapshots in a folder, the oldest first."""
    return sorted(path for path in folder.glob(f"{SNAPSHOT}*{SUFFIX}") if OURS.fullmatch(path.name))


def offset_of(path: Path) -> int:
    """Return the offset of a snapshot from its file name."""
    return int(path.name.removeprefix(SNAPSHOT).removesuffix(SUFFIX))
