"""Output files of commands: checked before reading starts, and written atomically."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING

from coterie.wording import listed

from .failures import UsageError, option_name, report_error

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from coterie.types import Estimator

#: The endings of report names.
PAGES = (".html", ".htm")


# -- files ------------------------------------------------------------------------------------------------------------


def require_outputs(
    outputs: Mapping[str, Path | None], inputs: Iterable[str | Path], force: bool, updated: Path | None = None
) -> None:
    """Raise an error for output files that are also inputs, already exist, or cannot be written.

    Parameters
    ----------
    outputs : mapping of str to Path or None
        The files to write, by the names of their options.
    inputs : iterable of paths
        All files that the command reads.
    force : bool
        True to replace existing files.
    updated : Path or None
        A model that may be replaced without ``force``, even if it is read.
    """
    from coterie.persistence import require_local, require_writable

    model = None if updated is None else updated.resolve()
    used = {Path(path).resolve() for path in inputs} - {model}
    for name, path in outputs.items():
        if path is None:
            continue
        start, target = f"{option_name(name)}: {str(path)!r}", path.resolve()
        require_local(path, f"{option_name(name)}: ")
        if name == "report":
            if path.suffix.lower() not in PAGES:
                raise UsageError(f"--report is {str(path)!r}; expected a name that ends in {' or '.join(PAGES)}")
            if find_spec("plotly") is None:
                raise ImportError('--report needs plotly: pip install "coterie[report]"')
        if target in used:
            raise UsageError(f"{start} is already used by this command; name another file")
        if target.is_dir():
            raise UsageError(f"{start} is a folder; name a file")
        if not target.parent.is_dir():
            raise UsageError(f"{option_name(name)}: there is no folder {str(path.parent)!r}")
        if target.is_file() and target != model and not force:
            raise UsageError(f"{start} exists; name another file, or pass --force")
        used.add(target)
        require_writable(path)


@contextmanager
def name_errors(path: Path) -> Iterator[None]:
    """Context that adds the file name to errors of the operating system."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


@contextmanager
def open_output(path: Path) -> Iterator[IO[str]]:
    """Open a text file that is written atomically; devices and pipes are written directly."""
    from coterie.persistence import replacing

    with name_errors(path), path.open("wb") if path.exists() and not path.is_file() else replacing(path) as file:
        text = TextIOWrapper(file, encoding="utf-8", newline="")
        yield text
        text.flush()
        text.detach()


def csv_lines(file: SupportsWrite[str]) -> SupportsWrite[str]:
    """Return a file for CSV writers that ends lines with a line feed; they quote only the characters that end lines."""
    return SimpleNamespace(write=lambda text: file.write(text.removesuffix("\r\n") + "\n"))


class OutputWriter:
    """Context for writing output files. Errors are raised at its end, after the summary was printed.

    Attributes
    ----------
    paths : dict of str to Path
        The outputs that were written, by the names of their options.
    rescued : Path or None
        The temporary file of the model if it could not be saved to its path.
    """

    def __init__(self) -> None:
        self.paths: dict[str, Path] = {}
        self.rescued: Path | None = None
        self._errors: list[Exception] = []

    def __enter__(self) -> OutputWriter:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        last = self._errors.pop() if error is None and self._errors else None
        for other in self._errors if last or isinstance(error, Exception) else ():
            report_error(other)
        if last is not None:
            raise last

    def write(self, name: str, path: Path | None, write: Callable[[Path], object]) -> None:
        """Write an output file, or record the error."""
        if path is None:
            return
        try:
            with name_errors(path):
                write(path)
            self.paths[name] = path
        except BrokenPipeError:
            raise
        except Exception as error:
            self._errors.append(error)

    def save(self, model: Estimator, path: Path | None, name: str = "output") -> None:
        """Save a model; on an error save it to a temporary folder instead, so that the result is not lost."""

        def save_model(path: Path) -> None:
            try:
                model.save(path)
            except OSError as error:
                self.rescued = _rescue(model, path.name)
                if self.rescued is None:
                    raise
                text = f"{error.strerror}; the model was saved as {self.rescued} instead"
                raise OSError(error.errno, text, str(path)) from None

        self.write(name, path, save_model)


def _rescue(model: Estimator, name: str) -> Path | None:
    """Save a model that could not be saved to its path in a temporary folder; return the path, or None on an error."""
    import tempfile

    with suppress(Exception):
        folder = Path(tempfile.mkdtemp(prefix="coterie-"))
        try:
            model.save(folder / name)
        except BaseException:
            folder.rmdir()
            raise
        return folder / name
    return None


def page_facts(source: str, columns: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Yield facts for the report: the data, the date and the command."""
    yield "data", source
    for role in ("label", "task"):
        if names := columns.get(role):
            yield role, listed(names)
    yield "made", date.today().isoformat()
    if Path(sys.argv[0]).stem in ("coterie", "__main__"):
        yield "command", shlex.join(["coterie", *sys.argv[1:]])
