"""Results of `learn` and `demo`: saved model, report and summary."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from signal import Signals
from typing import TYPE_CHECKING

import typer

from .failures import print_message
from .outputs import OutputWriter, page_facts

if TYPE_CHECKING:
    from coterie.evaluation.learning import LearningOutcome

    from .options import OutputOptions
    from .stopping import InterruptibleRun


def finish_learning(
    command: str,
    outcome: LearningOutcome,
    outputs: OutputOptions,
    run: InterruptibleRun,
    *notes: str,
    title: str | None = None,
) -> None:
    """Save the model, write the report, and print the summary and notes.

    All outputs are tried; an error of one is raised at the end. After an interruption or an invalid record, a line
    tells how to continue.
    """
    stopped, rows = outcome.stopped, outcome.reading.rows
    run.finished = stopped is None and outcome.failed is None
    with OutputWriter() as writer:
        with run.recording_save(rows):
            writer.save(outcome.model, outputs.output)
        unsaved = outputs.output is not None and not writer.paths
        if outcome.failed is not None:
            print_message(run.describe_end(rows, unsaved, failed=True))
            raise outcome.failed
        if (outputs.json or outputs.report or not outputs.quiet) and not outcome.one_label:
            _summarize(command, outcome, outputs, writer, notes, title)
        if stopped is not None:
            print_message(run.describe_end(rows, unsaved))
    if stopped is not None:
        raise typer.Exit(128 + stopped)


def _summarize(
    command: str,
    outcome: LearningOutcome,
    outputs: OutputOptions,
    writer: OutputWriter,
    notes: tuple[str, ...],
    title: str | None,
) -> None:
    """Write the report and print the summary."""
    from coterie.evaluation.summary import summarize
    from coterie.evaluation.trace import SORTED

    from . import printing

    summary = summarize(outcome.comparison, outcome.learner)
    reading = outcome.reading

    def write_report(path: Path) -> None:
        from coterie.evaluation.report import write_report as write

        facts = list(page_facts(reading.source, reading.columns))
        write(path, outcome.comparison, title=title, reading=reading, learner=summary.learner, facts=facts)

    writer.write("report", outputs.report, write_report)
    if outputs.quiet and not outputs.json:
        return
    try:
        reading = replace(reading, hints=tuple(outcome.hints()))
    except Exception as error:
        print_message(f"warning: no hints about columns: {type(error).__name__}: {error}")
    model, report = writer.paths.get("output"), writer.paths.get("report")
    if outputs.json:
        parameters = {name: repr(model) for name, model in outcome.comparison.models.items()}
        details = {"parameters": parameters, "reading": reading.to_json(), "seconds": outcome.seconds}
        stopped = None if outcome.stopped is None else Signals(outcome.stopped).name
        files = {"model": model, "report": report, "rescued": writer.rescued}
        printing.print_result(command, summary.to_json(), details, {"stopped": stopped}, files)
        return
    if outcome.trace.is_sorted_by_task:
        notes = (*notes, f"Hint: the records {SORTED}.")
    if not writer.paths and summary.against:
        notes = (*notes, "Next: --output OUT saves the model; --report OUT.html and --verbose show more.")
    lines = printing.summary_lines if outputs.verbose else printing.short_lines
    printing.print_lines(
        lines(summary),
        printing.reading_lines(reading),
        [] if model is None else [printing.saved_line(model, outcome.model)],
        [] if report is None else [f"Report: {report} (open it in a browser)"],
        [line for note in notes for line in printing.paragraph(note)],
    )
