"""Rounds that hold an instance of every task, brought to rows of all instances side by side."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie.streams import tabular


class Spaces(NamedTuple):
    """The tasks, and the sizes of their feature spaces; None where features have names and come as they like."""

    tasks: tuple[Hashable, ...]
    sizes: tuple[int, ...] | None

    @property
    def only(self) -> Hashable:
        """The task that is meant where none is named.

        Raises
        ------
        ValueError
            If there are several.
        """
        if len(self.tasks) > 1:
            raise ValueError(f"task is missing: say which of {_shown(self.tasks)} is active")
        return self.tasks[0]


#: One array is the instances of the only task, whatever its name.
ALONE = Spaces((0,), ())


class Given(NamedTuple):
    """Rounds as rows, an array or a list of dictionaries with keys (task, feature), and their spaces."""

    rows: Any
    spaces: Spaces


def read(X: Any, known: Spaces | None) -> Given:
    """Rounds in any of their forms.

    Raises
    ------
    ValueError
        If arrays have different numbers of rows, are not two-dimensional, or have other tasks or sizes than known.
    """
    if tabular.is_records(X):
        return _read_records(X, known)
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # a sparse matrix by keys is a mapping too
        return _read_arrays(dict(X), known)
    if isinstance(X, (list, tuple)) and len(X) and all(getattr(each, "ndim", np.ndim(each)) == 2 for each in X):
        return _read_arrays(dict(enumerate(X)), known)
    return Given(X, ALONE if known is None else known)


def _read_arrays(arrays: dict[Hashable, Any], known: Spaces | None) -> Given:
    arrays = {tabular.one_task(task): _dense(task, each) for task, each in arrays.items()}
    lengths = {task: len(each) for task, each in arrays.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"every task must have one instance a round, got arrays of so many rows: {lengths}")
    spaces = Spaces(tuple(arrays), tuple(each.shape[1] for each in arrays.values()))
    if known is not None:
        if set(known.tasks) != set(arrays):
            raise ValueError(f"instances must be those of {_shown(known.tasks)}, got those of {_shown(spaces.tasks)}")
        arrays = {task: arrays[task] for task in known.tasks}
        spaces = Spaces(known.tasks, tuple(each.shape[1] for each in arrays.values()))
        if known.sizes is not None and spaces.sizes != known.sizes:
            raise ValueError(f"instances must have {known.sizes} features, by task, got {spaces.sizes}")
        if known.sizes is None:
            raise ValueError("the model learned from dictionaries: give a list of dictionaries, not arrays")
    return Given(np.concatenate(list(arrays.values()), axis=1), spaces)


def _dense(task: Hashable, given: Any) -> NDArray[Any]:
    array = given.toarray() if hasattr(given, "toarray") else np.asarray(given)
    if array.ndim != 2:
        raise ValueError(f"the instances of task {task!r} must be an array of one row a round, got shape {array.shape}")
    return array


def _read_records(records: Sequence[Mapping[Any, Any]], known: Spaces | None) -> Given:
    if not all(isinstance(held, Mapping) for held in records[0].values()):
        task = 0 if known is None else known.only
        records = [{task: record} for record in records]
    tasks = tuple(records[0]) if known is None else known.tasks
    if known is not None and known.sizes is not None:
        raise ValueError("the model learned from arrays: give an array a task, not dictionaries")
    return Given([_flat(record, tasks) for record in records], Spaces(tasks, None))


def _flat(record: Mapping[Any, Any], tasks: Sequence[Hashable]) -> dict[tuple[Hashable, str], Any]:
    flat: dict[tuple[Hashable, str], Any] = {}
    for task, instance in record.items():
        if task not in tasks:
            raise ValueError(f"the record has an instance of task {task!r}; the tasks are {_shown(tasks)}")
        if not isinstance(instance, Mapping):
            raise TypeError(f"the instance of task {task!r} must be a dictionary of features, got {instance!r}")
        for name, held in instance.items():
            text = isinstance(held, str)
            flat[task, f"{name}={held}" if text else name] = 1.0 if text else held
    return flat


def active(given: Given, task: Any, column: Hashable | None) -> Any:
    """The active task of each round; the only one where none is named."""
    if task is None and column is None and given.spaces.tasks != ALONE.tasks:
        return [given.spaces.only] * length(given.rows)
    return task


def every_task(given: Given, y: NDArray[Any], task: Any) -> tuple[Any, NDArray[Any], list[Hashable]]:
    """K rounds with the instances of each one given, the tasks active in turn.

    Raises
    ------
    ValueError
        If y has not one column a task, or active tasks are named too.
    """
    n, tasks = length(given.rows), given.spaces.tasks
    if task is not None:
        raise ValueError(f"y holds a label of every task, shape {y.shape}: task= must not name active ones")
    if y.shape != (n, len(tasks)):
        raise ValueError(f"y must hold one label a round, or one for each task, shape {(n, len(tasks))}, got {y.shape}")
    K = len(tasks)
    rows = [row for row in given.rows for _ in tasks] if isinstance(given.rows, list) else np.repeat(given.rows, K, 0)
    return rows, y.ravel(), list(tasks) * n


def check_active(active: Sequence[Hashable], tasks: Sequence[Hashable]) -> None:
    """Refuse active tasks that have no instances."""
    for task in active:
        if task not in tasks:
            raise ValueError(f"task {task!r} has no instances: those of {_shown(tasks)} are given")


def length(rows: Any) -> int:
    """The number of rounds."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _shown(tasks: Sequence[Hashable]) -> str:
    return ", ".join(map(repr, tasks[:5])) + (" ..." if len(tasks) > 5 else "")
