"""The journal of a service: frames of bytes one behind the other, in files of a bounded length.

A frame's offset is how many bytes of frames stand before it, in all files ever written. A file is called by the offset
it begins at, and begins with a mark of sixteen bytes. A frame is

    u32 length of the payload | u32 CRC-32 of all the rest | u64 offset | payload

in little-endian order. Only what was written last can be half written: a bad frame with a whole one somewhere behind it
is damage, and refused, not cut off.

Beside the files lies ``flushed``, which says how far frames are on the disk: who reads along must not be ahead of what
a loss of power leaves, and a journal that ends before it has lost what was acknowledged. It is written after every
flush, and so is never ahead of the journal. Nobody waits for it but where a file of the journal ends: after a loss of
power it may be some seconds behind.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from coterie.persistence import replacing, sync_folder

MARK = b"coterie.journal\x01"
HEAD = struct.Struct("<IIQ")
PREFIX = "journal-"
_OURS = re.compile(f"{PREFIX}[0-9]{{20}}")
FLUSHED = "flushed"
#: Bytes of frames after which a new file is begun.
SEGMENT = 2**28
#: Bytes that are searched at once for a whole frame behind a damaged one.
SEARCHED = 2**20
#: The permissions of files: records are for no other user of the machine.
PRIVATE = 0o600
#: Longer frames are refused when written, and taken for damage when read.
LONGEST = 2**30
_FLUSHED = struct.Struct("<QQI")


class DamageError(ValueError):
    """Frames that were written are missing or cannot be read."""


class Flushed(NamedTuple):
    """How far the frames of a journal are on the disk.

    Attributes
    ----------
    told : int
        The offset up to which they were acknowledged, and may be read by others.
    sure : int
        The offset up to which the disk was waited for: the same, but for a journal that does not wait for each frame.
    """

    predictions: int
    sure: int

    @property
    def packed(self) -> bytes:
        """As in the file, with a checksum."""
        packed = _FLUSHED.pack(self.predictions, self.sure, 0)[:-4]
        return packed + zlib.crc32(packed).to_bytes(4, "little")


class JournalFrame(NamedTuple):
    """A payload, and the offset behind it."""

    payload: bytes
    end: int

    @property
    def whole(self) -> bytes:
        """The frame as it is in the journal."""
        return frame(self.end - HEAD.size - len(self.payload), self.payload)


def frame(offset: int, payload: bytes) -> bytes:
    """The bytes of a frame at an offset."""
    rest = struct.pack("<IQ", len(payload), offset)
    return HEAD.pack(len(payload), zlib.crc32(payload, zlib.crc32(rest)), offset) + payload


def _is_whole(data: memoryview, at: int, offset: int) -> int:
    """The length of the frame at a place if it is whole and belongs there, else 0."""
    if len(data) - at < HEAD.size:
        return 0
    length, checksum, said = HEAD.unpack_from(data, at)
    end = at + HEAD.size + length
    if said != offset or length > LONGEST or end > len(data):
        return 0
    rest = struct.pack("<IQ", length, offset)
    return HEAD.size + length if zlib.crc32(data[at + HEAD.size : end], zlib.crc32(rest)) == checksum else 0


class Journal:
    """Frames of a folder, of which one process writes at a time; whoever opens it holds the folder's lock.

    Opening reads all of the newest file and writes nothing. :meth:`begin` cuts off a last frame that was not written
    whole, and was not flushed; only then can frames be appended.

    Parameters
    ----------
    folder : Path
        Where the files lie.
    segment : int
        Bytes after which a new file is begun.
    first : int
        The offset to begin at where there is no file yet.
    fsync : bool
        Whether :meth:`flush` waits for the disk; else written frames are told as flushed at once, and only :meth:`sync`
        and the end of a file wait.

    Attributes
    ----------
    end, flushed : int
        The offset behind the last frame, and behind the last that may be told.
    lost : int
        Bytes of frames that a journal which did not wait for the disk told, and that were not there when it was opened.

    Raises
    ------
    DamageError
        For a file that is no journal, is missing in between, is damaged elsewhere than at its very end, or ends before
        what was flushed; the message names file and offset.
    OSError
        If files cannot be read or written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> journal = Journal(pathlib.Path(tempfile.mkdtemp())).begin()
    >>> journal.append(b"first"), journal.append(b"second")
    (21, 43)
    >>> journal.flush()
    >>> [held.payload for held in journal.read(21)]
    [b'second']
    >>> journal.close()
    """

    def __init__(self, folder: Path, segment: int = SEGMENT, first: int = 0, fsync: bool = True) -> None:
        self._folder, self._segment, self._waits = folder, segment, fsync
        self._firsts = _firsts(folder) or [first]
        known = flushed_in(folder) if (folder / FLUSHED).exists() else Flushed(0, 0)
        self._newest, self.end = self._path(self._firsts[-1]), self._firsts[-1]
        if self._is_begun():
            for held in _frames(self._newest, self.end, self.end, newest=True):
                self.end = held.end
        _require_reached(folder, self.end, known.sure)
        self.lost = max(known.predictions - self.end, 0)
        self.flushed = self._sure = self.end
        self._handle = self._flushed = -1

    def _is_begun(self) -> bool:
        """Whether the newest file has its mark; without, it was being made when the power failed."""
        return self._newest.exists() and self._newest.stat().st_size >= len(MARK)

    def begin(self) -> Self:
        """Open the newest file for writing, behind its last whole frame; what is behind that is cut off."""
        first = self._firsts[-1]
        if self._is_begun():
            with _naming(self._newest):
                self._handle = os.open(self._newest, os.O_RDWR)
                os.ftruncate(self._handle, self.end - first + len(MARK))
                os.fsync(self._handle)
                os.lseek(self._handle, 0, os.SEEK_END)
        else:
            self._handle = self._begin(first)
        write_flushed(self._folder, self.end)
        self._flushed = os.open(self._folder / FLUSHED, os.O_RDWR)
        return self

    def _path(self, first: int) -> Path:
        return _path(self._folder, first)

    def _begin(self, first: int) -> int:
        """Make a file, so that its name outlasts a loss of power."""
        path = self._path(first)
        with _naming(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, PRIVATE)
            _write(handle, MARK)
            os.fsync(handle)
            sync_folder(self._folder)
        return handle

    @property
    def first(self) -> int:
        """The offset of the oldest frame that is kept."""
        return self._firsts[0]

    def append(self, payload: bytes) -> int:
        """Write a frame and return the offset behind it; it is on the disk for sure after :meth:`flush`."""
        if len(payload) > LONGEST:
            raise ValueError(f"a frame of {len(payload)} bytes is longer than {LONGEST}")
        if self.end - self._firsts[-1] >= self._segment:
            self.begin_file()
        made = frame(self.end, payload)
        with _naming(self._newest):
            _write(self._handle, made)
        self.end += len(made)
        return self.end

    def begin_file(self) -> None:
        """End the newest file, on the disk, and begin another, unless it has no frame yet."""
        if self._firsts[-1] == self.end:
            return
        handle = self._begin(self.end)
        with _naming(self._newest):
            os.fsync(self._handle)
            os.close(self._handle)
        self._handle, self._newest = handle, self._path(self.end)
        self._firsts.append(self.end)
        self._sure = self.end
        self._tell_flushed(self.flushed)
        with _naming(self._folder / FLUSHED):
            os.fsync(self._flushed)

    def flush(self) -> None:
        """Wait until all that was written is on the disk.

        After an error nobody knows what is there, and the process must end.
        """
        written = self.end
        if self._waits:
            with _naming(self._newest):
                os.fdatasync(self._handle)
            self._sure = written
        self._tell_flushed(written)

    def sync(self) -> None:
        """Wait for the disk whether or not :meth:`flush` does, so that nothing is ahead of what is there."""
        if self._sure < self.end:
            with _naming(self._newest):
                os.fsync(self._handle)
            self._sure = self.end
            self._tell_flushed(self.end)

    def _tell_flushed(self, offset: int) -> None:
        self.flushed = offset
        with _naming(self._folder / FLUSHED):
            os.pwrite(self._flushed, Flushed(offset, self._sure).packed, 0)

    def read(self, start: int) -> Iterator[JournalFrame]:
        """Read the frames from an offset on.

        ValueError for an offset that is not kept, and, once the first frame is read, for one inside a frame.
        """
        if not self.first <= start <= self.end:
            raise DamageError(f"the journal holds offsets {self.first} to {self.end}, not {start}")
        if start == self.end:
            return iter(())
        return _read(self._folder, list(self._firsts), start)

    def drop_before(self, offset: int) -> None:
        """Delete files of which every frame ends at or before an offset."""
        while len(self._firsts) > 1 and self._firsts[1] <= offset:
            self._path(self._firsts[0]).unlink(missing_ok=True)
            del self._firsts[0]

    def close(self) -> None:
        """Close the files that :meth:`begin` has opened."""
        for handle in (self._handle, self._flushed):
            if handle >= 0:
                os.close(handle)


def flushed_in(folder: Path) -> Flushed:
    """How far the journal of a folder is on the disk, as far as the process that writes it waits for it.

    Raises
    ------
    DamageError
        For a file that is no such statement.
    OSError
        Where there is none.
    """
    path = folder / FLUSHED
    for _ in range(3):  # another process may be writing it
        data = path.read_bytes()
        if len(data) == _FLUSHED.size:
            found = Flushed(*_FLUSHED.unpack(data)[:2])
            if found.packed == data:
                return found
    raise DamageError(f"{path} is damaged, and does not say how far the journal was on the disk")


def write_flushed(folder: Path, offset: int) -> None:
    """Say that a journal is on the disk up to an offset, so that it outlasts a loss of power."""
    with replacing(folder / FLUSHED, PRIVATE) as file:
        file.write(Flushed(offset, offset).packed)


def _require_reached(folder: Path, end: int, sure: int) -> None:
    if end < sure:
        raise DamageError(
            f"the journal in {folder} can be read up to offset {end} and was on the disk up to {sure}: "
            f"{sure - end} bytes of acknowledged frames are missing or damaged"
        )


def has_frames(folder: Path) -> bool:
    """Tell whether a folder has a journal that began, with whatever is left of it."""
    return any(first or _path(folder, first).stat().st_size > len(MARK) for first in _firsts(folder))


def oldest_offset(folder: Path) -> int:
    """The offset at which the oldest file of a journal begins; 0 where there is none."""
    return min(_firsts(folder), default=0)


def cut_at_damage(folder: Path, start: int) -> int:
    """Leave of a journal what can be read, such that it reaches without a gap from an offset on, and return its end.

    Frames before the offset stay only if nothing is damaged from the oldest one on.
    """
    firsts = _firsts(folder)
    end = max((held.end for held in _readable(folder, firsts, start)), default=start)
    kept, oldest = [first for first in firsts if first < end], firsts[0] if firsts else start
    if max((held.end for held in _readable(folder, firsts, oldest)), default=oldest) < end:
        kept = [start] if start < end else []
        if start < end:
            with replacing(_path(folder, start), PRIVATE) as file:
                file.write(MARK)
                file.writelines(held.whole for held in _readable(folder, firsts, start))
    for first in {*_firsts(folder)} - {*kept}:
        _path(folder, first).unlink()
    if kept:
        os.truncate(_path(folder, kept[-1]), end - kept[-1] + len(MARK))
    write_flushed(folder, end)
    return end


def _readable(folder: Path, firsts: list[int], start: int) -> Iterator[JournalFrame]:
    """The frames from an offset on, up to the first that is missing or cannot be read."""
    with suppress(ValueError, FileNotFoundError):
        if firsts and firsts[0] <= start:
            yield from _read(folder, firsts, start)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file in errors of calls that know its number only."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def frames_in(data: bytes, offset: int) -> Iterator[JournalFrame]:
    """The frames in bytes that begin at an offset, up to the first that is not whole."""
    view, at = memoryview(data), 0
    while length := _is_whole(view, at, offset):
        at, offset = at + length, offset + length
        yield JournalFrame(bytes(view[at - length + HEAD.size : at]), offset)


def _path(folder: Path, first: int) -> Path:
    return folder / f"{PREFIX}{first:020d}"


def _firsts(folder: Path) -> list[int]:
    """The offsets at which the files of a folder begin."""
    names = (path.name for path in folder.glob(f"{PREFIX}*"))
    return sorted(int(name.removeprefix(PREFIX)) for name in names if _OURS.fullmatch(name))


def _read(folder: Path, firsts: list[int], start: int) -> Iterator[JournalFrame]:
    behind = [*firsts[1:], None]
    for first, following in zip(firsts, behind, strict=True):
        if following is None or start < following:
            at = max(start, first)
            yield from _frames(_path(folder, first), first, at, newest=following is None, following=following)


def _frames(path: Path, first: int, start: int, newest: bool, following: int | None = None) -> Iterator[JournalFrame]:
    """The frames of one file from an offset on."""
    with path.open("rb") as file:
        mark, size = file.read(len(MARK)), os.fstat(file.fileno()).st_size - len(MARK)
        if newest and start == first and len(mark) < len(MARK):  # another process is making it
            return
        if mark != MARK:
            raise DamageError(f"{path} is no journal of this version")
        if start - first > size:
            raise DamageError(f"{path.name} ends at offset {first + size}, before {start}")
        file.seek(start - first, os.SEEK_CUR)
        data = file.read()
    offset = start
    for held in frames_in(data, start):
        offset = held.end
        yield held
    rest = offset - start
    if data and not rest and not _can_begin(path, first, start, data):
        raise DamageError(f"no frame of {path.name} begins at offset {start}")
    if rest < len(data) and (not newest or _has_whole_behind(memoryview(data), rest, offset)):
        raise DamageError(f"{path} is damaged at offset {offset}")
    if following is not None and offset != following:
        raise DamageError(f"{path} ends at offset {offset}, and the next file begins at {following}")


def _can_begin(path: Path, first: int, offset: int, data: bytes) -> bool:
    """Tell of a frame that is not whole whether it begins at an offset: it says so itself, or another ends there."""
    if len(data) >= HEAD.size and HEAD.unpack_from(data)[2] == offset:
        return True
    with path.open("rb") as file:
        before = file.read(len(MARK) + offset - first)[len(MARK) :]
    end = first
    for held in frames_in(before, first):
        end = held.end
    return end == offset


def _write(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _has_whole_behind(data: memoryview, at: int, offset: int) -> bool:
    """Tell whether a whole frame stands behind a bad one: every frame says at which offset it stands."""
    last = len(data) - HEAD.size  # where a head may begin
    for start in range(at + 1, last + 1, SEARCHED):
        for first in range(start, min(start + 8, last + 1)):  # heads that begin 8 bytes apart are compared at once
            count = (min(start + SEARCHED - 1, last) - first) // 8 + 1
            offsets = np.frombuffer(data, "<i8", count, first + 8)
            expected = np.arange(offset + first - at, offset + first - at + 8 * count, 8, dtype=np.int64)
            for place in (first + 8 * np.flatnonzero(offsets == expected)).tolist():
                if _is_whole(data, place, offset + place - at):
                    return True
    return False
