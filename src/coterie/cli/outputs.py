"""The results of a pass over files: a model, a report, and a summary as text or JSON."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from signal import Signals
from typing import TYPE_CHECKING, Any

import typer

from coterie import spec
from coterie.wording import listed

from .failures import complain, tell
from .options import OUTPUT, Json, Quiet, Verbose
from .places import Force, naming, require_outputs
from .spreading import OptionSet

if TYPE_CHECKING:
    from coterie.evaluation.learning import LearningOutcome
    from coterie.evaluation.summary import Summary
    from coterie.inputs.hints import Hint
    from coterie.io.readers import Reading

    from .stopping import InterruptibleRun

#: What ends a summary of which nothing was kept.
NEXT = "Next: --output OUT keeps the model; --report OUT.html and --verbose tell more."


@dataclass(frozen=True)
class OutputOptions(OptionSet):
    """The files to write, and how much to print."""

    group = "outputs"

    output: Path | None = spec.field(OUTPUT, default=None)
    report: Path | None = spec.field(
        default=None,
        metavar="OUT.html",
        help="Write the [report](verdict.md): one HTML page that works offline.",
    )
    json: Json = False
    quiet: Quiet = False
    verbose: Verbose = False
    force: Force = False

    @property
    def again(self) -> dict[str, bool]:
        """The options that the command of a resumed run must repeat."""
        return {"json": self.json, "quiet": self.quiet, "verbose": self.verbose}

    @property
    def silent(self) -> bool:
        """True if no summary is needed."""
        return self.quiet and not self.json and self.report is None

    def require(self, read: Iterable[str | Path], *, over: Path | None = None) -> None:
        """Refuse, before an hour of learning, files that cannot be written or exist.

        ``read`` is what the command reads, ``over`` a file that may be replaced.
        """
        require_outputs({"output": self.output, "report": self.report}, read, self.force, over)


def finish(
    command: str,
    outcome: LearningOutcome,
    outputs: OutputOptions,
    run: InterruptibleRun,
    *notes: str,
    title: str | None = None,
) -> None:
    """Save, write and print what was asked for; `notes` end the summary.

    What cannot be written does not keep the rest from being written and printed; it is raised in the end. Of a run that
    was stopped, a line says how to go on; also where a record that cannot be learned has ended it, which is raised.
    """
    run.over = outcome.stopped is None and outcome.failed is None
    written = Written()
    if outputs.output is not None:
        with run.saving(outcome.reading.rows):
            written.model(outcome.model, outputs.output)
    with written.complaining():
        if outcome.failed is not None:
            tell(run.ended(outcome.reading.rows, "output" in written.missing, failed=True))
            raise outcome.failed
        if not (outputs.silent or outcome.one_label):
            _summarize(command, outcome, outputs, written, notes, title)
    if outcome.stopped is not None:
        tell(run.ended(outcome.reading.rows, "output" in written.missing))
    written.require_all()
    if outcome.stopped is not None:
        raise typer.Exit(128 + outcome.stopped)


def _summarize(
    command: str,
    outcome: LearningOutcome,
    outputs: OutputOptions,
    written: Written,
    notes: tuple[str, ...],
    title: str | None,
) -> None:
    """Write the report and print the summary."""
    from coterie.evaluation.summary import summarize

    summary = summarize(outcome.comparison, outcome.learner)
    report = outputs.report
    if report is not None:
        written.file("report", lambda: _write_report(report, outcome, summary, title))
    lost: dict[str, Any] = dict.fromkeys(written.missing)
    there = replace(outputs, **lost)
    if outputs.json or not outputs.quiet:
        outcome = replace(outcome, reading=with_hints(outcome.reading, outcome.hints))
    if outputs.json:
        _print_json(command, outcome, summary, there, written.rescued)
    elif not outputs.quiet:
        _print_text(outcome, summary, there, notes)


def with_hints(reading: Reading, hints: Callable[[], Iterable[Hint]]) -> Reading:
    """Add hints to a summary of what was read; if they cannot be computed, warn and return it unchanged."""
    try:
        return replace(reading, hints=tuple(hints()))
    except Exception as error:
        tell(f"warning: no hints about columns: {type(error).__name__}: {error}")
        return reading


def save_unchanged(model: Any, outputs: OutputOptions, run: InterruptibleRun, reason: str) -> None:
    """Save a model that has nothing to learn, and print the reason."""
    written = Written()
    if outputs.output is not None:
        written.model(model, outputs.output)
    if outputs.json:
        from .printing import print_result

        print_result("learn", {"examples": 0, "model": written.there("output", outputs.output)})
    elif not outputs.quiet:
        tell(f"{reason}{'' if outputs.output is None else '; the model is saved'}")
    written.require_all()


class Written:
    """Files that a command writes in the end, of which some may fail.

    Attributes
    ----------
    missing : list of str
        The outputs that could not be written, by the names of their options.
    rescued : str or None
        Where the model is instead, if it could not be saved where it should.
    """

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.rescued: str | None = None
        self._errors: list[Exception] = []

    def there(self, name: str, path: Path | None) -> Path | None:
        """The path of an output that was asked for and written."""
        return None if name in self.missing else path

    def file(self, name: str, write: Callable[[], object]) -> None:
        """Write a file, or remember why that failed."""
        try:
            write()
        except BrokenPipeError:
            raise
        except Exception as error:
            self.missing.append(name)
            self._errors.append(error)

    def model(self, model: Any, path: Path) -> None:
        """Save a model; where that fails, somewhere else, so that an hour of learning is not lost."""
        try:
            with naming(path):
                model.save(path)
        except OSError as error:
            self.missing.append("output")
            rescued = _rescue(model, path.name)
            self.rescued = None if rescued is None else str(rescued)
            said = "" if rescued is None else f"; the model was saved as {rescued} instead"
            self._errors.append(OSError(error.errno, f"{error.strerror}{said}", str(path)))
        except Exception as error:
            self.missing.append("output")
            self._errors.append(error)

    @contextmanager
    def complaining(self) -> Iterator[None]:
        """Tell the errors if another one is raised."""
        try:
            yield
        except Exception:
            for error in self._errors:
                complain(error)
            raise

    def require_all(self) -> None:
        """Raise the last error, after the others have been told."""
        for error in self._errors[:-1]:
            complain(error)
        for error in self._errors[-1:]:
            raise error


def _rescue(model: Any, name: str) -> Path | None:
    """Save a model in a new temporary folder, None if that fails as well."""
    import tempfile

    with suppress(Exception):
        folder = Path(tempfile.mkdtemp(prefix="coterie-"))
        try:
            model.save(folder / name)
        except BaseException:
            folder.rmdir()
            raise
        return folder / name
    return None


def _write_report(path: Path, outcome: LearningOutcome, summary: Summary, title: str | None) -> None:
    from coterie.report import write_report

    facts = list(page_facts(outcome.reading.source, outcome.reading.columns))
    write_report(path, outcome.comparison, title=title, reading=outcome.reading, learner=summary.learner, facts=facts)


def page_facts(source: str, columns: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Say what a page is about: what was read, when, and by which command."""
    yield "data", source
    for role in ("label", "task"):
        if names := columns.get(role):
            yield role, listed(names)
    yield "made", date.today().isoformat()
    if Path(sys.argv[0]).stem in ("coterie", "__main__"):
        yield "command", shlex.join(["coterie", *sys.argv[1:]])


