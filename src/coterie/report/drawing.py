"""A relation by itself: as a picture, or as a page of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie.report import figures, page
from coterie.report.clustering import Clustered, clustered
from coterie.report.sections import relation_part

if TYPE_CHECKING:
    from coterie.report.clustering import Relation

_INCHES = 7.0


def write_relation(path: Path, relation: Relation) -> None:
    """Draw how tasks share, related ones side by side, at most 200 of them.

    Parameters
    ----------
    path : Path
        Ends in ``.png`` or ``.html``.
    relation : Relation
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


def _write_html(path: Path, relation: Relation) -> None:
    page.replace(path, page.assemble("How tasks share", [relation_part(relation, {}, len(relation.tasks))]))


def _write_png(path: Path, relation: Relation) -> None:
    from coterie.persistence import replacing

    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("a picture needs matplotlib: pip install coterie[report]") from error
    figure = Figure(figsize=(_INCHES, _INCHES), layout="constrained")
    _heat_map(figure, clustered(relation, {}))
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=150)


def _heat_map(figure: Any, shown: Clustered) -> None:
    axes = figure.add_subplot()
    low = -shown.limit if shown.values.min() < 0 else 0.0
    image = axes.imshow(shown.values, cmap="RdBu_r" if low else "Blues", vmin=low, vmax=shown.limit)
    figure.colorbar(image, ax=axes, label="sharing", shrink=0.8)
    ticks = range(len(shown.tasks)) if len(shown.tasks) <= figures.NAMED_ROWS else ()
    names = [str(task)[:18] for task in shown.tasks] if ticks else []
    axes.set_xticks(ticks, labels=names, rotation=90)
    axes.set_yticks(ticks, labels=names)


_WRITERS = {".png": _write_png, ".html": _write_html}
