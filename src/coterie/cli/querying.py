"""Labels that are asked for of files: which records to have labelled, and the file that lists them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie.inputs.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coterie.io.readers import Reader
    from coterie.online import SelectiveSampling

#: The column in which each record has its place.
_KEY = "place"


class Wanted(NamedTuple):
    """The records whose labels are wanted.

    Attributes
    ----------
    places : dict of str to ndarray of int64
        By file, their lines or rows, in order.
    examples : int
        How many records there are.
    spent : bool
        True if a budget for all of them is spent: those after the last one wanted would not have been asked about.
    """

    places: dict[str, NDArray[np.int64]]
    examples: int
    spent: bool

    @property
    def labels(self) -> int:
        """The number of labels wanted."""
        return sum(map(len, self.places.values()))

    @property
    def last(self) -> str:
        """The place of the last one."""
        return [f"{path}:{places[-1]}" for path, places in self.places.items() if len(places)][-1]


def wanted_records(model: SelectiveSampling, reader: Reader) -> Wanted:
    """Find the records of files that a model wants to have labelled; nothing is learned.

    Parameters
    ----------
    model : SelectiveSampling
        Its rounds pass.
    reader : Reader
        Made with the model's encoder and ``update=False``.

    Raises
    ------
    InputError
        With file and line, for a record that has a label, cannot be read, or has a task that the model refuses.
    """
    from .predicting import placed

    found: dict[str, list[NDArray[np.int64]]] = {}
    examples = 0
    blocks: Any = iter(reader)
    with closing(blocks):
        for block in blocks:
            if block.y is not None:
                message = "has a label, and only records without one are asked about: learn from this file instead"
                raise InputError(message, reader.path, int(block.place[0]))
            try:
                asked = model.__stream_model__().wants_block(block)
            except ValueError as error:
                raise placed(model.model.__predict_block__, block, reader, error) from None
            found.setdefault(reader.path, []).append(block.place[asked])
            examples += len(block)
    return Wanted(
        {path: np.concatenate(places) for path, places in found.items()}, examples, model.__stream_model__().spent
    )


def require_file_of(out: str, formats: Sequence[str]) -> None:
    """Refuse, before anything is read, a file that cannot hold the records as they were read.

    Text stays text: CSV and TSV go to CSV or TSV. What has types goes to JSON Lines.
    """
    from coterie.io.readers import ROWS

    suffix = Path(out).suffix.lower()
    for kind in formats:
        if kind in ROWS:
            raise ValueError(f"records of {kind} name no columns, so nobody could fill in a label: give a table")
        expected = (".csv", ".tsv") if kind in ("csv", "tsv") else (".jsonl",)
        if suffix not in expected:
            raise ValueError(f"{out!r} cannot hold records of {kind}: name a file that ends in {' or '.join(expected)}")


def write_wanted(file: IO[str], wanted: Wanted, formats: Mapping[str, str], label: str, suffix: str) -> None:
    """Write the records as they were read, each with its place and an empty label.

    Parameters
    ----------
    file : text file
        Written to.
    wanted : Wanted
        The records.
    formats : mapping of path to format
        Of their files, which are read once more.
    label : str
        The column that somebody is to fill in.
    suffix : str
        ``".csv"``, ``".tsv"`` or ``".jsonl"``.
    """
    rows = (row for path, places in wanted.places.items() for row in _rows(path, formats[path], places, label))
    if suffix == ".jsonl":
        file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
        return
    writer: Any = None
    for row in rows:
        if writer is None:
            delimiter = "\t" if suffix == ".tsv" else ","
            writer = csv.DictWriter(file, list(row), delimiter=delimiter, lineterminator="\n", extrasaction="ignore")
            writer.writeheader()
        writer.writerow(row)


def _rows(path: str, kind: str, places: NDArray[np.int64], label: str) -> Iterator[dict[str, Any]]:
    read = _lines if kind == "jsonl" else _table_rows
    for place, row in read(path, kind, places):
        key = next(name for name in (_KEY + "_" * n for n in range(len(row) + 1)) if name not in row)
        yield {key: f"{path}:{place}", label: None} | row | {label: None}


def _table_rows(path: str, kind: str, places: NDArray[np.int64]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of a table, its columns read as they would be if they were labels: text as text, types as they are."""
    from coterie.inputs.faults import Faults
    from coterie.io.readers import open_table
    from coterie.io.sources import Source

    with Source(path) as source:
        table = open_table(kind, source, Faults("skip"), 8192)
        for batch in table.read_chunks(dict.fromkeys(table.names, "label")):
            for row in np.flatnonzero(np.isin(batch.place, places)):
                yield int(batch.place[row]), batch.columns.slice(row, 1).to_pylist()[0]


def _lines(path: str, kind: str, places: NDArray[np.int64]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of JSON Lines, keys that were never read among them."""
    from coterie.inputs.faults import Faults
    from coterie.io.lines import split_lines, text_records
    from coterie.io.sources import Source

    with Source(path) as source:
        for records in text_records(source, split_lines, Faults("skip")):
            for row in np.flatnonzero(np.isin(records.line, places)).tolist():
                yield int(records.line[row]), json.loads(records.record(row))
