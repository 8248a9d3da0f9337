"""Multi-view learners with one learner per view."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import msgspec

from coterie.index import Index
from coterie.models.contract import BaseLearner, LearnerState, MetaLearner, RoundCount
from coterie.numeric.core.checks import require
from coterie.numeric.trees import Arrays, group_by_prefix
from coterie.types import Json

from .learner import ViewRound


@dataclass
class ViewMembersState:
    """One state per view."""

    members: list[LearnerState]
    names: list[Hashable]
    dense: bool

    @property
    def widths(self) -> tuple[int, ...]:
        """The width of each view."""
        return tuple(member.features for member in self.members)

    @property
    def features(self) -> int:
        """The number of features, of all views together."""
        return sum(self.widths)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(member.nbytes for member in self.members)


class Saved(msgspec.Struct):
    """The data that :meth:`MembersRound.dump` returns in addition to the arrays."""

    members: list[Json]
    dense: bool
    rounds: RoundCount


class MembersRound(ViewRound, MetaLearner):
    """Base of learners with one learner per view, which are its pairs."""

    def dump(self, state: LearnerState) -> tuple[Json, Arrays]:
        """Return the state as plain JSON data and named arrays."""
        data, arrays_of_members = zip(*(learner.dump(member) for learner, member in self.pairs(state)), strict=True)
        arrays = {f"view{k}.{name}": array for k, own in enumerate(arrays_of_members) for name, array in own.items()}
        return {"members": list(data), "dense": state.dense, "rounds": state.rounds}, arrays

    @staticmethod
    def restored(
        data: Json, arrays: Arrays, learners: Sequence[BaseLearner], indices: Sequence[Index]
    ) -> tuple[Saved, list[LearnerState]]:
        """Restore the learners' states, each with its task index; return them after the saved data."""
        saved, own = msgspec.convert(data, Saved), group_by_prefix(arrays)
        require(
            len(saved.members) == len(learners), f"there are {len(saved.members)} learners for {len(learners)} views"
        )
        parts = enumerate(zip(learners, saved.members, indices, strict=True))
        return saved, [learner.restore(member, own.get(f"view{k}", {}), index) for k, (learner, member, index) in parts]
