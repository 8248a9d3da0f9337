"""Tasks taken out of a saved model."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from coterie.inputs.errors import InputError
from coterie.wording import nearest, visible

#: Among more tasks none is looked for that was meant: it would take seconds.
_COMPARED = 10_000


class Forgot(NamedTuple):
    """A model that has forgotten tasks, to be saved.

    Attributes
    ----------
    model : online estimator
    named : list of str
        The names of those tasks that its relation names: they stay in its ``tasks_``, with cleared weights.
    """

    model: Any
    named: list[str]


def forget(model: Any, tasks: Sequence[str], path: str) -> Forgot:
    """Let a model forget tasks by their names.

    Parameters
    ----------
    model : estimator
        What was learned.
    tasks : sequence of str
        The names of the tasks, as they are or as they are printed.
    path : str
        Where the model is from, for what is refused.

    Returns
    -------
    Forgot

    Raises
    ------
    InputError
        For a model that was fitted to all its records at once, a task that it does not know, or a name that several of
        its tasks have in print, such as 1 and "1".
    ValueError
        For a model that cannot forget tasks.
    """
    if not hasattr(model, "forget_tasks"):
        kind = type(model).__name__
        raise InputError(f"holds a batch model ({kind}), which is fitted anew without the records of a task", path)
    known = _by_name(getattr(model, "tasks_", ()))
    found = {name: _only(known, name, path) for name in tasks}
    model.forget_tasks(list(found.values()))
    left = set(getattr(model, "tasks_", ()))
    return Forgot(model, [name for name, task in found.items() if task in left])


def task_called(model: Any, name: str, path: str) -> Hashable:
    """The task of a model by its name, as it is or as it is printed; InputError where there is none, or several."""
    return _only(_by_name(getattr(model, "tasks_", ())), name, path)


def _by_name(tasks: Sequence[Hashable]) -> dict[str, list[Hashable]]:
    """The tasks of each name, and of each printed form of a name that is not itself a task's name."""
    own: dict[str, list[Hashable]] = {}
    printed: dict[str, list[Hashable]] = {}
    for task in tasks:
        own.setdefault(str(task), []).append(task)
        printed.setdefault(visible(str(task)), []).append(task)
    return printed | own


def _only(known: dict[str, list[Hashable]], name: str, path: str) -> Hashable:
    found = known.get(name, [])
    if known and not found:
        number = len({task for tasks in known.values() for task in tasks})
        meant = nearest(name, known if number <= _COMPARED else ())
        raise InputError(f"task {name!r} was never seen: the model knows {number} tasks{meant}", path)
    if len(found) > 1:
        which = " and ".join(map(repr, found))
        raise InputError(f"{name!r} is how {which} are printed: only Python can tell them apart", path)
    return found[0] if found else name
