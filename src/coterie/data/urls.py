"""Files by URL, such as ``s3://bucket/key``, opened through fsspec."""

from __future__ import annotations

import errno
import glob
import re
import sys
from contextlib import contextmanager
from traceback import walk_tb
from typing import IO, TYPE_CHECKING

from .errors import FieldError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from fsspec import AbstractFileSystem

# A Path reduces two slashes to one.
_BEGIN = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+):/+", re.IGNORECASE)
_SECRET = re.compile(
    r"^s3a?:/+[^/@]*:[^@]*@|:/+[^/@]*:[^/@]*@|[?&](client_secret|sig|[\w-]*(key|token|signature))=", re.IGNORECASE
)
#: The extra that installs the reader of URLs, by scheme.
_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "azure"),
}
#: The names that stores and file systems give to the entries that change with a file.
_CHANGING = ("size", "ETag", "etag", "LastModified", "last_modified", "mtime", "created")
#: A store answers a request after tens of milliseconds, so that text is read in large pieces.
PIECE_BYTES = 1 << 24
CHANGED = "was changed while it was read: read it again"


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Context that adds the path to errors about a file, and converts errors of libraries to `InputError`."""
    try:
        yield
    except FieldError:
        raise
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(error.message, path, error.line, error.column, error.hint) from error
    except Exception as error:
        arrow = sys.modules.get("pyarrow")  # not loaded for its exceptions
        failures = (OSError, EOFError, MemoryError, UnicodeDecodeError, *([arrow.ArrowException] if arrow else []))
        if not isinstance(error, failures) and not _is_of_store(error):
            raise
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__
        message = f"cannot be read: {reason}"
        if is_url(path) and isinstance(error, FileNotFoundError):
            message = _why_not_found(error.__cause__)
        elif is_url(path) and isinstance(error, PermissionError):
            message = f"may not be read with the credentials of this environment ({error})"
        elif isinstance(error, OSError) and error.errno == errno.EBUSY:  # s3fs on another ETag
            message = CHANGED
        raise InputError(message, path) from error


def _why_not_found(cause: BaseException | None) -> str:
    """Return why a file was not found: a FileNotFoundError of fsspec has the failure of a web server as ``cause``."""
    status, reason = getattr(cause, "status", None), getattr(cause, "message", "")
    if not type(cause).__module__.startswith("aiohttp.") or status in (404, 410):
        return "does not exist"
    return f"cannot be read: {cause if status is None else f'the server answered {status} {reason}'}"


def _is_of_store(error: Exception) -> bool:
    """Return True if an error was raised by the library of a remote file system."""
    modules = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    if any(name.partition(".")[0] == "fsspec" for name in modules):
        return True
    *_, last = (i for i, name in enumerate(modules) if name.partition(".")[0] == "coterie")
    return last < len(modules) - 1 and modules[last] in (__name__, "coterie.data.sources")


def is_url(path: str) -> bool:
    """Return True if a path is a URL.

    Examples
    --------
    >>> is_url("s3://logs/2026.csv"), is_url("logs/2026.csv"), is_url("C:/logs/2026.csv")
    (True, False, False)
    """
    return _BEGIN.match(path) is not None


def local_path(url: str) -> str | None:
    """Return the local path of a ``file:`` URL; None for other URLs.

    Examples
    --------
    >>> local_path("file:///data/logs.csv"), local_path("s3://logs/2026.csv")
    ('/data/logs.csv', None)
    """
    return _BEGIN.sub("/", url) if url[:5].lower() == "file:" else None


def find_files(url: str) -> list[str]:
    """Return the files that a URL with an fsspec glob matches, in order.

    Raises
    ------
    InputError
        If there is no such file, a package is missing, or the store refuses or does not answer.
    """
    scheme, _, rest = url.partition(":")
    if _SECRET.search(url):
        raise InputError(
            "contains a password or a key, which messages and reports would show; leave it out, and set it in the "
            "environment or in the store's configuration file",
            f"{scheme.lower()}://…",
        )
    url = f"{scheme.lower()}://{rest.lstrip('/')}"
    with reading(url):
        system, path = _locate(url)
        if not glob.has_magic(path) or system.isfile(path):
            if system.info(path)["type"] != "file":
                raise InputError("is a folder; expected a file, or a pattern such as folder/*.parquet")
            return [url]
        names = sorted(name for name, info in system.glob(path, detail=True).items() if info["type"] == "file")
        if not names:
            raise InputError("no file matches this pattern")
    begin = url.removesuffix(path.partition("/")[2])
    return [begin + name.partition("/")[2] for name in names]


def size_of_file(url: str) -> int | None:
    """Return the size of a remote file in bytes; None if the file system does not report it."""
    with reading(url):
        system, path = _locate(url)
        return system.size(path)  # type: ignore[no-any-return]


def size_and_time(url: str) -> tuple[int, int]:
    """Return the size of a remote file in bytes, and its modification time in nanoseconds since 1970."""
    with reading(url):
        system, path = _locate(url)
        return system.info(path)["size"], int(system.modified(path).timestamp() * 1e6) * 1000


@contextmanager
def open_file(url: str) -> Iterator[IO[bytes]]:
    """Open a remote file for reading; raise InputError if it has changed since its size was read."""
    with reading(url):
        system, path = _locate(url)
        before = _identity(system, path)
        with system.open(path, block_size=PIECE_BYTES, cache_type="readahead") as file:
            yield file
        if _identity(system, path) != before:
            raise InputError(CHANGED)


def open_seekable(url: str) -> pa.NativeFile:
    """Open a remote file, or one at a path, for random access, as a pyarrow file."""
    import pyarrow as pa

    if not is_url(url):
        return pa.OSFile(url)
    system, path = _locate(url)
    return pa.PythonFile(system.open(path, cache_type="none"), mode="r")


def _identity(system: AbstractFileSystem, path: str) -> tuple[object, ...]:
    """Return properties of a remote file that change with its content, such as its ETag."""
    system.invalidate_cache()
    info = system.info(path)
    return tuple(info.get(name) for name in _CHANGING)


def _locate(url: str) -> tuple[AbstractFileSystem, str]:
    """Return the fsspec file system of a URL and the path within it; raise InputError if a package is missing."""
    extra = _EXTRAS.get(url[: url.index(":")].lower())
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(url)
    except ImportError as error:
        install = f"pip install 'coterie[{extra}]'" if extra else f"pip install fsspec ({error})"
        raise InputError(f"needs a package that is not installed: {install}", url) from error
    system.invalidate_cache()
    return system, path
