"""Tasks taken out of a saved model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from os import PathLike
from typing import Any

from coterie import persistence
from coterie.evaluation.stream_model import goes_on
from coterie.inputs.errors import InputError


def forget(path: str | PathLike[str], tasks: Sequence[str], output: str | PathLike[str] | None = None) -> Any:
    """Forget tasks that a saved model has learned, and save it, whole or not at all.

    Parameters
    ----------
    path : path
        The model.
    tasks : sequence of str
        The names of the tasks, as they are printed.
    output : path, optional
        Where to save the model; without, in its place.

    Returns
    -------
    model
        As it was saved.

    Raises
    ------
    InputError
        For a model that was fitted to all its records at once, or a task that it does not know.
    ValueError
        For a model that cannot forget tasks.
    """
    model = persistence.load(path)
    if not goes_on(model):
        kind = type(model).__name__
        raise InputError(f"holds a batch model ({kind}), which is fitted anew without the records of a task", str(path))
    named = {str(task): task for task in getattr(model, "tasks_", ())}
    model.forget_tasks([_known(named, task, str(path)) for task in tasks])
    model.save(path if output is None else output)
    return model


def _known(named: dict[str, Hashable], task: str, path: str) -> Hashable:
    if named and task not in named:
        raise InputError(f"task {task!r} was never seen: the model knows {len(named)} tasks", path)
    return named.get(task, task)
