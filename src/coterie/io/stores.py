"""Objects of stores by URL, as ``s3://bucket/key``, through pyarrow's file systems."""

from __future__ import annotations

import glob
import re
from collections import defaultdict
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from urllib.request import url2pathname

from coterie.inputs.errors import InputError
from coterie.inputs.faults import reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# One slash is what a Path leaves of two.
_BEGIN = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+):/", re.IGNORECASE)
_URL = re.compile(rf"{_BEGIN.pattern}/?(?P<root>[^/?]*)/*(?P<key>.*?)(?P<options>\?\w+=[^?]*)?", re.I | re.DOTALL)
_FILE = re.compile(r"file:/(/(localhost)?/)?", re.IGNORECASE)
_SECRET = re.compile(r"^s3:/+[^/@]*:[^@]*@|:/+[^/@]*:[^/@]*@|[?&](client_secret|sig|\w*key|\w*token)=", re.IGNORECASE)
_EXPECTED = "s3://bucket/key, gs://bucket/key, abfs://container@account.dfs.core.windows.net/key or a path"

# What the stores' libraries say, each in words of its own.
_DENIED = re.compile(
    r"access_?denied|permission[_ ]?denied|unauthenticated|authenticat|signature|access_key|access token|expired"
    r"|forbidden|(code|status|http)\W+40[13]\b",
    re.IGNORECASE,
)
_SILENT = re.compile(r"network_connection|unavailable|deadline|time(d |_)?out|resolve host|connect", re.IGNORECASE)
_LONGEST_REASON = 100

#: A store answers a request after tens of milliseconds, so a stream asks for much at a time.
PIECE_BYTES = 1 << 24
#: Of more objects than so many in a folder, the folder is listed rather than each of them asked for.
_ASKED_FOR = 16
#: Google's library tries for a quarter of an hour if it is not told otherwise; the others give up within two minutes.
_GOOGLE_SECONDS = 60


class _Place(NamedTuple):
    """Where an object is: the file system, what its paths begin with there (as ``"bucket/"``), and its path."""

    system: Any
    root: str
    path: str


def is_url(path: str) -> bool:
    """True for what begins as a URL does.

    Examples
    --------
    >>> is_url("s3://logs/2026.csv"), is_url("logs/2026.csv"), is_url("C:/logs/2026.csv")
    (True, False, False)
    """
    return _BEGIN.match(path) is not None


def key_of(url: str) -> str:
    """The path within the store, without the bucket and without options.

    Examples
    --------
    >>> key_of("s3://logs/2026/*.csv.gz?region=eu-west-1")
    '2026/*.csv.gz'
    """
    return _parts(url)["key"]


def local_path(url: str) -> str | None:
    """The path that the URL of a file of this machine means; None for all others.

    Examples
    --------
    >>> local_path("file:///data/my%20logs.csv"), local_path("s3://logs/2026.csv")
    ('/data/my logs.csv', None)
    """
    if _parts(url)["scheme"].lower() != "file":
        return None
    begin = _FILE.match(url)
    if begin is None or (begin[1] is None and url.startswith("//", 5)):
        raise InputError("names a file of another machine; expected file:///path", url)
    return url2pathname("/" + url[begin.end() :])


def find(url: str) -> list[str]:
    """Resolve the objects that a URL names, whose path may be a glob as that of files may, in order.

    It takes one or two requests, for a glob one more for each thousand objects below what comes before its first
    wildcard.

    Raises
    ------
    InputError
        There is no such object, bucket or kind of store; it may not be read; the store does not answer.
    """
    with _worded(url):
        place = _located(url)
        found = place.system.get_file_info(place.path)
        if found.is_file:
            return [url]
        if not glob.has_magic(key_of(url)):
            _refuse_missing(url, found)
        parts = key_of(url).split("/")
        plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
        folder, pattern = "".join(f"{part}/" for part in parts[:plain]), parts[plain:]
        below = _below(place.system, place.root + folder, pattern)
        names = sorted(name for name in below if _fits(name.split("/"), pattern))
        if not names:
            _refuse_missing(url, found)
        options = _parts(url)["options"] or ""
        return [f"{_bucket_of(url)}/{folder}{name}{options}" for name in names]


def sizes(urls: Sequence[str]) -> list[int | None]:
    """The bytes of objects, None for what is none; those of one folder are asked for together."""
    folders = defaultdict(list)
    for url in urls:
        folders[_bucket_of(url), key_of(url).rpartition("/")[0]].append(url)
    found: dict[str, int | None] = {}
    for together in folders.values():
        with _worded(together[0]):
            found |= _sizes_in_folder(together)
    return [found[url] for url in urls]


def size_and_time(url: str) -> tuple[int, int]:
    """The bytes of an object, and when it was written, in nanoseconds since 1970: one request."""
    with _worded(url):
        place = _located(url)
        found = place.system.get_file_info(place.path)
        if not found.is_file:
            _refuse_missing(url, found)
        return found.size, found.mtime_ns or 0


@contextmanager
def opened(url: str) -> Iterator[Any]:
    """Open an object, to be read in any order; word the store's errors, and refuse an object changed meanwhile.

    An object is read in many requests, each of which may meet another one under the same name: its size and what the
    store says of it (an ETag, as a rule) are compared at the end with those at the beginning.
    """
    with _worded(url), open_again(url) as file:
        first = _identity(file)
        yield file
        with open_again(url) as now:
            if _identity(now) != first:
                raise InputError("was changed while it was read: read it again", url)


