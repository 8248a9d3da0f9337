"""``coterie demo``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from coterie.wording import visible

from .options import OUTPUT, ColumnOptions, Json, LearningOptions, Quiet, Verbose
from .outputs import OutputOptions, finish
from .places import Force
from .stopping import InterruptibleRun

#: The columns that may name the task, and the words for a task of each.
TASKS = {"dest": "destination", "tailnum": "aircraft"}
QUESTION = "Flights that left New York in 2013, in the order of departure: will it arrive more than 15 minutes late?"
REPORT = Path("coterie-demo.html")
Task = Annotated[str, typer.Option(metavar="COLUMN", help="`dest` (a destination) or `tailnum` (an aircraft).")]
Delay = Annotated[int, typer.Option(metavar="N", min=0, help="Labels come N records late.")]
Report = Annotated[Path, typer.Option(metavar="OUT.html", help="Where the report goes.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar=OUTPUT.metavar, help=OUTPUT.help)]


def demo(
    task: Task = "dest",
    delay: Delay = 300,
    report: Report = REPORT,
    output: Output = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
    force: Force = False,
) -> None:
    """Run the main job on real data, offline and in seconds.

    Reads the flights that come with the package, learns one model per task beside the baselines, and writes the
    report. What it prints first is the learn command that does the same.

    For example:
      coterie demo
      coterie demo --task tailnum --report aircraft.html
    """
    from coterie import datasets
    from coterie.inputs.errors import require_one_of

    require_one_of("task", task, tuple(TASKS))
    outputs = OutputOptions(output, report, json, quiet, verbose, force)
    outputs.require([], over=REPORT)
    columns = ColumnOptions(task=task, label="late", ignore=None if task == "tailnum" else ["tailnum"])
    path = datasets.FLIGHTS
    from .learn import learn_new

    if not quiet:
        typer.echo("\n".join(map(visible, _opening(columns, path, delay))), err=True)
    run = InterruptibleRun([str(path)], outputs.output, {"delay": delay} | outputs.again)
    with run.stopping():
        outcome = learn_new(columns, {"": LearningOptions().expression()}, delay, alone=False, run=run)
        outcome = replace(outcome, reading=replace(outcome.reading, source="the flights that come with coterie"))
        look = f"Next: open {report} in a browser, then: coterie learn FILE --task COLUMN --label COLUMN"
        finish("demo", outcome, outputs, run, _about_delay(delay), look, title=QUESTION)


def _opening(columns: ColumnOptions, path: Path, delay: int) -> Iterator[str]:
    """Yield the question, and the learn command that answers it."""
    ignored = "".join(f" --ignore {column}" for column in columns.ignore or ())
    late = f" --delay {delay}" if delay else ""
    yield QUESTION
    yield f"One model per {TASKS[str(columns.task)]}. The same by hand:"
    yield f"  coterie learn {path} --task {columns.task} --label {columns.label}{ignored}{late}"
    if delay:
        yield f"Labels come {delay:,} records late."
    yield ""


def _about_delay(delay: int) -> str:
    if delay:
        return (
            f"Each label was held back for {delay:,} flights: so many leave before one has landed and it is known "
            "whether it was late. Without the delay results would be too good to be true."
        )
    return (
        "Labels came at once here, which flatters every learner: in truth some 300 flights leave before one has "
        "landed. Without --delay 0 the demo holds them back."
    )
