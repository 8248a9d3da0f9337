"""Labels that are asked for of files: how to ask, which records to have labelled, and the file that lists them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie import spec
from coterie.inputs.errors import FieldError, InputError
from coterie.online import SelectiveSampling
from coterie.online.selective import base_model
from coterie.settings import Setting, settings_of

from .choosing import chosen_by, listed, make_part, options_shown, require_one_of

if TYPE_CHECKING:
    from typing import IO

    from numpy.typing import NDArray

    from coterie.io.readers import Reader

#: The options of the limits and of the seed, by the names of the parameters of :class:`coterie.SelectiveSampling`.
_OF_LABELS = {"budget": "label_budget", "window": "label_window", "per_task": "label_per_task", "seed": "ask_seed"}
_KEY = "place"


@dataclass(frozen=True)
class Questioning:
    """Selective sampling described in words and numbers.

    Parameters
    ----------
    ask : str
        How likely a label is asked for, one of the parts of `coterie.asking`.
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

    ask: str = spec.field(
        default="margin",
        kind="text",
        help="Learn only from labels asked for by {ask}: see [Asking for labels](labels.md).",
    )
    ask_c: float | None = None
    label_budget: int | None = spec.field(default=None, kind="whole", checked=False, help="Ask for at most N labels.")
    label_window: int | None = spec.field(
        default=None,
        kind="whole",
        checked=False,
        help="The limits are for any N records in a row, not for all.",
    )
    label_per_task: int | float | None = spec.field(
        default=None,
        kind="text",
        metavar="N|S",
        help="At most N labels a task, or a share S of the budget, as 0.1.",
    )
    ask_seed: int = spec.field(
        default=0,
        kind="whole",
        checked=False,
        shown="0",
        help="Seed of the random numbers.",
    )

    def __post_init__(self) -> None:
        choices = chosen_by("ask")
        require_one_of("ask", self.ask, sorted(choices, key=lambda word: word != "margin"))
        choice = choices[self.ask]
        if self.ask_c is not None and "ask_c" not in choice.options:
            raise FieldError("ask {ask!r} takes no number {}, got {n!r}", "ask_c", ask=self.ask, n=self.ask_c)
        if self.ask_c is None and "ask_c" in choice.required:
            called = choice.field("ask_c")
            raise FieldError("ask {ask!r} needs a number {}, its {called}", "ask_c", ask=self.ask, called=called)
        try:
            self.part  # noqa: B018 - refuses a number out of range
        except ValueError as error:
            raise FieldError.of(error, {choice.field("ask_c"): "ask_c"}) from None

    @property
    def part(self) -> Any:
        """The part that gives the chance of asking."""
        return make_part(chosen_by("ask")[self.ask], {} if self.ask_c is None else {"ask_c": self.ask_c})

    def around(self, model: Any) -> SelectiveSampling:
        """The model wrapped to ask for labels; one that asks already is wrapped anew, and keeps what it has learned.

        Raises
        ------
        ValueError
            If the model cannot be asked so.
        """
        made = SelectiveSampling(
            base_model(model), self.part, self.label_budget, self.label_window, self.label_per_task, self.ask_seed
        )
        try:
            made.__stream_model__()  # refuses what does not go together
        except (TypeError, ValueError) as error:
            raise FieldError.of(error, _OF_LABELS) from None
        return made


def asking_options() -> dict[str, Setting]:
    """The options of asking for labels, by name.

    Examples
    --------
    >>> list(asking_options())
    ['ask', 'ask_c', 'label_budget', 'label_window', 'label_per_task', 'ask_seed']
    """
    choices, own = chosen_by("ask"), settings_of(Questioning)
    asks = replace(own["ask"], help=own["ask"].help.format(ask=listed(choices, "margin")))
    return {"ask": asks} | options_shown(choices.values()) | {name: own[name] for name in own if name != "ask"}


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
        """The number of labels wanted."""
        return sum(map(len, self.places.values()))


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
    return Wanted({path: np.concatenate(places) for path, places in found.items()}, examples)


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
        for batch in table.batches(dict.fromkeys(table.names, "label")):
            for row in np.flatnonzero(np.isin(batch.place, places)):
                yield int(batch.place[row]), batch.columns.slice(row, 1).to_pylist()[0]


def _lines(path: str, kind: str, places: NDArray[np.int64]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of JSON Lines, keys that were never read among them."""
    from coterie.io.sources import Source

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
