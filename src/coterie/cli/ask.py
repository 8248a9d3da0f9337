"""``coterie ask``."""

from __future__ import annotations

from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie import spec

from .failures import UsageError, tell_skipped, typed
from .options import FORMAT, ON_ERROR, ColumnOptions, Files, Json, Quiet
from .places import Force, naming, require_outputs
from .spreading import OptionSet

if TYPE_CHECKING:
    from coterie.cli.querying import Wanted
    from coterie.online import SelectiveSampling

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The saved model.")]


@dataclass(frozen=True)
class AskingOptions(OptionSet):
    """Where the records go, how labels are asked for, and how the files are read."""

    output: Path = spec.field(
        metavar="OUT",
        help="Where the records go: a CSV or TSV file, or JSON Lines for records of JSON, Parquet or Arrow.",
    )
    by: str | None = spec.field(
        default=None,
        metavar="EXPRESSION",
        help="How likely a label is asked for: `Margin(c=0.3)` (the default), `Below(0.1)`, `Randomly(0.2)`, "
        "`Always()` or `RelationRow()` ([query strategies](labels.md)).",
    )
    budget: int | None = spec.field(
        default=None, metavar="N", help="Ask for at most N labels: the first N that are wanted."
    )
    window: int | None = spec.field(
        default=None, metavar="N", help="The limits are for any N records in a row, not for all."
    )
    per_task: str | None = spec.field(
        default=None, metavar="N|S", help="At most N labels a task, or a share S of the budget, as 0.1."
    )
    seed: int = spec.field(default=0, metavar="N", help="Seed of the random numbers.")
    save: Path | None = spec.field(
        default=None,
        metavar="MODEL",
        help="Save the model here, which may be the one asked: its budget counts on in later runs.",
    )
    task: str | None = spec.field(
        default=None, metavar="COLUMN", help="The column of the task, where it has another name."
    )
    label: str | None = spec.field(
        default=None, metavar="COLUMN", help="The column to be filled in; the model's where none is named."
    )
    format: str | None = spec.field(FORMAT, default=None)
    on_error: str = spec.field(ON_ERROR, default="stop")
    force: Force = False


def ask(model: Model, files: Files, asking: AskingOptions, json: Json = False, quiet: Quiet = False) -> None:
    """Write out the records without labels whose labels a saved model of two labels wants.

    Nothing is learned. Somebody fills in the labels, and `coterie learn OUT --from MODEL` learns them. A model that
    asked before asks as it did unless options say otherwise.

    For example:
      coterie ask clicks.coterie new.csv --output ask.csv --budget 200
      coterie ask clicks.coterie new.csv -o ask.csv --by "Margin(c=0.1)" --per-task 5 --save clicks.coterie
    """
    from coterie.cli.querying import require_file_of, wanted_records, write_wanted
    from coterie.io.readers import detect_format
    from coterie.io.sources import STDIN, find_paths
    from coterie.persistence import replacing

    from .models import load_online
    from .outputs import Written
    from .printing import print_result

    output, save = asking.output, asking.save
    paths = find_paths(files)
    require_outputs({"output": output}, [*paths, model], asking.force)
    require_outputs({"save": save}, [*paths, output], asking.force, model)
    if STDIN in paths:
        raise UsageError("records are read twice, so they must be in a file")
    formats = {path: detect_format(path, asking.format) for path in paths}
    require_file_of(str(output), list(formats.values()))
    loaded: Any = load_online(model)
    selective = _selective(loaded, asking)
    columns = ColumnOptions(task=asking.task, format=asking.format, on_error=asking.on_error)
    reader = columns.continued(files, loaded.encoder_, update=False)
    wanted = wanted_records(selective, reader)
    column = asking.label or loaded.encoder_.label
    with naming(output), replacing(output) as raw:
        file = TextIOWrapper(raw, encoding="utf-8", newline="")
        write_wanted(file, wanted, formats, column, output.suffix.lower())
        file.flush()
        file.detach()
    written = Written()
    if save is not None:
        written.model(selective, save)
    there = written.there("output", save)
    if json:
        predictions = {"examples": wanted.examples, "labels": wanted.labels}
        print_result("ask", predictions, {"output": output, "model": there, "rescued": written.rescued})
    elif not quiet:
        _print(wanted, column, output, there or model, selective.budget)
    tell_skipped(reader)
    written.require_all()


def _selective(model: Any, asking: AskingOptions) -> SelectiveSampling:
    """Return a loaded model that asks as it did before, or as the options say."""
    from coterie.expressions import ExpressionError, part_of
    from coterie.inputs.errors import FieldError
    from coterie.online import SelectiveSampling
    from coterie.online.selective import base_model, is_askable

    if not is_askable(base_model(model)):
        kind = type(base_model(model)).__name__
        raise UsageError(f"only models of two labels ask for labels, and this is no such one ({kind})")
    limits: Any = {"budget": asking.budget, "window": asking.window}
    limits |= {"per_task": _limit(asking.per_task), "seed": asking.seed}
    if asking.by is None and not any(limits.values()) and isinstance(model, SelectiveSampling):
        return model
    try:
        part = part_of("by", asking.by or "Margin()", "Margin(c=0.3)")
    except ExpressionError as error:
        raise error.in_option("--by") from None
    made = SelectiveSampling(base_model(model), part, **limits)
    try:
        made.__stream_model__()  # refuses what does not go together
    except (TypeError, ValueError) as error:
        raise FieldError.from_error(error, {name: name for name in limits}) from None
    return made


def _limit(text: str | None) -> int | float | None:
    try:
        return None if text is None else int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise UsageError(f"--per-task is {text!r}; expected a whole number or a share below 1") from None


def _print(wanted: Wanted, label: str, output: Path, model: Path, budget: int | None) -> None:
    from .printing import paragraph, print_lines

    said = f"Of {wanted.examples:,} records, {wanted.labels:,} are worth a label: {output}."
    if wanted.spent and not wanted.labels:
        said += f" The budget of {budget:,} was spent in earlier runs: --budget begins a new one."
    elif wanted.spent:
        said += f" The budget was spent with {wanted.last}, and nothing after it is asked for: a smaller c in"
        said += ' --by "Margin(c=...)" spreads the labels further.'
    goes_on = f"coterie learn {typed(output)} --from {typed(model)} --output {typed(model)}"
    print_lines(paragraph(said), [f"Next: fill in its column {label!r}, then {goes_on}"] if wanted.labels else [])
