"""A relation alone, as a picture or as a page of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie.batch.drawing import new_figure, write
from coterie.wording import visible

from . import figures, page
from .clustering import Clustered, clustered
from .sections import relation_part

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from coterie.jobs.shares import Shares

_INCHES = 7.0


def write_relation(path: Path, relation: Shares) -> None:
    """Draw the relation of tasks, related ones side by side, at most 200 of them.

    Parameters
    ----------
    path : Path
        Ends in ``.png`` or ``.html``.
    relation : Shares
        The matrix M, (K, K), and its tasks.

    Raises
    ------
    ValueError
        For another ending.
    ImportError
        matplotlib or plotly is not installed.
    OSError
        The file cannot be written.
    """
    if path.suffix not in _WRITERS:
        raise ValueError(f"{str(path)!r} ends in neither .png nor .html")
    _WRITERS[path.suffix](path, relation)


def _write_html(path: Path, relation: Shares) -> None:
    page.replace(path, page.assemble("How tasks share", [relation_part(relation, {}, len(relation.tasks))]))


def _write_png(path: Path, relation: Shares) -> None:
    figure = new_figure(path, (_INCHES, _INCHES))
    _heat_map(figure, clustered(relation, {}))
    write(figure, path)


def _heat_map(figure: Figure, shown: Clustered) -> None:
    axes = figure.add_subplot()
    low = -shown.limit if shown.values.min() < 0 else 0.0
    image = axes.imshow(shown.values, cmap="RdBu_r" if low else "Blues", vmin=low, vmax=shown.limit)
    figure.colorbar(image, ax=axes, label="sharing", shrink=0.8)
    ticks = range(len(shown.tasks)) if len(shown.tasks) <= figures.NAMED_ROWS else ()
    names = [visible(str(task))[:18] for task in shown.tasks] if ticks else []
    axes.set_xticks(ticks, labels=names, rotation=90, parse_math=False)  # a dollar sign in a name begins no formula
    axes.set_yticks(ticks, labels=names, parse_math=False)


_WRITERS = {".png": _write_png, ".html": _write_html}
