"""Download published data sets and prepare them: the whole file, or nothing is left behind."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from coterie.data.errors import InputError

from . import folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .dataset import Entry
    from .originals import Origin


def fetch(entry: Entry) -> Path:
    """Return the path of the prepared file of `entry`; download the originals and make it if there is none."""
    if entry.original is None:
        raise InputError(f"data set {entry.name!r} cannot be fetched: {folder.how_to_get(entry)}")
    pooch = _pooch()
    path = cast(Path, folder.locate(entry))  # with pooch there is always a place
    if folder.is_here(entry):
        return path
    with _workplace(path.parent) as place:
        files = [_download(pooch, source, place / str(n)) for n, source in enumerate(entry.original.sources)]
        arrays: dict[str, Any] = dict(entry.original.read(files))
        made = place / path.name
        np.savez_compressed(made, **arrays)
        made.replace(path)
    return path


def _pooch() -> Any:
    try:
        import pooch
    except ImportError as error:
        raise ImportError("downloading needs pooch: pip install pooch") from error
    return pooch


@contextmanager
def _workplace(home: Path) -> Iterator[Path]:
    """Make a folder inside `home` that is removed in any case; on the same disk, so that moving a file is one step."""
    from tempfile import TemporaryDirectory

    try:
        home.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".fetch-", dir=home) as place:
            yield Path(place)
    except OSError as error:
        raise InputError(f"the folder for data sets cannot be written to ({error.strerror})", path=str(home)) from error


def _download(pooch: Any, source: Origin, path: Path) -> Path:
    """Download a file, with a progress bar on a terminal, and check its sum."""
    from requests import RequestException

    try:
        pooch.HTTPDownloader(progressbar=sys.stderr.isatty())(source.url, str(path), None)
    except RequestException as error:
        raise InputError(f"cannot download {source.url} ({error})") from error
    found = pooch.file_hash(str(path), alg="sha256")
    if found != source.sha256:
        raise InputError(f"{source.url} has changed: its SHA-256 is {found}, expected {source.sha256}")
    return path
