"""``coterie predict``."""

from __future__ import annotations

import csv
import json as jsonlib
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from coterie import spec
from coterie.wording import listed

from .failures import UsageError, tell, tell_skipped, typed
from .options import FORMAT, ON_ERROR
from .places import Force, naming, require_outputs
from .spreading import OptionSet

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from coterie.cli.predicting import PredictedRecords

File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="Records to predict: a path, a URL, a quoted glob, or `-` for standard input."),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The saved model.")]


@dataclass(frozen=True)
class PredictionOptions(OptionSet):
    """Where predictions go, what they tell, and how the file is read."""

    output: str = spec.field(
        default="-",
        metavar="OUT.csv|-",
        help="Where to: a file, which is there whole at the end or not at all, or `-`, standard output.",
    )
    task: str | None = spec.field(
        default=None, metavar="COLUMN", help="The column of the task, where it has another name than in learning."
    )
    level: float | None = spec.field(
        default=None,
        metavar="P",
        help="The probability with which a number lies in its interval, 0.9 by default; for models that predict "
        "intervals.",
    )
    threshold: float | None = spec.field(
        default=None,
        metavar="P",
        help="The probability from which the larger of the two labels is predicted, 0.5 by default: a lower one "
        "finds more of its records, with more false alarms.",
    )
    probabilities: bool = spec.field(default=False, help="Write the probability of each label, a column for each.")
    keep: list[str] | None = spec.field(
        default=None,
        metavar="COLUMN",
        help="Copy this column of the records to the predictions, unchanged; may be repeated.",
    )
    format: str | None = spec.field(FORMAT, default=None)
    on_error: str = spec.field(ON_ERROR, default="stop")
    json: bool = spec.field(default=False, help="JSON Lines instead of CSV.")
    force: Force = False


def predict(model: Model, file: File, options: PredictionOptions) -> None:
    """Predict records with a saved model, in bounded memory.

    Writes a line for each record: its place (line or row, of a glob's files FILE:LINE), its task, the label predicted,
    the margin, positive for the larger of the two labels, and that label's probability where there is one; of numbers,
    the ends of an interval in which they lie, where the model has such. A label in the file is not looked at. A task
    that the model has never seen is predicted by what its relation says of it, or refused, as the model was told when
    it was learned. A column of features that a file lacks is taken as missing values, with a warning.

    For example:
      coterie predict clicks.coterie today.csv --output predicted.csv
      coterie predict clicks.coterie today.csv --keep order --keep price
      zcat today.csv.gz | coterie predict clicks.coterie - --format csv --json
    """
    from coterie.cli.predicting import predict_records
    from coterie.io.readers import read
    from coterie.io.sources import find_paths

    from .models import load_model

    if not model.is_dir() and _is_model(Path(file)) and not _is_model(model):
        raise UsageError(f"the model comes first: coterie predict {typed(file)} {typed(model)}")
    output = options.output
    # a device or a pipe is written to and not replaced
    if output != "-" and (Path(output).is_dir() or Path(output).is_file() or not Path(output).exists()):
        require_outputs({"output": Path(output)}, [*find_paths(file), model], options.force)
    learned = load_model(model)
    reader = read(
        file,
        task=options.task,
        format=options.format,
        on_error=options.on_error,
        encoder=learned.encoder_,
        update=False,
        keep=options.keep or (),
    )
    if model.is_dir():  # each shard encodes its records
        reader = reader.raw()
    made = predict_records(learned, reader, options.level, options.threshold, options.probabilities)
    with closing(made) as predictions, _opened(output) as out:
        (_write_json if options.json else _write_csv)(predictions, out)
    for path, lacking in reader.lacking.items():
        names = listed(list(map(repr, lacking)))
        tell(f"warning: {path} has no column {names}, which the model has learned from: taken as missing")
    tell_skipped(reader)


def _is_model(path: Path) -> bool:
    from coterie.persistence import begins_as_model

    return path.is_file() and begins_as_model(path)


def _write_csv(predictions: Iterable[PredictedRecords], out: SupportsWrite[str]) -> None:
    writer = csv.writer(out, lineterminator="\n")
    head: list[str] = []
    for block in predictions:
        columns = _columns(block)
        by_label = columns.pop("probabilities", {})
        columns |= {f"probability_{label}": column.tolist() for label, column in by_label.items()}
        columns |= {name: list(map(_cell, values)) for name, values in _kept(block, columns).items()}
        if not head:
            head = list(columns)
            writer.writerow(head)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_json(predictions: Iterable[PredictedRecords], out: SupportsWrite[str]) -> None:
    from .printing import harmless

    for block in predictions:
        columns = _columns(block)
        by_label = columns.pop("probabilities", None)
        if by_label is not None:
            labels = [label if isinstance(label, str | int | float) else str(label) for label in by_label]
            rows = zip(*(column.tolist() for column in by_label.values()), strict=True)
            columns["probabilities"] = [dict(zip(labels, row, strict=True)) for row in rows]
        columns |= {name: list(map(_finite, values)) for name, values in _kept(block, columns).items()}
        for row in zip(*columns.values(), strict=True):
            line = jsonlib.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=str)
            out.write(harmless(line) + "\n")


def _columns(block: PredictedRecords) -> dict[str, Any]:
    """Return the columns of predictions that there are, as lists of plain values; those of labels as they are."""
    held = {name: column for name, column in block._asdict().items() if column is not None and name != "kept"}
    return {name: column if name == "probabilities" else column.tolist() for name, column in held.items()}


def _kept(block: PredictedRecords, columns: Iterable[str]) -> Mapping[str, list[Any]]:
    """Return the columns of the records; refuse names that columns of predictions have."""
    for name in columns:
        if name in block.kept:
            raise UsageError(f"--keep {name}: the predictions have a column of this name")
    return {name: values.tolist() for name, values in block.kept.items()}


def _cell(value: Any) -> Any:
    return jsonlib.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else value


def _finite(value: Any) -> Any:
    """The value as JSON has it: null for what is no finite number."""
    if isinstance(value, list):
        return list(map(_finite, value))
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def _opened(output: str) -> Iterator[SupportsWrite[str]]:
    """Open the output: standard output, a device or pipe, or a file that is written whole or not at all."""
    from coterie.persistence import replacing

    if output == "-":
        yield _Terminal(sys.stdout) if sys.stdout.isatty() else sys.stdout
        return
    path = Path(output)
    with naming(path):
        held = path.open("wb") if path.exists() and not path.is_file() else replacing(path)
        with held as file:
            text = TextIOWrapper(file, encoding="utf-8", newline="")
            yield text
            text.flush()
            text.detach()


class _Terminal:
    """A terminal as standard output: control characters in names of tasks and labels are not sent to it."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def write(self, text: str, /) -> object:
        from coterie.wording import visible

        return self._out.write(visible(text.removesuffix("\n")) + "\n")
