"""``coterie fit``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from coterie import spec
from coterie.settings import Setting

from .failures import UsageError, typed
from .helping import GROUPS
from .options import OUTPUT, ColumnOptions, Files, GivenOptions, Json, Quiet
from .outputs import Written, with_hints
from .places import MODEL as MODEL_FILE
from .places import Place, naming, paths_read, picture, require_places
from .progress import name_columns, telling

if TYPE_CHECKING:
    from coterie.batch.path import RidgePath
    from coterie.io.readers import Reader
    from coterie.jobs.fitting import ChosenRelation, Fitted

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar=OUTPUT.metavar, help=OUTPUT.help, rich_help_panel=GROUPS["outputs"]),
]
Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="OUT.png|.svg|.pdf",
        help="Draw the errors on rows left out, for every alpha and relation tried.",
        rich_help_panel=GROUPS["outputs"],
    ),
]


@dataclass(frozen=True)
class Predicting(ColumnOptions):
    """The columns to read; labels are of any kind."""

    label: str | None = spec.field(
        default=None, metavar="COLUMN", help="The column to predict: it holds numbers, or classes."
    )


class BatchOptions(GivenOptions):
    """The options that choose a batch model, see `coterie.jobs.fitting`."""

    @classmethod
    def settings(cls) -> Mapping[str, Mapping[str, Setting]]:
        """The options by group."""
        from coterie.jobs.fitting import fit_options

        return fit_options()


def fit(
    files: Files,
    columns: Predicting,
    batch: BatchOptions,
    output: Output = None,
    plot: Plot = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit all records at once, by kernels: for what fits in memory, and for numbers to predict.

    Labels that are numbers, more than two different ones, are predicted as numbers, all others (0 and 1 too) as
    classes, two or more of them. How much to smooth and how much to share are chosen by errors on rows that were left
    out one by one, of 2,000 records drawn at random where there are more; the summary sets them beside those of one
    model per task and one for all. The files are read twice where numbers are scaled.

    For example:
      coterie fit pupils.csv --task school --label score --output score.coterie
      coterie fit blood.csv --task patient --label concentration --features hours --sigma 2 --plot path.png
      coterie fit mail.jsonl --task user --label folder --text subject --method linear-svc -o folders.coterie
    """
    from coterie.inputs.errors import FieldError, InputError
    from coterie.jobs.choosing import paths_in
    from coterie.jobs.fitting import FitConfig, fit_files

    from .printing import print_lines, print_result, reading_lines

    if "-" in files and (columns.scale or "auto") in ("auto", "standard"):
        raise UsageError("standard input can be read once only: give --scale none or unit, or a file")
    config = FitConfig.of(**batch.read())
    places = [] if output is None else [Place("output", output, MODEL_FILE)]
    places += [] if plot is None else [Place("plot", plot, picture(plot))]
    require_places(places, paths_read(files, paths_in(config.options)))
    columns.require_named(files)
    try:
        with telling("reading", quiet):
            fitted = fit_files(partial(_reader, columns, files, quiet), config)
    except InputError:
        raise
    except ValueError as error:  # of a part
        raise FieldError.of(error, {name: name for name in batch.given}) from None
    if plot is not None and fitted.choice.path is None:
        raise UsageError("--plot draws errors on rows left out, which this model has none of")
    written = Written()
    if output is not None:
        written.model(fitted.model, output)
    if plot is not None:
        written.file("plot", lambda: _draw(fitted, plot))
    if json or not quiet:
        fitted = fitted._replace(reading=with_hints(fitted.reading, fitted.hints))
    there = {"model": written.there("output", output), "plot": written.there("plot", plot)}
    if json:
        print_result("fit", _as_json(fitted), there, {"rescued": written.rescued})
    elif not quiet:
        print_lines(_summary(fitted), reading_lines(fitted.reading), _written(fitted, **there))
    written.require_all()


def _reader(columns: ColumnOptions, files: list[str], quiet: bool, **given: Any) -> Reader:
    reader = columns.reader(files, **given)
    if not quiet:
        reader.before_first(name_columns)
    return reader


def _draw(fitted: Fitted, plot: Path) -> None:
    with naming(plot):
        cast("RidgePath", fitted.choice.path).plot(plot)


def _as_json(fitted: Fitted) -> dict[str, Any]:
    choice = fitted.choice
    return {
        "parameters": repr(fitted.model),
        "rows": fitted.reading.rows,
        "tasks": fitted.tasks,
        "explained": dict(choice.explained),
        "right": dict(choice.right) or None,
        "chosen_on": choice.rows,
        "chosen": list(choice.chosen),
        "alpha_at_edge": choice.edge,
        "reading": fitted.reading.to_json(),
    }


def _summary(fitted: Fitted) -> Iterator[str]:
    from coterie.wording import table

    from .printing import paragraph

    choice = fitted.choice
    yield from paragraph(f"Fitted {fitted.reading.rows:,} records of {fitted.tasks:,} tasks: {fitted.model!r}.")
    if choice.explained:
        yield ""
        shown = [choice.explained, *([choice.right] if choice.right else [])]
        rows = [[name, *(f"{100 * each[name]:.1f} %" for each in shown)] for name in choice.explained]
        drawn = "" if choice.rows == fitted.reading.rows else f", of {choice.rows:,} drawn"
        heads = ["learner", f"explained variance on rows left out{drawn}", "classes right"]
        yield from table(heads[: 1 + len(shown)], rows)
        yield from _cautions(choice)


def _cautions(choice: ChosenRelation) -> Iterator[str]:
    """Say that figures on rows that something was chosen on are too good."""
    from .printing import paragraph

    if "relation" in choice.chosen:
        yield ""
        yield from paragraph(
            "Together was chosen on these rows, with independent and pooled among what was tried, so here it can never "
            "lose to them: records that were kept apart tell whether it wins."
        )
    elif choice.chosen:
        yield ""
        yield from paragraph("Alpha was chosen on these rows, for each learner its own.")
    if choice.edge is not None:
        yield from paragraph(
            f"Alpha ended on the edge of what was tried, {choice.edge:g}: one beyond may do better; try --alpha, "
            "another --kernel or --sigma."
        )


def _written(fitted: Fitted, model: Path | None, plot: Path | None) -> Iterator[str]:
    if plot is not None:
        yield f"Plot: {plot}"
    if model is not None:
        yield f"Model: {model} ({fitted.tasks:,} tasks). Next: coterie predict {typed(model)} FILE"
