"""Files, objects of stores and standard input as streams of bytes, decompressed, with the bytes read so far."""

from __future__ import annotations

import glob
import io
import os
import select
import stat
import sys
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from coterie.inputs.errors import InputError
from coterie.inputs.faults import reading
from coterie.wording import nearest_file

from . import stores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

STDIN = "-"
STDIN_NAME = "<stdin>"

# The first bytes of each kind of compressed data, and the endings of its files.
_CODECS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "lz4": b"\x04\x22\x4d\x18", "bz2": b"BZh"}
_SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".lz4": "lz4", ".bz2": "bz2"}
_LONGEST_MAGIC = 8

#: What comes out of a pipe within so many seconds of the first byte is one piece.
GATHERED_SECONDS = 1.0
#: So often it is asked whether to wait for more.
_ASKED_SECONDS = 0.1
_BUFFERED = 1 << 17


class _Counted(io.RawIOBase):
    """A stream that counts the bytes read, and whose first bytes can be looked at."""

    def __init__(self, file: IO[bytes], streamed: Callable[[Any], Any] = lambda file: file) -> None:
        self.position = 0
        self._ahead = file.read(_LONGEST_MAGIC) or b""
        self._file = streamed(file)

    @property
    def empty(self) -> bool:
        """True if there is nothing to read; valid before any is read."""
        return not self._ahead

    def begins_with(self, magic: bytes) -> bool:
        """True if these are the first bytes; valid before any is read."""
        return self._ahead.startswith(magic)

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, all that are left for -1."""
        ahead, self._ahead = self._ahead, b""
        if 0 <= size < len(ahead):
            data, self._ahead = ahead[:size], ahead[size:]
        else:
            data = ahead + (self._file.read(size - len(ahead) if size >= 0 else -1) or b"")
        self.position += len(data)
        return data


class _Pipe:
    """A stream that cannot be read again, read as its bytes come; whatever was taken from it is handed on.

    Parameters
    ----------
    raw : _Counted
        Of which no more than the first bytes have been looked at.
    file : file object
        The same, with a descriptor.
    asked : callable
        Returns whether to end rather than wait for more.
    """

    def __init__(self, raw: _Counted, file: Any, asked: Callable[[], bool]) -> None:
        self._raw, self._file, self._asked = raw, file, asked
        self._poll = select.poll()
        self._poll.register(file.fileno(), select.POLLIN)
        self.taken = self.broken_off = False

    def read(self, size: int, whole: bool) -> bytes:
        """Read up to `size` bytes: all of them if ``whole``, else those that come within a second of the first."""
        parts: list[bytes] = []
        until = None
        if not self.taken:  # the buffer of the file may hold some already, which no poll would tell; later it does not
            parts.append(self._raw.read(_LONGEST_MAGIC))
            if len(parts[0]) < _LONGEST_MAGIC or not self._take(parts, _BUFFERED):
                return parts[0]
            self.taken = True
            until = time.monotonic() + GATHERED_SECONDS
        while (left := size - sum(map(len, parts))) > 0 and not self._asked():
            if until is not None and not whole and time.monotonic() >= until:
                break
            if self._poll.poll(1000 * _ASKED_SECONDS):
                if not self._take(parts, left):
                    break
                until = until or time.monotonic() + GATHERED_SECONDS
        self.broken_off = not parts and self._asked()
        return b"".join(parts)

    def _take(self, parts: list[bytes], size: int) -> bool:
        """Add the bytes that are there, up to ``size``; False at the end of the stream."""
        part: bytes = self._file.read1(size)
        self._raw.position += len(part)
        parts.extend([part] if part else [])
        return bool(part)


class Source:
    """One opened file, object of a store, or standard input; a context manager.

    Parameters
    ----------
    path : str
        A file's path, a URL, or ``"-"`` for standard input.
    text : bool
        True if it holds records line by line, so that those of a pipe can be had as they come.
    whole : bool
        True if the first piece of it decides how all is read: it is the same then, however fast a pipe is filled.
    asked : callable, optional
        Returns whether to end rather than wait for more of a pipe.

    Attributes
    ----------
    name : str
        Its name in messages.
    stream : file object
        The data, decompressed.
    """

    def __init__(
        self, path: str, text: bool = False, whole: bool = True, asked: Callable[[], bool] = lambda: False
    ) -> None:
        self.name = STDIN_NAME if path == STDIN else path
        with ExitStack() as opened:
            file: Any
            self._again: Callable[[], Any] | None = None
            if stores.is_url(path):
                file, self._again = opened.enter_context(stores.opened(path)), partial(stores.open_again, path)
                self._raw = _Counted(file, stores.streamed)
            else:
                file = sys.stdin.buffer if path == STDIN else opened.enter_context(Path(path).open("rb"))
                self._raw = _Counted(file)
                if path != STDIN and Path(path).is_file():
                    self._again = partial(_opened_by_arrow, path)
            codec = next((codec for codec, magic in _CODECS.items() if self._raw.begins_with(magic)), None)
            promised = _SUFFIXES.get("".join(_suffixes(path)[-1:]))
            if promised not in (None, codec) and not self._raw.empty:
                raise InputError(f"is not {promised} data, though its name says so", self.name)
            self.stream = self._raw if codec is None else _Counted(_decompressed(self._raw, codec))
            if codec is not None:
                self._again = None
            piped = text and codec is None and _is_pipe(file)
            self._pipe = _Pipe(self._raw, file, asked) if piped else None
            self._whole = whole
            self._size: int | None = None
            self._held = opened.pop_all()

    @property
    def position(self) -> int:
        """The number of bytes read from the file so far, before decompression."""
        return self._raw.position

    def advance(self, fraction: float) -> None:
        """Record the fraction of what was `reopened` that has been read."""
        if self._size is not None:
            self._raw.position = int(fraction * self._size)

    def reopened(self) -> Any:
        """Open it once more, as a file of pyarrow's that is closed with this source; None if it cannot be read so.

        It cannot where it is compressed, or no regular file.
        """
        if self._again is None:
            return None
        file = self._held.enter_context(self._again())
        self._size = file.size()
        return file

    def hold(self, close: Callable[[], object]) -> None:
        """Close another resource when this source is closed, by this function."""
        self._held.callback(close)

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes of the data; empty only at the end."""
        if self._pipe is None:
            return self.stream.read(size)
        whole, self._whole = self._whole, False
        return self._pipe.read(size, whole)

    @property
    def growing(self) -> bool:
        """True if it is read as it comes, so that its first piece shows little of the others; before that is read."""
        return self._pipe is not None and not self._whole

    @property
    def holding(self) -> bool:
        """True if bytes were taken from where they cannot be had again."""
        return self._pipe is not None and self._pipe.taken

    @property
    def broken_off(self) -> bool:
        """True if the end of the data is not that of a pipe: the last record may not be whole."""
        return self._pipe is not None and self._pipe.broken_off

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *error: Any) -> None:
        self._held.__exit__(*error)


