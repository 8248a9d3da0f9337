"""The journal of a service: a sequence of frames, in files of bounded length.

A frame's offset is the number of bytes of all earlier frames, including those of deleted files. The name of a file has
the offset of its first frame, and the file starts with 16 magic bytes. A frame is

    u32 length of the payload | u32 CRC-32 of all the rest | u64 offset | payload

in little-endian order. Only the last frame can be incomplete, and is then cut off. A bad frame before a complete one is
damage, and raises an error.

The file ``flushed`` has the offset up to which frames are on the disk; a journal that ends before it has lost
acknowledged frames. It is written after every flush of the journal. It is flushed only at the end of each journal
file, so that it may be some seconds old after a power failure.
"""

from __future__ import annotations

import errno
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
#: The number of bytes to search at once for a complete frame after a damaged one.
SEARCHED = 2**20
#: The permissions of files: no other user of the machine reads records.
PRIVATE = 0o600
#: Longer frames are refused when written, and taken for damage when read.
LONGEST = 2**30


class DamageError(ValueError):
    """Error for journal frames that are missing or unreadable."""


class JournalFrame(NamedTuple):
    """The payload of a frame, and the offset of its end."""

    payload: bytes
    end: int


def pack_frame(offset: int, payload: bytes) -> bytes:
    """Return the bytes of a frame that starts at this offset."""
    rest = struct.pack("<IQ", len(payload), offset)
    return HEAD.pack(len(payload), zlib.crc32(payload, zlib.crc32(rest)), offset) + payload


def _measure_frame(data: memoryview, at: int, offset: int) -> int:
    """Return the length of the frame at index ``at`` of ``data``.

    0 if it is incomplete or not the frame of this offset.
    """
    if len(data) - at < HEAD.size:
        return 0
    length, checksum, own_offset = HEAD.unpack_from(data, at)
    end = at + HEAD.size + length
    if own_offset != offset or length > LONGEST or end > len(data):
        return 0
    rest = struct.pack("<IQ", length, offset)
    return HEAD.size + length if zlib.crc32(data[at + HEAD.size : end], zlib.crc32(rest)) == checksum else 0


