"""``coterie forget``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Json, Quiet

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The saved model.")]
Tasks = Annotated[list[str], typer.Option("--task", metavar="NAME", help="A task to forget; may be repeated.")]
Output = Annotated[
    Path | None,
    typer.Option(metavar="OUT", help="Save the model here, and leave the one that was read as it is."),
]


def forget(model: Model, task: Tasks, output: Output = None, json: Json = False, quiet: Quiet = False) -> None:
    """Forget tasks: their own weights, their names and their counts are gone from the model.

    What others have learned through them stays, and so does a name that is in the model's relation. The model is
    replaced, whole or not at all, unless another place is named. Nothing is changed if one of the tasks is not known.

    For example:
      coterie forget clicks.coterie --task ann
      coterie forget clicks.coterie --task ann --task bob --output fewer.coterie
    """
    from coterie import __version__
    from coterie.jobs.forgetting import forget as run

    from .places import MODEL, Place, naming, require_places
    from .printing import print_json, print_lines, saved_line

    place = output or model
    require_places([Place("output", place, MODEL, model)], [model])
    forgot, named = run(model, task)
    with naming(place):
        forgot.save(place)
    names = list(dict.fromkeys(task))
    if json:
        told = {"command": "forget", "version": __version__, "forgotten": names, "named": named}
        print_json(told | {"tasks": forgot.size[0], "model": str(place)})
    elif not quiet:
        stays = [f"Named by the relation, and so still among the tasks: {', '.join(named)}"] if named else []
        print_lines([f"Forgotten: {', '.join(names)}", *stays], [saved_line(place, forgot)])
