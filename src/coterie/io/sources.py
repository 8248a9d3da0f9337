"""Files and standard input as streams of bytes, decompressed, with the bytes read so far."""

from __future__ import annotations

import glob
import io
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from coterie.inputs.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike

STDIN = "-"
STDIN_NAME = "<stdin>"

# The first bytes of each kind of compressed data, and the endings of its files.
_CODECS = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "lz4": b"\x04\x22\x4d\x18", "bz2": b"BZh"}
_SUFFIXES = {".gz": "gzip", ".zst": "zstd", ".lz4": "lz4", ".bz2": "bz2"}
_LONGEST_MAGIC = 8


class _Counted(io.RawIOBase):
    """A stream that counts the bytes read, and whose first bytes can be looked at."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.position = 0
        self._ahead = file.read(_LONGEST_MAGIC) or b""

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


class Source:
    """One opened file, or standard input; a context manager.

    Parameters
    ----------
    path : str
        A file's path, or ``"-"`` for standard input.

    Attributes
    ----------
    name : str
        Its name in messages.
    stream : file object
        The data, decompressed.
    local : str or None
        The path, if the file is not compressed and can be read in any order.
    """

    def __init__(self, path: str) -> None:
        self.name = STDIN_NAME if path == STDIN else path
        with ExitStack() as opened:
            file = sys.stdin.buffer if path == STDIN else opened.enter_context(Path(path).open("rb"))
            self._raw = _Counted(file)
            codec = next((codec for codec, magic in _CODECS.items() if self._raw.begins_with(magic)), None)
            promised = _SUFFIXES.get(Path(path).suffix.lower())
            if promised not in (None, codec) and not self._raw.empty:
                raise InputError(f"is not {promised} data, though its name says so", self.name)
            self.stream = self._raw if codec is None else _Counted(_decompressed(self._raw, codec))
            self.local = path if codec is None and path != STDIN and Path(path).is_file() else None
            self._held = opened.pop_all()

    @property
    def position(self) -> int:
        """The number of bytes read from the file so far, before decompression."""
        return self._raw.position

    def advance(self, fraction: float) -> None:
        """Record the fraction of a `local` file that was read by other means."""
        if self.local is not None:
            self._raw.position = int(fraction * Path(self.local).stat().st_size)

    def hold(self, close: Callable[[], object]) -> None:
        """Close another resource when this source is closed, by this function."""
        self._held.callback(close)

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes of the data; empty only at the end."""
        return self.stream.read(size)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()


def _decompressed(raw: _Counted, codec: str) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), codec)


def find_paths(source: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[str]:
    """Resolve the files that a path, a glob, ``"-"`` or a list of them names, in order (a glob's are sorted)."""
    given = [source] if isinstance(source, str) or hasattr(source, "__fspath__") else list(source)
    paths = [path for item in given for path in _expand(str(item))]
    if not paths:
        raise InputError("no file was named")
    return paths


def _expand(path: str) -> list[str]:
    if path == STDIN or Path(path).is_file():
        return [path]
    if Path(path).is_dir():
        raise InputError("is a folder; expected a file", path)
    found = sorted(name for name in glob.iglob(path, recursive=True) if Path(name).is_file())  # noqa: PTH207
    if not found:
        # a named pipe or a device is no regular file, and is read all the same
        if Path(path).exists():
            return [path]
        raise InputError("no file matches this pattern" if glob.has_magic(path) else "does not exist", path)
    return found


def format_suffix(path: str) -> str:
    """The extension that tells a file's format, without the dot and without that of a compression."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in _SUFFIXES:
        suffixes.pop()
    return suffixes[-1][1:] if suffixes else ""


def total_size(paths: Sequence[str]) -> int | None:
    """The bytes of all files; None if one is not a regular file."""
    if not all(Path(path).is_file() for path in paths):
        return None
    return sum(Path(path).stat().st_size for path in paths)
