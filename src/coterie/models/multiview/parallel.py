"""Parallel Perceptrons: one per view, updated by its own margin; the prediction is the sum of their margins."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie._compiled.core.checks import require
from coterie._compiled.primal.stream import Moves
from coterie._compiled.trees import Arrays, group_by_prefix
from coterie._compiled.views.forms import alone
from coterie.models.contract import Batch, InputShape, Margins, MetaLearner, RoundCount
from coterie.tasks.index import Index
from coterie.types import Json, Part

from .learner import KernelViewLearner, ViewLearner, ViewRound, ViewState, by_view, compiled_rule
from .norms import GroupNorm
from .view_records import ViewRecords


@dataclass
class ParallelState:
    """The state of each view's Perceptron."""

    members: list[ViewState]
    names: list[Hashable]
    dense: bool

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of features of each view."""
        return tuple(member.features for member in self.members)

    @property
    def features(self) -> int:
        """The total number of features of all views."""
        return sum(self.widths)

    @property
    def nbytes(self) -> int:
        """The memory of the arrays in bytes."""
        return sum(member.nbytes for member in self.members)

    @property
    def rounds(self) -> int:
        """The number of rounds, equal for all views."""
        return self.members[0].rounds


class _SavedViews(msgspec.Struct):
    """Saved data of :meth:`ParallelLearner.dump`, without the arrays."""

    members: list[Json]
    dense: bool
    rounds: RoundCount


class ParallelLearner(ViewRound, MetaLearner):
    """One Perceptron per view, linear or with a kernel, all with the same rule."""

    def __init__(self, kernels: Part, rule: Part, average: bool) -> None:
        compiled_rule(rule)
        self.kernels, self.rule, self.average = kernels, rule, average
        self.traits = replace(self.traits, can_refuse=kernels is not None, counts_unseen=kernels is not None)

    def _learners(self, names: Sequence[Hashable]) -> list[ViewLearner | KernelViewLearner]:
        norm = GroupNorm(1.0)
        if self.kernels is None:
            return [ViewLearner(norm, self.rule, self.average) for _ in names]
        kernels = by_view(self.kernels, names)
        return [KernelViewLearner(norm, kernel, self.rule, self.average) for kernel in kernels]

    def pairs(self, state: ParallelState) -> list[tuple[ViewLearner | KernelViewLearner, ViewState]]:
        """Return pairs of a view's learner and its state."""
        return list(zip(self._learners(state.names), state.members, strict=True))

    def init(self, tasks: Index, size: InputShape, length: int | None = None) -> ParallelState:
        """Return the initial state; raise ValueError if a view has no kernel."""
        learners = zip(self._learners(size.names), size.names, size.widths, strict=True)
        members = [learner.init(tasks, _size_of(width, size.dense, name)) for learner, name, width in learners]
        return ParallelState(members, list(size.names), size.dense)

    def resize(self, state: ParallelState, tasks: int, size: InputShape, counted: bool = True) -> None:
        """Resize the state for views with these numbers of features."""
        for (learner, member), width in zip(self.pairs(state), size.widths, strict=True):
            learner.resize(member, tasks, _size_of(width, state.dense))

    def _learn(self, state: ParallelState, records: ViewRecords, y: Margins) -> Moves:
        codes = np.zeros(len(records), np.int64)
        updates = [
            learner.learn(member, Batch(own, codes), y) for learner, member, own in self._by_view(state, records)
        ]
        margins = np.sum([update.predictions.margins for update in updates], axis=0)
        own = np.sum([update.own for update in updates], axis=0)
        present = records.present[: len(y)]  # a view that is absent is not updated
        steps = np.einsum("kt,tk->t", [update.steps for update in updates], present)
        return Moves(margins, own, steps)

    def score(self, state: ParallelState, records: ViewRecords) -> Margins:
        """Return the margins of records."""
        margins = [learner.score(member, own) for learner, member, own in self._by_view(state, records)]
        return np.asarray(np.sum(margins, axis=0))

    def _by_view(
        self, state: ParallelState, records: ViewRecords
    ) -> list[tuple[ViewLearner | KernelViewLearner, ViewState, ViewRecords]]:
        """Return for each view its learner, its state, and the rows of the records that have this view."""
        K = len(state.names)
        return [
            (learner, member, ViewRecords(alone(records.rows, K, k), records.present[:, k : k + 1]))
            for k, (learner, member) in enumerate(self.pairs(state))
        ]

    def weights(self, state: ParallelState) -> list[NDArray[np.float64]]:
        """Return the current weights, the views' weights one after the other."""
        return [learner.weights(member)[0] for learner, member in self.pairs(state)]

    def dump(self, state: ParallelState) -> tuple[Json, Arrays]:
        """Return the state as plain JSON data and named arrays."""
        data, arrays_of_members = zip(*(learner.dump(member) for learner, member in self.pairs(state)), strict=True)
        arrays = {f"view{k}.{name}": array for k, own in enumerate(arrays_of_members) for name, array in own.items()}
        return {"members": list(data), "dense": state.dense, "rounds": state.rounds}, arrays

    def restore(self, data: Json, arrays: Arrays, tasks: Index) -> ParallelState:
        """Restore a state from the result of :meth:`dump`; ``index`` has the names of the views.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        saved, own, names = msgspec.convert(data, _SavedViews), group_by_prefix(arrays), tasks.labels
        require(len(saved.members) == len(names), f"there are {len(saved.members)} learners for {len(names)} views")
        members = [
            learner.restore(member, own.get(f"view{k}", {}), Index([names[k]]))
            for k, (learner, member) in enumerate(zip(self._learners(names), saved.members, strict=True))
        ]
        alike = all(member.dense == saved.dense and member.rounds == saved.rounds for member in members)
        require(alike, "views have different forms or numbers of rounds")
        return ParallelState(members, list(names), saved.dense)


def _size_of(width: int, dense: bool, *names: Hashable) -> InputShape:
    """Return the shape of the records of one view with this number of features."""
    return InputShape(width, dense, names, (width,))
