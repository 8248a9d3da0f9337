"""The files that commands write: tried before a record is read, and never replaced without being asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from .failures import UsageError, option
from .spreading import GROUPS

Force = Annotated[
    bool,
    typer.Option("--force", help="Replace files that exist already.", rich_help_panel=GROUPS["outputs"]),
]
#: How the names of reports end.
PAGES = (".html", ".htm")


def require_outputs(
    outputs: Mapping[str, Path | None],
    read: Iterable[str | Path],
    force: bool,
    over: Path | None = None,
) -> None:
    """Refuse outputs that are inputs too, exist already, or cannot be written.

    Parameters
    ----------
    outputs : mapping of str to Path or None
        The files to write, by the names of their options.
    read : iterable of paths
        All files that the command reads.
    force : bool
        Whether files that exist may be replaced.
    over : Path or None
        A file that may be replaced without ``force``, even if it is read: a model that is updated.
    """
    from coterie.persistence import require_local, require_writable

    replaced = None if over is None else over.resolve()
    used = {Path(path).resolve() for path in read} - {replaced}
    for name, path in outputs.items():
        if path is None:
            continue
        shown, target = f"{option(name)}: {str(path)!r}", path.resolve()
        require_local(path, f"{option(name)}: ")
        if name == "report":
            _require_page(path)
        if target in used:
            raise UsageError(f"{shown} is read or written by this command already: name another file")
        if target.is_dir():
            raise UsageError(f"{shown} is a folder: name a file")
        if not target.parent.is_dir():
            raise UsageError(f"{option(name)}: there is no folder {str(path.parent)!r}")
        if target.is_file() and target != replaced and not force:
            raise UsageError(f"{shown} exists: name another file, or give --force")
        used.add(target)
        require_writable(path)


def _require_page(path: Path) -> None:
    if path.suffix.lower() not in PAGES:
        raise UsageError(f"--report is {str(path)!r}; expected a name that ends in {' or '.join(PAGES)}")
    if find_spec("plotly") is None:
        raise ImportError('--report needs plotly: pip install "coterie[report]"')


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Give an error of the operating system the name of the file it is about."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
