"""Input of multitask rounds: each round has one feature vector (instance) for every task."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coterie._compiled.core.checks import require
from coterie.models.contract import InputShape
from coterie.models.ensemble import EnsembleState
from coterie.types import AnyLabels, AnyRecords, AnyTasks, Array, Arrays, Fields, Ints, Record

from . import tabular
from .block import Block
from .input import Input, ReadContext, Records, Undo

if TYPE_CHECKING:
    from coterie.models.state import State as LearnerState


class Spaces(NamedTuple):
    """The tasks, with the number of features of each; None for named features, the number of which may increase."""

    tasks: tuple[Hashable, ...]
    sizes: tuple[int, ...] | None

    @property
    def only(self) -> Hashable:
        """Return the only task; raise ValueError if there are several."""
        if not self.tasks:
            raise ValueError("the record has no features, and so no instance of a task")
        if len(self.tasks) > 1:
            raise ValueError(f"task is missing; pass the active one of {_shown(self.tasks)}")
        return self.tasks[0]


#: One array has the instances of the only task, of any name.
ALONE = Spaces((0,), ())


class InstanceRounds(NamedTuple):
    """Rounds with one instance per task, either as an array or as dictionaries with keys (task, feature)."""

    rows: AnyRecords
    spaces: Spaces


class InstancesInput(Input):
    """Converts rounds with an instance of every task: K arrays, or dictionaries of dictionaries.

    The instances of a round become one row.
    """

    def __init__(self) -> None:
        super().__init__()
        self._spaces: Spaces | None = None  # feature spaces that have been learned
        self._latest = ALONE  # feature spaces of the latest rounds

    def first_width(self, width: int) -> int:
        """Return ``width``: all features get columns before a batch of rounds is learned."""
        return width

    @property
    def plain_records(self) -> None:
        """None: the compiled fast path does not support nested dictionaries."""
        return None

    def read(self, X: AnyRecords, y: AnyLabels, task: AnyTasks, context: ReadContext) -> Records:
        """Encode rounds X, each for its active task.

        Each round is read for all tasks if y has K columns, or no task is passed in prediction.

        For every task, each round counts K times, and predictions have the shape (n, K).
        """
        if isinstance(X, Block):
            return super().read(X, y, task, context)
        rounds, column = self._rounds(X), self.options.task_column
        context = context._replace(learning=context.labels is not None or context.learning)
        n, K = tabular.count(rounds.rows), len(rounds.spaces.tasks)
        if K == 1 or not (np.ndim(y) == 2 or (y is None and task is None and column is None)):
            return super().read(rounds.rows, y, _active(rounds, task, column), context)
        if y is not None:
            return super().read(*_every_task(rounds, np.asarray(y), task), context)
        return super().read(*_every_task(rounds, np.zeros((n, K)), None), context)._replace(shape=(n, K))

    def _rounds(self, X: AnyRecords) -> InstanceRounds:
        rounds = _read(X, self._spaces)
        self._latest = rounds.spaces
        return rounds

    def split_one(self, x: AnyRecords, task: Hashable, known: Collection[Hashable]) -> tuple[AnyRecords, Hashable]:
        """Convert a round, a dictionary from task to features, to one row; return it and the active task."""
        rounds = self._rounds([x])
        return super().split_one(rounds.rows[0], rounds.spaces.only if task is None else task, known)

    def snapshot(self, fitted: bool) -> Undo:
        """Return a function that restores the current state, to call if a later round is invalid."""
        undo_rows, spaces = super().snapshot(fitted), self._spaces

        def undo() -> None:
            undo_rows()
            self._spaces = spaces

        return undo

    def first_tasks(self, tasks: Sequence[Hashable], coming: Sequence[Hashable]) -> Sequence[Hashable]:
        """Return the tasks that have instances; raise ValueError if an active task is not among them."""
        active = [*tasks, *coming]
        known = tuple(active[:1]) if self._latest is ALONE else self._latest.tasks
        for task in active:
            if task not in known:
                raise ValueError(f"task {task!r} has no instances; the tasks with instances are {_shown(known)}")
        return known

    def size(self, records: Records) -> InputShape:
        """Return the number of features, and the task of each feature if it may have changed since the last records."""
        spaces, owner = self._spaces or self._latest, None
        if self.form.vocabulary is not None and spaces is not ALONE:
            owner = self._owner(spaces.tasks, records.width)
        elif self._spaces is None and spaces.sizes:
            owner = np.repeat(np.arange(len(spaces.tasks)), spaces.sizes)
        return InputShape(records.width, dense=True, owner=owner)

    def on_state_created(self, state: Any) -> None:
        """Store the tasks of a new model, and the number of features of each task if features are unnamed."""
        tasks = state.tasks.labels
        sizes = np.bincount(owner_of(state), minlength=len(tasks))
        named = self.form.vocabulary is not None
        self._spaces = Spaces(tuple(tasks), None if named else tuple(map(int, sizes)))

    def _owner(self, tasks: Sequence[Hashable], features: int) -> Ints:
        """Return for each feature, in the model's order, the index of its task."""
        place = {task: i for i, task in enumerate(tasks)}
        owner = np.zeros(features, np.int64)
        for j, name in enumerate(self.form.vocabulary.to_json()["names"] if self.form.vocabulary else ()):
            owner[j] = place[name[0]]
        return owner

    def from_saved(self, data: Fields, arrays: Arrays, state: Any) -> None:
        """Restore the input from :meth:`to_saved`; raise ValueError if a feature's name contradicts its task."""
        super().from_saved(data, arrays, state)
        named = self.form.vocabulary
        if named is not None:
            tasks, names = state.tasks.labels, named.to_json().get("names", ())
            require(len(names) == state.features, f"{len(names)} features have a name, of {state.features}")
            require(
                all(isinstance(name, tuple) and len(name) == 2 and name[0] in tasks for name in names),
                "a feature has no task",
            )
            owner = self._owner(tasks, state.features)
            require(np.array_equal(owner, owner_of(state)), "a feature belongs to another task than its name says")
        self.on_state_created(state)


