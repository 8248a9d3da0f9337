"""``coterie forget``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path

from .options import Model, PrintOptions, option


@dataclass(frozen=True, kw_only=True)
class ForgetOptions(PrintOptions):
    """Options of ``forget``: the tasks, and the output."""

    heading = "Options"

    task: list[str] = option("NAME", "A task to forget; may be repeated.", MISSING, "-t")
    output: Path | None = option("OUT", "Save the model here, and leave the old one unchanged.", None, "-o")


def forget(model: Model, options: ForgetOptions) -> None:
    """Forget tasks: their own weights, their names and their counts are deleted from the model.

    The influence that they had on other tasks stays, and so do names in the relation of the model, names of features (a
    mail address in a column, say), and other copies of the model. The model, a file or a folder of shards, is replaced
    as a whole or not at all, unless --output is given. If one of the tasks is unknown, nothing is changed.

    For example:

        coterie forget clicks.coterie --task ann
        coterie forget clicks.coterie -t ann -t bob -o fewer.coterie
    """
    from coterie.data.task_names import forget_tasks_by_name
    from coterie.distributed.folder import forget as forget_in_shards

    from .models import load_any, refuse_service
    from .outputs import name_errors, require_outputs
    from .printing import print_lines, print_result, saved_line

    refuse_service(model)
    output, names = options.output or model, list(dict.fromkeys(options.task))
    if model.is_dir() and options.output is None:
        remaining, known = forget_in_shards(model, names)
        saved = f"Saved: {model}"
    else:
        require_outputs({"output": output}, [], options.force, model)
        trained = load_any(model)
        remaining = forget_tasks_by_name(trained, names, str(model))
        with name_errors(output):
            trained.save(output)
        known, saved = len(trained.tasks_), saved_line(output, trained)
    if options.json:
        print_result("forget", {"forgotten": names, "named": remaining, "tasks": known, "model": output})
    elif not options.quiet:
        note = [f"Named by the relation, and so still among the tasks: {', '.join(remaining)}"] if remaining else []
        print_lines([f"Forgotten: {', '.join(names)}", *note], [saved])