class Journal:
    """The journal of a folder: frames in files, written by the one process that has locked the folder.

    Opening reads all of the newest file and writes nothing. :meth:`begin` cuts off an incomplete last frame that was
    not flushed; only then can frames be appended.

    Parameters
    ----------
    folder : Path
        The folder of the files.
    segment : int
        Bytes after which a new file is begun.
    first : int
        The offset to begin at if there is no file yet.

    Attributes
    ----------
    end, flushed : int
        The offset after the last frame, and after the last one on the disk, which may be acknowledged.

    Raises
    ------
    DamageError
        If a file is not a journal, is missing, is damaged before its last frame, or ends before the flushed offset; the
        message names file and offset.
    OSError
        If files cannot be read or written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> journal = Journal(pathlib.Path(tempfile.mkdtemp())).begin()
    >>> journal.append(b"first"), journal.append(b"second")
    (21, 43)
    >>> journal.flush()
    >>> [frame.payload for frame in journal.read(21)]
    [b'second']
    >>> journal.close()
    """

    def __init__(self, folder: Path, segment: int = SEGMENT, first: int = 0) -> None:
        self._folder, self._segment = folder, segment
        self._firsts = firsts_in(folder) or [first]
        known = read_flushed(folder) if (folder / FLUSHED).exists() else 0
        self._newest, self.end = _path(folder, self._firsts[-1]), self._firsts[-1]
        if self._has_mark():
            for frame in _frames(self._newest, self.end, self.end):
                self.end = frame.end
        if self.end < known:
            raise DamageError(
                f"the journal in {folder} can be read up to offset {self.end} and was on the disk up to {known}: "
                f"{known - self.end} bytes of acknowledged frames are missing or damaged"
            )
        self.flushed = self.end
        self._handle = self._flushed = -1

    def _has_mark(self) -> bool:
        """Return True if the newest file starts with the magic bytes.

        They are missing after a power failure at its creation.
        """
        return self._newest.exists() and self._newest.stat().st_size >= len(MARK)

    def begin(self) -> Self:
        """Open the newest file for writing, and truncate an incomplete last frame."""
        if self._has_mark():
            with _name_errors(self._newest):
                self._handle = os.open(self._newest, os.O_RDWR)
                os.ftruncate(self._handle, self.end - self._firsts[-1] + len(MARK))
                os.fsync(self._handle)
                os.lseek(self._handle, 0, os.SEEK_END)
            write_flushed(self._folder, self.end)
        else:  # without `flushed`, a journal is damaged
            write_flushed(self._folder, self.end)
            self._handle = self._create(self._newest)
        self._flushed = os.open(self._folder / FLUSHED, os.O_RDWR)
        return self

    def _create(self, path: Path) -> int:
        """Create a journal file, and flush its directory entry to disk."""
        with _name_errors(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, PRIVATE)
            _write(handle, MARK)
            os.fsync(handle)
            sync_folder(self._folder)
        return handle

    @property
    def first(self) -> int:
        """The offset of the oldest frame."""
        return self._firsts[0]

    def append(self, payload: bytes) -> int:
        """Write a frame, and return the offset after it; it is on disk only after :meth:`flush`."""
        if len(payload) > LONGEST:
            raise ValueError(f"a frame of {len(payload)} bytes is longer than {LONGEST}")
        if self.end - self._firsts[-1] >= self._segment:
            self.begin_file()
        self._require_files()  # or a cut file would go on behind a hole
        frame = pack_frame(self.end, payload)
        with _name_errors(self._newest):
            _write(self._handle, frame)
        self.end += len(frame)
        return self.end

    def begin_file(self) -> None:
        """Close the newest file and create the next one, unless the newest has no frames yet."""
        if self._firsts[-1] == self.end:
            return
        path = _path(self._folder, self.end)
        handle = self._create(path)
        with _name_errors(self._newest):
            os.fsync(self._handle)
            os.close(self._handle)
        self._handle, self._newest = handle, path
        self._firsts.append(self.end)
        with _name_errors(self._folder / FLUSHED):
            os.fsync(self._flushed)

    def flush(self) -> None:
        """Flush all written frames to disk; raise OSError if their file was deleted or truncated.

        After an error the state of the disk is unknown, and the process must stop.
        """
        self._require_files()
        with _name_errors(self._newest):
            os.fdatasync(self._handle)
        self.flushed = self.end
        with _name_errors(self._folder / FLUSHED):
            os.pwrite(self._flushed, _pack_flushed(self.end), 0)

    def _require_files(self) -> None:
        """Raise OSError if a file was deleted or truncated while it is open."""
        written = len(MARK) + self.end - self._firsts[-1]
        for path, handle, size in ((self._newest, self._handle, written), (self._folder / FLUSHED, self._flushed, 0)):
            file = os.fstat(handle)
            if not file.st_nlink or file.st_size < size:
                raise OSError(errno.EIO, "deleted or cut while it was written to", str(path))

    def read(self, start: int) -> Iterator[JournalFrame]:
        """Yield the frames from offset ``start`` on.

        Raises DamageError for an offset out of range and, when the first frame is read, for one inside a frame.
        """
        if not self.first <= start <= self.end:
            raise DamageError(f"the journal holds offsets {self.first} to {self.end}, not {start}")
        if start == self.end:
            return iter(())
        return _read(self._folder, list(self._firsts), start)

    def drop_before(self, offset: int) -> None:
        """Delete the files that contain only frames before an offset."""
        while len(self._firsts) > 1 and self._firsts[1] <= offset:
            _path(self._folder, self._firsts[0]).unlink(missing_ok=True)
            del self._firsts[0]

    def close(self) -> None:
        """Close the files that :meth:`begin` opened."""
        for handle in (self._handle, self._flushed):
            if handle >= 0:
                os.close(handle)


def _pack_flushed(offset: int) -> bytes:
    """Return the content of the ``flushed`` file, with a checksum."""
    packed = offset.to_bytes(8, "little")
    return packed + zlib.crc32(packed).to_bytes(4, "little")


def read_flushed(folder: Path) -> int:
    """Return the offset up to which the journal of a folder was flushed to disk.

    Raises
    ------
    DamageError
        If the file is damaged.
    OSError
        If the file does not exist.
    """
    data = (folder / FLUSHED).read_bytes()
    offset = int.from_bytes(data[:8], "little")
    if _pack_flushed(offset) != data:
        raise DamageError(f"{folder / FLUSHED} is damaged and does not show how much of the journal was on the disk")
    return offset


