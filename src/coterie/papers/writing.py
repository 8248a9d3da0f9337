"""Results of papers as files: Markdown, CSV, and a picture for each figure."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from coterie.batch import drawing
from coterie.persistence import replacing

from .results import Picture, Result

INCHES = (8.0, 5.0)
#: How the files begin that are written, in small letters.
BEGINNINGS = {".md": b"### ", ".csv": b"table,what,of,", ".png": b"\x89png"}


def write(folder: Path, name: str, heading: str, result: Result) -> list[Path]:
    """Write ``name.md``, ``name.csv`` and, with matplotlib, a ``.png`` for each picture.

    Returns
    -------
    list of Path
        What was written; without matplotlib no pictures are, and the caller may say so.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    texts = {".md": "\n".join(markdown(heading, result)) + "\n", ".csv": comma_separated(result)}
    for ending, text in texts.items():
        with replacing(folder / f"{name}{ending}") as file:
            file.write(text.encode())
    drawn = [_draw(folder / f"{name}{_number(result, i)}.png", each) for i, each in enumerate(result.pictures)]
    return [*(folder / f"{name}{ending}" for ending in texts), *filter(None, drawn)]


def markdown(heading: str, result: Result) -> Iterator[str]:
    r"""Yield the lines of a section: tables, then claims.

    Examples
    --------
    >>> from coterie.papers.claims import Claim, ClaimVerdict
    >>> print(*markdown("Table 1", Result([], [Claim("it is so", "+1.0", ClaimVerdict.HOLDS, runs=5)])), sep="\n")
    ### Table 1
    <BLANKLINE>
    | claim | here | | runs |
    |---|---|---|---|
    | it is so | +1.0 | holds | 5 |
    """
    yield f"### {heading}"
    for table in result.tables:
        yield ""
        heads, rows = table.rows()
        yield from _grid(heads, rows)
    if result.claims:
        yield ""
        rows = [[each.said, each.seen, each.shown, str(each.runs)] for each in result.claims]
        yield from _grid(["claim", "here", "", "runs"], rows)
    for note in result.notes:
        yield from ("", note)


def comma_separated(result: Result) -> str:
    """Write a result as CSV: a line for each number and for each claim.

    Examples
    --------
    >>> from coterie.papers.claims import Claim, ClaimVerdict
    >>> print(comma_separated(Result([], [Claim("it is so", "+1.0", ClaimVerdict.HOLDS, runs=5)])), end="")
    table,what,of,paper,ours,deviation,holds,runs
    claim,it is so,+1.0,,,,holds,5
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "what", "of", "paper", "ours", "deviation", "holds", "runs"])
    for table in result.tables:
        for cell in table.cells:
            writer.writerow([table.title, cell.what, cell.of, cell.printed, cell.ours, cell.deviation, "", ""])
    for claim in result.claims:
        writer.writerow(["claim", claim.said, claim.seen, "", "", "", claim.verdict.value, str(claim.runs)])
    return text.getvalue()


def plain(result: Result) -> dict[str, Any]:
    """Return tables, claims and notes as data with a JSON form, without pictures.

    Examples
    --------
    >>> from coterie.papers.claims import Claim, ClaimVerdict
    >>> plain(Result([], [Claim("it is so", "+1.0", ClaimVerdict.HOLDS, runs=5)]))["claims"]
    [{'said': 'it is so', 'seen': '+1.0', 'verdict': 'holds', 'runs': 5}]
    """
    fields = ("what", "of", "ours", "deviation", "printed", "printed_deviation")
    return {
        "tables": [
            {"title": table.title, "cells": [{name: getattr(cell, name) for name in fields} for cell in table.cells]}
            for table in result.tables
        ],
        "claims": [
            {"said": each.said, "seen": each.seen, "verdict": each.verdict.value, "runs": each.runs}
            for each in result.claims
        ],
        "notes": list(result.notes),
    }


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield _line(heads)
    yield "|" + "---|" * len(heads)
    yield from map(_line, rows)


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return "|" + "|".join(f" {cell} " if cell else " " for cell in escaped) + "|"


def _number(result: Result, i: int) -> str:
    return f"-{i + 1}" if len(result.pictures) > 1 else ""


def can_draw() -> bool:
    """True if matplotlib is installed."""
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def _draw(path: Path, picture: Picture) -> Path | None:
    """Draw curves with a band of one deviation."""
    if not can_draw():
        return None
    figure = drawing.new_figure(path, INCHES)
    axes = figure.add_subplot(title=picture.title, xlabel=picture.across, ylabel=picture.up)
    for name, (mean, deviation) in picture.curves.items():
        (line,) = axes.plot(picture.x, mean, marker=".", label=name)
        if deviation is not None:
            axes.fill_between(picture.x, mean - deviation, mean + deviation, color=line.get_color(), alpha=0.12, lw=0)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    drawing.write(figure, path, dpi=120)
    return path
