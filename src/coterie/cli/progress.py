"""Progress messages: a line whenever the number of records doubles, and a progress bar on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from math import nan
from typing import IO, TYPE_CHECKING, cast

from coterie.wording import visible

from .failures import LossyStream, print_line, print_message

if TYPE_CHECKING:
    from coterie.data.hints import Hint
    from coterie.data.readers import Reader
    from coterie.evaluation.costs import CostWords
    from coterie.evaluation.learning import OnRound
    from coterie.evaluation.trace import Trace

_NAMED_COLUMNS = 5


@contextmanager
def show_progress(reader: Reader, quiet: bool, delay: int = 0) -> Iterator[OnRound | None]:
    """Context with a function to call after each block of a reader, which prints progress; None if ``quiet``.

    No line is written for the first ``delay`` records, which are predicted before the first label arrives. Columns that
    are perhaps better ignored are listed before the first block is learned.
    """
    if quiet:
        yield None
        return
    reader.before_first(_name_columns)
    with _show_bar(reader) as (write, advance):
        lines = ProgressTable(write, delay)

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


class ProgressTable:
    """A table of the errors so far, with one row each time the number of examples doubles.

    Parameters
    ----------
    write : callable
        Called with each line.
    delay : int
        The number of examples at the start for which no row is written.
    """

    def __init__(self, write: Callable[[str], None], delay: int = 0) -> None:
        self._write, self._delay = write, delay
        self._examples = self._last = self._counted = self._last_counted = 0
        self._tasks, self._costs = set[Hashable](), dict[str, float]()
        self._last_cost = 0.0
        self._words: CostWords

    def add(self, traces: Mapping[str, Trace]) -> None:
        """Add the next rounds of all learners."""
        trace, first = next(iter(traces.values())), 0
        self._words = trace.words
        if not self._costs:
            name, *others = (name if len(name) <= 12 else name[:11] + "…" for name in traces)
            self._write(format_row("examples", "tasks", name, "since last", *others))
            self._costs = dict.fromkeys(traces, 0.0)
        while first < len(trace.task):
            # the position, within these rounds, at which the total reaches the next power of two
            last = first + (1 << self._examples.bit_length()) - self._examples
            self._tasks.update(trace.tasks[i] for i in set(trace.task[first:last].tolist()))
            for name, learner in traces.items():
                costs = learner.costs[first:last]
                known = costs[costs == costs]  # without nan: numbers have no cost before the first label
                self._costs[name] += float(known.sum())
            self._examples += len(trace.task[first:last])
            self._counted += len(known)
            if last <= len(trace.task):
                self._add_row()
            first = last

    def finish(self) -> None:
        """Write a last row, unless the last record already has one."""
        if self._examples > self._last:
            self._add_row()

    def _add_row(self) -> None:
        (cost, *others), counted = self._costs.values(), self._counted or nan
        since = (cost - self._last_cost) / (self._counted - self._last_counted or nan)
        means = (cost / counted, since, *(other / counted for other in others))
        self._last, self._last_cost, self._last_counted = self._examples, cost, self._counted
        if self._examples > self._delay:
            errors = (self._words.value(mean, 2) for mean in means)
            self._write(format_row(f"{self._examples:,}", f"{len(self._tasks):,}", *errors))


def format_row(*cells: str) -> str:
    """Format a row of the progress table."""
    return "".join(f"{visible(cell):>13}" for cell in cells)


@contextmanager
def _show_bar(reader: Reader) -> Iterator[tuple[Callable[[str], None], Callable[[], None]]]:
    """Context with functions to print a line and to update the bar; it needs a terminal and a known file size."""
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
