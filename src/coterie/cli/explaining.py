"""The largest weights of a saved model, or of one of its tasks, and the explanation of one record."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from coterie.evaluation.stream_model import goes_on, stream_model_of
from coterie.explanation import correlations, nearest_tasks
from coterie.inputs.encoding import Encoder
from coterie.inputs.errors import InputError
from coterie.inputs.task_names import find_tasks
from coterie.online.selective import base_model
from coterie.relations import Primed
from coterie.settings import is_number
from coterie.wording import counted, nearest, table

if TYPE_CHECKING:
    from coterie.explanation import Explanation, Weights

    #: By class, None where there are two or labels are numbers.
    Explained = dict[Hashable, Explanation] | dict[None, Explanation]
    Weighed = dict[Hashable, Weights] | dict[None, Weights]

#: The most tasks that are compared.
MOST = 2000


class NamesKept(NamedTuple):
    """The names of hashed features in a model: how many, columns with several, and how often there was no room."""

    names: int
    collisions: int
    dropped: int


def names_kept(model: Any) -> NamesKept | None:
    """The names that a model keeps of hashed features; None where features are not hashed, or no names are kept."""
    names = getattr(getattr(model, "encoder_", None), "names", None)
    return NamesKept(len(names), names.collisions, names.dropped) if names is not None and names.kept else None


def weights(model: Any, path: str | PathLike[str], task: str | None, top: int) -> Weighed:
    """The largest weights that are shared, or a task's own; of the values of one column at most five.

    Raises
    ------
    InputError
        For a model that was fitted to all its records at once, or a task that it does not know.
    """
    _require_online(model, path)
    from coterie.explanation import listed_weights

    found = listed_weights(model, None if task is None else find_tasks(model, [task], str(path))[0], top)
    return found if isinstance(found, dict) else {None: found}


class Sharing(NamedTuple):
    """The tasks that share most with one task, or how the tasks of a model share.

    Attributes
    ----------
    relation : str
        The relation, with its parameters.
    tasks : int
        The number of tasks.
    uniform : float or None
        The share of every pair of tasks, if it is the same for all.
    heading : str
        What the values are.
    values : list of (task, number)
        The neighbours of a task and their correlations, or tasks and their learned shares, the largest first.
    """

    relation: str
    tasks: int
    uniform: float | None
    heading: str
    values: list[tuple[Hashable, float]]

    def lines(self) -> Iterator[str]:
        """Yield the lines of a table."""
        yield f"{self.relation}: {counted(self.tasks, 'task')}"
        if self.uniform is not None and self.tasks > 1:
            yield f"Every pair shares the same: {self.uniform:.3g} of what a task learns reaches each other task."
        if self.values:
            yield self.heading
            yield from table(["task", "share"], [[str(task), f"{value:.3g}"] for task, value in self.values])

    def to_json(self) -> dict[str, Any]:
        """Return the sharing as data."""
        values = [{"task": task, "share": value} for task, value in self.values]
        return {"relation": self.relation, "tasks": self.tasks, "uniform": self.uniform, "values": values}


def sharing_of(model: Any, path: str | PathLike[str], task: str | None, top: int) -> Sharing | None:
    """Return the neighbours of a task, or how all tasks share; None if the model has no relation between tasks."""
    if not hasattr(type(base_model(model)), "relation_matrix_"):
        return None
    if not model.__sklearn_is_fitted__():
        raise ValueError("the model has learned nothing yet, so it has no tasks")
    R = correlations(model, model.tasks_[:MOST])
    between = R[~np.eye(len(R), dtype=bool)]
    uniform = float(between[0]) if len(between) and np.ptp(between) < 1e-9 else None
    known = relation_name(model), len(model.tasks_), uniform
    if task is not None:
        neighbours = nearest_tasks(model, find_tasks(model, [task], str(path))[0], top)
        return Sharing(*known, f"Tasks that share most with {task}", neighbours)
    shares = getattr(model, "sharing_", None)
    learned = [] if shares is None else zip(model.tasks_, shares.tolist(), strict=True)
    ordered = sorted(learned, key=lambda pair: -pair[1])[:top]
    return Sharing(*known, "Learned shares (0: a model of its own, 1: the model of all tasks)", ordered)


def relation_name(model: Any) -> str:
    """The relation of a model in a few words, without what it stores for single tasks."""
    model = base_model(model)
    while inner := getattr(model, "_within", None):
        model = inner  # the model of each class
    if "relation" not in model.get_params(deep=False):
        return f"{type(model).__name__}({', '.join(getattr(model, 'members_', ()))})"
    return _named(model._relation_used)


def _named(relation: Any) -> str:
    """The relation with those of its numbers and words that are not the default."""
    arguments = [_named(relation.relation)] if isinstance(relation, Primed) else []
    for each in fields(relation):
        value = getattr(relation, each.name)
        if (is_number(value) or isinstance(value, str)) and value != each.default:
            arguments.append(f"{each.name}={value!r}")
    return f"{type(relation).__name__}({', '.join(arguments)})"


def parts(model: Any, path: str | PathLike[str], said: str, task: str | None) -> tuple[Hashable, Explained]:
    """The explanation of one record and its task: of a JSON object, or of a place in a file.

    Parameters
    ----------
    model : online estimator
        That learned from files.
    path : path
        Its file, for messages.
    said : str
        ``{"column": value, ...}``, or ``FILE:PLACE`` with the line or row that ``predict`` tells of a record.
    task : str, optional
        The name of the record's task, where the record does not tell it or another one is meant.

    Raises
    ------
    InputError
        For what is no record, or one that the model cannot read; for a record without a task, or a task that the model
        refuses.
    """
    _require_online(model, path)
    named = None if task is None else _task(model, task, str(path))
    given = None
    if said.lstrip().startswith("{"):
        x, of = _from_json(model, said)
    else:
        x, of, given = _from_file(model, said)
    of = of if named is None else named
    if of is None and len(stream_model_of(model).population.labels) > 1:
        raise InputError("the record does not say whose it is: name the task")
    found = model.explain(x, of)
    made = found if isinstance(found, dict) else {None: found}
    return of, made if given is None else {label: each.giving(given) for label, each in made.items()}


def _require_online(model: Any, path: str | PathLike[str]) -> None:
    if not goes_on(model):
        kind = type(model).__name__
        raise InputError(f"holds a batch model ({kind}), of whose records no weights are kept to explain by", str(path))


def _task(model: Any, name: str, path: str) -> Hashable:
    """The task of that name; the name itself, as a new task, if the model knows none of it."""
    try:
        return find_tasks(model, [name], path)[0]
    except InputError:
        numbers = all(isinstance(task, int) for task in model.tasks_)
        return int(name) if numbers and name.lstrip("-").isdecimal() else name


def _from_json(model: Any, said: str) -> tuple[Mapping[str, Any], Hashable]:
    try:
        held = msgspec.json.decode(said, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InputError(f"the record is no JSON object: {error}") from None
    encoder = stream_model_of(model).encoder if hasattr(model, "encoder_") else None
    column = None if encoder is None else encoder.task
    task = held.pop(column, None) if column is not None else None
    if isinstance(encoder, Encoder):
        _warn_of_others(held, [name for name, _ in encoder.columns])
    return held, None if task is None else _task(model, str(task), "the record")


def _warn_of_others(held: Mapping[str, Any], columns: Sequence[str]) -> None:
    """Warn of names in a record that are no columns of the model and nearly one that the record lacks."""
    lacking = [column for column in columns if column not in held]
    for name in held:
        if name not in columns and (meant := nearest(name, lacking)):
            warnings.warn(f"the model has no column {name!r}{meant}", UserWarning, stacklevel=2)


def _from_file(model: Any, said: str) -> tuple[Any, Hashable, dict[str, Any]]:
    """The row of a record in a file, its task, and the numbers and dates of its columns as they stand there."""
    from coterie.io.readers import read

    path, colon, place = said.rpartition(":")
    if not (colon and place.isdecimal() and path):
        raise InputError(f"{said!r} is no record: give a JSON object, or FILE:PLACE with the line or row of one")
    if not hasattr(model, "encoder_"):
        raise InputError("this model did not learn from a file, so it does not know how to read one: give JSON")
    columns = {name: kind for name, kind in model.encoder_.columns if kind in ("numeric", "date")}
    reader = read(path, encoder=model.encoder_, update=False, keep=list(columns), on_error="skip")
    for block in reader:
        at = [row for row, each in enumerate(block.place.tolist()) if each == int(place)]
        if at:
            one = block.piece(at[0], at[0] + 1)
            given = {name: _as_number(held[0], columns[name]) for name, held in one.kept.items()}
            return one.X, None if one.task is None else one.tasks[0], given
    for reason in reader.skipped_examples:
        if reason.startswith(f"{path}:{place}: "):
            raise InputError(reason)
    raise InputError(f"has no record in line or row {place}{' that can be read' if reader.skipped else ''}", path)


def _as_number(held: Any, kind: str) -> Any:
    """What stands in a column of numbers of a text file as a number; anything else as it is."""
    if kind == "numeric" and isinstance(held, str):
        with suppress(ValueError):
            return float(held)
    return held
