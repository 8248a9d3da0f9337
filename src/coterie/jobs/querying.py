"""Labels that are asked for of files: how to ask, which records to have labelled, and the file that lists them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie.asking import Always, Below, Margin, Randomly, RelationRow
from coterie.online import SelectiveSampling
from coterie.streams.errors import FieldError, InputError

if TYPE_CHECKING:
    from typing import IO

    from numpy.typing import NDArray

    from coterie.streams.readers import Reader

#: By name, the part and what its number is called.
ASKS: dict[str, tuple[Any, str | None]] = {
    "margin": (Margin, "c"),
    "row": (RelationRow, None),
    "below": (Below, "threshold"),
    "randomly": (Randomly, "rate"),
    "always": (Always, None),
}
#: What limits and chance are called there, and here.
_OF_LABELS = {"budget": "label_budget", "window": "label_window", "per_task": "label_per_task", "seed": "ask_seed"}
_KEY = "place"


@dataclass(frozen=True)
class Questioning:
    """How labels are asked for, in words and numbers.

    Parameters
    ----------
    ask : str
        One of `ASKS`.
    ask_c : float, optional
        The c of ``"margin"`` (0.3 where it is not given), the threshold of ``"below"``, the rate of ``"randomly"``.
    label_budget, label_window, label_per_task, ask_seed
        As budget, window, per_task and seed in `coterie.SelectiveSampling`.

    Raises
    ------
    ValueError
        For an unknown name, a number that is missing, of no use or out of range.

    Examples
    --------
    >>> Questioning("margin", 0.5, label_budget=100).part
    Margin(c=0.5)
    """

    ask: str = "margin"
    ask_c: float | None = None
    label_budget: int | None = None
    label_window: int | None = None
    label_per_task: int | float | None = None
    ask_seed: int = 0

    def __post_init__(self) -> None:
        from coterie.jobs.choices import require_one_of

        require_one_of("ask", self.ask, tuple(ASKS))
        name = ASKS[self.ask][1]
        if name is None and self.ask_c is not None:
            raise FieldError("ask {ask!r} takes no number {}, got {n!r}", "ask_c", ask=self.ask, n=self.ask_c)
        if name not in (None, "c") and self.ask_c is None:
            raise FieldError("ask {ask!r} needs a number {}, its {called}", "ask_c", ask=self.ask, called=name)
        try:
            self.part  # noqa: B018 - refuses a number out of range
        except ValueError as error:
            raise FieldError.of(error, {str(name): "ask_c"}) from None

    @property
    def part(self) -> Any:
        """How likely a label is asked for."""
        kind, name = ASKS[self.ask]
        return kind() if name is None or self.ask_c is None else kind(**{name: self.ask_c})

    def around(self, model: Any) -> SelectiveSampling:
        """The model, made to ask; one that asks already is asked anew, what it has learned being kept.

        Raises
        ------
        ValueError
            If the model cannot be asked so.
        """
        made = SelectiveSampling(
            model.passive, self.part, self.label_budget, self.label_window, self.label_per_task, self.ask_seed
        )
        try:
            made.check()
        except (TypeError, ValueError) as error:
            raise FieldError.of(error, _OF_LABELS) from None
        return made


class Wanted(NamedTuple):
    """The records whose labels are wanted.

    Attributes
    ----------
    places : dict of str to ndarray of int64
        By file, their lines or rows, in order.
    examples : int
        How many records were looked at.
    """

    places: dict[str, NDArray[np.int64]]
    examples: int

    @property
    def labels(self) -> int:
        """How many labels are wanted."""
        return sum(map(len, self.places.values()))


def wanted_records(model: SelectiveSampling, reader: Reader) -> Wanted:
    """Which records of files a model that has learned wants to have labelled; nothing is learned.

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
    from coterie.jobs.predicting import placed

    found: dict[str, list[NDArray[np.int64]]] = {}
    examples = 0
    blocks: Any = iter(reader)
    with closing(blocks):
        for block in blocks:
            if block.y is not None:
                message = "has a label, and only records without one are asked about: learn from this file instead"
                raise InputError(message, reader.path, int(block.place[0]))
            try:
                asked = model.wants_block(block)
            except ValueError as error:
                raise placed(model.model.decide_block, block, reader, error) from None
            found.setdefault(reader.path, []).append(block.place[asked])
            examples += len(block)
    return Wanted({path: np.concatenate(places) for path, places in found.items()}, examples)


def require_file_of(out: str, formats: Sequence[str]) -> None:
    """Refuse, before anything is read, a file that cannot hold the records as they were read.

    Text stays text: CSV and TSV go to CSV or TSV. What has types goes to JSON Lines.
    """
    from coterie.streams.readers import ROWS

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
    from coterie.streams.faults import Faults
    from coterie.streams.readers import open_table
    from coterie.streams.sources import Source

    with Source(path) as source:
        table = open_table(kind, source, Faults("skip"), 8192)
        for batch in table.batches(dict.fromkeys(table.names, "label")):
            for row in np.flatnonzero(np.isin(batch.place, places)):
                yield int(batch.place[row]), batch.columns.slice(row, 1).to_pylist()[0]


def _lines(path: str, kind: str, places: NDArray[np.int64]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of JSON Lines, keys that were never read among them."""
    from coterie.streams.sources import Source

    chosen = set(places.tolist())
    with Source(path) as source:
        for number, line in enumerate(_split(source), start=1):
            if number in chosen:
                yield number, json.loads(line)


def _split(source: Any) -> Iterator[bytes]:
    """The lines of a file, whatever reads its bytes."""
    rest = b""
    while piece := source.read(1 << 20):
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines
    yield rest
