"""Look-up of a model's tasks by name, as typed on the command line."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from coterie.types import Estimator
from coterie.wording import nearest, visible

from .errors import InputError

#: Among more tasks no similar name is searched: it would take seconds.
_COMPARED = 10_000


def find_tasks(model: Estimator, names: Sequence[str], path: str) -> list[Hashable]:
    """Return the tasks of a model with these names: an equal label, or a label that is printed like the name.

    Parameters
    ----------
    model : estimator
        The model.
    names : sequence of str
        The names of tasks.
    path : str
        The file of the model, for errors.

    Raises
    ------
    InputError
        If a task is unknown, or several tasks are printed like a name, such as 1 and "1".
    """
    exact: dict[str, list[Hashable]] = {}
    printed: dict[str, list[Hashable]] = {}
    tasks = getattr(model, "tasks_", ())
    for task in tasks:
        exact.setdefault(str(task), []).append(task)
        printed.setdefault(visible(str(task)), []).append(task)
    known, result = printed | exact, []
    for name in names:
        matches = known.get(name, [])
        if known and not matches:
            hint = nearest(name, known if len(tasks) <= _COMPARED else ())
            raise InputError(f"task {name!r} was never seen; tasks_ lists the {len(tasks)} known tasks{hint}", path)
        if len(matches) > 1:
            words = " and ".join(map(repr, matches))
            raise InputError(f"{name!r} is ambiguous: {words} are both printed so; use Python to select one", path)
        result.append(matches[0] if matches else name)
    return result


def forget_tasks_by_name(model: Estimator, names: Sequence[str], path: str) -> list[str]:
    """Forget tasks of a model; return the names of those that remain in ``tasks_`` because the relation lists them.

    Raises
    ------
    InputError
        If the model is a batch model, or as in `find_tasks`.
    ValueError
        If the model cannot forget tasks.
    """
    if not hasattr(model, "forget_tasks"):
        kind = type(model).__name__
        raise InputError(f"contains a batch model ({kind}); refit it without the records of the task", path)
    tasks = find_tasks(model, names, path)
    model.forget_tasks(tasks)
    known = set(getattr(model, "tasks_", ()))
    return [name for name, task in zip(names, tasks, strict=True) if task in known]
