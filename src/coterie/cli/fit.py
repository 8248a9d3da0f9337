"""``coterie fit``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.failures import UsageError
from coterie.cli.options import Columns, Files, Json, Model, Quiet
from coterie.cli.outputs import naming
from coterie.cli.spreading import spread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coterie.jobs.fitting import Fitted

Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="OUT.png|.svg|.pdf", help="Draw the errors on rows left out, for every alpha and relation tried."
    ),
]


@dataclass(frozen=True)
class Predicting(Columns):
    """What to read of the records, and how; labels are of any kind."""

    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column to predict: it holds numbers, or classes.")
    ] = None


@dataclass(frozen=True)
class Batch:
    """Which model."""

    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="ridge (the default for more than two different numbers), classifier (for all other labels), "
            "svc, svr, linear-svc or linear-svr.",
        ),
    ] = None
    kernel: Annotated[
        str | None, typer.Option(metavar="NAME", help="gaussian (the default), linear or polynomial.")
    ] = None
    sigma: Annotated[
        float | None,
        typer.Option(metavar="S", help="Width of the Gaussian kernel; without, the median distance of records."),
    ] = None
    degree: Annotated[int | None, typer.Option(metavar="N", help="Of the polynomial kernel.  [default: 2]")] = None
    alpha: Annotated[
        float | None,
        typer.Option(metavar="A", help="How much ridge regression smooths; without, chosen by rows left out."),
    ] = None
    C: Annotated[
        float | None,
        typer.Option("--C", metavar="C", help="Weight of the losses of support vector machines.  [default: 1]"),
    ] = None
    relation: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How tasks share: mixed (the default: one function of all and one of each, how much of either chosen "
            "by rows left out), optimal (learned), half, mean, clusters, hierarchy, graph, matrix, independent or "
            "pooled.",
        ),
    ] = None
    share: Annotated[
        str | None,
        typer.Option(metavar="S", help="How much is shared, 0 to 1; a hierarchy may have S,S,... by level."),
    ] = None
    b: Annotated[str | None, typer.Option("--b", metavar="B", help="The same as the strength b of the papers.")] = None
    groups: Annotated[
        str | None, typer.Option(metavar="FILE", help="CSV of task,group: tasks share inside their group.")
    ] = None
    parents: Annotated[
        str | None,
        typer.Option(metavar="FILE|CHAR", help="CSV of node,parent, or the character that separates levels in a name."),
    ] = None
    graph: Annotated[
        str | None, typer.Option(metavar="FILE", help="CSV of task,task or task,task,weight: neighbours share.")
    ] = None
    matrix: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="CSV of an interaction matrix, its first line the tasks of the rows."),
    ] = None
    choose_on: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Choose alpha and the relation on so many records, drawn at random.  [default: 2000]"
        ),
    ] = None


@spread
def fit(
    files: Files,
    columns: Predicting,
    batch: Batch,
    model: Model = None,
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
      coterie fit pupils.csv --task school --label score --model score.coterie
      coterie fit blood.csv --task patient --label concentration --features hours --sigma 2 --plot path.png
      coterie fit mail.jsonl --task user --label folder --text subject --method linear-svc --model folders.coterie
    """
    from coterie.jobs.fitting import fit_files
    from coterie.streams.errors import FieldError, InputError

    if "-" in files and (columns.scale or "auto") in ("auto", "standard"):
        raise UsageError("standard input can be read once only: give --scale none or unit, or a file")
    for name, path in (("model", model), ("plot", plot)):
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"--{name}: there is no folder {str(path.parent)!r}")
    fitting = _fitting(batch)
    columns.require_named(files)
    try:
        fitted = fit_files(partial(columns.reader, files), fitting)
    except InputError:
        raise
    except ValueError as error:  # of a part
        raise FieldError.of(error, {name: name for name in asdict(batch)}) from None
    _write(fitted, model, plot)
    _tell(fitted, model, plot, json, quiet)


def _fitting(batch: Batch) -> Any:
    from coterie.cli.specs import numbers
    from coterie.jobs.fitting import Fitting

    said = asdict(batch)
    return Fitting(**said | {name: numbers(name, said[name]) for name in ("share", "b") if said[name] is not None})


def _write(fitted: Fitted, model: Path | None, plot: Path | None) -> None:
    if plot is not None:
        if fitted.path is None:
            raise UsageError("--plot draws errors on rows left out, which this model has none of")
        with naming(plot):
            fitted.path.plot(plot)
    if model is not None:
        with naming(model):
            fitted.model.save(model)


def _tell(fitted: Fitted, model: Path | None, plot: Path | None, json: bool, quiet: bool) -> None:
    from coterie.cli.printing import print_json, print_lines, reading_lines

    if json:
        print_json(_as_json(fitted, model, plot))
    elif not quiet:
        print_lines(_summary(fitted), reading_lines(fitted.reading), _written(fitted, model, plot))


def _as_json(fitted: Fitted, model: Path | None, plot: Path | None) -> dict[str, Any]:
    from coterie import __version__

    told: dict[str, Any] = {"command": "fit", "version": __version__, "parameters": repr(fitted.model)}
    told |= {
        "rows": fitted.reading.rows,
        "tasks": fitted.tasks,
        "explained": dict(fitted.explained),
        "right": dict(fitted.right) or None,
        "chosen_on": fitted.chosen_on,
        "chosen": list(fitted.chosen),
        "alpha_at_edge": fitted.edge,
    }
    written = {"model": model, "plot": plot}
    return told | {"reading": fitted.reading.to_json()} | {k: None if v is None else str(v) for k, v in written.items()}


def _summary(fitted: Fitted) -> Iterator[str]:
    from coterie.cli.printing import paragraph, table

    yield from paragraph(f"Fitted {fitted.reading.rows:,} records of {fitted.tasks:,} tasks: {fitted.model!r}.")
    if fitted.explained:
        yield ""
        shown = [fitted.explained, *([fitted.right] if fitted.right else [])]
        rows = [[name, *(f"{100 * each[name]:.1f} %" for each in shown)] for name in fitted.explained]
        drawn = "" if fitted.chosen_on == fitted.reading.rows else f", of {fitted.chosen_on:,} drawn"
        heads = ["learner", f"explained variance on rows left out{drawn}", "classes right"]
        yield from table(heads[: 1 + len(shown)], rows)
        yield from _cautions(fitted)


def _cautions(fitted: Fitted) -> Iterator[str]:
    """What figures on rows that something was chosen on do not say."""
    from coterie.cli.printing import paragraph

    if "relation" in fitted.chosen:
        yield ""
        yield from paragraph(
            "Together was chosen on these rows, with independent and pooled among what was tried, so here it can never "
            "lose to them: records that were kept apart tell whether it wins."
        )
    elif fitted.chosen:
        yield ""
        yield from paragraph("Alpha was chosen on these rows, for each learner its own.")
    if fitted.edge is not None:
        yield from paragraph(
            f"Alpha ended on the edge of what was tried, {fitted.edge:g}: one beyond may do better; try --alpha, "
            "another --kernel or --sigma."
        )


def _written(fitted: Fitted, model: Path | None, plot: Path | None) -> Iterator[str]:
    if plot is not None:
        yield f"Plot: {plot}"
    if model is not None:
        yield f"Model: {model} ({fitted.tasks:,} tasks). Next: coterie predict FILE --model {model}"
