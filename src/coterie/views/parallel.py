"""The round of Perceptrons in parallel: one for each view, each moving by its own margin, their margins added up."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from coterie.index import Index
from coterie.learner import Margins, RoundCount
from coterie.numeric.core.checks import require
from coterie.numeric.trees import Arrays, apart
from coterie.numeric.views.forms import alone

from .learner import KernelViewLearner, ViewLearner, ViewMoves, ViewRound, ViewState, by_view, compiled_rule
from .norms import GroupNorm
from .records import ViewRecords


@dataclass
class ParallelState:
    """A state for every view."""

    members: list[ViewState]
    names: list[Hashable]
    dense: bool

    tasks: ClassVar[Index] = Index([0])
    features: ClassVar[int] = 0

    @property
    def rounds(self) -> int:
        """The number of rounds, which is that of each."""
        return self.members[0].rounds

    @property
    def widths(self) -> tuple[int, ...]:
        """The width of each view."""
        return tuple(member.widths[0] for member in self.members)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(member.nbytes for member in self.members)


class _Saved(msgspec.Struct):
    """The data that :meth:`ParallelLearner.dump` returns beside the arrays."""

    members: list[dict[str, Any]]
    dense: bool
    rounds: RoundCount


class ParallelLearner(ViewRound):
    """A Perceptron a view, linear or with a kernel, by the same rule."""

    def __init__(self, kernels: Any, rule: Any, average: bool) -> None:
        compiled_rule(rule)
        self.kernels, self.rule, self.average = kernels, rule, average

    def _learners(self, names: Sequence[Hashable]) -> list[ViewLearner | KernelViewLearner]:
        norm = GroupNorm(1.0)
        if self.kernels is None:
            return [ViewLearner(norm, self.rule, self.average) for _ in names]
        kernels = by_view(self.kernels, names)
        return [KernelViewLearner(norm, kernel, self.rule, self.average) for kernel in kernels]

    def check(self, names: Sequence[Hashable]) -> None:
        """Refuse views that have not a kernel each: ValueError."""
        self._learners(names)

    def adopt(self, state: ParallelState) -> None:
        """Check that a state learned under other parameters can be continued: only rule and average may differ."""
        for learner, member in zip(self._learners(state.names), state.members, strict=True):
            learner.adopt(member)

    def init_views(self, names: Sequence[Hashable], widths: Sequence[int], dense: bool) -> ParallelState:
        """The state before the first round."""
        learners = zip(self._learners(names), names, widths, strict=True)
        members = [learner.init_views([name], [width], dense) for learner, name, width in learners]
        return ParallelState(members, list(names), dense)

    def fit_widths(self, state: ParallelState, widths: Sequence[int]) -> None:
        """Make room for views of these widths."""
        for learner, member, width in zip(self._learners(state.names), state.members, widths, strict=True):
            learner.fit_widths(member, [width])

    def _learn(self, state: ParallelState, records: ViewRecords, y: Margins, last: int) -> ViewMoves:
        before = state.members if self.kernels is None else copy.deepcopy(state.members)  # linear ones refuse nothing
        try:
            codes = np.zeros(len(records), np.int64)
            made = [
                each.update_many(member, own, codes, y, last) for each, member, own in self._by_view(state, records)
            ]
        except BaseException:
            state.members = before
            raise
        ends = reduce(np.intersect1d, [each.ends for each in made])
        lengths = np.column_stack([each.lengths[np.isin(each.ends, ends), 0] for each in made])
        margins, own = (np.sum(each, axis=0) for each in ([m.margins for m in made], [m.own for m in made]))
        taus = np.einsum("kt,tk->t", [each.taus for each in made], records.present)  # what is absent does not move
        return ViewMoves(margins, own, taus, ends, lengths)

    def score(self, state: ParallelState, records: ViewRecords) -> Margins:
        """Margins of records; nothing is written."""
        margins = [learner.score(member, own) for learner, member, own in self._by_view(state, records)]
        return np.asarray(np.sum(margins, axis=0))

    def _by_view(
        self, state: ParallelState, records: ViewRecords
    ) -> list[tuple[ViewLearner | KernelViewLearner, ViewState, ViewRecords]]:
        """The learner, state and records of each view."""
        K = len(state.names)
        learners = zip(self._learners(state.names), state.members, strict=True)
        return [
            (learner, member, ViewRecords(alone(records.rows, K, k), records.present[:, k : k + 1]))
            for k, (learner, member) in enumerate(learners)
        ]

    def weights(self, state: ParallelState) -> list[NDArray[np.float64]]:
        """The weights that learn, view by view."""
        learners = zip(self._learners(state.names), state.members, strict=True)
        return [learner.weights(member)[0] for learner, member in learners]

    def skip_unlabelled(self, state: ParallelState, rounds: int = 1) -> None:
        """End rounds that have no labels: they count for the mean of the weights."""
        for learner, member in zip(self._learners(state.names), state.members, strict=True):
            learner.skip_unlabelled(member, rounds)

    def dump(self, state: ParallelState) -> tuple[dict[str, Any], Arrays]:
        """The state as plain JSON data and named arrays."""
        held: list[dict[str, Any]] = []
        arrays: Arrays = {}
        for k, (learner, member) in enumerate(zip(self._learners(state.names), state.members, strict=True)):
            data, own = learner.dump(member)
            held.append(data)
            arrays |= {f"view{k}.{name}": array for name, array in own.items()}
        return {"members": held, "dense": state.dense, "rounds": state.rounds}, arrays

    def restore(self, data: dict[str, Any], arrays: Arrays, names: Sequence[Hashable]) -> ParallelState:
        """Undo :meth:`dump`.

        Raises
        ------
        ValueError
            If the data do not fit together.
        """
        learners, held, own = self._learners(names), msgspec.convert(data, _Saved), apart(arrays)
        require(len(held.members) == len(learners), f"{len(held.members)} learners are kept of {len(names)} views")
        members = [
            learner.restore(each, own.get(f"view{k}", {}), [name])
            for k, (learner, name, each) in enumerate(zip(learners, names, held.members, strict=True))
        ]
        alike = all(member.dense == held.dense and member.rounds == held.rounds for member in members)
        require(alike, "views are kept in several forms, or have learned so many rounds and others")
        return ParallelState(members, list(names), held.dense)
