"""Multiclass learning by one-vs-rest: one binary learner per class.

A class may first appear during the stream. No earlier record has it as its label. Therefore a *spare* learner learns
every record with a negative label, and a new class starts as a copy of it. The learners are the same, bit for bit, as
if all classes had been known from the start.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.checks import require
from coterie._compiled.trees import Arrays, group_by_prefix, join_numbered, strip_prefix
from coterie._compiled.weights.table import Weights
from coterie.tasks.index import Index
from coterie.types import Json

from .contract import (
    AnyRows,
    BaseLearner,
    Batch,
    InputShape,
    LearnerState,
    Margins,
    MetaLearner,
    Predictions,
    UpdateResult,
)


class _Saved(msgspec.Struct):
    """Saved data of :meth:`OneVsRestLearner.dump`, without the arrays."""

    classes: Annotated[list[Json], msgspec.Meta(min_length=1)]


@dataclass
class ClassesState:
    """The states of the classes' binary learners in order of appearance, then that of the spare learner."""

    all: list[Any]
    tasks: Index

    @property
    def members(self) -> list[Any]:
        """The states of the classes' learners, without the spare learner."""
        return self.all[:-1]

    @property
    def features(self) -> int:
        """The number of features."""
        return int(self.all[-1].features)

    @property
    def rounds(self) -> int:
        """The number of learned rounds."""
        return int(self.all[-1].rounds)

    @property
    def nbytes(self) -> int:
        """The memory of the arrays in bytes."""
        return sum(state.nbytes for state in self.all)


class OneVsRestLearner(MetaLearner):
    """Learner of any number of classes by one binary learner per class; margins have shape (n, classes).

    Parameters
    ----------
    learner : learner
        The binary learner, with one state per class.

    Notes
    -----
    Costs and memory are those of the learner, multiplied by the number of classes plus one.
    """

    def __init__(self, learner: BaseLearner) -> None:
        self.learner = learner
        self.traits = replace(learner.traits, asks=False, has_variances=False, has_intervals=False)

    def pairs(self, state: ClassesState) -> Iterable[tuple[BaseLearner, LearnerState]]:
        """Return the binary learner with the state of each class, then with that of the spare learner."""
        return [(self.learner, inner) for inner in state.all]

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> ClassesState:
        """Return the initial state for these tasks and records of the shape ``size``."""
        return ClassesState([self.learner.init(tasks, size, length)], tasks)

    def predict(self, state: ClassesState, batch: Batch) -> Predictions:
        """Predict records with the learners of all classes and the spare learner."""
        return _combine(self.predict_members(state, batch), len(batch.tasks))

    def learn(self, state: ClassesState, batch: Batch, y: NDArray[np.bool_]) -> UpdateResult:
        """Predict and learn the records of a batch in order.

        ``y`` of shape (m, classes) has the class indicators of each record; new classes may be added.
        """
        self._add_classes(state, y.shape[1])
        # one against all; a class to come has seen negatives only, as the spare learner has
        signs = [*np.where(y, 1.0, -1.0).T, np.full(len(y), -1.0)]  # all labels of the spare learner are negative
        updates = self.learn_members(state, batch, list(map(np.ascontiguousarray, signs)))
        own = _columns([update.own for update in updates[:-1]], len(y))
        # the record counts as an update if any class moved
        steps = np.max([update.steps for update in updates], axis=0)
        return UpdateResult(_combine([update.predictions for update in updates], len(batch.tasks)), own, steps)

    def predict_one(self, state: ClassesState, rows: AnyRows, i: int) -> Margins:
        """Return the margins of one record of the known task number i, one per class."""
        return np.array([self.learner.predict_one(inner, rows, i) for inner in state.members])

    def learn_one(self, state: ClassesState, rows: AnyRows, i: int, y: NDArray[np.bool_]) -> None:
        """Learn one record of the known task number i; the label y has an indicator per class."""
        self._add_classes(state, len(y))
        for inner, sign in zip(state.all, [*np.where(y, 1.0, -1.0), -1.0], strict=True):
            self.learner.learn_one(inner, rows, i, float(sign))

    @staticmethod
    def _add_classes(state: ClassesState, classes: int) -> None:
        """Add a learner for each new class: a copy of the spare learner, which learned all records as negative."""
        while len(state.all) <= classes:
            state.all.append(copy.deepcopy(state.all[-1], {id(state.tasks): state.tasks}))

    def linear_part(self, state: ClassesState, batch: Batch, record: AnyRows | None = None) -> Margins:
        """Return for each class the part of margins that is a weighted sum of features."""
        return _columns([self.learner.linear_part(inner, batch, record) for inner in state.members], len(batch.tasks))

    def weights(self, state: ClassesState) -> Weights:
        """Return the weights, shape (classes, tasks, features)."""
        return np.array([self.learner.weights(inner) for inner in state.members])

    def intercepts(self, state: ClassesState) -> Weights:
        """Return the intercepts, shape (classes, tasks), or (classes, 1) if all tasks have the same."""
        return np.array([np.atleast_1d(self.learner.intercepts(inner)) for inner in state.members])

    def share(self, state: ClassesState) -> NDArray[np.float64]:
        """Return the fraction of each task's updates that is shared, averaged over the classes."""
        return np.asarray(np.mean([self.learner.share(inner) for inner in state.members], axis=0))

    def relation_matrix(self, state: ClassesState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return A⁻¹ averaged over the classes; for a fixed relation all are equal."""
        return np.asarray(np.mean([self.learner.relation_matrix(inner, among) for inner in state.members], axis=0))

    def models(self, state: ClassesState) -> int:
        """Return the number of classes."""
        return len(state.members)

    def dump(self, state: ClassesState) -> tuple[Json, Arrays]:
        """Return the state for a file, as JSON data and named arrays; task labels are saved elsewhere."""
        data, arrays = zip(*(self.learner.dump(inner) for inner in state.all), strict=True)
        return {"classes": list(data)}, join_numbered("classes", arrays)

    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> ClassesState:
        """Restore a state from the result of :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        saved, own = msgspec.convert(data, _Saved).classes, group_by_prefix(strip_prefix(arrays, "classes."))
        states = [self.learner.restore(state, own.get(str(c), {}), tasks) for c, state in enumerate(saved)]
        require(len({state.features for state in states}) == 1, "the classes have different numbers of features")
        return ClassesState(states, tasks)


def _combine(members: Sequence[Predictions], n: int) -> Predictions:
    """Combine the predictions by the classes' learners and the spare learner (the last) into one object."""
    return Predictions(_columns([member.margins for member in members[:-1]], n), None, tuple(members))


def _columns(margins: Sequence[Margins], n: int) -> Margins:
    """Stack the margins of n records by several learners as columns."""
    return np.array(margins).reshape(len(margins), n).T
