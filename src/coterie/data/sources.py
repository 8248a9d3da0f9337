"""Files, URLs and standard input as decompressed byte streams with a count of the bytes read."""

from __future__ import annotations

import glob
import io
import stat
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from coterie.wording import nearest_file

from . import urls
from .errors import InputError
from .urls import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike
    from types import TracebackType

    import pyarrow as pa

STDIN = "-"
STDIN_NAME = "<stdin>"

# The first bytes of compressed data by codec, and the codecs of file name endings.
_CODECS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "lz4": b"\x04\x22\x4d\x18", "bz2": b"BZh"}
_SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".lz4": "lz4", ".bz2": "bz2"}
_LONGEST_MAGIC = 8


class _Counted(io.RawIOBase):
    """A stream that counts the bytes read, and can be peeked before the first read."""

    def __init__(self, file: IO[bytes]) -> None:
        self.position = 0
        self._ahead = file.read(_LONGEST_MAGIC) or b""
        self._file = file

    @property
    def empty(self) -> bool:
        """True if the stream is empty; call it before the first read."""
        return not self._ahead

    def begins_with(self, magic: bytes) -> bool:
        """Return True if the stream starts with these bytes; call it before the first read."""
        return self._ahead.startswith(magic)

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, or all of them for -1."""
        ahead, self._ahead = self._ahead, b""
        if 0 <= size < len(ahead):
            data, self._ahead = ahead[:size], ahead[size:]
        else:
            data = ahead + (self._file.read(size - len(ahead) if size >= 0 else -1) or b"")
        self.position += len(data)
        return data


class Source:
    """An open file, URL, or standard input; a context manager.

    Parameters
    ----------
    path : str
        A file's path, a URL, or ``"-"`` for standard input.

    Attributes
    ----------
    name : str
        Its name in messages.
    stream : file object
        The data, decompressed.
    """

    def __init__(self, path: str) -> None:
        self.name = STDIN_NAME if path == STDIN else path
        self._size: int | None = None
        self._reopen: Callable[[], pa.NativeFile] | None = None
        with ExitStack() as stack:
            file: IO[bytes]
            if path == STDIN:
                file = sys.stdin.buffer
            elif urls.is_url(path):
                file, self._reopen = stack.enter_context(urls.open_file(path)), partial(urls.open_seekable, path)
            else:
                file = stack.enter_context(Path(path).open("rb"))
                self._reopen = partial(urls.open_seekable, path) if Path(path).is_file() else None
            self._raw = self.stream = _Counted(file)
            codec = next((codec for codec, magic in _CODECS.items() if self._raw.begins_with(magic)), None)
            promised = _SUFFIXES.get("".join(_suffixes(path)[-1:]))
            if promised not in (None, codec) and not self._raw.empty:
                raise InputError(f"is not {promised} data, although its extension says so", self.name)
            if codec is not None:
                import pyarrow as pa

                self.stream = _Counted(pa.CompressedInputStream(pa.PythonFile(self._raw, mode="r"), codec))
                self._reopen = None
            self._stack = stack.pop_all()

    @property
    def position(self) -> int:
        """The number of bytes read from the file so far, before decompression."""
        return self._raw.position

    def advance(self, fraction: float) -> None:
        """Set the progress of a reopened file to this fraction of its bytes."""
        if self._size is not None:
            self._raw.position = int(fraction * self._size)

    def reopen(self) -> pa.NativeFile | None:
        """Reopen the file as a seekable pyarrow file; None if it is compressed or not a regular file."""
        if self._reopen is None:
            return None
        file = self._stack.enter_context(self._reopen())
        self._size = file.size()
        return file

    def add_callback(self, close: Callable[[], object]) -> None:
        """Register a function to call when this source is closed."""
        self._stack.callback(close)

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes of the data; empty only at the end."""
        return self.stream.read(size)

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


def find_paths(source: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[str]:
    """Return the files named by a path, a URL, a glob, ``"-"`` or a list of them; those of a glob sorted."""
    if hasattr(source, "columns"):
        raise InputError("expected a path, got a frame; pass frames as X to fit, progressive_validation or compare")
    names = [source] if isinstance(source, str) or hasattr(source, "__fspath__") else list(source)
    paths = [path for name in names for path in _expand(str(name))]
    if not paths:
        raise InputError("no file was given")
    return paths


def _expand(path: str) -> list[str]:
    if urls.is_url(path):
        local = urls.local_path(path)
        return urls.find_files(path) if local is None else _expand(local)
    if path == STDIN or Path(path).is_file():
        return [path]
    if Path(path).is_dir():
        raise InputError("is a folder; expected a file", path)
    files = sorted({name for name in glob.iglob(path, recursive=True) if Path(name).is_file()})  # noqa: PTH207
    if not files:
        # a named pipe or a device is no regular file, and is read all the same
        if Path(path).exists():
            return [path]
        missing = "no file matches this pattern" if glob.has_magic(path) else f"does not exist{nearest_file(path)}"
        raise InputError(missing, path)
    return files


def _suffixes(path: str) -> list[str]:
    """Return the file extensions of a name in lower case, such as ``[".csv", ".gz"]``."""
    return [suffix.lower() for suffix in Path(path).suffixes]


def format_suffix(path: str) -> str:
    """Return the file extension of the format, such as ``"csv"`` for ``a.csv.gz``."""
    suffixes = _suffixes(path)
    if suffixes and suffixes[-1] in _SUFFIXES:
        suffixes.pop()
    return suffixes[-1][1:] if suffixes else ""


class Fingerprint(NamedTuple):
    """The size of a file in bytes and its modification time in nanoseconds since 1970, to detect changes."""

    size: int
    modified: int


def fingerprint(path: str) -> Fingerprint:
    """Return the size and modification time of a file or a URL, to detect changes.

    For a URL it takes one request; stores have times in seconds or milliseconds.

    Raises
    ------
    InputError
        If it does not exist or cannot be read, its store does not answer, or it is a pipe, which has neither.

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
    if urls.is_url(path):
        return Fingerprint(*urls.size_and_time(path))
    with reading(path):
        facts = Path(path).stat()
    if not stat.S_ISREG(facts.st_mode):
        raise InputError("is not a regular file; its size and modification time are needed", path)
    return Fingerprint(facts.st_size, facts.st_mtime_ns)


def total_size(paths: Sequence[str]) -> int | None:
    """Return the total size of all files in bytes; None if a size is unknown."""
    if not all(urls.is_url(path) or Path(path).is_file() for path in paths):
        return None
    sizes = [urls.size_of_file(path) if urls.is_url(path) else Path(path).stat().st_size for path in paths]
    return None if None in sizes else sum(size or 0 for size in sizes)
