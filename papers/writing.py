"""Results of papers as Markdown, and their pictures as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from .results import Picture, Result


def write(folder: Path, name: str, heading: str, result: Result) -> None:
    """Write ``name.md``, and ``name.png`` (of several, ``name-1.png``, …) for each picture of the result."""
    (folder / f"{name}.md").write_text("\n".join(markdown(heading, result)) + "\n", encoding="utf-8")
    for number, picture in enumerate(result.pictures, 1):
        _draw(folder / (f"{name}-{number}.png" if len(result.pictures) > 1 else f"{name}.png"), picture)


def markdown(heading: str, result: Result) -> Iterator[str]:
    r"""Yield the lines of a section: tables, then claims.

    Examples
    --------
    >>> from papers.claims import Claim, ClaimVerdict
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


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield _line(heads)
    yield "|" + "---|" * len(heads)
    yield from map(_line, rows)


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return "|" + "|".join(f" {cell} " if cell else " " for cell in escaped) + "|"


def _draw(path: Path, picture: Picture) -> None:
    """Draw curves with a band of one deviation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.0), layout="constrained")
    axes = figure.add_subplot(title=picture.title, xlabel=picture.across, ylabel=picture.up)
    for name, (mean, deviation) in picture.curves.items():
        (line,) = axes.plot(picture.x, mean, marker=".", label=name)
        if deviation is not None:
            axes.fill_between(picture.x, mean - deviation, mean + deviation, color=line.get_color(), alpha=0.12, lw=0)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=120)
