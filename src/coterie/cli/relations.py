"""``coterie relations``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from .failures import UsageError
from .options import Json
from .places import PAGE, Place, naming, require_places

if TYPE_CHECKING:
    from coterie.jobs.shares import Shares

#: So many tasks are named where one is unknown.
_NAMED = 10

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A saved model.")]
Top = Annotated[
    int,
    typer.Option(
        metavar="N", min=1, help="Up to N tasks the whole matrix is shown, beyond that the N strongest pairs."
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT.html",
        help="Draw the matrix of at most 200 tasks, related ones side by side.",
    ),
]
Task = Annotated[
    str | None,
    typer.Option("--task", "-t", metavar="TASK", help="Show the tasks that share most with this one, instead of all."),
]
Other = Annotated[
    str | None,
    typer.Option(
        metavar="TASK", help="With `--task`: show the features on which the two differ most, and their weights."
    ),
]


def relations(
    model: Model, top: Top = 20, task: Task = None, other: Other = None, output: Output = None, json: Json = False
) -> None:
    """Show how much the tasks of a saved model share.

    The matrix is the inverse interaction matrix: a mistake on the task of a column moves the task of a row by so much.
    A model that learned how much each task shares tells that too. Of more than 2,000 tasks the first 2,000 are looked
    at.

    For example:
      coterie relations clicks.coterie
      coterie relations shops.coterie --top 10 -o shops.html
      coterie relations shops.coterie --task paris
      coterie relations shops.coterie --task paris --other rome
    """
    from coterie.online.selective import base_model

    from .models import load_any
    from .printing import print_json, print_lines

    if other is not None and task is None:
        raise UsageError("--other needs --task: two tasks are compared")
    require_places([] if output is None else [Place("output", output, PAGE)], [model])
    learned = load_any(model)
    if hasattr(learned, "views_"):
        raise UsageError(f"{str(model)!r} learned records of several views, which have no tasks")
    if not hasattr(type(base_model(learned)), "relation_matrix_"):
        raise UsageError(f"{model} holds a {type(learned).__name__}, which has no tasks")
    if other is not None and not hasattr(learned, "state_"):
        kind = type(learned).__name__
        raise UsageError(f"--other compares weights, and {model} holds a batch model ({kind}), of which none are kept")
    shown = _all_tasks(learned, top) if task is None else _one_task(learned, task, other, top)
    if output is not None:
        _draw(learned, output)
    if json:
        print_json(shown.data())
    else:
        print_lines(*shown.groups, [] if output is None else [f"Plot: {output}"])


class _Shown(NamedTuple):
    """What is printed, as groups of lines and as data for JSON."""

    groups: list[Any]
    data: Callable[[], Any]


def _all_tasks(model: Any, top: int) -> _Shown:
    """The sharing of all tasks."""
    from coterie.jobs.shares import sharing

    shown = sharing(model)
    shares = [] if shown.shares is None else list(zip(model.tasks_, shown.shares.tolist(), strict=True))
    data = [{"task": task, "share": share} for task, share in shares] or None
    groups = [_heading(shown), _body(shown, top), _shares(shares, top)]
    return _Shown(groups, lambda: shown.to_json(top) | {"shares": data})


def _one_task(model: Any, task: str, other: str | None, top: int) -> _Shown:
    """A table about one task, of the tasks that share most with it or of the features in which another one differs."""
    from coterie.explanation import differing_features, nearest_tasks
    from coterie.wording import table

    named = {str(each): each for each in model.tasks_}
    first = _known(named, "task", task)
    found: Iterable[tuple[Any, ...]]
    if other is None:
        heading, columns, found = f"What shares most with {task}", ["task", "shared"], nearest_tasks(model, first, top)
    else:
        heading, columns = f"Where {task} and {other} differ most: weights", ["feature", task, other]
        found = differing_features(model, first, _known(named, "other", other), top)
    rows = list(found)
    cells = [[str(first), *(f"{value:.3g}" for value in values)] for first, *values in rows]
    return _Shown([[heading], table(columns, cells)], lambda: [dict(zip(columns, row, strict=True)) for row in rows])


def _known(named: dict[str, Hashable], option: str, task: str) -> Hashable:
    from coterie.jobs.choosing import require_one_of

    if task not in named:
        require_one_of(f"--{option}", task, list(named) if len(named) <= _NAMED else [*list(named)[:_NAMED], "..."])
    return named[task]


def _shares(shares: list[tuple[Hashable, float]], top: int) -> Iterator[str]:
    """Yield the tasks that share least and most, if the model learned how much each shares."""
    from coterie.wording import table

    if not shares:
        return
    ordered = sorted(shares, key=itemgetter(1))
    few = len(ordered) > top
    least, most = (ordered[: top // 2], ordered[-(top - top // 2) :]) if few else (ordered, [])
    which = ", the least and the most" if few else ""
    yield f"How much each task shares (0: a model of its own, 1: that of all){which}"
    yield from table(["task", "share"], [[str(task), f"{share:.3f}"] for task, share in (*least, *most)])


def _draw(model: Any, plot: Path) -> None:
    from coterie.jobs.shares import sharing
    from coterie.report.drawing import write_relation

    with naming(plot):
        write_relation(plot, sharing(model))


def _heading(shown: Shares) -> list[str]:
    from coterie.wording import counted

    few = f" (the first {len(shown.tasks):,} are looked at)" if len(shown.tasks) < shown.total else ""
    return [f"{shown.name}: {counted(shown.total, 'task')}{few}"]


def _body(shown: Shares, top: int) -> Iterator[str]:
    from coterie.wording import table

    if shown.uniform is not None and len(shown.tasks) > 1:
        yield f"Every pair shares the same: {shown.uniform:.3g} of what a task itself learns reaches each other task."
    if len(shown.tasks) <= top:
        rows = [[str(task), *(f"{m:.3g}" for m in row)] for task, row in zip(shown.tasks, shown.matrix, strict=True)]
        yield from table(["", *map(str, shown.tasks)], rows)
    elif shown.uniform is None:
        rows = [[str(a), str(b), f"{value:.3g}"] for a, b, value in shown.strongest(top)]
        yield from table(["task", "and task", "shared"], rows, words=2)
