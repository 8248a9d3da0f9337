"""Progress of a command: a line whenever the number of records doubles, and a bar on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, cast

from coterie.wording import visible

from .failures import LossyStream, print_line, print_message

if TYPE_CHECKING:
    from coterie.evaluation.learning import OnRound
    from coterie.evaluation.metrics import Totals
    from coterie.evaluation.trace import Trace
    from coterie.inputs.hints import Hint
    from coterie.io.readers import Reader

_NAMED_COLUMNS = 5


@contextmanager
def show_progress(reader: Reader, quiet: bool, delay: int = 0) -> Iterator[OnRound | None]:
    """Provide a function to call after each block of a reader; None if ``quiet``.

    The first ``delay`` records, predicted before the first label, have no lines. Columns that may be better ignored are
    named before the first block is learned.
    """
    if quiet:
        yield None
        return
    reader.before_first(_name_columns)
    with _show_bar(reader) as (write, advance):
        lines = _ProgressTable(write, delay)

        def on_round(traces: Mapping[str, Trace]) -> None:
            lines.add(traces)
            advance()

        yield on_round
        try:
            lines.finish()
        except Exception as error:  # the model is not saved yet
            print_message(f"warning: no last line of progress: {type(error).__name__}: {error}")


def _name_columns(hints: list[Hint]) -> None:
    names = "; ".join(f"{hint.column} has {hint.seen}" for hint in hints[:_NAMED_COLUMNS])
    rest = f"; and {len(hints) - _NAMED_COLUMNS} more" if len(hints) > _NAMED_COLUMNS else ""
    print_message(f"columns to look at: {names}{rest}")


class _ProgressTable:
    """Running totals as table rows; the first block decides the columns."""

    def __init__(self, write: Callable[[str], None], delay: int = 0) -> None:
        from coterie.evaluation.costs import RATES
        from coterie.evaluation.metrics import RunningTotals

        self._write, self._totals, self._delay = write, RunningTotals(), delay
        self._last, self._words = 0, RATES

    def add(self, traces: Mapping[str, Trace]) -> None:
        self._words = next(iter(traces.values())).words
        if self._last == 0:
            first, *others = (name if len(name) <= 12 else name[:11] + "…" for name in traces)
            self._write(format_row("examples", "tasks", first, "since last", *others))
        for totals in self._totals.add(traces):
            self._last = totals.examples
            if totals.examples > self._delay:
                self._write_row(totals)

    def finish(self) -> None:
        totals = self._totals.now()
        if totals.examples > self._last:
            self._write_row(totals)

    def _write_row(self, totals: Totals) -> None:
        (first, *others), since = totals.error.values(), next(iter(totals.since.values()))
        errors = (self._words.value(error, 2) for error in (first, since, *others))
        self._write(format_row(f"{totals.examples:,}", f"{totals.tasks:,}", *errors))


def format_row(*cells: str) -> str:
    """Format a row of the progress table."""
    return "".join(f"{visible(cell):>13}" for cell in cells)


@contextmanager
def _show_bar(reader: Reader) -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
    """Provide functions that print a line and move the bar; a bar needs a terminal and a known file size."""
    if not (sys.stderr.isatty() and reader.bytes_total):
        yield print_line, lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    # the thread that draws the bar could not report errors of writing
    console = Console(file=cast("IO[str]", LossyStream(sys.stderr)))
    columns = BarColumn(), TaskProgressColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=reader.bytes_total)
        yield (
            lambda line: bar.console.print(line, markup=False, highlight=False),
            lambda: bar.update(task, completed=reader.bytes_read),
        )
