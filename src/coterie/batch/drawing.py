"""Pictures as files, by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from coterie.persistence import replacing
from coterie.wording import MADE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")


def new_figure(path: Path, inches: tuple[float, float] = (7.0, 4.5)) -> Figure:
    """Make an empty figure; a file that could not be written is refused at once.

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
    return Figure(figsize=inches, layout="constrained")


def write(figure: Figure, path: Path, dpi: int = 150) -> None:
    """Write a figure, completely or not at all."""
    with replacing(path) as file:
        kind = path.suffix[1:]
        figure.savefig(file, format=kind, dpi=dpi, metadata={"Software" if kind == "png" else "Creator": MADE})


def draw_field(grid: NDArray[Any], arrows: NDArray[Any], points: NDArray[Any], path: Path) -> None:
    """Draw a field of two dimensions as arrows, and the points where it was measured."""
    figure = new_figure(path)
    axes = figure.add_subplot(aspect="equal")
    axes.quiver(grid[:, 0], grid[:, 1], arrows[:, 0], arrows[:, 1], angles="xy")
    axes.plot(points[:, 0], points[:, 1], ".", color="tab:red", markersize=4)
    write(figure, path)
