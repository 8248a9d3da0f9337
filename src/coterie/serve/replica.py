"""A copy of a service: it takes over the frames of another one, learns them as it did, and answers predictions.

Offsets, frames and bits are the same as those of the service that it follows, with a delay of some tenths of a second.
"""

from __future__ import annotations

import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from http.client import HTTPException
from itertools import takewhile
from pathlib import Path
from shutil import copyfileobj
from typing import IO, Any, Protocol

import msgspec

from coterie.persistence import replacing

from .engine import Engine
from .events import Prediction, Record, decode_frame
from .journal import PRIVATE, JournalFrame, Last, flushed_in, frames_in, read_only
from .service import (
    OURS,
    SNAPSHOT,
    SUFFIX,
    ReadOnlyError,
    Recipient,
    Service,
    identity_in,
    offset_of,
    require_same,
    snapshots_in,
)

#: Seconds between two looks at what is new, and after which a source does not answer.
PAUSE, PATIENCE = 0.2, 30.0
#: Seconds without a word from the source after which there is an alarm.
SILENCE = 60.0


class _Staying(urllib.request.HTTPRedirectHandler):
    """Leaves redirects unfollowed, so that no secret is sent to another address."""

    def redirect_request(self, *given: Any) -> None:
        """Nothing to ask instead."""


_OPENER = urllib.request.build_opener(_Staying)


class ReplicaSource(Protocol):
    """What a replica follows."""

    def identity(self) -> str:
        """The identity of its journal."""

    def snapshot(self) -> tuple[int, IO[bytes]]:
        """The offset of the newest snapshot, and its file."""

    def frames(self, identity: str, start: int, last: Last | None) -> Iterator[JournalFrame]:
        """The frames from an offset on that are on its disk now.

        ValueError for another identity, an offset at which no frame begins, or if the last one before it is another.
        """


class Folder:
    """A service's folder, on the same machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __str__(self) -> str:
        """Where it is."""
        return str(self._folder)

    def identity(self) -> str:
        """The identity of its journal."""
        if not self._folder.is_dir():
            raise ValueError(f"{self._folder} is no folder, and no address, as http://host:8000")
        identity = identity_in(self._folder)
        if identity is None:
            raise ValueError(f"{self._folder} has no identity to follow: start its service once")
        return identity

    def snapshot(self) -> tuple[int, IO[bytes]]:
        """The offset of the newest snapshot, and its file."""
        found = snapshots_in(self._folder)
        if not found:
            raise ValueError(f"{self._folder} has no snapshot to begin with")
        return offset_of(found[-1]), found[-1].open("rb")

    def frames(self, identity: str, start: int, last: Last | None) -> Iterator[JournalFrame]:
        """The frames from an offset on that are on its disk now."""
        require_same(self.identity(), identity)
        flushed = flushed_in(self._folder).told  # what else is written may be lost with the power
        return takewhile(lambda held: held.end <= flushed, read_only(self._folder, start, last))


class Address:
    """A service over HTTP.

    Parameters
    ----------
    url : str
        Where it is, as ``http://host:8000``.
    token : str, optional
        The secret that its requests bear.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def __str__(self) -> str:
        """Where it is."""
        return self._url

    def identity(self) -> str:
        """The identity of its journal."""
        with self._get("/state") as answer:
            told = answer.read()
        try:
            return str(msgspec.json.decode(told)["identity"])
        except (msgspec.DecodeError, KeyError, TypeError):
            raise ValueError(f"{self._url}/state tells no identity to follow") from None

    def snapshot(self) -> tuple[int, IO[bytes]]:
        """The offset of the newest snapshot, and its file."""
        answer = self._get("/snapshot")
        found = OURS.search(answer.headers.get("Content-Disposition", ""))
        if found is None:
            answer.close()
            raise ValueError(f"{self._url}/snapshot names no snapshot of a service")
        return offset_of(Path(found[0])), answer

    def frames(self, identity: str, start: int, last: Last | None) -> Iterator[JournalFrame]:
        """The frames from an offset on that are on its disk now."""
        behind = "" if last is None else f"&last={last.offset}&checksum={last.checksum}"
        with self._get(f"/journal?from={start}{behind}&identity={identity}") as answer:
            data = answer.read()
        frames = list(frames_in(data, start))
        if data and not frames:  # a proxy's page, or an answer that was cut off
            raise HTTPException(f"{self._url} answers with what is no frame")
        return iter(frames)

    def _get(self, path: str) -> Any:
        request = urllib.request.Request(self._url + path, headers=self._headers)  # noqa: S310 - checked when made
        try:
            return _OPENER.open(request, timeout=PATIENCE)
        except urllib.error.HTTPError as error:
            if error.code >= 500:
                raise
            if 300 <= error.code < 400:  # the secret is for the address that was given alone
                there = error.headers.get("Location", "nowhere")
                raise ConnectionError(f"{self._url}{path} redirects to {there}: follow that address instead") from None
            said = error.read(500).decode(errors="replace")
            raise ValueError(f"{self._url}{path} answers {error.code}: {said}") from None
        except urllib.error.URLError as error:
            raise ConnectionError(f"{self._url} cannot be reached: {error.reason}") from None


