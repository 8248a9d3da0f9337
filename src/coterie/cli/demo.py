"""``coterie demo``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple

import typer

from coterie.wording import visible

from .options import OUTPUT, ColumnOptions, Json, LearningOptions, Quiet, Verbose
from .outputs import OutputOptions, finish
from .stopping import StoppableRun


class Show(NamedTuple):
    """A data set that the demo shows; the first of its tasks, which are called so in sentences, is the default."""

    label: str
    tasks: dict[str, str]
    ignore: str
    delay: int
    what: str


SHOWS = {
    "flights": Show(
        "late",
        {"dest": "destination", "tailnum": "aircraft"},
        "tailnum",
        300,
        "Flights that left New York in 2013, in the order of departure: will it arrive more than 15 minutes late?",
    ),
    "chem97": Show(
        "above",
        {"school": "school", "lea": "education authority"},
        "school",
        0,
        "Pupils who sat A-level chemistry in 1997: is the score above the median?",
    ),
}
Name = Annotated[str, typer.Argument(metavar="[flights|chem97]", help="Which data; `flights` come with the package.")]
Task = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="For flights `dest` (a destination, the default) or `tailnum` (an aircraft), for chem97 `school` or "
        "`lea`.",
    ),
]
Delay = Annotated[
    int | None,
    typer.Option(metavar="N", min=0, help="Labels come N records late.  [default: 300 for flights, 0 for chem97]"),
]
Report = Annotated[Path, typer.Option(metavar="OUT.html", help="Where the report goes.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar=OUTPUT.metavar, help=OUTPUT.help)]


def demo(
    name: Name = "flights",
    task: Task = None,
    delay: Delay = None,
    report: Report = Path("coterie-demo.html"),
    output: Output = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run the main job on real data, offline and in seconds.

    Reads a data set that comes with the package, learns one model per task beside the baselines, and writes the
    report. What it prints first is the learn command that does the same.

    For example:
      coterie demo
      coterie demo flights --task tailnum --report aircraft.html
      coterie demo chem97
    """
    show, outputs = _chosen(name, task), OutputOptions(output, report, json, quiet, verbose)
    outputs.require([])
    late = show.delay if delay is None else delay
    from .learn import learn_new

    with _table(name) as path:
        if not quiet:
            typer.echo("\n".join(map(visible, _opening(name, show, path, late))), err=True)
        run = StoppableRun([str(path)], outputs.output, {"delay": late} | outputs.again)
        with run.stopping():
            outcome = learn_new(_columns(show), LearningOptions().config(), late, alone=False, run=run)
            reading = replace(outcome.reading, source=f"the data set {name}, as coterie datasets {name} describes it")
            look = f"Next: open {report} in a browser, then: coterie learn FILE --task COLUMN --label COLUMN"
            run.files = [_lasting(name, path)]
            told = replace(outcome, reading=reading)
            finish("demo", told, outputs, run, *_about_delay(name, late), look, title=show.what)


def _lasting(name: str, path: Path) -> str:
    """Return a name of the file for printed commands: temporary files are gone when the demo is over."""
    return str(path) if name == "flights" else path.name


def _columns(show: Show) -> ColumnOptions:
    task = next(iter(show.tasks))
    return ColumnOptions(task=task, label=show.label, ignore=[show.ignore] if show.ignore != task else None)


def _chosen(name: str, task: str | None) -> Show:
    """Return the data set, the task asked for being its first."""
    from coterie.jobs.choosing import require_one_of

    require_one_of("the demo", name, tuple(SHOWS))
    show = SHOWS[name]
    require_one_of("task", task, tuple(show.tasks))
    return show if task is None else show._replace(tasks={task: show.tasks[task]})


@contextmanager
def _table(name: str) -> Iterator[Path]:
    """Provide the data set as a file, in a temporary folder if the package has none."""
    from coterie import datasets

    table = datasets.table(name)
    if isinstance(table, Path):
        yield table
        return
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.parquet")
        datasets.export(name, path)
        yield path


def _opening(name: str, show: Show, path: Path, late: int) -> Iterator[str]:
    """Yield the question, and the learn command that answers it."""
    columns = _columns(show)
    ignored = "".join(f" --ignore {column}" for column in columns.ignore or ())
    delay = f" --delay {late}" if late else ""
    yield show.what
    yield f"One model per {next(iter(show.tasks.values()))}. The same by hand:"
    if name != "flights":
        yield f"  coterie datasets {name} --output {path.name}"
    yield f"  coterie learn {_lasting(name, path)} --task {columns.task} --label {columns.label}{ignored}{delay}"
    if late:
        yield f"Labels come {late:,} records late."
    yield ""


def _about_delay(name: str, late: int) -> Iterator[str]:
    if name != "flights":
        return
    if late:
        yield (
            f"Each label was held back for {late:,} flights: so many leave before one has landed and it is known "
            "whether it was late. Without the delay results would be too good to be true."
        )
    else:
        yield (
            "Labels came at once here, which flatters every learner: in truth some 300 flights leave before one has "
            "landed. Without --delay 0 the demo holds them back."
        )
