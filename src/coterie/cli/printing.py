"""Summaries as text and as JSON."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from coterie.evaluation.metrics import measured, written
from coterie.wording import COMMANDING, counted, listed, table, visible

from .failures import typed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from coterie.bandits import Bandit
    from coterie.evaluation.costs import Measure
    from coterie.evaluation.metrics import Metrics
    from coterie.evaluation.summary import Summary
    from coterie.evaluation.verdict import Verdict
    from coterie.io.readers import Reading
    from coterie.online import SelectiveSampling
    from coterie.online.estimator import OnlineEstimator

_SHOWN_TASKS, _SHOWN_COLUMNS = 5, 3
#: What columns hold, in words: of one, and of several.
_KINDS = {"numeric": ("number", "numbers"), "categorical": ("category", "categories"), "date": ("date", "dates")}


def print_json(data: object) -> None:
    """Print data as JSON, in which no sign commands the terminal."""
    print(harmless(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False, default=_plain)))


def print_result(command: str, *parts: Mapping[str, object]) -> None:
    """Print what a command tells as one JSON object: its name, the version, then the parts; paths are text."""
    from coterie import __version__

    predictions: dict[str, object] = {"command": command, "version": __version__}
    for part in parts:
        predictions |= part
    print_json(predictions)


def harmless(text: str) -> str:
    r"""Return JSON of the same meaning, with JSON's own escapes for signs that command a terminal.

    JSON has them for all below the space anyhow; what it leaves are deletions, the C1 set and marks of direction.

    >>> print(harmless('["ann\x9b31m"]'))
    ["ann\u009b31m"]
    """
    return COMMANDING.sub(lambda sign: "\n" if sign[0] == "\n" else f"\\u{ord(sign[0]):04x}", text)


def _plain(value: object) -> object:
    """Convert a task or label that JSON has no form of: to a plain number, else to text."""
    return value.item() if isinstance(value, np.generic) else str(value)


def short_lines(summary: Summary) -> Iterator[str]:
    """Yield what was decided, the errors behind it, and for how many tasks it holds."""
    if not summary.against:
        yield from paragraph(" ".join(summary.sentences))
        return
    advice, rows, head = summary.advice, summary.errors, summary.measure[0]
    names, numbers = max(len(row[0]) for row in rows) + 2, max(len(head), *(len(row[1]) for row in rows))
    if len(advice) > names:
        yield from paragraph(advice)
        advice = ""
    yield f"{advice:{names}}  {head:>{numbers}}"
    for name, value, beside in rows:
        yield f"  {name:{names - 2}}  {value:>{numbers}}  {beside}".rstrip()
    yield from paragraph(" ".join(summary.notes))


def summary_lines(summary: Summary) -> Iterator[str]:
    """Yield the summary in words and tables."""
    headline, *remarks = summary.sentences
    yield from paragraph(headline)
    yield from paragraph(" ".join(remarks))
    yield ""
    if summary.against:
        yield from paragraph(f"Over {summary.stream}, each predicted before its label was seen:")
    yield from learner_table(summary)
    if not summary.against or len(summary.verdict.tasks) == 1:
        return
    predictions = summary.verdict
    heads, rows = summary.sizes
    if rows:
        yield from ("", f"{predictions.loss.gain.capitalize()} by size of task, on average")
        yield from (f"  {line}" for line in table(heads, rows))
    for outcome, title in (("helped", "Tasks helped"), ("hurt", "Tasks hurt")):
        yield from _tasks(predictions, predictions.ordered(outcome), f"{title}, the surest first", summary)


def learner_table(summary: Summary) -> Iterator[str]:
    """Yield the table of learners."""
    measures = measured(summary.metrics.values())
    words = summary.metrics[summary.learner].words
    heads = ["learner", words.error, *(head for head, _, _ in measures), *(["labels"] if summary.asks else [])]
    if summary.against:
        heads += [f"{summary.learner}: {summary.verdict.loss.gain}", summary.verdict.level, "helps", "hurts"]
    heads.append("examples/s")
    yield from table(heads, [_row(summary, name, metrics, measures) for name, metrics in summary.metrics.items()])


def reading_lines(reading: Reading) -> Iterator[str]:
    """Yield how columns were read, what was left out, which were not used, and which might be read better."""
    yield from column_lines(reading.columns)
    if reading.unlabelled:
        predictions = reading.unlabelled + reading.skipped + reading.rows
        yield f"{reading.unlabelled:,} of {predictions:,} records have no label: left out"
    if reading.skipped:
        yield f"Skipped {reading.skipped:,} of {reading.unlabelled + reading.skipped + reading.rows:,} records:"
        yield from (f"  {example}" for example in reading.skipped_examples)
        if reading.skipped > len(reading.skipped_examples):
            yield "  ..."
    yield from dropped_lines(reading.dropped)
    for hint in reading.hints:
        tried = "try " + " or ".join(f"--{option} {quote(hint.column)}" for option in hint.options)
        yield f"Hint: {hint.column} has {hint.seen}: {tried}"


def column_lines(columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield how columns of features were read, by their kinds."""
    kinds = [(kind, names) for kind, names in columns.items() if names and kind not in ("label", "task")]
    if kinds:
        held = (f"{listed(names, _SHOWN_COLUMNS)} ({_kind(kind, len(names))})" for kind, names in kinds)
        yield from paragraph(f"Columns: {'; '.join(held)}.")