def write_flushed(folder: Path, offset: int) -> None:
    """Write the flushed offset of a journal to disk."""
    with replacing(folder / FLUSHED, PRIVATE) as file:
        file.write(_pack_flushed(offset))


def has_frames(folder: Path) -> bool:
    """Return True for a folder with frames, or with more than one journal file."""
    return any(first or _path(folder, first).stat().st_size > len(MARK) for first in firsts_in(folder))


def cut_at_damage(folder: Path, start: int) -> int:
    """Truncate a journal at the first gap or damage after an offset; return its new end."""
    firsts, end = firsts_in(folder), start
    with replacing(_path(folder, start), PRIVATE) as file:
        file.write(MARK)
        for frame in _readable(folder, firsts, start):
            file.write(pack_frame(end, frame.payload))
            end = frame.end
    for first in {*firsts} - {start}:
        _path(folder, first).unlink()
    write_flushed(folder, end)
    return end


def _readable(folder: Path, firsts: list[int], start: int) -> Iterator[JournalFrame]:
    """Yield the frames of a journal from the offset ``start`` on, up to the first missing or damaged one."""
    with suppress(ValueError, FileNotFoundError):
        if firsts and firsts[0] <= start:
            yield from _read(folder, firsts, start)


@contextmanager
def _name_errors(path: Path) -> Iterator[None]:
    """Context that adds the file name to errors of calls on a file descriptor."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def frames_in(data: bytes, offset: int) -> Iterator[JournalFrame]:
    """Yield the frames in bytes that start at an offset, up to the first incomplete one."""
    view, at = memoryview(data), 0
    while length := _measure_frame(view, at, offset):
        at, offset = at + length, offset + length
        yield JournalFrame(bytes(view[at - length + HEAD.size : at]), offset)


def _path(folder: Path, first: int) -> Path:
    return folder / f"{PREFIX}{first:020d}"


def firsts_in(folder: Path) -> list[int]:
    """Return the offsets of the first frames of the journal files in a folder."""
    names = (path.name for path in folder.glob(f"{PREFIX}*"))
    return sorted(int(name.removeprefix(PREFIX)) for name in names if _OURS.fullmatch(name))


def _read(folder: Path, firsts: list[int], start: int) -> Iterator[JournalFrame]:
    for first, following in zip(firsts, [*firsts[1:], None], strict=True):
        if following is None or start < following:
            yield from _frames(_path(folder, first), first, max(start, first), following)


def _frames(path: Path, first: int, start: int, following: int | None = None) -> Iterator[JournalFrame]:
    """Yield the frames of one file from an offset on; ``following`` is the next file's offset, or None."""
    with path.open("rb") as file:
        mark, size = file.read(len(MARK)), os.fstat(file.fileno()).st_size - len(MARK)
        if following is None and size < 0:  # the power failed while the file was made
            return
        if mark != MARK:
            raise DamageError(f"{path} is not a journal of this version")
        if start - first > size:
            raise DamageError(f"{path.name} ends at offset {first + size}, before {start}")
        file.seek(start - first, os.SEEK_CUR)
        data = file.read()
    offset = start
    for frame in frames_in(data, start):
        offset = frame.end
        yield frame
    rest = offset - start
    if data and not rest and start > first:
        raise DamageError(f"no frame of {path.name} begins at offset {start}")
    if rest < len(data) and (following is not None or _has_frame_behind(memoryview(data), rest, offset)):
        raise DamageError(f"{path} is damaged at offset {offset}")
    if following is not None and offset != following:
        raise DamageError(f"{path} ends at offset {offset}, but the next file starts at {following}")


def _write(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _has_frame_behind(data: memoryview, at: int, offset: int) -> bool:
    """Return True if a complete frame follows an unreadable one in ``data``."""
    last = len(data) - HEAD.size  # the last offset of a complete head
    for start in range(at + 1, last + 1, SEARCHED):
        for first in range(start, min(start + 8, last + 1)):  # heads that begin 8 bytes apart are compared at once
            count = (min(start + SEARCHED - 1, last) - first) // 8 + 1
            offsets = np.frombuffer(data, "<i8", count, first + 8)
            expected = np.arange(offset + first - at, offset + first - at + 8 * count, 8, dtype=np.int64)
            for place in (first + 8 * np.flatnonzero(offsets == expected)).tolist():
                if _measure_frame(data, place, offset + place - at):
                    return True
    return False
