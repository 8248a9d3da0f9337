"""Many classes by reduction: one learner of two classes for each of them, that class against all others.

A class may appear while the stream goes. Until then no record had it as its label. So a *spare* learner is learned,
too, all of whose labels are negative, and a new class begins as its copy. The learners are thus the same, bit for bit,
as if all classes had been known from the start.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from .index import Index
from .learner import Margins, StreamLearner
from .numeric.core.arrays import Dropped
from .numeric.core.checks import require
from .numeric.core.records import Rows
from .numeric.primal.asking import EVERY
from .numeric.primal.stream import Moves
from .numeric.trees import Arrays, apart, below, numbered
from .state import LearnedState

Codes = NDArray[np.int64]


class _Saved(msgspec.Struct):
    """The data that :meth:`ManyLearners.dump` returns beside the arrays."""

    classes: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]


@dataclass
class ManyState:
    """States of the learners, one a class in the order of appearance, and that of the spare learner."""

    members: list[LearnedState]
    spare: LearnedState

    @property
    def tasks(self) -> Index:
        """The tasks, numbered alike by all learners."""
        return self.spare.tasks

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

    @property
    def all(self) -> list[LearnedState]:
        """The states of the learners and of the spare one."""
        return [*self.members, self.spare]


class ManyLearners(StreamLearner):
    """A learner of two classes as one of any number, with the same methods; margins are of shape (n, classes).

    Parameters
    ----------
    learner : Learner or Mixture
        The learner to have once for each class.

    Raises
    ------
    ValueError
        If the learner is none to be had so many times.

    Notes
    -----
    Costs and memory are those of the learner times the number of classes and one.
    """

    def __init__(self, learner: StreamLearner) -> None:
        learner.check_many()
        self.learner, self.log_odds = learner, learner.log_odds
        self.beyond_features = learner.beyond_features
        self._beside: list[StreamLearner] = []

    @property
    def weighs(self) -> bool:
        """True where the learner of each class weighs records."""
        return self.learner.weighs

    @property
    def counts_features(self) -> bool:
        """True where computations of each class's learner depend on the number of features."""
        return self.learner.counts_features

    @property
    def names_tasks(self) -> bool:
        """True if the learner's relation names all its tasks."""
        return self.learner.names_tasks

    def init(
        self, tasks: Sequence[Hashable] = (), features: int = 0, dense: bool = False, length: int | None = None
    ) -> ManyState:
        """The state before the first round; see :meth:`coterie.learner.Learner.init`."""
        return ManyState([], self.learner.init(tasks, features, dense, length))

    def check_tasks(self, state: ManyState, tasks: Sequence[Hashable]) -> None:
        """Refuse tasks that the relation does not know: ValueError naming the first."""
        self.learner.check_tasks(state.spare, tasks)

    def fit_tasks(self, state: ManyState, tasks: Sequence[Hashable], features: int) -> None:
        """Make room for new tasks, given by their labels, and for so many features; all or nothing."""
        self.check_tasks(state, tasks)
        for each in state.all:
            self.learner.fit_tasks(each, tasks, features)

    def check_dropping(self, state: ManyState) -> None:
        """Refuse if tasks cannot be dropped: ValueError."""
        self.learner.check_dropping(state.spare)

    def check_bounded(self) -> None:
        """Refuse ``max_tasks``, a limit on the tasks known at a time, if the learner does: ValueError."""
        self.learner.check_bounded()

    @property
    def mixes(self) -> bool:  # type: ignore[override]
        """True where the learner of each class mixes members."""
        return self.learner.mixes

    def check_passes(self) -> None:
        """Refuse to learn records more than once, if the learner does: ValueError."""
        self.learner.check_passes()

    def hold_mixing(self, state: ManyState) -> Callable[[], None]:
        """A function that makes what mixes members what it is now, in the learners of all classes known by now."""
        held = [self.learner.hold_mixing(each) for each in state.all]

        def give_back() -> None:
            for each in held:
                each()

        return give_back

    @property
    def comes_unnoticed(self) -> bool:
        """True if adding or dropping a task changes nothing for all others."""
        return self.learner.comes_unnoticed

    def drop_tasks(self, state: ManyState, dropped: Dropped) -> None:
        """Drop tasks and their own weights in the learners of all classes."""
        self._beside.clear()
        for each in state.all:
            self.learner.drop_tasks(each, dropped)

    def update_many(
        self,
        state: ManyState,
        rows: Rows,
        codes: Codes,
        y: NDArray[np.bool_],
        last: int | None = None,
        asker: Any = EVERY,
        new: Sequence[Hashable] = (),
    ) -> Moves:
        """Predict and learn records one after the other; see :meth:`coterie.learner.Learner.update_many`.

        ``y`` of shape (n, classes) says which classes each record is in; there may be more of them than before.

        Raises
        ------
        TypeError
            For an asker: one margin decides whether it asks, and here there are several.
        """
        if asker is not EVERY:
            raise TypeError(
                "labels of many classes cannot be asked for by the margin: the model must be of two classes"
            )
        self._beside.clear()  # prepared calls may hold models that are replaced below
        self._meet(state, y.shape[1])
        signs = np.where(y, 1.0, -1.0).T
        every = [*signs, np.full(len(y), -1.0)]  # all labels of the spare learner are negative
        made = self.gather(
            [
                partial(self._one, each, rows, codes, sign, last, new)
                for each, sign in zip(state.all, every, strict=True)
            ]
        )
        margins, own, taus = (np.array(each).T for each in zip(*made, strict=True))
        return Moves(margins[:, :-1], own[:, :-1], taus.max(axis=1))

    @staticmethod
    def _meet(state: ManyState, classes: int) -> None:
        """Begin the learners of new classes as copies of the spare learner."""
        while len(state.members) < classes:
            state.members.append(copy.deepcopy(state.spare))

    def _each(self, classes: int) -> list[StreamLearner]:
        """The learner once for each class and for the spare: each with prepared calls of its own."""
        while len(self._beside) < classes + 1:
            self._beside.append(self.learner.beside())
        return self._beside[: classes + 1]

    def _one(
        self,
        state: LearnedState,
        rows: Rows,
        codes: Codes,
        signs: Margins,
        last: int | None = None,
        new: Sequence[Hashable] = (),
    ) -> Moves:
        made: Moves = self.learner.update_many(state, rows, codes, np.ascontiguousarray(signs), last, EVERY, new)
        return made

    def update_one(self, state: ManyState, rows: Rows, i: int, y: NDArray[np.bool_]) -> None:
        """Learn one record of the known task i, which is in these classes."""
        self._meet(state, len(y))
        for learner, member, sign in zip(self._each(len(y)), state.all, [*np.where(y, 1.0, -1.0), -1.0], strict=True):
            learner.update_one(member, rows, i, float(sign))

    def score_one(self, state: ManyState, rows: Rows, i: int) -> Margins:
        """Margins of one record of the known task i, one a class."""
        learners = self._each(len(state.members))[:-1]
        return np.array([learner.score_one(m, rows, i) for learner, m in zip(learners, state.members, strict=True)])

    def skip_unlabelled(self, state: ManyState, rounds: int = 1) -> None:
        """End rounds that have no labels: clocks advance, nothing else changes."""
        for each in state.all:
            self.learner.skip_unlabelled(each, rounds)

    def score(self, state: ManyState, rows: Rows, codes: Codes) -> Margins:
        """Margins of records of known tasks; nothing is written."""
        return self.score_any(state, rows, codes, ())

    def score_any(self, state: ManyState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """Margins of records of the tasks ``codes``; -1 is a new task, whose label is the next of ``unseen``."""
        jobs = [partial(self.learner.score_any, member, rows, codes, unseen) for member in state.members]
        each = self.gather(jobs)
        return np.array(each).reshape(len(each), len(codes)).T

    def linear_part(self, state: ManyState, rows: Rows, codes: Codes, unseen: Sequence[Hashable]) -> Margins:
        """The part of :meth:`score_any` that is a weighted sum of features, class by class."""
        each = [self.learner.linear_part(member, rows, codes, unseen) for member in state.members]
        return np.array(each).reshape(len(each), len(codes)).T

    def weights(self, state: ManyState) -> NDArray[np.floating[Any]]:
        """The weights that predictions use, shape (classes, tasks, features)."""
        return np.array([self.learner.weights(member) for member in state.members])

    def intercepts(self, state: ManyState) -> NDArray[np.floating[Any]]:
        """The part of each task's margins that no record changes, shape (classes, tasks) or (classes, 1)."""
        return np.array([np.atleast_1d(self.learner.intercepts(member)) for member in state.members])

    def share(self, state: ManyState) -> NDArray[np.float64]:
        """The part of each task's moves that is shared with others, in the mean over the classes."""
        return np.asarray(np.mean([self.learner.share(member) for member in state.members], axis=0))

    def relation_matrix(self, state: ManyState, among: Sequence[int] | None = None) -> NDArray[np.float64]:
        """The mean of the A⁻¹ of all classes, which are one where the relation is fixed."""
        return np.asarray(np.mean([self.learner.relation_matrix(each, among) for each in state.members], axis=0))

    def models(self, state: ManyState) -> int:
        """The number of classes."""
        return len(state.members)

    def dump(self, state: ManyState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays, without the labels of the tasks."""
        data, arrays = zip(*(self.learner.dump(each) for each in state.all), strict=True)
        return {"classes": list(data)}, numbered("classes", arrays)

    def restore(self, data: dict[str, Any], arrays: Arrays, tasks: Sequence[Hashable]) -> ManyState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        held, own = msgspec.convert(data, _Saved).classes, apart(below(arrays, "classes."))
        *members, spare = [self.learner.restore(each, own.get(str(c), {}), tasks) for c, each in enumerate(held)]
        require(all(each.features == spare.features for each in members), "the classes are of different widths")
        return ManyState(members, spare)
