"""Data sets as loaders return them, and their entries in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coterie import datasets

if TYPE_CHECKING:
    from .originals import Original


@dataclass(frozen=True)
class Entry:
    """A description of a data set that needs no loading.

    Attributes
    ----------
    name : str
        The name that ``load`` takes.
    what : str
        One line: the records, the label, the tasks.
    rows, tasks : int
        The numbers of records (without the published test part) and of tasks.
    source : str
        Where the original comes from.
    licence : str
        The terms of use.
    file : str
        The name of its prepared file in the folder for data sets.
    package : str or None
        The PyPI package that holds the same data.
    original : Original or None
        The published files that `fetch` makes `file` from.
    """

    name: str
    what: str
    rows: int
    tasks: int
    source: str
    licence: str
    file: str
    package: str | None = None
    original: Original | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(datasets.Dataset):
    """Records of many tasks, each row of unit Euclidean norm; 0 or 1 in ``amazon4_200`` and ``newsgroups_200``.

    Attributes
    ----------
    test : Dataset or None
        The published test part.
    """

    test: Dataset | None = None
