"""``coterie explain``."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .failures import UsageError
from .options import Json

if TYPE_CHECKING:
    from coterie.cli.explaining import NamesKept
    from coterie.explanation import Explanation, Weights

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A saved model.")]
Record = Annotated[
    str | None,
    typer.Argument(
        metavar="[RECORD]",
        help="A record to explain: a JSON object, or `FILE:PLACE` with the line or row that `predict` tells.",
    ),
]
Task = Annotated[
    str | None, typer.Option("--task", "-t", metavar="TASK", help="The task to explain, or whose record it is.")
]
Top = Annotated[int, typer.Option(metavar="N", min=1, help="Show the N largest.")]


def explain(model: Model, record: Record = None, task: Task = None, top: Top = 20, json: Json = False) -> None:
    """Show which features matter most, in a model, one of its tasks or a record, and which tasks share.

    Without a record, these are the largest weights that all tasks share, and how the tasks share; with --task, the
    weights in which that task differs most from what is shared, and its neighbours, the tasks that share most with it.
    At most five values of one column are shown. For a record, it is each feature's part of the margin; the parts add up
    to the margin.

    For example:
      coterie explain clicks.coterie
      coterie explain clicks.coterie --task ann
      coterie explain clicks.coterie today.csv:17
      coterie explain clicks.coterie '{"user": "ann", "price": 2.5, "shop": "north"}'
    """
    from coterie.cli.explaining import names_kept, parts, sharing_of, weights

    from .models import load_any
    from .printing import print_lines, print_result

    learned = load_any(model)
    if hasattr(learned, "n_rewards_"):
        if record is not None:
            raise UsageError(f"{str(model)!r} holds a bandit: in Python, explain(x, action) says why of a choice")
        learned = learned.model_
    kept = names_kept(learned)
    predictions: dict[str, Any] = {"model": model, "names": None if kept is None else kept._asdict()}
    if record is None:
        found = weights(learned, model, task, top)
        shared = sharing_of(learned, model, task, top)
        predictions |= {"task": task, "weights": _by_class(found, lambda held: [each._asdict() for each in held])}
        predictions |= {"sharing": None if shared is None else shared.to_json()}
        groups = [_weight_lines(label, held, task) for label, held in found.items()]
        groups += [] if shared is None else [shared.lines()]
    else:
        of, made = parts(learned, model, record, task)
        predictions |= {"task": of, "explanation": _by_class(made, lambda held: _as_json(held, top))}
        groups = [_part_lines(label, held, of, top) for label, held in made.items()]
    if json:
        print_result("explain", predictions)
    else:
        print_lines(*groups, _name_lines(kept))


def _by_class(found: Any, write: Any) -> Any:
    """The JSON form of weights or an explanation; for many classes, a list with one for each class."""
    if None in found:
        return write(found[None])
    return [{"class": label, "of_class": write(held)} for label, held in found.items()]


def _as_json(found: Explanation, top: int) -> dict[str, Any]:
    parts = [each._asdict() for each in found.parts[:top]]
    more = sum(each.part for each in found.parts[top:])
    held = {"margin": found.margin, "base": found.base, "rest": found.rest, "rest_of": found.rest_of}
    return held | {"parts": parts, "other_parts": more}


def _weight_lines(label: Hashable, found: Weights, task: str | None) -> Iterator[str]:
    from coterie.wording import table

    whose = "Largest weights that all tasks share" if task is None else f"Where {task} differs most from what is shared"
    yield whose if label is None else f"{whose}, for {label}"
    if not found:
        yield "  nothing: no feature has such a weight"
        return
    yield from table(*found.table())


def _part_lines(label: Hashable, found: Explanation, task: Hashable, top: int) -> Iterator[str]:
    whose = "" if task is None else f" of task {task}"
    yield f"What makes the margin{whose}" if label is None else f"What makes the margin for {label}{whose}"
    yield from found.lines(top)


def _name_lines(kept: NamesKept | None) -> list[str]:
    if kept is None or not (kept.collisions or kept.dropped):
        return []
    from coterie.wording import counted

    has = "has" if kept.collisions == 1 else "have"
    several = f"; {counted(kept.collisions, 'column')} {has} several" if kept.collisions else ""
    dropped = f"; features without room for their names came {kept.dropped:,} times" if kept.dropped else ""
    return [f"Names kept of hashed features: {kept.names:,}{several}{dropped}."]
