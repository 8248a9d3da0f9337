"""The journal of a service: frames of bytes one behind the other, in files of a bounded length.

A frame's offset is how many bytes of frames stand before it, in all files ever written. A file is called by the offset
it begins at, and begins with a mark of sixteen bytes. A frame is

    u32 length of the payload | u32 CRC-32 of all the rest | u64 offset | payload

in little-endian order. Only what was written last can be half written: a bad frame with a whole one somewhere behind it
is damage, and refused, not cut off. Beside the files lies ``flushed``, the offset up to which frames are on the disk,
as eight bytes that nobody waits for: who reads along must not be ahead of what a loss of power leaves.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MARK = b"coterie.journal\x01"
HEAD = struct.Struct("<IIQ")
PREFIX = "journal-"
FLUSHED = "flushed"
#: Bytes of frames after which a new file is begun.
SEGMENT = 2**28
#: Longer frames are refused when written, and taken for damage when read.
LONGEST = 2**30


class Frame(NamedTuple):
    """A payload, and the offset behind it."""

    payload: bytes
    end: int

    @property
    def whole(self) -> bytes:
        """The frame as it is in the journal."""
        return frame(self.end - HEAD.size - len(self.payload), self.payload)

    @property
    def last(self) -> Last:
        """Where the frame begins, and its checksum."""
        return Last.of(self.whole)


class Last(NamedTuple):
    """Where a frame begins, and its checksum: two journals that have it in common have all before it."""

    offset: int
    checksum: int

    @classmethod
    def of(cls, whole: bytes) -> Last:
        """The place and the checksum of a frame as it is in the journal."""
        _, checksum, offset = HEAD.unpack_from(whole)
        return cls(offset, checksum)


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

    Opening reads all of the newest file and cuts off a last frame that was not written whole.

    Parameters
    ----------
    folder : Path
        Where the files lie.
    segment : int
        Bytes after which a new file is begun.
    first : int
        The offset to begin at where there is no file yet.
    fsync : bool
        Whether :meth:`flush` waits for the disk; else written frames count as flushed at once.

    Attributes
    ----------
    end, flushed : int
        The offset behind the last frame, and behind the last that is on the disk for sure.
    last : Last or None
        The last frame of the newest file.

    Raises
    ------
    ValueError
        For a file that is no journal, is missing in between, or is damaged elsewhere than at its very end; the message
        names file and offset.
    OSError
        If files cannot be read or written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> journal = Journal(pathlib.Path(tempfile.mkdtemp()))
    >>> journal.append(b"first"), journal.append(b"second")
    (21, 43)
    >>> journal.flush()
    >>> [held.payload for held in journal.read(21)]
    [b'second']
    >>> journal.close()
    """

    def __init__(self, folder: Path, segment: int = SEGMENT, first: int = 0, fsync: bool = True) -> None:
        self._folder, self._segment, self._waits = folder, segment, fsync
        self._firsts = _firsts(folder)
        self.last: Last | None = None
        if self._firsts:
            self._handle, self.end = self._reopen(self._firsts[-1])
        else:
            self._firsts = [first]
            self._handle, self.end = self._begin(first), first
        self._flushed = os.open(folder / FLUSHED, os.O_RDWR | os.O_CREAT, 0o600)
        self._tell_flushed(self.end)

    def _path(self, first: int) -> Path:
        return _path(self._folder, first)

    def _begin(self, first: int) -> int:
        """Make a file, so that its name outlasts a loss of power."""
        handle = os.open(self._path(first), os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        _write(handle, MARK)
        os.fsync(handle)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return handle

    def _reopen(self, first: int) -> tuple[int, int]:
        """Go on in the newest file, behind its last whole frame."""
        path = self._path(first)
        if path.stat().st_size < len(MARK):  # it was made, and the power failed
            return self._begin(first), first
        end, held = first, None
        for held in _frames(path, first, first, newest=True):
            end = held.end
        self.last = None if held is None else held.last
        handle = os.open(path, os.O_RDWR)
        os.ftruncate(handle, end - first + len(MARK))
        os.fsync(handle)
        os.lseek(handle, 0, os.SEEK_END)
        return handle, end

    @property
    def first(self) -> int:
        """The offset of the oldest frame that is kept."""
        return self._firsts[0]

    def append(self, payload: bytes) -> int:
        """Write a frame and return the offset behind it; it is on the disk for sure after :meth:`flush`."""
        if len(payload) > LONGEST:
            raise ValueError(f"a frame of {len(payload)} bytes is longer than {LONGEST}")
        if self.end - self._firsts[-1] >= self._segment:
            handle = self._begin(self.end)
            os.fsync(self._handle)
            os.close(self._handle)
            self._handle = handle
            self._firsts.append(self.end)
        made = frame(self.end, payload)
        _write(self._handle, made)
        self.end, self.last = self.end + len(made), Last.of(made)
        return self.end

    def flush(self) -> None:
        """Wait until all that was written is on the disk.

        After an error nobody knows what is there, and the process must end.
        """
        written = self.end
        if self._waits:
            os.fdatasync(self._handle)
        self._tell_flushed(written)

    def _tell_flushed(self, offset: int) -> None:
        self.flushed = offset
        os.pwrite(self._flushed, offset.to_bytes(8, "little"), 0)

    def read(self, start: int, last: Last | None = None) -> Iterator[Frame]:
        """The frames from an offset on, at which the last frame ends that one has, if any.

        ValueError for an offset that is not kept, and, once the first frame is read, for one inside a frame, or if the
        last frame is not there.
        """
        if not self.first <= start <= self.end:
            raise ValueError(f"the journal holds offsets {self.first} to {self.end}, not {start}")
        return _behind(self._folder, list(self._firsts), start, last)

    def drop_before(self, offset: int) -> None:
        """Delete files of which every frame ends at or before an offset."""
        while len(self._firsts) > 1 and self._firsts[1] <= offset:
            self._path(self._firsts[0]).unlink()
            del self._firsts[0]

    def close(self) -> None:
        """Close the files."""
        os.close(self._handle)
        os.close(self._flushed)


def read_only(folder: Path, start: int | None = None, last: Last | None = None) -> Iterator[Frame]:
    """The frames of a journal that another process may be writing, from an offset or the oldest kept on.

    Raises
    ------
    ValueError
        If there is no journal, an offset is not kept, not reached or inside a frame, the last frame that one has is not
        there, or a file is damaged.
    """
    firsts = _firsts(folder)
    if not firsts:
        raise ValueError(f"{folder} has no journal")
    if start is not None and start < firsts[0]:
        raise ValueError(f"the journal in {folder} begins at offset {firsts[0]}, not {start}")
    return _behind(folder, firsts, firsts[0] if start is None else start, last)


def flushed_in(folder: Path) -> int:
    """The offset up to which the journal of a folder is on the disk, as far as the process that writes it waits for it.

    OSError where none was written.
    """
    return int.from_bytes((folder / FLUSHED).read_bytes(), "little")


def _behind(folder: Path, firsts: list[int], start: int, last: Last | None) -> Iterator[Frame]:
    """The frames from an offset on, once it is known that the last one before it is there, as far as it is kept."""
    if last is not None and last.offset < firsts[0]:
        last = None
    found = _read(folder, firsts, start if last is None else last.offset)
    if last is not None:
        there = next(found, None)
        if there is None or there.end != start or there.last != last:
            raise ValueError(f"the frame from offset {last.offset} to {start} is not there any more, or is another one")
    yield from found


def frames_in(data: bytes, offset: int) -> Iterator[Frame]:
    """The frames in bytes that begin at an offset, up to the first that is not whole."""
    view, at = memoryview(data), 0
    while length := _is_whole(view, at, offset):
        at, offset = at + length, offset + length
        yield Frame(bytes(view[at - length + HEAD.size : at]), offset)


def _path(folder: Path, first: int) -> Path:
    return folder / f"{PREFIX}{first:020d}"


def _firsts(folder: Path) -> list[int]:
    """The offsets at which the files of a folder begin."""
    names = (path.name.removeprefix(PREFIX) for path in folder.glob(f"{PREFIX}*"))
    return sorted(int(name) for name in names if len(name) == 20 and name.isdecimal())


def _read(folder: Path, firsts: list[int], start: int) -> Iterator[Frame]:
    behind = [*firsts[1:], None]
    for first, following in zip(firsts, behind, strict=True):
        if following is None or start < following:
            at = max(start, first)
            yield from _frames(_path(folder, first), first, at, newest=following is None, following=following)


def _frames(path: Path, first: int, start: int, newest: bool, following: int | None = None) -> Iterator[Frame]:
    """The frames of one file from an offset on."""
    with path.open("rb") as file:
        mark, size = file.read(len(MARK)), os.fstat(file.fileno()).st_size - len(MARK)
        if newest and start == first and len(mark) < len(MARK):  # another process is making it
            return
        if mark != MARK:
            raise ValueError(f"{path} is no journal of this version")
        if start - first > size:
            raise ValueError(f"{path.name} ends at offset {first + size}, before {start}")
        file.seek(start - first, os.SEEK_CUR)
        data = file.read()
    offset = start
    for held in frames_in(data, start):
        offset = held.end
        yield held
    rest = offset - start
    if data and not rest and not _can_begin(path, first, start, data):
        raise ValueError(f"no frame of {path.name} begins at offset {start}")
    if rest < len(data) and (not newest or _has_whole_behind(memoryview(data), rest, offset)):
        raise ValueError(f"{path} is damaged at offset {offset}")
    if following is not None and offset != following:
        raise ValueError(f"{path} ends at offset {offset}, and the next file begins at {following}")


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
    for step in range(1, len(data) - at - HEAD.size + 1):
        said = int.from_bytes(data[at + step + 8 : at + step + 16], "little")
        if said == offset + step and _is_whole(data, at + step, offset + step):
            return True
    return False
