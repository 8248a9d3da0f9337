"""Formatting of results as text and as JSON."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np
from rich.filesize import decimal

from coterie.wording import COMMANDING, counted, listed, table, visible

from .failures import quote_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from coterie.bandits import Bandit
    from coterie.data.readers import Reading
    from coterie.estimators import SelectiveSampling
    from coterie.estimators.estimator import OnlineEstimator
    from coterie.evaluation.summary import Summary
    from coterie.evaluation.verdict import Verdict

_SHOWN_TASKS, _SHOWN_COLUMNS = 5, 3
#: The words for one column of a kind, and for several.
_KINDS = {"numeric": ("number", "numbers"), "categorical": ("category", "categories"), "date": ("date", "dates")}


def print_result(command: str, *parts: Mapping[str, object]) -> None:
    """Print the result of a command as one JSON object: the command, the version, and further parts."""
    from coterie import __version__

    result: dict[str, object] = {"command": command, "version": __version__}
    for part in parts:
        result |= part
    print(escape_json(json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False, default=_to_json)))


def escape_json(text: str) -> str:
    r"""Escape control characters in JSON text, without changing its meaning.

    JSON already escapes those below the space; the others are DEL, the C1 set and bidirectional marks.

    >>> print(escape_json('["ann\x9b31m"]'))
    ["ann\u009b31m"]
    """
    return COMMANDING.sub(lambda sign: "\n" if sign[0] == "\n" else f"\\u{ord(sign[0]):04x}", text)


def _to_json(value: object) -> object:
    """Convert a value that JSON does not support to a plain number or to text."""
    return value.item() if isinstance(value, np.generic) else str(value)


def short_lines(summary: Summary) -> Iterator[str]:
    """Yield the short summary: the recommendation, the errors, and the number of tasks concerned."""
    if not summary.against:
        yield from paragraph(" ".join(summary.sentences))
        return
    advice, rows, head = summary.advice, summary.errors, summary.measure[0]
    names, numbers = max(len(row[0]) for row in rows) + 2, max(len(head), *(len(row[1]) for row in rows))
    if len(advice) > names:
        yield from paragraph(advice)
        advice = ""
    yield f"{advice:{names}}  {head:>{numbers}}"
    for name, value, remark in rows:
        yield f"  {name:{names - 2}}  {value:>{numbers}}  {remark}".rstrip()
    yield from paragraph(" ".join(summary.notes))


def summary_lines(summary: Summary) -> Iterator[str]:
    """Yield the full summary as text and tables."""
    headline, *remarks = summary.sentences
    yield from paragraph(headline)
    yield from paragraph(" ".join(remarks))
    yield ""
    if summary.against:
        yield from paragraph(f"Over {summary.stream}, each predicted before its label was seen:")
    yield from table(*summary.learner_table)
    if not summary.against or len(summary.verdict.tasks) == 1:
        return
    verdict = summary.verdict
    heads, rows = summary.sizes
    if rows:
        yield from ("", f"{verdict.loss.gain.capitalize()} by size of task, on average")
        yield from (f"  {line}" for line in table(heads, rows))
    for outcome, title in (("helped", "Tasks helped"), ("hurt", "Tasks hurt")):
        yield from _task_table(verdict, verdict.ordered(outcome), f"{title}, the surest first", summary)


def _task_table(verdict: Verdict, chosen: NDArray[np.int64], title: str, summary: Summary) -> Iterator[str]:
    """Yield the lines of a table with the first of the tasks ``chosen``."""
    if not len(chosen):
        return
    heads = verdict.task_heads(summary.alone, summary.learner)[:-1]
    rows = [verdict.row(i)[:-1] for i in chosen[:_SHOWN_TASKS].tolist()]
    yield from ("", f"{title} ({len(rows)} of {len(chosen):,})" if len(chosen) > len(rows) else title)
    yield from (f"  {line}" for line in table(heads, rows))


def reading_lines(reading: Reading) -> Iterator[str]:
    """Yield the columns read, skipped records, dropped columns, and hints on columns."""
    records = reading.unlabelled + reading.skipped + reading.rows
    yield from column_lines(reading.columns)
    if reading.unlabelled:
        yield f"{reading.unlabelled:,} of {records:,} records have no label: left out"
    if reading.skipped:
        yield f"Skipped {reading.skipped:,} of {records:,} records:"
        yield from (f"  {example}" for example in reading.skipped_examples)
        if reading.skipped > len(reading.skipped_examples):
            yield "  ..."
    yield from dropped_lines(reading.dropped)
    for hint in reading.hints:
        options = " or ".join(f"--{option} {quote(hint.column)}" for option in hint.options)
        yield f"Hint: {hint.column} has {hint.seen}: try {options}"


def column_lines(columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the names of feature columns by kind."""
    kinds = [
        f"{listed(names, _SHOWN_COLUMNS)} ({_KINDS.get(kind, (kind, kind))[len(names) > 1]})"
        for kind, names in columns.items()
        if names and kind not in ("label", "task")
    ]
    if kinds:
        yield from paragraph(f"Columns: {'; '.join(kinds)}.")


def dropped_lines(dropped: Mapping[str, str]) -> Iterator[str]:
    """Yield the unused columns with the reasons."""
    return (f"Not used: {name} ({reason})" for name, reason in dropped.items())


def saved_line(path: Path, model: OnlineEstimator | SelectiveSampling | Bandit) -> str:
    """Return a line with the path of the saved model and a command that uses it."""
    size = f"{decimal(path.stat().st_size)}, {counted(len(model.tasks_), 'task')}"
    file = quote_path(path)
    if hasattr(model, "n_rewards_"):
        return f"Model: {path} ({size}). Next, with a later log: coterie bandit FILE ... --policy {file}"
    return f"Model: {path} ({size}). Next: coterie predict {file} FILE"


def paragraph(text: str) -> list[str]:
    """Wrap text to the width of the terminal."""
    width = min(shutil.get_terminal_size().columns, 100)
    # textwrap breaks at no other space than ASCII's: a number stays with its unit
    text = visible(text).replace(" %", "\u00a0%")
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\u00a0%", " %") for line in lines]


def print_lines(*groups: Iterable[str]) -> None:
    """Print groups of lines, separated by blank lines; empty groups are skipped.

    Line breaks and control characters in names of tasks, files and columns are escaped.
    """
    text = "\n\n".join(filter(None, ("\n".join(map(visible, group)) for group in groups)))
    print(text, file=sys.stdout)