def dropped_lines(dropped: Mapping[str, str]) -> Iterator[str]:
    """Yield the columns that were not used, with the reasons."""
    for name, reason in dropped.items():
        yield f"Not used: {name} ({reason})"


def _kind(kind: str, number: int) -> str:
    """A kind of columns, or of so many.

    >>> _kind("numeric", 1), _kind("categorical", 3)
    ('number', 'categories')
    """
    one, several = _KINDS.get(kind, (kind, kind))
    return one if number == 1 else several


def saved_line(path: Path, model: OnlineEstimator | SelectiveSampling | Bandit) -> str:
    """Return the line that names the saved model and the next command."""
    size = f"{_bytes(path.stat().st_size)}, {counted(len(model.tasks_), 'task')}"
    normalized_input = typed(path)
    if hasattr(model, "n_rewards_"):
        return f"Model: {path} ({size}). Next, with a later log: coterie bandit FILE ... --policy {normalized_input}"
    return f"Model: {path} ({size}). Next: coterie predict {normalized_input} FILE"


def paragraph(text: str) -> list[str]:
    """Wrap text to lines that fit the terminal."""
    width = min(shutil.get_terminal_size().columns, 100)
    # textwrap breaks at no other space than ASCII's: a number stays with its unit
    held = textwrap.wrap(visible(text).replace(" %", "\u00a0%"), width, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\u00a0%", " %") for line in held]


def print_lines(*groups: Iterable[str]) -> None:
    """Print groups of lines with a blank line between them; empty groups are left out.

    A line stays one, and commands no terminal, whatever names of tasks, files and columns are in it.
    """
    text = "\n\n".join(filter(None, ("\n".join(map(visible, group)) for group in groups)))
    print(text, file=sys.stdout)


def _row(summary: Summary, name: str, metrics: Metrics, measures: Sequence[Measure]) -> list[str]:
    error = metrics.words.value(metrics.micro["error"], 2)
    labels = [f"{summary.labels[name]:,}"] if summary.asks else []
    gain = summary.gain_cells(name) if summary.against else []
    return [name, error, *written(metrics, measures), *labels, *gain, summary.speed_cell(name)]


def _tasks(predictions: Verdict, chosen: NDArray[np.int64], title: str, summary: Summary) -> Iterator[str]:
    """Yield the table of the first of some tasks."""
    if not len(chosen):
        return
    heads = [
        "task",
        "examples",
        *predictions.error_heads(summary.alone, summary.learner),
        predictions.loss.gain,
        predictions.level,
    ]
    rows = [predictions.row(i)[:-1] for i in chosen[:_SHOWN_TASKS].tolist()]
    yield from ("", f"{title} ({len(rows)} of {len(chosen):,})" if len(chosen) > len(rows) else title)
    yield from (f"  {line}" for line in table(heads, rows))


def _bytes(size: float) -> str:
    """Return a size in readable units.

    >>> _bytes(999), _bytes(1_234_567)
    ('999 B', '1.2 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("no size is larger than every unit")
