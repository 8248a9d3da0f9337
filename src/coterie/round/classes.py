"""Many classes, from a learner of two classes for each of them, that class against all others.

A class may appear while the stream goes. Until then no record had it as its label. So a *spare* learner is learned,
too, all of whose labels are negative, and a new class begins as its copy. The learners are thus the same, bit for bit,
as if all classes had been known from the start.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.numeric.core.checks import require
from coterie.numeric.trees import Arrays, group_by_prefix, join_numbered, strip_prefix

from .contract import (
    BaseLearner,
    Batch,
    FastPath,
    InputShape,
    LearnedState,
    Margins,
    MetaLearner,
    Predictions,
    UpdateResult,
    nothing,
)


class _Saved(msgspec.Struct):
    """The data that :meth:`OneAgainstRest.dump` returns beside the arrays."""

    classes: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]


@dataclass
class ClassesState:
    """States of the learners, one a class in the order of appearance, and last that of the spare learner."""

    all: list[LearnedState]
    tasks: Index

    @property
    def spare(self) -> LearnedState:
        """The state of the spare learner."""
        return self.all[-1]

    @property
    def members(self) -> list[LearnedState]:
        """The states of the classes' learners."""
        return self.all[:-1]

    @property
    def features(self) -> int:
        """The width of the records."""
        return self.spare.features

    @property
    def rounds(self) -> int:
        """The rounds learned."""
        return self.spare.rounds

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(each.nbytes for each in self.all)


class OneAgainstRest(MetaLearner):
    """A learner of two classes as one of any number, with the same methods; margins are of shape (n, classes).

    Parameters
    ----------
    learner : learner
        The learner to have once for each class.

    Raises
    ------
    ValueError
        If the learner is none to be had so many times.

    Notes
    -----
    Costs and memory are those of the learner times the number of classes and one.
    """

    def __init__(self, learner: BaseLearner) -> None:
        if learner.traits.cannot_multiply:
            raise ValueError(learner.traits.cannot_multiply)
        self.learner = learner
        self.traits = replace(learner.traits, asks=False, has_variances=False, has_intervals=False)

    def pairs(self, state: ClassesState) -> Iterable[tuple[BaseLearner, LearnedState]]:
        """The learner with the state of each class, and with that of the spare learner."""
        return [(self.learner, each) for each in state.all]

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> ClassesState:
        """The state before the first round."""
        return ClassesState([self.learner.init(tasks, size, length)], tasks)

    def predict(self, state: ClassesState, run: Batch) -> Predictions:
        """Predict records by the learners of all classes, and by the spare one, which is charged by it later."""
        predictions = self.predict_each(state, run)
        return Predictions(
            _columns([each.margins for each in predictions[:-1]], len(run.tasks)), None, tuple(predictions)
        )

    def learn(self, state: ClassesState, run: Batch, y: NDArray[np.bool_]) -> UpdateResult:
        """Predict and learn records one after the other.

        ``y`` of shape (m, classes) says which classes each record is in; there may be more of them than before.
        """
        self.begin(state, y.shape[1])
        signs = [*np.where(y, 1.0, -1.0).T, np.full(len(y), -1.0)]  # all labels of the spare learner are negative
        made = self.learn_each(state, run, list(map(np.ascontiguousarray, signs)))
        own = np.array([each.own for each in made[:-1]]).reshape(len(made) - 1, len(y)).T
        steps = np.max([each.steps for each in made], axis=0)
        predictions = [each.predictions for each in made]
        return UpdateResult(
            Predictions(
                _columns([each.margins for each in predictions[:-1]], len(run.tasks)), None, tuple(predictions)
            ),
            own,
            steps,
        )

    @staticmethod
    def begin(state: ClassesState, classes: int) -> None:
        """Begin the learners of new classes as copies of the spare learner, which share its index of tasks."""
        while len(state.all) <= classes:
            state.all.append(copy.deepcopy(state.spare, {id(state.tasks): state.tasks}))

    def hold(self, state: ClassesState) -> Callable[[], None]:
        """A function that takes back all that was learned since, where records may be refused, also new classes."""
        take_back, models = super().hold(state), len(state.all)
        if take_back is nothing:
            return nothing

        def all_back() -> None:
            take_back()
            del state.all[models:]

        return all_back

    def single(self, state: ClassesState) -> SingleOfEach:
        """Rounds of one record each, of each class's learner."""
        return SingleOfEach(self, state)

    def rebind(self, state: ClassesState) -> None:
        """Let the learner of each class go on with its state."""
        for learner, inner in self.pairs(state):
            learner.rebind(inner)

    def linear_part(self, state: ClassesState, run: Batch, record: Any = None) -> Margins:
        """The part of margins that is a weighted sum of features, class by class."""
        return _columns([self.learner.linear_part(each, run, record) for each in state.members], len(run.tasks))

    def weights(self, state: ClassesState) -> NDArray[np.floating[Any]]:
        """The weights that predictions use, shape (classes, tasks, features)."""
        return np.array([self.learner.weights(member) for member in state.members])

    def intercepts(self, state: ClassesState) -> NDArray[np.floating[Any]]:
        """The part of each task's margins that no record changes, shape (classes, tasks) or (classes, 1)."""
        return np.array([np.atleast_1d(self.learner.intercepts(member)) for member in state.members])

    def share(self, state: ClassesState) -> NDArray[np.float64]:
        """The part of each task's moves that is shared with others, in the mean over the classes."""
        return np.asarray(np.mean([self.learner.share(member) for member in state.members], axis=0))

    def relation_matrix(self, state: ClassesState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """The mean of the A⁻¹ of all classes, which are one where the relation is fixed."""
        return np.asarray(np.mean([self.learner.relation_matrix(each, among) for each in state.members], axis=0))

    def models(self, state: ClassesState) -> int:
        """The number of classes."""
        return len(state.members)

    def dump(self, state: ClassesState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, arrays = zip(*(self.learner.dump(each) for each in state.all), strict=True)
        return {"classes": list(data)}, join_numbered("classes", arrays)

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Index) -> ClassesState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held, own = msgspec.convert(data, _Saved).classes, group_by_prefix(strip_prefix(arrays, "classes."))
        every = [self.learner.restore(each, own.get(str(c), {}), tasks) for c, each in enumerate(held)]
        require(len({each.features for each in every}) == 1, "the classes are of different widths")
        return ClassesState(every, tasks)


def _columns(margins: Sequence[Margins], n: int) -> Margins:
    """Margins of n records, a column a class."""
    return np.array(margins).reshape(len(margins), n).T


class SingleOfEach(FastPath):
    """Rounds of one record each, of each class's learner."""

    def __init__(self, learner: OneAgainstRest, state: ClassesState) -> None:
        super().__init__(learner, state)
        self._each: list[FastPath] = []

    def _singles(self) -> list[FastPath]:
        """The rounds of each class's learner, and of the spare one's."""
        every = self.state.all
        if len(self._each) != len(every):
            self._each = [self.learner.learner.single(each) for each in every]
        return self._each

    def predict(self, rows: Any, i: int) -> Margins:
        """The margins of a record, one a class."""
        return np.array([each.predict(rows, i) for each in self._singles()[:-1]])

    def learn(self, rows: Any, i: int, y: NDArray[np.bool_]) -> None:
        """Learn a record that is in these classes."""
        self.learner.begin(self.state, len(y))
        for each, sign in zip(self._singles(), [*np.where(y, 1.0, -1.0), -1.0], strict=True):
            each.learn(rows, i, float(sign))

    def forget(self) -> None:
        """Release the models."""
        for each in self._each:
            each.forget()
