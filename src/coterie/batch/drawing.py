"""Files of pictures, and vector fields in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SUFFIXES = (".png", ".svg", ".pdf")


def new_figure(path: Path) -> Any:
    """An empty figure; refused at once for a file that could not be written.

    Raises
    ------
    ValueError
        For another ending.
    ImportError
        If matplotlib is not installed.
    """
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{str(path)!r} ends in none of {', '.join(SUFFIXES)}")
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("a picture needs matplotlib: pip install coterie[report]") from error
    return Figure(figsize=(7.0, 4.5), layout="constrained")


def write(figure: Any, path: Path) -> None:
    """Write a figure, completely or not at all."""
    from coterie.persistence import replacing

    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=150)


def draw_field(grid: Any, arrows: Any, points: Any, path: Path) -> None:
    """A field of two dimensions as arrows, and where it was measured."""
    figure = new_figure(path)
    axes = figure.add_subplot(aspect="equal")
    axes.quiver(grid[:, 0], grid[:, 1], arrows[:, 0], arrows[:, 1], angles="xy")
    axes.plot(points[:, 0], points[:, 1], ".", color="tab:red", markersize=4)
    write(figure, path)
