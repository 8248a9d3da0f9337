"""Multiclass learning: one binary learner per class, one-vs-rest.

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
    """The data that :meth:`OneVsRestLearner.dump` returns in addition to the arrays."""

    classes: Annotated[list[Json], msgspec.Meta(min_length=1)]


@dataclass
class ClassesState:
    """One learner state per class, in the order of appearance, and the state of the spare learner at the end."""

    all: list[Any]
    tasks: Index

    @property
    def members(self) -> list[Any]:
        """The states of the classes' learners."""
        return self.all[:-1]

    @property
    def features(self) -> int:
        """The width of the records."""
        return int(self.all[-1].features)

    @property
    def rounds(self) -> int:
        """The number of learned rounds."""
        return int(self.all[-1].rounds)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(state.nbytes for state in self.all)


class OneVsRestLearner(MetaLearner):
    """Multiclass learner from a binary one, with the same methods; margins have shape (n, classes).

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
        """Return the learner with the state of each class and with the state of the spare learner."""
        return [(self.learner, inner) for inner in state.all]

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> ClassesState:
        """Return the state before the first round."""
        return ClassesState([self.learner.init(tasks, size, length)], tasks)

    def predict(self, state: ClassesState, run: Batch) -> Predictions:
        """Predict records with the learners of all classes and the spare learner."""
        return _combine(self.predict_members(state, run), len(run.tasks))

    def learn(self, state: ClassesState, run: Batch, y: NDArray[np.bool_]) -> UpdateResult:
        """Predict and learn records one after the other.

        ``y`` of shape (m, classes) has the class indicators of each record; new classes may be added.
        """
        self._add_classes(state, y.shape[1])
        # one against all; a class to come has seen negatives only, as the spare learner has
        signs = [*np.where(y, 1.0, -1.0).T, np.full(len(y), -1.0)]  # all labels of the spare learner are negative
        updates = self.learn_members(state, run, list(map(np.ascontiguousarray, signs)))
        own = _columns([update.own for update in updates[:-1]], len(y))
        # the record counts as an update if any class moved
        steps = np.max([update.steps for update in updates], axis=0)
        return UpdateResult(_combine([update.predictions for update in updates], len(run.tasks)), own, steps)

    def predict_one(self, state: ClassesState, rows: AnyRows, i: int) -> Margins:
        """Return the margins of one record of the known task i, one per class."""
        return np.array([self.learner.predict_one(inner, rows, i) for inner in state.members])

    def learn_one(self, state: ClassesState, rows: AnyRows, i: int, y: NDArray[np.bool_]) -> None:
        """Learn one record of the known task i with these class indicators."""
        self._add_classes(state, len(y))
        for inner, sign in zip(state.all, [*np.where(y, 1.0, -1.0), -1.0], strict=True):
            self.learner.learn_one(inner, rows, i, float(sign))

    @staticmethod
    def _add_classes(state: ClassesState, classes: int) -> None:
        """Add learners of new classes as copies of the spare learner, which share its task index."""
        while len(state.all) <= classes:
            state.all.append(copy.deepcopy(state.all[-1], {id(state.tasks): state.tasks}))

    def linear_part(self, state: ClassesState, run: Batch, record: AnyRows | None = None) -> Margins:
        """Return the part of margins that is a weighted sum of features, class by class."""
        return _columns([self.learner.linear_part(inner, run, record) for inner in state.members], len(run.tasks))

    def weights(self, state: ClassesState) -> Weights:
        """Return the weights that predictions use, shape (classes, tasks, features)."""
        return np.array([self.learner.weights(inner) for inner in state.members])

    def intercepts(self, state: ClassesState) -> Weights:
        """Return the constant part of each task's margins, shape (classes, tasks) or (classes, 1)."""
        return np.array([np.atleast_1d(self.learner.intercepts(inner)) for inner in state.members])

    def share(self, state: ClassesState) -> NDArray[np.float64]:
        """Return the shared part of each task's updates, the mean over the classes."""
        return np.asarray(np.mean([self.learner.share(inner) for inner in state.members], axis=0))

    def relation_matrix(self, state: ClassesState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the mean of A⁻¹ over the classes; all are equal if the relation is fixed."""
        return np.asarray(np.mean([self.learner.relation_matrix(inner, among) for inner in state.members], axis=0))

    def models(self, state: ClassesState) -> int:
        """Return the number of classes."""
        return len(state.members)

    def dump(self, state: ClassesState) -> tuple[Json, Arrays]:
        """Return the state as plain JSON data and named arrays, without the labels of the tasks."""
        data, arrays = zip(*(self.learner.dump(inner) for inner in state.all), strict=True)
        return {"classes": list(data)}, join_numbered("classes", arrays)

    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> ClassesState:
        """Restore the result of :meth:`dump`.

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
    """Combine the predictions of the classes' learners and of the spare learner, which is last."""
    return Predictions(_columns([member.margins for member in members[:-1]], n), None, tuple(members))


def _columns(margins: Sequence[Margins], n: int) -> Margins:
    """Return the margins of n records, one column per class."""
    return np.array(margins).reshape(len(margins), n).T
