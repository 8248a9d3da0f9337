"""The places where commands write: nothing that is read, nothing of another kind, and tried before an hour of work."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from coterie.wording import MADE

from .failures import UsageError, option

_HEAD = 512
_MARKED = 1 << 12
_STANDARD_OUTPUT = 1


class Kind(NamedTuple):
    """A kind of file that commands write.

    Attributes
    ----------
    noun : str
        Its name.
    holds : callable
        Tells whether an existing file is of this kind.
    needs : str or None
        The package, of those that are installed for reports, without which none can be made.
    """

    noun: str
    holds: Callable[[Path], bool]
    needs: str | None = None


class Place(NamedTuple):
    """A file that a command is going to write.

    Attributes
    ----------
    field : str
        The name of the option that says so.
    path : Path
        The file.
    kind : Kind
        What goes there.
    over : Path or None
        What is read and may be replaced all the same, as the model that goes on.
    """

    field: str
    path: Path
    kind: Kind
    over: Path | None = None

    @property
    def shown(self) -> str:
        """The option with its value."""
        return f"{option(self.field)}: {str(self.path)!r}"


def require_places(places: Iterable[Place], read: Iterable[str | Path]) -> None:
    """Refuse places where a command would destroy something, or cannot write, before it reads a record.

    Parameters
    ----------
    places : iterable of Place
        All that it is going to write beside standard output.
    read : iterable of paths
        All that it reads; ``"-"`` is standard input.

    Raises
    ------
    UsageError
        There is no such folder; it is a folder; it is a file that is read or written otherwise, by whatever name; there
        is a file already that evidently holds something else.
    ValueError
        It is a URL.
    ImportError
        What is to go there cannot be made without a package that is not installed.
    OSError
        The folder cannot be written to.
    """
    from coterie.persistence import require_local, require_writable

    chosen = list(places)
    for place in chosen:
        require_local(place.path, f"{option(place.field)}: ")
        if place.kind.needs is not None and find_spec(place.kind.needs) is None:
            raise ImportError(f'{option(place.field)} needs {place.kind.needs}: pip install "coterie[report]"')
    inputs = list(_inputs(read))
    _require_other(partial(os.fstat, _STANDARD_OUTPUT), "standard output", inputs)
    for place in chosen:
        _require_folder(place)
        _require_other(place.path.stat, place.shown, [each for each in inputs if not _is(each, place.over)])
        _require_kind(place)
    for i, place in enumerate(chosen):
        for earlier in chosen[:i]:
            if _same(place.path, earlier.path):
                raise UsageError(f"{place.shown} is where {option(earlier.field)} writes: name another file")
    for place in chosen:
        if not _takes_no_place(place):
            with naming(place.path):
                require_writable(place.path)


def report_place(path: Path) -> Place:
    """Return the place of a report, whose name must end as that of a page."""
    if path.suffix.lower() not in PAGES:
        raise UsageError(f"--report is {str(path)!r}; expected a name that ends in {' or '.join(PAGES)}")
    return Place("report", path, PAGE)


def paths_read(files: Iterable[str], beside: Iterable[str] = (), model: Path | None = None) -> list[str | Path]:
    """Return all that a command reads: its files, those that its learner names, and a model."""
    from coterie.io.sources import find_paths

    return [*find_paths(list(files)), *beside, *([] if model is None else [model])]


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Give an error of the operating system the name of the file it is about."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


class _Input(NamedTuple):
    """A file that is read: its name in messages, and its identity in the file system."""

    name: str
    found: os.stat_result


def _inputs(read: Iterable[str | Path]) -> Iterator[_Input]:
    """The regular files that are read; of all others nothing can be lost."""
    for path in read:
        with suppress(OSError):
            found = os.fstat(0) if str(path) == "-" else Path(path).stat()
            if stat.S_ISREG(found.st_mode):
                yield _Input("standard input" if str(path) == "-" else repr(str(path)), found)


def _require_other(find: Callable[[], os.stat_result], shown: str, inputs: Iterable[_Input]) -> None:
    with suppress(OSError):
        found = find()
        for each in inputs:
            if os.path.samestat(found, each.found):
                same = "is" if each.name in shown else f"is the same file as {each.name}, which is"
                raise UsageError(f"{shown} {same} read by this command: name another file")


def _is(read: _Input, path: Path | None) -> bool:
    with suppress(OSError):
        return path is not None and os.path.samestat(read.found, path.stat())
    return False


def _require_folder(place: Place) -> None:
    if not place.path.absolute().parent.is_dir():
        raise UsageError(f"{option(place.field)}: there is no folder {str(place.path.parent)!r}")
    if place.path.is_dir():
        raise UsageError(f"{place.shown} is a folder: name a file")


def _require_kind(place: Place) -> None:
    """Refuse to replace what is of another kind; an empty file is of any."""
    if place.path.is_file() and place.path.stat().st_size and not place.kind.holds(place.path):
        raise UsageError(f"{place.shown} exists and is no {place.kind.noun}: name another file, or remove this one")


def _takes_no_place(place: Place) -> bool:
    """True for a device or a pipe, which is written to and not replaced, where the kind allows it."""
    return place.kind is PREDICTIONS and place.path.exists() and not place.path.is_file()


def _same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(one.stat(), other.stat())
    return one.resolve() == other.resolve()


# -- what files begin with


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def beginning(*starts: bytes) -> Callable[[Path], bool]:
    """Return a function that tells whether a file begins with one of these, in small letters, after any blanks."""

    def holds(path: Path) -> bool:
        return _head(path).removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith(starts)

    return holds


def made_here(*starts: bytes) -> Callable[[Path], bool]:
    """Return a function that tells whether a file begins so and has the mark of what coterie draws, near either end."""
    begins = beginning(*starts)

    def holds(path: Path) -> bool:
        with path.open("rb") as file:
            first = file.read(_MARKED)
            file.seek(max(path.stat().st_size - _MARKED, 0))
            return begins(path) and MADE.encode() in first + file.read(_MARKED)

    return holds


def _is_model(path: Path) -> bool:
    from coterie.persistence import begins_as_model

    return begins_as_model(path)


MODEL = Kind("model", _is_model)
PAGE = Kind("report made by coterie", made_here(b"<!doctype html"), "plotly")
#: How the names of reports end.
PAGES = (".html", ".htm")
#: Not lists of records to label, which begin with places as well, but with other ones.
PREDICTIONS = Kind(
    "file of predictions",
    beginning(b"place,task,prediction", b"place,prediction", *(b'{"place": %d' % digit for digit in range(10))),
)
#: One that is there may have been filled in, by hand: it is never replaced.
QUESTIONS = Kind("new list of records to label", lambda path: False)
