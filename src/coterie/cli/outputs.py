"""The results of a pass over files: a model, a report, and a summary as text or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie import spec

from .failures import UsageError
from .options import MODEL, Json, Quiet, require_folder
from .spreading import OptionSet

if TYPE_CHECKING:
    from coterie.jobs.learning import Outcome
    from coterie.jobs.summary import Summary

_DRAWN_TASKS = 200
#: What a report is.
PAGES = (".html", ".htm")


@dataclass(frozen=True)
class Outputs(OptionSet):
    """The files to write, and how much to print."""

    group = "outputs"

    model: Path | None = spec.field(MODEL, default=None)
    report: Path | None = spec.field(
        default=None,
        metavar="OUT.html",
        help="Write the [report](verdict.md): one HTML page that works offline.",
    )
    json: Json = False
    quiet: Quiet = False

    @property
    def silent(self) -> bool:
        """True if no summary is needed."""
        return self.quiet and not self.json and self.report is None

    def require_folders(self) -> None:
        """Refuse, before an hour of learning, a file in no folder, and a report that no browser opens."""
        if self.report is not None and self.report.suffix.lower() not in PAGES:
            raise UsageError(f"--report is {str(self.report)!r}; expected a name that ends in {' or '.join(PAGES)}")
        require_folder(model=self.model, report=self.report)


def finish(command: str, outcome: Outcome, outputs: Outputs, *notes: str, title: str | None = None) -> None:
    """Save, write and print what was asked for; `notes` end the summary."""
    if outputs.model is not None:
        with naming(outputs.model):
            outcome.model.save(outputs.model)
    if outputs.silent:
        return
    from coterie.jobs.summary import summarize

    summary = summarize(outcome.comparison, outcome.learner)
    if outputs.report is not None:
        _write_report(outputs.report, outcome, summary, title)
    if outputs.json:
        _print_json(command, outcome, summary, outputs)
    elif not outputs.quiet:
        _print_text(outcome, summary, outputs, notes)


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Give an error of the operating system the name of the file it is about."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def _write_report(path: Path, outcome: Outcome, summary: Summary, title: str | None) -> None:
    from coterie.report import write_report

    if title is None and summary.weights is not None:
        title = "Does it help to combine the views?"
    titled = {} if title is None else {"title": title}
    relation = outcome.relation(summary.learner, _DRAWN_TASKS)
    write_report(
        path, outcome.comparison, reading=outcome.reading, relation=relation, learner=summary.learner, **titled
    )


def _print_json(command: str, outcome: Outcome, summary: Summary, outputs: Outputs) -> None:
    from coterie import __version__

    from .printing import print_json

    written = {name: None if path is None else str(path) for name, path in vars(outputs).items() if name in _WRITTEN}
    told: dict[str, Any] = {"command": command, "version": __version__} | summary.to_json()
    parameters = {name: repr(model) for name, model in outcome.comparison.models.items()}
    print_json(
        told | {"parameters": parameters, "reading": vars(outcome.reading), "seconds": outcome.seconds} | written
    )


_WRITTEN = ("model", "report")


def _print_text(outcome: Outcome, summary: Summary, outputs: Outputs, notes: tuple[str, ...]) -> None:
    from .printing import paragraph, print_lines, reading_lines, saved_line, summary_lines

    saved = [] if outputs.model is None else [saved_line(outputs.model, outcome.model)]
    drawn = [] if outputs.report is None else [f"Report: {outputs.report} (open it in a browser)"]
    said = [line for note in notes for line in paragraph(note)]
    print_lines(summary_lines(summary), reading_lines(outcome.reading), saved + drawn, said)