def open_again(url: str) -> Any:
    """Open an object that is `opened` once more, to be read in any order."""
    place = _located(url)
    return place.system.open_input_file(place.path)


def streamed(file: Any) -> Any:
    """Go on reading an opened object from where it is, a large piece at a time."""
    import pyarrow as pa

    return pa.BufferedInputStream(file, PIECE_BYTES)


def _identity(file: Any) -> tuple[Any, ...]:
    return file.size(), file.metadata()


def _parts(url: str) -> re.Match[str]:
    found = _URL.fullmatch(url)
    if found is None:
        raise InputError(f"is no URL that can be read; expected {_EXPECTED}", url)
    return found


def _bucket_of(url: str) -> str:
    """The URL of the bucket."""
    parts = _parts(url)
    return f"{parts['scheme'].lower()}://{parts['root']}"


def _located(url: str) -> _Place:
    """Where the object of a URL is. Its key is taken as it is written: no sign in it stands for another."""
    parts = _parts(url)
    scheme, options = parts["scheme"].lower(), parts["options"] or ""
    if _SECRET.search(url):
        raise InputError(
            "holds a password or a key, which messages and reports would show: leave it out, and set it in the "
            "environment or in the store's configuration file",
            f"{scheme}://…",
        )
    if scheme in ("gs", "gcs") and "retry_limit_seconds=" not in options:
        options += f"{'&' if options else '?'}retry_limit_seconds={_GOOGLE_SECONDS}"
    system, root = _file_system(_bucket_of(url), options)
    return _Place(system, root, root + parts["key"].rstrip("/"))


@lru_cache(maxsize=16)
def _file_system(bucket: str, options: str) -> tuple[Any, str]:
    """The file system of a bucket, and what paths in the bucket begin with: credentials are looked for once."""
    import pyarrow as pa
    from pyarrow import fs

    try:
        system, root = fs.FileSystem.from_uri(f"{bucket}/{options}")
    except pa.ArrowInvalid as error:
        if "Unrecognized filesystem" not in str(error):
            raise
        raise InputError(f"is a URL of a kind that is not read; expected {_EXPECTED}", bucket) from None
    return system, root if root.endswith("/") or not root else f"{root}/"


def _below(system: Any, folder: str, pattern: Sequence[str]) -> Iterator[str]:
    """The objects below a folder, by their paths from there: in it alone where a pattern has no folders."""
    from pyarrow import fs

    listed = fs.FileSelector(folder.rstrip("/"), allow_not_found=True, recursive=len(pattern) > 1 or pattern == ["**"])
    for each in system.get_file_info(listed):
        if each.is_file:
            yield each.path[len(folder) :]


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """True if a path fits a glob, in which ``**`` is any number of folders and a wildcard begins no hidden name."""
    if not pattern:
        return not parts
    if pattern[0] == "**" and _fits(parts, pattern[1:]):
        return True
    if not parts or (parts[0].startswith(".") and not pattern[0].startswith(".")):
        return False
    if pattern[0] == "**":
        return _fits(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


def _sizes_in_folder(urls: Sequence[str]) -> dict[str, int | None]:
    from pyarrow import fs

    system, _, path = _located(urls[0])
    asked: Any = [_located(url).path for url in urls]
    if len(urls) > _ASKED_FOR:
        asked = fs.FileSelector(path.rpartition("/")[0], allow_not_found=True)
    there = {each.path: each.size for each in system.get_file_info(asked) if each.is_file}
    return {url: there.get(_located(url).path) for url in urls}


def _refuse_missing(url: str, found: Any) -> NoReturn:
    """Refuse a URL that names nothing, saying which is missing: the object, a match of the pattern, or the bucket."""
    place = _located(url)
    if found.type.name == "Directory":
        raise InputError("is a folder; expected an object, or a pattern such as folder/*.parquet", url)
    bucket = place.root.rstrip("/")
    if bucket and place.system.get_file_info(bucket).type.name == "NotFound":
        raise InputError(f"there is no bucket {_bucket_of(url)!r}", url)
    raise InputError("no object matches this pattern" if glob.has_magic(key_of(url)) else "does not exist", url)


@contextmanager
def _worded(url: str) -> Iterator[None]:
    """Turn errors of a store, whose libraries tell a long story, into `InputError`."""
    import pyarrow as pa

    with reading(url):
        try:
            yield
        except FileNotFoundError as error:
            raise InputError("does not exist", url) from error
        except (OSError, pa.ArrowException) as error:
            sentence = None if isinstance(error, ValueError) else _sentence(str(error))  # else pyarrow's, of the data
            if sentence is None:
                raise
            raise InputError(sentence, url) from error


def _sentence(told: str) -> str | None:
    """An error message of a store's library in plain words; None for one that is not known."""
    found = re.search(r"AWS Error \w+", told)
    briefly = found[0] if found else told[:_LONGEST_REASON].partition("\n")[0]
    if _DENIED.search(told):
        return f"may not be read with the credentials of this environment ({briefly})"
    return f"cannot be read: its store does not answer ({briefly})" if _SILENT.search(told) else None
