"""All data sets by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from . import chemistry, fetching, folder, packaged, small, texts, views

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from .dataset import Dataset, Entry
    from .views import ViewDataset

T = TypeVar("T")


class Loader(NamedTuple):
    """A data set's entry and the function that loads it."""

    entry: Entry
    load: Callable[[], Dataset | ViewDataset]


LOADERS = {
    loader.entry.name: loader
    for loader in (
        Loader(packaged.FLIGHTS, packaged.flights),
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
TABLES: dict[str, Callable[[], Path | pa.Table]] = {
    "flights": lambda: packaged.FLIGHTS_PATH,
    "chem97": chemistry.chem97_table,
    "a9a_halves": lambda: views.a9a_halves().table(),
    "mfeat": lambda: views.mfeat().table(),
    "eth80": lambda: views.eth80().table(),
}


@dataclass(frozen=True)
class Description:
    """One line of the list of data sets.

    Attributes
    ----------
    name, what : str
        The name, and one line on the records, the label and the tasks.
    rows, tasks : int
        Their numbers, without the published test part.
    how : str
        The ways to get it.
    available : bool
        True if it can be loaded now.
    """

    name: str
    what: str
    rows: int
    tasks: int
    how: str
    available: bool


def names() -> tuple[str, ...]:
    """Return the names that `load` takes.

    Examples
    --------
    >>> names()[:2]
    ('flights', 'chem97')
    """
    return tuple(LOADERS)


def load(name: str) -> Any:
    """Return a data set by its name: a `Dataset`, or a `ViewDataset` where records have several views.

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
    return _named(LOADERS, name, "data set").load()


def describe() -> list[Description]:
    """Describe each data set in one line: its records, how to get it, and whether it is available.

    Examples
    --------
    >>> describe()[0].how
    'comes with the package'
    """
    return [_describe(loader.entry) for loader in LOADERS.values()]


def fetch(name: str) -> Path:
    """Download a data set, prepare it, and return the path of the file that `load` will read.

    The published files come from the addresses in ``coterie.datasets.originals`` and must have the SHA-256 given
    there. The prepared file goes into the folder that COTERIE_DATA names, else into the user's folder for caches; it
    is written whole or not at all. If it exists already, nothing is downloaded.

    Raises
    ------
    KeyError
        If there is no data set of this name.
    InputError
        If no address is known for it, an address does not answer, a file is not the one expected, or the folder
        cannot be written to.
    ImportError
        If pooch is not installed (``pip install coterie[datasets]``).

    Examples
    --------
    >>> fetch("eth80")
    Traceback (most recent call last):
    coterie.inputs.errors.InputError: data set 'eth80' cannot be fetched: put eth80_views.npz (made from images ...
    """
    return fetching.fetch(_named(LOADERS, name, "data set").entry)


def table(name: str) -> Path | pa.Table:
    """Return a data set in a form that ``coterie learn`` reads: the path of a file, or a table.

    Raises
    ------
    KeyError
        If there is no such data set, or it has no columns with names.
    InputError
        If it is not on this machine; the message says how to get it.

    Examples
    --------
    >>> table("flights").name
    'flights.parquet'
    """
    return _named(TABLES, name, "data set with a table")()


def export(name: str, path: str | Path) -> None:
    """Write a data set's table to a Parquet or a CSV file, by the ending of `path`, completely or not at all.

    Raises
    ------
    KeyError
        If there is no such data set, or it has no columns with names.
    ValueError
        If `path` ends in neither ``.parquet`` nor ``.csv``.
    InputError
        If the data set is not on this machine; the message says how to get it.
    """
    import pyarrow.csv
    import pyarrow.parquet as pq

    from coterie.persistence import replacing

    writers = {".parquet": pq.write_table, ".csv": pyarrow.csv.write_csv}
    write = writers.get(Path(path).suffix)
    if write is None:
        raise ValueError(f"path: {str(path)!r} ends in neither .parquet nor .csv")
    with replacing(path) as file:
        write(_arrow(table(name)), file)


def header(name: str) -> bytes:
    """Return the first line of the CSV file that `export` writes.

    >>> header("flights")[:17]
    b'"late","tailnum",'
    """
    return ",".join(f'"{column}"' for column in _arrow(table(name)).column_names).encode() + b"\n"


def _arrow(source: Path | pa.Table) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(source) if isinstance(source, Path) else source


def _describe(entry: Entry) -> Description:
    return Description(entry.name, entry.what, entry.rows, entry.tasks, folder.how_to_get(entry), _available(entry))


def _available(entry: Entry) -> bool:
    return entry.file is None or (chemistry.is_here() if entry.package else folder.is_here(entry))


def _named(known: Mapping[str, T], name: str, kind: str) -> T:
    if name not in known:
        raise KeyError(f"no {kind} is called {name!r}; there are {', '.join(known)}")
    return known[name]