def _is_pipe(file: IO[bytes]) -> bool:
    """True for a pipe, a terminal or a socket: what is read of it is gone, and more may come."""
    with suppress(OSError, AttributeError):
        return hasattr(file, "read1") and hasattr(select, "poll") and not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    return False


def _decompressed(raw: _Counted, codec: str) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), codec)


def _opened_by_arrow(path: str) -> Any:
    import pyarrow as pa

    return pa.OSFile(path)


def find_paths(source: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[str]:
    """Resolve the files that a path, a URL, a glob, ``"-"`` or a list of them names, in order (a glob's are sorted)."""
    if hasattr(source, "columns"):
        raise InputError("a frame is no file: pass it as X to fit, progressive_validation or compare")
    given = [source] if isinstance(source, str) or hasattr(source, "__fspath__") else list(source)
    paths = [path for item in given for path in _expand(str(item))]
    if not paths:
        raise InputError("no file was named")
    return paths


def _expand(path: str) -> list[str]:
    if stores.is_url(path):
        local = stores.local_path(path)
        return stores.find(path) if local is None else _expand(local)
    if path == STDIN or Path(path).is_file():
        return [path]
    if Path(path).is_dir():
        raise InputError("is a folder; expected a file", path)
    found = sorted({name for name in glob.iglob(path, recursive=True) if Path(name).is_file()})  # noqa: PTH207
    if not found:
        # a named pipe or a device is no regular file, and is read all the same
        if Path(path).exists():
            return [path]
        missing = "no file matches this pattern" if glob.has_magic(path) else f"does not exist{nearest_file(path)}"
        raise InputError(missing, path)
    return found


def _suffixes(path: str) -> list[str]:
    """The extensions of a file's name, in small letters, or of that of a URL's object."""
    return [suffix.lower() for suffix in Path(stores.key_of(path) if stores.is_url(path) else path).suffixes]


def format_suffix(path: str) -> str:
    """The extension that tells a file's format, without the dot and without that of a compression."""
    suffixes = _suffixes(path)
    if suffixes and suffixes[-1] in _SUFFIXES:
        suffixes.pop()
    return suffixes[-1][1:] if suffixes else ""


class Fingerprint(NamedTuple):
    """The size of a file in bytes, and when it was written, in nanoseconds since 1970: a change alters one of them."""

    size: int
    modified: int


def fingerprint(path: str) -> Fingerprint:
    """The size of a file, or of a URL's object, and when it was last written: by which to notice that it was changed.

    Of a store it takes one request; stores tell times to the second or the millisecond.

    Raises
    ------
    InputError
        There is none, it may not be read, its store does not answer, or it is a pipe, of which neither is known.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "clicks.csv"
    >>> _ = path.write_text("user,click")
    >>> before = fingerprint(str(path))
    >>> _ = path.write_text("user,click,price")
    >>> before.size, fingerprint(str(path)) == before
    (10, False)
    """
    if stores.is_url(path):
        local = stores.local_path(path)
        return Fingerprint(*stores.size_and_time(path)) if local is None else fingerprint(local)
    with reading(path):
        found = Path(path).stat()
    if not stat.S_ISREG(found.st_mode):
        raise InputError("is no regular file, of which a size and a time are known", path)
    return Fingerprint(found.st_size, found.st_mtime_ns)


def total_size(paths: Sequence[str]) -> int | None:
    """The bytes of all files; None if one is neither a regular file nor an object."""
    urls = [path for path in paths if stores.is_url(path)]
    local = [path for path in paths if not stores.is_url(path)]
    if not all(Path(path).is_file() for path in local):
        return None
    found = [*stores.sizes(urls), *(Path(path).stat().st_size for path in local)]
    return None if None in found else sum(size or 0 for size in found)
