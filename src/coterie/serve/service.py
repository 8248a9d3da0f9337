"""A folder with a journal and snapshots, and the one thread that writes and learns.

======================== ===========================================================================================
``lock``                 held by the process that writes
``identity``             by which backups and clients tell one service from another
``journal-<offset>``     frames from that offset on
``flushed``              how far they are on the disk, which a start compares
``snapshot-<offset>…``   the engine as it was there, of which the last two are kept
======================== ===========================================================================================

What was acknowledged was on the disk before: a group of what waits is written as one frame, learned and flushed, and
then all who wait are told. After a crash the newest snapshot is loaded, and what the journal has behind it
is learned again, frame by frame as it was then, so that bits are the same. A journal that ends before what was flushed
is not taken for one that was never longer.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from coterie import persistence

from . import choosing  # noqa: F401 - folders hold its engines, too
from .engine import Engine
from .events import (
    Choices,
    Event,
    Observed,
    Prediction,
    Record,
    Refused,
    RefusedError,
    Rewarded,
    check,
    decode_frame,
    encode_frame,
    frame_of,
    require_labels,
)
from .journal import (
    FLUSHED,
    PRIVATE,
    SEGMENT,
    DamageError,
    Journal,
    cut_at_damage,
    has_frames,
    oldest_offset,
)
from .live import Limits

#: Records that one frame holds at most, unless one request has more.
GROUP = 4096
IDENTITY = "identity"
SNAPSHOT, SUFFIX = "snapshot-", ".coterie"
OURS = re.compile(rf"{SNAPSHOT}[0-9]{{20}}\{SUFFIX}")
#: Snapshots that are kept, so that one that turns out to be bad is not the only one.
KEPT = 2
#: Seconds after a task was forgotten in which a snapshot is begun that replaces all files with its records.
PURGE = 300.0
#: Seconds that the machine's clock may be behind the last event at a start without time being reset.
BEHIND = 60.0


class NotTakenError(Exception):
    """The service does not take a request; ``status`` says so in HTTP."""

    status: ClassVar[int]


class BusyError(NotTakenError):
    """More waits to be written than is allowed."""

    status = 429


class ClosedError(NotTakenError):
    """The service is closed and accepts nothing any more."""

    status = 503


class LostFolderError(NotTakenError, OSError):
    """The folder was moved, deleted or replaced."""

    status = 503


class ResultCallback(Protocol):
    """What the thread that writes tells an outcome to: a future, or what passes it on to another thread."""

    def set_result(self, outcome: Any, /) -> Any:
        """Tell the outcome."""

    def set_exception(self, error: BaseException, /) -> Any:
        """Tell that there is none."""


class _Asked(NamedTuple):
    event: Event | None  # None: a snapshot is wanted
    done: ResultCallback
    records: bytes = b""  # those of the event, encoded


class Service:
    """A model in a folder: predicts, learns when labels come, and after a crash goes on as if nothing had happened.

    Parameters
    ----------
    folder : str or Path
        Made if it is not there.
    make : callable
        Makes the engine to begin with, where the folder has none.
    flush : bool
        False does not wait for the disk: a loss of power may take what was acknowledged since the last snapshot, a
        crash of the process alone does not. How much was lost is told at the next start.
    waiting : int
        Records that may wait to be written.
    every_records, every_seconds : int or float, optional
        A snapshot is written after so many records, or so many seconds if there was a record since, whichever is first.
    segment : int
        Bytes of a file of the journal.
    limits : Limits, optional
        From when on there is an alarm.
    accept_loss : bool
        Go on with what can be read, where frames that were acknowledged are missing or damaged. What cannot be read is
        deleted.
    check : callable, optional
        Is called with the engine before anything is written, and may refuse it by an error.

    Attributes
    ----------
    identity : str
        That of the journal, drawn when the folder is begun.
    engine : Engine
        The model and what waits.
    journal : Journal
        What was acknowledged.
    reset : float
        Seconds by which time was set back at the start, because the last event was so far ahead of the machine's clock.
    replayed : int
        Frames that were learned again when the folder was opened.
    new : bool
        Whether the folder was begun by this start.
    accepted : str or None
        The loss that was accepted when the folder was opened.
    snapshot_offset : int
        The offset of the last snapshot, -1 if there is none.
    snapshot_error : str or None
        Why the last one could not be written.
    snapshot_cost : SnapshotCost or None
        What the last one has cost; None before the first one since the start.
    failure : BaseException or None
        Why the service takes nothing any more: after an error of writing, nobody knows what is on the disk.
    clock : callable
        The time in seconds since 1970, as the machine had it when the service started and no step of its clock since: a
        wrong hour would expire what waits.
    on_failure, on_commit : callable
        Are called by the thread that writes: with the error then, and after every frame with the seconds it took and
        its number of records.

    Raises
    ------
    ValueError
        If another process has the folder, or a file in it is damaged or missing: the message names it, and says how to
        go on.
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
    labels: Sequence[Any] | None = None
    accepted: str | None = None
    reset = 0.0
    #: How to go on where the folder has lost something, and with the loss.
    elsewhere = "put back a backup"
    remedy = f"{elsewhere}; or go on with what can be read by --accept-loss, which deletes the rest"

    def __init__(
        self,
        folder: str | os.PathLike[str],
        make: Callable[[], Engine],
        *,
        flush: bool = True,
        waiting: int = 20_000,
        every_records: int | None = None,
        every_seconds: float | None = 300.0,
        segment: int = SEGMENT,
        limits: Limits | None = None,
        accept_loss: bool = False,
        check: Callable[[Engine], Any] = lambda engine: None,
    ) -> None:
        persistence.require_local(folder)
        self.folder = Path(folder)
        new_folder, new_lock = not self.folder.exists(), not (self.folder / persistence.LOCK).exists()
        with suppress(FileExistsError):  # of which no other user may read the records
            self.folder.mkdir(mode=0o700, parents=True)
        self.limits = limits or Limits()
        self._lock = persistence.hold_folder(self.folder)
        self._lock_path, self._lock_stat = self.folder / persistence.LOCK, os.fstat(self._lock.fileno())
        try:
            try:
                self._read(make, segment, flush)
            except DamageError as error:
                if not accept_loss:
                    raise ValueError(f"{error}; {self.remedy}") from None
                self.accepted = str(error)
                self._accept_loss()
                self._read(make, segment, flush)
            check(self.engine)
        except BaseException:
            if new_lock:
                (self.folder / persistence.LOCK).unlink()
            self._lock.close()
            if new_folder:
                with suppress(OSError):
                    self.folder.rmdir()
            raise
        self._purged = -1 if self._holds_forgotten() else self.engine.forgotten
        self.new = self.snapshot_offset < 0
        try:
            self.journal.begin()
            self._write_identity()
            if self.new:  # what it began with is part of what is replayed
                self._save(self.engine.offset, _Copied(self.engine))
        except BaseException:
            self.journal.close()
            self._lock.close()
            raise
        self._most = waiting
        self.clock = _steady_clock()
        self.on_failure: Callable[[BaseException], Any] = lambda error: None
        self.on_commit: Callable[[float, int], Any] = lambda seconds, records: None
        self._queue: SimpleQueue[_Asked | None] = SimpleQueue()
        self._snapshots = ThreadPoolExecutor(1, "coterie-snapshot")
        self.depth, self._depth_lock = 0, threading.Lock()
        self.failure: BaseException | None = None
        self._every_records, self._every_seconds = every_records, every_seconds
        self._saving: Future[int] | None = None
        self._saved_at, self._since = time.monotonic(), 0
        self._closed = False
        self._writer = threading.Thread(target=self._write, name="coterie-writer", daemon=True)
        self._purge_from = -math.inf  # what an earlier process has promised to purge is due
        self._writer.start()
        self._reset_time()

    # -- opening

    def _reset_time(self) -> None:
        """Set the time of events back where it is ahead of the clock; else nothing would expire for so long."""
        ahead = self.engine.at - self.clock()
        if ahead > BEHIND:
            done: Future[Any] = Future()
            reset = Event("reset", self.clock(), [])
            self._put(_Asked(reset, done, check(reset)), 0)
            self._answer(done)
            self.reset = ahead

    def _holds_forgotten(self) -> bool:
        """Whether files hold records of tasks that were forgotten."""
        offset = self.engine.forgotten
        return self.journal.first < offset or any(offset_of(path) < offset for path in self.snapshots())

    def _read(self, make: Callable[[], Engine], segment: int, flush: bool) -> None:
        """Read the folder, or begin a model for a new one; nothing is written."""
        begun, found = has_frames(self.folder), identity_in(self.folder)
        if begun and not self.snapshots() and self.accepted is None:
            raise DamageError(f"{self.folder} has a journal and no snapshot that says what it began with")
        if found is not None and not (self.folder / FLUSHED).exists():  # which was there before the identity
            said = "it says how far the journal was on the disk, and so whether frames are missing"
            raise DamageError(f"{self.folder / FLUSHED} is missing: {said}")
        self.identity = found or uuid.uuid4().hex
        self.journal = Journal(self.folder, segment, self._begins_at(), flush)
        self.engine, self.snapshot_offset = self._newest(make)
        self.replayed = self._replay()

    def _accept_loss(self) -> None:
        """Leave of the journal what the newest snapshot can go on with."""
        cut_at_damage(self.folder, self._begins_at())

    def _write_identity(self) -> None:
        """Write the identity of a new folder, or of a backup without one."""
        if not (self.folder / IDENTITY).exists():
            with persistence.replacing(self.folder / IDENTITY, PRIVATE) as file:
                file.write(self.identity.encode())

    def _begins_at(self) -> int:
        """The offset at which a journal begins where there is none yet: that of the newest snapshot, if any."""
        found = self.snapshots()
        return offset_of(found[-1]) if found else oldest_offset(self.folder)

    def snapshots(self) -> list[Path]:
        """The files of snapshots, the oldest first."""
        return snapshots_in(self.folder)

    def _newest(self, make: Callable[[], Engine]) -> tuple[Engine, int]:
        found = self.snapshots()
        if not found:
            engine = make()
            engine.offset = self.journal.first
            return engine, -1
        try:
            engine = persistence.load(found[-1])
        except ValueError as error:
            if len(found) == 1:
                raise ValueError(f"{error}; there is no other snapshot: {self.elsewhere}") from None
            raise ValueError(f"{error}; the snapshot before it is there: move this one away and start again") from None
        if not isinstance(engine, Engine):
            raise ValueError(f"{found[-1]} is no snapshot of a service, but a {type(engine).__name__}")
        return engine, engine.offset

    def _replay(self) -> int:
        frames = 0
        if self.engine.offset > self.journal.end:
            ends = f"its journal ends at {self.journal.end}"
            raise DamageError(f"{self.folder} has a snapshot at offset {self.engine.offset}, and {ends}")
        for held in self.journal.read(self.engine.offset):
            self.engine.take(decode_frame(held.payload), held.end)
            frames += 1
        return frames

    # -- asking

    def predict(self, records: Sequence[Record]) -> list[Prediction]:
        """Predict records; those with an id wait for their labels, as soon as the journal has them.

        Raises
        ------
        ValueError
            For a record that the model cannot take; nothing is noted then.
        """
        self.engine.require("predicted")
        event = Event("predicted", self.clock(), list(records))
        packed = check(event)
        predictions = self.engine.predict(records)
        event.records = [record for record in records if record.id is not None]
        if event.records:
            self._submit(event, packed if len(event.records) == len(records) else encode_frame(event.records), Future())
        return predictions

    def observe(self, records: Sequence[Record]) -> Observed:
        """Learn records whose labels are known, or were predicted under an id; they are on the disk on return.

        Raises
        ------
        ValueError
            For a record that the model refuses: nothing of these was learned.
        """
        predictions: Observed = self._answer(self.submit("observed", records))
        return predictions

    def choose(self, records: Sequence[Record]) -> Choices:
        """Choose for records that have an id each; what was chosen is on the disk on return.

        Raises
        ------
        ValueError
            For a record for which nothing can be chosen, or an id that was chosen for with other content.
        """
        predictions: Choices = self._answer(self.submit("chosen", records))
        return predictions

    def reward(self, records: Sequence[Record]) -> Rewarded:
        """Learn the rewards of choices; they are on the disk on return.

        Raises
        ------
        ValueError
            For an id that is not known, or was learned with another reward; nothing of these was learned then.
        """
        predictions: Rewarded = self._answer(self.submit("rewarded", records))
        return predictions

    def forget(self, tasks: Sequence[Any]) -> Observed:
        """Forget tasks, and what waits of them; ValueError for one that is not known, and then none is forgotten."""
        predictions: Observed = self._answer(self.submit("forgotten", [Record(task=task) for task in tasks]))
        return predictions

    def snapshot(self) -> int:
        """Write a snapshot now, and return its offset."""
        done: Future[Any] = Future()
        self._put(_Asked(None, done), 0)
        return int(done.result().result())

    @staticmethod
    def _answer(asked: Future[Any]) -> Any:
        outcome = asked.result()
        if isinstance(outcome, Refused):
            raise RefusedError(outcome)
        return outcome

    def submit(self, kind: Any, records: Sequence[Record]) -> Future[Any]:
        """Have an event written and applied; the future gets its outcome once it is on the disk.

        Raises
        ------
        ValueError, BusyError, ClosedError
            As :meth:`submit_to`.
        """
        done: Future[Any] = Future()
        self.submit_to(done, kind, records)
        return done

    def submit_to(self, predictions: ResultCallback, kind: Any, records: Sequence[Record]) -> None:
        """Have an event written and applied, and its outcome told by the thread that writes, once it is on the disk.

        Raises
        ------
        ValueError
            For records that cannot be such an event.
        BusyError, ClosedError
            If too much waits, or the service has ended.
        """
        self.engine.require(kind)
        event = Event(kind, self.clock(), list(records))
        packed = check(event)
        if self.labels is not None:
            require_labels(event, self.labels)
        if kind == "chosen":
            event.records = self.engine.choose(event.records)
            packed = encode_frame(event.records)
        self._submit(event, packed, predictions)

    def _submit(self, event: Event, packed: bytes, predictions: ResultCallback) -> None:
        """Have an event that was checked written and applied."""
        if event.records:
            self._put(_Asked(event, predictions, packed), len(event.records))
        else:
            offset = self.engine.offset
            nothing = {"chosen": Choices([], offset), "rewarded": Rewarded(0, offset)}
            predictions.set_result(nothing.get(event.kind, Observed(0, 0, [], offset)))

    def require_folder(self) -> None:
        """Raise LostFolderError if the folder is not the one that the service began in, by the file that it locked."""
        with suppress(OSError):
            if os.path.samestat(self._lock_path.stat(), self._lock_stat):
                return
        raise LostFolderError(
            f"{self.folder} was moved, deleted or replaced while the service ran: put it back, or stop this service"
        )

    def _put(self, asked: _Asked, records: int) -> None:
        self.require_folder()
        with self._depth_lock:
            if self._closed or self.failure is not None:
                raise ClosedError(
                    "the service has ended" if self.failure is None else f"the service failed: {self.failure}"
                )
            if self.depth and self.depth + records > self._most:
                raise BusyError(f"{self.depth} records wait to be written, of {self._most} that may")
            self.depth += records
            self._queue.put(asked)

    def declare(self, labels: Sequence[Any]) -> None:
        """Refuse all other labels from now on; ValueError if the model has learned others, or cannot learn so many."""
        self.engine.require_declared(labels)
        self.labels = list(labels)

    def alarms(self) -> dict[str, str]:
        """The current alarms, a sentence each by the alarm's name."""
        predictions = self.engine.alarms(self.limits, self.clock())
        if self.snapshot_error is not None:
            predictions["snapshot"] = f"The last snapshot could not be written: {self.snapshot_error}"
        try:
            self.require_folder()
        except LostFolderError as error:
            predictions["folder"] = str(error)
        return predictions

    # -- the thread that writes

    def _write(self) -> None:
        ended = False
        while not ended:
            group, ended = self._next_group()
            try:
                self._commit([asked for asked in group if asked.event is not None])
                self._snapshot_for([asked for asked in group if asked.event is None])
            except BaseException as error:  # what is on the disk is not known any more
                self._fail(error, group)
                return

    def _next_group(self) -> tuple[list[_Asked], bool]:
        """Wait for a request, and take with it those that wait behind it."""
        group: list[_Asked] = []
        until = self._purge_from + PURGE - time.monotonic() if self._must_purge else None
        try:
            asked = self._queue.get(timeout=None if until is None else max(until, 0.5))
        except Empty:  # a snapshot is due
            return group, False
        records = 0
        while asked is not None:
            group.append(asked)
            records += 0 if asked.event is None else len(asked.event.records)
            if records >= GROUP:
                break
            try:
                asked = self._queue.get_nowait()
            except Empty:
                break
        with self._depth_lock:
            self.depth -= records
        return group, asked is None

    def _commit(self, group: list[_Asked]) -> None:
        if not group:
            return
        try:
            self.require_folder()
        except LostFolderError as error:
            for asked in group:
                with suppress(InvalidStateError):
                    asked.done.set_exception(error)
            return
        began = time.perf_counter()
        events, packed = [asked.event for asked in group if asked.event is not None], [each.records for each in group]
        for event in events:
            if event.kind != "reset":
                event.at = max(event.at, self.engine.at)  # clocks may jump back
        end = self.journal.append(frame_of(events, packed))
        outcomes = self._note_forgetting(lambda: self.engine.take(events, end))
        records = sum(len(event.records) for event in events)
        self._since += records
        self.journal.flush()
        self.on_commit(time.perf_counter() - began, records)
        for asked, outcome in zip(group, outcomes, strict=True):
            if not isinstance(outcome, Refused):
                outcome.offset = end
            resolve(asked.done, outcome)

    def _note_forgetting(self, take: Callable[[], Any]) -> Any:
        """Take over a frame, and note when tasks were forgotten by it."""
        before, due = self.engine.forgotten, self._must_purge
        outcomes = take()
        if self.engine.forgotten > before and not due:
            self._purge_from = time.monotonic()
        return outcomes

    @property
    def _must_purge(self) -> bool:
        """Whether the next snapshot is to replace all files, because they hold records of tasks that were forgotten."""
        return self.engine.forgotten > self._purged

    def _snapshot_for(self, requests: list[_Asked]) -> None:
        """Begin a snapshot if one is requested or due; requests during another one are put off until its end."""
        saving = self._saving
        if saving is not None and not saving.done():
            if requests:
                saving.add_done_callback(lambda _: self._put_again(requests))
        elif requests or self._is_due():
            self._saving = saving = self._begin_snapshot()
            for asked in requests:
                resolve(asked.done, saving)

    def _put_again(self, requests: list[_Asked]) -> None:
        """Put requests into the queue another time; if nothing takes them out any more, they fail."""
        with self._depth_lock:
            if self.failure is None:
                for asked in requests:
                    self._queue.put(asked)
                return
        for asked in requests:
            asked.done.set_exception(ClosedError(f"the service failed: {self.failure}"))

    def _begin_snapshot(self) -> Future[int]:
        """Copy the engine, whose offset is on the disk, and write the copy while learning goes on."""
        try:
            self.require_folder()
        except LostFolderError as error:
            failed: Future[int] = Future()
            failed.set_exception(error)
            return failed
        if self._must_purge:
            self.journal.begin_file()
            self._purge_from = time.monotonic()
        self.journal.sync()
        copied = _Copied(self.engine)
        saving = self._snapshots.submit(self._save, self.engine.offset, copied)
        copied.wait()
        self._saved_at, self._since = time.monotonic(), 0
        return saving

    def _save(self, offset: int, copied: _Copied) -> int:
        """Write a snapshot, and delete the snapshots and journal files that it replaces."""
        purging = self._must_purge and self.engine.forgotten <= offset
        path, began = self.folder / f"{SNAPSHOT}{offset:020d}{SUFFIX}", time.monotonic()
        try:
            self.require_folder()
            persistence.save(self.engine, path, copied, PRIVATE)
            self.require_folder()
            self.snapshot_cost = SnapshotCost(path.stat().st_size, time.monotonic() - began, copied.held)
            self.snapshot_offset = offset
            kept = self.snapshots()
            most = 1 if purging else KEPT
            for old in kept[:-most]:
                old.unlink()
            self.journal.drop_before(min(map(offset_of, kept[-most:])))
            if purging:
                for part in self.folder.glob(f".{SNAPSHOT}*"):  # of snapshots during which a process was killed
                    part.unlink()
                self._purged = offset
        except Exception as error:  # nothing is lost: the journal has all, and the next snapshot may succeed
            self.snapshot_error = str(error) or type(error).__name__
            raise
        finally:
            copied.set()
        self.snapshot_error = None
        return offset

    def _is_due(self) -> bool:
        if self._every_records is not None and self._since >= self._every_records:
            return True
        if self._must_purge and time.monotonic() >= self._purge_from + PURGE:
            return True
        seconds = self._every_seconds
        return seconds is not None and self._since > 0 and time.monotonic() - self._saved_at >= seconds

    def _fail(self, error: BaseException, group: list[_Asked]) -> None:
        with self._depth_lock:
            self.failure = error
        self.on_failure(error)
        while True:
            for asked in group:
                with suppress(InvalidStateError):  # who asked was told, or does not wait any more
                    asked.done.set_exception(ClosedError(f"the service failed: {error}"))
            try:
                asked_next = self._queue.get_nowait()
            except Empty:
                return
            group = [] if asked_next is None else [asked_next]

    # -- ending

    def close(self) -> None:
        """Write the requests that wait, and a snapshot; release the folder."""
        with self._depth_lock:
            already, self._closed = self._closed, True
            self._queue.put(None)
        if already:
            return
        self._writer.join()
        self._snapshots.shutdown(wait=True)
        last: Future[int] = Future()
        try:
            if self.failure is None:
                self.journal.sync()
                self.require_folder()
                if self._must_purge:
                    self.journal.begin_file()
                if self.engine.offset > self.snapshot_offset or self._must_purge:
                    self._save(self.engine.offset, _Copied(self.engine))
            last.set_result(self.snapshot_offset)
        except LostFolderError as error:
            self.failure = error
            last.set_exception(error)
        except BaseException as error:
            last.set_exception(error)
            raise
        finally:
            self.journal.close()
            self._lock.close()
            while not self._queue.empty():  # requests for a snapshot that were put off
                asked = self._queue.get()
                if asked is not None:
                    resolve(asked.done, last)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class SnapshotCost(NamedTuple):
    """Bytes and seconds of a snapshot, and the seconds of these in which nothing was learned or predicted."""

    size: int
    seconds: float
    blocked: float


