"""Files by URL, as ``s3://bucket/key``, through fsspec and its packages for each kind of store."""

from __future__ import annotations

import errno
import glob
import io
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from coterie.inputs.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

# One slash is what a Path leaves of two.
_BEGIN = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+):/+", re.IGNORECASE)
_SECRET = re.compile(
    r"^s3a?:/+[^/@]*:[^@]*@|:/+[^/@]*:[^/@]*@|[?&](client_secret|sig|[\w-]*(key|token|signature))=", re.IGNORECASE
)
#: The extra that installs what reads URLs of a kind.
_EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gcs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "azure"),
}
#: What stores and file systems call the entries that change with a file.
_CHANGING = ("size", "ETag", "etag", "LastModified", "last_modified", "mtime", "created")
_CHANGED = "was changed while it was read: read it again"
#: A store answers a request after tens of milliseconds, so that text is read in large pieces.
PIECE_BYTES = 1 << 24


def is_url(path: str) -> bool:
    """Return whether a path is a URL.

    Examples
    --------
    >>> is_url("s3://logs/2026.csv"), is_url("logs/2026.csv"), is_url("C:/logs/2026.csv")
    (True, False, False)
    """
    return _BEGIN.match(path) is not None


def local_path(url: str) -> str | None:
    """Return the path of a ``file:`` URL; None for all others.

    Examples
    --------
    >>> local_path("file:///data/logs.csv"), local_path("s3://logs/2026.csv")
    ('/data/logs.csv', None)
    """
    return "/" + url[_end_of_scheme(url) :] if url[:5].lower() == "file:" else None


def find(url: str) -> list[str]:
    """Resolve the files that a URL names, in order; its path may be a glob of fsspec.

    Raises
    ------
    InputError
        If there is no such file, a package is missing, or the store refuses or does not answer.
    """
    scheme, end = url[: url.index(":")].lower(), _end_of_scheme(url)
    if _SECRET.search(url):
        raise InputError(
            "contains a password or a key, which messages and reports would show; leave it out, and set it in the "
            "environment or in the store's configuration file",
            f"{scheme}://…",
        )
    url = f"{scheme}://{url[end:]}"
    with _store_errors(url):
        system, path = _located(url)
        system.invalidate_cache()
        if not glob.has_magic(path) or system.isfile(path):
            if system.info(path)["type"] != "file":
                raise InputError("is a folder; expected a file, or a pattern such as folder/*.parquet", url)
            return [url]
        found = system.glob(path, detail=True)
    names = sorted(name for name, info in found.items() if info["type"] == "file")
    if not names:
        raise InputError("no file matches this pattern", url)
    begin = url.removesuffix(path.partition("/")[2])
    return [begin + name.partition("/")[2] for name in names]


def size(url: str) -> int | None:
    """Return the size of a file in bytes; None if the store does not tell."""
    with _store_errors(url):
        system, path = _located(url)
        found: int | None = system.size(path)
        return found


def size_and_time(url: str) -> tuple[int, int]:
    """Return the size of a file in bytes, and when it was written, in nanoseconds since 1970."""
    with _store_errors(url):
        system, path = _located(url)
        system.invalidate_cache()
        return system.info(path)["size"], int(system.modified(path).timestamp() * 1e6) * 1000


@contextmanager
def normalized_input(url: str) -> Iterator[io.RawIOBase]:
    """Open a file for reading from its beginning; refuse one that was changed meanwhile."""
    with _store_errors(url):
        system, path = _located(url)
        before = _identity(system, path)
        file = system.open(path, block_size=PIECE_BYTES, cache_type="readahead")
    try:
        yield _File(file, url)
    finally:
        file.close()
    with _store_errors(url):
        if _identity(system, path) != before:
            raise InputError(_CHANGED, url)


def open_anywhere(url: str) -> Any:
    """Open a file for reading in any order, as a file of pyarrow's."""
    import pyarrow as pa

    with _store_errors(url):
        system, path = _located(url)
        return pa.PythonFile(_File(system.open(path, cache_type="none"), url), mode="r")


class _File(io.RawIOBase):
    """A file of fsspec's whose errors are `InputError`."""

    def __init__(self, file: Any, url: str) -> None:
        self._file, self._url = file, url

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)  # type: ignore[no-any-return]

    def tell(self) -> int:
        return self._file.tell()  # type: ignore[no-any-return]

    def read(self, size: int = -1) -> bytes:
        with _store_errors(self._url):
            return self._file.read(size)  # type: ignore[no-any-return]

    def close(self) -> None:
        self._file.close()
        super().close()


def _end_of_scheme(url: str) -> int:
    found = _BEGIN.match(url)
    return 0 if found is None else found.end()


def _identity(system: Any, path: str) -> tuple[Any, ...]:
    """What a store says of a file that changes with it."""
    system.invalidate_cache()
    info = system.info(path)
    return tuple(info.get(name) for name in _CHANGING)


def _located(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path there.

    Raises
    ------
    InputError
        If a package is missing, or the kind of URL is unknown.
    """
    extra = _EXTRAS.get(url[: url.index(":")].lower())
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(url)
    except ImportError as error:
        install = f"pip install 'coterie[{extra}]'" if extra else f"pip install fsspec ({error})"
        raise InputError(f"needs a package that is not installed: {install}", url) from error
    return system, path


@contextmanager
def _store_errors(url: str) -> Iterator[None]:
    """Turn errors of a store's library, which has classes of its own, into `InputError`."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(_reason(error), url) from error


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, PermissionError):
        return f"may not be read with the credentials of this environment ({error})"
    if isinstance(error, OSError) and error.errno == errno.EBUSY:  # what s3fs says of another ETag
        return _CHANGED
    return f"cannot be read: {str(error).partition(chr(10))[0] or type(error).__name__}"
