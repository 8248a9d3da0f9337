"""Progress of a command: a line at every doubling of the examples, and a bar on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, cast

from .failures import Remarks, remark, tell

if TYPE_CHECKING:
    from coterie.evaluation.learning import OnRound
    from coterie.evaluation.totals import Totals
    from coterie.evaluation.trace import Trace
    from coterie.inputs.hints import Hint
    from coterie.io.readers import Reader

Write = Callable[[str], None]
#: So many columns are named before learning.
_NAMED = 5


@contextmanager
def watching(reader: Reader, quiet: bool, late: int = 0) -> Iterator[OnRound | None]:
    """Provide a function to call after each block of a reader; None if no progress is shown.

    Of the first ``late`` records, which are predicted before a label has come, there are no lines. Columns that may
    have to be left out are named before anything is learned.
    """
    if quiet:
        yield None
        return
    reader.before_first(name_columns)
    with _bar(reader) as (write, advance):
        lines = _Lines(write, late)

        def on_round(traces: Mapping[str, Trace]) -> None:
            lines.add(traces)
            advance()

        yield on_round
        try:
            lines.finish()
        except Exception as error:  # the model is not saved yet
            tell(f"warning: no last line of progress: {type(error).__name__}: {error}")


def name_columns(found: list[Hint]) -> None:
    """Name, in one line, the columns that may have to be left out."""
    named = "; ".join(f"{hint.column} has {hint.seen}" for hint in found[:_NAMED])
    more = f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    tell(f"columns to look at: {named}{more}")


class _Lines:
    """Running totals as lines of a table, whose columns follow from the first block."""

    def __init__(self, write: Write, late: int = 0) -> None:
        from coterie.evaluation.costs import RATES
        from coterie.evaluation.totals import RunningTotals

        self._write, self._totals, self._late = write, RunningTotals(), late
        self._last, self._words = 0, RATES

    def add(self, traces: Mapping[str, Trace]) -> None:
        self._words = next(iter(traces.values())).words
        if self._last == 0:
            first, *others = (name if len(name) <= 12 else name[:11] + "…" for name in traces)
            self._write(_line("examples", "tasks", first, "since last", *others))
        for predictions in self._totals.add(traces):
            self._last = predictions.examples
            if predictions.examples > self._late:
                self._tell(predictions)

    def finish(self) -> None:
        predictions = self._totals.now()
        if predictions.examples > self._last:
            self._tell(predictions)

    def _tell(self, predictions: Totals) -> None:
        (first, *others), since = predictions.error.values(), next(iter(predictions.since.values()))
        errors = (self._words.value(error, 2) for error in (first, since, *others))
        self._write(_line(f"{predictions.examples:,}", f"{predictions.tasks:,}", *errors))


def _line(*cells: str) -> str:
    from coterie.wording import visible

    return "".join(f"{visible(cell):>13}" for cell in cells)


@contextmanager
def _bar(reader: Reader) -> Iterator[tuple[Write, Callable[[], None]]]:
    """Provide functions that write a line and move the bar, which needs a terminal and a known size of files."""
    if not (sys.stderr.isatty() and reader.bytes_total):
        yield remark, lambda: None
        return
    from rich.progress import BarColumn, DownloadColumn, TaskProgressColumn, TimeRemainingColumn

    with _progress(BarColumn(), TaskProgressColumn(), DownloadColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("", total=reader.bytes_total)
        yield (
            lambda line: bar.console.print(line, markup=False, highlight=False),
            lambda: bar.update(task, completed=reader.bytes_read),
        )


def _progress(*columns: Any) -> Any:
    """Return a bar that drops errors of writing to standard error: the thread that draws it could not report them."""
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(file=cast("IO[str]", Remarks(sys.stderr))), transient=True)
