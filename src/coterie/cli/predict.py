"""``coterie predict``."""

from __future__ import annotations

import csv
import json as jsonlib
import math
import sys
from collections.abc import Callable, Generator, Hashable, Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from coterie.data.errors import FieldError, InputError
from coterie.wording import listed, visible

from .failures import UsageError, print_message, print_skipped
from .options import FORCE, FORMAT, ON_ERROR, Model, OnError, OptionSet, option

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

    from coterie.data.block import Block
    from coterie.data.readers import Reader
    from coterie.types import Estimator

Columns = dict[str, list[Any]]

File = Annotated[
    str,
    typer.Argument(metavar="FILE", help="Records to predict: a path, a URL, a quoted glob, or `-` for standard input."),
]


@dataclass(frozen=True, kw_only=True)
class PredictOptions(OptionSet):
    """Options of ``predict``: the output, its columns, and the file format."""

    output: str = option(
        "OUT.csv|-", "A file, which is written whole or not at all, or `-`, standard output.", "-", "-o"
    )
    task: str | None = option("COLUMN", "The column of the task, if it has another name than in learning.", None, "-t")
    level: float | None = option(
        "P",
        "The probability with which a number lies in its interval, 0.9 by default; for models that predict intervals.",
    )
    threshold: float | None = option(
        "P",
        "The probability from which the larger of the two labels is predicted, 0.5 by default. A lower one finds more "
        "of its records, with more false alarms.",
    )
    probabilities: bool = option(None, "Write the probability of each label, a column for each.", False)
    keep: list[str] | None = option(
        "COLUMN", "Copy this column of the records to the predictions, unchanged; may be repeated."
    )
    format: str | None = option("NAME", FORMAT)
    on_error: OnError = option("stop|skip", ON_ERROR)
    json: bool = option(None, "JSON Lines instead of CSV.", False)
    force: bool = option(None, FORCE, False)


def predict(model: Model, file: File, options: PredictOptions) -> None:
    """Predict records with a saved model, in bounded memory.

    The output has one line for each record: its place (line or row, FILE:LINE if there are several files), its task,
    the predicted label, the margin, which is positive for the larger of the two labels, and the probability of that
    label if the model has one. For numbers it has the ends of an interval if the model has one. A label in the file is
    ignored. An unseen task is predicted by the relation, or is an error, as decided when the model was learned. If a
    file does not have a column of features, its values are missing, with a warning.

    For example:

        coterie predict clicks.coterie today.csv --output predicted.csv
        coterie predict clicks.coterie today.csv --keep order --keep price
        zcat today.csv.gz | coterie predict clicks.coterie - --format csv --json
    """
    from coterie.data.readers import read
    from coterie.data.sources import find_paths
    from coterie.distributed import load

    from .models import load_model, refuse_service
    from .outputs import open_output, require_outputs

    is_folder, path = model.is_dir(), Path(options.output)
    # a device or a pipe is written to and not replaced
    if options.output != "-" and (path.is_dir() or path.is_file() or not path.exists()):
        require_outputs({"output": path}, [*find_paths(file), model], options.force)
    refuse_service(model)
    trained: Estimator = load(model) if is_folder else load_model(model)
    reader = read(
        file,
        task=options.task,
        format=options.format,
        on_error=options.on_error or "stop",
        encoder=trained.encoder_,
        update=False,
        keep=options.keep or (),
    )
    if is_folder:  # each shard encodes its records
        reader = reader.raw()
    write = _write_json if options.json else _write_csv
    with closing(predict_records(trained, reader, options.level, options.threshold, options.probabilities)) as blocks:
        if options.output == "-":
            write(blocks, _Terminal(sys.stdout) if sys.stdout.isatty() else sys.stdout)
        else:
            with open_output(path) as out:
                write(blocks, out)
    for name, columns in reader.missing_columns.items():
        words = listed(list(map(repr, columns)))
        print_message(f"warning: {name} has no column {words}, which the model has learned from: taken as missing")
    print_skipped(reader)


# -- predictions ------------------------------------------------------------------------------------------------------


class PredictedBlock(NamedTuple):
    """The predictions for a block of records, as columns.

    Attributes
    ----------
    columns : dict of str to list
        The columns ``place`` (of several files ``"FILE:LINE"``), ``task``, ``prediction``, ``margin``, ``probability``
        (of the second class), ``low`` and ``high``, if the model has them.
    probabilities : dict of label to list, or None
        The probabilities of each label, if requested.
    copied : dict of str to list
        The columns that the reader copies.
    """

    columns: Columns
    probabilities: dict[Hashable, list[float]] | None
    copied: Columns


