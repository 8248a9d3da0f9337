"""``coterie relations``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coterie.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coterie.streams.sharing import Sharing

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A saved model.")]
Top = Annotated[
    int,
    typer.Option(
        metavar="N", min=1, help="Up to N tasks the whole matrix is shown, beyond that the N strongest pairs."
    ),
]
Plot = Annotated[
    Path | None, typer.Option(metavar="OUT.png|OUT.html", help="Draw the matrix, related tasks side by side.")
]


def relations(model: Model, top: Top = 20, plot: Plot = None, json: Json = False) -> None:
    """Show how much the tasks of a saved model share.

    The matrix is the inverse interaction matrix: a mistake on the task of a column moves the task of a row by so much.
    Of more than 2,000 tasks the first 2,000 are looked at.

    For example:
      coterie relations clicks.coterie
      coterie relations shops.coterie --top 10 --plot shops.png
    """
    from coterie import load
    from coterie.cli.printing import print_json, print_lines
    from coterie.streams.sharing import sharing

    shown = sharing(load(model))
    if plot is not None:
        _draw(shown, plot)
    if json:
        print_json(shown.to_json(top))
    else:
        print_lines(_heading(shown), _body(shown, top), [] if plot is None else [f"Plot: {plot}"])


def _draw(shown: Sharing, plot: Path) -> None:
    from coterie.cli.outputs import naming
    from coterie.report.drawing import write_relation

    with naming(plot):
        write_relation(plot, shown)


def _heading(shown: Sharing) -> list[str]:
    few = f" (the first {len(shown.tasks):,} are looked at)" if len(shown.tasks) < shown.total else ""
    return [f"{shown.name}: {shown.total:,} {'task' if shown.total == 1 else 'tasks'}{few}"]


def _body(shown: Sharing, top: int) -> Iterator[str]:
    from coterie.cli.printing import table

    if shown.uniform is not None and len(shown.tasks) > 1:
        yield from _uniform(shown)
    if len(shown.tasks) <= top:
        rows = [[str(task), *(f"{m:.3g}" for m in row)] for task, row in zip(shown.tasks, shown.matrix, strict=True)]
        yield from table(["", *map(str, shown.tasks)], rows)
    elif shown.uniform is None:
        rows = [[str(a), str(b), f"{value:.3g}"] for a, b, value in shown.strongest(top)]
        yield from table(["task", "and task", "shared"], rows, words=2)


def _uniform(shown: Sharing) -> Iterator[str]:
    yield f"Every pair shares the same: {shown.uniform:.3g} of what a task itself learns reaches each other task."
