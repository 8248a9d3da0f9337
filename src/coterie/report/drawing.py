"""The relation of tasks as a page of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import page
from .sections import relation_part

if TYPE_CHECKING:
    from pathlib import Path

    from coterie.jobs.shares import Shares


def write_relation(path: Path, relation: Shares) -> None:
    """Draw the relation of tasks on an HTML page, related ones side by side, at most 200 of them.

    Parameters
    ----------
    path : Path
        The file; ends in ``.html``.
    relation : Shares
        The matrix M, (K, K), and its tasks.

    Raises
    ------
    ValueError
        For another ending.
    ImportError
        plotly is not installed.
    OSError
        The file cannot be written.
    """
    if path.suffix != ".html":
        raise ValueError(f"{str(path)!r} must end in .html")
    page.replace(path, page.assemble("How tasks share", [relation_part(relation, {}, len(relation.tasks))]))