def source_of(given: str, token: str | None = None) -> ReplicaSource:
    """The source that a replica follows: the service at an address, or that of a folder."""
    if given.startswith(("http://", "https://")):
        return Address(given, token)
    return Folder(Path(given))


class Replica(Service):
    """A copy of another service, in a folder of its own; predicts, and refuses to learn anything else.

    Parameters
    ----------
    folder : str or Path
        Where the copy is kept, made if it is not there.
    source : ReplicaSource
        What is followed.
    given
        As for :class:`coterie.serve.service.Service`.

    Attributes
    ----------
    follows : str
        What is followed.
    lag : int
        Bytes of frames that were there at the last look and are not learned yet.
    """

    elsewhere = "start it again in an empty folder"
    remedy = f"{elsewhere}, or by --accept-loss, which deletes what it cannot go on with"

    def __init__(self, folder: str | os.PathLike[str], source: ReplicaSource, **given: Any) -> None:
        self._source, self.follows, self.lag = source, str(source), 0
        self._heard = time.monotonic()
        super().__init__(folder, self._nothing, **given)

    def _nothing(self) -> Engine:
        raise ValueError(f"{self.folder} has no snapshot, which a replica begins with")

    def _new_identity(self) -> str:
        return self._source.identity()

    def _begins_at(self) -> int:
        found = self.snapshots()
        if not found:
            offset, held = self._source.snapshot()
            with held, replacing(self.folder / f"{SNAPSHOT}{offset:020d}{SUFFIX}", PRIVATE) as file:
                copyfileobj(held, file)
                if getattr(held, "length", 0):  # of an answer, the bytes that did not come: reading does not say so
                    raise OSError(f"{self._source} told its snapshot in part only")
            found = self.snapshots()
        return offset_of(found[-1])

    @property
    def silence(self) -> float:
        """Seconds since the source last answered, since its frames were last learned, or since the start."""
        return time.monotonic() - self._heard

    def alarms(self) -> dict[str, str]:
        """The current alarms, that of the source's silence among them."""
        told, silence = super().alarms(), self.silence
        if silence > SILENCE:
            told["source"] = f"Nothing has been heard from {self.follows} for {silence:,.0f} seconds."
        return told

    def predict(self, records: Sequence[Record]) -> list[Prediction]:
        """Predict records; none of them waits for its label here."""
        return self.engine.predict(records)

    def submit_to(self, told: Recipient, kind: Any, records: Sequence[Record]) -> None:
        """Refuse what would change the model."""
        what = "choices and rewards" if "chosen" in self.engine.kinds else "labels"
        raise ReadOnlyError(f"this is a replica: {what} go to the service that it follows")

    def _write(self) -> None:
        """Take over frames until the service ends."""
        try:
            while not self._closed:
                self._take_over(self._told())
                self._answer_snapshots()
                time.sleep(PAUSE)
            self._answer_snapshots()  # what was asked before the end
        except BaseException as error:  # what is on the disk is not known any more, or the source has other frames
            self._fail(error, [])

    def _told(self) -> list[JournalFrame]:
        """The frames that the source has now; none while it cannot be reached, for a replica waits until it can."""
        with suppress(OSError, HTTPException):  # of the source alone: an error of writing here ends the replica
            frames = list(self._source.frames(self.identity, self.journal.end, self.journal.last))
            self._heard = time.monotonic()
            return frames
        return []

    def _take_over(self, frames: list[JournalFrame]) -> None:
        """Write and learn frames."""
        self.lag = frames[-1].end - self.engine.offset if frames else 0
        for held in frames:
            began, events = time.perf_counter(), decode_frame(held.payload)
            if self.journal.append(held.payload) != held.end:
                raise ValueError(f"the frame that ends at {held.end} does not follow offset {self.engine.offset}")
            self._note_forgetting(partial(self.engine.take, events, held.end))
            self.lag, self._heard = frames[-1].end - held.end, time.monotonic()
            records = sum(len(event.records) for event in events)
            self._since += records
            self.on_commit(time.perf_counter() - began, records)
        if frames:
            self.journal.flush()

    def _answer_snapshots(self) -> None:
        requests = []
        while not self._queue.empty():
            asked = self._queue.get()
            if asked is not None:
                requests.append(asked)
        self._snapshot_for(requests)