def _print_json(
    command: str, outcome: LearningOutcome, summary: Summary, outputs: OutputOptions, rescued: str | None
) -> None:
    from .printing import print_result

    parameters = {name: repr(model) for name, model in outcome.comparison.models.items()}
    predictions = {"parameters": parameters, "reading": outcome.reading.to_json(), "seconds": outcome.seconds}
    stopped = None if outcome.stopped is None else Signals(outcome.stopped).name
    written = {"model": outputs.output, "report": outputs.report, "rescued": rescued}
    print_result(command, summary.to_json(), predictions, {"stopped": stopped}, written)


def _print_text(outcome: LearningOutcome, summary: Summary, outputs: OutputOptions, notes: tuple[str, ...]) -> None:
    from .printing import paragraph, print_lines, reading_lines, saved_line, short_lines, summary_lines

    lines = summary_lines if outputs.verbose else short_lines
    if outputs.output is None and outputs.report is None and summary.against:
        notes = (*notes, NEXT)
    saved = [] if outputs.output is None else [saved_line(outputs.output, outcome.model)]
    drawn = [] if outputs.report is None else [f"Report: {outputs.report} (open it in a browser)"]
    said = [line for note in notes for line in paragraph(note)]
    print_lines(lines(summary), reading_lines(outcome.reading), saved + drawn, said)
