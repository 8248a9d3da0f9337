"""``coterie forget``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Json, Quiet
from .places import Force, naming, require_outputs

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The saved model.")]
Tasks = Annotated[list[str], typer.Option("--task", "-t", metavar="NAME", help="A task to forget; may be repeated.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="OUT", help="Save the model here, and leave the one that was read as it is."
    ),
]


def forget(
    model: Model,
    task: Tasks,
    output: Output = None,
    json: Json = False,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Forget tasks: their own weights, their names and their counts are gone from the model.

    What others have learned through them stays, and so do names in the model's relation, names of features (a mail
    address in a column, say), and other copies of the model. The model, a file
    or a folder of shards, is replaced, whole or not at all, unless another place is named. Nothing is changed if one of
    the tasks is not known.

    For example:
      coterie forget clicks.coterie --task ann
      coterie forget clicks.coterie -t ann -t bob -o fewer.coterie
    """
    from coterie.inputs.task_names import forget_tasks_by_name
    from coterie.scale.folder import forget as forget_in_shards

    from .models import load_any, refuse_service
    from .printing import print_lines, print_result, saved_line

    refuse_service(model)
    place = output or model
    names = list(dict.fromkeys(task))
    if model.is_dir() and output is None:
        named, known = forget_in_shards(model, names)
        saved = f"Saved: {model}"
    else:
        require_outputs({"output": place}, [], force, over=model)
        forgot = load_any(model)
        named = forget_tasks_by_name(forgot, names, str(model))
        with naming(place):
            forgot.save(place)
        known, saved = len(forgot.tasks_), saved_line(place, forgot)
    if json:
        predictions = {"forgotten": names, "named": named, "tasks": known, "model": place}
        print_result("forget", predictions)
    elif not quiet:
        stays = [f"Named by the relation, and so still among the tasks: {', '.join(named)}"] if named else []
        print_lines([f"Forgotten: {', '.join(names)}", *stays], [saved])