def predict_records(
    model: Estimator,
    reader: Reader,
    level: float | None = None,
    threshold: float | None = None,
    all_labels: bool = False,
) -> Generator[PredictedBlock]:
    """Predict the records of files block by block, in bounded memory; a file without records has one empty block.

    Parameters
    ----------
    model : estimator
        The model, with its encoder.
    reader : Reader
        Made with the model's encoder and ``update=False``.
    level : float, optional
        The probability with which numbers are to lie in their intervals, by default 0.9.
    threshold : float, optional
        The probability from which the larger of two labels is predicted, by default 0.5.
    all_labels : bool, default=False
        Add the probability of each label.

    Raises
    ------
    InputError
        With file and line, for a record that cannot be read, or a task that the model does not support.
    FieldError
        If an option is out of range, or the model has no such predictions.
    """
    _check_options(model, level, threshold, all_labels)
    with closing(iter(reader)) as blocks:
        first = next(blocks, None)
        for block in chain([reader.empty_block() if first is None else first], blocks):
            try:
                result = model.__predict_block__(block, 0.9 if level is None else level, all_labels)
            except ValueError as error:
                raise locate_error(model.__predict_block__, block, reader, error) from None
            if level is not None and result.low is None:
                raise FieldError("{} is not supported: {kind} has no intervals", "level", kind=type(model).__name__)
            if threshold is not None:
                if result.probability is None or model._many_classes or len(model.classes_) != 2:
                    message = "{} is not supported: {kind} has no probability of one of two labels"
                    raise FieldError(message, "threshold", kind=type(model).__name__)
                result = result._replace(prediction=model.classes_[(result.probability >= threshold).astype(int)])
            places = block.place.tolist()
            if len(reader.paths) > 1:
                places = [f"{reader.path}:{place}" for place in places]
            columns = {name: values.tolist() for name, values in result._asdict().items() if values is not None}
            labels = None
            if columns.pop("probabilities", None) is not None:
                labels = dict(zip(model.classes_.tolist(), result.probabilities.T.tolist(), strict=True))
            yield PredictedBlock(
                {"place": places} | columns, labels, {name: values.tolist() for name, values in block.unchanged.items()}
            )


def _check_options(model: Estimator, level: float | None, threshold: float | None, all_labels: bool) -> None:
    kind = type(model).__name__
    if level is not None and not 0.0 < level < 1.0:
        raise FieldError("{} must lie between 0 and 1, got {level!r}", "level", level=level)
    if threshold is not None and not 0.0 <= threshold <= 1.0:
        raise FieldError("{} must be from 0 to 1, got {threshold!r}", "threshold", threshold=threshold)
    if all_labels and not hasattr(model, "predict_proba"):
        raise FieldError("{} is not supported: {kind} has no probabilities", "probabilities", kind=kind)


def locate_error(decide: Callable[[Block], object], block: Block, reader: Reader, error: ValueError) -> ValueError:
    """Return an error about the first invalid record of a block, with its location.

    ``decide`` predicts a block, and fails for such a record.
    """
    for i in range(len(block)):
        try:
            decide(block.piece(i, i + 1))
        except ValueError as first:
            column = next((name for name, role in reader.columns.items() if role == "task"), None)
            return InputError(str(first), reader.path, int(block.place[i]), column)
    return error


# -- files ------------------------------------------------------------------------------------------------------------


def _write_csv(blocks: Iterable[PredictedBlock], out: SupportsWrite[str]) -> None:
    from .outputs import csv_lines

    writer = csv.writer(csv_lines(out))
    for number, block in enumerate(blocks):
        probabilities = {f"probability_{label}": values for label, values in (block.probabilities or {}).items()}
        columns = _add_copied({**block.columns, **probabilities}, block.copied, _to_cell)
        if number == 0:
            writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_json(blocks: Iterable[PredictedBlock], out: SupportsWrite[str]) -> None:
    from .printing import escape_json

    for block in blocks:
        columns = dict(block.columns)
        if block.probabilities is not None:
            labels = [label if isinstance(label, str | int | float) else str(label) for label in block.probabilities]
            rows = zip(*block.probabilities.values(), strict=True)
            columns["probabilities"] = [dict(zip(labels, row, strict=True)) for row in rows]
        columns = _add_copied(columns, block.copied, to_finite)
        for row in zip(*columns.values(), strict=True):
            line = jsonlib.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=str)
            out.write(escape_json(line) + "\n")


def _add_copied(columns: Columns, copied: Columns, convert: Callable[[object], object]) -> Columns:
    for name in copied:
        if name in columns:
            raise UsageError(f"--keep {name}: the predictions already have a column of this name")
    return columns | {name: list(map(convert, values)) for name, values in copied.items()}


def _to_cell(value: object) -> object:
    return jsonlib.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else value


def to_finite(value: object) -> object:
    """Replace numbers that are not finite by None, for JSON."""
    if isinstance(value, list):
        return list(map(to_finite, value))
    if isinstance(value, dict):
        return {key: to_finite(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


class _Terminal:
    """Standard output that escapes control characters in tasks and labels on a terminal."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def write(self, text: str, /) -> object:
        return self._out.write(visible(text.removesuffix("\n")) + "\n")