class _Copied:
    """A context that holds the engine's lock while it is copied, and lets others wait for that; ``held`` in seconds."""

    def __init__(self, engine: Engine) -> None:
        self.held = 0.0
        self._lock, self._done = engine.lock, threading.Event()
        self.set, self.wait = self._done.set, self._done.wait

    def __enter__(self) -> None:
        self._lock.acquire()
        self._began = time.monotonic()

    def __exit__(self, *error: object) -> None:
        self.held = time.monotonic() - self._began
        self._lock.release()
        self.set()


def resolve(asked: ResultCallback, outcome: Any) -> None:
    """Give who asked the outcome, unless it does not wait any more: a server that ends cancels what takes too long."""
    with suppress(InvalidStateError):
        asked.set_result(outcome)


def identity_in(folder: Path) -> str | None:
    """The identity of a service's folder; None if it has none yet, ValueError for a damaged one."""
    path = folder / IDENTITY
    if not path.exists():
        return None
    identity = path.read_text("ascii", "replace").strip()
    if not re.fullmatch("[0-9a-f]{32}", identity):
        raise ValueError(f"{path} holds no identity; without the file another one is drawn")
    return identity


def _steady_clock() -> Callable[[], float]:
    """The time since 1970, by a clock that does not follow changes of the system's time."""
    started = time.time() - time.monotonic()
    return lambda: started + time.monotonic()


def snapshots_in(folder: Path) -> list[Path]:
    """The files of snapshots in a folder, the oldest first."""
    return sorted(path for path in folder.glob(f"{SNAPSHOT}*{SUFFIX}") if OURS.fullmatch(path.name))


def offset_of(path: Path) -> int:
    """The offset of a snapshot, from its file's name."""
    return int(path.name.removeprefix(SNAPSHOT).removesuffix(SUFFIX))
