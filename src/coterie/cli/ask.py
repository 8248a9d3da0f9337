"""``coterie ask``."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import MISSING, dataclass
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from coterie.data.errors import FieldError, InputError

from .failures import UsageError, print_skipped, quote_path
from .options import FORMAT, ON_ERROR, Files, Model, OnError, PrintOptions, option

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from coterie.data.readers import Reader
    from coterie.estimators import SelectiveSampling
    from coterie.types import Estimator, Json

    Places = NDArray[np.int64]

#: The types of tasks that are the same task in JSON, and of a task that is not there.
_TASKS = (str, int, float, Decimal, type(None))


@dataclass(frozen=True, kw_only=True)
class AskOptions(PrintOptions):
    """Options of ``ask``: the output, the query strategy, and the file format."""

    heading = "Options"

    output: Path = option(
        "OUT",
        "The file for the records: CSV or TSV, or JSON Lines for records of JSON, Parquet or Arrow.",
        MISSING,
        "-o",
    )
    by: str | None = option(
        "EXPRESSION",
        "The query strategy, which decides how likely a label is asked for: `Margin(c=0.3)` (the default), "
        "`Below(0.1)`, `Randomly(0.2)`, `Always()` or `RelationRow()` ([query strategies](labels.md)).",
    )
    budget: int | None = option("N", "Ask for at most N labels: the first N that are wanted.")
    window: int | None = option("N", "Apply the limits to any N consecutive records, not to all.")
    per_task: float | None = option(
        "N|S", "Ask for at most N labels per task, or a share S of the budget, such as 0.1."
    )
    seed: int = option("N", "Seed of the random numbers.", 0)
    save: Path | None = option(
        "MODEL", "Save the model here, possibly over the old one: its budget continues in later runs."
    )
    task: str | None = option("COLUMN", "The column of the task, if it has another name.", None, "-t")
    label: str | None = option("COLUMN", "The column to fill in, if it has another name than in the model.", None, "-l")
    format: str | None = option("NAME", FORMAT)
    on_error: OnError = option("stop|skip", ON_ERROR)


def ask(model: Model, files: Files, options: AskOptions) -> None:
    """Write out the unlabelled records that a saved binary classifier queries.

    Nothing is learned. Fill in the labels, then `coterie learn OUT --from MODEL` learns them. A model that asked before
    asks in the same way unless options say otherwise.

    For example:

        coterie ask clicks.coterie new.csv --output ask.csv --budget 200
        coterie ask clicks.coterie new.csv -o ask.csv --by "Margin(c=0.1)" --per-task 5 --save clicks.coterie
    """
    from coterie.data.readers import detect_format, read
    from coterie.data.sources import STDIN, find_paths

    from .models import load_model
    from .outputs import OutputWriter, open_output, require_outputs
    from .printing import paragraph, print_lines, print_result

    output, paths = options.output, find_paths(files)
    require_outputs({"output": output}, [*paths, model], options.force)
    require_outputs({"save": options.save}, [*paths, output], options.force, model)
    if STDIN in paths:
        raise UsageError("standard input is not supported, because records are read twice: write them to a file")
    formats = {path: detect_format(path, options.format) for path in paths}
    _require_suffix(output, formats)
    trained = load_model(model)
    selective = _add_query_strategy(trained, options)
    reader = read(
        files,
        encoder=trained.encoder_,
        update=False,
        task=options.task,
        format=options.format,
        on_error=options.on_error or "stop",
    )
    wanted = _select_records(selective, reader)
    label = options.label or trained.encoder_.label
    with OutputWriter() as writer:
        with open_output(output) as file:
            _write_records(file, wanted, formats, label, options.task or trained.encoder_.task, output.suffix.lower())
        writer.save(selective, options.save)
        saved = writer.paths.get("output")
        if options.json:
            counts = {"examples": wanted.examples, "labels": wanted.labels}
            print_result("ask", counts, {"output": output, "model": saved, "rescued": writer.rescued})
        elif not options.quiet:
            file_name, model_name = quote_path(output), quote_path(saved or model)
            command = f"coterie learn {file_name} --from {model_name} --output {model_name}"
            following = [f"Next: fill in its column {label!r}, then {command}"] if wanted.labels else []
            print_lines(paragraph(_summarize(wanted, output, selective.budget)), following)
        print_skipped(reader)


def _summarize(wanted: _Selection, output: Path, budget: int | None) -> str:
    text = f"Of {wanted.examples:,} records, {wanted.labels:,} are worth a label: {output}."
    if wanted.is_spent and not wanted.labels:
        text += f" The budget of {budget:,} was spent in earlier runs: --budget begins a new one."
    elif wanted.is_spent:
        text += f" The budget was spent with {wanted.last}, and nothing after it is asked for: a smaller c in"
        text += ' --by "Margin(c=...)" spreads the labels further.'
    return text


def _add_query_strategy(model: Estimator, options: AskOptions) -> SelectiveSampling:
    """Return a loaded model with the query strategy that it was saved with, or with that of the options."""
    from coterie.estimators import SelectiveSampling
    from coterie.estimators.selective import base_model, is_askable
    from coterie.expressions import ExpressionError, part_of

    base = base_model(model)
    if not is_askable(base):
        raise UsageError(f"{type(base).__name__} does not query labels; expected a binary classifier")
    per_task = options.per_task
    if per_task is not None and per_task.is_integer():
        per_task = int(per_task)
    limits: Json = {"budget": options.budget, "window": options.window, "per_task": per_task, "seed": options.seed}
    if options.by is None and not any(limits.values()) and isinstance(model, SelectiveSampling):
        return model
    try:
        strategy = part_of("by", options.by or "Margin()", "Margin(c=0.3)")
    except ExpressionError as error:
        raise error.in_option("--by") from None
    selective = SelectiveSampling(base, strategy, **limits)
    try:
        selective.__stream_model__()  # checks the parameters
    except (TypeError, ValueError) as error:
        name = next(filter(str(error).startswith, limits), None)  # messages begin with the parameter
        if name is None:
            raise ValueError(str(error)) from None
        raise FieldError("{}{rest}", name, rest=str(error).removeprefix(name)) from None
    return selective


class _Selection(NamedTuple):
    """The records to label, as line or row numbers by file, in order.

    ``is_spent`` is True if a budget for all records is used up, so that records after the last one were not considered.
    """

    places: dict[str, Places]
    examples: int
    is_spent: bool

    @property
    def labels(self) -> int:
        """The number of records to label."""
        return sum(map(len, self.places.values()))

    @property
    def last(self) -> str:
        """The file and the line or row of the last record to label."""
        return [f"{path}:{places[-1]}" for path, places in self.places.items() if len(places)][-1]


def _select_records(model: SelectiveSampling, reader: Reader) -> _Selection:
    """Return the records of a reader to label. Each record counts as a round of the model's queries."""
    import numpy as np

    from .predict import locate_error

    places: dict[str, list[Places]] = {}
    examples = 0
    with closing(iter(reader)) as blocks:
        for block in blocks:
            if block.y is not None:
                message = "has a label, and only records without one are asked about: learn from this file instead"
                raise InputError(message, reader.path, int(block.place[0]))
            try:
                is_wanted = model.__stream_model__().wants_block(block)
            except ValueError as error:
                raise locate_error(model.model.__predict_block__, block, reader, error) from None
            places.setdefault(reader.path, []).append(block.place[is_wanted])
            examples += len(block)
    joined = {path: np.concatenate(parts) for path, parts in places.items()}
    return _Selection(joined, examples, model.__stream_model__().spent)