def _read(X: AnyRecords, known: Spaces | None) -> InstanceRounds:
    """Convert rounds of any form to `InstanceRounds`; ``known`` are the tasks and their numbers of features so far.

    Raises
    ------
    ValueError
        If arrays have different numbers of rows, are not two-dimensional, or have other tasks or sizes than known.
    """
    if tabular.is_records(X):
        return _read_records(X, known)
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # a sparse matrix by keys is a mapping too
        return _read_arrays(dict(X), known)
    if isinstance(X, (list, tuple)) and len(X) and all(getattr(array, "ndim", np.ndim(array)) == 2 for array in X):
        return _read_arrays(dict(enumerate(X)), known)
    return InstanceRounds(X, ALONE if known is None else known)


def _read_arrays(arrays: dict[Hashable, AnyRecords], known: Spaces | None) -> InstanceRounds:
    arrays = {tabular.one_task(task): _dense(task, array) for task, array in arrays.items()}
    lengths = {task: len(array) for task, array in arrays.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"every task must have one instance per round, got arrays of this many rows: {lengths}")
    spaces = Spaces(tuple(arrays), tuple(array.shape[1] for array in arrays.values()))
    if known is not None:
        if set(known.tasks) != set(arrays):
            raise ValueError(f"expected one array for each of {_shown(known.tasks)}, got {_shown(spaces.tasks)}")
        arrays = {task: arrays[task] for task in known.tasks}
        spaces = Spaces(known.tasks, tuple(array.shape[1] for array in arrays.values()))
        if known.sizes is not None and spaces.sizes != known.sizes:
            raise ValueError(f"instances must have {known.sizes} features, by task, got {spaces.sizes}")
        if known.sizes is None:
            raise ValueError("the model learned from dictionaries; pass a list of dictionaries, not arrays")
    return InstanceRounds(np.concatenate(list(arrays.values()), axis=1), spaces)


def _dense(task: Hashable, instances: AnyRecords) -> Array:
    array = instances.toarray() if hasattr(instances, "toarray") else np.asarray(instances)
    if array.ndim != 2:
        raise ValueError(
            f"the instances of task {task!r} must be an array of one row per round, got shape {array.shape}"
        )
    return array


def _read_records(records: Sequence[Record], known: Spaces | None) -> InstanceRounds:
    if not all(isinstance(instance, Mapping) for instance in records[0].values()):
        task = 0 if known is None else known.only
        records = [{task: record} for record in records]
    tasks = tuple(records[0]) if known is None else known.tasks
    if known is not None and known.sizes is not None:
        raise ValueError("the model learned from arrays; pass one array per task, not dictionaries")
    return InstanceRounds([_flat(record, tasks) for record in records], Spaces(tasks, None))


def _flat(record: Record, tasks: Sequence[Hashable]) -> dict[tuple[Hashable, str], object]:
    flat: dict[tuple[Hashable, str], object] = {}
    for task, instance in record.items():
        if task not in tasks:
            raise ValueError(f"the record has an instance of task {task!r}; the tasks are {_shown(tasks)}")
        if not isinstance(instance, Mapping):
            raise TypeError(f"the instance of task {task!r} must be a dictionary of features, got {instance!r}")
        for name, value in instance.items():
            is_text = isinstance(value, str)
            flat[task, f"{name}={value}" if is_text else name] = 1.0 if is_text else value
    return flat


def _active(rounds: InstanceRounds, task: AnyTasks, column: Hashable | None) -> AnyTasks:
    """Return the active task of each round, from the argument ``task``, the task column, or as the only task."""
    if task is None and column is None and rounds.spaces.tasks != ALONE.tasks:
        return [rounds.spaces.only] * tabular.count(rounds.rows)
    return task


def _every_task(rounds: InstanceRounds, y: Array, task: AnyTasks) -> tuple[AnyRecords, Array, list[Hashable]]:
    """Repeat each round once per task; raise ValueError if y has another shape, or ``task`` was passed."""
    n, tasks = tabular.count(rounds.rows), rounds.spaces.tasks
    if task is not None:
        raise ValueError(f"y has a label for every task, shape {y.shape}; leave out task=")
    if y.shape != (n, len(tasks)):
        raise ValueError(
            f"y must have one label per round, or one for each task, shape {(n, len(tasks))}, got {y.shape}"
        )
    K = len(tasks)
    rows = rounds.rows
    rows = [row for row in rows for _ in tasks] if isinstance(rows, list) else np.repeat(rows, K, 0)
    return rows, y.ravel(), list(tasks) * n


def _shown(tasks: Sequence[Hashable]) -> str:
    return ", ".join(map(repr, tasks[:5])) + (" ..." if len(tasks) > 5 else "")


def owner_of(state: LearnerState) -> Ints:
    """Return for each feature of a model the index of the task it belongs to."""
    member = state.members[0] if isinstance(state, EnsembleState) else state
    return np.asarray(member.model.owner)