def _require_suffix(output: Path, formats: Mapping[str, str]) -> None:
    """Raise an error if the records cannot be written in the format of ``output``.

    Text needs CSV or TSV, typed records need JSON Lines.
    """
    from coterie.data.readers import ROWS

    for kind in formats.values():
        if kind in ROWS:
            raise UsageError(f"records of {kind} have no named columns for a label; use a table")
        expected = (".csv", ".tsv") if kind in ("csv", "tsv") else (".jsonl",)
        if output.suffix.lower() not in expected:
            endings = " or ".join(expected)
            raise UsageError(
                f"{str(output)!r} is not supported for records of {kind}; use a file that ends in {endings}"
            )


def _write_records(
    file: IO[str], wanted: _Selection, formats: Mapping[str, str], label: str, task: str | None, suffix: str
) -> None:
    """Write the original records with their line numbers and an empty label. ``wanted`` are their places in files."""
    from .outputs import csv_lines
    from .predict import to_finite

    rows = (row for path, places in wanted.places.items() for row in _read_rows(path, formats[path], places, label))
    if suffix == ".jsonl":
        for row in rows:
            if not isinstance(row.get(str(task)), _TASKS):
                raise UsageError(f"task {row[str(task)]!r} cannot be written to JSON Lines: learn from text as tasks")
            file.write(json.dumps(to_finite(row), ensure_ascii=False, default=_to_json) + "\n")
        return
    writer, names = csv.writer(csv_lines(file), delimiter="\t" if suffix == ".tsv" else ","), list[str]()
    for row in rows:
        if not names:
            names = list(row)
            writer.writerow(names)
        writer.writerow(map(row.get, names))


def _to_json(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else str(value)


def _read_rows(path: str, kind: str, places: Places, label: str) -> Iterator[Json]:
    """Yield the rows of a file at these line numbers. Values keep their types, and JSON objects all their keys."""
    import numpy as np

    from coterie.data.invalid_records import Faults
    from coterie.data.lines import split_lines, text_records
    from coterie.data.readers import open_table
    from coterie.data.sources import Source

    def read_places(source: Source) -> Iterator[tuple[int, Json]]:
        if kind == "jsonl":
            for records in text_records(source, split_lines, Faults("skip")):
                for row in np.flatnonzero(np.isin(records.line, places)).tolist():
                    yield int(records.line[row]), json.loads(records.record(row))
            return
        table = open_table(kind, source, Faults("skip"), 8192)
        for chunk in table.read_chunks(dict.fromkeys(table.names, "label")):  # columns of labels stay text
            for row in np.flatnonzero(np.isin(chunk.place, places)).tolist():
                yield int(chunk.place[row]), chunk.columns.slice(row, 1).to_pylist()[0]

    with Source(path) as source:
        for place, row in read_places(source):
            key = next(name for n in range(len(row) + 1) if (name := "place" + "_" * n) not in row)
            yield {key: f"{path}:{place}", label: None} | row | {label: None}
